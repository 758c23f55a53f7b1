// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic/typed_call.hpp - floor 3. Calls with MPI's own types and operations (typed.hpp). Values select a
// plan for an element type. Calls that no plan can do go to MPI's own call, in each of the three ways to run
// a call.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <sched.h>

#include <ccoll/dynamic/plans.hpp>
#include <ccoll/dynamic/typed_operands.hpp>
#include <ccoll/dynamic/typed_packed.hpp>
#include <ccoll/transport/mpi.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::typed {

/// MPI's operation, or one of ours where MPI's has wrong results.
inline MPI_Op op(const operands& a) { return mpi_library<MPI_Comm>::one().trusted(a.op, a.type.mpi()); }

/// What differs between collectives: the name, MPI's functions and the order of their arguments.
/// The functions of MPI take a count, which is an int or an MPI_Count.
template <class Collective>
struct call_of;

template <>
struct call_of<collective::allreduce> {
    static constexpr const char* name = "typed::allreduce";
    static auto now([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Allreduce); }
    static auto begin([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Iallreduce); }
    static auto prepare([[maybe_unused]] auto n) { return CCOLL_MPI_INIT_FOR(n, Allreduce); }
    static int pass(const operands& a, auto n, auto call)
    {
        return call(a.send, a.recv, n, a.type.mpi(), op(a), a.comm);
    }
};
template <>
struct call_of<collective::reduce> {
    static constexpr const char* name = "typed::reduce";
    static auto now([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Reduce); }
    static auto begin([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Ireduce); }
    static auto prepare([[maybe_unused]] auto n) { return CCOLL_MPI_INIT_FOR(n, Reduce); }
    static int pass(const operands& a, auto n, auto call)
    {
        return call(a.send, a.recv, n, a.type.mpi(), op(a), a.root, a.comm);
    }
};
template <>
struct call_of<collective::reduce_scatter> {
    static constexpr const char* name = "typed::reduce_scatter";
    static auto now([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Reduce_scatter_block); }
    static auto begin([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Ireduce_scatter_block); }
    static auto prepare([[maybe_unused]] auto n) { return CCOLL_MPI_INIT_FOR(n, Reduce_scatter_block); }
    static int pass(const operands& a, auto n, auto call)
    {
        return call(a.send, a.recv, n, a.type.mpi(), op(a), a.comm);
    }
};
template <>
struct call_of<collective::bcast> {
    static constexpr const char* name = "typed::bcast";
    static auto now([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Bcast); }
    static auto begin([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Ibcast); }
    static auto prepare([[maybe_unused]] auto n) { return CCOLL_MPI_INIT_FOR(n, Bcast); }
    static int pass(const operands& a, auto n, auto call)
    {
        return call(a.recv, n, a.type.mpi(), a.root, a.comm);
    }
};
template <>
struct call_of<collective::allgather> {
    static constexpr const char* name = "typed::allgather";
    static auto now([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Allgather); }
    static auto begin([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Iallgather); }
    static auto prepare([[maybe_unused]] auto n) { return CCOLL_MPI_INIT_FOR(n, Allgather); }
    static int pass(const operands& a, auto n, auto call)
    {
        return call(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.comm);
    }
};
template <>
struct call_of<collective::alltoall> {
    static constexpr const char* name = "typed::alltoall";
    static auto now([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Alltoall); }
    static auto begin([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Ialltoall); }
    static auto prepare([[maybe_unused]] auto n) { return CCOLL_MPI_INIT_FOR(n, Alltoall); }
    static int pass(const operands& a, auto n, auto call)
    {
        return call(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.comm);
    }
};
template <>
struct call_of<collective::gather> {
    static constexpr const char* name = "typed::gather";
    static auto now([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Gather); }
    static auto begin([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Igather); }
    static auto prepare([[maybe_unused]] auto n) { return CCOLL_MPI_INIT_FOR(n, Gather); }
    static int pass(const operands& a, auto n, auto call)
    {
        return call(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.root, a.comm);
    }
};
template <>
struct call_of<collective::scatter> {
    static constexpr const char* name = "typed::scatter";
    static auto now([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Scatter); }
    static auto begin([[maybe_unused]] auto n) { return CCOLL_MPI_FOR(n, Iscatter); }
    static auto prepare([[maybe_unused]] auto n) { return CCOLL_MPI_INIT_FOR(n, Scatter); }
    static int pass(const operands& a, auto n, auto call)
    {
        return call(a.send, n, a.type.mpi(), a.recv, n, a.type.mpi(), a.root, a.comm);
    }
};

