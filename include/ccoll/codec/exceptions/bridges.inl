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

/// The exceptional values of some blocks of a chunk, and a copy of the blocks, which are whole.
/// @param each  (block, its mask)
template <element T, class Each>
CCOLL_INLINE void part_blocks(const T* x, std::size_t n, std::size_t first, std::size_t last, const rule<T>& is, T* to, Each each) noexcept
{
    const rule<T> r = is;
    const bool any_missing = r.has_missing();
    for (; first < last; ++first, to += block_elements) {
        const T* const block = x + block_elements * first;
        if (const std::size_t length = length_of(n, first); length < block_elements) [[unlikely]] {
            T values[block_elements] = {};
            std::memcpy(values, block, length * sizeof(T));
            each(first, part(values, r, any_missing, to) & whole(n, first));
        } else each(first, part(block, r, any_missing, to));
    }
}
/// Calls each(block, mask) for those of 32 blocks that have places, of which there are some, and counts their values.
/// @param x  the first of the blocks
template <element T, class Each>
CCOLL_INLINE void each_with_places(const T* x, std::size_t first, u32 left, places& found, Each each) noexcept
{
    using words = words_of<T>;
    const auto of = [&](std::size_t k) { return found.masks[first + k]; };
    auto k = static_cast<std::size_t>(std::countr_zero(left));
    if (found.values == 0) found.bits = fields_of<T>::of(x[block_elements * k + static_cast<std::size_t>(std::countr_zero(of(k)))]);
    const words bits = words{} + static_cast<typename fields_of<T>::signed_word>(found.bits);
    words differ = {};
    int values = 0;
    for (; left != 0; left &= left - 1) {
        k = static_cast<std::size_t>(std::countr_zero(left));
        add_differences(x + block_elements * k, of(k), bits, differ);
        values += std::popcount(of(k));
        each(k, of(k));
    }
    auto any = differ[0];
    for (unsigned i = 1; i < in_register<T>; ++i) any |= differ[i];
    found.alike = any == 0 && (found.values == 0 || found.alike);
    found.values += static_cast<std::size_t>(values);
}
/// One pass over a chunk: which of its values are exceptional, and a copy of it.
/// @param x  n values, 1..most_elements    @param to  room for whole blocks
template <element T>
CCOLL_TARGET inline void split(const T* x, std::size_t n, const rule<T>& is, places& found, T* to) noexcept
{
    found.blocks = blocks_of(n);
    found.values = 0;
    part_blocks(x, n, 0, found.blocks, is, to, [&](std::size_t k, u32 mask) { found.masks[k] = mask; });
    const block_set some = with_places(found.masks, n);
    for (std::size_t j = 0; j < most_blocks / 32; ++j)
        if (some[j] != 0) each_with_places(x + 32 * block_elements * j, 32 * j, some[j], found, [](std::size_t, u32) {});
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
    for (; found.blocks < first; ++found.blocks) found.masks[found.blocks] = 0;
    found.blocks = last;
    u32* const masks = found.masks + first;
    T before = T(0);
    if (first > 0) before = masks[-1] >> (block_elements - 1) != 0 ? to[block_elements * group_blocks - 1] : x[at - 1];
    const auto set = [&](std::size_t k, u32 mask) { found.masks[k] = mask; };
    part_blocks(x, n, first, last, apart.is, to, set);
    const u32 some = ~equal(reinterpret_cast<const float*>(masks), 0u) & 0xffffffffu >> (first + group_blocks - last);
    if (some == 0) return x + at;
    if (first == 0) {  // the first ordinary value
        T block[block_elements];
        std::size_t k = 0;
        for (; k < blocks_of(n) && masks[k] == whole(n, k); ++k)
            if (k + 1 >= last && k + 1 < blocks_of(n)) part_blocks(x, n, k + 1, k + 2, apart.is, block, set);
        if (k < blocks_of(n)) before = x[block_elements * k + static_cast<std::size_t>(std::countr_one(masks[k]))];
    }
    each_with_places(to, first, some, found, [&](std::size_t k, u32 mask) CCOLL_TARGET {
        T* const block = to + block_elements * k;
        // What has just been written would be waited for.
        if (k > 0 && masks[k - 1] >> (block_elements - 1) == 0) before = *(block - 1);
        before = bridge_block(block, mask, whole(n, first + k), before);
    });
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
