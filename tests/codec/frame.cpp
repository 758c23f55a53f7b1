// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: sanitized
// codec.hpp, codec/chunked.hpp, codec/none.hpp, wire/frame.hpp: what all codecs share.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <tuple>

#include "support/acme_fixed16.hpp"
#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"
#include "support/opened.hpp"

namespace frame_cases {

using namespace ccoll::policies;
using ccoll::status;

namespace {

using bytes = std::vector<std::byte>;

using round_trip::combination;

using every_combination = std::tuple<combination<Codec::None, float>, combination<Codec::None, double>,
                                     combination<Codec::SZx, float>, combination<Codec::SZx, double>,
                                     combination<Codec::PipeSZx, float>, combination<Codec::PipeSZx, double>,
                                     combination<Codec::SZp, float>, combination<Codec::SZp, double>,
                                     combination<acme::Fixed16, float>, combination<acme::Fixed16, double>>;

/// Smooth, with one NaN: encoded and raw blocks, or chunks, in one frame.
template <class T>
std::vector<T> mixed(std::size_t n)
{
    std::vector<T> x = fields::smooth<T>(n);
    if (n > 0) x[n - 1] = std::numeric_limits<T>::quiet_NaN();
    return x;
}

template <class Value>
bytes with(bytes frame, std::size_t at, Value value)
{
    ccoll::store(frame, at, value);
    return frame;
}

template <class C, class T>
status decode_to(std::size_t n, const bytes& frame)
{
    std::vector<T> y(n);
    return ccoll::decode<C>(frame, y);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE(
    "a frame never needs more than raw size, 48 bytes, 8 per chunk and what fills up to 16, and may need all "
    "of it",
    "[codec][frame]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    constexpr std::size_t chunk = ccoll::codec_impl<C, T, ccoll::host_space>::chunk_elements;
    static_assert(ccoll::max_encoded_bytes<C, T>(0) == 48);
    static_assert(ccoll::max_encoded_bytes<C, T>(chunk + 1) ==
                  64 + frame_edit::padded(chunk * sizeof(T)) + frame_edit::padded(sizeof(T)));
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, chunk - 1, chunk, chunk + 1, 3 * chunk + 17}) {
        INFO("n = " << n);
        // NaN that have nothing in common but that, so that no codec shortens them. SZp does, but not any
        // bits.
        std::vector<T> strange(n);
        fields::generator random(11);
        for (std::size_t i = 0; i < n; ++i) {
            const auto any = static_cast<fields::word<T>>(random.bits()),
                       payload = any >> (sizeof(T) == 4 ? 10 : 13);
            const auto sign = static_cast<fields::word<T>>(i % 2) << (8 * sizeof(T) - 1);
            fields::set_bits(strange[i], std::bit_cast<fields::word<T>>(std::numeric_limits<T>::quiet_NaN()) |
                                             payload | sign);
            if (std::is_same_v<C, Codec::SZp>) fields::set_bits(strange[i], any);
        }
        CHECK(round_trip::frame_of<C>(strange, 1e-3).size() == ccoll::max_encoded_bytes<C, T>(n));
        CHECK(round_trip::check<C>(strange, 1e-3).good());
        CHECK(round_trip::check<C>(mixed<T>(n), 1e-3).good());
    }
}

TEMPLATE_LIST_TEST_CASE("a destination one byte too small is refused untouched", "[codec][frame]",
                        every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    for (const std::size_t n : {0u, 1u, 5000u, 9000u}) {
        const std::size_t room = ccoll::max_encoded_bytes<C, T>(n) - 1;
        bytes memory(room + 1, round_trip::guard);
        const auto result =
            ccoll::encode<C>(fields::constant<T>(n), ccoll::byte_span(memory).first(room), 1e-3);
        CHECK(result.code == status::out_of_space);
        CHECK(result.bytes == 0);
        CHECK(memory == bytes(room + 1, round_trip::guard));
    }
}

TEST_CASE(
    "bounds that are not positive and below 1e300 are refused by lossy codecs and ignored by exact ones",
    "[codec][frame]")
{
    const auto x = fields::smooth<float>(100);
    bytes dst(1000);
    const double infinity = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
    for (const double eb : {0.0, -0.0, -1.0, nan, infinity, -infinity, 1e300}) {
        CHECK(ccoll::encode<Codec::SZx>(x, dst, eb).code == status::bad_bound);
        CHECK(ccoll::encode<Codec::PipeSZx>(x, dst, eb).code == status::bad_bound);
        CHECK(ccoll::encode<Codec::SZp>(x, dst, eb).code == status::bad_bound);
        CHECK(ccoll::encode<Codec::None>(x, dst, eb).code == status::ok);
        CHECK(decode_to<Codec::None, float>(100, dst) == status::ok);
    }
}

TEMPLATE_TEST_CASE("Codec::None keeps every bit of everything", "[codec][none]", float, double)
{
    for (const std::size_t n : {0u, 1u, 8191u, 8192u, 8193u, 20011u})
        for (const auto& field : fields::all<TestType>(n)) {
            const auto frame = round_trip::frame_of<Codec::None>(field.values, 0);
            std::vector<TestType> y(n);
            INFO(field.name << ", n = " << n);
            CHECK(frame.size() == ccoll::max_encoded_bytes<Codec::None, TestType>(n));
            CHECK(ccoll::decode<Codec::None>(frame, y) == status::ok);
            CHECK(round_trip::same_bits(y, field.values));
        }
}

TEST_CASE("any contiguous buffer goes in and out", "[codec][frame]")
{
    const float array[4] = {1, 2, 3, 4};
    float back[4] = {};
    bytes dst(ccoll::max_encoded_bytes<Codec::None, float>(4));
    REQUIRE(ccoll::encode<Codec::None>(array, dst).code == status::ok);
    CHECK(ccoll::decode<Codec::None>(dst, back) == status::ok);
    CHECK(back[3] == 4);
    std::vector<float> y(4);
    CHECK(ccoll::decode<Codec::None>(dst, std::span(y)) == status::ok);
    CHECK(y[0] == 1);
}

TEST_CASE("a header says what a frame is, and every field of it is checked", "[codec][frame][wire]")
{
    using C = Codec::PipeSZx;
    const std::size_t n = 5200;
    const bytes frame = round_trip::frame_of<C>(fields::smooth<float>(n), 1e-3);
    const auto header = ccoll::load<ccoll::frame_header>(frame, 0);
    CHECK(header.version == ccoll::wire_version);
    CHECK(header.codec == C::wire_id);
    CHECK(header.dtype == 0);
    CHECK(header.flags == 0);
    CHECK(header.elements == n);
    CHECK(header.bound == 1e-3);
    CHECK(header.chunk_elements == 5120);
    CHECK(header.chunks == 2);
    const auto code = [&](const bytes& f) { return decode_to<C, float>(n, f); };
    REQUIRE(code(frame) == status::ok);

    CHECK(code(with(frame, 0, std::uint32_t{0x4C4F4344})) == status::corrupt);  // magic
    for (const unsigned version : {0u, ccoll::wire_version - 1u, ccoll::wire_version + 1u, 255u})
        CHECK(code(with(frame, 4, static_cast<std::uint8_t>(version))) == status::wire_version);
    CHECK(code(with(frame, 5, Codec::SZx::wire_id)) == status::foreign_frame);
    CHECK(code(with(frame, 6, std::uint8_t{1})) == status::foreign_frame);
    for (unsigned flags = 1; flags < 256; ++flags)
        CHECK(code(with(frame, 7, static_cast<std::uint8_t>(flags))) == status::corrupt);
    CHECK(code(with(frame, 8, std::uint64_t{n + 1})) == status::count_differs);
    CHECK(code(with(frame, 8, ~std::uint64_t{0})) == status::corrupt);  // needs more chunks than there are
    for (const double bound : {0.0, -1.0, 1e300, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()})
        CHECK(code(with(frame, 16, bound)) == status::corrupt);
    CHECK(code(with(frame, 24, std::uint32_t{0})) == status::corrupt);
    CHECK(code(with(frame, 24, std::uint32_t{5119})) == status::foreign_frame);
    CHECK(code(with(frame, 28, std::uint32_t{1})) == status::corrupt);
    CHECK(code(with(frame, 28, ~std::uint32_t{0})) == status::corrupt);
    CHECK(header.kind == ccoll::quality::absolute);
    CHECK(code(with(frame, 32, std::uint8_t{0})) == status::corrupt);  // exact, with a bound
    // A rate, which no codec of this version has.
    CHECK(code(with(frame, 32, std::uint8_t{2})) == status::foreign_frame);
    for (unsigned kind = 3; kind < 256; ++kind)
        CHECK(code(with(frame, 32, static_cast<std::uint8_t>(kind))) == status::corrupt);
    for (unsigned codec = 1; codec < 256; ++codec)
        CHECK(code(with(frame, 33, static_cast<std::uint8_t>(codec))) == status::foreign_frame);
    CHECK(code(with(frame, 34, std::uint16_t{1})) == status::corrupt);  // reserved
    const auto payload = ccoll::load<std::uint32_t>(frame, 36);
    CHECK(frame_edit::start(2) + 16 * payload == frame.size());
    for (const std::uint32_t wrong : {0u, payload - 1, payload + 1, ~0u})
        CHECK(code(with(frame, 36, wrong)) == status::corrupt);
    CHECK(code(with(frame, 40, std::uint32_t{4})) == status::corrupt);  // a trailer
    CHECK(code(with(frame, 44, std::uint32_t{1})) == status::corrupt);  // reserved

    CHECK(decode_to<C, float>(n - 1, frame) == status::count_differs);
    CHECK(decode_to<C, float>(0, frame) == status::count_differs);
    CHECK(decode_to<C, double>(n, frame) == status::foreign_frame);
    CHECK(decode_to<Codec::SZx, float>(n, frame) == status::foreign_frame);
    CHECK(decode_to<Codec::None, float>(n, frame) == status::foreign_frame);
    const bytes exact = round_trip::frame_of<Codec::None>(fields::smooth<float>(100), 0);
    // A bound, where nothing is lossy.
    CHECK(decode_to<Codec::None, float>(100, with(exact, 16, 1e-3)) == status::corrupt);
}

TEMPLATE_LIST_TEST_CASE("bytes behind a frame are not looked at", "[codec][frame]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const auto x = mixed<T>(6000);
    bytes frame = round_trip::frame_of<C>(x, 1e-3);
    std::vector<T> y(x.size()), z(x.size());
    REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
    frame.insert(frame.end(), 100, round_trip::guard);
    CHECK(ccoll::decode<C>(frame, z) == status::ok);
    CHECK(round_trip::same_bits(y, z));
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == status::ok);
    CHECK(view.bytes() == frame.size() - 100);
}

