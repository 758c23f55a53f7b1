// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: names kernels
// codec/szp/coder.hpp: chunks of SZp decode to what the law says, however they were packed.
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "support/fields.hpp"
#include "support/isa.hpp"
#include "support/szp_chunks.hpp"

#include <ccoll/codec/szp.hpp>

namespace szp_cases {

namespace {

using ccoll::status;
using bytes = std::vector<std::byte>;
using view = ccoll::const_byte_span;
template <class T>
using coder = ccoll::codec_impl<ccoll::policies::Codec::SZp, T, ccoll::host_space>;
/// What an encoder is told beside the values and the bound.
struct facts {
    ccoll::field_strides strides = {};
    ccoll::missing_value missing = {};

    ccoll::field_facts with(double eb) const { return {eb, strides, missing}; }
};

/// The chunk, or nothing if it travels raw. It is written where there is room, and where there is just as
/// much as the values need.
template <class T>
bytes moved(const std::vector<T>& x, double eb, const facts& known = {})
{
    bytes wide(200000), tight(x.size() * sizeof(T));
    const ccoll::encode_result r = coder<T>::encode_chunk(x, wide, known.with(eb)),
                               s = coder<T>::encode_chunk(x, tight, known.with(eb));
    if (r.code != status::ok) {
        CHECK(s.code != status::ok);
        return {};
    }
    CHECK(r.bytes <= x.size() * sizeof(T));
    wide.resize(r.bytes);
    if (s.code == status::ok) {
        tight.resize(s.bytes);
        CHECK(tight == wide);
    } else {
        CHECK(r.bytes == x.size() * sizeof(T));
    }
    return wide;
}
template <class T>
std::vector<T> decoded(const bytes& chunk, std::size_t n, double eb,
                       ccoll::stores how = ccoll::stores::cached)
{
    std::vector<T> y(n);
    REQUIRE(coder<T>::decode_chunk(view(chunk), y, eb, {how}) == status::ok);
    return y;
}
template <class T>
bytes addend(const std::vector<T>& x, double eb, const facts& known = {})
{
    bytes chunk(coder<T>::max_addend_bytes(x.size()));
    const ccoll::encode_result r = coder<T>::encode_addend(x, chunk, known.with(eb));
    chunk.resize(r.code == status::ok ? r.bytes : 0);
    return chunk;
}
template <class T>
bytes sum(const bytes& a, const bytes& b, std::size_t n)
{
    if (a.empty() || b.empty()) return {};
    bytes chunk(coder<T>::max_addend_bytes(n));
    const ccoll::encode_result r = coder<T>::add_chunks(view(a), view(b), n, chunk);
    REQUIRE((r.code == status::ok || r.code == status::too_large));
    chunk.resize(r.code == status::ok ? r.bytes : 0);
    return chunk;
}
template <class T>
std::vector<T> decoded_sum(const bytes& chunk, std::size_t n, double eb, int divisor = 1,
                           fields::word<T> missing = 0)
{
    std::vector<T> y(n);
    REQUIRE(coder<T>::decode_addend(view(chunk), y, eb, {ccoll::stores::cached, divisor, {missing, true}}) ==
            status::ok);
    return y;
}
using szp_reference::bits_of;
template <class T>
bool same_bits(T a, T b)
{
    return bits_of(a) == bits_of(b);
}
template <class T>
std::vector<T> law_values(const std::vector<T>& x, double eb, std::optional<fields::word<T>> missing = {})
{
    return szp_reference::moved(szp_reference::law<T>(eb, missing), x);
}
template <class T>
bool equal(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
/// -0 is an ordinary value, and may come back as 0.
template <class T>
bool equal_but_zeros(const std::vector<T>& a, const std::vector<T>& b)
{
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!same_bits(a[i], b[i]) && !(a[i] == 0 && b[i] == 0)) return false;
    return a.size() == b.size();
}

/// Land: rows of 96 values, part of each of which is v.
template <class T>
std::vector<T> with_land(std::vector<T> x, T v, std::size_t from = 20, std::size_t width = 17)
{
    for (std::size_t i = 0; i < x.size(); ++i)
        if (const std::size_t at = i % 96, shore = from + i / 96 % 5; at >= shore && at < shore + width)
            x[i] = v;
    return x;
}

template <class T>
std::vector<std::pair<std::string, std::vector<T>>> all_fields(std::size_t n, unsigned seed)
{
    std::vector<std::pair<std::string, std::vector<T>>> all{
        {"smooth", fields::smooth<T>(n, seed)},
        {"quiet", fields::quiet<T>(n, seed)},
        {"random", fields::random<T>(n, seed)},
        {"constant", fields::constant<T>(n, seed)},
        {"zeros", std::vector<T>(n)},
        {"ramp", fields::ramp<T>(n, seed)},
        {"offset", fields::offset<T>(n, seed)},
        {"denormal", fields::denormal<T>(n, seed)},
        {"wild", fields::wild<T>(n, seed)},
        {"non-finite", fields::non_finite<T>(n, seed)},
        {"land", with_land(fields::smooth<T>(n, seed), T(1e20))},
        {"land of NaN", with_land(fields::offset<T>(n, seed), std::numeric_limits<T>::quiet_NaN())}};
    std::vector<T> lattice = fields::smooth<T>(n, seed), sparse(n), far = fields::smooth<T>(n, seed);
    for (T& v : lattice) v = static_cast<T>(std::floor(v * 64) / 8 + 300);
    for (std::size_t i = 0; i < n; i += 37) sparse[i] = static_cast<T>(i % 5);
    far[n / 2] = T(1e9);
    all.push_back({"lattice", lattice});
    all.push_back({"sparse", sparse});
    all.push_back({"one far value", far});
    all.push_back({"lattice with land", with_land(lattice, T(-9999))});
    return all;
}

}  // namespace

TEMPLATE_TEST_CASE(
    "a chunk of SZp decodes to what the law says, with every instruction set, which all write the same",
    "[codec][szp]", float, double)
{
    using T = TestType;
    std::vector<bytes> written;  // by the first set
    with_each_isa([&] {
        std::size_t k = 0;
        const auto is_same = [&](const bytes& chunk) {
            if (k == written.size()) written.push_back(chunk);
            return written[k++] == chunk;
        };
        for (const std::size_t n : {1u, 511u, 512u, 513u, 1023u, 1024u, 1057u, 8191u, 8192u})
            for (const auto& [name, x] : all_fields<T>(n, static_cast<unsigned>(n)))
                for (const double eb : {0.1, 1e-3, 1e-5, 1e-8, 1e-13, 1e-30, 1e-42}) {
                    INFO(name << ", " << n << " values, bound " << eb);
                    const std::vector<T> law = law_values(x, eb);
                    const bytes chunk = moved(x, eb);
                    CHECK(is_same(chunk));
                    CHECK(is_same(addend(x, eb)));
                    if (chunk.empty()) {
                        // It travels raw.
                        CHECK(equal(law, x));
                        continue;
                    }
                    CHECK(equal_but_zeros(decoded<T>(chunk, n, eb), law));
                    if (n == 8191)
                        CHECK(equal_but_zeros(decoded<T>(chunk, n, eb, ccoll::stores::streamed), law));
                }
    });
}

TEMPLATE_TEST_CASE("values of SZp that are too small to be divided by a lattice are on none", "[codec][szp]",
                   float, double)
{
    using T = TestType;
    constexpr std::size_t n = 2000;
    // The lowest bit of a fill value such as NetCDF's 15 * 2^119, and tiny values behind it; or denormals on
    // an ordinary lattice.
    std::vector<T> tiny = fields::smooth<T>(n, 1), specks(n);
    for (std::size_t i = 0; i < n; ++i) {
        tiny[i] = i < n / 4 ? std::ldexp(T(15), std::numeric_limits<T>::max_exponent - 9)
                            : std::ldexp(tiny[i], -14);
        specks[i] = i % 97 == 40 ? std::numeric_limits<T>::denorm_min() : static_cast<T>(i % 50) / 8;
    }
    with_each_isa([&] {
        for (const auto& x : {tiny, specks})
            for (double eb = 0.1; eb > 1e-8; eb /= 7) {
                INFO("bound " << eb);
                const bytes chunk = moved(x, eb);
                CHECK(equal_but_zeros(chunk.empty() ? x : decoded<T>(chunk, n, eb),
                                      law_values(x, eb)));  // or it travels raw
            }
    });
}

TEMPLATE_TEST_CASE("values of SZp are within the bound, and exceptional ones come back bit for bit",
                   "[codec][szp]", float, double)
{
    using T = TestType;
    constexpr std::size_t n = 4000;
    for (unsigned seed = 1; seed < 4; ++seed)
        for (const auto& [name, x] : all_fields<T>(n, seed))
            for (double eb = 2; eb > 1e-18; eb /= 7) {
                INFO(name << ", bound " << eb);
                const bytes chunk = moved(x, eb);
                if (chunk.empty()) continue;
                const std::vector<T> y = decoded<T>(chunk, n, eb);
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < n; ++i)
                    wrong += std::isfinite(x[i]) ? !(std::fabs(static_cast<long double>(x[i]) -
                                                               static_cast<long double>(y[i])) <= eb)
                                                 : !same_bits(x[i], y[i]);
                CHECK(wrong == 0);
            }
}

