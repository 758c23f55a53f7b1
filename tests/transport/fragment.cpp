// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: links nothing
// transport/fragment.hpp and transport/link_state.hpp: what is sealed is opened, what is damaged is seen, and
// numbers are remembered.
#include <ccoll/transport/link_state.hpp>

#include "support/catch.hpp"
#include "support/fields.hpp"
#include "support/repository.hpp"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace fragment_cases {

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
        for (const std::size_t body :
             {std::size_t{0}, std::size_t{1}, std::size_t{112}, std::size_t{5000}, fragment_body_bytes}) {
            fragment_header header;
            header.number = 77;
            header.tag = 5;
            header.message_bytes = body;
            auto message = sealed(body, how, header);
            CHECK(message.size() <= packet_room);
            const opened_fragment f = open_fragment(message);
            CHECK((f.whole && f.has_header && f.corrected == 0));
            CHECK(f.header.number == 77);
            CHECK(f.body.size() == body);
        }
}

TEST_CASE("Fragment: every damaged byte, and every end that is missing, is seen or corrected",
          "[transport][fragment]")
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
                if (f.whole)
                    CHECK(std::equal(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(data),
                                     right.begin()));
            }
            auto cut = right;
            cut.resize(at);
            CHECK_FALSE(open_fragment(cut).whole);
        }
    }
}

TEST_CASE("Fragment: those of a packet are found, also behind a damaged one", "[transport][fragment]")
{
    for (const protection& how : every_protection) {
        std::vector<std::byte> packet;
        const std::uint64_t count = ccoll::packet_fragments(how);
        for (std::uint64_t i = 0; i < count; ++i) {
            fragment_header header;
            header.first = 5;
            header.number = 5 + i;
            header.message_bytes = (count - 1) * fragment_body_bytes + 100;
            const auto one = sealed(i + 1 < count ? fragment_body_bytes : 100, how, header);
            packet.insert(packet.end(), one.begin(), one.end());
        }
        CHECK(packet.size() <= packet_room);
        for (std::uint64_t damaged = 0; damaged < count; ++damaged) {
            auto bytes = packet;
            const std::size_t stride = fragment_stride(bytes);
            REQUIRE((packet.size() + stride - 1) / stride == count);
            for (std::size_t i = 0; i < 64; ++i)
                bytes[damaged * stride + 4 + i] ^= std::byte{0xa5};  // more than any code corrects
            REQUIRE(fragment_stride(bytes) == stride);
            for (std::uint64_t i = 0; i < count; ++i) {
                const ccoll::byte_span all(bytes);
                const opened_fragment f =
                    open_fragment(all.subspan(i * stride, std::min(stride, all.size() - i * stride)));
                CHECK(f.whole == (i != damaged));
                if (f.whole) CHECK(f.header.number == 5 + i);
            }
        }
        packet[0] = packet[1] = packet[2] = std::byte{};
        CHECK(fragment_stride(packet) == packet.size());
    }
    CHECK(fragment_stride({}) == 0);
}

TEST_CASE("Fragment: noise is not taken for one", "[transport][fragment]")
{
    fields::generator random(9);
    for (int i = 0; i < 20000; ++i) {
        std::vector<std::byte> noise(random.below(400));
        for (std::byte& b : noise) b = static_cast<std::byte>(random.bits());
        if (noise.size() >= 4 && i % 2 == 0)
            store(noise, 0, ccoll::detail::fragment_magic(static_cast<unsigned>(i / 2) % 7));
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
            REQUIRE(seen.last() == (all.empty() ? 0 : *all.rbegin()));
            const auto words = seen.words();
            for (std::uint64_t k = 0; k < 256; ++k)
                REQUIRE(((words[k / 64] >> k % 64 & 1) != 0) == all.contains(floor + 1 + k));
        }
    }
}

TEST_CASE("Fragment: the bytes are those of this version", "[transport][fragment][golden]")
{
    // CCOLL_WRITE_GOLDEN=1 writes the file anew. tests/wire/fragment_reader.py reads it and shares nothing
    // with the library.
    const auto path = repository::path_of("tests/transport/golden/fragments.hex");
    std::string all;
    const auto keep = [&](const std::vector<std::byte>& message) {
        for (std::size_t i = 0; i < message.size(); ++i) {
            const auto value = static_cast<unsigned>(message[i]);
            all += "0123456789abcdef"[value >> 4];
            all += "0123456789abcdef"[value & 15];
            if (i % 64 == 63 || i + 1 == message.size()) all += '\n';
        }
        all += '\n';
    };
    for (const protection& how : {protection{false, {}}, {true, {6}}, {true, {7}}, {true, {11}}})
        for (const std::size_t body : {std::size_t{1}, std::size_t{600}}) {
            fragment_header header;
            header.number = 78;
            header.first = 77;
            header.previous = 70;
            header.settled = 60;
            header.message_bytes = fragment_body_bytes + body;
            header.tag = 28672;
            header.sender = 3;
            keep(sealed(body, how, header));
        }
    for (const protection& how : {protection{false, {}}, {true, {6}}}) {
        acknowledgement body;
        body.beyond = {0b1101, 0, 0, std::uint64_t{1} << 63};
        body.taken = {41, 42};
        body.broken = acknowledgement::some_fragment;
        fragment_header header;
        header.kind = fragment_kind::acknowledgement;
        header.asks = 1;
        header.number = 50;
        header.settled = 9;
        header.sender = 2;
        const std::size_t bytes = sizeof header + sizeof body;
        std::vector<std::byte> message(bytes + how.check_bytes(bytes));
        store(ccoll::byte_span(message), sizeof header, body);
        seal_fragment(message, header, sizeof body, how);
        keep(message);
    }
    if (std::getenv("CCOLL_WRITE_GOLDEN") != nullptr) std::ofstream(path) << all;
    std::ifstream file(path);
    std::stringstream found;
    found << file.rdbuf();
    CHECK(found.str() == all);
}

}  // namespace fragment_cases
