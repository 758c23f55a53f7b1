// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/launches.cuh - floor 4. Where the kernels of a codec are looked up.
#pragma once

#include <ccoll/codec/queued_codec.hpp>
#include <ccoll/cuda/frame.cuh>
#include <ccoll/cuda/runtime.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// The kernels of a codec for elements T, as launches; the header of a codec specialises it. Elements and
/// frames are where the device can read and write them; frames begin at multiples of 16 bytes. `s` has
/// scratch_bytes(n) bytes, all of them 0. Members:
///   chunk_elements
///   scratch_bytes(size_t n)
///   encode(const T* x, size_t n, const codec_context&, void* frame, scratch* s, outcome*, cudaStream_t)
///       -> cudaError_t
///   decode(const_byte_span frame, T* x, size_t n, const codec_context&, scratch* s, outcome*, cudaStream_t)
///       -> cudaError_t
template <class Codec, class T>
struct launches_of;

template <class Codec, class T>
concept has_kernels = requires { launches_of<Codec, T>::chunk_elements; };
/// Of a codec whose streams are added on the device.
template <class Codec, class T>
concept adds_on_device = requires { &launches_of<Codec, T>::encode_addend; };

inline constexpr std::size_t most_chunks = 0x7fffffff;  ///< of a frame: blocks of a grid

template <class Codec, class T>
u32 chunks_of_frame(std::size_t n)
{
    constexpr std::size_t step = launches_of<Codec, T>::chunk_elements;
    return static_cast<u32>(n / step + (n % step != 0));
}
/// A frame without chunks takes a block, too, which writes or reads its header.
inline u32 blocks_for_chunks(u32 chunks) { return chunks > 0 ? chunks : 1; }

}  // namespace ccoll::inline CCOLL_ABI::detail::device
