// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: ucx, not sanitized, optimised, links nothing
// ucx_comm keeps what transport.hpp asks of a transport, over TCP and through shared memory.
#include <mutex>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "ucx_ranks.hpp"

#include <ccoll/check_transport.hpp>

namespace ucx_check_cases {

using namespace ucx_tests;
using ccoll::ucx_comm;

/// What the ranks say, one after another. `link_of` makes the handle of a rank.
template <class Make>
std::string check(int p, const ccoll::transport_check_options& options, Make link_of)
{
    std::mutex mutex;
    std::string all;
    run_ranks(p, [&](ucx_comm& world, ccoll::exchange& how) {
        const std::string said = ccoll::check_transport(link_of(world, how), options);
        const std::lock_guard lock(mutex);
        if (!said.empty()) all += (all.empty() ? "" : "\n") + said;
    });
    return all;
}

TEST_CASE("check_transport finds nothing wrong with ranks over UCX", "[ucx][check]")
{
    ccoll::transport_check_options options;
    options.seconds = 60;
    for_each_network([&] {
        for (const int p : {1, 2, 3, 5}) {
            INFO(p << " ranks over " << std::getenv("UCX_TLS"));
            CHECK(check(p, options, [](ucx_comm& world, ccoll::exchange&) { return world; }) == "");
        }
        const std::vector<int> members{2, 0, 1};
        INFO("a group over " << std::getenv("UCX_TLS"));
        CHECK(check(3, options, [&](ucx_comm& world, ccoll::exchange& how) {
                  return world.group(members, how, "turned", 60);
              }) == "");
    });
}

TEST_CASE("check_transport ends a rank over UCX, and looks at what the others see", "[ucx][check]")
{
    ccoll::transport_check_options options;
    options.seconds = 60;
    options.end = [] {};  // it leaves when its body returns
    for_each_network([&] {
        for (const int p : {2, 3, 4}) {
            INFO(p << " ranks over " << std::getenv("UCX_TLS"));
            CHECK(check(p, options, [](ucx_comm& world, ccoll::exchange&) { return world; }) == "");
        }
    });
}

}  // namespace ucx_check_cases
