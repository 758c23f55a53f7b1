// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/typed_call.hpp - floor 3. Calls with MPI's own types and operations (typed.hpp). Values select a plan for an element type. Calls
// that no plan can do go to MPI's own call, in each of the three ways to run a call.
#pragma once

#include <climits>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <sched.h>

#include <ccoll/engine/forms.hpp>
#include <ccoll/transport/mpi.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace typed {

/// The type of elements: an MPI_Datatype, or a two-byte float, for which most versions of MPI have no name (elements_of).
class element_type {
public:
    /// MPICH's MPIX_C_FLOAT16 is known as well.
    element_type(MPI_Datatype type) : type_(type)
    {
#if defined(MPIX_C_FLOAT16)
        if (type == MPIX_C_FLOAT16) exponent_bits_ = 5;
#endif
    }
    /// @param exponent_bits  5: IEEE half, 8: bfloat16    @param type  MPI's name for it, or MPI_DATATYPE_NULL
    element_type(int exponent_bits, MPI_Datatype type) : type_(type), exponent_bits_(exponent_bits) {}

    MPI_Datatype mpi() const { return type_; }
    /// 0: not a two-byte float.
    int exponent_bits() const { return exponent_bits_; }

private:
    MPI_Datatype type_;
    int exponent_bits_ = 0;
};

/// Takes the place of an MPI_Datatype: elements are ccoll::half, ccoll::bfloat16, or a type for which ccoll::exponent_bits_of is
/// specialised, such as c10::BFloat16.
/// @param type  your own committed datatype for them, if there is one. Calls that no plan can do then go to MPI with it, for example those
///              with your own MPI_Op. Without it they are refused.
template <small_float T>
element_type elements_of(MPI_Datatype type = MPI_DATATYPE_NULL)
{
    return {exponent_bits_of<T>, type};
}

}  // namespace typed

