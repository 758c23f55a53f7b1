// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// osu.cpp - latencies of plain MPI and of plans of ccoll, in turns, from 8 bytes to 64 MiB. The tables have
// the layout of the OSU micro-benchmarks with their option -f, so that scripts that read those can read
// these. Unlike theirs, buffers hold a field and not a constant, because a codec makes a constant as short as
// you like. JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/ccoll.hpp>

#include <fstream>
#include <functional>

#include "over_mpi.hpp"
#include "sample_fields.hpp"

using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;

struct latency {
    std::size_t bytes;
    double average, least, most;  ///< of the ranks' means, us
    int iterations;
};

struct series {
    std::string name;
    std::function<void(const floats&, floats&, std::size_t, double)> call;
    std::vector<latency> rows{};
};

struct options {
    std::vector<std::string> operations{"allreduce", "bcast", "alltoall"};
    std::string field = "turbulence", link = "unknown", json;
    std::size_t least = 8, most = std::size_t{64} << 20;
    double relative = 1e-3, budget_s = 0.3;
};

template <class... P>
series allreduces(std::string name)
{
    return {std::move(name), [](const floats& x, floats& y, std::size_t n, double eb) {
                ccoll::allreduce<P..., RuntimeBound>(x.data(), y.data(), n, MPI_COMM_WORLD, eb);
            }};
}
template <class... P>
series bcasts(std::string name)
{
    return {std::move(name), [](const floats&, floats& y, std::size_t n, double eb) {
                ccoll::bcast<P..., RuntimeBound>(y.data(), n, 0, MPI_COMM_WORLD, eb);
            }};
}
/// OSU counts the bytes for each rank.
template <class... P>
series alltoalls(std::string name)
{
    return {std::move(name), [](const floats& x, floats& y, std::size_t n, double eb) {
                ccoll::alltoall<P..., RuntimeBound>(x.data(), y.data(), n, MPI_COMM_WORLD, eb);
            }};
}

std::vector<series> series_of(const std::string& operation)
{
    if (operation == "allreduce")
        return {{"MPI",
                 [](const floats& x, floats& y, std::size_t n, double) {
                     MPI_Allreduce(x.data(), y.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM,
                                   MPI_COMM_WORLD);
                 }},
                allreduces<Algo::Ring, Codec::SZp>("ccoll, Ring, SZp"),
                allreduces<Algo::RecursiveDoubling, Codec::SZp>("ccoll, RecursiveDoubling, SZp"),
                allreduces<Codec::Auto>("ccoll, Codec::Auto")};
    if (operation == "bcast")
        return {
            {"MPI", [](const floats&, floats& y, std::size_t n,
                       double) { MPI_Bcast(y.data(), static_cast<int>(n), MPI_FLOAT, 0, MPI_COMM_WORLD); }},
            bcasts<Algo::Chain, Codec::SZp>("ccoll, Chain, SZp"),
            bcasts<Algo::Binomial, Codec::SZp>("ccoll, Binomial, SZp"),
            bcasts<Codec::Auto>("ccoll, Codec::Auto")};
    return {{"MPI",
             [](const floats& x, floats& y, std::size_t n, double) {
                 MPI_Alltoall(x.data(), static_cast<int>(n), MPI_FLOAT, y.data(), static_cast<int>(n),
                              MPI_FLOAT, MPI_COMM_WORLD);
             }},
            alltoalls<Algo::Pairwise, Codec::SZp>("ccoll, Pairwise, SZp"),
            alltoalls<Codec::Auto>("ccoll, Codec::Auto")};
}

double seconds_of(const series& s, const floats& x, floats& y, std::size_t n, double eb, int calls)
{
    double seconds = 0;
    for (int i = 0; i < calls; ++i) {  // as OSU: a call is timed from behind a barrier
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        s.call(x, y, n, eb);
        seconds += MPI_Wtime() - begin;
    }
    return seconds / calls;
}

