// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/hierarchy.hpp - floor 3. Algo::Hierarchical: a call as up to three calls, one after the other, of which only the one between
// nodes has a codec.
//
//   allreduce   reduce to the first rank of every node, allreduce between these, bcast within the nodes
//   reduce      reduce to the first rank of every node, reduce between these to the root
//   bcast       bcast from the root to the first ranks of the nodes, bcast within the nodes
//
// With a root, the root is the first rank of its node.
#pragma once

#include <ccoll/algo/hierarchical.hpp>
#include <ccoll/engine/running_call.hpp>
#include <ccoll/transport/group.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Ranks compare their arguments on the whole communicator before the first level (under Check::Local only where frames are to be added,
/// or for a relative bound), and whoever meets trouble on a level tells all ranks of it there.
template <element T, transport Link, class Clock>
class hierarchical_call final : public pending_call {
    using level_link = group<Link>;
    using level_call = running_call<T, level_link, Clock>;

public:
    hierarchical_call(const call_order<T, Link>& order, Link link, bool)
        : order_(order), link_(std::move(link)), me_(link_.rank()), p_(link_.size()), outer_(order.plan)
    {
        begin();
    }
    ~hierarchical_call() override
    {
        level_.reset();
        for (buffer_memory* each : {ranks_, partial_}) link_.memory().drop(each);
    }

    bool progress() override
    {
        moved_ = false;
        while (!ended_ && turn()) moved_ = true;
        if (ended_) return true;
        if (moved_ || stage_ == stage::comparing || stage_ == stage::closing) {
            if (order_.plan.timeout_s > 0)
                if (const double waited = patience_.waited(moved_, order_.plan.now_s()); waited > order_.plan.timeout_s)
                    give_up({status::timed_out, me_, talk_->awaited(), -1, order_.plan.timeout_s, waited});
        } else if (const verdict v = talk_->listen(true); !v.ok()) {
            leave(v);
        }
        return ended_;
    }
    bool moved() const override { return moved_; }
    void idle() override
    {
        if (level_) level_->idle();
        else link_.idle();
    }
    void abandon() override
    {
        if (!ended_) give_up({status::abandoned, me_, me_});
    }
    const outcome& result() const override { return result_; }
    const char* name() const override { return facts().name; }

private:
    static constexpr int numbers_of_a_level = 2, most_levels = 3;
    static_assert(2 + most_levels * numbers_of_a_level <= static_cast<int>(call_numbers::per_call));
    enum class stage { comparing, up, across, down, closing };

    const collective_facts& facts() const { return order_.plan.what.facts; }
    bool moves_only() const { return !facts().reduces; }

    void begin()
    {
        stamp_ = order_.plan.what.stamp;
        stamp_.arguments.path = order_.plan.way.hash;
        call_numbers numbers(link_);
        stamp_.call = numbers.next();
        numbers.next();
        first_number_ = numbers.next();
        const std::span<const int> nodes = nodes_of(link_);  // the first time that may be a collective of the transport's own
        for (const int node : nodes) stamp_.arguments.plan = mixed(stamp_.arguments.plan, static_cast<std::uint64_t>(node) + 1);
        talk_.emplace(link_, stamp_);
        result_.facts.algorithm = order_.plan.way.name;
        result_.facts.codec = order_.plan.codec_name;
        result_.facts.placement = order_.plan.what.rules.name;
        if (order_.root < 0 || order_.root >= p_) {
            const verdict v{status::bad_argument, me_, me_, -1, static_cast<double>(p_ - 1), static_cast<double>(order_.root)};
            talk_->give_up(v);
            return end(v);
        }
        fitted_ = fit(order_.user, facts(), me_, p_, order_.root, {});
        stamp_.arguments.root = order_.root;
        stamp_.arguments.count = fitted_.data.count;
        verdict trouble = fitted_.trouble;
        if (nodes.size() == static_cast<std::size_t>(p_)) sort_ranks(nodes);
        else if (trouble.ok()) trouble = {status::no_nodes, me_, me_, -1, static_cast<double>(p_), static_cast<double>(nodes.size())};

        // From here on the levels keep to themselves: what has to be agreed upon is agreed upon here.
        const bool relative = outer_.bound == bound_kind::relative;
        const double bound = outer_.bound_at_run_time ? order_.eb : outer_.bound_value;
        if (outer_.lossy && !is_bound(bound) && trouble.ok()) trouble = {status::bad_bound, me_, me_};
        stamp_.arguments.bound = outer_.lossy && is_bound(bound) ? bound : 0;
        eb_ = bound;
        adds_ = outer_.what.rules.reduce_encoded && leaders_.size() > 1;
        if ((outer_.checks == check_level::local && !relative && !adds_) || p_ == 1) {
            if (!trouble.ok()) {
                talk_->give_up(trouble);
                return end(trouble);
            }
            return go_up();
        }
        control_message mine;
        mine.trouble = trouble;
        mine.lowest = std::numeric_limits<double>::infinity();
        mine.highest = -mine.lowest;
        if constexpr (floating_element<T>) {
            if (relative && trouble.ok()) detail::widen_range(fitted_.data.send, fitted_.send_elements, mine.lowest, mine.highest);
            if (adds_ && trouble.ok())  // what a node adds up may be as many times as large
                mine.largest = static_cast<double>(here_.size()) *
                               detail::largest_magnitude(fitted_.data.send, fitted_.send_elements, !outer_.what.addends.adds_non_finite);
        }
        talk_->begin(mine);
        stage_ = stage::comparing;
    }

