// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/avx2_bytes.hpp - floor 2. Chunks of ByteZip with AVX2: one pass predicts, and one packs the
// values that are kept.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <bit>
#include <limits>
#include <span>

#include <ccoll/base/memory.hpp>
#include <ccoll/codec/bitzip/avx2_predict.hpp>
#include <ccoll/codec/codec_impl.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::bytezip::avx2 {

using namespace bitzip::avx2;
using bitzip::lane_ranges;
using bitzip::missed;
using bitzip::most_lanes;

/// [mask of values][place] for words of 4 bytes: `packed` moves the values of the mask to the front, `spread`
/// back to their places.
struct word_tables {
    std::uint8_t packed[256][8], spread[256][8];
};
constexpr word_tables make_word_tables()
{
    word_tables t{};
    for (unsigned m = 0; m < 256; ++m)
        for (unsigned j = 0, next = 0; j < 8; ++j)
            if ((m >> j & 1) != 0) {
                t.packed[m][next] = static_cast<std::uint8_t>(j);
                t.spread[m][j] = static_cast<std::uint8_t>(next++);
            }
    return t;
}
inline constexpr word_tables tables = make_word_tables();
/// Each value is two words, so a mask of four values has each bit twice.
template <native_float T>
CCOLL_INLINE unsigned words_of(unsigned mask)
{
    return sizeof(T) == 4 ? mask : 3 * _pdep_u32(mask, 0x55u);
}
template <native_float T>
CCOLL_INLINE vector<T> moved(vector<T> v, const std::uint8_t (&from)[8])
{
    const __m256i places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    return as_values<T>(_mm256_permutevar8x32_epi32(bits(v), places));
}

/// Bit j: symbol j of eight says that the value is kept.
CCOLL_INLINE unsigned kept_mask(const std::uint8_t* symbols)
{
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(symbols));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(eight, _mm_set1_epi8(missed)))) & 0xff;
}
CCOLL_INLINE unsigned kept_mask(const std::uint8_t* symbols, std::size_t n)
{
    unsigned mask = 0;
    for (std::size_t j = 0; j < n; ++j) mask |= static_cast<unsigned>(symbols[j] == missed) << j;
    return mask;
}
CCOLL_INLINE std::size_t count_kept(__m256i symbols)
{
    const __m256i kept = _mm256_cmpeq_epi8(symbols, _mm256_set1_epi8(missed));
    return static_cast<std::size_t>(_mm_popcnt_u32(static_cast<unsigned>(_mm256_movemask_epi8(kept))));
}

/// What predictions see of a value that is kept.
template <native_float T>
CCOLL_INLINE vector<T> settled(vector<T> value, vector<T> last)
{
    return choice(less(magnitude(value), fill(std::numeric_limits<T>::infinity())), value, last);
}

/// Symbols of eight steps. @tparam First  these are the first ones of their lanes
template <bool First, native_float T>
CCOLL_INLINE block_bytes predict_block(const T* const (&from)[most_lanes], past<T> (&lanes)[registers<T>],
                                       vector<T> limit)
{
    row<T> x[block_steps];
    numbers<T> symbols[block_steps];
    get_rows(from, x);
    for (std::size_t i = 0; i < block_steps; ++i)
        for (std::size_t r = 0; r < registers<T>; ++r) {
            vector<T> p[4];
            lanes[r].predict(p);
            const vector<T> v = x[i].v[r];
            const chosen<T> c = !First || i > 3 ? choose<4, T>(p, v)
                                : i == 3        ? choose<3, T>(p, v)
                                : i == 2        ? choose<2, T>(p, v)
                                : i == 1        ? choose<1, T>(p, v)
                                                : choose<0, T>(p, v);
            const vector<T> met = less(c.error, limit);
            symbols[i].v[r] = _mm256_blendv_epi8(words<T>(missed), order_of<T>(c), bits(met));
            lanes[r].push(choice(met, c.nearest, settled<T>(v, lanes[r].a)));
        }
    return bytes_of<T>(symbols);
}

