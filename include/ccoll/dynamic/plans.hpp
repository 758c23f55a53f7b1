// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic/plans.hpp - floor 3. From a call as values to a plan that is compiled in. The policies of a menu
// become, for each collective, element type and operation, the list of plans that fit such a call; and a
// call's values become a place in that list.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <ccoll/dynamic/call.hpp>
#include <ccoll/entry/forms.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

template <bool There, class Tag>
using list_if = std::conditional_t<There, type_list<Tag>, type_list<>>;

template <class... Lists>
struct joined {
    using type = type_list<>;
};
template <class... A>
struct joined<type_list<A...>> {
    using type = type_list<A...>;
};
template <class... A, class... B, class... Rest>
struct joined<type_list<A...>, type_list<B...>, Rest...> : joined<type_list<A..., B...>, Rest...> {};

/// Of these, those on an axis; on `void`, those that are no policies.
template <class Axis, class... Policies>
using tags_on = typename joined<list_if<is_on<Axis, Policies>, Policies>...>::type;
template <class List, class Default>
using or_one = std::conditional_t<std::is_same_v<List, type_list<>>, type_list<Default>, List>;

template <std::size_t Index, class List>
struct nth_of;
template <class First, class... Rest>
struct nth_of<0, type_list<First, Rest...>> {
    using type = First;
};
template <std::size_t Index, class First, class... Rest>
struct nth_of<Index, type_list<First, Rest...>> : nth_of<Index - 1, type_list<Rest...>> {};

template <class List>
inline constexpr std::size_t length_of = 0;
template <class... Tags>
inline constexpr std::size_t length_of<type_list<Tags...>> = sizeof...(Tags);

template <class List>
struct plan_of_list;
template <class... Policies>
struct plan_of_list<type_list<Policies...>> {
    using plan = Plan<Policies...>;
};

/// Is this the bound that a call asks for?
template <class Bound>
constexpr bool is_asked_for(const dynamic::plan& how)
{
    using id = dynamic::bound_id;
    if (Bound::kind == bound_kind::none || how.bound == 0)
        return Bound::kind == bound_kind::none && how.bound == 0;
    if (Bound::end_to_end != how.of_result) return false;
    if (Bound::block != how.block) return false;
    if (Bound::bits != 0) return how.kind == id::FixedBits && Bound::bits == how.bound;
    const id kind = Bound::kind == bound_kind::relative ? id::RelativeBound
                    : Bound::kind == bound_kind::rate   ? id::FixedRate
                                                        : id::ErrorBound;
    return how.kind == kind && (Bound::given_at_run_time || Bound::value == how.bound);
}
/// For sentences.
template <class Bound>
std::string name_of_bound()
{
    if (Bound::kind == bound_kind::none) return "none";
    const std::string kind = Bound::bits != 0                      ? "FixedBits"
                             : Bound::kind == bound_kind::relative ? "RelativeBound"
                             : Bound::kind == bound_kind::rate     ? "FixedRate"
                                                                   : "ErrorBound";
    std::string number;
    if (Bound::bits != 0) number = " " + std::to_string(Bound::bits);
    else if (!Bound::given_at_run_time) number = " " + std::to_string(Bound::value);
    if (Bound::block != 0) number += " Block " + std::to_string(Bound::block);
    return (Bound::end_to_end ? "EndToEnd " : "") + kind + number;
}

template <class... Policies>
dynamic::menu<Policies...> list_of_menu(dynamic::menu<Policies...>*);

enum class fits : signed char { no, well, by_measuring };

