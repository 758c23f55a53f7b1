// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/call.hpp - floor 3. From the arguments of a facade to a call: they are checked and described as
// values (call/buffers.hpp), then it is chosen who makes the call (choose.hpp), then it is begun (begin.hpp).
#pragma once

#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include <ccoll/base/exact.hpp>
#include <ccoll/entry/arguments.hpp>
#include <ccoll/entry/begin.hpp>
#include <ccoll/entry/choose.hpp>
#include <ccoll/policy/strided.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <class Comm, class T>
constexpr bool is_in_place(const T* address)
{
    using handle = std::remove_cvref_t<Comm>;
    if constexpr (requires { transport_for<handle>::in_place(address); })
        return transport_for<handle>::in_place(address);
    else return false;
}

/// Is a reduction of two-byte floats computed with floats? Averages are: sums of numbers that fit need not
/// fit into two bytes, and each would be rounded. So is what has scales of blocks, in whose units small
/// numbers would be denormals. Where a plan has no codec for floats, or the space no function for the
/// conversion, it is computed in T. Of a menu, any such plan counts.
template <class Collective, class Space, class T, class Choice>
inline constexpr bool works_in_floats = false;
template <class Plan>
inline constexpr bool needs_floats =
    std::is_same_v<typename Plan::op, policies::Op::Average> || Plan::bound::block != 0;
template <class Collective, class Space, class T, class First, class... More>
    requires(Collective::reduces && can_widen<Space, T>)
inline constexpr bool works_in_floats<Collective, Space, T, plan_choice<First, More...>> =
    has_queued_codec<typename First::codec, float, Space> &&
    (has_queued_codec<typename More::codec, float, Space> && ... && true) &&
    operation_on<typename First::op, float> && (operation_on<typename More::op, float> && ... && true) &&
    // V as a number of T need not be V as a float.
    (!First::missing::declared && ... && !More::missing::declared) &&
    (needs_floats<First> || ... || needs_floats<More>);

/// All calls of collectives come here, with their arguments as values.
/// @throw ccoll::error, or sets `extra`'s error code, as the facades document
/// @param choice  which plan: plan_choice or plan_rule    @param root  0 where the collective has none
template <class How, class Collective, class Space, class Choice, element T, class Comm, class... Extra>
typename How::result perform(const Choice& choice, user_buffers<T>& user, int root, const Comm& comm,
                             Extra&... extra)
{
    if constexpr (works_in_floats<Collective, Space, T, typename plans_of<Choice>::with_index>) {
        user_buffers<float> floats = as_floats<Space>(user);
        return perform<How, Collective, Space>(choice, floats, root, comm, extra...);
    } else {
        using first_plan = typename plans_of<Choice>::first;
        using table = table_of<Collective, T, Space, Choice>;
        using link_type = link_of<Comm>;
        const exact_call environment;
        const extras more(extra...);
        const char* const name = user.varied ? Collective::varied_name : Collective::name;
        chosen_call<T, link_type> c;
        if constexpr (may_be_passed_on<How, Collective, Space, Choice, T, Comm>) {
            passed p;
            if (auto again = transport_for<Comm>::use_again(comm)) {
                link_type& link = *again;
                if (const sole_use mine(&link.memory().user()); mine.granted()) {
                    choose_call<How, Collective, Space>(c, choice, user, root, more.eb, link);
                    if (c.by == maker::transport) p = pass_on(c, user, root, link);
                }
            }
            if (p.done) return report_of_passed(c, p, name, more.code);
        }
        constexpr bool is_plain = !is_rule<Choice> && !is_over_edges<Collective> &&
                                  !first_plan::integrity::protects && table::all_proved &&
                                  !table::template any_on_two_levels<true>;
        if constexpr (is_plain) {
            using clock = clock_of<first_plan>;
            c.plan = &table::template plans<link_type>[choice.index];
            return begin_plain<How, running_call<T, link_type, clock>>(comm, c, user, root, more,
                                                                       first_plan::timeout::seconds, name);
        } else {
            return begin_any<How, Collective, Space>(choice, c, user, root, comm, more, name);
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

/// Forms that set nothing else, and those in place.
struct as_they_are_form {
    void operator()(auto&, std::size_t) const {}
};
struct in_place_form {
    void operator()(auto& user, std::size_t) const { user.in_place = true; }
};
inline constexpr as_they_are_form as_they_are{};
inline constexpr in_place_form in_place{};

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
        user_buffers<T> user(as_elements<T>(from.data()), from.size() * times, as_elements<T>(to.data()),
                             to.size() * times);
        user.strided = !is_contiguous(send) || !is_contiguous(recv);
        user.shape = shape_facts::of(send, recv).in_elements(times);
        with(user, times);
        return perform<How, Collective, buffer_space<Recv>>(choice, user, root, comm, extra...);
    }
}

/// Calls with pointers and the counts of MPI's own call. One pointer may be MPI_IN_PLACE where MPI allows it,
/// also after a cast to a pointer to elements. Elsewhere it is what it is to `fit`: an address without
/// memory.
template <class How, class Collective, class Space = host_space, class Choice, class A, class B, class With,
          class Comm, class... Extra>
typename How::result call_pointers(const Choice& choice, const A* send, B* recv, std::size_t n, With with,
                                   int root, const Comm& comm, Extra&&... extra)
{
    using U = std::conditional_t<is_marker<B>, std::remove_const_t<A>, B>;
    using send_type = pointer_range<const std::conditional_t<is_marker<A>, U, A>, Space>;
    using recv_type = pointer_range<U, Space>;
    if constexpr (constexpr call_fault marked = fault_of_markers<Collective, Comm, A, B>();
                  marked != call_fault::none) {
        refuse<marked, Choice, How, Collective, A, B, Comm, Extra...>();
        return {};
    } else if constexpr (constexpr call_fault fault =
                             fault_of<How, Collective, Choice, send_type, recv_type, Comm, Extra...>;
                         fault != call_fault::none) {
        refuse<fault, Choice, How, Collective, A, B, Comm, Extra...>();
        return {};
    } else {
        using T = engine_element<U, Collective, typename plans_of<Choice>::first>;
        constexpr std::size_t times = sizeof(U) / sizeof(T);
        user_buffers<T> user(nullptr, n * times, nullptr, n * times, false, true);
        // An address without a type is MPI_IN_PLACE, or the result of `rank == root ? MPI_IN_PLACE : pointer`
        // on another rank.
        const bool send_stands_in =
            takes_marker<Collective> == marked_buffer::send && is_in_place<Comm>(send);
        const bool recv_stands_in =
            takes_marker<Collective> == marked_buffer::recv && is_in_place<Comm>(recv);
        user.in_place = send_stands_in || recv_stands_in;
        if (!send_stands_in) user.send = as_elements<T>(static_cast<const U*>(send));
        if (!recv_stands_in) user.recv = as_elements<T>(static_cast<U*>(recv));
        if (user.in_place && user.send == nullptr) user.send = user.recv;
        if (user.in_place && user.recv == nullptr)
            user.recv = const_cast<T*>(user.send);  // the root of MPI_Scatter leaves its own block in place
        with(user, times);
        return perform<How, Collective, Space>(choice, user, root, comm, extra...);
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
