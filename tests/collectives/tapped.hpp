// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A transport around threads_comm that shows every message to the test, which may count, change or damage it.
#pragma once

#include <functional>
#include <memory>

#include <ccoll/transport/threads.hpp>

namespace worlds {

/// One message as it leaves or arrives. On arrival the test may change `data`, `bytes` and `result`.
struct passing {
    int rank = 0, peer = 0, tag = 0;  ///< rank: the one that sends or receives here
    ccoll::byte_span data;            ///< arrival: the receiver's room; departure: empty
    std::size_t bytes = 0;
    ccoll::status result = ccoll::status::ok;
    ccoll::const_byte_span leaving{};  ///< departure: what is sent

    /// The engine's control messages have the last tag of a call.
    bool control() const
    {
        return tag % ccoll::detail::call_tags::per_call == ccoll::detail::call_tags::lanes;
    }
    /// A question leaves, which a rank asks after a long wait, for example on a slow processor.
    bool question() const
    {
        ccoll::call_stamp stamp;
        return control() && read_stamp(leaving, stamp) == ccoll::status::ok &&
               stamp.kind == ccoll::message_kind::question;
    }
};

/// Called from all ranks' threads at once.
struct tap {
    std::function<void(passing&)> sent = [](passing&) {}, received = [](passing&) {};
    /// Does this receive not end (yet)?
    std::function<bool(const passing&)> held = [](const passing&) { return false; };
};

class tapped_comm {
public:
    struct request {
        std::size_t bytes = 0;
        ccoll::status result = ccoll::status::ok;
        ccoll::threads_comm::request inner{};
        passing what{};
        bool awaited = false;  ///< a receive that has not been shown yet
    };

    tapped_comm(const ccoll::threads_comm& inner, const tap& watcher) : inner_(inner), tap_(&watcher) {}

    int rank() const noexcept { return inner_.rank(); }
    int size() const noexcept { return inner_.size(); }
    ccoll::status refusal() const noexcept { return inner_.refusal(); }
    const char* explain() const noexcept { return inner_.explain(); }
    std::uint32_t begin_call() noexcept { return inner_.begin_call(); }
    ccoll::workspace& memory() noexcept { return inner_.memory(); }
    request post_send(int peer, int tag, ccoll::const_byte_span data)
    {
        request r;
        r.what = {rank(), peer, tag, {}, data.size(), ccoll::status::ok, data};
        tap_->sent(r.what);
        r.inner = inner_.post_send(peer, tag, data);
        r.result = r.inner.result;
        return r;
    }
    request post_recv(int peer, int tag, ccoll::byte_span target)
    {
        request r;
        r.what = {rank(), peer, tag, target};
        r.inner = inner_.post_recv(peer, tag, target);
        r.awaited = true;
        return r;
    }
    bool test(request& r)
    {
        if ((r.awaited && tap_->held(r.what)) || !inner_.test(r.inner)) return false;
        if (r.awaited) {
            r.what.bytes = r.inner.bytes;
            r.what.result = r.inner.result;
            if (r.what.result == ccoll::status::ok) tap_->received(r.what);
            r.bytes = r.what.bytes;
            r.result = r.what.result;
            r.awaited = false;
        } else if (r.inner.result != ccoll::status::ok) {
            r.result = r.inner.result;
        }
        return true;
    }
    bool cancel(request& r)
    {
        r.awaited = false;
        return inner_.cancel(r.inner);
    }
    int probe(int tag) { return inner_.probe(tag); }
    void poll() { inner_.poll(); }
    void idle() { inner_.idle(); }

private:
    ccoll::threads_comm inner_;
    const tap* tap_;
};

static_assert(ccoll::transport<tapped_comm>);

}  // namespace worlds