namespace detail::typed {

/// The arguments of a call, as in MPI's own call. For a call with one buffer, send and recv are both that buffer.
struct operands {
    const void* send;
    void* recv;
    std::size_t n;
    ccoll::typed::element_type type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

/// MPI's operation, or one of ours where MPI's has wrong results.
inline MPI_Op op(const operands& a) { return mpi_library<MPI_Comm>::one().trusted(a.op, a.type.mpi()); }

/// What differs between collectives: the name, MPI's blocking and nonblocking call, and ours.
template <class Collective>
struct call_of;

// The functions of MPI take operands and a count, which is an int or an MPI_Count.
template <>
struct call_of<collective::allreduce> {
    static constexpr const char* name = "typed::allreduce";
    static int now(const operands& a, auto n) { return CCOLL_MPI_FOR(n, Allreduce)(a.send, a.recv, n, a.type.mpi(), op(a), a.comm); }
    static int begin(const operands& a, auto n, MPI_Request* r)
    {
        return CCOLL_MPI_FOR(n, Iallreduce)(a.send, a.recv, n, a.type.mpi(), op(a), a.comm, r);
    }
    template <class How, class Plan, class T, class... Extra>
    static typename How::result ours(const operands& a, Extra&... extra)
    {
        return ask<unrooted<How, collective::allreduce>, Plan>(a.send, static_cast<T*>(a.recv), a.n, a.comm, extra...);
    }
};
template <>
struct call_of<collective::reduce> {
    static constexpr const char* name = "typed::reduce";
    static int now(const operands& a, auto n) { return CCOLL_MPI_FOR(n, Reduce)(a.send, a.recv, n, a.type.mpi(), op(a), a.root, a.comm); }
    static int begin(const operands& a, auto n, MPI_Request* r)
    {
        return CCOLL_MPI_FOR(n, Ireduce)(a.send, a.recv, n, a.type.mpi(), op(a), a.root, a.comm, r);
    }
    template <class How, class Plan, class T, class... Extra>
    static typename How::result ours(const operands& a, Extra&... extra)
    {
        return ask<with_root<How, collective::reduce>, Plan>(a.send, static_cast<T*>(a.recv), a.n, a.root, a.comm, extra...);
    }
};
template <>
struct call_of<collective::reduce_scatter> {
    static constexpr const char* name = "typed::reduce_scatter";
    static int now(const operands& a, auto n)
    {
        return CCOLL_MPI_FOR(n, Reduce_scatter_block)(a.send, a.recv, n, a.type.mpi(), op(a), a.comm);
    }
    static int begin(const operands& a, auto n, MPI_Request* r)
    {
        return CCOLL_MPI_FOR(n, Ireduce_scatter_block)(a.send, a.recv, n, a.type.mpi(), op(a), a.comm, r);
    }
    template <class How, class Plan, class T, class... Extra>
    static typename How::result ours(const operands& a, Extra&... extra)
    {
        return ask<unrooted<How, collective::reduce_scatter>, Plan>(a.send, static_cast<T*>(a.recv), a.n, a.comm, extra...);
    }
};
template <>
struct call_of<collective::bcast> {
    static constexpr const char* name = "typed::bcast";
    static int now(const operands& a, auto n) { return CCOLL_MPI_FOR(n, Bcast)(a.recv, n, a.type.mpi(), a.root, a.comm); }
    static int begin(const operands& a, auto n, MPI_Request* r)
    {
        return CCOLL_MPI_FOR(n, Ibcast)(a.recv, n, a.type.mpi(), a.root, a.comm, r);
    }
    template <class How, class Plan, class T, class... Extra>
    static typename How::result ours(const operands& a, Extra&... extra)
    {
        return ask<one_buffer<How, collective::bcast>, Plan>(static_cast<T*>(a.recv), a.n, a.root, a.comm, extra...);
    }
};
template <>
struct call_of<collective::allgather> {
    static constexpr const char* name = "typed::allgather";
    static int now(const operands& a, auto n)
    {
        return CCOLL_MPI_FOR(n, Allgather)(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.comm);
    }
    static int begin(const operands& a, auto n, MPI_Request* r)
    {
        return CCOLL_MPI_FOR(n, Iallgather)(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.comm, r);
    }
    template <class How, class Plan, class T, class... Extra>
    static typename How::result ours(const operands& a, Extra&... extra)
    {
        return ask<unrooted<How, collective::allgather>, Plan>(a.send, static_cast<T*>(a.recv), a.n, a.comm, extra...);
    }
};
template <>
struct call_of<collective::alltoall> {
    static constexpr const char* name = "typed::alltoall";
    static int now(const operands& a, auto n)
    {
        return CCOLL_MPI_FOR(n, Alltoall)(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.comm);
    }
    static int begin(const operands& a, auto n, MPI_Request* r)
    {
        return CCOLL_MPI_FOR(n, Ialltoall)(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.comm, r);
    }
    template <class How, class Plan, class T, class... Extra>
    static typename How::result ours(const operands& a, Extra&... extra)
    {
        return ask<unrooted<How, collective::alltoall>, Plan>(a.send, static_cast<T*>(a.recv), a.n, a.comm, extra...);
    }
};
template <>
struct call_of<collective::gather> {
    static constexpr const char* name = "typed::gather";
    static int now(const operands& a, auto n)
    {
        return CCOLL_MPI_FOR(n, Gather)(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.root, a.comm);
    }
    static int begin(const operands& a, auto n, MPI_Request* r)
    {
        return CCOLL_MPI_FOR(n, Igather)(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.root, a.comm, r);
    }
    template <class How, class Plan, class T, class... Extra>
    static typename How::result ours(const operands& a, Extra&... extra)
    {
        return ask<with_root<How, collective::gather>, Plan>(a.send, static_cast<T*>(a.recv), a.n, a.root, a.comm, extra...);
    }
};
template <>
struct call_of<collective::scatter> {
    static constexpr const char* name = "typed::scatter";
    static int now(const operands& a, auto n)
    {
        return CCOLL_MPI_FOR(n, Scatter)(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.root, a.comm);
    }
    static int begin(const operands& a, auto n, MPI_Request* r)
    {
        return CCOLL_MPI_FOR(n, Iscatter)(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.root, a.comm, r);
    }
    template <class How, class Plan, class T, class... Extra>
    static typename How::result ours(const operands& a, Extra&... extra)
    {
        return ask<with_root<How, collective::scatter>, Plan>(static_cast<const T*>(a.send), a.recv, a.n, a.root, a.comm, extra...);
    }
};

// ---- MPI's own call ----

/// The report of a call that MPI does.
inline report by_mpi()
{
    report facts;
    facts.algorithm = "MPI";
    facts.placement = "none";
    facts.same_bits = false;
    return facts;
}

template <class Call>
int begin_of(const operands& a, MPI_Request* r)
{
    return with_count(a.n, [&](auto n) { return Call::begin(a, n, r); });
}

/// What prevents MPI from doing the call. @param says  more about it
inline verdict refusal(const operands& a, const char*& says)
{
    says = "";
    if (a.type.mpi() == MPI_DATATYPE_NULL) {
        says =
            "the plan cannot compute this operation on two-byte floats, and MPI has no type for them; use a plan that can (an exact codec "
            "for MPI_PROD), or give elements_of a datatype of yours, with an MPI_Op of yours";
        return {status::bad_argument};
    }
    if (a.n > largest_count) {
        says = "MPI's own call takes no more in MPI 3; it does in MPI 4";
        return {status::bad_argument, nobody, nobody, -1, static_cast<double>(largest_count), static_cast<double>(a.n)};
    }
    return {};
}

/// A call of MPI that has begun. MPI cannot take a collective back, so a request that is given up waits for its end.
class mpi_call final : public pending_call {
public:
    using begin_function = int (*)(const operands&, MPI_Request*);

