// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// paper_model.cpp - A MODEL of what C-Coll shows on 2 to 128 nodes (figures 11 and 12) and ghZCCL on up to
// 512 GPUs (figures 9 to 11): the cost model (tune/cost_model.hpp) with the speeds and ratios that C-Coll
// states for its codecs, with those of this core, and with those of the H200 of the stored run. Prints
// tables, and JSON lines with --json, which plot_papers.py draws.
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

struct options {
    std::vector<int> ranks{2, 4, 8, 16, 32, 64, 128}, gpus{2, 8, 64, 256, 512};
    std::vector<double> rates{1, 5, 10, 25, 100, 400}, mb{28, 278, 678};
    double latency = 2e-6;
    std::string gpu = "benchmarks/results/gpu_h200/szp.jsonl", json;
};

void write(const options& o, const nlohmann::json& row)
{
    if (!o.json.empty()) std::ofstream(o.json, std::ios::app) << row.dump() << '\n';
}

/// Once around each message: nothing is forwarded encoded.
constexpr ccoll::placement_rules per_hop{"PerHop", false, false};

struct variant {
    std::string name;
    plan path;
    codec_figures figures;
    bool overlaps;  ///< link and codec; otherwise one after the other, in one piece
};

double seconds_of(const variant& v, int p, double n, double latency, double gbit)
{
    static std::map<std::tuple<std::string, std::string, int>, schedule_work> known;
    const auto [place, is_new] = known.try_emplace({v.path.algorithm, v.path.rules.name, p});
    if (is_new) place->second = v.path.work(p);
    const slicing cut = v.overlaps ? v.path.cut(static_cast<std::size_t>(n), p) : slicing{};
    const prediction t =
        predict(place->second, n, {latency, 8e-9 / gbit}, codec_in(v.path, v.figures, p), 1, cut);
    return v.overlaps ? t.least_seconds + 0.25 * (t.seconds - t.least_seconds)
                      : t.seconds;  // as model.cpp found in the lab
}

/// MB/s and a ratio, as a paper states them.
codec_figures stated(double encode_mb_per_s, double decode_mb_per_s, double ratio, double combine_s)
{
    codec_figures f;
    f.one = {4e-6 / encode_mb_per_s, 0, 4e-6 / decode_mb_per_s, combine_s, 32 / ratio};
    return f;
}

template <class Algo>
variant of(std::string name, coding codec, ccoll::placement_rules rules, codec_figures figures, bool overlaps)
{
    plan path = plan_of<ccoll::collective::allreduce, Algo>(codec);
    path.rules = rules;
    return {std::move(name), path, std::move(figures), overlaps};
}

/// The speed of `v`, in multiples of that of `first`.
void print_speed(const options& o, const std::string& figure, const std::string& codecs, const variant& first,
                 const variant& v, int p, double mb, double rate)
{
    const double n = mb * 1e6 / 4, plain = seconds_of(first, p, n, o.latency, rate),
                 s = seconds_of(v, p, n, o.latency, rate);
    fmt::print(" {:8.2f}", plain / s);
    write(o, {{"what", "paper model"},
              {"figure", figure},
              {"codecs", codecs},
              {"variant", v.name},
              {"ranks", p},
              {"mb", mb},
              {"gbit", rate},
              {"seconds", s},
              {"speed_up", plain / s}});
}
void print_speeds(const options& o, const std::string& figure, const std::string& codecs,
                  const std::vector<variant>& all, int p, double mb)
{
    fmt::print("\n{}: {} ranks, {:g} MB, {}: times the speed of the ring without a codec\n{:34}", figure, p,
               mb, codecs, "");
    for (const double rate : o.rates) fmt::print(" {:>8}", fmt::format("{:g} Gb/s", rate));
    for (const variant& v : all) {
        fmt::print("\n{:34}", v.name);
        for (const double rate : o.rates) print_speed(o, figure, codecs, all[0], v, p, mb, rate);
    }
    fmt::print("\n");
}

