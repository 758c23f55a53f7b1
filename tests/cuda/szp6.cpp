// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of SZp in wire version 6, under the emulator, beside a reader and writer that were made from the page. Values and quanta are
// compared, never bytes: how quanta are packed is free.
#include "szp6_calls.hpp"

namespace szp6_cases {

using namespace szp6_calls;

namespace {

/// Data with and without exceptional values, and chunks that the fast kernels do not take.
template <class T>
std::vector<fields::named<T>> all_fields(std::size_t n)
{
    std::vector<fields::named<T>> all{{"constant", fields::constant<T>(n)}, {"quiet", fields::quiet<T>(n)},
                                      {"smooth", fields::smooth<T>(n)},     {"random", fields::random<T>(n)},
                                      {"denormal", fields::denormal<T>(n)}, {"wild", fields::wild<T>(n)},
                                      {"integers", fields::ramp<T>(n)},     {"offset", fields::offset<T>(n)}};
    const auto change = [&](const char* name, auto f) {
        std::vector<T> x = fields::smooth<T>(n);
        for (std::size_t i = 0; i < n; ++i) f(i, x[i]);
        all.push_back({name, x});
    };
    const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    change("land of 1e20", [](std::size_t i, T& v) { v = i % 128 < 40 + i / 128 % 9 ? T(1e20) : v; });
    change("land of NaN", [&](std::size_t i, T& v) { v = i % 128 < 40 + i / 128 % 9 ? nan : v; });
    change("land of -9999", [](std::size_t i, T& v) { v = i % 128 < 40 + i / 128 % 9 ? T(-9999) : v; });
    change("few far ones", [&](std::size_t i, T& v) { v = i % 997 == 5 ? (i % 3 == 0 ? inf : i % 3 == 1 ? -inf : T(-3e33)) : v; });
    change("many far ones", [](std::size_t i, T& v) { v = i % 23 < 2 ? static_cast<T>(1e20 * (1 + static_cast<double>(i % 1000))) : v; });
    change("more than may be",
           [](std::size_t i, T& v) { v = i % 5 == 0 ? static_cast<T>(1e20 * (1 + static_cast<double>(i % 1000))) : v; });
    change("chunks of NaN", [&](std::size_t i, T& v) { v = i / 8192 % 2 == 0 ? nan : v; });
    change("large", [](std::size_t i, T& v) { v = i % 600 < 3 ? v * T(1e4) : v; });
    return all;
}

template <class T>
void check_movement(const std::vector<T>& x, double eb, const marker<T>& missing = {}, std::size_t from = 0)
{
    std::vector<T> moved;  // chunk by chunk
    const reference::law<T> z(eb, missing);
    for (std::size_t i = from; i < x.size(); i += 8192) {
        const std::vector<T> chunk(x.begin() + static_cast<std::ptrdiff_t>(i),
                                   x.begin() + static_cast<std::ptrdiff_t>(std::min(i + 8192, x.size())));
        const std::vector<T> y = reference::moved(z, chunk);
        moved.insert(moved.end(), y.begin(), y.end());
    }
    const result r = encode(x.data() + from, x.size() - from, eb, missing);
    CHECK(r.told.code == 0);
    check_same(reference::decode_movement<T>(r.frame), moved);
    std::vector<T> out(x.size(), T(-77));
    std::vector<T> aligned(x.size() - from, T(-77));
    CHECK(decode(r.frame, aligned, missing).told.code == 0);
    check_same(aligned, moved);
}

}  // namespace

TEMPLATE_TEST_CASE("SZp 6 on a device: values that have been moved are those of the law", "[cuda][szp6]", float, double)
{
    for (const auto& [name, x] : all_fields<TestType>(8192 + 300))
        for (const double eb : {1e-1, 1e-3, 1e-5, 1e-7}) {
            INFO(name << ", bound " << eb);
            check_movement(x, eb);
        }
}

TEMPLATE_TEST_CASE("SZp 6 on a device: every length around blocks, groups and chunks, from any address", "[cuda][szp6]", float, double)
{
    for (const std::size_t n : std::initializer_list<std::size_t>{0, 1, 255, 256, 257, 1000, 1024, 1025, 8191, 8192, 8193, 3 * 8192 + 777})
        for (const auto& x : {fields::smooth<TestType>(n + 1), fields::non_finite<TestType>(n + 1)})
            for (const std::size_t from : {0u, 1u}) {
                INFO("n " << n << ", from " << from);
                check_movement(x, 1e-3, {}, from);
            }
}

}  // namespace szp6_cases
