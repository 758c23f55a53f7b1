// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// integrity/hamming.hpp - floor 1. A Hamming code over columns of bits: corrects one wrong bit of each block,
// and detects two.
//
// Data are seen as rows of 64 bits. A data block is one column: bit j of every row of a group of up to 2^k
// rows. So 64 blocks are coded at once, by exclusive ors of words, and neighbouring bits belong to different
// blocks: a burst of up to 64 bits is one bit in each of them.
//
// A group has k + 3 check words. Bit j of each belongs to column j:
//
//   word i < k     exclusive or of the rows whose number has bit i
//   words k, k+1   exclusive or of all rows, twice
//   word k + 2     exclusive or of the rows whose number has an even number of ones
//
// So a wrong bit of row r differs in an odd number of check bits, at least three, and no two rows differ in
// the same ones. A wrong check bit differs in one. The distance of the code is four.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ccoll/base/memory.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Which code: blocks of up to 2^row_bits data bits.
struct hamming_code {
    static constexpr int least_row_bits = 6, most_row_bits = 11;
    int row_bits = most_row_bits;

    constexpr std::size_t check_words() const { return static_cast<std::size_t>(row_bits) + 3; }
    constexpr std::size_t group_bytes() const { return std::size_t{8} << row_bits; }
    constexpr std::size_t groups(std::size_t bytes) const
    {
        return (bytes + group_bytes() - 1) / group_bytes();
    }
    /// Bytes of the check words for `bytes` bytes of data.
    constexpr std::size_t check_bytes(std::size_t bytes) const { return groups(bytes) * check_words() * 8; }
    /// The number of data bytes in `all` bytes of data and check words; `all` if that is not a possible
    /// length.
    constexpr std::size_t data_bytes(std::size_t all) const
    {
        const std::size_t whole = group_bytes() + check_words() * 8, n = (all + whole - 1) / whole,
                          checks = n * check_words() * 8;
        return all > checks && groups(all - checks) == n ? all - checks : all;
    }
};

/// The longest code whose fragments of 16 KiB have to be sent again in one case of ten or fewer, at this rate
/// of wrong bits.
///
/// In a block of B bits, two or more are wrong with probability (B e)^2 / 2 or less. A fragment has 131072 /
/// B blocks, so the probability that it cannot be corrected is 65536 B e^2 or less. (The paper takes B = 1 /
/// e. At its 1e-5 these are blocks of 1e5 bits, of which 26 % have two wrong bits or more. It needs fewer
/// check bits, 0.02 %, and sends a quarter of the blocks again.)
constexpr hamming_code hamming_code_for(double bit_error_rate) noexcept
{
    hamming_code code;
    const auto resent = [&](int row_bits) {
        return 65536.0 * static_cast<double>(1 << row_bits) * bit_error_rate * bit_error_rate;
    };
    while (code.row_bits > hamming_code::least_row_bits && !(resent(code.row_bits) <= 0.1)) --code.row_bits;
    return code;
}

/// What correct() found.
struct hamming_result {
    std::size_t corrected = 0;  ///< bits
    bool beyond = false;        ///< a block has more wrong bits than can be corrected
};

namespace detail::hamming {

inline constexpr std::size_t lanes = 8, unrolled = 8, step_bytes = lanes * unrolled * 8;
using vector = std::array<std::uint64_t, lanes>;
using checks = std::array<std::uint64_t, hamming_code::most_row_bits + 3>;

constexpr bool even(std::size_t x) { return std::popcount(x) % 2 == 0; }

/// Sums over vectors of eight rows. Number v of a vector is that of its rows without their three lowest bits.
struct sums {
    vector all{}, even_ones{};
    std::array<vector, hamming_code::most_row_bits - 3> bit{};

    /// Adds vectors 8 s to 8 s + 7, which lie at `at`.
    void add(std::size_t s, const std::byte* at) noexcept
    {
        std::uint64_t x[unrolled][lanes];
        std::memcpy(x, at, step_bytes);
        const std::uint64_t odd_step = even(s) ? 0 : ~std::uint64_t{0};
        vector total;
        for (std::size_t i = 0; i < lanes; ++i) {
            const std::uint64_t low = x[1][i] ^ x[3][i], high = x[5][i] ^ x[7][i], t23 = x[2][i] ^ x[3][i],
                                t45 = x[4][i] ^ x[5][i], t67 = x[6][i] ^ x[7][i];
            const std::uint64_t t = x[0][i] ^ x[1][i] ^ t23 ^ t45 ^ t67;
            bit[0][i] ^= low ^ high;
            bit[1][i] ^= t23 ^ t67;
            bit[2][i] ^= t45 ^ t67;
            even_ones[i] ^= x[0][i] ^ x[3][i] ^ x[5][i] ^ x[6][i] ^ (t & odd_step);
            all[i] ^= t;
            total[i] = t;
        }
        for (std::size_t rest = s, b = 3; rest != 0; rest >>= 1, ++b)
            if ((rest & 1) != 0)
                for (std::size_t i = 0; i < lanes; ++i) bit[b][i] ^= total[i];
    }

