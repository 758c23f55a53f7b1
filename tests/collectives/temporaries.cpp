// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A temporary view is a valid buffer, even as the one that receives.
#include <array>

#include "worlds.hpp"

namespace temporaries_cases {

using namespace worlds;

TEST_CASE("A temporary view can receive", "[buffers]")
{
    const auto all = run<std::vector<float>>(3, [](threads_comm& comm, std::vector<float>& mine) {
        const auto me = static_cast<float>(comm.rank());
        mine.assign(9, me);
        const std::span<float> view(mine);
        ccoll::allreduce(view.first(1), comm);
        ccoll::allreduce(std::span<const float>(view.subspan(1, 1)), view.subspan(2, 1), comm);
        ccoll::bcast(view.subspan(3, 1), 2, comm);
        ccoll::allgather(std::array<float, 1>{me}, view.last(3), comm);
        ccoll::gather(std::array<float, 1>{me + 1}, view.last(3), 0, comm);
        ccoll::scatter(view.last(3), view.subspan(4, 1), 0, comm);
        ccoll::reduce(view.subspan(5, 1), view.first(1), 1, comm);
        ccoll::reduce_scatter(std::array<float, 3>{1, 2, 3}, view.subspan(5, 1), comm);
    });
    CHECK(all[0] == std::vector<float>({3, 0, 3, 2, 1, 3, 1, 2, 3}));
    CHECK(all[1] == std::vector<float>({3, 1, 3, 2, 2, 6, 0, 1, 2}));
    CHECK(all[2] == std::vector<float>({3, 2, 3, 2, 3, 9, 0, 1, 2}));
}

}  // namespace temporaries_cases
