// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// collectives.cpp - compressed collectives against plain MPI, alternately in the same run. Every result is
// checked against its bound, and for equal bits on all ranks. Prints a table, and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/ccoll.hpp>
#include <ccoll/exec.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include "fields.hpp"
#include "over_mpi.hpp"

using namespace ccoll::policies;

namespace {

struct row {
    std::string name;
    std::function<ccoll::report(const std::vector<float>&, std::vector<float>&, double eb)> run;
    std::vector<double> seconds, processor;
    ccoll::report last;
    double error = 0;
    bool same_bits = true;
};

double median(std::vector<double> v) { return quantile(std::move(v), 0.5); }

double processor_seconds()
{
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    const auto s = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return s(u.ru_utime) + s(u.ru_stime);
}

template <class... P>
row allreduce_row(std::string name)
{
    return {std::move(name),
            [](const auto& x, auto& y, double eb) {
                return ccoll::allreduce<P..., RuntimeBound>(x, y, MPI_COMM_WORLD, eb);
            },
            {},
            {},
            {}};
}
/// A plan that takes no bound when it is called.
template <class... P>
row allreduce_row_without_bound(std::string name)
{
    return {std::move(name),
            [](const auto& x, auto& y, double) { return ccoll::allreduce<P...>(x, y, MPI_COMM_WORLD); },
            {},
            {},
            {}};
}
template <class... P>
row bcast_row(std::string name)
{
    return {std::move(name),
            [](const auto&, auto& y, double eb) {
                return ccoll::bcast<P..., RuntimeBound>(y, 0, MPI_COMM_WORLD, eb);
            },
            {},
            {},
            {}};
}

template <class... P>
row alltoall_row(std::string name)
{
    return {std::move(name),
            [](const auto& x, auto& y, double eb) {
                return ccoll::alltoall<P..., RuntimeBound>(x, y, MPI_COMM_WORLD, eb);
            },
            {},
            {},
            {}};
}

/// Measures what a call that is handed straight to MPI costs, compared with MPI's own call, from 8 B to 4
/// KiB.
void small_messages(int repetitions, const std::string& json)
{
    int me = 0, p = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    constexpr int calls = 500;
    if (me == 0)
        fmt::print("allreduce without a codec, {} ranks, {} x {} calls\n{:>8} {:>9} {:>9} {:>9}\n", p,
                   repetitions, calls, "bytes", "MPI us", "ccoll us", "more us");
    for (std::size_t bytes = 8; bytes <= 4096; bytes *= 2) {
        const std::size_t n = bytes / sizeof(float);
        std::vector<float> x(n, 1), y(n);
        std::vector<double> plain, ours;
        const auto timed = [&](std::vector<double>& into, auto call) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double start = MPI_Wtime();
            for (int i = 0; i < calls; ++i) call();
            into.push_back(1e6 * over_ranks(MPI_Wtime() - start, MPI_MAX) / calls);
        };
        for (int k = 0; k < repetitions; ++k) {
            timed(plain, [&] {
                MPI_Allreduce(x.data(), y.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            });
            timed(ours, [&] { ccoll::allreduce(x.data(), y.data(), n, MPI_COMM_WORLD); });
        }
        if (me != 0) continue;
        fmt::print("{:8} {:9.3f} {:9.3f} {:9.3f}\n", bytes, median(plain), median(ours),
                   median(ours) - median(plain));
        if (!json.empty())
            std::ofstream(json, std::ios::app) << nlohmann::json{{"operation", "small"},
                                                                 {"bytes", bytes},
                                                                 {"ranks", p},
                                                                 {"mpi_us", median(plain)},
                                                                 {"ccoll_us", median(ours)}}
                                               << '\n';
    }
}

/// Measures how much of a nonblocking compressed allreduce is hidden behind an equally long computation that
/// calls test() now and then.
void overlap(std::size_t n, const std::vector<float>& x, double eb, int repetitions, const std::string& json)
{
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    std::vector<float> y(n);
    using plan = ccoll::Plan<Algo::Ring, Codec::SZp, RuntimeBound>;
    // Work that stays in registers, in pieces of about a microsecond.
    const auto compute = [](double pieces, auto between) {
        volatile double sink = 0;
        for (double done = 0; done < pieces; ++done) {
            double a = 1;
            for (int i = 0; i < 500; ++i) a = a * 1.0000001 + 1e-9;
            sink = a;
            if (static_cast<std::uint64_t>(done) % 100 == 0) between();
        }
        static_cast<void>(sink);
    };
    const auto seconds_of = [](auto work) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        work();
        return over_ranks(MPI_Wtime() - start, MPI_MAX);
    };
    std::vector<double> alone, computing, together, hidden;
    double pieces = 1000;
    for (int k = -1; k < repetitions; ++k) {
        const double communicates = seconds_of([&] { ccoll::allreduce<plan>(x, y, MPI_COMM_WORLD, eb); });
        const double per_piece = seconds_of([&] { compute(pieces, [] {}); }) / pieces;
        pieces = std::max(1.0, communicates / per_piece);
        const double computes = seconds_of([&] { compute(pieces, [] {}); });
        const double both = seconds_of([&] {
            auto flying = ccoll::iallreduce<plan>(x, y, MPI_COMM_WORLD, eb);
            compute(pieces, [&] { flying.test(); });
            flying.wait();
        });
        if (k < 0) continue;
        alone.push_back(communicates);
        computing.push_back(computes);
        together.push_back(both);
        hidden.push_back((communicates + computes - both) / communicates);
    }
    if (me != 0) return;
    fmt::print(
        "overlap of {} floats: allreduce {:.1f} ms, computing {:.1f} ms, both {:.1f} ms: {:.0f} % of the "
        "communication hidden\n",
        n, 1e3 * median(alone), 1e3 * median(computing), 1e3 * median(together), 100 * median(hidden));
    if (!json.empty())
        std::ofstream(json, std::ios::app) << nlohmann::json{{"operation", "overlap"},
                                                             {"elements", n},
                                                             {"allreduce_ms", 1e3 * median(alone)},
                                                             {"compute_ms", 1e3 * median(computing)},
                                                             {"both_ms", 1e3 * median(together)},
                                                             {"hidden", median(hidden)}}
                                           << '\n';
}

