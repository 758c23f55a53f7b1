// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// v variants in which one rank sends more or less than another expects. The verdict names this pair on all
// ranks.
#include <random>

#include "errors.hpp"

namespace varied_counts_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

using floats = std::vector<float>;
using counts = std::vector<std::size_t>;

/// One mismatch among p ranks: what `receiver` expects from `sender`, and what that rank sends.
struct mismatch {
    int p, sender, receiver;
    std::size_t awaited, sent;
    unsigned seed;

    /// Elements from rank `from` to rank `to` if both agree.
    std::size_t agreed(int from, int to) const
    {
        return (seed * 31 + static_cast<unsigned>(from) * 17 + static_cast<unsigned>(to) * 5) % 40;
    }
    std::size_t sends(int from, int to) const
    {
        return from == sender && to == receiver ? sent : agreed(from, to);
    }
    std::size_t awaits(int to, int from) const
    {
        return from == sender && to == receiver ? awaited : agreed(from, to);
    }
};

std::size_t sum_of(const counts& all)
{
    std::size_t sum = 0;
    for (const std::size_t each : all) sum += each;
    return sum;
}

/// All ranks name the pair. They name both counts if a part is one message. For longer parts they name the
/// expected count, and which one is longer.
void names_the_pair(const std::vector<heard>& all, const mismatch& m)
{
    for (std::size_t r = 0; r < all.size(); ++r) {
        INFO("rank " << r << ": '" << all[r].text << "'");
        CHECK(all[r].works_afterwards);
        const ccoll::verdict& v = all[r].what;
        CHECK(v.code == status::count_differs);
        CHECK(v.rank == m.receiver);
        CHECK(v.peer == m.sender);
        CHECK(v.expected == static_cast<double>(m.awaited));
        if (m.awaited < 100 && m.sent < 100) CHECK(v.found == static_cast<double>(m.sent));
        CHECK((v.found < v.expected) == (m.sent < m.awaited));
    }
}

/// Forty mismatches of all kinds.
template <class Check>
void many_mismatches(unsigned seed, Check check)
{
    std::mt19937 random(seed);
    for (unsigned i = 0; i < 40; ++i) {
        mismatch m{};
        m.p = 2 + static_cast<int>(random() % 6);
        m.sender = static_cast<int>(random() % static_cast<unsigned>(m.p));
        m.receiver = static_cast<int>(random() % static_cast<unsigned>(m.p));
        m.awaited = random() % 50;
        m.sent = m.awaited + 1 + random() % 7;
        if (i % 3 == 0) std::swap(m.awaited, m.sent);
        if (i % 10 == 0) {
            m.awaited = 70000 + random() % 9;
            m.sent = 200000;
        }
        if (i % 10 == 5) {
            m.awaited = 300000;
            m.sent = 66000 + random() % 9;
        }
        m.seed = i;
        INFO("p " << m.p << ", " << m.sender << " sends " << m.sent << " to " << m.receiver
                  << ", which awaits " << m.awaited);
        check(m);
    }
}

template <class... P>
void check_alltoallv(const mismatch& m)
{
    names_the_pair(listen(m.p,
                          [=](threads_comm& comm) {
                              counts out, in;
                              for (int r = 0; r < m.p; ++r) {
                                  out.push_back(m.sends(comm.rank(), r));
                                  in.push_back(m.awaits(comm.rank(), r));
                              }
                              floats send(sum_of(out), 1.0f), recv(sum_of(in));
                              ccoll::alltoallv<P...>(send, out, recv, in, comm);
                          }),
                   m);
}

}  // namespace

TEST_CASE("alltoallv names the two ranks whose counts differ", "[errors][alltoall]")
{
    many_mismatches(1, [](const mismatch& m) { check_alltoallv<>(m); });
    many_mismatches(2, [](const mismatch& m) { check_alltoallv<Codec::SZp, ErrorBound<1e-3>>(m); });
    many_mismatches(3, [](const mismatch& m) { check_alltoallv<Algo::Bruck>(m); });
    many_mismatches(4, [](const mismatch& m) {
        check_alltoallv<Algo::Pairwise, Codec::SZx, ErrorBound<1e-3>, Check::Collective>(m);
    });
}

TEST_CASE("gatherv and scatterv name the root and the rank whose counts differ", "[errors][gather][scatter]")
{
    many_mismatches(5, [](mismatch m) {
        if (m.receiver == m.sender) return;  // a wrong part of the root itself is its own error
        names_the_pair(listen(m.p,
                              [=](threads_comm& comm) {
                                  counts in;
                                  for (int r = 0; r < m.p; ++r) in.push_back(m.awaits(m.receiver, r));
                                  const floats send(m.sends(comm.rank(), m.receiver), 1.0f);
                                  floats recv(comm.rank() == m.receiver ? sum_of(in) : 0);
                                  ccoll::gatherv(send, recv, in, m.receiver, comm);
                              }),
                       m);
    });
    many_mismatches(6, [](mismatch m) {
        if (m.receiver == m.sender) return;
        names_the_pair(listen(m.p,
                              [=](threads_comm& comm) {
                                  counts out;
                                  for (int r = 0; r < m.p; ++r) out.push_back(m.sends(m.sender, r));
                                  const floats send(comm.rank() == m.sender ? sum_of(out) : 0, 1.0f);
                                  floats recv(m.awaits(comm.rank(), m.sender));
                                  ccoll::scatterv<Codec::SZp, ErrorBound<1e-3>>(send, out, recv, m.sender,
                                                                                comm);
                              }),
                       m);
    });
}

TEST_CASE("allgatherv names the rank that has other counts", "[errors][allgather]")
{
    std::mt19937 random(7);
    for (unsigned i = 0; i < 40; ++i) {
        const int p = 3 + static_cast<int>(random() % 5),
                  odd = static_cast<int>(random() % static_cast<unsigned>(p));
        const std::size_t a = random() % static_cast<unsigned>(p),
                          b = (a + 1 + random() % static_cast<unsigned>(p - 1)) % static_cast<unsigned>(p);
        const bool same_sum = i % 2 == 0;
        INFO("p " << p << ", rank " << odd << " differs in the counts " << a << " and " << b);
        const auto all = listen(p, [=](threads_comm& comm) {
            counts in;
            for (std::size_t r = 0; r < static_cast<std::size_t>(p); ++r)
                in.push_back(i % 8 == 0 ? 90000 + 7 * r : 10 + 7 * r);
            if (comm.rank() == odd) {
                in[a] += 3;
                if (same_sum) in[b] -= 3;
            }
            const floats send(in[static_cast<std::size_t>(comm.rank())], 1.0f);
            floats recv(sum_of(in));
            ccoll::allgatherv(send, recv, in, comm);
        });
        all_heard(all, status::count_differs);
        for (const heard& each : all) CHECK((each.what.rank == odd) != (each.what.peer == odd));
    }
}

}  // namespace varied_counts_cases
