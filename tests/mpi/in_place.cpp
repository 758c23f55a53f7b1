// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 2 3
// MPI_IN_PLACE where it does not belong, in calls of ours and in those with MPI's types: an error that says
// so, on all ranks that would otherwise wait. And where it belongs, also after a cast and where MPICH 4.0
// itself crashes.
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/codec.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/scan.hpp>
#include <ccoll/transport/threads.hpp>
#include <ccoll/typed.hpp>

using namespace ccoll::policies;
namespace typed = ccoll::typed;

namespace {

using lossy = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;
int me = 0, p = 1;
const MPI_Comm world = MPI_COMM_WORLD;
float* const mark = static_cast<float*>(MPI_IN_PLACE);  // as in programs that cast each argument

/// Each rank that `call(code)` tells of trouble hears of the marker.
/// @param all  all of them must; otherwise at least one
template <class Call>
void refused(const char* name, bool all, Call call)
{
    std::error_code code;
    call(code);
    const bool told = code == ccoll::make_error_code(ccoll::status::null_buffer);
    check::expect(told || !code, (std::string(name) + ": " + code.message()).c_str());
    int ranks = told ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &ranks, 1, MPI_INT, MPI_SUM, world);
    check::expect(all ? ranks == p : ranks > 0, name);
}

void where_it_does_not_belong()
{
    const std::size_t n = 100;
    std::vector<float> x(n * static_cast<std::size_t>(p), 1.0f), y(x);
    refused("allreduce, receive buffer", true,
            [&](auto& c) { ccoll::allreduce<lossy>(x.data(), mark, n, world, c); });
    refused("allreduce, a range", true,
            [&](auto& c) { ccoll::allreduce<lossy>(std::span<float>(mark, n), world, c); });
    refused("long allreduce", true, [&](auto& c) {
        ccoll::allreduce<lossy>(std::vector<float>(400000).data(), mark, 400000, world, c);
    });
    refused("reduce, the root's receive buffer", false,
            [&](auto& c) { ccoll::reduce<lossy>(x.data(), mark, n, 0, world, c); });
    refused("bcast", true, [&](auto& c) { ccoll::bcast<lossy>(mark, n, 0, world, c); });
    refused("alltoall, receive buffer", true,
            [&](auto& c) { ccoll::alltoall<lossy>(x.data(), mark, n, world, c); });
    refused("gather, all ranks", false,
            [&](auto& c) { ccoll::gather<lossy>(MPI_IN_PLACE, y.data(), n, 0, world, c); });
    refused("scatter, all ranks", false,
            [&](auto& c) { ccoll::scatter<lossy>(x.data(), MPI_IN_PLACE, n, 0, world, c); });
    refused("scan, receive buffer", false,
            [&](auto& c) { ccoll::scan<Algo::Chain>(x.data(), mark, n, world, c); });
    refused("send", false, [&](auto& c) {  // which tells no receiver, as with other bad arguments
        if (me == 0) ccoll::send<lossy>(mark, n, 1, 0, world, c);
    });
    refused("recv", false, [&](auto& c) {
        if (me == 1) ccoll::recv<lossy>(mark, n, 0, 0, world, c);
    });

    refused("typed::allreduce", true, [&](auto& c) {
        typed::allreduce<lossy>(x.data(), MPI_IN_PLACE, n, MPI_FLOAT, MPI_SUM, world, c);
    });
    refused("typed::bcast", true,
            [&](auto& c) { typed::bcast<lossy>(MPI_IN_PLACE, n, MPI_FLOAT, 0, world, c); });
    refused("typed::gather, all ranks", false,
            [&](auto& c) { typed::gather<lossy>(MPI_IN_PLACE, y.data(), n, MPI_FLOAT, 0, world, c); });
    MPI_Datatype gap = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_FLOAT, 0, 2 * sizeof(float), &gap);
    MPI_Type_commit(&gap);
    refused("typed::bcast, packed", true,
            [&](auto& c) { typed::bcast<lossy>(MPI_IN_PLACE, n / 2, gap, 0, world, c); });
    refused("typed::allgather, packed", true,
            [&](auto& c) { typed::allgather<lossy>(x.data(), MPI_IN_PLACE, n / 2, gap, world, c); });
    MPI_Type_free(&gap);
    // What MPI does: on no rank is anything started that others wait for.
    std::vector<int> k(x.size(), 1);
    refused("typed::allreduce of int", true,
            [&](auto& c) { typed::allreduce<lossy>(k.data(), MPI_IN_PLACE, n, MPI_INT, MPI_SUM, world, c); });
    refused("typed::bcast of int", true,
            [&](auto& c) { typed::bcast<lossy>(MPI_IN_PLACE, n, MPI_INT, 0, world, c); });
    try {
        typed::iallreduce<lossy>(k.data(), MPI_IN_PLACE, n, MPI_INT, MPI_SUM, world).wait();
        EXPECT(false);
    } catch (const ccoll::error& e) {
        EXPECT(std::string(e.what()).find(
                   "MPI_IN_PLACE where the call does not take it; it is MPI_IN_PLACE") != std::string::npos);
    }
}

