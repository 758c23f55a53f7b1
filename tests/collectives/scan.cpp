// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// scan and exscan: every rank's prefix within what is promised, in the order of the ranks, and what goes
// wrong is told to all.
#include "worlds.hpp"

#include <ccoll/scan.hpp>

namespace scan_cases {

using namespace ccoll::policies;
using namespace worlds;
using floats = std::vector<float>;

namespace {

enum class kind { scan, exscan };

template <kind Which, class... P, class... A>
report prefix(A&&... arguments)
{
    if constexpr (Which == kind::scan) return ccoll::scan<P...>(arguments...);
    else return ccoll::exscan<P...>(arguments...);
}
/// How many operands rank r has.
constexpr std::size_t operands(kind which, int r)
{
    return static_cast<std::size_t>(r) + (which == kind::scan ? 1 : 0);
}

template <kind Which, class T, class... P, class... Extra>
std::vector<seen<T>> prefixes(int p, const std::vector<std::vector<T>>& inputs, bool in_place, Extra... extra)
{
    return run<seen<T>>(p, [=](threads_comm& comm, seen<T>& mine) {
        const auto& input = inputs[static_cast<std::size_t>(comm.rank())];
        guarded<T> send(input), recv(input.size());
        mine.facts = in_place
                         ? prefix<Which, P...>(send.span(), comm, extra...)
                         : prefix<Which, P...>(std::span<const T>(send.span()), recv.span(), comm, extra...);
        mine.guards = send.intact() && recv.intact();
        mine.send_kept = in_place || oracle::same_bits(send.values(), input);
        mine.result = in_place ? send.values() : recv.values();
    });
}

template <kind Which, class T, class... P, class... Extra>
void check_prefixes(oracle::op what, const char* codec, const char* placement, Extra... extra)
{
    std::size_t turn = 0;
    for (const int p : rank_counts)
        for (const std::size_t n :
             {std::size_t{0}, std::size_t{1}, std::size_t{129}, std::size_t{5121}, std::size_t{10007}}) {
            const auto& field = ordinary<T>[turn % ordinary_count<T>];
            const bool in_place = turn++ % 2 == 1;
            std::vector<std::vector<T>> inputs;
            for (int r = 0; r < p; ++r) inputs.push_back(field.make(n, static_cast<unsigned>(r + 1)));
            const auto all = prefixes<Which, T, P...>(p, inputs, in_place, extra...);
            INFO("p " << p << ", n " << n << ", " << field.name << (in_place ? ", in place" : ""));
            for (int r = 0; r < p; ++r) {
                const seen<T>& mine = all[static_cast<std::size_t>(r)];
                INFO("rank " << r);
                CHECK((mine.guards && mine.send_kept && mine.facts.trouble.ok()));
                CHECK(mine.facts.codec == std::string(codec));
                CHECK(mine.facts.placement == std::string(placement));
                CHECK(mine.facts.agreed == (p > 1));  // data flow one way
                const std::size_t most = operands(Which, r);
                if (most == 0) {  // nobody's sum: the buffer is as it was
                    CHECK(oracle::same_bits(mine.result, in_place ? inputs[0] : std::vector<T>(n, T(-77))));
                    continue;
                }
                CHECK(oracle::wrong_reductions<T>(what, inputs, most, mine.result,
                                                  mine.facts.worst_case_error) == 0);
            }
        }
}
template <class T, class... P, class... Extra>
void check_both(oracle::op what, const char* codec, const char* placement, Extra... extra)
{
    check_prefixes<kind::scan, T, P...>(what, codec, placement, extra...);
    check_prefixes<kind::exscan, T, P...>(what, codec, placement, extra...);
}

/// What is left of `a` and what is right of `b`: associative, and the order of operands shows.
struct stretch {
    int first, last;
    bool broken;
};
struct Joined : ccoll::op_tag<false> {
    static constexpr const char* name = "Joined";
    static constexpr stretch apply(stretch a, stretch b) noexcept
    {
        return {a.first, b.last, a.broken || b.broken || a.last + 1 != b.first};
    }
};

}  // namespace

TEST_CASE("scan and exscan give every rank its prefix", "[collectives][scan]")
{
    check_both<float>(oracle::op::sum, "None", "DecodeReduceEncode");
    check_both<float, Algo::Chain>(oracle::op::sum, "None", "DecodeReduceEncode");
    check_both<double, Algo::RecursiveDoubling, Op::Min>(oracle::op::min, "None", "DecodeReduceEncode");
}

TEST_CASE("scan and exscan keep the bound that they promise", "[collectives][scan][bounds]")
{
    using E = ErrorBound<1e-3>;
    check_both<float, Codec::SZp, E>(oracle::op::sum, "SZp", "Homomorphic");
    check_both<float, Algo::Chain, Codec::SZp, E>(oracle::op::sum, "SZp", "Homomorphic");
    check_both<float, Codec::SZp, E, Placement::DecodeReduceEncode>(oracle::op::sum, "SZp",
                                                                    "DecodeReduceEncode");
    check_both<float, Algo::Chain, Codec::SZx, E>(oracle::op::sum, "SZx", "DecodeReduceEncode");
    check_both<double, Algo::Chain, Codec::SZx, EndToEnd<E>, Op::Max>(oracle::op::max, "SZx",
                                                                      "DecodeReduceEncode");
    check_both<float, Codec::SZx, E, Placement::PerHop>(oracle::op::sum, "SZx", "PerHop");
    check_both<float, Codec::SZp, RuntimeBound>(oracle::op::sum, "SZp", "Homomorphic", 1e-2);
    CHECK(ccoll::worst_case<ccoll::collective::scan, Codec::SZp, E>(5) == 5e-3);
    CHECK(ccoll::worst_case<ccoll::collective::exscan, Codec::SZp, E>(5) == 4e-3);
    CHECK(ccoll::worst_case<ccoll::collective::scan, Algo::Chain, Codec::SZx, E>(5) == 4e-3);
    CHECK(ccoll::worst_case<ccoll::collective::exscan, Algo::Chain, Codec::SZx, EndToEnd<E>>(5) == 1e-3);
}

TEST_CASE("A homomorphic prefix has the bits of the sum of its ranks, whatever the algorithm",
          "[collectives][scan][homomorphic]")
{
    using E = ErrorBound<1e-3>;
    const std::size_t n = 20011;
    for (const int p : {2, 3, 5, 8}) {
        std::vector<floats> inputs;
        for (int r = 0; r < p; ++r) inputs.push_back(fields::random<float>(n, static_cast<unsigned>(r + 1)));
        const auto line = prefixes<kind::scan, float, Algo::Chain, Codec::SZp, E>(p, inputs, false);
        const auto doubled =
            prefixes<kind::scan, float, Algo::RecursiveDoubling, Codec::SZp, E>(p, inputs, false);
        const auto before = prefixes<kind::exscan, float, Algo::Chain, Codec::SZp, E>(p, inputs, false);
        const auto before_doubled =
            prefixes<kind::exscan, float, Algo::RecursiveDoubling, Codec::SZp, E>(p, inputs, false);
        for (int most = 2; most <= p; ++most) {
            const auto sums = run<floats>(most, [=](threads_comm& comm, floats& mine) {
                mine.resize(n);
                ccoll::allreduce<Codec::SZp, E>(inputs[static_cast<std::size_t>(comm.rank())], mine, comm);
            });
            const auto r = static_cast<std::size_t>(most - 1);
            INFO("p " << p << ", the first " << most);
            CHECK(oracle::same_bits(line[r].result, sums[0]));
            CHECK(oracle::same_bits(doubled[r].result, sums[0]));
            if (most == p) continue;
            CHECK(oracle::same_bits(before[r + 1].result, sums[0]));
            CHECK(oracle::same_bits(before_doubled[r + 1].result, sums[0]));
        }
    }
}

TEMPLATE_TEST_CASE("Prefixes combine operands in the order of the ranks", "[collectives][scan]", Algo::Chain,
                   Algo::RecursiveDoubling)
{
    for (const int p : rank_counts) {
        const auto all = run<std::vector<stretch>>(p, [](threads_comm& comm, std::vector<stretch>& mine) {
            const std::vector<stretch> own(3, {comm.rank(), comm.rank(), false});
            std::vector<stretch> scanned(3), before(3, {-5, -5, false});
            ccoll::scan<TestType, Joined>(own, scanned, comm);
            ccoll::exscan<TestType, Joined>(own, before, comm);
            mine = {scanned[2], before[2]};
        });
        for (int r = 0; r < p; ++r) {
            const auto& mine = all[static_cast<std::size_t>(r)];
            INFO("p " << p << ", rank " << r);
            CHECK((mine[0].first == 0 && mine[0].last == r && !mine[0].broken));
            if (r == 0) CHECK(mine[1].first == -5);
            else CHECK((mine[1].first == 0 && mine[1].last == r - 1 && !mine[1].broken));
        }
    }
}

TEST_CASE("Long prefixes go in slices, begun, prepared and with pointers", "[collectives][scan][request]")
{
    const std::size_t n = 400001;
    const auto wrong = run<int>(3, [=](threads_comm& comm, int& mine) {
        floats x(n, 1.0f), y(n), z(n), w(n, 9.0f);
        const float r = static_cast<float>(comm.rank());
        auto call = ccoll::iscan<Codec::SZp, ErrorBound<1e-3>>(x, y, comm);
        auto other = ccoll::iexscan<Algo::Chain>(x, w, comm);
        other.wait();
        call.wait();
        auto again = ccoll::scan_init<Algo::Chain>(x, z, comm);
        auto exclusive = ccoll::exscan_init<Codec::SZx, ErrorBound<1e-3>>(x, comm);
        again.start();
        again.wait();
        exclusive.start();
        exclusive.wait();
        for (std::size_t i = 0; i < n; ++i) {
            mine += std::abs(y[i] - (r + 1)) > 4e-3f;
            mine += z[i] != r + 1;
            mine += w[i] != (comm.rank() == 0 ? 9.0f : r);
            mine += std::abs(x[i] - (comm.rank() == 0 ? 1.0f : r)) > 5e-3f;
        }
        ccoll::scan(z.data(), y.data(), 5, comm);
        mine += y[4] != (r + 1) * (r + 2) / 2;
        ccoll::exscan(z.data(), static_cast<float*>(nullptr), 0, comm);
    });
    for (const int each : wrong) CHECK(each == 0);
}

TEST_CASE("A few huge values take part in encoded prefixes", "[collectives][scan][homomorphic]")
{
    for (const int who : {0, 1, 3}) {
        std::vector<floats> inputs(4, floats(1000, 1.0f));
        inputs[static_cast<std::size_t>(who)][7] = 3e30f;
        inputs[static_cast<std::size_t>(who)][8] = -5.1e30f;
        const auto all = prefixes<kind::scan, float, Codec::SZp, ErrorBound<1e-3>>(4, inputs, false);
        for (int r = 0; r < 4; ++r) {
            INFO("large values on rank " << who << ", rank " << r);
            const seen<float>& mine = all[static_cast<std::size_t>(r)];
            CHECK_FALSE(mine.facts.exact);
            CHECK(mine.facts.placement == std::string("Homomorphic"));
            if (r < who)
                CHECK(std::fabs(mine.result[7] - static_cast<float>(r + 1)) <=
                      1.001 * mine.facts.worst_case_error);
            else CHECK(mine.result[7] == 3e30f);
        }
    }
}

TEST_CASE("Wrong arguments of a prefix are told to all ranks, also to those that nothing flows to",
          "[collectives][scan][errors]")
{
    for (const int who : {0, 2}) {
        const auto codes = run<std::error_code>(3, [=](threads_comm& comm, std::error_code& mine) {
            floats x(comm.rank() == who ? 11 : 10, 1.0f), y(x.size());
            ccoll::scan<Codec::SZp, ErrorBound<1e-3>>(x, y, comm, mine);
            std::error_code next;
            ccoll::exscan(floats(4, 1.0f), x, comm, next);  // of 10 or 11: does not fit
            if (next != status::size_mismatch) mine = next;
        });
        for (const auto& each : codes) CHECK(each == status::count_differs);
    }
}

}  // namespace scan_cases
