// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run/byte_work.hpp - floor 3. What the events of algo/placement.hpp do to one block of a lane. They begin
// codec work, and the executor settles it when it is done.
#pragma once

#include <span>

#include <ccoll/run/far_work.hpp>
#include <ccoll/run/lane_work.hpp>
#include <ccoll/instrument/breakdown.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The transitions of algo/placement.hpp on real bytes: each begins codec work on a lane of `Engine`, an
/// executor.
template <class Engine>
struct byte_work {
    using T = typename Engine::element_type;
    using piece = begun_work<T>;

    Engine& engine;
    typename Engine::lane& on;
    typename block_store<T>::block& mine;
    const frame_view* incoming = nullptr;
    buffer_memory* holder = nullptr;  // the memory of the message in which it arrived
    stores how = stores::cached;      // how decoded values are written
    bool last = false;                // no later step needs the block
    bool not_held = false;            // adopt() has found that there is no sum

    using scope = typename Engine::clock_type::scope;
    using kind = typename piece::kind;

    void encode()
    {
        scope time(engine.clock(), phase::encode);
        const task<T>& what = engine.what();
        const std::span<const T> own(mine.elements, mine.count);
        if (what.rules.reduce_encoded && what.sums == sums::refused) return refuse();
        into_a_frame(what.sums == sums::maybe_held, [&](byte_span room, codec_work& w) {
            if (!what.rules.reduce_encoded) what.codec.encode(on.queue, own, room, engine.context(on), w);
            else what.addends.encode(on.queue, own, room, engine.context(on), w);
        });
    }
    void adopt()
    {
        scope time(engine.clock(), phase::decode);
        if (!parsed()) return;
        not_held = engine.what().rules.reduce_encoded && mine.parsed.says_too_large();
        if (!not_held) restore(mine.parsed);
    }
    void keep() { engine.store().hold(mine, holder, incoming->whole, *incoming); }
    void decode()
    {
        scope time(engine.clock(), phase::decode);
        restore(*incoming);
    }
    void combine()
    {
        scope time(engine.clock(), phase::reduce);
        const std::span<const T> own(mine.elements, mine.count);
        T* const into = engine.store().writable(mine).data();
        engine.start(on, {.of = &mine}, [&](codec_work& w) {
            engine.what().codec.decode_reduce(on.queue, *incoming, own, into, engine.operation(),
                                              engine.context(on), w);
        });
    }
    void add()
    {
        scope time(engine.clock(), phase::encode);
        if (!parsed()) return;
        const bool theirs_first = engine.operation().theirs_on_the_left;
        const frame_view& own = mine.parsed;
        into_a_frame(
            engine.what().sums == sums::maybe_held || incoming->says_too_large() || own.says_too_large(),
            [&](byte_span room, codec_work& w) {
                engine.what().addends.add(on.queue, theirs_first ? *incoming : own,
                                          theirs_first ? own : *incoming, room, engine.context(on), w);
            });
    }
    /// One pass, in which the frame of this rank's own values is never stored, because it is needed only
    /// once.
    void encode_and_add()
    {
        scope time(engine.clock(), phase::encode);
        const task<T>& what = engine.what();
        const std::span<const T> own(mine.elements, mine.count);
        if (what.sums == sums::refused || incoming->says_too_large()) return refuse();
        into_a_frame(what.sums == sums::maybe_held, [&](byte_span room, codec_work& w) {
            what.addends.encode_add(on.queue, own, *incoming, room, engine.context(on), w);
        });
    }
    /// combine() and the encode() that would follow it, in one pass that never stores the partial result.
    void combine_and_encode()
    {
        scope time(engine.clock(), phase::reduce);
        const std::span<const T> own(mine.elements, mine.count);
        into_a_frame(false, [&](byte_span room, codec_work& w) {
            engine.what().codec.decode_reduce_encode(on.queue, *incoming, own, room, engine.operation(),
                                                     engine.context(on), w);
        });
    }
    /// Stores the final elements in the user's buffer.
    void store_result()
    {
        scope time(engine.clock(), phase::copy);
        const task<T>& what = engine.what();
        const bool copies = mine.elements != mine.out && mine.count > 0,
                   divides = what.op.divides() && !what.rules.reduce_encoded;
        const T* const from = mine.elements;
        T* const to = mine.out;
        if (copies)
            engine.start(on, {.of = &mine, .what = kind::delivers},
                         [&](codec_work& w) { what.space.copy(on.queue, from, to, mine.count, w); });
        if (divides)
            engine.start(on, {.of = &mine, .what = kind::delivers}, [&](codec_work& w) {
                what.space.divide(on.queue, what.op, to, engine.ranks(), mine.count, w);
            });
    }

private:
    template <class Begin>
    void into_a_frame(bool may_be_too_large, Begin begin)
    {
        buffer_memory* const b = engine.fresh();
        engine.start(on,
                     {.of = &mine, .into = b, .what = kind::encodes, .may_be_too_large = may_be_too_large},
                     [&](codec_work& w) { begin(body_room<call_stamp>(*b), w); });
    }
    /// A frame that says that there is no sum. The host writes it.
    void refuse()
    {
        buffer_memory* const b = engine.fresh();
        const piece p{.of = &mine, .into = b, .what = kind::encodes, .may_be_too_large = true};
        if (engine.afar() != nullptr) return far_work<Engine>{engine, on}.refuse(p);
        engine.start(on, p, [&](codec_work& w) {
            w = {engine.what().addends.refuse(mine.count, body_room<call_stamp>(*b), engine.what().eb), 0};
        });
    }
    void restore(const frame_view& view)
    {
        const std::span<T> out = engine.store().writable(mine);
        codec_context context = engine.context(on);
        context.how = how;
        if (last && engine.what().rules.reduce_encoded && engine.what().op.divides())
            context.divisor = engine.ranks();
        engine.start(on, {.of = &mine, .what = last ? kind::delivers : kind::restores},
                     [&](codec_work& w) { engine.what().codec.decode(on.queue, view, out, context, w); });
    }
    /// Reads header and index of the block's own frame, unless that has been done.
    bool parsed()
    {
        if (mine.is_parsed()) return true;
        const status s = engine.what().codec.open(mine.frame_on_host(), mine.count, mine.parsed);
        show_codec(*mine.frame, mine.parsed);
        if (s != status::ok && s != status::too_large) engine.poison(engine.here().found(s));
        return s == status::ok || s == status::too_large;
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail
