// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/loops.inl - floor 2. The loops over a section of exceptional values, compiled once for each set (blocks.inl).

#include <ccoll/codec/exceptions/blocks.inl>
#include <ccoll/codec/exceptions/bridges.inl>

/// Begins a section: its places.
/// @param masks  of each block of n values    @param some  with_places(), at least one
/// @return       where value runs go; null if there is no room
CCOLL_TARGET inline u8* put_places(const u32* masks, const block_set& some, std::size_t n, u8* to, const u8* end) noexcept
{
    u64 kinds[most_blocks / 32];
    u16 runs[most_blocks + 1];
    u32 masks_of[most_blocks];
    std::size_t run_count = 0, mask_count = 0;
    for (std::size_t j = 0; j < most_blocks / 32; ++j) {
        u64 pairs = 0;
        each_bit(some[j], [&](std::size_t i) CCOLL_TARGET {
            const std::size_t k = 32 * j + i;
            const u32 mask = masks[k], others = whole(n, k) & ~mask;
            const bool together = exceptions::is_run(mask), is_run = others != 0 && (together || exceptions::is_run(others));
            const u32 run = together ? mask : others;
            runs[run_count] = static_cast<u16>(std::countr_zero(run) | (31 - std::countl_zero(run)) << 5 | int{!together} << 10);
            masks_of[mask_count] = mask;
            run_count += is_run;
            mask_count += others != 0 && !is_run;
            pairs |= u64{static_cast<u8>(others == 0 ? kind::all : is_run ? kind::run : kind::mask)} << 2 * i;
        });
        kinds[j] = pairs;
    }
    const std::size_t runs_at = head_bytes + kinds_bytes(n), masks_at = runs_at + up_to(4, 2 * run_count),
                      bytes = masks_at + 4 * mask_count;
    if (bytes > static_cast<std::size_t>(end - to)) return nullptr;
    std::memcpy(to + head_bytes, kinds, kinds_bytes(n));
    if (run_count % 2 != 0) runs[run_count] = 0;
    std::memcpy(to + runs_at, runs, up_to(4, 2 * run_count));
    std::memcpy(to + masks_at, masks_of, 4 * mask_count);
    return to + bytes;
}

/// Calls run(bits, count) for exceptional values that have the same bits and follow each other. @return  false, as soon as that does
template <element T, class Run>
CCOLL_INLINE bool each_value_run(const T* x, const places& at, Run run) noexcept
{
    auto current = static_cast<typename fields_of<T>::word>(at.bits);
    std::size_t count = at.alike ? at.values : 0;
    for (std::size_t k = 0; !at.alike && k < at.blocks; ++k)
        for (u32 left = at.masks[k]; left != 0; left &= left - 1, ++count)
            if (const auto bits = fields_of<T>::of(x[block_elements * k + static_cast<unsigned>(std::countr_zero(left))]);
                bits != current) {
                if (count > 0 && !run(current, count)) return false;
                current = bits;
                count = 0;
            }
    return run(current, count);
}

/// Writes a section: the places, and runs of the entries that entry_of(values, bits) gives them.
/// @param at  the exceptional values of a chunk, at least one
/// @return    the end of the section, a multiple of 16 bytes behind `to`; null if there is no room, or an entry is most_entries
template <class Value, element T, class EntryOf>
CCOLL_INLINE u8* write_section(const T* x, std::size_t n, const places& at, u8* to, const u8* end, EntryOf entry_of) noexcept
{
    u8* const runs = put_places(at.masks, with_places(at.masks, block_elements * at.blocks), n, to, end);  // no others have been looked at
    if (runs == nullptr) return nullptr;
    value_writer<Value> values(to, runs, end);
    const auto add = [&](typename fields_of<T>::word bits, std::size_t count) { return values.add(entry_of(values, bits), count); };
    return each_value_run(x, at, add) ? values.finish(0) : nullptr;
}

/// Writes the section of a chunk for movement. most_bytes(n, sizeof(T)) is always enough room.
/// @param most_changes  of values that differ from the exceptional value before them
/// @return              null also if there are more changes, or more than most_entries different values
template <element T>
CCOLL_TARGET inline u8* write(const T* x, std::size_t n, const places& at, u8* to, const u8* end, std::size_t most_changes) noexcept
{
    using word = typename fields_of<T>::word;
    std::size_t changes = 0;
    return write_section<word>(x, n, at, to, end, [&](value_writer<word>& values, word bits) {
        return changes++ <= most_changes ? values.entry_of(bits) : most_entries;
    });
}

/// Writes the section of an addend that is no sum. most_addend_bytes(n) is always enough room.
/// @param missing  the bits of a missing value; null: there is none
/// @return         null also if it is too large, which is a W from 2^190 on or the 257th different one
template <element T>
CCOLL_TARGET inline u8* write_addend(const T* x, std::size_t n, const places& at, double step, const typename fields_of<T>::word* missing,
                                     u8* to, const u8* end) noexcept
{
    using word = typename fields_of<T>::word;
    const exact_step exact(step);
    recent_entries<word> recent;
    return write_section<wide>(x, n, at, to, end, [&](value_writer<wide>& values, word bits) -> std::size_t {
        u16& entry = recent.of(bits);
        if (entry == 0) {
            const wide w = missing != nullptr && bits == *missing ? wide::of(wide::missing) : wide_of_bits<T>(bits, exact);
            entry = static_cast<u16>(1 + (w.is_valid() ? values.entry_of(w) : most_entries));
        }
        return entry - 1u;
    });
}

