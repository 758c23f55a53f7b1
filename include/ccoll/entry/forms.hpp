// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/forms.hpp - floor 3. The forms in which buffers are passed. They are written once for all
// collectives that share them and for all ways to run a call. `How` is blocking, nonblocking or preparing
// (run_modes.hpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include <ccoll/entry/call.hpp>
#include <ccoll/entry/facade.hpp>
#include <ccoll/entry/worst_case.hpp>
#if defined(CCOLL_COMPILED)
#include <ccoll/entry/compiled.hpp>
#endif

namespace ccoll::inline CCOLL_ABI::detail {

template <buffer C>
constexpr count_list list_of(const C& integers)
{
    const auto all = as_span(integers);
    return {all.data(), all.size()};
}
template <part_counts C>
constexpr part_lists lists_of(const C& counts)
{
    if constexpr (is_layout<C>::value) return {list_of(counts.counts), list_of(counts.displacements)};
    else return {list_of(counts), {}};
}
/// MPI's form: an array of counts and one of displacements, each with an entry per rank; displacements may be
/// null.
template <class Integer>
constexpr part_lists lists_of(const Integer* counts, const Integer* displacements)
{
    const auto list = [](const Integer* first) {
        return first == nullptr ? count_list{} : count_list(first);
    };
    return {list(counts), list(displacements)};
}

/// A buffer that is only read, as a type for the rules.
template <class Spelled>
using read_from = const std::remove_reference_t<Spelled>&;

// A form has the overloads of `call` that a facade accepts. Their results are spelled out, so that `ask` can
// look for one that fits without compiling it. `shape` selects the sentence for arguments that fit none.

/// Two buffers, one length each, no root.
template <class How, class Collective>
struct unrooted {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::unrooted;

    template <class Choice, class Send, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Recv&& recv, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, lost_arguments<How, Recv, Send>(), read_from<Send>, Recv&>(
            choice, send, recv, as_they_are, 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class Buffer, communicator Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& inout, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, lost_arguments<How, Buffer>(), Buffer&, Buffer&>(
            choice, inout, inout, in_place, 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, class T, std::integral Count, class Comm, class... Extra>
    static result call(const Choice& choice, const A* send, T* recv, Count n, const Comm& comm,
                       Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n), as_they_are, 0,
                                              comm, std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_unrooted(FORM, ...)                \
    FORM((const auto& send, auto&& recv), __VA_ARGS__) \
    FORM((auto&& inout), __VA_ARGS__)                  \
    FORM((const auto* send, auto* recv, std::integral auto n), __VA_ARGS__)

/// One buffer in a call with a root, as MPI has it with MPI_IN_PLACE on the root. What is one vector is
/// reduced where it is. Otherwise the root's buffer has all parts, of which its own stays in its place, and
/// the buffer of another rank is its part.
template <class Collective, class Comm>
auto in_place_on_root([[maybe_unused]] const Comm& comm, [[maybe_unused]] int root)
{
    if constexpr (facts_of<Collective>.one_vector) {
        return in_place;
    } else {
        const bool is_root = is_possible(comm) && as_transport(comm).rank() == root;
        return [is_root](auto& user, std::size_t) {
            user.in_place = is_root;
            if (is_root) return;
            if constexpr (Collective::send == extent::whole) {
                user.send = nullptr;
                user.send_size = 0;
            } else {
                user.recv = nullptr;
                user.recv_size = 0;
            }
        };
    }
}

/// Two buffers and a root.
template <class How, class Collective>
struct with_root {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::with_root;

    template <class Choice, class Send, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Recv&& recv, int root, const Comm& comm,
                       Extra&&... extra)
    {
        return call_ranges<How, Collective, lost_arguments<How, Recv, Send>(), read_from<Send>, Recv&>(
            choice, send, recv, as_they_are, root, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class Buffer, communicator Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& inout, int root, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, lost_arguments<How, Buffer>(), Buffer&, Buffer&>(
            choice, inout, inout, in_place_on_root<Collective>(comm, root), root, comm,
            std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, class B, std::integral Count, class Comm, class... Extra>
    static result call(const Choice& choice, const A* send, B* recv, Count n, int root, const Comm& comm,
                       Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n), as_they_are,
                                              root, comm, std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_with_root(FORM, ...)                         \
    FORM((const auto& send, auto&& recv, int root), __VA_ARGS__) \
    FORM((auto&& inout, int root), __VA_ARGS__)                  \
    FORM((const auto* send, auto* recv, std::integral auto n, int root), __VA_ARGS__)

/// One buffer and a root.
template <class How, class Collective>
struct one_buffer {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::one_buffer;

    template <class Choice, class Buffer, class Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& buffer, int root, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, lost_arguments<How, Buffer>(), Buffer&, Buffer&>(
            choice, buffer, buffer, in_place, root, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class T, std::integral Count, class Comm, class... Extra>
    static result call(const Choice& choice, T* data, Count n, int root, const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, data, data, static_cast<std::size_t>(n), as_they_are,
                                              root, comm, std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_one_buffer(FORM, ...)        \
    FORM((auto&& buffer, int root), __VA_ARGS__) \
    FORM((auto* data, std::integral auto n, int root), __VA_ARGS__)

/// Sets the lengths of the parts of whole buffers. @param stands_in  in place
inline auto send_parts(const part_lists& lists, bool stands_in = false)
{
    return [=](auto& user, std::size_t times) {
        user.varied = true;
        user.in_place |= stands_in;
        user.send_lists = lists.in_elements(times);
    };
}
inline auto recv_parts(const part_lists& lists, bool stands_in = false)
{
    return [=](auto& user, std::size_t times) {
        user.varied = true;
        user.in_place |= stands_in;
        user.recv_lists = lists.in_elements(times);
    };
}
/// Calls the one, then the other.
template <class A, class B>
auto both(A a, B b)
{
    return [=](auto& user, std::size_t times) {
        a(user, times);
        b(user, times);
    };
}
}  // namespace ccoll::inline CCOLL_ABI::detail
