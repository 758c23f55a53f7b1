// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/kept.cuh - floor 4. Kept chunks of SZp: values that no grid shortens, stored exactly as Codec::Lossless stores them. By all
// threads of a block. A block of Lossless has 64 words, so two threads share one, and each of them has the 32 values that it also has in a
// block of SZp. codec/lossless.hpp describes the bytes and codec/szp/kept.hpp the head in front of them.
#pragma once

#include <ccoll/codec/szp/kept.hpp>
#include <ccoll/cuda/frame.cuh>
#include <ccoll/cuda/szp/specials.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

inline constexpr u32 kept = host::kept::head;
inline constexpr u32 kept_block = 64, alone_flag = 0x80;
static_assert(kept_block == lossless::block_words && alone_flag == lossless::alone_flag && kept_block == 2 * block_elements);

template <class Word>
inline constexpr u32 bits_of_word = 8 * sizeof(Word);
/// Bytes of a kept chunk in front of its blocks: the head of SZp, the head of Lossless, and the base.
template <class Word>
inline constexpr u32 kept_front = 4 + 1 + sizeof(Word);

CCOLL_DEVICE u32 width_of_word(u32 v) { return 32 - static_cast<u32>(__clz(static_cast<int>(v))); }
CCOLL_DEVICE u32 width_of_word(u64 v) { return 64 - static_cast<u32>(__clzll(static_cast<long long>(v))); }

/// A difference with its sign in the lowest bit.
CCOLL_DEVICE u32 folded(u32 d) { return d << 1 ^ (0 - (d >> 31)); }
CCOLL_DEVICE u64 folded(u64 d) { return d << 1 ^ (0 - (d >> 63)); }
template <class Word>
CCOLL_DEVICE Word unfolded(Word v)
{
    return v >> 1 ^ (Word{0} - (v & 1));
}

/// The values in this thread's block of Lossless; 0 if it has none.
CCOLL_DEVICE u32 kept_here(u32 count)
{
    const u32 begin = kept_block * (me() / 2);
    return begin < count ? smaller(kept_block, count - begin) : 0;
}
/// Bytes of a block of `here` words, without the byte that tells its width.
CCOLL_DEVICE u32 packed_bytes(u32 here, u32 width) { return here == kept_block ? width * (kept_block / 8) : here * ((width + 7) / 8); }

/// A kept chunk before it is written. The last two are those of this thread's block, the others are the same for all threads.
struct kept_plan {
    u32 words = 0;  ///< of the chunk
    u32 shift = 0;
    bool alone = false;
    u32 width = 0, before = 0;  ///< bytes of the blocks before this one
};

/// @param x  the chunk, in device memory
template <class E>
CCOLL_DEVICE_RARE kept_plan plan_kept(const E* x, u32 count, specials_room& s)
{
    using word = element_word<E>;
    const u32 begin = block_elements * me(), end = smaller(count, begin + block_elements), here = kept_here(count);
    const word base = bits_at(x, 0);
    word alone = 0, chained = 0;
    if (begin < count) {
        word before = begin > 0 ? bits_at(x, begin - 1) : base;
        CCOLL_NO_UNROLL
        for (u32 i = begin; i < end; ++i) {
            const word w = bits_at(x, i);
            alone |= w ^ base;
            chained |= folded(static_cast<word>(w - before));
            before = w;
        }
    }
    alone |= __shfl_xor_sync(all_lanes, alone, 1);
    chained |= __shfl_xor_sync(all_lanes, chained, 1);
    const u32 zeros = alone == 0 ? bits_of_word<word> : width_of_word(static_cast<word>(alone & (0 - alone))) - 1;
    kept_plan p;
    p.shift = team_min(zeros, s.words);
    const bool counts = me() % 2 == 0 && here > 0;
    const auto width = [&](word all) { return all == 0 ? 0 : width_of_word(all) - p.shift; };  // one that is not 0 has more bits than
                                                                                               // `shift`
    const u32 of_alone = counts ? packed_bytes(here, width(alone)) : 0, of_chained = counts ? packed_bytes(here, width(chained)) : 0;
    p.alone = team_sum(of_alone, s.words) <= team_sum(of_chained, s.words);
    p.width = width(p.alone ? alone : chained);
    const scanned<u32> at = team_exclusive(!counts ? 0 : 1 + (p.alone ? of_alone : of_chained), s.words);
    p.before = __shfl_sync(all_lanes, at.before, lane() & 30);
    const bool equal = p.shift == bits_of_word<word>;  // all words are the base: there are no blocks
    p.words = (kept_front<word> + (equal ? 0 : at.all) + 3) / 4;
    return p;
}

