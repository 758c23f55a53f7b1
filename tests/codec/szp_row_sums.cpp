// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp.hpp, codec/szp/repredict.hpp: addends of fields that say their shape. They are shorter, and their sums decode to the bits of
// sums without shapes. The bytes of a sum depend on what was added alone, also where addends were predicted differently.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <ccoll/codec/szp/coder.hpp>
#include <ccoll/exec.hpp>

#include "codec/round_trip.hpp"
#include "codec/szp_reader.hpp"
#include "support/fields.hpp"

namespace szp_row_sums_cases {

using namespace ccoll::policies;
using ccoll::status;
namespace szp = ccoll::detail::szp;

namespace {

using C = Codec::SZp;
using bytes = std::vector<std::byte>;
constexpr std::size_t chunk = 8192;

struct result {
    status code = status::ok;
    bytes frame;

    bool operator==(const result&) const = default;
};

/// In memory as long as was promised, between guards.
template <class T, class Produce>
result produced(std::size_t n, Produce produce)
{
    const std::size_t room = ccoll::max_addend_bytes<C, T>(n);
    bytes memory(room + 64, round_trip::guard);
    const ccoll::encode_result r = produce(ccoll::byte_span(memory).first(room));
    for (std::size_t i = room; i < memory.size(); ++i)
        if (memory[i] != round_trip::guard) FAIL("an addend is longer than max_addend_bytes");
    memory.resize(r.bytes);
    return {r.code, memory};
}
/// @param strides  0: the field has no shape
template <class T>
bytes addend(const std::vector<T>& x, double eb, ccoll::field_strides strides)
{
    const result r = produced<T>(x.size(), [&](ccoll::byte_span dst) {
        return strides.none() ? ccoll::encode_addend<C>(x, dst, eb)
                              : ccoll::encode_addend<C>(ccoll::shaped_view<const T>{x, strides, x.size()}, dst, eb);
    });
    REQUIRE(r.code == status::ok);
    return r.frame;
}
template <class T>
result sum_of(const bytes& a, const bytes& b, std::size_t n)
{
    return produced<T>(n, [&](ccoll::byte_span dst) { return ccoll::reduce_encoded<C, Op::Sum, T>(a, b, dst); });
}
template <class T>
result combined(std::int32_t p, const bytes& a, std::int32_t q, const bytes& b, std::size_t n)
{
    return produced<T>(n, [&](ccoll::byte_span dst) { return ccoll::combine_encoded<C, T>(p, a, q, b, dst); });
}
template <class T>
bytes bits_of(const std::vector<T>& x)
{
    bytes all(x.size() * sizeof(T));
    std::memcpy(all.data(), x.data(), all.size());
    return all;
}
/// Smooth along all directions, with rows of 187 values in planes of five rows.
template <class T>
std::vector<T> field(std::size_t n, double phase, double scale = 1)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(i % 187), b = static_cast<double>(i / 187),
                     busy = std::sin(1.9 * a + 0.3 * static_cast<double>(i / 187 % 5));
        x[i] = static_cast<T>(scale * (busy + 20 * std::sin(0.11 * a + 0.02 * b + phase) * std::cos(0.037 * a - 0.05 * b) +
                                       3 * std::sin(0.53 * a + phase) + 28));
    }
    return x;
}

template <class T>
struct operand {
    std::vector<T> values;
    ccoll::field_strides strides;
};
template <class T>
struct family {
    std::string name;
    std::vector<operand<T>> operands;
};

constexpr double eb = 0.01;

