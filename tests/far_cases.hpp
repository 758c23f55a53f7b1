// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every collective, algorithm and placement on memory that the host cannot read, compared with the same call on host memory: the same
// bits, and as many bytes sent. Over any communicator. Failures are reported in words.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "far_space.hpp"
#include "fields.hpp"

#include <ccoll/ccoll.hpp>

namespace far {

using namespace ccoll::policies;
using E = ErrorBound<1e-3>;
using floats = std::vector<float>;

/// One rank's view of a communicator. @tparam Vector  elements in the memory in question, made from how many there are or from values
template <class Comm, template <class> class Vector = vector>
class cases {
public:
    cases(const Comm& comm, std::string& wrong) : comm_(comm), wrong_(wrong)
    {
        auto link = ccoll::as_transport(comm);
        me_ = link.rank();
        p_ = link.size();
    }

    /// @param n     elements of a block, or of the vector if there are no blocks
    void run(std::size_t n)
    {
        reductions<Algo::Ring, Codec::SZp, Placement::Homomorphic>(n);
        reductions<Algo::Ring, Codec::SZp, Placement::DecodeReduceEncode>(n);
        reductions<Algo::Ring, Codec::PipeSZx, Placement::PerHop>(n);
        all_reduce<Algo::RecursiveDoubling, Codec::SZp, E>("RecursiveDoubling Homomorphic", n);
        all_reduce<Algo::RecursiveDoubling, Codec::SZx, E>("RecursiveDoubling DecodeReduceEncode", n);
        all_reduce<Algo::Rabenseifner, Codec::SZp, E, Placement::PerHop>("Rabenseifner PerHop", n);
        all_reduce<Algo::Rabenseifner, Codec::SZp, E, Op::Average>("Rabenseifner Average", n);
        all_reduce<Algo::Ring, Codec::SZp, E, Op::Max>("Ring Max", n);
        all_reduce<Algo::Ring, Codec::None, Op::Min>("Ring None", n);
        all_reduce<Codec::SZp, RelativeBound<1e-3>>("RelativeBound", n);
        all_reduce<Codec::SZp, E, Check::Collective>("Check::Collective", n);
        reduce_to_root<Algo::Binomial, Codec::SZp, E>("Binomial Homomorphic", n);
        reduce_to_root<Algo::Chain, Codec::SZp, E, Op::Average>("Chain Average", n);
        reduce_to_root<Algo::Binomial, Codec::SZx, E>("Binomial DecodeReduceEncode", n);
        movement<Codec::SZp>(n);
        movement<Codec::PipeSZx, Placement::PerHop>(n);
        if constexpr (ccoll::has_queued_codec<Codec::Lossless, float, ccoll::buffer_space<Vector<float>>>) movement<Codec::Lossless>(n);
        movement<Codec::None>(n);
        what_cannot_be_added(n);
        varied(n);
        pairs(n);
        nonblocking(n);
    }

private:
    template <class A, class C, class Place>
    void reductions(std::size_t n)
    {
        const std::string what = std::string(C::name) + " " + Place::name;
        all_reduce<A, C, Place, E>(what, n);
        compare(what + " reduce_scatter", n * ranks(), n,
                [&](auto& in, auto& out) { return ccoll::reduce_scatter<A, C, Place, E>(in, out, comm_); });
        in_place(what + " reduce_scatter", n * ranks(), n, [&](auto& both) { return ccoll::reduce_scatter<A, C, Place, E>(both, comm_); });
    }
    template <class... P>
    void all_reduce(const std::string& what, std::size_t n)
    {
        compare(what + " allreduce", n, n, [&](auto& in, auto& out) { return ccoll::allreduce<P...>(in, out, comm_); });
        in_place(what + " allreduce", n, n, [&](auto& both) { return ccoll::allreduce<P...>(both, comm_); });
    }
    template <class... P>
    void reduce_to_root(const std::string& what, std::size_t n)
    {
        compare(what + " reduce", n, n, [&](auto& in, auto& out) { return ccoll::reduce<P...>(in, out, p_ - 1, comm_); });
    }
    template <class C, class... P>
    void movement(std::size_t n)
    {
        const std::string what = C::name;
        const auto with = [&]<class... A>(const char* algo) {
            const std::string name = what + " " + algo;
            using plan = std::conditional_t<C::lossy, ccoll::Plan<C, E, A..., P...>, ccoll::Plan<C, A..., P...>>;
            return std::pair<std::string, plan>(name, {});
        };
        gathers<typename decltype(with.template operator()<Algo::Ring>(""))::second_type>(what + " Ring", n);
        gathers<typename decltype(with.template operator()<Algo::RecursiveDoubling>(""))::second_type>(what + " RecursiveDoubling", n);
        gathers<typename decltype(with.template operator()<Algo::Bruck>(""))::second_type>(what + " Bruck", n);
        broadcasts<typename decltype(with.template operator()<Algo::Binomial>(""))::second_type>(what + " Binomial", n);
        broadcasts<typename decltype(with.template operator()<Algo::Chain>(""))::second_type>(what + " Chain", n);
        broadcasts<typename decltype(with.template operator()<Algo::ScatterAllgather>(""))::second_type>(what + " ScatterAllgather", n);
        exchanges<typename decltype(with.template operator()<Algo::Pairwise>(""))::second_type>(what + " Pairwise", n);
        exchanges<typename decltype(with.template operator()<Algo::Spread>(""))::second_type>(what + " Spread", n);
        exchanges<typename decltype(with.template operator()<Algo::Bruck>(""))::second_type>(what + " Bruck", n);
        rooted<typename decltype(with.template operator()<Algo::Binomial>(""))::second_type>(what + " Binomial", n);
        rooted<typename decltype(with.template operator()<Algo::Linear>(""))::second_type>(what + " Linear", n);
    }
    template <class Plan>
    void gathers(const std::string& what, std::size_t n)
    {
        compare(what + " allgather", n, n * ranks(), [&](auto& in, auto& out) { return ccoll::allgather<Plan>(in, out, comm_); });
    }
    template <class Plan>
    void broadcasts(const std::string& what, std::size_t n)
    {
        in_place(what + " bcast", n, n, [&](auto& both) { return ccoll::bcast<Plan>(both, p_ / 2, comm_); });
    }
    template <class Plan>
    void exchanges(const std::string& what, std::size_t n)
    {
        compare(what + " alltoall", n * ranks(), n * ranks(), [&](auto& in, auto& out) { return ccoll::alltoall<Plan>(in, out, comm_); });
        in_place(what + " alltoall", n * ranks(), n * ranks(), [&](auto& both) { return ccoll::alltoall<Plan>(both, comm_); });
    }
    template <class Plan>
    void rooted(const std::string& what, std::size_t n)
    {
        compare(what + " scatter", me_ == 0 ? n * ranks() : 0, n,
                [&](auto& in, auto& out) { return ccoll::scatter<Plan>(in, out, 0, comm_); });
        compare(what + " gather", n, me_ == 0 ? n * ranks() : 0,
                [&](auto& in, auto& out) { return ccoll::gather<Plan>(in, out, 0, comm_); });
    }

