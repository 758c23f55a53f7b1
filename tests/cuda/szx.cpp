// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// The device kernels of SZx and PipeSZx, under the emulator: the chunks and bits of the host codec.
#include "emulated_codecs.hpp"

#include <map>

namespace szx_cases {

using namespace emulated;

namespace {

/// Sanitizers are slow, and look at memory, not at values. So they get fewer bounds.
#ifdef CCOLL_TEST_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// The codes of blocks and the forms of chunks that were met, so that a test can see that none is missing.
std::map<std::string, unsigned> met;

template <class T>
void note_forms(const std::vector<std::byte>& frame)
{
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    for (std::uint32_t i = 0; i < view.header.chunks; ++i) {
        const auto piece = view.chunk(i);
        const std::string type = sizeof(T) == 4 ? "f32 " : "f64 ";
        if (piece.raw) {
            ++met[type + "raw"];
            continue;
        }
        const auto count = std::min<std::uint64_t>(view.header.chunk_elements,
                                                   view.header.elements - i * view.header.chunk_elements);
        const bool special = piece.data[0] == std::byte{255};
        for (std::size_t b = 0; b < (count + 127) / 128; ++b)
            ++met[type + (special ? "specials " : "") +
                  std::to_string(static_cast<unsigned>(piece.data[b + (special ? 4 : 0)]))];
    }
}

template <class Codec, class T>
void compare(std::span<const T> x, double eb, const emulator::options& how)
{
    note_forms<T>(compare_with_host<Codec, T>(x, eb, how));
}

/// Blocks that are constant, and blocks that are too wide for counts of steps, without values so far from 0
/// that they would be special.
template <class T>
std::vector<T> calm_and_noise(std::size_t n)
{
    std::vector<T> x = fields::random<T>(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = i < n / 2 ? T(0.25) : x[i] * T(0.8);
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE(
    "Emulated SZx writes the chunks of the host codec and reads its bits: all fields, bounds from loose to "
    "tight",
    "[cuda][szx]", float, double)
{
    const std::size_t n = 8192 + 1300;
    std::vector<fields::named<TestType>> list = fields::all<TestType>(n);
    for (auto& each : unusual<TestType>(n)) list.push_back(std::move(each));
    std::uint64_t seed = 1;
    for (const auto& [name, values] : list)
        for (const double eb : {1e-1, 1e-3, 1e-6, 1e-11}) {
            if ((eb < 1e-6 && sizeof(TestType) == 4) || (sanitized && eb != 1e-3)) continue;
            INFO(name << ", bound " << eb << ", seed " << seed);
            compare<SZx, TestType>(values, eb, {seed++});
            compare<PipeSZx, TestType>(values, eb, {seed++});
        }
}

TEMPLATE_TEST_CASE(
    "Emulated SZx writes the chunks of the host codec at every length around blocks and chunks, from any "
    "address",
    "[cuda][szx]", float, double)
{
    std::uint64_t seed = 1;
    for (const std::size_t n :
         std::initializer_list<std::size_t>{0,   1,    2,    3,    31,   33,   127,  128,  129,  255,
                                            257, 1000, 5119, 5120, 5121, 8064, 8191, 8192, 8193, 16384})
        for (const auto& field : {fields::smooth<TestType>(n + 1), fields::random<TestType>(n + 1),
                                  fields::non_finite<TestType>(n + 1)})
            for (const std::size_t from : std::initializer_list<std::size_t>{0, 1})
                for (const double eb : {1e-2, 1e-5}) {
                    if (sanitized && eb < 1e-3) continue;
                    INFO("n " << n << ", from " << from << ", bound " << eb);
                    compare<SZx, TestType>(std::span(field).subspan(from, n), eb, {seed++});
                    if (eb > 1e-3)
                        compare<PipeSZx, TestType>(std::span(field).subspan(from, n), eb, {seed++});
                }
}

TEST_CASE("Emulated SZx takes bounds at the ends of what there is", "[cuda][szx]")
{
    const std::size_t n = sanitized ? 1000 : 9000;
    for (const double eb : {1e-320, 1e-44, 1e-38, 1.2e-38, 5e-38, 1e-30, 1e30, 1e38, 1e39})
        for (const auto& [name, values] : fields::all<float>(n)) {
            INFO(name << ", bound " << eb);
            compare<SZx, float>(values, eb, {7});
        }
    for (const double eb : {1e-320, 2e-308, 2.3e-308, 1e-300, 1e-12, 9e299})
        for (const auto& [name, values] : fields::all<double>(n)) {
            INFO(name << ", bound " << eb);
            compare<SZx, double>(values, eb, {7});
        }
}

TEMPLATE_TEST_CASE("Emulated SZx verifies blocks near the precision of the type as the host does",
                   "[cuda][szx]", float, double)
{
    const auto ulp = static_cast<double>(std::numeric_limits<TestType>::epsilon());
    std::uint64_t seed = 1;
    for (auto x : {fields::random<TestType>(5000), fields::half_steps<TestType>(5000)})
        for (const double offset : {0.0, 1.0, 1000.0}) {
            for (TestType& v : x) v = static_cast<TestType>(static_cast<double>(v) + offset);
            for (const double part : {0.4, 0.6, 1.1, 2.0, 3.5, 9.0, 100.0}) {
                INFO("offset " << offset << ", ulps " << part);
                compare<SZx, TestType>(x, part * ulp * (1 + offset), {seed++});
            }
        }
}

TEST_CASE("Emulated SZx meets every code of a block and every form of a chunk", "[cuda][szx]")
{
    met.clear();
    std::uint64_t seed = 1;
    for (const auto& field : unusual<float>(8192 + 40))
        for (const double eb : {1e-1, 1e-4, 1e-6}) compare<SZx, float>(field.values, eb, {seed++});
    for (const auto& field : unusual<double>(5120 + 40))
        for (const double eb : {1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 1e-15})
            compare<PipeSZx, double>(field.values, eb, {seed++});
    compare<SZx, float>(fields::bit_patterns<float>(5000), 1e-3, {seed++});
    compare<SZx, double>(fields::bit_patterns<double>(5000), 1e-3, {seed++});
    compare<SZx, float>(calm_and_noise<float>(5000), 8e-8, {seed++});
    compare<SZx, double>(calm_and_noise<double>(5000), 1e-16, {seed++});
    for (const char* form :
         {"f32 raw",        "f32 0",          "f32 1",          "f32 2",          "f32 3",         "f32 4",
          "f32 specials 0", "f32 specials 1", "f32 specials 2", "f32 specials 3", "f64 raw",       "f64 0",
          "f64 1",          "f64 2",          "f64 3",          "f64 4",          "f64 5",         "f64 6",
          "f64 7",          "f64 8",          "f64 specials 1", "f64 specials 4", "f64 specials 7"}) {
        INFO(form);
        CHECK(met[form] > 0);
    }
}

TEMPLATE_TEST_CASE("Emulated SZx reads damaged frames as the host does", "[cuda][szx][hostile]", float,
                   double)
{
    fields::generator random(5);
    damaged_frames all;
    std::vector<TestType> land = fields::smooth<TestType>(9000);
    for (std::size_t i = 0; i < land.size(); ++i)
        if (i % 150 < 40 || i % 150 == 77) land[i] = i % 150 == 77 ? TestType(-3e25) : TestType(1e20);
    const std::vector<std::vector<TestType>> list = {
        fields::smooth<TestType>(9000), fields::quiet<TestType>(8190), land,
        fields::non_finite<TestType>(9001), fields::ramp<TestType>(777)};
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const auto& x = list[seed % list.size()];
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<PipeSZx, TestType>(x.size()));
        const double eb = seed % 4 == 0 ? 0.3 : seed % 4 == 1 ? 1e-6 : 1e-3;
        if (seed % 2 == 0) {
            frame.resize(ccoll::encode<SZx>(x, frame, eb).bytes);
            read_damaged<SZx, TestType>(std::move(frame), x.size(), random, seed, all);
        } else {
            frame.resize(ccoll::encode<PipeSZx>(x, frame, eb).bytes);
            read_damaged<PipeSZx, TestType>(std::move(frame), x.size(), random, seed, all);
        }
    }
    CHECK(all.accepted > 20);
    CHECK(all.refused > 20);
    CHECK(all.apart == 0);
}

}  // namespace szx_cases
