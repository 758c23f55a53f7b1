// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: sanitized, names kernels
// codec/szp.hpp: frames of SZp of both kinds that are foreign, damaged or cut, and rooms that are too small.
#include "support/catch.hpp"

#include "codec/szp.hpp"
#include "support/szp_reference.hpp"

#include <ccoll/codec/szp/layout.hpp>

namespace szp_cases {

TEMPLATE_TEST_CASE("frames and addends of SZp that another encoder wrote are read and added",
                   "[codec][szp][wire]", float, double)
{
    using T = TestType;
    namespace reference = szp_reference;
    const std::size_t n = 2 * 8192 + 600;
    const double eb = 1e-3;
    const reference::law<T> law(eb);
    const auto x = fields::smooth<T>(n);
    std::vector<reference::forms> all(7);
    all[1].left = false;
    all[2].is_wide = true;
    all[3].mixed = true;
    all[3].more_planes = 2;
    all[4].row = 40;
    all[4].plane = 300;
    all[5].lists = true;
    all[6].largest_above = 1000;
    for (const auto& how : all)
        for (const bool mixed : {false, true})
            for (const unsigned flags : {0u, 1u}) {
                if (how.lists && flags == 1) continue;
                reference::frame frame{n, eb, flags, {}};
                for (std::size_t first = 0; first < n; first += 8192) {
                    reference::chunk c;
                    for (std::size_t i = first; i < std::min(n, first + 8192); ++i)
                        c.q.push_back(law.quantum(x[i]));
                    frame.chunks.push_back({false, reference::write_chunk<T>(c, how)});
                }
                const reference::bytes written = reference::write_frame<T>(frame, mixed);
                const auto* const begin = reinterpret_cast<const std::byte*>(written.data());
                const bytes foreign(begin, begin + written.size());
                INFO("form " << &how - all.data() << (mixed ? ", chunks in reverse, with gaps" : "")
                             << (flags == 1 ? ", addend" : ""));
                std::vector<T> y(n), expected(n), twice(n);
                for (std::size_t i = 0; i < n; ++i) {
                    const auto q = static_cast<double>(law.quantum(x[i]));
                    expected[i] = static_cast<T>(q * law.step);
                    twice[i] = static_cast<T>(2 * q * law.step);
                }
                REQUIRE(ccoll::decode<C>(foreign, y) == status::ok);
                CHECK(round_trip::same_bits(y, expected));
                if (flags == 0) continue;
                const bytes own = addend_of(x, eb);
                for (const auto& [a, b] : {std::pair{foreign, own}, {own, foreign}, {foreign, foreign}}) {
                    bytes sum(ccoll::max_addend_bytes<C, T>(n));
                    const auto r = ccoll::reduce_encoded<C, Op::Sum, T>(a, b, sum);
                    REQUIRE(r.code == status::ok);
                    sum.resize(r.bytes);
                    CHECK(round_trip::same_bits(round_trip::decoded<C, T>(sum, n), twice));
                }
            }
}

TEMPLATE_TEST_CASE("a chunk encoder of SZp keeps to any room that it is given", "[codec][szp]", float, double)
{
    using T = TestType;
    using coder = ccoll::codec_impl<C, T, ccoll::host_space>;
    for (const std::size_t n : {1u, 5u, 600u, 8192u})
        for (const auto& field : all_fields<T>(n)) {
            bytes whole(n * sizeof(T));
            const auto most = coder::encode_chunk(field.values, whole, 1e-3);
            for (std::size_t room = 0; room < n * sizeof(T); room += n < 10 ? 1 : n < 1000 ? 13 : 1409) {
                bytes less(room + 1, round_trip::guard);
                const auto result =
                    coder::encode_chunk(field.values, ccoll::byte_span(less).first(room), 1e-3);
                INFO(field.name << ", n = " << n << ", room = " << room);
                CHECK(less[room] == round_trip::guard);
                if (most.code != status::ok) CHECK(result.code != status::ok);
                else CHECK(result.code == (room < most.bytes ? status::out_of_space : status::ok));
                if (result.code == status::ok) CHECK(result.bytes <= room);
            }
        }
}

namespace {

/// Small frames, of every form of chunk and block.
template <class T>
struct sample {
    const char* name;
    std::size_t n;
    bytes frame;
};

template <class T>
std::vector<sample<T>> samples()
{
    std::vector<sample<T>> all;
    const double nan = std::nan("");
    const auto moved = [&](const char* name, const std::vector<T>& x, double eb,
                           ccoll::field_strides strides = {}) {
        bytes frame(ccoll::max_encoded_bytes<C, T>(x.size()));
        frame.resize(ccoll::encode<C>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, eb).bytes);
        all.push_back({name, x.size(), frame});
    };
    const auto adds = [&](const char* name, const std::vector<T>& x, double eb) {
        all.push_back({name, x.size(), addend_of(x, eb)});
    };
    const auto calm = [](std::size_t i) { return 1.234e-2 * static_cast<double>(mixed(i)); };
    const auto far = [](std::size_t i) {
        return (i % 2 == 0 ? 1.1 : -1.3) * 0x1p25 + static_cast<double>(i);
    };
    const auto rare = [](std::size_t i) {
        return i % 17 == 3 || i % 160 > 156 ? static_cast<double>(i % 7) - 3 : 0.0;
    };
    moved("narrow", numbers<T>(530, calm), 1e-3);
    moved("flat", std::vector<T>(530, T(1.3)), 1e-3);
    moved("a grid of its own",
          numbers<T>(530, [](std::size_t i) { return 1e6 + 1.03 * static_cast<double>(mixed(i)); }),
          sizeof(T) == 4 ? 0.3 : 1e-7);
    moved("a lattice", numbers<T>(530, [](std::size_t i) { return static_cast<double>(mixed(i)) / 16; }),
          1e-3);
    moved("exceptional values",
          numbers<T>(530, [&](std::size_t i) { return i == 40    ? nan
                                                      : i == 529 ? 1e30
                                                                 : calm(i); }), 1e-3);
    moved("exceptional values beside a grid of its own",
          numbers<T>(
              530, [&](std::size_t i) { return i == 40 ? nan : 1e6 + 1.03 * static_cast<double>(mixed(i)); }),
          sizeof(T) == 4 ? 0.3 : 1e-7);
    moved("exceptional values of a flat chunk",
          numbers<T>(600, [&](std::size_t i) { return i < 40 || i % 3 == 0 ? 1e30 : 1.3; }), 1e-3);
    moved("nothing but exceptional values", std::vector<T>(600, std::numeric_limits<T>::infinity()), 1e-3);
    moved("two chunks", numbers<T>(8192 + 513, [&](std::size_t i) { return i < 8192 ? 0 : calm(i); }), 1e-3);
    moved("raw", numbers<T>(300, calm), 1e-3);
    moved("lists", numbers<T>(530, [&](std::size_t i) { return 100.1 + rare(i); }), 0.45);
    moved("quanta alone",
          numbers<T>(530, [](std::size_t i) { return static_cast<double>(mixed(i)) - 125.3; }), 0.45);
    moved("rows and planes", numbers<T>(700, [&](std::size_t i) { return calm(i % 20) + 3 * calm(i / 100); }),
          1e-3, {20, 100});
    adds("addend: narrow", numbers<T>(530, calm), 1e-3);
    adds("addend: few values", numbers<T>(40, calm), 1e-3);
    adds("addend: flat", std::vector<T>(530, T(1.3)), 1e-3);
    adds("addend: exceptional values",
         numbers<T>(530,
                    [&](std::size_t i) {
                        return i == 40 ? nan : i == 100 ? HUGE_VAL : i == 129 ? 1e20 : calm(i);
                    }),
         1e-3);
    adds("addend: wide", numbers<T>(70, far), 1e-3);
    adds("addend: wide, exceptional values",
         numbers<T>(70, [&](std::size_t i) { return i % 33 == 5   ? nan
                                                    : i % 33 == 6 ? -1e20
                                                                  : far(i); }),
         1e-3);
    adds("addend: wide, flat", std::vector<T>(70, T(0x1p25)), 1e-3);
    return all;
}

/// Decodes between guards. @return false: something was written beside `out`
template <class T>
bool stays_inside(const bytes& frame, std::size_t n, status& found)
{
    T marker;
    std::memset(&marker, 0xA5, sizeof marker);
    std::vector<T> out(n + 2, marker);
    found = ccoll::decode<C>(frame, std::span(out).subspan(1, n));
    return round_trip::same_bits(out.front(), marker) && round_trip::same_bits(out.back(), marker);
}

}  // namespace

