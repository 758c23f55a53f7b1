// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/missing.hpp - floor 2. A fill value in addends of SZp: where it is, how many times it has been added, and sums with it.
//
// Such a chunk says so in its head (chunk_head::alone), and ends with a section and the length of that in words:
//
//   element      the fill value: finite, and 2^52 steps or more, so that no quantum stands for it
//   layers       one or two (codec/specials.hpp), whose values are i16: how many times the fill value has been added in a place
//                first those where every addend had it; then, with bit 29 of their head, those where some addends had a number
//   u32 words    of the above
//
// The quanta of places where all had it mean nothing: they are sums of the bridges that encoders put there. In other places the quantum is
// the sum of the numbers alone. So the result is (times x fill value) or (times x fill value + quantum x step), rounded once; and all of it
// depends on what was added, not on the order.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include <ccoll/codec/specials.hpp>
#include <ccoll/codec/szp/quanta64.hpp>
#include <ccoll/codec/szp/writing.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp::missing {

using times_added = std::int16_t;

/// Where an addend, or a sum, has the fill value.
struct fill_places {
    u32 in_all[specials::most_blocks] = {};   ///< every addend had it
    u32 in_some[specials::most_blocks] = {};  ///< others had a number
    times_added times[chunk_elements];        ///< of the places in these masks
    u64 value = 0;                            ///< bits of the element
    bool any = false;
};

inline bool has_fills(const_byte_span chunk) noexcept
{
    return chunk.size() >= 12 && chunk_head(get<u32>(reinterpret_cast<const u8*>(chunk.data()))).alone;
}

CCOLL_EXACT_BEGIN

/// Bits of the least |x| that cannot be added as a quantum.
template <element T>
typename fields_of<T>::word least_fill(const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    const double least = quanta64::largest_quantum * static_cast<double>(z.step);
    return least <= static_cast<double>(std::numeric_limits<T>::max()) ? fields_of<T>::of(static_cast<T>(least)) : fields_of<T>::exponent;
}

/// Finds the fill value of a chunk.
/// @param copy   gets the values of the chunk, bridged where it has the fill value
/// @param found  gets where that is, but no times; `any` is false if no value is too large
/// @return       too_large if there are two such values
template <element T>
[[gnu::noinline]] status take_out(std::span<const T> in, const quantiser<T>& z, T* copy, fill_places& found) noexcept
{
    using fields = fields_of<T>;
    specials::places beyond;  // NaN and infinities among them: bridges do not begin there
    specials::split(in.data(), in.size(), specials::rule<T>{least_fill(z)}, beyond, copy);
    for (std::size_t k = 0; k < beyond.blocks && !found.any; ++k)
        for (u32 left = beyond.masks[k]; left != 0 && !found.any; left &= left - 1) {
            const auto w = specials::bits_at(in.data(), block_elements * k + static_cast<std::size_t>(std::countr_zero(left)));
            if ((w & ~fields::sign) >= fields::exponent) continue;
            found.any = true;
            found.value = w;
        }
    if (!found.any) return status::ok;
    const auto bits = static_cast<typename fields::word>(found.value);
    const bool others = specials::match(in.data(), in.size(), beyond.masks, bits, found.in_all) != beyond.values;
    specials::bridge(copy, in.size(), beyond);
    for (std::size_t k = 0; others && k < beyond.blocks; ++k)
        for (u32 left = beyond.masks[k] & ~found.in_all[k]; left != 0; left &= left - 1) {
            const std::size_t i = block_elements * k + static_cast<std::size_t>(std::countr_zero(left));
            if ((specials::bits_at(in.data(), i) & ~fields::sign) < fields::exponent) return status::too_large;
            std::memcpy(copy + i, in.data() + i, sizeof(T));
        }
    return status::ok;
}

/// A layer for the places of `masks`, if there are any. @return its end
inline u8* put_places(const times_added* times, std::size_t n, const u32* masks, u32 flag, u8* to, const u8* end) noexcept
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
    if (!any) return to;
    u8* const behind = specials::portable::put_layer(times, n, masks, equal ? &one : nullptr, to, end);
    put(to, get<u32>(to) | flag);
    return behind;
}

/// The length of the section, behind it; the head of the chunk at `out` is told of it.
inline encode_result end_of_section(u8* out, encode_result chunk, u8* behind) noexcept
{
    const auto bytes = static_cast<std::size_t>(behind - (out + chunk.bytes));
    put(behind, static_cast<u32>(bytes) / 4);
    chunk_head head(get<u32>(out));
    head.alone = true;
    put(out, head.word());
    chunk.bytes += bytes + 4;
    return chunk;
}

