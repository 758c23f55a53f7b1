// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that looks at floating-point exception flags finds its own, whatever codecs have computed in
// between.
#include <cfenv>
#include <limits>
#include <vector>

#include <ccoll/codec.hpp>

#include "support/catch.hpp"

using namespace ccoll::policies;

namespace {

/// Values of which codecs raise each flag: some are rounded, others overflow, or become denormals, or are no
/// numbers.
template <class T>
std::vector<T> troublesome(std::size_t n)
{
    using limits = std::numeric_limits<T>;
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = static_cast<T>(0.1) * static_cast<T>(i % 1000);
        if (i % 5000 == 3) x[i] = limits::min() / static_cast<T>(3 + i % 7);
        if (i % 5000 == 4) x[i] = limits::max();
        if (i % 5000 == 5) x[i] = limits::signaling_NaN();
    }
    return x;
}

template <class Codec, class T>
void check(const char* name, double eb)
{
    const std::vector<T> x = troublesome<T>(20000);
    std::vector<T> y(x.size());
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    for (const int raised : {0, FE_DIVBYZERO, FE_INEXACT | FE_UNDERFLOW}) {
        INFO(name << " of " << sizeof(T) << " bytes, flags " << raised);
        std::feclearexcept(FE_ALL_EXCEPT);
        std::feraiseexcept(raised);
        const int before = std::fetestexcept(FE_ALL_EXCEPT);
        const std::size_t bytes = ccoll::encode<Codec>(x, frame, eb).bytes;
        const int encoded = std::fetestexcept(FE_ALL_EXCEPT);
        const ccoll::status s = ccoll::decode<Codec>(std::span<const std::byte>(frame.data(), bytes), y);
        const int decoded = std::fetestexcept(FE_ALL_EXCEPT);
        CHECK(encoded == before);
        CHECK(decoded == before);
        CHECK(s == ccoll::status::ok);
    }
    std::feclearexcept(FE_ALL_EXCEPT);
}

}  // namespace

TEMPLATE_TEST_CASE("codecs leave floating-point exception flags as they are", "[codec]", float, double)
{
    check<Codec::SZx, TestType>("SZx", 1e-3);
    check<Codec::SZp, TestType>("SZp", 1e-3);
    check<Codec::SZe, TestType>("SZe", 1e-3);
    check<Codec::Zfp, TestType>("Zfp", 1e-3);
    check<Codec::BitZip, TestType>("BitZip", 1e-3);
    check<Codec::ByteZip, TestType>("ByteZip", 1e-3);
}