TEMPLATE_TEST_CASE("a frame of SZp with any byte changed gives a status or values, and stays in its room",
                   "[codec][szp][total]", float, double)
{
    for (const auto& s : samples<TestType>()) {
        INFO(s.name);
        std::size_t beyond = 0, no_status = 0, believed = 0;
        const std::size_t start = start_of(s.n);
        for (std::size_t at = 0; at < s.frame.size(); ++at)
            for (unsigned change = 1; change < 256; change = change < 128 ? 2 * change : change + 127) {
                bytes damaged = s.frame;
                damaged[at] ^= static_cast<std::byte>(change);
                status found = status::ok;
                beyond += !stays_inside<TestType>(damaged, s.n, found);
                const bool expected = found == status::ok || found == status::corrupt ||
                                      found == status::wire_version || found == status::foreign_frame ||
                                      found == status::count_differs || found == status::too_large;
                no_status += !expected;
                const bool bound = at >= 16 && at < 24;  // another bound is as good a bound
                const bool flags = at == 7;              // a chunk that either kind of frame may have
                const bool index = at >= 48;  // chunks may stand anywhere, and be longer than they need
                believed += found == status::ok && at < start && !bound && !flags && !index;
            }
        CHECK(beyond == 0);
        CHECK(no_status == 0);
        CHECK(believed == 0);
    }
}

