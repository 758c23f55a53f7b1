// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/containers.md: std::mdspan. Compiled where a standard library has it.
#include <mdspan>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

void sum(ccoll::threads_comm& comm);

void sum(ccoll::threads_comm& comm)
{
    // [doc:mdspan]
    std::vector<float> memory(64 * 48 * 32);
    std::mdspan field(memory.data(), 64, 48, 32);
    // Messages are shorter, because its rows and planes are known.
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, comm);
    // [/doc:mdspan]
}
