// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/wire_format.md: the frames that it shows byte by byte, and the offsets in its tables.
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ccoll/codec.hpp>
#include <ccoll/p2p/p2p.hpp>
#include <ccoll/wire/message.hpp>

namespace wire_format_cases {

using namespace ccoll::policies;

namespace {

using dump = std::vector<std::uint8_t>;

template <class Codec, class T>
dump frame_of(const std::vector<T>& values, double eb)
{
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, T>(values.size()));
    frame.resize(ccoll::encode<Codec>(values, frame, eb).bytes);
    dump bytes;
    for (const std::byte b : frame) bytes.push_back(static_cast<std::uint8_t>(b));
    return bytes;
}

}  // namespace

TEST_CASE("the encoded frame in docs/wire_format.md is what the library writes", "[docs][wire]")
{
    // [doc:frame]
    const std::vector<float> values{0, 0.25f, 0.5f, 0.75f, 1, 1.25f, 1.5f, 1.75f};
    const dump expected{
        0x43, 0x43, 0x4F, 0x4C,  //  0  magic "CCOL"
        0x09, 0x02, 0x00, 0x00,  //  4  version 9, codec 2 (PipeSZx), dtype 0 (f32), flags 0
        0x08, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00,  //  8  8 elements
        0x7B, 0x14, 0xAE, 0x47, 0xE1,
        0x7A, 0x84, 0x3F,  // 16  bound 0.01
        0x00, 0x14, 0x00, 0x00, 0x01,
        0x00, 0x00, 0x00,  // 24  5120 elements per chunk, 1 chunk
        0x01, 0x00, 0x00, 0x00, 0x01,
        0x00, 0x00, 0x00,  // 32  quality 1 (an absolute bound), no inner codec, a payload of 16 bytes
        0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00,  // 40  no trailer
        0x00, 0x00, 0x00, 0x00, 0x0D,
        0x00, 0x00, 0x00,  // 48  index: chunk 0 is encoded, begins at 0 of the payload, and has 13 bytes
        0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00,        // 56  zeros up to a multiple of 16
        0x01,                    // 64  chunk 0: one block, code 1
        0x00, 0x00, 0x60, 0x3F,  // 65  its middle, 0.875
        0x53, 0x60, 0x6D, 0x7A, 0x86,
        0x93, 0xA0, 0xAD,  // 69  128 and steps of 0.019375: -45 -32 -19 -6 6 19 32 45
        0x00, 0x00, 0x00,  // 77  zeros up to a multiple of 16
    };
    CHECK(frame_of<Codec::PipeSZx>(values, 0.01) == expected);
    // [/doc:frame]
}

TEST_CASE("the raw frame in docs/wire_format.md is what the library writes", "[docs][wire]")
{
    // [doc:raw_frame]
    const std::vector<double> values{1, -2};
    const dump expected{
        0x43, 0x43, 0x4F, 0x4C,  //  0  magic "CCOL"
        0x09, 0x00, 0x01, 0x00,  //  4  version 9, codec 0 (None), dtype 1 (f64), flags 0
        0x02, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00,  //  8  2 elements
        0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00,  // 16  no bound
        0x00, 0x20, 0x00, 0x00,
        0x01, 0x00, 0x00, 0x00,  // 24  8192 elements per chunk, 1 chunk
        0x00, 0x00, 0x00, 0x00,
        0x01, 0x00, 0x00, 0x00,  // 32  quality 0 (exact), no inner codec, a payload of 16 bytes
        0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00,  // 40  no trailer
        0x00, 0x00, 0x00, 0x80,
        0x10, 0x00, 0x00, 0x00,  // 48  index: chunk 0 begins at 0, is raw (top bit), and has 16 bytes
        0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00,  // 56  zeros up to a multiple of 16
        0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0xF0, 0x3F,  // 64  1.0
        0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0xC0,  // 72  -2.0
    };
    CHECK(frame_of<Codec::None>(values, 0) == expected);
    // [/doc:raw_frame]
}