/// Residual i of this thread's block of Lossless.
template <class E>
CCOLL_DEVICE element_word<E> residual_at(const E* x, const kept_plan& p, element_word<E> base, u32 i)
{
    using word = element_word<E>;
    const u32 at = kept_block * (me() / 2) + i;
    const word w = bits_at(x, at), from = p.alone || at == 0 ? base : bits_at(x, at - 1);
    return (p.alone ? w ^ base : folded(static_cast<word>(w - from))) >> p.shift;
}
/// The lowest `bytes` bytes, at any address.
template <class Word>
CCOLL_DEVICE void put_low_bytes(u8* to, Word w, u32 bytes)
{
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < bytes; ++i) to[i] = static_cast<u8>(w >> 8 * i);
}

/// Writes the chunk that was planned: to the image in shared memory, and from there to the frame.
/// @param image  room for the bytes of the values    @param to  the chunk in the frame
template <class E>
CCOLL_DEVICE_RARE void put_kept(const E* x, u32 count, u8* image, u32* to, specials_room& s)
{
    using word = element_word<E>;
    const kept_plan p = plan_kept(x, count, s);
    const word base = bits_at(x, 0);
    const u32 here = kept_here(count), odd = me() % 2;
    if (me() == 0) {
        store_as<u32>(image + 4 * p.words - 4, 0);  // what fills the last word up; before anything is written there
        store_as<u32>(image, kept);
        image[4] = static_cast<u8>(p.shift | (p.alone ? alone_flag : 0));
        put_low_bytes(image + 5, base, sizeof(word));
    }
    __syncthreads();
    if (here > 0 && p.shift < bits_of_word<word>) {
        u8* at = image + kept_front<word> + p.before;
        if (odd == 0) *at = static_cast<u8>(p.width);
        ++at;
        if (here < kept_block) {
            const u32 bytes = (p.width + 7) / 8;
            for (u32 i = block_elements * odd; i < smaller(here, block_elements * (1 + odd)); ++i)
                put_low_bytes(at + bytes * i, residual_at(x, p, base, i), bytes);
        } else {
            u32 up = 0;
            CCOLL_NO_UNROLL
            for (u32 bits = bits_of_word<word>; bits > 0; bits /= 2) {
                if ((p.width & bits) == 0) continue;
                const u32 part_words = kept_block * bits / bits_of_word<word>;
                const word low = static_cast<word>(~word{0}) >> (bits_of_word<word> - bits);
                CCOLL_NO_UNROLL
                for (u32 j = odd; j < part_words; j += 2) {
                    word w = 0;
                    CCOLL_NO_UNROLL
                    for (u32 i = j, by = 0; i < kept_block; i += part_words, by += bits)
                        w |= (residual_at(x, p, base, i) >> up & low) << by;
                    put_low_bytes(at + sizeof(word) * j, w, sizeof(word));
                }
                at += sizeof(word) * part_words;
                up += bits;
            }
        }
    }
    __syncthreads();
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < p.words; i += team_threads) store_as<u32>(to + i, load_as<u32>(image + 4 * i));
}

