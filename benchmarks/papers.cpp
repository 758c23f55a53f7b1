// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// papers.cpp - what C-Coll (Huang et al., IPDPS 2024) and ghZCCL (Huang et al., ICS 2025) compare, on the
// links that this program runs on: compression around each message (CPR-P2P), compression once for data that
// is only moved, overlap, and sums without decoding, beside plain MPI in the same run. Seconds per phase, and
// how large errors are. Prints a table, and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/ccoll.hpp>

#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>

#include "over_mpi.hpp"
#include "sample_fields.hpp"

using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;

struct row {
    std::string name;
    std::function<ccoll::report(const floats&, floats&, double)> run;
    std::vector<double> seconds{};
    ccoll::breakdown phases{};
    ccoll::report last{};
    double largest = 0, deviation = 0;
};

template <class... P>
row sums(std::string name)
{
    return {std::move(name), [](const floats& x, floats& y, double eb) {
                return ccoll::allreduce<P..., RuntimeBound, Instrument::Breakdown>(x, y, MPI_COMM_WORLD, eb);
            }};
}
template <class... P>
row sums_at_rate(std::string name)
{
    return {std::move(name), [](const floats& x, floats& y, double) {
                return ccoll::allreduce<P..., Instrument::Breakdown>(x, y, MPI_COMM_WORLD);
            }};
}
template <class... P>
row reductions(std::string name)
{
    return {std::move(name), [](const floats& x, floats& y, double eb) {
                return ccoll::reduce<P..., RuntimeBound, Instrument::Breakdown>(x, y, 0, MPI_COMM_WORLD, eb);
            }};
}
template <class... P>
row broadcasts(std::string name)
{
    return {std::move(name), [](const floats&, floats& y, double eb) {
                return ccoll::bcast<P..., RuntimeBound, Instrument::Breakdown>(y, 0, MPI_COMM_WORLD, eb);
            }};
}
/// Every rank's part of rank 0's vector comes to the front of `y`.
template <class... P>
row scatters(std::string name)
{
    return {std::move(name), [](const floats& x, floats& y, double eb) {
                int p = 1;
                MPI_Comm_size(MPI_COMM_WORLD, &p);
                return ccoll::scatter<P..., RuntimeBound, Instrument::Breakdown>(
                    x.data(), y.data(), x.size() / static_cast<std::size_t>(p), 0, MPI_COMM_WORLD, eb);
            }};
}

