// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// codec/lossless.hpp: every bit of everything comes back, and what neighbours share is not stored.
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include <ccoll/codec.hpp>

#include "codec/frame_edit.hpp"
#include "support/fields.hpp"

namespace lossless_cases {

using Codec = ccoll::policies::Codec::Lossless;
using ccoll::status;

namespace {

using bytes = std::vector<std::byte>;

template <std::size_t Bytes>
struct packed {
    std::array<std::uint8_t, Bytes> of;
};
struct value_and_index {
    float value;
    std::int32_t index;
};
struct with_padding {
    double a;
    std::int8_t b;
};
struct twelve {
    float x, y;
    std::int32_t cell;
};
struct twenty_four {
    std::int64_t id;
    double x;
    std::uint32_t kind, flags;
};
struct hundred {
    float of[25];
};
enum class colour : std::uint16_t { red };

/// Longer than a chunk may be: 1 element per chunk, or none on the stack.
struct tile {
    float of[3000];
};

// One for each kind of stream: under sanitizers each type takes seconds to compile.
#if defined(CCOLL_TEST_SANITIZED)
using every_element = std::tuple<std::uint8_t, bool, std::int16_t, float, double, long double, packed<3>,
                                 packed<7>, with_padding, hundred>;
#else
using every_element =
    std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
               std::int64_t, std::uint64_t, char, bool, std::byte, float, double, long double, ccoll::half,
               ccoll::bfloat16, colour, std::complex<float>, std::complex<double>, packed<1>, packed<2>,
               packed<3>, packed<5>, packed<6>, packed<7>, packed<8>, packed<12>, packed<16>, packed<24>,
               packed<100>, value_and_index, with_padding, twelve, twenty_four, hundred,
               ccoll::located<double>>;
#endif

template <class T>
constexpr std::size_t chunk = ccoll::codec_impl<Codec, T, ccoll::host_space>::chunk_elements;

template <class T>
bytes raw(const std::vector<T>& x)
{
    bytes all(x.size() * sizeof(T));
    if (!x.empty()) std::memcpy(all.data(), x.data(), all.size());
    return all;
}

/// Elements of any bits, padding included. bool: its two values, other bits are none.
template <class T>
std::vector<T> of_bytes(const bytes& from)
{
    std::vector<T> x(from.size() / sizeof(T));
    if (!x.empty()) std::memcpy(static_cast<void*>(x.data()), from.data(), from.size());
    return x;
}

enum class kind { random, equal, ramp, sparse, low_bits, few };
constexpr kind every_kind[] = {kind::random, kind::equal,    kind::ramp,
                               kind::sparse, kind::low_bits, kind::few};

template <class T>
bytes input(kind what, std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    bytes all(n * sizeof(T));
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t b = 0; b < sizeof(T); ++b) {
            std::uint64_t v = 0;
            const std::size_t place = b % 4;
            switch (what) {
            case kind::random: v = random.bits(); break;
            case kind::equal: v = 0x5A + b; break;
            case kind::ramp: v = 3 * i >> 8 * place; break;
            case kind::sparse: v = random.below(97) == 0 ? random.bits() : 0; break;
            case kind::low_bits: v = place == 3 ? random.bits() << 3 : 0; break;
            case kind::few: v = place == 0 ? random.below(5) : 7; break;
            }
            all[i * sizeof(T) + b] = static_cast<std::byte>(v);
        }
    return all;
}

template <class T>
struct outcome {
    bytes frame;
    bool good = false;
};

/// Between guards, from and to odd addresses of the frame.
template <class T>
outcome<T> check(const bytes& values)
{
    outcome<T> o;
    const std::size_t n = values.size() / sizeof(T), room = ccoll::max_encoded_bytes<Codec, T>(n);
    bytes memory(room + 80, std::byte{0xA5});
    const auto dst = ccoll::byte_span(memory).subspan(3, room);
    ccoll::encode_result r;
    std::vector<std::byte> back((n + 2) * sizeof(T), std::byte{0xA5});
    if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> is no buffer
        const auto x = std::make_unique<bool[]>(n + 1);
        auto y = std::make_unique<bool[]>(n + 1);
        if (n > 0) std::memcpy(x.get(), values.data(), n);
        r = ccoll::encode<Codec>(std::span<const bool>(x.get(), n), dst);
        if (ccoll::decode<Codec>(dst.first(r.bytes), std::span<bool>(y.get(), n)) != status::ok) return o;
        if (n > 0) std::memcpy(back.data() + 1, y.get(), n);
    } else {
        const auto x = of_bytes<T>(values);
        r = ccoll::encode<Codec>(x, dst);
        o.frame.assign(dst.begin(), dst.begin() + static_cast<std::ptrdiff_t>(r.bytes));
        auto y = of_bytes<T>(back);
        if (ccoll::decode<Codec>(o.frame, std::span(y).subspan(1, n)) != status::ok) return o;
        back = raw(y);
    }
    o.good = r.code == status::ok && r.raw_blocks == 0 && r.bytes <= room;
    for (std::size_t i = 0; i < memory.size(); ++i)
        if (i < 3 || i >= 3 + room) o.good = o.good && memory[i] == std::byte{0xA5};
    for (std::size_t i = 0; i < sizeof(T); ++i)
        o.good = o.good && back[i] == std::byte{0xA5} && back[back.size() - 1 - i] == std::byte{0xA5};
    o.good = o.good && (n == 0 || std::memcmp(back.data() + sizeof(T), values.data(), values.size()) == 0);
    return o;
}

