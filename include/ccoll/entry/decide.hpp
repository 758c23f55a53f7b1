// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/decide.hpp - floor 3. From types to values: a plan becomes a decision, and a choice of plans becomes
// a table of decisions. This is the only engine code that is compiled once per plan. It has no loop over
// elements or ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ccoll/base/extremes.hpp>
#include <ccoll/algo/rabenseifner.hpp>
#include <ccoll/codec/none.hpp>
#include <ccoll/call/hierarchy.hpp>
#include <ccoll/call/native.hpp>
#include <ccoll/agree/plan_word.hpp>
#include <ccoll/plan/rules.hpp>
#include <ccoll/call/running_call.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <class Plan, class Collective, class T, class Space>
consteval placement_rules rules_for()
{
    using namespace policies;
    using wish = typename Plan::placement;
    if (std::is_same_v<wish, Placement::PerHop>) return {"PerHop", false, false};
    if (!Collective::reduces) return {"Once", true, false};
    const bool wanted = std::is_same_v<wish, Placement::Homomorphic> || std::is_same_v<wish, Placement::Auto>;
    return wanted && may_add_frames<Plan, Collective, T, Space> ? placement_rules{"Homomorphic", true, true}
                                                                : decode_reduce_encode;
}

/// The algorithm as a number, for the stamp.
template <class Tag>
struct mixed_algo {
    static constexpr std::uint32_t with(std::uint32_t seed) { return mixed(seed, Tag::name); }
};
template <class Inner, class Outer>
struct mixed_algo<policies::Algo::Hierarchical<Inner, Outer>> {
    static constexpr std::uint32_t with(std::uint32_t seed)
    {
        return mixed(mixed(mixed(seed, "Hierarchical"), Inner::name), Outer::name);
    }
};

template <class Tag, class Collective>
inline constexpr algorithm_way way_of{Tag::name, schedule_view<schedule_for<Tag, Collective>>,
                                      mixed_algo<Tag>::with(mixed(hash_seed, Collective::name))};

/// The space of a call's elements and messages: direct<Buffers> if the plan asks for it and nothing has to be
/// done on the host.
template <class Collective, class Plan, class T, class Buffers>
consteval auto space_of()
{
    using there = direct<Buffers>;
    if constexpr (wants_direct<Plan> && has_memory_space<there, T> &&
                  has_queued_codec<typename Plan::codec, T, there>) {
        if constexpr (!Collective::reduces) return there{};
        else if constexpr (has_queued_codec<policies::Codec::None, T, there> &&
                           reduces_in_space<there, T, typename Plan::op>)
            return there{};
        else return Buffers{};
    } else {
        return Buffers{};
    }
}

/// The plan as values, with algorithm `Algo`: built once per plan, element type and memory space.
template <class Collective, class Plan, class T, class Buffers = host_space,
          class Algo = algo_of<Collective, Plan>>
inline constexpr decision<T> decision_of = [] {
    using Space = decltype(space_of<Collective, Plan, T, Buffers>());
    using plan_codec = typename Plan::codec;
    using plan_op = typename Plan::op;
    using plan_bound = typename Plan::bound;
    using plan_check = typename Plan::check;
    constexpr placement_rules rules = rules_for<Plan, Collective, T, Space>();
    decision<T> d;
    d.way = way_of<Algo, Collective>;
    d.way.hash = with_names_of_users<Plan>(d.way.hash);
    if constexpr (memory_space<Space, T>::operations.slice_elements != 0)
        d.way.hash = mixed(d.way.hash, std::uint64_t{memory_space<Space, T>::operations.slice_elements});
    d.codec_name = plan_codec::name;
    d.what.facts = facts_of<Collective>;
    d.what.codec = queued_codecs<plan_codec, T, Space, typename Plan::exec>::frames;
    if constexpr (rules.reduce_encoded) {
        d.what.addends = queued_codecs<plan_codec, T, Space, typename Plan::exec>::addends;
        d.what.exact = queued_codecs<policies::Codec::None, T, Space, typename Plan::exec>::frames;
    }
    d.what.space = memory_space<Space, T>::operations;
    if constexpr (Plan::missing::declared) {
        d.what.missing = missing_value_of<typename Plan::missing, T>();
        d.way.hash = mixed(mixed(d.way.hash, "Missing"), d.what.missing.bits);
    }
    if constexpr (requires { Plan::exec::queue_of_lane(std::size_t{}); })
        d.what.threads = &Plan::exec::queue_of_lane;
    if constexpr (Collective::reduces) {
        d.what.op = reduction_of<plan_op, T>;
        d.what.op.missing = d.what.missing;
        if constexpr (requires { memory_space<Space, T>::template operation_of<plan_op>; })
            d.what.op.in_space = memory_space<Space, T>::template operation_of<plan_op>;
    }
    d.what.rules = rules;
    d.what.stamp.arguments.plan = plan_word_of<Collective, Plan, T>(rules.name);
    d.bound.lossy = plan_codec::lossy;
    d.bound.kind = plan_bound::kind;
    d.bound.end_to_end = plan_bound::end_to_end;
    d.bound.at_run_time = plan_bound::given_at_run_time;
    d.bound.of_magnitude = plan_bound::of_magnitude;
    d.bound.value = plan_bound::value;
    d.bound.block = plan_bound::block;
    if constexpr (plan_bound::block != 0) {
        d.way.hash = mixed(mixed(d.way.hash, "Block"), std::uint64_t{plan_bound::block});
        // Every rank needs all scales, whatever it gets of the result.
        using algo = std::conditional_t<std::is_same_v<Collective, collective::allreduce>, Algo,
                                        policies::Algo::Rabenseifner>;
        d.way_of_scales = schedule_view<schedule_for<algo, collective::allreduce>>;
    }
    d.bound.growth = Collective::reduces ? plan_op::growth : error_growth::adds;
    if constexpr (plan_codec::lossy) d.bound.units = &worst_case_units<Collective>;
    if constexpr (Plan::patience_s > 0) d.patience = {Plan::patience_s, &steady_seconds};
    d.checks = std::is_same_v<plan_check, policies::Check::Collective> ? check_level::collective
               : std::is_same_v<plan_check, policies::Check::Local>    ? check_level::local
                                                                       : check_level::automatic;
    return d;
}();

