// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, links nothing, aarch64
// integrity/content_hash.hpp: the definition, word by word, as oracle; values that must stay; one bit
// anywhere.
#include <ccoll/integrity/content_hash.hpp>

#include "support/catch.hpp"
#include "support/fields.hpp"
#include "support/isa.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace content_hash_cases {

using namespace ccoll;
using ccoll::detail::content_digest;
using ccoll::detail::content_hash;

namespace {

using bytes = std::vector<std::byte>;
using u64 = std::uint64_t;

bytes noise(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    bytes all(n);
    for (std::byte& b : all) b = static_cast<std::byte>(random.bits());
    return all;
}

content_digest hash_of(const_byte_span all)
{
    content_hash h;
    h.add(all);
    return h.finish();
}

u64 finalised(u64 x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/// The definition on docs/wire_format.md, over the whole input at once.
content_digest by_words(bytes all)
{
    u64 random[28], counter = 0;
    for (u64& r : random) r = finalised(counter += 0x9E3779B97F4A7C15u);
    const u64 total = all.size();
    all.resize((all.size() + 16383) / 16384 * 16384);
    u64 sums[16];
    std::copy(random + 12, random + 28, sums);
    for (std::size_t tile = 0; tile < all.size(); tile += 16384) {
        for (std::size_t w = 0; w < 2048; ++w) {
            const std::size_t page = w / 512, row = w % 512 / 4, i = w % 4;
            u64 word;
            std::memcpy(&word, all.data() + tile + 8 * w, 8);
            const u64 keyed = word ^ (random[i] + row * (random[4 + i] | 1));
            sums[4 * page + i] += (keyed & 0xFFFFFFFFu) * (keyed >> 32);
            sums[4 * page + (i ^ 1)] += word;
        }
        for (std::size_t k = 0; k < 16; ++k)
            sums[k] = (sums[k] ^ (sums[k] >> 47) ^ random[8 + k % 4]) * 0x9E3779B1u;
    }
    content_digest d{finalised(total), finalised(~total)};
    for (const u64 sum : sums) {
        d.low = finalised(d.low ^ sum) + 0x9E3779B97F4A7C15u;
        d.high = finalised(d.high + sum) ^ 0xD6E8FEB86659FD93u;
    }
    return d;
}

}  // namespace

TEST_CASE("The hash of content is that of its definition with each instruction set",
          "[integrity][content_hash]")
{
    with_each_isa([] {
        for (const std::size_t n :
             {0u, 1u, 7u, 8u, 9u, 4095u, 4096u, 4097u, 16383u, 16384u, 16385u, 32768u, 100003u})
            for (const bytes& all : {noise(n, 3), bytes(n, std::byte{0}), bytes(n, std::byte{255})}) {
                INFO(n << " bytes");
                CHECK(hash_of(all) == by_words(all));
            }
    });
}

TEST_CASE("The hash of content has these values", "[integrity][content_hash]")
{
    with_each_isa([] {
        const content_digest nothing = hash_of({});
        CHECK(nothing.low == 0x7E8583F85E81C241u);
        CHECK(nothing.high == 0x9206C14F929C01BBu);
        bytes all(50000);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i % 251);
        const content_digest d = hash_of(all);
        CHECK(d.low == 0x05408C1816F04033u);
        CHECK(d.high == 0xC0AB7572999077FBu);
    });
}

TEST_CASE("The hash of content does not depend on the pieces that it is given", "[integrity][content_hash]")
{
    const bytes all = noise(70001, 5);
    const content_digest wanted = hash_of(all);
    fields::generator random(9);
    for (int k = 0; k < 50; ++k) {
        content_hash h;
        for (std::size_t at = 0; at < all.size();) {
            const std::size_t n = std::min(all.size() - at, random.below(k % 2 == 0 ? 40000 : 300));
            h.add(const_byte_span(all).subspan(at, n));
            at += n;
        }
        CHECK(h.finish() == wanted);
    }
}

TEST_CASE("One bit changed anywhere changes both halves of the hash of content", "[integrity][content_hash]")
{
    bytes all = noise(40000, 7);
    std::set<std::pair<u64, u64>> seen;
    const content_digest before = hash_of(all);
    seen.insert({before.low, before.high});
    std::size_t same = 0, tries = 1;
    // All bits of some rows of each page, and one bit of every 37th byte.
    for (std::size_t i = 0; i < all.size(); ++i)
        for (unsigned bit = 0; bit < 8; ++bit) {
            const bool chosen =
                i % 4096 < 64 || i % 4096 >= 4064 || i + 9 > all.size() || (i % 37 == 0 && bit == i % 8);
            if (!chosen) continue;
            all[i] ^= static_cast<std::byte>(1u << bit);
            const content_digest d = hash_of(all);
            same += d.low == before.low;
            same += d.high == before.high;
            seen.insert({d.low, d.high});
            ++tries;
            all[i] ^= static_cast<std::byte>(1u << bit);
        }
    CHECK(same == 0);
    CHECK(seen.size() == tries);
}

TEST_CASE("The hash of content tells lengths, places and orders apart", "[integrity][content_hash]")
{
    std::set<std::pair<u64, u64>> seen;
    std::size_t tries = 0;
    const auto add = [&](const bytes& all) {
        const content_digest d = hash_of(all);
        seen.insert({d.low, d.high});
        ++tries;
    };
    for (const std::size_t n : {0u, 1u, 2u, 8u, 4096u, 16383u, 16384u, 16385u, 32768u})
        add(bytes(n, std::byte{0}));
    // Words, rows, pages and tiles of one vector change places with their neighbours.
    const bytes all = noise(65536, 11);
    add(all);
    for (const std::size_t unit : {8u, 32u, 4096u, 16384u})
        for (const std::size_t at : {std::size_t{64}, 16384 - unit, 32768 - unit}) {
            bytes other = all;
            std::swap_ranges(other.begin() + static_cast<std::ptrdiff_t>(at),
                             other.begin() + static_cast<std::ptrdiff_t>(at + unit),
                             other.begin() + static_cast<std::ptrdiff_t>(at + unit));
            add(other);
        }
    // One word at every place of a vector of zeros.
    for (std::size_t at = 0; at < 16384; at += 8) {
        bytes other(16384);
        other[at] = std::byte{1};
        add(other);
    }
    CHECK(seen.size() == tries);
}

}  // namespace content_hash_cases
