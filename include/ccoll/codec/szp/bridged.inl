// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/bridged.inl - floor 2. Encodes a chunk that has special values: block by block they are found, bridges are put in their places,
// and the block is encoded. One text, compiled once for each instruction set. Uses by_mask (szp/encode.inl).

/// Goes on as encode_while_room() does, without the special values.
/// @param limit   special are |x| from here on, as bits
/// @param before  the value in front of the first block; if there is none, the first one of the chunk that is not special, or 0
/// @param at      code unsupported: there is another value that the grid does not hold
/// @param apart   gets the special values, and copies of their blocks, with bridges
/// @return        how many blocks have special values and others
template <class T>
CCOLL_TARGET inline std::size_t encode_bridged(const T* x, std::size_t n, const quantiser<T>& grid, typename fields_of<T>::word limit,
                                               T before, const u8* last, u8* codes, encoding<T>& at, taken_out<T>& apart) noexcept
{
    CCOLL_EXACT_BODY
    const quantiser<T> z = grid;
    u8* p = at.p;
    running r = at.r;
    magnitudes<T> most = at.most;
    bool brief_before = at.brief_before;
    look_ahead<T> ahead;
    const std::size_t count = blocks_of(n), all_whole = n / block_elements;
    std::size_t k = at.k, partial = 0, values = 0;
    u32* const masks = apart.gone.masks;
    std::memset(masks, 0, sizeof(u32) * k);
    apart.gone.blocks = count;
    apart.layer.clear();
    u32 others = 0;
    at.all.code = status::ok;
    for (; k < count && p <= last; ++k) {
        const T* block = x + block_elements * k;
        T* const copy = apart.copy + block_elements * k;
        read_ahead(block, block_elements * sizeof(T));
        fetch_ahead(p, 1);
        if (k == all_whole) [[unlikely]] {  // filled up with its last value
            const std::size_t length = n % block_elements;
            std::memcpy(copy, block, length * sizeof(T));
            for (std::size_t i = length; i < block_elements; ++i) std::memcpy(copy + i, block + length - 1, sizeof(T));
            block = copy;
        }
        const u32 all = specials::whole(n, k), mask = by_mask::beyond_limit(block, limit) & all;
        masks[k] = mask;
        if (mask != 0) {
            apart.layer.add(k, mask, all);
            values += static_cast<std::size_t>(std::popcount(mask));
            others |= mask & ~by_mask::equal(block, apart.one);
            if (mask == all) {  // it repeats the value before it
                by_mask::put_all(copy, specials::bits_at(&before, 0));
                codes[k] = 0;
                continue;
            }
            ++partial;
            by_mask::bridge_block(block, mask, all, before, copy);
            block = copy;
        }
        before = block[block_elements - 1];
        quanta q;
        magnitudes<T> m;
        ahead.quantise(block, n, k, block, z, q, m);
        const bool brief = !over(m, z.brief);
        if (!brief && over(m, z.safe)) [[unlikely]] {
            at.all.code = status::unsupported;
            return partial;
        }
        merge(most, m);
        differences d;
        difference(q, r, d);
        const unsigned width = put_planes(d, brief && brief_before, p);
        brief_before = brief;
        codes[k] = static_cast<u8>(width);
        p += 4 * width;
    }
    at.k = k;
    at.p = p;
    at.r = r;
    at.most = most;
    at.brief_before = brief_before;
    apart.gone.values = values;
    apart.equal = others == 0;
    if (k < count) at.all.code = status::out_of_space;
    return partial;
}
