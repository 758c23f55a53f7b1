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

/// A gradient plus what was kept, which is finite. A device forgets the bits of a NaN when it adds to it,
/// which hosts keep.
template <class T, class Number>
struct gradient_and_kept {
    CCOLL_DEVICE Number operator()(const T& gradient, const Number& kept) const
    {
        using word = missing_word<Number>;
        constexpr word quiet = word{1} << (std::is_same_v<Number, float> ? 22 : 51);
        const auto x = static_cast<Number>(wide(gradient));
        if (x != x) return __builtin_bit_cast(Number, __builtin_bit_cast(word, x) | quiet);
        return plus(x, kept);
    }
};
/// What `contributed` lacks of a value; nothing where that is not finite.
template <class T, class Number>
struct finite_difference {
    CCOLL_DEVICE Number operator()(const Number& value, const T& contributed) const
    {
        const Number lacks = plus(value, -static_cast<Number>(wide(contributed)));
        return plus(lacks, -lacks) == 0 ? lacks : Number{0};
    }
};
/// What is kept, and what the average lost when it was rounded to two bytes.
template <small_float T>
struct kept_and_rounded_off {
    CCOLL_DEVICE float operator()(const float& kept, const float& average, const T& rounded) const
    {
        return plus(kept, finite_difference<T, float>{}(average, rounded));
    }
};

}  // namespace detail::device

/// error_feedback for one vector of n gradients in the memory of a device, the one that is current whenever
/// this is used. Averages have the bits of error_feedback on the host. They may differ where a sum cannot be
/// held (report.fallback_blocks), because slices that are reduced exactly are longer on a device.
/// All ranks use this class, or all use error_feedback.
///
/// Memory: three vectors of n floats (doubles, if T is double; with blocks four) and an addend, on the
/// device. It is taken from the device's pool by the constructor.
/// @throw ccoll::error  by the constructor, with CUDA's text: there is not so much memory
template <class T, class Bound = policies::RuntimeBound>
    requires detail::feedback_bound<T, Bound>
class device_error_feedback {
    using number = std::conditional_t<small_float<T>, float, T>;
    using plan =
        plan_of<policies::Op::Average, policies::Codec::SZp, Bound, policies::Placement::Homomorphic>;
    static constexpr bool has_blocks = Bound::block != 0;

public:
    explicit device_error_feedback(std::size_t n) : device_error_feedback(n, without_memory{})
    {
        for (detail::device::stream_memory* each : {&sum_, &kept_, &cut_off_})
            check(each->take(n * sizeof(number), stream_.get(), true));
        if (has_blocks) check(share_.take(n * sizeof(number), stream_.get()));
        check(frame_.take(frame_bytes(), stream_.get()));
        check(scratch_.take(kernels::scratch_bytes(n), stream_.get(), true));
        check(told_.grow(2 * sizeof(detail::device::outcome), stream_.get()));
    }
    device_error_feedback(const device_error_feedback&) = delete;
    device_error_feedback& operator=(const device_error_feedback&) = delete;
    ~device_error_feedback()
    {
        for (detail::device::stream_memory* each : {&sum_, &kept_, &cut_off_, &share_, &frame_, &scratch_})
            each->free(stream_.get());
    }

    /// As error_feedback::average.
    /// @param after  a stream, whose work comes before the call; null: the default stream. Once the call has
    ///               returned, work that is begun on any stream finds the average.
    /// If the device refuses something, the other ranks are told, as in other calls, and nothing changes. If
    /// it refuses to store the average, this rank alone has an error, and the gradient has lost its values.
    template <communicator Comm>
    report average(device_span<T> gradient, double bound, const Comm& comm, cudaStream_t after = nullptr)
        requires(!has_blocks)
    {
        return iaverage(gradient, bound, comm, after).wait();
    }
    /// With blocks.
    template <communicator Comm>
    report average(device_span<T> gradient, const Comm& comm, cudaStream_t after = nullptr)
        requires has_blocks
    {
        return iaverage(gradient, comm, after).wait();
    }
    /// As error_feedback::iaverage. The host does not wait for the device.
    template <communicator Comm>
    request iaverage(device_span<T> gradient, double bound, const Comm& comm, cudaStream_t after = nullptr)
        requires(!has_blocks)
    {
        return begin_average(gradient, bound, comm, after,
                             [&] { return iallreduce<plan>(span_of(sum_), comm, bound, stream_.get()); });
    }
    template <communicator Comm>
    request iaverage(device_span<T> gradient, const Comm& comm, cudaStream_t after = nullptr)
        requires has_blocks
    {
        return begin_average(gradient, Bound::value, comm, after, [&] {
            return iallreduce<plan>(span_of(cut_off_), span_of(sum_), comm, stream_.get());
        });
    }

