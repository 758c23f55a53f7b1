// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/call_head.hpp - floor 3. The head of a collective call, whatever runs it: numbers, stamp, fitted
// buffers, the bound, the questions about the values, the agreement, and the time limit.
#pragma once

#include <memory>
#include <optional>

#include <ccoll/base/extremes.hpp>
#include <ccoll/agree/agree.hpp>
#include <ccoll/space/element_work.hpp>
#include <ccoll/agree/plan_word.hpp>
#include <ccoll/call/promise.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <element T, transport Link>
class call_head {
public:
    call_head(const call_order<T, Link>& begun, Link& link)
        : order(begun), me(link.rank()), p(link.size()), checks(begun.checks),
          numbers(link, begun.first_number),
          elements(begun.plan.what.space, begun.plan.what.space.queue(0), link.memory()), link_(link),
          watch_(begun.plan.patience)
    {
        stamp = begun.plan.what.stamp;
        stamp.call = numbers.next();
        // Ranks must have the same ones.
        if (const narrow_elements* const narrow = begun.user.narrow; narrow != nullptr) {
            auto plan = detail::plan_word::unpacked(stamp.arguments.plan);
            plan.dtype = narrow->dtype;
            stamp.arguments.plan = plan.packed();
        }
    }
    call_head(const call_head&) = delete;
    call_head& operator=(const call_head&) = delete;
    ~call_head() { link_.memory().drop(tables_); }

    /// Fits the user's buffers. What does not fit becomes `trouble`, of which the caller tells all ranks.
    /// @return false if the root does not exist. Then there is no schedule to keep to, and all ranks have
    ///     been told.
    /// @param without_copies  the caller asks for two_bytes() and puts it into its task
    bool open(bool without_copies = false)
    {
        talk.emplace(link_, stamp);
        const int root = order.root;
        if (root < 0 || root >= p) {
            trouble = {status::bad_root, me, me, -1, static_cast<double>(p - 1), static_cast<double>(root)};
            talk->give_up(trouble);
            return false;
        }
        // On all ranks, whatever this one's buffers are.
        shares_ = may_share() && !order.plan.what.rules.reduce_encoded;
        const bool compares =
            checks == check_level::collective || order.plan.bound.kind == bound_kind::relative;
        const auto fit_these = [&, table = tables()](const user_buffers<T>& user) {
            return fit(user, order.plan.what.facts, me, p, root, table, compares);
        };
        fitted = fit_these(order.user);
        trouble = fitted.trouble;
        enter_space();
        if (trouble.ok()) {
            if (order.user.narrow != nullptr && without_copies && needs_no_copies())
                fitted = fit_these(as_two_bytes());
            else if (order.user.narrow != nullptr || scales_blocks()) fitted = fit_these(with_copies());
        }
        stamp.arguments.root = root;
        stamp.arguments.count = fitted.data.count;
        if (measures())
            stamp.arguments.path = mixed(stamp.arguments.path, std::uint64_t{order.measures->common});
        if (trouble.ok() && *objection() != 0) trouble = {status::bad_argument, me, me};
        return true;
    }

    // ---- averages in shares ----

    /// What the copies of narrow elements have been divided by, so that no sum of them is too large: a power
    /// of two. The bound that ranks work with has been divided as well. 1 where there are no shares, and
    /// where encoded streams are added, whose sums may be large.
    double parts() const { return shares_ ? detail::parts_of_share(p) : 1; }
    /// That of the plan.
    reduction<T> operation() const
    {
        reduction<T> op = order.plan.what.op;
        if constexpr (std::is_same_v<T, float>)
            if (shares_) op.by_ranks = &divide_shares_by_ranks<T>;
        return op;
    }
    /// Encoded streams are not added after all.
    /// @param values  of the input, in memory of the call if it works with copies
    void share(const T* values, std::size_t n)
    {
        make_copies(values, n);
        if (!may_share()) return;
        shares_ = true;
        elements.divide(order.plan.what.op, const_cast<T*>(values), detail::parts_of_share(p), n);
    }
    void share_input(const T* values)
    {
        each_part_of_input([&](std::size_t from, std::size_t n) { share(values + from, n); });
        two_bytes_ = {};  // from here on, copies are copies
    }

    // ---- elements of two bytes without copies ----

