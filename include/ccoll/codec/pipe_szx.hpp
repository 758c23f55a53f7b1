// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/pipe_szx.hpp - floor 2. Codec::PipeSZx: the coding of SZx in chunks of 5120 values, between which messages move on.
#pragma once

#include <ccoll/codec/declared/pipe_szx.hpp>
#include <ccoll/codec/szx.hpp>

namespace ccoll::inline CCOLL_ABI {

template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::PipeSZx, T, host_space>::encode_chunk(std::span<const T> in,
                                                                                                              byte_span dst,
                                                                                                              double eb) noexcept
{
    return detail::szx::chunk_coder<T, chunk_elements>::encode_chunk(in, dst, eb);
}
template <native_float T>
[[gnu::always_inline]] inline status codec_impl<policies::Codec::PipeSZx, T, host_space>::decode_chunk(const_byte_span src,
                                                                                                       std::span<T> out, double eb,
                                                                                                       stores how) noexcept
{
    return detail::szx::chunk_coder<T, chunk_elements>::decode_chunk(src, out, eb, how);
}

}  // namespace ccoll::inline CCOLL_ABI
