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

/// One pass over a chunk: which of its values are exceptional, and a copy of it with 0 for these.
/// @param x  n values, 1..most_elements
template <element T>
CCOLL_TARGET inline void split(const T* x, std::size_t n, const rule<T>& is, places& found, T* to) noexcept
{
    using word = typename fields_of<T>::word;
    const rule<T> r = is;
    const bool any_missing = r.has_missing();
    survey<T> seen;
    word first = 0;
    std::size_t values = 0, k = 0;
    const auto take = [&](const T* block, T* kept, u32 all) CCOLL_TARGET __attribute__((always_inline)) {
        u32 mask = part(block, r, any_missing, kept, seen) & all;
        if (values == 0 && mask != 0) {  // once more, now that the first one is known
            first = fields_of<T>::of(block[std::countr_zero(mask)]);
            seen.first = words_of<T>{} + static_cast<typename fields_of<T>::signed_word>(first);
            seen.differ = words_of<T>{};
            part(block, r, any_missing, kept, seen);
        }
        found.masks[k] = mask;
        values += static_cast<std::size_t>(std::popcount(mask));
    };
    for (; k < n / block_elements; ++k) {
        read_ahead(x + block_elements * k, block_elements * sizeof(T));
        take(x + block_elements * k, to + block_elements * k, 0xffffffffu);
    }
    if (const std::size_t at = block_elements * k; at < n) {
        T last[block_elements] = {}, kept[block_elements];
        std::memcpy(last, x + at, (n - at) * sizeof(T));
        take(last, kept, whole(n, k));
        std::memcpy(to + at, kept, (n - at) * sizeof(T));
    }
    word largest = 0, differ = 0;
    for (unsigned i = 0; i < in_register<T>; ++i) {
        for (const auto& some : seen.largest) largest = std::max(largest, std::bit_cast<word>(some[i]));
        differ |= static_cast<word>(seen.differ[i]);
    }
    found.blocks = blocks_of(n);
    found.values = values;
    found.largest = largest;
    found.alike = differ == 0;
    found.bits = first;
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

/// Puts values that cost few bits in the places of the exceptional ones: a bridge for each run, the same for all instruction sets.
/// @param x  n values, with room for whole blocks
template <element T>
CCOLL_TARGET inline void bridge(T* x, std::size_t n, const places& at) noexcept
{
    std::size_t first = 0;
    while (first < at.blocks && at.masks[first] == whole(n, first)) ++first;
    T before = first < at.blocks ? x[block_elements * first + static_cast<unsigned>(std::countr_one(at.masks[first]))] : T(0);
    const block_set some = with_places(at.masks, n);
    for (std::size_t j = 0; j < most_blocks / 32; ++j)
        for (u32 blocks = some[j]; blocks != 0; blocks &= blocks - 1) {
            const std::size_t k = 32 * j + static_cast<std::size_t>(std::countr_zero(blocks));
            T* const block = x + block_elements * k;
            // What has just been written would be waited for.
            if (k > 0 && at.masks[k - 1] >> (block_elements - 1) == 0) before = *(block - 1);
            before = bridge_block(block, at.masks[k], whole(n, k), before);
        }
}

/// 0 if this is no run.
CCOLL_INLINE u32 mask_of_run(std::uint16_t run, u32 all) noexcept
{
    const u32 first = run & 31, last = run >> 5 & 31;
    if (run >> 11 != 0 || last < first) return 0;
    const u32 mask = 0xffffffffu >> (31 - last + first) << first;
    return (run >> 10 & 1) != 0 ? all & ~mask : mask;
}
