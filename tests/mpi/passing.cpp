// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 2 3
// Calls that are only passed on to MPI need no transport of their own from the second one on. That must
// notice what has changed since the first one, and leave everything else to the engine. Ranks may take
// different ways in one call.
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;

namespace {

/// What a call throws.
template <class Call>
ccoll::status trouble_of(Call call)
{
    try {
        call();
    } catch (const ccoll::error& e) {
        EXPECT(std::string(e.what()).size() > 40);
        return e.what_happened().code;
    }
    return ccoll::status::ok;
}
bool is_from_mpi(const ccoll::report& r)
{
    return r.ran_by == ccoll::ran_by::mpi && std::string(r.algorithm) == "MPI" &&
           std::string(r.codec) == "None" && r.exact;
}

/// Handles are used again: each communicator has another size than the one before.
void communicators_come_and_go(int p)
{
    for (int k = 0; k < 12; ++k) {
        MPI_Comm comm = MPI_COMM_NULL;
        int size = 0, me = 0;
        MPI_Comm_split(MPI_COMM_WORLD, k % 2 == 0 ? 0 : check::rank % 2, p - check::rank, &comm);
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &me);
        for (int i = 0; i < 3; ++i) {
            const floats x(3, 1);
            floats y(3), all(static_cast<std::size_t>(size));
            EXPECT(is_from_mpi(ccoll::allreduce(x, y, comm)) && y[2] == static_cast<float>(size));
            EXPECT(is_from_mpi(ccoll::allgather(floats(1, static_cast<float>(me)), all, comm)) &&
                   all[static_cast<std::size_t>(size) - 1] == static_cast<float>(size - 1));
        }
        MPI_Comm_free(&comm);
    }
}

/// What is wrong is said, although all was right before.
void mistakes(int p)
{
    floats x(4, 1), y(4), shorter(3);
    ccoll::allreduce(x, y, MPI_COMM_WORLD);
    EXPECT(trouble_of([&] { ccoll::allreduce(x, shorter, MPI_COMM_WORLD); }) == ccoll::status::size_mismatch);
    EXPECT(trouble_of([&] { ccoll::allreduce(x.data(), static_cast<float*>(nullptr), 4, MPI_COMM_WORLD); }) ==
           ccoll::status::null_buffer);
    EXPECT(trouble_of([&] { ccoll::allreduce(x.data(), x.data() + 1, 3, MPI_COMM_WORLD); }) ==
           ccoll::status::overlap);
    EXPECT(trouble_of([&] { ccoll::bcast(x, p, MPI_COMM_WORLD); }) == ccoll::status::bad_root);
    EXPECT(trouble_of([&] { ccoll::allreduce(x, y, MPI_Comm{MPI_COMM_NULL}); }) ==
           ccoll::status::no_communicator);
    EXPECT(trouble_of([&] { ccoll::allreduce(x.data(), y.data(), -1, MPI_COMM_WORLD); }) ==
           ccoll::status::bad_count);
    std::error_code code = std::make_error_code(std::errc::io_error);
    EXPECT(is_from_mpi(ccoll::allreduce(x, y, MPI_COMM_WORLD, code)) && !code);
    ccoll::allreduce(x, shorter, MPI_COMM_WORLD, code);
    EXPECT(code == ccoll::make_error_code(ccoll::status::size_mismatch));
    EXPECT(is_from_mpi(ccoll::allreduce(x, y, MPI_COMM_WORLD)) && y[0] == static_cast<float>(p));
}

/// Calls have the same numbers on all ranks, whichever way they went: the schedules below would find another
/// number.
void ways_differ(int p)
{
    const floats x(5, 2);
    floats y(5);
    for (int k = 0; k < 9; ++k) {
        if (k % 3 == check::rank) {  // from here on this rank knows nothing
            MPI_Comm other = MPI_COMM_NULL;
            MPI_Comm_dup(MPI_COMM_SELF, &other);
            ccoll::allreduce(x, y, other);
            MPI_Comm_free(&other);
        }
        ccoll::allreduce(x, y, MPI_COMM_WORLD);
        ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, MPI_COMM_WORLD);
        ccoll::allreduce<Algo::Ring>(x, y, MPI_COMM_WORLD);
        EXPECT(y[4] == static_cast<float>(2 * p));
    }
}

