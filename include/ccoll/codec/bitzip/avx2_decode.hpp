// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/avx2_decode.hpp - floor 2. Decoders of BitZip, BitWise and BitCut with AVX2. A loop over whole
// numbers finds the codes of eight streams side by side, in which no branch depends on them. Registers do the
// rest.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <algorithm>
#include <span>

#include <ccoll/codec/bitzip/avx2_cut.hpp>
#include <ccoll/codec/bitzip/avx2_predict.hpp>
#include <ccoll/codec/bitzip/chunk.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2 {

/// Where the codes of a chunk stand. Readers may go beyond the end of a stream that is damaged, but not far:
/// they begin no block behind it and behind the other streams. There are bytes behind all streams but the
/// last, and so that one is copied, and the others of a chunk that is as short.
/// @tparam Predicts  windows of a step are neighbours; otherwise those of a lane
template <bool Predicts, native_float T>
class code_finder {
public:
    using word = typename fields_of<T>::word;

    /// False: nobody writes such a chunk. One that is too long for the copy has 128 steps or more, and so 48
    /// bytes in its last stream.
    static bool can_read(const_byte_span src, const chunk_facts<T>& facts) noexcept
    {
        const std::size_t last = facts.bytes[most_lanes - 1], tail = src.size() - facts.streams_end;
        return src.size() <= most_copied || (last <= most_copied && last + tail >= room_behind);
    }
    /// @param lowest  the exponent field of the bound
    CCOLL_INLINE code_finder(const_byte_span src, const chunk_facts<T>& facts, word lowest)
    {
        const std::size_t last = facts.bytes[most_lanes - 1], others = facts.streams_end - last;
        std::memcpy(copy_, src.data() + others, last);
        std::memset(copy_ + last, 0, room_behind);
        from_ = src.data();
        if (src.size() <= most_copied) {
            std::byte* const copy = copy_ + last + room_behind;
            std::memcpy(copy, src.data(), others);
            std::memset(copy + others, 0, room_behind);
            from_ = copy;
        }
        std::size_t begin = 0;
        for (std::size_t l = 0; l + 1 < most_lanes; begin += facts.bytes[l++]) {
            next_[l] = 8 * begin;
            behind_[l] = 8 * others + 1;
        }
        next_[most_lanes - 1] = 0;
        behind_[most_lanes - 1] = 8 * last + 1;

        constexpr std::size_t half = std::size_t{1} << fields_of<T>::exponent_bits,
                              most = fields_of<T>::mantissa_bits;
        const std::size_t ramp = std::min<std::size_t>(lowest + most, half - 1);
        std::memset(length_, front_bits, lowest);
        for (std::size_t e = lowest; e <= ramp; ++e)
            length_[e] = static_cast<std::uint8_t>(front_bits + (e - lowest));
        std::memset(length_ + ramp + 1, front_bits + most, half - ramp - 1);
        if constexpr (Predicts) std::memset(length_ + half, 3, half);
        else std::memcpy(length_ + half, length_, half);
    }
    /// The next bits of each lane, from the top, at eight codes: as many as a code can have.
    CCOLL_INLINE void find(word (&windows)[block_steps * most_lanes])
    {
        std::size_t at[most_lanes];
        std::copy_n(next_, most_lanes, at);
        for (std::size_t i = 0; i < block_steps; ++i)
            for (std::size_t l = 0; l < most_lanes; ++l)
                at[l] += take(l, at[l], windows[i * along + l * across]);
        for (std::size_t l = 0; l < most_lanes; ++l) next_[l] = std::min(at[l], behind_[l]);
    }
    /// The same for as many codes as each lane has.
    CCOLL_INLINE void find(word (&windows)[block_steps * most_lanes], const std::size_t (&count)[most_lanes])
    {
        std::memset(windows, 0, sizeof windows);
        for (std::size_t l = 0; l < most_lanes; ++l)
            for (std::size_t i = 0; i < count[l]; ++i)
                next_[l] += take(l, next_[l], windows[i * along + l * across]);
    }
    /// Where in the chunk the next code of a lane begins.
    CCOLL_INLINE std::size_t next(std::size_t lane) const
    {
        return lane + 1 < most_lanes ? next_[lane] : behind_[0] - 1 + next_[lane];
    }

private:
    static constexpr unsigned front_bits = bit_cut<T>::front_bits;
    static constexpr std::size_t across = Predicts ? 1 : block_steps,
                                 along = Predicts ? most_lanes : 1;  ///< of windows
    static constexpr std::size_t room_behind = block_steps * sizeof(T) + 9,
                                 most_copied = max_chunk_elements / most_lanes * sizeof(T);
    static_assert(most_copied / sizeof(T) / most_lanes * 3 / 8 + chunk_facts<T>::tail_bytes(most_lanes, 0) >=
                  room_behind);

    /// @return the length of the code
    CCOLL_INLINE std::size_t take(std::size_t lane, std::size_t bit, word& window) const
    {
        const std::byte* const at = (lane + 1 < most_lanes ? from_ : copy_) + bit / 8;
        std::uint64_t bytes;
        std::memcpy(&bytes, at, sizeof bytes);
        const unsigned shift = bit % 8;
        if constexpr (sizeof(T) == 4) window = static_cast<std::uint32_t>(top_first(bytes) << shift >> 32);
        else window = top_first(bytes) << shift | static_cast<std::uint64_t>(at[8]) >> (8 - shift);
        return length_[window >> (8 * sizeof(T) - front_bits)];
    }

