// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The simulated network of benchmarks/torus.hpp: routes, what an empty network takes, and that a full one
// goes on.
#include "torus.hpp"

#include <algorithm>
#include <cstdlib>

#include "support/catch.hpp"

namespace {

/// The fewest links between two nodes.
int distance(int from, int to)
{
    int steps = 0;
    for (int d = 0; d < torus::dimensions; ++d) {
        const int apart = std::abs(torus::coordinate(from, d) - torus::coordinate(to, d));
        steps += std::min(apart, torus::edge - apart);
    }
    return steps;
}

}  // namespace

TEST_CASE("routes on the torus are as short as possible", "[examples][torus]")
{
    for (int from = 0; from < torus::nodes; ++from)
        for (int to = 0; to < torus::nodes; ++to)
            for (const bool tie : {false, true}) {
                int at = from, steps = 0;
                for (torus::hop h = torus::next_hop(at, to, tie); h.dimension < torus::dimensions;
                     h = torus::next_hop(at, to, tie)) {
                    at = torus::neighbour(at, h.dimension, h.up);
                    REQUIRE(++steps <= 6);
                }
                REQUIRE(at == to);
                REQUIRE(steps == distance(from, to));
            }
}

TEST_CASE("transpose and bit reversal pair the nodes of the torus", "[examples][torus]")
{
    for (const torus::pattern p : {torus::pattern::transpose, torus::pattern::bit_reversal})
        for (int n = 0; n < torus::nodes; ++n)
            CHECK(torus::destination(p, torus::destination(p, n, 0), 0) == n);
    for (unsigned any = 0; any < 1000; ++any) CHECK(torus::destination(torus::pattern::uniform, 5, any) != 5);
}

TEST_CASE("in an empty torus a packet takes four cycles for each router, and one for each further flit",
          "[examples][torus]")
{
    double steps = 0;
    for (int to = 1; to < torus::nodes; ++to) steps += distance(0, to) / 63.0;
    for (const int length : {1, 11, 32}) {
        torus::network net(torus::pattern::uniform, length, 32, 40);
        const torus::outcome r = net.run(0.005, 1000, 40000);
        CHECK(std::abs(r.latency - (4 * (steps + 1) + length - 1 + 40)) < 1.5);
        CHECK(std::abs(r.accepted - 0.005) < 0.0005);
    }
}

TEST_CASE("a torus that is offered more than it can carry goes on carrying, and more with shorter packets",
          "[examples][torus]")
{
    for (const torus::pattern p : {torus::pattern::uniform, torus::pattern::transpose}) {
        const double early = torus::network(p, 32, 32, 0).run(3, 1000, 2000).accepted,
                     late = torus::network(p, 32, 32, 0).run(3, 8000, 2000).accepted,
                     shorter = torus::network(p, 16, 32, 40).run(3, 1000, 2000).accepted;
        CHECK(early > 0.2);
        CHECK(late > 0.8 * early);  // no deadlock
        CHECK(shorter > 1.5 * early);
        CHECK(shorter < 2.5 * early);
    }
}
