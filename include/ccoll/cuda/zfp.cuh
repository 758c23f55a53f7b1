// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/zfp.cuh - floor 4. Codec::Zfp at a FixedRate on a device: launches of its kernels. With a bound,
// Codec::Zfp works on the host.
#pragma once

#include <ccoll/codec/zfp.hpp>
#include <ccoll/cuda/launches.cuh>
#include <ccoll/cuda/zfp/decode.cuh>
#include <ccoll/cuda/zfp/encode.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

template <floating_element T>
struct launches_of<policies::Codec::ZfpAtRate, T> {
    using codec = policies::Codec::ZfpAtRate;
    using E = kernel_element_of<T>;
    using number = number_of_element<E>;
    static constexpr std::size_t chunk_elements = zfp::chunk_elements;
    static_assert(zfp::format::codec == codec::wire_id &&
                  chunk_elements == codec_impl<codec, T, host_space>::chunk_elements);

    static constexpr std::size_t scratch_bytes(std::size_t) { return sizeof(scratch); }

    /// @param c  with bits per value in place of a bound
    static cudaError_t encode(const T* x, std::size_t n, const codec_context& c, void* frame, scratch* s,
                              outcome* told, cudaStream_t stream)
    {
        const u32 chunks = chunks_of_frame<codec, T>(n),
                  block_bits = zfp::block_bits_at(c.eb, zfp::header_bits<number>);
        return launch(&zfp::encode<E>, blocks_for_chunks(chunks),
                      sizeof(zfp::chunk_room<number>) + zfp::image_bytes<number>(block_bits), stream,
                      kernel_elements(x), u64{n}, c.eb, block_bits, frame_to(frame, chunks), chunks, s, told);
    }
    static cudaError_t decode(const_byte_span frame, T* x, std::size_t n, const codec_context&, scratch* s,
                              outcome* told, cudaStream_t stream)
    {
        const u32 chunks = chunks_of_frame<codec, T>(n);
        return launch(&zfp::decode<E>, blocks_for_chunks(chunks), sizeof(zfp::chunk_room<number>), stream,
                      frame_in(frame.data(), frame.size(), chunks), u64{n}, kernel_elements(x), chunks, s,
                      told);
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::device
