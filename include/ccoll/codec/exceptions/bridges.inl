// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/bridges.inl - floor 2. Exceptional values are found, and values that cost few bits take
// their places. Compiled once for each set, whose instructions count bits; behind exceptions/blocks.inl.

/// Which blocks have this mask? There are masks of so many, and later blocks have no places.
CCOLL_TARGET inline block_set equal_blocks(const u32* masks, std::size_t blocks, u32 mask) noexcept
{
    block_set are;
    are.fill(mask == 0 ? ~u32{0} : 0);
    std::size_t k = 0;
    for (; k + 32 <= blocks; k += 32) are[k / 32] = equal(reinterpret_cast<const float*>(masks + k), mask);
    for (; k < blocks; ++k) are[k / 32] ^= u32{(masks[k] == mask) != (mask == 0)} << k % 32;
    return are;
}

/// Do some values have these bits?
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline bool has_bits(const T* x, std::size_t n,
                                                    typename fields_of<T>::word bits) noexcept
{
    unsigned char any = 0;
    for (std::size_t i = 0; i < n; ++i) any |= fields_of<T>::of(x[i]) == bits;
    return any != 0;
}

/// Which values of up to 32 blocks of a chunk are exceptional, and a copy of the blocks, which are whole.
/// @param found  to which they are added; no blocks before have been left out
/// @param each   (block, from 0 on, its mask): is called for those that have places
/// @return  are there any?
template <element T, class Each>
CCOLL_INLINE bool split_blocks(const T* x, std::size_t n, std::size_t first, const rule<T>& of_chunk,
                               places& found, T* to, Each each) noexcept
{
    const rule<T> is = of_chunk;
    const bool any_missing = is.has_missing();
    const std::size_t last = found.blocks = std::min(first + 32, blocks_of(n));
    u32* const masks = found.masks + first;
    const T* from = x + block_elements * first;
    T* block = to;
    for (std::size_t k = first; k < n / block_elements && k < last;
         ++k, from += block_elements, block += block_elements)
        masks[k - first] = part(from, is, any_missing, block);
    if (last * block_elements > n) {
        std::memcpy(block, from, n % block_elements * sizeof(T));
        masks[last - first - 1] = part(block, is, any_missing, block) & whole(n, last - 1);
    }
    u32 left = ~equal(reinterpret_cast<const float*>(masks), 0u) & 0xffffffffu >> (first + 32 - last);
    if (left == 0) return false;
    const auto at = [](u32 bits) { return static_cast<std::size_t>(std::countr_zero(bits)); };
    if (found.values == 0) found.bits = fields_of<T>::of(to[block_elements * at(left) + at(masks[at(left)])]);
    const words_of<T> bits = words_of<T>{} + static_cast<typename fields_of<T>::signed_word>(found.bits);
    words_of<T> differ = {};
    int values = 0;
    for (; left != 0; left &= left - 1) {
        const std::size_t k = at(left);
        add_differences(to + block_elements * k, masks[k], bits, differ);
        values += std::popcount(masks[k]);
        each(k, masks[k]);
    }
    found.alike = found.values == 0 || found.alike;
    for (unsigned i = 0; i < in_register<T>; ++i) found.alike &= differ[i] == 0;
    found.values += static_cast<std::size_t>(values);
    return true;
}
/// Which values of a chunk are exceptional.
template <element T>
CCOLL_TARGET inline void find(const T* x, std::size_t n, const rule<T>& is, places& found) noexcept
{
    T copy[32 * block_elements];
    found.values = 0;
    for (std::size_t k = 0; k < blocks_of(n); k += 32)
        split_blocks(x, n, k, is, found, copy, [](std::size_t, u32) {});
}

/// Puts bridges in the places of the exceptional values of a block. A bridge repeats the value before a run
/// of exceptional values, and in the block of the value behind the run it rises or falls to that in equal
/// steps. So no block depends on later ones, and all blocks that it fills stay constant. A run at an end of
/// the chunk repeats its only neighbour; 0 if there is none.
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
            block[begin] = std::clamp(rounded(start * T(0.5)) + rounded(block[end] * T(0.5)),
                                      std::min(start, block[end]), std::max(start, block[end]));
        else ramp(block, left & ~(every << end), static_cast<int>(begin) - 1, end - begin, start, block[end]);
        left &= every << end;
    }
    return before;
}

/// 1024 values of a chunk, with values that cost few bits in the places of the exceptional ones: a bridge for
/// each run.
/// @param found  to which they are added; blocks before that have been left out have none
/// @param to     room for whole blocks; has the values before, if their last one is exceptional
/// @return  `to`, or x + at if none is
template <element T>
CCOLL_TARGET inline const T* take_out(const T* x, std::size_t n, std::size_t at, const rule<T>& is,
                                      places& found, T* to) noexcept
{
    const std::size_t first = at / block_elements;
    for (; found.blocks < first; ++found.blocks) found.masks[found.blocks] = 0;
    const u32* const masks = found.masks + first;
    T before = T(0);
    if (first > 0) before = masks[-1] >> (block_elements - 1) != 0 ? to[32 * block_elements - 1] : x[at - 1];
    const auto exceptional = [&](T v) {
        return fields_of<T>::magnitude(v) >= is.limit || fields_of<T>::of(v) == is.missing;
    };
    if (first == 0 && exceptional(x[0])) {  // the first ordinary value
        std::size_t i = 0;
        while (i + block_elements <= n && equal(x + i, fields_of<T>::of(x[0])) == 0xffffffffu)
            i += block_elements;
        while (i < n && exceptional(x[i])) ++i;
        if (i < n) before = x[i];
    }
    const auto put_bridges = [&](std::size_t k, u32 mask) CCOLL_TARGET {
        T* const block = to + block_elements * k;
        // What has just been written would be waited for.
        if (k > 0 && masks[k - 1] >> (block_elements - 1) == 0) before = *(block - 1);
        before = bridge_block(block, mask, whole(n, first + k), before);
    };
    return split_blocks(x, n, first, is, found, to, put_bridges) ? to : x + at;
}
