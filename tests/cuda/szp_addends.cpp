// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addends of SZp made, added and decoded by the device kernels, under the emulator: the bytes and bits of the host codec.
#include "emulated.hpp"
#include "../catch.hpp"
#include "../fields.hpp"

#include <algorithm>
#include <map>
#include <string>

using namespace emulated;

namespace {

std::map<std::string, unsigned> met;

void note_forms(ccoll::const_byte_span frame)
{
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    if (view.says_too_large()) ++met["too large"];
    for (std::uint32_t i = 0; i < view.header.chunks && !view.says_too_large(); ++i) {
        const ccoll::detail::szp::chunk_head head(ccoll::load<std::uint32_t>(view.chunk(i).data, 0));
        const char* const kinds[] = {"narrow", "flat", "fine", "wide", "wide flat"};
        std::string form = kinds[static_cast<unsigned>(head.what)];
        if (head.escaped > 0) form += " classes";
        ++met[form];
    }
}

using bytes = std::vector<std::byte>;

void agree(const encoded& found, const ccoll::encode_result& expected, bytes& host)
{
    host.resize(expected.bytes);
    note_forms(host);
    CHECK(found.clean);
    CHECK(static_cast<ccoll::status>(found.told.code) == expected.code);
    CHECK(found.told.bytes == expected.bytes);
    const auto differ = std::mismatch(found.bytes.begin(), found.bytes.end(), host.begin(), host.end());
    INFO("the first byte that differs is " << differ.first - found.bytes.begin());
    CHECK(found.bytes == host);
}

template <class T>
void decodes(const bytes& frame, std::size_t n, const emulator::options& how)
{
    std::vector<T> theirs(n, T(-77)), ours(n, T(-77));
    const ccoll::status expected = ccoll::decode<SZp>(frame, theirs);
    CHECK(decode<T>(frame, ours, how) == expected);
    if (expected == ccoll::status::ok && n > 0) CHECK(std::memcmp(ours.data(), theirs.data(), n * sizeof(T)) == 0);
}

template <class T>
bytes addend(std::span<const T> x, double eb, const emulator::options& how)
{
    bytes host(ccoll::max_addend_bytes<SZp, T>(x.size()));
    const auto expected = ccoll::encode_addend<SZp>(x, host, eb);
    agree(add<T>(x, {}, {}, x.size(), eb, how), expected, host);
    decodes<T>(host, x.size(), how);
    return host;
}

/// x, y, x + y twice, and 2 (x + y).
template <class T>
void compare(std::span<const T> x, std::span<const T> y, double eb, const emulator::options& how)
{
    using Sum = ccoll::policies::Op::Sum;
    const bytes a = addend(x, eb, how), b = addend(y, eb, how);
    bytes sum(ccoll::max_addend_bytes<SZp, T>(x.size())), twice(sum);
    const auto expected = ccoll::reduce_encoded<SZp, Sum, T>(a, b, sum);
    agree(add<T>({}, a, b, x.size(), eb, how), expected, sum);
    decodes<T>(sum, x.size(), how);
    {
        INFO("values and an addend at once");
        agree(add<T>(x, {}, b, x.size(), eb, how), expected, sum);
    }
    const auto doubled = ccoll::reduce_encoded<SZp, Sum, T>(sum, sum, twice);
    agree(add<T>({}, sum, sum, x.size(), eb, how), doubled, twice);
    decodes<T>(twice, x.size(), how);
}

}  // namespace

TEMPLATE_TEST_CASE("Emulated SZp makes, adds and decodes addends as the host does: pairs of fields, bounds from loose to tight",
                   "[cuda][szp]", float, double)
{
    const std::size_t n = 8192 + 100;
    const auto list = fields::all<TestType>(n), other = fields::all<TestType>(n, 2);
    std::uint64_t seed = 1;
    for (std::size_t i = 0; i < list.size(); ++i)
        for (const std::size_t j : {i, (i + 1) % list.size(), std::size_t{3}, std::size_t{9}})
            for (const double eb : {1e-1, 1e-3, 1e-6, 1e-9, 1e-13}) {
                INFO(list[i].name << " + " << list[j].name << ", bound " << eb << ", seed " << seed);
                compare<TestType>(list[i].values, other[j].values, eb, {seed++});
            }
}

TEMPLATE_TEST_CASE("Emulated SZp adds at every length around blocks and chunks", "[cuda][szp]", float, double)
{
    std::uint64_t seed = 1;
    for (const std::size_t n : {0, 1, 31, 32, 33, 100, 257, 8160, 8191, 8192, 8193, 16384, 20000})
        for (const double eb : {1e-2, 1e-5}) {
            const auto x = fields::smooth<TestType>(n), y = fields::non_finite<TestType>(n), z = fields::random<TestType>(n);
            INFO("n " << n << ", bound " << eb);
            compare<TestType>(x, y, eb, {seed++});
            compare<TestType>(z, x, eb, {seed++});
        }
}

TEST_CASE("The tests above have met every form of an addend's chunk", "[cuda][szp]")
{
    const std::size_t n = 8192;
    for (const auto& [name, values] : fields::all<float>(n)) compare<float>(values, fields::constant<float>(n), 1e-4, {3});
    compare<float>(fields::constant<float>(n), fields::constant<float>(n), 1e-12, {3});
    compare<float>(fields::offset<float>(n), fields::non_finite<float>(n), 1e-8, {3});
    for (const char* form : {"narrow", "flat", "wide", "wide flat", "narrow classes", "wide classes", "too large"}) {
        INFO(form);
        CHECK(met[form] > 0);
    }
}

TEST_CASE("Emulated SZp refuses what the host refuses to add", "[cuda][szp]")
{
    const auto x = fields::smooth<float>(9000), shorter = fields::smooth<float>(8999);
    bytes a(ccoll::max_addend_bytes<SZp, float>(9000)), b(a), other(a), movement(a);
    a.resize(ccoll::encode_addend<SZp>(x, a, 1e-3).bytes);
    b.resize(ccoll::encode_addend<SZp>(x, b, 1e-4).bytes);
    other.resize(ccoll::encode_addend<SZp>(shorter, other, 1e-3).bytes);
    movement.resize(ccoll::encode<SZp>(x, movement, 1e-3).bytes);
    const auto code = [&](const bytes& l, const bytes& r) { return static_cast<ccoll::status>(add<float>({}, l, r, 9000, 0).told.code); };
    CHECK(code(a, a) == ccoll::status::ok);
    CHECK(code(a, b) == ccoll::status::bound_differs);
    CHECK(code(a, other) == ccoll::status::count_differs);
    CHECK(code(a, movement) == ccoll::status::not_an_addend);
    CHECK(code(movement, a) == ccoll::status::not_an_addend);
    CHECK(code(bytes(a.begin(), a.end() - 16), a) == ccoll::status::corrupt);
}
