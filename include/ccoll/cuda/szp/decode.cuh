// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/decode.cuh - floor 4. The kernel that decodes frames of SZp: one thread block a chunk, one thread a block of 32. Any bytes are
// safe.
//
//   1  the chunk to shared memory in 16-byte pieces                                                                       barrier
//   2  head and codes; scan of the words of the blocks                                                                    barrier
//   3  planes to differences in registers, their running sum; scan of the sums of the blocks                              barrier
//   4  values to shared memory, over the planes                                                                           barrier
//   5  16-byte pieces to the result
// Quanta of more than 32 bits take a slower way from 3 on.
#pragma once

#include <ccoll/cuda/szp/fills.cuh>
#include <ccoll/cuda/szp/kept.cuh>
#include <ccoll/cuda/szp/repredict.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// Inf or NaN by the bits of the class planes; 0: a finite value.
template <class T>
CCOLL_DEVICE word_of<T> class_bits(u32 a, u32 b, u32 i)
{
    using fields = fields_of<T>;
    const u32 c = (a >> i & 1) | (b >> i & 1) << 1;
    if (c == 0) return 0;
    return c == 3 ? fields::exponent | fields::exponent_one >> 1 : c == 1 ? fields::exponent : fields::exponent | fields::sign;
}

template <class T>
struct decode_room {
    alignas(16) u8 bytes[chunk_elements * sizeof(T)];  // the chunk, then its values
    blocks_room blocks;
    specials_room specials;
    T step;
    u32 code, blocks_done;
    u64 end;
};

/// The values of a chunk whose quanta do not fit 32 bits, or are not exact in T: staged. By all threads, behind a barrier.
template <class T>
CCOLL_DEVICE_RARE void restore_slowly(const u32* block, const chunk_head& h, const block_place& p, bool active, double step,
                                      decode_room<T>& s)
{
    i64 d[32];
    u32 a = 0, b = 0;
    block_place own = p;
    if (!active) own.width = 0;
    get_block<T>(block, own, d, a, b);
    u64 sum = 0;
    for (u32 i = 0; i < 32; ++i) sum += static_cast<u64>(d[i]);
    u64 q = team_exclusive(sum, s.blocks.sums).before + h.base;  // its barriers stand between planes and values
    if (!active) return;
    for (u32 i = 0; i < 32; ++i) {
        q += static_cast<u64>(d[i]);
        const T value = static_cast<T>(times(static_cast<double>(static_cast<i64>(q)), step));
        const word_of<T> special = class_bits<T>(a, b, i);
        stage_one<T>(s.bytes, block_elements * me() + i, special != 0 ? special : bits_of(value));
    }
}

