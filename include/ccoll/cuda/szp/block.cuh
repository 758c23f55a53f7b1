// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/block.cuh - floor 4. What one thread does with one block of SZp: 32 values in registers, their quanta, and bit planes. Arrays
// are indexed by constants in all loops that are unrolled, because they would not be registers otherwise.
#pragma once

#include <cmath>
#include <type_traits>

#include <ccoll/base/exact.hpp>
#include <ccoll/codec/szp/layout.hpp>
#include <ccoll/codec/szp/quantiser.hpp>
#include <ccoll/cuda/element.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

namespace host = detail::szp;

inline constexpr u32 block_elements = 32, chunk_elements = 8192, chunk_blocks = 256;
static_assert(block_elements == host::block_elements && chunk_elements == host::chunk_elements && chunk_blocks == team_threads);
inline constexpr u32 narrow = 0, flat = 1, fine = 2, wide = 3, wide_flat = 4, rows = 6, fine_rows = 7;
static_assert(fine == static_cast<u32>(host::kind::fine) && wide_flat == static_cast<u32>(host::kind::wide_flat) &&
              rows == static_cast<u32>(host::kind::rows) && fine_rows == static_cast<u32>(host::kind::fine_rows));
inline constexpr u32 class_code = host::class_code, widest = host::widest, widest_narrow = host::widest_narrow;
inline constexpr u32 least_row = host::rows::least, least_plane = host::rows::least_plane;
template <class T>
inline constexpr u64 limit_of_rows = host::rows::limit(host::kind::rows, sizeof(T), false);
inline constexpr u64 limit_of_rows_of_addends = host::rows::addend_limit;
inline constexpr u64 limit_of_fine_rows = host::rows::limit(host::kind::fine_rows, sizeof(float), false);
CCOLL_DEVICE bool has_rows(u32 kind) { return kind == rows || kind == fine_rows; }
/// From the distances of a chunk with rows, as it says them.
CCOLL_DEVICE u32 row_of(u32 above) { return above & 0xffff; }
CCOLL_DEVICE u32 plane_of(u32 above) { return above >> 16; }
inline constexpr u64 narrow_limit = host::narrow_limit, wide_limit = host::wide_limit;

template <class T>
using word_of = typename fields_of<T>::word;
template <class T>
inline constexpr bool is_f32 = sizeof(T) == 4;

/// What follows from a bound (quantiser<T>), computed on the host: a kernel gets it as an argument.
template <class T>
struct grid {
    T step = 0, inverse = 0;
    double inverse_f64 = 0, eb = 0;
    double bound = 0;  ///< as the user gave it; eb is never above the largest one that is used
    word_of<T> brief = 0, safe = 0, narrow = 0, fine_limit = 0, far_limit = 0;
    T power = 0;  ///< the largest power of two that is within the bound as a step
    bool usable = false;
};
template <class T>
grid<T> grid_of(double bound) noexcept
{
    const host::quantiser<T> z(bound);
    grid<T> g{z.step, z.inverse, z.inverse_f64, z.eb, bound, z.brief, z.safe, z.narrow};
    g.usable = z.usable;
    if (z.usable) {
        g.fine_limit = host::fine_limit(z);
        g.far_limit = host::far_limit(z);
        g.power = host::power_step(z);
    }
    return g;
}

/// What an encoder of elements E gets.
template <class E>
using grids_of = of_bounds<grid<number_of_element<E>>, E>;

/// The step of narrow and wide chunks at a bound, as quantiser<T> has it; 0 if the bound is too small. For decoders, which find the
/// bound in the header.
template <class T>
CCOLL_DEVICE T step_of(double bound)
{
    const double eb = smaller(bound, host::quantiser<T>::max_bound);
    constexpr double margin = is_f32<T> ? 0x1p-8 : 0x1p-20, divisor = 1 + margin * 1.001;
    constexpr double smallest = is_f32<T> ? 0x1p-126 : 0x1p-1022;
    if (!(eb >= 4 * smallest)) return 0;
    const u64 bits = bits_of(__ddiv_rn(times(2.0, eb), divisor));
    constexpr int dropped = 53 - host::quantiser<T>::step_bits;
    return static_cast<T>(number_of(bits >> dropped << dropped));
}

