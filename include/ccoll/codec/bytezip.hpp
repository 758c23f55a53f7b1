// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bytezip.hpp - floor 2. Codec::ByteZip: a byte for each value that a line, parabola or cubic through
// its neighbours predicts.
//
//   chunk   u8 symbol[n]    0..3: the order of the prediction; 4: the value follows below
//   ..      T kept[]        the values with symbol 4, in their order
//
// A chunk of 512 values or more is predicted in eight lanes of consecutive values (bitzip/lanes.hpp), so that
// a processor can predict eight values at a time.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/tags.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/bytezip/coder.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

/// Values that the values before them predict within the bound, in a byte each; all others as they are.
///
/// Every decoded value is within eb of the original: an encoder predicts from what a decoder has, and
/// compares. A value that no prediction meets is kept exactly, so NaN and Inf survive bit for bit. Bounds
/// below the smallest normal T keep everything raw. The shortest stream is a quarter (f64: an eighth) of the
/// values.
/// Cost: one pass over a chunk in the innermost cache, no allocation.
///
/// Source: Hu and Koibuchi, "The Case for Error-Bounded Lossy Floating-Point Data Compression on
/// Interconnection Networks", CS & IT 2021, section 3.1 and algorithm 1. Differs from the paper in:
/// - Predictions start from decoded values, not from original ones: else errors would grow from value to
///   value.
/// - A symbol stands for each value, and one of them says that the value is kept. The paper sends the places
///   of the predicted values, an integer for each, in another message.
/// - Values are not made non-negative beforehand. Predictions do not depend on that, and a difference may not
///   be exact, while kept values must be.
/// - Lanes; the first values of each are kept.
template <native_float T>
struct codec_impl<policies::Codec::ByteZip, T, host_space>
    : detail::coded_chunks<policies::Codec::ByteZip, T> {
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
namespace detail {
template <native_float T>
struct coder_of<policies::Codec::ByteZip, T> {
    using type = bytezip::chunk_coder<T>;
};
}  // namespace detail
#endif

}  // namespace ccoll::inline CCOLL_ABI