/// Decodes one chunk to the staged values, but for its special values. By all threads; the chunk is in s.bytes if it fits.
/// @return  false if the bytes are not those of a chunk
template <class T, bool Addend>
CCOLL_DEVICE bool decode_quanta(const chunk_bytes& from, const chunk_head& h, u32 count, decode_room<T>& s)
{
    const u32 blocks = (count + 31) / 32;
    const bool active = me() < blocks, in_room = from.bytes <= sizeof s.bytes;
    const u32* const words = reinterpret_cast<const u32*>(from.at);
    T step = s.step;
    if (h.has_step()) {
        step = number_of(static_cast<word_of<T>>(h.step));
        if (!(bits_of(step) >= fields_of<T>::exponent_one && bits_of(step) < fields_of<T>::exponent)) return false;
    }
    if (has_rows(h.kind)) step = T(1);  // r at first, which is exact in T
    if (h.is_flat()) {
        const auto value = bits_of(static_cast<T>(times(static_cast<double>(static_cast<i64>(h.base)), static_cast<double>(step))));
        for (u32 i = 0; active && i < 32; ++i) stage_one<T>(s.bytes, block_elements * me() + i, value);
        return true;
    }
    const u32* const image = reinterpret_cast<const u32*>(s.bytes);
    const block_place p = find_block<T, Addend>((in_room ? image : words) + h.in_front, h, blocks, s.blocks);
    if (!p.good) return false;
    const u32 at = h.in_front + h.codes + p.before;
    const bool is_large = h.kind == wide || (is_f32<T> ? h.largest > (1u << 24) : h.kind == fine);
    if (is_large && h.alone) return false;
    if (is_large) {
        restore_slowly(words + at, h, p, active, static_cast<double>(step), s);
        return true;
    }
    // The planes are read from shared memory, or, of addends with classes in nearly all blocks, from the frame.
    const auto word = [&](u32 i) { return in_room ? image[i] : words[i]; };
    u32 a = 0, b = 0;
    if (Addend && p.has_class) {
        a = word(at);
        b = word(at + 1);
    }
    const u32 planes = at + (p.has_class ? 2 : 0);
    i32 d[32];
    if (!Addend && h.lists) {
        u32 low = 0, middle = 0, high = 0;
        const u8* const list = s.bytes + 4 * (h.in_front + h.codes + p.all_words) + p.list_before;
        CCOLL_NO_UNROLL
        for (u32 j = 0; j < p.listed; ++j) {
            const u32 e = list[j], bit = 1u << (e & 31);
            low |= (e & 0x20) != 0 ? bit : 0;
            middle |= (e & 0x40) != 0 ? bit : 0;
            high |= (e & 0x80) != 0 ? bit : 0;
        }
        const bool listed = p.listed > 0;
        get_differences<1>(
            listed ? 3 : p.width, [&](u32 k) { return listed ? (k == 0   ? low
                                                                : k == 1 ? middle
                                                                         : high)
                                                             : image[planes + k]; }, d);
    } else if (p.widest <= 8) {
        get_differences<1>(p.width, [&](u32 k) { return word(planes + k); }, d);
    } else if (p.widest <= 16) {
        get_differences<2>(p.width, [&](u32 k) { return word(planes + k); }, d);
    } else {
        get_differences<4>(p.width, [&](u32 k) { return word(planes + k); }, d);
    }
    u32 sum = 0;
    if (!h.alone) {
        CCOLL_UNROLL
        for (u32 i = 0; i < 32; ++i) {
            sum += static_cast<u32>(d[i]);
            d[i] = static_cast<i32>(sum);
        }
    }
    const u32 before = exclusive(sum, s.blocks.quanta).before + (has_rows(h.kind) ? 0 : static_cast<u32>(h.base));
    constexpr u32 in_piece = 16 / sizeof(T);
    if (active) {
        CCOLL_UNROLL
        for (u32 c = 0; c < block_elements; c += in_piece) {
            word_of<T> w[in_piece];
            CCOLL_UNROLL
            for (u32 j = 0; j < in_piece; ++j) {
                const i32 q = static_cast<i32>(static_cast<u32>(d[c + j]) + (h.alone ? 0 : before));
                w[j] = bits_of(times(static_cast<T>(q), step));
                if (Addend)
                    if (const word_of<T> special = class_bits<T>(a, b, c + j); special != 0) w[j] = special;
            }
            uint4 four;
            if constexpr (is_f32<T>) four = uint4{w[0], w[1], w[2], w[3]};
            else four = uint4{static_cast<u32>(w[0]), static_cast<u32>(w[0] >> 32), static_cast<u32>(w[1]), static_cast<u32>(w[1] >> 32)};
            store_as(s.bytes + sizeof(T) * staged_at<T>(block_elements * me() + c), four);
        }
    }
    return true;
}
/// Staged r to staged values: adds up the columns, one thread a column. By all threads, behind a barrier. It reads the head of the chunk
/// again, because other chunks would otherwise keep these numbers in registers.
template <class T>
CCOLL_DEVICE_RARE void add_rows(const u32* chunk, u32 count, decode_room<T>& s)
{
    const u32 row = row_of(chunk[3]), plane = plane_of(chunk[3]);
    CCOLL_NO_UNROLL
    for (u32 pass = plane != 0 ? 0 : 1; pass < 2; ++pass) {  // first r to what planes leave, then that to quanta
        const bool is_last = pass == 1;
        const u32 distance = is_last && plane != 0 ? plane : row;
        const T step = !is_last ? T(1) : (chunk[0] & 15) == rows ? s.step : number_of(static_cast<word_of<T>>(chunk[4]));
        for (u32 column = me(); column < distance; column += team_threads) {
            T q = is_last ? static_cast<T>(static_cast<i32>(chunk[1])) : T(0);
            for (u32 i = column; i < count; i += distance) {
                q += staged<T>(s.bytes, i);
                stage_one<T>(s.bytes, i, bits_of(times(q, step)));
            }
        }
        if (!is_last) __syncthreads();
    }
}
/// The values of an addend's chunk with rows: staged. Quanta are integers here, because those of a sum need not be exact in T. By all
/// threads, behind a barrier. It reads the head again, because other chunks would otherwise keep it in memory.
/// @return  false if the bytes are not those of a chunk
template <class T>
CCOLL_DEVICE_RARE bool decode_rows_of_addend(const u8* from, u32 bytes, u32 count, decode_room<T>& s)
{
    const u32* const words = reinterpret_cast<const u32*>(from);
    const chunk_head h = read_head<T, true>(words, bytes, (count + 31) / 32, count);
    const block_place p = find_block<T, true>(words + h.in_front, h, (count + 31) / 32, s.blocks);
    if (!p.good) return false;
    i64 d[32];
    u32 a = 0, b = 0;
    get_block<T>(words + h.in_front + h.codes + p.before, p, d, a, b);
    quanta_of(d, static_cast<u32>(h.base), h.above, count, reinterpret_cast<u32*>(s.bytes), s.blocks.quanta);
    fill_values<T> f;
    if (h.section > 0 && !read_fills<T>(from + 4 * h.words, 4 * h.section, count, f, s.specials)) return false;
    __syncthreads();  // values stand over the quanta
    const double step = static_cast<double>(s.step);
    const u32 in_all = f.in_all(), in_some = f.in_some();
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32 && block_elements * me() < count; ++i) {
        const double number = times(static_cast<double>(d[i]), step);
        word_of<T> value = class_bits<T>(a, b, i);
        if ((in_all >> i & 1) != 0) value = bits_of(static_cast<T>(f.sum_at(i, -0.0)));
        else if (value == 0) value = bits_of(static_cast<T>((in_some >> i & 1) != 0 ? f.sum_at(i, number) : number));
        stage_one<T>(s.bytes, block_elements * me() + i, value);
    }
    __syncthreads();
    return true;
}
template <class T, bool Addend>
CCOLL_DEVICE bool decode_chunk(const chunk_bytes& from, u32 count, decode_room<T>& s)
{
    const chunk_head h = read_head<T, Addend>(reinterpret_cast<const u32*>(from.at), from.bytes, (count + 31) / 32, count);
    if (from.bytes <= sizeof s.bytes) put_pieces(from.at, (from.bytes + 15) / 16, s.bytes);
    __syncthreads();
    if (!(s.step > 0)) return false;
    if (!Addend && h.kind == kept) {
        const bool good = get_kept<T>(s.bytes, from.bytes, count, s.blocks.sums, s.specials);
        __syncthreads();
        return good;
    }
    if (Addend && h.good && h.kind == rows) return decode_rows_of_addend(from.at, from.bytes, count, s);
    if (!h.good || !decode_quanta<T, Addend>(from, h, count, s)) return false;
    __syncthreads();
    if (!Addend && has_rows(h.kind)) {
        add_rows<T>(reinterpret_cast<const u32*>(from.at), count, s);
        __syncthreads();
    }
    if (h.section == 0) return true;
    if (Addend)
        return apply_fills<T>(reinterpret_cast<const u32*>(from.at), h, count, static_cast<double>(s.step), s.bytes, s.blocks, s.specials);
    return read_section<T>(from.at + 4 * h.words, 4 * h.section, count, s.bytes, s.specials);
}

