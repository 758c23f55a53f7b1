// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/specials.cuh - floor 4. Special values of a chunk: found, replaced by bridges, written into the section behind the chunk, and
// read from it. By all threads of a block, each for its own 32 values. codec/specials.hpp has the bytes.
#pragma once

#include <ccoll/codec/specials.hpp>
#include <ccoll/cuda/szp/block.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// What threads tell each other about special values.
struct specials_room {
    warp_words<u32> words;
    u32 first_free[chunk_blocks], last_free[chunk_blocks];  // of each block, the values that are not special; plus 1, and 0 if there is
                                                            // none
    u32 forms[chunk_blocks];
};

/// What counts as special: |x| from `limit` on, as bits, and up to three markers.
template <class T>
struct special_rule {
    static constexpr word_of<T> nothing = ~word_of<T>{0};
    word_of<T> limit = nothing, markers[3] = {nothing, nothing, nothing};

    CCOLL_DEVICE bool operator()(word_of<T> w) const
    {
        return (w & ~fields_of<T>::sign) >= limit || w == markers[0] || w == markers[1] || w == markers[2];
    }
};

/// The bits of all values of this thread's block; 0 if it has none.
CCOLL_DEVICE u32 whole_mask(u32 count)
{
    const u32 begin = block_elements * me();
    if (begin >= count) return 0;
    return 0xffffffffu >> (block_elements - smaller(block_elements, count - begin));
}

/// The special values of this thread's block.
/// @param x  the chunk, in device memory
template <class E, class T>
CCOLL_DEVICE_RARE u32 find_specials(const E* x, u32 count, const special_rule<T>& is)
{
    u32 mask = 0;
    CCOLL_NO_UNROLL
    for (u32 left = whole_mask(count); left != 0; left &= left - 1) {
        const u32 i = lowest_bit(left);
        mask |= u32{is(bits_at(x, block_elements * me() + i))} << i;
    }
    return mask;
}

/// Number i of the numbers from a to b, of which neither is counted: places first .. end - 1.
template <class T>
CCOLL_DEVICE T ramp(u32 i, u32 first, u32 end, T a, T b)
{
    const double from = static_cast<double>(a), to = static_cast<double>(b);
    const double part = __ddiv_rn(static_cast<double>(i - first + 1), static_cast<double>(end - first + 1));
    const double value = plus(times(from, plus(1.0, -part)), times(to, part));
    return static_cast<T>(smaller(larger(value, smaller(from, to)), larger(from, to)));
}

/// Puts values in the places of the special ones which cost few bits, as bridge() of the host does. By all threads, with a barrier behind.
/// @param values  staged; each thread's own block is there
template <class T>
CCOLL_DEVICE_RARE void bridge(void* values, u32 count, u32 mask, specials_room& s)
{
    const u32 whole = whole_mask(count), free = whole & ~mask, begin = block_elements * me(), blocks = (count + 31) / 32;
    s.first_free[me()] = free != 0 ? begin + lowest_bit(free) + 1 : 0;
    s.last_free[me()] = free != 0 ? begin + highest_bit(free) + 1 : 0;
    __syncthreads();
    if (mask != 0) {
        u32 before_block = 0, first_of_all = 0;  // the nearest value before the block that is not special, or the first one; plus 1
        for (u32 k = me(); k-- > 0 && before_block == 0;) before_block = s.last_free[k];
        for (u32 k = 0; k < blocks && before_block == 0 && first_of_all == 0; ++k) first_of_all = s.first_free[k];
        CCOLL_NO_UNROLL
        for (u32 left = mask; left != 0; left &= left - 1) {
            const u32 bit = lowest_bit(left), lower = free & ((1u << bit) - 1), upper = free & ~((2u << bit) - 1);
            const u32 first = lower != 0 ? highest_bit(lower) + 1 : 0, nearest = lower != 0 ? begin + first : before_block;
            const u32 before_run = nearest != 0 ? nearest : first_of_all;
            T value = before_run != 0 ? staged<T>(values, before_run - 1) : T(0);
            if (upper != 0) value = ramp(bit, first, lowest_bit(upper), value, staged<T>(values, begin + lowest_bit(upper)));
            stage_one<T>(values, begin + bit, bits_of(value));
        }
    }
    // The values that fill up a last block repeat its last one.
    if (begin < count && begin + block_elements > count)
        for (u32 i = count; i < begin + block_elements; ++i) stage_one<T>(values, i, bits_of(staged<T>(values, count - 1)));
    __syncthreads();
}