void after_a_cast()
{
    const std::size_t n = 1000;
    std::vector<float> x(n, static_cast<float>(me + 1)),
        all(n * static_cast<std::size_t>(p), static_cast<float>(me));
    const auto sum = static_cast<float>(p * (p + 1) / 2);
    ccoll::allreduce(mark, x.data(), n, world);
    EXPECT(x[0] == sum && x[n - 1] == sum);
    ccoll::allgather<Codec::Lossless>(mark, all.data(), n, world);
    EXPECT(all[0] == 0 && all.back() == static_cast<float>(p - 1));
    ccoll::scatter(all.data(), me == 0 ? mark : x.data(), n, 0, world);
    EXPECT(me == 0 || x[n - 1] == static_cast<float>(me));
    // All ranks, which MPI does not allow: every rank's input is where its result would be.
    x.assign(n, 1.0f);
    ccoll::reduce(MPI_IN_PLACE, x.data(), n, p - 1, world);
    EXPECT(me != p - 1 || x[3] == static_cast<float>(p));
}

/// MPICH 4.0 crashes in MPI_Reduce with MPI_IN_PLACE and a root other than 0.
void reduce_of_int()
{
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{100000}})
        for (int root = 0; root < p; ++root) {
            const auto expect = [&](const std::vector<int>& k) {
                EXPECT(me != root || (k[0] == p * (p + 1) / 2 && k[n - 1] == k[0]));
            };
            std::vector<int> k(n, me + 1);
            const auto from = [&](std::vector<int>& v) {
                return me == root ? MPI_IN_PLACE : static_cast<const void*>(v.data());
            };
            typed::reduce<lossy>(from(k), k.data(), n, MPI_INT, MPI_SUM, root, world);
            expect(k);
            k.assign(n, me + 1);
            typed::ireduce<lossy>(from(k), k.data(), n, MPI_INT, MPI_SUM, root, world).wait();
            expect(k);
            auto call = typed::reduce_init<lossy>(from(k), k.data(), n, MPI_INT, MPI_SUM, root, world);
            for (int i = 0; i < 2; ++i) {
                k.assign(n, me + 1);
                call.start();
                call.wait();
                expect(k);
            }
            k.assign(n, me + 1);
            // On all ranks, as in ccoll::reduce.
            typed::reduce<lossy>(MPI_IN_PLACE, k.data(), n, MPI_INT, MPI_SUM, root, world);
            expect(k);
        }
}

/// Calls with a root and one range, which MPI itself makes, and which the library makes.
template <class... Policies>
void one_range(bool is_mpi)
{
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{100000}})
        for (int root = 0; root < p; ++root) {
            const std::size_t own = static_cast<std::size_t>(me) * n;
            std::vector<float> sum(n, static_cast<float>(me + 1)), all(n, static_cast<float>(me));
            const auto expect_sum = [&](const ccoll::report& facts) {
                const int expected = me == root ? p * (p + 1) / 2 : me + 1;
                EXPECT(sum[0] == static_cast<float>(expected) && sum[n - 1] == sum[0]);
                EXPECT((std::string(facts.algorithm) == "MPI") == is_mpi);
            };
            expect_sum(ccoll::reduce<Policies...>(sum, root, world));
            sum.assign(n, static_cast<float>(me + 1));
            expect_sum(ccoll::ireduce<Policies...>(sum, root, world).wait());

            if (me == root) {
                all.assign(n * static_cast<std::size_t>(p), -1.0f);
                for (std::size_t i = 0; i < n; ++i) all[own + i] = static_cast<float>(me);
            }
            ccoll::gather<Policies...>(all, root, world);
            const auto expect_all = [&] {
                for (int r = 0; me == root && r < p; ++r)
                    EXPECT(all[static_cast<std::size_t>(r) * n + n - 1] == static_cast<float>(r));
                EXPECT(me == root || all[n - 1] == static_cast<float>(me));
            };
            expect_all();
            if (me != root) all.assign(n, -1.0f);
            ccoll::iscatter<Policies...>(all, root, world).wait();
            expect_all();
        }
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    where_it_does_not_belong();
    after_a_cast();
    reduce_of_int();
    one_range<>(true);
    one_range<Algo::Binomial, Codec::Lossless>(false);
    if (me == 0)
        ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
            std::vector<float> x(100, 1.0f);
            std::error_code code;
            ccoll::allreduce(mark, x.data(), x.size(), comm, code);
            if (comm.rank() == 0) EXPECT(code == ccoll::make_error_code(ccoll::status::null_buffer));
        });
    return check::finish();
}
