// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/choice.cuh - floor 4. Chunks of SZp for movement that the common grid does not hold, or that have special values or markers: how
// they are encoded is decided here, and they are written here. All threads of a block take part, with quanta of 64 bits and no care
// for speed, so that the registers of the usual path are not spent on them. The choices are those of codec/szp/movement.hpp.
#pragma once

#include <ccoll/cuda/szp/kept.cuh>
#include <ccoll/cuda/szp/layout.cuh>
#include <ccoll/cuda/szp/specials.cuh>
#include <ccoll/cuda/szp/survey.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// One way to encode a chunk.
template <class T>
struct attempt {
    static constexpr u32 unsupported = 15;  ///< kind: no grid holds the chunk
    special_rule<T> rule;
    bool common_only = false;
    u32 kind = unsupported;
    bool alone = false;
    T step = 0;           ///< of a fine chunk
    word_of<T> most = 0;  ///< bits of the largest |x| that is encoded
    u32 special_values = 0;
    u32 section_words = 0, words = 0;  ///< of the chunk, the section included
    u32 steep = chunk_blocks;
};

/// Shared memory of an encoder for movement.
template <class T>
struct movement_room {
    alignas(16) u8 values[chunk_elements * sizeof(T)];  // the values of the chunk, staged; then, on the usual path, its words
    layout_room layout;
    noise_room noise;
    specials_room specials;
    warp_words<word_of<T>> most;
    attempt<T> chosen;  // of a chunk for which the usual path does not do
    word_of<T> marker;
    T lattice_of_first;
    u64 place;
    u32 blocks_done;
};

template <class T>
CCOLL_DEVICE i64 quantum_on(const attempt<T>& a, T x, const grid<T>& z, double fine_inverse)
{
    if (a.kind != fine) return quantum(x, z.inverse);
    if constexpr (is_f32<T>) return quantum_f64(x, fine_inverse);
    else return nearest_quantum(x, a.step, fine_inverse);
}
/// The differences of this thread's block; all 0 if it has none. @return the base of the chunk
template <class T>
CCOLL_DEVICE_RARE i64 differences_on(const attempt<T>& a, u32 blocks, const grid<T>& z, const void* values, i64 (&d)[32])
{
    const double fine_inverse = a.kind == fine ? __ddiv_rn(1.0, static_cast<double>(a.step)) : 0;
    const i64 base = a.alone ? 0 : quantum_on(a, staged<T>(values, 0), z, fine_inverse);
    const bool active = me() < blocks;
    i64 before = !active || me() == 0 ? base : quantum_on(a, staged<T>(values, block_elements * me() - 1), z, fine_inverse);
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) {
        const i64 q = active ? quantum_on(a, staged<T>(values, block_elements * me() + i), z, fine_inverse) : 0;
        d[i] = !active ? 0 : a.alone ? q : minus(q, before);
        before = q;
    }
    return base;
}
CCOLL_DEVICE u32 count_non_zero(const i64 (&d)[32])
{
    u32 n = 0;
    for (u32 i = 0; i < 32; ++i) n += d[i] != 0;
    return n;
}

/// The values of the chunk with 0 for special ones, each thread its own block. By all threads, behind a barrier; the blocks of others are
/// there behind the next one.
template <class E>
CCOLL_DEVICE void stage_without(const E* x, u32 count, u32 mask, void* values)
{
    using T = number_of_element<E>;
    const u32 begin = block_elements * me();
    if (begin >= count) return;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < block_elements; ++i) {
        const u32 from = smaller(begin + i, count - 1);
        stage_one<T>(values, begin + i, (mask >> (from - begin) & 1) != 0 ? word_of<T>{0} : bits_at(x, from));
    }
}

