// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers with a shape: every kind of call gives the bits that it gives without, and sends fewer bytes.
#include "support/catch.hpp"

#include <cmath>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

namespace shapes_cases {

using namespace ccoll::policies;

namespace {

constexpr std::size_t rows = 300, row = 181, n = rows * row;

std::vector<float> field_of(int rank)
{
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(i % row), b = static_cast<double>(i / row);
        x[i] = static_cast<float>(20 * std::sin(0.11 * a + 0.02 * b + rank) * std::cos(0.037 * a - 0.05 * b) +
                                  3 * std::sin(0.53 * a) + 280);
    }
    return x;
}
bool same(const std::vector<float>& a, const std::vector<float>& b)
{
    return std::memcmp(a.data(), b.data(), n * sizeof(float)) == 0;
}
void require(bool good, const char* what)
{
    if (!good) throw std::runtime_error(what);
}
auto shaped(std::vector<float>& x) { return ccoll::shaped(x, {rows, row}); }
auto shaped(const std::vector<float>& x) { return ccoll::shaped(x, {rows, row}); }

using Bound = ErrorBound<0.02>;

}  // namespace

TEST_CASE("collectives on buffers with a shape give the same bits and send fewer bytes",
          "[collectives][shapes]")
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        const int me = comm.rank();
        const auto x = field_of(me);
        std::vector<float> plain(n), with(n);
        const auto compare = [&](const char* what, const ccoll::report& a, const ccoll::report& b,
                                 bool sends = true) {
            require(same(plain, with), what);
            require(!sends || b.sent_bytes < a.sent_bytes, what);
        };
        {
            const auto a = ccoll::allreduce<Algo::Ring, Codec::SZp, Bound, Placement::DecodeReduceEncode>(
                x, plain, comm);
            const auto b = ccoll::allreduce<Algo::Ring, Codec::SZp, Bound, Placement::DecodeReduceEncode>(
                shaped(x), shaped(with), comm);
            compare("allreduce", a, b);
        }
        {
            plain = with = field_of(0);
            const auto a = ccoll::bcast<Codec::SZp, Bound>(plain, 0, comm);
            const auto b = ccoll::bcast<Codec::SZp, Bound>(shaped(with), 0, comm);
            compare("bcast", a, b, me == 0);
        }
        {
            auto all = ccoll::iallreduce<Codec::SZp, Bound>(x, plain, comm);
            const auto a = all.wait();
            // Views, so temporaries will do.
            auto request = ccoll::iallreduce<Codec::SZp, Bound>(shaped(x), shaped(with), comm);
            const auto b = request.wait();
            compare("iallreduce", a, b);
        }
        {
            const int next = (me + 1) % 4, before = (me + 3) % 4;
            const auto a = ccoll::sendrecv<Codec::SZp, Bound>(x, next, plain, before, 0, comm);
            const auto b = ccoll::sendrecv<Codec::SZp, Bound>(shaped(x), next, shaped(with), before, 0, comm);
            compare("sendrecv", a, b);
        }
    });
}

TEST_CASE("collectives tell SZe how long rows are", "[collectives][shapes]")
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        const auto x = field_of(comm.rank());
        std::vector<float> plain(n), with(n), wrong(n);
        // No chunk has a row before it.
        const auto too_long = [](auto& values) { return ccoll::shaped(values, {2, n / 2}); };
        const auto compare = [&](const char* what, const ccoll::report& a, const ccoll::report& b,
                                 const ccoll::report& c, bool sends = true) {
            require(same(plain, with) && same(plain, wrong), what);
            require(!sends || (b.sent_bytes <= a.sent_bytes && b.sent_bytes < c.sent_bytes), what);
        };
        const auto a = ccoll::allreduce<Algo::Ring, Codec::SZe, Bound>(x, plain, comm);
        const auto b = ccoll::allreduce<Algo::Ring, Codec::SZe, Bound>(shaped(x), shaped(with), comm);
        const auto c = ccoll::allreduce<Algo::Ring, Codec::SZe, Bound>(too_long(x), too_long(wrong), comm);
        compare("allreduce", a, b, c);
        plain = with = wrong = field_of(0);
        const auto d = ccoll::bcast<Codec::SZe, Bound>(plain, 0, comm);
        const auto e = ccoll::bcast<Codec::SZe, Bound>(shaped(with), 0, comm);
        const auto f = ccoll::bcast<Codec::SZe, Bound>(too_long(wrong), 0, comm);
        compare("bcast", d, e, f, comm.rank() == 0);
    });
}

