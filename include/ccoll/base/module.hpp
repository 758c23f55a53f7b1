// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/module.hpp - floor 0. The program, or the shared library, that this code was compiled into.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(__ELF__) && __has_include(<dlfcn.h>)
#include <dlfcn.h>
#if defined(RTLD_NODELETE) && defined(RTLD_NOLOAD)
#define CCOLL_STAYS_LOADED 1
#endif
#endif

namespace ccoll::inline CCOLL_ABI::detail {

#if defined(CCOLL_STAYS_LOADED)
// Weak, because glibc before 2.34 has them in a library (-ldl) that users of a header need not link. Where
// one is missing, nothing was loaded by dlopen. In a static program they are missing, too.
[[maybe_unused]] static int address_in_module(const void*, Dl_info*) __attribute__((weakref("dladdr")));
[[maybe_unused]] static void* open_module(const char*, int) __attribute__((weakref("dlopen")));
#endif

/// From now on the module that has the function `at` is not unloaded, whoever closes it: others keep pointers
/// to its functions. A plug-in may be closed before MPI is finalised, and MPI then calls what it was given.
template <class Function>
[[gnu::cold]] void stay_loaded([[maybe_unused]] Function* at) noexcept
{
#if defined(CCOLL_STAYS_LOADED)
    Dl_info info{};
    if (&address_in_module == nullptr || &open_module == nullptr) return;
    if (address_in_module(reinterpret_cast<const void*>(at), &info) == 0 || info.dli_fname == nullptr) return;
    // Of a program this fails, and it stays anyway.
    open_module(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

}  // namespace ccoll::inline CCOLL_ABI::detail
