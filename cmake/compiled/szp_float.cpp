// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled: Codec::SZp and SZe of float.
#include <ccoll/codec/sze.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/compiled.hpp>

CCOLL_INSTANTIATE_CHUNKS(SZp, float);
CCOLL_INSTANTIATE_CHUNKS(SZe, float);
template void ccoll::codec_impl<ccoll::policies::Codec::SZp, float, ccoll::host_space>::put_fills(ccoll::const_byte_span, std::span<float>,
                                                                                                  int) noexcept;
template void ccoll::codec_impl<ccoll::policies::Codec::SZp, float, ccoll::host_space>::put_fills(ccoll::const_byte_span,
                                                                                                  std::span<ccoll::half>, int) noexcept;
template void ccoll::codec_impl<ccoll::policies::Codec::SZp, float, ccoll::host_space>::put_fills(ccoll::const_byte_span,
                                                                                                  std::span<ccoll::bfloat16>, int) noexcept;
