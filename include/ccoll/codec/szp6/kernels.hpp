// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp6/kernels.hpp - floor 2. The kernels of SZp by instruction set; chosen per chunk, never per block.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp6/avx2.hpp>
#include <ccoll/codec/szp6/portable.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp6 {

/// Each loop has a table of its own, so that a program that only encodes compiles nothing else.
template <element T>
inline constexpr by_isa encoders{CCOLL_UP_TO_AVX2(encode<T>)};
template <element T>
inline constexpr by_isa encoders_above{CCOLL_UP_TO_AVX2(encode_above<T>)};
template <element T>
inline constexpr by_isa decoders{CCOLL_UP_TO_AVX2(decode<T>)};
template <element T>
inline constexpr by_isa decoders_above{CCOLL_UP_TO_AVX2(decode_above<T>)};
inline constexpr by_isa adders{CCOLL_UP_TO_AVX2(add)};

}  // namespace ccoll::inline CCOLL_ABI::detail::szp6
