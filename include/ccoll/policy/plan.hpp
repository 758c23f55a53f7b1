// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/plan.hpp - floor 1. Policies in any order become one decision per axis; a wrong set is refused with
// one sentence.
#pragma once

#include <concepts>
#include <type_traits>

#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/fault.hpp>
#include <ccoll/policy/missing.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/policy/tags.hpp>
#include <ccoll/policy/timeout.hpp>

namespace ccoll::inline CCOLL_ABI {

template <class... Policies>
struct Plan;

/// The rules of a plan, most basic first. Only the first broken rule is reported.
enum class plan_fault {
    none,
    function,
    stranger,
    duplicate,
    nameless,
    open_codec,
    wire_id,
    rate_without_codec,
    rate_of_result,
    rate_in_codec,
    lossy_without_bound,
    bound_without_lossy,
    bound_not_positive,
    operation_without_bound,
    timeout_not_positive
};

namespace detail {

template <class P> struct axis_of {
    using type = void;
};
template <class P>
    requires requires { typename P::policy_axis; }
struct axis_of<P> {
    using type = typename P::policy_axis;
};

template <class Axis, class P>
inline constexpr bool is_on = std::is_same_v<typename axis_of<P>::type, Axis>;

template <class Axis, class... Policies>
inline constexpr int count_on = (0 + ... + int{is_on<Axis, Policies>});

template <class Axis, class Default, class... Policies> struct pick {
    using type = Default;
};
template <class Axis, class Default, class First, class... Rest>
struct pick<Axis, Default, First, Rest...>
    : std::conditional_t<is_on<Axis, First>, std::type_identity<First>, pick<Axis, Default, Rest...>> {};

template <class Policy>
concept has_name = requires {
    { Policy::name } -> std::convertible_to<const char*>;
};
template <class Codec>
inline constexpr bool leaves_codec_open = std::is_same_v<Codec, policies::Codec::Auto>;
/// Does this codec have another one that takes its place if the plan names a rate instead of a bound?
template <class Codec>
inline constexpr bool has_rate = requires { typename Codec::with_rate; };

template <class Codec, class Bound> struct codec_for {
    using type = Codec;
};
template <class Codec, class Bound>
    requires(has_rate<Codec> && Bound::kind == bound_kind::rate)
struct codec_for<Codec, Bound> {
    using type = typename Codec::with_rate;
};

template <class... Policies>
consteval plan_fault first_plan_fault()
{
    if ((false || ... ||
         (std::is_void_v<typename axis_of<Policies>::type> && std::is_invocable_v<Policies, int, int>)))
        return plan_fault::function;
    if ((false || ... || std::is_void_v<typename axis_of<Policies>::type>)) return plan_fault::stranger;
    if ((false || ... || (count_on<typename axis_of<Policies>::type, Policies...> > 1)))
        return plan_fault::duplicate;
    using codec = typename pick<axis::codec, policies::Codec::None, Policies...>::type;
    using bound = typename pick<axis::bound, no_bound, Policies...>::type;
    using op = typename pick<axis::op, policies::Op::Sum, Policies...>::type;
    if (!has_name<codec> || !has_name<op> ||
        !has_name<typename pick<axis::algo, policies::Algo::Auto, Policies...>::type>)
        return plan_fault::nameless;
    if (leaves_codec_open<codec>) return plan_fault::open_codec;
    if (!has_wire_id_of_its_own<codec>) return plan_fault::wire_id;
    if (bound::kind == bound_kind::rate && !has_rate<codec>) return plan_fault::rate_without_codec;
    if (bound::kind == bound_kind::rate && bound::end_to_end) return plan_fault::rate_of_result;
    if (requires { codec::at_rate; }) return plan_fault::rate_in_codec;
    if (codec::lossy && bound::kind == bound_kind::none) return plan_fault::lossy_without_bound;
    if (!codec::lossy && bound::kind != bound_kind::none) return plan_fault::bound_without_lossy;
    if (codec::lossy && !bound::given_at_run_time && !is_bound(bound::value))
        return plan_fault::bound_not_positive;
    if (codec::lossy && op::growth == error_growth::unbounded) return plan_fault::operation_without_bound;
    if (count_on<axis::timeout, Policies...> == 1 &&
        !is_bound(pick<axis::timeout, no_timeout, Policies...>::type::seconds))
        return plan_fault::timeout_not_positive;
    return plan_fault::none;
}

template <class Done, class... Rest> struct flatten;
template <class... Done> struct flatten<Plan<Done...>> {
    using type = Plan<Done...>;
};
template <class... Done, class... Inner, class... Rest>
struct flatten<Plan<Done...>, Plan<Inner...>, Rest...> : flatten<Plan<Done...>, Inner..., Rest...> {};
template <class... Done, class First, class... Rest>
struct flatten<Plan<Done...>, First, Rest...> : flatten<Plan<Done..., First>, Rest...> {};

}  // namespace detail

/// One decision per axis, from policies in any order. An axis that is not named has its default.
///
/// A plan does not assert. Every member is valid whatever the policies are. Whoever uses a plan checks
/// `fault` first and refuses in a branch of its own. (clang drops a class in which an assertion failed, and
/// then reports every later use of it, so one sentence would become a dozen.)
template <class... Policies>
struct Plan {
    static constexpr plan_fault fault = detail::first_plan_fault<Policies...>();

    template <class Axis, class Default>
    using choice = typename detail::pick<Axis, Default, Policies...>::type;

