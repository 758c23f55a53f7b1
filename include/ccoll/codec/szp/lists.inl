// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/lists.inl - floor 2. Groups in which most differences are 0: a byte for each that is not takes
// the place of planes. Lists are made of planes, and planes of lists, so that no other loop knows of them.
// Compiled once for each instruction set, for its popcount.

/// Blocks of up to 3 planes can be lists, of up to 7 differences; those of up to 8 planes can stand beside
/// them.
inline constexpr unsigned most_listed = 7, widest_listed = 3, widest_beside = 8;
/// Written at once, whether there are as many or not: ends of short loops are mispredicted.
inline constexpr unsigned usual_listed = 4;
/// [width] a list has fewer differences: it is shorter than planes.
inline constexpr u8 listed_below[widest_beside + 1] = {1, 4, 8, 8};

/// The planes of a block that may be a list; those above its width repeat the sign.
struct planes_of_list {
    u32 of[widest_listed];

    CCOLL_INLINE planes_of_list(const u8* in, unsigned width) noexcept
        : of{width > 0 ? get<u32>(in) : 0, width > 0 ? get<u32>(in + 4 * (width > 1)) : 0,
             width > 0 ? get<u32>(in + 4 * (width > 1) + 4 * (width > 2)) : 0}
    {}
    CCOLL_INLINE u32 any() const noexcept { return of[0] | of[1] | of[2]; }
};
/// The list of a block, if it may have one. A set that can compress bytes has its own function, which is no
/// template and is preferred.
/// @param to  32 bytes    @return the number of differences that are not 0
template <class Byte>
CCOLL_INLINE unsigned put_entries(const u8* planes, unsigned width, Byte* to) noexcept
{
    const planes_of_list p(planes, width);
    u32 left = p.any();
    const auto count = static_cast<unsigned>(std::popcount(left));
    if (count >= listed_below[width]) return count;
    const auto put_next = [&](unsigned i) CCOLL_TARGET {
        const auto bit = static_cast<unsigned>(std::countr_zero(left)) & 31;
        to[i] = static_cast<u8>(bit | (p.of[0] >> bit & 1) << 5 | (p.of[1] >> bit & 1) << 6 |
                                (p.of[2] >> bit & 1) << 7);
        left &= left - 1;
    };
    for (unsigned i = 0; i < usual_listed; ++i) put_next(i);
    for (unsigned i = usual_listed; i < count; ++i) put_next(i);
    return count;
}

/// Turns planes into lists if that saves one of `one_of` parts: lists take longer to write and to read.
/// @param planes  of a group, up to `end`
/// @param widths  become codes
/// @param pay  do they in the group before?
/// @return        the new end; null if nothing has changed
[[gnu::noinline]] CCOLL_TARGET inline u8* put_lists(u8* planes, const u8* end, std::size_t blocks, u8* widths,
                                                    unsigned one_of, bool pay) noexcept
{
    const auto size = static_cast<std::size_t>(end - planes);
    u8 narrow = 0;
    for (std::size_t b = blocks; b < group_blocks; ++b) widths[b] = 0;
    for (std::size_t b = 0; b < group_blocks; ++b)
        narrow = static_cast<u8>(narrow + (widths[b] <= widest_listed ? widths[b] : 0));
    if (8 * std::size_t{narrow} < size || size < 2 * blocks) return nullptr;
    if (!pay) {  // look at half of the blocks first
        const u8* from = planes;
        std::size_t bytes = 0;
        for (std::size_t b = 0; b < blocks / 2; ++b) {
            const unsigned width = widths[b],
                           count = static_cast<unsigned>(std::popcount(planes_of_list(from, width).any()));
            // No branch, which would be mispredicted.
            const unsigned listed = 0u - unsigned{count < listed_below[width]};
            bytes += (count & listed) | (4 * width & ~listed);
            from += 4 * width;
        }
        if (8 * bytes > 7 * static_cast<std::size_t>(from - planes)) return nullptr;
    }
    u8 lists[group_blocks * most_listed + block_elements], kept[(group_blocks + 1) * 4 * widest_beside],
        codes[group_blocks];
    u8 *list = lists, *p = kept;
    const u8* from = planes;
    const auto gains = [&](std::size_t parts, std::size_t of) CCOLL_TARGET {
        return of * static_cast<std::size_t>((p - kept) + (list - lists)) <=
               (of - parts) * static_cast<std::size_t>(from - planes);
    };
    // Where the next list goes depends on counts alone, so that several blocks are under way at once.
    for (std::size_t b = 0; b < blocks; ++b) {
        if (b % 8 == 0 && b > 0 && !(b == 8 ? gains(1, 32) : gains(1, 8)))
            return nullptr;  // most groups that gain nothing say so early
        const unsigned width = widths[b];
        std::memcpy(p, from, 4 * widest_beside);
        const unsigned count = put_entries(from, width, list);
        const bool listed = count < listed_below[width];
        codes[b] = static_cast<u8>(listed ? count : most_listed + width);
        list += listed ? count : 0;
        p += listed ? 0 : 4 * width;
        from += 4 * width;
    }
    if (!gains(1, one_of)) return nullptr;
    const auto of_planes = static_cast<std::size_t>(p - kept),
               of_lists = static_cast<std::size_t>(list - lists);
    std::memcpy(planes, kept, of_planes);
    std::memcpy(planes + of_planes, lists, of_lists);
    std::memcpy(widths, codes, blocks);
    return planes + of_planes + of_lists;
}

/// Room for the planes of a group with lists.
struct group_planes {
    alignas(64) u8 of[4 * group_blocks * widest_beside + slack];
};

/// Turns lists into planes.
/// @param v  a group whose codes, parts and bytes have been checked; becomes one that has planes, in `to`
[[gnu::noinline]] CCOLL_TARGET inline void get_lists(group_view& v, group_planes& to) noexcept
{
    const u8 *from = v.planes, *list = from;
    for (std::size_t b = 0; b < v.blocks; ++b)
        list += v.widths[b] > most_listed ? 4 * (v.widths[b] - most_listed) : 0;
    u8* p = to.of;
    for (std::size_t b = 0; b < v.blocks; ++b) {
        const unsigned code = v.widths[b], beside = code > most_listed ? code - most_listed : 0,
                       count = beside > 0 ? 0 : code;
        get_list(list, count, from, beside > 0, p);
        const unsigned width = count > 0 ? widest_listed : beside;
        from += 4 * beside;
        list += count;
        p += 4 * width;
        v.widths[b] = static_cast<u8>(width);
    }
    v.planes = to.of;
    v.lists = false;
    // pages of the stack that have never been touched: each prefetch there walks through the page tables, 0.1
    // us
    v.ahead = 0;
}
