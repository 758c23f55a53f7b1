// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ratio.cpp - bits per value of Codec::SZp, Codec::SZe and Codec::Zfp, compared with what other layouts of
// the same idea would need for the same field and bound: the fixed-length coder of the fZ-light and cuSZp
// family, truncating and rounding, and the layout of SZp with other predictors. It also shows the true
// maximum errors in the type of the data, because a truncating quantiser is shorter only by errors of up to
// twice the bound. With --missing: the same fields where a part of them is missing. With --papers: how many
// times shorter the codecs of the papers make data of the papers' kinds (docs/reproduction.md).
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <ccoll/codec.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "fields.hpp"
#include "paper_fields.hpp"
#include "real_fields.hpp"

namespace Codec = ccoll::policies::Codec;
using Codec::SZp;

namespace {

struct counted {
    double bits = 0, error = 0;  // bits per value; maximum error as a fraction of the bound
};

template <class T>
double worst(const std::vector<T>& x, const std::function<T(std::size_t)>& decoded, double eb)
{
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        most = std::max(most, std::fabs(static_cast<double>(x[i]) - static_cast<double>(decoded(i))));
    return most / eb;
}

/// @param strides  what the codec is told
template <class C, class T>
counted encoded(const std::vector<T>& x, double eb, ccoll::field_strides strides = {})
{
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<C, T>(x.size()));
    const auto r = ccoll::encode<C>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, eb);
    std::vector<T> back(x.size());
    if (r.code != ccoll::status::ok ||
        ccoll::decode<C>(ccoll::const_byte_span(frame).first(r.bytes), back) != ccoll::status::ok)
        throw std::runtime_error(std::string(C::name) + " failed");
    return {8.0 * static_cast<double>(r.bytes) / static_cast<double>(x.size()),
            worst<T>(x, [&](std::size_t i) { return back[i]; }, eb)};
}

template <class T>
double bits_of_addend(const std::vector<T>& x, double eb, ccoll::field_strides strides)
{
    std::vector<std::byte> frame(ccoll::max_addend_bytes<Codec::SZp, T>(x.size()));
    const auto r =
        ccoll::encode_addend<Codec::SZp>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, eb);
    if (r.code != ccoll::status::ok) throw std::runtime_error("an addend of SZp failed");
    return 8.0 * static_cast<double>(r.bytes) / static_cast<double>(x.size());
}

/// Size of the fixed-length layout: differences between neighbours in blocks of 32. A block has a byte for
/// the width, 32 signs, and for each value as many bits as the largest magnitude needs.
template <class T>
counted fixed_length(const std::vector<T>& x, double eb, bool truncates)
{
    std::vector<std::int64_t> q(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double t = static_cast<double>(x[i]) / (2 * eb);
        q[i] = static_cast<std::int64_t>(truncates ? std::trunc(t) : std::nearbyint(t));
    }
    double bits = 0;
    for (std::size_t from = 0; from < x.size(); from += 32) {
        std::uint64_t all = 0;
        for (std::size_t i = std::max<std::size_t>(from, 1); i < std::min(x.size(), from + 32); ++i)
            all |= static_cast<std::uint64_t>(std::abs(q[i] - q[i - 1]));
        bits += 8 + (all != 0 ? 32 + 32 * static_cast<double>(std::bit_width(all)) : 0);
    }
    return {
        bits / static_cast<double>(x.size()),
        worst<T>(x, [&](std::size_t i) { return static_cast<T>(static_cast<double>(q[i]) * 2 * eb); }, eb)};
}

/// Size with widths of two's complement and 4 bits per block of 32, for any prediction from the quanta before
/// i.
template <class T>
double predicted(const std::vector<T>& x, double eb,
                 const std::function<std::int64_t(const std::vector<std::int64_t>&, std::size_t)>& predict)
{
    const double step = 2 * eb / (1 + 0x1p-8);
    std::vector<std::int64_t> q(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) q[i] = std::llrint(static_cast<double>(x[i]) / step);
    double bits = 0;
    for (std::size_t from = 0; from < x.size(); from += 32) {
        std::uint64_t folded = 0;
        bool negative = false;
        for (std::size_t i = from; i < std::min(x.size(), from + 32); ++i) {
            const std::int64_t d = q[i] - predict(q, i);
            folded |= static_cast<std::uint64_t>(d ^ (d >> 63));
            negative |= d < 0;
        }
        bits += 4 + 32 * (folded != 0 ? static_cast<double>(std::bit_width(folded)) + 1 : negative ? 1 : 0);
    }
    return bits / static_cast<double>(x.size());
}

