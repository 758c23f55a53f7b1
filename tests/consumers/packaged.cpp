// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a package must give: headers of the version that it says it has (CCOLL_PACKAGED, such as "0.2.0"), and
// threads. Compiles in a second.
#include <atomic>
#include <string>

#include <ccoll/transport/threads.hpp>
#include <ccoll/version.hpp>

int main()
{
    const std::string version = std::to_string(ccoll::version_major) + '.' +
                                std::to_string(ccoll::version_minor) + '.' +
                                std::to_string(ccoll::version_patch);
    std::atomic<int> ranks = 0;
    ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) { ranks += comm.rank() + 1; });
    return version == CCOLL_PACKAGED && ranks == 6 ? 0 : 1;
}
