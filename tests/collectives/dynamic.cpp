// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic.hpp: every collective with every operation on every type of elements, described by values, against
// plain computations; plans by name; counts, in place, begun and prepared calls; and the sentences for what a
// menu does not have.
#include "errors.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include <ccoll/compile_dynamic.hpp>

namespace dynamic_cases {

using namespace ccoll::policies;
using namespace worlds;
namespace dynamic = ccoll::dynamic;
using ccoll::collective_id;
using dynamic::algo_id;
using dynamic::codec_id;
using dynamic::element_id;
using dynamic::operation_id;

/// Every element type and every operation.
struct all_elements : dynamic::menu<float, double, ccoll::half, ccoll::bfloat16, std::int8_t, std::int16_t,
                                    std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                                    std::uint64_t, Op::Sum, Op::Average, Op::Min, Op::Max, Op::Prod,
                                    Op::BitAnd, Op::BitOr, Op::BitXor, Op::And, Op::Or, Op::Xor> {};
/// Several plans.
struct plans : dynamic::menu<float, std::int32_t, Op::Sum, Op::Prod, Algo::Auto, Algo::Ring, Algo::Binomial,
                             Codec::None, Codec::Lossless, Codec::SZp, Codec::Auto, RuntimeBound,
                             EndToEnd<RuntimeBound>, RuntimeRelativeBound, FixedBits<8>> {};

namespace {

constexpr std::size_t n = 6;
constexpr int ranks = 4;  // an average of small integers over four ranks is exact

long long combined(operation_id op, long long a, long long b)
{
    switch (op) {
    case operation_id::Min: return std::min(a, b);
    case operation_id::Max: return std::max(a, b);
    case operation_id::Prod: return a * b;
    case operation_id::BitAnd: return a & b;
    case operation_id::BitOr: return a | b;
    case operation_id::BitXor: return a ^ b;
    case operation_id::And: return a != 0 && b != 0;
    case operation_id::Or: return a != 0 || b != 0;
    case operation_id::Xor: return (a != 0) != (b != 0);
    default: return a + b;
    }
}
/// What rank r has at place i. Products of four of them fit into a byte.
long long value(int r, std::size_t i)
{
    return 1 + static_cast<long long>((static_cast<std::size_t>(r) + i) % 3);
}
/// The ranks from `first` to before `last` combined at place i.
double reduced(operation_id op, int first, int last, std::size_t i)
{
    long long all = value(first, i);
    for (int r = first + 1; r < last; ++r) all = combined(op, all, value(r, i));
    return op == operation_id::Average ? static_cast<double>(all) / (last - first) : static_cast<double>(all);
}

/// What rank `me` must hold afterwards at place i of its receive buffer; -7: what it held before.
double expected(const dynamic::call& c, int me, std::size_t i)
{
    const std::size_t part = i / n, at = i % n, mine = static_cast<std::size_t>(me) * n + at;
    const bool root = me == c.root;
    switch (c.which) {
    case collective_id::allreduce: return reduced(c.op, 0, ranks, i);
    case collective_id::reduce: return root ? reduced(c.op, 0, ranks, i) : -7;
    case collective_id::reduce_scatter: return reduced(c.op, 0, ranks, mine);
    case collective_id::scan: return reduced(c.op, 0, me + 1, i);
    case collective_id::exscan: return me == 0 ? -7 : reduced(c.op, 0, me, i);
    case collective_id::bcast: return static_cast<double>(value(c.root, i));
    case collective_id::allgather: return static_cast<double>(value(static_cast<int>(part), at));
    case collective_id::gather: return root ? static_cast<double>(value(static_cast<int>(part), at)) : -7;
    case collective_id::scatter: return static_cast<double>(value(c.root, mine));
    default: return static_cast<double>(value(static_cast<int>(part), mine));  // alltoall
    }
}

template <class T>
T number(double x)
{
    if constexpr (ccoll::small_float<T>) return T(static_cast<float>(x));
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(x));
    else return static_cast<T>(x);
}

constexpr collective_id on_all_ranks[] = {
    collective_id::allreduce, collective_id::reduce,  collective_id::reduce_scatter, collective_id::allgather,
    collective_id::bcast,     collective_id::scatter, collective_id::gather,         collective_id::alltoall,
    collective_id::scan,      collective_id::exscan};

bool reduces(collective_id which)
{
    return ccoll::detail::all_collectives[static_cast<std::size_t>(which)].reduces;
}

/// All collectives with all operations that the type has.
template <class T>
void every_call()
{
    constexpr element_id type = ccoll::detail::element_id_of<T>;
    const auto all = run<findings>(ranks, [](threads_comm& comm, findings& f) {
        const int me = comm.rank();
        for (const collective_id which : on_all_ranks)
            for (const auto& op : ccoll::detail::names_of<operation_id>::lines) {
                if (!reduces(which) && op.id != operation_id::Sum) continue;
                const bool bits = op.id >= operation_id::BitAnd;
                const bool prefix = which == collective_id::scan || which == collective_id::exscan;
                const bool average = op.id == operation_id::Average;
                const bool possible =
                    !reduces(which) || (std::is_integral_v<T> ? !average : !bits && !(average && prefix));
                std::vector<T> send(n * ranks), recv(n * ranks, number<T>(-7)), before = recv;
                for (std::size_t i = 0; i < send.size(); ++i)
                    send[i] = number<T>(static_cast<double>(value(me, i)));
                dynamic::call c{.which = which,
                                .send = send.data(),
                                .recv = recv.data(),
                                .n = n,
                                .type = type,
                                .op = op.id,
                                .root = 2};
                if (which == collective_id::bcast && me == c.root) std::copy_n(send.begin(), n, recv.begin());
                const std::string what = std::string(name_of(which)) + " " + op.name;
                const std::string why = dynamic::why_not<threads_comm, all_elements>(c);
                f.expect(why.empty() == possible, what + ": " + why);
                if (!possible) continue;
                dynamic::run<all_elements>(c, comm);
                const bool parts = which == collective_id::allgather || which == collective_id::gather ||
                                   which == collective_id::alltoall;
                for (std::size_t i = 0; i < recv.size(); ++i) {
                    const double want = parts || i < n ? expected(c, me, i) : -7;
                    f.expect(recv[i] == number<T>(want), what + " at " + std::to_string(i));
                }
            }
    });
    none_wrong(all);
}

std::vector<float> wave(std::size_t length, int rank)
{
    std::vector<float> v(length);
    for (std::size_t i = 0; i < length; ++i)
        v[i] = std::sin(1e-2f * static_cast<float>(i)) + static_cast<float>(rank);
    return v;
}
/// The largest difference to the sum of the waves of all ranks.
double error_of(const std::vector<float>& sum, int p)
{
    double worst = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        double exact = 0;
        for (int r = 0; r < p; ++r) exact += wave(sum.size(), r)[i];
        worst = std::max(worst, std::fabs(exact - sum[i]));
    }
    return worst;
}

