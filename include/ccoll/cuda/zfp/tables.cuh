// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/zfp/tables.cuh - floor 4. The codes of the bit planes of ZFP, several planes at a time.
// codec/zfp/planes.hpp says what they are.
// A thread block copies a table to shared memory. Three coefficients known are as good as four: the code of a
// plane is the plane. A plane is four bits, and of several planes the first one is lowest.
#pragma once

#include <ccoll/codec/zfp/planes.hpp>
#include <ccoll/cuda/team.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::zfp {

template <u32 n>
struct words {
    u32 of[n];
};
/// Those of each table below.
template <class Layout>
inline constexpr words<Layout::all_known> words_of{};

/// Codes of two planes. There is a row for 0, 1 and 2 coefficients known before.
struct pair_layout {
    static constexpr u32 row_words = 256, all_known = 3 * row_words;

    CCOLL_DEVICE static u32 length(u32 code) { return code >> 16 & 15; }
    CCOLL_DEVICE static u32 row(u32 code) { return code >> 20; }
};
template <>
inline constexpr auto words_of<pair_layout> = [] {
    words<pair_layout::all_known> all{};
    for (u32 at = 0; at < pair_layout::all_known; ++at) {
        const auto first = detail::zfp::code_of_plane(at % 16, at / pair_layout::row_words);
        const auto second = detail::zfp::code_of_plane(at / 16 % 16, first.known);
        const u32 known = second.known < 3 ? second.known : 3;
        all.of[at] = first.bits | u32{second.bits} << first.length | u32(first.length + second.length) << 16 |
                     known * pair_layout::row_words << 20;
    }
    return all;
}();

/// The reverse: up to six planes of the next bits. A row has 128 words for the last bits of a block, with a 1
/// above them, where fewer than seven are left, and then 128 words for seven bits. The last bits are all
/// taken, those of a cut code included.
struct step_layout {
    static constexpr u32 row_words = 256, all_known = 3 * row_words, most_planes = 6;

    CCOLL_DEVICE static u32 planes(u32 step) { return step & 0xffffff; }
    CCOLL_DEVICE static u32 used(u32 step) { return step >> 24 & 7; }
    CCOLL_DEVICE static u32 count(u32 step) { return step >> 27 & 7; }
    CCOLL_DEVICE static u32 row(u32 step) { return step >> 30 << 8; }
};
template <>
inline constexpr auto words_of<step_layout> = [] {
    words<step_layout::all_known> all{};
    for (u32 at = 0; at < step_layout::all_known; ++at) {
        const bool last = at % step_layout::row_words < 128;
        u32 left = 7, known = at / step_layout::row_words, planes = 0, used = 0, count = 0;
        if (last)
            for (left = 0; at % 128 >> left > 1;) ++left;
        u32 code = at & ((1u << left) - 1);
        while (left > 0 && count < step_layout::most_planes) {
            const auto c = detail::zfp::planes_of_codes[128 * known + code];
            if (c.length > left) break;
            planes |= u32{c.bits} << 4 * count++;
            used += c.length;
            left -= c.length;
            code >>= c.length;
            known = c.known < 3 ? c.known : 3;
        }
        if (last && left > 0) planes |= detail::zfp::plane_of_cut_code(code, known, left) << 4 * count++;
        all.of[at] = planes | used << 24 | count << 27 | known << 30;
    }
    return all;
}();

template <class Layout>
struct table : Layout {
    u32 of[Layout::all_known];

    /// By all threads; a barrier follows.
    CCOLL_DEVICE void fill()
    {
        static constexpr words<Layout::all_known> from = words_of<Layout>;
        CCOLL_UNROLL
        for (u32 i = 0; i < Layout::all_known; i += team_threads) of[i + me()] = from.of[i + me()];
    }
};
using pair_table = table<pair_layout>;
using step_table = table<step_layout>;

}  // namespace ccoll::detail::device::zfp
