// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest program with ccoll.hpp: asks what an allreduce promises. What it calls is known to the
// compiler, so it compiles no engine.
#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

int main()
{
    const double bound = ccoll::worst_case<ccoll::collective::allreduce, Algo::Ring, Codec::PipeSZx,
                                           ErrorBound<1e-3>, Op::Average>(3);
    return bound == 1e-3 ? 0 : 1;
}
