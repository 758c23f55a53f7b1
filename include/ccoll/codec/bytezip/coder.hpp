// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bytezip/coder.hpp - floor 2. Chunks of Codec::ByteZip.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/bitzip/avx2_bytes.hpp>
#include <ccoll/codec/bitzip/lanes.hpp>
#include <ccoll/codec/bitzip/limit.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::bytezip {

using namespace bitzip;

CCOLL_EXACT_BEGIN

namespace portable {

/// What predictions see of a kept value. NaN or Inf would spoil the next four.
template <native_float T>
T settled(T value, T last) noexcept
{
    CCOLL_EXACT_BODY
    return fields_of<T>::magnitude(value) < fields_of<T>::exponent ? value : last;
}

template <std::size_t Lanes, native_float T>
encode_result encode(std::span<const T> in, byte_span dst, T limit) noexcept
{
    const std::size_t n = in.size();
    const lane_ranges at(n);
    std::uint8_t symbols[max_chunk_elements + Lanes];
    std::size_t kept = 0;
    predict_values<beginning::as_they_come, Lanes>(in, at, T(0), limit, symbols,
                                                   [&](std::size_t, std::size_t, T x, std::uint8_t&, T last) {
                                                       ++kept;
                                                       return settled(x, last);
                                                   });
    const std::size_t bytes = n + kept * sizeof(T);
    if (bytes >= std::min(dst.size(), in.size_bytes())) return {0, status::out_of_space};
    std::byte* symbol = dst.data();
    std::byte* value = dst.data() + n;
    const std::byte* const end = dst.data() + bytes;
    for (std::size_t l = 0; l < Lanes; ++l)
        for (std::size_t i = 0; i < at.length(l); ++i) {
            const std::uint8_t s = symbols[i * Lanes + l];
            *symbol++ = static_cast<std::byte>(s);
            // A value that is not kept is written as well, and then over it: this is faster than to ask.
            if (value == end) continue;
            std::memcpy(value, &in[at.start(l) + i], sizeof(T));
            value += s == missed ? sizeof(T) : 0;
        }
    return {bytes, status::ok, 0};
}

template <std::size_t Lanes, native_float T>
status decode(const_byte_span src, std::span<T> out, T) noexcept
{
    // Nothing is checked after this: the symbols are valid, and the kept values fill the chunk.
    const std::size_t n = out.size();
    if (src.size() < n) return status::corrupt;
    const lane_ranges at(n);
    const std::byte* next[Lanes];
    std::size_t kept = 0;
    unsigned highest = 0;
    for (std::size_t l = 0; l < Lanes; ++l) {
        const std::byte* const symbol = src.data() + at.start(l);
        std::size_t missing = 0;
        for (std::size_t i = 0; i < at.length(l); ++i) {
            const auto s = static_cast<unsigned>(symbol[i]);
            missing += s == missed;
            highest = std::max(highest, s);
        }
        next[l] = src.data() + n + kept * sizeof(T);
        kept += missing;
    }
    if (highest > missed || src.size() != n + kept * sizeof(T)) return status::corrupt;

    std::uint8_t symbols[max_chunk_elements + Lanes];
    for (std::size_t l = 0; l < Lanes; ++l)
        for (std::size_t i = 0; i < at.length(l); ++i)
            symbols[i * Lanes + l] = static_cast<std::uint8_t>(src[at.start(l) + i]);
    for (std::size_t i = 0; i < std::min<std::size_t>(4, at.steps()); ++i)
        for (std::size_t l = 0; l < at.active(i); ++l)
            if (symbols[i * Lanes + l] < missed &&
                symbols[i * Lanes + l] >= orders_at<beginning::as_they_come>(i))
                return status::corrupt;
    restore_values<Lanes, false>(
        out, at, T(0), symbols,
        [&](std::size_t l, std::size_t, T) {
            T x;
            std::memcpy(&x, next[l], sizeof x);
            next[l] += sizeof x;
            return x;
        },
        [](T value, T last) { return settled(value, last); });
    return status::ok;
}

template <native_float T>
encode_result encode_lanes(std::span<const T> in, byte_span dst, T limit) noexcept
{
    return encode<most_lanes>(in, dst, limit);
}
template <native_float T>
status decode_lanes(const_byte_span src, std::span<T> out, T limit) noexcept
{
    return decode<most_lanes>(src, out, limit);
}

}  // namespace portable

CCOLL_EXACT_END

template <native_float T>
inline constexpr by_isa chunk_encoders{CCOLL_UP_TO_AVX2(encode_lanes<T>)};
template <native_float T>
inline constexpr by_isa chunk_decoders{CCOLL_UP_TO_AVX2(decode_lanes<T>)};

template <native_float T>
struct chunk_coder {
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const exact_environment environment;
        const T limit = limit_of<T>(eb);
        if (!(limit > 0)) return {0, status::unsupported};
        return lanes_of(in.size()) == 1 ? portable::encode<1>(in, dst, limit)
                                        : chunk_encoders<T>.in_use()(in, dst, limit);
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        const exact_environment environment;
        const T limit = limit_of<T>(eb);
        if (!(limit > 0)) return status::corrupt;
        return lanes_of(out.size()) == 1 ? portable::decode<1>(src, out, limit)
                                         : chunk_decoders<T>.in_use()(src, out, limit);
    }
};

}  // namespace detail::bytezip

}  // namespace ccoll::inline CCOLL_ABI