/// Compilers must not keep old values of a buffer that is on the stack, because a call seems to see only its
/// address.
void results_on_the_stack(int p)
{
    for (int k = 0; k < 4; ++k) {
        float x[2] = {1, static_cast<float>(k)}, y[2] = {-1, -1};
        ccoll::allreduce(x, y, MPI_COMM_WORLD);
        EXPECT(y[0] == static_cast<float>(p) && y[1] == static_cast<float>(p * k));
        double z[1] = {check::rank == 0 ? 7.0 : 0.0};
        ccoll::bcast(z, 0, MPI_COMM_WORLD);
        EXPECT(z[0] == 7);
        int mine[1] = {check::rank}, sum[1] = {0};
        ccoll::allreduce(&mine[0], &sum[0], 1, MPI_COMM_WORLD);
        EXPECT(sum[0] == p * (p - 1) / 2);
    }
}

/// Denormal numbers are added as such, whatever the program has set.
void environment([[maybe_unused]] int p)
{
#if defined(__SSE2__)
    const float least = std::numeric_limits<float>::denorm_min();
    const floats x(8, least);
    floats y(8);
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040);
    ccoll::allreduce(x, y, MPI_COMM_WORLD);
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    EXPECT((after & 0x8040) == 0x8040);
    EXPECT(y[7] == static_cast<float>(p) * least);
#endif
}

/// Several calls are under way that compare their arguments, and ranks hear the others' in different orders.
/// MPI would match its own calls by the order in which ranks begin them.
void begun_and_compared(int p)
{
    constexpr int calls = 8;
    for (int turn = 0; turn < 50; ++turn) {
        std::vector<double> in(calls), out(calls);
        std::vector<ccoll::request> all;
        for (std::size_t k = 0; k < calls; ++k) {
            in[k] = static_cast<double>(turn * calls) + static_cast<double>(k) - check::rank;
            all.push_back(ccoll::iallreduce<Op::Max, Check::Collective>(&in[k], &out[k], 1, MPI_COMM_WORLD));
        }
        const bool backward = (check::rank + turn) % 2 == 0;
        for (std::size_t k = 0; k < calls; ++k) all[backward ? calls - 1 - k : k].wait();
        for (std::size_t k = 0; k < calls; ++k)
            EXPECT(out[k] == static_cast<double>(turn * calls) + static_cast<double>(k));
    }
    // One that compares and one that does not, around a blocking call.
    for (int turn = 0; turn < 50; ++turn) {
        const double one = 1, two = 2, three = 3;
        double sum[3] = {};
        ccoll::request compares = ccoll::iallreduce<Check::Collective>(&one, &sum[0], 1, MPI_COMM_WORLD);
        if ((check::rank + turn) % 2 == 0)
            for (int i = 0; i < 20000 && !compares.test(); ++i) {}
        ccoll::request does_not = ccoll::iallreduce(&two, &sum[1], 1, MPI_COMM_WORLD);
        ccoll::allreduce<Check::Collective>(&three, &sum[2], 1, MPI_COMM_WORLD);
        does_not.wait();
        compares.wait();
        EXPECT(sum[0] == p && sum[1] == 2 * p && sum[2] == 3 * p);
    }
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    communicators_come_and_go(p);
    mistakes(p);
    ways_differ(p);
    environment(p);
    results_on_the_stack(p);
    begun_and_compared(p);

    floats x(6, 1), y(6), z(6);
    ccoll::request begun = ccoll::iallreduce(x, z, MPI_COMM_WORLD);  // from now on blocking calls move it on
    EXPECT(is_from_mpi(ccoll::allreduce(x, y, MPI_COMM_WORLD)));
    begun.wait();
    EXPECT(y[5] == static_cast<float>(p) && z[5] == static_cast<float>(p));

    std::thread([&] {  // MPI was not initialised for others
        int level = MPI_THREAD_SINGLE;
        MPI_Query_thread(&level);
        if (level < MPI_THREAD_SERIALIZED)
            EXPECT(trouble_of([&] { ccoll::allreduce(x, y, MPI_COMM_WORLD); }) ==
                   ccoll::status::no_communicator);
    })
        .join();
    return check::finish();
}