/// What Algo::Hierarchical runs within a node; empty for other algorithms.
template <class Algo, class Plan, class T, class Space>
struct levels {
    static constexpr bool two = false;
    static constexpr inner_decisions<T> inner{};
};
template <class Inner, class Outer, class Plan, class T, class Space>
struct levels<policies::Algo::Hierarchical<Inner, Outer>, Plan, T, Space> {
    static constexpr bool two = true;
    using inner_plan = ccoll::Plan<Inner, typename Plan::op, typename Plan::messages, typename Plan::missing,
                                   policies::Check::Local>;
    using mover_plan = ccoll::Plan<Inner, typename Plan::messages, policies::Check::Local>;
    /// Hierarchical calls use the codec of the plan here if it adds encoded streams, so there is an error
    /// model.
    static constexpr decision<T> reduce_of_node = [] {
        decision<T> d;
        if constexpr (operation_on<typename Plan::op, T>) {
            d = decision_of<collective::reduce, inner_plan, T, Space>;
            d.bound.units = &worst_case_units<collective::reduce>;
        }
        return d;
    }();
    static constexpr inner_decisions<T> inner{operation_on<typename Plan::op, T> ? &reduce_of_node : nullptr,
                                              &decision_of<collective::bcast, mover_plan, T, Space>};
};

/// Algorithms whose schedules are proved by the tests of the library. Others are examined before their first
/// call.
template <class Algo>
inline constexpr bool is_proved = false;
template <class Algo>
    requires is_one_of<Algo, library_algos>
inline constexpr bool is_proved<Algo> = true;
template <class Inner, class Outer>
inline constexpr bool is_proved<policies::Algo::Hierarchical<Inner, Outer>> =
    is_proved<Inner> && is_proved<Outer>;

/// A plan as a chooser sees it.
template <class Collective, class Plan, class T, class Space>
consteval candidate candidate_of(const char* algorithm)
{
    using bound = typename Plan::bound;
    const bool known = Plan::codec::lossy && !bound::given_at_run_time && bound::kind != bound_kind::rate &&
                       bound::block == 0;
    return {algorithm,           Plan::codec::name,        rules_for<Plan, Collective, T, Space>().name,
            !Plan::codec::lossy, known ? bound::value : 0, bound::kind == bound_kind::relative,
            bound::end_to_end};
}

/// The same plan with each of a list of algorithms.
template <class Collective, class Plan, class T, class Space, class Algos>
struct ways_in;
template <class Collective, class Plan, class T, class Space, class... Algos>
struct ways_in<Collective, Plan, T, Space, algo_list<Algos...>> {
    static constexpr const decision<T>* decisions[sizeof...(Algos)] = {
        &decision_of<Collective, Plan, T, Space, Algos>...};
    static constexpr candidate candidates[sizeof...(Algos)] = {
        candidate_of<Collective, Plan, T, Space>(Algos::name)...};
};

/// All that a call must know about a plan: an entry of the table in which a choice is looked up.
template <element T, transport Link>
struct ready_plan {
    const decision<T>* usual;
    const decision<T>* const* ways = nullptr;  ///< if Algo::Auto has a choice: one for each of `candidates`
    std::span<const candidate> candidates{};
    chooser choose = nullptr;     ///< null: there is nothing to choose
    native_call<T, Link> native;  ///< null, or the transport's own call that may do the work
    inner_decisions<T> inner;
    bool two_levels;
};

