// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/delivery.hpp - floor 2. Why a schedule does not do what a collective promises, in words: for schedules
// from outside, before their first call. `delivers` (walk.hpp) says the same as yes or no, at compile time as
// well, for up to 64 ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ccoll/algo/collective.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// What a rank contributes to a block, as a number of which sums tell who is in them and how often. Never 0:
/// that is a block which a rank does not hold. Source: splitmix64 (Steele et al., OOPSLA 2014).
constexpr std::uint64_t contribution(int rank)
{
    std::uint64_t x = (static_cast<std::uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) | 1;
}

/// Walks all ranks and all blocks through a schedule at once.
template <class Collective>
class delivery {
public:
    delivery(const schedule& s, int p, int root) : s_(s), p_(p), root_(root) {}

    /// @return "" or a sentence
    std::string fault()
    {
        constexpr bool in_parts = Collective::send == extent::own || Collective::recv == extent::own ||
                                  Collective::origin(0, 2, 1) == 1;
        blocks_ = s_.blocks(p_);
        const int steps = s_.steps(p_);
        if (in_parts ? blocks_ != p_ : blocks_ < 1)
            return "blocks(p) is " + std::to_string(blocks_) +
                   (in_parts ? ", but this collective has one block per rank" : "");
        if (steps < 0) return "steps(p) is " + std::to_string(steps);
        if (size(p_) * size(blocks_) > most_cells) return "";
        hand_out();
        now_.resize(size(p_));
        for (int k = 0; k < steps; ++k) {
            for (int me = 0; me < p_; ++me) now_[size(me)] = s_.step_at(me, p_, root_, k);
            for (int me = 0; me < p_; ++me)
                if (const std::string why = wrong_step(me); !why.empty())
                    return why + " in step " + std::to_string(k);
            if (const std::string why = exchange(); !why.empty())
                return why + " in step " + std::to_string(k);
        }
        return wrong_result();
    }

private:
    /// 128 MiB of memory, and some seconds. Larger ones are believed.
    static constexpr std::size_t most_cells = std::size_t{1} << 24;

    static std::size_t size(int n) { return static_cast<std::size_t>(n); }
    static std::string rank(int r) { return "rank " + std::to_string(r); }
    static std::string block(int b) { return "block " + std::to_string(b); }
    std::uint64_t& at(int me, int b) { return held_[size(me) * size(blocks_) + size(b)]; }

    void hand_out()
    {
        held_.assign(size(p_) * size(blocks_), 0);
        for (int me = 0; me < p_; ++me) {
            const block_set mine = Collective::before(me, root_, blocks_);
            for (int i = 0; i < mine.count; ++i) at(me, mine.at(i, blocks_)) = contribution(me);
        }
    }

    bool possible(const block_set& set) const
    {
        return set.count == 0 || (set.count > 0 && set.count <= blocks_ && set.first >= 0 &&
                                  set.first < blocks_ && set.run >= 1 && set.stride >= 0);
    }
    std::string wrong_step(int me) const
    {
        const step& mine = now_[size(me)];
        if (!possible(mine.send) || !possible(mine.recv))
            return rank(me) + " has a set of blocks that the vector does not have (it has " +
                   std::to_string(blocks_) + ")";
        for (const int peer : {mine.send_to, mine.recv_from})
            if (peer < nobody || peer >= p_ || peer == me)
                return rank(me) + " has the peer " + std::to_string(peer);
        if (mine.recv_from == nobody && mine.recv.count != 0)
            return rank(me) + " receives blocks from nobody";
        if (mine.recv_from != nobody && now_[size(mine.recv_from)].send_to != me)
            return rank(me) + " receives from " + rank(mine.recv_from) + ", which does not send to it";
        if (mine.send_to == nobody) return "";
        const step& theirs = now_[size(mine.send_to)];
        if (theirs.recv_from != me)
            return rank(me) + " sends to " + rank(mine.send_to) + ", which does not receive from it";
        bool same = mine.send.count == theirs.recv.count;
        for (int i = 0; same && i < mine.send.count; ++i)
            same = mine.send.at(i, blocks_) == theirs.recv.at(i, blocks_);
        if (!same)
            return rank(me) + " sends other blocks (or in another order) than " + rank(mine.send_to) +
                   " receives";
        if (mine.send.count > s_.widest(p_))
            return rank(me) + " sends " + std::to_string(mine.send.count) +
                   " blocks in one message, and widest(p) is " + std::to_string(s_.widest(p_));
        return "";
    }

