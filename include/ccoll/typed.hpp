// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// typed.hpp - floor 5. For code that has only void*, a count, an MPI_Datatype and an MPI_Op: the calls of MPI with the policies of ccoll.
//
//   ccoll::typed::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(send, recv, count, type, op, comm);
//
// They have a namespace of their own because the handles of some MPIs are plain integers, which no overload could tell from a bound.
#pragma once

#include <climits>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/transport/mpi.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::typed {

/// Calls `run(std::type_identity<T>)` for the T behind `type` if this codec can compress T, else `plainly()`.
template <class Plan, class Run, class Plainly>
report with_element(MPI_Datatype type, Run run, Plainly plainly)
{
    if (type == MPI_FLOAT) return run(std::type_identity<float>{});
    if (type == MPI_DOUBLE) return run(std::type_identity<double>{});
    if constexpr (!Plan::codec::lossy && !std::is_same_v<typename Plan::codec, policies::Codec::None>) {
        const bool long_has_8 = sizeof(long) == 8;
        if (type == MPI_INT || type == MPI_INT32_T) return run(std::type_identity<std::int32_t>{});
        if (type == MPI_UNSIGNED || type == MPI_UINT32_T) return run(std::type_identity<std::uint32_t>{});
        if (type == MPI_INT64_T || type == MPI_LONG_LONG || (long_has_8 && type == MPI_LONG))
            return run(std::type_identity<std::int64_t>{});
        if (type == MPI_UINT64_T || type == MPI_UNSIGNED_LONG_LONG || (long_has_8 && type == MPI_UNSIGNED_LONG))
            return run(std::type_identity<std::uint64_t>{});
    }
    return plainly();
}

/// Calls `run(tag)` for the tag behind `op`, if there is one; else `plainly()`.
template <class Run, class Plainly>
report with_operation(MPI_Op op, Run run, Plainly plainly)
{
    using namespace policies;
    if (op == MPI_SUM) return run(Op::Sum{});
    if (op == MPI_MIN) return run(Op::Min{});
    if (op == MPI_MAX) return run(Op::Max{});
    if (op == MPI_PROD) return run(Op::Prod{});
    if (op == MPI_BAND) return run(Op::BitAnd{});
    if (op == MPI_BOR) return run(Op::BitOr{});
    if (op == MPI_BXOR) return run(Op::BitXor{});
    return plainly();
}

/// MPI's own call, with its count and its report.
template <class Call, class... Extra>
report plain(const char* name, std::size_t n, Call call, Extra&... extra)
{
    const extras more(extra...);
    verdict trouble;
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    if (n > INT_MAX) {
        trouble = {status::bad_argument, nobody, nobody, -1, static_cast<double>(INT_MAX), static_cast<double>(n)};
    } else if (const int rc = call(static_cast<int>(n)); rc != MPI_SUCCESS) {
        int length = 0;
        CCOLL_MPI(Error_string)(rc, text, &length);
        trouble = {status::transport_failed};
    }
    report facts;
    facts.algorithm = "MPI";
    facts.placement = "none";
    facts.same_bits = false;
    facts.trouble = trouble;
    if (more.code != nullptr) *more.code = make_error_code(trouble.code);
    else if (!trouble.ok()) raise(name, trouble, text);
    return facts;
}

/// Collective `C` on elements of `type`: `ours(std::type_identity<T>, std::type_identity<Plan>)` or `plainly()`.
template <class C, class Plan, class... Extra, class Ours, class Plainly>
report moved(MPI_Datatype type, Ours ours, Plainly plainly)
{
    return with_element<Plan>(
        type,
        [&](auto element) {
            using T = typename decltype(element)::type;
            constexpr call_fault fault = fault_of<blocking, C, plan_choice<Plan>, std::span<const T>, std::span<T>, MPI_Comm, Extra...>;
            constexpr bool not_for_these =
                fault == call_fault::operation || (fault == call_fault::plan && Plan::fault == plan_fault::operation_without_bound);
            if constexpr (not_for_these) return plainly();
            else return ours(element, std::type_identity<Plan>{});
        },
        plainly);
}
template <class C, class... Policies, class... Extra, class Ours, class Plainly>
report reduced(Plan<Policies...>, std::type_identity<void (*)(Extra...)>, MPI_Datatype type, MPI_Op op, Ours ours, Plainly plainly)
{
    return with_operation(op, [&](auto tag) { return moved<C, Plan<Policies..., decltype(tag)>, Extra...>(type, ours, plainly); }, plainly);
}

/// Calls `call(std::type_identity<Plan>)` with the plan of a choice.
template <class Call, class... Plans>
report with_plan(const plan_choice<Plans...>& choice, Call call)
{
    report facts;
    std::size_t i = 0;
    const auto take = [&]<class Plan>(std::type_identity<Plan>) {
        using alone =
            std::conditional_t<plan_choice<Plans...>::takes_bound && !Plan::bound::given_at_run_time, plan_of<Plan, spare_bound>, Plan>;
        if (i++ == choice.index) facts = call(std::type_identity<alone>{});
    };
    (take(std::type_identity<Plans>{}), ...);
    return facts;
}

}  // namespace detail::typed

