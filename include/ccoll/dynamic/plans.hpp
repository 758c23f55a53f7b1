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

template <class... A, class... B>
type_list<A..., B...> operator+(type_list<A...>, type_list<B...>);
template <bool There, class Tag>
using list_if = std::conditional_t<There, type_list<Tag>, type_list<>>;

/// Of these, those on an axis; on `void`, those that are no policies.
template <class Axis, class... Policies>
using tags_on = decltype((type_list<>{} + ... + list_if<is_on<Axis, Policies>, Policies>{}));
template <class List, class Default>
using or_one = std::conditional_t<std::is_same_v<List, type_list<>>, type_list<Default>, List>;

template <std::size_t I, class List>
struct nth_of;
template <class First, class... Rest>
struct nth_of<0, type_list<First, Rest...>> {
    using type = First;
};
template <std::size_t I, class First, class... Rest>
struct nth_of<I, type_list<First, Rest...>> : nth_of<I - 1, type_list<Rest...>> {};

template <class List>
struct plan_of_list;
template <class... Policies>
struct plan_of_list<type_list<Policies...>> {
    using plan = Plan<Policies...>;
    using choice = plan_choice<Policies...>;
};

/// The number of a FixedBits, from what it keeps.
constexpr int bits_of_value(double part_of_range)
{
    int bits = 0;
    for (; part_of_range < 0.5; part_of_range *= 2) ++bits;
    return bits;
}
/// Is this the bound that a call asks for?
template <class Bound>
constexpr bool is_asked_for(const dynamic::plan& how)
{
    using id = dynamic::bound_id;
    if (Bound::kind == bound_kind::none || how.bound == 0)
        return Bound::kind == bound_kind::none && how.bound == 0;
    if (Bound::end_to_end != how.of_result) return false;
    if (Bound::of_magnitude) return how.kind == id::FixedBits && bits_of_value(Bound::value) == how.bound;
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
    const std::string kind = Bound::of_magnitude                       ? "FixedBits"
                             : Bound::kind == bound_kind::relative ? "RelativeBound"
                             : Bound::kind == bound_kind::rate     ? "FixedRate"
                                                                   : "ErrorBound";
    return (Bound::end_to_end ? "EndToEnd " : "") + kind;
}

enum class fits : signed char { no, well, by_measuring };

/// The axes on which a menu has alternatives. Plans are numbered: a number is a place on each axis.
template <class Menu>
struct menu_axes;
template <class... Policies>
struct menu_axes<dynamic::menu<Policies...>> {
    using elements = tags_on<void, Policies...>;
    using operations = or_one<tags_on<axis::op, Policies...>, policies::Op::Sum>;
    using algos = or_one<tags_on<axis::algo, Policies...>, policies::Algo::Auto>;
    using codecs = or_one<tags_on<axis::codec, Policies...>, policies::Codec::None>;
    using bounds = decltype(type_list<no_bound>{} + tags_on<axis::bound, Policies...>{});
    using placements = or_one<tags_on<axis::placement, Policies...>, policies::Placement::Auto>;
    /// All plans are given a bound, so that the engine is called in one way.
    using common = decltype((type_list<spare_bound>{} + ... +
                             list_if<!std::is_void_v<typename axis_of<Policies>::type> &&
                                         !is_on<axis::op, Policies> && !is_on<axis::algo, Policies> &&
                                         !is_on<axis::codec, Policies> && !is_on<axis::bound, Policies> &&
                                         !is_on<axis::placement, Policies>,
                                     Policies>{}));

