// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In place of the library's header of this name, when this folder is the first in which a compiler looks:
// ranks are threads that talk through UCX. So tests that are written for ranks as threads run over UCX as
// they are: an even number of ranks over TCP, an odd one through shared memory, or both over what UCX_TLS
// says.
#pragma once

#include <cstdlib>

#include "transport/ucx_ranks.hpp"

namespace ccoll::inline CCOLL_ABI {

using threads_comm = ucx_comm;

/// @see run_ranks of the library
template <class Body>
void run_ranks(int p, Body&& body)
{
    static const bool chosen = std::getenv("UCX_TLS") != nullptr;
    if (!chosen) setenv("UCX_TLS", ucx_tests::networks[p % 2].transports, 1);
    ucx_tests::run_ranks(p, [&body](ucx_comm& comm, exchange&) { body(comm); });
}

}  // namespace ccoll::inline CCOLL_ABI
