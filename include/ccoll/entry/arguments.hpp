// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/arguments.hpp - floor 3. The arguments of a facade as the user spelled them: which of them are
// destroyed too early, and the sentence for arguments that fit no form of the call.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

#include <ccoll/plan/rules.hpp>
#include <ccoll/policy/parts.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Why arguments fit no form of a call. The values from `unrooted` on name the forms that exist.
enum class form_fault {
    none,
    left_over,
    communicator,
    in_place,
    counts,
    count,
    root,
    unrooted,
    with_root,
    one_buffer,
    neighbors,
    scatterv,
    gatherv,
    allgatherv,
    neighbor_allgatherv,
    neighbor_alltoallv,
    reduce_scatterv,
    alltoallv,
    bucket,
    rooted_bucket,
    since,
    rooted_since,
    send,
    recv,
    sendrecv
};

/// The shape of a form, which selects the sentence for arguments that do not fit.
using form_shape = form_fault;

template <class C>
struct is_layout : std::false_type {};
template <class C, class D, bool OfTemporaries>
struct is_layout<part_layout<C, D, OfTemporaries>> : std::true_type {};

/// An argument that can say how long the parts are.
template <class C>
concept part_counts = is_layout<std::remove_cvref_t<C>>::value || requires(const C& c) {
    requires buffer<const C&>;
    requires std::is_integral_v<std::remove_const_t<buffer_pointee<const C&>>>;
};

template <class B>
inline constexpr bool is_range =
    !std::is_pointer_v<std::remove_cvref_t<B>> && !communicator<std::remove_cvref_t<B>>;

template <class Spelled>
inline constexpr bool are_lost_counts = is_owning_temporary<Spelled>;
template <class Spelled>
    requires is_layout<std::remove_cvref_t<Spelled>>::value
inline constexpr bool are_lost_counts<Spelled> = std::remove_cvref_t<Spelled>::of_temporaries;

/// What is wrong with temporaries among the arguments: one is destroyed while it is in use, or the result
/// would be lost with it.
/// @tparam Written, Read  the buffers
/// @param counts  are counts destroyed before the call begins and reads them?
template <class How, class Written, class... Read>
consteval call_fault lost_arguments(bool counts = false)
{
    if (counts ||
        (How::outlives_arguments && (is_owning_temporary<Written> || ... || is_owning_temporary<Read>)))
        return call_fault::temporary;
    return loses_result<Written> ? call_fault::temporary_result : call_fault::none;
}
/// Are any of these counts destroyed before the call begins and reads them?
template <class How, class... Spelled>
inline constexpr bool lose_counts = How::begins_later && (false || ... || are_lost_counts<Spelled>);

template <class... Arguments>
inline constexpr bool begins_with_choice = false;
template <class First, class... Rest>
inline constexpr bool begins_with_choice<First, Rest...> = is_choice<std::remove_cvref_t<First>>::value;

// ---- what an argument may be ----

template <class A>
inline constexpr bool is_integer = std::is_integral_v<std::remove_cvref_t<A>>;
template <class A>
inline constexpr bool is_address = std::is_pointer_v<std::remove_cvref_t<A>>;
template <class A>
inline constexpr bool is_void_address =
    std::is_void_v<std::remove_pointer_t<std::remove_cvref_t<A>>> && is_address<A>;
/// In some MPIs handles are integers. Then nothing distinguishes them from counts and roots.
template <class A>
inline constexpr bool is_certain_communicator = communicator<std::remove_cvref_t<A>> && !is_integer<A>;
template <class A>
inline constexpr bool is_counts = [] {
    if constexpr (is_integer<A> || is_address<A> || is_certain_communicator<A>) return false;
    else return part_counts<A>;
}();
template <class A>
inline constexpr bool is_buffer_range = [] {
    if constexpr (is_address<A> || communicator<std::remove_cvref_t<A>>) return false;
    else return buffer<A>;
}();

/// In other MPIs handles are pointers to types that are never completed.
template <class A>
inline constexpr bool is_opaque_handle = [] {
    using pointee = std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<A>>>;
    if constexpr (!is_address<A> || communicator<std::remove_cvref_t<A>> || !std::is_class_v<pointee>)
        return false;
    else if constexpr (is_space_argument<std::remove_cvref_t<A>>) return false;
    else return !requires { sizeof(pointee); };
}();

