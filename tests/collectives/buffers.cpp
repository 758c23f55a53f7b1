// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What may be passed as a buffer, and what a call does not touch.
#include <array>

#include "worlds.hpp"

namespace buffers_cases {

using namespace ccoll::policies;
using namespace worlds;

#define EXPECT(...) mine.expect(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)

TEST_CASE("Vectors, spans, arrays, C arrays and pointers are buffers", "[buffers]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        const float me = static_cast<float>(comm.rank());
        const std::vector<float> v(6, me);
        std::vector<float> out(6);
        ccoll::allreduce(v, out, comm);
        EXPECT(out == std::vector<float>(6, 3));
        std::array<float, 6> a{};
        ccoll::allreduce(std::span<const float>(v), a, comm);
        EXPECT(a[5] == 3);
        float c[6] = {};
        ccoll::allreduce(a, c, comm);
        EXPECT(c[0] == 9);
        ccoll::allreduce(c, comm);
        EXPECT(c[3] == 27);
        ccoll::allreduce(v.data(), out.data(), 5, comm);
        EXPECT(out[4] == 3 && out[5] == 3);
        std::vector<float> all(6);
        ccoll::allgather(std::array<float, 2>{me, -me}, all, comm);
        EXPECT(all == std::vector<float>({0, -0.0f, 1, -1, 2, -2}));
        ccoll::allgather(v.data(), all.data(), 2, comm);
        EXPECT(all == std::vector<float>({0, 0, 1, 1, 2, 2}));
        std::array<float, 2> two{};
        ccoll::reduce_scatter(v, two, comm);
        EXPECT(two[0] == 3 && two[1] == 3);
        ccoll::reduce_scatter(v.data(), two.data(), 2, comm);
        EXPECT(two[1] == 3);
        ccoll::bcast(two.data(), 2, 1, comm);
        ccoll::scatter(all, two, 2, comm);
        EXPECT(two[0] == me);
        ccoll::scatter(all.data(), two.data(), 2, 0, comm);
        EXPECT(two[1] == me);
        ccoll::gather(two, all, 1, comm);
        ccoll::gather(two.data(), all.data(), 2, 1, comm);
        EXPECT(all == std::vector<float>({0, 0, 1, 1, 2, 2}));
        ccoll::reduce(v, out, 2, comm);
        ccoll::reduce(v.data(), out.data(), 6, 2, comm);
        EXPECT(comm.rank() != 2 || out == std::vector<float>(6, 3));
    }));
}

TEST_CASE("A buffer that a rank does not need may be empty, or null", "[buffers]")
{
    none_wrong(run<findings>(4, [](threads_comm& comm, findings& mine) {
        const int root = 2;
        const bool am_root = comm.rank() == root;
        std::vector<double> nothing, all(am_root ? 12 : 0), own(3, comm.rank());
        ccoll::gather<Codec::SZx, ErrorBound<1e-3>>(own, am_root ? all : nothing, root, comm);
        EXPECT(!am_root || std::fabs(all[11] - 3) <= 1e-3);
        ccoll::scatter(am_root ? all : nothing, own, root, comm);
        EXPECT(std::fabs(own[0] - comm.rank()) <= 1e-3);
        ccoll::reduce(own, nothing.empty() && am_root ? own : nothing, root, comm);
        ccoll::gather(own.data(), am_root ? all.data() : static_cast<double*>(nullptr), 3, root, comm);
        ccoll::scatter(am_root ? all.data() : static_cast<const double*>(nullptr), own.data(), 3, root, comm);
        EXPECT(own[0] == own[1]);
    }));
}

TEST_CASE("The same buffer given twice is in place where both hold the whole vector", "[buffers]")
{
    none_wrong(run<findings>(4, [](threads_comm& comm, findings& mine) {
        std::vector<float> v(1000, 1);
        ccoll::allreduce(v, v, comm);
        EXPECT(v[0] == 4 && v[999] == 4);
        ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(v, v, comm);
        EXPECT(std::fabs(v[500] - 16) <= 4e-3f);
        ccoll::reduce(v, v, 3, comm);
        EXPECT(comm.rank() == 3 || std::fabs(v[500] - 16) <= 4e-3f);  // not the root: untouched
        EXPECT(comm.rank() != 3 || std::fabs(v[500] - 64) <= 17e-3f);
    }));
}

TEST_CASE("A reduce_scatter in place leaves each rank's own sum at the front", "[buffers][reduce_scatter]")
{
    for (const std::size_t n : {std::size_t{5}, std::size_t{70000}})
        none_wrong(run<findings>(3, [n](threads_comm& comm, findings& mine) {
            const auto value = [](std::size_t i) { return static_cast<float>(i % 100); };
            std::vector<float> v(3 * n);
            const auto fill = [&] {
                for (std::size_t i = 0; i < v.size(); ++i) v[i] = value(i) + static_cast<float>(comm.rank());
            };
            const auto right = [&](float within) {
                for (std::size_t i = 0; i < n; ++i)
                    if (!(std::fabs(v[i] - (3 * value(static_cast<std::size_t>(comm.rank()) * n + i) + 3)) <=
                          within))
                        return false;
                return true;
            };
            fill();
            ccoll::reduce_scatter(v, comm);
            EXPECT(right(0));
            fill();
            ccoll::reduce_scatter<Codec::SZx, ErrorBound<1e-3>>(v, comm);
            EXPECT(right(4e-3f));
        }));
}

