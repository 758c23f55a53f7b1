// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the arguments of MPI to a call in elements. A rank whose type has gaps, or whose elements are out of
// order, works on copies: that is its own affair, because ranks may describe the same elements by different
// types.
#pragma once

#include <memory>
#include <vector>

#include <ccoll/dynamic/packed_items.hpp>

#include "arguments.hpp"

namespace preload {

/// One side of a call, the blocks that it sends or receives on this rank.
class side {
public:
    /// @param blocks  counts of items, and where each begins, in items
    /// @param copies  also where the elements have no gaps
    side(void* users, MPI_Datatype type, std::vector<long long> blocks, std::vector<long long> at,
         bool copies = false);
    side() = default;

    void pack();
    void unpack();
    /// Null without memory for the copy: the call then fails on all ranks, and none waits for this one.
    void* elements() { return copied_ ? copy_.get() : users_; }
    const std::vector<long long>& blocks() const { return blocks_; }  ///< in elements
    const std::vector<long long>& at() const { return at_; }

private:
    void* users_ = nullptr;
    bool copied_ = false;
    std::unique_ptr<std::byte[]> copy_;
    ccoll::detail::packed_items type_;
    std::vector<long long> blocks_, at_, items_, items_at_;
};

/// The buffers of one call, until it has ended.
class buffers {
public:
    buffers(const arguments& a, int me, int p);
    buffers(const buffers&) = delete;
    buffers& operator=(const buffers&) = delete;

    /// Packs what must be packed, at each start of the call.
    void begin();
    void end() { recv_.unpack(); }
    const dynamic::call& in_elements() const { return call_; }
    dynamic::call& in_elements() { return call_; }

private:
    side send_, recv_;
    bool packs_recv_ = false;
    std::vector<long long> parts_;  ///< of a reduce_scatter
    dynamic::call call_;
};

}  // namespace preload
