// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/zfp/decode.cuh - floor 4. The kernel that decodes frames of ZFP at a fixed rate: one thread block a
// chunk, one thread eight blocks of four. Any bytes are safe. A thread reads its bits, which are whole
// sectors at usual rates, from where they are.
//
//   1  blocks to values in shared memory                                                              barrier
//   2  what was not finite, to its places                                                             barrier
//   3  16-byte pieces to the result
#pragma once

#include <ccoll/cuda/zfp/encode.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::zfp {

/// Puts the exceptions of a chunk in their places. By all threads.
/// @param at  the places, then as many values    @return  false if the places do not ascend
template <class T>
CCOLL_DEVICE_RARE bool get_exceptions(const u8* at, u32 all, u32 count, chunk_room<T>& s)
{
    const auto place = [&](u32 k) { return static_cast<u32>(at[2 * k] | at[2 * k + 1] << 8); };
    bool good = true;
    for (u32 k = me(); k < all; k += team_threads) {
        const u32 p = place(k);
        good = good && p < count && (k == 0 || place(k - 1) < p);
        if (p >= count) continue;
        const u8* const value = at + 2 * all + sizeof(T) * k;
        word_of<T> bits = 0;
        for (u32 i = 0; i < sizeof(T); ++i) bits |= static_cast<word_of<T>>(value[i]) << 8 * i;
        if (good) staged_values::stage_one<T>(s.values, p, bits);
    }
    return !team_any(!good, s.words);
}

/// Decodes one chunk that is not raw to the staged values. By all threads.
/// @return false if the bytes are not those of a chunk
template <class T>
CCOLL_DEVICE bool decode_chunk(const chunk_place& from, u32 count, u32 block_bits, chunk_room<T>& s)
{
    if (from.bytes < 3) return false;
    const u32 all = from.at[from.bytes - 2] | static_cast<u32>(from.at[from.bytes - 1]) << 8;
    const u32 behind = all * (2 + static_cast<u32>(sizeof(T))) + 2;
    const u32 bits = (count + block_values - 1) / block_values * block_bits, stream = (bits + 7) / 8;
    if (from.bytes < behind + 1 || from.bytes - behind != stream) return false;
    if (bits % 8 != 0 && from.at[stream - 1] >> bits % 8 != 0) return false;
    CCOLL_NO_UNROLL
    for (u32 b = 0; b < 32 && 32 * me() + b < count; b += block_values) {
        const u32 value = 32 * me() + b;
        T x[4];
        decode_block(from.at, value / block_values * block_bits, block_bits, s.steps, x);
        CCOLL_UNROLL
        for (u32 i = 0; i < 4; ++i) staged_values::stage_one<T>(s.values, value + i, bits_of(x[i]));
    }
    __syncthreads();
    // Its own barriers stand behind what it stages.
    return all == 0 || get_exceptions<T>(from.at + stream, all, count, s);
}

/// Decodes a frame of n elements. Any bytes are safe; `x` is unspecified if they are not a frame.
/// Launch: max(1, chunks) blocks of team_threads threads, sizeof(chunk_room) bytes, of numbers.
template <class E>
__global__ __launch_bounds__(team_threads, is_f32<number_of_element<E>> ? 4 : 2) void decode(
    const __grid_constant__ frame_in from, u64 n, E* x, u32 chunks, scratch* s, outcome* told)
{
    using T = number_of_element<E>;
    auto& room = shared_memory<chunk_room<T>>();
    const u32 chunk = blockIdx.x;
    if (me() == 0) room.code = static_cast<u32>(check_header<format>(from, facts_of<E>(n, chunks)));
    room.steps.fill();
    __syncthreads();
    auto code = static_cast<status>(room.code);
    if (code == status::ok && chunks > 0) {
        const u32 count = values_of_chunk<format>(n, chunk),
                  block_bits = block_bits_at(bound_of(from), header_bits<T>);
        E* const to = x + u64{chunk} * chunk_elements;
        chunk_place c = find_chunk<E>(from, chunk, count);
        if (!c.good) {
            code = status::corrupt;
        } else if (c.raw) {
            get_raw_elements(c.at, count, to);
        } else {
            bool good = true;
            if (is_small<E>) good = c.at[--c.bytes] == 0;  // there is no bound that could differ
            if (good && decode_chunk(c, count, block_bits, room))
                staged_values::put_values(room.values, count, to, rounding::within_range);
            else code = status::corrupt;
        }
    }
    end_decoding<format>(code, larger(chunks, 1u), s, told);
}

}  // namespace ccoll::detail::device::zfp
