// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/encode.cuh - floor 4. The fast kernel that makes chunks: of values, of values and an addend, or of
// two addends. It takes chunks whose quanta are small. All others go to the list.
#pragma once

#include <ccoll/cuda/szp/adjust.cuh>
#include <ccoll/cuda/szp/decode.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// rint(x by) for |x by| < 2^22 (f64: 2^31), as an integer plus `bias`. Anything larger is farther away from
/// 0 than that; of f64 `high` tells.
CCOLL_DEVICE u32 quantum_of(float x, float by) { return bits_of(plus(times(x, by), biased<float>::offset)); }
inline constexpr double nearest_integer = 0x1.8p52;
CCOLL_DEVICE u64 quantum_of(double x, double by) { return bits_of(plus(times(x, by), nearest_integer)); }
template <class T>
inline constexpr u32 quantum_bias = is_f32<T> ? biased<float>::bias : 0;
/// Of such a sum in double: 0 if the quantum fits 32 bits.
CCOLL_DEVICE u32 beyond_32_bits(u64 sum)
{
    return static_cast<u32>(sum >> 32) + (static_cast<u32>(sum) >> 31) - 0x43380000u;
}

/// Four quanta of a row. @param high  not 0 if some quantum does not fit
template <class T>
CCOLL_DEVICE void get_quanta(shared_address row, u32 j, T by, u32 (&q)[4], u32& high)
{
    constexpr u32 n = tile<T>::in_piece;
    CCOLL_UNROLL
    for (u32 c = 0; c < 4; c += n) {
        word_of<T> v[n];
        tile<T>::get_piece(row, (4 * j + c) / n, v);
        CCOLL_UNROLL
        for (u32 i = 0; i < n; ++i) {
            const word_of<T> sum = quantum_of(number_of(v[i]), by);
            q[c + i] = static_cast<u32>(sum);
            if constexpr (!is_f32<T>) high = larger(high, beyond_32_bits(sum));
        }
    }
}

/// The differences of a row, by octets of bytes.
struct extent {
    i32 most = 0, least = 0;
    u32 high = 0;  ///< not 0: some quantum does not fit

    CCOLL_DEVICE u32 width() const
    {
        const u32 folded = static_cast<u32>(larger(most, ~least));
        return 32 - static_cast<u32>(__clz(static_cast<int>(folded << 1 | static_cast<u32>(least) >> 31)));
    }
};
/// @param before  the quantum in front of the row    @tparam Measure  and their extent, and the octet above
template <bool Measure, u32 Octet, class T>
CCOLL_DEVICE void get_differences(shared_address row, T by, u32 before, u32 (&to)[8], u32 (&above)[8],
                                  extent& all)
{
    keep(row);  // addresses of its pieces would take registers between two calls
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; ++j) {
        u32 q[4];
        get_quanta(row, j, by, q, all.high);
        const u32 d0 = q[0] - before, d1 = q[1] - q[0], d2 = q[2] - q[1], d3 = q[3] - q[2];
        before = q[3];
        if (Measure) {
            all.most = larger(larger(all.most, static_cast<i32>(d0)), static_cast<i32>(d1));
            all.most = larger(larger(all.most, static_cast<i32>(d2)), static_cast<i32>(d3));
            all.least = smaller(smaller(all.least, static_cast<i32>(d0)), static_cast<i32>(d1));
            all.least = smaller(smaller(all.least, static_cast<i32>(d2)), static_cast<i32>(d3));
        }
        to[octet_place(j)] = byte_of_each<Octet>(d0, d1, d2, d3);
        if constexpr (Measure) above[octet_place(j)] = byte_of_each<Octet + 1>(d0, d1, d2, d3);
    }
}

template <class T>
CCOLL_DEVICE void get_tile(const T* x, u32 values, bool is_whole, shared_address to)
{
    if (is_whole) {
        const uint4* const from = reinterpret_cast<const uint4*>(x) + lane();
        const shared_address first = tile<T>::copied(to, lane());
        CCOLL_UNROLL
        for (u32 r = 0; r < tile<T>::pieces; ++r) copy_to_shared(tile<T>::of_copy(first, r), from + 32 * r);
    } else {
        CCOLL_NO_UNROLL
        for (u32 i = lane(); i < group_elements; i += 32)
            put_shared(to + tile<T>::of_value(i), load_as<word_of<T>>(x + smaller(i, values - 1)));
    }
}

