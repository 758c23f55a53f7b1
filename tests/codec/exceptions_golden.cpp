// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized, optimised
// codec/exceptions.hpp: the bytes of sections (golden/exceptions.hex). Writers must write the same with every
// instruction set. The file has hashes of what is read, so that a reader that shares nothing with the library
// can check it: tests/wire/reader.py. Written anew by
//   CCOLL_WRITE_GOLDEN=1 <build tree>/tests/unit_codec_exceptions_golden
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "codec/exceptions.hpp"
#include "support/repository.hpp"

namespace exceptions_golden_cases {

using namespace exceptions_cases;
using namespace exceptions;

namespace {

/// FNV-1a of the bits.
template <class T>
u64 hash(const std::vector<T>& x)
{
    bytes raw(x.size() * sizeof(T));
    std::memcpy(raw.data(), x.data(), raw.size());
    u64 h = 0xcbf29ce484222325u;
    for (const u8 b : raw) h = (h ^ b) * 0x100000001b3u;
    return h;
}
template <class T>
void print(std::ostringstream& text, const std::string& name, std::size_t n, double step, i32 divisor,
           const std::vector<T>& read, const bytes& section)
{
    text << "section " << name << " elements " << std::dec << n << " dtype " << (sizeof(T) == 8) << " step "
         << std::hexfloat << step << " divisor " << divisor << " missing " << std::hex
         << std::bit_cast<fields::word<T>>(T(-9999)) << " decoded " << hash(read) << '\n';
    for (std::size_t i = 0; i < section.size(); ++i)
        text << "0123456789abcdef"[section[i] >> 4] << "0123456789abcdef"[section[i] & 15]
             << (i % 64 == 63 || i + 1 == section.size() ? "\n" : "");
}

template <class T>
void movement(std::ostringstream& text, const std::string& name, std::size_t n, const exceptions::places& at,
              std::size_t different)
{
    std::vector<T> x(n), y(n);
    std::size_t k = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (has(at, i)) fields::set_bits(x[i], many<T>(k++ % different));
    std::vector<u8> room(most_bytes(n, sizeof(T)));
    const u8* const end =
        exceptions::write<T>(x.data(), n, at, room.data(), room.data() + room.size(), any_changes);
    REQUIRE(end != nullptr);
    const bytes section(static_cast<const u8*>(room.data()), end);
    REQUIRE(exceptions::read<T>(section.data(), section.size(), y.data(), n));
    print(text, name, n, 0, 1, y, section);
}

/// Two ranks, each with places and values of its own.
template <class T>
void addends(std::ostringstream& text, const std::string& name, std::size_t n, const exceptions::places& a,
             const exceptions::places& b, i32 divisor)
{
    const double step = 0.0107421875;  // 11 / 1024
    const auto missing = std::bit_cast<fields::word<T>>(T(-9999));
    std::vector<u8> room[3];
    ccoll::const_byte_span of[2];
    addend operands[2], all;
    std::vector<i64> quanta(n), bridges(n);
    for (std::size_t i = 0; i < n; ++i) quanta[i] = 3 * static_cast<i64>(i) - 1000;
    for (std::size_t r = 0; r < 2; ++r) {
        const exceptions::places& at = r == 0 ? a : b;
        std::vector<T> x(n);
        std::size_t k = r;
        for (std::size_t i = 0; i < n; ++i)
            if (has(at, i))
                x[i] = ++k % 11 == 3 ? from_bits<T>(many<T>(1 + k % 2))
                       : k % 7 == 1  ? T(-9999)
                                     : T(1e20) * T(k % 3 + 1);
        room[r].resize(most_addend_bytes(n));
        u8* const to = room[r].data();
        const u8* const end = write_addend<T>(x.data(), n, at, step, &missing, to, to + room[r].size());
        REQUIRE(end != nullptr);
        of[r] = {reinterpret_cast<const std::byte*>(to), static_cast<std::size_t>(end - to)};
    }
    room[2].resize(most_addend_bytes(n));
    u8* const to = room[2].data();
    const merged sum = merge(of[0], of[1], n, operands[0], operands[1], to, to + room[2].size());
    REQUIRE(sum.code == ccoll::status::ok);
    const bytes section(to, sum.end);
    REQUIRE(read_addend(std::as_bytes(std::span(section)), n, all));
    std::vector<T> y(n);
    apply_to<T>(all, step, divisor, missing, quanta.data(), y.data(), n);
    print(text, name, n, step, divisor, y, section);
}

template <class T>
std::string sections(const std::string& type)
{
    std::ostringstream text;
    std::size_t k = 0;
    for (const std::size_t n : {1u, 33u, 500u})
        for (const exceptions::places& at : all_places(n, 3)) {
            ++k;
            movement<T>(text, type + "_" + std::to_string(k), n, at, 1 + k % 5);
            if (k % 3 == 0) movement<T>(text, type + "_all_differ_" + std::to_string(k), n, at, 256);
        }
    for (const std::size_t n : {1u, 33u, 300u}) {
        const auto all = all_places(n, 4);
        for (std::size_t i = 0; i < all.size(); ++i)
            addends<T>(text, type + "_sum_" + std::to_string(k++), n, all[i], all[(i + n / 300) % all.size()],
                       i % 3 == 0 ? 7 : 1);
    }
    return text.str();
}

}  // namespace

TEST_CASE("sections of exceptional values have the bytes of wire version 9", "[codec][exceptions][golden]")
{
    const auto path = repository::path_of("tests/codec/golden/exceptions.hex");
    with_each_isa([&] {
        const std::string today = "# sections of wire version 9; see exceptions_golden.cpp\n" +
                                  sections<float>("f32") + sections<double>("f64");
        if (std::getenv("CCOLL_WRITE_GOLDEN") != nullptr) std::ofstream(path) << today;
        std::ostringstream stored;
        stored << std::ifstream(path).rdbuf();
        CHECK((stored.str() == today));
    });
}

}  // namespace exceptions_golden_cases
