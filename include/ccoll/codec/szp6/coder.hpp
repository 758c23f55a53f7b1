// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp6/coder.hpp - floor 2. Chunks of SZp in wire version 6.
#pragma once

#include <cmath>
#include <span>

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

    /// @return unsupported: the chunk is kept, and travels raw
    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb, const field_strides& strides = {}) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const law<T> z(eb);
        return in_room(in.size(), dst, [&](u8* out) {
            return z.usable && in.size() >= least_values ? movement(in, z, strides, out) : kept(in, out);
        });
    }
    /// @param readable  bytes behind src that can be read
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb, std::size_t readable, stores how) noexcept
    {
        return decode(src, out, eb, readable, how);
    }

    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept { return most_bytes(n, true) + slack; }
    /// @return too_large: the values are no addend
    static encode_result encode_addend(std::span<const T> in, byte_span dst, double eb, const field_strides& strides = {}) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const law<T> z(eb);
        if (!z.usable) return {0, status::too_large};
        return in_room(in.size(), dst, [&](u8* out) { return addend(in, z, strides, out); });
    }
    static encode_result add_chunks(const_byte_span a, const_byte_span b, std::size_t n, byte_span dst) noexcept
    {
        chunk_view x, y;
        if (!is_addend(a, n, x) || !is_addend(b, n, y)) return {0, status::corrupt};
        return in_room(n, dst, [&](u8* out) { return sum(x, y, out); });
    }

