// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/avx2_encode.hpp - floor 2. Encoders of BitZip, BitWise and BitCut with AVX2. Registers predict
// and cut the values of eight lanes, and join their codes to streams, of which each lane has one. No branch
// depends on the codes but for long ones.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include <ccoll/codec/bitzip/avx2_cut.hpp>
#include <ccoll/codec/bitzip/avx2_predict.hpp>
#include <ccoll/codec/bitzip/chunk.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2 {

/// Eight codes of each lane.
template <native_float T>
struct code_block {
    numbers<T> code[block_steps], length[block_steps];
    std::uint64_t exceptions = 0;  ///< bit 8 i + l: the value of lane l at step i
};

/// Codes of the values of one register.
template <int Orders, native_float T>
CCOLL_INLINE vector<T> encode_predicted(vector<T> x, const bounds_of_chunk<T>& b, past<T>& lanes,
                                        __m256i& code, __m256i& length)
{
    const vector<T> d = sub(x, b.offset);
    vector<T> p[4];
    lanes.predict(p);
    const cut_values<T> c = cut<true, T>(bits(d), b.lowest);  // d may be -0
    const vector<T> good = b.holds(c.kept, x);
    if constexpr (Orders == 0) {
        lanes.push(both(good, c.kept));
        code = _mm256_and_si256(bits(good), c.code);
        length = _mm256_blendv_epi8(words<T>(bit_cut<T>::front_bits), c.length, bits(good));
        return good;
    } else {
        const chosen<T> best = choose<Orders, T>(p, d);
        const vector<T> met = b.holds(best.nearest, x);
        lanes.push(choice(met, best.nearest, choice(good, c.kept, lanes.a)));
        const vector<T> plain = without(good, met);  // the others are predicted: exceptions by order 0
        code =
            _mm256_blendv_epi8(_mm256_or_si256(words<T>(4), _mm256_and_si256(order_of<T>(best), bits(met))),
                               c.code, bits(plain));
        length = _mm256_blendv_epi8(words<T>(3), c.length, bits(plain));
        return any(met, good);
    }
}
template <native_float T>
CCOLL_INLINE vector<T> encode_cut(vector<T> x, const bounds_of_chunk<T>& b, __m256i& code, __m256i& length)
{
    const cut_values<T> c = cut<true, T>(bits(x), b.lowest);
    const vector<T> good = less(magnitude(sub(c.kept, x)), b.limit);
    code = _mm256_and_si256(bits(good), c.code);
    length = _mm256_blendv_epi8(words<T>(bit_cut<T>::front_bits), c.length, bits(good));
    return good;
}

/// @tparam First  these are the first steps of their lanes
template <bool Predicts, beginning Rule, bool First, native_float T>
CCOLL_INLINE void encode_block(const T* const (&from)[most_lanes], const bounds_of_chunk<T>& b,
                               past<T> (&lanes)[registers<T>], code_block<T>& to)
{
    constexpr auto orders = [](std::size_t i) { return First ? orders_at<Rule>(i) : 4; };
    row<T> x[block_steps];
    get_rows(from, x);
    to.exceptions = 0;
    for (std::size_t i = 0; i < block_steps; ++i)
        for (std::size_t r = 0; r < registers<T>; ++r) {
            const vector<T> v = x[i].v[r];
            __m256i &code = to.code[i].v[r], &length = to.length[i].v[r];
            vector<T> good;
            if constexpr (!Predicts) good = encode_cut<T>(v, b, code, length);
            else if (orders(i) == 0) good = encode_predicted<0, T>(v, b, lanes[r], code, length);
            else if (orders(i) == 1) good = encode_predicted<1, T>(v, b, lanes[r], code, length);
            else if (orders(i) == 2) good = encode_predicted<2, T>(v, b, lanes[r], code, length);
            else if (orders(i) == 3) good = encode_predicted<3, T>(v, b, lanes[r], code, length);
            else good = encode_predicted<4, T>(v, b, lanes[r], code, length);
            constexpr unsigned each = 32 / sizeof(T), all = (1u << each) - 1;
            to.exceptions |= std::uint64_t{top_bits(good) ^ all} << (i * most_lanes + r * each);
        }
}
/// Takes out the codes of steps that some lanes do not have.
template <native_float T>
CCOLL_INLINE void shorten(code_block<T>& block, const std::size_t (&count)[most_lanes])
{
    for (std::size_t i = 0; i < block_steps; ++i) {
        std::uint8_t active[most_lanes];
        std::uint64_t mask = 0;
        for (std::size_t l = 0; l < most_lanes; ++l) {
            active[l] = i < count[l];
            mask |= std::uint64_t{active[l]} << l;
        }
        block.exceptions &= ~((mask ^ 0xff) << (i * most_lanes));
        for (std::size_t r = 0; r < registers<T>; ++r) {
            const __m256i none = equal<T>(step_words<T>(active, r), _mm256_setzero_si256());
            block.code[i].v[r] = _mm256_andnot_si256(none, block.code[i].v[r]);
            block.length[i].v[r] = _mm256_andnot_si256(none, block.length[i].v[r]);
        }
    }
}