    template <class... Tags>
    static constexpr std::size_t length(type_list<Tags...>)
    {
        return sizeof...(Tags);
    }
    static constexpr std::size_t lengths[] = {length(algos{}), length(codecs{}), length(bounds{}),
                                              length(placements{})};
    static constexpr std::size_t size = lengths[0] * lengths[1] * lengths[2] * lengths[3];
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
        using type = typename plan_of_list<decltype(type_list<algo, codec>{} +
                                                    list_if<bound::kind != bound_kind::none, bound>{} +
                                                    list_if<place[3] != 0, placement>{} +
                                                    list_if<!std::is_void_v<Op>, Op>{} + common{})>::plan;
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
    [[gnu::cold]] static std::string why_not(const dynamic::plan& how, const fits (&table)[size])
    {
        static constexpr const char* what[] = {"algorithm", "codec", "bound", "placement"};
        const places wanted = asked_for(how);
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

/// The plans of a menu for one collective, operation (void: it has none) and element type.
template <class Axes, class Collective, class Op, element T, class Comm>
struct menu_plans {
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
            constexpr call_fault fault =
                first_fault_of_plan<Collective, P, pointer_range<const T>, pointer_range<T>, Comm>();
            if (Axes::strict) return fault != call_fault::operation && fault != call_fault::lossy_element;
            return fault == call_fault::none;
        }
    }
    template <std::size_t Number>
    static consteval fits fit()
    {
        using plan = plan_at<Number>;
        if constexpr (!leaves_codec_open<typename plan::codec>)
            return fits_one<plan>() ? fits::well : fits::no;
        else if constexpr (!names_no_algo<plan> && !Axes::strict) return fits::no;
        else {
            using choice = typename plans_of<choice_at<Number>>::with_index;
            return fit_all(static_cast<const choice*>(nullptr)) ? fits::by_measuring : fits::no;
        }
    }

    template <std::size_t... Number>
    static consteval auto all_of(std::index_sequence<Number...>)
    {
        return type_list<std::integral_constant<fits, fit<Number>()>...>{};
    }
    using numbers = std::make_index_sequence<Axes::size>;

    template <class Numbers>
    struct tables;
    template <std::size_t... Number>
    struct tables<std::index_sequence<Number...>> {
        static constexpr fits fit_of[] = {fit<Number>()...};
        using choice = typename plan_of_list<decltype((
            type_list<>{} + ... + list_if<fit_of[Number] == fits::well, plan_at<Number>>{}))>::choice;
        static constexpr auto index_of = [] {
            std::array<unsigned short, sizeof...(Number)> index{};
            unsigned short next = 0;
            for (std::size_t i = 0; i < sizeof...(Number); ++i) {
                index[i] = next;
                if (fit_of[i] == fits::well) ++next;
            }
            return index;
        }();

        /// Calls `run` with the choice of a plan that measures.
        template <class Result, class Run>
        static Result measured(std::size_t number, Run run)
        {
            Result result;
            const auto look = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
                if constexpr (fit_of[I] == fits::by_measuring)
                    if (number == I) result = run(choice_at<I>{});
            };
            (look(std::integral_constant<std::size_t, Number>{}), ...);
            return result;
        }
    };

    /// Calls `run` with a choice that fits, or `otherwise` with a function that says why there is none.
    template <class Result, class Run, class Otherwise>
    static Result choose(const dynamic::plan& how, Run run, Otherwise otherwise)
    {
        using table = tables<numbers>;
        const std::size_t number = Axes::find(how);
        const fits fit = number < Axes::size ? table::fit_of[number] : fits::no;
        if constexpr (!std::is_same_v<typename table::choice, plan_choice<>>)
            if (fit == fits::well) return run(typename table::choice{table::index_of[number]});
        if (fit == fits::by_measuring) return table::template measured<Result>(number, run);
        return otherwise([&] { return Axes::why_not(how, table::fit_of); });
    }
};

/// What a call with counts, or in place, says of its buffers beside their addresses.
struct described_parts {
    const dynamic::call& call;
    std::size_t parts_of_element;
    bool reduces;

