// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cmake/check_instrument.cmake compiles this twice, because a call without Instrument:: uses a clock only
// where it has waited in vain. The transport is only declared, so it cannot use a clock.
#include <ccoll/allreduce.hpp>
#include <ccoll/codec/pipe_szx.hpp>

struct silent {
    struct request {
        std::size_t bytes = 0;
        ccoll::status result = ccoll::status::ok;
    };
    int rank() const;
    int size() const;
    ccoll::status refusal() const;
    const char* explain() const;
    std::uint32_t begin_call();
    ccoll::workspace& memory();
    request post_send(int, int, ccoll::const_byte_span);
    request post_recv(int, int, ccoll::byte_span);
    bool test(request&);
    bool cancel(request&);
    int probe(int);
    void poll();
    void idle();
};

using namespace ccoll::policies;

ccoll::report call(std::vector<float>& x, silent& comm)
{
#if defined(WITH_BREAKDOWN)
    return ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>, Instrument::Breakdown>(x, comm);
#else
    return ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
#endif
}