namespace {

/// @param rows_of  the length of the rows that this rank says its field has; 0: it says nothing
template <class... Plan>
ccoll::report sum_of(const std::vector<float>& x, std::vector<float>& sum, std::size_t rows_of,
                     ccoll::threads_comm& comm)
{
    if (rows_of == 0) return ccoll::allreduce<Plan..., Codec::SZp, Bound>(x, sum, comm);
    const ccoll::shaped_view<const float> in{x, rows_of, n};
    return ccoll::allreduce<Plan..., Codec::SZp, Bound>(in, sum, comm);
}

}  // namespace

TEMPLATE_TEST_CASE("sums of encoded streams use a shape: the same bits in fewer bytes",
                   "[collectives][shapes][homomorphic]", Algo::Ring, Algo::RecursiveDoubling, Algo::Auto,
                   (Algo::Hierarchical<Algo::Binomial, Algo::Ring>))
{
    using A = TestType;
    constexpr bool on_nodes = std::is_same_v<A, Algo::Hierarchical<Algo::Binomial, Algo::Ring>>;
    for (const int p : {2, 3, 4}) {
        ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
            std::vector<int> nodes;
            for (int r = 0; r < p; ++r) nodes.push_back(r / 2);
            if (on_nodes) ccoll::set_nodes(comm, nodes);
            const auto x = field_of(comm.rank());
            std::vector<float> plain(n), with(n);
            const auto a = sum_of<A>(x, plain, 0, comm), b = sum_of<A>(x, with, row, comm);
            require(on_nodes || std::string_view(b.placement) == "Homomorphic", "the placement");
            require(same(plain, with), "all with a shape");
            require(on_nodes ? b.sent_bytes <= a.sent_bytes : 10 * b.sent_bytes < 8 * a.sent_bytes,
                    "bytes of all with a shape");
            // Ranks may disagree: some say nothing, some another length.
            std::fill(with.begin(), with.end(), -1.0f);
            sum_of<A>(x, with, comm.rank() % 2 == 0 ? row : 0, comm);
            require(same(plain, with), "half of the ranks with a shape");
            std::fill(with.begin(), with.end(), -1.0f);
            sum_of<A>(x, with, comm.rank() == 0 ? 2 * row : row, comm);
            require(same(plain, with), "shapes that differ");
        });
    }
}

TEST_CASE(
    "reduce and reduce_scatter with encoded streams use a shape, where a block begins within a row as well",
    "[collectives][shapes][homomorphic]")
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        const auto x = field_of(comm.rank());
        std::vector<float> plain(n), with(n);
        std::uint64_t sent = 0, sent_with = 0;
        sent += ccoll::reduce<Codec::SZp, Bound>(x, plain, 0, comm).sent_bytes;
        sent_with += ccoll::reduce<Codec::SZp, Bound>(shaped(x), shaped(with), 0, comm).sent_bytes;
        require(comm.rank() != 0 || same(plain, with), "reduce");
        require(comm.rank() == 0 || sent_with < sent, "bytes of reduce");
        plain.assign(n, 0);
        with.assign(n, 0);
        constexpr std::size_t part = 13000;
        static_assert(part % row != 0);
        const std::span<const float> all(x.data(), 4 * part);
        const std::span<float> block(plain.data(), part), block_with(with.data(), part);
        const auto a = ccoll::reduce_scatter<Codec::SZp, Bound, Placement::Homomorphic>(all, block, comm);
        const ccoll::shaped_view<const float> all_with{all, row, all.size()};
        const auto b =
            ccoll::reduce_scatter<Codec::SZp, Bound, Placement::Homomorphic>(all_with, block_with, comm);
        require(same(plain, with), "reduce_scatter");
        require(b.sent_bytes < a.sent_bytes, "bytes of reduce_scatter");
    });
}

TEST_CASE("a shape with another number of elements than its buffer is an error on all ranks",
          "[collectives][shapes]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const auto x = field_of(0);
        std::vector<float> sum(n);
        std::error_code code;
        const auto wrong = ccoll::shaped(x, {rows, comm.rank() == 1 ? row + 1 : row});
        ccoll::allreduce<Codec::SZp, Bound>(wrong, sum, comm, code);
        require(code == ccoll::status::size_mismatch, "allreduce");
        code.clear();
        if (comm.rank() == 1) {
            ccoll::send<Codec::SZp, Bound>(wrong, 2, 0, comm, code);
            require(code == ccoll::status::size_mismatch, "send");
        }
    });
}

}  // namespace shapes_cases
