// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// paper_torus.cpp - MODELS of the 64 nodes that Hu and Koibuchi (figures 13 to 18) and Hu (figures 12 to 14)
// simulate: latency against accepted traffic, flit by flit (torus.hpp), and the time of messages and
// applications whose links are shared. Only ratios and the speed of this core's codecs are measured. Prints
// tables, and JSON lines with --json, which plot_papers.py draws.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/codec.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include "paper_fields.hpp"
#include "torus.hpp"

namespace Codec = ccoll::policies::Codec;

namespace {

struct options {
    std::vector<double> ratios{1, 1.5, 2, 3, 6};
    int cycles = 10000;
    std::string json;
};

void write(const options& o, const nlohmann::json& row)
{
    if (!o.json.empty()) std::ofstream(o.json, std::ios::app) << row.dump() << '\n';
}

const char* name_of(torus::pattern p)
{
    return p == torus::pattern::uniform     ? "random uniform"
           : p == torus::pattern::transpose ? "matrix transpose"
                                            : "bit reversal";
}

/// Figure 18.
void latency_against_traffic(const options& o, torus::pattern p)
{
    constexpr int packet = 32, codec_cycles = 40;
    double plain_throughput = 0, plain_latency = 0;
    fmt::print("\n{}: flits accepted per node and cycle / cycles of latency, by what nodes offer\n{:>7}",
               name_of(p), "ratio");
    std::vector<double> offers;
    for (double load = 0.05; load < 6; load *= 1.5) offers.push_back(load);
    for (const double load : offers) fmt::print(" {:>11.2f}", load);
    fmt::print(" | {:>6} {:>6} {:>8}\n", "most", "times", "at least");
    for (const double ratio : o.ratios) {
        const int length = static_cast<int>(std::ceil(packet / ratio));
        double most = 0, least = 0;
        fmt::print("{:7}", ratio);
        for (const double load : offers) {
            if (load > packet) break;
            torus::network net(p, length, packet, ratio > 1 ? codec_cycles : 0);
            const torus::outcome r = net.run(load, 3000, o.cycles);
            if (least == 0) least = r.latency;
            most = std::max(most, r.accepted);
            fmt::print(" {:>11}", fmt::format("{:.2f}/{:.0f}", r.accepted, r.latency));
            std::fflush(stdout);
            write(o, {{"what", "traffic"},
                      {"pattern", name_of(p)},
                      {"compression", ratio},
                      {"offered", load},
                      {"accepted", r.accepted},
                      {"latency_cycles", r.latency}});
        }
        if (ratio == 1) {
            plain_throughput = most;
            plain_latency = least;
        }
        fmt::print(" | {:6.3f} {:6.2f} {:+8.0f}\n", most, most / plain_throughput, least - plain_latency);
        write(o, {{"what", "throughput"},
                  {"pattern", name_of(p)},
                  {"compression", ratio},
                  {"accepted", most},
                  {"speed_up", most / plain_throughput},
                  {"latency_cycles", least}});
    }
}

struct coded {
    double ratio = 1, seconds = 0;  ///< of encoding and decoding on this core
};
template <class C, class T>
coded code(const std::vector<T>& x, double eb)
{
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<C, T>(x.size()));
    std::vector<T> y(x.size());
    double best = 1e9;
    ccoll::encode_result r;
    for (int k = 0; k < 9; ++k) {
        const auto begin = std::chrono::steady_clock::now();
        r = ccoll::encode<C>(x, frame, eb);
        static_cast<void>(ccoll::decode<C>(ccoll::const_byte_span(frame).first(r.bytes), y));
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return {static_cast<double>(x.size() * sizeof(T)) / static_cast<double>(r.bytes), best};
}

/// Their machine: links of 200 Gb/s, 100 ns for a switch, nodes of 5 TFlops.
constexpr double seconds_per_byte = 8 / 200e9, per_switch = 100e-9, flops = 5e12;

struct job {
    std::string what;
    double compute_s;   ///< per step
    double messages_s;  ///< latencies of all messages of a step
    double wire_s;      ///< of a step, without compression
    double codings;     ///< encodings and decodings of the whole sample, one after another
};

template <class C, class T>
void print_job(const options& o, const job& j, const std::string& codec, const std::vector<T>& x, double eb)
{
    const coded c = code<C>(x, eb);
    const double plain = j.compute_s + j.messages_s + j.wire_s,
                 ours = j.compute_s + j.messages_s + j.wire_s / c.ratio,
                 with_codec = ours + j.codings * c.seconds;
    fmt::print("{:34} {:14} {:6.0e} | {:6.2f} {:9.3f} {:9.3f}\n", j.what, codec, eb, c.ratio, ours / plain,
               with_codec / plain);
    write(o, {{"what", "64 nodes"},
              {"job", j.what},
              {"codec", codec},
              {"bound", eb},
              {"ratio", c.ratio},
              {"relative_time", ours / plain},
              {"relative_time_with_this_core", with_codec / plain}});
}
template <class T>
void print_job(const options& o, const job& j, const std::vector<T>& x, const std::vector<double>& bounds)
{
    for (const double eb : bounds) {
        print_job<Codec::ByteZip>(o, j, "ByteZip", x, eb);
        print_job<Codec::BitWise>(o, j, "BitWise", x, eb);
        print_job<Codec::BitZip>(o, j, "BitZip", x, eb);
        print_job<Codec::BitMask<Codec::BitZip>>(o, j, "BitMask<BitZip>", x, eb);
        print_job<Codec::SZp>(o, j, "SZp", x, eb);
    }
}

void messages_of_64_nodes(const options& o)
{
    fmt::print(
        "\n64 nodes on a 4 x 4 x 4 torus, links of 200 Gb/s. Time relative to no compression: codec free, "
        "and on this core\n{:34} {:14} {:>6} | {:>6} {:>9} {:>9}\n",
        "", "codec", "bound", "ratio", "free", "this core");
    const std::vector<double> bounds{1e-6, 1e-4, 1e-2};
    const std::vector<double> blast = fields::blast_waves(8192);
    const std::vector<float> shorter(blast.begin(), blast.end());
    for (const torus::pattern p :
         {torus::pattern::uniform, torus::pattern::transpose, torus::pattern::bit_reversal}) {
        double busiest = 0;
        int longest = 0;
        for (unsigned seed = 1; seed <= 20; ++seed) {
            const torus::sharing s = torus::share_links(p, seed);
            busiest += s.busiest / 20;
            longest = std::max(longest, s.longest);
        }
        const double hops = per_switch * (longest + 1);
        print_job(o,
                  {fmt::format("Ping Pong, f32, {}", name_of(p)), 0, hops,
                   busiest * 8192 * 4 * seconds_per_byte, 1},
                  shorter, bounds);
        print_job(o,
                  {fmt::format("Ping Pong, f64, {}", name_of(p)), 0, hops,
                   busiest * 8192 * 8 * seconds_per_byte, 1},
                  blast, bounds);
    }
    // Himeno, size S: 128 x 64 x 64 points on 4 x 4 x 4 nodes, 34 operations for each; two faces of each of
    // three dimensions
    {
        const double points = 128 * 64 * 64 / 64.0, faces = 2 * (32 * 16 + 32 * 16 + 16 * 16);
        const std::vector<float> plane = fields::himeno_pressure();
        const double share = faces / static_cast<double>(plane.size());
        print_job(
            o,
            {"Himeno, S", 34 * points / flops, 3 * 2 * per_switch, faces * 4 * seconds_per_byte / 2, share},
            plane, bounds);
    }
    // k-means: the root sends all values to all nodes in each iteration, by a binomial tree; 100 clusters.
    const auto k_means = [&](const char* name, const std::vector<double>& x) {
        const double n = static_cast<double>(x.size());
        print_job(o,
                  {fmt::format("k-means, {}", name), 3 * n / 64 * 100 / flops, 6 * 4 * per_switch,
                   6 * n * 8 * seconds_per_byte, 1},
                  x, bounds);
    };
    k_means("observation points", fields::observation_points(2366316));
    k_means("pinch temperature", fields::pinch_temperature(4386200));
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app{"models of the 64 nodes that two papers simulate"};
    options o;
    std::vector<std::string> parts{"traffic", "messages"};
    app.add_option("--part", parts,
                   "traffic: latency against accepted traffic; messages: times of messages and applications")
        ->check(CLI::IsMember({"traffic", "messages"}))
        ->capture_default_str();
    app.add_option("--ratio", o.ratios, "compression of the packets; the first one is 1")
        ->check(CLI::Range(1.0, 32.0))
        ->capture_default_str();
    app.add_option("--cycles", o.cycles, "after 3000 that do not count")
        ->check(CLI::Range(100, 10000000))
        ->capture_default_str();
    app.add_option("--json", o.json, "append JSON lines to this file");
    CLI11_PARSE(app, argc, argv);
    fmt::print("MODELS, not measurements: a simulated torus of 4 x 4 x 4 nodes.\n");
    for (const std::string& part : parts) {
        if (part == "messages") messages_of_64_nodes(o);
        else
            for (const torus::pattern p : {torus::pattern::uniform, torus::pattern::transpose})
                latency_against_traffic(o, p);
    }
    return 0;
}
