// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torus.hpp - a 4 x 4 x 4 torus of routers, flit by flit: a simulation, and no measurement. For
// paper_torus.cpp.
//
// Wormhole switching as Hu and Koibuchi (CS & IT 2021, 4.3.1) describe it: the header of a packet waits three
// cycles in each router (route, virtual channel, switch), and a flit crosses a router and a link in one cycle
// more. Two virtual channels with buffers of 8 flits for each link. Their routing is minimal and adaptive;
// here it is minimal in the order of the dimensions, and the second virtual channel keeps rings free of
// deadlocks: a packet that has still to cross the ring's seam takes channel 0, one that has crossed it
// channel 1, any other either.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace torus {

inline constexpr int edge = 4, dimensions = 3, nodes = edge * edge * edge;

enum class pattern { uniform, transpose, bit_reversal };

/// Where a node's packets go; itself if it sends none. `any`: a random number, for uniform traffic.
inline int destination(pattern p, int from, unsigned any)
{
    if (p == pattern::uniform) return (from + 1 + static_cast<int>(any % (nodes - 1))) % nodes;
    if (p == pattern::transpose) return (from & 7) << 3 | from >> 3;
    int to = 0;
    for (int bit = 0; bit < 6; ++bit) to |= (from >> bit & 1) << (5 - bit);
    return to;
}

inline int coordinate(int node, int d) { return node >> (2 * d) & (edge - 1); }
inline int neighbour(int node, int d, bool up)
{
    const int c = (coordinate(node, d) + (up ? 1 : edge - 1)) % edge;
    return (node & ~((edge - 1) << (2 * d))) | c << (2 * d);
}

/// The next step of a minimal route in the order of the dimensions. Both ways of a half ring are equally
/// long: `tie` decides.
struct hop {
    int dimension = dimensions;  ///< dimensions: it is there
    bool up = false;
};
inline hop next_hop(int at, int to, bool tie)
{
    for (int d = 0; d < dimensions; ++d) {
        const int ahead = (coordinate(to, d) - coordinate(at, d) + edge) % edge;
        if (ahead != 0) return {d, 2 * ahead < edge || (2 * ahead == edge && tie)};
    }
    return {};
}

struct outcome {
    double accepted = 0;  ///< flits per node and cycle, as they would be without compression
    double latency = 0;   ///< mean cycles from generation to delivery
};

class network {
public:
    /// @param length        flits of a packet as it travels    @param plain_length  without compression
    /// @param codec_cycles  added to the latency of each packet
    network(pattern traffic, int length, int plain_length, int codec_cycles)
        : traffic_(traffic), length_(length), plain_length_(plain_length), codec_cycles_(codec_cycles),
          routers_(nodes)
    {}

    /// @param offered  flits that a node generates per cycle, without compression
    outcome run(double offered, int warm_up = 3000, int cycles = 10000, unsigned seed = 1)
    {
        random_.seed(seed);
        std::bernoulli_distribution generates(offered / plain_length_);
        long long delivered = 0, counted = 0;
        double latency = 0;
        int senders = 0;
        for (int n = 0; n < nodes; ++n)
            senders += traffic_ == pattern::uniform || destination(traffic_, n, 0) != n ? 1 : 0;
        for (now_ = 0; now_ < warm_up + cycles; ++now_) {
            for (int n = 0; n < nodes; ++n) {
                if (generates(random_)) {
                    const int to = destination(traffic_, n, static_cast<unsigned>(random_()));
                    if (to != n) routers_[at(n)].waiting.push_back(new_packet(n, to));
                }
                inject(n);
            }
            for (int n = 0; n < nodes; ++n) claim_channels(n);
            for (int n = 0; n < nodes; ++n) cross(n);
            for (const int p : arrived_) {
                const packet& done = packets_[at(p)];
                if (now_ >= warm_up) ++delivered;
                if (done.born >= warm_up) {
                    ++counted;
                    latency += now_ - done.born + 1 + codec_cycles_;
                }
            }
            arrived_.clear();
        }
        return {static_cast<double>(delivered) * plain_length_ / senders / cycles,
                counted > 0 ? latency / static_cast<double>(counted) : 0};
    }

private:
    static constexpr int channels = 2, depth = 8, ports = 2 * dimensions + 1, local = ports - 1,
                         header_cycles = 3;
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    struct packet {
        int from, to, born;
        bool tie;
    };
    struct flit {
        int packet, ready;  ///< the cycle from which it can go on
        bool head, tail;
    };
    struct buffer {  // of a virtual channel, on the receiving side
        std::deque<flit> flits{};
        int out_port = -1, out_channel = -1;  ///< of the packet at the front
        bool owned = false;                   ///< a packet on its way into this buffer has claimed it
    };
    struct router {
        std::array<std::array<buffer, channels>, ports> in{};
        std::array<int, ports> turn{};       ///< round robin of each output
        std::deque<int> waiting{};           ///< packets that have been generated
        int injected = 0, injects_into = 0;  ///< flits of the first of them, and the channel that they take
    };

    int new_packet(int from, int to)
    {
        packets_.push_back({from, to, now_, (packets_.size() & 1) != 0});
        return static_cast<int>(packets_.size()) - 1;
    }
    void inject(int n)
    {
        router& r = routers_[at(n)];
        if (r.waiting.empty()) return;
        buffer& into = r.in[at(local)][at(r.injects_into)];
        if (static_cast<int>(into.flits.size()) == depth) return;
        const bool head = r.injected == 0, tail = ++r.injected == length_;
        into.flits.push_back({r.waiting.front(), now_ + (head ? header_cycles : 0), head, tail});
        if (tail) {
            r.waiting.pop_front();
            r.injected = 0;
            r.injects_into = 1 - r.injects_into;
        }
    }
    /// May this packet take this channel of the link to its next router?
    bool allowed(const packet& p, int n, hop h, int channel) const
    {
        const int here = coordinate(n, h.dimension), source = coordinate(p.from, h.dimension),
                  target = coordinate(p.to, h.dimension);
        if (h.up ? target < here : target > here) return channel == 0;  // has still to cross the seam
        if (h.up ? here < source : here > source) return channel == 1;  // has crossed it
        return true;
    }
    /// Headers that have been routed claim a channel of the next router.
    void claim_channels(int n)
    {
        router& r = routers_[at(n)];
        for (auto& port : r.in)
            for (buffer& b : port) {
                if (b.out_port >= 0 || b.flits.empty() || b.flits.front().ready > now_) continue;
                const packet& p = packets_[at(b.flits.front().packet)];
                const hop h = next_hop(n, p.to, p.tie);
                if (h.dimension == dimensions) {
                    b.out_port = local;
                    b.out_channel = 0;
                    continue;
                }
                const int out = 2 * h.dimension + (h.up ? 1 : 0);
                auto& next = routers_[at(neighbour(n, h.dimension, h.up))].in[at(out)];
                for (int c = channels - 1; c >= 0; --c)
                    if (!next[at(c)].owned && allowed(p, n, h, c)) {
                        next[at(c)].owned = true;
                        b.out_port = out;
                        b.out_channel = c;
                        break;
                    }
            }
    }
    /// A flit for each output, and at most one from each input port.
    void cross(int n)
    {
        router& r = routers_[at(n)];
        std::array<bool, ports> used{};
        for (int out = 0; out < ports; ++out)
            for (int k = 0; k < ports * channels; ++k) {
                const int which = (r.turn[at(out)] + k) % (ports * channels), port = which / channels;
                buffer& b = r.in[at(port)][at(which % channels)];
                if (used[at(port)] || b.out_port != out || b.flits.empty() || b.flits.front().ready > now_)
                    continue;
                flit f = b.flits.front();
                if (out == local) {
                    if (f.tail) arrived_.push_back(f.packet);
                } else {
                    buffer& next =
                        routers_[at(neighbour(n, out / 2, out % 2 == 1))].in[at(out)][at(b.out_channel)];
                    if (static_cast<int>(next.flits.size()) == depth) continue;
                    f.ready = now_ + 1 + (f.head ? header_cycles : 0);
                    next.flits.push_back(f);
                }
                b.flits.pop_front();
                if (f.tail) {
                    b.out_port = b.out_channel = -1;
                    if (port != local) b.owned = false;  // of the buffer that the packet has left
                }
                used[at(port)] = true;
                r.turn[at(out)] = (which + 1) % (ports * channels);
                break;
            }
    }

    pattern traffic_;
    int length_, plain_length_, codec_cycles_, now_ = 0;
    std::vector<router> routers_;
    std::vector<packet> packets_{};
    std::vector<int> arrived_{};
    std::mt19937 random_{};
};

/// All nodes send one message at the same time: how many of them share the busiest link, and the steps of the
/// longest route. Both ways of a half ring take half of a message.
struct sharing {
    double busiest = 0;
    int longest = 0;
};
inline sharing share_links(pattern p, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<double> load(nodes * 2 * dimensions);
    sharing s;
    for (int from = 0; from < nodes; ++from) {
        const int to = destination(p, from, static_cast<unsigned>(random()));
        for (const bool tie : {false, true}) {
            int at = from, steps = 0;
            for (hop h = next_hop(at, to, tie); h.dimension < dimensions;
                 h = next_hop(at, to, tie), ++steps) {
                load[static_cast<std::size_t>(at * 2 * dimensions + 2 * h.dimension + (h.up ? 1 : 0))] += 0.5;
                at = neighbour(at, h.dimension, h.up);
            }
            s.longest = std::max(s.longest, steps);
        }
    }
    for (const double l : load) s.busiest = std::max(s.busiest, l);
    s.busiest = std::max(s.busiest, 1.0);  // the node's own link
    return s;
}

}  // namespace torus