/// The sentence that a call throws; "" if it throws none.
template <class Call>
std::string thrown_by(Call call)
{
    try {
        call();
    } catch (const ccoll::error& e) {
        return e.what();
    }
    return "";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Every collective with every operation on floats is what it says", "[dynamic]")
{
    every_call<float>();
    every_call<double>();
    every_call<ccoll::half>();
    every_call<ccoll::bfloat16>();
}

TEST_CASE("Every collective with every operation on integers is what it says", "[dynamic]")
{
    every_call<std::int8_t>();
    every_call<std::int16_t>();
    every_call<std::int32_t>();
    every_call<std::int64_t>();
    every_call<std::uint8_t>();
    every_call<std::uint16_t>();
    every_call<std::uint32_t>();
    every_call<std::uint64_t>();
}

TEST_CASE("Plans by name are the plans that are written as types", "[dynamic]")
{
    constexpr int p = 3;
    const auto all = run<findings>(p, [](threads_comm& comm, findings& f) {
        const std::vector<float> x = wave(5000, comm.rank());
        std::vector<float> y(x.size()), z(x.size());
        // [doc:dynamic]
        const dynamic::plan how = dynamic::plan::from_names("Ring, SZp", 1e-3);
        const dynamic::call sum{.which = ccoll::collective_id::allreduce,
                                .send = x.data(),
                                .recv = y.data(),
                                .n = x.size(),
                                .type = dynamic::element_id::f32,
                                .op = dynamic::operation_id::Sum,
                                .how = how};
        ccoll::report facts = dynamic::run<plans>(sum, comm);     // waits for its end
        ccoll::request later = dynamic::begin<plans>(sum, comm);  // begins it
        facts += later.wait();
        ccoll::persistent often = dynamic::prepare<plans>(sum, comm);
        often.start();
        facts += often.wait();
        // [/doc:dynamic]
        ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(x, z, comm);
        f.expect(y == z, "the same bits");
        f.expect(std::string(facts.algorithm) == "Ring" && std::string(facts.codec) == "SZp", "names");

        const auto with = [&](const char* names, double bound) {
            dynamic::call c = sum;
            c.how = dynamic::plan::from_names(names, bound);
            return dynamic::run<plans>(c, comm);
        };
        facts = with("szp, end_to_end", 1e-3);
        f.expect(facts.worst_case_error <= 1.0001e-3 && error_of(y, p) <= 1.1e-3, "of the result");
        f.expect(facts.error_bound < 1e-3 / 2, "of one compression");
        facts = with("SZp, RelativeBound", 1e-3);
        f.expect(facts.error_bound > 3e-3 && facts.error_bound < 5e-3, "a part of the range");
        facts = with("SZp, FixedBits", 8);
        f.expect(facts.error_bound > 3.0 / 512 && facts.error_bound < 3.1 / 256, "bits");
    });
    none_wrong(all);
}

TEST_CASE("What a menu does not have is a sentence on every rank, and nobody waits", "[dynamic]")
{
    const auto all = run<findings>(
        3,
        [](threads_comm& comm, findings& f) {
            std::vector<float> x(10, 1.0f), y(10);
            dynamic::call sum{.send = x.data(), .recv = y.data(), .n = 10};
            const auto refused = [&](const dynamic::call& c, const char* part) {
                const std::string text = thrown_by([&] { dynamic::run<plans>(c, comm); });
                f.expect(has(text, part), "'" + text + "' has no '" + part + "'");
                std::error_code code;
                const report facts = dynamic::run<plans>(c, comm, code);
                f.expect(code == status::bad_argument && facts.trouble.code == status::bad_argument, "code");
                f.expect(has(thrown_by([&] { dynamic::begin<plans>(c, comm).wait(); }), part), "begun");
                f.expect(has(thrown_by([&] { static_cast<void>(dynamic::prepare<plans>(c, comm)); }), part),
                         "prepared");
            };
            dynamic::call c = sum;
            c.how.algo = algo_id::Binomial;
            refused(c,
                    "ccoll::allreduce: an argument is out of range: the plan 'Binomial, None' is not "
                    "compiled in; its algorithm can be Auto, Ring");
            c.which = collective_id::scatter;
            c.how.algo = algo_id::Ring;
            refused(c, "its algorithm can be Auto, Binomial");
            c = sum;
            c.how = {.codec = codec_id::SZe, .bound = 1e-3};
            refused(c, "its codec, behind what stands before it, can be None, Lossless, SZp, Auto");
            c.how = {.codec = codec_id::SZp};
            refused(c,
                    "its bound, behind what stands before it, can be ErrorBound, EndToEnd ErrorBound, "
                    "RelativeBound, FixedBits 8");
            c.how = {.codec = codec_id::Lossless, .bound = 1e-3};
            refused(c, "its bound, behind what stands before it, can be none");
            c.how = {.codec = codec_id::SZp, .placement = dynamic::placement_id::PerHop, .bound = 1e-3};
            refused(c, "its placement, behind what stands before it, can be Auto");
            c.how = {.codec = codec_id::SZp, .bound = 1e-3};
            c.op = operation_id::Prod;
            refused(c, "its codec, behind what stands before it, can be None, Lossless");
            c.op = operation_id::Max;
            refused(c, "the operation 'Max' is not compiled in; it can be Sum, Prod");
            c = sum;
            c.type = element_id::f64;
            refused(c, "elements of type 'double' are not compiled in; there are float, int32");
            c.type = element_id::complex_f32;
            c.op = operation_id::Prod;
            refused(c, "complex numbers can only be added");
            c = sum;
            c.which = static_cast<collective_id>(77);
            refused(c, "there is no collective with this number");
            c = sum;
            c.varied = true;
            refused(c, "this collective has no variant with counts");
            c.which = collective_id::neighbor_alltoall;
            refused(c, "this communicator does not know its neighbours");
            c.in_place = true;
            refused(c, "between neighbours nothing works in place");

            c = sum;
            c.how.codec = codec_id::Auto;
            dynamic::run<plans>(c, comm);
            f.expect(y[3] == 3, "measured");
            f.expect(has(thrown_by([&] { dynamic::begin<plans>(c, comm).wait(); }), "name a codec"), "begun");

            // What ranks say differently is found as in other calls.
            c = sum;
            c.n = comm.rank() == 1 ? 9 : 10;
            f.expect(has(thrown_by([&] { dynamic::run<plans>(c, comm); }), "element count"), "counts differ");
            std::error_code code;
            const report facts = dynamic::run<plans>(c, comm, code);
            f.expect(code == status::count_differs && !facts.trouble.ok(), "code of the call");
            dynamic::run<plans>(sum, comm, code);
            f.expect(!code && y[3] == 3, "afterwards");
        },
        60);
    none_wrong(all);
}

TEST_CASE("Names that are no policies are sentences that list the policies", "[dynamic]")
{
    using dynamic::plan;
    const auto of = [](const char* names) { return thrown_by([&] { plan::from_names(names, 1e-3); }); };
    CHECK(has(of("Ring, SPz"), "no policy is called 'SPz'; there are the algorithms Auto, Ring"));
    CHECK(has(of("auto"), "write Algo::Auto or Codec::Auto"));
    CHECK(has(of("SZp, SZx"), "'SZx' is a second codec"));
    CHECK(has(of("Ring,Bruck"), "'Bruck' is a second algorithm"));
    CHECK(has(of("SZp,ErrorBound,RelativeBound"), "'RelativeBound' is a second kind of bound"));
    CHECK(of(" ring ,  recursive_doubling") != "");
    const plan p =
        plan::from_names("scatter_allgather,codec::auto,Homomorphic,relative-bound,EndToEnd", 0.25);
    CHECK(p.algo == algo_id::ScatterAllgather);
    CHECK(p.codec == codec_id::Auto);
    CHECK(p.placement == dynamic::placement_id::Homomorphic);
    CHECK(p.kind == dynamic::bound_id::RelativeBound);
    CHECK(p.of_result);
    CHECK(text_of(p) == "ScatterAllgather, Codec::Auto, Homomorphic, EndToEnd, RelativeBound 0.25");
    CHECK(text_of(plan::from_names(text_of(plan{}))) == "Algo::Auto, None");
    CHECK(dynamic::from_name<element_id>("bfloat16") == element_id::bf16);
    CHECK(!dynamic::from_name<operation_id>("plus"));
    for (const auto& each : ccoll::detail::names_of<codec_id>::lines)
        CHECK(dynamic::from_name<codec_id>(each.name) == each.id);
    for (const auto& each : ccoll::detail::names_of<element_id>::lines) CHECK(dynamic::size_of(each.id) > 0);
}

TEST_CASE("Counts may be integers of any kind, with displacements, begun or prepared", "[dynamic]")
{
    constexpr int p = 3;
    const auto all = run<findings>(p, [](threads_comm& comm, findings& f) {
        const int me = comm.rank();
        const auto mine = static_cast<std::size_t>(me);
        const int counts[p] = {2, 0, 3};
        const long long wide[p] = {2, 0, 3};
        const long at[p] = {4, 0, 0};  // the parts in another order, with a gap
        const std::vector<std::int32_t> own(3, 10 + me);
        const std::vector<std::int32_t> gathered{12, 12, 12, -1, 10, 10};
        const auto three_ways = [&](const dynamic::call& c, auto check) {
            check(dynamic::run<plans>(c, comm));
            check(dynamic::begin<plans>(c, comm).wait());
            ccoll::persistent often = dynamic::prepare<plans>(c, comm);
            for (int i = 0; i < 2; ++i) {
                often.start();
                check(often.wait());
            }
        };
        std::vector<std::int32_t> recv(6, -1);
        const auto is = [&](const std::vector<std::int32_t>& want, const char* what) {
            return [&f, &recv, want, what](const report&) {
                f.expect(recv == want, what);
                std::fill(recv.begin(), recv.end(), -1);
            };
        };
        dynamic::call c{.which = collective_id::allgather,
                        .send = own.data(),
                        .recv = recv.data(),
                        .n = static_cast<std::size_t>(counts[me]),
                        .type = element_id::i32,
                        .recv_counts = dynamic::counts(counts),
                        .recv_displacements = dynamic::counts(at)};
        three_ways(c, is(gathered, "allgatherv"));
        c.recv_counts = dynamic::counts(wide, p);
        three_ways(c, is(gathered, "allgatherv with its size"));

        c.which = collective_id::gather;
        c.root = 1;
        if (me != c.root) c.recv_counts = c.recv_displacements = {};
        c.varied = true;
        three_ways(c, is(me == 1 ? gathered : std::vector<std::int32_t>(6, -1), "gatherv"));

        // Scattered again, by rank 2.
        std::vector<std::int32_t> parts(6);
        for (std::size_t i = 0; i < 6; ++i) parts[i] = static_cast<std::int32_t>(i);
        c = {.which = collective_id::scatter,
             .send = parts.data(),
             .recv = recv.data(),
             .n = static_cast<std::size_t>(counts[me]),
             .type = element_id::i32,
             .root = 2,
             .varied = true};
        if (me == 2) {
            c.send_counts = dynamic::counts(wide);
            c.send_displacements = dynamic::counts(at);
        }
        const std::vector<std::int32_t> scattered[p] = {
            {4, 5, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, -1}, {0, 1, 2, -1, -1, -1}};
        three_ways(c, is(scattered[me], "scatterv"));

        c = {.which = collective_id::reduce_scatter,
             .send = parts.data(),
             .recv = recv.data(),
             .type = element_id::i32,
             .recv_counts = dynamic::counts(counts)};
        const std::vector<std::int32_t> sums[p] = {
            {0, 3, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, -1}, {6, 9, 12, -1, -1, -1}};
        three_ways(c, is(sums[me], "reduce_scatterv"));

        const int to_each[p] = {me + 1, me + 1, me + 1};
        const long from_each[p] = {1, 2, 3};
        std::vector<std::int32_t> send(static_cast<std::size_t>(3 * (me + 1)));
        for (std::size_t i = 0; i < send.size(); ++i)
            send[i] = 10 * me + static_cast<std::int32_t>(i / (mine + 1));
        c = {.which = collective_id::alltoall,
             .send = send.data(),
             .recv = recv.data(),
             .type = element_id::i32,
             .send_counts = dynamic::counts(to_each),
             .recv_counts = dynamic::counts(from_each)};
        three_ways(c, is({me, 10 + me, 10 + me, 20 + me, 20 + me, 20 + me}, "alltoallv"));
    });
    none_wrong(all);
}

TEST_CASE("In place, one buffer serves as both; empty calls do nothing", "[dynamic]")
{
    constexpr int p = 3;
    const auto all = run<findings>(p, [](threads_comm& comm, findings& f) {
        const int me = comm.rank();
        const auto mine = static_cast<std::size_t>(me);
        using numbers = std::vector<std::int32_t>;
        const auto in_place = [&](dynamic::call c, numbers& data, const numbers& want, const char* what) {
            c.type = element_id::i32;
            c.in_place = true;
            c.recv = data.data();
            dynamic::run<plans>(c, comm);
            f.expect(data == want, what);
        };
        numbers x{me, 1};
        in_place({.which = collective_id::allreduce, .n = 2}, x, {3, 3}, "allreduce");
        x = {me, 1};
        in_place({.which = collective_id::reduce, .n = 2, .root = 1}, x, me == 1 ? numbers{3, 3} : x,
                 "reduce");
        x = {me, 1};
        in_place({.which = collective_id::scan, .n = 2}, x, {me * (me + 1) / 2, me + 1}, "scan");
        x = {-1, -1, -1};
        x[mine] = me;
        in_place({.which = collective_id::allgather, .n = 1}, x, {0, 1, 2}, "allgather");
        x = {10 * me, 10 * me + 1, 10 * me + 2};
        in_place({.which = collective_id::alltoall, .n = 1}, x, {me, 10 + me, 20 + me}, "alltoall");
        const int counts[p] = {1, 1, 1};
        x = {10 * me, 10 * me + 1, 10 * me + 2};
        in_place({.which = collective_id::alltoall, .recv_counts = dynamic::counts(counts)}, x,
                 {me, 10 + me, 20 + me}, "alltoallv");

        // The root's own part stays in the whole buffer.
        numbers whole{0, 1, 2}, part{-1};
        dynamic::call c{.which = collective_id::scatter,
                        .send = whole.data(),
                        .recv = part.data(),
                        .n = 1,
                        .type = element_id::i32,
                        .root = 2,
                        .in_place = me == 2};
        dynamic::run<plans>(c, comm);
        f.expect(part[0] == (me == 2 ? -1 : me) && whole[2] == 2, "scatter");

        for (const collective_id which : on_all_ranks) {
            dynamic::call empty{.which = which, .type = element_id::i32};
            dynamic::run<plans>(empty, comm);
            dynamic::begin<plans>(empty, comm).wait();
        }
    });
    none_wrong(all);
}

TEST_CASE("Complex numbers travel as their parts", "[dynamic]")
{
    const auto all = run<findings>(3, [](threads_comm& comm, findings& f) {
        const float me = static_cast<float>(comm.rank());
        const float x[4] = {me, 1, 2 * me, -1};
        float y[4] = {};
        dynamic::run<plans>({.send = x, .recv = y, .n = 2, .type = element_id::complex_f32}, comm);
        f.expect(y[0] == 3 && y[1] == 3 && y[2] == 6 && y[3] == -3, "sum");
        float all_of_them[12] = {};
        dynamic::run<plans>({.which = collective_id::allgather,
                             .send = x,
                             .recv = all_of_them,
                             .n = 2,
                             .type = element_id::complex_f32},
                            comm);
        f.expect(all_of_them[4] == 1 && all_of_them[10] == 4, "allgather");
        const int counts[3] = {1, 1, 1};
        float one_of_each[6] = {};
        dynamic::run<plans>({.which = collective_id::allgather,
                             .send = x,
                             .recv = one_of_each,
                             .n = 1,
                             .type = element_id::complex_f32,
                             .recv_counts = dynamic::counts(counts)},
                            comm);
        f.expect(one_of_each[2] == 1 && one_of_each[5] == 1, "allgatherv");
    });
    none_wrong(all);
}

TEST_CASE("Neighbours of a grid exchange what is described", "[dynamic]")
{
    const auto all = run<findings>(4, [](threads_comm& comm, findings& f) {
        const auto ring = ccoll::with_grid(comm, std::vector{4}, std::vector{1});
        const int me = comm.rank();
        const float x[2] = {static_cast<float>(me), static_cast<float>(me + 10)};
        float y[2] = {};
        dynamic::call c{.which = collective_id::neighbor_alltoall, .send = x, .recv = y, .n = 1};
        c.how = dynamic::plan::from_names("SZp", 1e-4);
        dynamic::run<plans>(c, ring);
        const int below = (me + 3) % 4, above = (me + 1) % 4;
        f.expect(std::fabs(y[0] - static_cast<float>(below + 10)) < 2e-4, "from below");
        f.expect(std::fabs(y[1] - static_cast<float>(above)) < 2e-4, "from above");
        c.which = collective_id::neighbor_allgather;
        c.how = {};
        dynamic::begin<plans>(c, ring).wait();
        f.expect(y[0] == static_cast<float>(below) && y[1] == static_cast<float>(above), "allgather");
    });
    none_wrong(all);
}

}  // namespace dynamic_cases
