// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/reference, docs/choosing.md: their pieces of code, run on ranks that are threads, and what their
// sentences claim of them.
#include "support/catch.hpp"

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <ccoll/bucket.hpp>
#include <ccoll/ccoll.hpp>
#include <ccoll/since.hpp>
#include <ccoll/transport/threads.hpp>
#include <ccoll/value.hpp>

namespace reference_cases {

using namespace ccoll::policies;

namespace {

void want(bool holds, const char* what)
{
    if (!holds) throw std::runtime_error(what);
}
std::vector<float> wave(std::size_t n, int rank)
{
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = std::sin(1e-2f * static_cast<float>(i)) + static_cast<float>(rank);
    return v;
}
bool near(double a, double b, double within) { return std::fabs(a - b) <= within; }

}  // namespace

TEST_CASE("docs/reference/allreduce.md runs", "[docs]")
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        const std::size_t n = 5000;
        const auto field = wave(n, comm.rank());
        std::vector<float> sum(n), mean = field, largest(n);

        // [doc:allreduce]
        using Stack = ccoll::Plan<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>;
        // Every element within facts.worst_case_error, 4e-3 here.
        const ccoll::report facts = ccoll::allreduce<Stack>(field, sum, comm);
        ccoll::allreduce<Stack, Op::Average>(mean, comm);  // in place; within 1e-3
        ccoll::allreduce<Op::Max>(field, largest, comm);   // no codec: exact
        // [/doc:allreduce]
        want(facts.worst_case_error == 4e-3 && facts.same_bits && !facts.exact, "report");
        for (std::size_t i = 0; i < n; ++i) {
            const double base = std::sin(1e-2f * static_cast<float>(i));
            want(near(sum[i], 4 * base + 6, 4e-3 + 1e-5), "sum");
            want(near(mean[i], base + 1.5, 1e-3 + 1e-5), "average");
            want(near(largest[i], base + 3, 1e-5), "max");
        }
    });
    // [doc:allreduce_bound]
    using Stack = ccoll::Plan<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>;
    static_assert(ccoll::worst_case<ccoll::collective::allreduce, Stack>(16) == 16e-3);  // p times the bound
    static_assert(ccoll::worst_case<ccoll::collective::allreduce, Stack, Op::Average>(16) == 1e-3);
    // [/doc:allreduce_bound]
}

TEST_CASE("docs/reference/reduce.md runs", "[docs]")
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        const std::size_t n = 5000;
        const auto part = wave(n, comm.rank());
        const int root = 2;

        // [doc:reduce]
        std::vector<float> total(comm.rank() == root ? n : 0);  // only the root needs room
        ccoll::reduce<Algo::Chain, Codec::SZp, ErrorBound<1e-3>>(part, total, root, comm);
        // [/doc:reduce]
        for (std::size_t i = 0; i < total.size(); ++i)
            want(near(total[i], 4 * std::sin(1e-2f * static_cast<float>(i)) + 6, 4e-3 + 1e-5), "sum");

        auto own = part;
        ccoll::reduce<Codec::SZx, ErrorBound<1e-3>>(own, own, root, comm);  // the same buffer: in place
        if (comm.rank() == root) want(near(own[7], 4 * std::sin(7e-2f) + 6, 3e-3 + 1e-5), "in place");
        else want(own == part, "a rank that is not the root keeps its buffer");
    });
}

TEST_CASE("docs/reference/reduce_scatter.md runs", "[docs]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const std::size_t n = 1000;
        std::vector<float> whole = wave(3 * n, comm.rank()), mine(n);

        // [doc:reduce_scatter]
        ccoll::reduce_scatter<Codec::SZp, ErrorBound<1e-3>>(whole, mine, comm);  // 3 n elements in, n out
        // [/doc:reduce_scatter]
        const std::size_t first = static_cast<std::size_t>(comm.rank()) * n;
        want(near(mine[5], 3 * std::sin(1e-2f * static_cast<float>(first + 5)) + 3, 3e-3 + 1e-5),
             "equal parts");

        // [doc:reduce_scatterv]
        const std::vector<int> counts{1500, 1000, 500};  // the same on all ranks
        std::vector<float> part(static_cast<std::size_t>(counts[static_cast<std::size_t>(comm.rank())]));
        ccoll::reduce_scatterv<Codec::SZp, ErrorBound<1e-3>>(whole, part, counts, comm);
        // [/doc:reduce_scatterv]
        const std::size_t begins[] = {0, 1500, 2500};
        want(
            near(part[9], 3 * std::sin(1e-2f * static_cast<float>(begins[comm.rank()] + 9)) + 3, 3e-3 + 1e-5),
            "counts");

        ccoll::reduce_scatter<Codec::SZx, ErrorBound<1e-3>>(whole, comm);
        want(near(whole[5], 3 * std::sin(1e-2f * static_cast<float>(first + 5)) + 3, 2e-3 + 1e-5),
             "in place: at the front");
    });
}

