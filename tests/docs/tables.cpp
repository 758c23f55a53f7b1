// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: links nothing
// The tables of docs/reference and docs/choosing.md: which algorithm does what, how errors add up, what a
// call costs. A row stands here as the page shows it, beside the closed form that it means; the form is
// compared with the schedules, the row with the page.
#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <ccoll/ccoll.hpp>

#include "support/repository.hpp"

namespace tables_cases {

using namespace ccoll::policies;
namespace collective = ccoll::collective;

namespace {

std::string page(const std::string& name)
{
    const auto path = repository::path_of("docs/" + name);
    std::ifstream in(path);
    if (!in) FAIL("cannot read " << path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

/// Is `line` a whole line of the page?
void expect_line(const std::string& name, const std::string& line)
{
    INFO(name << " should have the line\n" << line);
    CHECK(("\n" + page(name)).find("\n" + line + "\n") != std::string::npos);
}

// ---- who does what ----

template <class... Collectives>
struct columns {};
using all_collectives =
    columns<collective::allreduce, collective::reduce, collective::reduce_scatter, collective::allgather,
            collective::bcast, collective::scatter, collective::gather, collective::alltoall,
            collective::scan, collective::exscan>;

template <class Algorithm, class... C>
std::string row_of(columns<C...>)
{
    std::string line = "| `" + std::string(Algorithm::name) + "` |";
    ((line += ccoll::has_schedule<Algorithm, C> ? " yes |" : " |"), ...);
    return line;
}
template <class... C>
std::string auto_row(columns<C...>)
{
    std::string line = "| `Auto` stands for |";
    ((line += " `" + std::string(ccoll::detail::auto_rule<C>::usual::name) + "` |"), ...);
    return line;
}
template <class Usual, class... Others>
std::string others_in(ccoll::detail::algo_list<Usual, Others...>)
{
    std::string cell;
    ((cell += " `" + std::string(Others::name) + "`"), ...);
    return cell + " |";
}
template <class Collective>
std::string other_of()
{
    return others_in(typename ccoll::detail::auto_rule<Collective>::algos{});
}
template <class... C>
std::string other_row(columns<C...>)
{
    return "| for some lengths |" + (other_of<C>() + ...);
}

// ---- how errors add up ----

constexpr ccoll::placement_rules per_hop{"PerHop", false, false}, forwards{"Once", true, false},
    homomorphic{"Homomorphic", true, true};
constexpr auto adds = ccoll::error_growth::adds, selects = ccoll::error_growth::selects;

int log2_down(int p) { return static_cast<int>(std::bit_width(static_cast<unsigned>(p))) - 1; }
int log2_up(int p) { return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1))); }
int core(int p) { return 1 << log2_down(p); }  // k on the pages
bool is_power(int p) { return core(p) == p; }

using form = int (*)(int p);
int one(int) { return 1; }
int ranks(int p) { return p; }
int others(int p) { return p - 1; }
int depth(int p) { return log2_down(p); }
/// Of recursive doubling and halving, with Min and Max.
int folded(int p) { return log2_down(p) + (is_power(p) ? 0 : p - core(p) <= core(p) / 2 ? 1 : 2); }
int up_and_down(int p) { return log2_down(p) + (is_power(p) ? 1 : 2); }

template <class Algorithm, class Collective>
void check_units(ccoll::placement_rules rules, ccoll::error_growth growth, form expected)
{
    constexpr auto path = ccoll::schedule_view<ccoll::schedule_for<Algorithm, Collective>>;
    for (int p = 2; p <= 64; ++p)
        for (const int root : {0, p - 1}) {
            INFO(Algorithm::name << " " << Collective::name << ", " << rules.name << ", p = " << p
                                 << ", root " << root);
            REQUIRE(ccoll::detail::worst_case_units<Collective>(path, rules, growth, p, root) == expected(p));
            if (!Collective::rooted) break;
        }
}
/// A row of a reduction: Sum, Min and Max, and both with PerHop. Homomorphic is p everywhere.
template <class Algorithm, class Collective>
void reduction(const char* name, const char* line, form sum, form select, form hop_sum, form hop_select)
{
    expect_line(name, line);
    check_units<Algorithm, Collective>(forwards, adds, sum);
    check_units<Algorithm, Collective>(forwards, selects, select);
    check_units<Algorithm, Collective>(per_hop, adds, hop_sum);
    check_units<Algorithm, Collective>(per_hop, selects, hop_select);
    check_units<Algorithm, Collective>(homomorphic, adds, ranks);
}
template <class Algorithm, class Collective>
void movement(const char* name, const char* line, form hop)
{
    expect_line(name, line);
    check_units<Algorithm, Collective>(forwards, adds, one);
    check_units<Algorithm, Collective>(per_hop, adds, hop);
}

// ---- what a call costs ----

/// Of the busiest rank, in blocks.
struct cost {
    int steps = 0, sent = 0, received = 0, encoded = 0, decoded = 0, combined = 0, added = 0;
    friend bool operator==(const cost&, const cost&) = default;
};
std::ostream& operator<<(std::ostream& out, const cost& c)
{
    return out << c.steps << " steps, sent " << c.sent << ", received " << c.received << ", encoded "
               << c.encoded << ", decoded " << c.decoded << ", combined " << c.combined << ", added "
               << c.added;
}

/// The machine of algo/placement.hpp, counting.
struct counter {
    struct cell {
        int encoded = 0, decoded = 0, combined = 0, added = 0;
        ccoll::form now = ccoll::form::raw;
        void encode() { ++encoded; }
        void adopt() { ++decoded; }
        void keep() {}
        void decode() { ++decoded; }
        void combine()
        {
            ++decoded;
            ++combined;
        }
        void add() { ++added; }
        void encode_and_add()
        {
            ++encoded;
            ++added;
        }
    };
    ccoll::placement_rules rules;
    std::vector<cell> cells;

