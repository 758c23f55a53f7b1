// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/hierarchy.hpp - floor 3. Algo::Hierarchical: a call as up to three calls, one after the other. The
// call between nodes uses the plan's codec.
//
//   allreduce   reduce to the first rank of every node, allreduce between these, bcast within the nodes
//   reduce      reduce to the first rank of every node, reduce between these to the root
//   bcast       bcast from the root to the first ranks of the nodes, bcast within the nodes
//
// If there is a root, it is the first rank of its node. If encoded streams are added, they are added within
// nodes as well. Then the bits of a sum do not depend on which ranks share a node. Where a sum of a node
// could not be decoded and encoded again without an error, for example one of fill values, one call on the
// whole communicator takes the place of the levels. A ring sends about as much between nodes.
#pragma once

#include <ccoll/algo/hierarchical.hpp>
#include <ccoll/call/running_call.hpp>
#include <ccoll/transport/group.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Ranks compare their arguments on the whole communicator before the first level (with Check::Local only if
/// frames are to be added, or for a relative bound). A rank that meets trouble on a level tells all ranks of
/// the communicator.
template <element T, transport Link, class Clock>
class hierarchical_call final : public pending_call {
    using level_link = group<Link>;
    using level_call = running_call<T, level_link, Clock>;

public:
    hierarchical_call(const call_order<T, Link>& order, Link link, bool)
        : link_(std::move(link)), head_(order, link_), outer_(order.plan),
          memory_(order.plan.what.space.element_memory(link_.memory()))
    {
        begin();
    }
    ~hierarchical_call() override
    {
        if (!ended_) head_.say_last_words();  // an exception ends it
        level_.reset();
        link_.memory().drop(ranks_);
        memory_.drop(partial_);
    }

    bool advance() override
    {
        moved_ = false;
        while (!ended_ && turn()) moved_ = true;
        if (ended_) return true;
        if (!moved_ && (level_ || stage_ == stage::left))
            if (const verdict v = head_.talk->listen(true); !v.ok()) leave(v);
        if (!ended_ && (moved_ || !level_)) {  // a level looks at its own watch
            const verdict late = head_.after_turn(moved_, [&] { return head_.talk->awaited(); });
            if (!late.ok()) give_up(late);
        }
        return ended_;
    }
    bool moved() const override { return moved_; }
    void idle() override
    {
        if (level_) level_->idle();
        else if (!head_.elements.done()) head_.elements.yield();
        else link_.idle();
    }
    resting_place rest() override
    {
        if (level_) return level_->rest();
        return head_.elements.done() ? rest_of(link_) : resting_place{};
    }
    void abandon() override { give_up({status::abandoned, head_.me, head_.me}); }
    const outcome& result() const override { return result_; }
    const char* name() const override { return facts().name; }

private:
    static constexpr int most_numbers_of_a_call = 3, most_levels = 3;
    static_assert(1 + most_levels - 1 + most_numbers_of_a_call <= static_cast<int>(call_numbers::per_call));
    enum class stage { looking, comparing, up, across, dividing, down, everybody, closing, left };

    const call_order<T, Link>& order() const { return head_.order; }
    const collective_facts& facts() const { return order().plan.what.facts; }
    bool moves_only() const { return !facts().reduces; }
    /// Are encoded streams added on all levels?
    bool adds() const { return outer_.what.rules.reduce_encoded; }
    bool lossy() const { return outer_.bound.lossy && (adds() ? head_.p > 1 : leaders_.size() > 1); }
    /// Each rank encodes its values once if these are added in encoded form. Otherwise only the first ranks
    /// of the nodes encode.
    detail::promise promised()
    {
        const int among = adds() ? head_.p : static_cast<int>(leaders_.size());
        return {order().plan.bound,     outer_.way.path, outer_.what.rules,
                link_.memory(),         among,           adds() ? order().root : root_index_,
                divides() ? head_.p : 1};
    }
    bool relative() const { return order().plan.bound.kind == bound_kind::relative; }
    bool divides() const { return order().plan.what.op.divides(); }

