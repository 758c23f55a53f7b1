// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_lists_portable.hpp - floor 2. A block of SZp between planes and a list of its differences, in plain C++.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/codec/szp_words.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp::lists {

/// Blocks of up to 3 planes can be lists, of up to 7 differences; those of up to 8 planes can stand beside them.
inline constexpr unsigned most_listed = 7, widest_listed = 3, widest_beside = 8;
inline constexpr unsigned planes_code = most_listed;  ///< code planes_code + w: w planes

/// Up to three planes of differences; those above the width repeat the sign.
struct few_planes {
    u32 of[widest_listed];

    few_planes(u32 first, u32 second, u32 third) noexcept : of{first, second, third} {}
    /// @param in  the planes of a block of 1 to 3
    few_planes(const u8* in, unsigned width) noexcept : of{get<u32>(in), get<u32>(in + 4 * (width > 1)), get<u32>(in + 4 * (width - 1))} {}

    u32 any() const noexcept { return of[0] | of[1] | of[2]; }
    /// 0..3; planes that repeat the sign do not count.
    unsigned width() const noexcept
    {
        const unsigned third = of[2] != of[1], second = of[1] != of[0] || third != 0, first = of[0] != 0 || second != 0;
        return first + second + third;
    }
};

/// How many differences the list of a block has; the code of its planes, if these are not longer.
inline unsigned code_of(unsigned width, unsigned differences) noexcept
{
    return differences < 4 * width && differences <= most_listed ? differences : planes_code + width;
}

/// The two may overlap, if `to` is in front. @return the end
inline u8* copy_planes(const u8* from, unsigned width, u8* to) noexcept
{
    for (unsigned w = 0; w < width; ++w) put(to + 4 * w, get<u32>(from + 4 * w));
    return to + 4 * width;
}

#if defined(__GNUC__)
#define CCOLL_SZP_INLINE inline __attribute__((always_inline))
#else
#define CCOLL_SZP_INLINE inline
#endif

/// The first four in any case: a loop that ends after each count would be mispredicted for every block.
CCOLL_SZP_INLINE void put_one_by_one(const few_planes& p, unsigned count, u8* to) noexcept
{
    u32 left = p.any();
    const u64 low = p.of[0] | u64{p.of[1]} << 32;
    const auto next = [&](u32 of) {
        const auto place = static_cast<unsigned>(std::countr_zero(of));
        const u64 both = low >> place;
        left &= left - 1;
        return static_cast<u8>(place | (both & 1) << 5 | (both >> 26 & 0x40) | (p.of[2] >> place & 1) << 7);
    };
    for (unsigned j = 0; j < 4; ++j) to[j] = next(left | u32{1} << 31);
    for (unsigned j = 4; j < count; ++j) to[j] = next(left);
}

namespace portable {

#define CCOLL_SZP_TARGET
/// std::popcount is a call without -mpopcnt.
CCOLL_SZP_INLINE unsigned ones_of(u32 v) noexcept
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
CCOLL_SZP_INLINE void put_list(const few_planes& p, unsigned count, u8* to) noexcept { put_one_by_one(p, count, to); }
/// [the three bits of an entry] planes 0 and 1
inline constexpr u64 low_planes[8] = {0, 1, u64{1} << 32, u64{1} << 32 | 1, 0, 1, u64{1} << 32, u64{1} << 32 | 1};
CCOLL_SZP_INLINE few_planes get_list(const u8* from, unsigned count) noexcept
{
    u64 low = 0;
    u32 high = 0;
    const auto add = [&](u32 entry) {
        low |= low_planes[entry >> 5] << (entry & 31);
        high |= (entry >> 7) << (entry & 31);
    };
    const u32 four = get<u32>(from) & static_cast<u32>((u64{1} << 8 * (count < 4 ? count : 4)) - 1);  // an entry of 0 adds nothing
    add(four & 255), add(four >> 8 & 255), add(four >> 16 & 255), add(four >> 24);
    for (unsigned j = 4; j < count; ++j) add(from[j]);
    return {static_cast<u32>(low), static_cast<u32>(low >> 32), high};
}
#include <ccoll/codec/szp_lists.inl>
#undef CCOLL_SZP_INLINE
#undef CCOLL_SZP_TARGET

}  // namespace portable

}  // namespace ccoll::detail::szp::lists
