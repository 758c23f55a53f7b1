// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/decode.cuh - floor 4. The fast kernel that decodes usual chunks, of frames for movement and of
// addends. All others go to the list. A warp does a group, and nothing is shared between warps but
// exceptional values, which come last.
#pragma once

#include <ccoll/cuda/szp/law.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// The bits of a number of this form are an integer plus `bias`; `offset` is the number of 0, and its product
/// with a step below `most` is exact if the bits `zeros` of the step are 0. Steps below `most` follow from
/// bounds below the largest one of the law.
template <class T>
struct biased {
    static constexpr u32 bias = is_f32<T> ? 0x4b400000u : 0x80000000u;
    static constexpr T offset = is_f32<T> ? T(12582912) : T(0x1p52 + 0x1p31),
                       most = static_cast<T>(is_f32<T> ? 0x1p94 : 0x1p940);
    static constexpr word_of<T> zeros = is_f32<T> ? 3 : (1u << 22) - 1;
    CCOLL_DEVICE static T number(u32 bits)
    {
        if constexpr (is_f32<T>) return number_of(bits);
        else return number_of(u64{0x43300000u} << 32 | bits);
    }
};

CCOLL_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
CCOLL_DEVICE double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

/// Four values of a row. The product with the step is rounded once: offset times step is exact.
template <class T>
CCOLL_DEVICE void put_values(shared_address row, u32 j, const u32 (&q)[4], T step, T minus)
{
    constexpr u32 n = tile<T>::in_piece;
    CCOLL_UNROLL
    for (u32 c = 0; c < 4; c += n) {
        word_of<T> v[n];
        CCOLL_UNROLL
        for (u32 i = 0; i < n; ++i) v[i] = bits_of(fused(biased<T>::number(q[c + i]), step, minus));
        tile<T>::put_piece(row, (4 * j + c) / n, v);
    }
}

/// Octets of bytes of differences to values. Sums of bytes are dot products with ones.
/// @param first  the sum in front of them
template <u32 Octets, class T>
CCOLL_DEVICE void restore(const u32 (&s)[3][8], u32 first, T step, T minus, shared_address row)
{
    constexpr u32 ones = 0x01010101u;
    u32 low = first, middle = 0;
    i32 high = Octets == 1 ? static_cast<i32>(first) : 0;  // the highest octet is signed
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; ++j) {
        const u32 p = octet_place(j);
        u32 q[4];
        CCOLL_UNROLL
        for (u32 i = 0; i < 4; ++i) {
            const u32 up_to = ones >> 8 * (3 - i);
            const i32 h = __dp4a(static_cast<int>(s[Octets - 1][p]), static_cast<int>(up_to), high);
            const u32 l = Octets > 1 ? __dp4a(s[0][p], up_to, low) : 0,
                      m = Octets > 2 ? __dp4a(s[1][p], up_to, middle) : 0;
            q[i] = l + (m << 8) + (static_cast<u32>(h) << 8 * (Octets - 1));
            if (i == 3) {
                low = l;
                middle = m;
                high = h;
            }
        }
        put_values(row, j, q, step, minus);
    }
}

// What is rare is not inlined: it would take registers from the rest, and room in the cache of instructions.

/// A step of the chunk's own. @return 0: the chunk is for the list
template <class T>
CCOLL_DEVICE_RARE T own_step(const arguments<T>& a, double step)
{
    const T in_t = static_cast<T>(step);
    const bool good =
        static_cast<double>(in_t) == step && a.a.frame[7] == 0 && (bits_of(in_t) & biased<T>::zeros) == 0;
    return good ? in_t : T{0};
}
/// Nothing but the values says that quanta on a step of the chunk's own are small. By a warp.
template <class T>
CCOLL_DEVICE_RARE bool are_small(shared_address row, T step)
{
    const T limit = times(step, static_cast<T>(fast_limit<T>));
    bool fit = true;
    each_in_row<T>(row, [&](u32, word_of<T> w) { fit = fit && number_of(w & ~fields_of<T>::sign) < limit; });
    return __any_sync(all_lanes, !fit) == 0;
}
template <class T>
CCOLL_DEVICE_RARE void divide_row(shared_address row, u32 by)
{
    each_in_row<T, true>(row,
                         [&](u32, word_of<T> w) { return bits_of(ratio(number_of(w), static_cast<T>(by))); });
}
/// The values of a group that is not whole, or does not begin at a multiple of 16 bytes.
template <class T>
CCOLL_DEVICE_RARE void put_some(shared_address from, u32 values, T* to)
{
    CCOLL_NO_UNROLL
    for (u32 i = lane(); i < values; i += 32)
        store_as(to + i, get_shared<word_of<T>>(from + tile<T>::of_value(i)));
}

