// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/kernels.hpp - floor 2. The loops over sections of exceptional values for each instruction set. The primitives are those
// of special values.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/exceptions/layout.hpp>
#include <ccoll/codec/specials/kernels.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::portable {
using specials::portable::equal, specials::portable::put, specials::portable::put_all, specials::portable::mask_of_run;
#include <ccoll/codec/exceptions/loops.inl>
#include <ccoll/codec/exceptions/merge.inl>
}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::portable
#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx2 {
using specials::avx2::equal, specials::avx2::put, specials::avx2::put_all, specials::avx2::mask_of_run;
#include <ccoll/codec/exceptions/loops.inl>
#include <ccoll/codec/exceptions/merge.inl>
}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx2
#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx512 {
using specials::avx512::equal, specials::avx512::put, specials::avx512::put_all, specials::avx512::mask_of_run;
#include <ccoll/codec/exceptions/loops.inl>
}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx512
#include <ccoll/base/kernels_end.inl>

namespace ccoll::inline CCOLL_ABI::detail::exceptions {
namespace avx512_gfni = avx512;
}

#elif defined(CCOLL_NEON_KERNELS)
namespace ccoll::inline CCOLL_ABI::detail::exceptions {
namespace neon = portable;  // compilers make NEON of it
}
#endif