TEMPLATE_TEST_CASE("every truncation of a frame of SZp is corrupt, also where header and index agree with it",
                   "[codec][szp][total]", float, double)
{
    for (const auto& s : samples<TestType>()) {
        INFO(s.name);
        std::size_t accepted = 0;
        const std::size_t last = frame_edit::chunks_of(s.frame) - 1,
                          begin = frame_edit::begin_of(s.frame, last);
        for (std::size_t size = 0; size < s.frame.size(); ++size) {
            bytes cut(s.frame.begin(), s.frame.begin() + static_cast<std::ptrdiff_t>(size));
            status found = status::ok;
            CHECK(stays_inside<TestType>(cut, s.n, found));
            accepted += found != status::corrupt;
            // A chunk ends with up to 15 zeros, which may be cut off.
            const auto missing = s.frame.begin() + static_cast<std::ptrdiff_t>(size);
            if (size < begin ||
                std::all_of(missing, s.frame.end(), [](std::byte b) { return b == std::byte{0}; }))
                continue;
            frame_edit::end_at(cut, begin);
            CHECK(stays_inside<TestType>(cut, s.n, found));
            accepted += found != status::corrupt;
        }
        CHECK(accepted == 0);
    }
}

// In a frame a chunk ends with up to 15 zeros, so that a decoder which reads a byte too many is not noticed
// there.
TEST_CASE("a chunk of SZp is refused if it is a byte shorter than its head or a group needs",
          "[codec][szp][total]")
{
    namespace szp = ccoll::detail::szp;
    const auto accepts = [](const bytes& chunk, std::size_t size, std::size_t n) {
        szp::chunk_view v;
        const bytes own(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(size));
        if (szp::read_chunk(own, 0, n, false, v) != status::ok) return false;
        szp::chunk_planes planes;
        return v.open(planes);
    };
    for (const std::size_t n : {1u, 32u, 1024u, 1025u, 8192u}) {
        const std::size_t groups = szp::groups_of(n);
        for (const unsigned flags : {1u, 3u, 5u}) {
            INFO("n " << n << ", form " << flags);
            const std::size_t needed = flags == 5 ? szp::flat_bytes : szp::front_bytes(groups, flags == 3);
            bytes chunk(needed);
            chunk[1] = static_cast<std::byte>(flags);
            for (std::size_t size = 0; size < needed; ++size) CHECK_FALSE(accepts(chunk, size, n));
            CHECK(accepts(chunk, needed, n));
            chunk[6] = static_cast<std::byte>(needed / szp::unit + 1);  // exceptional values behind the end
            CHECK_FALSE(accepts(chunk, needed, n));
        }
        for (const bool lists : {false, true}) {
            INFO("n " << n << (lists ? ", lists" : ", planes"));
            const std::size_t front = szp::front_bytes(groups, false), last = groups - 1,
                              place = szp::places_at(groups) + 8 * last;
            bytes chunk(front + (lists ? 3 : 12));
            chunk[1] = std::byte{1};
            // The first block's width, or the bytes of its list.
            chunk[szp::head_bytes + 16 * last] = std::byte{3};
            chunk[place] = static_cast<std::byte>(front / szp::unit);
            chunk[place + 3] = static_cast<std::byte>(lists);
            for (std::size_t size = front; size < chunk.size(); ++size) CHECK_FALSE(accepts(chunk, size, n));
            CHECK(accepts(chunk, chunk.size(), n));
        }
        bytes chunk(szp::front_bytes(groups, false));
        chunk[1] = std::byte{1};
        chunk[6] = static_cast<std::byte>(chunk.size() / szp::unit);
        CHECK_FALSE(accepts(chunk, chunk.size(), n));
        chunk.resize(chunk.size() + 1);
        CHECK(accepts(chunk, chunk.size(), n));
    }
}

