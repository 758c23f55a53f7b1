// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// codec/lossless/: weights, whose exponents are coded. The kernels of every instruction set against each
// other and against a list of codes; chunks of all kinds of floats; how much shorter they are.
#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <ccoll/codec.hpp>
#include <ccoll/codec/lossless/coder.hpp>

#include "codec/frame_edit.hpp"
#include "support/fields.hpp"
#include "support/isa.hpp"

namespace lossless_exponents_cases {

using Codec = ccoll::policies::Codec::Lossless;
using ccoll::status;
namespace lossless = ccoll::detail::lossless;
using lossless::u16;
using lossless::u32;
using lossless::u8;

namespace {

using bytes = std::vector<std::byte>;

template <class T>
using word = std::conditional_t<sizeof(T) == 2, u16, u32>;

template <class T>
T of_bits(u32 bits)
{
    return std::bit_cast<T>(static_cast<word<T>>(bits));
}

/// Nearly normal: sums of 12 uniform numbers. `layers` have scales from 1e-4 to 1, and a few hundred to some
/// ten thousand values.
template <class T>
std::vector<T> weights(std::size_t n, unsigned seed, bool layers = true)
{
    fields::generator random(seed);
    std::vector<T> x(n);
    std::size_t left = 0;
    float scale = 0.02f;
    for (T& v : x) {
        if (left-- == 0) {
            left = 500 + random.below(30000);
            if (layers) scale = static_cast<float>(std::pow(10, -2 + 2 * random.unit()));
        }
        double sum = 0;
        for (int k = 0; k < 12; ++k) sum += random.unit();
        v = static_cast<T>(scale * static_cast<float>(sum / 2));
    }
    return x;
}

/// What weights may also have: zeros, subnormals, infinities, NaN with payloads, any exponent, one value
/// again and again.
template <class T>
std::vector<T> special(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    auto x = weights<T>(n, seed);
    constexpr unsigned mantissa = sizeof(T) == 2 ? 7 : 23;
    constexpr u32 infinity = u32{255} << mantissa, sign = u32{1} << (mantissa + 8);
    for (T& v : x) {
        const u32 either = random.below(2) == 0 ? 0 : sign,
                  low = static_cast<u32>(random.bits()) & ((u32{1} << mantissa) - 1);
        switch (random.below(40)) {
        case 0: v = of_bits<T>(either); break;
        case 1: v = of_bits<T>(either | low); break;
        case 2: v = of_bits<T>(either | infinity); break;
        case 3: v = of_bits<T>(either | infinity | low); break;
        case 4: v = of_bits<T>(either | static_cast<u32>(random.below(256)) << mantissa | low); break;
        case 5: v = static_cast<T>(0.125f); break;
        default: break;
        }
    }
    return x;
}

std::vector<float> with_low_halves_0(std::vector<float> x)
{
    for (float& v : x) v = std::bit_cast<float>(std::bit_cast<u32>(v) & 0xffff0000u);
    return x;
}

struct outcome {
    bytes frame;
    bool good = false;
};

/// Between guards, into memory of its own that is exactly as long as it has to be.
template <class T>
outcome check(const std::vector<T>& x)
{
    outcome o;
    const std::size_t n = x.size(), room = ccoll::max_encoded_bytes<Codec, T>(n), guard = 40;
    bytes memory(room + 2 * guard, std::byte{0xA5});
    const auto r = ccoll::encode<Codec>(x, ccoll::byte_span(memory).subspan(guard, room));
    for (std::size_t i = 0; i < guard; ++i)
        if (memory[i] != std::byte{0xA5} || memory[guard + room + i] != std::byte{0xA5}) return o;
    o.frame.assign(memory.begin() + guard, memory.begin() + static_cast<std::ptrdiff_t>(guard + r.bytes));
    std::vector<T> y(n + 32, of_bits<T>(0x5a5a));
    if (r.code != status::ok || r.bytes > room ||
        ccoll::decode<Codec>(o.frame, std::span(y).subspan(16, n)) != status::ok)
        return o;
    for (std::size_t i = 0; i < 16; ++i)
        if (std::bit_cast<word<T>>(y[i]) != 0x5a5a || std::bit_cast<word<T>>(y[16 + n + i]) != 0x5a5a)
            return o;
    o.good = n == 0 || std::memcmp(x.data(), y.data() + 16, n * sizeof(T)) == 0;
    return o;
}

/// The same with each instruction set, which writes the same bytes.
template <class T>
bool check_all(const std::vector<T>& x)
{
    bool good = true;
    bytes first;
    with_each_isa([&] {
        const outcome o = check(x);
        if (first.empty()) first = o.frame;
        good = good && o.good && o.frame == first;
    });
    return good;
}

unsigned head_of(const bytes& frame, std::size_t chunk = 0)
{
    return static_cast<unsigned>(frame[frame_edit::begin_of(frame, chunk)]);
}
bool is_coded(const bytes& frame, std::size_t chunk = 0)
{
    return (ccoll::load<u32>(frame, frame_edit::entry(chunk)) & ccoll::raw_chunk) == 0 &&
           lossless::is_exponents_head(head_of(frame, chunk));
}

template <class T>
double share(const std::vector<T>& x)
{
    const outcome o = check(x);
    REQUIRE(o.good);
    return static_cast<double>(o.frame.size()) / static_cast<double>(x.size() * sizeof(T));
}

constexpr std::size_t level_sizes[] = {0,  1,   7,    8,    9,    31,   32,   33,   63,  64,
                                       65, 257, 1023, 1024, 1025, 8160, 8190, 8191, 8192};

}  // namespace

TEST_CASE("a level of every size and number of bits is coded alike by every set, and comes back",
          "[codec][lossless][isa]")
{
    fields::generator random(1);
    for (u32 bits = 1; bits <= lossless::most_level_bits; ++bits)
        for (const std::size_t n : level_sizes)
            for (const std::size_t kinds : {1u, 3u, 20u, 256u}) {
                INFO(bits << " bits, " << n << " values of " << kinds << " kinds");
                lossless::level l;
                l.bits = bits;
                for (u32 c = 0; c < l.escape(); ++c) l.symbols[c] = static_cast<u8>(250 + 3 * c);
                std::vector<u8> x(n);
                for (u8& v : x) v = static_cast<u8>(250 + random.below(kinds));
                // What the page says.
                std::vector<u8> planes(bits * lossless::plane_bytes(n)), escapes;
                for (std::size_t i = 0; i < n; ++i) {
                    const auto at = std::find(l.symbols, l.symbols + l.escape(), x[i]);
                    const auto code = static_cast<u32>(at - l.symbols);
                    if (code == l.escape()) escapes.push_back(x[i]);
                    for (u32 b = 0; b < bits; ++b)
                        planes[b * lossless::plane_bytes(n) + i / 8] |=
                            static_cast<u8>((code >> b & 1) << i % 8);
                }
                CHECK(lossless::count_escapes(planes.data(), bits, n) == escapes.size());
                for (u32 b = 0; b < bits && n % 8 != 0; ++b) {  // a bit behind the last code
                    std::vector<u8> other = planes;
                    other[(b + 1) * lossless::plane_bytes(n) - 1] |= u8{0x80};
                    CHECK(lossless::count_escapes(other.data(), bits, n) > n);
                }
                with_each_isa([&] {
                    std::vector<u8> symbols = x, found(planes.size() + 1, u8{0xA5});
                    symbols.resize(n + lossless::slack);
                    const std::size_t left =
                        lossless::level_encoders.in_use()(l, symbols.data(), n, found.data());
                    CHECK(found.back() == 0xA5);
                    found.pop_back();
                    CHECK(found == planes);
                    CHECK(std::vector<u8>(symbols.begin(),
                                          symbols.begin() + static_cast<std::ptrdiff_t>(left)) == escapes);
                    std::vector<u8> from = escapes, to(n + lossless::slack);
                    from.resize(escapes.size() + lossless::slack);
                    lossless::level_decoders.in_use()(l, planes.data(), from.data(), n, to.data());
                    to.resize(n);
                    CHECK(to == x);
                });
            }
}

TEMPLATE_TEST_CASE("words become symbols and the rest alike with every set, and come back",
                   "[codec][lossless][isa]", u16, u32)
{
    using Word = TestType;
    fields::generator random(2);
    for (const std::size_t n : level_sizes) {
        INFO(n << " words");
        std::vector<Word> x(n);
        for (Word& v : x) v = static_cast<Word>(random.bits());
        with_each_isa([&] {
            std::vector<u8> high(n + lossless::slack), low(2 * n + lossless::slack),
                symbols(n + lossless::slack);
            const auto* const from = reinterpret_cast<const u8*>(x.data());
            lossless::splitters<Word>.in_use()(from, n, high.data(), low.data(), symbols.data());
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const auto upper = static_cast<u16>(x[i] >> (8 * sizeof(Word) - 16));
                wrong += symbols[i] != (upper >> 7 & 0xff) ||
                         high[i] != static_cast<u8>((upper & 0x7f) << 1 | upper >> 15);
                if (sizeof(Word) == 4)
                    wrong += low[2 * i] != (x[i] & 0xff) || low[2 * i + 1] != (x[i] >> 8 & 0xff);
            }
            CHECK(wrong == 0);
            std::vector<Word> y(n + 1, Word{0x77});
            auto* const to = reinterpret_cast<u8*>(y.data());
            lossless::joiners<Word>.in_use()(high.data(), low.data(), symbols.data(), n, to);
            CHECK(y.back() == 0x77);
            y.pop_back();
            CHECK(y == x);
            lossless::joiners<Word>.in_use()(high.data(), nullptr, symbols.data(), n, to);
            std::vector<Word> upper = x;
            if (sizeof(Word) == 4)
                for (Word& v : upper) v = static_cast<Word>(v & 0xffff0000u);
            CHECK(y == upper);
        });
    }
}

