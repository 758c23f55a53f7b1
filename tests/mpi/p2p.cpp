// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Point-to-point calls over MPI, compared with MPI's own: rings, a Cartesian halo with MPI_PROC_NULL, many
// calls in flight, the user's messages with the same tags, ends that differ, time-outs.
// ranks: 1 2 3
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

#include "support/fields.hpp"
#include "support/oracle.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/p2p.hpp>

using namespace ccoll::policies;
using ccoll::request;
using ccoll::status;

namespace {

using doubles = std::vector<double>;
using floats = std::vector<float>;
using E = ErrorBound<1e-3>;
int ranks = 1, me = 0;

template <class T>
bool close(const std::vector<T>& a, const std::vector<T>& b, double tolerance)
{
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])) <= tolerance)) return false;
    return true;
}

/// What `call` throws; ok if it returns.
template <class Call>
ccoll::verdict thrown_by(Call call)
{
    try {
        call();
    } catch (const ccoll::error& e) {
        return e.what_happened();
    }
    return {};
}

/// Before any collective: the first calls on the communicator concern two ranks, and the others make none.
void pairs_alone()
{
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    ccoll::attach(fresh);
    floats x(50000, 1.5f), y(50000);
    if (ranks > 1 && me == 0) ccoll::send<Codec::SZx, E>(x, ranks - 1, 0, fresh);
    if (ranks > 1 && me == ranks - 1) ccoll::recv<Codec::SZx, E>(y, 0, 0, fresh);
    if (ranks > 1 && me == ranks - 1) EXPECT(y == x);
    MPI_Comm_free(&fresh);
}

template <class... P>
void ring(std::size_t n, MPI_Comm comm)
{
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    const doubles mine = fields::smooth<double>(n, static_cast<unsigned>(me + 1));
    doubles expected(n), found(n, -7);
    MPI_Sendrecv(mine.data(), static_cast<int>(n), MPI_DOUBLE, right, 3, expected.data(), static_cast<int>(n),
                 MPI_DOUBLE, left, 3, comm, MPI_STATUS_IGNORE);
    ccoll::report facts = ccoll::sendrecv<P...>(mine, right, found, left, 3, comm);
    EXPECT(close(found, expected, facts.worst_case_error));
    found = mine;
    facts = ccoll::sendrecv<P...>(found.data(), n, right, found.data(), n, left, 3, comm);
    EXPECT(close(found, expected, facts.worst_case_error));
    found.assign(n, -7);
    request in = ccoll::irecv<P...>(found.data(), n, left, 4, comm);
    facts = ccoll::send<P...>(mine.data(), n, right, 4, comm);
    EXPECT(facts.raw_bytes == n * sizeof(double));
    facts = in.wait();
    EXPECT(close(found, expected, facts.worst_case_error));  // a relative bound is the sender's
}

/// Himeno's halo on a Cartesian communicator that is periodic in one direction. MPI_Cart_shift gives
/// MPI_PROC_NULL at the edges.
void halo()
{
    std::array<int, 2> dims{0, 0}, periods{0, 1};
    MPI_Dims_create(ranks, 2, dims.data());
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims.data(), periods.data(), 0, &grid);
    using plan = ccoll::Plan<Codec::SZx, E>;
    for (int round = 0; round < 10; ++round)
        for (int direction = 0; direction < 2; ++direction) {
            int low = 0, high = 0;
            MPI_Cart_shift(grid, direction, 1, &low, &high);
            const std::size_t n = direction == 0 ? 100 : 30000;
            const floats upper = fields::smooth<float>(n, static_cast<unsigned>(2 * me)),
                         lower = fields::smooth<float>(n, static_cast<unsigned>(2 * me + 1));
            floats from_low(n, -1), from_high(n, -1), expect_low(n, -1), expect_high(n, -1);
            const int count = static_cast<int>(n);
            MPI_Sendrecv(upper.data(), count, MPI_FLOAT, high, 0, expect_low.data(), count, MPI_FLOAT, low, 0,
                         grid, MPI_STATUS_IGNORE);
            MPI_Sendrecv(lower.data(), count, MPI_FLOAT, low, 1, expect_high.data(), count, MPI_FLOAT, high,
                         1, grid, MPI_STATUS_IGNORE);
            if (round % 2 == 0) {
                ccoll::sendrecv<plan>(upper, high, from_low, low, 0, grid);
                ccoll::sendrecv<plan>(lower, low, from_high, high, 0, grid);
            } else {
                std::array<request, 4> all{
                    ccoll::irecv<plan>(from_low, low, 0, grid), ccoll::irecv<plan>(from_high, high, 1, grid),
                    ccoll::isend<plan>(lower, low, 1, grid), ccoll::isend<plan>(upper, high, 0, grid)};
                ccoll::wait_all(all);
            }
            EXPECT(close(from_low, expect_low, 1e-3));
            EXPECT(close(from_high, expect_high, 1e-3));
        }
    MPI_Comm_free(&grid);
}

