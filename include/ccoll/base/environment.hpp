// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/environment.hpp - floor 0. What the environment says to a whole process. It is read once. All of it is
// on docs/environment.md. CCOLL_ISA is read where sets of instructions are (base/isa.hpp), and what concerns
// calls that choose by measuring in tune/settings.hpp.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

#if defined(CCOLL_CHECK_COLLECTIVE)
/// In any file of a program the macro does what CCOLL_CHECK=collective does in the environment, which may
/// still say otherwise.
inline const bool collective_check_was_set = setenv("CCOLL_CHECK", "collective", 0) == 0;
#endif

/// Does the environment ask for Check::Collective in every call? All ranks must give the same answer.
inline bool every_call_compares()
{
    static const bool asked = [] {
        const char* const text = std::getenv("CCOLL_CHECK");
        return text != nullptr && std::strcmp(text, "collective") == 0;
    }();
    return asked;
}

/// CCOLL_NATIVE_LIMIT: the largest count that MPI's own collectives are trusted with, in elements of all
/// ranks together. Equal on all ranks.
inline std::size_t native_limit_of_environment()
{
    const char* const text = std::getenv("CCOLL_NATIVE_LIMIT");
    if (text == nullptr || *text < '0' || *text > '9') return INT_MAX;
    const unsigned long long limit = std::strtoull(text, nullptr, 10);
    return limit < INT_MAX ? static_cast<std::size_t>(limit) : INT_MAX;
}

}  // namespace ccoll::inline CCOLL_ABI::detail
