// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/decode.cuh - floor 4. The fast kernel that decodes usual chunks, of frames for movement and of addends. All others go to the
// list. A warp does a group, and nothing is shared between warps but exceptional values, which come last.
#pragma once

#include <ccoll/cuda/szp/law.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// The bits of a number of this form are an integer plus `bias`; `offset` is the number of 0, and its product with a step below `most` is
/// exact if the bits `zeros` of the step are 0.
template <class T>
struct biased {
    static constexpr u32 bias = is_f32<T> ? 0x4b400000u : 0x80000000u;
    static constexpr T offset = is_f32<T> ? T(12582912) : T(0x1p52 + 0x1p31), most = static_cast<T>(is_f32<T> ? 0x1p96 : 0x1p960);
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
template <u32 Octets, class T>
CCOLL_DEVICE void restore(const u32 (&s)[3][8], u32 base, T step, T minus, shared_address row)
{
    constexpr u32 ones = 0x01010101u;
    u32 low = 0, middle = 0;
    i32 high = 0;  // the highest octet is signed
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; ++j) {
        if (Octets > 1) low = __dp4a(s[0][j], ones, low);
        if (Octets > 2) middle = __dp4a(s[1][j], ones, middle);
        high = __dp4a(static_cast<int>(s[Octets - 1][j]), static_cast<int>(ones), high);
    }
    const u32 sum = low + (middle << 8) + (static_cast<u32>(high) << 8 * (Octets - 1));
    low = sum_up_to(sum) - sum + base + biased<T>::bias;
    middle = 0;
    high = 0;
    if (Octets == 1) high = static_cast<i32>(low);
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; ++j) {
        const u32 p = octet_place(j);
        u32 q[4];
        CCOLL_UNROLL
        for (u32 i = 0; i < 4; ++i) {
            const u32 up_to = ones >> 8 * (3 - i);
            const i32 h = __dp4a(static_cast<int>(s[Octets - 1][p]), static_cast<int>(up_to), high);
            const u32 l = Octets > 1 ? __dp4a(s[0][p], up_to, low) : 0, m = Octets > 2 ? __dp4a(s[1][p], up_to, middle) : 0;
            q[i] = l + (m << 8) + (static_cast<u32>(h) << 8 * (Octets - 1));
            if (i == 3) low = l, middle = m, high = h;
        }
        put_values(row, j, q, step, minus);
    }
}

/// What is rare is not inlined: a division takes registers.
template <class T>
CCOLL_DEVICE_RARE void divide_row(shared_address row, T by)
{
    each_in_row<T, true>(row, [&](u32, word_of<T> w) { return bits_of(ratio(number_of(w), by)); });
}
/// The values of a group. @param values  that there are    @param is_whole  all, and `to` is a multiple of 16 bytes
template <class T>
CCOLL_DEVICE void put_tile(shared_address from, u32 values, bool is_whole, T* to)
{
    __syncwarp();
    if (is_whole) {
        uint4* const out = reinterpret_cast<uint4*>(to) + lane();
        CCOLL_UNROLL
        for (u32 r = 0; r < tile<T>::pieces; ++r) store_as(out + 32 * r, get_shared<uint4>(from + tile<T>::of_copy(r, lane())));
    } else {
        CCOLL_NO_UNROLL
        for (u32 i = lane(); i < values; i += 32) store_as(to + i, get_shared<word_of<T>>(from + tile<T>::of_value(i)));
    }
}

