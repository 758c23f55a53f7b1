// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/p2p_forms.hpp - floor 3. Point-to-point calls from types to values: the rules, and the forms in
// which buffers are passed.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include <ccoll/entry/forms.hpp>
#include <ccoll/plan/guard.hpp>
#include <ccoll/p2p/p2p.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// What a point-to-point call does not accept. Faults that it shares with collectives are a call_fault.
enum class p2p_fault { none, algorithm, placement, operation, check, extra, rule };

/// Stands in where the rules ask for a collective.
struct p2p_movement {
    static constexpr bool reduces = false;
};
template <class T, class Plan>
using p2p_element = engine_element<T, p2p_movement, Plan>;

/// Stands in for a buffer that the call does not have.
struct no_buffer {};
template <class B>
inline constexpr bool is_absent = std::is_same_v<std::remove_cvref_t<B>, no_buffer>;

/// The element type of a call, without const.
template <class Send, class Recv>
struct moved_element_of {
    using type = buffer_pointee<Recv>;
};
template <class Send, class Recv>
    requires is_absent<Recv>
struct moved_element_of<Send, Recv> {
    using type = std::remove_const_t<buffer_pointee<Send>>;
};
template <class Send, class Recv>
using moved_element = typename moved_element_of<Send, Recv>::type;

/// The memory space of the buffers that exist. The rules check that both are in it.
template <class Send, class Recv>
struct moved_space_of {
    using type = buffer_space<Recv>;
};
template <class Send, class Recv>
    requires is_absent<Recv>
struct moved_space_of<Send, Recv> {
    using type = buffer_space<Send>;
};
template <class Send, class Recv>
using moved_space = typename moved_space_of<Send, Recv>::type;

template <class B, class Space>
consteval bool is_in()
{
    if constexpr (is_absent<B>) return true;
    else return std::is_same_v<buffer_space<B>, Space>;
}
template <class B, class T>
consteval bool holds_only()
{
    if constexpr (is_absent<B>) return true;
    else return std::is_same_v<std::remove_const_t<buffer_pointee<B>>, T>;
}

template <class Plan, class Send, class Recv, class Comm, class... Extra>
consteval call_fault first_shared_fault_of_plan()
{
    if constexpr (!is_absent<Send> && fault_of_buffer<Send>() != call_fault::none)
        return fault_of_buffer<Send>();
    else if constexpr (!is_absent<Recv> && fault_of_buffer<Recv>() != call_fault::none)
        return fault_of_buffer<Recv>();
    else if constexpr (fault_of_element<moved_element<Send, Recv>>() != call_fault::none)
        return fault_of_element<moved_element<Send, Recv>>();
    else if constexpr (!is_in<Send, moved_space<Send, Recv>>()) return call_fault::mixed_spaces;
    else if constexpr (!has_memory_space<moved_space<Send, Recv>, moved_element<Send, Recv>>)
        return call_fault::space;
    else if constexpr (!holds_only<Send, moved_element<Send, Recv>>()) return call_fault::mixed_elements;
    else if constexpr (first_fault_of_order<Comm, Extra...>() != call_fault::none)
        return first_fault_of_order<Comm, Extra...>();
    else {
        using T = p2p_element<moved_element<Send, Recv>, Plan>;
        using codec = typename Plan::codec;
        if constexpr (codec::lossy && !floating_element<T> &&
                      !has_queued_codec<codec, T, moved_space<Send, Recv>>)
            return call_fault::lossy_element;
        else if constexpr (!has_queued_codec<codec, T, moved_space<Send, Recv>>)
            return missing_codec<codec, T>();
        else if constexpr (!has_guard<Plan>) return call_fault::fault_header;
        else if constexpr (half_homomorphic_codec<codec_impl<codec, T, moved_space<Send, Recv>>, T>)
            return call_fault::codec_addends;
        else if (Plan::bound::block != 0) return call_fault::blocks_of_collective;
        else if (fault_of_missing<Plan, T, moved_space<Send, Recv>, false>() != call_fault::none)
            return fault_of_missing<Plan, T, moved_space<Send, Recv>, false>();
        else return fault_of_direct<Plan, moved_space<Send, Recv>>();
    }
}

