// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/declared/pipe_szx.hpp - floor 2. Codec::PipeSZx without its kernels. A file for which extern.hpp says that the codec is compiled
// elsewhere includes this instead of codec/pipe_szx.hpp, which defines what is declared here.
#pragma once

#include <cstddef>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// PIPE-SZx of C-Coll (section III-E2): 5120 values per chunk, an index in front of the chunks, and messages polled between chunks, here by
/// the caller of frame_codec. It differs from the paper as SZx does (szx.hpp), and in that chunks may travel raw.
template <native_float T>
struct codec_impl<policies::Codec::PipeSZx, T, host_space> {
    static constexpr std::size_t chunk_elements = 5120;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 65536;  // 20 us of encoding with AVX-512, 50 us with portable code

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept;
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb, stores how = stores::cached) noexcept;
};

}  // namespace ccoll::inline CCOLL_ABI
