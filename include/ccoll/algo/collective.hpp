// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/collective.hpp - floor 2. What each collective promises, as data: who holds which blocks before and after, and
// whether a user's buffer holds the whole vector or one block. Every schedule is proved against this, and the engine
// begins and finishes exactly the blocks that it names.
#pragma once

#include <ccoll/algo/schedule.hpp>

namespace ccoll::inline CCOLL_ABI {

/// `whole`: the buffer holds all blocks, block b at its place.  `own`: it holds block `rank` alone.
enum class extent { whole, own };

namespace collective {

constexpr block_set all(int blocks) { return {0, blocks, 1}; }
constexpr block_set none() { return {}; }

/// Every contribution that there is.
inline constexpr int everybody = -1;

/// Block b is part b of the vector, wherever it is, and in the end of everybody who had it before.
struct numbered_by_part {
    /// Which part of a buffer that holds the whole vector a block is: when it is read, and when the result is written.
    static constexpr int send_part(int, int, int block) { return block; }
    static constexpr int recv_part(int, int, int block) { return block; }
    /// Whose contribution the block must be in the end.
    static constexpr int origin(int, int, int) { return everybody; }
};

struct allreduce : numbered_by_part {
    static constexpr const char* name = "allreduce";
    static constexpr bool reduces = true, rooted = false;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct reduce : numbered_by_part {
    static constexpr const char* name = "reduce";
    static constexpr bool reduces = true, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int me, int root, int blocks) { return me == root ? all(blocks) : none(); }
};
struct reduce_scatter : numbered_by_part {
    static constexpr const char* name = "reduce_scatter";
    static constexpr bool reduces = true, rooted = false;
    static constexpr extent send = extent::whole, recv = extent::own;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int me, int, int) { return {me, 1, 1}; }
};
struct allgather : numbered_by_part {
    static constexpr const char* name = "allgather";
    static constexpr bool reduces = false, rooted = false;
    static constexpr extent send = extent::own, recv = extent::whole;
    static constexpr block_set before(int me, int, int) { return {me, 1, 1}; }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct bcast : numbered_by_part {
    static constexpr const char* name = "bcast";
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int me, int root, int blocks) { return me == root ? all(blocks) : none(); }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct scatter : numbered_by_part {
    static constexpr const char* name = "scatter";
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::own;
    static constexpr block_set before(int me, int root, int blocks) { return me == root ? all(blocks) : none(); }
    static constexpr block_set after(int me, int, int) { return {me, 1, 1}; }
};
struct gather : numbered_by_part {
    static constexpr const char* name = "gather";
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::own, recv = extent::whole;
    static constexpr block_set before(int me, int, int) { return {me, 1, 1}; }
    static constexpr block_set after(int me, int root, int blocks) { return me == root ? all(blocks) : none(); }
};

/// Blocks are numbered by distance: block j is first what this rank sends to the rank j after it, in the end what it got from
/// the rank j before it. So both ends of a message call a block the same, also where it only passes through (Bruck); block 0
/// stays. A block must have left before, or in the step in which, another takes its place.
struct alltoall {
    static constexpr const char* name = "alltoall";
    static constexpr bool reduces = false, rooted = false;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
    static constexpr int send_part(int me, int p, int block) { return (me + block) % p; }
    static constexpr int recv_part(int me, int p, int block) { return (me - block + p) % p; }
    static constexpr int origin(int me, int p, int block) { return recv_part(me, p, block); }
};

}  // namespace collective
}  // namespace ccoll