// ---- the section ----

inline constexpr u32 no_form = 0, mask_form = 1, run_form = 2, throughout_form = 3;

CCOLL_DEVICE bool is_run(u32 mask)
{
    const u32 moved = mask == 0 ? 0 : mask >> lowest_bit(mask);
    return moved != 0 && (moved & (moved + 1)) == 0;
}
CCOLL_DEVICE u32 form_of(u32 mask, u32 all)
{
    if (mask == 0) return no_form;
    if (mask == all) return throughout_form;
    return is_run(mask) || is_run(all & ~mask) ? run_form : mask_form;
}

/// Where the parts of a layer begin, in bytes.
struct layer_parts {
    u32 of[4] = {};  ///< blocks by form
    bool dense = false;
    u32 runs = 0, masks = 0, values = 0;

    CCOLL_DEVICE u32 named() const { return of[mask_form] + of[run_form] + of[throughout_form]; }
    CCOLL_DEVICE void place(u32 blocks)
    {
        runs = 4 + ((dense ? (blocks + 3) / 4 : named()) + 3) / 4 * 4;
        masks = runs + (2 * of[run_form] + 3) / 4 * 4;
        values = masks + 4 * of[mask_form];
    }
};

/// A word at an address that is a multiple of 4, or of 2 if it has two bytes.
template <class Word>
CCOLL_DEVICE void put_value(u8* to, Word bits)
{
    if constexpr (sizeof(Word) == 8) {
        store_as<u32>(to, static_cast<u32>(bits));
        store_as<u32>(to + 4, static_cast<u32>(bits >> 32));
    } else {
        store_as<Word>(to, bits);
    }
}
template <class Word>
CCOLL_DEVICE Word get_value(const u8* from)
{
    if constexpr (sizeof(Word) == 8) return u64{load_as<u32>(from + 4)} << 32 | load_as<u32>(from);
    else return load_as<Word>(from);
}

/// One layer. By all threads.
/// @param value  (i) -> Word, value i of this block    @param mask  of this block
/// @param own    each value is stored; else `one` is all of them    @param flags  of the head, besides those that follow
/// @param to     null: only the size is asked for    @return words
template <class Word, class Value>
CCOLL_DEVICE_RARE u32 put_layer(Value value, u32 count, u32 mask, bool own, Word one, u32 flags, u8* to, specials_room& s)
{
    const u32 blocks = (count + 31) / 32, all = whole_mask(count), form = form_of(mask, all);
    const u32 unit = form == no_form ? 0 : 1u << 10 * (form - 1);  // three counts in one word
    const scanned<u32> forms = team_exclusive(unit, s.words), values = team_exclusive(ones_of(mask), s.words);
    layer_parts l;
    for (u32 f = mask_form; f <= throughout_form; ++f) l.of[f] = forms.all >> 10 * (f - 1) & 1023;
    l.dense = ((blocks + 3) / 4 + 3) / 4 < (l.named() + 3) / 4;
    l.place(blocks);
    const u32 unpadded = l.values + (own ? values.all : 1) * static_cast<u32>(sizeof(Word)), bytes = (unpadded + 3) / 4 * 4;
    if (to == nullptr) return bytes / 4;
    for (u32 i = 1 + me(); i < l.masks / 4; i += team_threads) store_as<u32>(to + 4 * i, 0);
    if (unpadded < bytes && me() == 0) store_as<u16>(to + unpadded, 0);  // Words of two bytes
    __syncthreads();
    if (me() == 0) {
        store_as<u32>(to,
                      l.of[mask_form] | l.of[run_form] << 9 | l.of[throughout_form] << 18 | u32{l.dense} << 27 | u32{own} << 28 | flags);
        if (!own) put_value(to + l.values, one);
    }
    if (l.dense) {
        u32 four = form << 2 * (me() % 4);
        four |= __shfl_xor_sync(all_lanes, four, 1);
        four |= __shfl_xor_sync(all_lanes, four, 2);
        if (me() % 4 == 0 && me() < blocks) to[4 + me() / 4] = static_cast<u8>(four);
    }
    if (form == no_form) return bytes / 4;
    const u32 place = forms.before >> 10 * (form - 1) & 1023;  // among the blocks of this form
    if (!l.dense) {
        const u32 in_front = (form > mask_form ? l.of[mask_form] : 0) + (form > run_form ? l.of[run_form] : 0);
        to[4 + in_front + place] = static_cast<u8>(me());
    }
    if (form == run_form) {
        const bool others = !is_run(mask);
        const u32 run = others ? all & ~mask : mask;
        store_as(to + l.runs + 2 * place, static_cast<u16>(lowest_bit(run) | highest_bit(run) << 5 | u32{others} << 10));
    }
    if (form == mask_form) store_as<u32>(to + l.masks + 4 * place, mask);
    if (own) {
        u8* at = to + l.values + values.before * sizeof(Word);
        CCOLL_NO_UNROLL
        for (u32 left = mask; left != 0; left &= left - 1, at += sizeof(Word)) put_value<Word>(at, value(lowest_bit(left)));
    }
    return bytes / 4;
}