TEMPLATE_TEST_CASE("random bytes behind a right header never leave the room of SZp's decoder",
                   "[codec][szp][total]", float, double)
{
    fields::generator random(23);
    for (const auto& s : samples<TestType>()) {
        INFO(s.name);
        const std::size_t start = start_of(s.n);
        for (int trial = 0; trial < 400; ++trial) {
            bytes garbage = s.frame;
            for (std::size_t i = start + (trial % 2 == 0 ? 16 : 0); i < garbage.size(); ++i)
                if (trial % 4 < 2 || random.below(10) == 0)
                    garbage[i] = static_cast<std::byte>(random.bits());
            status found = status::ok;
            CHECK(stays_inside<TestType>(garbage, s.n, found));
            CHECK((found == status::ok || found == status::corrupt));
        }
    }
}

TEMPLATE_TEST_CASE("SZp says what is wrong with bounds, destinations and frames", "[codec][szp]", float,
                   double)
{
    using T = TestType;
    const std::size_t n = 600;
    const auto x = fields::smooth<T>(n);
    const double infinity = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
    const std::size_t room = ccoll::max_encoded_bytes<C, T>(n),
                      addend_room = ccoll::max_addend_bytes<C, T>(n);
    bytes dst(addend_room + 1, round_trip::guard);
    for (const double eb : {0.0, -0.0, -1.0, nan, infinity, -infinity, 1e300}) {
        CHECK(ccoll::encode<C>(x, dst, eb).code == status::bad_bound);
        CHECK(ccoll::encode_addend<C>(x, dst, eb).code == status::bad_bound);
    }
    CHECK(ccoll::encode<C>(x, ccoll::byte_span(dst).first(room - 1), 1e-3).code == status::out_of_space);
    CHECK(ccoll::encode_addend<C>(x, ccoll::byte_span(dst).first(addend_room - 1), 1e-3).code ==
          status::out_of_space);
    CHECK(dst == bytes(addend_room + 1, round_trip::guard));

    std::vector<T> y(n);
    for (const bytes& frame : {round_trip::frame_of<C>(x, 1e-3), addend_of(x, 1e-3)}) {
        REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
        CHECK(ccoll::decode<Codec::SZx>(frame, y) == status::foreign_frame);
        CHECK(ccoll::decode<C>(frame, std::span(y).first(n - 1)) == status::count_differs);
        using other = std::conditional_t<sizeof(T) == 4, double, float>;
        std::vector<other> z(n);
        CHECK(ccoll::decode<C>(frame, z) == status::foreign_frame);
        for (const unsigned version : {0u, ccoll::wire_version - 1u, ccoll::wire_version + 1u, 255u}) {
            bytes foreign = frame;
            ccoll::store(foreign, 4, static_cast<std::uint8_t>(version));
            CHECK(ccoll::decode<C>(foreign, y) == status::wire_version);
        }
        for (const unsigned flags : {2u, 4u, 5u, 7u, 128u, 255u}) {
            bytes strange = frame;
            ccoll::store(strange, 7, static_cast<std::uint8_t>(flags));
            CHECK(ccoll::decode<C>(strange, y) == status::corrupt);
        }
        for (const double bound : {0.0, -1.0, 1e300, infinity, nan}) {
            bytes strange = frame;
            ccoll::store(strange, 16, bound);
            CHECK(ccoll::decode<C>(strange, y) == status::corrupt);
        }
        bytes tiny = frame;  // a bound under which no chunk is encoded
        ccoll::store(tiny, 16, static_cast<double>(std::numeric_limits<T>::min()));
        CHECK(ccoll::decode<C>(tiny, y) == status::corrupt);
    }
    CHECK(ccoll::decode<C>(round_trip::frame_of<Codec::SZx>(x, 1e-3), y) == status::foreign_frame);
    // A frame that says too_large has no chunks; one that has is not what an encoder writes.
    bytes refused = addend_of(x, 1e-3);
    ccoll::store(refused, 7, std::uint8_t{3});
    CHECK(ccoll::decode<C>(refused, y) == status::corrupt);
    ccoll::put_payload(refused, 0);
    refused.resize(48);
    refused.resize(64, std::byte{0});
    CHECK(ccoll::decode<C>(refused, y) == status::too_large);
    CHECK(ccoll::decode<C>(refused, std::span(y).first(n - 1)) == status::count_differs);
}

