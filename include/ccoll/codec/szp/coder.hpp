// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/coder.hpp - floor 2. Chunks of SZp.
#pragma once

#include <span>

#include <ccoll/codec/szp/kernels.hpp>
#include <ccoll/codec/szp/sums.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Chunks of some values. Each function writes one to `out`.
template <element T>
struct encoder {
    using fields = fields_of<T>;
    using word = typename fields::word;

    std::span<const T> in;
    const field_facts& field;
    /// Where the room for a chunk ends; null: there is enough for all that may be written.
    u8* room_end = nullptr;
    const law<T> z{field.eb};

    /// @return unsupported: the law has the values as they are. out_of_space: in less room than they have
    encode_result movement(u8* out) const noexcept
    {
        if (in.size() > least_constant && in.front() == in.back() && are_equal())
            if (const encode_result r = few().movement(out); r.bytes == flat_bytes) return r;
        if (!z.usable || (in.size() < least_values && (in.size() < least_constant || !are_equal())))
            return {0, status::unsupported};
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
        encode_result r =
            narrow(z.common, {},
                   {above_of(z.common, apart, out), true, false, rounding::fast, rounding::mixed, room_end},
                   apart, out);
        if (r.code != status::ok) r = wide(z.common, {}, apart, out);
        if (apart.found.values == 0) return r;
        u8* const section = behind(r, out);
        const word bits = bits_of_missing(), *const missing = field.missing.declared ? &bits : nullptr;
        const u8* const end =
            exceptions::write_addend<T>(in.data(), in.size(), apart.found, z.common.step, missing, section,
                                        section + exceptions::most_addend_bytes(in.size()));
        return end != nullptr ? with_exceptions(section, end, apart.found.values, out)
                              : encode_result{0, status::too_large};
    }

private:
    bool are_equal() const noexcept
    {
        return std::memcmp(in.data(), in.data() + 1, in.size_bytes() - sizeof(T)) == 0;
    }
    /// A flat chunk does not say how many values it has.
    encoder few() const noexcept { return {in.first(least_constant), field, room_end, z}; }
    word bits_of_missing() const noexcept { return static_cast<word>(field.missing.bits); }
    /// What is exceptional: missing values, and |x| from `limit` on, as bits.
    exceptions::rule<T> rule(word limit) const noexcept
    {
        return {limit, field.missing.declared ? bits_of_missing() : word(~word{0})};
    }
    search<T> search_from(word limit) const noexcept { return {rule(limit), field.missing.declared}; }
    /// @param out  where the chunk will go
    distances above_of(const grid<T>& on, search<T>& apart, u8* out) const noexcept
    {
        const distances known = distances::within(in.size(), field.strides);
        if (known.none()) return known;
        if (!field.missing.declared) return judges<T>(in.data(), in.size(), known, on.inverse_in_t);
        // In a frame that begins where an allocation does, it is aligned.
        const bool aligned = reinterpret_cast<std::uintptr_t>(out) % alignof(T) == 0;
        return aligned ? judge(known, on, apart, reinterpret_cast<T*>(out)) : judge_aside(known, on, apart);
    }
    [[gnu::noinline]] distances judge_aside(distances known, const grid<T>& on,
                                            search<T>& apart) const noexcept
    {
        alignas(64) T copy[chunk_elements];
        return judge(known, on, apart, copy);
    }
    /// Judges see what is exceptional, but not what is missing.
    [[gnu::noinline]] distances judge(distances known, const grid<T>& on, search<T>& apart,
                                      T* copy) const noexcept
    {
        alignas(64) T room[group_elements];
        apart.found = {};
        for (std::size_t i = 0; i < in.size(); i += group_elements) {
            const T* const from =
                exceptions::take_out<T>(in.data(), in.size(), i, apart.is, apart.found, room);
            std::memcpy(static_cast<void*>(copy + i), from,
                        std::min(group_elements, in.size() - i) * sizeof(T));
        }
        return judges<T>(copy, in.size(), known, on.inverse_in_t);
    }
    word largest(word limit) const noexcept
    {
        return magnitude_finders<T>(in.data(), in.size(), rule(limit));
    }
    double lattice_of(word to) const noexcept
    {
        return lattice_finders<T>(in.data(), in.size(), z.common.step, rule(to), z.too_large);
    }

