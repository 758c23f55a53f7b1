// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp.hpp, codec/szp/{layout,quanta64}.hpp: addends of SZp and their sums, whose bytes depend on what was added alone.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "codec/szp_reader.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/szp/coder.hpp>

namespace szp_sums_cases {

using namespace ccoll::policies;
using ccoll::status;

namespace {

using C = Codec::SZp;
using bytes = std::vector<std::byte>;

#if defined(__SIZEOF_FLOAT128__)
__extension__ using quad = __float128;  // holds 62 bits of a quantum times 22 of a step
#else
using quad = long double;
#endif

template <class T>
double step_of(double eb)
{
    return static_cast<double>(ccoll::detail::szp::quantiser<T>(eb).step);
}

struct result {
    status code = status::ok;
    bytes frame;
};

/// Between guards, in memory as long as was promised.
template <class Produce>
result in_room(std::size_t room, Produce produce)
{
    bytes memory(room + 64, round_trip::guard);
    const ccoll::encode_result r = produce(ccoll::byte_span(memory).first(room));
    bool inside = r.bytes <= room;
    for (std::size_t i = room; i < memory.size(); ++i) inside = inside && memory[i] == round_trip::guard;
    if (!inside) FAIL("an addend is longer than max_addend_bytes");
    memory.resize(r.bytes);
    memory.shrink_to_fit();
    return {r.code, memory};
}
template <class T>
result addend(const std::vector<T>& x, double eb)
{
    return in_room(ccoll::max_addend_bytes<C, T>(x.size()), [&](ccoll::byte_span dst) { return ccoll::encode_addend<C>(x, dst, eb); });
}
template <class T>
result add(const bytes& a, const bytes& b, std::size_t n)
{
    return in_room(ccoll::max_addend_bytes<C, T>(n), [&](ccoll::byte_span dst) { return ccoll::reduce_encoded<C, Op::Sum, T>(a, b, dst); });
}

/// One addend for each of p ranks.
template <class T>
struct family {
    std::string name;
    double eb;
    std::vector<std::vector<T>> values;  ///< of each rank
};

template <class T, class Number>
std::vector<T> numbers(std::size_t n, Number number)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(number(i));
    return x;
}

template <class T>
std::vector<family<T>> families(std::size_t p, std::size_t n)
{
    const double eb = 1e-3, step = step_of<T>(eb);
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    std::vector<family<T>> all;
    const auto put = [&](const char* name, auto values_of) {
        family<T> f{name, eb, {}};
        for (std::size_t r = 0; r < p; ++r) f.values.push_back(values_of(static_cast<unsigned>(r + 1)));
        all.push_back(std::move(f));
    };
    put("smooth", [&](unsigned r) { return fields::smooth<T>(n, r); });
    put("quiet", [&](unsigned r) { return fields::quiet<T>(n, r); });
    put("random", [&](unsigned r) { return fields::random<T>(n, r); });
    put("offset", [&](unsigned r) { return fields::offset<T>(n, r); });
    put("constant", [&](unsigned r) { return fields::constant<T>(n, r); });
    put("constant and smooth", [&](unsigned r) { return r % 2 == 0 ? fields::constant<T>(n, r) : fields::smooth<T>(n, r); });
    put("NaN and Inf anywhere", [&](unsigned r) { return fields::non_finite<T>(n, r); });
    put("NaN and Inf in constant fields", [&](unsigned r) {
        std::vector<T> x(n, static_cast<T>(r));
        for (std::size_t i = r; i < n; i += 40 + r) x[i] = i % 3 == 0 ? nan : i % 3 == 1 ? infinity : -infinity;
        return x;
    });
    put("NaN and Inf at the same places", [&](unsigned r) {
        auto x = fields::smooth<T>(n, r);
        for (std::size_t i = 5; i < n; i += 50)
            x[i] = (i / 50 + r) % 4 == 0 ? nan : (i / 50) % (r + 1) == 0 ? infinity : r % 2 == 0 ? -infinity : T(1);
        return x;
    });
    put("nothing but NaN and Inf", [&](unsigned r) {
        return numbers<T>(n, [&](std::size_t i) { return (i + r) % 3 == 0 ? nan : r % 2 == 0 ? infinity : -infinity; });
    });
    put("outgrows narrow quanta", [&](unsigned r) {
        fields::generator random(r);
        return numbers<T>(n, [&](std::size_t) { return random.unit() * 0x1p28 * step * (r % 3 + 1); });
    });
    put("outgrows narrow quanta and cancels", [&](unsigned r) {
        fields::generator random(1 + (r - 1) / 2);  // pairs of opposite values: nothing is left of them
        const double sign = r % 2 == 0 ? -1 : 1;
        return numbers<T>(n, [&](std::size_t) { return sign * random.unit() * 0x1.fp29 * step; });
    });
    put("constants that outgrow narrow quanta and cancel",
        [&](unsigned r) { return std::vector<T>(n, static_cast<T>((r % 2 == 0 ? -0x1.8p29 : 0x1.8p29) * step)); });
    put("wide and narrow", [&](unsigned r) {
        return numbers<T>(
            n, [&](std::size_t i) { return r % 2 == 0 && i % 100 == 50 ? 0x1.234p40 * step : 0.1 * static_cast<double>(i % 17); });
    });
    put("wide and flat", [&](unsigned r) { return std::vector<T>(n, static_cast<T>(r % 2 == 0 ? 0x1.5p35 * step : 1.0)); });
    put("wide, with NaN and Inf", [&](unsigned r) {
        fields::generator random(r);
        return numbers<T>(n, [&](std::size_t i) -> T {
            const T x = static_cast<T>(random.unit() * 0x1p44 * step);
            return i % 70 != r ? x : r % 3 == 0 ? nan : r % 3 == 1 ? infinity : -infinity;
        });
    });
    put("just below 2^52 steps", [&](unsigned r) {
        fields::generator random(r);
        return numbers<T>(n, [&](std::size_t i) {
            return (i % 2 == 0 ? 1 : -1) * (0x1p52 - (sizeof(T) == 4 ? 0x1p30 : 1.0) - static_cast<double>(random.below(1000))) * step;
        });
    });
    put("alternating, the longest narrow differences", [&](unsigned r) {
        return numbers<T>(n, [&](std::size_t i) { return ((i + r) % 2 == 0 ? 1 : -1) * (0x1p29 - static_cast<double>(i)) * step; });
    });
    put("denormal", [&](unsigned r) { return fields::denormal<T>(n, r); });
    if (p > 1)
        put("one chunk of few is wide", [&](unsigned r) {
            auto x = fields::smooth<T>(n, r);
            if (r == 2 && n > 0) x[n - 1] = static_cast<T>(0x1p33 * step);
            return x;
        });
    return all;
}

template <class T>
std::vector<bytes> frames_of(const family<T>& f)
{
    std::vector<bytes> frames;
    for (const auto& x : f.values) {
        const result r = addend(x, f.eb);
        REQUIRE(r.code == status::ok);
        frames.push_back(r.frame);
    }
    return frames;
}

/// In the order of the ranks.
template <class T>
bytes total(const std::vector<bytes>& frames, std::size_t n)
{
    bytes sum = frames[0];
    for (std::size_t r = 1; r < frames.size(); ++r) {
        const result next = add<T>(sum, frames[r], n);
        REQUIRE(next.code == status::ok);
        sum = next.frame;
    }
    return sum;
}

/// The sum of every subset by every split of it in two, in both orders: by induction these are all trees over all permutations.
/// @return how many additions gave other bytes, or another status, than the first one of their subset
template <class T>
std::size_t order_dependent(const std::vector<bytes>& frames, std::size_t n, bytes& sum_of_all)
{
    const std::size_t subsets = std::size_t{1} << frames.size();
    std::vector<result> sums(subsets);
    std::size_t different = 0;
    for (std::size_t r = 0; r < frames.size(); ++r) sums[std::size_t{1} << r].frame = frames[r];
    for (std::size_t s = 1; s < subsets; ++s) {
        bool first = true;
        for (std::size_t part = (s - 1) & s; part > 0; part = (part - 1) & s) {
            const result r = add<T>(sums[part].frame, sums[s ^ part].frame, n);
            if (first) sums[s] = r;
            else different += r.frame != sums[s].frame || r.code != sums[s].code;
            first = false;
        }
    }
    sum_of_all = sums.back().frame;
    return different;
}

bool at_most(quad a, quad b) { return a <= b; }
quad magnitude(quad a) { return a < 0 ? -a : a; }

}  // namespace

