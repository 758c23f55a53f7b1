// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of collectives share: worlds of ranks that must end in time, buffers with guards, and every
// collective in one shape. Catch's assertions belong to one thread, so ranks only record what they saw.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/fields.hpp"
#include "support/oracle.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

namespace worlds {

using ccoll::report;
using ccoll::status;
using ccoll::threads_comm;

#ifdef CCOLL_TEST_SANITIZED
// Sanitizers are slow, and look at memory and order, not at values.
inline constexpr int rank_counts[] = {1, 2, 3, 5};
#else
inline constexpr int rank_counts[] = {1, 2, 3, 4,
                                      5, 7, 8, 13};  // powers of two, odd, prime, one above and below a power
#endif

/// What a rank found wrong: expectations that failed, as text, because Catch's assertions belong to one
/// thread.
struct findings {
    std::string wrong;
    void expect(bool holds, const std::string& what)
    {
        if (!holds && wrong.size() < 500) wrong += what + "; ";
    }
};
inline void none_wrong(const std::vector<findings>& all)
{
    for (std::size_t r = 0; r < all.size(); ++r) {
        INFO("rank " << r << " of " << all.size());
        CHECK(all[r].wrong == "");
    }
}

/// Runs `body` on p ranks. A world that does not end within `seconds` fails the test, and its threads are
/// left asleep: a deadlock is a result. They keep what `body` holds.
inline void run_world(int p, std::function<void(threads_comm&)> body, double seconds)
{
    struct world {
        std::function<void(threads_comm&)> body;
        std::promise<void> ended;
    };
    const auto shared = std::make_shared<world>(world{std::move(body), {}});
    auto ended = shared->ended.get_future();
    std::thread runner([shared, p] {
        try {
            ccoll::run_ranks(p, shared->body);
            shared->ended.set_value();
        } catch (...) {
            shared->ended.set_exception(std::current_exception());
        }
    });
    if (ended.wait_for(std::chrono::duration<double>(seconds)) != std::future_status::ready) {
        runner.detach();
        FAIL("deadlock: " << p << " ranks did not end within " << seconds << " s");
    }
    runner.join();
    ended.get();
}
/// Runs `body(comm, rank_state)` on p ranks and returns the states. `body` is copied into the world.
template <class State>
std::vector<State> run(int p, std::type_identity_t<std::function<void(threads_comm&, State&)>> body,
                       double seconds = 100)
{
    const auto states = std::make_shared<std::vector<State>>(static_cast<std::size_t>(p));
    run_world(
        p,
        [states, body = std::move(body)](threads_comm& comm) {
            body(comm, (*states)[static_cast<std::size_t>(comm.rank())]);
        },
        seconds);
    return std::move(*states);
}

/// How long disagreeing ranks may take. Sanitizers on busy cores are slow, but no test waits until this time
/// has passed.
inline constexpr double promptly = 5;

/// n elements between guards.
template <class T>
class guarded {
public:
    explicit guarded(std::size_t n = 0, T fill = T(-77)) : n_(n), all_(n + 2 * margin, fill)
    {
        for (std::size_t i = 0; i < margin; ++i) all_[i] = all_[margin + n + i] = mark;
    }
    explicit guarded(const std::vector<T>& values) : guarded(values.size())
    {
        if (!values.empty())
            std::memcpy(span().data(), values.data(), values.size() * sizeof(T));  // signalling NaNs stay
    }
    std::span<T> span() { return {all_.data() + margin, n_}; }
    std::vector<T> values() const
    {
        std::vector<T> v(n_);
        if (n_ > 0) std::memcpy(v.data(), all_.data() + margin, n_ * sizeof(T));
        return v;
    }
    bool intact() const
    {
        for (std::size_t i = 0; i < margin; ++i)
            if (all_[i] != mark || all_[margin + n_ + i] != mark) return false;
        return true;
    }

private:
    static constexpr std::size_t margin = 16;
    static constexpr T mark = T(12345.75);
    std::size_t n_;
    std::vector<T> all_;
};

// Every collective in one shape. n is the length of a block if the collective has blocks, otherwise of the
// vector. send_size and recv_size are 0 if the buffer is not needed.

struct all_reduce {
    using collective = ccoll::collective::allreduce;
    static constexpr bool in_place_exists = true;
    static std::size_t send_size(int, int, int, std::size_t n) { return n; }
    static std::size_t recv_size(int, int, int, std::size_t n) { return n; }
    template <class... P, class S, class R, class C, class... E>
    static report call(S&& s, R&& r, int, const C& c, E&&... e)
    {
        return ccoll::allreduce<P...>(s, r, c, e...);
    }
    template <class... P, class B, class C, class... E>
    static report in_place(B&& b, int, const C& c, E&&... e)
    {
        return ccoll::allreduce<P...>(b, c, e...);
    }
};
struct reduce_scatter {
    using collective = ccoll::collective::reduce_scatter;
    static constexpr bool in_place_exists = true;
    static std::size_t send_size(int, int p, int, std::size_t n) { return n * static_cast<std::size_t>(p); }
    static std::size_t recv_size(int, int, int, std::size_t n) { return n; }
    template <class... P, class S, class R, class C, class... E>
    static report call(S&& s, R&& r, int, const C& c, E&&... e)
    {
        return ccoll::reduce_scatter<P...>(s, r, c, e...);
    }
    template <class... P, class B, class C, class... E>
    static report in_place(B&& b, int, const C& c, E&&... e)
    {
        return ccoll::reduce_scatter<P...>(b, c, e...);
    }
};
struct allgather {
    using collective = ccoll::collective::allgather;
    static constexpr bool in_place_exists = true;
    static std::size_t send_size(int, int, int, std::size_t n) { return n; }
    static std::size_t recv_size(int, int p, int, std::size_t n) { return n * static_cast<std::size_t>(p); }
    template <class... P, class S, class R, class C, class... E>
    static report call(S&& s, R&& r, int, const C& c, E&&... e)
    {
        return ccoll::allgather<P...>(s, r, c, e...);
    }
    template <class... P, class B, class C, class... E>
    static report in_place(B&& b, int, const C& c, E&&... e)
    {
        return ccoll::allgather<P...>(b, c, e...);
    }
};
/// Here, not in place means that the root's data are first copied into the buffer.
struct bcast {
    using collective = ccoll::collective::bcast;
    static constexpr bool in_place_exists = true;
    static std::size_t send_size(int me, int, int root, std::size_t n) { return me == root ? n : 0; }
    static std::size_t recv_size(int, int, int, std::size_t n) { return n; }
    template <class... P, class S, class R, class C, class... E>
    static report call(S&& s, R&& r, int root, const C& c, E&&... e)
    {
        if (c.rank() == root && s.size() == r.size() && !s.empty())
            std::memcpy(r.data(), s.data(), s.size_bytes());
        return ccoll::bcast<P...>(r, root, c, e...);
    }
    template <class... P, class B, class C, class... E>
    static report in_place(B&& b, int root, const C& c, E&&... e)
    {
        return ccoll::bcast<P...>(b, root, c, e...);
    }
};
struct scatter {
    using collective = ccoll::collective::scatter;
    static constexpr bool in_place_exists = false;
    static std::size_t send_size(int me, int p, int root, std::size_t n)
    {
        return me == root ? n * static_cast<std::size_t>(p) : 0;
    }
    static std::size_t recv_size(int, int, int, std::size_t n) { return n; }
    template <class... P, class S, class R, class C, class... E>
    static report call(S&& s, R&& r, int root, const C& c, E&&... e)
    {
        return ccoll::scatter<P...>(s, r, root, c, e...);
    }
};
struct gather {
    using collective = ccoll::collective::gather;
    static constexpr bool in_place_exists = false;
    static std::size_t send_size(int, int, int, std::size_t n) { return n; }
    static std::size_t recv_size(int me, int p, int root, std::size_t n)
    {
        return me == root ? n * static_cast<std::size_t>(p) : 0;
    }
    template <class... P, class S, class R, class C, class... E>
    static report call(S&& s, R&& r, int root, const C& c, E&&... e)
    {
        return ccoll::gather<P...>(s, r, root, c, e...);
    }
};
struct reduce {
    using collective = ccoll::collective::reduce;
    static constexpr bool in_place_exists = false;
    static std::size_t send_size(int, int, int, std::size_t n) { return n; }
    static std::size_t recv_size(int me, int, int root, std::size_t n) { return me == root ? n : 0; }
    template <class... P, class S, class R, class C, class... E>
    static report call(S&& s, R&& r, int root, const C& c, E&&... e)
    {
        return ccoll::reduce<P...>(s, r, root, c, e...);
    }
};

/// One case of a matrix.
struct setting {
    int p = 1, root = 0;
    std::size_t n = 0;
    bool in_place = false;
};

/// What rank r contributes. It is called on the threads of all ranks, so it is a function without state.
template <class T>
using contribution = std::vector<T> (*)(std::size_t n, unsigned seed);

/// What one rank saw.
template <class T>
struct seen {
    std::vector<T> result;
    report facts;
    bool guards = true, send_kept = true;
};

/// The send buffers of all ranks.
template <class Call, class T>
std::vector<std::vector<T>> inputs_of(const setting& s, contribution<T> data)
{
    std::vector<std::vector<T>> all;
    for (int r = 0; r < s.p; ++r)
        all.push_back(data(Call::send_size(r, s.p, s.root, s.n), static_cast<unsigned>(r + 1)));
    return all;
}

/// A collective with its plan. These are pointers, because there are hundreds of plans, and a compiler takes
/// longer for function objects.
template <class T>
struct calls {
    report (*apart)(std::span<const T>, std::span<T>, int root, threads_comm&, const void* extra) = nullptr;
    /// Null if it cannot work in place.
    report (*in_place)(std::span<T>, int root, threads_comm&, const void* extra) = nullptr;
    std::shared_ptr<const void> extra;  ///< a tuple of what follows the communicator
};
/// Runs the call once on every rank.
template <class Call, class T>
std::vector<seen<T>> collect_calls(const setting& s, const std::vector<std::vector<T>>& inputs,
                                   const calls<T>& call)
{
    return run<seen<T>>(s.p, [=](threads_comm& comm, seen<T>& mine) {
        const int me = comm.rank();
        const std::vector<T>& input = inputs[static_cast<std::size_t>(me)];
        guarded<T> send(input), recv(Call::recv_size(me, s.p, s.root, s.n));
        if (call.in_place != nullptr && s.in_place) {
            const std::size_t whole = std::max(send.span().size(), recv.span().size());
            guarded<T> both(whole);
            const std::size_t at = send.span().size() < whole && Call::send_size(me, s.p, s.root, s.n) > 0
                                       ? static_cast<std::size_t>(me) * s.n
                                       : 0;
            if (!input.empty()) std::memcpy(both.span().data() + at, input.data(), input.size() * sizeof(T));
            mine.facts = call.in_place(both.span(), s.root, comm, call.extra.get());
            mine.guards = both.intact();
            mine.result = both.values();
            mine.result.resize(recv.span().size());  // reduce_scatter: the first n
            return;
        }
        mine.facts = call.apart(send.span(), recv.span(), s.root, comm, call.extra.get());
        mine.guards = send.intact() && recv.intact();
        mine.send_kept = oracle::same_bits(send.values(), input);
        mine.result = recv.values();
    });
}
/// Calls `call` with the elements of a tuple. With none, it does without std::apply, which takes a compiler
/// longer.
template <class... Extra, class Call>
report with_extra([[maybe_unused]] const void* tuple, Call call)
{
    if constexpr (sizeof...(Extra) == 0) return call();
    else return std::apply(call, *static_cast<const std::tuple<Extra...>*>(tuple));
}
/// Runs the collective once on every rank. `extra` follows the communicator.
template <class Call, class T, class... P, class... Extra>
std::vector<seen<T>> collect(const setting& s, const std::vector<std::vector<T>>& inputs, Extra... extra)
{
    calls<T> call;
    if constexpr (sizeof...(Extra) > 0) call.extra = std::make_shared<const std::tuple<Extra...>>(extra...);
    call.apart = [](std::span<const T> send, std::span<T> recv, int root, threads_comm& comm,
                    const void* more) {
        return with_extra<Extra...>(more, [&](const Extra&... each) {
            return Call::template call<P...>(send, recv, root, comm, each...);
        });
    };
    if constexpr (Call::in_place_exists)
        call.in_place = [](std::span<T> both, int root, threads_comm& comm, const void* more) {
            return with_extra<Extra...>(more, [&](const Extra&... each) {
                return Call::template in_place<P...>(both, root, comm, each...);
            });
        };
    return collect_calls<Call, T>(s, inputs, call);
}

/// What rank `me` must hold as element i. `operands` is room that the caller keeps from element to element.
template <class Call, class T>
oracle::wanted wanted_of(const setting& s, const std::vector<std::vector<T>>& inputs, oracle::op what, int me,
                         std::size_t i, double worst, std::vector<T>& operands)
{
    using collective = typename Call::collective;
    if constexpr (collective::reduces) {
        const std::size_t at =
            collective::recv == ccoll::extent::own ? static_cast<std::size_t>(me) * s.n + i : i;
        operands.resize(inputs.size());
        for (std::size_t r = 0; r < inputs.size(); ++r) operands[r] = inputs[r][at];
        return oracle::reduce<T>(what, operands, worst);
    } else if constexpr (collective::send == ccoll::extent::own) {  // allgather, gather
        return oracle::moved(inputs[i / s.n][i % s.n]);
    } else {  // bcast, scatter
        const std::size_t at =
            collective::recv == ccoll::extent::own ? static_cast<std::size_t>(me) * s.n + i : i;
        return oracle::moved(inputs[static_cast<std::size_t>(s.root)][at]);
    }
}

/// The names that a report must show.
struct names {
    const char *algorithm, *codec, *placement;
};

template <class... Algos>
const char* name_at(ccoll::detail::algo_list<Algos...>, std::size_t index)
{
    const char* const all[] = {Algos::name...};
    return all[index];
}

/// What a report must show for a plan that usually shows `usually`. Algo::Auto may take another algorithm for
/// this length.
template <class Call, class T, class... P>
std::string algorithm_for(const setting& s, const names& usually)
{
    using plan = ccoll::plan_of<P...>;
    using rule = ccoll::detail::auto_rule<typename Call::collective>;
    if constexpr (std::is_same_v<typename plan::algo, ccoll::policies::Algo::Auto> &&
                  requires(const ccoll::choice_facts& facts) { rule::choose(facts); }) {
        const std::string placement = usually.placement;
        const bool any_way = !plan::codec::lossy || placement == "Homomorphic" || placement == "Once";
        const std::size_t parts =
            Call::collective::send == ccoll::extent::own ? static_cast<std::size_t>(s.p) : 1;
        if (any_way)
            return name_at(typename rule::algos{},
                           rule::choose({Call::collective::name, s.n * parts * sizeof(T), s.p, {}}));
    }
    return usually.algorithm;
}

/// What a plan promises.
struct promises {
    std::string algorithm, codec, placement;
    bool lossy;
    bool always_compares, compares_if_large;  ///< arguments, before the call
};
template <class Call, class T, class... P>
promises promises_of(const setting& s, const names& said)
{
    using plan = ccoll::plan_of<P...>;
    using level = typename plan::check;
    return {algorithm_for<Call, T, P...>(s, said),
            said.codec,
            said.placement,
            plan::codec::lossy && s.p > 1,
            std::is_same_v<level, ccoll::policies::Check::Collective> ||
                plan::bound::kind == ccoll::bound_kind::relative,
            std::is_same_v<level, ccoll::policies::Check::Auto>};
}

/// Checks all that is promised of a case.
template <class Call, class T>
void judge(const setting& s, const std::vector<std::vector<T>>& inputs, oracle::op what,
           const std::vector<seen<T>>& all, const promises& promised)
{
    for (int r = 0; r < s.p; ++r) {
        const seen<T>& mine = all[static_cast<std::size_t>(r)];
        const report& facts = mine.facts;
        INFO("rank " << r);
        CHECK(mine.guards);
        CHECK(mine.send_kept);
        CHECK(facts.trouble.ok());
        CHECK(facts.ran_by == ccoll::ran_by::engine);
        CHECK(facts.algorithm == promised.algorithm);
        CHECK(facts.codec == promised.codec);
        CHECK(facts.placement == promised.placement);
        CHECK(facts.exact == !promised.lossy);
        CHECK((facts.worst_case_error > 0) == promised.lossy);
        CHECK((facts.error_bound > 0) == promised.lossy);
        CHECK(facts.probable_error <= facts.worst_case_error);
        // Check::Auto compares arguments before large vectors, and always if there is a root.
        const std::size_t longest =
            std::max(Call::send_size(r, s.p, r, s.n), Call::recv_size(r, s.p, r, s.n));
        const bool large = Call::collective::rooted || longest * sizeof(T) >= ccoll::detail::agreement_bytes;
        CHECK(facts.agreed ==
              (s.p > 1 && (promised.always_compares || (promised.compares_if_large && large))));
        if (s.p == 1) CHECK(facts.sent_bytes == 0);
        const bool whole = Call::collective::recv == ccoll::extent::whole;
        const bool same = whole && oracle::same_bits(mine.result, all[0].result);
        if (facts.same_bits && whole && mine.result.size() == all[0].result.size()) CHECK(same);
        if (r > 0 && same && facts.worst_case_error == all[0].facts.worst_case_error)
            continue;  // the bits that rank 0 was checked for
        std::size_t wrong = 0, first = 0;
        std::vector<T> operands;
        for (std::size_t i = 0; i < mine.result.size(); ++i)
            if (!oracle::holds(mine.result[i],
                               wanted_of<Call, T>(s, inputs, what, r, i, facts.worst_case_error, operands),
                               facts.worst_case_error))
                if (wrong++ == 0) first = i;
        INFO("first wrong element " << first << ": " << (wrong > 0 ? mine.result[first] : T(0)));
        CHECK(wrong == 0);
    }
}

/// Runs a case and checks all that is promised. @return what the ranks saw
template <class Call, class T, class... P, class... Extra>
std::vector<seen<T>> check(const setting& s, const char* field, const std::vector<std::vector<T>>& inputs,
                           oracle::op what, const names& said, Extra... extra)
{
    INFO("p " << s.p << ", n " << s.n << ", root " << s.root << (s.in_place ? ", in place" : "") << ", field "
              << field << ", " << said.algorithm << " " << said.codec << " " << said.placement);
    const auto all = collect<Call, T, P...>(s, inputs, extra...);
    judge<Call, T>(s, inputs, what, all, promises_of<Call, T, P...>(s, said));
    return all;
}

/// A field by its number. It is finite, and so are its sums.
template <class T>
struct named_field {
    const char* name;
    contribution<T> make;
};
template <class T>
inline constexpr named_field<T> ordinary[] = {
    {"smooth", &fields::smooth<T>},        {"random", &fields::random<T>},
    {"quiet", &fields::quiet<T>},          {"ramp", &fields::ramp<T>},
    {"offset", &fields::offset<T>},        {"constant", &fields::constant<T>},
    {"half_steps", &fields::half_steps<T>}};
template <class T>
inline constexpr std::size_t ordinary_count = std::size(ordinary<T>);

/// Block edges of SZx (128), chunk edges of PipeSZx (5120), nothing, one, and a prime with many chunks.
inline constexpr std::size_t sizes[] = {0, 1, 127, 128, 129, 5119, 5120, 5121, 10007};

/// Ranks, sizes, roots, fields, in place or not: every value of each occurs with every p.
template <class Call, class T, class... P>
void matrix(oracle::op what, const names& said)
{
    std::size_t turn = 0;
    for (const int p : rank_counts) {
        const int roots[] = {0, p - 1, p / 2};
        for (const std::size_t n : sizes) {
            const named_field<T>& field = ordinary<T>[turn % ordinary_count<T>];
            setting s{p, Call::collective::rooted ? roots[turn % 3] : 0, n, turn % 2 == 1};
            ++turn;
            if (Call::collective::send != Call::collective::recv && p > 4)
                s.n = n / 4;  // some buffers have p * n elements
            check<Call, T, P...>(s, field.name, inputs_of<Call, T>(s, field.make), what, said);
        }
    }
}

}  // namespace worlds
