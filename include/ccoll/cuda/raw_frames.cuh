// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/raw_frames.cuh - floor 4. Codec::None on a device: elements are copied between their place and frames
// in pinned memory, or with `Direct` on the device.
#pragma once

#include <ccoll/codec/none.hpp>
#include <ccoll/cuda/operations.cuh>
#include <ccoll/cuda/through_host.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// Codec::None: the host writes header and index, which follow from the count alone, and elements are copied
/// to where they belong.
template <element T, bool Direct = false>
struct raw_frames {
    using chunks = chunked<policies::Codec::None, T>;
    using through_host = frames_through_host<policies::Codec::None, T>;
    static constexpr frame_codec<T> host = frame_codec_of<policies::Codec::None, T>;
    static constexpr std::size_t step = chunks::step;
    /// Chunks lie side by side, so one copy is enough.
    static constexpr bool side_by_side = step * sizeof(T) % frame_unit == 0;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c,
                       codec_work& work) noexcept
    {
        if constexpr (!side_by_side) return through_host::encode(queue, in, dst, c, work);
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) { return put(lane, in.data(), in.size(), dst, told); });
    }
    static void decode(const codec_queue& queue, const frame_view& src, std::span<T> out,
                       const codec_context& c, codec_work& work) noexcept
    {
        if (!is_plain(src)) {
            if constexpr (Direct) return refuse(work);
            else return through_host::decode(queue, src, out, c, work);
        }
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome*) { return to_device(lane, elements_of(src), out.data(), out.size()); });
    }
    static void decode_reduce(const codec_queue& queue, const frame_view& src, std::span<const T> own, T* out,
                              const reduction<T>& op, const codec_context& c, codec_work& work) noexcept
    {
        if (op.in_space == nullptr || !is_plain(src)) {
            if constexpr (Direct) return refuse(work);
            else return through_host::decode_reduce(queue, src, own, out, op, c, work);
        }
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome*) { return begin_reduce(lane, src, own, out, op); });
    }
    static void decode_reduce_encode(const codec_queue& queue, const frame_view& src, std::span<const T> own,
                                     byte_span dst, const reduction<T>& op, const codec_context& c,
                                     codec_work& work) noexcept
    {
        if (op.in_space == nullptr || !is_plain(src)) {
            if constexpr (Direct) return refuse(work);
            else return through_host::decode_reduce_encode(queue, src, own, dst, op, c, work);
        }
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* sums = nullptr;
            CCOLL_CUDA_TRY(lane.grow_elements(own.size(), sums));
            CCOLL_CUDA_TRY(begin_reduce(lane, src, own, sums, op));
            return put(lane, sums, own.size(), dst, told);
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

private:
    /// The frame of n elements.
    static cudaError_t put(lane_of_device& lane, const T* from, std::size_t n, byte_span dst, outcome* told)
    {
        const std::size_t start = chunks::start(n), end = start + n * sizeof(T),
                          bytes = start + padded_to_unit(n * sizeof(T));
        if (!chunks::fits_a_frame(n, bytes - start)) {
            tell(told, {0, status::bad_argument});
            return cudaSuccess;
        }
        if (bytes > dst.size()) {
            tell(told, {0, status::out_of_space});
            return cudaSuccess;
        }
        if constexpr (Direct) {
            std::byte* head = nullptr;
            CCOLL_CUDA_TRY(lane.grow_host_elements(0, start, head));
            CCOLL_CUDA_TRY(lane.call_host([=] { put_head(n, {head, start}); }));
            CCOLL_CUDA_TRY(cudaMemcpyAsync(dst.data(), head, start, cudaMemcpyHostToDevice, lane.stream()));
            if (bytes > end) CCOLL_CUDA_TRY(cudaMemsetAsync(dst.data() + end, 0, bytes - end, lane.stream()));
        } else {
            put_head(n, dst);
            std::memset(dst.data() + end, 0, bytes - end);
        }
        tell(told, {bytes});
        return from_device(lane, from, dst.data() + start, n);
    }
    /// Header and index.
    static void put_head(std::size_t n, byte_span head)
    {
        chunks::put_header(head, chunks::header(n, 0));
        for (std::size_t i = 0; i < chunks::chunks(n); ++i)
            put_entry(head, i, i * step * sizeof(T), std::min(step, n - i * step) * sizeof(T), true);
        put_payload(head, padded_to_unit(n * sizeof(T)));
    }
    /// No encoder writes such a frame.
    static void refuse(codec_work& work) { work = {{0, status::corrupt}, 0}; }
    /// Are the chunks what an encoder writes? Others are for the host to judge. It does not look at zeros
    /// behind chunks on the device.
    static bool is_plain(const frame_view& f)
    {
        if (!side_by_side || f.payload.size() != padded_to_unit(f.header.elements * sizeof(T))) return false;
        for (std::size_t i = 0; i < f.header.chunks; ++i)
            if (!f.is_raw(i) || f.begin_of(i) != i * step * sizeof(T) ||
                (!Direct && !is_filled_with_zeros(f.chunk(i))))
                return false;
        return true;
    }
    static const std::byte* elements_of(const frame_view& f) { return f.payload.data(); }
    static cudaError_t to_device(lane_of_device& lane, const std::byte* from, T* to, std::size_t n)
    {
        if (n == 0) return cudaSuccess;
        return cudaMemcpyAsync(static_cast<void*>(to), from, n * sizeof(T),
                               Direct ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, lane.stream());
    }
    static cudaError_t from_device(lane_of_device& lane, const T* from, std::byte* to, std::size_t n)
    {
        if (n == 0) return cudaSuccess;
        return cudaMemcpyAsync(to, static_cast<const void*>(from), n * sizeof(T),
                               Direct ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, lane.stream());
    }
    static cudaError_t begin_reduce(lane_of_device& lane, const frame_view& src, std::span<const T> own,
                                    T* out, const reduction<T>& op)
    {
        const_byte_span theirs;
        CCOLL_CUDA_TRY(lane.stage<Direct>(0, src.payload, theirs));
        return begin_combine(op, own.data(), reinterpret_cast<const T*>(theirs.data()), out, own.size(),
                             lane.stream());
    }
};

}  // namespace ccoll::detail::device
