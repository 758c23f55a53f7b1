// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/bridged.inl - floor 2. What an encoder does with a chunk that has special values: it finds them, and puts bridges in their
// places. One text, compiled once for each instruction set. Uses by_mask (szp/encode.inl).

/// Special values of a chunk from one block on. They are found in one pass without branches, and bridged in another one, which only looks
/// at blocks that have some: such blocks are hard to predict.
template <class T>
class bridge_builder {
    using word = typename fields_of<T>::word;
    static constexpr u32 whole = 0xffffffffu;

public:
    /// @param limit  special are |x| from here on, as bits    @param one  the bits of the first special value
    /// @param apart  gets the special values, and copies of their blocks, with bridges. The copy of a short last block is filled up
    bridge_builder(const T* x, std::size_t n, word limit, word one, taken_out<T>& apart) noexcept
        : x_(x), n_(n), blocks_(blocks_of(n)), limit_(limit), one_(one), apart_(apart)
    {}

    /// @return  the bits of the largest |x| that is not special, in the blocks from `from` on
    CCOLL_TARGET word find(std::size_t from) noexcept
    {
        u32* const masks = apart_.gone.masks;
        const std::size_t all_whole = n_ / block_elements;
        std::memset(masks, 0, sizeof(u32) * from);
        apart_.gone.blocks = blocks_;
        by_mask::peak<T> most;
        for (std::size_t k = from; k < all_whole; ++k) {
            const T* const block = x_ + block_elements * k;
            read_ahead(block, block_elements * sizeof(T));
            masks[k] = by_mask::beyond_limit(block, limit_, most);
        }
        if (all_whole < blocks_) {
            std::memcpy(apart_.copy + block_elements * all_whole, x_ + block_elements * all_whole, n_ % block_elements * sizeof(T));
            pad();
            masks[all_whole] =
                by_mask::beyond_limit(apart_.copy + block_elements * all_whole, limit_, most) & specials::whole(n_, all_whole);
        }
        return most.top();
    }
    /// @param constant  gets the blocks that only repeat the value before them, where there are enough in a row to be worth a branch
    CCOLL_TARGET void bridge(std::size_t from, specials::block_bits& constant) noexcept
    {
        const u32* const masks = apart_.gone.masks;
        apart_.layer.clear();
        specials::block_bits any;
        for (std::size_t k = from / 8 * 8; k < blocks_; k += 8)
            any.put_8(k, ~by_mask::equal_of_8(masks + k, 0));  // has room for whole groups
        any.cut(blocks_);
        std::size_t ready = from;  // blocks before this one have been bridged
        any.for_each([&](std::size_t k) CCOLL_TARGET {
            if (k < ready) return;
            const u32 mask = masks[k];
            const unsigned place = static_cast<unsigned>(std::countr_zero(mask));
            const std::size_t at = block_elements * k + place;
            const bool is_single = (mask & (mask - 1)) == 0 && place + 1 < block_elements;
            if (!is_single || at == 0 || at + 1 >= n_ || k >= n_ / block_elements) {
                ready = bridge_runs(k, constant);
                return;
            }
            apart_.layer.add(k, mask, whole);
            ++values_;
            ++partial_;
            others_ |= u32{specials::bits_at(x_, at) != one_};
            const std::size_t begin = block_elements * k;
            by_mask::copy_with(x_ + begin, place, by_mask::between(x_[at - 1], x_[at + 1]), apart_.copy + begin);
        });
    }

    std::size_t values() const noexcept { return values_; }
    /// Are all special values equal?
    bool are_equal() const noexcept { return others_ == 0; }
    /// Blocks that have special values and others.
    std::size_t partial() const noexcept { return partial_; }

private:
    void pad() noexcept
    {
        for (std::size_t i = n_; i < block_elements * blocks_; ++i) std::memcpy(apart_.copy + i, apart_.copy + n_ - 1, sizeof(T));
    }
    /// Bridges block k, and all behind it into which a run of special values leads. @return the first block that is not bridged yet
    [[gnu::noinline]] CCOLL_TARGET std::size_t bridge_runs(std::size_t k, specials::block_bits& constant) noexcept
    {
        const u32* const masks = apart_.gone.masks;
        take(k);
        u32 mask = masks[k], left = mask;
        do {
            const unsigned first = static_cast<unsigned>(std::countr_zero(left));
            const std::size_t begin = block_elements * k + first;
            u32 behind = ~mask & whole << first;
            const std::size_t first_block = k;
            if (behind == 0) {
                for (++k; k < blocks_ && masks[k] == whole; ++k) take(k);
                mask = k < blocks_ ? masks[k] : 0;
                behind = ~mask;
                if ((mask & 1) != 0) take(k);
            }
            const unsigned until = static_cast<unsigned>(std::countr_zero(behind));
            const std::size_t end = k < blocks_ ? block_elements * k + until : n_;
            by_mask::bridge_run(x_, apart_.copy, n_, begin, end);
            const std::size_t last = end / block_elements;
            if (first_block + 4 < last) constant.set(first_block + 1, last);
            if (k > first_block && (mask & 1) == 0) return k;  // it ends with the block before
            left = mask & whole << until;
        } while (left != 0);
        if (k + 1 == blocks_) pad();
        return k + 1;
    }
    CCOLL_INLINE void take(std::size_t k) noexcept
    {
        const u32 mask = apart_.gone.masks[k];
        const bool is_whole = k < n_ / block_elements;
        const std::size_t at = block_elements * k;
        apart_.layer.add(k, mask, specials::whole(n_, k));
        values_ += static_cast<std::size_t>(std::popcount(mask));
        others_ |= mask & ~by_mask::equal((is_whole ? x_ : apart_.copy) + at, one_);
        if (mask == whole) return;
        ++partial_;
        if (is_whole) by_mask::copy_block(x_ + at, apart_.copy + at);
    }

    const T* const x_;
    const std::size_t n_, blocks_;
    const word limit_, one_;
    taken_out<T>& apart_;
    std::size_t values_ = 0, partial_ = 0;
    u32 others_ = 0;
};

/// As encode_while_room, where blocks that have special values are those of the copy.
/// @param Brief  are all values?
template <class T, bool Brief>
CCOLL_TARGET inline void encode_bridged(const T* x, std::size_t n, const quantiser<T>& grid, const u8* last, u8* codes, encoding<T>& at,
                                        const taken_out<T>& apart) noexcept
{
    CCOLL_EXACT_BODY
    const quantiser<T> z = grid;
    u8* p = at.p;
    running r = at.r;
    bool brief_before = at.brief_before;
    look_ahead<T> ahead;
    const std::size_t count = blocks_of(n), all_whole = n / block_elements;
    std::size_t k = at.k;
    for (; k < count && p <= last; ++k) {
        const T* const block = (apart.gone.masks[k] != 0 || k == all_whole ? apart.copy : x) + block_elements * k;
        fetch<2>(x + block_elements * k, sizeof(T) * chunk_elements, block_elements * sizeof(T));  // of the chunk behind
        fetch_ahead(p, 1);
        quanta q;
        magnitudes<T> m;
        ahead.quantise(block, n, k, block, z, q, m);
        const bool brief = Brief || !over(m, z.brief);
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
    at.brief_before = brief_before;
}
