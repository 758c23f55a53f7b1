// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plan/rules.hpp - floor 3. The rules of a call, which are checked from its types, and the sentence for
// each broken rule.
#pragma once

#include <system_error>
#include <type_traits>

#include <ccoll/codec/queued_codec.hpp>
#include <ccoll/plan/auto_algo.hpp>
#include <ccoll/plan/guard.hpp>
#include <ccoll/space/space.hpp>
#include <ccoll/policy/menu.hpp>
#include <ccoll/policy/plan.hpp>
#include <ccoll/transport/neighborhood.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The rules of a call, most basic first. Only the first broken rule is reported.
enum class call_fault {
    none,
    plan,
    marker,
    marker_transport,
    buffer,
    number,
    untyped,
    strided_later,
    mixed_spaces,
    space,
    array_element,
    constant_result,
    element,
    mixed_elements,
    communicator,
    neighbors,
    lossy_element,
    half_header,
    fault_header,
    codec,
    codec_throws,
    codec_addends,
    schedule,
    once,
    nothing_to_reduce,
    operation,
    operation_throws,
    average_of_prefix,
    blocks_of_collective,
    blocks_of_elements,
    blocks_of_codec,
    blocks_with_missing,
    missing_elements,
    missing_in_codec,
    missing_in_space,
    homomorphic,
    threads,
    direct,
    direct_guarded,
    menu_instrument,
    menu_operation,
    code_later,
    left_over,
    order,
    bound_integer,
    extra,
    stream,
    bound_missing,
    bound_extra,
    temporary,
    temporary_result,
    codec_headers  ///< from here on: the header of the codec with this wire id is missing
};

template <class Plan>
inline constexpr bool names_no_algo = std::is_same_v<typename Plan::algo, policies::Algo::Auto>;
template <class Collective, class Plan>
using algo_of =
    std::conditional_t<names_no_algo<Plan>, typename auto_rule<Collective>::usual, typename Plan::algo>;

template <class Plan>
inline constexpr bool wants_direct = std::is_same_v<typename Plan::messages, policies::Transport::Direct>;
/// The rules for Transport::Direct.
template <class Plan, class Space>
consteval call_fault fault_of_direct()
{
    if (!wants_direct<Plan>) return call_fault::none;
    if (std::is_same_v<Space, host_space>) return call_fault::direct;
    return Plan::integrity::protects ? call_fault::direct_guarded : call_fault::none;
}

template <class Plan, class Collective, class T, class Space>
inline constexpr bool may_add_frames =
    Collective::reduces && Plan::op::linear && has_queued_addends<typename Plan::codec, T, Space>;

/// Not an integer: where MPI's handles are integers, one after the communicator is more likely to be a
/// misplaced handle than a bound.
template <class E>
inline constexpr bool is_bound_argument = std::is_floating_point_v<std::remove_cvref_t<E>>;
template <class E>
inline constexpr bool is_error_code = std::is_same_v<E, std::error_code&>;
/// Is it for another memory space than that of the buffers?
template <class E, class Space>
inline constexpr bool is_for_another_space =
    is_space_argument<std::remove_cvref_t<E>> &&
    !std::is_same_v<typename space_of_argument<std::remove_cvref_t<E>>::type, Space>;

/// What the engine counts: a complex number is two elements if its parts are treated alike.
template <class T, class Collective, class Plan>
struct engine_element_of {
    using type = T;
};
template <complex_element T, class Collective, class Plan>
    requires(!Collective::reduces || Plan::op::linear)
struct engine_element_of<T, Collective, Plan> {
    using type = typename T::value_type;
};
template <class T, class Collective, class Plan>
using engine_element = typename engine_element_of<std::remove_const_t<T>, Collective, Plan>::type;

/// An address that stands for "in place" has no element type.
template <class T>
inline constexpr bool is_marker = std::is_void_v<std::remove_const_t<T>>;