    void begin()
    {
        const decision<T>& plan = order().plan;
        first_number_ = head_.numbers.next();
        head_.stamp.arguments.path = mixed(plan.way.hash, std::uint64_t{head_.order.user.layout});
        // The first time this may be a collective call of the transport.
        const std::span<const int> nodes = nodes_of(link_);
        for (const int node : nodes)
            head_.stamp.arguments.path =
                mixed(head_.stamp.arguments.path, static_cast<std::uint64_t>(node) + 1);
        result_.facts.ran_by = ran_by::two_levels;
        result_.facts.algorithm = plan.way.name;
        result_.facts.codec = plan.codec_name;
        result_.facts.reason = order().reason;
        result_.facts.direct = plan.what.space.afar != nullptr;
        result_.facts.placement = plan.what.rules.name;
        if (!head_.open()) return end(head_.trouble);
        if (nodes.size() == static_cast<std::size_t>(head_.p)) sort_ranks(nodes);
        else if (head_.trouble.ok())
            head_.trouble = {status::no_nodes,
                             head_.me,
                             head_.me,
                             -1,
                             static_cast<double>(head_.p),
                             static_cast<double>(nodes.size())};

        // From here on the levels do not talk to each other, so whatever ranks must agree on is agreed here.
        head_.stamp.arguments.bound = head_.asked_bound();
        if (plan.bound.lossy) {
            promise_ = promised();
            eb_ = promise_.of_one(head_.stamp.arguments.bound);
        }
        adds_ = adds() && head_.p > 1;
        if ((head_.checks == check_level::local && !relative() && !adds_ && !head_.measures()) ||
            head_.p == 1) {
            head_.elements.wait();  // input may be being copied
            head_.note_trouble_of_elements();
            if (head_.trouble.ok()) return go_up();
            head_.talk->give_up(head_.trouble);
            return end(head_.trouble);
        }
        value_survey wanted;
        wanted.range = relative();
        wanted.magnitude = adds_;
        wanted.counts_non_finite = !outer_.what.addends.adds_non_finite;
        wanted.missing = outer_.what.missing;
        head_.look_at_input(wanted);
        stage_ = stage::looking;
    }

    /// Finds out who is on this rank's node, and who is the first rank of each node.
    void sort_ranks(std::span<const int> nodes)
    {
        const auto p = static_cast<std::size_t>(head_.p);
        ranks_ = link_.memory().take(2 * p * sizeof(int));
        int* const here = reinterpret_cast<int*>(ranks_->bytes.get());
        int* const firsts = here + p;
        std::size_t neighbours = 0, leaders = 0;
        const auto node = [&](int rank) { return nodes[static_cast<std::size_t>(rank)]; };
        const auto leads = [&](int rank) {
            if (facts().rooted && node(rank) == node(order().root)) return rank == order().root;
            for (int earlier = 0; earlier < rank; ++earlier)
                if (node(earlier) == node(rank)) return false;
            return true;
        };
        for (int rank = 0; rank < head_.p; ++rank) {
            const bool leader = leads(rank);
            if (node(rank) == node(head_.me)) {
                if (rank == head_.me) my_place_ = static_cast<int>(neighbours);
                if (leader) leader_place_ = static_cast<int>(neighbours);
                here[neighbours++] = rank;
            }
            if (!leader) continue;
            if (rank == head_.me) leader_index_ = static_cast<int>(leaders);
            if (rank == order().root) root_index_ = static_cast<int>(leaders);
            firsts[leaders++] = rank;
        }
        here_ = {here, neighbours};
        leaders_ = {firsts, leaders};
    }

