// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, links nothing, aarch64
// integrity/crc32c.hpp: the values of the RFC, and a division bit by bit as oracle.
#include <ccoll/integrity/crc32c.hpp>

#include "support/catch.hpp"
#include "support/fields.hpp"

#include <cstring>
#include <string_view>

using namespace ccoll;

namespace {

std::vector<std::byte> noise(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    std::vector<std::byte> all(n);
    for (std::byte& b : all) b = static_cast<std::byte>(random.bits());
    return all;
}

/// The definition: the remainder of a division by x^32 + x^28 + ... + 1, one bit at a time.
std::uint32_t by_bits(const_byte_span bytes)
{
    std::uint32_t r = 0xffffffffu;
    for (const std::byte b : bytes) {
        r ^= static_cast<std::uint32_t>(b);
        for (int i = 0; i < 8; ++i) r = (r & 1) != 0 ? (r >> 1) ^ 0x82F63B78u : r >> 1;
    }
    return ~r;
}

/// Runs `body` with the kernel of the machine and with the portable one.
template <class Body>
void with_each(Body body)
{
    const isa before = isa_in_use();
    for (const isa i : {before, isa::portable}) {
        INFO(name_of(i));
        use_isa(i);
        body();
    }
    use_isa(before);
}

}  // namespace

TEST_CASE("CRC-32C has the values of RFC 3720", "[integrity][crc]")
{
    with_each([] {
        std::vector<std::byte> all(32, std::byte{0});
        CHECK(crc32c(all) == 0x8A9136AAu);
        all.assign(32, std::byte{0xff});
        CHECK(crc32c(all) == 0x62A8AB43u);
        for (unsigned i = 0; i < 32; ++i) all[i] = static_cast<std::byte>(i);
        CHECK(crc32c(all) == 0x46DD794Eu);
        for (unsigned i = 0; i < 32; ++i) all[i] = static_cast<std::byte>(31 - i);
        CHECK(crc32c(all) == 0x113FDB5Cu);
        const std::string_view digits = "123456789";
        CHECK(crc32c(std::as_bytes(std::span(digits))) == 0xE3069283u);
        CHECK(crc32c({}) == 0);
    });
}

TEST_CASE("CRC-32C is the remainder of the division, at every length and alignment", "[integrity][crc]")
{
    const auto all = noise(20000, 1);
    with_each([&] {
        for (std::size_t n = 0; n < 900; ++n) {  // beyond the three short streams
            const auto part = const_byte_span(all).subspan(n % 9, n);
            REQUIRE(crc32c(part) == by_bits(part));
        }
        for (const std::size_t n : {3071u, 3072u, 3073u, 6143u, 6144u, 9999u, 16384u, 19990u}) {
            const auto part = const_byte_span(all).subspan(n % 7, n);
            REQUIRE(crc32c(part) == by_bits(part));
        }
    });
}

TEST_CASE("CRC-32C goes on where it stopped", "[integrity][crc]")
{
    const auto all = noise(5000, 2);
    with_each([&] {
        for (const std::size_t cut : {0u, 1u, 7u, 8u, 400u, 4999u, 5000u})
            CHECK(crc32c(const_byte_span(all).subspan(cut), crc32c(const_byte_span(all).first(cut))) ==
                  crc32c(all));
    });
}

TEST_CASE("CRC-32C sees every burst of up to 32 bits and every two bits of a fragment", "[integrity][crc]")
{
    auto all = noise(1000, 3);
    const std::uint32_t right = crc32c(all);
    fields::generator random(4);
    for (int i = 0; i < 20000; ++i) {
        const auto before = all;
        if (i % 2 == 0) {
            const std::size_t at = random.below(all.size() - 5);
            std::uint64_t burst = (random.bits() & 0xffffffffu) | 1;
            burst <<= random.below(8);
            for (std::size_t b = 0; b < 5; ++b) all[at + b] ^= static_cast<std::byte>(burst >> 8 * b);
        } else {
            const std::size_t a = random.below(8000), b = (a + 1 + random.below(7999)) % 8000;
            for (const std::size_t bit : {a, b}) all[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        }
        if (crc32c(all) == right) FAIL("unseen: case " << i);
        all = before;
    }
}
