// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of CUDA's runtime that the library calls, for the emulator. Streams do their work late, and which
// stream goes on follows from a seed: some of it whenever somebody asks for an event, what is needed when
// somebody waits. So a result that is read too early is seen, and so is an order between streams that nothing
// ensures. Device memory is memory of the host. There are two devices.
#pragma once

#include "emulator.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <tuple>

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
constexpr unsigned cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaEventDisableTiming = 2;
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;

struct cudaPointerAttributes {
    cudaMemoryType type = cudaMemoryTypeUnregistered;
    int device = -1;
    void *devicePointer = nullptr, *hostPointer = nullptr;
};

struct cudaFuncAttributes {
    int ptxVersion = 0, binaryVersion = 0;
};

namespace emulator {

/// What a stream has done. It outlives the stream, because events refer to it.
struct progress {
    std::uint64_t done = 0;
    cudaError_t broken = cudaSuccess;  ///< a kernel has failed: all that comes later fails, too
};
struct moment {
    std::shared_ptr<progress> of;
    std::uint64_t at = 0;
    bool reached() const { return of == nullptr || of->done >= at; }
};
struct operation {
    std::function<void()> work;
    std::vector<moment> after;
    bool always = false;  ///< also on a stream where something has failed
};
struct stream {
    std::deque<operation> waiting;
    std::uint64_t begun = 0;
    std::shared_ptr<progress> state = std::make_shared<progress>();
    int device = 0;
    bool blocking = true, capturing = false;
    moment now() const { return {state, begun}; }
};
struct event {
    moment recorded;
    int device = 0;
};
struct allocation {
    std::size_t bytes = 0;
    cudaMemoryType type = cudaMemoryTypeDevice;
    int device = 0;
};

inline thread_local int current_device = 0;
inline thread_local cudaError_t last_error = cudaSuccess;

/// Which of this thread's next calls fails, once: 0 is the next one. Below 0: none.
struct injected_faults {
    long allocations = -1, launches = -1, copies = -1, records = -1;
    long kernels = -1;  ///< launched without trouble, and fail when they run
};
inline thread_local injected_faults faults;
inline bool strikes(long& left) { return left >= 0 && left-- == 0; }
inline cudaError_t failed(cudaError_t e) { return last_error = e; }

/// Kernels that were run.
inline std::atomic<long> launches{0};
/// Launches that may start before the kernel in front of them has ended: none here does.
inline std::atomic<long> early_launches{0};
/// How the kernels are run that this thread begins; null: in any order.
inline thread_local const options* chosen = nullptr;

class devices {
public:
    static constexpr int count = 2;

    static devices& all()
    {
        static devices one;
        return one;
    }
    std::recursive_mutex mutex;
    detail::generator random{1};
    std::map<std::uintptr_t, allocation> memory;
    /// Of which architectures the code of kernels is that a device runs.
    cudaFuncAttributes code[count] = {{90, 90}, {90, 90}};

    stream& of(stream* s) { return s != nullptr ? *s : default_[current_device]; }
    stream* make(bool blocking)
    {
        const std::lock_guard lock(mutex);
        auto* const s = new stream;
        s->device = current_device;
        s->blocking = blocking;
        streams_.push_back(s);
        return s;
    }
    void destroy(stream* s)
    {
        const std::lock_guard lock(mutex);
        finish(s->now());
        std::erase(streams_, s);
        delete s;
    }
    /// Work of the default stream and of blocking streams is done in the order in which it was begun.
    void add(stream& s, std::function<void()> work, std::vector<moment> after = {}, bool always = false)
    {
        const std::lock_guard lock(mutex);
        if (stream& usual = default_[s.device]; &s == &usual) {
            for (stream* each : streams_)
                if (each->blocking && each->device == s.device) after.push_back(each->now());
        } else if (s.blocking) {
            after.push_back(usual.now());
        }
        std::erase_if(after, [](const moment& m) { return m.reached(); });
        s.waiting.push_back({std::move(work), std::move(after), always});
        ++s.begun;
    }
    void some()
    {
        const std::lock_guard lock(mutex);
        for (std::uint64_t n = random() % 3; n > 0; --n) static_cast<void>(one());
    }
    void finish(const moment& m)
    {
        const std::lock_guard lock(mutex);
        while (!m.reached())
            if (!one()) throw fault("streams wait for each other");
    }
    void finish_all()
    {
        const std::lock_guard lock(mutex);
        while (one()) {}
    }
    const std::pair<const std::uintptr_t, allocation>* find(const void* at)
    {
        const std::lock_guard lock(mutex);
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        auto next = memory.upper_bound(address);
        if (next == memory.begin()) return nullptr;
        --next;
        return address < next->first + next->second.bytes ? &*next : nullptr;
    }
    bool is_of_device(const void* at, std::size_t bytes)
    {
        const std::lock_guard lock(mutex);
        const auto* const found = find(at);
        return bytes == 0 ||
               (found != nullptr && found->second.type != cudaMemoryTypeUnregistered &&
                reinterpret_cast<std::uintptr_t>(at) + bytes <= found->first + found->second.bytes);
    }

private:
    devices()
    {
        for (int i = 0; i < count; ++i) default_[i].device = i;
    }
    bool one()
    {
        std::vector<stream*> ready;
        const auto look = [&](stream* s) {
            if (!s->waiting.empty() &&
                std::all_of(s->waiting.front().after.begin(), s->waiting.front().after.end(),
                            [](const moment& m) { return m.reached(); }))
                ready.push_back(s);
        };
        for (stream& each : default_) look(&each);
        for (stream* each : streams_) look(each);
        if (ready.empty()) return false;
        stream& s = *ready[random() % ready.size()];
        const operation next = std::move(s.waiting.front());
        s.waiting.pop_front();
        if (s.state->broken == cudaSuccess || next.always) next.work();
        ++s.state->done;
        return true;
    }

    stream default_[count];
    std::vector<stream*> streams_;
};

inline cudaError_t later(stream* s, std::function<void()> work)
{
    devices::all().add(devices::all().of(s), std::move(work));
    return cudaSuccess;
}

template <class Kernel>
cudaError_t launch_later(stream* s, unsigned blocks, unsigned threads, std::size_t shared_bytes,
                         Kernel kernel)
{
    if (strikes(faults.launches)) return failed(cudaErrorLaunchOutOfResources);
    stream& on = devices::all().of(s);
    if (on.device != current_device) return failed(cudaErrorInvalidResourceHandle);
    if (strikes(faults.kernels))
        return later(s, [state = on.state] { state->broken = cudaErrorLaunchFailure; });
    return later(s, [=, how = chosen != nullptr ? *chosen : options{devices::all().random()}] {
        ++launches;
        launch(how, blocks, threads, shared_bytes, kernel);
    });
}

inline cudaError_t allocate(void** at, std::size_t bytes, cudaMemoryType type)
{
    if (strikes(faults.allocations)) return failed(cudaErrorMemoryAllocation);
    *at = ::operator new(bytes, std::align_val_t{256});
    std::memset(*at, 0x7f, std::min<std::size_t>(bytes, 1 << 16));  // NaN, and lengths that no frame has
    const std::lock_guard lock(devices::all().mutex);
    devices::all().memory[reinterpret_cast<std::uintptr_t>(*at)] = {bytes, type, current_device};
    return cudaSuccess;
}
inline void release(void* at)
{
    if (at == nullptr) return;
    {
        const std::lock_guard lock(devices::all().mutex);
        if (devices::all().memory.erase(reinterpret_cast<std::uintptr_t>(at)) == 0)
            throw fault("memory is freed that is not allocated");
    }
    ::operator delete(at, std::align_val_t{256});
}

}  // namespace emulator

using cudaStream_t = emulator::stream*;
using cudaEvent_t = emulator::event*;

inline const char* cudaGetErrorName(cudaError_t e)
{
    switch (e) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    }
    return "unrecognized error code";
}
inline const char* cudaGetErrorString(cudaError_t e)
{
    switch (e) {
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    default: return "an error of the emulator";
    }
}
/// As on a GPU, that something is not ready is also kept here.
inline cudaError_t cudaGetLastError() { return std::exchange(emulator::last_error, cudaSuccess); }
inline cudaError_t cudaPeekAtLastError() { return emulator::last_error; }

inline cudaError_t cudaGetDevice(int* device)
{
    *device = emulator::current_device;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= emulator::devices::count) return emulator::failed(cudaErrorInvalidDevice);
    emulator::current_device = device;
    return cudaSuccess;
}

template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* facts, Kernel)
{
    *facts = emulator::devices::all().code[emulator::current_device];
    return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags)
{
    *s = emulator::devices::all().make(flags != cudaStreamNonBlocking);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    emulator::stream& on = emulator::devices::all().of(s);
    emulator::devices::all().finish(on.now());
    return on.state->broken == cudaSuccess ? cudaSuccess : emulator::failed(on.state->broken);
}
inline cudaError_t cudaDeviceSynchronize()
{
    emulator::devices::all().finish_all();
    return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    emulator::devices::all().destroy(s);
    return cudaSuccess;
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* is)
{
    *is = s != nullptr && s->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned)
{
    *e = new emulator::event;
    (*e)->device = emulator::current_device;
    return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    delete e;
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    if (emulator::strikes(emulator::faults.records)) return emulator::failed(cudaErrorInvalidValue);
    emulator::stream& on = emulator::devices::all().of(s);
    if (on.device != e->device) return emulator::failed(cudaErrorInvalidResourceHandle);
    const std::lock_guard lock(emulator::devices::all().mutex);
    e->recorded = on.now();
    return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t e)
{
    const std::lock_guard lock(emulator::devices::all().mutex);
    if (!e->recorded.reached()) emulator::devices::all().some();
    if (!e->recorded.reached()) return emulator::failed(cudaErrorNotReady);
    const cudaError_t broken = e->recorded.of != nullptr ? e->recorded.of->broken : cudaSuccess;
    return broken == cudaSuccess ? cudaSuccess : emulator::failed(broken);
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned = 0)
{
    const std::lock_guard lock(emulator::devices::all().mutex);
    emulator::devices::all().add(emulator::devices::all().of(s), [] {}, {e->recorded});
    return cudaSuccess;
}