    /// What the codec needs in order to read and write the user's elements; null if there are copies in T.
    const two_byte_elements* two_bytes() const { return two_bytes_.count > 0 ? &two_bytes_ : nullptr; }
    /// The input is going to be overwritten. @return where it is from now on
    const T* put_input_aside(const T* values)
    {
        if constexpr (std::is_same_v<T, float>)
            if (two_bytes_.count > 0 && two_bytes_.stand_for(values)) {
                T* const to = elements.room_aside(fitted.send_elements);
                elements.widen(*order.user.narrow, narrow_input(0), to, fitted.send_elements);
                return to;
            }
        return elements.put_aside(values, fitted.send_elements);
    }
    /// A part of a result that is in copies after all becomes the user's.
    void deliver_part(const T* result, std::size_t n)
    {
        if constexpr (std::is_same_v<T, float>)
            if (n > 0 && two_bytes_.count > 0 && two_bytes_.stand_for(result))
                elements.narrow(*order.user.narrow, result,
                                reinterpret_cast<std::byte*>(order.user.recv) +
                                    static_cast<std::size_t>(result - copies_) * order.user.narrow->bytes,
                                n);
    }
    /// Work on elements is done. If it has failed, that is this rank's trouble, unless it has another.
    void note_trouble_of_elements()
    {
        if (const status s = elements.trouble(); s != status::ok && trouble.ok()) trouble = {s, me, me};
    }
    /// The answers to look_at_input, of shares.
    value_survey found() const
    {
        value_survey all = elements.found();
        all.lowest /= parts();
        all.highest /= parts();
        return all;
    }
    verdict in_units_of_user(verdict v) const
    {
        if (v.code == status::bound_differs) {
            v.expected *= parts();
            v.found *= parts();
        }
        return v;
    }

    /// The bound that the user asks for; sets `trouble` if it is not a bound. A relative bound is a fraction
    /// until the range is known.
    double asked_bound()
    {
        const bound_wish& wish = order.plan.bound;
        if (!wish.lossy) return 0;
        const double asked = wish.at_run_time ? order.eb : wish.value;
        if (is_bound(asked)) return wish.kind == bound_kind::absolute ? asked / parts() : asked;
        if (trouble.ok()) trouble = {status::bad_bound, me, me, -1, 0, asked};
        return 1;
    }

    /// Begins to survey what this rank contributes, piece by piece.
    void look_at_input(const value_survey& wanted)
    {
        elements.ask(wanted);
        if (!trouble.ok() || (!wanted.range && !wanted.magnitude)) return;
        each_part_of_input([&](std::size_t from, std::size_t n) {
            if (order.user.narrow != nullptr && scales_ == nullptr)
                elements.look(*order.user.narrow, narrow_input(from), n);
            else elements.look(fitted.data.send + from, n);
        });
    }

    /// Begins to bring the result of a call with copies in T to the user's elements: multiplied by the scales
    /// of its blocks, and rounded.
    /// @param error  that an element of the result may have, in units of scales
    /// @return false if there is nothing to do (any more)
    bool deliver_copies(double error = 0)
    {
        if (copies_ == nullptr) return false;
        T* const result = std::exchange(copies_, nullptr);
        if (two_bytes_.count > 0) return false;
        const bool narrows = order.user.narrow != nullptr;
        if constexpr (scaled_element<T>)
            if (scales_ != nullptr)
                elements.multiply_by_scales(
                    result, narrows ? result : order.user.recv, fitted.recv_elements, begin_of_result(),
                    block(), scales_,
                    {narrows ? order.user.narrow->greatest : greatest_number<T>, error, 2.0 * p});
        if (narrows) elements.narrow(*order.user.narrow, result, order.user.recv, fitted.recv_elements);
        return true;
    }

    // ---- scales of blocks ----

