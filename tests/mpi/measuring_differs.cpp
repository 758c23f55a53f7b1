// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// one MPI
// An environment of one rank that cannot be obeyed: every rank gets an error, that rank the sentence, and no
// rank waits.
#include <cstdlib>
#include <string>
#include <vector>

#include "check.hpp"

#include <ccoll/auto.hpp>
#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const bool mine = check::rank == p - 1;
    if (mine) setenv("CCOLL_ALGO", "allreduce:fastest", 1);
    for (const std::size_t n : {std::size_t{10}, std::size_t{1} << 18}) {
        const std::vector<float> x(n, 1.0f);
        std::vector<float> y(n);
        for (int k = 0; k < 2; ++k) {
            std::string text;
            try {
                ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, MPI_COMM_WORLD);
            } catch (const ccoll::error& e) {
                text = e.what();
            }
            EXPECT(!text.empty());
            EXPECT((text.find("nothing is called 'fastest'") != std::string::npos) == mine);
            std::error_code code;
            ccoll::iallreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, MPI_COMM_WORLD).wait(code);
            EXPECT(code);
        }
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(x, y, MPI_COMM_WORLD);  // others are not affected
        EXPECT(y[n - 1] > static_cast<float>(p) - 0.01f);
    }
    return check::finish();
}
