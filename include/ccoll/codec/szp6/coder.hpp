// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp6/coder.hpp - floor 2. Chunks of SZp in wire version 6.
#pragma once

#include <cmath>
#include <span>

#include <ccoll/codec/exceptions/addends.hpp>
#include <ccoll/codec/specials.hpp>
#include <ccoll/codec/szp6/kernels.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp6 {

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
        field_strides strides;          ///< of the field, if the caller knows them
        const word* missing = nullptr;  ///< the bits of values that are missing; null: none are
    };

    /// Values of a chunk for movement come back as the law has it: within eb, or bit for bit.
    /// @return unsupported, or out_of_space: the chunk is kept and would not be shorter. It travels raw
    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb, const facts& known = {}) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const law<T> z(eb);
        return in_room(in.size(), dst,
                       [&](u8* out) { return z.usable && in.size() >= least_values ? movement(in, z, known, out) : kept(in, out); });
    }
    /// @param readable  bytes behind src that can be read
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb, std::size_t readable, stores how) noexcept
    {
        return with_slack(src, readable, [&](const_byte_span chunk) {
            chunk_view v;
            if (const status s = read_chunk(chunk, out.size(), v); s != status::ok) return s;
            const std::size_t at = v.head.exceptions;
            if (const status s = decode_quanta(v, out, eb, at == 0 ? how : stores::cached, nullptr); s != status::ok || at == 0) return s;
            return exceptions::read(v.bytes + at, v.size - at, out.data(), out.size()) ? status::ok : status::corrupt;
        });
    }

    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept
    {
        return most_bytes(n, true) + exceptions::most_addend_bytes(n) + slack;
    }
    /// @return too_large: the values are no addend, because they have too many different exceptional values or one is too large
    static encode_result encode_addend(std::span<const T> in, byte_span dst, double eb, const facts& known = {}) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const law<T> z(eb);
        if (!z.usable) return {0, status::too_large};
        return in_room(in.size(), dst, [&](u8* out) { return addend(in, z, known, out); });
    }
    /// @param divisor  exceptional values are divided by it before they are rounded: 20 ranks' mean of 1e20 is 1e20
    /// @param missing  the bits of a missing value
    static status decode_addend(const_byte_span src, std::span<T> out, double eb, std::size_t readable, stores how, i32 divisor = 1,
                                word missing = fields::exponent | fields::exponent_one >> 1) noexcept
    {
        return with_slack(src, readable, [&](const_byte_span chunk) {
            chunk_view v;
            if (!is_addend(chunk, out.size(), v)) return status::corrupt;
            if (v.head.exceptions == 0) return decode_quanta(v, out, eb, how, nullptr);
            exceptions::addend apart;
            if (!read_exceptions(v, apart)) return status::corrupt;
            alignas(64) i64 q[chunk_elements];
            if (const status s = decode_quanta(v, out, eb, stores::cached, apart.counts() ? q : nullptr); s != status::ok) return s;
            exceptions::apply(apart, law<T>(eb).common.step, divisor, missing, q, out.data(), out.size());
            return status::ok;
        });
    }
    /// @param readable_a, readable_b  bytes behind a and b that can be read
    /// @return too_large: the sum has too many different exceptional values, or one is too large
    static encode_result add_chunks(const_byte_span a, std::size_t readable_a, const_byte_span b, std::size_t readable_b, std::size_t n,
                                    byte_span dst) noexcept
    {
        encode_result r{0, status::corrupt};
        const status s = with_slack(a, readable_a, [&](const_byte_span first) {
            return with_slack(b, readable_b, [&](const_byte_span second) {
                chunk_view x, y;
                if (!is_addend(first, n, x) || !is_addend(second, n, y)) return status::corrupt;
                r = in_room(n, dst, [&](u8* out) { return sum(x, y, out); });
                return status::ok;
            });
        });
        return s == status::ok ? r : encode_result{0, s};
    }

