// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a transport may do that threads and MPI rarely do: it cannot take a receive back, a rank is lost in
// the middle of anything, and messages of a call that has ended are under way for long.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "support/catch.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/fault.hpp>
#include <ccoll/transport/threads.hpp>

namespace transport_faults {

using namespace ccoll::policies;
using ccoll::status;
using ccoll::threads_comm;
using floats = std::vector<float>;

namespace {

// Floats: from here on ranks compare their arguments first.
constexpr std::size_t compared = std::size_t{1} << 18;

/// What a rank has in the hands of its transport.
struct ledger {
    std::vector<ccoll::const_byte_span> in_use;  ///< of requests that are not done
    std::vector<ccoll::const_byte_span> kept;    ///< of requests that could not be cancelled
    int used_again = 0;

    void note(ccoll::const_byte_span memory)
    {
        const auto overlaps = [&](const ccoll::const_byte_span& other) {
            return memory.data() < other.data() + other.size() &&
                   other.data() < memory.data() + memory.size();
        };
        used_again += std::ranges::any_of(kept, overlaps) || std::ranges::any_of(in_use, overlaps);
    }
    void forget(ccoll::const_byte_span memory)
    {
        const auto same = [&](const ccoll::const_byte_span& other) { return other.data() == memory.data(); };
        if (const auto at = std::ranges::find_if(in_use, same); at != in_use.end()) in_use.erase(at);
    }
};
/// Thrown by a rank that has died. It says nothing more: its last words throw as well.
struct killed {};

/// A rank with a ledger, that may die after so many sends, and that may be unable to cancel.
class watched {
public:
    struct request {
        std::size_t bytes = 0;
        status result = status::ok;
        threads_comm::request inner{};
        ccoll::const_byte_span memory{};
        bool listed = false;
    };

    watched(threads_comm& inner, ledger& book, bool cancels, int* sends_left = nullptr)
        : inner_(inner), book_(&book), left_(sends_left), cancels_(cancels)
    {}

    int rank() const { return inner_.rank(); }
    int size() const { return inner_.size(); }
    status refusal() const { return inner_.refusal(); }
    const char* explain() const { return inner_.explain(); }
    std::uint32_t begin_call() { return inner_.begin_call(); }
    ccoll::workspace& memory() { return inner_.memory(); }
    std::span<const int> nodes() const { return inner_.nodes(); }
    void set_nodes(std::span<const int> node_of_rank) { inner_.set_nodes(node_of_rank); }

    request post_send(int peer, int tag, ccoll::const_byte_span data)
    {
        if (left_ != nullptr && *left_ <= 0) throw killed{};
        if (left_ != nullptr) --*left_;
        return noted(inner_.post_send(peer, tag, data), data);
    }
    request post_recv(int peer, int tag, ccoll::byte_span target)
    {
        return noted(inner_.post_recv(peer, tag, target), target);
    }
    bool test(request& r)
    {
        if (!inner_.test(r.inner)) return false;
        r.bytes = r.inner.bytes;
        r.result = r.inner.result;
        if (std::exchange(r.listed, false)) book_->forget(r.memory);
        return true;
    }
    bool cancel(request& r)
    {
        if (test(r)) return true;
        inner_.cancel(r.inner);
        book_->forget(r.memory);
        r.listed = false;
        if (!cancels_) book_->kept.push_back(r.memory);
        return cancels_;
    }
    int probe(int tag) { return inner_.probe(tag); }
    void poll() { inner_.poll(); }
    void idle() { inner_.idle(); }

private:
    request noted(threads_comm::request inner, ccoll::const_byte_span memory)
    {
        request r{0, inner.result, inner, memory, true};
        book_->note(memory);
        book_->in_use.push_back(memory);
        test(r);
        return r;
    }

