// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of all calls that compile for one element type and communicator. No call is omitted by hand:
// lists of tags are multiplied, and the library's own fault_of decides which products are calls.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "elements.hpp"
#include "spec.hpp"

#include <ccoll/ccoll.hpp>

namespace matrix {

/// How this thread runs its calls. With it a table needs one function per plan, not three.
struct manner {
    way how = way::blocking;
    int turns = 0;                  ///< of test() before wait()
    std::function<void()> between;  ///< overlapped: another call, while this one is under way
    std::function<void()> again;    ///< persistent: between the first start and the second
};
inline thread_local manner this_manner;

/// One of the library's three ways, chosen while the program runs.
struct chosen_way {
    using result = ccoll::report;
    static constexpr bool takes_error_code = true, outlives_arguments = false;

    template <class Begun>
    [[gnu::noinline]] static ccoll::report end(Begun& call)
    {
        for (int i = 0; i < this_manner.turns; ++i) (void)call.test();
        if (this_manner.how == way::overlapped) this_manner.between();
        return call.wait();
    }
    template <class Call, class Order, class Link>
    [[gnu::noinline]] static ccoll::report run(const Order& order, Link link, std::error_code* code)
    {
        if (this_manner.how == way::blocking)
            return ccoll::detail::blocking::run<Call>(order, std::move(link), code);
        if (this_manner.how == way::persistent) {
            ccoll::persistent call = ccoll::detail::preparing::run<Call>(order, std::move(link), nullptr);
            call.start();
            call.wait();
            this_manner.again();
            call.start();
            return end(call);
        }
        ccoll::request call = ccoll::detail::nonblocking::run<Call>(order, std::move(link), nullptr);
        return end(call);
    }
    static ccoll::report refused(const char* call, ccoll::status why, const char* transport_says,
                                 std::error_code* code)
    {
        return ccoll::detail::blocking::refused(call, why, transport_says, code);
    }
};

/// The arguments of a call other than its plan.
template <class T>
struct order {
    std::span<const T> send;
    std::span<T> recv;
    bool in_place = false, varied = false;
    std::span<const int> send_counts, send_displacements, recv_counts,
        recv_displacements;  ///< displacements: empty if contiguous
    int root = 0;
    double eb = 0;

