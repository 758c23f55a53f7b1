// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/portable.hpp - floor 2. The primitives on exceptional values in plain C++.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/exceptions/places.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::exceptions::portable {

/// Bit i says whether the bits of x[i] pass.
template <element T, class Test>
CCOLL_INLINE u32 mask_of(const T* x, Test test) noexcept
{
    u8 passes[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) passes[i] = test(bits_at(x, i));
    u32 mask = 0;
    for (unsigned g = 0; g < 4; ++g) {
        u64 eight;
        std::memcpy(&eight, passes + 8 * g, sizeof eight);
        mask |= static_cast<u32>(eight * 0x0102040810204080u >> 56) << 8 * g;  // one bit of each byte
    }
    return mask;
}
/// Is there an |x| from `limit` on?
template <element T>
CCOLL_INLINE bool reaches(const T* x, typename fields_of<T>::word limit) noexcept
{
    typename fields_of<T>::signed_word most = 0;  // SSE2 compares only signed integers
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto w = static_cast<typename fields_of<T>::signed_word>(bits_at(x, i) & ~fields_of<T>::sign);
        most = w > most ? w : most;
    }
    return static_cast<typename fields_of<T>::word>(most) >= limit;
}
template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool any_missing, T* to) noexcept
{
    std::memcpy(to, x, block_elements * sizeof(T));
    if (!any_missing && !reaches(x, is.limit)) return 0;  // most blocks
    const u32 mask = mask_of(x, [&](typename rule<T>::word w) { return is.holds(w); });
    if (mask == 0xffffffffu) std::memset(to, 0, block_elements * sizeof(T));
    else
        for (u32 left = mask; left != 0; left &= left - 1) to[std::countr_zero(left)] = T(0);
    return mask;
}
/// The bridge over a single value, as ramp() has it.
template <element T>
CCOLL_INLINE T between(T a, T b) noexcept
{
    CCOLL_EXACT_BODY
    const double from = static_cast<double>(a), until = static_cast<double>(b), value = from * 0.5 + until * 0.5;
    const double low = from < until ? from : until, high = from < until ? until : from;
    const double raised = value < low ? low : value;
    return static_cast<T>(raised > high ? high : raised);
}
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    return mask_of(x, [=](typename rule<T>::word w) { return static_cast<u8>(w == bits); });
}
template <element T>
CCOLL_INLINE void ramp(T* block, u32 mask, int before, std::size_t count, T a, T b) noexcept
{
    CCOLL_EXACT_BODY
    const double from = static_cast<double>(a), until = static_cast<double>(b), per_step = 1 / static_cast<double>(count + 1);
    const double low = from < until ? from : until, high = from < until ? until : from;
    for (int i = std::countr_zero(mask), end = 32 - std::countl_zero(mask); i < end; ++i) {
        const double share = static_cast<double>(i - before) * per_step, value = from * (1 - share) + until * share;
        const double raised = value < low ? low : value;
        block[i] = static_cast<T>(raised > high ? high : raised);
    }
}
template <element T>
CCOLL_INLINE void copy_block(const T* x, T* to) noexcept
{
    std::memmove(to, x, block_elements * sizeof(T));
}
template <element T>
CCOLL_INLINE void copy_with(const T* x, u32 mask, T value, T* to) noexcept
{
    copy_block(x, to);
    for (u32 left = mask; left != 0; left &= left - 1) to[std::countr_zero(left)] = value;
}
template <element T>
CCOLL_INLINE void put_all(T* x, typename rule<T>::word bits) noexcept
{
    for (std::size_t i = 0; i < block_elements; ++i) std::memcpy(x + i, &bits, sizeof bits);
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    if (mask == 0xffffffffu) put_all(x, bits);
    else
        for (u32 left = mask; left != 0; left &= left - 1) std::memcpy(x + std::countr_zero(left), &bits, sizeof bits);
}

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::portable

#include <ccoll/base/kernels_end.inl>
