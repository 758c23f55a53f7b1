// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All collectives on memory that the host cannot read, with codec work that is done late, compared with the same calls on host memory.
#include "worlds.hpp"

#include <cerrno>

#include "../far_cases.hpp"

using namespace worlds;

namespace {

struct told {
    std::string wrong;
};

void all_cases(int p, std::size_t n, unsigned seed)
{
    INFO("p " << p << ", n " << n << ", seed " << seed);
    far::worker::reseed(seed);
    for (const told& each : run<told>(p, [n](threads_comm& comm, told& mine) { far::cases(comm, mine.wrong).run(n); }))
        CHECK(each.wrong == "");
}

}  // namespace

TEST_CASE("The host cannot read far memory, and the worker can", "[far]")
{
    far::vector<float> x(std::vector<float>{1, 2, 3});
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK(write(ends[1], x.address(), sizeof(float)) == -1);
    CHECK(errno == EFAULT);
    CHECK(write(ends[1], far::near(x.address()), sizeof(float)) == sizeof(float));
    close(ends[0]);
    close(ends[1]);
    CHECK(x.values() == std::vector<float>{1, 2, 3});
}

// Two cases, so that both cores have work.
TEST_CASE("Far memory: every collective gives the bits and sends the bytes of the host, on up to 3 ranks", "[far]")
{
    unsigned seed = 1;
#ifdef CCOLL_TEST_SANITIZED
    for (const int p : {2, 3}) all_cases(p, 5000, seed++);
#else
    for (const int p : {1, 2, 3})
        for (const std::size_t n : far::lengths) all_cases(p, n, seed++);
#endif
}

TEST_CASE("Far memory: every collective gives the bits and sends the bytes of the host, on more ranks", "[far]")
{
    unsigned seed = 100;
#ifdef CCOLL_TEST_SANITIZED
    all_cases(4, 300001, seed);
#else
    for (const int p : {4, 5, 8})
        for (const std::size_t n : far::lengths) all_cases(p, p > 4 ? n / 4 : n, seed++);
#endif
    CHECK(far::worker::one().overtaken() > 0);
}

TEST_CASE("Far memory: two levels, in several orders of the worker", "[far]")
{
    using namespace ccoll::policies;
    for (unsigned seed = 1; seed <= 5; ++seed) {
        far::worker::reseed(seed);
        for (const told& each : run<told>(5, [](threads_comm& comm, told& mine) {
                 const int node_of_rank[] = {0, 0, 1, 1, 2};
                 ccoll::set_nodes(comm, node_of_rank);
                 const std::vector<float> x = fields::smooth<float>(70000, static_cast<unsigned>(comm.rank()) + 1);
                 std::vector<float> y(x.size());
                 const far::vector<float> far_x(x);
                 far::vector<float> far_y(x.size());
                 using plan = ccoll::Plan<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>, Op::Average>;
                 const auto expected = ccoll::allreduce<plan>(x, y, comm), found = ccoll::allreduce<plan>(far_x, far_y, comm);
                 if (far_y.values() != y) mine.wrong += "other values; ";
                 if (expected.worst_case_error != found.worst_case_error) mine.wrong += "another promise; ";
             }))
            CHECK(each.wrong == "");
    }
}

TEST_CASE("Far memory: trouble on one rank reaches all, and no work remains", "[far]")
{
    using namespace ccoll::policies;
    for (const std::size_t n : {std::size_t{1000}, std::size_t{600000}})
        for (const told& each : run<told>(
                 3,
                 [n](threads_comm& comm, told& mine) {
                     const far::vector<float> x(comm.rank() == 1 ? n / 2 : n, 1.0f);
                     far::vector<float> y(x.elements());
                     std::error_code code;
                     ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(x, y, comm, code);
                     if (code != ccoll::make_error_code(status::count_differs)) mine.wrong += "counts: " + code.message() + "; ";
                     {
                         ccoll::request dropped = ccoll::iallreduce<Codec::SZp, ErrorBound<1e-3>>(x, y, comm);
                         if (comm.rank() != 0) dropped.wait(code);
                     }
                     if (!code) mine.wrong += "dropped: no error; ";
                     const far::vector<float> again(100, 2.0f);
                     far::vector<float> sum(100);
                     ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(again, sum, comm);
                     for (const float each_sum : sum.values())
                         if (!(std::abs(each_sum - 6) <= 3.01e-3f)) mine.wrong += "afterwards; ";
                 },
                 60))
            CHECK(each.wrong == "");
}
