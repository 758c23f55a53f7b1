// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sample of a rank's values, from which calls that measure predict what a codec would do.
#include <ccoll/codec/szp.hpp>
#include <ccoll/call/buffers.hpp>
#include <ccoll/measure/sample.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <vector>

namespace {

using ccoll::detail::sampled_buffer;
using ccoll::policies::Codec::SZp;

std::vector<float> waves(std::size_t n)
{
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(0.01f * static_cast<float>(i));
    return x;
}

}  // namespace

TEST_CASE("A sample has whole groups from all parts of the vector, and short vectors are their own sample",
          "[engine]")
{
    const bool glance = GENERATE(false, true);
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{1000}, std::size_t{16384}, std::size_t{16385}, std::size_t{3000000}}) {
        std::vector<float> x(n), to(ccoll::detail::room_of_sample(n, glance));
        for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
        const std::size_t taken =
            ccoll::detail::take_sample<float>({x.data(), n, nullptr}, 3, to.data(), glance);
        CHECK(taken == to.size());
        CHECK(taken >= std::min<std::size_t>(n, glance ? 1024 : n / 66));
        std::size_t begun = 0;
        for (std::size_t i = 1; i < taken; ++i) begun += to[i] != to[i - 1] + 1;
        CHECK(begun <= taken / (glance ? 256 : 1024));
        CHECK(to.back() + 1 >= static_cast<float>(n) * (glance ? 0.75f : 0.9f));
    }
}

TEST_CASE("Numbers of two bytes are sampled as the floats that they stand for", "[engine]")
{
    const std::size_t n = 50000;
    std::vector<float> x = waves(n);
    std::vector<ccoll::half> narrow(n);
    for (std::size_t i = 0; i < n; ++i) {
        narrow[i] = ccoll::half(x[i]);
        x[i] = static_cast<float>(narrow[i]);
    }
    ccoll::workspace memory;
    const auto bits = [&](const sampled_buffer<float>& from) {
        return ccoll::detail::sampled<SZp, float, true>(from, 1e-2, false, 5, memory, false).bits;
    };
    const float expected = bits({x.data(), n, nullptr});
    CHECK(expected > 0);
    CHECK(bits({reinterpret_cast<const float*>(narrow.data()), n,
                &ccoll::detail::narrow_elements_of<ccoll::host_space, ccoll::half>}) == expected);
}

TEST_CASE("A glance finds about the same bits as a sample, and no seconds", "[engine]")
{
    const std::size_t n = 300000;
    const std::vector<float> x = waves(n);
    ccoll::workspace memory;
    const auto look = [&](bool glance) {
        return ccoll::detail::sampled<SZp, float, true>({x.data(), n, nullptr}, 1e-2, false, 5, memory,
                                                        glance);
    };
    const ccoll::figures sample = look(false), glance = look(true);
    // Each group begins with a jump. Kinds are a factor of two apart.
    CHECK(glance.bits > 0.8f * sample.bits);
    CHECK(glance.bits < 1.5f * sample.bits);
    CHECK(sample.encode_s > 0);
    CHECK(glance.encode_s == 0);
    CHECK(glance.decode_s == 0);
}
