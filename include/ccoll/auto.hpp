// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// auto.hpp - floor 5. Codec::Auto and menu::tuned(): calls that measure, and take what is fastest.
//
//   allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, comm);
//
// A call with it has candidates, and takes the one that measures fastest. The first is the exact plan,
// without a codec: where the transport has a collective of its own, as MPI does, it is that one. The others
// use SZp, with each of the algorithms that Algo::Auto chooses from, or no codec with an algorithm of the
// library. Without a bound, collectives that only move data may use Lossless; reductions remain MPI's,
// because another order of the additions would give other bits.
//
//   - Calls of less than 8 KiB (of the whole vector) take the first candidate.
//   - The first calls of a class measure, ten at most: three take the first candidate, and each of up to two
//     others is tried three times if a sample of the values and a model say that it promises less than 0.85
//     of the time. A class is a collective, a type, a bound, a number of ranks and a power of two of bytes,
//     on one communicator.
//   - Then the fastest is taken. The first candidate is left for one that takes at most 0.85 of its time. The
//     choice and its rival are timed again and again, within 2 % of the time of the class. When figures
//     change, the class is measured again. If the kind of values changes from call to call, the candidate is
//     taken that is fastest for the mixture, and the first one unless that has paid.
//   - All ranks decide alike: they know the figures of the slowest rank, which ride in the comparison of
//     arguments. A call that measures compares its arguments, and so do some of the others, within 1 % of the
//     time, or 4 % where the choice saves much.
//   - Only blocking calls measure. Begun and prepared calls take what blocking ones have found, and the first
//     candidate otherwise.
//   - The environment can say otherwise, or keep what was found: CCOLL_TUNE and CCOLL_ALGO
//     (tune/settings.hpp).
//   - A switch between the first candidate and SZp changes the bits of results, within the bound. A switch
//     between algorithms of SZp in a reduction does not: their sums have the same bits. report::reason says
//     why a candidate was taken.
//
// Sample and model: 1/64 of the values, at least 16 groups of 1024, from places that follow from a hash; to
// see the kind of values, four groups of 256. See measure/sample.hpp.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/codec/lossless.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/measure/measuring.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A list of policies without those of some axes.
template <class List, class... Axes>
struct without;
template <class... Done, class... Axes>
struct without<type_list<Plan<Done...>>, Axes...> {
    using type = Plan<Done...>;
};
template <class... Done, class First, class... Rest, class... Axes>
struct without<type_list<Plan<Done...>, First, Rest...>, Axes...>
    : without<std::conditional_t<(false || ... || is_on<Axes, First>), type_list<Plan<Done...>, Rest...>,
                                 type_list<Plan<Done..., First>, Rest...>>,
              Axes...> {};

template <class Collective, class... Policies>
    requires(Plan<Policies...>::template names<axis::bound>)
struct codecs_of_auto<Collective, Plan<Policies...>> {
    using exact =
        typename without<type_list<Plan<>, Policies...>, axis::codec, axis::bound, axis::placement>::type;
    using bounded =
        plan_of<typename without<type_list<Plan<>, Policies...>, axis::codec>::type, policies::Codec::SZp>;
    /// Without a codec, by our algorithm for long vectors: on some links faster than what MPI takes.
    using ours = plan_of<exact, typename algo_for_long<auto_rule<Collective>>::type>;
    using type = std::conditional_t<exact::template names<axis::algo>, plan_tuned<exact, bounded>,
                                    plan_tuned<exact, bounded, ours>>;
};
template <class Collective, class... Policies>
    requires(!Plan<Policies...>::template names<axis::bound>)
struct codecs_of_auto<Collective, Plan<Policies...>> {
    using exact = typename without<type_list<Plan<>, Policies...>, axis::codec>::type;
    using type = std::conditional_t<Collective::reduces, plan_choice<exact>,
                                    plan_tuned<exact, plan_of<exact, policies::Codec::Lossless>>>;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
