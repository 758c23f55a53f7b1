// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/half.hpp - floor 0. Floating-point numbers that are stored in two bytes and computed with as float.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

CCOLL_EXACT_BEGIN

/// `which ? yes : no` without a branch, because a branch would keep compilers from vectorising loops.
CCOLL_HOST_DEVICE constexpr std::int32_t select(bool which, std::int32_t yes, std::int32_t no) noexcept
{
    return no ^ ((yes ^ no) & -static_cast<std::int32_t>(which));
}

/// A format of two bytes, named by the number of its exponent bits. Conversions keep as many bits of a NaN as
/// fit. They give the same bits in every rounding mode, and whether or not the processor flushes denormals,
/// because they use only integers and arithmetic that is exact. They give them in kernels as well.
template <int ExponentBits>
struct float16_format;

/// IEEE 754 binary16.
template <>
struct float16_format<5> {
    static constexpr std::uint16_t largest = 0x7bff;

    CCOLL_HOST_DEVICE static constexpr float to_float(std::uint16_t h) noexcept
    {
        CCOLL_EXACT_BODY
        const std::int32_t magnitude = h & 0x7fff, sign = h - magnitude;
        const std::int32_t normal = (magnitude << 13) + select(magnitude >= 0x7c00, 0x70000000, 0x38000000);
        const auto denormal = __builtin_bit_cast(std::int32_t, static_cast<float>(magnitude) * 0x1p-24f);
        return __builtin_bit_cast(float,
                                  static_cast<std::uint32_t>(select(magnitude < 0x400, denormal, normal)) |
                                      static_cast<std::uint32_t>(sign) << 16);
    }
    /// Rounds to nearest, ties to even. 65520 and above become infinity.
    CCOLL_HOST_DEVICE static constexpr std::uint16_t from_float(float x) noexcept
    {
        CCOLL_EXACT_BODY
        const auto bits = __builtin_bit_cast(std::int32_t, x), magnitude = bits & 0x7fffffff;
        constexpr std::int32_t infinity = 0x7f800000, least_normal = 0x38800000,
                               beyond = 0x477ff000;  // 2^-14, 65520
        const std::int32_t payload = magnitude >> 13 & 0x3ff,
                           nan = payload | (static_cast<std::int32_t>(payload == 0) << 9);
        const std::int32_t special = 0x7c00 | select(magnitude > infinity, nan, 0);
        const std::int32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
        const float steps = __builtin_bit_cast(float, select(magnitude < least_normal, magnitude, 0)) *
                            0x1p24f;  // in units of 2^-24
        const auto whole = static_cast<std::int32_t>(steps);
        const float rest = steps - static_cast<float>(whole);
        const std::int32_t denormal = whole + (static_cast<std::int32_t>(rest > 0.5f) |
                                               (static_cast<std::int32_t>(rest == 0.5f) & whole));
        const std::int32_t rounded =
            select(magnitude < least_normal, denormal, select(magnitude < beyond, normal, special));
        return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | rounded);
    }
};

/// bfloat16: the upper half of a float.
template <>
struct float16_format<8> {
    static constexpr std::uint16_t largest = 0x7f7f;

    CCOLL_HOST_DEVICE static constexpr float to_float(std::uint16_t h) noexcept
    {
        return __builtin_bit_cast(float, std::uint32_t{h} << 16);
    }
    CCOLL_HOST_DEVICE static constexpr std::uint16_t from_float(float x) noexcept
    {
        const auto bits = __builtin_bit_cast(std::int32_t, x), magnitude = bits & 0x7fffffff,
                   top = magnitude >> 16;
        const std::int32_t nan = top | (static_cast<std::int32_t>((top & 0x7f) == 0) << 6);
        // Unsigned, because for the largest NaN the sum does not fit into 31 bits.
        const std::uint32_t nearest =
            static_cast<std::uint32_t>(magnitude) + 0x7fff + static_cast<std::uint32_t>(top & 1);
        const std::int32_t rounded = static_cast<std::int32_t>(nearest >> 16);
        return static_cast<std::uint16_t>((bits >> 16 & 0x8000) |
                                          select(magnitude > 0x7f800000, nan, rounded));
    }
};

CCOLL_EXACT_END

}  // namespace detail

/// A number of two bytes in memory and on the wire. + - * / are computed in float, and the result is rounded
/// to two bytes. It is the same as if it had been rounded only once, because float has more than twice as
/// many bits of precision plus two; denormal products and quotients of bfloat16 are the exception. Like a
/// float, it has no value until one is given to it.
template <int ExponentBits>
class float16 {
public:
    using format = detail::float16_format<ExponentBits>;