/// The chunk without the values that a rule finds, on the best grid that holds the others. Leaves what is encoded staged.
/// @param common_only  without taking anything out, and on a grid that needs no survey: unsupported where that does not do
/// @return             kind unsupported: no grid holds the chunk
template <class E, class T>
CCOLL_DEVICE_RARE attempt<T> consider(const E* x, u32 count, special_rule<T> rule, bool common_only, const grid<T>& z, movement_room<T>& s)
{
    const u32 blocks = (count + 31) / 32;
    const bool active = me() < blocks;
    attempt<T> a;
    u32 mask = 0;
    for (;;) {
        a.rule = rule;
        a.common_only = common_only;
        mask = common_only ? 0 : find_specials(x, count, rule);
        a.special_values = team_sum(ones_of(mask), s.specials.words);
        stage_without(x, count, mask, s.values);
        lattice_seen seen;
        word_of<T> most = 0, below = 0;
        for (u32 i = 0; active && i < 32; ++i) {
            const T v = staged<T>(s.values, block_elements * me() + i);
            seen.add(v);
            const auto w = magnitude(v);
            most = larger(most, w);
            if (w < rule.limit) below = larger(below, w);
        }
        const bool first_is_zero = !team_any(me() == 0 && most != 0, s.specials.words);
        seen.top = team_max(seen.top, s.specials.words);
        seen.lowest = team_min(seen.lowest, s.specials.words);
        const T of_common = seen.step(z.step), lattice = seen.step(z.power);
        a.most = team_max(most, s.most);
        if (common_only || a.special_values > 0) {
            if (is_f32<T> && of_common > 0 && !first_is_zero) {
                a.kind = fine;
                a.step = of_common;
            } else {
                const u32 told_by = noise_blocks<T>(count);
                sample_noise<T>([&](u32 i) { return staged<T>(s.values, block_elements * me() + i); }, most, z, told_by, s.noise);
                __syncthreads();
                a.alone = is_noise(told_by, s.noise);
                if (a.most < z.safe) a.kind = narrow;
            }
        }
        if (a.kind == attempt<T>::unsupported && !common_only) {
            const T own = fine_step(team_max(below, s.most), z);
            a.alone = false;
            a.step = lattice > own ? lattice : own;
            if (a.step > 0) a.kind = fine;
        }
        if (a.kind != attempt<T>::unsupported) break;
        // No grid between the common one and the values: only those stay that the common one holds.
        if (common_only || rule.limit <= z.safe) return a;
        rule.limit = z.safe;
    }
    if (!a.alone && a.special_values > 0) bridge<T>(s.values, count, mask, s.specials);
    i64 d[32];
    differences_on(a, blocks, z, s.values, d);
    const chunk_layout l = lay_out<false>(blocks, width_of(d), false, a.kind == fine, [&] { return count_non_zero(d); }, s.layout);
    if (l.flat) a.kind = flat;
    if (a.special_values > 0) a.section_words = put_section(x, count, mask, nullptr, s.specials);
    a.words = head_words<T>(a.kind) + l.body_words() + a.section_words;
    a.steep = l.steep;
    return a;
}

/// Is there an |x| from `least` on that is less than `limit`, as bits? By all threads.
template <class E, class T>
CCOLL_DEVICE_RARE bool reaches(const E* x, u32 count, word_of<T> least, word_of<T> limit, movement_room<T>& s)
{
    bool any = false;
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < count; i += team_threads) {
        const word_of<T> w = bits_at(x, i) & ~fields_of<T>::sign;
        any = any || (w >= least && w < limit);
    }
    return team_any(any, s.specials.words);
}

/// The shortest way on a grid to encode a chunk for which the usual path does not do. What it encodes is staged.
/// @param rule  which values are special, markers included    @return kind unsupported: there is none
template <class E, class T>
CCOLL_DEVICE attempt<T> best_on_grid(const E* x, u32 count, special_rule<T>& rule, const grid<T>& z, movement_room<T>& s)
{
    const u32 raw_bytes = count * static_cast<u32>(sizeof(T));
    attempt<T> best = consider(x, count, rule, true, z, s);
    rule.limit = z.fine_limit;
    if (best.kind == attempt<T>::unsupported) {
        best = consider(x, count, rule, false, z, s);
        if (best.special_values > count / 32 && reaches(x, count, z.fine_limit, z.far_limit, s)) {
            special_rule<T> farther;
            farther.limit = z.far_limit;
            const attempt<T> next = consider(x, count, farther, false, z, s);
            const bool takes = next.kind != attempt<T>::unsupported && (best.kind == attempt<T>::unsupported || next.words < best.words);
            if (takes) {
                best = next;
                rule = farther;
            } else {
                best = consider(x, count, rule, false, z, s);  // what is staged belongs to the other attempt now
            }
        }
    }
    for (u32 m = 0; m < 3; ++m) {
        if (best.kind == attempt<T>::unsupported || 4 * best.words >= raw_bytes || best.steep == chunk_blocks) break;
        if (warp() == 0) {  // behind the barriers of consider()
            const auto found =
                find_marker<T>([&](u32 i) { return staged<T>(s.values, i); },
                               [&](u32 i) { return best.special_values > 0 && best.rule(bits_at(x, i)); }, count, best.steep);
            if (lane() == 0) s.marker = found;
        }
        __syncthreads();
        if (s.marker == special_rule<T>::nothing) break;
        rule.markers[m] = s.marker;
        const attempt<T> next = consider(x, count, rule, false, z, s);
        if (next.kind == attempt<T>::unsupported || next.words >= best.words)  // what is staged belongs to another attempt now
            return consider(x, count, best.rule, best.common_only, z, s);
        best = next;
    }
    return best;
}