/// A fifth of the values is missing, behind a coast that moves by a few values from row to row; or one in a
/// hundred, anywhere.
template <class T>
std::vector<T> with_missing(std::vector<T> x, std::size_t row, bool anywhere)
{
    std::mt19937 random(1);
    const auto edge = static_cast<double>(row);
    for (std::size_t i = 0; i < x.size(); i += row) {
        const double coast = edge * (0.2 + 0.1 * std::sin(static_cast<double>(i / row) / 10)) +
                             static_cast<double>(random() % 5) - 2;
        for (std::size_t k = 0; k < std::min(row, x.size() - i); ++k)
            if (anywhere ? random() % 100 == 0 : static_cast<double>(k) < coast)
                x[i + k] = std::numeric_limits<T>::quiet_NaN();
    }
    return x;
}

/// Bits of SZp without and with rows, for movement and as an addend, where values are missing.
template <class T>
void print_missing(const std::string& name, const std::vector<T>& x, const std::vector<double>& bounds,
                   std::size_t row)
{
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    for (const double relative : bounds) {
        const double eb = relative * (static_cast<double>(*high) - static_cast<double>(*low));
        fmt::print("{:22} {:6.0e}", name, relative);
        for (const bool anywhere : {false, true}) {
            const std::vector<T> y = with_missing(x, row, anywhere);
            fmt::print(" | {:7.3f} {:7.3f} | {:7.3f} {:7.3f}", encoded<SZp>(y, eb).bits,
                       encoded<SZp>(y, eb, row).bits, bits_of_addend(y, eb, 0), bits_of_addend(y, eb, row));
        }
        fmt::print("\n");
    }
}

template <class T>
void print(const std::string& name, const std::vector<T>& x, const std::vector<double>& bounds,
           std::size_t row, std::size_t plane)
{
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const auto line = [](const auto& q, std::size_t i) { return i > 0 ? q[i - 1] : 0; };
    const auto second = [&](const auto& q, std::size_t i) {
        return i > 1 ? 2 * q[i - 1] - q[i - 2] : line(q, i);
    };
    const auto flat = [&](const auto& q, std::size_t i) {
        return i > row ? q[i - 1] + q[i - row] - q[i - row - 1] : line(q, i);
    };
    const auto solid = [&](const auto& q, std::size_t i) {
        if (i <= plane + row) return line(q, i);
        return q[i - 1] + q[i - row] - q[i - row - 1] + q[i - plane] - q[i - plane - 1] - q[i - plane - row] +
               q[i - plane - row - 1];
    };
    for (const double relative : bounds) {
        const double eb = relative * (static_cast<double>(*high) - static_cast<double>(*low));
        const counted ours = encoded<SZp>(x, eb), shorter = encoded<Codec::SZe>(x, eb),
                      zfp = encoded<Codec::Zfp>(x, eb), truncated = fixed_length(x, eb, true),
                      rounded = fixed_length(x, eb, false);
        fmt::print(
            "{:22} {:6.0e} | {:7.3f} {:6.4f} | {:7.3f} {:6.4f} | {:7.3f} {:6.4f} | {:7.3f} {:6.4f} | {:7.3f} "
            "{:6.4f} | {:7.3f}",
            name, relative, ours.bits, ours.error, shorter.bits, shorter.error, zfp.bits, zfp.error,
            rounded.bits, rounded.error, truncated.bits, truncated.error, predicted(x, eb, second));
        if (row > 0) fmt::print(" {:7.3f}", predicted(x, eb, flat));
        if (plane > 0) fmt::print(" {:7.3f}", predicted(x, eb, solid));
        const ccoll::field_strides strides(row, plane);
        if (row > 0)
            fmt::print(" | {:7.3f} {:7.3f}", encoded<SZp>(x, eb, strides).bits,
                       encoded<Codec::SZe>(x, eb, strides).bits);
        fmt::print(" | {:7.3f}", bits_of_addend(x, eb, 0));
        if (row > 0) fmt::print(" {:7.3f}", bits_of_addend(x, eb, strides));
        fmt::print("\n");
    }
}

// ---- the codecs of the papers ----