/// Exceptional values of a chunk whose other values have been written.
template <class T>
struct exceptions_room {
    team_room team;
    sections_in<1> apart;
    word_of<T> value[most_entries];
};
/// Puts them in their places. By all threads; there are barriers in here. @return false: the chunk is for the list
template <class T>
CCOLL_DEVICE_RARE bool put_exceptions(const arguments<T>& a, u32 chunk, u32 count, double step)
{
    auto& room = shared_memory<exceptions_room<T>>();
    const sections_in<1>& s = room.apart;
    const bool is_addend = a.a.frame[7] != 0;
    const u32 value_bytes = is_addend ? wide_bytes : sizeof(T);
    if (!read_sections(a.a, chunk, count, value_bytes, room.apart, room.team)) return false;
    if (me() < s.entries[0]) {
        const u8* const v = s.values[0] + value_bytes * me();
        room.value[me()] =
            is_addend ? value_of_wide<T>(load_wide(v), 0, step, a.divisor, a.has_missing, a.missing) : load_as<word_of<T>>(v);
    }
    __syncthreads();
    const u32 mask = s.masks[0][me()], before = s.before[0][me()];
    T* const x = a.out + (u64{chunk_elements} * chunk + group_elements * warp() + lane());
    for (u32 rows = __ballot_sync(all_lanes, mask != 0); rows != 0; rows &= rows - 1) {
        const u32 r = lowest_bit(rows), m = __shfl_sync(all_lanes, mask, r), first = __shfl_sync(all_lanes, before, r);
        if ((m >> lane() & 1) == 0) continue;
        store_as(x + 32 * r, room.value[s.number_at(0, first + ones_of(m & ones_below(lane())))]);
    }
    return true;
}

template <class T>
__global__ __launch_bounds__(team_threads, residents<operation::decode, sizeof(T)>) void decode(const __grid_constant__ arguments<T> a)
{
    let_next_begin();
    const u32 chunk = blockIdx.x, count = values_of_chunk(a.facts.n, chunk), groups = groups_of(count), g = warp();
    // Warps without a group have those of the last one, and write nothing: they are here for exceptional values.
    const bool writes = g < groups;
    const u32 group = writes ? g : groups - 1;
    group_in frame[1];
    open_groups<T>({&a.a}, chunk, group, groups, blocks_in_group(count, group), frame);
    const group_in& in = frame[0];
    if (!writes && !in.has_exceptions()) return;
    double step = in.own_step();
    bool usual = in.usual;
    if (!in.is_own()) step = step_of<T>(number_of(u64{get_constant(a.a.frame + 20)} << 32 | get_constant(a.a.frame + 16)));
    else usual = usual && static_cast<double>(static_cast<T>(step)) == step && a.a.frame[7] == 0;
    const T in_t = static_cast<T>(step);
    usual = usual && in_t >= static_cast<T>(4 * least_normal<T>) && in_t < biased<T>::most && (bits_of(in_t) & biased<T>::zeros) == 0;
    if (usual) {
        const T minus = times(-biased<T>::offset, in_t);
        const shared_address to = g * tile<T>::bytes, row = to + tile<T>::row(lane());
        u32 s[3][8], sign = 0;
        if (in.widest == 0) {
            const u32 q = in.base() + biased<T>::bias, all[4] = {q, q, q, q};
            CCOLL_UNROLL
            for (u32 j = 0; j < 8; ++j) put_values(row, j, all, in_t, minus);
        } else {
            each_octet(in.widest, [&](auto o) { get_octet<o>(in.planes, in.widest, s[o], sign); });
            each_octet(in.widest, [&](auto o) { transpose(s[o]); });
            if (in.widest <= 8) restore<1>(s, in.base(), in_t, minus, row);
            else if (in.widest <= 16) restore<2>(s, in.base(), in_t, minus, row);
            else restore<3>(s, in.base(), in_t, minus, row);
        }
        if (is_f32<T> && in.is_own()) {  // nothing else says that quanta fit
            const T limit = times(in_t, static_cast<T>(fast_limit<T>));
            bool fit = true;
            each_in_row<T>(row, [&](u32, word_of<T> w) { fit = fit && number_of(w & ~fields_of<T>::sign) < limit; });
            usual = __any_sync(all_lanes, !fit) == 0;
        }
        if (a.divisor != 1) divide_row(row, static_cast<T>(a.divisor));
        const u32 values = smaller(count - group_elements * group, group_elements);
        T* const out = a.out + (u64{chunk_elements} * chunk + group_elements * g);
        if (writes) put_tile(to, values, a.is_aligned && values == group_elements, out);
    }
    if (in.has_exceptions()) {
        usual = !team_any(!usual, shared_memory<team_room>().words);  // its barrier: tiles have been read
        usual = usual && put_exceptions(a, chunk, count, step);
    }
    if (!usual && lane() == 0) list_chunk(a.w, chunk);
}

}  // namespace ccoll::detail::device::szp