/// How a chunk is encoded for which the usual path does not do, as the host does it: on a grid, or kept. It goes to s.chosen, which others
/// see behind the next barrier, and what it encodes is staged, unless it is kept.
/// @param too_long  no grid is to be tried: the usual path found that the chunk is not shorter than its values
/// @return          its words; as many as the values have if the chunk is raw
template <class E, class T>
CCOLL_DEVICE_RARE u32 choose(const E* x, u32 count, bool too_long, const grid<T>& z, movement_room<T>& s)
{
    constexpr u32 many = 32;  // a share of the bytes
    const u32 raw_words = count * static_cast<u32>(sizeof(T) / 4);
    special_rule<T> rule;
    attempt<T> best;
    if (!too_long) best = best_on_grid(x, count, rule, z, s);
    const bool is_shorter = best.kind != attempt<T>::unsupported && best.words < raw_words;
    const bool below_ulp = !too_long && rule.limit > z.fine_limit;
    if (!is_shorter || below_ulp || 4 * best.section_words > 4 * raw_words / many) {
        const u32 words = plan_kept(x, count, s.specials).words;
        if (words < (is_shorter ? best.words : raw_words)) {
            best = {};
            best.kind = kept;
            best.words = words;
        }
    }
    if (me() == 0) s.chosen = best;
    return best.kind == attempt<T>::unsupported ? raw_words : smaller(best.words, raw_words);
}

/// Writes the front of a chunk to device memory: head, codes, class planes. By all threads; s.codes are there.
/// @param third  what stands behind the base: `largest`, or a step    @return where the planes of this thread's block go
template <class T>
CCOLL_DEVICE u32* put_front(const chunk_layout& l, u32 kind, u32 escaped, bool bit_30, u64 base, u64 third, u32 a, u32 b, u32 blocks,
                            const layout_room& s, u32* to)
{
    const u32 in_front = head_words<T>(kind);
    if (me() == 0) {
        to[0] = l.head(kind, escaped, bit_30);
        const bool is_long = in_front == 5;
        to[1] = static_cast<u32>(base);
        to[2] = static_cast<u32>(is_long ? base >> 32 : third);
        if (is_long) {
            to[3] = static_cast<u32>(third);
            to[4] = static_cast<u32>(third >> 32);
        }
    }
    if (l.flat) return nullptr;
    put_codes(l, blocks, s, to + in_front);
    u32* const p = to + in_front + l.codes + l.before;
    if (l.code < class_code) return p;
    p[0] = a;
    p[1] = b;
    return p + 2;
}

/// Writes the chunk as s.chosen says; its values are staged, unless it is kept. By all threads, behind a barrier.
template <class E, class T>
CCOLL_DEVICE_RARE void put_chosen(const E* x, u32 count, const grid<T>& z, movement_room<T>& s, u32* to)
{
    if (s.chosen.kind == kept) return put_kept(x, count, s.values, to, s.specials);
    const u32 blocks = (count + 31) / 32;
    i64 d[32];
    const attempt<T>& a = s.chosen;
    attempt<T> how = a;
    if (a.kind == flat) how.kind = narrow;
    const i64 base = differences_on(how, blocks, z, s.values, d);
    const chunk_layout l = lay_out<false>(blocks, width_of(d), false, a.kind == fine, [&] { return count_non_zero(d); }, s.layout);
    __syncthreads();  // for the codes
    const u64 third = a.kind == fine ? u64{bits_of(a.step)} : u64{largest_quantum<T>(a.most, z.inverse_f64)};
    u32* const planes =
        put_front<T>(l, a.kind, a.section_words, a.alone && a.kind == narrow, static_cast<u64>(base), third, 0, 0, blocks, s.layout, to);
    if (!l.flat) put_planes(d, l.words, planes);
    if (l.lists) {
        u8* const lists = reinterpret_cast<u8*>(to + head_words<T>(a.kind) + l.codes + l.block_words);
        if (me() < blocks && l.code <= most_listed) {
            u8* at = lists + l.list_before;
            CCOLL_NO_UNROLL
            for (u32 i = 0; i < 32; ++i)
                if (d[i] != 0) *at++ = list_entry(i, static_cast<u32>(d[i]));
        }
        if (me() < (4 - l.list_bytes % 4) % 4) lists[l.list_bytes + me()] = 0;
    }
    if (a.section_words > 0)
        put_section(x, count, find_specials(x, count, a.rule), reinterpret_cast<u8*>(to + a.words - a.section_words), s.specials);
}

}  // namespace ccoll::detail::device::szp