/// The axes on which a menu has alternatives. Plans are numbered: a number is a place on each axis.
template <class List>
struct axes_of_list;
template <class... Policies>
struct axes_of_list<dynamic::menu<Policies...>> {
    using elements = tags_on<void, Policies...>;
    using operations = or_one<tags_on<axis::op, Policies...>, policies::Op::Sum>;
    using algos = or_one<tags_on<axis::algo, Policies...>, policies::Algo::Auto>;
    using codecs = or_one<tags_on<axis::codec, Policies...>, policies::Codec::None>;
    using bounds = typename joined<type_list<no_bound>, tags_on<axis::bound, Policies...>>::type;
    using placements = or_one<tags_on<axis::placement, Policies...>, policies::Placement::Auto>;
    template <class P>
    static constexpr bool is_common =
        !std::is_void_v<typename axis_of<P>::type> && !is_on<axis::op, P> && !is_on<axis::algo, P> &&
        !is_on<axis::codec, P> && !is_on<axis::bound, P> && !is_on<axis::placement, P>;
    /// All plans are given a bound, so that the engine is called in one way.
    using common = typename joined<type_list<spare_bound>, list_if<is_common<Policies>, Policies>...>::type;

    static constexpr std::size_t size =
        length_of<algos> * length_of<codecs> * length_of<bounds> * length_of<placements>;
    static constexpr std::array<std::size_t, 4> lengths{length_of<algos>, length_of<codecs>,
                                                        length_of<bounds>, length_of<placements>};
    static constexpr bool strict = false;

    using places = std::array<std::size_t, 4>;
    static constexpr places places_of(std::size_t number)
    {
        places at{};
        for (std::size_t i = 4; i-- > 0; number /= lengths[i]) at[i] = number % lengths[i];
        return at;
    }

    template <std::size_t Number, class Op>
    struct at {
        static constexpr places place = places_of(Number);
        using algo = typename nth_of<place[0], algos>::type;
        using codec = typename nth_of<place[1], codecs>::type;
        using bound = typename nth_of<place[2], bounds>::type;
        using placement = typename nth_of<place[3], placements>::type;
        static constexpr bool has_bound = bound::kind != bound_kind::none;
        static constexpr bool names_placement = place[3] != 0;
        using type =
            typename plan_of_list<typename joined<type_list<algo, codec>, list_if<has_bound, bound>,
                                                  list_if<names_placement, placement>,
                                                  list_if<!std::is_void_v<Op>, Op>, common>::type>::plan;
        /// Do its policies go together, as far as that is seen without a plan of them?
        template <class Collective>
        static constexpr bool may_fit =
            (leaves_codec_open<codec> || codec::lossy == has_bound) &&
            (std::is_same_v<algo, policies::Algo::Auto> || has_schedule<algo, Collective>);
    };

    /// The place on each axis that a call asks for; the length of the axis if it is not there.
    static constexpr places asked_for(const dynamic::plan& how)
    {
        return {place_of(how.algo, algos{}), place_of(how.codec, codecs{}), place_of(how, bounds{}),
                place_of(how.placement, placements{})};
    }
    /// @return size if the menu has no such plan
    static constexpr std::size_t find(const dynamic::plan& how)
    {
        const places wanted = asked_for(how);
        std::size_t number = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            if (wanted[i] == lengths[i]) return size;
            number = number * lengths[i] + wanted[i];
        }
        return number;
    }

    /// Which part of the plan does not go with those before it, and what does.
    [[gnu::cold]] static std::string why_not(const dynamic::plan& how, const std::array<fits, size>& table)
    {
        static constexpr const char* what[] = {"algorithm", "codec", "bound", "placement"};
        const places wanted = asked_for(how);
        bool any = false;
        for (const fits each : table) any = any || each != fits::no;
        const auto is_there = [&](std::size_t axes, std::size_t last) {
            for (std::size_t number = 0; number < size; ++number) {
                const places at = places_of(number);
                bool same = table[number] != fits::no && at[axes] == last;
                for (std::size_t i = 0; i < axes; ++i) same = same && at[i] == wanted[i];
                if (same) return true;
            }
            return false;
        };
        std::size_t axis = 0;
        if (!any) return "no plan of the menu computes this operation on these elements";
        while (axis < 3 && is_there(axis, wanted[axis])) ++axis;
        std::string text = "the plan '" + text_of(how) + "' is not compiled in; its " + what[axis] +
                           (axis == 0 ? " can be " : ", behind what stands before it, can be ");
        const char* separator = "";
        for (std::size_t i = 0; i < lengths[axis]; ++i) {
            if (!is_there(axis, i)) continue;
            text += separator + name_at(axis, i);
            separator = ", ";
        }
        return text;
    }