    /// @return too_large: a value has no such quantum
    encode_result narrow(const grid<T>& on, chunk_head head, const packing& as, search<T>& apart,
                         u8* out) const noexcept
    {
        apart.found.blocks = apart.found.values = 0;
        const packed all = encoders<T>(in.data(), in.size(), on, as, out, &apart);
        if (!all.held) return {0, status::too_large};
        if (all.full) return {0, status::out_of_space};
        head.left = as.left;
        head.above = as.above;
        return finish(head, all, out);
    }
    [[gnu::noinline]] encode_result wide(const grid<T>& on, chunk_head head, search<T>& apart,
                                         u8* out) const noexcept
    {
        alignas(64) T room[group_elements];
        const quanta_of_values from{{&quanta_of_values::make}, in, on, apart, room};
        return pack_quanta(from, in.size(), true, head, out, room_end);
    }
    struct quanta_of_values : quanta_source {
        std::span<const T> in;
        const grid<T>& on;
        search<T>& apart;
        T* room;

        static void make(const quanta_source& from, std::size_t g, i64* to) noexcept
        {
            const auto& me = static_cast<const quanta_of_values&>(from);
            const std::size_t at = group_elements * g;
            if (g == 0) me.apart.found = {};
            const T* const x =
                exceptions::take_out<T>(me.in.data(), me.in.size(), at, me.apart.is, me.apart.found, me.room);
            wide_quantisers<T>(x, length_of(me.in.size(), g), me.on, to);
        }
    };
    /// Writes the exceptional values of a chunk for movement.
    encode_result finished(const encode_result& r, const exceptions::places& at, u8* out) const noexcept
    {
        if (r.code != status::ok || at.values == 0) return r;
        const std::size_t most = exceptions::most_bytes(in.size(), sizeof(T));
        const u8* const last = room_end != nullptr ? room_end : out + most_room<T>(in.size());
        if (in_units(r.bytes + unit) > static_cast<std::size_t>(last - out)) return {0, status::out_of_space};
        u8* const section = behind(r, out);
        const auto room = static_cast<std::size_t>(last - section);
        const u8* const end = exceptions::write<T>(in.data(), in.size(), at, section,
                                                   section + std::min(room, most), most_changes(in.size()));
        if (end == nullptr) return {0, room < most ? status::out_of_space : status::unsupported};
        return with_exceptions(section, end, at.values, out);
    }

    encode_result on_common_grid(search<T>& apart, u8* out) const noexcept
    {
        packing as{.above = above_of(z.common, apart, out), .limit = room_end};
        as.left = !as.above.none() || field.missing.declared ||
                  !noise_detectors<T>(in.data(), in.size(), z.common.inverse_in_t);
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
            packing as{above_of(own, apart, out), true,    true, rounding::in_double,
                       rounding::in_double,       room_end};
            if (lattice > 0) {
                as.usual = rounding::fast;
                as.unusual = rounding::mixed;
            }
            const encode_result r = narrow(own, head, as, apart, out);
            if (r.code == status::ok) return finished(r, apart.found, out);
            if (is_f32<T>) return {0, r.code == status::out_of_space ? r.code : status::unsupported};
        }
        return finished(wide(own, head, apart, out), apart.found, out);
    }
    /// A chunk that has a grid of its own, or is raw, or whose ordinary values are all 0. Exceptional is what
    /// is not finite and, if the others have no lattice, what is too large for the bound.
    /// @param lattice  of all finite values, as it is found
    /// @param apart  from z.too_large on; some that are may have been found
    [[gnu::noinline]] encode_result unusual(double lattice, search<T>& apart, u8* out) const noexcept
    {
        if (lattice > 0) {
            apart.is.limit = fields::exponent;
            return on_its_grid(apart, 0, lattice, out);
        }
        if (lattice < 0) lattice = lattice_of(z.too_large);
        word most = lattice == 0 ? largest(apart.everywhere ? z.too_large : fields::sign) : 0;
        if (lattice != 0 || most >= z.too_large) {
            apart.everywhere = true;
            most = lattice == 0 ? largest(z.too_large) : 0;
        }
        return on_its_grid(apart, most, std::max(lattice, 0.0), out);
    }
};

