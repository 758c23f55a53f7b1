// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/masked.hpp - floor 2. Chunks of Codec::BitMask<Inner>.
#pragma once

#include <cstring>

#include <ccoll/codec/bitzip/coder.hpp>
#include <ccoll/codec/bitzip/masks.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::bitzip {

/// Between the chunks of Inner and those of BitMask<Inner>. The values are Inner's business.
template <class Inner, native_float T>
struct masked_coder {
    using word = typename fields_of<T>::word;
    static constexpr std::size_t chunk_elements = Inner::chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        if (dst.size() < in.size_bytes()) return {0, status::out_of_space};
        const encode_result inner = Inner::encode_chunk(in, dst.first(in.size_bytes()), eb);
        if (inner.code != status::ok) return inner;
        const const_byte_span plain = dst.first(inner.bytes);

        const lane_ranges at(in.size());
        const bit_cut<T> cutter(limit_of<T>(eb));
        chunk_facts<T> facts;
        (void)facts.read(plain, in.size());
        mask_dictionary<T> masks;
        if (!find_masks(plain, facts, at, cutter, masks)) {
            if (inner.bytes + 1 >= in.size_bytes()) return {0, status::out_of_space};
            dst[inner.bytes] = std::byte{0};
            return {inner.bytes + 1, status::ok, inner.raw_blocks};
        }

        return encode_masked(in, dst, inner, facts, at, cutter, masks);
    }

    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        if (src.empty() || !(limit_of<T>(eb) > 0)) return status::corrupt;
        const auto head = static_cast<unsigned>(src.back());
        if (head == 0) return Inner::decode_chunk(src.first(src.size() - 1), out, eb);
        mask_dictionary<T> masks;
        masks.index_bits = (head & 7) - 1;
        masks.flag_bits = head >> 4;
        if (masks.index_bits > 3 || masks.flag_bits < 1 || masks.flag_bits > 3 || (head & 8) != 0)
            return status::corrupt;
        const std::size_t table = masks.count() * sizeof(T);
        if (src.size() < table + 1) return status::corrupt;
        const const_byte_span chunk = src.first(src.size() - 1 - table);
        std::memcpy(masks.mask, chunk.data() + chunk.size(), table);
        const bit_cut<T> cutter(limit_of<T>(eb));
        for (std::size_t j = 0; j < masks.count(); ++j)
            if (masks.mask[j] != (cutter.cut(masks.mask[j]) & ~fields_of<T>::sign)) return status::corrupt;

        return Inner::decode_chunk_with(chunk, out,
                                        [&](std::uint64_t top) { return masks.decode(top, cutter); });
    }

private:
    /// Gives the chunk of Inner in `dst` its masks.
    [[gnu::noinline]] static encode_result encode_masked(std::span<const T> in, byte_span dst,
                                                         const encode_result& inner, chunk_facts<T>& facts,
                                                         const lane_ranges& at, const bit_cut<T>& cutter,
                                                         const mask_dictionary<T>& masks) noexcept
    {
        const const_byte_span plain = dst.first(inner.bytes);
        const std::size_t tail = facts.tail_bytes(facts.lanes, facts.exceptions),
                          table = masks.count() * sizeof(T);
        // No code becomes longer, so the new streams never reach old ones that are still to be read.
        std::byte stream[(chunk_elements / most_lanes) * sizeof(T) + slack_bytes];
        chunk_facts<T> now = facts;
        now.streams_end = 0;
        bit_writer to(stream);
        walk(
            plain, facts, at,
            [&](std::uint64_t top) -> unsigned {
                if (is_predicted(top)) {
                    to.put_few(top >> 61, 3);
                    return 3;
                }
                const word kept = cutter.decode(top);
                const auto code = masks.encode(kept, cutter);
                to.put(code.bits, code.length);
                return cutter.code_bits(kept);
            },
            [&](std::size_t lane) {
                now.bytes[lane] = to.bytes();
                std::memcpy(dst.data() + now.streams_end, stream, now.bytes[lane]);
                now.streams_end += now.bytes[lane];
                to = bit_writer(stream);
            });
        facts = now;
        const std::size_t all = facts.streams_end + tail + table + 1;
        if (all >= in.size_bytes()) return {0, status::out_of_space};
        std::memmove(dst.data() + facts.streams_end, dst.data() + inner.bytes - tail, tail);
        facts.write(dst);
        std::memcpy(dst.data() + all - 1 - table, masks.mask, table);
        dst[all - 1] = static_cast<std::byte>((1 + masks.index_bits) | masks.flag_bits << 4);
        return {all, status::ok, inner.raw_blocks};
    }
    /// Apart, because nothing else needs its stack at the same time.
    [[gnu::noinline]] static bool find_masks(const_byte_span plain, const chunk_facts<T>& facts,
                                             const lane_ranges& at, const bit_cut<T>& cutter,
                                             mask_dictionary<T>& masks) noexcept
    {
        const auto each_magnitude = [&](auto visit) {
            walk(
                plain, facts, at,
                [&](std::uint64_t top) -> unsigned {
                    if (is_predicted(top)) return 3;
                    const word kept = cutter.decode(top);
                    visit(static_cast<word>(kept & ~fields_of<T>::sign));
                    return cutter.code_bits(kept);
                },
                [](std::size_t) {});
        };
        return choose_masks<T>(each_magnitude, cutter, masks);
    }
    static bool is_predicted(std::uint64_t top) noexcept { return Inner::predicts && top >> 63 != 0; }

    /// Walks through the streams of a chunk.
    /// @param visit  (the next 64 bits) -> bits of the code that stands there, for each value
    /// @param ended  (lane), behind its last value
    template <class Visit, class Ended>
    static void walk(const_byte_span chunk, const chunk_facts<T>& facts, const lane_ranges& at, Visit visit,
                     Ended ended) noexcept
    {
        const bit_source bits(chunk);
        std::size_t begin = 0;
        for (std::size_t l = 0; l < at.lanes; ++l) {
            std::size_t next = 8 * begin;
            for (std::size_t i = 0; i < at.length(l); ++i) next += visit(bits.peek(next));
            begin += facts.bytes[l];
            ended(l);
        }
    }
};

}  // namespace detail::bitzip

}  // namespace ccoll::inline CCOLL_ABI