std::vector<row> rows_of(const std::string& operation, int n, int p)
{
    const auto plain = [](auto call) {
        return row{"plain MPI", [=](const floats& x, floats& y, double) {
                       call(x, y);
                       return ccoll::report{};
                   }};
    };
    if (operation == "bcast")
        return {
            plain([=](const floats&, floats& y) { MPI_Bcast(y.data(), n, MPI_FLOAT, 0, MPI_COMM_WORLD); }),
            broadcasts<Algo::Binomial, Codec::SZx, Placement::PerHop>("CPR-P2P, SZx"),
            broadcasts<Algo::Binomial, Codec::SZx>("once, SZx"),
            broadcasts<Algo::Binomial, Codec::PipeSZx>("once, PipeSZx (C-Bcast)"),
            broadcasts<Algo::Chain, Codec::SZp>("once, Chain SZp")};
    if (operation == "scatter")
        return {plain([=](const floats& x, floats& y) {
                    MPI_Scatter(x.data(), n / p, MPI_FLOAT, y.data(), n / p, MPI_FLOAT, 0, MPI_COMM_WORLD);
                }),
                scatters<Algo::Binomial, Codec::SZx, Placement::PerHop>("CPR-P2P, SZx"),
                scatters<Algo::Binomial, Codec::SZx>("once, SZx"),
                scatters<Algo::Binomial, Codec::PipeSZx>("once, PipeSZx (C-Scatter)"),
                scatters<Algo::Binomial, Codec::SZp>("once, SZp")};
    if (operation == "reduce")
        return {plain([=](const floats& x, floats& y) {
                    MPI_Reduce(x.data(), y.data(), n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
                }),
                reductions<Algo::Binomial, Codec::SZp, Placement::DecodeReduceEncode>("DOC, SZp"),
                reductions<Algo::Binomial, Codec::SZp>("homomorphic, SZp")};
    return {plain([=](const floats& x, floats& y) {
                MPI_Allreduce(x.data(), y.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            }),
            sums<Algo::Ring, Codec::Zfp, Placement::PerHop>("CPR-P2P, ZFP at a bound"),
            sums_at_rate<Algo::Ring, Codec::Zfp, FixedRate<4>, Placement::PerHop>("CPR-P2P, ZFP at 4 bits"),
            sums<Algo::Ring, Codec::SZx, Placement::PerHop>("CPR-P2P, SZx"),
            sums<Algo::Ring, Codec::SZx>("once where data is moved, SZx"),
            sums<Algo::Ring, Codec::PipeSZx>("and overlap, PipeSZx (C-Allreduce)"),
            sums<Algo::Ring, Codec::SZp, Placement::DecodeReduceEncode>("the same, SZp (DOC)"),
            sums<Algo::Ring, Codec::SZp>("homomorphic, ring, SZp"),
            sums<Algo::RecursiveDoubling, Codec::SZp, Placement::DecodeReduceEncode>(
                "DOC, recursive doubling, SZp"),
            sums<Algo::RecursiveDoubling, Codec::SZp>("homomorphic, recursive doubling, SZp")};
}

/// The exact result of this rank, in f64. @return how many elements at the front of `y` it has
std::size_t exact_result(const std::string& operation, const floats& x, int me, int p,
                         std::vector<double>& exact)
{
    const std::size_t part = x.size() / static_cast<std::size_t>(p);
    exact.assign(x.begin(), x.end());
    if (operation == "bcast" || operation == "scatter")
        MPI_Bcast(exact.data(), static_cast<int>(x.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else
        MPI_Allreduce(MPI_IN_PLACE, exact.data(), static_cast<int>(x.size()), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    if (operation == "scatter")
        exact.erase(exact.begin(),
                    exact.begin() + static_cast<std::ptrdiff_t>(part * static_cast<std::size_t>(me)));
    return operation == "scatter" ? part : operation == "reduce" && me != 0 ? 0 : x.size();
}

/// Calls every variant once, and compares; then in random order, and takes the time of the slowest rank.
void measure(std::vector<row>& rows, int repetitions, const floats& x, double eb,
             const std::vector<double>& exact, std::size_t has)
{
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0u);
    std::mt19937 random(7);  // the same on all ranks
    floats y(x.size());
    for (int k = -1; k < repetitions; ++k) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order) {
            row& r = rows[i];
            y = x;
            MPI_Barrier(MPI_COMM_WORLD);
            const double begin = MPI_Wtime();
            r.last = r.run(x, y, eb);
            const double seconds = over_ranks(MPI_Wtime() - begin, MPI_MAX);
            if (k >= 0) {
                r.seconds.push_back(seconds);
                r.phases += r.last.breakdown;
            }
            if (k >= 0) continue;
            double largest = 0, squares = 0;
            for (std::size_t j = 0; j < has; ++j) {
                const double e = static_cast<double>(y[j]) - exact[j];
                largest = std::max(largest, std::fabs(e));
                squares += e * e;
            }
            r.largest = over_ranks(largest, MPI_MAX);
            r.deviation =
                std::sqrt(over_ranks(squares, MPI_SUM) / over_ranks(static_cast<double>(has), MPI_SUM));
        }
    }
}

/// What a line says of where it comes from.
struct conditions {
    std::string operation, field, link, json;
    std::size_t n;
    int me, p, repetitions;
    /// The range of the result; the largest values of all ranks, added.
    double relative, eb, range, magnitude;
};

/// @return whether every result is within its promise
bool print(std::vector<row>& rows, const conditions& c)
{
    if (c.me == 0)
        fmt::print(
            "\n{} of {} floats of {}, {} ranks, {}, bound {:g} of the range = {:.3g}\n{:38} {:>8} {:>15} "
            "{:>6} {:>6} {:>9} {:>9} {:>9} {:>6}  {}\n",
            c.operation, c.n, c.field, c.p, c.link, c.relative, c.eb, "", "ms", "quartiles", "speed", "ratio",
            "largest", "promised", "sigma", "PSNR", "ms: encode, decode, reduce, communicate, wait, other");
    bool holds = true;
    for (row& r : rows) {
        const double sent = over_ranks(static_cast<double>(r.last.sent_bytes), MPI_SUM),
                     raw = over_ranks(static_cast<double>(r.last.raw_bytes), MPI_SUM);
        const double promised = over_ranks(r.last.worst_case_error, MPI_MAX),
                     rounding = c.p * 0x1p-24 * c.magnitude;
        const bool good = r.largest <= promised + rounding;
        holds = holds && good;
        const double each = 1e3 / c.repetitions;
        const auto mean_of = [&](double seconds) {
            return each * over_ranks(seconds, MPI_SUM) / c.p;
        };  // ms of a rank
        const double encode = mean_of(r.phases.encode), decode = mean_of(r.phases.decode),
                     reduce = mean_of(r.phases.reduce), communicate = mean_of(r.phases.communicate),
                     wait = mean_of(r.phases.wait), copy = mean_of(r.phases.copy),
                     mean = each * std::accumulate(r.seconds.begin(), r.seconds.end(), 0.0),
                     other = std::max(0.0, mean - (encode + decode + reduce + communicate + wait + copy));
        if (c.me != 0) continue;
        const double ms = 1e3 * quantile(r.seconds, 0.5), ratio = sent > 0 ? raw / sent : 1,
                     speed = 1e3 * quantile(rows[0].seconds, 0.5) / ms,
                     psnr = 20 * std::log10(c.range / r.deviation);
        fmt::print(
            "{:38} {:8.2f} {:7.2f}-{:<7.2f} {:6.2f} {:6.2f} {:9.3g} {:9.3g} {:9.3g} {:6.1f}  {:.1f}, {:.1f}, "
            "{:.1f}, {:.1f}, {:.1f}, {:.1f}{}\n",
            r.name, ms, 1e3 * quantile(r.seconds, 0.25), 1e3 * quantile(r.seconds, 0.75), speed, ratio,
            r.largest, promised, r.deviation, psnr, encode, decode, reduce, communicate, wait, other,
            good ? "" : "  BROKEN");
        std::fflush(stdout);
        if (c.json.empty()) continue;
        std::ofstream(c.json, std::ios::app)
            << nlohmann::json{{"operation", c.operation},
                              {"variant", r.name},
                              {"field", c.field},
                              {"bytes", 4 * c.n},
                              {"ranks", c.p},
                              {"relative_bound", c.relative},
                              {"link", c.link},
                              {"mpi", mpi_version().substr(0, mpi_version().find(','))},
                              {"ms", ms},
                              {"ms_quartiles",
                               {1e3 * quantile(r.seconds, 0.25), 1e3 * quantile(r.seconds, 0.75)}},
                              {"speed_up", speed},
                              {"ratio", ratio},
                              {"largest_error", r.largest},
                              {"promised", promised},
                              {"error_deviation", r.deviation},
                              {"psnr", psnr},
                              {"nrmse", r.deviation / c.range},
                              {"phases_ms",
                               {{"encode", encode},
                                {"decode", decode},
                                {"reduce", reduce},
                                {"communicate", communicate},
                                {"wait", wait},
                                {"copy", copy},
                                {"other", other}}}}
            << '\n';
    }
    return holds;
}

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"what C-Coll and ghZCCL compare"};
    std::vector<std::string> operations{"allreduce", "reduce", "bcast", "scatter"},
        of{"turbulence", "wavefronts"};
    std::vector<std::size_t> sizes{4194304};
    std::vector<double> bounds{1e-3};
    std::string link = "unknown", json;
    int repetitions = 5;
    app.add_option("--operation", operations)
        ->check(CLI::IsMember({"allreduce", "reduce", "bcast", "scatter"}));
    app.add_option("--field", of,
                   "kinds of data: turbulence, wavefronts, or raw little-endian files of floats")
        ->check(fields::known);
    app.add_option("--elements", sizes, "floats per rank")->capture_default_str();
    app.add_option("--bound", bounds, "parts of the range")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--repetitions", repetitions, "timed calls of each variant")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--link", link, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;
    bool holds = true;
    for (const std::string& operation : operations)
        for (const std::string& field : of)
            for (std::size_t n : sizes) {
                n -= n % static_cast<std::size_t>(p);
                const floats x = fields::sample(field, n, static_cast<unsigned>(me + 1));
                const auto [low, high] = std::minmax_element(x.begin(), x.end());
                const double range =
                    over_ranks(static_cast<double>(*high) - static_cast<double>(*low), MPI_MAX);
                const double magnitude = over_ranks(
                    std::max(std::fabs(static_cast<double>(*high)), std::fabs(static_cast<double>(*low))),
                    MPI_SUM);
                std::vector<double> exact;
                const std::size_t has = exact_result(operation, x, me, p, exact);
                const auto [least, most] = std::minmax_element(exact.begin(), exact.end());
                const double of_result = over_ranks(*most, MPI_MAX) + over_ranks(-*least, MPI_MAX);
                for (const double relative : bounds) {
                    std::vector<row> rows = rows_of(operation, static_cast<int>(n), p);
                    measure(rows, repetitions, x, relative * range, exact, has);
                    holds &= print(rows, {operation, fields::name_of(field), link, json, n, me, p,
                                          repetitions, relative, relative * range, of_result, magnitude});
                }
            }
    MPI_Finalize();
    return holds ? 0 : 1;
}
