// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx.hpp - floor 2. Codec::SZx: blocks of 128 values, constant or in steps from their middle, of few
// bytes each.
//
//   chunk   u8 code[blocks]     one per block of 128 values; the last block may be shorter
//   ..      blocks              drawn in szx/layout.hpp; together they fill the chunk
//
// If there are exceptional values, the chunk has another head, and a section of these (szx/coder.hpp).
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/policy/tags.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/szx/coder.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

/// detail::szx::chunk_coder (codec/szx/coder.hpp) describes the codec.
template <native_float T>
struct codec_impl<policies::Codec::SZx, T, host_space> {
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    // 20 us of encoding with AVX-512, 50 us with portable code.
    static constexpr std::size_t elements_between_polls = 65536;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst,
                                      const field_facts& field) noexcept;
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb,
                               stores how = stores::cached) noexcept;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
// Always inlined, so that a chunk costs no call more than if the coder were used directly.
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::SZx, T, host_space>::encode_chunk(
    std::span<const T> in, byte_span dst, const field_facts& field) noexcept
{
    return detail::szx::chunk_coder<T, chunk_elements>::encode_chunk(in, dst, field);
}
template <native_float T>
[[gnu::always_inline]] inline status codec_impl<policies::Codec::SZx, T, host_space>::decode_chunk(
    const_byte_span src, std::span<T> out, double eb, stores how) noexcept
{
    return detail::szx::chunk_coder<T, chunk_elements>::decode_chunk(src, out, eb, how);
}
#endif

}  // namespace ccoll::inline CCOLL_ABI
