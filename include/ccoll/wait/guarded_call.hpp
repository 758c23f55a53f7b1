// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wait/guarded_call.hpp - floor 3. A call over a guarded link: a call of any kind, which knows nothing of
// the guard, and then the last acknowledgements.
#pragma once

#include <utility>

#include <ccoll/plan/guard.hpp>
#include <ccoll/wait/pending.hpp>
#include <ccoll/transport/guarded.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// @tparam Call  made from an order and a guarded link
template <class Call, class Link>
class guarded_call final : public pending_call {
public:
    template <class Order>
    guarded_call(const Order& order, Link link, bool may_block)
        : link_(std::move(link)), before_(link_.counts()), failures_(link_.failures()),
          watch_(order.plan.patience), farewell_{link_}, inner_(order, link_, may_block)
    {}

    bool advance() override
    {
        if (ended_) return true;
        moved_ = false;
        const std::uint64_t events = link_.events();
        if (!inner_done_) {
            inner_done_ = inner_.progress();
            moved_ = inner_done_ || inner_.moved();
            if (!inner_done_ && link_.failures() != failures_) {
                any().give_up(link_.trouble());
                inner_done_ = true;
            }
            if (!inner_done_) return false;
            since_ = link_.now();
            result_ = inner_.result();
        }
        settle();
        moved_ = moved_ || link_.events() != events;
        return ended_;
    }
    bool moved() const override { return moved_; }
    void idle() override
    {
        if (inner_done_) link_.idle();
        else inner_.idle();
    }
    resting_place rest() override { return inner_done_ ? rest_of(link_) : inner_.rest(); }
    void abandon() override
    {
        if (ended_) return;
        if (!inner_done_) inner_.abandon();
        result_ = inner_.result();
        inner_done_ = true;
        since_ = link_.now();
        while (!ended_) settle();  // the others should hear of it
    }
    void give_up(const verdict& v) override
    {
        if (!inner_done_) any().give_up(v);
    }
    const outcome& result() const override { return result_; }
    const char* name() const override { return inner_.name(); }

private:
    /// An exception ends the call on this rank. The inner call says so as it ends; this outlives it, and sees
    /// that it arrives.
    struct farewell {
        Link& link;
        bool due = true;

        farewell(Link& l) : link(l) {}
        farewell(const farewell&) = delete;
        farewell& operator=(const farewell&) = delete;
        ~farewell()
        {
            if (!due) return;
#if defined(__cpp_exceptions)
            try {
#endif
                for (const double since = link.now(); !link.settle(link.now() - since, true);) {}
                link.stop_listening();
#if defined(__cpp_exceptions)
            } catch (...) {  // then there is no memory for it
            }
#endif
        }
    };

    pending_call& any() { return inner_; }

    void settle()
    {
        const std::uint64_t events = link_.events();
        const bool done = link_.settle(link_.now() - since_, !result_.trouble.ok());
        const verdict late = watch_.after_turn(done || link_.events() != events, link_.rank(),
                                               [&] { return link_.awaited(); });
        if (result_.trouble.ok()) result_.trouble = link_.failures() != failures_ ? link_.trouble() : late;
        if (!done) return;
        const link_counts& all = link_.counts();
        result_.facts.faults = {all.detected - before_.detected, all.corrected - before_.corrected,
                                all.resent - before_.resent};
        link_.stop_listening();
        ended_ = true;
        farewell_.due = false;
    }

    Link link_;
    const link_counts before_;
    const std::uint64_t failures_;
    stop_watch watch_;
    farewell farewell_;
    Call inner_;
    outcome result_;
    double since_ = 0;
    bool inner_done_ = false, ended_ = false, moved_ = false;
};

template <class Integrity>
    requires Integrity::protects
struct guard_of<Integrity> {
    template <transport Base>
    static guarded<Base> link(Base base)
    {
        return {std::move(base),
                protection{Integrity::corrects, hamming_code_for(Integrity::bit_error_rate)}};
    }
    template <class Call, class Link>
    using call = guarded_call<Call, Link>;
};
}  // namespace ccoll::inline CCOLL_ABI::detail