TEMPLATE_TEST_CASE("Lossless keeps every bit of weights, with the same bytes from every set",
                   "[codec][lossless]", float, ccoll::bfloat16)
{
    using T = TestType;
    unsigned seed = 0;
    for (const std::size_t n : {0u, 1u, 1023u, 1024u, 1025u, 1031u, 1055u, 2047u, 4099u, 8191u, 8192u, 8193u,
                                9215u, 9216u, 20011u}) {
        INFO(n << " values");
        CHECK(check_all(weights<T>(n, ++seed)));
        CHECK(check_all(special<T>(n, ++seed)));
        CHECK(check_all(std::vector<T>(n, static_cast<T>(-0.3f))));
        std::vector<T> rare(n, static_cast<T>(1.5f));  // among values that are all alike
        for (std::size_t i = 0; i < n; i += 97) rare[i] = of_bits<T>(static_cast<u32>(i * 0x9e3779b9u));
        CHECK(check_all(rare));
        std::vector<T> every(n);  // all exponents alike, so none is listed
        fields::generator random(++seed);
        for (T& v : every) v = of_bits<T>(static_cast<u32>(random.bits()));
        CHECK(check_all(every));
        if constexpr (sizeof(T) == 4) CHECK(check_all(with_low_halves_0(special<T>(n, ++seed))));
    }
    // Exponents as rare as the sample can miss, and more of them than levels list.
    for (const std::size_t kinds : {2u, 5u, 16u, 60u, 120u, 256u}) {
        std::vector<T> x(8192);
        fields::generator random(++seed);
        for (T& v : x) {
            const std::size_t e = std::min(random.below(kinds), random.below(kinds));
            v = of_bits<T>(static_cast<u32>(e << (sizeof(T) == 2 ? 7 : 23)) | (random.bits() & 0x8000007fu));
        }
        CHECK(check_all(x));
    }
}

