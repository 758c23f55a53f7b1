// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Menus: plans that are compiled in, one of which a call takes at run time.
#include "support/catch.hpp"

#include <cmath>
#include <complex>
#include <string>
#include <system_error>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll;
using namespace ccoll::policies;

namespace {

constexpr menu<Plan<>, Plan<Codec::SZp, ErrorBound<1e-3>>, Plan<Codec::Lossless>> some{"exact", "szp",
                                                                                       "lossless"};
const char* const codecs[] = {"None", "SZp", "Lossless"};

using floats = std::vector<float>;

floats wave(std::size_t n, int rank)
{
    floats v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = std::sin(0.01f * static_cast<float>(i)) + static_cast<float>(rank);
    return v;
}

/// One per rank, because Catch2's assertions are for one thread.
struct findings {
    std::string wrong;
    void check(bool holds, const std::string& what)
    {
        if (!holds && wrong.empty()) wrong = what;
    }
};
template <class Body>
void on_ranks(int p, Body body)
{
    std::vector<findings> all(static_cast<std::size_t>(p));
    run_ranks(p, [&](threads_comm& comm) { body(comm, all[static_cast<std::size_t>(comm.rank())]); });
    for (const findings& each : all) CHECK(each.wrong == "");
}

/// The same call with the plan of the menu and with the plan itself: equal bits and equal reports.
template <class Chosen, class Direct>
void same(findings& mine, const std::string& what, const floats& start, Chosen chosen, Direct direct)
{
    floats a = start, b = start;
    const report one = chosen(a), other = direct(b);
    mine.check(a == b, what + ": other bits");
    mine.check(
        std::string(one.algorithm) == other.algorithm && std::string(one.codec) == other.codec &&
            std::string(one.placement) == other.placement,
        what + ": " + one.algorithm + " " + one.codec + " instead of " + other.algorithm + " " + other.codec);
    mine.check(one.worst_case_error == other.worst_case_error && one.sent_bytes == other.sent_bytes,
               what + ": another report");
}

std::string sentence_of(auto call)
{
    try {
        call();
    } catch (const error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("a menu gives its plans by index and by name, also at compile time", "[policy][menu]")
{
    static_assert(some.size() == 3 && some.at(2).index == 2 && some.at("szp").index == 1);
    static_assert(some.find("lossless") == 2 && some.find("zfp") == 3 && some.find("") == 3 &&
                  some.name(0) == "exact");
    constexpr menu<Codec::None, Plan<Codec::SZp, ErrorBound<1>>> unnamed;
    static_assert(unnamed.at(std::size_t{1}).index == 1 && unnamed.find("") == 2 && unnamed.name(1).empty());
    static_assert(std::is_same_v<decltype(unnamed)::choice,
                                 plan_choice<Plan<Codec::None>, Plan<Codec::SZp, ErrorBound<1>>>>);
    const std::string name = "exact";
    CHECK(some.at(name).index == 0);
}

TEST_CASE("the error for a plan that is not in a menu lists the plans that are", "[policy][menu]")
{
    const std::string there = "; there are 3 plans: 0 'exact', 1 'szp', 2 'lossless'";
    CHECK(sentence_of([] { some.at("zfp"); }) ==
          "ccoll::menu::at: an argument is out of range: no plan has the name 'zfp'" + there);
    CHECK(sentence_of([] { some.at(3); }) ==
          "ccoll::menu::at: an argument is out of range: no plan has the index 3" + there);
    CHECK(sentence_of([] { some.at(-1); }) ==
          "ccoll::menu::at: an argument is out of range: no plan has the index -1" + there);
    constexpr menu<Codec::None> unnamed;
    CHECK(sentence_of([&] { unnamed.at("szp"); }) ==
          "ccoll::menu::at: an argument is out of range: no plan has the name 'szp'; there are 1 plans: 0");
}

TEST_CASE("a call with a choice is the call with that plan, for every collective", "[policy][menu]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{3000}})
            on_ranks(p, [=](threads_comm& comm, findings& mine) {
                const auto ranks = static_cast<std::size_t>(p);
                const int root = p - 1;
                const floats one = wave(n, comm.rank()), all = wave(n * ranks, comm.rank());
                const std::vector<int> counts(ranks, static_cast<int>(n));
                const auto with = [&]<class P>(std::type_identity<P>, std::size_t i) {
                    const auto c = some.at(i);
                    same(
                        mine, "allreduce", one, [&](floats& to) { return allreduce(c, one, to, comm); },
                        [&](floats& to) { return allreduce<P>(one, to, comm); });
                    same(
                        mine, "allreduce in place", one, [&](floats& to) { return allreduce(c, to, comm); },
                        [&](floats& to) { return allreduce<P>(to, comm); });
                    same(
                        mine, "allreduce of pointers", one,
                        [&](floats& to) { return allreduce(c, one.data(), to.data(), n, comm); },
                        [&](floats& to) { return allreduce<P>(one.data(), to.data(), n, comm); });
                    same(
                        mine, "reduce_scatter", one,
                        [&](floats& to) { return reduce_scatter(c, all, to, comm); },
                        [&](floats& to) { return reduce_scatter<P>(all, to, comm); });
                    same(
                        mine, "reduce_scatterv", one,
                        [&](floats& to) { return reduce_scatterv(c, all, to, counts, comm); },
                        [&](floats& to) { return reduce_scatterv<P>(all, to, counts, comm); });
                    same(
                        mine, "allgather", all, [&](floats& to) { return allgather(c, one, to, comm); },
                        [&](floats& to) { return allgather<P>(one, to, comm); });
                    same(
                        mine, "allgatherv", all,
                        [&](floats& to) { return allgatherv(c, one, to, counts, comm); },
                        [&](floats& to) { return allgatherv<P>(one, to, counts, comm); });
                    same(
                        mine, "alltoall", all, [&](floats& to) { return alltoall(c, all, to, comm); },
                        [&](floats& to) { return alltoall<P>(all, to, comm); });
                    same(
                        mine, "alltoallv", all,
                        [&](floats& to) { return alltoallv(c, all, counts, to, counts, comm); },
                        [&](floats& to) { return alltoallv<P>(all, counts, to, counts, comm); });
                    same(
                        mine, "bcast", one, [&](floats& to) { return bcast(c, to, root, comm); },
                        [&](floats& to) { return bcast<P>(to, root, comm); });
                    same(
                        mine, "reduce", one, [&](floats& to) { return reduce(c, one, to, root, comm); },
                        [&](floats& to) { return reduce<P>(one, to, root, comm); });
                    same(
                        mine, "scatter", one, [&](floats& to) { return scatter(c, all, to, root, comm); },
                        [&](floats& to) { return scatter<P>(all, to, root, comm); });
                    same(
                        mine, "scatterv", one,
                        [&](floats& to) { return scatterv(c, all, counts, to, root, comm); },
                        [&](floats& to) { return scatterv<P>(all, counts, to, root, comm); });
                    same(
                        mine, "gather", all, [&](floats& to) { return gather(c, one, to, root, comm); },
                        [&](floats& to) { return gather<P>(one, to, root, comm); });
                    same(
                        mine, "gatherv", all,
                        [&](floats& to) { return gatherv(c, one, to, counts, root, comm); },
                        [&](floats& to) { return gatherv<P>(one, to, counts, root, comm); });
                };
                with(std::type_identity<Plan<>>{}, 0);
                with(std::type_identity<Plan<Codec::SZp, ErrorBound<1e-3>>>{}, 1);
                with(std::type_identity<Plan<Codec::Lossless>>{}, 2);
            });
}

TEST_CASE("a choice works in calls that are begun or prepared, and between two ranks",
          "[policy][menu][request][p2p]")
{
    on_ranks(3, [](threads_comm& comm, findings& mine) {
        const floats from = wave(5000, comm.rank());
        const int next = (comm.rank() + 1) % 3, before = (comm.rank() + 2) % 3;
        constexpr menu<Plan<>, Plan<Codec::SZp, ErrorBound<1e-3>>> m;
        for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
            floats to(from.size()), again(from.size()), there = from;
            mine.check(iallreduce(m.at(i), from, to, comm).wait().codec == std::string(codecs[i]),
                       "iallreduce");
            persistent often = allreduce_init(m.at(i), from, again, comm);
            for (int turn = 0; turn < 2; ++turn) {
                often.start();
                mine.check(often.wait().codec == std::string(codecs[i]), "allreduce_init");
                mine.check(again == to, "allreduce_init: other bits");
            }
            mine.check(ibcast(m.at(i), there, 0, comm).wait().codec == std::string(codecs[i]), "ibcast");

            const report exchanged = sendrecv(m.at(i), from, next, to, before, 7, comm);
            mine.check(exchanged.codec == std::string(codecs[i]) && exchanged.exact == (i == 0), "sendrecv");
            const floats expected = wave(5000, before);
            for (std::size_t k = 0; k < to.size(); ++k)
                mine.check(std::fabs(to[k] - expected[k]) <= (i == 0 ? 0 : 1e-3), "sendrecv: the values");
            request sent = isend(m.at(i), from, next, 8, comm);
            mine.check(recv(m.at(i), to, before, 8, comm).codec == std::string(codecs[i]), "recv");
            sent.wait();
            mine.check(
                isendrecv(m.at(i), from.data(), from.size(), next, to.data(), to.size(), before, 9, comm)
                        .wait()
                        .exact == (i == 0),
                "isendrecv");
        }
    });
}

TEST_CASE("policies of a call join every plan of a menu", "[policy][menu]")
{
    on_ranks(3, [](threads_comm& comm, findings& mine) {
        floats v = wave(2000, comm.rank());
        const report averaged =
            allreduce<Op::Average, Instrument::Breakdown, Check::Collective>(some.at("szp"), v, comm);
        mine.check(averaged.worst_case_error == 1e-3 && averaged.agreed,
                   "Op::Average of three ranks has one bound");
        mine.check(averaged.breakdown.encode > 0, "Instrument::Breakdown");
    });
}

TEST_CASE("a bound of the call is for those plans of a menu that take one", "[policy][menu]")
{
    on_ranks(3, [](threads_comm& comm, findings& mine) {
        constexpr menu<Plan<>, Plan<Algo::Ring, Codec::SZp, RuntimeBound>,
                       Plan<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>>
            m{"exact", "szp", "fixed"};
        const floats from = wave(2000, comm.rank());
        floats to(from.size());
        std::error_code code;
        mine.check(allreduce(m.at("exact"), from, to, comm, 0.25).exact, "exact");
        mine.check(allreduce(m.at("szp"), from, to, comm, 0.25, code).error_bound == 0.25 && !code,
                   "RuntimeBound");
        mine.check(allreduce(m.at("fixed"), from, to, comm, code, 0.25).error_bound == 1e-3 && !code,
                   "ErrorBound");
        allreduce(m.at("szp"), from, to, comm, -1.0, code);
        mine.check(code == status::bad_bound, "a bound that is none");
        allreduce(m.at("exact"), from, to, comm, -1.0, code);
        mine.check(!code, "a bound that is not used is not checked");
        const int next = (comm.rank() + 1) % 3, before = (comm.rank() + 2) % 3;
        constexpr menu<Plan<>, Plan<Codec::SZp, RuntimeBound>> ends;
        mine.check(sendrecv(ends.at(1), from, next, to, before, 0, comm, 0.5).worst_case_error == 0.5,
                   "sendrecv, RuntimeBound");
        mine.check(sendrecv(ends.at(0), from, next, to, before, 0, comm, 0.5).exact, "sendrecv, exact");
    });
}

TEST_CASE("plans on one and on two levels may share a menu, and complex numbers may be added",
          "[policy][menu]")
{
    on_ranks(4, [](threads_comm& comm, findings& mine) {
        set_nodes(comm, std::vector<int>{0, 0, 1, 1});
        constexpr menu<Plan<Algo::Ring>,
                       Plan<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>>>
            m;
        std::vector<std::complex<float>> v(100, {1, 2}), w = v;
        mine.check(allreduce(m.at(0), v, comm).algorithm == std::string("Ring"), "one level");
        const report two = allreduce(m.at(1), w, comm);
        mine.check(two.ran_by == ccoll::ran_by::two_levels && two.worst_case_error == 4e-3, "two levels");
        mine.check(v[9] == std::complex<float>(4, 8) && std::abs(w[9] - v[9]) < 4e-3f * 1.4143f, "the sums");
    });
}

TEST_CASE("ranks that choose differently are told so, and go on", "[policy][menu][errors]")
{
    for (const std::size_t n : {std::size_t{100}, std::size_t{300000}})  // below and above the agreement
        on_ranks(3, [=](threads_comm& comm, findings& mine) {
            constexpr menu<Plan<Algo::Ring>, Plan<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>> m;
            floats v = wave(n, comm.rank());
            std::error_code code;
            allreduce(m.at(comm.rank() == 1 ? 1 : 0), v, comm, code);
            mine.check(code == status::plan_differs, "plans: " + code.message());
            iallreduce(m.at(comm.rank() == 2 ? 1 : 0), v, comm).wait(code);
            mine.check(code == status::plan_differs, "plans, begun: " + code.message());
            floats ones(10, 1);
            allreduce(m.at(0), ones, comm);
            mine.check(ones[9] == 3, "the next call");
        });
}

namespace {

std::size_t by_length(const choice_facts& facts)
{
    return facts.bytes > 8000 && facts.ranks > 2 && facts.collective != "bcast" ? 1 : 0;
}
std::size_t strange(const choice_facts&) { return 2; }
/// A chooser that checks what it was told about the menu of the test below.
std::size_t knows_the_menu(const choice_facts& facts)
{
    const auto& all = facts.candidates;
    const bool right = all.size() == 2 && all[0].algorithm == std::string("Auto") &&
                       all[0].codec == std::string("None") && all[0].exact && all[0].bound == 0 &&
                       all[1].algorithm == std::string("Ring") && all[1].codec == std::string("SZp") &&
                       all[1].placement == std::string("Homomorphic") && !all[1].exact &&
                       all[1].bound == 1e-3 && !all[1].relative && all[1].end_to_end;
    return right ? 1 : 0;
}

}  // namespace

TEST_CASE("a menu may be given a function that chooses", "[policy][menu]")
{
    for (const int p : {2, 3})
        on_ranks(p, [=](threads_comm& comm, findings& mine) {
            constexpr menu<Plan<>, Plan<Algo::Ring, Codec::SZp, EndToEnd<ErrorBound<1e-3>>>> m;
            const auto codec_for = [&](std::size_t n) {
                floats v = wave(n, comm.rank());
                return std::string(allreduce(m.chosen_by(by_length), v, comm).codec);
            };
            mine.check(codec_for(2000) == "None", "8000 bytes");
            mine.check(codec_for(2001) == (p > 2 ? "SZp" : "None"), "8004 bytes");
            floats v = wave(1000, comm.rank()), all(1000 * static_cast<std::size_t>(p));
            mine.check(iallgather(m.chosen_by(by_length), v, all, comm).wait().codec ==
                           std::string(p > 2 ? "SZp" : "None"),
                       "bytes of all ranks together");
            mine.check(allgatherv(m.chosen_by(by_length), v, all,
                                  std::vector<int>(static_cast<std::size_t>(p), 1000), comm)
                           .exact,
                       "no bytes with counts");
            mine.check(!allreduce(m.chosen_by(knows_the_menu), v, comm).exact, "what the chooser is told");
            std::error_code code;
            allreduce(m.chosen_by(strange), v, comm, code);
            mine.check(code == status::bad_argument, "an index that does not exist");
            mine.check(sentence_of([&] {
                           allreduce(m.chosen_by(strange), v, comm);
                       }).find("the chooser of a menu must return the index of one of its plans") !=
                           std::string::npos,
                       "its sentence");
        });
}

namespace {

// [doc:menu]
using Exact = ccoll::Plan<>;
using Szp = ccoll::Plan<Codec::SZp, RuntimeBound>;
using Lossless = ccoll::Plan<Codec::Lossless>;
constexpr ccoll::menu<Exact, Szp, Lossless> plans{"exact", "szp", "lossless"};

ccoll::report sum_up(const std::vector<float>& gradient, std::vector<float>& sum, ccoll::threads_comm& comm,
                     const std::string& wish)
{
    // The bound is for "szp"; the others do not use it.
    return ccoll::allreduce(plans.at(wish), gradient, sum, comm, 1e-3);
}
// [/doc:menu]

// [doc:chooser]
std::size_t compress_long_vectors(const ccoll::choice_facts& facts)
{
    return facts.bytes < (std::size_t{1} << 20) ? 0 : 1;  // an index into facts.candidates
}
// [/doc:chooser]

}  // namespace

TEST_CASE("docs/reference/menu.md: a plan by its name, or by a function", "[policy][menu][docs]")
{
    on_ranks(3, [](threads_comm& comm, findings& mine) {
        const floats gradient(1 << 18, 1.0f);
        floats sum(gradient.size());
        mine.check(sum_up(gradient, sum, comm, "exact").exact && sum[0] == 3, "exact");
        mine.check(
            sum_up(gradient, sum, comm, "szp").worst_case_error == 3e-3 && std::fabs(sum[0] - 3) <= 3.1e-3,
            "szp");
        mine.check(sum_up(gradient, sum, comm, "lossless").codec == std::string("Lossless") && sum[0] == 3,
                   "lossless");
        // [doc:chosen]
        const ccoll::report facts = ccoll::allreduce<Check::Collective>(
            plans.chosen_by(compress_long_vectors), gradient, sum, comm, 1e-3);
        // [/doc:chosen]
        mine.check(facts.codec == std::string("SZp"), "chosen by length");
    });
}
