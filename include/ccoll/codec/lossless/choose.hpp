// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lossless/choose.hpp - floor 2. What an encoder of Codec::Lossless sees in a sample of a chunk of
// floats: whether any form gains, and how its exponents are coded. All integers, so that every machine
// chooses alike.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/codec/lossless/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::lossless {

CCOLL_EXACT_BEGIN  // for its optimisation

/// What a sample can rule out.
struct prospects {
    bool residuals;  ///< false: residuals have all bits, wherever the sample looked
    bool exponents;  ///< false: no few symbols are more frequent than the others
    bool low;        ///< of words of 4 bytes: lower halves that are not 0
};

/// The sample: runs of consecutive values, spread over a chunk of least_values or more.
struct sample {
    static constexpr std::size_t runs = 16, look_values = 16, count_values = 64;

    /// The first value of a run. The steps between runs are not all equal, because fields repeat.
    static constexpr std::size_t start(std::size_t run, std::size_t n) noexcept
    {
        constexpr std::size_t block = 64;
        const std::size_t per_run = n / block / runs;
        return (run * per_run + 5 * run % per_run) * block;
    }
};

template <class Word>
inline u8 symbol_of(Word w) noexcept
{
    return static_cast<u8>(w >> (8 * sizeof(Word) - 9));
}

/// Cost: a look at 256 values.
template <class Word>
inline prospects look(const u8* from, std::size_t n) noexcept
{
    constexpr unsigned word_bits = 8 * sizeof(Word);
    constexpr std::size_t each = sample::look_values;
    const u8* runs[sample::runs];
    for (std::size_t run = 0; run < sample::runs; ++run) {
        runs[run] = from + sample::start(run, n) * sizeof(Word);
        __builtin_prefetch(runs[run]);
    }
    const auto base = get<Word>(from);
    u8 symbols[sample::runs * each];
    Word any = 0, least = static_cast<Word>(~Word{0}), all = 0;
    for (std::size_t run = 0; run < sample::runs; ++run) {
        Word alone = 0, chained = 0;
        for (std::size_t i = 0; i < each; ++i) {
            const auto x = get<Word>(runs[run] + i * sizeof(Word)),
                       next = get<Word>(runs[run] + (i + 1) * sizeof(Word));
            const auto d = static_cast<Word>(next - x);
            all = static_cast<Word>(all | x);
            symbols[run * each + i] = symbol_of(x);
            alone = static_cast<Word>(alone | (x ^ base));
            // The highest bit of a residual is that of the difference, unless it repeats the sign.
            chained = static_cast<Word>(chained | (d ^ static_cast<Word>(d << 1)));
        }
        any = static_cast<Word>(any | alone);
        least = static_cast<Word>(least & alone & chained);
    }
    // In each run both kinds of residuals have all bits, and the words do not share their lowest one.
    const bool residuals = (least >> (word_bits - 1)) == 0 || (any & 1) == 0;

    // How often are two symbols equal? 8 times in 2048 if all are equally frequent; the standard deviation is
    // 3. If a level of 4 bits gains half a bit, its 15 symbols are 0.56 of all values, and it is 43 times at
    // least.
    constexpr std::size_t probes = 8;
    constexpr u32 by_chance = 24;
    u32 equal = 0;
    for (std::size_t probe = 0; probe < probes; ++probe) {
        const u8 symbol = symbols[probe * (sample::runs / probes) * each];
        u8 of_probe = 0;  // may become 256, which is 0: a probe equals itself, and that does not count
        for (const u8 s : symbols) of_probe = static_cast<u8>(of_probe + (s == symbol));
        equal += static_cast<u8>(of_probe - 1);
    }
    return {residuals, equal > by_chance, sizeof(Word) == 2 || (all & 0xffff) != 0};
}

/// How often symbols occur. The same one often comes several times in a row, and so in another table each
/// time.
struct histogram {
    u16 tables[4][256] = {};

