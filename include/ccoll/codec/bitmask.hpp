// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitmask.hpp - floor 2. Codec::BitMask<Inner>: the stream of Inner with shorter codes for cut values
// whose upper bits repeat.
//
//   chunk   that of Inner (bitzip/coder.hpp), in whose streams cut values may have codes with masks
//           (bitzip/masks.hpp)
//   ..      T mask[]       1, 2, 4 or 8 numbers as cut values; none if no code has a mask
//   ..      u8 head        0: no masks; else bits 0..2: 1 + log2 of their number, bits 4..5: flag bits
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <span>

#include <ccoll/codec/bitcut.hpp>
#include <ccoll/codec/bitzip.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/bitzip/masked.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

namespace detail::bitzip {

/// Does a codec write the streams that masks are for?
template <class Impl>
inline constexpr bool is_bit_stream = requires { Impl::predicts; };

}  // namespace detail::bitzip

/// The values of Inner, bit for bit: its bound, its exceptions, its cost, and up to four passes over its
/// streams to encode. Never longer than Inner by more than a byte and its fill. (A chunk of Inner that is a
/// byte shorter than its values travels raw here, and so is exact.)
///
/// Inner is BitZip, BitWise or BitCut: a dictionary of upper bits needs values that were cut.
///
/// Source: Hu, "Exploring Approximate Communication Using Lossy Bitwise Compression on Interconnection
/// Networks", IEEE Access 2023, section III-B, with encodings 3 and 4 of its figure 6. Differs from the paper
/// in:
/// - Up to eight masks instead of one, where that is shorter; with one mask the codes are those of the paper.
/// - The masks are those of a chunk, not of a message.
/// - With BitCut inside, the sign stands where BitZip has the 0.
/// - Numbers of 4 bytes, too: a match has 9, 11, 13 or 17 initial bits.
template <class Inner, native_float T>
    requires detail::bitzip::is_bit_stream<codec_impl<Inner, T, host_space>>
struct codec_impl<policies::Codec::BitMask<Inner>, T, host_space>
    : detail::coded_chunks<policies::Codec::BitMask<Inner>, T> {
    static constexpr std::size_t chunk_elements = codec_impl<Inner, T, host_space>::chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
namespace detail {
template <class Inner, native_float T>
struct coder_of<policies::Codec::BitMask<Inner>, T> {
    using type = bitzip::masked_coder<typename coder_of<Inner, T>::type, T>;
};
}  // namespace detail
#endif

}  // namespace ccoll::inline CCOLL_ABI
