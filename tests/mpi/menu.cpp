// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 3
// A plan chosen at run time, over MPI. The exact plan goes to MPI's own collective, and the others go through
// the engine. The same for typed calls.
// one MPI
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/typed.hpp>

using namespace ccoll::policies;

namespace {

constexpr ccoll::menu<ccoll::Plan<>, ccoll::Plan<Codec::SZp, RuntimeBound>, ccoll::Plan<Algo::Rabenseifner>>
    m{"exact", "szp", "rabenseifner"};
using floats = std::vector<float>;

bool is(const char* a, const char* b) { return std::string(a) == b; }

bool close(const floats& a, double expected, double within)
{
    for (const float x : a)
        if (!(std::fabs(x - expected) <= within)) return false;
    return true;
}

std::size_t exact_if_short(const ccoll::choice_facts& facts) { return facts.bytes <= 4000 ? 0 : 1; }

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const MPI_Comm comm = MPI_COMM_WORLD;
    const double sum = p * (p + 1) / 2.0, e = 1e-3;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1000}, std::size_t{300000}}) {
        const floats mine(n, static_cast<float>(check::rank + 1));
        floats out(n);
        const auto exact = ccoll::allreduce(m.at("exact"), mine, out, comm, e);
        EXPECT(exact.ran_by == ccoll::ran_by::mpi && exact.exact && close(out, sum, 0));
        const auto szp = ccoll::allreduce(m.at("szp"), mine, out, comm, e);
        EXPECT(is(szp.codec, "SZp") && close(out, sum, szp.worst_case_error + 1e-5) &&
               szp.worst_case_error == (p > 1 ? p * e : 0));
        const auto named = ccoll::allreduce(m.at("rabenseifner"), mine.data(), out.data(), n, comm, e);
        EXPECT(is(named.algorithm, "Rabenseifner") && close(out, sum, 0));
        for (std::size_t i = 0; i < m.size(); ++i) {
            auto begun = ccoll::iallreduce(m.at(i), mine, out, comm, e);
            EXPECT(begun.wait().exact == (i != 1 || p == 1) && close(out, sum, p * e + 1e-5));
            auto often = ccoll::allreduce_init(m.at(i), mine, out, comm, e);
            often.start();
            EXPECT(often.wait().exact == (i != 1 || p == 1) && close(out, sum, p * e + 1e-5));
        }
        const auto chosen = ccoll::allreduce(m.chosen_by(&exact_if_short), mine, out, comm, e);
        EXPECT(is(chosen.codec, n <= 1000 ? "None" : "SZp") && close(out, sum, p * e + 1e-5));

        const int next = (check::rank + 1) % p, before = (check::rank + p - 1) % p;
        constexpr ccoll::menu<ccoll::Plan<>, ccoll::Plan<Codec::SZp, RuntimeBound>> ends{"exact", "szp"};
        for (std::size_t i = 0; i < ends.size(); ++i) {
            EXPECT(ccoll::sendrecv(ends.at(i), mine, next, out, before, 3, comm, e).exact == (i == 0) &&
                   close(out, before + 1, i == 0 ? 0 : e));
            const auto typed =
                ccoll::typed::allreduce(ends.at(i), mine.data(), out.data(), n, MPI_FLOAT, MPI_SUM, comm, e);
            EXPECT(typed.exact == (i == 0 || p == 1) && close(out, sum, p * e + 1e-5));
            EXPECT((typed.ran_by == ccoll::ran_by::mpi) == (i == 0));
            floats here(n, check::rank == 0 ? 5.0f : 0.0f);
            ccoll::typed::bcast<Check::Collective>(ends.at(i), here.data(), n, MPI_FLOAT, 0, comm, e);
            EXPECT(close(here, 5, i == 0 ? 0 : e));
        }
        std::vector<int> numbers(n, check::rank);
        EXPECT(ccoll::typed::allreduce(ends.at("szp"), MPI_IN_PLACE, numbers.data(), n, MPI_INT, MPI_MAX,
                                       comm, e)
                   .ran_by == ccoll::ran_by::mpi);
        EXPECT(n == 0 || numbers[n - 1] == p - 1);
    }
    if (p > 1) {
        floats v(100, 1);
        std::error_code code;
        ccoll::allreduce<Check::Collective>(m.at(check::rank == 1 ? 2 : 1), v, comm, e, code);
        EXPECT(code == ccoll::status::plan_differs);
        v.assign(100, 1);
        EXPECT(ccoll::allreduce(m.at(1), v, comm, e).worst_case_error == p * e && close(v, p, p * e + 1e-5));
    }
    return check::finish();
}
