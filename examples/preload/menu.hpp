// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is compiled in: the algorithms, codecs and bounds that a plan file can name. run_float.cpp and
// run_double.cpp compile it.
#pragma once

#include <ccoll/dynamic.hpp>
#include <ccoll/transport/mpi.hpp>

namespace preload {

using namespace ccoll::policies;

struct menu : ccoll::dynamic::menu<float, double, Op::Sum, Op::Min, Op::Max, Algo::Auto, Algo::Ring,
                                   Algo::RecursiveDoubling, Algo::Rabenseifner, Algo::Binomial, Algo::Chain,
                                   Algo::ScatterAllgather, Algo::Bruck, Algo::Pairwise, Algo::Spread,
                                   Algo::Linear, Codec::None, Codec::Lossless, Codec::SZp, Codec::SZe,
                                   Codec::SZx, Codec::Auto, RuntimeBound, RuntimeRelativeBound,
                                   EndToEnd<RuntimeBound>, EndToEnd<RuntimeRelativeBound>> {};

}  // namespace preload