/// The masks of a section whose parts have been found. @return false: a block has no places, but a kind, or others than there are
CCOLL_INLINE bool read_masks(section& s, std::size_t n) noexcept
{
    const u8 *const runs_at = s.from + head_bytes + kinds_bytes(n), *mask_at = runs_at + up_to(4, 2 * s.runs_of_places);
    u16 codes[most_blocks] = {};
    u32 of[most_blocks], wrong = 0, count = 0;
    std::memcpy(codes, runs_at, 2 * s.runs_of_places);
    for (std::size_t i = 0; i < s.runs_of_places; ++i) {  // in whole blocks; vectors
        const u32 first = codes[i] & 31, last = codes[i] >> 5 & 31, mask = ~u32{0} << first & ~(~u32{1} << last),
                  others = codes[i] >> 10 & 1;
        of[i] = mask ^ (0 - others);
        wrong |= static_cast<u32>(codes[i] >> 11) | u32{mask == 0} | u32{of[i] == 0};
        count += others != 0 ? 31 - (last - first) : last - first + 1;
    }
    const u32* run = of;
    std::memset(s.masks, 0, sizeof(u32) * blocks_of(n));
    s.kinds.for_each(kind::run, [&](std::size_t k) { s.masks[k] = *run++; });
    s.kinds.for_each(kind::mask, [&](std::size_t k) {
        s.masks[k] = get<u32>(mask_at);
        wrong |= u32{s.masks[k] == 0};
        count += static_cast<u32>(std::popcount(s.masks[k]));
        mask_at += 4;
    });
    s.kinds.for_each(kind::all, [&](std::size_t k) { s.masks[k] = ~u32{0}, count += 32; });
    const std::size_t last = blocks_of(n) - 1;
    if (const u32 beyond = s.masks[last] & ~whole(n, last); beyond != 0) {  // runs of others and whole blocks reach there
        s.masks[last] &= ~beyond;
        count -= static_cast<u32>(std::popcount(beyond));
        const u64 is = s.kinds.pairs[last / 32] >> 2 * (last % 32) & 3;
        wrong |= u32{s.masks[last] == 0 || is == 3 || (is == 2 && (codes[s.runs_of_places - 1] >> 10 & 1) == 0)};
    }
    s.place_count = count;
    return wrong == 0;
}

/// Puts a value in places of a block.
template <element T>
CCOLL_INLINE void put_in(T* block, std::size_t length, u32 mask, typename fields_of<T>::word bits) noexcept
{
    if (std::popcount(mask) > 4 && length == block_elements) put(block, mask, bits);
    else each_bit(mask, [&](std::size_t i) { std::memcpy(block + i, &bits, sizeof bits); });
}
/// Puts values in the places of a section, which has valid runs. @param of  the bits of each entry
template <element T>
CCOLL_TARGET inline void put_entries(const section& s, const typename fields_of<T>::word* of, T* x, std::size_t n) noexcept
{
    run_cursor run(s);
    if (run.at == run.end)  // most sections have one value
        return s.kinds.for_each(
            kind::none, [&](std::size_t k) CCOLL_TARGET { put_in(x + block_elements * k, length_of(n, k), s.masks[k], of[run.entry]); });
    s.kinds.for_each(kind::none, [&](std::size_t k) CCOLL_TARGET {
        for (u32 left = s.masks[k], piece; left != 0; left &= ~piece) {
            if (run.left == 0) run.next();
            std::size_t count = static_cast<std::size_t>(std::popcount(left));
            piece = left;
            if (count > run.left) {  // the lowest places
                count = run.left;
                u32 behind = left;
                for (std::size_t i = 0; i < count; ++i) behind &= behind - 1;
                piece = left & ~behind;
            }
            put_in(x + block_elements * k, length_of(n, k), piece, of[run.entry]);
            run.left -= count;
        }
    });
}

/// Reads the section of a chunk for movement, and puts its values in their places. Total: any bytes are safe.
/// @return  false if this is no section of a chunk of n values
template <element T>
CCOLL_TARGET inline bool read(const u8* from, std::size_t bytes, T* x, std::size_t n) noexcept
{
    section s;
    if (!find_parts(from, bytes, n, s) || s.form != 0 || s.bytes(sizeof(T)) > bytes || !read_masks(s, n) || !has_valid_runs(s))
        return false;
    typename fields_of<T>::word of[most_entries];
    std::memcpy(of, s.values, sizeof(T) * s.entries);
    put_entries(s, of, x, n);
    return true;
}

#include <ccoll/codec/exceptions/addends.inl>