TEST_CASE("docs/reference/allgather.md runs", "[docs]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const std::size_t n = 1000;
        const auto mine = wave(n, comm.rank());
        std::vector<float> all(3 * n);

        // [doc:allgather]
        ccoll::allgather<Codec::SZp, ErrorBound<1e-3>>(mine, all, comm);  // part r of `all` is rank r's
        // [/doc:allgather]
        for (std::size_t r = 0; r < 3; ++r)
            want(near(all[r * n + 8], wave(n, static_cast<int>(r))[8], 1e-3), "equal parts");

        // [doc:allgatherv]
        const std::vector<std::size_t> counts{300, 200, 100}, begins{0, 500, 1000};
        const std::span<const float> some(mine.data(), counts[static_cast<std::size_t>(comm.rank())]);
        ccoll::allgatherv<Codec::SZp, ErrorBound<1e-3>>(some, all, ccoll::parts(counts, begins),
                                                        comm);  // leaves the gaps alone
        // [/doc:allgatherv]
        for (std::size_t r = 0; r < 3; ++r)
            want(near(all[begins[r] + 99], wave(n, static_cast<int>(r))[99], 1e-3), "displacements");

        std::vector<float> packed(600);
        ccoll::allgatherv(some, packed, counts, comm);
        want(packed[500] == wave(n, 2)[0], "counts alone: side by side");
    });
}

TEST_CASE("docs/reference/bcast.md runs", "[docs]")
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        auto field = comm.rank() == 1 ? wave(300000, 0) : std::vector<float>(300000);
        const auto exact = wave(300000, 0);

        // [doc:bcast]
        // Rank 1, too, now holds decoded values.
        ccoll::bcast<Algo::Chain, Codec::SZp, ErrorBound<1e-3>>(field, 1, comm);
        // [/doc:bcast]
        bool changed = false;
        for (std::size_t i = 0; i < field.size(); ++i) {
            want(near(field[i], exact[i], 1e-3), "bound");
            changed |= field[i] != exact[i];
        }
        want(changed, "the root keeps its buffer");
        std::vector<float> low = field, high = field;
        ccoll::allreduce<Op::Min>(low, comm);
        ccoll::allreduce<Op::Max>(high, comm);
        want(low == high, "same bits");
    });
}

TEST_CASE("docs/reference/scatter.md and gather.md run", "[docs]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const std::size_t n = 1000;
        const int root = 0;
        const bool is_root = comm.rank() == root;

        // [doc:scatter]
        // Only the root has data.
        const std::vector<float> whole = is_root ? wave(3 * n, 0) : std::vector<float>();
        std::vector<float> part(n);
        ccoll::scatter<Codec::SZp, ErrorBound<1e-3>>(whole, part, root, comm);
        // [/doc:scatter]
        want(near(part[3], wave(3 * n, 0)[static_cast<std::size_t>(comm.rank()) * n + 3], is_root ? 0 : 1e-3),
             "scatter; the root's part is exact");

        // [doc:gather]
        std::vector<float> all(is_root ? 3 * n : 0);
        ccoll::gather<Codec::SZp, ErrorBound<1e-3>>(part, all, root, comm);
        // [/doc:gather]
        if (is_root)
            want(near(all[2 * n + 3], whole[2 * n + 3], 2e-3) && all[3] == part[3],
                 "gather; the root's part is exact");

        // [doc:scatterv]
        const std::vector<int> counts =
            is_root ? std::vector<int>{2000, 600, 400} : std::vector<int>();  // only the root knows
        std::vector<float> mine(is_root ? 2000 : comm.rank() == 1 ? 600 : 400);
        ccoll::scatterv<Codec::SZp, ErrorBound<1e-3>>(whole, counts, mine, root, comm);
        // [/doc:scatterv]
        if (comm.rank() == 2) want(near(mine[1], wave(3 * n, 0)[2601], 1e-3), "scatterv");

        // [doc:gatherv]
        // The same lengths as in scatterv.
        ccoll::gatherv<Codec::SZp, ErrorBound<1e-3>>(mine, all, counts, root, comm);
        // [/doc:gatherv]
        if (is_root) want(near(all[2601], whole[2601], 2e-3), "gatherv");
    });
}

