// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algo::Auto: which algorithm a call of which length takes, and that its bound is known before the length is.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;
namespace collective = ccoll::collective;

namespace {

constexpr std::size_t kib = 1024;

template <class Collective>
const char* taken(std::size_t bytes, int p)
{
    using rule = ccoll::detail::auto_rule<Collective>;
    return rule::takes_other(bytes, p) ? rule::other::name : rule::usual::name;
}

template <class... P>
std::vector<std::string> allreduce_names(int p, std::size_t n)
{
    std::vector<std::string> said(static_cast<std::size_t>(p));
    ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
        std::vector<float> v(n, 1);
        said[static_cast<std::size_t>(comm.rank())] = ccoll::allreduce<P...>(v, comm).algorithm;
    });
    return said;
}

template <class Collective>
void same_units(ccoll::placement_rules rules)
{
    using rule = ccoll::detail::auto_rule<Collective>;
    const auto units = [&](const ccoll::schedule& s, int p, int root) {
        return ccoll::worst_case_units<Collective>(s, rules, ccoll::error_growth::adds, p, root);
    };
    for (int p = 1; p <= 40; ++p)
        for (int root = 0; root < (Collective::rooted ? p : 1); ++root)
            CHECK(units(ccoll::schedule_view<ccoll::schedule_for<typename rule::usual, Collective>>, p, root) ==
                  units(ccoll::schedule_view<ccoll::schedule_for<typename rule::other, Collective>>, p, root));
}

}  // namespace

TEST_CASE("Auto takes few steps for short vectors, and few bytes for long ones", "[auto]")
{
    CHECK(taken<collective::allreduce>(128 * kib, 4) == std::string("RecursiveDoubling"));
    CHECK(taken<collective::allreduce>(128 * kib + 1, 4) == std::string("Ring"));
    CHECK(taken<collective::allreduce>(32 * kib, 5) == std::string("RecursiveDoubling"));
    CHECK(taken<collective::allreduce>(32 * kib + 1, 5) == std::string("Ring"));
    CHECK(taken<collective::allgather>(128 * kib, 7) == std::string("RecursiveDoubling"));
    CHECK(taken<collective::allgather>(128 * kib + 1, 7) == std::string("Ring"));
    CHECK(taken<collective::bcast>(512 * kib, 4) == std::string("Chain"));
    CHECK(taken<collective::bcast>(512 * kib - 1, 4) == std::string("Binomial"));
    CHECK(taken<collective::bcast>(512 * kib, 2) == std::string("Binomial"));
    CHECK(taken<collective::reduce>(8192 * kib, 64) == std::string("Chain"));
    CHECK(taken<collective::reduce>(8192 * kib - 1, 64) == std::string("Binomial"));
}

TEST_CASE("What Auto may take instead has the same bound, on any number of ranks", "[auto][error]")
{
    same_units<collective::allreduce>({"Homomorphic", true, true});
    same_units<collective::reduce>({"Homomorphic", true, true});
    same_units<collective::allgather>({"Once", true, false});
    same_units<collective::bcast>({"Once", true, false});
}

TEST_CASE("The length decides only where the bound does not depend on the algorithm", "[auto]")
{
    constexpr std::size_t n = 1000, longer = 40000;
    const auto all = [](const char* name) { return std::vector<std::string>(4, name); };
    CHECK(allreduce_names<Codec::SZp, ErrorBound<1e-3>>(4, n) == all("RecursiveDoubling"));
    CHECK(allreduce_names<Codec::SZp, ErrorBound<1e-3>>(4, longer) == all("Ring"));
    CHECK(allreduce_names<Codec::None>(4, n) == all("RecursiveDoubling"));
    CHECK(allreduce_names<Codec::PipeSZx, ErrorBound<1e-3>>(4, n) == all("Ring"));
    CHECK(allreduce_names<Codec::SZp, ErrorBound<1e-3>, Op::Max>(4, n) == all("Ring"));
    CHECK(allreduce_names<Codec::SZp, ErrorBound<1e-3>, Placement::PerHop>(4, n) == all("Ring"));
    CHECK(allreduce_names<Codec::SZp, ErrorBound<1e-3>, Algo::Ring>(4, n) == all("Ring"));
}