TEST_CASE("an index is believed only as far as its chunks make sense", "[codec][frame][wire]")
{
    using C = Codec::PipeSZx;
    const std::size_t n = 2 * 5120 + 100;
    const bytes frame = round_trip::frame_of<C>(fields::random<float>(n), 1e-3);
    const std::size_t chunks = 3, payload = frame_edit::start(chunks), units = (frame.size() - payload) / 16;
    REQUIRE(payload == 80);
    const auto code = [&](const bytes& f) { return decode_to<C, float>(n, f); };
    REQUIRE(code(frame) == status::ok);
    for (std::size_t i = 0; i < chunks; ++i) {
        INFO("chunk " << i);
        const std::size_t entry = frame_edit::entry(i), begin = frame_edit::begin_of(frame, i),
                          size = frame_edit::bytes_of(frame, i);
        const auto place = ccoll::load<std::uint32_t>(frame, entry),
                   length = static_cast<std::uint32_t>(size);
        const auto at = [&](std::size_t wrong) {
            return code(with(frame, entry, static_cast<std::uint32_t>(wrong)));
        };
        const auto of = [&](std::size_t wrong) {
            return code(with(frame, entry + 4, static_cast<std::uint32_t>(wrong)));
        };
        // Outside of the payload, or over its end.
        for (const std::size_t wrong :
             {units, units + 1, units - (size + 15) / 16 + 1, std::size_t{~ccoll::raw_chunk}})
            CHECK(at(wrong) == status::corrupt);
        CHECK(at(place | ccoll::raw_chunk) == status::corrupt);
        // Lengths that no encoder writes, and those that are not of this chunk.
        const std::size_t raw = 4 * std::min<std::size_t>(5120, n - 5120 * i);
        for (const std::size_t wrong :
             {std::size_t{0}, size - 1, size + 1, size - 16, raw, raw + 1, std::size_t{0xffffffffu}})
            CHECK(of(wrong) == status::corrupt);
        CHECK(code(with(with(frame, entry, place | ccoll::raw_chunk), entry + 4, length + 1)) ==
              status::corrupt);
        for (std::size_t k = size; k < frame_edit::padded(size); ++k)
            CHECK(code(with(frame, begin + k, std::uint8_t{1})) == status::corrupt);
    }
    for (std::size_t at = frame_edit::entry(chunks); at < payload; ++at)
        CHECK(code(with(frame, at, std::uint8_t{128})) == status::corrupt);
}

