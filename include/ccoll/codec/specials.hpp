// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials.hpp - floor 2. Special values: what a lossy codec takes out of a chunk and stores exactly beside it. NaN, infinities, fill
// values such as 1e20, and markers such as -9999, in whose neighbourhood all differences would be long.
//
// The codec encodes the chunk as if they were not there, and puts a section behind it. A section is layers, one after another, each of
// a multiple of 4 bytes:
//
//   0  u32 head     blocks with a mask (9 bits) | that are a run (9) | special throughout (9) | dense (1) | own (1)
//   4  blocks       dense: 2 bits per block, 0 none, 1 with a mask, 2 a run, 3 throughout; lowest bits first
//                   else:  a byte per block, its number: those with a mask in ascending order, then those that are a run, then the others
//                   filled up with 0 to a multiple of 4 bytes
//      u16 runs     filled up with 0 to a multiple of 4 bytes: first value (5 bits) | last value (5) | others (1)
//                   special are the values from the first to the last, or (others) all but these
//      u32 masks    of the blocks that have one: bit i is value i
//      values       own: of each special value its element; else one element, which all of them are
//
// Blocks are 32 values, whatever the blocks of the codec are. A layer whose values are all equal costs half a bit per value along the edges
// of a region, and nothing inside it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::specials {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

inline constexpr std::size_t block_elements = 32, most_blocks = 256, most_elements = most_blocks * block_elements;

/// So many equal values get a layer of their own, if they are among the first so many different ones that remain.
inline constexpr std::size_t least_equal = 4, most_candidates = 8;

/// Which values of a chunk are special.
struct places {
    u32 masks[most_blocks];
    std::size_t blocks = 0;
    std::size_t values = 0;  ///< special ones
};

constexpr std::size_t blocks_of(std::size_t n) noexcept { return (n + block_elements - 1) / block_elements; }
/// Values of block k.
constexpr std::size_t length_of(std::size_t n, std::size_t k) noexcept
{
    return n - block_elements * k < block_elements ? n - block_elements * k : block_elements;
}
/// The mask of a block all of whose values are special.
constexpr u32 whole(std::size_t n, std::size_t k) noexcept { return 0xffffffffu >> (block_elements - length_of(n, k)); }

/// What counts as special: |x| from `limit` on, as bits, NaN and infinities among them, and up to three markers.
template <element T>
struct rule {
    using word = typename fields_of<T>::word;
    static constexpr std::size_t most_markers = 3;

    word limit;
    word markers[most_markers] = {nothing, nothing, nothing};

    static constexpr word nothing = static_cast<word>(~word{0});  ///< a NaN: special in any case
};

CCOLL_EXACT_BEGIN  // for its optimisation: everything below moves bits

template <element T>
typename fields_of<T>::word bits_at(const T* x, std::size_t i) noexcept
{
    typename fields_of<T>::word w;
    std::memcpy(&w, x + i, sizeof w);
    return w;
}

/// Bit i says whether the bits of x[i] pass.
template <element T, class Test>
u32 mask_of(const T* x, std::size_t count, Test test) noexcept
{
    u8 passes[block_elements] = {};
    if (count == block_elements)  // a constant count, which compilers vectorise
        for (std::size_t i = 0; i < block_elements; ++i) passes[i] = test(bits_at(x, i));
    else
        for (std::size_t i = 0; i < count; ++i) passes[i] = test(bits_at(x, i));
    u32 mask = 0;
    for (unsigned g = 0; g < 4; ++g) {
        u64 eight;
        std::memcpy(&eight, passes + 8 * g, sizeof eight);
        mask |= static_cast<u32>(eight * 0x0102040810204080u >> 56) << 8 * g;  // one bit of each byte
    }
    return mask;
}

/// Is there an |x| from `limit` on in a whole block?
template <element T>
bool reaches(const T* x, typename fields_of<T>::word limit) noexcept
{
    typename fields_of<T>::signed_word most = 0;  // SSE2 compares only signed integers
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto w = static_cast<typename fields_of<T>::signed_word>(bits_at(x, i) & ~fields_of<T>::sign);
        most = w > most ? w : most;
    }
    return static_cast<typename fields_of<T>::word>(most) >= limit;
}

