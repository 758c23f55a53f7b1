// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp.hpp - floor 2. Codec::SZp: quantise, differences to neighbours, bit planes in blocks of 32; sums without decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/szp/sizes.hpp>
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

    static constexpr std::size_t room_bytes(std::size_t n) noexcept { return detail::szp::most_room<T>(n); }
    static encode_result encode_chunk(std::span<const T> in, byte_span dst, const field_facts& field) noexcept;
    static status decode_chunk(const frame_view::piece& src, std::span<T> out, double eb, const decoded_facts& facts) noexcept;
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        return decode_chunk({src, 0, false}, out, eb, {});
    }

    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept { return detail::szp::most_addend_bytes(n); }
    static bool can_add(double largest, double eb, std::size_t addends) noexcept;
    static double addend_step(double eb) noexcept;
    static encode_result encode_addend(std::span<const T> in, byte_span dst, const field_facts& field) noexcept;
    static status decode_addend(const frame_view::piece& src, std::span<T> out, double eb, const decoded_facts& facts) noexcept;
    static status decode_addend(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        return decode_addend({src, 0, false}, out, eb, {});
    }
    static encode_result add_chunks(const frame_view::piece& a, const frame_view::piece& b, std::size_t n, byte_span dst) noexcept;
    static encode_result add_chunks(const_byte_span a, const_byte_span b, std::size_t n, byte_span dst) noexcept
    {
        return add_chunks({a, 0, false}, {b, 0, false}, n, dst);
    }
    static encode_result combine_chunks(std::int32_t factor_a, const_byte_span a, std::int32_t factor_b, const_byte_span b, std::size_t n,
                                        byte_span dst) noexcept;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#define CCOLL_SZP(Result)     \
    template <native_float T> \
    [[gnu::always_inline]] inline Result codec_impl<policies::Codec::SZp, T, host_space>
// Always inlined, so that a chunk costs no call more than if the coder were used directly.
CCOLL_SZP(encode_result)::encode_chunk(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
{
    return detail::szp::chunk_coder<T>::encode_chunk(in, dst, field.eb, {field.strides, field.missing});
}
CCOLL_SZP(status)::decode_chunk(const frame_view::piece& src, std::span<T> out, double eb, const decoded_facts& facts) noexcept
{
    return detail::szp::chunk_coder<T>::decode_chunk(src.data, out, eb, src.readable, facts.how);
}
CCOLL_SZP(bool)::can_add(double largest, double eb, std::size_t addends) noexcept
{
    return detail::szp::chunk_coder<T>::can_add(largest, eb, addends);
}
CCOLL_SZP(double)::addend_step(double eb) noexcept { return detail::szp::chunk_coder<T>::addend_step(eb); }
CCOLL_SZP(encode_result)::encode_addend(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
{
    return detail::szp::chunk_coder<T>::encode_addend(in, dst, field.eb, {field.strides, field.missing});
}
CCOLL_SZP(status)::decode_addend(const frame_view::piece& src, std::span<T> out, double eb, const decoded_facts& facts) noexcept
{
    return detail::szp::chunk_coder<T>::decode_addend(src.data, out, eb, src.readable, facts.how, facts.divisor,
                                                      detail::szp::chunk_coder<T>::bits_of_missing(facts.missing));
}
CCOLL_SZP(encode_result)::add_chunks(const frame_view::piece& a, const frame_view::piece& b, std::size_t n, byte_span dst) noexcept
{
    return detail::szp::chunk_coder<T>::add_chunks(a.data, a.readable, b.data, b.readable, n, dst);
}
CCOLL_SZP(encode_result)::combine_chunks(std::int32_t factor_a, const_byte_span a, std::int32_t factor_b, const_byte_span b, std::size_t n,
                                         byte_span dst) noexcept
{
    return detail::szp::chunk_coder<T>::combine_chunks(factor_a, a, factor_b, b, n, dst);
}
#undef CCOLL_SZP
#endif

}  // namespace ccoll::inline CCOLL_ABI
