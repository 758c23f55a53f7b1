// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/decision.hpp - floor 3. A plan as values, and what a facade passes on to begin a call with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ccoll/call/buffers.hpp>
#include <ccoll/call/listener.hpp>
#include <ccoll/wait/pending.hpp>
#include <ccoll/run/task.hpp>
#include <ccoll/policy/error_bound.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

enum class check_level { local, automatic, collective };

/// An algorithm for one collective.
struct algorithm_way {
    const char* name = "";
    schedule path;
    std::uint32_t hash = 0;  ///< of collective and algorithm, for the stamp
};

/// What a plan says about the bound.
struct bound_wish {
    bool lossy = false;
    bound_kind kind = bound_kind::none;
    bool end_to_end = false;    ///< it holds for the result
    bool at_run_time = false;   ///< the value is an argument of the call
    bool of_magnitude = false;  ///< relative, to the range from minus to plus the largest magnitude
    std::size_t block = 0;      ///< elements that share a scale, of which `value` is a part; 0: no scales
    double value = 0;
    error_growth growth = error_growth::adds;
    /// How many bounds of one compression can add up in one element of the result.
    double (*units)(const schedule&, placement_rules, error_growth, int p, int root) = nullptr;
};

/// A plan as values. `what` lacks only what each call adds: way, buffers, root, bound and sizes.
template <element T>
struct decision {
    algorithm_way way;
    schedule way_of_scales;  ///< an allreduce, if blocks have scales
    const char* codec_name = "";
    task<T> what;
    bound_wish bound;
    check_level checks = check_level::automatic;
    time_limit patience;
};

/// The transport's own collective, if it has one. Returns false if it did nothing, because a count is too
/// large for it.
template <element T, transport Link>
using native_call = bool (*)(Link&, const call_buffers<T>&, int root, T* recv, typename Link::request* begun);

/// The decisions of Algo::Hierarchical about what happens within a node.
template <element T>
struct inner_decisions {
    const decision<T>* reduce = nullptr;
    const decision<T>* bcast = nullptr;
};

/// All that a facade passes on to begin a call.
template <element T, transport Link>
struct call_order {
    const decision<T>& plan;
    user_buffers<T> user;
    int root;
    double eb;                    ///< the bound, if the plan says RuntimeBound
    native_call<T, Link> native;  ///< null, or the transport's own call that may do the work
    inner_decisions<T> inner{};   ///< for Algo::Hierarchical
    check_level checks = plan.checks;
    /// Of the class of the call, if ranks tell each other what they have measured.
    listener* measures = nullptr;
    const char* reason = "";  ///< for the report
    /// Of a start of a persistent call (call_numbers); 0: the next one of the communicator.
    std::uint32_t first_number = 0;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
