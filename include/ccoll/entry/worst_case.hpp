// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/worst_case.hpp - floor 3. The error bound of a plan, before any call.
#pragma once

#include <ccoll/entry/call.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The error bound that a collective with this plan promises on p ranks, in the unit of the data, as in
/// report::worst_case_error. `worst_case<collective::allreduce, Plan<Algo::Ring, Codec::PipeSZx,
/// ErrorBound<1e-3>>>(4)` is a constant expression. A bound that is only known during the call does not
/// compile.
/// Algo::Hierarchical: p is the number of nodes, and for Op::Average the result is an upper bound, because
/// the sum is divided by the number of ranks. Where encoded streams are added, p is the number of ranks.
template <class Collective, class... Policies>
constexpr double worst_case(int p, int root = 0)
{
    using plan = plan_of<Policies...>;
    refuse_plan<plan::fault, Collective, plan>();
    static_assert(
        plan::bound::kind != bound_kind::relative && !plan::bound::given_at_run_time &&
            plan::bound::block == 0,
        "ccoll::worst_case: this bound is known during the call only; read report::worst_case_error there");
    if constexpr (plan::fault == plan_fault::none && !has_codec<typename plan::codec, float>) {
        detail::refuse<detail::missing_codec<typename plan::codec, float>(), plan_choice<plan>>();
        return 0;
    } else {
        const auto& d = detail::decision_of<Collective, plan, float>;
        if (!d.bound.lossy || p == 1) return 0;
        if (d.bound.kind == bound_kind::rate) return std::numeric_limits<double>::infinity();
        if (d.bound.end_to_end) return d.bound.value;
        const double units = d.bound.units(d.way.path, d.what.rules, d.bound.growth, p, root);
        return d.bound.value * units / (Collective::reduces && plan::op::divide_by_ranks ? p : 1);
    }
}

}  // namespace ccoll::inline CCOLL_ABI
