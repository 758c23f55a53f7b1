// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/choose.hpp - floor 3. Who makes a call: the transport's own collective, the engine, or two levels of
// calls of the engine; and with which of its plans. This is the only place that decides it. The answer is a
// value, and begin.hpp begins what it says.
//
// A blocking call that leaves everything to MPI is chosen and made without a transport of its own, if the
// thread has used the communicator before. It is decided from types as far as possible, so that little is
// left to do: an allreduce of 8 bytes between two ranks in shared memory takes MPI 370 ns (Open MPI 4.1) or
// 490 ns (MPICH 4.0), and choosing adds 23 ns to that from the second call on (Intel Xeon with AVX-512).
#pragma once

#include <cstddef>
#include <iterator>
#include <system_error>
#include <type_traits>
#include <utility>

#include <ccoll/base/environment.hpp>
#include <ccoll/entry/decide.hpp>
#include <ccoll/entry/run_modes.hpp>
#include <ccoll/policy/menu.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

enum class maker : unsigned char {
    nobody,  ///< nothing has been chosen yet
    /// Its own collective, at once: ranks compare nothing, and nothing is done to elements before or after.
    transport,
    /// A running_call. It may hand the elements over to the transport as well, for example when ranks have
    /// compared their arguments.
    engine,
    levels  ///< a hierarchical_call
};

/// Who makes a call, and how.
template <element T, transport Link>
struct chosen_call {
    const ready_plan<T, Link>* plan;
    const decision<T>* way;                ///< of the plan, with the algorithm that was chosen
    detail::listener* listener = nullptr;  ///< null, or what the call does for the history of its class
    const char* reason = "";               ///< for the report
    const char* fault = nullptr;           ///< a sentence: no rank can make the call, for the same reason
    maker by = maker::nobody;
    call_buffers<T> data;  ///< what the transport gets

    explicit chosen_call(const ready_plan<T, Link>* one = nullptr, const decision<T>* with = nullptr) noexcept
        : plan(one), way(with)
    {}
};

/// When a call runs: before its caller goes on, after it has begun, or each time that it is started.
enum class runs { now, later, often };
template <class How>
inline constexpr runs runs_as = How::begins_later         ? runs::often
                                : How::outlives_arguments ? runs::later
                                                          : runs::now;

/// Calls that measure. <ccoll/auto.hpp> has a definition, whose `pick(user, root, bound, link, runs)` chooses
/// everything but who makes the call.
template <class Collective, class T, class Space, class Choice, class Link>
struct measuring {
    static_assert(!is_tuned<Choice>, "ccoll: a call with menu::tuned() needs #include <ccoll/auto.hpp>");
    static chosen_call<T, Link> pick(const user_buffers<T>&, int, double, Link&, runs)
    {
        return chosen_call<T, Link>();
    }
};

/// Could the transport make calls with this plan at once?
template <element T, transport Link>
constexpr bool leaves_all_to_transport(const ready_plan<T, Link>& plan)
{
    return plan.native != nullptr && plan.usual->checks != check_level::collective &&
           plan.usual->what.op.by_ranks == nullptr;
}

/// Can it make this one?
/// @param data  becomes what it gets
template <element T, transport Link>
[[gnu::always_inline]] inline bool transport_makes(const ready_plan<T, Link>& plan,
                                                   const user_buffers<T>& user, int root, Link& link,
                                                   call_buffers<T>& data)
{
    if constexpr (requires { link.native_result(); }) {
        if (!leaves_all_to_transport(plan) || every_call_compares() || user.varied ||
            user.narrow != nullptr || link.has_requests() || root < 0 || root >= link.size())
            return false;
        const plain_fit<T> fitted = fit_plainly(user, plan.usual->what.facts, link.rank(), link.size(), root);
        data = fitted.data;
        return fitted.is_as_given();
    } else {
        return false;
    }
}

/// The engine makes the call, by a way of its plan.
template <element T, transport Link>
void choose_way(chosen_call<T, Link>& c, const user_buffers<T>& user, int root, const Link& link)
{
    c.by = c.plan->two_levels ? maker::levels : maker::engine;
    if (c.way != nullptr) return;
    c.way = c.plan->choose == nullptr ? c.plan->usual : with_algorithm(*c.plan, user, root, link);
}

