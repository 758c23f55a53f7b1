// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers that are not standard ranges: views like std::mdspan and Kokkos::View, strided views, complex
// numbers, structs.
#include <array>
#include <complex>

#include <ccoll/bucket.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/value.hpp>

#include "errors.hpp"

namespace views_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// The members of std::mdspan that matter here.
template <class T>
struct plane {
    T* first;
    std::size_t rows, columns, pitch;

    T* data_handle() const { return first; }
    std::size_t size() const { return rows * columns; }
    bool is_exhaustive() const { return pitch == columns; }
};
/// Those of Kokkos::View.
template <class T>
struct kokkos_like {
    T* first;
    std::size_t n;
    bool packed = true;

    T* data() const { return first; }
    std::size_t size() const { return n; }
    bool span_is_contiguous() const { return packed; }
};

struct particle {
    float x, y, z;
    int id;
    friend bool operator==(const particle&, const particle&) = default;
};

}  // namespace

TEST_CASE("Views of the shapes of mdspan and Kokkos are buffers", "[buffers]")
{
    const auto sums = run<float>(3, [](threads_comm& comm, float& mine) {
        std::vector<float> a(600, 1), b(600), c(600);
        ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-4>>(plane<float>{a.data(), 20, 30, 30},
                                                                   plane<float>{b.data(), 20, 30, 30}, comm);
        ccoll::allreduce<Algo::Ring>(kokkos_like<float>{b.data(), 600}, kokkos_like<float>{c.data(), 600},
                                     comm);
        ccoll::bcast(plane<float>{c.data(), 20, 30, 30}, 1, comm);
        mine = c[599];
    });
    for (const float sum : sums) CHECK(std::fabs(sum - 9) <= 9e-4f);
}

TEST_CASE("A strided view is refused on every rank, with a hint", "[buffers][errors]")
{
    for (const bool mdspan_like : {true, false}) {
        const auto all = listen(3, [=](threads_comm& comm) {
            std::vector<float> a(1200, 1), b(600);
            const bool strided = comm.rank() == 1;
            if (mdspan_like)
                ccoll::allreduce<Algo::Ring>(plane<float>{a.data(), 20, 30, strided ? 60u : 30u}, b, comm);
            else ccoll::allreduce<Algo::Ring>(kokkos_like<float>{a.data(), 600, !strided}, b, comm);
        });
        all_heard(all, status::strided);
        CHECK(has(all[0].text, "copy them to a contiguous buffer first"));
    }
}

TEST_CASE("A strided view is refused in a shape, as a value, in a bucket, and by a codec alone",
          "[buffers][errors]")
{
    const auto shaped = listen(3, [=](threads_comm& comm) {
        std::vector<float> a(1200, 1), b(600);
        const plane<float> view{a.data(), 20, 30, comm.rank() == 1 ? 60u : 30u};
        ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(ccoll::shaped(view, {20, 30}), b, comm);
    });
    all_heard(shaped, status::strided);
    const auto value = listen(3, [=](threads_comm& comm) {
        std::vector<float> a(1200, 1);
        const auto sum = ccoll::value::allreduce<Algo::Ring>(
            plane<float>{a.data(), 20, 30, comm.rank() == 1 ? 60u : 30u}, comm);
        if (sum.value.size() != 600) throw std::runtime_error("a value of another length");
    });
    all_heard(value, status::strided);
    const auto copied = listen(3, [=](threads_comm& comm) {
        std::vector<float> a(1200, 1);
        const bool has_gaps = comm.rank() == 1;
        ccoll::value::bcast<Algo::Binomial>(plane<float>{a.data(), 20, 30, 30}, 0, comm);
        ccoll::value::bcast<Algo::Binomial, Check::Collective>(kokkos_like<float>{a.data(), 600, !has_gaps},
                                                               0, comm);
    });
    all_heard(copied, status::strided);

    std::vector<float> a(1200, 1);
    plane<float> gaps{a.data(), 20, 30, 60}, none{a.data(), 20, 30, 30};
    ccoll::bucket<float> bucket;
    bucket.add(none);
    try {
        bucket.add(gaps);
        FAIL("a tensor with gaps went into a bucket");
    } catch (const ccoll::error& e) {
        CHECK(e.what_happened().code == status::strided);
    }
    std::vector<std::byte> frame(ccoll::max_addend_bytes<Codec::SZp, float>(600));
    CHECK(ccoll::encode<Codec::SZp>(gaps, frame, 1e-3).code == status::strided);
    CHECK(ccoll::encode_addend<Codec::SZp>(gaps, frame, 1e-3).code == status::strided);
    CHECK(ccoll::encode<Codec::SZp>(none, frame, 1e-3).code == status::ok);
    CHECK(ccoll::decode<Codec::SZp>(frame, gaps) == status::strided);
    CHECK(ccoll::decode<Codec::SZp>(frame, none) == status::ok);
}