// ---- MPI's own call ----

/// The report of a call that MPI does.
inline report by_mpi(const collective_facts& of)
{
    report facts;
    facts.codec = policies::Codec::None::name;
    report_native(facts, of);
    return facts;
}

template <class Call>
int begin_of(const operands& a, MPI_Request* r)
{
    return with_count(a.n, [&](auto n) {
        return Call::pass(a, n, [&](auto... all) { return Call::begin(n)(all..., r); });
    });
}
/// Prepares it. Where MPI has no persistent collectives, there is no function for that.
template <class Call>
int prepare_of([[maybe_unused]] const operands& a, [[maybe_unused]] MPI_Request* r)
{
    if constexpr (has_persistent_collectives)
        return with_count(a.n, [&](auto n) {
            return Call::pass(a, n, [&](auto... all) { return Call::prepare(n)(all..., MPI_INFO_NULL, r); });
        });
    else return MPI_SUCCESS;
}

/// The arguments as MPI takes them, or what prevents it from doing the call.
struct mpi_operands {
    operands of;
    verdict trouble{};
    const char* says = "";                 ///< more about the trouble
    std::unique_ptr<std::byte[]> input{};  ///< a copy, where `of.send` is one
    const std::byte* copied_from = nullptr;
    std::size_t copied_bytes = 0;

    void refuse(const verdict& v, const char* more = "")
    {
        trouble = v;
        says = more;
    }
    /// MPICH 4.0 reads from the address MPI_IN_PLACE in a reduce whose root is not 0. So the input is copied,
    /// as native_reduce does (transport/mpi.hpp).
    void copy_input()
    {
        MPI_Count lowest = 0, used = 0, stride = 0;
        CCOLL_MPI(Type_get_true_extent_x)(of.type.mpi(), &lowest, &used);
        MPI_Count ignored = 0;
        CCOLL_MPI(Type_get_extent_x)(of.type.mpi(), &ignored, &stride);
        if (of.n == 0 || stride < 0 || is_no_memory(of.recv)) return;
        copied_from = static_cast<const std::byte*>(of.recv) + lowest;
        copied_bytes = (of.n - 1) * static_cast<std::size_t>(stride) + static_cast<std::size_t>(used);
        input = std::make_unique<std::byte[]>(std::max<std::size_t>(1, copied_bytes));
        of.send = input.get() - lowest;
        take_input();
    }
    /// Copies what the buffer now holds.
    void take_input()
    {
        if (input != nullptr) std::memcpy(input.get(), copied_from, copied_bytes);
    }
};
/// MPI_IN_PLACE is refused where no MPI takes it: some of them crash. As in calls of ours, in a reduce it may
/// stand on all ranks.
template <class Collective>
mpi_operands for_mpi(const operands& a)
{
    mpi_operands ready{a};
    if (a.type.mpi() == MPI_DATATYPE_NULL)
        ready.refuse({status::bad_argument},
                     "the plan cannot compute this operation on two-byte floats, and MPI has no type for "
                     "them; use a plan that can (an exact codec for MPI_PROD), or give elements_of a "
                     "datatype of yours, with an MPI_Op of yours");
    else if (a.n > largest_count)
        ready.refuse({status::bad_argument, nobody, nobody, -1, static_cast<double>(largest_count),
                      static_cast<double>(a.n)},
                     "MPI's own call takes no more in MPI 3; it does in MPI 4");
    const bool marked_send = is_marker(a.send), marked_recv = is_marker(a.recv);
    if (!ready.trouble.ok() || (!marked_send && !marked_recv) || a.comm == MPI_COMM_NULL) return ready;

    constexpr marked_buffer takes = takes_marker<Collective>;
    int me = 0;
    CCOLL_MPI(Comm_rank)(a.comm, &me);
    const bool at_root = !Collective::rooted || me == a.root;
    const bool send_allowed = takes == marked_buffer::send   ? at_root || Collective::reduces
                              : takes == marked_buffer::recv ? !at_root  // MPI does not look at it there
                                                             : false;
    const bool recv_allowed = takes == marked_buffer::send   ? !at_root
                              : takes == marked_buffer::recv ? at_root
                                                             : false;
    if ((marked_send && !send_allowed) || (marked_recv && !recv_allowed)) {
        ready.trouble = misplaced(a.n);
        ready.trouble.rank = ready.trouble.peer = me;
    } else if (Collective::reduces && Collective::rooted && marked_send) {
        if (!at_root) ready.of.send = a.recv;
        else if (a.root != 0) ready.copy_input();
    }
    return ready;
}

