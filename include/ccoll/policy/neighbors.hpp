// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/neighbors.hpp - floor 1. The neighbours of one rank, and in which order it exchanges parts with
// them. Each rank knows its own neighbours alone.
#pragma once

#include <span>
#include <vector>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/error.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The neighbours of rank `me`: an edge to each rank that it sends to, and one from each rank that it
/// receives from, in the order of the parts in its buffers. `nobody` in place of a rank is an edge of which
/// nothing is known but its part: it is skipped (MPI_PROC_NULL).
///
/// A rank may be a neighbour several times. Then the i-th edge to it is the i-th edge from this rank on its
/// side. In a grid the edge that leaves in one direction is the one that arrives from the other direction.
///
/// Steps are in the order of the distance to the receiver, (receiver - sender) mod p. Both ends of an edge
/// know it, and it is the same for both. So of all ranks that wait, the one at the smallest distance waits
/// for nobody that waits: no cycle, whatever the graph is.
template <class = void>  // so that a program without neighbours compiles none of it
class basic_neighbor_list {
public:
    /// Any graph. Every edge must be known at both ends.
    /// @param sources, destinations   ranks 0 .. p - 1, or nobody
    static basic_neighbor_list graph(int me, int p, std::span<const int> sources,
                                     std::span<const int> destinations)
    {
        return {me, p, sources, destinations, false};
    }
    /// A grid of ranks, of which the last coordinate grows fastest, as MPI_Cart_create numbers them. Parts
    /// are in the order: dimension 0 down, dimension 0 up, dimension 1 down, ...
    /// @param extents   ranks in each dimension; their product is p
    /// @param periods   not 0 for a dimension that is closed to a ring; as many as extents
    static basic_neighbor_list grid(int me, std::span<const int> extents, std::span<const int> periods)
    {
        int p = 1;
        for (const int n : extents) p *= n;
        std::vector<int> around;
        int stride = p;
        for (std::size_t d = 0; d < extents.size(); ++d) {
            const int n = extents[d];
            stride /= n;
            const int at = me / stride % n;
            for (const int to : {at - 1, at + 1}) {
                const bool inside = to >= 0 && to < n;
                around.push_back(inside || periods[d] != 0 ? me + ((to + n) % n - at) * stride : nobody);
            }
        }
        return {me, p, around, around, true};
    }

    /// How many parts the send buffer and the receive buffer have, those of nobody included.
    int send_parts() const { return static_cast<int>(to_.size()); }
    int recv_parts() const { return static_cast<int>(from_.size()); }
    int destination(int part) const { return to_[index(part)]; }
    int source(int part) const { return from_[index(part)]; }

    // ---- as the engine sees it. Blocks: what is sent, then what is received, then what the rank sends to
    // itself. ----

    /// @param gathers  all neighbours get the same part, which is one block
    int blocks(bool gathers) const { return std::max(1, first_received(gathers) + size(in_) + size(self_)); }
    int steps() const { return size(pairs_); }
    /// One block to a rank and one from another, or the same. Where there is nobody, the block says nothing.
    struct meeting {
        int send_to = nobody, send_block = 0, recv_from = nobody, recv_block = 0;
    };
    meeting step_at(bool gathers, int k) const
    {
        const pair& now = pairs_[index(k)];
        meeting m;
        if (now.out >= 0) {
            m.send_to = out_[index(now.out)].peer;
            m.send_block = gathers ? 0 : now.out;
        }
        if (now.in >= 0) {
            m.recv_from = in_[index(now.in)].peer;
            m.recv_block = first_received(gathers) + now.in;
        }
        return m;
    }
    /// Does the rank have this block before the call, and after it?
    bool gives(bool gathers, int b) const { return b < first_received(gathers) || is_own(gathers, b); }
    bool takes(bool gathers, int b) const
    {
        return b >= first_received(gathers) && b < first_received(gathers) + size(in_) + size(self_);
    }
    /// Where block b is in the buffers; for blocks that the rank gives, and takes. With `gathers` the send
    /// buffer has one part.
    int send_part(int b) const
    {
        return b < size(out_) ? out_[index(b)].part : self_[index(b - size(out_) - size(in_))].from;
    }
    int recv_part(bool gathers, int b) const
    {
        const int i = b - first_received(gathers);
        return i < size(in_) ? in_[index(i)].part : self_[index(i - size(in_))].to;
    }

private:
    struct edge {
        int distance, number;  // of equal edges
        int peer, part;
    };
    struct pair {
        int out, in;  // -1: none
    };
    struct own_part {
        int from, to;
    };

    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    template <class V>
    static int size(const V& v)
    {
        return static_cast<int>(v.size());
    }
    static bool before(const edge& a, const edge& b)
    {
        return a.distance != b.distance ? a.distance < b.distance : a.number < b.number;
    }
    int first_received(bool gathers) const { return gathers ? 1 : size(out_); }
    bool is_own(bool gathers, int b) const
    {
        const int i = b - first_received(gathers) - size(in_);
        return i >= 0 && i < size(self_);
    }

    /// @param opposite  an edge that leaves with part i arrives as part i ^ 1
    basic_neighbor_list(int me, int p, std::span<const int> sources, std::span<const int> destinations,
                        bool opposite)
        : to_(destinations.begin(), destinations.end()), from_(sources.begin(), sources.end())
    {
        const auto edges = [&](const std::vector<int>& peers, bool leave) {
            std::vector<edge> all;
            for (int i = 0; i < size(peers); ++i) {
                const int peer = peers[index(i)];
                if (peer == nobody) continue;
                const auto rank_of = [&](int j) { return opposite && !leave ? j ^ 1 : j; };
                int number = 0;
                for (int j = 0; j < size(peers); ++j)
                    number += peers[index(j)] == peer && rank_of(j) < rank_of(i);
                all.push_back({(leave ? peer - me + p : me - peer + p) % p, number, peer, i});
            }
            // Not std::sort, for which every file would include <algorithm>. The loop above takes as long.
            for (std::size_t i = 1; i < all.size(); ++i)
                for (std::size_t j = i; j > 0 && before(all[j], all[j - 1]); --j)
                    std::swap(all[j], all[j - 1]);
            return all;
        };
        out_ = edges(to_, true);
        in_ = edges(from_, false);
        while (!out_.empty() && !in_.empty() && out_.front().distance == 0 && in_.front().distance == 0) {
            self_.push_back({out_.front().part, in_.front().part});
            out_.erase(out_.begin());
            in_.erase(in_.begin());
        }
        for (int o = 0, i = 0; o < size(out_) || i < size(in_);) {
            const bool sends = i == size(in_) || (o < size(out_) && !before(in_[index(i)], out_[index(o)]));
            const bool receives =
                o == size(out_) || (i < size(in_) && !before(out_[index(o)], in_[index(i)]));
            pairs_.push_back({sends ? o++ : -1, receives ? i++ : -1});
        }
    }

    std::vector<int> to_, from_;
    std::vector<edge> out_, in_;
    std::vector<own_part> self_;
    std::vector<pair> pairs_;
};
using neighbor_list = basic_neighbor_list<>;

}  // namespace ccoll::inline CCOLL_ABI