/// Reads chunk `chunk` of a frame to the staged values; of a raw one, says where it is. By all threads. @return a status
template <class E, class T>
CCOLL_DEVICE status read_chunk(const frame_reader<E>& r, u64 n, u32 chunks, u32 chunk, u32 count, chunk_bytes& from, decode_room<T>& s)
{
    if (me() == 0) {
        const status header = r.check_header(n, chunks);
        s.code = static_cast<u32>(header);
        s.step = !is_small<E> && header == status::ok ? step_of<T>(r.bound()) : T(0);
    }
    __syncthreads();
    if (s.code != 0) return static_cast<status>(s.code);
    if ((r.flags() & too_large_flag) != 0) return status::too_large;
    if (chunks == 0) return status::ok;
    from = find_chunk(r, chunks, chunk, count);
    if (!from.good) return status::corrupt;
    if (from.raw) return status::ok;
    if constexpr (is_small<E>) {
        const double bound = r.take_bound(from);
        if (me() == 0) s.step = step_of<T>(bound);
    }
    const bool good = r.flags() != 0 ? decode_chunk<T, true>(from, count, s)  // two lines, which a count of instructions can tell apart
                                     : decode_chunk<T, false>(from, count, s);
    return good ? status::ok : status::corrupt;
}

/// Decodes a frame of n elements at `frame`, a multiple of 16 bytes, of which `bytes` bytes may be read. Any bytes are safe; `x` is
/// unspecified if they are not a frame. Launch: max(1, chunks) blocks of team_threads threads, sizeof(decode_room) bytes, of numbers.
template <class E>
__global__ __launch_bounds__(team_threads, is_f32<number_of_element<E>> ? 4 : 2) void decode(const u8* frame, u64 bytes, u64 n, E* x,
                                                                                             u32 chunks, scratch* s, outcome* out)
{
    auto& room = shared_memory<decode_room<number_of_element<E>>>();
    const frame_reader<E> reader{frame, bytes};
    const u32 chunk = blockIdx.x;
    const u64 first = u64{chunk} * chunk_elements;
    const u32 count = static_cast<u32>(smaller(n - first, u64{chunk_elements}));
    chunk_bytes from;
    const status code = read_chunk(reader, n, chunks, chunk, count, from, room);
    if (code == status::ok && chunks > 0) {
        if (from.raw) get_raw_elements(from.at, count, x + first);
        else put_values(room.bytes, count, x + first, reader.flags() != 0 ? rounding::of_sums : rounding::within_range);
    }
    end_decoding(code, chunks, s, out, room.blocks_done);
}

}  // namespace ccoll::detail::device::szp