/// Who makes a call whose plan has been chosen?
template <class How, element T, transport Link>
[[gnu::always_inline]] inline void choose_maker(chosen_call<T, Link>& c, const user_buffers<T>& user,
                                                int root, Link& link)
{
    if constexpr (std::is_same_v<How, blocking>)
        if (c.listener == nullptr && transport_makes(*c.plan, user, root, link, c.data)) {
            c.by = maker::transport;
            return;
        }
    choose_way(c, user, root, link);
}

/// Chooses among the plans of `choice`, and who makes the call.
/// @param c  becomes the answer
template <class How, class Collective, class Space, class Choice, element T, transport Link>
[[gnu::always_inline]] inline void choose_call(chosen_call<T, Link>& c, const Choice& choice,
                                               const user_buffers<T>& user, int root, double eb, Link& link)
{
    using table = table_of<Collective, T, Space, Choice>;
    constexpr auto& plans = table::template plans<Link>;
    if constexpr (is_tuned<Choice>) {
        c = measuring<Collective, T, Space, Choice, Link>::pick(user, root, eb, link, runs_as<How>);
    } else if constexpr (is_rule<Choice>) {
        const std::size_t index =
            choice.choose(facts_for(*plans[0].usual, user, root, link, table::candidates));
        if (index < std::size(plans)) c.plan = &plans[index];
        else c.fault = "the chooser of a menu must return the index of one of its plans";
    } else {
        c.plan = &plans[std::size(plans) == 1 ? 0 : choice.index];
    }
    if (c.fault == nullptr) choose_maker<How>(c, user, root, link);
}

/// Is it worth a look whether the transport makes a call? Only calls that wait for their end, on transports
/// that need not be made.
template <class How, class Collective, class Space, class Choice, class T, class Comm>
inline constexpr bool may_be_passed_on = false;
template <class How, class Collective, class Space, class Choice, class T, class Comm>
    requires(std::is_same_v<How, blocking> && !transport<Comm> && !is_over_edges<Collective> &&
             !plans_of<Choice>::first::integrity::protects &&
             requires(const Comm& comm) { transport_for<Comm>::use_again(comm); })
inline constexpr bool may_be_passed_on<How, Collective, Space, Choice, T, Comm> = [] {
    using link_type = decltype(transport_for<Comm>::make(std::declval<const Comm&>()));
    for (const auto& plan : table_of<Collective, T, Space, Choice>::template plans<link_type>)
        if (leaves_all_to_transport(plan)) return true;
    return false;
}();

/// What became of a call that the transport was asked to make.
struct passed {
    bool done = false;
    verdict trouble;
    const char* transport_says = "";
};

/// Lets the transport make the call.
/// @return not done if a count is too large for it; then the engine makes the call
template <element T, transport Link>
[[gnu::always_inline]] inline passed pass_on(chosen_call<T, Link>& c, const user_buffers<T>& user, int root,
                                             Link& link)
{
    passed p;
    if constexpr (requires { link.native_result(); }) {
        p.done = c.plan->native(link, c.data, root, c.data.recv, nullptr);
        if (p.done) {
            link.begin_call();
            if (const status s = link.native_result(); s != status::ok) {
                p.trouble = trouble_of_native(s, link.rank());
                p.transport_says = says_of_native(s, link);
            }
            return p;
        }
    }
    choose_way(c, user, root, link);
    return p;
}

/// It has returned an error.
[[gnu::cold]] inline report refuse_passed(const report& facts, const passed& p, const char* name,
                                          std::error_code* code)
{
    return conclude(name, {facts, p.trouble, p.transport_says}, code);
}
/// The report of a call that the transport has made.
/// @throw ccoll::error if it has returned an error, unless `code` takes it
template <element T, transport Link>
report report_of_passed(const chosen_call<T, Link>& c, const passed& p, const char* name,
                        std::error_code* code)
{
    report r;
    r.codec = c.plan->usual->codec_name;
    r.reason = c.reason;
    report_native(r, c.plan->usual->what.facts);
    if (!p.trouble.ok()) return refuse_passed(r, p, name, code);
    if (code != nullptr) code->clear();
    return r;
}

}  // namespace ccoll::inline CCOLL_ABI::detail