    const std::byte* from_;  ///< the streams but the last
    /// Bits: where the next codes begin. Those of the last stream count from there.
    std::size_t next_[most_lanes];
    std::size_t behind_[most_lanes];  ///< no stream ends there. Whoever goes too far stays there
    std::uint8_t length_[std::size_t{1} << front_bits];  ///< of a code, by its first bits
    /// Of the last stream, and of the others if they are short.
    std::byte copy_[most_copied + 2 * room_behind];
};

/// @return where there are codes that nobody writes
template <native_float T>
CCOLL_INLINE __m256i restore_predicted(const typename fields_of<T>::word* windows,
                                       const bounds_of_chunk<T>& b, past<T> (&lanes)[registers<T>],
                                       T* const (&out)[most_lanes])
{
    __m256i wrong = _mm256_setzero_si256();
    row<T> x[block_steps];
    for (std::size_t i = 0; i < block_steps; ++i)
        for (std::size_t r = 0; r < registers<T>; ++r) {
            const __m256i w =
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(windows + i * most_lanes) + r);
            const cut_values<T> c = cut<false, T>(w, b.lowest);
            wrong = _mm256_or_si256(
                wrong, equal<T>(c.exponent, words<T>(fields_of<T>::exponent >> fields_of<T>::mantissa_bits)));
            vector<T> p[4];
            lanes[r].predict(p);
            const vector<T> predicted =
                of_order<T>(p, as_values<T>(shifted_up<2, T>(w)), as_values<T>(shifted_up<1, T>(w)));
            const vector<T> value = choice(as_values<T>(w), predicted, c.kept);
            lanes[r].push(value);
            x[i].v[r] = add(value, b.offset);
        }
    put_rows(x, out);
    return wrong;
}
template <native_float T>
CCOLL_INLINE __m256i restore_cut(const typename fields_of<T>::word* windows, const bounds_of_chunk<T>& b,
                                 T* const (&out)[most_lanes])
{
    using fields = fields_of<T>;
    __m256i wrong = _mm256_setzero_si256();
    for (std::size_t l = 0; l < most_lanes; ++l)
        for (std::size_t r = 0; r < registers<T>; ++r) {
            const __m256i w =
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(windows + l * block_steps) + r);
            const cut_values<T> c = cut<true, T>(w, b.lowest);
            const __m256i no_number =
                equal<T>(c.exponent, words<T>(fields::exponent >> fields::mantissa_bits));
            const __m256i minus_zero = equal<T>(shifted_down<fields::mantissa_bits, T>(w),
                                                words<T>(fields::sign >> fields::mantissa_bits));
            wrong = _mm256_or_si256(wrong, _mm256_or_si256(no_number, minus_zero));
            store(out[l] + r * (32 / sizeof(T)), c.kept);
        }
    return wrong;
}

template <native_float T, bool Predicts, beginning Rule>
CCOLL_TARGET status decode_lanes(const_byte_span src, std::span<T> out, T limit) noexcept
{
    using fields = fields_of<T>;
    using word = typename fields::word;
    const lane_ranges at(out.size());
    chunk_facts<T> facts;
    if (const status s = facts.read(src, out.size()); s != status::ok) return s;
    if (!is_offset<Predicts>(facts.offset)) return status::corrupt;
    if (!code_finder<Predicts, T>::can_read(src, facts)) return status::corrupt;

    code_finder<Predicts, T> codes(src, facts, fields::of(limit) >> fields::mantissa_bits);
    const bounds_of_chunk<T> bounds(facts.offset, limit);
    past<T> lanes[registers<T>];
    word windows[block_steps * most_lanes];
    T* to[most_lanes];
    for (std::size_t l = 0; l < most_lanes; ++l) to[l] = out.data() + at.start(l);
    __m256i wrong = _mm256_setzero_si256();
    bool good = true;
    std::size_t i = 0;
    for (; i + block_steps <= at.shorter; i += block_steps) {
        codes.find(windows);
        if constexpr (Predicts) {
            if (i == 0)
                for (std::size_t k = 0; k < 4 * most_lanes; ++k) {
                    const auto order = static_cast<int>(windows[k] >> (8 * sizeof(T) - 3) & 3);
                    good =
                        good && ((windows[k] & fields::sign) == 0 || order < orders_at<Rule>(k / most_lanes));
                }
            wrong = _mm256_or_si256(wrong, restore_predicted<T>(windows, bounds, lanes, to));
        } else {
            wrong = _mm256_or_si256(wrong, restore_cut<T>(windows, bounds, to));
        }
        for (std::size_t l = 0; l < most_lanes; ++l) to[l] += block_steps;
    }
    if (i < at.steps()) {
        short_block<T> rest(at, i);
        codes.find(windows, rest.count);
        T* values[most_lanes];
        for (std::size_t l = 0; l < most_lanes; ++l) values[l] = rest.values[l];
        if constexpr (Predicts)
            wrong = _mm256_or_si256(wrong, restore_predicted<T>(windows, bounds, lanes, values));
        else wrong = _mm256_or_si256(wrong, restore_cut<T>(windows, bounds, values));
        rest.put(to);
    }
    std::size_t end = 0;
    for (std::size_t l = 0; l < most_lanes; ++l)
        good = good && ends_at(src, codes.next(l), end += facts.bytes[l]);
    if (!good || !_mm256_testz_si256(wrong, wrong)) return status::corrupt;
    return put_exceptions(src, facts, out);
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2

#include <ccoll/base/kernels_end.inl>

#endif
