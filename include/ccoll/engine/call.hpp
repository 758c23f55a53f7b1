// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/call.hpp - floor 3. From types to values: checks a call, then turns plan and collective into a decision. The only
// engine code that is compiled once per plan, and it holds no loop.
#pragma once

#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>

#include <ccoll/codec/none.hpp>
#include <ccoll/engine/auto_algo.hpp>
#include <ccoll/engine/hierarchy.hpp>
#include <ccoll/engine/native.hpp>
#include <ccoll/engine/request.hpp>
#include <ccoll/engine/running_call.hpp>
#include <ccoll/policy/plan.hpp>

namespace ccoll::inline CCOLL_ABI {

enum class call_fault {
    none, plan, buffer, mixed_spaces, space, element, mixed_elements, communicator, lossy_element, codec, schedule, vary, once, nothing_to_reduce, operation, homomorphic, extra, code_later, bound_missing, bound_extra
};

namespace detail {

template <class Plan>
inline constexpr bool names_no_algo = std::is_same_v<typename Plan::algo, policies::Algo::Auto>;
template <class Collective, class Plan>
using algo_of = std::conditional_t<names_no_algo<Plan>, typename auto_rule<Collective>::usual, typename Plan::algo>;

template <class Plan, class Collective, class T, class Space>
inline constexpr bool may_add_frames = Collective::reduces && Plan::op::linear && has_queued_addends<typename Plan::codec, T, Space>;

template <class E>
inline constexpr bool is_bound_argument = std::is_arithmetic_v<std::remove_cvref_t<E>>;
template <class E>
inline constexpr bool is_error_code = std::is_same_v<E, std::error_code&>;

/// What the engine counts: a complex number is two elements where its parts are treated alike.
template <class T, class Collective, class Plan>
struct engine_element_of {
    using type = T;
};
template <complex_element T, class Collective, class Plan>
    requires(!Collective::reduces || Plan::op::linear)
struct engine_element_of<T, Collective, Plan> {
    using type = typename T::value_type;
};
template <class T, class Collective, class Plan>
using engine_element = typename engine_element_of<std::remove_const_t<T>, Collective, Plan>::type;

/// An address that stands for "in place" has no element type.
template <class T>
inline constexpr bool is_marker = std::is_void_v<std::remove_const_t<T>>;

template <class How, class Collective, class Plan, class Send, class Recv, class Comm, class... Extra>
consteval call_fault first_call_fault()
{
    constexpr int bounds = (0 + ... + int{is_bound_argument<Extra>});
    if constexpr (Plan::fault != plan_fault::none) return call_fault::plan;
    else if constexpr (!buffer<Send> || !buffer<Recv>) return call_fault::buffer;
    else if constexpr (!std::is_same_v<buffer_space<Recv>, buffer_space<Send>>) return call_fault::mixed_spaces;
    else if constexpr (!has_memory_space<buffer_space<Recv>, std::remove_const_t<buffer_pointee<Recv>>>) return call_fault::space;
    else if constexpr (!element<buffer_pointee<Recv>>) return call_fault::element;
    else if constexpr (!std::is_same_v<std::remove_const_t<buffer_pointee<Send>>, buffer_pointee<Recv>>) return call_fault::mixed_elements;
    else if constexpr (!communicator<Comm>) return call_fault::communicator;
    else if constexpr (Plan::codec::lossy && !floating_element<engine_element<buffer_pointee<Recv>, Collective, Plan>> &&
                       !has_queued_codec<typename Plan::codec, engine_element<buffer_pointee<Recv>, Collective, Plan>, buffer_space<Recv>>)
        return call_fault::lossy_element;
    else if constexpr (!has_queued_codec<typename Plan::codec, engine_element<buffer_pointee<Recv>, Collective, Plan>, buffer_space<Recv>>) return call_fault::codec;
    else if constexpr (!has_schedule<algo_of<Collective, Plan>, Collective>) return call_fault::schedule;
    else if (Collective::reduces && std::is_same_v<typename Plan::placement, policies::Placement::Once>) return call_fault::once;
    else if (!Collective::reduces && (Plan::template names<axis::op> || std::is_same_v<typename Plan::placement, policies::Placement::DecodeReduceEncode>))
        return call_fault::nothing_to_reduce;
    else if (Collective::reduces && !operation_on<typename Plan::op, engine_element<buffer_pointee<Recv>, Collective, Plan>>) return call_fault::operation;
    else if (std::is_same_v<typename Plan::placement, policies::Placement::Homomorphic> &&
             !may_add_frames<Plan, Collective, engine_element<buffer_pointee<Recv>, Collective, Plan>, buffer_space<Recv>>)
        return call_fault::homomorphic;
    else if (!How::takes_error_code && (false || ... || is_error_code<Extra>)) return call_fault::code_later;
    else if (!(true && ... && (is_bound_argument<Extra> || is_error_code<Extra>))) return call_fault::extra;
    else if (Plan::bound::given_at_run_time && bounds == 0) return call_fault::bound_missing;
    else if (bounds > (Plan::bound::given_at_run_time ? 1 : 0)) return call_fault::bound_extra;
    else return call_fault::none;
}

}  // namespace detail

/// The first broken rule of a call. A facade asks this, and calls refuse() in a branch of its own.
template <class How, class Collective, class Plan, class Send, class Recv, class Comm, class... Extra>
inline constexpr call_fault fault_of = detail::first_call_fault<How, Collective, Plan, Send, Recv, Comm, Extra...>();

/// Prints the sentence of a fault; the compiler's note below it names the function that was called.
template <call_fault Fault, class Plan>
constexpr void refuse()
{
    refuse_plan<Plan::fault>();
    static_assert(Fault != call_fault::buffer,
                  "ccoll: a buffer must be a contiguous range (std::vector, std::span, std::array, ...); copy strided data together first, "
                  "and for another container specialise ccoll::buffer_traits");
    static_assert(Fault != call_fault::mixed_spaces,
                  "ccoll: one buffer is in host memory and the other one is not; copy one of them first");
    static_assert(Fault != call_fault::space, "ccoll: this buffer is in device memory; include <ccoll/cuda.cuh> and compile with nvcc");
    static_assert(Fault != call_fault::element,
                  "ccoll: the result buffer must hold non-const elements that may be copied byte by byte (numbers, or structs of them; no "
                  "pointers); convert the data first");
    static_assert(Fault != call_fault::mixed_elements,
                  "ccoll: send and receive buffers must hold the same element type; convert one of them first");
    static_assert(Fault != call_fault::communicator,
                  "ccoll: the communicator must be an MPI_Comm (include <ccoll/transport/mpi.hpp>), a ccoll::threads_comm "
                  "(include <ccoll/transport/threads.hpp>) or an object that meets ccoll::transport");
    static_assert(Fault != call_fault::lossy_element,
                  "ccoll: a lossy codec takes floating-point elements (float, double, half, bfloat16, and complex numbers where they are moved "
                  "or added); for integers and structs use Codec::Lossless or Codec::None");
    static_assert(Fault != call_fault::codec,
                  "ccoll: this codec has no host implementation for this element type; include its header, or specialise "
                  "ccoll::codec_impl<YourTag, T, ccoll::host_space> so that it meets ccoll::chunk_codec");
    static_assert(Fault != call_fault::schedule,
                  "ccoll: this algorithm has no schedule for this collective; use Algo::Auto, include its header, or specialise "
                  "ccoll::schedule_for<YourTag, ccoll::collective::...>");
    static_assert(Fault != call_fault::vary,
                  "ccoll: this algorithm cannot move parts of different length; use Algo::Auto");
    static_assert(Fault != call_fault::once,
                  "ccoll: Placement::Once forwards bytes and cannot reduce them; use DecodeReduceEncode, Homomorphic or Auto");
    static_assert(Fault != call_fault::nothing_to_reduce,
                  "ccoll: this collective only moves data: it takes no Op:: and no Placement::DecodeReduceEncode; drop it, or use "
                  "Placement::Once or PerHop");
    static_assert(Fault != call_fault::operation,
                  "ccoll: the operation cannot be computed on these elements: it needs 'static T apply(T, T)' for them, and Op::Average elements "
                  "that can be divided (no integers); use another Op::, or write one (docs/reference/policies.md)");
    static_assert(Fault != call_fault::homomorphic,
                  "ccoll: Placement::Homomorphic needs a codec that adds encoded streams (its codec_impl has add_chunks) and a linear "
                  "operation (Op::Sum, Op::Average) in a reduction; use Placement::Auto");
    static_assert(Fault != call_fault::extra,
                  "ccoll: behind the communicator a call takes a bound (a number, with RuntimeBound) and a std::error_code variable, "
                  "nothing else; check the order of the arguments: buffers, root, communicator, bound, error code");
    static_assert(Fault != call_fault::code_later,
                  "ccoll: a call that is only started takes its std::error_code in wait(code), not here");
    static_assert(Fault != call_fault::bound_missing, "ccoll: the plan says RuntimeBound; pass the bound, a number, behind the communicator");
    static_assert(Fault != call_fault::bound_extra,
                  "ccoll: a bound is passed but the plan does not say RuntimeBound; add it, or drop the argument");
}

namespace detail {

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

/// Who talks to whom, as a number.
template <class Tag>
struct mixed_algo {
    static constexpr std::uint32_t with(std::uint32_t seed) { return mixed(seed, Tag::name); }
};
template <class Inner, class Outer>
struct mixed_algo<policies::Algo::Hierarchical<Inner, Outer>> {
    static constexpr std::uint32_t with(std::uint32_t seed) { return mixed(mixed(mixed(seed, "Hierarchical"), Inner::name), Outer::name); }
};

template <class Tag, class Collective>
inline constexpr algorithm_way way_of{Tag::name, schedule_view<schedule_for<Tag, Collective>>, mixed_algo<Tag>::with(mixed(hash_seed, Collective::name))};

/// The plan as values, built once per plan and element type.
template <class Collective, class Plan, class T, class Space = host_space>
inline constexpr decision<T> decision_of = [] {
    using plan_algo = algo_of<Collective, Plan>;
    using plan_codec = typename Plan::codec;
    using plan_op = typename Plan::op;
    using plan_bound = typename Plan::bound;
    using plan_check = typename Plan::check;
    constexpr placement_rules rules = rules_for<Plan, Collective, T, Space>();
    decision<T> d;
    d.way = way_of<plan_algo, Collective>;
    d.codec_name = plan_codec::name;
    d.what.facts = facts_of<Collective>;
    d.what.codec = queued_codecs<plan_codec, T, Space>::frames;
    if constexpr (rules.reduce_encoded) {
        d.what.addends = queued_codecs<plan_codec, T, Space>::addends;
        d.what.exact = queued_codecs<policies::Codec::None, T, Space>::frames;
    }
    d.what.space = memory_space<Space, T>::operations;
    d.what.queue = d.what.space.queue;
    if constexpr (Collective::reduces) d.what.op = reduction_of<plan_op, T>;
    d.what.rules = rules;
    d.what.stamp.arguments.plan = hash_seed;
    for (const char* name : {Collective::name, plan_codec::name, rules.name, plan_op::name, plan_bound::name, plan_check::name})
        d.what.stamp.arguments.plan = mixed(d.what.stamp.arguments.plan, name);
    d.what.stamp.arguments.plan = mixed(d.what.stamp.arguments.plan, std::uint64_t{plan_bound::end_to_end} * 16 + static_cast<std::uint64_t>(plan_bound::kind) * 2 + std::uint64_t{plan_bound::given_at_run_time});
    d.what.stamp.arguments.plan = mixed(d.what.stamp.arguments.plan, std::uint64_t{dtype_of<T>} + 256 * std::uint64_t{sizeof(T)});
    // Only where the bound does not depend on the algorithm: it is promised before the length is known.
    constexpr bool any_way = !plan_codec::lossy || (Collective::reduces ? rules.reduce_encoded : rules.forward_encoded);
    if constexpr (names_no_algo<Plan> && any_way && requires { typename auto_rule<Collective>::other; }) {
        d.other_way = way_of<typename auto_rule<Collective>::other, Collective>;
        d.takes_other_way = &auto_rule<Collective>::takes_other;
    }
    d.bound.lossy = plan_codec::lossy;
    d.bound.kind = plan_bound::kind;
    d.bound.end_to_end = plan_bound::end_to_end;
    d.bound.at_run_time = plan_bound::given_at_run_time;
    d.bound.value = plan_bound::value;
    d.bound.growth = Collective::reduces ? plan_op::growth : error_growth::adds;
    d.bound.units = &worst_case_units<Collective>;
    if constexpr (Plan::timeout::seconds > 0) d.patience = {Plan::timeout::seconds, &steady_seconds};
    d.checks = std::is_same_v<plan_check, policies::Check::Collective> ? check_level::collective
               : std::is_same_v<plan_check, policies::Check::Local>    ? check_level::local
                                                                  : check_level::automatic;
    return d;
}();

/// The optional arguments behind the communicator, in any order.
struct extras {
    double eb = 0;
    std::error_code* code = nullptr;