private:
    static constexpr std::size_t most_room(std::size_t n) noexcept
    {
        return std::max(most_bytes(n, true) + exceptions::most_bytes(n, sizeof(T)) + slack, max_addend_bytes(n));
    }
    static u8* address(byte_span bytes) noexcept { return reinterpret_cast<u8*>(bytes.data()); }

    /// Kernels write up to `slack` bytes behind a chunk, and chunks may be longer while they are made.
    template <class Write>
    static encode_result in_room(std::size_t n, byte_span dst, const Write& write) noexcept
    {
        if (dst.size() >= most_room(n)) return write(address(dst));
        alignas(64) u8 room[most_room(chunk_elements)];
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
        if (readable >= slack) return read(src);
        alignas(64) std::byte room[most_room(chunk_elements)];
        if (src.size() > sizeof room - slack) return status::corrupt;
        std::memcpy(room, src.data(), src.size());
        std::memset(room + src.size(), 0, slack);
        return read(const_byte_span(room, src.size()));
    }

    /// Writes the head. @param base  of a flat chunk
    static encode_result finish(chunk_head head, const packed& all, i64 base, u8* out) noexcept
    {
        head.flat = all.flat;
        head.write(out);
        if (!all.flat) return {static_cast<std::size_t>(all.end - out)};
        put(out + head_bytes, base);
        return {flat_bytes};
    }
    /// Where the exceptional values of a chunk go.
    static u8* behind(const encode_result& r, u8* out) noexcept
    {
        std::memset(out + r.bytes, 0, unit);
        return out + in_units(r.bytes);
    }
    static encode_result with_exceptions(u8* at, const u8* end, std::size_t values, u8* out) noexcept
    {
        put(out + 6, static_cast<u16>(static_cast<std::size_t>(at - out) / unit));
        encode_result r{static_cast<std::size_t>(end - out)};
        r.special_values = values;
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
    static encode_result pack_quanta(i64* q, std::size_t n, chunk_head head, u8* out) noexcept
    {
        head.above = {};
        head.left = true;
        if (head.scale != scale::bits) head.wide = true;
        const packed all = packers.in_use()(q, n, head.wide, out);
        if (head.scale == scale::bound) head.largest = all.largest;
        return finish(head, all, q[0], out);
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
    static word largest_in(std::span<const T> in) noexcept { return magnitude_finders<T>.in_use()(in.data(), in.size()); }

    static encode_result movement(std::span<const T> in, const law<T>& z, const facts& known, u8* out) noexcept
    {
        const bool missing = known.missing != nullptr && bit_finders<T>.in_use()(in.data(), in.size(), *known.missing);
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
        const encode_result r = pack_quanta(q, in.size(), head, out);
        return r.bytes < in.size_bytes() ? r : encode_result{0, status::unsupported};
    }

    /// A chunk that has exceptional values, or a grid of its own, or is kept.
    [[gnu::noinline]] static encode_result unusual(std::span<const T> in, const law<T>& z, const facts& known, bool missing,
                                                   u8* out) noexcept
    {
        T copy[chunk_elements];
        specials::places at;
        at.values = 0;
        std::span<const T> ordinary = in;
        word most = largest_in(in);
        double lattice = 0;
        // Exceptional is what is not finite, and if the others have no lattice, what is too large for the bound.
        for (const word limit : {fields::exponent, z.far}) {
            if (most >= limit || missing) {
                specials::rule<T> rule{limit};
                if (missing) rule.markers[0] = *known.missing;
                specials::split(in.data(), in.size(), rule, at, copy);
                ordinary = std::span<const T>(copy, in.size());
                most = largest_in(ordinary);
            }
            lattice = lattice_of(ordinary, 0, z);
            if (lattice > 0 || most < z.far) break;
        }
        if (at.values > 0) specials::bridge(copy, in.size(), at);
        const encode_result r = on_its_grid(ordinary, z, known, most, lattice, out);
        if (r.code != status::ok) return kept(in, out);
        if (at.values == 0) return r;
        u8* const section = behind(r, out);
        const u8* const end = exceptions::write(in.data(), in.size(), at, section, out + most_room(in.size()), in.size() / 8);
        if (end == nullptr) return kept(in, out);
        const encode_result all = with_exceptions(section, end, at.values, out);
        return all.bytes < in.size_bytes() ? all : encode_result{0, status::unsupported};
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
        const bool missing = known.missing != nullptr && bit_finders<T>.in_use()(in.data(), in.size(), *known.missing);
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
        if (!missing && largest_in(in) < z.far_addend) return wide(in, z.common, {}, out);
        T copy[chunk_elements];
        specials::places at;
        specials::rule<T> rule{z.far_addend};
        if (missing) rule.markers[0] = *known.missing;
        specials::split(in.data(), in.size(), rule, at, copy);
        specials::bridge(copy, in.size(), at);
        const std::span<const T> ordinary(copy, in.size());
        chunk_head head;
        head.above = above_of(ordinary, z.common, known.strides);
        encode_result r = narrow(ordinary, z.common, head, false, rounding::fast, rounding::mixed, out);
        if (r.code != status::ok) r = wide(ordinary, z.common, {}, out);
        u8* const section = behind(r, out);
        const u8* const end = exceptions::write_addend(in.data(), in.size(), at, z.common.step, missing ? known.missing : nullptr, section,
                                                       section + exceptions::most_addend_bytes(in.size()));
        if (end == nullptr) return {0, status::too_large};
        return with_exceptions(section, end, at.values, out);
    }

    static bool is_addend(const_byte_span src, std::size_t n, chunk_view& v) noexcept
    {
        return read_chunk(src, n, v) == status::ok && v.head.scale == scale::bound;
    }
    static bool read_exceptions(const chunk_view& v, exceptions::addend& to) noexcept
    {
        const std::size_t at = v.head.exceptions;
        return exceptions::read_addend(v.bytes + at, at == 0 ? 0 : v.size - at, v.n, to);
    }
    static status read_quanta(const chunk_view& v, i64* to) noexcept
    {
        if (v.head.flat) {
            std::fill_n(to, v.n, v.base);
            return status::ok;
        }
        return v.head.wide ? wide_readers.in_use()(v, to) : narrow_readers.in_use()(v, to);
    }

    static encode_result sum(const chunk_view& x, const chunk_view& y, u8* out) noexcept
    {
        const u64 largest = x.head.largest + y.head.largest;
        if (largest < x.head.largest || largest >> 62 != 0) return {0, status::too_large};
        if (x.head.exceptions == 0 && y.head.exceptions == 0) return sum_of_quanta(x, y, largest, out);
        return sum_of_exceptions(x, y, largest, out);
    }
    /// @param largest  not below the magnitude of any sum
    static encode_result sum_of_quanta(const chunk_view& x, const chunk_view& y, u64 largest, u8* out) noexcept
    {
        chunk_head head;
        head.largest = largest;
        const bool alike = !x.head.flat && !y.head.flat && x.head.left && y.head.left && x.head.above == y.head.above;
        const bool narrow = !x.head.wide && !y.head.wide && largest >> 31 == 0;
        if (alike && (narrow || (are_whole(x) && are_whole(y)))) {
            head.above = x.head.above;
            head.wide = !narrow;
            const packed all = adders.in_use()(x, y, head.wide, out);
            if (all.end == nullptr) return {0, status::corrupt};
            return finish(head, all, 0, out);
        }
        if (x.head.flat && x.head.exceptions == 0) return raised(y, x.base, head, out);
        if (y.head.flat && y.head.exceptions == 0) return raised(x, y.base, head, out);
        alignas(64) i64 p[chunk_elements], q[chunk_elements];
        if (read_quanta(x, p) != status::ok || read_quanta(y, q) != status::ok) return {0, status::corrupt};
        return pack_sum(p, q, x.n, out);
    }
    static encode_result pack_sum(i64* p, const i64* q, std::size_t n, u8* out) noexcept
    {
        for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<i64>(static_cast<u64>(p[i]) + static_cast<u64>(q[i]));
        return pack_quanta(p, n, {}, out);
    }
    /// Quanta matter only where a place is exceptional in one operand and not in the other.
    [[gnu::noinline]] static encode_result sum_of_exceptions(const chunk_view& x, const chunk_view& y, u64 largest, u8* out) noexcept
    {
        const std::size_t n = x.n, at_x = x.head.exceptions, at_y = y.head.exceptions;
        const u8 *const from_x = x.bytes + at_x, *const from_y = y.bytes + at_y;
        const auto append = [&](const encode_result& r, auto merge) -> encode_result {
            if (r.code != status::ok) return r;
            u8* const section = behind(r, out);
            const exceptions::merged m = merge(section, section + exceptions::most_addend_bytes(n));
            if (m.code != status::ok) return {0, m.code};
            return with_exceptions(section, m.end, 0, out);
        };
        if (at_x != 0 && at_y != 0 && exceptions::are_alike(from_x, x.size - at_x, from_y, y.size - at_y, n))
            return append(sum_of_quanta(x, y, largest, out),
                          [&](u8* to, const u8* end) { return exceptions::merge_alike(from_x, x.size - at_x, from_y, n, to, end); });
        exceptions::addend a, b;
        if (!read_exceptions(x, a) || !read_exceptions(y, b)) return {0, status::corrupt};
        if (exceptions::have_same_bridges(a, b, n))
            return append(sum_of_quanta(x, y, largest, out),
                          [&](u8* to, const u8* end) { return exceptions::merge(a, b, n, nullptr, nullptr, to, end); });
        alignas(64) i64 p[chunk_elements], q[chunk_elements];
        if (read_quanta(x, p) != status::ok || read_quanta(y, q) != status::ok) return {0, status::corrupt};
        // The sections first, because they set bridges to 0.
        alignas(64) u8 room[exceptions::most_addend_bytes(chunk_elements)];
        const exceptions::merged m = exceptions::merge(a, b, n, p, q, room, room + sizeof room);
        if (m.code != status::ok) return {0, m.code};
        return append(pack_sum(p, q, n, out), [&](u8* to, const u8*) {
            const auto bytes = static_cast<std::size_t>(m.end - room);
            std::memcpy(to, room, bytes);
            return exceptions::merged{to + bytes};
        });
    }

    /// Are differences what they are, and not modulo 2^32?
    static bool are_whole(const chunk_view& v) noexcept
    {
        return v.head.wide || (v.head.above.none() && v.head.largest < u64{1} << narrow_exponent);
    }

    /// The sum of a chunk and a flat one.
    /// @param head  largest is set
    static encode_result raised(const chunk_view& v, i64 by, chunk_head head, u8* out) noexcept
    {
        const auto plus = [](i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) + static_cast<u64>(b)); };
        if (v.head.flat) {
            packed all;
            all.flat = true;
            return finish(head, all, plus(v.base, by), out);
        }
        if (!v.head.left || v.head.exceptions != 0 || v.size > most_bytes(v.n, v.head.wide) || (!v.head.wide && head.largest >> 31 != 0)) {
            alignas(64) i64 q[chunk_elements];
            if (read_quanta(v, q) != status::ok) return {0, status::corrupt};
            for (std::size_t i = 0; i < v.n; ++i) q[i] = plus(q[i], by);
            return pack_quanta(q, v.n, head, out);
        }
        for (std::size_t g = 0; g < v.groups; ++g)
            if (group_view one; !v.open(g, one)) return {0, status::corrupt};
        std::memcpy(out, v.bytes, v.size);
        head.wide = v.head.wide;
        head.above = v.head.above;
        head.write(out);
        // With distances, later bases are differences, which stay.
        for (std::size_t g = 0; g < (v.head.above.none() ? v.groups : 1); ++g) {
            u8* const at = out + (v.head.wide ? bases_at(v.groups) + 8 * g : places_at(v.groups) + 8 * g + 4);
            if (v.head.wide) put(at, plus(get<i64>(at), by));
            else put(at, static_cast<i32>(plus(get<i32>(at), by)));
        }
        return {v.size};
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

}  // namespace ccoll::inline CCOLL_ABI::detail::szp6
