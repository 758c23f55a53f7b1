// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/not_held.hpp - floor 3. The parts of a vector whose encoded sums could not be held, on ranks that
// all have the whole result. They have found the same ones, and reduce them exactly, one after another.
#pragma once

#include <cstdlib>
#include <vector>

#include <ccoll/run/task.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <element T>
class parts_not_held {
public:
    parts_not_held() = default;
    /// @param found  in any order    @param all  the buffers of the call
    parts_not_held(const std::vector<part>& found, const call_buffers<T>& all) : all_(all)
    {
        std::vector<part> parts = found;
        // Not std::sort, because <algorithm> costs every call 0.06 s of compiling.
        std::qsort(parts.data(), parts.size(), sizeof(part), [](const void* a, const void* b) {
            const std::size_t x = static_cast<const part*>(a)->offset,
                              y = static_cast<const part*>(b)->offset;
            return x < y ? -1 : int{x > y};
        });
        for (const part& each : parts) {
            elements_ += each.count;
            if (!parts_.empty() && parts_.back().offset + parts_.back().count == each.offset)
                parts_.back().count += each.count;
            else parts_.push_back(each);
        }
    }

    bool began() const noexcept { return next_ > 0; }
    bool more() const noexcept { return next_ < parts_.size(); }
    std::size_t elements() const noexcept { return elements_; }
    /// Gives `to` the buffers of the next part, or of the whole call if there is none.
    bool next(call_buffers<T>& to) noexcept
    {
        if (!began() && !more()) return false;
        to = all_;
        if (!more()) return false;
        const part& one = parts_[next_++];
        to.send += one.offset;
        to.recv += one.offset;
        to.count = one.count;
        return true;
    }

private:
    std::vector<part> parts_;
    std::size_t next_ = 0, elements_ = 0;
    call_buffers<T> all_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
