// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/coder.hpp - floor 2. Chunks of Codec::SZx and PipeSZx: what szx.hpp declares.
//
//   chunk   u8 code[blocks]     one per block of 128 values; the last block may be shorter
//   ..      blocks              drawn in szx/layout.hpp; together they fill the chunk
//
// Or, if there are exceptional values:
//
//   0       u8 255 | u8 0 | u16 place of the section
//   4       u8 code[blocks], blocks of the other values, zeros up to a multiple of 16 bytes
//   place   the section of exceptional values (codec/exceptions.hpp), in units of 16 bytes from the beginning
//           of the chunk
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/exceptions.hpp>
#include <ccoll/codec/szx/kernels.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::szx {

/// The chunks of SZx and PipeSZx.
///
/// Every decoded value is within eb of the original: each one is decoded and compared while it is encoded,
/// except in blocks whose extremes prove that all pass (szx/quantiser.hpp and szx/portable.hpp have the
/// proofs). A block whose values do not pass is kept raw, or its exceptional values are taken out of it, so
/// NaN, Inf and missing values survive bit for bit. -0.0 and denormals are ordinary values. Bounds below the
/// smallest normal T keep everything raw.
/// Cost: two passes over a block in the innermost cache; no allocation.
///
/// Source: Yu, Di, et al., "Ultrafast Error-Bounded Lossy Compression for Scientific Datasets", HPDC 2022
/// (SZx), used by Huang, Di, et al., "An Optimized Error-controlled MPI Collective Framework ..." (C-Coll),
/// IPDPS 2024, section III-E2.
/// Differs from both in:
/// - No XOR with the previous value and no leading-byte counts: they save some bytes, but each value would
///   wait for the one before it. Here all values of a block are independent, and what is left is additions
///   and shifts.
/// - Whole bytes of the difference counted in steps of nearly twice the bound, not of its exponent and
///   mantissa: these spend 9 bits on sign and exponent, of which a block within a few hundred bounds of its
///   middle needs none. 10 bits per value instead of 16 to 24 at 1e-3 of the range, and a tenth to a quarter
///   faster, because memory limits the codec.
/// - Rounded instead of truncated, and verified near the precision of T, where rounding errors alone break
/// the bound; a block that fails is raw.
/// - One middle value in front of each block that is not raw, and all codes in front of the chunk, so that a
/// block can be read without the others.
template <element T, std::size_t ChunkElements>
struct chunk_coder {
    static constexpr std::size_t chunk_elements = ChunkElements;
    static_assert(chunk_elements % block_elements == 0, "ccoll: a chunk of SZx must be whole blocks");

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
    {
        const exact_environment environment;
        const T limit = error_limit<T>(field.eb);
        if (!(limit > 0)) return {0, status::unsupported};
        const auto missing = static_cast<word>(field.missing.bits);
        if (field.missing.declared && exceptions::has_bits<T>(in.data(), in.size(), missing))
            return without_exceptions({0, status::unsupported}, in, dst, limit, {far_limit(limit), missing});
        const encode_result all = encode_blocks(in.size(), dst, limit, whole_blocks{in});
        const bool kept_raw = all.raw_blocks > 0 || all.code != status::ok;
        return kept_raw ? without_exceptions(all, in, dst, limit, {far_limit(limit)}) : all;
    }

private:
    /// The last block repeats its last value, so that neither its middle nor its radius changes.
    static void fill_up(T* block, std::size_t count) noexcept
    {
        for (std::size_t i = count; i < block_elements; ++i)
            std::memcpy(block + i, block + count - 1, sizeof(T));
    }
    /// All values as they are.
    struct whole_blocks {
        std::span<const T> in;
        T last[block_elements];