    cell& at(int rank) { return cells[static_cast<std::size_t>(rank)]; }
    int send(int me)
    {
        ccoll::before_send(at(me).now, at(me));
        ccoll::after_send(rules, at(me).now);
        return 0;
    }
    void receive(int me, int, ccoll::on_receive action)
    {
        ccoll::received(rules, at(me).now, action, at(me));
    }
};

template <class Algorithm, class Collective>
cost cost_of(int p, ccoll::placement_rules rules)
{
    constexpr auto path = ccoll::schedule_view<ccoll::schedule_for<Algorithm, Collective>>;
    const int blocks = path.blocks(p);
    std::vector<cost> each(static_cast<std::size_t>(p));
    for (int block = 0; block < blocks; ++block) {
        counter all{rules, std::vector<counter::cell>(static_cast<std::size_t>(p))};
        ccoll::walk_block(path, p, 0, block, all);
        for (int me = 0; me < p; ++me) {
            auto& c = all.at(me);
            if (Collective::after(me, 0, blocks).contains(block, blocks)) ccoll::at_end(c.now, c);
            cost& sum = each[static_cast<std::size_t>(me)];
            sum.encoded += c.encoded;
            sum.decoded += c.decoded;
            sum.combined += c.combined;
            sum.added += c.added;
        }
    }
    cost most;
    most.steps = path.steps(p);
    for (int me = 0; me < p; ++me) {
        cost& sum = each[static_cast<std::size_t>(me)];
        for (int k = 0; k < path.steps(p); ++k) {
            const ccoll::step now = path.step_at(me, p, 0, k);
            if (now.send_to != ccoll::nobody) sum.sent += now.send.count;
            sum.received += now.recv.count;
        }
        most.sent = std::max(most.sent, sum.sent);
        most.received = std::max(most.received, sum.received);
        most.encoded = std::max(most.encoded, sum.encoded);
        most.decoded = std::max(most.decoded, sum.decoded);
        most.combined = std::max(most.combined, sum.combined);
        most.added = std::max(most.added, sum.added);
    }
    return most;
}

/// A row that says what holds for powers of two, or for all p.
template <class Algorithm, class Collective, class Expected>
void costs(const char* name, const char* line, ccoll::placement_rules rules, bool any_p, Expected expected)
{
    expect_line(name, line);
    for (int p = 2; p <= 32; ++p) {
        if (!any_p && !is_power(p)) continue;
        INFO(Algorithm::name << " " << Collective::name << ", " << rules.name << ", p = " << p);
        CHECK(cost_of<Algorithm, Collective>(p, rules) == expected(p));
    }
}

int bruck_hops(int p)
{
    int sum = 0;
    for (int j = 1; j < p; ++j) sum += std::popcount(static_cast<unsigned>(j));
    return sum;
}
int largest_subtree(int p)
{
    int most = 0;
    for (int r = 1; r < p; ++r) most = std::max(most, std::min(r & -r, p - r));
    return most;
}

}  // namespace

