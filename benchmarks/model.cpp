// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// model.cpp - where compression pays on machines that are not here: the cost model (tune/cost_model.hpp) on
// up to 65,536 ranks and links of up to 400 Gb/s. Nothing in it is a measurement but the speeds and ratios of
// the codecs. model_lab.cpp compares the model with calls. Prints tables, and JSON lines with --json, which
// plot_model.py draws.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <optional>

#include "modelled.hpp"

using namespace ccoll::policies;
using namespace modelled;

namespace {

/// The work of a schedule on any number of ranks. Where it would take too long to go through it, p is a power
/// of two, and the figures of fewer ranks are continued: shares are a + b/p, numbers of messages a + b log2
/// p. Fails if the schedule does not do what this says.
schedule_work continued_work(const plan& of, int p)
{
    constexpr long long most = 1LL << 24;
    const auto is_small = [&](int ranks) {
        return of.path.rotates || static_cast<long long>(ranks) * of.path.blocks(ranks) <= most;
    };
    if (is_small(p)) return of.work(p);
    static std::map<std::string, std::array<schedule_work, 3>> known;
    std::array<schedule_work, 3>& w = known[std::string(of.operation) + of.algorithm + of.codec_name()];
    if (w[0].path.messages == 0)
        for (int i = 0; i < 3; ++i) w[static_cast<std::size_t>(i)] = of.work(512 << i);
    const auto continued = [&](auto member, double at, double x0, double x1, double x2) {
        const double y0 = member(w[0]), y1 = member(w[1]), y2 = member(w[2]), slope = (y1 - y0) / (x1 - x0);
        if (std::fabs(y0 + slope * (x2 - x0) - y2) > 1e-9 * std::fabs(y2) + 1e-12)
            throw std::runtime_error("a schedule grows in another way");
        return y0 + slope * (at - x0);
    };
    const auto shares = [&](auto which) {
        const auto of_p = [&](double work_shares::* m) {
            return continued([&](const schedule_work& s) { return which(s).*m; }, 1.0 / p, 1.0 / 512,
                             1.0 / 1024, 1.0 / 2048);
        };
        const double messages =
            continued([&](const schedule_work& s) { return which(s).messages; }, std::log2(p), 9, 10, 11);
        return work_shares{messages,
                           of_p(&work_shares::sent),
                           of_p(&work_shares::encoded),
                           of_p(&work_shares::added),
                           of_p(&work_shares::decoded),
                           of_p(&work_shares::combined)};
    };
    return {shares([](const schedule_work& s) { return s.path; }),
            shares([](const schedule_work& s) { return s.busiest; })};
}

schedule_work work_at(const plan& of, int p)
{
    static std::map<std::tuple<std::string, coding, int>, schedule_work> known;
    const auto [place, is_new] = known.try_emplace({of.algorithm, of.codec, p});
    if (is_new) place->second = continued_work(of, p);
    return place->second;
}

/// By how much links that several messages share are slower. Neighbours in rank are neighbours in the
/// network.
struct network {
    std::string name;
    std::vector<int> edges{};   ///< of a torus; empty: a fat tree
    double oversubscribed = 1;  ///< of a fat tree above its leaves
    int leaf = 32;              ///< ranks at a leaf

