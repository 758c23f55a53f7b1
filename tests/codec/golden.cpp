// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized, aarch64
// The bytes of this wire version: frames of every codec, as earlier versions of the library wrote them
// (golden/*.hex). Decoders must read them to the same bits, and what is encoded today must decode to these,
// too. Encoders must write the same bytes, on every machine and with every instruction set, but for SZp,
// whose packing is each encoder's own affair.
//
// A change of the format that is meant raises ccoll::wire_version; then the files are written anew by the
//   tests themselves, started in the root of the repository:
//   CCOLL_WRITE_GOLDEN=1 <build tree>/tests/unit_codec '[golden]'
//
// A file also has the values that each frame was made of (lines that begin with =) and how far a decoded
// value may be from them (`within`), so that a reader that shares nothing with the library can check what it
// decodes: tests/wire/reader.py.
#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"
#include "support/repository.hpp"

namespace golden_cases {

using namespace ccoll::policies;
using ccoll::status;

namespace {

using bytes = std::vector<std::byte>;

/// Values that are the same everywhere: integers from a recurrence, over a power of two. No libm.
template <class T>
std::vector<T> wave(std::size_t n)
{
    std::uint32_t noise = 12345;
    std::int32_t level = 0, slope = 9;
    std::vector<T> x(n);
    for (T& v : x) {
        noise = noise * 1664525u + 1013904223u;
        level += slope;
        if (level > 400 || level < -300) slope = -slope;
        v = static_cast<T>(level + static_cast<std::int32_t>(noise >> 28)) / T(128);
    }
    return x;
}

template <class T>
std::vector<T> with_non_finite(std::size_t n)
{
    auto x = wave<T>(n);
    const auto infinity = std::bit_cast<fields::word<T>>(std::numeric_limits<T>::infinity());
    // A quiet NaN with a payload.
    fields::set_bits(x[40], static_cast<fields::word<T>>(infinity | (infinity >> 1) | 0x1234));
    x[45] = std::numeric_limits<T>::infinity();
    x[n - 1] = -std::numeric_limits<T>::infinity();
    return x;
}

template <class T>
std::vector<T> scaled(std::vector<T> x, T factor, T offset)
{
    for (T& v : x) v = v * factor + offset;  // exact
    return x;
}

struct golden {
    std::string name;
    std::size_t n = 0;
    double eb = 0, within = 0;
    bytes frame, values;
    std::uint64_t decoded = 0;  ///< hash of the bits
};

template <class C, class T>
std::uint64_t hash_of_decoded(const bytes& frame, std::size_t n)
{
    std::vector<T> y(n);
    if (ccoll::decode<C>(frame, y) != status::ok) return 0;
    const auto raw = std::as_bytes(std::span<const T>(y));
    return round_trip::hash({raw.begin(), raw.end()});
}

/// Collects what the library writes today.
template <class C, class T>
struct writer {
    std::vector<golden> all;

    void keep(const char* name, const std::vector<T>& x, double eb, double within, bytes frame)
    {
        const std::uint64_t hash = hash_of_decoded<C, T>(frame, x.size());
        const auto raw = std::as_bytes(std::span<const T>(x));
        all.push_back({name, x.size(), eb, within, std::move(frame), {raw.begin(), raw.end()}, hash});
    }
    void moves(const char* name, const std::vector<T>& x, double eb)
    {
        keep(name, x, eb, eb, round_trip::frame_of<C>(x, eb));
    }
    /// A decoded addend is rounded to T once more.
    void adds(const char* name, const std::vector<T>& x, double eb)
    {
        keep(name, x, eb, eb + rounding_of(x), addend(x, eb));
    }

    /// Half an ulp of the largest finite value, or more.
    static double rounding_of(const std::vector<T>& x)
    {
        double largest = 0;
        for (const T v : x)
            if (const double d = std::fabs(static_cast<double>(v)); std::isfinite(d))
                largest = std::max(largest, d);
        return largest * (sizeof(T) == 2 ? 0x1p-8 : sizeof(T) == 4 ? 0x1p-23 : 0x1p-52);
    }

