// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic.hpp with buffers in another memory space: one that the host cannot read. The same bits as on the
// host, for the collectives of every kind, waited for, begun and prepared.
#include "worlds.hpp"

#include <ccoll/compile_dynamic.hpp>

#include "support/far_space.hpp"
#include "support/fields.hpp"

namespace dynamic_memory_cases {

using namespace ccoll::policies;
using namespace worlds;
namespace dynamic = ccoll::dynamic;
using ccoll::collective_id;
using dynamic::algo_id;
using dynamic::codec_id;
using dynamic::element_id;
using dynamic::operation_id;

inline constexpr auto far_memory = static_cast<dynamic::memory_id>(far::space::memory_number);

struct plans : dynamic::menu<float, ccoll::bfloat16, std::int32_t, far::space, Op::Sum, Op::Average, Op::Max,
                             Algo::Auto, Algo::Ring, Codec::None, Codec::SZp, RuntimeBound, FixedBits<8>> {};
/// Its calls compare their arguments, as those of frameworks do.
struct checked : dynamic::menu<float, far::space, Codec::SZp, RuntimeBound, FixedBits<8>, Check::Collective> {
};
/// Without the space.
struct on_host : dynamic::menu<float> {};

namespace {

constexpr int ranks = 3;
constexpr std::size_t n = 2100;

struct told {
    std::string wrong;
};

/// Whole vectors of this rank: large enough for each collective.
template <class T>
std::vector<T> input_of(int rank)
{
    const std::vector<float> x = fields::smooth<float>(n * ranks, static_cast<unsigned>(rank) + 1);
    std::vector<T> all(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) all[i] = static_cast<T>(x[i] * 100);
    return all;
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

enum class way { waits, begins, prepares };

template <class Menu>
void make(dynamic::call c, const threads_comm& comm, way how)
{
    if (how == way::waits) {
        dynamic::run<Menu>(c, comm);
    } else if (how == way::begins) {
        dynamic::begin<Menu>(c, comm).wait();
    } else {
        ccoll::persistent often = dynamic::prepare<Menu>(c, comm);
        often.start();
        often.wait();
    }
}

/// The call on the host and in far memory.
template <class Menu, class T>
void compare(dynamic::call c, const threads_comm& comm, way how, const char* what, std::string& wrong)
{
    std::vector<T> x = input_of<T>(comm.rank()), y(x.size(), T(7));
    far::vector<T> far_x(x), far_y(y);
    c.send = x.data();
    c.recv = y.data();
    make<Menu>(c, comm, how);
    c.send = far_x.address();
    c.recv = far_y.address();
    c.memory = far_memory;
    make<Menu>(c, comm, how);
    if (!same_bits(far_x.values(), x) || !same_bits(far_y.values(), y)) wrong += std::string(what) + "; ";
}

}  // namespace

TEST_CASE("Calls on far memory have the bits of those on the host", "[dynamic][far]")
{
    const dynamic::plan lossy{.algo = algo_id::Ring, .codec = codec_id::SZp, .bound = 1e-2};
    const dynamic::plan bits{.codec = codec_id::SZp, .kind = dynamic::bound_id::FixedBits, .bound = 8};
    for (const way how : {way::waits, way::begins, way::prepares}) {
        for (const told& each : run<told>(ranks, [&](threads_comm& comm, told& mine) {
                 const auto all_types = [&](const char* what, dynamic::call c, const dynamic::plan& plan) {
                     c.how = plan;
                     c.type = element_id::f32;
                     compare<plans, float>(c, comm, how, what, mine.wrong);
                     c.type = element_id::bf16;
                     compare<plans, ccoll::bfloat16>(c, comm, how, what, mine.wrong);
                     c.how = {};
                     c.type = element_id::i32;
                     if (c.op != operation_id::Average)
                         compare<plans, std::int32_t>(c, comm, how, what, mine.wrong);
                 };
                 for (const operation_id op : {operation_id::Sum, operation_id::Average, operation_id::Max}) {
                     all_types("allreduce", {.which = collective_id::allreduce, .n = n, .op = op}, lossy);
                     all_types("exact", {.which = collective_id::allreduce, .n = n, .op = op}, {});
                     all_types("bits", {.which = collective_id::allreduce, .n = n, .op = op}, bits);
                     all_types("scatter of sums", {.which = collective_id::reduce_scatter, .n = n, .op = op},
                               lossy);
                     all_types("in place",
                               {.which = collective_id::allreduce, .n = n, .op = op, .in_place = true},
                               lossy);
                 }
                 all_types("allgather", {.which = collective_id::allgather, .n = n}, lossy);
                 const dynamic::plan any_way{.codec = codec_id::SZp, .bound = 1e-2};
                 all_types("bcast", {.which = collective_id::bcast, .n = n, .root = 1}, any_way);
                 all_types("alltoall", {.which = collective_id::alltoall, .n = n}, any_way);
                 const int counts[ranks] = {0, 700, 1400};
                 all_types("with counts",
                           {.which = collective_id::allgather,
                            .n = static_cast<std::size_t>(counts[comm.rank()]),
                            .recv_counts = dynamic::counts(counts)},
                           lossy);
                 dynamic::call sum{.which = collective_id::allreduce, .n = n, .how = bits};
                 compare<checked, float>(sum, comm, how, "checked", mine.wrong);
             }))
            CHECK(each.wrong == "");
    }
}

TEST_CASE("A menu without a memory space says what it needs", "[dynamic]")
{
    dynamic::call c{.which = collective_id::allreduce, .n = 1, .memory = far_memory};
    CHECK(dynamic::why_not<threads_comm, on_host>(c) ==
          "calls with buffers in memory '128' are not compiled in; the menu must name its space, such as "
          "cuda_space");
    CHECK(dynamic::why_not<threads_comm, plans>(c) == "");
    c.memory = dynamic::memory_id::cuda;
    const std::string said =
        "calls with buffers in memory 'cuda' are not compiled in; the menu must name its "
        "space, such as cuda_space";
    CHECK(dynamic::why_not<threads_comm, plans>(c) == said);
    for (const told& each : run<told>(1, [&](threads_comm& comm, told& mine) {
             try {
                 dynamic::run<on_host>(c, comm);
                 mine.wrong = "ran";
             } catch (const ccoll::error& e) {
                 if (std::string(e.what()).find(said) == std::string::npos) mine.wrong = e.what();
             }
         }))
        CHECK(each.wrong == "");
    CHECK(dynamic::from_name<dynamic::memory_id>("CUDA") == dynamic::memory_id::cuda);
}

}  // namespace dynamic_memory_cases
