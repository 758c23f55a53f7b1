// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addends of SZp made, added and decoded by the device kernels, under the emulator: the bytes and bits of the host codec.
#include "emulated.hpp"
#include "same_bits.hpp"
#include "support/catch.hpp"
#include "support/fields.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace szp_addends_cases {

using namespace emulated;

namespace {

std::map<std::string, unsigned> met;

template <class T>
void note_forms(ccoll::const_byte_span frame)
{
    namespace szp = ccoll::detail::szp;
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    if (view.says_too_large()) ++met["too large"];
    for (std::uint32_t i = 0; i < view.header.chunks && !view.says_too_large(); ++i) {
        const auto bytes = view.chunk(i).data;
        const szp::chunk_head head(ccoll::load<std::uint32_t>(bytes, 0));
        const char* const kinds[] = {"narrow", "flat", "fine", "wide", "wide flat", "kept", "rows", "fine rows"};
        std::string form = kinds[static_cast<unsigned>(head.what)];
        if (szp::rows::has_rows(head.what) && szp::rows::distances::of_word(ccoll::load<std::uint32_t>(bytes, 12)).plane != 0)
            form = "planes";
        if (head.escaped > 0) form += " classes";
        ++met[form];
        if (!head.alone) continue;
        const std::size_t n = std::min<std::size_t>(8192, view.header.elements - 8192 * i);
        const std::size_t words = ccoll::load<std::uint32_t>(bytes, bytes.size() - 4);
        const auto places = std::make_unique<szp::missing::fill_places>();
        const auto section = bytes.subspan(bytes.size() - 4 - 4 * words, 4 * words);
        REQUIRE(szp::missing::find<T>(section, n, *places));
        const auto reader = std::make_unique<szp::missing::section_reader<T>>(section, n);
        const auto value = std::make_unique<szp::missing::fill_value>();
        std::size_t values = 0;
        while (reader->has_more() && reader->next(*value)) ++values;
        if (values > 1) ++met[values == 4 ? "four fill values" : "two or three fill values"];
        const auto any = [](const auto& masks) { return std::any_of(std::begin(masks), std::end(masks), [](auto m) { return m != 0; }); };
        ++met[form + " fills"];
        if (any(places->in_some)) ++met[any(places->in_all) ? "fills in all and in some" : "fills in some"];
    }
}

using bytes = std::vector<std::byte>;

template <class T>
void agree(const encoded& found, const ccoll::encode_result& expected, bytes& host)
{
    host.resize(expected.bytes);
    note_forms<T>(host);
    CHECK(found.clean);
    CHECK(found.told.special_values == expected.special_values);
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
    if (expected == ccoll::status::ok) CHECK(same_bits(ours, theirs));
}

template <class T>
bytes addend(std::span<const T> x, double eb, const emulator::options& how)
{
    bytes host(ccoll::max_addend_bytes<SZp, T>(x.size()));
    const auto expected = ccoll::encode_addend<SZp>(x, host, eb);
    agree<T>(add<T>(x, {}, {}, x.size(), eb, how), expected, host);
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
    agree<T>(add<T>({}, a, b, x.size(), eb, how), expected, sum);
    decodes<T>(sum, x.size(), how);
    {
        INFO("values and an addend at once");
        agree<T>(add<T>(x, {}, b, x.size(), eb, how), expected, sum);
    }
    const auto doubled = ccoll::reduce_encoded<SZp, Sum, T>(sum, sum, twice);
    agree<T>(add<T>({}, sum, sum, x.size(), eb, how), doubled, twice);
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
    for (const std::size_t n : std::initializer_list<std::size_t>{0, 1, 31, 32, 33, 100, 257, 8160, 8191, 8192, 8193, 16384, 20000})
        for (const double eb : {1e-2, 1e-5}) {
            const auto x = fields::smooth<TestType>(n), y = fields::non_finite<TestType>(n), z = fields::random<TestType>(n);
            INFO("n " << n << ", bound " << eb);
            compare<TestType>(x, y, eb, {seed++});
            compare<TestType>(z, x, eb, {seed++});
        }
}

namespace {

/// Fields with fill values: of an ocean, where masks are alike or differ, at ends of blocks and chunks, beside NaN, all over, several.
template <class T>
std::vector<fields::named<T>> with_fills(std::size_t n, T fill)
{
    std::vector<fields::named<T>> all;
    const auto add = [&](const char* name, unsigned seed, auto has) {
        std::vector<T> x = fields::smooth<T>(n, seed);
        for (std::size_t i = 0; i < n; ++i)
            if (has(i)) x[i] = fill;
        all.push_back({name, x});
    };
    const auto coast = [](std::size_t i) { return i % 150 < 20 + i / 150 % 40; };
    add("land", 1, coast);
    add("the same land", 2, coast);
    add("another coast", 3, [](std::size_t i) { return i % 150 < 35 + i / 150 % 7; });
    add("islands", 4, [](std::size_t i) { return i % 777 == 5 || i % 32 == 31; });
    add("the first chunk", 5, [](std::size_t i) { return i < 8192; });
    add("ends", 6, [n](std::size_t i) { return i < 40 || i + 3 > n; });
    add("land and NaN", 7, coast);
    for (std::size_t i = 10; i < n; i += 97) all.back().values[i] = std::numeric_limits<T>::quiet_NaN();
    if (n > 0) all.back().values[n - 1] = std::numeric_limits<T>::infinity();
    add("nothing but land", 8, [](std::size_t) { return true; });
    add("no land", 9, [](std::size_t) { return false; });
    add("far values", 10, coast);
    for (std::size_t i = 0; i < n; ++i)
        if (!coast(i) && i % 3 == 0) all.back().values[i] *= T(1e9);
    const T some[] = {fill, T(-7e30), T(2e25), T(-fill), T(3e33)};
    const auto add_several = [&](const char* name, std::size_t count, unsigned seed) {
        add(name, seed, coast);
        for (std::size_t i = 0; i < n; ++i)
            if (coast(i)) all.back().values[i] = some[i / 11 % count];
    };
    add_several("two fill values", 2, 11);
    add_several("four fill values", 4, 12);
    for (std::size_t i = 10; i < n; i += 97) all.back().values[i] = std::numeric_limits<T>::quiet_NaN();
    add_several("too many fill values", 5, 13);
    return all;
}

}  // namespace

TEMPLATE_TEST_CASE("Emulated SZp adds fields with a fill value as the host does: on some, all and no operands", "[cuda][szp]", float,
                   double)
{
    std::uint64_t seed = 1;
    for (const std::size_t n : {std::size_t{8192 + 100}, std::size_t{70}}) {
        const auto list = with_fills<TestType>(n, TestType(1e20));
        for (std::size_t i = 0; i < list.size(); ++i)
            for (const std::size_t j : {i, (i + 1) % list.size(), (i + 3) % list.size()}) {
                INFO(list[i].name << " + " << list[j].name << ", n " << n << ", seed " << seed);
                compare<TestType>(list[i].values, list[j].values, 1e-3, {seed++});
            }
        const auto other = with_fills<TestType>(n, TestType(-3e19));
        for (std::size_t i = 0; i < list.size(); ++i) {
            INFO(list[i].name << " + another fill value, seed " << seed);
            compare<TestType>(list[i].values, other[(i + 1) % other.size()].values, 1e-3, {seed++});
            compare<TestType>(other[i].values, other[(i + 3) % other.size()].values, 1e-5, {seed++});
        }
    }
}

TEMPLATE_TEST_CASE("Emulated SZp: n fill values by n are the fill value, and more of them than can be counted are refused", "[cuda][szp]",
                   float, double)
{
    using Sum = ccoll::policies::Op::Sum;
    const std::size_t n = 300;
    const auto x = with_fills<TestType>(n, TestType(1e20))[0].values;
    const TestType fill = TestType(1e20);
    bytes one(ccoll::max_addend_bytes<SZp, TestType>(n)), sum(one), next(one);
    one.resize(ccoll::encode_addend<SZp>(x, one, 1e-3).bytes);
    sum = one;
    for (int times = 2; times <= 5; ++times) {
        next = add<TestType>({}, sum, one, n, 0, {7}).bytes;
        sum = next;
        std::vector<TestType> out(n);
        REQUIRE(decode<TestType>(sum, std::span(out)) == ccoll::status::ok);
        for (std::size_t i = 0; i < n; ++i)
            if (x[i] == fill) CHECK(out[i] / static_cast<TestType>(times) == fill);
    }
    for (int k = 0; k < 14; ++k) {  // 5 times 2^13 is more than 2^15
        bytes host(ccoll::max_addend_bytes<SZp, TestType>(n));
        const auto expected = ccoll::reduce_encoded<SZp, Sum, TestType>(sum, sum, host);
        agree<TestType>(add<TestType>({}, sum, sum, n, 0, {9}), expected, host);
        if (expected.code != ccoll::status::ok) {
            CHECK(k == 12);
            CHECK(expected.code == ccoll::status::too_large);
            return;
        }
        sum = host;
    }
    FAIL("nothing was refused");
}

TEMPLATE_TEST_CASE("Emulated SZp combines addends with factors as the host does", "[cuda][szp]", float, double)
{
    const std::size_t n = 8192 + 70;
    auto list = with_fills<TestType>(n, TestType(1e20));
    for (auto& each : fields::all<TestType>(n)) list.push_back(each);
    std::uint64_t seed = 1;
    const std::pair<int, int> factors[] = {{1, -1}, {3, 2}, {0, 1}, {-5, 0}, {0, 0}, {2147483647, -2147483647 - 1}, {1, 1}};
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto &x = list[i], &y = list[(3 * i + 1) % list.size()];
        const auto [p, q] = factors[i % std::size(factors)];
        const double eb = i % 2 == 0 ? 1e-3 : 1e-7;
        INFO(p << " " << x.name << " + " << q << " " << y.name << ", bound " << eb << ", seed " << seed);
        bytes a(ccoll::max_addend_bytes<SZp, TestType>(n)), b(a), host(a);
        a.resize(ccoll::encode_addend<SZp>(x.values, a, eb).bytes);
        b.resize(ccoll::encode_addend<SZp>(y.values, b, eb).bytes);
        const auto expected = ccoll::combine_encoded<SZp, TestType>(p, a, q, b, host);
        agree<TestType>(combine<TestType>(p, a, q, b, n, {seed++}), expected, host);
        decodes<TestType>(host, n, {seed});
    }
}

