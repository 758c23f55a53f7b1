// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix over threads: each element type has a file of its own, because it has an engine of its own.
#pragma once

#include <complex>

#include "elements.hpp"
#include "suite.hpp"

#include <ccoll/transport/threads.hpp>

namespace matrix {

template <> suite<ccoll::threads_comm>& suite_of<float, ccoll::threads_comm>();
template <> suite<ccoll::threads_comm>& suite_of<double, ccoll::threads_comm>();
template <> suite<ccoll::threads_comm>& suite_of<ccoll::half, ccoll::threads_comm>();
template <> suite<ccoll::threads_comm>& suite_of<std::complex<float>, ccoll::threads_comm>();
template <> suite<ccoll::threads_comm>& suite_of<point, ccoll::threads_comm>();
template <> suite<ccoll::threads_comm>& suite_of<location, ccoll::threads_comm>();
template <> suite<ccoll::threads_comm>& suite_of<std::int32_t, ccoll::threads_comm>();
template <> suite<ccoll::threads_comm>& suite_of<std::uint8_t, ccoll::threads_comm>();

}  // namespace matrix
