// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exchanges between neighbours, on grids and on random graphs, with the results that the edges themselves
// tell.
#include <random>

#include "errors.hpp"

#include <ccoll/neighbor.hpp>

namespace neighbors_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// The neighbours of every rank, and a length for every edge.
struct graph {
    struct edge {
        int peer, number;  // of the edges between these two ranks; nobody: no edge
        std::size_t n;     // elements
    };
    std::vector<std::vector<edge>> out, in;

    std::vector<int> peers(const std::vector<edge>& all) const
    {
        std::vector<int> list;
        for (const edge& e : all) list.push_back(e.peer);
        return list;
    }
};
std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Random edges, several between the same ranks and from a rank to itself among them, in an order of its own
/// at each end.
graph random_graph(int p, unsigned seed, std::size_t most)
{
    std::mt19937 any(seed);
    graph g;
    g.out.resize(at(p));
    g.in.resize(at(p));
    for (int s = 0; s < p; ++s)
        for (int r = 0; r < p; ++r)
            for (int number = 0, edges = static_cast<int>(any() % 5) - 2; number < edges; ++number) {
                const std::size_t n = any() % 4 == 0 ? 0 : any() % (most + 1);
                g.out[at(s)].push_back({r, number, n});
                g.in[at(r)].push_back({s, number, n});
            }
    for (auto* side : {&g.out, &g.in})
        for (auto& list : *side) {
            if (any() % 3 == 0) list.push_back({ccoll::nobody, 0, any() % 7});
            std::shuffle(list.begin(), list.end(), any);
            for (auto& e : list) {  // the i-th edge to a rank is number i
                int number = 0;
                for (auto* other = list.data(); other != &e; ++other) number += other->peer == e.peer;
                e.number = number;
            }
        }
    // Lengths belong to pairs of ranks and a number, so both ends look them up.
    for (int r = 0; r < p; ++r)
        for (auto& e : g.in[at(r)])
            if (e.peer != ccoll::nobody)
                for (const auto& there : g.out[at(e.peer)])
                    if (there.peer == r && there.number == e.number) e.n = there.n;
    return g;
}
void make_equal(graph& g, std::size_t n)
{
    for (auto* side : {&g.out, &g.in})
        for (auto& list : *side)
            for (auto& e : list) e.n = n;
}
/// What a rank gathers from: all edges from a rank have one length.
void make_vectors(graph& g)
{
    const auto length = [](int rank) { return at(rank) * 331 % 1000; };
    for (std::size_t r = 0; r < g.in.size(); ++r)
        for (auto& e : g.in[r])
            if (e.peer != ccoll::nobody) e.n = length(e.peer);
    for (std::size_t s = 0; s < g.out.size(); ++s)
        for (auto& e : g.out[s]) e.n = length(static_cast<int>(s));
}

template <class T>
T value(int rank, int part, std::size_t i)
{
    return static_cast<T>(std::sin(0.01 * static_cast<double>(i) + rank) * 100 + 1000 * part);
}

struct seen_around {
    std::vector<std::vector<double>> parts;  // received
    report facts;
    bool guards = true;
};

enum class form { equal, pointers, counts, layouts };

