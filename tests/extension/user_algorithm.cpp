// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the library promises to the author of an algorithm: a schedule is enough, it can be checked without
// running it, and it works with every codec.
#include "support/catch.hpp"

#include <string>
#include <system_error>
#include <vector>

#include <ccoll/algo/walk.hpp>
#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

#include "support/acme_fixed16.hpp"
#include "extension/ranks.hpp"
#include "support/fields.hpp"

// [doc:schedule]
namespace mine {

/// Bruck's allgather. Before step k a rank holds its own block and the 2^k - 1 blocks after it, and sends
/// them to the rank 2^k before it. Every rank has all blocks after ceil(log2 p) steps, for any p. Source:
/// Bruck et al., IEEE TPDS 1997.
struct bruck_allgather {
    static constexpr bool rotates = true;  // relative to its own number, every rank does the same
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ccoll::ceil_log2(p); }
    static constexpr int widest(int p)
    {
        return p > 1 ? 1 << (steps(p) - 1) : 1;
    }  // blocks in the longest message
    static constexpr ccoll::step step_at(int me, int p, int, int k)
    {
        const int distance = 1 << k, from = (me + distance) % p;
        return {(me + p - distance) % p,
                from,
                {me, count(p, k)},
                {from, count(p, k)},
                ccoll::on_receive::replace};
    }

private:
    static constexpr int count(int p, int k) { return (1 << k) < p - (1 << k) ? 1 << k : p - (1 << k); }
};

struct Bruck : ccoll::algo_tag {
    static constexpr const char* name = "mine::Bruck";
};

}  // namespace mine

template <>
struct ccoll::schedule_for<mine::Bruck, ccoll::collective::allgather> : mine::bruck_allgather {};

static_assert(ccoll::delivers<ccoll::collective::allgather, mine::bruck_allgather, 7>());
// [/doc:schedule]

using namespace ccoll::policies;

TEST_CASE("a schedule from outside is proved for every number of ranks", "[extension][algo]")
{
    constexpr ccoll::schedule bruck = ccoll::schedule_view<mine::bruck_allgather>;
    for (int p = 1; p <= 64; ++p) {
        INFO("p = " << p);
        CHECK(ccoll::ends_match(bruck, p, 0));
        CHECK(ccoll::delivers<ccoll::collective::allgather>(bruck, p, 0));
        CHECK(bruck.steps(p) == ccoll::ceil_log2(p));
    }
}

TEST_CASE("a schedule that loses a block is not proved", "[extension][algo]")
{
    struct forgetful : mine::bruck_allgather {
        static constexpr int steps(int p) { return p > 1 ? mine::bruck_allgather::steps(p) - 1 : 0; }
    };
    CHECK(ccoll::delivers<ccoll::collective::allgather>(ccoll::schedule_view<forgetful>, 1, 0));
    for (int p = 2; p <= 64; ++p)
        CHECK_FALSE(ccoll::delivers<ccoll::collective::allgather>(ccoll::schedule_view<forgetful>, p, 0));
}

namespace mine {

/// Ends one step too early.
struct Forgetful : ccoll::algo_tag {
    static constexpr const char* name = "mine::Forgetful";
};
struct forgetful_allgather : bruck_allgather {
    static constexpr int steps(int p) { return p > 1 ? bruck_allgather::steps(p) - 1 : 0; }
};
/// Adds everything twice.
struct Twice : ccoll::algo_tag {
    static constexpr const char* name = "mine::Twice";
};
struct twice_allreduce {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p == 2 ? 2 : 0; }
    static constexpr ccoll::step step_at(int me, int, int, int)
    {
        return {1 - me, 1 - me, {0, 1}, {0, 1}, ccoll::on_receive::reduce};
    }
};
/// The root sends to one rank, and the others wait for it. Without a check they would wait for ever.
struct Deaf : ccoll::algo_tag {
    static constexpr const char* name = "mine::Deaf";
};
struct deaf_bcast {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int) { return 1; }
    static constexpr ccoll::step step_at(int me, int p, int root, int)
    {
        if (me == root) return {(root + 1) % p, ccoll::nobody, {0, 1}, {}};
        return {ccoll::nobody, root, {}, {0, 1}};
    }
};

}  // namespace mine

template <>
struct ccoll::schedule_for<mine::Forgetful, ccoll::collective::allgather> : mine::forgetful_allgather {};
template <>
struct ccoll::schedule_for<mine::Twice, ccoll::collective::allreduce> : mine::twice_allreduce {};
template <>
struct ccoll::schedule_for<mine::Deaf, ccoll::collective::bcast> : mine::deaf_bcast {};

