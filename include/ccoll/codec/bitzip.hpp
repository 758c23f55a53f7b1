// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip.hpp - floor 2. Codec::BitZip and Codec::BitWise: three bits for each value that a prediction
// meets, a few more for the others.
//
//   1 pp              predicted by order pp: 0 the value before it, 1 a line, 2 a parabola, 3 a cubic through
//                     the values before it
//   0 exponent m...   cut: the exponent field and the upper b mantissa bits; b follows from exponent and
//                     bound (bitzip/cut.hpp)
//
// The rest of a chunk is drawn in bitzip/coder.hpp.
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

/// Every decoded value is within eb of the original: an encoder predicts from what a decoder has, and
/// compares. A value that cannot be held so (NaN, Inf, rounding near the precision of T) is kept exactly
/// beside the stream; if there are many, the chunk travels raw. Bounds below the smallest normal T keep
/// everything raw.
/// Cost: one pass over a chunk in the innermost cache, and one over its symbols; no allocation.
///
/// Source: Hu, "Exploring Approximate Communication Using Lossy Bitwise Compression on Interconnection
/// Networks", IEEE Access 2023, section III-A and algorithm 1, with encodings 1 and 2 of its figure 6. The
/// first three values of a stream are never predicted. Its encodings 3 and 4 are added by Codec::BitMask.
/// Differs from the paper in:
/// - Predictions start from decoded values, not from original ones: else errors would grow from value to
///   value.
/// - Values become non-negative by subtracting the least value of the chunk, not of the message. The paper's
///   second article describes this step as a difference that is sent along; the sign bit is then always 0,
///   and serves as the flag of encoding 2.
/// - A chunk of 512 values or more has eight streams of consecutive values instead of one, so that a
///   processor can predict and read eight values at a time (bitzip/lanes.hpp).
/// - Numbers with the exponent field 0 are 0, instead of half the smallest normal number.
template <native_float T>
struct codec_impl<policies::Codec::BitZip, T, host_space> : detail::coded_chunks<policies::Codec::BitZip, T> {
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;
    static constexpr bool predicts = true;
};

/// As BitZip, in the form of the earlier paper: predictions begin as soon as there are values to predict
/// from, so a constant lane costs one cut value and three bits for each other one.
///
/// Source: Hu and Koibuchi, "The Case for Error-Bounded Lossy Floating-Point Data Compression on
/// Interconnection Networks", CS & IT 2021, section 3.2. That paper says that an order n needs n + 1 values,
/// and names no further rule for the first ones.
template <native_float T>
struct codec_impl<policies::Codec::BitWise, T, host_space>
    : detail::coded_chunks<policies::Codec::BitWise, T> {
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;
    static constexpr bool predicts = true;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
namespace detail {
template <native_float T>
struct coder_of<policies::Codec::BitZip, T> {
    using type = bitzip::chunk_coder<T, true, bitzip::beginning::three_kept>;
};
template <native_float T>
struct coder_of<policies::Codec::BitWise, T> {
    using type = bitzip::chunk_coder<T, true, bitzip::beginning::as_they_come>;
};
}  // namespace detail
#endif

}  // namespace ccoll::inline CCOLL_ABI
