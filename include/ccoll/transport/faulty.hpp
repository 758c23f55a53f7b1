// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/faulty.hpp - floor 2. A transport that damages, loses, duplicates, delays and cuts the messages
// of another one, with given probabilities and a seed. It is for tests of Fault:: policies, and of programs
// that rely on them.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <ccoll/base/clock.hpp>
#include <ccoll/base/process.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI {

/// What happens to messages. All but the first are probabilities for each message.
struct fault_rates {
    double bit_errors = 0;   ///< probability for each bit to be flipped
    double bursts = 0;       ///< up to 31 bits in a row are flipped at random
    double drops = 0;        ///< it never arrives
    double doubles = 0;      ///< it arrives twice
    double reorders = 0;     ///< it leaves after the next message of this rank, or a little later
    double delays = 0;       ///< it leaves late
    double truncations = 0;  ///< its end is missing
    double delay_s = 0.002;  ///< how late
    unsigned seed = 1;
};

/// How often each fault has happened so far.
struct faults_done {
    std::uint64_t flipped_bits = 0, damaged = 0, bursts = 0, dropped = 0, doubled = 0, reordered = 0,
                  delayed = 0, cut = 0;

    /// Messages that did not arrive as they were sent. Each fault is counted.
    std::uint64_t all() const { return damaged + bursts + dropped + doubled + reordered + delayed + cut; }
};

/// One rank of `Base`. Copies are the same rank. Faults are made on the sending side. Sends are done when
/// they are posted, because this object has copied the data. What has not left when the last copy of the
/// handle is destroyed is never sent.
template <transport Base>
class faulty {
public:
    using request = typename Base::request;
    static constexpr bool spins = detail::spins<Base>;

    faulty(Base base, const fault_rates& rates)
        : state_(new state(std::move(base), rates), detail::delete_at_home<state>{})
    {}

    int rank() const { return state_->base.rank(); }
    int size() const { return state_->base.size(); }
    status refusal() const { return state_->base.refusal(); }
    const char* explain() const { return state_->base.explain(); }
    std::uint32_t begin_call() { return state_->base.begin_call(); }
    workspace& memory() { return state_->base.memory(); }
    std::span<const int> nodes() { return nodes_of(state_->base); }
    void set_nodes(std::span<const int> node_of_rank) { state_->base.set_nodes(node_of_rank); }

    request post_send(int peer, int tag, const_byte_span data)
    {
        state_->send(peer, tag, data);
        return {};
    }
    request post_recv(int peer, int tag, byte_span into) { return state_->base.post_recv(peer, tag, into); }
    bool test(request& r) { return state_->base.test(r); }
    bool cancel(request& r) { return state_->base.cancel(r); }
    int probe(int tag) { return state_->base.probe(tag); }
    void leave_unread() noexcept { detail::leave_unread(state_->base); }
    void poll()
    {
        state_->base.poll();
        state_->release(false);
    }
    void idle()
    {
        state_->release(true);
        state_->base.idle();
    }
    void wake() noexcept
        requires requires(Base& base) { base.wake(); }
    {
        state_->base.wake();
    }
    const void* sleeper() noexcept { return detail::sleeper_of(state_->base); }

    const faults_done& done() const { return state_->done; }
    /// Changes the rates from now on. The sequence of random numbers continues.
    void set(const fault_rates& rates) { state_->rates = rates; }

private:
    struct letter {
        int peer, tag;
        std::vector<std::byte> bytes;
        double leaves;  ///< a time; earlier if another message leaves and `overtaken`
        bool overtaken;
    };
    struct departed {
        std::vector<std::byte> bytes;
        request sent;
    };

    struct state {
        state(Base b, const fault_rates& r)
            : base(std::move(b)), rates(r), random(r.seed * 0x9E3779B97F4A7C15u + 1)
        {}
        state(const state&) = delete;
        state& operator=(const state&) = delete;
        ~state()
        {
            for (departed& d : leaving)
                if (!base.cancel(d.sent))
                    // The transport still reads it.
                    static_cast<void>(new std::vector<std::byte>(std::move(d.bytes)));
        }

        void send(int peer, int tag, const_byte_span data)
        {
            std::vector<std::byte> copied(data.begin(), data.end());
            if (happens(rates.drops)) {
                ++done.dropped;
                return;
            }
            const bool twice = happens(rates.doubles);
            done.doubled += twice;
            for (int copies = twice ? 2 : 1; copies > 0; --copies) {
                std::vector<std::byte> each = copied;
                damage(each);
                if (happens(rates.delays)) {
                    ++done.delayed;
                    held.push_back(
                        {peer, tag, std::move(each), steady_seconds() + rates.delay_s * unit() * 2, false});
                } else if (happens(rates.reorders)) {
                    ++done.reordered;
                    held.push_back({peer, tag, std::move(each), steady_seconds() + rates.delay_s, true});
                } else {
                    leave(peer, tag, std::move(each));
                    release(true);
                }
            }
        }
        /// @param overtake  also sends those that wait to be overtaken
        void release(bool overtake)
        {
            if (held.empty() && leaving.empty()) return;
            const double now = steady_seconds();
            for (std::size_t i = 0; i < held.size();) {
                if (held[i].leaves > now && !(overtake && held[i].overtaken)) {
                    ++i;
                    continue;
                }
                letter each = std::move(held[i]);
                held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
                leave(each.peer, each.tag, std::move(each.bytes));
            }
            std::erase_if(leaving, [&](departed& d) { return base.test(d.sent); });
        }
        void leave(int peer, int tag, std::vector<std::byte> bytes)
        {
            leaving.push_back({std::move(bytes), {}});
            leaving.back().sent = base.post_send(peer, tag, leaving.back().bytes);
        }

        void damage(std::vector<std::byte>& bytes)
        {
            const double bits = 8 * static_cast<double>(bytes.size());
            bool any = false;
            if (rates.bit_errors > 0) {
                const double scale = 1 / std::log1p(-rates.bit_errors);
                for (double at = std::floor(std::log(1 - unit()) * scale); at < bits;
                     at += 1 + std::floor(std::log(1 - unit()) * scale)) {
                    flip(bytes, static_cast<std::size_t>(at));
                    any = true;
                }
            }
            done.damaged += any;
            if (bytes.size() > 8 && happens(rates.bursts)) {
                ++done.bursts;
                const std::size_t length = 1 + below(31), from = below(8 * bytes.size() - 31);
                for (std::size_t i = 0; i < length; ++i)
                    if (i == 0 || i + 1 == length || below(2) == 0) flip(bytes, from + i);
            }
            if (!bytes.empty() && happens(rates.truncations)) {
                ++done.cut;
                bytes.resize(below(bytes.size()));
            }
        }
        void flip(std::vector<std::byte>& bytes, std::size_t bit)
        {
            bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
            ++done.flipped_bits;
        }

        /// splitmix64
        std::uint64_t bits()
        {
            std::uint64_t z = (random += 0x9E3779B97F4A7C15u);
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
            z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
            return z ^ (z >> 31);
        }
        double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
        std::size_t below(std::size_t n) { return static_cast<std::size_t>(bits() % n); }
        bool happens(double probability) { return probability > 0 && unit() < probability; }

        Base base;
        fault_rates rates;
        faults_done done;
        std::vector<letter> held;
        std::vector<departed> leaving;
        std::uint64_t random;
    };

    std::shared_ptr<state> state_;
};

}  // namespace ccoll
