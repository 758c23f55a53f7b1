// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/pipe_szx.hpp - floor 2. Codec::PipeSZx: the coding of SZx in chunks of 5120 values, between which
// messages move on.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <span>

#include <ccoll/codec/szx.hpp>

namespace ccoll::inline CCOLL_ABI {

/// PIPE-SZx of C-Coll (section III-E2): 5120 values per chunk, an index in front of the chunks, and messages
/// polled between chunks, here by the caller of frame_codec. It differs from the paper as SZx does (szx.hpp),
/// and in that chunks may travel raw.
template <native_float T>
struct codec_impl<policies::Codec::PipeSZx, T, host_space> {
    static constexpr std::size_t chunk_elements = 5120;
    static constexpr bool pipelined = true;
    // 20 us of encoding with AVX-512, 50 us with portable code.
    static constexpr std::size_t elements_between_polls = 65536;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst,
                                      const field_facts& field) noexcept;
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb,
                               stores how = stores::cached) noexcept;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::PipeSZx, T, host_space>::encode_chunk(
    std::span<const T> in, byte_span dst, const field_facts& field) noexcept
{
    return detail::szx::chunk_coder<T, chunk_elements>::encode_chunk(in, dst, field);
}
template <native_float T>
[[gnu::always_inline]] inline status codec_impl<policies::Codec::PipeSZx, T, host_space>::decode_chunk(
    const_byte_span src, std::span<T> out, double eb, stores how) noexcept
{
    return detail::szx::chunk_coder<T, chunk_elements>::decode_chunk(src, out, eb, how);
}
#endif

}  // namespace ccoll::inline CCOLL_ABI
