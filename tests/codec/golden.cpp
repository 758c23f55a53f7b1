// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of this wire version: frames of every codec, as earlier versions of the library wrote them (golden/*.hex). Encoders must
// write the same, on every machine and with every instruction set, and decoders must read them to the same bits.
//
// A change of encoded bytes that is meant raises ccoll::wire_version; then the files are written anew by the tests themselves:
//   CCOLL_WRITE_GOLDEN=1 <build tree>/tests/unit_codec '[golden]'
//
// A file also has the values that each frame was made of (lines that begin with =) and how far a decoded value may be from them (`within`),
// so that a reader that shares nothing with the library can check what it decodes: tests/wire/reader.py.
#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"

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
    fields::set_bits(x[40], static_cast<fields::word<T>>(infinity | (infinity >> 1) | 0x1234));  // a quiet NaN with a payload
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
    void moves(const char* name, const std::vector<T>& x, double eb) { keep(name, x, eb, eb, round_trip::frame_of<C>(x, eb)); }
    /// A decoded addend is rounded to T once more.
    void adds(const char* name, const std::vector<T>& x, double eb) { keep(name, x, eb, eb + rounding_of(x), addend(x, eb)); }

    /// Half an ulp of the largest finite value, or more.
    static double rounding_of(const std::vector<T>& x)
    {
        double largest = 0;
        for (const T v : x)
            if (const double d = std::fabs(static_cast<double>(v)); std::isfinite(d)) largest = std::max(largest, d);
        return largest * (sizeof(T) == 2 ? 0x1p-8 : sizeof(T) == 4 ? 0x1p-23 : 0x1p-52);
    }

    static bytes addend(const std::vector<T>& x, double eb)
    {
        bytes frame(ccoll::max_addend_bytes<C, T>(x.size()));
        frame.resize(ccoll::encode_addend<C>(x, frame, eb).bytes);
        return frame;
    }
};

std::filesystem::path path_of(const std::string& file) { return std::filesystem::path(__FILE__).parent_path() / "golden" / file; }

