// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a collective needs that the library does not have: a promise, a schedule and a facade. It works with
// every codec, in each of the three ways to call it, and ranks that call another collective are told.
#include "support/catch.hpp"

#include <cmath>
#include <string>
#include <system_error>
#include <vector>

#include <ccoll/algo/delivery.hpp>
#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

namespace mine {

/// Rank r ends with the vector of the rank before it, rank 0 with that of the last one.
struct shift : ccoll::collective::numbered_by_part {
    static constexpr const char *name = "mine::shift", *varied_name = name;
    static constexpr bool reduces = false, rooted = false;
    static constexpr ccoll::extent send = ccoll::extent::whole, recv = ccoll::extent::whole;
    static constexpr ccoll::block_set before(int, int, int blocks) { return ccoll::collective::all(blocks); }
    static constexpr ccoll::block_set after(int, int, int blocks) { return ccoll::collective::all(blocks); }
    static constexpr int origin(int me, int p, int) { return (me + p - 1) % p; }
};

/// All ranks at once, in one step.
struct shift_by_one {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p > 1 ? 1 : 0; }
    static constexpr ccoll::step step_at(int me, int p, int, int)
    {
        return {(me + 1) % p, (me + p - 1) % p, {0, 1}, {0, 1}};
    }
};

}  // namespace mine

template <>
struct ccoll::schedule_for<ccoll::policies::Algo::Pairwise, mine::shift> : mine::shift_by_one {};

static_assert(ccoll::delivers<mine::shift, mine::shift_by_one, 7>());

namespace ccoll {

template <class How, class... Policies, class... Arguments>
typename How::result shift(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<How, mine::shift>, Policies...>(
        std::forward<Arguments>(arguments)...);
}

}  // namespace ccoll

using namespace ccoll::policies;

namespace {

std::vector<float> of_rank(int r, std::size_t n)
{
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = std::sin(0.01f * static_cast<float>(i)) + static_cast<float>(r);
    return x;
}
double distance(const std::vector<float>& a, const std::vector<float>& b)
{
    double most = a.size() == b.size() ? 0 : 1e30;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
        most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])));
    return most;
}

/// The largest difference on p ranks from what the promise says, for each way to call.
template <class... Policies, class... Bound>
std::vector<double> differences(int p, std::size_t n, Bound... bound)
{
    std::vector<double> worst(static_cast<std::size_t>(p));
    ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
        using namespace ccoll::detail;
        const int me = comm.rank();
        const std::vector<float> x = of_rank(me, n), expected = of_rank((me + p - 1) % p, n);
        std::vector<float> y(n, -1.0f), z = x;
        double& most = worst[static_cast<std::size_t>(me)];
        ccoll::shift<blocking, Policies...>(x, y, comm, bound...);
        most = std::max(most, distance(y, expected));
        ccoll::shift<nonblocking, Policies...>(z, comm, bound...).wait();  // in place
        most = std::max(most, distance(z, expected));
        y.assign(n, -1.0f);
        auto prepared = ccoll::shift<preparing, Policies...>(x.data(), y.data(), n, comm, bound...);
        prepared.start();
        prepared.wait();
        most = std::max(most, distance(y, expected));
    });
    return worst;
}

}  // namespace

TEST_CASE("a collective from outside moves every vector to the next rank", "[extension][algo]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{300001}}) {
            INFO("p " << p << ", n " << n);
            for (const double d : differences<>(p, n)) CHECK(d == 0);
            for (const double d : differences<Codec::Lossless>(p, n)) CHECK(d == 0);
            for (const double d : differences<Codec::SZp, RuntimeBound>(p, n, 1e-3)) CHECK(d <= 1e-3);
            for (const double d : differences<Codec::SZx, ErrorBound<1e-3>, Placement::PerHop>(p, n))
                CHECK(d <= 1e-3);
        }
}

TEST_CASE("ranks that call another collective are told which", "[extension][errors]")
{
    std::vector<std::string> said(2);
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        std::vector<float> x(100, 1.0f), y(x);
        try {
            if (comm.rank() == 0) ccoll::shift<ccoll::detail::blocking, Check::Collective>(x, y, comm);
            else ccoll::alltoall<Check::Collective>(x, y, comm);
        } catch (const ccoll::error& e) {
            said[static_cast<std::size_t>(comm.rank())] = e.what();
        }
    });
    INFO(said[0] << "\n" << said[1]);
    CHECK(said[0].find("a collective that is not the library's") != std::string::npos);
    CHECK(said[1].find("alltoall") != std::string::npos);
}