/// A call of MPI, once begun or as often as wanted. MPI cannot take a collective back, so one that is given
/// up is waited for.
class mpi_call final : public pending_call {
public:
    using function = int (*)(const operands&, MPI_Request*);

    mpi_call(const char* name, const collective_facts& of, mpi_operands a)
        : name_(name), of_(of), a_(std::move(a))
    {
        reset();
    }
    mpi_call(const mpi_call&) = delete;
    mpi_call& operator=(const mpi_call&) = delete;
    ~mpi_call() override
    {
        leave();
        if (is_prepared_ && request_ != MPI_REQUEST_NULL && !is_over()) CCOLL_MPI(Request_free)(&request_);
    }

    void begin(function begins)
    {
        reset();
        a_.take_input();
        if (result_.trouble.ok()) run(begins(a_.of, &request_));
    }
    /// Makes a request that can be started. MPI matches such calls by the order in which they were prepared.
    void prepare(function prepares)
    {
        if (!result_.trouble.ok()) return;
        const int code = begun(prepares(a_.of, &request_), request_);
        is_prepared_ = code == MPI_SUCCESS;
        if (is_prepared_) return;
        put_error_text(code, text_);
        a_.refuse({status::transport_failed}, text_);
    }
    void start()
    {
        reset();
        a_.take_input();
        if (result_.trouble.ok()) run(CCOLL_MPI(Start)(&request_));
    }