/// The values that are kept, one behind the other.
/// @param to  room for exactly these
template <native_float T>
CCOLL_INLINE void pack_kept(std::span<const T> in, const std::uint8_t* symbols, std::byte* to,
                            const std::byte* end)
{
    constexpr std::size_t each = 32 / sizeof(T);
    std::size_t k = 0;
    for (; k + 8 <= in.size() && end - to >= static_cast<std::ptrdiff_t>(8 * sizeof(T)); k += 8) {
        const unsigned mask = kept_mask(symbols + k);
        for (std::size_t r = 0; r < registers<T>; ++r) {
            const unsigned part = mask >> (each * r) & ((1u << each) - 1);
            store(static_cast<void*>(to),
                  bits(moved<T>(load(&in[k + each * r]), tables.packed[words_of<T>(part)])));
            to += sizeof(T) * static_cast<std::size_t>(_mm_popcnt_u32(part));
        }
    }
    for (; to < end; k += 8) {
        unsigned mask = k + 8 <= in.size() ? kept_mask(symbols + k) : kept_mask(symbols + k, in.size() - k);
        for (; mask != 0; mask &= mask - 1, to += sizeof(T))
            std::memcpy(to, &in[k + _tzcnt_u32(mask)], sizeof(T));
    }
}
/// The reverse. Places of other values may get anything.
template <native_float T>
CCOLL_INLINE void spread_kept(const std::byte* from, const std::byte* end, const std::uint8_t* symbols,
                              std::span<T> out)
{
    constexpr std::size_t each = 32 / sizeof(T);
    std::size_t k = 0;
    for (; k + 8 <= out.size() && end - from >= static_cast<std::ptrdiff_t>(8 * sizeof(T)); k += 8) {
        const unsigned mask = kept_mask(symbols + k);
        for (std::size_t r = 0; r < registers<T>; ++r) {
            const unsigned part = mask >> (each * r) & ((1u << each) - 1);
            const __m256i next = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
            store(&out[k + each * r], moved<T>(as_values<T>(next), tables.spread[words_of<T>(part)]));
            from += sizeof(T) * static_cast<std::size_t>(_mm_popcnt_u32(part));
        }
    }
    for (; from < end; k += 8) {
        unsigned mask = k + 8 <= out.size() ? kept_mask(symbols + k) : kept_mask(symbols + k, out.size() - k);
        for (; mask != 0; mask &= mask - 1, from += sizeof(T))
            std::memcpy(&out[k + _tzcnt_u32(mask)], from, sizeof(T));
    }
}

/// @param out  has the values that are kept in their places
template <native_float T>
CCOLL_INLINE void restore_block(const std::uint8_t* const (&symbols)[most_lanes], T* const (&out)[most_lanes],
                                past<T> (&lanes)[registers<T>])
{
    std::uint8_t steps[block_steps * most_lanes];
    get_bytes(symbols, steps);
    const T* from[most_lanes];
    std::copy_n(out, most_lanes, from);
    row<T> x[block_steps];
    get_rows(from, x);
    constexpr int top = 8 * sizeof(T) - 1;
    for (std::size_t i = 0; i < block_steps; ++i)
        for (std::size_t r = 0; r < registers<T>; ++r) {
            const __m256i symbol = step_words<T>(steps + i * most_lanes, r);
            const vector<T> odd = as_values<T>(shifted_up<top, T>(symbol)),
                            upper = as_values<T>(shifted_up<top - 1, T>(symbol));
            const vector<T> kept = as_values<T>(shifted_up<top - 2, T>(symbol));
            vector<T> p[4];
            lanes[r].predict(p);
            const vector<T> predicted = of_order<T>(p, odd, upper), value = x[i].v[r],
                            history = settled<T>(value, lanes[r].a);
            x[i].v[r] = choice(kept, value, predicted);
            lanes[r].push(choice(kept, history, predicted));
        }
    put_rows(x, out);
}

