// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// allreduce.hpp - floor 5. allreduce: every rank ends with the reduction of the data of all ranks.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <array>

#include <ccoll/algo/rabenseifner.hpp>
#include <ccoll/algo/recursive.hpp>
#include <ccoll/algo/ring.hpp>
#include <ccoll/entry/forms.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Reduces `send` of all ranks into `recv` of every rank.
///
///   allreduce<P...>(send, recv, comm, extra...)       two ranges of n elements
///   allreduce<P...>(inout, comm, extra...)            in place
///   allreduce<P...>(send, recv, n, comm, extra...)    pointers, as MPI_Allreduce; `send` may be MPI_IN_PLACE
///
/// @tparam Policies  any of Algo::, Codec::, Placement::, Op::, Check::, Instrument::, Timeout, a bound, or a
///                   Plan of them, in any order.
/// @param send   n elements, this rank's contribution: any contiguous range. Lossy codecs take float, double,
///               half, bfloat16 and complex numbers (a bound holds for each part); exact ones whatever can be
///               copied byte by byte and Op:: computes on.
/// @param recv   n elements.
/// @param comm   MPI_Comm, threads_comm, or any object that meets ccoll::transport.
/// @param extra  the bound, a number > 0, with RuntimeBound; a std::error_code variable, which is set instead
///               of throwing.
/// @return       what was decided, what it cost, and the worst-case error of every finite element.
/// @throw ccoll::error  on every rank, when counts or plans disagree, an argument is wrong or a frame is
///               damaged. `recv` is then unspecified. Without agreement (Check::Local, or below 1 MiB) damage
///               to the very last message of the schedule is seen by its receiver alone; Check::Collective
///               tells everybody.
/// All ranks hold the same bits afterwards (not with Placement::PerHop; see report::same_bits).
/// Error: worst_case<collective::allreduce, Policies...>(p). With a ring this is p times the bound for Sum,
/// and once the bound for Average.
/// Cost: the messages of the schedule, each of them encoded; docs/reference/allreduce.md counts them per
/// algorithm. Working memory is kept with the communicator, so calls of a length seen before allocate next to
/// nothing.
/// Source: C-Coll, section III.
template <class... Policies, class... Arguments>
report allreduce(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::blocking, collective::allreduce>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// allreduce, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request iallreduce(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::nonblocking, collective::allreduce>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// allreduce, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent allreduce_init(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::preparing, collective::allreduce>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(allreduce, unrooted)

/// @return for each phase, the seconds of the rank that spent most on it. Collective: all ranks of `comm`
///     call it.
/// Cost: an allreduce of six doubles.
/// @throw ccoll::error  as allreduce does
template <communicator Comm>
breakdown slowest(const breakdown& mine, const Comm& comm)
{
    std::array<double, 6> phases{mine.encode,      mine.decode, mine.reduce,
                                 mine.communicate, mine.wait,   mine.copy};
    allreduce<policies::Op::Max>(phases, comm);
    return {phases[0], phases[1], phases[2], phases[3], phases[4], phases[5]};
}

namespace detail {

/// What is added of a report over the ranks, and what is the largest. The rest belongs to each rank.
struct report_numbers {
    std::array<double, 13> sums{}, largest{};
};
struct add_reports : op_tag<false> {
    static constexpr const char* name = "total";
    static report_numbers apply(report_numbers a, const report_numbers& b) noexcept
    {
        for (std::size_t i = 0; i < a.sums.size(); ++i) {
            a.sums[i] += b.sums[i];
            a.largest[i] = std::max(a.largest[i], b.largest[i]);
        }
        return a;
    }
};

}  // namespace detail

/// The reports of all ranks about one call, added as report::operator+= adds; names and trouble are those of
/// this rank. So the bytes, and their ratio, are those of the whole call, also where some ranks only receive.
/// Collective: all ranks of `comm` call it, after calls that ended well. Cost: an allreduce of about 200
/// bytes. Bytes are exact up to 2^53.
/// @throw ccoll::error  as allreduce does
template <communicator Comm>
report total(const report& mine, const Comm& comm)
{
    const auto number = [](auto n) { return static_cast<double>(n); };
    std::array<detail::report_numbers, 1> all;
    const breakdown& b = mine.breakdown;
    all[0].sums = {number(mine.raw_bytes),
                   number(mine.sent_bytes),
                   number(mine.fallback_blocks),
                   number(mine.special_values),
                   number(mine.faults.detected),
                   number(mine.faults.corrected),
                   number(mine.faults.resent),
                   b.encode,
                   b.decode,
                   b.reduce,
                   b.communicate,
                   b.wait,
                   b.copy};
    all[0].largest = {mine.error_bound,    mine.worst_case_error,   mine.probable_error,
                      number(!mine.exact), number(!mine.same_bits), number(!mine.direct),
                      number(!mine.agreed)};
    allreduce<detail::add_reports>(all, comm);
    const auto count = [&](std::size_t i) { return static_cast<std::size_t>(all[0].sums[i]); };
    const auto& sums = all[0].sums;
    const auto& largest = all[0].largest;
    report r = mine;
    r.raw_bytes = count(0);
    r.sent_bytes = count(1);
    r.fallback_blocks = count(2);
    r.special_values = count(3);
    r.faults = {count(4), count(5), count(6)};
    r.breakdown = {sums[7], sums[8], sums[9], sums[10], sums[11], sums[12]};
    r.error_bound = largest[0];
    r.worst_case_error = largest[1];
    r.probable_error = largest[2];
    r.exact = largest[3] == 0;
    r.same_bits = largest[4] == 0;
    r.direct = largest[5] == 0;
    r.agreed = largest[6] == 0;
    return r;
}

}  // namespace ccoll::inline CCOLL_ABI