/// @param gathers  every neighbour gets part 0
template <class T, class... P, class Comm, class... Extra>
seen_around exchange(const graph& g, const Comm& comm, int me, bool gathers, form how, Extra... extra)
{
    const auto &out = g.out[at(me)], &in = g.in[at(me)];
    std::vector<T> send;
    std::vector<long> out_counts, in_counts, in_places;
    const std::size_t gap = how == form::layouts ? 3 : 0;
    std::size_t room = 0;
    for (std::size_t i = 0; i < out.size() && !(gathers && i > 0); ++i)
        for (std::size_t k = 0; k < out[i].n; ++k)
            send.push_back(value<T>(me, gathers ? 0 : static_cast<int>(i), k));
    if (gathers && out.empty() && how != form::layouts && how != form::counts && !in.empty())
        send.assign(in[0].n, T(1));
    for (const auto& e : out) out_counts.push_back(static_cast<long>(e.n));
    for (const auto& e : in) {
        in_counts.push_back(static_cast<long>(e.n));
        in_places.push_back(static_cast<long>(room));
        room += e.n + gap;
    }
    guarded<T> from(send), to(room);
    const std::span<const T> s = from.span();
    const std::span<T> r = to.span();
    const std::size_t n = !out.empty() ? out[0].n : !in.empty() ? in[0].n : 0;
    seen_around mine;
    if (gathers) {
        switch (how) {
        case form::equal: mine.facts = ccoll::neighbor_allgather<P...>(s, r, comm, extra...); break;
        case form::pointers:
            mine.facts = ccoll::neighbor_allgather<P...>(s.data(), r.data(), n, comm, extra...);
            break;
        case form::counts:
            mine.facts = ccoll::neighbor_allgatherv<P...>(s, r, in_counts, comm, extra...);
            break;
        case form::layouts:
            mine.facts = ccoll::neighbor_allgatherv<P...>(s.data(), s.size(), r.data(), in_counts.data(),
                                                          in_places.data(), comm, extra...);
        }
    } else {
        switch (how) {
        case form::equal: mine.facts = ccoll::neighbor_alltoall<P...>(s, r, comm, extra...); break;
        case form::pointers:
            mine.facts = ccoll::neighbor_alltoall<P...>(s.data(), r.data(), n, comm, extra...);
            break;
        case form::counts:
            mine.facts = ccoll::neighbor_alltoallv<P...>(s, out_counts, r, in_counts, comm, extra...);
            break;
        case form::layouts:
            mine.facts = ccoll::neighbor_alltoallv<P...>(s, out_counts, r, ccoll::parts(in_counts, in_places),
                                                         comm, extra...);
        }
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto first = r.begin() + in_places[i];
        mine.parts.emplace_back(first, first + in_counts[i]);
    }
    mine.guards = from.intact() && to.intact() && oracle::same_bits(from.values(), send);
    return mine;
}

/// Every part must be what left at the other end of its edge; parts of nobody stay as they were; own parts
/// are exact.
template <class T>
void check_parts(const graph& g, const std::vector<seen_around>& all, bool gathers, double bound)
{
    for (std::size_t r = 0; r < all.size(); ++r) {
        INFO("rank " << r);
        const seen_around& mine = all[r];
        CHECK(mine.guards);
        CHECK(mine.facts.algorithm == std::string("Spread"));
        CHECK(mine.facts.worst_case_error == bound);
        REQUIRE(mine.parts.size() == g.in[r].size());
        for (std::size_t i = 0; i < mine.parts.size(); ++i) {
            const auto& e = g.in[r][i];
            INFO("part " << i << " from " << e.peer << " (" << e.number << ")");
            int part = 0;
            if (e.peer != ccoll::nobody)
                for (std::size_t o = 0; o < g.out[at(e.peer)].size(); ++o)
                    if (const auto& there = g.out[at(e.peer)][o];
                        there.peer == static_cast<int>(r) && there.number == e.number)
                        part = static_cast<int>(o);
            std::size_t wrong = 0;
            for (std::size_t k = 0; k < mine.parts[i].size(); ++k) {
                const double wanted = e.peer == ccoll::nobody
                                          ? -77
                                          : static_cast<double>(value<T>(e.peer, gathers ? 0 : part, k));
                wrong +=
                    !(std::abs(mine.parts[i][k] - wanted) <= (e.peer == static_cast<int>(r) ? 0 : bound));
            }
            CHECK(wrong == 0);
        }
    }
}

template <class T, class... P, class... Extra>
void check_graph(const graph& g, bool gathers, form how, double bound, Extra... extra)
{
    const int p = static_cast<int>(g.out.size());
    INFO("p " << p << (gathers ? ", allgather" : ", alltoall") << ", form " << static_cast<int>(how));
    const auto all = run<seen_around>(
        p,
        [=](threads_comm& comm, seen_around& mine) {
            const int me = comm.rank();
            const auto around = ccoll::with_neighbors(comm, g.peers(g.in[at(me)]), g.peers(g.out[at(me)]));
            for (int turn = 0; turn < 2; ++turn)
                mine = exchange<T, P...>(g, around, me, gathers, how, extra...);
        },
        20);
    check_parts<T>(g, all, gathers, p > 1 ? bound : 0);
}

