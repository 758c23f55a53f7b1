// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// version.hpp: the version for the preprocessor and at run time, and with what a file was compiled.
#define CCOLL_CHECK_COLLECTIVE
#include <string>

#include "support/catch.hpp"

#include <ccoll/version.hpp>

TEST_CASE("the inline namespace is named after the version, so that two versions can live in one program",
          "[base]")
{
    CHECK(std::string(ccoll::version().abi) ==
          "v" + std::to_string(ccoll::version_major) + "_" + std::to_string(ccoll::version_minor));
}

TEST_CASE("the version at run time is that of the macros, and macros compare", "[base]")
{
    const ccoll::version_info v = ccoll::version();
    CHECK(
        (v.major == CCOLL_VERSION_MAJOR && v.minor == CCOLL_VERSION_MINOR && v.patch == CCOLL_VERSION_PATCH));
    CHECK(v.text == std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch));
    CHECK(v.number == v.major * 10000 + v.minor * 100 + v.patch);
#if CCOLL_VERSION < 200 || \
    CCOLL_VERSION != CCOLL_VERSION_MAJOR * 10000 + CCOLL_VERSION_MINOR * 100 + CCOLL_VERSION_PATCH
#error "CCOLL_VERSION"
#endif
    CHECK(v.wire == ccoll::wire_version);
}

TEST_CASE("the version says with what a file was compiled, and which instructions run", "[base]")
{
    const std::string options = std::string(" ") + ccoll::version().options + " ";
    CHECK(options.find(" CCOLL_NO_MPI ") != std::string::npos);
    CHECK(options.find(" CCOLL_CHECK_COLLECTIVE ") != std::string::npos);
    CHECK(options.find(" CCOLL_USE_PMPI ") == std::string::npos);
    CHECK(options.find("  ") == std::string::npos);

    const ccoll::isa before = ccoll::isa_in_use();
    ccoll::use_isa(ccoll::least_isa);
    CHECK(ccoll::version().instructions == ccoll::least_isa);
    ccoll::use_isa(before);

    ccoll::version_info v = ccoll::version();
    CHECK(summary(v).find(std::string("ccoll ") + v.text + ", wire version ") == 0);
    v = {1, 2, 3, 10203, "1.2.3", 9, "mine", "", ccoll::isa::portable};
    CHECK(summary(v) == "ccoll 1.2.3, wire version 9, namespace mine, portable");
    v.options = "CCOLL_NO_MPI CCOLL_COMPILED";
    CHECK(summary(v) ==
          "ccoll 1.2.3, wire version 9, namespace mine, portable, options CCOLL_NO_MPI CCOLL_COMPILED");
}
