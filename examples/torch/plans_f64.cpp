// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plans_f64.cpp - see plans.hpp.
#include <ccoll/compile_dynamic.hpp>

#include "plans.hpp"

CCOLL_COMPILE_DYNAMIC(ccoll_torch::bounded_plans, double, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::float_plans, double, ccoll_torch::communicator);