    static bytes addend(const std::vector<T>& x, double eb)
    {
        bytes frame(ccoll::max_addend_bytes<C, T>(x.size()));
        frame.resize(ccoll::encode_addend<C>(x, frame, eb).bytes);
        return frame;
    }
};

std::filesystem::path path_of(const std::string& file)
{
    return repository::path_of("tests/codec/golden/" + file);
}

std::string text_of(const std::vector<golden>& all)
{
    std::ostringstream text;
    text << "# frames of wire version " << int{ccoll::wire_version} << "; see golden.cpp\n";
    for (const golden& g : all) {
        text << "frame " << g.name << " elements " << std::dec << g.n << " bound " << std::hexfloat << g.eb
             << " decoded " << std::hex << g.decoded << " bytes " << std::dec << g.frame.size() << " within "
             << std::hexfloat << g.within << '\n';
        for (const auto& [begin, data] : {std::pair{"", &g.frame}, std::pair{"= ", &g.values}})
            for (std::size_t i = 0; i < data->size(); ++i) {
                const auto b = static_cast<unsigned>((*data)[i]);
                if (i % 32 == 0) text << begin;
                text << "0123456789abcdef"[b >> 4] << "0123456789abcdef"[b & 15]
                     << (i % 32 == 31 || i + 1 == data->size() ? "\n" : "");
            }
    }
    return text.str();
}

/// The reverse of text_of.
std::vector<golden> read(const std::string& file)
{
    std::ifstream in(path_of(file));
    std::string line, word;
    std::vector<golden> all;
    std::size_t expected = 0;
    const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
    while (std::getline(in, line)) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        if (line.rfind("frame ", 0) == 0) {
            golden g;
            std::string bound, hash, within;
            words >> word >> g.name >> word >> g.n >> word >> bound >> word >> hash >> word >> expected >>
                word >> within;
            g.eb = std::strtod(bound.c_str(), nullptr);
            g.within = std::strtod(within.c_str(), nullptr);
            g.decoded = std::strtoull(hash.c_str(), nullptr, 16);
            all.push_back(g);
        } else if (!all.empty()) {
            const bool is_value = line[0] == '=';
            bytes& to = is_value ? all.back().values : all.back().frame;
            for (std::size_t i = is_value ? 2 : 0; i + 1 < line.size(); i += 2)
                to.push_back(static_cast<std::byte>(digit(line[i]) << 4 | digit(line[i + 1])));
        }
    }
    return all;
}

template <class C, class T>
void check(const std::string& file, const std::vector<golden>& today)
{
    if (std::getenv("CCOLL_WRITE_GOLDEN") != nullptr) std::ofstream(path_of(file)) << text_of(today);
    const auto stored = read(file);
    INFO(path_of(file) << "; if other bytes are meant, golden.cpp says what to do");
    REQUIRE(stored.size() == today.size());
    for (std::size_t k = 0; k < stored.size(); ++k) {
        INFO("frame " << stored[k].name);
        CHECK(stored[k].name == today[k].name);
        CHECK(stored[k].n == today[k].n);
        CHECK(stored[k].eb == today[k].eb);
        CHECK(stored[k].within == today[k].within);
        CHECK(stored[k].values == today[k].values);
        if (!std::is_same_v<C, Codec::SZp>) {
            CHECK(today[k].frame.size() == stored[k].frame.size());
            CHECK(today[k].frame == stored[k].frame);
        }
        CHECK(today[k].decoded == stored[k].decoded);
        CHECK(hash_of_decoded<C, T>(stored[k].frame, stored[k].n) == stored[k].decoded);
        CHECK(stored[k].decoded != 0);
    }
}

template <class T>
std::string with_type(const std::string& codec)
{
    return codec + (sizeof(T) == 4 ? "_f32.hex" : "_f64.hex");
}

/// All planes alike, but for a small wave.
/// @param rows  how much the rows of a plane differ
template <class T>
std::vector<T> planes_alike(std::size_t n, std::size_t row, std::size_t plane, T rows)
{
    auto x = wave<T>(n), alike = wave<T>(5 * row), inside = wave<T>(3 * plane);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = x[i] / 64 + alike[5 * (i % row)] + rows * inside[3 * (i % plane)] + T(17);
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("the frames of None are those of this wire version", "[codec][golden]", float, double)
{
    writer<Codec::None, TestType> w;
    w.moves("wave", wave<TestType>(40), 0);
    w.moves("nothing", {}, 0);
    check<Codec::None, TestType>(with_type<TestType>("none"), w.all);
}

TEMPLATE_PRODUCT_TEST_CASE("the frames of SZx and PipeSZx are those of this wire version", "[codec][golden]",
                           std::pair,
                           ((Codec::SZx, float), (Codec::SZx, double), (Codec::PipeSZx, float),
                            (Codec::PipeSZx, double)))
{
    using C = typename TestType::first_type;
    using T = typename TestType::second_type;
    writer<C, T> w;
    w.moves("wave", wave<T>(300), 0.01);
    w.moves("non_finite", with_non_finite<T>(150), 1e-4);
    w.moves("constant", std::vector<T>(200, T(1.375)), 0.01);
    auto missing = wave<T>(300);
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (i < 40 || i % 100 > 60 || i % 32 == 7)
            missing[i] = i == 7 ? std::numeric_limits<T>::infinity() : T(0x1p70);
    w.moves("missing", missing, 0.01);
    w.moves("longest_counts", wave<T>(200), sizeof(T) == 4 ? 1e-5 : 2e-15);  // of all bytes but one
    check<C, T>(with_type<T>(std::is_same_v<C, Codec::SZx> ? "szx" : "pipe_szx"), w.all);
}

TEMPLATE_PRODUCT_TEST_CASE("the frames of ByteZip, BitZip, BitWise and BitCut are those of this wire version",
                           "[codec][golden]", std::pair,
                           ((Codec::ByteZip, float), (Codec::ByteZip, double), (Codec::BitZip, float),
                            (Codec::BitZip, double), (Codec::BitWise, float), (Codec::BitWise, double),
                            (Codec::BitCut, float), (Codec::BitCut, double)))
{
    using C = typename TestType::first_type;
    using T = typename TestType::second_type;
    writer<C, T> w;
    w.moves("wave", wave<T>(300), 0.1);
    w.moves("non_finite", with_non_finite<T>(150), 0.03);
    w.moves("constant", std::vector<T>(200, T(1.375)), 0.01);
    w.moves("eight_lanes", scaled(wave<T>(700), T(1.25), T(-0.5)), 0.1);
    std::string file = C::name;
    for (char& c : file) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    check<C, T>(with_type<T>(file), w.all);
}

TEMPLATE_PRODUCT_TEST_CASE("the frames of BitMask are those of this wire version", "[codec][golden]",
                           std::pair,
                           ((Codec::BitZip, float), (Codec::BitZip, double), (Codec::BitCut, float),
                            (Codec::BitCut, double)))
{
    using Inner = typename TestType::first_type;
    using T = typename TestType::second_type;
    writer<Codec::BitMask<Inner>, T> w;
    w.moves("wave", wave<T>(300), 0.1);
    w.moves("non_finite", with_non_finite<T>(150), 0.03);
    w.moves("constant", std::vector<T>(200, T(1.375)), 0.01);
    auto clusters = wave<T>(700);
    for (std::size_t i = 0; i < clusters.size(); ++i)
        clusters[i] =
            clusters[i] / T(64) + static_cast<T>(i * 7 % 3 * 5 + 4) * (i * 11 % 5 < 2 ? T(1) : T(-1));
    w.moves("clusters", clusters, 0x1p-8);
    check<Codec::BitMask<Inner>, T>(
        with_type<T>(std::is_same_v<Inner, Codec::BitZip> ? "bitmask_bitzip" : "bitmask_bitcut"), w.all);
}

TEMPLATE_TEST_CASE("the frames of Zfp are those of this wire version", "[codec][golden]", float, double)
{
    using T = TestType;
    writer<Codec::Zfp, T> bound;
    bound.moves("wave", wave<T>(150), 0.1);
    bound.moves("non_finite", with_non_finite<T>(149), 0.03);
    bound.moves("constant", std::vector<T>(102, T(1.375)), 0.01);
    check<Codec::Zfp, T>(with_type<T>("zfp"), bound.all);

    writer<Codec::ZfpAtRate, T> rate;  // `within` is what these values happen to keep
    for (const double bits : {4.0, 7.5, 12.0})
        rate.keep("wave", wave<T>(151), bits, 8, round_trip::frame_of<Codec::ZfpAtRate>(wave<T>(151), bits));
    rate.keep("non_finite", with_non_finite<T>(100), 10, 8,
              round_trip::frame_of<Codec::ZfpAtRate>(with_non_finite<T>(100), 10));
    check<Codec::ZfpAtRate, T>(with_type<T>("zfp_rate"), rate.all);
}

TEMPLATE_TEST_CASE("the frames of SZp for movement are those of this wire version", "[codec][golden]", float,
                   double)
{
    using T = TestType;
    const T infinity = std::numeric_limits<T>::infinity();
    writer<Codec::SZp, T> w;
    const auto one = scaled(wave<T>(530), T(1.25), T(0.5)),
               fine = scaled(one, T(1.0078125), T(4096.001953125));
    const auto with = [](std::vector<T> x, std::size_t every, std::size_t width, T value) {
        for (std::size_t i = 0; i < x.size(); ++i)
            if (i % every < width) x[i] = value;
        return x;
    };
    w.moves("narrow", one, 0.003);
    w.moves("raw", wave<T>(30), 0.003);
    w.moves("exceptional_values", with_non_finite<T>(520), 0.05);
    w.moves("land", with(with(one, 70, 20, T(0x1p70)), 512, 64, T(0x1p70)), 0.003);
    w.moves("land_of_two_kinds", with(with(one, 70, 20, T(0x1p70)), 90, 3, -infinity), 0.003);
    w.moves("nothing_but_land", std::vector<T>(515, infinity), 0.003);
    w.moves("land_with_a_quantum", with(one, 70, 20, T(-9999)), 1.0);
    w.moves("fine", fine, sizeof(T) == 4 ? 0.04 : 1e-8);
    w.moves("land_on_a_fine_grid", with(fine, 50, 9, T(0x1p90)), sizeof(T) == 4 ? 0.04 : 1e-8);
    w.moves("long_quanta", fine, sizeof(T) == 4 ? 2e-4 : 1e-12);
    auto steep = std::vector<T>(600, T(0x1p-10));
    for (std::size_t i = 1; i < steep.size(); ++i) steep[i] = steep[i - 1] * T(1.03125);
    w.moves("raw_at_a_small_bound", steep, sizeof(T) == 4 ? 1e-38 : 1e-308);
    w.moves("flat", std::vector<T>(600, T(1.375)), 0.003);
    w.moves("lattice", wave<T>(540), 1e-3);
    auto no_lattice = wave<T>(512);
    no_lattice[60] = std::numeric_limits<T>::denorm_min();
    w.moves("no_lattice_with_a_denormal", no_lattice, 1e-3);
    std::vector<T> rare(1100, T(0.5)), noise = wave<T>(520);
    for (std::size_t i = 3; i < rare.size(); i += i % 5 + 7) rare[i] += static_cast<T>(i % 4) / 4;
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = (i % 2 == 0 ? noise[i] : -noise[i]) * T(1.0625);
    w.moves("lists", scaled(rare, T(1.25), T(0)), 0.2);
    w.moves("alone", noise, 0.003);
    const auto with_rows = [&](const char* name, ccoll::field_strides strides, const std::vector<T>& x,
                               double eb) {
        bytes frame(ccoll::max_encoded_bytes<Codec::SZp, T>(x.size()));
        frame.resize(
            ccoll::encode<Codec::SZp>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, eb).bytes);
        w.keep(name, x, eb, eb, std::move(frame));
    };
    const auto in_planes = scaled(planes_alike<T>(1100, 40, 200, T(0.25)), T(1.25), T(0.5));
    with_rows("rows", 40, in_planes, 0.003);
    with_rows("rows_and_planes", {40, 200}, in_planes, 0.003);
    with_rows("land_and_rows", 40, with(in_planes, 40, 9, T(0x1p70)), 0.003);
    std::vector<T> two_chunks(8192 + 512, T(3));
    for (std::size_t i = 8192; i < two_chunks.size(); ++i) two_chunks[i] = one[i - 8192];
    const bytes both = round_trip::frame_of<Codec::SZp>(two_chunks, 0.003);
    w.keep("two_chunks", two_chunks, 0.003, 0.003, both);
    w.keep("two_chunks_in_reverse", two_chunks, 0.003, 0.003, frame_edit::rearranged(both, {1, 0}, 2));
    check<Codec::SZp, T>(with_type<T>("szp"), w.all);
}

TEMPLATE_TEST_CASE("the frames of SZe are those of this wire version", "[codec][golden]", float, double)
{
    using T = TestType;
    writer<Codec::SZe, T> w;
    const auto one = scaled(wave<T>(1100), T(1.25), T(0.5));
    auto rows = one, missing = one, noise = one;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = one[i % 100] + static_cast<T>(i / 100) / 16 + one[1099 - i] / 64;
        if (i % 100 > 70) missing[i] = i % 3 == 0 ? T(0x1p70) : -std::numeric_limits<T>::infinity();
        const auto bits = static_cast<std::uint32_t>(i) * 2654435761u;
        noise[i] = static_cast<T>((bits >> 28) * (bits >> 20 & 15)) /
                   ((bits >> 16 & 1) != 0 ? T(64) : T(-64)) * T(1.0625);
    }
    auto busy = scaled(wave<T>(2600), T(0.25), T(0.5));
    for (std::size_t i = 0; i < busy.size(); ++i) busy[i] *= static_cast<T>(1 + i % 700 / 50);
    w.moves("verbatim", scaled(wave<T>(200), T(1.25), T(0.5)), 0.003);
    w.moves("differences", one, 0.01);
    w.moves("rows", rows, 0.003);
    w.moves("rows_far_from_zero", scaled(rows, T(1.0078125), T(4096.001953125)),
            sizeof(T) == 4 ? 0.04 : 1e-5);
    w.moves("missing", missing, 0.01);
    w.moves("alone", noise, 0.03);
    w.moves("four_classes", busy, 0.01);
    w.moves("flat", std::vector<T>(1100, T(1.375)), 0.003);
    w.moves("long_residuals", scaled(wave<T>(1100), T(1.25), T(0.5)), sizeof(T) == 4 ? 3e-5 : 1e-7);
    std::vector<T> rare(1100, T(0.5));
    for (std::size_t i = 3; i < rare.size(); i += i % 50 + 7) rare[i] += static_cast<T>(i % 4) / 4;
    w.moves("rare", scaled(rare, T(1.25), T(0)), 0.2);
    // Known rows; where the noise of a row is as large as what changes between rows, the distance is smooth.
    const auto alike = scaled(wave<T>(300), T(4), T(0.5));
    std::vector<T> noisy(1500);
    for (std::size_t i = 0; i < noisy.size(); ++i)
        noisy[i] = alike[i % 60 * 5] + static_cast<T>(static_cast<std::uint32_t>(i) * 2654435761u >> 27) / 32;
    const auto with_rows = [&](const char* name, ccoll::field_strides strides, const std::vector<T>& x,
                               double eb) {
        bytes frame(ccoll::max_encoded_bytes<Codec::SZe, T>(x.size()));
        frame.resize(
            ccoll::encode<Codec::SZe>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, eb).bytes);
        w.keep(name, x, eb, eb, std::move(frame));
    };
    with_rows("rows_of_100", 100, rows, 0.003);
    with_rows("smooth_rows_of_60", 60, noisy, 0.03);
    with_rows("rows_of_800", 800, rows, 0.003);
    with_rows("rows_of_40_and_planes_of_200", {40, 200},
              scaled(planes_alike<T>(1500, 40, 200, T(0.125)), T(1.25), T(0.5)), 0.003);
    auto land = rows;
    for (std::size_t i = 0; i < land.size(); ++i)
        if (i % 100 > 70 + i / 100 % 3) land[i] = T(0x1p70);
    with_rows("missing_and_rows_of_100", 100, land, 0.003);
    with_rows("missing_and_rows_of_800", 800, land, 0.003);
    check<Codec::SZe, T>(with_type<T>("sze"), w.all);
}

