// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/messages.cuh - floor 4. Messages in device memory (Transport::Direct): what the host reads of them is
// fetched by a kernel, and everything else is copied.
#pragma once

#include <ccoll/cuda/frame.cuh>
#include <ccoll/cuda/thread.cuh>
#include <ccoll/space/space.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// Copies the first 96 bytes of a message to `host`, and then header and index of `frames` frames, which
/// follow the first 48 bytes one after another. It stops at what is no frame, and reads nothing beyond the
/// message. `message` and `host` are multiples of 16 bytes. Launch: 1 block of team_threads threads, no
/// shared memory.
template <class Byte>  // a template, so that several files may include it
__global__ __launch_bounds__(team_threads) void fetch_heads(const Byte* message, u64 bytes, Byte* host,
                                                            u32 frames)
{
    constexpr u64 stamp = 48, header = sizeof(frame_header);
    const auto give = [=](u64 from, u64 to) {
        to = smaller(to, bytes);
        for (u64 i = from + 4 * me(); i + 4 <= to; i += 4 * team_threads)
            store_as<u32>(host + i, load_as<u32>(message + i));
        for (u64 i = to / 4 * 4 + me(); i < to; i += team_threads) host[i] = message[i];
    };
    give(0, stamp + header);
    u64 at = stamp;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < frames && at + header <= bytes; ++i) {
        if (load_as<u32>(message + at) != 0x4C4F4343u) return;
        const u32 chunks = load_as<u32>(message + at + 28);
        const u64 in_front = payload_begin(chunks);
        give(at, at + in_front);
        if (in_front > bytes - at) return;
        at += in_front + u64{unit_bytes} * load_as<u32>(message + at + payload_field);
    }
}

/// Messages may be on the device, on the host, or (as seen by the transport) one of both.
struct messages_on_device {
    static void fetch(const codec_queue& queue, const_byte_span message, std::byte* host, int frames,
                      codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome*) {
            return launch(&fetch_heads<u8>, 1, 0, lane.stream(), reinterpret_cast<const u8*>(message.data()),
                          u64{message.size()}, reinterpret_cast<u8*>(host), static_cast<u32>(frames));
        });
    }
    static void copy(const codec_queue& queue, const_byte_span from, std::byte* to, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome*) {
            return cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDefault, lane.stream());
        });
    }
    /// For ranks that are threads. It waits for its own stream alone, while kernels of lanes go on.
    static bool copy_now(std::byte* to, const_byte_span from) noexcept
    {
        if (!on_device(to) && !on_device(from.data())) {  // as control messages are
            ccoll::copy({to, from.size()}, from);
            return true;
        }
        const cudaError_t e = thread_on_devices::here().now().copy_now(to, from);
        if (e != cudaSuccess) words_of_cuda::of_this_thread().keep(e);
        return e == cudaSuccess;
    }

    static bool on_device(const std::byte* at) noexcept
    {
        cudaPointerAttributes facts{};
        if (cudaPointerGetAttributes(&facts, at) == cudaSuccess) return facts.type == cudaMemoryTypeDevice;
        static_cast<void>(cudaGetLastError());
        return false;
    }
    static constexpr far_messages all{{&copy_now, true}, &fetch, &copy};
};

}  // namespace ccoll::detail::device
