// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lossless/coder.hpp - floor 2. Chunks of Codec::Lossless whose exponents are coded (layout.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/lossless/avx2.hpp>
#include <ccoll/codec/lossless/choose.hpp>
#include <ccoll/codec/lossless/portable.hpp>
#include <ccoll/codec/lossless/streams.hpp>

namespace ccoll::inline CCOLL_ABI::detail::lossless {

template <class Word>
inline constexpr by_isa splitters{CCOLL_UP_TO_AVX2(split<Word>)};
template <class Word>
inline constexpr by_isa joiners{CCOLL_UP_TO_AVX2(join<Word>)};
inline constexpr by_isa level_encoders{CCOLL_UP_TO_AVX2(encode_level)};
inline constexpr by_isa level_decoders{CCOLL_UP_TO_AVX2(decode_level)};

/// How many values have the highest code of a level? Total: planes may be anything.
/// @return more than n: bits behind the last code are not 0
inline std::size_t count_escapes(const u8* planes, u32 bits, std::size_t n) noexcept
{
    const std::size_t plane = plane_bytes(n);
    std::size_t count = 0, i = 0;
    for (; i + 8 <= plane; i += 8) {
        u64 all = ~u64{0};
        for (u32 b = 0; b < bits; ++b) all &= get<u64>(planes + b * plane + i);
        count += static_cast<std::size_t>(std::popcount(all));
    }
    for (; i < plane; ++i) {
        u32 all = 0xff;
        for (u32 b = 0; b < bits; ++b) all &= planes[b * plane + i];
        count += static_cast<std::size_t>(std::popcount(all));
    }
    for (u32 b = 0; b < bits && n % 8 != 0; ++b)
        if (planes[b * plane + n / 8] >> n % 8 != 0) return n + 1;
    return count;
}

template <class Word>
struct exponent_coder {
    /// Bytes in front of the levels.
    static constexpr std::size_t front(std::size_t n, bool has_low) noexcept
    {
        return 1 + n * (has_low ? sizeof(Word) - 1 : 1);
    }

    /// @param n      least_values..most_values words
    /// @param first  the first level. The others are chosen for what it leaves.
    static encode_result encode(const u8* from, std::size_t n, byte_span dst, const level& first,
                                bool has_low) noexcept
    {
        u8* const begin = reinterpret_cast<u8*>(dst.data());
        const auto has = [&](std::size_t at, std::size_t bytes) { return at + bytes <= dst.size(); };
        // Lower halves that are 0 are overwritten by the levels.
        if (!has(0, front(n, true))) return {0, status::out_of_space};
        begin[0] = static_cast<u8>(exponents_head - !has_low);
        u8 symbols[most_values + slack];
        splitters<Word>.in_use()(from, n, begin + 1, begin + 1 + n, symbols);
        std::size_t at = front(n, has_low);

        std::size_t left = n;
        const auto put_level = [&](const level& l) {
            const std::size_t listed = l.escape(), planes = l.bits * plane_bytes(left);
            if (!has(at, 1 + listed + planes)) return false;
            begin[at] = static_cast<u8>(l.bits);
            std::memcpy(begin + at + 1, l.symbols, listed);
            left = level_encoders.in_use()(l, symbols, left, begin + at + 1 + listed);
            at += 1 + listed + planes;
            return true;
        };
        if (!put_level(first)) return {0, status::out_of_space};
        cascade others;
        if (left > 0) {
            histogram h;
            h.add(symbols, left);
            h.sum_up();
            choose(h.counts(), left, left, most_levels - 1, others);
        }
        for (u32 k = 0; k < others.levels; ++k)
            if (!put_level(others.of[k])) return {0, status::out_of_space};
        if (!has(at, 1 + left)) return {0, status::out_of_space};
        begin[at] = 0;
        std::memcpy(begin + at + 1, symbols, left);
        return {at + 1 + left};
    }

