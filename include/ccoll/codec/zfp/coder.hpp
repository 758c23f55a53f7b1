// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/coder.hpp - floor 2. Chunks of Codec::Zfp, with a bound or at a rate.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <ccoll/codec/bitzip/limit.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/zfp/kernels.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::zfp {

/// @tparam AtRate  the number that comes with a chunk is not a bound but a rate: bits per value
template <native_float T, bool AtRate>
struct chunk_coder {
    static constexpr bool at_rate = AtRate;
    using coder = block<T>;
    using fields = fields_of<T>;
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const exact_environment environment;
        const T limit = AtRate ? T(1) : bitzip::limit_of<T>(eb);
        if (!(limit > 0)) return {0, status::unsupported};
        const precision wanted = precision_of(eb);
        const std::size_t n = in.size(), blocks = (n + block_values - 1) / block_values,
                          room = std::min(dst.size(), in.size_bytes());
        if (wanted.block_bits > most_block_bits || blocks * wanted.block_bits / 8 >= room)
            return {0, status::out_of_space};

        // A piece at a time, because a stream that turns out to be too long would not fit into dst.
        constexpr std::size_t piece_values = 1024;
        std::byte piece[piece_values / block_values * most_block_bits / 8 + 1 + slack_bytes];
        std::uint16_t places[chunk_elements / 8 + 1];
        exception_list list{places, n / 8};
        std::size_t bytes = 0;  // whole ones
        unsigned held = 0;      // bits of the next one
        for (; list.first < n; list.first += piece_values) {
            const auto values = in.subspan(list.first, std::min(piece_values, n - list.first));
            const std::size_t end =
                stream_encoders<T>.in_use()(values, wanted, AtRate ? T(0) : limit, piece, held, list);
            if (end == nowhere) return {0, status::unsupported};
            if (bytes + (end + 7) / 8 >= room) return {0, status::out_of_space};
            std::memcpy(dst.data() + bytes, piece, (end + 7) / 8);
            bytes += end / 8;
            held = static_cast<unsigned>(end % 8);
            piece[0] = piece[end / 8];
        }
        bytes += held != 0;
        const std::size_t exceptions = list.count, all = bytes + exceptions * (2 + sizeof(T)) + 2;
        if (all >= room) return {0, status::out_of_space};
        for (std::size_t k = 0; k < exceptions; ++k) {
            store(dst, bytes + 2 * k, places[k]);
            std::memcpy(dst.data() + bytes + 2 * exceptions + k * sizeof(T), &in[places[k]], sizeof(T));
        }
        store(dst, all - 2, static_cast<std::uint16_t>(exceptions));
        return {all, status::ok, exceptions};
    }

    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        const exact_environment environment;
        if (!AtRate && !(bitzip::limit_of<T>(eb) > 0)) return status::corrupt;
        const precision wanted = precision_of(eb);
        if (src.size() < 3 || wanted.block_bits > most_block_bits) return status::corrupt;
        const std::size_t n = out.size(), exceptions = load<std::uint16_t>(src, src.size() - 2),
                          behind = exceptions * (2 + sizeof(T)) + 2;
        if (src.size() < behind + 1) return status::corrupt;
        const const_byte_span stream = src.first(src.size() - behind);
        const std::size_t end = stream_decoders<T>.in_use()(stream, wanted, out);
        if (end > 8 * stream.size() || (end + 7) / 8 != stream.size() || bit_source(stream).peek(end) != 0)
            return status::corrupt;
        std::size_t lowest = 0;
        for (std::size_t k = 0; k < exceptions; ++k) {
            const std::size_t place = load<std::uint16_t>(src, stream.size() + 2 * k);
            if (place < lowest || place >= n) return status::corrupt;
            std::memcpy(&out[place], src.data() + stream.size() + 2 * exceptions + k * sizeof(T), sizeof(T));
            lowest = place + 1;
        }
        return status::ok;
    }

private:
    /// Exponent, and four bits for each plane and one for each of the three searches that succeed.
    static constexpr std::size_t most_block_bits =
        coder::header_bits + 4 * static_cast<std::size_t>(fields::word_bits) + 4;

    static precision precision_of(double eb) noexcept
    {
        if constexpr (!AtRate) return {0, static_cast<int>(std::bit_cast<std::uint64_t>(eb) >> 52) - 1023};
        const double bits = std::clamp(eb, 0.0, 1000.0) * block_values;
        return {std::max<std::size_t>(static_cast<std::size_t>(bits + 0.5), coder::header_bits), -1074};
    }
};

}  // namespace detail::zfp

/// Four values at a time become an exponent and four coefficients, of which the bit planes above the bound
/// are kept.
///

}  // namespace ccoll::inline CCOLL_ABI
