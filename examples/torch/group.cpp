// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// group.cpp - see group.hpp.
#include "group.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include <ccoll/base/process.hpp>

namespace ccoll_torch {

namespace {

struct state {
    std::unique_ptr<ccoll::progress_thread> thread;
    ccoll::detail::home process;
    std::mutex mutex;
    std::vector<std::weak_ptr<group>> groups;
};
/// Never destroyed: in a process that was forked there is no thread that could be joined.
state& the()
{
    static state* const one = new state;
    return *one;
}

group::clock::time_point in(double seconds)
{
    // A clock has no more than its range, and some time-outs mean "for ever".
    return group::clock::now() + std::chrono::duration_cast<group::clock::duration>(
                                     std::chrono::duration<double>(std::min(seconds, 1e9)));
}
std::string text_of(double seconds)
{
    std::string text = std::to_string(seconds);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + " s";
}

}  // namespace

void runtime::start()
{
    if (the().thread != nullptr) return;
    link::start();
    the().process = {};
    the().thread = std::make_unique<ccoll::progress_thread>();
}

bool runtime::started() { return the().thread != nullptr && the().process.is_here(); }

void runtime::stop(double seconds)
{
    if (!started()) return;
    for (const std::weak_ptr<group>& each : the().groups)
        if (const std::shared_ptr<group> alive = each.lock()) alive->close(seconds, "the program has ended");
    the().groups.clear();
    the().thread.reset();
    link::stop();
}

ccoll::progress_thread& runtime::thread()
{
    if (!started())
        throw std::runtime_error(
            "ccoll: this process is no rank: it was forked from one, or the program is about to end");
    return *the().thread;
}

std::shared_ptr<group> group::make(const std::shared_ptr<group>& whole, meeting m)
{
    std::shared_ptr<group> made = runtime::thread().run([&] {
        if (whole != nullptr) m.whole = &whole->handle();
        return std::shared_ptr<group>(new group(link::make(m), m.rank, m.size, m.seconds));
    });
    // The first call on a communicator of MPI is collective, and all ranks make it here. It also shows that
    // the ranks reach each other.
    try {
        runtime::thread().run([&] {
            const test_function test =
                begin(made, [&] { return begin_barrier(made->handle()); }, "the first call", true, 0);
            ccoll::report facts;
            for (int vain = 0; !test(facts); ++vain)
                if (vain > 1000) std::this_thread::sleep_for(std::chrono::microseconds(50));
        });
    } catch (...) {
        made->close(0, "its ranks did not find each other");
        throw;
    }
    const std::lock_guard lock(the().mutex);
    std::erase_if(the().groups, [](const auto& each) { return each.expired(); });
    the().groups.push_back(made);
    return made;
}

group::~group()
{
    if (!handle_) return;
    if (!runtime::started()) {
        static_cast<void>(new communicator(std::move(*handle_)));  // its messages are those of another
                                                                   // process
        return;
    }
    // No call is under way, since each one keeps its group. The communicator belongs to the progress thread.
    const auto last = std::make_shared<std::optional<communicator>>(std::move(handle_));
    runtime::thread().begin(
        [last]() -> test_function {
            link::release(std::move(**last));
            last->reset();
            return [](ccoll::report&) { return true; };
        },
        [](const ccoll::report&, const std::exception_ptr&) {});
}

void group::close(double seconds, std::string why)
{
    const clock::time_point end = in(seconds);
    {
        const std::lock_guard lock(mutex_);
        if (is_closed()) {  // perhaps sooner than it was said before
            ends_ = std::min(ends_, end);
            return;
        }
        ends_ = end;
        why_ = std::move(why);
        closed_ = true;
    }
    if (!runtime::started()) return;
    runtime::thread().begin(
        [self = shared_from_this()]() -> test_function {
            return [self](ccoll::report&) {
                if (self->open_ > 0) return false;
                if (self->handle_) link::release(std::move(*self->handle_));
                self->handle_.reset();
                return true;
            };
        },
        [](const ccoll::report&, const std::exception_ptr&) {});
}

const communicator& group::handle() const
{
    if (is_closed()) throw std::runtime_error("ccoll: " + here() + ": the group has ended: " + why());
    return *handle_;
}
std::string group::why() const
{
    const std::lock_guard lock(mutex_);
    return why_;
}

/// Counts a call while it is under way. Messages between two ranks would perhaps never arrive, so the end of
/// a group does not wait for them.
class group::counted {
public:
    counted(std::shared_ptr<group> ranks, bool collective) : ranks_(std::move(ranks)), collective_(collective)
    {
        ++ranks_->open_;
        ranks_->collectives_ += collective_ ? 1 : 0;
    }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted()
    {
        --ranks_->open_;
        ranks_->collectives_ -= collective_ ? 1 : 0;
    }
    /// Must it be given up, because the group has been closed?
    bool is_over() const
    {
        if (!ranks_->is_closed()) return false;
        if (!collective_ && ranks_->collectives_ == 0) return true;
        const std::lock_guard lock(ranks_->mutex_);
        return clock::now() >= ranks_->ends_;
    }

private:
    std::shared_ptr<group> ranks_;
    bool collective_;
};

/// Tells the link how long a call may take, because it knows which rank is awaited, and says so.
/// @return the seconds that it has for that
double group::tell_link(double seconds)
{
    if (seconds != told_ && !link::set_limit(*handle_, seconds)) return 0;
    told_ = seconds;
    return 1;
}

test_function group::begin(const std::shared_ptr<group>& ranks, const begin_function& call, std::string name,
                           bool collective, double seconds)
{
    static_cast<void>(ranks->handle());  // throws if the group has ended
    struct open_call {
        std::shared_ptr<group> ranks;
        counted count;
        std::string name;
        double limit;
        clock::time_point until;
        std::exception_ptr refused{};  ///< why this rank does not take part
        test_function test{};
    };
    const double limit = seconds > 0 ? seconds : ranks->limit();
    const double grace = ranks->tell_link(std::max(seconds, ranks->limit()));
    const std::shared_ptr<open_call> all(
        new open_call{ranks, {ranks, collective}, std::move(name), limit, in(limit + grace)});
    try {
        all->test = call();
    } catch (...) {
        ranks->note(std::current_exception());
        if (!collective) throw;
        all->refused = std::current_exception();
        all->test = begin_refusal(ranks->handle());
    }
    return [all](ccoll::report& facts) {
        group& in_it = *all->ranks;
        const auto give_up = [&](const std::string& why, trouble kind) {
            all->test = nullptr;  // the other ranks are told
            in_it.trouble_ = kind;
            if (all->refused) std::rethrow_exception(all->refused);
            throw std::runtime_error("ccoll: " + all->name + ": " + in_it.here() +
                                     " gave the call up: " + why);
        };
        try {
            if (all->test(facts)) {
                if (all->refused) std::rethrow_exception(all->refused);
                return true;
            }
        } catch (...) {
            all->test = nullptr;
            if (all->refused) std::rethrow_exception(all->refused);
            in_it.note(std::current_exception());
            throw;
        }
        if (all->count.is_over()) give_up(in_it.why(), trouble::other);
        if (clock::now() >= all->until)
            give_up("it has not ended within its time-out of " + text_of(all->limit), trouble::timed_out);
        return false;
    };
}

void group::note(const std::exception_ptr& failed)
{
    try {
        std::rethrow_exception(failed);
    } catch (const ccoll::error& e) {
        const ccoll::status code = e.what_happened().code;
        trouble_ = code == ccoll::status::timed_out ? trouble::timed_out
                   : code == ccoll::status::peer_lost || code == ccoll::status::transport_failed
                       ? trouble::lost
                       : trouble::other;
    } catch (...) {
        trouble_ = trouble::other;
    }
}

void group::add(const ccoll::report& facts)
{
    const std::lock_guard lock(mutex_);
    facts_ += facts;
}
ccoll::report group::facts() const
{
    const std::lock_guard lock(mutex_);
    return facts_;
}
void group::reset()
{
    const std::lock_guard lock(mutex_);
    facts_ = {};
}

}  // namespace ccoll_torch
