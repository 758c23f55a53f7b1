// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/coder.hpp - floor 2. The chunk codecs of BitZip, BitWise and BitCut: portable loops, and the
// choice of an instruction set.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/bitzip/avx2_decode.hpp>
#include <ccoll/codec/bitzip/avx2_encode.hpp>
#include <ccoll/codec/bitzip/bits.hpp>
#include <ccoll/codec/bitzip/chunk.hpp>
#include <ccoll/codec/bitzip/cut.hpp>
#include <ccoll/codec/bitzip/lanes.hpp>
#include <ccoll/codec/bitzip/limit.hpp>
#include <ccoll/codec/codec_impl.hpp>

namespace ccoll::inline CCOLL_ABI::detail::bitzip {

CCOLL_EXACT_BEGIN

namespace portable {

/// The least finite value; false if there is none. Of two zeros +0.
template <native_float T>
bool find_offset(std::span<const T> in, T& offset) noexcept
{
    CCOLL_EXACT_BODY
    T least = std::numeric_limits<T>::infinity();
    for (const T v : in) {
        const bool lower = v < least && v >= -std::numeric_limits<T>::max();
        least = lower ? v : least;
    }
    offset = least + T(0);
    return least <= std::numeric_limits<T>::max();
}

template <native_float T>
bool holds(T kept, T offset, T x, T limit) noexcept
{
    CCOLL_EXACT_BODY
    return std::fabs((kept + offset) - x) < limit;
}

/// Words in bytes that need not lie where words may.
template <class Word>
void put_word(std::byte* words, std::size_t i, Word value) noexcept
{
    std::memcpy(words + i * sizeof(Word), &value, sizeof(Word));
}
template <class Word>
Word get_word(const std::byte* words, std::size_t i) noexcept
{
    Word value;
    std::memcpy(&value, words + i * sizeof(Word), sizeof(Word));
    return value;
}

/// How many values a chunk with so many lanes can have.
template <std::size_t Lanes>
inline constexpr std::size_t most_values = Lanes == 1 ? 511 : max_chunk_elements;
static_assert(lanes_of(most_values<1>) == 1 && lanes_of(most_values<1> + 1) > 1);

/// @param words  room for those of all values: where the value itself stands in the chunk
template <std::size_t Lanes, bool Predicts, beginning Rule, native_float T>
void plan(std::span<const T> in, const lane_ranges& at, const bit_cut<T>& cutter, T offset, T limit,
          std::uint8_t* symbols, std::byte* words, exception_list& exceptions) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    using word = typename fields::word;
    std::byte* lane[Lanes];
    for (std::size_t l = 0; l < Lanes; ++l) lane[l] = words + at.start(l) * sizeof(word);
    if constexpr (Predicts) {
        predict_values<Rule, Lanes>(in, at, offset, limit, symbols,
                                    [&](std::size_t l, std::size_t i, T x, std::uint8_t& symbol, T last) {
                                        CCOLL_EXACT_BODY
                                        const word kept = cutter.cut(fields::of(x - offset));
                                        if (holds(std::bit_cast<T>(kept), offset, x, limit)) {
                                            put_word(lane[l], i, kept);
                                            return std::bit_cast<T>(kept);
                                        }
                                        exceptions.add(at.start(l) + i);
                                        put_word(lane[l], i, word{0});
                                        if (orders_at<Rule>(i) == 0) return T(0);
                                        symbol = 0;
                                        return last;
                                    });
    } else {
        for (std::size_t l = 0; l < Lanes; ++l)
            for (std::size_t i = 0; i < at.length(l); ++i) {
                const T x = in[at.start(l) + i];
                const word kept = cutter.cut(fields::of(x));
                const bool good = holds(std::bit_cast<T>(kept), T(0), x, limit);
                symbols[i * Lanes + l] = missed;
                put_word(lane[l], i, good ? kept : word{0});
                if (!good) exceptions.add(at.start(l) + i);
            }
    }
}

template <std::size_t Lanes, bool Predicts, beginning Rule, native_float T>
encode_result encode(std::span<const T> in, byte_span dst, T limit) noexcept
{
    using word = typename fields_of<T>::word;
    const std::size_t n = in.size();
    const lane_ranges at(n);
    const bit_cut<T> cutter(limit);
    chunk_facts<T> facts;
    facts.lanes = Lanes;
    if (dst.size() < in.size_bytes()) return {0, status::out_of_space};
    if (Predicts && !find_offset(in, facts.offset)) return {0, status::unsupported};

    std::uint8_t symbols[most_values<Lanes> + Lanes];
    // No code is longer than its word, so the streams follow on the words that they are made of, and never
    // reach the others.
    std::byte* const words = dst.data();
    exception_list exceptions(n);
    plan<Lanes, Predicts, Rule>(in, at, cutter, facts.offset, limit, symbols, words, exceptions);
    if (exceptions.count > exceptions.most) return {0, status::unsupported};
    facts.exceptions = exceptions.count;

    const std::size_t room = in.size_bytes(), tail = facts.tail_bytes(Lanes, exceptions.count);
    std::byte stream[(max_chunk_elements / most_lanes) * sizeof(T) + slack_bytes];
    for (std::size_t l = 0; l < Lanes; ++l) {
        bit_writer to(stream);
        const std::byte* const lane = words + at.start(l) * sizeof(T);
        for (std::size_t i = 0; i < at.length(l); ++i) {
            const std::uint8_t symbol = symbols[i * Lanes + l];
            if (symbol < missed) {
                to.put_few(4u | symbol, 3);
            } else {
                const word kept = get_word<word>(lane, i);
                to.put(cutter.code(kept), cutter.code_bits(kept));
            }
        }
        facts.bytes[l] = to.bytes();
        if (facts.streams_end + to.bytes() + tail >= room) return {0, status::out_of_space};
        std::memcpy(dst.data() + facts.streams_end, stream, to.bytes());
        facts.streams_end += to.bytes();
    }
    return write_tail(in, dst, facts, exceptions);
}

/// @param read_cut  the next 64 bits -> bit_cut<T>::value, of a value that was cut
template <std::size_t Lanes, bool Predicts, beginning Rule, native_float T, class ReadCut>
status decode_with(const_byte_span src, std::span<T> out, const ReadCut& read_cut) noexcept
{
    using fields = fields_of<T>;
    const lane_ranges at(out.size());
    chunk_facts<T> facts;
    if (const status s = facts.read(src, out.size()); s != status::ok) return s;
    if (!is_offset<Predicts>(facts.offset)) return status::corrupt;

    std::uint8_t symbols[most_values<Lanes> + Lanes];
    T* values[Lanes];  // cut ones stand there before those that are predicted from them
    for (std::size_t l = 0; l < Lanes; ++l) values[l] = out.data() + at.start(l);
    std::size_t next[Lanes] = {};
    for (std::size_t l = 1; l < Lanes; ++l) next[l] = next[l - 1] + 8 * facts.bytes[l - 1];
    const bit_source bits(src);
    bool good = true;
    for (std::size_t i = 0; i < at.steps(); ++i)
        for (std::size_t l = 0; l < at.active(i); ++l) {
            const std::uint64_t top = bits.peek(next[l]);
            const std::size_t k = i * Lanes + l;
            if (Predicts && top >> 63 != 0) {
                symbols[k] = static_cast<std::uint8_t>(top >> 61 & 3);
                next[l] += 3;
            } else {
                const typename bit_cut<T>::value read = read_cut(top);
                symbols[k] = missed;
                values[l][i] = std::bit_cast<T>(read.bits);
                next[l] += read.length;
                good = good && read.length > 0 &&
                       bit_cut<T>::exponent_of(read.bits) != fields::exponent / fields::exponent_one;
            }
        }
    std::size_t end = 0;
    for (std::size_t l = 0; l < Lanes; ++l) good = good && ends_at(src, next[l], end += facts.bytes[l]);
    if constexpr (Predicts)
        for (std::size_t i = 0; i < std::min<std::size_t>(4, at.steps()); ++i)
            for (std::size_t l = 0; l < at.active(i); ++l)
                good =
                    good && (symbols[i * Lanes + l] == missed || symbols[i * Lanes + l] < orders_at<Rule>(i));
    if (!good) return status::corrupt;

    if constexpr (Predicts)
        restore_values<Lanes, true>(
            out, at, facts.offset, symbols, [](std::size_t, std::size_t, T cut) { return cut; },
            [](T value, T) { return value; });
    return put_exceptions(src, facts, out);
}

template <std::size_t Lanes, bool Predicts, beginning Rule, native_float T>
status decode(const_byte_span src, std::span<T> out, T limit) noexcept
{
    const bit_cut<T> cutter(limit);
    return decode_with<Lanes, Predicts, Rule>(src, out, [&](std::uint64_t top) { return cutter.read(top); });
}

template <native_float T, bool Predicts, beginning Rule>
encode_result encode_lanes(std::span<const T> in, byte_span dst, T limit) noexcept
{
    return encode<most_lanes, Predicts, Rule>(in, dst, limit);
}
template <native_float T, bool Predicts, beginning Rule>
status decode_lanes(const_byte_span src, std::span<T> out, T limit) noexcept
{
    return decode<most_lanes, Predicts, Rule>(src, out, limit);
}

}  // namespace portable

