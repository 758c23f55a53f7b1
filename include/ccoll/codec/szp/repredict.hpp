// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/repredict.hpp - floor 2. The same quanta with another predictor: what addends need whose chunks were predicted differently.
// Differences over the same distance are added plane by plane, because every predictor of SZp is linear. Others have to agree first.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp/kernels.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Room for the blocks of a chunk whose differences have 32 bits at most, and for what kernels write behind them.
inline constexpr std::size_t longest_narrow_blocks = chunk_blocks * (4 * widest_narrow + 8) + slack;

namespace portable {
#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
#include <ccoll/codec/szp/repredict.inl>

#include <ccoll/base/kernels_end.inl>
}  // namespace portable

#if defined(CCOLL_X86_KERNELS)

namespace avx2 {
#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
#include <ccoll/codec/szp/repredict.inl>

#include <ccoll/base/kernels_end.inl>
}  // namespace avx2

namespace avx512 {
#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>
#include <ccoll/codec/szp/repredict.inl>

#include <ccoll/base/kernels_end.inl>
}  // namespace avx512

namespace avx512_gfni {
#define CCOLL_TARGET CCOLL_AVX512_GFNI
#include <ccoll/base/kernels_begin.inl>
#include <ccoll/codec/szp/repredict.inl>

#include <ccoll/base/kernels_end.inl>
}  // namespace avx512_gfni

#elif defined(CCOLL_NEON_KERNELS)

namespace neon {
#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
#include <ccoll/codec/szp/repredict.inl>

#include <ccoll/base/kernels_end.inl>
}  // namespace neon

#endif

inline constexpr by_isa repredictors{CCOLL_EACH_ISA(repredict)};

/// A chunk of an addend with another predictor.
struct repredicted {
    chunk_view view;
    u8 blocks[longest_narrow_blocks];

    /// @param from  narrow, or with rows, and not flat    @param above  none: predicted from the value before alone
    [[gnu::noinline]] repredicted(const chunk_view& from, std::size_t n, rows::distances above) noexcept
    {
        view.what = above.none() ? kind::narrow : kind::rows;
        view.base = from.base;
        view.largest = from.largest;
        view.above = above;
        view.count = from.count;
        view.specials = from.specials;
        const encoded_blocks made = repredictors.in_use()(from, n, above, blocks, view.codes.of);
        view.blocks = blocks;
        view.blocks_bytes = static_cast<std::size_t>(made.end - blocks);
        view.escaped = made.escaped;
    }
};

}  // namespace ccoll::detail::szp
