// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// All collectives on memory that the host cannot read, with codec work that is done late, compared with the
// same calls on host memory.
#include "worlds.hpp"

#include <cerrno>

#include "support/far_cases.hpp"

namespace far_space_cases {

using namespace worlds;

namespace {

struct told {
    std::string wrong;
};

/// Seconds. The worker and the ranks wait for each other, so on a busy machine this takes much longer than
/// its processor time.
#ifdef CCOLL_TEST_SANITIZED
constexpr double patience = 250;
#else
constexpr double patience = 100;
#endif

template <template <class> class Vector = far::vector>
void all_cases(int p, std::size_t n, unsigned seed)
{
    INFO("p " << p << ", n " << n << ", seed " << seed);
    far::worker::reseed(seed);
    for (const told& each : run<told>(
             p,
             [n](threads_comm& comm, told& mine) {
                 far::cases<threads_comm, Vector>(comm, mine.wrong).run(n);
             },
             patience))
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

TEST_CASE("Far messages: every collective gives the bits and sends the bytes of the host", "[far][direct]")
{
    unsigned seed = 200;
#ifdef CCOLL_TEST_SANITIZED
    all_cases<far::direct_vector>(3, 5000, seed);
#else
    for (const int p : {1, 2, 3, 4})
        for (const std::size_t n : {std::size_t{5000}, std::size_t{37}, std::size_t{0}})
            all_cases<far::direct_vector>(p, n, seed++);
    all_cases<far::direct_vector>(2, far::lengths[0], seed);  // several slices per lane
#endif
}

// Several cases, so that all cores have work.
TEST_CASE("Far memory: every collective gives the bits and sends the bytes of the host, on up to 3 ranks",
          "[far]")
{
    unsigned seed = 1;
#ifdef CCOLL_TEST_SANITIZED
    all_cases(3, 5000, seed);
#else
    for (const std::size_t n : {std::size_t{5000}, std::size_t{0}}) all_cases(1, n, seed++);
    for (const int p : {2, 3})
        for (const std::size_t n : far::lengths) all_cases(p, n, seed++);
#endif
}

TEST_CASE("Far memory: every collective gives the bits and sends the bytes of the host, on 4 and 5 ranks",
          "[far]")
{
    unsigned seed = 100;
#ifdef CCOLL_TEST_SANITIZED
    all_cases(4, 5000, seed);
    far::worker::reseed(seed + 1);
    for (const told& each : run<told>(
             2, [](threads_comm& comm, told& mine) { far::cases(comm, mine.wrong).run_long(140001); },
             patience))
        CHECK(each.wrong == "");  // two slices per lane
#else
    for (const std::size_t n : {std::size_t{75000}, std::size_t{5000}, std::size_t{37}, std::size_t{0}})
        all_cases(4, n, seed++);
    for (const std::size_t n : {std::size_t{20000}, std::size_t{37}}) all_cases(5, n, seed++);
#endif
    CHECK(far::worker::one().overtaken() > 0);
}

#ifndef CCOLL_TEST_SANITIZED
TEST_CASE("Far memory: every collective gives the bits and sends the bytes of the host, on 8 ranks", "[far]")
{
    unsigned seed = 300;
    for (const std::size_t n : {std::size_t{9000}, std::size_t{37}}) all_cases(8, n, seed++);
}
#endif

TEST_CASE("Far memory: two levels, in several orders of the worker", "[far]")
{
    using namespace ccoll::policies;
    for (unsigned seed = 1; seed <= 5; ++seed) {
        far::worker::reseed(seed);
        for (const told& each : run<told>(5, [](threads_comm& comm, told& mine) {
                 const int node_of_rank[] = {0, 0, 1, 1, 2};
                 ccoll::set_nodes(comm, node_of_rank);
                 const std::vector<float> x =
                     fields::smooth<float>(70000, static_cast<unsigned>(comm.rank()) + 1);
                 std::vector<float> y(x.size());
                 const far::vector<float> far_x(x);
                 far::vector<float> far_y(x.size());
                 using plan = ccoll::Plan<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp,
                                          ErrorBound<1e-3>, Op::Average>;
                 const auto expected = ccoll::allreduce<plan>(x, y, comm),
                            found = ccoll::allreduce<plan>(far_x, far_y, comm);
                 if (far_y.values() != y) mine.wrong += "other values; ";
                 if (expected.worst_case_error != found.worst_case_error) mine.wrong += "another promise; ";
             }))
            CHECK(each.wrong == "");
    }
}

TEST_CASE("Far messages: the host reads headers alone, and the report says where messages were",
          "[far][direct]")
{
    using namespace ccoll::policies;
    constexpr std::size_t n = 400000;
    far::fetched_bytes = 0;
    std::size_t sent = 0;
    for (const std::size_t each : run<std::size_t>(3, [](threads_comm& comm, std::size_t& mine) {
             const far::vector<float> x(fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1));
             far::vector<float> y(n), z(n);
             const report staged = ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-5>>(x, y, comm);
             const report direct =
                 ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-5>, Transport::Direct>(x, z, comm);
             const report named =
                 ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-5>, Transport::Staged>(x, y, comm);
             const bool right = !staged.direct && direct.direct && !named.direct && y.values() == z.values();
             mine = right && direct.sent_bytes == staged.sent_bytes ? direct.sent_bytes : 0;
         })) {
        CHECK(each > 0);
        sent += each;
    }
    CHECK(far::fetched_bytes > 0);
    CHECK(far::fetched_bytes * 20 < sent);
}

TEST_CASE("Far messages: two levels, and the smallest messages", "[far][direct]")
{
    using namespace ccoll::policies;
    for (const std::size_t n : {std::size_t{70000}, std::size_t{3}})
        for (const told& each : run<told>(5, [n](threads_comm& comm, told& mine) {
                 const int node_of_rank[] = {0, 0, 1, 1, 2};
                 ccoll::set_nodes(comm, node_of_rank);
                 const std::vector<float> x =
                     fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
                 std::vector<float> y(n);
                 const far::vector<float> far_x(x);
                 far::vector<float> far_y(n);
                 using plan = ccoll::Plan<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp,
                                          ErrorBound<1e-3>>;
                 ccoll::allreduce<plan>(x, y, comm);
                 const report found = ccoll::allreduce<plan, Transport::Direct>(far_x, far_y, comm);
                 if (far_y.values() != y) mine.wrong += "other values; ";
                 if (!found.direct) mine.wrong += "not direct; ";
             }))
            CHECK(each.wrong == "");
}

TEST_CASE("Far messages: one end of a message may be on the host", "[far][direct]")
{
    using namespace ccoll::policies;
    for (const std::size_t n : {std::size_t{200000}, std::size_t{2}})
        for (const told& each : run<told>(4, [n](threads_comm& comm, told& mine) {
                 using plan = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>, Transport::Direct>;
                 using on_host = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;
                 const std::vector<float> x = fields::smooth<float>(n, 5);
                 const far::vector<float> far_x(x);
                 const auto encoded = [&] {
                     std::vector<float> y = x;
                     ccoll::sendrecv<on_host>(x, comm.rank(), y, comm.rank(), 9, comm);
                     return y;
                 }();
                 std::vector<float> y(n);
                 far::vector<float> far_y(n);
                 switch (comm.rank()) {
                 case 0: ccoll::send<plan>(far_x, 1, 0, comm); break;
                 case 1: ccoll::recv<on_host>(y, 0, 0, comm); break;
                 case 2: ccoll::send<on_host>(x, 3, 0, comm); break;
                 default: ccoll::recv<plan>(far_y, 2, 0, comm);
                 }
                 if (comm.rank() == 1 && y != encoded) mine.wrong += "other values on the host; ";
                 if (comm.rank() == 3 && far_y.values() != encoded)
                     mine.wrong += "other values in far memory; ";
             }))
            CHECK(each.wrong == "");
}

TEST_CASE("Far messages: neither host buffers nor guarded links can be direct", "[far][direct]")
{
    using namespace ccoll::policies;
    using ccoll::detail::call_fault;
    using ccoll::detail::fault_of_direct;
    STATIC_REQUIRE(fault_of_direct<ccoll::Plan<Transport::Direct>, ccoll::host_space>() ==
                   call_fault::direct);
    STATIC_REQUIRE(fault_of_direct<ccoll::Plan<Transport::Staged>, ccoll::host_space>() == call_fault::none);
    STATIC_REQUIRE(fault_of_direct<ccoll::Plan<Transport::Direct, Fault::Crc32c>, far::space>() ==
                   call_fault::direct_guarded);
    STATIC_REQUIRE(fault_of_direct<ccoll::Plan<Transport::Direct>, far::space>() == call_fault::none);
}

namespace {
/// A transport that knows host memory alone.
struct host_only : threads_comm {
    explicit host_only(const threads_comm& comm) : threads_comm(comm) {}
    void reach() = delete;
};
}  // namespace

TEST_CASE("Far messages: a transport that cannot take them refuses on all ranks, and the next call works",
          "[far][direct]")
{
    using namespace ccoll::policies;
    for (const told& each : run<told>(3, [](threads_comm& users, told& mine) {
             const host_only comm(users);
             const far::vector<float> x(1000, 1.0f);
             far::vector<float> y(1000);
             using plan = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;
             try {
                 ccoll::allreduce<plan, Transport::Direct>(x, y, comm);
                 mine.wrong += "no error; ";
             } catch (const ccoll::error& e) {
                 if (e.what_happened().code != status::not_direct) mine.wrong += e.what();
                 if (std::string(e.what()).find("Transport::Staged") == std::string::npos)
                     mine.wrong += "no remedy; ";
             }
             std::error_code code;
             ccoll::send<plan, Transport::Direct>(x, comm.rank(), 0, comm, code);
             if (code != ccoll::make_error_code(status::not_direct))
                 mine.wrong += "send: " + code.message() + "; ";
             ccoll::allreduce<plan>(x, y, comm);
             for (const float sum : y.values())
                 if (!(std::abs(sum - 3) <= 1.6e-3f)) mine.wrong += "afterwards; ";
         }))
        CHECK(each.wrong == "");
}

TEMPLATE_TEST_CASE("Far memory: trouble on one rank reaches all, and no work remains", "[far][direct]",
                   far::vector<float>, far::direct_vector<float>)
{
    using namespace ccoll::policies;
    using vector = TestType;
    for (const std::size_t n : {std::size_t{1000}, std::size_t{600000}})
        for (const told& each : run<told>(
                 3,
                 [n](threads_comm& comm, told& mine) {
                     const vector x(comm.rank() == 1 ? n / 2 : n, 1.0f);
                     vector y(x.elements());
                     std::error_code code;
                     ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(x, y, comm, code);
                     if (code != ccoll::make_error_code(status::count_differs))
                         mine.wrong += "counts: " + code.message() + "; ";
                     {
                         ccoll::request dropped = ccoll::iallreduce<Codec::SZp, ErrorBound<1e-3>>(x, y, comm);
                         if (comm.rank() != 0) dropped.wait(code);
                     }
                     if (!code) mine.wrong += "dropped: no error; ";
                     const vector again(100, 2.0f);
                     vector sum(100);
                     ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(again, sum, comm);
                     for (const float each_sum : sum.values())
                         if (!(std::abs(each_sum - 6) <= 3.01e-3f)) mine.wrong += "afterwards; ";
                 },
                 60))
            CHECK(each.wrong == "");
}

}  // namespace far_space_cases