namespace {

/// @param strides  none: the field has no shape
template <class T>
bytes addend_of_rows(const std::vector<T>& x, double eb, ccoll::field_strides strides)
{
    bytes host(ccoll::max_addend_bytes<SZp, T>(x.size()));
    host.resize(strides.none() ? ccoll::encode_addend<SZp>(x, host, eb).bytes
                               : ccoll::encode_addend<SZp>(ccoll::shaped_view<const T>{x, strides, x.size()}, host, eb).bytes);
    note_forms<T>(host);
    return host;
}
/// A field in which rows of 187 values pay, and planes of five rows.
template <class T>
std::vector<T> field_of_rows(std::size_t n, double phase, double scale)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(i % 187), b = static_cast<double>(i / 187), in_plane = static_cast<double>(i / 187 % 5);
        x[i] = static_cast<T>(
            scale * (std::sin(1.9 * a + 0.3 * in_plane) + 20 * std::sin(0.11 * a + 0.02 * b + phase) + 3 * std::sin(0.53 * a) + 28));
    }
    return x;
}
template <class T>
std::vector<T> with(std::vector<T> x, std::size_t first, std::size_t every, T value)
{
    for (std::size_t i = first; i < x.size(); i += every) x[i] = value;
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("Emulated SZp adds, combines and decodes addends with rows as the host does, whatever the other one has", "[cuda][szp]",
                   float, double)
{
    using T = TestType;
    using Sum = ccoll::policies::Op::Sum;
    const double eb = 0.01, step = ccoll::codec_impl<SZp, T, ccoll::host_space>::addend_step(eb);
    struct operand {
        std::vector<T> values;
        ccoll::field_strides strides;
    };
    std::uint64_t seed = 1;
    for (const std::size_t n : {std::size_t{8192 + 300}, std::size_t{2000}}) {
        const auto field = [&](double phase, double scale) { return field_of_rows<T>(n, phase, scale); };
        const T infinity = std::numeric_limits<T>::infinity(), fill = T(1e20);
        const auto x = field(0, 1), y = field(1, 1);
        const std::vector<T> large(n, static_cast<T>(0x1.8p28 * step)), wide(n, static_cast<T>(0x1.8p40 * step));
        auto uneven = field(2, 0x1p20);
        const ccoll::field_strides planes(187, 935);
        const std::vector<operand> list = {{x, 187},
                                           {x, 17},
                                           {field(1, 64), 187},
                                           {y, {17, 187}},
                                           {x, planes},
                                           {y, planes},
                                           {with(x, 9, 55, fill), planes},
                                           {y, 187},
                                           {y, 0},
                                           {field(0, -1), 187},
                                           {field(2, 1), 100},
                                           {x, 0},
                                           {large, 0},
                                           {uneven, 0},
                                           {wide, 187},
                                           {with(y, 5, 70, infinity), 187},
                                           {std::vector<T>(n, T(3)), 187},
                                           {with(x, 9, 55, fill), 187},
                                           {with(y, 9, 55, fill), 187},
                                           {with(y, 9, 55, fill), 0},
                                           {with(x, 9, 91, fill), 300},
                                           {with(with(x, 9, 91, fill), 10, 91, -infinity), 187}};
        for (std::size_t i = 0; i < list.size(); ++i)
            for (std::size_t j = 0; j < list.size(); ++j) {
                INFO("operands " << i << " and " << j << ", n " << n << ", seed " << seed);
                const bytes a = addend_of_rows<T>(list[i].values, eb, list[i].strides),
                            b = addend_of_rows<T>(list[j].values, eb, list[j].strides);
                bytes sum(ccoll::max_addend_bytes<SZp, T>(n)), other(sum), next(sum);
                if (j == 0) decodes<T>(a, n, {seed});
                const auto expected = ccoll::reduce_encoded<SZp, Sum, T>(a, b, sum);
                agree<T>(add<T>({}, a, b, n, 0, {seed++}), expected, sum);
                decodes<T>(sum, n, {seed});
                const auto twice = ccoll::reduce_encoded<SZp, Sum, T>(sum, a, next);
                agree<T>(add<T>({}, sum, a, n, 0, {seed++}), twice, next);
                decodes<T>(next, n, {seed});
                if (list[i].strides.none()) {
                    INFO("values and an addend at once");
                    other = sum;
                    agree<T>(add<T>(list[i].values, {}, b, n, eb, {seed++}), expected, other);
                }
                const std::pair<int, int> factors[] = {{1, -1}, {3, 2}, {0, 1}, {-5, 0}, {0, 0}, {30000, 1}};
                const auto [p, q] = factors[(i + j) % std::size(factors)];
                INFO(p << " a + " << q << " b");
                bytes combined(ccoll::max_addend_bytes<SZp, T>(n));
                const auto multiples = ccoll::combine_encoded<SZp, T>(p, a, q, b, combined);
                agree<T>(combine<T>(p, a, q, b, n, {seed++}), multiples, combined);
                decodes<T>(combined, n, {seed});
            }
    }
}

TEST_CASE("The tests above have met every form of an addend's chunk", "[cuda][szp]")
{
    const std::size_t n = 8192;
    for (const auto& [name, values] : fields::all<float>(n)) compare<float>(values, fields::constant<float>(n), 1e-4, {3});
    for (const auto& [name, values] : with_fills<float>(n, 1e20f)) compare<float>(values, with_fills<float>(n, 1e20f)[0].values, 1e-4, {3});
    compare<float>(fields::constant<float>(n), fields::constant<float>(n), 1e-12, {3});
    compare<float>(fields::offset<float>(n), fields::non_finite<float>(n), 1e-8, {3});
    const auto x = field_of_rows<float>(n, 0, 1);
    for (const ccoll::field_strides& strides : {ccoll::field_strides(187), ccoll::field_strides(187, 935)})
        for (const auto& values : {x, with(x, 5, 70, std::numeric_limits<float>::infinity()), with(x, 9, 55, 1e20f)}) {
            const bytes rows = addend_of_rows(x, 0.01, strides), other = addend_of_rows(values, 0.01, strides);
            bytes sum(ccoll::max_addend_bytes<SZp, float>(n));
            sum.resize(ccoll::reduce_encoded<SZp, ccoll::policies::Op::Sum, float>(rows, other, sum).bytes);
            note_forms<float>(sum);
            for (const bytes& each : {other, sum}) decodes<float>(each, n, {3});
        }
    for (const char* form : {"narrow",
                             "flat",
                             "wide",
                             "wide flat",
                             "narrow classes",
                             "wide classes",
                             "too large",
                             "narrow fills",
                             "flat fills",
                             "wide fills",
                             "narrow classes fills",
                             "fills in all and in some",
                             "fills in some",
                             "two or three fill values",
                             "four fill values",
                             "rows",
                             "rows classes",
                             "rows fills",
                             "planes",
                             "planes classes",
                             "planes fills"}) {
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

}  // namespace szp_addends_cases
