// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cases of the far space on buffers of a device, on several numbers of ranks that are threads.
#pragma once

#include "beside_host.hpp"

#include "support/catch.hpp"
#include "support/far_cases.hpp"

/// @tparam Vector  elements on the device, made from how many there are or from values
template <template <class> class Vector>
void check_far_cases()
{
    struct size {
        int p;
        std::size_t n;
    };
    for (const auto& [p, n] : {size{1, 37}, size{2, 9000}, size{3, 37}, size{3, 0}, size{4, 1000}}) {
        INFO("p " << p << ", n " << n);
        CHECK(on_ranks(p, [length = n](ccoll::threads_comm& comm, std::string& wrong) {
                  far::cases<ccoll::threads_comm, Vector>(comm, wrong).run(length);
              }) == "");
    }
}