    /// In a ring, messages go to neighbours. In the other schedules the ranks of a step are a power of two
    /// apart: on a torus such messages share the links of a ring of nodes, in a fat tree those above the
    /// leaves.
    double factor(const plan& of, int p) const
    {
        if (std::string(of.algorithm) == "Ring") return 1;
        double slow = 0, all = 0;
        for (int k = 1; k < p; k *= 2) {
            const double share = std::string(of.algorithm) == "Rabenseifner" ? 1.0 / k : 1.0;  // of the bytes
            slow += share * at(k);
            all += share;
        }
        return all > 0 ? slow / all : 1;
    }

private:
    double at(int distance) const
    {
        if (edges.empty()) return distance >= leaf ? oversubscribed : 1;
        int along = distance;
        for (const int edge : edges) {
            if (along < edge) return std::max(1, std::min(along, edge - along));
            along /= edge;
        }
        return 1;
    }
};

struct machine {
    double latency_s, seconds_per_byte;
    network net{"full bandwidth"};
};

/// In the lab, calls took the least time that the model allows plus a quarter of the way to the most.
double expected(const prediction& t) { return t.least_seconds + 0.25 * (t.seconds - t.least_seconds); }

struct found {
    double seconds = 1e300;
    const char* algorithm = "";
};
found fastest(const std::vector<plan>& plans, coding codec, const codec_figures& figures, int p, double n,
              const machine& m)
{
    found best;
    for (const plan& each : plans) {
        if (each.codec != codec) continue;
        const link_model link{m.latency_s, m.seconds_per_byte * m.net.factor(each, p)};
        const double s = expected(predict(work_at(each, p), n, link, codec_in(each, figures, p), 1,
                                          each.cut(static_cast<std::size_t>(n), p)));
        if (s < best.seconds) best = {s, each.algorithm};
    }
    return best;
}

struct candidate_codec {
    std::string name;
    coding codec;
    codec_figures figures;
    codec_figures plain;  ///< without a codec, where this codec runs
};

/// What the H200 took in the stored run; nothing if the file is not there.
std::optional<candidate_codec> of_gpu(const std::string& path)
{
    std::ifstream file(path);
    candidate_codec gpu{"SZp, H200", coding::szp, {}, {}};
    double of_addend = 0;
    for (std::string line; std::getline(file, line);) {
        const nlohmann::json r = nlohmann::json::parse(line, nullptr, false);
        if (r.value("field", "") != "turbulence" || r.value("type", "") != "f32" ||
            r.value("relative_bound", 0.0) != 1e-3)
            continue;
        const double each = 1e-6 * r.value("median_us", 0.0) / (r.value("raw_bytes", 0.0) / 4);
        const std::string what = r.value("what", "");
        if (what == "encode_addend") {
            gpu.figures.one.encode_s = each;
            of_addend = gpu.figures.one.bits_per_element = r.value("bits_per_value", 0.0);
        }
        if (what == "decode_addend") gpu.figures.one.decode_s = each;
        if (what == "add") {
            gpu.figures.one.add_s = each;
            gpu.figures.summed = {of_addend, r.value("bits_per_value", 0.0)};
        }
    }
    if (gpu.figures.summed.empty() || gpu.figures.one.decode_s == 0) return std::nullopt;
    // Reading and writing floats takes about as long as a decoder.
    gpu.plain.one = no_codec(4, gpu.figures.one.decode_s);
    return gpu;
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app{"where compression pays, by the cost model: allreduce of f32"};
    std::string json, gpu = "benchmarks/results/gpu_h200/szp.jsonl", field = "turbulence";
    double latency = 2e-6, relative = 1e-3;
    std::vector<int> ranks{4, 16, 64, 256, 1024, 4096, 16384, 65536};
    std::vector<double> rates{1, 10, 25, 100, 200, 400}, mib{1, 16, 64, 256};
    app.add_option("--ranks", ranks, "powers of two")->check(CLI::Range(2, 1 << 20))->capture_default_str();
    app.add_option("--gbit", rates, "of the links, Gb/s")->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--mib", mib, "of the vector")->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--latency", latency, "of a message, seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--field", field, "turbulence or wavefronts")
        ->check(CLI::IsMember({"turbulence", "wavefronts"}))
        ->capture_default_str();
    app.add_option("--bound", relative, "part of the range")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--gpu", gpu, "stored figures of a GPU")->capture_default_str();
    app.add_option("--json", json, "append JSON lines to this file");
    CLI11_PARSE(app, argc, argv);
    for (const int p : ranks)
        if ((p & (p - 1)) != 0) {
            fmt::print(stderr, "--ranks takes powers of two, and found {}\n", p);
            return 2;
        }

    using ccoll::collective::allreduce;
    std::vector<plan> plans;
    for (const coding c : {coding::none, coding::szp, coding::pipe_szx}) {
        plans.push_back(plan_of<allreduce, Algo::Ring>(c));
        plans.push_back(plan_of<allreduce, Algo::RecursiveDoubling>(c));
        plans.push_back(plan_of<allreduce, Algo::Rabenseifner>(c));
    }
    const auto values = [&](std::size_t n, unsigned seed) {
        return field == "turbulence" ? fields::turbulence(n, seed) : fields::wavefronts(n, seed);
    };
    const floats sample = values(1 << 18, 1);
    const auto [lowest, highest] = std::minmax_element(sample.begin(), sample.end());
    const double eb = relative * static_cast<double>(*highest - *lowest);
    const codec_figures none = measure(coding::none, values, eb);
    std::vector<candidate_codec> codecs{
        {"SZp, a core", coding::szp, measure(coding::szp, values, eb), none},
        {"PipeSZx, a core", coding::pipe_szx, measure(coding::pipe_szx, values, eb), none}};
    if (field == "turbulence" && relative == 1e-3)
        if (const auto device = of_gpu(gpu)) codecs.push_back(*device);

