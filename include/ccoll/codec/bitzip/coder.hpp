// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/coder.hpp - floor 2. The chunks of BitZip, BitWise and BitCut.
//
//   chunk   streams             of bits, one for each lane, whole bytes each
//   ..      u16 place[k]        values that the streams cannot hold: where they stand in the chunk
//   ..      T value[k]          and what they are
//   ..      u16 bytes[lanes]    of the streams
//   ..      u16 k
//   ..      T offset            the least value of the chunk; 0 in BitCut
//
// The facts stand behind the streams, so that a reader may load 8 bytes from any place of a stream.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <ccoll/codec/bitzip/bits.hpp>
#include <ccoll/codec/bitzip/cut.hpp>
#include <ccoll/codec/bitzip/flattened.hpp>
#include <ccoll/codec/bitzip/lanes.hpp>
#include <ccoll/codec/bitzip/limit.hpp>
#include <ccoll/codec/codec_impl.hpp>

namespace ccoll::inline CCOLL_ABI::detail::bitzip {

/// More exceptions, and a chunk travels raw.
constexpr std::size_t most_exceptions(std::size_t n) noexcept { return n / 8 + 1; }

/// The facts of a chunk, with the places of its parts. Reading them is total.
template <native_float T>
struct chunk_facts {
    std::size_t bytes[most_lanes] = {};  ///< of the streams
    std::size_t exceptions = 0, lanes = 0;
    std::size_t streams_end = 0;  ///< where the places begin
    T offset = 0;

    static constexpr std::size_t tail_bytes(std::size_t lanes, std::size_t exceptions) noexcept
    {
        return exceptions * (2 + sizeof(T)) + 2 * lanes + 2 + sizeof(T);
    }

    /// @return corrupt unless the parts fill the chunk, and each lane has a byte
    status read(const_byte_span chunk, std::size_t n) noexcept
    {
        lanes = lanes_of(n);
        if (chunk.size() < tail_bytes(lanes, 0) + lanes) return status::corrupt;
        std::size_t at = chunk.size() - sizeof(T);
        offset = load<T>(chunk, at);
        exceptions = load<std::uint16_t>(chunk, at -= 2);
        at -= 2 * lanes;
        for (std::size_t l = 0; l < lanes; ++l) {
            bytes[l] = load<std::uint16_t>(chunk, at + 2 * l);
            if (bytes[l] == 0) return status::corrupt;
            streams_end += bytes[l];
        }
        return exceptions <= most_exceptions(n) && streams_end + tail_bytes(lanes, exceptions) == chunk.size() ? status::ok
                                                                                                               : status::corrupt;
    }
    /// Behind the streams.
    void write(byte_span chunk) const noexcept
    {
        std::size_t at = streams_end + exceptions * (2 + sizeof(T));
        for (std::size_t l = 0; l < lanes; ++l, at += 2) store(chunk, at, static_cast<std::uint16_t>(bytes[l]));
        store(chunk, at, static_cast<std::uint16_t>(exceptions));
        store(chunk, at + 2, offset);
    }
};

/// @tparam Predicts  BitZip; otherwise all values are cut, and keep their sign
template <native_float T, bool Predicts, beginning Rule = beginning::three_kept>
struct chunk_coder {
    using fields = fields_of<T>;
    using word = typename fields::word;
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;
    static constexpr bool predicts = Predicts;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const exact_environment environment;
        const T limit = limit_of<T>(eb);
        if (!(limit > 0)) return {0, status::unsupported};
        return lanes_of(in.size()) == 1 ? encode<1>(in, dst, limit) : chunk_encoders<chunk_coder, T>.in_use()(in, dst, limit);
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        const exact_environment environment;
        const T limit = limit_of<T>(eb);
        if (!(limit > 0)) return status::corrupt;
        return lanes_of(out.size()) == 1 ? decode<1>(src, out, limit) : chunk_decoders<chunk_coder, T>.in_use()(src, out, limit);
    }

private:
    /// The least finite value; false if there is none. Of two zeros +0.
    static bool find_offset(std::span<const T> in, T& offset) noexcept
    {
        T least = std::numeric_limits<T>::infinity();
        for (const T v : in) {
            const bool lower = v < least && v >= -std::numeric_limits<T>::max();
            least = lower ? v : least;
        }
        offset = least + T(0);
        return least <= std::numeric_limits<T>::max();
    }

    /// Values that do not fit into the streams.
    struct exception_list {
        std::uint16_t place[most_exceptions(chunk_elements)];
        std::size_t count = 0, most;

        void add(std::size_t at) noexcept
        {
            if (count < most) place[count] = static_cast<std::uint16_t>(at);
            ++count;
        }
    };

    CCOLL_EXACT_BEGIN

    static bool holds(T kept, T offset, T x, T limit) noexcept
    {
        CCOLL_EXACT_BODY
        return std::fabs((kept + offset) - x) < limit;
    }

