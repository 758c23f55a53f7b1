// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp6/layout.cuh - floor 4. Frames of SZp in wire version 6 as its kernels see them, and what launches have in common.
// docs/wire_format_6.md draws the bytes.
#pragma once

#include <ccoll/base/error.hpp>
#include <ccoll/codec/szp6/grid.hpp>
#include <ccoll/cuda/szp6/machine.cuh>
#include <ccoll/policy/element.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device::szp6 {

namespace host = ::ccoll::detail::szp6;

template <class T>
using law = host::law<T>;
template <class T>
inline constexpr bool is_f32 = sizeof(T) == 4;
template <class T>
using word_of = typename fields_of<T>::word;

/// Normal numbers, as a device may read them.
template <class T>
inline constexpr double least_normal = static_cast<double>(std::numeric_limits<T>::min());
template <class T>
inline constexpr double largest_number = static_cast<double>(std::numeric_limits<T>::max());

inline constexpr u32 block_elements = 32, group_elements = 1024, chunk_elements = 8192, chunk_groups = 8;
inline constexpr u32 unit_bytes = 16, head_bytes = 16, index_begin = sizeof(frame_header), payload_field = 36;
inline constexpr u32 version = 6, codec_number = 3;

/// What the fast kernels take: quanta below this in magnitude, with so many planes. More would take registers from all.
template <class T>
inline constexpr u32 fast_limit = u32{1} << (is_f32<T> ? 22 : 30);
inline constexpr u32 most_fast_planes = 24;

// The first byte of a chunk, and the second.
inline constexpr u32 scale_bound = 0, scale_own = 1, scale_bits = 2;
inline constexpr u32 form_left = 1, form_wide = 2, form_flat = 4;

CCOLL_DEVICE u32 values_of_chunk(u64 n, u32 chunk)
{
    const u64 rest = n - u64{chunk_elements} * chunk;
    return rest < chunk_elements ? static_cast<u32>(rest) : chunk_elements;
}
CCOLL_DEVICE u32 groups_of(u32 count) { return (count + group_elements - 1) / group_elements; }
CCOLL_DEVICE u32 blocks_of(u32 count) { return (count + block_elements - 1) / block_elements; }
/// Blocks of group g.
CCOLL_DEVICE u32 blocks_in_group(u32 count, u32 g) { return smaller(blocks_of(count) - 32 * g, 32u); }
/// Head, codes, places and bases.
CCOLL_DEVICE u32 front_bytes(u32 groups, bool wide) { return head_bytes + (wide ? 32 : 24) * groups; }
CCOLL_DEVICE u32 in_units(u32 bytes) { return (bytes + unit_bytes - 1) / unit_bytes; }

constexpr u64 payload_begin(u64 chunks) { return index_begin + (8 * chunks + 15) / 16 * 16; }

/// What thread blocks and kernels of one call tell each other. All 0 before a call, and again behind it, but for the chunks on the list.
struct work {
    u32 units;   ///< of the payload that have been given away
    u32 listed;  ///< chunks for the second kernel
    u32 blocks_done, code, raw_chunks, unused;
    unsigned long long special_values;
    struct entry {
        u32 chunk;      ///< entry k of the list
        u32 is_listed;  ///< entry k: is chunk k on the list?
    };
    entry list[1];

    static constexpr std::size_t bytes_of(std::size_t chunks) { return sizeof(work) + sizeof(entry) * chunks; }
};
/// Warps need not agree on who lists their chunk.
CCOLL_DEVICE void list_chunk(work* w, u32 chunk)
{
    if (atomicMax(&w->list[chunk].is_listed, 1u) == 0) w->list[atomicAdd(&w->listed, 1u)].chunk = chunk;
}
CCOLL_DEVICE void report(work* w, status s) { atomicMax(&w->code, static_cast<u32>(s)); }

/// A frame that is read. It begins at a multiple of 16 bytes.
struct frame_in {
    const u8* frame = nullptr;
    u64 bytes = 0;  ///< that may be read; at least the index, or no fast kernel runs
    const u8* payload = nullptr;
    u32 units = 0;  ///< that may be read of the payload

    frame_in() = default;
    frame_in(const void* at, u64 n, u64 chunks) : frame(static_cast<const u8*>(at)), bytes(n)
    {
        const u64 begin = payload_begin(chunks);
        if (bytes < begin) return;
        payload = frame + begin;
        units = static_cast<u32>(std::min<u64>((bytes - begin) / unit_bytes, raw_chunk));
    }
    bool has_index() const { return payload != nullptr; }
};
/// A frame that is written.
struct frame_out {
    u8* frame = nullptr;
    u64 begin = 0;

    CCOLL_DEVICE void put_entry(u32 chunk, u32 place, u32 bytes, bool raw) const
    {
        store_as(frame + index_begin + u64{8} * chunk, u64{bytes} << 32 | place | (raw ? raw_chunk : 0));
    }
    CCOLL_DEVICE u8* unit(u32 place) const { return frame + begin + u64{unit_bytes} * place; }
};

/// Where a chunk stands, by the index.
struct chunk_place {
    const u8* at;
    u32 bytes;
    bool raw, good;
};
CCOLL_DEVICE chunk_place find_chunk(const frame_in& f, u32 chunk)
{
    const uint2 entry = get_constant_pair(f.frame + index_begin + u64{8} * chunk);
    const u32 place = entry.x & ~raw_chunk, limit = smaller(get_constant(f.frame + payload_field), f.units);
    // No chunk has 0 bytes.
    return {f.payload + u64{unit_bytes} * place, entry.y, (entry.x & raw_chunk) != 0,
            place < limit && (entry.y - 1) / unit_bytes < limit - place};
}
/// Where the exceptional values of a chunk stand, in bytes; 0: it has none. Its head lies within the frame.
CCOLL_DEVICE u32 exceptions_at(const chunk_place& c) { return unit_bytes * (get_constant(c.at + 4) >> 16); }

/// The step that follows from a bound, as the host computes it: a quotient, of which the highest bits are kept. The significand alone is
/// divided, so that nothing is too small. Division by a constant is a product with its inverse and one correction (Markstein, 1990).
template <class T>
CCOLL_DEVICE double step_of(double bound)
{
    constexpr double divisor = 1 + 1.001 * (is_f32<T> ? 0x1p-8 : 0x1p-20), inverse = 1 / divisor;
    constexpr u32 cut = 53 - law<T>::step_bits;
    const u64 twice = bits_of(times(2, smaller(bound, law<T>::max_bound))), mantissa = (u64{1} << 52) - 1, one = u64{1023} << 52;
    const double m = number_of((twice & mantissa) | one), q = times(m, inverse);
    const u64 quotient = bits_of(__fma_rn(__fma_rn(-q, divisor, m), inverse, q));
    return number_of(((quotient >> cut) << cut) + (twice & ~mantissa) - one);
}

}  // namespace ccoll::detail::device::szp6
