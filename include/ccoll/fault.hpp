// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fault.hpp - floor 5. Links that damage or lose messages: what calls with a Fault:: policy need.
// docs/integrity.md describes it.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/wait/guarded_call.hpp>