    bool advance() override
    {
        moved_ = false;
        if (!runs_) return true;
        if (is_over()) {  // MPI must not be called any more
            runs_ = false;
            result_.trouble = {status::transport_failed};
            return true;
        }
        int ended = 0;
        run(CCOLL_MPI(Test)(&request_, &ended, MPI_STATUS_IGNORE));
        if (ended != 0) runs_ = false;
        moved_ = !runs_;
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
    void reset()
    {
        result_.facts = by_mpi(of_);
        result_.trouble = a_.trouble;
        result_.transport_says = a_.says;
    }
    /// @param code  of MPI: it runs, unless MPI has failed
    void run(int code)
    {
        runs_ = code == MPI_SUCCESS;
        if (runs_) return;
        put_error_text(code, text_);
        result_.trouble = {status::transport_failed};
        result_.transport_says = text_;
    }
    static bool is_over()
    {
        int yes = 0;
        CCOLL_MPI(Finalized)(&yes);
        return yes != 0;
    }

    const char* name_;
    const collective_facts& of_;  ///< facts_of a collective, which live for ever
    mpi_operands a_;
    MPI_Request request_ = MPI_REQUEST_NULL;
    outcome result_;
    char text_[MPI_MAX_ERROR_STRING + 1] = "";
    bool is_prepared_ = false, runs_ = false, moved_ = false;
};

/// Where MPI has no persistent collectives it begins a call of its own at each start, and MPI matches these
/// by the order of the starts.
template <class Collective>
class prepared_mpi_call final : public prepared_call {
public:
    explicit prepared_mpi_call(const operands& a)
        : call_(call_of<Collective>::name, facts_of<Collective>, for_mpi<Collective>(a))
    {
        if (has_persistent_collectives) call_.prepare(&prepare_of<call_of<Collective>>);
    }
    pending_call& start() override
    {
        if (has_persistent_collectives) call_.start();
        else call_.begin(&begin_of<call_of<Collective>>);
        return call_;
    }
    pending_call& current() override { return call_; }

private:
    mpi_call call_;
};

template <class How>
struct plainly;
template <>
struct plainly<blocking> {
    template <class Collective>
    static report run(const operands& a, std::error_code* code)
    {
        using call = call_of<Collective>;
        report facts = by_mpi(facts_of<Collective>);
        const mpi_operands ready = for_mpi<Collective>(a);
        const char* says = ready.says;
        facts.trouble = ready.trouble;
        char text[MPI_MAX_ERROR_STRING + 1] = "";
        if (facts.trouble.ok()) {
            if (const int rc = with_count(a.n, [&](auto n) { return call::pass(ready.of, n, call::now(n)); });
                rc != MPI_SUCCESS) {
                put_error_text(rc, text);
                facts.trouble = {status::transport_failed};
                says = text;
            }
        }
        if (code != nullptr) *code = make_error_code(facts.trouble.code);
        else if (!facts.trouble.ok()) raise(call::name, facts.trouble, says);
        return facts;
    }
};
template <>
struct plainly<nonblocking> {
    template <class Collective>
    static request run(const operands& a, std::error_code*)
    {
        auto call = std::make_unique<mpi_call>(call_of<Collective>::name, facts_of<Collective>,
                                               for_mpi<Collective>(a));
        call->begin(&begin_of<call_of<Collective>>);
        if (!call->progress()) call->join();
        return request(std::move(call));
    }
};
template <>
struct plainly<preparing> {
    template <class Collective>
    static persistent run(const operands& a, std::error_code*)
    {
        return persistent(std::make_unique<prepared_mpi_call<Collective>>(a));
    }
};

// ---- the plan for a type and an operation ----

/// Calls `run(std::type_identity<T>)` for the T behind `kind` if this codec can compress T, else `plainly()`.
template <class Plan, class Run, class Plainly>
auto with_element(mpi_element kind, Run run, Plainly plainly) -> decltype(plainly())
{
    if (kind == mpi_element::half) return run(std::type_identity<half>{});
    if (kind == mpi_element::bfloat16) return run(std::type_identity<bfloat16>{});
    if (kind == mpi_element::f32) return run(std::type_identity<float>{});
    if (kind == mpi_element::f64) return run(std::type_identity<double>{});
    if constexpr (!Plan::codec::lossy && !std::is_same_v<typename Plan::codec, policies::Codec::None>) {
        if (kind == mpi_element::i32) return run(std::type_identity<std::int32_t>{});
        if (kind == mpi_element::u32) return run(std::type_identity<std::uint32_t>{});
        if (kind == mpi_element::i64) return run(std::type_identity<std::int64_t>{});
        if (kind == mpi_element::u64) return run(std::type_identity<std::uint64_t>{});
    }
    return plainly();
}

/// Our operation for one of MPI's, if there is one.
inline std::optional<dynamic::operation_id> operation_of(MPI_Op op)
{
    using id = dynamic::operation_id;
    const std::pair<MPI_Op, id> known[] = {
        {MPI_SUM, id::Sum},     {MPI_MIN, id::Min},   {MPI_MAX, id::Max},    {MPI_PROD, id::Prod},
        {MPI_BAND, id::BitAnd}, {MPI_BOR, id::BitOr}, {MPI_BXOR, id::BitXor}};
    for (const auto& [mpis, ours] : known)
        if (op == mpis) return ours;
    return std::nullopt;
}

/// A menu of one plan (dynamic/plans.hpp), of which only the operation is a value. A plan that is wrong
/// whatever the elements and the operation are is refused at compile time.
template <class... Policies>
struct one_plan {
    using operations = type_list<policies::Op::Sum, policies::Op::Min, policies::Op::Max, policies::Op::Prod,
                                 policies::Op::BitAnd, policies::Op::BitOr, policies::Op::BitXor>;
    static constexpr std::size_t size = 1;
    static constexpr bool strict = true;