TEST_CASE("the reference names every collective, and its variant with counts", "[docs]")
{
    const std::string all = page("reference.md");
    for (const ccoll::detail::collective_line& each : ccoll::detail::all_collectives)
        for (const char* const name : {each.name, each.varied_name}) {
            INFO(name);
            CHECK(all.find("`" + std::string(name) + "`") != std::string::npos);
        }
}

TEST_CASE("docs/reference/policies.md: which algorithm does which collective", "[docs]")
{
    const char* const file = "reference/policies.md";
    expect_line(file, row_of<Algo::Ring>(all_collectives{}));
    expect_line(file, row_of<Algo::RecursiveDoubling>(all_collectives{}));
    expect_line(file, row_of<Algo::Rabenseifner>(all_collectives{}));
    expect_line(file, row_of<Algo::Binomial>(all_collectives{}));
    expect_line(file, row_of<Algo::ScatterAllgather>(all_collectives{}));
    expect_line(file, row_of<Algo::Chain>(all_collectives{}));
    expect_line(file, row_of<Algo::Linear>(all_collectives{}));
    expect_line(file, row_of<Algo::Bruck>(all_collectives{}));
    expect_line(file, row_of<Algo::Pairwise>(all_collectives{}));
    expect_line(file, row_of<Algo::Spread>(all_collectives{}));
    expect_line(file, auto_row(all_collectives{}));
    expect_line(file, other_row(all_collectives{}));
    // Hierarchical<Inner, Outer>: what Outer does, of these three.
    using two = Algo::Hierarchical<Algo::Binomial, Algo::Ring>;
    static_assert(ccoll::has_schedule<two, collective::allreduce> &&
                  !ccoll::has_schedule<two, collective::reduce> &&
                  !ccoll::has_schedule<two, collective::allgather>);
    static_assert(ccoll::has_schedule<Algo::Hierarchical<Algo::Linear, Algo::Chain>, collective::bcast>);
    static_assert(!ccoll::has_schedule<Algo::Hierarchical<Algo::Ring, Algo::Ring>, collective::allreduce>);
}

