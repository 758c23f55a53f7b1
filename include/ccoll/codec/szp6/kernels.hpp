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
template <element T>
inline constexpr by_isa fillers{CCOLL_UP_TO_AVX2(fill<T>)};
template <element T>
inline constexpr by_isa noise_detectors{CCOLL_UP_TO_AVX2(is_noise<T>)};
template <element T>
inline constexpr by_isa judges{CCOLL_UP_TO_AVX2(choose_above<T>)};
template <element T>
inline constexpr by_isa magnitude_finders{CCOLL_UP_TO_AVX2(largest_magnitude<T>)};
template <element T>
inline constexpr by_isa lattice_finders{CCOLL_UP_TO_AVX2(find_lattice<T>)};
template <element T>
inline constexpr by_isa zero_counters{CCOLL_UP_TO_AVX2(leading_zeros<T>)};
inline constexpr by_isa adders{CCOLL_UP_TO_AVX2(add)};
inline constexpr by_isa narrow_readers{CCOLL_UP_TO_AVX2(read_narrow)};
inline constexpr by_isa wide_readers{CCOLL_UP_TO_AVX2(read_wide)};
inline constexpr by_isa packers{CCOLL_UP_TO_AVX2(pack)};
template <element T>
inline constexpr by_isa wide_quantisers{CCOLL_UP_TO_AVX2(quantise_wide<T>)};
template <element T>
inline constexpr by_isa wide_dequantisers{CCOLL_UP_TO_AVX2(dequantise_wide<T>)};

}  // namespace ccoll::inline CCOLL_ABI::detail::szp6
