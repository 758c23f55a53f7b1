// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szx/decode.cuh - floor 4. The kernel that decodes frames of SZx and PipeSZx: one thread block a chunk, one warp a block of 128
// values. Any bytes are safe. Each warp reads all codes of the chunk and knows where its blocks are, so warps wait for each other only
// where a chunk has special values.
#pragma once

#include <ccoll/cuda/szx/encode.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szx {

template <class Format, class T>
struct decode_room {
    alignas(16) u8 section[Format::chunk_elements * sizeof(T)];
    szp::specials_room specials;
    u32 code, blocks_done;
    T step;
};

template <class T>
CCOLL_DEVICE T number_at(const word_reader& from, u32 i)
{
    if constexpr (is_f32<T>) return number_of(from.word(i));
    else return number_of(u64{from.word(2 * i + 1)} << 32 | from.word(2 * i));
}

/// Decodes a block. By a whole warp.
/// @param from  where it begins    @param end  of the chunk    @param here  values of the block    @param x  its first value
template <class E, class T>
CCOLL_DEVICE void decode_block(const u8* from, const u8* end, u32 code, u32 here, T step, E* x)
{
    const u32 first = lane_values * lane();
    if (first >= here) return;
    T v[lane_values];
    if (code == raw_code<T>) {
        const word_reader values(from + sizeof(T) * first, end);
        CCOLL_UNROLL
        for (u32 j = 0; j < lane_values; ++j) v[j] = number_at<T>(values, j);
    } else {
        const T middle = number_at<T>(word_reader(from, end), 0);
        CCOLL_UNROLL
        for (u32 j = 0; j < lane_values; ++j) v[j] = middle;  // no sum with 0, which would change -0
        if (code > 0) {
            const word_reader counts(from + sizeof(T) + code * first, end);
            const T origin = origin_of<T>(code);
            with_bytes<T>(code, [&](auto bytes) {
                constexpr u32 of_value = decltype(bytes)::value;
                u32 w[of_value];
                CCOLL_UNROLL
                for (u32 i = 0; i < of_value; ++i) w[i] = counts.word(i);
                word_of<T> c[lane_values];
                unpack<of_value>(w, c);
                CCOLL_UNROLL
                for (u32 j = 0; j < lane_values; ++j) v[j] = value_of(c[j] | origin_bits<T>, middle, step, origin);
            });
        }
    }
    E* const to = x + first;
    if (here == block_elements && reinterpret_cast<std::uintptr_t>(to) % (sizeof(E) == 2 ? 8 : 16) == 0) {
        if constexpr (is_small<E>) {
            constexpr rounding how = rounding::within_range;
            const u32 low = narrowed<E>(bits_of(v[0]), bits_of(v[1]), how), high = narrowed<E>(bits_of(v[2]), bits_of(v[3]), how);
            store_as(to, u64{high} << 32 | low);
        } else if constexpr (is_f32<T>) {
            store_as(to, uint4{bits_of(v[0]), bits_of(v[1]), bits_of(v[2]), bits_of(v[3])});
        } else {
            u32 w[8];
            CCOLL_UNROLL
            for (u32 j = 0; j < lane_values; ++j) {
                w[2 * j] = static_cast<u32>(bits_of(v[j]));
                w[2 * j + 1] = static_cast<u32>(bits_of(v[j]) >> 32);
            }
            store_as(to, uint4{w[0], w[1], w[2], w[3]});
            store_as(to + 2, uint4{w[4], w[5], w[6], w[7]});
        }
        return;
    }
    CCOLL_UNROLL
    for (u32 j = 0; j < lane_values; ++j)
        if (first + j < here) put_element(to + j, bits_of(v[j]), rounding::within_range);
}

/// Values of a chunk that are not staged but where they belong. For szp::read_section, which calls stage_one.
template <class E>
struct values_in_place {
    E* x;
};
template <class T, class E>
CCOLL_DEVICE void stage_one(values_in_place<E> to, u32 i, word_of<T> bits)
{
    put_element(to.x + i, bits, rounding::within_range);
}

/// The special values of a chunk, over what its blocks gave, which a barrier in here waits for. By all threads. @param from  a section of
/// `bytes` bytes
template <class Format, class E, class T>
CCOLL_DEVICE_RARE bool restore_specials(const u8* from, u32 bytes, u32 count, E* x, decode_room<Format, T>& s)
{
    if (bytes == 0 || bytes % 4 != 0) return false;
    const word_reader words(from, from + bytes);
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < bytes / 4; i += team_threads) store_as<u32>(s.section + 4 * i, words.word(i));
    __syncthreads();
    return szp::read_section<T>(s.section, bytes, count, values_in_place<E>{x}, s.specials);
}

/// Decodes a chunk that is not raw. By all threads. @return  false if the bytes are not those of a chunk
template <class Format, class E, class T>
CCOLL_DEVICE bool decode_chunk(const chunk_bytes& from, u32 count, T step, E* x, decode_room<Format, T>& s)
{
    const u32 blocks = (count + block_elements - 1) / block_elements;
    const u32 in_front = from.bytes > 0 && from.at[0] == specials_code ? 1 : 0;
    if (!(step > 0) || from.bytes < in_front + blocks) return false;
    const u8* const codes = from.at + in_front;
    const auto ends = block_ends<T>::of(codes, count);
    const u32 expected = in_front + blocks + ends.all;
    if (!ends.valid || (in_front > 0 ? expected > from.bytes : expected != from.bytes)) return false;
    CCOLL_NO_UNROLL
    for (u32 block = warp(); block < blocks; block += team_warps)
        decode_block(codes + blocks + ends.begin(block), from.at + expected, codes[block],
                     smaller(block_elements, count - block_elements * block), step, x + block_elements * block);
    if (in_front == 0) return true;
    return restore_specials(from.at + expected, from.bytes - expected, count, x, s);
}

/// Decodes a frame of n elements at `frame`, a multiple of 16 bytes, of which `bytes` bytes may be read. Any bytes are safe; `x` is
/// unspecified if they are not a frame. In damaged frames, a NaN that is computed may have other bits than on the host.
/// Launch: max(1, chunks) blocks of team_threads threads, sizeof(decode_room) bytes, of numbers.
template <class Format, class E>
__global__ __launch_bounds__(team_threads, is_f32<number_of_element<E>> ? 4 : 2) void decode(const u8* frame, u64 bytes, u64 n, E* x,
                                                                                             u32 chunks, scratch* s, outcome* out)
{
    using T = number_of_element<E>;
    auto& room = shared_memory<decode_room<Format, T>>();
    const frame_input<Format, E> reader{frame, bytes};
    const u32 chunk = blockIdx.x;
    if (me() == 0) {
        const status header = reader.check_header(n, chunks);
        room.code = static_cast<u32>(header);
        room.step = !is_small<E> && header == status::ok ? step_of<T>(reader.bound()) : T(0);
    }
    __syncthreads();
    auto code = static_cast<status>(room.code);
    if (code == status::ok && chunks > 0) {
        const u64 first = u64{chunk} * Format::chunk_elements;
        const u32 count = static_cast<u32>(smaller(n - first, u64{Format::chunk_elements}));
        chunk_bytes from = reader.find(chunks, chunk, count);
        if (!from.good) {
            code = status::corrupt;
        } else if (from.raw) {
            get_raw_elements(from.at, count, x + first);
        } else {
            T step = room.step;
            if constexpr (is_small<E>) step = step_of<T>(reader.take_bound(from));
            if (!decode_chunk<Format>(from, count, step, x + first, room)) code = status::corrupt;
        }
    }
    end_decoding(code, chunks, s, out, room.blocks_done);
}

}  // namespace ccoll::detail::device::szx
