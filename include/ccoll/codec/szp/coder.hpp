// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/coder.hpp - floor 2. Chunks of Codec::SZp: what szp.hpp declares.
#pragma once

#include <cmath>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/szp/chunk.hpp>
#include <ccoll/codec/szp/constant.hpp>
#include <ccoll/codec/szp/kernels.hpp>
#include <ccoll/codec/szp/missing_sums.hpp>
#include <ccoll/codec/szp/movement.hpp>
#include <ccoll/codec/szp/quanta64.hpp>
#include <ccoll/codec/szp/repredict.hpp>
#include <ccoll/codec/szp/row_addends.hpp>
#include <ccoll/codec/szp/rows.hpp>
#include <ccoll/codec/szp/sum_head.hpp>
#include <ccoll/codec/szp/writing.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::szp {

/// Error-bounded quantisation, differences to the value before, one bit width per 32 values.
///
/// Every decoded value is within eb of the original; where the arithmetic of the common grid does not prove it, the encoder
/// takes a grid of the chunk's own (szp/quantiser.hpp), or stores values exactly (szp/movement.hpp).
/// Movement: NaN, Inf and fill values survive bit for bit; -0.0 and denormals are ordinary values and may come back as 0. Bounds below 4
/// times the smallest normal T keep everything raw. Addends: quanta of 31 bits, or of 63 where a sum outgrows these; NaN and Inf in class
/// planes, which sums treat as IEEE 754 does. The bytes of a sum depend on what was added, not on the order: every part of them is a sum, a
/// union, or a function of these (docs/error_bounds.md).
/// Cost: one pass in registers, no allocation; AVX-512, AVX2 or portable kernels, which give the same bytes.
///
/// Sources: Huang, Di, et al., "ghZCCL: Advancing GPU-aware Collective Communications with Homomorphic Compression", ICS 2025, for
/// the sums, on fixed-length bit planes as in Huang, Di, et al., "cuSZp2", SC 2024. Differs in:
/// - Rounds instead of truncating, on a step slightly below 2 eb, so that the bound is a guarantee in T.
/// - The predecessor of a block's first value is the value before it, not 0: data with an offset cost no more than others.
/// - Two's complement instead of signs and magnitudes: the same widths, and planes can be added as they are.
/// - Widths together in front of a chunk, 4 bits each where they lie close together; 12 bytes for a constant chunk.
/// - Values outside of the common grid: fine and wide chunks, class planes (szp/layout.hpp).
/// - In movement: quanta as they are where differences are longer (noise), and lists where most differences are 0 (szp/lists.hpp).
template <element T>
struct chunk_coder {
    /// @param keep     @see movement
    /// @param strides  of the field, if the caller knows them
    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb, bool keep = true,
                                      const field_strides& strides = {}) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const quantiser<T> z(eb);
        if (!z.usable) return {0, status::unsupported};
        const movement<T> chunk(in, z, keep, rows::distances::within(in.size(), strides));
        if (in.size() == chunk_elements && dst.size() >= in.size_bytes()) return chunk.encode(address(dst), dst.size());
        u8 room[most_chunk_bytes<T>(chunk_elements)];  // a short chunk may need more than it has, until its widths are packed
        const encode_result r = chunk.encode(room, most_chunk_bytes<T>(in.size()));
        if (r.code != status::ok) return r;
        if (r.bytes > dst.size()) return {0, status::out_of_space};
        std::memcpy(dst.data(), room, r.bytes);
        return r;
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb, stores how = stores::cached) noexcept
    {
        return decode(src, out, eb, false, how);
    }

    /// Sums of so many addends hold, whatever these are.
    static constexpr std::size_t self_checked_addends = 1000;
    static_assert((quanta64::largest_quantum + 2) * self_checked_addends < static_cast<double>(wide_limit));

    static bool can_add(double largest, double eb, std::size_t addends) noexcept
    {
        CCOLL_EXACT_BODY
        const quantiser<T> z(eb);
        const double quanta = largest * z.inverse_f64 + 2;
        return z.usable && quanta64::is_quantum(largest, z) && quanta * static_cast<double>(addends) < static_cast<double>(wide_limit);
    }

    /// Fill values, of 2^52 steps or more, stand beside the quanta of addends (szp/missing.hpp).
    /// @param out  elements of T, or (of two bytes) such that a T becomes one
    template <class Out>
    static void put_fills(const_byte_span chunk, std::span<Out> out, int times) noexcept
    {
        if (!missing::has_fills(chunk)) return;
        chunk_view view;
        if (read_chunk(chunk, out.size(), sizeof(T), true, view) == status::ok) missing::put_averages<T>(view, out, times);
    }

    static double addend_step(double eb) noexcept
    {
        const quantiser<T> z(eb);
        return z.usable ? static_cast<double>(z.step) : 0;
    }

    /// @param strides  of the field, if the caller knows them
    static encode_result encode_addend(std::span<const T> in, byte_span dst, double eb, const field_strides& strides = {}) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const quantiser<T> z(eb);
        if (!z.usable) return {0, status::too_large};
        if (is_constant(in))
            if (const encode_result flat = encode_flat(in[0], z, address(dst)); flat.code == status::ok) return flat;
        const auto above = rows::distances::within(in.size(), strides);
        const encode_result narrow = encode_near(in, z, above, dst, above.none());
        return narrow.code == status::ok ? narrow : encode_far(in, z, above, dst);
    }
    static status decode_addend(const_byte_span src, std::span<T> out, double eb, stores how = stores::cached) noexcept
    {
        return decode(src, out, eb, true, how);
    }

    static encode_result add_chunks(const_byte_span a, const_byte_span b, std::size_t n, byte_span dst) noexcept
    {
        chunk_view x, y;
        if (const status s = read_chunk(a, n, sizeof(T), true, x); s != status::ok) return {0, s};
        if (const status s = read_chunk(b, n, sizeof(T), true, y); s != status::ok) return {0, s};
        return add(x, y, n, dst);
    }

    static encode_result combine_chunks(i32 factor_a, const_byte_span a, i32 factor_b, const_byte_span b, std::size_t n,
                                        byte_span dst) noexcept
    {
        chunk_view x, y;
        if (const status s = read_chunk(a, n, sizeof(T), true, x); s != status::ok) return {0, s};
        if (const status s = read_chunk(b, n, sizeof(T), true, y); s != status::ok) return {0, s};
        const i64 p = factor_a, q = factor_b;
        const double quanta = static_cast<double>(x.largest) * static_cast<double>(std::abs(p)) +
                              static_cast<double>(y.largest) * static_cast<double>(std::abs(q));
        if (!(quanta < 0.99 * static_cast<double>(wide_limit))) return {0, status::too_large};
        const u64 largest = x.largest * static_cast<u64>(std::abs(p)) + y.largest * static_cast<u64>(std::abs(q));
        const u64 base = static_cast<u64>(x.base) * static_cast<u64>(p) + static_cast<u64>(y.base) * static_cast<u64>(q);
        const bool narrow = largest < narrow_limit && is_narrow(x) && is_narrow(y);
        const sum_head head{narrow,
                            distances_of_sum(narrow, largest, p != 0 ? x.above : rows::distances{}, q != 0 ? y.above : rows::distances{}),
                            base, largest};
        return combine(x, p, y, q, head, n, dst);
    }

