// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scales of blocks (FixedBits<b, Block<n>>): each block has a bound of its own, and the bits of a sum depend
// on the values alone.
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/fault.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>

#include "errors.hpp"
#include "support/isa.hpp"
#include "tapped.hpp"
#include "worlds.hpp"

namespace block_scales_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// Layers of different magnitudes, as gradients have them: from 1e-20 to 1e20.
template <class T>
std::vector<T> layers(std::size_t n, int rank)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        constexpr int octaves = ccoll::exponent_bits_of<T> == 5 ? 24 : 60;
        const double size = std::ldexp(1.0, static_cast<int>(i / 97 * 13 % octaves) - octaves / 2);
        x[i] = T(static_cast<float>(
            std::sin(0.37 * static_cast<double>(i * (static_cast<std::size_t>(rank) + 1))) * size));
    }
    return x;
}

/// The scale as the page defines it, from its words: the least power of two that no finite magnitude exceeds.
template <class T>
double scale_of(const std::vector<std::vector<T>>& ranks, std::size_t from, std::size_t to)
{
    double most = 0;
    for (const auto& x : ranks)
        for (std::size_t i = from; i < to; ++i)
            if (const double v = std::fabs(static_cast<double>(x[i])); std::isfinite(v))
                most = std::max(most, v);
    double scale = std::ldexp(1.0, -126);
    while (scale < most) scale *= 2;
    return scale;
}

template <class T, std::size_t N, int B, class... P>
void holds(int p, std::size_t n)
{
    INFO(p << " ranks, " << n << " elements");
    std::vector<std::vector<T>> in;
    for (int r = 0; r < p; ++r) in.push_back(layers<T>(n, r));
    struct result {
        std::vector<T> first;
        report second;
    };
    const auto out = run<result>(p, [&](threads_comm& comm, result& mine) {
        mine.first.resize(n);
        mine.second = ccoll::allreduce<Codec::SZp, FixedBits<B, Block<N>>, P...>(
            in[static_cast<std::size_t>(comm.rank())], mine.first, comm);
    });
    std::size_t wrong = 0;
    double largest = 0;
    for (std::size_t from = 0; from < n; from += N) {
        const std::size_t to = std::min(n, from + N);
        const double scale = scale_of(in, from, to), bound = std::ldexp(scale, -B) * p;
        largest = std::max(largest, scale);
        for (std::size_t i = from; i < to; ++i) {
            double exact = 0;
            for (const auto& x : in) exact += static_cast<double>(x[i]);
            const double rounding = std::fabs(exact) * (sizeof(T) == 4 ? 0x1p-23 : 0x1p-7);
            wrong += std::fabs(static_cast<double>(out[0].first[i]) - exact) > (p > 1 ? bound : 0) + rounding;
        }
    }
    CHECK(wrong == 0);
    for (const auto& each : out)
        CHECK((n == 0 || std::memcmp(each.first.data(), out[0].first.data(), n * sizeof(T)) == 0));
    if (p > 1 && n > 0) {
        CHECK(out[0].second.error_bound == std::ldexp(largest, -B));
        CHECK(out[0].second.same_bits);
        CHECK_FALSE(out[0].second.exact);
    }
}

/// A rank that has returned would be lost to the others.
void leave_together(std::atomic<int>& running)
{
    if (--running == 0) running.notify_all();
    for (int n = running; n > 0; n = running) running.wait(n);
}

}  // namespace

