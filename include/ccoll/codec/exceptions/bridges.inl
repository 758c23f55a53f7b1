// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/bridges.inl - floor 2. Exceptional values are found, and values that cost few bits take their places. Compiled once for
// each set, whose instructions count bits; behind exceptions/blocks.inl.

/// Which blocks have places?
CCOLL_TARGET inline block_set with_places(const u32* masks, std::size_t n) noexcept
{
    block_set some{};
    std::size_t k = 0;
    for (; k + 32 <= blocks_of(n); k += 32) some[k / 32] = ~equal(reinterpret_cast<const float*>(masks + k), 0u);
    for (; k < blocks_of(n); ++k) some[k / 32] |= u32{masks[k] != 0} << k % 32;
    return some;
}

/// Do some values have these bits?
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline bool has_bits(const T* x, std::size_t n, typename fields_of<T>::word bits) noexcept
{
    unsigned char any = 0;
    for (std::size_t i = 0; i < n; ++i) any |= fields_of<T>::of(x[i]) == bits;
    return any != 0;
}

/// The exceptional values of block k of a chunk, and a copy of the block, which may be whole.
template <element T>
CCOLL_INLINE u32 part_of(const T* x, std::size_t n, std::size_t k, const rule<T>& is, bool any_missing, T* to, survey<T>& seen) noexcept
{
    const T* const block = x + block_elements * k;
    if (length_of(n, k) == block_elements) [[likely]]
        return part(block, is, any_missing, to, seen);
    T last[block_elements] = {};
    std::memcpy(last, block, length_of(n, k) * sizeof(T));
    return part(last, is, any_missing, to, seen) & whole(n, k);
}
/// Finds the exceptional values of some blocks of a chunk. @param to  a copy of the blocks, which are whole
template <element T>
CCOLL_INLINE void split_blocks(const T* x, std::size_t n, std::size_t first, std::size_t last, const rule<T>& is, places& found,
                               T* to) noexcept
{
    using number = typename fields_of<T>::signed_word;
    const rule<T> r = is;
    const bool any_missing = r.has_missing();
    survey<T> seen{words_of<T>{} + static_cast<number>(found.bits)};
    for (std::size_t k = first; k < last; ++k, to += block_elements) {
        read_ahead(x + block_elements * k, block_elements * sizeof(T));
        const u32 mask = part_of(x, n, k, r, any_missing, to, seen);
        if (found.values == 0 && mask != 0) {  // once more, now that the first one is known
            found.bits = fields_of<T>::of(to[std::countr_zero(mask)]);
            seen = {words_of<T>{} + static_cast<number>(found.bits)};
            part_of(x, n, k, r, any_missing, to, seen);
        }
        found.masks[k] = mask;
        found.values += static_cast<std::size_t>(std::popcount(mask));
    }
    number differ = 0;
    for (unsigned i = 0; i < in_register<T>; ++i) differ |= seen.differ[i];
    found.alike = found.alike && differ == 0;
}
/// One pass over a chunk: which of its values are exceptional, and a copy of it.
/// @param x  n values, 1..most_elements    @param to  room for whole blocks
template <element T>
CCOLL_TARGET inline void split(const T* x, std::size_t n, const rule<T>& is, places& found, T* to) noexcept
{
    found.blocks = blocks_of(n);
    found.values = 0;
    found.alike = true;
    split_blocks(x, n, 0, found.blocks, is, found, to);
}

/// Puts bridges in the places of the exceptional values of a block. A bridge repeats the value before a run of
/// exceptional values, and in the block of the value behind the run it rises or falls to that in equal steps. So no block depends on later
/// ones, and all blocks that it fills stay constant. A run at an end of the chunk repeats its only neighbour; 0 if there is none.
/// @param mask    the exceptional values    @param all  those that there are; others repeat the last one
/// @param before  the value in front of the block, or of a bridge that ends there
/// @return        the value of a bridge that ends with the block, if one does
template <element T>
CCOLL_INLINE T bridge_block(T* block, u32 mask, u32 all, T before) noexcept
{
    CCOLL_EXACT_BODY
    constexpr u32 every = 0xffffffffu;
    for (u32 left = mask; left != 0;) {
        const auto begin = static_cast<unsigned>(std::countr_zero(left));
        const u32 behind = all & ~mask & every << begin;
        const T start = begin > 0 ? block[begin - 1] : before;
        if (behind == 0) {
            put(block, every << begin, fields_of<T>::of(start));
            return start;
        }
        const auto end = static_cast<unsigned>(std::countr_zero(behind));
        if (end == begin + 1)  // what ramp() does, for many of them
            block[begin] = std::clamp(start * T(0.5) + block[end] * T(0.5), std::min(start, block[end]), std::max(start, block[end]));
        else ramp(block, left & ~(every << end), static_cast<int>(begin) - 1, end - begin, start, block[end]);
        left &= every << end;
    }
    return before;
}

/// The values of a group of a chunk, with values that cost few bits in the places of the exceptional ones: a bridge for each run, the same
/// for all instruction sets. No group is left out behind one that has places.
/// @param at  the first value    @param to  room for whole blocks; has the group before, if that has places
/// @return    `to`, or x + at if none is exceptional
template <element T>
CCOLL_TARGET inline const T* take_out(const T* x, std::size_t n, std::size_t at, search<T>& apart, T* to) noexcept
{
    places& found = apart.found;
    const std::size_t first = at / block_elements, last = std::min(first + group_blocks, blocks_of(n));
    if (found.blocks == 0) {
        std::memset(found.masks, 0, sizeof found.masks);
        found.blocks = blocks_of(n);
        found.alike = true;
    }
    T before = T(0);
    if (first > 0) before = found.masks[first - 1] >> (block_elements - 1) != 0 ? to[block_elements * group_blocks - 1] : x[at - 1];
    split_blocks(x, n, first, last, apart.is, found, to);
    const u32* const masks = found.masks + first;
    u32 left = ~equal(reinterpret_cast<const float*>(masks), 0u);
    if (left == 0) return x + at;
    if (first == 0) {  // the first ordinary value
        survey<T> none;
        T block[block_elements];
        const auto mask_of = [&](std::size_t k) CCOLL_TARGET {
            return k < last ? masks[k] : part_of(x, n, k, apart.is, apart.is.has_missing(), block, none);
        };
        std::size_t k = 0;
        u32 mask = mask_of(0);
        while (mask == whole(n, k) && ++k < found.blocks) mask = mask_of(k);
        if (k < found.blocks) before = x[block_elements * k + static_cast<std::size_t>(std::countr_one(mask))];
    }
    for (; left != 0; left &= left - 1) {
        const auto k = static_cast<std::size_t>(std::countr_zero(left));
        T* const block = to + block_elements * k;
        // What has just been written would be waited for.
        if (k > 0 && masks[k - 1] >> (block_elements - 1) == 0) before = *(block - 1);
        before = bridge_block(block, masks[k], whole(n, first + k), before);
    }
    return to;
}

/// 0 if this is no run.
CCOLL_INLINE u32 mask_of_run(std::uint16_t run, u32 all) noexcept
{
    const u32 first = run & 31, last = run >> 5 & 31;
    if (run >> 11 != 0 || last < first) return 0;
    const u32 mask = 0xffffffffu >> (31 - last + first) << first;
    return (run >> 10 & 1) != 0 ? all & ~mask : mask;
}
