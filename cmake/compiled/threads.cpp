// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled: the engine for ranks that are threads.
#include <ccoll/compiled.hpp>
#include <ccoll/transport/threads.hpp>

CCOLL_INSTANTIATE_ENGINE(float, ccoll::threads_comm);
CCOLL_INSTANTIATE_ENGINE(double, ccoll::threads_comm);
CCOLL_P2P_OF_PROGRAM(, float, ccoll::threads_comm);
CCOLL_P2P_OF_PROGRAM(, double, ccoll::threads_comm);