/// Every rank to every rank, with lengths and tags of all kinds, one tag more than once, and the user's
/// messages and collectives in between.
void many_in_flight()
{
    constexpr std::size_t lengths[] = {1, 3000, 250000, 0, 40000};
    constexpr int tags[] = {0, 17, 17, 17, ccoll::max_p2p_tag};
    for (int round = 0; round < 4; ++round) {
        std::vector<floats> sent, got;
        std::vector<request> all;
        sent.reserve(100);
        got.reserve(100);
        int user_out = me, user_in = -1;
        std::array<MPI_Request, 2> users{};
        MPI_Irecv(&user_in, 1, MPI_INT, (me + ranks - 1) % ranks, 17, MPI_COMM_WORLD, &users[0]);
        for (int peer = 0; peer < ranks; ++peer)
            for (std::size_t k = 0; k < 5; ++k) {
                sent.push_back(fields::smooth<float>(
                    lengths[k], static_cast<unsigned>(100 * me + 10 * peer) + static_cast<unsigned>(k)));
                got.emplace_back(lengths[k], -7.0f);
                all.push_back(ccoll::irecv<Codec::PipeSZx, E>(got.back(), peer, tags[k], MPI_COMM_WORLD));
                all.push_back(ccoll::isend<Codec::PipeSZx, E>(sent.back(), peer, tags[k], MPI_COMM_WORLD));
            }
        MPI_Isend(&user_out, 1, MPI_INT, (me + 1) % ranks, 17, MPI_COMM_WORLD, &users[1]);
        floats sum(300000, 1);
        ccoll::allreduce<Algo::Ring>(sum, MPI_COMM_WORLD);
        EXPECT(sum[0] == static_cast<float>(ranks) && sum[299999] == sum[0]);
        for (std::size_t i = 0; i < all.size(); ++i) all[me % 2 == 0 ? i : all.size() - 1 - i].wait();
        for (int peer = 0; peer < ranks; ++peer)
            for (std::size_t k = 0; k < 5; ++k)
                EXPECT(close(got[static_cast<std::size_t>(peer) * 5 + k],
                             fields::smooth<float>(lengths[k], static_cast<unsigned>(100 * peer + 10 * me) +
                                                                   static_cast<unsigned>(k)),
                             1e-3));
        MPI_Waitall(2, users.data(), MPI_STATUSES_IGNORE);
        EXPECT(user_in == (me + ranks - 1) % ranks);
    }
}

/// The receiver of a pair is told, the sender is not, and the next call is not affected.
void ends_that_do_not_fit()
{
    if (ranks < 2) return;
    const int partner = me ^ 1;
    if (partner >= ranks) return;
    const bool sends = me % 2 == 0;
    const auto next_call_works = [&] {
        floats x(60000, 1.5f), y(60000);
        if (sends) ccoll::send<Codec::SZx, E>(x, partner, 5, MPI_COMM_WORLD);
        else ccoll::recv<Codec::SZx, E>(y, partner, 5, MPI_COMM_WORLD);
        EXPECT(sends || y == x);
    };
    for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{10, 11},
                               {0, 1},
                               {1000000, 10},
                               {10, 1000000},
                               {1000000, 500000}}) {
        floats x(n, 1), y(m);
        const ccoll::verdict v = thrown_by([&] {
            if (sends) ccoll::send<Codec::SZx, E>(x, partner, 5, MPI_COMM_WORLD);
            else ccoll::recv<Codec::SZx, E>(y, partner, 5, MPI_COMM_WORLD);
        });
        EXPECT(sends ? v.ok() : v.code == status::count_differs && v.peer == partner);
        next_call_works();
    }
    // Other element type, twice as long as what the receiver waits for.
    for (const std::size_t n : {std::size_t{100}, std::size_t{400000}}) {
        doubles x(n, 1);
        floats y(n);
        const ccoll::verdict v = thrown_by([&] {
            if (sends) ccoll::send(x, partner, 5, MPI_COMM_WORLD);
            else ccoll::recv<Codec::SZp, E>(y, partner, 5, MPI_COMM_WORLD);
        });
        EXPECT(sends ? v.ok() : v.code == status::plan_differs);
        next_call_works();
    }
}

