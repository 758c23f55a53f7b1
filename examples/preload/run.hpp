// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The menu of plans, and the calls of ccoll. Included by one file per type of element, so that compilers can
// work side by side.
#pragma once

#include <system_error>

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/auto.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/entry/compiled.hpp>
#include <ccoll/policy/menu.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/transport/mpi.hpp>

#include "order.hpp"

namespace preload {

using namespace ccoll::policies;

// The order is that of plan.hpp: codec_names, and for each lossy codec the kinds of bounds.
template <class Algo, class Codec>
using lossy =
    ccoll::menu<ccoll::Plan<Algo, Codec, RuntimeBound>, ccoll::Plan<Algo, Codec, RuntimeRelativeBound>,
                ccoll::Plan<Algo, Codec, EndToEnd<RuntimeBound>>,
                ccoll::Plan<Algo, Codec, EndToEnd<RuntimeRelativeBound>>>;

template <class... Menus>
struct join;
template <class... Plans>
struct join<ccoll::menu<Plans...>> {
    using type = ccoll::menu<Plans...>;
};
template <class... A, class... B, class... Rest>
struct join<ccoll::menu<A...>, ccoll::menu<B...>, Rest...> : join<ccoll::menu<A..., B...>, Rest...> {};

template <class Algo>
using with_algorithm =
    typename join<ccoll::menu<ccoll::Plan<Algo, Codec::None>, ccoll::Plan<Algo, Codec::Lossless>>,
                  lossy<Algo, Codec::SZp>, lossy<Algo, Codec::SZe>, lossy<Algo, Codec::SZx>>::type;
template <class... Algos>
inline constexpr typename join<with_algorithm<Algo::Auto>, with_algorithm<Algos>...>::type menu_of{};

static_assert(with_algorithm<Algo::Auto>::size() == plans_per_algorithm);

inline constexpr auto& for_allreduce = menu_of<Algo::Ring, Algo::RecursiveDoubling, Algo::Rabenseifner>;
inline constexpr auto& for_reduce = menu_of<Algo::Binomial, Algo::Rabenseifner, Algo::Chain>;
inline constexpr auto& for_reduce_scatter = menu_of<Algo::Ring, Algo::Rabenseifner>;
inline constexpr auto& for_bcast = menu_of<Algo::Binomial, Algo::Chain, Algo::ScatterAllgather>;
inline constexpr auto& for_allgather = menu_of<Algo::Ring, Algo::RecursiveDoubling, Algo::Bruck>;
inline constexpr auto& for_alltoall = menu_of<Algo::Pairwise, Algo::Spread, Algo::Bruck>;
inline constexpr auto& for_gather = menu_of<Algo::Binomial, Algo::Linear>;

template <class Call>
auto with_operation(operation op, Call call)
{
    if (op == operation::min) return call(Op::Min{});
    if (op == operation::max) return call(Op::Max{});
    return call(Op::Sum{});
}

enum class form { blocking, nonblocking, persistent };

// A function of ccoll, in the form that `Form` says.
#define PRELOAD_CALL(function, ...)                                                              \
    [&] {                                                                                        \
        if constexpr (Form == form::nonblocking) return ccoll::i##function(__VA_ARGS__);         \
        else if constexpr (Form == form::persistent) return ccoll::function##_init(__VA_ARGS__); \
        else return ccoll::function(__VA_ARGS__);                                                \
    }()
#define PRELOAD_REDUCTION(function, ...)                                                             \
    with_operation(o.op, [&]<class Op>(Op) {                                                         \
        if constexpr (Form == form::nonblocking) return ccoll::i##function<Op>(__VA_ARGS__);         \
        else if constexpr (Form == form::persistent) return ccoll::function##_init<Op>(__VA_ARGS__); \
        else return ccoll::function<Op>(__VA_ARGS__);                                                \
    })

template <class T, form Form>
auto call(const order& o)
{
    T* const recv = static_cast<T*>(o.recv);
    const T* const send = static_cast<const T*>(o.send);
    const MPI_Comm c = o.comm;
    const double eb = o.bound;
    const std::size_t i = o.choice;
    switch (o.which) {
    case what::allreduce: return PRELOAD_REDUCTION(allreduce, for_allreduce.at(i), o.send, recv, o.n, c, eb);
    case what::reduce: return PRELOAD_REDUCTION(reduce, for_reduce.at(i), o.send, recv, o.n, o.root, c, eb);
    case what::reduce_scatter_block:
        return PRELOAD_REDUCTION(reduce_scatter, for_reduce_scatter.at(i), o.send, recv, o.n, c, eb);
    case what::reduce_scatter:
        return PRELOAD_REDUCTION(reduce_scatterv, for_reduce_scatter.at(i), o.send, recv, o.recv_counts, c,
                                 eb);
    case what::bcast: return PRELOAD_CALL(bcast, for_bcast.at(i), recv, o.n, o.root, c, eb);
    case what::allgather: return PRELOAD_CALL(allgather, for_allgather.at(i), o.send, recv, o.n, c, eb);
    case what::allgatherv:
        return PRELOAD_CALL(allgatherv, for_allgather.at(i), o.send, o.n, recv, o.recv_counts, o.recv_at, c,
                            eb);
    case what::alltoall: return PRELOAD_CALL(alltoall, for_alltoall.at(i), o.send, recv, o.n, c, eb);
    case what::alltoallv:
        return PRELOAD_CALL(alltoallv, for_alltoall.at(i), o.send, o.send_counts, o.send_at, recv,
                            o.recv_counts, o.recv_at, c, eb);
    case what::gather: return PRELOAD_CALL(gather, for_gather.at(i), o.send, recv, o.n, o.root, c, eb);
    case what::gatherv:
        return PRELOAD_CALL(gatherv, for_gather.at(i), o.send, o.n, recv, o.recv_counts, o.recv_at, o.root, c,
                            eb);
    case what::scatter: return PRELOAD_CALL(scatter, for_gather.at(i), send, o.recv, o.n, o.root, c, eb);
    default:
        return PRELOAD_CALL(scatterv, for_gather.at(i), send, o.send_counts, o.send_at, o.recv, o.n, o.root,
                            c, eb);
    }
}

/// Collectives without counts, which decide by what they measure.
template <class T, class Bound>
ccoll::report call_measured(const order& o)
{
    using Plan = ccoll::Plan<Codec::Auto, Bound>;
    T* const recv = static_cast<T*>(o.recv);
    const MPI_Comm c = o.comm;
    const double eb = o.bound;
    const auto reduction = [&](auto call) { return with_operation(o.op, call); };
    switch (o.which) {
    case what::allreduce:
        return reduction([&]<class Op>(Op) { return ccoll::allreduce<Plan, Op>(o.send, recv, o.n, c, eb); });
    case what::reduce:
        return reduction(
            [&]<class Op>(Op) { return ccoll::reduce<Plan, Op>(o.send, recv, o.n, o.root, c, eb); });
    case what::reduce_scatter_block:
        return reduction(
            [&]<class Op>(Op) { return ccoll::reduce_scatter<Plan, Op>(o.send, recv, o.n, c, eb); });
    case what::bcast: return ccoll::bcast<Plan>(recv, o.n, o.root, c, eb);
    case what::allgather: return ccoll::allgather<Plan>(o.send, recv, o.n, c, eb);
    case what::alltoall: return ccoll::alltoall<Plan>(o.send, recv, o.n, c, eb);
    case what::gather: return ccoll::gather<Plan>(o.send, recv, o.n, o.root, c, eb);
    default: return ccoll::scatter<Plan>(static_cast<const T*>(o.send), o.recv, o.n, o.root, c, eb);
    }
}

template <class T>
ccoll::report run(const order& o)
{
    if (o.choice == measured) return call_measured<T, RuntimeBound>(o);
    if (o.choice == measured_relative) return call_measured<T, RuntimeRelativeBound>(o);
    return call<T, form::blocking>(o);
}
template <class T>
ccoll::request begin(const order& o)
{
    return call<T, form::nonblocking>(o);
}
template <class T>
ccoll::persistent prepare(const order& o)
{
    return call<T, form::persistent>(o);
}

}  // namespace preload

// The codecs come from ccoll::compiled, which has nothing of MPI in them. Samples (auto) go to the chunks of
// SZp directly.
#define PRELOAD_RUNS(T)                                                                          \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::None, T);                             \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::Lossless, T);                         \
    extern template struct ccoll::codec_impl<ccoll::policies::Codec::SZp, T, ccoll::host_space>; \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::SZp, T);                              \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::SZe, T);                              \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::SZx, T);                              \
    template ccoll::report preload::run<T>(const preload::order&);                               \
    template ccoll::request preload::begin<T>(const preload::order&);                            \
    template ccoll::persistent preload::prepare<T>(const preload::order&)
