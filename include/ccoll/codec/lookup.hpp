// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lookup.hpp - floor 2. From a codec tag and an element type to the functions that the engine calls.
#pragma once

#include <ccoll/codec/chunked_addends.hpp>

namespace ccoll::inline CCOLL_ABI {

template <class Tag, class T, class Space = host_space>
concept has_codec = element<T> && chunk_codec<codec_impl<Tag, T, Space>, T>;

template <class Tag, class T>
concept has_homomorphic_codec =
    has_codec<Tag, T> && homomorphic_chunk_codec<codec_impl<Tag, T, host_space>, T>;

namespace detail {

// What a homomorphic codec may have beside the functions that it must have (codec_impl.hpp).
template <class Impl>
concept has_addend_step = requires { Impl::addend_step(0.0); };

}  // namespace detail

/// The run-time face of codec `Tag` for elements T.
template <class Tag, element T>
inline constexpr frame_codec<T> frame_codec_of = [] {
    using all = detail::chunked<Tag, T>;
    using opens = status (*)(const_byte_span, std::size_t, frame_view&) noexcept;
    return frame_codec<T>{&all::max_bytes,
                          &all::encode,
                          static_cast<opens>(&all::open),
                          &all::decode,
                          &all::decode_reduce,
                          &all::decode_reduce_encode,
                          all::step,
                          all::elements_between_polls};
}();

template <class Tag, element T>
    requires has_homomorphic_codec<Tag, T>
inline constexpr addend_codec<T> addend_codec_of = [] {
    using all = detail::chunked_addends<Tag, T>;
    using impl = codec_impl<Tag, T, host_space>;
    addend_codec<T> c{&all::max_bytes, &impl::can_add, &all::encode,
                      &all::refuse,    &all::add,      impl::adds_non_finite};
    if constexpr (detail::has_addend_step<impl>) c.step = &impl::addend_step;
    return c;
}();

}  // namespace ccoll::inline CCOLL_ABI
