// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/walk.hpp - floor 2. Goes through a schedule for all ranks at once, without a transport: to check
// schedules and to model errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ccoll/base/memory.hpp>
#include <ccoll/algo/collective.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Follows one block through a schedule that passes ends_match. In every step it first calls `message
/// visitor.send(me)` for every rank that sends the block, even to nobody, and then `visitor.receive(me,
/// message, action)` for every rank that receives it.
/// Cost: O(p * steps) calls of step_at, O(p) memory.
template <class Visitor>
constexpr void walk_block(const schedule& s, int p, int root, int block, Visitor& visitor)
{
    using message = decltype(visitor.send(0));
    const int blocks = s.blocks(p);
    detail::array_of<message> sent(p);
    for (int k = 0; k < s.steps(p); ++k) {
        for (int me = 0; me < p; ++me)
            if (s.step_at(me, p, root, k).send.contains(block, blocks)) sent[me] = visitor.send(me);
        for (int me = 0; me < p; ++me) {
            const step now = s.step_at(me, p, root, k);
            if (now.recv.contains(block, blocks)) visitor.receive(me, sent[now.recv_from], now.action);
        }
    }
}

/// What is wrong with a schedule, if anything.
enum class schedule_fault { none, ends, misses, twice };

namespace detail {

/// A fault, and where it shows first.
struct found_fault {
    schedule_fault fault = schedule_fault::none;
    int rank = nobody, step = -1, block = -1;
};

constexpr bool matches(const schedule& s, int p, int root, int k, int me, const step& a)
{
    const int blocks = s.blocks(p);
    if (a.send.count > blocks || (a.send_to != nobody && a.send.count > s.widest(p))) return false;
    if (a.send_to < nobody || a.send_to >= p || a.recv_from < nobody || a.recv_from >= p) return false;
    if (a.recv_from == nobody ? a.recv.count != 0 : s.step_at(a.recv_from, p, root, k).send_to != me)
        return false;
    if (a.send_to == nobody) return true;
    const step b = s.step_at(a.send_to, p, root, k);
    if (a.send_to == me || b.recv_from != me || b.recv.count != a.send.count) return false;
    for (int i = 0; i < a.send.count; ++i)
        if (a.send.at(i, blocks) != b.recv.at(i, blocks)) return false;
    return true;
}
constexpr found_fault first_mismatch(const schedule& s, int p, int root)
{
    for (int k = 0; k < s.steps(p); ++k)
        for (int me = 0; me < p; ++me)
            if (!matches(s, p, root, k, me, s.step_at(me, p, root, k))) return {schedule_fault::ends, me, k};
    return {};
}

/// The ranks that have contributed to a block, as one bit per rank.
struct contributions {
    std::array<std::uint64_t, 64> held{};
    /// The first rank for which a contribution was counted twice, or that received an empty message.
    int not_once = nobody;

    constexpr std::uint64_t& at(int rank) { return held[static_cast<std::size_t>(rank)]; }
    constexpr std::uint64_t send(int me) { return at(me); }
    constexpr void receive(int me, std::uint64_t theirs, on_receive action)
    {
        std::uint64_t& mine = at(me);
        if (not_once == nobody && (theirs == 0 || (action != on_receive::replace && (mine & theirs) != 0)))
            not_once = me;
        mine = action == on_receive::replace ? theirs : mine | theirs;
    }
};

template <class Collective>
constexpr found_fault first_fault_of_delivery(const schedule& s, int p, int root)
{
    if (const found_fault ends = first_mismatch(s, p, root); ends.fault != schedule_fault::none) return ends;
    const int blocks = s.blocks(p);
    for (int block = 0; block < blocks; ++block) {
        contributions all;
        std::uint64_t given = 0;
        for (int me = 0; me < p; ++me)
            if (Collective::before(me, root, blocks).contains(block, blocks))
                given |= all.at(me) = std::uint64_t{1} << me;
        walk_block(s, p, root, block, all);
        for (int me = 0; me < p; ++me) {
            if (!Collective::after(me, root, blocks).contains(block, blocks)) continue;
            const int origin = Collective::origin(me, p, block);
            std::uint64_t wanted = 0;
            for (int other = 0; other < p; ++other)
                if (collective::holds(origin, me, other)) wanted |= given & std::uint64_t{1} << other;
            if (all.at(me) != wanted) return {schedule_fault::misses, me, -1, block};
        }
        if (all.not_once != nobody) return {schedule_fault::twice, all.not_once, -1, block};
    }
    return {};
}

/// Prints the sentence of a fault. The compiler's note below it has the numbers.
template <schedule_fault Fault, int Rank, int Step, int Block>
constexpr void refuse_schedule()
{
    static_assert(Fault != schedule_fault::ends,
                  "ccoll: in step 'Step' of this schedule (see below), a message of rank 'Rank' has two ends "
                  "that do not agree: the peers, the blocks or their order, more blocks than widest(p), or a "
                  "message to itself");
    static_assert(Fault != schedule_fault::misses,
                  "ccoll: after the last step of this schedule, rank 'Rank' (see below) has something else "
                  "in the place of block 'Block': a contribution is missing, or is that of another rank");
    static_assert(Fault != schedule_fault::twice,
                  "ccoll: in this schedule, rank 'Rank' (see below) gets a contribution to block 'Block' "
                  "twice, or a block that its sender does not hold");
}

}  // namespace detail

/// True if both ends of every message agree: each names the other, with the same blocks in the same order, at
/// most `widest` of them, and no rank sends to itself. Such a schedule cannot deadlock: in every step each
/// rank posts its receive before it waits, and every receive has its send in the same step of the peer, so by
/// induction every step completes.
/// Cost: O(p * steps) calls of step_at, and O(blocks) for each message.
constexpr bool ends_match(const schedule& s, int p, int root)
{
    return detail::first_mismatch(s, p, root).fault == schedule_fault::none;
}

/// Checks that `s` does what `Collective` promises: every contribution arrives where it must, and exactly
/// once. 1 <= p <= 64.
/// Cost: O(blocks * p * steps) calls of step_at.
template <class Collective>
constexpr bool delivers(const schedule& s, int p, int root)
{
    return detail::first_fault_of_delivery<Collective>(s, p, root).fault == schedule_fault::none;
}

/// The same at compile time, with the reason: `static_assert(delivers<collective::allgather, mine, 7>());`.
/// If the schedule does not deliver on P ranks, this does not compile, and the compiler says what is wrong on
/// which rank.
template <class Collective, schedule_type Schedule, int P, int Root = 0>
consteval bool delivers()
{
    constexpr detail::found_fault found =
        detail::first_fault_of_delivery<Collective>(schedule_view<Schedule>, P, Root);
    detail::refuse_schedule<found.fault, found.rank, found.step, found.block>();
    return true;
}

}  // namespace ccoll
