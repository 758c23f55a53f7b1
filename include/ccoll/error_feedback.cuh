// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error_feedback.cuh - floor 5. error_feedback for gradients in the memory of a device: the same averages,
// bit for bit.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/cuda.cuh>
#include <ccoll/error_feedback.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::device {

/// A gradient plus what was kept.
template <class T, class Number>
struct gradient_and_kept {
    CCOLL_DEVICE Number operator()(const T& gradient, const Number& kept) const
    {
        return plus(static_cast<Number>(wide(gradient)), kept);
    }
};
/// What a contribution lacks; nothing where it is not finite.
template <class Number>
struct finite_difference {
    template <class T>
    CCOLL_DEVICE Number operator()(const Number& value, const T& contributed) const
    {
        const Number lacks = plus(value, -static_cast<Number>(wide(contributed)));
        return plus(lacks, -lacks) == 0 ? lacks : Number{0};
    }
};
/// What is kept, and what the average lost when it was rounded to two bytes.
template <class T>
struct kept_and_rounded_off {
    CCOLL_DEVICE float operator()(const float& kept, const float& average, const T& rounded) const
    {
        return plus(kept, finite_difference<float>{}(average, rounded));
    }
};
template <class T, class Number>
struct from_sum {
    CCOLL_DEVICE T operator()(const Number& x) const
    {
        if constexpr (small_float<T>) return rounded<T>(x);
        else return x;
    }
};

/// into[i] = f(from[i]...) of elements of several types.
template <class Into, class Function, class... From>
cudaError_t transform_each(Function f, Into* into, std::size_t n, cudaStream_t stream, const From*... from)
{
    if (n == 0) return cudaSuccess;
    return cub::DeviceTransform::Transform(::cuda::std::make_tuple(from...), into, n, f, stream);
}

/// A stream with an event, of one object.
class owned_stream {
public:
    owned_stream()
    {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "device_error_feedback");
        check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "device_error_feedback");
    }
    owned_stream(const owned_stream&) = delete;
    owned_stream& operator=(const owned_stream&) = delete;
    ~owned_stream()
    {
        static_cast<void>(cudaEventDestroy(event_));
        static_cast<void>(cudaStreamDestroy(stream_));
    }
    cudaStream_t get() const { return stream_; }
    /// Its work comes after what was begun on another stream.
    void come_after(cudaStream_t other)
    {
        check(cudaEventRecord(event_, other), "device_error_feedback");
        check(cudaStreamWaitEvent(stream_, event_, 0), "device_error_feedback");
    }
    void mark() { check(cudaEventRecord(event_, stream_), "device_error_feedback"); }
    /// Has everything before mark() been done?
    bool is_done() const
    {
        const cudaError_t e = cudaEventQuery(event_);
        if (e == cudaErrorNotReady) return false;
        check(e, "device_error_feedback");
        return true;
    }

private:
    cudaStream_t stream_ = nullptr;
    cudaEvent_t event_ = nullptr;
};

}  // namespace detail::device

/// error_feedback for one vector of n gradients in the memory of the current device. Averages and what is
/// kept have the bits of error_feedback on the host, and ranks of both kinds must not meet in one call.
/// Memory: three vectors of n floats (doubles), and a frame, on the device.
template <class T>
    requires(std::is_same_v<T, float> || std::is_same_v<T, double> || small_float<T>)
class device_error_feedback {
    using number = std::conditional_t<small_float<T>, float, T>;
    using plan = plan_of<policies::Op::Average, policies::Codec::SZp, policies::RuntimeBound,
                         policies::Placement::Homomorphic>;

public:
    explicit device_error_feedback(std::size_t n)
        : n_(n), encoder_(stream_.get()), decoder_(stream_.get()),
          frame_bytes_(max_addend_bytes<policies::Codec::SZp, number>(n))
    {
        for (detail::device::stream_memory* each : {&sum_, &kept_, &cut_off_})
            check(each->grow(n * sizeof(number), stream_.get(), true));
        check(frame_.grow(frame_bytes_, stream_.get()));
    }
    device_error_feedback(const device_error_feedback&) = delete;
    device_error_feedback& operator=(const device_error_feedback&) = delete;
    ~device_error_feedback()
    {
        for (detail::device::stream_memory* each : {&sum_, &kept_, &cut_off_, &frame_})
            each->free(stream_.get());
    }

