// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run/executor.hpp and run/blocks.hpp alone: one schedule on p ranks of one thread, through messages
// that are delayed, overtaken, duplicated, lost and replaced.
#include <ccoll/allreduce.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/run/executor.hpp>

#include "support/catch.hpp"
#include "support/fields.hpp"
#include "support/oracle.hpp"
#include "support/mailbox.hpp"

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

namespace executor_cases {

using namespace ccoll;
using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;
using engine = detail::executor<float, mail::box, no_clock>;

/// What a running_call would set.
template <class Plan>
detail::task<float> task_for(const floats& send, floats& recv, int p)
{
    using collective_type = collective::allreduce;
    detail::task<float> t = detail::decision_of<collective_type, Plan, float>.what;
    t.path = detail::decision_of<collective_type, Plan, float>.way.path;
    t.data.send = send.data();
    t.data.recv = recv.data();
    t.data.count = send.size();
    t.eb = Plan::codec::lossy ? 1e-3 : 0;
    t.stamp.call = 3000;
    t.stamp.arguments.count = send.size();
    t.stamp.arguments.bound = t.eb;
    t.stamp.arguments.path = detail::decision_of<collective_type, Plan, float>.way.hash;
    t.longest = t.cut(t.path.blocks(p), 0).count;
    t.slice_elements = detail::slice_for(t.longest, t.codec.chunk_elements, t.path.widest(p));
    t.room_bytes = detail::room_for(t, t.path.widest(p));
    return t;
}

/// An allreduce of p ranks.
template <class Plan>
struct world {
    mail::network net;
    std::vector<std::unique_ptr<mail::box>> links;
    std::vector<floats> in, out;
    std::vector<std::unique_ptr<detail::task<float>>> tasks;
    std::vector<std::unique_ptr<detail::control<mail::box>>> talks;
    std::vector<std::unique_ptr<engine>> engines;

    world(int p, std::size_t n, unsigned seed) : net(p, seed)
    {
        for (int r = 0; r < p; ++r) in.push_back(fields::smooth<float>(n, static_cast<unsigned>(r) + 1));
        out.assign(static_cast<std::size_t>(p), floats(n));
        for (std::size_t r = 0; r < in.size(); ++r)
            tasks.push_back(std::make_unique<detail::task<float>>(task_for<Plan>(in[r], out[r], p)));
    }
    void start(bool agreed = true)
    {
        for (std::size_t r = 0; r < in.size(); ++r) {
            links.push_back(std::make_unique<mail::box>(net, static_cast<int>(r)));
            talks.push_back(std::make_unique<detail::control<mail::box>>(*links[r], tasks[r]->stamp));
            engines.push_back(std::make_unique<engine>(*tasks[r], *links[r], *talks[r], agreed));
        }
    }
    engine& at(int r) { return *engines[static_cast<std::size_t>(r)]; }
    bool run(int most = 200000)
    {
        return mail::all_end(net, [&](int r) { return at(r).progress(); }, most);
    }
    bool all_hold(double tolerance) const
    {
        for (const floats& each : out)
            if (oracle::judge_sums<float>(in, in.size(), each, 0, tolerance, 1, 0, nullptr).wrong > 0)
                return false;
        return true;
    }
    bool same_bits() const
    {
        for (const floats& each : out)
            if (!each.empty() && std::memcmp(each.data(), out[0].data(), each.size() * sizeof(float)) != 0)
                return false;
        return true;
    }
};

using SZp = Plan<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>;
using Decoded = Plan<Algo::Ring, Codec::SZx, ErrorBound<1e-3>>;
using Exact = Plan<Algo::RecursiveDoubling>;

template <class P>
void every_order(double bound)
{
    for (const int p : {1, 2, 3, 5, 8})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{120000}})
            for (unsigned seed = 1; seed <= 3; ++seed) {
                INFO("p " << p << ", n " << n << ", seed " << seed);
                world<P> w(p, n, seed);
                w.start();
                REQUIRE(w.run());
                CHECK(w.all_hold(p * bound + 1e-4));
                CHECK(w.same_bits());
                CHECK(w.net.unread() == 0);
                for (int r = 0; r < p; ++r) CHECK(w.at(r).trouble().ok());
            }
}

}  // namespace

TEST_CASE("Executor: an allreduce ends with the sum and the same bits in every order of messages",
          "[engine][executor]")
{
    every_order<SZp>(1e-3);
    every_order<Decoded>(1e-3);
    every_order<Exact>(0);
}

TEST_CASE("Executor: messages of an earlier call do not count", "[engine][executor]")
{
    world<SZp> w(3, 5000, 1);
    call_stamp old = w.tasks[0]->stamp;
    old.call -= detail::call_tags::period;
    for (int r = 0; r < 3; ++r)
        w.net.put((r + 2) % 3, r, detail::call_tags(3000).lane(0), std::as_bytes(std::span(&old, 1)));
    w.start();
    REQUIRE(w.run());
    CHECK(w.all_hold(3.1e-3));
}

TEST_CASE("Executor: a message of an unknown call is trouble for all, and all keep to the schedule",
          "[engine][executor]")
{
    world<SZp> w(4, 5000, 2);
    int seen = 0;
    w.net.on_the_way = [&](int from, int, int, const_byte_span data) {
        mail::fate f;
        if (from == 1 && seen++ == 0) {
            f.instead.assign(data.begin(), data.end());
            f.instead[8] ^= std::byte{1};  // the number of the call
        }
        return f;
    };
    w.start();
    REQUIRE(w.run());
    CHECK(w.at(2).trouble().code == status::corrupt);
    CHECK(w.at(2).trouble().peer == 1);
    CHECK(w.net.unread() == 0);
}

TEST_CASE("Executor: poison reaches all ranks", "[engine][executor]")
{
    world<SZp> w(4, 5000, 3);
    w.start();
    w.at(1).poison({status::overlap, 1, 1});
    REQUIRE(w.run());
    for (int r = 0; r < 4; ++r) CHECK(w.at(r).trouble().code == status::overlap);
}

TEST_CASE("Executor: if one rank has another schedule, all ranks leave", "[engine][executor]")
{
    world<SZp> w(4, 5000, 4);
    w.tasks[2]->stamp.arguments.path ^= 1;
    w.start(false);
    REQUIRE(w.run());
    for (int r = 0; r < 4; ++r) CHECK(w.at(r).trouble().code == status::plan_differs);
}

TEST_CASE("Executor: if a message is lost, its sender is named as awaited", "[engine][executor]")
{
    world<SZp> w(4, 5000, 5);
    w.net.on_the_way = [](int from, int to, int tag, const_byte_span) {
        return mail::fate{
            from == 1 && to == 2 && tag % detail::call_tags::per_call != detail::call_tags::lanes ? 0 : 1};
    };
    w.start();
    CHECK_FALSE(w.run(20000));
    CHECK(w.at(2).awaited() == 1);
}

TEST_CASE("Executor: a rank asks its peer once after a long wait, however many turns that takes",
          "[engine][executor]")
{
    world<Exact> w(2, 1000, 6);
    int questions = 0;
    w.net.on_the_way = [&](int, int, int tag, const_byte_span) {
        questions += tag % detail::call_tags::per_call == detail::call_tags::lanes;
        return mail::fate{};
    };
    w.start(false);
    for (int turns = 0; turns < 1000; ++turns)
        CHECK_FALSE(w.at(0).progress());  // as where a message comes in so many pieces
    CHECK(questions == 0);
    int turns = 0;
    for (; questions == 0 && turns < 1000; ++turns) {
        CHECK_FALSE(w.at(0).progress());
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    CHECK(turns > 8);  // a turn that was long because this process did not run is not all of the wait
    for (int more = 0; more < 100; ++more) CHECK_FALSE(w.at(0).progress());
    CHECK(questions == 1);
    REQUIRE(w.run());
    for (int r = 0; r < 2; ++r) CHECK(w.at(r).trouble().ok());
}

TEST_CASE("Executor: duplicated, cut and damaged messages give the sum, or an error on some rank",
          "[engine][executor]")
{
    for (unsigned seed = 1; seed <= 80; ++seed) {
        INFO("seed " << seed);
        world<SZp> w(3, 3000, seed);
        unsigned count = 0;
        w.net.on_the_way = [&](int, int, int, const_byte_span data) {
            mail::fate f;
            if (count++ != seed % 12) return f;
            if (seed % 3 == 0) f.copies = 2;
            else if (seed % 3 == 1)
                f.instead.assign(data.begin(),
                                 data.begin() + static_cast<std::ptrdiff_t>(seed * 7 % data.size()) + 1);
            else {
                f.instead.assign(data.begin(), data.end());
                f.instead[seed * 5 % 96] ^= std::byte{0x10};  // of the stamp or the frame's header
            }
            return f;
        };
        w.start();
        REQUIRE(w.run());
        bool trouble = false;
        for (int r = 0; r < 3; ++r) trouble = trouble || !w.at(r).trouble().ok();
        CHECK((trouble || w.all_hold(3.1e-3)));
    }
}

TEST_CASE("Blocks: the blocks of a vector begin at multiples of 32 elements and cover it", "[engine][blocks]")
{
    for (const std::size_t n : {0u, 1u, 31u, 32u, 33u, 1000u, 4097u, 100003u})
        for (int p = 1; p <= 64; ++p) {
            std::size_t next = 0, longest = 0;
            for (int b = 0; b < p; ++b) {
                const detail::part each = detail::aligned_part(n, p, b);
                if (each.offset != next || (each.count > 0 && each.offset % detail::part_alignment != 0))
                    FAIL("n " << n << ", p " << p << ", b " << b);
                next += each.count;
                longest = std::max(longest, each.count);
            }
            CHECK(next == n);
            CHECK(longest == detail::aligned_part(n, p, 0).count);
            CHECK(longest <= n / static_cast<std::size_t>(p) + 2 * detail::part_alignment);
        }
}

TEST_CASE("Blocks: elements are read from the user's buffer, and written to the result or to borrowed memory",
          "[engine][blocks]")
{
    workspace memory;
    const floats in(1000, 1.0f);
    floats out(1000);
    const detail::task<float> t = task_for<SZp>(in, out, 4);
    {
        detail::block_store<float> store(t, 1, 4, memory, memory, memory);
        CHECK(store.slices() == 1);
        const std::span<detail::block_store<float>::block> blocks = store.open(0, 0);
        REQUIRE(blocks.size() == 4);
        for (int b = 0; b < 4; ++b) {
            detail::block_store<float>::block& each = blocks[static_cast<std::size_t>(b)];
            const detail::part at = detail::aligned_part(1000, 4, b);
            CHECK(each.elements == in.data() + at.offset);
            CHECK(each.out == out.data() + at.offset);
            CHECK(each.count == at.count);
            CHECK(store.writable(each).data() == each.out);
            CHECK(each.spare == nullptr);
        }
        detail::block_store<float>::block passing = blocks[0];
        passing.out = nullptr;
        CHECK(store.writable(passing).data() != in.data());
        CHECK(passing.spare != nullptr);
        store.release(passing);
        CHECK(passing.spare == nullptr);
    }
    const std::size_t all = memory.buffers();
    memory.trim();
    CHECK(all > 0);
    CHECK(memory.buffers() == 0);
}

}  // namespace executor_cases
