// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scales of blocks (FixedBits<b, Block<n>>): each block has a bound of its own, and the bits of a sum depend on
// the values alone.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec.hpp>

#include "errors.hpp"
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
        const double size = std::ldexp(1.0, static_cast<int>(i / 97 * 13 % 60) - 30);
        x[i] = T(static_cast<float>(std::sin(0.37 * static_cast<double>(i * (static_cast<std::size_t>(rank) + 1))) * size));
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
            if (const double v = std::fabs(static_cast<double>(x[i])); std::isfinite(v)) most = std::max(most, v);
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
    for (const auto& each : out) CHECK(std::memcmp(each.first.data(), out[0].first.data(), n * sizeof(T)) == 0);
    if (p > 1 && n > 0) {
        CHECK(out[0].second.error_bound == std::ldexp(largest, -B));
        CHECK(out[0].second.same_bits);
        CHECK_FALSE(out[0].second.exact);
    }
}

}  // namespace

TEST_CASE("Each block of a sum has a bound of its own", "[collectives]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{257}, std::size_t{20011}}) {
            holds<float, 64, 8>(p, n);
            holds<float, 256, 4, Algo::Ring>(p, n);
        }
}

}  // namespace block_scales_cases
