// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp.cuh - floor 4. Codec::SZp on a device: launches of its kernels, and codec_stream, with which a program calls them itself.
#pragma once

#include <span>

#include <ccoll/codec/szp.hpp>
#include <ccoll/codec/lookup.hpp>
#include <ccoll/cuda/launches.cuh>
#include <ccoll/cuda/szp/add.cuh>
#include <ccoll/cuda/szp/decode.cuh>
#include <ccoll/cuda/szp/encode.cuh>
#include <ccoll/policy/error_bound.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::device::szp {

inline u32 chunks_of(std::size_t n) { return static_cast<u32>((n + chunk_elements - 1) / chunk_elements); }
inline u32 blocks_of_launch(std::size_t n) { return chunks_of(n) > 0 ? chunks_of(n) : 1; }

// Each begins one kernel. Elements and frames are where the device can read and write them; frames begin at multiples of 16 bytes. `s` is
// all 0 and has room for the chunks of n elements.

template <class T>
using number_of = number_of_element<kernel_element_of<T>>;
template <class T>
using operand_of = operand<kernel_element_of<T>>;
template <class T>
operand_of<T> operand_in(const_byte_span frame, i64 factor = 1)
{
    return {nullptr, {reinterpret_cast<const u8*>(frame.data()), frame.size()}, factor};
}

template <class T>
cudaError_t begin_encode(const T* x, std::size_t n, double eb, void* frame, scratch* s, outcome* told, cudaStream_t stream)
{
    using E = kernel_element_of<T>;
    return launch(&encode<E>, blocks_of_launch(n), sizeof(movement_room<number_of<T>>), stream, kernel_elements(x), u64{n},
                  for_chunks_of<E>(eb, grid_of<number_of<T>>), static_cast<u8*>(frame), chunks_of(n), s, told);
}
template <class T>
cudaError_t begin_decode(const void* frame, std::size_t bytes, T* x, std::size_t n, scratch* s, outcome* told, cudaStream_t stream)
{
    return launch(&decode<kernel_element_of<T>>, blocks_of_launch(n), sizeof(decode_room<number_of<T>>), stream,
                  static_cast<const u8*>(frame), u64{bytes}, u64{n}, kernel_elements(x), chunks_of(n), s, told);
}
/// @param z  of own values; else its bound alone counts, and a negative one stands for that of the operands
template <class T, addend_of What>
cudaError_t begin_adding(const operand_of<T>& a, const operand_of<T>& b, std::size_t n, const grid<number_of<T>>& z, void* frame,
                         scratch* s, outcome* told, cudaStream_t stream)
{
    return launch(&add<kernel_element_of<T>, What>, blocks_of_launch(n), sizeof(addend_room<number_of<T>>), stream, a, b, u64{n}, z,
                  static_cast<u8*>(frame), chunks_of(n), s, told);
}
/// The addend of x, plus the one in `other` unless that is empty.
template <class T>
cudaError_t begin_encode_add(const T* x, std::size_t n, double eb, const_byte_span other, void* frame, scratch* s, outcome* told,
                             cudaStream_t stream)
{
    return begin_adding<T, addend_of::values>({kernel_elements(x), {nullptr, 0}}, operand_in<T>(other), n, grid_of<number_of<T>>(eb), frame,
                                              s, told, stream);
}
template <class T>
cudaError_t begin_add(const_byte_span a, const_byte_span b, std::size_t n, void* frame, scratch* s, outcome* told, cudaStream_t stream)
{
    grid<number_of<T>> z;
    z.bound = -1;
    return begin_adding<T, addend_of::frames>(operand_in<T>(a), operand_in<T>(b), n, z, frame, s, told, stream);
}
/// The addend of p a + q b.
template <class T>
cudaError_t begin_combine(i64 p, const_byte_span a, i64 q, const_byte_span b, std::size_t n, void* frame, scratch* s, outcome* told,
                          cudaStream_t stream)
{
    grid<number_of<T>> z;
    z.bound = -1;
    return begin_adding<T, addend_of::multiples>(operand_in<T>(a, p), operand_in<T>(b, q), n, z, frame, s, told, stream);
}
/// What the host's put_fills does.
template <class T>
cudaError_t begin_put_fills(const_byte_span frame, T* x, std::size_t n, int times, cudaStream_t stream)
{
    return launch(&put_average_of_fills<kernel_element_of<T>>, blocks_of_launch(n), sizeof(specials_room), stream,
                  reinterpret_cast<const u8*>(frame.data()), u64{frame.size()}, u64{n}, kernel_elements(x), chunks_of(n), i64{times});
}

}  // namespace detail::device::szp

namespace detail::device {

template <floating_element T>
struct launches_of<policies::Codec::SZp, T> {
    static constexpr std::size_t chunk_elements = szp::chunk_elements;

    static cudaError_t encode(const T* x, std::size_t n, double eb, void* frame, scratch* s, outcome* told, cudaStream_t stream)
    {
        return szp::begin_encode(x, n, eb, frame, s, told, stream);
    }
    static cudaError_t decode(const void* frame, std::size_t bytes, T* x, std::size_t n, scratch* s, outcome* told, cudaStream_t stream)
    {
        return szp::begin_decode(frame, bytes, x, n, s, told, stream);
    }
};

}  // namespace detail::device