    /// One huge value on one rank. All ranks must reduce exactly, in a second pass or at once.
    void what_cannot_be_added(std::size_t n)
    {
        spike_ = true;
        all_reduce<Algo::Ring, Codec::SZp, E>("what cannot be added, Ring", n);
        all_reduce<Algo::RecursiveDoubling, Codec::SZp, E>("what cannot be added, RecursiveDoubling", n);
        reduce_to_root<Algo::Binomial, Codec::SZp, E>("what cannot be added, Binomial", n);
        spike_ = false;
    }
    void varied(std::size_t n)
    {
        std::vector<std::size_t> counts;
        std::size_t all = 0;
        for (int r = 0; r < p_; ++r) all += counts.emplace_back(n * static_cast<std::size_t>(r) / 2);
        const std::size_t own = counts[static_cast<std::size_t>(me_)];
        compare("allgatherv", own, all, [&](auto& in, auto& out) { return ccoll::allgatherv<Codec::SZp, E>(in, out, counts, comm_); });
        varied_with_root(counts, own, all);
        std::vector<std::size_t> sent(ranks(), own);
        compare("alltoallv", own * ranks(), all,
                [&](auto& in, auto& out) { return ccoll::alltoallv<Codec::SZp, E>(in, sent, out, counts, comm_); });
    }
    void pairs(std::size_t n)
    {
        const int next = (me_ + 1) % p_, before = (me_ + p_ - 1) % p_;
        compare("sendrecv", n, n, [&](auto& in, auto& out) { return ccoll::sendrecv<Codec::SZp, E>(in, next, out, before, 3, comm_); });
        compare("sendrecv RelativeBound", n, n,
                [&](auto& in, auto& out) { return ccoll::sendrecv<Codec::SZp, RelativeBound<1e-4>>(in, next, out, before, 3, comm_); });
        in_place("sendrecv", n, n, [&](auto& both) { return ccoll::sendrecv<Codec::SZx, E>(both, next, both, before, 3, comm_); });
        exact_pairs(n, next, before);
    }
    /// In two halves, without a codec.
    void exact_pairs(std::size_t n, int next, int before)
    {
        compare("isend and recv", n, n, [&](auto& in, auto& out) {
            ccoll::request sent = ccoll::isend(in, next, 4, comm_);
            ccoll::recv(out, before, 4, comm_);
            return sent.wait();
        });
    }
    /// v variants with a root.
    void varied_with_root(const std::vector<std::size_t>& counts, std::size_t own, std::size_t all)
    {
        const int root = p_ - 1;
        const bool is_root = me_ == root;
        compare("gatherv", own, is_root ? all : 0,
                [&](auto& in, auto& out) { return ccoll::gatherv<Codec::SZp, E>(in, out, counts, root, comm_); });
        compare("scatterv", is_root ? all : 0, own,
                [&](auto& in, auto& out) { return ccoll::scatterv<Codec::SZp, E>(in, counts, out, root, comm_); });
        compare("reduce_scatter_v", all, own,
                [&](auto& in, auto& out) { return ccoll::reduce_scatter_v<Codec::SZp, E>(in, out, counts, comm_); });
        compare("allgatherv without a codec", own, all, [&](auto& in, auto& out) { return ccoll::allgatherv(in, out, counts, comm_); });
    }
    void nonblocking(std::size_t n)
    {
        compare("two at once", n, n, [&](auto& in, auto& out) {
            auto other = in_same_space(in, n);
            ccoll::request first = ccoll::iallreduce<Codec::SZp, E>(in, out, comm_),
                           second = ccoll::iallreduce<Codec::SZx, E, Op::Max>(*other, comm_);
            second.wait();
            return first.wait();
        });
        compare("started twice", n, n, [&](auto& in, auto& out) {
            ccoll::persistent call = ccoll::allreduce_init<Codec::SZp, E>(in, out, comm_);
            call.start();
            call.wait();
            call.start();
            return call.wait();
        });
    }
    static std::unique_ptr<floats> in_same_space(const floats&, std::size_t n) { return std::make_unique<floats>(n, 1.5f); }
    static std::unique_ptr<Vector<float>> in_same_space(const Vector<float>&, std::size_t n)
    {
        return std::make_unique<Vector<float>>(n, 1.5f);
    }