TEST_CASE("docs/reference/alltoall.md runs", "[docs]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const std::size_t n = 1000;
        const auto rows = wave(3 * n, comm.rank());
        std::vector<float> columns(3 * n);

        // [doc:alltoall]
        // Part r of `rows` goes to rank r.
        ccoll::alltoall<Codec::SZp, ErrorBound<1e-3>>(rows, columns, comm);
        // [/doc:alltoall]
        const auto me = static_cast<std::size_t>(comm.rank());
        for (std::size_t r = 0; r < 3; ++r)
            want(near(columns[r * n + 4], wave(3 * n, static_cast<int>(r))[me * n + 4], r == me ? 0 : 1e-3),
                 "equal parts; the own one is exact");

        // [doc:alltoallv]
        // Rank s sends 100 (s + 1) elements to everybody.
        const std::vector<int> send_counts(3, 100 * (comm.rank() + 1)), recv_counts{100, 200, 300};
        const std::span<const float> send(rows.data(), 300 * (me + 1));
        std::vector<float> recv(600);
        ccoll::alltoallv<Codec::SZp, ErrorBound<1e-3>>(send, send_counts, recv, recv_counts, comm);
        // [/doc:alltoallv]
        for (std::size_t s = 0, at = 0; s < 3; at += 100 * (s + 1), ++s)
            want(near(recv[at], wave(3 * n, static_cast<int>(s))[me * 100 * (s + 1)], 1e-3), "counts");

        auto inout = rows;
        ccoll::alltoall(inout, comm);
        ccoll::alltoall(rows, columns, comm);
        want(inout == columns, "in place");

        std::vector<int> wrong = recv_counts;
        if (comm.rank() == 0) {
            wrong[1] = 100;
            recv.resize(500);
        }
        std::error_code code;
        ccoll::alltoallv(send, send_counts, recv, wrong, comm, code);
        want(code == ccoll::status::count_differs, "both ends' counts are compared");
    });
}

TEST_CASE("docs/reference/p2p.md runs", "[docs]")
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        const int me = comm.rank(), p = comm.size();
        const std::size_t n = 3000;
        const auto edge = wave(n, me);
        std::vector<float> halo(n, -1), field(n);

        // [doc:send]
        using Link = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;  // the same at both ends
        const int tag = 7;
        if (me == 0) ccoll::send<Link>(edge, 1, tag, comm);
        if (me == 1) ccoll::recv<Link>(field, 0, tag, comm);  // as many elements as rank 0 sends
        // [/doc:send]
        if (me == 1) want(near(field[5], wave(n, 0)[5], 1e-3), "recv");

        // [doc:sendrecv]
        // Send to the right, receive from the left. There is nobody beyond the edges, where `halo` does not
        // change.
        const int left = me > 0 ? me - 1 : ccoll::nobody, right = me + 1 < p ? me + 1 : ccoll::nobody;
        ccoll::sendrecv<Link>(edge, right, halo, left, tag, comm);
        // [/doc:sendrecv]
        if (me > 0) want(near(halo[8], wave(n, me - 1)[8], 1e-3), "sendrecv");
        else want(halo[8] == -1, "nobody");

        // [doc:irecv]
        std::vector<ccoll::request> open;
        open.push_back(ccoll::irecv<Link>(halo, left, tag, comm));
        open.push_back(ccoll::isend<Link>(edge, right, tag, comm));
        // ... work that does not need the halo ...
        ccoll::wait_all(open);
        // [/doc:irecv]
        if (me > 0) want(near(halo[9], wave(n, me - 1)[9], 1e-3), "irecv");

        auto both = edge;
        ccoll::isendrecv(both, (me + 1) % p, both, (me + p - 1) % p, tag, comm).wait();
        want(both == wave(n, (me + p - 1) % p), "the same buffer");

        std::error_code code;
        if (me == 2) ccoll::send(edge, 3, ccoll::max_p2p_tag + 1, comm, code);
        if (me == 2) want(code == ccoll::status::bad_tag, "tag");
        if (me == 2) ccoll::send(edge, 3, tag, comm);
        if (me == 3) ccoll::recv(std::span<float>(field.data(), n - 1), 2, tag, comm, code);
        if (me == 3) want(code == ccoll::status::count_differs, "n is no limit");
    });
}

