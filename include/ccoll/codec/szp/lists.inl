// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/lists.inl - floor 2. Groups in which most differences are 0: a byte for each that is not takes the place of planes. Lists are
// made of planes, and planes of lists, so that no other loop knows of them. Compiled once for each instruction set, for its popcount.

/// Blocks of up to 3 planes can be lists, of up to 7 differences; those of up to 8 planes can stand beside them.
inline constexpr unsigned most_listed = 7, widest_listed = 3, widest_beside = 8;

/// So many are written at once, whether there are as many or not: the end of a short loop would be mispredicted.
inline constexpr unsigned usual_listed = 4;

CCOLL_INLINE u32 plane_of(const u8* planes, unsigned width, unsigned k) noexcept
{
    return width > 0 ? get<u32>(planes + 4 * (k < width ? k : width - 1)) : 0;
}

/// Turns planes into lists if that makes them a quarter shorter: lists take longer to write and to read.
/// @param planes  of a group    @param widths  become codes    @return the new end; null if nothing has changed
[[gnu::noinline]] CCOLL_TARGET inline u8* put_lists(u8* planes, std::size_t blocks, u8* widths) noexcept
{
    std::size_t words = 0, narrow = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
        words += widths[b];
        narrow += widths[b] <= widest_listed ? widths[b] : 0;
    }
    if (2 * narrow < words || words < blocks / 2) return nullptr;
    u8 ones[group_blocks];  // entries of a list; more than most_listed: planes
    std::size_t bytes = 0;
    const u8* from = planes;
    for (std::size_t b = 0; b < blocks; ++b) {
        const unsigned width = widths[b];
        const u32 differ = plane_of(from, width, 0) | plane_of(from, width, 1) | plane_of(from, width, 2);
        const auto count = static_cast<unsigned>(std::popcount(differ));
        const bool listed = width == 0 || (width <= widest_listed && count <= most_listed && count < 4 * width);
        ones[b] = static_cast<u8>(listed ? count : most_listed + 1);
        bytes += listed ? count : 4 * width;
        from += 4 * width;
    }
    if (4 * bytes > 3 * 4 * words) return nullptr;
    u8 lists[group_blocks * most_listed + usual_listed], *list = lists, *p = planes;
    from = planes;
    for (std::size_t b = 0; b < blocks; ++b) {
        const unsigned width = widths[b];
        if (ones[b] > most_listed) {
            std::memmove(p, from, 4 * width);
            p += 4 * width;
            widths[b] = static_cast<u8>(most_listed + width);
        } else if (width > 0) {
            const u32 p0 = plane_of(from, width, 0), p1 = plane_of(from, width, 1), p2 = plane_of(from, width, 2);
            u32 left = p0 | p1 | p2;
            const auto put_next = [&](unsigned i) CCOLL_TARGET {
                const auto bit = static_cast<unsigned>(std::countr_zero(left)) & 31;
                list[i] = static_cast<u8>(bit | (p0 >> bit & 1) << 5 | (p1 >> bit & 1) << 6 | (p2 >> bit & 1) << 7);
                left &= left - 1;
            };
            for (unsigned i = 0; i < usual_listed; ++i) put_next(i);
            for (unsigned i = usual_listed; i < ones[b]; ++i) put_next(i);
            list += ones[b];
            widths[b] = ones[b];
        }
        from += 4 * width;
    }
    std::memcpy(p, lists, static_cast<std::size_t>(list - lists));
    return p + (list - lists);
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
    for (std::size_t b = 0; b < v.blocks; ++b) list += v.widths[b] > most_listed ? 4 * (v.widths[b] - most_listed) : 0;
    u8* p = to.of;
    for (std::size_t b = 0; b < v.blocks; ++b) {
        const unsigned code = v.widths[b], beside = code > most_listed ? code - most_listed : 0, count = beside > 0 ? 0 : code;
        get_list(list, count, from, beside > 0, p);
        const unsigned width = count > 0 ? widest_listed : beside;
        from += 4 * beside;
        list += count;
        p += 4 * width;
        v.widths[b] = static_cast<u8>(width);
    }
    v.planes = to.of;
    v.lists = false;
    v.ahead = 0;  // pages of the stack that have never been touched: each prefetch there walks through the page tables, 0.1 us
}
