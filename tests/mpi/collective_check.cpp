// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 2 3
// CCOLL_CHECK=collective turns Check::Collective on for every call of a program, exact ones included.
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;
using ccoll::status;

namespace {

/// check::expect for ranks that are threads.
void expect(bool holds, const char* what)
{
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    check::expect(holds, what);
}

/// `call(rank, comm)` throws the same sentence on all ranks, and the next call is right.
template <class Call, class Comm>
void all_throw(const char* what, status code, Call call, int rank, int ranks, Comm&& comm, std::string& said)
{
    try {
        call(rank, comm);
        expect(false, (std::string(what) + " must throw").c_str());
    } catch (const ccoll::error& e) {
        said = e.what();
        expect(e.what_happened().code == code, (std::string(what) + ": " + said).c_str());
    }
    std::vector<float> one(10, 1.0f);
    const auto facts = ccoll::allreduce(one, comm);
    expect(one[9] == static_cast<float>(ranks) && facts.agreed, what);
}

/// Mistakes of a first day, of which MPI's own collectives hang, or tell only some ranks.
template <class Run>
void mistakes(Run run)
{
    using floats = std::vector<float>;
    run("other counts", status::count_differs, [](int rank, auto& comm) {
        floats x(rank == 1 ? 1001 : 1000, 1.0f), y(x.size());
        ccoll::allreduce(x, y, comm);
    });
    run("other counts, Check::Local", status::count_differs, [](int rank, auto& comm) {
        floats x(rank == 1 ? 7 : 8);
        ccoll::bcast<Codec::SZp, ErrorBound<1e-3>, Check::Local>(x, 0, comm);
    });
    run("buffers that do not fit on one rank", status::size_mismatch, [](int rank, auto& comm) {
        floats x(10), y(rank == 0 ? 9 : 10);
        ccoll::allreduce(x, y, comm);
    });
    run("other roots", status::root_differs, [](int rank, auto& comm) {
        floats x(10);
        ccoll::bcast(x, rank == 0 ? 0 : 1, comm);
    });
    run("other operations", status::plan_differs, [](int rank, auto& comm) {
        floats x(10);
        if (rank == 0) ccoll::allreduce<Op::Max>(x, comm);
        else ccoll::allreduce(x, comm);
    });
    run("other collectives, nonblocking", status::plan_differs, [](int rank, auto& comm) {
        floats x(10);
        if (rank == 0) ccoll::iallreduce(x, comm).wait();
        else ccoll::ibcast(x, 0, comm).wait();
    });
}

}  // namespace

int main(int argc, char** argv)
{
    setenv("CCOLL_CHECK", "collective", 1);  // before the first call, which reads it
    check::init(&argc, &argv);
    int me = 0, p = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);

    mistakes([&](const char* what, status code, auto call) {
        std::string said;
        all_throw(what, code, call, me, p, MPI_COMM_WORLD, said);
        said.erase(0, said.find(": "));  // the call, which may be another one on each rank
        said.resize(1000);
        std::string first(said);
        MPI_Bcast(first.data(), 1000, MPI_CHAR, 0, MPI_COMM_WORLD);
        check::expect(said == first, what);
    });
    ccoll::set_nodes(MPI_COMM_WORLD, std::vector<int>(static_cast<std::size_t>(p)));
    std::vector<float> x(static_cast<std::size_t>(100 + me));
    std::error_code code;
    ccoll::allreduce<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Check::Local>(x, MPI_COMM_WORLD, code);
    EXPECT(code == ccoll::make_error_code(status::count_differs));

    if (me == 0) {
        mistakes([](const char* what, status expected, auto call) {
            ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) {
                std::string said;
                all_throw(what, expected, call, comm.rank(), comm.size(), comm, said);
            });
        });
    }
    return check::finish();
}
