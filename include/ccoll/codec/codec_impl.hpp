// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/codec_impl.hpp - floor 2. Where the implementation of a codec is looked up, and what the author of
// one has to write.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/base/stores.hpp>
#include <ccoll/policy/buffer.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Specialise this for your tag and `host_space`; chunk_codec lists the members. The tag itself stays empty.
template <class Tag, class T, class Space>
struct codec_impl;

/// What a host codec provides for one element type: chunks, and nothing else. The library sees to the frame,
/// its index and alignment, chunks that travel raw, hostile headers and the size limit (chunked.hpp).
///
/// @param in   1..chunk_elements values.          @param out  as many values as were encoded.
/// @param dst  as long as the values themselves. An encoder that needs more returns out_of_space, and one
///             that needs exactly as much gains nothing: in both cases the chunk travels raw. Whether a chunk
///             is shorter must depend on its values alone, not on where an encoder stops. Nothing is written
///             beyond dst.
/// @param src  exactly the bytes that encode_chunk wrote, if they are genuine. They may be anything:
///             decode_chunk is total and returns corrupt for bytes that no encoder writes.
/// @param eb   absolute bound, > 0. Every value that decode_chunk returns differs by at most eb from the
///             encoded one. If a chunk has values for which that cannot be held (NaN, Inf, too large, ...),
///             encode_chunk returns unsupported, and the chunk travels raw.
/// encode_chunk returns the number of bytes written and of blocks that it kept raw. The first byte of a chunk
/// lies at a multiple of 16 bytes from the start of its frame. Spans of values are aligned as T; bytes in
/// memory need not be aligned at all.
/// All functions are noexcept, deterministic, and do not allocate.
///
/// Members that a codec may have:
/// static constexpr bool pipelined = true: the engine polls messages between chunks.
/// static constexpr std::size_t elements_between_polls: how often it does so; every 16384 elements if this is
/// missing.
/// encode_chunk and encode_addend with `field_facts` (policy/field_facts.hpp) in place of the bound: strides
/// of the field, from whose rows a codec may predict (a chunk may begin anywhere in a row), and what stands
/// for missing values, which come back as they were. decode_chunk and decode_addend with `stores` as a fourth
/// argument: the decoders can write past the caches.
/// decode_chunk(piece, out, eb, decoded_facts), decode_addend(piece, out, eb, decoded_facts),
/// add_chunks(piece, piece, n, dst), where a `frame_view::piece` (wire/frame.hpp) also says how many bytes
/// behind the chunk can be read.
/// room_bytes(n): encode_chunk and encode_addend are faster if `dst` has so many bytes. They are given them
/// where there is room.
template <class Impl, class T>
concept chunk_codec =
    requires(std::span<const T> in, std::span<T> out, const_byte_span src, byte_span dst, double eb) {
        { Impl::chunk_elements } -> std::convertible_to<std::size_t>;
        { Impl::encode_chunk(in, dst, eb) } noexcept -> std::same_as<encode_result>;
        { Impl::decode_chunk(src, out, eb) } noexcept -> std::same_as<status>;
    };

/// A codec is homomorphic because it has these functions; there is no flag that could disagree with them.
/// What it adds are addends: chunks that may or may not look like the others. An addend never travels raw,
/// and what a sum decodes to depends on what was added, not on the order. Its bytes may depend on it.
///
/// can_add(largest, eb, addends): do all sums of so many values with |x| <= largest hold? Nothing is asked
/// afterwards then. adds_non_finite: addends hold NaN and Inf, and add them as IEEE 754 does.
/// encode_addend: as encode_chunk, into max_addend_bytes(n) bytes. Returns too_large for values that cannot
/// be added. It, or add_chunks, does so for everything that cannot be added, unless can_add has said yes;
/// ranks then reduce exactly. addend_step(eb) (optional): the step of the grid on which addends and their
/// sums lie: a value is encoded as the nearest multiple, and a sum is decoded as a multiple, rounded once. 0:
/// there is none for this bound. Algo::Hierarchical adds encoded streams only where sums can be decoded and
/// encoded again without loss, and learns it from this. add_chunks(a, b, n, dst): the sum of two addends of n
/// values, whose bytes may be anything; total. too_large if the sum cannot be held.
template <class Impl, class T>
concept homomorphic_chunk_codec =
    chunk_codec<Impl, T> && requires(std::span<const T> in, std::span<T> out, const_byte_span a,
                                     const_byte_span b, std::size_t n, byte_span dst, double eb) {
        { Impl::adds_non_finite } -> std::convertible_to<bool>;
        { Impl::max_addend_bytes(n) } -> std::convertible_to<std::size_t>;
        typename std::integral_constant<std::size_t, Impl::max_addend_bytes(1)>;
        { Impl::can_add(eb, eb, n) } noexcept -> std::same_as<bool>;
        { Impl::encode_addend(in, dst, eb) } noexcept -> std::same_as<encode_result>;
        { Impl::decode_addend(a, out, eb) } noexcept -> std::same_as<status>;
        { Impl::add_chunks(a, b, n, dst) } noexcept -> std::same_as<encode_result>;
    };

namespace detail {

/// As chunk_codec, with functions that may throw: a codec that only lacks `noexcept`.
template <class Impl, class T>
concept throwing_chunk_codec =
    !chunk_codec<Impl, T> &&
    requires(std::span<const T> in, std::span<T> out, const_byte_span src, byte_span dst, double eb) {
        { Impl::chunk_elements } -> std::convertible_to<std::size_t>;
        { Impl::encode_chunk(in, dst, eb) } -> std::same_as<encode_result>;
        { Impl::decode_chunk(src, out, eb) } -> std::same_as<status>;
    };

/// Has a function of homomorphic codecs, but not all that they need.
template <class Impl, class T>
concept half_homomorphic_codec =
    chunk_codec<Impl, T> && !homomorphic_chunk_codec<Impl, T> &&
    (requires(std::span<const T> in, byte_span dst, double eb) { Impl::encode_addend(in, dst, eb); } ||
     requires(const_byte_span a, std::span<T> out, double eb) { Impl::decode_addend(a, out, eb); } ||
     requires(const_byte_span a, std::size_t n, byte_span dst) { Impl::add_chunks(a, a, n, dst); });

}  // namespace detail

/// Generic code keeps chunks on its stack.
inline constexpr std::size_t max_chunk_elements = 8192;

namespace detail {

/// Whose functions work on the chunks of a codec of the library: `type`. A codec's header specialises it
/// where its kernels are compiled.
template <class Tag, class T>
struct coder_of;

/// The base of a codec_impl whose coder has encode_chunk and decode_chunk and nothing else. In a program with
/// ccoll::compiled they are only declared.
template <class Tag, native_float T>
struct coded_chunks {
    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept;
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept;
};

#if !defined(CCOLL_COMPILED)
// Always inlined, so that a chunk costs no call more than if the coder were used directly.
template <class Tag, native_float T>
[[gnu::always_inline]] inline encode_result coded_chunks<Tag, T>::encode_chunk(std::span<const T> in,
                                                                               byte_span dst,
                                                                               double eb) noexcept
{
    return coder_of<Tag, T>::type::encode_chunk(in, dst, eb);
}
template <class Tag, native_float T>
[[gnu::always_inline]] inline status coded_chunks<Tag, T>::decode_chunk(const_byte_span src, std::span<T> out,
                                                                        double eb) noexcept
{
    return coder_of<Tag, T>::type::decode_chunk(src, out, eb);
}
#endif

}  // namespace detail

}  // namespace ccoll::inline CCOLL_ABI