constexpr call_fault header_of_codec(unsigned wire_id)
{
    return static_cast<call_fault>(static_cast<unsigned>(call_fault::codec_headers) + wire_id);
}
/// Is the header alone missing? Not where a codec wraps one that it has no form for.
template <class Codec>
inline constexpr bool has_header = is_library_codec<Codec>;
template <class Inner>
inline constexpr bool has_header<policies::Codec::BitMask<Inner>> =
    std::is_same_v<Inner, policies::Codec::BitZip> || std::is_same_v<Inner, policies::Codec::BitWise> ||
    std::is_same_v<Inner, policies::Codec::BitCut>;

/// The buffer for which MPI_IN_PLACE may stand. The other one then serves as both.
enum class marked_buffer { none, send, recv };
template <class Collective>
inline constexpr marked_buffer takes_marker = [] {
    if constexpr (is_over_edges<Collective> || std::is_same_v<Collective, collective::bcast>)
        return marked_buffer::none;
    else if constexpr (std::is_same_v<Collective, collective::scatter>) return marked_buffer::recv;
    else return marked_buffer::send;
}();

template <class Comm>
inline constexpr bool knows_markers =
    requires(const void* address) { transport_for<std::remove_cvref_t<Comm>>::in_place(address); };

/// Checks pointers without a type, of which only MPI_IN_PLACE makes sense.
/// @tparam A, B  what the pointers point to
template <class Collective, class Comm, class A, class B>
consteval call_fault fault_of_markers()
{
    if (is_marker<A> == is_marker<B>) return call_fault::none;  // no marker, or no elements
    if (takes_marker<Collective> != (is_marker<A> ? marked_buffer::send : marked_buffer::recv))
        return call_fault::marker;
    return communicator<Comm> && !knows_markers<Comm> ? call_fault::marker_transport : call_fault::none;
}

/// Does a lossy codec keep declared values? Two-byte elements travel as floats.
template <class Codec, class T>
inline constexpr bool keeps_missing =
    requires(std::span<const T> in, byte_span dst, const field_facts& field) {
        codec_impl<Codec, T, host_space>::encode_chunk(in, dst, field);
    };
template <class Codec, small_float T>
inline constexpr bool keeps_missing<Codec, T> = keeps_missing<Codec, float>;

template <class Plan, class T, class Space, bool Reduces>
consteval call_fault fault_of_missing()
{
    using codec = typename Plan::codec;
    if constexpr (!Plan::missing::declared) return call_fault::none;
    else if constexpr (!floating_element<T>) return call_fault::missing_elements;
    else if constexpr (codec::lossy && !keeps_missing<codec, T>) return call_fault::missing_in_codec;
    else if (!std::is_same_v<Space, host_space> &&
             (Reduces || (codec::lossy && !std::is_same_v<codec, policies::Codec::SZp>)))
        return call_fault::missing_in_space;
    else return call_fault::none;
}

template <class Algo>
inline constexpr bool has_two_levels = false;
template <class Inner, class Outer>
inline constexpr bool has_two_levels<policies::Algo::Hierarchical<Inner, Outer>> = true;

/// The rules for scales of blocks (FixedBits<b, Block<n>>).
template <class Plan, class Collective, class T, class Space>
consteval call_fault fault_of_blocks()
{
    using wish = typename Plan::placement;
    if constexpr (Plan::bound::block == 0) return call_fault::none;
    else if constexpr (!Collective::reduces || Collective::partial || has_two_levels<typename Plan::algo>)
        return call_fault::blocks_of_collective;
    else if constexpr (!scaled_element<T> || memory_space<Space, T>::operations.find_scales == nullptr)
        return call_fault::blocks_of_elements;
    else if constexpr (!may_add_frames<Plan, Collective, T, Space> ||
                       std::is_same_v<wish, policies::Placement::DecodeReduceEncode> ||
                       std::is_same_v<wish, policies::Placement::PerHop>)
        return call_fault::blocks_of_codec;
    else return Plan::missing::declared ? call_fault::blocks_with_missing : call_fault::none;
}