private:
    template <class Id, class... Tags>
    static constexpr std::size_t place_of(Id wanted, type_list<Tags...>)
    {
        std::size_t i = 0;
        static_cast<void>(((id_of_tag<Id, Tags>() == wanted || (++i, false)) || ...));
        return i;
    }
    template <class... Bounds>
    static constexpr std::size_t place_of(const dynamic::plan& how, type_list<Bounds...>)
    {
        std::size_t i = 0;
        static_cast<void>(((is_asked_for<Bounds>(how) || (++i, false)) || ...));
        return i;
    }
    template <class... Tags>
    static std::string name_in(std::size_t i, type_list<Tags...>)
    {
        const char* const names[] = {Tags::name...};
        return names[i];
    }
    template <class... Bounds>
    static std::string bound_in(std::size_t i, type_list<Bounds...>)
    {
        const std::string names[] = {name_of_bound<Bounds>()...};
        return names[i];
    }
    static std::string name_at(std::size_t axis, std::size_t i)
    {
        return axis == 0   ? name_in(i, algos{})
               : axis == 1 ? name_in(i, codecs{})
               : axis == 2 ? bound_in(i, bounds{})
                           : name_in(i, placements{});
    }
};

/// The same for a menu, or a class of yours that is derived from one and has a shorter name. Its name is part
/// of the names of what is compiled for it.
template <class Menu>
struct menu_axes : axes_of_list<decltype(list_of_menu(static_cast<Menu*>(nullptr)))> {};

/// The plans of a menu for one collective, operation (void: it has none), element type and memory space.
template <class Axes, class Collective, class Op, element T, class Space, class Comm>
struct menu_plans {
    using axes = Axes;

    template <std::size_t Number>
    using plan_at = typename Axes::template at<Number, Op>::type;
    template <std::size_t Number>
    using choice_at = typename choice_of<Collective, plan_at<Number>>::type;

    template <class... Plans>
    static consteval bool fit_all(const plan_choice<Plans...>*)
    {
        return (true && ... && fits_one<Plans>());
    }
    template <class P>
    static consteval bool fits_one()
    {
        if constexpr (P::fault != plan_fault::none)
            return Axes::strict && P::fault != plan_fault::operation_without_bound;
        else {
            constexpr call_fault fault = first_fault_of_plan<Collective, P, pointer_range<const T, Space>,
                                                             pointer_range<T, Space>, Comm>();
            if (Axes::strict) return fault != call_fault::operation && fault != call_fault::lossy_element;
            return fault == call_fault::none;
        }
    }
    template <std::size_t Number>
    static consteval fits fit()
    {
        if constexpr (!Axes::template at<Number, Op>::template may_fit<Collective>) return fits::no;
        else if constexpr (!leaves_codec_open<typename plan_at<Number>::codec>)
            return fits_one<plan_at<Number>>() ? fits::well : fits::no;
        else if constexpr (!Axes::strict &&
                           (!names_no_algo<plan_at<Number>> || plan_at<Number>::bound::end_to_end))
            return fits::no;
        else {
            using candidates = typename plans_of<choice_at<Number>>::with_index;
            return fit_all(static_cast<const candidates*>(nullptr)) ? fits::by_measuring : fits::no;
        }
    }
    template <std::size_t... Number>
    static consteval std::array<fits, Axes::size> fit_each(std::index_sequence<Number...>)
    {
        return {fit<Number>()...};
    }
    static constexpr std::array<fits, Axes::size> fit_of = fit_each(std::make_index_sequence<Axes::size>{});

