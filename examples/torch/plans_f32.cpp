// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plans_f32.cpp - see plans.hpp.
#include <ccoll/compile_dynamic.hpp>

#include "plans.hpp"

CCOLL_COMPILE_DYNAMIC(ccoll_torch::bounded_plans, float, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::float_plans, float, ccoll_torch::communicator);
