// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials/loops.inl - floor 2. The loops over a chunk with special values: one text, compiled once for each instruction set, of
// which it uses the instructions that count bits. The namespace that includes this file has these primitives on 32 values:
//   part(x, rule, marked, to) -> mask    which values are special; copies the others, and 0 for these
//   equal(x, word) -> mask               which values have these bits
//   put(x, mask, word)                   puts a value in the places of the mask

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

/// Numbers from a to b, of which neither is counted, in the places `first` .. `end` - 1.
template <element T>
CCOLL_INLINE void ramp(T* x, std::size_t first, std::size_t end, T a, T b) noexcept
{
    CCOLL_EXACT_BODY
    const double from = static_cast<double>(a), to = static_cast<double>(b), steps = static_cast<double>(end - first + 1);
    const double low = from < to ? from : to, high = from < to ? to : from;
    const int count = static_cast<int>(end - first);
    T* const at = x + first;
    for (int i = 0; i < count; ++i) {
        const double share = static_cast<double>(i + 1) / steps, value = from * (1 - share) + to * share;
        const double raised = value < low ? low : value;
        at[i] = static_cast<T>(raised > high ? high : raised);
    }
}

/// The first place from i on, up to n, that is special, or (flipped: ~0) is not.
CCOLL_INLINE std::size_t next(const places& at, std::size_t n, std::size_t i, u32 flip) noexcept
{
    std::size_t k = i / block_elements;
    if (k >= at.blocks) return n;
    u32 left = (at.masks[k] ^ flip) & 0xffffffffu << i % block_elements;
    while (left == 0) {
        if (++k == at.blocks) return n;
        left = at.masks[k] ^ flip;
    }
    return std::min(n, block_elements * k + static_cast<std::size_t>(std::countr_zero(left)));
}

/// Puts values in the places of the special ones which cost few bits. A run of special values leads from the value before it to the one
/// behind it. It repeats the former, then rises or falls in equal steps, then repeats the latter. All blocks that it fills stay constant:
/// the steps are in the first or in the last block, whichever has more of the run, or all over a run in one or two blocks. A run at an end
/// of the chunk repeats its only neighbour; 0 if there is none.
template <element T>
CCOLL_TARGET inline void bridge(T* x, std::size_t n, const places& at) noexcept
{
    CCOLL_EXACT_BODY
    std::size_t i = 0;
    while ((i = next(at, n, i, 0)) < n) {
        const std::size_t first = i, end = next(at, n, i, 0xffffffffu);
        i = end;
        const T before = first > 0 ? x[first - 1] : end < n ? x[end] : T(0), behind = end < n ? x[end] : before;
        const std::size_t first_block = first / block_elements, last_block = (end - 1) / block_elements;
        std::size_t from = first, to = end;  // of the steps
        if (last_block > first_block + 1) {
            const std::size_t of_first = block_elements * (first_block + 1), of_last = block_elements * last_block;
            if (of_first - first > end - of_last) to = of_first;
            else from = of_last;
        }
        for (std::size_t j = first; j < from; ++j) x[j] = before;
        ramp(x, from, to, before, behind);
        for (std::size_t j = to; j < end; ++j) x[j] = behind;
    }
}

CCOLL_INLINE bool is_run(u32 mask) noexcept
{
    const u32 moved = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    return moved != 0 && (moved & (moved + 1)) == 0;
}
/// @param mask  not 0    @param all  whole() of the block
CCOLL_INLINE form form_of(u32 mask, u32 all) noexcept
{
    if (mask == all) return form::throughout;
    return is_run(mask) || is_run(all & ~mask) ? form::run : form::mask;
}
/// @param mask  of form::run
CCOLL_INLINE std::uint16_t run_of(u32 mask, u32 all) noexcept
{
    const bool others = !is_run(mask);
    const u32 run = others ? all & ~mask : mask;
    return static_cast<std::uint16_t>(std::countr_zero(run) | (31 - std::countl_zero(run)) << 5 | int{others} << 10);
}

