// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/extremes.hpp - floor 0. std::min, std::max, std::copy and their like. Every call needs them, and the
// rest of <algorithm> costs a file 0.06 s of compiling. The standard names no smaller header, so this takes
// libstdc++'s where there is one.
#pragma once

#include <cstddef>

#if defined(__GLIBCXX__) && __has_include(<bits/stl_algobase.h>)
#include <bits/stl_algobase.h>
#else
#include <algorithm>
#endif
