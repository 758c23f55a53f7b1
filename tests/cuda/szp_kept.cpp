// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chunks that SZp keeps exactly because no grid shortens them, written and read by the device kernels under the emulator.
#include "emulated_codecs.hpp"

#include <bit>
#include <cmath>
#include <set>

namespace szp_kept_cases {

using namespace emulated;

namespace {

template <class T>
using word_of = typename ccoll::detail::fields_of<T>::word;

/// Numbers from about 1e30 on, whose bits differ from those of the first one, or of the one before, in a few places.
/// @param chained  from the one before    @param places  how many bits may differ, from bit `lowest` on
template <class T>
std::vector<T> alike(std::size_t n, bool chained, unsigned places, unsigned lowest, unsigned seed)
{
    fields::generator random(seed);
    std::vector<T> x(n);
    const auto first = std::bit_cast<word_of<T>>(T(1.5e30));
    word_of<T> w = first;
    for (T& v : x) {
        v = std::bit_cast<T>(w);
        const auto change = static_cast<word_of<T>>(static_cast<word_of<T>>(random.below(std::size_t{1} << places)) << lowest);
        if (chained) w = static_cast<word_of<T>>(random.below(2) == 0 || w < first ? w + change : w - change);
        else w = static_cast<word_of<T>>(first ^ change);
    }
    // One that is much nearer to 0, because otherwise all are multiples of a power of two, which is a grid.
    for (std::size_t i = std::min<std::size_t>(n / 2, 100); i < n; i += 2048) x[i] = std::ldexp(std::bit_cast<T>(first), -70);
    return x;
}

/// The heads of the kept chunks of a frame: what Lossless says of its words.
std::vector<unsigned> kept_heads(const std::vector<std::byte>& frame)
{
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    std::vector<unsigned> heads;
    for (std::uint32_t i = 0; i < view.header.chunks; ++i)
        if (const auto piece = view.chunk(i); !piece.raw && ccoll::detail::szp::kept::is_kept(piece.data))
            heads.push_back(static_cast<unsigned>(piece.data[4]));
    return heads;
}

}  // namespace

TEMPLATE_TEST_CASE("Emulated SZp keeps chunks with the bytes of the host codec: words of all widths, alone and chained",
                   "[cuda][szp][kept]", float, double)
{
    constexpr unsigned bits = sizeof(TestType) == 4 ? 23 : 52;
    std::uint64_t seed = 1;
    unsigned alone = 0, chained = 0, shifted = 0;
    for (unsigned places = 1; places < bits - 1; places += sizeof(TestType) == 4 ? 1 : 3)
        for (const bool chain : {false, true})
            for (const unsigned lowest : {0u, 5u}) {
                if (places + lowest >= bits) continue;
                INFO("places " << places << ", chained " << chain << ", lowest " << lowest << ", seed " << seed);
                const auto x = alike<TestType>(8192 + 300, chain, places, lowest, places);
                for (const unsigned head : kept_heads(compare_with_host<SZp, TestType>(x, 1e-3, {seed++}))) {
                    ++((head & 128) != 0 ? alone : chained);
                    shifted += (head & 127) > 0;
                }
            }
    CHECK(alone > 20);
    CHECK(chained > 20);
    CHECK(shifted > 20);
}

TEMPLATE_TEST_CASE("Emulated SZp keeps chunks of every length around blocks, from any address", "[cuda][szp][kept]", float, double)
{
    std::uint64_t seed = 1;
    unsigned heads = 0;
    for (const std::size_t n :
         std::initializer_list<std::size_t>{1, 2, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 8160, 8191, 8192, 8257})
        for (const bool chain : {false, true})
            for (const std::size_t from : std::initializer_list<std::size_t>{0, 1}) {
                INFO("n " << n << ", chained " << chain << ", from " << from);
                const auto x = alike<TestType>(n + 1, chain, 9, 2, 7);
                heads += static_cast<unsigned>(
                    kept_heads(compare_with_host<SZp, TestType>(std::span(x).subspan(from, n), 1e-3, {seed++})).size());
            }
    CHECK(heads > 30);
}

TEMPLATE_TEST_CASE("Emulated SZp chooses between a grid, keeping and raw as the host does, near the ulp and beside special values",
                   "[cuda][szp][kept]", float, double)
{
    std::uint64_t seed = 1;
    std::set<std::string> met;
    const auto ulp = static_cast<double>(std::numeric_limits<TestType>::epsilon());
    const std::size_t n = 8192 + 64;
    std::vector<fields::named<TestType>> list = fields::all<TestType>(n);
    std::vector<TestType> steps(n), patches = fields::smooth<TestType>(n), equal(n, TestType(3e33)), far = fields::random<TestType>(n);
    fields::generator random(4);
    for (std::size_t i = 0; i < n; ++i) {
        steps[i] = std::ldexp(TestType(1) + static_cast<TestType>(i % 7) / 8, 40 + static_cast<int>(i % 5) * 9);
        far[i] = std::ldexp(std::copysign(std::sqrt(std::fabs(far[i])), far[i]), 100 + static_cast<int>(random.below(27)));
        if (i % 100 < 20) patches[i] = static_cast<TestType>(1e20 * (1 + static_cast<double>(i % 13)));
    }
    equal[n - 1] = TestType(2);
    list.push_back({"few digits, far apart", steps});
    list.push_back({"many special values", patches});
    list.push_back({"equal", equal});
    list.push_back({"far from each other and from 0", far});
    for (const auto& [name, values] : list)
        for (const double eb : {ulp * 40, ulp, ulp * 0.3, ulp * 0.01, ulp * 1e-5}) {
            INFO(name << ", bound " << eb << ", seed " << seed);
            const auto frame = compare_with_host<SZp, TestType>(values, eb, {seed++});
            ccoll::frame_view view;
            REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
            const std::size_t kept = kept_heads(frame).size();
            if (kept > 0) met.insert("kept");
            if (kept < view.header.chunks) met.insert(view.chunk(0).raw ? "raw" : "grid");
        }
    CHECK(met == std::set<std::string>{"grid", "kept", "raw"});
}

TEMPLATE_TEST_CASE("Emulated SZp reads damaged kept chunks as the host does", "[cuda][szp][kept][hostile]", float, double)
{
    fields::generator random(5);
    damaged_frames all;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const std::size_t n = seed % 3 == 0 ? 8192 : 700 + seed;
        const auto x = alike<TestType>(n, seed % 2 == 0, 1 + static_cast<unsigned>(seed % 17), static_cast<unsigned>(seed % 4), 3);
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<SZp, TestType>(n));
        frame.resize(ccoll::encode<SZp>(x, frame, 1e-3).bytes);
        if (kept_heads(frame).empty()) continue;
        read_damaged<SZp, TestType>(std::move(frame), n, random, seed, all);
    }
    CHECK(all.accepted > 20);
    CHECK(all.refused > 20);
    CHECK(all.apart == 0);
}

}  // namespace szp_kept_cases
