// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled: the codecs of float other than SZp and SZe.
#include <ccoll/codec.hpp>
#include <ccoll/compiled.hpp>

CCOLL_INSTANTIATE_CHUNKS(BitCut, float);
CCOLL_INSTANTIATE_CHUNKS(BitWise, float);
CCOLL_INSTANTIATE_CHUNKS(BitZip, float);
CCOLL_INSTANTIATE_CHUNKS(ByteZip, float);
CCOLL_INSTANTIATE_CHUNKS(Lossless, float);
CCOLL_INSTANTIATE_CHUNKS(None, float);
CCOLL_INSTANTIATE_CHUNKS(PipeSZx, float);
CCOLL_INSTANTIATE_CHUNKS(SZx, float);
CCOLL_INSTANTIATE_CHUNKS(Zfp, float);
CCOLL_INSTANTIATE_CHUNKS(ZfpAtRate, float);
template struct ccoll::codec_impl<ccoll::policies::Codec::BitMask<ccoll::policies::Codec::BitCut>, float, ccoll::host_space>;
template struct ccoll::codec_impl<ccoll::policies::Codec::BitMask<ccoll::policies::Codec::BitWise>, float, ccoll::host_space>;
template struct ccoll::codec_impl<ccoll::policies::Codec::BitMask<ccoll::policies::Codec::BitZip>, float, ccoll::host_space>;