/// Four operands each, which disagree about rows.
template <class T>
std::vector<family<T>> families(std::size_t n)
{
    const double step = static_cast<double>(szp::quantiser<T>(eb).step);
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    const auto a = field<T>(n, 0), b = field<T>(n, 1), c = field<T>(n, 2), d = field<T>(n, 3);
    const auto with = [](std::vector<T> x, std::size_t first, std::size_t every, T value) {
        for (std::size_t i = first; i < x.size(); i += every) x[i] = value;
        return x;
    };
    auto opposite = a;
    for (T& v : opposite) v = -v;
    fields::generator random(3);
    std::vector<T> noise(n), large(n);
    for (T& v : noise) v = static_cast<T>(random.unit());
    for (std::size_t i = 0; i < n; ++i) large[i] = static_cast<T>((i % 2 == 0 ? 1 : -1) * (0x1p28 - 200 - static_cast<double>(i)) * step);
    const ccoll::field_strides planes(187, 935);
    const std::vector<T> zero(n), constant(n, T(7)), wide(n, static_cast<T>(0x1.8p40 * step));
    const std::vector<T> tight = field<T>(n, 1, 0x1p12);  // f32: beyond 2^21 steps, so that its own chunks have no rows
    const std::vector<T> nearer = field<T>(n, 2, 0x1p6), near = field<T>(n, 3, 0x1p7);  // beyond 2^14 steps
    return {
        {"all with rows", {{a, 187}, {b, 187}, {c, 187}, {d, 187}}},
        {"half of them", {{a, 187}, {b, 0}, {c, 187}, {d, 0}}},
        {"one of them", {{a, 0}, {b, 0}, {c, 187}, {d, 0}}},
        {"rows of different lengths", {{a, 187}, {b, 374}, {c, 0}, {d, 187}}},
        {"short rows", {{a, 17}, {b, {17, 187}}, {c, 187}, {d, {17, 187}}}},
        {"all with planes", {{a, planes}, {b, planes}, {c, planes}, {d, planes}}},
        {"planes, rows and neither", {{a, planes}, {b, 0}, {c, 187}, {d, planes}}},
        {"planes beside longer rows", {{a, planes}, {b, 374}, {c, {374, 935}}, {d, {187, 1870}}}},
        {"planes that cancel", {{a, planes}, {opposite, planes}, {a, 0}, {opposite, 187}}},
        {"quanta beyond the fast quotient", {{nearer, planes}, {near, 187}, {a, planes}, {near, 0}}},
        {"large quanta beside planes", {{a, planes}, {tight, planes}, {c, 187}, {large, 0}}},
        {"NaN, Inf and fill values in planes",
         {{with(a, 7, 500, nan), planes}, {with(b, 5, 700, infinity), planes}, {with(c, 40, 700, T(1e20)), planes}, {d, 187}}},
        {"what cancels", {{a, 187}, {opposite, 187}, {a, 0}, {opposite, 0}}},
        {"what cancels with rows", {{a, 187}, {opposite, 187}, {a, 187}, {opposite, 187}}},
        {"constants", {{a, 187}, {zero, 187}, {constant, 0}, {zero, 0}}},
        {"noise", {{a, 187}, {noise, 187}, {noise, 0}, {d, 187}}},
        {"large quanta", {{a, 187}, {tight, 187}, {c, 187}, {tight, 0}}},
        {"sums beyond the limit of rows", {{a, 187}, {large, 187}, {large, 0}, {d, 187}}},
        {"sums beyond narrow quanta", {{large, 0}, {large, 0}, {large, 0}, {d, 187}}},
        {"wide quanta", {{a, 187}, {wide, 187}, {c, 187}, {d, 0}}},
        {"NaN and Inf", {{a, 187}, {with(b, 5, 70, nan), 187}, {with(c, 40, 70, infinity), 0}, {with(d, 40, 140, -infinity), 187}}},
        {"fill values in the same places",
         {{with(a, 7, 50, T(1e20)), 187}, {with(b, 7, 50, T(1e20)), 187}, {with(c, 7, 50, T(1e20)), 187}, {with(d, 7, 50, T(1e20)), 187}}},
        {"the same, and some without rows",
         {{with(a, 7, 50, T(1e20)), 187}, {with(b, 7, 50, T(1e20)), 0}, {with(c, 7, 50, T(1e20)), 187}, {with(d, 7, 50, T(1e20)), 374}}},
        {"fill values in different places",
         {{with(a, 7, 50, T(1e20)), 187}, {with(b, 9, 75, T(1e20)), 0}, {c, 187}, {with(d, 7, 91, T(1e20)), 374}}},
    };
}

