// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: ucx, thread sanitizer
// Calls of every kind over UCX: each rank gets the bits that it gets over threads.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "support/catch.hpp"
#include "support/fields.hpp"
#include "ucx_ranks.hpp"

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/bucket.hpp>
#include <ccoll/codec/pipe_szx.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/fault.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/progress.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/scan.hpp>
#include <ccoll/transport/threads.hpp>

namespace ucx_call_cases {

namespace {

using namespace ccoll::policies;
using namespace ucx_tests;
using ccoll::status;
using vector = std::vector<float>;
using results = std::map<std::string, vector>;

vector field(std::size_t n, int rank, unsigned seed)
{
    fields::generator random(seed * 64 + static_cast<unsigned>(rank));
    vector v(n);
    float walk = 0;
    for (float& x : v) {
        walk += static_cast<float>(random.below(2001)) * 1e-3f - 1;
        x = walk;
    }
    return v;
}

/// One call of a random kind, with a random root and length; ranks draw alike. The result is kept.
template <class... P, class Comm>
void one_call(const Comm& comm, fields::generator& random, const std::string& name, results& all)
{
    constexpr std::size_t lengths[] = {0, 1, 31, 1283, 5121, 40000, 300000};
    const auto p = static_cast<std::size_t>(comm.size());
    const std::size_t n = lengths[random.below(std::size(lengths))], kind = random.below(13);
    const int me = comm.rank(), root = static_cast<int>(random.below(p));
    const auto seed = static_cast<unsigned>(random.below(1000));
    const vector mine = field(n, me, seed), of_all = field(n * p, me, seed);
    vector small(n), large(n * p);
    const int next = (me + 1) % comm.size(), before = (me + comm.size() - 1) % comm.size();
    bool is_large = false, has_result = true;
    switch (kind) {
    case 0: ccoll::allreduce<P...>(mine, small, comm); break;
    case 1: ccoll::reduce_scatter<P...>(of_all, small, comm); break;
    case 2:
        ccoll::allgather<P...>(mine, large, comm);
        is_large = true;
        break;
    case 3:
        small = mine;
        ccoll::bcast<P...>(small, root, comm);
        break;
    case 4:
        ccoll::reduce<P...>(mine, small, root, comm);
        has_result = me == root;
        break;
    case 5:
        ccoll::gather<P...>(mine, large, root, comm);
        is_large = true;
        has_result = me == root;
        break;
    case 6: ccoll::scatter<P...>(of_all, small, root, comm); break;
    case 7:
        ccoll::alltoall<P...>(of_all, large, comm);
        is_large = true;
        break;
    case 8: ccoll::scan<P...>(mine, small, comm); break;
    case 9: ccoll::sendrecv<P...>(mine, next, small, before, 3, comm); break;
    case 10: {  // three under way, completed in another order on odd ranks
        vector third(n);
        auto r1 = ccoll::iallreduce<P...>(mine, small, comm);
        auto r2 = ccoll::iallgather<P...>(mine, large, comm);
        auto r3 = ccoll::iallreduce<P...>(mine, third, comm);
        if (me % 2 != 0) r3.wait(), r1.wait(), r2.wait();
        else r1.wait(), r2.wait(), r3.wait();
        small.insert(small.end(), large.begin(), large.end());
        small.insert(small.end(), third.begin(), third.end());
        break;
    }
    case 11: {
        auto again = ccoll::allreduce_init<P...>(mine, small, comm);
        for (int i = 0; i < 3; ++i) {
            again.start();
            again.wait();
        }
        break;
    }
    default: {
        std::vector<vector> parts(4, mine);
        ccoll::bucket<float> tensors;
        for (vector& each : parts) tensors.add(each);
        ccoll::allreduce<P...>(tensors, comm);
        for (const vector& each : parts) small.insert(small.end(), each.begin(), each.end());
        break;
    }
    }
    if (has_result)
        all[name + ", kind " + std::to_string(kind) + ", n " + std::to_string(n)] = is_large ? large : small;
}

#ifdef CCOLL_TEST_SANITIZED
constexpr int random_calls = 12;
#else
constexpr int random_calls = 40;
#endif

template <class Comm>
results calls(const Comm& comm, unsigned seed)
{
    results all;
    fields::generator random(seed);
    for (int i = 0; i < random_calls; ++i) {
        const std::string name = "call " + std::to_string(i);
        switch (random.below(4)) {
        case 0: one_call<Timeout<30>>(comm, random, name, all); break;
        case 1: one_call<Codec::SZp, ErrorBound<1e-3>, Timeout<30>>(comm, random, name, all); break;
        case 2: one_call<Codec::PipeSZx, ErrorBound<1e-3>, Timeout<30>>(comm, random, name, all); break;
        default: {
            vector x = field(100000, comm.rank(), seed), y(x.size());
            ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>, Fault::Crc32c, Timeout<30>>(x, y,
                                                                                                   comm);
            all[name + ", Crc32c"] = y;
        }
        }
    }
    return all;
}

bool equal(const results& a, const results& b, std::string& first)
{
    if (a.size() != b.size()) return first = "another number of results", false;
    for (const auto& [name, x] : a) {
        const auto found = b.find(name);
        const bool same =
            found != b.end() && found->second.size() == x.size() &&
            (x.empty() || std::memcmp(found->second.data(), x.data(), x.size() * sizeof(float)) == 0);
        if (!same) return first = name, false;
    }
    return true;
}

}  // namespace

TEST_CASE("Random calls of every kind have the bits that they have over threads", "[ucx]")
{
    for_each_network([] {
        const int p = GENERATE(2, 3, 4, 5);
        const auto seed = static_cast<unsigned>(p) * 7919;
        std::vector<results> expected(static_cast<std::size_t>(p));
        ccoll::run_ranks(p, [&](ccoll::threads_comm& c) {
            expected[static_cast<std::size_t>(c.rank())] = calls(c, seed);
        });
        ucx_tests::run_ranks(p, [&](ccoll::ucx_comm& c, ccoll::exchange&) {
            std::string where;
            if (!equal(calls(c, seed), expected[static_cast<std::size_t>(c.rank())], where))
                throw std::runtime_error("rank " + std::to_string(c.rank()) + ", other bits: " + where);
        });
    });
}

TEST_CASE("A wrong count on a rank is an error on all of them, and the next call works", "[ucx]")
{
    for_each_network([] {
        const int p = GENERATE(2, 4);
        ucx_tests::run_ranks(p, [](ccoll::ucx_comm& c, ccoll::exchange&) {
            for (const std::size_t n : {std::size_t{1000}, std::size_t{500000}}) {
                const std::size_t mine = n + (c.rank() == c.size() - 1 ? 7 : 0);
                vector x(mine, 1.f), y(mine);
                std::error_code code;
                ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>, Timeout<20>>(x, y, c, code);
                MUST(code == status::count_differs);
                vector ok(100, static_cast<float>(c.rank()));
                ccoll::allreduce<Algo::Ring, Timeout<20>>(ok, c);
                MUST(ok[5] == static_cast<float>(c.size() * (c.size() - 1) / 2));
            }
        });
    });
}

TEST_CASE("A Timeout ends a call to which a rank does not come, on the others", "[ucx]")
{
    for_each_network([] {
        ucx_tests::run_ranks(3, [](ccoll::ucx_comm& c, ccoll::exchange&) {
            vector x(1000, 1.f);
            std::error_code code;
            if (c.rank() != 2) {
                const double before = ccoll::steady_seconds();
                ccoll::allreduce<Algo::Ring, Timeout<0.5>>(x, c, code);
                MUST(code == status::timed_out && ccoll::steady_seconds() - before < 5);
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds(1000));
                ccoll::allreduce<Algo::Ring, Timeout<0.5>>(x, c, code);
                MUST(static_cast<bool>(code));  // the others have given up
            }
            x.assign(1000, 1.f);
            ccoll::allreduce<Algo::Ring, Timeout<20>>(x, c);
            MUST(x[999] == 3);
        });
    });
}

