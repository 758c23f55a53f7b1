// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/coder.hpp - floor 2. Chunks of SZp.
#pragma once

#include <span>

#include <ccoll/codec/szp/kernels.hpp>
#include <ccoll/codec/szp/sums.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Chunks of some values. Each function writes one to `out`, where there is room.
template <element T>
struct encoder {
    using fields = fields_of<T>;
    using word = typename fields::word;

    std::span<const T> in;
    const field_facts& field;
    const law<T> z{field.eb};

    /// @return unsupported: the law has the values as they are
    encode_result movement(u8* out) const noexcept
    {
        if (in.size() > least_constant && in.front() == in.back() && are_equal())
            if (const encode_result r = few().movement(out); r.bytes == flat_bytes) return r;
        if (!z.usable || (in.size() < least_values && (in.size() < least_constant || !are_equal()))) return {0, status::unsupported};
        const double lattice = lattice_of(fields::exponent);
        search<T> apart = search_from(z.too_large);
        if (lattice == 0 || (lattice < 0 && lattice_of(z.too_large) == 0))
            if (const encode_result r = on_common_grid(apart, out); r.code != status::too_large) return r;
        return unusual(lattice, apart, out);
    }
    encode_result addend(u8* out) const noexcept
    {
        if (!z.usable) return {0, status::too_large};
        if (in.size() > least_constant && in.front() == in.back() && are_equal())
            if (const encode_result r = few().addend(out); r.bytes == flat_bytes) return r;
        search<T> apart = search_from(z.too_large_addend);
        encode_result r = narrow(z.common, {}, {above_of(z.common, apart), true, false, rounding::fast, rounding::mixed}, apart, out);
        if (r.code != status::ok) r = wide(z.common, {}, apart, out);
        if (apart.found.values == 0) return r;
        u8* const section = behind(r, out);
        const word bits = bits_of_missing(), *const missing = field.missing.declared ? &bits : nullptr;
        const u8* const end = exceptions::write_addend<T>(in.data(), in.size(), apart.found, z.common.step, missing, section,
                                                          section + exceptions::most_addend_bytes(in.size()));
        return end != nullptr ? with_exceptions(section, end, apart.found.values, out) : encode_result{0, status::too_large};
    }

private:
    bool are_equal() const noexcept { return std::memcmp(in.data(), in.data() + 1, in.size_bytes() - sizeof(T)) == 0; }
    /// A flat chunk does not say how many values it has.
    encoder few() const noexcept { return {in.first(least_constant), field, z}; }
    word bits_of_missing() const noexcept { return static_cast<word>(field.missing.bits); }
    /// What is exceptional: missing values, and |x| from `limit` on, as bits.
    exceptions::rule<T> rule(word limit) const noexcept { return {limit, field.missing.declared ? bits_of_missing() : word(~word{0})}; }
    search<T> search_from(word limit) const noexcept { return {rule(limit), field.missing.declared}; }
    distances above_of(const grid<T>& on, search<T>& apart) const noexcept
    {
        const distances known = distances::within(in.size(), field.strides);
        if (known.none()) return known;
        alignas(64) T copy[chunk_elements];
        const T* x = in.data();
        if (field.missing.declared)  // judges see what is exceptional, but not what is missing
            each_group(apart, [&](const T* from, std::size_t n, std::size_t i) { x = copy, std::memcpy(copy + i, from, n * sizeof(T)); });
        return judges<T>(x, in.size(), known, on.inverse_in_t);
    }
    word largest(word limit) const noexcept { return magnitude_finders<T>(in.data(), in.size(), rule(limit)); }
    double lattice_of(word to) const noexcept { return lattice_finders<T>(in.data(), in.size(), z.common.step, rule(to), z.too_large); }

    /// @return too_large: a value has no such quantum
    encode_result narrow(const grid<T>& on, chunk_head head, const packing& as, search<T>& apart, u8* out) const noexcept
    {
        apart.found.blocks = apart.found.values = 0;
        const packed all = encoders<T>(in.data(), in.size(), on, as, out, &apart);
        if (!all.held) return {0, status::too_large};
        head.left = as.left, head.above = as.above;
        return finish(head, all, out);
    }
    /// Calls each(values, their number, offset) for groups without exceptional values.
    void each_group(search<T>& apart, const auto& each) const noexcept
    {
        alignas(64) T room[group_elements];
        apart.found = {};
        for (std::size_t i = 0; i < in.size(); i += group_elements)
            each(exceptions::take_out<T>(in.data(), in.size(), i, apart.is, apart.found, room), std::min(group_elements, in.size() - i), i);
    }
    encode_result wide(const grid<T>& on, chunk_head head, search<T>& apart, u8* out) const noexcept
    {
        alignas(64) i64 q[chunk_elements];
        each_group(apart, [&](const T* x, std::size_t n, std::size_t i) { wide_quantisers<T>(x, n, on, q + i); });
        return pack_quanta(q, in.size(), head, out);
    }
    /// Writes the exceptional values of a chunk for movement.
    encode_result finished(const encode_result& r, const exceptions::places& at, u8* out) const noexcept
    {
        if (r.code != status::ok || at.values == 0) return r;
        u8* const section = behind(r, out);
        const u8* const end =
            exceptions::write<T>(in.data(), in.size(), at, section, out + most_room<T>(in.size()), most_changes(in.size()));
        return end != nullptr ? with_exceptions(section, end, at.values, out) : encode_result{0, status::unsupported};
    }

