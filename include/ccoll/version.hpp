// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// version.hpp - floor 5. The version of the library; encoded bytes have one of their own (wire/frame.hpp).
// The build reads it here.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/base/config.hpp>

#define CCOLL_VERSION_MAJOR 0
#define CCOLL_VERSION_MINOR 2
#define CCOLL_VERSION_PATCH 0

namespace ccoll::inline CCOLL_ABI {

inline constexpr int version_major = CCOLL_VERSION_MAJOR;
inline constexpr int version_minor = CCOLL_VERSION_MINOR;
inline constexpr int version_patch = CCOLL_VERSION_PATCH;

}  // namespace ccoll