    bool turn()
    {
        switch (stage_) {
        case stage::looking:
            if (!head_.elements.done()) return false;
            head_.note_trouble_of_elements();
            compare();
            return true;
        case stage::comparing:
        case stage::closing:
            if (head_.p > 1 && !head_.talk->progress()) return head_.talk->moved();
            compared();
            return true;
        case stage::dividing:
            if (!head_.elements.done()) return false;
            head_.note_trouble_of_elements();
            if (head_.trouble.ok()) go_down();
            else give_up(head_.trouble);
            return true;
        case stage::left: return false;
        default: break;
        }
        if (!level_->progress()) return level_->moved();
        level_ended();
        return true;
    }
    void compare()
    {
        const value_survey found = head_.found();
        shared_facts mine;
        mine.lowest = found.lowest;
        mine.highest = found.highest;
        mine.largest = found.largest;
        head_.compare(mine, false);
        stage_ = stage::comparing;
    }
    void compared()
    {
        if (stage_ == stage::closing) return end(head_.talk->merged().trouble);
        const control_message& all = head_.compared();
        if (!all.trouble.ok()) return end(all.trouble);
        result_.facts.agreed = head_.p > 1;
        if (relative())
            eb_ = detail::bound_from_range<T>(order().plan.bound.of_magnitude,
                                              promise_.of_one(head_.asked_bound()), all.facts.lowest,
                                              all.facts.highest);
        if (adds_) choose_addition(all.facts.largest);
        else go_up();
    }
    void level_ended()
    {
        const outcome done = level_->result();
        level_.reset();
        // By a rank that has left the call; all hear why from it, or from whom it heard.
        if (done.trouble.code == status::abandoned) {
            stage_ = stage::left;
            return;
        }
        if (!done.trouble.ok()) {
            const verdict v = of_all_ranks(done.trouble);
            head_.talk->give_up(v);
            result_.transport_says = done.transport_says;
            return end(v);
        }
        report& all = result_.facts;
        if (stage_ == stage::everybody) {
            const char* const name = all.algorithm;
            all = done.facts;
            all.algorithm = name;
            all.agreed = true;
            return compare_verdicts();
        }
        all.raw_bytes += done.facts.raw_bytes;
        all.sent_bytes += done.facts.sent_bytes;
        all.fallback_blocks += done.facts.fallback_blocks;
        all.special_values += done.facts.special_values;
        all.breakdown += done.facts.breakdown;
        if (stage_ == stage::up) return go_across();
        if (stage_ == stage::down) return close();
        const std::size_t n = head_.fitted.recv_elements;
        if (divides() && n > 0) head_.elements.divide(head_.operation(), head_.fitted.data.recv, head_.p, n);
        stage_ = stage::dividing;
    }

    /// The same verdict with ranks of the whole communicator, because a level numbers its own ranks.
    verdict of_all_ranks(verdict v) const
    {
        const std::span<const int> members = stage_ == stage::across ? leaders_ : here_;
        const auto real = [&](int rank) {
            return rank >= 0 && rank < static_cast<int>(members.size())
                       ? members[static_cast<std::size_t>(rank)]
                       : rank;
        };
        v.rank = real(v.rank);
        v.peer = real(v.peer);
        return v;
    }

    /// All ranks know the largest value, so they choose alike. Which ranks share a node does not affect the
    /// choice.
    void choose_addition(double largest)
    {
        const queued_addends<T>& addends = outer_.what.addends;
        const auto holds = [&](double most) {
            return addends.can_add(most, eb_, static_cast<std::size_t>(head_.p));
        };
        const double step = addends.step != nullptr ? addends.step(eb_) : 0;
        if (holds(largest) && detail::survives_decoding<T>(head_.p * (largest + eb_), step))
            outer_.what.sums = sums::held;
        else if (holds(0)) return add_on_one_level();
        else reduce_exactly();
        go_up();
    }
    /// For values that do not fit the codec's integers.
    void reduce_exactly()
    {
        outer_.what.reduce_exactly();
        head_.share_input(head_.fitted.data.send);
        outer_.bound = {};
        result_.facts.codec = policies::Codec::None::name;
        result_.facts.placement = outer_.what.rules.name;
    }
    void run(stage now, const decision<T>& plan, std::span<const int> members, int me, int root,
             const T* send, T* recv, double eb)
    {
        const int level = now == stage::across ? 1 : now == stage::down ? 2 : 0;
        const std::size_t n = head_.fitted.data.count;
        stage_ = now;
        level_link link(link_, members, me, first_number_ + static_cast<std::uint32_t>(level));
        user_buffers<T> user(send, n, recv, n, send == recv);
        user.shape.strides = head_.order.user.shape.strides;
        level_.emplace(call_order<T, level_link>{plan, user, root, eb, nullptr}, link, false);
    }
    void run_within(stage now, const decision<T>& plan, const T* send, T* recv)
    {
        const bool encodes = now == stage::up && adds();
        within_ = plan;
        if (encodes) {
            within_.what = outer_.what;
            within_.what.facts = plan.what.facts;
            within_.codec_name = outer_.codec_name;
            within_.bound = of_one_compression();
            within_.bound.units = plan.bound.units;
        }
        within_.what.op.by_ranks = nullptr;  // only once, at the very end
        within_.patience = order().plan.patience;
        run(now, within_, here_, my_place_, leader_place_, send, recv, encodes ? eb_ : 0);
    }
    /// The bound of one compression, which is known here.
    bound_wish of_one_compression() const
    {
        bound_wish known = outer_.bound;
        known.kind = bound_kind::absolute;
        known.at_run_time = true;
        known.end_to_end = false;
        return known;
    }

