// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp.hpp - floor 2. Codec::SZp: quantise, 1-D Lorenzo, bit planes in blocks of 32; sums without decoding.
#pragma once

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/szp/chunk.hpp>
#include <ccoll/codec/szp/kernels.hpp>
#include <ccoll/codec/szp/quanta64.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::szp {

/// Error-bounded quantisation, differences to the value before, one bit width per 32 values.
///
/// Every decoded value is within eb of the original; where the arithmetic of the common grid does not prove it, the encoder
/// takes a grid of the chunk's own or keeps a block raw (szp/quantiser.hpp).
/// Movement: NaN and Inf survive bit for bit; -0.0 and denormals are ordinary values and may come back as 0. Bounds below 4 times
/// the smallest normal T keep everything raw.
/// Addends: quanta of 31 bits, or of 63 where a sum outgrows these; NaN and Inf in class planes, which sums treat as IEEE 754
/// does. The bytes of a sum depend on what was added, not on the order: every part of them is a sum, a union, or a function
/// of these (docs/error_bounds.md).
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
    static constexpr std::size_t chunk_elements = szp::chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 131072;  // 30 us of encoding and adding with AVX-512
    static constexpr bool adds_non_finite = true;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const quantiser<T> z(eb);
        if (!z.usable) return {0, status::unsupported};
        if (in.size() == chunk_elements) return encode(in, address(dst), dst.size(), z);
        u8 room[most_bytes(chunk_elements)];  // a short chunk may need more than it has, until its widths are packed
        const encode_result r = encode(in, room, most_bytes(in.size()), z);
        if (r.code != status::ok) return r;
        if (r.bytes > dst.size()) return {0, status::out_of_space};
        std::memcpy(dst.data(), room, r.bytes);
        return r;
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb, stores how = stores::cached) noexcept
    {
        return decode(src, out, eb, false, how);
    }

    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept { return most_bytes(n); }
    static constexpr std::size_t self_checked_addends = 1000;
    static_assert((quanta64::largest_quantum + 2) * self_checked_addends < static_cast<double>(wide_limit));

    static bool can_add(double largest, double eb, std::size_t addends) noexcept
    {
        CCOLL_EXACT_BODY
        const quantiser<T> z(eb);
        const double quanta = largest * z.inverse_f64 + 2;
        return z.usable && quanta64::is_quantum(largest, z) && quanta * static_cast<double>(addends) < static_cast<double>(wide_limit);
    }

    static double addend_step(double eb) noexcept
    {
        const quantiser<T> z(eb);
        return z.usable ? static_cast<double>(z.step) : 0;
    }

    static encode_result encode_addend(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const exact_environment<denormals::flush> environment;
        const quantiser<T> z(eb);
        if (!z.usable) return {0, status::too_large};
        u8* const out = address(dst);
        block_codes codes;
        u8* const narrow_blocks = blocks_at(out, kind::narrow, in.size());
        const i32 base = narrow_base_of(in[0], z);
        const encoded_blocks narrow = encoders<T>.in_use()(in.data(), in.size(), z, beyond_safe::addend, predictor{base}, narrow_blocks,
                                                           last_begin(out, dst.size()), codes.of);
        if (narrow.code == status::ok && narrow.largest < narrow_limit) {
            put(out + 4, base);
            put(out + 8, narrow.largest);
            return finish(out, true, {kind::narrow, narrow.escaped}, narrow_blocks, narrow.end, codes, in.size());
        }
        u8* const wide_blocks = blocks_at(out, kind::wide, in.size());
        const i64 wide_base = base_of(in[0], z);
        const quanta64::encoded found =
            quanta64::encode_blocks(in.data(), in.size(), z, true, wide_base, wide_blocks, last_begin(out, dst.size()), codes.of);
        if (found.code != status::ok) return {0, status::too_large};
        put(out + 4, wide_base);
        put(out + 12, std::max(found.largest, narrow_limit));
        return finish(out, true, {kind::wide, found.escaped}, wide_blocks, found.end, codes, in.size());
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
        const u64 largest = x.largest + y.largest, base = static_cast<u64>(x.base) + static_cast<u64>(y.base);
        if (std::max(x.largest, y.largest) >= wide_limit || largest >= wide_limit) return {0, status::too_large};
        const bool narrow = largest < narrow_limit && is_narrow(x) && is_narrow(y);
        u8* const out = address(dst);
        u8* const blocks = blocks_at(out, narrow ? kind::narrow : kind::wide, n);
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
            const auto add = adders<T>[narrow ? isa_in_use() : isa::portable];
            sum = add(x, y, blocks, codes.of);
        }
        return finish_sum(out, narrow, base, largest, blocks, sum.end, sum.escaped, codes, n);
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
        u8* const out = address(dst);
        u8* const blocks = blocks_at(out, narrow ? kind::narrow : kind::wide, n);
        block_codes codes;
        const quanta64::encoded sum = quanta64::combine_blocks({x, p}, {y, q}, x.count, blocks, codes.of);
        return finish_sum(out, narrow, base, largest, blocks, sum.end, sum.escaped, codes, n);
    }