TEMPLATE_LIST_TEST_CASE(
    "chunks of a frame stand in any order, with gaps between them, and equal ones in one place",
    "[codec][frame][wire]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    constexpr std::size_t step = ccoll::codec_impl<C, T, ccoll::host_space>::chunk_elements,
                          n = 4 * step + 600;
    auto x = mixed<T>(n);
    for (std::size_t i = 0; i < step; ++i) x[3 * step + i] = x[step + i];
    const bytes frame = round_trip::frame_of<C>(x, 1e-3);
    const auto expected = round_trip::decoded<C, T>(frame, n);
    const auto own = fields::random<T>(n, 3);
    const opened::frames<C, T> face;
    std::vector<T> sum(n), other_sum(n);
    REQUIRE(face.decode_reduce(frame, own, sum.data(), ccoll::reduction_of<Op::Sum, T>, {}) == status::ok);
    for (const std::vector<std::size_t>& order :
         {std::vector<std::size_t>{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 4, 0, 3, 1}})
        for (const std::size_t gap : {0u, 1u, 70u})
            for (const bool shared : {false, true}) {
                const bytes other = frame_edit::rearranged(frame, order, gap, shared);
                CHECK((frame_edit::begin_of(other, 1) == frame_edit::begin_of(other, 3)) == shared);
                CHECK(round_trip::same_bits(round_trip::decoded<C, T>(other, n), expected));
                CHECK(face.decode_reduce(other, own, other_sum.data(), ccoll::reduction_of<Op::Sum, T>, {}) ==
                      status::ok);
                CHECK(round_trip::same_bits(other_sum, sum));
                ccoll::frame_view view;
                REQUIRE(ccoll::read_frame(other, view) == status::ok);
                CHECK(view.bytes() == other.size());
            }
}

