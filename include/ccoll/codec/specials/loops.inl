// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials/loops.inl - floor 2. The loops over a chunk with special values: one text, compiled once for each instruction set, of
// which it uses the instructions that count bits. The namespace that includes this file has these primitives on 32 values:
//   part(x, rule, marked, to) -> mask    which values are special; copies the others, and 0 for these
//   beyond_limit(x, limit) -> mask       which |x| are not below the limit, as bits
//   equal(x, word) -> mask               which values have these bits
//   put(x, mask, word), put_all(x, word) puts a value in the places of the mask, and in all
//   ramp(block, mask, before, count, a, b)  value i of the mask, which is a run, becomes number i - before of `count` that lead from a to
//   b,
//                                        of which neither is counted
//   between(a, b)                        the number of a ramp that has only one
//   copy_block(x, to), copy_with(x, mask, value, to)   a block, and one with another value in the places of the mask

/// One pass over a chunk: which of its values are special, and a copy of it with 0 for these.
/// @param x  n values, 1..most_elements
template <element T>
CCOLL_TARGET inline void split(const T* x, std::size_t n, const rule<T>& is, places& found, T* to) noexcept
{
    const rule<T> r = is;
    const bool marked = r.has_markers();
    const std::size_t all_whole = n / block_elements;
    std::size_t values = 0;
    found.blocks = blocks_of(n);
    for (std::size_t k = 0; k < all_whole; ++k) {
        read_ahead(x + block_elements * k, block_elements * sizeof(T));
        const u32 mask = part(x + block_elements * k, r, marked, to + block_elements * k);
        found.masks[k] = mask;
        values += static_cast<std::size_t>(std::popcount(mask));
    }
    if (all_whole < found.blocks) {
        u32 mask = 0;
        for (std::size_t i = block_elements * all_whole; i < n; ++i) {
            const auto w = bits_at(x, i);
            const u8 special = r.holds(w);
            const auto kept = special != 0 ? decltype(w){0} : w;
            std::memcpy(to + i, &kept, sizeof kept);
            mask |= u32{special} << i % block_elements;
        }
        found.masks[all_whole] = mask;
        values += static_cast<std::size_t>(std::popcount(mask));
    }
    found.values = values;
}

/// Puts bridges in the places of the special values of a block that has others as well. A bridge repeats the value before a run of special
/// values, and in the block of the value behind the run it rises or falls to that in equal steps. So no block depends on later ones, and
/// all blocks that it fills stay constant. A run at an end of the chunk repeats its only neighbour; 0 if there is none.
/// @param mask    the special values    @param all  those that there are; others repeat the last one
/// @param before  the value in front of the block, or of a bridge that ends there    @param copy  gets the block, or is the block
template <element T>
CCOLL_INLINE void bridge_block(const T* block, u32 mask, u32 all, T before, T* copy) noexcept
{
    constexpr u32 every = 0xffffffffu;
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    if ((mask & (mask - 1)) == 0 && (all & ~mask) >> first != 0) {
        copy_with(block, mask, between(first > 0 ? block[first - 1] : before, block[first + 1]), copy);
        return;
    }
    copy_block(block, copy);
    for (u32 left = mask; left != 0;) {
        const auto begin = static_cast<unsigned>(std::countr_zero(left));
        const u32 behind = all & ~mask & every << begin;
        const T start = begin > 0 ? block[begin - 1] : before;
        if (behind == 0) {
            copy_with(copy, every << begin, start, copy);
            return;
        }
        const auto end = static_cast<unsigned>(std::countr_zero(behind));
        ramp(copy, left & ~(every << end), static_cast<int>(begin) - 1, end - begin, start, block[end]);
        left &= every << end;
    }
}

/// Puts values in the places of the special ones which cost few bits: a bridge for each run of them.
/// @param x  n values, with room for whole blocks
template <element T>
CCOLL_TARGET inline void bridge(T* x, std::size_t n, const places& at) noexcept
{
    T before = T(0);
    for (std::size_t k = 0; k < at.blocks; ++k)
        if (const u32 free = whole(n, k) & ~at.masks[k]; free != 0) {
            before = x[block_elements * k + static_cast<std::size_t>(std::countr_zero(free))];
            break;
        }
    for (std::size_t k = 0; k < at.blocks; ++k) {
        T* const block = x + block_elements * k;
        const u32 mask = at.masks[k], all = whole(n, k);
        if (mask == all) {
            put_all(block, bits_at(&before, 0));
            continue;
        }
        if (mask != 0) bridge_block(block, mask, all, before, block);
        before = block[length_of(n, k) - 1];
    }
}