template <class Form, class Choice, class... Arguments>
concept fits_form = requires(const Choice& choice, Arguments&&... arguments) {
    Form::call(choice, std::forward<Arguments>(arguments)...);
};

/// What is wrong with arguments that fit no form. The most informative fault comes first.
template <class... Arguments>
consteval form_fault why_no_form(form_shape shape)
{
    constexpr int integers = (0 + ... + int{is_integer<Arguments>}),
                  ranges = (0 + ... + int{is_buffer_range<Arguments>}),
                  addresses = (0 + ... + int{is_address<Arguments> && !is_certain_communicator<Arguments>});
    constexpr bool handle_may_be_integer =
        (false || ... || (is_integer<Arguments> && communicator<std::remove_cvref_t<Arguments>>));
    constexpr bool communicator_there =
        handle_may_be_integer || (false || ... || is_certain_communicator<Arguments>);
    constexpr int other_integers = integers - (handle_may_be_integer ? 1 : 0);
    if (!communicator_there) return form_fault::communicator;
    if ((false || ... || is_void_address<Arguments>) && ranges > 0) return form_fault::in_place;
    const bool varied = shape >= form_shape::scatterv && shape <= form_shape::alltoallv;
    const bool rooted = shape == form_shape::with_root || shape == form_shape::one_buffer ||
                        shape == form_shape::scatterv || shape == form_shape::gatherv;
    if (varied && addresses == 0 && !(false || ... || is_counts<Arguments>)) return form_fault::counts;
    const int most_integers = shape == form_shape::sendrecv ? 7
                              : shape >= form_shape::send   ? 4
                              : rooted                      ? 3
                                                            : 2;  // the handle included
    if (handle_may_be_integer && integers > most_integers) return form_fault::left_over;
    if (shape >= form_shape::bucket) return shape;
    if (!varied && ranges == 0 && addresses > 0 && other_integers < (rooted ? 2 : 1))
        return form_fault::count;
    if (rooted && addresses == 0 && other_integers == 0) return form_fault::root;
    return shape;
}

template <class Form, class Choice, class... Arguments>
consteval form_fault form_fault_of()
{
    constexpr bool any_communicator = (false || ... || communicator<std::remove_cvref_t<Arguments>>);
    if constexpr (any_communicator && (false || ... || is_opaque_handle<Arguments>))
        return form_fault::left_over;
    else if constexpr (fits_form<Form, Choice, Arguments...>) return form_fault::none;
    else return why_no_form<Arguments...>(Form::shape);
}

