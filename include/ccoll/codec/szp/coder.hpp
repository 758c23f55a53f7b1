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
        const bool missing = has_missing();
        const double lattice = missing ? 0 : lattice_of(in);
        if (!missing && lattice == 0)
            if (const encode_result r = on_common_grid(in, out); r.code == status::ok) return r;
        return unusual(missing, lattice, out);
    }
    encode_result addend(u8* out) const noexcept
    {
        if (!z.usable) return {0, status::too_large};
        if (in.size() > least_constant && in.front() == in.back() && are_equal())
            if (const encode_result r = few().addend(out); r.bytes == flat_bytes) return r;
        const bool missing = has_missing();
        if (!missing)
            if (const encode_result r = narrow_addend(in, out); r.code == status::ok) return r;
        return unusual_addend(missing, out);
    }

private:
    bool are_equal() const noexcept { return std::memcmp(in.data(), in.data() + 1, in.size_bytes() - sizeof(T)) == 0; }
    /// A flat chunk does not say how many values it has.
    encoder few() const noexcept { return {in.first(least_constant), field, z}; }
    word bits_of_missing() const noexcept { return static_cast<word>(field.missing.bits); }
    bool has_missing() const noexcept { return field.missing.declared && exceptions::has_bits<T>(in.data(), in.size(), bits_of_missing()); }
    distances above_of(std::span<const T> x, const grid<T>& on) const noexcept
    {
        const distances known = distances::within(x.size(), field.strides);
        return known.none() ? known : judges<T>(x.data(), x.size(), known, on.inverse_in_t);
    }
    double lattice_of(std::span<const T> x) const noexcept { return lattice_finders<T>(x.data(), x.size(), z.common.step); }
    word largest(word enough) const noexcept { return magnitude_finders<T>(in.data(), in.size(), enough); }
    /// Which values are exceptional, and a copy of the others with 0 in their places.
    /// @param limit  bits of the least |x| that is exceptional    @param missing  are missing values among them?
    void split(word limit, bool missing, exceptions::places& at, T* copy) const noexcept
    {
        const exceptions::rule<T> rule = missing ? exceptions::rule<T>{limit, bits_of_missing()} : exceptions::rule<T>{limit};
        exceptions::split<T>(in.data(), in.size(), rule, at, copy);
    }

    static encode_result narrow(std::span<const T> x, const grid<T>& on, chunk_head head, const packing& as, u8* out) noexcept
    {
        const packed all = encoders<T>(x.data(), x.size(), on, as, out);
        if (!all.held) return {0, status::unsupported};
        head.left = as.left;
        head.above = as.above;
        if (!head.own) head.largest = all.largest;
        return finish(head, all, get<i32>(out + places_at(groups_of(x.size())) + 4), out);
    }
    static encode_result wide(std::span<const T> x, const grid<T>& on, chunk_head head, u8* out) noexcept
    {
        alignas(64) i64 q[chunk_elements];
        wide_quantisers<T>(x.data(), x.size(), on, q);
        return pack_quanta(q, x.size(), head, out);
    }

    encode_result on_common_grid(std::span<const T> x, u8* out) const noexcept
    {
        packing as{above_of(x, z.common)};
        as.left = !as.above.none() || !noise_detectors<T>(x.data(), x.size(), z.common.inverse_in_t);
        return narrow(x, z.common, {}, as, out);
    }
    /// @param most  bits of the largest magnitude; looked at if there is no lattice
    encode_result on_its_grid(std::span<const T> x, word most, double lattice, u8* out) const noexcept
    {
        if (lattice == 0 && most < z.common.usual) return on_common_grid(x, out);
        const grid<T> own = z.own(most, lattice);
        if (!(own.step > 0)) return {0, status::unsupported};
        chunk_head head;
        head.own = true;
        head.largest = std::bit_cast<u64>(own.step);
        if (is_f32<T> || lattice > 0) {
            packing as{above_of(x, own), true, true, rounding::in_double, rounding::in_double};
            if (lattice > 0) as.usual = rounding::fast, as.unusual = rounding::mixed;
            if (const encode_result r = narrow(x, own, head, as, out); is_f32<T> || r.code == status::ok) return r;
        }
        return wide(x, own, head, out);
    }
    /// A chunk that has exceptional values, or a grid of its own, or is raw. @param lattice  of all values; 0 if some are missing
    [[gnu::noinline]] encode_result unusual(bool missing, double lattice, u8* out) const noexcept
    {
        alignas(64) T copy[chunk_elements];
        exceptions::places at;
        std::span<const T> ordinary = in;
        word most = lattice > 0 ? 0 : largest(z.too_large);
        const auto take_out = [&](word limit) {
            split(limit, missing, at, copy);
            ordinary = std::span<const T>(copy, in.size());
            most = static_cast<word>(at.largest);
            lattice = lattice_of(ordinary);
        };
        // Exceptional is what is not finite and, if the others have no lattice, what is too large for the bound.
        if (lattice == 0 && (most >= z.too_large || missing)) {
            if (take_out(z.too_large); lattice > 0 || most == 0) take_out(fields::exponent);
            if (lattice == 0 && most >= z.too_large) take_out(z.too_large);
        }
        if (at.values > 0) exceptions::bridge<T>(copy, in.size(), at);
        const encode_result r = on_its_grid(ordinary, most, lattice, out);
        if (r.code != status::ok || at.values == 0) return r;
        u8* const section = behind(r, out);
        const u8* const end =
            exceptions::write<T>(in.data(), in.size(), at, section, out + most_room<T>(in.size()), most_changes(in.size()));
        return end != nullptr ? with_exceptions(section, end, at.values, out) : encode_result{0, status::unsupported};
    }

    encode_result narrow_addend(std::span<const T> x, u8* out) const noexcept
    {
        return narrow(x, z.common, {}, {above_of(x, z.common), true, false, rounding::fast, rounding::mixed}, out);
    }
    /// With exceptional values, or wide quanta.
    [[gnu::noinline]] encode_result unusual_addend(bool missing, u8* out) const noexcept
    {
        if (!missing && largest(z.too_large_addend) < z.too_large_addend) return wide(in, z.common, {}, out);
        alignas(64) T copy[chunk_elements];
        exceptions::places at;
        split(z.too_large_addend, missing, at, copy);
        exceptions::bridge<T>(copy, in.size(), at);
        const std::span<const T> ordinary(copy, in.size());
        encode_result r = narrow_addend(ordinary, out);
        if (r.code != status::ok) r = wide(ordinary, z.common, {}, out);
        u8* const section = behind(r, out);
        const word bits = bits_of_missing();
        const u8* const end = exceptions::write_addend<T>(in.data(), in.size(), at, z.common.step, missing ? &bits : nullptr, section,
                                                          section + exceptions::most_addend_bytes(in.size()));
        return end != nullptr ? with_exceptions(section, end, at.values, out) : encode_result{0, status::too_large};
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
/// Reads the head of a chunk, and calls read(view).
template <class Read>
status with_view(const frame_view::piece& src, std::size_t n, bool is_addend, const Read& read) noexcept
{
    const exact_environment environment;
    chunk_view v;
    if (const status s = read_chunk(src.data, n, v); s != status::ok) return s;
    if (is_addend && v.head.own) return status::corrupt;
    v.behind = src.readable;
    v.is_addend = is_addend;
    return read(v);
}
template <element T>
encode_result add(const frame_view::piece& a, const frame_view::piece& b, std::size_t n, byte_span dst) noexcept
{
    encode_result r{0, status::corrupt};
    with_view(a, n, true, [&](const chunk_view& x) {
        return with_view(b, n, true, [&](const chunk_view& y) {
            r = in_room<T>(n, dst, [&](u8* out) { return sums::add(x, y, out); });
            return r.code;
        });
    });
    return r;
}

/// Values of all quanta, bridges among them. @param quanta  null, or room for them, which is filled
template <element T>
status decode_quanta(const chunk_view& v, std::span<T> out, double eb, stores how, i64* quanta) noexcept
{
    const law<T> z(eb);
    if (!z.usable) return status::corrupt;
    double step = z.common.step;
    if (v.head.own) {
        step = v.step();
        if (!(step >= static_cast<double>(std::numeric_limits<T>::min()) && step <= static_cast<double>(std::numeric_limits<T>::max())))
            return status::corrupt;
        if (static_cast<double>(static_cast<T>(step)) != step) return status::corrupt;
    }
    if (v.head.flat) {
        if (quanta != nullptr) std::fill_n(quanta, v.n, v.base);
        fillers<T>(out.data(), out.size(), grid<T>(step, true).value(v.base), how);
        return status::ok;
    }
    const bool in_t =
        !v.head.wide && quanta == nullptr && (!is_f32<T> || v.head.own || v.head.largest <= u64{1} << std::numeric_limits<T>::digits);
    if (in_t) return decoders<T>(v, static_cast<T>(step), out.data(), how);
    alignas(64) i64 room[chunk_elements];
    i64* const q = quanta != nullptr ? quanta : room;
    if (const status s = read_quanta(v, q); s != status::ok) return s;
    wide_dequantisers<T>(q, out.size(), step, out.data());
    return status::ok;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
