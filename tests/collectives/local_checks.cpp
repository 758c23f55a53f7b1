// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Check::Local: ranks do not compare arguments first, so ranks that disagree may send different numbers of
// messages. No rank may hang.
#include "errors.hpp"

namespace local_checks_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

using buffer = std::vector<float>;

/// Calls `call(comm, count)` where one rank has another count than the others. Every rank must get an error.
template <class Call>
void counts_differ(Call call)
{
    struct pair {
        std::size_t mine, others;
    };
    // 262144 floats are 1 MiB, from where on Check::Auto would compare.
    for (const pair n :
         {pair{400000, 800000}, {800000, 400000}, {262144, 262145}, {5, 300000}, {300000, 5}, {0, 300000}})
        for (const int p : {2, 3, 4})
            for (const int odd : {0, p - 1}) {
                if (p == 4 && n.mine + n.others > 1000000) continue;  // saves time
                INFO("p " << p << ", rank " << odd << " has " << n.mine << ", others " << n.others);
                all_heard(
                    listen(p,
                           [=](threads_comm& comm) { call(comm, comm.rank() == odd ? n.mine : n.others); }),
                    status::count_differs);
            }
}

}  // namespace

TEST_CASE("Counts that differ are an error under Check::Local, at any size: allreduce", "[errors][check]")
{
    counts_differ([](threads_comm& comm, std::size_t n) {
        buffer v(n, 1.0f);
        ccoll::allreduce<Algo::Ring, Check::Local>(v, comm);
    });
    counts_differ([](threads_comm& comm, std::size_t n) {
        buffer v(n, 1.0f), sum(n);
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Check::Local>(v, sum, comm);
    });
    counts_differ([](threads_comm& comm, std::size_t n) {
        buffer v(n, 1.0f);
        ccoll::allreduce<Algo::RecursiveDoubling, Codec::PipeSZx, ErrorBound<1e-3>, Check::Local>(v, comm);
    });
}

TEST_CASE("Counts that differ are an error under Check::Local, at any size: allgather and alltoall",
          "[errors][check]")
{
    counts_differ([](threads_comm& comm, std::size_t n) {
        const buffer v(n, 1.0f);
        buffer all(n * static_cast<std::size_t>(comm.size()));
        ccoll::allgather<Algo::Ring, Check::Local>(v, all, comm);
    });
    counts_differ([](threads_comm& comm, std::size_t n) {
        const buffer v(n * static_cast<std::size_t>(comm.size()), 1.0f);
        buffer all(v.size());
        ccoll::alltoall<Algo::Pairwise, Codec::SZx, ErrorBound<1e-3>, Check::Local>(v, all, comm);
    });
}

TEST_CASE("Codecs with other chunks, and trouble of one rank alone, are errors under Check::Local",
          "[errors][check]")
{
    for (const std::size_t n : {std::size_t{100}, std::size_t{400000}})
        for (const int p : {2, 3})
            for (const int odd : {0, p - 1}) {
                INFO("p " << p << ", n " << n << ", odd rank " << odd);
                all_heard(
                    listen(p,
                           [=](threads_comm& comm) {  // slices are whole chunks of the codec
                               buffer v(n, 1.0f);
                               if (comm.rank() == odd) ccoll::allreduce<Algo::Ring, Check::Local>(v, comm);
                               else
                                   ccoll::allreduce<Algo::Ring, Codec::SZx, ErrorBound<1e-3>, Check::Local>(
                                       v, comm);
                           }),
                    status::plan_differs);
                all_heard(listen(p,
                                 // One rank compares, unless its vector is short; the others never do.
                                 [=](threads_comm& comm) {
                                     buffer v(n, 1.0f);
                                     if (comm.rank() == odd) ccoll::allreduce<Algo::Ring>(v, comm);
                                     else ccoll::allreduce<Algo::Ring, Check::Local>(v, comm);
                                 }),
                          status::plan_differs);
                all_heard(listen(p,
                                 // This rank cannot know how many messages the others expect.
                                 [=](threads_comm& comm) {
                                     const buffer v(comm.rank() == odd ? 3 : n, 1.0f);
                                     buffer sum(n);
                                     ccoll::allreduce<Algo::Ring, Check::Local>(v, sum, comm);
                                 }),
                          status::size_mismatch, status::count_differs);
            }
}

}  // namespace local_checks_cases