    template <std::size_t Lanes>
    static void plan(std::span<const T> in, const lane_ranges& at, const bit_cut<T>& cutter, T offset, T limit, std::uint8_t* symbols,
                     word* words, exception_list& exceptions) noexcept
    {
        CCOLL_EXACT_BODY
        if constexpr (Predicts) {
            predict_values<Rule, Lanes>(in, at, offset, limit, symbols,
                                        [&](std::size_t l, std::size_t i, T x, std::uint8_t& symbol, T last) {
                                            CCOLL_EXACT_BODY
                                            word& kept = words[i * Lanes + l];
                                            kept = cutter.cut(fields::of(x - offset));
                                            if (holds(std::bit_cast<T>(kept), offset, x, limit)) return std::bit_cast<T>(kept);
                                            exceptions.add(at.start(l) + i);
                                            kept = 0;
                                            if (orders_at<Rule>(i) == 0) return T(0);
                                            symbol = 0;
                                            return last;
                                        });
        } else {
            for (std::size_t i = 0; i < at.steps(); ++i)
                for (std::size_t l = 0; l < at.active(i); ++l) {
                    const T x = in[at.start(l) + i];
                    const word kept = cutter.cut(fields::of(x));
                    const bool good = holds(std::bit_cast<T>(kept), T(0), x, limit);
                    symbols[i * Lanes + l] = missed;
                    words[i * Lanes + l] = good ? kept : word{0};
                    if (!good) exceptions.add(at.start(l) + i);
                }
        }
    }

    CCOLL_EXACT_END

public:
    // What the loops of an instruction set are made of (bitzip/flattened.hpp).

    template <std::size_t Lanes>
    static encode_result encode(std::span<const T> in, byte_span dst, T limit) noexcept
    {
        const std::size_t n = in.size();
        const lane_ranges at(n);
        const bit_cut<T> cutter(limit);
        chunk_facts<T> facts;
        facts.lanes = Lanes;
        if (Predicts && !find_offset(in, facts.offset)) return {0, status::unsupported};

        std::uint8_t symbols[chunk_elements + Lanes];
        word words[chunk_elements + Lanes];
        exception_list exceptions;
        exceptions.most = most_exceptions(n);
        plan<Lanes>(in, at, cutter, facts.offset, limit, symbols, words, exceptions);
        if (exceptions.count > exceptions.most) return {0, status::unsupported};
        facts.exceptions = exceptions.count;

        const std::size_t room = std::min(dst.size(), in.size_bytes()), tail = facts.tail_bytes(Lanes, exceptions.count);
        std::byte stream[(chunk_elements / most_lanes) * sizeof(T) + slack_bytes];
        for (std::size_t l = 0; l < Lanes; ++l) {
            bit_writer to(stream);
            for (std::size_t i = 0; i < at.length(l); ++i) {
                const std::size_t k = i * Lanes + l;
                if (symbols[k] < missed) to.put_few(4u | symbols[k], 3);
                else to.put(cutter.code(words[k]), cutter.code_bits(words[k]));
            }
            facts.bytes[l] = to.bytes();
            if (facts.streams_end + to.bytes() + tail >= room) return {0, status::out_of_space};
            std::memcpy(dst.data() + facts.streams_end, stream, to.bytes());
            facts.streams_end += to.bytes();
        }
        std::sort(exceptions.place, exceptions.place + exceptions.count);
        for (std::size_t k = 0; k < exceptions.count; ++k) {
            store(dst, facts.streams_end + 2 * k, exceptions.place[k]);
            std::memcpy(dst.data() + facts.streams_end + 2 * exceptions.count + k * sizeof(T), &in[exceptions.place[k]], sizeof(T));
        }
        facts.write(dst);
        return {facts.streams_end + tail, status::ok, exceptions.count};
    }

    template <std::size_t Lanes>
    static status decode(const_byte_span src, std::span<T> out, T limit) noexcept
    {
        const std::size_t n = out.size();
        const lane_ranges at(n);
        const bit_cut<T> cutter(limit);
        chunk_facts<T> facts;
        if (const status s = facts.read(src, n); s != status::ok) return s;
        if (Predicts ? !(fields::magnitude(facts.offset) < fields::exponent) : fields::of(facts.offset) != 0) return status::corrupt;

        std::uint8_t symbols[chunk_elements + Lanes];
        word words[chunk_elements + Lanes];
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
                    const word kept = cutter.decode(top);
                    symbols[k] = missed;
                    words[k] = kept;
                    next[l] += cutter.code_bits(kept);
                    good =
                        good && bit_cut<T>::exponent_of(kept) != fields::exponent / fields::exponent_one && (kept != 0 || top >> 63 == 0);
                }
            }
        std::size_t end = 0;
        for (std::size_t l = 0; l < Lanes; ++l) good = good && ends_at(src, next[l], end += facts.bytes[l]);
        if constexpr (Predicts)
            for (std::size_t i = 0; i < std::min<std::size_t>(4, at.steps()); ++i)
                for (std::size_t l = 0; l < at.active(i); ++l)
                    good = good && (symbols[i * Lanes + l] == missed || symbols[i * Lanes + l] < orders_at<Rule>(i));
        if (!good) return status::corrupt;

        if constexpr (Predicts) {
            restore_values<Lanes, true>(
                out, at, facts.offset, symbols, [&](std::size_t l, std::size_t i) { return std::bit_cast<T>(words[i * Lanes + l]); },
                [](T value, T) { return value; });
        } else {
            for (std::size_t i = 0; i < at.steps(); ++i)
                for (std::size_t l = 0; l < at.active(i); ++l) out[at.start(l) + i] = std::bit_cast<T>(words[i * Lanes + l]);
        }
        return put_exceptions(src, facts, out);
    }

private:
    static status put_exceptions(const_byte_span src, const chunk_facts<T>& facts, std::span<T> out) noexcept
    {
        std::size_t lowest = 0;
        for (std::size_t k = 0; k < facts.exceptions; ++k) {
            const std::size_t place = load<std::uint16_t>(src, facts.streams_end + 2 * k);
            if (place < lowest || place >= out.size()) return status::corrupt;
            std::memcpy(&out[place], src.data() + facts.streams_end + 2 * facts.exceptions + k * sizeof(T), sizeof(T));
            lowest = place + 1;
        }
        return status::ok;
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