void measure(const options& o, const std::string& operation, int me, int p)
{
    std::vector<series> all = series_of(operation);
    const std::size_t most = o.most / 4 * (operation == "alltoall" ? static_cast<std::size_t>(p) : 1);
    floats x = fields::sample(o.field, o.most / 4, static_cast<unsigned>(me + 1));
    while (x.size() < most) x.insert(x.end(), x.begin(), x.begin() + static_cast<std::ptrdiff_t>(o.most / 4));
    floats y(x);
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const double eb =
        o.relative * over_ranks(static_cast<double>(*high) - static_cast<double>(*low), MPI_MAX);
    for (std::size_t bytes = o.least; bytes <= o.most; bytes *= 2) {
        const std::size_t n = bytes / 4;
        std::vector<int> calls;
        for (const series& s : all) {
            const int warm_up = bytes <= 65536     ? 20
                                : bytes <= 1 << 20 ? 12
                                                   : 4;  // Codec::Auto tries its candidates
            const double once = over_ranks(seconds_of(s, x, y, n, eb, warm_up), MPI_MAX);
            calls.push_back(static_cast<int>(std::clamp(o.budget_s / once, 3.0, 1000.0)));
        }
        constexpr int turns = 3;
        std::vector<double> mean(all.size());
        for (int turn = 0; turn < turns; ++turn)
            for (std::size_t i = 0; i < all.size(); ++i)
                mean[i] += seconds_of(all[i], x, y, n, eb, std::max(1, calls[i] / turns)) / turns;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double us = 1e6 * mean[i];
            all[i].rows.push_back({bytes, over_ranks(us, MPI_SUM) / p, over_ranks(us, MPI_MIN),
                                   over_ranks(us, MPI_MAX), turns * std::max(1, calls[i] / turns)});
        }
        if (me == 0) fmt::print(stderr, "\r{} {} bytes ", operation, bytes);
    }
    if (me != 0) return;
    fmt::print(stderr, "\r{:40}\r", "");
    std::string title = operation;
    title[0] = static_cast<char>(std::toupper(title[0]));
    for (const series& s : all) {
        const bool is_mpi = s.name == "MPI";
        fmt::print("\n# OSU layout, MPI {} Latency Test: {}{}\n# {} ranks, {}, {}\n", title, s.name,
                   is_mpi ? "" : fmt::format(", bound {:g} of the range of {}", o.relative, o.field), p,
                   o.link, mpi_version().substr(0, mpi_version().find(',')));
        fmt::print("{:<10}{:>20}{:>20}{:>20}{:>20}\n", "# Size", "Avg Latency(us)", "Min Latency(us)",
                   "Max Latency(us)", "Iterations");
        for (const latency& l : s.rows) {
            fmt::print("{:<10}{:20.2f}{:20.2f}{:20.2f}{:20}\n", l.bytes, l.average, l.least, l.most,
                       l.iterations);
            if (!o.json.empty())
                std::ofstream(o.json, std::ios::app)
                    << nlohmann::json{{"what", "osu"},
                                      {"operation", operation},
                                      {"variant", s.name},
                                      {"field", o.field},
                                      {"bytes", l.bytes},
                                      {"ranks", p},
                                      {"relative_bound", o.relative},
                                      {"link", o.link},
                                      {"mpi", mpi_version().substr(0, mpi_version().find(','))},
                                      {"average_us", l.average},
                                      {"min_us", l.least},
                                      {"max_us", l.most},
                                      {"iterations", l.iterations}}
                    << '\n';
        }
    }
}

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"latencies of plain MPI and of plans of ccoll, in the layout of the OSU micro-benchmarks"};
    options o;
    app.add_option("--operation", o.operations)
        ->check(CLI::IsMember({"allreduce", "bcast", "alltoall"}))
        ->capture_default_str();
    app.add_option("--field", o.field, "turbulence, wavefronts, or a file *.f32")
        ->check(fields::known)
        ->capture_default_str();
    app.add_option("--least", o.least, "bytes, a power of two")
        ->check(CLI::Range(4, 1 << 30))
        ->capture_default_str();
    app.add_option("--most", o.most, "bytes")->check(CLI::Range(4, 1 << 30))->capture_default_str();
    app.add_option("--bound", o.relative, "part of the range")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--seconds", o.budget_s, "for each size and plan")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--link", o.link, "what connects the ranks")->capture_default_str();
    app.add_option("--json", o.json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;
    for (const std::string& operation : o.operations) measure(o, operation, me, p);
    MPI_Finalize();
    return 0;
}
