// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/runtime.cuh - floor 4. Device memory as a buffer, launches, memory that is ordered by a stream, and
// errors of CUDA.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <utility>

#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/cuda/team.cuh>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI {

/// n elements in the memory of the current device (cudaMalloc, cudaMallocAsync, cudaMallocManaged). A view,
/// as std::span is one.
template <class T>
class device_span {
public:
    constexpr device_span() = default;
    constexpr device_span(T* first, std::size_t n) : first_(first), n_(n) {}
    /// Elements of a container with thrust's interface.
    template <class Container>
        requires requires(Container& c) {
            { c.data().get() } -> std::convertible_to<T*>;
            { c.size() } -> std::convertible_to<std::size_t>;
        }
    constexpr device_span(Container& c) : first_(c.data().get()), n_(c.size())
    {}
    /// Elements that are only read.
    template <class Other>
        requires(!std::is_const_v<Other> && std::is_same_v<const Other, T>)
    constexpr device_span(device_span<Other> s) : first_(s.device_data()), n_(s.size())
    {}

    constexpr T* device_data() const { return first_; }
    constexpr std::size_t size() const { return n_; }

private:
    T* first_ = nullptr;
    std::size_t n_ = 0;
};

template <class Span, class T>
struct device_span_traits {
    using space = cuda_space;
    static constexpr bool is_view = true;
    static constexpr T* data(Span& s) { return s.device_data(); }
    static constexpr std::size_t size(Span& s) { return s.size(); }
};
template <class T>
struct buffer_traits<device_span<T>> : device_span_traits<device_span<T>, T> {};
template <class T>
struct buffer_traits<const device_span<T>> : device_span_traits<const device_span<T>, T> {};

/// thrust::device_vector, and whatever else has its interface: data() is a pointer to device memory that the
/// host cannot take for its own.
template <class Container>
    requires(
        !requires(Container& c) {
            { std::data(c) } -> std::convertible_to<const volatile void*>;
        } &&
        requires(Container& c) {
            { c.data().get() } -> std::convertible_to<const volatile void*>;
            { c.size() } -> std::convertible_to<std::size_t>;
        })
struct buffer_traits<Container> {
    using space = cuda_space;
    static auto* data(Container& c) { return c.data().get(); }
    static std::size_t size(Container& c) { return c.size(); }
};

namespace detail::device {

/// The first error of a chain.
#define CCOLL_CUDA_TRY(expression) \
    if (const cudaError_t ccoll_error = (expression); ccoll_error != cudaSuccess) return ccoll_error

/// What CUDA said of the last failure on this thread.
class words_of_cuda {
public:
    static words_of_cuda& of_this_thread() noexcept
    {
        static thread_local words_of_cuda mine;
        return mine;
    }
    /// Leaves no error behind in CUDA. @param call  of CUDA; may be empty
    void keep(cudaError_t e, const char* call = "") noexcept
    {
        static_cast<void>(cudaGetLastError());
        std::snprintf(text_, sizeof text_, "%s%s%s: %s", call, *call != 0 ? ": " : "", cudaGetErrorName(e),
                      cudaGetErrorString(e));
    }
    void keep(const char* text) noexcept { std::snprintf(text_, sizeof text_, "%s", text); }
    const char* text() const noexcept { return text_; }

private:
    char text_[256] = "";
};

/// Throws ccoll::error with CUDA's text, and leaves no error behind.
inline void check(cudaError_t e, const char* call)
{
    if (e == cudaSuccess) return;
    words_of_cuda::of_this_thread().keep(e);
    raise(call, {status::device_failed}, words_of_cuda::of_this_thread().text());
}

/// Begins a kernel on a stream, with as many threads in a block as a team has.
/// @tparam Early  it may start before the kernel in front of it on the stream has ended, for which it waits
///                itself
template <bool Early = false, class... P, class... A>
cudaError_t launch(void (*kernel)(P...), u32 blocks, std::size_t shared_bytes, cudaStream_t stream,
                   const A&... arguments)
{
#if defined(__CUDACC__)
    if (shared_bytes > 48 * 1024) {  // more has to be asked for
        const cudaError_t e =
            cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
        if (e != cudaSuccess) return e;
    }
    cudaLaunchConfig_t how{};
    how.gridDim = dim3(blocks);
    how.blockDim = dim3(team_threads);
    how.dynamicSmemBytes = shared_bytes;
    how.stream = stream;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    how.attrs = &early;
    how.numAttrs = Early ? 1 : 0;
    return cudaLaunchKernelEx(&how, kernel, arguments...);
#else
    if constexpr (Early) ++emulator::early_launches;
    return emulator::launch_later(stream, blocks, team_threads, shared_bytes, [=] { kernel(arguments...); });
#endif
}
/// Can the code of a kernel that the current device runs wait for the kernel in front of it? It cannot if its
/// PTX was made for an older architecture, whatever device that was compiled for.
template <auto Kernel>
bool can_wait()
{
    constexpr int devices = 64;
    static std::atomic<signed char> known[devices];  // 0: not asked yet
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= devices) return false;
    signed char can = known[device].load(std::memory_order_relaxed);
    if (can != 0) return can > 0;
    cudaFuncAttributes facts{};
    if (cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(Kernel)) != cudaSuccess) return false;
    can = facts.ptxVersion >= 90 && facts.binaryVersion >= 90 ? 1 : -1;
    known[device].store(can, std::memory_order_relaxed);
    return can > 0;
}
/// Begins a kernel early, if it can wait for the kernel in front of it.
template <auto Kernel, class... A>
cudaError_t launch_behind(u32 blocks, std::size_t shared_bytes, cudaStream_t stream, const A&... arguments)
{
    if (can_wait<Kernel>()) return launch<true>(Kernel, blocks, shared_bytes, stream, arguments...);
    return launch(Kernel, blocks, shared_bytes, stream, arguments...);
}

