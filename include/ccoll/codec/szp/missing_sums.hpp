// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/missing_sums.hpp - floor 2. Sums of addends of SZp with fill values. Values and places are unions, how many times a fill value
// has been added is a sum, and a place where every addend had a fill value is an intersection. So none of it depends on the order.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/codec/szp/missing.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp::missing {

/// An operand of a sum.
struct addend {
    const chunk_view& view;
    i64 factor;
    fill_places places = {};  ///< of view.specials; none if the factor is 0

    const_byte_span section() const noexcept { return factor != 0 ? view.specials : const_byte_span{}; }
};

/// Blocks of p x + q y, where x or y has a fill value. A number takes the place of a bridge.
[[gnu::noinline]] inline quanta64::encoded combine(const addend& x, const addend& y, u64 base, std::size_t n, u8* out, u8* codes) noexcept
{
    quanta64::encoded all;
    quanta64::scaled_blocks from_x(x.view, x.factor), from_y(y.view, y.factor);
    u64 at_x = static_cast<u64>(x.view.base) * static_cast<u64>(x.factor),
        at_y = static_cast<u64>(y.view.base) * static_cast<u64>(y.factor);
    u64 before = base;
    u8* to = out;
    bool any = false;
    for (std::size_t k = 0; k < x.view.count; ++k) {
        i64 dx[block_elements] = {}, dy[block_elements] = {}, d[block_elements] = {};
        u32 a = 0, b = 0;
        from_x.add_to(k, dx, a, b);
        from_y.add_to(k, dy, a, b);
        const u32 bridge_x = x.places.in_all[k] & ~y.places.in_all[k], bridge_y = y.places.in_all[k] & ~x.places.in_all[k];
        for (std::size_t i = 0; i < std::min<std::size_t>(block_elements, n - block_elements * k); ++i) {
            at_x += static_cast<u64>(dx[i]);
            at_y += static_cast<u64>(dy[i]);
            const u64 quantum = (bridge_x >> i & 1 ? 0 : at_x) + (bridge_y >> i & 1 ? 0 : at_y);
            d[i] = static_cast<i64>(quantum - before);
            before = quantum;
        }
        codes[k] = quanta64::put_block(d, a, b, to);
        all.escaped += codes[k] >= class_code;
        any = any || codes[k] != 0;
    }
    all.end = any ? to : out;
    return all;
}

/// The places of one fill value of a sum, and how many times it has been added there.
/// @param x, y  of the operands, which have the same value; null: this one does not have it
/// @param pairs  is increased by the number of places    @return  false: more times than can be counted
inline bool add_times(const fill_value* x, i64 p, const fill_value* y, i64 q, std::size_t blocks, fill_value& sum,
                      std::size_t& pairs) noexcept
{
    i64 farthest = 0;
    for (std::size_t k = 0; k < blocks; ++k) {
        const u32 in_x = x != nullptr ? x->places[k] : 0, in_y = y != nullptr ? y->places[k] : 0;
        sum.places[k] = in_x | in_y;
        pairs += static_cast<std::size_t>(std::popcount(sum.places[k]));
        for (u32 left = sum.places[k]; left != 0; left &= left - 1) {
            const std::size_t i = block_elements * k + static_cast<std::size_t>(std::countr_zero(left));
            const u32 here = left & (0u - left);
            const i64 times = ((in_x & here) != 0 ? x->times[i] * p : 0) + ((in_y & here) != 0 ? y->times[i] * q : 0);
            sum.times[i] = static_cast<times_added>(times);
            farthest |= times ^ sum.times[i];
        }
    }
    return farthest == 0;
}

/// A layer for the places of `masks`, if there are any. @return its end
inline u8* put_places(const times_added* times, std::size_t n, const u32* masks, u8* to, const u8* end) noexcept
{
    bool any = false, equal = true;
    times_added one = 0;
    for (std::size_t k = 0; k < specials::blocks_of(n); ++k)
        for (u32 left = masks[k]; left != 0; left &= left - 1) {
            const times_added t = times[block_elements * k + static_cast<std::size_t>(std::countr_zero(left))];
            equal = equal && (!any || t == one);
            one = t;
            any = true;
            if (!equal) break;
        }
    return any ? specials::portable::put_layer(times, n, masks, equal ? &one : nullptr, to, end) : to;
}

