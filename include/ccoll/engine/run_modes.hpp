// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/run_modes.hpp - floor 3. The three ways to run a call: run it to its end, only begin it, or prepare it. Each is compiled once per
// element type, transport and clock. `run` is defined outside its class: g++ instantiates what is defined inside at every use, also if
// compiled.hpp says that it is compiled in another file.
#pragma once

#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <ccoll/engine/request.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Begins the call and waits for its end.
struct blocking {
    using result = report;
    static constexpr bool takes_error_code = true;
    static constexpr bool outlives_arguments = false;  ///< may the call still run when the expression that began it has ended?
    static constexpr bool begins_later = false;        ///< are its counts read after that expression, too?

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
        prepared(const Order& order, Link link) : order_(order), link_(std::move(link)) {}
        pending_call& start() override
        {
            const exact_call environment;
            if (const status refusal = link_.refusal(); refusal != status::ok)
                raise(order_.plan.what.facts.name, {refusal}, link_.explain());
            return call_.emplace(order_, link_, false);
        }
        pending_call& current() override { return *call_; }

    private:
        Order order_;
        Link link_;
        std::optional<Call> call_;
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
    auto call = std::make_unique<Call>(order, std::move(link), false);
    if (!call->progress()) call->join();
    return request(std::move(call));
}

template <class Call, class Order, class Link>
persistent preparing::run(const Order& order, Link link, std::error_code*)
{
    return persistent(std::make_unique<prepared<Call, Order, Link>>(order, std::move(link)));
}

}  // namespace ccoll::inline CCOLL_ABI::detail
