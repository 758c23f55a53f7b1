// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of Transport::Direct, and nothing else: for cmake/check_registers.cmake, which asks ptxas what
// it needs.
#include <ccoll/cuda/messages.cuh>

namespace device = ccoll::detail::device;

template __global__ void device::fetch_heads<device::u8>(const device::u8*, device::u64, device::u8*,
                                                         device::u32);
