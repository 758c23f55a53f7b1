// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/codec_stream.cuh - floor 4. codec_stream, with which a program calls codecs on the device itself.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/codec/lookup.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/cuda/szp.cuh>
#include <ccoll/policy/error_bound.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Codecs on the device, on a stream of yours. Work is begun and done in the order of the stream; nothing
/// waits but result(). One object serves one thread and one stream; several streams take several objects. Its
/// memory grows to what the largest call needs, from the stream-ordered pool of the device; once it has
/// grown, calls can be captured into a graph.
///
/// Values are those of the host's codec, and each side reads the frames of the other. Elements and frames are
/// device memory.
/// Frames begin at multiples of 16 bytes, as all of CUDA's allocators give them.
/// @throw ccoll::error with CUDA's text: a launch or an allocation failed
///
///     ccoll::codec_stream codecs(stream);
///     codecs.encode<Codec::SZp>(field, frame, 1e-3);            // device_span or thrust::device_vector
///     const ccoll::encode_result r = codecs.result();           // waits for the stream
class codec_stream {
public:
    explicit codec_stream(cudaStream_t stream = nullptr) : stream_(stream)
    {
        check(told_.grow(sizeof(detail::device::outcome), stream), "codec_stream");
    }
    ~codec_stream()
    {
        for (detail::device::stream_memory* each : {&scratch_, &aside_[0], &aside_[1]}) each->free(stream_);
    }
    codec_stream(const codec_stream&) = delete;
    codec_stream& operator=(const codec_stream&) = delete;

    /// @param dst  capacity >= max_encoded_bytes<Codec, T>(n)    @param eb  as in ccoll::encode
    template <class Codec, buffer In>
    void encode(const In& in, device_span<std::byte> dst, double eb)
    {
        using T = std::remove_const_t<buffer_pointee<const In&>>;
        check_types<Codec, const In, T>();
        const auto x = as_span(in);
        if (!begin<Codec, T>(x.size(), eb, frame_codec_of<Codec, T>.max_bytes(x.size()), dst)) return;
        check(kernels<Codec, T>::encode(x.data(), x.size(), {eb}, dst.device_data(), s(), told(), stream_),
              "codec_stream::encode");
    }
    /// @param src  begins with a frame and may be longer. Any bytes are safe.
    /// @param out  as many elements as were encoded
    template <class Codec, buffer Out>
    void decode(device_span<const std::byte> src, Out&& out)
    {
        using T = buffer_pointee<Out>;
        check_types<Codec, std::remove_reference_t<Out>, T>();
        const auto x = as_span(out);
        if (!begin<Codec, T>(x.size(), 1, 0, src)) return;
        check(kernels<Codec, T>::decode(bytes_of(src), x.data(), x.size(), {}, s(), told(), stream_),
              "codec_stream::decode");
    }
    /// @param dst  capacity >= max_addend_bytes<Codec, T>(n)
    template <class Codec, buffer In>
    void encode_addend(const In& in, device_span<std::byte> dst, double eb)
    {
        using T = std::remove_const_t<buffer_pointee<const In&>>;
        check_types<Codec, const In, T>();
        const auto x = as_span(in);
        if (!begin<Codec, T>(x.size(), eb, addend_codec_of<Codec, T>.max_bytes(x.size()), dst)) return;
        check(kernels<Codec, T>::encode_addend(x.data(), x.size(), {eb}, dst.device_data(), s(), told(),
                                               stream_),
              "codec_stream::encode_addend");
    }
    /// The sum of the addend of `in` and of `other`, without writing the former. `dst` may be the memory of
    /// `other`. @see reduce_encoded
    template <class Codec, buffer In>
    void encode_add(const In& in, device_span<const std::byte> other, device_span<std::byte> dst, double eb)
    {
        using T = std::remove_const_t<buffer_pointee<const In&>>;
        check_types<Codec, const In, T>();
        const auto x = as_span(in);
        if (!begin<Codec, T>(x.size(), eb, addend_codec_of<Codec, T>.max_bytes(x.size()), dst) ||
            !is_aligned(other))
            return;
        check(kernels<Codec, T>::encode_add(x.data(), x.size(), {eb}, apart(0, other, dst), dst.device_data(),
                                            s(), told(), stream_),
              "codec_stream::encode_add");
    }
    /// The addend of the sum of two addends of n elements. `dst` may be the memory of an operand; the operand
    /// is then copied first, because sums are written where other chunks have yet to be read.
    template <class Codec, class Op, element T>
        requires(Op::linear)
    void reduce_encoded(device_span<const std::byte> a, device_span<const std::byte> b, std::size_t n,
                        device_span<std::byte> dst)
    {
        check_types<Codec, device_span<T>, T>();
        if (!begin<Codec, T>(n, 1, addend_codec_of<Codec, T>.max_bytes(n), dst) || !is_aligned(a) ||
            !is_aligned(b))
            return;
        check(kernels<Codec, T>::add(apart(0, a, dst), apart(1, b, dst), n, dst.device_data(), s(), told(),
                                     stream_),
              "codec_stream::reduce_encoded");
    }
    /// Waits for the stream. @return what the last call wrote or found; of a decoder the code alone
    encode_result result()
    {
        if (refused_.code != status::ok) return refused_;
        check(cudaStreamSynchronize(stream_), "codec_stream::result");
        const detail::device::outcome& r = *told();
        return {r.bytes, static_cast<status>(r.code), r.raw_chunks, r.special_values};
    }

private:
    template <class Codec, class T>
    using kernels = detail::device::launches_of<Codec, T>;