TEST_CASE("a vector that needs more than the 32 GiB of one frame is refused before it is looked at",
          "[codec][frame]")
{
    float one = 1;
    std::byte byte{};
    const std::size_t most = std::size_t{1} << 33;  // of floats: 32 GiB
    const auto of = [&](std::size_t n) {
        return ccoll::encode<Codec::SZp>(std::span<const float>(&one, n), ccoll::byte_span(&byte, 1), 1e-3)
            .code;
    };
    CHECK(of(most) == status::bad_argument);
    CHECK(of(most - 8192) == status::out_of_space);
    CHECK(
        ccoll::encode_addend<Codec::SZp>(std::span<const float>(&one, most), ccoll::byte_span(&byte, 1), 1e-3)
            .code == status::bad_argument);
}

TEST_CASE("the bytes behind a chunk are looked at one by one", "[codec][frame][wire]")
{
    for (std::size_t size = 0; size < 40; ++size) {
        const std::size_t fill = frame_edit::padded(size) - size;
        bytes memory(frame_edit::padded(size), std::byte{0xff});
        const ccoll::frame_view::piece piece{ccoll::const_byte_span(memory).first(size), fill, false};
        std::fill(memory.begin() + static_cast<std::ptrdiff_t>(size), memory.end(), std::byte{0});
        CHECK(ccoll::is_filled_with_zeros(piece));
        for (std::size_t at = size; at < memory.size(); ++at) {
            memory[at] = std::byte{1};
            CHECK_FALSE(ccoll::is_filled_with_zeros(piece));
            memory[at] = std::byte{0};
        }
    }
}

TEMPLATE_LIST_TEST_CASE(
    "every chunk begins at a multiple of 16 bytes, and is raw if and only if it would not be shorter",
    "[codec][frame][wire]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    using impl = ccoll::codec_impl<C, T, ccoll::host_space>;
    const double eb = C::lossy ? 1e-3 : 0;
    for (const auto& field : fields::all<T>(2 * impl::chunk_elements + 37)) {
        const bytes frame = round_trip::frame_of<C>(field.values, eb);
        ccoll::frame_view view;
        REQUIRE(ccoll::frame_codec_of<C, T>.open(frame, field.values.size(), view) == status::ok);
        INFO(field.name);
        CHECK((view.payload.data() - frame.data()) % 16 == 0);
        for (std::size_t i = 0; i < view.header.chunks; ++i) {
            const auto piece = view.chunk(i);
            CHECK((piece.data.data() - frame.data()) % 16 == 0);
            CHECK(ccoll::is_filled_with_zeros(piece));
            const std::size_t first = i * impl::chunk_elements,
                              count =
                                  std::min<std::size_t>(impl::chunk_elements, field.values.size() - first);
            bytes room(4 * count * sizeof(T) + 1000);  // as much as it likes
            const auto finished = ccoll::detail::chunked<C, T>::encode_one(
                std::span(field.values).subspan(first, count), room, {eb});
            CHECK(piece.raw == (finished.code != status::ok || finished.bytes >= count * sizeof(T)));
            if (!piece.raw) CHECK(piece.data.size() == finished.bytes);
        }
    }
}