TEST_CASE(
    "a schedule that does not deliver is refused on every rank, with what is wrong, and before anything "
    "moves",
    "[extension][algo]")
{
    // Every rank tries `call`, and then a good one.
    const auto told = [](int p, auto call) {
        std::vector<std::string> all(static_cast<std::size_t>(p));
        ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
            std::string& mine = all[static_cast<std::size_t>(comm.rank())];
            for (int again = 0; again < 2; ++again) {
                try {
                    call(comm);
                } catch (const ccoll::error& e) {
                    mine = e.what();
                    if (e.what_happened().code != ccoll::status::bad_schedule) mine = "another code: " + mine;
                }
            }
            std::vector<float> one(100, 1);
            ccoll::allreduce<Algo::Ring>(one, comm);
            if (one[99] != static_cast<float>(p)) mine = "does not work afterwards";
        });
        return all;
    };
    const std::string refusal = "the schedule of this algorithm does not do what the collective promises: ";
    for (const std::string& each : told(4, [](ccoll::threads_comm& comm) {
             std::vector<float> own(10), all(40);
             ccoll::allgather<mine::Forgetful>(own, all, comm);
         }))
        CHECK(each == "ccoll::allgather: " + refusal +
                          "mine::Forgetful on 4 ranks: rank 1 misses block 0 of 4, after the last step");
    for (const std::string& each : told(2, [](ccoll::threads_comm& comm) {
             std::vector<float> x(10);
             ccoll::allreduce<mine::Twice, Codec::SZp, ErrorBound<1e-3>>(x, comm);
         }))
        CHECK(each == "ccoll::allreduce: " + refusal +
                          "mine::Twice on 2 ranks: rank 0 has something else in the place of block 0 of 1, "
                          "after the last step");
    for (const std::string& each : told(3, [](ccoll::threads_comm& comm) {
             std::vector<float> x(10);
             ccoll::ibcast<mine::Deaf>(x, 1, comm).wait();
         }))
        CHECK(each ==
              "ccoll::bcast: " + refusal +
                  "mine::Deaf on 3 ranks: rank 0 receives from rank 1, which does not send to it in step 0");
    std::error_code code;
    ccoll::run_ranks(1, [&](ccoll::threads_comm& comm) {
        std::vector<float> own(10), all(10);
        ccoll::allgather<mine::Forgetful>(own, all, comm, code);  // right on one rank
    });
    CHECK_FALSE(code);
}

TEMPLATE_TEST_CASE("an algorithm from outside runs with every codec, also one from outside",
                   "[extension][algo]", Codec::PipeSZx, Codec::SZx, acme::Fixed16)
{
    // [doc:use_schedule]
    // mine::Bruck is a policy like any other.
    using Plan = ccoll::Plan<mine::Bruck, TestType, ErrorBound<1e-3>>;
    static_assert(ccoll::worst_case<ccoll::collective::allgather, Plan>(8) == 1e-3);
    // [/doc:use_schedule]
    for (const int p : {1, 2, 3, 4, 5, 7, 8, 13})
        for (const std::size_t n : std::vector<std::size_t>{0, 1, 1000, 70001}) {
            INFO("p = " << p << ", n = " << n);
            const auto ranks_count = static_cast<std::size_t>(p);
            std::vector<std::vector<float>> in, out(ranks_count, std::vector<float>(n * ranks_count));
            std::vector<ccoll::report> reports(ranks_count);
            for (int r = 0; r < p; ++r) in.push_back(fields::smooth<float>(n, static_cast<unsigned>(r + 1)));
            ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
                const auto me = static_cast<std::size_t>(comm.rank());
                reports[me] = ccoll::allgather<Plan>(in[me], out[me], comm);
            });
            CHECK(reports[0].algorithm == std::string("mine::Bruck"));
            CHECK(reports[0].worst_case_error == (p > 1 ? 1e-3 : 0));
            CHECK(ranks::same_bits(out));
            for (std::size_t r = 0; r < ranks_count; ++r) {
                const std::vector<float> block(out[0].data() + r * n, out[0].data() + (r + 1) * n);
                CHECK(ranks::largest_error<float>({in[r]}, block) <= reports[0].worst_case_error);
            }
        }
}

TEST_CASE("an algorithm from outside is exact with Codec::None", "[extension][algo]")
{
    ccoll::run_ranks(5, [](ccoll::threads_comm& comm) {
        const std::vector<double> mine(10, comm.rank());
        std::vector<double> all(50);
        const ccoll::report report = ccoll::allgather<mine::Bruck>(mine, all, comm);
        bool right = report.exact;
        for (std::size_t i = 0; i < all.size(); ++i) right = right && all[i] == static_cast<double>(i / 10);
        if (!right) throw std::runtime_error("blocks are not in the order of the ranks");
    });
}
