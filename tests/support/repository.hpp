// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// repository.hpp - files of the repository that tests read: frames that are kept, and pages.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace repository {

/// The path of `file`, such as "docs/glossary.md". CTest gives the root in CCOLL_REPOSITORY; without it the
/// program has to be started there. Not from __FILE__: a compiler's cache may hold the object of another
/// clone.
inline std::filesystem::path path_of(const std::string& file)
{
    const char* root = std::getenv("CCOLL_REPOSITORY");
    const std::filesystem::path path = std::filesystem::path(root != nullptr ? root : ".") / file;
    if (!std::filesystem::is_directory(path.parent_path()))
        throw std::runtime_error(
            "no folder " + path.parent_path().string() +
            ": start the test in the root of the repository, or name it in CCOLL_REPOSITORY");
    return path;
}

}  // namespace repository
