// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/addends.inl - floor 2. Exceptional values of addends, sections of wide integers W, and
// their sums; part of loops.inl.
//
// A place without `counts` is exceptional in all addends: its value is W, and its quantum is a bridge. A
// place with `counts` has quanta of other addends as well: its value is q + W. An addend has at most one
// section of either kind. A sum depends on what was added, not on the order: wide integers and quanta add up,
// and a place counts once one operand has a quantum there, unless W is a state.

/// Finds the sections of an addend, but no places. Total: any bytes are safe. The addend refers to them.
/// @param in  may end behind them; empty: there are none    @param to  has none yet
CCOLL_INLINE bool find_sections(const_byte_span in, std::size_t n, addend& to) noexcept
{
    const u8* from = bytes_of(in);
    std::size_t bytes = in.size();
    for (bool more = bytes > 0; more;) {
        if (bytes < head_bytes) return false;
        section& s = (from[1] & counts_bit) != 0 ? to.counted : to.alone;
        if (s.is_there() || !find_parts(from, bytes, n, s) || s.bytes(sizeof(wide)) > bytes) return false;
        for (std::size_t i = 0; i < s.entries; ++i)
            if (!entry_of(s, i).is_valid()) return false;
        more = s.more();
        from += s.bytes(sizeof(wide));
        bytes -= s.bytes(sizeof(wide));
    }
    return true;
}
CCOLL_INLINE bool read_places(addend& of, std::size_t n) noexcept
{
    for (section* const s : {&of.alone, &of.counted})
        if (!s->is_there()) std::memset(s->masks, 0, sizeof s->masks);
        else if (!read_masks(*s, n) || !has_valid_runs(*s)) return false;
    u32 both = 0;
    for (std::size_t k = 0; of.counts() && k < blocks_of(n); ++k)
        both |= of.alone.masks[k] & of.counted.masks[k];
    return both == 0;
}
/// Reads the sections of an addend. @see find_sections
CCOLL_TARGET inline bool read_addend(const_byte_span in, std::size_t n, addend& to) noexcept
{
    return find_sections(in, n, to) && read_places(to, n);
}

/// The sections of the operands of a sum: alone and counted of one, and of the other.
using operands = const section* const (&)[4];

CCOLL_INLINE bool are_states(const section& s) noexcept
{
    std::size_t count = 0;
    while (count < s.entries && entry_of(s, count).is_state()) ++count;
    return count == s.entries;
}
/// Are all entries of some sections the same state? Then it, and else 0.
CCOLL_INLINE wide only_state(operands of) noexcept
{
    wide all;
    for (const section* const s : of)
        for (std::size_t i = 0; i < s->entries; ++i) {
            if (all.is_zero()) all = entry_of(*s, i);
            if (!all.is_state() || entry_of(*s, i) != all) return {};
        }
    return all;
}
/// Writes one section of a sum.
/// @param masks  the places of the sum that it has, at least one
CCOLL_TARGET inline u8* merge_section(operands of, std::size_t n, const u32* masks, u8 form, u8* to,
                                      const u8* end) noexcept
{
    u8* const runs = put_places(masks, blocks_of(n), n, to, end);
    if (runs == nullptr) return nullptr;
    value_writer<wide> values(to, runs, end);
    if (const wide state = only_state(of); state.is_state()) {
        values.entry_of(state);
        return values.finish(form);
    }
    std::size_t entry = most_entries, pending = 0;
    run_cursor run[] = {run_cursor(*of[0]), run_cursor(*of[1]), run_cursor(*of[2]), run_cursor(*of[3])};
    const auto value = [&](u32 i) {
        return i == 0 ? wide{} : entry_of(*of[(i - 1) / most_entries], (i - 1) % most_entries);
    };
    recent_entries<u32> recent;
    u32 last = 0;  // of no place
    for (std::size_t k = 0; k < blocks_of(n); ++k) {
        for (std::size_t i = 0; masks[k] == 0 && i < 4; ++i)
            run[i].skip(static_cast<std::size_t>(std::popcount(of[i]->masks[k])));
        if (masks[k] == 0) continue;
        for (u32 left = of[0]->masks[k] | of[1]->masks[k] | of[2]->masks[k] | of[3]->masks[k], piece;
             left != 0; left &= ~piece) {
            // The lowest places that are exceptional in the same sections, and have the same values there.
            const u32 first = left & (0u - left);
            u32 both = 0, behind = 0;  // both: 1 and more for an operand
            std::size_t count = block_elements;
            CCOLL_UNROLLED for (u32 i = 0; i < 4; ++i)
            {
                const u32 mask = of[i]->masks[k];
                behind |= left & ((mask & first) != 0 ? ~mask : mask);
                if ((mask & first) == 0) continue;
                if (run[i].left == 0) run[i].next();
                count = std::min(count, run[i].left);
                both = both << 16 | static_cast<u32>(1 + most_entries * i + run[i].entry);
            }
            piece = left & (behind - 1) & ~behind;
            if (static_cast<std::size_t>(std::popcount(piece)) > count) {
                u32 rest = piece;
                for (std::size_t i = 0; i < count; ++i) rest &= rest - 1;
                piece &= ~rest;
            }
            count = static_cast<std::size_t>(std::popcount(piece));
            for (u32 i = 0; i < 4; ++i) run[i].left -= (of[i]->masks[k] & first) != 0 ? count : 0;
            if ((masks[k] & first) == 0) continue;
            if (both != last) {
                u16& known = recent.of(both);
                if (known == 0) {
                    const wide sum = value(both >> 16) + value(both & 0xffff);
                    known = static_cast<u16>(1 + (sum.is_valid() ? values.entry_of(sum) : most_entries));
                }
                if (entry != known - 1u && pending > 0) {
                    if (!values.add(entry, pending)) return nullptr;
                    pending = 0;
                }
                entry = known - 1u;
                last = both;
            }
            pending += count;
        }
    }
    return values.add(entry, pending) ? values.finish(form) : nullptr;
}

