// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// Calls over links that flip bits, lose, double, reorder, delay and cut messages: with Fault:: every result
// has the bits of a run without faults; without Fault:: results are wrong; and what is beyond repair is an
// error in time.
#include "collectives/worlds.hpp"

#include <ccoll/transport/faulty.hpp>

using namespace ccoll;
using namespace ccoll::policies;
using namespace worlds;

namespace {

using bad_link = faulty<threads_comm>;
using floats = std::vector<float>;

fault_rates everything(double bit_errors, double each, unsigned seed)
{
    fault_rates r;
    r.bit_errors = bit_errors;
    r.bursts = r.drops = r.doubles = r.reorders = r.delays = r.truncations = each;
    r.delay_s = 0.0005;
    r.seed = seed;
    return r;
}

struct tally {
    std::string wrong;
    std::uint64_t faults = 0, detected = 0, corrected = 0, resent = 0;

    void add(const report& r)
    {
        detected += r.faults.detected;
        corrected += r.faults.corrected;
        resent += r.faults.resent;
    }
};

/// One of each kind of call, with `P...` beside what the call says itself.
/// @return the results, one behind another
template <class... P, class Comm>
floats one_of_each(const Comm& comm, std::size_t n, tally& all)
{
    const int p = comm.rank() >= 0 ? comm.size() : 0, me = comm.rank();
    const auto ranks = static_cast<std::size_t>(p);
    using lossy = Plan<Codec::SZp, ErrorBound<1e-3>>;
    const floats in = fields::smooth<float>(n * ranks, static_cast<unsigned>(me) + 1);
    floats results;
    const auto keep = [&](const floats& part, const report& r) {
        results.insert(results.end(), part.begin(), part.end());
        all.add(r);
    };
    floats whole(in.size()), own(n), copy = in;
    keep(whole, allreduce<lossy, Algo::Ring, P...>(in, whole, comm));
    keep(whole, allreduce<Algo::RecursiveDoubling, P...>(in, whole, comm));
    keep(whole, allreduce<Algo::Rabenseifner, Codec::SZx, ErrorBound<1e-3>, Placement::PerHop, P...>(
                    in, whole, comm));
    keep(own, ccoll::reduce_scatter<lossy, Algo::Ring, Placement::DecodeReduceEncode, P...>(in, own, comm));
    keep(whole, ccoll::allgather<lossy, Algo::Ring, Check::Collective, P...>(
                    std::span<const float>(in).first(n), whole, comm));
    keep(whole, ccoll::alltoall<Codec::Lossless, Algo::Bruck, P...>(in, whole, comm));
    keep(copy, ccoll::bcast<lossy, Algo::Chain, P...>(copy, p - 1, comm));
    floats sum(me == 0 ? in.size() : 0);
    keep(sum, ccoll::reduce<lossy, Algo::Binomial, P...>(in, sum, 0, comm));
    floats all_of(me == 1 % p ? whole.size() : 0);
    keep(all_of,
         ccoll::gather<lossy, Algo::Linear, P...>(std::span<const float>(in).first(n), all_of, 1 % p, comm));

    floats from_left(in.size());
    keep(from_left, sendrecv<lossy, P...>(in, (me + 1) % p, from_left, (me + p - 1) % p, 5, comm));
    floats second(whole.size()), third(n);
    auto sum_flying = iallreduce<lossy, Algo::Ring, P...>(in, whole, comm);
    auto gather_flying = iallgather<Algo::Bruck, P...>(std::span<const float>(in).first(n), second, comm);
    auto message = isend<P...>(std::span<const float>(in).first(n), (me + 1) % p, 7, comm);
    keep(third, recv<P...>(third, (me + p - 1) % p, 7, comm));
    all.add(gather_flying.wait());
    keep(second, sum_flying.wait());
    keep(whole, message.wait());
    floats again(in.size());
    auto prepared = allreduce_init<lossy, Algo::Ring, P...>(in, again, comm);
    for (int i = 0; i < 2; ++i) {
        again.assign(in.size(), 0);
        prepared.start();
        keep(again, prepared.wait());
    }
    return results;
}

template <class... P>
tally soak(int p, std::size_t n, int rounds, const fault_rates& rates)
{
    const auto all = run<tally>(
        p,
        [=](threads_comm& comm, tally& mine) {
            tally none;
            const floats right = one_of_each(comm, n, none);
            fault_rates own = rates;
            own.seed = own.seed * 64 + static_cast<unsigned>(comm.rank());
            bad_link bad(comm, own);
            for (int i = 0; i < rounds; ++i) {
                const floats found = one_of_each<P...>(bad, n, mine);
                if (!oracle::same_bits(found, right) && mine.wrong.empty())
                    mine.wrong = "other bits in round " + std::to_string(i);
            }
            mine.faults = bad.done().all();
        },
        100);
    tally sum;
    for (const tally& each : all) {
        CHECK(each.wrong == "");
        sum.faults += each.faults;
        sum.detected += each.detected;
        sum.corrected += each.corrected;
        sum.resent += each.resent;
    }
    return sum;
}

}  // namespace