TEMPLATE_LIST_TEST_CASE("every truncation of a frame is corrupt", "[codec][frame][total]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const std::size_t n = C::wire_id == acme::Fixed16::wire_id ? 1100 : 600;
    const bytes frame = round_trip::frame_of<C>(mixed<T>(n), 1e-3);
    std::size_t accepted = 0;
    for (std::size_t size = 0; size < frame.size(); ++size) {
        // Of its own size, for sanitizers.
        const bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
        accepted += decode_to<C, T>(n, cut) != status::corrupt;
    }
    CHECK(accepted == 0);
}

TEMPLATE_LIST_TEST_CASE("a frame with any bit flipped gives a status and stays in its room, in every reader",
                        "[codec][frame][total]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const std::size_t n = 600;
    const bytes frame = round_trip::frame_of<C>(mixed<T>(n), 1e-3);
    const auto own = fields::smooth<T>(n, 2);
    const opened::frames<C, T> face;
    const auto& sum = ccoll::reduction_of<Op::Sum, T>;
    T marker;
    std::memset(&marker, 0xA5, sizeof marker);
    std::vector<T> out(n + 2, marker);
    bytes dst(face.max_bytes(n) + 1, round_trip::guard);
    std::size_t beyond = 0, header_believed = 0, disagree = 0;
    bytes damaged = frame;
    for (std::size_t at = 0; at < frame.size(); ++at)
        for (unsigned bit = 0; bit < 8; ++bit) {
            damaged[at] = frame[at] ^ static_cast<std::byte>(1u << bit);
            const auto to = std::span(out).subspan(1, n);
            const status decoded = face.decode(damaged, to, ccoll::stores::cached, {});
            const status reduced = face.decode_reduce(damaged, own, to.data(), sum, {});
            const auto encoded = face.decode_reduce_encode(
                damaged, own, ccoll::byte_span(dst).first(dst.size() - 1), 1e-3, sum, {});
            disagree += decoded != reduced || decoded != encoded.code;
            const bool bound = at >= 16 && at < 24;  // another bound is as good a bound, and -0 is 0
            header_believed += at < frame_edit::start_of_one && !bound && decoded == status::ok;
            beyond +=
                !round_trip::same_bits(out.front(), marker) || !round_trip::same_bits(out.back(), marker);
            beyond += dst.back() != round_trip::guard;
            damaged[at] = frame[at];
        }
    CHECK(beyond == 0);
    CHECK(header_believed == 0);
    CHECK(disagree == 0);
}

TEMPLATE_LIST_TEST_CASE("garbage is refused or decoded, but never believed beyond its end",
                        "[codec][frame][total]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    fields::generator random(5);
    std::size_t accepted = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        bytes garbage(random.below(700));
        for (auto& b : garbage) b = static_cast<std::byte>(random.bits());
        accepted += decode_to<C, T>(random.below(300), garbage) == status::ok;
    }
    CHECK(accepted == 0);  // the magic alone is a chance of 2^-32
    // The same behind a header and an index that are right: only the codec can object now.
    const std::size_t n = 600;
    const bytes frame = round_trip::frame_of<C>(mixed<T>(n), 1e-3);
    for (int trial = 0; trial < 5000; ++trial) {
        bytes garbage = frame;
        for (std::size_t i = frame_edit::start_of_one; i < garbage.size(); ++i)
            garbage[i] =
                static_cast<std::byte>(random.bits() & (trial % 2 == 0 ? 0xff : 0x03));  // often valid codes
        if (trial % 3 == 0) {
            garbage.resize(frame_edit::start_of_one +
                           random.below(garbage.size() - frame_edit::start_of_one + 1));
            frame_edit::end_at(garbage);
        }
        const status s = decode_to<C, T>(n, garbage);
        if (s != status::ok && s != status::corrupt) FAIL_CHECK("decode gave " << ccoll::describe(s));
    }
}

