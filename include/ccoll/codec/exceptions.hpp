// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions.hpp - floor 2. Sections of exceptional values: what a lossy codec takes out of a chunk and
// sends beside it. In movement they survive bit for bit; in addends they are wide integers
// (exceptions/addends.inl). docs/wire_format.md has the law and the bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <ccoll/base/isa.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/exceptions/layout.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>
#endif

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::portable {
inline constexpr std::size_t lanes = 16;
#include <ccoll/codec/exceptions/loops.inl>
}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::portable
#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx2 {
inline constexpr std::size_t lanes = 32;
template <class Words>
CCOLL_INLINE u32 signs(const Words& v) noexcept
{
    if constexpr (sizeof v[0] == 4) return static_cast<u32>(_mm256_movemask_ps((__m256)v));
    else return static_cast<u32>(_mm256_movemask_pd((__m256d)v));
}
#include <ccoll/codec/exceptions/loops.inl>
}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx2
#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx512 {
inline constexpr std::size_t lanes = 64;
template <class Words>
CCOLL_INLINE u32 signs(const Words& v) noexcept
{
    if constexpr (sizeof v[0] == 4) return _mm512_movepi32_mask((__m512i)v);
    else return _mm512_movepi64_mask((__m512i)v);
}
#include <ccoll/codec/exceptions/loops.inl>
}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx512
#include <ccoll/base/kernels_end.inl>

namespace ccoll::inline CCOLL_ABI::detail::exceptions {
namespace avx512_gfni = avx512;
}

#elif defined(CCOLL_NEON_KERNELS)
namespace ccoll::inline CCOLL_ABI::detail::exceptions {
namespace neon = portable;  // compilers make NEON of it
}
#endif

namespace ccoll::inline CCOLL_ABI::detail::exceptions {

// What these do, exceptions/bridges.inl and loops.inl say.
template <element T>
inline constexpr by_isa has_bits{CCOLL_EACH_ISA(has_bits<T>)};
template <element T>
inline constexpr by_isa find{CCOLL_EACH_ISA(find<T>)};
template <element T>
inline constexpr by_isa take_out{CCOLL_EACH_ISA(take_out<T>)};
template <element T>
inline constexpr by_isa write{CCOLL_EACH_ISA(write<T>)};
template <element T>
inline constexpr by_isa read{CCOLL_EACH_ISA(read<T>)};
template <element T>
inline constexpr by_isa write_addend{CCOLL_EACH_ISA(write_addend<T>)};
template <element T>
inline constexpr by_isa put_entries{CCOLL_EACH_ISA(put_entries<T>)};
inline constexpr by_isa read_addend{CCOLL_EACH_ISA(read_addend)};
inline constexpr by_isa merge{CCOLL_EACH_ISA(merge)};
/// The bridges of an addend that meet a quantum of the other one: these do not count.
inline void bridges_only_in(const addend& of, const addend& other, std::size_t n, u32* masks) noexcept
{
    for (std::size_t k = 0; k < blocks_of(n); ++k) masks[k] = of.alone.masks[k] & ~other.alone.masks[k];
}

CCOLL_EXACT_BEGIN  // for its optimisation

/// Quanta of places, in the memory of the values there, as far as they have room in it.
template <element T>
struct counted_quanta {
    u32 upper[sizeof(T) == 4 ? most_elements : 1];

    void put(T* x, std::size_t i, i64 q) noexcept
    {
        std::memcpy(x + i, &q, sizeof(T));
        if constexpr (sizeof(T) == 4) upper[i] = static_cast<u32>(static_cast<u64>(q) >> 32);
    }
    i64 get(const T* x, std::size_t i) const noexcept
    {
        u64 q = 0;
        std::memcpy(&q, x + i, sizeof(T));
        if constexpr (sizeof(T) == 4) q |= u64{upper[i]} << 32;
        return static_cast<i64>(q);
    }
};

/// Puts the values of an addend in their places.
/// @param step     of the grid of the bound
/// @param divisor  positive: values are divided by it, before they are rounded
/// @param missing  the bits of a missing value
/// @param quanta  of the places that count; null if there are none
template <element T>
[[gnu::noinline]] void apply(const addend& a, double step, i32 divisor, typename fields_of<T>::word missing,
                             const counted_quanta<T>* quanta, T* x, std::size_t n) noexcept
{
    const exact_step exact(step);
    if (a.alone.is_there()) {
        typename fields_of<T>::word of[most_entries];
        for (std::size_t i = 0; i < a.alone.entries; ++i)
            of[i] = value_of<T>(entry_of(a.alone, i), 0, exact, divisor, missing);
        put_entries<T>(a.alone, of, x, n);
    }
    if (quanta == nullptr) return;
    run_cursor run(a.counted);
    wide w = entry_of(a.counted, run.entry);
    each_block(a.counted.some, [&](std::size_t k) {
        each_bit(a.counted.masks[k], [&](std::size_t bit) {
            if (run.left == 0) {
                run.next();
                w = entry_of(a.counted, run.entry);
            }
            --run.left;
            const std::size_t i = block_elements * k + bit;
            const auto bits = value_of<T>(w, quanta->get(x, i), exact, divisor, missing);
            std::memcpy(x + i, &bits, sizeof bits);
        });
    });
}

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions
