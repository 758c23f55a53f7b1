// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitcut.hpp - floor 2. Codec::BitCut: sign, exponent, and the mantissa bits that the bound needs.
// Rounding alone.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/tags.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/bitzip/coder.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

/// The baseline of the papers on BitZip: no value depends on another one. Decoded values are within eb,
/// values that cannot be held so (NaN, Inf) are kept exactly, and chunks with many of them travel raw. Bounds
/// below the smallest normal T keep everything raw.
/// Cost: one pass over a chunk in the innermost cache, no allocation.
///
/// Source: Hu, IEEE Access 2023, section III-A2 (bit-cut); Hu and Koibuchi, CS & IT 2021, section 3.2.1.
/// Differs from the papers in: values keep their sign instead of becoming non-negative, because nothing else
/// needs its bit; eight streams in chunks of 512 values or more; numbers with the exponent field 0 are 0.
template <native_float T>
struct codec_impl<policies::Codec::BitCut, T, host_space> : detail::coded_chunks<policies::Codec::BitCut, T> {
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;
    static constexpr bool predicts = false;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
namespace detail {
template <native_float T>
struct coder_of<policies::Codec::BitCut, T> {
    using type = bitzip::chunk_coder<T, false>;
};
}  // namespace detail
#endif

}  // namespace ccoll::inline CCOLL_ABI