/// Algo::Auto has a choice only if the bound does not depend on the algorithm, because the bound is promised
/// before the length is known.
template <class Collective, class Plan, class T, class Space>
consteval bool leaves_algorithm_open()
{
    constexpr placement_rules rules = rules_for<Plan, Collective, T, Space>();
    constexpr bool any_way =
        !Plan::codec::lossy || (Collective::reduces ? rules.reduce_encoded : rules.forward_encoded);
    return names_no_algo<Plan> && any_way &&
           requires(const choice_facts& facts) { auto_rule<Collective>::choose(facts); };
}

template <class Collective, class Plan, class T, class Space, class Link>
consteval ready_plan<T, Link> ready()
{
    using level = levels<typename Plan::algo, Plan, T, Space>;
    ready_plan<T, Link> all{.usual = &decision_of<Collective, Plan, T, Space>,
                            .native = native_of<Collective, Plan, T, Space, Link>(),
                            .inner = level::inner,
                            .two_levels = level::two};
    if constexpr (leaves_algorithm_open<Collective, Plan, T, Space>()) {
        using ways = ways_in<Collective, Plan, T, Space, typename auto_rule<Collective>::algos>;
        all.ways = ways::decisions;
        all.candidates = std::span<const candidate>(ways::candidates);
        all.choose = &auto_rule<Collective>::choose;
    }
    return all;
}

/// The plans of a choice, as a call needs them and as a chooser sees them.
template <class Collective, class T, class Space, class Choice>
struct table_of;
template <class Collective, class T, class Space, class... Plans>
struct table_of<Collective, T, Space, plan_choice<Plans...>> {
    template <class Link>
    static constexpr ready_plan<T, Link> plans[sizeof...(Plans)] = {
        ready<Collective, Plans, T, Space, Link>()...};
    static constexpr candidate candidates[sizeof...(Plans)] = {
        candidate_of<Collective, Plans, T, Space>(Plans::algo::name)...};

    static constexpr bool all_proved = (true && ... && is_proved<algo_of<Collective, Plans>>);
    template <bool Two>
    static constexpr bool any_on_two_levels =
        (false || ... || (levels<typename Plans::algo, Plans, T, Space>::two == Two));
};
template <class Collective, class T, class Space, class... Plans>
struct table_of<Collective, T, Space, plan_rule<Plans...>>
    : table_of<Collective, T, Space, plan_choice<Plans...>> {};
template <class Collective, class T, class Space, class... Plans>
struct table_of<Collective, T, Space, plan_tuned<Plans...>>
    : table_of<Collective, T, Space, plan_choice<Plans...>> {};

/// Elements of the whole vector, as fit() counts them if no part has a count of its own.
template <element T>
std::size_t whole_elements(const user_buffers<T>& user, const collective_facts& facts, int me, int p,
                           int root)
{
    const auto ranks = static_cast<std::size_t>(p);
    // What one neighbour gets, because ranks may have different numbers of them.
    if (user.neighbors != nullptr) {
        const int parts = facts.send == extent::own || user.counted ? 1 : user.neighbors->send_parts();
        return user.send_size / static_cast<std::size_t>(std::max(1, parts));
    }
    if (facts.one_vector) return facts.before(me, root, 1).count > 0 ? user.send_size : user.recv_size;
    if (user.counted) return user.send_size * ranks;
    const bool send_whole = facts.send == extent::whole;
    if (user.in_place || facts.exchanges)
        return (send_whole ? user.send_size : user.recv_size) / ranks * ranks;
    return (send_whole ? user.recv_size : user.send_size) * ranks;
}

/// What a chooser is told about a call.
template <element T, transport Link>
choice_facts facts_for(const decision<T>& any, const user_buffers<T>& user, int root, const Link& link,
                       std::span<const candidate> candidates)
{
    const collective_facts& facts = any.what.facts;
    const std::size_t whole = user.varied ? 0 : whole_elements(user, facts, link.rank(), link.size(), root);
    return {facts.name, whole * user.element_bytes(), link.size(), candidates};
}

/// The plan with the algorithm that Algo::Auto chooses for this length.
template <element T, transport Link>
CCOLL_OPAQUE const decision<T>* with_algorithm(const ready_plan<T, Link>& plan, const user_buffers<T>& user,
                                               int root, const Link& link)
{
    if (user.varied) return plan.usual;
    return plan.ways[plan.choose(facts_for(*plan.usual, user, root, link, plan.candidates))];
}

}  // namespace ccoll::inline CCOLL_ABI::detail