/// @param x  n values, 1..most_elements
template <element T>
[[gnu::noinline]] void find(const T* x, std::size_t n, const rule<T>& is, places& found) noexcept
{
    using word = typename fields_of<T>::word;
    const rule<T> r = is;
    const bool marked = r.markers[0] != rule<T>::nothing;
    found.blocks = blocks_of(n);
    found.values = 0;
    for (std::size_t k = 0; k < found.blocks; ++k) {
        if (!marked && length_of(n, k) == block_elements && !reaches(x + block_elements * k, r.limit)) {  // most blocks
            found.masks[k] = 0;
            continue;
        }
        const u32 mask = mask_of(x + block_elements * k, length_of(n, k), [&](word w) {
            return static_cast<u8>(((w & ~fields_of<T>::sign) >= r.limit) | (w == r.markers[0]) | (w == r.markers[1]) |
                                   (w == r.markers[2]));
        });
        found.masks[k] = mask;
        found.values += static_cast<std::size_t>(std::popcount(mask));
    }
}

/// Copies a chunk, with 0 for its special values.
template <element T>
void copy_without(const T* x, std::size_t n, const places& at, T* to) noexcept
{
    std::memcpy(to, x, n * sizeof(T));
    for (std::size_t k = 0; k < at.blocks; ++k) {
        T* const block = to + block_elements * k;
        if (at.masks[k] == 0xffffffffu) {
            std::memset(block, 0, block_elements * sizeof(T));
            continue;
        }
        for (u32 left = at.masks[k]; left != 0; left &= left - 1) block[std::countr_zero(left)] = T(0);
    }
}

/// Numbers from a to b, of which neither is counted, in the places `first` .. `end` - 1.
template <element T>
void ramp(T* x, std::size_t first, std::size_t end, T a, T b) noexcept
{
    CCOLL_EXACT_BODY
    const double from = static_cast<double>(a), to = static_cast<double>(b), steps = static_cast<double>(end - first + 1);
    for (std::size_t i = first; i < end; ++i) {
        const double part = static_cast<double>(i - first + 1) / steps, value = from * (1 - part) + to * part;
        x[i] = static_cast<T>(std::min(std::max(value, std::min(from, to)), std::max(from, to)));
    }
}

/// Puts values in the places of the special ones which cost few bits. A run of special values leads from the value before it to the one
/// behind it. It repeats the former, then rises or falls in equal steps, then repeats the latter. All blocks that it fills stay constant:
/// the steps are in the first or in the last block, whichever has more of the run, or all over a run in one or two blocks. A run at an end
/// of the chunk repeats its only neighbour; 0 if there is none.
template <element T>
void bridge(T* x, std::size_t n, const places& at) noexcept
{
    std::size_t i = 0;
    const auto next = [&](bool special) {  // the first position from i on that is special, or is not
        for (std::size_t k = i / block_elements; k < at.blocks; ++k) {
            u32 left = special ? at.masks[k] : ~at.masks[k];
            if (k == i / block_elements) left &= 0xffffffffu << i % block_elements;
            if (left != 0) return std::min(n, block_elements * k + static_cast<std::size_t>(std::countr_zero(left)));
        }
        return n;
    };
    while ((i = next(true)) < n) {
        const std::size_t first = i, end = next(false);
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

inline constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 3) / 4 * 4; }

/// How a block is told of in a layer.
enum class form : u8 { none, mask, run, throughout };