template <class T, class... P, class... Extra>
void check_random(double bound, Extra... extra)
{
    unsigned seed = 1;
    for (const int p : rank_counts)
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{20000}}) {
            graph g = random_graph(p, seed++, n);
            check_graph<T, P...>(g, false, form::counts, bound, extra...);
            check_graph<T, P...>(g, false, form::layouts, bound, extra...);
            make_vectors(g);
            check_graph<T, P...>(g, true, form::counts, bound, extra...);
            check_graph<T, P...>(g, true, form::layouts, bound, extra...);
            make_equal(g, n);
            for (const bool gathers : {false, true})
                for (const form how : {form::equal, form::pointers})
                    check_graph<T, P...>(g, gathers, how, bound, extra...);
        }
}

}  // namespace

TEST_CASE("Neighbours in any graph get what was sent to them", "[collectives][neighbors]")
{
    check_random<float>(0);
    check_random<double, Check::Local>(0);
    check_random<std::int32_t, Codec::Lossless, Check::Collective>(0);
}

TEST_CASE("An exchange between neighbours keeps its bound, and what a rank sends to itself is exact",
          "[collectives][neighbors][bounds]")
{
    check_random<float, Codec::SZp, ErrorBound<1e-3>>(1e-3);
    check_random<double, Codec::PipeSZx, RuntimeBound, Check::Collective>(1e-2, 1e-2);
    check_random<float, Codec::SZx, EndToEnd<ErrorBound<1e-2>>, Placement::PerHop>(1e-2);
}

TEST_CASE("Long parts between neighbours travel in slices, without a comparison of all ranks",
          "[collectives][neighbors]")
{
    for (const int p : {2, 3, 5}) {
        graph g = random_graph(p, 77, 1);
        make_equal(g, 300001);
        check_graph<float, Codec::SZp, ErrorBound<1e-3>>(g, false, form::pointers, 1e-3);
        check_graph<float, Codec::SZp, ErrorBound<1e-3>>(g, true, form::pointers, 1e-3);
        const auto all = run<report>(p, [](threads_comm& comm, report& mine) {
            const int right = (comm.rank() + 1) % comm.size(),
                      left = (comm.rank() + comm.size() - 1) % comm.size();
            const auto ring = ccoll::with_neighbors(comm, std::vector{left}, std::vector{right});
            std::vector<float> x(300001, 1), y(300001);
            mine = ccoll::neighbor_alltoall<Codec::SZp, ErrorBound<1e-3>>(x, y, ring);
        });
        for (const report& mine : all) {
            CHECK(!mine.agreed);
            CHECK(mine.raw_bytes == 300001 * sizeof(float));  // one part, to one neighbour
        }
    }
}

TEST_CASE("Neighbours may have guarded links, and plans may come from a menu", "[collectives][neighbors]")
{
    for (const int p : {1, 2, 5}) {
        graph g = random_graph(p, 99, 1);
        make_equal(g, 3001);
        check_graph<float, Codec::SZp, ErrorBound<1e-3>, Fault::Crc32c>(g, false, form::equal, 1e-3);
        check_graph<float, Fault::Crc32c>(g, true, form::equal, 0);
    }
    const auto all = run<std::vector<float>>(3, [](threads_comm& comm, std::vector<float>& mine) {
        using plans = ccoll::menu<ccoll::Plan<>, ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>>;
        const auto longest_lossy = [](const ccoll::choice_facts& facts) {
            return facts.bytes == 4000 ? std::size_t{1} : std::size_t{0};
        };
        const auto grid = ccoll::with_grid(comm, std::vector{3}, std::vector{0});
        const std::vector<float> x(2000, static_cast<float>(comm.rank()));
        mine.assign(2000, -1);
        const report facts = ccoll::neighbor_alltoall(plans{}.chosen_by(+longest_lossy), x, mine, grid);
        mine.push_back(facts.exact ? 1.0f : 0.0f);
    });
    for (int r = 0; r < 3; ++r) {
        CHECK(std::abs(all[at(r)][0] - static_cast<float>(r > 0 ? r - 1 : -1)) <= 1e-3f);
        CHECK(std::abs(all[at(r)][1999] - static_cast<float>(r < 2 ? r + 1 : -1)) <= 1e-3f);
        CHECK(all[at(r)][2000] == 0);  // one part has 4000 bytes
    }
}

