// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/survey.cuh - floor 4. What an encoder of SZp asks of a chunk before it chooses a grid and a predictor: noise, lattice, fine
// grid, marker. The rules are those of docs/wire_format.md; each is a minimum, a maximum or a sum of integers.
#pragma once

#include <ccoll/cuda/szp/block.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

// ---- noise: is the value before worse than nothing as a prediction? ----

inline constexpr u32 noise_samples = 8;

struct noise_room {
    u32 of_quanta[64], of_differences[64];  // of the blocks that tell; of_quanta is `too_far` where values lie too far from 0
    static constexpr u32 too_far = ~0u;
};

/// The blocks that are looked at.
template <class T>
CCOLL_DEVICE u32 noise_blocks(u32 count)
{
    return smaller(count / block_elements, static_cast<u32>(256 / sizeof(T)));
}
CCOLL_DEVICE u32 noise_sample(u32 blocks, u32 j) { return blocks * (2 * (5 * j % noise_samples) + 1) / (2 * noise_samples); }

/// |q| of any q: samples that lie too far from 0 have any quanta.
CCOLL_DEVICE u32 size_of(i32 q) { return q < 0 ? 0 - static_cast<u32>(q) : static_cast<u32>(q); }

/// By threads whose block may be a sample. @param value  (i) -> value i of the block    @param most  bits of the largest |x| of the block
template <class T, class Value>
CCOLL_DEVICE void sample_noise(Value value, word_of<T> most, const grid<T>& z, u32 blocks, noise_room& s)
{
    bool mine = false;
    CCOLL_UNROLL
    for (u32 j = 0; j < noise_samples; ++j) mine = mine || noise_sample(blocks, j) == me();
    if (!mine || blocks == 0) return;
    u32 of_quanta = 0, of_differences = 0;
    i32 before = 0;
    CCOLL_UNROLL
    for (u32 i = 0; i < 32; ++i) {
        const i32 q = quantum(value(i), z.inverse), d = minus(q, before);
        before = q;
        of_quanta += size_of(q);
        of_differences += size_of(d);
    }
    s.of_quanta[me()] = most >= z.brief ? noise_room::too_far : of_quanta;
    s.of_differences[me()] = of_differences;
}
/// By whole warps, behind a barrier. Samples 0, then 0..3, then 0..7 decide.
CCOLL_DEVICE bool is_noise(u32 blocks, const noise_room& s)
{
    constexpr u32 enough = 64;
    const u32 j = lane() % noise_samples, k = noise_sample(blocks, j);
    u32 a = blocks > 0 ? s.of_quanta[k] : 0, d = blocks > 0 ? s.of_differences[k] : 0;
    const u32 too_far = __ballot_sync(all_lanes, a == noise_room::too_far) & 0xff;
    CCOLL_UNROLL
    for (u32 by = 1; by < noise_samples; by *= 2) {
        const u32 more_a = __shfl_up_sync(all_lanes, a, by), more_d = __shfl_up_sync(all_lanes, d, by);
        if (j >= by) {
            a += more_a;
            d += more_d;
        }
    }
    const u32 seen = a + d;
    const bool decides = j == 0 ? seen >= enough && d <= a : j == 3 ? seen == 0 || seen >= enough : j == 7;
    const u32 by = lowest_bit(__ballot_sync(all_lanes, decides));
    const bool noise = 8 * u64{d} > 9 * u64{a};
    return blocks > 0 && (too_far & ((2u << by) - 1)) == 0 && __shfl_sync(all_lanes, static_cast<u32>(noise), by) != 0;
}

// ---- lattice: the largest power of two of which all values are multiples ----

struct lattice_seen {
    u32 top = 0, lowest = 0x7fffffff;