TEMPLATE_TEST_CASE(
    "a chunk of SZp on a grid of its own has a step that is a positive normal number of its type",
    "[codec][szp][total]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    std::size_t seen = 0;
    for (const auto& s : samples<T>()) {
        const std::size_t at = frame_edit::begin_of(s.frame, 0);
        if (s.n > 8192 || static_cast<int>(s.frame[at]) != 1 || std::string(s.name) == "raw") continue;
        ++seen;
        const auto with_step = [&](double step) {
            bytes strange = s.frame;
            ccoll::store(strange, at + 8, step);
            std::vector<T> y(s.n);
            return ccoll::decode<C>(strange, y);
        };
        INFO(s.name);
        for (const double step :
             {0.0, -0.0, -1.0, HUGE_VAL, -HUGE_VAL, std::nan(""), static_cast<double>(limits::denorm_min())})
            CHECK(with_step(step) == status::corrupt);
        if (sizeof(T) == 4)
            for (const double step : {1 + 0x1p-30, 0x1p128, 0x1p-127})
                CHECK(with_step(step) == status::corrupt);
        CHECK(with_step(static_cast<double>(limits::max())) == status::ok);  // gives Inf
        CHECK(with_step(static_cast<double>(limits::min())) == status::ok);
    }
    CHECK(seen >= 3);
}

}  // namespace szp_cases
