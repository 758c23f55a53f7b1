// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// outer_steps.hpp: the same weights on all ranks, near those of exact steps; ranks that are lost, come back
// or come anew.
#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ccoll/outer_steps.hpp>
#include <ccoll/transport/threads.hpp>

#include "tapped.hpp"

namespace outer_steps_cases {

using namespace ccoll::policies;

namespace {

constexpr std::size_t length = 3000;

void want(bool holds, const std::string& what)
{
    if (!holds) throw std::runtime_error(what);
}
double target(std::size_t i) { return std::sin(0.01 * static_cast<double>(i)) * (i % 7 == 0 ? 100 : 1); }
/// A rank's own steps: half of the way to a target that each rank sees a little differently.
template <class T>
void train(std::vector<T>& weights, int rank)
{
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double wanted = target(i) * (1 + 0.01 * (rank - 1));
        const double now = static_cast<double>(weights[i]);
        weights[i] = static_cast<T>(static_cast<float>(now + 0.5 * (wanted - now)));
    }
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// The ranks of a training, which outlive the communicators that they use.
template <class T, class Bound = FixedBits<6>>
struct training {
    struct member {
        std::vector<T> weights = std::vector<T>(length);
        ccoll::outer_steps<T, Bound> outer;
        explicit member(ccoll::outer_settings how) : outer(weights, how) {}
    };
    std::vector<std::unique_ptr<member>> members;