/// Bytes of the values divided by bytes of the frame. Throws if a value is not within the bound.
template <class C, class T>
double ratio(const std::vector<T>& x, double eb)
{
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<C, T>(x.size()));
    const auto r = ccoll::encode<C>(x, frame, eb);
    std::vector<T> back(x.size());
    if (r.code != ccoll::status::ok ||
        ccoll::decode<C>(ccoll::const_byte_span(frame).first(r.bytes), back) != ccoll::status::ok)
        throw std::runtime_error(std::string(C::name) + " failed");
    if (!(worst<T>(x, [&](std::size_t i) { return back[i]; }, eb) <= 1))
        throw std::runtime_error(std::string(C::name) + " breaks its bound");
    return static_cast<double>(x.size() * sizeof(T)) / static_cast<double>(r.bytes);
}

/// The parts of values that orders 0 to 3 predict within the bound in BitZip.
template <class T>
std::array<double, 4> hit_ratios(const std::vector<T>& x, double eb)
{
    namespace bits = ccoll::detail::bitzip;
    constexpr std::size_t chunk = 8192;
    const T limit = bits::limit_of<T>(eb);
    const bits::bit_cut<T> cutter(limit);
    std::array<double, 4> hits{};
    for (std::size_t from = 0; from + chunk <= x.size(); from += chunk) {
        const std::span<const T> in(x.data() + from, chunk);
        const T least = *std::min_element(in.begin(), in.end());
        std::vector<std::uint8_t> symbols(chunk + bits::most_lanes);
        bits::predict_values<bits::beginning::three_kept, bits::most_lanes>(
            in, bits::lane_ranges(chunk), least, limit, symbols.data(),
            [&](std::size_t, std::size_t, T value, std::uint8_t&, T) {
                return std::bit_cast<T>(cutter.cut(ccoll::detail::fields_of<T>::of(value - least)));
            });
        for (std::size_t i = 0; i < chunk; ++i)
            if (symbols[i] < 4) hits[symbols[i]] += 1;
    }
    for (double& h : hits) h /= static_cast<double>(x.size() / chunk * chunk);
    return hits;
}

template <class T>
void print_papers(const std::string& name, const std::vector<T>& x, const std::vector<double>& bounds,
                  double unit = 1)
{
    for (const double bound : bounds) {
        const double eb = bound * unit;
        const auto hits = hit_ratios(x, eb);
        fmt::print(
            "{:22} {} {:6.0e} | {:6.2f} {:6.2f} {:7.2f} {:7.2f} {:7.2f} {:7.2f} | {:6.2f} {:6.2f} | {:5.1f} "
            "{:5.1f} {:5.1f} {:5.1f}\n",
            name, sizeof(T) == 4 ? "f32" : "f64", bound, ratio<Codec::BitCut>(x, eb),
            ratio<Codec::ByteZip>(x, eb), ratio<Codec::BitWise>(x, eb), ratio<Codec::BitZip>(x, eb),
            ratio<Codec::BitMask<Codec::BitZip>>(x, eb), ratio<Codec::BitMask<Codec::BitCut>>(x, eb),
            ratio<SZp>(x, eb), ratio<Codec::Zfp>(x, eb), 100 * hits[0], 100 * hits[1], 100 * hits[2],
            100 * hits[3]);
    }
}