/// Codecs on the device, on a stream of yours. Work is begun and done in the order of the stream; nothing waits but result(). One object
/// serves one thread and one stream; several streams take several objects. Its memory grows to what the largest call needs, from the
/// stream-ordered pool of the device; once it has grown, calls can be captured into a graph.
///
/// Bytes and values are those of the host's codec: frames from either side are read by the other. Elements and frames are device memory.
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
        check(kernels<Codec, T>::encode(x.data(), x.size(), eb, dst.device_data(), s(), told(), stream_), "codec_stream::encode");
    }
    /// @param src  begins with a frame and may be longer. Any bytes are safe.    @param out  as many elements as were encoded
    template <class Codec, buffer Out>
    void decode(device_span<const std::byte> src, Out&& out)
    {
        using T = buffer_pointee<Out>;
        check_types<Codec, std::remove_reference_t<Out>, T>();
        const auto x = as_span(out);
        if (!begin<Codec, T>(0, 1, 0, src)) return;
        check(kernels<Codec, T>::decode(src.device_data(), src.size(), x.data(), x.size(), s(), told(), stream_), "codec_stream::decode");
    }
    /// @param dst  capacity >= max_addend_bytes<Codec, T>(n)
    template <class Codec, buffer In>
    void encode_addend(const In& in, device_span<std::byte> dst, double eb)
    {
        encode_add<Codec>(in, {}, dst, eb);
    }
    /// The sum of the addend of `in` and of `other`, in one kernel. `dst` may be the memory of `other`. @see reduce_encoded
    template <class Codec, buffer In>
    void encode_add(const In& in, device_span<const std::byte> other, device_span<std::byte> dst, double eb)
    {
        using T = std::remove_const_t<buffer_pointee<const In&>>;
        check_types<Codec, const In, T>();
        const auto x = as_span(in);
        if (!begin<Codec, T>(x.size(), eb, addend_codec_of<Codec, T>.max_bytes(x.size()), dst) || !is_aligned(other)) return;
        check(detail::device::szp::begin_encode_add(x.data(), x.size(), eb, apart(0, other, dst), dst.device_data(), s(), told(), stream_),
              "codec_stream::encode_add");
    }
    /// The addend of the sum of two addends of n elements. `dst` may be the memory of an operand; the operand is then copied first, because
    /// sums are written where other chunks have yet to be read.
    template <class Codec, class Op, element T>
        requires(Op::linear)
    void reduce_encoded(device_span<const std::byte> a, device_span<const std::byte> b, std::size_t n, device_span<std::byte> dst)
    {
        check_types<Codec, device_span<T>, T>();
        if (!begin<Codec, T>(n, 1, addend_codec_of<Codec, T>.max_bytes(n), dst) || !is_aligned(a) || !is_aligned(b)) return;
        check(detail::device::szp::begin_add<T>(apart(0, a, dst), apart(1, b, dst), n, dst.device_data(), s(), told(), stream_),
              "codec_stream::reduce_encoded");
    }
    /// The addend of factor_a a + factor_b b: differences (1, -1), and linear combinations with small integers; 0 leaves an operand out.
    /// As combine_encoded of the host; all chunks take the slower way.
    template <class Codec, element T>
    void combine_encoded(std::int32_t factor_a, device_span<const std::byte> a, std::int32_t factor_b, device_span<const std::byte> b,
                         std::size_t n, device_span<std::byte> dst)
    {
        check_types<Codec, device_span<T>, T>();
        if (!begin<Codec, T>(n, 1, addend_codec_of<Codec, T>.max_bytes(n), dst) || !is_aligned(a) || !is_aligned(b)) return;
        check(detail::device::szp::begin_combine<T>(factor_a, apart(0, a, dst), factor_b, apart(1, b, dst), n, dst.device_data(), s(),
                                                    told(), stream_),
              "codec_stream::combine_encoded");
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
        static_assert(detail::device::has_kernels<Codec, T>,
                      "ccoll::codec_stream: has Codec::SZp, SZx, PipeSZx and ZfpAtRate for float, double and two-byte floats; encode with "
                      "another codec on "
                      "the host (ccoll::encode)");
        static_assert(std::is_same_v<buffer_space<Buffer>, cuda_space>,
                      "ccoll::codec_stream: the elements must be device memory: a ccoll::device_span or a thrust::device_vector");
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
        check(cudaMemcpyAsync(copy.get(), all.data(), all.size(), cudaMemcpyDeviceToDevice, stream_), "codec_stream");
        return {copy.get<std::byte>(), all.size()};
    }
    bool is_aligned(device_span<const std::byte> frame)
    {
        if (reinterpret_cast<std::uintptr_t>(frame.device_data()) % frame_unit != 0) refused_ = {0, status::bad_argument};
        return refused_.code == status::ok;
    }
    /// @return false if the call is refused, which result() tells
    template <class Codec, class T>
    bool begin(std::size_t n, double eb, std::size_t least_bytes, device_span<const std::byte> frame)
    {
        refused_ = {};
        if (!is_bound(eb)) refused_ = {0, status::bad_bound};
        else if (frame.size() < least_bytes) refused_ = {0, status::out_of_space};
        else if (n / kernels<Codec, T>::chunk_elements >= detail::device::most_chunks) refused_ = {0, status::bad_argument};
        if (refused_.code != status::ok || !is_aligned(frame)) return false;
        const std::size_t chunks = detail::device::chunks_of_frame<Codec, T>(n);
        check(scratch_.grow(detail::device::scratch::bytes_of(chunks), stream_, true), "codec_stream");
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
