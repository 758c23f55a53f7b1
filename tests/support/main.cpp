// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main program of every group of unit tests. Catch2 2 defines its own implementation here, once for all
// groups.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
