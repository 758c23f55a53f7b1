// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/portable.hpp - floor 2. The kernels of SZe in plain C++.
#pragma once

#include <cstring>

#include <ccoll/base/exact.hpp>
#include <ccoll/codec/sze/rows.hpp>
#include <ccoll/codec/sze/tables.hpp>
#include <ccoll/codec/szp/portable.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::sze::portable {

CCOLL_INLINE void planes_to_differences(const u8* from, unsigned width, const u8* /*end*/, i32* d) noexcept
{
    szp::portable::get_planes(from, width, d);
}

CCOLL_INLINE u32 distance_of(const u8* a, const u8* b, std::size_t w) noexcept
{
    u32 sum = 0;
    for (const u8* const from : {a, b})
        for (std::size_t i = 0; i < probe_values; ++i) {
            const int v = int{from[i]} - int{(from - w)[i]};
            sum += static_cast<u32>(v < 0 ? -v : v);
        }
    return sum;
}

#include <ccoll/codec/sze/loops.inl>

/// Writes the stream from its end to its beginning, as a decoder reads it from its beginning to its end.
/// @param steps   [class][token]    @param end  where the words end; most_words in front of it are free
/// @param states  gets where the lanes begin    @return the first word
inline u8* encode_tokens(const u8* t, const u8* class_of_group, std::size_t groups, const encoding_step (*steps)[tokens], u8* end,
                         u32* states) noexcept
{
    u32 x[lanes];
    for (u32& s : x) s = least_state;
    for (std::size_t g = groups; g-- > 0;) {
        const encoding_step* const of = steps[class_of_group[g]];
        for (std::size_t j = lanes; j-- > 0;) {
            const encoding_step step = of[t[lanes * g + j]];
            const bool full = x[j] >> (32 - share_bits) >= step.share;
            put(end - 2, static_cast<u16>(x[j]));
            end -= full ? 2 : 0;
            const u32 s = full ? x[j] >> 16 : x[j];
            const u32 quotient = static_cast<u32>(s * step.inverse >> 42);
            x[j] = s + quotient * (whole - step.share) + step.first;
        }
    }
    std::memcpy(states, x, sizeof x);
    return end;
}

/// Any bytes give tokens or false. Reads up to 16 bytes behind `end`.
/// @param slots  [class][lowest bits of a state]    @param t  whole groups of bytes
inline bool decode_tokens(const u8* from, const u8* end, const u8* states, const u32 (*slots)[whole], const model& m, std::size_t groups,
                          u8* t) noexcept
{
    u32 x[lanes], activity = 0;
    std::memcpy(x, states, sizeof x);
    for (std::size_t g = 0; g < groups; ++g) {
        if (from > end) return false;
        const u32* const of = slots[m.class_of(activity)];
        activity = 0;
        for (std::size_t j = 0; j < lanes; ++j) {
            const u32 slot = of[x[j] % whole], code = slot >> 24;
            const u32 s = (slot & 0x7ff) * (x[j] >> share_bits) + (slot >> 11 & 0x3ff);
            const bool empty = s < least_state;
            x[j] = empty ? s << 16 | get<u16>(from) : s;
            from += empty ? 2 : 0;
            t[lanes * g + j] = static_cast<u8>(code);
            activity += code < most_active ? code : most_active;
        }
    }
    bool whole_stream = from == end;
    for (const u32 s : x) whole_stream = whole_stream && s == least_state;
    return whole_stream;
}

#include <ccoll/codec/sze/low_bits.inl>
#include <ccoll/codec/sze/passes.inl>

}  // namespace ccoll::detail::sze::portable

#include <ccoll/base/kernels_end.inl>
