// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/steps.hpp: steps of several planes read what decode_planes reads plane by plane, and steps_for() of them are enough.
#include "catch.hpp"

#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include <ccoll/codec/zfp/steps.hpp>

namespace zfp_steps_cases {

namespace zfp = ccoll::detail::zfp;

namespace {

constexpr unsigned half_row = zfp::step_row / 2;

unsigned used(unsigned at) { return zfp::all_steps.steps[at] & 255; }
unsigned planes(unsigned at) { return zfp::all_steps.steps[at] >> 8 & 255; }
unsigned next_row(unsigned at) { return zfp::all_steps.steps[at] >> 16; }

/// Planes of a block with so many bits, behind one plane that makes some coefficients known. Highest plane first.
std::array<unsigned, 16> read_plane_by_plane(unsigned known, std::uint64_t bits, unsigned count)
{
    const zfp::plane_code first = zfp::code_of_plane(known == 0 ? 0 : 1u << (known - 1), 0);
    std::array<std::byte, 16> stream{};
    const std::uint64_t all = bits << first.length | first.bits;
    std::memcpy(stream.data(), &all, sizeof all);
    std::size_t bit = 0;
    std::uint32_t c[4];
    zfp::decode_planes(zfp::bit_source(stream), bit, 0, first.length + count, c);
    std::array<unsigned, 16> result{};
    for (unsigned p = 0; p < result.size(); ++p)
        for (unsigned i = 0; i < 4; ++i) result[p] |= (c[i] >> (30 - p) & 1) << i;
    return result;
}

/// The largest number of steps that any bits of a block take, if the next ones are `some` of the next step.
unsigned most_steps(unsigned row, unsigned left, unsigned some, unsigned bits,
                    std::map<std::tuple<unsigned, unsigned, unsigned, unsigned>, unsigned>& seen)
{
    if (left < zfp::step_bits) return 1;
    const auto [found, fresh] = seen.try_emplace({row, left, some, bits}, 0);
    if (!fresh) return found->second;
    unsigned most = 0;
    for (unsigned others = 0; others < half_row >> some; ++others) {
        const unsigned next = bits | others << some, at = row + half_row + next;
        most = std::max(most, 1 + most_steps(next_row(at), left - used(at), zfp::step_bits - used(at), next >> used(at), seen));
    }
    return seen[{row, left, some, bits}] = most;
}

}  // namespace

TEST_CASE("A step of ZFP takes whole codes, and the last step of a block a cut one, too", "[codec][zfp]")
{
    for (unsigned known = 0; known < 4; ++known)
        for (unsigned index = 0; index < zfp::step_row; ++index) {
            const bool last = index < half_row;
            const auto left = last ? static_cast<unsigned>(std::bit_width(index | 1u)) - 1 : zfp::step_bits;
            const unsigned at = known * zfp::step_row + index, bits = index & ((1u << left) - 1);
            INFO(known << " known, " << left << " bits " << bits << (last ? ", the last ones" : ""));
            const unsigned taken = last ? left : used(at);
            REQUIRE((last ? used(at) > left : used(at) > 0 && used(at) <= left));
            REQUIRE(planes(at) <= 8);
            const auto expected = read_plane_by_plane(known, bits, taken);
            for (unsigned p = 0; p < 16; ++p) CHECK((p < 8 ? zfp::all_steps.planes[at] >> 8 * p & 255 : 0) == expected[p]);
            if (last) continue;
            unsigned code_bits = 0, now = known;
            for (unsigned p = 0; p < planes(at); ++p) {
                const zfp::plane_code code = zfp::code_of_plane(expected[p], now);
                code_bits += code.length, now = code.known;
                CHECK((zfp::all_steps.ends[at] >> 4 * p & 15) == code_bits);
            }
            CHECK(code_bits == used(at));
            // What follows is read as if the planes had been read one by one.
            for (unsigned more = 0; more < 128; more += 5) {
                const auto both = read_plane_by_plane(known, (bits & ((1u << taken) - 1)) | more << taken, taken + 7);
                const auto row = zfp::all_steps.planes[next_row(at) + (128 | more)];
                for (unsigned p = planes(at); p < 16; ++p) CHECK((p - planes(at) < 8 ? row >> 8 * (p - planes(at)) & 255 : 0) == both[p]);
            }
        }
}

TEST_CASE("No block of ZFP needs more steps than steps_for() says", "[codec][zfp]")
{
    std::map<std::tuple<unsigned, unsigned, unsigned, unsigned>, unsigned> seen;
    for (unsigned bits = 0; bits <= zfp::window_bits; ++bits) {
        INFO(bits << " bits");
        const unsigned most = most_steps(0, bits, 0, 0, seen);
        CHECK(most <= zfp::steps_for(bits));
        CHECK(most + 1 >= zfp::steps_for(bits));
    }
}

}  // namespace zfp_steps_cases
