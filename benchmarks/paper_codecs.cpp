// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// paper_codecs.cpp - the tables and figures of the papers that are about codecs alone, on one core:
// throughput, ratios and PSNR (C-Coll, tables I to III and VI; ghZCCL, figure 8 and table 4), and the time of
// bit-wise codecs for one message (Hu and Koibuchi, figure 7; Hu, figure 11). Prints tables, and JSON lines
// with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/codec.hpp>

#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>

#include "paper_fields.hpp"
#include "sample_fields.hpp"

namespace Codec = ccoll::policies::Codec;

namespace {

struct options {
    std::vector<std::string> fields{"wavefronts", "turbulence"};
    std::vector<double> bounds{1e-1, 1e-2, 1e-3, 1e-4};
    std::size_t elements = std::size_t{1} << 22;
    int snapshots = 5, runs = 7;
    std::string json;
};

double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

/// Median seconds of some calls, after one that does not count.
template <class Work>
double seconds_of(int runs, Work work)
{
    std::vector<double> all;
    for (int k = -1; k < runs; ++k) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        if (k >= 0)
            all.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return median(std::move(all));
}

void write(const options& o, const nlohmann::json& row)
{
    if (!o.json.empty()) std::ofstream(o.json, std::ios::app) << row.dump() << '\n';
}

struct three {  // of several snapshots
    std::vector<double> all{};
    double least() const { return *std::min_element(all.begin(), all.end()); }
    double most() const { return *std::max_element(all.begin(), all.end()); }
    double mean() const
    {
        double sum = 0;
        for (const double v : all) sum += v;
        return sum / static_cast<double>(all.size());
    }
};

/// Table rows of one codec on snapshots of a field.
/// @param number  the bound as a part of the range, or bits per value
template <class C>
void print_codec(const options& o, const std::string& name, const std::string& field,
                 const std::vector<std::vector<float>>& snapshots, double range, double number)
{
    const double eb = C::at_rate_of_paper ? number : number * range;
    three ratio, psnr;
    std::vector<double> encode, decode;
    for (const std::vector<float>& x : snapshots) {
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<typename C::tag, float>(x.size()));
        std::vector<float> y(x.size());
        ccoll::encode_result r;
        const double bytes = 4.0 * static_cast<double>(x.size());
        encode.push_back(bytes /
                         seconds_of(o.runs, [&] { r = ccoll::encode<typename C::tag>(x, frame, eb); }));
        const auto written = ccoll::const_byte_span(frame).first(r.bytes);
        decode.push_back(bytes / seconds_of(o.runs, [&] {
                             static_cast<void>(ccoll::decode<typename C::tag>(written, y));
                         }));
        double squares = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            squares += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
        ratio.all.push_back(bytes / static_cast<double>(r.bytes));
        psnr.all.push_back(
            squares > 0 ? 20 * std::log10(range / std::sqrt(squares / static_cast<double>(x.size()))) : 999);
    }
    fmt::print("{:18} {:10} {:6g} | {:8.0f} {:8.0f} | {:7.2f} {:7.2f} {:7.2f} | {:6.1f} {:6.1f} {:6.1f}\n",
               field, name, number, 1e-6 * median(encode), 1e-6 * median(decode), ratio.least(), ratio.mean(),
               ratio.most(), psnr.least(), psnr.mean(), psnr.most());
    std::fflush(stdout);
    write(o, {{"what", "codec"},
              {"field", field},
              {"codec", name},
              {C::at_rate_of_paper ? "rate" : "relative_bound", number},
              {"encode_mb_per_s", 1e-6 * median(encode)},
              {"decode_mb_per_s", 1e-6 * median(decode)},
              {"ratio", ratio.mean()},
              {"ratio_range", {ratio.least(), ratio.most()}},
              {"psnr", psnr.mean()},
              {"psnr_range", {psnr.least(), psnr.most()}}});
}
template <class Tag, bool AtRate = false>
struct paper_codec {
    using tag = Tag;
    static constexpr bool at_rate_of_paper = AtRate;
};

/// ghZCCL, figure 8: a sum of two encoded streams, beside decoding both, adding, and encoding the sum.
void print_sums(const options& o, const std::string& field, const std::vector<float>& x,
                const std::vector<float>& other, double range)
{
    const std::size_t n = x.size();
    std::vector<std::byte> a(ccoll::max_addend_bytes<Codec::SZp, float>(n)), b(a.size()), sum(a.size());
    std::vector<float> y(n), z(n);
    for (const double relative : o.bounds) {
        const double eb = relative * range, bytes = 4.0 * static_cast<double>(n);
        const auto one = ccoll::const_byte_span(a).first(ccoll::encode_addend<Codec::SZp>(x, a, eb).bytes),
                   two =
                       ccoll::const_byte_span(b).first(ccoll::encode_addend<Codec::SZp>(other, b, eb).bytes);
        const double added = seconds_of(o.runs, [&] {
            ccoll::reduce_encoded<Codec::SZp, ccoll::policies::Op::Sum, float>(one, two, sum);
        });
        const double decoded = seconds_of(o.runs, [&] {
            static_cast<void>(ccoll::decode<Codec::SZp>(one, y));
            static_cast<void>(ccoll::decode<Codec::SZp>(two, z));
            for (std::size_t i = 0; i < n; ++i) y[i] += z[i];
            ccoll::encode_addend<Codec::SZp>(y, sum, eb);
        });
        fmt::print("{:18} {:6g} | {:10.2f} {:10.2f} {:6.2f}\n", field, relative, 1e-9 * bytes / added,
                   1e-9 * bytes / decoded, decoded / added);
        write(o, {{"what", "sum"},
                  {"field", field},
                  {"relative_bound", relative},
                  {"homomorphic_gb_per_s", 1e-9 * bytes / added},
                  {"doc_gb_per_s", 1e-9 * bytes / decoded},
                  {"speed_up", decoded / added}});
    }
}

