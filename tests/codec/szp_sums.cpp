// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized, optimised, links szp
// codec/szp.hpp: what sums of addends of SZp decode to. It depends on what was added alone.
#include "codec/szp_sums.hpp"
#include "support/szp_reference.hpp"

namespace szp_sums_cases {

namespace {

#if defined(__SIZEOF_FLOAT128__)
__extension__ using quad = __float128;  // holds 62 bits of a quantum times 22 of a step
#else
using quad = long double;
#endif

bool at_most(quad a, quad b) { return a <= b; }
quad magnitude(quad a) { return a < 0 ? -a : a; }

}  // namespace

TEMPLATE_TEST_CASE(
    "the sum of up to 6 addends of SZp decodes to the same bits in every order and by every tree",
    "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    for (const std::size_t p : {2u, 3u, 4u, 6u})
        for (const std::size_t n : {1u, 31u, 330u, 1100u}) {
            if (p == 6 && n > 330) continue;
            for (const auto& f : families<T>(p, n)) {
                INFO(f.name << ", p = " << p << ", n = " << n);
                result sum;
                CHECK(order_dependent<T>(frames_of(f), n, sum) == 0);
                CHECK(sum.code == status::ok);
            }
        }
}

TEMPLATE_TEST_CASE(
    "the sum of up to 40 addends of SZp decodes to the same bits in random orders and by random trees",
    "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    fields::generator random(31);
    for (const std::size_t p : {7u, 13u, 40u})
        for (const std::size_t n : {100u, 8192u + 40u})
            for (const auto& f : families<T>(p, n)) {
                const auto frames = frames_of(f);
                const auto expected = round_trip::decoded<C, T>(total<T>(frames, n), n);
                std::size_t different = 0;
                for (int trial = 0; trial < (n < 1000 ? 6 : 1); ++trial) {
                    auto left = frames;
                    while (left.size() > 1) {  // any two that are left
                        std::swap(left[random.below(left.size())], left.back());
                        const bytes one = left.back();
                        left.pop_back();
                        bytes& other = left[random.below(left.size())];
                        const result r = random.below(2) == 0 ? add<T>(one, other, n) : add<T>(other, one, n);
                        different += r.code != status::ok;
                        other = r.frame;
                    }
                    different += !round_trip::same_bits(round_trip::decoded<C, T>(left[0], n), expected);
                }
                INFO(f.name << ", p = " << p << ", n = " << n);
                CHECK(different == 0);
            }
}

TEMPLATE_TEST_CASE(
    "a sum of addends of SZp decodes to the sum of quanta and wide integers times the step, rounded once",
    "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    for (const std::size_t p : {1u, 2u, 5u, 17u})
        for (const std::size_t n : {1u, 32u, 700u, 8193u})
            for (const auto& f : families<T>(p, n)) {
                const szp_reference::law<T> law(f.eb);
                const auto y = round_trip::decoded<C, T>(total<T>(frames_of(f), n), n);
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    auto all = szp_reference::term_of(law, f.values[0][i]);
                    for (std::size_t r = 1; r < p; ++r)
                        all = szp_reference::sum(all, szp_reference::term_of(law, f.values[r][i]));
                    wrong += !round_trip::same_bits(y[i], szp_reference::value_of(law, all));
                }
                INFO(f.name << ", p = " << p << ", n = " << n);
                CHECK(wrong == 0);
            }
}

TEMPLATE_TEST_CASE(
    "a sum of p addends of SZp is within p bounds and one rounding, and NaN and Inf are as in IEEE 754",
    "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    // A quantum times the step is rounded to T, and in f32 before that to double.
    const quad unit = static_cast<quad>(std::numeric_limits<T>::epsilon()) / 2 +
                      (sizeof(T) == 4 ? static_cast<quad>(0x1p-53) : 0);
    for (const std::size_t p : {1u, 2u, 5u, 40u})
        for (const std::size_t n : {33u, 700u})
            for (const auto& f : families<T>(p, n)) {
                const auto y = round_trip::decoded<C, T>(total<T>(frames_of(f), n), n);
                std::size_t outside = 0, wrong_class = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    bool nan = false, plus = false, minus = false;
                    quad exact = 0, magnitudes = 0;
                    for (const auto& x : f.values) {
                        nan = nan || std::isnan(x[i]);
                        plus = plus || (std::isinf(x[i]) && x[i] > 0);
                        minus = minus || (std::isinf(x[i]) && x[i] < 0);
                        if (std::isfinite(x[i])) {
                            exact += static_cast<quad>(x[i]);
                            magnitudes += magnitude(static_cast<quad>(x[i]));
                        }
                    }
                    if (nan || (plus && minus)) {
                        wrong_class += !std::isnan(y[i]);
                    } else if (plus || minus) {
                        wrong_class += y[i] != (plus ? HUGE_VAL : -HUGE_VAL);
                    } else if (!std::isfinite(y[i])) {
                        ++wrong_class;
                    } else {
                        const quad found = static_cast<quad>(y[i]),
                                   own = magnitudes * static_cast<quad>(p) *
                                         static_cast<quad>(0x1p-63);  // rounding of this oracle
                        outside += !at_most(
                            magnitude(found - exact),
                            static_cast<quad>(f.eb) * static_cast<quad>(p) + magnitude(found) * unit + own);
                    }
                }
                INFO(f.name << ", p = " << p << ", n = " << n);
                CHECK(outside == 0);
                CHECK(wrong_class == 0);
            }
}