private:
    static u8* address(byte_span bytes) noexcept { return reinterpret_cast<u8*>(bytes.data()); }
    static bool is_flat(const chunk_view& v) noexcept { return v.what == kind::flat || v.what == kind::wide_flat; }
    static bool is_narrow(const chunk_view& v) noexcept { return v.what == kind::narrow || v.what == kind::flat; }

    /// Room for any chunk of n values: the widest blocks, their codes, and what kernels write behind them.
    static constexpr std::size_t most_bytes(std::size_t n) noexcept
    {
        return head_bytes(kind::wide, sizeof(T)) + blocks_of(n) * longest_block + width_bytes(blocks_of(n), false) + longest_block + slack;
    }
    /// In `room` bytes from `out` a block may begin up to here.
    static const u8* last_begin(const u8* out, std::size_t room) noexcept { return out + room - block_room; }

    /// Where encoders put the blocks: behind head and packed widths.
    static u8* blocks_at(u8* out, kind what, std::size_t n) noexcept
    {
        return out + head_bytes(what, sizeof(T)) + width_bytes(blocks_of(n), true);
    }

    /// The quantum of the first value, so that a constant chunk has no difference at all; 0 where it has none.
    static i64 base_of(T first, const quantiser<T>& z) noexcept
    {
        return std::fabs(static_cast<double>(first)) * z.inverse_f64 < quanta64::largest_quantum ? quantum_of(first, z) : 0;
    }
    static i32 narrow_base_of(T first, const quantiser<T>& z) noexcept
    {
        return quantiser<T>::fields::magnitude(first) < z.narrow ? static_cast<i32>(quantum_of(first, z)) : 0;
    }

    /// The head of a sum. A sum that is not narrow has a `largest` that says so, so that no sum with it is narrow.
    static encode_result finish_sum(u8* out, bool narrow, u64 base, u64 largest, const u8* blocks, u8* end, u32 escaped,
                                    const block_codes& codes, std::size_t n) noexcept
    {
        if (narrow) {
            put(out + 4, static_cast<u32>(base));
            put(out + 8, static_cast<u32>(largest));
        } else {
            put(out + 4, base);
            put(out + 12, std::max(largest, narrow_limit));
        }
        return finish(out, true, {narrow ? kind::narrow : kind::wide, escaped}, blocks, end, codes, n);
    }

    /// Codes and head, in front of the blocks.
    static encode_result finish(u8* out, bool addend, chunk_head head, const u8* blocks, u8* end, const block_codes& codes,
                                std::size_t n) noexcept
    {
        u8* const front = out + head_bytes(head.what, sizeof(T));
        if (end != blocks || head.what == kind::fine) {
            end = write_codes(codes.of, blocks_of(n), addend, front, end, head);
        } else {
            head = {head.what == kind::narrow ? kind::flat : kind::wide_flat, 0};
            end = front;
        }
        put(out, head.word());
        return {static_cast<std::size_t>(end - out)};
    }

    /// The same for movement, where the escaped blocks are raw ones, and the chunk must fit its room.
    static encode_result finish_in(std::size_t room, u8* out, chunk_head head, const u8* blocks, u8* end, const block_codes& codes,
                                   std::size_t n) noexcept
    {
        // Room was left for packed codes.
        const std::size_t count = blocks_of(n), more = width_bytes(count, false) - width_bytes(count, true);
        const auto bytes = static_cast<std::size_t>(end - out);
        if (bytes + more > room) [[unlikely]] {
            const auto [lowest, highest] = range_of(codes.of, count);
            if (bytes + (packs(lowest, highest) ? 0 : more) > room) return {0, status::out_of_space};
        }
        encode_result r = finish(out, false, head, blocks, end, codes, n);
        r.raw_blocks = head.escaped;
        return r;
    }

    /// For movement: on the common grid if all values fit it, else on the coarsest of the others. The choice depends on the values alone:
    /// on the common grid a block has no more than half the bytes of its elements, so `stop` never ends for want of room
    /// (docs/wire_format.md).
    static encode_result encode(std::span<const T> in, u8* out, std::size_t room, const quantiser<T>& z) noexcept
    {
        if (room < most_bytes(1)) return {0, status::out_of_space};
        if constexpr (is_f32<T>) {  // not f64, which is slower on a lattice, and only shorter
            const fine_grid<T> lattice = find_lattice(in.data(), std::min(in.size(), block_elements));
            if (lattice.step > z.step)
                if (const fine_grid<T> all = find_lattice(in.data(), in.size()); all.step > z.step)
                    return encode_fine(in, out, room, z, all);
        }
        encode_result r = encode_common(in, out, room, z, beyond_safe::stop);
        if (r.code != status::unsupported) return r;
        const fine_grid<T> lattice = find_lattice(in.data(), in.size());
        const fine_grid<T> fine = fine_grid_for(largest_below(in.data(), in.size(), fine_limit(z)), z);
        const fine_grid<T>& best = lattice.step > fine.step ? lattice : fine;
        return best.step > 0 ? encode_fine(in, out, room, z, best) : encode_common(in, out, room, z, beyond_safe::raw);
    }
    static encode_result encode_common(std::span<const T> in, u8* out, std::size_t room, const quantiser<T>& z, beyond_safe rule) noexcept
    {
        block_codes codes;
        u8* const blocks = blocks_at(out, kind::narrow, in.size());
        const bool alone = noise_detectors<T>.in_use()(in.data(), in.size(), z);
        const predictor before{alone ? 0 : narrow_base_of(in[0], z), alone};
        const encoded_blocks r = encoders<T>.in_use()(in.data(), in.size(), z, rule, before, blocks, last_begin(out, room), codes.of);
        if (r.code != status::ok) return {0, r.code};
        put(out + 4, before.quantum);
        put(out + 8, r.largest);
        chunk_head head(kind::narrow, r.escaped);
        head.alone = alone;
        return finish_in(room, out, head, blocks, r.end, codes, in.size());
    }
    static encode_result encode_fine(std::span<const T> in, u8* out, std::size_t room, const quantiser<T>& common,
                                     const fine_grid<T>& grid) noexcept
    {
        const quantiser<T> z = common.on(grid.step, grid.limit);
        const bool first_fits = quantiser<T>::fields::magnitude(in[0]) < grid.limit;
        block_codes codes;
        u8* const blocks = blocks_at(out, kind::fine, in.size());
        put(out + 4 + sizeof(T), grid.step);
        if constexpr (is_f32<T>) {
            const i32 base = first_fits ? static_cast<i32>(std::nearbyint(static_cast<double>(in[0]) * z.inverse_f64)) : 0;
            const encoded_blocks r =
                encoders<T>.in_use()(in.data(), in.size(), z, beyond_safe::fine, predictor{base}, blocks, last_begin(out, room), codes.of);
            if (r.code != status::ok) return {0, r.code};
            put(out + 4, base);
            return finish_in(room, out, {kind::fine, r.escaped}, blocks, r.end, codes, in.size());
        } else {
            const i64 base = first_fits ? nearest_quantum(in[0], z.step, z.inverse_f64) : 0;
            const quanta64::encoded r =
                quanta64::encode_blocks(in.data(), in.size(), z, false, base, blocks, last_begin(out, room), codes.of);
            if (r.code != status::ok) return {0, r.code};
            put(out + 4, base);
            return finish_in(room, out, {kind::fine, r.escaped}, blocks, r.end, codes, in.size());
        }
    }

    static status decode(const_byte_span src, std::span<T> out, double eb, bool addend, stores how) noexcept
    {
        const exact_environment environment;  // a valid chunk gives no denormals, because steps are normal
        const quantiser<T> z(eb);
        chunk_view view;
        if (const status s = read_chunk(src, out.size(), sizeof(T), addend, view); s != status::ok) return s;
        if (!z.usable) return status::corrupt;
        T step = z.step;
        if (view.what == kind::fine) {
            step = szp::get<T>(view.step);
            if (!(step >= std::numeric_limits<T>::min() && step <= std::numeric_limits<T>::max())) return status::corrupt;
        }
        if (is_flat(view)) {
            fill(out.data(), out.size(), static_cast<T>(static_cast<double>(view.base) * static_cast<double>(step)));
            return status::ok;
        }
        // From 2^24 on a quantum would be rounded to f32, and its product with the step once more.
        const bool is_large = view.what == kind::wide || (is_f32<T> ? view.largest > (1u << 24) : view.what == kind::fine);
        if (is_large && view.alone) return status::corrupt;  // encoders only write quanta below 2^14
        if (is_large) quanta64::decode_blocks(view, static_cast<double>(step), out.data(), out.size());
        else if (view.alone) alone_decoders<T>.in_use()(view, step, out.data(), out.size());
        else decoders<T>.in_use()(view, step, out.data(), out.size(), how);
        return status::ok;
    }
};

}  // namespace detail::szp

template <native_float T>
struct codec_impl<policies::Codec::SZp, T, host_space> : detail::szp::chunk_coder<T> {};

}  // namespace ccoll