/// Microseconds for a message of this many values of the blast waves.
template <class C, class T>
void print_message(const options& o, const std::string& name, const std::vector<T>& x, double eb)
{
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<C, T>(x.size()));
    std::vector<T> y(x.size());
    ccoll::encode_result r;
    const double encode = seconds_of(101, [&] { r = ccoll::encode<C>(x, frame, eb); });
    const auto written = ccoll::const_byte_span(frame).first(r.bytes);
    const double decode = seconds_of(101, [&] { static_cast<void>(ccoll::decode<C>(written, y)); });
    const double ratio = static_cast<double>(x.size() * sizeof(T)) / static_cast<double>(r.bytes);
    fmt::print("{:16} {} {:6.0e} | {:9.2f} {:9.2f} | {:6.2f}\n", name, sizeof(T) == 4 ? "f32" : "f64", eb,
               1e6 * encode, 1e6 * decode, ratio);
    write(o, {{"what", "message"},
              {"field", "blast waves"},
              {"codec", name},
              {"type", sizeof(T) == 4 ? "f32" : "f64"},
              {"elements", x.size()},
              {"bound", eb},
              {"encode_us", 1e6 * encode},
              {"decode_us", 1e6 * decode},
              {"ratio", ratio}});
}
template <class T>
void print_messages(const options& o, const std::vector<T>& x)
{
    for (const double eb : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
        print_message<Codec::ByteZip>(o, "ByteZip", x, eb);
        print_message<Codec::BitWise>(o, "BitWise", x, eb);
        print_message<Codec::BitZip>(o, "BitZip", x, eb);
        print_message<Codec::BitMask<Codec::BitZip>>(o, "BitMask<BitZip>", x, eb);
        print_message<Codec::BitCut>(o, "BitCut", x, eb);
        print_message<Codec::Zfp>(o, "Zfp", x, eb);
        print_message<Codec::SZp>(o, "SZp", x, eb);
    }
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app{"what the papers show of codecs alone, on one core"};
    options o;
    app.add_option("--field", o.fields, "turbulence, wavefronts, or files *.f32")->check(fields::known);
    app.add_option("--bound", o.bounds, "parts of the range")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--elements", o.elements, "of a snapshot")
        ->check(CLI::Range(1024, 1 << 28))
        ->capture_default_str();
    app.add_option("--snapshots", o.snapshots, "of each field")
        ->check(CLI::Range(2, 100))
        ->capture_default_str();
    app.add_option("--runs", o.runs, "timed runs")->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_option("--json", o.json, "append JSON lines to this file");
    CLI11_PARSE(app, argc, argv);

    fmt::print("{:18} {:10} {:>6} | {:>8} {:>8} | {:^23} | {:^20}\n", "", "", "bound", "MB/s", "MB/s",
               "ratio", "PSNR");
    fmt::print("{:18} {:10} {:>6} | {:>8} {:>8} | {:>7} {:>7} {:>7} | {:>6} {:>6} {:>6}\n", "field", "codec",
               "or bit", "encode", "decode", "min", "mean", "max", "min", "mean", "max");
    std::vector<std::function<void()>> later;
    for (const std::string& field : o.fields) {
        std::vector<std::vector<float>> snapshots;
        double low = 1e300, high = -1e300;
        for (int k = 1; k <= o.snapshots; ++k) {
            snapshots.push_back(fields::sample(field, o.elements, static_cast<unsigned>(k)));
            const auto [least, most] = std::minmax_element(snapshots.back().begin(), snapshots.back().end());
            low = std::min(low, static_cast<double>(*least));
            high = std::max(high, static_cast<double>(*most));
        }
        const std::string name = fields::name_of(field);
        const double range = high - low;
        for (const double bound : o.bounds)
            print_codec<paper_codec<Codec::SZx>>(o, "SZx", name, snapshots, range, bound);
        for (const double bound : o.bounds)
            print_codec<paper_codec<Codec::Zfp>>(o, "ZFP ABS", name, snapshots, range, bound);
        for (const double rate : {4.0, 8.0, 16.0})
            print_codec<paper_codec<Codec::ZfpAtRate, true>>(o, "ZFP FXR", name, snapshots, range, rate);
        for (const double bound : o.bounds)
            print_codec<paper_codec<Codec::SZp>>(o, "SZp", name, snapshots, range, bound);
        later.emplace_back([=, &o, x = snapshots[0], y = snapshots[1]] { print_sums(o, name, x, y, range); });
    }
    fmt::print("\nGB/s of raw values per operand\n{:18} {:>6} | {:>10} {:>10} {:>6}\n", "field", "bound",
               "homomorph.", "DOC", "times");
    for (const auto& sums : later) sums();

    const std::vector<double> blast = fields::blast_waves(8192);
    std::vector<double> refined(65536);  // as many values as the paper's message of doubles
    for (std::size_t i = 0; i < refined.size(); ++i) {
        const std::size_t cell = std::min<std::size_t>(i / 8, 8190);
        refined[i] = blast[cell] + (blast[cell + 1] - blast[cell]) * static_cast<double>(i % 8) / 8;
    }
    fmt::print(
        "\nA message of blast waves: 8192 floats, or 65536 doubles (between cells: a line)\n{:16} {:3} {:>6} "
        "| {:>9} {:>9} | {:>6}\n",
        "codec", "", "bound", "encode us", "decode us", "ratio");
    print_messages(o, std::vector<float>(blast.begin(), blast.end()));
    print_messages(o, refined);
    return 0;
}
