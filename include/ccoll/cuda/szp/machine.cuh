// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/machine.cuh - floor 4. Instructions that the kernels of SZp name themselves, because compilers
// choose worse ones: loads that a predicate guards, asynchronous copies. The emulator of the tests has plain
// C++ instead.
#pragma once

#include <ccoll/cuda/team.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// Thread blocks of the second kernel: as many as an H100 runs at once. They look for work themselves. The
/// emulator has so few that some get more than one chunk.
#if defined(__CUDACC__)
inline constexpr u32 list_blocks = 264;
#else
inline constexpr u32 list_blocks = 2;
#endif

/// An address in shared memory, as its own instructions take it: they need no pointer, to which an offset is
/// added first.
using shared_address = u32;

/// Where the memory of the block begins, at a multiple of 128 bytes.
CCOLL_DEVICE shared_address shared_begin()
{
#if defined(__CUDACC__)
    u32 a = static_cast<u32>(__cvta_generic_to_shared(&shared_memory<u8>()));
    asm("" : "+r"(a));  // else each address is the sum of two parts
    return a;
#else
    return 0;
#endif
}
CCOLL_DEVICE u8* shared_at(shared_address a)
{
#if defined(__CUDACC__)
    return static_cast<u8*>(__cvta_shared_to_generic(a));
#else
    return &shared_memory<u8>() + a;
#endif
}
template <class V>
CCOLL_DEVICE V get_shared(shared_address a)
{
    return load_as<V>(shared_at(a));
}
template <class V>
CCOLL_DEVICE void put_shared(shared_address a, V v)
{
    store_as(shared_at(a), v);
}

/// What stands At words behind p where `has`, else anything. Without a branch, so that several loads are
/// under way at once.
template <u32 At, class V = u32>
CCOLL_DEVICE V get_if(bool has, const void* p)
{
    V v;
#if defined(__CUDACC__)
    const u32 h = has;
    if constexpr (sizeof v == 4)
        asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %2, 0;\n @p ld.global.nc.u32 %0, [%1+%3];\n}"
                     : "=r"(v)
                     : "l"(p), "r"(h), "n"(4 * At));
    else if constexpr (sizeof v == 8)
        asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %3, 0;\n @p ld.global.nc.v2.u32 {%0,%1}, [%2+%4];\n}"
                     : "=r"(v.x), "=r"(v.y)
                     : "l"(p), "r"(h), "n"(4 * At));
    else  // what is read once
        asm volatile(
            "{\n .reg .pred p;\n setp.ne.u32 p, %5, 0;\n @p ld.global.nc.L1::no_allocate.v4.u32 "
            "{%0,%1,%2,%3}, [%4+%6];\n}"
            : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
            : "l"(p), "r"(h), "n"(4 * At));
#else
    if (has) return load_as<V>(static_cast<const u8*>(p) + 4 * At);
    std::memset(&v, 0xde, sizeof v);
#endif
    return v;
}
/// An address is not computed again from its parts, and what was computed from it is not kept.
template <class Address>
CCOLL_DEVICE void keep([[maybe_unused]] Address& a)
{
#if defined(__CUDACC__)
    if constexpr (sizeof a == 8) asm volatile("" : "+l"(a));
    else asm volatile("" : "+r"(a));
#endif
}
/// The bits of a in a mask, and those of b elsewhere. Compilers know a mask and its complement as two
/// constants, and take two instructions.
template <u32 Mask>
CCOLL_DEVICE u32 merged(u32 a, u32 b)
{
#if defined(__CUDACC__)
    u32 r;
    asm("lop3.b32 %0, %1, %2, %3, 0xe4;" : "=r"(r) : "r"(a), "r"(b), "n"(Mask));
    return r;
#else
    return (a & Mask) | (b & ~Mask);
#endif
}
CCOLL_DEVICE void copy_to_shared(shared_address to, const void* from)
{
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#else
    put_shared(to, get_if<0, uint4>(true, from));
#endif
}
CCOLL_DEVICE void wait_for_copies()
{
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
#endif
}
/// The kernel behind this one on its stream may begin, and waits itself.
CCOLL_DEVICE void let_next_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}
CCOLL_DEVICE void wait_for_kernel_before()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}
/// The sum over this lane and those below. The shuffle says in a predicate whether there is one.
CCOLL_DEVICE u32 sum_up_to(u32 v)
{
#if defined(__CUDACC__)
    CCOLL_UNROLL
    for (u32 by = 1; by < 32; by *= 2)
        asm volatile(
            "{\n .reg .pred p;\n .reg .u32 r;\n shfl.sync.up.b32 r|p, %0, %1, 0, 0xffffffff;\n @p add.u32 "
            "%0, %0, r;\n}"
            : "+r"(v)
            : "r"(by));
    return v;
#else
    return warp_inclusive(v);
#endif
}

// ---- tiles: the 32 rows of a group, one for each block of 32 values, in shared memory. Pieces of 16 bytes
// change places within a row, so that lanes that take the same piece of different rows do not wait for each
// other ----

template <class T>
struct tile {
    static constexpr u32 row_bytes = 32 * sizeof(T), bytes = 32 * row_bytes, pieces = row_bytes / 16,
                         in_piece = 16 / sizeof(T);
    using word = std::conditional_t<sizeof(T) == 4, u32, u64>;

    /// Where piece `lane` of the first 512 bytes of a tile stands, and by that the one of the r-th.
    CCOLL_DEVICE static shared_address copied(shared_address tile, u32 lane)
    {
        return tile + lane / pieces * row_bytes + ((lane % pieces ^ lane / pieces) << 4);
    }
    CCOLL_DEVICE static shared_address of_copy(shared_address first, u32 r)
    {
        return (first ^ (r * (32 / pieces) & 7) << 4) + 512 * r;
    }
    /// Where the row of a lane begins. Piece c of it: row ^ c << 4.
    CCOLL_DEVICE static u32 row(u32 lane) { return lane * row_bytes + (lane & 7) * 16; }
    CCOLL_DEVICE static u32 of_value(u32 i)
    {
        return i / 32 * row_bytes + ((i / in_piece % pieces ^ (i / 32 & 7)) << 4) +
               i % in_piece * static_cast<u32>(sizeof(T));
    }
    CCOLL_DEVICE static void get_piece(shared_address row, u32 c, word (&w)[in_piece])
    {
        const uint4 v = get_shared<uint4>(row ^ c << 4);
        if constexpr (sizeof(T) == 4) {
            w[0] = v.x;
            w[1] = v.y;
            w[2] = v.z;
            w[3] = v.w;
        } else {
            w[0] = u64{v.y} << 32 | v.x;
            w[1] = u64{v.w} << 32 | v.z;
        }
    }
    CCOLL_DEVICE static void put_piece(shared_address row, u32 c, const word (&w)[in_piece])
    {
        uint4 v;
        if constexpr (sizeof(T) == 4) v = {w[0], w[1], w[2], w[3]};
        else
            v = {static_cast<u32>(w[0]), static_cast<u32>(w[0] >> 32), static_cast<u32>(w[1]),
                 static_cast<u32>(w[1] >> 32)};
        put_shared(row ^ c << 4, v);
    }
};
/// Calls f (place in the row, bits) for each value of a row.
/// @tparam Replaces  what it returns takes the place of the value
template <class T, bool Replaces = false, class F>
CCOLL_DEVICE void each_in_row(shared_address row, F f)
{
    constexpr u32 n = tile<T>::in_piece;
    CCOLL_NO_UNROLL
    for (u32 c = 0; c < tile<T>::pieces; ++c) {
        typename tile<T>::word w[n];
        tile<T>::get_piece(row, c, w);
        CCOLL_UNROLL
        for (u32 i = 0; i < n; ++i) {
            if constexpr (Replaces) w[i] = f(n * c + i, w[i]);
            else f(n * c + i, w[i]);
        }
        if constexpr (Replaces) tile<T>::put_piece(row, c, w);
    }
}

}  // namespace ccoll::detail::device::szp
