// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/declared/szx.hpp - floor 2. Codec::SZx without its kernels. A file for which extern.hpp says that the codec is compiled elsewhere
// includes this instead of codec/szx.hpp, which defines what is declared here.
#pragma once

#include <cstddef>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// detail::szx::chunk_coder (codec/szx.hpp) describes the codec.
template <native_float T>
struct codec_impl<policies::Codec::SZx, T, host_space> {
    static constexpr std::size_t chunk_elements = max_chunk_elements;
    static constexpr std::size_t elements_between_polls = 65536;  // 20 us of encoding with AVX-512, 50 us with portable code

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept;
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb, stores how = stores::cached) noexcept;
};

}  // namespace ccoll::inline CCOLL_ABI