    /// As error_feedback::average.
    /// @param after  a stream whose work comes before the call; null: the default stream
    /// @throw ccoll::error with CUDA's text as well: a launch or an allocation failed, on this rank alone
    template <communicator Comm>
    report average(device_span<T> gradient, double bound, const Comm& comm, cudaStream_t after = nullptr)
    {
        return iaverage(gradient, bound, comm, after).wait();
    }
    /// As error_feedback::iaverage. The host waits for nothing before request::wait.
    template <communicator Comm>
    request iaverage(device_span<T> gradient, double bound, const Comm& comm, cudaStream_t after = nullptr)
    {
        begin_step(gradient, bound, after);
        auto call = std::make_unique<detail::feedback_call<device_error_feedback, device_span<T>>>(
            *this, gradient, iallreduce<plan>(sum_span(), comm, bound, stream_.get()).release());
        if (!call->progress()) call->join();
        return request(std::move(call));
    }

private:
    template <class, class>
    friend class detail::feedback_call;

    device_span<number> sum_span() { return {sum_.template get<number>(), n_}; }

    void begin_step(device_span<const T> gradient, double bound, cudaStream_t after)
    {
        using namespace detail::device;
        detail::check_feedback_step(under_way_, n_, gradient.size());
        stream_.come_after(after);
        number* const sum = sum_.template get<number>();
        number* const cut = cut_off_.template get<number>();
        check(transform_each(gradient_and_kept<T, number>{}, sum, n_, stream_.get(), gradient.device_data(),
                             static_cast<const number*>(kept_.template get<number>())));
        const device_span<std::byte> frame(frame_.template get<std::byte>(), frame_bytes_);
        encoder_.encode_addend<policies::Codec::SZp>(sum_span(), frame, bound);
        decoder_.decode<policies::Codec::SZp>(device_span<const std::byte>(frame),
                                              device_span<number>(cut, n_));
        check(transform_each(finite_difference<number>{}, cut, n_, stream_.get(),
                             static_cast<const number*>(sum), static_cast<const number*>(cut)));
    }
    /// The sum came after everything that the stream was given, so encoder and decoder have told.
    void end_step(device_span<T> gradient, report& facts)
    {
        using namespace detail::device;
        const bool is_addend =
            encoder_.result_so_far().code == status::ok && decoder_.result_so_far().code == status::ok;
        kept_.swap(cut_off_);
        number* const kept = kept_.template get<number>();
        const number* const sum = sum_.template get<number>();
        if (facts.exact || facts.fallback_blocks > 0 || !is_addend)
            check(cudaMemsetAsync(kept, 0, n_ * sizeof(number), stream_.get()));
        check(transform_each(from_sum<T, number>{}, gradient.device_data(), n_, stream_.get(), sum));
        if constexpr (small_float<T>) {
            check(transform_each(kept_and_rounded_off<T>{}, kept, n_, stream_.get(),
                                 static_cast<const float*>(kept), sum,
                                 static_cast<const T*>(gradient.device_data())));
            facts.raw_bytes /= 2;
        }
        stream_.mark();
    }
    bool has_ended_step() const { return stream_.is_done(); }
    static void check(cudaError_t e) { detail::device::check(e, "device_error_feedback"); }

    std::size_t n_;
    detail::device::owned_stream stream_;
    codec_stream encoder_, decoder_;
    detail::device::stream_memory sum_, kept_, cut_off_, frame_;
    std::size_t frame_bytes_;
    bool under_way_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI
