// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/kernels.hpp - floor 2. The kernels of SZx by instruction set. szx/portable.hpp says what each
// does.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szx/avx2.hpp>
#include <ccoll/codec/szx/avx512.hpp>
#include <ccoll/codec/szx/neon.hpp>
#include <ccoll/codec/szx/portable.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szx {

template <element T>
inline constexpr by_isa block_planners{CCOLL_EACH_ISA(plan_block<T>)};
template <element T>
inline constexpr by_isa block_encoders{CCOLL_EACH_ISA(encode_block<T>)};
template <element T>
inline constexpr by_isa block_decoders{CCOLL_EACH_ISA(decode_block<T>)};
template <element T>
inline constexpr by_isa block_streamers{CCOLL_EACH_ISA(stream_blocks<T>)};

}  // namespace ccoll::detail::szx
