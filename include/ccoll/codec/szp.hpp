// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp.hpp - floor 2. Codec::SZp: quantise, 1-D Lorenzo, bit planes in blocks of 32; sums without decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/szp/sizes.hpp>
#include <ccoll/policy/strides.hpp>
#include <ccoll/policy/tags.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/szp/coder.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

/// detail::szp::chunk_coder (codec/szp/coder.hpp) describes the codec.
template <native_float T>
struct codec_impl<policies::Codec::SZp, T, host_space> {
    static constexpr std::size_t chunk_elements = detail::szp::chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 131072;  // 30 us of encoding and adding with AVX-512
    static constexpr bool adds_non_finite = true;
    static constexpr std::size_t self_checked_addends = 1000;  // as chunk_coder says
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

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
// Always inlined, so that a chunk costs no call more than if the coder were used directly.
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::SZp, T, host_space>::encode_chunk(std::span<const T> in,
                                                                                                          byte_span dst, double eb) noexcept
{
    return detail::szp::chunk_coder<T>::encode_chunk(in, dst, eb);
}
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::SZp, T, host_space>::encode_chunk_of_field(
    std::span<const T> in, byte_span dst, double eb, field_strides strides) noexcept
{
    return detail::szp::chunk_coder<T>::encode_chunk(in, dst, eb, true, strides);
}
template <native_float T>
[[gnu::always_inline]] inline status codec_impl<policies::Codec::SZp, T, host_space>::decode_chunk(const_byte_span src, std::span<T> out,
                                                                                                   double eb, stores how) noexcept
{
    return detail::szp::chunk_coder<T>::decode_chunk(src, out, eb, how);
}
template <native_float T>
[[gnu::always_inline]] inline bool codec_impl<policies::Codec::SZp, T, host_space>::can_add(double largest, double eb,
                                                                                            std::size_t addends) noexcept
{
    return detail::szp::chunk_coder<T>::can_add(largest, eb, addends);
}
template <native_float T>
template <class Out>
[[gnu::always_inline]] inline void codec_impl<policies::Codec::SZp, T, host_space>::put_fills(const_byte_span chunk, std::span<Out> out,
                                                                                              int times) noexcept
{
    detail::szp::chunk_coder<T>::put_fills(chunk, out, times);
}
template <native_float T>
[[gnu::always_inline]] inline double codec_impl<policies::Codec::SZp, T, host_space>::addend_step(double eb) noexcept
{
    return detail::szp::chunk_coder<T>::addend_step(eb);
}
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::SZp, T, host_space>::encode_addend(std::span<const T> in,
                                                                                                           byte_span dst,
                                                                                                           double eb) noexcept
{
    return detail::szp::chunk_coder<T>::encode_addend(in, dst, eb);
}
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::SZp, T, host_space>::encode_addend_of_field(
    std::span<const T> in, byte_span dst, double eb, field_strides strides) noexcept
{
    return detail::szp::chunk_coder<T>::encode_addend(in, dst, eb, strides);
}
template <native_float T>
[[gnu::always_inline]] inline status codec_impl<policies::Codec::SZp, T, host_space>::decode_addend(const_byte_span src, std::span<T> out,
                                                                                                    double eb, stores how) noexcept
{
    return detail::szp::chunk_coder<T>::decode_addend(src, out, eb, how);
}
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::SZp, T, host_space>::add_chunks(const_byte_span a,
                                                                                                        const_byte_span b, std::size_t n,
                                                                                                        byte_span dst) noexcept
{
    return detail::szp::chunk_coder<T>::add_chunks(a, b, n, dst);
}
template <native_float T>
[[gnu::always_inline]] inline encode_result codec_impl<policies::Codec::SZp, T, host_space>::combine_chunks(
    std::int32_t factor_a, const_byte_span a, std::int32_t factor_b, const_byte_span b, std::size_t n, byte_span dst) noexcept
{
    return detail::szp::chunk_coder<T>::combine_chunks(factor_a, a, factor_b, b, n, dst);
}
#endif

}  // namespace ccoll::inline CCOLL_ABI
