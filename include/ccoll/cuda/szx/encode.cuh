// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szx/encode.cuh - floor 4. The kernel that encodes frames of SZx and PipeSZx: one thread block a chunk,
// one warp a block of 128 values, four in each lane. One kernel and one pass: the place of a chunk in the
// frame is found while its blocks are packed.
//
//   1  values to registers in 16-byte pieces; extremes of the blocks; a lane plans a block, and the warp
//      verifies it; a barrier
//   2  codes to sizes: one addition finds the place of the chunk
//   3  blocks to their place in an image of the chunk; a barrier
//   4  the image to the frame in 16-byte pieces
// A chunk with raw blocks, or with missing values, is encoded without its exceptional values, which follow in
// a section. This takes a slower way behind 2.
#pragma once

#include <ccoll/cuda/frame.cuh>
#include <ccoll/cuda/szx/block.cuh>
#include <ccoll/cuda/szx/exceptional.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szx {

/// The bits of a number that stands for missing values, if one does.
template <class T>
struct missing_bits {
    word_of<T> bits = 0;
    bool declared = false;
};

/// SZx and PipeSZx differ in these two numbers.
template <u32 Codec, u32 ChunkElements>
struct format_of {
    static constexpr u32 codec = Codec, chunk_elements = ChunkElements;
    static constexpr quality kind = quality::absolute;
    static constexpr bool adds = false;
    /// Blocks of a warp: number w, w + 8, ...
    static constexpr u32 rounds = ChunkElements / block_elements / team_warps;
    static_assert(rounds * team_warps * block_elements == ChunkElements &&
                  ChunkElements <= staged_values::chunk_elements);
};
using format = format_of<1, 8192>;
using pipe_format = format_of<2, 5120>;

inline constexpr u32 most_blocks = 64;

/// In the place of the first code: the chunk has exceptional values. Then it has a head of four bytes, with
/// the place of their section.
inline constexpr u32 exceptions_code = 255, head_bytes = 4;

/// What became of a chunk without its exceptional values.
struct thinned {
    bool chosen = false;
    u32 bytes = 0, section = 0, raw_blocks = 0;  ///< section: where it stands
    u32 mask = 0;                                ///< the exceptional ones of 32 values of this thread
};

template <class Format, class T>
struct encode_room {
    // Or, for what is rare, values, or the numbers of entries.
    alignas(16) u8 image[Format::chunk_elements * sizeof(T)];
    u8 codes[most_blocks], thin_codes[most_blocks];
    team_room team;
    u32 masks[team_threads];
    section_out section;
    u32 place;
};

/// The values of a lane in the blocks of its warp. A chunk that is not whole is filled up with its last
/// value.
template <u32 Rounds, class E, class T>
CCOLL_DEVICE void load_values(const E* x, u32 count, T (&v)[Rounds][lane_values])
{
    const bool whole =
        count == Rounds * team_warps * block_elements && reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
    CCOLL_UNROLL
    for (u32 r = 0; r < Rounds; ++r) {
        const u32 at = block_elements * (team_warps * r + warp()) + lane_values * lane();
        if (!whole) {
            CCOLL_UNROLL
            for (u32 j = 0; j < lane_values; ++j) v[r][j] = number_of(bits_at(x, smaller(at + j, count - 1)));
        } else if constexpr (is_small<E>) {
            const u64 p = load_as<u64>(x + at);
            CCOLL_UNROLL
            for (u32 j = 0; j < lane_values; ++j)
                v[r][j] = number_of(widened<E>(static_cast<u32>(p >> 16 * j) & 0xffff));
        } else if constexpr (is_f32<T>) {
            const uint4 p = load_as<uint4>(x + at);
            v[r][0] = number_of(p.x);
            v[r][1] = number_of(p.y);
            v[r][2] = number_of(p.z);
            v[r][3] = number_of(p.w);
        } else {
            const uint4 p = load_as<uint4>(x + at), q = load_as<uint4>(x + at + 2);
            v[r][0] = number_of(u64{p.y} << 32 | p.x);
            v[r][1] = number_of(u64{p.w} << 32 | p.z);
            v[r][2] = number_of(u64{q.y} << 32 | q.x);
            v[r][3] = number_of(u64{q.w} << 32 | q.z);
        }
    }
}
/// The same of values that are staged.
template <u32 Rounds, class T>
CCOLL_DEVICE void load_staged(const void* values, u32 count, T (&v)[Rounds][lane_values])
{
    CCOLL_UNROLL
    for (u32 r = 0; r < Rounds; ++r) {
        const u32 at = block_elements * (team_warps * r + warp()) + lane_values * lane();
        CCOLL_UNROLL
        for (u32 j = 0; j < lane_values; ++j)
            v[r][j] = staged_values::staged<T>(values, smaller(at + j, count - 1));
    }
}