TEST_CASE("An allgather in place takes each rank's own part from where it stands", "[buffers][allgather]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        std::vector<float> v(15, -1), expected(15);
        for (std::size_t i = 0; i < v.size(); ++i) {
            expected[i] = static_cast<float>(i);
            if (i / 5 == static_cast<std::size_t>(comm.rank())) v[i] = expected[i];
        }
        ccoll::allgather(v, comm);
        EXPECT(v == expected);
    }));
}

TEST_CASE("Parts of an alltoallv stand where their displacements say", "[buffers][alltoall]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        // In another order, and with gaps.
        const std::vector<int> counts(3, 4), from{20, 0, 10}, to{0, 12, 6};
        std::vector<float> send(24), recv(16, -1), expected(16, -1);
        for (std::size_t i = 0; i < send.size(); ++i)
            send[i] = static_cast<float>(100 * comm.rank()) + static_cast<float>(i);
        for (std::size_t r = 0; r < 3; ++r)
            for (std::size_t i = 0; i < 4; ++i)
                expected[static_cast<std::size_t>(to[r]) + i] = static_cast<float>(
                    100 * r + static_cast<std::size_t>(from[static_cast<std::size_t>(comm.rank())]) + i);
        ccoll::alltoallv(send.data(), counts.data(), from.data(), recv.data(), counts.data(), to.data(),
                         comm);
        EXPECT(recv == expected);
    }));
}

TEST_CASE("The receive buffer of a rank that is not the root stays as it was", "[buffers]")
{
    none_wrong(run<findings>(5, [](threads_comm& comm, findings& mine) {
        const std::vector<float> send(700, 1.5f);
        std::vector<float> recv(comm.rank() == 1 ? 3500 : 3500, -4);
        ccoll::gather<Codec::SZx, ErrorBound<1e-3>>(send, recv, 1, comm);
        EXPECT(comm.rank() == 1 || recv == std::vector<float>(3500, -4));
        std::vector<float> sum(700, -4);
        ccoll::reduce<Codec::SZx, ErrorBound<1e-3>>(send, sum, 1, comm);
        EXPECT(comm.rank() == 1 || sum == std::vector<float>(700, -4));
        EXPECT(send == std::vector<float>(700, 1.5f));
    }));
}

TEST_CASE("Every collective accepts an empty vector", "[buffers]")
{
    for (const int p : {1, 2, 5}) {
        none_wrong(run<findings>(p, [](threads_comm& comm, findings& mine) {
            std::vector<float> none;
            using B = ErrorBound<1e-3>;
            ccoll::allreduce<Codec::SZx, B>(none, none, comm);
            ccoll::allreduce<Codec::SZx, B, Algo::RecursiveDoubling>(none, comm);
            ccoll::reduce_scatter<Codec::SZx, B>(none, none, comm);
            ccoll::allgather<Codec::SZx, B>(none, none, comm);
            ccoll::bcast<Codec::SZx, B>(none, 0, comm);
            ccoll::scatter<Codec::SZx, B>(none, none, 0, comm);
            ccoll::gather<Codec::SZx, B>(none, none, 0, comm);
            const auto facts = ccoll::reduce<Codec::SZx, B>(none, none, 0, comm);
            EXPECT(facts.raw_bytes == 0);
            ccoll::allreduce(static_cast<const float*>(nullptr), static_cast<float*>(nullptr), 0, comm);
        }));
    }
}

TEST_CASE("A report distinguishes compressible data from noise", "[report]")
{
    const auto facts_of = [](ccoll::report (*call)(threads_comm&, unsigned)) {
        return run<report>(4, [call](threads_comm& comm, report& mine) {
            mine = call(comm, static_cast<unsigned>(comm.rank()) + 1);
        });
    };
    for (const report& r : facts_of([](threads_comm& comm, unsigned seed) {
             auto v = fields::smooth<float>(4 * 5120, seed);
             return ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>, Instrument::Breakdown>(v, comm);
         })) {
        CHECK(r.ratio() > 1.5);
        CHECK(r.sent_bytes > 0);
        CHECK(r.raw_bytes == 2 * 3 * 5120 * sizeof(float));  // a ring: 2 (p - 1) blocks of n / p
        CHECK(r.fallback_blocks == 0);
        CHECK(!r.exact);
        CHECK(r.same_bits);
        CHECK(r.breakdown.encode + r.breakdown.reduce > 0);
    }
    for (const report& r : facts_of([](threads_comm& comm, unsigned seed) {
             auto v = fields::bit_patterns<float>(20000, seed);
             std::vector<float> all(80000);
             return ccoll::allgather<Codec::SZx, ErrorBound<1e-3>>(v, all, comm);
         })) {
        CHECK(r.ratio() < 1);
        CHECK(r.ratio() > 0.98);  // a frame never expands by more than its header and index
        CHECK(r.fallback_blocks > 0);
        CHECK(r.breakdown.encode == 0);
    }
    for (const report& r : facts_of([](threads_comm& comm, unsigned) {
             std::vector<float> v(1280);
             for (std::uint32_t i = 0; i < 1280; ++i)
                 v[i] = std::bit_cast<float>(0x7fc00000u + i);  // NaN, all different
             return ccoll::bcast<Codec::SZx, ErrorBound<1e-3>, Algo::Binomial>(v, 0, comm);
         }))
        CHECK((r.sent_bytes == 0 || r.ratio() < 1));
}

}  // namespace buffers_cases
