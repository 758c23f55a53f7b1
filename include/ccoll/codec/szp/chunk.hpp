// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/chunk.hpp - floor 2. The codes in front of the blocks of a chunk of SZp: written in the shortest form, and checked once for all
// readers. szp/layout.hpp describes the bytes.
#pragma once

#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/szp/layout.hpp>
#include <ccoll/codec/szp/lists.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Writes the codes in front of the blocks in the shortest form, which may turn blocks into lists, and says in `head` which form it is. The
/// codes begin at `to`. The blocks stand where they follow packed codes, and move if the codes turn out longer. @return the end of the
/// chunk.
inline u8* write_codes(const u8* codes, code_range range, std::size_t blocks, bool addend, u8* to, u8* end, chunk_head& head) noexcept
{
    const auto [lowest, highest] = range;
    head.packed = packs(lowest, highest);
    if (!addend && highest <= lists::widest_beside && lists::may_pay(4 * sum_up_to(lists::widest_listed, codes, blocks), to, end, blocks))
        if (u8* const shorter = lists::write(codes, blocks, to, end); shorter != nullptr) {
            head.lists = true;
            return shorter;
        }
    if (head.packed) {
        head.lowest = lowest;
        pack_codes(codes, blocks, lowest, to);
        return end;
    }
    const std::size_t bytes = width_bytes(blocks, false), expected = width_bytes(blocks, true);
    std::memmove(to + bytes, to + expected, static_cast<std::size_t>(end - to) - expected);
    put(to + bytes - 4, u32{0});
    std::memcpy(to, codes, blocks);
    return end + (bytes - expected);
}

/// Checks a chunk of n values, but not its section of special values. Total: any bytes give a status.
/// @param addend  of a frame that can be added: special values are those of szp/missing.hpp, no fine chunk; otherwise no class block.
inline status read_chunk(const_byte_span src, std::size_t n, std::size_t element_bytes, bool addend, chunk_view& view) noexcept
{
    const u8* const from = reinterpret_cast<const u8*>(src.data());
    if (src.size() < 12 || src.size() % 4 != 0) return status::corrupt;
    const chunk_head head(get<u32>(from));
    view.what = head.what;
    const bool fills = addend && head.alone;
    if (addend) view.escaped = head.escaped;
    const std::size_t in_section = 4 * std::size_t{!addend ? head.escaped : fills ? get<u32>(from + src.size() - 4) : 0};
    if (in_section + (fills ? 4 : 0) > src.size() - 12 || (fills && in_section == 0)) return status::corrupt;
    if (fills) src = src.first(src.size() - 4);
    view.specials = src.last(in_section);
    src = src.first(src.size() - in_section);
    const bool is_wide = view.what == kind::wide || view.what == kind::wide_flat;
    const bool has_rows = rows::has_rows(view.what) && (view.what == kind::rows || element_bytes == 4);
    if ((view.what > kind::wide_flat && !has_rows) || (addend ? view.what == kind::fine || view.what == kind::fine_rows : is_wide))
        return status::corrupt;
    if ((!head.packed && head.lowest != 0) || head.lowest > widest || (head.lists && (addend || !head.packed || head.lowest != 0)))
        return status::corrupt;
    view.alone = head.alone && !addend;
    if (view.alone && head.what != kind::narrow) return status::corrupt;
    const std::size_t in_front = head_bytes(view.what, element_bytes);
    if (src.size() < in_front) return status::corrupt;
    const bool long_base = is_wide || (view.what == kind::fine && element_bytes == 8);
    view.base = long_base ? get<i64>(from + 4) : get<i32>(from + 4);
    if (view.alone && view.base != 0) return status::corrupt;
    view.largest = view.what == kind::fine ? 0 : long_base ? get<u64>(from + 12) : get<u32>(from + 8);
    view.step = from + (has_rows ? 16 : 4 + element_bytes);
    if (has_rows) {
        view.above = rows::distances::of_word(get<u32>(from + 12));
        if (!view.above.are_valid(n) || view.largest >= rows::limit(view.what, element_bytes, addend)) return status::corrupt;
    }
    view.count = blocks_of(n);
    if (view.what == kind::flat || view.what == kind::wide_flat) {
        chunk_head expected(view.what, addend ? 0 : head.escaped);
        expected.alone = fills;
        return src.size() == in_front && head.word() == expected.word() ? status::ok : status::corrupt;
    }

    const std::size_t of_widths = width_bytes(view.count, head.packed);
    if (src.size() < in_front + of_widths) return status::corrupt;
    if (head.lists) return lists::open(from + in_front, from + src.size(), view) ? status::ok : status::corrupt;
    view.blocks = from + in_front + of_widths;
    if (head.packed) unpack_codes(from + in_front, view.count, head.lowest, view.codes.of);
    else std::memcpy(view.codes.of, from + in_front, view.count);
    const unsigned most = view.what == kind::narrow || has_rows || (view.what == kind::fine && element_bytes == 4) ? widest_narrow : widest;
    u32 words = static_cast<u32>(sum_of(view.codes.of, view.count)), escaped = 0;
    if (range_of(view.codes.of, view.count).highest > most) {
        words = 0;
        for (std::size_t k = 0; k < view.count; ++k) {
            const unsigned code = view.codes.of[k];
            if (code <= most) words += code;
            else if (addend && code >= class_code && code - class_code <= most) words += code - class_code + 2, ++escaped;
            else return status::corrupt;
        }
    }
    view.blocks_bytes = 4 * std::size_t{words};
    if (escaped != view.escaped || in_front + of_widths + view.blocks_bytes != src.size()) return status::corrupt;
    return status::ok;
}

}  // namespace ccoll::detail::szp
