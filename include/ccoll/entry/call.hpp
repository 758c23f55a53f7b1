// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/call.hpp - floor 3. From the arguments of a call to the object that runs it: checks the arguments,
// looks up the plan, and passes values on.
#pragma once

#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <limits>
#include <type_traits>
#include <utility>

#include <ccoll/algo/delivery.hpp>
#include <ccoll/entry/arguments.hpp>
#include <ccoll/entry/decide.hpp>
#include <ccoll/plan/guard.hpp>
#include <ccoll/entry/passing.hpp>
#include <ccoll/entry/run_modes.hpp>
#include <ccoll/policy/strided.hpp>

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
        if constexpr (is_space_argument<std::remove_cv_t<Other>>) after = {other, true};
        else eb = static_cast<double>(other);
    }
};

template <class Comm, class T>
constexpr bool is_in_place(const T* address)
{
    using handle = std::remove_cvref_t<Comm>;
    if constexpr (requires { transport_for<handle>::in_place(address); })
        return transport_for<handle>::in_place(address);
    else return false;
}

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
    "MPI_Dist_graph_create_adjacent, or pass ccoll::with_grid "
    "or "
    "ccoll::with_neighbors";

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

/// What begins a call of the user, with an entry of the table of plans.
/// @param taken  its decision, with the algorithm that was chosen
template <element T, transport Link>
call_order<T, Link> order_of(const ready_plan<T, Link>& plan, const decision<T>& taken,
                             const user_buffers<T>& user, int root, const extras& more)
{
    call_order<T, Link> order{taken, user, root, more.eb, plan.native, plan.inner};
    order.user.after = more.after;
    if (every_call_compares()) order.checks = check_level::collective;
    return order;
}

/// A call that needs nothing of its plan but the entry of the table: no topology, no guarded links, one
/// level, and schedules that are proved. Compiled once per element type and transport, so that compiled.hpp
/// can declare it: a file that only calls it compiles no transport.
template <class How, class Call, element T, transport Link, communicator Comm>
CCOLL_OPAQUE typename How::result begin_plain(const Comm& comm, const ready_plan<T, Link>& plan,
                                              const user_buffers<T>& user, int root, const extras& more,
                                              double seconds, const char* name)
{
    if (!is_possible(comm)) return How::refused(name, status::no_communicator, not_a_communicator, more.code);
    Link link = as_transport(comm, seconds);
    if (const status refusal = refusal_of_call(link); refusal != status::ok)
        return How::refused(name, refusal, link.explain(), more.code);
    const sole_use mine(&link.memory().user());
    if (!mine.granted()) return How::refused(name, status::out_of_turn, sole_use::refused, more.code);
    if constexpr (std::is_same_v<How, blocking>) {
        outcome result;
        if (run_at_once(plan.native, *plan.usual, user, root, link, result))
            return conclude(name, result, more.code);
    }
    const decision<T>* taken = plan.choose == nullptr ? plan.usual : with_algorithm(plan, user, root, link);
    return How::template run<Call>(order_of(plan, *taken, user, root, more), std::move(link), more.code);
}

/// The transport that as_transport makes of a communicator.
template <class Comm>
using link_of = decltype(as_transport(std::declval<const Comm&>()));

/// A way to run a call, and what the call does for the history of its class.
template <element T, transport Link>
struct picked {
    const ready_plan<T, Link>* plan = nullptr;
    const decision<T>* way = nullptr;
    detail::listener* listener = nullptr;
    const char* reason = "";
};

/// When a call runs: before its caller goes on, after it has begun, or each time that it is started.
enum class runs { now, later, often };
template <class How>
inline constexpr runs runs_as = How::begins_later         ? runs::often
                                : How::outlives_arguments ? runs::later
                                                          : runs::now;

/// Calls that measure. <ccoll/auto.hpp> has a definition, with
/// static picked<T, Link> pick(user, root, bound, link, runs, fault): `fault` is a sentence, or empty; and
/// `passes`, which pass_on asks.
template <class Collective, class T, class Space, class Choice, class Link>
struct measuring {
    static_assert(!is_tuned<Choice>, "ccoll: a call with menu::tuned() needs #include <ccoll/auto.hpp>");
    static picked<T, Link> pick(const user_buffers<T>&, int, double, Link&, runs, std::string&) { return {}; }
    using passes = always_passes;
};

