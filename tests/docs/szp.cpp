// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/szp.md: what it shows runs.
#include "support/catch.hpp"

// [doc:addends_includes]
#include <ccoll/codec.hpp>
#include <ccoll/exec.hpp>  // Exec::Threads

#include <vector>

using namespace ccoll::policies;
// [/doc:addends_includes]

namespace szp_cases {

TEST_CASE("the addends of docs/szp.md add", "[docs][homomorphic]")
{
    // [doc:addends]
    const std::vector<float> a(100000, 1.5f), b(100000, 2.25f);
    constexpr double eb = 1e-3;
    std::vector<std::byte> x(ccoll::max_addend_bytes<Codec::SZp, float>(a.size())), y(x), sum(x);
    x.resize(ccoll::encode_addend<Codec::SZp>(a, x, eb).bytes);
    // Decodes as with one thread.
    y.resize(ccoll::encode_addend<Codec::SZp>(b, y, eb, Exec::Threads<2>{}).bytes);
    // Whatever the order: the same values.
    sum.resize(ccoll::reduce_encoded<Codec::SZp, Op::Sum, float>(x, y, sum).bytes);

    std::vector<float> back(a.size());
    const ccoll::status read = ccoll::decode<Codec::SZp>(sum, back);  // within 2 eb of 3.75
    // [/doc:addends]
    REQUIRE(read == ccoll::status::ok);
    for (const float v : back) REQUIRE(v == Approx(3.75).margin(2 * eb));
}

}  // namespace szp_cases