/// Why codec `Codec` has no implementation for elements T: the fault that names the missing header, or
/// call_fault::codec.
template <class Codec, class T>
consteval call_fault missing_codec()
{
    if constexpr (small_float<T> && has_codec<Codec, float>) return call_fault::half_header;
    else if constexpr (has_header<Codec>) return header_of_codec(Codec::wire_id);
    else if constexpr (throwing_chunk_codec<codec_impl<Codec, T, host_space>, T>)
        return call_fault::codec_throws;
    else return call_fault::codec;
}

/// Checks the communicator, and that the arguments that belong after it are not before it.
template <class Comm, class... Extra>
consteval call_fault first_fault_of_order()
{
    if constexpr (communicator<Comm>) return call_fault::none;
    else if constexpr ((false || ... || communicator<std::remove_cvref_t<Extra>>)) return call_fault::order;
    else return call_fault::communicator;
}

/// Why what stands in the place of a buffer is none.
template <class B>
consteval call_fault fault_of_buffer()
{
    using argument = std::remove_cvref_t<B>;
    if constexpr (buffer<B>)
        return std::is_array_v<buffer_pointee<B>> ? call_fault::array_element : call_fault::none;
    else if constexpr (std::is_same_v<argument, untyped_buffer>) return call_fault::untyped;
    else if constexpr (std::is_arithmetic_v<argument> || small_float<argument> || complex_element<argument>)
        return call_fault::number;
    else return call_fault::buffer;
}
/// Why elements cannot be moved.
/// @tparam T  as the buffer has them; const if the call would have to write to it
template <class T>
consteval call_fault fault_of_element()
{
    if constexpr (element<T>) return call_fault::none;
    else
        return std::is_const_v<T> && element<std::remove_const_t<T>> ? call_fault::constant_result
                                                                     : call_fault::element;
}

template <class Collective, class Plan, class Send, class Recv, class Comm, class... Extra>
consteval call_fault first_fault_of_plan()
{
    if constexpr (fault_of_buffer<Send>() != call_fault::none) return fault_of_buffer<Send>();
    else if constexpr (fault_of_buffer<Recv>() != call_fault::none) return fault_of_buffer<Recv>();
    else if constexpr (fault_of_element<buffer_pointee<Recv>>() != call_fault::none)
        return fault_of_element<buffer_pointee<Recv>>();
    else if constexpr (!std::is_same_v<buffer_space<Recv>, buffer_space<Send>>)
        return call_fault::mixed_spaces;
    else if constexpr (!has_memory_space<buffer_space<Recv>, std::remove_const_t<buffer_pointee<Recv>>>)
        return call_fault::space;
    else if constexpr (!std::is_same_v<std::remove_const_t<buffer_pointee<Send>>, buffer_pointee<Recv>>)
        return call_fault::mixed_elements;
    else if constexpr (first_fault_of_order<Comm, Extra...>() != call_fault::none)
        return first_fault_of_order<Comm, Extra...>();
    else if constexpr (is_over_edges<Collective> && !has_neighbors<Comm>) return call_fault::neighbors;
    else {
        using T = engine_element<buffer_pointee<Recv>, Collective, Plan>;
        using codec = typename Plan::codec;
        using space = buffer_space<Recv>;
        using placement = typename Plan::placement;
        if constexpr (codec::lossy && !floating_element<T> && !has_queued_codec<codec, T, space>)
            return call_fault::lossy_element;
        else if constexpr (!has_queued_codec<codec, T, space>) return missing_codec<codec, T>();
        else if constexpr (!has_guard<Plan>) return call_fault::fault_header;
        else if constexpr (half_homomorphic_codec<codec_impl<codec, T, space>, T>)
            return call_fault::codec_addends;
        else if constexpr (!has_schedule<algo_of<Collective, Plan>, Collective>) return call_fault::schedule;
        else if (Collective::reduces && std::is_same_v<placement, policies::Placement::Once>)
            return call_fault::once;
        else if (!Collective::reduces && (Plan::template names<axis::op> ||
                                          std::is_same_v<placement, policies::Placement::DecodeReduceEncode>))
            return call_fault::nothing_to_reduce;
        else if (Collective::reduces && !operation_on<typename Plan::op, T>) return call_fault::operation;
        else if (Collective::reduces && !never_throws<typename Plan::op, T>)
            return call_fault::operation_throws;
        else if (Collective::partial && Plan::op::divide_by_ranks) return call_fault::average_of_prefix;
        else if (fault_of_blocks<Plan, Collective, T, space>() != call_fault::none)
            return fault_of_blocks<Plan, Collective, T, space>();
        else if (fault_of_missing<Plan, T, space, Collective::reduces>() != call_fault::none)
            return fault_of_missing<Plan, T, space, Collective::reduces>();
        else if (std::is_same_v<placement, policies::Placement::Homomorphic> &&
                 !may_add_frames<Plan, Collective, T, space>)
            return call_fault::homomorphic;
        else if (!std::is_same_v<space, host_space> && Plan::template names<axis::exec>)
            return call_fault::threads;
        else return fault_of_direct<Plan, space>();
    }
}