// [doc:own_op]
namespace mine {

struct Tally {  // 16 bytes, no padding
    double weight;
    std::int64_t events;
};
/// Adds member by member. It does not say how errors grow, so it needs an exact codec.
struct Add : ccoll::op_tag<false> {
    static constexpr const char* name = "mine::Add";
    static Tally apply(const Tally& a, const Tally& b) noexcept
    {
        return {a.weight + b.weight, a.events + b.events};
    }
};

}  // namespace mine
// [/doc:own_op]

TEST_CASE("docs/reference/policies.md runs", "[docs]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const int me = comm.rank();

        // [doc:use_own_op]
        std::vector<mine::Tally> tallies(100, {0.5, me});
        ccoll::allreduce<mine::Add, Codec::Lossless>(tallies, comm);
        // [/doc:use_own_op]
        want(tallies[99].weight == 1.5 && tallies[99].events == 3, "own operation");

        // [doc:elements]
        std::vector<std::int64_t> ids(1000, me);
        std::vector<std::complex<float>> spectrum(1000, {1.0f, 2.0f});
        std::vector<ccoll::half> weights(1000, ccoll::half(0.5f));
        ccoll::allreduce<Op::Max>(ids, comm);                            // exact
        ccoll::bcast<Codec::Lossless>(ids, 0, comm);                     // exact, and shorter
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(spectrum, comm);  // the bound holds for each part
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-2>, Op::Average>(weights, comm);
        // [/doc:elements]
        want(ids[5] == 2, "integers");
        want(near(spectrum[7].real(), 3, 3e-3) && near(spectrum[7].imag(), 6, 3e-3), "complex");
        want(near(weights[3], 0.5, 1e-2), "half");

        // [doc:located]
        std::vector<ccoll::located<float>> coldest(10, {static_cast<float>(-me), me});  // value, where
        ccoll::allreduce<Op::MinLoc>(coldest, comm);
        // [/doc:located]
        want(coldest[0].value == -2 && coldest[0].index == 2, "MinLoc");

        std::vector<float> field = wave(4000, me), out(4000);
        // [doc:timeout]
        std::error_code code;
        // status::timed_out if nothing arrives for 30 s.
        ccoll::allreduce<Timeout<30>>(field, out, comm, code);
        // [/doc:timeout]
        want(!code, "timeout");

        // [doc:hierarchical]
        const std::vector<int> node_of_rank{0, 0, 1};  // with MPI this is not needed
        ccoll::set_nodes(comm, node_of_rank);
        using TwoLevels =
            ccoll::Plan<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>>;
        // Three ranks: within 3e-3.
        const ccoll::report facts = ccoll::allreduce<TwoLevels>(field, out, comm);
        // [/doc:hierarchical]
        want(facts.worst_case_error == 3e-3 && facts.ran_by == ccoll::ran_by::two_levels, "report");
        for (std::size_t i = 0; i < out.size(); ++i)
            want(near(out[i], 3 * std::sin(1e-2f * static_cast<float>(i)) + 3, 3e-3 + 1e-5), "hierarchical");

        // [doc:strided]
        struct column {  // what std::mdspan and Kokkos::View look like
            float* first;
            std::size_t rows, stride;
            float* data_handle() const { return first; }
            std::size_t size() const { return rows; }
            bool is_exhaustive() const { return stride == 1; }
        };
        ccoll::allreduce(column{out.data(), 100, 40}, comm, code);  // refused: ccoll::status::strided
        ccoll::allreduce(column{out.data(), 100, 1}, comm);         // 100 contiguous elements
        // [/doc:strided]
        want(code == ccoll::status::strided, "strided");
        constexpr std::size_t levels = 3, rows = 40, columns = 100;
        std::vector<float> grid(levels * rows * columns, comm.rank() == 0 ? 1.0f : 0.0f);
        // [doc:shaped]
        // The last dimension varies fastest, as in C. If the extents do not give the number of elements, the
        // call fails with status::size_mismatch.
        ccoll::bcast<Codec::SZp, ErrorBound<1e-3>>(ccoll::shaped(grid, {levels, rows, columns}), 0, comm);
        // [/doc:shaped]
        want(near(grid.back(), 1, 1e-3), "shaped");
    });
}

