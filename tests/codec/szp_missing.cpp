// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/missing.hpp, missing_sums.hpp: addends of SZp with fill values, and sums of them, whose bytes depend on what was added alone.
#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/szp/coder.hpp>

namespace szp_missing_cases {

using namespace ccoll::policies;
using ccoll::status;

namespace {

using C = Codec::SZp;
using bytes = std::vector<std::byte>;

struct result {
    status code = status::ok;
    bytes frame;
};

template <class T>
result addend(const std::vector<T>& x, double eb)
{
    bytes frame(ccoll::max_addend_bytes<C, T>(x.size()));
    const auto r = ccoll::encode_addend<C>(x, frame, eb);
    frame.resize(r.bytes);
    return {r.code, frame};
}
template <class T>
result add(const bytes& a, const bytes& b, std::size_t n)
{
    bytes frame(ccoll::max_addend_bytes<C, T>(n));
    const auto r = ccoll::reduce_encoded<C, Op::Sum, T>(a, b, frame);
    frame.resize(r.bytes);
    return {r.code, frame};
}
template <class T>
std::vector<T> sea(std::size_t n, unsigned seed)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(15 + 12 * std::sin(static_cast<double>(i) / 300 + seed));
    return x;
}
std::vector<bool> random_land(std::size_t n, fields::generator& random)
{
    std::vector<bool> land(n);
    for (std::size_t i = 0; i < n;) {
        const std::size_t length = 1 + random.below(random.below(4) == 0 ? 200 : 20);
        const bool is_land = random.below(4) == 0;
        for (std::size_t j = i; j < std::min(n, i + length); ++j) land[j] = is_land;
        i += length;
    }
    return land;
}

/// Sums in random orders and trees have equal bytes. @return the sum
template <class T>
result sum_of(const std::vector<bytes>& frames, std::size_t n, fields::generator& random)
{
    result first;
    for (int turn = 0; turn < 6; ++turn) {
        auto left = frames;
        result last;
        while (left.size() > 1) {
            const std::size_t i = random.below(left.size());
            std::swap(left[i], left.back());
            const bytes one = std::move(left.back());
            left.pop_back();
            const std::size_t j = random.below(left.size());
            last = turn % 2 == 0 ? add<T>(one, left[j], n) : add<T>(left[j], one, n);
            left[j] = last.frame;
        }
        if (turn == 0) first = last;
        CHECK(last.code == first.code);
        CHECK(last.frame == first.frame);
    }
    return first;
}
template <class T>
using times_of_fill = std::map<fields::word<T>, int>;  // in ascending order of bits

/// How many times each fill value is among these.
template <class T>
times_of_fill<T> fills_at(const std::vector<std::vector<T>>& x, std::size_t i, const std::vector<T>& fills)
{
    times_of_fill<T> times;
    for (const auto& v : x)
        if (std::find(fills.begin(), fills.end(), v[i]) != fills.end()) ++times[std::bit_cast<fields::word<T>>(v[i])];
    return times;
}
/// A chunk has up to four fill values, in up to two per place on average.
template <class T>
bool can_be_added(const std::vector<std::vector<T>>& x, const std::vector<T>& fills)
{
    const std::size_t n = x[0].size(), step = 8192;
    for (std::size_t begin = 0; begin < n; begin += step) {
        std::size_t pairs = 0;
        times_of_fill<T> seen;
        const std::size_t end = std::min(n, begin + step);
        for (std::size_t i = begin; i < end; ++i) {
            const auto here = fills_at(x, i, fills);
            pairs += here.size();
            seen.insert(here.begin(), here.end());
        }
        if (seen.size() > 4 || pairs > 2 * (end - begin)) return false;
    }
    return true;
}

}  // namespace

