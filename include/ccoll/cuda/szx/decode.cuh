// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szx/decode.cuh - floor 4. The kernel that decodes frames of SZx and PipeSZx: one thread block a chunk,
// one warp a block of 128 values. Any bytes are safe. Each warp reads all codes of the chunk and knows where
// its blocks are, so warps wait for each other only where a chunk has exceptional values.
#pragma once

#include <ccoll/cuda/szx/encode.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szx {

template <class T>
struct decode_room {
    sections_in<1> section;
    team_room team;
    u32 code;
    T step;
};

template <class T>
CCOLL_DEVICE T number_at(const word_reader& from, u32 i)
{
    if constexpr (is_f32<T>) return number_of(from.word(i));
    else return number_of(u64{from.word(2 * i + 1)} << 32 | from.word(2 * i));
}

/// Decodes a block. By a whole warp.
/// @param from  where it begins
/// @param end  of the chunk
/// @param here  values of the block
/// @param x  its first value
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
                for (u32 j = 0; j < lane_values; ++j)
                    v[j] = value_of(c[j] | origin_bits<T>, middle, step, origin);
            });
        }
    }
    E* const to = x + first;
    if (here == block_elements && reinterpret_cast<std::uintptr_t>(to) % (sizeof(E) == 2 ? 8 : 16) == 0) {
        if constexpr (is_small<E>) {
            constexpr rounding how = rounding::within_range;
            const u32 low = narrowed<E>(bits_of(v[0]), bits_of(v[1]), how),
                      high = narrowed<E>(bits_of(v[2]), bits_of(v[3]), how);
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

/// The exceptional values of a chunk, over what its blocks gave, which barriers in here wait for. By all
/// threads.
template <class E, class T>
CCOLL_DEVICE_RARE bool restore_exceptions(const chunk_place& from, u32 section, u32 count, E* x,
                                          decode_room<T>& s)
{
    if (read_sections(from.at, from.bytes, section, count, sizeof(T), s.section, s.team) != status::ok)
        return false;
    CCOLL_NO_UNROLL
    for (u32 left = s.section.masks[0][me()]; left != 0; left &= left - 1) {
        const u32 i = 32 * me() + lowest_bit(left);
        put_element(x + i, load_as<word_of<T>>(s.section.value_of(0, i, sizeof(T))), rounding::within_range);
    }
    return true;
}

/// Decodes a chunk that is not raw. By all threads. @return  false if the bytes are not those of a chunk
template <class E, class T>
CCOLL_DEVICE bool decode_chunk(const chunk_place& from, u32 count, T step, E* x, decode_room<T>& s)
{
    const u32 blocks = (count + block_elements - 1) / block_elements;
    const bool has_exceptions = from.bytes >= head_bytes && from.at[0] == exceptions_code;
    u32 in_front = 0, section = from.bytes;
    if (has_exceptions) {
        const u32 head = load_as<u32>(from.at);
        in_front = head_bytes;
        section = unit_bytes * (head >> 16);
        if ((head >> 8 & 255) != 0 || section < head_bytes || section > from.bytes) return false;
    }
    if (!(step > 0) || section < in_front + blocks) return false;
    const u8* const codes = from.at + in_front;
    const auto ends = block_ends<T>::of(codes, count);
    const u32 expected = in_front + blocks + ends.all;
    if (!ends.valid || expected > section || section - expected >= (has_exceptions ? unit_bytes : 1))
        return false;
    CCOLL_NO_UNROLL
    for (u32 block = warp(); block < blocks; block += team_warps)
        decode_block(codes + blocks + ends.begin(block), from.at + expected, codes[block],
                     smaller(block_elements, count - block_elements * block), step,
                     x + block_elements * block);
    return !has_exceptions || restore_exceptions(from, section, count, x, s);
}

/// Decodes a frame of n elements. Any bytes are safe; `x` is unspecified if they are not a frame. In damaged
/// frames, a NaN that is computed may have other bits than on the host.
/// Launch: max(1, chunks) blocks of team_threads threads, sizeof(decode_room) bytes, of numbers.
template <class Format, class E>
__global__ __launch_bounds__(team_threads, is_f32<number_of_element<E>> ? 4 : 2) void decode(
    const __grid_constant__ frame_in from, u64 n, E* x, u32 chunks, scratch* s, outcome* told)
{
    using T = number_of_element<E>;
    auto& room = shared_memory<decode_room<T>>();
    const u32 chunk = blockIdx.x;
    if (me() == 0) {
        const status header = check_header<Format>(from, facts_of<E>(n, chunks));
        room.code = static_cast<u32>(header);
        room.step = !is_small<E> && header == status::ok ? step_of<T>(bound_of(from)) : T(0);
    }
    __syncthreads();
    auto code = static_cast<status>(room.code);
    if (code == status::ok && chunks > 0) {
        const u32 count = values_of_chunk<Format>(n, chunk);
        E* const to = x + u64{chunk} * Format::chunk_elements;
        chunk_place c = find_chunk<E>(from, chunk, count);
        if (!c.good) {
            code = status::corrupt;
        } else if (c.raw) {
            get_raw_elements(c.at, count, to);
        } else {
            T step = room.step;
            if constexpr (is_small<E>) step = step_of<T>(take_bound<E>(from, c));
            if (!decode_chunk(c, count, step, to, room)) code = status::corrupt;
        }
    }
    end_decoding<Format>(code, larger(chunks, 1u), s, told);
}

}  // namespace ccoll::detail::device::szx
