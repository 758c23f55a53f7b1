// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every collective, algorithm and placement on memory that the host cannot read, compared with the same call
// on host memory: the same bits, and as many bytes sent (slices.hpp says where not). The call on host memory
// is waited for. The other one is waited for, begun, or prepared and started twice, in turn. Over any
// communicator. Failures are reported in words.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "far_space.hpp"
#include "fields.hpp"
#include "slices.hpp"

#include <ccoll/ccoll.hpp>

namespace far {

using namespace ccoll::policies;
using ccoll::Plan;
using E = ErrorBound<1e-3>;
using floats = std::vector<float>;

// ---- calls, by how they are waited for ----

namespace calls {
#define CCOLL_FAR_CALL(call)                                 \
    struct call {                                            \
        static constexpr const char* name = #call;           \
        template <class... Arguments>                        \
        static ccoll::report wait_for(Arguments&&... all)    \
        {                                                    \
            return ccoll::call(all...);                      \
        }                                                    \
        template <class... Arguments>                        \
        static ccoll::request begin(Arguments&&... all)      \
        {                                                    \
            return ccoll::i##call(all...);                   \
        }                                                    \
        template <class... Arguments>                        \
        static ccoll::persistent prepare(Arguments&&... all) \
        {                                                    \
            return ccoll::call##_init(all...);               \
        }                                                    \
    };
CCOLL_FAR_CALL(allreduce)
CCOLL_FAR_CALL(reduce)
CCOLL_FAR_CALL(reduce_scatter)
CCOLL_FAR_CALL(reduce_scatterv)
CCOLL_FAR_CALL(scan)
CCOLL_FAR_CALL(exscan)
CCOLL_FAR_CALL(allgather)
CCOLL_FAR_CALL(allgatherv)
CCOLL_FAR_CALL(bcast)
CCOLL_FAR_CALL(alltoall)
CCOLL_FAR_CALL(alltoallv)
CCOLL_FAR_CALL(scatter)
CCOLL_FAR_CALL(scatterv)
CCOLL_FAR_CALL(gather)
CCOLL_FAR_CALL(gatherv)
CCOLL_FAR_CALL(neighbor_alltoall)
CCOLL_FAR_CALL(neighbor_allgather)
#undef CCOLL_FAR_CALL
}  // namespace calls

template <class Space>  // not in the class, where nvcc takes the first comma for the end of it
inline constexpr bool keeps_lossless = ccoll::has_queued_codec<Codec::Lossless, float, Space>;

/// One rank's view of a communicator.
/// @tparam Vector  elements in the memory in question, made from how many there are or from values
template <class Comm, template <class> class Vector = vector>
class cases {
public:
    cases(const Comm& comm, std::string& wrong) : comm_(comm), wrong_(wrong)
    {
        auto link = ccoll::as_transport(comm);
        me_ = link.rank();
        p_ = link.size();
        turn_ = p_;  // three numbers of ranks in a row are enough for all ways of waiting
    }

    /// @param n     elements of a block, or of the vector if there are no blocks
    void run(std::size_t n)
    {
        block_ = std::max(n, n * (ranks() - 1) / 2);  // of varied()
        reductions(n);
        prefixes(n);
        movement(n);
        what_cannot_be_added(n);
        varied(n);
        around(n);
        pairs(n);
        two_at_once(n);
    }

    /// What depends on the length of slices: messages, and what is reduced exactly.
    void run_long(std::size_t n)
    {
        block_ = n;
        all_reduce(ccoll::menu<Plan<Algo::Ring, SZp, E>,
                               Plan<Algo::Rabenseifner, SZp, E, Placement::DecodeReduceEncode>,
                               Plan<Algo::Ring, Codec::PipeSZx, E, Placement::PerHop>>(),
                   n);
        what_cannot_be_added(n);
    }

private:
    // ---- plans ----

    using SZp = Codec::SZp;
    /// An exact codec, of the host if the memory allows that.
    using exact =
        std::conditional_t<keeps_lossless<ccoll::buffer_space<Vector<float>>>, Codec::Lossless, Codec::None>;

