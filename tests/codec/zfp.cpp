// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: names kernels, libzfp
// codec/zfp.hpp and codec/zfp/: bounds, rates, and the streams of libzfp, where that is installed.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <random>

#ifdef CCOLL_TEST_ZFP
#include <zfp.h>
#endif

#include "codec/frame_edit.hpp"
#include "codec/hostile.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

namespace zfp_cases {

using namespace ccoll::policies;
using ccoll::status;
using frame_edit::bytes;

namespace {

/// The stream of a chunk, without exceptions and their count.
template <class T>
bytes stream_of(const bytes& chunk)
{
    const std::size_t k = ccoll::load<std::uint16_t>(chunk, chunk.size() - 2);
    return {chunk.begin(), chunk.end() - static_cast<std::ptrdiff_t>(2 + k * (2 + sizeof(T)))};
}

#ifdef CCOLL_TEST_ZFP

/// libzfp on n values in one dimension. How many zeros it writes behind a stream depends on how it was built.
template <class T>
class oracle {
public:
    oracle(std::size_t n, double number, bool at_rate)
        : values_(n),
          field_(zfp_field_1d(values_.data(), sizeof(T) == 4 ? zfp_type_float : zfp_type_double, n)),
          stream_(zfp_stream_open(nullptr))
    {
        if (at_rate)
            zfp_stream_set_rate(stream_.get(), number, sizeof(T) == 4 ? zfp_type_float : zfp_type_double, 1,
                                zfp_false);
        else zfp_stream_set_accuracy(stream_.get(), number);
        buffer_.resize(zfp_stream_maximum_size(stream_.get(), field_.get()));
    }
    bytes compress(const std::vector<T>& x)
    {
        values_ = x;
        const auto size = run(&zfp_compress), word = static_cast<std::size_t>(stream_word_bits) / 8;
        REQUIRE(size % word == 0);
        return {buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(size)};
    }
    std::vector<T> decompress(const bytes& stream)
    {
        std::copy(stream.begin(), stream.end(), buffer_.begin());
        REQUIRE(run(&zfp_decompress) > 0);
        return values_;
    }

private:
    struct close {
        void operator()(zfp_field* f) const { zfp_field_free(f); }
        void operator()(zfp_stream* s) const { zfp_stream_close(s); }
        void operator()(bitstream* s) const { stream_close(s); }
    };
    template <class What>
    std::size_t run(What what)
    {
        const std::unique_ptr<bitstream, close> bits(stream_open(buffer_.data(), buffer_.size()));
        zfp_stream_set_bit_stream(stream_.get(), bits.get());
        zfp_stream_rewind(stream_.get());
        zfp_field_set_pointer(field_.get(), values_.data());
        return what(stream_.get(), field_.get());
    }

    std::vector<T> values_;
    std::unique_ptr<zfp_field, close> field_;
    std::unique_ptr<zfp_stream, close> stream_;
    bytes buffer_;
};

/// Finite values whose scale libzfp can hold.
template <class T>
std::vector<fields::named<T>> for_libzfp(std::size_t n)
{
    auto all = fields::ordinary<T>(n);
    std::erase_if(all, [](const auto& field) { return std::string(field.name) == "denormal"; });
    return all;
}

#endif

}  // namespace

TEMPLATE_TEST_CASE("Zfp keeps every value within eb, whatever the values and the bound", "[codec][zfp]",
                   float, double)
{
    using T = TestType;
    for (const auto& field : fields::all<T>(8195))
        for (const double eb : round_trip::bounds_for<T>(fields::range(field.values))) {
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::check<Codec::Zfp>(field.values, eb).good());
        }
}

TEMPLATE_TEST_CASE("Zfp keeps every value within eb at every edge of blocks and chunks", "[codec][zfp]",
                   float, double)
{
    using T = TestType;
    for (const std::size_t n :
         {0u, 1u, 2u, 3u, 4u, 5u, 7u, 8u, 31u, 64u, 65u, 1009u, 8191u, 8192u, 8193u, 20011u})
        for (const auto& x : {fields::smooth<T>(n, 7), fields::non_finite<T>(n, 7), fields::random<T>(n, 7),
                              fields::constant<T>(n)})
            for (const double eb : {0.3, 1e-3, 1e-7}) {
                INFO("n = " << n << ", eb = " << eb);
                CHECK(round_trip::check<Codec::Zfp>(x, eb, n % 8).good());
            }
}

TEMPLATE_TEST_CASE(
    "Zfp at a rate takes that many bits, keeps what is not finite, and is nearer at higher rates",
    "[codec][zfp]", float, double)
{
    using T = TestType;
    const auto x = fields::smooth<T>(4096);
    double before = std::numeric_limits<double>::infinity();
    for (const int rate : {4, 8, 12, 16, 24}) {
        const bytes frame = round_trip::frame_of<Codec::ZfpAtRate>(x, rate);
        INFO("rate " << rate);
        CHECK(frame_edit::chunk_of(frame).size() == x.size() * static_cast<std::size_t>(rate) / 8 + 2);
        CHECK(frame[32] == std::byte{2});  // quality: a rate
        std::vector<T> y(x.size());
        REQUIRE(ccoll::decode<Codec::ZfpAtRate>(frame, y) == status::ok);
        CHECK(ccoll::decode<Codec::Zfp>(frame, y) == status::foreign_frame);
        double worst = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            worst = std::max(worst, std::fabs(static_cast<double>(x[i] - y[i])));
        CHECK(worst < before / 4);
        before = worst;
    }
    CHECK(before < 1e-4);

    // A rate of the values' own size saves nothing, so they travel as they are.
    CHECK(round_trip::check<Codec::ZfpAtRate>(x, 8.0 * sizeof(T)).good());

    const auto wild = fields::non_finite<T>(3000);
    std::vector<T> y(wild.size());
    REQUIRE(ccoll::decode<Codec::ZfpAtRate>(round_trip::frame_of<Codec::ZfpAtRate>(wild, 12), y) ==
            status::ok);
    for (std::size_t i = 0; i < y.size(); ++i)
        if (!std::isfinite(wild[i])) CHECK(round_trip::same_bits(y[i], wild[i]));
}

