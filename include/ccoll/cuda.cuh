// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda.cuh - floor 5. What a CUDA translation unit adds to ccoll.hpp: device implementations, found by the same tags. No .hpp
// includes a .cuh. There is no device codec yet; host buffers work the same in a .cu file as in a .cpp file.
#pragma once

#include <ccoll/ccoll.hpp>