    float16() = default;
    /// Rounds to nearest, ties to even.
    template <class Number>
        requires std::same_as<Number, float> || std::integral<Number>
    CCOLL_HOST_DEVICE explicit constexpr float16(Number x) noexcept
        : bits_(format::from_float(static_cast<float>(x)))
    {}
    CCOLL_HOST_DEVICE static constexpr float16 of_bits(std::uint16_t bits) noexcept
    {
        return __builtin_bit_cast(float16, bits);
    }
    CCOLL_HOST_DEVICE constexpr std::uint16_t bits() const noexcept { return bits_; }

    /// Exact. Comparisons use it, so they are those of float.
    CCOLL_HOST_DEVICE constexpr operator float() const noexcept { return format::to_float(bits_); }

    CCOLL_HOST_DEVICE constexpr float16 operator-() const noexcept
    {
        return of_bits(static_cast<std::uint16_t>(bits_ ^ 0x8000u));
    }
    CCOLL_HOST_DEVICE friend constexpr float16 operator+(float16 a, float16 b) noexcept
    {
        return float16(float{a} + float{b});
    }
    CCOLL_HOST_DEVICE friend constexpr float16 operator-(float16 a, float16 b) noexcept
    {
        return float16(float{a} - float{b});
    }
    CCOLL_HOST_DEVICE friend constexpr float16 operator*(float16 a, float16 b) noexcept
    {
        return float16(float{a} * float{b});
    }
    CCOLL_HOST_DEVICE friend constexpr float16 operator/(float16 a, float16 b) noexcept
    {
        return float16(float{a} / float{b});
    }
    CCOLL_HOST_DEVICE constexpr float16& operator+=(float16 b) noexcept { return *this = *this + b; }
    CCOLL_HOST_DEVICE constexpr float16& operator-=(float16 b) noexcept { return *this = *this - b; }
    CCOLL_HOST_DEVICE constexpr float16& operator*=(float16 b) noexcept { return *this = *this * b; }
    CCOLL_HOST_DEVICE constexpr float16& operator/=(float16 b) noexcept { return *this = *this / b; }

private:
    std::uint16_t bits_;
};

/// IEEE 754 binary16: 11 bits of precision, magnitudes up to 65504.
using half = float16<5>;
/// The upper half of a float: 8 bits of precision, the range of float.
using bfloat16 = float16<8>;

/// Which format a type of two bytes has: the number of its exponent bits, or 0 if it is no such type.
/// Specialise it for a type of another library, in namespace ccoll: 8 for c10::BFloat16 and __nv_bfloat16, 5
/// for c10::Half, __half and sycl::half. Nothing else is asked of the type: its two bytes are read as the
/// format says, and it needs no conversions and no arithmetic of its own.
template <class T>
inline constexpr int exponent_bits_of = 0;
template <int ExponentBits>
inline constexpr int exponent_bits_of<float16<ExponentBits>> = ExponentBits;
#if defined(__FLT16_MAX__) && \
    (defined(__clang__) || !defined(__aarch64__) || __GNUC__ >= 13)  // g++ 12 has it in C alone there
template <>
inline constexpr int exponent_bits_of<_Float16> = 5;
#endif
#if defined(__BFLT16_MAX__) || \
    (defined(__clang__) && __clang_major__ >= 17 && defined(__SSE2__) && !defined(__CUDACC__))
template <>
inline constexpr int exponent_bits_of<__bf16> = 8;  // std::bfloat16_t, where there is one
#endif

/// A type of two bytes that lossy codecs treat as the float of the same value.
template <class T>
concept small_float = (exponent_bits_of<T> == 5 || exponent_bits_of<T> == 8) && sizeof(T) == 2 &&
                      std::is_trivially_copyable_v<T>;

namespace detail {

/// The largest finite number.
template <class T>
inline constexpr double greatest_number = static_cast<double>(std::numeric_limits<T>::max());
template <small_float T>
inline constexpr double greatest_number<T> =
    float16_format<exponent_bits_of<T>>::to_float(float16_format<exponent_bits_of<T>>::largest);

/// A registered class of another library. It may lack conversions and arithmetic, or round in another way, so
/// ours are used.
template <class T>
concept foreign_small_float =
    small_float<T> && std::is_class_v<T> && !std::same_as<T, float16<exponent_bits_of<T>>>;

/// A number with which one can compute: x itself, or for foreign two-byte floats the same bits as ours.
template <class T>
constexpr auto to_number(const T& x) noexcept
{
    if constexpr (foreign_small_float<T>) return std::bit_cast<float16<exponent_bits_of<T>>>(x);
    else return x;
}
template <class T, class Number>
constexpr T from_number(const Number& x) noexcept
{
    if constexpr (foreign_small_float<T>)
        return std::bit_cast<T>(static_cast<float16<exponent_bits_of<T>>>(x));
    else return static_cast<T>(x);
}

}  // namespace detail

}  // namespace ccoll
