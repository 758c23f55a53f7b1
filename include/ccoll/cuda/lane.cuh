// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/lane.cuh - floor 4. The queue of a lane on a device: a stream, what has been begun on it, and its
// working memory. The host never waits for it, except where pinned memory has to grow, or where something
// failed half way.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <ccoll/base/exact.hpp>
#include <ccoll/codec/codec_queue.hpp>
#include <ccoll/cuda/runtime.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// Belongs to one thread and one device.
class lane_of_device {
public:
    lane_of_device() = default;
    lane_of_device(const lane_of_device&) = delete;
    lane_of_device& operator=(const lane_of_device&) = delete;
    ~lane_of_device()
    {
        if (stream_ == nullptr) return;
        static_cast<void>(cudaStreamSynchronize(stream_));
        for (stream_memory* each : {&scratch_, &staged_[0], &staged_[1], &elements_, &algorithm_})
            each->free(stream_);
        for (const auto& each : all_) static_cast<void>(cudaEventDestroy(each->done));
        static_cast<void>(cudaStreamDestroy(stream_));
    }

    codec_queue queue() noexcept
    {
        return {this, nullptr,
                [](void* self, codec_work& work) noexcept {
                    return static_cast<lane_of_device*>(self)->test(work);
                },
                [](void*) noexcept {}};
    }
    static lane_of_device& of(const codec_queue& q) noexcept { return *static_cast<lane_of_device*>(q.self); }

    /// What is begun from now on comes after the event.
    cudaError_t wait_for(cudaEvent_t event) noexcept
    {
        if (const cudaError_t e = open(); e != cudaSuccess) return e;
        return cudaStreamWaitEvent(stream_, event, 0);
    }

    /// Begins a piece of work.
    /// @param f  (outcome*) -> cudaError_t begins it on stream(); somebody on that stream fills in the
    ///           outcome, which is empty before
    template <class Function>
    void begin(codec_work& work, Function f) noexcept
    {
        if (!work.done()) forgotten_.push_back(work.ticket);  // the last of its jobs tells
        work.ticket = ++tickets_;
        if (failed_) return tell_failure(work.ticket);
        job* j = nullptr;
        cudaError_t e = open();
        if (e == cudaSuccess) e = take(j);
        if (e != cudaSuccess) return fail(work.ticket, e);
        outcome* const told = j->told.get<outcome>();
        *told = {};
        j->ticket = work.ticket;
        beginning_ = j;
        j->begun = try_to([&] { return f(told); });
        e = cudaEventRecord(j->done, stream_);
        if (e != cudaSuccess) {  // what has been begun uses memory of the caller
            static_cast<void>(cudaStreamSynchronize(stream_));
            retire(j);
            return fail(work.ticket, j->begun != cudaSuccess ? j->begun : e);
        }
        if (j->begun != cudaSuccess) note(j->begun);
        waiting_.push_back(j);
    }

    cudaStream_t stream() const noexcept { return stream_; }
    /// What kernels of one call tell each other; @see scratch
    cudaError_t grow_scratch(std::size_t bytes) { return scratch_.grow(bytes, stream_, true); }
    scratch* launch_scratch() const { return scratch_.get<scratch>(); }
    /// Working memory of an algorithm that does not care what is in it.
    cudaError_t grow_algorithm(std::size_t bytes, void*& at)
    {
        const cudaError_t e = algorithm_.grow(bytes, stream_);
        at = algorithm_.get<void>();
        return e;
    }
    /// A frame in device memory: a copy, if it is in memory of the host. @param which  0 or 1
    template <bool OnDevice = false>
    cudaError_t stage([[maybe_unused]] std::size_t which, const_byte_span frame, const_byte_span& copy)
    {
        if constexpr (OnDevice) {
            copy = frame;
            return cudaSuccess;
        }
        if (const cudaError_t e = staged_[which].grow(frame.size(), stream_); e != cudaSuccess) return e;
        copy = {staged_[which].get<std::byte>(), frame.size()};
        return cudaMemcpyAsync(staged_[which].get(), frame.data(), frame.size(), cudaMemcpyHostToDevice,
                               stream_);
    }
    /// Room for elements on the device.
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
    /// Runs a function of the host in the order of the stream. It must not call CUDA. Not run where something
    /// before it has failed.
    template <class Function>
    cudaError_t call_host(Function f)
    {
        auto kept = std::make_shared<Function>(std::move(f));
        Function* const at = kept.get();
        beginning_->functions.push_back(std::move(kept));
        const auto call = [](void* self) {
            const exact_environment environment;  // a thread of CUDA has that of whoever made it
            (*static_cast<Function*>(self))();
        };
        return cudaLaunchHostFunc(stream_, call, at);
    }

private:
    struct job {
        cudaEvent_t done = nullptr;
        pinned_memory told;
        std::uint64_t ticket = 0;
        cudaError_t begun = cudaSuccess;               ///< not all of it, where this is an error
        std::vector<std::shared_ptr<void>> functions;  ///< of the host, which the stream calls
    };

