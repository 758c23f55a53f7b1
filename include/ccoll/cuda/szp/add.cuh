// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/add.cuh - floor 4. Sums of planes, and the fast kernel that adds the addends in two frames. It takes chunks that are usual in
// both.
#pragma once

#include <ccoll/cuda/szp/decode.cuh>
#include <ccoll/cuda/szp/place.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// 32 additions in two's complement at once, plane by plane from the lowest on.
struct ripple {
    u32 carry = 0, last = 0;
    u32 width = 0;  ///< planes up to the last that differs from the one below it, and one more is not needed: it is the sign

    template <u32 Octet>
    CCOLL_DEVICE void add(u32 (&s)[8], const u32 (&b)[8], u32 widest)
    {
        half<Octet, 0>(s, b);
        if (widest > 8 * Octet + 4) half<Octet, 4>(s, b);
    }

private:
    template <u32 Octet, u32 From>
    CCOLL_DEVICE void half(u32 (&s)[8], const u32 (&b)[8])
    {
        CCOLL_UNROLL
        for (u32 k = From; k < From + 4; ++k) {
            const u32 x = s[k], y = b[k], sum = x ^ y ^ carry;
            carry = (x & y) | (x & carry) | (y & carry);
            if (sum != last) width = 8 * Octet + k + 1;
            last = sum;
            s[k] = sum;
        }
    }
};

/// Bytes of shared memory that the planes of a group take, with one octet above them.
inline constexpr u32 staged_bytes = 4 * (32 * most_fast_planes + 32);

/// Exceptional values of two addends, in the memory that planes take later.
struct pair_room {
    team_room team;
    sections_in<1> of[2];
    section_out out;
};
static_assert(sizeof(pair_room) <= team_warps * staged_bytes, "ccoll: exceptional values take the place of planes");

/// Entry i of the sum.
CCOLL_DEVICE wide sum_of_entries(const pair_room& r, u32 i) { return r.of[0].wide_of_entry(0, i) + r.of[1].wide_of_entry(0, i); }
/// Exceptional values in the same places of both, and the same runs of them, or one value alone. By all threads; there are barriers in
/// here.
/// @return false: the chunk is for the list
template <class T>
CCOLL_DEVICE bool adjust(const arguments<T>& a, u32 chunk, u32 count)
{
    auto& r = shared_memory<pair_room>();
    for (u32 k = 0; k < 2; ++k)
        if (!read_sections(k == 0 ? a.a : a.b, chunk, count, wide_bytes, r.of[k], r.team)) return false;
    const u32 mask = r.of[0].masks[0][me()], of_x = r.of[0].entries[0], of_y = r.of[1].entries[0], entries = larger(of_x, of_y);
    const places_out p(mask, count, r.team);
    if (p.all == 0) return false;
    bool good = mask == r.of[1].masks[0][me()] && (of_x == 1 || of_y == 1 || of_x == of_y);
    if (of_x > 1 && of_y > 1) {
        const u32 first = r.of[0].before[0][me()];
        for (u32 i = first; i < first + ones_of(mask); ++i) good = good && r.of[0].entry[i] == r.of[1].entry[i];
    }
    if (team_any(!good, r.team.words)) return false;
    good = me() >= entries || !sum_of_entries(r, me()).is(wide::overflow);
    if (team_any(!good, r.team.words)) return false;
    if (me() == 0) r.out.entries = entries;
    measure_section(r.out, p, r.of[of_x > 1 ? 0 : 1].entry, count, wide_bytes, entries > 1, r.team);
    return true;
}
/// Finds the place of the sum, and writes its exceptional values before planes take their room.
template <class T>
CCOLL_DEVICE_RARE void put_beside(const arguments<T>& a, placing p, u32 count)
{
    auto& r = shared_memory<pair_room>();
    if (me() == 0) put_shared(p.exceptions(), r.out.bytes / unit_bytes), put_shared(p.step(), u64{0});
    const u32 front = in_units(front_bytes(groups_of(count), false)), place = p.ask(a.w, front);
    if (me() == 0) {
        put_shared(p.place(), place);
        atomicAdd(&a.w->special_values, static_cast<unsigned long long>(r.out.places));
    }
    __syncthreads();
    u8* const at = a.to.unit(get_shared<u32>(p.place()) + front + (p.found & 0xffff));
    const auto put = [&](u8* to, u32 i) { store_wide(to, sum_of_entries(r, i)); };
    put_section(r.out, r.of[0].masks[0][me()], r.of[r.of[0].entries[0] > 1 ? 0 : 1].entry, count, wide_bytes, 0, put, at, r.team);
    __syncthreads();
}

