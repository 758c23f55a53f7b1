// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll.hpp - floor 5. The collectives, point-to-point calls, codecs, Codec::Auto and Fault:: policies, for
// buffers of the host. MPI joins where the compiler finds it; never CUDA, never <thread>. Include by name
// what not every program needs: bucket.hpp, error_feedback.hpp, exec.hpp, outer_steps.hpp, progress.hpp,
// since.hpp, typed.hpp, value.hpp, compiled.hpp, check_codec.hpp, check_transport.hpp, transport/threads.hpp,
// and cuda.cuh for device buffers.
//
//   #include <ccoll/ccoll.hpp>
//   using namespace ccoll::policies;
//   auto report = ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(field, sum, MPI_COMM_WORLD);
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/auto.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/fault.hpp>
#include <ccoll/neighbor.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/scan.hpp>
#include <ccoll/version.hpp>

#if __has_include(<mpi.h>) && !defined(CCOLL_NO_MPI)
#include <ccoll/transport/mpi.hpp>
#endif
