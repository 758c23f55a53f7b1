// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plan/guard.hpp - floor 3. What a Fault:: policy adds to a call. A program without such policies does not
// compile a guarded link, which is in <ccoll/fault.hpp>.
#pragma once

#include <ccoll/policy/plan.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The link and the call of a plan with the policy `Integrity`. Incomplete if the policy protects and
/// <ccoll/fault.hpp> is missing.
template <class Integrity>
struct guard_of;

template <class Integrity>
    requires(!Integrity::protects)
struct guard_of<Integrity> {
    template <class Link>
    static Link link(Link link)
    {
        return link;
    }
    template <class Call, class Link>
    using call = Call;
};

template <class Plan>
using guard = guard_of<typename Plan::integrity>;

template <class Plan>
concept has_guard = requires { sizeof(guard<Plan>); };

}  // namespace ccoll::inline CCOLL_ABI::detail
