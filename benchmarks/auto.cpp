// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// auto.cpp - calls that choose by measuring (Codec::Auto) against plain MPI and against each plan that they
// choose from, alternately in the same run. Twelve calls of each, or as many as --before says, are made
// before anything is timed, so that the choice has been made. They alternate like those that are timed: a
// link that has had a pause takes the first bytes faster, and a choice holds for what has been measured.
// Short calls are repeated more often than --repetitions says, because single ones vary by more than what
// they are asked for. Prints a row per cell, and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/ccoll.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>

#include "fields.hpp"
#include "over_mpi.hpp"

using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;
using call = std::function<ccoll::report(const floats&, floats&, double)>;

struct row {
    std::string name;
    call run;
    std::vector<double> seconds{};
    ccoll::report last{};
};

floats values(const std::string& field, std::size_t n, unsigned rank)
{
    if (field == "turbulence") return fields::turbulence(n, rank);
    floats x(n);
    std::mt19937 random(rank);
    for (std::size_t i = 0; i < n; ++i) {
        const auto t = static_cast<float>(i);
        x[i] = field == "wave"       ? std::sin(0.002f * t + static_cast<float>(rank))
               : field == "constant" ? 1.0f + static_cast<float>(rank)
               : field == "gradient"
                   ? std::ldexp(static_cast<float>(random() % 2001) - 1000, -static_cast<int>(random() % 16))
                   : static_cast<float>(random()) * 0x1p-32f;
    }
    return x;
}
/// Noise is given a bound at which no codec saves anything; gradients one of a thousandth of the largest.
double bound_of(const std::string& field)
{
    return field == "noise" ? 1e-9 : field == "gradient" ? 1.0 : 1e-3;
}

template <class... P>
call reduces()
{
    return [](const floats& x, floats& y, double eb) {
        return ccoll::allreduce<P..., RuntimeBound>(x, y, MPI_COMM_WORLD, eb);
    };
}
template <class... P>
call spreads()
{
    return [](const floats&, floats& y, double eb) {
        return ccoll::bcast<P..., RuntimeBound>(y, 0, MPI_COMM_WORLD, eb);
    };
}
template <class... P>
call exchanges()
{
    return [](const floats& x, floats& y, double eb) {
        return ccoll::alltoall<P..., RuntimeBound>(x, y, MPI_COMM_WORLD, eb);
    };
}

