// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/declared/szp.hpp - floor 2. Codec::SZp without its kernels. A file for which extern.hpp says that the codec is compiled elsewhere
// includes this instead of codec/szp.hpp, which defines what is declared here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/szp/sizes.hpp>
#include <ccoll/policy/strides.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// detail::szp::chunk_coder (codec/szp.hpp) describes the codec.
template <native_float T>
struct codec_impl<policies::Codec::SZp, T, host_space> {
    static constexpr std::size_t chunk_elements = detail::szp::chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 131072;  // 30 us of encoding and adding with AVX-512
    static constexpr bool adds_non_finite = true;
    static constexpr std::size_t self_checked_addends = 1000;
    static constexpr bool adds_one_fill_value = true;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept;
    static encode_result encode_chunk_of_field(std::span<const T> in, byte_span dst, double eb, field_strides strides) noexcept;
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb, stores how = stores::cached) noexcept;

    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept
    {
        return detail::szp::most_chunk_bytes<T>(n) + detail::szp::missing::most_section_bytes(n, sizeof(T));
    }
    static bool can_add(double largest, double eb, std::size_t addends) noexcept;
    template <class Out>
    static void put_fills(const_byte_span chunk, std::span<Out> out, int times) noexcept;
    static double addend_step(double eb) noexcept;
    static encode_result encode_addend(std::span<const T> in, byte_span dst, double eb) noexcept;
    static encode_result encode_addend_of_field(std::span<const T> in, byte_span dst, double eb, field_strides strides) noexcept;
    static status decode_addend(const_byte_span src, std::span<T> out, double eb, stores how = stores::cached) noexcept;
    static encode_result add_chunks(const_byte_span a, const_byte_span b, std::size_t n, byte_span dst) noexcept;
    static encode_result combine_chunks(std::int32_t factor_a, const_byte_span a, std::int32_t factor_b, const_byte_span b, std::size_t n,
                                        byte_span dst) noexcept;
};

}  // namespace ccoll::inline CCOLL_ABI