TEST_CASE("docs/reference: how errors add up", "[docs][error]")
{
    reduction<Algo::Ring, collective::allreduce>(
        "reference/allreduce.md", "| `Ring` | p | p | 2 (p - 1) | 2 (p - 1) |", ranks, ranks,
        [](int p) { return 2 * (p - 1); }, [](int p) { return 2 * (p - 1); });
    reduction<Algo::RecursiveDoubling, collective::allreduce>(
        "reference/allreduce.md",
        "| `RecursiveDoubling` | 2 (p - 1); k + p - 1 | log k; log k + 2 | p - 1; p | log k; up to log k + 2 "
        "|",
        [](int p) { return is_power(p) ? 2 * (p - 1) : core(p) + p - 1; },
        [](int p) { return log2_down(p) + (is_power(p) ? 0 : 2); },
        [](int p) { return is_power(p) ? p - 1 : p; }, folded);
    reduction<Algo::Rabenseifner, collective::allreduce>(
        "reference/allreduce.md",
        "| `Rabenseifner` | p | log k + 1; log k + 2 | p - 1 + log k; p + log k | 2 log k; 2 log k + 2 |",
        ranks, up_and_down, [](int p) { return p - 1 + log2_down(p) + (is_power(p) ? 0 : 1); },
        [](int p) { return 2 * log2_down(p) + (is_power(p) ? 0 : 2); });

    reduction<Algo::Binomial, collective::reduce>("reference/reduce.md",
                                                  "| `Binomial` | p - 1 | log k | p - 1 | log k |", others,
                                                  depth, others, depth);
    reduction<Algo::Chain, collective::reduce>(
        "reference/reduce.md", "| `Chain` | p - 1 | p - 1 | p - 1 | p - 1 |", others, others, others, others);
    reduction<Algo::Linear, collective::reduce>("reference/reduce.md", "| `Linear` | p - 1 | 1 | p - 1 | 1 |",
                                                others, one, others, one);
    reduction<Algo::Rabenseifner, collective::reduce>(
        "reference/reduce.md",
        "| `Rabenseifner` | p | log k + 1; log k + 2 | p - 1 + log k | 2 log k; 2 log k + 1 |", ranks,
        up_and_down, [](int p) { return p - 1 + log2_down(p); },
        [](int p) { return 2 * log2_down(p) + (is_power(p) ? 0 : 1); });

    reduction<Algo::Ring, collective::reduce_scatter>("reference/reduce_scatter.md",
                                                      "| `Ring` | p - 1 | p - 1 | p - 1 | p - 1 |", others,
                                                      others, others, others);
    const form halving = [](int p) { return is_power(p) ? p - 1 : p; };
    reduction<Algo::Rabenseifner, collective::reduce_scatter>(
        "reference/reduce_scatter.md",
        "| `Rabenseifner` | p - 1; p | log k; up to log k + 2 | p - 1; p | log k; up to log k + 2 |", halving,
        folded, halving, folded);

    reduction<Algo::Chain, collective::scan>(
        "reference/scan.md", "| `Chain` | p - 1 | p - 1 | p - 1 | p - 1 |", others, others, others, others);
    expect_line("reference/scan.md", "| `RecursiveDoubling` | 2 (p - 1) - l | up to l | p - 1 | log k |");
    check_units<Algo::RecursiveDoubling, collective::scan>(forwards, adds,
                                                           [](int p) { return 2 * (p - 1) - log2_up(p); });
    check_units<Algo::RecursiveDoubling, collective::scan>(per_hop, adds, others);
    check_units<Algo::RecursiveDoubling, collective::scan>(per_hop, selects, depth);
    check_units<Algo::RecursiveDoubling, collective::scan>(homomorphic, adds, ranks);
    expect_line("reference/scan.md",
                "| `Chain` | 2 (p - 2), at least 1 | p - 2, at least 1 | 2 p - 3 | p - 1 |");
    check_units<Algo::Chain, collective::exscan>(forwards, adds,
                                                 [](int p) { return std::max(1, 2 * (p - 2)); });
    check_units<Algo::Chain, collective::exscan>(forwards, selects, [](int p) { return std::max(1, p - 2); });
    check_units<Algo::Chain, collective::exscan>(per_hop, adds, [](int p) { return 2 * p - 3; });
    check_units<Algo::Chain, collective::exscan>(per_hop, selects, others);
    check_units<Algo::Chain, collective::exscan>(homomorphic, adds, others);
    expect_line("reference/scan.md",
                "| `RecursiveDoubling` | 2 p - 3 - l' | up to l', at least 1 | 2 p - 3 | up to l' + 1 |");
    check_units<Algo::RecursiveDoubling, collective::exscan>(
        forwards, adds, [](int p) { return 2 * p - 3 - log2_up(p - 1); });
    check_units<Algo::RecursiveDoubling, collective::exscan>(per_hop, adds, [](int p) { return 2 * p - 3; });
    check_units<Algo::RecursiveDoubling, collective::exscan>(homomorphic, adds, others);

    movement<Algo::Ring, collective::allgather>("reference/allgather.md", "| `Ring` | 1 | p - 1 |", others);
    movement<Algo::RecursiveDoubling, collective::allgather>("reference/allgather.md",
                                                             "| `RecursiveDoubling` | 1 | log k |", depth);
    movement<Algo::Bruck, collective::allgather>("reference/allgather.md", "| `Bruck` | 1 | log k |", depth);
    movement<Algo::Binomial, collective::bcast>("reference/bcast.md", "| `Binomial` | 1 | log k |", depth);
    movement<Algo::Chain, collective::bcast>("reference/bcast.md", "| `Chain` | 1 | p - 1 |", others);
    movement<Algo::ScatterAllgather, collective::bcast>("reference/bcast.md",
                                                        "| `ScatterAllgather` | 1 | p - 1 |", others);
    movement<Algo::Linear, collective::bcast>("reference/bcast.md", "| `Linear` | 1 | 1 |", one);
    movement<Algo::Binomial, collective::scatter>("reference/scatter.md", "| `Binomial` | 1 | log k |",
                                                  depth);
    movement<Algo::Linear, collective::scatter>("reference/scatter.md", "| `Linear` | 1 | 1 |", one);
    movement<Algo::Binomial, collective::gather>("reference/gather.md", "| `Binomial` | 1 | log k |", depth);
    movement<Algo::Linear, collective::gather>("reference/gather.md", "| `Linear` | 1 | 1 |", one);
    movement<Algo::Pairwise, collective::alltoall>("reference/alltoall.md", "| `Pairwise` | 1 | 1 |", one);
    movement<Algo::Spread, collective::alltoall>("reference/alltoall.md", "| `Spread` | 1 | 1 |", one);
    movement<Algo::Bruck, collective::alltoall>("reference/alltoall.md", "| `Bruck` | 1 | log k |", depth);
}