private:
    static u8* address(byte_span bytes) noexcept { return reinterpret_cast<u8*>(bytes.data()); }

    /// Kernels write up to `slack` bytes behind a chunk, and chunks may be longer while they are made.
    template <class Write>
    static encode_result in_room(std::size_t n, byte_span dst, const Write& write) noexcept
    {
        if (dst.size() >= most_bytes(n, true) + slack) return write(address(dst));
        alignas(64) u8 room[most_bytes(chunk_elements, true) + slack];
        const encode_result r = write(room);
        if (r.code != status::ok) return r;
        if (r.bytes > dst.size()) return {0, status::out_of_space};
        std::memcpy(dst.data(), room, r.bytes);
        return r;
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
    /// The base of group 0, as a narrow or a wide chunk has it.
    static i64 base_of(const u8* out, std::size_t n, bool wide) noexcept
    {
        const std::size_t groups = groups_of(n);
        return wide ? get<i64>(out + bases_at(groups)) : get<i32>(out + places_at(groups) + 4);
    }

    static encode_result narrow(std::span<const T> in, const grid<T>& z, chunk_head head, bool lists, rounding usual, rounding unusual,
                                u8* out, std::size_t zero = 0) noexcept
    {
        packed all;
        if (head.above.none()) all = encoders<T>.in_use()(in.data(), in.size(), z, head.left, lists, usual, unusual, zero, out);
        else all = encoders_above<T>.in_use()(in.data(), in.size(), z, head.above, lists, unusual, out);
        if (!all.held) return {0, status::unsupported};
        if (head.scale == scale::bound) head.largest = all.largest;
        return finish(head, all, base_of(out, in.size(), false), out);
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

    static encode_result movement(std::span<const T> in, const law<T>& z, const field_strides& strides, u8* out) noexcept
    {
        const std::size_t zero = zero_counters<T>.in_use()(in.data(), in.size());
        if (lattice_finders<T>.in_use()(in.data(), in.size(), zero, z.common.step) == 0) {
            chunk_head head;
            head.above = above_of(in, z.common, strides);
            head.left = zero > 0 || !head.above.none() || !noise_detectors<T>.in_use()(in.data(), in.size(), z.common.inverse_in_t);
            const encode_result r = narrow(in, z.common, head, true, rounding::fast, rounding::fast, out, zero);
            if (r.code == status::ok) return r;
        }
        return unusual(in, z, strides, out);
    }
    static distances above_of(std::span<const T> in, const grid<T>& z, const field_strides& strides) noexcept
    {
        const distances known = distances::within(in.size(), strides);
        return known.none() ? known : judges<T>.in_use()(in.data(), in.size(), known, z.inverse_in_t);
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
    [[gnu::noinline]] static encode_result unusual(std::span<const T> in, const law<T>& z, const field_strides& strides, u8* out) noexcept
    {
        CCOLL_EXACT_BODY
        T copy[chunk_elements];
        specials::places at;
        std::span<const T> ordinary = in;
        word most = magnitude_finders<T>.in_use()(in.data(), in.size());
        double lattice = most < fields::exponent ? lattice_finders<T>.in_use()(in.data(), in.size(), 0, z.common.step) : 0;
        if (lattice == 0 && most >= z.far) {
            specials::split(in.data(), in.size(), specials::rule<T>{most < fields::exponent ? z.far : fields::exponent}, at, copy);
            ordinary = std::span<const T>(copy, in.size());
            lattice = most < fields::exponent ? 0 : lattice_finders<T>.in_use()(copy, in.size(), 0, z.common.step);
            if (lattice == 0 && most >= fields::exponent)
                specials::split(in.data(), in.size(), specials::rule<T>{z.far}, at, copy);
            if (lattice == 0) lattice = lattice_finders<T>.in_use()(copy, in.size(), 0, z.common.step);
            most = magnitude_finders<T>.in_use()(copy, in.size());
            if (are_various(in, at)) return kept(in, out);
            return {0, status::unsupported};  // (not yet)
        }
        if (lattice == 0 && most < z.common.usual) {
            chunk_head head;
            head.above = above_of(ordinary, z.common, strides);
            return narrow(ordinary, z.common, head, true, rounding::fast, rounding::fast, out);
        }
        const grid<T> own = z.own(most, lattice);
        if (!(own.step > 0)) return kept(in, out);
        chunk_head head;
        head.scale = scale::own;
        head.largest = std::bit_cast<u64>(own.step);
        if constexpr (!is_f32<T>) return wide(ordinary, own, head, out);
        head.above = above_of(ordinary, own, strides);
        return narrow(ordinary, own, head, true, rounding::in_double, rounding::in_double, out);
    }

    /// Do many exceptional values differ from the exceptional value before them?
    static bool are_various(std::span<const T> in, const specials::places& at) noexcept
    {
        std::size_t others = 0;
        const T* before = nullptr;
        for (std::size_t k = 0; k < at.blocks; ++k)
            for (u32 left = at.masks[k]; left != 0; left &= left - 1) {
                const T* const x = in.data() + block_elements * k + static_cast<std::size_t>(std::countr_zero(left));
                others += before != nullptr && fields::of(*x) != fields::of(*before);
                before = x;
            }
        return others > in.size() / 8;
    }

    static encode_result addend(std::span<const T> in, const law<T>& z, const field_strides& strides, u8* out) noexcept
    {
        chunk_head head;
        head.above = above_of(in, z.common, strides);
        const encode_result r = narrow(in, z.common, head, false, rounding::fast, rounding::mixed, out);
        if (r.code == status::ok) return r;
        if (magnitude_finders<T>.in_use()(in.data(), in.size()) >= z.far_addend) return {0, status::too_large};  // (not yet)
        head = {};
        return wide(in, z.common, head, out);
    }

    static bool is_addend(const_byte_span src, std::size_t n, chunk_view& v) noexcept
    {
        return read_chunk(src, n, v) == status::ok && v.head.scale == scale::bound;
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
        if (x.head.flat) return raised(y, x.base, head, out);
        if (y.head.flat) return raised(x, y.base, head, out);
        alignas(64) i64 p[chunk_elements], q[chunk_elements];
        if (read_quanta(x, p) != status::ok || read_quanta(y, q) != status::ok) return {0, status::corrupt};
        for (std::size_t i = 0; i < x.n; ++i) p[i] = static_cast<i64>(static_cast<u64>(p[i]) + static_cast<u64>(q[i]));
        return pack_quanta(p, x.n, head, out);
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
        if (!v.head.left || v.size > most_bytes(v.n, v.head.wide) || (!v.head.wide && head.largest >> 31 != 0)) {
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

    static status decode(const_byte_span src, std::span<T> out, double eb, std::size_t readable, stores how) noexcept
    {
        const exact_environment environment;
        const law<T> z(eb);
        if (readable < slack) {
            alignas(64) u8 room[most_bytes(chunk_elements, true) + slack + 65536];  // (bounded by exceptions, later)
            if (src.size() > sizeof room - slack) return status::corrupt;
            std::memcpy(room, src.data(), src.size());
            std::memset(room + src.size(), 0, slack);
            return decode(const_byte_span(reinterpret_cast<const std::byte*>(room), src.size()), out, z, how);
        }
        return decode(src, out, z, how);
    }
    static status decode(const_byte_span src, std::span<T> out, const law<T>& z, stores how) noexcept
    {
        chunk_view v;
        if (const status s = read_chunk(src, out.size(), v); s != status::ok) return s;
        if (!z.usable && v.head.scale != scale::bits) return status::corrupt;
        double step = z.common.step;
        if (v.head.scale == scale::own) {
            step = v.step();
            if (!(step >= static_cast<double>(std::numeric_limits<T>::min()) && step <= static_cast<double>(std::numeric_limits<T>::max())))
                return status::corrupt;
            if (static_cast<double>(static_cast<T>(step)) != step) return status::corrupt;
        }
        if (v.head.flat) {
            const T value = v.head.scale == scale::bits ? value_in_order<T>(v.base) : grid<T>(step, true).value(v.base);
            fillers<T>.in_use()(out.data(), out.size(), value, how);
            return status::ok;
        }
        const bool in_t = !v.head.wide && v.head.scale != scale::bits &&
                          (!is_f32<T> || v.head.scale == scale::own || v.head.largest <= u64{1} << std::numeric_limits<T>::digits);
        if (in_t)
            return (v.head.above.none() ? decoders<T> : decoders_above<T>).in_use()(v, static_cast<T>(step), out.data(), how);
        alignas(64) i64 q[chunk_elements];
        if (const status s = read_quanta(v, q); s != status::ok) return s;
        if (v.head.scale == scale::bits)
            for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_in_order<T>(q[i]);
        else wide_dequantisers<T>.in_use()(q, out.size(), step, out.data());
        return status::ok;
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::szp6