TEST_CASE("A negative count is refused on every rank", "[buffers][errors]")
{
    all_heard(listen(3,
                     [](threads_comm& comm) {
                         std::vector<float> a(10, 1), b(10);
                         ccoll::allreduce<Algo::Ring>(a.data(), b.data(), comm.rank() == 1 ? -1 : 10, comm);
                     }),
              status::bad_count, status::count_differs);
}

TEST_CASE("Complex numbers are moved and added as their parts, each within the bound", "[elements]")
{
    using number = std::complex<double>;
    for (const int p : {1, 2, 5}) {
        const auto all = run<int>(p, [p](threads_comm& comm, int& good) {
            const std::size_t n = 3000;
            std::vector<number> in(n), sum(n), product(n), everybody(n * static_cast<std::size_t>(p));
            for (std::size_t i = 0; i < n; ++i)
                in[i] = {std::sin(0.01 * static_cast<double>(i)) + comm.rank(),
                         std::cos(0.01 * static_cast<double>(i))};
            const report r = ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(in, sum, comm);
            ccoll::allreduce<Algo::Ring, Op::Prod>(in, product, comm);
            ccoll::allgather<Codec::SZp, ErrorBound<1e-3>>(in, everybody, comm);
            good = 1;
            for (std::size_t i = 0; i < n; ++i) {
                number exact = 0, factors = 1;
                for (int rank = 0; rank < p; ++rank) {
                    const number x{std::sin(0.01 * static_cast<double>(i)) + rank,
                                   std::cos(0.01 * static_cast<double>(i))};
                    exact += x;
                    factors *= x;
                    const number there = everybody[static_cast<std::size_t>(rank) * n + i] - x;
                    good &= std::fabs(there.real()) <= 1e-3 && std::fabs(there.imag()) <= 1e-3;
                }
                const number off = sum[i] - exact;
                good &= std::fabs(off.real()) <= r.worst_case_error + 1e-12 &&
                        std::fabs(off.imag()) <= r.worst_case_error + 1e-12;
                good &= std::abs(product[i] - factors) <= 1e-12 * (1 + std::abs(factors));
            }
        });
        for (const int good : all) CHECK(good == 1);
    }
}

TEST_CASE("Complex numbers behind pointers, in calls with counts: these are lengths in numbers, given or not",
          "[elements][counts]")
{
    using number = std::complex<float>;
    for (const int p : {1, 2, 3}) {
        const auto all = run<int>(p, [p](threads_comm& comm, int& good) {
            const int me = comm.rank();
            std::vector<int> lengths, at;
            int total = 0;
            for (int r = 0; r < p; ++r) {
                at.push_back(total);
                lengths.push_back(r + 1);
                total += r + 1;
            }
            const auto size = static_cast<std::size_t>(total), own = static_cast<std::size_t>(me + 1);
            std::vector<number> in(size), part(own), moved(size), back(own);
            for (std::size_t i = 0; i < size; ++i) in[i] = {static_cast<float>(i), static_cast<float>(me)};
            good = 1;
            const auto sums = [&](float within) {
                for (std::size_t i = 0; i < own; ++i) {
                    const number sum(
                        static_cast<float>(p) *
                            static_cast<float>(at[static_cast<std::size_t>(me)] + static_cast<int>(i)),
                        static_cast<float>(p * (p - 1) / 2));
                    good &= std::abs(part[i] - sum) <= within;
                }
                part.assign(own, number{});
            };
            ccoll::reduce_scatterv<Algo::Ring>(in.data(), part.data(), lengths.data(), comm);
            sums(0);
            ccoll::reduce_scatterv<Codec::SZp, ErrorBound<1e-3>>(in.data(), part.data(), lengths.data(),
                                                                 comm);
            sums(1e-2f);
            ccoll::ireduce_scatterv<Codec::SZp, ErrorBound<1e-3>>(in.data(), part.data(), lengths.data(),
                                                                  comm)
                .wait();
            sums(1e-2f);

            const number* const mine = in.data() + at[static_cast<std::size_t>(me)];
            const auto equal = [&](const std::vector<number>& got) {
                for (std::size_t i = 0; i < got.size(); ++i) good &= got[i].real() == static_cast<float>(i);
            };
            ccoll::allgatherv(mine, me + 1, moved.data(), lengths.data(), at.data(), comm);
            equal(moved);
            moved.assign(size, number{});
            ccoll::gatherv(mine, me + 1, moved.data(), lengths.data(), at.data(), 0, comm);
            if (me == 0) equal(moved);
            ccoll::scatterv(in.data(), lengths.data(), at.data(), back.data(), me + 1, 0, comm);
            good &= std::equal(back.begin(), back.end(), mine,
                               [](number a, number b) { return a.real() == b.real(); });
        });
        for (const int good : all) CHECK(good == 1);
    }
}