    static consteval std::size_t count(fits which)
    {
        std::size_t n = 0;
        for (const fits each : fit_of) n += each == which ? 1 : 0;
        return n;
    }
    /// The numbers of the plans that fit, or of those that measure.
    template <fits Which>
    static constexpr auto numbers_of = [] {
        std::array<std::size_t, count(Which)> numbers{};
        std::size_t next = 0;
        for (std::size_t i = 0; i < Axes::size; ++i)
            if (fit_of[i] == Which) numbers[next++] = i;
        return numbers;
    }();
    template <fits Which>
    using places_in = std::make_index_sequence<count(Which)>;

    template <std::size_t... Index>
    static auto choice_with(std::index_sequence<Index...>)
        -> plan_choice<plan_at<numbers_of<fits::well>[Index]>...>;
    /// The plans that fit.
    using choice = decltype(choice_with(places_in<fits::well>{}));
    static std::size_t index_of(std::size_t number)
    {
        std::size_t index = 0;
        for (const std::size_t each : numbers_of<fits::well>) index += each < number ? 1 : 0;
        return index;
    }
    /// Calls `run` with the choice of a plan that measures.
    template <class Result, class Run, std::size_t... Index>
    static Result measured(std::size_t number, Run run, std::index_sequence<Index...>)
    {
        Result result;
        [[maybe_unused]] const auto look =
            [&]<std::size_t Number>(std::integral_constant<std::size_t, Number>) {
                if (number == Number) result = run(choice_at<Number>{});
            };
        (look(std::integral_constant<std::size_t, numbers_of<fits::by_measuring>[Index]> {}), ...);
        return result;
    }

    /// The plans that fit, if they need nothing but an entry of a table: their types end here.
    template <class First, class... More>
    static consteval bool are_plain(const plan_choice<First, More...>*)
    {
        using types = table_of<Collective, T, Space, plan_choice<First, More...>>;
        return !Axes::strict && !is_over_edges<Collective> && !First::integrity::protects &&
               types::all_proved && !types::template any_on_two_levels<true>;
    }
    static consteval bool are_plain(const plan_choice<>*) { return false; }
    static constexpr bool plain = are_plain(static_cast<const choice*>(nullptr));

    template <class Choice>
    static constexpr bool in_floats = works_in_floats<Collective, Space, T, Choice>;
    using engine_type = std::conditional_t<in_floats<choice>, float, T>;
    using ready_type = ready_plan<engine_type, link_of<Comm>>;

    template <class First, class... More>
    static consteval auto ready_ones(const plan_choice<First, More...>*)
    {
        return std::array<ready_type, 1 + sizeof...(More)>{
            ready<Collective, First, engine_type, Space, link_of<Comm>>(),
            ready<Collective, More, engine_type, Space, link_of<Comm>>()...};
    }
    static constexpr auto plans = [] {
        if constexpr (plain) return ready_ones(static_cast<const choice*>(nullptr));
        else return nullptr;
    }();
    /// What all plans of a menu have in common.
    using common = typename Axes::template at<0, Op>::type;
};

/// What the buffers of a call depend on, of its collective.
struct described_shape {
    const char* name;
    const char* varied_name;
    marked_buffer marked;
    bool one_buffer, reduces;
};
template <class Collective>
inline constexpr described_shape shape_described{
    Collective::name, Collective::varied_name, takes_marker<Collective>,
    takes_marker<Collective> == marked_buffer::none && !is_over_edges<Collective>, Collective::reduces};

/// What a call says of its buffers beside their addresses.
struct described_parts {
    const dynamic::call& call;
    const described_shape& shape;
    std::size_t parts_of_element;