/// Checks the arguments after the communicator.
template <class How, class Choice, class Comm, class... Extra>
consteval call_fault first_fault_of_extras()
{
    constexpr int bounds = (0 + ... + int{is_bound_argument<Extra>});
    if ((false || ... || std::is_integral_v<std::remove_cvref_t<Extra>>))
        return std::is_integral_v<Comm> ? call_fault::left_over : call_fault::bound_integer;
    if (!How::takes_error_code && (false || ... || is_error_code<Extra>)) return call_fault::code_later;
    if (!(true && ... &&
          (is_bound_argument<Extra> || is_error_code<Extra> ||
           is_space_argument<std::remove_cvref_t<Extra>>)))
        return call_fault::extra;
    if (Choice::takes_bound && bounds == 0) return call_fault::bound_missing;
    if (bounds > (Choice::may_be_given_bound ? 1 : 0)) return call_fault::bound_extra;
    return call_fault::none;
}

/// A choice, from its plans.
template <class Choice>
struct plans_of;
template <class First, class... More>
struct plans_of<plan_choice<First, More...>> {
    using first = First;
    using with_index = plan_choice<First, More...>;

    static constexpr bool one_instrument =
        (true && ... &&
         (std::is_same_v<typename First::instrument, typename More::instrument> &&
          std::is_same_v<typename First::integrity, typename More::integrity>));
    template <class T, class Collective>
    static constexpr bool one_element =
        (true && ... &&
         std::is_same_v<engine_element<T, Collective, First>, engine_element<T, Collective, More>>);
};
template <template <class...> class Rule, class... Plans>
    requires is_rule<Rule<Plans...>>
struct plans_of<Rule<Plans...>> : plans_of<plan_choice<Plans...>> {};
template <class How, class Collective, class Send, class Recv, class Comm, class... Extra, class... Plans>
consteval call_fault first_call_fault(const plan_choice<Plans...>*)
{
    using choice = plan_choice<Plans...>;
    if constexpr (choice::fault != plan_fault::none) return call_fault::plan;
    else {
        call_fault first = call_fault::none;
        ((first = first == call_fault::none
                      ? first_fault_of_plan<Collective, Plans, Send, Recv, Comm, Extra...>()
                      : first),
         ...);
        if (first != call_fault::none) return first;
        if (!plans_of<choice>::one_instrument) return call_fault::menu_instrument;
        if constexpr (buffer<Recv>)
            if (!plans_of<choice>::template one_element<buffer_pointee<Recv>, Collective>)
                return call_fault::menu_operation;
        if constexpr (buffer<Recv>)
            if ((false || ... || is_for_another_space<Extra, buffer_space<Recv>>)) return call_fault::stream;
        return first_fault_of_extras<How, choice, Comm, Extra...>();
    }
}

/// The first broken rule. Temporaries come last.
template <call_fault Lost>
consteval call_fault or_lost(call_fault first)
{
    return first == call_fault::none ? Lost : first;
}

