// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/portable.hpp - floor 2. The kernels of SZe in plain C++.
#pragma once

#include <cstring>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/isa.hpp>
#include <ccoll/codec/sze/rows.hpp>
#include <ccoll/codec/sze/tables.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::sze::portable {

/// Differences as bytes, on a scale on which most of them fit.
inline void to_bytes(const i32* d, std::size_t n, unsigned shift, u8* bytes) noexcept
{
    for (std::size_t i = 0; i < n; ++i) {
        const i32 v = d[i] >> shift;
        bytes[i] = static_cast<u8>((v < -128 ? -128 : v > 127 ? 127 : v) + byte_of_0);
    }
}

/// Subtracts what is at a distance.
/// @param begin  the first value that may be subtracted: those before have other predictions
inline void subtract_behind(i32* d, std::size_t n, distance by, std::size_t begin = 0) noexcept
{
    constexpr std::size_t step = loop_elements;
    const std::size_t w = by.places, first = begin + w + (by.smooth ? 1 : 0);
    std::size_t i = n;
    for (; i >= first + step; i -= step) {  // from the end, so that what is subtracted is still as it was
        i32 behind[step];
        i32* const a = d + i - step;
        const i32* const from = a - w;
        if (by.smooth)
            for (std::size_t j = 0; j < step; ++j)
                behind[j] = smoothed(*(from + j - 1), from[j], from[j + 1]);
        else
            for (std::size_t j = 0; j < step; ++j) behind[j] = from[j];
        for (std::size_t j = 0; j < step; ++j)
            a[j] = static_cast<i32>(static_cast<u32>(a[j]) - static_cast<u32>(behind[j]));
    }
    for (; i > first; --i) {
        const i32* const from = d + i - 1 - w;
        const i32 behind = by.smooth ? smoothed(*(from - 1), from[0], from[1]) : from[0];
        d[i - 1] = static_cast<i32>(static_cast<u32>(d[i - 1]) - static_cast<u32>(behind));
    }
}
/// The reverse.
inline void add_behind(i32* d, std::size_t n, distance by, std::size_t begin = 0) noexcept
{
    constexpr std::size_t step = 8;
    const std::size_t w = by.places;
    std::size_t i = begin + w + (by.smooth ? 1 : 0);
    if (w > step)
        for (; i + step <= n; i += step) {
            i32 sum[step];
            const i32 *const a = d + i, *const b = a - w;
            if (by.smooth)
                for (std::size_t j = 0; j < step; ++j)
                    sum[j] = static_cast<i32>(static_cast<u32>(a[j]) +
                                              static_cast<u32>(smoothed(*(b + j - 1), b[j], b[j + 1])));
            else
                for (std::size_t j = 0; j < step; ++j)
                    sum[j] = static_cast<i32>(static_cast<u32>(a[j]) + static_cast<u32>(b[j]));
            std::memcpy(d + i, sum, sizeof sum);
        }
    for (; i < n; ++i) {
        const i32* const b = d + i - w;
        const i32 behind = by.smooth ? smoothed(*(b - 1), b[0], b[1]) : b[0];
        d[i] = static_cast<i32>(static_cast<u32>(d[i]) + static_cast<u32>(behind));
    }
}

/// About 2^10 log2(1 + |r|).
CCOLL_INLINE u32 cost_of_one(i32 r) noexcept
{
    const i32 magnitude = static_cast<i32>((folded(r) + 1) >> 1);
    return (std::bit_cast<u32>(static_cast<float>(magnitude) + 1.0f) - std::bit_cast<u32>(1.0f)) >> 13;
}
/// The costs of all differences in the samples.
inline u32 cost_of(const i32* d, std::size_t n) noexcept
{
    u32 cost = 0;
    for (std::size_t s = 0; s < samples; ++s) {
        const i32* const at = d + sample_start(n, s);
        for (std::size_t i = 0; i < sample_values; ++i) cost += cost_of_one(at[i]);
    }
    return cost;
}
/// The costs of all residuals in the samples, where a distance of so many places is plain or smooth.
inline costs costs_of(const i32* d, std::size_t n, std::size_t places) noexcept
{
    costs all;
    for (std::size_t s = 0; s < samples; ++s) {
        const i32 *const at = d + sample_start(n, s), *const from = at - places;
        for (std::size_t i = 0; i < sample_values; ++i) {
            all.plain += cost_of_one(static_cast<i32>(static_cast<u32>(at[i]) - static_cast<u32>(from[i])));
            const i32 mean = smoothed(*(from + i - 1), from[i], from[i + 1]);
            all.smooth += cost_of_one(static_cast<i32>(static_cast<u32>(at[i]) - static_cast<u32>(mean)));
        }
    }
    return all;
}

