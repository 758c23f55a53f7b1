// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/prefix.hpp - floor 2. Prefixes over the ranks: Chain passes the prefix from rank to rank,
// RecursiveDoubling doubles its length in every step. The vector is one block, which the engine cuts into
// slices.
//
// A schedule has one value per block and rank, and an exclusive prefix needs two: the one that a rank ends
// with, and the one that it passes on. So exscan first moves every vector to the next rank, and then is an
// inclusive prefix without rank 0. That sends each vector once more, all at the same time, and takes no step
// more than a scan with the line.
// Source: Hillis and Steele, CACM 1986 (doubling); MPI 4.1, section 6.11.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Cost: p - 1 steps; every rank but the last one sends the vector once.
struct chain_scan {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int, int, int k)
    {
        if (me == k) return {me + 1, nobody, {0, 1}, {}};
        if (me == k + 1) return {nobody, me - 1, {}, {0, 1}, on_receive::reduce};
        return {};
    }
};

/// In step k the rank at distance 2^k gets the prefix of up to 2^k ranks. Cost: ceil(log2 p) steps; rank 0
/// sends the vector in each.
struct doubling_scan {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr step step_at(int me, int p, int, int k)
    {
        const int distance = 1 << k;
        step now;
        if (me + distance < p) {
            now.send_to = me + distance;
            now.send = {0, 1};
        }
        if (me - distance >= 0) {
            now.recv_from = me - distance;
            now.recv = {0, 1};
            now.action = on_receive::reduce;
        }
        return now;
    }
};

/// A step in which every vector moves to the next rank, and then an inclusive prefix of the ranks from 1 on.
/// Cost: those of `Inclusive` for p - 1 ranks, and one step in which every rank but the last one sends the
/// vector.
template <schedule_type Inclusive>
struct moved_on {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p > 1 ? 1 + Inclusive::steps(p - 1) : 0; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        step now;
        if (k == 0) {
            if (me + 1 < p) {
                now.send_to = me + 1;
                now.send = {0, 1};
            }
            if (me > 0) {
                now.recv_from = me - 1;
                now.recv = {0, 1};
            }
        } else if (me > 0) {
            now = Inclusive::step_at(me - 1, p - 1, root, k - 1);
            if (now.send_to != nobody) ++now.send_to;
            if (now.recv_from != nobody) ++now.recv_from;
        }
        return now;
    }
};

template <> struct schedule_for<policies::Algo::Chain, collective::scan> : chain_scan {};
template <> struct schedule_for<policies::Algo::Chain, collective::exscan> : moved_on<chain_scan> {};
template <> struct schedule_for<policies::Algo::RecursiveDoubling, collective::scan> : doubling_scan {};
template <> struct schedule_for<policies::Algo::RecursiveDoubling, collective::exscan>
    : moved_on<doubling_scan> {};

}  // namespace ccoll
