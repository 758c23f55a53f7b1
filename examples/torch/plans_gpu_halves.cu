// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plans_gpu_halves.cu - see plans.hpp: in the memory of a GPU.
#include <ccoll/compile_dynamic.hpp>
#include <ccoll/cuda.cuh>

#include "plans.hpp"

CCOLL_COMPILE_DYNAMIC(ccoll_torch::bounded_plans, ccoll::half, ccoll_torch::communicator, ccoll::cuda_space);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::float_plans, ccoll::half, ccoll_torch::communicator, ccoll::cuda_space);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::bounded_plans, ccoll::bfloat16, ccoll_torch::communicator,
                      ccoll::cuda_space);
CCOLL_COMPILE_DYNAMIC(ccoll_torch::float_plans, ccoll::bfloat16, ccoll_torch::communicator,
                      ccoll::cuda_space);
