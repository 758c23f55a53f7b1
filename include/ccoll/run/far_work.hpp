// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run/far_work.hpp - floor 3. What a lane does in addition if the host cannot read its messages
// (far_messages in space.hpp). All of it is begun on the queue of the lane, which does it in order, and the
// executor settles it like codec work.
#pragma once

#include <cstddef>

#include <ccoll/run/lane_work.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// On a lane of `Engine`, an executor with far messages.
template <class Engine>
struct far_work {
    using T = typename Engine::element_type;
    using piece = begun_work<T>;
    using kind = typename piece::kind;

    Engine& engine;
    typename Engine::lane& on;

    /// Encodes a frame of this rank. The stamp goes before it, and afterwards the host gets what it needs to
    /// read the frame.
    template <class Begin>
    void encode(const piece& p, Begin begin)
    {
        buffer_memory& message = *p.into;
        codec_work& work = on.begun.add(p).work;
        forget(message, sizeof(call_stamp));
        put_stamp(message, work);
        begin(work);
        afar().fetch(on.queue, {message.bytes.get(), engine.what().room_bytes}, message.host, 1, more());
    }

    /// Sends a frame that says too_large: the host writes it, and it is copied.
    void refuse(piece p)
    {
        const task<T>& what = engine.what();
        buffer_memory& message = *p.into;
        p.where = engine.here();
        store(message.host_room(), 0, what.stamp);
        const encode_result r =
            what.addends.refuse(p.of->count, host_body_room<call_stamp>(message), what.eb);
        afar().copy(on.queue, message.host_room().first(sizeof(call_stamp) + r.bytes), message.bytes.get(),
                    more());
        on.begun.add(p).work = {r, 0};
    }

    /// Fetches what the host reads of the message that has arrived.
    void fetch()
    {
        buffer_memory& message = *on.inbox;
        message.used = on.recv.bytes;
        engine.here() = {engine.rank(), on.now.recv_from, on.step};
        forget(message, 0);
        afar().fetch(on.queue, message.message(), message.host, on.now.recv.count, more());
        on.at = stage_of_step::fetch;
    }

    /// Copies the blocks of this step into one message.
    void pack(buffer_memory& message)
    {
        const step& now = on.now;
        engine.here() = {engine.rank(), engine.rank(), on.step};
        codec_work& work = more();
        std::size_t at = sizeof(call_stamp);
        for (int i = 0; i < now.send.count; ++i) {
            const const_byte_span frame = engine.at(on, now.send, i).frame_bytes();
            afar().copy(on.queue, frame, message.bytes.get() + at, work);
            at += frame.size();
        }
        put_stamp(message, work);
        message.used = at;
    }

private:
    const far_messages& afar() const { return *engine.afar(); }
    /// Work that the next stage waits for, and that yields nothing.
    codec_work& more() { return on.begun.add({.what = kind::restores, .where = engine.here()}).work; }

    void put_stamp(buffer_memory& message, codec_work& work)
    {
        store(message.host_room(), 0, engine.what().stamp);
        afar().copy(on.queue, message.host_room().first(sizeof(call_stamp)), message.bytes.get(), work);
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail
