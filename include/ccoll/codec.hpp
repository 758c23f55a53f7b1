// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec.hpp - floor 5. The codecs by themselves, for files, checkpoints and other transports. No MPI, no
// engine.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/codec/bitcut.hpp>
#include <ccoll/codec/bitmask.hpp>
#include <ccoll/codec/bitzip.hpp>
#include <ccoll/codec/bytezip.hpp>
#include <ccoll/codec/half.hpp>
#include <ccoll/codec/lookup.hpp>
#include <ccoll/codec/lossless.hpp>
#include <ccoll/codec/none.hpp>
#include <ccoll/codec/pipe_szx.hpp>
#include <ccoll/codec/sze.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/codec/szx.hpp>
#include <ccoll/codec/zfp.hpp>
#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/policy/shaped.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// Writes to `field` what an encoder must know of `in`.
/// @return ok, or why this buffer cannot be encoded with this bound
template <bool needs_bound, class Buffer>
status describe(const Buffer& in, double eb, field_facts& field)
{
    if (needs_bound && !is_bound(eb)) return status::bad_bound;
    const shape_facts shape = shape_facts::of(in);
    if (!shape.fits()) return status::size_mismatch;
    if (!is_contiguous(in)) return status::strided;
    field = {needs_bound ? eb : 0, shape.strides};
    return status::ok;
}

}  // namespace detail

/// A size in bytes that is always enough for n elements, whatever the codec: 48 for the header, 8 for each
/// chunk, and the elements. Chunks and index are padded to multiples of 16 bytes.
template <class Codec, element T>
constexpr std::size_t max_encoded_bytes(std::size_t n)
{
    return detail::chunked<Codec, T>::max_bytes(n);
}

/// Encodes `in` so that every decoded value differs by at most `eb` from the original.
///
/// @param in   n elements, host memory, any n >= 0. If it has a shape (policy/shaped.hpp), some codecs write
///             fewer bytes for the same values.
/// @param dst  capacity >= max_encoded_bytes<Codec, T>(n). It need not be aligned, and is not touched beyond
///             that many bytes.
/// @param eb   absolute bound, same unit as the data, > 0; ignored by exact codecs.
/// @return     {bytes, code, raw_blocks, special_values}; code is ok, out_of_space, bad_bound, size_mismatch
///             (the shape has another number of elements), strided (a view that says that it has gaps), or
///             bad_argument (more than 32 GiB in one frame: cut the vector). Never throws.
/// Non-finite values survive bit for bit, because whatever a codec cannot hold is stored as it is.
/// Cost: one pass, no allocation. Deterministic: equal input and eb give equal bytes on every platform.
template <class Codec, buffer Buffer>
encode_result encode(const Buffer& in, byte_span dst, double eb = 0) noexcept
{
    using T = std::remove_const_t<buffer_pointee<const Buffer&>>;
    using implementation = codec_impl<Codec, T, host_space>;
    static_assert(detail::has_wire_id_of_its_own<Codec>,
                  "ccoll::encode: the wire ids 0 to 127 belong to the codecs of the library; derive this tag "
                  "from ccoll::codec_tag<id, lossy> with an id of 128 to 255");
    static_assert(!detail::throwing_chunk_codec<implementation, T>,
                  "ccoll::encode: encode_chunk and decode_chunk of a codec must be noexcept; return a "
                  "ccoll::status for what cannot be done");
    static_assert(has_codec<Codec, T> || detail::throwing_chunk_codec<implementation, T>,
                  "ccoll::encode: this codec has no host implementation for this element type; include its "
                  "header, or specialise ccoll::codec_impl for your tag");
    if constexpr (has_codec<Codec, T>) {
        const detail::exact_call environment;
        field_facts field(0);
        if (const status s = detail::describe<Codec::lossy>(in, eb, field); s != status::ok) return {0, s};
        return frame_codec_of<Codec, T>.encode(as_span(in), dst, field, {});
    }
    return {0, status::unsupported};
}