TEMPLATE_TEST_CASE("Every instruction set finds and uses the scales that the page defines", "[collectives]",
                   float, ccoll::bfloat16, ccoll::half)
{
    constexpr std::size_t n = 5003;
    std::vector<TestType> x = layers<TestType>(n, 1);
    x[7] = TestType(std::numeric_limits<float>::quiet_NaN());
    x[600] = TestType(-std::numeric_limits<float>::infinity());
    x[n - 1] = TestType(std::numeric_limits<float>::denorm_min());
    with_each_isa([&] {
        for (const std::size_t block : {std::size_t{32}, std::size_t{1024}}) {
            std::vector<std::uint8_t> scales((n + block - 1) / block);
            std::vector<TestType> units(n), back(n);
            ccoll::detail::find_block_scales(x.data(), n, block, scales.data());
            ccoll::detail::divide_blocks(x.data(), units.data(), n, block, scales.data());
            ccoll::detail::multiply_blocks(units.data() + 40, back.data() + 40, n - 40, 40, block,
                                           scales.data(), {ccoll::detail::greatest_number<TestType>, 0, 1});
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t from = i / block * block;
                const double scale = scale_of<TestType>({x}, from, std::min(n, from + block)),
                             value = static_cast<double>(x[i]),
                             expected = static_cast<double>(TestType(static_cast<float>(value / scale)));
                wrong += ccoll::detail::block_scale::value(scales[i / block]) != scale;
                wrong += std::isnan(value) ? !std::isnan(static_cast<float>(units[i]))
                                           : static_cast<double>(units[i]) != expected;
                // Those that lose bits in between are far below their scale.
                if (i >= 40 && std::fabs(value) > scale * 0x1p-10) wrong += back[i] != x[i];
            }
            CHECK(wrong == 0);
        }
    });
}

TEST_CASE("Each block of a sum has a bound of its own", "[collectives]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n :
             {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{257}, std::size_t{20011}}) {
            holds<float, 64, 8>(p, n);
            holds<float, 256, 4, Algo::Ring>(p, n);
        }
    holds<float, 32, 6>(3, 600001);  // long enough for an agreement
}

TEST_CASE("Blocks of two-byte elements, and averages of them, have bounds of their own", "[collectives]")
{
    for (const int p : {1, 2, 5}) {
        holds<ccoll::bfloat16, 128, 5>(p, 5003);
        holds<ccoll::half, 64, 6>(p, 5003);
    }
    none_wrong(run<findings>(4, [](threads_comm& comm, findings& mine) {
        const std::size_t n = 3001;
        std::vector<float> sum = layers<float>(n, comm.rank()), average = sum;
        ccoll::allreduce<Codec::SZp, FixedBits<8, Block<64>>>(sum, comm);
        ccoll::allreduce<Codec::SZp, FixedBits<8, Block<64>>, Op::Average>(average, comm);
        for (std::size_t i = 0; i < n; ++i)
            mine.expect(average[i] == sum[i] / 4, "an average is a quarter of the sum");
    }));
}

TEST_CASE("Small values beside large ones of type half have the bound of their block", "[collectives]")
{
    // In units of 2^15 they would be denormals of half, which are 2^-9 apart.
    constexpr int bits = 24;
    constexpr std::size_t n = 4096, block = 64;
    constexpr double bound = 2 * 0x1p-24 * 0x1p15;
    none_wrong(run<findings>(2, [=](threads_comm& comm, findings& mine) {
        std::vector<std::vector<ccoll::half>> in(2, std::vector<ccoll::half>(n));
        for (std::size_t r = 0; r < 2; ++r)
            for (std::size_t i = 0; i < n; ++i)
                in[r][i] = ccoll::half(
                    i % block == 0 ? (r == 0 ? 32768.0f : -20000.0f)
                                   : 0.1f + 0.4f * std::fabs(std::sin(static_cast<float>(i * (r + 3)))));
        std::vector<ccoll::half> sum = in[static_cast<std::size_t>(comm.rank())];
        ccoll::allreduce<Codec::SZp, FixedBits<bits, Block<block>>>(sum, comm);
        double worst = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double exact = static_cast<double>(in[0][i]) + static_cast<double>(in[1][i]);
            const double off = std::fabs(static_cast<double>(sum[i]) - exact);
            worst = std::max(worst, off - 0x1p-11 * std::fabs(exact));  // one rounding
        }
        mine.expect(worst <= bound, "off by " + std::to_string(worst) + " beside " + std::to_string(bound));
    }));
}