/// The first of the probes among n bytes from `begin` on whose bytes are farthest from 0.
inline std::size_t probe_of(const u8* bytes, std::size_t begin, std::size_t n) noexcept
{
    std::size_t best = begin;
    u32 most = 0;
    for (std::size_t at = begin; at + probe_values <= begin + n; at += probe_values) {
        u32 sum = 0;
        for (std::size_t i = 0; i < probe_values; ++i) {
            const int v = int{bytes[at + i]} - byte_of_0;
            sum += static_cast<u32>(v < 0 ? -v : v);
        }
        if (sum <= most) continue;
        most = sum;
        best = at;
    }
    return best;
}

/// The distances first, first + step .. last at which bytes repeat best, by two probes.
inline void find_candidates(const u8* a, const u8* b, std::size_t first, std::size_t last, std::size_t step,
                            candidates& best, sums_of_rows& /*room*/) noexcept
{
    for (std::size_t w = first; w <= last; w += step) {
        u32 sum = 0;
        for (const u8* const from : {a, b})
            for (std::size_t i = 0; i < probe_values; ++i) {
                const int v = int{from[i]} - int{(from - w)[i]};
                sum += static_cast<u32>(v < 0 ? -v : v);
            }
        if (sum < best.worst()) best.add(w, sum);
    }
}

/// Residuals to tokens.
/// @param n  a multiple of loop_elements
inline void to_tokens(const i32* d, std::size_t n, u8* t) noexcept
{
    constexpr std::size_t step = loop_elements;
    for (std::size_t at = 0; at < n; at += step) {
        i32 u[step];
        u32 any = 0;
        for (std::size_t i = 0; i < step; ++i) {
            u[i] = static_cast<i32>(folded(d[at + i]));
            any |= static_cast<u32>(u[i]);
        }
        if (any >= exact_as_float) {
            for (std::size_t i = 0; i < step; ++i)
                t[at + i] = static_cast<u8>(token_of(static_cast<u32>(u[i])).code);
            continue;
        }
        if (any >= direct)  // the exponent and the upper bits of the mantissa are the token
            for (std::size_t i = 0; i < step; ++i) {
                const i32 code = (std::bit_cast<i32>(static_cast<float>(u[i])) >> 21) - (127 << 2);
                const i32 is_direct = (u[i] - static_cast<i32>(direct)) >> 31;
                u[i] = (u[i] & is_direct) | (code & ~is_direct);
            }
        for (std::size_t i = 0; i < step; ++i) t[at + i] = static_cast<u8>(u[i]);
    }
}

/// Eight tokens in an activity.
CCOLL_INLINE u32 activity_of(const u8* t) noexcept
{
    u32 sum = 0;
    for (std::size_t j = 0; j < lanes; ++j) sum += t[j] < most_active ? t[j] : most_active;
    return sum;
}
inline void activities_of(const u8* t, std::size_t groups, const model& m, u8* activity) noexcept
{
    activity[0] = 0;
    const std::size_t second = m.second_row(), w = m.distances[0].places;
    for (std::size_t g = 1; g < groups; ++g) {
        const u32 before = activity_of(t + lanes * (g - 1)),
                  above = g < second ? before : activity_of(t + lanes * g - w);
        activity[g] = static_cast<u8>((before + above) / 2);
    }
}

/// Writes the stream from its end to its beginning, as a decoder reads it from its beginning to its end.
/// @param tables  of the classes    @param end  where the words end; most_words in front of it are free
/// @param states  gets where the lanes begin    @return the first word
inline u8* encode_tokens(const u8* t, const u8* class_of_group, std::size_t groups, const share_table* tables,
                         u8* end, u32* states) noexcept
{
    encoding_step steps[classes][tokens];
    for (std::size_t c = 0; c < classes; ++c) make_steps(tables[c], steps[c]);
    u32 x[lanes];
    for (u32& s : x) s = least_state;
    for (std::size_t g = groups; g-- > 0;) {
        const encoding_step* const of = steps[class_of_group[g]];
        for (std::size_t j = lanes; j-- > 0;) {
            const encoding_step step = of[t[lanes * g + j]];
            // No branch, because nobody could foresee it.
            const u32 full = x[j] >> (32 - share_bits) >= step.share() ? 1 : 0;
            put(end - 2, static_cast<u16>(x[j]));
            end -= 2 * full;
            const u32 s = x[j] >> 16 * full;
            x[j] = s + step.quotient(s) * (whole - step.share()) + step.first();
        }
    }
    std::memcpy(states, x, sizeof x);
    return end;
}

