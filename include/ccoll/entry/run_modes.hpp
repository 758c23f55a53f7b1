// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/run_modes.hpp - floor 3. The three ways to run a call: run it to its end, only begin it, or prepare
// it. Each is compiled once per element type, transport and clock. `run` is defined outside its class: g++
// instantiates what is defined inside at every use, also if compiled.hpp says that it is compiled in another
// file.
#pragma once

#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <ccoll/agree/agree.hpp>
#include <ccoll/wait/request.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Begins the call and waits for its end.
struct blocking {
    using result = report;
    static constexpr bool takes_error_code = true;
    /// May the call still run when the expression that began it has ended?
    static constexpr bool outlives_arguments = false;
    static constexpr bool begins_later = false;  ///< are its counts read after that expression, too?

    template <class Call, class Order, class Link>
    CCOLL_OPAQUE static report run(const Order&, Link, std::error_code*);
    /// The result for a communicator that cannot be used.
    static report refused(const char* call, status why, const char* transport_says, std::error_code* code)
    {
        report facts;
        facts.trouble = {why};
        if (code == nullptr) raise(call, facts.trouble, transport_says);
        *code = make_error_code(why);
        return facts;
    }
};

/// Begins the call.
struct nonblocking {
    using result = request;
    static constexpr bool takes_error_code = false, outlives_arguments = true, begins_later = false;

    template <class Call, class Order, class Link>
    CCOLL_OPAQUE static request run(const Order&, Link, std::error_code*);
    static request refused(const char* call, status why, const char* transport_says, std::error_code*)
    {
        raise(call, {why}, transport_says);
    }
};

/// Prepares a call that can be started as often as wanted.
struct preparing {
    using result = persistent;
    static constexpr bool takes_error_code = false, outlives_arguments = true, begins_later = true;

    template <class Call, class Order, class Link>
    class prepared final : public prepared_call {
    public:
        /// Starts are matched by the order in which their calls were prepared, so they do not go to MPI's
        /// nonblocking calls, which are matched by the order in which they begin. Calls without numbers of
        /// their own are matched like these, and their stamps show if ranks start them in another order.
        prepared(const Order& order, Link link) : order_(order), link_(std::move(link))
        {
            order_.native = nullptr;
            if constexpr (requires { link_.note_request(); })
                link_.note_request();  // here, where all ranks are
            place_ = link_.memory().template kept<prepared_so_far>().calls++;
            if (place_ >= call_numbers::most_prepared)
                order_.user.layout =
                    mixed(mixed(hash_seed, std::uint64_t{order_.user.layout}), std::uint64_t{place_});
        }
        pending_call& start() override
        {
            const exact_call environment;
            if (const status refusal = link_.refusal(); refusal != status::ok)
                raise(order_.plan.what.facts.name, {refusal}, link_.explain());
            const sole_use mine(&link_.memory().user());
            if (!mine.granted()) raise(order_.plan.what.facts.name, {status::out_of_turn}, sole_use::refused);
            if (place_ < call_numbers::most_prepared)
                order_.first_number = call_numbers::of_start(place_, starts_++);
            call_.emplace(order_, link_, false);
            call_->note_user(link_.memory().user());
            return *call_;
        }
        pending_call& current() override { return *call_; }

    private:
        Order order_;
        Link link_;
        std::optional<Call> call_;
        std::uint32_t place_ = 0;  ///< among the persistent calls of the communicator
        std::uint32_t starts_ = 0;
    };
    /// How many there are on a communicator.
    struct prepared_so_far {
        std::uint32_t calls = 0;
    };

    template <class Call, class Order, class Link>
    CCOLL_OPAQUE static persistent run(const Order&, Link, std::error_code*);
    static persistent refused(const char* call, status why, const char* transport_says, std::error_code*)
    {
        raise(call, {why}, transport_says);
    }
};

template <class Call, class Order, class Link>
report blocking::run(const Order& order, Link link, std::error_code* code)
{
    Call call(order, std::move(link), true);
    complete(call);
    return conclude(call.name(), call.result(), code);
}

template <class Call, class Order, class Link>
request nonblocking::run(const Order& order, Link link, std::error_code*)
{
    thread_in_it& user = link.memory().user();
    auto call = std::make_unique<Call>(order, std::move(link), false);
    call->note_user(user);
    if (!call->progress()) call->join();
    return request(std::move(call));
}

template <class Call, class Order, class Link>
persistent preparing::run(const Order& order, Link link, std::error_code*)
{
    return persistent(std::make_unique<prepared<Call, Order, Link>>(order, std::move(link)));
}

}  // namespace ccoll::inline CCOLL_ABI::detail
