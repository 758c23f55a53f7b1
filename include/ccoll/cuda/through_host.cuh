// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/through_host.cuh - floor 4. Codecs of the host on elements of the device: what has no kernel works all
// the same, on a copy.
#pragma once

#include <ccoll/codec/queued_codec.hpp>
#include <ccoll/cuda/lane.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

template <class T>
cudaError_t to_host(lane_of_device& lane, std::size_t which, const T* from, std::size_t n, T*& at)
{
    CCOLL_CUDA_TRY(lane.grow_host_elements(which, n, at));
    return cudaMemcpyAsync(static_cast<void*>(at), from, n * sizeof(T), cudaMemcpyDeviceToHost,
                           lane.stream());
}
template <class T>
cudaError_t to_device(lane_of_device& lane, const T* from, T* to, std::size_t n)
{
    return cudaMemcpyAsync(static_cast<void*>(to), from, n * sizeof(T), cudaMemcpyHostToDevice,
                           lane.stream());
}
inline void tell(outcome* told, const encode_result& r)
{
    *told = {r.bytes, static_cast<u32>(r.code), static_cast<u32>(r.raw_blocks), r.special_values};
}

/// A codec of the host on elements of the device, in the order of the stream: elements are copied to pinned
/// memory, and a function of the host works there.
template <class Tag, element T>
struct frames_through_host {
    static constexpr frame_codec<T> host = frame_codec_of<Tag, T>;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c,
                       codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, in.data(), in.size(), x));
            const field_facts field = c.field();
            return lane.call_host(
                [=, n = in.size()] { tell(told, host.encode(std::span<const T>(x, n), dst, field, {})); });
        });
    }
    static void decode(const codec_queue& queue, const frame_view& src, std::span<T> out,
                       const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(lane.grow_host_elements(0, out.size(), x));
            CCOLL_CUDA_TRY(lane.call_host([=, n = out.size(), facts = c.decoded()] {
                tell(told, {0, host.decode(src, std::span<T>(x, n), facts, {})});
            }));
            return to_device(lane, x, out.data(), out.size());
        });
    }
    static void decode_reduce(const codec_queue& queue, const frame_view& src, std::span<const T> own, T* out,
                              const reduction<T>& op, const codec_context&, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, own.data(), own.size(), x));
            CCOLL_CUDA_TRY(lane.call_host([=, n = own.size()] {
                tell(told, {0, host.decode_reduce(src, std::span<const T>(x, n), x, op, {})});
            }));
            return to_device(lane, x, out, own.size());
        });
    }
    static void decode_reduce_encode(const codec_queue& queue, const frame_view& src, std::span<const T> own,
                                     byte_span dst, const reduction<T>& op, const codec_context& c,
                                     codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, own.data(), own.size(), x));
            return lane.call_host([=, n = own.size(), field = c.field()] {
                tell(told, host.decode_reduce_encode(src, std::span<const T>(x, n), dst, field, op, {}));
            });
        });
    }
    static constexpr queued_codec<T> all{host.max_bytes,
                                         host.open,
                                         encode,
                                         decode,
                                         decode_reduce,
                                         decode_reduce_encode,
                                         host.chunk_elements,
                                         host.elements_between_polls};
};

template <class Tag, element T>
struct sums_through_host {
    using chunks = chunked_addends<Tag, T>;
    static constexpr addend_codec<T> host = addend_codec_of<Tag, T>;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c,
                       codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, in.data(), in.size(), x));
            const field_facts field = c.field();
            return lane.call_host(
                [=, n = in.size()] { tell(told, host.encode(std::span<const T>(x, n), dst, field, {})); });
        });
    }
    static void add(const codec_queue& queue, const frame_view& a, const frame_view& b, byte_span dst,
                    const codec_context&, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            return lane.call_host([=] { tell(told, host.add(a, b, dst, {})); });
        });
    }
    static void encode_add(const codec_queue& queue, std::span<const T> own, const frame_view& theirs,
                           byte_span dst, const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* x = nullptr;
            CCOLL_CUDA_TRY(to_host(lane, 0, own.data(), own.size(), x));
            const field_facts field = c.field();
            return lane.call_host([=, n = own.size()] {
                tell(told, chunks::encode_add(std::span<const T>(x, n), theirs, dst, field, {}));
            });
        });
    }
    static constexpr queued_addends<T> all{host.max_bytes, host.can_add,         encode,   host.refuse, add,
                                           encode_add,     host.adds_non_finite, host.step};
};

}  // namespace ccoll::detail::device