    bool scales_blocks() const { return p > 1 && block() != 0; }
    const std::uint8_t* scales() const { return scales_; }
    /// Begins to find those of this rank.
    /// @return where they will be: an operand of an allreduce by space_operations::larger_scales
    user_buffers<T> find_scales()
    {
        const std::size_t n = trouble.ok() ? fitted.data.count : 0;
        const std::size_t bytes = n / block() + (n % block() != 0);
        const std::size_t whole = bytes / sizeof(T) + (bytes % sizeof(T) != 0);
        T* const room = elements.room_aside(whole);
        scales_ = reinterpret_cast<std::uint8_t*>(room);
        if (n > 0) elements.find_scales(unscaled_, n, block(), scales_);
        return {room, whole, room, whole, true};
    }
    /// Begins to divide the input by the scales of all ranks.
    void use_scales()
    {
        elements.divide_by_scales(unscaled_, const_cast<T*>(fitted.data.send), fitted.data.count, block(),
                                  scales_, largest_scale_);
    }
    /// What a bound in units of scales has to be multiplied by for the block with the largest one.
    double largest_scale() const { return scales_ != nullptr ? block_scale::value(largest_scale_) : 1; }
    /// Bytes of the user's elements. @param bytes  of as many T
    std::size_t bytes_of_user(std::size_t bytes) const
    {
        return bytes / sizeof(T) * order.user.element_bytes();
    }

    /// Goes on under the next number of the call. Messages of what came before cannot be mistaken for what
    /// follows.
    void next_number()
    {
        stamp.call = numbers.next();
        talk.emplace(link_, stamp);
    }

    /// Begins an agreement.
    /// @param facts  of this rank
    /// @param closing  true: on the verdict, after the last element
    void compare(const shared_facts& facts, bool closing)
    {
        control_message mine;
        mine.trouble = trouble;
        mine.facts = facts;
        mine.closing = closing ? 1 : 0;
        if (measures()) mine.facts.measured = order.measures->mine;
        talk->begin(mine);
    }
    /// Do ranks tell each other what they have measured?
    bool measures() const { return order.measures != nullptr; }
    /// Why this rank cannot make the call, or "".
    const char* objection() const
    {
        return measures() && order.measures->objection != nullptr ? order.measures->objection : "";
    }
    /// The comparison before the first element has ended. @return what all ranks hold
    const control_message& compared()
    {
        const control_message& all = talk->merged();
        trouble = all.trouble;
        if (measures()) order.measures->compared(all);
        return all;
    }
    void ended()
    {
        if (measures()) order.measures->ended(trouble.ok());
    }

    /// When an exception ends the call on this rank: tells the others, if there is still memory for it.
    void say_last_words(status why = status::out_of_memory) noexcept
    {
        detail::went_well([&] {  // else the others wait as long as their Timeout says
            if (talk) talk->give_up({why, me, me});
        });
    }

    /// Once per turn.
    /// @param whom  () -> the rank that is awaited
    /// @return ok, or the verdict with which to give up
    template <class Awaited>
    verdict after_turn(bool moved, Awaited whom)
    {
        return watch_.after_turn(moved, me, whom);
    }

