// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// check_transport.hpp - floor 5. For the tests of a transport's author: does the transport keep what
// transport.hpp asks of it?
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ccoll/base/clock.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI {

/// What only the author of a transport knows, for check_transport.
struct transport_check_options {
    /// How long to wait for what must happen. When it has not, the check ends.
    double seconds = 10;
    /// How long a rank does nothing, to see what happens at the others meanwhile. Much longer than a message
    /// is under way, and than the machine lets a process wait for its turn.
    double pause_s = 0.2;
    /// Keeps this rank from doing anything for so many seconds, such as a SIGSTOP with a SIGCONT of another
    /// process. Empty: sleeps without calling the transport.
    std::function<void(double)> stop{};
    /// Ends this rank, which is the last one, without a word to the others: `[] { raise(SIGKILL); }`. It need
    /// not return. It may also do nothing, if the rank ends when check_transport has returned. Empty: no rank
    /// ends, and what happens then is not checked.
    std::function<void()> end{};
    /// Does a send that is done arrive although its rank makes no further call? False for links that need a
    /// last word of their own, such as ccoll::guarded.
    bool leaves_alone = true;
    /// Is a message that is too long for its receive noticed, without a byte beyond the receive? False where
    /// it is an error of the program, as with MPI: MPICH 4.0 ends the program, and Open MPI 4.1 may write all
    /// of the message.
    bool truncates = true;
};

namespace detail {

/// All ranks go through the same parts in the same order, each with tags of its own.
template <transport Link>
class transport_check {
    using request = typename Link::request;

public:
    transport_check(Link link, const transport_check_options& how)
        : link_(std::move(link)), how_(how), me_(link_.rank()), p_(link_.size())
    {}

    std::string run()
    {
        if (link_.refusal() != status::ok) {
            say("the communicator cannot be used: '%s' (%s)", describe(link_.refusal()), link_.explain());
            return said_;
        }
        if (me_ < 0 || me_ >= p_) {
            say("rank() is %d and size() is %d", me_, p_);
            return said_;
        }
#if defined(__cpp_exceptions)
        try {
            parts();
        } catch (const std::exception& e) {
            say("something is thrown: %.200s", e.what());
            ends_ = false;
        }
#else
        parts();
#endif
        if (ends_) how_.end();
        return said_;
    }

private:
    static constexpr std::size_t margin = 64, control_bytes = 208;
    static constexpr std::byte guard{0xa5}, own{0x3c};
    static constexpr bool spins = detail::spins<Link>;
    enum tags : int {
        lengths = 1,
        order,
        other_order,
        too_long,
        probed,
        never_sent,
        brief,
        departing,
        both_ways,
        ping,
        given_up,
        arriving,
        unsent,
        dying,
        half_arrived,
        after_death,
        to_the_dead,
        notice,
        call_number,
        sync
    };

    void parts()
    {
        using member = void (transport_check::*)();
        constexpr member all[] = {&transport_check::handles,        &transport_check::all_lengths,
                                  &transport_check::orders,         &transport_check::truncation,
                                  &transport_check::probes,         &transport_check::large_both_ways,
                                  &transport_check::short_sends,    &transport_check::departures,
                                  &transport_check::sleeps,         &transport_check::wake_ups,
                                  &transport_check::given_up_early, &transport_check::given_up_while_arriving,
                                  &transport_check::withdrawn,      &transport_check::end_of_a_rank};
        for (const member each : all) {
            meet();
            if (stuck_) return;
            (this->*each)();
            if (stuck_ || ends_) return;
        }
    }

    // ---- what is said ----

    template <class... Numbers>
    void say(const char* format, Numbers... numbers)
    {
        if (++faults_ > 8) return;
        char text[400];
        if constexpr (sizeof...(Numbers) == 0) std::snprintf(text, sizeof text, "%s", format);
        else std::snprintf(text, sizeof text, format, numbers...);
        if (!said_.empty()) said_ += '\n';
        said_ += "rank " + std::to_string(me_) + " of " + std::to_string(p_) + ": " + text;
    }

    // ---- messages ----

    /// A message under way. Its memory belongs to the workspace, which keeps what the transport does not let
    /// go of.
    struct letter {
        buffer_memory* memory = nullptr;
        std::size_t length = 0;
        int peer = nobody, tag = 0;
        bool receives = false, done = false;
        request r{};

        byte_span bytes() const { return memory->host_room().subspan(margin, length); }
        bool intact() const
        {
            for (std::size_t i = 0; i < margin; ++i)
                if (memory->host[i] != guard || memory->host[margin + length + i] != guard) return false;
            return true;
        }
    };

    static std::byte value(unsigned seed, std::size_t i)
    {
        return static_cast<std::byte>((seed * 37 + i * 11 + i / 253) & 255);
    }
    static unsigned seed(int from, std::size_t number)
    {
        return static_cast<unsigned>(from) * 101 + static_cast<unsigned>(number) * 17 + 1;
    }
    letter blank(int peer, int tag, std::size_t length)
    {
        letter l;
        l.memory = link_.memory().take(length + 2 * margin);
        l.length = length;
        l.peer = peer;
        l.tag = tag;
        std::fill_n(l.memory->host, length + 2 * margin, guard);
        return l;
    }
    letter send(int peer, int tag, std::size_t length, unsigned content)
    {
        letter l = blank(peer, tag, length);
        for (std::size_t i = 0; i < length; ++i) l.bytes()[i] = value(content, i);
        const double since = steady_seconds();
        l.r = link_.post_send(peer, tag, l.bytes());
        posting_s_ = steady_seconds() - since;
        return l;
    }
    letter receive(int peer, int tag, std::size_t room)
    {
        letter l = blank(peer, tag, room);
        l.receives = true;
        l.r = link_.post_recv(peer, tag, l.bytes());
        return l;
    }
    bool test(letter& l)
    {
        l.done = l.done || link_.test(l.r);
        return l.done;
    }
    /// Lets go of a message, done or not.
    /// @return true if its memory is free
    bool give_up(letter& l)
    {
        const bool free = l.done || link_.cancel(l.r);
        l.done = true;
        if (free) link_.memory().drop(l.memory);
        return free;
    }

    /// Waits for all, the last one first.
    /// @return false, and has said so, if they are not done in time
    bool wait(std::vector<letter>& all)
    {
        const double since = steady_seconds();
        while (!stuck_) {
            link_.poll();
            letter* open = nullptr;
            for (std::size_t i = all.size(); i-- > 0;)
                if (!test(all[i])) open = &all[i];
            if (open == nullptr) return true;
            if (steady_seconds() - since > how_.seconds) {
                stuck_ = true;
                if (faults_ == 0 || open->tag != sync)
                    say(open->tag == sync
                            ? "a %s of %zu bytes %s rank %d is not done after %g s; perhaps that "
                              "rank has stopped because of a fault of its own"
                            : "a %s of %zu bytes %s rank %d is not done after %g s",
                        open->receives ? "receive" : "send", open->length, open->receives ? "from" : "to",
                        open->peer, how_.seconds);
                for (letter& each : all) give_up(each);
                return false;
            }
            link_.idle();
        }
        return false;
    }
    bool wait(letter& one)
    {
        std::vector<letter> all;
        all.push_back(std::move(one));
        const bool well = wait(all);
        one = std::move(all.front());
        return well;
    }

    /// Checks a message that has been received, and frees its memory.
    void look(letter& l, std::size_t length, unsigned content, const char* what)
    {
        if (!l.intact()) say("%s of %zu bytes: bytes beside its memory are written", what, length);
        if (l.r.result != status::ok)
            say("%s of %zu bytes from rank %d: result is '%s'", what, length, l.peer, describe(l.r.result));
        else if (l.r.bytes != length)
            say("%s of %zu bytes from rank %d: bytes is %zu", what, length, l.peer,
                static_cast<std::size_t>(l.r.bytes));
        else if (!holds(l, length, content))
            say("%s of %zu bytes from rank %d: other bytes arrive than were sent, or those of another "
                "message",
                what, length, l.peer);
        give_up(l);
    }
    static bool holds(const letter& l, std::size_t length, unsigned content)
    {
        for (std::size_t i = 0; i < length; ++i)
            if (l.bytes()[i] != value(content, i)) return false;
        return true;
    }
    void look_sent(letter& l, const char* what)
    {
        if (l.r.result != status::ok)
            say("%s of %zu bytes to rank %d: result of the send is '%s'", what, l.length, l.peer,
                describe(l.r.result));
        give_up(l);
    }

    /// All ranks that are left meet.
    void meet()
    {
        for (int k = 1; k < p_ && !stuck_; k *= 2) {
            std::vector<letter> both;
            both.push_back(receive((me_ + p_ - k) % p_, sync, 1));
            both.push_back(send((me_ + k) % p_, sync, 1, 0));
            if (!wait(both)) return;
            for (letter& each : both) give_up(each);
        }
    }
    void tell(int peer, unsigned what)
    {
        letter l = send(peer, notice, 1, what);
        if (wait(l)) give_up(l);
    }
    std::byte hear(int peer)
    {
        letter l = receive(peer, notice, 1);
        if (!wait(l)) return {};
        const std::byte heard = l.bytes()[0];
        give_up(l);
        return heard;
    }
    void do_nothing(double seconds)
    {
        if (how_.stop) how_.stop(seconds);
        else std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }
    /// Turns for `seconds`, or until `ended()`.
    template <class Ended>
    void turn(double seconds, Ended ended)
    {
        const double since = steady_seconds();
        do link_.poll();
        while (!ended() && steady_seconds() - since < seconds);
    }
    int right() const { return (me_ + 1) % p_; }
    int left() const { return (me_ + p_ - 1) % p_; }
    bool is_first() const { return me_ == 0; }
    bool is_last() const { return me_ == p_ - 1; }

    // ---- the parts ----

    void handles()
    {
        if (link_.explain() == nullptr) say("explain() returns null");
        request fresh{};
        if (!link_.test(fresh)) say("a request that was default-constructed is not done");
        if (!link_.cancel(fresh)) say("cancel() of a request that was default-constructed returns false");
        Link copy = link_;
        if (&copy.memory() != &link_.memory()) say("a copy of the handle has another memory()");
        if (copy.rank() != me_ || copy.size() != p_) say("a copy of the handle has another rank() or size()");
        const std::uint32_t first = link_.begin_call(), second = copy.begin_call();
        if (second != first + 1) say("begin_call() gives %u and then %u", first, second);
        std::vector<letter> both;
        both.push_back(receive(left(), call_number, sizeof first));
        letter out = blank(right(), call_number, sizeof first);
        std::memcpy(out.bytes().data(), &first, sizeof first);
        out.r = link_.post_send(right(), call_number, out.bytes());
        both.push_back(std::move(out));
        if (!wait(both)) return;
        std::uint32_t theirs = 0;
        std::memcpy(&theirs, both[0].bytes().data(), sizeof theirs);
        if (theirs != first)
            say("begin_call() gives %u here and %u on rank %d, for the same call", first, theirs, left());
        for (letter& each : both) give_up(each);
    }

    /// Each rank with each, also with itself; the outermost tags.
    void all_lengths()
    {
        const std::size_t all[] = {0, 1, 8, 207, control_bytes, 256, 257, 4096, 8193, 70000, 1000003};
        for (int k = 0; k < p_; ++k) {
            const int to = (me_ + k) % p_, from = (me_ + p_ - k) % p_;
            for (std::size_t i = 0; i < std::size(all); ++i) {
                const int tag = i % 4 == 1 ? 0 : i % 4 == 3 ? max_tag : int{lengths};
                std::vector<letter> both;
                both.push_back(receive(from, tag, all[i] + i % 2));
                both.push_back(send(to, tag, all[i], seed(me_, i)));
                if (!wait(both)) return;
                look(both[0], all[i], seed(from, i), "a message");
                look_sent(both[1], "a message");
            }
        }
    }

    /// Messages of one tag arrive in the order of their sends, in receives in the order in which they were
    /// posted, whatever their lengths, and in whatever order requests are tested. Tags do not wait for each
    /// other.
    void orders()
    {
        const std::size_t mixed[] = {4, 300000, 0, 20000, 5, 1000, 300000, 4};
        constexpr std::size_t n = std::size(mixed);
        for (const bool early : {true, false})
            for (const int shift : {0, 1}) {
                const int to = (me_ + shift) % p_, from = (me_ + p_ - shift) % p_;
                std::vector<letter> sent, got;
                const auto post_receives = [&] {
                    for (const std::size_t odd : {std::size_t{1}, std::size_t{0}})  // the later tag first
                        for (std::size_t i = odd; i < n; i += 2)
                            got.push_back(receive(from, odd == 1 ? other_order : order, mixed[i]));
                };
                if (early) post_receives();
                meet();
                for (std::size_t i = 0; i < n; ++i)
                    sent.push_back(send(to, i % 2 == 1 ? other_order : order, mixed[i], seed(me_, 100 + i)));
                if (!early) {
                    turn(0.005, [] { return false; });
                    post_receives();
                }
                if (!wait(got) || !wait(sent)) return;
                for (std::size_t k = 0; k < n; ++k) {
                    const std::size_t i = k < n / 2 ? 2 * k + 1 : 2 * (k - n / 2);
                    look(got[k], mixed[i], seed(from, 100 + i),
                         early ? "one of several messages" : "one of several messages that came early");
                    look_sent(sent[k], "one of several messages");
                }
            }
    }

    void truncation()
    {
        if (!how_.truncates) return;
        for (const std::size_t length : {std::size_t{2}, control_bytes, std::size_t{300000}})
            for (const bool early : {true, false}) {
                const std::size_t room = length / 2;
                letter in;
                if (early) in = receive(left(), too_long, room);
                meet();
                letter out = send(right(), too_long, length, seed(me_, 200));
                if (!early) {
                    turn(0.005, [] { return false; });
                    in = receive(left(), too_long, room);
                }
                std::vector<letter> all;
                all.push_back(std::move(in));
                all.push_back(receive(left(), too_long, length));  // of the next message
                all.push_back(std::move(out));
                all.push_back(send(right(), too_long, length, seed(me_, 201)));
                if (!wait(all)) return;
                if (!all[0].intact())
                    say("a message of %zu bytes in a receive of %zu: bytes beside its memory are written",
                        length, room);
                if (all[0].r.result != status::truncated)
                    say("a message of %zu bytes in a receive of %zu: result is '%s'", length, room,
                        describe(all[0].r.result));
                else if (all[0].r.bytes != length && all[0].r.bytes > room)
                    say("a message of %zu bytes in a receive of %zu: bytes is %zu", length, room,
                        static_cast<std::size_t>(all[0].r.bytes));
                give_up(all[0]);
                look(all[1], length, seed(left(), 201), "a message behind one that was too long");
                look_sent(all[2], "a message that is too long");
                look_sent(all[3], "a message behind one that was too long");
            }
    }

    void probes()
    {
        for (const std::size_t length : {std::size_t{0}, control_bytes, std::size_t{300000}}) {
            link_.poll();
            if (const int found = link_.probe(probed); found != nobody)
                say("probe() finds a message of rank %d where none was sent", found);
            meet();
            letter out = send(right(), probed, length, seed(me_, 300));
            int found = nobody;
            turn(how_.seconds, [&] {
                test(out);
                found = link_.probe(probed);
                return found != nobody;
            });
            if (found != left())
                say("probe() finds rank %d, and a message of %zu bytes of rank %d waits", found, length,
                    left());
            if (const int other = link_.probe(never_sent); other != nobody)
                say("probe() finds a message of rank %d with another tag", other);
            std::vector<letter> both;
            both.push_back(receive(left(), probed, length));
            both.push_back(std::move(out));
            if (!wait(both)) return;
            look(both[0], length, seed(left(), 300), "a message that was found by probe()");
            look_sent(both[1], "a message that was found by probe()");
            meet();
            if (found = link_.probe(probed); found != nobody)
                say("probe() finds a message of rank %d that has been received", found);
        }
    }

    void large_both_ways()
    {
        constexpr std::size_t length = std::size_t{4} << 20;
        double fastest = 1e9;
        for (std::size_t round = 0; round < 2; ++round) {
            std::vector<letter> all;
            for (const int peer : {left(), right()}) all.push_back(receive(peer, both_ways, length));
            double posting = 0;
            for (const int peer : {right(), left()}) {
                all.push_back(send(peer, both_ways, length, seed(me_, 400)));
                posting += posting_s_;
            }
            fastest = std::min(fastest, posting);
            if (!wait(all)) return;
            look(all[0], length, seed(left(), 400), "a large message, both ways at once");
            look(all[1], length, seed(right(), 400), "a large message, both ways at once");
            look_sent(all[2], "a large message, both ways at once");
            look_sent(all[3], "a large message, both ways at once");
        }
        if (fastest > 0.5) say("post_send() of large messages takes %.2g s: it waits", fastest);
    }

    /// To a rank that does nothing.
    void short_sends()
    {
        constexpr std::size_t each = 8;
        if (p_ == 1) return;
        if (is_last()) {
            do_nothing(how_.pause_s);
            for (int peer = 0; peer < p_ - 1; ++peer) {
                std::vector<letter> all;
                for (std::size_t i = 0; i < each; ++i) all.push_back(receive(peer, brief, control_bytes));
                if (!wait(all)) return;
                for (std::size_t i = 0; i < each; ++i)
                    look(all[i], control_bytes, seed(peer, 500 + i), "a short message");
            }
            return;
        }
        std::vector<letter> all;
        for (std::size_t i = 0; i < each; ++i)
            all.push_back(send(p_ - 1, brief, control_bytes, seed(me_, 500 + i)));
        int tests = 0;
        bool done = false;
        turn(how_.pause_s / 2, [&] {
            ++tests;
            done = true;
            for (letter& l : all) done = test(l) && done;
            return done;
        });
        if (!done && tests >= 1000)
            say("a send of %zu bytes is not done after %d tests, while its receiver does nothing",
                control_bytes, tests);
        if (!wait(all)) return;
        for (letter& l : all) look_sent(l, "a short message");
    }

    /// What is done arrives while its sender does nothing.
    void departures()
    {
        if (p_ == 1 || !how_.leaves_alone) return;
        for (const std::size_t length : {control_bytes, std::size_t{1000000}})
            for (int tries = 1; tries <= 3; ++tries) {
                meet();
                bool late = false;
                if (is_first()) {
                    letter out = send(p_ - 1, departing, length, seed(me_, 600));
                    if (!wait(out)) return;
                    do_nothing(2 * how_.pause_s);
                    look_sent(out, "a message");
                    late = hear(p_ - 1) != value(0, 0);
                } else if (is_last()) {
                    const double since = steady_seconds();
                    letter in = receive(0, departing, length);
                    if (!wait(in)) return;
                    late = steady_seconds() - since >= 2 * how_.pause_s;
                    look(in, length, seed(0, 600), "a message");
                    if (late && tries == 3)
                        say("a send of %zu bytes that is done arrives only when its rank makes further calls",
                            length);
                    tell(0, late ? 1 : 0);
                }
                if (stuck_ || !late) break;
            }
    }

    static double low(std::vector<double>& all)
    {
        std::sort(all.begin(), all.end());
        return all[all.size() / 4];
    }
    double idle_seconds()
    {
        const double since = steady_seconds();
        link_.idle();
        return steady_seconds() - since;
    }

    void sleeps()
    {
        if (p_ == 1) return;
        double shortest = 1e9;
        for (int tries = 0; tries < 3; ++tries) {
            meet();
            // The last rank sends something, else an idle() without a limit would never return.
            if (is_last()) do_nothing(how_.pause_s);
            std::vector<letter> all;
            if (is_last())
                for (int to = 0; to < p_ - 1; ++to) all.push_back(send(to, ping, 1, 0));
            else all.push_back(receive(p_ - 1, ping, 1));
            turn(0.02, [] { return false; });
            if (!is_last()) shortest = std::min(shortest, idle_seconds());
            if (!wait(all)) return;
            for (letter& l : all) give_up(l);
        }
        if (!is_last() && shortest > 0.1)
            say("idle() returns after %.2g s while nothing happens; it should after about 0.01 s", shortest);
        // Does it return for what comes before and during it?
        // Where ranks have to share cores with other programs, one good round is enough, of which a tenth is
        // fast. A rank that sleeps through messages waits for the end of idle() in nearly each trip.
        double fastest = 1e9;
        for (int round = 0; round < 5 && (is_first() || is_last()); ++round) {
            std::vector<double> trips;
            for (int i = 0; i < 60; ++i) {
                const int other = is_first() ? p_ - 1 : 0;
                const double since = steady_seconds();
                for (const bool sends : {is_first(), !is_first()}) {
                    letter l = sends ? send(other, ping, 1, 0) : receive(other, ping, 1);
                    if (!wait(l)) return;
                    give_up(l);
                }
                trips.push_back(steady_seconds() - since);
            }
            std::sort(trips.begin(), trips.end());
            fastest = std::min(fastest, trips[trips.size() / 10]);
        }
        if (is_first() && !spins && shortest > 0.002 && fastest > 0.8 * shortest)
            say("idle() does not return when a message comes: a message and its answer take %.2g s", fastest);
    }

    void wake_ups()
    {
        if constexpr (!spins && requires { link_.wake(); }) {
            // Where ranks have to share cores, any idle() may take long. So one good round is enough.
            constexpr int rounds = 8;
            bool ends_before = false, ends_during = false;
            for (int i = 0; i < rounds && !(ends_before && ends_during); ++i)
                if (!woken_in_time(ends_before, ends_during)) return;
            if (!ends_before) say("wake() between poll() and idle() does not end idle()");
            if (!ends_during) say("wake() on another thread does not end idle()");
        }
    }
    /// @param ends_before  becomes true if wake() before idle() has ended it
    /// @param ends_during  the same, while it slept
    /// @return false if idle() hardly sleeps, because something happens all the time
    bool woken_in_time([[maybe_unused]] bool& ends_before, [[maybe_unused]] bool& ends_during)
    {
        if constexpr (requires { link_.wake(); }) {
            std::vector<double> alone, before, during;
            for (int i = 0; i < 20; ++i) {
                link_.poll();
                alone.push_back(idle_seconds());
            }
            for (int i = 0; i < 20; ++i) {
                link_.poll();
                link_.wake();
                before.push_back(idle_seconds());
            }
            for (int i = 0; i < 20; ++i) {
                link_.poll();
                std::thread other([&] {
                    std::this_thread::sleep_for(std::chrono::microseconds(500));
                    link_.wake();
                });
                during.push_back(idle_seconds());
                other.join();
            }
            std::sort(alone.begin(), alone.end());
            const double usual = alone[2];  // on a busy machine others are longer
            if (usual < 0.002) return false;
            ends_before = ends_before || low(before) <= 0.7 * usual;
            ends_during = ends_during || low(during) <= 0.7 * usual;
        }
        return true;
    }

    void given_up_early() { given_up_receive(given_up, 300000, true); }
    void given_up_while_arriving() { given_up_receive(arriving, std::size_t{8} << 20, false); }

    /// Each rank receives from its left neighbour and gives that up, before the message is sent or while it
    /// arrives. What cancel() has freed is not written any more.
    void given_up_receive(int tag, std::size_t length, bool before)
    {
        letter in = receive(left(), tag, length), out;
        const auto go_on = [&] {
            if (out.memory != nullptr) test(out);
            return false;
        };
        if (!before) out = send(right(), tag, length, seed(me_, 700));
        turn(before ? 0.002 : 0.1, [&] {
            go_on();
            return test(in) || (!before && in.bytes()[0] != guard);
        });
        const bool arrived = in.done;
        const bool free = !arrived && link_.cancel(in.r);
        if (arrived) look(in, length, seed(left(), 700), "a message");
        if (free) std::fill_n(in.bytes().data(), length, own);
        if (before) {
            meet();
            if (stuck_) return;
            out = send(right(), tag, length, seed(me_, 700));
        }
        turn(0.05, go_on);
        if (free) {
            if (!std::all_of(in.bytes().begin(), in.bytes().end(), [](std::byte b) { return b == own; }))
                say("cancel() of a receive returns true, and its memory is written afterwards");
            link_.memory().drop(in.memory);
        }
        // Messages are received, if they can be, so that none is left behind.
        letter told = receive(right(), notice, 1);
        bool found = false;
        if (free)
            turn(0.1, [&] {
                go_on();
                return found = link_.probe(tag) == left();
            });
        if (found) {
            letter rest = receive(left(), tag, length);
            turn(how_.seconds, [&] {
                go_on();
                return test(rest);
            });
            if (rest.done)
                look(rest, length, seed(left(), 700), "a message whose first receive was given up");
            else give_up(rest);
        }
        std::vector<letter> both;
        both.push_back(std::move(told));
        both.push_back(send(left(), notice, 1, 0));
        const double since = steady_seconds();
        while (!test(both[0]) || !test(both[1])) {  // as wait(), with the send
            link_.poll();
            go_on();
            if (steady_seconds() - since > how_.seconds) break;
        }
        if (!wait(both)) return;
        for (letter& each : both) give_up(each);
        turn(0.01, go_on);
        give_up(out);
    }

    /// A send to a rank that does nothing is given up.
    void withdrawn()
    {
        if (p_ == 1) return;
        constexpr std::size_t length = std::size_t{4} << 20;
        double fastest = 1e9;
        for (int tries = 0; tries < 2; ++tries) {
            meet();
            if (is_first()) {
                letter out = send(p_ - 1, unsent, length, seed(me_, 800));
                turn(0.02, [&] { return test(out); });
                const bool sent = out.done;
                const double since = steady_seconds();
                const bool free = !sent && link_.cancel(out.r);
                fastest = std::min(fastest, steady_seconds() - since);
                if (free || sent) std::fill_n(out.bytes().data(), length, own);
                static_cast<void>(hear(p_ - 1));
                if (free || sent) link_.memory().drop(out.memory);
            } else if (is_last()) {
                do_nothing(how_.pause_s);
                letter in = receive(0, unsent, length);
                turn(0.2, [&] { return test(in); });
                if (in.done && in.r.result == status::ok && !holds(in, length, seed(0, 800)))
                    say("cancel() of a send of rank 0 returns true, and its memory is read afterwards");
                give_up(in);
                tell(0, 0);
            }
            if (stuck_) return;
        }
        if (is_first() && fastest > how_.pause_s / 2)
            say("cancel() of a send takes %.2g s: it waits for its receiver", fastest);
    }

    /// The last rank ends, with a long message to rank 0 under way.
    void end_of_a_rank()
    {
        if (!how_.end || p_ == 1) return;
        constexpr std::size_t finished = 3, length = std::size_t{8} << 20;
        const int lost = p_ - 1;
        if (me_ == lost) {
            std::vector<letter> all;
            for (std::size_t i = 0; i < finished; ++i)
                all.push_back(send(0, dying, control_bytes, seed(me_, 900 + i)));
            if (!wait(all)) return;
            letter half = send(0, half_arrived, length, seed(me_, 950)), go = receive(0, notice, 1);
            turn(how_.seconds, [&] {
                test(half);
                return test(go);
            });
            ends_ = true;
            return;
        }
        std::vector<letter> before, gone;
        if (is_first()) {
            letter half = receive(lost, half_arrived, length);
            turn(0.1, [&] { return test(half) || half.bytes()[0] != guard; });
            tell(lost, 0);
            if (stuck_) return;
            for (std::size_t i = 0; i < finished; ++i) before.push_back(receive(lost, dying, control_bytes));
            before.push_back(std::move(half));
        }
        gone.push_back(receive(lost, after_death, 100));
        gone.push_back(receive(lost, after_death, 300000));
        gone.push_back(send(lost, to_the_dead, std::size_t{4} << 20, 0));
        if (!wait(before)) return;
        for (std::size_t i = 0; i < before.size() && i < finished; ++i)
            look(before[i], control_bytes, seed(lost, 900 + i), "a finished send of a rank that has ended");
        if (is_first()) {
            letter& half = before.back();
            if (half.r.result == status::ok)
                look(half, length, seed(lost, 950), "the last message of a rank");
            else if (half.r.result != status::peer_lost)
                say("a message of a rank that has ended: result is '%s'", describe(half.r.result));
        }
        if (!wait(gone)) return;
        for (letter& each : gone) {
            const bool sent = !each.receives && each.r.result == status::ok;  // done before, from a copy
            if (each.r.result != status::peer_lost && !sent)
                say("a %s of %zu bytes %s a rank that has ended: result is '%s', and not that the rank is "
                    "lost",
                    each.receives ? "receive" : "send", each.length, each.receives ? "from" : "to",
                    describe(each.r.result));
            give_up(each);
        }
        --p_;
        meet();
        if (!stuck_) all_lengths();
        ++p_;
    }

    Link link_;
    const transport_check_options& how_;
    int me_, p_;
    double posting_s_ = 0;  ///< what the last post_send() took
    bool stuck_ = false, ends_ = false;
    int faults_ = 0;
    std::string said_;
};

}  // namespace detail

/// Examines a transport as its author's tests should. All ranks call it, each with its handle, while nothing
/// else uses the communicator: `CHECK(ccoll::check_transport(link) == "");`.
///
/// It sends messages of many lengths, one rank to each and to itself, several at a time, both ways at once,
/// and too long for their receives. It probes, gives receives and sends up, and leaves a rank alone that does
/// nothing. It checks how long idle() sleeps and what ends it, and wake() if there is one. With `end`, it
/// ends the last rank, and looks at what the others see. It needs two ranks for most of this, and three to
/// see that the others go on.
///
/// It notices a fault by what arrives, or by what has not happened after options.seconds; then the check ends
/// on this rank, and on the others some time later. It cannot notice a call that never returns. Give such a
/// test a limit, and run it under ThreadSanitizer or AddressSanitizer where that is possible.
/// @return  "", or sentences about what this rank has seen, a line each: "rank 1 of 3: a message of ...".
///          Other ranks may have seen more
/// Cost: some seconds; per rank 64 MiB of memory at most.
template <transport Link>
std::string check_transport(Link link, const transport_check_options& options = {})
{
    return detail::transport_check<Link>(std::move(link), options).run();
}

}  // namespace ccoll::inline CCOLL_ABI
