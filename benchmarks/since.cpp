// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// since.cpp - a step of training changes few of the weights in bf16: sending what has changed, beside MPI's
// own call with all weights, alternately in the same run. Every result is checked bit by bit. Prints a table,
// and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/base/half.hpp>
#include <ccoll/since.hpp>
#include <ccoll/transport/mpi.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include "over_mpi.hpp"

using namespace ccoll::policies;

namespace {

using weights = std::vector<ccoll::bfloat16>;

/// Weights of a layer, in float: what an optimiser keeps.
float weight(std::uint64_t i)
{
    std::minstd_rand random(static_cast<unsigned>(i * 2654435761u + 1));
    random.discard(3);
    float sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<float>(random()) / static_cast<float>(random.max());
    return 0.02f * sum;
}

/// Two states of n weights of which about `share` differ.
struct states {
    weights before, after;
    double changed = 0;
};

/// @param kind  step: all weights moved by a step of Adam, whose length is such that `share` of them are
///              rounded to another bf16; any: as many of them have new values
states make_states(std::size_t n, double share, const std::string& kind)
{
    states all{weights(n), weights(n)};
    std::mt19937_64 random(7);
    // Values repeat after a million, so that this takes seconds; where they change does not.
    constexpr std::size_t period = 1 << 20;
    std::vector<float> master(period);
    for (std::size_t i = 0; i < period; ++i) master[i] = weight(i);
    std::uniform_real_distribution<float> unit(0, 1), step(-1, 1);
    double length = 1e-4;
    if (kind == "step") {
        double low = 1e-9, high = 1e-2;
        for (int k = 0; k < 40; ++k) {
            length = std::sqrt(low * high);
            std::size_t differ = 0;
            for (const float w : master) {
                const ccoll::bfloat16 a(w), b(w + static_cast<float>(length) * step(random));
                differ += std::memcmp(&a, &b, 2) != 0;
            }
            (static_cast<double>(differ) < share * static_cast<double>(period) ? low : high) = length;
        }
    }
    std::size_t differ = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const float w = master[i % period];
        all.before[i] = ccoll::bfloat16(w);
        if (kind == "step") all.after[i] = ccoll::bfloat16(w + static_cast<float>(length) * step(random));
        else if (unit(random) < static_cast<float>(share))
            all.after[i] = ccoll::bfloat16(master[random() % period]);
        else all.after[i] = all.before[i];
        differ += std::memcmp(&all.before[i], &all.after[i], 2) != 0;
    }
    all.changed = static_cast<double>(differ) / static_cast<double>(n);
    return all;
}

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"what has changed since the last step, against all weights by plain MPI"};
    std::size_t mib = 256;
    std::vector<double> shares{0.01, 0.03};
    std::vector<std::string> kinds{"step", "any"}, operations{"bcast", "allgather"};
    int repetitions = 5;
    std::string link = "unknown", json;
    app.add_option("--mib", mib, "MiB of weights in bf16")->capture_default_str();
    app.add_option("--shares", shares, "of the weights that have changed")->capture_default_str();
    app.add_option("--kinds", kinds, "step: by a step of an optimiser; any: new values")
        ->capture_default_str();
    app.add_option("--operations", operations, "bcast, allgather")->capture_default_str();
    app.add_option("--repetitions", repetitions, "timed calls of each, after one that is not timed")
        ->capture_default_str();
    app.add_option("--link", link, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;

    const std::size_t ranks = static_cast<std::size_t>(p), n = mib * (std::size_t{1} << 19) / ranks * ranks,
                      part = n / ranks, own = part * static_cast<std::size_t>(me);
    bool failed = false;
    if (me == 0)
        fmt::print("{} MiB of bf16, {} ranks\n{:10} {:5} {:>8} {:>9} {:>9} {:>17} {:>9} {:>9}\n", mib, p, "",
                   "kind", "changed", "MPI ms", "ms", "min .. max", "times", "bytes");
    for (const std::string& operation : operations)
        for (const std::string& kind : kinds)
            for (const double share : shares) {
                const states all = make_states(n, share, kind);
                const bool bcast = operation == "bcast";
                std::vector<double> plain, ours;
                ccoll::report last;
                weights held(n);
                for (int k = -1; k < repetitions; ++k)
                    for (const bool is_ours : {false, true}) {
                        held = bcast && me == 0 ? all.after : all.before;
                        if (!bcast)
                            std::copy_n(all.after.begin() + static_cast<std::ptrdiff_t>(own), part,
                                        held.begin() + static_cast<std::ptrdiff_t>(own));
                        MPI_Barrier(MPI_COMM_WORLD);
                        const double start = MPI_Wtime();
                        if (is_ours) {
                            const weights none;
                            if (bcast)
                                last = ccoll::bcast(held, ccoll::since(me == 0 ? all.before : none), 0,
                                                    MPI_COMM_WORLD);
                            else last = ccoll::allgather(held, ccoll::since(all.before), MPI_COMM_WORLD);
                        } else if (bcast) {
                            MPI_Bcast(held.data(), static_cast<int>(n), MPI_UINT16_T, 0, MPI_COMM_WORLD);
                        } else {
                            MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, held.data(),
                                          static_cast<int>(part), MPI_UINT16_T, MPI_COMM_WORLD);
                        }
                        const double seconds = over_ranks(MPI_Wtime() - start, MPI_MAX);
                        if (k >= 0) (is_ours ? ours : plain).push_back(seconds);
                        failed |= std::memcmp(held.data(), all.after.data(), n * 2) != 0;
                    }
                const double sent = over_ranks(static_cast<double>(last.sent_bytes), MPI_SUM),
                             raw = over_ranks(static_cast<double>(last.raw_bytes), MPI_SUM);
                failed |= std::strcmp(last.codec, "Changes") != 0;
                failed = over_ranks(failed ? 1 : 0, MPI_MAX) > 0;
                if (me != 0) continue;
                const double base = 1e3 * quantile(plain, 0.5), ms = 1e3 * quantile(ours, 0.5),
                             fast = 1e3 * quantile(ours, 0), slow = 1e3 * quantile(ours, 1);
                fmt::print("{:10} {:5} {:7.2f}% {:9.1f} {:9.1f} {:7.1f} .. {:6.1f} {:9.2f} {:8.3f}%{}\n",
                           operation, kind, 100 * all.changed, base, ms, fast, slow, base / ms,
                           100 * sent / raw, failed ? "  BROKEN" : "");
                if (!json.empty())
                    std::ofstream(json, std::ios::app)
                        << nlohmann::json{{"operation", operation},
                                          {"mpi", mpi_version()},
                                          {"link", link},
                                          {"mib", mib},
                                          {"ranks", p},
                                          {"kind", kind},
                                          {"changed", all.changed},
                                          {"mpi_ms", base},
                                          {"mpi_ms_min", 1e3 * quantile(plain, 0)},
                                          {"mpi_ms_max", 1e3 * quantile(plain, 1)},
                                          {"ms", ms},
                                          {"ms_min", fast},
                                          {"ms_max", slow},
                                          {"speed_up", base / ms},
                                          {"bytes_share", sent / raw}}
                        << '\n';
            }
    MPI_Finalize();
    return failed ? 1 : 0;
}