/// Appends a layer.
/// @param x      the values    @param masks  which of them, at least one    @param one  the bits of all of them; null if each is stored
/// @return       its end; null if there is too little room
template <class T>
CCOLL_TARGET inline u8* put_layer(const T* x, std::size_t n, const u32* masks, const T* one, u8* to, const u8* end) noexcept
{
    const std::size_t blocks = blocks_of(n);
    layer_front front;
    front.clear();
    std::size_t values = 0;
    for (std::size_t k = 0; k < blocks; ++k)
        if (masks[k] != 0) {
            front.add(k, masks[k], whole(n, k));
            values += static_cast<std::size_t>(std::popcount(masks[k]));
        }
    if (one != nullptr) return front.put_equal(blocks, *one, to, end);
    u8* value_at = front.put(blocks, true, values * sizeof(T), to, end);
    if (value_at == nullptr) return nullptr;
    for (std::size_t k = 0; k < blocks; ++k)
        for (u32 left = masks[k]; left != 0; left &= left - 1, value_at += sizeof(T))
            std::memcpy(value_at, x + block_elements * k + std::countr_zero(left), sizeof(T));
    return to + padded(static_cast<std::size_t>(value_at - to));
}

/// Which of some values of a chunk have these bits?
/// @param of    a mask for each block    @param same  gets those of the values that have
/// @return      how many
template <element T>
CCOLL_TARGET inline std::size_t match(const T* x, std::size_t n, const u32* of, typename rule<T>::word bits, u32* same) noexcept
{
    std::size_t count = 0;
    for (std::size_t k = 0; k < blocks_of(n); ++k) {
        same[k] = 0;
        if (of[k] == 0) continue;
        const T* const block = x + block_elements * k;
        if (length_of(n, k) == block_elements) {
            same[k] = of[k] & equal(block, bits);
        } else {
            for (u32 left = of[k]; left != 0; left &= left - 1)
                if (bits_at(block, static_cast<std::size_t>(std::countr_zero(left))) == bits) same[k] |= left & (0u - left);
        }
        count += static_cast<std::size_t>(std::popcount(same[k]));
    }
    return count;
}

/// Appends the section of a chunk: a layer for each value that occurs often, one for all others.
/// @param x   the chunk, n values    @param at  its special values, at least one
/// @return    the end of the section, a multiple of 4 bytes behind `to`; null if it does not fit
template <element T>
CCOLL_TARGET inline u8* write(const T* x, std::size_t n, const places& at, u8* to, const u8* end) noexcept
{
    using word = typename fields_of<T>::word;
    u32 untried[most_blocks], others[most_blocks] = {}, same[most_blocks];
    std::memcpy(untried, at.masks, sizeof(u32) * at.blocks);
    std::size_t left = at.values, of_others = 0, first = 0;
    for (std::size_t candidate = 0; left > 0 && candidate < most_candidates; ++candidate) {
        while (untried[first] == 0) ++first;
        const T* const one = x + block_elements * first + std::countr_zero(untried[first]);
        const word bits = bits_at(one, 0);
        const std::size_t count = match(x, n, untried, bits, same);
        for (std::size_t k = 0; k < at.blocks; ++k) untried[k] &= ~same[k];
        left -= count;
        if (count >= least_equal) {
            to = put_layer(x, n, same, one, to, end);
            if (to == nullptr) return nullptr;
            continue;
        }
        of_others += count;
        for (std::size_t k = 0; k < at.blocks; ++k) others[k] |= same[k];
    }
    if (left + of_others == 0) return to;
    for (std::size_t k = 0; k < at.blocks; ++k) others[k] |= untried[k];
    return put_layer<T>(x, n, others, nullptr, to, end);
}

/// 0 if this is no run.
CCOLL_INLINE u32 mask_of_run(std::uint16_t run, u32 all) noexcept
{
    const u32 first = run & 31, last = run >> 5 & 31;
    if (run >> 11 != 0 || last < first) return 0;
    const u32 mask = 0xffffffffu >> (31 - last + first) << first;
    return (run >> 10 & 1) != 0 ? all & ~mask : mask;
}

/// The even bits of a word, in its lower half.
CCOLL_INLINE u32 even_bits(u32 v) noexcept
{
    v &= 0x55555555u;
    v = (v | v >> 1) & 0x33333333u;
    v = (v | v >> 2) & 0x0f0f0f0fu;
    v = (v | v >> 4) & 0x00ff00ffu;
    return (v | v >> 8) & 0x0000ffffu;
}

