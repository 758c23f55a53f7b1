// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/staged.cuh - floor 4. The values of a chunk in shared memory, as floats or doubles. They come and go
// in 16-byte pieces, and a thread takes a block of 32 of them.
#pragma once

#include <ccoll/cuda/element.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::staged_values {

inline constexpr u32 block_elements = 32, chunk_elements = block_elements * team_threads;
template <class T>
using word_of = typename fields_of<T>::word;

/// Where value i stands: 16-byte pieces, placed so that those of one column of a warp's blocks lie in
/// different banks.
template <class T>
CCOLL_DEVICE u32 staged_at(u32 i)
{
    constexpr u32 in_piece = 16 / sizeof(T), pieces = block_elements / in_piece;
    const u32 block = i / block_elements, piece = i % block_elements / in_piece;
    return in_piece * (block * pieces + (piece ^ (block & 7))) + i % in_piece;
}
/// A T that stands in shared memory as words. Reading it as T keeps the bits of a signalling NaN on all
/// machines.
template <class T>
CCOLL_DEVICE T staged(const void* values, u32 i)
{
    return number_of(load_as<word_of<T>>(static_cast<const u8*>(values) + sizeof(T) * staged_at<T>(i)));
}
template <class T>
CCOLL_DEVICE void stage_one(void* values, u32 i, word_of<T> bits)
{
    store_as<word_of<T>>(static_cast<u8*>(values) + sizeof(T) * staged_at<T>(i), bits);
}
/// The 16 bytes from value i on, a multiple of 4 (f64: 2).
template <class T>
CCOLL_DEVICE void stage_piece(void* values, u32 i, uint4 piece)
{
    store_as(static_cast<u8*>(values) + sizeof(T) * staged_at<T>(i), piece);
}
template <class T>
CCOLL_DEVICE uint4 staged_piece(const void* values, u32 i)
{
    return load_as<uint4>(static_cast<const u8*>(values) + sizeof(T) * staged_at<T>(i));
}

/// All values of a chunk, by all threads. A last block that is not whole is filled up with its last value.
template <class E>
CCOLL_DEVICE void stage(const E* x, u32 count, void* values)
{
    using T = number_of_element<E>;
    constexpr u32 in_piece = 16 / sizeof(E), rounds = chunk_elements / in_piece / team_threads,
                  at_once = rounds < 8 ? rounds : 8;
    if (count == chunk_elements && reinterpret_cast<std::uintptr_t>(x) % 16 == 0) {
        CCOLL_UNROLL
        for (u32 r = 0; r < rounds; r += at_once) {
            uint4 v[at_once];
            CCOLL_UNROLL
            for (u32 j = 0; j < at_once; ++j)
                v[j] = load_as<uint4>(x + in_piece * (me() + team_threads * (r + j)));
            CCOLL_UNROLL
            for (u32 j = 0; j < at_once; ++j) {
                const u32 i = in_piece * (me() + team_threads * (r + j));
                if constexpr (is_small<E>) {
                    stage_piece<T>(values, i, widened<E>(v[j].x, v[j].y));
                    stage_piece<T>(values, i + in_piece / 2, widened<E>(v[j].z, v[j].w));
                } else {
                    stage_piece<T>(values, i, v[j]);
                }
            }
        }
        return;
    }
    const u32 filled = (count + block_elements - 1) / block_elements * block_elements;
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < filled; i += team_threads)
        stage_one<T>(values, i, bits_at(x, smaller(i, count - 1)));
}
/// The block of this thread.
template <class T>
CCOLL_DEVICE void unstage(const void* values, T (&v)[32])
{
    constexpr u32 in_piece = 16 / sizeof(T);
    CCOLL_UNROLL
    for (u32 c = 0; c < block_elements / in_piece; ++c) {
        const uint4 p = staged_piece<T>(values, block_elements * me() + in_piece * c);
        if constexpr (sizeof(T) == 4) {
            v[4 * c] = number_of(p.x);
            v[4 * c + 1] = number_of(p.y);
            v[4 * c + 2] = number_of(p.z);
            v[4 * c + 3] = number_of(p.w);
        } else {
            v[2 * c] = number_of(u64{p.y} << 32 | p.x);
            v[2 * c + 1] = number_of(u64{p.w} << 32 | p.z);
        }
    }
}

/// Writes the staged values of a chunk. By all threads.
template <class E>
CCOLL_DEVICE void put_values(const void* values, u32 count, E* to, rounding how)
{
    using T = number_of_element<E>;
    constexpr u32 in_piece = 16 / sizeof(E);
    if (count == chunk_elements && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
        CCOLL_UNROLL
        for (u32 i = me(); i < chunk_elements / in_piece; i += team_threads) {
            if constexpr (is_small<E>) {
                const uint4 a = staged_piece<T>(values, in_piece * i),
                            b = staged_piece<T>(values, in_piece * i + in_piece / 2);
                store_as(to + in_piece * i, uint4{narrowed<E>(a.x, a.y, how), narrowed<E>(a.z, a.w, how),
                                                  narrowed<E>(b.x, b.y, how), narrowed<E>(b.z, b.w, how)});
            } else {
                store_as(to + in_piece * i, staged_piece<T>(values, in_piece * i));
            }
        }
        return;
    }
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < count; i += team_threads) put_element(to + i, bits_of(staged<T>(values, i)), how);
}

}  // namespace ccoll::detail::device::staged_values