TEST_CASE("With scales of blocks, sums have the same bits for every algorithm and order of ranks",
          "[collectives]")
{
    constexpr std::size_t n = 40009;
    const auto sum = [](int p, int first, auto call) {
        return run<std::vector<float>>(p, [=](threads_comm& comm, std::vector<float>& mine) {
            mine = layers<float>(n, (comm.rank() + first) % p);
            call(mine, comm);
        })[0];
    };
    using B = FixedBits<6, Block<128>>;
    const auto ring = [](auto& x, auto& comm) { ccoll::allreduce<Codec::SZp, Algo::Ring, B>(x, comm); };
    for (const int p : {3, 4}) {
        const std::vector<float> expected = sum(p, 0, ring);
        CHECK(sum(p, 1, ring) == expected);
        CHECK(sum(p, 0, [](auto& x, auto& comm) {
                  ccoll::allreduce<Codec::SZp, Algo::RecursiveDoubling, B>(x, comm);
              }) == expected);
        CHECK(sum(p, 0, [](auto& x, auto& comm) {
                  ccoll::allreduce<Codec::SZp, Algo::Rabenseifner, B>(x, comm);
              }) == expected);
        CHECK(sum(p, 0, [](auto& x, auto& comm) { ccoll::allreduce<Codec::SZp, B>(x, comm); }) == expected);
    }
}

TEST_CASE("Values that are not finite leave the scales of blocks as they are", "[collectives]")
{
    constexpr std::size_t n = 1000;
    const auto sum = [](bool spoilt) {
        return run<std::vector<float>>(3, [=](threads_comm& comm, std::vector<float>& mine) {
            mine = layers<float>(n, comm.rank());
            if (spoilt && comm.rank() == 1) {
                mine[5] = std::numeric_limits<float>::quiet_NaN();
                mine[70] = std::numeric_limits<float>::infinity();
                for (std::size_t i = 128; i < 192; ++i) mine[i] = -std::numeric_limits<float>::infinity();
            }
            ccoll::allreduce<Codec::SZp, FixedBits<8, Block<64>>>(mine, comm);
        })[0];
    };
    const std::vector<float> clean = sum(false), got = sum(true);
    for (std::size_t i = 0; i < n; ++i) {
        INFO(i);
        if (i == 5) CHECK(std::isnan(got[i]));
        else if (i == 70) CHECK(got[i] == std::numeric_limits<float>::infinity());
        else if (i >= 128 && i < 192) CHECK(got[i] == -std::numeric_limits<float>::infinity());
        // 5 and 70 may have been the largest of their blocks.
        else
            CHECK(std::fabs(got[i] - clean[i]) <=
                  6 * std::ldexp(
                          scale_of<float>({layers<float>(n, 0), layers<float>(n, 1), layers<float>(n, 2)},
                                          i / 64 * 64, std::min(n, i / 64 * 64 + 64)),
                          -8));
    }
}

TEST_CASE("Scales of blocks at the ends of the range of float", "[collectives]")
{
    constexpr float largest = std::numeric_limits<float>::max(),
                    least = std::numeric_limits<float>::denorm_min();
    const auto out = run<std::vector<float>>(2, [=](threads_comm& comm, std::vector<float>& mine) {
        mine.assign(128, comm.rank() == 0 ? largest / 2 : -largest / 4);
        mine[3] = comm.rank() == 0 ? largest : 0.0f;
        for (std::size_t i = 32; i < 64; ++i) mine[i] = static_cast<float>(i) * least;
        for (std::size_t i = 64; i < 96; ++i) mine[i] = 0;
        for (std::size_t i = 96; i < 128; ++i)
            mine[i] = comm.rank() == 0 ? 0x1p127f : 0.0f;  // a power of two
        ccoll::allreduce<Codec::SZp, FixedBits<8, Block<32>>>(mine, comm);
    })[0];
    for (std::size_t i = 0; i < 32; ++i)
        if (i != 3) CHECK(std::fabs(static_cast<double>(out[i] - largest / 4)) <= 2 * std::ldexp(1.0, 120));
    CHECK(std::isfinite(out[3]));
    CHECK(std::fabs(static_cast<double>(out[3]) - static_cast<double>(largest)) <= 2 * std::ldexp(1.0, 120));
    for (std::size_t i = 32; i < 64; ++i) CHECK(std::fabs(out[i]) <= 2 * std::ldexp(1.0, -134));
    for (std::size_t i = 64; i < 96; ++i) CHECK(std::bit_cast<std::uint32_t>(out[i]) == 0);
    for (std::size_t i = 96; i < 128; ++i) CHECK(std::fabs(out[i] - 0x1p127f) <= 2 * std::ldexp(1.0, 119));
}

TEST_CASE("Calls with scales of blocks, begun one after another, end in any order", "[collectives]")
{
    none_wrong(run<findings>(4, [](threads_comm& comm, findings& mine) {
        std::vector<std::vector<float>> x, alone;
        for (int k = 0; k < 5; ++k)
            x.push_back(layers<float>(static_cast<std::size_t>(1000 * k + 7), comm.rank() + k));
        alone = x;
        using B = FixedBits<7, Block<32>>;
        for (auto& each : alone) ccoll::allreduce<Codec::SZp, B>(each, comm);
        std::vector<ccoll::request> begun;
        for (auto& each : x) begun.push_back(ccoll::iallreduce<Codec::SZp, B>(each, comm));
        for (int k = 0; k < 5; ++k) begun[static_cast<std::size_t>((k * 2 + comm.rank()) % 5)].wait();
        mine.expect(x == alone, "begun or not, a sum has the same bits");
    }));
}

TEST_CASE("A persistent call agrees on scales of blocks at each start, also over guarded links",
          "[collectives]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        using B = FixedBits<8, Block<64>>;
        const std::size_t n = 5000;
        std::vector<float> x(n), y(n);
        auto prepared = ccoll::allreduce_init<Codec::SZp, B>(x, y, comm);
        for (int k = 0; k < 3; ++k) {
            const std::vector<float> now = layers<float>(n - static_cast<std::size_t>(k), comm.rank() + k);
            std::fill(x.begin(), x.end(), 0.0f);
            std::copy(now.begin(), now.end(), x.begin());
            prepared.start();
            prepared.wait();
            std::vector<float> blocking = x, guarded = x;
            ccoll::allreduce<Codec::SZp, B>(blocking, comm);
            ccoll::allreduce<Codec::SZp, B, Fault::Crc32c>(guarded, comm);
            mine.expect(y == blocking, "a start has the bits of a blocking call");
            mine.expect(guarded == blocking, "and so has a guarded one");
        }
    }));
}

TEST_CASE("Arguments that differ are an error on all ranks before any scale is used", "[collectives]")
{
    using B = FixedBits<8, Block<64>>;
    const auto fails = [](const char* what, auto call) {
        INFO(what);
        none_wrong(run<findings>(3, [=](threads_comm& comm, findings& mine) {
            std::vector<float> x = layers<float>(3000, comm.rank()), y(3000), before = x;
            std::error_code code;
            call(x, y, comm, code);
            mine.expect(bool(code), "the call fails");
            mine.expect(x == before, "the input is what it was");
            x = before;
            ccoll::allreduce<Codec::SZp, B>(x, comm);  // the communicator can be used
        }));
    };
    fails("a shorter buffer", [](auto& x, auto& y, auto& comm, std::error_code& code) {
        if (comm.rank() == 1) y.resize(2999);
        ccoll::allreduce<Codec::SZp, B>(x, y, comm, code);
    });
    fails("another count", [](auto& x, auto& y, auto& comm, std::error_code& code) {
        const std::size_t n = comm.rank() == 1 ? 1500u : 3000u;
        ccoll::allreduce<Codec::SZp, B>(std::span<const float>(x).first(n), std::span(y).first(n), comm,
                                        code);
    });
    fails("other bits", [](auto& x, auto& y, auto& comm, std::error_code& code) {
        if (comm.rank() == 1) ccoll::allreduce<Codec::SZp, FixedBits<4, Block<64>>>(x, y, comm, code);
        else ccoll::allreduce<Codec::SZp, B>(x, y, comm, code);
    });
    fails("other blocks", [](auto& x, auto& y, auto& comm, std::error_code& code) {
        if (comm.rank() == 1) ccoll::allreduce<Codec::SZp, FixedBits<8, Block<32>>>(x, y, comm, code);
        else ccoll::allreduce<Codec::SZp, B>(x, y, comm, code);
    });
    fails("no blocks", [](auto& x, auto& y, auto& comm, std::error_code& code) {
        if (comm.rank() == 1) ccoll::allreduce<Codec::SZp, FixedBits<8>>(x, y, comm, code);
        else ccoll::allreduce<Codec::SZp, B>(x, y, comm, code);
    });
    fails("another algorithm", [](auto& x, auto& y, auto& comm, std::error_code& code) {
        if (comm.rank() == 1) ccoll::allreduce<Codec::SZp, Algo::RecursiveDoubling, B>(x, y, comm, code);
        else ccoll::allreduce<Codec::SZp, Algo::Ring, B>(x, y, comm, code);
    });
}

TEST_CASE("Other reductions with scales of blocks have the bits of an allreduce, wherever parts begin",
          "[collectives]")
{
    using B = FixedBits<6, Block<64>>;
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t own : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{1009}}) {
            INFO(p << " ranks, parts of " << own);
            none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                const auto all = [&](auto element) {
                    using T = decltype(element);
                    const std::size_t n = own * static_cast<std::size_t>(p),
                                      begin = own * static_cast<std::size_t>(comm.rank());
                    const std::vector<T> x = layers<T>(n, comm.rank());
                    std::vector<T> expected(n), average(n);
                    const report whole = ccoll::allreduce<Codec::SZp, B>(x, expected, comm);
                    ccoll::allreduce<Codec::SZp, B, Op::Average>(x, average, comm);
                    const auto part_of = [&](const std::vector<T>& v) {
                        return std::vector<T>(v.begin() + static_cast<std::ptrdiff_t>(begin),
                                              v.begin() + static_cast<std::ptrdiff_t>(begin + own));
                    };
                    std::vector<T> part(own), y = x, result(n);
                    const report some = ccoll::reduce_scatter<Codec::SZp, B>(x, part, comm);
                    mine.expect(part == part_of(expected), "reduce_scatter");
                    mine.expect(some.error_bound == whole.error_bound, "the bound of reduce_scatter");
                    mine.expect(some.exact == whole.exact && some.fallback_blocks == 0, "no fallback");
                    ccoll::reduce_scatter<Codec::SZp, Algo::Ring, B>(y, comm);
                    y.resize(own);
                    mine.expect(y == part_of(expected), "reduce_scatter in place");
                    const report averaged =
                        ccoll::reduce_scatter<Codec::SZp, Algo::Rabenseifner, B, Op::Average>(x, part, comm);
                    mine.expect(part == part_of(average), "reduce_scatter, averages");
                    mine.expect(averaged.fallback_blocks == 0 && (p == 1 || !averaged.exact),
                                "averages are in encoded form");

                    for (int root = 0; root < p; ++root) {
                        const auto is_root = comm.rank() == root;
                        result.assign(n, T(0.0f));
                        ccoll::reduce<Codec::SZp, B>(x, result, root, comm);
                        mine.expect(result == (is_root ? expected : std::vector<T>(n, T(0.0f))), "reduce");
                        ccoll::reduce<Codec::SZp, Algo::Linear, B, Op::Average>(x, result, root, comm);
                        mine.expect(!is_root || result == average, "reduce, averages");
                    }
                    y = x;
                    ccoll::reduce<Codec::SZp, Algo::Rabenseifner, B>(y, 0, comm);
                    mine.expect(y == (comm.rank() == 0 ? expected : x), "reduce in place");
                };
                all(float{});
                all(ccoll::bfloat16{});
            }));
        }
    // Large ones, of which a survey would say that their sums need wide integers.
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        const std::vector<ccoll::bfloat16> x(128, ccoll::bfloat16(0x1p120f));
        std::vector<ccoll::bfloat16> part(64);
        const report facts = ccoll::reduce_scatter<Codec::SZp, B, Op::Average>(x, part, comm);
        mine.expect(!facts.exact && facts.error_bound == 0x1p114, "averages are in encoded form");
        for (const ccoll::bfloat16 each : part)
            mine.expect(std::fabs(float{each} - 0x1p120f) <= 0x1p114f + 0x1p112f, "averages");
    }));
}