    mpi_call(const char* name, const operands& a, begin_function begin) : name_(name)
    {
        result_.facts = by_mpi();
        result_.trouble = refusal(a, result_.transport_says);
        if (result_.trouble.ok()) take(begin(a, &under_way_));
    }
    ~mpi_call() override { leave(); }

    bool progress() override
    {
        moved_ = false;
        if (under_way_ == MPI_REQUEST_NULL) return true;
        int ended = 0;
        CCOLL_MPI(Finalized)(&ended);
        if (ended != 0) {  // MPI must not be called any more
            under_way_ = MPI_REQUEST_NULL;
            result_.trouble = {status::transport_failed};
            return true;
        }
        take(CCOLL_MPI(Test)(&under_way_, &ended, MPI_STATUS_IGNORE));
        moved_ = under_way_ == MPI_REQUEST_NULL;
        return moved_;
    }
    bool moved() const override { return moved_; }
    void idle() override { sched_yield(); }
    void abandon() override { give_up({}); }
    void give_up(const verdict&) override
    {
        while (!progress()) idle();
    }
    const outcome& result() const override { return result_; }
    const char* name() const override { return name_; }
    bool may_change_thread() const override { return true; }

private:
    void take(int code)
    {
        if (code == MPI_SUCCESS) return;
        put_error_text(code, text_);
        result_.trouble = {status::transport_failed};
        result_.transport_says = text_;
        under_way_ = MPI_REQUEST_NULL;
    }

