// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp.hpp - floor 2. Codec::Zfp: ZFP in one dimension, with a bound or at a fixed rate.
//
//   chunk   u8 stream[]       what libzfp writes for the values of the chunk, and reads; whole bytes
//   ..      u16 place[k]      values that the stream cannot hold: where they stand in the chunk
//   ..      T value[k]        and what they are
//   ..      u16 k
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/tags.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/zfp/coder.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

/// Every decoded value is within eb: each one is decoded and compared while it is encoded. A value that is
/// not (NaN, Inf, bounds near the precision of T) is kept exactly behind the stream; if there are many, the
/// chunk travels raw. Bounds below the smallest normal T keep everything raw. Cost: one pass over a chunk in
/// the innermost cache, no allocation.
///
/// Source: Lindstrom, "Fixed-Rate Compressed Floating-Point Arrays", IEEE TVCG 20(12), 2014, in the
/// one-dimensional form and the mode "fixed accuracy" of libzfp 1.0, with tolerance eb. The stream of a chunk
/// is the one of libzfp for the same values, in whole bytes (where libzfp is built with longer words, it
/// fills the last one up with zeros, and wants as much to read). Differs from libzfp in: the check;
/// exceptions; values of the lowest exponents, for which libzfp's scale overflows; a table with the code of
/// each bit plane instead of single bits, or, with BMI2, the codes of all planes of a block at once
/// (codec/zfp/layout.inl).
template <native_float T>
struct codec_impl<policies::Codec::Zfp, T, host_space> : detail::coded_chunks<policies::Codec::Zfp, T> {
    static constexpr bool at_rate = false;
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;
};

/// What Codec::Zfp with FixedRate<bits> stands for: so many bits for each value, at least header_bits / 4,
/// and no bound at all. NaN and Inf survive as above; each one costs 2 bytes and itself.
///
/// Source: Zhou et al., "Accelerating MPI All-to-All Communication with Online Compression on Modern GPU
/// Clusters", ISC 2022, uses this mode; libzfp calls it "fixed rate".
template <native_float T>
struct codec_impl<policies::Codec::ZfpAtRate, T, host_space>
    : detail::coded_chunks<policies::Codec::ZfpAtRate, T> {
    static constexpr bool at_rate = true;
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
namespace detail {
template <native_float T>
struct coder_of<policies::Codec::Zfp, T> {
    using type = zfp::chunk_coder<T, false>;
};
template <native_float T>
struct coder_of<policies::Codec::ZfpAtRate, T> {
    using type = zfp::chunk_coder<T, true>;
};
}  // namespace detail
#endif

}  // namespace ccoll::inline CCOLL_ABI
