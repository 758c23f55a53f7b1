// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// link_ucx.cpp - see link.hpp: UCX. Ranks find each other by an exchange, and need no launcher of MPI.
#include "link.hpp"

#include <stdlib.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace ccoll_torch::link {

const char* const name = "ucx";

std::string library()
{
    unsigned major = 0, minor = 0, patch = 0;
    ucp_get_version(&major, &minor, &patch);
    return "UCX " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// Where TCP is all that the user names, messages are sent without a rendezvous, which saves no copy there
/// and costs a message there and back for each piece: 7 % of a step of training on 4 ranks with links of 1
/// Gb/s (benchmarks/results/torch.jsonl). Short messages then wait behind long ones, but the progress thread
/// never stops sending.
void start()
{
    const char* const transports = std::getenv("UCX_TLS");
    const std::string_view named = transports != nullptr ? transports : "";
    if (named == "tcp" || named == "tcp,self" || named == "self,tcp") ::setenv("UCX_RNDV_THRESH", "inf", 0);
}
std::optional<place> launched() { return std::nullopt; }
void stop() {}

communicator make(const meeting& m)
{
    communicator made = m.whole == nullptr ? communicator::world(*m.how, m.rank, m.size, m.seconds)
                                           : m.whole->group(m.ranks, *m.how, m.name, m.seconds);
    if (made.refusal() != ccoll::status::ok)
        throw std::runtime_error("ccoll: rank " + std::to_string(m.rank) + " of " + std::to_string(m.size) +
                                 " does not find the others within " + std::to_string(m.seconds) +
                                 " s: " + made.explain());
    return made;
}
bool set_limit(communicator& comm, double seconds)
{
    comm.set_limit(seconds);
    return true;
}
void release(communicator&&) {}  // its destructor does it

void end_all(int) {}  // UCX tells the others

}  // namespace ccoll_torch::link