TEMPLATE_TEST_CASE("A frame of Zfp with any byte changed is refused or decoded", "[codec][zfp]", float,
                   double)
{
    using T = TestType;
    auto x = fields::smooth<T>(301);
    x[150] = std::numeric_limits<T>::infinity();
    const auto change_all = [&]<class C>(C, double number) {
        const bytes frame = round_trip::frame_of<C>(x, number);
        REQUIRE(frame.size() < x.size() * sizeof(T));
        hostile::refuses_or_decodes<C, T>(frame, x.size());
        hostile::refuses_other_lengths<C, T>(frame, x.size());
    };
    change_all(Codec::Zfp{}, 1e-3);
    change_all(Codec::ZfpAtRate{}, 12);
}

#ifdef CCOLL_TEST_ZFP

TEMPLATE_TEST_CASE("Streams of Zfp are those of libzfp, bit for bit, and the reverse", "[codec][zfp]", float,
                   double)
{
    using T = TestType;
    std::size_t compared = 0;
    for (const std::size_t n : {5u, 64u, 1001u, 1002u, 1003u, 8192u})
        for (const auto& field : for_libzfp<T>(n)) {
            const double range = fields::range(field.values);
            const auto compare = [&]<class C>(C, double number, bool at_rate) {
                INFO(field.name << ", n = " << n << (at_rate ? ", rate " : ", eb ") << number);
                bytes frame = round_trip::frame_of<C>(field.values, number);
                const bytes chunk = frame_edit::chunk_of(frame);
                if (chunk.size() == n * sizeof(T)) return;  // raw
                ++compared;
                oracle<T> libzfp(n, number, at_rate);
                bytes theirs = libzfp.compress(field.values);
                const bytes ours = stream_of<T>(chunk);
                REQUIRE(theirs.size() >= ours.size());
                CHECK(theirs.size() - ours.size() < stream_word_bits / 8);
                theirs.resize(ours.size());
                CHECK(ours == theirs);

                // Each reads what the other wrote.
                const auto read = libzfp.decompress(stream_of<T>(chunk));
                bytes other(frame.begin(), frame.begin() + frame_edit::start_of_one);
                other.insert(other.end(), theirs.begin(), theirs.end());
                other.resize(other.size() + 2, std::byte{0});  // no exceptions
                frame_edit::end_at(other);
                std::vector<T> y(n);
                REQUIRE(ccoll::decode<C>(other, y) == status::ok);
                CHECK(std::memcmp(y.data(), read.data(), n * sizeof(T)) == 0);
            };
            for (const double part : {1e-1, 1e-3, 1e-5}) compare(Codec::Zfp{}, part * range, false);
            for (const double rate : {3.0, 4.25, 8.0, 13.0, 16.0, 24.0})
                compare(Codec::ZfpAtRate{}, rate, true);
        }
    CHECK(compared > 200);
}

TEMPLATE_TEST_CASE("Zfp at every length of a block writes the stream of libzfp and reads it as libzfp does",
                   "[codec][zfp]", float, double)
{
    using T = TestType;
    // Values of all sizes, so that the end of a block cuts codes of every kind at every place.
    std::mt19937 random(11);
    std::vector<T> rough(402);
    for (T& v : rough)
        v = static_cast<T>(
            std::ldexp(static_cast<double>(random()) - 0x1p31, -static_cast<int>(random() % 60)));
    for (const auto& x : {fields::smooth<T>(402), rough})
        for (int bits = 12; bits < 32 * static_cast<int>(sizeof(T)); ++bits) {
            INFO(bits << " bits for four values");
            const bytes frame = round_trip::frame_of<Codec::ZfpAtRate>(x, bits / 4.0),
                        chunk = frame_edit::chunk_of(frame);
            if (chunk.size() == x.size() * sizeof(T)) continue;  // raw
            oracle<T> libzfp(x.size(), bits / 4.0, true);
            bytes theirs = libzfp.compress(x);
            const bytes ours = stream_of<T>(chunk);
            REQUIRE(theirs.size() >= ours.size());
            theirs.resize(ours.size());
            CHECK(ours == theirs);
            std::vector<T> y(x.size());
            REQUIRE(ccoll::decode<Codec::ZfpAtRate>(frame, y) == status::ok);
            CHECK(std::memcmp(y.data(), libzfp.decompress(ours).data(), y.size() * sizeof(T)) == 0);
        }
}

#endif

}  // namespace zfp_cases
