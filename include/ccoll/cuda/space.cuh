// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/space.cuh - floor 4. Device memory as a memory space of the engine: every collective, algorithm and
// placement on device buffers. Frames travel through pinned memory of the host (staged): an encoder writes
// them there itself, and a decoder reads a copy in device memory. With Transport::Direct they stay on the
// device. SZp has kernels for float and double, SZx, PipeSZx and ZFP at a rate also for two-byte floats, and
// without a codec elements are copied between frames and their place. Every other codec works on the host, on
// a copy of the elements, as does an operation that is no function of the device.
#pragma once

#include <ccoll/codec/queued_codec.hpp>
#include <ccoll/cuda/block_scale.cuh>
#include <ccoll/cuda/messages.cuh>
#include <ccoll/cuda/operations.cuh>
#include <ccoll/cuda/raw_frames.cuh>
#include <ccoll/cuda/szp.cuh>
#include <ccoll/cuda/szx.cuh>
#include <ccoll/cuda/thread.cuh>
#include <ccoll/cuda/zfp.cuh>
#include <ccoll/space/space.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::device {

/// A codec with kernels. Frames are in pinned memory, or with `Direct` on the device. An operation without a
/// kernel is done on the host, which Direct does not have.
template <class Tag, floating_element T, bool Direct = false>
struct frames_with_kernels {
    using kernels = launches_of<Tag, T>;
    using through_host = frames_through_host<Tag, T>;
    static constexpr frame_codec<T> host = frame_codec_of<Tag, T>;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c,
                       codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work,
                   [&](outcome* told) { return begin_encode(lane, in.data(), in.size(), dst, c, told); });
    }
    static void decode(const codec_queue& queue, const frame_view& src, std::span<T> out,
                       const codec_context& c, codec_work& work) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            return begin_decode(lane, src.whole, out.data(), out.size(), c, told);
        });
    }
    static void decode_reduce(const codec_queue& queue, const frame_view& src, std::span<const T> own, T* out,
                              const reduction<T>& op, const codec_context& c, codec_work& work) noexcept
    {
        if (!Direct && op.in_space == nullptr)
            return through_host::decode_reduce(queue, src, own, out, op, c, work);
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* theirs = nullptr;
            CCOLL_CUDA_TRY(lane.grow_elements(own.size(), theirs));
            CCOLL_CUDA_TRY(begin_decode(lane, src.whole, theirs, own.size(), {}, told));
            return begin_combine(op, own.data(), theirs, out, own.size(), lane.stream());
        });
    }
    static void decode_reduce_encode(const codec_queue& queue, const frame_view& src, std::span<const T> own,
                                     byte_span dst, const reduction<T>& op, const codec_context& c,
                                     codec_work& work) noexcept
    {
        if (!Direct && op.in_space == nullptr)
            return through_host::decode_reduce_encode(queue, src, own, dst, op, c, work);
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            T* theirs = nullptr;
            CCOLL_CUDA_TRY(lane.grow_elements(own.size(), theirs));
            // What the decoder finds is told to `told`, and then kept by the encoder only if it is in order:
            // see below.
            CCOLL_CUDA_TRY(begin_decode(lane, src.whole, theirs, own.size(), {}, told));
            CCOLL_CUDA_TRY(begin_combine(op, own.data(), theirs, theirs, own.size(), lane.stream()));
            outcome* written = nullptr;
            CCOLL_CUDA_TRY(lane.grow_host_elements(1, 1, written));
            CCOLL_CUDA_TRY(begin_encode(lane, theirs, own.size(), dst, c, written));
            return lane.call_host([=] {
                const u32 code = told->code;
                *told = *written;
                if (code != 0) told->code = code;
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

private:
    static cudaError_t begin_encode(lane_of_device& lane, const T* x, std::size_t n, byte_span dst,
                                    const codec_context& c, outcome* told)
    {
        if (host.max_bytes(n) > most_payload_bytes) {
            tell(told, {0, status::bad_argument});
            return cudaSuccess;
        }
        CCOLL_CUDA_TRY(lane.grow_scratch(kernels::scratch_bytes(n)));
        return kernels::encode(x, n, c, dst.data(), lane.launch_scratch(), told, lane.stream());
    }
    static cudaError_t begin_decode(lane_of_device& lane, const_byte_span frame, T* x, std::size_t n,
                                    const codec_context& c, outcome* told)
    {
        const_byte_span copy;
        CCOLL_CUDA_TRY(lane.grow_scratch(kernels::scratch_bytes(n)));
        CCOLL_CUDA_TRY(lane.stage<Direct>(0, frame, copy));
        return kernels::decode(copy, x, n, c, lane.launch_scratch(), told, lane.stream());
    }
};

/// The same for streams that add.
template <class Tag, floating_element T, bool Direct = false>
struct sums_with_kernels {
    using kernels = launches_of<Tag, T>;
    static constexpr addend_codec<T> host = addend_codec_of<Tag, T>;

    static void encode(const codec_queue& queue, std::span<const T> in, byte_span dst, const codec_context& c,
                       codec_work& work) noexcept
    {
        begin(queue, in.size(), work, [&](lane_of_device& lane, scratch* s, outcome* told) {
            return kernels::encode_addend(in.data(), in.size(), c, dst.data(), s, told, lane.stream());
        });
    }
    static void add(const codec_queue& queue, const frame_view& a, const frame_view& b, byte_span dst,
                    const codec_context&, codec_work& work) noexcept
    {
        const std::size_t n = a.header.elements;
        begin(queue, n, work, [&](lane_of_device& lane, scratch* s, outcome* told) {
            const_byte_span x, y;
            CCOLL_CUDA_TRY(lane.stage<Direct>(0, a.whole, x));
            CCOLL_CUDA_TRY(lane.stage<Direct>(1, b.whole, y));
            return kernels::add(x, y, n, dst.data(), s, told, lane.stream());
        });
    }
    static void encode_add(const codec_queue& queue, std::span<const T> own, const frame_view& theirs,
                           byte_span dst, const codec_context& c, codec_work& work) noexcept
    {
        begin(queue, own.size(), work, [&](lane_of_device& lane, scratch* s, outcome* told) {
            const_byte_span other;
            CCOLL_CUDA_TRY(lane.stage<Direct>(0, theirs.whole, other));
            return kernels::encode_add(own.data(), own.size(), c, other, dst.data(), s, told, lane.stream());
        });
    }
    static constexpr queued_addends<T> all{host.max_bytes, host.can_add,         encode,   host.refuse, add,
                                           encode_add,     host.adds_non_finite, host.step};

private:
    /// @param f  (lane, scratch, outcome*) -> cudaError_t
    template <class Function>
    static void begin(const codec_queue& queue, std::size_t n, codec_work& work, Function f) noexcept
    {
        auto& lane = lane_of_device::of(queue);
        lane.begin(work, [&](outcome* told) {
            if (host.max_bytes(n) > most_payload_bytes) {
                tell(told, {0, status::bad_argument});
                return cudaSuccess;
            }
            CCOLL_CUDA_TRY(lane.grow_scratch(kernels::scratch_bytes(n)));
            return f(lane, lane.launch_scratch(), told);
        });
    }
};

}  // namespace detail::device

/// A stream behind the communicator: the call comes after what has been begun on it.
template <>
struct detail::space_of_argument<cudaStream_t> {
    using type = cuda_space;
};

template <element T>
struct detail::memory_space<cuda_space, T> {
    static void copy(const codec_queue& queue, const T* from, T* to, std::size_t n, codec_work& work) noexcept
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) -> cudaError_t {
            if (from == to) return cudaSuccess;
            const std::less<const T*> before;
            if (!before(from, to + n) || !before(to, from + n))
                return cudaMemcpyAsync(static_cast<void*>(to), from, n * sizeof(T), cudaMemcpyDeviceToDevice,
                                       lane.stream());
            T* aside = nullptr;  // copies of a device must not overlap
            CCOLL_CUDA_TRY(lane.grow_elements(n, aside));
            CCOLL_CUDA_TRY(cudaMemcpyAsync(static_cast<void*>(aside), from, n * sizeof(T),
                                           cudaMemcpyDeviceToDevice, lane.stream()));
            return cudaMemcpyAsync(static_cast<void*>(to), aside, n * sizeof(T), cudaMemcpyDeviceToDevice,
                                   lane.stream());
        });
    }
    static void divide(const codec_queue& queue, const reduction<T>& op, T* values, int ranks, std::size_t n,
                       codec_work& work) noexcept
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) -> cudaError_t {
            if constexpr (floating_element<T>)
                if (op.by_ranks == reduction_of<policies::Op::Average, T>.by_ranks)
                    return detail::device::begin_divide(values, ranks, n, op.missing, lane.stream());
            if constexpr (native_float<T>)
                if (op.by_ranks == &divide_shares_by_ranks<T>)
                    return detail::device::begin_divide_shares(values, ranks, n, op.missing, lane.stream());
            T* x = nullptr;
            CCOLL_CUDA_TRY(detail::device::to_host(lane, 0, values, n, x));
            CCOLL_CUDA_TRY(lane.call_host([=] { op.divide(x, ranks, n); }));
            return detail::device::to_device(lane, x, values, n);
        });
    }
    static void survey(const codec_queue& queue, const T* values, std::size_t n, value_survey& found,
                       codec_work& work) noexcept
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) -> cudaError_t {
            if (n == 0 || !floating_element<T>) return cudaSuccess;
            if constexpr (floating_element<T>) {
                detail::device::seen_values<detail::looked_at<T>>* seen = nullptr;
                CCOLL_CUDA_TRY(lane.grow_host_elements(1, 1, seen));
                CCOLL_CUDA_TRY(detail::device::begin_look(
                    values, n, found.missing, seen, lane.stream(),
                    [&](std::size_t room, void*& at) { return lane.grow_algorithm(room, at); }));
                return lane.call_host([=, to = &found] { detail::device::add_to(*to, *seen); });
            } else {
                T* x = nullptr;
                CCOLL_CUDA_TRY(detail::device::to_host(lane, 0, values, n, x));
                return lane.call_host([=, to = &found] { look_at(x, n, *to); });
            }
        });
    }
    static void widen(const codec_queue& queue, const T* from, float* to, std::size_t n,
                      codec_work& work) noexcept
        requires small_float<T>
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) {
            return detail::device::begin_widen(from, to, n, lane.stream());
        });
    }
    static void narrow(const codec_queue& queue, const float* from, T* to, std::size_t n,
                       codec_work& work) noexcept
        requires small_float<T>
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) {
            return detail::device::begin_narrow(from, to, n, lane.stream());
        });
    }
    static void find_scales(const codec_queue& queue, const T* values, std::size_t n, std::size_t block,
                            std::uint8_t* scales, codec_work& work) noexcept
        requires scaled_element<T>
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) {
            return detail::device::begin_find_scales(values, n, block, scales, lane.stream());
        });
    }
    static void divide_by_scales(const codec_queue& queue, const T* from, T* to, std::size_t n,
                                 std::size_t block, const std::uint8_t* scales, std::uint8_t& largest,
                                 codec_work& work) noexcept
        requires scaled_element<T>
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) -> cudaError_t {
            if (n == 0) return cudaSuccess;
            detail::device::u32* most = nullptr;
            CCOLL_CUDA_TRY(lane.grow_host_elements(1, 1, most));
            CCOLL_CUDA_TRY(detail::device::begin_largest_scale(
                scales, n / block + (n % block != 0), most, lane.stream(),
                [&](std::size_t room, void*& at) { return lane.grow_algorithm(room, at); }));
            CCOLL_CUDA_TRY(lane.call_host([=, to = &largest] { *to = static_cast<std::uint8_t>(*most); }));
            return detail::device::begin_scale_blocks(from, to, n, 0, block, scales,
                                                      detail::device::to_units{}, lane.stream());
        });
    }
    static void multiply_by_scales(const codec_queue& queue, const T* from, T* to, std::size_t n,
                                   std::size_t first, std::size_t block, const std::uint8_t* scales,
                                   block_ceiling ceiling, codec_work& work) noexcept
        requires scaled_element<T>
    {
        auto& lane = detail::device::lane_of_device::of(queue);
        lane.begin(work, [&](detail::device::outcome*) {
            return detail::device::begin_scale_blocks(from, to, n, first, block, scales,
                                                      detail::device::from_units{ceiling}, lane.stream());
        });
    }
    static status enter(const space_argument& after, const T* send, const T* recv) noexcept
    {
        return detail::device::thread_on_devices::here().enter(after, send, recv);
    }

    /// What `reduction::in_space` is for an operation: null where it is no function of the device.
    template <class Op>
    static constexpr const void* operation_of = [] {
        if constexpr (detail::device::operation_on_device<Op, T>)
            return &detail::device::operation_of_device<Op, T>;
        else return nullptr;
    }();
    static constexpr space_operations<T> operations = [] {
        space_operations<T> all{&detail::device::element_memory,
                                &detail::device::message_memory,
                                &detail::device::queue_of_lane,
                                &copy,
                                &divide,
                                &survey,
                                &enter,
                                &detail::device::explain,
                                detail::device::slice_elements};
        if constexpr (scaled_element<T>) {
            all.find_scales = &find_scales;
            all.divide_by_scales = &divide_by_scales;
            all.multiply_by_scales = &multiply_by_scales;
            all.larger_scales.combine = &detail::larger_scales<T>;
            all.larger_scales.in_space = &detail::device::larger_scales_on_device<T>;
        }
        return all;
    }();
};