/// The same over the number of ranks, on links of one rate.
void print_over_ranks(const options& o, const std::string& figure, const std::string& codecs,
                      const std::vector<variant>& all, const std::vector<int>& ranks, double mb, double rate)
{
    fmt::print("\n{}: {:g} MB, links of {:g} Gb/s, {}: times the speed of the ring without a codec\n{:34}",
               figure, mb, rate, codecs, "ranks");
    for (const int p : ranks) fmt::print(" {:>8}", p);
    for (const variant& v : all) {
        fmt::print("\n{:34}", v.name);
        for (const int p : ranks) print_speed(o, figure, codecs, all[0], v, p, mb, rate);
    }
    fmt::print("\n");
}

/// The rate of the links at which this variant has this speed-up.
double rate_for(const options& o, const variant& plain, const variant& v, int p, double mb, double speed_up)
{
    double low = 1e-3, high = 1e5;
    for (int i = 0; i < 60; ++i) {
        const double rate = std::sqrt(low * high), n = mb * 1e6 / 4;
        (seconds_of(plain, p, n, o.latency, rate) / seconds_of(v, p, n, o.latency, rate) > speed_up ? low
                                                                                                    : high) =
            rate;
    }
    return low;
}

void c_coll(const options& o)
{
    const auto field = [](std::size_t n, unsigned seed) { return fields::wavefronts(n, seed); };
    const floats sample = field(1 << 18, 1);
    const auto [low, high] = std::minmax_element(sample.begin(), sample.end());
    const double eb = 1e-3 * static_cast<double>(*high - *low);
    const codec_figures none = measure(coding::none, field, eb);
    const double combine = none.one.combine_s;
    const auto variants = [&](const codec_figures& szx, const codec_figures& abs,
                              const codec_figures& fixed) {
        return std::vector<variant>{
            of<Algo::Ring>("no codec", coding::none, ccoll::decode_reduce_encode, none, true),
            of<Algo::Ring>("CPR-P2P, ZFP at 4 bits", coding::pipe_szx, per_hop, fixed, false),
            of<Algo::Ring>("CPR-P2P, ZFP at a bound", coding::pipe_szx, per_hop, abs, false),
            of<Algo::Ring>("CPR-P2P, SZx", coding::pipe_szx, per_hop, szx, false),
            of<Algo::Ring>("once where data is moved, SZx", coding::pipe_szx, ccoll::decode_reduce_encode,
                           szx, false),
            of<Algo::Ring>("and overlap (C-Allreduce)", coding::pipe_szx, ccoll::decode_reduce_encode, szx,
                           true)};
    };
    // Table I and II, RTM, 1e-3 and 4 bits: MB/s and mean ratio.
    const auto theirs = variants(stated(1479, 2723, 49.4, combine), stated(1082, 1141, 58.4, combine),
                                 stated(610, 601, 8, combine));
    std::vector<variant> ours = variants(measure(coding::pipe_szx, field, eb), {}, {});
    ours.erase(ours.begin() + 1, ours.begin() + 3);
    ours.push_back(of<Algo::Ring>("homomorphic, SZp", coding::szp, {"Homomorphic", true, true},
                                  measure(coding::szp, field, eb), true));
    for (const double mb : o.mb)
        print_speeds(o, "C-Coll, figure 11", "codecs as C-Coll states them", theirs, 128, mb);
    print_speeds(o, "C-Coll, figure 11", "codecs of this core, wave fronts", ours, 128, 678);
    for (const double rate : {6.0, 100.0})
        print_over_ranks(o, "C-Coll, figure 12", "codecs as C-Coll states them", theirs, o.ranks, 678, rate);
    fmt::print(
        "\nC-Allreduce is 1.8 times as fast (claimed) on 128 nodes, 678 MB, where plain MPI moves its bytes "
        "at {:.1f} Gb/s; it loses above {:.1f}, and CPR-P2P with SZx above {:.1f}\n",
        rate_for(o, theirs[0], theirs[5], 128, 678, 1.8), rate_for(o, theirs[0], theirs[5], 128, 678, 1),
        rate_for(o, theirs[0], theirs[3], 128, 678, 1));
}

