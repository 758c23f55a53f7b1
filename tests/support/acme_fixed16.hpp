// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// acme_fixed16.hpp - a codec from outside the library: one tag and one codec_impl, and no other change. It
// tests what the library promises to authors of codecs, and reductions without decoding.
#pragma once

#include <cmath>
#include <cstdint>

#include <ccoll/codec.hpp>

// [doc:codec]
namespace acme {

/// 16-bit fixed point on a grid of 2 eb. It is homomorphic, because quanta can be added.
struct Fixed16 : ccoll::codec_tag<200, true> {
    static constexpr const char* name = "acme::Fixed16";
};

}  // namespace acme

CCOLL_EXACT_BEGIN

template <ccoll::native_float T>
struct ccoll::codec_impl<acme::Fixed16, T, ccoll::host_space> {
    static constexpr std::size_t chunk_elements = 1024;

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        CCOLL_EXACT_BODY
        for (std::size_t i = 0; i < in.size(); ++i) {
            const double quantum = std::nearbyint(static_cast<double>(in[i]) / (2 * eb));
            if (!(std::fabs(quantum) <= 32767)) return {0, status::unsupported};
            const double error = static_cast<double>(value(quantum, eb)) - static_cast<double>(in[i]);
            if (!(std::fabs(error) < eb)) return {0, status::unsupported};
            store(dst, 2 * i, static_cast<std::int16_t>(quantum));
        }
        return {2 * in.size()};
    }
    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        if (src.size() != 2 * out.size()) return status::corrupt;
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = value(load<std::int16_t>(src, 2 * i), eb);
        return status::ok;
    }

    static constexpr bool adds_non_finite = false;
    static constexpr std::size_t max_addend_bytes(std::size_t n) { return 2 * n; }
    static bool can_add(double largest, double eb, std::size_t addends) noexcept
    {
        return (largest / (2 * eb) + 1) * static_cast<double>(addends) <= 32767;
    }
    static encode_result encode_addend(std::span<const T> in, byte_span dst, double eb) noexcept
    {
        const encode_result r = encode_chunk(in, dst, eb);
        return r.code == status::unsupported ? encode_result{0, status::too_large} : r;
    }
    static status decode_addend(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        return decode_chunk(src, out, eb);
    }
    static encode_result add_chunks(const_byte_span a, const_byte_span b, std::size_t n,
                                    byte_span dst) noexcept
    {
        if (a.size() != 2 * n || b.size() != 2 * n) return {0, status::corrupt};
        for (std::size_t i = 0; i < n; ++i) {
            const int sum = load<std::int16_t>(a, 2 * i) + load<std::int16_t>(b, 2 * i);
            if (sum > 32767 || sum < -32767) return {0, status::too_large};
            store(dst, 2 * i, static_cast<std::int16_t>(sum));
        }
        return {2 * n};
    }

private:
    static T value(double quantum, double eb) noexcept
    {
        CCOLL_EXACT_BODY
        return static_cast<T>(quantum * (2 * eb));
    }
};

CCOLL_EXACT_END
// [/doc:codec]
