// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The example of docs/auto.md.
#include <ccoll/allreduce.hpp>
#include <ccoll/auto.hpp>
#include <ccoll/codec/sze.hpp>
#include <ccoll/transport/threads.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace ccoll::policies;

TEST_CASE("The example of calls that measure", "[docs][auto]")
{
    std::string reason;
    ccoll::run_ranks(2, [&](const ccoll::threads_comm& comm) {
        const std::vector<float> x(1000, 1.5f);
        std::vector<float> y(1000);
        // [doc:auto_call]
        const ccoll::report r = ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, comm);
        // r.algorithm, r.codec: what was taken; r.reason: why
        // [/doc:auto_call]
        if (comm.rank() == 0 && y == std::vector<float>(1000, 3.0f)) reason = r.reason;
    });
    CHECK(reason == "shorter than what is measured: the first candidate");
}

TEST_CASE("The example of menu::tuned()", "[docs][auto]")
{
    bool right = false;
    ccoll::run_ranks(2, [&](const ccoll::threads_comm& comm) {
        const std::vector<float> gradient(1000, 1.5f);
        std::vector<float> sum(1000);
        // [doc:tuned]
        constexpr ccoll::menu<ccoll::Plan<>, ccoll::Plan<Codec::SZp, RuntimeBound>,
                              ccoll::Plan<Codec::SZe, RuntimeBound>>
            plans;
        ccoll::allreduce(plans.tuned(), gradient, sum, comm, 1e-3);
        // [/doc:tuned]
        if (comm.rank() == 0) right = sum == std::vector<float>(1000, 3.0f);
    });
    CHECK(right);
}
