// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/encode.cuh - floor 4. The kernel that encodes frames of SZp for movement: one thread block a chunk of 8192 values, one thread a
// block of 32. One kernel and one pass: the place of a chunk in the frame comes by look-back while its planes are made.
//
//   1  values to shared memory in 16-byte pieces, and from there to registers                                             barrier
//   2  survey: the largest |x|, the lattice of the first block, samples of noise                                          barrier
//   3  quanta, differences, widths; their scan: the size of the chunk is known and published                              barrier
//   4  planes to their place in shared memory, over the values; codes, head; look-back by warp 0                          barrier
//   5  the chunk to the frame in 16-byte pieces
// What the common grid does not hold takes another way from 2 or 3 on (choice.cuh).
#pragma once

#include <ccoll/cuda/szp/choice.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// Has the chunk a marker at its steep block? By all threads, behind a barrier.
template <class T>
CCOLL_DEVICE_RARE bool has_marker(u32 count, u32 steep, movement_room<T>& s)
{
    if (warp() == 0) {
        const auto found = find_marker<T>([&](u32 i) { return staged<T>(s.values, i); }, [](u32) { return false; }, count, steep);
        if (lane() == 0) s.marker = found;
    }
    __syncthreads();
    return s.marker != special_rule<T>::nothing;
}

/// Writes a narrow chunk to shared memory. By all threads. @param tail  the word behind it
template <class T>
CCOLL_DEVICE void put_usual(const chunk_layout& l, const i32 (&d)[32], bool alone, i32 base, u32 largest, u32 words, u32 tail, u32 units,
                            u32 blocks, movement_room<T>& s)
{
    u32* const image = reinterpret_cast<u32*>(s.values);
    if (!l.flat) {
        u32* const blocks_at = image + 3 + l.codes;
        if (me() < blocks) put_planes(d, l.words, blocks_at + l.before);
        if (l.lists) {
            u8* const lists = reinterpret_cast<u8*>(blocks_at + l.block_words);
            if (me() < blocks && l.code <= most_listed) {
                u8* at = lists + l.list_before;
                CCOLL_UNROLL
                for (u32 i = 0; i < 32; ++i)
                    if (d[i] != 0) *at++ = list_entry(i, static_cast<u32>(d[i]));
            }
            if (me() < (4 - l.list_bytes % 4) % 4) lists[l.list_bytes + me()] = 0;
            __syncthreads();  // for the codes, which lists changed
        }
        put_codes(l, blocks, s.layout, image + 3);
    }
    if (me() == 0) {
        image[0] = l.head(l.flat ? flat : narrow, 0, alone && !l.flat);
        image[1] = static_cast<u32>(base);
        image[2] = largest;
    }
    if (me() < 4 * units - words) image[words + me()] = me() == 0 ? tail : 0;
}