    void add(const u8* symbols, std::size_t n) noexcept
    {
        std::size_t i = 0;
        for (; i + 4 <= n; i += 4)
            for (std::size_t j = 0; j < 4; ++j) ++tables[j][symbols[i + j]];
        for (; i < n; ++i) ++tables[0][symbols[i]];
    }
    void sum_up() noexcept
    {
        for (std::size_t s = 0; s < 256; ++s)
            tables[0][s] = static_cast<u16>(tables[0][s] + tables[1][s] + tables[2][s] + tables[3][s]);
    }
    const u16* counts() const noexcept { return tables[0]; }
};

/// A level has to save so many bytes: it takes time. This also keeps levels below the most that are allowed.
inline constexpr std::size_t worth_a_level = 16;

/// The levels with the fewest bits for these symbols.
/// @param counted  how many symbols have been counted
/// @param n        for how many values they stand
/// @param most     levels
/// @return  how many bytes of levels and escapes there should be
inline std::size_t choose(const u16* counts, std::size_t counted, std::size_t n, u32 most,
                          cascade& c) noexcept
{
    u32 keys[256];  // frequent ones first; of those, the lower one
    std::size_t distinct = 0;
    for (u32 s = 0; s < 256; ++s) {
        keys[distinct] = u32{counts[s]} << 8 | (255 - s);
        distinct += counts[s] != 0;
    }
    std::sort(keys, keys + distinct, [](u32 a, u32 b) { return a > b; });

    // Bits times counted symbols, if the symbols before place r have been coded.
    const std::size_t listed = std::min(distinct, most_listed);
    std::size_t bits_from[most_listed + 1];
    u8 level_bits[most_listed + 1], levels[most_listed + 1];
    std::size_t left = 0;  // values whose symbols are in no level
    for (std::size_t r = listed; r < distinct; ++r) left += keys[r] >> 8;
    for (std::size_t r = listed + 1; r-- > 0;) {
        if (r < listed) left += keys[r] >> 8;
        bits_from[r] = 8 * left * n;
        level_bits[r] = levels[r] = 0;
        if (r == listed) continue;
        for (u32 bits = 1; bits <= most_level_bits; ++bits) {
            const std::size_t next = std::min<std::size_t>(r + (1u << bits) - 1, listed);
            const std::size_t list = (std::size_t{1} << bits) + worth_a_level;
            const std::size_t cost = bits_from[next] + bits * left * n + 8 * list * counted;
            if (cost >= bits_from[r] || levels[next] == most) continue;
            bits_from[r] = cost;
            level_bits[r] = static_cast<u8>(bits);
            levels[r] = static_cast<u8>(levels[next] + 1);
        }
    }
    c.levels = levels[0];
    std::size_t r = 0;
    for (u32 k = 0; k < c.levels; ++k) {
        level& l = c.of[k];
        l.bits = level_bits[r];
        for (u32 code = 0; code < l.escape(); ++code, ++r)
            // A place without a symbol has the first one again: it is never the code of a value.
            l.symbols[code] = r < listed ? static_cast<u8>(255 - (keys[r] & 0xff)) : l.symbols[0];
        l.symbols[l.escape()] = 0;
    }
    return bits_from[0] / (8 * counted);
}

/// The same for a sample of the words of a chunk, of whose levels an encoder takes the first one.
/// @return  how many bytes levels and escapes should have
template <class Word>
inline std::size_t choose_first(const u8* from, std::size_t n, cascade& c) noexcept
{
    u8 symbols[sample::runs * sample::count_values];
    for (std::size_t run = 0; run < sample::runs; ++run) {
        const u8* const x = from + sample::start(run, n) * sizeof(Word);
        for (std::size_t i = 0; i < sample::count_values; ++i)
            symbols[run * sample::count_values + i] = symbol_of(get<Word>(x + i * sizeof(Word)));
    }
    histogram h;
    h.add(symbols, sizeof symbols);
    h.sum_up();
    return choose(h.counts(), sizeof symbols, n, most_levels, c);
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::lossless