TEST_CASE("docs/reference/scan.md, neighbor.md, value.md and bucket.md run", "[docs]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const int me = comm.rank();
        // [doc:scan]
        std::vector<double> own(1000, 1.0 + me), before(1000), upto(1000);
        ccoll::exscan(own, before, comm);  // exact: where the part of this rank begins; rank 0 gets nothing
        ccoll::scan<Codec::SZp, ErrorBound<1e-3>>(own, upto, comm);
        // [/doc:scan]
        const double expected[] = {0, 1, 3, 6};
        want(before[7] == expected[me] && std::fabs(upto[7] - expected[me + 1]) <= 3e-3, "prefixes");

        const std::size_t n = 1000;
        const int p = comm.size();
        {
            const auto mine = static_cast<float>(me);
            // [doc:neighbor]
            const auto ring = ccoll::with_grid(comm, std::vector{comm.size()}, std::vector{1});
            std::vector<float> edges(2 * n, mine), halos(2 * n);  // left, right
            ccoll::neighbor_alltoall<Codec::SZp, ErrorBound<1e-3>>(edges, halos, ring);

            const std::vector<int> hears{(me + 1) % p}, tells{(me + p - 1) % p};
            const auto chain = ccoll::with_neighbors(comm, hears, tells);
            std::vector<float> field(n, mine), next(n);
            ccoll::neighbor_allgather<Codec::SZp, ErrorBound<1e-3>>(field, next, chain);
            // [/doc:neighbor]
            const float left = static_cast<float>((me + p - 1) % p), right = static_cast<float>((me + 1) % p);
            want(near(halos[0], left, 1e-3) && near(halos[2 * n - 1], right, 1e-3) &&
                     near(next[7], right, 1e-3),
                 "halos");
        }

        {
            const std::size_t rows = 50, columns = 40;
            std::vector<float> matrix(rows * columns, static_cast<float>(me));
            const int left = me > 0 ? me - 1 : ccoll::nobody, right = me + 1 < p ? me + 1 : ccoll::nobody,
                      tag = 1;
            // [doc:gaps]
            // A halo in a row-major matrix: the last column of ours goes right, and the first column comes
            // from the left.
            const auto column = [&](std::size_t j) {
                return ccoll::strided(matrix.data() + j, rows, 1, columns);
            };
            ccoll::sendrecv<Codec::SZp, ErrorBound<1e-3>>(column(columns - 2), right, column(0), left, tag,
                                                          comm);
            // [/doc:gaps]
            const float value = me > 0 ? static_cast<float>(me - 1) : 0;
            want(near(matrix[0], value, 1e-3) && near(matrix[49 * 40], value, 1e-3) &&
                     matrix[1] == static_cast<float>(me),
                 "columns");
        }
        {
            const std::vector<float> field(n, 1.0f);
            // [doc:value]
            auto [sum, facts] =
                ccoll::value::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, comm);  // a std::vector<float>
            const double norm = ccoll::value::allreduce<Op::Max>(0.5 * me, comm).value;  // a number
            const std::vector<int> ranks = ccoll::value::allgather(me, comm).value;
            // [/doc:value]
            want(near(sum[9], 3, facts.worst_case_error) && norm == 1 && ranks == std::vector{0, 1, 2},
                 "values");
        }

        // [doc:bucket]
        std::vector<std::vector<float>> gradients{
            std::vector<float>(1000, 1.0f), {}, std::vector<float>(7, 2.0f)};
        ccoll::bucket<float> all;  // keep it: its memory is used again in the next step
        for (auto& each : gradients) all.add(each);
        const auto facts = ccoll::allreduce<Op::Average, Codec::SZp, ErrorBound<1e-4>>(all, comm);
        ccoll::request begun = ccoll::iallreduce<Op::Average, Codec::SZp, ErrorBound<1e-4>>(all, comm);
        begun.wait();  // now the tensors have the result
        // [/doc:bucket]
        want(facts.worst_case_error == 1e-4 && near(gradients[2][6], 2, 3e-4) &&
                 near(gradients[0][0], 1, 3e-4),
             "bucket");

        // [doc:since]
        std::vector<ccoll::bfloat16> weights(100000, ccoll::bfloat16(1.0f)), previous;
        if (comm.rank() == 0) {
            previous = weights;  // rank 0 keeps what the others hold,
            for (std::size_t i = 0; i < weights.size(); i += 50)
                weights[i] = ccoll::bfloat16(1.0078125f);  // and makes a step
        }
        const auto sent = ccoll::bcast(weights, ccoll::since(previous), 0, comm);
        // All hold the new weights. A rank that had not held the old ones would get an error, or with
        // ccoll::since<Otherwise::Whole>(previous) all of them.
        // [/doc:since]
        want(static_cast<float>(weights[99950]) == 1.0078125f && static_cast<float>(weights[99951]) == 1.0f &&
                 std::string(sent.codec) == "Changes" && sent.exact,
             "since");
    });
}