    const char* name_;
    MPI_Request under_way_ = MPI_REQUEST_NULL;
    outcome result_;
    char text_[MPI_MAX_ERROR_STRING + 1] = "";
    bool moved_ = false;
};

class prepared_mpi_call final : public prepared_call {
public:
    prepared_mpi_call(const char* name, const operands& a, mpi_call::begin_function begin) : name_(name), a_(a), begin_(begin) {}
    pending_call& start() override { return call_.emplace(name_, a_, begin_); }
    pending_call& current() override { return *call_; }

private:
    const char* name_;
    operands a_;
    mpi_call::begin_function begin_;
    std::optional<mpi_call> call_;
};

template <class How>
struct plainly;
template <>
struct plainly<blocking> {
    template <class Call>
    static report run(const operands& a, std::error_code* code)
    {
        report facts = by_mpi();
        const char* says = "";
        facts.trouble = refusal(a, says);
        char text[MPI_MAX_ERROR_STRING + 1] = "";
        if (facts.trouble.ok()) {
            if (const int rc = with_count(a.n, [&](auto n) { return Call::now(a, n); }); rc != MPI_SUCCESS) {
                put_error_text(rc, text);
                facts.trouble = {status::transport_failed};
                says = text;
            }
        }
        if (code != nullptr) *code = make_error_code(facts.trouble.code);
        else if (!facts.trouble.ok()) raise(Call::name, facts.trouble, says);
        return facts;
    }
};
template <>
struct plainly<nonblocking> {
    template <class Call>
    static request run(const operands& a, std::error_code*)
    {
        auto call = std::make_unique<mpi_call>(Call::name, a, &begin_of<Call>);
        if (!call->progress()) call->join();
        return request(std::move(call));
    }
};
template <>
struct plainly<preparing> {
    template <class Call>
    static persistent run(const operands& a, std::error_code*)
    {
        return persistent(std::make_unique<prepared_mpi_call>(Call::name, a, &begin_of<Call>));
    }
};

// ---- the plan for a type and an operation ----

/// Calls `run(std::type_identity<T>)` for the T behind `type` if this codec can compress T, else `plainly()`.
template <class Plan, class Run, class Plainly>
auto with_element(const ccoll::typed::element_type& type, Run run, Plainly plainly) -> decltype(plainly())
{
    if (type.exponent_bits() == 5) return run(std::type_identity<half>{});
    if (type.exponent_bits() == 8) return run(std::type_identity<bfloat16>{});
    const MPI_Datatype name = type.mpi();
    if (name == MPI_FLOAT) return run(std::type_identity<float>{});
    if (name == MPI_DOUBLE) return run(std::type_identity<double>{});
    if constexpr (!Plan::codec::lossy && !std::is_same_v<typename Plan::codec, policies::Codec::None>) {
        const bool long_has_8 = sizeof(long) == 8;
        if (name == MPI_INT || name == MPI_INT32_T) return run(std::type_identity<std::int32_t>{});
        if (name == MPI_UNSIGNED || name == MPI_UINT32_T) return run(std::type_identity<std::uint32_t>{});
        if (name == MPI_INT64_T || name == MPI_LONG_LONG || (long_has_8 && name == MPI_LONG))
            return run(std::type_identity<std::int64_t>{});
        if (name == MPI_UINT64_T || name == MPI_UNSIGNED_LONG_LONG || (long_has_8 && name == MPI_UNSIGNED_LONG))
            return run(std::type_identity<std::uint64_t>{});
    }
    return plainly();
}

/// Calls `run(tag)` for the tag behind `op`, if there is one; else `plainly()`.
template <class Run, class Plainly>
auto with_operation(MPI_Op op, Run run, Plainly plainly) -> decltype(plainly())
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

template <class How, class C, class Plan, class... Extra>
typename How::result with_plan_of(const operands& a, Extra&&... extra)
{
    const auto by_mpi = [&] { return plainly<How>::template run<call_of<C>>(a, extras(extra...).code); };
    return with_element<Plan>(
        a.type,
        [&](auto element) {
            using T = typename decltype(element)::type;
            constexpr call_fault fault = fault_of<How, C, plan_choice<Plan>, std::span<const T>, std::span<T>, MPI_Comm, Extra...>;
            constexpr bool not_for_these =
                fault == call_fault::operation || (fault == call_fault::plan && Plan::fault == plan_fault::operation_without_bound);
            if constexpr (not_for_these) return by_mpi();
            else return call_of<C>::template ours<How, Plan, T>(a, extra...);
        },
        by_mpi);
}

/// Collective `C` with `Policies`.
template <class How, class C, class... Policies, class... Extra>
typename How::result run(Plan<Policies...>, const operands& a, Extra&&... extra)
{
    if constexpr (!C::reduces) {
        return with_plan_of<How, C, Plan<Policies...>>(a, std::forward<Extra>(extra)...);
    } else {
        return with_operation(
            a.op, [&](auto tag) { return with_plan_of<How, C, Plan<Policies..., decltype(tag)>>(a, std::forward<Extra>(extra)...); },
            [&] { return plainly<How>::template run<call_of<C>>(a, extras(extra...).code); });
    }
}

/// Calls `call(std::type_identity<Plan>)` with the plan of a choice.
template <class Result, class Call, class... Plans>
Result with_plan(const plan_choice<Plans...>& choice, Call call)
{
    Result result;
    std::size_t i = 0;
    const auto take = [&]<class Plan>(std::type_identity<Plan>) {
        using alone =
            std::conditional_t<plan_choice<Plans...>::takes_bound && !Plan::bound::given_at_run_time, plan_of<Plan, spare_bound>, Plan>;
        if (i++ == choice.index) result = call(std::type_identity<alone>{});
    };
    (take(std::type_identity<Plans>{}), ...);
    return result;
}

}  // namespace detail::typed
}  // namespace ccoll::inline CCOLL_ABI
