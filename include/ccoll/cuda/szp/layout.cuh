// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/layout.cuh - floor 4. Chunks of SZp as its kernels see them.
// docs/wire_format.md draws the bytes.
#pragma once

#include <ccoll/codec/szp/grid.hpp>
#include <ccoll/cuda/frame.cuh>
#include <ccoll/cuda/szp/machine.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

namespace host = ::ccoll::detail::szp;

template <class T>
using law = host::law<T>;
template <class T>
inline constexpr bool is_f32 = sizeof(T) == 4;
template <class T>
using word_of = typename fields_of<T>::word;

/// Normal numbers, as a device may read them.
template <class T>
inline constexpr double least_normal = static_cast<double>(std::numeric_limits<T>::min());
/// The upper half of the least bound, 4 times the smallest of them; the lower half is 0.
template <class T>
inline constexpr u32 upper_least_bound = static_cast<u32>(std::bit_cast<u64>(4 * least_normal<T>) >> 32);
template <class T>
inline constexpr double largest_number = static_cast<double>(std::numeric_limits<T>::max());

inline constexpr u32 block_elements = 32, group_elements = 1024, chunk_elements = 8192;
inline constexpr u32 head_bytes = 16;
struct format {
    static constexpr u32 codec = 3, chunk_elements = szp::chunk_elements;
    static constexpr quality kind = quality::absolute;
    static constexpr bool adds = true;
};

/// What the fast kernels take: quanta below this in magnitude, with so many planes. More would take registers
/// from all.
template <class T>
inline constexpr u32 fast_limit = u32{1} << (is_f32<T> ? 22 : 30);
inline constexpr u32 most_fast_planes = 24;
/// Bytes of shared memory that the planes of a group take, with one octet above them.
inline constexpr u32 staged_bytes = 4 * (32 * most_fast_planes + 32);

// The first byte of a chunk, and the second.
inline constexpr u32 scale_bound = 0, scale_own = 1;
inline constexpr u32 form_left = 1, form_wide = 2, form_flat = 4;

CCOLL_DEVICE u32 values_of_chunk(const frame_facts& f, u32 chunk)
{
    return chunk + 1 < f.chunks ? chunk_elements : static_cast<u32>(f.n) - chunk_elements * chunk;
}
CCOLL_DEVICE u32 groups_of(u32 count) { return (count + group_elements - 1) / group_elements; }
CCOLL_DEVICE u32 blocks_of(u32 count) { return (count + block_elements - 1) / block_elements; }
/// Has the chunk the block of this lane in group g?
CCOLL_DEVICE bool has_block(u32 count, u32 g) { return group_elements * g + block_elements * lane() < count; }
/// Blocks of group g.
CCOLL_DEVICE u32 blocks_in_group(u32 count, u32 g) { return smaller(blocks_of(count) - 32 * g, 32u); }
/// Head, codes, places and bases.
CCOLL_DEVICE u32 front_bytes(u32 groups, bool wide) { return head_bytes + (wide ? 32 : 24) * groups; }
CCOLL_DEVICE u32 in_units(u32 bytes) { return (bytes + unit_bytes - 1) / unit_bytes; }

/// Bytes of the longest addend: host::most_addend_bytes.
CCOLL_DEVICE u32 most_addend_bytes(u32 count)
{
    const u32 blocks = blocks_of(count), groups = groups_of(count), in_front = 12 + 8 * groups + 4 * blocks;
    return 16 + 48 * groups + 256 * blocks + 32 * in_units(in_front) + 16 * in_units(2 * count) +
           24 * smaller(count, 512u) + 160;
}

using work = scratch;

/// What a call does: values are encoded for movement, as an addend, or added to an addend; two addends are
/// added; a frame is decoded.
enum class operation { move, encode, add_values, add, decode };
template <operation What>
inline constexpr bool has_values = What < operation::add;
template <operation What>
inline constexpr bool has_frame = What > operation::encode;

/// Thread blocks that a multiprocessor is to hold of the fast kernel for elements of so many bytes: more of
/// them hide more of the memory's latency, and have fewer registers each.
inline constexpr u32 most_residents = 5;
template <operation What, u32 Bytes>
inline constexpr u32 residents = What == operation::add ? most_residents
                                 : Bytes == 8           ? 3
                                 : has_values<What>     ? 4
                                                        : most_residents;

/// What the kernels of a call are told.
template <class T>
struct arguments {
    const T* x = nullptr;     ///< values to encode
    T* out = nullptr;         ///< values to decode
    bool is_aligned = false;  ///< values begin at a multiple of 16 bytes
    bool has_missing = false;
    word_of<T> missing = 0;  ///< bits that are compared with nothing
    u32 divisor = 1;         ///< of a decoded sum
    u32 blocks = 0;          ///< of the second kernel
    law<T> z{0};             ///< of values to encode
    double bound = 0;        ///< the same, as the frame has it
    T lattice = 0;           ///< 1 / L, where L is the least power of two above the step
    word_of<T> beyond = 0;   ///< bits of 2^187 steps: wide integers of less are never too large
    frame_facts facts;
    frame_in a, b;  ///< to read
    frame_out to;
    work* w = nullptr;
    outcome* told = nullptr;

    CCOLL_DEVICE bool is_missing(word_of<T> bits) const { return has_missing && bits == missing; }
};
/// The step that follows from a bound, as the host computes it: a quotient, of which the highest bits are
/// kept. The significand alone is divided, so that nothing is too small. Division by a constant is a product
/// with its inverse and one correction (Markstein, 1990).
/// @param bound  normal, and not above the largest one of the law. Of others the result is as large, too
///               small, or not a number
template <class T>
CCOLL_DEVICE double step_of(double bound)
{
    constexpr double divisor = 1 + 1.001 * (is_f32<T> ? 0x1p-8 : 0x1p-20), inverse = 1 / divisor;
    constexpr u32 cut = 53 - law<T>::step_bits;
    constexpr u64 mantissa = (u64{1} << 52) - 1, one = u64{1023} << 52, half = u64{1022} << 52;
    const u64 b = bits_of(bound);
    const double m = number_of((b & mantissa) | one), q = times(m, inverse);
    const u64 quotient = bits_of(__fma_rn(__fma_rn(-q, divisor, m), inverse, q));
    return number_of(((quotient >> cut) << cut) + (b & ~mantissa) - half);  // twice the bound
}

}  // namespace ccoll::detail::device::szp
