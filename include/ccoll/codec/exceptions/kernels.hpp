// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/kernels.hpp - floor 2. The loops over exceptional values and their sections for each instruction set.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/exceptions/avx512.hpp>
#include <ccoll/codec/exceptions/layout.hpp>
#include <ccoll/codec/exceptions/portable.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::portable {
#include <ccoll/codec/exceptions/bridges.inl>
#include <ccoll/codec/exceptions/loops.inl>
#include <ccoll/codec/exceptions/merge.inl>
}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::portable
#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx2 {
#include <ccoll/codec/exceptions/bridges.inl>
#include <ccoll/codec/exceptions/loops.inl>
#include <ccoll/codec/exceptions/merge.inl>
}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx2
#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>
namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx512 {
#include <ccoll/codec/exceptions/bridges.inl>
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