        explicit whole_blocks(std::span<const T> of) noexcept : in(of)
        {
            const std::size_t tail = in.size() % block_elements;
            if (tail == 0) return;
            std::memcpy(last, in.data() + in.size() - tail, tail * sizeof(T));
            fill_up(last, tail);
        }
        const T* operator()(std::size_t b) noexcept
        {
            return b < in.size() / block_elements ? in.data() + b * block_elements : last;
        }
    };
    /// Blocks of values, in no more bytes than n values have.
    /// @param values  (number of a block) -> its values. Is asked for all in turn; two blocks are looked at
    ///                together
    template <class Values>
    static encode_result encode_blocks(std::size_t n, byte_span dst, T limit, Values&& values) noexcept
    {
        const std::size_t blocks = block_count(n);
        if (dst.size() < blocks) return {0, status::out_of_space};
        const block_scale<T> scale = block_scale<T>::of(limit);
        const auto plan_block = block_planners<T>.in_use();
        const auto encode_block = block_encoders<T>.in_use();

        std::byte spare[block_room<T>];
        const std::size_t whole = n / block_elements, tail = n % block_elements;
        encode_result all{blocks};
        const T* ahead = values(0);
        block_plan<T> next = plan_block(ahead, scale);
        for (std::size_t b = 0; b < blocks; ++b) {
            const T* const x = ahead;
            const std::size_t count = b < whole ? block_elements : tail;
            const block_plan<T> plan = next;
            if (b + 1 < blocks) next = plan_block(ahead = values(b + 1), scale);
            const byte_span rest = dst.subspan(all.bytes);
            const bool in_place = rest.size() >= block_room<T>;
            std::byte* const to = in_place ? rest.data() : spare;
            fetch_ahead(x, block_elements * sizeof(T));
            unsigned code = encode_block(x, plan, scale, to);
            // A short block may cost more than its values.
            if (block_bytes<T>(code, count) > count * sizeof(T)) {
                code = raw_code<T>;
                std::memcpy(to, x, count * sizeof(T));
            }
            const std::size_t bytes = block_bytes<T>(code, count);
            if (!in_place) {
                if (rest.size() < bytes) return {0, status::out_of_space};
                std::memcpy(rest.data(), spare, bytes);
            }
            fetch_ahead(rest.data(), bytes);
            dst[b] = static_cast<std::byte>(code);
            all.bytes += bytes;
            all.raw_blocks += code == raw_code<T>;
        }
        return all.bytes < n * sizeof(T) ? all : encode_result{0, status::out_of_space};
    }

    /// Blocks without exceptional values: these become the ordinary value before them, and those at the
    /// beginning of the chunk the first one; 0 if there is none.
    struct ordinary_blocks {
        std::span<const T> in;
        const exceptions::places& at;
        T before = T(0);
        T copies[2][block_elements];

        ordinary_blocks(std::span<const T> of, const exceptions::places& found) noexcept : in(of), at(found)
        {
            for (std::size_t k = 0; k < at.blocks; ++k)
                if (const exceptions::u32 ordinary = exceptions::whole(in.size(), k) & ~at.masks[k];
                    ordinary != 0) {
                    before = in[exceptions::block_elements * k +
                                static_cast<std::size_t>(std::countr_zero(ordinary))];
                    return;
                }
        }
        const T* operator()(std::size_t b) noexcept
        {
            constexpr std::size_t masks = block_elements / exceptions::block_elements;
            const T* const x = in.data() + b * block_elements;
            if (b < in.size() / block_elements) {
                exceptions::u32 any = 0;
                for (std::size_t k = 0; k < masks; ++k) any |= at.masks[b * masks + k];
                if (any == 0) {
                    before = x[block_elements - 1];
                    return x;
                }
            }
            T* const copy = copies[b % 2];
            const std::size_t count = std::min(block_elements, in.size() - b * block_elements);
            std::memcpy(copy, x, count * sizeof(T));
            for (std::size_t i = 0, k = b * masks; i < count; i += exceptions::block_elements, ++k)
                repeat_ordinary(copy + i, at.masks[k], k);
            fill_up(copy, count);
            return copy;
        }

    private:
        void repeat_ordinary(T* block, exceptions::u32 mask, std::size_t k) noexcept
        {
            const std::size_t length = exceptions::length_of(in.size(), k);
            if (mask == exceptions::whole(in.size(), k)) {
                std::fill_n(block, length, before);
                return;
            }
            exceptions::each_bit(mask, [&](std::size_t i) { block[i] = i > 0 ? *(block + i - 1) : before; });
            before = block[length - 1];
        }
    };

