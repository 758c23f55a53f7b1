// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials/layer.hpp - floor 2. Writes the front of a layer (codec/specials.hpp draws it): which values of a chunk are special.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/codec/specials/layout.hpp>

#if defined(__GNUC__)
#define CCOLL_IN_KERNELS __attribute__((always_inline)) inline
#else
#define CCOLL_IN_KERNELS inline
#endif

namespace ccoll::inline CCOLL_ABI::detail::specials {

/// Are the bits of a mask other than 0 next to each other?
CCOLL_IN_KERNELS bool is_run(u32 mask) noexcept { return (mask & (mask + (mask & (0u - mask)))) == 0; }

/// The blocks of a layer, which must be named in order. Each form is kept for itself, as it is written.
class layer_front {
public:
    void clear() noexcept
    {
        std::memset(of_, 0, sizeof of_);
        std::memset(dense_, 0, sizeof dense_);
    }
    /// @param mask  of block k, not 0    @param all  whole() of the block
    CCOLL_IN_KERNELS void add(std::size_t k, u32 mask, u32 all) noexcept
    {
        const u32 others = all & ~mask;
        const bool together = is_run(mask);
        const u32 run = together ? mask : others;
        runs_[of_[1]] = static_cast<std::uint16_t>(std::countr_zero(run) | (31 - std::countl_zero(run)) << 5 | int{!together} << 10);
        masks_[of_[0]] = mask;
        const std::size_t f = others == 0 ? 2 : together || is_run(others);
        numbers_[f][of_[f]++] = static_cast<u8>(k);
        dense_[k / 4] = static_cast<u8>(dense_[k / 4] | (f + 1) << 2 * (k % 4));
    }
    std::size_t blocks() const noexcept { return of_[0] + of_[1] + of_[2]; }

    /// @param blocks  of the chunk    @param own  has each value an element of its own?    @param value_bytes  how much follows
    /// @return        where the values go; null if there is too little room for all. They are padded already
    u8* put(std::size_t blocks, bool own, std::size_t value_bytes, u8* to, const u8* end) const noexcept
    {
        layer l;
        for (unsigned f = 0; f < 3; ++f) l.of[f + 1] = of_[f];
        l.dense = padded((blocks + 3) / 4) < padded(l.named());
        l.place(blocks);
        const std::size_t unpadded = l.values + value_bytes, bytes = padded(unpadded);
        if (bytes > static_cast<std::size_t>(end - to)) return nullptr;
        const u32 head = static_cast<u32>(of_[0] | of_[1] << 9 | of_[2] << 18) | u32{l.dense} << 27 | u32{own} << 28;
        std::memset(to + l.runs - 4, 0, 4);  // the ends of what is not a multiple of 4 bytes
        std::memset(to + l.masks - 4, 0, 4);
        std::memset(to + unpadded, 0, bytes - unpadded);
        std::memcpy(to, &head, sizeof head);
        u8* number = to + l.numbers;
        if (l.dense) std::memcpy(number, dense_, (blocks + 3) / 4);
        else
            for (unsigned f = 0; f < 3; number += of_[f++]) std::memcpy(number, numbers_[f], of_[f]);
        std::memcpy(to + l.runs, runs_, 2 * of_[1]);
        std::memcpy(to + l.masks, masks_, 4 * of_[0]);
        return to + l.values;
    }
    /// A layer of equal values, or times they have been added. @return its end; null if there is too little room
    template <class Value>
    u8* put_equal(std::size_t blocks, Value one, u8* to, const u8* end) const noexcept
    {
        u8* const at = put(blocks, false, sizeof one, to, end);
        if (at == nullptr) return nullptr;
        std::memcpy(at, &one, sizeof one);
        return at + padded(sizeof one);
    }

private:
    std::size_t of_[3];  ///< blocks that have a mask, a run, special values throughout
    u8 dense_[most_blocks / 4];
    u8 numbers_[3][most_blocks];
    std::uint16_t runs_[most_blocks];
    u32 masks_[most_blocks];
};

}  // namespace ccoll::detail::specials

#undef CCOLL_IN_KERNELS