    // ---- one call on both kinds of memory ----

    std::size_t ranks() const { return static_cast<std::size_t>(p_); }
    floats input(std::size_t n) const
    {
        floats x = fields::smooth<float>(n, static_cast<unsigned>(me_) + 1);
        if (spike_ && n > 0 && me_ == p_ / 2) x[n / 2] = 3e20f;
        return x;
    }
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
    /// @param kept  elements of the result
    template <class Call>
    void in_place(const std::string& what, std::size_t n, std::size_t kept, Call call)
    {
        floats x = input(n);
        Vector<float> far_x(x);
        const ccoll::report expected = call(x), found = call(far_x);
        check(what + " in place", expected, found, x, far_x.values(), kept);
    }
    void check(const std::string& what, const ccoll::report& expected, const ccoll::report& found, const floats& y, const floats& far_y,
               std::size_t kept)
    {
        if (!same_bits(std::span(y).first(kept), std::span(far_y).first(kept))) wrong_ += what + ": other bits; ";
        const std::string placement = expected.placement, algorithm = expected.algorithm;
        if (algorithm != "MPI" && (found.sent_bytes != expected.sent_bytes || found.placement != placement || found.algorithm != algorithm))
            wrong_ += what + ": other bytes or another way; ";
        if (found.worst_case_error != expected.worst_case_error || found.exact != expected.exact ||
            found.fallback_blocks != expected.fallback_blocks || found.special_values != expected.special_values)
            wrong_ += what + ": another promise; ";
    }
    static bool same_bits(std::span<const float> a, std::span<const float> b)
    {
        return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
    }

    const Comm& comm_;
    std::string& wrong_;
    int me_ = 0, p_ = 1;
    bool spike_ = false;
};

/// Several slices per lane, one slice, a few elements, none.
inline constexpr std::size_t lengths[] = {300001, 5000, 37, 0};

}  // namespace far
