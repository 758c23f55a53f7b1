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
    static_assert(Format::codec == Codec::wire_id && chunk_elements == codec_impl<Codec, T, host_space>::chunk_elements);

    static cudaError_t encode(const T* x, std::size_t n, double eb, void* frame, scratch* s, outcome* told, cudaStream_t stream)
    {
        const u32 chunks = chunks_of_frame<Codec, T>(n);
        return launch(&szx::encode<Format, E>, blocks_for_chunks(chunks), sizeof(encode_room<Format, number_of_element<E>>), stream,
                      kernel_elements(x), u64{n}, for_chunks_of<E>(eb, scale_of<number_of_element<E>>), static_cast<u8*>(frame), chunks, s,
                      told);
    }
    static cudaError_t decode(const void* frame, std::size_t bytes, T* x, std::size_t n, scratch* s, outcome* told, cudaStream_t stream)
    {
        const u32 chunks = chunks_of_frame<Codec, T>(n);
        return launch(&szx::decode<Format, E>, blocks_for_chunks(chunks), sizeof(decode_room<Format, number_of_element<E>>), stream,
                      static_cast<const u8*>(frame), u64{bytes}, u64{n}, kernel_elements(x), chunks, s, told);
    }
};

}  // namespace szx

template <floating_element T>
struct launches_of<policies::Codec::SZx, T> : szx::launches<policies::Codec::SZx, szx::format, T> {};
template <floating_element T>
struct launches_of<policies::Codec::PipeSZx, T> : szx::launches<policies::Codec::PipeSZx, szx::pipe_format, T> {};

}  // namespace ccoll::inline CCOLL_ABI::detail::device
