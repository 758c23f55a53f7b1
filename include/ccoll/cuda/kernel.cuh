// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/kernel.cuh - floor 4. The few words that kernels use beside CUDA's own. The text of a kernel is
// compiled by nvcc for a GPU, and by a host compiler for the emulator of the tests, which is included before
// this header and then takes the place of the CUDA runtime.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/codec/integers.hpp>

#if defined(__CUDACC__)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "ccoll: kernels need a device of compute capability 8.0 or later; compile for one, as with -arch=sm_80"
#endif
#include <cuda_runtime.h>
/// Functions of kernels. RARE ones are not inlined, so that what hardly ever runs costs the others no
/// registers.
#define CCOLL_DEVICE __device__ __forceinline__
#if defined(__CUDACC_RDC__)
#define CCOLL_DEVICE_RARE static __device__ __noinline__
#else
#define CCOLL_DEVICE_RARE inline __device__ __noinline__
#endif
#define CCOLL_UNROLL _Pragma("unroll")
#define CCOLL_NO_UNROLL _Pragma("unroll 1")
#elif defined(CCOLL_CUDA_EMULATED)
#define CCOLL_DEVICE inline __attribute__((always_inline))
#define CCOLL_DEVICE_RARE __device__ inline __attribute__((noinline))
#define CCOLL_UNROLL
#define CCOLL_NO_UNROLL
#else
#error \
    "ccoll: a .cuh header is for nvcc; compile this file as CUDA (.cu), or include ccoll/ccoll.hpp for host buffers"
#endif

namespace ccoll::inline CCOLL_ABI::detail::device {

using integers::u8, integers::u16, integers::u32, integers::u64, integers::i32, integers::i64;

inline constexpr u32 all_lanes = 0xffffffffu;

#if defined(__CUDACC__)

/// The shared memory of the block, as one object. The launch says how long it is.
template <class Room>
CCOLL_DEVICE Room& shared_memory()
{
    extern __shared__ __align__(128) unsigned char ccoll_shared_bytes[];
    return *reinterpret_cast<Room*>(ccoll_shared_bytes);
}

/// Loads and stores in one instruction. The address must be a multiple of the size.
template <class V>
CCOLL_DEVICE V load_as(const void* p)
{
    return *static_cast<const V*>(p);
}
template <class V>
CCOLL_DEVICE void store_as(void* p, V v)
{
    *static_cast<V*>(p) = v;
}

/// What no thread of the launch writes. Not as *p, which would be ordered with stores.
CCOLL_DEVICE u32 get_constant(const void* p)
{
    u32 v;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
CCOLL_DEVICE uint2 get_constant_pair(const void* p)
{
    uint2 v;
    asm volatile("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
}
/// Begins to fetch what is read soon, without a register that waits for it.
CCOLL_DEVICE void fetch(const void* p) { asm volatile("prefetch.global.L1 [%0];" ::"l"(p)); }
/// Adds 1. Whoever sees the sum sees what the others stored before they added.
CCOLL_DEVICE u32 count_up(u32* p)
{
    __threadfence();
    const u32 before = atomicAdd(p, 1u);
    __threadfence();
    return before;
}

/// What is the same in all lanes of a warp. The compiler cannot know that, and would add code for lanes that
/// come apart.
CCOLL_DEVICE bool agreed(bool v) { return __all_sync(all_lanes, v) != 0; }

CCOLL_DEVICE u32 bits_of(float x) { return __float_as_uint(x); }
CCOLL_DEVICE u64 bits_of(double x) { return static_cast<u64>(__double_as_longlong(x)); }
CCOLL_DEVICE float number_of(u32 bits) { return __uint_as_float(bits); }
CCOLL_DEVICE double number_of(u64 bits) { return __longlong_as_double(static_cast<long long>(bits)); }

#else

template <class Room>
Room& shared_memory()
{
    return emulator::shared<Room>();
}

template <class V>
V load_as(const void* from, emulator::location where = emulator::location::current())
{
    const auto* const p = emulator::address_of_access(static_cast<const u8*>(from), sizeof(V), where);
    emulator::check_alignment(p, alignof(V));
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class V>
void store_as(void* to, V v, emulator::location where = emulator::location::current())
{
    auto* const p = emulator::address_of_access(static_cast<u8*>(to), sizeof(V), where);
    emulator::check_alignment(p, alignof(V));
    std::memcpy(p, &v, sizeof v);
}

inline u32 get_constant(const void* p) { return load_as<u32>(p); }
inline uint2 get_constant_pair(const void* p) { return load_as<uint2>(p); }
inline void fetch(const void*) {}
inline u32 count_up(u32* p)
{
    emulator::stand_by();
    return __atomic_fetch_add(p, 1u, __ATOMIC_ACQ_REL);
}

inline bool agreed(bool v, emulator::location where = emulator::location::current())
{
    return emulator::agreed(v, where);
}

inline u32 bits_of(float x) { return std::bit_cast<u32>(x); }
inline u64 bits_of(double x) { return std::bit_cast<u64>(x); }
inline float number_of(u32 bits) { return std::bit_cast<float>(bits); }
inline double number_of(u64 bits) { return std::bit_cast<double>(bits); }

#endif

// Products, sums and quotients that are rounded one by one: nvcc contracts a plain x * y + z, and no pragma
// of the host compiler reaches device code.
CCOLL_DEVICE float times(float a, float b) { return __fmul_rn(a, b); }
CCOLL_DEVICE double times(double a, double b) { return __dmul_rn(a, b); }
CCOLL_DEVICE float plus(float a, float b) { return __fadd_rn(a, b); }
CCOLL_DEVICE double plus(double a, double b) { return __dadd_rn(a, b); }
CCOLL_DEVICE float ratio(float a, float b) { return __fdiv_rn(a, b); }
CCOLL_DEVICE double ratio(double a, double b) { return __ddiv_rn(a, b); }

/// Differences of quanta wrap.
CCOLL_DEVICE i32 minus(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)); }
CCOLL_DEVICE i64 minus(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) - static_cast<u64>(b)); }

template <class V>
CCOLL_DEVICE V larger(V a, V b)
{
    return a > b ? a : b;
}
template <class V>
CCOLL_DEVICE V smaller(V a, V b)
{
    return a < b ? a : b;
}

/// The place of the lowest bit that is set; of the highest one. Not of 0.
CCOLL_DEVICE u32 lowest_bit(u32 v) { return static_cast<u32>(__ffs(static_cast<int>(v))) - 1; }
CCOLL_DEVICE u32 highest_bit(u32 v) { return 31 - static_cast<u32>(__clz(static_cast<int>(v))); }
CCOLL_DEVICE u32 ones_of(u32 v) { return static_cast<u32>(__popc(v)); }
CCOLL_DEVICE u32 reversed(u32 v) { return __brev(v); }
/// @param bits  0 to 32
CCOLL_DEVICE u32 ones_below(u32 bits) { return static_cast<u32>((u64{1} << bits) - 1); }

}  // namespace ccoll::detail::device