/// Those of some places of this thread's block that have these bits.
template <class E, class Word>
CCOLL_DEVICE u32 places_of(const E* x, Word bits, u32 mask)
{
    u32 equal = 0;
    CCOLL_NO_UNROLL
    for (u32 left = mask; left != 0; left &= left - 1) {
        const u32 i = lowest_bit(left);
        equal |= u32{bits_at(x, block_elements * me() + i) == bits} << i;
    }
    return equal;
}
/// The section of a chunk: a layer for each value that occurs often, one for all others. By all threads.
/// @param mask  the special values of this block    @param to  null: only the size is asked for    @return words
template <class E>
CCOLL_DEVICE_RARE u32 put_section(const E* x, u32 count, u32 mask, u8* to, specials_room& s)
{
    const auto value = [=](u32 i) { return bits_at(x, block_elements * me() + i); };
    u32 untried = mask, others = 0, words = 0;
    u32 left = team_sum(ones_of(mask), s.words), of_others = 0;
    for (u32 candidate = 0; left > 0 && candidate < static_cast<u32>(specials::most_candidates); ++candidate) {
        const u32 first = team_min(untried != 0 ? block_elements * me() + lowest_bit(untried) : ~0u, s.words);
        const element_word<E> bits = bits_at(x, first);
        const u32 equal = places_of(x, bits, untried);
        untried &= ~equal;
        const u32 found = team_sum(ones_of(equal), s.words);
        left -= found;
        if (found >= specials::least_equal) {
            words += put_layer<element_word<E>>(value, count, equal, false, bits, 0, to != nullptr ? to + 4 * words : nullptr, s);
        } else {
            of_others += found;
            others |= equal;
        }
    }
    if (left + of_others > 0)
        words += put_layer<element_word<E>>(value, count, others | untried, true, 0, 0, to != nullptr ? to + 4 * words : nullptr, s);
    return words;
}

/// What a layer says, and what it says of this thread's block.
struct layer_block {
    u32 bytes = 0;     ///< in front of the values
    bool own = false;  ///< each value is stored
    u32 mask = 0;      ///< of this block
    u32 before = 0;    ///< special values of the blocks before this one
    u32 values = 0;    ///< of all blocks; 0: these are not the blocks of a layer of so many values
    u32 flags = 0;     ///< of the head, those that were allowed

