// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/kernels.hpp - floor 2. The kernels of SZp by instruction set; chosen per chunk, never per block.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp/avx2.hpp>
#include <ccoll/codec/szp/avx512.hpp>
#include <ccoll/codec/szp/avx512_gfni.hpp>
#include <ccoll/codec/szp/neon.hpp>
#include <ccoll/codec/szp/portable.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Each loop has a table of its own, so that a program that only encodes compiles nothing else.
template <element T>
inline constexpr by_isa encoders{CCOLL_EACH_ISA(encode_blocks<T>)};
template <element T>
inline constexpr by_isa noise_detectors{CCOLL_EACH_ISA(is_noise<T>)};
template <element T>
inline constexpr by_isa decoders{CCOLL_EACH_ISA(decode_blocks<T>)};
template <element T>
inline constexpr by_isa alone_decoders{CCOLL_EACH_ISA(decode_alone<T>)};
template <element T>
inline constexpr by_isa adders{CCOLL_EACH_ISA(add_chunk_blocks)};
template <element T>
inline constexpr by_isa fillers{CCOLL_EACH_ISA(fill<T>)};
inline constexpr by_isa block_encoders_64{CCOLL_EACH_ISA(encode_block_64)};
template <element T>
inline constexpr by_isa block_decoders_64{CCOLL_EACH_ISA(decode_block_64<T>)};
inline constexpr by_isa largest_finders{CCOLL_EACH_ISA(largest_below<float>)};
template <element T>
inline constexpr by_isa largest_magnitudes{CCOLL_EACH_ISA(largest_magnitude<T>)};
inline constexpr by_isa lattice_finders{CCOLL_EACH_ISA(find_lattice<float>)};
inline constexpr by_isa list_writers{CCOLL_EACH_ISA(put_lists)};
inline constexpr by_isa list_readers{CCOLL_EACH_ISA(get_lists)};
template <element T>
inline constexpr by_isa list_decoders{CCOLL_EACH_ISA(decode_lists<T>)};

/// f64 takes the portable one, because it is rare: values above the limit beside others that need a grid of the chunk's own.
inline u32 largest_below(const float* x, std::size_t n, u32 limit) noexcept { return largest_finders.in_use()(x, n, limit); }
inline u64 largest_below(const double* x, std::size_t n, u64 limit) noexcept { return portable::largest_below(x, n, limit); }

/// The same for f64, which seldom has a lattice.
inline fine_grid<float> find_lattice(const float* x, std::size_t n, float least) noexcept { return lattice_finders.in_use()(x, n, least); }
inline fine_grid<double> find_lattice(const double* x, std::size_t n, double least) noexcept { return portable::find_lattice(x, n, least); }

}  // namespace ccoll::detail::szp
