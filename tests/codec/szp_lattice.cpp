// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/quantiser.hpp: the largest power of two of which all values of a chunk are multiples.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/szp/coder.hpp>

namespace szp_lattice_cases {

namespace szp = ccoll::detail::szp;

TEST_CASE("values at once have the lowest and highest bits that they have one by one", "[codec][szp]")
{
    fields::generator random(7);
    for (int trial = 0; trial < 3000; ++trial) {
        std::vector<float> x = fields::bit_patterns<float>(szp::block_elements, static_cast<unsigned>(trial + 1));  // also denormals, Inf,
                                                                                                                    // NaN
        if (trial % 4 == 1)
            for (float& v : x) v = static_cast<float>(static_cast<int>(random.below(2001)) - 1000) * std::ldexp(1.0f, trial % 60 - 30);
        if (trial % 4 == 2) std::fill(x.begin(), x.end(), trial % 8 == 2 ? -0.0f : 0.0f);
        if (trial % 4 >= 2) x[random.below(x.size())] = std::ldexp(static_cast<float>(random.below(1 << 20)), trial % 60 - 50);
        szp::bit_range one_by_one, at_once;
        one_by_one.add(x.data(), x.size());
        szp::portable::add_bits<szp::block_elements>(x.data(), at_once);
        INFO("trial " << trial);
        CHECK(at_once.top == one_by_one.top);
        if (one_by_one.top > 0) CHECK(at_once.lowest == one_by_one.lowest);
    }
}

TEST_CASE("every instruction set finds a lattice wherever its finest value stands", "[codec][szp][isa]")
{
    const ccoll::isa set = GENERATE(from_range(std::begin(ccoll::every_isa), std::end(ccoll::every_isa)));
    if (!ccoll::machine_has(set)) return;
    const ccoll::isa before = ccoll::isa_in_use();
    ccoll::use_isa(set);
    std::vector<float> x(8192 + 13);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97) - 40;
    CHECK(szp::find_lattice(x.data(), x.size(), 0x1p-20f).step == 1);
    for (const std::size_t at : {0u, 1u, 31u, 32u, 255u, 256u, 4000u, 8191u, 8192u, 8204u}) {
        auto y = x;
        y[at] = 3.375f;
        INFO("at " << at);
        CHECK(szp::find_lattice(y.data(), y.size(), 0x1p-20f).step == 0.125f);
        CHECK(szp::find_lattice(y.data(), y.size(), 0.125f).step == 0);  // it must be larger
        y[at] = 1e30f;
        CHECK(szp::find_lattice(y.data(), y.size(), 0x1p-20f).step == 0);
        y[at] = std::numeric_limits<float>::quiet_NaN();
        CHECK(szp::find_lattice(y.data(), y.size(), 0x1p-20f).step == 0);
    }
    const std::vector<float> zeros(100);
    CHECK(szp::find_lattice(zeros.data(), zeros.size(), 0x1p-20f).step == 0);
    ccoll::use_isa(before);
}

}  // namespace szp_lattice_cases
