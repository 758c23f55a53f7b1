// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad calls with ccoll::since, as call.cpp.
#include <array>
#include <span>
#include <system_error>
#include <vector>

#include <ccoll/codec/lossless.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/since.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;
using ccoll::since;
using floats = std::vector<float>;

struct arguments {
    floats &weights, &previous;
    std::vector<double>& doubles;
    ccoll::threads_comm& comm;
};

void call(const arguments& a);
void call(const arguments& a)
{
    std::error_code code;
    // ---- good ----
    ccoll::bcast(a.weights, since(a.previous), 0, a.comm);
    ccoll::bcast<Algo::Chain, Codec::Lossless>(a.weights, since<Otherwise::Whole>(a.previous), 0, a.comm,
                                               code);
    ccoll::allgather(std::span(a.weights), since(std::span<const float>(a.previous)), a.comm);
    ccoll::allgather<Timeout<10>>(a.weights, since<Otherwise::Error>(a.previous), a.comm, code);
    // ---- bad ----
    // expect: ccoll::since: what is done otherwise must be Otherwise::Error or Otherwise::Whole
    static_cast<void>(since<Codec::None>(a.previous));
    // expect: ccoll::since: the previous vector must be a contiguous range in host memory
    static_cast<void>(since(3));
    // expect: ccoll::since: the previous vector is a temporary that owns its elements
    static_cast<void>(since(floats(3)));
    // expect: ccoll: a vector and what ccoll::since is given must hold the same element type
    ccoll::bcast(a.weights, since(a.doubles), 0, a.comm);
    // expect: ccoll: with ccoll::since all ranks end with the sender's bits, and this codec is lossy
    ccoll::bcast<Codec::SZp, ErrorBound<1e-3>>(a.weights, since(a.previous), 0, a.comm);
    // expect: ccoll: the result buffer holds const elements
    ccoll::bcast(std::span<const float>(a.weights), since(a.previous), 0, a.comm);
    // expect: ccoll: this collective only moves data
    ccoll::allgather<Op::Max>(a.weights, since(a.previous), a.comm);
    // expect: it takes (weights, since(previous), root, comm)
    ccoll::bcast(a.weights, since(a.previous), a.comm);
    // expect: it takes (weights, since(previous), comm)
    ccoll::allgather(a.weights, since(a.previous), 0, a.comm);
    // expect: ccoll: behind the communicator a call takes
    ccoll::bcast(a.weights, since(a.previous), 0, a.comm, "now");
    // expect: the communicator is missing
    ccoll::bcast(a.weights, since(a.previous), 0, 1);
    // expect: ccoll: calls with ccoll::since are blocking
    ccoll::ibcast(a.weights, since(a.previous), 0, a.comm);
    // expect: ccoll: calls with ccoll::since are blocking
    ccoll::iallgather(a.weights, since(a.previous), a.comm);
}