/// MPI's calls of the same names, compressed as `Policies` say. Lossy codecs take MPI_FLOAT and MPI_DOUBLE; Codec::Lossless takes integers
/// of 32 and 64 bits as well. Operations are MPI_SUM, MIN, MAX, PROD, BAND, BOR and BXOR, as far as the plan allows them. Everything else
/// (derived types, a user's MPI_Op, a product under a bound) goes to MPI's own call, and the report says so: algorithm "MPI", exact. As in
/// MPI, type, count and operation must be the same on all ranks. No Op:: among the policies. MPI_IN_PLACE where MPI has it. Extra arguments
/// and errors are those of the calls without `typed`; what MPI refuses raises with its text.
namespace typed {

template <class... Policies, class... Extra>
report allreduce(const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, Extra&&... extra)
{
    using plan = plan_of<Policies...>;
    const auto plainly = [&] {
        return detail::typed::plain(
            "typed::allreduce", n, [&](int count) { return CCOLL_MPI(Allreduce)(send, recv, count, type, op, comm); }, extra...);
    };
    const auto ours = [&]<class T, class P>(std::type_identity<T>, std::type_identity<P>) {
        return ccoll::allreduce<P>(send, static_cast<T*>(recv), n, comm, extra...);
    };
    return detail::typed::reduced<collective::allreduce>(plan{}, std::type_identity<void (*)(Extra...)>{}, type, op, ours, plainly);
}
template <class... Policies, class... Extra>
report reduce(const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm, Extra&&... extra)
{
    using plan = plan_of<Policies...>;
    const auto plainly = [&] {
        return detail::typed::plain(
            "typed::reduce", n, [&](int count) { return CCOLL_MPI(Reduce)(send, recv, count, type, op, root, comm); }, extra...);
    };
    const auto ours = [&]<class T, class P>(std::type_identity<T>, std::type_identity<P>) {
        return ccoll::reduce<P>(send, static_cast<T*>(recv), n, root, comm, extra...);
    };
    return detail::typed::reduced<collective::reduce>(plan{}, std::type_identity<void (*)(Extra...)>{}, type, op, ours, plainly);
}
/// Equal parts of n elements, as MPI_Reduce_scatter_block.
template <class... Policies, class... Extra>
report reduce_scatter(const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, Extra&&... extra)
{
    using plan = plan_of<Policies...>;
    const auto plainly = [&] {
        return detail::typed::plain(
            "typed::reduce_scatter", n, [&](int count) { return CCOLL_MPI(Reduce_scatter_block)(send, recv, count, type, op, comm); },
            extra...);
    };
    const auto ours = [&]<class T, class P>(std::type_identity<T>, std::type_identity<P>) {
        return ccoll::reduce_scatter<P>(send, static_cast<T*>(recv), n, comm, extra...);
    };
    return detail::typed::reduced<collective::reduce_scatter>(plan{}, std::type_identity<void (*)(Extra...)>{}, type, op, ours, plainly);
}
template <class... Policies, class... Extra>
report bcast(void* data, std::size_t n, MPI_Datatype type, int root, MPI_Comm comm, Extra&&... extra)
{
    using plan = plan_of<Policies...>;
    const auto plainly = [&] {
        return detail::typed::plain(
            "typed::bcast", n, [&](int count) { return CCOLL_MPI(Bcast)(data, count, type, root, comm); }, extra...);
    };
    const auto ours = [&]<class T, class P>(std::type_identity<T>, std::type_identity<P>) {
        return ccoll::bcast<P>(static_cast<T*>(data), n, root, comm, extra...);
    };
    return detail::typed::moved<collective::bcast, plan, Extra...>(type, ours, plainly);
}
/// One type and count at both ends; so are the three below.
template <class... Policies, class... Extra>
report allgather(const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Comm comm, Extra&&... extra)
{
    using plan = plan_of<Policies...>;
    const auto plainly = [&] {
        return detail::typed::plain(
            "typed::allgather", n, [&](int count) { return CCOLL_MPI(Allgather)(send, count, type, recv, count, type, comm); }, extra...);
    };
    const auto ours = [&]<class T, class P>(std::type_identity<T>, std::type_identity<P>) {
        return ccoll::allgather<P>(send, static_cast<T*>(recv), n, comm, extra...);
    };
    return detail::typed::moved<collective::allgather, plan, Extra...>(type, ours, plainly);
}
template <class... Policies, class... Extra>
report alltoall(const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Comm comm, Extra&&... extra)
{
    using plan = plan_of<Policies...>;
    const auto plainly = [&] {
        return detail::typed::plain(
            "typed::alltoall", n, [&](int count) { return CCOLL_MPI(Alltoall)(send, count, type, recv, count, type, comm); }, extra...);
    };
    const auto ours = [&]<class T, class P>(std::type_identity<T>, std::type_identity<P>) {
        return ccoll::alltoall<P>(send, static_cast<T*>(recv), n, comm, extra...);
    };
    return detail::typed::moved<collective::alltoall, plan, Extra...>(type, ours, plainly);
}
template <class... Policies, class... Extra>
report gather(const void* send, void* recv, std::size_t n, MPI_Datatype type, int root, MPI_Comm comm, Extra&&... extra)
{
    using plan = plan_of<Policies...>;
    const auto plainly = [&] {
        return detail::typed::plain(
            "typed::gather", n, [&](int count) { return CCOLL_MPI(Gather)(send, count, type, recv, count, type, root, comm); }, extra...);
    };
    const auto ours = [&]<class T, class P>(std::type_identity<T>, std::type_identity<P>) {
        return ccoll::gather<P>(send, static_cast<T*>(recv), n, root, comm, extra...);
    };
    return detail::typed::moved<collective::gather, plan, Extra...>(type, ours, plainly);
}
template <class... Policies, class... Extra>
report scatter(const void* send, void* recv, std::size_t n, MPI_Datatype type, int root, MPI_Comm comm, Extra&&... extra)
{
    using plan = plan_of<Policies...>;
    const auto plainly = [&] {
        return detail::typed::plain(
            "typed::scatter", n, [&](int count) { return CCOLL_MPI(Scatter)(send, count, type, recv, count, type, root, comm); }, extra...);
    };
    const auto ours = [&]<class T, class P>(std::type_identity<T>, std::type_identity<P>) {
        return ccoll::scatter<P>(static_cast<const T*>(send), recv, n, root, comm, extra...);
    };
    return detail::typed::moved<collective::scatter, plan, Extra...>(type, ours, plainly);
}

/// The same with a choice of a menu (menu::at) in front of the arguments of the calls above. menu::chosen_by is not for these.
template <class... Policies, class... Plans, class... Extra>
report allreduce(const plan_choice<Plans...>& choice, const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Op op,
                 MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::with_plan(
        choice, [&]<class P>(std::type_identity<P>) { return typed::allreduce<P, Policies...>(send, recv, n, type, op, comm, extra...); });
}
template <class... Policies, class... Plans, class... Extra>
report reduce(const plan_choice<Plans...>& choice, const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Op op, int root,
              MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::with_plan(choice, [&]<class P>(std::type_identity<P>) {
        return typed::reduce<P, Policies...>(send, recv, n, type, op, root, comm, extra...);
    });
}
template <class... Policies, class... Plans, class... Extra>
report reduce_scatter(const plan_choice<Plans...>& choice, const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::with_plan(choice, [&]<class P>(std::type_identity<P>) {
        return typed::reduce_scatter<P, Policies...>(send, recv, n, type, op, comm, extra...);
    });
}
template <class... Policies, class... Plans, class... Extra>
report bcast(const plan_choice<Plans...>& choice, void* data, std::size_t n, MPI_Datatype type, int root, MPI_Comm comm, Extra&&... extra)
{
    return detail::typed::with_plan(
        choice, [&]<class P>(std::type_identity<P>) { return typed::bcast<P, Policies...>(data, n, type, root, comm, extra...); });
}
template <class... Policies, class... Plans, class... Extra>
report allgather(const plan_choice<Plans...>& choice, const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Comm comm,
                 Extra&&... extra)
{
    return detail::typed::with_plan(
        choice, [&]<class P>(std::type_identity<P>) { return typed::allgather<P, Policies...>(send, recv, n, type, comm, extra...); });
}
template <class... Policies, class... Plans, class... Extra>
report alltoall(const plan_choice<Plans...>& choice, const void* send, void* recv, std::size_t n, MPI_Datatype type, MPI_Comm comm,
                Extra&&... extra)
{
    return detail::typed::with_plan(
        choice, [&]<class P>(std::type_identity<P>) { return typed::alltoall<P, Policies...>(send, recv, n, type, comm, extra...); });
}
template <class... Policies, class... Plans, class... Extra>
report gather(const plan_choice<Plans...>& choice, const void* send, void* recv, std::size_t n, MPI_Datatype type, int root, MPI_Comm comm,
              Extra&&... extra)
{
    return detail::typed::with_plan(
        choice, [&]<class P>(std::type_identity<P>) { return typed::gather<P, Policies...>(send, recv, n, type, root, comm, extra...); });
}
template <class... Policies, class... Plans, class... Extra>
report scatter(const plan_choice<Plans...>& choice, const void* send, void* recv, std::size_t n, MPI_Datatype type, int root, MPI_Comm comm,
               Extra&&... extra)
{
    return detail::typed::with_plan(
        choice, [&]<class P>(std::type_identity<P>) { return typed::scatter<P, Policies...>(send, recv, n, type, root, comm, extra...); });
}

}  // namespace typed
}  // namespace ccoll::inline CCOLL_ABI
