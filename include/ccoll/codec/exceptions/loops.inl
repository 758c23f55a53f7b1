// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/loops.inl - floor 2. The loops over a section of exceptional values, compiled once for
// each set (blocks.inl).

#include <ccoll/codec/exceptions/blocks.inl>
#include <ccoll/codec/exceptions/bridges.inl>

/// Begins a section: its places.
/// @param masks  of so many blocks, at least one other than 0; later blocks have no places
/// @return       where value runs go; null if there is no room
CCOLL_TARGET inline u8* put_places(const u32* masks, std::size_t blocks, std::size_t n, u8* to,
                                   const u8* end) noexcept
{
    const std::size_t last = blocks_of(n) - 1;
    block_set masked = equal_blocks(masks, blocks, 0), all = equal_blocks(masks, blocks, ~u32{0});
    if (last < blocks && masks[last] == whole(n, last)) all[last / 32] |= u32{1} << last % 32;
    for (std::size_t j = 0; j < masked.size(); ++j) masked[j] = ~masked[j] & ~all[j];
    if (masks_at(n) + 4 * count(masked) > static_cast<std::size_t>(end - to)) return nullptr;
    std::memcpy(to + head_bytes, masked.data(), 4 * set_words(n));
    std::memcpy(to + head_bytes + 4 * set_words(n), all.data(), 4 * set_words(n));
    to += masks_at(n);
    each_block(masked, [&](std::size_t k) CCOLL_TARGET {
        integers::put(to, masks[k]);
        to += 4;
    });
    return to;
}

/// Calls run(bits, count) for exceptional values that have the same bits and follow each other.
/// @return  false, as soon as that does
template <element T, class Run>
CCOLL_INLINE bool each_value_run(const T* x, const places& at, Run run) noexcept
{
    auto current = static_cast<typename fields_of<T>::word>(at.bits);
    std::size_t count = at.alike ? at.values : 0;
    for (std::size_t k = 0; !at.alike && k < at.blocks; ++k)
        for (u32 left = at.masks[k]; left != 0; left &= left - 1, ++count)
            if (const auto bits =
                    fields_of<T>::of(x[block_elements * k + static_cast<unsigned>(std::countr_zero(left))]);
                bits != current) {
                if (count > 0 && !run(current, count)) return false;
                current = bits;
                count = 0;
            }
    return run(current, count);
}

/// Writes a section: the places, and runs of the entries that entry_of(values, bits) gives them.
/// @param at  the exceptional values of a chunk, at least one
/// @return    the end of the section, a multiple of 16 bytes behind `to`; null if there is no room, or an
///            entry is most_entries
template <class Value, element T, class EntryOf>
CCOLL_INLINE u8* write_section(const T* x, std::size_t n, const places& at, u8* to, const u8* end,
                               EntryOf entry_of) noexcept
{
    u8* const runs = put_places(at.masks, at.blocks, n, to, end);  // no others have been looked at
    if (runs == nullptr) return nullptr;
    value_writer<Value> values(to, runs, end);
    const auto add = [&](typename fields_of<T>::word bits, std::size_t count) {
        return values.add(entry_of(values, bits), count);
    };
    return each_value_run(x, at, add) ? values.finish(0) : nullptr;
}

/// Writes the section of a chunk for movement. most_bytes(n, sizeof(T)) is always enough room.
/// @param most_changes  of values that differ from the exceptional value before them
/// @return              null also if there are more changes, or more than most_entries different values
template <element T>
CCOLL_TARGET inline u8* write(const T* x, std::size_t n, const places& at, u8* to, const u8* end,
                              std::size_t most_changes) noexcept
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
CCOLL_TARGET inline u8* write_addend(const T* x, std::size_t n, const places& at, double step,
                                     const typename fields_of<T>::word* missing, u8* to,
                                     const u8* end) noexcept
{
    using word = typename fields_of<T>::word;
    const exact_step exact(step);
    recent_entries<word> recent;
    return write_section<wide>(x, n, at, to, end, [&](value_writer<wide>& values, word bits) -> std::size_t {
        u16& entry = recent.of(bits);
        if (entry == 0) {
            const wide w = missing != nullptr && bits == *missing ? wide::of(wide::missing)
                                                                  : wide_of_bits<T>(bits, exact);
            entry = static_cast<u16>(1 + (w.is_valid() ? values.entry_of(w) : most_entries));
        }
        return entry - 1u;
    });
}

/// The masks of a section whose parts have been found.
/// @return false: it has none, or an empty one, or there are no such blocks or values
CCOLL_INLINE bool read_masks(section& s, std::size_t n) noexcept
{
    const u8* at = s.from + masks_at(n);
    const std::size_t last = blocks_of(n) - 1;
    u32 any = 0, wrong = 0;
    for (std::size_t j = 0; j < s.some.size(); ++j) {
        any |= s.some[j] = s.masked[j] | s.all[j];
        wrong |= s.masked[j] & s.all[j];
    }
    if (wrong != 0 || any == 0 || s.some[last / 32] >> last % 32 >> 1 != 0) return false;
    std::memset(s.masks, 0, sizeof s.masks);
    each_block(s.masked, [&](std::size_t k) CCOLL_TARGET {
        const u32 mask = s.masks[k] = get<u32>(at);
        wrong |= u32{mask == 0};
        at += 4;
    });
    wrong |= s.masks[last] & ~whole(n, last);
    each_block(s.all, [&](std::size_t k) CCOLL_TARGET { s.masks[k] = whole(n, k); });
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
CCOLL_TARGET inline void put_entries(const section& s, const typename fields_of<T>::word* of, T* x,
                                     std::size_t n) noexcept
{
    run_cursor run(s);
    if (run.at == run.end)  // most sections have one value
        return each_block(s.some, [&](std::size_t k) CCOLL_TARGET {
            put_in(x + block_elements * k, length_of(n, k), s.masks[k], of[run.entry]);
        });
    each_block(s.some, [&](std::size_t k) CCOLL_TARGET {
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
    if (!find_parts(from, bytes, n, s) || s.form != 0 || s.bytes(sizeof(T)) > bytes || !read_masks(s, n) ||
        !has_valid_runs(s))
        return false;
    typename fields_of<T>::word of[most_entries];
    std::memcpy(of, s.values, sizeof(T) * s.entries);
    put_entries(s, of, x, n);
    return true;
}

#include <ccoll/codec/exceptions/addends.inl>