/// What the H200 took in the stored run, with turbulence at 1e-3; nothing if the file is not there.
std::optional<codec_figures> of_gpu(const std::string& path)
{
    std::ifstream file(path);
    codec_figures f;
    double of_addend = 0;
    for (std::string line; std::getline(file, line);) {
        const nlohmann::json r = nlohmann::json::parse(line, nullptr, false);
        if (r.value("field", "") != "turbulence" || r.value("type", "") != "f32" ||
            r.value("relative_bound", 0.0) != 1e-3)
            continue;
        const double each = 1e-6 * r.value("median_us", 0.0) / (r.value("raw_bytes", 0.0) / 4);
        const std::string what = r.value("what", "");
        if (what == "encode_addend") {
            f.one.encode_s = each;
            of_addend = f.one.bits_per_element = r.value("bits_per_value", 0.0);
        }
        if (what == "decode_addend") f.one.decode_s = each;
        if (what == "add") {
            f.one.add_s = each;
            f.summed = {of_addend, r.value("bits_per_value", 0.0)};
        }
    }
    if (f.summed.empty() || f.one.decode_s == 0) return std::nullopt;
    f.one.combine_s = f.one.decode_s;  // two vectors are read and one is written, as a decoder nearly does
    return f;
}

void ghzccl(const options& o)
{
    const std::optional<codec_figures> gpu = of_gpu(o.gpu);
    if (!gpu) {
        fmt::print("\nno figures of a GPU: {} is not there\n", o.gpu);
        return;
    }
    codec_figures plain;
    plain.one = no_codec(4, gpu->one.combine_s);
    constexpr ccoll::placement_rules homomorphic{"Homomorphic", true, true};
    const std::vector<variant> all{
        of<Algo::Ring>("no codec, ring", coding::none, ccoll::decode_reduce_encode, plain, true),
        of<Algo::Ring>("DOC, ring", coding::szp, ccoll::decode_reduce_encode, *gpu, true),
        of<Algo::Ring>("homomorphic, ring", coding::szp, homomorphic, *gpu, true),
        of<Algo::RecursiveDoubling>("DOC, recursive doubling", coding::szp, ccoll::decode_reduce_encode, *gpu,
                                    true),
        of<Algo::RecursiveDoubling>("homomorphic, recursive doubling", coding::szp, homomorphic, *gpu, true)};
    print_speeds(o, "ghZCCL, figure 10", "SZp of an H200, turbulence", all, 64, 600);
    for (const double rate : {100.0, 400.0})
        print_over_ranks(o, "ghZCCL, figure 11", "SZp of an H200, turbulence", all, o.gpus, 600, rate);
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app{"a model of the figures for which 128 nodes or 512 GPUs would be needed"};
    options o;
    app.add_option("--ranks", o.ranks, "nodes of C-Coll")->check(CLI::Range(2, 1024))->capture_default_str();
    app.add_option("--gpus", o.gpus, "of ghZCCL")->check(CLI::Range(2, 1024))->capture_default_str();
    app.add_option("--gbit", o.rates, "of the links, Gb/s")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--mb", o.mb, "of the vector")->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--latency", o.latency, "of a message, seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--gpu", o.gpu, "stored figures of a GPU")->capture_default_str();
    app.add_option("--json", o.json, "append JSON lines to this file");
    CLI11_PARSE(app, argc, argv);
    fmt::print("A MODEL, not a measurement: allreduce on links of one rate, {:g} us for each message.\n",
               1e6 * o.latency);
    c_coll(o);
    ghzccl(o);
    return 0;
}
