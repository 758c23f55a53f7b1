// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/begin.hpp - floor 3. Begins a call on the transport of its communicator, with what has been chosen
// for it; if nothing has been chosen yet, that comes first.
#pragma once

#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <ccoll/algo/delivery.hpp>
#include <ccoll/base/environment.hpp>
#include <ccoll/entry/choose.hpp>
#include <ccoll/plan/guard.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The optional arguments after the communicator, in any order.
struct extras {
    double eb = 0;
    std::error_code* code = nullptr;
    space_argument after;

    template <class... Extra>
    explicit constexpr extras(Extra&... extra)
    {
        (take(extra), ...);
    }

private:
    constexpr void take(std::error_code& e) { code = &e; }
    template <class Other>
    constexpr void take(Other& other)
    {
        if constexpr (std::is_convertible_v<Other&, space_argument>) after = other;
        else if constexpr (is_space_argument<std::remove_cv_t<Other>>) after = {other, true};
        else eb = static_cast<double>(other);
    }
};

/// False for a value that is no communicator, although its type may be that of a communicator.
template <class Comm>
constexpr bool is_possible(const Comm& comm)
{
    if constexpr (requires { transport_for<Comm>::is_handle(comm); })
        return transport_for<Comm>::is_handle(comm);
    else return true;
}
inline constexpr const char* not_a_communicator =
    "a small integer stands in its place, perhaps a root or a count; the order is buffers, counts, root, "
    "communicator, bound, error code";

inline constexpr const char* no_topology =
    "it has no topology, and so no neighbours; make one with MPI_Cart_create or "
    "MPI_Dist_graph_create_adjacent, or pass ccoll::with_grid or ccoll::with_neighbors";

/// The clock of a plan.
template <class Plan>
using clock_of =
    std::conditional_t<std::is_same_v<typename Plan::instrument, policies::Instrument::Breakdown>,
                       phase_clock, no_clock>;

/// Examines a schedule once for each plan, number of ranks and root. Not for Algo::Hierarchical, which runs
/// its schedules among other numbers of ranks. @return "" or what is wrong
template <class Collective, element T, transport Link>
CCOLL_OPAQUE std::string fault_of_schedule(const decision<T>& plan, Link& link, int root)
{
    const int p = link.size();
    if (root < 0 || root >= p) return "";  // reported later
    std::string why;
    const double good = link.memory().remember(&plan, root, p, [&] {
        why = why_not_delivered<Collective>(plan.way.path, p, root);
        return why.empty() ? 1.0 : 0.0;
    });
    if (good != 0) return "";
    if (why.empty()) why = why_not_delivered<Collective>(plan.way.path, p, root);
    return std::string(plan.way.name) + " on " + std::to_string(p) + " ranks: " + why;
}

/// Whether a communicator takes the next call, and why not. A call that it does not take counts, so that the
/// next one has the next number on this rank as well: the same call may come too late on one rank, and be
/// refused for another reason on the others.
template <transport Link>
status refusal_of_call(Link& link)
{
    const status refusal = link.refusal();
    if (refusal != status::ok) link.begin_call();
    return refusal;
}

/// What begins a call of the engine.
template <element T, transport Link>
call_order<T, Link> order_of(const chosen_call<T, Link>& c, const user_buffers<T>& user, int root,
                             const extras& more)
{
    call_order<T, Link> order{*c.way, user, root, more.eb, c.plan->native, c.plan->inner};
    order.user.after = more.after;
    order.measures = c.listener;
    order.reason = c.reason;
    if (every_call_compares()) order.checks = check_level::collective;
    return order;
}

/// Begins a call that has been chosen. @tparam Call  what the engine makes it with
template <class How, class Call, element T, transport Link>
typename How::result begin(chosen_call<T, Link> c, const user_buffers<T>& user, int root, Link link,
                           const extras& more, const char* name)
{
    if constexpr (std::is_same_v<How, blocking>)
        if (c.by == maker::transport)
            if (const passed p = pass_on(c, user, root, link); p.done)
                return report_of_passed(c, p, name, more.code);
    return How::template run<Call>(order_of(c, user, root, more), std::move(link), more.code);
}

