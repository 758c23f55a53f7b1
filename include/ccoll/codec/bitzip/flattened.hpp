// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/flattened.hpp - floor 2. Loops that compilers vectorise, for each instruction set: the same functions, inlined into one that
// is compiled for the set.
#pragma once

#include <cstddef>
#include <span>

#include <ccoll/base/isa.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/bitzip/lanes.hpp>
#include <ccoll/codec/codec_impl.hpp>

#if defined(__GNUC__)
#define CCOLL_FLATTEN __attribute__((flatten))
#else
#define CCOLL_FLATTEN
#endif

namespace ccoll::inline CCOLL_ABI::detail::bitzip {

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
namespace portable {
#include <ccoll/codec/bitzip/flattened.inl>
}  // namespace portable
#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_X86_KERNELS)
#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
namespace avx2 {
#include <ccoll/codec/bitzip/flattened.inl>
}  // namespace avx2
#include <ccoll/base/kernels_end.inl>

namespace avx512 = avx2;  // eight lanes of float fill a register of AVX2
namespace avx512_gfni = avx2;
#elif defined(CCOLL_NEON_KERNELS)
namespace neon = portable;
#endif

template <class Coder, class T>
inline constexpr by_isa chunk_encoders{CCOLL_EACH_ISA(encode_lanes<Coder, T>)};
template <class Coder, class T>
inline constexpr by_isa chunk_decoders{CCOLL_EACH_ISA(decode_lanes<Coder, T>)};

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip

#undef CCOLL_FLATTEN
