// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/exact_rest.hpp - floor 3. The slices of a vector whose encoded sums cannot be held. All ranks find the same ones, because whether
// a sum can be held does not depend on the order. They reduce these slices exactly in a second pass, as one short vector.
#pragma once

#include <cstdlib>
#include <utility>
#include <vector>

#include <ccoll/engine/element_work.hpp>
#include <ccoll/engine/task.hpp>

namespace ccoll::inline CCOLL_ABI {

template <element T>
class exact_rest {
public:
    /// Is the second pass of a part of the vector under way?
    bool any() const noexcept { return !parts_.empty(); }

    static std::size_t elements_of(const std::vector<part>& parts) noexcept
    {
        std::size_t n = 0;
        for (const part& each : parts) n += each.count;
        return n;
    }
    std::size_t chunks_of(std::size_t step) const noexcept
    {
        std::size_t chunks = 0;
        for (const part& each : parts_) chunks += each.count / step + (each.count % step != 0);
        return chunks;
    }

    /// Begins to copy the input of the slices to one place.
    /// @param parts  the slices, in any order    @param all  the buffers of the call, which do not overlap
    /// @return       the buffers of the second pass, which live as long as `elements`
    call_buffers<T> begin(std::vector<part> parts, const call_buffers<T>& all, element_work<T>& elements)
    {
        parts_ = std::move(parts);
        all_ = all;
        sort_parts();
        const std::size_t n = elements_of(parts_), before_result = (n + part_alignment - 1) / part_alignment * part_alignment;
        T* const input = elements.room_aside(before_result + n);
        call_buffers<T> rest = all;
        rest.send = input;
        rest.recv = input + before_result;
        rest.count = rest.own = n;
        std::size_t at = 0;
        for (const part& each : parts_) elements.copy(all.send + each.offset, input + std::exchange(at, at + each.count), each.count);
        result_ = rest.recv;
        return rest;
    }
    /// Begins to copy the results to their places. @return the buffers of the call
    call_buffers<T> end(element_work<T>& elements)
    {
        std::size_t at = 0;
        for (const part& each : std::exchange(parts_, {}))
            elements.copy(result_ + std::exchange(at, at + each.count), all_.recv + each.offset, each.count);
        return all_;
    }

private:
    /// Not std::sort, because <algorithm> costs every call 0.06 s of compiling.
    void sort_parts() noexcept
    {
        std::qsort(parts_.data(), parts_.size(), sizeof(part), [](const void* a, const void* b) {
            const std::size_t x = static_cast<const part*>(a)->offset, y = static_cast<const part*>(b)->offset;
            return x < y ? -1 : int{x > y};
        });
    }

    std::vector<part> parts_;
    call_buffers<T> all_;
    const T* result_ = nullptr;  ///< of the second pass
};

}  // namespace ccoll
