// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad point-to-point calls; as call.cpp.
#include <list>
#include <string>
#include <system_error>
#include <vector>

#include <ccoll/codec.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

struct arguments {
    std::vector<float>& x;
    const std::vector<float>& fixed;
    std::vector<double>& d;
    std::vector<int>& i;
    std::list<float>& l;
    ccoll::threads_comm& comm;
};

void call(const arguments& a);
void call(const arguments& a)
{
    [[maybe_unused]] std::error_code code;
    [[maybe_unused]] ccoll::request later;
    // ---- good ----
    ccoll::send<Codec::PipeSZx, ErrorBound<1e-3>>(a.fixed, 0, 0, a.comm);
    ccoll::recv<Codec::PipeSZx, RuntimeBound, Check::Local>(a.x, 0, 0, a.comm, 1e-3, code);
    ccoll::recv(a.i.data(), a.i.size(), 0, 0, a.comm);
    ccoll::sendrecv<Codec::SZp, RelativeBound<1e-3>, Timeout<1>>(a.fixed, 0, a.x, 0, 0, a.comm, code);
    ccoll::sendrecv(a.d.data(), 1, 0, a.d.data(), 1, 0, 0, a.comm);
    later = ccoll::isend<Codec::SZx, EndToEnd<ErrorBound<1e-3>>, Instrument::Breakdown>(a.x, ccoll::nobody, 0,
                                                                                        a.comm);
    // ---- bad ----
    // expect: ccoll: a message between two ranks has no algorithm
    ccoll::send<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(a.x, 0, 0, a.comm);
    // expect: ccoll: a message between two ranks is always encoded once
    ccoll::recv<Placement::PerHop>(a.x, 0, 0, a.comm);
    // expect: ccoll: send and receive only move data; drop the Op::
    ccoll::sendrecv<Op::Max>(a.x, 0, a.x, 0, 0, a.comm);
    // expect: ccoll: a sender is not told what its receiver finds
    later = ccoll::isend<Check::Collective>(a.x, 0, 0, a.comm);
    // expect: check the order of the arguments: buffer, peer
    ccoll::send(a.x, 0, 0, a.comm, "tight");
    // expect: ccoll: the plan says RuntimeBound; pass the bound
    ccoll::send<Codec::SZx, RuntimeBound>(a.x, 0, 0, a.comm);
    // expect: ccoll: a bound is passed but the plan does not say RuntimeBound
    ccoll::recv<Codec::SZx, ErrorBound<1e-3>>(a.x, 0, 0, a.comm, 1e-3);
    // expect: ccoll: a buffer must be a contiguous range
    ccoll::send(a.l, 0, 0, a.comm);
    // expect: ccoll: the result buffer holds const elements, so nothing can be written to it
    ccoll::recv(a.fixed, 0, 0, a.comm);
    // expect: ccoll: send and receive buffers must hold the same element type
    ccoll::sendrecv(a.x, 0, a.d, 0, 0, a.comm);
    // expect: ccoll: the communicator must be an MPI_Comm
    ccoll::send(a.x, 0, 0, std::string("world"));
    // expect: ccoll: a lossy codec takes floating-point elements
    ccoll::send<Codec::SZx, ErrorBound<1e-3>>(a.i, 0, 0, a.comm);
    // expect: ccoll: a call that is only started takes its std::error_code in wait(code), not here
    later = ccoll::irecv(a.x, 0, 0, a.comm, code);
    // expect: ccoll::Plan: this codec is lossy and no bound is given
    ccoll::send<Codec::SZx>(a.x, 0, 0, a.comm);
    // expect: ccoll: Transport::Direct is for messages in device memory, and these buffers are in host memory
    ccoll::send<Transport::Direct>(a.x, 0, 0, a.comm);
}