std::string text_of(const std::vector<golden>& all)
{
    std::ostringstream text;
    text << "# frames of wire version " << int{ccoll::wire_version} << "; see golden.cpp\n";
    for (const golden& g : all) {
        text << "frame " << g.name << " elements " << std::dec << g.n << " bound " << std::hexfloat << g.eb << " decoded " << std::hex
             << g.decoded << " bytes " << std::dec << g.frame.size() << " within " << std::hexfloat << g.within << '\n';
        for (const auto& [begin, data] : {std::pair{"", &g.frame}, std::pair{"= ", &g.values}})
            for (std::size_t i = 0; i < data->size(); ++i) {
                const auto b = static_cast<unsigned>((*data)[i]);
                if (i % 32 == 0) text << begin;
                text << "0123456789abcdef"[b >> 4] << "0123456789abcdef"[b & 15] << (i % 32 == 31 || i + 1 == data->size() ? "\n" : "");
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
            words >> word >> g.name >> word >> g.n >> word >> bound >> word >> hash >> word >> expected >> word >> within;
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
    if (std::getenv("CCOLL_WRITE_GOLDEN") != nullptr) {
        std::filesystem::create_directories(path_of(file).parent_path());
        std::ofstream(path_of(file)) << text_of(today);
    }
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
        CHECK(today[k].frame.size() == stored[k].frame.size());
        CHECK(today[k].frame == stored[k].frame);
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
    for (std::size_t i = 0; i < n; ++i) x[i] = x[i] / 64 + alike[5 * (i % row)] + rows * inside[3 * (i % plane)] + T(17);
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

TEMPLATE_PRODUCT_TEST_CASE("the frames of SZx and PipeSZx are those of this wire version", "[codec][golden]", std::pair,
                           ((Codec::SZx, float), (Codec::SZx, double), (Codec::PipeSZx, float), (Codec::PipeSZx, double)))
{
    using C = typename TestType::first_type;
    using T = typename TestType::second_type;
    writer<C, T> w;
    w.moves("wave", wave<T>(300), 0.01);
    w.moves("non_finite", with_non_finite<T>(150), 1e-4);
    w.moves("constant", std::vector<T>(200, T(1.375)), 0.01);
    auto missing = wave<T>(300);
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (i < 40 || i % 100 > 60 || i % 32 == 7) missing[i] = i == 7 ? std::numeric_limits<T>::infinity() : T(0x1p70);
    w.moves("missing", missing, 0.01);
    w.moves("longest_counts", wave<T>(200), sizeof(T) == 4 ? 1e-5 : 2e-15);  // of all bytes but one
    check<C, T>(with_type<T>(std::is_same_v<C, Codec::SZx> ? "szx" : "pipe_szx"), w.all);
}

TEMPLATE_PRODUCT_TEST_CASE("the frames of ByteZip, BitZip, BitWise and BitCut are those of this wire version", "[codec][golden]", std::pair,
                           ((Codec::ByteZip, float), (Codec::ByteZip, double), (Codec::BitZip, float), (Codec::BitZip, double),
                            (Codec::BitWise, float), (Codec::BitWise, double), (Codec::BitCut, float), (Codec::BitCut, double)))
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

TEMPLATE_PRODUCT_TEST_CASE("the frames of BitMask are those of this wire version", "[codec][golden]", std::pair,
                           ((Codec::BitZip, float), (Codec::BitZip, double), (Codec::BitCut, float), (Codec::BitCut, double)))
{
    using Inner = typename TestType::first_type;
    using T = typename TestType::second_type;
    writer<Codec::BitMask<Inner>, T> w;
    w.moves("wave", wave<T>(300), 0.1);
    w.moves("non_finite", with_non_finite<T>(150), 0.03);
    w.moves("constant", std::vector<T>(200, T(1.375)), 0.01);
    auto clusters = wave<T>(700);
    for (std::size_t i = 0; i < clusters.size(); ++i)
        clusters[i] = clusters[i] / T(64) + static_cast<T>(i * 7 % 3 * 5 + 4) * (i * 11 % 5 < 2 ? T(1) : T(-1));
    w.moves("clusters", clusters, 0x1p-8);
    check<Codec::BitMask<Inner>, T>(with_type<T>(std::is_same_v<Inner, Codec::BitZip> ? "bitmask_bitzip" : "bitmask_bitcut"), w.all);
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
    rate.keep("non_finite", with_non_finite<T>(100), 10, 8, round_trip::frame_of<Codec::ZfpAtRate>(with_non_finite<T>(100), 10));
    check<Codec::ZfpAtRate, T>(with_type<T>("zfp_rate"), rate.all);
}

TEMPLATE_TEST_CASE("the frames of SZp for movement are those of this wire version", "[codec][golden]", float, double)
{
    using T = TestType;
    writer<Codec::SZp, T> w;
    w.moves("narrow", scaled(wave<T>(200), T(1.25), T(0.5)), 0.003);
    w.moves("special_values", with_non_finite<T>(100), 0.05);
    auto missing = wave<T>(500), of_each_kind = wave<T>(400), marked = scaled(wave<T>(300), T(1.25), T(0.5)), far = marked;
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (i < 40 || i % 100 > 60 || i % 32 == 7) missing[i] = T(0x1p70);
    for (std::size_t i = 3; i < of_each_kind.size(); i += i % 7 + 1) {  // two kinds of their own layers, and others
        of_each_kind[i] = i % 5 < 2 ? T(0x1p70) : i % 5 < 4 ? -std::numeric_limits<T>::infinity() : T(0x1p80) * static_cast<T>(i);
    }
    for (std::size_t i = 0; i < marked.size(); ++i)
        if (i % 70 < 20) marked[i] = T(-9999), far[i] = T(-32768);
    far[250] = T(0x1p90);
    w.moves("missing", missing, 0.003);
    w.moves("specials_of_each_kind", of_each_kind, 0.003);
    w.moves("missing_alone", std::vector<T>(90, std::numeric_limits<T>::infinity()), 0.003);
    w.moves("marker", marked, 1.0);
    w.moves("marker_beyond_the_grid", far, 0.03);
    w.moves("missing_on_a_fine_grid", scaled(missing, T(1.0078125), T(4096.001953125)), sizeof(T) == 4 ? 0.04 : 1e-8);
    w.moves("power_of_two_grid", scaled(marked, T(1.0078125), T(4096.001953125)), sizeof(T) == 4 ? 2e-4 : 4e-13);
    std::vector<T> steep(200, T(0x1p-10));
    for (std::size_t i = 1; i < steep.size(); ++i) steep[i] = steep[i - 1] * T(1.0625);
    w.moves("kept", steep, sizeof(T) == 4 ? 1e-9 : 1e-18);
    w.moves("lattice_below_an_ulp", scaled(wave<T>(70), T(1.0078125), T(4096.001953125)), sizeof(T) == 4 ? 1e-5 : 1e-14);
    w.moves("flat", std::vector<T>(200, T(1.375)), 0.003);
    w.moves("lattice", wave<T>(70), 1e-3);
    auto no_lattice = wave<T>(70);
    no_lattice[60] = std::numeric_limits<T>::denorm_min();
    w.moves("no_lattice_with_a_denormal", no_lattice, 1e-3);
    w.moves("fine", scaled(wave<T>(70), T(1.0078125), T(4096.001953125)), sizeof(T) == 4 ? 0.04 : 1e-8);
    std::vector<T> rare(300, T(0.5)), noise = wave<T>(100), both(300);
    for (std::size_t i = 3; i < rare.size(); i += i % 5 + 7)
        rare[i] += static_cast<T>(i % 4) / 4, both[i] = static_cast<T>(i % 5) / 4 - T(0.5);
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = (i % 2 == 0 ? noise[i] : -noise[i]) * T(1.0625);
    for (std::size_t i = 200; i < 206; ++i) rare[i] = noise[i - 200];
    w.moves("lists", scaled(rare, T(1.25), T(0)), 0.2);
    auto rare_missing = scaled(rare, T(1.25), T(0)), noise_missing = noise;
    rare_missing[100] = noise_missing[50] = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t i = 64; i < 96; ++i) noise_missing[i] = T(0x1p70);
    w.moves("lists_missing", rare_missing, 0.2);
    w.moves("alone_missing", noise_missing, 0.003);
    w.moves("alone", noise, 0.003);
    w.moves("lists_alone", scaled(both, T(1.25), T(0)), 0.2);
    // Long enough for the estimate of what lists save: in each quarter of 16 blocks it looks at the first 8, which lists would (not)
    // shorten.
    std::vector<T> seen(2048, T(50)), not_seen(seen);
    for (std::size_t i = 0; i < seen.size(); ++i) {
        if (i % 32 == 5) seen[i] = not_seen[i] = T(53);
        if (i / 32 % 16 < 8) not_seen[i] = T(50) + (i % 2 == 0 ? T(3) : T(0));
    }
    w.moves("lists_seen", scaled(seen, T(0.3984375), T(0)), 0.2);
    w.moves("lists_not_seen", scaled(not_seen, T(0.3984375), T(0)), 0.2);
    // The name of a frame ends with the length of its rows, if it has rows, or with that of its rows and planes.
    const auto with_rows = [&](const char* name, ccoll::field_strides strides, const std::vector<T>& x, double eb) {
        bytes frame(ccoll::max_encoded_bytes<Codec::SZp, T>(x.size()));
        frame.resize(ccoll::encode<Codec::SZp>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, eb).bytes);
        w.keep(name, x, eb, eb, std::move(frame));
    };
    auto rough = [](std::size_t n, std::size_t row) {  // all rows alike, but for a small wave
        auto x = wave<T>(n), alike = wave<T>(5 * row);
        for (std::size_t i = 0; i < n; ++i) x[i] = x[i] / 4 + alike[5 * (i % row)] + T(17);
        return x;
    };
    const auto missing_in = [](std::vector<T> x, std::size_t row, T value) {  // a coast, and an island
        for (std::size_t i = 0; i < x.size(); ++i)
            if (i % row < row / 4 + i / row % 3 || i / 2 == 38) x[i] = value;
        return x;
    };
    with_rows("rows_of_40", 40, scaled(rough(300, 40), T(1.25), T(0.5)), 0.003);
    with_rows("fine_and_rows_of_40", 40, scaled(rough(300, 40), T(1.25), T(0.5)), 3e-4);
    with_rows("fine_missing_and_rows_of_40", 40, missing_in(scaled(rough(500, 40), T(1.25), T(0.5)), 40, T(0x1p90)), 3e-4);
    with_rows("fine_on_a_power_of_two_and_rows_of_40", 40, scaled(rough(300, 40), T(1.25), T(0.5)), 0x1.0001p-16);
    with_rows("fine_and_rows_of_40_and_planes_of_120", {40, 120}, scaled(planes_alike<T>(700, 40, 120, T(2)), T(1.25), T(0.5)), 1e-4);
    with_rows("short_rows_of_17", 17, scaled(rough(300, 17), T(1.25), T(0.5)), 0.003);
    with_rows("too_short_rows_of_15", 15, scaled(rough(300, 15), T(1.25), T(0.5)), 0.003);
    with_rows("a_short_block_and_rows_of_33", 33, scaled(rough(293, 33), T(1.25), T(0)), 0.01);
    with_rows("wide_differences_and_rows_of_100", 100, scaled(rough(700, 100), T(1.25), T(0)), sizeof(T) == 4 ? 1.5e-3 : 1e-6);
    with_rows("lattice_and_rows_of_40", 40, rough(300, 40), 1e-4);
    auto repeated = scaled(wave<T>(64), T(1.25), T(0));
    for (std::size_t i = 64; i < 600; ++i) repeated.push_back(repeated[i - 64] + (i % 37 == 5 ? T(0.5) : T(0)));
    with_rows("lists_and_rows_of_64", 64, repeated, 0.1);
    const auto in_rows = scaled(rough(500, 40), T(1.25), T(0.5));
    auto of_two_kinds = missing_in(in_rows, 40, T(0x1p70));
    of_two_kinds[0] = of_two_kinds[55] = of_two_kinds[499] = std::numeric_limits<T>::infinity();
    with_rows("missing_and_rows_of_40", 40, missing_in(in_rows, 40, T(0x1p70)), 0.01);
    with_rows("specials_of_two_kinds_and_rows_of_40", 40, of_two_kinds, 0.01);
    const auto in_long_rows = scaled(rough(700, 150), T(1.25), T(0.5));  // with blocks that have no marker
    with_rows("marker_and_rows_of_150", 150, missing_in(in_long_rows, 150, T(-9999)), 0.01);
    with_rows("marker_on_the_grid_and_rows_of_150", 150, missing_in(scaled(in_long_rows, T(16), T(0)), 150, T(-9999)), 1.0);
    with_rows("lattice_missing_and_rows_of_40", 40, missing_in(rough(500, 40), 40, T(0x1p70)), 1e-4);
    with_rows("lists_missing_and_rows_of_64", 64, missing_in(repeated, 64, T(0x1p70)), 0.1);
    with_rows("missing_and_no_gain_by_rows_of_50", 50, missing_in(scaled(wave<T>(300), T(1.25), T(0.5)), 50, T(0x1p70)), 0.003);
    with_rows("no_gain_by_rows_of_50", 50, scaled(wave<T>(200), T(1.25), T(0.5)), 0.003);
    const auto in_planes = scaled(planes_alike<T>(700, 40, 200, T(0.25)), T(1.25), T(0.5));
    with_rows("rows_of_40_and_planes_of_200", {40, 200}, in_planes, 0.003);
    with_rows("short_rows_of_16_and_planes_of_48", {16, 48}, scaled(planes_alike<T>(300, 16, 48, T(0.25)), T(1.25), T(0.5)), 0.003);
    with_rows("a_short_block_and_rows_of_33_and_planes_of_70", {33, 70}, scaled(planes_alike<T>(293, 33, 70, T(0.125)), T(1.25), T(0)),
              0.003);
    auto lattice_in_planes = planes_alike<T>(500, 40, 200, T(0.125));
    for (T& v : lattice_in_planes) v = std::nearbyint(v * 256) / 256;
    with_rows("lattice_and_rows_of_40_and_planes_of_200", {40, 200}, lattice_in_planes, 1e-4);
    with_rows("missing_and_rows_of_40_and_planes_of_200", {40, 200}, missing_in(in_planes, 40, T(0x1p70)), 0.003);
    const auto rows_differ = scaled(planes_alike<T>(700, 40, 120, T(2)), T(1.25), T(0.5));
    with_rows("rows_differ_rows_of_40_and_planes_of_120", {40, 120}, rows_differ, 0.003);
    with_rows("no_gain_by_planes_rows_of_40_and_planes_of_210", {40, 210}, in_planes, 0.003);
    with_rows("no_whole_block_behind_planes_rows_of_40_and_planes_of_200", {40, 200}, scaled(rough(260, 40), T(1.25), T(0.5)), 0.003);
    with_rows("no_room_for_planes_rows_of_40_and_planes_of_290", {40, 290}, scaled(rough(300, 40), T(1.25), T(0.5)), 0.003);
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
        noise[i] = static_cast<T>((bits >> 28) * (bits >> 20 & 15)) / ((bits >> 16 & 1) != 0 ? T(64) : T(-64)) * T(1.0625);
    }
    auto busy = scaled(wave<T>(2600), T(0.25), T(0.5));
    for (std::size_t i = 0; i < busy.size(); ++i) busy[i] *= static_cast<T>(1 + i % 700 / 50);
    w.moves("verbatim", scaled(wave<T>(200), T(1.25), T(0.5)), 0.003);
    w.moves("differences", one, 0.01);
    w.moves("rows", rows, 0.003);
    w.moves("rows_far_from_zero", scaled(rows, T(1.0078125), T(4096.001953125)), sizeof(T) == 4 ? 0.04 : 1e-5);
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
    const auto with_rows = [&](const char* name, ccoll::field_strides strides, const std::vector<T>& x, double eb) {
        bytes frame(ccoll::max_encoded_bytes<Codec::SZe, T>(x.size()));
        frame.resize(ccoll::encode<Codec::SZe>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, eb).bytes);
        w.keep(name, x, eb, eb, std::move(frame));
    };
    with_rows("rows_of_100", 100, rows, 0.003);
    with_rows("smooth_rows_of_60", 60, noisy, 0.03);
    with_rows("rows_of_800", 800, rows, 0.003);
    with_rows("rows_of_40_and_planes_of_200", {40, 200}, scaled(planes_alike<T>(1500, 40, 200, T(0.125)), T(1.25), T(0.5)), 0.003);
    auto land = rows;
    for (std::size_t i = 0; i < land.size(); ++i)
        if (i % 100 > 70 + i / 100 % 3) land[i] = T(0x1p70);
    with_rows("missing_and_rows_of_100", 100, land, 0.003);
    with_rows("missing_and_rows_of_800", 800, land, 0.003);
    check<Codec::SZe, T>(with_type<T>("sze"), w.all);
}