/// All other calls.
template <class How, class Collective, class Space, class Choice, element T, class Comm>
typename How::result perform_with_link(const Choice& choice, user_buffers<T>& user, int root,
                                       const Comm& comm, const extras& more, const char* name)
{
    using first_plan = typename plans_of<Choice>::first;
    using clock = clock_of<first_plan>;
    using table = table_of<Collective, T, Space, Choice>;
    if (!is_possible(comm)) return How::refused(name, status::no_communicator, not_a_communicator, more.code);
    auto users_link = as_transport(comm, first_plan::timeout::seconds);
    if (const status refusal = refusal_of_call(users_link); refusal != status::ok)
        return How::refused(name, refusal, users_link.explain(), more.code);
    const sole_use mine(&users_link.memory().user());
    if (!mine.granted()) return How::refused(name, status::out_of_turn, sole_use::refused, more.code);
    if constexpr (is_over_edges<Collective>) {
        user.neighbors = neighbors_of(comm, users_link);
        if (user.neighbors == nullptr)
            return How::refused(name, status::no_communicator, no_topology, more.code);
    }
    auto link = guard<first_plan>::link(std::move(users_link));
    using transport_type = decltype(link);

    constexpr auto& plans = table::template plans<transport_type>;
    std::size_t index = 0;
    picked<T, transport_type> chosen{};
    if constexpr (is_tuned<Choice>) {
        std::string fault;
        chosen = measuring<Collective, T, Space, Choice, transport_type>::pick(user, root, more.eb, link,
                                                                               runs_as<How>, fault);
        if (!fault.empty())
            return How::refused(name, status::bad_argument, fault.c_str(), more.code);  // on all ranks alike
    } else if constexpr (is_rule<Choice>) {
        index = choice.choose(facts_for(*plans[0].usual, user, root, link, table::candidates));
        if (index >= std::size(plans))  // on all ranks, because the facts are the same
            return How::refused(name, status::bad_argument,
                                "the chooser of a menu must return the index of one of its plans", more.code);
    } else {
        index = choice.index;
    }
    const ready_plan<T, transport_type>& plan = chosen.plan != nullptr ? *chosen.plan : plans[index];
    if constexpr (std::is_same_v<How, blocking>) {
        outcome result;
        result.facts.reason = chosen.reason;
        if (chosen.listener == nullptr && run_at_once(plan.native, *plan.usual, user, root, link, result))
            return conclude(name, result, more.code);
    }
    const decision<T>* taken = chosen.way;
    if (taken == nullptr)
        taken = plan.choose == nullptr ? plan.usual : with_algorithm(plan, user, root, link);
    if constexpr (!table::all_proved) {
        const std::string why = plan.two_levels ? "" : fault_of_schedule<Collective>(*taken, link, root);
        if (!why.empty())
            return How::refused(name, status::bad_schedule, why.c_str(), more.code);  // on all ranks alike
    }
    call_order<T, transport_type> order = order_of(plan, *taken, user, root, more);
    order.measures = chosen.listener;
    order.reason = chosen.reason;
    using flat =
        typename guard<first_plan>::template call<running_call<T, transport_type, clock>, transport_type>;
    using nested = typename guard<first_plan>::template call<hierarchical_call<T, transport_type, clock>,
                                                             transport_type>;
    if constexpr (!table::template any_on_two_levels<false>) {
        return How::template run<nested>(order, std::move(link), more.code);
    } else {
        if constexpr (table::template any_on_two_levels<true>)
            if (plan.two_levels) return How::template run<nested>(order, std::move(link), more.code);
        return How::template run<flat>(order, std::move(link), more.code);
    }
}

/// Is an average of two-byte floats computed with floats? Sums of numbers that fit need not fit into two
/// bytes, and each would be rounded. Where a plan has no codec for floats, or the space no function for the
/// conversion, it is computed in T. Of a menu, any average counts.
template <class Collective, class Space, class T, class Choice>
inline constexpr bool averages_in_floats = false;
template <class Collective, class Space, class T, class First, class... More>
    requires(Collective::reduces && can_widen<Space, T>)
inline constexpr bool averages_in_floats<Collective, Space, T, plan_choice<First, More...>> =
    has_queued_codec<typename First::codec, float, Space> &&
    (has_queued_codec<typename More::codec, float, Space> && ... && true) &&
    operation_on<typename First::op, float> && (operation_on<typename More::op, float> && ... && true) &&
    (!First::missing::declared && ... && !More::missing::declared) &&  // V as a number of T need not be V as
                                                                       // a float
    (std::is_same_v<typename First::op, policies::Op::Average> || ... ||
     std::is_same_v<typename More::op, policies::Op::Average>);