TEMPLATE_TEST_CASE("the addends of SZp and their sums are those of this wire version", "[codec][golden]",
                   float, double)
{
    using T = TestType;
    using W = writer<Codec::SZp, T>;
    W w;
    const double eb = 0.003;
    const auto one = scaled(wave<T>(100), T(1.25), T(0.5)), other = with_non_finite<T>(100),
               large = scaled(wave<T>(100), T(0x1p30), T(0));
    w.adds("narrow", one, eb);
    w.adds("states", other, eb);
    w.adds("flat", std::vector<T>(100, T(1.375)), eb);
    w.adds("wide", large, eb);
    w.adds("wide_flat", std::vector<T>(100, T(0x1p35)), eb);
    const auto sum = [](const bytes& a, const bytes& b, std::size_t n = 100) {
        bytes dst(ccoll::max_addend_bytes<Codec::SZp, T>(n));
        dst.resize(ccoll::reduce_encoded<Codec::SZp, Op::Sum, T>(a, b, dst).bytes);
        return dst;
    };
    const auto plus = [](std::vector<T> x, const std::vector<T>& y) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
        return x;
    };
    const auto keep_sum = [&](const char* name, const std::vector<T>& x, const std::vector<T>& y) {
        const auto exact = plus(x, y);
        w.keep(name, exact, eb, 2 * eb + 2 * W::rounding_of(exact), sum(W::addend(x, eb), W::addend(y, eb)));
    };
    keep_sum("sum", one, other);
    keep_sum("wide_sum", large, other);
    const auto filled = [&](std::size_t first, std::size_t last, std::vector<T> x, T far = T(1e20)) {
        for (std::size_t i = first; i < last; ++i) x[i] = far;
        return x;
    };
    const auto land = filled(20, 75, one), far_land = filled(20, 75, large),
               island = filled(98, 100, filled(30, 40, one));
    w.adds("land", land, eb);
    w.adds("wide_land", far_land, eb);
    w.adds("nothing_but_land", std::vector<T>(100, T(1e20)), eb);
    w.adds("land_and_states", filled(0, 9, other), eb);
    keep_sum("land_sum", land, land);
    keep_sum("land_and_island_sum", land, island);
    keep_sum("island_and_states_sum", island, other);
    keep_sum("land_that_cancels_sum", land, filled(10, 60, one, T(-1e20)));
    const auto rows = scaled(planes_alike<T>(300, 40, 80, T(0.5)), T(1.25), T(0.5));
    const auto with_rows = [&](const std::vector<T>& x, ccoll::field_strides strides) {
        bytes dst(ccoll::max_addend_bytes<Codec::SZp, T>(x.size()));
        dst.resize(
            ccoll::encode_addend<Codec::SZp>(ccoll::shaped_view<const T>{x, strides, x.size()}, dst, eb)
                .bytes);
        return dst;
    };
    const auto keep_sum_of_rows = [&](const char* name, const std::vector<T>& x, const bytes& a,
                                      const std::vector<T>& y, const bytes& b) {
        const auto exact = plus(x, y);
        w.keep(name, exact, eb, 2 * eb + 2 * W::rounding_of(exact), sum(a, b, x.size()));
    };
    const ccoll::field_strides planes(40, 80);
    const auto none = wave<T>(300), land_in_rows = filled(20, 75, rows);
    w.keep("rows", rows, eb, eb, with_rows(rows, 40));
    w.keep("rows_and_planes", rows, eb, eb, with_rows(rows, planes));
    w.keep("land_in_rows", land_in_rows, eb, eb + W::rounding_of(land_in_rows), with_rows(land_in_rows, 40));
    keep_sum_of_rows("rows_sum", rows, with_rows(rows, 40), rows, with_rows(rows, 40));
    keep_sum_of_rows("rows_and_planes_sum", rows, with_rows(rows, planes), rows, with_rows(rows, 40));
    keep_sum_of_rows("planes_and_none_sum", rows, with_rows(rows, planes), none, W::addend(none, eb));
    keep_sum_of_rows("planes_and_land_sum", rows, with_rows(rows, planes), land_in_rows,
                     with_rows(land_in_rows, planes));
    check<Codec::SZp, T>(with_type<T>("szp_addend"), w.all);
}