TEMPLATE_TEST_CASE("the sum of up to 6 addends of SZp has the same bytes in every order and by every tree", "[codec][szp][homomorphic]",
                   float, double)
{
    using T = TestType;
    for (const std::size_t p : {2u, 3u, 4u, 5u, 6u})
        for (const std::size_t n : {1u, 31u, 75u, 330u})
            for (const auto& f : families<T>(p, n)) {
                INFO(f.name << ", p = " << p << ", n = " << n);
                bytes sum;
                CHECK(order_dependent<T>(frames_of(f), n, sum) == 0);
                std::vector<T> y(n);
                CHECK(ccoll::decode<C>(sum, y) == status::ok);
            }
}

TEMPLATE_TEST_CASE("the sum of up to 40 addends of SZp has the same bytes in random orders and by random trees",
                   "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    fields::generator random(31);
    for (const std::size_t p : {7u, 13u, 40u})
        for (const std::size_t n : {100u, 8192u + 40u})
            for (const auto& f : families<T>(p, n)) {
                const auto frames = frames_of(f);
                const bytes expected = total<T>(frames, n);
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
                    different += left[0] != expected;
                }
                INFO(f.name << ", p = " << p << ", n = " << n);
                CHECK(different == 0);
            }
}

TEMPLATE_TEST_CASE("a sum of addends of SZp holds the sums of all quanta and the union of all classes", "[codec][szp][homomorphic]", float,
                   double)
{
    using T = TestType;
    for (const std::size_t p : {1u, 2u, 5u, 17u})
        for (const std::size_t n : {1u, 32u, 100u, 8193u})
            for (const auto& f : families<T>(p, n)) {
                INFO(f.name << ", p = " << p << ", n = " << n);
                const auto frames = frames_of(f);
                const auto sum = szp_reader::read(total<T>(frames, n));
                std::vector<std::int64_t> quanta(n);
                std::vector<unsigned> classes(n);
                std::vector<std::uint64_t> largest((n + 8191) / 8192);
                bool honest = sum.honest;
                for (const auto& frame : frames) {
                    const auto one = szp_reader::read(frame);
                    honest = honest && one.honest;
                    for (std::size_t i = 0; i < n; ++i) quanta[i] += one.quanta[i], classes[i] |= one.classes[i];
                    for (std::size_t k = 0; k < largest.size(); ++k) largest[k] += one.largest[k];
                }
                CHECK(honest);
                CHECK(sum.shortest);
                CHECK((sum.quanta == quanta && sum.classes == classes && sum.largest == largest));
                for (std::size_t k = 0; k < largest.size(); ++k) CHECK((sum.kinds[k] >= 3) == (largest[k] >= std::uint64_t{1} << 30));
            }
}

