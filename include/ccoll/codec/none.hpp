// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/none.hpp - floor 2. Codec::None: the elements as they are. Every chunk takes the raw path of the
// frame.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/base/extremes.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

template <element T>
struct codec_impl<policies::Codec::None, T, host_space> {
    /// A chunk has no more than 64 KiB, because generic code keeps one on its stack.
    static constexpr std::size_t chunk_elements =
        std::max<std::size_t>(1, std::min(max_chunk_elements, (std::size_t{1} << 16) / sizeof(T)));
    static constexpr bool pipelined = true;

    static encode_result encode_chunk(std::span<const T>, byte_span, double) noexcept
    {
        return {0, status::unsupported};
    }
    static status decode_chunk(const_byte_span, std::span<T>, double) noexcept { return status::corrupt; }
};

}  // namespace ccoll::inline CCOLL_ABI
