// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, links nothing, aarch64
// integrity/hamming.hpp: check words by their definition, and wrong bits.
#include <ccoll/integrity/hamming.hpp>

#include "support/catch.hpp"
#include "support/fields.hpp"

using namespace ccoll;

namespace {

using bytes = std::vector<std::byte>;

bytes noise(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    bytes all(n);
    for (std::byte& b : all) b = static_cast<std::byte>(random.bits());
    return all;
}
bool bit_of(const bytes& data, std::size_t bit)
{
    return bit / 8 < data.size() && (static_cast<unsigned>(data[bit / 8]) >> bit % 8 & 1) != 0;
}
void flip(bytes& data, std::size_t bit) { data[bit / 8] ^= static_cast<std::byte>(1u << bit % 8); }

/// The definition, bit by bit.
bytes checks_by_definition(hamming_code code, const bytes& data)
{
    const std::size_t k = static_cast<std::size_t>(code.row_bits), rows = std::size_t{1} << k;
    bytes all(code.check_bytes(data.size()));
    for (std::size_t g = 0; g < code.groups(data.size()); ++g)
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t column = 0; column < 64; ++column) {
                if (!bit_of(data, (g * rows + row) * 64 + column)) continue;
                for (std::size_t word = 0; word < k + 3; ++word) {
                    const bool in =
                        word < k ? (row >> word & 1) != 0 : word < k + 2 || std::popcount(row) % 2 == 0;
                    if (in) flip(all, (g * (k + 3) + word) * 64 + column);
                }
            }
    return all;
}
bytes checks_of(hamming_code code, const bytes& data)
{
    bytes all(code.check_bytes(data.size()));
    hamming_encode(code, data, all);
    return all;
}

constexpr std::size_t lengths[] = {
    1, 7, 8, 64, 511, 512, 513, 1024, 5000, 16383, 16384};  // a row, a step, groups, and one byte more

}  // namespace

TEST_CASE("Hamming: check words are those of the definition", "[integrity][hamming]")
{
    for (int k = hamming_code::least_row_bits; k <= hamming_code::most_row_bits; ++k)
        for (const std::size_t n : lengths) {
            const bytes data = noise(n, static_cast<unsigned>(n));
            INFO("k " << k << ", n " << n);
            CHECK(checks_of({k}, data) == checks_by_definition({k}, data));
        }
}

TEST_CASE("Hamming: lengths of data and of data with check words belong together", "[integrity][hamming]")
{
    for (int k = hamming_code::least_row_bits; k <= hamming_code::most_row_bits; ++k)
        for (std::size_t n = 1; n < 40000; n += 1 + n / 50) {
            const hamming_code code{k};
            CHECK(code.data_bytes(n + code.check_bytes(n)) == n);
        }
}

TEST_CASE("Hamming: every single wrong bit is corrected, in data and in check words", "[integrity][hamming]")
{
    for (const int k : {6, 8, 11})
        for (const std::size_t n : {1u, 513u, 3000u}) {
            const hamming_code code{k};
            const bytes data = noise(n, 1), checks = checks_of(code, data);
            bytes got = data, words = checks;
            CHECK(hamming_correct(code, got, words).corrected == 0);
            for (std::size_t bit = 0; bit < 8 * (n + checks.size()); ++bit) {
                const bool in_data = bit < 8 * n;
                if (in_data) flip(got, bit);
                else flip(words, bit - 8 * n);
                const hamming_result r = hamming_correct(code, got, words);
                if (r.corrected != 1 || r.beyond || got != data)
                    FAIL("k " << k << ", n " << n << ", bit " << bit);
                words = checks;
            }
        }
}

TEST_CASE("Hamming: two wrong bits of a block are detected, and bits of different blocks are corrected",
          "[integrity][hamming]")
{
    fields::generator random(7);
    const hamming_code code{8};
    const bytes data = noise(16384, 2), checks = checks_of(code, data);
    const std::size_t group = 8 * code.group_bytes();
    for (int i = 0; i < 3000; ++i) {
        bytes got = data, words = checks;
        const std::size_t column = random.below(64), g = random.below(code.groups(data.size()));
        const std::size_t one = random.below(256), other = (one + 1 + random.below(255)) % 256;
        flip(got, g * group + one * 64 + column);
        if (i % 3 == 0)
            flip(words, (g * code.check_words() + random.below(code.check_words())) * 64 + column);
        else if (i % 3 == 1) flip(got, g * group + other * 64 + column);
        else flip(got, g * group + other * 64 + (column + 1 + random.below(63)) % 64);
        const hamming_result r = hamming_correct(code, got, words);
        if (i % 3 == 2) {
            CHECK((r.corrected == 2 && !r.beyond && got == data));
        } else {
            CHECK(r.beyond);
            CHECK(r.corrected == 0);
        }
    }
}

TEST_CASE("Hamming: a burst of up to 64 bits is corrected", "[integrity][hamming]")
{
    fields::generator random(8);
    const hamming_code code{11};
    const bytes data = noise(16384, 3), checks = checks_of(code, data);
    for (int i = 0; i < 300; ++i) {
        bytes got = data, words = checks;
        const std::size_t length = 1 + random.below(64), from = random.below(8 * data.size() - length);
        for (std::size_t b = 0; b < length; ++b)
            if (b == 0 || b + 1 == length || random.below(2) == 0) flip(got, from + b);
        const hamming_result r = hamming_correct(code, got, words);
        CHECK((!r.beyond && got == data));
    }
}

TEST_CASE("Hamming: the block follows from the expected rate of wrong bits", "[integrity][hamming]")
{
    CHECK(hamming_code_for(1e-9).row_bits == 11);
    CHECK(hamming_code_for(1e-5).row_bits == 11);
    CHECK(hamming_code_for(1e-4).row_bits == 7);
    CHECK(hamming_code_for(1e-2).row_bits == 6);
    // No more than a tenth of the fragments is beyond correction, by the binomial distribution.
    for (const double e : {1e-6, 1e-5, 3e-5, 1e-4}) {
        const double bits = static_cast<double>(1 << hamming_code_for(e).row_bits);
        const double block = 1 - std::pow(1 - e, bits) - bits * e * std::pow(1 - e, bits - 1);
        CHECK(1 - std::pow(1 - block, 131072 / bits) <= 0.1);
    }
}
