// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// scan and exscan beside MPI_Scan and MPI_Exscan.
// ranks: 1 3 8
// one MPI
#include <cmath>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int me = 0, p = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const MPI_Comm comm = MPI_COMM_WORLD;
    for (const int n : {0, 1, 1000, 300001}) {
        const auto length = static_cast<std::size_t>(n);
        std::vector<float> field(length), theirs(length, 7.0f), ours(length, 7.0f), exact(length, 7.0f);
        for (std::size_t i = 0; i < length; ++i)
            field[i] = static_cast<float>((i + static_cast<std::size_t>(me)) % 97);
        const auto close = [&](const std::vector<float>& got, double bound) {
            bool all = true;
            for (std::size_t i = 0; i < length; ++i)
                all = all && std::fabs(static_cast<double>(got[i] - theirs[i])) <= bound + 1e-4;
            return all;
        };

        MPI_Scan(field.data(), theirs.data(), n, MPI_FLOAT, MPI_SUM, comm);
        auto facts = ccoll::scan<Codec::SZp, ErrorBound<1e-3>>(field.data(), ours.data(), n, comm);
        EXPECT(close(ours, facts.worst_case_error) && facts.worst_case_error <= 1.001e-3 * p);
        ccoll::scan(field, exact, comm);
        EXPECT(exact == theirs);
        exact = field;
        ccoll::scan<Algo::Chain>(MPI_IN_PLACE, exact.data(), n, comm);
        EXPECT(exact == theirs);

        theirs.assign(length, 7.0f);
        ours.assign(length, 7.0f);
        exact.assign(length, 7.0f);
        MPI_Exscan(field.data(), theirs.data(), n, MPI_FLOAT, MPI_SUM, comm);
        if (me == 0) theirs.assign(length, 7.0f);  // MPI leaves it open; ccoll does not touch it
        facts = ccoll::exscan<Codec::SZp, ErrorBound<1e-3>>(field.data(), ours.data(), n, comm);
        EXPECT(close(ours, facts.worst_case_error));
        ccoll::iexscan<Algo::Chain>(field, exact, comm).wait();
        EXPECT(exact == theirs);
        if (me == 0) theirs = field;
        exact = field;
        ccoll::exscan(MPI_IN_PLACE, exact.data(), n, comm);
        EXPECT(exact == theirs);
    }
    return check::finish();
}
