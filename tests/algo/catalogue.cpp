// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Properties that every schedule of the library must have.
#include "catalogue.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

namespace catalogue_cases {

using namespace ccoll;
using catalogue::entry;
using catalogue::first_fault;

namespace {

/// Runs a schedule with blocking semantics in a random legal order: each rank posts the receive and the send
/// of its step, and continues when both are matched.
/// @return true if all ranks end
bool completes_in_random_order(const schedule& s, int p, int root, std::mt19937& random)
{
    std::vector<int> step_of(static_cast<std::size_t>(p), 0);
    const auto at = [&](int rank) -> int& { return step_of[static_cast<std::size_t>(rank)]; };
    const int steps = s.steps(p);
    std::vector<int> order(static_cast<std::size_t>(p));
    for (int i = 0; i < p; ++i) order[static_cast<std::size_t>(i)] = i;
    for (bool moved = true; moved;) {
        moved = false;
        std::shuffle(order.begin(), order.end(), random);
        for (int me : order) {
            if (at(me) == steps) continue;
            const step now = s.step_at(me, p, root, at(me));
            // Rendezvous: a message passes only when its other end has posted the same step.
            const bool received = now.recv_from == nobody || at(now.recv_from) >= at(me);
            const bool sent = now.send_to == nobody || at(now.send_to) >= at(me);
            if (received && sent) {
                ++at(me);
                moved = true;
            }
        }
    }
    return std::all_of(step_of.begin(), step_of.end(), [&](int k) { return k == steps; });
}

/// How many blocks a rank sends to other ranks.
int sent_by(const schedule& s, int p, int root, int me)
{
    int sent = 0;
    for (int k = 0; k < s.steps(p); ++k)
        if (const step now = s.step_at(me, p, root, k); now.send_to != nobody) sent += now.send.count;
    return sent;
}

/// Models a lossy codec on one value for placements that forward encoded bytes: encoding changes the value,
/// and the sender adopts the changed value at the end. A sum does not depend on the order of its two terms,
/// but on everything else.
struct bits {
    struct value {
        std::uint64_t elements = 0, frame = 0;
        bool encoded = false;
    };
    std::array<value, 64> held{};

    static std::uint64_t mixed(std::uint64_t x)
    {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        return (x ^ (x >> 27)) * 0x94d049bb133111ebu + 1;
    }
    value& at(int me) { return held[static_cast<std::size_t>(me)]; }
    std::uint64_t send(int me)
    {
        value& mine = at(me);
        if (!mine.encoded) mine.frame = mixed(mine.elements);
        mine.encoded = true;
        return mine.frame;
    }
    void receive(int me, std::uint64_t theirs, on_receive action)
    {
        value& mine = at(me);
        if (action == on_receive::replace) mine.frame = theirs;
        else mine.elements = mixed(theirs) + mixed(result(me));
        mine.encoded = action == on_receive::replace;
    }
    std::uint64_t result(int me) { return at(me).encoded ? at(me).frame : at(me).elements; }
};

bool all_end_with_the_same_bits(const schedule& s, int p, int root)
{
    for (int block = 0; block < s.blocks(p); ++block) {
        bits b;
        for (int me = 0; me < p; ++me) b.at(me).elements = static_cast<std::uint64_t>(me) + 1;
        walk_block(s, p, root, block, b);
        for (int me = 1; me < p; ++me)
            if (b.result(me) != b.result(0)) return false;
    }
    return true;
}

/// How often one value has been encoded with a placement that `forwards` encoded bytes or not, and `adds`
/// them or not. With `sums` it counts every encoding that enters the result, otherwise those on the longest
/// path. Written from the table in docs/design/placement.md.
struct encodings {
    bool forwards, adds, sums;
    struct value {
        int elements = 0, frame = 0;
        bool encoded = false;
    };
    std::vector<value> held;

    value& at(int me) { return held[static_cast<std::size_t>(me)]; }
    int joined(int a, int b) const { return sums ? a + b : std::max(a, b); }
    int encode(value& mine)
    {
        if (!mine.encoded) mine.frame = mine.elements + 1;
        mine.encoded = true;
        return mine.frame;
    }
    int send(int me)
    {
        const int frame = encode(at(me));
        at(me).encoded = forwards;
        return frame;
    }
    void receive(int me, int theirs, on_receive action)
    {
        value& mine = at(me);
        if (action == on_receive::replace) {
            (forwards ? mine.frame : mine.elements) = theirs;
            mine.encoded = forwards;
        } else if (adds) mine.frame = joined(encode(mine), theirs);
        else {
            mine.elements = joined(result(me), theirs);
            mine.encoded = false;
        }
    }
    int result(int me) { return at(me).encoded ? at(me).frame : at(me).elements; }
};

}  // namespace

TEST_CASE(
    "every schedule delivers every contribution exactly once and to the right place, for every p in 1..64",
    "[algo]")
{
    for (const entry& e : catalogue::all())
        CHECK(first_fault(e, 64, [&](int p, int root) { return e.delivers(e.path, p, root); }) == "");
}

TEST_CASE("schedules take the steps that their sources say", "[algo]")
{
    for (const entry& e : catalogue::all())
        CHECK(first_fault(e, 300, [&](int p, int) { return e.path.steps(p) == e.steps(p); }) == "");
}

TEST_CASE("schedules send what their sources say: the busiest rank, and all ranks together", "[algo]")
{
    for (const entry& e : catalogue::all()) {
        CHECK(first_fault(e, 64, [&](int p, int root) {
                  int busiest = 0;
                  for (int me = 0; me < p; ++me) busiest = std::max(busiest, sent_by(e.path, p, root, me));
                  return busiest == (p == 1 ? 0 : e.busiest(p));
              }) == "");
        CHECK(first_fault(e, 64, [&](int p, int root) {
                  int total = 0;
                  for (int me = 0; me < p; ++me) total += sent_by(e.path, p, root, me);
                  return total == e.total(p);
              }) == "");
    }
}

TEST_CASE("the widest message of a schedule is as wide as it says", "[algo]")
{
    for (const entry& e : catalogue::all())
        CHECK(first_fault(e, 64, [&](int p, int root) {
                  int widest = 1;  // even if nothing is sent
                  for (int me = 0; me < p; ++me)
                      for (int k = 0; k < e.path.steps(p); ++k)
                          if (const step now = e.path.step_at(me, p, root, k); now.send_to != nobody)
                              widest = std::max(widest, now.send.count);
                  return e.path.widest(p) == widest;
              }) == "");
}

TEST_CASE(
    "all ranks end with the same bits where MPI says so, although they encode, because a rank adopts what it "
    "sent to others",
    "[algo]")
{
    int seen = 0;
    for (const entry& e : catalogue::all()) {
        if (!e.same_bits) continue;
        ++seen;
        CHECK(first_fault(
                  e, 64, [&](int p, int root) { return all_end_with_the_same_bits(e.path, p, root); }) == "");
    }
    CHECK(seen == 10);
}

TEST_CASE(
    "no schedule deadlocks under any of many random matching orders, even when every send is a rendezvous",
    "[algo]")
{
    std::mt19937 random(20261121);
    for (const entry& e : catalogue::all())
        for (int p : {1, 2, 3, 4, 5, 7, 8, 13, 31, 64})
            for (int round = 0; round < 20; ++round)
                CHECK(completes_in_random_order(e.path, p, p / 2, random));
}

TEST_CASE("a schedule that says it rotates does", "[algo]")
{
    int seen = 0;
    for (const entry& e : catalogue::all()) {
        if (!e.rotates) continue;
        ++seen;
        CHECK(first_fault(e, 20, [&](int p, int root) {
                  const auto relative = [&](int other, int me) {
                      return other == nobody ? nobody : (other - me + p) % p;
                  };
                  for (int k = 0; k < e.path.steps(p); ++k)
                      for (int me = 0; me < p; ++me)
                          for (int b = 0; b < p; ++b) {
                              const int there_me = (me - b + p) % p;
                              const step here = e.path.step_at(me, p, root, k),
                                         there = e.path.step_at(there_me, p, root, k);
                              if (here.send.contains(b, p) != there.send.contains(0, p) ||
                                  here.recv.contains(b, p) != there.recv.contains(0, p) ||
                                  relative(here.send_to, me) != relative(there.send_to, there_me) ||
                                  relative(here.recv_from, me) != relative(there.recv_from, there_me) ||
                                  here.action != there.action)
                                  return false;
                          }
                  return e.path.blocks(p) == p;
              }) == "");
    }
    CHECK(seen == 4);
}

TEST_CASE("no step mentions a block twice", "[algo]")
{
    for (const entry& e : catalogue::all())
        CHECK(first_fault(e, 33, [&](int p, int root) {
                  const int blocks = e.path.blocks(p);
                  for (int k = 0; k < e.path.steps(p); ++k)
                      for (int me = 0; me < p; ++me) {
                          const step now = e.path.step_at(me, p, root, k);
                          for (const block_set& set : {now.send, now.recv}) {
                              int contained = 0;
                              for (int b = 0; b < blocks; ++b) contained += set.contains(b, blocks) ? 1 : 0;
                              if (contained != set.count) return false;
                          }
                      }
                  return true;
              }) == "");
}

TEST_CASE("no block is encoded more often than the one that the schedule calls the worst, with any placement",
          "[algo]")
{
    for (const entry& e : catalogue::all())
        CHECK(first_fault(e, 36, [&](int p, int root) {
                  const int blocks = e.path.blocks(p), claimed = e.path.worst_block(p, root);
                  if (claimed < 0 || claimed >= blocks) return false;
                  for (const bool forwards : {false, true})
                      for (const bool adds : {false, true})
                          for (const bool sums : {false, true}) {
                              if (adds && !forwards) continue;
                              int most = 0, there = 0;
                              for (int block = 0; block < blocks; ++block) {
                                  encodings all{forwards, adds, sums,
                                                std::vector<encodings::value>(static_cast<std::size_t>(p))};
                                  walk_block(e.path, p, root, block, all);
                                  for (int me = 0; me < p; ++me)
                                      if (e.after(me, root, blocks).contains(block, blocks)) {
                                          most = std::max(most, all.result(me));
                                          if (block == claimed) there = std::max(there, all.result(me));
                                      }
                              }
                              if (most != there) return false;
                          }
                  return true;
              }) == "");
}

TEST_CASE("the worst block of a schedule that does not name one is unknown", "[algo]")
{
    struct silent {
        static constexpr int blocks(int p) { return p; }
        static constexpr int steps(int) { return 0; }
        static constexpr step step_at(int, int, int, int) { return {}; }
    };
    CHECK(schedule_view<silent>.worst_block(4, 0) == unknown_block);
    CHECK(schedule_view<silent>.worst_block(1, 0) == 0);
    CHECK(schedule_view<ring_allgather>.worst_block(4, 0) == 0);
    CHECK(schedule_view<chain_bcast>.worst_block(4, 2) == 0);
}

}  // namespace catalogue_cases
