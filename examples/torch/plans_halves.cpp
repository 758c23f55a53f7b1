// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plans_halves.cpp - see plans.hpp.
#include <ccoll/compile_dynamic.hpp>

#include "plans.hpp"

CCOLL_COMPILE_DYNAMIC(ccoll_torch::bounded_plans, ccoll::half, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::float_plans, ccoll::half, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::bounded_plans, ccoll::bfloat16, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::float_plans, ccoll::bfloat16, ccoll_torch::communicator);