    void operator()(auto& user, std::size_t times) const
    {
        times *= parts_of_element;
        user.in_place |= call.in_place && !shape.one_buffer;
        if (!call.has_counts()) return;
        user.varied = true;
        user.own_unsaid = shape.reduces;
        const part_lists received{call.recv_counts, call.recv_displacements};
        const part_lists sent{call.send_counts, call.send_displacements};
        user.send_lists = (shape.reduces ? received : sent).in_elements(times);
        user.recv_lists = received.in_elements(times);
    }
};

/// The buffers of a call. In place, one of them serves as both.
template <element T, class Comm>
user_buffers<T> buffers_of(const dynamic::call& c, const described_shape& shape, std::size_t parts)
{
    const std::size_t n = c.n * parts;
    user_buffers<T> user(nullptr, n, nullptr, n, false, true);
    const void* send = shape.one_buffer ? c.recv : c.send;
    void* recv = c.recv;
    if (shape.marked == marked_buffer::send && (c.in_place || is_in_place<Comm>(send))) {
        user.in_place = true;
        send = recv;
    } else if (shape.marked == marked_buffer::recv && (c.in_place || is_in_place<Comm>(recv))) {
        user.in_place = true;
        recv = const_cast<void*>(send);
    }
    user.send = static_cast<const T*>(send);
    user.recv = static_cast<T*>(recv);
    described_parts{c, shape, parts}(user, 1);
    return user;
}

/// Begins a call with a plan of a table: as `perform` does, but for all collectives and plans in one.
template <class How, class Clock, element T, transport Link, communicator Comm, class... Extra>
CCOLL_OPAQUE typename How::result begin_described(const ready_plan<T, Link>& plan,
                                                  const user_buffers<T>& user, int root, const Comm& comm,
                                                  double seconds, const char* name, Extra&... extra)
{
    const exact_call environment;
    const extras more(extra...);
    chosen_call<T, Link> c(&plan);
    if constexpr (std::is_same_v<How, blocking> && !transport<Comm> &&
                  requires { transport_for<Comm>::use_again(comm); }) {
        passed p;
        if (leaves_all_to_transport(plan))
            if (auto again = transport_for<Comm>::use_again(comm)) {
                Link& link = *again;
                if (const sole_use mine(&link.memory().user()); mine.granted()) {
                    choose_maker<How>(c, user, root, link);
                    if (c.by == maker::transport) p = pass_on(c, user, root, link);
                }
            }
        if (p.done) return report_of_passed(c, p, name, more.code);
    }
    return begin_plain<How, running_call<T, Link, Clock>>(comm, c, user, root, more, seconds, name);
}

/// A call with a choice of plans, as the facades make it.
/// @param parts  elements T of one element of the call: 2 for a complex number
template <class How, class Collective, class Space, element T, class Choice, class Comm, class... Extra>
typename How::result call_with_choice(const Choice& choice, const dynamic::call& c, std::size_t parts,
                                      const Comm& comm, Extra&... extra)
{
    constexpr const described_shape& shape = shape_described<Collective>;
    constexpr bool sends_marker = knows_markers<Comm> && shape.marked == marked_buffer::send;
    constexpr bool takes_it = knows_markers<Comm> && shape.marked == marked_buffer::recv;
    using from = std::conditional_t<sends_marker, const void, const T>;
    using to = std::conditional_t<takes_it, void, T>;
    const bool input_in_recv = shape.one_buffer || (c.in_place && shape.marked == marked_buffer::send);
    const bool output_in_send = c.in_place && shape.marked == marked_buffer::recv;
    from* const send = static_cast<from*>(input_in_recv ? c.recv : c.send);
    to* const recv = static_cast<to*>(output_in_send ? const_cast<void*>(c.send) : c.recv);
    return call_pointers<How, Collective, Space>(choice, send, recv, c.n * parts,
                                                 described_parts{c, shape, parts}, c.root, comm, extra...);
}

/// Runs a call of this collective and operation, or calls `otherwise` with a function that says why not.
template <class How, class Plans, class Collective, element T, class Space, class Comm, class Otherwise,
          class... Extra>