/// Gives `go_on` the transport of a communicator. If that does not take the call, the call is refused.
template <class How, communicator Comm, class GoOn>
typename How::result on_transport(const Comm& comm, double seconds, const char* name, std::error_code* code,
                                  GoOn go_on)
{
    if (!is_possible(comm)) return How::refused(name, status::no_communicator, not_a_communicator, code);
    auto link = as_transport(comm, seconds);
    if (const status refusal = refusal_of_call(link); refusal != status::ok)
        return How::refused(name, refusal, link.explain(), code);
    const sole_use mine(&link.memory().user());
    if (!mine.granted()) return How::refused(name, status::out_of_turn, sole_use::refused, code);
    return go_on(std::move(link));
}

/// The transport that as_transport makes of a communicator.
template <class Comm>
using link_of = decltype(as_transport(std::declval<const Comm&>()));

/// A call that needs nothing of its plan but the entry of the table: no topology, no guarded links, one
/// level, and schedules that are proved. Compiled once per element type and transport, so that compiled.hpp
/// can declare it: a file that only calls it compiles no transport.
/// @param c  has a plan
template <class How, class Call, element T, transport Link, communicator Comm>
CCOLL_OPAQUE typename How::result begin_plain(const Comm& comm, const chosen_call<T, Link>& c,
                                              const user_buffers<T>& user, int root, const extras& more,
                                              double seconds, const char* name)
{
    return on_transport<How>(comm, seconds, name, more.code, [&](Link link) {
        chosen_call<T, Link> now = c;
        if (now.by == maker::nobody) choose_maker<How>(now, user, root, link);
        return begin<How, Call>(now, user, root, std::move(link), more, name);
    });
}

/// Any other call.
/// @param c  what has been chosen, or nothing
template <class How, class Collective, class Space, class Choice, element T, class Comm, class Chosen>
typename How::result begin_any(const Choice& choice, const Chosen& c, user_buffers<T>& user, int root,
                               const Comm& comm, const extras& more, const char* name)
{
    using first_plan = typename plans_of<Choice>::first;
    using clock = clock_of<first_plan>;
    using table = table_of<Collective, T, Space, Choice>;
    return on_transport<How>(comm, first_plan::timeout::seconds, name, more.code, [&](auto users_link) {
        if constexpr (is_over_edges<Collective>) {
            user.neighbors = neighbors_of(comm, users_link);
            if (user.neighbors == nullptr)
                return How::refused(name, status::no_communicator, no_topology, more.code);
        }
        auto link = guard<first_plan>::link(std::move(users_link));
        using transport_type = decltype(link);
        chosen_call<T, transport_type> now;
        if constexpr (std::is_same_v<Chosen, chosen_call<T, transport_type>>) now = c;
        if (now.by == maker::nobody && now.fault == nullptr)
            choose_call<How, Collective, Space>(now, choice, user, root, more.eb, link);
        if (now.fault != nullptr)  // on all ranks alike
            return How::refused(name, status::bad_argument, now.fault, more.code);
        if constexpr (!table::all_proved) {
            const std::string why =
                now.by == maker::engine ? fault_of_schedule<Collective>(*now.way, link, root) : "";
            if (!why.empty())
                // On all ranks alike.
                return How::refused(name, status::bad_schedule, why.c_str(), more.code);
        }
        using flat =
            typename guard<first_plan>::template call<running_call<T, transport_type, clock>, transport_type>;
        using nested = typename guard<first_plan>::template call<hierarchical_call<T, transport_type, clock>,
                                                                 transport_type>;
        if constexpr (!table::template any_on_two_levels<false>) {
            return begin<How, nested>(now, user, root, std::move(link), more, name);
        } else {
            if constexpr (table::template any_on_two_levels<true>)
                if (now.by == maker::levels)
                    return begin<How, nested>(now, user, root, std::move(link), more, name);
            return begin<How, flat>(now, user, root, std::move(link), more, name);
        }
    });
}

}  // namespace ccoll::inline CCOLL_ABI::detail
