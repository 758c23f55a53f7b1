// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// typed.hpp - floor 5. For code that has only void*, a count, an MPI_Datatype and an MPI_Op: the calls of MPI
// with the policies of ccoll.
//
//   ccoll::typed::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(send, recv, count, type, op, comm);
//   ccoll::typed::iallreduce<Codec::SZp, ErrorBound<1e-3>>(
//       send, recv, count, ccoll::typed::elements_of<ccoll::bfloat16>(), MPI_SUM, comm);
//
// They have a namespace of their own because the handles of some MPIs are plain integers, which no overload
// could tell from a bound.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/dynamic/typed_call.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/transport/mpi.hpp>

namespace ccoll::inline CCOLL_ABI {

/// MPI's calls of the same names, compressed as `Policies` say. `i...` begins a call (ccoll::request), and
/// `..._init` prepares one (ccoll::persistent).
///
///   Policies          those of the calls without `typed`, but no Op::, because the operation is an argument
///   send, recv, data  as in MPI, with MPI_IN_PLACE where MPI has it
///   n                 the count of MPI's own call, in items of the type
///   type              floats of two (elements_of), four and eight bytes by any name of MPI, and complex
///                     numbers; with Codec::Lossless also integers of 32 and 64 bits; derived types of one of
///                     these
///   op                MPI_SUM, MIN, MAX, PROD, BAND, BOR or BXOR, as far as the plan allows it
///
/// Everything else (elements of several kinds, a user's MPI_Op, a product under a bound) goes to MPI's own
/// call, which is nonblocking if ours is, and the report says so: algorithm "MPI", exact. As in MPI,
/// reductions need the same type, count and operation on all ranks; in other calls the same elements may have
/// different types, but for MPI_PACKED: it goes to MPI, and must not meet elements that do not. elements_of
/// stands on all ranks or on none.
/// Extra arguments, errors, bounds and cost are those of the calls without `typed`. A derived type with gaps,
/// or whose elements are out of order, also costs a copy of each buffer. What MPI refuses is thrown with
/// MPI's text. A request of a call that went to MPI cannot be given up: dropping it waits for its end.
namespace typed {

template <class... Policies, class... Extra>
report allreduce(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op, MPI_Comm comm,
                 Extra&&... extra)
{
    return detail::typed::run<detail::blocking, collective::allreduce>(
        plan_of<Policies...>{}, {send, recv, n, type, op, 0, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
request iallreduce(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op, MPI_Comm comm,
                   Extra&&... extra)
{
    return detail::typed::run<detail::nonblocking, collective::allreduce>(
        plan_of<Policies...>{}, {send, recv, n, type, op, 0, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
persistent allreduce_init(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op,
                          MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::preparing, collective::allreduce>(
        plan_of<Policies...>{}, {send, recv, n, type, op, 0, comm}, std::forward<Extra>(extra)...);
}

template <class... Policies, class... Extra>
report reduce(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op, int root,
              MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::blocking, collective::reduce>(
        plan_of<Policies...>{}, {send, recv, n, type, op, root, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
request ireduce(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op, int root,
                MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::nonblocking, collective::reduce>(
        plan_of<Policies...>{}, {send, recv, n, type, op, root, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
persistent reduce_init(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op, int root,
                       MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::preparing, collective::reduce>(
        plan_of<Policies...>{}, {send, recv, n, type, op, root, comm}, std::forward<Extra>(extra)...);
}

/// Equal parts of n elements, as in MPI_Reduce_scatter_block.
template <class... Policies, class... Extra>
report reduce_scatter(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op,
                      MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::blocking, collective::reduce_scatter>(
        plan_of<Policies...>{}, {send, recv, n, type, op, 0, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
request ireduce_scatter(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op,
                        MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::nonblocking, collective::reduce_scatter>(
        plan_of<Policies...>{}, {send, recv, n, type, op, 0, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
persistent reduce_scatter_init(const void* send, void* recv, std::size_t n, element_type type, MPI_Op op,
                               MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::preparing, collective::reduce_scatter>(
        plan_of<Policies...>{}, {send, recv, n, type, op, 0, comm}, std::forward<Extra>(extra)...);
}

template <class... Policies, class... Extra>
report bcast(void* data, std::size_t n, element_type type, int root, MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::blocking, collective::bcast>(
        plan_of<Policies...>{}, {data, data, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
request ibcast(void* data, std::size_t n, element_type type, int root, MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::nonblocking, collective::bcast>(
        plan_of<Policies...>{}, {data, data, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
persistent bcast_init(void* data, std::size_t n, element_type type, int root, MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::preparing, collective::bcast>(
        plan_of<Policies...>{}, {data, data, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}

/// The type and the count are the same at both ends, as in the three calls below.
template <class... Policies, class... Extra>
report allgather(const void* send, void* recv, std::size_t n, element_type type, MPI_Comm comm,
                 Extra&&... extra)
{
    return detail::typed::run<detail::blocking, collective::allgather>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, 0, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
request iallgather(const void* send, void* recv, std::size_t n, element_type type, MPI_Comm comm,
                   Extra&&... extra)
{
    return detail::typed::run<detail::nonblocking, collective::allgather>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, 0, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
persistent allgather_init(const void* send, void* recv, std::size_t n, element_type type, MPI_Comm comm,
                          Extra&&... extra)
{
    return detail::typed::run<detail::preparing, collective::allgather>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, 0, comm}, std::forward<Extra>(extra)...);
}

template <class... Policies, class... Extra>
report alltoall(const void* send, void* recv, std::size_t n, element_type type, MPI_Comm comm,
                Extra&&... extra)
{
    return detail::typed::run<detail::blocking, collective::alltoall>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, 0, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
request ialltoall(const void* send, void* recv, std::size_t n, element_type type, MPI_Comm comm,
                  Extra&&... extra)
{
    return detail::typed::run<detail::nonblocking, collective::alltoall>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, 0, comm}, std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
persistent alltoall_init(const void* send, void* recv, std::size_t n, element_type type, MPI_Comm comm,
                         Extra&&... extra)
{
    return detail::typed::run<detail::preparing, collective::alltoall>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, 0, comm}, std::forward<Extra>(extra)...);
}

template <class... Policies, class... Extra>
report gather(const void* send, void* recv, std::size_t n, element_type type, int root, MPI_Comm comm,
              Extra&&... extra)
{
    return detail::typed::run<detail::blocking, collective::gather>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
request igather(const void* send, void* recv, std::size_t n, element_type type, int root, MPI_Comm comm,
                Extra&&... extra)
{
    return detail::typed::run<detail::nonblocking, collective::gather>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
persistent gather_init(const void* send, void* recv, std::size_t n, element_type type, int root,
                       MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::preparing, collective::gather>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}

template <class... Policies, class... Extra>
report scatter(const void* send, void* recv, std::size_t n, element_type type, int root, MPI_Comm comm,
               Extra&&... extra)
{
    return detail::typed::run<detail::blocking, collective::scatter>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
request iscatter(const void* send, void* recv, std::size_t n, element_type type, int root, MPI_Comm comm,
                 Extra&&... extra)
{
    return detail::typed::run<detail::nonblocking, collective::scatter>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}
template <class... Policies, class... Extra>
persistent scatter_init(const void* send, void* recv, std::size_t n, element_type type, int root,
                        MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::run<detail::preparing, collective::scatter>(
        plan_of<Policies...>{}, {send, recv, n, type, MPI_OP_NULL, root, comm},
        std::forward<Extra>(extra)...);
}

/// The same with a choice of a menu (menu::at) before the arguments of the calls above. menu::chosen_by
/// cannot be used here.
#define CCOLL_TYPED_CHOICE(result, name)                                                      \
    template <class... Policies, class... Plans, class... Arguments>                          \
    result name(const plan_choice<Plans...>& choice, Arguments&&... arguments)                \
    {                                                                                         \
        return detail::typed::with_plan<result>(choice, [&]<class P>(std::type_identity<P>) { \
            return typed::name<P, Policies...>(arguments...);                                 \
        });                                                                                   \
    }
#define CCOLL_TYPED_CHOICES(name)        \
    CCOLL_TYPED_CHOICE(report, name)     \
    CCOLL_TYPED_CHOICE(request, i##name) \
    CCOLL_TYPED_CHOICE(persistent, name##_init)
CCOLL_TYPED_CHOICES(allreduce)
CCOLL_TYPED_CHOICES(reduce)
CCOLL_TYPED_CHOICES(reduce_scatter)
CCOLL_TYPED_CHOICES(bcast)
CCOLL_TYPED_CHOICES(allgather)
CCOLL_TYPED_CHOICES(alltoall)
CCOLL_TYPED_CHOICES(gather)
CCOLL_TYPED_CHOICES(scatter)
#undef CCOLL_TYPED_CHOICES
#undef CCOLL_TYPED_CHOICE

}  // namespace typed
}  // namespace ccoll::inline CCOLL_ABI