typename How::result described_with(const dynamic::call& c, std::size_t parts, const Comm& comm,
                                    Otherwise otherwise, Extra&... extra)
{
    const std::size_t number = Plans::axes::find(c.how);
    const fits fit = number < Plans::axes::size ? Plans::fit_of[number] : fits::no;
    if constexpr (Plans::count(fits::well) > 0)
        if (fit == fits::well) {
            const std::size_t index = Plans::index_of(number);
            if constexpr (Plans::plain) {
                constexpr const described_shape& shape = shape_described<Collective>;
                const char* const name = c.has_counts() ? shape.varied_name : shape.name;
                const user_buffers<T> user = buffers_of<T, Comm>(c, shape, parts);
                const auto begin = [&](const auto& buffers) {
                    return begin_described<How, clock_of<typename Plans::common>>(
                        Plans::plans[index], buffers, c.root, comm, Plans::common::timeout::seconds, name,
                        extra...);
                };
                if constexpr (std::is_same_v<typename Plans::engine_type, T>) return begin(user);
                else return begin(as_floats<Space>(user));
            } else {
                return call_with_choice<How, Collective, Space, T>(typename Plans::choice{index}, c, parts,
                                                                   comm, extra...);
            }
        }
    if (fit == fits::by_measuring) {
        if constexpr (std::is_same_v<How, blocking> || Plans::axes::strict)
            return Plans::template measured<typename How::result>(
                number,
                [&](const auto& choice) {
                    return call_with_choice<How, Collective, Space, T>(choice, c, parts, comm, extra...);
                },
                typename Plans::template places_in<fits::by_measuring>{});
        else
            return otherwise([] {
                return std::string(
                    "calls with Codec::Auto measure while they block; name a codec to begin or prepare one");
            });
    }
    return otherwise([&] { return Plans::axes::why_not(c.how, Plans::fit_of); });
}

/// Calls `use` with the plans of the call's operation, or `otherwise` as above.
template <class Result, class Axes, class Collective, element T, class Space, class Comm, class Use,
          class Otherwise>
Result with_plans_for(const dynamic::call& c, std::size_t parts, Use use, Otherwise otherwise)
{
    const auto of = [&]<class Op>(std::type_identity<Op>) -> Result {
        if constexpr (Collective::reduces)
            if (parts > 1 && !Op::linear)
                return otherwise([] { return std::string("complex numbers can only be added"); });
        return use(menu_plans<Axes, Collective, Op, T, Space, Comm>{});
    };
    if constexpr (!Collective::reduces) {
        return of(std::type_identity<void>{});
    } else {
        const auto look = [&]<class... Ops>(type_list<Ops...>) -> Result {
            Result result;
            const auto is_it = [&]<class Op>(std::type_identity<Op> op) {
                if (id_of_tag<dynamic::operation_id, Op>() != c.op) return false;
                result = of(op);
                return true;
            };
            if ((is_it(std::type_identity<Ops>{}) || ...)) return result;
            return otherwise([&] {
                std::string text =
                    "the operation '" + std::string(name_of(c.op)) + "' is not compiled in; it can be ";
                const char* separator = "";
                ((text += separator, text += Ops::name, separator = ", "), ...);
                return text;
            });
        };
        return look(typename Axes::operations{});
    }
}

/// Runs a call of this collective on elements T, or calls `otherwise` with a function that says why not.
template <class How, class Axes, class Collective, element T, class Space, class Comm, class Otherwise,
          class... Extra>
typename How::result described(const dynamic::call& c, std::size_t parts, const Comm& comm,
                               Otherwise otherwise, Extra&... extra)
{
    return with_plans_for<typename How::result, Axes, Collective, T, Space, Comm>(
        c, parts,
        [&](auto plans) {
            return described_with<How, decltype(plans), Collective, T, Space>(c, parts, comm, otherwise,
                                                                              extra...);
        },
        otherwise);
}

}  // namespace detail
}  // namespace ccoll::inline CCOLL_ABI
