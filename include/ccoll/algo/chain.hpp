// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/chain.hpp - floor 2. Chain: the ranks stand in a line that begins at the root; slices follow each other down it (bcast)
// or up it (reduce). p - 1 steps, but every rank sends each byte once: for long vectors on few ranks the fastest way.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The whole vector in one block; lanes fill the line.
struct chain_bcast {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const int place = (me - root + p) % p;
        if (place == k) return {(me + 1) % p, nobody, {0, 1}, {}};
        if (place == k + 1) return {nobody, (me + p - 1) % p, {}, {0, 1}};
        return {};
    }
};

/// The bcast backwards: the end of the line begins.
struct chain_reduce {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const int place = (me - root + p) % p, last = p - 1 - k;
        if (place == last) return {(me + p - 1) % p, nobody, {0, 1}, {}};
        if (place == last - 1) return {nobody, (me + 1) % p, {}, {0, 1}, on_receive::reduce};
        return {};
    }
};

template <> struct schedule_for<policies::Algo::Chain, collective::bcast> : chain_bcast {};
template <> struct schedule_for<policies::Algo::Chain, collective::reduce> : chain_reduce {};

}  // namespace ccoll