    /// Is there a policy of this axis in the list?
    template <class Axis>
    static constexpr bool names = detail::count_on<Axis, Policies...> > 0;

    using algo = choice<axis::algo, policies::Algo::Auto>;
    using placement = choice<axis::placement, policies::Placement::Auto>;
    using op = choice<axis::op, policies::Op::Sum>;
    using bound = choice<axis::bound, no_bound>;
    using codec = typename detail::codec_for<choice<axis::codec, policies::Codec::None>, bound>::type;
    using check = choice<axis::check, policies::Check::Auto>;
    using instrument = choice<axis::instrument, policies::Instrument::Off>;
    using timeout = choice<axis::timeout, no_timeout>;
    using exec = choice<axis::exec, policies::Exec::Serial>;
    using messages = choice<axis::transport, policies::Transport::Staged>;
    using integrity = choice<axis::fault, policies::Fault::None>;
    using missing = choice<axis::missing, no_missing>;

    /// How long a call waits without progress, in seconds; 0: for ever. A guarded link must not wait for ever
    /// for a rank that is gone.
    static constexpr double patience_s = timeout::seconds > 0  ? timeout::seconds
                                         : integrity::protects ? 60.0
                                                               : 0.0;
};

/// Prints the sentence of a fault, or nothing if there is none.
/// @tparam Call  types of the call: a compiler prints the sentence once per list of arguments, and each wrong
///               call should get it
template <plan_fault Fault, class... Call>
constexpr void refuse_plan()
{
    static_assert(
        Fault != plan_fault::function,
        "ccoll::Plan: a function object such as std::plus<> is not a policy; write Op::Sum, Op::Max, "
        "Op::Prod, ..., or an operation of yours, derived from ccoll::op_tag (docs/reference/policies.md)");
    static_assert(Fault != plan_fault::stranger,
                  "ccoll::Plan: one argument is not a policy; allowed are Algo::, Codec::, Placement::, "
                  "Op::, Check::, Instrument::, Exec::, Transport::, Fault:: tags, ErrorBound<E>, "
                  "RelativeBound<E>, EndToEnd<Bound>, RuntimeBound, Timeout<seconds>, Missing<value>, "
                  "another Plan, or your own tag derived from ccoll::policy<axis>");
    static_assert(
        Fault != plan_fault::duplicate,
        "ccoll::Plan: two policies answer the same question (two codecs, two bounds, ...); keep one of them");
    static_assert(
        Fault != plan_fault::nameless,
        "ccoll::Plan: an algorithm, codec or operation has no name; add `static constexpr const char* name = "
        "\"...\";` to its tag, because reports and errors show it and ranks compare it");
    static_assert(Fault != plan_fault::open_codec,
                  "ccoll::Plan: Codec::Auto is a policy of collectives alone, because it compares whole "
                  "calls of all ranks; include <ccoll/auto.hpp> for them; in a menu, for a single message "
                  "and for ccoll::encode name a codec (menu::tuned() measures plans of your own)");
    static_assert(Fault != plan_fault::wire_id,
                  "ccoll::Plan: the wire ids 0 to 127 belong to the codecs of the library, so frames of this "
                  "codec could be taken for theirs; derive its tag from ccoll::codec_tag<id, lossy> with an "
                  "id of 128 to 255");
    static_assert(Fault != plan_fault::rate_without_codec,
                  "ccoll::Plan: FixedRate needs a codec with a fixed rate, and this one has none; give an "
                  "ErrorBound<E> instead");
    static_assert(Fault != plan_fault::rate_of_result,
                  "ccoll::Plan: FixedRate promises nothing of errors, so there is nothing to divide; drop "
                  "EndToEnd, or give an ErrorBound<E>");
    static_assert(Fault != plan_fault::rate_in_codec,
                  "ccoll::Plan: Codec::ZfpAtRate is for ccoll::encode and ccoll::decode; in a plan, name "
                  "Codec::Zfp and FixedRate<bits>");
    static_assert(Fault != plan_fault::lossy_without_bound,
                  "ccoll::Plan: this codec is lossy and no bound is given; add ErrorBound<1e-3> (absolute, "
                  "unit of the data), RelativeBound<1e-3> or RuntimeBound, or use Codec::None");
    static_assert(Fault != plan_fault::bound_without_lossy,
                  "ccoll::Plan: a bound is given but the codec is exact; add a lossy codec such as "
                  "Codec::SZp, or drop the bound");
    static_assert(Fault != plan_fault::bound_not_positive,
                  "ccoll::Plan: the error bound must be positive and below 1e300; for exact results drop it "
                  "and use Codec::None");
    static_assert(Fault != plan_fault::operation_without_bound,
                  "ccoll::Plan: no absolute error bound survives this operation (Op::Prod, or a user's "
                  "operation that says nothing of its error growth); use Codec::None, or give the operation "
                  "`static constexpr auto growth = ccoll::error_growth::...`");
    static_assert(
        Fault != plan_fault::timeout_not_positive,
        "ccoll::Plan: Timeout<seconds> must be positive and below 1e300; to wait for ever, drop it");
}

/// The plan of a call: `plan_of<P...>` opens plans inside the list, so `allreduce<Fast, Check::Collective>`
/// extends Fast.
template <class... Policies>
using plan_of = typename detail::flatten<Plan<>, Policies...>::type;

}  // namespace ccoll