/// Decodes a frame. Any bytes are safe as input and give a status.
///
/// @param src  begins with a frame. Bytes after it are not read.
/// @param out  as many elements as were encoded, host memory.
/// @return     ok, or strided (a view that says that it has gaps), corrupt, wire_version, foreign_frame,
///             count_differs, too_large; `out` is then unspecified. Never throws.
/// Cost: one pass, no allocation.
template <class Codec, buffer Buffer>
status decode(const_byte_span src, Buffer&& out) noexcept
{
    using T = buffer_pointee<Buffer>;
    static_assert(!detail::loses_result<Buffer>,
                  "ccoll::decode: the result goes to a temporary that owns its elements, and is destroyed "
                  "with it; give it a name");
    static_assert(has_codec<Codec, T>,
                  "ccoll::decode: the buffer must hold non-const elements of a type that this codec has a "
                  "host implementation for; include the codec's header, or specialise ccoll::codec_impl");
    if constexpr (has_codec<Codec, T>) {
        const detail::exact_call environment;
        const std::span<T> to = as_span(out);
        if (!is_contiguous(out)) return status::strided;
        frame_view view;
        const status s = frame_codec_of<Codec, T>.open(src, to.size(), view);
        return s == status::ok ? frame_codec_of<Codec, T>.decode(view, to, {stores_for(to.size_bytes())}, {})
                               : s;
    }
    return status::unsupported;
}

/// A size in bytes that is always enough for an addend of n elements, and for any sum of such addends.
template <class Codec, element T>
    requires has_homomorphic_codec<Codec, T>
constexpr std::size_t max_addend_bytes(std::size_t n)
{
    return detail::chunked_addends<Codec, T>::max_bytes(n);
}

/// Like encode, but writes a frame that reduce_encoded can add. decode reads such a frame as well. For
/// homomorphic codecs.
/// Addends of a field need not agree on its shape: what a sum decodes to does not depend on it.
///
/// @param dst  capacity >= max_addend_bytes<Codec, T>(n)
/// @return     code as encode, or too_large: the codec cannot add some values at this bound (SZp: 2^190 steps
///             or more, more than 256 different values of 2^45 steps or more in a chunk, or a bound below 4
///             times the smallest normal number). The frame then says so; it cannot be decoded, and every sum
///             with it says the same.
/// NaN and Inf take part as in IEEE 754 sums. The payload of a NaN is not kept.
/// Cost: one pass, no allocation.
template <class Codec, buffer Buffer>
encode_result encode_addend(const Buffer& in, byte_span dst, double eb) noexcept
{
    using T = std::remove_const_t<buffer_pointee<const Buffer&>>;
    static_assert(has_homomorphic_codec<Codec, T>,
                  "ccoll::encode_addend: needs a codec that adds encoded streams (its codec_impl has "
                  "encode_addend and add_chunks), such as Codec::SZp");
    if constexpr (has_homomorphic_codec<Codec, T>) {
        const detail::exact_call environment;
        field_facts field(0);
        if (const status s = detail::describe<true>(in, eb, field); s != status::ok) return {0, s};
        return addend_codec_of<Codec, T>.encode(as_span(in), dst, field, {});
    }
    return {0, status::unsupported};
}

namespace detail {

/// Opens two frames and passes them to `join`. Returns a status instead if one is not a frame of this codec.
template <class Codec, element T, class Join>
encode_result with_both(const_byte_span a, const_byte_span b, Join join)
{
    const exact_call environment;
    frame_view left, right;
    for (const status s : {chunked<Codec, T>::open(a, left), chunked<Codec, T>::open(b, right)})
        if (s != status::ok && s != status::too_large) return {0, s};
    return join(left, right);
}

}  // namespace detail