    /// Who is on this rank's node, and who is the first of each.
    void sort_ranks(std::span<const int> nodes)
    {
        const auto p = static_cast<std::size_t>(p_);
        ranks_ = link_.memory().take(2 * p * sizeof(int));
        int* const here = reinterpret_cast<int*>(ranks_->bytes.get());
        int* const firsts = here + p;
        std::size_t neighbours = 0, leaders = 0;
        const auto node = [&](int rank) { return nodes[static_cast<std::size_t>(rank)]; };
        const auto leads = [&](int rank) {
            if (facts().rooted && node(rank) == node(order_.root)) return rank == order_.root;
            for (int earlier = 0; earlier < rank; ++earlier)
                if (node(earlier) == node(rank)) return false;
            return true;
        };
        for (int rank = 0; rank < p_; ++rank) {
            const bool leader = leads(rank);
            if (node(rank) == node(me_)) {
                if (rank == me_) my_place_ = static_cast<int>(neighbours);
                if (leader) leader_place_ = static_cast<int>(neighbours);
                here[neighbours++] = rank;
            }
            if (!leader) continue;
            if (rank == me_) leader_index_ = static_cast<int>(leaders);
            if (rank == order_.root) root_index_ = static_cast<int>(leaders);
            firsts[leaders++] = rank;
        }
        here_ = {here, neighbours};
        leaders_ = {firsts, leaders};
    }

    bool turn()
    {
        if (stage_ == stage::comparing || stage_ == stage::closing) {
            if (p_ > 1 && !talk_->progress()) return talk_->moved();
            const control_message& all = talk_->merged();
            if (stage_ == stage::closing || !all.trouble.ok()) return end(all.trouble), true;
            result_.facts.agreed = p_ > 1;
            if constexpr (floating_element<T>)
                if (outer_.bound == bound_kind::relative) eb_ = detail::bound_from_range<T>(outer_.bound_value, all.lowest, all.highest);
            if (adds_ && !outer_.what.addends.can_add(all.largest, detail::share_of(eb_, divisor()), leaders_.size())) reduce_exactly();
            go_up();
            return true;
        }
        if (!level_->progress()) return level_->moved();
        const outcome done = level_->result();
        level_.reset();
        if (!done.trouble.ok()) {
            const verdict v = of_all_ranks(done.trouble);
            talk_->give_up(v);
            result_.transport_says = done.transport_says;
            return end(v), true;
        }
        report& all = result_.facts;
        all.raw_bytes += done.facts.raw_bytes;
        all.sent_bytes += done.facts.sent_bytes;
        all.fallback_blocks += done.facts.fallback_blocks;
        all.breakdown += done.facts.breakdown;
        if (stage_ == stage::up) {
            go_across();
        } else if (stage_ == stage::across) {
            if (divides()) order_.plan.what.op.divide(fitted_.data.recv, p_, fitted_.recv_elements);
            go_down();
        } else {
            close();
        }
        return true;
    }

    /// A level counts its own ranks.
    verdict of_all_ranks(verdict v) const
    {
        const std::span<const int> members = stage_ == stage::across ? leaders_ : here_;
        const auto real = [&](int rank) { return rank >= 0 && rank < static_cast<int>(members.size()) ? members[static_cast<std::size_t>(rank)] : rank; };
        v.rank = real(v.rank);
        v.peer = real(v.peer);
        return v;
    }