    checks folded(hamming_code code) const noexcept
    {
        checks c{};
        const auto k = static_cast<std::size_t>(code.row_bits);
        for (std::size_t i = 0; i < lanes; ++i) {
            for (std::size_t b = 0; b < 3; ++b)
                if ((i >> b & 1) != 0) c[b] ^= all[i];
            for (std::size_t b = 3; b < k; ++b) c[b] ^= bit[b - 3][i];
            c[k] ^= all[i];
            c[k + 2] ^= even(i) ? even_ones[i] : all[i] ^ even_ones[i];
        }
        c[k + 1] = c[k];
        return c;
    }
};

/// The check words of one group, which may end early: missing rows are zero.
inline checks of_group(hamming_code code, const_byte_span data) noexcept
{
    sums s;
    std::size_t step = 0;
    for (; (step + 1) * step_bytes <= data.size(); ++step) s.add(step, data.data() + step * step_bytes);
    if (const const_byte_span rest = data.subspan(step * step_bytes); !rest.empty()) {
        std::array<std::byte, step_bytes> padded{};
        copy(padded, rest);
        s.add(step, padded.data());
    }
    return s.folded(code);
}

/// Corrects one column whose check bits differ. @return false if it cannot be corrected
inline bool correct_column(hamming_code code, const checks& differ, unsigned column, byte_span data) noexcept
{
    std::size_t found = 0;
    const std::size_t words = code.check_words(), k = static_cast<std::size_t>(code.row_bits);
    for (std::size_t i = 0; i < words; ++i) found |= (differ[i] >> column & 1) << i;
    if (std::popcount(found) == 1) return true;  // the check bit itself
    const std::size_t row = found & ((std::size_t{1} << k) - 1), at = row * 8 + column / 8;
    if (found >> k != (even(row) ? 7u : 3u) || at >= data.size()) return false;
    data[at] ^= static_cast<std::byte>(1u << column % 8);
    return true;
}

}  // namespace detail::hamming

/// Writes the check words of `data`, group by group.
/// @param to  code.check_bytes(data.size()) bytes
/// Cost: one pass, about 3 exclusive ors per word.
inline void hamming_encode(hamming_code code, const_byte_span data, byte_span to) noexcept
{
    for (std::size_t g = 0; g < code.groups(data.size()); ++g) {
        const const_byte_span group = data.subspan(g * code.group_bytes());
        const auto c =
            detail::hamming::of_group(code, group.first(std::min(group.size(), code.group_bytes())));
        copy(to.subspan(g * code.check_words() * 8),
             std::as_bytes(std::span(c)).first(code.check_words() * 8));
    }
}

/// Corrects what can be corrected. Three wrong bits or more in a block may be mistaken for one in another
/// place, so check the result.
/// @param checks  as hamming_encode wrote them, possibly with wrong bits as well
inline hamming_result hamming_correct(hamming_code code, byte_span data, const_byte_span checks) noexcept
{
    hamming_result result;
    const std::size_t words = code.check_words();
    for (std::size_t g = 0; g < code.groups(data.size()); ++g) {
        byte_span group = data.subspan(g * code.group_bytes());
        group = group.first(std::min(group.size(), code.group_bytes()));
        auto differ = detail::hamming::of_group(code, group);
        std::uint64_t wrong = 0;
        for (std::size_t i = 0; i < words; ++i)
            wrong |= differ[i] ^= load<std::uint64_t>(checks, (g * words + i) * 8);
        for (; wrong != 0; wrong &= wrong - 1) {
            if (detail::hamming::correct_column(code, differ, static_cast<unsigned>(std::countr_zero(wrong)),
                                                group))
                ++result.corrected;
            else result.beyond = true;
        }
    }
    return result;
}

}  // namespace ccoll