private:
    static encode_result add(const chunk_view& x, const chunk_view& y, std::size_t n, byte_span dst) noexcept
    {
        const u64 largest = x.largest + y.largest, base = static_cast<u64>(x.base) + static_cast<u64>(y.base);
        if (std::max(x.largest, y.largest) >= wide_limit || largest >= wide_limit) return {0, status::too_large};
        const bool narrow = largest < narrow_limit && is_narrow(x) && is_narrow(y);
        const sum_head head{narrow, distances_of_sum(narrow, largest, x.above, y.above), base, largest};
        const bool fills = !x.specials.empty() || !y.specials.empty();
        if (fills && !missing::are_alike(x.specials, y.specials, n, sizeof(T))) return combine(x, 1, y, 1, head, n, dst);
        if (!is_over(x, head.above)) [[unlikely]]
            return add(repredicted(x, n, head.above).view, y, n, dst);
        if (!is_over(y, head.above)) [[unlikely]]
            return add(x, repredicted(y, n, head.above).view, n, dst);
        u8* const out = address(dst);
        u8* const blocks = blocks_at<T>(out, head.what(), n);
        block_codes codes;
        encoded_blocks sum;
        if (is_flat(x) || is_flat(y)) {  // only the base moves
            const chunk_view& other = is_flat(x) ? y : x;
            const std::size_t bytes = is_flat(other) ? 0 : other.blocks_bytes;
            if (bytes > 0) std::memcpy(blocks, other.blocks, bytes);
            sum.end = blocks + bytes;
            sum.escaped = other.escaped;
            codes = other.codes;
        } else {
            const auto add_blocks = adders<T>[narrow ? isa_in_use() : isa::portable];
            sum = add_blocks(x, y, blocks, codes.of);
        }
        const encode_result r = finish_sum(out, head, blocks, sum.end, sum.escaped, codes, n);
        return fills ? missing::append_alike(out, r, x.specials, y.specials) : r;
    }
    /// p x + q y
    static encode_result combine(const chunk_view& x, i64 p, const chunk_view& y, i64 q, const sum_head& head, std::size_t n,
                                 byte_span dst) noexcept
    {
        const bool fills = !x.specials.empty() || !y.specials.empty();
        const rows::distances needed = fills ? rows::distances{} : head.above;  // bridges are dropped from quanta, not from differences
        if (p != 0 && !is_over(x, needed)) [[unlikely]]
            return combine(repredicted(x, n, needed).view, p, y, q, head, n, dst);
        if (q != 0 && !is_over(y, needed)) [[unlikely]]
            return combine(x, p, repredicted(y, n, needed).view, q, head, n, dst);
        if (fills) return combine_missing(x, p, y, q, head, n, dst);
        u8* const out = address(dst);
        u8* const blocks = blocks_at<T>(out, head.what(), n);
        block_codes codes;
        const quanta64::encoded sum = quanta64::combine_blocks({x, p}, {y, q}, x.count, blocks, codes.of);
        return finish_sum(out, head, blocks, sum.end, sum.escaped, codes, n);
    }

    /// @param fills  may a fill value be taken out? Not if the chunk may have rows, because these are tried on bridges
    /// @return       unsupported: there are other values of 2^30 steps or more
    static encode_result encode_near(std::span<const T> in, const quantiser<T>& z, rows::distances above, byte_span dst,
                                     bool fills) noexcept
    {
        if (!above.none())
            if (const encode_result r = encode_addend_rows(in, z, above, address(dst), dst.size()); r.code == status::ok) return r;
        return encode_narrow(in, z, dst, fills);
    }
    /// @return unsupported: there are values of 2^30 steps or more
    static encode_result encode_narrow(std::span<const T> in, const quantiser<T>& z, byte_span dst, bool fills) noexcept
    {
        u8* const out = address(dst);
        block_codes codes;
        u8* const blocks = blocks_at<T>(out, kind::narrow, in.size());
        taken_out<T> apart;
        apart.base = narrow_base_of(in[0], z);
        apart.least_fill = missing::least_fill(z);
        const encoded_blocks r = encoders<T>.in_use()(in.data(), in.size(), z, beyond_safe::addend, predictor{apart.base}, blocks,
                                                      last_begin(out, dst.size()), codes.of, fills ? &apart : nullptr);
        if (r.code != status::ok || r.largest >= narrow_limit) return {0, status::unsupported};
        put(out + 4, apart.base);
        put(out + 8, r.largest);
        encode_result chunk = finish_addend<T>(out, {kind::narrow, r.escaped}, blocks, r.end, codes, in.size());
        if (apart.gone.values == 0) return chunk;
        chunk.special_values = apart.gone.values;
        return missing::append_once(out, chunk, apart, in.size());
    }
    static encode_result encode_wide(std::span<const T> in, const quantiser<T>& z, byte_span dst) noexcept
    {
        u8* const out = address(dst);
        block_codes codes;
        u8* const blocks = blocks_at<T>(out, kind::wide, in.size());
        const i64 base = base_of(in[0], z);
        const quanta64::encoded r =
            quanta64::encode_blocks(in.data(), in.size(), z, true, base, blocks, last_begin(out, dst.size()), codes.of);
        if (r.code != status::ok) return {0, status::too_large};
        put(out + 4, base);
        put(out + 12, std::max(r.largest, narrow_limit));
        return finish_addend<T>(out, {kind::wide, r.escaped}, blocks, r.end, codes, in.size());
    }
    [[gnu::noinline]] static encode_result encode_far(std::span<const T> in, const quantiser<T>& z, rows::distances above,
                                                      byte_span dst) noexcept
    {
        T copy[chunk_elements];
        missing::own_fills fills;
        if (const status s = missing::take_out(in, z, copy, fills); s != status::ok) return {0, s};
        if (fills.count == 0) return encode_wide(in, z, dst);
        const std::span<const T> others(copy, in.size());
        encode_result r = encode_near(others, z, above, dst, false);
        if (r.code != status::ok) r = encode_wide(others, z, dst);
        r.special_values += fills.values;
        return missing::append_once<T>(address(dst), r, fills, in.size());
    }

    /// p x + q y, where one of them has fill values, and neither has rows.
    [[gnu::noinline]] static encode_result combine_missing(const chunk_view& x, i64 p, const chunk_view& y, i64 q, const sum_head& head,
                                                           std::size_t n, byte_span dst) noexcept
    {
        missing::addend of_x{x, p}, of_y{y, q};
        for (missing::addend* operand : {&of_x, &of_y})
            if (!missing::find<T>(operand->section(), n, operand->places)) return {0, status::corrupt};
        u8* const out = address(dst);
        u8* const blocks = blocks_at<T>(out, head.what(), n);
        block_codes codes;
        const quanta64::encoded sum = missing::combine(of_x, of_y, head.base, n, blocks, codes.of);
        encode_result r;
        if (head.above.none()) {
            r = finish_sum(out, head, blocks, sum.end, sum.escaped, codes, n);
        } else {
            if (!are_narrow(codes, x.count)) return {0, status::corrupt};
            chunk_view plain;
            plain.what = kind::narrow;
            plain.base = static_cast<i64>(head.base);
            plain.count = x.count;
            plain.blocks = blocks;
            plain.blocks_bytes = static_cast<std::size_t>(sum.end - blocks);
            plain.codes = codes;
            const repredicted with_rows(plain, n, head.above);
            std::memcpy(blocks, with_rows.blocks, with_rows.view.blocks_bytes);
            r = finish_sum(out, head, blocks, blocks + with_rows.view.blocks_bytes, with_rows.view.escaped, with_rows.view.codes, n);
        }
        return missing::append_sum<T>(out, r, of_x, of_y, n);
    }

    static u8* address(byte_span bytes) noexcept { return reinterpret_cast<u8*>(bytes.data()); }

    /// The quantum of the first value, so that a constant chunk has no difference at all; 0 where it has none.
    static i64 base_of(T first, const quantiser<T>& z) noexcept
    {
        return std::fabs(static_cast<double>(first)) * z.inverse_f64 < quanta64::largest_quantum ? quantum_of(first, z) : 0;
    }
    /// The head of a sum. A sum that is not narrow has a `largest` that says so, so that no sum with it is narrow.
    static encode_result finish_sum(u8* out, const sum_head& head, const u8* blocks, u8* end, u32 escaped, const block_codes& codes,
                                    std::size_t n) noexcept
    {
        if (head.narrow) {
            put(out + 4, static_cast<u32>(head.base));
            put(out + 8, static_cast<u32>(head.largest));
            if (!head.above.none()) put(out + 12, head.above.word());
        } else {
            put(out + 4, head.base);
            put(out + 12, std::max(head.largest, narrow_limit));
        }
        return finish_addend<T>(out, {head.what(), escaped}, blocks, end, codes, n);
    }

    static status decode(const_byte_span src, std::span<T> out, double eb, bool addend, stores how) noexcept
    {
        const exact_environment environment;  // a valid chunk gives no denormals, because steps are normal
        const quantiser<T> z(eb);
        if (!z.usable) return status::corrupt;
        if (!addend && kept::is_kept(src)) return kept::decode(src, out);
        chunk_view view;
        if (const status s = read_chunk(src, out.size(), sizeof(T), addend, view); s != status::ok) return s;
        T step = z.step;
        if (view.what == kind::fine || view.what == kind::fine_rows) {
            step = szp::get<T>(view.step);
            if (!(step >= std::numeric_limits<T>::min() && step <= std::numeric_limits<T>::max())) return status::corrupt;
        }
        if (addend && view.what == kind::rows && (!is_exact_in_rows(view) || !view.specials.empty())) {
            repredicted plain(view, out.size(), {});
            return decode(plain.view, step, out, true, how);
        }
        return decode(view, step, out, addend, how);
    }
    static status decode(chunk_view& view, T step, std::span<T> out, bool addend, stores how) noexcept
    {
        if (const status s = decode_blocks(view, step, out, view.specials.empty() && view.escaped == 0 ? how : stores::cached);
            s != status::ok)
            return s;
        if (view.specials.empty()) return status::ok;
        if (addend) return missing::apply(view, static_cast<double>(step), out) ? status::ok : status::corrupt;
        const auto* const section = reinterpret_cast<const u8*>(view.specials.data());
        return specials::read(section, view.specials.size(), out.data(), out.size()) ? status::ok : status::corrupt;
    }
    /// Are the sums and differences of a chunk with rows numbers of T? Not all are of a sum of f32.
    static bool is_exact_in_rows(const chunk_view& v) noexcept
    {
        return !is_f32<T> || v.largest < rows::limit(kind::fine_rows, sizeof(T), false);
    }
    static status decode_blocks(chunk_view& view, T step, std::span<T> out, stores how) noexcept
    {
        CCOLL_EXACT_BODY
        if (is_flat(view)) {
            fillers<T>.in_use()(out.data(), out.size(), static_cast<T>(static_cast<double>(view.base) * static_cast<double>(step)), how);
            return status::ok;
        }
        if constexpr (is_f32<T>)
            if (view.what == kind::fine && view.blocks_bytes == 0) {  // equal values on a lattice
                fillers<T>.in_use()(out.data(), out.size(), static_cast<T>(static_cast<i32>(view.base)) * step, how);
                return status::ok;
            }
        // From 2^24 on a quantum would be rounded to f32, and its product with the step once more.
        const bool is_large = view.what == kind::wide || (is_f32<T> ? view.largest > (1u << 24) : view.what == kind::fine);
        const bool has_rows = rows::has_rows(view.what);
        const bool listed = view.lists != nullptr, plain = !is_large && !has_rows && !view.alone;
        if (listed && plain && list_decoders<T>.in_use()(view, step, out.data(), out.size(), how)) return status::ok;
        if (listed) lists::expand(view);
        if (has_rows) {
            rows::decoders<T>.in_use()(view, step, out.data(), out.size(), how);
            return status::ok;
        }
        if (is_large && view.alone) return status::corrupt;  // encoders only write quanta below 2^14
        if (is_large) quanta64::decode_blocks(view, static_cast<double>(step), out.data(), out.size());
        else if (view.alone) alone_decoders<T>.in_use()(view, step, out.data(), out.size());
        else decoders<T>.in_use()(view, step, out.data(), out.size(), how);
        return status::ok;
    }
};

}  // namespace detail::szp

}  // namespace ccoll
