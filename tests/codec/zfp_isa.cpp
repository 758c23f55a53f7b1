// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, libzfp
// codec/zfp/{encode,decode}.inl and codec/bitzip/avx2_*.hpp: every instruction set gives the bytes of the
// portable text, reads the same values, and refuses the same bytes.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"

namespace zfp_isa_cases {

using namespace ccoll::policies;
using ccoll::isa;
using ccoll::status;
using bytes = std::vector<std::byte>;

namespace {

struct restored_isa {
    isa before = ccoll::isa_in_use();
    ~restored_isa() { ccoll::use_isa(before); }
};

template <class C, class T>
struct decoded {
    status code;
    std::vector<T> values;

    decoded(isa i, const bytes& frame, std::size_t n) : values(n)
    {
        ccoll::use_isa(i);
        code = ccoll::decode<C>(frame, values);
    }
    bool operator==(const decoded& o) const
    {
        if (code != o.code) return false;
        return code != status::ok || values.empty() ||
               std::memcmp(values.data(), o.values.data(), values.size() * sizeof(T)) == 0;
    }
};

/// How many frames or values differ from the portable ones, of x and of frames with damaged bytes.
template <class C, class T>
std::size_t differences(const std::vector<T>& x, double number, unsigned damaged)
{
    ccoll::use_isa(isa::portable);
    const bytes frame = round_trip::frame_of<C>(x, number);
    std::vector<bytes> frames{frame};
    std::mt19937 random(static_cast<unsigned>(frame.size()));
    for (unsigned k = 0; k < damaged; ++k) {
        bytes other = frame;
        for (int changes = 0; changes < 3; ++changes)
            other[48 + random() % (other.size() - 48)] ^= static_cast<std::byte>(1u << random() % 8);
        frames.push_back(other);
    }
    std::vector<decoded<C, T>> expected;
    for (const bytes& f : frames) expected.emplace_back(isa::portable, f, x.size());
    std::size_t different = 0;
    for (const isa i : ccoll::every_isa) {
        if (!ccoll::machine_has(i)) continue;
        ccoll::use_isa(i);
        different += round_trip::frame_of<C>(x, number) != frame;
        for (std::size_t f = 0; f < frames.size(); ++f)
            different += !(decoded<C, T>(i, frames[f], x.size()) == expected[f]);
    }
    return different;
}

/// Blocks of any exponent, with coefficients of all sizes, and some values that are not finite.
template <class T>
std::vector<T> wild(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<T> x(n);
    int exponent = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (i % 4 == 0) exponent = static_cast<int>(random() % 40) - 20;
        x[i] = static_cast<T>(std::ldexp(static_cast<double>(random()) - 0x1p31,
                                         exponent - 31 - static_cast<int>(random() % 30)));
        if (random() % 8 == 0) x[i] = 0;
        if (random() % 64 == 0) x[i] = std::numeric_limits<T>::infinity();
    }
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("Zfp is the same with every instruction set, for every field and bound",
                   "[codec][zfp][isa]", float, double)
{
    using T = TestType;
    const restored_isa guard;
    for (const std::size_t n : {1u, 3u, 4u, 62u, 64u, 65u, 1003u, 8195u})
        for (const auto& field : fields::all<T>(n))
            for (const double eb : {1e-1, 1e-3, 1e-6, 1e-12, 1e3}) {
                INFO(field.name << ", n = " << n << ", eb = " << eb);
                CHECK(differences<Codec::Zfp>(field.values, eb, n == 65 ? 20 : 0) == 0);
            }
}

TEMPLATE_TEST_CASE("Zfp is the same with every instruction set at every length of a block",
                   "[codec][zfp][isa]", float, double)
{
    using T = TestType;
    const restored_isa guard;
    const auto smooth = fields::smooth<T>(203);
    const auto rough = wild<T>(601, 3);
    for (int bits = 1; bits <= 32 * static_cast<int>(sizeof(T)); ++bits) {
        INFO(bits << " bits");
        CHECK(differences<Codec::ZfpAtRate>(smooth, bits / 4.0, 3) == 0);
        CHECK(differences<Codec::ZfpAtRate>(rough, bits / 4.0, 3) == 0);
    }
}

TEMPLATE_TEST_CASE("ByteZip, BitZip, BitWise and BitCut are the same with every instruction set",
                   "[codec][bitzip][isa]", float, double)
{
    using T = TestType;
    const restored_isa guard;
    for (const std::size_t n : {511u, 512u, 519u, 573u, 1020u, 8195u})
        for (const auto& field : fields::all<T>(n))
            // The last one: codes of float and double that are as long as can be.
            for (const double eb : {1e-1, 1e-3, 1e-6, 1e-14}) {
                INFO(field.name << ", n = " << n << ", eb = " << eb);
                const unsigned damaged = n == 519 || n == 573 ? 5 : 0;
                CHECK(differences<Codec::ByteZip>(field.values, eb, damaged) == 0);
                CHECK(differences<Codec::BitZip>(field.values, eb, damaged) == 0);
                CHECK(differences<Codec::BitWise>(field.values, eb, damaged) == 0);
                CHECK(differences<Codec::BitCut>(field.values, eb, damaged) == 0);
            }
}

}  // namespace zfp_isa_cases