std::vector<row> rows_of(const std::string& operation)
{
    const auto count = [](const floats& v, int parts) { return static_cast<int>(v.size()) / parts; };
    if (operation == "bcast")
        return {{"plain MPI",
                 [=](const floats&, floats& y, double) {
                     MPI_Bcast(y.data(), count(y, 1), MPI_FLOAT, 0, MPI_COMM_WORLD);
                     return ccoll::report{};
                 }},
                {"Codec::Auto", spreads<Codec::Auto>()},
                {"Binomial SZp", spreads<Codec::SZp, Algo::Binomial>()},
                {"Chain SZp", spreads<Codec::SZp, Algo::Chain>()}};
    if (operation == "alltoall")
        return {{"plain MPI",
                 [=](const floats& x, floats& y, double) {
                     int p = 1;
                     MPI_Comm_size(MPI_COMM_WORLD, &p);
                     MPI_Alltoall(x.data(), count(x, p), MPI_FLOAT, y.data(), count(x, p), MPI_FLOAT,
                                  MPI_COMM_WORLD);
                     return ccoll::report{};
                 }},
                {"Codec::Auto", exchanges<Codec::Auto>()},
                {"Pairwise SZp", exchanges<Codec::SZp, Algo::Pairwise>()}};
    return {{"plain MPI",
             [=](const floats& x, floats& y, double) {
                 MPI_Allreduce(x.data(), y.data(), count(x, 1), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                 return ccoll::report{};
             }},
            {"Codec::Auto", reduces<Codec::Auto>()},
            {"Ring SZp", reduces<Codec::SZp, Algo::Ring>()},
            {"RecursiveDoubling SZp", reduces<Codec::SZp, Algo::RecursiveDoubling>()}};
}

/// Seconds of the decision alone, in a class that has settled. All ranks call it.
double seconds_of_decision()
{
    using plan = ccoll::Plan<Codec::Auto, ErrorBound<1e-3>>;
    using choice = typename ccoll::detail::choice_of<ccoll::collective::allreduce, plan>::type;
    floats x(1 << 18, 1.0f), y(x.size());
    for (int k = 0; k < 20; ++k) ccoll::allreduce<plan>(x, y, MPI_COMM_WORLD);
    auto link = ccoll::as_transport(MPI_COMM_WORLD, 0);
    const ccoll::detail::user_buffers<float> user{x.data(), x.size(), y.data(), y.size()};
    std::vector<double> all;
    for (int k = 0; k < 9; ++k) {
        constexpr int times = 10000;
        const double begin = MPI_Wtime();
        for (int i = 0; i < times; ++i)
            ccoll::detail::measuring<ccoll::collective::allreduce, float, ccoll::host_space, choice,
                                     decltype(link)>::pick(user, 0, 0, link, ccoll::detail::runs::later);
        all.push_back((MPI_Wtime() - begin) / times);
    }
    return quantile(all, 0.5);
}

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"Codec::Auto against plain MPI and against its candidates"};
    std::vector<std::string> operations{"allreduce"},
        of{"turbulence", "wave", "gradient", "noise", "constant"};
    std::vector<std::size_t> sizes{2, 16384, 262144, 2097152};
    std::string link = "unknown", json;
    int repetitions = 9, before_timing = 12, together = 1;
    double least_seconds = 0.5;
    bool decision = false;
    app.add_option("--operation", operations, "allreduce, bcast, alltoall")
        ->check(CLI::IsMember({"allreduce", "bcast", "alltoall"}));
    app.add_option("--field", of, "kinds of data")
        ->check(CLI::IsMember({"turbulence", "wave", "gradient", "noise", "constant"}));
    app.add_option("--elements", sizes, "floats per rank")->capture_default_str();
    app.add_option("--repetitions", repetitions, "timed calls of each variant, at least")
        ->capture_default_str();
    app.add_option("--seconds", least_seconds,
                   "time of a cell, if its calls are so short; at most 301 repetitions")
        ->capture_default_str();
    app.add_option("--before", before_timing, "calls before the first one that is timed")
        ->capture_default_str();
    app.add_option("--together", together, "calls that are made and timed without a pause, at least")
        ->capture_default_str();
    app.add_option("--link", link, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", json, "append JSON lines to this file");
    app.add_flag("--decision", decision, "the cost of a decision that has been made");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;
    if (decision) {
        const double seconds = over_ranks(seconds_of_decision(), MPI_MAX);
        if (me == 0) fmt::print("a decision that has been made takes {:.0f} ns\n", 1e9 * seconds);
        MPI_Finalize();
        return 0;
    }
    if (me == 0)
        fmt::print("{:10} {:11} {:>10}  {:>10} {:>10} {:>7} {:>13}  {:>7}  {}\n", "", "field", "bytes",
                   "plain ms", "auto ms", "speed", "quartiles", "of best", "taken");
    for (const std::string& operation : operations)
        for (const std::string& field : of)
            for (std::size_t n : sizes) {
                n = std::max<std::size_t>(n / static_cast<std::size_t>(p), 1) * static_cast<std::size_t>(p);
                const floats x = values(field, n, static_cast<unsigned>(me + 1));
                floats y = x;
                const double eb = bound_of(field);
                std::vector<row> rows = rows_of(operation);
                // Of the shortest calls several are timed together, 0.2 ms of them.
                double before = 0;
                for (int k = 0; k < 10; ++k) {
                    if (k == 5) before = MPI_Wtime();
                    rows[0].run(x, y, eb);
                }
                const int calls = std::max(
                    std::clamp(static_cast<int>(2e-4 / over_ranks((MPI_Wtime() - before) / 5, MPI_MAX)), 1,
                               200),
                    together);
                const int rounds_before = (before_timing + calls - 1) / calls;
                std::vector<std::size_t> order(rows.size());
                std::iota(order.begin(), order.end(), 0u);
                std::mt19937 random(7);  // the same on all ranks
                double spent = 0;        // the same on all ranks, too
                for (int k = -rounds_before; k < repetitions || (spent < least_seconds && k < 301); ++k) {
                    // A row finds the caches as another one has left them.
                    std::shuffle(order.begin(), order.end(), random);
                    for (const std::size_t i : order) {
                        row& r = rows[i];
                        if (operation == "bcast") y = x;
                        MPI_Barrier(MPI_COMM_WORLD);
                        const double begin = MPI_Wtime();
                        for (int j = 0; j < calls; ++j) r.last = r.run(x, y, eb);
                        const double seconds = over_ranks((MPI_Wtime() - begin) / calls, MPI_MAX);
                        if (k < 0) continue;
                        spent += seconds * calls;
                        r.seconds.push_back(seconds);
                    }
                }
                std::vector<double> ratios;
                for (std::size_t k = 0; k < rows[0].seconds.size(); ++k)
                    ratios.push_back(rows[0].seconds[k] / rows[1].seconds[k]);
                const double mine = quantile(rows[1].seconds, 0.5);
                double best = quantile(rows[0].seconds, 0.5);
                for (const row& r : rows)
                    if (r.name != "Codec::Auto") best = std::min(best, quantile(r.seconds, 0.5));
                if (me != 0) continue;
                const ccoll::report& r = rows[1].last;
                fmt::print(
                    "{:10} {:11} {:10}  {:10.3f} {:10.3f} {:7.2f} {:6.2f}-{:<6.2f}  {:7.2f}  {} {}: {}\n",
                    operation, field, 4 * n, 1e3 * quantile(rows[0].seconds, 0.5), 1e3 * mine,
                    quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75), best / mine,
                    r.algorithm, r.codec, r.reason);
                std::fflush(stdout);
                if (json.empty()) continue;
                nlohmann::json all{{"operation", operation},
                                   {"field", field},
                                   {"bytes", 4 * n},
                                   {"ranks", p},
                                   {"link", link},
                                   {"mpi", mpi_version().substr(0, mpi_version().find(','))},
                                   {"algorithm", r.algorithm},
                                   {"codec", r.codec},
                                   {"reason", r.reason},
                                   {"of_plain", quantile(ratios, 0.5)},
                                   {"of_plain_quartiles", {quantile(ratios, 0.25), quantile(ratios, 0.75)}},
                                   {"of_best", best / mine},
                                   {"repetitions", rows[0].seconds.size()}};
                if (before_timing != 12) all["calls_before"] = before_timing;
                if (together != 1) all["together"] = together;
                for (const row& each : rows) all["ms"][each.name] = 1e3 * quantile(each.seconds, 0.5);
                std::ofstream(json, std::ios::app) << all.dump() << '\n';
            }
    MPI_Finalize();
    return 0;
}