TEMPLATE_TEST_CASE("a sum of p addends of SZp is within p bounds and one rounding, and NaN and Inf are as in IEEE 754",
                   "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    // A quantum times the step is rounded to T, and in f32 before that to double.
    const quad unit = static_cast<quad>(std::numeric_limits<T>::epsilon()) / 2 + (sizeof(T) == 4 ? static_cast<quad>(0x1p-53) : 0);
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
                        if (std::isfinite(x[i])) exact += static_cast<quad>(x[i]), magnitudes += magnitude(static_cast<quad>(x[i]));
                    }
                    if (nan || (plus && minus)) {
                        wrong_class += !std::isnan(y[i]);
                    } else if (plus || minus) {
                        wrong_class += y[i] != (plus ? HUGE_VAL : -HUGE_VAL);
                    } else if (!std::isfinite(y[i])) {
                        ++wrong_class;
                    } else {
                        const quad found = static_cast<quad>(y[i]),
                                   own = magnitudes * static_cast<quad>(p) * static_cast<quad>(0x1p-63);  // rounding of this oracle
                        outside += !at_most(magnitude(found - exact),
                                            static_cast<quad>(f.eb) * static_cast<quad>(p) + magnitude(found) * unit + own);
                    }
                }
                INFO(f.name << ", p = " << p << ", n = " << n);
                CHECK(outside == 0);
                CHECK(wrong_class == 0);
            }
}

TEMPLATE_TEST_CASE("what a sum of addends of SZp decodes to is quantum times step, rounded once", "[codec][szp][homomorphic]", float,
                   double)
{
    using T = TestType;
    for (const std::size_t p : {1u, 2u, 5u, 17u})
        for (const auto& f : families<T>(p, 500)) {
            const bytes sum = total<T>(frames_of(f), 500);
            const auto y = round_trip::decoded<C, T>(sum, 500);
            const auto inside = szp_reader::read(sum);
            const quad step = static_cast<quad>(step_of<T>(f.eb));
            std::size_t different = 0;
            for (std::size_t i = 0; i < y.size(); ++i) {
                const std::int64_t q = inside.quanta[i];
                // f32: up to here the product is exact in double. f64: up to here the quantum is.
                const std::int64_t most = std::int64_t{1} << (sizeof(T) == 4 ? 43 : 53);
                if (inside.classes[i] != 0 || q >= most || q <= -most) continue;
                different += y[i] != static_cast<T>(static_cast<quad>(q) * step);
            }
            INFO(f.name << ", p = " << p);
            CHECK(different == 0);
        }
}