TEMPLATE_TEST_CASE(
    "an addend of SZp is within eb, and one rounding where a value is far from 0, at random bounds",
    "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    fields::generator random(41);
    const quad unit = static_cast<quad>(std::numeric_limits<T>::epsilon()) / 2 +
                      (sizeof(T) == 4 ? static_cast<quad>(0x1p-53) : 0);
    for (unsigned trial = 0; trial < 3000; ++trial) {
        const std::size_t n = random.below(200) + 1;  // up to 200 exceptional values, all different
        const int exponent = static_cast<int>(random.below(60)) - 30,
                  steps = static_cast<int>(random.below(60));
        const double eb = std::ldexp(1 + 0.5 * random.unit(), exponent), step = step_of<T>(eb);
        std::vector<T> x(n);
        for (T& v : x) {
            const int below = trial % 2 == 0 ? static_cast<int>(random.below(40)) : 0;
            v = static_cast<T>(std::ldexp(random.unit(), steps - below) * step);
        }
        if (trial % 4 == 1)  // an ulp around half steps
            for (T& v : x) {
                v = static_cast<T>((std::floor(static_cast<double>(v) / step) + 0.5) * step);
                if (random.below(3) > 0) v = std::nextafter(v, random.below(2) == 0 ? T(1e30) : T(-1e30));
            }
        const result r = addend(x, eb);
        INFO("trial " << trial << ", n = " << n << ", eb = " << eb << ", 2^" << steps << " steps");
        REQUIRE(r.code == status::ok);
        const auto y = round_trip::decoded<C, T>(r.frame, n);
        std::size_t outside = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const quad found = static_cast<quad>(y[i]), original = static_cast<quad>(x[i]);
            const bool near =
                std::fabs(static_cast<double>(x[i])) < (sizeof(T) == 4 ? 0x1p14 : 0x1p30) * step;
            outside += !at_most(magnitude(found - original),
                                static_cast<quad>(eb) + (near ? 0 : magnitude(found) * unit));
        }
        CHECK(outside == 0);
    }
}

TEMPLATE_TEST_CASE("adding zeros changes nothing", "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const std::size_t n = 300;
    for (const auto& f : families<T>(2, n)) {
        const bytes zero = addend(std::vector<T>(n, T(0)), f.eb).frame, one = addend(f.values[1], f.eb).frame;
        INFO(f.name);
        const auto expected = round_trip::decoded<C, T>(one, n);
        CHECK(round_trip::same_bits(values_of<T>(add<T>(one, zero, n), n), expected));
        CHECK(round_trip::same_bits(values_of<T>(add<T>(zero, one, n), n), expected));
    }
}

namespace {

/// The decoded sum of all ranks' vectors, cut into frames at `cuts`.
template <class T>
std::vector<T> sum_in_pieces(const family<T>& f, const std::vector<std::size_t>& cuts)
{
    std::vector<T> all;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
        family<T> piece{f.name, f.eb, {}};
        for (const auto& x : f.values)
            piece.values.emplace_back(x.begin() + static_cast<std::ptrdiff_t>(cuts[k]),
                                      x.begin() + static_cast<std::ptrdiff_t>(cuts[k + 1]));
        const std::size_t n = cuts[k + 1] - cuts[k];
        const auto y = round_trip::decoded<C, T>(total<T>(frames_of(piece), n), n);
        all.insert(all.end(), y.begin(), y.end());
    }
    return all;
}

template <class T>
std::size_t different(const std::vector<T>& a, const std::vector<T>& b)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += !round_trip::same_bits(a[i], b[i]);
    return count + (a.size() != b.size());
}

/// Near multiples of half a step, where a quantum is a matter of rounding, and here and there a value that
/// its block or its chunk must be encoded differently for: most pieces have none of these.
template <class T>
std::vector<family<T>> families_to_cut(std::size_t n)
{
    auto list = families<T>(3, n);
    // 1 / step is rounded by 0.69 of a unit: a quotient in float differs from one in double.
    const double eb = 0.7e-3, step = step_of<T>(eb);
    family<T> halves{"half steps, and few large values", eb, {}};
    for (unsigned r = 1; r <= 3; ++r) {
        fields::generator random(r);
        halves.values.push_back(numbers<T>(n, [&](std::size_t i) {
            if (i % 5003 == 4000) return (i % 2 == 0 ? 0x1.7p35 : 0x1.7p50) * step;
            const int exponent = 15 + static_cast<int>(random.below(14));
            if (i % 97 == 50) return std::ldexp(1 + 0.5 * random.unit(), exponent) * step;
            const double most =
                sizeof(T) == 4 || random.below(2) == 0 ? 16000 : 0x1p29;  // f64 rounds differently only there
            T half = static_cast<T>((std::floor(random.unit() * most) + 0.5) * step);
            for (auto ulps = random.below(3); ulps > 0; --ulps)
                half = std::nextafter(half, random.below(2) == 0 ? T(1e12) : T(-1e12));
            return static_cast<double>(half);
        }));
    }
    list.push_back(halves);
    return list;
}

}  // namespace

TEMPLATE_TEST_CASE("a decoded sum of SZp does not depend on where vectors are cut",
                   "[codec][szp][homomorphic]", float, double)
{
    const std::size_t n = 8192 + 4096 + 77;
    for (const auto& f : families_to_cut<TestType>(n)) {
        INFO(f.name);
        const auto whole = sum_in_pieces(f, {0, n});
        CHECK(different(sum_in_pieces(f, {0, 8192, n}), whole) == 0);
        CHECK(different(sum_in_pieces(f, {0, 32, 4096, 8192 + 320, n}), whole) == 0);
        CHECK(different(sum_in_pieces(f, {0, 1, 100, 5001, 8191, 8193, 12000, n}), whole) == 0);
    }
}

}  // namespace szp_sums_cases
