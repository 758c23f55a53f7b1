// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 3
// Calls with MPI's own types and operations: which are compressed, which go to MPI, and whether both are
// right.
#include <cfenv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "check.hpp"

#include <ccoll/auto.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/typed.hpp>

using namespace ccoll::policies;

namespace {

template <class T>
std::vector<T> ramp(std::size_t n, int seed)
{
    std::vector<T> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = static_cast<T>((i * 7 + static_cast<std::size_t>(seed) * 13) % 101);
    return v;
}

/// Compares typed::allreduce with MPI_Allreduce.
template <class Plan, class T>
void allreduce_like_mpi(MPI_Datatype type, MPI_Op op, bool by_mpi, double share)
{
    int me = 0, p = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300000}}) {
        const auto in = ramp<T>(n, me);
        std::vector<T> want(n), got(n), here(in);
        MPI_Allreduce(in.data(), want.data(), static_cast<int>(n), type, op, MPI_COMM_WORLD);
        const void* from = in.data();
        void* to = got.data();
        const ccoll::report r = ccoll::typed::allreduce<Plan>(from, to, n, type, op, MPI_COMM_WORLD);
        ccoll::typed::allreduce<Plan>(MPI_IN_PLACE, here.data(), n, type, op, MPI_COMM_WORLD);
        check::expect(r.ran_by == ccoll::ran_by::mpi ? by_mpi : !by_mpi, "whether MPI did it");
        check::expect(r.worst_case_error <= share * p, "the bound");
        for (std::size_t i = 0; i < n; ++i) {
            check::expect(std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i])) <=
                              r.worst_case_error + 1e-4 * p,
                          "allreduce");
            check::expect(std::fabs(static_cast<double>(here[i]) - static_cast<double>(want[i])) <=
                              r.worst_case_error + 1e-4 * p,
                          "allreduce in place");
        }
    }
}

