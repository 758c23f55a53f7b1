// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx.hpp - floor 2. Codec::SZx: blocks of 128 values, constant or cut to their leading bytes.
//
//   chunk   u8 code[blocks]     one per block of 128 values; the last block may be shorter
//   ..      blocks              drawn in szx_block.hpp; together they fill the chunk
#pragma once

#include <algorithm>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/szx_block.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll {

namespace detail::szx {

/// The chunks of SZx and PipeSZx.
///
/// Every decoded value is within eb of the original: each one is decoded and compared while it is encoded (szx_block.hpp has
/// the proof). A block whose values do not pass is kept raw, so NaN and Inf survive bit for bit. -0.0 and denormals are
/// ordinary values. Bounds below the smallest normal T keep everything raw.
/// Cost: one pass and a half over a block in the innermost cache; no allocation.
///
/// Source: Yu, Di, et al., "Ultrafast Error-Bounded Lossy Compression for Scientific Datasets", HPDC 2022 (SZx), used by
/// Huang, Di, et al., "An Optimized Error-controlled MPI Collective Framework ..." (C-Coll), IPDPS 2024, section III-E2.
/// Differs from both in:
/// - No XOR with the previous value and no leading-byte counts: they save some bytes, but each value would wait for the one
///   before it. Here all values of a block are independent, and what is left is additions and shifts.
/// - Rounded instead of truncated: the same bytes hold one bit more. Whole bytes only, no shift within a byte.
/// - Verified, with one more byte or raw as the remedy: near the precision of T, arithmetic alone breaks the bound.
/// - One middle value in front of each block that is not raw, and its code apart, so that a block is read without the others.
template <element T, std::size_t ChunkElements>
struct chunk_coder {
    static constexpr std::size_t chunk_elements = ChunkElements;
    static_assert(chunk_elements % block_elements == 0, "ccoll: a chunk of SZx must be whole blocks");

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const exact_environment environment;
        const T limit = error_limit<T>(eb);
        if (!(limit > 0)) return {0, status::unsupported};
        const std::size_t blocks = block_count(in.size());
        if (dst.size() < blocks) return {0, status::out_of_space};

        T padded[block_elements];
        std::byte spare[block_room<T>];
        encode_result all{blocks};
        for (std::size_t b = 0; b < blocks; ++b) {
            const std::size_t at = b * block_elements, count = std::min(block_elements, in.size() - at);
            const T* x = in.data() + at;
            if (count < block_elements) {  // repeats its last value: neither the middle nor the radius changes
                std::memcpy(padded, x, count * sizeof(T));
                for (std::size_t i = count; i < block_elements; ++i) std::memcpy(padded + i, x + count - 1, sizeof(T));
                x = padded;
            }
            const byte_span rest = dst.subspan(all.bytes);
            const bool in_place = rest.size() >= block_room<T>;
            std::byte* const to = in_place ? rest.data() : spare;
            unsigned code = encode_block(x, limit, to);
            if (block_bytes<T>(code, count) > count * sizeof(T)) {  // a short block may cost more than its values
                code = raw_code<T>;
                std::memcpy(to, x, count * sizeof(T));
            }
            const std::size_t bytes = block_bytes<T>(code, count);
            if (!in_place) {
                if (rest.size() < bytes) return {0, status::out_of_space};
                std::memcpy(rest.data(), spare, bytes);
            }
            dst[b] = static_cast<std::byte>(code);
            all.bytes += bytes;
            all.raw_blocks += code == raw_code<T>;
        }
        return all.bytes < in.size_bytes() ? all : encode_result{0, status::out_of_space};
    }

    static status decode_chunk(const_byte_span src, std::span<T> out, double) noexcept
    {
        // Everything is believed after this: codes are valid, and the blocks end where the chunk ends.
        const std::size_t blocks = block_count(out.size());
        if (src.size() < blocks) return status::corrupt;
        std::size_t expected = blocks;
        for (std::size_t b = 0; b < blocks; ++b) {
            const auto code = static_cast<unsigned>(src[b]);
            if (code > raw_code<T>) return status::corrupt;
            expected += block_bytes<T>(code, std::min(block_elements, out.size() - b * block_elements));
        }
        if (expected != src.size()) return status::corrupt;

        const exact_environment environment;
        T padded[block_elements];
        std::byte spare[block_room<T>] = {};
        const_byte_span rest = src.subspan(blocks);
        for (std::size_t b = 0; b < blocks; ++b) {
            const std::size_t at = b * block_elements, count = std::min(block_elements, out.size() - at);
            const auto code = static_cast<unsigned>(src[b]);
            const std::size_t bytes = block_bytes<T>(code, count);
            const bool in_place = rest.size() >= block_room<T>;
            if (!in_place) std::memcpy(spare, rest.data(), bytes);
            const std::byte* const from = in_place ? rest.data() : spare;
            if (count == block_elements) {
                decode_block(code, from, out.data() + at);
            } else {
                decode_block(code, from, padded);
                std::memcpy(out.data() + at, padded, count * sizeof(T));
            }
            rest = rest.subspan(bytes);
        }
        return status::ok;
    }

private:
    static constexpr std::size_t block_count(std::size_t n) noexcept { return (n + block_elements - 1) / block_elements; }
};

}  // namespace detail::szx

template <element T>
struct codec_impl<policies::Codec::SZx, T, host_space> : detail::szx::chunk_coder<T, max_chunk_elements> {};

}  // namespace ccoll
