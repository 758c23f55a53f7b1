// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives over MPI on memory that the host cannot read, with codec work that a thread does late, compared with the same calls on host
// memory.
// ranks: 2 3 4
#include <string>

#include "check.hpp"

#include "../far_cases.hpp"

int main(int argc, char** argv)
{
    check::init(&argc, &argv, MPI_THREAD_FUNNELED);
    unsigned seed = static_cast<unsigned>(check::rank) + 1;
    for (const std::size_t n : {std::size_t{300001}, std::size_t{5000}, std::size_t{37}}) {
        far::worker::reseed(seed++);
        std::string wrong;
        const MPI_Comm world = MPI_COMM_WORLD;
        far::cases(world, wrong).run(n);
        check::expect(wrong.empty(), wrong.c_str());
    }
    return check::finish();
}