    /// Which of the values that are stored belongs to value i of this block, which is in the mask.
    CCOLL_DEVICE u32 place(u32 i) const { return own ? before + ones_of(mask & ((1u << i) - 1)) : 0; }
};
/// The blocks of a layer. Any bytes are safe. By all threads.
/// @param from     aligned to 4, of which `bytes` bytes may be read
/// @param allowed  bits of the head that may be set besides those of all layers
CCOLL_DEVICE_RARE layer_block read_layer(const u8* from, u32 bytes, u32 count, u32 allowed, specials_room& s)
{
    const u32 blocks = (count + 31) / 32, all = whole_mask(count);
    layer_block b;
    if (bytes < 4) return b;
    const u32 head = load_as<u32>(from);
    layer_parts l;
    for (u32 f = mask_form; f <= throughout_form; ++f) l.of[f] = head >> 9 * (f - 1) & 511;
    l.dense = (head >> 27 & 1) != 0;
    b.own = (head >> 28 & 1) != 0;
    b.flags = head & allowed;
    l.place(blocks);
    b.bytes = l.values;
    if ((head & ~allowed) >> 29 != 0 || l.named() > blocks || bytes < l.values) return b;
    bool good = true;
    u32 form = 0;
    if (l.dense) {
        form = me() < blocks ? from[4 + me() / 4] >> 2 * (me() % 4) & 3u : 0;
    } else {
        s.forms[me()] = 0;  // nobody reads those of an earlier layer any more: its scans stand between
        __syncthreads();
        if (me() < l.named()) {
            const u32 block = from[4 + me()];
            const u32 what = me() < l.of[mask_form] ? mask_form : me() < l.of[mask_form] + l.of[run_form] ? run_form : throughout_form;
            good = block < blocks && atomicAdd(&s.forms[block], what + 4) == 0;  // nobody names a block twice
        }
        __syncthreads();
        form = s.forms[me()] & 3;
    }
    const scanned<u32> forms = team_exclusive(form == no_form ? 0 : 1u << 10 * (form - 1), s.words);
    for (u32 f = mask_form; f <= throughout_form; ++f) good = good && (forms.all >> 10 * (f - 1) & 1023) == l.of[f];
    if (team_any(!good, s.words)) return b;
    u32 mask = form == throughout_form ? all : 0;
    if (form == run_form) {
        const u32 run = load_as<u16>(from + l.runs + 2 * (forms.before >> 10 & 1023)), first = run & 31, last = run >> 5 & 31;
        if (run >> 11 == 0 && last >= first) mask = 0xffffffffu >> (31 - last + first) << first;
        if (run >> 11 == 0 && last >= first && (run >> 10 & 1) != 0) mask = all & ~mask;
    }
    if (form == mask_form) mask = load_as<u32>(from + l.masks + 4 * (forms.before & 1023));
    if (team_any((mask & ~all) != 0 || (mask == 0 && form != no_form), s.words)) return b;
    const scanned<u32> at = team_exclusive(ones_of(mask), s.words);
    b.mask = mask;
    b.before = at.before;
    b.values = at.all;
    return b;
}

/// Puts the special values of a section in their places. Any bytes are safe. By all threads; the values are staged, behind a barrier.
/// @param from  `bytes` bytes, a multiple of 4    @return  false if these are not the layers of a chunk of so many values
template <class T, class Values>
CCOLL_DEVICE_RARE bool read_section(const u8* from, u32 bytes, u32 count, Values values, specials_room& s)
{
    while (bytes > 0) {
        const layer_block b = read_layer(from, bytes, count, 0, s);
        const u32 in_all = b.bytes + (b.own ? b.values : 1) * static_cast<u32>(sizeof(T));
        if (b.values == 0 || bytes < in_all) return false;
        CCOLL_NO_UNROLL
        for (u32 left = b.mask; left != 0; left &= left - 1) {
            const u32 i = lowest_bit(left);
            stage_one<T>(values, block_elements * me() + i, get_value<word_of<T>>(from + b.bytes + sizeof(T) * b.place(i)));
        }
        from += in_all;
        bytes -= in_all;
    }
    __syncthreads();
    return true;
}

}  // namespace ccoll::detail::device::szp
