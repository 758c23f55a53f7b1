// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// auto_orders.cpp - calls of one length that choose by measuring (Codec::Auto), with values whose kind
// changes from call to call: the sum of their times beside that of plain MPI's calls, which alternate with
// them. The first twelve calls with each kind of values do not count. Prints a row per order and length, and
// JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/allreduce.hpp>
#include <ccoll/auto.hpp>
#include <ccoll/transport/mpi.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <random>

#include "fields.hpp"
#include "over_mpi.hpp"

using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;
constexpr double bound = 1e-3;
enum kind { smooth, field, noise };

/// Noise has magnitudes at which no codec saves anything with this bound.
floats values(kind what, std::size_t n, unsigned rank)
{
    if (what == field) return fields::turbulence(n, rank);
    floats x(n);
    std::mt19937 random(rank);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = what == smooth ? std::sin(0.002f * static_cast<float>(i) + static_cast<float>(rank))
                              : static_cast<float>(random()) * 0x1p-12f;
    return x;
}

/// Which kind a rank's values have in a call.
struct order {
    const char* name;
    kind (*of)(unsigned call, unsigned rank);
};
kind in_turn(unsigned call, unsigned every) { return call / every % 2 == 0 ? smooth : noise; }
constexpr order orders[] = {
    {"smooth", [](unsigned, unsigned) { return smooth; }},
    {"noise", [](unsigned, unsigned) { return noise; }},
    {"two in turn", [](unsigned k, unsigned) { return in_turn(k, 1); }},
    {"three in turn", [](unsigned k, unsigned) { return static_cast<kind>(k % 3); }},
    {"change every 5", [](unsigned k, unsigned) { return in_turn(k, 5); }},
    {"change every 50", [](unsigned k, unsigned) { return in_turn(k, 50); }},
    {"change every 500", [](unsigned k, unsigned) { return in_turn(k, 500); }},
    {"three, every 50", [](unsigned k, unsigned) { return static_cast<kind>(k / 50 % 3); }},
    {"ranks differ", [](unsigned k, unsigned rank) { return in_turn(k + rank, 1); }},
    {"ranks differ, every 50", [](unsigned k, unsigned rank) { return rank == 0 ? in_turn(k, 50) : smooth; }},
};

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"Codec::Auto against plain MPI, with values whose kind changes"};
    std::vector<std::size_t> sizes{4096, 16384, 262144, 1048576};
    std::vector<std::string> names;
    std::string link = "unknown", json;
    unsigned calls = 1000;
    double most_seconds = 8;
    app.add_option("--elements", sizes, "floats per rank")->capture_default_str();
    app.add_option("--order", names, "only orders with these names");
    app.add_option("--calls", calls, "calls of each variant; twice as many with a change every 500 calls")
        ->capture_default_str();
    app.add_option("--seconds", most_seconds,
                   "of a row, which ends early, but not before all kinds had 100 calls")
        ->capture_default_str();
    app.add_option("--link", link, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;
    if (me == 0)
        fmt::print("{:>10}  {:24} {:>7} {:>10} {:>10} {:>7} {:>13} {:>9}\n", "bytes", "kinds", "calls",
                   "plain s", "auto s", "speed", "tenths", "with codec");
    for (const std::size_t n : sizes)
        for (const order& each : orders) {
            if (!names.empty() && std::find(names.begin(), names.end(), each.name) == names.end()) continue;
            MPI_Comm comm;  // of its own, so that the class of calls is new
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            std::array<floats, 3> x;
            for (int k = 0; k < 3; ++k)
                x[static_cast<std::size_t>(k)] =
                    values(static_cast<kind>(k), n, static_cast<unsigned>(me + 1));
            floats y(n);
            const unsigned most = std::string(each.name) == "change every 500" ? 2 * calls : calls;
            std::array<unsigned, 3> seen{};
            std::vector<std::array<double, 2>> timed;  // of calls that count: plain MPI's and ours
            std::mt19937 random(7);                    // the same on all ranks
            double spent = 0;
            unsigned compressed = 0;
            for (unsigned k = 0; k < most; ++k) {
                const kind mine = each.of(k, static_cast<unsigned>(me)), of_first = each.of(k, 0);
                const floats& send = x[mine];
                std::array<double, 2> seconds{};
                const bool ours_first = random() % 2 == 0;
                bool with_codec = false;
                for (const bool ours : {ours_first, !ours_first}) {
                    MPI_Barrier(MPI_COMM_WORLD);
                    const double begin = MPI_Wtime();
                    if (ours)
                        with_codec = !ccoll::allreduce<Codec::Auto, ErrorBound<bound>>(send, y, comm).exact;
                    else MPI_Allreduce(send.data(), y.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, comm);
                    seconds[ours ? 1 : 0] = over_ranks(MPI_Wtime() - begin, MPI_MAX);
                }
                spent += seconds[0] + seconds[1];
                if (++seen[of_first] <= 12) continue;
                timed.push_back(seconds);
                compressed += with_codec ? 1 : 0;
                const bool enough =
                    std::all_of(seen.begin(), seen.end(), [](unsigned c) { return c == 0 || c >= 100; });
                if (spent > most_seconds && enough && k + 1 >= 200 &&
                    std::string(each.name) != "change every 500")
                    break;
            }
            MPI_Comm_free(&comm);
            std::array<double, 2> sum{};
            std::vector<double> tenths;  // the ratio of the sums of each tenth of the calls
            for (std::size_t tenth = 0; tenth < 10; ++tenth) {
                std::array<double, 2> part{};
                for (std::size_t i = tenth * timed.size() / 10; i < (tenth + 1) * timed.size() / 10; ++i)
                    for (std::size_t v : {0, 1}) part[v] += timed[i][v];
                for (std::size_t v : {0, 1}) sum[v] += part[v];
                tenths.push_back(part[0] / part[1]);
            }
            if (me != 0) continue;
            fmt::print("{:10}  {:24} {:7} {:10.4f} {:10.4f} {:7.2f} {:6.2f}-{:<6.2f} {:8.0f}%\n", 4 * n,
                       each.name, timed.size(), sum[0], sum[1], sum[0] / sum[1], quantile(tenths, 0.1),
                       quantile(tenths, 0.9), 100.0 * compressed / static_cast<double>(timed.size()));
            std::fflush(stdout);
            if (json.empty()) continue;
            const nlohmann::json all{{"operation", "allreduce"},
                                     {"kinds", each.name},
                                     {"bytes", 4 * n},
                                     {"ranks", p},
                                     {"link", link},
                                     {"mpi", mpi_version().substr(0, mpi_version().find(','))},
                                     {"calls", timed.size()},
                                     {"plain_s", sum[0]},
                                     {"auto_s", sum[1]},
                                     {"of_plain", sum[0] / sum[1]},
                                     {"of_plain_tenths", {quantile(tenths, 0.1), quantile(tenths, 0.9)}},
                                     {"with_codec", compressed / static_cast<double>(timed.size())}};
            std::ofstream(json, std::ios::app) << all.dump() << '\n';
        }
    MPI_Finalize();
    return 0;
}
