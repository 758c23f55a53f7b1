// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plans_integers.cpp - see plans.hpp.
#include <ccoll/compile_dynamic.hpp>

#include "plans.hpp"

CCOLL_COMPILE_DYNAMIC(ccoll_torch::integer_plans, std::int8_t, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::integer_plans, std::uint8_t, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::integer_plans, std::int16_t, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::integer_plans, std::int32_t, ccoll_torch::communicator);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::integer_plans, std::int64_t, ccoll_torch::communicator);
#if defined(CCOLL_TORCH_CUDA)
CCOLL_COMPILE_DYNAMIC(ccoll_torch::byte_plans, std::uint8_t, ccoll_torch::communicator);
#endif