template <class T>
bytes input_for(kind what, std::size_t n, unsigned seed)
{
    bytes all = input<T>(what, n, seed);
    if constexpr (std::is_same_v<T, bool>)
        for (std::byte& b : all) b &= std::byte{1};
    return all;
}

template <class T>
double ratio(const std::vector<T>& x)
{
    const auto o = check<T>(raw(x));
    REQUIRE(o.good);
    return static_cast<double>(x.size() * sizeof(T)) / static_cast<double>(o.frame.size());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("Lossless keeps every bit of every element, of every count and at chunk edges",
                        "[codec][lossless]", every_element)
{
    using T = TestType;
    static_assert(ccoll::has_codec<Codec, T> && chunk<T> * sizeof(T) <= 65536);
    std::vector<std::size_t> sizes;
    for (std::size_t n = 0; n <= 200; ++n) sizes.push_back(n);
    for (const std::size_t n : {chunk<T> - 1, chunk<T>, chunk<T> + 1, 2 * chunk<T> + 77}) sizes.push_back(n);
    std::size_t wrong = 0;
    for (const std::size_t n : sizes)
        for (const kind what : every_kind)
            wrong += !check<T>(input_for<T>(what, n, static_cast<unsigned>(n + 1))).good;
    CHECK(wrong == 0);
}

TEST_CASE("Lossless takes elements of any size", "[codec][lossless]")
{
    CHECK(check<tile>(input<tile>(kind::random, 13, 1)).good);
    CHECK(check<tile>(input<tile>(kind::ramp, 13, 1)).good);
    using large = packed<100000>;  // longer than a chunk should be
    static_assert(chunk<large> == 1);
    CHECK(check<large>(input<large>(kind::sparse, 3, 1)).good);
}

TEMPLATE_TEST_CASE("Lossless keeps the bits of every field: NaN payloads, denormals, -0", "[codec][lossless]",
                   float, double)
{
    for (const std::size_t n : {1u, 63u, 64u, 65u, 8191u, 8193u, 20011u})
        for (const auto& field : fields::all<TestType>(n)) {
            INFO(field.name << ", n = " << n);
            CHECK(check<TestType>(raw(field.values)).good);
        }
}

TEMPLATE_TEST_CASE("Lossless is exact for every width, shift and kind of residual", "[codec][lossless]",
                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t)
{
    using T = TestType;
    fields::generator random(3);
    constexpr unsigned bits = 8 * sizeof(T);
    std::size_t wrong = 0, expanded = 0;
    for (unsigned shift = 0; shift < bits; ++shift)
        for (unsigned width = 0; width <= bits - shift; ++width)
            for (const bool chained : {false, true})
                for (const std::size_t n : {std::size_t{64}, std::size_t{150}, std::size_t{1000}}) {
                    const T base = static_cast<T>(random.bits());
                    T running = base;
                    std::vector<T> x(n);
                    for (T& v : x) {
                        const T noise =
                            width == 0
                                ? T{0}
                                : static_cast<T>(static_cast<T>(random.bits() >> (64 - width)) << shift);
                        v = static_cast<T>(chained ? running = static_cast<T>(running + noise)
                                                   : base ^ noise);
                    }
                    const auto o = check<T>(raw(x));
                    wrong += !o.good;
                    // Exactly `width` bits for each word of a whole block where nothing is chained; 1 for its
                    // width, 5 for base and head.
                    const std::size_t most = frame_edit::start_of_one + 15 + 1 + sizeof(T) + (n + 63) / 64 +
                                             n / 64 * 8 * width + n % 64 * ((width + 7) / 8);
                    expanded += !chained && o.frame.size() > std::max(most, std::size_t{0}) &&
                                o.frame.size() < frame_edit::start_of_one + n * sizeof(T);
                }
    CHECK(wrong == 0);
    CHECK(expanded == 0);
}

TEST_CASE("Lossless is worth its time on what it is for, and never longer than None", "[codec][lossless]")
{
    const std::size_t n = 100000;
    fields::generator random(1);
    std::vector<std::uint64_t> ids(n);
    for (auto& v : ids) v = random.bits() >> 24;
    std::sort(ids.begin(), ids.end());
    CHECK(ratio(ids) > 2.3);
    std::vector<std::int32_t> small(n), counter(n);
    std::int32_t count = 0;
    for (auto& v : small) v = static_cast<std::int32_t>(random.below(100));
    for (auto& v : counter) v = count += static_cast<std::int32_t>(random.below(8));
    CHECK(ratio(small) > 4.3);    // 7 bits of 32
    CHECK(ratio(counter) > 7.5);  // 4 bits
    CHECK(ratio(fields::smooth<float>(n)) > 1.4);
    CHECK(ratio(fields::smooth<double>(n)) > 1.15);
    CHECK(ratio(std::vector<double>(n, 0.1)) > 1000);
    std::vector<double> whole(n);  // the low bits that doubles of small integers share
    for (std::size_t i = 0; i < n; ++i) whole[i] = static_cast<double>(random.below(1000));
    CHECK(ratio(whole) > 2.5);
    std::vector<value_and_index> pairs(n);  // each member beside its like
    const auto wave = fields::smooth<float>(n);
    for (std::size_t i = 0; i < n; ++i) pairs[i] = {wave[i], static_cast<std::int32_t>(3 * i)};
    CHECK(ratio(pairs) > 2);
    std::vector<std::complex<float>> z(n);
    for (std::size_t i = 0; i < n; ++i) z[i] = {wave[i], wave[n - 1 - i]};
    CHECK(ratio(z) > 1.4);
    CHECK(check<std::uint64_t>(input<std::uint64_t>(kind::random, n, 1)).frame.size() ==
          ccoll::max_encoded_bytes<Codec, std::uint64_t>(n));
}

TEMPLATE_TEST_CASE("every truncation of a Lossless frame is corrupt, also with an index that says so",
                   "[codec][lossless][total]", std::uint8_t, float, double, value_and_index, packed<3>)
{
    using T = TestType;
    for (const kind what : {kind::ramp, kind::low_bits, kind::few, kind::equal}) {
        const std::size_t n = 300;
        const bytes frame = check<T>(input<T>(what, n, 1)).frame;
        std::vector<T> y(n);
        std::size_t accepted = 0;
        for (std::size_t size = 0; size < frame.size(); ++size) {
            bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
            accepted += ccoll::decode<Codec>(cut, y) != status::corrupt;
            if (size < frame_edit::start_of_one || size >= frame_edit::without_fill(frame).size()) continue;
            frame_edit::end_at(cut);
            accepted += ccoll::decode<Codec>(cut, y) != status::corrupt;
        }
        CHECK(accepted == 0);
        bytes longer = frame_edit::without_fill(frame);  // a byte too many
        longer.push_back(std::byte{0});
        frame_edit::end_at(longer);
        CHECK(ccoll::decode<Codec>(longer, y) == status::corrupt);
    }
}

TEMPLATE_TEST_CASE("damaged and random chunks of Lossless give a status and stay in their room",
                   "[codec][lossless][total]", std::uint8_t, std::uint16_t, float, double, value_and_index,
                   packed<3>)
{
    using T = TestType;
    const std::size_t n = 300;
    std::size_t believed = 0, strange = 0;
    for (const kind what : {kind::ramp, kind::low_bits, kind::few}) {
        const bytes frame = check<T>(input<T>(what, n, 1)).frame;
        for (std::size_t at = 0; at < frame.size(); ++at)
            for (unsigned bit = 0; bit < 8; ++bit) {
                bytes damaged = frame;
                damaged[at] ^= static_cast<std::byte>(1u << bit);
                std::vector<T> y(n);
                believed += ccoll::decode<Codec>(damaged, y) == status::ok && at < frame_edit::start_of_one &&
                            !(at == 23 && bit == 7);  // a bound of -0 is 0
            }
    }
    CHECK(believed == 0);
    fields::generator random(5);
    const bytes frame = check<T>(input<T>(kind::ramp, n, 1)).frame;
    for (int trial = 0; trial < 20000; ++trial) {
        bytes garbage = frame_edit::front_of(frame);
        garbage.resize(garbage.size() + random.below(n * sizeof(T)));
        for (std::size_t i = frame_edit::start_of_one; i < garbage.size(); ++i)
            garbage[i] = static_cast<std::byte>(random.bits() & (trial % 2 == 0 ? 0xff : 0x07));
        frame_edit::end_at(garbage);
        std::vector<T> y(n);
        const status s = ccoll::decode<Codec>(garbage, y);
        strange += s != status::ok && s != status::corrupt;
    }
    CHECK(strange == 0);
    for (unsigned head = 0; head < 256; ++head) {  // shifts beyond a word
        bytes wrong = frame;
        wrong[frame_edit::start_of_one] = static_cast<std::byte>(head);
        std::vector<T> y(n);
        const status s = ccoll::decode<Codec>(wrong, y);
        if ((head & 0x7f) > 64) CHECK(s == status::corrupt);
    }
}

}  // namespace lossless_cases