TEMPLATE_TEST_CASE(
    "sums of SZp with fill values are exact where all addends have them, within the bound elsewhere, and independent of order",
    "[codec][szp][homomorphic][missing]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    fields::generator random(17);
    const ccoll::isa before = ccoll::isa_in_use();
    int refused = 0;
    for (int trial = 0; trial < 160; ++trial) {
        const std::size_t n = trial % 4 == 0 ? 8192 + random.below(500) : 1 + random.below(700), p = 2 + random.below(5);
        const double eb = std::pow(10.0, -static_cast<double>(random.below(5)));
        std::vector<T> fills{T(1e20), T(-1.2345e31), T(9.96921e36), T(-1e20), T(1.2345e31)};
        for (std::size_t i = 4; i > 0; --i) std::swap(fills[i], fills[random.below(i + 1)]);
        fills.resize(1 + static_cast<std::size_t>(trial / 8 % 5));
        const bool mixed = trial % 2 == 0, non_finite = trial % 5 == 0, far = trial % 7 == 0, of_rank = trial % 3 == 0;
        const auto land = random_land(n, random);
        std::vector<std::vector<T>> x;
        std::vector<bytes> frames;
        bool all_encoded = true;
        for (std::size_t r = 0; r < p; ++r) {
            auto v = sea<T>(n, static_cast<unsigned>(r));
            for (std::size_t i = 0; i < n; ++i) {
                if (far && random.below(20) == 0) v[i] = static_cast<T>(eb * 0x1p40);  // a wide chunk
                if (land[i] != (mixed && random.below(50) == 0)) v[i] = fills[(of_rank ? r : i / 100) % fills.size()];
                if (non_finite && random.below(90) == 0) v[i] = random.below(2) == 0 ? limits::quiet_NaN() : -limits::infinity();
            }
            result first;
            for (const ccoll::isa i : ccoll::every_isa) {
                if (ccoll::use_isa(i) != i) continue;
                const result of_isa = addend(v, eb);
                if (first.frame.empty()) first = of_isa;
                CHECK(of_isa.frame == first.frame);
            }
            ccoll::use_isa(before);
            INFO("trial " << trial << ", rank " << r);
            CHECK((first.code == status::ok) == can_be_added<T>({v}, fills));
            all_encoded = all_encoded && first.code == status::ok;
            frames.push_back(first.frame);
            x.push_back(std::move(v));
        }
        INFO("trial " << trial << ", n = " << n << ", p = " << p << ", eb = " << eb << ", fill values " << fills.size());
        const result sum = sum_of<T>(frames, n, random);
        CHECK(sum.code == (can_be_added(x, fills) ? status::ok : status::too_large));
        if (sum.code != status::ok) {
            ++refused;
            continue;
        }
        const auto y = round_trip::decoded<C, T>(sum.frame, n);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto here = fills_at(x, i, fills);
            long double exact = 0, numbers = 0, of_fills = 0;
            bool all_finite = true;
            int fill_count = 0;
            T ieee = 0;
            for (const auto& v : x) {
                exact += v[i];
                numbers += std::fabs(static_cast<long double>(v[i]));
                ieee += v[i];
                all_finite = all_finite && std::isfinite(v[i]);
            }
            double products = 0;
            for (const auto& [bits, times] : here) {
                const double value = static_cast<double>(std::bit_cast<T>(bits));
                products = fill_count == 0 ? times * value : std::fma(times, value, products);
                of_fills += times * std::fabs(static_cast<long double>(value));
                fill_count += times;
            }
            numbers -= of_fills;
            if (!all_finite) {
                wrong += std::isnan(ieee) ? !std::isnan(y[i]) : ieee != y[i];
                continue;
            }
            if (fill_count == static_cast<int>(p)) {
                wrong += !(y[i] == static_cast<T>(products));
                continue;
            }
            // One rounding of the result, and one in double for each fill value; of wide quanta another one.
            const long double half_ulp = static_cast<long double>(limits::epsilon()) / 2, in_double = 0x1p-52L;
            const auto count = static_cast<long double>(here.size());
            const long double within = static_cast<long double>(p) * eb * (1 + in_double) + std::fabs(exact) * (half_ulp + in_double) +
                                       (here.size() > 1 ? count * of_fills * in_double : 0) +
                                       static_cast<long double>(p) * (numbers + eb) * in_double;
            wrong += !(std::fabs(static_cast<long double>(y[i]) - exact) <= within);
        }
        CHECK(wrong == 0);
    }
    CHECK(refused > 10);
    CHECK(refused < 80);
}

TEMPLATE_TEST_CASE("an addend of SZp with land needs 0.4 bits more than one without, and so does a sum of thirteen",
                   "[codec][szp][homomorphic][missing]", float, double)
{
    using T = TestType;
    const std::size_t n = 100000;
    fields::generator random(3);
    std::vector<bool> land(n);
    for (std::size_t i = 0; i < n; ++i) land[i] = std::sin(static_cast<double>(i) / 40) > 0.5;
    std::vector<bytes> wet, dry;
    for (unsigned r = 0; r < 13; ++r) {
        auto x = sea<T>(n, r);
        for (T& v : x) v += static_cast<T>(0.4 * random.unit());
        wet.push_back(addend(x, 0.02).frame);
        for (std::size_t i = 0; i < n; ++i)
            if (land[i]) x[i] = T(1e20);
        dry.push_back(addend(x, 0.02).frame);
    }
    const auto bits = [&](const bytes& frame) { return 8.0 * static_cast<double>(frame.size()) / static_cast<double>(n); };
    CHECK(bits(dry[0]) < bits(wet[0]) + 0.4);
    CHECK(bits(sum_of<T>(dry, n, random).frame) < bits(sum_of<T>(wet, n, random).frame) + 0.4);
}

