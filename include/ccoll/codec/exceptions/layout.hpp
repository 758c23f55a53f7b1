// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/layout.hpp - floor 2. Which values of a chunk are exceptional, and a section of
// exceptional values in wire version 9: what its bytes mean, the reader that finds its parts, and the writer
// of its values. Drawn in docs/wire_format.md. Nothing here depends on an instruction set.
//   u8 entries - 1 | u8 form | u16 value runs | two bits for each block: has it a mask, is it all exceptional
//   | u32 masks | u8[2] value runs, unless there is one value | values
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <ccoll/base/error.hpp>
#include <ccoll/codec/exceptions/wide.hpp>

namespace ccoll::inline CCOLL_ABI::detail::exceptions {

using integers::get;

/// Blocks are 32 values, whatever the blocks of a codec are.
inline constexpr std::size_t block_elements = 32, most_blocks = 256,
                             most_elements = most_blocks * block_elements;

constexpr std::size_t blocks_of(std::size_t n) noexcept { return (n + block_elements - 1) / block_elements; }
/// Values of block k.
constexpr std::size_t length_of(std::size_t n, std::size_t k) noexcept
{
    return n - block_elements * k < block_elements ? n - block_elements * k : block_elements;
}
/// The mask of a block all of whose values are exceptional.
constexpr u32 whole(std::size_t n, std::size_t k) noexcept
{
    return 0xffffffffu >> (block_elements - length_of(n, k));
}

/// Which values of a chunk are exceptional.
struct places {
    u32 masks[most_blocks];
    std::size_t blocks = 0;
    std::size_t values = 0;  ///< exceptional ones
    bool alike = false;      ///< certainly: all exceptional ones have these bits
    u64 bits = 0;
};

/// What counts as exceptional: |x| from `limit` on, as bits, NaN and infinities among them, and a missing
/// value.
template <element T>
struct rule {
    using word = typename fields_of<T>::word;

    word limit;
    word missing = static_cast<word>(~word{0});  ///< a NaN, which is exceptional in any case

    bool has_missing() const noexcept { return missing != static_cast<word>(~word{0}); }
};

inline constexpr std::size_t unit = 16;  ///< a section is a multiple of so many bytes
inline constexpr std::size_t most_entries = 256, most_in_run = 256, head_bytes = 4;

/// Bits of the form.
inline constexpr u8 counts_bit = 1, more_bit = 2;

constexpr std::size_t up_to(std::size_t multiple, std::size_t bytes) noexcept
{
    return (bytes + multiple - 1) / multiple * multiple;
}
/// Words of a set of blocks.
constexpr std::size_t set_words(std::size_t n) noexcept { return (blocks_of(n) + 31) / 32; }
/// Where the masks begin.
constexpr std::size_t masks_at(std::size_t n) noexcept { return head_bytes + 2 * sizeof(u32) * set_words(n); }

/// Where the value runs begin at the latest.
constexpr std::size_t most_in_front(std::size_t n) noexcept
{
    return masks_at(n) + sizeof(u32) * blocks_of(n);
}
/// Always enough for the section of a chunk for movement. Each place begins at most one value run and one
/// entry.
constexpr std::size_t most_bytes(std::size_t n, std::size_t value_bytes) noexcept
{
    return up_to(unit, up_to(8, most_in_front(n) + 2 * n) + std::min(n, most_entries) * value_bytes);
}
/// Always enough for both sections of an addend. Places are in one of them, and each begins at most one value
/// run and one entry.
constexpr std::size_t most_addend_bytes(std::size_t n) noexcept
{
    return 2 * up_to(unit, most_in_front(n) + 8) + up_to(unit, 2 * n) +
           sizeof(wide) * std::min(n, 2 * most_entries) + 2 * unit;
}

CCOLL_EXACT_BEGIN  // for its optimisation

/// Calls each(i) for the bits of a mask.
template <class Each>
[[gnu::always_inline]] inline void each_bit(u32 mask, Each each) noexcept  // into kernels
{
    for (; mask != 0; mask &= mask - 1) each(static_cast<std::size_t>(std::countr_zero(mask)));
}

/// A bit for each block of a chunk. Branches on masks themselves would be mispredicted.
using block_set = std::array<u32, most_blocks / 32>;

inline std::size_t count(const block_set& of) noexcept
{
    int sum = 0;
    for (std::size_t j = 0; j < of.size(); j += 2) sum += std::popcount(of[j] | u64{of[j + 1]} << 32);
    return static_cast<std::size_t>(sum);
}
/// Calls each(k) for the blocks of a set, in order.
template <class Each>
[[gnu::always_inline]] inline void each_block(const block_set& of, Each each) noexcept
{
    for (std::size_t j = 0; j < of.size(); j += 2)  // in pairs: ends of short loops would be mispredicted
        for (u64 left = of[j] | u64{of[j + 1]} << 32; left != 0; left &= left - 1)
            each(32 * j + static_cast<std::size_t>(std::countr_zero(left)));
}

/// A section whose parts lie within its bytes, up to the values.
struct section {
    const u8 *from = nullptr, *runs = nullptr, *values = nullptr;  ///< from: null if there is no section
    std::size_t value_runs = 0, entries = 0;                       ///< entries: 0 if there is no section
    u8 form = 0;
    block_set masked, all;   ///< blocks that have a mask, and those all of whose values are exceptional
    block_set some;          ///< blocks that have places
    u32 masks[most_blocks];  ///< of each block

