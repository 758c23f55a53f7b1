// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that choose by measuring: Codec::Auto and menu::tuned(). Whatever the timings are, all ranks take the
// same candidate, and results are within the bound. Which candidate it is, is tested where the timings are
// made (tests/tune/history.cpp), and here with a codec that sleeps.
#include <ccoll/auto.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/neighbor.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/scan.hpp>

#include "worlds.hpp"

#include "tapped.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

namespace acme {

/// Floats as they are, slowly.
struct Sleepy : ccoll::codec_tag<220, true> {
    static constexpr const char* name = "acme::Sleepy";
};

}  // namespace acme

template <>
struct ccoll::codec_impl<acme::Sleepy, float, ccoll::host_space> {
    static constexpr std::size_t chunk_elements = 8192;
    static encode_result encode_chunk(std::span<const float> in, byte_span dst, double) noexcept
    {
        if (dst.size() < in.size_bytes()) return {0, status::out_of_space};
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        std::memcpy(dst.data(), in.data(), in.size_bytes());
        return {in.size_bytes()};
    }
    static status decode_chunk(const_byte_span src, std::span<float> out, double) noexcept
    {
        if (src.size() != out.size_bytes()) return status::corrupt;
        std::memcpy(out.data(), src.data(), src.size());
        return status::ok;
    }
};

namespace measuring_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

constexpr std::size_t mib = (1 << 20) / sizeof(float);

std::vector<float> wave(int rank, std::size_t n, float phase = 0)
{
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = std::sin(0.001f * static_cast<float>(i) + static_cast<float>(rank) + phase);
    return x;
}
std::vector<float> noise(int rank, std::size_t n, unsigned seed = 1)
{
    std::mt19937 random(seed + 77 * static_cast<unsigned>(rank));
    std::vector<float> x(n);
    for (float& v : x) v = static_cast<float>(random()) * 1e-5f;
    return x;
}
std::string taken(const ccoll::report& r)
{
    return std::string(r.algorithm) + "," + r.codec + "," + r.placement + ": " + r.reason;
}

/// All ranks say the same of a call. By all ranks.
void same_on_all_ranks(const std::string& mine, const threads_comm& comm, findings& f)
{
    std::vector<unsigned char> all(static_cast<std::size_t>(comm.size()) * 160), one(160);
    std::copy_n(mine.begin(), std::min<std::size_t>(mine.size(), one.size()), one.begin());
    ccoll::allgather(one, all, comm);
    for (std::size_t r = 0; r < static_cast<std::size_t>(comm.size()); ++r)
        f.expect(std::equal(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(160 * r)),
                 "ranks took different candidates: " + mine);
}
double largest_error(std::span<const float> x, std::span<const double> exact)
{
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(x[i]) - exact[i]));
    return worst;
}
void sleep_a_little(std::mt19937& random)
{
    if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
}

}  // namespace

TEST_CASE(
    "Codec::Auto: ranks take the same candidate whatever the timings and the values are, and sums are within "
    "the bound",
    "[collectives][auto]")
{
    for (const int p : {2, 3, 4}) {
        none_wrong(worlds::run<findings>(p, [=](threads_comm& comm, findings& f) {
            std::mt19937 random(static_cast<unsigned>(11 * comm.rank() + p));
            std::vector<std::array<std::vector<float>, 2>> all;  // of each rank: a wave, noise
            for (int r = 0; r < p; ++r) all.push_back({wave(r, mib), noise(r, mib)});
            const auto in_order = [&](int calls, auto kind) {  // kind: (call, rank) -> 0 or 1
                std::vector<float> y(mib);
                for (int k = 0; k < calls; ++k) {
                    std::vector<double> exact(mib);
                    for (int r = 0; r < p; ++r) {
                        const std::vector<float>& theirs = all[static_cast<std::size_t>(r)][kind(k, r)];
                        for (std::size_t i = 0; i < mib; ++i) exact[i] += static_cast<double>(theirs[i]);
                    }
                    sleep_a_little(random);
                    const std::vector<float>& x =
                        all[static_cast<std::size_t>(comm.rank())][kind(k, comm.rank())];
                    const ccoll::report r = ccoll::allreduce<Codec::Auto, ErrorBound<1e-2>>(x, y, comm);
                    same_on_all_ranks(taken(r), comm, f);
                    const double rounding = 0.02 * p;  // of floats as large as the sums of noise are
                    f.expect(largest_error(y, exact) <= r.worst_case_error + rounding,
                             "largest_error(y, exact) <= r.worst_case_error + rounding");
                    f.expect(r.worst_case_error <= 1e-2 * p * 1.0001,
                             "r.worst_case_error <= 1e-2 * p * 1.0001");
                    f.expect(*r.reason != 0, "*r.reason != 0");
                }
            };
            const auto number = [](bool noise) { return std::size_t{noise}; };
            in_order(42, [&](int k, int) { return number(k / 14 % 2 == 1); });
            in_order(20, [&](int k, int) { return number(k % 2 == 1); });
            in_order(20, [&](int k, int r) { return number((k + r) % 2 == 1); });
        }));
    }
}