/// Appends a layer.
/// @param x      the values    @param masks  which of them, at least one    @param one  the bits of all of them; null if each is stored
/// @return       its end; null if there is too little room
template <class T>
CCOLL_TARGET inline u8* put_layer(const T* x, std::size_t n, const u32* masks, const T* one, u8* to, const u8* end) noexcept
{
    const std::size_t blocks = blocks_of(n);
    u8 named[most_blocks];
    form forms[most_blocks];
    layer l;
    std::size_t values = 0, count = 0;
    for (std::size_t k = 0; k < blocks; ++k) {  // without a branch, because coasts are where they are
        named[count] = static_cast<u8>(k);
        count += masks[k] != 0;
    }
    for (std::size_t j = 0; j < count; ++j) {
        const std::size_t k = named[j];
        forms[j] = form_of(masks[k], whole(n, k));
        ++l.of[static_cast<u8>(forms[j])];
        values += static_cast<std::size_t>(std::popcount(masks[k]));
    }
    l.dense = padded((blocks + 3) / 4) < padded(l.named());
    l.place(blocks);
    const std::size_t unpadded = l.values + (one != nullptr ? 1 : values) * sizeof(T), bytes = padded(unpadded);
    if (bytes > static_cast<std::size_t>(end - to)) return nullptr;
    const u32 head = static_cast<u32>(l.count(form::mask) | l.count(form::run) << 9 | l.count(form::throughout) << 18) |
                     u32{l.dense} << 27 | u32{one == nullptr} << 28;
    std::memset(to, 0, l.masks);
    std::memset(to + unpadded, 0, bytes - unpadded);
    std::memcpy(to, &head, sizeof head);
    u8 *run_at = to + l.runs, *mask_at = to + l.masks, *value_at = to + l.values;
    std::size_t next[4] = {0, l.numbers, l.numbers + l.of[1], l.numbers + l.of[1] + l.of[2]};
    if (one != nullptr) std::memcpy(value_at, one, sizeof(T));
    for (std::size_t j = 0; j < count; ++j) {
        const std::size_t k = named[j];
        const auto f = static_cast<u8>(forms[j]);
        if (l.dense) to[l.numbers + k / 4] = static_cast<u8>(to[l.numbers + k / 4] | f << 2 * (k % 4));
        else to[next[f]++] = static_cast<u8>(k);
        if (forms[j] == form::run) {
            const std::uint16_t run = run_of(masks[k], whole(n, k));
            std::memcpy(run_at, &run, sizeof run);
            run_at += sizeof run;
        }
        if (forms[j] == form::mask) {
            std::memcpy(mask_at, masks + k, 4);
            mask_at += 4;
        }
        if (one == nullptr)
            for (u32 left = masks[k]; left != 0; left &= left - 1, value_at += sizeof(T))
                std::memcpy(value_at, x + block_elements * k + std::countr_zero(left), sizeof(T));
    }
    return to + bytes;
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

/// The blocks of a layer. Total: any bytes are safe.
/// @param flags  bits of the head that may be set besides those that every layer has
/// @param masks  gets the mask of each block; 0 if it has no special value
/// @return       the number of special values; 0 if this is no layer of a chunk of n values
CCOLL_TARGET inline std::size_t read_blocks(const u8* from, std::size_t bytes, std::size_t n, u32 flags, layer& l, bool& own,
                                            u32* masks) noexcept
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
    form forms[most_blocks + 3] = {};
    if (l.dense) {
        std::size_t of[4] = {};
        for (std::size_t k = 0; k < blocks; k += 4) {
            const unsigned four = from[l.numbers + k / 4];
            if (four == 0) continue;
            for (unsigned i = 0; i < 4; ++i) {
                const unsigned f = four >> 2 * i & 3;
                forms[k + i] = static_cast<form>(f);
                of[f] += k + i < blocks;
            }
        }
        for (unsigned f = 1; f < 4; ++f)
            if (of[f] != l.of[f]) return 0;
    } else {
        const u8* number = from + l.numbers;
        for (unsigned f = 1; f < 4; ++f)
            for (std::size_t j = 0; j < l.of[f]; ++j, ++number) {
                if (*number >= blocks || forms[*number] != form::none) return 0;
                forms[*number] = static_cast<form>(f);
            }
    }
    const u8 *run_at = from + l.runs, *mask_at = from + l.masks;
    std::size_t values = 0;
    for (std::size_t k = 0; k < blocks; ++k) {
        if (forms[k] == form::none) {
            masks[k] = 0;
            continue;
        }
        const u32 all = whole(n, k);
        u32 mask = all;
        if (forms[k] == form::run) {
            std::uint16_t run;
            std::memcpy(&run, run_at, sizeof run);
            run_at += sizeof run;
            mask = mask_of_run(run, all);
        }
        if (forms[k] == form::mask) {
            std::memcpy(&mask, mask_at, sizeof mask);
            mask_at += sizeof mask;
        }
        if ((mask & ~all) != 0 || mask == 0) return 0;
        masks[k] = mask;
        values += static_cast<std::size_t>(std::popcount(mask));
    }
    return values;
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
        const std::size_t values = read_blocks(from, bytes, n, 0, l, own, masks);
        const std::size_t in_all = l.values + (own ? values : 1) * sizeof(T);
        if (values == 0 || bytes < in_all) return false;
        const u8* value = from + l.values;
        typename fields_of<T>::word one;
        std::memcpy(&one, value, sizeof one);
        for (std::size_t k = 0; k < blocks_of(n); ++k) {
            if (masks[k] == 0) continue;
            T* const block = x + block_elements * k;
            if (!own && length_of(n, k) == block_elements) {
                put(block, masks[k], one);
                continue;
            }
            for (u32 left = masks[k]; left != 0; left &= left - 1, value += own ? sizeof(T) : 0)
                std::memcpy(block + std::countr_zero(left), value, sizeof(T));
        }
        from += in_all;
        bytes -= in_all;
    }
    return true;
}