    template <class... Extra>
    explicit constexpr extras(Extra&... extra)
    {
        (take(extra), ...);
    }

private:
    constexpr void take(std::error_code& e) { code = &e; }
    template <class Number>
    constexpr void take(Number& bound)
    {
        eb = static_cast<double>(bound);
    }
};

template <class Comm, class T>
constexpr bool is_in_place(const T* address)
{
    using handle = std::remove_cvref_t<Comm>;
    if constexpr (requires { transport_for<handle>::in_place(address); }) return transport_for<handle>::in_place(address);
    else return false;
}

/// The clock of a plan.
template <class Plan>
using clock_of = std::conditional_t<std::is_same_v<typename Plan::instrument, policies::Instrument::Breakdown>, phase_clock, no_clock>;

// Three ways to run a call. Each is compiled once per element type, transport and clock.

/// Begins, and waits for the end.
struct blocking {
    using result = report;
    static constexpr bool takes_error_code = true;

    template <class Call, class Order, class Link>
    CCOLL_OPAQUE static report run(const Order& order, Link link, std::error_code* code)
    {
        Call call(order, std::move(link), true);
        complete(call);
        return conclude(call, code);
    }
    /// On a communicator that cannot be used.
    static report refused(const char* call, status why, const char* transport_says, std::error_code* code)
    {
        report facts;
        facts.trouble = {why};
        if (code == nullptr) raise(call, facts.trouble, transport_says);
        *code = make_error_code(why);
        return facts;
    }
};

/// Begins.
struct nonblocking {
    using result = request;
    static constexpr bool takes_error_code = false;