/// The blocks of a layer. Total: any bytes are safe.
/// @param flags  bits of the head that may be set besides those that every layer has
/// @param masks  gets the mask of each block; 0 if it has no special value
/// @return       the number of special values; 0 if this is no layer of a chunk of n values
CCOLL_TARGET inline std::size_t read_blocks(const u8* from, std::size_t bytes, std::size_t n, u32 flags, layer& l, bool& own, u32* masks,
                                            named_blocks& named) noexcept
{
    const std::size_t blocks = blocks_of(n);
    u32 head;
    if (bytes < sizeof head) return 0;
    std::memcpy(&head, from, sizeof head);
    for (unsigned f = 1; f < 4; ++f) l.of[f] = head >> 9 * (f - 1) & 511;
    l.dense = (head >> 27 & 1) != 0;
    own = (head >> 28 & 1) != 0;
    l.place(blocks);
    if ((head & ~flags) >> 29 != 0 || l.named() > blocks || bytes < l.values) return 0;
    block_bits kinds[4];  // of them the first two are the bits of a form at first
    if (l.dense) {
        for (std::size_t k = 0; k < blocks; k += 16) {
            u32 sixteen;
            std::memcpy(&sixteen, from + l.numbers + k / 4, sizeof sixteen);
            const u32 first = even_bits(sixteen), second = even_bits(sixteen >> 1);
            kinds[0].put_8(k, first), kinds[0].put_8(k + 8, first >> 8);
            kinds[1].put_8(k, second), kinds[1].put_8(k + 8, second >> 8);
        }
        kinds[0].cut(blocks), kinds[1].cut(blocks);
        const block_bits first = kinds[0], second = kinds[1];
        kinds[1] = first - second, kinds[2] = second - first, kinds[3] = first & second;
        for (unsigned f = 1; f < 4; ++f)
            if (kinds[f].count() != l.of[f]) return 0;
    } else {
        const u8* number = from + l.numbers;
        for (unsigned f = 1; f < 4; ++f)
            for (std::size_t j = 0; j < l.of[f]; ++j, ++number) {
                if (*number >= blocks || kinds[0].has(*number)) return 0;
                kinds[0].set(*number);
                kinds[f].set(*number);
            }
    }
    const u8 *run_at = from + l.runs, *mask_at = from + l.masks;
    std::size_t values = 0;
    bool valid = true;
    std::memset(masks, 0, sizeof(u32) * blocks);
    const auto take = [&](std::size_t k, u32 mask) {
        valid = valid && mask != 0 && (mask & ~whole(n, k)) == 0;
        masks[k] = mask;
        values += static_cast<std::size_t>(std::popcount(mask));
    };
    kinds[1].for_each([&](std::size_t k) {
        u32 mask;
        std::memcpy(&mask, mask_at, sizeof mask);
        mask_at += sizeof mask;
        take(k, mask);
    });
    kinds[2].for_each([&](std::size_t k) CCOLL_TARGET {
        std::uint16_t run;
        std::memcpy(&run, run_at, sizeof run);
        run_at += sizeof run;
        take(k, mask_of_run(run, whole(n, k)));
    });
    kinds[3].for_each([&](std::size_t k) {
        masks[k] = whole(n, k);
        values += length_of(n, k);
    });
    named.partial = kinds[1].or_with(kinds[2]);
    named.throughout = kinds[3];
    return valid ? values : 0;
}

/// Puts one value in all places of a layer.
/// @param masks, named  from read_blocks()
template <element T>
CCOLL_TARGET inline void put_in_blocks(T* x, std::size_t n, const u32* masks, const named_blocks& named,
                                       typename fields_of<T>::word one) noexcept
{
    const auto one_by_one = [&](std::size_t k) {
        for (u32 left = masks[k]; left != 0; left &= left - 1)
            std::memcpy(x + block_elements * k + std::countr_zero(left), &one, sizeof one);
    };
    named.partial.for_each([&](std::size_t k) CCOLL_TARGET {
        if (length_of(n, k) == block_elements) put(x + block_elements * k, masks[k], one);
        else one_by_one(k);
    });
    named.throughout.for_each([&](std::size_t k) CCOLL_TARGET {
        if (length_of(n, k) == block_elements) put_all(x + block_elements * k, one);
        else one_by_one(k);
    });
}

/// Puts the special values of a section in their places. Total: any bytes are safe.
/// @return  false if these are not the layers of a chunk of n values
template <element T>
CCOLL_TARGET inline bool read(const u8* from, std::size_t bytes, T* x, std::size_t n) noexcept
{
    while (bytes > 0) {
        layer l;
        bool own = false;
        u32 masks[most_blocks];
        named_blocks named;
        const std::size_t values = read_blocks(from, bytes, n, 0, l, own, masks, named);
        const std::size_t in_all = l.values + (own ? values : 1) * sizeof(T);
        if (values == 0 || bytes < in_all) return false;
        const u8* value = from + l.values;
        if (own) {
            named.partial.or_with(named.throughout).for_each([&](std::size_t k) {
                for (u32 left = masks[k]; left != 0; left &= left - 1, value += sizeof(T))
                    std::memcpy(x + block_elements * k + std::countr_zero(left), value, sizeof(T));
            });
        } else {
            typename fields_of<T>::word one;
            std::memcpy(&one, value, sizeof one);
            put_in_blocks(x, n, masks, named, one);
        }
        from += in_all;
        bytes -= in_all;
    }
    return true;
}