    template <class T>
    CCOLL_DEVICE void add(T x)
    {
        using fields = fields_of<T>;
        constexpr u32 bits = fields::mantissa_bits;
        const auto w = magnitude(x);
        if (w == 0) return;
        const auto mantissa = w & (fields::exponent_one - 1);
        u32 zeros = bits;
        if (mantissa != 0) {
            if constexpr (is_f32<T>) zeros = static_cast<u32>(__ffs(static_cast<int>(mantissa))) - 1;
            else zeros = static_cast<u32>(__ffsll(static_cast<long long>(mantissa))) - 1;
        }
        const u32 exponent = static_cast<u32>(w >> bits);
        const u32 bottom = exponent + zeros <= bits || w >= fields::exponent ? 0 : exponent + zeros - bits;  // 0: no lattice
        top = larger(top, exponent);
        lowest = smaller(lowest, bottom);
    }
    /// @param least  only a larger step is of use    @return  0: there is none
    template <class T>
    CCOLL_DEVICE T step(T least) const
    {
        using fields = fields_of<T>;
        constexpr u32 highest = (fields::exponent >> fields::mantissa_bits) - 2, span = is_f32<T> ? 29 : 60;
        const u32 too_low = static_cast<u32>(bits_of(least) >> fields::mantissa_bits);
        if (top == 0 || lowest <= too_low || static_cast<i32>(top - lowest) > static_cast<i32>(span)) return 0;
        return number_of(word_of<T>{smaller(lowest, highest)} << fields::mantissa_bits);
    }
};
/// By a whole warp, a value each.
template <class T>
CCOLL_DEVICE T lattice_of_warp(T x, T least)
{
    lattice_seen seen;
    seen.add(x);
    seen.top = warp_max(seen.top);
    seen.lowest = warp_min(seen.lowest);
    return seen.step(least);
}

// ---- fine grid: for values so large beside the bound that the common grid does not do ----

/// @param largest  bits of the largest |x| that is encoded    @return the step; 0: there is none
template <class T>
CCOLL_DEVICE T fine_step(word_of<T> largest, const grid<T>& z)
{
    constexpr int digits = fields_of<T>::mantissa_bits + 1;
    constexpr double half_of_all = is_f32<T> ? 0x1.fffffep126 : 0x1.fffffffffffffp1022;
    if (largest < z.safe) return 0;
    const double reach = plus(static_cast<double>(number_of(largest)), times(2.0, z.eb));
    if (!(reach < half_of_all)) return 0;
    // reach is a normal number in [2^(k-1), 2^k); ulp = 2^(k - digits), which may be below the normal numbers.
    const int k = static_cast<int>(bits_of(reach) >> 52) - 1022;
    const double ulp = ldexp(1.0, k - digits);
    return larger(static_cast<T>(times(floor(__ddiv_rn(times(times(2.0, z.eb), 1 - 0x1p-20), ulp)), ulp)), z.power);
}

// ---- marker: a value that occurs again and again, and stands alone at one side of the steepest jump ----

/// By a whole warp. @param value  (i) -> value i of the chunk, with bridges    @param block  the steep one
/// @param is_special  (i) -> is there a bridge?
/// @return  its bits, or all ones if there is none
template <class T, class Value, class IsSpecial>
CCOLL_DEVICE_RARE word_of<T> find_marker(Value value, IsSpecial is_special, u32 count, u32 block)
{
    constexpr word_of<T> nothing = ~word_of<T>{0};
    const u32 begin = block_elements * block, end = smaller(count, begin + block_elements), i = begin + lane();
    const bool has_jump = i >= 1 && i < end;
    const double jump = has_jump ? fabs(static_cast<double>(value(i)) - static_cast<double>(value(i - 1))) : 0;
    const u64 farthest = warp_max(has_jump ? bits_of(jump) : u64{0});
    const u32 which = __ballot_sync(all_lanes, has_jump && bits_of(jump) == farthest);
    if (which == 0) return nothing;
    const u32 at = begin + lowest_bit(which);
    const T before = value(at - 1), behind = value(at);
    const u32 first = begin - smaller(begin, block_elements), last = smaller(count, end + block_elements);
    u32 near_before = 0, near_behind = 0;
    bool before_equal = true, behind_equal = true;
    CCOLL_NO_UNROLL
    for (u32 j = first + lane(); j < last; j += 32) {
        if (is_special(j)) continue;
        const T x = value(j);
        const double v = static_cast<double>(x);
        if (fabs(v - static_cast<double>(before)) < fabs(v - static_cast<double>(behind))) {
            ++near_before;
            before_equal = before_equal && bits_of(x) == bits_of(before);
        } else {
            ++near_behind;
            behind_equal = behind_equal && bits_of(x) == bits_of(behind);
        }
    }
    near_before = warp_sum(near_before);
    near_behind = warp_sum(near_behind);
    const bool is_before = __ballot_sync(all_lanes, !before_equal) == 0 && near_before > 1;
    const bool is_behind = __ballot_sync(all_lanes, !behind_equal) == 0 && near_behind > 1;
    if (!is_before && !is_behind) return nothing;
    return is_behind && (!is_before || near_behind >= near_before) ? bits_of(behind) : bits_of(before);
}

}  // namespace ccoll::detail::device::szp