TEMPLATE_TEST_CASE("weights take 0.70 of the bytes as bfloat16, and 0.85 as f32", "[codec][lossless]", float,
                   ccoll::bfloat16)
{
    using T = TestType;
    const double most = sizeof(T) == 2 ? 0.70 : 0.85;
    const auto one = weights<T>(1 << 18, 1, false), layers = weights<T>(1 << 18, 2);
    CHECK(share(one) < most - (sizeof(T) == 2 ? 0.025 : 0.012));  // 2.64 bits for an exponent
    CHECK(share(layers) < most);
    const outcome o = check(layers);
    for (std::size_t i = 0; i < frame_edit::chunks_of(o.frame); ++i) CHECK(is_coded(o.frame, i));
    CHECK(share(special<T>(1 << 18, 3)) < 0.97);
    if constexpr (sizeof(T) == 4) {
        const auto halves = with_low_halves_0(layers);
        CHECK(share(halves) < 0.36);
        CHECK(head_of(check(halves).frame) == lossless::exponents_head - 1);
        auto all_but_one = halves;
        for (std::size_t i = 0; i < all_but_one.size(); i += 8192)  // the sample does not see it
            all_but_one[i + 4095] = std::bit_cast<float>(std::bit_cast<u32>(all_but_one[i + 4095]) | 1);
        CHECK(check(all_but_one).good);
        CHECK(head_of(check(all_but_one).frame) == lossless::exponents_head);
    }
}

