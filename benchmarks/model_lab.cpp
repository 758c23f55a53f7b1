// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// model_lab.cpp - what the cost model (tune/cost_model.hpp) predicts beside what calls take, on the links
// that this program runs on. It measures the link with messages in a ring and the codecs for a moment, before
// any collective. Prints a row per call, and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include "modelled.hpp"
#include "over_mpi.hpp"

using namespace ccoll::policies;
using namespace modelled;

namespace {

struct row {
    plan of;
    std::function<void(const floats&, floats&, double)> run;
    std::vector<double> seconds{};
};

template <class Algo, class... P>
row reduces(coding codec)
{
    return {plan_of<ccoll::collective::allreduce, Algo>(codec), [](const floats& x, floats& y, double eb) {
                if constexpr (sizeof...(P) == 0) ccoll::allreduce<Algo>(x, y, MPI_COMM_WORLD);
                else ccoll::allreduce<Algo, P..., RuntimeBound>(x, y, MPI_COMM_WORLD, eb);
            }};
}
template <class Algo, class... P>
row spreads(coding codec)
{
    return {plan_of<ccoll::collective::bcast, Algo>(codec), [](const floats&, floats& y, double eb) {
                if constexpr (sizeof...(P) == 0) ccoll::bcast<Algo>(y, 0, MPI_COMM_WORLD);
                else ccoll::bcast<Algo, P..., RuntimeBound>(y, 0, MPI_COMM_WORLD, eb);
            }};
}
template <class... P>
row exchanges(coding codec)
{
    return {plan_of<ccoll::collective::alltoall, Algo::Pairwise>(codec),
            [](const floats& x, floats& y, double eb) {
                if constexpr (sizeof...(P) == 0) ccoll::alltoall<Algo::Pairwise>(x, y, MPI_COMM_WORLD);
                else ccoll::alltoall<Algo::Pairwise, P..., RuntimeBound>(x, y, MPI_COMM_WORLD, eb);
            }};
}

/// Every rank sends `count` messages of this length and receives as many, at most four at a time, as the
/// lanes of a call do.
/// @param exchange  with the same rank; otherwise it sends to the right and receives from the left
/// @return          seconds
double seconds_of_messages(std::size_t bytes, int count, bool exchange, int times)
{
    constexpr int window = 4;
    int me = 0, p = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const bool alone = exchange && (me ^ 1) >= p;
    const int to = exchange ? me ^ 1 : (me + 1) % p, from = exchange ? me ^ 1 : (me + p - 1) % p;
    std::vector<std::byte> sent(window * bytes), received(window * bytes);
    std::vector<double> all;
    for (int k = 0; k < times; ++k) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        MPI_Request requests[2 * window];
        std::fill(std::begin(requests), std::end(requests), MPI_REQUEST_NULL);
        for (int i = 0; i < count && !alone; ++i) {
            const std::size_t at = static_cast<std::size_t>(i % window) * bytes;
            MPI_Request* const mine = requests + 2 * (i % window);
            MPI_Waitall(2, mine, MPI_STATUSES_IGNORE);
            MPI_Irecv(received.data() + at, static_cast<int>(bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD,
                      &mine[0]);
            MPI_Isend(sent.data() + at, static_cast<int>(bytes), MPI_BYTE, to, 0, MPI_COMM_WORLD, &mine[1]);
        }
        MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE);
        all.push_back(over_ranks(MPI_Wtime() - begin, MPI_MAX));
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

/// Links are not equally fast for messages of every length, and where both ends send on one connection at the
/// same time.
struct measured_links {
    static constexpr std::size_t lengths[] = {16 << 10, 48 << 10, 256 << 10};
    double latency_s = 0, ring[3] = {}, pairs[3] = {};

    measured_links()
    {
        seconds_of_messages(256 << 10, 16, false, 1);
        latency_s = seconds_of_messages(8, 1, false, 101);
        for (int i = 0; i < 3; ++i)
            for (const bool exchange : {false, true}) {
                const int few = static_cast<int>((std::size_t{1} << 20) / lengths[i]), many = 4 * few;
                const double seconds = seconds_of_messages(lengths[i], many, exchange, 3) -
                                       seconds_of_messages(lengths[i], few, exchange, 3);
                (exchange ? pairs : ring)[i] =
                    seconds / static_cast<double>(lengths[i] * static_cast<std::size_t>(many - few));
            }
    }
    link_model of(const plan& what, std::size_t n, int p, double bits) const
    {
        int both = 0, one = 0;
        for (int k = 0; k < what.path.steps(p); ++k) {
            const ccoll::step s = what.path.step_at(0, p, 0, k);
            if (s.send_to != ccoll::nobody && s.send_to == s.recv_from) ++both;
            else if (s.send_to != ccoll::nobody || s.recv_from != ccoll::nobody) ++one;
        }
        const slicing cut = what.cut(n, p);
        const double bytes = static_cast<double>(n) * bits / 8 / static_cast<double>(what.path.blocks(p)) /
                             static_cast<double>(cut.slices) * what.path.widest(p);
        const int at = bytes < 28e3 ? 0 : bytes < 120e3 ? 1 : 2;
        const double share = both + one > 0 ? static_cast<double>(both) / (both + one) : 0;
        return {latency_s, share * pairs[at] + (1 - share) * ring[at]};
    }
};

/// Rank 0 measures while the others sleep, and all take its figures: they must predict the same.
template <class Field>
codec_figures measured_codec(coding codec, Field field, double eb, int me)
{
    codec_figures f;
    if (me == 0) f = measure(codec, field, eb);
    int size = static_cast<int>(f.summed.size());
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Ibcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD, &r);
    for (int done = 0; done == 0; MPI_Test(&r, &done, MPI_STATUS_IGNORE))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    f.summed.resize(static_cast<std::size_t>(size));
    MPI_Bcast(&f.one, sizeof f.one, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(f.summed.data(), size, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return f;
}

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"the cost model beside measurements"};
    std::vector<std::size_t> sizes{16384, 262144, 1048576, 4194304};
    std::vector<std::string> of{"turbulence", "wavefronts"};
    std::string name = "unknown", json;
    int repetitions = 5;
    double cores = static_cast<double>(std::thread::hardware_concurrency());
    app.add_option("--elements", sizes, "floats per rank")->capture_default_str();
    app.add_option("--field", of, "kinds of data")->check(CLI::IsMember({"turbulence", "wavefronts"}));
    app.add_option("--repetitions", repetitions, "timed calls")->capture_default_str();
    app.add_option("--cores", cores, "that the ranks share")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--link", name, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;
    const measured_links links;
    if (me == 0) {
        fmt::print("{} ranks, {}: a message takes {:.0f} us; Gb/s in a ring and between pairs:", p, name,
                   1e6 * links.latency_s);
        for (int i = 0; i < 3; ++i)
            fmt::print("{} {:.2f} and {:.2f} with {} KiB", i > 0 ? "," : "", 8e-9 / links.ring[i],
                       8e-9 / links.pairs[i], measured_links::lengths[i] >> 10);
        fmt::print("\n");
    }
    int within = 0, all = 0;
    for (const std::string& field : of) {
        const auto values = [&](std::size_t n, unsigned seed) {
            return field == "turbulence" ? fields::turbulence(n, seed) : fields::wavefronts(n, seed);
        };
        const floats sample = values(1 << 18, 1);
        const auto [lowest, highest] = std::minmax_element(sample.begin(), sample.end());
        double eb = 1e-3 * static_cast<double>(*highest - *lowest);
        MPI_Bcast(&eb, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        std::array<codec_figures, 3> codecs;
        for (const coding c : {coding::none, coding::szp, coding::pipe_szx})
            codecs[static_cast<std::size_t>(c)] = measured_codec(c, values, eb, me);
        if (me == 0) {
            for (const coding c : {coding::szp, coding::pipe_szx}) {
                const codec_model& m = codecs[static_cast<std::size_t>(c)].one;
                fmt::print("{}, {}: encode {:.2f}, add {:.2f}, decode {:.2f} ns per value, {:.2f} bits\n",
                           field, c == coding::szp ? "SZp" : "PipeSZx", 1e9 * m.encode_s, 1e9 * m.add_s,
                           1e9 * m.decode_s, m.bits_per_element);
            }
            fmt::print("{:10} {:18} {:8} {:>9}  {:>15} {:>9} {:>7}\n", "", "", "", "bytes", "predicted, ms",
                       "found, ms", "ratio");
        }
        for (std::size_t n : sizes) {
            n = n / static_cast<std::size_t>(p) * static_cast<std::size_t>(p);
            const floats x = values(n, static_cast<unsigned>(me + 1));
            floats y = x;
            std::vector<row> rows{reduces<Algo::Ring>(coding::none),
                                  reduces<Algo::Ring, Codec::SZp>(coding::szp),
                                  reduces<Algo::Ring, Codec::PipeSZx>(coding::pipe_szx),
                                  reduces<Algo::RecursiveDoubling>(coding::none),
                                  reduces<Algo::RecursiveDoubling, Codec::SZp>(coding::szp),
                                  reduces<Algo::Rabenseifner>(coding::none),
                                  reduces<Algo::Rabenseifner, Codec::SZp>(coding::szp),
                                  spreads<Algo::Binomial>(coding::none),
                                  spreads<Algo::Binomial, Codec::SZp>(coding::szp),
                                  spreads<Algo::Chain, Codec::SZp>(coding::szp),
                                  exchanges<>(coding::none),
                                  exchanges<Codec::SZp>(coding::szp)};
            std::vector<std::size_t> order(rows.size());
            std::iota(order.begin(), order.end(), 0u);
            std::mt19937 random(7);  // the same on all ranks
            for (int k = -1; k < repetitions; ++k) {
                std::shuffle(order.begin(), order.end(), random);
                for (const std::size_t i : order) {
                    MPI_Barrier(MPI_COMM_WORLD);
                    const double begin = MPI_Wtime();
                    rows[i].run(x, y, eb);
                    const double seconds = over_ranks(MPI_Wtime() - begin, MPI_MAX);
                    if (k >= 0) rows[i].seconds.push_back(seconds);
                    y = x;
                }
            }
            if (me != 0) continue;
            for (const row& r : rows) {
                const codec_model c = codec_in(r.of, codecs[static_cast<std::size_t>(r.of.codec)], p);
                const link_model link = links.of(r.of, n, p, c.bits_per_element);
                const prediction t =
                    predict(r.of.work(p), static_cast<double>(n), link, c, cores / p, r.of.cut(n, p));
                const double found = quantile(r.seconds, 0.5),
                             wanted = std::clamp(found, t.least_seconds, t.seconds), off = found / wanted;
                ++all;
                within += off <= 1.2 && off >= 1 / 1.2;
                fmt::print("{:10} {:18} {:8} {:9}  {:7.2f}-{:<7.2f} {:9.2f} {:7.2f}{}\n", r.of.operation,
                           r.of.algorithm, r.of.codec_name(), 4 * n, 1e3 * t.least_seconds, 1e3 * t.seconds,
                           1e3 * found, off, off > 1.2 || off < 1 / 1.2 ? "  <--" : "");
                if (!json.empty())
                    std::ofstream(json, std::ios::app)
                        << nlohmann::json{{"operation", r.of.operation},
                                          {"algorithm", r.of.algorithm},
                                          {"codec", r.of.codec_name()},
                                          {"field", field},
                                          {"bytes", 4 * n},
                                          {"ranks", p},
                                          {"link", name},
                                          {"mpi", mpi_version().substr(0, mpi_version().find(','))},
                                          {"latency_us", 1e6 * link.latency_s},
                                          {"gbit_per_s", 8e-9 / link.seconds_per_byte},
                                          {"least_ms", 1e3 * t.least_seconds},
                                          {"most_ms", 1e3 * t.seconds},
                                          {"found_ms", 1e3 * found}}
                        << '\n';
            }
            std::fflush(stdout);
        }
    }
    if (me == 0) fmt::print("within 20 %: {} of {}\n", within, all);
    MPI_Finalize();
    return 0;
}
