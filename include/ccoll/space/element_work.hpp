// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// space/element_work.hpp - floor 3. What a call does to elements outside its schedule: it surveys input,
// copies input that is going to be overwritten, and moves a result to its place. All of it is begun in order
// on one queue of the buffers' memory space.
#pragma once

#include <ccoll/space/space.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <element T>
class element_work {
public:
    /// @param link_memory  of the transport
    element_work(const space_operations<T>& space, const codec_queue& queue, workspace& link_memory)
        : space_(space), queue_(queue), memory_(space.element_memory(link_memory))
    {}
    element_work(const element_work&) = delete;
    element_work& operator=(const element_work&) = delete;
    ~element_work()
    {
        wait();
        for (buffer_memory* const each : aside_) memory_.drop(each);
    }

    void copy(const T* from, T* to, std::size_t n) { space_.copy(queue_, from, to, n, work_); }
    void divide(const reduction<T>& op, T* values, int ranks, std::size_t n)
    {
        space_.divide(queue_, op, values, ranks, n, work_);
    }

    /// Room for n values that lives as long as this object. A call needs at most four: for scales of blocks,
    /// for copies in T, for its input, and for a second pass.
    T* room_aside(std::size_t n)
    {
        buffer_memory* const room = aside_[rooms_++] = memory_.take(std::max<std::size_t>(1, n * sizeof(T)));
        return reinterpret_cast<T*>(room->bytes.get());
    }
    /// A copy of n values there.
    const T* put_aside(const T* from, std::size_t n)
    {
        T* const to = room_aside(n);
        copy(from, to, n);
        return to;
    }

    // Scales of blocks.
    void find_scales(const T* values, std::size_t n, std::size_t block, std::uint8_t* scales)
    {
        space_.find_scales(queue_, values, n, block, scales, work_);
    }
    void divide_by_scales(const T* from, T* to, std::size_t n, std::size_t block, const std::uint8_t* scales,
                          std::uint8_t& largest)
    {
        space_.divide_by_scales(queue_, from, to, n, block, scales, largest, work_);
    }
    void multiply_by_scales(const T* from, T* to, std::size_t n, std::size_t first, std::size_t block,
                            const std::uint8_t* scales, block_ceiling ceiling)
    {
        space_.multiply_by_scales(queue_, from, to, n, first, block, scales, ceiling, work_);
    }

    // Of narrow elements; only of a call on floats.
    void widen(const narrow_elements& of, const void* from, T* to, std::size_t n)
    {
        if constexpr (std::is_same_v<T, float>) of.widen(queue_, from, to, n, work_);
    }
    void narrow(const narrow_elements& of, const T* from, void* to, std::size_t n)
    {
        if constexpr (std::is_same_v<T, float>) of.narrow(queue_, from, to, n, work_);
    }
    void look(const narrow_elements& of, const void* values, std::size_t n)
    {
        of.survey(queue_, values, n, found_, work_);
    }

    /// Starts a new survey that asks for what `wanted` says. look() adds values to it.
    void ask(const value_survey& wanted) { found_ = wanted; }
    void look(const T* values, std::size_t n) { space_.survey(queue_, values, n, found_, work_); }
    /// Valid once done() is true.
    const value_survey& found() const { return found_; }

    /// Has all of it been done? One ticket is enough to know, because work is done in order.
    bool done() { return queue_.is_done(work_); }
    void wait() { queue_.wait(work_); }
    /// The first error, or ok.
    status trouble() const { return work_.result.code; }
    void yield() { queue_.let_others_run(); }

private:
    const space_operations<T>& space_;
    codec_queue queue_;
    workspace& memory_;
    buffer_memory* aside_[4] = {};
    std::size_t rooms_ = 0;
    value_survey found_;
    codec_work work_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