// ---- quanta ----

template <class T>
CCOLL_DEVICE word_of<T> magnitude(T x)
{
    return bits_of(x) & ~fields_of<T>::sign;
}

/// On the common grid, for |x| below `safe`. The low bits of the sum are the integer.
CCOLL_DEVICE i32 quantum(float x, float inverse) { return static_cast<i32>(bits_of(plus(times(x, inverse), 12582912.0f)) - 0x4b400000u); }
CCOLL_DEVICE i32 quantum(double x, double inverse)
{
    return static_cast<i32>(static_cast<u32>(bits_of(plus(times(x, inverse), 6755399441055744.0))));
}
/// For floats of up to 2^31 steps: fine chunks, and the large values of addends.
CCOLL_DEVICE i32 quantum_f64(float x, double inverse) { return quantum(static_cast<double>(x), inverse); }
/// For |x / step| < 2^53: the quotient is corrected by the exact remainder.
CCOLL_DEVICE i64 nearest_quantum(double x, double step, double inverse)
{
    const double q = rint(times(x, inverse));
    return static_cast<i64>(plus(q, rint(times(__fma_rn(-q, step, x), inverse))));
}

/// Bits of the largest |x|: Inf and NaN are large.
template <class T>
CCOLL_DEVICE word_of<T> largest_magnitude(const T (&v)[32])
{
    word_of<T> most = 0;
    CCOLL_UNROLL
    for (u32 i = 0; i < 32; ++i) most = larger(most, magnitude(v[i]));
    return most;
}

/// `largest` of a narrow chunk.
template <class T>
CCOLL_DEVICE u32 largest_quantum(word_of<T> most, double inverse_f64)
{
    if (most < fields_of<T>::exponent_one) return 0;
    return static_cast<u32>(times(static_cast<double>(number_of(most)), inverse_f64)) + 2;
}

// ---- bit planes ----

/// (a & m) | (b & ~m): one instruction.
CCOLL_DEVICE u32 merged(u32 a, u32 b, u32 m) { return (a & m) | (b & ~m); }

template <u32 By>
CCOLL_DEVICE void swap_bits(u32& low, u32& high, u32 mask)
{
    const u32 a = low, b = high;
    low = merged(a, b << By, mask);
    high = merged(a >> By, b, mask);
}
/// 8x8 bit transposes in each of the 4 bytes of 8 words. Its own inverse.
CCOLL_DEVICE void transpose_bits(u32 (&w)[8])
{
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; j += 2) swap_bits<1>(w[j], w[j + 1], 0x55555555u);
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) swap_bits<2>(w[j / 2 * 4 + j % 2], w[j / 2 * 4 + j % 2 + 2], 0x33333333u);
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) swap_bits<4>(w[j], w[j + 4], 0x0f0f0f0fu);
}

/// Planes 8 Octet .. 8 Octet + 7 of 32 differences.
template <u32 Octet>
CCOLL_DEVICE void planes_of(const i32 (&d)[32], u32 (&w)[8])
{
    constexpr u32 pair = Octet | (4 + Octet) << 4;
    CCOLL_UNROLL
    for (u32 j = 0; j < 8; ++j) {
        const u32 low = __byte_perm(static_cast<u32>(d[j]), static_cast<u32>(d[j + 8]), pair);
        const u32 high = __byte_perm(static_cast<u32>(d[j + 16]), static_cast<u32>(d[j + 24]), pair);
        w[j] = __byte_perm(low, high, 0x5410);
    }
    transpose_bits(w);
}

/// Bits that the largest of 32 numbers needs in two's complement; 0 if all are 0.
CCOLL_DEVICE u32 width_of(const i32 (&d)[32])
{
    i32 most = d[0], least = d[0];
    CCOLL_UNROLL
    for (u32 i = 1; i < 32; ++i) {
        most = larger(most, d[i]);
        least = smaller(least, d[i]);
    }
    const i32 folded = larger(~least, most);
    return folded > 0 ? 33 - static_cast<u32>(__clz(folded)) : least < 0;
}
CCOLL_DEVICE u32 width_of(const i64 (&d)[32])
{
    u64 folded = 0, negative = 0;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) {
        folded |= static_cast<u64>(d[i] ^ (d[i] >> 63));
        negative |= static_cast<u64>(d[i]);
    }
    return folded != 0 ? 65 - static_cast<u32>(__clzll(static_cast<long long>(folded))) : static_cast<u32>(negative >> 63);
}