    bool is_there() const noexcept { return from != nullptr; }
    bool more() const noexcept { return (form & more_bit) != 0; }
    std::size_t front_bytes() const noexcept { return static_cast<std::size_t>(values - from); }
    std::size_t bytes(std::size_t value_bytes) const noexcept
    {
        return up_to(unit, front_bytes() + value_bytes * entries);
    }
};

/// Finds the parts of a section of n values, but no places. Total: any bytes are safe.
[[gnu::always_inline]] inline bool find_parts(const u8* from, std::size_t bytes, std::size_t n,
                                              section& s) noexcept
{
    if (bytes < masks_at(n)) return false;
    s.from = from;
    s.form = from[1];
    s.entries = from[0] + std::size_t{1};
    s.value_runs = get<u16>(from + 2);
    s.masked = s.all = {};
    std::memcpy(s.masked.data(), from + head_bytes, 4 * set_words(n));
    std::memcpy(s.all.data(), from + head_bytes + 4 * set_words(n), 4 * set_words(n));
    s.runs = from + masks_at(n) + 4 * count(s.masked);
    s.values = from + up_to(8, static_cast<std::size_t>(s.runs - from) + 2 * s.value_runs);
    return s.form < 4 && s.front_bytes() <= bytes;
}

/// The entries of places, in their order.
struct run_cursor {
    const u8 *at, *end;
    std::size_t left = 0;  ///< places
    unsigned entry = 0;

    explicit run_cursor(const section& s) noexcept : at(s.runs), end(s.runs + 2 * s.value_runs)
    {
        if (at == end) left = most_elements;  // one value
        next();
    }
    /// Begins the next run. Those that follow and have the same entry are part of it.
    void next() noexcept
    {
        if (at == end) return;
        entry = at[0];
        for (; at != end && at[0] == entry; at += 2) left += at[1] + std::size_t{1};
    }
    /// Leaves places out, which there are.
    void skip(std::size_t count) noexcept
    {
        for (; count > left; next()) {
            count -= left;
            left = 0;
        }
        left -= count;
    }
};

/// Do value runs name entries that there are, for all places?
inline bool has_valid_runs(const section& s) noexcept
{
    if (s.value_runs == 0) return true;
    std::size_t sum = 0, highest = 0, places = 0;
    each_block(s.some, [&](std::size_t k) { places += static_cast<std::size_t>(std::popcount(s.masks[k])); });
    for (std::size_t j = 0; j < s.value_runs; ++j) {
        highest = std::max<std::size_t>(highest, s.runs[2 * j]);
        sum += s.runs[2 * j + 1] + std::size_t{1};
    }
    return sum == places && highest < s.entries;
}

inline std::size_t hash(u64 bits) noexcept { return bits * 0x9e3779b97f4a7c15u >> 55; }
inline std::size_t hash(const wide& w) noexcept
{
    return hash(w.limb[0] ^ (w.limb[1] * 3) ^ (w.limb[2] * 7));
}

/// What has become of some numbers lately: the entry, plus 1.
template <class Key>
class recent_entries {
public:
    /// @return 0 if that is not known
    u16& of(Key k) noexcept
    {
        const std::size_t i = hash(k) % count;
        if (keys_[i] != k) entries_[i] = 0;
        keys_[i] = k;
        return entries_[i];
    }

private:
    static constexpr std::size_t count = 64;

