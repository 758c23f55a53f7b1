// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/kernels.hpp - floor 2. The kernels of SZp by instruction set; chosen per chunk, never per block.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp/avx512_gfni.hpp>
#include <ccoll/codec/szp/portable.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Each loop has a table of its own, so that a program that only encodes compiles nothing else.
template <element T>
inline constexpr by_isa encoders{CCOLL_EACH_ISA(encode<T>)};
template <element T>
inline constexpr by_isa decoders{CCOLL_EACH_ISA(decode<T>)};
template <element T>
inline constexpr by_isa fillers{CCOLL_EACH_ISA(fill<T>)};
template <element T>
inline constexpr by_isa noise_detectors{CCOLL_EACH_ISA(is_noise<T>)};
template <element T>
inline constexpr by_isa judges{CCOLL_EACH_ISA(choose_above<T>)};
template <element T>
inline constexpr by_isa magnitude_finders{CCOLL_EACH_ISA(largest_magnitude<T>)};
template <element T>
inline constexpr by_isa lattice_finders{CCOLL_EACH_ISA(find_lattice<T>)};
inline constexpr by_isa adders{CCOLL_EACH_ISA(add)};
inline constexpr by_isa narrow_readers{CCOLL_EACH_ISA(read_narrow)};
inline constexpr by_isa group_readers{CCOLL_EACH_ISA(read_group)};
inline constexpr by_isa packers{CCOLL_EACH_ISA(pack)};
template <element T>
inline constexpr by_isa wide_quantisers{CCOLL_EACH_ISA(quantise_wide<T>)};
template <element T>
inline constexpr by_isa wide_dequantisers{CCOLL_EACH_ISA(dequantise_wide<T>)};

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
