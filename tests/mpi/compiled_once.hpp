// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine with MPI, compiled once per MPI, in support/mpi_engine.cpp, and not again in each program. Programs that define a macro of
// the library or are compiled with a sanitizer do without it: they compile what they use, as the examples do.
#pragma once

#include "check.hpp"

#include "../compiled_once.hpp"

#include <ccoll/transport/mpi.hpp>

CCOLL_TEST_ENGINES(CCOLL_EXTERN_ENGINE, ccoll::mpi_comm);
