// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/well.hpp - floor 0. Work that may throw, in places where nothing may be thrown.
#pragma once

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Does `work`. @return false if it has thrown something, which is dropped
template <class Work>
bool went_well(Work&& work) noexcept
{
#if defined(__cpp_exceptions)
    try {
        work();
    } catch (...) {
        return false;
    }
#else
    work();
#endif
    return true;
}

}  // namespace ccoll::inline CCOLL_ABI::detail
