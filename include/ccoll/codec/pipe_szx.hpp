// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/pipe_szx.hpp - floor 2. Codec::PipeSZx: the coding of SZx in chunks of 5120 values, between which messages move on.
#pragma once

#include <ccoll/codec/szx.hpp>

namespace ccoll::inline CCOLL_ABI {

/// PIPE-SZx of C-Coll (section III-E2): 5120 values per chunk, an index in front of the chunks, and messages polled between chunks, here by
/// the caller of frame_codec. It differs from the paper as SZx does (szx.hpp), and in that chunks may travel raw.
template <native_float T>
struct codec_impl<policies::Codec::PipeSZx, T, host_space> : detail::szx::chunk_coder<T, 5120> {
    static constexpr bool pipelined = true;
};

}  // namespace ccoll::inline CCOLL_ABI
