// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls with a root and one range: reduce, gather, scatter and the variants with counts.
#include "worlds.hpp"

#include <cmath>

namespace in_place_rooted_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

using floats = std::vector<float>;

/// What rank r contributes at i. Sums of them are exact.
float given(int r, std::size_t i) { return static_cast<float>(r * 1000 + static_cast<int>(i % 97)); }
floats given(int r, std::size_t from, std::size_t n)
{
    floats all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = given(r, from + i);
    return all;
}
bool near(const floats& a, const floats& b, double bound)
{
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) > bound) return false;
    return true;
}

/// Part r has counts[r] elements, also in the calls without counts, where all are the same.
struct parts_of_world {
    std::vector<int> counts;

    std::size_t count(int r) const { return static_cast<std::size_t>(counts[static_cast<std::size_t>(r)]); }
    std::size_t offset(int r) const
    {
        std::size_t at = 0;
        for (int i = 0; i < r; ++i) at += count(i);
        return at;
    }
    std::size_t size() const { return offset(static_cast<int>(counts.size())); }
    floats whole() const
    {
        floats all;
        for (int r = 0; r < static_cast<int>(counts.size()); ++r) {
            const floats part = given(r, 0, count(r));
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }
};

/// The root's buffer in a gather: its own part in its place, and nothing else.
floats room_for(const parts_of_world& parts, int root)
{
    floats all(parts.size(), -1.0f);
    const floats own = given(root, 0, parts.count(root));
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(parts.offset(root)));
    return all;
}

/// @param gather, scatter  call(buffer) of one rank
template <class Gather, class Scatter>
void there_and_back(findings& mine, const parts_of_world& parts, int me, int root, double bound,
                    Gather gather, Scatter scatter)
{
    const floats own = given(me, 0, parts.count(me));
    floats buffer = me == root ? room_for(parts, root) : own;
    gather(buffer);
    mine.expect(me == root ? near(buffer, parts.whole(), bound) : oracle::same_bits(buffer, own), "gather");
    if (me == root) {
        const floats before = buffer;
        scatter(buffer);
        mine.expect(oracle::same_bits(buffer, before), "the root's buffer in scatter");
    } else {
        buffer.assign(parts.count(me), -1.0f);
        scatter(buffer);
        mine.expect(near(buffer, own, 2 * bound), "scatter");
    }
}

}  // namespace

TEST_CASE("with one range, gather and scatter leave the root's own part in its place", "[gather][scatter]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
            none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                const int me = comm.rank(), root = p - 1;
                const parts_of_world equal{
                    std::vector<int>(static_cast<std::size_t>(p), static_cast<int>(n))};
                parts_of_world varied = equal;
                for (int r = 0; r < p; ++r) varied.counts[static_cast<std::size_t>(r)] += 3 * r;
                const std::vector<int> counts = me == root ? varied.counts : std::vector<int>();

                there_and_back(
                    mine, equal, me, root, 0, [&](floats& b) { ccoll::gather(b, root, comm); },
                    [&](floats& b) { ccoll::scatter(b, root, comm); });
                there_and_back(
                    mine, equal, me, root, 1e-3,
                    [&](floats& b) { ccoll::igather<Codec::SZp, ErrorBound<1e-3>>(b, root, comm).wait(); },
                    [&](floats& b) {
                        auto call = ccoll::scatter_init<Codec::SZp, RuntimeBound>(b, root, comm, 1e-3);
                        for (int i = 0; i < 2; ++i) {
                            call.start();
                            call.wait();
                        }
                    });
                there_and_back(
                    mine, varied, me, root, 1e-3,
                    [&](floats& b) { ccoll::gatherv<Codec::SZp, ErrorBound<1e-3>>(b, counts, root, comm); },
                    [&](floats& b) {
                        ccoll::iscatterv<Codec::SZp, ErrorBound<1e-3>>(b, counts, root, comm).wait();
                    });
            }));
        }
}

TEST_CASE("reduce with one range works in place on the root and changes nothing elsewhere", "[reduce]")
{
    for (const int p : {1, 2, 3, 5}) {
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            const int me = comm.rank();
            for (const int root : {0, p - 1})
                for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5000}}) {
                    floats sum(n), x = given(me, 0, n);
                    for (int r = 0; r < p; ++r)
                        for (std::size_t i = 0; i < n; ++i) sum[i] += given(r, i);
                    const floats before = x;
                    ccoll::reduce(x, root, comm);
                    mine.expect(oracle::same_bits(x, me == root ? sum : before), "exact");
                    x = before;
                    ccoll::ireduce<Codec::SZp, ErrorBound<1e-3>>(x, root, comm).wait();
                    mine.expect(me == root ? near(x, sum, 1e-3 * p) : oracle::same_bits(x, before), "SZp");
                }
        }));
    }
}

TEST_CASE("with one range, what does not fit is told, and so is a root that does not exist",
          "[gather][scatter]")
{
    none_wrong(run<findings>(3, [=](threads_comm& comm, findings& mine) {
        const auto expect = [&](status wanted, const char* what, auto call) {
            std::error_code code;
            call(code);
            mine.expect(code == wanted, std::string(what) + ": " + code.message());
        };
        floats b(comm.rank() == 1 ? 10 : 3);  // 9 on the root
        expect(status::size_mismatch, "gather", [&](auto& c) { ccoll::gather(b, 1, comm, c); });
        expect(status::size_mismatch, "scatter", [&](auto& c) { ccoll::scatter(b, 1, comm, c); });
        expect(status::bad_root, "gather", [&](auto& c) { ccoll::gather(b, 3, comm, c); });
        expect(status::bad_root, "scatter", [&](auto& c) { ccoll::scatter(b, -1, comm, c); });
        expect(status::bad_root, "reduce", [&](auto& c) { ccoll::reduce(b, 7, comm, c); });
    }));
}

}  // namespace in_place_rooted_cases