TEMPLATE_TEST_CASE("the shape of a field changes bytes of SZp, and no value", "[codec][szp]", float, double)
{
    using T = TestType;
    constexpr std::size_t n = 8192;
    with_each_isa([] {
        std::size_t shorter = 0;
        for (const auto& [name, x] : all_fields<T>(n, 5))
            for (const double eb : {0.1, 1e-3, 1e-6})
                for (const auto& [row, plane] : {std::pair<std::size_t, std::size_t>{16, 0},
                                                 {17, 289},
                                                 {96, 0},
                                                 {40, 1600},
                                                 {96, 4608},
                                                 {4000, 0},
                                                 {8191, 0}}) {
                    INFO(name << ", bound " << eb << ", row " << row << ", plane " << plane);
                    const bytes plain = moved(x, eb),
                                shaped = moved(x, eb, {ccoll::field_strides(row, plane)});
                    CHECK(plain.empty() == shaped.empty());
                    if (plain.empty() || shaped.empty()) continue;
                    shorter += shaped.size() < plain.size();
                    CHECK(equal_but_zeros(decoded<T>(plain, n, eb), decoded<T>(shaped, n, eb)));
                    const bytes a = addend(x, eb), b = addend(x, eb, {ccoll::field_strides(row, plane)});
                    if (a.empty() || b.empty()) continue;
                    const std::vector<T> twice = decoded_sum<T>(sum<T>(a, a, n), n, eb);
                    CHECK(equal(decoded_sum<T>(sum<T>(a, b, n), n, eb), twice));
                    CHECK(equal(decoded_sum<T>(sum<T>(b, a, n), n, eb), twice));
                    CHECK(equal(decoded_sum<T>(sum<T>(b, b, n), n, eb), twice));
                }
        CHECK(shorter > 0);
    });
}

