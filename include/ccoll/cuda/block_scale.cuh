// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/block_scale.cuh - floor 4. Scales of blocks of elements (FixedBits<b, Block<n>>) on the device: the
// scales and the elements of space/block_scale.hpp, bit for bit.
#pragma once

#include <ccoll/cuda/element.cuh>
#include <ccoll/cuda/operations.cuh>
#include <ccoll/cuda/runtime.cuh>
#include <ccoll/space/block_scale.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// A warp works on so many elements of a block, or on a shorter block.
inline constexpr u32 elements_of_warp = 2048;

/// Finds the scale of each block of n elements: a warp for each block of up to elements_of_warp, and a team
/// for each longer one. Launch: team_threads threads, shared memory for warp_words<u32>.
template <class E>
__global__ __launch_bounds__(team_threads) void find_scales(const E* x, u64 n, u32 block, u8* scales)
{
    auto& room = shared_memory<warp_words<u32>>();
    const bool by_team = block > elements_of_warp;
    const u64 which = by_team ? u64{blockIdx.x} : u64{blockIdx.x} * team_warps + warp(), from = which * block;
    const u32 some = from < n ? static_cast<u32>(smaller(u64{block}, n - from)) : 0;
    const u32 step = by_team ? team_threads : 32;
    u32 most = 0;
    CCOLL_NO_UNROLL
    for (u32 i = by_team ? me() : lane(); i < some; i += 4 * step) {
        u32 four[4] = {};  // loads that are under way together
        CCOLL_UNROLL
        for (u32 k = 0; k < 4; ++k)
            if (i + k * step < some) four[k] = bits_at(x + from, i + k * step) & ~fields_of<float>::sign;
        CCOLL_UNROLL
        for (u32 k = 0; k < 4; ++k) most = larger(most, four[k] < fields_of<float>::exponent ? four[k] : 0);
    }
    most = warp_max(most);
    if (by_team) {
        if (lane() == 0) room.of[warp()] = most;
        __syncthreads();
        most = largest_of(room);
    }
    if (some > 0 && (by_team ? me() : lane()) == 0) scales[which] = block_scale::of(most);
}

/// From elements to units of their scale.
struct to_units {
    struct of_block {
        block_scale::factors by;
        CCOLL_DEVICE float operator()(float x) const { return by.times(x); }
    };
    CCOLL_DEVICE of_block operator()(u8 s) const { return {block_scale::divisor(s)}; }
};
/// And back.
struct from_units {
    block_ceiling ceiling;
    struct of_block {
        block_results results;
        CCOLL_DEVICE float operator()(float x) const
        {
            return results.are_plain() ? results.plain(x) : results.below_ceiling(x);
        }
    };
    CCOLL_DEVICE of_block operator()(u8 s) const { return {block_results::of(s, ceiling)}; }
};

/// to[i] = what(scale of its block)(from[i]). `to` may be `from`. What is not finite stays as it is, because
/// a device forgets the bits of a NaN. Launch: team_threads threads, no shared memory.
/// @param first  the place of from[0] in the vector, whose blocks the scales are of
template <class E, class What>
__global__ __launch_bounds__(team_threads) void scale_blocks(const E* from, E* to, u64 n, u64 first,
                                                             u32 block, const u8* scales, What what)
{
    const u32 piece = smaller(block, elements_of_warp);
    const u64 here = (first / piece + u64{blockIdx.x} * team_warps + warp()) * piece;  // in the vector
    if (here >= first + n) return;
    const auto of_block = what(scales[here / block]);
    const u64 begin = here > first ? here - first : 0, end = smaller(n, here + piece - first);
    CCOLL_NO_UNROLL
    for (u64 i = begin + lane(); i < end; i += 4 * 32) {
        u32 four[4] = {};
        CCOLL_UNROLL
        for (u32 k = 0; k < 4; ++k)
            if (i + k * 32 < end) four[k] = bits_at(from + i, k * 32);
        CCOLL_UNROLL
        for (u32 k = 0; k < 4; ++k) {
            if (i + k * 32 >= end) continue;
            const bool finite = (four[k] & ~fields_of<float>::sign) < fields_of<float>::exponent;
            const u32 bits = finite ? bits_of(of_block(number_of(four[k]))) : four[k];
            put_element(to + i + k * 32, bits, rounding::of_sums);
        }
    }
}

/// The larger one of each of the bytes in two words.
template <class Word>
struct larger_bytes {
    CCOLL_DEVICE Word operator()(const Word& a, const Word& b) const
    {
        Word r = 0;
        CCOLL_UNROLL
        for (u32 at = 0; at < 8 * sizeof(Word); at += 8) {
            const Word x = a & static_cast<Word>(Word{255} << at), y = b & static_cast<Word>(Word{255} << at);
            r = static_cast<Word>(r | larger(x, y));
        }
        return r;
    }
};
/// What `reduction::in_space` refers to, for scales of two ranks.
template <scaled_element T>
inline constexpr device_operation<T> larger_scales_on_device{
    [](const T* left, const T* right, T* into, std::size_t n, const missing_value&, cudaStream_t stream) {
        using word = missing_word<T>;
        return transform(larger_bytes<word>{}, reinterpret_cast<word*>(into), n, stream,
                         reinterpret_cast<const word*>(left), reinterpret_cast<const word*>(right));
    }};

template <scaled_element T>
cudaError_t begin_find_scales(const T* x, std::size_t n, std::size_t block, u8* scales, cudaStream_t stream)
{
    if (n == 0) return cudaSuccess;
    const std::size_t blocks = n / block + (n % block != 0),
                      teams = block > elements_of_warp ? blocks : blocks / team_warps + 1;
    return launch(&find_scales<kernel_element_of<T>>, static_cast<u32>(teams), sizeof(warp_words<u32>),
                  stream, kernel_elements(x), u64{n}, static_cast<u32>(block), scales);
}
template <scaled_element T, class What>
cudaError_t begin_scale_blocks(const T* from, T* to, std::size_t n, std::size_t first, std::size_t block,
                               const u8* scales, What what, cudaStream_t stream)
{
    if (n == 0) return cudaSuccess;
    const std::size_t pieces = n / std::min<std::size_t>(block, elements_of_warp) + 2;  // one begins before
    return launch(&scale_blocks<kernel_element_of<T>, What>, static_cast<u32>(pieces / team_warps + 1), 0,
                  stream, kernel_elements(from), kernel_elements(to), u64{n}, u64{first},
                  static_cast<u32>(block), scales, what);
}

struct scale_itself {
    CCOLL_DEVICE u32 operator()(const u8& s) const { return s; }
};
struct larger_scale {
    CCOLL_DEVICE u32 operator()(const u32& a, const u32& b) const { return larger(a, b); }
};
/// Begins to find the largest of so many scales, more than none.
/// @param into  where device and host can read it
/// @param room  @see begin_look
template <class Room>
cudaError_t begin_largest_scale(const u8* scales, std::size_t many, u32* into, cudaStream_t stream, Room room)
{
    const auto run = [&](void* scratch, std::size_t& needed) {
        return cub::DeviceReduce::TransformReduce(scratch, needed, scales, into, many, larger_scale{},
                                                  scale_itself{}, u32{0}, stream);
    };
    std::size_t needed = 0;
    if (const cudaError_t e = run(nullptr, needed); e != cudaSuccess) return e;
    void* scratch = nullptr;
    if (const cudaError_t e = room(needed, scratch); e != cudaSuccess) return e;
    return run(scratch, needed);
}

}  // namespace ccoll::detail::device
