// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that name a codec or a Fault:: policy whose header is not included; as call.cpp. Case 0 is good: what
// needs no further header, and codecs and policies with theirs. The other cases leave headers out.
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/transport/threads.hpp>
#if CCOLL_CASE == 0
#include <ccoll/codec/half.hpp>
#include <ccoll/codec/lossless.hpp>
#include <ccoll/codec/pipe_szx.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/fault.hpp>
#endif
#if CCOLL_CASE == 2
#include <ccoll/codec/szx.hpp>
#endif

using namespace ccoll::policies;

void call(std::vector<float>& x, std::vector<int>& i, std::vector<ccoll::half>& h, ccoll::threads_comm& comm);
void call(std::vector<float>& x, std::vector<int>& i, std::vector<ccoll::half>& h, ccoll::threads_comm& comm)
{
    (void)x;
    (void)i;
    (void)h;
#if CCOLL_CASE == 0
    ccoll::allreduce(x, comm);
    ccoll::allreduce<Codec::SZx, ErrorBound<1e-3>>(x, comm);
    ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(h, comm);
    ccoll::send<Codec::Lossless>(i, 0, 0, comm);
    ccoll::allreduce<Fault::Hamming>(x, comm);
#elif CCOLL_CASE == 1
    // expect: ccoll: Codec::SZp is not included; add #include <ccoll/codec/szp.hpp>
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll: Codec::SZx is not included; add #include <ccoll/codec/szx.hpp>
    ccoll::allreduce<Codec::SZx, ErrorBound<1e-3>>(h, comm);
    // expect: ccoll: Codec::PipeSZx is not included; add #include <ccoll/codec/pipe_szx.hpp>
    ccoll::send<Codec::PipeSZx, ErrorBound<1e-3>>(x, 0, 0, comm);
    // expect: ccoll: Codec::SZe is not included; add #include <ccoll/codec/sze.hpp>
    ccoll::allreduce<Codec::SZe, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll: Codec::Zfp is not included; add #include <ccoll/codec/zfp.hpp>
    ccoll::allreduce<Codec::Zfp, FixedRate<8>>(x, comm);
    // expect: ccoll: Codec::BitWise is not included; add #include <ccoll/codec/bitzip.hpp>
    ccoll::allreduce<Codec::BitWise, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll: Codec::BitMask<Inner> is not included; add #include <ccoll/codec/bitmask.hpp>
    ccoll::allreduce<Codec::BitMask<Codec::BitCut>, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll: this codec has no host implementation for this element type
    ccoll::allreduce<Codec::BitMask<Codec::Zfp>, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll: Codec::Lossless is not included; add #include <ccoll/codec/lossless.hpp>
    ccoll::allreduce<Codec::Lossless>(i, comm);
    // expect: ccoll: Codec::SZp is not included; add #include <ccoll/codec/szp.hpp>
    static_assert(ccoll::worst_case<ccoll::collective::allreduce, Codec::SZp, ErrorBound<1e-3>>(4) == 0);
    // expect: ccoll::Plan: Codec::Auto is a policy of collectives alone
    ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll: a call with menu::tuned() needs #include <ccoll/auto.hpp>
    ccoll::allreduce(ccoll::menu<ccoll::Plan<>, ccoll::Plan<Algo::Ring>>{}.tuned(), x, comm);
    // expect: ccoll: the policies of Fault:: are not included; add #include <ccoll/fault.hpp>
    ccoll::allreduce<Fault::Crc32c>(x, comm);
    // expect: ccoll: the policies of Fault:: are not included; add #include <ccoll/fault.hpp>
    ccoll::send<Fault::Hamming>(i, 0, 0, comm);
#elif CCOLL_CASE == 2
    // expect: ccoll: lossy codecs for half and bfloat16 are not included; add #include <ccoll/codec/half.hpp>
    ccoll::allreduce<Codec::SZx, ErrorBound<1e-3>>(h, comm);
#endif
}
