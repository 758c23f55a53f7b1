// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Algo::Auto: which algorithm it chooses for a call of which length, and that the bound is known before the
// length is.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

namespace auto_algo_cases {

using namespace ccoll::policies;
namespace collective = ccoll::collective;

namespace {

constexpr std::size_t kib = 1024;

template <class... Algos>
const char* name_at(ccoll::detail::algo_list<Algos...>, std::size_t index)
{
    const char* const all[] = {Algos::name...};
    return all[index];
}
template <class Collective>
const char* taken(std::size_t bytes, int p)
{
    using rule = ccoll::detail::auto_rule<Collective>;
    return name_at(typename rule::algos{}, rule::choose({Collective::name, bytes, p, {}}));
}

/// What Codec::Auto tries without a codec.
template <class Collective>
using for_long = typename ccoll::detail::algo_for_long<ccoll::detail::auto_rule<Collective>>::type;
static_assert(std::is_same_v<for_long<collective::allreduce>, Algo::Ring>);
static_assert(std::is_same_v<for_long<collective::bcast>, Algo::Chain>);
static_assert(std::is_same_v<for_long<collective::scan>, Algo::Chain>);
static_assert(std::is_same_v<for_long<collective::gather>, Algo::Binomial>);
static_assert(std::is_same_v<for_long<collective::alltoall>, Algo::Pairwise>);

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

template <class Collective, class First, class... Others>
void same_units(ccoll::placement_rules rules, ccoll::detail::algo_list<First, Others...>)
{
    static_assert(sizeof...(Others) > 0, "there is something to choose from");
    const auto units = [&](const ccoll::schedule& s, int p, int root) {
        return ccoll::detail::worst_case_units<Collective>(s, rules, ccoll::error_growth::adds, p, root);
    };
    for (int p = 1; p <= 40; ++p)
        for (int root = 0; root < (Collective::rooted ? p : 1); ++root)
            for (const ccoll::schedule& other :
                 {ccoll::schedule_view<ccoll::schedule_for<Others, Collective>>...})
                CHECK(units(ccoll::schedule_view<ccoll::schedule_for<First, Collective>>, p, root) ==
                      units(other, p, root));
}
template <class Collective>
void same_units(ccoll::placement_rules rules)
{
    same_units<Collective>(rules, typename ccoll::detail::auto_rule<Collective>::algos{});
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

TEST_CASE("A chooser is told how many bytes the call works on, whatever the form of its buffers", "[auto]")
{
    const auto same = [](auto collective, int me, int p, int root, ccoll::detail::user_buffers<float> user) {
        const ccoll::detail::collective_facts& facts = ccoll::detail::facts_of<decltype(collective)>;
        INFO(facts.name << ", rank " << me << " of " << p << ", root " << root
                        << (user.counted ? ", counted" : "") << (user.in_place ? ", in place" : ""));
        CHECK(ccoll::detail::whole_elements(user, facts, me, p, root) ==
              ccoll::detail::fit(user, facts, me, p, root, {}).data.count);
    };
    std::vector<float> a(1000), b(1000);
    for (int p = 1; p <= 5; ++p)
        for (int me = 0; me < p; ++me)
            for (int root = 0; root < p; ++root)
                for (const bool counted : {false, true})
                    for (const bool in_place : {false, true}) {
                        const auto n = std::size_t{30}, all = n * static_cast<std::size_t>(p);
                        const auto buffers = [&](std::size_t send, std::size_t recv) {
                            if (counted) send = recv = n;
                            if (in_place) send = recv = std::max(send, recv);
                            return ccoll::detail::user_buffers<float>{
                                a.data(), send, in_place ? a.data() : b.data(), recv, in_place, counted};
                        };
                        same(collective::allreduce{}, me, p, root, buffers(n, n));
                        same(collective::reduce{}, me, p, root, buffers(n, in_place || me == root ? n : 0));
                        same(collective::bcast{}, me, p, root, buffers(n, n));
                        same(collective::allgather{}, me, p, root, buffers(n, all));
                        same(collective::reduce_scatter{}, me, p, root, buffers(all, n));
                        same(collective::alltoall{}, me, p, root, buffers(all, all));
                        if (!in_place)
                            same(collective::gather{}, me, p, root, buffers(n, me == root ? all : 0));
                        if (!in_place)
                            same(collective::scatter{}, me, p, root, buffers(me == root ? all : 0, n));
                    }
}

TEST_CASE("All algorithms that Auto may take for a call have the same bound, on any number of ranks",
          "[auto][error]")
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

}  // namespace auto_algo_cases
