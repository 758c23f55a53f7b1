// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of CUDA's runtime that the library calls, for the emulator. A stream is a list of work that is done late: some of it whenever
// somebody asks for an event, all of it when somebody waits. So a result that is read too early is seen. Device memory is memory of the
// host. A stream belongs to the thread that uses it.
#pragma once

#include "emulator.hpp"

#include <atomic>
#include <deque>

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorNotReady = 600, cudaErrorLaunchFailure = 719 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
constexpr unsigned cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaEventDisableTiming = 2, cudaStreamDefault = 0;

namespace emulator {

struct stream {
    std::deque<std::function<void()>> waiting;
    std::uint64_t begun = 0, done = 0;
    std::mt19937_64 random{1};

    void one()
    {
        const std::function<void()> work = std::move(waiting.front());
        waiting.pop_front();
        work();
        ++done;
    }
    void all()
    {
        while (!waiting.empty()) one();
    }
};
struct event {
    stream* of = nullptr;
    std::uint64_t at = 0;
};

inline thread_local stream default_stream;
inline stream& stream_of(stream* s) { return s != nullptr ? *s : default_stream; }
inline cudaError_t later(stream* s, std::function<void()> work)
{
    stream& to = stream_of(s);
    to.waiting.push_back(std::move(work));
    ++to.begun;
    return cudaSuccess;
}

/// How many allocations are still answered; for tests of what happens where there is no memory.
inline std::atomic<long> allocations_left{1000000000};
/// Kernels that were run.
inline std::atomic<long> launches{0};

template <class Kernel>
cudaError_t launch_later(stream* s, unsigned blocks, unsigned threads, std::size_t shared_bytes, Kernel kernel)
{
    return later(s, [=, &to = stream_of(s)] {
        ++launches;
        launch({to.random()}, blocks, threads, shared_bytes, kernel);
    });
}

}  // namespace emulator

using cudaStream_t = emulator::stream*;
using cudaEvent_t = emulator::event*;

inline const char* cudaGetErrorString(cudaError_t e)
{
    return e == cudaErrorMemoryAllocation ? "out of memory" : "an error of the emulator";
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned)
{
    static std::atomic<unsigned> seed{1};
    *s = new emulator::stream;
    (*s)->random.seed(seed++);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    emulator::stream_of(s).all();
    return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    s->all();
    delete s;
    return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned)
{
    *e = new emulator::event;
    return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    delete e;
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    e->of = &emulator::stream_of(s);
    e->at = e->of->begun;
    return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t e)
{
    if (e->of->done < e->at && e->of->random() % 2 == 0) e->of->one();
    return e->of->done >= e->at ? cudaSuccess : cudaErrorNotReady;
}

inline cudaError_t cudaMalloc(void** at, std::size_t bytes)
{
    if (--emulator::allocations_left < 0) return cudaErrorMemoryAllocation;
    *at = ::operator new(bytes, std::align_val_t{256});
    return cudaSuccess;
}
inline cudaError_t cudaFree(void* at)
{
    ::operator delete(at, std::align_val_t{256});
    return cudaSuccess;
}
inline cudaError_t cudaMallocAsync(void** at, std::size_t bytes, cudaStream_t) { return cudaMalloc(at, bytes); }
inline cudaError_t cudaFreeAsync(void* at, cudaStream_t s)
{
    return emulator::later(s, [=] { cudaFree(at); });
}
inline cudaError_t cudaHostAlloc(void** at, std::size_t bytes, unsigned) { return cudaMalloc(at, bytes); }
inline cudaError_t cudaFreeHost(void* at) { return cudaFree(at); }
inline cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t s)
{
    return emulator::later(s, [=] { std::memset(at, value, bytes); });
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t s)
{
    return emulator::later(s, [=] {
        if (bytes > 0) std::memmove(to, from, bytes);
    });
}
using cudaHostFn_t = void (*)(void*);
inline cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void* data)
{
    return emulator::later(s, [=] { f(data); });
}