/// Writes the streams of all lanes side by side: four of them in a register, in words of 8 bytes. A word
/// takes two codes of float, or one of double. They are written where the chunk will stand, each behind the
/// room of those before it, and what writers may touch. Only the last one is written aside.
template <native_float T>
class stream_writers {
public:
    /// @param chunk  as long as its values
    CCOLL_INLINE stream_writers(std::byte* chunk, const lane_ranges& at)
    {
        // The room of the last one.
        static_assert((most_lanes - 1) * slack_bytes <= 512 / most_lanes * sizeof(T));
        for (std::size_t l = 0; l + 1 < most_lanes; ++l)
            stream_[l] = chunk + at.start(l) * sizeof(T) + l * slack_bytes;
        stream_[most_lanes - 1] = last_;
        for (std::size_t g = 0; g < 2; ++g) {
            std::byte* to[4];
            for (std::size_t k = 0; k < 4; ++k) to[k] = stream_[lane_of[g][k]];
            std::memcpy(&group_[g].to, to, sizeof to);
        }
    }
    CCOLL_INLINE void put(const code_block<T>& block)
    {
        __m256i word[in_block][2], length[in_block][2], longest = _mm256_setzero_si256();
        for (std::size_t k = 0; k < in_block; ++k) {
            make_words(block, k, word[k], length[k]);
            longest = _mm256_max_epi32(longest, _mm256_max_epi32(length[k][0], length[k][1]));
        }
        // 7 bits that are held and 56 more fill no word. Longer codes are rare, and go in two parts.
        const __m256i half = _mm256_set1_epi64x(32);
        if (_mm256_testz_si256(_mm256_cmpgt_epi32(longest, _mm256_set1_epi32(56)), _mm256_set1_epi32(-1))) {
            for (std::size_t k = 0; k < in_block; ++k)
                for (std::size_t g = 0; g < 2; ++g) group_[g].put(word[k][g], length[k][g]);
        } else {
            for (std::size_t k = 0; k < in_block; ++k)
                for (std::size_t g = 0; g < 2; ++g) {
                    const __m256i first = _mm256_min_epi32(length[k][g], half),
                                  upper = _mm256_set1_epi64x(-(1ll << 32));
                    group_[g].put(_mm256_and_si256(word[k][g], upper), first);
                    group_[g].put(_mm256_slli_epi64(word[k][g], 32), _mm256_sub_epi32(length[k][g], first));
                }
        }
    }
    /// @param bytes  of each stream, whose last byte is filled up with 0
    CCOLL_INLINE void finish(std::size_t (&bytes)[most_lanes])
    {
        for (std::size_t g = 0; g < 2; ++g) {
            std::byte* to[4];
            std::uint64_t bits[4];
            std::memcpy(bits, &group_[g].held_bits, sizeof bits);
            group_[g].put(_mm256_setzero_si256(), _mm256_setzero_si256());
            std::memcpy(to, &group_[g].to, sizeof to);
            for (std::size_t k = 0; k < 4; ++k)
                bytes[lane_of[g][k]] =
                    static_cast<std::size_t>(to[k] - stream_[lane_of[g][k]]) + (bits[k] != 0);
        }
    }
    CCOLL_INLINE const std::byte* stream(std::size_t lane) const
    {
        return stream_[lane];
    }  ///< never before its place in the chunk

private:
    /// Codes in a word, and words in a block.
    static constexpr std::size_t codes = 8 / sizeof(T), in_block = block_steps / codes;
    static constexpr std::size_t lane_of[2][4] = {{0, 1, codes == 2 ? 4 : 2, codes == 2 ? 5 : 3},
                                                  {codes == 2 ? 2 : 4, codes == 2 ? 3 : 5, 6, 7}};