/// The long way of a collective.    @throw ccoll::error, or sets `extra`'s error code, as facades document
/// @param choice  which plan: plan_choice or plan_rule    @param root  0 where the collective has none
template <class How, class Collective, class Space, class Choice, element T, class Comm, class... Extra>
typename How::result perform(const Choice& choice, user_buffers<T> user, int root, const Comm& comm,
                             Extra&... extra)
{
    if constexpr (averages_in_floats<Collective, Space, T, typename plans_of<Choice>::with_index>) {
        return perform<How, Collective, Space>(choice, as_floats<Space>(user), root, comm, extra...);
    } else {
        using first_plan = typename plans_of<Choice>::first;
        using clock = clock_of<first_plan>;
        using table = table_of<Collective, T, Space, Choice>;
        const exact_call environment;
        const extras more(extra...);
        const char* const name = user.varied ? Collective::varied_name : Collective::name;
        constexpr bool is_plain = !is_rule<Choice> && !is_over_edges<Collective> &&
                                  !first_plan::integrity::protects && table::all_proved &&
                                  !table::template any_on_two_levels<true>;
        if constexpr (is_plain) {
            using link_type = link_of<Comm>;
            return begin_plain<How, running_call<T, link_type, clock>>(
                comm, table::template plans<link_type>[choice.index], user, root, more,
                first_plan::timeout::seconds, name);
        } else {
            return perform_with_link<How, Collective, Space>(choice, user, root, comm, more, name);
        }
    }
}

/// The same memory, seen as the elements that the engine counts.
template <class E, class T>
constexpr auto as_elements(T* at)
{
    using to = std::conditional_t<std::is_const_v<T>, const E, E>;
    if constexpr (std::is_same_v<std::remove_const_t<T>, E>) return at;
    else return reinterpret_cast<to*>(at);
}

/// What sets nothing that plain_buffers lack.
struct as_they_are_form {
    static constexpr bool in_place = false;
    void operator()(auto&, std::size_t) const {}
};
struct in_place_form {
    static constexpr bool in_place = true;
    void operator()(auto& user, std::size_t) const { user.in_place = true; }
};
inline constexpr as_they_are_form as_they_are{};
inline constexpr in_place_form in_place{};

/// The short way if it can be gone, and the long way otherwise.
template <class Collective, class Space, class Choice, element T, class Comm, class Long, class... Extra>
report pass_on_or(Long go_the_long_way, const plain_buffers<T>& buffers, int root, const Comm& comm,
                  Extra&... extra)
{
    using plan = typename passing_plan<Choice>::type;
    using passes =
        typename std::conditional_t<is_tuned<Choice>, measuring<Collective, T, Space, Choice, link_of<Comm>>,
                                    passing_plan<Choice>>::passes;
    const extras more(extra...);
    passes may(more.eb);
    const passed how = pass_on<Collective, plan>(comm, buffers, root, may);
    if (how == passed::no) return go_the_long_way();
    return report_of_passed<Collective, plan>(how == passed::well, may.reason, comm, more.code);
}

/// Calls with ranges. `Send` and `Recv` are the types that the rules see.
/// @tparam Lost  @see lost_arguments
/// @param with    sets what only this form has: void(user_buffers<T>&, elements per element of the user)
template <class How, class Collective, call_fault Lost, class Send, class Recv, class Choice, class With,
          class Comm, class... Extra>
typename How::result call_ranges(const Choice& choice, Send&& send, Recv&& recv, With with, int root,
                                 const Comm& comm, Extra&&... extra)
{
    if constexpr ((is_strided<Send> || is_strided<Recv>) && How::outlives_arguments) {
        refuse<call_fault::strided_later, Choice, How, Collective, Send, Recv>();
        return {};
    } else if constexpr (is_strided<Send> || is_strided<Recv>) {
        return with_packed(send, recv, [&](auto& from, auto& to) {
            return call_ranges<How, Collective, Lost, decltype(from), decltype(to)>(
                choice, from, to, with, root, comm, std::forward<Extra>(extra)...);
        });
    } else if constexpr (constexpr call_fault fault =
                             or_lost<Lost>(fault_of<How, Collective, Choice, Send, Recv, Comm, Extra...>);
                         fault != call_fault::none) {
        refuse<fault, Choice, How, Collective, Send, Recv, Comm, Extra...>();
        return {};
    } else {
        using U = buffer_pointee<Recv>;
        using T = engine_element<U, Collective, typename plans_of<Choice>::first>;
        constexpr std::size_t times = sizeof(U) / sizeof(T);
        const auto from = as_span(send);
        const auto to = as_span(recv);
        using Space = buffer_space<Recv>;
        const bool strided = !is_contiguous(send) || !is_contiguous(recv);
        plain_buffers<T> b{as_elements<T>(from.data()), from.size() * times, as_elements<T>(to.data()),
                           to.size() * times};
        const auto the_long_way = [&] {
            user_buffers<T> u{b};
            u.strided = strided;
            u.shape = shape_facts::of(send, recv).in_elements(times);
            with(u, times);
            return perform<How, Collective, Space>(choice, u, root, comm, extra...);
        };
        if constexpr (may_be_passed_on<How, Collective, Choice, T, Space, Comm, Extra...> &&
                      requires { With::in_place; }) {
            b.in_place = With::in_place;
            if (!strided && shape_facts::of(send, recv).fits())
                return pass_on_or<Collective, Space, Choice, T>(the_long_way, b, root, comm, extra...);
        }
        return the_long_way();
    }
}