    encode_result on_common_grid(search<T>& apart, u8* out) const noexcept
    {
        packing as{above_of(z.common, apart)};
        as.left = !as.above.none() || field.missing.declared || !noise_detectors<T>(in.data(), in.size(), z.common.inverse_in_t);
        return finished(narrow(z.common, {}, as, apart, out), apart.found, out);
    }
    /// @param most  bits of the largest magnitude; looked at if there is no lattice
    encode_result on_its_grid(search<T>& apart, word most, double lattice, u8* out) const noexcept
    {
        if (lattice == 0 && most < z.common.usual) return on_common_grid(apart, out);
        const grid<T> own = z.own(most, lattice);
        if (!(own.step > 0)) return {0, status::unsupported};
        const chunk_head head{.own = true, .above = {}, .largest = std::bit_cast<u64>(own.step)};
        if (is_f32<T> || lattice > 0) {
            packing as{above_of(own, apart), true, true, rounding::in_double, rounding::in_double};
            if (lattice > 0) as.usual = rounding::fast, as.unusual = rounding::mixed;
            if (const encode_result r = narrow(own, head, as, apart, out); r.code == status::ok) return finished(r, apart.found, out);
            if (is_f32<T>) return {0, status::unsupported};
        }
        return finished(wide(own, head, apart, out), apart.found, out);
    }
    /// A chunk that has a grid of its own, or is raw, or whose ordinary values are all 0. Exceptional is what is not finite and, if the
    /// others have no lattice, what is too large for the bound.
    /// @param lattice  of all finite values, as it is found    @param apart  from z.too_large on; some that are may have been found
    [[gnu::noinline]] encode_result unusual(double lattice, search<T>& apart, u8* out) const noexcept
    {
        if (lattice > 0) return apart.is.limit = fields::exponent, on_its_grid(apart, 0, lattice, out);
        if (lattice < 0) lattice = lattice_of(z.too_large);
        word most = lattice == 0 ? largest(apart.everywhere ? z.too_large : fields::sign) : 0;
        if (lattice != 0 || most >= z.too_large) apart.everywhere = true, most = lattice == 0 ? largest(z.too_large) : 0;
        return on_its_grid(apart, most, std::max(lattice, 0.0), out);
    }
};

/// Kernels write up to `slack` bytes behind a chunk, and chunks may be longer while they are made.
template <element T, class Write>
encode_result in_room(std::size_t n, byte_span dst, const Write& write) noexcept
{
    if (dst.size() >= most_room<T>(n)) return write(reinterpret_cast<u8*>(dst.data()));
    alignas(64) u8 room[most_room<T>(chunk_elements)];
    const encode_result r = write(room);
    if (r.code != status::ok) return r;
    if (r.bytes > dst.size()) return {0, status::out_of_space};
    std::memcpy(dst.data(), room, r.bytes);
    return r;
}

/// Values of all quanta, bridges among them.
/// @param quanta  null, or room for them, which is filled    @param share  values are decoded as this power of two times themselves
template <element T>
status decode_quanta(const chunk_view& v, std::span<T> out, double eb, stores how, i64* quanta, double share = 1) noexcept
{
    const law<T> z(eb);
    if (!z.usable) return status::corrupt;
    double step = z.common.step * share;
    if (v.head.own) {
        step = v.step();
        if (!(step >= static_cast<double>(std::numeric_limits<T>::min()) && step <= static_cast<double>(std::numeric_limits<T>::max())))
            return status::corrupt;
        if (static_cast<double>(static_cast<T>(step)) != step) return status::corrupt;
    }
    if (v.head.flat) {
        if (quanta != nullptr) std::fill_n(quanta, v.n, v.base);
        const T value = v.head.own ? value_on_own_step(v.base, static_cast<T>(step)) : grid<T>(step, true).value(v.base);
        fillers<T>(out.data(), out.size(), value, how);
        return status::ok;
    }
    const bool in_t =
        !v.head.wide && quanta == nullptr && (!is_f32<T> || v.head.own || v.head.largest <= u64{1} << std::numeric_limits<T>::digits);
    if (in_t) return decoders<T>(v, static_cast<T>(step), out.data(), how);
    alignas(64) i64 room[chunk_elements];
    i64* const q = quanta != nullptr ? quanta : room;
    if (const status s = read_quanta(v, q); s != status::ok) return s;
    if (is_f32<T> && v.head.own)
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_on_own_step(q[i], static_cast<T>(step));
    else wide_dequantisers<T>(q, out.size(), step, out.data());
    return status::ok;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
