// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/lane.cuh - floor 4. The queue of a lane on a device: a stream, what has been begun on it, and its working memory. The host never
// waits for it, except where pinned memory has to grow.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <ccoll/codec/codec_queue.hpp>
#include <ccoll/cuda/runtime.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// Belongs to one thread, and to the device that was current when that thread first used it.
class lane_of_device {
public:
    lane_of_device() = default;
    lane_of_device(const lane_of_device&) = delete;
    lane_of_device& operator=(const lane_of_device&) = delete;
    ~lane_of_device()
    {
        if (stream_ == nullptr) return;
        static_cast<void>(cudaStreamSynchronize(stream_));
        for (stream_memory* each : {&scratch_, &staged_[0], &staged_[1], &elements_}) each->free(stream_);
        for (const auto& each : all_) static_cast<void>(cudaEventDestroy(each->done));
        static_cast<void>(cudaStreamDestroy(stream_));
    }

    /// The queue of lane `which` of this thread.
    static codec_queue queue(std::size_t which) noexcept
    {
        static thread_local std::array<lane_of_device, most_lanes> lanes;
        return {&lanes[which % most_lanes], nullptr,
                [](void* self, codec_work& work) noexcept { return static_cast<lane_of_device*>(self)->test(work); },
                [](void*) noexcept {}};
    }
    static lane_of_device& of(const codec_queue& q) noexcept { return *static_cast<lane_of_device*>(q.self); }

    /// Begins a piece of work. @param f  (outcome*) -> cudaError_t begins it on stream(); somebody on that stream fills in the outcome,
    /// which is empty before
    template <class Function>
    void begin(codec_work& work, Function f) noexcept
    {
        if (!work.done()) forgotten_.push_back(work.ticket);  // the last of its jobs tells
        work.ticket = ++tickets_;
#if defined(__cpp_exceptions)
        try {
            enqueue(work.ticket, f);
        } catch (...) {
            fail(work.ticket);
        }
#else
        enqueue(work.ticket, f);
#endif
    }

    cudaStream_t stream() const noexcept { return stream_; }
    /// What kernels of one launch tell each other; @see scratch
    cudaError_t grow_scratch(std::size_t chunks) { return scratch_.grow(scratch::bytes_of(chunks), stream_, true); }
    scratch* launch_scratch() const { return scratch_.get<scratch>(); }
    /// A copy in device memory of a frame that stands in memory of the host. @param which  0 or 1
    cudaError_t stage(std::size_t which, const_byte_span frame, const_byte_span& copy)
    {
        if (const cudaError_t e = staged_[which].grow(frame.size(), stream_); e != cudaSuccess) return e;
        copy = {staged_[which].get<std::byte>(), frame.size()};
        return cudaMemcpyAsync(staged_[which].get(), frame.data(), frame.size(), cudaMemcpyHostToDevice, stream_);
    }
    /// Room for decoded elements.
    template <class T>
    cudaError_t grow_elements(std::size_t n, T*& at)
    {
        const cudaError_t e = elements_.grow(n * sizeof(T), stream_);
        at = elements_.get<T>();
        return e;
    }
    /// The same in memory of the host. @param which  0 or 1
    template <class T>
    cudaError_t grow_host_elements(std::size_t which, std::size_t n, T*& at)
    {
        const cudaError_t e = on_host_[which].grow(n * sizeof(T), stream_);
        at = on_host_[which].get<T>();
        return e;
    }
    /// Runs a function of the host in the order of the stream. It must not call CUDA.
    template <class Function>
    cudaError_t call_host(Function f)
    {
        auto copy = std::make_unique<Function>(std::move(f));
        const auto run = [](void* at) {
            const std::unique_ptr<Function> mine(static_cast<Function*>(at));
            (*mine)();
        };
        const cudaError_t e = cudaLaunchHostFunc(stream_, run, copy.get());
        if (e == cudaSuccess) static_cast<void>(copy.release());
        return e;
    }

private:
    struct job {
        cudaEvent_t done = nullptr;
        pinned_memory told;
        std::uint64_t ticket = 0;
    };

    template <class Function>
    void enqueue(std::uint64_t ticket, Function& f)
    {
        if (failed_ || !open()) return fail(ticket);
        job* const j = take();
        if (j == nullptr) return fail(ticket);
        outcome* const told = j->told.get<outcome>();
        *told = {};
        j->ticket = ticket;
        waiting_.push_back(j);
        if (f(told) != cudaSuccess || cudaEventRecord(j->done, stream_) != cudaSuccess) {
            waiting_.pop_back();
            idle_.push_back(j);
            return fail(ticket);
        }
    }
    bool open() noexcept { return stream_ != nullptr || cudaStreamCreateWithFlags(&stream_, cudaStreamDefault) == cudaSuccess; }
    job* take()
    {
        if (idle_.empty()) {
            auto fresh = std::make_unique<job>();
            if (fresh->told.grow(sizeof(outcome), stream_) != cudaSuccess) return nullptr;
            if (cudaEventCreateWithFlags(&fresh->done, cudaEventDisableTiming) != cudaSuccess) return nullptr;
            all_.push_back(std::move(fresh));
            idle_.push_back(all_.back().get());
        }
        job* const j = idle_.back();
        idle_.pop_back();
        return j;
    }
    /// Trouble is the result of all that comes after it.
    void fail(std::uint64_t ticket)
    {
        static_cast<void>(cudaGetLastError());
        failed_ = true;
        finished_[ticket] = {0, status::device_failed};
    }
    bool test(codec_work& work) noexcept
    {
        if (work.done()) return true;
        while (!waiting_.empty()) {
            job* const j = waiting_.front();
            const cudaError_t e = cudaEventQuery(j->done);
            if (e == cudaErrorNotReady) break;
            const outcome& r = *j->told.get<outcome>();
            if (e != cudaSuccess) failed_ = true;
            finished_[j->ticket] = failed_ && e != cudaSuccess
                                       ? encode_result{0, status::device_failed}
                                       : encode_result{r.bytes, static_cast<status>(r.code), r.raw_chunks, r.special_values};
            waiting_.pop_front();
            idle_.push_back(j);
        }
        const auto found = finished_.find(work.ticket);
        if (found == finished_.end()) return false;
        work = {found->second, 0};
        finished_.erase(found);
        std::erase_if(forgotten_, [this](std::uint64_t t) { return finished_.erase(t) > 0; });
        if (waiting_.empty() && finished_.empty()) failed_ = false;  // the next call may do better
        return true;
    }

    cudaStream_t stream_ = nullptr;
    bool failed_ = false;
    std::uint64_t tickets_ = 0;
    std::vector<std::unique_ptr<job>> all_;
    std::vector<job*> idle_;
    std::deque<job*> waiting_;  // oldest first
    std::map<std::uint64_t, encode_result> finished_;
    std::vector<std::uint64_t> forgotten_;
    stream_memory scratch_, staged_[2], elements_;
    pinned_memory on_host_[2];
};

}  // namespace ccoll::detail::device