void papers(const std::string& data)
{
    const std::vector<double> bounds{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7};
    fmt::print(
        "{:22} {:3} {:>6} | {:>6} {:>6} {:>7} {:>7} {:>7} {:>7} | {:>6} {:>6} | % predicted by order\n", "",
        "", "", "", "", "", "", "Mask of", "Mask of", "", "");
    fmt::print(
        "{:22} {:3} {:>6} | {:>6} {:>6} {:>7} {:>7} {:>7} {:>7} | {:>6} {:>6} | {:>5} {:>5} {:>5} {:>5}\n",
        "data", "", "bound", "BitCut", "ByteZip", "BitWise", "BitZip", "BitZip", "BitCut", "SZp", "Zfp", "0",
        "1", "2", "3");
    const auto blast = fields::blast_waves(8192);
    print_papers("blast waves", std::vector<float>(blast.begin(), blast.end()), bounds);
    print_papers("blast waves", blast, bounds);
    print_papers("Himeno pressure", fields::himeno_pressure(), bounds);
    print_papers("observation points", fields::observation_points(2366316), bounds);
    print_papers("pinch temperature", fields::pinch_temperature(4386200), bounds);
    print_papers("FFT input", fields::fft_input(2101248), bounds);
    print_papers("smooth sequence", fields::smooth_sequence(1 << 20), bounds);
    if (data.empty()) return;
    const auto range = [](const auto& x) {
        const auto [low, high] = std::minmax_element(x.begin(), x.end());
        return static_cast<double>(*high) - static_cast<double>(*low);
    };
    const std::vector<double> relative{1e-2, 1e-3, 1e-4};
    for (const auto& file : fields::files_of<float>(data)) {
        const auto x = fields::read_middle<float>(file, 1 << 20);
        print_papers(file.filename().string(), x, relative, range(x));
    }
    for (const auto& file : fields::files_of<double>(data)) {
        const auto x = fields::read_middle<double>(file, 1 << 20);
        print_papers(file.filename().string(), x, relative, range(x));
    }
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app{"bits per value of SZp and of other layouts, and true maximum errors in units of the bound"};
    std::vector<double> bounds{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
    std::string data;
    app.add_option("--eb", bounds, "bounds, as fractions of the range")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--data", data, "folder of raw little-endian .f32 and .f64 files")
        ->check(CLI::ExistingDirectory);
    std::size_t row_of_data = 0;
    app.add_option("--row", row_of_data, "length of the rows of the data; 0: they have no shape")
        ->capture_default_str();
    bool only_papers = false;
    app.add_flag("--papers", only_papers,
                 "ratios of the papers' codecs on data of their kinds, absolute bounds; with --data, also "
                 "real fields with parts of their range");
    bool some_missing = false;
    app.add_flag(
        "--missing", some_missing,
        "fields with rows of which a fifth is missing, behind a coast, or one value in a hundred, anywhere");
    CLI11_PARSE(app, argc, argv);
    if (only_papers) {
        papers(data);
        return 0;
    }

    constexpr std::size_t depth = 128, row = fields::grid_edge, plane = row * row, n = plane * depth;
    if (some_missing) {
        fmt::print("{:29} | {:^15} | {:^15} | {:^15} | {:^15}\n", "bits without and with rows", "coast",
                   "addends", "anywhere", "addends");
        print_missing("wave", fields::middle<float>(fields::acoustic_wave(depth).late, n), bounds, row);
        print_missing("turbulence", fields::middle<float>(fields::spectral_turbulence(depth, 1), n), bounds,
                      row);
        if (!data.empty() && row_of_data > 0)
            for (const auto& file : fields::files_of<float>(data))
                print_missing(file.filename().string(), fields::read_middle<float>(file, n), bounds,
                              row_of_data);
        return 0;
    }
    fmt::print(
        "{:22} {:6} | {:^14} | {:^14} | {:^14} | {:^14} | {:^14} | SZp with another predictor, counted\n", "",
        "", "SZp", "SZe", "Zfp", "fixed, rounds", "fixed, trunc.");
    fmt::print("{:22} {:>6}", "field", "eb");
    for (int k = 0; k < 5; ++k) fmt::print(" | {:>7} {:>6}", "bits", "err/eb");
    fmt::print(" | {:>7} {:>7} {:>7} | {:>7} {:>7} | {:>7} {:>7}\n", "order 2", "2-D", "3-D", "shaped", "SZe",
               "addend", "shaped");
    const auto wave = fields::acoustic_wave(depth);
    print("quiet", fields::middle<float>(wave.quiet, n), bounds, row, plane);
    print("wave", fields::middle<float>(wave.late, n), bounds, row, plane);
    const auto turbulence = fields::spectral_turbulence(depth, 1);
    print("turbulence", fields::middle<float>(turbulence, n), bounds, row, plane);
    for (const std::size_t edge : {64u, 32u, 16u}) {
        print(fmt::format("wave {0} x {0}", edge), fields::box<float>(wave.late, edge), bounds, edge,
              edge * edge);
        print(fmt::format("turbulence {0} x {0}", edge), fields::box<float>(turbulence, edge), bounds, edge,
              edge * edge);
    }
    const auto y = fields::spectral_turbulence(depth, 2), z = fields::spectral_turbulence(depth, 3);
    std::vector<float> vectors;
    for (std::size_t i = 0; i < n; ++i)
        for (const auto* component : {&turbulence, &y, &z})
            vectors.push_back(static_cast<float>((*component)[i]));
    print("turbulence, vectors", vectors, bounds, 3 * row, 3 * plane);
    if (!data.empty()) {
        for (const auto& file : fields::files_of<float>(data))
            print(file.filename().string(), fields::read_middle<float>(file, n), bounds, row_of_data, 0);
        for (const auto& file : fields::files_of<double>(data))
            print(file.filename().string(), fields::read_middle<double>(file, n), bounds, row_of_data, 0);
    }
}