/// Memory of the device that grows. It is taken from the pool of the device and given back in the order of a
/// stream, so that no call waits.
class stream_memory {
public:
    stream_memory() = default;
    stream_memory(const stream_memory&) = delete;
    stream_memory& operator=(const stream_memory&) = delete;

    /// At least `bytes` bytes, whose contents are lost when it grows.
    /// @param zero  all of them are 0 when it has grown
    cudaError_t grow(std::size_t bytes, cudaStream_t stream, bool zero = false)
    {
        if (bytes <= bytes_ && at_ != nullptr) return cudaSuccess;
        return take((bytes + bytes / 2 + 255) / 256 * 256, stream, zero);
    }
    /// As many bytes as are asked for, in place of what there was. No memory for none.
    /// @param zero  all of them are 0
    cudaError_t take(std::size_t bytes, cudaStream_t stream, bool zero = false)
    {
        free(stream);
        if (bytes == 0) return cudaSuccess;
        const cudaError_t e = cudaMallocAsync(&at_, bytes, stream);
        if (e != cudaSuccess) {
            at_ = nullptr;
            return e;
        }
        bytes_ = bytes;
        return zero ? cudaMemsetAsync(at_, 0, bytes, stream) : cudaSuccess;
    }
    void free(cudaStream_t stream) noexcept
    {
        if (at_ != nullptr) static_cast<void>(cudaFreeAsync(std::exchange(at_, nullptr), stream));
        bytes_ = 0;
    }
    template <class T = u8>
    T* get() const
    {
        return static_cast<T*>(at_);
    }
    void swap(stream_memory& other) noexcept
    {
        std::swap(at_, other.at_);
        std::swap(bytes_, other.bytes_);
    }

private:
    void* at_ = nullptr;
    std::size_t bytes_ = 0;
};

/// A stream and an event on it, on the device that is current when it is made.
class marked_stream {
public:
    marked_stream()
    {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "marked_stream");
        const cudaError_t e = cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
        if (e != cudaSuccess) static_cast<void>(cudaStreamDestroy(stream_));
        check(e, "marked_stream");
    }
    marked_stream(const marked_stream&) = delete;
    marked_stream& operator=(const marked_stream&) = delete;
    ~marked_stream()
    {
        static_cast<void>(cudaEventDestroy(event_));
        static_cast<void>(cudaStreamDestroy(stream_));
    }
    cudaStream_t get() const { return stream_; }
    /// What is begun from now on comes after what has been begun on another stream.
    cudaError_t come_after(cudaStream_t other)
    {
        CCOLL_CUDA_TRY(cudaEventRecord(event_, other));
        return cudaStreamWaitEvent(stream_, event_, 0);
    }
    cudaError_t mark() { return cudaEventRecord(event_, stream_); }
    /// Has everything before mark() been done? Never waits. @return cudaErrorNotReady if not
    cudaError_t ask() const
    {
        const cudaError_t e = cudaEventQuery(event_);
        if (e == cudaErrorNotReady) static_cast<void>(cudaGetLastError());  // CUDA keeps it as an error
        return e;
    }
    void finish() const noexcept
    {
        if (cudaStreamSynchronize(stream_) != cudaSuccess) static_cast<void>(cudaGetLastError());
    }

private:
    cudaStream_t stream_ = nullptr;
    cudaEvent_t event_ = nullptr;
};

/// Pinned memory of the host that kernels can read and write. It grows behind what the stream does with it.
class pinned_memory {
public:
    pinned_memory() = default;
    pinned_memory(const pinned_memory&) = delete;
    pinned_memory& operator=(const pinned_memory&) = delete;
    ~pinned_memory() { free(); }

    cudaError_t grow(std::size_t bytes, cudaStream_t stream)
    {
        if (bytes <= bytes_ && at_ != nullptr) return cudaSuccess;
        if (at_ != nullptr)
            if (const cudaError_t e = cudaStreamSynchronize(stream); e != cudaSuccess) return e;
        free();
        const cudaError_t e =
            cudaHostAlloc(&at_, bytes + bytes / 2 + 256, cudaHostAllocPortable | cudaHostAllocMapped);
        if (e == cudaSuccess) bytes_ = bytes + bytes / 2 + 256;
        else at_ = nullptr;
        return e;
    }
    template <class T = std::byte>
    T* get() const
    {
        return static_cast<T*>(at_);
    }

private:
    void free() noexcept
    {
        if (at_ != nullptr) static_cast<void>(cudaFreeHost(std::exchange(at_, nullptr)));
        bytes_ = 0;
    }
    void* at_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace detail::device

}  // namespace ccoll