    /// For the engine's entry.
    template <class Buffers>
    void operator()(Buffers& user, std::size_t times) const
    {
        const auto list = [times](std::span<const int> values) {
            return values.data() == nullptr
                       ? ccoll::detail::count_list{}
                       : ccoll::detail::count_list(values.data(), values.size()).in_elements(times);
        };
        user.in_place = in_place;
        user.varied = varied;
        user.send_lists = ccoll::detail::part_lists{list(send_counts), list(send_displacements)};
        user.recv_lists = ccoll::detail::part_lists{list(recv_counts), list(recv_displacements)};
    }
};

template <class T, class Comm>
struct row {
    plan_name name;
    ccoll::report (*call)(const order<T>&, const Comm&) = nullptr;
    ccoll::detail::collective_facts facts;
    operation op = operation::none;
    bool lossy = false, homomorphic = false;
    bool handed_over = false;  ///< may be, to MPI's own collective
    bool varies = false;       ///< has a v variant
    bool hierarchical = false;
    bool end_to_end = false, relative = false, bound_is_an_argument = false;
    double bound = 0;
};

template <class... T>
struct list {};
template <class A, class... T>
consteval bool is_among(list<T...>)
{
    return (std::is_same_v<A, T> || ...);
}

using collectives =
    list<ccoll::collective::allreduce, ccoll::collective::reduce, ccoll::collective::reduce_scatter,
         ccoll::collective::allgather, ccoll::collective::bcast, ccoll::collective::scatter,
         ccoll::collective::gather, ccoll::collective::alltoall>;

namespace tags {
using namespace ccoll::policies;
using algorithms = list<Algo::Auto, Algo::Ring, Algo::RecursiveDoubling, Algo::Rabenseifner, Algo::Binomial,
                        Algo::ScatterAllgather, Algo::Chain, Algo::Linear, Algo::Bruck, Algo::Pairwise,
                        Algo::Spread, Algo::Hierarchical<Algo::Binomial, Algo::Rabenseifner>,
                        Algo::Hierarchical<Algo::Linear, Algo::RecursiveDoubling>,
                        Algo::Hierarchical<Algo::Chain, Algo::Chain>>;
/// For element types other than the first: the engine is the same, and knows no algorithm by name.
using few_algorithms =
    list<Algo::Auto, Algo::Ring, Algo::Binomial, Algo::Hierarchical<Algo::Binomial, Algo::Rabenseifner>>;
using placements = list<Placement::Auto, Placement::PerHop, Placement::Once, Placement::DecodeReduceEncode,
                        Placement::Homomorphic>;
/// A bound for those that need one.
using codecs =
    list<ccoll::Plan<Codec::None>, ccoll::Plan<Codec::Lossless>, ccoll::Plan<Codec::SZx, RuntimeBound>,
         ccoll::Plan<Codec::PipeSZx, RuntimeBound>, ccoll::Plan<Codec::SZp, RuntimeBound>>;
using operations = list<Op::Average, Op::Min, Op::Max, Op::Prod, Op::BitAnd, Op::BitOr, Op::BitXor, Op::And,
                        Op::Or, Op::Xor, Op::MinLoc, Op::MaxLoc, largest_magnitude, plus, equal_bits, box>;
// The axes that do not affect the algorithm: each value comes with a few plans.
using few_codecs = list<ccoll::Plan<Codec::None>, ccoll::Plan<Codec::SZx, RuntimeBound>,
                        ccoll::Plan<Codec::SZp, RuntimeBound>>;
using codecs_of_each_type =
    list<ccoll::Plan<Codec::None>, ccoll::Plan<Codec::Lossless>, ccoll::Plan<Codec::SZp, RuntimeBound>>;
using few_placements = list<Placement::Auto, Placement::PerHop>;
using checks = list<Check::Local, Check::Collective>;
using bounds =
    list<EndToEnd<RuntimeBound>, RelativeBound<1e-3>, EndToEnd<RelativeBound<1e-2>>, ErrorBound<1e-4>>;
using bounded_codecs = list<Codec::SZx, Codec::SZp>;
}  // namespace tags

template <class Plan>
constexpr bool takes_bound = Plan::bound::given_at_run_time;

template <class Collective, class Plan, class T, class Comm>
consteval ccoll::detail::call_fault fault_in_call()
{
    if constexpr (takes_bound<Plan>)
        return ccoll::detail::fault_of<chosen_way, Collective, ccoll::plan_choice<Plan>,
                                       const std::span<const T>&, std::span<T>&, Comm, const double&>;
    else
        return ccoll::detail::fault_of<chosen_way, Collective, ccoll::plan_choice<Plan>,
                                       const std::span<const T>&, std::span<T>&, Comm>;
}

/// The engine's one entry, without the spelling of arguments.
template <class Collective, class Plan, class T, class Comm>
ccoll::report call_engine(const order<T>& o, const Comm& comm)
{
    std::span<T> recv = o.recv;
    if constexpr (takes_bound<Plan>)
        return ccoll::detail::call_ranges<chosen_way, Collective, ccoll::detail::call_fault::none,
                                          const std::span<const T>&, std::span<T>&>(
            ccoll::plan_choice<Plan>{}, o.send, recv, o, o.root, comm, o.eb);
    else
        return ccoll::detail::call_ranges<chosen_way, Collective, ccoll::detail::call_fault::none,
                                          const std::span<const T>&, std::span<T>&>(
            ccoll::plan_choice<Plan>{}, o.send, recv, o, o.root, comm);
}

/// Runs what a user writes in the manner of this thread.
template <class Blocking, class Nonblocking, class Preparing>
ccoll::report in_this_manner(Blocking blocking, Nonblocking nonblocking, Preparing preparing)
{
    if (this_manner.how == way::blocking) return blocking();
    if (this_manner.how == way::persistent) {
        ccoll::persistent call = preparing();
        call.start();
        call.wait();
        this_manner.again();
        call.start();
        return chosen_way::end(call);
    }
    ccoll::request call = nonblocking();
    return chosen_way::end(call);
}

/// The functions that a user calls, in all their forms.
template <class Collective, class Plan, class T, class Comm>
ccoll::report call_facade(const order<T>& o, const Comm& comm)
{
    using namespace ccoll;
    const auto call = [&](auto... eb) -> report {
#define CCOLL_TEST_CALL(name, ...)                                                                      \
    in_this_manner([&] { return name<Plan>(__VA_ARGS__); }, [&] { return i##name<Plan>(__VA_ARGS__); }, \
                   [&] { return name##_init<Plan>(__VA_ARGS__); })
        const std::span<const T> send = o.send;
        const std::span<T> recv = o.recv;
        const int root = o.root;
        const auto with_layout = [&](std::span<const int> counts, std::span<const int> displacements,
                                     auto then) {
            return displacements.data() == nullptr ? then(counts) : then(parts(counts, displacements));
        };
        if constexpr (std::is_same_v<Collective, collective::allreduce>) {
            return o.in_place ? CCOLL_TEST_CALL(allreduce, recv, comm, eb...)
                              : CCOLL_TEST_CALL(allreduce, send, recv, comm, eb...);
        } else if constexpr (std::is_same_v<Collective, collective::reduce>) {
            return CCOLL_TEST_CALL(reduce, send, recv, root, comm, eb...);
        } else if constexpr (std::is_same_v<Collective, collective::bcast>) {
            return CCOLL_TEST_CALL(bcast, recv, root, comm, eb...);
        } else if constexpr (std::is_same_v<Collective, collective::reduce_scatter>) {
            if (!o.varied)
                return o.in_place ? CCOLL_TEST_CALL(reduce_scatter, recv, comm, eb...)
                                  : CCOLL_TEST_CALL(reduce_scatter, send, recv, comm, eb...);
            return with_layout(o.send_counts, o.send_displacements, [&](const auto& counts) {
                return o.in_place ? CCOLL_TEST_CALL(reduce_scatterv, recv, counts, comm, eb...)
                                  : CCOLL_TEST_CALL(reduce_scatterv, send, recv, counts, comm, eb...);
            });
        } else if constexpr (std::is_same_v<Collective, collective::allgather>) {
            if (!o.varied)
                return o.in_place ? CCOLL_TEST_CALL(allgather, recv, comm, eb...)
                                  : CCOLL_TEST_CALL(allgather, send, recv, comm, eb...);
            return with_layout(o.recv_counts, o.recv_displacements, [&](const auto& counts) {
                return o.in_place ? CCOLL_TEST_CALL(allgatherv, recv, counts, comm, eb...)
                                  : CCOLL_TEST_CALL(allgatherv, send, recv, counts, comm, eb...);
            });
        } else if constexpr (std::is_same_v<Collective, collective::scatter>) {
            if (!o.varied) return CCOLL_TEST_CALL(scatter, send, recv, root, comm, eb...);
            return with_layout(o.send_counts, o.send_displacements, [&](const auto& counts) {
                return CCOLL_TEST_CALL(scatterv, send, counts, recv, root, comm, eb...);
            });
        } else if constexpr (std::is_same_v<Collective, collective::gather>) {
            if (!o.varied) return CCOLL_TEST_CALL(gather, send, recv, root, comm, eb...);
            return with_layout(o.recv_counts, o.recv_displacements, [&](const auto& counts) {
                return CCOLL_TEST_CALL(gatherv, send, recv, counts, root, comm, eb...);
            });
        } else {
            if (!o.varied)
                return o.in_place ? CCOLL_TEST_CALL(alltoall, recv, comm, eb...)
                                  : CCOLL_TEST_CALL(alltoall, send, recv, comm, eb...);
            if (o.in_place)
                return with_layout(o.recv_counts, o.recv_displacements, [&](const auto& counts) {
                    return CCOLL_TEST_CALL(alltoallv, recv, counts, comm, eb...);
                });
            return with_layout(o.send_counts, o.send_displacements, [&](const auto& send_parts) {
                return with_layout(o.recv_counts, o.recv_displacements, [&](const auto& recv_parts) {
                    return CCOLL_TEST_CALL(alltoallv, send, send_parts, recv, recv_parts, comm, eb...);
                });
            });
        }
#undef CCOLL_TEST_CALL
    };
    if constexpr (takes_bound<Plan>) return call(o.eb);
    else return call();
}

template <class T, class Comm>
using table = std::vector<row<T, Comm>>;

template <class Algo>
struct algo_text {
    static constexpr const char *inner = nullptr, *outer = nullptr;
};
template <class Inner, class Outer>
struct algo_text<ccoll::policies::Algo::Hierarchical<Inner, Outer>> {
    static constexpr const char *inner = Inner::name, *outer = Outer::name;
};

/// A row as constants, without a constructor to run: there are thousands.
struct row_facts {
    const ccoll::detail::collective_facts* facts;
    const char *algo, *inner, *outer, *codec, *placement, *op, *bound, *check;
    operation what;
    bool lossy, homomorphic, handed_over, end_to_end, relative, bound_is_an_argument;
    double bound_value;
};

template <class Collective, class Plan, class T>
inline constexpr row_facts facts_of_row = [] {
    using namespace ccoll::policies;
    using placement = typename Plan::placement;
    using element = ccoll::detail::engine_element<T, Collective, Plan>;
    row_facts r{};
    r.facts = &ccoll::detail::facts_of<Collective>;
    r.algo = Plan::algo::name;
    r.inner = algo_text<typename Plan::algo>::inner;
    r.outer = algo_text<typename Plan::algo>::outer;
    r.codec = Plan::codec::name;
    r.placement = placement::name;
    r.op = "-";
    if constexpr (Collective::reduces) {
        r.op = Plan::op::name;
        r.what = operation_of<typename Plan::op>;
    }
    r.bound = Plan::bound::name;
    r.check = Plan::check::name;
    r.lossy = Plan::codec::lossy;
    r.homomorphic =
        ccoll::detail::may_add_frames<Plan, Collective, element, ccoll::host_space> &&
        (std::is_same_v<placement, Placement::Auto> || std::is_same_v<placement, Placement::Homomorphic>);
    r.handed_over = std::is_same_v<typename Plan::algo, Algo::Auto> &&
                    std::is_same_v<typename Plan::codec, Codec::None> &&
                    std::is_same_v<placement, Placement::Auto>;
    r.end_to_end = Plan::bound::end_to_end;
    r.relative = Plan::bound::kind == ccoll::bound_kind::relative;
    r.bound_is_an_argument = Plan::bound::given_at_run_time;
    r.bound_value = Plan::bound::value;
    return r;
}();

template <class T, class Comm>
[[gnu::noinline]] void add_row(table<T, Comm>& to, const row_facts& f,
                               ccoll::report (*call)(const order<T>&, const Comm&), const char* api)
{
    row<T, Comm> r;
    std::string bound = f.bound;
    if (f.end_to_end) bound += f.relative ? ".RelativeBound" : ".RuntimeBound";
    r.hierarchical = f.inner != nullptr;
    const std::string algo = r.hierarchical ? std::string(f.algo) + "." + f.inner + "." + f.outer : f.algo;
    r.name = {f.facts->name, algo, f.codec, f.placement, f.op, bound, f.check, api};
    r.call = call;
    r.facts = *f.facts;
    r.op = f.what;
    r.lossy = f.lossy;
    r.homomorphic = f.homomorphic;
    r.handed_over = f.handed_over;
    r.varies = !f.facts->one_vector;
    r.end_to_end = f.end_to_end;
    r.relative = f.relative;
    r.bound_is_an_argument = f.bound_is_an_argument;
    r.bound = f.bound_value;
    to.push_back(std::move(r));
}

template <class Collective, class Plan, class T, class Comm>
void add_if_call(table<T, Comm>& to)
{
    if constexpr (fault_in_call<Collective, Plan, T, Comm>() == ccoll::detail::call_fault::none)
        add_row<T, Comm>(to, facts_of_row<Collective, Plan, T>, &call_engine<Collective, Plan, T, Comm>,
                         "engine");
}

template <class Collective, class T, class Comm, class Algo, bool Full>
void add_algorithm(table<T, Comm>& to)
{
    if constexpr (fault_in_call<Collective, ccoll::plan_of<Algo>, T, Comm>() !=
                  ccoll::detail::call_fault::schedule) {
        const auto each = [&]<class... Tag>(list<Tag...>, auto with) {
            (with.template operator()<Tag>(), ...);
        };
        // Algorithm x placement x codec, Sum where there is an operation. In full, for one element type, with
        // every placement and codec: the engine is the same for all types, and a compiler needs 15 to 40 ms
        // for each row.
        using placements = std::conditional_t<Full, tags::placements, tags::few_placements>;
        using codecs = std::conditional_t<Full, tags::codecs, tags::codecs_of_each_type>;
        each(placements{}, [&]<class Placement>() {
            each(codecs{},
                 [&]<class Codec>() { add_if_call<Collective, ccoll::plan_of<Algo, Placement, Codec>>(to); });
        });
        // The other axes do not affect the algorithm. In full, each value comes with a few algorithms, codecs
        // and placements; otherwise with one algorithm.
        constexpr bool other_axes = std::is_same_v<Algo, ccoll::policies::Algo::Auto> ||
                                    (Full && is_among<Algo>(tags::few_algorithms{}));
        if constexpr (Collective::reduces && other_axes)
            each(tags::operations{}, [&]<class Op>() {
                if constexpr (ccoll::operation_on<Op, T>)
                    each(tags::few_placements{}, [&]<class Placement>() {
                        each(tags::few_codecs{}, [&]<class Codec>() {
                            add_if_call<Collective, ccoll::plan_of<Algo, Placement, Codec, Op>>(to);
                        });
                    });
            });
        if constexpr (other_axes) {
            each(tags::checks{}, [&]<class Check>() {
                each(tags::few_codecs{},
                     [&]<class Codec>() { add_if_call<Collective, ccoll::plan_of<Algo, Codec, Check>>(to); });
            });
            each(tags::bounds{}, [&]<class Bound>() {
                each(tags::bounded_codecs{},
                     [&]<class Codec>() { add_if_call<Collective, ccoll::plan_of<Algo, Codec, Bound>>(to); });
            });
        }
    }
}

template <class Collective, class T, class Comm, bool Full>
void add_collective(table<T, Comm>& to)
{
    [&]<class... Algo>(list<Algo...>) {
        (add_algorithm<Collective, T, Comm, Algo, Full>(to), ...);
    }(std::conditional_t<Full, tags::algorithms, tags::few_algorithms>{});
}

template <class Plan, class T, class Comm>
void add_facades(table<T, Comm>& to)
{
    [&]<class... Collective>(list<Collective...>) {
        const auto one = [&]<class C>() {
            if constexpr (fault_in_call<C, Plan, T, Comm>() == ccoll::detail::call_fault::none)
                add_row<T, Comm>(to, facts_of_row<C, Plan, T>, &call_facade<C, Plan, T, Comm>, "facade");
        };
        (one.template operator()<Collective>(), ...);
    }(collectives{});
}

/// All rows.
/// @tparam Full  every algorithm, placement and codec
/// @tparam Facades  plans for which the functions that a user calls are compiled as well
template <class T, class Comm, bool Full, class... Facades>
table<T, Comm> all_rows()
{
    table<T, Comm> all;
    [&]<class... Collective>(list<Collective...>) {
        (add_collective<Collective, T, Comm, Full>(all), ...);
    }(collectives{});
    (add_facades<Facades>(all), ...);
    return all;
}

}  // namespace matrix
