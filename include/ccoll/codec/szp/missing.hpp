// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/missing.hpp - floor 2. Fill values in addends of SZp: where they are, and how many times each has been added. Their sums are in
// szp/missing_sums.hpp.
//
// Such a chunk says so in its head (chunk_head::alone), and ends with a section and the length of that in words:
//
//   for each fill value, in ascending order of their bits:
//     element    the fill value: finite, and 2^52 steps or more, so that no quantum stands for it
//     layers     one or two (codec/specials.hpp), whose values are i16: how many times the fill value has been added in a place
//                first the places where every addend had a fill value, this or another one; then, with bit 29 of their head, those where
//                some addends had a number. Bit 30 of the head of the last layer is set if another fill value follows
//   u32 words    of the above
//
// The quanta of places where all had a fill value mean nothing: they are sums of the bridges that encoders put there. In other places the
// quantum is the sum of the numbers alone. So the result is the sum of (times x fill value) over the fill values of the place, and of
// (quantum x step) where some had numbers. All of it depends on what was added, not on the order.
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

/// In the head of a layer: it is the last one of its fill value, but not of the section.
inline constexpr u32 another_follows = 1u << 30;

/// Where a chunk has fill values, whichever.
struct fill_places {
    u32 in_all[specials::most_blocks] = {};   ///< every addend had one
    u32 in_some[specials::most_blocks] = {};  ///< others had a number
};
/// One fill value of an addend or a sum: where it is, and how many times it has been added there.
struct fill_value {
    u64 bits = 0;  ///< of the element
    u32 places[specials::most_blocks];
    times_added times[chunk_elements];  ///< of these places
};
/// The fill values of a chunk that has not been added to anything.
struct own_fills {
    u64 bits[most_fills];  ///< in the order in which they were found
    u32 places[most_fills][specials::most_blocks];
    std::size_t count = 0;
    std::size_t values = 0;  ///< places of all
};

inline bool has_fills(const_byte_span chunk) noexcept
{
    return chunk.size() >= 12 && chunk_head(get<u32>(reinterpret_cast<const u8*>(chunk.data()))).alone;
}

