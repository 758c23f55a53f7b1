// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels call, for the emulator. Included by emulator.hpp alone.
#pragma once

#define threadIdx (::emulator::detail::thread_index())
#define blockIdx (::emulator::detail::block_index())

#define EMULATOR_HERE ::emulator::location where = ::emulator::location::current()

EMULATOR_HIDDEN inline void __syncthreads(EMULATOR_HERE)
{
    if (emulator::detail::is_mistaken(emulator::mistake::no_barrier, where)) return;
#if defined(EMULATOR_TSAN)
    auto& b = *emulator::detail::now->of;
    char* const order = &b.order_of[b.turn & 1];
    __tsan_release(order);
#endif
    emulator::detail::stop(emulator::detail::waits_for::barrier, where);
#if defined(EMULATOR_TSAN)
    __tsan_acquire(order);
#endif
}
inline void __syncwarp(unsigned mask = ~0u, EMULATOR_HERE)
{
    emulator::detail::meet(mask, 0, "__syncwarp", where, true);
}

template <class T>
T __shfl_sync(unsigned mask, T v, unsigned from, int = 32, EMULATOR_HERE)
{
    return emulator::detail::from_bits<T>(
        emulator::detail::meet(mask, emulator::detail::to_bits(v), "__shfl_sync", where), from & 31);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned by, int = 32, EMULATOR_HERE)
{
    const unsigned lane = emulator::detail::lane();
    const auto* all = emulator::detail::meet(mask, emulator::detail::to_bits(v), "__shfl_up_sync", where);
    return emulator::detail::from_bits<T>(all, lane >= by ? lane - by : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned by, int = 32, EMULATOR_HERE)
{
    const unsigned lane = emulator::detail::lane();
    const auto* all = emulator::detail::meet(mask, emulator::detail::to_bits(v), "__shfl_down_sync", where);
    return emulator::detail::from_bits<T>(all, lane + by < 32 ? lane + by : lane);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, unsigned with, int = 32, EMULATOR_HERE)
{
    const unsigned lane = emulator::detail::lane();
    const auto* all = emulator::detail::meet(mask, emulator::detail::to_bits(v), "__shfl_xor_sync", where);
    return emulator::detail::from_bits<T>(all, lane ^ with);
}
EMULATOR_HIDDEN inline unsigned __ballot_sync(unsigned mask, int yes, EMULATOR_HERE)
{
    const auto* all = emulator::detail::meet(mask, yes != 0, "__ballot_sync", where);
    unsigned b = 0;
    for (unsigned i = 0; i < 32; ++i) b |= (mask >> i & 1) != 0 && all[i] != 0 ? 1u << i : 0;
    return b;
}
inline int __any_sync(unsigned mask, int yes, EMULATOR_HERE) { return __ballot_sync(mask, yes, where) != 0; }
namespace emulator {
/// What must be the same in all lanes of a warp.
EMULATOR_HIDDEN inline bool agreed(bool v, const location& where)
{
    const unsigned yes = __ballot_sync(~0u, v, where);
    if (yes != 0 && yes != ~0u) detail::give_up("lanes of a warp do not agree", where);
    return v;
}
}  // namespace emulator
#define EMULATOR_REDUCE(name, start, expression)                                   \
    EMULATOR_HIDDEN inline unsigned name(unsigned mask, unsigned v, EMULATOR_HERE) \
    {                                                                              \
        const auto* all = emulator::detail::meet(mask, v, #name, where);           \
        unsigned r = start;                                                        \
        for (unsigned i = 0; i < 32; ++i) {                                        \
            const auto x = static_cast<unsigned>(all[i]);                          \
            if ((mask >> i & 1) != 0) r = expression;                              \
        }                                                                          \
        return r;                                                                  \
    }
EMULATOR_REDUCE(__reduce_add_sync, 0, r + x)
EMULATOR_REDUCE(__reduce_max_sync, 0, r > x ? r : x)
EMULATOR_REDUCE(__reduce_min_sync, ~0u, r < x ? r : x)
#undef EMULATOR_REDUCE

// Each is a chance for another thread, as on a GPU.
template <class T>
T atomicAdd(T* p, T v, EMULATOR_HERE)
{
    emulator::stand_by(where);
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
template <class T>
T atomicMax(T* p, T v, EMULATOR_HERE)
{
    emulator::stand_by(where);
    T before = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (before < v &&
           !__atomic_compare_exchange_n(p, &before, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return before;
}

// Compile with -ffp-contract=off.
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline unsigned __brev(unsigned v)
{
    unsigned r = 0;
    for (int i = 0; i < 32; ++i) r |= (v >> i & 1) << (31 - i);
    return r;
}
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v)); }
inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(v)); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    const std::uint64_t v = a | std::uint64_t{b} << 32;
    unsigned r = 0;
    for (unsigned i = 0; i < 4; ++i) r |= static_cast<unsigned>(v >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
    return r;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
    return c;
}
inline int __dp4a(int a, int b, int c)
{
    unsigned r = static_cast<unsigned>(c);
    for (int i = 0; i < 4; ++i)
        r += static_cast<unsigned>(static_cast<signed char>(a >> 8 * i) *
                                   static_cast<signed char>(b >> 8 * i));
    return static_cast<int>(r);
}
