// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/half.hpp - floor 2. Every lossy codec of float also serves half, bfloat16 and their kin: chunks of
// two-byte numbers travel as chunks of floats.
//
// movement   a chunk of the float codec for the bound e(k), then i8 k. e(k): eb - 2^k, or eb / 2 if k is 127
// addends    a chunk of the float codec for the bound eb
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/half.hpp>
#include <ccoll/base/half_kernels.hpp>
#include <ccoll/codec/codec_impl.hpp>
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

/// The exponent of half the distance between neighbours in T at largest + eb, or of more, if that is less
/// than eb / 2.
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

/// A declared value is the float with the same value.
template <small_float T>
missing_value as_floats(missing_value m) noexcept
{
    if (!m.declared) return m;
    const T x = std::bit_cast<T>(static_cast<std::uint16_t>(m.bits));
    float y;
    wideners<T>.in_use()(&x, &y, 1);
    return {std::bit_cast<std::uint32_t>(y), true};
}
template <small_float T>
field_facts as_floats(const field_facts& field) noexcept
{
    return {field.eb, field.strides, as_floats<T>(field.missing)};
}

/// Chunks of T by the float codec.
///
/// The bound holds in T. Let x be in T, x' what the float codec makes of it, r the finite number of T nearest
/// to x'. Then |r - x'| <= |x - x'|, because x is such a number as well. With |x' - x| <= eb / 2, |r - x| <=
/// eb. And |r - x'| is at most h, half the distance between the neighbours of x' in T (beyond the largest
/// number, r lies between x and x', and |r - x| <= |x' - x|): with |x' - x| <= eb - h, |r - x| <= eb as well.
/// The encoder takes the larger of eb - h and eb / 2, and says which. NaN and Inf are those of the float
/// codec: bit for bit, since conversions keep what T can hold of a NaN.
template <class Tag, small_float T>
struct movement_coder {
    using Float = codec_impl<Tag, float, host_space>;
    static constexpr std::size_t chunk_elements = Float::chunk_elements;
    /// Where the number that comes with a chunk is a rate, there is no bound to be divided.
    static constexpr bool at_rate = [] {
        if constexpr (requires { Float::at_rate; }) return bool{Float::at_rate};
        else return false;
    }();

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
    {
        const exact_environment environment;
        alignas(64) float x[chunk_elements];
        alignas(64) std::byte room[chunk_elements * sizeof(float)];
        wideners<T>.in_use()(in.data(), x, in.size());
        const int k =
            at_rate ? 0 : rounding_exponent<T>(largest_finders<T>.in_use()(in.data(), in.size()), field.eb);
        field_facts of_floats = as_floats<T>(field);
        if (!at_rate) of_floats.eb = bound_for(field.eb, k);
        if (!is_bound(of_floats.eb)) return {0, status::unsupported};
        encode_result r =
            chunked<Tag, float>::encode_one(std::span<const float>(x, in.size()), room, of_floats);
        if (r.code != status::ok) return r;
        if (1 + r.bytes > dst.size()) return {0, status::out_of_space};
        std::memcpy(dst.data(), room, r.bytes);
        dst[r.bytes] = static_cast<std::byte>(k);  // behind the chunk, whose words stay aligned
        r.bytes += 1;
        return r;
    }
    static status decode_chunk(const frame_view::piece& src, std::span<T> out, double eb,
                               decoded_facts facts) noexcept
    {
        const exact_environment environment;
        alignas(64) float x[chunk_elements];
        if (src.data.empty()) return status::corrupt;
        const auto last = src.data.back();
        const double bound = at_rate ? eb : bound_for(eb, static_cast<std::int8_t>(last));
        if (!is_bound(bound) || (at_rate && last != std::byte{0})) return status::corrupt;
        facts.how = stores::cached;
        facts.behind = 0;
        const frame_view::piece of_floats{src.data.first(src.data.size() - 1), src.readable + 1, false};
        const status s =
            chunked<Tag, float>::decode_chunk(of_floats, std::span<float>(x, out.size()), bound, facts);
        if (s == status::ok) range_rounders<T>.in_use()(x, out.data(), out.size());
        return s;
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        return decode_chunk({src, 0, false}, out, eb, {});
    }
};

template <class Tag, small_float T>
struct coder : movement_coder<Tag, T> {};

/// Addends and sums are those of the float codec. A decoded sum is rounded to T, as arithmetic in T would
/// round the exact one.
template <class Tag, small_float T>
    requires homomorphic_chunk_codec<codec_impl<Tag, float, host_space>, float>
struct coder<Tag, T> : movement_coder<Tag, T> {
    using typename movement_coder<Tag, T>::Float;
    static constexpr bool adds_non_finite = Float::adds_non_finite;
    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept
    {
        return Float::max_addend_bytes(n);
    }
    static bool can_add(double largest, double eb, std::size_t addends) noexcept
    {
        return Float::can_add(largest, eb, addends);
    }

    static double addend_step(double eb) noexcept
    {
        if constexpr (requires { Float::addend_step(eb); }) return Float::addend_step(eb);
        else return 0;
    }

    static encode_result encode_addend(std::span<const T> in, byte_span dst,
                                       const field_facts& field) noexcept
    {
        alignas(64) float x[Float::chunk_elements];
        wideners<T>.in_use()(in.data(), x, in.size());
        return chunked_addends<Tag, float>::encode_one(std::span<const float>(x, in.size()), dst,
                                                       as_floats<T>(field));
    }
    static status decode_addend(const frame_view::piece& src, std::span<T> out, double eb,
                                decoded_facts facts) noexcept
    {
        alignas(64) float x[Float::chunk_elements];
        facts.how = stores::cached;
        facts.behind = 0;
        facts.missing = as_floats<T>(facts.missing);
        const status s = chunked<Tag, float>::decode_addend(src, std::span<float>(x, out.size()), eb, facts);
        if (s == status::ok) rounders<T>.in_use()(x, out.data(), out.size());
        return s;
    }
    static status decode_addend(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        return decode_addend({src, 0, false}, out, eb, {});
    }
    static encode_result add_chunks(const frame_view::piece& a, const frame_view::piece& b, std::size_t n,
                                    byte_span dst) noexcept
    {
        return chunked_addends<Tag, float>::add_pieces(a, b, n, dst);
    }
    static encode_result add_chunks(const_byte_span a, const_byte_span b, std::size_t n,
                                    byte_span dst) noexcept
    {
        return Float::add_chunks(a, b, n, dst);
    }
};

}  // namespace detail::two_byte

/// Your codec for float serves T without another line. If you also specialise codec_impl for T, that one is
/// used.
template <class Tag, small_float T>
    requires(Tag::lossy && chunk_codec<codec_impl<Tag, float, host_space>, float>)
struct codec_impl<Tag, T, host_space> : detail::two_byte::coder<Tag, T> {
    static constexpr bool pipelined = detail::chunked<Tag, float>::pipelined;
    static constexpr std::size_t elements_between_polls = detail::chunked<Tag, float>::elements_between_polls;
};

}  // namespace ccoll::inline CCOLL_ABI
