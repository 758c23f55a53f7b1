// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/frame_codec.hpp - floor 2. A codec as the engine sees it: a table of functions over whole frames,
// independent of the codec's type. Any chunk_codec becomes one (chunked.hpp, lookup.hpp).
#pragma once

#include <cstddef>
#include <span>

#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Called between chunks with the number of elements done since the last call, so that messages make progress
/// while a codec works.
struct between_chunks {
    void (*call)(void* self, std::size_t elements) noexcept = nullptr;
    void* self = nullptr;

    void operator()(std::size_t elements) const noexcept
    {
        if (call != nullptr) call(self, elements);
    }
};

/// Frames are read once, by `open`. Everything else takes the frame_view that `open` of the same codec
/// filled, and trusts its header and index. `own`, `in`, `out`: n elements, the count of the frame.
template <element T>
struct frame_codec {
    std::size_t (*max_bytes)(std::size_t n) noexcept = nullptr;
    encode_result (*encode)(std::span<const T> in, byte_span dst, field_facts,
                            between_chunks) noexcept = nullptr;
    /// Checks header and index of the frame of n elements at the start of `src`. Total: any bytes are safe.
    /// Cost: O(chunks), no allocation.
    /// @return ok: `view` may be decoded (and added, if it is an addend)
    ///         too_large: an addend that says so. `view` is valid and may be added, not decoded
    ///         count_differs: `view` is valid, and tells another count than n
    ///         corrupt, wire_version, foreign_frame: `view` is unspecified
    status (*open)(const_byte_span src, std::size_t n, frame_view& view) noexcept = nullptr;
    status (*decode)(const frame_view& src, std::span<T> out, const decoded_facts&,
                     between_chunks) noexcept = nullptr;
    /// out = own op decoded, chunk by chunk in the innermost cache. `out` may be `own`.
    status (*decode_reduce)(const frame_view& src, std::span<const T> own, T* out, const reduction<T>&,
                            between_chunks) noexcept = nullptr;
    /// dst = encoded(own op decoded), also chunk by chunk: C-Coll's reduction step without storing the
    /// partial result.
    encode_result (*decode_reduce_encode)(const frame_view& src, std::span<const T> own, byte_span dst,
                                          field_facts, const reduction<T>&,
                                          between_chunks) noexcept = nullptr;
    std::size_t chunk_elements = 1;
    std::size_t elements_between_polls = 0;
};

/// What a homomorphic codec can do besides: frames that add. They have at most max_bytes(n) bytes of this
/// table, and frame_codec decodes them. A frame that says too_large is whole and valid: it can be sent and
/// added, and every sum with it says too_large.
template <element T>
struct addend_codec {
    std::size_t (*max_bytes)(std::size_t n) noexcept = nullptr;
    /// Do all sums of values of this magnitude and below hold? Others say too_large if they do not.
    bool (*can_add)(double largest, double eb, std::size_t addends) noexcept = nullptr;
    encode_result (*encode)(std::span<const T> in, byte_span dst, field_facts,
                            between_chunks) noexcept = nullptr;
    /// The frame that says too_large.
    encode_result (*refuse)(std::size_t n, byte_span dst, double eb) noexcept = nullptr;
    /// The frame of the sum, without decoding. Both have been opened by this codec, with status ok or
    /// too_large.
    encode_result (*add)(const frame_view& a, const frame_view& b, byte_span dst,
                         between_chunks) noexcept = nullptr;
    bool adds_non_finite = false;
    double (*step)(double eb) noexcept = nullptr;  ///< of the grid of decoded sums; null: not known
};

}  // namespace ccoll::inline CCOLL_ABI