CCOLL_EXACT_END

template <native_float T, bool Predicts, beginning Rule>
inline constexpr by_isa chunk_encoders{CCOLL_UP_TO_AVX2(encode_lanes<T, Predicts, Rule>)};
template <native_float T, bool Predicts, beginning Rule>
inline constexpr by_isa chunk_decoders{CCOLL_UP_TO_AVX2(decode_lanes<T, Predicts, Rule>)};

/// @tparam Predicts  BitZip; otherwise all values are cut, and keep their sign
template <native_float T, bool Predicts, beginning Rule = beginning::three_kept>
struct chunk_coder {
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;
    static constexpr bool predicts = Predicts;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const exact_environment environment;
        const T limit = limit_of<T>(eb);
        if (!(limit > 0)) return {0, status::unsupported};
        if (lanes_of(in.size()) == 1) return portable::encode<1, Predicts, Rule>(in, dst, limit);
        return chunk_encoders<T, Predicts, Rule>.in_use()(in, dst, limit);
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        const exact_environment environment;
        const T limit = limit_of<T>(eb);
        if (!(limit > 0)) return status::corrupt;
        if (lanes_of(out.size()) == 1) return portable::decode<1, Predicts, Rule>(src, out, limit);
        return chunk_decoders<T, Predicts, Rule>.in_use()(src, out, limit);
    }
    /// A chunk whose streams have other codes for values that were cut.
    /// @param read_cut  the next 64 bits -> bit_cut<T>::value
    template <class ReadCut>
    static status decode_chunk_with(const_byte_span src, std::span<T> out, const ReadCut& read_cut) noexcept
    {
        const exact_environment environment;
        if (lanes_of(out.size()) == 1) return portable::decode_with<1, Predicts, Rule>(src, out, read_cut);
        return portable::decode_with<most_lanes, Predicts, Rule>(src, out, read_cut);
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
