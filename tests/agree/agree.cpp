// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// agree/agree.hpp alone: ranks compare arguments through messages that are delayed, overtaken, duplicated
// and lost.
#include <ccoll/agree/agree.hpp>

#include "support/catch.hpp"
#include "support/mailbox.hpp"

#include <memory>

namespace agree_cases {

using namespace ccoll;

namespace {

/// One agreement of p ranks.
struct meeting {
    mail::network net;
    std::vector<std::unique_ptr<mail::box>> links;
    std::vector<call_stamp> stamps;
    std::vector<std::unique_ptr<detail::control<mail::box>>> talks;

    meeting(int p, unsigned seed) : net(p, seed), stamps(static_cast<std::size_t>(p))
    {
        for (int r = 0; r < p; ++r) {
            links.push_back(std::make_unique<mail::box>(net, r));
            call_stamp& s = stamps[static_cast<std::size_t>(r)];
            s.call = 7;
            s.arguments = {100, 1e-3, 1, 2, 0, 0};
            talks.push_back(std::make_unique<detail::control<mail::box>>(*links.back(), s));
        }
    }
    detail::control<mail::box>& at(int r) { return *talks[static_cast<std::size_t>(r)]; }
    void begin(int r, const shared_facts& facts = {}, const verdict& trouble = {}, int closing = 0)
    {
        control_message mine;
        mine.facts = facts;
        mine.trouble = trouble;
        mine.closing = closing;
        at(r).begin(mine);
    }
    bool run(int most = 200000)
    {
        return mail::all_end(net, [&](int r) { return at(r).progress(); }, most);
    }
};

constexpr int rank_counts[] = {1, 2, 3, 4, 5, 7, 8, 13};

}  // namespace

TEST_CASE("Agreement: all ranks end with the same facts, whatever the order of messages", "[engine][agree]")
{
    for (const int p : rank_counts)
        for (unsigned seed = 1; seed <= 20; ++seed) {
            INFO("p " << p << ", seed " << seed);
            meeting m(p, seed);
            for (int r = 0; r < p; ++r) {
                shared_facts facts;
                facts.lowest = -r;
                facts.highest = 2 * r;
                facts.largest = r == p / 2 ? 50 : 1;
                facts.longest_part = static_cast<std::uint64_t>(10 + r % 4);
                m.begin(r, facts);
            }
            REQUIRE(m.run());
            for (int r = 0; r < p; ++r) {
                const control_message& all = m.at(r).merged();
                CHECK(all.trouble.ok());
                CHECK(all.facts.lowest == -(p - 1));
                CHECK(all.facts.highest == 2 * (p - 1));
                CHECK(all.facts.largest == 50);
                CHECK(all.facts.longest_part == static_cast<std::uint64_t>(10 + std::min(p - 1, 3)));
            }
            CHECK(m.net.unread() == 0);
        }
}

TEST_CASE("Agreement: what comes for a later start of a persistent call waits for it", "[engine][agree]")
{
    mail::network net(2, 1);
    mail::box ahead(net, 0), behind(net, 1);
    const auto stamp_of = [](std::uint32_t start) {
        call_stamp s;
        s.call = detail::call_numbers::of_start(3, start);
        s.arguments = {100, 1e-3, 1, 2, 0, 0};
        return s;
    };
    const call_stamp now = stamp_of(4), later = stamp_of(6);  // these two share their tags
    REQUIRE(detail::call_tags(now.call).control() == detail::call_tags(later.call).control());
    detail::control<mail::box> leaves(ahead, later);
    leaves.give_up({status::abandoned, 0, 0});
    {
        detail::control<mail::box> talk(behind, now);
        for (int i = 0; i < 100; ++i) CHECK(talk.listen(true).ok());
    }
    {
        const call_stamp between = stamp_of(5);
        detail::control<mail::box> talk(behind, between);
        CHECK(talk.listen(true).ok());
    }
    detail::control<mail::box> talk(behind, later);
    CHECK(talk.listen(true).code == status::abandoned);
    CHECK(net.unread() == 0);
}

TEST_CASE("Agreement: there is no range if no rank reports values", "[engine][agree]")
{
    meeting m(3, 1);
    for (int r = 0; r < 3; ++r) m.begin(r);
    REQUIRE(m.run());
    CHECK_FALSE(m.at(0).merged().facts.has_range());
}

TEST_CASE("Agreement: one rank with another count is named on all ranks, with both counts", "[engine][agree]")
{
    for (const int p : rank_counts) {
        if (p == 1) continue;
        for (int odd = 0; odd < p; ++odd) {
            INFO("p " << p << ", odd " << odd);
            meeting m(p, static_cast<unsigned>(odd + 1));
            m.stamps[static_cast<std::size_t>(odd)].arguments.count = 99;
            for (int r = 0; r < p; ++r) m.begin(r);
            REQUIRE(m.run());
            for (int r = 0; r < p; ++r) {
                const verdict v = m.at(r).merged().trouble;
                CHECK(v.code == status::count_differs);
                CHECK((v.rank == odd || v.peer == odd));
                CHECK(v.expected + v.found == 199);
            }
        }
    }
}

TEST_CASE("Agreement: all ranks end with the trouble of the lowest rank", "[engine][agree]")
{
    meeting m(5, 3);
    for (int r = 0; r < 5; ++r) m.begin(r, {}, r >= 2 ? verdict{status::overlap, r, r} : verdict{});
    REQUIRE(m.run());
    for (int r = 0; r < 5; ++r) {
        CHECK(m.at(r).merged().trouble.code == status::overlap);
        CHECK(m.at(r).merged().trouble.rank == 2);
    }
}

TEST_CASE("Agreement: a second one may follow while messages of the first are on their way",
          "[engine][agree]")
{
    for (unsigned seed = 1; seed <= 20; ++seed) {
        meeting m(5, seed);
        std::vector<int> round(5, 0);
        for (int r = 0; r < 5; ++r) m.begin(r);
        REQUIRE(mail::all_end(m.net, [&](int r) {
            if (!m.at(r).progress()) return false;
            if (round[static_cast<std::size_t>(r)]++ == 1) return true;
            m.begin(r, {}, r == 4 ? verdict{status::corrupt, 4, 0} : verdict{}, 1);
            return false;
        }));
        for (int r = 0; r < 5; ++r) CHECK(m.at(r).merged().trouble.code == status::corrupt);
    }
}

TEST_CASE("Agreement: all ranks hear of one that gives up, even those that wait", "[engine][agree]")
{
    for (const int p : {2, 3, 5, 8})
        for (int quitter = 0; quitter < p; ++quitter) {
            INFO("p " << p << ", quitter " << quitter);
            meeting m(p, static_cast<unsigned>(quitter + 1));
            m.at(quitter).give_up({status::abandoned, quitter, quitter});
            for (int r = 0; r < p; ++r)
                if (r != quitter) m.begin(r);
            REQUIRE(mail::all_end(m.net, [&](int r) { return r == quitter || m.at(r).progress(); }));
            for (int r = 0; r < p; ++r)
                if (r != quitter) CHECK(m.at(r).merged().trouble.code == status::abandoned);
        }
}

TEST_CASE("Agreement: if a message is lost, its sender is named as awaited, and no rank ends with success",
          "[engine][agree]")
{
    meeting m(4, 5);
    m.net.on_the_way = [](int from, int to, int, const_byte_span) {
        return mail::fate{from == 1 && to == 2 ? 0 : 1};
    };
    for (int r = 0; r < 4; ++r) m.begin(r);
    CHECK_FALSE(m.run(20000));
    CHECK_FALSE(m.at(2).progress());
    CHECK(m.at(2).awaited() == 1);
}

TEST_CASE("Agreement: duplicated and damaged messages give the same facts or an error, and no other result",
          "[engine][agree]")
{
    for (unsigned seed = 1; seed <= 60; ++seed) {
        INFO("seed " << seed);
        meeting m(4, seed);
        unsigned count = 0;
        m.net.on_the_way = [&](int, int, int, const_byte_span data) {
            mail::fate f;
            if (count++ == seed % 8) {
                if (seed % 2 == 0) f.copies = 2;
                else {
                    f.instead.assign(data.begin(), data.end());
                    f.instead[seed % 16] ^= std::byte{0x40};  // of the stamp
                }
            }
            return f;
        };
        for (int r = 0; r < 4; ++r) {
            shared_facts facts;
            facts.largest = r;
            m.begin(r, facts);
        }
        REQUIRE(m.run());
        for (int r = 0; r < 4; ++r) {
            const control_message& all = m.at(r).merged();
            if (all.trouble.ok()) CHECK(all.facts.largest == 3);
        }
    }
}

}  // namespace agree_cases
