// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/few_planes.hpp - floor 2. A block of SZp between planes and a list of its differences: what the kernels of all instruction sets
// share.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/codec/szp/layout.hpp>

#define CCOLL_TARGET CCOLL_PLAIN

namespace ccoll::inline CCOLL_ABI::detail::szp::lists {

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

/// Where the lists of a chunk end, and the planes of its blocks that have none.
struct list_ends {
    u8 *lists, *planes;
};

/// The number of differences in the list of a block, or the code of its planes if these are not longer.
constexpr unsigned code_of(unsigned width, unsigned differences) noexcept
{
    return differences < 4 * width && differences <= most_listed ? differences : planes_code + width;
}

/// `from` and `to` may overlap if `to` is the lower address. @return the end
inline u8* copy_planes(const u8* from, unsigned width, u8* to) noexcept
{
    for (unsigned w = 0; w < width; ++w) put(to + 4 * w, get<u32>(from + 4 * w));
    return to + 4 * width;
}

/// Writes four entries in any case, because the end of a loop over `count` of them would be mispredicted in every block.
CCOLL_INLINE void put_one_by_one(const few_planes& p, unsigned count, u8* to) noexcept
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

}  // namespace ccoll::detail::szp::lists

#undef CCOLL_TARGET
