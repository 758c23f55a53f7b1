// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled: the engine for ranks of MPI.
#include <ccoll/compiled.hpp>
#include <ccoll/transport/mpi.hpp>

CCOLL_INSTANTIATE_ENGINE(float, ccoll::mpi_comm);
CCOLL_INSTANTIATE_ENGINE(double, ccoll::mpi_comm);
CCOLL_P2P_OF_PROGRAM(, float, ccoll::mpi_comm);
CCOLL_P2P_OF_PROGRAM(, double, ccoll::mpi_comm);