TEST_CASE("Structs travel whole, and are reduced by operations of the user or by MinLoc and MaxLoc",
          "[elements]")
{
    struct nearest : ccoll::op_tag<false> {
        static particle apply(const particle& a, const particle& b) noexcept
        {
            return b.x < a.x || (b.x == a.x && b.id < a.id) ? b : a;
        }
    };
    for (const int p : {1, 3, 4}) {
        const auto all = run<int>(p, [p](threads_comm& comm, int& good) {
            const std::size_t n = 2000;
            const auto of = [](int rank) {
                std::vector<particle> v(n);
                for (std::size_t i = 0; i < n; ++i)
                    v[i] = {static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 5) % 11), 1, 2,
                            rank * 10000 + static_cast<int>(i)};
                return v;
            };
            const auto mine = of(comm.rank());
            std::vector<particle> first(n), everybody(n * static_cast<std::size_t>(p)),
                everybody_too(everybody.size());
            ccoll::allreduce<nearest>(mine, first, comm);
            ccoll::allgather<Codec::Lossless>(mine, everybody, comm);
            ccoll::allgather(mine, everybody_too, comm);
            std::vector<ccoll::located<float>> where(n), largest(n);
            for (std::size_t i = 0; i < n; ++i) where[i] = {mine[i].x, comm.rank()};
            ccoll::allreduce<Op::MaxLoc>(where, largest, comm);
            good = everybody == everybody_too;
            for (std::size_t i = 0; i < n; ++i) {
                particle best = of(0)[i];
                ccoll::located<float> most{best.x, 0};
                for (int rank = 1; rank < p; ++rank) {
                    const particle x = of(rank)[i];
                    best = nearest::apply(best, x);
                    if (x.x > most.value) most = {x.x, rank};
                    good &= everybody[static_cast<std::size_t>(rank) * n + i] == x;
                }
                good &= first[i] == best && largest[i] == most;
                if (i > 200) break;  // of(rank) is slow
            }
        });
        for (const int good : all) CHECK(good == 1);
    }
}

TEST_CASE("Integers wrap round, and their bits are combined", "[elements]")
{
    const auto all = run<int>(3, [](threads_comm& comm, int& good) {
        std::vector<std::int32_t> big(1000, std::numeric_limits<std::int32_t>::max()), sum(1000);
        std::vector<std::uint8_t> bits(1000, static_cast<std::uint8_t>(1u << comm.rank())), all_bits(1000);
        std::vector<std::uint16_t> wide(1000, 60000), product(1000);
        ccoll::allreduce<Algo::Ring, Codec::Lossless>(big, sum, comm);
        ccoll::allreduce<Op::BitOr>(bits, all_bits, comm);
        ccoll::allreduce<Op::Prod, Algo::RecursiveDoubling>(wide, product, comm);
        constexpr auto thrice = static_cast<std::int32_t>(3u * 0x7fffffffu);
        constexpr auto cubed = static_cast<std::uint16_t>(60000ull * 60000 * 60000);
        good = sum[999] == thrice && all_bits[500] == 7 && product[3] == cubed;
    });
    for (const int good : all) CHECK(good == 1);
}

}  // namespace views_cases