TEST_CASE("In a grid what goes down arrives from above, also where both neighbours are the same rank",
          "[collectives][neighbors]")
{
    struct shape {
        std::vector<int> extents, closed;
    };
    const shape shapes[] = {{{1}, {1}},
                            {{1}, {0}},
                            {{2}, {1}},
                            {{2}, {0}},
                            {{5}, {1}},
                            {{2, 2}, {1, 1}},
                            {{3, 2}, {1, 0}},
                            {{2, 1}, {1, 1}},
                            {{2, 2, 2}, {1, 1, 1}},
                            {{1, 2, 4}, {1, 1, 0}}};
    for (const shape& s : shapes) {
        int p = 1;
        for (const int n : s.extents) p *= n;
        const int dims = static_cast<int>(s.extents.size());
        // Rank of the neighbour, from coordinates; the oracle does not share code with the library.
        const auto neighbor = [=](int rank, int d, int by) {
            std::vector<int> c(at(dims));
            for (int e = dims - 1, rest = rank; e >= 0; rest /= s.extents[at(e--)])
                c[at(e)] = rest % s.extents[at(e)];
            c[at(d)] += by;
            const int n = s.extents[at(d)];
            if (c[at(d)] < 0 || c[at(d)] >= n) {
                if (s.closed[at(d)] == 0) return ccoll::nobody;
                c[at(d)] = (c[at(d)] + n) % n;
            }
            int there = 0;
            for (int e = 0; e < dims; ++e) there = there * s.extents[at(e)] + c[at(e)];
            return there;
        };
        for (const std::size_t n : {std::size_t{1}, std::size_t{3000}}) {
            const auto all = run<std::vector<std::vector<float>>>(
                p,
                [=](threads_comm& comm, auto& mine) {
                    const auto grid = ccoll::with_grid(comm, s.extents, s.closed);
                    const std::size_t parts = at(2 * dims);
                    std::vector<float> send(parts * n), recv(parts * n, -1), each(parts * n, -1);
                    for (std::size_t i = 0; i < send.size(); ++i)
                        send[i] = static_cast<float>(comm.rank() * 100 + static_cast<int>(i / n));
                    ccoll::neighbor_alltoall<Codec::SZp, ErrorBound<1e-3>>(send, recv, grid);
                    ccoll::neighbor_allgather(std::span<const float>(send).first(n), each, grid);
                    mine = {recv, each};
                },
                20);
            for (int r = 0; r < p; ++r)
                for (int i = 0; i < 2 * dims; ++i) {
                    const int from = neighbor(r, i / 2, i % 2 == 0 ? -1 : 1);
                    const double moved = from == ccoll::nobody ? -1 : from * 100 + (i ^ 1);
                    const double gathered = from == ccoll::nobody ? -1 : from * 100;
                    std::size_t wrong = 0;
                    for (std::size_t k = 0; k < n; ++k) {
                        wrong += !(std::abs(all[at(r)][0][at(i) * n + k] - moved) <= 1e-3);
                        wrong += all[at(r)][1][at(i) * n + k] != static_cast<float>(gathered);
                    }
                    INFO("p " << p << ", dimensions " << dims << ", rank " << r << ", part " << i);
                    CHECK(wrong == 0);
                }
        }
    }
}

TEST_CASE("Exchanges between neighbours may be begun, and prepared", "[collectives][neighbors][requests]")
{
    const auto all = run<std::vector<float>>(5, [](threads_comm& comm, std::vector<float>& mine) {
        const auto ring = ccoll::with_grid(comm, std::vector{5}, std::vector{1});
        std::vector<float> x(2 * 1000, static_cast<float>(comm.rank())), y(2000), z(2000), w(2000);
        const std::vector<int> counts{1000, 1000};
        auto one = ccoll::ineighbor_alltoall<Codec::SZp, ErrorBound<1e-3>>(x, y, ring);
        auto two = ccoll::ineighbor_allgatherv(std::span<const float>(x).first(1000), z, counts, ring);
        two.wait();
        one.wait();
        // the grid is outlived by the call
        ccoll::persistent again = ccoll::neighbor_alltoallv_init<Codec::SZp, RelativeBound<1e-4>>(
            x, counts, w, counts, ccoll::with_grid(comm, std::vector{5}, std::vector{1}));
        for (int turn = 0; turn < 3; ++turn) {
            again.start();
            again.wait();
        }
        mine = {y[0], y[1999], z[0], z[1999], w[0], w[1999]};
    });
    for (int r = 0; r < 5; ++r)
        for (std::size_t i = 0; i < 6; ++i)
            CHECK(std::abs(all[at(r)][i] - static_cast<float>((r + (i % 2 == 0 ? 4 : 1)) % 5)) <= 1e-3f);
}

