// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp.hpp - floor 2. Codec::SZp: quantise, differences to neighbours, bit planes in blocks of 32; sums
// without decoding.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>
#include <span>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/szp/layout.hpp>
#include <ccoll/policy/tags.hpp>
#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#include <ccoll/codec/szp/coder.hpp>
#include <ccoll/policy/reduce_op.hpp>
#endif

namespace ccoll::inline CCOLL_ABI {

/// Error-bounded quantisation, differences to neighbours, one width per 32 values.
/// What a value becomes is law (szp/grid.hpp): every decoded value is within eb of the original. How quanta
/// are packed is the encoder's own affair, and nothing that is decoded depends on it.
/// Sources: Huang, Di, et al., "ghZCCL: Advancing GPU-aware Collective Communications with Homomorphic
/// Compression", ICS 2025, for the sums, on fixed-length bit planes as in Huang, Di, et al., "cuSZp2", SC
/// 2024. Differs in:
/// - Rounds instead of truncating, on a step slightly below 2 eb, so that the bound is a guarantee in T.
/// - The predecessor of a block's first value is the value before it, not 0: data with an offset cost no more
///   than others.
/// - Two's complement instead of signs and magnitudes: the same widths, and planes can be added as they are.
/// - Widths together in front of a chunk, 4 bits each; 24 bytes for a constant chunk.
/// - Rows and planes of a field take part in the prediction, where they pay.
template <native_float T>
struct codec_impl<policies::Codec::SZp, T, host_space> {
    using piece = frame_view::piece;

    static constexpr std::size_t chunk_elements = detail::szp::chunk_elements;
    static constexpr bool pipelined = true;
    // 30 us of encoding and adding with AVX-512.
    static constexpr std::size_t elements_between_polls = 131072;
    static constexpr bool adds_non_finite = true;

    static constexpr std::size_t room_bytes(std::size_t n) noexcept { return detail::szp::most_room<T>(n); }
    /// Values of a chunk for movement come back as the law has it: within eb, or bit for bit.
    /// @return unsupported: the law has the values as they are. The chunk travels raw
    static encode_result encode_chunk(std::span<const T> in, byte_span dst,
                                      const field_facts& field) noexcept;
    static status decode_chunk(const piece& src, std::span<T> out, double eb,
                               const decoded_facts& facts = {}) noexcept;