namespace {

#ifdef CCOLL_TEST_SANITIZED
// Sanitizers look at memory and order, which a few rounds show.
constexpr unsigned crc_rounds = 6;
constexpr unsigned hamming_rounds = 8;
#else
constexpr unsigned crc_rounds = 24;
constexpr unsigned hamming_rounds = 16;
#endif

}  // namespace

TEST_CASE("Fault::Crc32c: the bits of a run without faults, whatever happens to messages",
          "[integrity][soak]")
{
    std::uint64_t faults = 0;
    for (const auto& [p, bit_errors, each] : {std::tuple{4, 1e-6, 0.02}, {3, 1e-5, 0.01}, {2, 1e-9, 0.1}}) {
        INFO("p " << p << ", bit errors " << bit_errors << ", others " << each);
        const tally t =
            soak<Fault::Crc32c>(p, 6000, crc_rounds, everything(bit_errors, each, static_cast<unsigned>(p)));
        CHECK(t.detected > 0);
        CHECK(t.corrected == 0);
        CHECK(t.resent > 0);
        faults += t.faults;
    }
    WARN(faults << " faults survived");
    CHECK(faults > 330 * crc_rounds);
}

TEST_CASE("Fault::Hamming: bits are corrected where that can be, and the rest is sent again",
          "[integrity][soak]")
{
    const tally rare = soak<Fault::Hamming>(4, 6000, hamming_rounds, everything(1e-6, 0.02, 7));
    CHECK(rare.corrected > 0);
    const tally frequent = soak<Fault::HammingFor<1e-4>>(3, 6000, hamming_rounds, everything(1e-4, 0.01, 8));
    CHECK(frequent.corrected > 10 * frequent.detected);
    WARN(rare.faults + frequent.faults << " faults survived");
    CHECK(rare.faults + frequent.faults > 250 * hamming_rounds);
}

namespace {

/// What bit errors alone do to allreduces of n values over Fault::Hamming, at the rate that the code is made
/// for or below.
struct bit_errors_seen {
    std::uint64_t bytes = 0, flipped = 0, detected = 0, corrected = 0, resent = 0;
    std::string wrong;
};
bit_errors_seen with_bit_errors(double rate, std::size_t n, int rounds)
{
    const auto all = run<bit_errors_seen>(
        2,
        [=](threads_comm& comm, bit_errors_seen& mine) {
            const floats in = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
            floats right(n), found(n);
            allreduce<Algo::Ring>(in, right, comm);
            bad_link bad(comm, {.bit_errors = rate, .seed = 5 + static_cast<unsigned>(comm.rank())});
            for (int i = 0; i < rounds; ++i) {
                const report r = allreduce<Algo::Ring, Fault::Hamming>(in, found, bad);
                if (!oracle::same_bits(found, right)) mine.wrong = "other bits";
                mine.bytes += r.sent_bytes;
                mine.detected += r.faults.detected;
                mine.corrected += r.faults.corrected;
                mine.resent += r.faults.resent;
            }
            mine.flipped = bad.done().flipped_bits;
        },
        200);
    bit_errors_seen sum;
    for (const bit_errors_seen& each : all) {
        CHECK(each.wrong == "");
        sum.bytes += each.bytes;
        sum.flipped += each.flipped;
        sum.detected += each.detected;
        sum.corrected += each.corrected;
        sum.resent += each.resent;
    }
    return sum;
}

}  // namespace