TEST_CASE("Codec::Auto without a bound: what moves data moves every bit, and reductions take no codec",
          "[collectives][auto]")
{
    none_wrong(worlds::run<findings>(3, [=](threads_comm& comm, findings& f) {
        for (int k = 0; k < 12; ++k) {
            std::vector<float> x = wave(0, 2 * mib, static_cast<float>(k)), sum(mib);
            const std::vector<float> expected = x;
            if (comm.rank() != 0) std::fill(x.begin(), x.end(), 0.0f);
            const ccoll::report moved = ccoll::bcast<Codec::Auto>(x, 0, comm);
            same_on_all_ranks(taken(moved), comm, f);
            f.expect(std::memcmp(x.data(), expected.data(), x.size() * sizeof(float)) == 0,
                     "std::memcmp(x.data(), expected.data(), x.size() * sizeof(float)) == 0");
            f.expect(moved.exact, "moved.exact");
            const ccoll::report reduced = ccoll::allreduce<Codec::Auto>(wave(comm.rank(), mib), sum, comm);
            f.expect(reduced.codec == std::string("None"), "reduced.codec == std::string(\"None\")");
        }
    }));
}

TEST_CASE("Codec::Auto: rooted, scattered and prefix calls, any root, with bounds of every kind",
          "[collectives][auto]")
{
    none_wrong(worlds::run<findings>(3, [=](threads_comm& comm, findings& f) {
        const std::vector<float> mine = wave(comm.rank(), 3 * mib);
        std::vector<float> all(3 * mib), part(mib);
        for (int k = 0; k < 11; ++k) {
            same_on_all_ranks(
                taken(ccoll::reduce<Codec::Auto, EndToEnd<ErrorBound<1e-3>>>(mine, all, k % 3, comm)), comm,
                f);
            same_on_all_ranks(
                taken(ccoll::reduce_scatter<Codec::Auto, RelativeBound<1e-3>>(mine, part, comm)), comm, f);
            same_on_all_ranks(taken(ccoll::alltoall<Codec::Auto, ErrorBound<1e-4>>(mine, all, comm)), comm,
                              f);
            same_on_all_ranks(taken(ccoll::scan<Codec::Auto, ErrorBound<1e-3>>(mine, all, comm)), comm, f);
            same_on_all_ranks(
                taken(ccoll::allgather<Codec::Auto, RuntimeBound>(part, all, comm, 1e-3 * (1 + k))), comm, f);
            same_on_all_ranks(taken(ccoll::gather<Codec::Auto, ErrorBound<1e-3>>(part, all, k % 3, comm)),
                              comm, f);
        }
    }));
}