    const call_order<T, Link> order;
    const int me, p;
    const check_level checks;
    call_stamp stamp;
    call_numbers numbers;  ///< the next ones of this call
    std::optional<control<Link>> talk;
    fitted_buffers<T> fitted;
    verdict trouble;
    element_work<T> elements;

private:
    template <class Look>
    void each_part_of_input(Look look) const
    {
        if (fitted.data.send_parts.empty()) look(std::size_t{0}, fitted.send_elements);
        for (const part& each : fitted.data.send_parts) look(each.offset, each.count);
    }
    bool may_share() const
    {
        return order.user.narrow != nullptr && order.user.narrow->in_shares && p > 1 &&
               order.plan.what.op.divides();
    }
    const void* narrow_input(std::size_t from) const
    {
        return reinterpret_cast<const std::byte*>(order.user.send) + from * order.user.narrow->bytes;
    }
    /// Blocks have scales, so parts of the input are brought side by side.
    bool packs() const
    {
        return scales_blocks() && order.user.send_lists && order.user.send_lists->displacements.given();
    }
    /// The user's buffers, but with memory for copies in T: one that is both if the user passed one, or if
    /// input and result are as long.
    user_buffers<T> with_room_for_copies()
    {
        user_buffers<T> user = order.user;
        const bool one = user.in_place || order.plan.what.facts.one_vector;
        if (packs()) {
            user.send_lists->displacements = {};
            user.send_size = fitted.data.count;
        }
        const std::size_t sent = packs() ? fitted.data.count : fitted.send_elements,
                          taken = fitted.recv_elements;
        T* const copies = elements.room_aside(one ? std::max(sent, taken) : sent + taken);
        user.send = copies;
        user.recv = copies_ = one ? copies : copies + sent;
        return user;
    }
    /// The same, with the input in T in it, unless it is where the user has it.
    user_buffers<T> with_copies()
    {
        const user_buffers<T> user = with_room_for_copies();
        const bool narrows = user.narrow != nullptr;
        unscaled_ = narrows || packs() ? user.send : order.user.send;
        std::size_t side_by_side = 0;
        if (unscaled_ != order.user.send)
            each_part_of_input([&](std::size_t from, std::size_t n) {
                T* const to = const_cast<T*>(user.send) + (packs() ? side_by_side : from);
                if (narrows) elements.widen(*user.narrow, narrow_input(from), to, n);
                else elements.copy(order.user.send + from, to, n);
                if (shares_) share(to, n);
                side_by_side += n;
            });
        return user;
    }
    /// Where streams are added encoded, the elements are read once and written once, by the codec.
    bool needs_no_copies() const
    {
        const collective_facts& facts = order.plan.what.facts;
        return order.plan.what.rules.reduce_encoded && order.user.narrow->widen_now != nullptr && p > 1 &&
               facts.reduces && facts.one_vector && !facts.one_way && !scales_blocks() &&
               fitted.send_elements > 0 && !fitted.copy_send && fitted.move_to == nullptr;
    }
    /// The addresses of copies, which are never touched unless sums cannot be added encoded.
    user_buffers<T> as_two_bytes()
    {
        const user_buffers<T> user = with_room_for_copies();
        if constexpr (std::is_same_v<T, float>)
            two_bytes_ = {copies_,         fitted.send_elements,         order.user.send,
                          order.user.recv, order.user.narrow->widen_now, order.user.narrow->round_now};
        return user;
    }
    void make_copies(const T* values, std::size_t n)
    {
        if constexpr (std::is_same_v<T, float>)
            if (n > 0 && two_bytes_.count > 0 && two_bytes_.stand_for(values))
                elements.widen(*order.user.narrow, narrow_input(static_cast<std::size_t>(values - copies_)),
                               const_cast<T*>(values), n);
    }
    /// Where this rank's result begins in the vector.
    std::size_t begin_of_result() const
    {
        if (order.plan.what.facts.recv == extent::whole) return 0;
        const auto before = static_cast<std::size_t>(me);
        const std::span<const part> parts = fitted.data.send_parts;
        if (parts.empty()) return fitted.data.own * before;
        std::size_t begin = 0;
        for (const part& each : parts.first(before)) begin += each.count;
        return begin;
    }
    std::size_t block() const { return order.plan.bound.block; }
    /// From here on, what the call begins comes after the work that the user has named.
    void enter_space()
    {
        const space_operations<T>& space = order.plan.what.space;
        if (space.afar != nullptr && trouble.ok())
            if (const status s = detail::reach(link_, space.afar->memory); s != status::ok) trouble = {s, me};
        if (space.enter == nullptr || !trouble.ok()) return;
        const T* const send = fitted.send_elements > 0 ? order.user.send : nullptr;
        const T* const recv = fitted.recv_elements > 0 ? order.user.recv : nullptr;
        if (const status s = space.enter(order.user.after, send, recv); s != status::ok) trouble = {s, me};
    }
    std::span<part> tables()
    {
        const neighbor_list* const around = order.user.neighbors.get();
        if (!order.user.varied && around == nullptr) return {};
        const auto entries =
            static_cast<std::size_t>(around != nullptr ? around->send_parts() + around->recv_parts() : 2 * p);
        tables_ = link_.memory().take(std::max<std::size_t>(1, entries) * sizeof(part));
        part* const first = reinterpret_cast<part*>(tables_->bytes.get());
        std::uninitialized_value_construct_n(first, entries);
        return {first, entries};
    }

    Link& link_;
    buffer_memory* tables_ = nullptr;
    T* copies_ = nullptr;          ///< the result, before it becomes that of the user
    const T* unscaled_ = nullptr;  ///< the input in T, its parts side by side
    two_byte_elements two_bytes_;
    std::uint8_t* scales_ = nullptr;
    std::uint8_t largest_scale_ = 0;
    bool shares_ = false;
    stop_watch watch_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
