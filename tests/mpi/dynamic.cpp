// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic.hpp over MPI: calls described by values beside MPI's own, with MPI_IN_PLACE and counts of the types
// of MPI.
// ranks: 1 3
#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"

#include <ccoll/compile_dynamic.hpp>
#include <ccoll/transport/mpi.hpp>

using namespace ccoll::policies;
namespace dynamic = ccoll::dynamic;
using ccoll::collective_id;
using dynamic::element_id;

struct plans : dynamic::menu<float, Algo::Auto, Algo::Ring, Codec::None, Codec::SZp, Codec::Auto,
                             RuntimeBound, Op::Sum, Op::Max> {};

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int me = 0, p = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const MPI_Comm comm = MPI_COMM_WORLD;
    const auto ranks = static_cast<std::size_t>(p), mine = static_cast<std::size_t>(me);
    constexpr int n = 20000;
    std::vector<float> x(n), theirs(n), ours(n);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = std::sin(1e-3f * static_cast<float>(i)) + static_cast<float>(me);
    MPI_Allreduce(x.data(), theirs.data(), n, MPI_FLOAT, MPI_SUM, comm);
    const auto error = [&] {
        double worst = 0;
        for (std::size_t i = 0; i < ours.size(); ++i)
            worst = std::max(worst, std::fabs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])));
        return worst;
    };

    // Without a plan the call is MPI's own, from the first call on the communicator to the next ones.
    dynamic::call sum{.send = x.data(), .recv = ours.data(), .n = x.size()};
    for (int i = 0; i < 3; ++i) {
        const ccoll::report facts = dynamic::run<plans>(sum, comm);
        EXPECT(p == 1 || std::strcmp(facts.algorithm, "MPI") == 0);
        EXPECT(ours == theirs);
    }
    sum.how = dynamic::plan::from_names("Ring, SZp", 1e-3);
    ccoll::report facts = dynamic::run<plans>(sum, comm);
    EXPECT(std::strcmp(facts.codec, "SZp") == 0);
    EXPECT(error() <= facts.worst_case_error + 1e-4);
    ours = x;
    sum.send = MPI_IN_PLACE;
    facts = dynamic::begin<plans>(sum, comm).wait();
    EXPECT(error() <= facts.worst_case_error + 1e-4);
    ours = x;
    ccoll::persistent often = dynamic::prepare<plans>(sum, comm);
    often.start();
    facts = often.wait();
    EXPECT(error() <= facts.worst_case_error + 1e-4);
    ours = x;
    sum.how.algo = dynamic::algo_id::Auto;
    sum.how.codec = dynamic::codec_id::Auto;
    facts = dynamic::run<plans>(sum, comm);
    EXPECT(error() <= 1.001e-3 * p + 1e-4);

    // Parts of different lengths, from rank 0 and back, in the integers of MPI's large counts.
    std::vector<MPI_Count> counts(ranks);
    std::vector<MPI_Aint> at(ranks);
    for (std::size_t r = 0; r < ranks; ++r) counts[r] = static_cast<MPI_Count>(r + 1);
    for (std::size_t r = 1; r < ranks; ++r) at[r] = at[r - 1] + static_cast<MPI_Aint>(counts[r - 1]) + 1;
    const std::size_t whole = static_cast<std::size_t>(at[ranks - 1]) + ranks;
    std::vector<float> part(mine + 1, -1.0f), back(whole, -1.0f);
    dynamic::call scatter{.which = collective_id::scatter,
                          .send = me == 0 ? x.data() : nullptr,
                          .recv = part.data(),
                          .n = part.size(),
                          .varied = true};
    if (me == 0) {
        scatter.send_counts = dynamic::counts(counts.data());
        scatter.send_displacements = dynamic::counts(at.data());
    }
    dynamic::run<plans>(scatter, comm);
    for (std::size_t i = 0; i < part.size(); ++i)
        EXPECT(part[i] == std::sin(1e-3f * static_cast<float>(static_cast<std::size_t>(at[mine]) + i)));
    dynamic::call gather{.which = collective_id::gather,
                         .send = part.data(),
                         .recv = me == 0 ? back.data() : nullptr,
                         .n = part.size(),
                         .varied = true};
    if (me == 0) {
        gather.recv_counts = dynamic::counts(counts.data());
        gather.recv_displacements = dynamic::counts(at.data());
    }
    dynamic::run<plans>(gather, comm);
    if (me == 0)
        for (std::size_t r = 0; r < ranks; ++r)
            for (std::size_t i = 0; i <= r; ++i) {
                const std::size_t place = static_cast<std::size_t>(at[r]) + i;
                EXPECT(back[place] == x[place]);
            }

    // The root of a scatter leaves its own part in place.
    std::vector<float> equal(ranks), one(1, -1.0f);
    for (std::size_t r = 0; r < ranks; ++r) equal[r] = static_cast<float>(r);
    dynamic::call place{.which = collective_id::scatter, .send = equal.data(), .recv = one.data(), .n = 1};
    if (me == 0) place.recv = MPI_IN_PLACE;
    dynamic::run<plans>(place, comm);
    EXPECT(one[0] == (me == 0 ? -1.0f : static_cast<float>(me)));

    // Neighbours come from the topology of the communicator.
    MPI_Comm ring = MPI_COMM_NULL;
    const int closed = 1;
    MPI_Cart_create(comm, 1, &p, &closed, 0, &ring);
    float around[2] = {-1, -1};
    const float own = static_cast<float>(me);
    dynamic::run<plans>({.which = collective_id::neighbor_allgather, .send = &own, .recv = around, .n = 1},
                        ring);
    EXPECT(around[0] == static_cast<float>((me + p - 1) % p) &&
           around[1] == static_cast<float>((me + 1) % p));
    MPI_Comm_free(&ring);

    std::error_code code;
    sum.type = element_id::f64;
    dynamic::run<plans>(sum, comm, code);
    EXPECT(code == ccoll::status::bad_argument);
    return check::finish();
}
