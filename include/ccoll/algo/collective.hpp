// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/collective.hpp - floor 2. What each collective promises, as data: which rank holds which blocks before
// and after the call, and whether a user's buffer holds the whole vector or one block. Schedules are checked
// against these promises (algo/walk.hpp). The engine takes exactly these blocks from the send buffer, and
// writes exactly these blocks to the receive buffer.
#pragma once

#include <ccoll/algo/schedule.hpp>

namespace ccoll::inline CCOLL_ABI {

/// What a user's buffer holds. `whole`: all blocks, in order.  `own`: only the block whose number is the
/// rank.
enum class extent { whole, own };

namespace collective {

constexpr block_set all(int blocks) { return {0, blocks, 1}; }
constexpr block_set none() { return {}; }

/// In place of a rank: the contributions of all ranks that have one, of the ranks up to this one, and of
/// those before it.
inline constexpr int everybody = -1, up_to_own = -2, before_own = -3;

/// Does the block that rank `me` ends with hold what `other` contributed?
/// @param origin  a rank, or one of the above
constexpr bool holds(int origin, int me, int other)
{
    if (origin == everybody) return true;
    return origin == up_to_own ? other <= me : origin == before_own ? other < me : other == origin;
}

/// Block b is part b of the vector on every rank, and its result combines the contributions of all ranks that
/// had it before the call.
struct numbered_by_part {
    /// Do some ranks end with the contributions of a part of the ranks? Others then do not hear of what went
    /// wrong on these.
    static constexpr bool partial = false;
    /// Where a block lies in a buffer that holds the whole vector: the part that it is read from, and the
    /// part that the result goes to.
    static constexpr int send_part(int, int, int block) { return block; }
    static constexpr int recv_part(int, int, int block) { return block; }
    /// The rank whose contribution the block must hold after the call.
    static constexpr int origin(int, int, int) { return everybody; }
};
/// As above, for prefixes: contributions are combined in the order of the ranks.
struct prefix_of_ranks : numbered_by_part {
    static constexpr bool partial = true, reduces = true, rooted = false;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
};

struct allreduce : numbered_by_part {
    static constexpr const char *name = "allreduce", *varied_name = name;
    static constexpr bool reduces = true, rooted = false;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct reduce : numbered_by_part {
    static constexpr const char *name = "reduce", *varied_name = name;
    static constexpr bool reduces = true, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int me, int root, int blocks)
    {
        return me == root ? all(blocks) : none();
    }
};
struct reduce_scatter : numbered_by_part {
    static constexpr const char *name = "reduce_scatter", *varied_name = "reduce_scatterv";
    static constexpr bool reduces = true, rooted = false;
    static constexpr extent send = extent::whole, recv = extent::own;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int me, int, int) { return {me, 1, 1}; }
};
struct allgather : numbered_by_part {
    static constexpr const char *name = "allgather", *varied_name = "allgatherv";
    static constexpr bool reduces = false, rooted = false;
    static constexpr extent send = extent::own, recv = extent::whole;
    static constexpr block_set before(int me, int, int) { return {me, 1, 1}; }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct bcast : numbered_by_part {
    static constexpr const char *name = "bcast", *varied_name = name;
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int me, int root, int blocks)
    {
        return me == root ? all(blocks) : none();
    }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct scatter : numbered_by_part {
    static constexpr const char *name = "scatter", *varied_name = "scatterv";
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::own;
    static constexpr block_set before(int me, int root, int blocks)
    {
        return me == root ? all(blocks) : none();
    }
    static constexpr block_set after(int me, int, int) { return {me, 1, 1}; }
};
struct gather : numbered_by_part {
    static constexpr const char *name = "gather", *varied_name = "gatherv";
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::own, recv = extent::whole;
    static constexpr block_set before(int me, int, int) { return {me, 1, 1}; }
    static constexpr block_set after(int me, int root, int blocks)
    {
        return me == root ? all(blocks) : none();
    }
};

/// Rank r ends with the reduction of the ranks 0 to r.
struct scan : prefix_of_ranks {
    static constexpr const char *name = "scan", *varied_name = name;
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
    static constexpr int origin(int, int, int) { return up_to_own; }
};
/// Rank r ends with the reduction of the ranks 0 to r - 1, and rank 0 with nothing.
struct exscan : prefix_of_ranks {
    static constexpr const char *name = "exscan", *varied_name = name;
    static constexpr block_set after(int me, int, int blocks) { return me == 0 ? none() : all(blocks); }
    static constexpr int origin(int, int, int) { return before_own; }
};

/// Blocks are numbered by distance. Before the call, block j is what this rank sends to the rank j after it;
/// after the call, it is what came from the rank j before it. Both ends of a message therefore use the same
/// number for a block, even where it only passes through (Bruck). Block 0 stays where it is. A block must be
/// sent before another one takes its place, or in the same step.
struct alltoall {
    static constexpr const char *name = "alltoall", *varied_name = "alltoallv";
    static constexpr bool reduces = false, rooted = false, partial = false;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
    static constexpr int send_part(int me, int p, int block) { return (me + block) % p; }
    static constexpr int recv_part(int me, int p, int block) { return (me - block + p) % p; }
    static constexpr int origin(int me, int p, int block) { return recv_part(me, p, block); }
};

}  // namespace collective
}  // namespace ccoll