TEMPLATE_TEST_CASE("more than four fill values in a chunk of SZp cannot be added, whatever the order", "[codec][szp][homomorphic][missing]",
                   float, double)
{
    using T = TestType;
    const std::size_t n = 9000;
    const auto with = [&](std::vector<std::pair<std::size_t, T>> some) {
        auto x = sea<T>(n, 1);
        for (const auto& [at, fill] : some) x[at] = fill;
        return addend(x, 1e-3);
    };
    const result a = with({{5, T(1e20)}, {7000, T(1e30)}}), b = with({{8000, T(-1e20)}, {6, T(2e20)}}), c = with({{9, T(3e20)}}),
                 d = with({{8500, T(3e20)}}), clean = addend(sea<T>(n, 2), 1e-3);
    for (const result* r : {&a, &b, &c, &d, &clean}) REQUIRE(r->code == status::ok);
    const result ab = add<T>(a.frame, b.frame, n), bc = add<T>(b.frame, c.frame, n);
    CHECK(ab.code == status::ok);
    CHECK(bc.code == status::ok);
    CHECK(add<T>(ab.frame, c.frame, n).code == status::too_large);
    CHECK(add<T>(a.frame, bc.frame, n).code == status::too_large);
    CHECK(add<T>(add<T>(a.frame, c.frame, n).frame, add<T>(clean.frame, b.frame, n).frame, n).code == status::too_large);
    CHECK(add<T>(ab.frame, d.frame, n).code == status::ok);  // in different chunks
    CHECK(with({{1, T(1e20)}, {2, T(2e20)}, {3, T(-3e20)}, {4, T(4e20)}}).code == status::ok);
    CHECK(with({{1, T(1e20)}, {2, T(2e20)}, {3, T(-3e20)}, {4, T(4e20)}, {77, T(5e20)}}).code == status::too_large);

    const auto covered = [&](T fill, std::size_t count) {
        auto x = sea<T>(8192, 1);
        std::fill_n(x.begin(), count, fill);
        return addend(x, 1e-3).frame;
    };
    const bytes two = add<T>(covered(T(1e20), 8192), covered(T(2e20), 8192), 8192).frame;
    CHECK(add<T>(two, covered(T(1e20), 8192), 8192).code == status::ok);
    CHECK(add<T>(two, covered(T(3e20), 1), 8192).code == status::too_large);  // more than two per place
}

TEMPLATE_TEST_CASE("a linear combination of SZp counts fill values", "[codec][szp][homomorphic][missing]", float, double)
{
    using T = TestType;
    const std::size_t n = 200;
    auto x = sea<T>(n, 1), y = sea<T>(n, 2);
    for (std::size_t i = 40; i < 80; ++i) x[i] = i < 65 ? T(1e20) : T(-4e25);
    for (std::size_t i = 60; i < 100; ++i) y[i] = i % 3 == 0 ? T(-4e25) : T(1e20);
    const bytes a = addend(x, 1e-3).frame, b = addend(y, 1e-3).frame;
    const auto combined = [&](int p, int q) {
        bytes frame(ccoll::max_addend_bytes<C, T>(n));
        const auto r = ccoll::combine_encoded<C, T>(p, a, q, b, frame);
        frame.resize(r.bytes);
        return result{r.code, frame};
    };
    CHECK(combined(1, 1).frame == add<T>(a, b, n).frame);
    for (const auto& [p, q] : {std::pair{1, 1}, {1, -1}, {3, -2}, {0, 2}, {-5, 0}, {1000, 1000}}) {
        const result r = combined(p, q);
        REQUIRE(r.code == status::ok);
        const auto z = round_trip::decoded<C, T>(r.frame, n);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const long double exact = static_cast<long double>(p) * x[i] + static_cast<long double>(q) * y[i];
            const long double within =
                (std::abs(p) + std::abs(q)) * 1e-3L + std::fabs(exact) * static_cast<long double>(std::numeric_limits<T>::epsilon());
            wrong += !(std::fabs(static_cast<long double>(z[i]) - exact) <= within);
        }
        INFO(p << " x + " << q << " y");
        CHECK(wrong == 0);
    }
    CHECK(combined(40000, 1).code == status::too_large);  // more times than can be counted
    CHECK(combined(0, 1).code == status::ok);
}

TEMPLATE_TEST_CASE("any byte of an addend of SZp with fill values changed gives a status", "[codec][szp][homomorphic][missing][total]",
                   float, double)
{
    using T = TestType;
    const std::size_t n = 300;
    auto x = sea<T>(n, 1), y = sea<T>(n, 2);
    for (std::size_t i = 40; i < 140; ++i) x[i] = y[i] = T(1e20);
    x[200] = T(1e20);
    auto z = x;
    for (std::size_t i = 100; i < 120; ++i) z[i] = T(-1e20);
    const bytes a = addend(x, 1e-3).frame, b = addend(y, 1e-3).frame, sum = add<T>(a, b, n).frame,
                several = add<T>(sum, addend(z, 1e-3).frame, n).frame;
    std::vector<T> out(n);
    std::size_t refused = 0;
    for (const bytes* frame : {&a, &sum, &several})
        for (std::size_t at = frame_edit::start(1); at < frame->size(); ++at)
            for (const unsigned flip : {1u, 2u, 8u, 32u, 128u, 255u}) {
                bytes changed = *frame;
                changed[at] ^= static_cast<std::byte>(flip);
                refused += ccoll::decode<C>(changed, out) != status::ok;
                bytes dst(ccoll::max_addend_bytes<C, T>(n));
                for (const bytes* other : {&a, &b, &sum, &several}) {
                    const auto r = ccoll::reduce_encoded<C, Op::Sum, T>(changed, *other, dst);
                    if (r.code == status::ok) REQUIRE(r.bytes <= dst.size());
                }
            }
    CHECK(refused > 100);
}

}  // namespace szp_missing_cases
