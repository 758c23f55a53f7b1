// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/collective.hpp - floor 2. What each collective promises, as data: who holds which blocks before and after, and
// whether a user's buffer holds the whole vector or one block. Every schedule is proved against this, and the engine
// begins and finishes exactly the blocks that it names.
#pragma once

#include <ccoll/algo/schedule.hpp>

namespace ccoll {

/// `whole`: the buffer holds all blocks, block b at its place.  `own`: it holds block `rank` alone.
enum class extent { whole, own };

namespace collective {

constexpr block_set all(int blocks) { return {0, blocks, 1}; }
constexpr block_set none() { return {}; }

struct allreduce {
    static constexpr const char* name = "allreduce";
    static constexpr bool reduces = true, rooted = false;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct reduce {
    static constexpr const char* name = "reduce";
    static constexpr bool reduces = true, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int me, int root, int blocks) { return me == root ? all(blocks) : none(); }
};
struct reduce_scatter {
    static constexpr const char* name = "reduce_scatter";
    static constexpr bool reduces = true, rooted = false;
    static constexpr extent send = extent::whole, recv = extent::own;
    static constexpr block_set before(int, int, int blocks) { return all(blocks); }
    static constexpr block_set after(int me, int, int) { return {me, 1, 1}; }
};
struct allgather {
    static constexpr const char* name = "allgather";
    static constexpr bool reduces = false, rooted = false;
    static constexpr extent send = extent::own, recv = extent::whole;
    static constexpr block_set before(int me, int, int) { return {me, 1, 1}; }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct bcast {
    static constexpr const char* name = "bcast";
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::whole;
    static constexpr block_set before(int me, int root, int blocks) { return me == root ? all(blocks) : none(); }
    static constexpr block_set after(int, int, int blocks) { return all(blocks); }
};
struct scatter {
    static constexpr const char* name = "scatter";
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::whole, recv = extent::own;
    static constexpr block_set before(int me, int root, int blocks) { return me == root ? all(blocks) : none(); }
    static constexpr block_set after(int me, int, int) { return {me, 1, 1}; }
};
struct gather {
    static constexpr const char* name = "gather";
    static constexpr bool reduces = false, rooted = true;
    static constexpr extent send = extent::own, recv = extent::whole;
    static constexpr block_set before(int me, int, int) { return {me, 1, 1}; }
    static constexpr block_set after(int me, int root, int blocks) { return me == root ? all(blocks) : none(); }
};

}  // namespace collective
}  // namespace ccoll