TEST_CASE("Fault::Hamming: nearly every wrong bit is corrected where it is, and few fragments are sent again",
          "[integrity]")
{
    for (const auto& [rate, rounds] : {std::pair{1e-5, 6}, {1e-6, 12}, {1e-7, 20}}) {
        const bit_errors_seen t = with_bit_errors(rate, 200000, rounds);
        INFO("rate " << rate << ": " << t.flipped << " wrong bits, " << t.corrected << " corrected, "
                     << t.detected << " fragments damaged");
        const double bits = 8 * static_cast<double>(t.bytes),
                     fragments = static_cast<double>(t.bytes) / fragment_body_bytes;
        CHECK(static_cast<double>(t.flipped) > 0.5 * bits * rate);
        // A block of 2048 bits has two wrong ones with probability (2048 e)^2 / 2 or less, and a fragment has
        // 64. Twice that, and four more.
        CHECK(static_cast<double>(t.detected) <= 2 * fragments * 64 * std::pow(2048 * rate, 2) / 2 + 4);
        // The rest: bits of check words, of which a fragment has 14 in 2048, and those of damaged fragments,
        // each of which has a few.
        const auto rest = 0.03 * static_cast<double>(t.flipped) + 6 * static_cast<double>(t.detected) + 4;
        CHECK(static_cast<double>(t.corrected) >= static_cast<double>(t.flipped) - rest);
        CHECK(t.corrected <= t.flipped);
    }
}

TEST_CASE("Fault::Hamming at rates from 1e-9 to 1e-5: a table for docs/integrity.md", "[.][table]")
{
    for (const double rate : {1e-9, 1e-8, 1e-7, 1e-6, 1e-5}) {
        const bit_errors_seen t = with_bit_errors(rate, 4000000, rate < 5e-8 ? 60 : 12);
        WARN(rate << ": " << t.bytes << " bytes, " << t.flipped << " wrong bits, " << t.corrected
                  << " corrected, " << t.detected << " fragments damaged beyond that, " << t.resent
                  << " sent again");
    }
}

TEST_CASE("Fault:: on links without faults: nothing is detected", "[integrity]")
{
    for (const int p : {1, 2, 5}) {
        const tally t = soak<Fault::Crc32c>(p, 3000, 2, {});
        CHECK(t.detected == 0);
        CHECK(t.faults == 0);
    }
}

TEST_CASE("Fault:: calls give back the working memory that they take", "[integrity]")
{
    const auto all = run<findings>(3, [](threads_comm& comm, findings& mine) {
        tally ignored;
        std::size_t after_some = 0;
        for (int i = 0; i < 12; ++i) {
            one_of_each<Fault::Crc32c>(comm, 3000, ignored);
            if (i == 3) after_some = comm.memory().buffers();
        }
        // How many fragments are under way at once depends on timing, but no call makes as many buffers as it
        // has messages.
        mine.expect(
            comm.memory().buffers() <= 2 * after_some,
            std::to_string(after_some) + " buffers, and later " + std::to_string(comm.memory().buffers()));
    });
    none_wrong(all);
}

TEST_CASE("Without Fault:: one wrong bit is a wrong result or an error", "[integrity][control]")
{
    int wrong = 0;
    for (unsigned seed = 1; seed <= 10; ++seed) {
        const auto all = run<int>(
            2,
            [=](threads_comm& comm, int& mine) {
                const floats in = fields::smooth<float>(20000, static_cast<unsigned>(comm.rank()) + 1);
                floats right(in.size()), found(in.size());
                allreduce<Algo::Ring>(in, right, comm);
                bad_link bad(comm,
                             {.bit_errors = 1e-5, .seed = 2 * seed + static_cast<unsigned>(comm.rank())});
                try {
                    allreduce<Algo::Ring>(in, found, bad);
                } catch (const ccoll::error&) {}
                mine = !oracle::same_bits(found, right);
            },
            20);
        wrong += all[0] + all[1];
    }
    CHECK(wrong > 10);  // of 20; a vector has 80 KB, of which 6 bits are expected to be wrong on each way
}

namespace {

struct ending {
    status code = status::ok;
    int rank = nobody, peer = nobody;
    double expected = 0, found = 0, seconds = 0;
    std::string text;
};

/// What became of a call over links that are as bad as `rates_of(rank)`.
template <class Rates, class Call>
std::vector<ending> endings(int p, Rates rates_of, Call call, double seconds = 30)
{
    return run<ending>(
        p,
        [=](threads_comm& comm, ending& mine) {
            bad_link bad(comm, rates_of(comm.rank()));
            const double begin = steady_seconds();
            try {
                call(bad);
            } catch (const ccoll::error& e) {
                const verdict& v = e.what_happened();
                mine = {v.code, v.rank, v.peer, v.expected, v.found, 0, e.what()};
            }
            mine.seconds = steady_seconds() - begin;
        },
        seconds);
}

}  // namespace

TEST_CASE("Beyond repair: every rank is told the link, the fragment and the number of tries", "[integrity]")
{
    // What leaves rank 1 for anybody is nearly always damaged, save for short messages.
    const auto all = endings(
        4, [](int rank) { return fault_rates{.bit_errors = rank == 1 ? 2e-4 : 0.0, .seed = 3}; },
        [](const bad_link& comm) {
            floats v = fields::smooth<float>(50000, static_cast<unsigned>(comm.rank()));
            allreduce<Algo::Ring, Check::Collective, Fault::Crc32c>(v, comm);
        });
    for (const ending& each : all) {
        INFO(each.text);
        CHECK(each.code == status::undelivered);
        CHECK(each.rank == 1);
        CHECK(each.peer == 2);
        CHECK(each.expected > 0);
        CHECK(each.found == 40);
        CHECK(each.seconds < 10);
        CHECK(each.text.find("was sent 40 times to rank 2 (seen on rank 1)") != std::string::npos);
    }
}

TEST_CASE("No rate of faults makes a call hang", "[integrity]")
{
    for (const double rate : {0.5, 0.9, 1.0}) {
        INFO("rate " << rate);
        const auto all = endings(
            3, [=](int rank) { return everything(1e-3, rate, static_cast<unsigned>(rank)); },
            [](const bad_link& comm) {
                floats v = fields::smooth<float>(5000, static_cast<unsigned>(comm.rank()));
                allreduce<Algo::Ring, Fault::Crc32c, Timeout<1>>(v, comm);
            });
        for (const ending& each : all) {
            CHECK((each.code == status::timed_out || each.code == status::undelivered));
            CHECK(each.seconds < 10);
        }
    }
}

TEST_CASE(
    "Fault::Crc32c: where most fragments are damaged, each is sent again at once, and not when a timer "
    "expires",
    "[integrity]")
{
    // At this rate three of four fragments are damaged. A call sends 132 of them, and most of a packet are
    // damaged together. It took some four seconds when an acknowledgement named the last one only, and 30 ms
    // since each is named.
    std::atomic<double> slowest = 0;
    run_ranks(4, [&](threads_comm& comm) {
        fault_rates rates;
        rates.bit_errors = 1e-5;
        rates.seed = 7 + static_cast<unsigned>(comm.rank());
        const bad_link bad(comm, rates);
        for (int k = 0; k < 3; ++k) {
            std::vector<double> x(65536, comm.rank() == 0 ? 1.25 : 0.0);
            const double begin = steady_seconds();
            ccoll::bcast<Algo::Chain, Fault::Crc32c>(x, 0, bad);
            if (comm.rank() == 3) slowest = std::max(slowest.load(), steady_seconds() - begin);
            if (std::ranges::count(x, 1.25) != 65536) throw std::runtime_error("wrong values");
        }
    });
    CHECK(slowest < 2);
}

TEST_CASE("A rank that dies is named on all others", "[integrity]")
{
    const auto all = endings(
        4, [](int rank) { return everything(1e-6, 0.01, static_cast<unsigned>(rank)); },
        [](const bad_link& comm) {
            floats v = fields::smooth<float>(400000, static_cast<unsigned>(comm.rank()));
            if (comm.rank() == 2) return;  // never begins
            allreduce<Algo::Ring, Fault::Crc32c, Timeout<2>>(v, comm);
        });
    for (int r : {0, 1, 3}) {
        const ending& each = all[static_cast<std::size_t>(r)];
        INFO(each.text);
        CHECK((each.code == status::peer_lost || each.code == status::timed_out));
        CHECK(each.peer == 2);
    }
}

TEST_CASE("Calls with and without Fault:: take turns on one communicator", "[integrity]")
{
    const auto all = run<tally>(3, [](threads_comm& comm, tally& mine) {
        for (int i = 0; i < 20; ++i) {
            floats a(1000, 1), b(1000, 2);
            mine.add(allreduce<Fault::Crc32c>(a, comm));
            mine.add(allreduce(b, comm));
            if (a[999] != 3 || b[999] != 6) mine.wrong = "a wrong sum";
        }
    });
    for (const tally& each : all) CHECK(each.wrong == "");
}
