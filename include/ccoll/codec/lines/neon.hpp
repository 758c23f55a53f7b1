// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lines/neon.hpp - floor 2. Where decoders write registers of NEON. There is no line writer: arm_neon.h
// has no store past the caches.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_NEON_KERNELS)
#include <arm_neon.h>

#include <cstddef>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail {

CCOLL_INLINE void write(float* to, std::size_t at, float32x4_t v) noexcept { vst1q_f32(to + at, v); }
CCOLL_INLINE void write(double* to, std::size_t at, float64x2_t v) noexcept { vst1q_f64(to + at, v); }

}  // namespace ccoll::detail

#include <ccoll/base/kernels_end.inl>

#endif