template <class How, class Send, class Recv, class Comm, class... Extra, class... Plans>
consteval call_fault first_shared_fault(const plan_choice<Plans...>*)
{
    using choice = plan_choice<Plans...>;
    if constexpr (choice::fault != plan_fault::none) return call_fault::plan;
    else {
        call_fault first = call_fault::none;
        ((first = first == call_fault::none ? first_shared_fault_of_plan<Plans, Send, Recv, Comm, Extra...>()
                                            : first),
         ...);
        if (first != call_fault::none) return first;
        if (!plans_of<choice>::one_instrument) return call_fault::menu_instrument;
        if constexpr ((is_absent<Send> || buffer<Send>) && (is_absent<Recv> || buffer<Recv>))
            if ((false || ... || is_for_another_space<Extra, moved_space<Send, Recv>>))
                return call_fault::stream;
        const call_fault extras = first_fault_of_extras<How, choice, Comm, Extra...>();
        return extras == call_fault::extra ? call_fault::none : extras;  // this is a p2p_fault
    }
}

template <class Plan>
consteval p2p_fault first_p2p_fault_of_plan()
{
    if (Plan::template names<axis::algo>) return p2p_fault::algorithm;
    if (Plan::template names<axis::placement>) return p2p_fault::placement;
    if (Plan::template names<axis::op>) return p2p_fault::operation;
    if (std::is_same_v<typename Plan::check, policies::Check::Collective>) return p2p_fault::check;
    return p2p_fault::none;
}

template <class How, class Comm, class... Extra, class... Plans>
consteval p2p_fault first_p2p_fault(const plan_choice<Plans...>*)
{
    p2p_fault first = p2p_fault::none;
    ((first = first == p2p_fault::none ? first_p2p_fault_of_plan<Plans>() : first), ...);
    if (first != p2p_fault::none) return first;
    const bool strange =
        first_fault_of_extras<How, plan_choice<Plans...>, Comm, Extra...>() == call_fault::extra;
    return strange ? p2p_fault::extra : p2p_fault::none;
}

/// Prints the sentence of a fault.
/// @tparam Call  @see refuse_plan
template <p2p_fault Fault, class... Call>
constexpr void refuse_p2p()
{
    static_assert(Fault != p2p_fault::algorithm,
                  "ccoll: a message between two ranks has no algorithm; drop the Algo::");
    static_assert(Fault != p2p_fault::placement,
                  "ccoll: a message between two ranks is always encoded once; drop the Placement::");
    static_assert(Fault != p2p_fault::operation, "ccoll: send and receive only move data; drop the Op::");
    static_assert(Fault != p2p_fault::check,
                  "ccoll: a sender is not told what its receiver finds, so Check::Collective cannot hold "
                  "between two ranks; drop it, or use Check::Local");
    static_assert(Fault != p2p_fault::rule,
                  "ccoll: a message between two ranks cannot use menu::chosen_by or menu::tuned, because its "
                  "two ends do not know the same facts; use menu::at");
    static_assert(
        Fault != p2p_fault::extra,
        "ccoll: behind the communicator a call takes a bound (a number, with RuntimeBound), a "
        "std::error_code variable and, for device buffers, a stream (a cudaStream_t), nothing else; check "
        "the order of the arguments: buffer, peer, tag, communicator, bound, error code");
}

/// The plan as values, built once per plan and element type.
template <class Plan, class T, class Buffers = host_space>
inline constexpr p2p_decision<T> p2p_decision_of = [] {
    using plan_codec = typename Plan::codec;
    constexpr bool is_direct = wants_direct<Plan> && has_memory_space<direct<Buffers>, T> &&
                               has_queued_codec<plan_codec, T, direct<Buffers>>;
    using Space = std::conditional_t<is_direct, direct<Buffers>, Buffers>;
    using plan_bound = typename Plan::bound;
    p2p_decision<T> d;
    d.codec_name = plan_codec::name;
    d.codec = queued_codecs<plan_codec, T, Space, typename Plan::exec>::frames;
    d.space = memory_space<Space, T>::operations;
    if constexpr (requires { Plan::exec::queue_of_lane(std::size_t{}); })
        d.threads = &Plan::exec::queue_of_lane;
    d.most_elements = longest_p2p_slice(d.codec);
    d.lossy = plan_codec::lossy;
    d.relative = plan_bound::kind == bound_kind::relative;
    d.of_magnitude = plan_bound::of_magnitude;
    d.at_rate = plan_bound::kind == bound_kind::rate;
    d.bound_at_run_time = plan_bound::given_at_run_time;
    d.bound_value = plan_bound::value;
    d.missing = missing_value_of<typename Plan::missing, T>();
    if constexpr (Plan::patience_s > 0) d.patience = {Plan::patience_s, &steady_seconds};
    d.plan = mixed(mixed(hash_seed, plan_codec::name), d.relative  ? "relative"
                                                       : d.at_rate ? "rate"
                                                                   : "absolute");
    if constexpr (Plan::missing::declared) d.plan = mixed(mixed(d.plan, "Missing"), d.missing.bits);
    d.plan = mixed(d.plan, std::uint64_t{dtype_of<T>} + 256 * std::uint64_t{sizeof(T)});
    return d;
}();

/// Is there nobody to talk to?
template <class Link>
constexpr bool is_nobody(int peer)
{
    if constexpr (requires { Link::is_nobody(peer); }) return peer == nobody || Link::is_nobody(peer);
    else return peer == nobody;
}

/// The plans of a choice.
template <class T, class Space, class... Plans>
constexpr const p2p_decision<T>& p2p_plan(const plan_choice<Plans...>& choice)
{
    constexpr const p2p_decision<T>* plans[] = {&p2p_decision_of<Plans, T, Space>...};
    return *plans[choice.index];
}

template <class How, class Space, class Choice, element T, class Comm, class... Extra>
typename How::result perform_p2p(const Choice& choice, p2p_buffers<T> user, const Comm& comm, Extra&... extra)
{
    const exact_call environment;
    const extras more(extra...);
    user.after = more.after;
    if (!is_possible(comm))
        return How::refused(user.call, status::no_communicator, not_a_communicator, more.code);
    auto link = as_transport_alone(comm, plans_of<Choice>::first::timeout::seconds);
    using transport_type = decltype(link);
    if (const status refusal = link.refusal(); refusal != status::ok)
        return How::refused(user.call, refusal, link.explain(), more.code);
    const sole_use mine(&link.memory().user());
    if (!mine.granted()) return How::refused(user.call, status::out_of_turn, sole_use::refused, more.code);
    for (int* peer : {&user.destination, &user.source})
        if (is_nobody<transport_type>(*peer)) *peer = nobody;
    const p2p_order<T> order{p2p_plan<T, Space>(choice), user, more.eb};
    using first_plan = typename plans_of<Choice>::first;
    auto guarded_link = guard<first_plan>::link(std::move(link));
    using used_link = decltype(guarded_link);
    using call =
        typename guard<first_plan>::template call<p2p_call<T, used_link, clock_of<first_plan>>, used_link>;
    return How::template run<call>(order, std::move(guarded_link), more.code);
}

/// Of what is sent, and of what is received.
struct p2p_tags {
    int send = 0, recv = 0;
};

/// Sends, receives, or does both; no_buffer stands in on a side without a buffer.
/// @tparam Lost  @see lost_arguments
template <class How, call_fault Lost, class Choice, class Send, class Recv, class Comm, class... Extra>
typename How::result call_p2p(const Choice& choice, const char* name, Send&& send, int destination,
                              Recv&& recv, int source, p2p_tags tags, const Comm& comm, Extra&&... extra)
{
    constexpr const typename plans_of<Choice>::with_index* plans = nullptr;
    constexpr call_fault shared = or_lost<Lost>(first_shared_fault<How, Send, Recv, Comm, Extra...>(plans));
    constexpr p2p_fault own = is_rule<Choice> ? p2p_fault::rule : first_p2p_fault<How, Comm, Extra...>(plans);
    if constexpr ((is_strided<Send> || is_strided<Recv>) && How::outlives_arguments) {
        refuse<call_fault::strided_later, Choice, How, Send, Recv>();
        return {};
    } else if constexpr (is_strided<Send> || is_strided<Recv>) {
        return with_packed(send, recv, [&](auto& from, auto& to) {
            return call_p2p<How, Lost>(choice, name, from, destination, to, source, tags, comm,
                                       std::forward<Extra>(extra)...);
        });
    } else if constexpr (shared != call_fault::none) {
        refuse<shared, Choice, How, Send, Recv, Comm, Extra...>();
        return {};
    } else if constexpr (own != p2p_fault::none) {
        refuse_p2p<own, How, Choice, Send, Recv, Comm, Extra...>();
        return {};
    } else {
        using U = moved_element<Send, Recv>;
        using T = p2p_element<U, typename plans_of<Choice>::first>;
        constexpr std::size_t times = sizeof(U) / sizeof(T);
        p2p_buffers<T> user;
        user.call = name;
        user.send_tag = tags.send;
        user.recv_tag = tags.recv;
        if constexpr (!is_absent<Send>) {
            const auto all = as_span(send);
            user.send = as_elements<T>(all.data());
            user.send_count = all.size() * times;
            user.destination = destination;
            user.strided |= !is_contiguous(send);
            user.shape = shape_facts::of(send).in_elements(times);
        }
        if constexpr (!is_absent<Recv>) {
            const auto all = as_span(recv);
            user.recv = as_elements<T>(all.data());
            user.recv_count = all.size() * times;
            user.source = source;
            user.strided |= !is_contiguous(recv);
            if (const auto shape = shape_facts::of(recv).in_elements(times); !shape.fits())
                user.shape = shape;
        }
        return perform_p2p<How, moved_space<Send, Recv>>(choice, user, comm, extra...);
    }
}