/// Looks at values, where the estimate of their quanta says nothing. @return no: some are not usual
template <class T>
CCOLL_DEVICE bool look_at_row(const arguments<T>& a, shared_address row, u32& ceiling)
{
    word_of<T> most = 0;
    each_in_row<T>(row, [&](u32, word_of<T> w) { most = larger(most, w & ~fields_of<T>::sign); });
    most = warp_max(most);
    if (most >= a.z.common.usual) return false;
    // The product in T may be larger.
    ceiling = static_cast<u32>(rint(times(static_cast<double>(number_of(most)), a.z.common.inverse))) + 1;
    return true;
}
/// Has the warp's group a missing value?
template <class T>
CCOLL_DEVICE_RARE bool has_missing(const arguments<T>& a, shared_address row)
{
    bool found = false;
    each_in_row<T>(row, [&](u32, word_of<T> w) { found = found || w == a.missing; });
    return __any_sync(all_lanes, found) != 0;
}

/// Writes exceptional values behind the planes of a chunk, whose place is known.
template <operation What, class T>
CCOLL_DEVICE_RARE void put_beside(const arguments<T>& a, placing p, u32 chunk, u32 count)
{
    auto& b = beside_of<What, T>();
    const auto put = [&](u8* to, u32 i) {
        if constexpr (What == operation::move)
            store_as(to, value_at<word_of<T>>(a, chunk, b.out.dictionary[i]));
        else store_wide(to, far_value<What>(a, b, chunk, i));
    };
    u8* const at =
        a.to.unit(p.control.place + in_units(front_bytes(groups_of(count), false)) + (p.found & 0xffff));
    if (me() == 0 && b.out.places > 0)
        atomicAdd(&a.w->special_values, static_cast<unsigned long long>(b.out.places));
    put_section(b.out, b.of[0].masks[0][me()], b.numbers(), count,
                What == operation::move ? sizeof(T) : wide_bytes, 0, put, at, b.team);
}

