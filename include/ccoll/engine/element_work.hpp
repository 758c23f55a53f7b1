// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/element_work.hpp - floor 3. What a call does to elements outside of its schedule: it looks at input, puts input aside that is
// going to be overwritten, and moves a result to its place. Begun in order on one queue of the buffers' memory space.
#pragma once

#include <ccoll/engine/space.hpp>

namespace ccoll::inline CCOLL_ABI {

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
        memory_.drop(aside_);
    }

    void copy(const T* from, T* to, std::size_t n) { space_.copy(queue_, from, to, n, work_); }
    void divide(void (*by)(T*, int, std::size_t), T* values, int ranks, std::size_t n)
    {
        space_.divide(queue_, by, values, ranks, n, work_);
    }

    /// A copy of n values, which lives as long as this object. One at a time.
    const T* put_aside(const T* from, std::size_t n)
    {
        memory_.drop(aside_);
        aside_ = memory_.take(std::max<std::size_t>(1, n * sizeof(T)));
        T* const to = reinterpret_cast<T*>(aside_->bytes.get());
        copy(from, to, n);
        return to;
    }

    /// Starts a new survey that wants what `wanted` says. look() adds values to it.
    void ask(const value_survey& wanted) { found_ = wanted; }
    void look(const T* values, std::size_t n) { space_.survey(queue_, values, n, found_, work_); }
    /// Once done() is true.
    const value_survey& found() const { return found_; }

    /// Is all of it done? One ticket tells, since work is done in order.
    bool done() { return queue_.is_done(work_); }
    void wait() { queue_.wait(work_); }
    /// What went wrong, if anything did.
    status trouble() const { return work_.result.code; }
    void yield() { queue_.let_others_run(); }

private:
    const space_operations<T>& space_;
    codec_queue queue_;
    workspace& memory_;
    buffer_memory* aside_ = nullptr;
    value_survey found_;
    codec_work work_;
};

}  // namespace ccoll