    /// As error_feedback::assume_success. Waits for the device.
    void assume_success()
    {
        stream_.finish();
        const bool knows = !has_blocks && static_cast<status>(told()[0].code) == status::ok &&
                           static_cast<status>(told()[1].code) == status::ok;
        if (knows) kept_.swap(cut_off_);
        else check(cudaMemsetAsync(kept_.get(), 0, n_ * sizeof(number), stream_.get()));
    }

private:
    template <class, class>
    friend class detail::feedback_call;
    using kernels = detail::device::launches_of<policies::Codec::SZp, number>;

    /// The constructor ends this one first, so that the destructor frees what there is if it throws.
    struct without_memory {};
    device_error_feedback(std::size_t n, without_memory) : n_(n) {}

    /// Where no call could be begun, nobody else waits for what reads the gradient.
    struct until_begun {
        device_error_feedback* of;
        ~until_begun()
        {
            if (of != nullptr) of->let_go();
        }
    };

    template <class Comm, class Sum>
    request begin_average(device_span<T> gradient, double bound, const Comm& comm, cudaStream_t after,
                          Sum sum)
    {
        detail::check_feedback_step(under_way_, n_, gradient.size());
        until_begun reading{this};
        const status begun = begin_step(gradient, bound, after);
        request call = detail::go_on_with_feedback(*this, gradient, begun, sum(), comm);
        reading.of = nullptr;
        return call;
    }

    std::size_t frame_bytes() const { return max_addend_bytes<policies::Codec::SZp, number>(n_); }
    device_span<number> span_of(const detail::device::stream_memory& of) const
    {
        return {of.template get<number>(), n_};
    }
    detail::device::outcome* told() const { return told_.template get<detail::device::outcome>(); }

