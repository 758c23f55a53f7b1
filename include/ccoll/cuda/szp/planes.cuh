// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/planes.cuh - floor 4. Bit planes of the 32 values of a lane, eight at a time.
//
// A word of an octet has one byte of four values, 4 j to 4 j + 3, and stands at `octet_place(j)`. Transposing
// the eight words gives eight planes in the order of bits of the wire: bit 8 c + 4 h + k is value 8 k + 4 h +
// c.
#pragma once

#include <ccoll/cuda/szp/layout.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

CCOLL_DEVICE constexpr u32 octet_place(u32 j) { return 4 * (j & 1) + j / 2; }

template <u32 By, u32 Mask>
CCOLL_DEVICE void swap_bits(u32& low, u32& high)
{
    const u32 a = low, b = high;
    low = merged<Mask>(a, b << By);
    high = merged<Mask>(a >> By, b);
}
/// 8 x 8 bits in each of the four bytes; the inverse of itself.
CCOLL_DEVICE void transpose(u32 (&w)[8])
{
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; j += 2) swap_bits<1, 0x55555555u>(w[j], w[j + 1]);
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) swap_bits<2, 0x33333333u>(w[j / 2 * 4 + j % 2], w[j / 2 * 4 + j % 2 + 2]);
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) swap_bits<4, 0x0f0f0f0fu>(w[j], w[j + 4]);
}
/// To planes 0 to 3 alone.
CCOLL_DEVICE void transpose_low(u32 (&w)[8])
{
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) w[j] = merged<0x0f0f0f0fu>(w[j], w[j + 4] << 4);
    swap_bits<1, 0x55555555u>(w[0], w[1]);
    swap_bits<1, 0x55555555u>(w[2], w[3]);
    swap_bits<2, 0x33333333u>(w[0], w[2]);
    swap_bits<2, 0x33333333u>(w[1], w[3]);
}
/// Byte `Octet` of four words.
template <u32 Octet>
CCOLL_DEVICE u32 byte_of_each(u32 a, u32 b, u32 c, u32 d)
{
    constexpr u32 pair = Octet | (4 + Octet) << 4;
    return __byte_perm(__byte_perm(a, b, pair), __byte_perm(c, d, pair), 0x5410);
}

template <u32 Number>
struct octet_number {
    CCOLL_DEVICE constexpr operator u32() const { return Number; }
};
/// Calls f (number) for each octet of so many planes, at most three. There is always one.
template <u32 Most = 3, u32 Octet = 0, class F>
CCOLL_DEVICE void each_octet(u32 planes, F f)
{
    f(octet_number<Octet>{});
    if constexpr (Octet + 1 < Most)
        if (planes > 8 * (Octet + 1)) each_octet<Most, Octet + 1>(planes, f);
}

/// Planes as words of memory.
struct planes_in {
    const u32* at = nullptr;
    u32 width = 0;
};
/// Begins to load planes 8 Octet + From and the next three.
template <u32 Octet, u32 From>
CCOLL_DEVICE void load_planes(const planes_in& in, u32 (&b)[8])
{
    constexpr u32 k = 8 * Octet + From;
    b[From] = get_if<k>(k < in.width, in.at);
    b[From + 1] = get_if<k + 1>(k + 1 < in.width, in.at);
    b[From + 2] = get_if<k + 2>(k + 2 < in.width, in.at);
    b[From + 3] = get_if<k + 3>(k + 3 < in.width, in.at);
}
/// When they have come: those from the width on repeat the sign. @param sign  the plane below; 0 at first
template <u32 Octet, u32 From>
CCOLL_DEVICE void extend(const planes_in& in, u32 (&b)[8], u32& sign)
{
    CCOLL_UNROLL
    for (u32 i = From; i < From + 4; ++i) sign = b[i] = 8 * Octet + i < in.width ? b[i] : sign;
}

/// 32 additions in two's complement at once, plane by plane from the lowest on.
struct ripple {
    u32 carry = 0, last = 0;
    /// planes up to the last that differs from the one below it, and one more is not needed: it is the sign
    u32 width = 0;

    template <u32 Octet, u32 From>
    CCOLL_DEVICE void add(u32 (&s)[8], const u32 (&b)[8])
    {
        CCOLL_UNROLL
        for (u32 k = From; k < From + 4; ++k) {
            const u32 x = s[k], y = b[k], sum = x ^ y ^ carry;
            carry = (x & y) | (x & carry) | (y & carry);
            if (sum != last) width = 8 * Octet + k + 1;
            last = sum;
            s[k] = sum;
        }
    }
};

// Conditions are joined by & and |: && would let a load of one wait for that of the other.

/// A chunk that has a front: of others nothing is read here.
struct packed_chunk {
    const u8* at = nullptr;
    u32 bytes = 0;
    bool is_there = false;

    packed_chunk() = default;
    /// As find_chunk, but the bit of raw chunks makes their place too large.
    /// @param limit_of_bytes  no usual chunk has so many bytes, and every shorter one may be there
    CCOLL_DEVICE packed_chunk(const frame_in& f, u32 chunk, u32 groups, u32 limit_of_bytes)
    {
        const uint2 entry = get_constant_pair(f.frame + index_begin + u64{entry_bytes} * chunk);
        const u32 limit = smaller(get_constant(f.frame + payload_field), f.units);
        static_assert(raw_chunk == u32{1} << 31, "ccoll: no payload has so many units");
        at = f.payload + u64{unit_bytes} * entry.x;
        bytes = entry.y;
        is_there = (entry.x < limit) & ((bytes - 1) / unit_bytes < limit - entry.x) &
                   (bytes >= front_bytes(groups, false)) & (bytes < limit_of_bytes);
    }
};
/// A group of a chunk that the fast kernels take: narrow, and predicted from the left neighbour alone.
struct group_in {
    planes_in planes;
    u32 widest = 0;  ///< of the group
    bool usual = false;
    bool has_exceptions = false;  ///< the chunk has

    CCOLL_DEVICE u32 base() const { return place_.y; }
    CCOLL_DEVICE u32 ceiling() const
    {
        return head_.z;
    }  ///< on the grid of the bound: not below any |q| of the chunk
    CCOLL_DEVICE bool is_own() const { return head_.x == (form_left << 8 | scale_own); }
    CCOLL_DEVICE double own_step() const { return number_of(u64{head_.w} << 32 | head_.z); }

    /// Begins to load what the front of the chunk has of the group, all at once.
    /// @return planes of the block of this lane
    CCOLL_DEVICE u32 load(const packed_chunk& c, u32 g, u32 groups, bool has_block)
    {
        chunk_ = c;
        head_ = get_if<0, uint4>(c.is_there, c.at);
        last_ = get_if<0>(has_last(), c.at + (c.bytes / unit_bytes * unit_bytes + 4 * lane()));
        place_ = get_if<head_bytes / 4, uint2>(c.is_there, c.at + 16 * groups + 8 * g);
        const u32 code = get_if<head_bytes / 4>(c.is_there, c.at + 16 * g + lane() / 8 * 4);
        planes.width =
            (has_block & c.is_there) ? (place_.x >> 16 & 255) + (code >> 4 * (lane() & 7) & 15) : 0;
        return planes.width;
    }
    /// Checks it. By a whole warp. @param up_to, words  sums of widths, up to this lane and of all
    /// @tparam Adds  sums have one more plane, and no step of their own
    template <class T, bool Adds>
    CCOLL_DEVICE void open(u32 up_to, u32 words)
    {
        const u32 at = unit_bytes * (place_.x & 0xffff);
        const bool common = (head_.x == form_left << 8) & (head_.w == 0) & (head_.z < fast_limit<T>),
                   is_plain = chunk_.is_there & (common | (!Adds & is_own())) &
                              (((head_.y & 0xffff) | place_.x >> 24) == 0);
        widest = warp_max(planes.width);
        usual = is_plain & (widest <= most_fast_planes - Adds) & (at + 4 * words <= chunk_.bytes) &
                is_filled_with_zeros();
        has_exceptions = chunk_.is_there & (head_.y >> 16 != 0);
        planes.at = reinterpret_cast<const u32*>(chunk_.at + at) + (up_to - planes.width);
        keep(planes.at);
    }

private:
    /// Has this lane a word of the unit in which the chunk ends, and does not fill it?
    CCOLL_DEVICE bool has_last() const
    {
        return chunk_.is_there & (chunk_.bytes % unit_bytes != 0) & (lane() < 4);
    }
    /// @see is_filled_with_zeros in frame.cuh. A lane has a word, because registers are scarce.
    CCOLL_DEVICE bool is_filled_with_zeros() const
    {
        const u32 used = chunk_.bytes % unit_bytes, first = 4 * lane(),
                  mine = used > first ? smaller(used - first, 4u) : 0;
        const u32 behind = last_ & ~ones_below(8 * mine);
        return __any_sync(all_lanes, has_last() & (behind != 0)) == 0;
    }

    packed_chunk chunk_;
    uint4 head_{};
    uint2 place_{};
    u32 last_ = 0;
};
/// Opens the group of each frame. No load waits for that of another frame, and widths are summed up at once.
template <class T, bool Adds, u32 Frames>
CCOLL_DEVICE void open_groups(const frame_in* const (&f)[Frames], u32 chunk, u32 count, u32 g,
                              group_in (&to)[Frames])
{
    const u32 groups = groups_of(count);
    const bool has_block = szp::has_block(count, g);
    packed_chunk at[Frames];
    u32 widths = 0;
    CCOLL_UNROLL
    for (u32 k = 0; k < Frames; ++k)
        at[k] = packed_chunk(*f[k], chunk, groups, static_cast<u32>(sizeof(T)) * count);
    CCOLL_UNROLL
    for (u32 k = 0; k < Frames; ++k) widths |= to[k].load(at[k], g, groups, has_block) << 16 * k;
    const u32 up_to = sum_up_to(widths), all = __shfl_sync(all_lanes, up_to, 31);
    if constexpr (Frames == 1) {
        to[0].template open<T, Adds>(up_to, all);
    } else {
        to[0].template open<T, Adds>(up_to & 0xffff, all & 0xffff);
        to[1].template open<T, Adds>(up_to >> 16, all >> 16);
    }
}

}  // namespace ccoll::detail::device::szp
