// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled: the codecs of float other than SZp and SZe.
#include <ccoll/codec.hpp>
#include <ccoll/compiled.hpp>

CCOLL_INSTANTIATE_CODED_CHUNKS(BitCut, float);
CCOLL_INSTANTIATE_CODED_CHUNKS(BitWise, float);
CCOLL_INSTANTIATE_CODED_CHUNKS(BitZip, float);
CCOLL_INSTANTIATE_CODED_CHUNKS(ByteZip, float);
CCOLL_INSTANTIATE_CHUNKS(Lossless, float);
CCOLL_INSTANTIATE_CHUNKS(None, float);
CCOLL_INSTANTIATE_CHUNKS(PipeSZx, float);
CCOLL_INSTANTIATE_CHUNKS(SZx, float);
CCOLL_INSTANTIATE_CODED_CHUNKS(Zfp, float);
CCOLL_INSTANTIATE_CODED_CHUNKS(ZfpAtRate, float);
namespace Codec = ccoll::policies::Codec;
template struct ccoll::detail::coded_chunks<Codec::BitMask<Codec::BitCut>, float>;
template struct ccoll::detail::coded_chunks<Codec::BitMask<Codec::BitWise>, float>;
template struct ccoll::detail::coded_chunks<Codec::BitMask<Codec::BitZip>, float>;
// Lossless of two-byte numbers is compiled where it is used, but for this.
template struct ccoll::detail::lossless::float_chunks<std::uint16_t>;
template struct ccoll::detail::lossless::float_chunks<std::uint32_t>;