    status begin_step(device_span<const T> gradient, double bound, cudaStream_t after)
    {
        const status can_be_used = detail::device::thread_on_devices::here().look_at(
            {after, true}, {gradient.size() > 0 ? gradient.device_data() : nullptr});
        return can_be_used != status::ok ? can_be_used : status_of(launch_begin(gradient, bound, after));
    }
    cudaError_t launch_begin(device_span<const T> gradient, double bound, cudaStream_t after)
    {
        using namespace detail::device;
        CCOLL_CUDA_TRY(stream_.come_after(after));
        number *const sum = sum_.template get<number>(), *const cut = cut_off_.template get<number>();
        CCOLL_CUDA_TRY(transform(gradient_and_kept<T, number>{}, has_blocks ? cut : sum, n_, stream_.get(),
                                 gradient.device_data(),
                                 static_cast<const number*>(kept_.template get<number>())));
        told()[0] = told()[1] = {};
        if (has_blocks || n_ == 0 || !is_bound(bound)) return cudaSuccess;  // of a bad one the sum tells
        CCOLL_CUDA_TRY(find_share(sum, cut, bound));
        return transform(finite_difference<number, number>{}, cut, n_, stream_.get(),
                         static_cast<const number*>(sum), static_cast<const number*>(cut));
    }
    /// What this rank contributes of `values`; `share` may be `values`.
    cudaError_t find_share(const number* values, number* share, double bound)
    {
        using namespace detail::device;
        CCOLL_CUDA_TRY(kernels::encode_addend(values, n_, {bound}, frame_.get(),
                                              scratch_.template get<scratch>(), told(), stream_.get()));
        return kernels::decode({frame_.template get<std::byte>(), frame_bytes()}, share, n_, {},
                               scratch_.template get<scratch>(), told() + 1, stream_.get());
    }
    /// In cut_off_ are the values, of which the sum is known now, and with it the scales.
    cudaError_t find_cut_off([[maybe_unused]] const std::uint8_t* scales)
    {
        if constexpr (has_blocks) {
            using namespace detail::device;
            number *const cut = cut_off_.template get<number>(), *const share = share_.template get<number>();
            CCOLL_CUDA_TRY(begin_scale_blocks(static_cast<const number*>(cut), share, n_, 0, Bound::block,
                                              scales, to_units{}, stream_.get()));
            CCOLL_CUDA_TRY(find_share(share, share, Bound::value));
            CCOLL_CUDA_TRY(begin_scale_blocks(
                static_cast<const number*>(share), share, n_, 0, Bound::block, scales,
                from_units{{detail::greatest_number<number>, Bound::value, 2}}, stream_.get()));
            return transform(finite_difference<number, number>{}, cut, n_, stream_.get(),
                             static_cast<const number*>(cut), static_cast<const number*>(share));
        }
        return cudaSuccess;
    }
    status end_step(device_span<T> gradient, report& facts, const std::uint8_t* scales)
    {
        if constexpr (small_float<T>) facts.raw_bytes /= 2;
        // An encoded sum comes after all that the stream was given, so encoder and decoder have told.
        const bool nothing_is_cut_off = facts.exact || facts.fallback_blocks > 0 ||
                                        static_cast<status>(told()[0].code) != status::ok ||
                                        static_cast<status>(told()[1].code) != status::ok;
        status s = scales != nullptr && n_ > 0 ? status_of(find_cut_off(scales)) : status::ok;
        if (s == status::ok) s = status_of(launch_end(gradient, nothing_is_cut_off));
        if (s == status::ok) kept_.swap(cut_off_);
        return s;
    }
    cudaError_t launch_end(device_span<T> gradient, bool nothing_is_cut_off)
    {
        using namespace detail::device;
        if (n_ > 0) {
            const number* const sum = sum_.template get<number>();
            number* const kept = cut_off_.template get<number>();
            if (nothing_is_cut_off)
                CCOLL_CUDA_TRY(cudaMemsetAsync(kept, 0, n_ * sizeof(number), stream_.get()));
            if constexpr (small_float<T>) {
                CCOLL_CUDA_TRY(begin_narrow(sum, gradient.device_data(), n_, stream_.get()));
                CCOLL_CUDA_TRY(transform(kept_and_rounded_off<T>{}, kept, n_, stream_.get(),
                                         static_cast<const float*>(kept), sum,
                                         static_cast<const T*>(gradient.device_data())));
            } else {
                CCOLL_CUDA_TRY(cudaMemcpyAsync(gradient.device_data(), sum, n_ * sizeof(number),
                                               cudaMemcpyDeviceToDevice, stream_.get()));
            }
        }
        return stream_.mark();
    }
    bool has_ended_step(status& stored)
    {
        const cudaError_t e = stream_.ask();
        if (e == cudaErrorNotReady) return false;
        stored = status_of(e);
        // With blocks, encoder and decoder tell only now. They have values of up to 1.
        if (has_blocks && stored == status::ok)
            for (int i = 0; i < 2; ++i)
                if (stored == status::ok) stored = static_cast<status>(told()[i].code);
        return true;
    }
    void let_go() noexcept { stream_.finish(); }
    static const char* explain() { return detail::device::explain(); }

    static void check(cudaError_t e) { detail::device::check(e, "device_error_feedback"); }
    static status status_of(cudaError_t e)
    {
        if (e == cudaSuccess) return status::ok;
        detail::device::words_of_cuda::of_this_thread().keep(e, "error feedback");
        return status::device_failed;
    }

    std::size_t n_;
    detail::device::marked_stream stream_;
    detail::device::stream_memory sum_, kept_, cut_off_, share_, frame_, scratch_;
    detail::device::pinned_memory told_;  ///< by encoder and decoder
    bool under_way_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI
