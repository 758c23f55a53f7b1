// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled_ucx: the engine for ranks over UCX.
#include <ccoll/compiled.hpp>
#include <ccoll/transport/ucx.hpp>

CCOLL_INSTANTIATE_ENGINE(float, ccoll::ucx_comm);
CCOLL_INSTANTIATE_ENGINE(double, ccoll::ucx_comm);
CCOLL_P2P_OF_PROGRAM(, float, ccoll::ucx_comm);
CCOLL_P2P_OF_PROGRAM(, double, ccoll::ucx_comm);
