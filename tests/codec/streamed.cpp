// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lines/{avx2,avx512}.hpp, and the decoders that use it: what is written past the caches is what is written through them, wherever
// the destination begins, and nothing beside it.
#include "support/catch.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/exec.hpp>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"
#include "support/opened.hpp"

namespace streamed_cases {

using namespace ccoll::policies;
using ccoll::status;
using ccoll::stores;

namespace {

using bytes = std::vector<std::byte>;

template <class C, class T>
using of = round_trip::combination<C, T>;
using every_combination = std::tuple<of<Codec::SZp, float>, of<Codec::SZp, double>, of<Codec::SZx, float>, of<Codec::SZx, double>,
                                     of<Codec::PipeSZx, float>, of<Codec::Lossless, float>>;

/// The bits that `frame` decodes to, written `shift` words behind a line's begin; nothing if anything beside them has changed.
template <class C, class T>
bytes decoded(const bytes& frame, std::size_t n, stores how, std::size_t shift)
{
    constexpr std::size_t line = 64;
    bytes room(n * sizeof(T) + 4 * line, round_trip::guard);
    const std::size_t past = reinterpret_cast<std::uintptr_t>(room.data()) % line, begin = (line - past) % line + line + 4 * shift;
    T* const to = reinterpret_cast<T*>(room.data() + begin);
    if (opened::frames<C, T>().decode(frame, std::span<T>(to, n), how, {}) != status::ok) return {};
    for (std::size_t i = 0; i < room.size(); ++i)
        if ((i < begin || i >= begin + n * sizeof(T)) && room[i] != round_trip::guard) return {};
    return {room.begin() + static_cast<std::ptrdiff_t>(begin), room.begin() + static_cast<std::ptrdiff_t>(begin + n * sizeof(T))};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("results past the caches are the same, wherever they begin and end, with every instruction set",
                        "[codec][streamed]", every_combination)
{
    using C = typename TestType::codec;
    using T = typename TestType::element;
    const ccoll::isa before = ccoll::isa_in_use();
    for (const std::size_t n : {1u, 31u, 32u, 33u, 64u, 65u, 96u, 127u, 128u, 129u, 256u, 300u, 1000u, 5120u, 8192u, 9001u, 16384u})
        for (const auto& field : fields::all<T>(n)) {
            std::vector<bytes> frames{round_trip::frame_of<C>(field.values, 1e-3)};
            if constexpr (ccoll::has_homomorphic_codec<C, T>) {
                bytes frame(ccoll::max_addend_bytes<C, T>(n));
                const ccoll::encode_result r = ccoll::encode_addend<C>(field.values, frame, 1e-3);
                frame.resize(r.bytes);
                if (r.code == status::ok) frames.push_back(frame);
            }
            for (const bytes& frame : frames) {
                ccoll::use_isa(ccoll::isa::portable);
                const bytes expected = decoded<C, T>(frame, n, stores::cached, 0);
                REQUIRE(expected.size() == n * sizeof(T));
                for (const ccoll::isa i : ccoll::every_isa) {
                    if (!ccoll::machine_has(i)) continue;
                    ccoll::use_isa(i);
                    for (std::size_t shift = 0; shift < 16; shift += sizeof(T) / 4)
                        if (decoded<C, T>(frame, n, stores::streamed, shift) != expected)
                            FAIL_CHECK(ccoll::name_of(i) << ", " << field.name << ", n = " << n << ", " << shift << " words behind a line");
                }
            }
        }
    ccoll::use_isa(before);
}

TEMPLATE_TEST_CASE("several threads write past the caches, and what they wrote is there", "[codec][streamed]", Codec::SZp, Codec::SZx)
{
    const std::size_t n = 1000003;
    const bytes frame = round_trip::frame_of<TestType>(fields::smooth<float>(n), 1e-3);
    std::vector<float> expected(n), found(n);
    REQUIRE(opened::frames<TestType, float>().decode(frame, expected, stores::cached, {}) == status::ok);
    ccoll::frame_view view;
    REQUIRE(ccoll::frame_codec_of<TestType, float>.open(frame, n, view) == status::ok);
    REQUIRE(ccoll::detail::chunked<TestType, float>::decode(view, std::span(found), stores::streamed, Exec::Threads<3>{}) == status::ok);
    CHECK(std::memcmp(found.data(), expected.data(), n * sizeof(float)) == 0);
}

TEST_CASE("what one thread has ready for its place is put there past the caches, and nothing beside it", "[codec][streamed]")
{
    bytes from(300), expected(600, round_trip::guard);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 251 + 1);
    for (const stores how : {stores::cached, stores::streamed})
        for (std::size_t at = 0; at < 130; ++at)
            for (std::size_t n = 0; n <= from.size(); ++n) {
                bytes to(expected.size(), round_trip::guard);
                ccoll::detail::put_in_place(ccoll::byte_span(to).subspan(at), ccoll::const_byte_span(from).first(n), how);
                bool good =
                    std::equal(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n), to.begin() + static_cast<std::ptrdiff_t>(at));
                for (std::size_t i = 0; i < to.size(); ++i) good = good && ((i >= at && i < at + n) || to[i] == round_trip::guard);
                if (!good) FAIL("at " << at << ", " << n << " bytes");
            }
    ccoll::detail::put_in_place({}, {}, stores::streamed);
}

TEST_CASE("several threads put parts behind one another past the caches", "[codec][streamed]")
{
    constexpr std::size_t parts = 3000, longest = 700;
    const auto length = [](std::size_t i) { return i * 7919 % longest; };
    bytes expected(5), found(5 + parts * longest);
    for (std::size_t i = 0; i < parts; ++i) expected.insert(expected.end(), length(i), static_cast<std::byte>(i));
    for (int again = 0; again < 5; ++again) {
        std::vector<std::size_t> ends(parts);  // each written by one thread, and moved by the same one
        const auto make_writer = [&] {
            return [&](std::size_t i, ccoll::byte_span to, std::size_t begin, std::size_t at) {
                std::fill_n(to.begin() + static_cast<std::ptrdiff_t>(at), length(i), static_cast<std::byte>(i));
                ends[i] = at + length(i) - begin;
                return ccoll::encode_result{at + length(i)};
            };
        };
        const auto placed = [&](std::size_t first, std::size_t last, std::size_t distance) {
            for (; first < last; ++first) ends[first] += distance;
        };
        const ccoll::encode_result r =
            ccoll::detail::in_order<longest>(Exec::Threads<3>{}, parts, found, 5, stores::streamed, make_writer, placed);
        REQUIRE(r.code == status::ok);
        std::size_t wrong = 0, end = 0;
        for (std::size_t i = 0; i < parts; ++i) wrong += ends[i] != (end += length(i));
        CHECK(wrong == 0);
        REQUIRE(r.bytes == expected.size());
        CHECK(std::equal(expected.begin() + 5, expected.end(), found.begin() + 5));
        std::fill(found.begin(), found.end(), std::byte{0});
    }
}

TEST_CASE("what is longer than the last cache goes past it, and nothing shorter", "[codec][streamed]")
{
    const std::size_t cache = ccoll::detail::last_cache();
    INFO("last cache: " << cache << " bytes");
    CHECK(cache % 1024 == 0);
    CHECK(ccoll::stores_for(0) == stores::cached);
    alignas(8) const char memory[8] = {};
    CHECK(ccoll::stores_at(memory + 4, stores::streamed) == stores::streamed);
    CHECK(ccoll::stores_at(memory + 2, stores::streamed) == stores::cached);
    CHECK(ccoll::stores_at(memory, stores::cached) == stores::cached);
    CHECK(ccoll::stores_for(std::min<std::size_t>(cache, std::size_t{4} << 20)) == stores::cached);
    CHECK(ccoll::stores_for(cache) == stores::cached);
    const std::size_t longer = std::max(cache, std::size_t{4} << 20) + 1;
    CHECK(ccoll::stores_for(longer) == (cache > 0 ? stores::streamed : stores::cached));
}

}  // namespace streamed_cases