bool all_ranks_equal(const std::vector<float>& v)
{
    std::uint64_t hash = 1469598103934665603u;
    for (float x : v) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &x, 4);
        hash = (hash ^ bits) * 1099511628211u;
    }
    std::uint64_t extremes[2] = {hash, ~hash}, lowest[2];
    MPI_Allreduce(extremes, lowest, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    return lowest[0] == ~lowest[1];
}

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);

    CLI::App app{"compressed collectives against plain MPI"};
    std::string operation = "allreduce", field = "turbulence", link = "unknown", json;
    std::vector<std::size_t> sizes{std::size_t{1} << 24};
    std::vector<std::string> only;
    double relative = 1e-3;
    int repetitions = 5;
    app.add_option("--operation", operation,
                   "what to measure; integrity: allreduce with and without Fault:: policies")
        ->check(CLI::IsMember({"allreduce", "integrity", "bcast", "alltoall", "small", "overlap"}))
        ->capture_default_str();
    app.add_option("--field", field, "kind of data")
        ->check(CLI::IsMember({"turbulence", "wavefronts"}))
        ->capture_default_str();
    app.add_option("--elements", sizes, "floats per rank")->capture_default_str();
    app.add_option("--only", only, "measure the rows whose names contain one of these words, and plain MPI");
    app.add_option("--bound", relative,
                   "absolute bound per compression, as a fraction of the largest value range")
        ->capture_default_str();
    app.add_option("--repetitions", repetitions, "timed calls of each variant, after one that is not timed")
        ->capture_default_str();
    app.add_option("--link", link, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;

    const bool bcast = operation == "bcast", alltoall = operation == "alltoall";
    bool failed = false;
    if (operation == "small") {
        small_messages(repetitions, json);
        sizes.clear();
    }
    for (std::size_t n : sizes) {
        if (alltoall) n -= n % static_cast<std::size_t>(p);
        const int part = static_cast<int>(n / static_cast<std::size_t>(p));
        const auto mine = static_cast<unsigned>(me + 1);
        const std::vector<float> x =
            field == "turbulence" ? fields::turbulence(n, mine) : fields::wavefronts(n, mine);
        std::vector<float> y(n), plain(n);
        const auto [low, high] = std::minmax_element(x.begin(), x.end());
        const double eb =
            relative *
            over_ranks(n == 0 ? 1.0 : static_cast<double>(*high) - static_cast<double>(*low), MPI_MAX);
        if (operation == "overlap") {
            overlap(n, x, eb, repetitions, json);
            continue;
        }
        // The expected result: the same operation by MPI, in double.
        std::vector<double> exact(x.begin(), x.end());
        if (bcast) MPI_Bcast(exact.data(), static_cast<int>(n), MPI_DOUBLE, 0, MPI_COMM_WORLD);
        else if (alltoall)
            MPI_Alltoall(std::vector<double>(exact).data(), part, MPI_DOUBLE, exact.data(), part, MPI_DOUBLE,
                         MPI_COMM_WORLD);
        else
            MPI_Allreduce(MPI_IN_PLACE, exact.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM,
                          MPI_COMM_WORLD);

        std::vector<row> rows;
        rows.push_back({"plain MPI",
                        [&](const auto& in, auto& out, double) {
                            if (bcast) {
                                MPI_Bcast(out.data(), static_cast<int>(n), MPI_FLOAT, 0, MPI_COMM_WORLD);
                            } else if (alltoall) {
                                MPI_Alltoall(in.data(), part, MPI_FLOAT, out.data(), part, MPI_FLOAT,
                                             MPI_COMM_WORLD);
                            } else {
                                MPI_Allreduce(in.data(), out.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM,
                                              MPI_COMM_WORLD);
                            }
                            return ccoll::report{};
                        },
                        {},
                        {},
                        {}});
        if (bcast) {
            rows.push_back(bcast_row<Algo::Binomial, Codec::PipeSZx>("Binomial PipeSZx"));
            rows.push_back(bcast_row<Algo::Chain, Codec::PipeSZx>("Chain PipeSZx"));
            rows.push_back(
                bcast_row<Algo::Binomial, Codec::PipeSZx, Placement::PerHop>("Binomial PipeSZx PerHop"));
            rows.push_back(bcast_row<Algo::Binomial, Codec::SZp>("Binomial SZp"));
            rows.push_back(bcast_row<Algo::Chain, Codec::SZp>("Chain SZp"));
            rows.push_back(bcast_row<Algo::Chain, Codec::SZp, Exec::Threads<2>>("Chain SZp, 2 threads"));
            rows.push_back(bcast_row<Algo::ScatterAllgather, Codec::SZp>("ScatterAllgather SZp"));
            rows.push_back(bcast_row<Algo::Chain, Codec::SZe>("Chain SZe"));
        } else if (alltoall) {
            rows.push_back(alltoall_row<Algo::Pairwise, Codec::SZp>("Pairwise SZp"));
            rows.push_back(
                alltoall_row<Algo::Pairwise, Codec::SZp, Exec::Threads<2>>("Pairwise SZp, 2 threads"));
            rows.push_back(alltoall_row<Algo::Spread, Codec::SZp>("Spread SZp"));
            rows.push_back(alltoall_row<Algo::Bruck, Codec::SZp>("Bruck SZp"));
            rows.push_back(alltoall_row<Algo::Pairwise, Codec::PipeSZx>("Pairwise PipeSZx"));
            rows.push_back({"Pairwise Lossless",
                            [](const auto& in, auto& out, double) {
                                return ccoll::alltoall<Algo::Pairwise, Codec::Lossless>(in, out,
                                                                                        MPI_COMM_WORLD);
                            },
                            {},
                            {},
                            {}});
            rows.push_back({"Pairwise None",
                            [](const auto& in, auto& out, double) {
                                return ccoll::alltoall<Algo::Pairwise>(in, out, MPI_COMM_WORLD);
                            },
                            {},
                            {},
                            {}});
        } else if (operation == "integrity") {
            rows.push_back(allreduce_row_without_bound<Algo::Ring>("Ring None"));
            rows.push_back(allreduce_row_without_bound<Algo::Ring, Fault::Crc32c>("Ring None with CRC"));
            rows.push_back(allreduce_row_without_bound<Algo::Ring, Fault::Hamming>("Ring None with Hamming"));
            rows.push_back(allreduce_row<Algo::Ring, Codec::SZp>("Ring SZp"));
            rows.push_back(allreduce_row<Algo::Ring, Codec::SZp, Fault::Crc32c>("Ring SZp with CRC"));
            rows.push_back(allreduce_row<Algo::Ring, Codec::SZp, Fault::Hamming>("Ring SZp with Hamming"));
        } else {
            rows.push_back(allreduce_row<Algo::Ring, Codec::PipeSZx>("Ring PipeSZx"));
            rows.push_back(
                allreduce_row<Algo::Ring, Codec::PipeSZx, Placement::PerHop>("Ring PipeSZx PerHop"));
            rows.push_back(
                allreduce_row<Algo::RecursiveDoubling, Codec::PipeSZx>("RecursiveDoubling PipeSZx"));
            rows.push_back(allreduce_row<Algo::Ring, Codec::SZp>("Ring SZp"));
            rows.push_back(allreduce_row<Algo::Ring, Codec::SZp, Exec::Threads<2>>("Ring SZp, 2 threads"));
            rows.push_back(allreduce_row<Algo::Ring, Codec::SZp, Placement::DecodeReduceEncode>(
                "Ring SZp decode-reduce"));
            rows.push_back(allreduce_row<Algo::RecursiveDoubling, Codec::SZp>("RecursiveDoubling SZp"));
            rows.push_back(allreduce_row<Algo::Rabenseifner, Codec::SZp>("Rabenseifner SZp"));
            rows.push_back(allreduce_row<Algo::Ring, Codec::SZe>("Ring SZe"));
            // The baselines of C-Coll (Huang et al., IPDPS 2024, IV-D): CPR-P2P with ZFP at a bound, and at a
            // rate of 4 bits per value.
            rows.push_back(allreduce_row<Algo::Ring, Codec::Zfp, Placement::PerHop>("Ring PerHop ZFP ABS"));
            rows.push_back(
                allreduce_row_without_bound<Algo::Ring, Codec::Zfp, FixedRate<4>, Placement::PerHop>(
                    "Ring PerHop ZFP FXR"));
            rows.push_back(allreduce_row_without_bound<Algo::Ring>("Ring None"));
        }
        if (!only.empty())
            rows.erase(std::remove_if(rows.begin() + 1, rows.end(),
                                      [&](const row& r) {
                                          return std::none_of(
                                              only.begin(), only.end(), [&](const std::string& word) {
                                                  return r.name.find(word) != std::string::npos;
                                              });
                                      }),
                       rows.end());
        for (int k = -1; k < repetitions; ++k)
            for (row& r : rows) {
                if (bcast) std::copy(x.begin(), x.end(), y.begin());
                MPI_Barrier(MPI_COMM_WORLD);
                const double busy = processor_seconds(), start = MPI_Wtime();
                r.last = r.run(x, y, eb);
                const double seconds = over_ranks(MPI_Wtime() - start, MPI_MAX);
                const double processor = over_ranks(processor_seconds() - busy, MPI_SUM) / p;
                if (k >= 0) {
                    r.seconds.push_back(seconds);
                    r.processor.push_back(processor);
                }
                double worst = 0;
                for (std::size_t i = 0; i < n; ++i)
                    worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - exact[i]));
                r.error = over_ranks(worst, MPI_MAX);
                r.same_bits = alltoall || all_ranks_equal(y);
            }
        if (me == 0)
            fmt::print(
                "{} of {} floats of {}, {} ranks, bound {:.3g} of the range = {:.4g}\n{:28} {:>9} {:>17} "
                "{:>8} {:>7} {:>11} {:>11} {:>5} {:>8}\n",
                operation, n, field, p, relative, eb, "", "ms", "min .. max", "speed-up", "ratio",
                "max error", "promised", "same", "cpu ms");
        const double base = median(rows[0].seconds);
        for (row& r : rows) {
            const double ms = 1e3 * median(r.seconds), rounding = 1e-6 * p * p * 10;
            const bool holds =
                r.error <= r.last.worst_case_error + rounding && (r.same_bits || !r.last.same_bits);
            const double raw = over_ranks(static_cast<double>(r.last.raw_bytes), MPI_SUM),
                         sent = over_ranks(static_cast<double>(r.last.sent_bytes), MPI_SUM),
                         resent = over_ranks(static_cast<double>(r.last.faults.resent), MPI_SUM);
            failed |= !holds;
            if (me != 0) continue;
            const auto [fast, slow] = std::minmax_element(r.seconds.begin(), r.seconds.end());
            const double ratio = sent > 0 ? raw / sent : 1;
            const std::string again = resent > 0 ? fmt::format("  {} sent again", resent) : "";
            fmt::print(
                "{:28} {:9.2f} {:7.2f} .. {:6.2f} {:8.2f} {:7.2f} {:11.3g} {:11.3g} {:>5} {:8.1f}{}{}\n",
                r.name, ms, 1e3 * *fast, 1e3 * *slow, 1e3 * base / ms, ratio, r.error,
                r.last.worst_case_error, r.same_bits ? "yes" : "no", 1e3 * median(r.processor), again,
                holds ? "" : "  BROKEN");
            if (!json.empty())
                std::ofstream(json, std::ios::app)
                    << nlohmann::json{{"operation", operation},
                                      {"mpi", mpi_version()},
                                      {"link", link},
                                      {"field", field},
                                      {"elements", n},
                                      {"ranks", p},
                                      {"relative_bound", relative},
                                      {"bound", eb},
                                      {"variant", r.name},
                                      {"ms", ms},
                                      {"ms_min", 1e3 * *fast},
                                      {"ms_max", 1e3 * *slow},
                                      {"speed_up", 1e3 * base / ms},
                                      {"ratio", ratio},
                                      {"max_error", r.error},
                                      {"promised", r.last.worst_case_error},
                                      {"same_bits", r.same_bits},
                                      {"fragments_resent", resent},
                                      {"processor_ms", 1e3 * median(r.processor)}}
                    << '\n';
        }
    }
    MPI_Finalize();
    return failed ? 1 : 0;
}