    const auto write = [&](nlohmann::json row) {
        if (!json.empty()) std::ofstream(json, std::ios::app) << row.dump() << '\n';
    };
    fmt::print("A MODEL, not a measurement: allreduce of {} at {:g} of its range, {:g} us per message.\n",
               field, relative, 1e6 * latency);
    for (const candidate_codec& c : codecs) {
        const codec_model& m = c.figures.one;
        fmt::print(
            "{}: encode {:.4f}, add {:.4f}, decode {:.4f} ns per value; {:.2f} bits, sums of 8 {:.2f}\n",
            c.name, 1e9 * m.encode_s, 1e9 * m.add_s, 1e9 * m.decode_s, m.bits_per_element, c.figures.bits(8));
    }
    const auto speedup = [&](const candidate_codec& c, int p, double bytes, const machine& m) {
        const found plain = fastest(plans, coding::none, c.plain, p, bytes / 4, m),
                    ours = fastest(plans, c.codec, c.figures, p, bytes / 4, m);
        return std::tuple(plain.seconds / ours.seconds, plain, ours);
    };
    for (const candidate_codec& c : codecs)
        for (const double size : mib) {
            fmt::print("\n{}, {:g} MiB: times the speed of the best schedule without a codec\n{:>8}", c.name,
                       size, "ranks");
            for (const double rate : rates) fmt::print(" {:>8}", fmt::format("{:g} Gb/s", rate));
            for (const int p : ranks) {
                fmt::print("\n{:8}", p);
                for (const double rate : rates) {
                    const auto [gain, plain, ours] = speedup(c, p, size * 1048576, {latency, 8e-9 / rate});
                    fmt::print(" {:8.2f}", gain);
                    write({{"what", "model"},
                           {"codec", c.name},
                           {"mib", size},
                           {"ranks", p},
                           {"gbit", rate},
                           {"speed_up", gain},
                           {"plain_s", plain.seconds},
                           {"plain", plain.algorithm},
                           {"ccoll_s", ours.seconds},
                           {"ccoll", ours.algorithm}});
                }
            }
            fmt::print("\n");
        }

    fmt::print("\nThe rate above which compression loses, Gb/s\n{:>18} {:>8}", "", "MiB");
    for (const int p : ranks) fmt::print(" {:>8}", p);
    for (const candidate_codec& c : codecs)
        for (const double size : mib) {
            fmt::print("\n{:>18} {:8}", c.name, size);
            for (const int p : ranks) {
                double low = 1e-3, high = 1e5;  // Gb/s
                for (int i = 0; i < 60; ++i) {
                    const double rate = std::sqrt(low * high);
                    (std::get<0>(speedup(c, p, size * 1048576, {latency, 8e-9 / rate})) > 1 ? low : high) =
                        rate;
                }
                fmt::print(" {:>8}", low > 9e4    ? "always"
                                     : low < 2e-3 ? "never"
                                                  : fmt::format("{:.3g}", low));
                write({{"what", "crossover"}, {"codec", c.name}, {"mib", size}, {"ranks", p}, {"gbit", low}});
            }
        }

    fmt::print("\n\nNetworks, 64 ranks, 64 MiB, links of 100 Gb/s: ms without a codec, and with\n");
    for (const network& net :
         {network{"full bandwidth"}, network{"torus of 4 x 4 x 4", {4, 4, 4}},
          network{"torus of 8 x 8", {8, 8}}, network{"fat tree, 1:2 above 8 ranks", {}, 2, 8},
          network{"fat tree, 1:4 above 8 ranks", {}, 4, 8}}) {
        fmt::print("{:>30}", net.name);
        for (const candidate_codec& c : codecs) {
            const auto [gain, plain, ours] = speedup(c, 64, 64 * 1048576.0, {latency, 8e-9 / 100, net});
            fmt::print("   {}: {:.2f} ({}) {:.2f} ({})", c.name, 1e3 * plain.seconds, plain.algorithm,
                       1e3 * ours.seconds, ours.algorithm);
            write({{"what", "network"},
                   {"codec", c.name},
                   {"network", net.name},
                   {"plain_s", plain.seconds},
                   {"plain", plain.algorithm},
                   {"ccoll_s", ours.seconds},
                   {"ccoll", ours.algorithm}});
        }
        fmt::print("\n");
    }
    fmt::print(
        "\nTwo levels, 64 nodes of 8 ranks that share a link of 100 Gb/s, 64 MiB per rank: speed-up, if sums "
        "within a node take no time\n");
    for (const candidate_codec& c : codecs) {
        const auto [gain, plain, ours] = speedup(c, 64, 64 * 1048576.0, {latency, 8e-9 / 100});
        const auto [flat, flat_plain, flat_ours] = speedup(c, 512, 64 * 1048576.0, {latency, 8 * 8e-9 / 100});
        fmt::print("{:>18}: {:.2f} on two levels, {:.2f} on one level\n", c.name, gain, flat);
    }
    return 0;
}