    template <class Call, class Order, class Link>
    CCOLL_OPAQUE static request run(const Order& order, Link link, std::error_code*)
    {
        auto call = std::make_unique<Call>(order, std::move(link), false);
        if (!call->progress()) call->join();
        return request(std::move(call));
    }
    static request refused(const char* call, status why, const char* transport_says, std::error_code*) { raise(call, {why}, transport_says); }
};

/// Prepares, to be started as often as wanted.
struct preparing {
    using result = persistent;
    static constexpr bool takes_error_code = false;

    template <class Call, class Order, class Link>
    class prepared final : public prepared_call {
    public:
        prepared(const Order& order, Link link) : order_(order), link_(std::move(link)) {}
        pending_call& start() override { return call_.emplace(order_, link_, false); }
        pending_call& current() override { return *call_; }

    private:
        Order order_;
        Link link_;
        std::optional<Call> call_;
    };

    template <class Call, class Order, class Link>
    CCOLL_OPAQUE static persistent run(const Order& order, Link link, std::error_code*)
    {
        return persistent(std::make_unique<prepared<Call, Order, Link>>(order, std::move(link)));
    }
    static persistent refused(const char* call, status why, const char* transport_says, std::error_code*) { raise(call, {why}, transport_says); }
};

/// What runs a plan on two levels, or on one.
template <class Tag, class Plan, class T, class Space>
struct levels {
    template <class Link>
    using call = running_call<T, Link, clock_of<Plan>>;
    static constexpr inner_decisions<T> inner{};
};
template <class Inner, class Outer, class Plan, class T, class Space>
struct levels<policies::Algo::Hierarchical<Inner, Outer>, Plan, T, Space> {
    template <class Link>
    using call = hierarchical_call<T, Link, clock_of<Plan>>;
    using inner_plan = ccoll::Plan<Inner, typename Plan::op, policies::Check::Local>;
    using mover_plan = ccoll::Plan<Inner, policies::Check::Local>;
    static constexpr const decision<T>* reduces = [] {
        if constexpr (operation_on<typename Plan::op, T>) return &decision_of<collective::reduce, inner_plan, T, Space>;
        else return nullptr;
    }();
    static constexpr inner_decisions<T> inner{reduces, &decision_of<collective::bcast, mover_plan, T, Space>};
};

/// Every facade ends here. @param root  0 where the collective has none.
template <class How, class Collective, class Plan, element T, class Space, class Comm, class... Extra>
typename How::result perform(const user_buffers<T>& user, int root, const Comm& comm, Extra&... extra)
{
    auto link = as_transport(comm);
    using transport_type = decltype(link);
    const extras more(extra...);
    if (const status refusal = link.refusal(); refusal != status::ok) return How::refused(Collective::name, refusal, link.explain(), more.code);
    using level = levels<typename Plan::algo, Plan, T, Space>;
    const call_order<T, transport_type> order{
        decision_of<Collective, Plan, T, Space>, user, root, more.eb, native_of<Collective, Plan, T, Space, transport_type>(), level::inner};
    return How::template run<typename level::template call<transport_type>>(order, std::move(link), more.code);
}

/// The same memory as the elements that the engine counts.
template <class E, class T>
constexpr auto as_elements(T* at)
{
    using to = std::conditional_t<std::is_const_v<T>, const E, E>;
    if constexpr (std::is_same_v<std::remove_const_t<T>, E>) return at;
    else return reinterpret_cast<to*>(at);
}

/// Ranges. `Send` and `Recv` as the user spelled them, for the rules.
/// @param with  sets what only this form has: void(user_buffers<T>&, elements per element of the user)
template <class How, class Collective, class Plan, class Send, class Recv, class With, class Comm, class... Extra>
typename How::result call_ranges(Send&& send, Recv&& recv, With with, int root, const Comm& comm, Extra&&... extra)
{
    if constexpr (constexpr call_fault fault = fault_of<How, Collective, Plan, Send, Recv, Comm, Extra...>; fault != call_fault::none) {
        refuse<fault, Plan>();
        return {};
    } else {
        using U = buffer_pointee<Recv>;
        using T = engine_element<U, Collective, Plan>;
        constexpr std::size_t times = sizeof(U) / sizeof(T);
        const auto from = as_span(send);
        const auto to = as_span(recv);
        user_buffers<T> u{as_elements<T>(from.data()), from.size() * times, as_elements<T>(to.data()), to.size() * times};
        u.strided = !is_contiguous(send) || !is_contiguous(recv);
        with(u, times);
        return perform<How, Collective, Plan, T, buffer_space<Recv>>(u, root, comm, extra...);
    }
}

/// Pointers with the counts of MPI's own call; either may be MPI_IN_PLACE where MPI allows it.
template <class How, class Collective, class Plan, class A, class B, class With, class Comm, class... Extra>
typename How::result call_pointers(const A* send, B* recv, std::size_t n, With with, int root, const Comm& comm, Extra&&... extra)
{
    using U = std::conditional_t<is_marker<B>, std::remove_const_t<A>, B>;
    using send_type = std::span<const std::conditional_t<is_marker<A>, U, A>>;
    if constexpr (constexpr call_fault fault = fault_of<How, Collective, Plan, send_type, std::span<U>, Comm, Extra...>; fault != call_fault::none) {
        refuse<fault, Plan>();
        return {};
    } else {
        using T = engine_element<U, Collective, Plan>;
        constexpr std::size_t times = sizeof(U) / sizeof(T);
        user_buffers<T> u{nullptr, n * times, nullptr, n * times};
        u.counted = true;
        // An address without a type is MPI_IN_PLACE, or what `rank == root ? MPI_IN_PLACE : pointer` gives elsewhere.
        const bool send_stands_in = is_marker<A> && is_in_place<Comm>(send), recv_stands_in = is_marker<B> && is_in_place<Comm>(recv);
        u.in_place = send_stands_in || recv_stands_in;
        if (!send_stands_in) u.send = as_elements<T>(static_cast<const U*>(send));
        if (!recv_stands_in) u.recv = as_elements<T>(static_cast<U*>(recv));
        if (u.in_place && u.send == nullptr) u.send = u.recv;
        if (u.in_place && u.recv == nullptr) u.recv = const_cast<T*>(u.send);  // MPI_Scatter's root keeps its own block where it is
        with(u, times);
        return perform<How, Collective, Plan, T, host_space>(u, root, comm, extra...);
    }
}

}  // namespace detail

/// The bound that a collective with this plan promises on p ranks, as report::worst_case_error: `worst_case<collective::allreduce,
/// Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>>(4)` is a constant expression. Bounds known before the call only.
/// Algo::Hierarchical: p counts nodes, and for Op::Average it is an upper bound, for the sum is divided by ranks.
template <class Collective, class... Policies>
constexpr double worst_case(int p, int root = 0)
{
    using plan = plan_of<Policies...>;
    refuse_plan<plan::fault>();
    static_assert(plan::bound::kind != bound_kind::relative && !plan::bound::given_at_run_time,
                  "ccoll::worst_case: this bound is known during the call only; read report::worst_case_error there");
    const auto& d = detail::decision_of<Collective, plan, float>;
    if (!d.bound.lossy || p == 1) return 0;
    if (d.bound.end_to_end) return d.bound.value;
    const double units = d.bound.units(d.way.path, d.what.rules, d.bound.growth, p, root);
    return d.bound.value * units / (Collective::reduces && plan::op::divide_by_ranks ? p : 1);
}

}  // namespace ccoll
