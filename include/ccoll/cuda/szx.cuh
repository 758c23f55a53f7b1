// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szx.cuh - floor 4. Codec::SZx and Codec::PipeSZx on a device: launches of their kernels.
#pragma once

#include <ccoll/codec/pipe_szx.hpp>
#include <ccoll/cuda/launches.cuh>
#include <ccoll/cuda/szx/decode.cuh>
#include <ccoll/cuda/szx/encode.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

namespace szx {

template <class Codec, class Format, class T>
struct launches {
    using E = kernel_element_of<T>;
    static constexpr std::size_t chunk_elements = Format::chunk_elements;
    static_assert(Format::codec == Codec::wire_id &&
                  chunk_elements == codec_impl<Codec, T, host_space>::chunk_elements);

    static constexpr std::size_t scratch_bytes(std::size_t) { return sizeof(scratch); }

    static cudaError_t encode(const T* x, std::size_t n, const codec_context& c, void* frame, scratch* s,
                              outcome* told, cudaStream_t stream)
    {
        const u32 chunks = chunks_of_frame<Codec, T>(n);
        return launch(&szx::encode<Format, E>, blocks_for_chunks(chunks),
                      sizeof(encode_room<Format, number_of_element<E>>), stream, kernel_elements(x), u64{n},
                      for_chunks_of<E>(c.eb, scale_of<number_of_element<E>>), missing_of(c),
                      frame_to(frame, chunks), chunks, s, told);
    }
    static missing_bits<number_of_element<E>> missing_of(const codec_context& c)
    {
        missing_value m = c.missing;
        if constexpr (small_float<T>) m = two_byte::as_floats<T>(m);
        return {static_cast<word_of<number_of_element<E>>>(m.bits), m.declared};
    }
    static cudaError_t decode(const_byte_span frame, T* x, std::size_t n, const codec_context&, scratch* s,
                              outcome* told, cudaStream_t stream)
    {
        const u32 chunks = chunks_of_frame<Codec, T>(n);
        return launch(&szx::decode<Format, E>, blocks_for_chunks(chunks),
                      sizeof(decode_room<number_of_element<E>>), stream,
                      frame_in(frame.data(), frame.size(), chunks), u64{n}, kernel_elements(x), chunks, s,
                      told);
    }
};

}  // namespace szx

template <floating_element T>
struct launches_of<policies::Codec::SZx, T> : szx::launches<policies::Codec::SZx, szx::format, T> {};
template <floating_element T>
struct launches_of<policies::Codec::PipeSZx, T>
    : szx::launches<policies::Codec::PipeSZx, szx::pipe_format, T> {};

}  // namespace ccoll::inline CCOLL_ABI::detail::device
