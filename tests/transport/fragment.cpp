// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/fragment.hpp and transport/link_state.hpp: what is sealed is opened, what is damaged is seen, and numbers are remembered.
#include <ccoll/transport/link_state.hpp>

#include "catch.hpp"
#include "fields.hpp"

#include <set>

using namespace ccoll;

namespace {

std::vector<std::byte> sealed(std::size_t body, const protection& how, fragment_header header = {})
{
    fields::generator random(static_cast<unsigned>(body) + 1);
    const std::size_t bytes = sizeof header + body;
    std::vector<std::byte> all(bytes + how.check_bytes(bytes));
    for (std::size_t i = sizeof header; i < bytes; ++i) all[i] = static_cast<std::byte>(random.bits());
    all.resize(seal_fragment(all, header, body, how));
    return all;
}
const protection every_protection[] = {{false, {}}, {true, {6}}, {true, {8}}, {true, {11}}};

}  // namespace

TEST_CASE("Fragment: what was sealed is opened, and says how it was protected", "[transport][fragment]")
{
    for (const protection& how : every_protection)
        for (const std::size_t body : {std::size_t{0}, std::size_t{1}, std::size_t{112}, std::size_t{5000}, fragment_body_bytes}) {
            fragment_header header;
            header.number = 77, header.tag = 5, header.message_bytes = body;
            auto message = sealed(body, how, header);
            CHECK(message.size() <= fragment_room);
            const opened_fragment f = open_fragment(message);
            CHECK((f.whole && f.has_header && f.corrected == 0));
            CHECK(f.header.number == 77);
            CHECK(f.body.size() == body);
        }
}

TEST_CASE("Fragment: every damaged byte, and every end that is missing, is seen or corrected", "[transport][fragment]")
{
    for (const protection& how : every_protection) {
        const auto right = sealed(300, how);
        for (std::size_t at = 0; at < right.size(); ++at) {
            INFO("protection " << how.corrects << " " << how.code.row_bits << ", byte " << at);
            for (const int flip : {0x01, 0x80, 0x7f}) {
                auto message = right;
                message[at] ^= static_cast<std::byte>(flip);
                const opened_fragment f = open_fragment(message);
                const std::size_t data = sizeof(fragment_header) + 300;
                if (how.corrects) CHECK(f.whole);  // neighbouring bits are in different blocks
                else CHECK_FALSE(f.whole);
                if (f.whole) CHECK(std::equal(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(data), right.begin()));
            }
            auto cut = right;
            cut.resize(at);
            CHECK_FALSE(open_fragment(cut).whole);
        }
    }
}

TEST_CASE("Fragment: noise is not taken for one", "[transport][fragment]")
{
    fields::generator random(9);
    for (int i = 0; i < 20000; ++i) {
        std::vector<std::byte> noise(random.below(400));
        for (std::byte& b : noise) b = static_cast<std::byte>(random.bits());
        if (noise.size() >= 4 && i % 2 == 0) store(noise, 0, ccoll::detail::fragment_magic(static_cast<unsigned>(i / 2) % 7));
        CHECK_FALSE(open_fragment(noise).whole);
    }
}

TEST_CASE("Numbers of a link: what has been seen, against a set", "[transport][link]")
{
    fields::generator random(10);
    ccoll::detail::number_window seen;
    std::set<std::uint64_t> all;
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t n = seen.floor() + random.below(300);
        if (seen.takes(n) && !seen.has(n)) {
            seen.add(n);
            all.insert(n);
        }
        if (i % 1000 == 999) {
            const std::uint64_t to = seen.floor() + random.below(400);
            seen.raise(to);
            for (std::uint64_t k = 1; k <= to; ++k) all.insert(k);
        }
        std::uint64_t floor = 0;
        if (i % 500 == 0) {
            while (all.contains(floor + 1)) ++floor;
            REQUIRE(seen.floor() == floor);
            const auto words = seen.words();
            for (std::uint64_t k = 0; k < 256; ++k) REQUIRE(((words[k / 64] >> k % 64 & 1) != 0) == all.contains(floor + 1 + k));
        }
    }
}
