// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/zfp/encode.cuh - floor 4. The kernel that encodes frames of ZFP at a fixed rate: one thread block a
// chunk of 8192 values, one thread eight blocks of four. Eight blocks are whole bytes at any rate, so no two
// threads write bits of one byte.
//
//   1  values to shared memory in 16-byte pieces                                                      barrier
//   2  values that are not finite are counted: one addition finds the place of the chunk
//   3  blocks to their place in an image of the chunk                                                 barrier
//   4  the image to the frame in 16-byte pieces; behind it, what is not finite
#pragma once

#include <ccoll/cuda/frame.cuh>
#include <ccoll/cuda/staged.cuh>
#include <ccoll/cuda/zfp/block.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::zfp {

struct format {
    static constexpr u32 codec = 9, chunk_elements = 8192;
    static constexpr quality kind = quality::rate;
    static constexpr bool adds = false;
};
inline constexpr u32 chunk_elements = format::chunk_elements, thread_blocks = 8;
static_assert(thread_blocks * block_values * team_threads == chunk_elements &&
              chunk_elements == staged_values::chunk_elements);

/// Bits of a block at so many bits per value. The product is exact, so contraction changes nothing.
__host__ __device__ inline u32 block_bits_at(double rate, u32 least)
{
    const double bits = (rate > 0 ? rate < 1000 ? rate : 1000.0 : 0.0) * block_values;
    const u32 nearest = static_cast<u32>(bits + 0.5);
    return nearest > least ? nearest : least;
}

/// Shared memory of both kernels. Behind it, an encoder has image_bytes(block_bits) bytes more.
template <class T>
struct chunk_room {
    alignas(16) u8 values[chunk_elements * sizeof(T)];  // staged
    warp_words<u32> words;
    union {
        pair_table codes;
        step_table steps;
    };
    u32 place, code;

    CCOLL_DEVICE u8* image() { return reinterpret_cast<u8*>(this + 1); }
};
/// A chunk that is not raw, the number of its exceptions, what ends a chunk of two-byte numbers, and what
/// fills it up.
template <class T>
constexpr std::size_t image_bytes(u32 block_bits)
{
    const std::size_t stream = std::size_t{team_threads} * block_bits;
    return stream < chunk_elements * sizeof(T) ? (stream + 3 + 15) / 16 * 16 : 0;
}

/// Four values of this thread's blocks.
template <class T>
CCOLL_DEVICE void load_block(const void* values, u32 first, T (&x)[4])
{
    CCOLL_UNROLL
    for (u32 i = 0; i < 4; ++i) x[i] = staged_values::staged<T>(values, first + i);
}
template <class T, u32 Values>
CCOLL_DEVICE word_of<T> largest_magnitude(const T (&v)[Values])
{
    word_of<T> most = 0;
    CCOLL_UNROLL
    for (u32 i = 0; i < Values; ++i) most = larger(most, magnitude(v[i]));
    return most;
}
/// Which of this thread's values are not finite.
template <class T>
CCOLL_DEVICE u32 exceptions_of(const void* values, u32 count)
{
    T v[32];
    staged_values::unstage(values, v);
    if (largest_magnitude(v) < fields_of<T>::exponent) return 0;
    u32 mask = 0;
    CCOLL_UNROLL
    for (u32 i = 0; i < 32; ++i) mask |= u32{!is_finite(v[i])} << i;
    const u32 begin = 32 * me();
    return begin >= count ? 0 : mask & 0xffffffffu >> (32 - smaller(32u, count - begin));
}

/// The blocks of this thread, to its bytes of the image.
/// @param exceptions  values that are 0 for the stream
template <class T>
CCOLL_DEVICE void encode_blocks(u32 count, u32 exceptions, u32 block_bits, chunk_room<T>& s)
{
    const u32 first = 32 * me();
    if (first >= count) return;
    bit_writer to(s.image(), me() * block_bits);
    CCOLL_NO_UNROLL
    for (u32 b = 0; b < 32 && first + b < count; b += block_values) {
        T x[4];
        load_block(s.values, first + b, x);
        if (exceptions != 0) {
            CCOLL_UNROLL
            for (u32 i = 0; i < 4; ++i)
                if ((exceptions >> (b + i) & 1) != 0) x[i] = 0;
        }
        const u32 here = count - first - b;  // a last block with fewer values, as libzfp fills it up
        if (here <= 1) x[1] = x[0];
        if (here <= 2) x[2] = x[1];
        if (here <= 3) x[3] = x[0];
        encode_block(x, block_bits, s.codes, to);
    }
    to.end();
}

/// Behind the stream: places and values of the exceptions, their number, and zeros. By all threads.
/// @param to  the chunk    @param before  exceptions of the threads before this one
template <class E, class T>
CCOLL_DEVICE_RARE void put_exceptions(const E* x, u32 exceptions, u32 before, u32 all, u32 stream, u8* to,
                                      chunk_room<T>& s)
{
    const u32 values = stream + 2 * all, end = values + all * static_cast<u32>(sizeof(T));
    for (u32 i = stream / 16 * 16 + me(); i < stream; i += team_threads) to[i] = s.image()[i];
    for (u32 left = exceptions, k = before; left != 0; left &= left - 1, ++k) {
        const u32 place = 32 * me() + lowest_bit(left);
        to[stream + 2 * k] = static_cast<u8>(place);
        to[stream + 2 * k + 1] = static_cast<u8>(place >> 8);
        const word_of<T> bits = bits_at(x, place);
        for (u32 i = 0; i < sizeof(T); ++i) to[values + sizeof(T) * k + i] = static_cast<u8>(bits >> 8 * i);
    }
    if (me() == 0) {
        to[end] = static_cast<u8>(all);
        to[end + 1] = static_cast<u8>(all >> 8);
    }
    // At a rate the byte that ends two-byte numbers is 0.
    const u32 behind = tail_bytes<E> + (0 - (end + 2 + tail_bytes<E>)) % 16;
    if (me() < behind) to[end + 2 + me()] = 0;
}

/// Encodes x, n elements, into a frame. Its chunks are those of the host's encoder, in any order, and the
/// streams those of libzfp.
/// Launch: max(1, chunks) blocks of team_threads threads, sizeof(chunk_room<T>) + image_bytes<T>(block_bits)
/// bytes, where T are the numbers.
/// @param rate   bits per value, as the header has it
/// @param block_bits  block_bits_at(rate, header_bits<T>)
/// @param to     room for max_encoded_bytes(n)    @param s  @see scratch
template <class E>
__global__ __launch_bounds__(team_threads, is_f32<number_of_element<E>> ? 4 : 2) void encode(
    const E* x, u64 n, double rate, u32 block_bits, frame_out to, u32 chunks, scratch* s, outcome* told)
{
    using T = number_of_element<E>;
    auto& room = shared_memory<chunk_room<T>>();
    const u32 chunk = blockIdx.x;
    if (chunks == 0) return end_call<format>(to, facts_of<E>(n, chunks), rate, 0, 1, s, told);
    x += u64{chunk} * chunk_elements;
    const u32 count = values_of_chunk<format>(n, chunk);
    const u32 stream = ((count + block_values - 1) / block_values * block_bits + 7) / 8,
              raw_bytes = count * static_cast<u32>(sizeof(E));
    room.codes.fill();
    staged_values::stage(x, count, room.values);
    __syncthreads();

    const u32 exceptions = exceptions_of<T>(room.values, count);
    const scanned<u32> found = exclusive(ones_of(exceptions), room.words);
    u32 bytes = stream + found.all * (2 + static_cast<u32>(sizeof(T))) + 2 + tail_bytes<E>;
    const bool raw = bytes >= raw_bytes || found.all > count / 8 + 1;
    if (raw) bytes = raw_bytes;
    const u32 units = (bytes + unit_bytes - 1) / unit_bytes;
    if (me() == 0) room.place = to.place(s, chunk, bytes, raw);
    if (!raw) {
        encode_blocks(count, exceptions, block_bits, room);
        if (found.all == 0 && me() < unit_bytes * units - stream)
            room.image()[stream + me()] = 0;  // no exceptions, and what fills up
    }
    __syncthreads();

    u8* const at = to.unit(room.place);
    if (raw) {
        put_raw_elements(x, count, at);
    } else {
        put_pieces(room.image(), found.all == 0 ? units : stream / 16, at);
        if (found.all > 0) put_exceptions(x, exceptions, found.before, found.all, stream, at, room);
    }
    if (me() == 0) {
        const u32 kept = raw ? 1 : found.all;
        if (kept > 0) atomicAdd(&s->raw_chunks, kept);
    }
    end_call<format>(to, facts_of<E>(n, chunks), rate, 0, chunks, s, told);
}

}  // namespace ccoll::detail::device::zfp