constexpr bool is_run(u32 mask) noexcept
{
    const u32 moved = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    return moved != 0 && (moved & (moved + 1)) == 0;
}
/// @param all  whole() of the block
constexpr form form_of(u32 mask, u32 all) noexcept
{
    if (mask == 0) return form::none;
    if (mask == all) return form::throughout;
    return is_run(mask) || is_run(all & ~mask) ? form::run : form::mask;
}
/// @param mask  of form::run
constexpr std::uint16_t run_of(u32 mask, u32 all) noexcept
{
    const bool others = !is_run(mask);
    const u32 run = others ? all & ~mask : mask;
    return static_cast<std::uint16_t>(std::countr_zero(run) | (31 - std::countl_zero(run)) << 5 | int{others} << 10);
}
/// 0 if this is no run.
constexpr u32 mask_of_run(std::uint16_t run, u32 all) noexcept
{
    const u32 first = run & 31, last = run >> 5 & 31;
    if (run >> 11 != 0 || last < first) return 0;
    const u32 mask = 0xffffffffu >> (31 - last + first) << first;
    return (run >> 10 & 1) != 0 ? all & ~mask : mask;
}

/// Where the parts of a layer begin.
struct layer {
    std::size_t of[4] = {};  ///< blocks by form
    bool dense = false;
    std::size_t numbers = 4, runs = 0, masks = 0, values = 0;

    void place(std::size_t blocks) noexcept
    {
        runs = numbers + padded(dense ? (blocks + 3) / 4 : named());
        masks = runs + padded(2 * count(form::run));
        values = masks + 4 * count(form::mask);
    }
    std::size_t count(form f) const noexcept { return of[static_cast<u8>(f)]; }
    std::size_t named() const noexcept { return of[1] + of[2] + of[3]; }
};

/// Appends a layer.
/// @param x      the values    @param masks  which of them, at least one    @param one  the bits of all of them; null if each is stored
/// @return       its end; null if there is too little room
template <element T>
u8* put_layer(const T* x, std::size_t n, const u32* masks, const T* one, u8* to, const u8* end) noexcept
{
    const std::size_t blocks = blocks_of(n);
    form forms[most_blocks];
    layer l;
    std::size_t values = 0;
    for (std::size_t k = 0; k < blocks; ++k) {
        forms[k] = form_of(masks[k], whole(n, k));
        ++l.of[static_cast<u8>(forms[k])];
        values += static_cast<std::size_t>(std::popcount(masks[k]));
    }
    l.dense = padded((blocks + 3) / 4) < padded(l.named());
    l.place(blocks);
    const std::size_t bytes = l.values + (one != nullptr ? 1 : values) * sizeof(T);
    if (bytes > static_cast<std::size_t>(end - to)) return nullptr;
    const u32 head = static_cast<u32>(l.count(form::mask) | l.count(form::run) << 9 | l.count(form::throughout) << 18) |
                     u32{l.dense} << 27 | u32{one == nullptr} << 28;
    std::memset(to, 0, l.masks);
    std::memcpy(to, &head, sizeof head);
    u8 *run_at = to + l.runs, *mask_at = to + l.masks, *value_at = to + l.values;
    std::size_t next[4] = {0, l.numbers, l.numbers + l.of[1], l.numbers + l.of[1] + l.of[2]};
    if (one != nullptr) std::memcpy(value_at, one, sizeof(T));
    for (std::size_t k = 0; k < blocks; ++k) {
        const auto f = static_cast<u8>(forms[k]);
        if (forms[k] == form::none) continue;
        u8& place = l.dense ? to[l.numbers + k / 4] : to[next[f]++];
        place = l.dense ? static_cast<u8>(place | f << 2 * (k % 4)) : static_cast<u8>(k);
        if (forms[k] == form::run) {
            const std::uint16_t run = run_of(masks[k], whole(n, k));
            std::memcpy(run_at, &run, sizeof run);
            run_at += sizeof run;
        }
        if (forms[k] == form::mask) {
            std::memcpy(mask_at, masks + k, 4);
            mask_at += 4;
        }
        if (one == nullptr)
            for (u32 left = masks[k]; left != 0; left &= left - 1, value_at += sizeof(T))
                std::memcpy(value_at, x + block_elements * k + std::countr_zero(left), sizeof(T));
    }
    return to + bytes;
}

