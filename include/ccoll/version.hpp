// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// version.hpp - floor 5. The version of the library, for the preprocessor and for programs that run. Encoded
// bytes have a version of their own (wire/frame.hpp). The build reads the three numbers here.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <string>

#include <ccoll/base/config.hpp>
#include <ccoll/base/isa.hpp>
#include <ccoll/wire/frame.hpp>

#define CCOLL_VERSION_MAJOR 0
#define CCOLL_VERSION_MINOR 2
#define CCOLL_VERSION_PATCH 0

/// To compare: 200 is version 0.2.0, and 10203 is 1.2.3.
#define CCOLL_VERSION (CCOLL_VERSION_MAJOR * 10000 + CCOLL_VERSION_MINOR * 100 + CCOLL_VERSION_PATCH)

// The value of a macro as text.
#define CCOLL_TEXT(x) CCOLL_TEXT_OF(x)
#define CCOLL_TEXT_OF(x) #x

namespace ccoll::inline CCOLL_ABI {

inline constexpr int version_major = CCOLL_VERSION_MAJOR;
inline constexpr int version_minor = CCOLL_VERSION_MINOR;
inline constexpr int version_patch = CCOLL_VERSION_PATCH;

/// What a bug report should say of the library.
struct version_info {
    int major = 0;
    int minor = 0;
    int patch = 0;
    int number = 0;                    ///< as CCOLL_VERSION
    const char* text = "";             ///< "0.2.0"
    int wire = 0;                      ///< wire_version: ranks with the same one understand each other
    const char* abi = "";              ///< CCOLL_ABI, the inline namespace
    const char* options = "";          ///< which macros of docs/environment.md the file defines, with spaces
    isa instructions = isa::portable;  ///< what the codecs use now: isa_in_use()
};

namespace detail {
static constexpr char options_of_file[] =
    ""
#if defined(CCOLL_NO_MPI)
    " CCOLL_NO_MPI"
#endif
#if defined(CCOLL_CHECK_COLLECTIVE)
    " CCOLL_CHECK_COLLECTIVE"
#endif
#if defined(CCOLL_USE_PMPI)
    " CCOLL_USE_PMPI"
#endif
#if defined(CCOLL_COMPILED)
    " CCOLL_COMPILED"
#endif
#if defined(CCOLL_COMPILED_MPI)
    " CCOLL_COMPILED_MPI"
#endif
#if defined(CCOLL_COMPILED_UCX)
    " CCOLL_COMPILED_UCX"
#endif
#if defined(CCOLL_NO_AVX512)
    " CCOLL_NO_AVX512"
#endif
#if defined(CCOLL_LESS_OPTIMISED)
    " CCOLL_LESS_OPTIMISED"
#endif
#if defined(CCOLL_SHOW_WARNINGS)
    " CCOLL_SHOW_WARNINGS"
#endif
#if defined(CCOLL_CUDA_EMULATED)
    " CCOLL_CUDA_EMULATED"
#endif
    ;
}  // namespace detail

/// The version of the headers that this file was compiled with, and how. Each file has a function of its own,
/// because files of a program may define different macros.
[[nodiscard]] static inline version_info version() noexcept
{
    constexpr bool has_options = sizeof detail::options_of_file > 1;
    return {CCOLL_VERSION_MAJOR,
            CCOLL_VERSION_MINOR,
            CCOLL_VERSION_PATCH,
            CCOLL_VERSION,
            CCOLL_TEXT(CCOLL_VERSION_MAJOR) "." CCOLL_TEXT(CCOLL_VERSION_MINOR) "." CCOLL_TEXT(
                CCOLL_VERSION_PATCH),
            wire_version,
            CCOLL_TEXT(CCOLL_ABI),
            has_options ? detail::options_of_file + 1 : "",
            isa_in_use()};
}

/// A version in a line, for logs: "ccoll 0.2.0, wire version 9, namespace v0_2, avx2, options CCOLL_NO_MPI".
/// Cost: it allocates the string.
[[gnu::cold]] inline std::string summary(const version_info& v)
{
    std::string s = std::string("ccoll ") + v.text + ", wire version " + std::to_string(v.wire) +
                    ", namespace " + v.abi + ", " + name_of(v.instructions);
    if (*v.options != 0) s += std::string(", options ") + v.options;
    return s;
}

}  // namespace ccoll