TEST_CASE("docs/reference: what the busiest rank does", "[docs]")
{
    using namespace collective;
    // allreduce, reduce_scatter and reduce in blocks of n / p, where an algorithm cuts the vector.
    costs<Algo::Ring, allreduce>(
        "reference/allreduce.md", "| `Ring` | 2 (p - 1) | 2 (p - 1) / p | 1 | (2p - 1) / p | (p - 1) / p |",
        forwards, true,
        [](int p) { return cost{2 * (p - 1), 2 * (p - 1), 2 * (p - 1), p, 2 * p - 1, p - 1, 0}; });
    costs<Algo::Ring, allreduce>(
        "reference/allreduce.md",
        "| `Ring`, homomorphic | 2 (p - 1) | 2 (p - 1) / p | 1 | 1 | (p - 1) / p, encoded |", homomorphic,
        true, [](int p) { return cost{2 * (p - 1), 2 * (p - 1), 2 * (p - 1), p, p, 0, p - 1}; });
    costs<Algo::RecursiveDoubling, allreduce>("reference/allreduce.md",
                                              "| `RecursiveDoubling` | l | l | l | 2 l | l |", forwards,
                                              false, [](int p) {
                                                  const int l = log2_down(p);
                                                  return cost{l, l, l, l, 2 * l, l, 0};
                                              });
    costs<Algo::RecursiveDoubling, allreduce>(
        "reference/allreduce.md", "| `RecursiveDoubling`, homomorphic | l | l | 1 | 1 | l, encoded |",
        homomorphic, false, [](int p) {
            const int l = log2_down(p);
            return cost{l, l, l, 1, 1, 0, l};
        });
    costs<Algo::Rabenseifner, allreduce>(
        "reference/allreduce.md", "| `Rabenseifner` | 2 l | 2 (p - 1) / p | 1 | (2p - 1) / p | (p - 1) / p |",
        forwards, false,
        [](int p) { return cost{2 * log2_down(p), 2 * (p - 1), 2 * (p - 1), p, 2 * p - 1, p - 1, 0}; });
    costs<Algo::Rabenseifner, allreduce>(
        "reference/allreduce.md",
        "| `Rabenseifner`, homomorphic | 2 l | 2 (p - 1) / p | 1 | 1 | (p - 1) / p, encoded |", homomorphic,
        false, [](int p) { return cost{2 * log2_down(p), 2 * (p - 1), 2 * (p - 1), p, p, 0, p - 1}; });

    costs<Algo::Binomial, reduce>("reference/reduce.md", "| `Binomial` | l | 1 | l | 1 | l | l |", forwards,
                                  true, [](int p) {
                                      const int l = log2_up(p);
                                      return cost{l, 1, l, 1, l, l, 0};
                                  });
    costs<Algo::Chain, reduce>("reference/reduce.md", "| `Chain` | p - 1 | 1 | 1 | 1 | 1 | 1 |", forwards,
                               true, [](int p) { return cost{p - 1, 1, 1, 1, 1, 1, 0}; });
    costs<Algo::Linear, reduce>("reference/reduce.md", "| `Linear` | p - 1 | 1 | p - 1 | 1 | p - 1 | p - 1 |",
                                forwards, true,
                                [](int p) { return cost{p - 1, 1, p - 1, 1, p - 1, p - 1, 0}; });
    costs<Algo::Rabenseifner, reduce>(
        "reference/reduce.md",
        "| `Rabenseifner` | 2 l | (p - 1) / p + 1/2 | 2 (p - 1) / p | 1 | 2 (p - 1) / p | (p - 1) / p |",
        forwards, false,
        [](int p) { return cost{2 * log2_down(p), p - 1 + p / 2, 2 * (p - 1), p, 2 * (p - 1), p - 1, 0}; });

    costs<Algo::Ring, reduce_scatter>(
        "reference/reduce_scatter.md",
        "| `Ring` | p - 1 | (p - 1) / p | (p - 1) / p | (p - 1) / p | (p - 1) / p |", forwards, true,
        [](int p) { return cost{p - 1, p - 1, p - 1, p - 1, p - 1, p - 1, 0}; });
    costs<Algo::Ring, reduce_scatter>(
        "reference/reduce_scatter.md",
        "| `Ring`, homomorphic | p - 1 | (p - 1) / p | 1 | 1 / p | (p - 1) / p, encoded |", homomorphic, true,
        [](int p) { return cost{p - 1, p - 1, p - 1, p, 1, 0, p - 1}; });
    costs<Algo::Rabenseifner, reduce_scatter>(
        "reference/reduce_scatter.md",
        "| `Rabenseifner` | l | (p - 1) / p | (p - 1) / p | (p - 1) / p | (p - 1) / p |", forwards, false,
        [](int p) { return cost{log2_down(p), p - 1, p - 1, p - 1, p - 1, p - 1, 0}; });
    costs<Algo::Rabenseifner, reduce_scatter>(
        "reference/reduce_scatter.md",
        "| `Rabenseifner`, homomorphic | l | (p - 1) / p | 1 | 1 / p | (p - 1) / p, encoded |", homomorphic,
        false, [](int p) { return cost{log2_down(p), p - 1, p - 1, p, 1, 0, p - 1}; });

    const auto gathered = [](int steps, int p) { return cost{steps, p - 1, p - 1, 1, p, 0, 0}; };
    costs<Algo::Ring, allgather>("reference/allgather.md", "| `Ring` | p - 1 | p - 1 | 1 | p |", forwards,
                                 true, [&](int p) { return gathered(p - 1, p); });
    costs<Algo::RecursiveDoubling, allgather>("reference/allgather.md",
                                              "| `RecursiveDoubling` | l | p - 1 | 1 | p |", forwards, true,
                                              [&](int p) { return gathered(log2_up(p), p); });
    costs<Algo::Bruck, allgather>("reference/allgather.md", "| `Bruck` | l | p - 1 | 1 | p |", forwards, true,
                                  [&](int p) { return gathered(log2_up(p), p); });

    costs<Algo::Binomial, bcast>("reference/bcast.md", "| `Binomial` | l | l | 1 | 1 |", forwards, true,
                                 [](int p) { return cost{log2_up(p), log2_up(p), 1, 1, 1, 0, 0}; });
    costs<Algo::Chain, bcast>("reference/bcast.md", "| `Chain` | p - 1 | 1 | 1 | 1 |", forwards, true,
                              [](int p) { return cost{p - 1, 1, 1, 1, 1, 0, 0}; });
    costs<Algo::ScatterAllgather, bcast>(
        "reference/bcast.md", "| `ScatterAllgather` | l + p - 1 | 2 (p - 1) / p | 1 | 1 |", forwards, true,
        [](int p) {
            cost c{log2_up(p) + p - 1, 2 * (p - 1), 0, p, p, 0, 0};
            c.received = cost_of<Algo::ScatterAllgather, bcast>(p, forwards).received;
            return c;
        });
    for (int p = 2; p <= 32; ++p) CHECK(cost_of<Algo::ScatterAllgather, bcast>(p, forwards).received <= p);
    costs<Algo::Linear, bcast>("reference/bcast.md", "| `Linear` | p - 1 | p - 1 | 1 | 1 |", forwards, true,
                               [](int p) { return cost{p - 1, p - 1, 1, 1, 1, 0, 0}; });

    costs<Algo::Binomial, scatter>(
        "reference/scatter.md", "| `Binomial` | l | p - 1 | p - 1 | 1 |", forwards, true,
        [](int p) { return cost{log2_up(p), p - 1, largest_subtree(p), p - 1, 1, 0, 0}; });
    costs<Algo::Linear, scatter>("reference/scatter.md", "| `Linear` | p - 1 | p - 1 | p - 1 | 1 |", forwards,
                                 true, [](int p) { return cost{p - 1, p - 1, 1, p - 1, 1, 0, 0}; });
    costs<Algo::Binomial, gather>(
        "reference/gather.md", "| `Binomial` | l | p - 1 | 1 | p - 1 |", forwards, true,
        [](int p) { return cost{log2_up(p), largest_subtree(p), p - 1, 1, p - 1, 0, 0}; });
    costs<Algo::Linear, gather>("reference/gather.md", "| `Linear` | p - 1 | p - 1 | 1 | p - 1 |", forwards,
                                true, [](int p) { return cost{p - 1, 1, p - 1, 1, p - 1, 0, 0}; });

    costs<Algo::Pairwise, alltoall>(
        "reference/alltoall.md", "| `Pairwise`, `Spread` | p - 1 | p - 1 | p - 1 | p - 1 |", forwards, true,
        [](int p) { return cost{p - 1, p - 1, p - 1, p - 1, p - 1, 0, 0}; });
    costs<Algo::Spread, alltoall>("reference/alltoall.md",
                                  "| `Pairwise`, `Spread` | p - 1 | p - 1 | p - 1 | p - 1 |", forwards, true,
                                  [](int p) { return cost{p - 1, p - 1, p - 1, p - 1, p - 1, 0, 0}; });
    costs<Algo::Bruck, alltoall>("reference/alltoall.md", "| `Bruck` | l | p l / 2 | p - 1 | p - 1 |",
                                 forwards, false, [](int p) {
                                     const int l = log2_up(p);
                                     return cost{l, p * l / 2, p * l / 2, p - 1, p - 1, 0, 0};
                                 });
    for (int p = 2; p <= 32; ++p) CHECK(cost_of<Algo::Bruck, alltoall>(p, forwards).sent == bruck_hops(p));
}

