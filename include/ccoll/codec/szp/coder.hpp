// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/coder.hpp - floor 2. Chunks of SZp.
#pragma once

#include <cmath>
#include <span>

#include <ccoll/codec/exceptions/addends.hpp>
#include <ccoll/codec/szp/combine.hpp>
#include <ccoll/codec/szp/kernels.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/policy/reduce_op.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Error-bounded quantisation, differences to neighbours, one width per 32 values.
///
/// What a value becomes is law (grid.hpp): every decoded value is within eb of the original. How quanta are packed is the encoder's own
/// affair, and nothing that is decoded depends on it.
///
/// Sources: Huang, Di, et al., "ghZCCL: Advancing GPU-aware Collective Communications with Homomorphic Compression", ICS 2025, for
/// the sums, on fixed-length bit planes as in Huang, Di, et al., "cuSZp2", SC 2024. Differs in:
/// - Rounds instead of truncating, on a step slightly below 2 eb, so that the bound is a guarantee in T.
/// - The predecessor of a block's first value is the value before it, not 0: data with an offset cost no more than others.
/// - Two's complement instead of signs and magnitudes: the same widths, and planes can be added as they are.
/// - Widths together in front of a chunk, 4 bits each; 24 bytes for a constant chunk.
/// - Rows and planes of a field take part in the prediction, where they pay.
template <element T>
struct chunk_coder {
    using fields = fields_of<T>;
    using word = typename fields::word;

    /// What an encoder is told beside the values and the bound.
    struct facts {
        field_strides strides;  ///< of the field, if the caller knows them
        missing_value missing = {};
    };

    /// A sum may have missing values that nobody has declared, if its bytes are foreign. They are NaN.
    static constexpr word bits_of_missing(const missing_value& m) noexcept
    {
        return m.declared ? static_cast<word>(m.bits) : fields::exponent | fields::exponent_one >> 1;
    }

    /// Values of a chunk for movement come back as the law has it: within eb, or bit for bit.
    /// @return unsupported, or out_of_space: the chunk is kept and would not be shorter. It travels raw
    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb, const facts& known = {}) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const law<T> z(eb);
        return in_room(in.size(), dst, [&](u8* out) {
            if (!z.usable || in.size() < least_values) return kept(in, out);
            const encode_result r = movement(in, z, known, out);
            // Only rows that were chosen by mistake make a chunk so long.
            return r.code == status::ok && r.bytes >= in.size_bytes() ? movement(in, z, {{}, known.missing}, out) : r;
        });
    }
    /// @param readable  bytes behind src that can be read
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb, std::size_t readable, stores how) noexcept
    {
        return with_slack(src, readable, [&](const_byte_span chunk, std::size_t behind) {
            chunk_view v;
            if (const status s = read_chunk(chunk, out.size(), v); s != status::ok) return s;
            v.behind = behind;
            const std::size_t at = v.head.exceptions;
            if (const status s = decode_quanta(v, out, eb, at == 0 ? how : stores::cached, nullptr); s != status::ok || at == 0) return s;
            return exceptions::read<T>(v.bytes + at, v.size - at, out.data(), out.size()) ? status::ok : status::corrupt;
        });
    }

    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept { return most_addend_bytes(n); }
    /// The step of the grid on which addends and their sums lie; 0: there are no addends for this bound.
    static double addend_step(double eb) noexcept
    {
        const law<T> z(eb);
        return z.usable ? z.common.step : 0;
    }
    /// So many quanta below this limit have a sum whose `largest` is below 2^62.
    static bool can_add(double largest, double eb, std::size_t addends) noexcept
    {
        CCOLL_EXACT_BODY
        const law<T> z(eb);
        return z.usable && addends <= std::size_t{1} << (62 - addend_exponent) && largest < std::ldexp(z.common.step, addend_exponent);
    }
    /// @return too_large: the values are no addend, because they have too many different exceptional values or one is too large
    static encode_result encode_addend(std::span<const T> in, byte_span dst, double eb, const facts& known = {}) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const law<T> z(eb);
        if (!z.usable) return {0, status::too_large};
        return in_room(in.size(), dst, [&](u8* out) { return addend(in, z, known, out); });
    }
    /// @param divisor  values are divided by it; exceptional ones before they are rounded, so the mean of 1e20 on 20 ranks is 1e20
    /// @param missing  the bits of a missing value
    static status decode_addend(const_byte_span src, std::span<T> out, double eb, std::size_t readable, stores how, i32 divisor = 1,
                                word missing = bits_of_missing({})) noexcept
    {
        return with_slack(src, readable, [&](const_byte_span chunk, std::size_t behind) {
            chunk_view v;
            if (!is_addend(chunk, out.size(), v)) return status::corrupt;
            v.behind = behind;
            if (v.head.exceptions == 0) {
                const status s = decode_quanta(v, out, eb, divisor == 1 ? how : stores::cached, nullptr);
                if (divisor != 1) divide_by_ranks(out.data(), divisor, out.size());
                return s;
            }
            exceptions::addend apart;
            if (!read_exceptions(v, apart)) return status::corrupt;
            alignas(64) i64 q[chunk_elements];
            if (const status s = decode_quanta(v, out, eb, stores::cached, apart.counts() ? q : nullptr); s != status::ok) return s;
            if (divisor != 1) divide_by_ranks(out.data(), divisor, out.size());
            exceptions::apply(apart, law<T>(eb).common.step, divisor, missing, q, out.data(), out.size());
            return status::ok;
        });
    }
    /// @param readable_a, readable_b  bytes behind a and b that can be read
    /// @return too_large: the sum has too many different exceptional values, or one is too large
    static encode_result add_chunks(const_byte_span a, std::size_t readable_a, const_byte_span b, std::size_t readable_b, std::size_t n,
                                    byte_span dst) noexcept
    {
        return join(a, readable_a, b, readable_b, n, dst,
                    [](const chunk_view& x, const chunk_view& y, u8* out) { return sums::add(x, y, out); });
    }

    static encode_result combine_chunks(i32 factor_a, const_byte_span a, i32 factor_b, const_byte_span b, std::size_t n,
                                        byte_span dst) noexcept
    {
        return join(a, 0, b, 0, n, dst,
                    [=](const chunk_view& x, const chunk_view& y, u8* out) { return sums::combine(factor_a, x, factor_b, y, out); });
    }

