// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled: Codec::SZp and SZe of double.
#include <ccoll/codec/sze.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/compiled.hpp>

CCOLL_INSTANTIATE_CHUNKS(SZp, double);
CCOLL_INSTANTIATE_CHUNKS(SZe, double);
template void ccoll::codec_impl<ccoll::policies::Codec::SZp, double, ccoll::host_space>::put_fills(ccoll::const_byte_span,
                                                                                                   std::span<double>, int) noexcept;
