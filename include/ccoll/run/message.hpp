// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run/message.hpp - floor 3. One message: sealed before it leaves, read when it arrives, its frames
// checked once. Collectives and point-to-point calls are built on it. Integrity is not checked here but by
// the link below (transport/guarded.hpp).
#pragma once

#include <ccoll/base/workspace.hpp>
#include <ccoll/agree/agree.hpp>
#include <ccoll/wire/message.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Where a message's frames go, and how many bytes there are for them.
template <class Stamp>
byte_span body_room(buffer_memory& message) noexcept
{
    return message.room().subspan(sizeof(Stamp));
}

/// The same for frames that the host writes.
template <class Stamp>
byte_span host_body_room(buffer_memory& message) noexcept
{
    return message.host_room().subspan(sizeof(Stamp));
}

/// Before the host fetches a stamp or a frame that is at this offset: if that fails, it must not find what
/// was there before. All of them begin with a magic number.
inline void forget(buffer_memory& message, std::size_t at) noexcept
{
    store(message.host_room(), at, std::uint32_t{0});
}

/// Makes a view of a frame that the host has read into one that a codec reads. They differ if the host cannot
/// reach the message.
inline void show_codec(const buffer_memory& message, frame_view& view) noexcept
{
    if (message.beside == nullptr) return;
    for (const_byte_span* each : {&view.whole, &view.payload})
        *each = {message.bytes.get() + (each->data() - message.host), each->size()};
}

/// Makes a message from the `body_bytes` bytes that are in its body_room. If the host cannot reach them, the
/// stamp is not written: the queue that does the work puts it there, and may be reading and writing
/// host_room() at this moment.
template <class Stamp>
void seal(buffer_memory& message, const Stamp& stamp, std::size_t body_bytes) noexcept
{
    if (message.beside == nullptr) store(message.host_room(), 0, stamp);
    message.used = sizeof(Stamp) + body_bytes;
}

/// Makes a message that says what went wrong in place of data. Its host_message() is sent.
template <class Stamp>
void seal_poison(buffer_memory& message, Stamp stamp, const verdict& trouble) noexcept
{
    stamp.kind = message_kind::poison;
    store(message.host_room(), 0, stamp);
    store(host_body_room<Stamp>(message), 0, trouble);
    message.used = sizeof(Stamp) + sizeof trouble;
}

/// Who reads a message, from whom, and in which step. A verdict names these.
struct message_place {
    int reader = nobody, sender = nobody, step = -1;

    verdict found(status code, double expected = 0, double actual = 0) const noexcept
    {
        return {code, reader, sender, step, expected, actual};
    }
};

/// What a message turned out to be.
enum class arrival : unsigned char {
    data,       ///< frames of this call
    trouble,    ///< poison, or damage: the sender keeps to the schedule
    left_over,  ///< of an earlier call: it does not count, and another message is awaited
    other_way   ///< the sender walks another schedule, or none
};

struct accepted {
    arrival what = arrival::trouble;
    verdict why{};           ///< of trouble and of another way
    const_byte_span body{};  ///< of data: the frames, one after another
};

/// Reads a message of a collective. Total: any bytes are safe.
/// @param ours            the stamp of this rank's call
/// @param slices_unasked  the number of messages follows from count and plan: a sender with others walks
///                        another schedule
inline accepted accept(const_byte_span message, const call_stamp& ours, bool slices_unasked,
                       message_place here) noexcept
{
    call_stamp theirs;
    if (const status s = read_stamp(message, theirs); s != status::ok)
        return {arrival::trouble, here.found(s)};
    const belonging whose = belongs(ours.call, theirs.call, call_tags::period_of(ours.call));
    if (whose == belonging::left_over) return {arrival::left_over};

    const const_byte_span body = message.subspan(sizeof theirs);
    verdict v =
        whose == belonging::damaged ? verdict{status::corrupt} : compare(ours.arguments, theirs.arguments);
    v.rank = here.reader;
    v.peer = here.sender;
    v.step = here.step;
    if (theirs.kind == message_kind::poison) v = read_verdict(body);
    else if (v.ok() && theirs.kind != message_kind::data) v = here.found(status::corrupt);
    if (v.ok()) return {arrival::data, {}, body};
    const call_arguments &a = theirs.arguments, &b = ours.arguments;
    const bool as_many = !slices_unasked || (a.count == b.count && a.plan == b.plan);
    return {same_way(a, b) && as_many ? arrival::trouble : arrival::other_way, v};
}

/// A message of a point-to-point call, as far as it can be believed.
struct pair_message {
    status read = status::corrupt;  ///< ok, corrupt, or wire_version
    pair_stamp stamp;
    const_byte_span body;
};

/// Reads one. Total: any bytes are safe.
inline pair_message read_pair_message(const_byte_span message) noexcept
{
    pair_message m;
    m.read = read_stamp(message, m.stamp);
    if (m.read != status::ok) return m;
    if (m.stamp.check != counted_check(m.stamp) || m.stamp.number >= m.stamp.total) m.read = status::corrupt;
    else m.body = message.subspan(sizeof m.stamp);
    return m;
}

}  // namespace ccoll::inline CCOLL_ABI::detail