/// Writes the addend of the element-wise sum of two addends with the same codec, count and bound, without
/// decoding them. If more than two are added, what the result decodes to does not depend on the order; its
/// bytes may.
///
/// @param dst  capacity >= max_addend_bytes of the frames' element count. It must begin exactly where a or b
///             begins (or both, which gives 2 a), or not overlap either. In the memory of an operand the sum
///             always fits, because the operand is first moved to the end of dst. This costs up to an eighth
///             more time in cache, and a third in memory. Header and index are checked before anything is
///             written, so the operand is unchanged with any code except ok, too_large, and corrupt because
///             of a chunk.
/// @return     {bytes, code, ...}; code is ok, not_an_addend, count_differs, bound_differs, foreign_frame,
///             wire_version, corrupt, out_of_space, or too_large: the sum (or an operand) does not fit, and
///             the frame says so. Never throws.
/// Cost: one pass over the encoded bytes, no allocation.
template <class Codec, class Op, element T>
encode_result reduce_encoded(const_byte_span a, const_byte_span b, byte_span dst) noexcept
{
    static_assert(Op::linear && has_homomorphic_codec<Codec, T>,
                  "ccoll::reduce_encoded: needs a codec that adds encoded streams (its codec_impl has "
                  "add_chunks) and a linear operation (Op::Sum)");
    if constexpr (Op::linear && has_homomorphic_codec<Codec, T>)
        return detail::with_both<Codec, T>(a, b, [&](const frame_view& x, const frame_view& y) {
            return addend_codec_of<Codec, T>.add(x, y, dst, {});
        });
    return {0, status::unsupported};
}

/// encode, decode, encode_addend and reduce_encoded with their chunks distributed by an executor:
/// `Exec::Threads<N>{}` (exec.hpp), or your thread pool (codec_executor). Bytes, bits and codes are those of
/// one thread. It pays from a few hundred thousand elements on, with data that do not fit the caches. A sum
/// in the memory of an operand is computed by one thread.
template <class Codec, buffer Buffer, codec_executor Executor>
    requires has_codec<Codec, std::remove_const_t<buffer_pointee<const Buffer&>>>
encode_result encode(const Buffer& in, byte_span dst, double eb, const Executor& run)
{
    field_facts field(0);
    if (const status s = detail::describe<Codec::lossy>(in, eb, field); s != status::ok) return {0, s};
    return detail::chunked<Codec, std::remove_const_t<buffer_pointee<const Buffer&>>>::encode(
        as_span(in), dst, field, run);
}
template <class Codec, buffer Buffer, codec_executor Executor>
    requires(has_codec<Codec, buffer_pointee<Buffer>> && !detail::loses_result<Buffer>)
status decode(const_byte_span src, Buffer&& out, const Executor& run)
{
    using all = detail::chunked<Codec, buffer_pointee<Buffer>>;
    const auto to = as_span(out);
    if (!is_contiguous(out)) return status::strided;
    frame_view view;
    const status s = all::open(src, to.size(), view);
    return s == status::ok ? all::decode(view, to, {stores_for(to.size_bytes())}, run) : s;
}
template <class Codec, buffer Buffer, codec_executor Executor>
    requires has_homomorphic_codec<Codec, std::remove_const_t<buffer_pointee<const Buffer&>>>
encode_result encode_addend(const Buffer& in, byte_span dst, double eb, const Executor& run)
{
    field_facts field(0);
    if (const status s = detail::describe<true>(in, eb, field); s != status::ok) return {0, s};
    return detail::chunked_addends<Codec, std::remove_const_t<buffer_pointee<const Buffer&>>>::encode(
        as_span(in), dst, field, run);
}
template <class Codec, class Op, element T, codec_executor Executor>
    requires(Op::linear && has_homomorphic_codec<Codec, T>)
encode_result reduce_encoded(const_byte_span a, const_byte_span b, byte_span dst, const Executor& run)
{
    return detail::with_both<Codec, T>(a, b, [&](const frame_view& x, const frame_view& y) {
        return detail::chunked_addends<Codec, T>::add(x, y, dst, run);
    });
}

}  // namespace ccoll::inline CCOLL_ABI
