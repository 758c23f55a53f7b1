// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/schedule.hpp - floor 2. An algorithm is data: who sends which blocks to whom in step k, and what happens to what
// arrives. Nothing here knows bytes, codecs or transports.
#pragma once

#include <concepts>
#include <type_traits>

#include <ccoll/base/error.hpp>

namespace ccoll {

/// `count` blocks from `first` on, `stride` apart, counted round the end: block i is (first + i * stride) mod blocks.
struct block_set {
    int first = 0, count = 0, stride = 1;

    constexpr int at(int i, int blocks) const { return static_cast<int>((first + static_cast<long long>(i) * stride) % blocks); }
    constexpr bool contains(int block, int blocks) const
    {
        if (stride == 1) return (block - first + blocks) % blocks < count;
        for (int i = 0; i < count; ++i)
            if (at(i, blocks) == block) return true;
        return false;
    }
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
template <class S>
concept schedule_type = requires(int me, int p, int root, int k) {
    { S::blocks(p) } -> std::same_as<int>;
    { S::steps(p) } -> std::same_as<int>;
    { S::step_at(me, p, root, k) } -> std::same_as<step>;
};

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
}  // namespace detail

/// A schedule as the engine sees it: values, no type.
struct schedule {
    int (*blocks)(int p) = nullptr;
    int (*steps)(int p) = nullptr;
    step (*step_at)(int me, int p, int root, int k) = nullptr;
    int (*widest)(int p) = nullptr;
    bool rotates = false;
};

template <schedule_type S>
inline constexpr schedule schedule_view{&S::blocks, &S::steps, &S::step_at, &detail::widest_of<S>, detail::rotates_of<S>()};

/// First A, then B, on the same blocks.
template <schedule_type A, schedule_type B>
struct sequence {
    static constexpr bool rotates = detail::rotates_of<A>() && detail::rotates_of<B>();
    static constexpr int widest(int p) { return detail::widest_of<A>(p) > detail::widest_of<B>(p) ? detail::widest_of<A>(p) : detail::widest_of<B>(p); }
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

}  // namespace ccoll
