// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Damaged frames: the device kernels of SZp, under the emulator, accept what the host accepts and refuse what it refuses. Memory is exactly
// as long as it may be, so that a sanitizer sees every access beyond it.
#include "emulated_codecs.hpp"

#include <cmath>

namespace szp_hostile_cases {

using namespace emulated;

using bytes = std::vector<std::byte>;

namespace {

/// With rows of 100 values that are alike, and planes of four rows.
template <class T>
std::vector<T> field_of_rows(std::size_t n)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = static_cast<T>(20 * std::sin(0.31 * static_cast<double>(i % 100) + 0.02 * static_cast<double>(i / 100)) +
                              std::sin(1.9 * static_cast<double>(i % 100) + 0.3 * static_cast<double>(i / 100 % 4)));
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("Emulated SZp reads damaged frames as the host does", "[cuda][szp][hostile]", float, double)
{
    fields::generator random(5);
    damaged_frames all;
    std::vector<TestType> land = fields::smooth<TestType>(9000);
    for (std::size_t i = 0; i < land.size(); ++i)
        if (i % 150 < 40 || i % 150 == 77) land[i] = i % 150 == 77 ? TestType(-3e25) : TestType(1e20);
    const std::vector<std::vector<TestType>> list = {fields::smooth<TestType>(9000),     fields::quiet<TestType>(9000),
                                                     fields::ramp<TestType>(9000),       fields::random<TestType>(9000),
                                                     fields::non_finite<TestType>(9000), land};
    const auto of_rows = [](const std::vector<TestType>& x) { return ccoll::shaped_view<const TestType>{x, {100, 400}, x.size()}; };
    const auto field = field_of_rows<TestType>(9000);
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const auto& x = list[seed % list.size()];
        const double eb = seed % 4 == 0 ? 0.3 : 1e-3;
        bytes frame(ccoll::max_addend_bytes<SZp, TestType>(x.size()));
        frame.resize(seed % 3 == 0 ? ccoll::encode_addend<SZp>(x, frame, eb).bytes : ccoll::encode<SZp>(x, frame, eb).bytes);
        read_damaged<SZp, TestType>(std::move(frame), x.size(), random, seed, all);
    }
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        bytes frame(ccoll::max_addend_bytes<SZp, TestType>(field.size()));
        frame.resize(ccoll::encode_addend<SZp>(of_rows(field), frame, 0.01).bytes);
        read_damaged<SZp, TestType>(std::move(frame), field.size(), random, seed, all);
    }
    auto field_with_land = field;
    for (std::size_t i = 0; i < field.size(); ++i)
        if (i % 100 < 20 + i / 100 % 3) field_with_land[i] = TestType(1e20);
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        bytes frame(ccoll::max_encoded_bytes<SZp, TestType>(field.size()));
        frame.resize(ccoll::encode<SZp>(of_rows(field_with_land), frame, 0.01).bytes);
        read_damaged<SZp, TestType>(std::move(frame), field.size(), random, seed, all);
    }
    CHECK(all.accepted > 20);
    CHECK(all.refused > 20);
    CHECK(all.apart == 0);
}

TEMPLATE_TEST_CASE("Emulated SZp adds damaged frames, or refuses them, as the host does", "[cuda][szp][hostile]", float, double)
{
    fields::generator random(9);
    unsigned accepted = 0, refused = 0;
    const std::vector<std::vector<TestType>> list = {fields::smooth<TestType>(9000), fields::quiet<TestType>(9000),
                                                     fields::non_finite<TestType>(9000), fields::offset<TestType>(9000),
                                                     field_of_rows<TestType>(9000)};
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const auto &x = list[seed % 5], &y = list[seed / 5 % 5];
        const double eb = seed % 3 == 0 ? 1e-8 : 1e-3;
        bytes a(ccoll::max_addend_bytes<SZp, TestType>(x.size())), b(a), sum(a);
        const auto of_rows = [](const std::vector<TestType>& v) { return ccoll::shaped_view<const TestType>{v, {100, 400}, v.size()}; };
        a.resize(ccoll::encode_addend<SZp>(of_rows(x), a, eb).bytes);
        b.resize(ccoll::encode_addend<SZp>(of_rows(y), b, eb).bytes);
        damage(seed % 2 == 0 ? a : b, random);
        const auto expected = ccoll::reduce_encoded<SZp, ccoll::policies::Op::Sum, TestType>(a, b, sum).code;
        if (a.size() < 48 || b.size() < 48) continue;
        const auto found = static_cast<ccoll::status>(add<TestType>({}, a, b, x.size(), 0, {seed}).told.code);
        INFO("host: " << ccoll::describe(expected) << "; device: " << ccoll::describe(found) << "; seed " << seed);
        CHECK((expected == ccoll::status::ok) == (found == ccoll::status::ok));
        ++(found == ccoll::status::ok ? accepted : refused);
    }
    CHECK(accepted > 10);
    CHECK(refused > 10);
}

}  // namespace szp_hostile_cases