    template <std::size_t, class Op>
    struct at {
        using type = Plan<Policies..., Op>;
        template <class Collective>
        static constexpr bool may_fit = true;
    };
    template <std::size_t Number>
    struct at<Number, void> {
        using type = Plan<Policies...>;
        template <class Collective>
        static constexpr bool may_fit = true;
    };
    static constexpr std::size_t find(const dynamic::plan&) { return 0; }
    static std::string why_not(const dynamic::plan&, const std::array<fits, 1>&) { return ""; }
};

/// Collective `C` with `Policies`. Who does the call follows from what all ranks have in common: the plan,
/// the operation and the signature of the elements. So ranks may describe the same elements by different
/// types, as in MPI.
template <class How, class C, class... Policies, class... Extra>
typename How::result run(Plan<Policies...>, const operands& a, Extra&&... extra)
{
    using result = typename How::result;
    const auto by_mpi = [&](auto&&...) { return plainly<How>::template run<C>(a, extras(extra...).code); };
    mpi_signature items = a.type.signature();
    if (!C::reduces && a.n * items.each == 0)
        items = {mpi_element::f32, 0};  // no elements: they match those of any type
    const auto op = C::reduces ? operation_of(a.op) : dynamic::operation_id::Sum;
    if (!op || (C::reduces && items.complex && *op != dynamic::operation_id::Sum)) return by_mpi();
    const auto described_as = [&](const operands& of) {
        return dynamic::call{
            .which = id_of<C>, .send = of.send, .recv = of.recv, .n = of.n, .op = *op, .root = of.root};
    };
    return with_element<Plan<Policies...>>(
        items.element,
        [&]<class T>(std::type_identity<T>) {
            const auto with = [&](auto plans) -> result {
                if constexpr (decltype(plans)::fit_of[0] == fits::no) return by_mpi();
                else {
                    const auto ours = [&](const operands& of) {
                        return described_with<How, decltype(plans), C, T, host_space>(
                            described_as(of), 1, a.comm, by_mpi, extra...);
                    };
                    if (!items.dense) return on_copies<How, C>(a, items, ours);
                    operands of = a;
                    of.n = a.n * items.each;
                    return ours(of);
                }
            };
            return with_plans_for<result, one_plan<Policies...>, C, T, host_space, MPI_Comm>(described_as(a),
                                                                                             1, with, by_mpi);
        },
        by_mpi);
}

/// Calls `call(std::type_identity<Plan>)` with the plan of a choice.
template <class Result, class Call, class... Plans>
Result with_plan(const plan_choice<Plans...>& choice, Call call)
{
    Result result;
    std::size_t i = 0;
    const auto take = [&]<class Plan>(std::type_identity<Plan>) {
        using alone =
            std::conditional_t<plan_choice<Plans...>::takes_bound && !Plan::bound::given_at_run_time,
                               plan_of<Plan, spare_bound>, Plan>;
        if (i++ == choice.index) result = call(std::type_identity<alone>{});
    };
    (take(std::type_identity<Plans>{}), ...);
    return result;
}

}  // namespace detail::typed
}  // namespace ccoll::inline CCOLL_ABI