/// A chunk for movement in any room.
template <element T>
encode_result encode_movement(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
{
    constexpr std::size_t least_room = 512;  // encoders begin with what stands in front of all planes
    static_assert(least_room >= front_bytes(chunk_groups, true) + flat_bytes);
    if (dst.size() < least_room) {
        std::byte room[least_room];
        const encode_result r = encode_movement<T>(in, byte_span(room), field);
        if (r.code != status::ok) return r;
        if (r.bytes > dst.size()) return {0, status::out_of_space};
        std::memcpy(dst.data(), room, r.bytes);
        return r;
    }
    u8* const out = reinterpret_cast<u8*>(dst.data());
    u8* const end = dst.size() < most_room<T>(in.size()) ? out + dst.size() : nullptr;
    const encode_result r = encoder<T>{in, field, end}.movement(out);
    const bool is_short = r.code == status::ok && r.bytes < in.size_bytes(),
               is_long = !is_short && r.code != status::unsupported;
    if (!is_long || field.strides.none()) return r;
    // Only rows that were chosen by mistake make a chunk so long.
    return encoder<T>{in, field_facts(field.eb, {}, field.missing), end}.movement(out);
}

/// The step of a chunk; 0: it has none.
/// @param share  values are decoded as this power of two times themselves; of chunks that have no step of
///               their own
template <element T>
double step_of(const chunk_view& v, double eb, double share = 1) noexcept
{
    const law<T> z(eb);
    if (!z.usable || !v.head.own) return z.usable ? z.common.step * share : 0;
    const double step = v.step();
    const bool in_range = step >= static_cast<double>(std::numeric_limits<T>::min()) &&
                          step <= static_cast<double>(std::numeric_limits<T>::max());
    return in_range && static_cast<double>(static_cast<T>(step)) == step ? step : 0;
}
/// @param own  the step is one of the chunk's own
template <element T>
void values_of_quanta(const i64* q, std::size_t n, double step, [[maybe_unused]] bool own, T* out) noexcept
{
    if constexpr (is_f32<T>) {
        if (own) {
            for (std::size_t i = 0; i < n; ++i) out[i] = value_on_own_step(q[i], static_cast<T>(step));
            return;
        }
    }
    wide_dequantisers<T>(q, n, step, out);
}
/// Values of all quanta, bridges among them.
/// @param share  @see step_of
template <element T>
status decode_quanta(const chunk_view& v, std::span<T> out, double eb, stores how, double share = 1) noexcept
{
    const double step = step_of<T>(v, eb, share);
    if (!(step > 0)) return status::corrupt;
    const bool own = v.head.own;
    if (v.head.flat) {
        const T value =
            own ? value_on_own_step(v.base, static_cast<T>(step)) : grid<T>(step, true).value(v.base);
        fillers<T>(out.data(), out.size(), value, how);
        return status::ok;
    }
    const bool in_t = !v.head.wide && (!is_f32<T> || v.head.own ||
                                       v.head.largest <= u64{1} << std::numeric_limits<T>::digits);
    if (in_t) return decoders<T>(v, static_cast<T>(step), out.data(), how);
    return read_quanta(v, [=](std::size_t g, const i64* q) {
        values_of_quanta<T>(q, length_of(out.size(), g), step, own, out.data() + group_elements * g);
    });
}
/// The same for a sum in which some quanta are a part of exceptional values.
/// @param divisor  of the values; in units of `share`, as in step_of
/// @param then  gets the quanta of the places in `masks`
template <element T, class Then>
[[gnu::noinline]] status decode_counted(const chunk_view& v, std::span<T> out, double eb, double share,
                                        T divisor, const u32* masks, const Then& then) noexcept
{
    const double step = step_of<T>(v, eb, share);
    if (!(step > 0)) return status::corrupt;
    exceptions::counted_quanta<T> quanta;
    const status s = read_quanta(v, [&, step](std::size_t g, const i64* q) {
        const std::size_t at = group_elements * g, n = length_of(out.size(), g);
        values_of_quanta<T>(q, n, step, v.head.own, out.data() + at);
        if (divisor != 1) divide_by(out.data() + at, divisor, n);
        for (std::size_t k = 0; k < blocks_of(n); ++k)
            exceptions::each_bit(masks[group_blocks * g + k], [&](std::size_t i) {
                const std::size_t in_group = block_elements * k + i;
                quanta.put(out.data(), at + in_group, q[in_group]);
            });
    });
    if (s == status::ok) then(&quanta);
    return s;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