inline cudaError_t cudaMalloc(void** at, std::size_t bytes)
{
    return emulator::allocate(at, bytes, cudaMemoryTypeDevice);
}
inline cudaError_t cudaFree(void* at)
{
    emulator::devices::all().finish_all();
    emulator::release(at);
    return cudaSuccess;
}
inline cudaError_t cudaMallocAsync(void** at, std::size_t bytes, cudaStream_t)
{
    return cudaMalloc(at, bytes);
}
inline cudaError_t cudaFreeAsync(void* at, cudaStream_t s)
{
    emulator::devices::all().add(emulator::devices::all().of(s), [=] { emulator::release(at); }, {}, true);
    return cudaSuccess;
}
inline cudaError_t cudaHostAlloc(void** at, std::size_t bytes, unsigned)
{
    return emulator::allocate(at, bytes, cudaMemoryTypeHost);
}
inline cudaError_t cudaFreeHost(void* at) { return cudaFree(at); }
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* facts, const void* at)
{
    *facts = {};
    const auto* const found = emulator::devices::all().find(at);
    if (found == nullptr) return cudaSuccess;
    facts->type = found->second.type;
    facts->device = found->second.device;
    facts->devicePointer = const_cast<void*>(at);
    if (found->second.type == cudaMemoryTypeHost) facts->hostPointer = const_cast<void*>(at);
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t s)
{
    return emulator::later(s, [=] { std::memset(at, value, bytes); });
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t s)
{
    if (emulator::strikes(emulator::faults.copies)) return emulator::failed(cudaErrorInvalidValue);
    emulator::devices& all = emulator::devices::all();
    if (kind != cudaMemcpyDefault && kind != cudaMemcpyDeviceToHost && !all.is_of_device(to, bytes))
        return emulator::failed(cudaErrorInvalidValue);
    if (kind != cudaMemcpyDefault && kind != cudaMemcpyHostToDevice && !all.is_of_device(from, bytes))
        return emulator::failed(cudaErrorInvalidValue);
    const auto x = reinterpret_cast<std::uintptr_t>(to), y = reinterpret_cast<std::uintptr_t>(from);
    if (kind == cudaMemcpyDeviceToDevice && x < y + bytes && y < x + bytes)
        return emulator::failed(cudaErrorInvalidValue);
    return emulator::later(s, [=] {
        if (bytes > 0) std::memcpy(to, from, bytes);
    });
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind)
{
    const cudaError_t e = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return e != cudaSuccess ? e : cudaStreamSynchronize(nullptr);
}
using cudaHostFn_t = void (*)(void*);
inline cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void* data)
{
    return emulator::later(s, [=] { f(data); });
}

// What the library takes from CUB.

namespace cuda::std {
using ::std::make_tuple;
}

namespace cub {

struct DeviceTransform {
    template <class... In, class Out, class Operation>
    static cudaError_t Transform(std::tuple<In...> in, Out out, std::size_t n, Operation operation,
                                 cudaStream_t stream)
    {
        if (emulator::strikes(emulator::faults.launches))
            return emulator::failed(cudaErrorLaunchOutOfResources);
        return emulator::later(stream, [=] {
            ++emulator::launches;
            for (std::size_t i = 0; i < n; ++i)
                out[i] = std::apply([&](const auto&... each) { return operation(each[i]...); }, in);
        });
    }
};
struct DeviceReduce {
    /// In an order that follows from the seed.
    template <class In, class Out, class Combine, class Look, class T>
    static cudaError_t TransformReduce(void* scratch, std::size_t& bytes, In in, Out out, std::size_t n,
                                       Combine combine, Look look, T init, cudaStream_t stream)
    {
        if (scratch == nullptr) {
            bytes = 512;
            return cudaSuccess;
        }
        if (bytes < 512) return emulator::failed(cudaErrorInvalidValue);
        if (emulator::strikes(emulator::faults.launches))
            return emulator::failed(cudaErrorLaunchOutOfResources);
        return emulator::later(stream, [=] {
            ++emulator::launches;
            const std::size_t turn = n > 0 ? emulator::devices::all().random() % n : 0;
            T all = init;
            for (std::size_t i = 0; i < n; ++i) {
                const T one = look(in[(i + turn) % n]);
                all = i % 2 == 0 ? combine(all, one) : combine(one, all);
            }
            *out = all;
        });
    }
};

}  // namespace cub