    /// What quanta between nodes cannot hold: known to all ranks, those that take no part there as well.
    void reduce_exactly()
    {
        outer_.what.reduce_exactly();
        outer_.lossy = false;
        outer_.bound = bound_kind::none;
        result_.facts.codec = policies::Codec::None::name;
        result_.facts.placement = outer_.what.rules.name;
    }
    /// How often a bound adds up between the nodes.
    double units() { return detail::units_of(outer_, link_.memory(), static_cast<int>(leaders_.size()), root_index_); }
    double divisor() { return outer_.end_to_end ? std::max(1.0, units()) : 1; }

    bool divides() const { return order_.plan.what.op.divide != nullptr && fitted_.recv_elements > 0; }

    void run(stage now, const decision<T>& plan, std::span<const int> members, int me, int root, const T* send, T* recv, double eb)
    {
        stage_ = now;
        const int level = static_cast<int>(now) - static_cast<int>(stage::up);
        const user_buffers<T> buffers{send, fitted_.data.count, recv, fitted_.data.count, send == recv};
        level_link link(link_, members, me, first_number_ + static_cast<std::uint32_t>(level * numbers_of_a_level));
        level_.emplace(call_order<T, level_link>{plan, buffers, root, eb, nullptr}, link, false);
    }

    void go_up()
    {
        if (moves_only()) return go_across();
        within_ = *order_.inner.reduce;
        within_.what.op.divide = nullptr;  // once, at the very end
        within_.timeout_s = order_.plan.timeout_s;
        within_.now_s = order_.plan.now_s;
        T* into = fitted_.data.recv;
        if (my_place_ == leader_place_ && fitted_.recv_elements == 0) {  // the first rank of a node where the root is not
            partial_ = link_.memory().take(std::max<std::size_t>(1, fitted_.data.count * sizeof(T)));
            into = reinterpret_cast<T*>(partial_->bytes.get());
        }
        partial_sum_ = into;
        run(stage::up, within_, here_, my_place_, leader_place_, fitted_.data.send, into, 0);
    }
    void go_across()
    {
        if (leader_index_ == nobody) return go_down();
        outer_.checks = check_level::local;
        outer_.what.op.divide = nullptr;
        if (outer_.lossy) {
            outer_.bound = bound_kind::absolute;
            outer_.bound_at_run_time = true;
        }
        const bool moves = moves_only();
        run(stage::across, outer_, leaders_, leader_index_, root_index_, moves ? fitted_.data.send : partial_sum_, moves ? fitted_.data.recv : target(), eb_);
    }
    /// Where the sum of all nodes belongs; in a reduce, on the root alone.
    T* target() const { return fitted_.recv_elements > 0 ? fitted_.data.recv : partial_sum_; }
    void go_down()
    {
        if (facts().reduces && facts().rooted) return close();
        within_ = *order_.inner.bcast;
        within_.timeout_s = order_.plan.timeout_s;
        within_.now_s = order_.plan.now_s;
        run(stage::down, within_, here_, my_place_, leader_place_, fitted_.data.recv, fitted_.data.recv, 0);
    }

    void close()
    {
        level_.reset();
        if (outer_.lossy && leaders_.size() > 1) {
            const double ranks = order_.plan.what.op.divide != nullptr ? p_ : 1;
            detail::promise(result_.facts, detail::share_of(eb_, divisor()), units() / ranks, ranks, outer_.growth, outer_.what.rules);
        }
        if (order_.plan.checks != check_level::collective || p_ == 1) return end({});
        control_message mine;
        mine.closing = 1;
        talk_->begin(mine);
        stage_ = stage::closing;
    }
    void give_up(const verdict& v)
    {
        talk_->give_up(v);
        leave(v);
    }
    void leave(const verdict& v)
    {
        if (level_) level_->abandon();
        end(v);
    }
    void end(const verdict& v)
    {
        level_.reset();
        ended_ = true;
        result_.trouble = v;
        if (v.code == status::transport_failed && *result_.transport_says == 0) result_.transport_says = link_.explain();
    }

    const call_order<T, Link> order_;
    Link link_;
    const int me_, p_;
    decision<T> outer_, within_;  // the plan's, and what is run on a node at present
    outcome result_;
    call_stamp stamp_;
    std::optional<control<Link>> talk_;
    fitted_buffers<T> fitted_;
    std::optional<level_call> level_;
    buffer_memory *ranks_ = nullptr, *partial_ = nullptr;
    T* partial_sum_ = nullptr;
    std::span<const int> here_, leaders_;
    int my_place_ = 0, leader_place_ = 0, leader_index_ = nobody, root_index_ = 0;
    std::uint32_t first_number_ = 0;
    double eb_ = 0;
    stop_watch patience_;
    stage stage_ = stage::comparing;
    bool adds_ = false, ended_ = false, moved_ = false;
};

}  // namespace ccoll
