// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same checks with MPI_THREAD_MULTIPLE. MPI's own locks are then in use while attributes are deleted, and
// another thread may call.
// ranks: 1 3
#define TEST_THREAD_MULTIPLE
#include "transport.cpp"
