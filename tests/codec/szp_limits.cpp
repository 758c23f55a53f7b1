// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// codec/szp.hpp: addends of SZp that hold too much, that do not fit each other, or that are damaged.
#include "codec/szp_sums.hpp"

namespace szp_sums_cases {

namespace {

/// 2^190 steps of these are numbers of their type.
template <class T>
constexpr double bound = sizeof(T) == 4 ? 1e-20 : 1e-3;

/// A field of some hundred quanta.
template <class T>
std::vector<T> near_zero(std::vector<T> x)
{
    for (T& v : x) v *= static_cast<T>(200 * bound<T>);
    return x;
}
/// One with so many different far values in the last chunk.
template <class T>
std::vector<T> with_far(std::size_t n, std::size_t different)
{
    auto x = near_zero(fields::smooth<T>(n));
    for (std::size_t k = 0; k < different; ++k)
        x[n - 1 - k] = static_cast<T>(1e20 * (1 + static_cast<double>(k) / 1024));
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("an addend of SZp that holds too much says too_large, and so does every sum with it",
                   "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const double eb = bound<T>;
    for (const std::size_t n : {300u, 8192u + 300u}) {
        INFO("n = " << n);
        auto beyond = near_zero(fields::smooth<T>(n));
        beyond[n - 3] = static_cast<T>(0x1p190 * step_of<T>(eb));
        CHECK(addend(with_far<T>(n, 256), eb).code == status::ok);
        auto below = beyond;
        below[n - 3] = std::nextafter(beyond[n - 3], T(0));
        CHECK(addend(below, eb).code == status::ok);
        for (const auto& x : {with_far<T>(n, 257), beyond}) {
            const result refused = addend(x, eb);
            CHECK(refused.code == status::too_large);
            CHECK(refused.frame.size() == frame_edit::start((n + 8191) / 8192));
            std::vector<T> y(n);
            CHECK(ccoll::decode<C>(refused.frame, y) == status::too_large);
            const std::vector<bytes> frames{refused.frame,
                                            addend(near_zero(fields::smooth<T>(n, 2)), eb).frame,
                                            addend(near_zero(fields::non_finite<T>(n, 3)), eb).frame,
                                            addend(near_zero(fields::constant<T>(n, 4)), eb).frame};
            result sum;
            CHECK(order_dependent<T>(frames, n, sum) == 0);
            CHECK(sum.frame == refused.frame);
        }
    }
}

TEMPLATE_TEST_CASE(
    "a sum of SZp says too_large where it has more than 256 different far values, or one of 2^190 steps",
    "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const double eb = bound<T>;
    const std::size_t n = 700;
    const auto code = [&](const std::vector<T>& x, const std::vector<T>& y) {
        return add<T>(addend(x, eb).frame, addend(y, eb).frame, n).code;
    };
    auto other = near_zero(fields::smooth<T>(n));
    for (std::size_t k = 0; k < 200; ++k)
        other[k] = static_cast<T>(3e20 * (1 + static_cast<double>(k) / 1024));
    CHECK(code(with_far<T>(n, 56), other) == status::ok);
    CHECK(code(with_far<T>(n, 57), other) == status::too_large);
    CHECK(code(with_far<T>(n, 256), with_far<T>(n, 256)) == status::ok);  // at the same places
    auto half = near_zero(fields::smooth<T>(n)), rest = half;
    half[5] = static_cast<T>(0x1p189 * step_of<T>(eb));
    rest[5] = std::nextafter(half[5], T(0));
    CHECK(code(half, rest) == status::ok);
    CHECK(code(half, half) == status::too_large);
}

TEMPLATE_TEST_CASE("sums of SZp are right up to 2^62 quanta, and say too_large beyond",
                   "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const double eb = 1e-3, step = step_of<T>(eb);
    const std::size_t n = 70;
    // Twice as much each time: 2^k times almost 2^45 steps, of either sign.
    std::vector<bytes> powers{
        addend(numbers<T>(n, [&](std::size_t i) { return (i % 2 == 0 ? 0x1.fffff8p44 : -0x1.7p43) * step; }),
               eb)
            .frame};
    for (int k = 1; k <= 17; ++k) {
        const result r = add<T>(powers.back(), powers.back(), n);
        REQUIRE(r.code == status::ok);
        powers.push_back(r.frame);
    }
    CHECK(add<T>(powers[17], powers[17], n).code == status::too_large);
    CHECK(add<T>(add<T>(powers[17], powers[3], n).frame, powers[2], n).code == status::too_large);
    result sum;
    CHECK(order_dependent<T>({powers[16], powers[15], powers[14], powers[12], powers[13]}, n, sum) == 0);
    REQUIRE(sum.code == status::ok);
    const auto y = values_of<T>(sum, n);
    CHECK(std::fabs(static_cast<double>(y[0]) / (31 * 0x1p12 * 0x1.fffff8p44 * step) - 1) < 1e-6);
    CHECK(std::fabs(static_cast<double>(y[1]) / (31 * 0x1p12 * -0x1.7p43 * step) - 1) < 1e-6);
}

TEMPLATE_TEST_CASE("what can_add promises for SZp, sums keep", "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    using impl = ccoll::codec_impl<C, T, ccoll::host_space>;
    static_assert(impl::adds_non_finite);
    fields::generator random(47);
    std::size_t promised = 0, refused = 0;
    const auto check = [&](double largest, double eb, std::size_t doublings) {
        if (!impl::can_add(largest, eb, std::size_t{1} << doublings)) {
            ++refused;
            return void();
        }
        ++promised;
        const T most = static_cast<T>(largest);
        result sum = addend(std::vector<T>{most, -most, T(0)}, eb);
        CHECK(sum.code == status::ok);
        for (std::size_t k = 0; k < doublings; ++k) sum = add<T>(sum.frame, sum.frame, 3);
        INFO("largest = " << largest << ", eb = " << eb << ", " << doublings << " doublings");
        CHECK(sum.code == status::ok);
    };
    for (int trial = 0; trial < 3000; ++trial) {
        const int exponent = static_cast<int>(random.below(60)) - 30,
                  steps = static_cast<int>(random.below(70));
        const double eb = std::ldexp(1 + 0.5 * random.unit(), exponent);
        const double largest =
            static_cast<double>(static_cast<T>(std::ldexp(1 + 0.5 * random.unit(), steps) * eb));
        check(largest, eb, random.below(30));
    }
    CHECK(promised > 100);
    CHECK(refused > 100);
    for (const double eb : {1e-3, 1.0, 7.5e9}) {
        const double step = step_of<T>(eb);
        for (const double steps :
             {0x1p45, 0x1.fffffep44, 0x1.fffffffffffffp44, 0x1.8p44, 0x1p31, 0x1p30, 0x1.fffffep30})
            for (std::size_t doublings = 0; doublings < 34; ++doublings)
                check(static_cast<double>(static_cast<T>(steps * step)), eb, doublings);
        CHECK(impl::can_add(0x1p44 * step, eb, 100000));
        CHECK_FALSE(impl::can_add(0x1p46 * step, eb, 1));
        CHECK_FALSE(impl::can_add(0x1p44 * step, eb, 1000000));
    }
    const double infinity = std::numeric_limits<double>::infinity(),
                 least = 4 * static_cast<double>(std::numeric_limits<T>::min());
    CHECK_FALSE(impl::can_add(infinity, 1e-3, 2));
    CHECK_FALSE(impl::can_add(std::nan(""), 1e-3, 2));
    CHECK(impl::can_add(0, least, 2));
    CHECK_FALSE(impl::can_add(0, std::nextafter(least, 0.0), 2));
}

TEMPLATE_TEST_CASE(
    "frames of SZp for movement are not addends, and frames that do not fit each other are not added",
    "[codec][szp][homomorphic]", float, double)
{
    using T = TestType;
    const std::size_t n = 700;
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
    const bytes refused = addend(with_far<T>(n, 257), 1e-3).frame;  // far at this bound, too
    CHECK(code(refused, moved) == status::not_an_addend);
    CHECK(code(refused, addend(x, 2e-3).frame) == status::bound_differs);
    CHECK(code(refused, a) == status::too_large);
    bytes dst(ccoll::max_addend_bytes<C, T>(n), round_trip::guard);
    const bytes untouched = dst;
    CHECK(ccoll::reduce_encoded<C, Op::Sum, T>(a, a, ccoll::byte_span(dst).first(dst.size() - 1)).code ==
          status::out_of_space);
    CHECK(dst == untouched);
}

TEMPLATE_TEST_CASE(
    "any byte of either addend of SZp changed gives a status, and nothing beyond max_addend_bytes",
    "[codec][szp][homomorphic][total]", float, double)
{
    using T = TestType;
    const std::size_t n = 70;
    const auto list = families<T>(3, n);
    for (const auto& f : list) {
        const auto frames = frames_of(f);
        std::size_t no_status = 0, trusted = 0;
        const auto check = [&](const bytes& a, const bytes& b, std::size_t at) {
            // Fails if it writes beyond.
            for (const status s : {add<T>(a, b, n).code, add<T>(b, a, n).code}) {
                no_status += s != status::ok && s != status::corrupt && s != status::wire_version &&
                             s != status::foreign_frame && s != status::not_an_addend &&
                             s != status::count_differs && s != status::bound_differs &&
                             s != status::too_large && s != status::out_of_space;
                trusted += s == status::ok && at < 48;
            }
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

TEMPLATE_TEST_CASE(
    "addends of SZp that lie about their largest quantum add to a frame or a status, whatever their planes "
    "hold",
    "[codec][szp][homomorphic][total]", float, double)
{
    using T = TestType;
    fields::generator random(53);
    const double step = step_of<T>(1e-3);
    for (const std::size_t n : {1u, 32u, 8192u})
        for (const double most : {100.0, 0x1p30, 0x1p44}) {
            fields::generator values(7);
            const auto x = numbers<T>(n, [&](std::size_t) { return values.unit() * most * step; });
            const bytes honest = addend(x, 1e-3).frame;
            const std::size_t begin = frame_edit::begin_of(honest, 0), groups = (n + 1023) / 1024;
            const bool wide = (static_cast<unsigned>(honest[begin + 1]) & 2) != 0,
                       flat = (static_cast<unsigned>(honest[begin + 1]) & 4) != 0;
            const std::size_t planes =
                begin + (flat ? 16 : frame_edit::padded(16 + (wide ? 32 : 24) * groups));
            for (const std::uint64_t largest :
                 {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 62) - 1, ~std::uint64_t{0}}) {
                const auto hostile = [&](bool garbage) {
                    bytes frame = honest;
                    ccoll::store(frame, begin + 8, largest);
                    const std::size_t end = begin + frame_edit::bytes_of(frame, 0);
                    for (std::size_t i = planes; garbage && i < end; ++i)
                        frame[i] = static_cast<std::byte>(random.bits());
                    return frame;
                };
                for (const bool garbage : {false, true}) {
                    INFO("n = " << n << ", up to " << most << " steps, largest " << largest
                                << (garbage ? ", any planes" : ""));
                    const bytes a = hostile(garbage), b = hostile(garbage);
                    std::vector<T> y(n);
                    CHECK(ccoll::decode<C>(a, y) == status::ok);
                    const result sum = add<T>(a, b, n);
                    CHECK((sum.code == status::ok || sum.code == status::too_large));
                    if (largest >> 61 != 0) CHECK(sum.code == status::too_large);
                    const status read = ccoll::decode<C>(sum.frame, y);
                    CHECK((read == status::ok || read == sum.code));
                    add<T>(a, honest, n);
                }
            }
        }
}

}  // namespace szp_sums_cases
