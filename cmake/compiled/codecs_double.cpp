// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled: the codecs of double other than SZp and SZe.
#include <ccoll/codec.hpp>
#include <ccoll/compiled.hpp>

CCOLL_INSTANTIATE_CODED_CHUNKS(BitCut, double);
CCOLL_INSTANTIATE_CODED_CHUNKS(BitWise, double);
CCOLL_INSTANTIATE_CODED_CHUNKS(BitZip, double);
CCOLL_INSTANTIATE_CODED_CHUNKS(ByteZip, double);
CCOLL_INSTANTIATE_CHUNKS(Lossless, double);
CCOLL_INSTANTIATE_CHUNKS(None, double);
CCOLL_INSTANTIATE_CHUNKS(PipeSZx, double);
CCOLL_INSTANTIATE_CHUNKS(SZx, double);
CCOLL_INSTANTIATE_CODED_CHUNKS(Zfp, double);
CCOLL_INSTANTIATE_CODED_CHUNKS(ZfpAtRate, double);
namespace Codec = ccoll::policies::Codec;
template struct ccoll::detail::coded_chunks<Codec::BitMask<Codec::BitCut>, double>;
template struct ccoll::detail::coded_chunks<Codec::BitMask<Codec::BitWise>, double>;
template struct ccoll::detail::coded_chunks<Codec::BitMask<Codec::BitZip>, double>;