/// The first broken rule of a call with any of the plans of `Choice`. A facade asks this, and calls refuse()
/// in a branch of its own.
template <class How, class Collective, class Choice, class Send, class Recv, class Comm, class... Extra>
inline constexpr call_fault fault_of = detail::first_call_fault<How, Collective, Send, Recv, Comm, Extra...>(
    static_cast<const typename detail::plans_of<Choice>::with_index*>(nullptr));

/// Prints the sentence of a fault; the compiler's note below it names the function that was called.
/// @tparam Call  @see refuse_plan
template <call_fault Fault, class Choice, class... Call>
constexpr void refuse()
{
    refuse_plan<Choice::fault, Choice, Call...>();
    static_assert(Fault != call_fault::marker,
                  "ccoll: a pointer without a type can only be MPI_IN_PLACE, and this call does not take "
                  "that here; it stands for the send buffer, in scatter for the receive buffer, and in bcast "
                  "and between neighbours for none");
    static_assert(Fault != call_fault::marker_transport,
                  "ccoll: a pointer without a type can only be MPI_IN_PLACE, and this communicator is not "
                  "one of MPI; pass the one buffer alone, as in allreduce(inout, comm), or the same pointer "
                  "twice in allreduce and reduce");
    static_assert(Fault != call_fault::buffer,
                  "ccoll: a buffer must be a contiguous range (std::vector, std::span, std::array, ...); for "
                  "elements with a stride pass ccoll::strided(pointer, count, length, stride) to a blocking "
                  "call, and for another container specialise ccoll::buffer_traits");
    static_assert(Fault != call_fault::number,
                  "ccoll: a number stands in the place of a buffer; for a number call ccoll::value::, as in "
                  "ccoll::value::allreduce(x, comm) (include <ccoll/value.hpp>), or pass std::span(&x, 1); "
                  "behind ranges stands no count");
    static_assert(Fault != call_fault::untyped,
                  "ccoll: a void pointer does not say what its elements are; cast it, as in "
                  "static_cast<float*>(pointer), or call ccoll::typed with an MPI_Datatype (include "
                  "<ccoll/typed.hpp>)");
    static_assert(Fault != call_fault::strided_later,
                  "ccoll: a strided view is copied together within a call, so it goes with blocking calls "
                  "alone; copy the elements to a buffer of yours, which outlives the request");
    static_assert(Fault != call_fault::threads,
                  "ccoll: Exec:: says who does the work of host codecs, and these buffers are not in host "
                  "memory; drop it");
    static_assert(Fault != call_fault::mixed_spaces,
                  "ccoll: one buffer is in host memory and the other one is not; copy one of them first");
    static_assert(Fault != call_fault::space,
                  "ccoll: this buffer is in device memory; include <ccoll/cuda.cuh> and compile with nvcc");
    static_assert(Fault != call_fault::array_element,
                  "ccoll: the elements of this buffer are arrays themselves, as in float a[10][10]; pass the "
                  "numbers, as in std::span(&a[0][0], 100), or with their shape, "
                  "ccoll::shaped(std::span(&a[0][0], 100), {10, 10})");
    static_assert(Fault != call_fault::constant_result,
                  "ccoll: the result buffer holds const elements, so nothing can be written to it; pass one "
                  "that is not const");
    static_assert(Fault != call_fault::element,
                  "ccoll: elements must be such that they may be copied byte by byte (numbers, or structs of "
                  "them; no pointers); convert the data first");
    static_assert(
        Fault != call_fault::mixed_elements,
        "ccoll: send and receive buffers must hold the same element type; convert one of them first");
    static_assert(Fault != call_fault::communicator,
                  "ccoll: the communicator must be an MPI_Comm (include <ccoll/transport/mpi.hpp>), a "
                  "ccoll::threads_comm (include <ccoll/transport/threads.hpp>) or an object that meets "
                  "ccoll::transport");
    static_assert(Fault != call_fault::neighbors,
                  "ccoll: this communicator does not know its neighbours; pass an MPI_Comm with a topology "
                  "(MPI_Cart_create, MPI_Dist_graph_create_adjacent), or ccoll::with_grid(comm, extents, "
                  "closed) or ccoll::with_neighbors(comm, sources, destinations)");
    static_assert(Fault != call_fault::lossy_element,
                  "ccoll: a lossy codec takes floating-point elements (float, double, half, bfloat16, and "
                  "complex numbers where they are moved or added); for integers and structs use "
                  "Codec::Lossless or Codec::None");
#define CCOLL_CODEC(tag, name, header)                                                        \
    static_assert(Fault != detail::header_of_codec(policies::Codec::tag::wire_id),            \
                  "ccoll: Codec::" name " is not included; add #include <ccoll/codec/" header \
                  ">, or <ccoll/codec.hpp> for all codecs");
    CCOLL_EACH_CODEC(CCOLL_CODEC)
#undef CCOLL_CODEC
    static_assert(Fault != call_fault::half_header,
                  "ccoll: lossy codecs for half and bfloat16 are not included; add #include "
                  "<ccoll/codec/half.hpp>, or <ccoll/codec.hpp> for all codecs");
    static_assert(Fault != call_fault::fault_header,
                  "ccoll: the policies of Fault:: are not included; add #include <ccoll/fault.hpp>");
    static_assert(
        Fault != call_fault::codec,
        "ccoll: this codec has no host implementation for this element type; include its header, or "
        "specialise ccoll::codec_impl<YourTag, T, ccoll::host_space> so that it meets ccoll::chunk_codec");
    static_assert(Fault != call_fault::codec_throws,
                  "ccoll: encode_chunk and decode_chunk of a codec must be noexcept, because messages are "
                  "under way while they run; add it, and return a ccoll::status for what cannot be done");
    static_assert(
        Fault != call_fault::codec_addends,
        "ccoll: a codec that adds encoded streams needs all of adds_non_finite, max_addend_bytes "
        "(constexpr), can_add, encode_addend, decode_addend and add_chunks, the last four noexcept; add what "
        "is missing, or drop the others (ccoll::homomorphic_chunk_codec has the signatures)");
    static_assert(Fault != call_fault::schedule,
                  "ccoll: this algorithm has no schedule for this collective; use Algo::Auto, include its "
                  "header, or specialise ccoll::schedule_for<YourTag, ccoll::collective::...>");
    static_assert(Fault != call_fault::once,
                  "ccoll: Placement::Once forwards bytes and cannot reduce them; use DecodeReduceEncode, "
                  "Homomorphic or Auto");
    static_assert(Fault != call_fault::nothing_to_reduce,
                  "ccoll: this collective only moves data: it takes no Op:: and no "
                  "Placement::DecodeReduceEncode; drop it, or use Placement::Once or PerHop");
    static_assert(Fault != call_fault::operation,
                  "ccoll: the operation cannot be computed on these elements: it needs 'static T apply(T, "
                  "T)' for them, and Op::Average elements that can be divided (no integers); use another "
                  "Op::, or write one (docs/reference/policies.md)");
    static_assert(Fault != call_fault::operation_throws,
                  "ccoll: 'apply' of the operation must be noexcept, because nothing can be thrown out of "
                  "the middle of a collective; say 'static T apply(T, T) noexcept'");
    static_assert(
        Fault != call_fault::blocks_of_collective,
        "ccoll: FixedBits with blocks is for allreduce, reduce and reduce_scatter, with any algorithm but "
        "Algo::Hierarchical; use FixedBits without Block here");
    static_assert(Fault != call_fault::blocks_of_elements,
                  "ccoll: FixedBits with blocks is for float and two-byte elements in memory of the "
                  "host or of a device; use FixedBits without Block here");
    static_assert(Fault != call_fault::blocks_of_codec,
                  "ccoll: FixedBits with blocks needs sums of encoded streams: Codec::SZp, with Op::Sum or "
                  "Op::Average, and no other placement than Placement::Homomorphic");
    static_assert(Fault != call_fault::blocks_with_missing,
                  "ccoll: FixedBits with blocks takes no Missing<>, because a declared value has no scale");
    static_assert(Fault != call_fault::average_of_prefix,
                  "ccoll: scan and exscan have no Op::Average, because every rank has another number of "
                  "operands; use Op::Sum and divide by rank + 1 (exscan: by rank)");
    static_assert(Fault != call_fault::missing_elements,
                  "ccoll: Missing<value> is for floating-point elements; drop it");
    static_assert(Fault != call_fault::missing_in_codec,
                  "ccoll: this codec does not keep the values that Missing<value> names; use Codec::SZp, "
                  "SZe, SZx, PipeSZx, Lossless or None");
    static_assert(Fault != call_fault::missing_in_space,
                  "ccoll: on a device, Missing<value> is for data movement with Codec::SZp, Lossless or "
                  "None; drop it, or reduce on the host");
    static_assert(
        Fault != call_fault::homomorphic,
        "ccoll: Placement::Homomorphic needs a codec that adds encoded streams (its codec_impl has "
        "add_chunks) and a linear operation (Op::Sum, Op::Average) in a reduction; use Placement::Auto");
    static_assert(Fault != call_fault::direct,
                  "ccoll: Transport::Direct is for messages in device memory, and these buffers are in host "
                  "memory; drop it, or pass device buffers");
    static_assert(Fault != call_fault::direct_guarded,
                  "ccoll: a Fault:: policy checks messages on the host, and with Transport::Direct they are "
                  "in device memory; use Transport::Staged");
    static_assert(
        Fault != call_fault::menu_instrument,
        "ccoll: the plans of a menu must all say the same Instrument:: and Fault::; leave these out of them "
        "and name them at the call, as in allreduce<Instrument::Breakdown>(menu.at(0), ...)");
    static_assert(Fault != call_fault::menu_operation,
                  "ccoll: for complex numbers the operations of a menu's plans must all be linear (Op::Sum, "
                  "Op::Average) or all be others; make two menus of them");
    static_assert(Fault != call_fault::extra,
                  "ccoll: behind the communicator a call takes a bound (a number, with RuntimeBound), a "
                  "std::error_code variable and, for device buffers, a stream (a cudaStream_t), nothing "
                  "else; check the order of the arguments: buffers, root, communicator, bound, error code");
    static_assert(Fault != call_fault::stream,
                  "ccoll: a stream stands behind the communicator, and these buffers are in host memory; "
                  "drop it, or pass device buffers");
    static_assert(Fault != call_fault::code_later,
                  "ccoll: a call that is only started takes its std::error_code in wait(code), not here");
    static_assert(Fault != call_fault::bound_missing,
                  "ccoll: the plan says RuntimeBound; pass the bound, a number, behind the communicator");
    static_assert(
        Fault != call_fault::bound_extra,
        "ccoll: a bound is passed but the plan does not say RuntimeBound; add it, or drop the argument");
    static_assert(Fault != call_fault::bound_integer,
                  "ccoll: an integer stands behind the communicator, and a bound is a floating-point number; "
                  "write 1.0 and not 1, or drop the argument");
    static_assert(Fault != call_fault::left_over,
                  "ccoll: an argument is left over from MPI's own call; drop MPI_Datatype (the elements have "
                  "a type), and write MPI_Op as a policy, allreduce<Op::Max>(send, recv, n, comm), or call "
                  "ccoll::typed; a bound is a floating-point number, 1.0 and not 1");
    static_assert(Fault != call_fault::order,
                  "ccoll: the communicator stands too far behind; the order is buffers, counts, root, "
                  "communicator, bound, error code, and ranges take no count of their own");
    static_assert(Fault != call_fault::temporary,
                  "ccoll: this call still uses its arguments when the expression that began it has ended, "
                  "and one of them is a temporary that owns its elements; give it a name and keep it until "
                  "wait() has returned (..._init: as long as the persistent call), or pass a view such as "
                  "std::span (a view of yours says so with buffer_traits<...>::is_view)");
    static_assert(
        Fault != call_fault::temporary_result,
        "ccoll: the result goes to a temporary that owns its elements, and is destroyed with it; give it a "
        "name, or pass a view such as std::span (an empty one on ranks without a result)");
}

}  // namespace ccoll::inline CCOLL_ABI::detail