TEMPLATE_TEST_CASE("what cannot be shortened travels raw, and fields are as short as with residuals alone",
                   "[codec][lossless]", float, ccoll::bfloat16)
{
    using T = TestType;
    fields::generator random(4);
    std::vector<T> noise(100000);
    for (T& v : noise) v = of_bits<T>(static_cast<u32>(random.bits()));
    CHECK(check(noise).frame.size() == ccoll::max_encoded_bytes<Codec, T>(noise.size()));
    using stream = lossless::stream_coder<word<T>, sizeof(T)>;
    for (const std::size_t n : {1024u, 5000u, 8192u})
        for (const auto& field : fields::all<float>(n)) {
            INFO(field.name << ", n = " << n);
            std::vector<T> x(n);
            for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(field.values[i]);
            CHECK(check_all(x));
            const std::size_t residuals = stream::look(std::as_bytes(std::span(x)).data(), n).bytes;
            bytes chunk(n * sizeof(T));
            const auto r = ccoll::codec_impl<Codec, T, ccoll::host_space>::encode_chunk(x, chunk, 0);
            CHECK((r.code == status::ok ? r.bytes : chunk.size()) <= std::min(residuals, chunk.size()));
        }
}

TEMPLATE_TEST_CASE("an encoder with too little room for exponents says so, and stays in it",
                   "[codec][lossless]", float, ccoll::bfloat16)
{
    using T = TestType;
    using impl = ccoll::codec_impl<Codec, T, ccoll::host_space>;
    const auto x = weights<T>(2000, 5);
    bytes whole(x.size() * sizeof(T));
    const auto r = impl::encode_chunk(x, whole, 0);
    REQUIRE(r.code == status::ok);
    std::size_t wrong = 0;
    for (std::size_t room = 0; room <= whole.size(); room += room < r.bytes && room + 200 > r.bytes ? 1 : 37)
        with_each_isa([&] {
            bytes dst(room + 64, std::byte{0xA5});
            const auto found = impl::encode_chunk(x, ccoll::byte_span(dst).first(room), 0);
            const bool fits = room >= r.bytes;
            wrong += (found.code == status::ok) != fits || (fits && found.bytes != r.bytes);
            for (std::size_t i = room; i < dst.size(); ++i) wrong += dst[i] != std::byte{0xA5};
        });
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE(
    "damaged chunks with coded exponents give a status, the same with every set, and stay in their room",
    "[codec][lossless][total]", float, ccoll::bfloat16)
{
    using T = TestType;
    using impl = ccoll::codec_impl<Codec, T, ccoll::host_space>;
    const std::size_t n = 1100;
    fields::generator random(6);
    auto x = special<T>(n, 7);
    bytes chunk(n * sizeof(T));
    const auto r = impl::encode_chunk(x, chunk, 0);
    REQUIRE(r.code == status::ok);
    chunk.resize(r.bytes);
    REQUIRE(lossless::is_exponents_head(static_cast<unsigned>(chunk[0])));
    const std::size_t levels = lossless::exponent_coder<word<T>>::front(n, true);
    std::size_t strange = 0, accepted = 0, differ = 0;
    const auto read = [&](const bytes& from) {
        std::vector<T> first;
        status of_first{};
        with_each_isa([&] {
            const bytes own(from);  // as long as it is, for sanitizers
            std::vector<T> y(n, of_bits<T>(0));
            const status s = impl::decode_chunk(own, y, 0);
            if (first.empty()) {
                first = y;
                of_first = s;
            }
            differ +=
                s != of_first || (s == status::ok && std::memcmp(y.data(), first.data(), n * sizeof(T)) != 0);
            strange += s != status::ok && s != status::corrupt;
        });
        return of_first;
    };
    CHECK(read(chunk) == status::ok);
    for (std::size_t size = 0; size < chunk.size(); ++size) {
        if (size > 8 && size + 8 < levels) continue;
        accepted += read({chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(size)}) == status::ok;
    }
    bytes longer = chunk;
    longer.push_back(std::byte{0});
    accepted += read(longer) == status::ok;
    CHECK(accepted == 0);
    for (std::size_t at = levels; at < chunk.size(); ++at)
        for (unsigned bit = 0; bit < 8; ++bit) {
            bytes damaged = chunk;
            damaged[at] ^= static_cast<std::byte>(1u << bit);
            (void)read(damaged);
        }
    for (int trial = 0; trial < 3000; ++trial) {
        bytes garbage = chunk;
        garbage.resize(levels + random.below(n));
        for (std::size_t i = levels; i < garbage.size(); ++i)
            garbage[i] = static_cast<std::byte>(random.bits() & (trial % 2 == 0 ? 0xff : 0x03));
        (void)read(garbage);
    }
    CHECK(strange == 0);
    CHECK(differ == 0);
    // Too few values for this form, and a head that only f32 has.
    std::vector<T> few(1023);
    CHECK(impl::decode_chunk(chunk, few, 0) == status::corrupt);
    if (sizeof(T) == 2) {
        chunk[0] = static_cast<std::byte>(lossless::exponents_head - 1);
        CHECK(read(chunk) == status::corrupt);
    }
}

TEST_CASE("only f32 and bfloat16 have coded exponents", "[codec][lossless][total]")
{
    std::vector<u32> x(2000);
    const auto w = weights<float>(x.size(), 8);
    std::memcpy(x.data(), w.data(), 4 * x.size());
    bytes frame(ccoll::max_encoded_bytes<Codec, u32>(x.size()));
    CHECK(ccoll::encode<Codec>(x, frame).bytes == frame.size());
    bytes chunk(4 * w.size());
    const auto r = ccoll::codec_impl<Codec, float, ccoll::host_space>::encode_chunk(w, chunk, 0);
    REQUIRE(r.code == status::ok);
    chunk.resize(r.bytes);
    CHECK(ccoll::codec_impl<Codec, u32, ccoll::host_space>::decode_chunk(chunk, x, 0) == status::corrupt);
}

}  // namespace lossless_exponents_cases