/// The sum of every subset by every split of it in two, in both orders: by induction these are all trees over all permutations.
/// @return how many additions gave something else than the first one of their subset
template <class T>
std::size_t order_dependent(const std::vector<bytes>& frames, std::size_t n, result& of_all)
{
    std::vector<result> sums(std::size_t{1} << frames.size());
    std::size_t different = 0;
    for (std::size_t r = 0; r < frames.size(); ++r) sums[std::size_t{1} << r].frame = frames[r];
    for (std::size_t s = 1; s < sums.size(); ++s) {
        bool first = true;
        for (std::size_t part = (s - 1) & s; part > 0; part = (part - 1) & s, first = false) {
            const result r = sum_of<T>(sums[part].frame, sums[s ^ part].frame, n);
            if (first) sums[s] = r;
            else different += !(r == sums[s]);
        }
    }
    of_all = sums.back();
    return different;
}

/// What every instruction set gives is what the one in use gives.
template <class Make>
void check_every_isa(Make make)
{
    const ccoll::isa usual = ccoll::isa_in_use();
    const auto expected = make();
    for (const ccoll::isa one : ccoll::every_isa) {
        if (ccoll::use_isa(one) != one) continue;
        INFO(ccoll::name_of(one));
        CHECK(make() == expected);
    }
    ccoll::use_isa(usual);
}

}  // namespace

TEMPLATE_TEST_CASE("addends of a field that says its shape are shorter, and decode to the same bits", "[codec][szp][rows][homomorphic]",
                   float, double)
{
    using T = TestType;
    for (const std::size_t row : {16u, 25u, 32u, 63u, 187u, 1440u})
        for (const std::size_t n : {chunk, 3 * chunk + 1, 5 * chunk - 77}) {
            INFO("rows of " << row << ", " << n << " values");
            std::vector<T> x(n);
            for (std::size_t i = 0; i < n; ++i) {
                const double a = static_cast<double>(i % row), b = static_cast<double>(i / row);
                x[i] = static_cast<T>(20 * std::sin(0.31 * a + 0.02 * b) * std::cos(0.037 * a - 0.05 * b) + 28);
            }
            const bytes plain = addend(x, eb, 0), with_rows = addend(x, eb, row);
            CHECK(10 * with_rows.size() < 9 * plain.size());
            CHECK(szp_reader::read(with_rows).kinds[0] == 6);
            CHECK(szp_reader::read(with_rows).quanta == szp_reader::read(plain).quanta);
            CHECK(szp_reader::read(with_rows).shortest);
            CHECK(round_trip::same_bits(round_trip::decoded<C, T>(with_rows, n), round_trip::decoded<C, T>(plain, n)));
            check_every_isa([&] { return addend(x, eb, row); });
            check_every_isa([&] { return round_trip::decoded<C, T>(with_rows, n); });
            CHECK(produced<T>(n, [&](ccoll::byte_span dst) {
                      return ccoll::encode_addend<C>(ccoll::shaped_view<const T>{x, row, n}, dst, eb, Exec::Threads<3>{});
                  }).frame == with_rows);
        }
}

TEMPLATE_TEST_CASE("addends of a field with NaN and infinities that says its shape are shorter, and decode to the same bits",
                   "[codec][szp][rows][homomorphic][nan]", float, double)
{
    using T = TestType;
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    for (const bool fills : {false, true})
        for (const std::size_t n : {chunk, 3 * chunk + 1, 5 * chunk - 77}) {
            INFO(n << " values" << (fills ? ", with fill values" : ""));
            auto x = field<T>(n, 0);
            fields::generator random(5);
            for (std::size_t i = 0; i < n; ++i) {  // ragged coasts, single values, whole blocks at both ends
                const std::size_t column = i % 187, line = i / 187;
                if (column > 120 + line % 5 && column < 160) x[i] = fills && line % 2 == 0 ? T(1e20) : nan;
                if (random.below(200) == 0) x[i] = random.below(2) == 0 ? infinity : -infinity;
                if (i < 40 || i + 40 > n) x[i] = nan;
            }
            const bytes plain = addend(x, eb, 0), with_rows = addend(x, eb, 187);
            CHECK(10 * with_rows.size() < 9 * plain.size());
            CHECK(szp_reader::read(with_rows).kinds[0] == 6);
            CHECK(szp_reader::read(with_rows).shortest);
            CHECK(szp_reader::read(with_rows).honest);
            CHECK(szp_reader::read(with_rows).classes == szp_reader::read(plain).classes);
            if (!fills) CHECK(szp_reader::read(with_rows).quanta == szp_reader::read(plain).quanta);
            CHECK(round_trip::same_bits(round_trip::decoded<C, T>(with_rows, n), round_trip::decoded<C, T>(plain, n)));
            check_every_isa([&] { return addend(x, eb, 187); });
            check_every_isa([&] { return bits_of(round_trip::decoded<C, T>(with_rows, n)); });
        }
}

TEMPLATE_TEST_CASE("a sum of addends with and without rows has the same bytes in every order, and the bits of one without",
                   "[codec][szp][rows][homomorphic]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {chunk, 700 + chunk, std::size_t{4000}})
        for (const auto& f : families<T>(n)) {
            INFO(f.name << ", " << n << " values");
            std::vector<bytes> frames, plain;
            for (const auto& x : f.operands) {
                frames.push_back(addend(x.values, eb, x.strides));
                plain.push_back(addend(x.values, eb, 0));
            }
            result sum, expected;
            CHECK(order_dependent<T>(frames, n, sum) == 0);
            CHECK(order_dependent<T>(plain, n, expected) == 0);
            REQUIRE(sum.code == expected.code);
            if (sum.code != status::ok) continue;
            CHECK(round_trip::same_bits(round_trip::decoded<C, T>(sum.frame, n), round_trip::decoded<C, T>(expected.frame, n)));
            const auto inside = szp_reader::read(sum.frame), without = szp_reader::read(expected.frame);
            CHECK((inside.quanta == without.quanta && inside.classes == without.classes));
            // Beside NaN, `largest` is an upper bound in chunks with rows, and exact in others.
            if (f.name.find("NaN") != f.name.npos) CHECK(inside.honest);
            else CHECK(inside.largest == without.largest);
            CHECK((inside.shortest && inside.honest == without.honest));
            std::uint32_t longest = 0;
            for (const bytes& each : frames) longest = std::max(longest, szp_reader::read(each).above[0]);
            CHECK(inside.above[0] == (inside.largest[0] < std::uint64_t{1} << 28 ? longest : 0));
            if (f.name == "all with planes" || f.name == "quanta beyond the fast quotient") CHECK(longest == (935u << 16 | 187u));
            check_every_isa(
                [&] { return sum_of<T>(sum_of<T>(frames[0], frames[1], n).frame, sum_of<T>(frames[2], frames[3], n).frame, n); });
            check_every_isa([&] { return bits_of(round_trip::decoded<C, T>(sum.frame, n)); });
        }
}

TEMPLATE_TEST_CASE("multiples of addends with and without rows are those of addends without", "[codec][szp][rows][homomorphic]", float,
                   double)
{
    using T = TestType;
    const std::size_t n = chunk + 100;
    for (const auto& f : families<T>(n)) {
        const bytes x = addend(f.operands[0].values, eb, f.operands[0].strides),
                    y = addend(f.operands[1].values, eb, f.operands[1].strides);
        const bytes plain_x = addend(f.operands[0].values, eb, 0), plain_y = addend(f.operands[1].values, eb, 0);
        for (const auto& [p, q] : {std::pair{1, 1}, {2, -3}, {0, 1}, {1, 0}, {-1, 0}, {5000, 1}, {3, 70000}, {0, 0}}) {
            INFO(f.name << ": " << p << " x + " << q << " y");
            const result r = combined<T>(p, x, q, y, n), expected = combined<T>(p, plain_x, q, plain_y, n);
            REQUIRE(r.code == expected.code);
            if (r.code != status::ok) continue;
            CHECK(round_trip::same_bits(round_trip::decoded<C, T>(r.frame, n), round_trip::decoded<C, T>(expected.frame, n)));
            CHECK(combined<T>(q, y, p, x, n) == r);
            if (p == 1 && q == 1) CHECK(r == sum_of<T>(x, y, n));
        }
    }
}