/// Has one of these values these bits?
template <u32 Rounds, class T>
CCOLL_DEVICE bool is_among(const T (&v)[Rounds][lane_values], word_of<T> bits)
{
    bool found = false;
    CCOLL_UNROLL
    for (u32 r = 0; r < Rounds; ++r) {
        CCOLL_UNROLL
        for (u32 j = 0; j < lane_values; ++j) found = found || bits_of(v[r][j]) == bits;
    }
    return found;
}

/// Middle values and codes of the blocks of this warp: lane r has those of round r.
template <u32 Rounds, class T>
CCOLL_DEVICE T plan_blocks(const T (&v)[Rounds][lane_values], u32 count, const scale<T>& z, u8* codes)
{
    word_of<T> low = 0, high = 0;
    CCOLL_UNROLL
    for (u32 r = 0; r < Rounds; ++r) {
        word_of<T> least = key_of(v[r][0]), most = least;
        CCOLL_UNROLL
        for (u32 j = 1; j < lane_values; ++j) {
            least = smaller(least, key_of(v[r][j]));
            most = larger(most, key_of(v[r][j]));
        }
        least = lowest_in_warp(least);
        most = highest_in_warp(most);
        low = lane() == r ? least : low;
        high = lane() == r ? most : high;
    }
    block_plan<T> plan = plan_of<T>(low, high, z);  // nothing that counts in lanes beyond the rounds
    const u32 unproven =
        __ballot_sync(all_lanes, !plan.certain && plan.bytes > 0 && plan.bytes < raw_code<T>);
    CCOLL_UNROLL
    for (u32 r = 0; r < Rounds; ++r) {
        if ((unproven >> r & 1) == 0) continue;
        const T middle = __shfl_sync(all_lanes, plan.middle, r),
                origin = origin_of<T>(__shfl_sync(all_lanes, plan.bytes, r));
        bool good = true;
        CCOLL_UNROLL
        for (u32 j = 0; j < lane_values; ++j) good = good && passes(v[r][j], middle, origin, z);
        if (__ballot_sync(all_lanes, !good) != 0 && lane() == r) plan.bytes = raw_code<T>;
    }
    const u32 begin = block_elements * (team_warps * lane() + warp());
    if (lane() < Rounds && begin < count) {
        const u32 here = smaller(block_elements, count - begin);
        // A short block may cost more than its values.
        const bool gains = block_bytes<T>(plan.bytes, here) <= here * sizeof(T);
        codes[team_warps * lane() + warp()] = static_cast<u8>(gains ? plan.bytes : raw_code<T>);
    }
    return plan.middle;
}

/// One word of a block, or the first bytes of one, at any address.
CCOLL_DEVICE_RARE void put_bytes(u8* to, u32 word, u32 bytes)
{
    for (u32 i = 0; i < bytes; ++i) to[i] = static_cast<u8>(word >> 8 * i);
}
/// Words that follow one another.
/// @tparam Whole  the address is a multiple of 4, and no value is missing
/// @param bytes  of the words, or less
template <bool Whole, u32 Words>
CCOLL_DEVICE void put_words(u8* to, const u32 (&w)[Words], u32 bytes)
{
    CCOLL_UNROLL
    for (u32 i = 0; i < Words; ++i) {
        if (Whole) store_as<u32>(to + 4 * i, w[i]);
        else put_bytes(to + 4 * i, w[i], bytes > 4 * i ? smaller(4u, bytes - 4 * i) : 0);
    }
}
template <class T>
CCOLL_DEVICE void words_of(T x, u32 (&w)[sizeof(T) / 4])
{
    w[0] = static_cast<u32>(bits_of(x));
    if constexpr (!is_f32<T>) w[1] = static_cast<u32>(bits_of(x) >> 32);
}