/// Appends the section of a chunk: a layer for each value that occurs often, one for all others.
/// @param x   the chunk, n values    @param at  its special values, at least one
/// @return    the end of the section, a multiple of 4 bytes behind `to`; null if it does not fit
template <element T>
[[gnu::noinline]] u8* write(const T* x, std::size_t n, const places& at, u8* to, const u8* end) noexcept
{
    using word = typename fields_of<T>::word;
    u32 untried[most_blocks], others[most_blocks] = {}, equal[most_blocks];
    std::memcpy(untried, at.masks, sizeof(u32) * at.blocks);
    std::size_t left = at.values, of_others = 0, first = 0;
    for (std::size_t candidate = 0; left > 0 && candidate < most_candidates; ++candidate) {
        while (untried[first] == 0) ++first;
        const T* const one = x + block_elements * first + std::countr_zero(untried[first]);
        const word bits = bits_at(one, 0);
        std::size_t count = 0;
        for (std::size_t k = 0; k < at.blocks; ++k) {
            equal[k] = 0;
            if (untried[k] == 0) continue;
            equal[k] = untried[k] & mask_of(x + block_elements * k, length_of(n, k), [=](word w) { return static_cast<u8>(w == bits); });
            untried[k] &= ~equal[k];
            count += static_cast<std::size_t>(std::popcount(equal[k]));
        }
        left -= count;
        if (count >= least_equal) {
            to = put_layer(x, n, equal, one, to, end);
            if (to == nullptr) return nullptr;
            continue;
        }
        of_others += count;
        for (std::size_t k = 0; k < at.blocks; ++k) others[k] |= equal[k];
    }
    if (left + of_others == 0) return to;
    for (std::size_t k = 0; k < at.blocks; ++k) others[k] |= untried[k];
    return put_layer<T>(x, n, others, nullptr, to, end);
}

/// The blocks of a layer. Total: any bytes are safe.
/// @param masks  gets the mask of each block; 0 if it has no special value
/// @return       the number of special values; 0 if this is no layer of a chunk of n values
inline std::size_t read_blocks(const u8* from, std::size_t bytes, std::size_t n, layer& l, bool& own, u32* masks) noexcept
{
    const std::size_t blocks = blocks_of(n);
    u32 head;
    if (bytes < sizeof head) return 0;
    std::memcpy(&head, from, sizeof head);
    for (unsigned f = 1; f < 4; ++f) l.of[f] = head >> 9 * (f - 1) & 511;
    l.dense = (head >> 27 & 1) != 0;
    own = (head >> 28 & 1) != 0;
    l.place(blocks);
    if (head >> 29 != 0 || l.named() > blocks || bytes < l.values) return 0;
    form forms[most_blocks] = {};
    if (l.dense) {
        std::size_t of[4] = {};
        for (std::size_t k = 0; k < blocks; ++k) {
            forms[k] = static_cast<form>(from[l.numbers + k / 4] >> 2 * (k % 4) & 3);
            ++of[static_cast<u8>(forms[k])];
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
        const u32 all = whole(n, k);
        u32 mask = forms[k] == form::throughout ? all : 0;
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
        if ((mask & ~all) != 0 || (mask == 0 && forms[k] != form::none)) return 0;
        masks[k] = mask;
        values += static_cast<std::size_t>(std::popcount(mask));
    }
    return values;
}

/// Puts the special values of a section in their places. Total: any bytes are safe.
/// @return  false if these are not the layers of a chunk of n values
template <element T>
[[gnu::noinline]] bool read(const u8* from, std::size_t bytes, T* x, std::size_t n) noexcept
{
    while (bytes > 0) {
        layer l;
        bool own = false;
        u32 masks[most_blocks];
        const std::size_t values = read_blocks(from, bytes, n, l, own, masks);
        const std::size_t in_all = l.values + (own ? values : 1) * sizeof(T);
        if (values == 0 || bytes < in_all) return false;
        const u8* value = from + l.values;
        typename fields_of<T>::word one;
        std::memcpy(&one, value, sizeof one);
        for (std::size_t k = 0; k < blocks_of(n); ++k) {
            T* const block = x + block_elements * k;
            if (!own && masks[k] == 0xffffffffu) {
                for (std::size_t i = 0; i < block_elements; ++i) std::memcpy(block + i, &one, sizeof one);
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

CCOLL_EXACT_END

}  // namespace ccoll::detail::specials
