// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze.hpp - floor 2. Codec::SZe: the quanta of SZp, predicted from two directions and coded by their
// entropy. For slow links.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/szp/layout.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/policy/tags.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/sze/coder.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

/// The quanta of SZp in fewer bits: a third less at 1e-3 of the range, at a tenth of the speed. For links of
/// about 100 Mb/s.
///
/// Bound, exceptional values, denormals and tight bounds are those of SZp, because the quanta are. Not
/// homomorphic: reductions decode, add and encode. Encoders look for the rows of a field by themselves
/// (sze/rows.hpp), in each chunk alone. If the buffer has a shape, they try its rows and planes as well, and
/// send what is shorter.
/// Cost: O(n) passes over a chunk in the innermost caches, twice as many in an encoder with a shape; no
/// allocation. All instruction sets give the same bytes.
///
/// Sources: Duda, "Asymmetric numeral systems", arXiv:1311.2540, in its range variant, with eight interleaved
/// states as in Giesen, "Interleaved entropy coders", arXiv:1402.3392; the prediction from three neighbours
/// is that of Lorenzo (Ibarria et al., Computer Graphics Forum 22(3), 2003), as in SZ (Tao et al., IPDPS
/// 2017). Differs in: tables of four classes of activity per chunk, predictions from quanta instead of
/// values, rows that are found, means of the row before where it is noisy.
template <native_float T>
struct codec_impl<policies::Codec::SZe, T, host_space> {
    static constexpr std::size_t chunk_elements = detail::szp::chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;  // 30 us

    static constexpr std::size_t room_bytes(std::size_t n) noexcept { return detail::szp::most_room<T>(n); }
    static encode_result encode_chunk(std::span<const T> in, byte_span dst,
                                      const field_facts& field) noexcept;
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::SZe, T, host_space>::encode_chunk(
    std::span<const T> in, byte_span dst, const field_facts& field) noexcept
{
    return detail::sze::chunk_coder<T>::encode_chunk(in, dst, field);
}
template <native_float T>
[[gnu::always_inline]] inline status codec_impl<policies::Codec::SZe, T, host_space>::decode_chunk(
    const_byte_span src, std::span<T> out, double eb) noexcept
{
    return detail::sze::chunk_coder<T>::decode_chunk(src, out, eb);
}
#endif

}  // namespace ccoll::inline CCOLL_ABI