    threads_comm inner_;
    ledger* book_;
    int* left_;
    bool cancels_;
};
static_assert(ccoll::transport<watched>);

/// Runs `work` on rank 0 of two, while rank 1 is there and does nothing.
template <class Work>
void alone(Work work)
{
    std::atomic<bool> over{false};
    ccoll::run_ranks(2, [&](threads_comm& comm) {
        if (comm.rank() == 1) return over.wait(false);
        work(comm);
        over = true;
        over.notify_all();
    });
}

/// Whatever `call` does with a rank that never comes, three times, memory that the transport could not give
/// back stays untouched.
template <class Call>
void keeps_what_may_be_written(const std::string& name, Call call)
{
    INFO(name);
    ledger book;
    alone([&](threads_comm& comm) {
        watched link(comm, book, false);
        for (int i = 0; i < 3; ++i) {
            std::error_code code;
            call(link, code);
            if (!code) book.used_again += 1000;  // it cannot have ended well
        }
    });
    CHECK(book.kept.size() >= 3);
    CHECK(book.used_again == 0);
}

/// What the ranks of one run heard.
struct story {
    bool died = false, late = false, all_well = true;
};
/// Rank `mortal` dies after `sends` messages. The others stay until all of them have returned.
template <class Call>
story tell(int p, int mortal, int sends, Call call)
{
    std::mutex mutex;
    std::atomic<int> running{p - 1};
    story all;
    ccoll::run_ranks(p, [&](threads_comm& comm) {
        ledger book;
        int left = sends;
        const bool dies = comm.rank() == mortal;
        watched link(comm, book, true, dies ? &left : nullptr);
        std::error_code code;
        try {
            call(link, code);
        } catch (const killed&) {
            all.died = true;
            return;
        }
        {
            const std::lock_guard lock(mutex);
            all.late = all.late || code == make_error_code(status::timed_out);
            all.all_well = all.all_well && !code;
        }
        if (!dies && --running == 0) running.notify_all();
        for (int n = running; n > 0 && !dies; n = running) running.wait(n);
    });
    return all;
}
/// Wherever a rank dies, no other waits for its Timeout.
template <class Call>
void dies_anywhere(const std::string& name, const std::vector<int>& rank_counts, Call call)
{
    for (const int p : rank_counts)
        for (const int mortal : {0, p - 1}) {
            int sends = 0;
            for (story s; sends == 0 || s.died; ++sends) {
                INFO(name << ", p " << p << ", rank " << mortal << " dies after " << sends << " sends");
                s = tell(p, mortal, sends, call);
                REQUIRE(!s.late);
                if (!s.died) CHECK(s.all_well);
                REQUIRE(sends < 1000);
            }
            CHECK(sends > 1);
        }
}

}  // namespace

TEST_CASE("Memory of a receive that could not be cancelled is never used again", "[transport][errors]")
{
    floats x(compared, 1.0f), y(compared);
    keeps_what_may_be_written("schedule", [&](watched& link, std::error_code& code) {
        ccoll::allreduce<Algo::Ring, Timeout<0.05>, Check::Local>(x, y, link, code);
    });
    keeps_what_may_be_written("agreement", [&](watched& link, std::error_code& code) {
        ccoll::allreduce<Algo::Ring, Timeout<0.05>>(x, y, link, code);
    });
    keeps_what_may_be_written("recv", [&](watched& link, std::error_code& code) {
        ccoll::recv<Timeout<0.05>>(y, 1, 7, link, code);
    });
    keeps_what_may_be_written("guarded", [&](watched& link, std::error_code& code) {
        ccoll::allreduce<Algo::Ring, Timeout<0.05>, Fault::Crc32c>(x, y, link, code);
    });
}

TEST_CASE("If a rank is lost, all others hear of it at once, whatever it was doing", "[transport][errors]")
{
    dies_anywhere("ring", {3, 5}, [](watched& link, std::error_code& code) {
        floats x(compared, 1.0f), y(compared);
        ccoll::allreduce<Algo::Ring, Timeout<20>>(x, y, link, code);
    });
    dies_anywhere("short", {4}, [](watched& link, std::error_code& code) {
        floats x(1000, 1.0f), y(1000);
        ccoll::allreduce<Algo::RecursiveDoubling, Timeout<20>, Check::Collective>(x, y, link, code);
    });
    dies_anywhere("root", {5}, [](watched& link, std::error_code& code) {
        floats x(5000, 1.0f), y(5000);
        ccoll::reduce<Codec::SZp, ErrorBound<1e-3>, Timeout<20>>(x, y, 0, link, code);
    });
    dies_anywhere("scales", {3, 4}, [](watched& link, std::error_code& code) {
        floats x(5000, 1.0f), y(5000);
        ccoll::allreduce<Codec::SZp, FixedBits<8, Block<32>>, Timeout<20>>(x, y, link, code);
    });
    dies_anywhere("prefix", {4}, [](watched& link, std::error_code& code) {
        floats x(5000, 3e9f), y(5000);
        ccoll::scan<Codec::SZp, ErrorBound<1e-3>, Timeout<20>>(x, y, link, code);
    });
    dies_anywhere("counts", {3}, [](watched& link, std::error_code& code) {
        const std::vector<int> counts{300, 20, 7000};
        floats x(static_cast<std::size_t>(counts[static_cast<std::size_t>(link.rank())]), 1.0f), y(7320);
        ccoll::allgatherv<Codec::SZx, ErrorBound<1e-3>, Timeout<20>>(x, y, counts, link, code);
    });
    dies_anywhere("two levels", {4}, [](watched& link, std::error_code& code) {
        link.set_nodes(std::vector<int>{0, 0, 1, 1});
        floats x(compared, 1.0f), y(compared);
        ccoll::allreduce<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Timeout<20>>(x, y, link, code);
    });
    dies_anywhere("exchange", {2}, [](watched& link, std::error_code& code) {
        floats x(compared, 1.0f), y(compared);
        const int peer = 1 - link.rank();
        ccoll::sendrecv<Timeout<20>>(x, peer, y, peer, 5, link, code);
    });
}

TEST_CASE("What a call between two ranks leaves under way arrives, and no request of it is lost",
          "[transport][p2p]")
{
    ledger book;
    std::size_t left = 0, still = 0;
    status told = status::ok;
    bool well = false;
    ccoll::run_ranks(2, [&](threads_comm& comm) {
        ledger other;
        watched link(comm, comm.rank() == 0 ? book : other, true);
        floats x(4 * compared, 1.0f), y(4 * compared), one(10, 2.0f);  // more messages than leave at once
        std::error_code code;
        if (comm.rank() == 0) {
            ccoll::send<Timeout<0.05>>(x, 1, 7, link, code);
            left = book.in_use.size();
            ccoll::send(one, 1, 8, link);  // of which rank 1 has no part in what it waits for
            ccoll::recv(one, 1, 9, link);
            ccoll::send(one, 1, 7, link);
            still = book.in_use.size();
        } else {
            ccoll::recv(one, 0, 8, link);  // the first call has been given up now
            ccoll::recv(y, 0, 7, link, code);
            told = static_cast<status>(code.value());
            ccoll::send(one, 0, 9, link);
            ccoll::recv(one, 0, 7, link);
            well = one[9] == 2.0f;
        }
    });
    CHECK(left > 0);
    CHECK(still == 0);
    CHECK(book.used_again == 0);
    CHECK(told == status::timed_out);
    CHECK(well);
}

}  // namespace transport_faults