    template <class Codec, class Buffer, class T>
    static constexpr void check_types()
    {
        static_assert(
            detail::device::has_kernels<Codec, T>,
            "ccoll::codec_stream: has Codec::SZp for float and double, and SZx, PipeSZx and ZfpAtRate for "
            "two-byte floats, too; encode with another codec on the host (ccoll::encode)");
        static_assert(std::is_same_v<buffer_space<Buffer>, cuda_space>,
                      "ccoll::codec_stream: the elements must be device memory: a ccoll::device_span or a "
                      "thrust::device_vector");
    }
    static const_byte_span bytes_of(device_span<const std::byte> s) { return {s.device_data(), s.size()}; }
    static void check(cudaError_t e, const char* call) { detail::device::check(e, call); }

    /// An operand, or a copy of it if `dst` shares memory with it.
    const_byte_span apart(std::size_t which, device_span<const std::byte> operand, device_span<std::byte> dst)
    {
        const const_byte_span all = bytes_of(operand);
        if (!share_memory(all.data(), all.size(), dst.device_data(), dst.size())) return all;
        detail::device::stream_memory& copy = aside_[which];
        check(copy.grow(all.size(), stream_), "codec_stream");
        check(cudaMemcpyAsync(copy.get(), all.data(), all.size(), cudaMemcpyDeviceToDevice, stream_),
              "codec_stream");
        return {copy.get<std::byte>(), all.size()};
    }
    bool is_aligned(device_span<const std::byte> frame)
    {
        if (reinterpret_cast<std::uintptr_t>(frame.device_data()) % frame_unit != 0)
            refused_ = {0, status::bad_argument};
        return refused_.code == status::ok;
    }
    /// @return false if the call is refused, which result() tells
    template <class Codec, class T>
    bool begin(std::size_t n, double eb, std::size_t least_bytes, device_span<const std::byte> frame)
    {
        refused_ = {};
        if (!is_bound(eb)) refused_ = {0, status::bad_bound};
        else if (frame.size() < least_bytes) refused_ = {0, status::out_of_space};
        else if (least_bytes > most_payload_bytes) refused_ = {0, status::bad_argument};
        if (refused_.code != status::ok || !is_aligned(frame)) return false;
        check(scratch_.grow(kernels<Codec, T>::scratch_bytes(n), stream_, true), "codec_stream");
        return true;
    }
    detail::device::scratch* s() const { return scratch_.get<detail::device::scratch>(); }
    detail::device::outcome* told() const { return told_.get<detail::device::outcome>(); }

    cudaStream_t stream_;
    detail::device::stream_memory scratch_, aside_[2];
    detail::device::pinned_memory told_;
    encode_result refused_;
};

}  // namespace ccoll