/// Encodes x, n elements, into a frame for movement. The bytes are those of the host's encoder.
/// Launch: max(1, chunks) blocks of team_threads threads, sizeof(movement_room) bytes, of numbers.
/// @param grids  of the bound, or of the bounds that a chunk may have
/// @param frame  a multiple of 16 bytes; room for max_encoded_bytes(n)    @param s  @see scratch
template <class E>
__global__ __launch_bounds__(team_threads,
                             is_f32<number_of_element<E>> ? 4 : 2) void encode(const E* x, u64 n, const __grid_constant__ grids_of<E> grids,
                                                                               u8* frame, u32 chunks, scratch* s, outcome* out)
{
    using T = number_of_element<E>;
    auto& room = shared_memory<movement_room<T>>();
    const frame_writer<E> writer{frame, chunks};
    const u32 chunk = blockIdx.x;
    if (chunk == 0) writer.put_header(n, grids.bound);
    if (chunks == 0) {
        writer.end_launch(s, out);
        return;
    }
    const u64 first = u64{chunk} * chunk_elements;
    x += first;
    const u32 count = static_cast<u32>(smaller(n - first, u64{chunk_elements})), blocks = (count + 31) / 32;
    const bool active = me() < blocks;
    stage(x, count, room.values);
    __syncthreads();

    u32 tail = 0;
    const auto largest = [&] {
        T v[32];
        unstage(room.values, v);
        return active ? largest_finite_of(v) : 0;
    };
    const grid<T>& z = choose_bound<E, grid<T>>(grids, largest, room.layout.words, tail);
    const u32 told_by = noise_blocks<T>(count);
    {
        T v[32];
        unstage(room.values, v);
        const word_of<T> most_of_block = active ? largest_magnitude(v) : word_of<T>{0};
        const word_of<T> most_of_warp = warp_max(most_of_block);
        if (lane() == 0) room.most.of[warp()] = most_of_warp;
        if (warp() < 2) sample_noise<T>([&](u32 i) { return v[i]; }, most_of_block, z, told_by, room.noise);
    }
    if (is_f32<T> && warp() == team_warps - 1) {
        const T step = lattice_of_warp(staged<T>(room.values, lane()), z.step);
        if (lane() == 0) room.lattice_of_first = step;
    }
    __syncthreads();

    const u32 raw_words = count * static_cast<u32>(sizeof(T) / 4);  // of numbers, which all choices are about
    const u32 raw_bytes = count * static_cast<u32>(sizeof(E));
    const auto bytes_of = [](u32 words) { return 4 * words + tail_bytes<E>; };
    bool usual = z.usable && largest_of(room.most) < z.safe && !(is_f32<T> && room.lattice_of_first > 0);
    u32 units = 0, fill = 0;
    bool raw = false, longer_than_floats = false;
    // The usual path ends where a chunk that has a steep block has a marker as well. Nothing of it is kept while that is found out: then it
    // is done once more, or the other path is taken.
    for (bool looked_for_marker = false; usual;) {
        const bool alone = is_noise(told_by, room.noise);
        const i32 base = alone ? 0 : quantum(staged<T>(room.values, 0), z.inverse);
        i32 before = me() == 0 || !active ? base : quantum(staged<T>(room.values, block_elements * me() - 1), z.inverse);
        i32 d[32];
        {
            T v[32];
            unstage(room.values, v);
            CCOLL_UNROLL
            for (u32 i = 0; i < 32; ++i) {
                const i32 q = quantum(v[i], z.inverse);
                d[i] = alone ? q : minus(q, before);
                before = q;
            }
        }
        const auto non_zero = [&] {
            u32 ones = 0;
            CCOLL_UNROLL
            for (u32 i = 0; i < 32; ++i) ones += d[i] != 0;
            return ones;
        };
        const chunk_layout l = lay_out<false>(blocks, active ? width_of(d) : 0, false, false, non_zero, room.layout);
        const u32 words = 3 + l.body_words();
        if (!looked_for_marker && l.steep != chunk_blocks && words < raw_words) {
            usual = !has_marker(count, l.steep, room);
            looked_for_marker = true;
            continue;
        }
        longer_than_floats = is_small<E> && words >= raw_words;
        raw = bytes_of(words) >= raw_bytes;
        if (raw) break;
        units = (bytes_of(words) + unit_bytes - 1) / unit_bytes;
        fill = unit_bytes * units - bytes_of(words);
        if (me() == 0) publish_size(s, chunk, units);
        put_usual(l, d, alone, base, largest_quantum<T>(largest_of(room.most), z.inverse_f64), words, tail, units, blocks, room);
        break;
    }
    if (!usual || raw) {
        u32 words = raw_words;
        const bool too_long = is_small<E> ? longer_than_floats : raw;
        if (z.usable && (!usual || too_long)) words = choose(x, count, too_long, z, room);
        usual = false;
        raw = words >= raw_words || bytes_of(words) >= raw_bytes;
        units = ((raw ? raw_bytes : bytes_of(words)) + unit_bytes - 1) / unit_bytes;
        fill = unit_bytes * units - (raw ? raw_bytes : bytes_of(words));
        if (me() == 0) publish_size(s, chunk, units);
    }
    if (warp() == 0) {
        const u64 before = look_back(s, chunk, units);
        if (lane() == 0) room.place = before;
    }
    __syncthreads();

    const u64 place = room.place;
    u8* const to = writer.payload() + unit_bytes * place;
    if (raw) {
        put_raw_elements(x, count, to);
    } else if (usual) {
        put_pieces(room.values, units, to);
    } else {
        const u32 words_behind = (fill + tail_bytes<E>) / 4;
        put_chosen(x, count, z, room, reinterpret_cast<u32*>(to));
        if (me() < words_behind) store_as<u32>(to + unit_bytes * units - 4 * (words_behind - me()), me() == 0 ? tail : 0);
    }
    if (me() == 0) {
        writer.put_entry(chunk, static_cast<u32>(place) + units, fill, raw);
        if (raw || (!usual && room.chosen.kind == kept)) atomicAdd(&s->raw_chunks, 1u);
        else if (!usual && room.chosen.special_values > 0) atomicAdd(&s->special_values, room.chosen.special_values);
    }
    if (is_last_block(s, chunks, room.blocks_done)) writer.end_launch(s, out);
}

}  // namespace ccoll::detail::device::szp