TEST_CASE("Blocks go through parts of different lengths, also where these lie apart", "[collectives]")
{
    using B = FixedBits<7, Block<32>>;
    none_wrong(run<findings>(4, [](threads_comm& comm, findings& mine) {
        const auto all = [&](auto element) {
            using T = decltype(element);
            const std::vector<int> counts{70, 0, 133, 31}, displacements{200, 3, 5, 160};
            const std::vector<T> side_by_side = layers<T>(234, comm.rank());
            std::vector<T> apart(400, T(3e38f)), expected(234), average(234);
            std::size_t begin = 0, at = 0;
            for (std::size_t r = 0; r < 4; ++r) {
                if (static_cast<int>(r) == comm.rank()) begin = at;
                for (int i = 0; i < counts[r]; ++i)
                    apart[static_cast<std::size_t>(displacements[r] + i)] = side_by_side[at++];
            }
            const std::size_t own = static_cast<std::size_t>(counts[static_cast<std::size_t>(comm.rank())]);
            ccoll::allreduce<Codec::SZp, B>(side_by_side, expected, comm);
            ccoll::allreduce<Codec::SZp, B, Op::Average>(side_by_side, average, comm);
            const auto is_part_of = [&](const std::vector<T>& whole, const std::vector<T>& part) {
                return std::equal(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(own),
                                  whole.begin() + static_cast<std::ptrdiff_t>(begin));
            };
            std::vector<T> part(own);
            ccoll::reduce_scatterv<Codec::SZp, B>(side_by_side, part, counts, comm);
            mine.expect(is_part_of(expected, part), "side by side");
            const std::vector<T> before = apart;
            ccoll::reduce_scatterv<Codec::SZp, B>(apart, part, ccoll::parts(counts, displacements), comm);
            mine.expect(is_part_of(expected, part), "apart");
            mine.expect(apart == before, "input is what it was");
            ccoll::reduce_scatterv<Codec::SZp, B, Op::Average>(apart, part,
                                                               ccoll::parts(counts, displacements), comm);
            mine.expect(is_part_of(average, part), "averages of parts that are apart");
            ccoll::reduce_scatterv<Codec::SZp, B>(apart, ccoll::parts(counts, displacements), comm);
            mine.expect(is_part_of(expected, apart), "in place");
        };
        all(float{});
        all(ccoll::bfloat16{});
    }));
}

TEST_CASE("Trouble in the exchange of scales is told on all ranks, also on those that have all scales",
          "[collectives]")
{
    using B = FixedBits<8, Block<64>>;
    // The last message of the exchange is spoilt on one rank. Others wait for its sums.
    constexpr int victim = 1;
    const auto running = std::make_shared<std::atomic<int>>(3);
    const auto codes = run<std::error_code>(
        3,
        [running](threads_comm& inner, std::error_code& code) {
            int seen = 0;
            tap watcher;
            watcher.received = [&](passing& m) {
                if (m.rank != victim || m.control() || ++seen < 4) return;
                m.result = status::transport_failed;  // a ring of 3 ranks has four steps
                m.bytes = 0;
            };
            std::vector<float> x = layers<float>(3000, inner.rank());
            const tapped_comm comm(inner, watcher);
            ccoll::allreduce<Codec::SZp, Algo::Ring, B, Timeout<60>>(x, comm, code);
            leave_together(*running);
        },
        30);
    for (const std::error_code& each : codes) CHECK(each == make_error_code(status::transport_failed));
}

TEST_CASE("A call that is given up in the exchange of scales ends on ranks that are past it", "[collectives]")
{
    // Rank 1 never gets the scales of rank 0, which has those of rank 1.
    const auto running = std::make_shared<std::atomic<int>>(2);
    const auto codes = run<std::error_code>(
        2,
        [running](threads_comm& inner, std::error_code& code) {
            tap watcher;
            watcher.held = [](const passing& m) { return m.rank == 1 && !m.control(); };
            const tapped_comm comm(inner, watcher);
            std::vector<float> x = layers<float>(3000, inner.rank());
            using plan = ccoll::Plan<Codec::SZp, Algo::RecursiveDoubling, FixedBits<8, Block<64>>>;
            if (inner.rank() == 0) ccoll::allreduce<plan, Timeout<60>>(x, comm, code);
            else ccoll::allreduce<plan, Timeout<0.2>>(x, comm, code);
            leave_together(*running);
        },
        30);
    for (const std::error_code& each : codes) CHECK(each == make_error_code(status::timed_out));
}

}  // namespace block_scales_cases