TEMPLATE_TEST_CASE("the frames of Lossless are those of this wire version", "[codec][golden]", float, double,
                   std::int32_t)
{
    using T = TestType;
    using C = Codec::Lossless;
    writer<C, T> w;
    std::vector<T> x = wave<T>(200), ids(100);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<T>(1000 + i * i);
    if constexpr (std::is_floating_point_v<T>) {
        x = with_non_finite<T>(200);
        w.moves("noise", scaled(x, T(1) / 3, T(0)), 0);
    }
    w.moves("shift", x, 0);
    w.moves("chained", ids, 0);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<T>(i * 7 % 16);
    w.moves("alone", ids, 0);
    w.moves("flat", std::vector<T>(100, T(42)), 0);
    check<C, T>(std::is_integral_v<T> ? "lossless_i32.hex" : with_type<T>("lossless"), w.all);
}

/// Like weights: sums of four random numbers, with one scale after another. No libm.
std::vector<float> weights(std::size_t n)
{
    std::uint32_t noise = 4321;
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        std::int32_t sum = -(1 << 22);
        for (int k = 0; k < 4; ++k) {
            noise = noise * 1664525u + 1013904223u;
            sum += static_cast<std::int32_t>(noise >> 11);
        }
        x[i] = static_cast<float>(sum) / static_cast<float>(std::int64_t{1} << (24 + i / 400 * 3 % 7));
    }
    return x;
}