TEST_CASE("docs/reference/report.md runs", "[docs]")
{
    ccoll::run_ranks(2, [](ccoll::threads_comm& comm) {
        std::vector<float> field = wave(300000, comm.rank()), out(300000);
        // [doc:report]
        const auto facts =
            ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Instrument::Breakdown>(field, out, comm);
        // The largest value over all ranks, for each phase.
        const ccoll::breakdown slowest = ccoll::slowest(facts.breakdown, comm);
        if (comm.rank() == 0)
            std::printf("%s %s %s: %zu of %zu bytes, every element within %g; %g s of encoding\n",
                        facts.algorithm, facts.codec, facts.placement, facts.sent_bytes, facts.raw_bytes,
                        facts.worst_case_error, slowest.encode);
        // [/doc:report]
        want(facts.ratio() > 1 && facts.agreed && facts.placement == std::string("Homomorphic"), "report");

        // [doc:total]
        ccoll::report all;
        for (int step = 0; step < 3; ++step)
            all += ccoll::reduce<Codec::SZp, ErrorBound<1e-3>>(field, out, 0, comm);
        const ccoll::report everywhere = ccoll::total(all, comm);  // of all ranks
        if (comm.rank() == 0)
            std::printf("%s\n%s\n", ccoll::summary(all).c_str(), ccoll::summary(everywhere).c_str());
        // [/doc:total]
        want((comm.rank() == 0) == (all.sent_bytes == 0), "the root sends nothing");
        want(everywhere.sent_bytes > 0 && everywhere.ratio() > 1 &&
                 everywhere.worst_case_error == all.worst_case_error,
             "total");
        want(!everywhere.exact && everywhere.agreed == all.agreed, "what holds for all");

        // [doc:fallback]
        for (std::size_t i = 0; i < 300; ++i)
            field[i] = 1e20f * static_cast<float>(i + 1);  // more than a chunk of a sum can hold
        const auto some = ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, out, comm);
        const bool fell_back = some.fallback_blocks > 0;  // their slice was reduced exactly

        // No float is that precise.
        const auto whole = ccoll::allreduce<Codec::SZp, ErrorBound<1e-40>>(field, out, comm);
        const bool all_of_it = whole.exact && whole.codec == std::string("None");
        // [/doc:fallback]
        want(fell_back && !some.exact && all_of_it && whole.worst_case_error == 0, "fallback");
    });
}

namespace {

std::string my_log;
void write_to_my_log(const char* line) noexcept { my_log += line; }

}  // namespace

TEST_CASE("docs/reference/report.md and docs/environment.md: errors, lines on stderr, the version", "[docs]")
{
    ccoll::run_ranks(2, [](ccoll::threads_comm& comm) {
        std::vector<float> field(10), sum(11);
        std::string found;
        // [doc:error]
        try {
            ccoll::allreduce(field, sum, comm);
        } catch (const std::system_error& e) {  // or const ccoll::error&, which has what_happened(), too
            if (e.code() == ccoll::status::size_mismatch) found = e.what();
        }
        // [/doc:error]
        want(found.find("expected 10, found 11") != std::string::npos, found.c_str());
    });

    // [doc:version]
    static_assert(CCOLL_VERSION >= 200);
    const ccoll::version_info version = ccoll::version();
    if (version.wire == 9) std::printf("%s\n", ccoll::summary(version).c_str());
    // ccoll 0.2.0, wire version 9, namespace v0_2, avx512_gfni, options CCOLL_NO_MPI
    // [/doc:version]

    const ccoll::message_handler before = ccoll::on_message(&ccoll::print_message);
    // [doc:messages]
    ccoll::on_message(&write_to_my_log);  // void write_to_my_log(const char* line) noexcept
    ccoll::on_message(nullptr);           // nothing is written
    // [/doc:messages]
    CHECK(ccoll::on_message(before) == nullptr);
    CHECK(my_log.empty());
}

}  // namespace reference_cases