private:
    static u8* address(byte_span bytes) noexcept { return reinterpret_cast<u8*>(bytes.data()); }

    /// Kernels write up to `slack` bytes behind a chunk, and chunks may be longer while they are made.
    template <class Write>
    static encode_result in_room(std::size_t n, byte_span dst, const Write& write) noexcept
    {
        if (dst.size() >= most_room<T>(n)) return write(address(dst));
        alignas(64) u8 room[most_room<T>(chunk_elements)];
        const encode_result r = write(room);
        if (r.code != status::ok) return r;
        if (r.bytes > dst.size()) return {0, status::out_of_space};
        std::memcpy(dst.data(), room, r.bytes);
        return r;
    }
    /// Kernels read up to `slack` bytes behind a chunk.
    template <class Read>
    static status with_slack(const_byte_span src, std::size_t readable, const Read& read) noexcept
    {
        const exact_environment environment;
        if (readable >= slack) return read(src, readable);
        alignas(64) std::byte room[most_room<T>(chunk_elements)];
        if (src.size() > sizeof room - slack) return status::corrupt;
        if (!src.empty()) std::memcpy(room, src.data(), src.size());
        std::memset(room + src.size(), 0, slack);
        return read(const_byte_span(room, src.size()), slack);
    }

    /// @param sum  (a, b, where to write) -> encode_result, of two addends
    template <class Sum>
    static encode_result join(const_byte_span a, std::size_t readable_a, const_byte_span b, std::size_t readable_b, std::size_t n,
                              byte_span dst, const Sum& sum) noexcept
    {
        encode_result r{0, status::corrupt};
        with_slack(a, readable_a, [&](const_byte_span first, std::size_t behind_first) {
            return with_slack(b, readable_b, [&](const_byte_span second, std::size_t behind_second) {
                chunk_view x, y;
                if (!is_addend(first, n, x) || !is_addend(second, n, y)) return r.code;
                x.behind = behind_first;
                y.behind = behind_second;
                r = in_room(n, dst, [&](u8* out) { return sum(x, y, out); });
                return r.code;
            });
        });
        return r;
    }

    static encode_result narrow(std::span<const T> in, const grid<T>& z, chunk_head head, bool lists, rounding usual, rounding unusual,
                                u8* out, std::size_t zero = 0) noexcept
    {
        packed all;
        if (head.above.none()) all = encoders<T>.in_use()(in.data(), in.size(), z, head.left, lists, usual, unusual, zero, out);
        else all = encoders_above<T>.in_use()(in.data(), in.size(), z, head.above, lists, unusual, out);
        if (!all.held) return {0, status::unsupported};
        if (head.scale == scale::bound) head.largest = all.largest;
        return finish(head, all, get<i32>(out + places_at(groups_of(in.size())) + 4), out);
    }
    static encode_result wide(std::span<const T> in, const grid<T>& z, chunk_head head, u8* out) noexcept
    {
        alignas(64) i64 q[chunk_elements];
        wide_quantisers<T>.in_use()(in.data(), in.size(), z, q);
        return pack_quanta(q, in.size(), head, out);
    }
    static distances above_of(std::span<const T> in, const grid<T>& z, const field_strides& strides) noexcept
    {
        const distances known = distances::within(in.size(), strides);
        return known.none() ? known : judges<T>.in_use()(in.data(), in.size(), known, z.inverse_in_t);
    }
    static double lattice_of(std::span<const T> in, std::size_t zero, const law<T>& z) noexcept
    {
        return lattice_finders<T>.in_use()(in.data(), in.size(), zero, z.common.step);
    }
    static bool has_missing(std::span<const T> in, const facts& known) noexcept
    {
        return known.missing.declared && exceptions::has_bits<T>(in.data(), in.size(), static_cast<word>(known.missing.bits));
    }
    /// Which values are exceptional, and a copy of the others with 0 in their places.
    /// @param limit    bits of the least |x| that is exceptional    @param missing  are missing values among them?
    static void split(std::span<const T> in, word limit, bool missing, const facts& known, exceptions::places& at, T* copy) noexcept
    {
        exceptions::rule<T> rule{limit};
        if (missing) rule.missing = static_cast<word>(known.missing.bits);
        exceptions::split<T>(in.data(), in.size(), rule, at, copy);
    }
    static word largest_in(std::span<const T> in) noexcept { return magnitude_finders<T>.in_use()(in.data(), in.size()); }

    static encode_result movement(std::span<const T> in, const law<T>& z, const facts& known, u8* out) noexcept
    {
        const bool missing = has_missing(in, known);
        const std::size_t zero = zero_counters<T>.in_use()(in.data(), in.size());
        if (!missing && lattice_of(in, zero, z) == 0) {
            const encode_result r = on_common_grid(in, z, known, zero, out);
            if (r.code == status::ok) return r;
        }
        return unusual(in, z, known, missing, out);
    }
    static encode_result on_common_grid(std::span<const T> in, const law<T>& z, const facts& known, std::size_t zero, u8* out) noexcept
    {
        chunk_head head;
        head.above = above_of(in, z.common, known.strides);
        head.left = zero > 0 || !head.above.none() || !noise_detectors<T>.in_use()(in.data(), in.size(), z.common.inverse_in_t);
        return narrow(in, z.common, head, true, rounding::fast, rounding::fast, out, zero);
    }

    /// Every value as it is. @return unsupported: not shorter than the values
    [[gnu::noinline]] static encode_result kept(std::span<const T> in, u8* out) noexcept
    {
        alignas(64) i64 q[chunk_elements];
        for (std::size_t i = 0; i < in.size(); ++i) q[i] = bits_in_order(in[i]);
        chunk_head head;
        head.scale = scale::bits;
        head.wide = !is_f32<T>;
        encode_result r = pack_quanta(q, in.size(), head, out);
        r.raw_blocks = 1;
        return r.bytes < in.size_bytes() ? r : encode_result{0, status::unsupported};
    }

    /// A chunk that has exceptional values, or a grid of its own, or is kept.
    [[gnu::noinline]] static encode_result unusual(std::span<const T> in, const law<T>& z, const facts& known, bool missing,
                                                   u8* out) noexcept
    {
        T copy[chunk_elements];
        exceptions::places at;
        at.values = 0;
        std::span<const T> ordinary = in;
        word most = largest_in(in);
        double lattice = 0;
        // Exceptional is what is not finite, and if the others have no lattice, what is too large for the bound.
        const word limits[] = {fields::exponent, z.too_large};
        for (const word limit : limits) {
            if (most >= limit || missing) {
                split(in, limit, missing, known, at, copy);
                ordinary = std::span<const T>(copy, in.size());
                most = largest_in(ordinary);
            }
            lattice = lattice_of(ordinary, 0, z);
            if (lattice > 0 || most < z.too_large) break;
        }
        if (at.values > 0) exceptions::bridge<T>(copy, in.size(), at);
        const encode_result r = on_its_grid(ordinary, z, known, most, lattice, out);
        if (r.code != status::ok) return kept(in, out);
        if (at.values == 0) return r;
        u8* const section = behind(r, out);
        const u8* const end =
            exceptions::write<T>(in.data(), in.size(), at, section, out + most_room<T>(in.size()), most_changes(in.size()));
        if (end == nullptr) return kept(in, out);
        return with_exceptions(section, end, at.values, out);
    }
    /// @param most  bits of the largest magnitude
    static encode_result on_its_grid(std::span<const T> in, const law<T>& z, const facts& known, word most, double lattice,
                                     u8* out) noexcept
    {
        if (lattice == 0 && most < z.common.usual) return on_common_grid(in, z, known, 0, out);
        const grid<T> own = z.own(most, lattice);
        if (!(own.step > 0)) return {0, status::unsupported};
        chunk_head head;
        head.scale = scale::own;
        head.largest = std::bit_cast<u64>(own.step);
        if constexpr (!is_f32<T>) return wide(in, own, head, out);
        head.above = above_of(in, own, known.strides);
        return narrow(in, own, head, true, rounding::in_double, rounding::in_double, out);
    }

    static encode_result addend(std::span<const T> in, const law<T>& z, const facts& known, u8* out) noexcept
    {
        const bool missing = has_missing(in, known);
        if (!missing) {
            chunk_head head;
            head.above = above_of(in, z.common, known.strides);
            const encode_result r = narrow(in, z.common, head, false, rounding::fast, rounding::mixed, out);
            if (r.code == status::ok) return r;
        }
        return unusual_addend(in, z, known, missing, out);
    }
    /// With exceptional values, or wide quanta.
    [[gnu::noinline]] static encode_result unusual_addend(std::span<const T> in, const law<T>& z, const facts& known, bool missing,
                                                          u8* out) noexcept
    {
        if (!missing && largest_in(in) < z.too_large_addend) return wide(in, z.common, {}, out);
        T copy[chunk_elements];
        exceptions::places at;
        split(in, z.too_large_addend, missing, known, at, copy);
        exceptions::bridge<T>(copy, in.size(), at);
        const std::span<const T> ordinary(copy, in.size());
        chunk_head head;
        head.above = above_of(ordinary, z.common, known.strides);
        encode_result r = narrow(ordinary, z.common, head, false, rounding::fast, rounding::mixed, out);
        if (r.code != status::ok) r = wide(ordinary, z.common, {}, out);
        u8* const section = behind(r, out);
        const auto bits = static_cast<word>(known.missing.bits);
        const u8* const end = exceptions::write_addend<T>(in.data(), in.size(), at, z.common.step, missing ? &bits : nullptr, section,
                                                          section + exceptions::most_addend_bytes(in.size()));
        if (end == nullptr) return {0, status::too_large};
        return with_exceptions(section, end, at.values, out);
    }

    static bool is_addend(const_byte_span src, std::size_t n, chunk_view& v) noexcept
    {
        return read_chunk(src, n, v) == status::ok && v.head.scale == scale::bound && !v.has_lists();
    }
    /// Values of all quanta, bridges among them.
    /// @param quanta  null, or room for them, which is filled
    static status decode_quanta(const chunk_view& v, std::span<T> out, double eb, stores how, i64* quanta) noexcept
    {
        const law<T> z(eb);
        if (!z.usable && v.head.scale != scale::bits) return status::corrupt;
        double step = z.common.step;
        if (v.head.scale == scale::own) {
            step = v.step();
            if (!(step >= static_cast<double>(std::numeric_limits<T>::min()) && step <= static_cast<double>(std::numeric_limits<T>::max())))
                return status::corrupt;
            if (static_cast<double>(static_cast<T>(step)) != step) return status::corrupt;
        }
        if (v.head.flat) {
            if (quanta != nullptr) std::fill_n(quanta, v.n, v.base);
            const T value = v.head.scale == scale::bits ? value_in_order<T>(v.base) : grid<T>(step, true).value(v.base);
            fillers<T>.in_use()(out.data(), out.size(), value, how);
            return status::ok;
        }
        const bool in_t = !v.head.wide && v.head.scale != scale::bits && quanta == nullptr &&
                          (!is_f32<T> || v.head.scale == scale::own || v.head.largest <= u64{1} << std::numeric_limits<T>::digits);
        if (in_t) return (v.head.above.none() ? decoders<T> : decoders_above<T>).in_use()(v, static_cast<T>(step), out.data(), how);
        alignas(64) i64 room[chunk_elements];
        i64* const q = quanta != nullptr ? quanta : room;
        if (const status s = read_quanta(v, q); s != status::ok) return s;
        if (v.head.scale == scale::bits)
            for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_in_order<T>(q[i]);
        else wide_dequantisers<T>.in_use()(q, out.size(), step, out.data());
        return status::ok;
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