TEMPLATE_TEST_CASE("an addend of SZp is within eb, and one rounding where a value is far from 0, at random bounds",
                   "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    fields::generator random(41);
    const quad unit = static_cast<quad>(std::numeric_limits<T>::epsilon()) / 2 + (sizeof(T) == 4 ? static_cast<quad>(0x1p-53) : 0);
    std::size_t refused = 0;
    for (unsigned trial = 0; trial < 3000; ++trial) {
        const std::size_t n = random.below(200) + 1;
        const int exponent = static_cast<int>(random.below(60)) - 30, steps = static_cast<int>(random.below(60));
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
        if (r.code == status::too_large) {
            ++refused;
            CHECK(steps >= 52);
            continue;
        }
        REQUIRE(r.code == status::ok);
        const auto y = round_trip::decoded<C, T>(r.frame, n);
        std::size_t outside = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const quad found = static_cast<quad>(y[i]), original = static_cast<quad>(x[i]);
            const bool near = std::fabs(static_cast<double>(x[i])) < (sizeof(T) == 4 ? 0x1p14 : 0x1p30) * step;
            outside += !at_most(magnitude(found - original), static_cast<quad>(eb) + (near ? 0 : magnitude(found) * unit));
        }
        CHECK(outside == 0);
    }
    CHECK(refused > 0);
}

TEMPLATE_TEST_CASE("the sum of addends on the grid is the addend of the sum, except that its largest quantum is a bound",
                   "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const double eb = 1e-3, step = step_of<T>(eb);
    fields::generator random(43);
    for (const std::size_t n : {1u, 32u, 100u, 8192u, 8200u})
        for (const std::size_t most : {1u, 2u, 100u, 4000u, 8000u}) {  // below 2^14 steps: every multiple is a number of T
            const auto on_grid = [&] {
                return numbers<T>(
                    n, [&](std::size_t) { return (static_cast<double>(random.below(2 * most)) - static_cast<double>(most)) * step; });
            };
            const auto x = on_grid(), y = on_grid();
            auto z = x;
            for (std::size_t i = 0; i < n; ++i) z[i] += y[i];
            bytes sum = add<T>(addend(x, eb).frame, addend(y, eb).frame, n).frame, direct = addend(z, eb).frame;
            const auto in_sum = szp_reader::read(sum), in_direct = szp_reader::read(direct);
            INFO("n = " << n << ", up to " << most << " steps");
            CHECK((in_sum.honest && in_direct.honest));
            for (std::size_t chunk = 0, at = frame_edit::start(in_sum.kinds.size()); chunk < in_sum.kinds.size(); ++chunk) {
                REQUIRE(sum.size() == direct.size());
                CHECK(in_sum.largest[chunk] >= in_direct.largest[chunk] - 2);  // a bound of its own, at most 2 above
                ccoll::store(sum, at + 8, std::uint32_t{0});
                ccoll::store(direct, at + 8, std::uint32_t{0});
                at = frame_edit::start(in_sum.kinds.size()) + 16 * ccoll::load<std::uint32_t>(sum, 48 + 4 * chunk);
            }
            CHECK(sum == direct);
        }
}

TEMPLATE_TEST_CASE("adding zeros changes nothing but the bound on the largest quantum", "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const std::size_t n = 300;
    for (const auto& f : families<T>(2, n)) {
        const bytes zero = addend(std::vector<T>(n, T(0)), f.eb).frame, one = addend(f.values[1], f.eb).frame;
        INFO(f.name);
        CHECK(szp_reader::read(zero).largest[0] == 0);
        CHECK(add<T>(one, zero, n).frame == one);
        CHECK(add<T>(zero, one, n).frame == one);
    }
}

