// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of SZp on a device share: comparisons, damage.
#pragma once

#include "szp_calls.hpp"

namespace szp_cases {

using namespace szp_calls;
using namespace szp_fields;

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
    std::vector<T> aligned(x.size() - from, T(-77));
    CHECK(decode(r.frame, aligned, missing).told.code == 0);
    check_same(aligned, moved);
}

inline void check_terms(const std::vector<reference::term>& found,
                        const std::vector<reference::term>& expected)
{
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] == expected[i]) continue;
        INFO("place " << i << ": " << found[i].has_q << " " << found[i].q << ", " << found[i].has_w
                      << " instead of " << expected[i].has_q << " " << expected[i].q << ", "
                      << expected[i].has_w);
        CHECK(found[i] == expected[i]);
        return;
    }
}
template <class T>
void check_decoded(const bytes& frame, const std::vector<reference::term>& terms, const reference::law<T>& z)
{
    std::vector<T> out(terms.size(), T(-77)), expected;
    for (const auto& t : terms) expected.push_back(reference::value_of(z, t));
    CHECK(decode(frame, out, z.missing()).told.code == 0);
    check_same(out, expected, true);
}

/// Each byte of the index and of a chunk's head in three ways. Of the front of the chunk and of its last
/// bytes, where exceptions stand, those at even places with f32, and at odd places with f64, in one way,
/// because kernels read both alike. Of the planes between them a quarter as many, because any bytes are right
/// there. Either both sides say that it is no frame, or both read the same.
/// @param theirs  (frame) throws, or reads
/// @param ours  (frame, what they have read, is it to be compared) -> status
/// @param step  5: only every fifth byte, for a second caller of the same reader
template <class T, class Theirs, class Ours>
void damage_each_byte(const bytes& frame, bool addend, Theirs theirs, Ours ours, std::size_t step = 1)
{
    constexpr std::uint8_t ways[] = {0xff, 0x80, 0x01};
    unsigned accepted = 0, refused = 0;
    const auto check = [&](std::size_t i, std::uint8_t way) {
        bytes damaged = frame;
        damaged[i] ^= way;
        INFO("byte " << i << ", changed by " << int{way});
        std::optional<decltype(theirs(damaged))> expected;
        bool compare = false;
        try {
            expected = theirs(damaged);
            compare = bounds_are_true<T>(damaged, addend);
        } catch (const std::runtime_error&) {}
        expected ? ++accepted : ++refused;
        const unsigned code = ours(damaged, compare ? &*expected : nullptr);
        // A sum of what is there now.
        const bool too_large = code == static_cast<unsigned>(ccoll::status::too_large);
        CHECK((too_large || (code == 0) == expected.has_value()));
    };
    for (std::size_t i = 0; i < frame.size(); i += step) {
        if (i >= 48 && i < 80)
            for (const std::uint8_t way : ways) check(i, way);
        else if (i % (i < 192 || frame.size() - i < 320 ? 2 : 8) == sizeof(T) / 8) check(i, ways[i % 3]);
    }
    CHECK(accepted > 0);
    CHECK(refused > 0);
}

}  // namespace szp_cases
