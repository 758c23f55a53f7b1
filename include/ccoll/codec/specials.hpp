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

#include <cstddef>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/specials/kernels.hpp>

namespace ccoll::inline CCOLL_ABI::detail::specials {

template <element T>
inline constexpr by_isa splitters{CCOLL_EACH_ISA(split<T>)};
template <element T>
inline constexpr by_isa bridges{CCOLL_EACH_ISA(bridge<T>)};
template <element T>
inline constexpr by_isa matchers{CCOLL_EACH_ISA(match<T>)};
template <element T>
inline constexpr by_isa writers{CCOLL_EACH_ISA(write<T>)};
template <element T>
inline constexpr by_isa readers{CCOLL_EACH_ISA(read<T>)};
inline constexpr by_isa block_readers{CCOLL_EACH_ISA(read_blocks)};
template <element T>
inline constexpr by_isa putters{CCOLL_EACH_ISA(put_in_blocks<T>)};

// What these do, specials/loops.inl says.

template <element T>
void split(const T* x, std::size_t n, const rule<T>& is, places& found, T* to) noexcept
{
    splitters<T>.in_use()(x, n, is, found, to);
}
template <element T>
void bridge(T* x, std::size_t n, const places& at) noexcept
{
    bridges<T>.in_use()(x, n, at);
}
template <element T>
std::size_t match(const T* x, std::size_t n, const u32* of, typename rule<T>::word bits, u32* same) noexcept
{
    return matchers<T>.in_use()(x, n, of, bits, same);
}
template <element T>
u8* write(const T* x, std::size_t n, const places& at, u8* to, const u8* end) noexcept
{
    return writers<T>.in_use()(x, n, at, to, end);
}
template <element T>
bool read(const u8* from, std::size_t bytes, T* x, std::size_t n) noexcept
{
    return readers<T>.in_use()(from, bytes, x, n);
}
inline std::size_t read_blocks(const u8* from, std::size_t bytes, std::size_t n, u32 flags, layer& l, bool& own, u32* masks,
                               named_blocks& named) noexcept
{
    return block_readers.in_use()(from, bytes, n, flags, l, own, masks, named);
}
template <element T>
void put_one(T* x, std::size_t n, const u32* masks, const named_blocks& named, typename fields_of<T>::word one) noexcept
{
    putters<T>.in_use()(x, n, masks, named, one);
}

}  // namespace ccoll::detail::specials
