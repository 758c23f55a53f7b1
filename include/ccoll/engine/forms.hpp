// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/forms.hpp - floor 3. The forms in which buffers are passed, written once for all collectives that share them and for all
// ways to run a call. `How` is blocking, nonblocking or preparing (call.hpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include <ccoll/engine/call.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Counts together with displacements, as MPI's v calls have them, where parts do not lie one behind the other.
template <class Counts, class Displacements>
struct part_layout {
    Counts counts;
    Displacements displacements;
};

/// @param counts, displacements  any contiguous ranges of integers, one per rank, in elements
template <buffer Counts, buffer Displacements>
constexpr auto parts(const Counts& counts, const Displacements& displacements)
{
    using count = std::span<const std::remove_const_t<buffer_pointee<const Counts&>>>;
    using displacement = std::span<const std::remove_const_t<buffer_pointee<const Displacements&>>>;
    return part_layout<count, displacement>{count(as_span(counts)), displacement(as_span(displacements))};
}

namespace detail {

template <class C>
struct is_layout : std::false_type {};
template <class C, class D>
struct is_layout<part_layout<C, D>> : std::true_type {};

/// What says how long parts are.
template <class C>
concept part_counts = is_layout<std::remove_cvref_t<C>>::value || requires(const C& c) {
    requires buffer<const C&>;
    requires std::is_integral_v<std::remove_const_t<buffer_pointee<const C&>>>;
};

/// How long parts are and, unless they lie one behind the other, where.
struct part_lists {
    count_list counts, displacements;
};

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
/// MPI's form: one array for each, of as many entries as there are ranks; displacements may be null.
template <class Integer>
constexpr part_lists lists_of(const Integer* counts, const Integer* displacements)
{
    const auto list = [](const Integer* first) { return first == nullptr ? count_list{} : count_list(first, count_list::one_per_rank); };
    return {list(counts), list(displacements)};
}

inline constexpr auto as_they_are = [](auto&, std::size_t) {};
inline constexpr auto in_place = [](auto& user, std::size_t) { user.in_place = true; };

template <class B>
inline constexpr bool is_range = !std::is_pointer_v<std::remove_cvref_t<B>> && !communicator<std::remove_cvref_t<B>>;

/// Two buffers of one length each, and no root.
template <class How, class Collective>
struct unrooted {
    template <class Choice, class Send, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static auto call(const Choice& choice, const Send& send, Recv&& recv, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, const Send&, Recv&>(choice, send, recv, as_they_are, 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class Buffer, communicator Comm, class... Extra>
        requires is_range<Buffer>
    static auto call(const Choice& choice, Buffer&& inout, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, Buffer&, Buffer&>(choice, inout, inout, in_place, 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, class T, std::integral Count, class Comm, class... Extra>
    static auto call(const Choice& choice, const A* send, T* recv, Count n, const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n), as_they_are, 0, comm,
                                              std::forward<Extra>(extra)...);
    }
};

/// Two buffers and a root.
template <class How, class Collective>
struct with_root {
    template <class Choice, class Send, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static auto call(const Choice& choice, const Send& send, Recv&& recv, int root, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, const Send&, Recv&>(choice, send, recv, as_they_are, root, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, class B, std::integral Count, class Comm, class... Extra>
    static auto call(const Choice& choice, const A* send, B* recv, Count n, int root, const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n), as_they_are, root, comm,
                                              std::forward<Extra>(extra)...);
    }
};

/// One buffer and a root.
template <class How, class Collective>
struct one_buffer {
    template <class Choice, class Buffer, class Comm, class... Extra>
        requires is_range<Buffer>
    static auto call(const Choice& choice, Buffer&& buffer, int root, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, Buffer&, Buffer&>(choice, buffer, buffer, in_place, root, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class T, std::integral Count, class Comm, class... Extra>
    static auto call(const Choice& choice, T* data, Count n, int root, const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, data, data, static_cast<std::size_t>(n), as_they_are, root, comm,
                                              std::forward<Extra>(extra)...);
    }
};

/// Says how long the parts of the whole buffers are. @param stands_in  in place
inline auto send_parts(const part_lists& lists, bool stands_in = false)
{
    return [=](auto& user, std::size_t times) {
        user.varied = true;
        user.in_place |= stands_in;
        user.send_counts = lists.counts.in_elements(times);
        user.send_displacements = lists.displacements.in_elements(times);
    };
}
inline auto recv_parts(const part_lists& lists, bool stands_in = false)
{
    return [=](auto& user, std::size_t times) {
        user.varied = true;
        user.in_place |= stands_in;
        user.recv_counts = lists.counts.in_elements(times);
        user.recv_displacements = lists.displacements.in_elements(times);
    };
}
/// First the one, then the other.
template <class A, class B>
auto both(A a, B b)
{
    return [=](auto& user, std::size_t times) {
        a(user, times);
        b(user, times);
    };
}

}  // namespace detail
}  // namespace ccoll::inline CCOLL_ABI
