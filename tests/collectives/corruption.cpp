// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A transport damages one message, and still every rank's call ends. A flipped value byte may give a wrong
// value, because nothing here checks sums. Any other damage is an error on the ranks that it concerns. Memory
// errors are found by the sanitizers.
#include <cstring>

#include "worlds.hpp"

#include "tapped.hpp"

namespace corruption_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

struct ending {
    bool returned = false, threw = false;
};

/// Runs `call(comm)` on p ranks. `spoil` may change data message number `nth` (counted from 0) of those that
/// `victim` receives.
template <class Call>
std::vector<ending> spoiled(int p, int victim, int nth, bool control, std::function<void(passing&)> spoil,
                            Call call)
{
    return run<ending>(
        p,
        [=](threads_comm& inner, ending& mine) {
            int seen = 0;
            tap watcher;
            watcher.received = [&](passing& m) {
                if (m.rank == victim && m.control() == control && seen++ == nth) spoil(m);
            };
            try {
                call(tapped_comm(inner, watcher));
            } catch (const ccoll::error&) {
                mine.threw = true;
            }
            mine.returned = true;
        },
        promptly);
}

template <class Call>
std::size_t length_of_message(int p, int victim, int nth, bool control, Call call)
{
    const auto length = std::make_shared<std::size_t>(0);
    spoiled(p, victim, nth, control, [length](passing& m) { *length = m.bytes; }, call);
    return *length;
}

struct place {
    int victim, nth;
};

/// Flips all bits of every second byte, and the lowest bit of the others, cuts the message at every place,
/// and replaces it by noise.
template <class Call>
void spoil_everything(int p, std::initializer_list<place> places, bool control, Call call)
{
    for (const auto [victim, nth] : places) {
        const std::size_t length = length_of_message(p, victim, nth, control, call);
        REQUIRE(length > 40);
        std::size_t noticed = 0;
        const auto expect_end = [&](std::function<void(passing&)> spoil) {
            bool threw = false;
            for (const ending& each : spoiled(p, victim, nth, control, spoil, call)) {
                if (!each.returned) FAIL("a rank did not return");
                threw = threw || each.threw;
            }
            noticed += threw;
            return threw;
        };
        for (std::size_t at = 0; at < length; ++at) {
            INFO("p " << p << ", rank " << victim << ", message " << nth << (control ? " of control" : "")
                      << ", byte " << at << " of " << length);
            expect_end([=](passing& m) { m.data[at] ^= static_cast<std::byte>(at % 2 == 0 ? 0xff : 0x01); });
            CHECK((expect_end([=](passing& m) { m.bytes = at; }) || control));
        }
        for (unsigned seed = 1; seed <= 60; ++seed) {
            INFO("p " << p << ", rank " << victim << ", message " << nth << ", noise of seed " << seed);
            expect_end([=](passing& m) {
                fields::generator random(seed);
                // Of any length, but rarely much longer than messages are: noise takes longer to make than a
                // call takes.
                m.bytes = random.below(
                    (seed % 10 == 0 ? m.data.size() : std::min<std::size_t>(m.data.size(), 4096)) + 1);
                const std::size_t kept = seed % 2 == 0 ? 48 + 48 : 0;  // a correct stamp and frame header
                for (std::size_t i = kept; i < m.bytes; ++i)
                    m.data[i] = static_cast<std::byte>(random.bits());
            });
        }
        CHECK(noticed > length);
    }
}

void ring_sum(const tapped_comm& comm)
{
    std::vector<float> v = fields::smooth<float>(60, static_cast<unsigned>(comm.rank()));
    ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(v, comm);
}

}  // namespace

TEST_CASE("Every byte of a ring's messages may be wrong", "[corrupt]")
{
    // A block that is reduced, and one that is passed on.
    spoil_everything(3, {{1, 0}, {0, 3}}, false, ring_sum);
}

TEST_CASE("A message with the number of no call is an error, although all else of it is right", "[corrupt]")
{
    // Higher, and lower by less than a period of tags.
    for (const std::uint32_t off : {1u, 7u, 8u * 1791u, ~0u, ~0u - 7u}) {
        INFO("number off by " << off);
        const std::vector<ending> endings = spoiled(
            3, 1, 0, false,
            [=](passing& m) {
                ccoll::call_stamp stamp;
                std::memcpy(&stamp, m.data.data(), sizeof stamp);
                stamp.call += off;
                std::memcpy(m.data.data(), &stamp, sizeof stamp);
            },
            ring_sum);
        CHECK(endings[1].threw);
        for (const ending& each : endings) CHECK(each.returned);
    }
}

TEST_CASE("Every byte of a recursive doubling's messages may be wrong", "[corrupt]")
{
    spoil_everything(3, {{1, 0}, {2, 0}}, false, [](const tapped_comm& comm) {
        std::vector<double> v = fields::smooth<double>(20);
        ccoll::allreduce<Algo::RecursiveDoubling>(v, comm);
    });
}

TEST_CASE("Every byte of a message with many blocks may be wrong", "[corrupt]")
{
    spoil_everything(4, {{2, 0}}, false, [](const tapped_comm& comm) {
        const auto all = fields::smooth<float>(80);
        std::vector<float> mine(20);
        ccoll::scatter<Codec::SZx, ErrorBound<1e-3>>(all, mine, 0, comm);
    });
}

TEST_CASE("Every byte of a comparison of arguments may be wrong", "[corrupt][check]")
{
    spoil_everything(3, {{1, 0}, {2, 1}, {0, 2}}, true, [](const tapped_comm& comm) {
        std::vector<float> v(8, 1);
        ccoll::allreduce<Algo::Ring, Check::Collective>(v, comm);
    });
}

TEST_CASE("A wrong message in the middle of many slices ends the call on all ranks", "[corrupt][slices]")
{
    const auto call = [](const tapped_comm& comm) {
        std::vector<float> v = fields::smooth<float>(800000, static_cast<unsigned>(comm.rank()));
        ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(v, comm);
    };
    for (const int nth : {0, 3, 7, 11}) {
        INFO("message " << nth);
        const auto cut = spoiled(3, 1, nth, false, [](passing& m) { m.bytes /= 2; }, call);
        CHECK((cut[0].threw || cut[1].threw || cut[2].threw));
        const auto lost = spoiled(
            3, 2, nth, false,
            [](passing& m) {
                m.result = status::transport_failed;
                m.bytes = 0;
            },
            call);
        CHECK((lost[0].threw || lost[1].threw || lost[2].threw));
    }
}

}  // namespace corruption_cases