TEMPLATE_LIST_TEST_CASE("decode_reduce is decode and then the operation, also in place", "[codec][frame]",
                        every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const opened::frames<C, T> face;
    for (const std::size_t n : {0u, 1u, 129u, 5121u, 8193u, 20011u}) {
        const bytes frame = round_trip::frame_of<C>(fields::smooth<T>(n), 1e-3);
        const auto own = fields::random<T>(n, 3);
        std::vector<T> theirs(n), out(n), in_place = own;
        REQUIRE(ccoll::decode<C>(frame, theirs) == status::ok);
        CHECK(face.decode_reduce(frame, own, out.data(), ccoll::reduction_of<Op::Max, T>, {}) == status::ok);
        CHECK(face.decode_reduce(frame, in_place, in_place.data(), ccoll::reduction_of<Op::Max, T>, {}) ==
              status::ok);
        for (std::size_t i = 0; i < n; ++i) theirs[i] = own[i] < theirs[i] ? theirs[i] : own[i];
        CHECK(round_trip::same_bits(out, theirs));
        CHECK(round_trip::same_bits(in_place, theirs));
    }
}

TEMPLATE_LIST_TEST_CASE("decode_reduce_encode gives the bytes of the three steps one after another",
                        "[codec][frame]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const opened::frames<C, T> face;
    const auto& sum = ccoll::reduction_of<Op::Sum, T>;
    const double eb = C::lossy ? 1e-3 : 0;
    for (const std::size_t n : {0u, 1u, 129u, 5121u, 8193u, 20011u}) {
        const bytes frame = round_trip::frame_of<C>(fields::non_finite<T>(n), eb);
        const auto own = fields::random<T>(n, 3);
        std::vector<T> out(n);
        REQUIRE(face.decode_reduce(frame, own, out.data(), sum, {}) == status::ok);
        bytes dst(face.max_bytes(n));
        const auto result = face.decode_reduce_encode(frame, own, dst, eb, sum, {});
        CHECK(result.code == status::ok);
        dst.resize(result.bytes);
        CHECK(dst == round_trip::frame_of<C>(out, eb));
        dst.assign(face.max_bytes(n) - 1, round_trip::guard);
        CHECK(face.decode_reduce_encode(frame, own, dst, eb, sum, {}).code == status::out_of_space);
    }
}

TEMPLATE_LIST_TEST_CASE("a pipelined codec reports every element between chunks, another reports none",
                        "[codec][frame]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    struct progress {
        std::size_t elements = 0, calls = 0;
        ccoll::between_chunks tell()
        {
            *this = {};
            return {[](void* self, std::size_t count) noexcept {
                        static_cast<progress*>(self)->elements += count;
                        ++static_cast<progress*>(self)->calls;
                    },
                    this};
        }
    } seen;
    const bool pipelined =
        std::is_same_v<C, Codec::None> || std::is_same_v<C, Codec::PipeSZx> || std::is_same_v<C, Codec::SZp>;
    const std::size_t n = 3 * 8192 + 5;
    const opened::frames<C, T> face;
    const auto& sum = ccoll::reduction_of<Op::Sum, T>;
    const std::size_t elements = pipelined ? n : 0,
                      calls = pipelined ? (n + face.chunk_elements - 1) / face.chunk_elements : 0;
    const auto x = fields::smooth<T>(n);
    const double eb = C::lossy ? 1e-3 : 0;
    bytes frame(face.max_bytes(n)), dst(face.max_bytes(n));
    std::vector<T> y(n);
    const auto complete = [&] { return seen.elements == elements && seen.calls == calls; };
    frame.resize(face.encode(x, frame, eb, seen.tell()).bytes);
    CHECK(complete());
    CHECK(face.decode(frame, y, ccoll::stores::cached, seen.tell()) == status::ok);
    CHECK(complete());
    CHECK(face.decode_reduce(frame, x, y.data(), sum, seen.tell()) == status::ok);
    CHECK(complete());
    CHECK(face.decode_reduce_encode(frame, x, dst, eb, sum, seen.tell()).code == status::ok);
    CHECK(complete());
}

}  // namespace frame_cases
