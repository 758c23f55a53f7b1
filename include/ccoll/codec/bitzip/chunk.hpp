// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/chunk.hpp - floor 2. The chunks of BitZip, BitWise and BitCut, but for their streams.
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
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include <ccoll/codec/bitzip/bits.hpp>
#include <ccoll/codec/bitzip/lanes.hpp>
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

    /// @return corrupt unless the parts fill the chunk, each lane has a byte, and the chunk is shorter than n
    ///     values
    status read(const_byte_span chunk, std::size_t n) noexcept
    {
        lanes = lanes_of(n);
        if (chunk.size() < tail_bytes(lanes, 0) + lanes || chunk.size() >= n * sizeof(T))
            return status::corrupt;
        std::size_t at = chunk.size() - sizeof(T);
        offset = load<T>(chunk, at);
        exceptions = load<std::uint16_t>(chunk, at -= 2);
        at -= 2 * lanes;
        for (std::size_t l = 0; l < lanes; ++l) {
            bytes[l] = load<std::uint16_t>(chunk, at + 2 * l);
            if (bytes[l] == 0) return status::corrupt;
            streams_end += bytes[l];
        }
        return exceptions <= most_exceptions(n) && streams_end + tail_bytes(lanes, exceptions) == chunk.size()
                   ? status::ok
                   : status::corrupt;
    }
    /// Behind the streams.
    void write(byte_span chunk) const noexcept
    {
        std::size_t at = streams_end + exceptions * (2 + sizeof(T));
        for (std::size_t l = 0; l < lanes; ++l, at += 2)
            store(chunk, at, static_cast<std::uint16_t>(bytes[l]));
        store(chunk, at, static_cast<std::uint16_t>(exceptions));
        store(chunk, at + 2, offset);
    }
};

/// Values that do not fit into the streams.
struct exception_list {
    std::uint16_t place[most_exceptions(max_chunk_elements)];
    std::size_t count = 0, most;

    explicit exception_list(std::size_t n) noexcept : most(most_exceptions(n)) {}
    void add(std::size_t at) noexcept
    {
        if (count < most) place[count] = static_cast<std::uint16_t>(at);
        ++count;
    }
};

/// Writes all that stands behind the streams.
/// @param exceptions  at most `most`, in any order
template <native_float T>
encode_result write_tail(std::span<const T> in, byte_span dst, const chunk_facts<T>& facts,
                         exception_list& exceptions) noexcept
{
    std::sort(exceptions.place, exceptions.place + exceptions.count);
    std::byte* const places = dst.data() + facts.streams_end;
    for (std::size_t k = 0; k < exceptions.count; ++k) {
        std::memcpy(places + 2 * k, &exceptions.place[k], 2);
        std::memcpy(places + 2 * exceptions.count + k * sizeof(T), &in[exceptions.place[k]], sizeof(T));
    }
    facts.write(dst);
    return {facts.streams_end + facts.tail_bytes(facts.lanes, exceptions.count), status::ok,
            exceptions.count};
}

template <native_float T>
status put_exceptions(const_byte_span src, const chunk_facts<T>& facts, std::span<T> out) noexcept
{
    std::size_t lowest = 0;
    for (std::size_t k = 0; k < facts.exceptions; ++k) {
        const std::size_t place = load<std::uint16_t>(src, facts.streams_end + 2 * k);
        if (place < lowest || place >= out.size()) return status::corrupt;
        std::memcpy(&out[place], src.data() + facts.streams_end + 2 * facts.exceptions + k * sizeof(T),
                    sizeof(T));
        lowest = place + 1;
    }
    return status::ok;
}

/// May a reader meet this offset?
template <bool Predicts, native_float T>
bool is_offset(T offset) noexcept
{
    using fields = fields_of<T>;
    return Predicts ? fields::magnitude(offset) < fields::exponent : fields::of(offset) == 0;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
