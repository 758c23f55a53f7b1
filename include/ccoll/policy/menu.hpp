// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/menu.hpp - floor 1. Several plans that are compiled in, of which a call takes one at run time.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <ccoll/base/error.hpp>
#include <ccoll/policy/chooser.hpp>
#include <ccoll/policy/plan.hpp>

namespace ccoll::inline CCOLL_ABI {

/// One of `Plans`, by its index: what `menu::at` gives, and what a call takes as its first argument. A value
/// of a few bytes; it does not refer to its menu.
template <class... Plans>
struct plan_choice {
    std::size_t index = 0;

    /// The first fault of any of the plans.
    static constexpr plan_fault fault = [] {
        plan_fault first = plan_fault::none;
        ((first = first == plan_fault::none ? Plans::fault : first), ...);
        return first;
    }();
    /// Does any of the plans take its bound from the call?
    static constexpr bool takes_bound = (false || ... || Plans::bound::given_at_run_time);
    static constexpr bool may_be_given_bound =
        takes_bound || (false || ... || Plans::template names<axis::spare_bound>);
};

/// One of `Plans`, chosen by a function at every call: what `menu::chosen_by` gives.
template <class... Plans>
struct plan_rule {
    chooser choose = nullptr;

    static constexpr plan_fault fault = plan_choice<Plans...>::fault;
};

/// One of `Plans`, of which the call takes the one that measures fastest: what `menu::tuned` gives.
template <class... Plans>
struct plan_tuned {
    static constexpr plan_fault fault = plan_choice<Plans...>::fault;
};

namespace detail {

template <class Choice>
struct is_choice : std::false_type {};
template <class... Plans>
struct is_choice<plan_choice<Plans...>> : std::true_type {};
template <class... Plans>
struct is_choice<plan_rule<Plans...>> : std::true_type {};

template <class... Plans>
struct is_choice<plan_tuned<Plans...>> : std::true_type {};

/// Does the call itself choose, at every call?
template <class Choice>
inline constexpr bool is_rule = false;
template <class... Plans>
inline constexpr bool is_rule<plan_rule<Plans...>> = true;
template <class... Plans>
inline constexpr bool is_rule<plan_tuned<Plans...>> = true;
template <class Choice>
inline constexpr bool is_tuned = false;
template <class... Plans>
inline constexpr bool is_tuned<plan_tuned<Plans...>> = true;

template <class...>
struct type_list {};

/// The choice that a plan with Codec::Auto stands for; <ccoll/auto.hpp> has it. Without that header, the plan
/// is refused.
template <class Collective, class Plan>
struct codecs_of_auto {
    using type = plan_choice<Plan>;
};
template <class Collective, class Plan>
struct choice_of {
    using type = plan_choice<Plan>;
};
template <class Collective, class Plan>
    requires(leaves_codec_open<typename Plan::codec> && !std::is_void_v<Collective>)
struct choice_of<Collective, Plan> : codecs_of_auto<Collective, Plan> {};

/// The same choice, with more policies in every plan.
template <class... More, class... Plans>
constexpr auto with_policies(const plan_choice<Plans...>& choice)
{
    return plan_choice<plan_of<Plans, More...>...>{choice.index};
}
template <class... More, class... Plans>
constexpr auto with_policies(const plan_rule<Plans...>& rule)
{
    return plan_rule<plan_of<Plans, More...>...>{rule.choose};
}
template <class... More, class... Plans>
constexpr auto with_policies(const plan_tuned<Plans...>&)
{
    return plan_tuned<plan_of<Plans, More...>...>{};
}

/// Throws, with a sentence that lists the plans.
[[noreturn]] inline void refuse_choice(const std::string& wanted, const std::string_view* names,
                                       std::size_t size)
{
    std::string text = wanted + "; there are " + std::to_string(size) + " plans: ";
    for (std::size_t i = 0; i < size; ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(i);
        if (!names[i].empty()) text += " '" + std::string(names[i]) + "'";
    }
    raise("menu::at", {status::bad_argument}, text.c_str());
}

}  // namespace detail

/// Plans to choose from at run time. Write the menu once, and give a choice of it to a call in place of
/// policies:
///
///   constexpr ccoll::menu<ccoll::Plan<>, ccoll::Plan<Codec::SZp, RuntimeBound>> m{"exact", "szp"};
///   ccoll::allreduce(m.at(name), send, recv, comm, 1e-3);
///
/// @tparam Plans  ccoll::Plan<...> each (or a single policy). They may differ in everything but Instrument::,
///                and must all fit the call in which they are used: one that does not is refused at compile
///                time, with the sentence of a call with that plan.
/// Policies of the call join every plan: `allreduce<Check::Collective>(m.at(0), ...)`.
/// Bound: if any plan says RuntimeBound, the call takes a bound after the communicator, whichever plan is
/// chosen. Plans without RuntimeBound do not use it.
/// All ranks must choose the same plan; otherwise they get status::plan_differs, as with plans that differ in
/// the text of the program.
/// Cost: a table with an entry per plan, and one look-up per call. The engine is compiled once, not once per
/// plan.
template <class... Plans>
class menu {
public:
    using choice = plan_choice<plan_of<Plans>...>;
    using rule = plan_rule<plan_of<Plans>...>;