TEMPLATE_TEST_CASE("a block beside one without planes is read no further than it reaches, however wide", "[codec][szp][homomorphic]", float,
                   double)
{
    using T = TestType;
    constexpr double eb = 0.5;
    const double step = step_of<T>(eb);
    const auto ramp = [&](std::size_t i) { return static_cast<double>(std::min<std::size_t>(i, 31)) * step; };
    const auto calm = numbers<T>(64, ramp);  // its last block has no planes
    for (int bits = 1; bits <= 51; ++bits) {
        CAPTURE(bits);
        const auto wild = numbers<T>(64, [&](std::size_t i) { return i < 32 ? ramp(i) : std::ldexp(i % 2 == 0 ? step : -step, bits); });
        const bytes a = addend(wild, eb).frame, b = addend(calm, eb).frame;
        const result sum = add<T>(a, b, 64), other = add<T>(b, a, 64);
        REQUIRE(sum.code == status::ok);
        CHECK(sum.frame == other.frame);
        const std::vector<T> back = round_trip::decoded<C, T>(sum.frame, 64);
        for (std::size_t i = 0; i < 64; ++i) {
            const double exact = static_cast<double>(wild[i]) + static_cast<double>(calm[i]);
            CHECK(std::fabs(static_cast<double>(back[i]) - exact) <= 2 * eb + std::numeric_limits<T>::epsilon() * std::fabs(exact));
        }
    }
}

TEMPLATE_TEST_CASE("an addend of SZp that holds too much says too_large, and so does every sum with it", "[codec][szp][homomorphic]", float,
                   double)
{
    using T = TestType;
    const double eb = 1e-3, step = step_of<T>(eb);
    for (const std::size_t n : {5u, 100u, 8192u + 100u}) {
        INFO("n = " << n);
        auto x = fields::smooth<T>(n);
        for (const double steps : {0x1p52, -0x1p52, 0x1p53, 0x1p60, -0x1p61}) {
            for (int k = 0; k < 5; ++k) x[n - 5 + static_cast<std::size_t>(k)] = static_cast<T>(steps * (1 + k) * step);
            auto four = x;
            four.back() = four[n - 2];
            CHECK(addend(four, eb).code == status::ok);
            const result refused = addend(x, eb);
            CHECK(refused.code == status::too_large);
            CHECK(refused.frame.size() == frame_edit::start((n + 8191) / 8192));
            std::vector<T> y(n);
            CHECK(ccoll::decode<C>(refused.frame, y) == status::too_large);
            std::vector<bytes> frames{refused.frame, addend(fields::smooth<T>(n, 2), eb).frame,
                                      addend(fields::non_finite<T>(n, 3), eb).frame, addend(fields::constant<T>(n, 4), eb).frame};
            bytes sum;
            CHECK(order_dependent<T>(frames, n, sum) == 0);
            CHECK(sum == refused.frame);
        }
        T below = static_cast<T>(0x1p52 * step);
        for (std::size_t k = 0; k < 5; ++k) x[n - 5 + k] = below = std::nextafter(below, T(0));  // these are held as quanta
        CHECK(addend(x, eb).code == status::ok);
    }
}

TEMPLATE_TEST_CASE("sums of SZp that outgrow 2^62 quanta say too_large in every order", "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const double eb = 1e-3, step = step_of<T>(eb);
    const std::size_t n = 70;
    // Twice as much each time: 2^k times almost 2^52 steps, of either sign.
    std::vector<bytes> powers{
        addend(numbers<T>(n, [&](std::size_t i) { return (i % 2 == 0 ? 0x1.fffff8p51 : -0x1.7p50) * step; }), eb).frame};
    for (int k = 1; k <= 10; ++k) {
        const result r = add<T>(powers.back(), powers.back(), n);
        REQUIRE(r.code == status::ok);
        powers.push_back(r.frame);
    }
    CHECK(add<T>(powers[10], powers[10], n).code == status::too_large);
    bytes sum;
    CHECK(order_dependent<T>({powers[10], powers[4], powers[3], powers[9], powers[0]}, n, sum) == 0);  // more than 2^10 of them
    CHECK(add<T>(sum, powers[0], n).code == status::too_large);
    CHECK(order_dependent<T>({powers[9], powers[8], powers[7], powers[5], powers[6]}, n, sum) == 0);  // fewer
    CHECK(szp_reader::read(sum).honest);
    const auto y = round_trip::decoded<C, T>(sum, n);
    CHECK(std::fabs(static_cast<double>(y[0]) / (992 * 0x1.fffff8p51 * step) - 1) < 1e-6);
}

