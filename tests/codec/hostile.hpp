// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hostile.hpp - what the tests of every reader ask: is a frame refused, or decoded, when its bytes change or
// some are missing?
#pragma once

#include "support/catch.hpp"

#include "codec/frame_edit.hpp"

namespace hostile {

using frame_edit::bytes;

/// Calls `what` with the frame after each of four changes of each of its bytes.
template <class What>
void with_each_byte_changed(const bytes& frame, What what)
{
    for (std::size_t i = 0; i < frame.size(); ++i)
        for (const unsigned flip : {0x01u, 0x10u, 0x80u, 0xffu}) {
            bytes other = frame;
            other[i] ^= static_cast<std::byte>(flip);
            what(other);
        }
}

template <class C, class T>
void refuses_every_beginning(const bytes& frame, std::size_t n)
{
    std::vector<T> y(n);
    for (std::size_t size = 0; size < frame.size(); ++size)
        CHECK(ccoll::decode<C>(ccoll::const_byte_span(frame).first(size), y) != ccoll::status::ok);
}

/// Any changed byte is refused or decoded, and a frame that is cut is refused.
template <class C, class T>
void refuses_or_decodes(const bytes& frame, std::size_t n)
{
    std::vector<T> y(n);
    std::size_t refused = 0;
    with_each_byte_changed(
        frame, [&](const bytes& other) { refused += ccoll::decode<C>(other, y) != ccoll::status::ok; });
    CHECK(refused >= 4 * 40);  // all of the header but the bound
    refuses_every_beginning<C, T>(frame, n);
}

/// The only chunk of a frame fills its bytes exactly.
template <class C, class T>
void refuses_other_lengths(const bytes& frame, std::size_t n)
{
    const bytes whole = frame_edit::without_fill(frame);
    std::vector<T> y(n);
    for (int change = -20; change <= 20; ++change) {
        bytes other = whole;
        other.resize(whole.size() + static_cast<std::size_t>(20 + change) - 20, std::byte{0});
        frame_edit::end_at(other);
        INFO(change << " bytes more");
        CHECK((ccoll::decode<C>(other, y) == ccoll::status::ok) == (change == 0));
    }
}

}  // namespace hostile
