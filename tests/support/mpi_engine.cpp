// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine that mpi/compiled_once.hpp declares.
#include "mpi/compiled_once.hpp"

CCOLL_TEST_ENGINES(CCOLL_INSTANTIATE_ENGINE, ccoll::mpi_comm);