TEMPLATE_TEST_CASE("what can_add promises for SZp, sums keep", "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    using impl = ccoll::codec_impl<C, T, ccoll::host_space>;
    static_assert(impl::adds_non_finite);
    fields::generator random(47);
    std::size_t promised = 0, refused = 0;
    const auto check = [&](double largest, double eb, std::size_t doublings) {
        if (!impl::can_add(largest, eb, std::size_t{1} << doublings)) return ++refused, void();
        ++promised;
        const T most = static_cast<T>(largest);
        result sum = addend(std::vector<T>{most, -most, T(0)}, eb);
        CHECK(sum.code == status::ok);
        for (std::size_t k = 0; k < doublings; ++k) sum = add<T>(sum.frame, sum.frame, 3);
        INFO("largest = " << largest << ", eb = " << eb << ", " << doublings << " doublings");
        CHECK(sum.code == status::ok);
    };
    for (int trial = 0; trial < 3000; ++trial) {
        const int exponent = static_cast<int>(random.below(60)) - 30, steps = static_cast<int>(random.below(70));
        const double eb = std::ldexp(1 + 0.5 * random.unit(), exponent);
        const double largest = static_cast<double>(static_cast<T>(std::ldexp(1 + 0.5 * random.unit(), steps) * eb));
        check(largest, eb, random.below(64));
    }
    CHECK(promised > 100);
    CHECK(refused > 100);
    for (const double eb : {1e-3, 1.0, 7.5e9}) {
        const double step = step_of<T>(eb);
        for (const double steps : {0x1p52, 0x1.fffffep51, 0x1.8p51, 0x1p30, 0x1p29, 0x1.fffffep29})
            for (std::size_t doublings = 0; doublings < 34; ++doublings)
                check(static_cast<double>(static_cast<T>(steps * step)), eb, doublings);
        CHECK(impl::can_add(0x1p51 * step, eb, 1000));
        CHECK_FALSE(impl::can_add(0x1p53 * step, eb, 1));
        CHECK_FALSE(impl::can_add(0x1p51 * step, eb, 2049));
        CHECK(impl::can_add(0, eb, 1u << 30));
    }
    const double infinity = std::numeric_limits<double>::infinity(), least = 4 * static_cast<double>(std::numeric_limits<T>::min());
    CHECK_FALSE(impl::can_add(infinity, 1e-3, 2));
    CHECK_FALSE(impl::can_add(std::nan(""), 1e-3, 2));
    CHECK(impl::can_add(0, least, 2));
    CHECK_FALSE(impl::can_add(0, std::nextafter(least, 0.0), 2));
}