TEST_CASE("offsets and sizes in docs/wire_format.md are those of the structures", "[docs][wire]")
{
    using ccoll::frame_header, ccoll::call_arguments, ccoll::call_stamp, ccoll::pair_stamp,
        ccoll::shared_facts, ccoll::figures, ccoll::verdict, ccoll::control_message;
    CHECK(offsetof(frame_header, version) == 4);
    CHECK(offsetof(frame_header, codec) == 5);
    CHECK(offsetof(frame_header, dtype) == 6);
    CHECK(offsetof(frame_header, flags) == 7);
    CHECK(offsetof(frame_header, elements) == 8);
    CHECK(offsetof(frame_header, bound) == 16);
    CHECK(offsetof(frame_header, chunk_elements) == 24);
    CHECK(offsetof(frame_header, chunks) == 28);
    CHECK(offsetof(frame_header, kind) == 32);
    CHECK(offsetof(frame_header, inner_codec) == 33);
    CHECK(offsetof(frame_header, reserved) == 34);
    CHECK(offsetof(frame_header, payload) == 36);
    CHECK(offsetof(frame_header, trailer) == 40);
    CHECK(offsetof(frame_header, reserved_too) == 44);
    CHECK(sizeof(frame_header) == 48);
    for (const std::size_t chunks : {0u, 1u, 3u, 4u, 100u})
        CHECK(ccoll::payload_offset(chunks) == (48 + 8 * chunks + 15) / 16 * 16);

    CHECK(offsetof(call_arguments, count) == 0);
    CHECK(offsetof(call_arguments, bound) == 8);
    CHECK(offsetof(call_arguments, path) == 16);
    CHECK(offsetof(call_arguments, plan) == 20);
    CHECK(offsetof(call_arguments, root) == 24);
    CHECK(offsetof(call_arguments, rank) == 28);
    CHECK(sizeof(call_arguments) == 32);

    CHECK(offsetof(call_stamp, magic) == 0);
    CHECK(offsetof(call_stamp, version) == 4);
    CHECK(offsetof(call_stamp, kind) == 5);
    CHECK(offsetof(call_stamp, trailer_bytes) == 6);
    CHECK(offsetof(call_stamp, call) == 8);
    CHECK(offsetof(call_stamp, reserved) == 12);
    CHECK(offsetof(call_stamp, arguments) == 16);
    CHECK(sizeof(call_stamp) == 48);
    const std::uint32_t magic = call_stamp{}.magic;
    CHECK(std::memcmp(&magic, "CCMS", 4) == 0);

    CHECK(offsetof(pair_stamp, version) == 4);
    CHECK(offsetof(pair_stamp, kind) == 5);
    CHECK(offsetof(pair_stamp, trailer_bytes) == 6);
    CHECK(offsetof(pair_stamp, number) == 8);
    CHECK(offsetof(pair_stamp, total) == 12);
    CHECK(offsetof(pair_stamp, count) == 16);
    CHECK(offsetof(pair_stamp, bound) == 24);
    CHECK(offsetof(pair_stamp, plan) == 32);
    CHECK(offsetof(pair_stamp, check) == 36);
    CHECK(offsetof(pair_stamp, reserved) == 40);
    const std::uint32_t pair_magic = pair_stamp{}.magic;
    CHECK(std::memcmp(&pair_magic, "CCPP", 4) == 0);

    CHECK(offsetof(verdict, code) == 0);
    CHECK(offsetof(verdict, rank) == 4);
    CHECK(offsetof(verdict, peer) == 8);
    CHECK(offsetof(verdict, step) == 12);
    CHECK(offsetof(verdict, expected) == 16);
    CHECK(offsetof(verdict, found) == 24);
    CHECK(sizeof(verdict) == 32);

    CHECK(offsetof(control_message, stamp) == 0);
    CHECK(offsetof(control_message, trouble) == 48);
    CHECK(offsetof(control_message, facts) == 80);
    CHECK(offsetof(shared_facts, lowest) == 0);
    CHECK(offsetof(shared_facts, highest) == 8);
    CHECK(offsetof(shared_facts, largest) == 16);
    CHECK(offsetof(shared_facts, longest_part) == 24);
    CHECK(offsetof(shared_facts, not_held) == 32);
    CHECK(offsetof(shared_facts, measured) == 40);
    CHECK(offsetof(figures, seconds) == 0);
    CHECK(offsetof(figures, bits) == 4);
    CHECK(offsetof(figures, encode_s) == 8);
    CHECK(offsetof(figures, decode_s) == 12);
    CHECK(offsetof(control_message, least) == 136);
    CHECK(offsetof(control_message, most) == 168);
    CHECK(offsetof(control_message, round) == 200);
    CHECK(offsetof(control_message, closing) == 204);
    CHECK(sizeof(control_message) == 208);

    CHECK(ccoll::wire_version == 9);
    CHECK(static_cast<int>(ccoll::message_kind::data) == 1);
    CHECK(static_cast<int>(ccoll::message_kind::poison) == 2);
    CHECK(static_cast<int>(ccoll::message_kind::opinion) == 3);
    CHECK(static_cast<int>(ccoll::message_kind::give_up) == 4);
    CHECK(static_cast<int>(ccoll::message_kind::question) == 5);
    CHECK(static_cast<int>(ccoll::last_status) == 35);
    CHECK(ccoll::detail::call_tags::per_call == 6);
    CHECK(ccoll::detail::call_tags::period == 1791);
    CHECK(ccoll::detail::call_tags(1792).lane(1) == 7);
    CHECK(ccoll::detail::call_numbers::most_prepared == 186);
    CHECK(ccoll::detail::call_numbers::of_start(5, 7) == 2147483648u + 2976 * 3 + 16 * 5 + 8);
    CHECK(ccoll::detail::call_tags(ccoll::detail::call_numbers::of_start(5, 7)).control() ==
          6 * (1791 + 16 * 5 + 8) + 5);
    CHECK(ccoll::detail::first_p2p_tag == 28672);
}

}  // namespace wire_format_cases
