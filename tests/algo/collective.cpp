// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/algo/collective.hpp>

#include "support/catch.hpp"

#include <cstdint>

namespace collective_cases {

using namespace ccoll;

TEST_CASE("in an alltoall both ends use the same number for a block, and each part is sent and received once",
          "[algo]")
{
    using c = collective::alltoall;
    for (int p : {1, 2, 3, 4, 5, 7, 8, 13, 64})
        for (int me = 0; me < p; ++me) {
            std::uint64_t to = 0, from = 0;
            for (int block = 0; block < p; ++block) {
                const int receiver = c::send_part(me, p, block), sender = c::recv_part(me, p, block);
                CHECK(c::recv_part(receiver, p, block) == me);
                CHECK(c::send_part(sender, p, block) == me);
                CHECK(c::origin(me, p, block) == sender);
                to |= std::uint64_t{1} << receiver;
                from |= std::uint64_t{1} << sender;
            }
            CHECK(to == (~std::uint64_t{0} >> (64 - p)));
            CHECK(from == to);
            CHECK(c::send_part(me, p, 0) == me);
            CHECK(c::recv_part(me, p, 0) == me);
        }
}

TEMPLATE_TEST_CASE("in all other collectives a block is a part of the vector, to which all ranks contribute",
                   "[algo]", collective::allreduce, collective::reduce, collective::reduce_scatter,
                   collective::allgather, collective::bcast, collective::scatter, collective::gather)
{
    for (int p : {1, 4, 7})
        for (int me = 0; me < p; ++me)
            for (int block = 0; block < p; ++block) {
                CHECK(TestType::send_part(me, p, block) == block);
                CHECK(TestType::recv_part(me, p, block) == block);
                CHECK(TestType::origin(me, p, block) == collective::everybody);
            }
}

}  // namespace collective_cases