/// Exceptional values of a chunk whose other values have been written.
template <class T>
struct exceptions_room {
    team_room team;
    sections_in<1> apart;
    word_of<T> value[most_entries];
};
/// Puts them in their places. By all threads; there are barriers in here.
/// @return false: the chunk is for the list
template <class T>
CCOLL_DEVICE bool put_exceptions(const arguments<T>& a, u32 chunk, u32 count, double step)
{
    auto& room = shared_memory<exceptions_room<T>>();
    const sections_in<1>& s = room.apart;
    const bool is_addend = a.a.frame[7] != 0;
    const u32 value_bytes = is_addend ? wide_bytes : sizeof(T);
    if (!read_sections(a.a, chunk, count, value_bytes, room.apart, room.team)) return false;
    if (me() < s.entries[0]) {
        const u8* const v = s.values[0] + value_bytes * me();
        room.value[me()] = is_addend
                               ? value_of_wide<T>(load_wide(v), 0, step, a.divisor, a.has_missing, a.missing)
                               : load_as<word_of<T>>(v);
    }
    __syncthreads();
    const u32 mask = s.masks[0][me()], before = s.before[0][me()];
    T* const x = a.out + (u64{chunk_elements} * chunk + group_elements * warp() + lane());
    for (u32 rows = __ballot_sync(all_lanes, mask != 0); rows != 0; rows &= rows - 1) {
        const u32 r = lowest_bit(rows), m = __shfl_sync(all_lanes, mask, r),
                  first = __shfl_sync(all_lanes, before, r);
        if ((m >> lane() & 1) == 0) continue;
        store_as(x + 32 * r, room.value[s.number_at(0, first + ones_of(m & ones_below(lane())))]);
    }
    return true;
}
/// The end of a chunk that has exceptional values, or a group that is not usual. In the first case by all
/// threads, and the same for all of a warp.
template <class T>
CCOLL_DEVICE_RARE void end_chunk(const arguments<T>& a, bool usual, bool has_exceptions, double step)
{
    const u32 chunk = blockIdx.x, count = values_of_chunk(a.facts, chunk);
    if (has_exceptions) {
        usual = !team_any(!usual, shared_memory<team_room>().words);  // its barrier: tiles have been read
        usual = usual && put_exceptions(a, chunk, count, step);
    }
    if (!usual && lane() == 0) list_chunk(a.w, chunk);
}

template <class T>
__global__ __launch_bounds__(team_threads, residents<operation::decode, sizeof(T)>) void decode(
    const __grid_constant__ arguments<T> a)
{
    let_next_begin();
    const u32 chunk = blockIdx.x, count = values_of_chunk(a.facts, chunk), groups = groups_of(count),
              g = warp();
    // Warps without a group have those of the last one, and write nothing: they are here for exceptional
    // values.
    const bool writes = g < groups;
    const u32 group = smaller(g, groups - 1);
    group_in frame[1];
    open_groups<T, false>({&a.a}, chunk, count, group, frame);
    const group_in& in = frame[0];
    if (!writes && !in.has_exceptions) return;
    const u32 upper_bound = get_constant(a.a.frame + 20);
    const T step =
        in.is_own()
            ? own_step(a, in.own_step())
            : static_cast<T>(step_of<T>(number_of(u64{upper_bound} << 32 | get_constant(a.a.frame + 16))));
    bool usual =
        in.usual & (upper_bound >= upper_least_bound<T>)&(step >= least_normal<T>)&(step < biased<T>::most);
    if (agreed(usual)) {
        const T minus = times(-biased<T>::offset, step);
        const shared_address to = shared_begin() + g * tile<T>::bytes, row = to + tile<T>::row(lane());
        u32 s[3][8], sign = 0;
        if (in.widest == 0) {
            const u32 q = in.base() + biased<T>::bias, all[4] = {q, q, q, q};
            CCOLL_UNROLL
            for (u32 j = 0; j < 8; ++j) put_values(row, j, all, step, minus);
        } else {
            each_octet(in.widest, [&](auto o) {
                load_planes<o, 0>(in.planes, s[o]);
                if (in.widest > 8 * o + 4) load_planes<o, 4>(in.planes, s[o]);
                extend<o, 0>(in.planes, s[o], sign);
                extend<o, 4>(in.planes, s[o], sign);
            });
            u32 sum = 0;
            each_octet(in.widest, [&](auto o) {
                transpose(s[o]);
                u32 of_octet = 0;
                CCOLL_UNROLL
                for (u32 j = 0; j < 8; ++j) of_octet = __dp4a(s[o][j], 0x01010101u, of_octet);
                sum += of_octet << 8 * o;
            });
            sum -= ones_of(sign) << (in.widest + 7) / 8 * 8;  // the highest octet is signed
            const u32 first = sum_up_to(sum) - sum + in.base() + biased<T>::bias;
            if (in.widest <= 8) restore<1>(s, first, step, minus, row);
            else if (in.widest <= 16) restore<2>(s, first, step, minus, row);
            else restore<3>(s, first, step, minus, row);
        }
        if (is_f32<T> && in.is_own()) usual = are_small(row, step);
        if (a.divisor != 1) divide_row<T>(row, a.divisor);
        const u32 values = smaller(count - group_elements * group, group_elements);
        T* const out = a.out + (u64{chunk_elements} * chunk + group_elements * g);
        __syncwarp();
        if (!writes) {
        } else if (a.is_aligned && values == group_elements) {
            uint4* const pieces = reinterpret_cast<uint4*>(out) + lane();
            const shared_address from = tile<T>::copied(to, lane());
            CCOLL_UNROLL
            for (u32 r = 0; r < tile<T>::pieces; ++r)
                store_as(pieces + 32 * r, get_shared<uint4>(tile<T>::of_copy(from, r)));
        } else {
            put_some(to, values, out);
        }
    }
    if (!usual | in.has_exceptions) end_chunk(a, usual, in.has_exceptions, static_cast<double>(step));
}

}  // namespace ccoll::detail::device::szp
