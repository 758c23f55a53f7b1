// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
#include <string>

#include "support/catch.hpp"

#include <ccoll/version.hpp>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

TEST_CASE("The inline namespace is named after the version, so that two versions can live in one program",
          "[base]")
{
    CHECK(std::string(TEXT(CCOLL_ABI)) ==
          "v" + std::to_string(ccoll::version_major) + "_" + std::to_string(ccoll::version_minor));
}