TEST_CASE("What is wrong between neighbours is told, and no rank waits", "[collectives][neighbors][errors]")
{
    for (const int p : {2, 3, 5}) {
        const auto ring = [](threads_comm& comm) {
            return ccoll::with_grid(comm, std::vector{comm.size()}, std::vector{1});
        };
        for (const std::size_t n : {std::size_t{100}, std::size_t{400000}}) {
            INFO("p " << p << ", n " << n);
            const auto counts = [=](auto call) {
                return listen(p, [=](threads_comm& comm) {
                    const std::size_t mine = comm.rank() == 1 ? n + 1 : n;
                    std::vector<float> x(2 * mine), y(2 * mine);
                    call(x, y, ring(comm));
                });
            };
            some_heard(counts([](auto& x, auto& y, const auto& c) {
                           ccoll::neighbor_alltoall<Codec::SZp, ErrorBound<1e-3>>(x, y, c);
                       }),
                       status::count_differs);
            all_heard(counts([](auto& x, auto& y, const auto& c) {
                          ccoll::neighbor_alltoall<Check::Collective>(x, y, c);
                      }),
                      status::count_differs);
            all_heard(listen(p,
                             [=](threads_comm& comm) {
                                 std::vector<float> x(2 * n), y(2 * n - (comm.rank() == 0 ? 1 : 0));
                                 const std::vector<std::size_t> whole{n, n}, less{n - 1, n};
                                 ccoll::neighbor_alltoallv(x, whole, y, comm.rank() == 0 ? less : whole,
                                                           ring(comm));
                             }),
                      status::count_differs);
            some_heard(listen(p,
                              [=](threads_comm& comm) {  // a buffer that does not fit
                                  std::vector<float> x(2 * n), y(2 * n - (comm.rank() == 0 ? 1 : 0));
                                  ccoll::neighbor_alltoall(x, y, ring(comm));
                              }),
                       status::size_mismatch);
            some_heard(
                listen(p,
                       [=](threads_comm& comm) {
                           std::vector<float> x(2 * n), y(2 * n);
                           if (comm.rank() == 0)
                               ccoll::neighbor_alltoall<Codec::SZp, ErrorBound<1e-3>>(x, y, ring(comm));
                           else ccoll::neighbor_alltoall<Codec::SZx, ErrorBound<1e-3>>(x, y, ring(comm));
                       }),
                status::plan_differs);
        }
        some_heard(listen(p,
                          [=](threads_comm& comm) {
                              std::vector<float> x(20);
                              ccoll::neighbor_alltoall(x, x, ring(comm));
                          }),
                   status::overlap);
        some_heard(listen(p,
                          [=](threads_comm& comm) {  // an edge that only its receiver knows
                              std::vector<float> x(10), y(10);
                              const std::vector<int> from{(comm.rank() + 1) % comm.size()}, to{};
                              const auto one_sided = ccoll::with_neighbors(comm, from, to);
                              ccoll::neighbor_alltoall<Timeout<0.2>>(std::span<const float>(), y, one_sided);
                          }),
                   status::timed_out);
    }
}

TEST_CASE("Neighbours that do not exist are refused where they are named", "[collectives][neighbors][errors]")
{
    const auto all = run<std::vector<std::string>>(2, [](threads_comm& comm, std::vector<std::string>& mine) {
        const auto says = [&](auto call) {
            try {
                call();
                mine.push_back("");
            } catch (const ccoll::error& e) {
                mine.push_back(e.what());
            }
        };
        says([&] { ccoll::with_neighbors(comm, std::vector{0}, std::vector{2}); });
        says([&] { ccoll::with_grid(comm, std::vector{3}, std::vector{1}); });
        says([&] { ccoll::with_grid(comm, std::vector{2}, std::vector{1, 1}); });
        says([&] { ccoll::with_grid(comm, std::vector{-2, -1}, std::vector{1, 1}); });
    });
    for (const auto& mine : all) {
        CHECK(has(mine[0], "ccoll::with_neighbors"));
        CHECK(has(mine[0], "expected 0 to 1, found 2"));
        CHECK(has(mine[1], "expected 2, found 3"));
        CHECK(has(mine[2], "expected 1, found 2"));
        CHECK(has(mine[3], "the extent is -2"));
    }
}

}  // namespace neighbors_cases