    explicit training(int p, ccoll::outer_settings how = {})
    {
        for (int r = 0; r < p; ++r) members.push_back(std::make_unique<member>(how));
    }
    member& of(int rank) { return *members[static_cast<std::size_t>(rank)]; }
    /// body(member, its number, comm) on the ranks `who`.
    template <class Body>
    void on(const std::vector<int>& who, Body body)
    {
        ccoll::run_ranks(static_cast<int>(who.size()), [&](ccoll::threads_comm& comm) {
            const int number = who[static_cast<std::size_t>(comm.rank())];
            body(of(number), number, comm);
        });
    }
    void step(const std::vector<int>& who)
    {
        on(who, [](member& m, int number, ccoll::threads_comm& comm) {
            train(m.weights, number);
            m.outer.step(std::span(m.weights), comm);
        });
    }
    bool all_have_the_same(const std::vector<int>& who)
    {
        for (const int r : who)
            if (!same_bits(of(r).weights, of(who[0]).weights)) return false;
        return true;
    }
};

/// The same in double, with exact averages.
std::vector<double> exact_steps(int p, int steps, const ccoll::outer_settings& how)
{
    std::vector<double> start(length), velocity(length);
    for (int k = 0; k < steps; ++k) {
        std::vector<double> average(length);
        for (int r = 0; r < p; ++r)
            for (std::size_t i = 0; i < length; ++i) {
                const double now = start[i] + 0.5 * (target(i) * (1 + 0.01 * (r - 1)) - start[i]);
                average[i] += (start[i] - now) / p;
            }
        for (std::size_t i = 0; i < length; ++i) {
            velocity[i] = how.momentum * velocity[i] + average[i];
            start[i] -= how.rate * (how.nesterov ? how.momentum * velocity[i] + average[i] : velocity[i]);
        }
    }
    return start;
}
template <class T>
double farthest(const std::vector<T>& weights, const std::vector<double>& exact)
{
    double most = 0;
    for (std::size_t i = 0; i < length; ++i)
        most = std::max(most, std::fabs(static_cast<double>(weights[i]) - exact[i]));
    return most;
}

}  // namespace

TEMPLATE_TEST_CASE("Outer steps give all ranks the same weights, near those of exact steps",
                   "[collectives][outer_steps]", float, double, ccoll::half, ccoll::bfloat16)
{
    using T = TestType;
    for (const ccoll::outer_settings how : {ccoll::outer_settings{}, ccoll::outer_settings{1, 0, false},
                                            ccoll::outer_settings{0.5, 0.5, false}})
        for (const int p : {1, 2, 3, 5}) {
            INFO(p << " ranks, rate " << how.rate);
            training<T> all(p, how);
            std::vector<int> who;
            for (int r = 0; r < p; ++r) who.push_back(r);
            constexpr int steps = 6;
            for (int k = 0; k < steps; ++k) {
                all.step(who);
                CHECK(all.all_have_the_same(who));
            }
            CHECK(all.of(0).outer.steps() == steps);
            // Each average is within 2^-6 of the largest difference, which is at most 100 (and grows by
            // momentum), plus what was kept; half has 11 bits, bfloat16 8.
            const double rounding = sizeof(T) == 2 ? (std::is_same_v<T, ccoll::half> ? 0.1 : 0.8) : 1e-4;
            CHECK(farthest(all.of(0).weights, exact_steps(p, steps, how)) < 200 * 0x1p-6 * 2 + rounding);
        }
}

TEST_CASE("What a step cuts off arrives with later ones", "[collectives][outer_steps]")
{
    // Differences of 1/1000 of the largest one are far below the bound of 4 bits. Without feedback they
    // would never be sent.
    const ccoll::outer_settings average{1, 0, false};
    training<float, FixedBits<4>> all(3, average);
    for (int k = 0; k < 400; ++k)
        all.on({0, 1, 2}, [&](auto& m, int, ccoll::threads_comm& comm) {
            for (std::size_t i = 0; i < length; ++i) m.weights[i] += i == 0 ? 1.0f : 0.001f;
            m.outer.step(std::span(m.weights), comm);
        });
    for (const std::size_t i : {std::size_t{1}, length - 1})
        CHECK(std::fabs(all.of(0).weights[i] - 0.4f) < 0x1p-4f + 0.001f);
}

TEST_CASE("With blocks small weights beside large ones keep their bits", "[collectives][outer_steps]")
{
    // The first 1024 elements move by 100, others by about 0.01; one scale of 6 bits would cut those off.
    training<float, FixedBits<6, Block<256>>> all(3, {1, 0, false});
    all.on({0, 1, 2}, [](auto& m, int number, ccoll::threads_comm& comm) {
        for (std::size_t i = 0; i < length; ++i)
            m.weights[i] += (i < 1024 ? 100.0f : 0.01f) * (1 + 0.1f * static_cast<float>(number));
        m.outer.step(std::span(m.weights), comm);
    });
    CHECK(all.all_have_the_same({0, 1, 2}));
    CHECK(std::fabs(all.of(0).weights[0] - 110) <= 128 * 0x1p-6f);
    CHECK(std::fabs(all.of(0).weights[2000] - 0.011f) <= 0x1p-6f * 0x1p-6f);
}

TEST_CASE("With an absolute bound the average keeps it", "[collectives][outer_steps]")
{
    training<double, ErrorBound<0.01>> all(3, {1, 0, false});
    all.step({0, 1, 2});
    CHECK(farthest(all.of(1).weights, exact_steps(3, 1, {1, 0, false})) <= 0.01 + 1e-5);  // train() rounds
}

TEST_CASE("After a rank is lost the others go on, and it may come back", "[collectives][outer_steps]")
{
    training<float> all(4);
    all.step({0, 1, 2, 3});
    // Rank 2 leaves before the step. The others are told, and nothing has changed.
    std::mutex mutex;
    int told = 0;
    all.on({0, 1, 2, 3}, [&](auto& m, int number, ccoll::threads_comm& comm) {
        train(m.weights, number);
        if (number == 2) return;
        const auto before = m.weights;
        try {
            m.outer.step(std::span(m.weights), comm);
        } catch (const ccoll::error& e) {
            const std::lock_guard lock(mutex);
            told += e.what_happened().code == ccoll::status::peer_lost ||
                    e.what_happened().code == ccoll::status::abandoned;
        }
        want(same_bits(m.weights, before) && m.outer.steps() == 1, "nothing has changed");
    });
    CHECK(told == 3);
    all.on({0, 1, 3}, [&](auto& m, int, ccoll::threads_comm& comm) {
        const auto before = m.weights;
        want(!m.outer.settle(std::span(m.weights), comm), "nobody is behind");
        want(same_bits(m.weights, before), "what was trained stays");
        m.outer.step(std::span(m.weights), comm);
    });
    CHECK(all.all_have_the_same({0, 1, 3}));
    CHECK(all.of(0).outer.steps() == 2);
    // It comes back, and a new rank as well.
    all.members.push_back(std::make_unique<training<float>::member>(ccoll::outer_settings{}));
    for (std::size_t i = 0; i < length; ++i) all.of(4).weights[i] = -7;
    all.on({2, 0, 1, 3, 4}, [&](auto& m, int number, ccoll::threads_comm& comm) {
        try {
            m.outer.step(std::span(m.weights), comm);
            throw std::runtime_error("ranks with other numbers of steps make a step");
        } catch (const ccoll::error& e) {
            want(e.what_happened().code == ccoll::status::out_of_turn, e.what());
            want(std::string(e.what()).find("call settle() first") != std::string::npos, e.what());
        }
        want(m.outer.settle(std::span(m.weights), comm) == (number == 2 || number == 4), "who is behind");
        want(m.outer.steps() == 2, "the number of steps");
    });
    CHECK(all.all_have_the_same({0, 1, 2, 3, 4}));
    for (int k = 0; k < 3; ++k) all.step({0, 1, 2, 3, 4});
    CHECK(all.all_have_the_same({0, 1, 2, 3, 4}));
    CHECK(all.of(4).outer.steps() == 5);
}

TEST_CASE("If a step succeeds on some ranks alone, each difference counts once, and nothing is lost",
          "[collectives][outer_steps]")
{
    // The second step of rank 0 fails at each of its messages in turn. If others have its contribution, they
    // may end it, and rank 0 learns of it in settle(). Steps without a difference send what was kept, whole.
    int succeeded_elsewhere = 0, failed_everywhere = 0;
    for (const int p : {2, 3, 4})
        for (int nth = 1, failed = 1; failed > 0; ++nth) {
            INFO(p << " ranks, message " << nth);
            std::vector<int> who;
            for (int r = 0; r < p; ++r) who.push_back(r);
            training<float, FixedBits<4>> all(p, {1, 0, false});
            const auto add = [](std::vector<float>& weights, int rank) {
                for (std::size_t i = 0; i < length; ++i)
                    weights[i] += i == 0 ? 1.0f : 0.02f * static_cast<float>(rank + 1);
            };
            all.on(who, [&](auto& m, int number, ccoll::threads_comm& comm) {
                add(m.weights, number);
                m.outer.step(std::span(m.weights), comm);
            });
            std::atomic<int> seen = 0, failures = 0;
            worlds::tap tap;
            tap.received = [&](worlds::passing& what) {
                if (what.rank == 0 && ++seen == nth) what.result = ccoll::status::transport_failed;
            };
            all.on(who, [&](auto& m, int number, ccoll::threads_comm& comm) {
                add(m.weights, number);
                try {
                    m.outer.step(std::span(m.weights), worlds::tapped_comm(comm, tap));
                } catch (const ccoll::error&) {
                    ++failures;
                }
            });
            failed = failures;
            succeeded_elsewhere += failed > 0 && failed < p;
            failed_everywhere += failed == p;
            all.on(who, [](auto& m, int, ccoll::threads_comm& comm) {
                m.outer.settle(std::span(m.weights), comm);
                for (int k = 0; k < 2; ++k) m.outer.step(std::span(m.weights), comm);
            });
            CHECK(all.all_have_the_same(who));
            const std::vector<float>& weights = all.of(0).weights;
            CHECK(std::fabs(weights[0] - 2) < 1e-5f);
            for (const std::size_t i : {std::size_t{1}, length - 1})
                CHECK(std::fabs(weights[i] - 0.02f * static_cast<float>(p + 1)) < 1e-5f);
        }
    CHECK(succeeded_elsewhere > 0);
    CHECK(failed_everywhere > 0);
}

TEST_CASE("A rank that missed a step still has what it cut off before", "[collectives][outer_steps]")
{
    // Of the first step all but the first element is cut off. Steps without a difference send what was kept:
    // that of ranks 0 and 1, and when rank 2 is back, its own.
    training<float, FixedBits<4>> all(3, {1, 0, false});
    all.on({0, 1, 2}, [](auto& m, int number, ccoll::threads_comm& comm) {
        for (std::size_t i = 0; i < length; ++i)
            m.weights[i] += i == 0 ? 1.0f : 0.02f * static_cast<float>(number + 1);
        m.outer.step(std::span(m.weights), comm);
    });
    CHECK(all.of(0).weights[1] == 0.0f);
    const auto step = [](auto& m, int, ccoll::threads_comm& comm) {
        m.outer.settle(std::span(m.weights), comm);
        m.outer.step(std::span(m.weights), comm);
    };
    all.on({0, 1}, step);
    CHECK(std::fabs(all.of(0).weights[1] - (0.02f + 0.04f) / 2) < 1e-6f);
    all.on({0, 1, 2}, step);
    CHECK(std::fabs(all.of(0).weights[1] - (0.03f + 0.06f / 3)) < 1e-6f);
    CHECK(all.all_have_the_same({0, 1, 2}));
}

TEST_CASE("Outer steps as the page shows them", "[collectives][outer_steps]")
{
    std::vector<std::vector<float>> of_ranks(4, std::vector<float>(length));
    std::vector<std::unique_ptr<ccoll::outer_steps<float, FixedBits<4>>>> states(4);
    ccoll::run_ranks(4, [&](ccoll::threads_comm& comm) {
        std::vector<float>& weights = of_ranks[static_cast<std::size_t>(comm.rank())];
        const auto train_by_itself = [&] { train(weights, comm.rank()); };
        // [doc:outer_training]
        ccoll::outer_steps<float, FixedBits<4>> outer(weights);  // as training begins, the same on all ranks
        for (int k = 0; k < 10; ++k) {
            for (int h = 0; h < 5; ++h) train_by_itself();
            outer.step(std::span(weights), comm);  // the same bits on all ranks
        }
        // [/doc:outer_training]
        states[static_cast<std::size_t>(comm.rank())] =
            std::make_unique<ccoll::outer_steps<float, FixedBits<4>>>(std::move(outer));
    });
    ccoll::run_ranks(3, [&](ccoll::threads_comm& smaller) {
        std::vector<float>& weights = of_ranks[static_cast<std::size_t>(smaller.rank())];
        auto& outer = *states[static_cast<std::size_t>(smaller.rank())];
        // [doc:outer_settle]
        outer.settle(std::span(weights), smaller);  // who had not heard that a step succeeded is told now
        outer.step(std::span(weights), smaller);
        // [/doc:outer_settle]
    });
    for (std::size_t r = 0; r < 3; ++r) CHECK(same_bits(of_ranks[r], of_ranks[0]));
    // Targets differ by a hundredth from rank to rank, and are at most 100.
    CHECK(farthest(of_ranks[0], exact_steps(4, 60, {})) < 200 * 0x1p-4 + 3);
}

TEST_CASE("Outer steps refuse vectors of other lengths", "[collectives][outer_steps]")
{
    std::vector<float> weights(10), longer(11);
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        ccoll::outer_steps<float> outer{std::span<const float>(weights)};
        try {
            outer.step(std::span(longer), comm);
            throw std::runtime_error("accepted");
        } catch (const ccoll::error& e) {
            want(e.what_happened().code == ccoll::status::size_mismatch, e.what());
        }
        ccoll::outer_steps<float> other{std::span<const float>(comm.rank() == 0 ? weights : longer)};
        std::vector<float> own(comm.rank() == 0 ? 10 : 11);
        for (const bool settles : {false, true}) try {
                if (settles) other.settle(std::span(own), comm);
                else other.step(std::span(own), comm);
                throw std::runtime_error("accepted");
            } catch (const ccoll::error& e) {
                want(e.what_happened().code == ccoll::status::count_differs, e.what());
            }
    });
}

}  // namespace outer_steps_cases
