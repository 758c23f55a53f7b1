// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lines/{avx2,avx512}.hpp, codec/placed.hpp, and the decoders that use it: what is written past the
// caches is what is written through them, wherever the destination begins, and nothing beside it.
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
using every_combination =
    std::tuple<of<Codec::SZp, float>, of<Codec::SZp, double>, of<Codec::SZx, float>, of<Codec::SZx, double>,
               of<Codec::PipeSZx, float>, of<Codec::Lossless, float>>;

/// The bits that `frame` decodes to, written `shift` words behind a line's begin; nothing if anything beside
/// them has changed.
template <class C, class T>
bytes decoded(const bytes& frame, std::size_t n, stores how, std::size_t shift)
{
    constexpr std::size_t line = 64;
    bytes room(n * sizeof(T) + 4 * line, round_trip::guard);
    const std::size_t past = reinterpret_cast<std::uintptr_t>(room.data()) % line,
                      begin = (line - past) % line + line + 4 * shift;
    T* const to = reinterpret_cast<T*>(room.data() + begin);
    if (opened::frames<C, T>().decode(frame, std::span<T>(to, n), how, {}) != status::ok) return {};
    for (std::size_t i = 0; i < room.size(); ++i)
        if ((i < begin || i >= begin + n * sizeof(T)) && room[i] != round_trip::guard) return {};
    return {room.begin() + static_cast<std::ptrdiff_t>(begin),
            room.begin() + static_cast<std::ptrdiff_t>(begin + n * sizeof(T))};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE(
    "results past the caches are the same, wherever they begin and end, with every instruction set",
    "[codec][streamed]", every_combination)
{
    using C = typename TestType::codec;
    using T = typename TestType::element;
    const ccoll::isa before = ccoll::isa_in_use();
    for (const std::size_t n :
         {1u, 31u, 32u, 33u, 64u, 65u, 96u, 127u, 128u, 129u, 256u, 300u, 1000u, 5120u, 8192u, 9001u, 16384u})
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
                            FAIL_CHECK(ccoll::name_of(i) << ", " << field.name << ", n = " << n << ", "
                                                         << shift << " words behind a line");
                }
            }
        }
    ccoll::use_isa(before);
}

TEMPLATE_TEST_CASE("several threads write past the caches, and what they wrote is there", "[codec][streamed]",
                   Codec::SZp, Codec::SZx)
{
    const std::size_t n = 1000003;
    const bytes frame = round_trip::frame_of<TestType>(fields::smooth<float>(n), 1e-3);
    std::vector<float> expected(n), found(n);
    REQUIRE(opened::frames<TestType, float>().decode(frame, expected, stores::cached, {}) == status::ok);
    ccoll::frame_view view;
    REQUIRE(ccoll::frame_codec_of<TestType, float>.open(frame, n, view) == status::ok);
    REQUIRE(ccoll::detail::chunked<TestType, float>::decode(view, std::span(found), {stores::streamed},
                                                            Exec::Threads<3>{}) == status::ok);
    CHECK(std::memcmp(found.data(), expected.data(), n * sizeof(float)) == 0);
}

TEST_CASE("what one thread has ready for its place is put there past the caches, and nothing beside it",
          "[codec][streamed]")
{
    bytes from(300), expected(600, round_trip::guard);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 251 + 1);
    for (const stores how : {stores::cached, stores::streamed})
        for (std::size_t at = 0; at < 130; ++at)
            for (std::size_t n = 0; n <= from.size(); ++n) {
                bytes to(expected.size(), round_trip::guard);
                ccoll::detail::put_in_place(ccoll::byte_span(to).subspan(at),
                                            ccoll::const_byte_span(from).first(n), how);
                bool good = std::equal(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n),
                                       to.begin() + static_cast<std::ptrdiff_t>(at));
                for (std::size_t i = 0; i < to.size(); ++i)
                    good = good && ((i >= at && i < at + n) || to[i] == round_trip::guard);
                if (!good) FAIL("at " << at << ", " << n << " bytes");
            }
    ccoll::detail::put_in_place({}, {}, stores::streamed);
}

TEST_CASE(
    "several threads put chunks in places of their own, past the caches as well, and the index says where",
    "[codec][streamed]")
{
    constexpr std::size_t parts = 3000, longest = 704, start = ccoll::payload_offset(parts);
    const auto length = [](std::size_t i) { return i * 7919 % 700; };
    struct part {
        ccoll::encode_result result;
        std::size_t bytes;
        bool raw;
    };
    const auto write = [&](std::size_t i, ccoll::byte_span to) -> part {
        if (to.size() < longest) return {{0, status::out_of_space}, 0, false};
        const std::size_t all = ccoll::padded_to_unit(length(i));
        std::fill_n(to.begin(), length(i), static_cast<std::byte>(i + 1));
        std::fill_n(to.begin() + static_cast<std::ptrdiff_t>(length(i)), all - length(i), std::byte{0});
        return {{all, status::ok, i % 3, i % 2}, length(i), i % 5 == 0};
    };
    for (const stores how : {stores::cached, stores::streamed})
        for (int again = 0; again < 5; ++again) {
            bytes found(start + parts * longest, round_trip::guard);
            const ccoll::encode_result r =
                ccoll::detail::placed<longest>(Exec::Threads<3>{}, parts, found, start, how, write);
            REQUIRE(r.code == status::ok);
            CHECK(r.raw_blocks == parts);
            CHECK(r.special_values == parts / 2);
            ccoll::frame_view view;
            view.index = ccoll::const_byte_span(found).subspan(48, 8 * parts);
            view.payload = ccoll::const_byte_span(found).subspan(start, r.bytes - start);
            std::size_t wrong = 0, all = start;
            for (std::size_t i = 0; i < parts; ++i) {
                const auto chunk = view.chunk(i);
                all += ccoll::padded_to_unit(length(i));
                wrong += chunk.data.size() != length(i) || chunk.raw != (i % 5 == 0) ||
                         !ccoll::is_filled_with_zeros(chunk);
                wrong += !std::all_of(chunk.data.begin(), chunk.data.end(),
                                      [&](std::byte b) { return b == static_cast<std::byte>(i + 1); });
            }
            CHECK(wrong == 0);
            CHECK(r.bytes == all);  // so no two have a place in common
            CHECK(ccoll::load<std::uint32_t>(found, 36) == (all - start) / 16);
            CHECK(std::all_of(found.begin() + static_cast<std::ptrdiff_t>(all), found.end(),
                              [](std::byte b) { return b == round_trip::guard; }));
        }
}

TEST_CASE("a chunk that cannot be written stops all threads, and its status is that of the frame",
          "[codec][streamed]")
{
    constexpr std::size_t parts = 1000;
    struct part {
        ccoll::encode_result result;
        std::size_t bytes;
        bool raw;
    };
    for (const std::size_t bad : {0u, 1u, 500u, 999u}) {
        bytes room(ccoll::payload_offset(parts) + parts * 64);
        const auto write = [&](std::size_t i, ccoll::byte_span) -> part {
            return {{32, i == bad ? status::too_large : status::ok}, 32, false};
        };
        const auto r = ccoll::detail::placed<64>(Exec::Threads<3>{}, parts, room,
                                                 ccoll::payload_offset(parts), stores::cached, write);
        CHECK(r.code == status::too_large);
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
