// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/element.cuh - floor 4. Elements as kernels of codecs see them: float and double as they are, two-byte
// numbers as floats. The latter are converted where they are loaded and stored, so there is one text of each
// kernel. codec/half.hpp has the bytes and the proof that the bound holds.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include <ccoll/codec/half.hpp>
#include <ccoll/cuda/team.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// What a kernel computes with for elements E.
template <class E>
inline constexpr bool is_small = sizeof(E) == 2;
template <class E>
using number_of_element = std::conditional_t<is_small<E>, float, E>;
/// Its bits.
template <class E>
using element_word = typename fields_of<number_of_element<E>>::word;

/// The type for which kernels are compiled: all two-byte types of one format share theirs.
template <class T>
struct kernel_element {
    using type = T;
};
template <small_float T>
struct kernel_element<T> {
    using type = float16<exponent_bits_of<T>>;
};
template <class T>
using kernel_element_of = typename kernel_element<T>::type;
/// The same memory, as kernels take it.
template <class T>
const kernel_element_of<T>* kernel_elements(const T* x)
{
    return reinterpret_cast<const kernel_element_of<T>*>(x);
}
template <class T>
kernel_element_of<T>* kernel_elements(T* x)
{
    return reinterpret_cast<kernel_element_of<T>*>(x);
}

// ---- loads ----

/// The bits of a two-byte number as those of a float.
template <class E>
CCOLL_DEVICE u32 widened(u32 half)
{
    return bits_of(E::format::to_float(static_cast<u16>(half)));
}
/// The bits of element i.
template <class E>
CCOLL_DEVICE element_word<E> bits_at(const E* x, u32 i)
{
    if constexpr (is_small<E>) return widened<E>(load_as<u16>(x + i));
    else return load_as<element_word<E>>(x + i);
}
/// Four of a float's words from eight bytes of two-byte numbers.
template <class E>
CCOLL_DEVICE uint4 widened(u32 low, u32 high)
{
    return uint4{widened<E>(low & 0xffff), widened<E>(low >> 16), widened<E>(high & 0xffff),
                 widened<E>(high >> 16)};
}

// ---- stores ----

/// How a float becomes a two-byte number. What movement decodes is within the range of these numbers: an
/// encoder has seen to it that the nearest finite one is within the bound. A sum that is too large becomes
/// infinite, as in arithmetic.
enum class rounding : u32 { within_range, of_sums };

template <class E>
inline constexpr u32 bits_of_largest = std::bit_cast<u32>(E::format::to_float(E::format::largest));
template <class E>
CCOLL_DEVICE u32 narrowed(u32 bits, rounding how)
{
    constexpr u32 infinity = fields_of<float>::exponent, sign = fields_of<float>::sign;
    const u32 magnitude = bits & ~sign;
    if (how == rounding::within_range && magnitude < infinity)
        bits = (bits & sign) | smaller(magnitude, bits_of_largest<E>);
    return E::format::from_float(number_of(bits));
}
/// @param bits  of a number
template <class E>
CCOLL_DEVICE void put_element(E* to, element_word<E> bits, rounding how)
{
    if constexpr (is_small<E>) store_as(to, static_cast<u16>(narrowed<E>(bits, how)));
    else store_as(to, bits);
}
/// Two of them.
template <class E>
CCOLL_DEVICE u32 narrowed(u32 low, u32 high, rounding how)
{
    return narrowed<E>(low, how) | narrowed<E>(high, how) << 16;
}

// ---- elements as they are, for chunks that travel raw ----

/// Copies elements into a frame, and zeros behind them up to a multiple of 16 bytes. By all threads.
/// @param to  a multiple of 16 bytes
template <class E>
CCOLL_DEVICE void put_raw_elements(const E* x, u32 count, u8* to)
{
    const u32 bytes = count * static_cast<u32>(sizeof(E)), filled = (bytes + 15) / 16 * 4;
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < filled; i += team_threads) {
        u32 w = 0;
        if constexpr (is_small<E>) {
            if (2 * i < count) w = load_as<u16>(x + 2 * i);
            if (2 * i + 1 < count) w |= static_cast<u32>(load_as<u16>(x + 2 * i + 1)) << 16;
        } else {
            if (4 * i < bytes) w = load_as<u32>(reinterpret_cast<const u8*>(x) + 4 * i);
        }
        store_as<u32>(to + 4 * i, w);
    }
}
/// Copies elements out of a frame. By all threads.
template <class E>
CCOLL_DEVICE void get_raw_elements(const u8* from, u32 count, E* to)
{
    using word = std::conditional_t<is_small<E>, u16, u32>;
    u8* const bytes = reinterpret_cast<u8*>(to);
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < count * sizeof(E) / sizeof(word); i += team_threads)
        store_as<word>(bytes + sizeof(word) * i, load_as<word>(from + sizeof(word) * i));
}

