// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/merge.inl - floor 2. The sections of the sum of two addends, compiled once for each set: it counts bits.

/// The entries of an operand of a sum, by its places in order.
struct operand {
    const addend& of;
    run_cursor alone{of.alone}, counted{of.counted};

    CCOLL_INLINE u32 places(std::size_t k) const noexcept { return of.alone.masks[k] | of.counted.masks[k]; }
    /// How a place is exceptional, if none before it has been left out. 0: it is not. Numbers of entries begin at 1 and 257.
    CCOLL_INLINE std::size_t entry(std::size_t k, u32 place) noexcept
    {
        if ((of.alone.masks[k] & place) != 0) return 1 + next(alone);
        return (of.counted.masks[k] & place) != 0 ? 1 + most_entries + next(counted) : 0;
    }
    CCOLL_INLINE wide value(std::size_t entry) const noexcept
    {
        if (entry == 0) return {};
        return entry <= most_entries ? entry_of(of.alone, entry - 1) : entry_of(of.counted, entry - 1 - most_entries);
    }
    CCOLL_INLINE static std::size_t next(run_cursor& run) noexcept
    {
        if (run.left == 0) run.next();
        --run.left;
        return run.entry;
    }
};

/// The state that is all entries of some sections, if there is one: it stays what it is, whatever but another state is added to it.
CCOLL_INLINE wide only_state(const section* const (&sections)[4]) noexcept
{
    wide all;
    for (const section* const s : sections)
        for (std::size_t i = 0; s->place_count > 0 && i < s->entries; ++i) {
            const wide w = entry_of(*s, i);
            if (!w.is_state() || (all.is_state() && w != all)) return {};
            all = w;
        }
    return all;
}

/// Writes one section of a sum. @param masks  the places of the sum that it has, at least one
CCOLL_TARGET inline u8* merge_section(const addend& a, const addend& b, std::size_t n, const u32* masks, u8 form, u8* to,
                                      const u8* end) noexcept
{
    u8* const runs = put_places(masks, with_places(masks, n), n, to, end);
    if (runs == nullptr) return nullptr;
    value_writer<wide> values(to, runs, end);
    if (const wide all = only_state({&a.alone, &a.counted, &b.alone, &b.counted}); all.is_state()) {
        std::size_t places = 0;
        for (std::size_t k = 0; k < blocks_of(n); ++k) places += static_cast<std::size_t>(std::popcount(masks[k]));
        return values.add(values.entry_of(all), places) ? values.finish(form) : nullptr;
    }
    operand x{a}, y{b};
    recent_entries<u32> recent;
    u32 last = 0;  // of no place
    std::size_t entry = most_entries, pending = 0;
    for (std::size_t k = 0; k < blocks_of(n); ++k)
        for (u32 left = x.places(k) | y.places(k); left != 0; left &= left - 1) {
            const u32 place = left & (0u - left), both = static_cast<u32>(x.entry(k, place) << 16 | y.entry(k, place));
            if ((masks[k] & place) == 0) continue;
            if (both != last) {
                u16& known = recent.of(both);
                if (known == 0) {
                    const wide sum = x.value(both >> 16) + y.value(both & 0xffff);
                    known = static_cast<u16>(1 + (sum.is_valid() ? values.entry_of(sum) : most_entries));
                }
                if (entry != known - 1u && pending > 0) {
                    if (!values.add(entry, pending)) return nullptr;
                    pending = 0;
                }
                entry = known - 1u;
                last = both;
            }
            ++pending;
        }
    return values.add(entry, pending) ? values.finish(form) : nullptr;
}

/// Writes the sections of a sum.
/// @return  ok, and the end, which is `to` without places; or too_large: a W from 2^190 on, more than 256 different ones, or no room
CCOLL_TARGET inline merged merge(const addend& a, const addend& b, std::size_t n, u8* to, const u8* end) noexcept
{
    u32 alone[most_blocks], counted[most_blocks], any_alone = 0, any_counted = 0;
    for (std::size_t k = 0; k < blocks_of(n); ++k) {
        const u32 in_a = a.alone.masks[k], in_b = b.alone.masks[k];
        alone[k] = in_a & in_b;
        counted[k] = (in_a ^ in_b) | a.counted.masks[k] | b.counted.masks[k];
        any_alone |= alone[k];
        any_counted |= counted[k];
    }
    if (any_alone != 0) to = merge_section(a, b, n, alone, any_counted != 0 ? more_bit : 0, to, end);
    if (any_counted != 0 && to != nullptr) to = merge_section(a, b, n, counted, counts_bit, to, end);
    return {to, to != nullptr ? status::ok : status::too_large};
}