/// Prints the sentence of a fault; the compiler's note below it names the function that was called.
/// @tparam Call  @see refuse_plan
template <form_fault Fault, class... Call>
constexpr void refuse_form()
{
    refuse<Fault == form_fault::left_over ? call_fault::left_over : call_fault::none, plan_choice<Plan<>>,
           Call...>();
    static_assert(Fault != form_fault::communicator,
                  "ccoll: the communicator is missing; it stands behind the buffers (and counts, and root): "
                  "an MPI_Comm (include <ccoll/transport/mpi.hpp>), a ccoll::threads_comm (include "
                  "<ccoll/transport/threads.hpp>) or an object that meets ccoll::transport");
    static_assert(Fault != form_fault::in_place,
                  "ccoll: MPI_IN_PLACE stands for a pointer and not for a range; pass the one buffer alone, "
                  "as in allreduce(inout, comm), or pointers and a count");
    static_assert(Fault != form_fault::counts,
                  "ccoll: the counts of a v variant are missing; pass a contiguous range of integers, one "
                  "per rank, or ccoll::parts(counts, displacements)");
    static_assert(Fault != form_fault::count,
                  "ccoll: an integer is missing; behind pointers stand a count, the root (where there is "
                  "one) and the communicator");
    static_assert(Fault != form_fault::root,
                  "ccoll: the root is missing; it stands in front of the communicator, as in reduce(send, "
                  "recv, root, comm)");
    static_assert(Fault != form_fault::unrooted,
                  "ccoll: these arguments fit no form of the call; it takes (send, recv, comm), (inout, "
                  "comm), or with pointers (send, recv, n, comm), and then a bound and an error code");
    static_assert(
        Fault != form_fault::with_root,
        "ccoll: these arguments fit no form of the call; it takes (send, recv, root, comm), (inout, root, "
        "comm), or with pointers (send, recv, n, root, comm), and then a bound and an error code");
    static_assert(Fault != form_fault::one_buffer,
                  "ccoll: these arguments fit no form of the call; it takes (buffer, root, comm), or with a "
                  "pointer (data, n, root, comm), and then a bound and an error code");
    static_assert(Fault != form_fault::neighbors,
                  "ccoll: these arguments fit no form of the call; it takes (send, recv, comm), or with "
                  "pointers (send, recv, n, comm), and then a bound and an error code; between neighbours "
                  "nothing works in place");
    static_assert(Fault != form_fault::neighbor_allgatherv,
                  "ccoll: these arguments fit no form of the call; it takes (send, recv, counts, comm), or "
                  "with pointers (send, n, recv, counts, displacements, comm), and then a bound and an error "
                  "code; between neighbours nothing works in place");
    static_assert(Fault != form_fault::neighbor_alltoallv,
                  "ccoll: these arguments fit no form of the call; it takes (send, send_counts, recv, "
                  "recv_counts, comm), or with pointers (send, send_counts, send_displacements, recv, "
                  "recv_counts, recv_displacements, comm), and then a bound and an error code; between "
                  "neighbours nothing works in place");
    static_assert(Fault != form_fault::scatterv,
                  "ccoll: these arguments fit no form of the call; it takes (send, counts, recv, root, "
                  "comm), (inout, counts, root, comm), or with pointers (send, counts, displacements, recv, "
                  "n, root, comm), and then a bound and an error code");
    static_assert(Fault != form_fault::gatherv,
                  "ccoll: these arguments fit no form of the call; it takes (send, recv, counts, root, "
                  "comm), (inout, counts, root, comm), or with pointers (send, n, recv, counts, "
                  "displacements, root, comm), and then a bound and an error code");
    static_assert(Fault != form_fault::allgatherv,
                  "ccoll: these arguments fit no form of the call; it takes (send, recv, counts, comm), "
                  "(inout, counts, comm), or with pointers (send, n, recv, counts, displacements, comm), and "
                  "then a bound and an error code");
    static_assert(
        Fault != form_fault::reduce_scatterv,
        "ccoll: these arguments fit no form of the call; it takes (send, recv, counts, comm), (inout, "
        "counts, comm), or pointers (send, recv, counts, comm), and then a bound and an error code");
    static_assert(
        Fault != form_fault::alltoallv,
        "ccoll: these arguments fit no form of the call; it takes (send, send_counts, recv, recv_counts, "
        "comm), (inout, counts, comm), or with pointers (send, send_counts, send_displacements, recv, "
        "recv_counts, recv_displacements, comm), and then a bound and an error code");
    static_assert(Fault != form_fault::bucket,
                  "ccoll: these arguments fit no form of the call; it takes (bucket, comm), where bucket is "
                  "a ccoll::bucket<T> with a name, and then a bound and an error code");
    static_assert(Fault != form_fault::rooted_bucket,
                  "ccoll: these arguments fit no form of the call; it takes (bucket, root, comm), where "
                  "bucket is a ccoll::bucket<T> with a name, and then a bound and an error code");
    static_assert(Fault != form_fault::since,
                  "ccoll: these arguments fit no form of the call; it takes (weights, since(previous), "
                  "comm), where weights is a range, and then an error code");
    static_assert(Fault != form_fault::rooted_since,
                  "ccoll: these arguments fit no form of the call; it takes (weights, since(previous), root, "
                  "comm), where weights is a range, and then an error code");
    static_assert(
        Fault != form_fault::send,
        "ccoll: these arguments fit no form of the call; it takes (buffer, destination, tag, comm), or with "
        "a pointer (data, n, destination, tag, comm), and then a bound and an error code");
    static_assert(Fault != form_fault::recv,
                  "ccoll: these arguments fit no form of the call; it takes (buffer, source, tag, comm), or "
                  "with a pointer (data, n, source, tag, comm), and then a bound and an error code");
    static_assert(Fault != form_fault::sendrecv,
                  "ccoll: these arguments fit no form of the call; it takes (send, destination, recv, "
                  "source, tag, comm), or with pointers (send, n, destination, recv, m, source, tag, comm); "
                  "with two tags each stands behind its rank, as in MPI; and then a bound and an error code");
}

}  // namespace ccoll::inline CCOLL_ABI::detail
