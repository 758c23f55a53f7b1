// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lossless.hpp - floor 2. Codec::Lossless: keeps every bit of any element, in as many bits as
// neighbours differ by (lossless/streams.hpp) or as exponents need (lossless/layout.hpp).
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ccoll/base/half.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/lossless/layout.hpp>
#include <ccoll/codec/lossless/streams.hpp>
#include <ccoll/policy/tags.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/lossless/coder.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

/// Exact for any element: numbers, and structs bit by bit, including their padding. -0.0 and NaN are bits
/// like any others.
///
/// It shortens data whose neighbours are alike: smooth fields (climate data in f32 become 1.8 times shorter,
/// 8 times if they were rounded to fewer digits), sorted and small integers, and members of structs, each by
/// itself. Neighbours in weights and gradients have nothing in common, but their exponents are mostly a few:
/// bfloat16 takes 0.66 to 0.70 of its bytes, and f32 0.83 to 0.85. Other data with noise in their leading
/// bits travel raw. For f32 and bfloat16 a look at 256 values of a chunk finds that out, which costs a few
/// per cent of a copy, and for other elements one pass.
/// Cost: two passes over a chunk in the innermost cache, no allocation. The bytes do not depend on the
/// instruction set. With AVX2 exponents take about as long as residuals, 2 to 4 GB/s; elsewhere a few times
/// longer.
///
/// Source: differences packed at one width per block, as in Lemire and Boytsov, "Decoding billions of
/// integers per second through vectorization", Software: Practice and Experience 45(1), 2015. Differs in that
/// a width is stored as its powers of two, so that no shift depends on the data and plain loops become
/// vectors; in differences of either sign; in the common low bits. That exponents of weights hold 2 to 3
/// bits, and the rest is noise: Hershcovitch et al., "ZipNN: Lossless compression for AI models",
/// arXiv:2411.05239, whose Huffman code is here a cascade of short lists (lossless/layout.hpp).
template <element T>
struct codec_impl<policies::Codec::Lossless, T, host_space> {
    /// A chunk has no more than 64 KiB, because generic code keeps one on its stack.
    static constexpr std::size_t chunk_elements =
        std::max<std::size_t>(1, std::min(max_chunk_elements, (std::size_t{1} << 16) / sizeof(T)));
    static constexpr bool pipelined = true;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double) noexcept
    {
        if constexpr (has_exponents)
            if (in.size() >= detail::lossless::least_values) return floats::encode(std::as_bytes(in), dst);
        encode_result all;
        for (std::size_t s = 0; s < streams; ++s) {
            const encode_result one = stream::encode(std::as_bytes(in).data() + s * word,
                                                     in.size() * words / streams, dst.subspan(all.bytes));
            if (one.code != status::ok) return one;
            all.bytes += one.bytes;
        }
        return all;
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double) noexcept
    {
        if constexpr (has_exponents)
            if (!src.empty() && detail::lossless::is_exponents_head(static_cast<unsigned>(src[0])))
                return floats::decode(src, std::as_writable_bytes(out));
        for (std::size_t s = 0; s < streams; ++s)
            if (const status code = stream::decode(src, std::as_writable_bytes(out).data() + s * word,
                                                   out.size() * words / streams);
                code != status::ok)
                return code;
        return src.empty() ? status::ok : status::corrupt;
    }

private:
    static constexpr std::size_t word = detail::lossless::word_bytes<T>, words = sizeof(T) / word;
    static constexpr std::size_t streams = words <= detail::lossless::most_streams ? words : 1;
    using stream =
        detail::lossless::stream_coder<detail::lossless::word_of<word>, streams == 1 ? word : sizeof(T)>;

    /// Numbers whose exponent has 8 bits.
    static constexpr bool has_exponents =
        std::is_same_v<T, float> || (sizeof(T) == 2 && exponent_bits_of<T> == 8);
    using floats =
        detail::lossless::float_chunks<std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>>;
};

}  // namespace ccoll::inline CCOLL_ABI