template <native_float T>
CCOLL_TARGET encode_result encode_lanes(std::span<const T> in, byte_span dst, T limit) noexcept
{
    const std::size_t n = in.size(), room = std::min(dst.size(), in.size_bytes());
    if (n >= room) return {0, status::out_of_space};
    const std::size_t most = (room - n - 1) / sizeof(T);
    const lane_ranges at(n);
    auto* const symbols = reinterpret_cast<std::uint8_t*>(dst.data());
    const T* from[most_lanes];
    std::uint8_t* to[most_lanes];
    for (std::size_t l = 0; l < most_lanes; ++l) {
        from[l] = in.data() + at.start(l);
        to[l] = symbols + at.start(l);
    }

    past<T> lanes[registers<T>];
    const vector<T> bound = fill(limit);
    std::size_t i = 0, kept = 0;
    const auto advance = [&] {
        i += block_steps;
        for (std::size_t l = 0; l < most_lanes; ++l) from[l] += block_steps, to[l] += block_steps;
    };
    for (; i + block_steps <= at.shorter && kept <= most; advance()) {
        const block_bytes block =
            i == 0 ? predict_block<true, T>(from, lanes, bound) : predict_block<false, T>(from, lanes, bound);
        kept += count_kept(block.low) + count_kept(block.high);
        put_bytes<T>(block, to);
    }
    if (i < at.steps() && kept <= most) {
        short_block<T> x(at, i);
        short_block<std::uint8_t> rest(at, i);
        x.get(from);
        const T* values[most_lanes];
        std::uint8_t* bytes[most_lanes];
        for (std::size_t l = 0; l < most_lanes; ++l) {
            values[l] = x.values[l];
            bytes[l] = rest.values[l];
        }
        put_bytes<T>(predict_block<false, T>(values, lanes, bound), bytes);
        rest.put(to);
        for (std::size_t l = 0; l < most_lanes; ++l)
            kept += static_cast<std::size_t>(std::popcount(kept_mask(rest.values[l], rest.count[l])));
    }
    if (kept > most) return {0, status::out_of_space};
    const std::size_t bytes = n + kept * sizeof(T);
    pack_kept(in, symbols, dst.data() + n, dst.data() + bytes);
    return {bytes, status::ok, 0};
}

template <native_float T>
CCOLL_TARGET status decode_lanes(const_byte_span src, std::span<T> out, T) noexcept
{
    // Nothing is checked after this: the symbols are valid, and the kept values fill the chunk.
    const std::size_t n = out.size();
    if (src.size() < n) return status::corrupt;
    const auto* const symbols = reinterpret_cast<const std::uint8_t*>(src.data());
    __m256i highest = _mm256_setzero_si256();
    std::size_t kept = 0, k = 0;
    for (; k + 32 <= n; k += 32) {
        const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(symbols + k));
        highest = _mm256_max_epu8(highest, some);
        kept += count_kept(some);
    }
    bool good = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(highest, _mm256_set1_epi8(missed)),
                                                       _mm256_set1_epi8(missed))) == -1;
    for (; k < n; ++k) {
        good = good && symbols[k] <= missed;
        kept += symbols[k] == missed;
    }
    const lane_ranges at(n);
    for (std::size_t l = 0; l < most_lanes; ++l)
        for (std::size_t i = 0; i < 4; ++i) {
            const std::uint8_t s = symbols[at.start(l) + i];
            good = good && (s == missed || s < bitzip::orders_at<bitzip::beginning::as_they_come>(i));
        }
    if (!good || src.size() != n + kept * sizeof(T)) return status::corrupt;
    spread_kept(src.data() + n, src.data() + src.size(), symbols, out);

    const std::uint8_t* from[most_lanes];
    T* to[most_lanes];
    for (std::size_t l = 0; l < most_lanes; ++l) {
        from[l] = symbols + at.start(l);
        to[l] = out.data() + at.start(l);
    }
    past<T> lanes[registers<T>];
    std::size_t i = 0;
    for (; i + block_steps <= at.shorter; i += block_steps) {
        restore_block<T>(from, to, lanes);
        for (std::size_t l = 0; l < most_lanes; ++l) {
            from[l] += block_steps;
            to[l] += block_steps;
        }
    }
    if (i < at.steps()) {
        short_block<T> x(at, i);
        short_block<std::uint8_t> rest(at, i);
        x.get(to);
        rest.get(from);
        const std::uint8_t* bytes[most_lanes];
        T* values[most_lanes];
        for (std::size_t l = 0; l < most_lanes; ++l) {
            bytes[l] = rest.values[l];
            values[l] = x.values[l];
        }
        restore_block<T>(bytes, values, lanes);
        x.put(to);
    }
    return status::ok;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bytezip::avx2

#include <ccoll/base/kernels_end.inl>

#endif
