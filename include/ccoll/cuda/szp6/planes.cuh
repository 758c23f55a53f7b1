// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp6/planes.cuh - floor 4. Bit planes of the 32 values of a lane, eight at a time.
//
// A word of an octet has one byte of four values, 4 j to 4 j + 3, and stands at `octet_place(j)`. Transposing the eight words gives eight
// planes in the order of bits of the wire: bit 8 c + 4 h + k is value 8 k + 4 h + c.
#pragma once

#include <ccoll/cuda/szp6/layout.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp6 {

CCOLL_DEVICE constexpr u32 octet_place(u32 j) { return 4 * (j & 1) + j / 2; }

CCOLL_DEVICE u32 merged(u32 a, u32 b, u32 mask) { return (a & mask) | (b & ~mask); }
template <u32 By>
CCOLL_DEVICE void swap_bits(u32& low, u32& high, u32 mask)
{
    const u32 a = low, b = high;
    low = merged(a, b << By, mask);
    high = merged(a >> By, b, mask);
}
/// 8 x 8 bits in each of the four bytes; the inverse of itself.
CCOLL_DEVICE void transpose(u32 (&w)[8])
{
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; j += 2) swap_bits<1>(w[j], w[j + 1], 0x55555555u);
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) swap_bits<2>(w[j / 2 * 4 + j % 2], w[j / 2 * 4 + j % 2 + 2], 0x33333333u);
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) swap_bits<4>(w[j], w[j + 4], 0x0f0f0f0fu);
}
/// To planes 0 to 3 alone.
CCOLL_DEVICE void transpose_low(u32 (&w)[8])
{
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) w[j] = merged(w[j], w[j + 4] << 4, 0x0f0f0f0fu);
    swap_bits<1>(w[0], w[1], 0x55555555u);
    swap_bits<1>(w[2], w[3], 0x55555555u);
    swap_bits<2>(w[0], w[2], 0x33333333u);
    swap_bits<2>(w[1], w[3], 0x33333333u);
}
/// Byte `Octet` of four words.
template <u32 Octet>
CCOLL_DEVICE u32 byte_of_each(u32 a, u32 b, u32 c, u32 d)
{
    constexpr u32 pair = Octet | (4 + Octet) << 4;
    return __byte_perm(__byte_perm(a, b, pair), __byte_perm(c, d, pair), 0x5410);
}

/// Planes as words of memory.
struct planes_in {
    const u32* at = nullptr;
    u32 width = 0;
};
/// Planes 8 Octet and up. Those from the width on repeat the sign.
/// @param widest  of the warp, so that four planes that nobody has are not looked for    @param sign  the plane below; 0 at first
template <u32 Octet>
CCOLL_DEVICE void get_octet(const planes_in& in, u32 widest, u32 (&b)[8], u32& sign)
{
    constexpr u32 k = 8 * Octet;
    const bool more = widest > k + 4;
    b[0] = get_if<k>(k < in.width, in.at);
    b[1] = get_if<k + 1>(k + 1 < in.width, in.at);
    b[2] = get_if<k + 2>(k + 2 < in.width, in.at);
    b[3] = get_if<k + 3>(k + 3 < in.width, in.at);
    if (more) {
        b[4] = get_if<k + 4>(k + 4 < in.width, in.at);
        b[5] = get_if<k + 5>(k + 5 < in.width, in.at);
        b[6] = get_if<k + 6>(k + 6 < in.width, in.at);
        b[7] = get_if<k + 7>(k + 7 < in.width, in.at);
    }
    CCOLL_UNROLL
    for (u32 i = 0; i < 4; ++i) sign = b[i] = k + i < in.width ? b[i] : sign;
    if (more) {
        CCOLL_UNROLL
        for (u32 i = 4; i < 8; ++i) sign = b[i] = k + i < in.width ? b[i] : sign;
    } else {
        CCOLL_UNROLL
        for (u32 i = 4; i < 8; ++i) b[i] = sign;
    }
}

/// A group of a chunk that the fast kernels take: narrow, on the grid of the bound, predicted from the left neighbour alone.
struct group_in {
    planes_in planes;
    u32 widest = 0;  ///< of the group
    i32 base = 0;
    u32 ceiling = 0;  ///< not below any |q| of the chunk
    bool usual = false;
};
/// Finds and checks it. By a whole warp. @param groups, blocks  of the chunk; of the group
template <class T>
CCOLL_DEVICE group_in open_group(const frame_in& f, u32 chunk, u32 g, u32 groups, u32 blocks)
{
    group_in r;
    const chunk_place c = find_chunk(f, chunk);
    if (!c.good || c.raw || c.bytes < front_bytes(groups, false)) return r;
    const uint4 head = get_once(c.at);
    const u32 code = get_constant(c.at + head_bytes + 16 * g + lane() / 8 * 4);
    const uint2 place = get_constant_pair(c.at + head_bytes + 16 * groups + 8 * g);
    const bool is_plain = head.x == form_left << 8 && head.y == 0 && head.w == 0 && head.z < fast_limit<T> && place.x >> 24 == 0;
    const u32 w = lane() < blocks ? (place.x >> 16 & 255) + (code >> 4 * (lane() & 7) & 15) : 0, up_to = sum_up_to(w);
    const u32 at = unit_bytes * (place.x & 0xffff), words = __shfl_sync(all_lanes, up_to, 31);
    r.widest = warp_max(w);
    r.usual = is_plain && r.widest <= most_fast_planes && (words == 0 || at + 4 * words <= c.bytes);
    r.planes = {reinterpret_cast<const u32*>(c.at + at) + (up_to - w), r.usual ? w : 0};
    keep(r.planes.at);
    r.base = static_cast<i32>(place.y);
    r.ceiling = head.z;
    return r;
}

}  // namespace ccoll::detail::device::szp6