/// Writes `width` planes of 32 numbers.
CCOLL_DEVICE void put_planes(const i32 (&d)[32], u32 width, u32* to)
{
    const auto octet = [&](auto o) {
        constexpr u32 first = 8 * decltype(o)::value;
        if (width <= first) return;
        u32 w[8];
        planes_of<decltype(o)::value>(d, w);
        CCOLL_UNROLL
        for (u32 k = 0; k < 8; ++k)
            if (first + k < width) to[first + k] = w[k];
    };
    octet(std::integral_constant<u32, 0>{});
    octet(std::integral_constant<u32, 1>{});
    octet(std::integral_constant<u32, 2>{});
    octet(std::integral_constant<u32, 3>{});
}
CCOLL_DEVICE void put_planes(const i64 (&d)[32], u32 width, u32* to)
{
    CCOLL_NO_UNROLL
    for (u32 k = 0; k < width; ++k) {
        u32 plane = 0;
        CCOLL_NO_UNROLL
        for (u32 i = 0; i < 32; ++i) plane |= static_cast<u32>(d[i] >> k & 1) << i;
        to[k] = plane;
    }
}

/// 32 differences from planes. Plane k is plane(k), for k below `width`.
/// @tparam Octets  at least width / 8, rounded up    @tparam Add  they are added to what d has
template <u32 Octets, bool Add = false, class Plane>
CCOLL_DEVICE void get_differences(u32 width, Plane plane, i32 (&d)[32])
{
    u32 w[8];
    const u32 last = width - 1;  // the sign; no plane is looked at if there is none
    CCOLL_UNROLL
    for (u32 o = 0; o < Octets; ++o) {
        CCOLL_UNROLL
        for (u32 k = 0; k < 8; ++k) w[k] = width == 0 ? 0 : plane(smaller(8 * o + k, last));
        transpose_bits(w);
        CCOLL_UNROLL
        for (u32 j = 0; j < 8; ++j) {
            CCOLL_UNROLL
            for (u32 g = 0; g < 4; ++g) {
                const u32 with_sign = static_cast<u32>(static_cast<i32>(w[j] << (24 - 8 * g)) >> 24);  // byte g
                const u32 byte = o + 1 == Octets ? with_sign : w[j] >> 8 * g & 255;
                i32& to = d[8 * g + j];
                to = static_cast<i32>((Add || o > 0 ? static_cast<u32>(to) : 0) + (byte << 8 * o));
            }
        }
    }
}
/// The same for any width up to 64, slowly.
CCOLL_DEVICE void get_differences(const u32* planes, u32 width, i64 (&d)[32])
{
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) d[i] = 0;
    CCOLL_NO_UNROLL
    for (u32 k = 0; k < width; ++k) {
        const u32 plane = planes[k];
        const u64 bit = k + 1 == width ? ~u64{0} << k : u64{1} << k;  // the sign goes on to the top
        CCOLL_NO_UNROLL
        for (u32 i = 0; i < 32; ++i)
            if ((plane >> i & 1) != 0) d[i] = static_cast<i64>(static_cast<u64>(d[i]) | bit);
    }
}

// ---- values of a chunk in shared memory ----