    /// What is exact goes the same way with every algorithm: one will do.
    template <class Algo, class... Algos>
    using moving = ccoll::menu<
        Plan<Algo, SZp, E>, Plan<Algos, SZp, E>..., Plan<Algo, Codec::PipeSZx, E, Placement::PerHop>,
        Plan<Algos, Codec::PipeSZx, E, Placement::PerHop>..., Plan<Algo, exact>, Plan<Algo, Codec::None>>;
    template <class Algo, class... Algos>
    using reducing =
        ccoll::menu<Plan<Algo, SZp, E>, Plan<Algos, SZp, E>...,
                    Plan<Algo, SZp, E, Placement::DecodeReduceEncode>,
                    Plan<Algos, SZp, E, Placement::DecodeReduceEncode>...,
                    Plan<Algo, Codec::PipeSZx, E, Placement::PerHop>,
                    Plan<Algos, Codec::PipeSZx, E, Placement::PerHop>..., Plan<Algo, Codec::None, Op::Max>>;
    template <class... Algos>
    using averaging = ccoll::menu<Plan<Algos, SZp, E, Op::Average>...>;

    // ---- collectives ----

    void reductions(std::size_t n)
    {
        all_reduce(reducing<Algo::Ring, Algo::RecursiveDoubling, Algo::Rabenseifner>(), n);
        all_reduce(averaging<Algo::Ring, Algo::Rabenseifner>(), n);
        all_reduce(ccoll::menu<Plan<Algo::RecursiveDoubling, Codec::SZx, E>,
                               Plan<Algo::Ring, SZp, E, Op::Max>, Plan<SZp, RelativeBound<1e-3>>,
                               Plan<SZp, E, Check::Collective>, Plan<SZp, EndToEnd<E>>>(),
                   n);
        each(reducing<Algo::Ring, Algo::Rabenseifner>(), [&](const auto& plan) {
            compare<calls::reduce_scatter>(
                plan, n * ranks(), n, [&](auto with, auto& in, auto& out) { return with(in, out, comm_); });
            in_place<calls::reduce_scatter>(plan, n * ranks(), n,
                                            [&](auto with, auto& both) { return with(both, comm_); });
        });
        each(reducing<Algo::Binomial, Algo::Chain, Algo::Linear, Algo::Rabenseifner>(),
             [&](const auto& plan) { reduce_to_root(plan, n); });
        each(averaging<Algo::Chain>(), [&](const auto& plan) { reduce_to_root(plan, n); });
    }
    template <class Menu>
    void all_reduce(const Menu& plans, std::size_t n)
    {
        each(plans, [&](const auto& plan) {
            compare<calls::allreduce>(plan, n, n,
                                      [&](auto with, auto& in, auto& out) { return with(in, out, comm_); });
            in_place<calls::allreduce>(plan, n, n, [&](auto with, auto& both) { return with(both, comm_); });
        });
    }
    template <class Choice>
    void reduce_to_root(const Choice& plan, std::size_t n)
    {
        compare<calls::reduce>(plan, n, n,
                               [&](auto with, auto& in, auto& out) { return with(in, out, p_ - 1, comm_); });
    }
    void prefixes(std::size_t n)
    {
        each(reducing<Algo::Chain, Algo::RecursiveDoubling>(), [&](const auto& plan) {
            compare<calls::scan>(plan, n, n,
                                 [&](auto with, auto& in, auto& out) { return with(in, out, comm_); });
            in_place<calls::exscan>(plan, n, n, [&](auto with, auto& both) { return with(both, comm_); });
        });
    }
    void movement(std::size_t n)
    {
        const std::size_t all = n * ranks();
        each(moving<Algo::Ring, Algo::RecursiveDoubling, Algo::Bruck>(), [&](const auto& plan) {
            compare<calls::allgather>(plan, n, all,
                                      [&](auto with, auto& in, auto& out) { return with(in, out, comm_); });
        });
        each(moving<Algo::Binomial, Algo::Chain, Algo::Linear, Algo::ScatterAllgather>(),
             [&](const auto& plan) {
                 in_place<calls::bcast>(plan, n, n,
                                        [&](auto with, auto& both) { return with(both, p_ / 2, comm_); });
             });
        each(moving<Algo::Pairwise, Algo::Spread, Algo::Bruck>(), [&](const auto& plan) {
            compare<calls::alltoall>(plan, all, all,
                                     [&](auto with, auto& in, auto& out) { return with(in, out, comm_); });
            in_place<calls::alltoall>(plan, all, all,
                                      [&](auto with, auto& both) { return with(both, comm_); });
        });
        each(moving<Algo::Binomial, Algo::Linear>(), [&](const auto& plan) {
            compare<calls::scatter>(plan, me_ == 0 ? all : 0, n,
                                    [&](auto with, auto& in, auto& out) { return with(in, out, 0, comm_); });
            compare<calls::gather>(plan, n, me_ == 0 ? all : 0,
                                   [&](auto with, auto& in, auto& out) { return with(in, out, 0, comm_); });
        });
    }
    /// More huge values on one rank than a sum can hold. All ranks must reduce this part exactly, in a second
    /// pass.
    void what_cannot_be_added(std::size_t n)
    {
        spike_ = true;
        all_reduce(ccoll::menu<Plan<Algo::Ring, SZp, E>, Plan<Algo::RecursiveDoubling, SZp, E>>(), n);
        reduce_to_root(ccoll::menu<Plan<Algo::Binomial, SZp, E>>().at(0), n);
        each(ccoll::menu<Plan<Algo::Ring, SZp, E>>(), [&](const auto& plan) {
            compare<calls::reduce_scatter>(
                plan, n * ranks(), n, [&](auto with, auto& in, auto& out) { return with(in, out, comm_); });
            in_place<calls::reduce_scatter>(plan, n * ranks(), n,
                                            [&](auto with, auto& both) { return with(both, comm_); });
        });
        each(ccoll::menu<Plan<Algo::Chain, SZp, E>>(), [&](const auto& plan) {
            in_place<calls::scan>(plan, n, n, [&](auto with, auto& both) { return with(both, comm_); });
        });
        spike_ = false;
    }
    /// v variants: another length for each rank, and 0 for the first.
    void varied(std::size_t n)
    {
        const int root = p_ - 1;
        std::vector<std::size_t> counts;
        std::size_t all = 0;
        for (int r = 0; r < p_; ++r) all += counts.emplace_back(n * static_cast<std::size_t>(r) / 2);
        const std::size_t own = counts[static_cast<std::size_t>(me_)], of_root = me_ == root ? all : 0;
        const std::vector<std::size_t> sent(ranks(), own);
        each(ccoll::menu<Plan<SZp, E>, Plan<>>(), [&](const auto& plan) {
            compare<calls::allgatherv>(
                plan, own, all, [&](auto with, auto& in, auto& out) { return with(in, out, counts, comm_); });
            compare<calls::alltoallv>(plan, own * ranks(), all, [&](auto with, auto& in, auto& out) {
                return with(in, sent, out, counts, comm_);
            });
            compare<calls::gatherv>(plan, own, of_root, [&](auto with, auto& in, auto& out) {
                return with(in, out, counts, root, comm_);
            });
            compare<calls::scatterv>(plan, of_root, own, [&](auto with, auto& in, auto& out) {
                return with(in, counts, out, root, comm_);
            });
            compare<calls::reduce_scatterv>(
                plan, all, own, [&](auto with, auto& in, auto& out) { return with(in, out, counts, comm_); });
        });
    }
    /// A ring of neighbours.
    void around(std::size_t n)
    {
        const std::vector<int> left{(me_ + p_ - 1) % p_}, right{(me_ + 1) % p_};
        const auto ring = ccoll::with_neighbors(comm_, left, right);
        each(ccoll::menu<Plan<SZp, E>, Plan<Codec::SZx, E>, Plan<>>(), [&](const auto& plan) {
            compare<calls::neighbor_alltoall>(
                plan, n, n, [&](auto with, auto& in, auto& out) { return with(in, out, ring); });
            compare<calls::neighbor_allgather>(
                plan, n, n, [&](auto with, auto& in, auto& out) { return with(in, out, ring); });
        });
    }
    void pairs(std::size_t n)
    {
        const int next = (me_ + 1) % p_, before = (me_ + p_ - 1) % p_;
        compare("sendrecv", n, n, [&](auto& in, auto& out) {
            return ccoll::sendrecv<SZp, E>(in, next, out, before, 3, comm_);
        });
        compare("sendrecv RelativeBound", n, n, [&](auto& in, auto& out) {
            return ccoll::sendrecv<SZp, RelativeBound<1e-4>>(in, next, out, before, 3, comm_);
        });
        floats x = input(n);
        Vector<float> far_x(x);
        const ccoll::report expected = ccoll::sendrecv<Codec::SZx, E>(x, next, x, before, 3, comm_);
        const ccoll::report found = ccoll::sendrecv<Codec::SZx, E>(far_x, next, far_x, before, 3, comm_);
        check("sendrecv in place", expected, found, x, far_x.values(), n);
        compare("isend and recv", n, n, [&](auto& in, auto& out) {
            ccoll::request sent = ccoll::isend(in, next, 4, comm_);
            ccoll::recv(out, before, 4, comm_);
            return sent.wait();
        });
        compare("irecv and send", n, n, [&](auto& in, auto& out) {
            ccoll::request received = ccoll::irecv<SZp, E>(out, before, 4, comm_);
            const ccoll::report r = ccoll::send<SZp, E>(in, next, 4, comm_);
            received.wait();
            return r;
        });
    }
    void two_at_once(std::size_t n)
    {
        compare("two at once", n, n, [&](auto& in, auto& out) {
            auto other = in_same_space(in, n);
            ccoll::request first = ccoll::iallreduce<SZp, E>(in, out, comm_),
                           second = ccoll::iallreduce<Codec::SZx, E, Op::Max>(*other, comm_);
            second.wait();
            return first.wait();
        });
    }
    static std::unique_ptr<floats> in_same_space(const floats&, std::size_t n)
    {
        return std::make_unique<floats>(n, 1.5f);
    }
    static std::unique_ptr<Vector<float>> in_same_space(const Vector<float>&, std::size_t n)
    {
        return std::make_unique<Vector<float>>(n, 1.5f);
    }

