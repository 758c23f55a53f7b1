// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device encoder and decoder of SZp for movement, under the emulator: the bytes and bits of the host codec.
#include "emulated_codecs.hpp"

#include <map>
#include <string>

namespace szp_movement_cases {

using namespace emulated;

namespace {

/// The forms of chunk that were met, so that a test can see that none is missing.
std::map<std::string, unsigned> met;

void note_forms(ccoll::const_byte_span frame)
{
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    for (std::uint32_t i = 0; i < view.header.chunks; ++i) {
        const auto piece = view.chunk(i);
        if (piece.raw) {
            ++met["raw"];
            continue;
        }
        if (ccoll::detail::szp::kept::is_kept(piece.data)) {
            ++met["kept"];
            continue;
        }
        const ccoll::detail::szp::chunk_head head(ccoll::load<std::uint32_t>(piece.data, 0));
        const char* const kinds[] = {"narrow", "flat", "fine"};
        std::string form = kinds[static_cast<unsigned>(head.what)];
        if (head.alone) form += " alone";
        if (head.lists) form += " lists";
        if (head.escaped > 0) form += " specials";
        if (!head.packed && head.what != ccoll::detail::szp::kind::flat) form += " long codes";
        ++met[form];
    }
}

template <class T>
void compare(std::span<const T> x, double eb, const emulator::options& how)
{
    note_forms(compare_with_host<SZp, T>(x, eb, how));
}

template <class T>
void all_fields(std::size_t n, std::initializer_list<double> bounds, std::uint64_t seed)
{
    std::vector<fields::named<T>> list = fields::all<T>(n);
    for (auto& each : unusual<T>(n)) list.push_back(std::move(each));
    for (const auto& [name, values] : list)
        for (const double eb : bounds) {
            INFO(name << ", n " << n << ", bound " << eb << ", seed " << seed);
            compare<T>(values, eb, {seed++});
        }
}

}  // namespace

TEMPLATE_TEST_CASE("Emulated SZp writes the bytes of the host codec and reads its bits: all fields, bounds from loose to tight",
                   "[cuda][szp]", float, double)
{
    all_fields<TestType>(2 * 8192 + 100, {1e-1, 1e-3, 1e-6}, 1);
}

TEMPLATE_TEST_CASE("Emulated SZp writes the bytes of the host codec at every length around blocks and chunks, from any address",
                   "[cuda][szp]", float, double)
{
    std::uint64_t seed = 1;
    for (const std::size_t n :
         std::initializer_list<std::size_t>{0, 1, 2, 31, 32, 33, 63, 64, 100, 255, 257, 1000, 8160, 8191, 8192, 8193, 8224, 16384})
        for (const auto& field : {fields::smooth<TestType>(n + 1), fields::random<TestType>(n + 1), fields::non_finite<TestType>(n + 1)})
            for (const std::size_t from : std::initializer_list<std::size_t>{0, 1})
                for (const double eb : {1e-2, 1e-5}) {
                    INFO("n " << n << ", from " << from << ", bound " << eb);
                    compare<TestType>(std::span(field).subspan(from, n), eb, {seed++});
                }
}

TEST_CASE("Emulated SZp takes bounds at the ends of what there is", "[cuda][szp]")
{
    for (const double eb : {1e-320, 1e-44, 1e-38, 5e-38, 1e-30, 1e30, 1e38})
        for (const auto& [name, values] : fields::all<float>(9000)) {
            INFO(name << ", bound " << eb);
            compare<float>(values, eb, {7});
        }
    for (const double eb : {1e-320, 1e-307, 1e-300, 1e-12, 9e299})
        for (const auto& [name, values] : fields::all<double>(9000)) {
            INFO(name << ", bound " << eb);
            compare<double>(values, eb, {7});
        }
}

TEST_CASE("The tests above have met every form of a chunk for movement", "[cuda][szp]")
{
    all_fields<float>(8192 + 40, {3e-1, 1e-2, 1e-4}, 5);
    for (const char* form : {"raw", "narrow", "flat", "fine", "narrow alone", "narrow lists", "fine lists", "narrow specials",
                             "fine specials", "narrow alone specials", "flat specials", "narrow lists specials"}) {
        INFO(form);
        CHECK(met[form] > 0);
    }
}

// Device encoders are told of no shape.
TEMPLATE_TEST_CASE("Emulated SZp reads chunks with rows of the host codec", "[cuda][szp]", float, double)
{
    using T = TestType;
    std::uint64_t seed = 1;
    for (const auto& [row, plane] : {std::pair{32u, 0u}, {45u, 0u}, {1000u, 0u}, {17u, 0u}, {16u, 32u}, {32u, 96u}, {45u, 1035u}})
        for (const std::size_t n : {300u, 8192u, 8192u + 999u})
            for (const double scale : {1.0, 1.0 / 3, 3.1})  // on a lattice, on none, and (f32) on another grid of a chunk's own
                for (const bool has_specials : {false, true}) {
                    std::vector<T> x(n), theirs(n), ours(n);
                    for (std::size_t i = 0; i < n; ++i) {
                        const std::size_t below = plane == 0 ? i / row : i / plane,
                                          busy = plane == 0 ? 0 : i % plane / row * (i % row) % 13;
                        x[i] = static_cast<T>(scale * static_cast<double>(i % row * 7 % 31 + busy + below % 10));
                    }
                    for (std::size_t i = 50; has_specials && i < n; ++i)
                        if (i % 1900 / 2 == 25 || i / 64 == 80) x[i] = i % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : T(1e20);
                    std::vector<std::byte> frame(ccoll::max_encoded_bytes<SZp, T>(n));
                    frame.resize(ccoll::encode<SZp>(ccoll::shaped_view<const T>{x, {row, plane}, n}, frame, 1e-3).bytes);
                    INFO("rows of " << row << ", planes of " << plane << ", n " << n << ", scale " << scale
                                    << (has_specials ? ", special values" : ""));
                    ccoll::frame_view view;
                    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
                    const auto head = ccoll::load<std::uint32_t>(view.chunk(0).data, 0);
                    CHECK((row > n || (head & 15) == (scale >= 1 && sizeof(T) == 4 ? 7 : 6)));
                    CHECK(((head >> 12 & 0x3ffff) > 0) == has_specials);
                    const auto above = ccoll::load<std::uint32_t>(view.chunk(0).data, 12);
                    CHECK((n < 8192 || above == (row | plane << 16)));
                    REQUIRE(ccoll::decode<SZp>(frame, theirs) == ccoll::status::ok);
                    CHECK(decode_with<SZp, T>(frame, ours, {seed++}) == ccoll::status::ok);
                    CHECK(std::memcmp(ours.data(), theirs.data(), n * sizeof(T)) == 0);
                    for (const std::uint32_t other : {15u, static_cast<std::uint32_t>(n), 32u | 32u << 16, 16u | 31u << 16, 16u, 64u,
                                                      17u | 77u << 16}) {  // the first four cannot be
                        std::memcpy(const_cast<std::byte*>(view.chunk(0).data.data()) + 12, &other, 4);
                        const auto expected = ccoll::decode<SZp>(frame, theirs);
                        CHECK(decode_with<SZp, T>(frame, ours, {seed++}) == expected);
                        // With planes that it was not made with, sums may be so large that they are rounded, in another order here.
                        if (expected == ccoll::status::ok && other >> 16 == 0)
                            CHECK(std::memcmp(ours.data(), theirs.data(), n * sizeof(T)) == 0);
                    }
                }
}

}  // namespace szp_movement_cases