/// A word of a part, at any address.
template <class Word>
CCOLL_DEVICE Word part_word(const word_reader& part, u32 j)
{
    if constexpr (sizeof(Word) == 4) return part.word(j);
    else return u64{part.word(2 * j + 1)} << 32 | part.word(2 * j);
}
/// Residual i of a block of `here` words. @param at  the byte that tells its width
template <class Word>
CCOLL_DEVICE Word read_residual(const u8* at, u32 here, u32 i, const u8* end)
{
    const u32 width = *at++;
    Word r = 0;
    if (here < kept_block) {
        const u32 bytes = (width + 7) / 8;
        for (u32 k = 0; k < bytes; ++k) r |= Word{at[bytes * i + k]} << 8 * k;
        return r;
    }
    u32 up = 0;
    CCOLL_NO_UNROLL
    for (u32 bits = bits_of_word<Word>; bits > 0; bits /= 2) {
        if ((width & bits) == 0) continue;
        const u32 part_words = kept_block * bits / bits_of_word<Word>;
        const Word low = static_cast<Word>(~Word{0}) >> (bits_of_word<Word> - bits);
        r |= (part_word<Word>(word_reader(at, end), i % part_words) >> bits * (i / part_words) & low) << up;
        at += sizeof(Word) * part_words;
        up += bits;
    }
    return r;
}

/// Finds the blocks of a kept chunk, one after another: where one begins, the widths of all before it tell. By one thread.
/// @param at  where each block begins    @return false if the bytes are not those of a chunk
template <class Word>
CCOLL_DEVICE_RARE bool find_kept_blocks(const u8* image, u32 bytes, u32 shift, u32 count, u32* at)
{
    u32 next = kept_front<Word>;
    CCOLL_NO_UNROLL
    for (u32 first = 0; first < count && shift < bits_of_word<Word>; first += kept_block) {
        if (next >= bytes) return false;
        const u32 width = image[next], of_block = packed_bytes(smaller(kept_block, count - first), width);
        at[first / kept_block] = next;
        next += 1 + of_block;
        if (width > bits_of_word<Word> - shift || next > bytes) return false;
    }
    if (bytes - next >= 4) return false;
    for (; next < bytes; ++next)
        if (image[next] != 0) return false;
    return true;
}

/// Decodes a kept chunk to the staged values, which take its place. Any bytes are safe. By all threads, behind a barrier.
/// @param image  the chunk, `bytes` bytes    @param sums  room for a scan    @return false if the bytes are not those of a chunk
template <class T>
CCOLL_DEVICE_RARE bool get_kept(u8* image, u32 bytes, u32 count, warp_words<u64>& sums, specials_room& s)
{
    using word = word_of<T>;
    if (bytes < kept_front<word> || bytes % 4 != 0 || load_as<u32>(image) != kept) return false;
    const u32 shift = image[4] & (alone_flag - 1u);
    const bool is_alone = image[4] >= alone_flag;
    if (shift > bits_of_word<word>) return false;
    if (me() == 0) s.words.of[0] = find_kept_blocks<word>(image, bytes, shift, count, s.forms);
    __syncthreads();
    if (s.words.of[0] == 0) return false;
    const word base = part_word<word>(word_reader(image + 5, image + bytes), 0);
    const u32 here = kept_here(count), begin = block_elements * me();
    word v[32], sum = 0;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < block_elements; ++i) {
        word r = 0;
        if (begin + i < count && shift < bits_of_word<word>)
            r = read_residual<word>(image + s.forms[me() / 2], here, block_elements * (me() % 2) + i, image + bytes);
        if (!is_alone) r = unfolded(r);
        if (shift < bits_of_word<word>) r <<= shift;
        sum += r;
        v[i] = is_alone ? r ^ base : sum;
    }
    const word before = static_cast<word>(team_exclusive(u64{is_alone ? 0 : sum}, sums).before) + (is_alone ? 0 : base);
    if (begin >= count) return true;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < block_elements; ++i) stage_one<T>(image, begin + i, v[i] + before);
    return true;
}

}  // namespace ccoll::detail::device::szp
