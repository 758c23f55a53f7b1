// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials/kernels.hpp - floor 2. Special values by instruction set.
#pragma once

#include <ccoll/codec/specials/avx2.hpp>
#include <ccoll/codec/specials/avx512.hpp>
#include <ccoll/codec/specials/portable.hpp>

namespace ccoll::inline CCOLL_ABI::detail::specials {
#if defined(CCOLL_X86_KERNELS)
namespace avx512_gfni = avx512;
#elif defined(CCOLL_NEON_KERNELS)
namespace neon = portable;  // compilers make NEON of it
#endif
}  // namespace ccoll::inline CCOLL_ABI::detail::specials
