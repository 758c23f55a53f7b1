// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// module: once more as a library that the program loads, compiled as clang does by default, so that nothing
// in it keeps it loaded.
//
// A plug-in that uses the library is closed before MPI is finalised. MPI calls back into it when
// communicators are freed, so it must remain.
#ifndef CCOLL_TEST_MODULE

#include <dlfcn.h>

#include <string>

#include "check.hpp"

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int i = 0; i < 2; ++i) {
        void* const plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
        if (!EXPECT(plugin != nullptr)) MPI_Abort(MPI_COMM_WORLD, 1);
        using function = double (*)(MPI_Comm);
        const auto sum_of_ranks = reinterpret_cast<function>(dlsym(plugin, "sum_of_ranks"));
        int p = 1;
        MPI_Comm_size(MPI_COMM_WORLD, &p);
        EXPECT(sum_of_ranks(other) == p * (p - 1) / 2.0);
        EXPECT(sum_of_ranks(MPI_COMM_WORLD) == p * (p - 1) / 2.0);
        EXPECT(dlclose(plugin) == 0);
    }
    MPI_Comm_free(&other);
    return check::finish();
}

#else

#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/transport/mpi.hpp>

extern "C" __attribute__((visibility("default"))) double sum_of_ranks(MPI_Comm comm)
{
    int me = 0;
    MPI_Comm_rank(comm, &me);
    std::vector<double> x(100, me);
    ccoll::allreduce<ccoll::policies::Algo::Ring>(x, comm);
    return x.back();
}

#endif