/// Writes a block. By a whole warp. @param here  values of the block    @param to  where it begins
template <bool Whole, class T>
CCOLL_DEVICE void put_block(const T (&v)[lane_values], T middle, u32 code, u32 here, const scale<T>& z,
                            u8* to)
{
    const u32 first = lane_values * lane(), values = Whole          ? lane_values
                                                     : first < here ? smaller(lane_values, here - first)
                                                                    : 0;
    u32 one[sizeof(T) / 4];
    if (code == raw_code<T>) {
        CCOLL_UNROLL
        for (u32 j = 0; j < lane_values; ++j) {
            words_of(v[j], one);
            put_words<Whole>(to + sizeof(T) * (first + j), one, j < values ? static_cast<u32>(sizeof(T)) : 0);
        }
        return;
    }
    words_of(middle, one);
    if (lane() == 0) put_words<Whole>(to, one, sizeof(T));
    if (code == 0) return;
    const T origin = origin_of<T>(code);
    word_of<T> c[lane_values];
    CCOLL_UNROLL
    for (u32 j = 0; j < lane_values; ++j) c[j] = count_of(v[j], middle, z.inverse, origin);
    with_bytes<T>(code, [&](auto bytes) {
        constexpr u32 of_value = decltype(bytes)::value;
        u32 w[of_value];
        pack<of_value>(c, w);
        put_words<Whole>(to + sizeof(T) + of_value * first, w, of_value * values);
    });
}
/// Writes the blocks of this warp. @param to  where the first block of the chunk begins
template <bool Whole, u32 Rounds, class T>
CCOLL_DEVICE void put_blocks(const T (&v)[Rounds][lane_values], T middles, const u8* codes,
                             const block_ends<T>& ends, u32 count, const scale<T>& z, u8* to)
{
    CCOLL_UNROLL
    for (u32 r = 0; r < Rounds; ++r) {
        const u32 block = team_warps * r + warp();
        const T middle = __shfl_sync(all_lanes, middles, r);
        const u32 at = ends.begin(block);
        if (block_elements * block < count)
            put_block<Whole>(v[r], middle, codes[block],
                             smaller(block_elements, count - block_elements * block), z, to + at);
    }
}

/// Numbers the values of the section, in the image, and measures it. @return false: there are too many
template <class Format, class E, class T>
CCOLL_DEVICE bool number_values(const E* x, u32 mask, u32 count, encode_room<Format, T>& s)
{
    const places_out p(mask, count, s.team);
    if (!find_entries(s.section, p, s.image, [=](u32 i) { return bits_at(x, i); }, s.team)) return false;
    measure_section(s.section, p, s.image, count, sizeof(T), true, s.team);
    return true;
}
/// Plans a chunk without its exceptional values. The others are staged in the image. By all threads.
template <class Format, class E, class T>
CCOLL_DEVICE_RARE thinned without_exceptions(const E* x, u32 count, const exceptional::rule<T>& rule,
                                             const scale<T>& z, encode_room<Format, T>& s)
{
    thinned r;
    r.mask = exceptional::find(x, count, rule);
    if (!team_any(r.mask != 0, s.team.words) || !number_values(x, r.mask, count, s)) return r;
    if (s.section.changes > (count - 1) / 32) return r;
    r.chosen = true;
    staged_values::stage(x, count, s.image);
    exceptional::repeat_ordinary<T>(s.image, count, r.mask, s.masks);
    T v[Format::rounds][lane_values];
    load_staged(s.image, count, v);
    static_cast<void>(plan_blocks(v, count, z, s.thin_codes));
    __syncthreads();
    const auto ends = block_ends<T>::of(s.thin_codes, count);
    r.raw_blocks = ends.raw_blocks;
    r.section =
        up_to_multiple(head_bytes + (count + block_elements - 1) / block_elements + ends.all, unit_bytes);
    r.bytes = r.section + s.section.bytes;
    return r;
}
/// Writes what it planned. By all threads.
/// @param to  the chunk
/// @param tail  the byte behind it, of two-byte numbers
template <class Format, class E, class T>
CCOLL_DEVICE_RARE void put_thinned(const E* x, u32 count, const thinned& thin, const scale<T>& z, u32 tail,
                                   u8* to, encode_room<Format, T>& s)
{
    const u32 blocks = (count + block_elements - 1) / block_elements;
    T v[Format::rounds][lane_values];
    load_staged(s.image, count, v);
    const T middles = plan_blocks(v, count, z, s.thin_codes);
    __syncthreads();  // the same bytes are there already, but two threads must not touch them at once
    const auto ends = block_ends<T>::of(s.thin_codes, count);
    put_blocks<false>(v, middles, s.thin_codes, ends, count, z, to + head_bytes + blocks);
    if (me() == 0) store_as(to, exceptions_code | thin.section / unit_bytes << 16);
    if (me() < blocks) to[head_bytes + me()] = s.thin_codes[me()];
    const u32 end = head_bytes + blocks + ends.all;
    if (me() < thin.section - end) to[end + me()] = 0;
    // Once more, in place of the values, which have been written.
    static_cast<void>(number_values(x, thin.mask, count, s));
    const auto put = [&](u8* at, u32 i) { store_as(at, bits_at(x, s.section.dictionary[i])); };
    put_section(s.section, thin.mask, s.image, count, sizeof(T), 0, put, to + thin.section, s.team);
    if constexpr (tail_bytes<E> > 0)  // a section ends at a multiple of 16 bytes
        if (me() < unit_bytes) to[thin.bytes + me()] = static_cast<u8>(me() == 0 ? tail : 0);
}