TEST_CASE("The pages name the codecs of the library, with their wire ids", "[docs][wire]")
{
    std::string ids = "| 5 | u8 | codec | ";
    const std::string policies = page("reference/policies.md");
    for (const ccoll::detail::library_codec& each : ccoll::detail::library_codecs) {
        const std::string name = each.name;
        ids += std::to_string(each.wire_id) + " " + name.substr(0, name.find('<')) +
               (&each == std::end(ccoll::detail::library_codecs) - 1 ? ";" : ",") + " ";
        INFO("docs/reference/policies.md should have " << name);
        CHECK(policies.find("\n| `" + name + "` |") != std::string::npos);
    }
    expect_line("wire_format.md", ids + "128..255 belong to users |");
}

TEST_CASE("The pages say how long a control message is", "[docs][wire]")
{
    const std::string bytes = std::to_string(sizeof(ccoll::control_message)) + " bytes";
    for (const auto& [name, text] : {std::pair{"reference/transport.md", "The send of up to "},
                                     std::pair{"design/agreement.md", "carries control messages of "},
                                     std::pair{"wire_format.md", "**Control message**, "}}) {
        INFO(name << " should say: " << text << bytes);
        CHECK(page(name).find(text + bytes) != std::string::npos);
    }
}

TEST_CASE("docs/reference/report.md has a row for every status, and every member of a report", "[docs]")
{
    // The names of an enumeration or of data members, as a header has them.
    const auto names_in = [](const std::string& header, const std::string& begin, const std::regex& line) {
        const std::string text = page("../include/ccoll/" + header);
        const std::size_t from = text.find(begin);
        REQUIRE(from != std::string::npos);
        std::istringstream lines(text.substr(from, text.find("\n}", from) - from));
        std::vector<std::string> names;
        std::smatch found;
        for (std::string each; std::getline(lines, each);)
            if (std::regex_search(each, found, line)) names.push_back(found[1]);
        return names;
    };
    const auto statuses =
        names_in("base/error.hpp", "enum class status", std::regex("^    ([a-z_]+)(,|$| +//)"));
    CHECK(statuses.size() == static_cast<std::size_t>(ccoll::last_status) + 1);
    const std::string text = page("reference/report.md");
    for (const std::string& each : statuses) {
        INFO("status " << each);
        CHECK((each == "ok" || text.find("`" + each + "`") != std::string::npos));
    }
    const auto members = names_in("instrument/report.hpp", "\nstruct report {",
                                  std::regex("^    [a-z][^/=]* ([a-z_]+)( = [^;]*)?;"));
    CHECK(members.size() > 15);
    for (const std::string& each : members) {
        INFO("report::" << each);
        CHECK(text.find("`" + each + "`") != std::string::npos);
    }
    const auto hands =
        names_in("instrument/report.hpp", "enum class ran_by", std::regex("^    ([a-z_]+)(,| +//)"));
    CHECK(hands.size() == static_cast<std::size_t>(ccoll::ran_by::several) + 1);
    for (const std::string& each : hands) {
        INFO("ran_by::" << each);
        CHECK(text.find("`" + each + "`") != std::string::npos);
    }

    // What the page says of `code`, no other name: the first column of the table.
    std::istringstream rows(text.substr(text.find("| `ccoll::status` |")));
    std::string row;
    std::getline(rows, row);
    std::getline(rows, row);
    const std::regex name("`([a-z_]+)`");
    while (std::getline(rows, row) && row.substr(0, 1) == "|") {
        const std::string first = row.substr(0, row.find('|', 1));
        for (std::sregex_iterator i(first.begin(), first.end(), name), end; i != end; ++i) {
            INFO("the page has " << (*i)[1]);
            CHECK(std::find(statuses.begin(), statuses.end(), (*i)[1].str()) != statuses.end());
        }
    }
}

TEST_CASE("docs/choosing.md: how fast a codec must be", "[docs]")
{
    // n / (r W) + n / V < n / W  <=>  V > W r / (r - 1)
    std::string ratios = "| ratio r |", speeds = "| V / W above |";
    for (const double r : {1.25, 1.5, 2.0, 3.0, 5.0, 10.0}) {
        char text[32];
        std::snprintf(text, sizeof text, " %g |", r);
        ratios += text;
        std::snprintf(text, sizeof text, " %.2f |", r / (r - 1));
        speeds += text;
        const double link = 1, codec = r / (r - 1);
        CHECK(1 / (r * link) + 1 / (codec * 1.001) < 1 / link);
        CHECK(1 / (r * link) + 1 / (codec * 0.999) > 1 / link);
    }
    expect_line("choosing.md", ratios);
    expect_line("choosing.md", speeds);
}

}  // namespace tables_cases
