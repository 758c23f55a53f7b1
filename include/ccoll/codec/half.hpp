// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/half.hpp - floor 2. Every lossy codec of float also serves half, bfloat16
// and their kin: chunks of two-byte numbers travel as chunks of floats.
//
// movement   a chunk of the float codec for the bound e(k), then i8 k. e(k): eb - 2^k, or eb / 2 if k is 127
// addends    a chunk of the float codec for the bound eb
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/half.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/half/kernels.hpp>
#include <ccoll/codec/lookup.hpp>
#include <ccoll/policy/error_bound.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::two_byte {

CCOLL_EXACT_BEGIN

inline constexpr int halved = 127;

/// The bound for the float codec.
inline double bound_for(double eb, int k) noexcept
{
    CCOLL_EXACT_BODY
    // The factor takes away more than the rounding error of the difference.
    return k == halved ? eb / 2 : (eb - std::ldexp(1.0, k)) * (1 - 0x1p-50);
}

/// The exponent of half the distance between neighbours in T at largest + eb, or of more, if that is less than eb / 2.
template <small_float T>
int rounding_exponent(float largest, double eb) noexcept
{
    CCOLL_EXACT_BODY
    constexpr int bits = 15 - exponent_bits_of<T>, least = exponent_bits_of<T> == 5 ? -14 : -126;
    const double most = (static_cast<double>(largest) + eb) * (1 + 0x1p-50);
    const int k = std::max(std::max(std::ilogb(most), least) - bits - 1, -128);
    return k < halved && std::ldexp(1.0, k) < eb / 2 ? k : halved;
}

CCOLL_EXACT_END

/// Chunks of T by the float codec.
///
/// The bound holds in T. Let x be in T, x' what the float codec makes of it, r the finite number of T nearest to x'. Then
/// |r - x'| <= |x - x'|, because x is such a number as well. With |x' - x| <= eb / 2, |r - x| <= eb. And |r - x'| is at most h, half the
/// distance between the neighbours of x' in T (beyond the largest number, r lies between x and x', and |r - x| <= |x' - x|): with |x' - x|
/// <= eb - h, |r - x| <= eb as well. The encoder takes the larger of eb - h and eb / 2, and says which. NaN and Inf are those of the float
/// codec: bit for bit, since conversions keep what T can hold of a NaN.
template <class Float, small_float T>
struct movement_coder {
    static constexpr std::size_t chunk_elements = Float::chunk_elements;
    /// Where the number that comes with a chunk is a rate, there is no bound to be divided.
    static constexpr bool at_rate = [] {
        if constexpr (requires { Float::at_rate; }) return bool{Float::at_rate};
        else return false;
    }();

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const exact_environment environment;
        float x[chunk_elements];
        std::byte room[sizeof x];  // a codec may use as many bytes as its values have
        wideners<T>.in_use()(in.data(), x, in.size());
        const int k = at_rate ? 0 : rounding_exponent<T>(largest_finders.in_use()(x, in.size()), eb);
        const double bound = at_rate ? eb : bound_for(eb, k);
        if (!is_bound(bound)) return {0, status::unsupported};
        encode_result r = Float::encode_chunk(std::span<const float>(x, in.size()), byte_span(room, in.size() * sizeof(float)), bound);
        if (r.code != status::ok) return r;
        if (1 + r.bytes > dst.size()) return {0, status::out_of_space};
        std::memcpy(dst.data(), room, r.bytes);
        dst[r.bytes] = static_cast<std::byte>(k);  // behind the chunk, whose words stay aligned
        r.bytes += 1;
        return r;
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        const exact_environment environment;
        float x[chunk_elements];
        if (src.empty()) return status::corrupt;
        const double bound = at_rate ? eb : bound_for(eb, static_cast<std::int8_t>(src.back()));
        if (!is_bound(bound) || (at_rate && src.back() != std::byte{0})) return status::corrupt;
        if (const status s = Float::decode_chunk(src.first(src.size() - 1), std::span<float>(x, out.size()), bound); s != status::ok)
            return s;
        range_rounders<T>.in_use()(x, out.data(), out.size());
        return status::ok;
    }
};

template <class Float, small_float T>
struct coder : movement_coder<Float, T> {};

/// Addends and sums are those of the float codec. A decoded sum is rounded to T, as arithmetic in T would round the exact one.
template <class Float, small_float T>
    requires homomorphic_chunk_codec<Float, float>
struct coder<Float, T> : movement_coder<Float, T> {
    static constexpr bool adds_non_finite = Float::adds_non_finite;
    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept { return Float::max_addend_bytes(n); }
    static constexpr std::size_t self_checked_addends = [] {
        if constexpr (requires { Float::self_checked_addends; }) return std::size_t{Float::self_checked_addends};
        else return std::size_t{0};
    }();
    static constexpr bool adds_one_fill_value = [] {
        if constexpr (requires { Float::adds_one_fill_value; }) return bool{Float::adds_one_fill_value};
        else return false;
    }();
    static void put_fills(const_byte_span chunk, std::span<T> out, int times) noexcept
    {
        using plain = float16<exponent_bits_of<T>>;  // has the bits of T, whoever defined that
        if constexpr (adds_one_fill_value)
            Float::put_fills(chunk, std::span<plain>(reinterpret_cast<plain*>(out.data()), out.size()), times);
    }
    static bool can_add(double largest, double eb, std::size_t addends) noexcept { return Float::can_add(largest, eb, addends); }

    static double addend_step(double eb) noexcept
    {
        if constexpr (requires { Float::addend_step(eb); }) return Float::addend_step(eb);
        else return 0;
    }

    static encode_result encode_addend(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        float x[Float::chunk_elements];
        wideners<T>.in_use()(in.data(), x, in.size());
        return Float::encode_addend(std::span<const float>(x, in.size()), dst, eb);
    }
    static status decode_addend(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        float x[Float::chunk_elements];
        if (const status s = Float::decode_addend(src, std::span<float>(x, out.size()), eb); s != status::ok) return s;
        rounders<T>.in_use()(x, out.data(), out.size());
        return status::ok;
    }
    static encode_result add_chunks(const_byte_span a, const_byte_span b, std::size_t n, byte_span dst) noexcept
    {
        return Float::add_chunks(a, b, n, dst);
    }
    static encode_result combine_chunks(std::int32_t factor_a, const_byte_span a, std::int32_t factor_b, const_byte_span b, std::size_t n,
                                        byte_span dst) noexcept
        requires linear_chunk_codec<Float, float>
    {
        return Float::combine_chunks(factor_a, a, factor_b, b, n, dst);
    }
};

}  // namespace detail::two_byte

/// Your codec for float serves T without another line. If you also specialise codec_impl for T, that one is used.
template <class Tag, small_float T>
    requires(Tag::lossy && chunk_codec<codec_impl<Tag, float, host_space>, float>)
struct codec_impl<Tag, T, host_space> : detail::two_byte::coder<codec_impl<Tag, float, host_space>, T> {
    static constexpr bool pipelined = detail::chunked<Tag, float>::pipelined;
    static constexpr std::size_t elements_between_polls = detail::chunked<Tag, float>::elements_between_polls;
};

}  // namespace ccoll::inline CCOLL_ABI
