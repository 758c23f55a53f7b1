// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// value.hpp - floor 5. Collectives that return their result, and that take a single number in place of a
// buffer.
//
//   auto [sum, facts] = ccoll::value::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, comm);  // std::vector
//   const double norm = ccoll::value::allreduce(mine, comm).value;                           // a number
//
// They have a namespace of their own because allreduce(field, comm) works in place.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/policy/shaped.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/scan.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The blocking calls of the same names.
///
///   Policies   those of the calls without `value`
///   send       any buffer in host memory, or one number, which is a vector of one element. It is not
///              changed.
///   extra      the bound, with RuntimeBound; a std::error_code variable, which is set instead of throwing
///
/// Errors, bounds and cost are those of the calls without `value`; each call allocates its result. After an
/// error that was stored in a std::error_code, the value is unspecified.
namespace value {

/// What a call returns. `auto [value, facts] = ...` takes it apart.
template <class Value>
struct result {
    Value value{};
    report facts;
};

}  // namespace value

namespace detail {

template <class S>
concept single_number =
    (std::is_arithmetic_v<S> || floating_element<S> || complex_element<S>) && !std::same_as<S, bool>;

template <class S>
consteval bool is_host_buffer()
{
    if constexpr (buffer<const S>) return std::is_same_v<buffer_space<const S>, host_space>;
    else return false;
}

/// The element of what is sent, what a result of the same shape is, and what the call sees: elements with
/// their shape, if they have one, and whether there are gaps between them. The first two are char where a
/// sentence refuses the call.
template <class S>
struct sent_value {
    static constexpr bool good = false;
    using element = char;
    using same = char;
};
template <single_number S>
struct sent_value<S> {
    static constexpr bool good = true;
    using element = S;
    using same = S;
    static shaped_view<const S> seen(const S& s) { return {{&s, 1}, {}, 1}; }
};
template <class S>
    requires(is_host_buffer<S>())
struct sent_value<S> {
    static constexpr bool good = true;
    using element = std::remove_const_t<buffer_pointee<const S>>;
    using same = std::vector<element>;
    static shaped_view<const element> seen(const S& s)
    {
        const std::span<const element> all = as_span(s);
        const shape_facts shape = shape_facts::of(s);
        return {all, shape.strides, shape.fits() ? all.size() : shape.expected, is_contiguous(s)};
    }
};
template <class S>
using like_sent = typename sent_value<S>::same;
template <class S>
using vector_of_sent = std::vector<typename sent_value<S>::element>;

template <class V>
auto room_in(V& value, std::size_t n)
{
    if constexpr (single_number<V>) {
        return std::span<V>(&value, 1);
    } else {
        value.resize(n);
        return std::span(value);
    }
}

/// The number of ranks; 1 if the communicator cannot be used, which the call itself will say.
template <class Plan, class Comm>
std::size_t ranks_of(const Comm& comm)
{
    if constexpr (communicator<Comm>)
        return static_cast<std::size_t>(as_transport(comm, Plan::timeout::seconds).size());
    else return 1;
}
/// This rank, or -1.
template <class Plan, class Comm>
int rank_of(const Comm& comm)
{
    if constexpr (communicator<Comm>) return as_transport(comm, Plan::timeout::seconds).rank();
    else return -1;
}

/// @param call   (what is sent, room for the result) -> report
/// @param count  elements of the result, from those that are sent
template <class Value, class Send, class Count, class Call>
value::result<Value> by_value(const Send& send, Count count, Call call)
{
    value::result<Value> r;
    static_assert(sent_value<Send>::good,
                  "ccoll: calls that return a value take one number (not bool), or a contiguous range of "
                  "elements in host memory, and then (root and) the communicator");
    if constexpr (sent_value<Send>::good) {
        const auto from = sent_value<Send>::seen(send);
        r.facts = call(from, room_in(r.value, count(from.elements.size())));
    }
    return r;
}
inline constexpr auto as_many = [](std::size_t n) { return n; };

}  // namespace detail

