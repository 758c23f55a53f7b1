// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, links nothing
// check_transport.hpp: it finds nothing wrong with transports that are right, and says what is wrong with
// those that break one promise.
#include "support/catch.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ccoll/check_transport.hpp>
#include <ccoll/transport/faulty.hpp>
#include <ccoll/transport/group.hpp>
#include <ccoll/transport/guarded.hpp>
#include <ccoll/transport/threads.hpp>

namespace check_transport_cases {

using namespace ccoll;

using options = transport_check_options;

/// What the ranks say, one after another. `link_of` makes the handle of a rank.
template <class Make>
std::string check(int p, const options& how, Make link_of)
{
    std::mutex mutex;
    std::string all;
    run_ranks(p, [&](threads_comm& comm) {
        const std::string said = check_transport(link_of(comm), how);
        const std::lock_guard lock(mutex);
        if (!said.empty()) all += (all.empty() ? "" : "\n") + said;
    });
    return all;
}

TEST_CASE("check_transport finds nothing wrong with transports that are right", "[transport][check]")
{
    options how;
    how.seconds = 60;
    for (const int p : {1, 2, 3, 5}) {
        INFO(p << " ranks");
        CHECK(check(p, how, [](threads_comm& comm) { return comm; }) == "");
    }
    CHECK(check(2, how, [](threads_comm& comm) { return faulty<threads_comm>(comm, fault_rates{}); }) == "");
    const std::vector<int> members{2, 0, 1};
    CHECK(check(3, how, [&](threads_comm& comm) {
              return group<threads_comm>(comm, members, (comm.rank() + 1) % 3, 0);
          }) == "");
}

TEST_CASE("check_transport ends a rank, and looks at what the others see", "[transport][check]")
{
    options how;
    how.seconds = 60;
    how.end = [] {};  // it ends when its body returns
    for (const int p : {2, 3, 4}) {
        INFO(p << " ranks");
        CHECK(check(p, how, [](threads_comm& comm) { return comm; }) == "");
    }
}

TEST_CASE("check_transport takes a guarded link, whose messages are damaged", "[transport][check]")
{
    options how;
    how.seconds = 60;
    how.leaves_alone = false;
    CHECK(check(2, how, [](threads_comm& comm) {
              fault_rates rates;
              rates.drops = rates.doubles = rates.reorders = 0.02;
              return guarded<faulty<threads_comm>>({comm, rates}, protection{});
          }) == "");
}

// ---- transports with one fault each ----

/// threads_comm, and the control; what follows replaces one member each.
class plain : public threads_comm {
public:
    explicit plain(const threads_comm& base) : threads_comm(base) {}
};

struct numbers_by_rank : plain {
    using plain::plain;
    std::uint32_t begin_call() { return plain::begin_call() + static_cast<std::uint32_t>(rank()); }
};
struct without_messages_to_itself : plain {
    using plain::plain;
    request post_send(int peer, int tag, const_byte_span data)
    {
        return peer == rank() ? request{} : plain::post_send(peer, tag, data);
    }
};
struct without_empty_messages : plain {
    using plain::plain;
    request post_send(int peer, int tag, const_byte_span data)
    {
        return data.empty() ? request{} : plain::post_send(peer, tag, data);
    }
};
struct cuts_silently : plain {
    using plain::plain;
    bool test(request& r)
    {
        if (!plain::test(r)) return false;
        if (r.result == status::truncated) r.result = status::ok;
        return true;
    }
};
struct wrong_length_of_what_is_cut : plain {
    using plain::plain;
    bool test(request& r)
    {
        if (!plain::test(r)) return false;
        if (r.result == status::truncated) r.bytes = ~std::size_t{0};
        return true;
    }
};
struct writes_beside : plain {
    using plain::plain;
    request post_recv(int peer, int tag, byte_span into)
    {
        if (into.size() == 1000) into.data()[1000] = std::byte{1};
        return plain::post_recv(peer, tag, into);
    }
};
struct finds_nobody : plain {
    using plain::plain;
    int probe(int) { return nobody; }
};
struct finds_somebody : plain {
    using plain::plain;
    int probe(int tag)
    {
        const int found = plain::probe(tag);
        return found == nobody ? 0 : found;
    }
};
/// A send that waits for its receiver, but not for ever.
struct blocks_in_sends : plain {
    using plain::plain;
    request post_send(int peer, int tag, const_byte_span data)
    {
        request r = plain::post_send(peer, tag, data);
        const double since = steady_seconds();
        while (data.size() > 1000000 && !plain::test(r) && steady_seconds() - since < 1) {}
        return r;
    }
};
/// Copies short messages, and sends them in one of the next calls.
struct keeps_what_is_done : plain {
    using plain::plain;
    struct letter {
        int peer, tag;
        std::vector<std::byte> bytes;
    };
    std::shared_ptr<std::vector<letter>> kept = std::make_shared<std::vector<letter>>();