template <class T, class Count>
pointer_range<T> range_at([[maybe_unused]] T* first, [[maybe_unused]] Count n)
{
    if constexpr (std::is_void_v<T>) return {};
    else return {first, static_cast<std::size_t>(n)};
}

template <class How>
struct p2p_send {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::send;

    template <class Choice, class Buffer, class Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& data, int destination, int tag, const Comm& comm,
                       Extra&&... extra)
    {
        return call_p2p<How, lost_arguments<How, no_buffer, Buffer>()>(
            choice, "send", std::as_const(data), destination, no_buffer{}, nobody, p2p_tags{tag, tag}, comm,
            std::forward<Extra>(extra)...);
    }
    template <class Choice, class U, std::integral Count, class Comm, class... Extra>
    static result call(const Choice& choice, const U* data, Count n, int destination, int tag,
                       const Comm& comm, Extra&&... extra)
    {
        return call(choice, range_at(data, n), destination, tag, comm, std::forward<Extra>(extra)...);
    }
};

template <class How>
struct p2p_recv {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::recv;

    template <class Choice, class Buffer, class Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& data, int source, int tag, const Comm& comm,
                       Extra&&... extra)
    {
        return call_p2p<How, lost_arguments<How, Buffer>()>(choice, "recv", no_buffer{}, nobody, data, source,
                                                            p2p_tags{tag, tag}, comm,
                                                            std::forward<Extra>(extra)...);
    }
    template <class Choice, class U, std::integral Count, class Comm, class... Extra>
    static result call(const Choice& choice, U* data, Count n, int source, int tag, const Comm& comm,
                       Extra&&... extra)
    {
        return call(choice, range_at(data, n), source, tag, comm, std::forward<Extra>(extra)...);
    }
};

template <class How>
struct p2p_sendrecv {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::sendrecv;

    template <class Choice, class Send, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, int destination, Recv&& recv, int source, int tag,
                       const Comm& comm, Extra&&... extra)
    {
        return call_p2p<How, lost_arguments<How, Recv, Send>()>(choice, "sendrecv", std::as_const(send),
                                                                destination, recv, source, p2p_tags{tag, tag},
                                                                comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class Send, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, int destination, int send_tag, Recv&& recv,
                       int source, int recv_tag, const Comm& comm, Extra&&... extra)
    {
        return call_p2p<How, lost_arguments<How, Recv, Send>()>(
            choice, "sendrecv", std::as_const(send), destination, recv, source, p2p_tags{send_tag, recv_tag},
            comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, std::integral Count, class B, std::integral OtherCount, class Comm,
              class... Extra>
    static result call(const Choice& choice, const A* send, Count n, int destination, B* recv, OtherCount m,
                       int source, int tag, const Comm& comm, Extra&&... extra)
    {
        return call(choice, range_at(send, n), destination, range_at(recv, m), source, tag, comm,
                    std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, std::integral Count, class B, std::integral OtherCount, class Comm,
              class... Extra>
    static result call(const Choice& choice, const A* send, Count n, int destination, int send_tag, B* recv,
                       OtherCount m, int source, int recv_tag, const Comm& comm, Extra&&... extra)
    {
        return call(choice, range_at(send, n), destination, send_tag, range_at(recv, m), source, recv_tag,
                    comm, std::forward<Extra>(extra)...);
    }
};
}  // namespace ccoll::inline CCOLL_ABI::detail