/// Appends the section of an addend that is no sum: the fill value has been added once in all its places, of which there is one at least.
/// max_addend_bytes has room for it.
/// @param chunk  what was written at `out`
template <element T>
[[gnu::noinline]] encode_result append_once(u8* out, encode_result chunk, const fill_places& fills, std::size_t n) noexcept
{
    if (chunk.code != status::ok) return chunk;
    u8* const section = out + chunk.bytes;
    const auto value = static_cast<typename fields_of<T>::word>(fills.value);
    put(section, value);
    specials::layer_front front;
    front.clear();
    for (std::size_t k = 0; k < specials::blocks_of(n); ++k)
        if (fills.in_all[k] != 0) front.add(k, fills.in_all[k], specials::whole(n, k));
    const u8* const end = section + most_section_bytes(n, sizeof(T));
    return end_of_section(out, chunk, front.put_equal(specials::blocks_of(n), times_added{1}, section + sizeof value, end));
}

/// Appends the section of a sum. max_addend_bytes has room for it.
/// @param chunk  what was written at `out`
template <element T>
[[gnu::noinline]] encode_result append(u8* out, encode_result chunk, const fill_places& fills, std::size_t n) noexcept
{
    if (chunk.code != status::ok || !fills.any) return chunk;
    u8* const section = out + chunk.bytes;
    const u8* const end = section + most_section_bytes(n, sizeof(T));
    const auto value = static_cast<typename fields_of<T>::word>(fills.value);
    put(section, value);
    u8* behind = put_places(fills.times, n, fills.in_all, 0, section + sizeof value, end);
    behind = put_places(fills.times, n, fills.in_some, specials::marked_layer, behind, end);
    return end_of_section(out, chunk, behind);
}

/// Total: any bytes are safe. @return false if this is no section of n values
template <element T>
[[gnu::noinline]] bool read(const_byte_span section, std::size_t n, fill_places& to) noexcept
{
    using fields = fields_of<T>;
    if (section.empty()) return true;
    if (section.size() < sizeof(T)) return false;
    const u8 *from = reinterpret_cast<const u8*>(section.data()), *const end = from + section.size();
    const auto value = get<typename fields::word>(from);
    if ((value & ~fields::sign) >= fields::exponent || (value & ~fields::sign) < fields::exponent_one) return false;
    to.value = value;
    from += sizeof value;
    bool last = false;
    while (from < end) {
        specials::layer l;
        bool own = false;
        u32 masks[specials::most_blocks];
        specials::portable::named_blocks named;
        const std::size_t values =
            specials::portable::read_blocks(from, static_cast<std::size_t>(end - from), n, specials::marked_layer, l, own, masks, named);
        if (values == 0) return false;
        const bool marked = (get<u32>(from) & specials::marked_layer) != 0;
        const std::size_t bytes = specials::padded(l.values + (own ? values : 1) * sizeof(times_added));
        // The layers are in order, and there is one of each kind at most.
        if (bytes > static_cast<std::size_t>(end - from) || (!marked && to.any) || last) return false;
        last = marked;
        const u8* at = from + l.values;
        for (std::size_t k = 0; k < specials::blocks_of(n); ++k) {
            if (marked && (to.in_all[k] & masks[k]) != 0) return false;
            (marked ? to.in_some : to.in_all)[k] = masks[k];
            for (u32 left = masks[k]; left != 0; left &= left - 1, at += own ? sizeof(times_added) : 0)
                std::memcpy(to.times + block_elements * k + std::countr_zero(left), at, sizeof(times_added));
        }
        to.any = true;
        from += bytes;
    }
    return to.any;
}

/// Puts fill values where they are, if every addend had them there, equally often. Total: any bytes are safe.
/// @return  false if this is no such section; then nothing has been written
template <element T>
[[gnu::noinline]] bool apply_alike(const_byte_span section, std::span<T> x) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    using word = typename fields::word;
    const u8* const from = reinterpret_cast<const u8*>(section.data());
    if (section.size() < sizeof(T) + 4) return false;
    const word value = get<word>(from), magnitude = value & ~fields::sign;
    if (magnitude >= fields::exponent || magnitude < fields::exponent_one) return false;
    const std::size_t n = x.size(), bytes = section.size() - sizeof value;
    specials::layer l;
    bool own = false;
    u32 masks[specials::most_blocks];
    specials::portable::named_blocks named;
    if (specials::portable::read_blocks(from + sizeof value, bytes, n, 0, l, own, masks, named) == 0 || own) return false;
    if (bytes != specials::padded(l.values + sizeof(times_added))) return false;
    const auto times = get<times_added>(from + sizeof value + l.values);
    const word all = fields::of(static_cast<T>(static_cast<double>(times) * static_cast<double>(std::bit_cast<T>(value))));
    const auto put_value = [&](std::size_t k) { specials::portable::put(x.data() + block_elements * k, masks[k], all); };
    named.partial.for_each(put_value);
    named.throughout.for_each(put_value);
    return true;
}

/// Puts fill values where they are. @param x  what the quanta decode to
template <element T>
[[gnu::noinline]] bool apply(const chunk_view& view, double step, std::span<T> x) noexcept
{
    CCOLL_EXACT_BODY
    if (apply_alike(view.specials, x)) return true;
    fill_places fills;
    if (!read<T>(view.specials, x.size(), fills)) return false;
    const double value = static_cast<double>(std::bit_cast<T>(static_cast<typename fields_of<T>::word>(fills.value)));
    const bool mixed = std::any_of(fills.in_some, fills.in_some + view.count, [](u32 m) { return m != 0; });
    for (std::size_t k = 0; k < view.count; ++k)
        for (u32 left = fills.in_all[k]; left != 0; left &= left - 1) {
            const std::size_t i = block_elements * k + static_cast<std::size_t>(std::countr_zero(left));
            x[i] = static_cast<T>(static_cast<double>(fills.times[i]) * value);
        }
    if (!mixed) return true;
    quanta64::scaled_blocks blocks(view, 1);
    u64 q = static_cast<u64>(view.base);
    for (std::size_t k = 0; k < view.count; ++k) {
        i64 d[block_elements] = {};
        u32 a = 0, b = 0;
        blocks.add_to(k, d, a, b);
        for (std::size_t i = 0; i < block_elements; ++i) {
            q += static_cast<u64>(d[i]);
            if ((fills.in_some[k] & ~(a | b)) >> i % block_elements & 1) {  // beside NaN and infinities it does not count
                const std::size_t at = block_elements * k + i;
                x[at] =
                    static_cast<T>(std::fma(static_cast<double>(fills.times[at]), value, static_cast<double>(static_cast<i64>(q)) * step));
            }
        }
    }
    return true;
}

/// Blocks of p x + q y, where x or y has the fill value. A number takes the place of a bridge.
/// @param sum  gets where the result has it    @return  code too_large: two different ones, or more times than can be counted
[[gnu::noinline]] inline quanta64::encoded combine(const chunk_view& x, i64 p, const fill_places& of_x, const chunk_view& y, i64 q,
                                                   const fill_places& of_y, u64 base, std::size_t n, u8* out, u8* codes,
                                                   fill_places& sum) noexcept
{
    quanta64::encoded all;
    if (of_x.any && of_y.any && of_x.value != of_y.value) {
        all.code = status::too_large;
        return all;
    }
    sum.any = true;
    sum.value = of_x.any ? of_x.value : of_y.value;
    quanta64::scaled_blocks from_x(x, p), from_y(y, q);
    u64 at_x = static_cast<u64>(x.base) * static_cast<u64>(p), at_y = static_cast<u64>(y.base) * static_cast<u64>(q), before = base;
    u8* to = out;
    bool any = false;
    for (std::size_t k = 0; k < x.count; ++k) {
        i64 dx[block_elements] = {}, dy[block_elements] = {}, d[block_elements] = {};
        u32 a = 0, b = 0;
        from_x.add_to(k, dx, a, b);
        from_y.add_to(k, dy, a, b);
        const u32 fx = of_x.in_all[k], fy = of_y.in_all[k], here = fx | fy | of_x.in_some[k] | of_y.in_some[k];
        sum.in_all[k] = fx & fy;
        sum.in_some[k] = here & ~sum.in_all[k];
        for (std::size_t i = 0; i < std::min<std::size_t>(block_elements, n - block_elements * k); ++i) {
            at_x += static_cast<u64>(dx[i]);
            at_y += static_cast<u64>(dy[i]);
            u64 quantum = at_x + at_y;
            if (here >> i & 1) {
                const std::size_t at = block_elements * k + i;
                const bool bridge_x = fx >> i & 1, bridge_y = fy >> i & 1;
                if (bridge_x != bridge_y) quantum = bridge_x ? at_y : at_x;
                const i64 times = (bridge_x || (of_x.in_some[k] >> i & 1) ? of_x.times[at] * p : 0) +
                                  (bridge_y || (of_y.in_some[k] >> i & 1) ? of_y.times[at] * q : 0);
                sum.times[at] = static_cast<times_added>(times);
                if (sum.times[at] != times) {
                    all.code = status::too_large;
                    return all;
                }
            }
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

CCOLL_EXACT_END

/// Are these the sections of addends that have the fill value in the same places, and each of them all over equally often?
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
    return head >> 28 == 0 && element_bytes + l.values + of_times == a.size();  // one layer, of all addends
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