    void flush()
    {
        for (const letter& each : *kept) plain::post_send(each.peer, each.tag, each.bytes);
        kept->clear();
    }
    request post_send(int peer, int tag, const_byte_span data)
    {
        flush();
        if (data.size() > 256) return plain::post_send(peer, tag, data);
        kept->push_back({peer, tag, {data.begin(), data.end()}});
        return {};
    }
    bool test(request& r)
    {
        const bool done = plain::test(r);
        if (!done) flush();
        return done;
    }
};
/// Is done when some time has passed.
struct slow_short_sends : plain {
    using plain::plain;
    struct request : threads_comm::request {
        double not_before = 0;
        request() = default;
        explicit request(threads_comm::request r) : threads_comm::request(r) {}
    };
    request post_send(int peer, int tag, const_byte_span data)
    {
        request r(plain::post_send(peer, tag, data));
        if (data.size() == 208) r.not_before = steady_seconds() + 0.5;
        return r;
    }
    request post_recv(int peer, int tag, byte_span into)
    {
        return request(plain::post_recv(peer, tag, into));
    }
    bool test(request& r) { return steady_seconds() >= r.not_before && plain::test(r); }
    bool cancel(request& r) { return plain::cancel(r); }
};
struct sleeps_long : plain {
    using plain::plain;
    void idle() { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }
};
struct sleeps_through : plain {
    using plain::plain;
    void idle() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
    void wake() = delete;
};
struct does_not_wake : plain {
    using plain::plain;
    void wake() noexcept {}
};
/// Says that a receive is given up, and receives.
struct goes_on_receiving : plain {
    using plain::plain;
    bool cancel(request& r)
    {
        if (!plain::test(r)) left.push_back(r);
        r = {};
        return true;
    }
    void poll()
    {
        for (request& each : left) plain::test(each);
        plain::poll();
    }
    std::vector<request> left;
};
/// Says that a send is given up, and sends.
struct goes_on_sending : plain {
    using plain::plain;
    bool cancel(request& r)
    {
        r = {};
        return true;
    }
};
/// Waits for the receiver.
struct waits_in_cancel : plain {
    using plain::plain;
    bool cancel(request& r)
    {
        const double since = steady_seconds();
        while (!plain::test(r) && steady_seconds() - since < 0.4) {}
        return plain::cancel(r);
    }
};
/// Another rank that has ended is only silent.
struct waits_for_the_dead : plain {
    using plain::plain;
    bool test(request& r)
    {
        if (!plain::test(r)) return false;
        if (r.result == status::peer_lost) {
            r.result = status::ok;
            dead = true;
        }
        return !dead;
    }
    bool dead = false;
};
struct throws_at_the_dead : plain {
    using plain::plain;
    bool test(request& r)
    {
        if (!plain::test(r)) return false;
        if (r.result == status::peer_lost) raise("test", {status::peer_lost});
        return true;
    }
};
/// Has no word for it.
struct forgets_the_dead : plain {
    using plain::plain;
    bool test(request& r)
    {
        if (!plain::test(r)) return false;
        if (r.result == status::peer_lost) r.result = status::transport_failed;
        return true;
    }
};

template <class Link>
std::string said_of(bool ends = false, double seconds = 1.5)
{
    options how;
    how.seconds = seconds;
    how.pause_s = 0.1;
    if (ends) how.end = [] {};
    return check(2, how, [](threads_comm& comm) { return Link(comm); });
}
std::string said_with(void (*change)(fault_rates&))
{
    options how;
    how.seconds = 1.5;
    how.pause_s = 0.1;
    return check(2, how, [&](threads_comm& comm) {
        fault_rates rates;
        change(rates);
        return faulty<threads_comm>(comm, rates);
    });
}
void names(const std::string& said, const std::string& fault)
{
    INFO(said);
    CHECK(said.find(fault) != std::string::npos);
}

TEST_CASE("check_transport says which promise about messages a transport breaks", "[transport][check]")
{
    CHECK(said_of<plain>(true, 60) == "");
    names(said_of<numbers_by_rank>(), "begin_call() gives 1 here and 0 on rank 0, for the same call");
    names(said_of<without_messages_to_itself>(), "from rank 0 is not done after 1.5 s");
    names(said_of<without_empty_messages>(), "a receive of 0 bytes from rank");
    names(said_of<cuts_silently>(), "a message of 2 bytes in a receive of 1: result is 'ok'");
    names(said_of<wrong_length_of_what_is_cut>(), "a message of 2 bytes in a receive of 1: bytes is");
    names(said_of<writes_beside>(), "bytes beside its memory are written");
    names(said_of<finds_nobody>(), "probe() finds rank -1, and a message of 0 bytes of rank");
    names(said_of<finds_somebody>(), "probe() finds a message of rank 0 where none was sent");
}

TEST_CASE("check_transport says which promise about waiting a transport breaks", "[transport][check]")
{
    names(said_of<blocks_in_sends>(), "post_send() of large messages takes");
    names(said_of<slow_short_sends>(), "a send of 208 bytes is not done after");
    names(said_of<keeps_what_is_done>(), "arrives only when its rank makes further calls");
    names(said_of<sleeps_long>(false, 20), "while nothing happens; it should after about 0.01 s");
    names(said_of<sleeps_through>(), "idle() does not return when a message comes");
    const std::string said = said_of<does_not_wake>();
    names(said, "wake() between poll() and idle() does not end idle()");
    names(said, "wake() on another thread does not end idle()");
}

TEST_CASE("check_transport says which promise about ends a transport breaks", "[transport][check]")
{
    names(said_of<goes_on_receiving>(), "cancel() of a receive returns true, and its memory is written");
    names(said_of<goes_on_sending>(), "cancel() of a send of rank 0 returns true, and its memory is read");
    names(said_of<waits_in_cancel>(), "it waits for its receiver");
    names(said_of<waits_for_the_dead>(true), "from rank 1 is not done after 1.5 s");
    names(said_of<throws_at_the_dead>(true), "something is thrown");
    names(said_of<forgets_the_dead>(true), "a rank that has ended: result is 'the transport failed'");
}

TEST_CASE("check_transport notices messages that are damaged, lost, doubled, cut or out of order",
          "[transport][check]")
{
    names(said_with([](fault_rates& r) { r.bit_errors = 1e-5; }), "other bytes arrive than were sent");
    names(said_with([](fault_rates& r) { r.drops = 0.05; }), "is not done after 1.5 s");
    names(said_with([](fault_rates& r) { r.doubles = 0.2; }), "bytes is ");
    names(said_with([](fault_rates& r) { r.truncations = 0.1; }), "bytes is ");
    names(said_with([](fault_rates& r) { r.reorders = 0.5; }), "or those of another message");
}

}  // namespace check_transport_cases