    // ---- one call on both kinds of memory ----

    std::size_t ranks() const { return static_cast<std::size_t>(p_); }
    floats input(std::size_t n) const
    {
        floats x = fields::smooth<float>(n, static_cast<unsigned>(me_) + 1);
        if (spike_ && n > 16 && me_ == p_ / 2)
            for (std::size_t k = 0; k < 6; ++k) x[n / 2 + k] = static_cast<float>(k + 3) * 1e20f;
        return x;
    }
    template <class Menu, class Work>
    static void each(const Menu& plans, Work work)
    {
        for (std::size_t i = 0; i < plans.size(); ++i) work(plans.at(i));
    }
    /// @param pass  (with, buffers...) -> with(buffers and what else the call needs)
    template <class Call, class Choice, class Pass, class... Buffers>
    ccoll::report waited_for(const Choice& plan, Pass pass, Buffers&... buffers) const
    {
        return pass([&](auto&&... all) { return Call::wait_for(plan, all...); }, buffers...);
    }
    /// Waited for, begun, or started twice. @param twice  is set if it was
    template <class Call, class Choice, class Pass, class... Buffers>
    ccoll::report in_turn(bool& twice, const Choice& plan, Pass pass, Buffers&... buffers)
    {
        const int way = turn_++ % 3;
        twice = way == 2;
        if (way == 0) return waited_for<Call>(plan, pass, buffers...);
        if (way == 1) {
            ccoll::request begun = pass([&](auto&&... all) { return Call::begin(plan, all...); }, buffers...);
            return begun.wait();
        }
        ccoll::persistent prepared =
            pass([&](auto&&... all) { return Call::prepare(plan, all...); }, buffers...);
        prepared.start();
        prepared.wait();
        prepared.start();
        return prepared.wait();
    }
    template <class Call, class Choice, class Pass>
    void compare(const Choice& plan, std::size_t sent, std::size_t received, Pass pass)
    {
        const floats x = input(sent);
        floats y(received, -7);
        const Vector<float> far_x(x);
        Vector<float> far_y(received, -7);
        const ccoll::report expected = waited_for<Call>(plan, pass, x, y);
        bool twice = false;
        const ccoll::report found = in_turn<Call>(twice, plan, pass, far_x, far_y);
        const std::string what = name_of(Call::name, expected);
        check(what, expected, found, y, far_y.values(), received);
        if (!same_bits(far_x.values(), x)) wrong_ += what + ": changed its input; ";
    }
    /// @param kept  elements of the result
    template <class Call, class Choice, class Pass>
    void in_place(const Choice& plan, std::size_t n, std::size_t kept, Pass pass)
    {
        floats x = input(n);
        Vector<float> far_x(x);
        bool twice = false;
        const ccoll::report found = in_turn<Call>(twice, plan, pass, far_x);
        ccoll::report expected = waited_for<Call>(plan, pass, x);
        if (twice) expected = waited_for<Call>(plan, pass, x);
        check(name_of(Call::name, expected) + " in place", expected, found, x, far_x.values(), kept);
    }
    /// @param call  (in, out) -> report
    template <class Call>
    void compare(const std::string& what, std::size_t sent, std::size_t received, Call call)
    {
        const floats x = input(sent);
        floats y(received, -7);
        const Vector<float> far_x(x);
        Vector<float> far_y(received, -7);
        const ccoll::report expected = call(x, y), found = call(far_x, far_y);
        check(what, expected, found, y, far_y.values(), received);
        if (!same_bits(far_x.values(), x)) wrong_ += what + ": changed its input; ";
    }
    static std::string name_of(const char* call, const ccoll::report& r)
    {
        return std::string(call) + ' ' + r.algorithm + ' ' + r.codec + ' ' + r.placement;
    }
    void check(const std::string& what, const ccoll::report& expected, const ccoll::report& found,
               const floats& y, const floats& far_y, std::size_t kept)
    {
        const bool cut_otherwise =
            slices::may_differ<ccoll::buffer_space<Vector<float>>, float>(block_, ranks());
        // Where a call has fallen back, whole slices are exact.
        const bool fell_back = cut_otherwise && spike_ && expected.fallback_blocks > 0;
        if (!fell_back && !same_bits(std::span(y).first(kept), std::span(far_y).first(kept)))
            wrong_ += what + ": other bits; ";
        for (std::size_t i = 0; fell_back && i < kept; ++i)
            if (!slices::both_hold(y[i], far_y[i], expected, found, p_)) {
                wrong_ += what + ": a broken promise; ";
                break;
            }
        const std::string placement = expected.placement, algorithm = expected.algorithm,
                          packed = expected.codec;
        using space_of_it = ccoll::buffer_space<Vector<float>>;
        constexpr bool is_on_device = std::is_same_v<space_of_it, ccoll::cuda_space> ||
                                      std::is_same_v<space_of_it, ccoll::detail::direct<ccoll::cuda_space>>;
        const bool packs_freely = is_on_device && (packed == "SZp" || packed == "SZx" || packed == "PipeSZx");
        const bool same_bytes = packs_freely ? (found.sent_bytes > 0) == (expected.sent_bytes > 0)
                                : cut_otherwise
                                    ? fell_back || slices::only_headers_differ(expected, found, sizeof(float))
                                    : found.sent_bytes == expected.sent_bytes;
        if (expected.ran_by != ccoll::ran_by::mpi &&
            (!same_bytes || found.placement != placement || found.algorithm != algorithm))
            wrong_ += what + ": other bytes or another way; ";
        if (found.worst_case_error != expected.worst_case_error || found.exact != expected.exact)
            wrong_ += what + ": another promise; ";
        if (fell_back ? found.fallback_blocks == 0
                      : (!packs_freely && found.fallback_blocks != expected.fallback_blocks) ||
                            found.special_values != expected.special_values)
            wrong_ += what + ": other counts; ";
    }
    static bool same_bits(std::span<const float> a, std::span<const float> b)
    {
        return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
    }

    const Comm& comm_;
    std::string& wrong_;
    int me_ = 0, p_ = 1, turn_ = 0;
    std::size_t block_ = 0;  ///< elements of a block, at most
    bool spike_ = false;
};

/// Several slices per lane, one slice, a few elements, none.
inline constexpr std::size_t lengths[] = {300001, 5000, 37, 0};

}  // namespace far