/// Appends the section of a sum.
/// @param out    has `chunk`    @param x, y  the operands, whose sections have been found valid
/// @return       code too_large: too many fill values, or too many of them in the same places, or more times than can be counted
template <element T>
[[gnu::noinline]] encode_result append_sum(u8* out, encode_result chunk, const addend& x, const addend& y, std::size_t n) noexcept
{
    if (chunk.code != status::ok || (x.section().empty() && y.section().empty())) return chunk;
    const std::size_t blocks = specials::blocks_of(n);
    section_reader<T> of_x(x.section(), n), of_y(y.section(), n);
    section_writer<T> section(out, chunk, n);
    fill_value from_x, from_y, sum;
    const auto take = [](section_reader<T>& from, fill_value& to) { return from.has_more() && from.next(to); };
    bool more_x = take(of_x, from_x), more_y = take(of_y, from_y);
    for (std::size_t values = 0, pairs = 0; more_x || more_y; ++values) {
        const bool in_x = more_x && (!more_y || from_x.bits <= from_y.bits), in_y = more_y && (!more_x || from_y.bits <= from_x.bits);
        if (!add_times(in_x ? &from_x : nullptr, x.factor, in_y ? &from_y : nullptr, y.factor, blocks, sum, pairs) ||
            pairs > most_pairs(n) || values == most_fills)
            return {0, status::too_large};
        section.begin(in_x ? from_x.bits : from_y.bits);
        for (const bool all : {true, false}) {
            u32 masks[specials::most_blocks];
            for (std::size_t k = 0; k < blocks; ++k) {
                const u32 in_all = x.places.in_all[k] & y.places.in_all[k];
                masks[k] = sum.places[k] & (all ? in_all : ~in_all);
            }
            section.add_layer(all ? 0 : specials::marked_layer,
                              [&](u8* to, const u8* end) { return put_places(sum.times, n, masks, to, end); });
        }
        if (in_x) more_x = take(of_x, from_x);
        if (in_y) more_y = take(of_y, from_y);
    }
    return section.end();
}

/// Are these the sections of addends that have one and the same fill value, in the same places, and each of them all over equally often?
inline bool are_alike(const_byte_span a, const_byte_span b, std::size_t n, std::size_t element_bytes) noexcept
{
    constexpr std::size_t of_times = 4;  // one, and its padding
    if (a.size() != b.size() || a.size() < element_bytes + 4 + of_times) return false;
    if (std::memcmp(a.data(), b.data(), a.size() - of_times) != 0) return false;
    const u32 head = get<u32>(reinterpret_cast<const u8*>(a.data()) + element_bytes);
    specials::layer l;
    for (unsigned f = 1; f < 4; ++f) l.of[f] = head >> 9 * (f - 1) & 511;
    l.dense = (head >> 27 & 1) != 0;
    l.place(specials::blocks_of(n));
    return head >> 28 == 0 && element_bytes + l.values + of_times == a.size();  // one layer in all, of places where every addend had it
}

/// Appends the section of the sum of such chunks.
inline encode_result append_alike(u8* out, encode_result chunk, const_byte_span a, const_byte_span b) noexcept
{
    if (chunk.code != status::ok) return chunk;
    const auto times_of = [](const_byte_span s) { return i64{get<times_added>(reinterpret_cast<const u8*>(s.data()) + s.size() - 4)}; };
    const i64 times = times_of(a) + times_of(b);
    if (times != static_cast<times_added>(times)) return {0, status::too_large};
    u8* const section = out + chunk.bytes;
    std::memcpy(section, a.data(), a.size() - 4);
    put(section + a.size() - 4, u32{static_cast<std::uint16_t>(times)});
    put(section + a.size(), static_cast<u32>(a.size()) / 4);
    chunk_head head(get<u32>(out));
    head.alone = true;
    put(out, head.word());
    chunk.bytes += a.size() + 4;
    return chunk;
}

}  // namespace ccoll::detail::szp::missing
