// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad plans. CCOLL_CASE picks one; 'expect' is the sentence that must be the only error. Case 0 is the control.
#include <string>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec/pipe_szx.hpp>
#include <ccoll/fault.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

template <class... Policies>
void call(std::vector<float>& x, ccoll::threads_comm& comm)
{
    ccoll::allreduce<Policies...>(x, comm);
}

void all(std::vector<float>& x, ccoll::threads_comm& comm);
void all(std::vector<float>& x, ccoll::threads_comm& comm)
{
#if CCOLL_CASE == 0
    using Fast = ccoll::Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>;
    call<Fast, Check::Collective>(x, comm);
    call<EndToEnd<ErrorBound<1e-3>>, Codec::SZx, Op::Average, Instrument::Breakdown>(x, comm);
    call<RelativeBound<1e-3>, Codec::PipeSZx, Placement::PerHop>(x, comm);
    call<Op::Prod>(x, comm);
    call<Timeout<0.5>, Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
    call<Fault::Crc32c, Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
    call<Transport::Staged>(x, comm);
#elif CCOLL_CASE == 1   // expect: ccoll::Plan: one argument is not a policy
    call<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>, std::string>(x, comm);
#elif CCOLL_CASE == 2   // expect: ccoll::Plan: two policies answer the same question
    call<Codec::None, Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
#elif CCOLL_CASE == 3   // expect: ccoll::Plan: two policies answer the same question
    call<ccoll::Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>, RuntimeBound>(x, comm);
#elif CCOLL_CASE == 4   // expect: ccoll::Plan: this codec is lossy and no bound is given; add ErrorBound<1e-3>
    call<Algo::Ring, Codec::PipeSZx>(x, comm);
#elif CCOLL_CASE == 5   // expect: ccoll::Plan: a bound is given but the codec is exact
    call<Algo::Ring, ErrorBound<1e-3>>(x, comm);
#elif CCOLL_CASE == 6   // expect: ccoll::Plan: the error bound must be positive and finite
    call<Codec::PipeSZx, ErrorBound<-1e-3>>(x, comm);
#elif CCOLL_CASE == 7   // expect: ccoll::Plan: the error bound must be positive and finite
    call<Codec::PipeSZx, RelativeBound<0>>(x, comm);
#elif CCOLL_CASE == 8   // expect: ccoll::Plan: FixedRate needs a codec with a fixed rate
    call<Codec::PipeSZx, FixedRate<8>>(x, comm);
#elif CCOLL_CASE == 9   // expect: ccoll::Plan: no absolute error bound survives this operation
    call<Codec::PipeSZx, ErrorBound<1e-3>, Op::Prod>(x, comm);
#elif CCOLL_CASE == 10  // expect: ccoll::worst_case: this bound is known during the call only
    (void)ccoll::worst_case<ccoll::collective::allreduce, Codec::PipeSZx, RuntimeBound>(4);
#elif CCOLL_CASE == 11  // expect: ccoll::Plan: Timeout<seconds> must be positive and finite
    call<Timeout<0>>(x, comm);
#elif CCOLL_CASE == 12  // expect: ccoll::Plan: FixedRate promises nothing of errors, so there is nothing to divide
    call<Codec::Zfp, EndToEnd<FixedRate<8>>>(x, comm);
#elif CCOLL_CASE == 13  // expect: ccoll::Plan: Codec::ZfpAtRate is for ccoll::encode and ccoll::decode
    call<Codec::ZfpAtRate, ErrorBound<1e-3>>(x, comm);
#elif CCOLL_CASE == 14  // expect: ccoll::Plan: two policies answer the same question
    call<Fault::Crc32c, Fault::Hamming>(x, comm);
#elif CCOLL_CASE == 15  // expect: ccoll: Transport::Direct is for messages in device memory, and these buffers are in host memory
    call<Transport::Direct>(x, comm);
#endif
    (void)x, (void)comm;
}