    /// Plans without names: for at(index).
    constexpr menu() : names_{no_name<Plans>...}
    {
        static_assert(sizeof...(Plans) > 0,
                      "ccoll::menu: it has no plans; name at least one, as in "
                      "ccoll::menu<ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>>");
    }

    /// @param names  one per plan, in the order of the plans; not empty, and all different. The menu keeps
    ///               views of them, so the characters must live as long as the menu.
    template <class... Names>
        requires(sizeof...(Names) > 0 && (std::convertible_to<const Names&, std::string_view> && ...))
    explicit constexpr menu(const Names&... names) : names_{std::string_view(names)...}
    {
        static_assert(sizeof...(Names) == sizeof...(Plans),
                      "ccoll::menu: it needs one name per plan; give all of them a name, or none");
    }

    static constexpr std::size_t size() { return sizeof...(Plans); }

    /// @param index  below size()    @return "" where plans have no names
    constexpr std::string_view name(std::size_t index) const { return names_[index]; }

    /// @return the index of the first plan with this name; size() if there is none
    constexpr std::size_t find(std::string_view name) const
    {
        std::size_t i = 0;
        while (i < size() && (name.empty() || names_[i] != name)) ++i;
        return i;
    }

    /// @throw ccoll::error  (bad_argument, on this rank alone) if there is no plan with this index; the
    ///                      sentence lists the plans. It is thrown before the call begins, so other ranks
    ///                      wait for this one unless they throw as well.
    template <std::integral Index>
    constexpr choice at(Index index) const
    {
        if (static_cast<std::size_t>(index) >= size())  // negative ones, too
            detail::refuse_choice("no plan has the index " + std::to_string(index), names_.data(), size());
        return {static_cast<std::size_t>(index)};
    }
    /// @throw ccoll::error  as above, if there is no plan with this name
    constexpr choice at(std::string_view name) const
    {
        const std::size_t index = find(name);
        if (index == size())
            detail::refuse_choice("no plan has the name '" + std::string(name) + "'", names_.data(), size());
        return {index};
    }

    /// A call with this result asks `choose` which plan to take. For collectives only, because the two ends
    /// of a message know different facts.
    constexpr rule chosen_by(chooser choose) const { return {choose}; }

    /// A call with this result takes the plan that measures fastest on its communicator. For collectives
    /// only. The first plan is the incumbent: it runs where nothing is known, and is left only for one that
    /// is clearly faster. <ccoll/auto.hpp> says how plans are measured; plans that differ in bits, or in what
    /// they promise, may take turns while that goes on.
    constexpr auto tuned() const { return plan_tuned<plan_of<Plans>...>{}; }

private:
    template <class>
    // One by one: g++ 12 cannot read elements of names_{} in a constant expression.
    static constexpr std::string_view no_name{""};

    std::array<std::string_view, sizeof...(Plans)> names_;
};

}  // namespace ccoll::inline CCOLL_ABI