    Key keys_[count] = {};
    u16 entries_[count] = {};
};

/// Writes value runs, behind the places of a section, and then the dictionary. Entries are in the order of
/// their first places.
template <class Value>
class value_writer {
public:
    /// @param section  has a head, whose places end at `runs`
    value_writer(u8* section, u8* runs, const u8* end) noexcept
        : section_(section), runs_(runs), to_(runs), end_(end)
    {}

    /// The entry of a value; most_entries if there is none.
    std::size_t entry_of(const Value& v) noexcept
    {
        if (entries_ == 0) of_[entries_++] = v;  // most sections have one value, and no table
        if (of_[0] == v) return 0;
        if (entries_ == 1) std::memset(entry_, 0, sizeof entry_);
        for (std::size_t slot = hash(v);; slot = (slot + 1) % slots) {
            if (entry_[slot] == 0) {
                if (entries_ == most_entries) return most_entries;
                of_[entries_] = v;
                entry_[slot] = static_cast<u16>(++entries_);
            }
            if (of_[entry_[slot] - 1] == v) return entry_[slot] - 1u;
        }
    }
    /// The next `count` places have this entry. @return false: there is no room
    bool add(std::size_t entry, std::size_t count) noexcept
    {
        if (entries_ == 1) {
            of_first_ += count;
            return entry == 0;
        }  // which has no runs
        return add_runs(0, std::exchange(of_first_, 0)) && add_runs(entry, count);
    }
    /// @return the end of the section; null if there is no room
    u8* finish(u8 form) noexcept
    {
        const std::size_t front = static_cast<std::size_t>(to_ - section_), at = up_to(8, front),
                          values_end = at + sizeof(Value) * entries_, all = up_to(unit, values_end);
        if (all > static_cast<std::size_t>(end_ - section_)) return nullptr;
        section_[0] = static_cast<u8>(entries_ - 1);
        section_[1] = form;
        integers::put(section_ + 2, static_cast<u16>((to_ - runs_) / 2));
        std::memset(to_, 0, at - front);
        std::memcpy(section_ + at, of_, sizeof(Value) * entries_);
        std::memset(section_ + values_end, 0, all - values_end);
        return section_ + all;
    }

private:
    static constexpr std::size_t slots = 512;

    bool add_runs(std::size_t entry, std::size_t count) noexcept
    {
        const std::size_t runs = (count + most_in_run - 1) / most_in_run;
        if (entry >= most_entries || 2 * runs > static_cast<std::size_t>(end_ - to_)) return false;
        for (; count > 0; to_ += 2) {
            const std::size_t some = std::min(count, most_in_run);
            to_[0] = static_cast<u8>(entry);
            to_[1] = static_cast<u8>(some - 1);
            count -= some;
        }
        return true;
    }

    u8 *section_, *runs_, *to_;
    const u8* end_;
    std::size_t entries_ = 0, of_first_ = 0;  ///< of_first_: places of the first entry that have no runs yet
    Value of_[most_entries];
    u16 entry_[slots];  ///< less 1; by hash, but for the first one
};

/// The exceptional values of an addend.
struct addend {
    section alone, counted;

    bool counts() const noexcept { return counted.is_there(); }
};

inline const u8* bytes_of(const_byte_span in) noexcept { return reinterpret_cast<const u8*>(in.data()); }
inline wide entry_of(const section& s, std::size_t i) noexcept
{
    return get<wide>(s.values + sizeof(wide) * i);
}

struct merged {
    u8* end = nullptr;
    status code = status::ok;
    bool bridges_matter = false;  ///< quanta cannot be added as they are
};

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions
