// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// What the library promises to the author of a transport: every call accepts an object that meets
// ccoll::transport in place of an MPI_Comm.
#include "support/catch.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ccoll/ccoll.hpp>

#include "extension/ranks.hpp"
#include "support/fields.hpp"

// [doc:transport]
namespace mine {

/// What the ranks share: one mailbox for each of them.
struct post_office {
    struct letter {
        int from, tag;
        std::vector<std::byte> text;
    };
    struct box {
        std::vector<letter> letters;  // oldest first
        std::uint64_t events = 0;     // number of letters that came and of ranks that ended, so far
        bool ended = false;
        std::uint32_t calls = 0;  // only the rank itself uses this
        ccoll::workspace memory;
    };
    explicit post_office(int p) : boxes(static_cast<std::size_t>(p)) {}
    box& of(int rank) { return boxes[static_cast<std::size_t>(rank)]; }

    std::mutex mutex;
    std::condition_variable changed;
    std::vector<box> boxes;
};

/// One rank. What is sent is copied, so a send is done at once. A receive takes the oldest matching letter
/// when it is tested.
class mailbox {
public:
    struct request {
        std::size_t bytes = 0;
        ccoll::status result = ccoll::status::ok;
        int from = ccoll::nobody, tag = 0;  // nobody: done
        ccoll::byte_span target{};
    };

    mailbox(post_office& office, int rank) : office_(&office), rank_(rank) {}

    int rank() const { return rank_; }
    int size() const { return static_cast<int>(office_->boxes.size()); }
    ccoll::status refusal() const { return ccoll::status::ok; }
    const char* explain() const { return ""; }
    std::uint32_t begin_call() { return office_->of(rank_).calls++; }
    ccoll::workspace& memory() { return office_->of(rank_).memory; }

    request post_send(int peer, int tag, ccoll::const_byte_span data)
    {
        const std::lock_guard lock(office_->mutex);
        office_->of(peer).letters.push_back({rank_, tag, {data.begin(), data.end()}});
        ++office_->of(peer).events;
        office_->changed.notify_all();
        return {};
    }
    request post_recv(int peer, int tag, ccoll::byte_span target)
    {
        return {0, ccoll::status::ok, peer, tag, target};
    }

    bool test(request& r)
    {
        if (r.from == ccoll::nobody) return true;
        const std::lock_guard lock(office_->mutex);
        auto& letters = office_->of(rank_).letters;
        for (auto each = letters.begin(); each != letters.end(); ++each) {
            if (each->from != r.from || each->tag != r.tag) continue;
            r.bytes = each->text.size();
            r.result = r.bytes <= r.target.size() ? ccoll::status::ok : ccoll::status::truncated;
            if (r.result == ccoll::status::ok) ccoll::copy(r.target, each->text);
            letters.erase(each);
            r.from = ccoll::nobody;
            return true;
        }
        if (!office_->of(r.from).ended) return false;
        r.result = ccoll::status::peer_lost;
        r.from = ccoll::nobody;
        return true;
    }
    bool cancel(request& r)
    {
        r.from = ccoll::nobody;
        return true;
    }
    int probe(int tag)
    {
        const std::lock_guard lock(office_->mutex);
        for (const auto& each : office_->of(rank_).letters)
            if (each.tag == tag) return each.from;
        return ccoll::nobody;
    }

    /// Nothing that happens between poll and idle is missed, because it changes `events`.
    void poll()
    {
        const std::lock_guard lock(office_->mutex);
        seen_ = office_->of(rank_).events;
    }
    void idle()
    {
        std::unique_lock lock(office_->mutex);
        office_->changed.wait(lock, [&] { return office_->of(rank_).events != seen_; });
    }

    /// Tells all ranks that no more letters will come from this rank.
    void end()
    {
        const std::lock_guard lock(office_->mutex);
        office_->of(rank_).ended = true;
        for (auto& each : office_->boxes) ++each.events;
        office_->changed.notify_all();
    }

private:
    post_office* office_;
    int rank_;
    std::uint64_t seen_ = 0;
};

static_assert(ccoll::transport<mailbox>);

}  // namespace mine
// [/doc:transport]

using namespace ccoll::policies;

namespace {

template <class Body>
void run_mailboxes(int p, Body body)
{
    mine::post_office office(p);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < p; ++rank)
        threads.emplace_back([&, rank] {
            mine::mailbox comm(office, rank);
            body(comm);
            comm.end();
        });
    for (std::thread& t : threads) t.join();
}

}  // namespace

TEST_CASE("an allreduce runs over a transport from outside", "[extension][transport]")
{
    for (const int p : {1, 2, 3, 4, 7})
        // The last one is above the threshold of agreement.
        for (const std::size_t n : std::vector<std::size_t>{0, 1, 5000, 400000}) {
            INFO("p = " << p << ", n = " << n);
            std::vector<std::vector<float>> in, out(static_cast<std::size_t>(p), std::vector<float>(n));
            std::vector<ccoll::report> reports(static_cast<std::size_t>(p));
            for (int r = 0; r < p; ++r) in.push_back(fields::smooth<float>(n, static_cast<unsigned>(r + 1)));
            run_mailboxes(p, [&](mine::mailbox& comm) {
                const auto me = static_cast<std::size_t>(comm.rank());
                reports[me] =
                    ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(in[me], out[me], comm);
            });
            CHECK(ranks::same_bits(out));
            CHECK(ranks::largest_error(in, out[0]) <= reports[0].worst_case_error);
            CHECK(reports[0].agreed == (p > 1 && n == 400000));
        }
}

TEST_CASE("over a transport from outside a disagreement is an error on every rank", "[extension][transport]")
{
    for (const std::size_t n : std::vector<std::size_t>{1000, 400000}) {
        std::vector<ccoll::status> told(3, ccoll::status::ok);
        run_mailboxes(3, [&](mine::mailbox& comm) {
            std::vector<float> x(comm.rank() == 2 ? n + 1 : n);
            std::error_code code;
            told[static_cast<std::size_t>(comm.rank())] =
                ccoll::allreduce<Codec::SZx, ErrorBound<1e-3>>(x, comm, code).trouble.code;
        });
        for (const ccoll::status s : told) CHECK(s == ccoll::status::count_differs);
    }
}