TEMPLATE_TEST_CASE("the addends of SZp and their sums are those of this wire version", "[codec][golden]", float, double)
{
    using T = TestType;
    using W = writer<Codec::SZp, T>;
    W w;
    const double eb = 0.003;
    const auto one = scaled(wave<T>(100), T(1.25), T(0.5)), other = with_non_finite<T>(100), large = scaled(wave<T>(100), T(0x1p30), T(0));
    w.adds("narrow", one, eb);
    w.adds("classes", other, eb);
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
    const auto filled = [&](std::size_t first, std::size_t last, std::vector<T> x, T fill = T(1e30)) {
        for (std::size_t i = first; i < last; ++i) x[i] = fill;
        return x;
    };
    const auto land = filled(20, 75, one), far_land = filled(20, 75, large), island = filled(98, 100, filled(30, 40, one));
    w.adds("fills", land, eb);
    w.adds("wide_fills", far_land, eb);
    w.adds("all_fills", std::vector<T>(100, T(1e30)), eb);
    w.adds("fills_and_classes", filled(0, 9, other), eb);
    keep_sum("fills_alike_sum", land, land);
    keep_sum("fills_mixed_sum", land, island);
    keep_sum("fills_and_numbers_sum", island, other);
    const auto two = filled(30, 60, land, T(-1e20)), three = filled(0, 9, filled(60, 90, filled(45, 60, other, T(3e15)), T(-1e30)));
    w.adds("two_fills", two, eb);
    w.adds("three_fills_and_classes", three, eb);
    keep_sum("two_fills_alike_sum", two, two);
    keep_sum("two_fills_mixed_sum", land, two);
    keep_sum("three_fills_sum", three, two);
    // The name of an addend ends with the length of its rows, if it has rows, or with that of its rows and planes.
    const auto of_rows = [](std::size_t row) {  // all rows alike, but for a small wave
        auto x = wave<T>(300), alike = wave<T>(5 * row);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] / 4 + alike[5 * (i % row)] + T(17);
        return scaled(x, T(1.25), T(0.5));
    };
    const auto with_rows = [&](const std::vector<T>& x, ccoll::field_strides strides) {
        bytes dst(ccoll::max_addend_bytes<Codec::SZp, T>(x.size()));
        dst.resize(ccoll::encode_addend<Codec::SZp>(ccoll::shaped_view<const T>{x, strides, x.size()}, dst, eb).bytes);
        return dst;
    };
    const auto rows = of_rows(40), others = of_rows(33), land_in_rows = filled(20, 75, rows), island_in_rows = filled(70, 90, others);
    const auto far_rows = scaled(of_rows(40), T(0x1p20), T(0));
    w.keep("rows_of_40", rows, eb, eb, with_rows(rows, 40));
    const auto far_beyond = scaled(of_rows(40), T(0x1p7), T(0.25));
    w.keep("quanta_of_19_bits_and_rows_of_40", far_beyond, eb, eb + W::rounding_of(far_beyond), with_rows(far_beyond, 40));
    w.keep("rows_of_33", others, eb, eb, with_rows(others, 33));
    w.keep("fills_and_rows_of_40", land_in_rows, eb, eb, with_rows(land_in_rows, 40));
    auto holes_in_rows = filled(250, 300, filled(0, 3, rows, std::numeric_limits<T>::quiet_NaN()), std::numeric_limits<T>::infinity());
    for (std::size_t i = 0; i < holes_in_rows.size(); ++i)
        if (i % 40 >= 20 + i / 40 && i % 40 < 30)
            holes_in_rows[i] = i / 40 == 3 ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
    const auto fills_and_holes_in_rows = filled(100, 115, holes_in_rows);
    w.keep("classes_and_rows_of_40", holes_in_rows, eb, eb, with_rows(holes_in_rows, 40));
    w.keep("fills_classes_and_rows_of_40", fills_and_holes_in_rows, eb, eb, with_rows(fills_and_holes_in_rows, 40));
    w.keep("far_values_and_rows_of_40", far_rows, eb, eb + W::rounding_of(far_rows), with_rows(far_rows, 40));
    const auto keep_sum_of_rows = [&](const char* name, const std::vector<T>& x, const bytes& a, const std::vector<T>& y, const bytes& b) {
        const auto exact = plus(x, y);
        w.keep(name, exact, eb, 2 * eb + 2 * W::rounding_of(exact), sum(a, b, 300));
    };
    const auto minus_rows = scaled(rows, T(-1), T(0)), classes = with_non_finite<T>(300);
    keep_sum_of_rows("rows_sum", rows, with_rows(rows, 40), rows, with_rows(rows, 40));
    keep_sum_of_rows("rows_cancelled_sum", rows, with_rows(rows, 40), minus_rows, with_rows(minus_rows, 40));
    keep_sum_of_rows("rows_and_other_rows_sum", rows, with_rows(rows, 40), others, with_rows(others, 33));
    keep_sum_of_rows("rows_and_none_sum", others, W::addend(others, eb), rows, with_rows(rows, 40));
    keep_sum_of_rows("rows_and_classes_sum", rows, with_rows(rows, 40), classes, W::addend(classes, eb));
    keep_sum_of_rows("rows_and_far_values_sum", rows, with_rows(rows, 40), far_rows, W::addend(far_rows, eb));
    keep_sum_of_rows("rows_and_fills_sum", land_in_rows, with_rows(land_in_rows, 40), island_in_rows, with_rows(island_in_rows, 33));
    const auto solid = scaled(planes_alike<T>(300, 40, 80, T(0.5)), T(1.25), T(0.5));
    const auto classes_in_planes = filled(70, 75, solid, std::numeric_limits<T>::infinity()), land_in_planes = filled(20, 30, solid);
    const ccoll::field_strides planes(40, 80);
    w.keep("rows_of_40_and_planes_of_80", solid, eb, eb, with_rows(solid, planes));
    w.keep("classes_and_rows_of_40_and_planes_of_80", classes_in_planes, eb, eb, with_rows(classes_in_planes, planes));
    w.keep("fills_and_rows_of_40_and_planes_of_80", land_in_planes, eb, eb, with_rows(land_in_planes, planes));
    const auto thin = scaled(planes_alike<T>(300, 20, 80, T(0.5)), T(1.25), T(0.5));
    w.keep("short_rows_of_20_and_planes_of_80", thin, eb, eb, with_rows(thin, {20, 80}));
    keep_sum_of_rows("short_rows_and_planes_sum", thin, with_rows(thin, 20), solid, with_rows(solid, planes));
    keep_sum_of_rows("planes_sum", solid, with_rows(solid, planes), solid, with_rows(solid, planes));
    keep_sum_of_rows("planes_and_rows_sum", solid, with_rows(solid, planes), rows, with_rows(rows, 40));
    keep_sum_of_rows("planes_and_none_sum", others, W::addend(others, eb), solid, with_rows(solid, planes));
    keep_sum_of_rows("planes_and_other_rows_sum", solid, with_rows(solid, planes), others, with_rows(others, 100));
    keep_sum_of_rows("planes_and_fills_sum", land_in_planes, with_rows(land_in_planes, planes), island_in_rows,
                     with_rows(island_in_rows, 33));
    check<Codec::SZp, T>(with_type<T>("szp_addend"), w.all);
}

TEMPLATE_TEST_CASE("the frames of Lossless are those of this wire version", "[codec][golden]", float, double, std::int32_t)
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

TEMPLATE_TEST_CASE("the frames of SZp for two-byte numbers are those of this wire version", "[codec][golden]", ccoll::half, ccoll::bfloat16)
{
    using T = TestType;
    using C = Codec::SZp;
    writer<C, T> w;
    w.moves("wide_bound", wave<T>(200), 0.1);
    w.moves("halved", wave<T>(200), 0.0003);
    w.adds("addend", wave<T>(100), 0.01);
    check<C, T>(std::is_same_v<T, ccoll::half> ? "szp_half.hex" : "szp_bfloat16.hex", w.all);
}

}  // namespace golden_cases