    /// What leaves is what ranks held before the step.
    std::string exchange()
    {
        begins_.resize(size(p_));
        sent_.clear();
        for (int me = 0; me < p_; ++me) {
            const block_set& blocks = now_[size(me)].send;
            begins_[size(me)] = sent_.size();
            for (int i = 0; i < blocks.count; ++i) {
                sent_.push_back(at(me, blocks.at(i, blocks_)));
                if (sent_.back() == 0)
                    return rank(me) + " sends " + block(blocks.at(i, blocks_)) + ", which it does not hold,";
            }
        }
        for (int me = 0; me < p_; ++me) {
            const step& mine = now_[size(me)];
            for (int i = 0; i < mine.recv.count; ++i) {
                std::uint64_t& cell = at(me, mine.recv.at(i, blocks_));
                const std::uint64_t theirs = sent_[begins_[size(mine.recv_from)] + size(i)];
                cell = mine.action == on_receive::replace ? theirs : cell + theirs;
            }
        }
        return "";
    }

    std::string wrong_result()
    {
        for (int b = 0; b < blocks_; ++b) {
            std::uint64_t all = 0, up_to_own = 0;
            for (int me = 0; me < p_; ++me)
                if (Collective::before(me, root_, blocks_).contains(b, blocks_)) all += contribution(me);
            for (int me = 0; me < p_; ++me) {
                const std::uint64_t before_own = up_to_own;
                if (Collective::before(me, root_, blocks_).contains(b, blocks_))
                    up_to_own += contribution(me);
                if (!Collective::after(me, root_, blocks_).contains(b, blocks_)) continue;
                const int origin = Collective::origin(me, p_, b);
                const std::uint64_t wanted = origin == collective::everybody    ? all
                                             : origin == collective::up_to_own  ? up_to_own
                                             : origin == collective::before_own ? before_own
                                                                                : contribution(origin);
                if (at(me, b) != wanted)
                    return rank(me) + what_it_has(at(me, b), wanted, b) + ", after the last step";
            }
        }
        return "";
    }
    /// Names one rank, where one alone is missing or counted twice.
    std::string what_it_has(std::uint64_t has, std::uint64_t wanted, int b) const
    {
        const std::string which = block(b) + " of " + std::to_string(blocks_);
        if (has == 0) return " misses " + which;
        for (int other = 0; other < p_; ++other) {
            if (has + contribution(other) == wanted)
                return " has " + which + " without the contribution of " + rank(other);
            if (wanted + contribution(other) == has)
                return " has " + which + " with the contribution of " + rank(other) + " twice";
        }
        return " has something else in the place of " + which;
    }

    const schedule& s_;
    int p_, root_, blocks_ = 0;
    std::vector<std::uint64_t> held_, sent_;
    std::vector<std::size_t> begins_;
    std::vector<step> now_;
};

}  // namespace detail

/// Why `s` does not do what `Collective` promises on p ranks: "" if it does, else a sentence without subject
/// and full stop, such as "rank 2 misses block 0 of 4, after the last step". p >= 1 and 0 <= root < p. Above
/// 2^24 for p times the number of blocks nothing but the number of blocks is looked at.
/// Cost: O(p * steps) calls of step_at, O(1) for each block in a message, 8 bytes for each block of each
/// rank.
template <class Collective>
std::string why_not_delivered(const schedule& s, int p, int root)
{
    return detail::delivery<Collective>(s, p, root).fault();
}

}  // namespace ccoll::inline CCOLL_ABI
