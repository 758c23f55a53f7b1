// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A transport without threads. Ranks are objects of one thread, and a seed decides which rank moves next and
// how long each message is under way. A test may drop, duplicate, delay or replace messages. Messages of one
// pair and tag keep their order, as a transport promises.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <ccoll/transport/transport.hpp>

namespace mail {

using bytes = std::vector<std::byte>;

/// What happens to a message.
struct fate {
    int copies = 1;   ///< 0: it is dropped
    int delay = 0;    ///< how many times it is asked for before it arrives
    bytes instead{};  ///< if not empty: what arrives in its place
};

class network {
public:
    struct letter {
        bytes data;
        int delay;
    };
    struct line {
        std::deque<letter> letters;
        std::uint64_t posted = 0, taken = 0;  ///< receives
    };

    network(int p, unsigned seed)
        : memories_(static_cast<std::size_t>(p)), calls_(static_cast<std::size_t>(p)), random_(seed), p_(p)
    {}

    /// Called for every message: (from, to, tag, data).
    std::function<fate(int, int, int, ccoll::const_byte_span)> on_the_way =
        [](int, int, int, ccoll::const_byte_span) { return fate{}; };

    int size() const { return p_; }
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    line& between(int from, int to, int tag) { return lines_[{from, to, tag}]; }
    ccoll::workspace& memory(int rank) { return memories_[static_cast<std::size_t>(rank)]; }
    std::uint32_t next_call(int rank) { return calls_[static_cast<std::size_t>(rank)]++; }
    void put(int from, int to, int tag, ccoll::const_byte_span data)
    {
        const fate f = on_the_way(from, to, tag, data);
        for (int i = 0; i < f.copies; ++i) {
            bytes copy = f.instead.empty() ? bytes(data.begin(), data.end()) : f.instead;
            between(from, to, tag).letters.push_back({std::move(copy), f.delay + static_cast<int>(below(4))});
        }
    }
    /// The next message on a line, if it has arrived.
    static letter* arrived(line& l)
    {
        if (l.letters.empty() || l.letters.front().delay-- > 0) return nullptr;
        return &l.letters.front();
    }
    std::size_t unread() const
    {
        std::size_t n = 0;
        for (const auto& [key, l] : lines_) n += l.letters.size();
        return n;
    }
    int sender_of_waiting(int to, int tag)
    {
        for (auto& [key, l] : lines_)
            if (std::get<1>(key) == to && std::get<2>(key) == tag && l.posted == l.taken &&
                arrived(l) != nullptr) {
                l.letters.front().delay = 0;
                return std::get<0>(key);
            }
        return ccoll::nobody;
    }

private:
    std::map<std::tuple<int, int, int>, line> lines_;
    std::vector<ccoll::workspace> memories_;
    std::vector<std::uint32_t> calls_;
    std::minstd_rand random_;
    int p_;
};

/// One rank.
class box {
public:
    struct request {
        std::size_t bytes = 0;
        ccoll::status result = ccoll::status::ok;
        network::line* from = nullptr;  ///< of a receive that is not done
        std::uint64_t number = 0;       ///< of the receive on its line
        ccoll::byte_span into{};
    };

    box(network& net, int rank) : net_(&net), rank_(rank) {}
    int rank() const { return rank_; }
    int size() const { return net_->size(); }
    ccoll::status refusal() const { return ccoll::status::ok; }
    const char* explain() const { return ""; }
    std::uint32_t begin_call() { return net_->next_call(rank_); }
    ccoll::workspace& memory() { return net_->memory(rank_); }
    request post_send(int peer, int tag, ccoll::const_byte_span data)
    {
        net_->put(rank_, peer, tag, data);
        return {};
    }
    request post_recv(int peer, int tag, ccoll::byte_span into)
    {
        network::line& l = net_->between(peer, rank_, tag);
        return {0, ccoll::status::ok, &l, l.posted++, into};
    }
    bool test(request& r)
    {
        if (r.from == nullptr) return true;
        if (r.number != r.from->taken) return false;
        network::letter* const found = network::arrived(*r.from);
        if (found == nullptr) return false;
        r.bytes = found->data.size();
        r.result = r.bytes > r.into.size() ? ccoll::status::truncated : ccoll::status::ok;
        ccoll::copy(r.into, ccoll::const_byte_span(found->data).first(std::min(r.bytes, r.into.size())));
        r.from->letters.pop_front();
        ++r.from->taken;
        r.from = nullptr;
        return true;
    }
    /// Only the last receive of a line can be given up.
    bool cancel(request& r)
    {
        if (r.from != nullptr) --r.from->posted;
        r.from = nullptr;
        return true;
    }
    int probe(int tag) { return net_->sender_of_waiting(rank_, tag); }
    void poll() {}
    void idle() {}

private:
    network* net_;
    int rank_;
};
static_assert(ccoll::transport<box>);

/// Gives turns to ranks, in an order that depends on the seed, until all have ended.
/// @param turn  rank -> has it ended?
/// @return false if `most` turns were not enough
template <class Turn>
bool all_end(network& net, Turn turn, int most = 200000)
{
    std::vector<int> running;
    for (int r = 0; r < net.size(); ++r) running.push_back(r);
    for (int turns = 0; !running.empty(); ++turns) {
        if (turns == most) return false;
        const std::size_t which = net.below(static_cast<unsigned>(running.size()));
        if (turn(running[which])) running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    }
    return true;
}

}  // namespace mail