TEMPLATE_TEST_CASE("the frames of Lossless for weights are those of this wire version", "[codec][golden]",
                   float, ccoll::bfloat16)
{
    using T = TestType;
    using C = Codec::Lossless;
    const auto of_floats = [](const std::vector<float>& from) {
        std::vector<T> x;
        for (const float v : from) x.push_back(static_cast<T>(v));
        return x;
    };
    writer<C, T> w;
    w.moves("weights", of_floats(weights(1030)), 0);
    auto special = weights(1024);
    special[3] = 0;
    special[77] = std::numeric_limits<float>::infinity();
    for (std::size_t i = 400; i < 410; ++i)
        fields::set_bits(special[i], static_cast<std::uint32_t>(i % 2 << 31 | (0x7f80 + i) << 16));  // NaN
    for (std::size_t i = 500; i < 530; ++i)
        fields::set_bits(special[i], static_cast<std::uint32_t>(3 * i << 23));  // any exponent
    w.moves("special", of_floats(special), 0);
    if constexpr (std::is_same_v<T, float>) {
        auto halves = weights(1024);
        for (float& v : halves) v = static_cast<float>(static_cast<ccoll::bfloat16>(v));
        w.moves("low_halves_0", halves, 0);
    }
    check<C, T>(std::is_same_v<T, float> ? "lossless_weights_f32.hex" : "lossless_weights_bfloat16.hex",
                w.all);
}

TEMPLATE_TEST_CASE("the frames of SZp for two-byte numbers are those of this wire version", "[codec][golden]",
                   ccoll::half, ccoll::bfloat16)
{
    using T = TestType;
    using C = Codec::SZp;
    writer<C, T> w;
    w.moves("wide_bound", wave<T>(600), 0.1);
    w.moves("halved", wave<T>(600), 0.0003);
    w.adds("addend", wave<T>(100), 0.01);
    check<C, T>(std::is_same_v<T, ccoll::half> ? "szp_half.hex" : "szp_bfloat16.hex", w.all);
}

}  // namespace golden_cases
