// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/codec_impl.hpp - floor 2. Where a codec's work is looked up, and what an author has to write.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/base/stores.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Specialise this for your tag; see chunk_codec for the members. The tag stays cheap, the work is found here, and a
/// device header specialises the same template for `cuda_space`.
template <class Tag, class T, class Space>
struct codec_impl;

/// What a host codec provides for one element type: chunks, and nothing else. Frame, index, pieces that do not fit,
/// hostile headers and the size limit are the library's business (chunked.hpp).
///
/// @param in   1..chunk_elements values.          @param out  as many as were encoded.
/// @param dst  as long as the raw values: an encoder that needs more returns out_of_space and the chunk travels raw.
///             Nothing is written beyond it.
/// @param src  exactly the bytes of one chunk, of unknown origin: decode_chunk is total and answers corrupt.
/// @param eb   absolute bound, > 0; every value that decode_chunk returns differs by at most eb from the encoded one.
///             A chunk that cannot hold this returns unsupported (NaN, Inf, too large, ...) and travels raw.
/// encode_chunk returns the bytes written and how many of its blocks it kept raw. Spans need not be aligned beyond T.
/// All are noexcept, deterministic, and without allocation. A codec that may be interrupted between chunks says
/// `static constexpr bool pipelined = true`: the engine then moves messages on while it works, every 16384 elements, or as many as
/// `static constexpr std::size_t elements_between_polls` says. One whose decoders can write past the caches takes `stores` as a fourth
/// argument of decode_chunk and decode_addend.
template <class Impl, class T>
concept chunk_codec = requires(std::span<const T> in, std::span<T> out, const_byte_span src, byte_span dst, double eb) {
    { Impl::chunk_elements } -> std::convertible_to<std::size_t>;
    { Impl::encode_chunk(in, dst, eb) } noexcept -> std::same_as<encode_result>;
    { Impl::decode_chunk(src, out, eb) } noexcept -> std::same_as<status>;
};

/// A codec is homomorphic because it can add: no flag that could disagree with the code. What it adds are addends, chunks of a
/// kind of their own (or not): an addend never travels raw, and the bytes of a sum depend on what was added, not on the order.
///
/// can_add(largest, eb, addends): may values with |x| <= largest be added so many times? If not, ranks reduce exactly.
/// adds_non_finite: addends hold NaN and Inf, and add them as IEEE 754 does.
/// encode_addend: as encode_chunk, into max_addend_bytes(n) bytes. too_large where can_add was not asked, or not believed.
/// self_checked_addends (optional): up to so many addends, encode_addend answers too_large for exactly those values for which can_add says
/// no. Ranks that all see all results need not look at their data beforehand then.
/// add_chunks(a, b, n, dst): the sum of two addends of n values, of unknown origin; total. too_large when it does not fit.
template <class Impl, class T>
concept homomorphic_chunk_codec =
    chunk_codec<Impl, T> && requires(std::span<const T> in, std::span<T> out, const_byte_span a, const_byte_span b, std::size_t n, byte_span dst, double eb) {
        { Impl::adds_non_finite } -> std::convertible_to<bool>;
        { Impl::max_addend_bytes(n) } -> std::convertible_to<std::size_t>;
        { Impl::can_add(eb, eb, n) } noexcept -> std::same_as<bool>;
        { Impl::encode_addend(in, dst, eb) } noexcept -> std::same_as<encode_result>;
        { Impl::decode_addend(a, out, eb) } noexcept -> std::same_as<status>;
        { Impl::add_chunks(a, b, n, dst) } noexcept -> std::same_as<encode_result>;
    };

/// It may also scale: combine_chunks(factor_a, a, factor_b, b, n, dst) is the addend of factor_a a + factor_b b; a factor of 0 leaves
/// its operand out.
template <class Impl, class T>
concept linear_chunk_codec = homomorphic_chunk_codec<Impl, T> && requires(std::int32_t factor, const_byte_span a, std::size_t n, byte_span dst) {
    { Impl::combine_chunks(factor, a, factor, a, n, dst) } noexcept -> std::same_as<encode_result>;
};

/// Chunk buffers live on the stack of generic code.
inline constexpr std::size_t max_chunk_elements = 8192;

}  // namespace ccoll