    void operator()(auto& user, std::size_t times) const
    {
        times *= parts_of_element;
        user.in_place |= call.in_place;
        user.varied = call.has_counts();
        user.own_unsaid = user.varied && reduces;
        user.send_counts = (reduces ? call.recv_counts : call.send_counts).in_elements(times);
        user.send_displacements =
            (reduces ? call.recv_displacements : call.send_displacements).in_elements(times);
        user.recv_counts = call.recv_counts.in_elements(times);
        user.recv_displacements = call.recv_displacements.in_elements(times);
    }
};

/// A call with a choice of plans, as the facades make it.
/// @tparam Plainly  there are neither counts nor `in_place`
/// @param parts  elements T of one element of the call: 2 for a complex number
template <class How, class Collective, element T, bool Plainly, class Choice, class Comm, class... Extra>
typename How::result described_call(const Choice& choice, const dynamic::call& c, std::size_t parts,
                                    const Comm& comm, Extra&... extra)
{
    constexpr marked_buffer marked = takes_marker<Collective>;
    constexpr bool one_buffer = marked == marked_buffer::none && !is_over_edges<Collective>;
    using from = std::conditional_t<knows_markers<Comm> && marked == marked_buffer::send, const void, const T>;
    using to = std::conditional_t<knows_markers<Comm> && marked == marked_buffer::recv, void, T>;
    const bool input_in_recv = one_buffer || (c.in_place && marked == marked_buffer::send);
    const bool output_in_send = c.in_place && marked == marked_buffer::recv;
    from* const send = static_cast<from*>(input_in_recv ? c.recv : c.send);
    to* const recv = static_cast<to*>(output_in_send ? const_cast<void*>(c.send) : c.recv);
    const std::size_t n = c.n * parts;
    if constexpr (Plainly)
        return call_pointers<How, Collective>(choice, send, recv, n, as_they_are, c.root, comm, extra...);
    else
        return call_pointers<How, Collective>(choice, send, recv, n,
                                              described_parts{c, parts, Collective::reduces}, c.root, comm,
                                              extra...);
}

/// Calls `run` with the choice of plans that a call asks for, or `otherwise` with a function that says why
/// there is none.
template <class Result, class Axes, class Collective, element T, class Comm, class Run, class Otherwise>
Result with_choice_for(const dynamic::call& c, std::size_t parts, Run run, Otherwise otherwise)
{
    const auto with_operation = [&]<class Op>(std::type_identity<Op>) -> Result {
        if constexpr (Collective::reduces)
            if (parts > 1 && !Op::linear)
                return otherwise([] { return std::string("complex numbers can only be added"); });
        return menu_plans<Axes, Collective, Op, T, Comm>::template choose<Result>(c.how, run, otherwise);
    };
    if constexpr (!Collective::reduces) {
        return with_operation(std::type_identity<void>{});
    } else {
        const auto look = [&]<class... Ops>(type_list<Ops...>) -> Result {
            Result result;
            const auto is_it = [&]<class Op>(std::type_identity<Op> op) {
                if (id_of_tag<dynamic::operation_id, Op>() != c.op) return false;
                result = with_operation(op);
                return true;
            };
            if ((is_it(std::type_identity<Ops>{}) || ...)) return result;
            return otherwise([] {
                std::string text = "the operation is not compiled in; it can be ";
                const char* separator = "";
                ((text += separator, text += Ops::name, separator = ", "), ...);
                return text;
            });
        };
        return look(typename Axes::operations{});
    }
}

/// Runs a call of this collective on elements T, or calls `otherwise` with a function that says why not.
template <class How, class Axes, class Collective, element T, class Comm, class Otherwise, class... Extra>
typename How::result described(const dynamic::call& c, std::size_t parts, const Comm& comm,
                               Otherwise otherwise, Extra&... extra)
{
    return with_choice_for<typename How::result, Axes, Collective, T, Comm>(
        c, parts,
        [&](const auto& choice) {
            return described_call<How, Collective, T, Axes::strict>(choice, c, parts, comm, extra...);
        },
        otherwise);
}

}  // namespace detail
}  // namespace ccoll::inline CCOLL_ABI
