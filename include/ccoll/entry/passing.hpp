// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/passing.hpp - floor 3. The short way of a blocking call that only has to be passed on to the
// transport's own collective, on a communicator that this thread has used before. It is decided from types as
// far as possible, and compiled once per call. Whatever is not usual takes the long way, which also finds the
// words for what is wrong.
//
// An allreduce of 8 bytes between two ranks in shared memory takes MPI 370 ns (Open MPI 4.1) or 550 ns (MPICH
// 4.0). The long way adds 60 ns, this one 12 (Intel Xeon with AVX-512).
#pragma once

#include <concepts>
#include <cstddef>
#include <system_error>
#include <type_traits>

#include <ccoll/base/exact.hpp>
#include <ccoll/call/native.hpp>
#include <ccoll/entry/run_modes.hpp>
#include <ccoll/policy/menu.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// What fit() says about usual buffers, or false if it says that something is wrong, or more is to be done
/// than MPI's own call does. fit() takes 10 ns more, also when it is inlined, because it has words for what
/// is wrong.
template <class Collective, element T>
bool fits_plainly(const plain_buffers<T>& b, int me, int p, int root, call_buffers<T>& data)
{
    constexpr const collective_facts& facts = facts_of<Collective>;
    bool gives = true, takes = true;
    if constexpr (facts.rooted) {
        if (root < 0 || root >= p) return false;
        gives = Collective::before(me, root, 1).count > 0;
        takes = Collective::after(me, root, 1).count > 0;
    }
    if (b.in_place && !facts.one_vector) return false;
    const plain_lengths lengths = lengths_of(b, facts, p, gives, takes);
    if (!lengths.ok() || overlap(b, facts, lengths.sent * sizeof(T), lengths.taken * sizeof(T), p))
        return false;
    if ((lengths.sent > 0 && is_no_memory(b.send)) || (lengths.taken > 0 && is_no_memory(b.recv)))
        return false;
    data.send = b.send;
    data.recv = b.recv;
    data.count = lengths.count;
    data.own = lengths.own;
    return true;
}

/// Whether a plan, which its choice names or begins with, may let calls be passed on. @see native_of
template <class Collective, class Plan, class T, class Space, class Comm>
inline constexpr bool plan_passes = false;
template <class Collective, class Plan, class T, class Space, class Comm>
    requires(!transport<Comm> &&
             requires(const Comm& comm, void (*work)(decltype(transport_for<Comm>::make(comm))&) noexcept) {
                 transport_for<Comm>::use_again(comm, work);
             })
inline constexpr bool plan_passes<Collective, Plan, T, Space, Comm> = [] {
    using link_type = decltype(transport_for<Comm>::make(std::declval<const Comm&>()));
    if constexpr (is_over_edges<Collective> || Collective::partial) return false;
    else if constexpr (Plan::integrity::protects ||
                       std::is_same_v<typename Plan::check, policies::Check::Collective>)
        return false;
    else if constexpr (Collective::reduces && Plan::op::divide_by_ranks) return false;
    else return native_of<Collective, Plan, T, Space, link_type>() != nullptr;
}();
/// The plan with which such a call begins.
struct always_passes {
    const char* reason = "";

    explicit constexpr always_passes(double) {}
    template <class Link>
    static constexpr bool ask(const Link&, std::size_t) noexcept
    {
        return true;
    }
    static constexpr void done() noexcept {}
};
template <class Choice>
struct passing_plan {
    static constexpr bool is_one = false;
};
template <class Plan>
struct passing_plan<plan_choice<Plan>> {
    static constexpr bool is_one = true;
    using type = Plan;
    using passes = always_passes;
};
template <class Plan, class... More>
struct passing_plan<plan_tuned<Plan, More...>> : passing_plan<plan_choice<Plan>> {};

template <class How, class Collective, class Choice, class T, class Space, class Comm, class... Extra>
inline constexpr bool may_be_passed_on = false;
template <class How, class Collective, class Choice, class T, class Space, class Comm, class... Extra>
    requires(std::is_same_v<How, blocking> && passing_plan<Choice>::is_one &&
             (!is_space_argument<std::remove_cvref_t<Extra>> && ...))
inline constexpr bool may_be_passed_on<How, Collective, Choice, T, Space, Comm, Extra...> =
    plan_passes<Collective, typename passing_plan<Choice>::type, T, Space, Comm>;

enum class passed : unsigned char { no, well, badly };

/// MPI has returned an error.
template <class Link>
[[gnu::cold]] void refuse_passed(Link link, report& facts, const char* name, std::error_code* code)
{
    outcome result;
    result.facts = facts;
    note_native(link, result);
    facts = conclude(name, result, code);
}

/// @param may  ask(link, bytes of the whole vector) says whether it is to be passed on; done() follows if it
///             was. They do not throw.
template <class Collective, class Plan, element T, class Comm, class May>
passed pass_on(const Comm& comm, const plain_buffers<T>& b, int root, May& may)
{
    passed how = passed::no;
    const exact_call environment;
    transport_for<Comm>::use_again(comm, [&](auto& link) noexcept {
        const sole_use mine(&link.memory().user());
        call_buffers<T> data;
        if (!mine.granted() || link.has_requests() || every_call_compares() ||
            !fits_plainly<Collective>(b, link.rank(), link.size(), root, data))
            return;
        if (!may.ask(link, data.count * sizeof(T))) return;
        if (!run_native<Collective, typename Plan::op, T>(link, data, root, data.recv, nullptr)) return;
        may.done();
        link.begin_call();
        how = link.native_result() == status::ok ? passed::well : passed::badly;
    });
    return how;
}

/// The report of a call that was passed on.
/// @throw ccoll::error if MPI has returned an error, unless `code` takes it
template <class Collective, class Plan, class Comm>
report report_of_passed(bool well, const char* reason, const Comm& comm, std::error_code* code)
{
    report r;
    r.codec = Plan::codec::name;
    r.reason = reason;
    report_native(r, facts_of<Collective>);
    if (!well) refuse_passed(as_transport(comm, 0), r, Collective::name, code);
    else if (code != nullptr) code->clear();
    return r;
}

}  // namespace ccoll::inline CCOLL_ABI::detail