TEST_CASE("Codec::Auto: begun and prepared calls among blocking ones", "[collectives][auto]")
{
    none_wrong(worlds::run<findings>(3, [=](threads_comm& comm, findings& f) {
        std::mt19937 random(static_cast<unsigned>(comm.rank()));
        const std::vector<float> x = wave(comm.rank(), mib);
        std::vector<std::vector<float>> y(4, std::vector<float>(mib));
        std::vector<float> z(mib);
        ccoll::persistent prepared = ccoll::allreduce_init<Codec::Auto, ErrorBound<1e-3>>(x, z, comm);
        for (int k = 0; k < 16; ++k) {
            std::vector<ccoll::request> requests;
            for (std::vector<float>& each : y) {
                sleep_a_little(random);
                requests.push_back(ccoll::iallreduce<Codec::Auto, ErrorBound<1e-3>>(x, each, comm));
            }
            same_on_all_ranks(taken(ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, z, comm)), comm, f);
            while (!requests.empty()) {
                const std::size_t which = random() % requests.size();
                const ccoll::report r = requests[which].wait();
                f.expect(*r.reason != 0, "*r.reason != 0");
                requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(which));
            }
            prepared.start();
            prepared.wait();
            for (const std::vector<float>& each : y) f.expect(each == y[0], "requests have the same result");
        }
    }));
}

TEST_CASE("Codec::Auto: wrong arguments are errors on all ranks at any time, and the next call works",
          "[collectives][auto]")
{
    none_wrong(worlds::run<findings>(3, [=](threads_comm& comm, findings& f) {
        const std::vector<float> x = wave(comm.rank(), 2 * mib);
        std::vector<float> y(2 * mib);
        for (int k = 0; k < 30; ++k) {
            const bool wrong = k % 5 == 3;
            const std::size_t n = wrong && comm.rank() == 1 ? mib + 8 : mib + 16;
            std::error_code code;
            const ccoll::report r = ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>, Check::Collective>(
                std::span(x).first(n), std::span(y).first(n), comm, code);
            f.expect(bool(code) == wrong, "bool(code) == wrong");
            if (!wrong) same_on_all_ranks(taken(r), comm, f);
        }
    }));
}

TEST_CASE(
    "Calls of less than 8 KiB compare nothing after the first one, and others of less than 1 MiB seldom",
    "[collectives][auto]")
{
    const std::size_t rounds = 4 * 2;  // of a comparison: messages of 4 ranks, ceil(log2 4) of each
    for (const std::size_t n : {std::size_t{2047}, std::size_t{20000}}) {
        const bool never = n * sizeof(float) < 8192;
        bool seldom = false;
        // Calls that are slower than before make ranks doubt and explore, and then they compare. So it may
        // take a few runs on a busy machine.
        for (int run = 0; run < (never ? 1 : 6) && !seldom; ++run) {
            const auto control = std::make_shared<std::atomic<std::size_t>>(0),
                       early = std::make_shared<std::atomic<std::size_t>>(0);
            const auto begin = std::make_shared<std::atomic<double>>(0);
            tap watcher;
            watcher.sent = [control](passing& m) { *control += m.control() && !m.question(); };
            none_wrong(worlds::run<findings>(4, [=](threads_comm& comm, findings& f) {
                const tapped_comm link(comm, watcher);
                const std::vector<float> x = wave(comm.rank(), n);
                std::vector<float> y(n);
                for (int k = 0; k < 210; ++k) {
                    const ccoll::report r = ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, link);
                    same_on_all_ranks(taken(r), comm, f);  // after which no message is under way
                    if (k == 9 && comm.rank() == 0)
                        *early = control->load(), *begin = ccoll::steady_seconds();
                    if (never) f.expect(r.codec == std::string("None"), "r.codec == std::string(\"None\")");
                }
            }));
            CAPTURE(n, run, early->load(), control->load());
            if (never) CHECK(*control == rounds);
            // An exploration, eight calls one after the other, and comparisons that take up to 4 % of the
            // time.
            using ccoll::tune::call_class;
            const double share = 0.04 * (ccoll::steady_seconds() - *begin) / call_class::least_comparison_s;
            seldom = static_cast<double>(*control - *early) <=
                     (call_class::calls_of_exploration + call_class::burst_calls + 1 + share) *
                         static_cast<double>(rounds);
        }
        CHECK(seldom);
    }
}