TEMPLATE_TEST_CASE("a linear combination of addends of SZp holds that of their quanta, and Inf with the sign of its factor",
                   "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const std::size_t n = 100;
    const auto combine = [&](std::int32_t p, const bytes& a, std::int32_t q, const bytes& b) {
        return in_room(ccoll::max_addend_bytes<C, T>(n),
                       [&](ccoll::byte_span dst) { return ccoll::combine_encoded<C, T>(p, a, q, b, dst); });
    };
    const auto scaled = [](unsigned c, std::int32_t factor) { return factor == 0 ? 0 : factor > 0 ? c : (c & 1) << 1 | c >> 1; };
    for (const auto& f : families<T>(2, n)) {
        const auto frames = frames_of(f);
        const auto x = szp_reader::read(frames[0]), y = szp_reader::read(frames[1]);
        INFO(f.name);
        CHECK(combine(1, frames[0], 1, frames[1]).frame == add<T>(frames[0], frames[1], n).frame);
        CHECK(combine(1, frames[0], 0, frames[1]).code == status::ok);
        for (const auto& [p, q] :
             {std::pair{1, -1}, std::pair{-1, 0}, std::pair{0, 7}, std::pair{3, -200}, std::pair{0, 0}, std::pair{-1000, 1000}}) {
            const result r = combine(p, frames[0], q, frames[1]);
            const auto most = static_cast<double>(x.largest[0]) * std::abs(p) + static_cast<double>(y.largest[0]) * std::abs(q);
            INFO(p << " a + " << q << " b");
            CHECK(combine(q, frames[1], p, frames[0]).frame == r.frame);
            if (r.code == status::too_large) {
                CHECK(most > 0.98 * 0x1p62);
                continue;
            }
            REQUIRE(r.code == status::ok);
            const auto z = szp_reader::read(r.frame);
            std::size_t different = 0;
            for (std::size_t i = 0; i < n; ++i)
                different +=
                    z.quanta[i] != p * x.quanta[i] + q * y.quanta[i] || z.classes[i] != (scaled(x.classes[i], p) | scaled(y.classes[i], q));
            CHECK(different == 0);
            CHECK((z.honest && z.shortest));
        }
        for (const auto factor : {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
            const result r = combine(factor, frames[0], 0, frames[1]);
            const bool fits = static_cast<double>(x.largest[0]) * 0x1p31 < 0.98 * 0x1p62;
            if (fits) CHECK(r.code == status::ok);
            CHECK((r.code == status::ok || r.code == status::too_large));
        }
    }
}

TEMPLATE_TEST_CASE("frames of SZp for movement are not addends, and frames that do not fit each other are not added",
                   "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const std::size_t n = 200;
    const auto x = fields::smooth<T>(n);
    const bytes a = addend(x, 1e-3).frame, moved = round_trip::frame_of<C>(x, 1e-3);
    const auto code = [&](const bytes& left, const bytes& right) { return add<T>(left, right, n).code; };
    CHECK(code(a, a) == status::ok);
    CHECK(code(a, moved) == status::not_an_addend);
    CHECK(code(moved, a) == status::not_an_addend);
    CHECK(code(moved, moved) == status::not_an_addend);
    CHECK(code(a, addend(fields::smooth<T>(n - 1), 1e-3).frame) == status::count_differs);
    CHECK(code(addend(fields::smooth<T>(n - 1), 1e-3).frame, a) == status::count_differs);
    CHECK(code(a, addend(x, 2e-3).frame) == status::bound_differs);
    using other = std::conditional_t<sizeof(T) == 4, double, float>;
    CHECK(code(a, addend(fields::smooth<other>(n), 1e-3).frame) == status::foreign_frame);
    CHECK(code(round_trip::frame_of<Codec::SZx>(x, 1e-3), a) == status::foreign_frame);
    CHECK(code(a, {}) == status::corrupt);
    bytes newer = a;
    ccoll::store(newer, 4, std::uint8_t{ccoll::wire_version + 1});
    CHECK(code(a, newer) == status::wire_version);
    auto large = x;
    large[0] = std::numeric_limits<T>::max();
    const bytes refused = addend(large, 1e-3).frame;
    CHECK(code(refused, moved) == status::not_an_addend);
    CHECK(code(refused, addend(x, 2e-3).frame) == status::bound_differs);
    bytes dst(ccoll::max_addend_bytes<C, T>(n), round_trip::guard);
    const bytes untouched = dst;
    CHECK(ccoll::reduce_encoded<C, Op::Sum, T>(a, a, ccoll::byte_span(dst).first(dst.size() - 1)).code == status::out_of_space);
    CHECK(dst == untouched);
}

TEMPLATE_TEST_CASE("any byte of either addend of SZp changed gives a status, and nothing beyond max_addend_bytes",
                   "[codec][szp][homomorphic][total]", float, double)
{
    using T = TestType;
    const std::size_t n = 70;
    const auto list = families<T>(3, n);
    for (const auto& f : list) {
        const auto frames = frames_of(f);
        std::size_t no_status = 0, trusted = 0;
        const auto check = [&](const bytes& a, const bytes& b, std::size_t at) {
            const status s = add<T>(a, b, n).code;  // fails if it writes beyond
            no_status += s != status::ok && s != status::corrupt && s != status::wire_version && s != status::foreign_frame &&
                         s != status::not_an_addend && s != status::count_differs && s != status::bound_differs && s != status::too_large &&
                         s != status::out_of_space;
            trusted += s == status::ok && at < frame_edit::start_of_one;
        };
        for (std::size_t at = 0; at < frames[0].size(); ++at)
            for (const unsigned change : {0x01u, 0x04u, 0x10u, 0x40u, 0x80u, 0xffu}) {
                bytes damaged = frames[0];
                damaged[at] ^= static_cast<std::byte>(change);
                check(damaged, frames[1], at);
                check(frames[1], damaged, at);
                if (change == 0xff) check(damaged, damaged, frame_edit::start_of_one);
            }
        for (std::size_t size = 0; size < frames[0].size(); ++size) {
            const bytes cut(frames[0].begin(), frames[0].begin() + static_cast<std::ptrdiff_t>(size));
            check(cut, frames[1], 0);
            check(frames[1], cut, 0);
        }
        INFO(f.name);
        CHECK(no_status == 0);
        CHECK(trusted == 0);
    }
}

TEMPLATE_TEST_CASE("addends of SZp that lie about their largest quantum add to a frame or a status, with the widest blocks, too",
                   "[codec][szp][homomorphic][total]", float, double)
{
    using T = TestType;
    // All blocks with codes as wide as their kind allows, class planes and random bits in them.
    fields::generator random(53);
    for (const std::size_t n : {1u, 32u, 8192u})
        for (const unsigned kind : {0u, 3u})
            for (const unsigned code : {31u, 32u, 63u, 64u, 128u + 32u, 128u + 64u}) {
                if (kind == 0 && (code & 127) > 32) continue;
                const std::size_t blocks = (n + 31) / 32, front = kind == 0 ? 12 : 20;
                const std::size_t block_bytes = 4 * std::size_t{code & 127} + (code >= 128 ? 8 : 0);
                const auto hostile = [&] {
                    bytes frame = addend(std::vector<T>(n, T(1)), 1e-3).frame;
                    constexpr std::size_t start = frame_edit::start_of_one;
                    frame.resize(start + front + (blocks + 3) / 4 * 4 + blocks * block_bytes);
                    for (std::size_t i = start; i < frame.size(); ++i) frame[i] = static_cast<std::byte>(random.bits());
                    ccoll::store(frame, start, static_cast<std::uint32_t>(kind | (code >= 128 ? blocks : 0) << 12));
                    ccoll::store(frame, start + (kind == 0 ? 8 : 12), std::uint32_t{1});
                    if (kind == 3) ccoll::store(frame, start + 16, std::uint32_t{0});
                    for (std::size_t k = 0; k < (blocks + 3) / 4 * 4; ++k)
                        frame[start + front + k] = k < blocks ? static_cast<std::byte>(code) : std::byte{0};
                    frame_edit::end_at(frame);
                    return frame;
                };
                const bytes a = hostile(), b = hostile();
                std::vector<T> y(n);
                INFO("n = " << n << ", kind " << kind << ", code " << code);
                REQUIRE(ccoll::decode<C>(a, y) == status::ok);
                const result sum = add<T>(a, b, n);
                CHECK(sum.code == status::ok);
                const status read = ccoll::decode<C>(sum.frame, y);
                CHECK((read == status::ok || read == status::corrupt));
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

/// Near multiples of half a step, where a quantum is a matter of rounding, and here and there a value that its block or its chunk
/// must be encoded differently for: most pieces have none of these.
template <class T>
std::vector<family<T>> families_to_cut(std::size_t n)
{
    auto list = families<T>(3, n);
    const double eb = 0.7e-3, step = step_of<T>(eb);  // 1 / step is rounded by 0.69 of a unit: a quotient in float differs from one in
                                                      // double
    family<T> halves{"half steps, and few large values", eb, {}};
    for (unsigned r = 1; r <= 3; ++r) {
        fields::generator random(r);
        halves.values.push_back(numbers<T>(n, [&](std::size_t i) {
            if (i % 5003 == 4000) return 0x1.7p35 * step;
            const int exponent = 15 + static_cast<int>(random.below(14));
            if (i % 97 == 50) return std::ldexp(1 + 0.5 * random.unit(), exponent) * step;
            const double most = sizeof(T) == 4 || random.below(2) == 0 ? 16000 : 0x1p29;  // f64 rounds differently only there
            T half = static_cast<T>((std::floor(random.unit() * most) + 0.5) * step);
            for (auto ulps = random.below(3); ulps > 0; --ulps) half = std::nextafter(half, random.below(2) == 0 ? T(1e12) : T(-1e12));
            return static_cast<double>(half);
        }));
    }
    list.push_back(halves);
    return list;
}

}  // namespace

TEMPLATE_TEST_CASE("a decoded sum of SZp does not depend on cuts at multiples of a chunk", "[codec][szp][homomorphic]", float, double)
{
    const std::size_t n = 3 * 8192 + 77;
    for (const auto& f : families_to_cut<TestType>(n)) {
        INFO(f.name);
        const auto whole = sum_in_pieces(f, {0, n});
        CHECK(different(sum_in_pieces(f, {0, 8192, n}), whole) == 0);
        CHECK(different(sum_in_pieces(f, {0, 8192, 2 * 8192, 3 * 8192, n}), whole) == 0);
    }
}

TEMPLATE_TEST_CASE("a decoded sum of SZp does not depend on cuts at multiples of a block", "[codec][szp][homomorphic]", float, double)
{
    const std::size_t n = 8192 + 4096 + 77;
    for (const auto& f : families_to_cut<TestType>(n)) {
        INFO(f.name);
        CHECK(different(sum_in_pieces(f, {0, 32, 4096, 8192 + 320, n}), sum_in_pieces(f, {0, n})) == 0);
    }
}

TEMPLATE_TEST_CASE("a decoded sum of SZp does not depend on cuts anywhere", "[codec][szp][homomorphic]", float, double)
{
    const std::size_t n = 8192 + 4096 + 77;
    for (const auto& f : families_to_cut<TestType>(n)) {
        INFO(f.name);
        CHECK(different(sum_in_pieces(f, {0, 1, 100, 5001, 8191, 8193, 12000, n}), sum_in_pieces(f, {0, n})) == 0);
    }
}

}  // namespace szp_sums_cases
