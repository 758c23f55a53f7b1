// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 2
// typed.hpp, calls that MPI does itself: counts above INT_MAX, and unsigned integers of every name in minimum
// and maximum.
// one MPI
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

#include <sys/mman.h>

#include "check.hpp"

#include <ccoll/typed.hpp>

namespace {

/// MPI 4 has functions for such counts. The memory is never touched, because nothing moves on MPI_COMM_SELF.
void large_counts()
{
    const std::size_t n = std::size_t{INT_MAX} + 100;
    void* const data =
        mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!EXPECT(data != MAP_FAILED)) return;
    const auto both = [&](auto call) {
        try {
            EXPECT(call().ran_by == ccoll::ran_by::mpi);
            EXPECT(MPI_VERSION >= 4);
        } catch (const ccoll::error& e) {
            const bool said = std::string(e.what()).find("2147483647") != std::string::npos &&
                              std::string(e.what()).find("MPI 4") != std::string::npos;
            check::expect(MPI_VERSION < 4 && said, e.what());
        }
    };
    both([&] { return ccoll::typed::bcast(data, n, MPI_INT8_T, 0, MPI_COMM_SELF); });
    both([&] { return ccoll::typed::ibcast(data, n, MPI_INT8_T, 0, MPI_COMM_SELF).wait(); });
    munmap(data, n);
}

/// MPICH 4.0 compares unsigned integers as signed ones, and Open MPI 4.1 those of the type MPI_UNSIGNED_LONG.
template <class T>
void extremes(MPI_Datatype type, const char* name)
{
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const T small = 1, large = static_cast<T>(~T{0});
    const T mine = check::rank == 0 ? small : large;
    T most = 0, least = 0;
    const ccoll::report facts = ccoll::typed::allreduce(&mine, &most, 1, type, MPI_MAX, MPI_COMM_WORLD);
    ccoll::typed::iallreduce(&mine, &least, 1, type, MPI_MIN, MPI_COMM_WORLD).wait();
    check::expect(facts.ran_by == ccoll::ran_by::mpi && most == (p > 1 ? large : small) && least == small,
                  name);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    large_counts();
#define EXTREMES(T, type) extremes<T>(type, #type)
    EXTREMES(unsigned char, MPI_UNSIGNED_CHAR);
    EXTREMES(unsigned short, MPI_UNSIGNED_SHORT);
    EXTREMES(unsigned, MPI_UNSIGNED);
    EXTREMES(unsigned long, MPI_UNSIGNED_LONG);
    EXTREMES(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    EXTREMES(std::uint8_t, MPI_UINT8_T);
    EXTREMES(std::uint16_t, MPI_UINT16_T);
    EXTREMES(std::uint32_t, MPI_UINT32_T);
    EXTREMES(std::uint64_t, MPI_UINT64_T);
    return check::finish();
}