    template <class Function>
    static cudaError_t try_to(Function f) noexcept
    {
#if defined(__cpp_exceptions)
        try {
            return f();
        } catch (...) {
            return cudaErrorMemoryAllocation;  // of the host
        }
#else
        return f();
#endif
    }
    /// No blocking stream: calls with a stream would wait for the default stream as well, and that for them.
    cudaError_t open() noexcept
    {
        return stream_ != nullptr ? cudaSuccess : cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    }
    cudaError_t take(job*& j) noexcept
    {
        if (idle_.empty()) {
            const cudaError_t e = try_to([&] {
                auto fresh = std::make_unique<job>();
                if (const cudaError_t bad = fresh->told.grow(sizeof(outcome), stream_); bad != cudaSuccess)
                    return bad;
                if (const cudaError_t bad = cudaEventCreateWithFlags(&fresh->done, cudaEventDisableTiming);
                    bad != cudaSuccess)
                    return bad;
                idle_.push_back(fresh.get());
                all_.push_back(std::move(fresh));
                return cudaSuccess;
            });
            if (e != cudaSuccess) return e;
        }
        j = idle_.back();
        idle_.pop_back();
        return cudaSuccess;
    }
    void retire(job* j)
    {
        j->functions.clear();
        idle_.push_back(j);
    }
    /// Trouble is the result of all that comes after it.
    void note(cudaError_t e) noexcept
    {
        words_of_cuda::of_this_thread().keep(e);
        failed_ = true;
    }
    void tell_failure(std::uint64_t ticket) { finished_[ticket] = {0, status::device_failed}; }
    void fail(std::uint64_t ticket, cudaError_t e)
    {
        note(e);
        tell_failure(ticket);
    }
    bool test(codec_work& work) noexcept
    {
        if (work.done()) return true;
        while (!waiting_.empty()) {
            job* const j = waiting_.front();
            const cudaError_t e = cudaEventQuery(j->done);
            if (e == cudaErrorNotReady) {
                static_cast<void>(cudaGetLastError());  // CUDA keeps it as an error
                break;
            }
            if (e != cudaSuccess) note(e);
            const outcome& r = *j->told.get<outcome>();
            if (e != cudaSuccess || j->begun != cudaSuccess) tell_failure(j->ticket);
            else
                finished_[j->ticket] = {r.bytes, static_cast<status>(r.code), r.raw_chunks, r.special_values};
            waiting_.pop_front();
            retire(j);
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
    job* beginning_ = nullptr;
    bool failed_ = false;
    std::uint64_t tickets_ = 0;
    std::vector<std::unique_ptr<job>> all_;
    std::vector<job*> idle_;
    std::deque<job*> waiting_;  // oldest first
    std::map<std::uint64_t, encode_result> finished_;
    std::vector<std::uint64_t> forgotten_;
    stream_memory scratch_, staged_[2], elements_, algorithm_;
    pinned_memory on_host_[2];
};

}  // namespace ccoll::detail::device