/// Writes the sections of the sum of addends that have been read.
[[gnu::noinline]] CCOLL_TARGET inline merged merge_places(const addend& a, const addend& b, std::size_t n,
                                                          u8* to, const u8* end) noexcept
{
    operands of = {&a.alone, &a.counted, &b.alone, &b.counted};
    // A state stays what it is, whatever but another state is added to it: quanta do not matter there, and
    // places need not count.
    const bool bridges_are_states = are_states(a.alone) && are_states(b.alone),
               states = bridges_are_states && are_states(a.counted) && are_states(b.counted);
    u32 alone[most_blocks], counted[most_blocks], any_alone = 0, any_counted = 0, differ = 0;
    const u32 none_counts = states ? ~u32{0} : 0;
    for (std::size_t k = 0; k < blocks_of(n); ++k) {
        const u32 in_one = a.alone.masks[k] ^ b.alone.masks[k],
                  counts = in_one | a.counted.masks[k] | b.counted.masks[k];
        alone[k] = (a.alone.masks[k] & b.alone.masks[k]) | (counts & none_counts);
        counted[k] = counts & ~none_counts;
        differ |= in_one;
        any_alone |= alone[k];
        any_counted |= counted[k];
    }
    if (any_alone != 0) to = merge_section(of, n, alone, any_counted != 0 ? more_bit : 0, to, end);
    if (any_counted != 0 && to != nullptr) to = merge_section(of, n, counted, counts_bit, to, end);
    return {to, to != nullptr ? status::ok : status::too_large, differ != 0 && !bridges_are_states};
}
/// Writes the sections of a sum where the other addend has the same places, whose values change at the same
/// ones: its bytes, with other values.
/// @param a  has its sections, and places are read
/// @return   unsupported: it has not
CCOLL_INLINE merged merge_alike(const addend& a, const_byte_span in_a, const_byte_span in_b, u8* to,
                                const u8* end) noexcept
{
    merged all{to};
    for (const section* const s : {&a.alone, &a.counted}) {
        if (!s->is_there()) continue;
        const std::size_t at = static_cast<std::size_t>(s->from - bytes_of(in_a)),
                          behind = at + s->bytes(sizeof(wide)), values = at + s->front_bytes();
        if (behind > in_b.size() || std::memcmp(s->from, bytes_of(in_b) + at, s->front_bytes()) != 0)
            return {nullptr, status::unsupported};
        if (behind > static_cast<std::size_t>(end - to)) return {nullptr, status::too_large};
        std::memcpy(to + at, s->from, behind - at);
        for (std::size_t i = 0; i < s->entries; ++i) {
            const wide other = get<wide>(bytes_of(in_b) + values + sizeof(wide) * i),
                       sum = entry_of(*s, i) + other;
            if (!other.is_valid()) return {nullptr, status::corrupt};
            if (!sum.is_valid())
                return {nullptr, status::unsupported};  // an entry of no place may be too large
            integers::put(to + values + sizeof(wide) * i, sum);
        }
        all.end = std::max(all.end, to + behind);
    }
    return all;
}

/// Writes the sections of the sum of two addends, one of which has some. Total: any bytes are safe.
/// @param a, b  have no sections yet
/// @return corrupt, or too_large: a W from 2^190 on, more than 256 different ones, or no room
CCOLL_TARGET inline merged merge(const_byte_span in_a, const_byte_span in_b, std::size_t n, addend& a,
                                 addend& b, u8* to, const u8* end) noexcept
{
    if (!read_addend(in_a, n, a)) return {nullptr, status::corrupt};
    if (!in_a.empty())
        if (const merged all = merge_alike(a, in_a, in_b, to, end); all.code != status::unsupported)
            return all;
    if (!read_addend(in_b, n, b)) return {nullptr, status::corrupt};
    return merge_places(a, b, n, to, end);
}