TEMPLATE_TEST_CASE("a missing value of any bits is kept in SZp, and disturbs no other value", "[codec][szp]",
                   float, double)
{
    using T = TestType;
    constexpr std::size_t n = 3000;
    for (const T v : {T(-9999), T(-32768), T(1e20), std::numeric_limits<T>::quiet_NaN(),
                      -std::numeric_limits<T>::infinity(), T(0), T(-0.0)})
        for (const double eb : {0.1, 1e-3, 1e-6}) {
            INFO("missing " << v << ", bound " << eb);
            const std::vector<T> plain = fields::smooth<T>(n, 3), x = with_land(plain, v);
            const auto missing = bits_of(v);
            const facts known{{}, {missing, true}};
            const bytes chunk = moved(x, eb, known);
            REQUIRE(!chunk.empty());
            CHECK(equal(decoded<T>(chunk, n, eb), law_values<T>(x, eb, missing)));
            // A mask, and a bridge over each strip of land.
            CHECK(chunk.size() < moved(plain, eb).size() + 1400);

            // In sums of any number of ranks.
            bytes all = addend(x, eb, known);
            for (int rank = 1; rank < 5; ++rank) all = sum<T>(all, addend(x, eb, known), n);
            const std::vector<T> y = decoded_sum<T>(all, n, eb, 1, missing);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < n; ++i)
                if (same_bits(x[i], v) && !same_bits(plain[i], v)) wrong += !same_bits(y[i], v);
            CHECK(wrong == 0);
        }
}

