// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of another project that links ccoll::ucx.
#include <ccoll/transport/ucx.hpp>

int main()
{
    ccoll::process_exchange how;
    const ccoll::ucx_comm world = ccoll::ucx_comm::world(how, 0, 1, 10);
    return world.refusal() == ccoll::status::ok ? 0 : 1;
}