/// @see slot_table
inline void make_slots(const share_table& table, u32* slots) noexcept
{
    u32 at = 0;
    for (u32 t = 0; t < table.count; ++t)
        for (u32 k = 0; k < table.shares[t]; ++k) slots[at++] = t << 24 | k << 11 | table.shares[t];
    for (; at < whole; ++at) slots[at] = 1;  // a class that does not occur
}

/// Any bytes give tokens or false. Reads up to 16 bytes behind `end`.
/// @param slots  [class][lowest bits of a state]    @param t  whole groups of bytes
inline bool decode_tokens(const u8* from, const u8* end, const u8* states, const slot_table* slots,
                          const model& m, std::size_t groups, u8* t) noexcept
{
    u32 x[lanes], activity = 0;
    std::memcpy(x, states, sizeof x);
    const std::size_t second = m.second_row(), w = m.distances[0].places;
    for (std::size_t g = 0; g < groups; ++g) {
        if (from > end) return false;
        if (g > 0) {
            const u32 before = activity_of(t + lanes * (g - 1)),
                      above = g < second ? before : activity_of(t + lanes * g - w);
            activity = (before + above) / 2;
        }
        const u32* const of = slots[m.class_of(activity)];
        for (std::size_t j = 0; j < lanes; ++j) {
            const u32 slot = of[x[j] % whole];
            const u32 s = (slot & 0x7ff) * (x[j] >> share_bits) + (slot >> 11 & 0x3ff);
            const bool empty = s < least_state;
            x[j] = empty ? s << 16 | get<u16>(from) : s;
            from += empty ? 2 : 0;
            t[lanes * g + j] = static_cast<u8>(slot >> 24);
        }
    }
    bool whole_stream = from == end;
    for (const u32 s : x) whole_stream = whole_stream && s == least_state;
    return whole_stream;
}

/// Have all of eight tokens no low bits?
CCOLL_INLINE bool are_direct(const u8* t) noexcept { return (get<u64>(t) & 0xf0f0f0f0f0f0f0f0u) == 0; }

/// The low bits of eight residuals.
CCOLL_INLINE void put_low_bits_of_8(const i32* d, const u8* t, bit_writer& to) noexcept
{
    for (std::size_t i = 0; i < lanes; ++i) {
        const u32 count = token_values[t[i]].low_bits;
        to.put(folded(d[i]) & ((u32{1} << count) - 1), count);
    }
}
inline void put_low_bits(const i32* d, const u8* t, std::size_t n, bit_writer& to) noexcept
{
    bit_writer bits = to;  // in registers: what is written could be a part of `to`
    for (std::size_t g = 0; g < n; g += lanes)
        if (!are_direct(t + g)) put_low_bits_of_8(d + g, t + g, bits);
    to = bits;
}

/// Eight residuals.
/// @param at  the first bit, in front of `bits`; gets the bit behind the last one
/// @return false: there are fewer bits
CCOLL_INLINE bool get_residuals_of_8(const u8* t, const u8* from, std::size_t& at, std::size_t bits,
                                     i32* d) noexcept
{
    for (std::size_t i = 0; i < lanes; ++i) {
        const token_value v = token_values[t[i]];
        if (at > bits) return false;
        const u64 next = get<u64>(from + at / 8) >> at % 8;
        d[i] = unfolded(v.least + (static_cast<u32>(next) & ((u32{1} << v.low_bits) - 1)));
        at += v.low_bits;
    }
    return true;
}
/// Residuals of tokens and low bits.
/// @return false: the bits are not `bits` in number. Reads up to 32 bytes behind the last of them.
inline bool get_residuals(const u8* t, std::size_t n, const u8* from, std::size_t at, std::size_t bytes,
                          i32* d) noexcept
{
    for (std::size_t g = 0; g < n; g += lanes) {
        if (are_direct(t + g))
            for (std::size_t i = g; i < g + lanes; ++i) d[i] = unfolded(t[i]);
        else if (!get_residuals_of_8(t + g, from, at, 8 * bytes, d + g)) return false;
    }
    return (at + 7) / 8 == bytes;
}

/// Values of differences.
template <element T>
inline void restore(const i32* d, std::size_t n, bool is_alone, i32 base, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    if (is_alone) {
        for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(d[i]) * step;
        return;
    }
    u32 q = static_cast<u32>(base);
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (std::size_t i = 0; i < n; ++i) {
        q += static_cast<u32>(d[i]);
        x[i] = static_cast<T>(static_cast<i32>(q)) * step;
    }
}

#include <ccoll/codec/sze/passes.inl>

}  // namespace ccoll::detail::sze::portable

#include <ccoll/base/kernels_end.inl>