TEMPLATE_TEST_CASE("sums of SZp have the same bits in every order, and those of the law", "[codec][szp]",
                   float, double)
{
    using T = TestType;
    constexpr std::size_t n = 2500, ranks = 6;
    fields::generator random(11);
    with_each_isa([&] {
        for (const double eb : {0.1, 1e-3, 1e-6, 1e-9}) {
            INFO("bound " << eb);
            std::vector<std::vector<T>> x(ranks);
            std::vector<bytes> addends;
            for (std::size_t r = 0; r < ranks; ++r) {
                const auto all = all_fields<T>(n, static_cast<unsigned>(r + 1));
                std::size_t which = (r * 5 + static_cast<std::size_t>(-std::log10(eb))) % all.size();
                if (all[which].first == "wild")
                    which = 0;  // more than 256 different exceptional values: no addend
                x[r] = all[which].second;
                if (r % 2 == 1) x[r] = with_land(x[r], T(1e20), 10 * r);
                if (r == 4) {
                    x[r][77] = std::numeric_limits<T>::infinity();
                    x[r][78] = std::numeric_limits<T>::quiet_NaN();
                }
                const facts known{r % 3 == 0 ? ccoll::field_strides(96) : ccoll::field_strides{}};
                addends.push_back(addend(x[r], eb, known));
                REQUIRE(!addends.back().empty());
            }
            std::vector<T> expected;
            for (int order = 0; order < 12; ++order) {
                std::vector<bytes> left = addends;
                while (left.size() > 1) {
                    const std::size_t i = random.below(left.size());
                    std::swap(left[i], left.back());
                    const bytes a = left.back();
                    left.pop_back();
                    bytes& b = left[random.below(left.size())];
                    b = order % 2 == 0 ? sum<T>(a, b, n) : sum<T>(b, a, n);
                    REQUIRE(!b.empty());
                }
                const std::vector<T> y = decoded_sum<T>(left[0], n, eb);
                if (expected.empty()) expected = y;
                CHECK(equal(y, expected));
            }
            // Places that are ordinary on all ranks: the sum of the quanta.
            const szp_reference::law<T> law(eb);
            std::size_t wrong = 0, seen = 0;
            for (std::size_t i = 0; i < n; ++i) {
                double q = 0;
                bool ordinary = true;
                for (const auto& one : x) {
                    ordinary = ordinary && !law.far_in_addend(one[i]);
                    q += ordinary ? static_cast<double>(law.quantum(one[i])) : 0;
                }
                if (!ordinary) continue;
                ++seen;
                wrong += expected[i] != static_cast<T>(q * law.step);
            }
            CHECK(wrong == 0);
            CHECK(seen > n / 4);
        }
    });
}

TEMPLATE_TEST_CASE("a chunk of SZp that is not raw by law is shorter than its values", "[codec][szp]", float,
                   double)
{
    using T = TestType;
    const double eb = 1e-3,
                 largest = std::ldexp(1.0, std::ilogb(2 * eb) + std::numeric_limits<T>::digits) * 0.999;
    with_each_isa([&] {
        for (const std::size_t n : {512u, 513u, 545u, 1023u, 1024u, 1025u, 2049u, 8191u, 8192u})
            for (const std::size_t row : {0u, 16u, 100u}) {
                // Noise of all quanta that there are, and as many different exceptional values as a chunk may
                // have.
                std::vector<T> x = fields::random<T>(n, static_cast<unsigned>(n));
                for (T& v : x) v = static_cast<T>(v * largest);
                const auto infinity = bits_of(std::numeric_limits<T>::infinity());
                for (std::size_t k = 0; k <= (n - 1) / 32; ++k)
                    fields::set_bits(x[(k * 31 + 3) % n], static_cast<fields::word<T>>(infinity + 1 + k));
                INFO(n << " values, row " << row);
                const bytes chunk = moved(x, eb, {ccoll::field_strides(row)});
                REQUIRE(!chunk.empty());
                CHECK(chunk.size() < n * sizeof(T));
                CHECK(equal_but_zeros(decoded<T>(chunk, n, eb), law_values(x, eb)));
            }
    });
}

TEMPLATE_TEST_CASE("a short chunk of SZp is raw, but for 32 values and more that are all the same",
                   "[codec][szp]", float, double)
{
    using T = TestType;
    const double eb = 1e-3;
    with_each_isa([&] {
        for (const std::size_t n : {31u, 32u, 33u, 300u, 511u, 512u})
            for (const T v : {T(0), T(3.14159), T(1024), T(1e20), std::numeric_limits<T>::quiet_NaN(),
                              std::numeric_limits<T>::infinity()}) {
                std::vector<T> x(n, v);
                INFO(n << " times " << v);
                const bytes chunk = moved(x, eb);
                CHECK(chunk.empty() == (n < 32));
                if (n >= 32) CHECK(chunk.size() <= 80);
                if (n >= 32) CHECK(equal_but_zeros(decoded<T>(chunk, n, eb), law_values(x, eb)));
                x[n / 2] = T(0.5);
                CHECK(moved(x, eb).empty() == (n < 512));
            }
    });
}

TEMPLATE_TEST_CASE("a chunk of SZp can have runs of 256 different exceptional values, and with 257 it is raw",
                   "[codec][szp]", float, double)
{
    using T = TestType;
    constexpr std::size_t n = 8192, run = 31;
    const double eb = 1e-3;
    const auto infinity = bits_of(std::numeric_limits<T>::infinity());
    with_each_isa([&] {
        for (const std::size_t different : {std::size_t{256}, std::size_t{257}}) {
            std::vector<T> x = fields::random<T>(n, 7);
            for (std::size_t i = 0; i < n - 20; ++i)
                fields::set_bits(
                    x[i], static_cast<fields::word<T>>(infinity + 1 + std::min(i / run, different - 1)));
            INFO(different << " different values");
            const std::vector<T> law = law_values(x, eb);
            CHECK(equal(law, x) == (different == 257));
            const bytes chunk = moved(x, eb);
            REQUIRE((different == 257 || !chunk.empty()));
            if (!chunk.empty()) CHECK(equal_but_zeros(decoded<T>(chunk, n, eb), law));
        }
    });
}

TEMPLATE_TEST_CASE("addends of SZp have no lists", "[codec][szp]", float, double)
{
    using T = TestType;
    constexpr std::size_t n = 3000;
    const double eb = 1e-3;
    std::vector<T> x(n), y(n);
    for (std::size_t i = 5; i < n; i += 40) x[i] = T(0.002);
    const bytes chunk = moved(x, eb), usual = addend(x, eb), flat = addend(std::vector<T>(n, T(1)), eb),
                filled = addend(with_land(x, T(1e20)), eb);
    const szp_reference::chunk page = szp_reference::read_chunk<T>(
        reinterpret_cast<const std::uint8_t*>(chunk.data()), chunk.size(), n, false);
    REQUIRE(page.scale == 0);  // as an addend has it
    with_each_isa([&] {
        bytes to(coder<T>::max_addend_bytes(n));
        const auto sum_of = [&](const bytes& a, const bytes& b) {
            return coder<T>::add_chunks(view(a), view(b), n, to).code;
        };
        CHECK(coder<T>::decode_chunk(view(chunk), y, eb) == status::ok);
        CHECK(coder<T>::decode_addend(view(chunk), y, eb) == status::corrupt);
        for (const bytes& other : {usual, flat, filled}) {
            CHECK(sum_of(usual, other) == status::ok);
            CHECK(sum_of(chunk, other) == status::corrupt);
            CHECK(sum_of(other, chunk) == status::corrupt);
        }
    });
}

TEMPLATE_TEST_CASE("means of fill values are fill values in SZp", "[codec][szp]", float, double)
{
    using T = TestType;
    constexpr std::size_t n = 1000;
    const double eb = 1e-3;
    for (const T fill : {T(1e20), T(9.96921e36), T(-1e35), T(12345678912345678.0)})
        for (const int ranks : {2, 3, 5, 7}) {
            const std::vector<T> x = with_land(fields::smooth<T>(n, 2), fill);
            bytes all = addend(x, eb);
            for (int r = 1; r < ranks; ++r) all = sum<T>(all, addend(x, eb), n);
            REQUIRE(!all.empty());
            const std::vector<T> mean = decoded_sum<T>(all, n, eb, ranks), whole = decoded_sum<T>(all, n, eb);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < n; ++i)
                if (x[i] == fill) {
                    // The wide integers are off by half a step each, and the sum is rounded once.
                    const long double sum = static_cast<long double>(fill) * ranks;
                    const long double ulp = std::fabs(std::nextafter(whole[i], T(0)) - whole[i]);
                    wrong += mean[i] != fill || !(std::fabs(whole[i] - sum) <= ulp + ranks * eb);
                }
            CHECK(wrong == 0);
        }
}

TEMPLATE_TEST_CASE("the place of a group of SZp that has no planes means nothing", "[codec][szp]", float,
                   double)
{
    using T = TestType;
    constexpr std::size_t n = 2048;
    const double eb = 1e-3;
    std::vector<T> x = fields::smooth<T>(n, 4);
    std::fill(x.begin() + n / 2 - 100, x.end(), x[n / 2 - 100]);
    for (const std::size_t row : {0u, 40u}) {
        INFO("row " << row);
        const facts known{ccoll::field_strides(row)};
        const bytes chunk = moved(x, eb, known), sums = addend(x, eb, known),
                    noise = addend(fields::random<T>(n, 5), eb);
        const auto elsewhere = [](bytes all) {
            const std::size_t at = ccoll::detail::szp::places_at(2) + 8;
            all.at(at) = all.at(at + 1) = std::byte{0xff};  // a Mi bytes behind: not in this program's stack
            return all;
        };
        with_each_isa([&] {
            const std::vector<T> law = law_values(x, eb);
            CHECK(equal_but_zeros(decoded<T>(elsewhere(chunk), n, eb), law));
            CHECK(equal_but_zeros(decoded_sum<T>(elsewhere(sums), n, eb), law));
            CHECK(equal(decoded_sum<T>(sum<T>(elsewhere(sums), noise, n), n, eb),
                        decoded_sum<T>(sum<T>(sums, noise, n), n, eb)));
            // Quanta of 64 bits and wide integers.
            const bytes large = addend(std::vector<T>(n, T(1e20)), eb);
            CHECK(equal(decoded_sum<T>(sum<T>(elsewhere(sums), large, n), n, eb),
                        decoded_sum<T>(sum<T>(sums, large, n), n, eb)));
        });
    }
}

TEMPLATE_TEST_CASE(
    "planes of an addend of SZp may stand in its head, and a constant is added to what they say",
    "[codec][szp]", float, double)
{
    using T = TestType;
    constexpr std::size_t n = 1024, place = 16 + 16;
    constexpr double eb = 1e-3;
    const double step = coder<T>::addend_step(eb);
    const bytes constant = addend(std::vector<T>(n, T(1)), eb);
    bytes foreign = addend(fields::smooth<T>(n, 3), eb);
    REQUIRE(constant.size() == 24);
    const std::uint64_t largest = 1 << 20;
    std::memcpy(foreign.data() + 8, &largest, sizeof largest);
    std::memset(foreign.data() + place, 0, 2);
    const std::vector<T> before = decoded_sum<T>(foreign, n, eb);
    with_each_isa([&] {
        for (const bool first : {true, false}) {
            const std::vector<T> y =
                decoded_sum<T>(first ? sum<T>(constant, foreign, n) : sum<T>(foreign, constant, n), n, eb);
            const auto quantum = [=](T v) { return std::llround(static_cast<double>(v) / step); };
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < n; ++i) wrong += quantum(y[i]) != quantum(before[i]) + quantum(T(1));
            CHECK(wrong == 0);
        }
    });
}

TEMPLATE_TEST_CASE("a chunk of SZp with any byte changed, or cut anywhere, is refused or decoded",
                   "[codec][szp]", float, double)
{
    using T = TestType;
    constexpr std::size_t n = 1100;
    for (const auto& [name, x] : all_fields<T>(n, 9)) {
        const bool in_rows = name == "smooth" || name == "land";
        const facts known{in_rows ? ccoll::field_strides(40, 400) : ccoll::field_strides{}};
        for (const double eb : {0.1, 1e-3, 1e-9}) {
            INFO(name << ", bound " << eb);
            const bytes chunk = moved(x, eb, known), sums = addend(x, eb, known);
            std::vector<T> y(n);
            bytes room(coder<T>::max_addend_bytes(n));
            for (std::size_t i = 0; i < chunk.size(); i += chunk.size() > 600 && i > 64 ? 7 : 1)
                for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
                    bytes other = chunk;
                    other[i] ^= static_cast<std::byte>(flip);
                    const status s = coder<T>::decode_chunk(view(other), y, eb);
                    if (s != status::ok && s != status::corrupt) FAIL("byte " << i);
                }
            for (std::size_t i = 0; i < sums.size(); i += sums.size() > 600 && i > 64 ? 7 : 1)
                for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
                    bytes other = sums;
                    other[i] ^= static_cast<std::byte>(flip);
                    const status s = coder<T>::decode_addend(view(other), y, eb);
                    const status t = coder<T>::add_chunks(view(other), view(sums), n, room).code;
                    if (s != status::ok && s != status::corrupt) FAIL("byte " << i);
                    if (t != status::ok && t != status::corrupt && t != status::too_large) FAIL("byte " << i);
                }
            for (std::size_t size = 0; size < chunk.size(); size += 1 + size / 50)
                if (coder<T>::decode_chunk(ccoll::const_byte_span(chunk).first(size), y, eb) == status::ok)
                    CHECK(size + 16 > chunk.size());  // only zeros that fill a unit were cut
        }
    }
}

}  // namespace szp_cases
