// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/schedule.hpp - floor 2. An algorithm is data: which rank sends which blocks to whom in step k, and
// what is done with the blocks that arrive. Nothing here knows about bytes, codecs or transports.
#pragma once

#include <bit>
#include <concepts>
#include <type_traits>

#include <ccoll/base/error.hpp>

namespace ccoll::inline CCOLL_ABI {

/// A set of `count` blocks in runs of `run` consecutive blocks. Each run begins `stride` blocks after the one
/// before; block numbers wrap round at the end of the vector, and the last run may be shorter. The i-th block
/// is (first + i / run * stride + i % run) mod blocks.
/// {b, n} is n consecutive blocks.
/// Preconditions: 0 <= first < blocks, run >= 1, stride >= 0, and no block appears twice.
struct block_set {
    int first = 0, count = 0, stride = 1, run = 1;

    /// The number of the i-th block of the set, in a vector of `blocks` blocks.
    constexpr int at(int i, int blocks) const
    {
        if (i == 0) return first;  // most sets have one block, and a division costs more than the rest
        const long long b = first + distance(i);
        return static_cast<int>(b < blocks ? b : b % blocks);
    }
    /// Whether block `block` is in the set. Cost: O(1) for a set that does not wrap round past its first
    /// block, O(count) for others.
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
    constexpr long long distance(int i) const
    {
        return run == 1 ? static_cast<long long>(i) * stride
                        : static_cast<long long>(i / run) * stride + i % run;
    }
};

/// What happens to a block when a message for it arrives: the message replaces it, or is combined with it by
/// the operation.
enum class on_receive { replace, reduce };

/// What one rank does in one step. It sends what it held before the step. Blocks that are sent to nobody are
/// encoded all the same, because a rank that keeps a result which other ranks receive in encoded form must
/// end with the bits that they decode.
struct step {
    int send_to = nobody, recv_from = nobody;
    block_set send{}, recv{};
    on_receive action = on_receive::replace;
};

/// A schedule cuts the vector into blocks(p) blocks, and every rank goes through steps(p) steps. Optional
/// members:
///   static constexpr int widest(int p)      the largest number of blocks in one message; 1 if not given
///   static constexpr bool rotates = true    block b takes the same path from rank r as block 0 does from
///                                           rank r - b, so what holds for block 0 holds for every block
///   static constexpr int worst_block(int p, int root)
///                                           a block that is encoded at least as often as any other on its
///                                           way into a result, both in sum and on the longest path, with
///                                           every placement; an error bound for it holds for every block
template <class S>
concept schedule_type = requires(int me, int p, int root, int k) {
    { S::blocks(p) } -> std::same_as<int>;
    { S::steps(p) } -> std::same_as<int>;
    { S::step_at(me, p, root, k) } -> std::same_as<step>;
};

/// In place of a block: the schedule does not say which of its blocks is the worst.
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

/// A schedule as the engine sees it: values instead of a type, so that the engine is not compiled anew for
/// each schedule.
struct schedule {
    int (*blocks)(int p) = nullptr;
    int (*steps)(int p) = nullptr;
    step (*step_at)(int me, int p, int root, int k) = nullptr;
    int (*widest)(int p) = nullptr;
    int (*worst_block)(int p, int root) = nullptr;  ///< unknown_block if the schedule does not say
    bool rotates = false;                           ///< so the schedule says
};

template <schedule_type S>
inline constexpr schedule schedule_view{&S::blocks,
                                        &S::steps,
                                        &S::step_at,
                                        &detail::widest_of<S>,
                                        &detail::worst_block_of<S>,
                                        detail::rotates_of<S>()};

/// The steps of A, then the steps of B, on the same blocks.
template <schedule_type A, schedule_type B>
struct sequence {
    static constexpr bool rotates = detail::rotates_of<A>() && detail::rotates_of<B>();
    static constexpr int widest(int p)
    {
        return detail::widest_of<A>(p) > detail::widest_of<B>(p) ? detail::widest_of<A>(p)
                                                                 : detail::widest_of<B>(p);
    }
    static constexpr int blocks(int p) { return A::blocks(p); }
    static constexpr int steps(int p) { return A::steps(p) + B::steps(p); }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        return k < A::steps(p) ? A::step_at(me, p, root, k) : B::step_at(me, p, root, k - A::steps(p));
    }
};

/// The schedule that an algorithm tag stands for in one collective. Specialise it for a tag of yours:
/// `template <> struct ccoll::schedule_for<my::Algo, ccoll::collective::allreduce> : my_schedule {};`
template <class AlgoTag, class Collective>
struct schedule_for {};

template <class AlgoTag, class Collective>
concept has_schedule = schedule_type<schedule_for<AlgoTag, Collective>>;

/// The smallest k with 2^k >= p.
constexpr int ceil_log2(int p)
{
    return p > 1 ? static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1))) : 0;
}

/// The largest power of two that is at most p; p >= 1.
constexpr int floor_power2(int p) { return 1 << (ceil_log2(p + 1) - 1); }

/// The blocks in the largest of the messages of 1, 2, 4, ... blocks that carry p - 1 blocks together. The
/// last message carries the rest.
constexpr int largest_doubling(int p)
{
    if (p <= 2) return 1;
    const int doubled = 1 << (ceil_log2(p) - 2), rest = p - 2 * doubled;
    return doubled > rest ? doubled : rest;
}

}  // namespace ccoll::inline CCOLL_ABI
