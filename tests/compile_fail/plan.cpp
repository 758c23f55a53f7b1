// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad plans; as call.cpp.
#include <functional>
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
    // ---- good ----
    using Fast = ccoll::Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>;
    call<Fast, Check::Collective>(x, comm);
    call<EndToEnd<ErrorBound<1e-3>>, Codec::SZx, Op::Average, Instrument::Breakdown>(x, comm);
    call<RelativeBound<1e-3>, Codec::PipeSZx, Placement::PerHop>(x, comm);
    call<Op::Prod>(x, comm);
    call<Timeout<0.5>, Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
    call<Fault::Crc32c, Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
    call<Transport::Staged>(x, comm);
    // ---- bad ----
    // expect: ccoll::Plan: one argument is not a policy
    call<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>, std::string>(x, comm);
    // expect: ccoll::Plan: a function object such as std::plus<> is not a policy; write Op::Sum
    call<std::plus<>>(x, comm);
    // expect: ccoll::Plan: a function object such as std::plus<> is not a policy; write Op::Sum
    call<Algo::Ring, std::plus<float>>(x, comm);
    // expect: ccoll::Plan: a policy is a type, and this is a value; write Op::Max for MPI_MAX
    ccoll::allreduce<3>(x, comm);
    // expect: ccoll::Plan: two policies answer the same question
    call<Codec::None, Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll::Plan: two policies answer the same question
    call<ccoll::Plan<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>, RuntimeBound>(x, comm);
    // expect: ccoll::Plan: this codec is lossy and no bound is given; add ErrorBound<1e-3>
    call<Algo::Ring, Codec::PipeSZx>(x, comm);
    // expect: ccoll::Plan: a bound is given but the codec is exact
    call<Algo::Ring, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll::Plan: the error bound must be positive and below 1e300
    call<Codec::PipeSZx, ErrorBound<-1e-3>>(x, comm);
    // expect: ccoll::Plan: the error bound must be positive and below 1e300
    call<Codec::PipeSZx, ErrorBound<1e300>>(x, comm);
    // expect: ccoll::Plan: the error bound must be positive and below 1e300
    call<Codec::PipeSZx, RelativeBound<0>>(x, comm);
    // expect: ccoll::Plan: FixedRate needs a codec with a fixed rate
    call<Codec::PipeSZx, FixedRate<8>>(x, comm);
    // expect: ccoll::Plan: no absolute error bound survives this operation
    call<Codec::PipeSZx, ErrorBound<1e-3>, Op::Prod>(x, comm);
    // expect: ccoll::worst_case: this bound is known during the call only
    (void)ccoll::worst_case<ccoll::collective::allreduce, Codec::PipeSZx, RuntimeBound>(4);
    // expect: ccoll::Plan: Timeout<seconds> must be positive and below 1e300
    call<Timeout<0>>(x, comm);
    // expect: ccoll::Plan: FixedRate promises nothing of errors, so there is nothing to divide
    call<Codec::Zfp, EndToEnd<FixedRate<8>>>(x, comm);
    // expect: ccoll::Plan: Codec::ZfpAtRate is for ccoll::encode and ccoll::decode
    call<Codec::ZfpAtRate, ErrorBound<1e-3>>(x, comm);
    // expect: ccoll::Plan: two policies answer the same question
    call<Fault::Crc32c, Fault::Hamming>(x, comm);
    // expect: ccoll: Transport::Direct is for messages in device memory, and these buffers are in host memory
    call<Transport::Direct>(x, comm);
    (void)x;
    (void)comm;
}