/// With Transport::Direct. Codecs without kernels are not there, so that calls with them are staged.
template <element T>
struct detail::memory_space<detail::direct<cuda_space>, T> {
    template <class Op>
    static constexpr const void* operation_of = memory_space<cuda_space, T>::template operation_of<Op>;
    static constexpr space_operations<T> operations = [] {
        space_operations<T> all = memory_space<cuda_space, T>::operations;
        all.message_memory = &detail::device::message_memory_here;
        all.afar = &detail::device::messages_on_device::all;
        return all;
    }();
};

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
template <element T, class Exec>
struct queued_codecs<policies::Codec::None, T, cuda_space, Exec> {
    static constexpr queued_codec<T> frames = detail::device::raw_frames<T>::all;
};
template <class Tag, floating_element T, class Exec>
    requires(has_codec<Tag, T> && detail::device::has_kernels<Tag, T>)
struct queued_codecs<Tag, T, cuda_space, Exec> {
    static constexpr queued_codec<T> frames = detail::device::frames_with_kernels<Tag, T>::all;
};
template <class Tag, floating_element T, class Exec>
    requires(has_homomorphic_codec<Tag, T> && detail::device::has_kernels<Tag, T> &&
             detail::device::adds_on_device<Tag, T>)
struct queued_codecs<Tag, T, cuda_space, Exec> {
    static constexpr queued_codec<T> frames = detail::device::frames_with_kernels<Tag, T>::all;
    static constexpr queued_addends<T> addends = detail::device::sums_with_kernels<Tag, T>::all;
};

template <element T, class Exec>
    requires detail::device::raw_frames<T, true>::side_by_side
struct queued_codecs<policies::Codec::None, T, detail::direct<cuda_space>, Exec> {
    static constexpr queued_codec<T> frames = detail::device::raw_frames<T, true>::all;
};
template <class Tag, floating_element T, class Exec>
    requires(has_codec<Tag, T> && detail::device::has_kernels<Tag, T>)
struct queued_codecs<Tag, T, detail::direct<cuda_space>, Exec> {
    static constexpr queued_codec<T> frames = detail::device::frames_with_kernels<Tag, T, true>::all;
};
template <class Tag, floating_element T, class Exec>
    requires(has_homomorphic_codec<Tag, T> && detail::device::has_kernels<Tag, T> &&
             detail::device::adds_on_device<Tag, T>)
struct queued_codecs<Tag, T, detail::direct<cuda_space>, Exec> {
    static constexpr queued_codec<T> frames = detail::device::frames_with_kernels<Tag, T, true>::all;
    static constexpr queued_addends<T> addends = detail::device::sums_with_kernels<Tag, T, true>::all;
};

}  // namespace ccoll