/// The chunk of this thread block.
/// @tparam Adjusted  exceptional values have been read, and tiles filled and adjusted to z
/// @return false: it is not for this way
template <operation What, bool Adjusted, class T>
CCOLL_DEVICE bool make_chunk(const arguments<T>& a, const adjusted<T>& z = {})
{
    constexpr bool moves = What == operation::move, of_values = has_values<What>, adds = has_frame<What>;
    constexpr u32 octets = Adjusted || !moves || !is_f32<T> ? 3 : 2, estimated = 1u << (is_f32<T> ? 14 : 30);
    const u32 chunk = blockIdx.x, count = values_of_chunk(a.facts, chunk), groups = groups_of(count),
              g = warp();
    const shared_address mine = shared_begin() + g * fast_room<T, What>::of_warp,
                         row = mine + tile<T>::row(lane());
    placing p{fast_room<T, What>::control()};
    p.adjusted = Adjusted;
    u32 s[3][8], ceiling = 0, found = 0;
    group_out out;
    if (agreed(g < groups)) {
        const bool block = has_block(count, g);
        const u32 there = smaller(count - group_elements * g, group_elements);
        group_in frames[of_values ? 1 : 2];
        const group_in &x = frames[0], &y = frames[of_values ? 0 : 1];
        bool usual = true;
        const T by = Adjusted ? z.by : a.z.common.inverse_in_t;
        u32 before = 0;
        extent all;
        if constexpr (!of_values) {
            open_groups<T, true>({&a.a, &a.b}, chunk, count, g, frames);
            const bool exceptional = x.has_exceptions;
            usual = (Adjusted | !exceptional) & x.usual;
            ceiling = x.ceiling();
            out.base = x.base();
            out.widest = x.widest;
        } else {
            if (!Adjusted)
                get_tile(a.x + (u64{chunk_elements} * chunk + group_elements * g), there,
                         a.is_aligned && there == group_elements, mine);
            if constexpr (adds) {
                open_groups<T, true>({&a.a}, chunk, count, g, frames);
                if (y.usual & (y.planes.width > 0)) fetch(y.planes.at);
            }
            if (!Adjusted) wait_for_copies();
            __syncwarp();
            usual = Adjusted || (a.z.common.usual > 0 && (!moves || count >= host::least_values) &&
                                 !(a.has_missing && has_missing(a, row)));
            const T in_front = number_of(
                get_shared<word_of<T>>(lane() == 0 ? mine : mine + tile<T>::of_value(32 * lane() - 1)));
            const auto quantum = quantum_of(in_front, by);
            before = static_cast<u32>(quantum);
            const u32 q = before - quantum_bias<T>, size = q >> 31 != 0 ? 0 - q : q;
            if constexpr (!Adjusted) {  // a look at one value of each row says most
                bool is_beyond = size >= estimated;
                if constexpr (!is_f32<T>) is_beyond = is_beyond || beyond_32_bits(quantum) != 0;
                usual = usual && __any_sync(all_lanes, is_beyond) == 0;
            }
            if (agreed(usual)) {
                if constexpr (moves && !Adjusted) {
                    const T on = times(in_front, a.lattice),
                            nearest = is_f32<T> ? T(biased<float>::offset) : T(nearest_integer);
                    if (__any_sync(all_lanes, plus(plus(on, nearest), -nearest) != on))
                        found |= found_off_lattice;
                }
                get_differences<true, 0>(row, by, before, s[0], s[1], all);
                out.width = all.width();
                out.widest = warp_max(all.high > 0 ? 32 : out.width);
                if constexpr (Adjusted) {
                    ceiling = z.ceiling;
                } else {
                    ceiling = out.widest <= (is_f32<T> ? 16 : 24) ? warp_max(size + (16u << out.width)) : ~0u;
                    if (ceiling >= estimated) usual = look_at_row(a, row, ceiling);
                }
                out.base = __shfl_sync(all_lanes, q, 0);
                usual = usual && out.widest <= (adds ? most_fast_planes - 1 : most_fast_planes);
            }
        }
        if constexpr (adds) {
            const bool exceptional = y.has_exceptions;
            ceiling += y.ceiling();
            usual = usual & y.usual & (Adjusted | !exceptional) & (ceiling < fast_limit<T>);
            out.base += y.base();
            out.widest = larger(out.widest, y.widest);
            out.widest += out.widest > 0;
        }
        if (agreed(usual)) {
            if constexpr (of_values) {
                if (out.widest > 8) {
                    if (octets > 2 && out.widest > 16) {
                        get_differences<false, 2>(row, by, before, s[2], s[2], all);
                        transpose(s[2]);
                    }
                    if (out.widest > 12) transpose(s[1]);
                    else transpose_low(s[1]);
                }
                transpose(s[0]);
            }
            if constexpr (adds) {
                ripple r;
                u32 t[8], sign_x = 0, sign_y = 0;
                if (out.widest > 0)
                    each_octet(out.widest, [&](auto o) {
                        const bool more = out.widest > 8 * o + 4;
                        constexpr bool together = o < 2;
                        if constexpr (!of_values) load_planes<o, 0>(x.planes, s[o]);
                        load_planes<o, 0>(y.planes, t);
                        if (more) {
                            if constexpr (!of_values) load_planes<o, 4>(x.planes, s[o]);
                            if constexpr (together) load_planes<o, 4>(y.planes, t);
                        }
                        if constexpr (!of_values) extend<o, 0>(x.planes, s[o], sign_x);
                        extend<o, 0>(y.planes, t, sign_y);
                        r.add<o, 0>(s[o], t);
                        if (!more) return;
                        if constexpr (!together) load_planes<o, 4>(y.planes, t);
                        if constexpr (!of_values) extend<o, 4>(x.planes, s[o], sign_x);
                        extend<o, 4>(y.planes, t, sign_y);
                        r.add<o, 4>(s[o], t);
                    });
                out.width = r.width;
            }
            lay_out(out, out.width, block);
            found |= out.units() | (out.widest > 0 || out.base != 0 ? found_non_zero : 0);
        } else {
            found = found_unusual;
        }
    }
    p.tell(found, ceiling);
    // Quanta of 0 are not on a lattice: values are 0, or less than a step.
    const bool may_be_on_lattice =
        moves && !Adjusted && (p.found & (15 * found_off_lattice)) == 0 && p.found >= found_non_zero;
    if ((p.found & (15 * found_unusual)) != 0 || may_be_on_lattice) return false;
    if constexpr (Adjusted && !of_values) {
        const u32 place = p.ask(a.w, in_units(front_bytes(groups, false)));
        if (me() == 0) p.control.place = place;
        p.is_known = true;
        __syncthreads();
        put_beside<What>(a, p, chunk, count);
        __syncthreads();  // planes take the room of exceptional values
    }
    put_chunk<octets>(p, a.to, a.w, chunk, groups, out, mine, s);
    if constexpr (Adjusted && of_values) put_beside<What>(a, p, chunk, count);
    return true;
}
/// Nothing of this is in the registers of the usual way.
template <operation What, class T>
CCOLL_DEVICE_RARE void make_unusual_chunk(const arguments<T>& a)
{
    const u32 chunk = blockIdx.x, count = values_of_chunk(a.facts, chunk);
    adjusted<T> z;
    if constexpr (has_values<What>) z = adjust<What>(a, chunk, count);
    else z.good = adjust_sum(a, chunk, count);
    if (z.good && make_chunk<What, true>(a, z)) return;
    if (me() == 0) list_chunk(a.w, chunk);
}

template <class T, operation What>
__global__ __launch_bounds__(team_threads,
                             residents<What, sizeof(T)>) void make(const __grid_constant__ arguments<T> a)
{
    let_next_begin();
    if (!make_chunk<What, false>(a)) make_unusual_chunk<What>(a);
}

}  // namespace ccoll::detail::device::szp