TEST_CASE("The run-time limit of a communicator ends calls whose plans have none", "[ucx]")
{
    for_each_network([] {
        ucx_tests::run_ranks(2, [](ccoll::ucx_comm& c, ccoll::exchange&) {
            barrier(c);
            if (c.rank() == 1) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1500));
                return;
            }
            c.set_limit(0.5);
            vector x(100000, 1.f);
            std::error_code code;
            const double before = ccoll::steady_seconds();
            ccoll::allreduce<Algo::Ring>(x, c, code);
            MUST(code == status::transport_failed && ccoll::steady_seconds() - before < 3);
            try {
                ccoll::allreduce<Algo::Ring>(x, c);
                MUST(false);
            } catch (const ccoll::error& e) {
                MUST(std::string(e.what()).find("limit of this communicator") != std::string::npos ||
                     e.what_happened().code == status::peer_lost);
            }
        });
    });
}

TEST_CASE("A progress thread moves calls over UCX on", "[ucx]")
{
    for_each_network([] {
        ucx_tests::run_ranks(3, [](ccoll::ucx_comm& c, ccoll::exchange&) {
            ccoll::progress_thread helper;
            std::vector<vector> x(4, vector(50000, 1.f));
            std::vector<ccoll::background_request> all;
            for (vector& each : x)
                all.push_back(helper.begin([&each, c] { return ccoll::iallreduce<Algo::Ring>(each, c); }));
            for (auto& each : all) each.wait();
            for (const vector& each : x) MUST(each[77] == 3);
        });
    });
}

}  // namespace ucx_call_cases