namespace value {

/// The reduction of all ranks, on every rank: as many elements as are sent.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::like_sent<Send>> allreduce(const Send& send, const Comm& comm, Extra&&... extra)
{
    return detail::by_value<detail::like_sent<Send>>(send, detail::as_many, [&](auto from, auto to) {
        return ccoll::allreduce<Policies...>(from, to, comm, std::forward<Extra>(extra)...);
    });
}

/// The reduction of the ranks up to this one.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::like_sent<Send>> scan(const Send& send, const Comm& comm, Extra&&... extra)
{
    return detail::by_value<detail::like_sent<Send>>(send, detail::as_many, [&](auto from, auto to) {
        return ccoll::scan<Policies...>(from, to, comm, std::forward<Extra>(extra)...);
    });
}

/// The reduction of the ranks before this one; zeros on rank 0.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::like_sent<Send>> exscan(const Send& send, const Comm& comm, Extra&&... extra)
{
    return detail::by_value<detail::like_sent<Send>>(send, detail::as_many, [&](auto from, auto to) {
        return ccoll::exscan<Policies...>(from, to, comm, std::forward<Extra>(extra)...);
    });
}

/// The reduction of all ranks, on rank `root`; elsewhere an empty vector, or 0.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::like_sent<Send>> reduce(const Send& send, int root, const Comm& comm, Extra&&... extra)
{
    const bool has_result = detail::rank_of<plan_of<Policies...>>(comm) == root;
    return detail::by_value<detail::like_sent<Send>>(
        send, [=](std::size_t n) { return has_result ? n : 0; },
        [&](auto from, auto to) {
            return ccoll::reduce<Policies...>(from, to, root, comm, std::forward<Extra>(extra)...);
        });
}

/// Part r of the reduction, on rank r. `send` has p equal parts.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::vector_of_sent<Send>> reduce_scatter(const Send& send, const Comm& comm, Extra&&... extra)
{
    const std::size_t p = detail::ranks_of<plan_of<Policies...>>(comm);
    return detail::by_value<detail::vector_of_sent<Send>>(
        send, [=](std::size_t n) { return n / p; },
        [&](auto from, auto to) {
            return ccoll::reduce_scatter<Policies...>(from, to, comm, std::forward<Extra>(extra)...);
        });
}

/// What all ranks send, one after another: p times as many elements. All ranks send equally many.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::vector_of_sent<Send>> allgather(const Send& send, const Comm& comm, Extra&&... extra)
{
    const std::size_t p = detail::ranks_of<plan_of<Policies...>>(comm);
    return detail::by_value<detail::vector_of_sent<Send>>(
        send, [=](std::size_t n) { return n * p; },
        [&](auto from, auto to) {
            return ccoll::allgather<Policies...>(from, to, comm, std::forward<Extra>(extra)...);
        });
}

/// The same on rank `root`; elsewhere an empty vector.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::vector_of_sent<Send>> gather(const Send& send, int root, const Comm& comm, Extra&&... extra)
{
    const std::size_t p = detail::ranks_of<plan_of<Policies...>>(comm);
    const bool has_result = detail::rank_of<plan_of<Policies...>>(comm) == root;
    return detail::by_value<detail::vector_of_sent<Send>>(
        send, [=](std::size_t n) { return has_result ? n * p : 0; },
        [&](auto from, auto to) {
            return ccoll::gather<Policies...>(from, to, root, comm, std::forward<Extra>(extra)...);
        });
}

/// Part s of the result is the part for this rank of what rank s sends.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::vector_of_sent<Send>> alltoall(const Send& send, const Comm& comm, Extra&&... extra)
{
    return detail::by_value<detail::vector_of_sent<Send>>(send, detail::as_many, [&](auto from, auto to) {
        return ccoll::alltoall<Policies...>(from, to, comm, std::forward<Extra>(extra)...);
    });
}

/// What rank `root` sends. On other ranks `send` only says how many elements that is.
template <class... Policies, class Send, class Comm, class... Extra>
result<detail::like_sent<Send>> bcast(const Send& send, int root, const Comm& comm, Extra&&... extra)
{
    return detail::by_value<detail::like_sent<Send>>(send, detail::as_many, [&](auto from, auto to) {
        for (std::size_t i = 0; from.contiguous && i < to.size(); ++i) to[i] = from.elements[i];
        using element = typename decltype(to)::element_type;
        const shaped_view<element> like_sent{to, from.strides, from.expected, from.contiguous};
        return ccoll::bcast<Policies...>(like_sent, root, comm, std::forward<Extra>(extra)...);
    });
}

}  // namespace value
}  // namespace ccoll::inline CCOLL_ABI