/// Calls f(k, i) for each place of some masks: i in the chunk, in block k.
template <class F>
void for_each_place(const u32* masks, std::size_t blocks, F f) noexcept
{
    for (std::size_t k = 0; k < blocks; ++k)
        for (u32 left = masks[k]; left != 0; left &= left - 1) f(k, block_elements * k + static_cast<std::size_t>(std::countr_zero(left)));
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

/// Finds the fill values of a chunk.
/// @param copy   gets the values of the chunk, bridged where it has fill values
/// @param found  gets these; none if no value is too large
/// @return       too_large if there are more than most_fills
template <element T>
[[gnu::noinline]] status take_out(std::span<const T> in, const quantiser<T>& z, T* copy, own_fills& found) noexcept
{
    using fields = fields_of<T>;
    specials::places beyond;  // NaN and infinities among them: bridges do not begin there
    specials::split(in.data(), in.size(), specials::rule<T>{least_fill(z)}, beyond, copy);
    u32 untried[specials::most_blocks], not_finite[specials::most_blocks] = {};
    std::memcpy(untried, beyond.masks, sizeof(u32) * beyond.blocks);
    for (std::size_t k = 0; k < beyond.blocks; ++k)
        while (untried[k] != 0) {
            const auto place = static_cast<unsigned>(std::countr_zero(untried[k]));
            const auto bits = specials::bits_at(in.data(), block_elements * k + place);
            if ((bits & ~fields::sign) >= fields::exponent) {
                not_finite[k] |= 1u << place;
                untried[k] &= ~(1u << place);
                continue;
            }
            if (found.count == most_fills) return status::too_large;
            u32* const same = found.places[found.count];
            found.values += specials::match(in.data(), in.size(), untried, bits, same);
            for (std::size_t j = k; j < beyond.blocks; ++j) untried[j] &= ~same[j];
            found.bits[found.count++] = bits;
        }
    if (found.count == 0) return status::ok;
    specials::bridge(copy, in.size(), beyond);
    for_each_place(not_finite, beyond.blocks, [&](std::size_t, std::size_t i) { std::memcpy(copy + i, in.data() + i, sizeof(T)); });
    return status::ok;
}

/// Writes the section of a chunk, and tells the head.
template <element T>
class section_writer {
public:
    /// max_addend_bytes has room for the section.
    /// @param out    the chunk, of `chunk.bytes` bytes
    section_writer(u8* out, const encode_result& chunk, std::size_t n) noexcept
        : out_(out), chunk_(chunk), to_(out + chunk.bytes), end_(to_ + most_section_bytes(n, sizeof(T)))
    {}
    /// Ends the layers of the fill value before.
    void begin(u64 bits) noexcept
    {
        if (last_ != nullptr) put(last_, get<u32>(last_) | another_follows);
        put(to_, static_cast<typename fields_of<T>::word>(bits));
        to_ += sizeof(T);
    }
    /// @param write  (to, end) -> the end of a layer that it has written, or `to`
    template <class Write>
    void add_layer(u32 flag, Write write) noexcept
    {
        u8* const behind = write(to_, end_);
        if (behind == to_) return;
        if (flag != 0) put(to_, get<u32>(to_) | flag);
        last_ = to_;
        to_ = behind;
    }
    encode_result end() noexcept
    {
        const auto bytes = static_cast<std::size_t>(to_ - (out_ + chunk_.bytes));
        put(to_, static_cast<u32>(bytes) / 4);
        chunk_head head(get<u32>(out_));
        head.alone = true;
        put(out_, head.word());
        chunk_.bytes += bytes + 4;
        return chunk_;
    }

private:
    u8* out_;
    encode_result chunk_;
    u8 *to_, *last_ = nullptr;
    const u8* end_;
};

/// Appends the section of an addend that is no sum: each fill value has been added once in all its places.
/// @param chunk  what was written at `out`    @param fills  one at least
template <element T>
[[gnu::noinline]] encode_result append_once(u8* out, encode_result chunk, const own_fills& fills, std::size_t n) noexcept
{
    if (chunk.code != status::ok) return chunk;
    std::size_t ascending[most_fills] = {};
    for (std::size_t v = 0; v < fills.count; ++v) ascending[v] = v;
    std::sort(ascending, ascending + fills.count, [&](std::size_t a, std::size_t b) { return fills.bits[a] < fills.bits[b]; });
    section_writer<T> section(out, chunk, n);
    const std::size_t blocks = specials::blocks_of(n);
    for (std::size_t v = 0; v < fills.count; ++v) {
        const u32* const masks = fills.places[ascending[v]];
        specials::layer_front front;
        front.clear();
        for (std::size_t k = 0; k < blocks; ++k)
            if (masks[k] != 0) front.add(k, masks[k], specials::whole(n, k));
        section.begin(fills.bits[ascending[v]]);
        section.add_layer(0, [&](u8* to, const u8* end) { return front.put_equal(blocks, times_added{1}, to, end); });
    }
    return section.end();
}

/// The same for one fill value whose places an encoder has found on its way.
template <element T>
encode_result append_once(u8* out, encode_result chunk, const taken_out<T>& fill, std::size_t n) noexcept
{
    section_writer<T> section(out, chunk, n);
    section.begin(fill.one);
    section.add_layer(0, [&](u8* to, const u8* end) { return fill.layer.put_equal(fill.gone.blocks, times_added{1}, to, end); });
    return section.end();
}

/// Reads the fill values of a section one after another. Total: any bytes are safe.
template <element T>
class section_reader {
public:
    section_reader(const_byte_span section, std::size_t n) noexcept
        : from_(reinterpret_cast<const u8*>(section.data())), end_(from_ + section.size()), n_(n)
    {}
    bool has_more() const noexcept { return from_ < end_; }
    /// @return  false if this is no section of n values
    [[gnu::noinline]] bool next(fill_value& to) noexcept
    {
        using word = typename fields_of<T>::word;
        if (static_cast<std::size_t>(end_ - from_) < sizeof(word)) return false;
        const auto value = get<word>(from_);
        if (!is_fill(value) || (count_ > 0 && value <= last_) || ++count_ > most_fills) return false;
        to.bits = last_ = value;
        from_ += sizeof value;
        std::memset(to.places, 0, sizeof to.places);
        for (u32 before = 0;;) {  // the layers are in order, and there is one of each kind at most
            u32 head = 0;
            if (!take_layer(to, head)) return false;
            const u32 which = 1 + (head / specials::marked_layer & 1);
            if (which <= before) return false;
            before = which;
            if ((head & another_follows) != 0) return has_more();
            if (!has_more()) return true;
        }
    }
    /// Those of all fill values that have been read.
    const fill_places& places() const noexcept { return places_; }

    /// Only normal numbers: a step is at least one, too.
    static bool is_fill(typename fields_of<T>::word value) noexcept
    {
        const auto magnitude = value & ~fields_of<T>::sign;
        return magnitude < fields_of<T>::exponent && magnitude >= fields_of<T>::exponent_one;
    }

private:
    bool take_layer(fill_value& to, u32& head) noexcept
    {
        specials::layer l;
        bool own = false;
        u32 masks[specials::most_blocks];
        specials::named_blocks named;
        const std::size_t values = specials::read_blocks(from_, static_cast<std::size_t>(end_ - from_), n_,
                                                         specials::marked_layer | another_follows, l, own, masks, named);
        pairs_ += values;
        if (values == 0 || pairs_ > most_pairs(n_)) return false;
        head = get<u32>(from_);
        const std::size_t bytes = specials::padded(l.values + (own ? values : 1) * sizeof(times_added));
        if (bytes > static_cast<std::size_t>(end_ - from_)) return false;
        const bool marked = (head & specials::marked_layer) != 0;
        u32 *const mine = marked ? places_.in_some : places_.in_all, *const others = marked ? places_.in_all : places_.in_some;
        const u8* at = from_ + l.values;
        for (std::size_t k = 0; k < specials::blocks_of(n_); ++k) {
            if ((others[k] & masks[k]) != 0) return false;
            mine[k] |= masks[k];
            to.places[k] |= masks[k];
            for (u32 left = masks[k]; left != 0; left &= left - 1, at += own ? sizeof(times_added) : 0)
                std::memcpy(to.times + block_elements * k + std::countr_zero(left), at, sizeof(times_added));
        }
        from_ += bytes;
        return true;
    }

    const u8 *from_, *end_;
    std::size_t n_, count_ = 0, pairs_ = 0;
    typename fields_of<T>::word last_ = 0;
    fill_places places_;
};

/// Where a section has fill values. Total: any bytes are safe. @return false if this is no section of n values
template <element T>
[[gnu::noinline]] bool find(const_byte_span section, std::size_t n, fill_places& to) noexcept
{
    section_reader<T> from(section, n);
    fill_value one;
    while (from.has_more())
        if (!from.next(one)) return false;
    to = from.places();
    return true;
}

/// Puts the fill value where it is, if there is only one, and every addend had it there, equally often. Total: any bytes are safe.
/// @return  false if this is no such section; then nothing has been written
template <element T>
[[gnu::noinline]] bool apply_alike(const_byte_span section, std::span<T> x) noexcept
{
    CCOLL_EXACT_BODY
    using word = typename fields_of<T>::word;
    const u8* const from = reinterpret_cast<const u8*>(section.data());
    if (section.size() < sizeof(T) + 4) return false;
    const word value = get<word>(from);
    if (!section_reader<T>::is_fill(value)) return false;
    const std::size_t n = x.size(), bytes = section.size() - sizeof value;
    specials::layer l;
    bool own = false;
    u32 masks[specials::most_blocks];
    specials::named_blocks named;
    if (specials::read_blocks(from + sizeof value, bytes, n, 0, l, own, masks, named) == 0 || own) return false;
    if (bytes != specials::padded(l.values + sizeof(times_added))) return false;
    const auto times = get<times_added>(from + sizeof value + l.values);
    const word all = fields_of<T>::of(static_cast<T>(static_cast<double>(times) * static_cast<double>(std::bit_cast<T>(value))));
    specials::put_one(x.data(), n, masks, named, all);
    return true;
}

/// Puts fill values where they are. Total: any bytes are safe.
/// @param x  what the quanta decode to    @return  false if the section is none
template <element T>
[[gnu::noinline]] bool apply(const chunk_view& view, double step, std::span<T> x) noexcept
{
    CCOLL_EXACT_BODY
    if (apply_alike(view.specials, x)) return true;
    fill_places places;
    if (!find<T>(view.specials, x.size(), places)) return false;
    double sums[chunk_elements];  // of the places that count
    u32 counts[specials::most_blocks], begun[specials::most_blocks] = {};
    std::copy_n(places.in_all, view.count, counts);
    if (std::any_of(places.in_some, places.in_some + view.count, [](u32 m) { return m != 0; })) {
        quanta64::scaled_blocks blocks(view, 1);
        u64 q = static_cast<u64>(view.base);
        for (std::size_t k = 0; k < view.count; ++k) {
            i64 d[block_elements] = {};
            u32 a = 0, b = 0;
            blocks.add_to(k, d, a, b);
            begun[k] = places.in_some[k] & ~(a | b);  // beside NaN and infinities it does not count
            counts[k] |= begun[k];
            for (std::size_t i = 0; i < block_elements; ++i) {
                q += static_cast<u64>(d[i]);
                sums[block_elements * k + i] = static_cast<double>(static_cast<i64>(q)) * step;
            }
        }
    }
    section_reader<T> from(view.specials, x.size());
    for (fill_value one; from.has_more() && from.next(one);) {
        const double value = static_cast<double>(std::bit_cast<T>(static_cast<typename fields_of<T>::word>(one.bits)));
        for_each_place(one.places, view.count, [&](std::size_t k, std::size_t i) {
            const double times = static_cast<double>(one.times[i]);
            sums[i] = (begun[k] >> i % block_elements & 1) != 0 ? std::fma(times, value, sums[i]) : times * value;
        });
        for (std::size_t k = 0; k < view.count; ++k) begun[k] |= one.places[k];
    }
    for_each_place(counts, view.count, [&](std::size_t, std::size_t i) { x[i] = static_cast<T>(sums[i]); });
    return true;
}

/// Puts fill values themselves where a sum has one of them alone, and every addend had it, `times` addends in all: their averages.
/// @param out  elements of T, or (of two bytes) such that a T becomes one
template <element T, class Out>
[[gnu::noinline]] void put_averages(const chunk_view& view, std::span<Out> out, int times) noexcept
{
    fill_places places;
    if (!find<T>(view.specials, out.size(), places)) return;
    section_reader<T> from(view.specials, out.size());
    for (fill_value one; from.has_more() && from.next(one);) {
        for (std::size_t k = 0; k < view.count; ++k) one.places[k] &= places.in_all[k];
        const auto value = from_number<Out>(std::bit_cast<T>(static_cast<typename fields_of<T>::word>(one.bits)));
        for_each_place(one.places, view.count, [&](std::size_t, std::size_t i) {
            if (one.times[i] == times) out[i] = value;
        });
    }
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szp::missing