    struct group {
        __m256i held, held_bits;  ///< from the top, fewer than 8, with 0 behind them
        __m256i to;

        CCOLL_INLINE group() : held(_mm256_setzero_si256()), held_bits(held), to(held) {}
        /// @param word  bits from the top, and 0 behind them. @param length  at most 56
        CCOLL_INLINE void put(__m256i word, __m256i length)
        {
            const __m256i joint = _mm256_or_si256(held, _mm256_srlv_epi64(word, held_bits)),
                          sum = _mm256_add_epi64(held_bits, length);
            const __m256i turn = _mm256_broadcastsi128_si256(
                _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
            const __m256i bytes = _mm256_shuffle_epi8(joint, turn);
            double* places[4];
            std::memcpy(places, &to, sizeof places);
            const __m128d low = _mm_castsi128_pd(_mm256_castsi256_si128(bytes)),
                          high = _mm_castsi128_pd(_mm256_extracti128_si256(bytes, 1));
            _mm_storel_pd(places[0], low);
            _mm_storeh_pd(places[1], low);
            _mm_storel_pd(places[2], high);
            _mm_storeh_pd(places[3], high);
            to = _mm256_add_epi64(to, _mm256_srli_epi64(sum, 3));
            held = _mm256_sllv_epi64(joint, _mm256_and_si256(sum, _mm256_set1_epi64x(56)));
            held_bits = _mm256_and_si256(sum, _mm256_set1_epi64x(7));
        }
    };

    /// Word k of a block for all lanes.
    CCOLL_INLINE static void make_words(const code_block<T>& block, std::size_t k, __m256i (&word)[2],
                                        __m256i (&length)[2])
    {
        if constexpr (codes == 2) {
            const __m256i zero = _mm256_setzero_si256(), first = block.code[2 * k].v[0],
                          second = block.code[2 * k + 1].v[0];
            const __m256i behind = block.length[2 * k + 1].v[0],
                          sum = _mm256_add_epi32(block.length[2 * k].v[0], behind);
            length[0] = _mm256_unpacklo_epi32(sum, zero);
            length[1] = _mm256_unpackhi_epi32(sum, zero);
            word[0] = _mm256_or_si256(
                _mm256_sllv_epi64(_mm256_unpacklo_epi32(first, zero), _mm256_unpacklo_epi32(behind, zero)),
                _mm256_unpacklo_epi32(second, zero));
            word[1] = _mm256_or_si256(
                _mm256_sllv_epi64(_mm256_unpackhi_epi32(first, zero), _mm256_unpackhi_epi32(behind, zero)),
                _mm256_unpackhi_epi32(second, zero));
        } else {
            for (std::size_t g = 0; g < 2; ++g) {
                word[g] = block.code[k].v[g];
                length[g] = block.length[k].v[g];
            }
        }
        for (std::size_t g = 0; g < 2; ++g)
            word[g] = _mm256_sllv_epi64(word[g], _mm256_sub_epi64(_mm256_set1_epi64x(64), length[g]));
    }