void bad_arguments()
{
    floats x(100, 1);
    EXPECT(thrown_by([&] { ccoll::send(x, ranks, 0, MPI_COMM_WORLD); }).code == status::bad_peer);
    EXPECT(thrown_by([&] { ccoll::recv(x, 0, MPI_ANY_TAG, MPI_COMM_WORLD); }).code == status::bad_tag);
    EXPECT(thrown_by([&] { ccoll::send(x, 0, 4096, MPI_COMM_WORLD); }).code == status::bad_tag);
    EXPECT(thrown_by([&] { ccoll::send(x, 0, 0, MPI_COMM_NULL); }).code == status::no_communicator);
    std::error_code code;
    ccoll::recv(x, ranks, 0, MPI_COMM_WORLD, code);
    EXPECT(code == status::bad_peer);
    EXPECT(ccoll::recv(x, MPI_PROC_NULL, 0, MPI_COMM_WORLD).exact &&
           ccoll::send(x, ccoll::nobody, 0, MPI_COMM_WORLD).sent_bytes == 0);
    EXPECT(x == floats(100, 1));
}

/// A receive that gives up, and a send that omits a part: the peer is told, and the tag works afterwards.
void giving_up()
{
    if (ranks < 2 || me > 1) return;
    const int other = 1 - me;
    floats x = fields::smooth<float>(1000000, 1), y(x.size()), one(1, 1);
    const ccoll::verdict late =
        thrown_by([&] { ccoll::recv<Codec::SZx, E, Timeout<0.05>>(y, other, 7, MPI_COMM_WORLD); });
    EXPECT(late.code == status::timed_out && late.peer == other);
    ccoll::sendrecv(one, other, one, other, 8, MPI_COMM_WORLD);
    for (int round = 0; round < 3; ++round) {
        if (me == 0) {
            static_cast<void>(ccoll::isend<Codec::PipeSZx, E>(x, 1, 7, MPI_COMM_WORLD));
            ccoll::send(one, 1, 8, MPI_COMM_WORLD);
        } else {
            ccoll::recv(one, 0, 8, MPI_COMM_WORLD);
            const ccoll::verdict v =
                thrown_by([&] { ccoll::recv<Codec::PipeSZx, E>(y, 0, 7, MPI_COMM_WORLD); });
            EXPECT(v.code == status::abandoned && v.rank == 0);
        }
        ccoll::sendrecv<Codec::SZp, E>(x, other, y, other, 7, MPI_COMM_WORLD);
        EXPECT(close(y, x, 1e-3));
    }
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    pairs_alone();
    for (const std::size_t n : {0u, 1u, 127u, 5120u, 5121u, 16385u, 300007u}) {
        ring(n, MPI_COMM_WORLD);
        ring<Codec::SZx, E>(n, MPI_COMM_WORLD);
        ring<Codec::PipeSZx, RelativeBound<1e-4>>(n, MPI_COMM_WORLD);
        ring<Codec::SZp, EndToEnd<E>, Timeout<60>>(n, MPI_COMM_WORLD);
    }
    halo();
    many_in_flight();
    ends_that_do_not_fit();
    bad_arguments();
    giving_up();
    floats sum(1000, 1);
    ccoll::allreduce<Algo::Ring>(sum, MPI_COMM_WORLD);
    EXPECT(sum == floats(1000, static_cast<float>(ranks)));
    return check::finish();
}
