// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/thread.cuh - floor 4. What a thread has on a device for the calls that it makes: the queues of its
// lanes, its working memory, and the order between a stream of the user and these queues. All of it belongs
// to the device that is current.
#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <memory>

#include <ccoll/base/process.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/cuda/lane.cuh>
#include <ccoll/space/space.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// Elements of a block of a long vector in one message: 128 chunks of SZp, about one for each multiprocessor.
/// Shorter slices would be decided by what a launch costs: a slice of 64 Ki elements takes 5 to 8 us on the
/// device and 1 us on the bus. An estimate, not measured.
inline constexpr std::size_t slice_elements = std::size_t{1} << 20;

inline std::byte* allocate_on_device(std::size_t bytes)
{
    void* at = nullptr;
    check(cudaMalloc(&at, bytes), "cudaMalloc");
    return static_cast<std::byte*>(at);
}
inline std::byte* allocate_pinned(std::size_t bytes)
{
    void* at = nullptr;
    check(cudaHostAlloc(&at, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "cudaHostAlloc");
    return static_cast<std::byte*>(at);
}
inline void free_on_device(std::byte* at) noexcept { static_cast<void>(cudaFree(at)); }
inline void free_pinned(std::byte* at) noexcept { static_cast<void>(cudaFreeHost(at)); }
inline constexpr memory_source pinned{&allocate_pinned, &free_pinned};

/// One thread on one device.
class thread_on_device {
public:
    explicit thread_on_device(int device) : device_(device) {}
    thread_on_device(const thread_on_device&) = delete;
    thread_on_device& operator=(const thread_on_device&) = delete;
    ~thread_on_device()
    {
        if (entered_ != nullptr) static_cast<void>(cudaEventDestroy(entered_));
        if (aside_ != nullptr) static_cast<void>(cudaStreamDestroy(aside_));
    }

    lane_of_device& lane(std::size_t which) noexcept { return lanes_[which % most_lanes]; }
    workspace& elements() noexcept { return elements_; }
    workspace& messages() noexcept { return messages_; }
    /// Messages of Transport::Direct.
    workspace& messages_here() noexcept { return messages_here_; }

    /// Copies bytes between memory of any kind, and waits for that alone: not for the default stream, nor for
    /// those of lanes.
    cudaError_t copy_now(std::byte* to, const_byte_span from) noexcept
    {
        if (aside_ == nullptr) CCOLL_CUDA_TRY(cudaStreamCreateWithFlags(&aside_, cudaStreamNonBlocking));
        CCOLL_CUDA_TRY(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDefault, aside_));
        return cudaStreamSynchronize(aside_);
    }

    /// A call begins: all lanes wait for what the user's stream has to do, or the default stream if none is
    /// given.
    cudaError_t enter(const space_argument& after) noexcept
    {
        const auto stream =
            after.given ? static_cast<cudaStream_t>(const_cast<void*>(after.handle)) : cudaStream_t{};
        if (entered_ == nullptr)
            if (const cudaError_t e = cudaEventCreateWithFlags(&entered_, cudaEventDisableTiming);
                e != cudaSuccess)
                return e;
        if (const cudaError_t e = cudaEventRecord(entered_, stream); e != cudaSuccess) return e;
        for (lane_of_device& each : lanes_)
            if (const cudaError_t e = each.wait_for(entered_); e != cudaSuccess) return e;
        return cudaSuccess;
    }
    /// @return "", or why `at` is no memory for this device
    const char* why_not_here(const void* at) const noexcept
    {
        cudaPointerAttributes facts{};
        if (cudaPointerGetAttributes(&facts, at) != cudaSuccess) {
            static_cast<void>(cudaGetLastError());
            return "a buffer is not in memory that CUDA knows; pass device memory";
        }
        if (facts.type == cudaMemoryTypeUnregistered)
            return "a buffer is in memory of the host, and its type says that it is device memory; pass a "
                   "std::span, or device memory";
        if (facts.type == cudaMemoryTypeDevice && facts.device != device_)
            return "a buffer is in the memory of another device than the current one; call cudaSetDevice "
                   "first";
        return "";
    }

private:
    int device_;
    std::array<lane_of_device, most_lanes> lanes_;
    workspace elements_{memory_source{&allocate_on_device, &free_on_device}};
    workspace messages_{pinned};
    workspace messages_here_{memory_source{&allocate_on_device, &free_on_device, &pinned}};
    cudaEvent_t entered_ = nullptr;
    cudaStream_t aside_ = nullptr;
};

/// One thread on all devices.
class thread_on_devices {
public:
    static thread_on_devices& here() noexcept
    {
        // Devices are lost in a forked process.
        static thread_local at_home<thread_on_devices> mine(new thread_on_devices);
        return *mine;
    }
    /// On the device that is current. Where CUDA does not know of any, calls of CUDA will say so.
    thread_on_device& now() noexcept
    {
        int device = 0;
        if (cudaGetDevice(&device) != cudaSuccess) device = 0;
        std::unique_ptr<thread_on_device>& there = all_[device];
        if (there == nullptr) there = std::make_unique<thread_on_device>(device);
        return *there;
    }
    status enter(const space_argument& after, const void* send, const void* recv) noexcept
    {
        if (const status s = look_at(after, {send, recv}); s != status::ok) return s;
        if (const cudaError_t e = now().enter(after); e != cudaSuccess) {
            words_of_cuda::of_this_thread().keep(e, "ordering the call after the stream");
            return status::device_failed;
        }
        return status::ok;
    }
    /// Can a call come after this stream, and use this memory? The words for trouble are kept.
    status look_at(const space_argument& after, std::initializer_list<const void*> memory) noexcept
    {
        words_of_cuda& words = words_of_cuda::of_this_thread();
        thread_on_device& mine = now();
        for (const void* each : memory) {
            const char* const why = each != nullptr ? mine.why_not_here(each) : "";
            if (*why == 0) continue;
            words.keep(why);
            return status::device_failed;
        }
        if (!after.given) return status::ok;
        cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
        const auto stream = static_cast<cudaStream_t>(const_cast<void*>(after.handle));
        if (cudaStreamIsCapturing(stream, &capturing) != cudaSuccess ||
            capturing == cudaStreamCaptureStatusNone)
            return status::ok;
        words.keep(
            "the stream is being captured into a graph, and a call between ranks cannot be part of one");
        return status::device_failed;
    }

private:
    std::map<int, std::unique_ptr<thread_on_device>> all_;
};

inline workspace& element_memory(workspace&) noexcept { return thread_on_devices::here().now().elements(); }
inline workspace& message_memory(workspace&) noexcept { return thread_on_devices::here().now().messages(); }
inline workspace& message_memory_here(workspace&) noexcept
{
    return thread_on_devices::here().now().messages_here();
}
inline codec_queue queue_of_lane(std::size_t which) noexcept
{
    return thread_on_devices::here().now().lane(which).queue();
}
inline const char* explain() noexcept { return words_of_cuda::of_this_thread().text(); }

}  // namespace ccoll::detail::device
