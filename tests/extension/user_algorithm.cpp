// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the library promises to the author of an algorithm: a schedule is enough, it can be checked without running it, and it works with
// every codec.
#include "catch.hpp"

#include <string>
#include <vector>

#include <ccoll/algo/walk.hpp>
#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

#include "acme_fixed16.hpp"
#include "extension/ranks.hpp"
#include "fields.hpp"

// [doc:schedule]
namespace mine {

/// Bruck's allgather. Before step k a rank holds its own block and the 2^k - 1 blocks after it, and sends them to the rank 2^k before it.
/// Every rank has all blocks after ceil(log2 p) steps, for any p. Source: Bruck et al., IEEE TPDS 1997.
struct bruck_allgather {
    static constexpr bool rotates = true;  // relative to its own number, every rank does the same
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ccoll::ceil_log2(p); }
    static constexpr int widest(int p) { return p > 1 ? 1 << (steps(p) - 1) : 1; }  // blocks in the longest message
    static constexpr ccoll::step step_at(int me, int p, int, int k)
    {
        const int distance = 1 << k, from = (me + distance) % p;
        return {(me + p - distance) % p, from, {me, count(p, k)}, {from, count(p, k)}, ccoll::on_receive::replace};
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

static_assert(ccoll::delivers<ccoll::collective::allgather>(ccoll::schedule_view<mine::bruck_allgather>, 7, 0));
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
    for (int p = 2; p <= 64; ++p) CHECK_FALSE(ccoll::delivers<ccoll::collective::allgather>(ccoll::schedule_view<forgetful>, p, 0));
}

TEMPLATE_TEST_CASE("an algorithm from outside runs with every codec, also one from outside", "[extension][algo]", Codec::PipeSZx,
                   Codec::SZx, acme::Fixed16)
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
