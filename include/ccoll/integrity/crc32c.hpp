// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// integrity/crc32c.hpp - floor 1. CRC-32C (Castagnoli): the check of iSCSI, RFC 3720, and of ext4 and SCTP.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ccoll/base/isa.hpp>
#include <ccoll/base/memory.hpp>

#if defined(CCOLL_X86_KERNELS)
// Not <immintrin.h>: it takes a compiler 0.3 s, and a program with fault.hpp and no codec needs these two
// alone.
#include <nmmintrin.h>
#include <wmmintrin.h>
#elif defined(CCOLL_NEON_KERNELS) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace ccoll::inline CCOLL_ABI {

namespace detail::crc {

/// The polynomial, lowest power in the highest bit, as the registers of a CRC hold it.
inline constexpr std::uint32_t polynomial = 0x82F63B78u;

/// Times x, modulo the polynomial.
constexpr std::uint32_t times_x(std::uint32_t a) { return (a >> 1) ^ ((a & 1) != 0 ? polynomial : 0); }
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b)
{
    std::uint32_t sum = 0;
    for (int i = 31; i >= 0; --i, b = times_x(b))
        if ((a >> i & 1) != 0) sum ^= b;
    return sum;
}
/// x to the power of n.
constexpr std::uint32_t power(std::size_t n)
{
    std::uint32_t result = 0x80000000u, base = 0x40000000u;
    for (; n != 0; n >>= 1, base = product(base, base))
        if ((n & 1) != 0) result = product(result, base);
    return result;
}

/// at[k][b]: what byte b contributes to the register k bytes later. Arrays of the language, and no calls
/// while they are filled: every program that includes ccoll.hpp compiles this, and a compiler takes several
/// times as long for std::array.
struct byte_tables {
    std::uint32_t at[8][256] = {};

    constexpr byte_tables()
    {
        for (std::uint32_t b = 0; b < 256; ++b) {
            std::uint32_t r = b;
            for (int i = 0; i < 8; ++i) r = (r >> 1) ^ ((r & 1) != 0 ? polynomial : 0);
            at[0][b] = r;
        }
        for (int k = 1; k < 8; ++k)
            for (int b = 0; b < 256; ++b) at[k][b] = at[0][at[k - 1][b] & 255] ^ (at[k - 1][b] >> 8);
    }
};
inline constexpr byte_tables tables{};

namespace portable {
/// Eight bytes per turn, by tables.
inline std::uint32_t extend(std::uint32_t r, const std::byte* at, std::size_t n) noexcept
{
    for (; n >= 8; at += 8, n -= 8) {
        std::uint64_t w;
        std::memcpy(&w, at, 8);
        w ^= r;
        r = 0;
        for (std::size_t k = 0; k < 8; ++k) r ^= tables.at[7 - k][w >> 8 * k & 255];
    }
    for (; n > 0; ++at, --n) r = tables.at[0][(r ^ static_cast<std::uint32_t>(*at)) & 255] ^ (r >> 8);
    return r;
}
}  // namespace portable

#if defined(CCOLL_X86_KERNELS)
namespace x86 {

CCOLL_X86_CRC inline std::uint64_t word(const std::byte* at) noexcept
{
    std::uint64_t w;
    std::memcpy(&w, at, 8);
    return w;
}

/// The instruction takes one cycle for eight bytes but answers after three: three streams of `Bytes` bytes
/// each run at once. A product without carries moves the first two to their places; x^-33 is what that
/// product and the reduction of it add.
template <std::size_t Bytes>
CCOLL_X86_CRC inline std::uint32_t three_streams(std::uint32_t r, const std::byte* at) noexcept
{
    constexpr std::uint32_t by_two = power(16 * Bytes - 33), by_one = power(8 * Bytes - 33);
    std::uint64_t a = r, b = 0, c = 0;
    for (std::size_t i = 0; i < Bytes; i += 8) {
        a = _mm_crc32_u64(a, word(at + i));
        b = _mm_crc32_u64(b, word(at + Bytes + i));
        c = _mm_crc32_u64(c, word(at + 2 * Bytes + i));
    }
    const __m128i first =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)), _mm_cvtsi64_si128(by_two), 0);
    const __m128i second =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(b)), _mm_cvtsi64_si128(by_one), 0);
    const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_xor_si128(first, second)));
    return static_cast<std::uint32_t>(_mm_crc32_u64(0, both) ^ c);
}

CCOLL_X86_CRC inline std::uint32_t extend(std::uint32_t r, const std::byte* at, std::size_t n) noexcept
{
    constexpr std::size_t longer = 1024, shorter = 128;
    for (; n >= 3 * longer; at += 3 * longer, n -= 3 * longer) r = three_streams<longer>(r, at);
    for (; n >= 3 * shorter; at += 3 * shorter, n -= 3 * shorter) r = three_streams<shorter>(r, at);
    std::uint64_t wide = r;
    for (; n >= 8; at += 8, n -= 8) wide = _mm_crc32_u64(wide, word(at));
    r = static_cast<std::uint32_t>(wide);
    for (; n > 0; ++at, --n) r = _mm_crc32_u8(r, static_cast<std::uint8_t>(*at));
    return r;
}

}  // namespace x86
#elif defined(CCOLL_NEON_KERNELS) && defined(__linux__)
namespace arm {
CCOLL_NEON_CRC inline std::uint32_t extend(std::uint32_t r, const std::byte* at, std::size_t n) noexcept
{
    for (; n >= 8; at += 8, n -= 8) {
        std::uint64_t w;
        std::memcpy(&w, at, 8);
        r = __crc32cd(r, w);
    }
    for (; n > 0; ++at, --n) r = __crc32cb(r, static_cast<std::uint8_t>(*at));
    return r;
}
}  // namespace arm
#endif

using kernel = std::uint32_t (*)(std::uint32_t, const std::byte*, std::size_t) noexcept;

/// What this machine has in addition to its instruction set. Virtual machines may hide it.
inline kernel of_machine() noexcept
{
#if defined(CCOLL_X86_KERNELS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) return &x86::extend;
#elif defined(CCOLL_NEON_KERNELS) && defined(__linux__)
    constexpr unsigned long has_crc32 = 1ul << 7;  // HWCAP_CRC32
    if ((getauxval(AT_HWCAP) & has_crc32) != 0) return &arm::extend;
#endif
    return &portable::extend;
}
inline kernel in_use() noexcept
{
    static const kernel fastest = of_machine();
    return isa_in_use() == isa::portable ? &portable::extend : fastest;
}

}  // namespace detail::crc

/// The CRC-32C of some bytes. Any length, any alignment.
///
/// @param before  the CRC-32C of the bytes in front of these, so that crc32c(b, crc32c(a)) is that of a and b
///                one after the other.
/// Cost: one pass; 20 to 30 GB/s where the processor has the instruction and the data are in its caches, else
/// 1 to 2 GB/s.
/// Source: RFC 3720, section 12.1 and appendix B.4; Gopal et al., Fast CRC computation for iSCSI polynomial,
/// Intel 2011 (three streams).
inline std::uint32_t crc32c(const_byte_span bytes, std::uint32_t before = 0) noexcept
{
    return ~detail::crc::in_use()(~before, bytes.data(), bytes.size());
}

}  // namespace ccoll