    /// A chunk with raw blocks is encoded without its exceptional values, and these in a section behind it.
    /// @param usual  what became of all values, in dst: that is the chunk if none is exceptional, or too many
    ///               are different
    [[gnu::noinline]] static encode_result without_exceptions(const encode_result& usual,
                                                              std::span<const T> in, byte_span dst, T limit,
                                                              const exceptions::rule<T>& rule) noexcept
    {
        exceptions::places at;
        exceptions::u8 section[most_section_bytes];
        exceptions::find<T>(in.data(), in.size(), rule, at);
        if (at.values == 0) return usual;
        const exceptions::u8* const end = exceptions::write<T>(
            in.data(), in.size(), at, section, section + sizeof section, most_changes(in.size()));
        if (end == nullptr) return usual;
        const auto section_bytes = static_cast<std::size_t>(end - section),
                   most = std::min(dst.size(), in.size_bytes());
        if (most < head_bytes) return {0, status::out_of_space};
        encode_result r =
            encode_blocks(in.size(), dst.first(most).subspan(head_bytes), limit, ordinary_blocks(in, at));
        if (r.code != status::ok) return r;
        const std::size_t blocks_end = head_bytes + r.bytes,
                          place = exceptions::up_to(exceptions::unit, blocks_end);
        r.bytes = place + section_bytes;
        if (r.bytes > dst.size() || r.bytes >= in.size_bytes()) return {0, status::out_of_space};
        dst[0] = exceptions_code;
        dst[1] = std::byte{0};
        store(dst, 2, static_cast<std::uint16_t>(place / exceptions::unit));
        std::memset(dst.data() + blocks_end, 0, place - blocks_end);
        std::memcpy(dst.data() + place, section, section_bytes);
        r.special_values = at.values;
        return r;
    }

public:
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb,
                               stores how = stores::cached) noexcept
    {
        if (src.empty() || src[0] != exceptions_code) return decode_blocks(src, 0, out, eb, how);
        if (src.size() < head_bytes || src[1] != std::byte{0}) return status::corrupt;
        const std::size_t place = exceptions::unit * load<std::uint16_t>(src, 2);
        if (place < head_bytes || place > src.size()) return status::corrupt;
        const const_byte_span blocks = src.first(place).subspan(head_bytes), section = src.subspan(place);
        if (const status s = decode_blocks(blocks, exceptions::unit - 1, out, eb, stores::cached);
            s != status::ok)
            return s;
        const auto* const from = reinterpret_cast<const exceptions::u8*>(section.data());
        return exceptions::read<T>(from, section.size(), out.data(), out.size()) ? status::ok
                                                                                 : status::corrupt;
    }

private:
    /// @param most_fill  so many bytes may stand behind the blocks
    static status decode_blocks(const_byte_span src, std::size_t most_fill, std::span<T> out, double eb,
                                stores how) noexcept
    {
        // Nothing is checked after this: the codes are valid, and the blocks end where they should.
        const std::size_t blocks = block_count(out.size()), whole = out.size() / block_elements;
        if (src.size() < blocks || !are_codes<T>(src.first(blocks))) return status::corrupt;
        std::size_t expected = blocks + bytes_of_blocks<T>(src.first(whole));
        if (whole < blocks)
            expected +=
                block_bytes<T>(static_cast<unsigned>(src[whole]), out.size() - whole * block_elements);
        if (expected > src.size() || src.size() - expected > most_fill) return status::corrupt;
        src = src.first(expected);

        const exact_environment environment;
        const T limit = error_limit<T>(eb);
        if (!(limit > 0)) return status::corrupt;
        const T step = block_scale<T>::of(limit).step;
        const auto decode_block = block_decoders<T>.in_use();
        T padded[block_elements];
        std::byte spare[block_room<T>] = {};
        const_byte_span rest = src.subspan(blocks);
        std::size_t streamed = 0;
        if (how == stores::streamed)
            streamed = block_streamers<T>.in_use()(src.data(), whole, rest, step, out.data());
        rest = rest.subspan(bytes_of_blocks<T>(src.first(streamed)));
        for (std::size_t b = streamed; b < blocks; ++b) {
            const std::size_t at = b * block_elements, count = std::min(block_elements, out.size() - at);
            const auto code = static_cast<unsigned>(src[b]);
            const std::size_t bytes = block_bytes<T>(code, count);
            const bool in_place = rest.size() >= block_room<T>;
            if (!in_place) std::memcpy(spare, rest.data(), bytes);
            const std::byte* const from = in_place ? rest.data() : spare;
            if (count == block_elements) {
                decode_block(code, from, step, out.data() + at);
            } else {
                decode_block(code, from, step, padded);
                std::memcpy(out.data() + at, padded, count * sizeof(T));
            }
            rest = rest.subspan(bytes);
        }
        return status::ok;
    }

    using word = typename fields_of<T>::word;

    /// In the place of the first block's code: the chunk has exceptional values.
    static constexpr std::byte exceptions_code{255};
    static constexpr std::size_t head_bytes = 4;  ///< of such a chunk

    /// If more exceptional values differ from the one before them, they stay in their blocks. A dictionary
    /// holds all others.
    static constexpr std::size_t most_changes(std::size_t n) noexcept { return (n - 1) / 32; }
    static constexpr std::size_t most_section_bytes = [] {
        constexpr std::size_t n = chunk_elements, values = most_changes(n) + 1,
                              runs = values + n / exceptions::most_in_run;
        return exceptions::up_to(exceptions::unit,
                                 exceptions::most_in_front(n) + 2 * runs + sizeof(T) * values + 8);
    }();

    static constexpr std::size_t block_count(std::size_t n) noexcept
    {
        return (n + block_elements - 1) / block_elements;
    }
};

}  // namespace detail::szx

}  // namespace ccoll
