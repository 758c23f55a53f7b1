// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/ccoll.hpp>

#include "support/catch.hpp"

using namespace ccoll;
using namespace ccoll::policies;

TEST_CASE("policies come in any order and what is not named takes the default", "[policy][plan]")
{
    using a = Plan<Codec::PipeSZx, ErrorBound<1e-3>, Algo::Ring>;
    using b = Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>;
    static_assert(std::is_same_v<a::algo, b::algo> && std::is_same_v<a::codec, Codec::PipeSZx> &&
                  std::is_same_v<a::op, Op::Sum>);
    static_assert(std::is_same_v<Plan<>::codec, Codec::None> && std::is_same_v<Plan<>::algo, Algo::Auto>);
    static_assert(std::is_same_v<Plan<>::check, Check::Auto> &&
                  std::is_same_v<Plan<>::instrument, Instrument::Off>);
    static_assert(a::fault == plan_fault::none && Plan<>::fault == plan_fault::none);
    CHECK(a::bound::value == 1e-3);
}

TEST_CASE("a plan is a policy list: a call may extend it, and plans nest", "[policy][plan]")
{
    using fast = Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>;
    static_assert(std::is_same_v<plan_of<fast, Op::Average>,
                                 Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>, Op::Average>>);
    static_assert(std::is_same_v<plan_of<fast>, fast>);
    static_assert(std::is_same_v<plan_of<Plan<Plan<Algo::Ring>, Codec::SZx>, RuntimeBound>,
                                 Plan<Algo::Ring, Codec::SZx, RuntimeBound>>);
    SUCCEED();
}

TEST_CASE("the first broken rule of a plan is the most basic one", "[policy][plan]")
{
    static_assert(Plan<int>::fault == plan_fault::stranger);
    static_assert(Plan<int, Codec::SZx>::fault == plan_fault::stranger);
    static_assert(Plan<Codec::SZx, Codec::None, Algo::Ring>::fault == plan_fault::duplicate);
    static_assert(Plan<Codec::SZx>::fault == plan_fault::lossy_without_bound);
    static_assert(Plan<ErrorBound<1e-3>>::fault == plan_fault::bound_without_lossy);
    static_assert(Plan<Codec::SZx, ErrorBound<0>>::fault == plan_fault::bound_not_positive);
    static_assert(Plan<Codec::SZx, ErrorBound<-1e-3>>::fault == plan_fault::bound_not_positive);
    static_assert(Plan<Codec::SZx, RelativeBound<-1>>::fault == plan_fault::bound_not_positive);
    static_assert(Plan<Codec::SZx, EndToEnd<ErrorBound<-1>>>::fault == plan_fault::bound_not_positive);
    static_assert(Plan<Codec::SZx, FixedRate<8>>::fault == plan_fault::rate_without_codec);
    static_assert(Plan<Codec::Zfp, EndToEnd<FixedRate<8>>>::fault == plan_fault::rate_of_result);
    static_assert(Plan<Codec::ZfpAtRate, ErrorBound<1e-3>>::fault == plan_fault::rate_in_codec);
    static_assert(Plan<Codec::Zfp, FixedRate<0>>::fault == plan_fault::bound_not_positive);
    static_assert(Plan<Codec::Zfp, FixedRate<8>>::fault == plan_fault::none);
    static_assert(std::is_same_v<Plan<Codec::Zfp, FixedRate<8>>::codec, Codec::ZfpAtRate>);
    static_assert(std::is_same_v<Plan<Codec::Zfp, ErrorBound<1>>::codec, Codec::Zfp>);
    static_assert(Plan<Codec::SZx, ErrorBound<1>, Op::Prod>::fault == plan_fault::operation_without_bound);
    static_assert(Plan<Codec::None, Op::Prod>::fault == plan_fault::none);
    SUCCEED();
}

TEST_CASE("a bound is the same template argument however it is spelled", "[policy][bound]")
{
    static_assert(!std::is_same_v<ErrorBound<1e-3>, ErrorBound<1e-4>> &&
                  std::is_same_v<ErrorBound<0.5>, ErrorBound<1.0 / 2>>);
    CHECK(ErrorBound<1>::value == 1.0);
    CHECK(EndToEnd<RelativeBound<1e-3>>::value == 1e-3);
    CHECK(EndToEnd<RelativeBound<1e-3>>::kind == bound_kind::relative);
    CHECK(EndToEnd<RuntimeBound>::given_at_run_time);
    for (double bad : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity()})
        CHECK_FALSE(is_bound(bad));
    CHECK(is_bound(5e-324));
}

TEST_CASE("the promised bound of a plan is a constant expression", "[policy][bound]")
{
    using ring = Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>;
    static_assert(worst_case<collective::allreduce, ring>(4) == 4 * 1e-3);
    static_assert(worst_case<collective::allreduce, ring, Op::Average>(4) == 1e-3);
    static_assert(worst_case<collective::allreduce, ring, Op::Max>(4) == 4 * 1e-3);
    static_assert(worst_case<collective::reduce_scatter, ring>(4) == 3 * 1e-3);
    static_assert(worst_case<collective::allgather, ring>(4) == 1e-3);
    static_assert(worst_case<collective::bcast, Codec::SZx, ErrorBound<1e-3>>(13, 5) == 1e-3);
    static_assert(worst_case<collective::allreduce, Codec::SZx, EndToEnd<ErrorBound<1e-3>>>(7) == 1e-3);
    static_assert(worst_case<collective::allreduce, Algo::Ring>(4) == 0 &&
                  worst_case<collective::allreduce, ring>(1) == 0);
    SUCCEED();
}