/// Encodes x, n elements, into a frame. Its chunks are those of the host's encoder, in any order.
/// Launch: max(1, chunks) blocks of team_threads threads, sizeof(encode_room) bytes, of numbers.
/// @param scales  of the bound, or of the bounds that a chunk may have
/// @param missing  bits of numbers that are missing ones, if any
/// @param to      room for max_encoded_bytes(n)    @param s  @see scratch
template <class Format, class E>
__global__ __launch_bounds__(team_threads, is_f32<number_of_element<E>> ? 4 : 2) void encode(
    const E* x, u64 n, const __grid_constant__ scales_of<E> scales,
    missing_bits<number_of_element<E>> missing, frame_out to, u32 chunks, scratch* s, outcome* told)
{
    using T = number_of_element<E>;
    auto& room = shared_memory<encode_room<Format, T>>();
    const u32 chunk = blockIdx.x;
    if (chunks == 0) return end_call<Format>(to, facts_of<E>(n, chunks), scales.bound, 0, 1, s, told);
    x += u64{chunk} * Format::chunk_elements;
    const u32 count = values_of_chunk<Format>(n, chunk);
    const u32 blocks = (count + block_elements - 1) / block_elements,
              raw_bytes = count * static_cast<u32>(sizeof(E));
    T v[Format::rounds][lane_values];
    load_values(x, count, v);
    u32 tail = 0;
    const auto largest = [&] {
        word_of<T> most = 0;
        CCOLL_UNROLL
        for (u32 r = 0; r < Format::rounds; ++r) most = larger(most, largest_finite_of(v[r]));
        return most;
    };
    const scale<T>& z = choose_bound<E, scale<T>>(scales, largest, room.team.words, tail);
    const T middles = plan_blocks(v, count, z, room.codes);
    __syncthreads();

    const auto ends = block_ends<T>::of(room.codes, count);
    u32 bytes = blocks + ends.all;
    bool raw = bytes >= count * sizeof(T) || !z.usable;
    thinned thin;
    const bool has_missing =
        missing.declared && z.usable && team_any(is_among(v, missing.bits), room.team.words);
    if (has_missing || (z.usable && (raw || ends.raw_blocks > 0))) {
        exceptional::rule<T> rule{z.far_limit};
        if (has_missing) rule.missing = missing.bits;
        thin = without_exceptions(x, count, rule, z, room);
        if (thin.chosen) bytes = thin.bytes;
        raw = thin.chosen ? bytes >= count * sizeof(T) : raw || has_missing;
    }
    bytes += tail_bytes<E>;
    raw = raw || bytes >= raw_bytes;
    if (raw) bytes = raw_bytes;
    const u32 units = (bytes + unit_bytes - 1) / unit_bytes;
    if (me() == 0) room.place = to.place(s, chunk, bytes, raw);

    if (!raw && !thin.chosen) {
        u8* const blocks_at = room.image + blocks;
        if (count == Format::chunk_elements)
            put_blocks<true>(v, middles, room.codes, ends, count, z, blocks_at);
        else put_blocks<false>(v, middles, room.codes, ends, count, z, blocks_at);
        if (me() < blocks) room.image[me()] = room.codes[me()];
        if (me() < unit_bytes * units - bytes) room.image[bytes + me()] = 0;
        if (is_small<E> && me() == 0) room.image[bytes - 1] = static_cast<u8>(tail);
    }
    __syncthreads();

    u8* const at = to.unit(room.place);
    if (raw) put_raw_elements(x, count, at);
    else if (thin.chosen) put_thinned(x, count, thin, z, tail, at, room);
    else put_pieces(room.image, units, at);
    if (me() == 0) {
        const u32 kept = raw ? 1 : thin.chosen ? thin.raw_blocks : ends.raw_blocks;
        if (kept > 0) atomicAdd(&s->raw_chunks, kept);
        if (thin.chosen && !raw)
            atomicAdd(&s->special_values, static_cast<unsigned long long>(room.section.places));
    }
    end_call<Format>(to, facts_of<E>(n, chunks), scales.bound, 0, chunks, s, told);
}

}  // namespace ccoll::detail::device::szx
