// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// The device kernels for half and bfloat16, under the emulator: the chunks and bits of the host codec, for
// all codecs that have kernels. SZp has none for them: it works on the host.
#include "emulated_codecs.hpp"

#include <cmath>
#include <set>

namespace small_floats_cases {

using namespace emulated;
using ccoll::bfloat16;
using ccoll::half;

namespace {

template <class T>
std::vector<T> narrow(const std::vector<float>& from)
{
    std::vector<T> x;
    for (const float v : from) x.push_back(T(v));
    return x;
}
/// Fields of all kinds, among them every bit pattern, values near the largest one, fill values and markers.
template <class T>
std::vector<fields::named<T>> all_of(std::size_t n)
{
    std::vector<fields::named<T>> all;
    for (const auto& [name, values] : fields::all<float>(n)) all.push_back({name, narrow<T>(values)});
    std::vector<T> patterns(n), large(n), markers = narrow<T>(fields::smooth<float>(n)), steps(n);
    for (std::size_t i = 0; i < n; ++i) {
        patterns[i] = T::of_bits(static_cast<std::uint16_t>(i * 40503u));
        large[i] = T::of_bits(static_cast<std::uint16_t>(T::format::largest - i * 7 % 130));
        if (i % 128 < 40 + i / 1000) markers[i] = T(-9999.0f);
        steps[i] = T(std::ldexp(1.0f + static_cast<float>(i % 7) / 8, 6 + static_cast<int>(i % 5) * 2));
    }
    all.push_back({"all bit patterns", patterns});
    all.push_back({"near the largest one", large});
    all.push_back({"markers", markers});
    all.push_back({"few digits", steps});
    return all;
}

/// The bytes that end the chunks of a frame for movement, and how many are raw.
void note_ends(const std::vector<std::byte>& frame, std::set<int>& exponents, unsigned& raw)
{
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    for (std::uint32_t i = 0; i < view.header.chunks; ++i) {
        const auto piece = view.chunk(i);
        if (piece.raw) ++raw;
        else exponents.insert(static_cast<std::int8_t>(piece.data.back()));
    }
}

}  // namespace

TEMPLATE_TEST_CASE(
    "Emulated kernels for two-byte numbers write the chunks of the host codecs and read their bits",
    "[cuda][half]", half, bfloat16)
{
    std::uint64_t seed = 1;
    std::set<int> exponents;
    unsigned raw = 0;
    for (const auto& [name, values] : all_of<TestType>(8192 + 300))
        for (const double eb : {10.0, 0.3, 1e-2, 1e-3, 1e-5, 1e-9}) {
            INFO(name << ", bound " << eb << ", seed " << seed);
            note_ends(compare_with_host<SZx, TestType>(values, eb, {seed++}), exponents, raw);
            if (eb > 1e-3)
                note_ends(compare_with_host<PipeSZx, TestType>(values, eb, {seed++}), exponents, raw);
            if (eb < 1e-3) compare_with_host<Zfp, TestType>(values, eb < 1e-8 ? 12 : 5.3, {seed++});
        }
    CHECK(raw > 20);
    CHECK(exponents.size() > 8);
    CHECK(exponents.contains(127));
}

TEMPLATE_TEST_CASE("Emulated kernels for two-byte numbers take every length, from any address",
                   "[cuda][half]", half, bfloat16)
{
    std::uint64_t seed = 1;
    for (const std::size_t n : std::initializer_list<std::size_t>{0, 1, 2, 3, 7, 31, 32, 33, 127, 129, 1001,
                                                                  5120, 8191, 8192, 8193, 16384})
        for (const auto& field :
             {fields::smooth<float>(n + 1), fields::random<float>(n + 1), fields::non_finite<float>(n + 1)})
            for (const std::size_t from : std::initializer_list<std::size_t>{0, 1}) {
                INFO("n " << n << ", from " << from);
                const auto x = narrow<TestType>(field);
                const auto part = std::span(x).subspan(from, n);
                compare_with_host<SZx, TestType>(part, 1e-2, {seed++});
                compare_with_host<PipeSZx, TestType>(part, 1e-2, {seed++});
                compare_with_host<Zfp, TestType>(part, 7.3, {seed++});
            }
}

TEMPLATE_TEST_CASE("Emulated kernels for two-byte numbers take bounds at the ends of what there is",
                   "[cuda][half]", half, bfloat16)
{
    std::uint64_t seed = 1;
    const auto smooth = narrow<TestType>(fields::smooth<float>(700)),
               random = narrow<TestType>(fields::random<float>(700));
    for (const double eb : {5e-324, 1e-320, 1e-45, 1e-38, 2.4e-38, 4.8e-38, 1e-30, 0x1p-24, 0x1p-13,
                            0x1.8p-12, 1.0, 65504.0, 7e4, 1e38, 1e299})
        for (const auto* x : {&smooth, &random}) {
            INFO("bound " << eb);
            compare_with_host<SZx, TestType>(*x, eb, {seed++});
        }
}

TEMPLATE_TEST_CASE("Emulated kernels read damaged frames of two-byte numbers as the host does",
                   "[cuda][half][hostile]", half, bfloat16)
{
    fields::generator random(5);
    damaged_frames all;
    std::vector<float> land = fields::smooth<float>(9000);
    for (std::size_t i = 0; i < land.size(); ++i)
        if (i % 150 < 40) land[i] = -9999;
    const std::vector<std::vector<TestType>> list = {
        narrow<TestType>(fields::smooth<float>(9000)), narrow<TestType>(fields::quiet<float>(8190)),
        narrow<TestType>(land), narrow<TestType>(fields::non_finite<float>(9001)),
        narrow<TestType>(fields::ramp<float>(777))};
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const auto& x = list[seed % list.size()];
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<PipeSZx, TestType>(x.size()));
        if (seed % 3 == 0) {
            frame.resize(ccoll::encode<SZx>(x, frame, 1e-2).bytes);
            read_damaged<SZx, TestType>(std::move(frame), x.size(), random, seed, all);
        } else if (seed % 3 == 1) {
            frame.resize(ccoll::encode<Zfp>(x, frame, 7.3).bytes);
            read_damaged<Zfp, TestType>(std::move(frame), x.size(), random, seed, all);
        } else {
            frame.resize(ccoll::encode<PipeSZx>(x, frame, 1e-2).bytes);
            read_damaged<PipeSZx, TestType>(std::move(frame), x.size(), random, seed, all);
        }
    }
    CHECK(all.accepted > 20);
    CHECK(all.refused > 20);
    CHECK(all.apart == 0);
}

}  // namespace small_floats_cases
