// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/flattened.inl - floor 2. A chunk with all its lanes, by the functions of its codec: one text, compiled once per instruction
// set.

template <class Coder, class T>
CCOLL_TARGET CCOLL_FLATTEN encode_result encode_lanes(std::span<const T> in, byte_span dst, T limit) noexcept
{
    CCOLL_EXACT_BODY
    return Coder::template encode<most_lanes>(in, dst, limit);
}
template <class Coder, class T>
CCOLL_TARGET CCOLL_FLATTEN status decode_lanes(const_byte_span src, std::span<T> out, T limit) noexcept
{
    CCOLL_EXACT_BODY
    return Coder::template decode<most_lanes>(src, out, limit);
}