    group group_[2];
    std::byte* stream_[most_lanes];
    std::byte last_[max_chunk_elements / most_lanes * sizeof(T) + slack_bytes];
};

/// The least finite value, or infinity.
template <native_float T>
CCOLL_INLINE T least_finite(std::span<const T> in)
{
    constexpr std::size_t each = 32 / sizeof(T);
    const T infinity = std::numeric_limits<T>::infinity();
    const vector<T> lowest = fill(std::numeric_limits<T>::lowest()), high = fill(infinity);
    vector<T> least[4] = {high, high, high, high};
    std::size_t i = 0;
    for (; i + 4 * each <= in.size(); i += 4 * each)
        for (std::size_t k = 0; k < 4; ++k) {
            const vector<T> v = load(&in[i + k * each]);
            // Of a value that is no number, the second operand.
            least[k] = lower(choice(less(v, lowest), high, v), least[k]);
        }
    T all[each], found = infinity;
    store(all, lower(lower(least[0], least[1]), lower(least[2], least[3])));
    for (const T v : all) found = v < found ? v : found;
    for (; i < in.size(); ++i)
        found = in[i] < found && in[i] >= std::numeric_limits<T>::lowest() ? in[i] : found;
    return found;
}

template <native_float T, bool Predicts, beginning Rule>
CCOLL_TARGET encode_result encode_lanes(std::span<const T> in, byte_span dst, T limit) noexcept
{
    CCOLL_EXACT_BODY
    const lane_ranges at(in.size());
    chunk_facts<T> facts;
    facts.lanes = most_lanes;
    if (dst.size() < in.size_bytes()) return {0, status::out_of_space};
    if constexpr (Predicts) {
        facts.offset = least_finite(in) + T(0);
        if (!(facts.offset <= std::numeric_limits<T>::max())) return {0, status::unsupported};
    }
    const bounds_of_chunk<T> bounds(facts.offset, limit);
    const T* from[most_lanes];
    for (std::size_t l = 0; l < most_lanes; ++l) from[l] = in.data() + at.start(l);

    stream_writers<T> writers(dst.data(), at);
    exception_list exceptions(in.size());
    past<T> lanes[registers<T>];
    code_block<T> block;
    const auto note = [&](std::size_t i) {
        for (std::uint64_t left = block.exceptions; left != 0; left &= left - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(left));
            exceptions.add(at.start(bit % most_lanes) + i + bit / most_lanes);
        }
    };
    std::size_t i = 0;
    for (; i + block_steps <= at.shorter; i += block_steps) {
        if (i == 0) encode_block<Predicts, Rule, true, T>(from, bounds, lanes, block);
        else encode_block<Predicts, Rule, false, T>(from, bounds, lanes, block);
        writers.put(block);
        if (block.exceptions != 0) note(i);
        for (std::size_t l = 0; l < most_lanes; ++l) from[l] += block_steps;
    }
    if (i < at.steps()) {
        short_block<T> rest(at, i);
        rest.get(from);
        const T* values[most_lanes];
        for (std::size_t l = 0; l < most_lanes; ++l) values[l] = rest.values[l];
        encode_block<Predicts, Rule, false, T>(values, bounds, lanes, block);
        shorten(block, rest.count);
        writers.put(block);
        note(i);
    }
    if (exceptions.count > exceptions.most) return {0, status::unsupported};
    facts.exceptions = exceptions.count;

    writers.finish(facts.bytes);
    for (const std::size_t b : facts.bytes) facts.streams_end += b;
    if (facts.streams_end + facts.tail_bytes(most_lanes, exceptions.count) >= in.size_bytes())
        return {0, status::out_of_space};
    std::byte* to = dst.data() + facts.bytes[0];
    for (std::size_t l = 1; l < most_lanes; to += facts.bytes[l++])
        std::memmove(to, writers.stream(l), facts.bytes[l]);
    return write_tail(in, dst, facts, exceptions);
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2

#include <ccoll/base/kernels_end.inl>

#endif
