// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/kernels.hpp - floor 2. The loops over all blocks of a chunk by instruction set.
// codec/zfp/codes.inl says how the fast ones work.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <ccoll/base/isa.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/zfp/block.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>
#endif

namespace ccoll::inline CCOLL_ABI::detail::zfp {

/// Places of the values that a stream cannot hold. There is room for one more than may be there.
struct exception_list {
    std::uint16_t* place;
    std::size_t most, count = 0, first = 0;  ///< first: where in the chunk the values begin that are encoded

    bool add(std::size_t at) noexcept
    {
        if (count > most) return false;
        place[count++] = static_cast<std::uint16_t>(first + at);
        return true;
    }
};

template <native_float T>
bool is_finite(T v) noexcept
{
    return fields_of<T>::magnitude(v) < fields_of<T>::exponent;
}

/// A last block with fewer values, as libzfp fills it up.
template <native_float T>
void fill_up(T* x, std::size_t count) noexcept
{
    if (count <= 1) x[1] = x[0];
    if (count <= 2) x[2] = x[1];
    if (count <= 3) x[3] = x[0];
}

/// What an encoder may write behind a stream: codes of the last block that are too long for its rate.
inline constexpr std::size_t slack_bytes = 64;
/// No stream ends there.
inline constexpr std::size_t nowhere = ~std::size_t{0};

CCOLL_EXACT_BEGIN
namespace portable {

/// Appends the blocks of some values to a stream, with 0 in place of values that are not finite.
/// @param limit       errors stay below it; 0: none is checked
/// @param stream      room for the blocks, and slack_bytes
/// @param begin       bits of the first byte that stand there already: fewer than 8
/// @param exceptions  values that are not finite, or not within the limit
/// @return the bit behind the last block; nowhere if there are too many exceptions
template <native_float T>
std::size_t encode_stream(std::span<const T> in, const precision& wanted, T limit, std::byte* stream,
                          unsigned begin, exception_list& exceptions) noexcept
{
    CCOLL_EXACT_BODY
    bit_writer to(stream, begin);
    const bool checked = limit > 0;
    for (std::size_t at = 0; at < in.size(); at += block_values) {
        const std::size_t count = std::min(block_values, in.size() - at);
        T x[block_values] = {}, decoded[block_values];
        for (std::size_t i = 0; i < count; ++i) x[i] = is_finite(in[at + i]) ? in[at + i] : T(0);
        fill_up(x, count);
        block<T>::encode(x, wanted, to, checked ? decoded : nullptr);
        for (std::size_t i = 0; i < count; ++i) {
            if (checked ? std::fabs(decoded[i] - in[at + i]) < limit : is_finite(in[at + i])) continue;
            if (!exceptions.add(at + i)) return nowhere;
        }
    }
    return to.end();
}

/// The reverse. Total.
/// @return the bit behind the last block; nowhere, if that is far behind the stream
template <native_float T>
std::size_t decode_stream(const_byte_span stream, const precision& wanted, std::span<T> out) noexcept
{
    const bit_source from(stream);
    std::size_t bit = 0;
    for (std::size_t at = 0; at < out.size(); at += block_values) {
        T x[block_values];
        block<T>::decode(from, bit, wanted, x);
        std::copy_n(x, std::min(block_values, out.size() - at),
                    out.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return bit;
}

}  // namespace portable
CCOLL_EXACT_END

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
namespace avx2 {
#include <ccoll/codec/zfp/streams.inl>
}  // namespace avx2
#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>
namespace avx512 {
#include <ccoll/codec/zfp/streams.inl>
}  // namespace avx512
#include <ccoll/base/kernels_end.inl>
namespace avx512_gfni = avx512;

#elif defined(CCOLL_NEON_KERNELS)
namespace neon = portable;
#endif

template <native_float T>
inline constexpr by_isa stream_encoders{CCOLL_EACH_ISA(encode_stream<T>)};
template <native_float T>
inline constexpr by_isa stream_decoders{CCOLL_EACH_ISA(decode_stream<T>)};

}  // namespace ccoll::inline CCOLL_ABI::detail::zfp