TEMPLATE_TEST_CASE("values are encoded and added in one pass as they are in two, with rows as without", "[codec][szp][rows][homomorphic]",
                   float, double)
{
    using T = TestType;
    const std::size_t n = 2 * chunk + 333;
    for (const auto& f : families<T>(n))
        for (const ccoll::field_strides& strides : {ccoll::field_strides(), ccoll::field_strides(187), ccoll::field_strides(187, 935)}) {
            INFO(f.name << ", rows of " << strides.of[0] << ", planes of " << strides.of[1]);
            const auto& own = f.operands[0].values;
            const bytes theirs = addend(f.operands[1].values, eb, f.operands[1].strides);
            ccoll::frame_view view;
            REQUIRE(ccoll::frame_codec_of<C, T>.open(theirs, n, view) == status::ok);
            const result r = produced<T>(n, [&](ccoll::byte_span dst) {
                return ccoll::detail::chunked_addends<C, T>::encode_add(own, view, dst, {eb, strides}, {});
            });
            CHECK(r == sum_of<T>(addend(own, eb, strides), theirs, n));
        }
}

TEMPLATE_TEST_CASE("what cancels keeps its rows, so that a later sum has the bytes of another order", "[codec][szp][rows][homomorphic]",
                   float, double)
{
    using T = TestType;
    const auto x = field<T>(chunk, 0);
    auto opposite = x;
    for (T& v : opposite) v = -v;
    const bytes nothing = sum_of<T>(addend(x, eb, 187), addend(opposite, eb, 187), chunk).frame;
    const auto inside = szp_reader::read(nothing);
    CHECK(inside.kinds[0] == 6);
    CHECK(inside.above[0] == 187);
    CHECK(round_trip::same_bits(round_trip::decoded<C, T>(nothing, chunk), std::vector<T>(chunk)));
}

TEMPLATE_TEST_CASE("readers and adders of SZp survive any addend that says it has rows", "[codec][szp][rows][homomorphic]", float, double)
{
    using T = TestType;
    using coder = szp::chunk_coder<T>;
    fields::generator random(17);
    const std::size_t n = 3000;
    std::vector<std::vector<std::byte>> genuine;
    for (const auto& f : families<T>(n))
        for (const auto& o : f.operands) {
            std::vector<std::byte> one(ccoll::codec_impl<C, T, ccoll::host_space>::max_addend_bytes(n));
            const auto r = coder::encode_addend(o.values, one, eb, o.strides);
            REQUIRE(r.code == status::ok);
            one.resize(r.bytes);
            genuine.push_back(one);
        }
    std::size_t decoded_ones = 0, added = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        auto broken = genuine[random.below(genuine.size())];
        const auto& other = genuine[random.below(genuine.size())];
        for (std::size_t edits = random.below(4) + 1; edits > 0; --edits) {
            const std::size_t at =
                random.below(3) == 0 ? random.below(broken.size()) : random.below(std::min<std::size_t>(broken.size(), 40));
            broken[at] = static_cast<std::byte>(random.below(256));
        }
        if (random.below(4) == 0)
            ccoll::store(broken, 8, static_cast<std::uint32_t>(random.below(1000)));  // lies about its largest quantum
        if (random.below(8) == 0) broken.resize(broken.size() / 8 * 4);
        const auto in_place = std::vector<std::byte>(broken);  // so that a sanitizer sees its end
        std::vector<T> y(n);
        decoded_ones += coder::decode_addend(in_place, y, eb) == status::ok;
        std::vector<std::byte> room(ccoll::codec_impl<C, T, ccoll::host_space>::max_addend_bytes(n));
        const auto sum = coder::add_chunks(in_place, other, n, room);
        added += sum.code == status::ok;
        coder::combine_chunks(static_cast<std::int32_t>(random.below(7)) - 3, other, 3, in_place, n, room);
        coder::put_fills(in_place, std::span<T>(y), 2);
    }
    CHECK(decoded_ones > 100);
    CHECK(added > 100);
    CHECK(added < 4000);
}

}  // namespace szp_row_sums_cases
