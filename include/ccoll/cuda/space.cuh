// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/space.cuh - floor 4. Device memory as a memory space of the engine: every collective, algorithm and placement on device buffers.
// Frames travel through pinned memory of the host (staged): an encoder writes them there itself, and a decoder reads a copy in device
// memory. SZp, SZx, PipeSZx and ZFP at a rate have kernels for float and double. Every other codec and operation works on the host, on a
// copy of the elements.
#pragma once

#include <ccoll/codec/queued_codec.hpp>
#include <ccoll/cuda/elements.cuh>
#include <ccoll/cuda/lane.cuh>
#include <ccoll/cuda/szp.cuh>
#include <ccoll/cuda/szx.cuh>
#include <ccoll/cuda/zfp.cuh>
#include <ccoll/engine/space.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::device {

/// The first error of a chain.
#define CCOLL_CUDA_TRY(expression) \
    if (const cudaError_t ccoll_error = (expression); ccoll_error != cudaSuccess) return ccoll_error

template <class T>
cudaError_t to_host(lane_of_device& lane, std::size_t which, const T* from, std::size_t n, T*& at)
{
    CCOLL_CUDA_TRY(lane.grow_host_elements(which, n, at));
    return cudaMemcpyAsync(static_cast<void*>(at), from, n * sizeof(T), cudaMemcpyDeviceToHost, lane.stream());
}
template <class T>
cudaError_t to_device(lane_of_device& lane, const T* from, T* to, std::size_t n)
{
    return cudaMemcpyAsync(static_cast<void*>(to), from, n * sizeof(T), cudaMemcpyHostToDevice, lane.stream());
}
inline void tell(outcome* told, const encode_result& r)
{
    *told = {r.bytes, static_cast<u32>(r.code), static_cast<u32>(r.raw_blocks), r.special_values};
}

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
inline workspace& element_memory(workspace&) noexcept
{
    static thread_local workspace mine(memory_source{&allocate_on_device, [](std::byte* at) noexcept { static_cast<void>(cudaFree(at)); }});
    return mine;
}
inline workspace& message_memory(workspace&) noexcept
{
    static thread_local workspace mine(
        memory_source{&allocate_pinned, [](std::byte* at) noexcept { static_cast<void>(cudaFreeHost(at)); }});
    return mine;
}

/// A codec of the host on elements of the device, in the order of the stream: elements are copied to pinned memory, and a function of the
/// host works there.
template <class Tag, element T>
struct frames_through_host {
    static constexpr frame_codec<T> host = frame_codec_of<Tag, T>;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, in.data(), in.size(), x));
            return lane.call_host([=, n = in.size(), eb = c.eb] { tell(told, host.encode(std::span<const T>(x, n), dst, eb, {})); });
        });
    }
    static void decode(const codec_queue& queue, const frame_view& src, std::span<T> out, const codec_context&, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(lane.grow_host_elements(0, out.size(), x));
            CCOLL_CUDA_TRY(
                lane.call_host([=, n = out.size()] { tell(told, {0, host.decode(src, std::span<T>(x, n), stores::cached, {})}); }));
            return to_device(lane, x, out.data(), out.size());
        });
    }
    static void decode_reduce(const codec_queue& queue, const frame_view& src, std::span<const T> own, T* out, const reduction<T>& op,
                              const codec_context&, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, own.data(), own.size(), x));
            CCOLL_CUDA_TRY(
                lane.call_host([=, n = own.size()] { tell(told, {0, host.decode_reduce(src, std::span<const T>(x, n), x, op, {})}); }));
            return to_device(lane, x, out, own.size());
        });
    }
    static void decode_reduce_encode(const codec_queue& queue, const frame_view& src, std::span<const T> own, byte_span dst,
                                     const reduction<T>& op, const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, own.data(), own.size(), x));
            return lane.call_host(
                [=, n = own.size(), eb = c.eb] { tell(told, host.decode_reduce_encode(src, std::span<const T>(x, n), dst, eb, op, {})); });
        });
    }
    static constexpr queued_codec<T> all{
        host.max_bytes, host.open, encode, decode, decode_reduce, decode_reduce_encode, host.chunk_elements, host.elements_between_polls};
};

template <class Tag, element T>
struct sums_through_host {
    using chunks = chunked_addends<Tag, T>;
    static constexpr addend_codec<T> host = addend_codec_of<Tag, T>;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, in.data(), in.size(), x));
            return lane.call_host([=, n = in.size(), eb = c.eb] { tell(told, host.encode(std::span<const T>(x, n), dst, eb, {})); });
        });
    }
    static void add(const codec_queue& queue, const frame_view& a, const frame_view& b, byte_span dst, const codec_context&,
                    codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) { return lane.call_host([=] { tell(told, host.add(a, b, dst, {})); }); });
    }
    static void encode_add(const codec_queue& queue, std::span<const T> own, const frame_view& theirs, byte_span dst,
                           const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, own.data(), own.size(), x));
            return lane.call_host(
                [=, n = own.size(), eb = c.eb] { tell(told, chunks::encode_add(std::span<const T>(x, n), theirs, dst, eb, {})); });
        });
    }
    static constexpr queued_addends<T> all{
        host.max_bytes, host.can_add, encode, host.refuse, add, encode_add, host.adds_non_finite, host.self_checked_addends, host.step};
};

/// A codec with kernels. Frames stand in pinned memory. An operation without a kernel is done on the host.
template <class Tag, native_float T>
struct frames_with_kernels {
    using kernels = launches_of<Tag, T>;
    using through_host = frames_through_host<Tag, T>;
    static constexpr frame_codec<T> host = frame_codec_of<Tag, T>;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) { return begin_encode(lane, in.data(), in.size(), dst, c.eb, told); });
    }
    static void decode(const codec_queue& queue, const frame_view& src, std::span<T> out, const codec_context&, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) { return begin_decode(lane, src.whole, out.data(), out.size(), told); });
    }
    static void decode_reduce(const codec_queue& queue, const frame_view& src, std::span<const T> own, T* out, const reduction<T>& op,
                              const codec_context& c, codec_work& work) noexcept
    {
        if (!has_kernel(op)) return through_host::decode_reduce(queue, src, own, out, op, c, work);
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* theirs = nullptr;
            CCOLL_CUDA_TRY(lane.grow_elements(own.size(), theirs));
            CCOLL_CUDA_TRY(begin_decode(lane, src.whole, theirs, own.size(), told));
            return begin_combine(op, own.data(), theirs, out, own.size(), lane.stream());
        });
    }
    static void decode_reduce_encode(const codec_queue& queue, const frame_view& src, std::span<const T> own, byte_span dst,
                                     const reduction<T>& op, const codec_context& c, codec_work& work) noexcept
    {
        if (!has_kernel(op)) return through_host::decode_reduce_encode(queue, src, own, dst, op, c, work);
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* theirs = nullptr;
            CCOLL_CUDA_TRY(lane.grow_elements(own.size(), theirs));
            // What the decoder finds is told to `told`, and then kept by the encoder only if it is in order: see below.
            CCOLL_CUDA_TRY(begin_decode(lane, src.whole, theirs, own.size(), told));
            CCOLL_CUDA_TRY(begin_combine(op, own.data(), theirs, theirs, own.size(), lane.stream()));
            outcome* written = nullptr;
            CCOLL_CUDA_TRY(lane.grow_host_elements(1, 1, written));
            CCOLL_CUDA_TRY(begin_encode(lane, theirs, own.size(), dst, c.eb, written));
            return lane.call_host([=] {
                const u32 code = told->code;
                *told = *written;
                if (code != 0) told->code = code;
            });
        });
    }
    static constexpr queued_codec<T> all{
        host.max_bytes, host.open, encode, decode, decode_reduce, decode_reduce_encode, host.chunk_elements, host.elements_between_polls};

private:
    static cudaError_t begin_encode(lane_of_device& lane, const T* x, std::size_t n, byte_span dst, double eb, outcome* told)
    {
        CCOLL_CUDA_TRY(lane.grow_scratch(chunks_of_frame<Tag, T>(n)));
        return kernels::encode(x, n, eb, dst.data(), lane.launch_scratch(), told, lane.stream());
    }
    static cudaError_t begin_decode(lane_of_device& lane, const_byte_span frame, T* x, std::size_t n, outcome* told)
    {
        const_byte_span copy;
        CCOLL_CUDA_TRY(lane.grow_scratch(0));
        CCOLL_CUDA_TRY(lane.stage(0, frame, copy));
        return kernels::decode(copy.data(), copy.size(), x, n, lane.launch_scratch(), told, lane.stream());
    }
};

template <native_float T>
struct szp_sums {
    static constexpr addend_codec<T> host = addend_codec_of<policies::Codec::SZp, T>;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            CCOLL_CUDA_TRY(lane.grow_scratch(szp::chunks_of(in.size())));
            return szp::begin_encode_add(in.data(), in.size(), c.eb, {}, dst.data(), lane.launch_scratch(), told, lane.stream());
        });
    }
    static void add(const codec_queue& queue, const frame_view& a, const frame_view& b, byte_span dst, const codec_context&,
                    codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        const std::size_t n = a.header.elements;
        lane.begin(work, [&](outcome* told) {
            const_byte_span x, y;
            CCOLL_CUDA_TRY(lane.grow_scratch(szp::chunks_of(n)));
            CCOLL_CUDA_TRY(lane.stage(0, a.whole, x));
            CCOLL_CUDA_TRY(lane.stage(1, b.whole, y));
            return szp::begin_add<T>(x, y, n, dst.data(), lane.launch_scratch(), told, lane.stream());
        });
    }
    static void encode_add(const codec_queue& queue, std::span<const T> own, const frame_view& theirs, byte_span dst,
                           const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            const_byte_span other;
            CCOLL_CUDA_TRY(lane.grow_scratch(szp::chunks_of(own.size())));
            CCOLL_CUDA_TRY(lane.stage(0, theirs.whole, other));
            return szp::begin_encode_add(own.data(), own.size(), c.eb, other, dst.data(), lane.launch_scratch(), told, lane.stream());
        });
    }
    static constexpr queued_addends<T> all{
        host.max_bytes, host.can_add, encode, host.refuse, add, encode_add, host.adds_non_finite, host.self_checked_addends, host.step};
};

}  // namespace detail::device

template <element T>
struct memory_space<cuda_space, T> {
    static void copy(const codec_queue& queue, const T* from, T* to, std::size_t n, codec_work& work) noexcept
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) -> cudaError_t {
            const std::less<const T*> before;
            const bool apart = !before(from, to + n) || !before(to, from + n);
            if (apart || from == to)
                return cudaMemcpyAsync(static_cast<void*>(to), from, n * sizeof(T), cudaMemcpyDeviceToDevice, lane.stream());
            T* aside = nullptr;  // copies of a device must not overlap
            CCOLL_CUDA_TRY(lane.grow_elements(n, aside));
            CCOLL_CUDA_TRY(cudaMemcpyAsync(static_cast<void*>(aside), from, n * sizeof(T), cudaMemcpyDeviceToDevice, lane.stream()));
            return cudaMemcpyAsync(static_cast<void*>(to), aside, n * sizeof(T), cudaMemcpyDeviceToDevice, lane.stream());
        });
    }
    static void divide(const codec_queue& queue, void (*by)(T*, int, std::size_t), T* values, int ranks, std::size_t n,
                       codec_work& work) noexcept
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) -> cudaError_t {
            if constexpr (native_float<T>)
                if (by == reduction_of<policies::Op::Average, T>.divide)
                    return detail::device::begin_divide(values, ranks, n, lane.stream());
            T* x = nullptr;
            CCOLL_CUDA_TRY(detail::device::to_host(lane, 0, values, n, x));
            CCOLL_CUDA_TRY(lane.call_host([=] { by(x, ranks, n); }));
            return detail::device::to_device(lane, x, values, n);
        });
    }
    static void survey(const codec_queue& queue, const T* values, std::size_t n, value_survey& found, codec_work& work) noexcept
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) -> cudaError_t {
            T* x = nullptr;
            CCOLL_CUDA_TRY(detail::device::to_host(lane, 0, values, n, x));
            return lane.call_host([=, to = &found] { look_at(x, n, *to); });
        });
    }
    static constexpr space_operations<T> operations{
        &detail::device::element_memory, &detail::device::message_memory, &detail::device::lane_of_device::queue, &copy, &divide, &survey};
};
#undef CCOLL_CUDA_TRY

template <class Tag, element T, class Exec>
    requires has_codec<Tag, T>
struct queued_codecs<Tag, T, cuda_space, Exec> {
    static constexpr queued_codec<T> frames = detail::device::frames_through_host<Tag, T>::all;
};
template <class Tag, element T, class Exec>
    requires has_homomorphic_codec<Tag, T>
struct queued_codecs<Tag, T, cuda_space, Exec> {
    static constexpr queued_codec<T> frames = detail::device::frames_through_host<Tag, T>::all;
    static constexpr queued_addends<T> addends = detail::device::sums_through_host<Tag, T>::all;
};
template <class Tag, native_float T, class Exec>
    requires(has_codec<Tag, T> && detail::device::has_kernels<Tag, T>)
struct queued_codecs<Tag, T, cuda_space, Exec> {
    static constexpr queued_codec<T> frames = detail::device::frames_with_kernels<Tag, T>::all;
};
template <native_float T, class Exec>
    requires has_homomorphic_codec<policies::Codec::SZp, T>
struct queued_codecs<policies::Codec::SZp, T, cuda_space, Exec> {
    static constexpr queued_codec<T> frames = detail::device::frames_with_kernels<policies::Codec::SZp, T>::all;
    static constexpr queued_addends<T> addends = detail::device::szp_sums<T>::all;
};

}  // namespace ccoll
