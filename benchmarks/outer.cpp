// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// outer.cpp - outer steps of training over slow links: ccoll::outer_steps, beside the same step with an exact
// average by plain MPI, alternately in the same run. Prints a table, and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/outer_steps.hpp>
#include <ccoll/transport/mpi.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include "over_mpi.hpp"

using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;

/// What a rank's own steps add to the weights: layers of 64 Ki weights whose moves differ by up to 100 times.
/// Half of a move is common to all ranks.
floats make_moves(std::size_t n, int rank)
{
    // Values repeat after a million, so that this takes seconds.
    constexpr std::size_t period = 1 << 20, layer = 1 << 16;
    std::normal_distribution<float> normal(0, 1);
    std::mt19937_64 common(1), own(2 + static_cast<unsigned>(rank));
    floats moves(period);
    for (std::size_t i = 0; i < period; ++i) {
        const float size = 1e-4f * std::pow(10.0f, static_cast<float>(i / layer % 5) / 2);
        moves[i] = size * (normal(common) + normal(own)) / 2;
    }
    floats all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = moves[i % period];
    return all;
}

/// A way to make outer steps, with weights of its own.
struct variant {
    const char* name;
    floats weights;
    std::vector<double> seconds{};
    double sent = 0;  ///< bytes of the rank that sends most
    bool equal = true;

    /// @param step  step(weights) makes an outer step, and returns the bytes that this rank has sent
    template <class Step>
    void time_step(const floats& moves, Step& step, bool counts)
    {
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += moves[i];
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        const double sent_now = step(weights);
        const double took = over_ranks(MPI_Wtime() - start, MPI_MAX);
        if (counts) seconds.push_back(took);
        sent = over_ranks(sent_now, MPI_MAX);
        double sum = 0;
        for (const float w : weights) sum += static_cast<double>(w);
        equal = equal && over_ranks(sum, MPI_MIN) == over_ranks(sum, MPI_MAX);
    }
};

/// The same step with an exact average.
class exact_steps {
public:
    exact_steps(std::size_t n, int p) : start_(n), velocity_(n), difference_(n), p_(p) {}
    double operator()(floats& weights)
    {
        const ccoll::outer_settings how;
        for (std::size_t i = 0; i < weights.size(); ++i) difference_[i] = start_[i] - weights[i];
        MPI_Allreduce(MPI_IN_PLACE, difference_.data(), static_cast<int>(weights.size()), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
        const auto rate = static_cast<float>(how.rate), momentum = static_cast<float>(how.momentum);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const float d = difference_[i] / static_cast<float>(p_);
            velocity_[i] = momentum * velocity_[i] + d;
            start_[i] -= rate * (momentum * velocity_[i] + d);
            weights[i] = start_[i];
        }
        return 2.0 * (p_ - 1) / p_ * static_cast<double>(4 * weights.size());
    }

private:
    floats start_, velocity_, difference_;
    int p_;
};

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"outer steps in few bits, against the same with an exact average by plain MPI"};
    std::size_t millions = 16;
    int repetitions = 5;
    double gbit_per_s = 0;
    std::string link = "unknown", json;
    app.add_option("--millions", millions, "of weights in f32")->capture_default_str();
    app.add_option("--repetitions", repetitions, "timed steps of each, after one that is not timed")
        ->capture_default_str();
    app.add_option("--gbit", gbit_per_s, "Gb/s that a link lets through in each direction; 0: unknown")
        ->capture_default_str();
    app.add_option("--link", link, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;

    const std::size_t n = millions * 1000 * 1000;
    const floats moves = make_moves(n, me), zeros(n);
    exact_steps exact(n, p);
    ccoll::outer_steps<float, FixedBits<4>> four{std::span<const float>(zeros)};
    ccoll::outer_steps<float, FixedBits<8>> eight{std::span<const float>(zeros)};
    ccoll::outer_steps<float, FixedBits<4, Block<256>>> blocks{std::span<const float>(zeros)};
    const auto steps_of = [](auto& outer) {
        return [&outer](floats& weights) {
            return static_cast<double>(outer.step(std::span(weights), MPI_COMM_WORLD).sent_bytes);
        };
    };
    auto by_four = steps_of(four);
    auto by_eight = steps_of(eight);
    auto by_blocks = steps_of(blocks);
    variant all[] = {{"exact, plain MPI", zeros},
                     {"FixedBits<4>", zeros},
                     {"FixedBits<8>", zeros},
                     {"FixedBits<4, Block<256>>", zeros}};
    for (int k = -1; k < repetitions; ++k) {
        all[0].time_step(moves, exact, k >= 0);
        all[1].time_step(moves, by_four, k >= 0);
        all[2].time_step(moves, by_eight, k >= 0);
        all[3].time_step(moves, by_blocks, k >= 0);
    }
    bool failed = false;
    if (me == 0)
        fmt::print("{} million weights, {} ranks\n{:26} {:>9} {:>19} {:>6} {:>9} {:>9}\n", millions, p, "",
                   "ms", "min .. max", "times", "bits", "of link");
    const double base = quantile(all[0].seconds, 0.5);
    for (const variant& t : all) {
        failed |= !t.equal;
        if (me != 0) continue;
        const double s = quantile(t.seconds, 0.5);
        const double raw = 2.0 * (p - 1) / p * static_cast<double>(n), bits = 8 * t.sent / raw;
        const double of_link = gbit_per_s > 0 ? 8 * t.sent / (gbit_per_s * 1e9) / s : 0;
        fmt::print("{:26} {:9.1f} {:8.1f} .. {:7.1f} {:6.2f} {:9.2f} {:9.2f}{}\n", t.name, 1e3 * s,
                   1e3 * quantile(t.seconds, 0), 1e3 * quantile(t.seconds, 1), base / s, bits, of_link,
                   t.equal ? "" : "  BROKEN");
        if (!json.empty())
            std::ofstream(json, std::ios::app) << nlohmann::json{{"variant", t.name},
                                                                 {"mpi", mpi_version()},
                                                                 {"link", link},
                                                                 {"millions", millions},
                                                                 {"ranks", p},
                                                                 {"ms", 1e3 * s},
                                                                 {"ms_min", 1e3 * quantile(t.seconds, 0)},
                                                                 {"ms_max", 1e3 * quantile(t.seconds, 1)},
                                                                 {"speed_up", base / s},
                                                                 {"bits", bits},
                                                                 {"of_link", of_link}}
                                               << '\n';
    }
    MPI_Finalize();
    return failed ? 1 : 0;
}