/// Calls with pointers and the counts of MPI's own call. One pointer may be MPI_IN_PLACE where MPI allows it,
/// also after a cast to a pointer to elements. Elsewhere it is what it is to `fit`: an address without
/// memory.
template <class How, class Collective, class Choice, class A, class B, class With, class Comm, class... Extra>
typename How::result call_pointers(const Choice& choice, const A* send, B* recv, std::size_t n, With with,
                                   int root, const Comm& comm, Extra&&... extra)
{
    using U = std::conditional_t<is_marker<B>, std::remove_const_t<A>, B>;
    using send_type = pointer_range<const std::conditional_t<is_marker<A>, U, A>>;
    if constexpr (constexpr call_fault marked = fault_of_markers<Collective, Comm, A, B>();
                  marked != call_fault::none) {
        refuse<marked, Choice, How, Collective, A, B, Comm, Extra...>();
        return {};
    } else if constexpr (constexpr call_fault fault =
                             fault_of<How, Collective, Choice, send_type, pointer_range<U>, Comm, Extra...>;
                         fault != call_fault::none) {
        refuse<fault, Choice, How, Collective, A, B, Comm, Extra...>();
        return {};
    } else {
        using T = engine_element<U, Collective, typename plans_of<Choice>::first>;
        constexpr std::size_t times = sizeof(U) / sizeof(T);
        plain_buffers<T> b{nullptr, n * times, nullptr, n * times, false, true};
        // An address without a type is MPI_IN_PLACE, or the result of `rank == root ? MPI_IN_PLACE : pointer`
        // on another rank.
        const bool send_stands_in =
            takes_marker<Collective> == marked_buffer::send && is_in_place<Comm>(send);
        const bool recv_stands_in =
            takes_marker<Collective> == marked_buffer::recv && is_in_place<Comm>(recv);
        b.in_place = send_stands_in || recv_stands_in;
        if (!send_stands_in) b.send = as_elements<T>(static_cast<const U*>(send));
        if (!recv_stands_in) b.recv = as_elements<T>(static_cast<U*>(recv));
        if (b.in_place && b.send == nullptr) b.send = b.recv;
        if (b.in_place && b.recv == nullptr)
            b.recv = const_cast<T*>(b.send);  // the root of MPI_Scatter leaves its own block in place
        const auto the_long_way = [&] {
            user_buffers<T> u{b};
            with(u, times);
            return perform<How, Collective, host_space>(choice, u, root, comm, extra...);
        };
        if constexpr (may_be_passed_on<How, Collective, Choice, T, host_space, Comm, Extra...> &&
                      std::is_same_v<With, as_they_are_form>)
            return pass_on_or<Collective, host_space, Choice, T>(the_long_way, b, root, comm, extra...);
        else return the_long_way();
    }
}

/// Calls the overload of a form that accepts these arguments.
template <class Form, class Choice, class... Arguments>
typename Form::result call_form(const Choice& choice, Arguments&&... arguments)
{
    if constexpr (constexpr form_fault fault = form_fault_of<Form, Choice, Arguments...>();
                  fault != form_fault::none) {
        refuse_form<fault, Form, Choice, Arguments...>();
        return {};
    } else {
        return Form::call(choice, std::forward<Arguments>(arguments)...);
    }
}
template <class Form, class... Policies, class Choice, class... Rest>
typename Form::result call_form_with_choice(const Choice& choice, Rest&&... rest)
{
    return call_form<Form>(with_policies<Policies...>(choice), std::forward<Rest>(rest)...);
}

template <class Form>
struct collective_of {  // a message between two ranks
    using type = void;
};
template <template <class, class> class Form, class How, class Collective>
struct collective_of<Form<How, Collective>> {
    using type = Collective;
};

/// From a facade's arguments to a form. The plan comes from the policies, or from a choice that precedes the
/// other arguments.
template <class Form, class... Policies, class... Arguments>
typename Form::result ask(Arguments&&... arguments)
{
    if constexpr (begins_with_choice<Arguments...>)
        return call_form_with_choice<Form, Policies...>(std::forward<Arguments>(arguments)...);
    else {
        using choice = typename choice_of<typename collective_of<Form>::type, plan_of<Policies...>>::type;
        return call_form<Form>(choice{}, std::forward<Arguments>(arguments)...);
    }
}

}  // namespace ccoll::inline CCOLL_ABI::detail