/// The chunk of this thread block. @tparam Adjusted  exceptional values have been read    @return false: it is not for this way
template <bool Adjusted, class T>
CCOLL_DEVICE bool add_chunk(const arguments<T>& a)
{
    const u32 chunk = blockIdx.x, count = values_of_chunk(a.facts.n, chunk), groups = groups_of(count), g = warp();
    const shared_address staged = g * staged_bytes;
    placing p{team_warps * staged_bytes};
    p.adjusted = Adjusted;
    u32 s[3][8], blocks = 0, ceiling = 0, found = 0;
    group_out out;
    const chunk_place of_x = find_chunk(a.a, chunk), of_y = find_chunk(a.b, chunk);
    const u32 fronts = u32{has_front(of_x, groups)} + u32{has_front(of_y, groups)};  // of both, so that no load waits for the other one
    if (fronts < 2) return false;
    if (g < groups) {
        blocks = blocks_in_group(count, g);
        const group_front p_x(of_x, g, groups, blocks), p_y(of_y, g, groups, blocks);
        const u32 up_to = sum_up_to(p_x.width | p_y.width << 16), words = __shfl_sync(all_lanes, up_to, 31);  // two sums at once
        const group_in x = p_x.template opened<T>(up_to & 0xffff, words & 0xffff), y = p_y.template opened<T>(up_to >> 16, words >> 16);
        const bool usual = (Adjusted | ((x.exceptions | y.exceptions) == 0)) & ((x.step | y.step) == 0) & x.usual & y.usual &
                           (larger(x.widest, y.widest) < most_fast_planes) & (x.ceiling + y.ceiling < fast_limit<T>);
        if (usual) {
            ceiling = x.ceiling + y.ceiling;
            out.base = static_cast<i32>(static_cast<u32>(x.base) + static_cast<u32>(y.base));
            u32 widest = larger(x.widest, y.widest), sign_x = 0, sign_y = 0, t[8];
            widest += widest > 0;
            ripple r;
            if (widest > 0)
                each_octet(widest, [&](auto o) {
                    get_octet<o>(x.planes, widest, s[o], sign_x);
                    get_octet<o>(y.planes, widest, t, sign_y);
                    r.add<o>(s[o], t, widest);
                });
            lay_out(out, r.width, blocks);
            found = out.units();
        } else {
            found = found_unusual;
        }
    }
    p.tell(found, ceiling);
    p.sum_up();
    if ((p.found & (15 * found_unusual)) != 0) return false;
    if (Adjusted) {
        put_beside(a, p, count);
        p.is_known = true;
    }
    put_chunk<3>(p, a.to, a.w, chunk, groups, out, staged, s);
    return true;
}
template <class T>
CCOLL_DEVICE_RARE void add_unusual(const arguments<T>& a)
{
    const u32 chunk = blockIdx.x;
    if (adjust(a, chunk, values_of_chunk(a.facts.n, chunk)) && add_chunk<true>(a)) return;
    if (me() == 0) list_chunk(a.w, chunk);
}

template <class T>
__global__ __launch_bounds__(team_threads, adder_residents) void add(const __grid_constant__ arguments<T> a)
{
    let_next_begin();
    if (!add_chunk<false>(a)) add_unusual(a);
}

}  // namespace ccoll::detail::device::szp
