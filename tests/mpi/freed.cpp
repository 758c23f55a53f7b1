// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sanitize: address
// Communicators that are freed, and MPI that is finalised, while calls are under way or prepared.
#include <cstdio>
#include <string>
#include <vector>

#include <unistd.h>

#include "check.hpp"
#include "support/acme_fixed16.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;

namespace {

MPI_Comm fresh()
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return comm;
}

/// The error of start(); "" if there is none.
std::string start(ccoll::persistent& prepared)
{
    try {
        prepared.start();
    } catch (const ccoll::error& e) {
        check::expect(e.what_happened().code == ccoll::status::no_communicator, e.what());
        return e.what();
    }
    return "";
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const auto all = static_cast<float>(p);
    for (const std::size_t n : {std::size_t{100}, std::size_t{400000}}) {
        floats a(n, 1), b(n, 1), c(n, 1);
        MPI_Comm comm = fresh(), other = fresh();
        auto ring = ccoll::iallreduce<Algo::Ring>(a, comm);
        auto sums = ccoll::iallreduce<acme::Fixed16, ErrorBound<1e-3>>(b, comm);
        auto native = ccoll::iallreduce(c, other);
        MPI_Comm_free(&comm);  // as in MPI, calls that are under way still end
        MPI_Comm_free(&other);
        native.wait();
        ring.wait();
        sums.wait();
        EXPECT(a[n - 1] == all && c[0] == all);
        EXPECT(b[7] > all - 0.01f && b[7] < all + 0.01f);
    }
    {  // an address that is reused
        floats a(1000, 1);
        for (int i = 0; i < 20; ++i) {
            MPI_Comm comm = fresh();
            auto begun = ccoll::iallreduce<Algo::Ring>(a, comm);
            MPI_Comm_free(&comm);
            MPI_Comm next = fresh();
            floats b(1000, 1);
            ccoll::allreduce<Algo::Ring>(b, next);
            begun.wait();
            EXPECT(b[999] == all);
            MPI_Comm_free(&next);
            a.assign(1000, 1);
        }
    }
    floats x(1000, 1), y(1000), z(1000, 1), w(1000, 1);
    MPI_Comm comm = fresh();
    auto prepared = ccoll::allreduce_init<Algo::Ring>(x, y, comm);
    prepared.start();
    prepared.wait();
    EXPECT(y[0] == all);
    MPI_Comm_free(&comm);
    const std::string freed = start(prepared);
    check::expect(freed.find("has been freed") != std::string::npos, freed.c_str());
    std::error_code unstarted;
    prepared.wait(unstarted);
    EXPECT(unstarted == ccoll::status::out_of_turn);

    // After MPI_Finalize: a request that is never waited for, and one that is waited for too late. Only rank
    // 0 began them.
    auto late = ccoll::allreduce_init<Algo::Ring>(x, y, MPI_COMM_WORLD);
    ccoll::request dropped, waited;
    if (check::rank == 0) {
        dropped = ccoll::iallreduce<Algo::Ring>(z, MPI_COMM_WORLD);
        waited = ccoll::iallreduce<Algo::Ring>(w, MPI_COMM_WORLD);
    }
    const int code = check::finish([&] {
        const std::string over = start(late);
        check::expect(over.find("finalised") != std::string::npos, over.c_str());
        if (check::rank != 0) return;
        int ends[2];
        EXPECT(pipe(ends) == 0);
        const int errors = dup(2);
        dup2(ends[1], 2);
        dropped = {};
        std::fflush(stderr);
        dup2(errors, 2);
        close(ends[1]);
        char text[512] = "";
        const auto read_bytes = read(ends[0], text, sizeof text - 1);
        check::expect(read_bytes > 0 && std::string(text).find("ccoll: ") == 0, "it is said on stderr");
        std::error_code heard;
        waited.wait(heard);
        EXPECT(heard == ccoll::status::transport_failed);
    });
    return code;
}
