// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plans.hpp - what is compiled in, one element type per file (plans_*.cpp). Check::Collective: all ranks
// throw the same or none does, also if the tensors of one rank have another shape.
#pragma once

#include <ccoll/dynamic.hpp>
#if defined(CCOLL_TORCH_MPI)
#include <ccoll/transport/mpi.hpp>
#endif

#include "link.hpp"

namespace ccoll_torch {

using namespace ccoll::policies;

#if defined(CCOLL_TORCH_CUDA)
#define CCOLL_TORCH_SPACES ccoll::cuda_space,
#else
#define CCOLL_TORCH_SPACES
#endif

/// Calls within a bound.
struct bounded_plans
    : ccoll::dynamic::menu<CCOLL_TORCH_SPACES float, double, ccoll::half, ccoll::bfloat16, Op::Sum,
                           Op::Average, Op::Min, Op::Max, Codec::SZp, RuntimeBound, FixedBits<2>,
                           FixedBits<3>, FixedBits<4>, FixedBits<5>, FixedBits<6>, FixedBits<7>, FixedBits<8>,
                           FixedBits<10>, FixedBits<12>, FixedBits<16>, Check::Collective> {};
/// Exact reductions of floats.
struct float_plans : ccoll::dynamic::menu<CCOLL_TORCH_SPACES float, double, ccoll::half, ccoll::bfloat16,
                                          Op::Sum, Op::Average, Op::Min, Op::Max, Op::Prod, Algo::Auto,
                                          Algo::Ring, Algo::Binomial, Check::Collective> {};
/// Exact reductions of integers, and whatever is only moved.
struct integer_plans : ccoll::dynamic::menu<std::int8_t, std::uint8_t, std::int16_t, std::int32_t,
                                            std::int64_t, Op::Sum, Op::Min, Op::Max, Op::Prod, Op::BitAnd,
                                            Op::BitOr, Op::BitXor, Algo::Auto, Check::Collective> {};
/// On a GPU, of bytes.
struct byte_plans : ccoll::dynamic::menu<CCOLL_TORCH_SPACES std::uint8_t, Op::Sum, Op::Min, Op::Max, Op::Prod,
                                         Op::BitAnd, Op::BitOr, Op::BitXor, Algo::Auto, Check::Collective> {};

}  // namespace ccoll_torch
