// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp6/decode.cuh - floor 4. The fast kernel that decodes usual chunks, of frames for movement and of addends. All others go to the
// list. A warp does a group, and nothing is shared between warps.
#pragma once

#include <ccoll/cuda/szp6/planes.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp6 {

/// The bits of a number of this form are an integer plus `bias`; `offset` is the number of 0, and has
/// a product with a step below `most`.
template <class T>
struct biased;
template <>
struct biased<float> {
    static constexpr u32 bias = 0x4b400000u;
    static constexpr float offset = 12582912.0f, most = 0x1p96f;
    CCOLL_DEVICE static float number(u32 bits) { return number_of(bits); }
};
template <>
struct biased<double> {
    static constexpr u32 bias = 0x80000000u;
    static constexpr double offset = 0x1p52 + 0x1p31, most = 0x1p960;
    CCOLL_DEVICE static double number(u32 bits) { return number_of(u64{0x43300000u} << 32 | bits); }
};

CCOLL_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
CCOLL_DEVICE double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

/// Four values of a row. The product with the step is rounded once: offset times step is exact.
CCOLL_DEVICE void put_values(shared_address row, u32 j, const u32 (&q)[4], float step, float minus)
{
    u32 v[4];
    CCOLL_UNROLL
    for (u32 i = 0; i < 4; ++i) v[i] = bits_of(fused(biased<float>::number(q[i]), step, minus));
    put_shared(row ^ j << 4, uint4{v[0], v[1], v[2], v[3]});
}
CCOLL_DEVICE void put_values(shared_address row, u32 j, const u32 (&q)[4], double step, double minus)
{
    CCOLL_UNROLL
    for (u32 i = 0; i < 4; i += 2) {
        const u64 a = bits_of(fused(biased<double>::number(q[i]), step, minus)),
                  b = bits_of(fused(biased<double>::number(q[i + 1]), step, minus));
        put_shared(row ^ (2 * j + i / 2) << 4,
                   uint4{static_cast<u32>(a), static_cast<u32>(a >> 32), static_cast<u32>(b), static_cast<u32>(b >> 32)});
    }
}

/// Octets of bytes of differences to values. Sums of bytes are dot products with ones.
template <u32 Octets, class T>
CCOLL_DEVICE void restore(const u32 (&s0)[8], const u32 (&s1)[8], const u32 (&s2)[8], i32 base, T step, T minus, shared_address row)
{
    constexpr u32 ones = 0x01010101u;
    u32 low = 0, middle = 0;
    i32 high = 0;  // the highest octet is signed
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; ++j) {
        if (Octets > 1) low = __dp4a(s0[j], ones, low);
        if (Octets > 2) middle = __dp4a(s1[j], ones, middle);
        high = __dp4a(static_cast<int>(Octets == 1 ? s0[j] : Octets == 2 ? s1[j] : s2[j]), static_cast<int>(ones), high);
    }
    const u32 sum = low + (middle << 8) + (static_cast<u32>(high) << 8 * (Octets - 1));
    low = sum_up_to(sum) - sum + static_cast<u32>(base) + biased<T>::bias;
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
            const i32 h = __dp4a(static_cast<int>(Octets == 1 ? s0[p] : Octets == 2 ? s1[p] : s2[p]), static_cast<int>(up_to), high);
            const u32 l = Octets > 1 ? __dp4a(s0[p], up_to, low) : 0, m = Octets > 2 ? __dp4a(s1[p], up_to, middle) : 0;
            q[i] = l + (m << 8) + (static_cast<u32>(h) << 8 * (Octets - 1));
            if (i == 3) low = l, middle = m, high = h;
        }
        put_values(row, j, q, step, minus);
    }
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

template <class T>
struct decode_arguments {
    frame_in from;
    T* x;
    u64 n;
    work* w;
    bool is_aligned;  ///< x is a multiple of 16 bytes
};

template <class T>
__global__ __launch_bounds__(team_threads, decoder_residents<sizeof(T)>) void decode(const __grid_constant__ decode_arguments<T> a)
{
    let_next_begin();
    const u32 chunk = blockIdx.x, count = values_of_chunk(a.n, chunk), g = warp();
    if (group_elements * g >= count) return;
    const group_in in = open_group<T>(a.from, chunk, g, groups_of(count), blocks_in_group(count, g));
    const T step = static_cast<T>(step_of<T>(number_of(u64{get_constant(a.from.frame + 20)} << 32 | get_constant(a.from.frame + 16))));
    if (!in.usual || !(step >= static_cast<T>(4 * least_normal<T>) && step < biased<T>::most)) {
        if (lane() == 0) list_chunk(a.w, chunk);
        return;
    }
    const T minus = times(-biased<T>::offset, step);
    const shared_address to = shared_begin() + g * tile<T>::bytes, row = to + tile<T>::row(lane());
    u32 s0[8], s1[8], s2[8], sign = 0;
    if (in.widest == 0) {
        const u32 q = static_cast<u32>(in.base) + biased<T>::bias, all[4] = {q, q, q, q};
        CCOLL_UNROLL
        for (u32 j = 0; j < 8; ++j) put_values(row, j, all, step, minus);
    } else {
        get_octet<0>(in.planes, in.widest, s0, sign);
        if (in.widest <= 8) {
            transpose(s0);
            restore<1>(s0, s1, s2, in.base, step, minus, row);
        } else {
            get_octet<1>(in.planes, in.widest, s1, sign);
            transpose(s0);
            transpose(s1);
            if (in.widest <= 16) {
                restore<2>(s0, s1, s2, in.base, step, minus, row);
            } else {
                get_octet<2>(in.planes, in.widest, s2, sign);
                transpose(s2);
                restore<3>(s0, s1, s2, in.base, step, minus, row);
            }
        }
    }
    const u32 values = smaller(count - group_elements * g, group_elements);
    put_tile(to, values, a.is_aligned && values == group_elements, a.x + (u64{chunk_elements} * chunk + group_elements * g));
}

}  // namespace ccoll::detail::device::szp6