TEST_CASE("menu::tuned() leaves a plan that is slow, and takes it again if it becomes the faster one",
          "[collectives][auto]")
{
    constexpr ccoll::menu<ccoll::Plan<acme::Sleepy, ErrorBound<1e-3>>, ccoll::Plan<>> plans{"sleepy",
                                                                                            "exact"};
    none_wrong(worlds::run<findings>(2, [=](threads_comm& comm, findings& f) {
        const std::vector<float> x = wave(comm.rank(), mib);
        std::vector<float> y(mib);
        std::vector<std::string> codecs;
        for (int k = 0; k < 12; ++k) codecs.push_back(ccoll::allreduce(plans.tuned(), x, y, comm).codec);
        f.expect(codecs.front() == "acme::Sleepy", "codecs.front() == \"acme::Sleepy\"");
        f.expect(codecs.back() == "None", "codecs.back() == \"None\"");
    }));
}

TEST_CASE("Calls that measure send the same messages as those that do not", "[collectives][auto]")
{
    none_wrong(worlds::run<findings>(2, [=](threads_comm& comm, findings& f) {
        const auto same = [&]<class Algo>(Algo, std::size_t n) {
            using plan = ccoll::Plan<Codec::SZp, Algo, ErrorBound<1e-3>>;
            constexpr ccoll::menu<plan, ccoll::Plan<>> plans{"encoded", "exact"};
            const std::vector<float> x = wave(comm.rank(), n);
            std::vector<float> y(n);
            std::size_t measured = 0, usual = ccoll::allreduce<plan>(x, y, comm).sent_bytes;
            const auto said = [&] {
                return std::string(Algo::name) + ", " + std::to_string(n) +
                       " values: " + std::to_string(measured) + " bytes in calls that measure, " +
                       std::to_string(usual) + " in others";
            };
            for (int k = 0; k < 40; ++k) {
                const ccoll::report r = ccoll::allreduce(plans.tuned(), x, y, comm);
                if (std::string(r.codec) != "SZp") continue;
                (r.agreed ? measured : usual) = r.sent_bytes;
                f.expect(measured == 0 || measured == usual, said());
            }
            f.expect(measured > 0, "a call measured");
        };
        for (const std::size_t n : {mib / 64, mib / 4, mib - 1, mib, 2 * mib}) {
            same(Algo::Ring{}, n);
            same(Algo::RecursiveDoubling{}, n);
        }
    }));
}

TEST_CASE("Calls on one rank, empty calls and calls with counts take the first candidate",
          "[collectives][auto]")
{
    none_wrong(worlds::run<findings>(1, [=](threads_comm& comm, findings& f) {
        std::vector<float> x(2 * mib, 1.0f), y(x.size());
        f.expect(
            ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, comm).codec == std::string("None"),
            "ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, comm).codec == std::string(\"None\")");
        f.expect(y == x, "y == x");
    }));
    none_wrong(worlds::run<findings>(2, [=](threads_comm& comm, findings& f) {
        std::vector<float> none, x(2 * mib, 1.0f), y(4 * mib);
        f.expect(
            ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(none, none, comm).codec == std::string("None"),
            "ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(none, none, comm).codec == "
            "std::string(\"None\")");
        const std::vector<int> counts{static_cast<int>(mib), static_cast<int>(2 * mib)};
        const std::size_t mine = static_cast<std::size_t>(counts[static_cast<std::size_t>(comm.rank())]);
        const ccoll::report r = ccoll::allgatherv<Codec::Auto, ErrorBound<1e-3>>(
            std::span(x).first(mine), std::span(y).first(3 * mib), counts, comm);
        f.expect(r.codec == std::string("None"), "counts");
        const auto ring = ccoll::with_grid(comm, std::vector{2}, std::vector{1});
        const std::vector<int> to{20, 10}, from{10, 20};  // what goes down arrives from above
        std::vector<float> sent(30, 2.0f), received(30);
        const ccoll::report between =
            ccoll::neighbor_alltoallv<Codec::Auto, ErrorBound<1e-3>>(sent, to, received, from, ring);
        f.expect(between.codec == std::string("None") && received == sent, "neighbours, counts");
    }));
}

}  // namespace measuring_cases