    static constexpr std::size_t max_addend_bytes(std::size_t n) noexcept
    {
        return detail::szp::most_addend_bytes(n);
    }
    /// Fewer than 2^17 quanta of at most 2^45, to which values below 2^45 steps may be rounded up, have a sum
    /// whose `largest` is below 2^62.
    static bool can_add(double largest, double eb, std::size_t addends) noexcept;
    static double addend_step(double eb) noexcept;
    /// @return too_large: the values are no addend, because they have too many different exceptional values
    ///     or one is too large
    static encode_result encode_addend(std::span<const T> in, byte_span dst,
                                       const field_facts& field) noexcept;
    /// @param facts  exceptional values are divided before they are rounded, so the mean of 1e20 on 20 ranks
    ///               is 1e20
    static status decode_addend(const piece& src, std::span<T> out, double eb,
                                const decoded_facts& facts = {}) noexcept;
    /// @return too_large: the sum has too many different exceptional values, or one is too large
    static encode_result add_chunks(const piece& a, const piece& b, std::size_t n, byte_span dst) noexcept;
};

#if !defined(CCOLL_COMPILED)  // else ccoll::compiled has it
#define CCOLL_SZP(Result)     \
    template <native_float T> \
    Result codec_impl<policies::Codec::SZp, T, host_space>

CCOLL_SZP(encode_result)::encode_chunk(std::span<const T> in, byte_span dst,
                                       const field_facts& field) noexcept
{
    const detail::exact_environment<detail::denormals::flush> environment;
    return detail::szp::encode_movement<T>(in, dst, field);
}
CCOLL_SZP(status)::decode_chunk(const piece& src, std::span<T> out, double eb,
                                const decoded_facts& facts) noexcept
{
    const detail::exact_environment environment;
    detail::szp::chunk_view v;
    v.written_next = facts.behind;
    if (detail::szp::read_chunk(src.data, src.readable, out.size(), false, v) != status::ok)
        return status::corrupt;
    const std::size_t at = v.head.exceptions;
    const status s = detail::szp::decode_quanta(v, out, eb, at == 0 ? facts.how : stores::cached);
    if (s != status::ok || at == 0) return s;
    return detail::exceptions::read<T>(v.bytes + at, v.size - at, out.data(), out.size()) ? status::ok
                                                                                          : status::corrupt;
}
CCOLL_SZP(double)::addend_step(double eb) noexcept
{
    const detail::szp::law<T> z(eb);
    return z.usable ? z.common.step : 0;
}
CCOLL_SZP(bool)::can_add(double largest, double eb, std::size_t addends) noexcept
{
    CCOLL_EXACT_BODY
    constexpr int exponent = detail::szp::addend_exponent;
    const double step = addend_step(eb);
    return step > 0 && addends < std::size_t{1} << (62 - exponent) && largest < std::ldexp(step, exponent);
}
CCOLL_SZP(encode_result)::encode_addend(std::span<const T> in, byte_span dst,
                                        const field_facts& field) noexcept
{
    const detail::exact_environment<detail::denormals::flush> environment;
    return detail::szp::encoder<T>{in, field}.addend(reinterpret_cast<detail::szp::u8*>(dst.data()));
}
CCOLL_SZP(status)::decode_addend(const piece& src, std::span<T> out, double eb,
                                 const decoded_facts& facts) noexcept
{
    using fields = detail::fields_of<T>;
    const detail::exact_environment environment;
    detail::szp::chunk_view v;
    v.written_next = facts.behind;
    if (detail::szp::read_chunk(src.data, src.readable, out.size(), true, v) != status::ok)
        return status::corrupt;
    const bool any = v.head.exceptions != 0;
    detail::exceptions::addend apart;
    if (any && !detail::exceptions::read_addend(detail::szp::exceptions_of(v), v.n, apart))
        return status::corrupt;
    // A sum that is divided may be too large for T. Shares of it are not, and their quotients have the same
    // bits, unless they are denormal; but where that could be, no sum of quanta is so large.
    const double share =
        facts.divisor != 1 && eb >= 0x1p-30 ? 1.0 / detail::parts_of_share(facts.divisor) : 1;
    const T divisor = static_cast<T>(facts.divisor) * static_cast<T>(share);
    // A sum may have missing values that nobody has declared, if its bytes are foreign. They are NaN.
    const auto missing = facts.missing.declared ? static_cast<typename fields::word>(facts.missing.bits)
                                                : fields::exponent | fields::exponent_one >> 1;
    const auto put_apart = [&](const detail::exceptions::counted_quanta<T>* quanta) {
        detail::exceptions::apply(apart, addend_step(eb), facts.divisor, missing, quanta, out.data(),
                                  out.size());
    };
    if (apart.counts())
        return detail::szp::decode_counted(v, out, eb, share, divisor, apart.counted.masks, put_apart);
    const stores how = any || facts.divisor != 1 ? stores::cached : facts.how;
    const status s = detail::szp::decode_quanta(v, out, eb, how, share);
    if (s != status::ok) return s;
    if (facts.divisor != 1) detail::divide_by(out.data(), divisor, out.size());
    if (any) put_apart(nullptr);
    return s;
}
CCOLL_SZP(encode_result)::add_chunks(const piece& a, const piece& b, std::size_t n, byte_span dst) noexcept
{
    detail::szp::chunk_view x, y;
    if (detail::szp::read_chunk(a.data, a.readable, n, true, x) != status::ok) return {0, status::corrupt};
    if (detail::szp::read_chunk(b.data, b.readable, n, true, y) != status::ok) return {0, status::corrupt};
    return detail::szp::sums::add(x, y, reinterpret_cast<detail::szp::u8*>(dst.data()));
}
#undef CCOLL_SZP
#endif

}  // namespace ccoll::inline CCOLL_ABI