    /// @param src  a chunk for which is_exponents_head; any bytes
    static status decode(const_byte_span src, u8* to, std::size_t n) noexcept
    {
        const u8* from = reinterpret_cast<const u8*>(src.data());
        const u8* const end = from + src.size();
        const auto has = [&](std::size_t bytes) { return static_cast<std::size_t>(end - from) >= bytes; };
        if (n < least_values || n > most_values || !has(1)) return status::corrupt;
        const bool has_low = *from == exponents_head;
        if ((!has_low && sizeof(Word) == 2) || !has(front(n, has_low))) return status::corrupt;
        const u8 *const high = from + 1, *const low = has_low ? high + n : nullptr;
        from += front(n, has_low);
        cascade c;
        const u8* planes[most_levels];
        std::size_t values[most_levels + 1] = {n};
        for (;; ++c.levels) {
            if (!has(1)) return status::corrupt;
            const u32 bits = *from++;
            if (bits == 0) break;
            if (bits > most_level_bits || c.levels == most_levels) return status::corrupt;
            level& l = c.of[c.levels];
            l.bits = bits;
            const std::size_t count = values[c.levels], plane_of_all = bits * plane_bytes(count);
            if (!has(l.escape() + plane_of_all)) return status::corrupt;
            std::memcpy(l.symbols, from, l.escape());
            from += l.escape();
            planes[c.levels] = from;
            values[c.levels + 1] = count_escapes(from, bits, count);
            if (values[c.levels + 1] > count) return status::corrupt;
            from += plane_of_all;
        }
        const std::size_t left = values[c.levels];
        if (static_cast<std::size_t>(end - from) != left) return status::corrupt;

        // From the last level to the first one. Nothing is checked any more.
        u8 symbols[2][most_values + slack];
        std::memcpy(symbols[0], from, left);
        std::memset(symbols[0] + left, 0, slack);
        const auto decode_level = level_decoders.in_use();
        u32 in = 0;
        for (u32 k = c.levels; k-- > 0; in ^= 1) {
            decode_level(c.of[k], planes[k], symbols[in], values[k], symbols[in ^ 1]);
            std::memset(symbols[in ^ 1] + values[k], 0, slack);
        }
        joiners<Word>.in_use()(high, low, symbols[in], n, to);
        return status::ok;
    }
};

/// Are the lower halves of all words of 4 bytes 0?
inline bool are_low_halves_0(const u8* from, std::size_t n) noexcept
{
    u32 any = 0;
    for (std::size_t i = 0; i < n; ++i) any |= get<u32>(from + 4 * i);
    return (any & 0xffff) == 0;
}

/// The shorter one of both forms. What a sample rules out is not tried.
template <class Word>
[[gnu::noinline]] encode_result float_chunks<Word>::encode(const_byte_span in, byte_span dst) noexcept
{
    using stream = stream_coder<Word, sizeof(Word)>;
    using coder = exponent_coder<Word>;
    const auto* const from = reinterpret_cast<const u8*>(in.data());
    const std::size_t n = in.size() / sizeof(Word);
    const prospects may_gain = look<Word>(from, n);
    std::size_t least = in.size();
    typename stream::survey residuals{};
    if (may_gain.residuals) {
        residuals = stream::look(in.data(), n);
        least = std::min(least, residuals.bytes);
    }
    if (may_gain.exponents && least > coder::front(n, may_gain.low)) {
        cascade c;
        const bool has_low = may_gain.low || !are_low_halves_0(from, n);
        const std::size_t expected = coder::front(n, has_low) + 1 + choose_first<Word>(from, n, c);
        if (expected < std::min(least, in.size() - in.size() / 64)) {
            const encode_result r = coder::encode(from, n, dst, c.of[0], has_low);
            if (r.code == status::ok && r.bytes < least) return r;
        }
    }
    if (!may_gain.residuals) return {0, status::out_of_space};
    return stream::encode(in.data(), n, dst, residuals);
}

template <class Word>
[[gnu::noinline]] status float_chunks<Word>::decode(const_byte_span src, byte_span out) noexcept
{
    return exponent_coder<Word>::decode(src, reinterpret_cast<u8*>(out.data()), out.size() / sizeof(Word));
}

}  // namespace ccoll::detail::lossless
