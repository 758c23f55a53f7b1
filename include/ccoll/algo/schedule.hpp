// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/schedule.hpp - floor 2. An algorithm is data: who sends which blocks to whom in step k, and what happens to what
// arrives. Nothing here knows bytes, codecs or transports.
#pragma once

#include <concepts>
#include <type_traits>

#include <ccoll/base/error.hpp>

namespace ccoll::inline CCOLL_ABI {

/// `count` blocks: `run` neighbours, then the next `run`, which begin `stride` after the first, and so on, counted round the
/// end. Block i is (first + i / run * stride + i % run) mod blocks; the last run may be shorter. {b, n} are n neighbours.
/// Preconditions: 0 <= first < blocks, run >= 1, stride >= 0, no block twice.
struct block_set {
    int first = 0, count = 0, stride = 1, run = 1;

    constexpr int at(int i, int blocks) const { return static_cast<int>((first + distance(i)) % blocks); }
    /// Cost: O(1) for a set that does not reach its first block again, O(count) for others.
    constexpr bool contains(int block, int blocks) const
    {
        if (stride >= run && distance(count - 1) < blocks) {
            const int beyond = (block - first + blocks) % blocks;
            return beyond % stride < run && beyond / stride * run + beyond % stride < count;
        }
        for (int i = 0; i < count; ++i)
            if (at(i, blocks) == block) return true;
        return false;
    }

private:
    constexpr long long distance(int i) const { return static_cast<long long>(i / run) * stride + i % run; }
};

enum class on_receive { replace, reduce };

/// What one rank does in one step. It sends what it held before the step. Blocks sent to nobody are encoded all the same:
/// a rank that keeps a result which others receive encoded must end with the bits that they decode.
struct step {
    int send_to = nobody, recv_from = nobody;
    block_set send{}, recv{};
    on_receive action = on_receive::replace;
};

/// A schedule: the vector is cut into blocks(p) blocks; every rank walks steps(p) steps. Optional members:
///   static constexpr int widest(int p)      the most blocks in one message; 1 when not said
///   static constexpr bool rotates = true    block b on rank r goes the way of block 0 on rank r - b: one block proves all
///   static constexpr int worst_block(int p, int root)
///                                           no other block is encoded more often on its way into a result, neither in sum nor on the
///                                           longest way, whatever the placement: a bound for this block is one for all
template <class S>
concept schedule_type = requires(int me, int p, int root, int k) {
    { S::blocks(p) } -> std::same_as<int>;
    { S::steps(p) } -> std::same_as<int>;
    { S::step_at(me, p, root, k) } -> std::same_as<step>;
};

/// The schedule does not say which of its blocks is the worst.
inline constexpr int unknown_block = -1;

namespace detail {
template <class S>
constexpr int widest_of(int p)
{
    if constexpr (requires { S::widest(p); }) return S::widest(p);
    else return 1;
}
template <class S>
constexpr bool rotates_of()
{
    if constexpr (requires { S::rotates; }) return S::rotates;
    else return false;
}
template <class S>
constexpr int worst_block_of(int p, int root)
{
    if constexpr (requires { S::worst_block(p, root); }) return S::worst_block(p, root);
    else return rotates_of<S>() || S::blocks(p) == 1 ? 0 : unknown_block;
}
}  // namespace detail

/// A schedule as the engine sees it: values, no type.
struct schedule {
    int (*blocks)(int p) = nullptr;
    int (*steps)(int p) = nullptr;
    step (*step_at)(int me, int p, int root, int k) = nullptr;
    int (*widest)(int p) = nullptr;
    int (*worst_block)(int p, int root) = nullptr;  ///< unknown_block when the schedule does not say
};

template <schedule_type S>
inline constexpr schedule schedule_view{&S::blocks, &S::steps, &S::step_at, &detail::widest_of<S>, &detail::worst_block_of<S>};

/// First A, then B, on the same blocks.
template <schedule_type A, schedule_type B>
struct sequence {
    static constexpr bool rotates = detail::rotates_of<A>() && detail::rotates_of<B>();
    static constexpr int widest(int p)
    {
        return detail::widest_of<A>(p) > detail::widest_of<B>(p) ? detail::widest_of<A>(p) : detail::widest_of<B>(p);
    }
    static constexpr int blocks(int p) { return A::blocks(p); }
    static constexpr int steps(int p) { return A::steps(p) + B::steps(p); }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        return k < A::steps(p) ? A::step_at(me, p, root, k) : B::step_at(me, p, root, k - A::steps(p));
    }
};

/// Which schedule does what an algorithm tag names, for one collective. Specialise it for your tag:
/// `template <> struct ccoll::schedule_for<my::Algo, ccoll::collective::allreduce> : my_schedule {};`
template <class AlgoTag, class Collective>
struct schedule_for {};

template <class AlgoTag, class Collective>
concept has_schedule = schedule_type<schedule_for<AlgoTag, Collective>>;

constexpr int ceil_log2(int p)
{
    int k = 0;
    while ((1 << k) < p) ++k;
    return k;
}

/// The largest power of two that is not above p; p >= 1.
constexpr int floor_power2(int p) { return 1 << (ceil_log2(p + 1) - 1); }

/// The largest of the messages of 1, 2, 4, ... blocks that carry p - 1 blocks together; the last one has what is left.
constexpr int largest_doubling(int p)
{
    if (p <= 2) return 1;
    const int doubled = 1 << (ceil_log2(p) - 2), rest = p - 2 * doubled;
    return doubled > rest ? doubled : rest;
}

}  // namespace ccoll::inline CCOLL_ABI
