// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// What the library promises to the author of a transport: every call accepts an object that meets
// ccoll::transport in place of an MPI_Comm.
#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/check_transport.hpp>

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
    struct receive {
        int from, tag;
        std::uint64_t id;
    };
    struct box {
        std::vector<letter> letters;    // oldest first
        std::vector<receive> receives;  // that wait for their letter
        std::uint64_t last_id = 0;
        std::uint64_t events = 0;  // letters that came, ranks that ended, and calls of wake(), so far
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

/// One rank. What is sent is copied, so a send is done at once. Of the receives with one peer and tag, the
/// k-th takes the k-th letter, when it is tested.
class mailbox {
public:
    struct request {
        std::size_t bytes = 0;
        ccoll::status result = ccoll::status::ok;
        int from = ccoll::nobody, tag = 0;  // nobody: done
        ccoll::byte_span target{};
        std::uint64_t id = 0;
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
        const std::lock_guard lock(office_->mutex);
        auto& mine = office_->of(rank_);
        mine.receives.push_back({peer, tag, ++mine.last_id});
        return {0, ccoll::status::ok, peer, tag, target, mine.last_id};
    }

    bool test(request& r)
    {
        if (r.from == ccoll::nobody) return true;
        const std::lock_guard lock(office_->mutex);
        const auto is_like_it = [&](const auto& each) { return each.from == r.from && each.tag == r.tag; };
        auto& letters = office_->of(rank_).letters;
        auto& receives = office_->of(rank_).receives;
        const auto mine = std::ranges::find(receives, r.id, &post_office::receive::id);
        auto earlier = std::count_if(receives.begin(), mine, is_like_it);
        for (auto each = letters.begin(); each != letters.end(); ++each) {
            if (!is_like_it(*each) || earlier-- > 0) continue;
            r.bytes = each->text.size();
            r.result = r.bytes <= r.target.size() ? ccoll::status::ok : ccoll::status::truncated;
            if (r.result == ccoll::status::ok) ccoll::copy(r.target, each->text);
            letters.erase(each);
            receives.erase(mine);
            r.from = ccoll::nobody;
            return true;
        }
        if (!office_->of(r.from).ended) return false;
        receives.erase(mine);
        r.result = ccoll::status::peer_lost;
        r.from = ccoll::nobody;
        return true;
    }
    bool cancel(request& r)
    {
        const std::lock_guard lock(office_->mutex);
        std::erase_if(office_->of(rank_).receives, [&](const auto& each) { return each.id == r.id; });
        r = {};
        return true;
    }
    /// A letter that no receive will take.
    int probe(int tag)
    {
        const std::lock_guard lock(office_->mutex);
        const auto& letters = office_->of(rank_).letters;
        const auto& receives = office_->of(rank_).receives;
        for (const auto& each : letters) {
            const auto is_like_it = [&](const auto& other) {
                return other.from == each.from && other.tag == tag;
            };
            if (each.tag == tag &&
                std::ranges::count_if(letters, is_like_it) > std::ranges::count_if(receives, is_like_it))
                return each.from;
        }
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
        office_->changed.wait_for(lock, std::chrono::milliseconds(10),
                                  [&] { return office_->of(rank_).events != seen_; });
    }
    /// So that a ccoll::progress_thread sleeps in idle(), and is told when there is more to do.
    void wake() noexcept
    {
        const std::lock_guard lock(office_->mutex);
        ++office_->of(rank_).events;
        office_->changed.notify_all();
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

TEST_CASE("the transport keeps what is asked of it", "[extension][transport]")
{
    for (const int p : {1, 2, 3}) {
        std::vector<std::string> said(static_cast<std::size_t>(p));
        ccoll::transport_check_options how;
        how.seconds = 60;
        how.end = [] {};  // a rank ends when its body returns
        run_mailboxes(p, [&](mine::mailbox& link) {
            std::string& faults = said[static_cast<std::size_t>(link.rank())];
            // [doc:check_transport]
            faults = ccoll::check_transport(link, how);  // "", or what is wrong
            // [/doc:check_transport]
        });
        for (const std::string& each : said) CHECK(each == "");
    }
}

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
