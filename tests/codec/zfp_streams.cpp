// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, libzfp
// codec/zfp/{codes,read}.inl: kernels find the codes of blocks whose coefficients are as different as can be,
// and read any bits, as the portable text does.
#include "support/catch.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <ccoll/base/exact.hpp>
#include <ccoll/codec/zfp/kernels.hpp>

namespace zfp_streams_cases {

namespace zfp = ccoll::detail::zfp;

namespace {

/// Bits of a block that may be too many for all planes, and lengths about those of words, windows and
/// exponents.
template <class T>
std::vector<std::size_t> block_lengths()
{
    const std::size_t header = zfp::block<T>::header_bits, most = header + 32 * sizeof(T) + 4;
    std::vector<std::size_t> all;
    for (std::size_t bits = header; bits <= most; bits += bits < 150 ? 1 : 7) all.push_back(bits);
    all.push_back(most);
    return all;
}

/// Each coefficient begins in a plane of its own, so that a block has planes of any kind, and many of them.
template <class T>
std::vector<T> stepped(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    const int planes = std::numeric_limits<T>::digits;
    std::vector<T> x(n);
    for (std::size_t i = 0; i + 4 <= n; i += 4) {
        T c[4];
        for (T& v : c) {
            const auto size =
                static_cast<T>(std::ldexp(1.0 + static_cast<int>(random() % 8),
                                          -static_cast<int>(random() % static_cast<unsigned>(planes))));
            v = random() % 4 == 0 ? T(0) : random() % 2 == 0 ? size : -size;
        }
        // Low frequencies first, as in the transform.
        for (std::size_t k = 0; k < 4; ++k) {
            const T t = static_cast<T>(k) - T(1.5);
            x[i + k] = c[0] + c[1] * t + c[2] * (t * t - T(1.25)) + c[3] * t * (t * t - T(2));
        }
    }
    return x;
}

struct written {
    std::vector<std::byte> stream;
    std::size_t exceptions;
    bool operator==(const written&) const = default;
};

template <class T>
written encoded(ccoll::isa i, const std::vector<T>& x, const zfp::precision& wanted, T limit)
{
    std::vector<std::byte> stream(x.size() / zfp::block_values * 40 + 128);
    std::vector<std::uint16_t> places(x.size() + 1);
    zfp::exception_list list{places.data(), x.size()};
    const std::size_t bits = zfp::stream_encoders<T>[i](x, wanted, limit, stream.data(), 0, list);
    stream.resize((bits + 7) / 8);
    return {stream, list.count};
}

template <class T>
struct read {
    std::size_t end;
    std::vector<T> values;

    read(ccoll::isa i, const std::vector<std::byte>& stream, const zfp::precision& wanted, std::size_t n)
        : values(n)
    {
        const ccoll::detail::exact_environment environment;
        end = zfp::stream_decoders<T>[i](stream, wanted, values);
        if (end > 8 * stream.size()) end = zfp::nowhere;  // such values do not count
    }
    bool operator==(const read& o) const
    {
        return end == o.end && (end == zfp::nowhere ||
                                std::memcmp(values.data(), o.values.data(), values.size() * sizeof(T)) == 0);
    }
};

/// How many instruction sets read something else than the portable text.
template <class T>
std::size_t differences(const std::vector<std::byte>& stream, const zfp::precision& wanted, std::size_t n)
{
    const read<T> expected(ccoll::isa::portable, stream, wanted, n);
    std::size_t different = 0;
    for (const ccoll::isa i : ccoll::every_isa)
        if (ccoll::machine_has(i)) different += !(read<T>(i, stream, wanted, n) == expected);
    return different;
}

}  // namespace

TEMPLATE_TEST_CASE("Zfp writes and reads coefficients of any sizes with every instruction set",
                   "[codec][zfp]", float, double)
{
    using T = TestType;
    const ccoll::detail::exact_environment environment;
    const std::size_t n = 4 * 97;
    const auto x = stepped<T>(n, 5);
    const auto check = [&](const zfp::precision& wanted, T limit) {
        INFO(wanted.block_bits << " bits, 2^" << wanted.lowest_exponent);
        const written expected = encoded<T>(ccoll::isa::portable, x, wanted, limit);
        for (const ccoll::isa i : ccoll::every_isa)
            if (ccoll::machine_has(i)) CHECK(encoded<T>(i, x, wanted, limit) == expected);
        CHECK(differences<T>(expected.stream, wanted, n) == 0);
    };
    for (const std::size_t bits : block_lengths<T>()) check({bits, -1074}, T(0));
    for (int exponent = 4; exponent > -std::numeric_limits<T>::digits - 8; --exponent)
        check(zfp::precision::of_bound(exponent), static_cast<T>(std::ldexp(1.0, exponent)));
}

TEMPLATE_TEST_CASE("Zfp reads any bits as the same values with every instruction set", "[codec][zfp]", float,
                   double)
{
    using T = TestType;
    std::mt19937 random(7);
    const std::size_t n = 4 * 61 - 1;
    const auto lengths = block_lengths<T>();
    for (const unsigned one_of : {2u, 5u, 20u, 70u})  // few ones make searches long
        for (std::size_t k = 0; k < 4 * lengths.size(); ++k) {
            const std::size_t bits = lengths[k % lengths.size()];
            std::vector<std::byte> stream((n + 3) / 4 * bits / 8 + random() % 32);
            for (std::byte& b : stream)
                for (unsigned bit = 0; bit < 8; ++bit)
                    if (random() % one_of == 0) b |= std::byte{1} << bit;
            // Most blocks have values.
            for (std::size_t begin = 0; begin / 8 < stream.size(); begin += bits)
                if (random() % 8 != 0) stream[begin / 8] |= std::byte{1} << begin % 8;
            INFO(bits << " bits, one of " << one_of << " is 1");
            CHECK(differences<T>(stream, {bits, -1074}, n) == 0);
            CHECK(differences<T>(stream, zfp::precision::of_bound(static_cast<int>(random() % 300) - 200),
                                 n) == 0);
        }
}

}  // namespace zfp_streams_cases