void user_maximum(void* in, void* inout, int* n, MPI_Datatype*)
{
    for (int i = 0; i < *n; ++i)
        static_cast<float*>(inout)[i] = std::fmax(static_cast<float*>(in)[i], static_cast<float*>(inout)[i]);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int me = 0, p = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);

    using lossy = ccoll::Plan<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>;
    using exact = ccoll::Plan<Algo::Ring, Codec::Lossless>;
    allreduce_like_mpi<lossy, float>(MPI_FLOAT, MPI_SUM, false, 1e-3);
    allreduce_like_mpi<lossy, double>(MPI_DOUBLE, MPI_MAX, false, 1e-3);
    allreduce_like_mpi<lossy, int>(MPI_INT, MPI_SUM, true, 0);
    allreduce_like_mpi<lossy, float>(MPI_FLOAT, MPI_PROD, true, 0);
    allreduce_like_mpi<exact, int>(MPI_INT, MPI_SUM, false, 0);
    allreduce_like_mpi<exact, long>(MPI_LONG, MPI_BOR, false, 0);
    allreduce_like_mpi<exact, double>(MPI_DOUBLE, MPI_SUM, false, 0);
    allreduce_like_mpi<exact, short>(MPI_SHORT, MPI_MIN, true, 0);
    MPI_Op mine = MPI_OP_NULL;
    MPI_Op_create(&user_maximum, 1, &mine);
    allreduce_like_mpi<lossy, float>(MPI_FLOAT, mine, true, 0);
    MPI_Op_free(&mine);

    const std::size_t n = 5000, all = n * static_cast<std::size_t>(p);
    const auto whole = ramp<float>(all, me);
    const auto within = [](double a, double b, double e) { return std::fabs(a - b) <= e; };
    for (int root = 0; root < p; ++root) {
        std::vector<float> got(all), want(all), one(n), part(n), copied = ramp<float>(n, me == root ? 5 : 6);
        const auto reduced = ccoll::typed::reduce<Codec::SZp, ErrorBound<1e-3>>(
            whole.data(), got.data(), all, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
        MPI_Reduce(whole.data(), want.data(), static_cast<int>(all), MPI_FLOAT, MPI_SUM, root,
                   MPI_COMM_WORLD);
        for (std::size_t i = 0; me == root && i < all; ++i)
            check::expect(within(got[i], want[i], reduced.worst_case_error + 1e-3), "reduce");
        ccoll::typed::bcast<Codec::SZx, ErrorBound<1e-3>>(copied.data(), n, MPI_FLOAT, root, MPI_COMM_WORLD);
        const auto original = ramp<float>(n, 5);
        for (std::size_t i = 0; i < n; ++i) check::expect(within(copied[i], original[i], 1e-3), "bcast");
        ccoll::typed::scatter<Codec::SZp, ErrorBound<1e-3>>(whole.data(), part.data(), n, MPI_FLOAT, root,
                                                            MPI_COMM_WORLD);
        MPI_Scatter(whole.data(), static_cast<int>(n), MPI_FLOAT, one.data(), static_cast<int>(n), MPI_FLOAT,
                    root, MPI_COMM_WORLD);
        for (std::size_t i = 0; i < n; ++i) check::expect(within(part[i], one[i], 1e-3), "scatter");
        ccoll::typed::gather<Codec::SZp, ErrorBound<1e-3>>(part.data(), got.data(), n, MPI_FLOAT, root,
                                                           MPI_COMM_WORLD);
        MPI_Gather(part.data(), static_cast<int>(n), MPI_FLOAT, want.data(), static_cast<int>(n), MPI_FLOAT,
                   root, MPI_COMM_WORLD);
        for (std::size_t i = 0; me == root && i < all; ++i)
            check::expect(within(got[i], want[i], 1e-3), "gather");
    }
    std::vector<float> got(all), want(all), part(n), one(n);
    ccoll::typed::alltoall<Codec::SZp, ErrorBound<1e-3>>(whole.data(), got.data(), n, MPI_FLOAT,
                                                         MPI_COMM_WORLD);
    MPI_Alltoall(whole.data(), static_cast<int>(n), MPI_FLOAT, want.data(), static_cast<int>(n), MPI_FLOAT,
                 MPI_COMM_WORLD);
    for (std::size_t i = 0; i < all; ++i) check::expect(within(got[i], want[i], 1e-3), "alltoall");
    ccoll::typed::allgather<Codec::SZp, ErrorBound<1e-3>>(whole.data(), got.data(), n, MPI_FLOAT,
                                                          MPI_COMM_WORLD);
    MPI_Allgather(whole.data(), static_cast<int>(n), MPI_FLOAT, want.data(), static_cast<int>(n), MPI_FLOAT,
                  MPI_COMM_WORLD);
    for (std::size_t i = 0; i < all; ++i) check::expect(within(got[i], want[i], 1e-3), "allgather");
    const auto scattered = ccoll::typed::reduce_scatter<Codec::SZp, ErrorBound<1e-3>>(
        whole.data(), part.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(whole.data(), one.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM,
                             MPI_COMM_WORLD);
    for (std::size_t i = 0; i < n; ++i)
        check::expect(within(part[i], one[i], scattered.worst_case_error + 1e-3), "reduce_scatter");

    // Codec::Auto is more than one plan. Elements and operations that one of them cannot have are MPI's.
    using open = ccoll::Plan<Codec::Auto, ErrorBound<1e-3>>;
    const auto chosen =
        ccoll::typed::allreduce<open>(whole.data(), got.data(), all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(whole.data(), want.data(), static_cast<int>(all), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < all; ++i)
        check::expect(within(got[i], want[i], chosen.worst_case_error + 1e-3), "the sum of Codec::Auto");
    std::vector<int> numbers(n, me);
    const auto moved = ccoll::typed::bcast<open>(numbers.data(), n, MPI_INT, p - 1, MPI_COMM_WORLD);
    check::expect(moved.ran_by == ccoll::ran_by::mpi && numbers[n - 1] == p - 1,
                  "integers under a bound are MPI's");
    check::expect(moved.same_bits, "what is moved exactly has the same bits on all ranks");
    const auto product =
        ccoll::typed::allreduce<open>(part.data(), one.data(), n, MPI_FLOAT, MPI_PROD, MPI_COMM_WORLD);
    check::expect(product.ran_by == ccoll::ran_by::mpi && product.exact, "a product under a bound is MPI's");

    // One rank has another rounding mode, and every rank adds by itself.
    std::vector<double> thirds(n), sums(n), least(n), most(n);
    for (std::size_t i = 0; i < n; ++i)
        thirds[i] = static_cast<double>(i * 31 + static_cast<std::size_t>(me)) / 3;
    if (me == p - 1) std::fesetround(FE_UPWARD);
    ccoll::typed::allreduce<Algo::RecursiveDoubling>(thirds.data(), sums.data(), n, MPI_DOUBLE, MPI_SUM,
                                                     MPI_COMM_WORLD);
    check::expect(std::fegetround() == (me == p - 1 ? FE_UPWARD : FE_TONEAREST),
                  "the rounding mode is the user's");
    std::fesetround(FE_TONEAREST);
    MPI_Allreduce(sums.data(), least.data(), static_cast<int>(n), MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(sums.data(), most.data(), static_cast<int>(n), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    check::expect(least == most, "the same bits on all ranks");

    // An error of ours does not reach the user's error handler, which here would end the program.
    std::error_code code;
    ccoll::typed::bcast<Codec::SZp, ErrorBound<1e-3>>(part.data(), n, MPI_FLOAT, p, MPI_COMM_WORLD, code);
    check::expect(code == ccoll::status::bad_root, "a root that does not exist");

    return check::finish([] {});
}