    void go_up()
    {
        if (moves_only()) return go_across();
        partial_sum_ = head_.fitted.data.recv;
        // The first rank of a node without the root.
        if (my_place_ == leader_place_ && head_.fitted.recv_elements == 0) {
            partial_ = memory_.take(std::max<std::size_t>(1, head_.fitted.data.count * sizeof(T)));
            partial_sum_ = reinterpret_cast<T*>(partial_->bytes.get());
        }
        run_within(stage::up, *order().inner.reduce, head_.fitted.data.send, partial_sum_);
    }
    /// As if all ranks were on this rank's node. They are in the order of the nodes, so that a ring enters
    /// and leaves each node once.
    void add_on_one_level()
    {
        const std::span<const int> nodes = nodes_of(link_);
        const auto node = [&](int rank) { return nodes[static_cast<std::size_t>(rank)]; };
        int* const all = reinterpret_cast<int*>(ranks_->bytes.get());
        std::size_t ranks = 0;
        int me = 0, root = 0;
        for (const int leader : leaders_)
            for (int rank = 0; rank < head_.p; ++rank) {
                if (node(rank) != node(leader)) continue;
                if (rank == head_.me) me = static_cast<int>(ranks);
                if (rank == order().root) root = static_cast<int>(ranks);
                all[ranks++] = rank;
            }
        here_ = {all, ranks};
        outer_.checks = check_level::local;
        outer_.bound = of_one_compression();
        const call_buffers<T>& data = head_.fitted.data;
        run(stage::everybody, outer_, here_, me, root, data.send, data.recv, eb_);
    }
    void go_across()
    {
        if (leader_index_ == nobody) return go_down();
        outer_.checks = check_level::local;
        outer_.what.op.by_ranks = nullptr;
        if (outer_.bound.lossy) outer_.bound = of_one_compression();
        const bool moves = moves_only();
        const call_buffers<T>& data = head_.fitted.data;
        run(stage::across, outer_, leaders_, leader_index_, root_index_, moves ? data.send : partial_sum_,
            moves ? data.recv : target(), eb_);
    }
    /// Where the sum of all nodes is stored; in a reduce, on the root only.
    T* target() const { return head_.fitted.recv_elements > 0 ? head_.fitted.data.recv : partial_sum_; }
    void go_down()
    {
        if (facts().reduces && facts().rooted) return close();
        run_within(stage::down, *order().inner.bcast, head_.fitted.data.recv, head_.fitted.data.recv);
    }

    void close()
    {
        level_.reset();
        if (lossy()) promise_.write(result_.facts, eb_ * head_.parts());
        compare_verdicts();
    }
    void compare_verdicts()
    {
        if (head_.checks != check_level::collective || head_.p == 1) return end({});
        head_.compare({}, true);
        stage_ = stage::closing;
    }
    void give_up(const verdict& v) override
    {
        if (ended_) return;
        head_.talk->give_up(v);
        leave(v);
    }
    void leave(const verdict& v)
    {
        if (level_) level_->abandon();
        head_.elements.wait();
        end(v);
    }
    void end(const verdict& v)
    {
        level_.reset();
        ended_ = true;
        head_.trouble = v;
        head_.ended();
        if (v.ok() && head_.deliver_copies()) {
            head_.elements.wait();
            head_.note_trouble_of_elements();
        }
        const verdict& last = head_.trouble;
        result_.facts.raw_bytes = head_.bytes_of_user(result_.facts.raw_bytes);
        result_.trouble = head_.in_units_of_user(last);
        if (*result_.transport_says != 0) return;
        result_.transport_says = last.code == status::transport_failed
                                     ? link_.explain()
                                     : words_of(outer_.what.space, last, head_.me);
    }

    Link link_;
    call_head<T, Link> head_;
    decision<T> outer_, within_;  // the plan's, and the one that runs within a node at present
    workspace& memory_;           // of elements
    outcome result_;
    detail::promise promise_;
    std::optional<level_call> level_;
    buffer_memory *ranks_ = nullptr, *partial_ = nullptr;
    T* partial_sum_ = nullptr;
    std::span<const int> here_, leaders_;
    int my_place_ = 0, leader_place_ = 0, leader_index_ = nobody, root_index_ = 0;
    std::uint32_t first_number_ = 0;
    double eb_ = 0;
    stage stage_ = stage::looking;
    bool adds_ = false, ended_ = false, moved_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
