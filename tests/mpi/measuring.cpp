// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 2 3
// Calls that choose by measuring, over MPI: MPI's own collective is the first candidate. Two communicators at
// once, ranks of different speed, and a bound on everything. The process sets its environment itself.
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;

bool is(const char* a, const std::string& b) { return a == b; }

floats field(std::size_t n, int rank, bool smooth)
{
    floats x(n);
    unsigned state = 1234567u * static_cast<unsigned>(rank + 1);
    for (std::size_t i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        x[i] = smooth ? std::sin(1e-3f * static_cast<float>(i) + static_cast<float>(rank))
                      : static_cast<float>(state) * 0x1p-32f;
    }
    return x;
}
/// All ranks took the same.
bool same(const ccoll::report& r, MPI_Comm comm)
{
    unsigned hash = 1, least = 0, most = 0;
    for (const char* name : {r.algorithm, r.codec, r.placement, r.reason})
        for (; *name != 0; ++name) hash = hash * 31 + static_cast<unsigned char>(*name);
    MPI_Allreduce(&hash, &least, 1, MPI_UNSIGNED, MPI_MIN, comm);
    MPI_Allreduce(&hash, &most, 1, MPI_UNSIGNED, MPI_MAX, comm);
    return least == most;
}

}  // namespace

int main(int argc, char** argv)
{
    setenv("CCOLL_ALGO", "alltoall:pairwise,szp", 1);
    check::init(&argc, &argv);
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm second = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, p - check::rank, &second);  // in another order
    const std::size_t n = (1 << 18) + 1000;
    floats y(n), z(n);
    for (const bool smooth : {true, false, true}) {
        const floats x = field(n, check::rank, smooth);
        floats exact(n);
        MPI_Allreduce(x.data(), exact.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        for (int k = 0; k < 15; ++k) {
            if (check::rank == p - 1 && k % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            const ccoll::report r = ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, MPI_COMM_WORLD);
            EXPECT(same(r, MPI_COMM_WORLD));
            EXPECT(!is(r.codec, "None") || r.ran_by == ccoll::ran_by::mpi || is(r.algorithm, "Ring"));
            EXPECT(r.exact == is(r.codec, "None") || p == 1);
            float worst = 0;
            for (std::size_t i = 0; i < n; ++i) worst = std::max(worst, std::fabs(y[i] - exact[i]));
            EXPECT(worst <= static_cast<float>(r.worst_case_error) + 1e-5f);
            const ccoll::report other = ccoll::bcast<Codec::Auto, ErrorBound<1e-3>>(z, p - 1, second);
            EXPECT(same(other, second));
            ccoll::request begun = ccoll::iallreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, second);
            EXPECT(same(begun.wait(), second));
        }
    }
    const floats shorter(99 * static_cast<std::size_t>(p), 1.5f);
    floats sum(shorter.size());
    const ccoll::report r = ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(shorter, sum, MPI_COMM_WORLD);
    EXPECT(r.ran_by == ccoll::ran_by::mpi);
    const ccoll::report moved = ccoll::alltoall<Codec::Auto, ErrorBound<1e-3>>(shorter, sum, MPI_COMM_WORLD);
    EXPECT(p == 1 || (is(moved.codec, "SZp") && is(moved.reason, "CCOLL_ALGO")));
    MPI_Comm_free(&second);
    return check::finish();
}