/// Where value i stands: 16-byte pieces, placed so that those of one column of a warp's blocks lie in different banks.
template <class T>
CCOLL_DEVICE u32 staged_at(u32 i)
{
    constexpr u32 in_piece = 16 / sizeof(T), pieces = block_elements / in_piece;
    const u32 block = i / block_elements, piece = i % block_elements / in_piece;
    return in_piece * (block * pieces + (piece ^ (block & 7))) + i % in_piece;
}
/// A T that stands in shared memory as words. Reading it as T keeps the bits of a signalling NaN on all machines.
template <class T>
CCOLL_DEVICE T staged(const void* values, u32 i)
{
    return number_of(load_as<word_of<T>>(static_cast<const u8*>(values) + sizeof(T) * staged_at<T>(i)));
}
template <class T>
CCOLL_DEVICE void stage_one(void* values, u32 i, word_of<T> bits)
{
    store_as<word_of<T>>(static_cast<u8*>(values) + sizeof(T) * staged_at<T>(i), bits);
}
/// The 16 bytes from value i on, a multiple of 4 (f64: 2).
template <class T>
CCOLL_DEVICE void stage_piece(void* values, u32 i, uint4 piece)
{
    store_as(static_cast<u8*>(values) + sizeof(T) * staged_at<T>(i), piece);
}
template <class T>
CCOLL_DEVICE uint4 staged_piece(const void* values, u32 i)
{
    return load_as<uint4>(static_cast<const u8*>(values) + sizeof(T) * staged_at<T>(i));
}

/// All values of a chunk, by all threads. A last block that is not whole is filled up with its last value.
template <class E>
CCOLL_DEVICE void stage(const E* x, u32 count, void* values)
{
    using T = number_of_element<E>;
    constexpr u32 in_piece = 16 / sizeof(E), rounds = chunk_elements / in_piece / team_threads, at_once = rounds < 8 ? rounds : 8;
    if (count == chunk_elements && reinterpret_cast<std::uintptr_t>(x) % 16 == 0) {
        CCOLL_UNROLL
        for (u32 r = 0; r < rounds; r += at_once) {
            uint4 v[at_once];
            CCOLL_UNROLL
            for (u32 j = 0; j < at_once; ++j) v[j] = load_as<uint4>(x + in_piece * (me() + team_threads * (r + j)));
            CCOLL_UNROLL
            for (u32 j = 0; j < at_once; ++j) {
                const u32 i = in_piece * (me() + team_threads * (r + j));
                if constexpr (is_small<E>) {
                    stage_piece<T>(values, i, widened<E>(v[j].x, v[j].y));
                    stage_piece<T>(values, i + in_piece / 2, widened<E>(v[j].z, v[j].w));
                } else {
                    stage_piece<T>(values, i, v[j]);
                }
            }
        }
        return;
    }
    const u32 filled = (count + block_elements - 1) / block_elements * block_elements;
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < filled; i += team_threads) stage_one<T>(values, i, bits_at(x, smaller(i, count - 1)));
}
/// The block of this thread.
template <class T>
CCOLL_DEVICE void unstage(const void* values, T (&v)[32])
{
    constexpr u32 in_piece = 16 / sizeof(T);
    CCOLL_UNROLL
    for (u32 c = 0; c < block_elements / in_piece; ++c) {
        const uint4 p = staged_piece<T>(values, block_elements * me() + in_piece * c);
        if constexpr (is_f32<T>) {
            v[4 * c] = number_of(p.x);
            v[4 * c + 1] = number_of(p.y);
            v[4 * c + 2] = number_of(p.z);
            v[4 * c + 3] = number_of(p.w);
        } else {
            v[2 * c] = number_of(u64{p.y} << 32 | p.x);
            v[2 * c + 1] = number_of(u64{p.w} << 32 | p.z);
        }
    }
}

/// Writes the staged values of a chunk. By all threads.
template <class E>
CCOLL_DEVICE void put_values(const void* values, u32 count, E* to, rounding how)
{
    using T = number_of_element<E>;
    constexpr u32 in_piece = 16 / sizeof(E);
    if (count == chunk_elements && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
        CCOLL_UNROLL
        for (u32 i = me(); i < chunk_elements / in_piece; i += team_threads) {
            if constexpr (is_small<E>) {
                const uint4 a = staged_piece<T>(values, in_piece * i), b = staged_piece<T>(values, in_piece * i + in_piece / 2);
                store_as(to + in_piece * i, uint4{narrowed<E>(a.x, a.y, how), narrowed<E>(a.z, a.w, how), narrowed<E>(b.x, b.y, how),
                                                  narrowed<E>(b.z, b.w, how)});
            } else {
                store_as(to + in_piece * i, staged_piece<T>(values, in_piece * i));
            }
        }
        return;
    }
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < count; i += team_threads) put_element(to + i, bits_of(staged<T>(values, i)), how);
}

}  // namespace ccoll::detail::device::szp