// ---- bounds ----

/// Bytes behind a chunk in a frame for movement: of two-byte numbers the exponent that tells the bound of the
/// chunk.
template <class E>
inline constexpr u32 tail_bytes = is_small<E> ? 1 : 0;

/// What follows from a bound, for each bound that a chunk of two-byte numbers may have in one frame.
template <class What, class E>
struct chunk_bounds {
    /// Exponents below that of the bound, of which there are 11 at most, and `halved`.
    static constexpr u32 most = 13;

    What of[most];
    double bound = 0;  ///< of the frame
    i32 first = 0;     ///< exponent of of[1]; of[0] is that of `halved`

    /// @param make  (bound) -> What    @param bound  of the frame
    template <class Make>
    static chunk_bounds all(Make make, double bound)
    {
        chunk_bounds r;
        r.bound = bound;
        r.first = two_byte::rounding_exponent<E>(0, bound);
        const auto set = [&](u32 at, int k) {
            if (const double e = two_byte::bound_for(bound, k); is_bound(e))
                r.of[at] = make(e);  // else nothing is usable
        };
        set(0, two_byte::halved);
        for (u32 i = 1; i < most; ++i)
            if (const int k = r.first + static_cast<int>(i) - 1;
                k < two_byte::halved && std::ldexp(1.0, k) < bound / 2)
                set(i, k);
        return r;
    }
};

/// Chunks of float and double have the bound of the frame.
template <class What, class E>
using of_bounds = std::conditional_t<is_small<E>, chunk_bounds<What, E>, What>;
/// @param make  (bound) -> What
template <class E, class Make>
auto for_chunks_of(double bound, Make make)
{
    if constexpr (is_small<E>) return chunk_bounds<decltype(make(bound)), E>::all(make, bound);
    else return make(bound);
}

/// As two_byte::rounding_exponent on the host. @param largest  bits of the largest finite magnitude
template <class E>
CCOLL_DEVICE i32 rounding_exponent(u32 largest, double bound)
{
    constexpr i32 mantissa = 15 - exponent_bits_of<E>, least = exponent_bits_of<E> == 5 ? -14 : -126;
    const double most = times(plus(static_cast<double>(number_of(largest)), bound), 1 + 0x1p-50);
    const i32 k = larger(larger(static_cast<i32>(bits_of(most) >> 52) - 1023, least) - mantissa - 1, -128);
    return k < two_byte::halved && number_of(u64{static_cast<u32>(1023 + k)} << 52) < times(bound, 0.5)
               ? k
               : two_byte::halved;
}
/// The bound of a chunk by its exponent, as two_byte::bound_for on the host. Any exponent is safe; it may be
/// no bound.
CCOLL_DEVICE double bound_of_chunk(double bound, i32 k)
{
    if (k == two_byte::halved) return times(bound, 0.5);
    return times(plus(bound, -number_of(u64{static_cast<u32>(1023 + k)} << 52)), 1 - 0x1p-50);
}

/// What an encoder needs to know of the bound of its chunk. By all threads; for two-byte numbers there is a
/// barrier in here.
/// @param largest  () -> bits of the largest finite magnitude among the values of this thread
/// @param tail  gets what ends the chunk
template <class E, class What, class Largest>
CCOLL_DEVICE const What& choose_bound(const chunk_bounds<What, E>& all, Largest largest,
                                      warp_words<u32>& room, u32& tail)
{
    const u32 of_warp = warp_max(largest());
    if (lane() == 0) room.of[warp()] = of_warp;
    __syncthreads();
    const i32 k = rounding_exponent<E>(largest_of(room), all.bound);
    tail = static_cast<u32>(k) & 255;
    return all.of[k == two_byte::halved
                      ? 0
                      : smaller(static_cast<u32>(k - all.first + 1), chunk_bounds<What, E>::most - 1)];
}
template <class E, class What, class Largest>
CCOLL_DEVICE const What& choose_bound(const What& of_frame, Largest, warp_words<u32>&, u32& tail)
{
    tail = 0;
    return of_frame;
}
/// The largest finite magnitude of some numbers, as bits.
template <class T, u32 Values>
CCOLL_DEVICE typename fields_of<T>::word largest_finite_of(const T (&v)[Values])
{
    using fields = fields_of<T>;
    typename fields::word most = 0;
    CCOLL_UNROLL
    for (u32 i = 0; i < Values; ++i) {
        const auto w = bits_of(v[i]) & ~fields::sign;
        most = larger(most, w < fields::exponent ? w : 0);
    }
    return most;
}

}  // namespace ccoll::detail::device
