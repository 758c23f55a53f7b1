// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 3
// Calls with MPI's own types, nonblocking and persistent, and with two-byte floats: they must give what the
// calls without `typed` give, or what MPI gives.
// one MPI
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

#include <ccoll/codec.hpp>
#include <ccoll/typed.hpp>

using namespace ccoll::policies;
namespace typed = ccoll::typed;

struct Brain16 {  // like that of a framework
    std::uint16_t x;
};
template <>
inline constexpr int ccoll::exponent_bits_of<Brain16> = 8;

namespace {

int me = 0, p = 1;
constexpr std::size_t sizes[] = {0, 1, 1000, 300001};

template <class T>
std::vector<T> wave(std::size_t n, int seed)
{
    std::vector<T> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = T(std::sin(0.01f * static_cast<float>(i)) + static_cast<float>(seed));
    return v;
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Compares blocking, nonblocking and persistent calls of `ccoll::typed` with the call without it.
template <class Plan, class T>
void like_ours(typed::element_type type)
{
    for (const std::size_t n : sizes) {
        const auto in = wave<T>(n, me);
        std::vector<T> want(n), got(n), begun(n), prepared(n), here(in);
        ccoll::allreduce<Plan>(in, want, MPI_COMM_WORLD);
        const auto facts = typed::allreduce<Plan>(in.data(), got.data(), n, type, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(facts.ran_by != ccoll::ran_by::mpi);
        EXPECT(same_bits(got, want));
        auto other = typed::iallreduce<Plan>(MPI_IN_PLACE, here.data(), n, type, MPI_SUM, MPI_COMM_WORLD);
        auto call = typed::iallreduce<Plan>(in.data(), begun.data(), n, type, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(call.wait().worst_case_error == facts.worst_case_error);
        other.wait();
        EXPECT(same_bits(begun, want) && same_bits(here, want));
        auto again =
            typed::allreduce_init<Plan>(in.data(), prepared.data(), n, type, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < 2; ++i) {
            for (T& each : prepared) each = T(7.0f);
            again.start();
            again.wait();
            EXPECT(same_bits(prepared, want));
        }
    }
}

/// Calls that no plan can do are done by MPI, even if they are nonblocking.
void by_mpi()
{
    using lossy = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;
    const std::vector<int> in(1000, me + 1);
    std::vector<int> want(in.size()), begun(in.size()), prepared(in.size());
    MPI_Allreduce(in.data(), want.data(), static_cast<int>(in.size()), MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    auto call =
        typed::iallreduce<lossy>(in.data(), begun.data(), in.size(), MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    while (!call.test()) {}
    EXPECT(call.wait().ran_by == ccoll::ran_by::mpi);
    EXPECT(begun == want);
    auto again = typed::allreduce_init<lossy>(in.data(), prepared.data(), in.size(), MPI_INT, MPI_PROD,
                                              MPI_COMM_WORLD);
    for (int i = 0; i < 2; ++i) {
        prepared.assign(prepared.size(), 0);
        again.start();
        again.wait();
        EXPECT(prepared == want);
    }
    // Started in another order on each rank.
    std::vector<int> twice(in.size()), least(in.size()), most(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) twice[i] = 2 * in[i];
    ccoll::persistent both[2] = {
        typed::reduce_init<lossy>(in.data(), least.data(), in.size(), MPI_INT, MPI_MIN, p - 1,
                                  MPI_COMM_WORLD),
        typed::reduce_init<lossy>(twice.data(), most.data(), in.size(), MPI_INT, MPI_MAX, p - 1,
                                  MPI_COMM_WORLD),
    };
    for (int i = 0; i < 3; ++i) {
        both[(me + i) % 2].start();
        both[(me + i + 1) % 2].start();
        both[0].wait();
        both[1].wait();
        EXPECT(me != p - 1 ||
               (least == std::vector<int>(in.size(), 1) && most == std::vector<int>(in.size(), 2 * p)));
    }
    // One call of ours and one of MPI's under way at the same time, and one that is dropped.
    std::vector<float> field(50000, 1.0f);
    auto ours = typed::iallreduce<lossy>(MPI_IN_PLACE, field.data(), field.size(), MPI_FLOAT, MPI_SUM,
                                         MPI_COMM_WORLD);
    auto theirs =
        typed::iallreduce<lossy>(in.data(), begun.data(), in.size(), MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    {
        auto dropped = typed::ibcast<lossy>(prepared.data(), prepared.size(), MPI_INT, p - 1, MPI_COMM_WORLD);
    }
    theirs.wait();
    ours.wait();
    EXPECT(begun == want &&
           std::fabs(field[7] - static_cast<float>(p)) <= 1e-3f * static_cast<float>(p) + 1e-5f);
}

/// Every collective with bfloat16, in the three ways.
void all_collectives()
{
    using exact = ccoll::Plan<Codec::Lossless>;
    const auto type = typed::elements_of<Brain16>();
    const std::size_t n = 777, all = n * static_cast<std::size_t>(p);
    const auto whole = wave<ccoll::bfloat16>(all, me), part = wave<ccoll::bfloat16>(n, me);
    std::vector<ccoll::bfloat16> want(all), a(all), b(all), c(all);
    const auto clear = [&] {
        for (auto* v : {&want, &a, &b, &c}) v->assign(all, ccoll::bfloat16(-1.0f));
    };
    const auto told = [&](const char* name) {
        check::expect(same_bits(a, want) && same_bits(b, want) && same_bits(c, want), name);
    };
    const auto prepared = [](ccoll::persistent call) {
        call.start();
        call.wait();
    };
    const MPI_Comm world = MPI_COMM_WORLD;
    for (const int root : {0, p - 1}) {
        clear();
        ccoll::reduce<exact>(whole, want, root, world);
        typed::reduce<exact>(whole.data(), a.data(), all, type, MPI_SUM, root, world);
        typed::ireduce<exact>(whole.data(), b.data(), all, type, MPI_SUM, root, world).wait();
        prepared(typed::reduce_init<exact>(whole.data(), c.data(), all, type, MPI_SUM, root, world));
        told("reduce");
        for (auto* v : {&want, &a, &b, &c}) *v = whole;
        ccoll::bcast<exact>(want, root, world);
        typed::bcast<exact>(a.data(), all, type, root, world);
        typed::ibcast<exact>(b.data(), all, type, root, world).wait();
        prepared(typed::bcast_init<exact>(c.data(), all, type, root, world));
        told("bcast");
        clear();
        ccoll::scatter<exact>(whole.data(), want.data(), n, root, world);
        typed::scatter<exact>(whole.data(), a.data(), n, type, root, world);
        typed::iscatter<exact>(whole.data(), b.data(), n, type, root, world).wait();
        prepared(typed::scatter_init<exact>(whole.data(), c.data(), n, type, root, world));
        told("scatter");
        clear();
        ccoll::gather<exact>(part.data(), want.data(), n, root, world);
        typed::gather<exact>(part.data(), a.data(), n, type, root, world);
        typed::igather<exact>(part.data(), b.data(), n, type, root, world).wait();
        prepared(typed::gather_init<exact>(part.data(), c.data(), n, type, root, world));
        told("gather");
    }
    clear();
    ccoll::reduce_scatter<exact>(whole.data(), want.data(), n, world);
    typed::reduce_scatter<exact>(whole.data(), a.data(), n, type, MPI_SUM, world);
    typed::ireduce_scatter<exact>(whole.data(), b.data(), n, type, MPI_SUM, world).wait();
    prepared(typed::reduce_scatter_init<exact>(whole.data(), c.data(), n, type, MPI_SUM, world));
    told("reduce_scatter");
    clear();
    ccoll::allgather<exact>(part.data(), want.data(), n, world);
    typed::allgather<exact>(part.data(), a.data(), n, type, world);
    typed::iallgather<exact>(part.data(), b.data(), n, type, world).wait();
    prepared(typed::allgather_init<exact>(part.data(), c.data(), n, type, world));
    told("allgather");
    clear();
    ccoll::alltoall<exact>(whole.data(), want.data(), n, world);
    typed::alltoall<exact>(whole.data(), a.data(), n, type, world);
    typed::ialltoall<exact>(whole.data(), b.data(), n, type, world).wait();
    prepared(typed::alltoall_init<exact>(whole.data(), c.data(), n, type, world));
    told("alltoall");
}

void add_brains(void* in, void* inout, int* n, MPI_Datatype*)
{
    for (int i = 0; i < *n; ++i)
        static_cast<ccoll::bfloat16*>(inout)[i] += static_cast<ccoll::bfloat16*>(in)[i];
}

/// A call that neither can do is an error, which is reported as errors of ours are. With the user's own
/// datatype and operation MPI does it.
void neither()
{
    using lossy = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;
    std::vector<ccoll::bfloat16> x(10, ccoll::bfloat16(1)), y(10);
    std::error_code code;
    typed::allreduce<lossy>(x.data(), y.data(), x.size(), typed::elements_of<Brain16>(), MPI_PROD,
                            MPI_COMM_WORLD, code);
    EXPECT(code == ccoll::status::bad_argument);
    auto call = typed::iallreduce<lossy>(x.data(), y.data(), x.size(), typed::elements_of<Brain16>(),
                                         MPI_PROD, MPI_COMM_WORLD);
    std::string said;
    try {
        call.wait();
    } catch (const ccoll::error& e) {
        said = e.what();
    }
    EXPECT(said.find("typed::allreduce") != std::string::npos &&
           said.find("use a plan that can") != std::string::npos);

    MPI_Datatype two = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_BYTE, &two);
    MPI_Type_commit(&two);
    MPI_Op add = MPI_OP_NULL;
    MPI_Op_create(&add_brains, 1, &add);
    const auto facts = typed::allreduce<lossy>(x.data(), y.data(), x.size(), typed::elements_of<Brain16>(two),
                                               add, MPI_COMM_WORLD);
    EXPECT(facts.ran_by == ccoll::ran_by::mpi && y[3] == static_cast<float>(p));
    MPI_Op_free(&add);
    MPI_Type_free(&two);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);

    like_ours<ccoll::Plan<Codec::SZp, ErrorBound<1e-2>>, ccoll::bfloat16>(typed::elements_of<Brain16>());
    like_ours<ccoll::Plan<Codec::SZp, ErrorBound<1e-2>>, ccoll::half>(typed::elements_of<ccoll::half>());
    like_ours<ccoll::Plan<Algo::Ring>, ccoll::bfloat16>(typed::elements_of<ccoll::bfloat16>());
    like_ours<ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>, float>(MPI_FLOAT);
#if defined(MPIX_C_FLOAT16)
    like_ours<ccoll::Plan<Codec::SZx, ErrorBound<1e-2>>, ccoll::half>(MPIX_C_FLOAT16);
#endif
    by_mpi();
    all_collectives();
    neither();

    constexpr ccoll::menu<ccoll::Plan<Codec::None>, ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>> plans;
    std::vector<float> field(5000, 1.0f);
    auto call = typed::iallreduce(plans.at(1), MPI_IN_PLACE, field.data(), field.size(), MPI_FLOAT, MPI_SUM,
                                  MPI_COMM_WORLD);
    EXPECT(std::strcmp(call.wait().codec, p > 0 ? "SZp" : "") == 0);
    return check::finish();
}
