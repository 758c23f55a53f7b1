// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Scales of blocks (FixedBits<b, Block<n>>) on the device: the scales, elements and sums of the host.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace block_scales_cases {

using namespace ccoll::policies;
using emulated::device_vector;
namespace device = ccoll::detail::device;

namespace {

/// All magnitudes that there are, and now and then a value that is rare.
template <class T>
std::vector<T> values(std::size_t n, unsigned seed, int octaves = 250)
{
    std::mt19937_64 random(seed);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto bits = random();
        float v =
            std::ldexp(static_cast<float>(bits % 100003) - 50000,
                       static_cast<int>(i / 300 * 41 % static_cast<std::size_t>(octaves)) - octaves / 2 - 16);
        if (bits % 97 == 0) {
            constexpr float rare[] = {std::numeric_limits<float>::quiet_NaN(),
                                      -std::numeric_limits<float>::infinity(),
                                      -0.0f,
                                      0.0f,
                                      std::numeric_limits<float>::denorm_min(),
                                      std::numeric_limits<float>::max()};
            v = rare[bits / 97 % 6];
        }
        x[i] = T(v);
    }
    return x;
}

struct shape {
    std::size_t n, block, first;
};
// Blocks of a warp and of a team, that end early, and a vector that begins or ends within one.
constexpr shape shapes[] = {
    {0, 32, 0},       {1, 32, 0},         {31, 32, 1},        {64, 32, 32},     {1000, 32, 31},
    {1003, 128, 500}, {5000, 2048, 2047}, {9000, 2048, 4096}, {9000, 4096, 17}, {140000, 65536, 65535}};

template <class T>
void passes_are_those_of_the_host(const shape& s, int octaves)
{
    INFO(s.n << " elements of " << sizeof(T) << " bytes, blocks of " << s.block << ", from " << s.first);
    const std::size_t whole = s.first + s.n, blocks = whole / s.block + (whole % s.block != 0);
    std::vector<T> x = values<T>(whole, 7, octaves), y(whole);
    std::vector<std::uint8_t> scales(blocks + 1, 77);
    const std::vector<std::uint8_t> before = scales;
    ccoll::detail::find_block_scales(x.data(), whole, s.block, scales.data());
    const device_vector<T> at(x), into(y);
    const device_vector<std::uint8_t> scales_at(before);
    const T* const from = at.address();
    REQUIRE(device::begin_find_scales(from, whole, s.block, scales_at.address(), nullptr) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(scales_at.values() == scales);

    const std::uint8_t largest =
        ccoll::detail::divide_blocks(x.data(), y.data(), whole, s.block, scales.data());
    REQUIRE(device::begin_scale_blocks(from, into.address(), whole, 0, s.block, scales_at.address(),
                                       device::to_units{}, nullptr) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(same_bits(into.values(), y));
    if (blocks > 0) {
        const device_vector<std::byte> room(512);
        device::u32 most = 0;
        REQUIRE(device::begin_largest_scale(scales_at.address(), blocks, &most, nullptr,
                                            [&](std::size_t, void*& to) {
                                                to = room.address();
                                                return cudaSuccess;
                                            }) == cudaSuccess);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(most == largest);
    }

    // A part of the vector, back to elements: within the ceiling, at it, and beyond it.
    for (const float times : {0.75f, 1.5f, 6.0f})
        for (T& each : y) each = T(std::isfinite(float(each)) ? times * float(each) : float(each));
    const device_vector<T> units(y);
    for (const double error : {0.0, 0.25}) {
        const ccoll::detail::block_ceiling ceiling{ccoll::detail::greatest_number<T>, error, 12};
        std::vector<T> part(y.begin() + static_cast<std::ptrdiff_t>(s.first), y.end());
        const device_vector<T> part_at(part);
        ccoll::detail::multiply_blocks(part.data(), part.data(), s.n, s.first, s.block, scales.data(),
                                       ceiling);
        REQUIRE(device::begin_scale_blocks(static_cast<const T*>(part_at.address()), part_at.address(), s.n,
                                           s.first, s.block, scales_at.address(), device::from_units{ceiling},
                                           nullptr) == cudaSuccess);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(same_bits(part_at.values(), part));
    }
}

template <class T>
void larger_scales_are_those_of_the_host()
{
    std::mt19937_64 random(3);
    constexpr std::size_t n = 1001;
    std::vector<std::uint8_t> a(n * sizeof(T)), b(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<std::uint8_t>(random());
        b[i] = static_cast<std::uint8_t>(random());
    }
    const device_vector<std::uint8_t> left(a), right(b);
    const auto elements = [](const device_vector<std::uint8_t>& v) {
        return reinterpret_cast<T*>(v.address());
    };
    const auto& op = ccoll::detail::memory_space<ccoll::cuda_space, T>::operations.larger_scales;
    REQUIRE(device::begin_combine(op, static_cast<const T*>(elements(left)),
                                  static_cast<const T*>(elements(right)), elements(right), n,
                                  nullptr) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    std::vector<std::uint8_t> expected(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) expected[i] = std::max(a[i], b[i]);
    CHECK(right.values() == expected);
}

template <class T, class B, class... P>
void calls_are_those_of_the_host(ccoll::threads_comm& comm, std::string& wrong, std::size_t n, int octaves)
{
    beside_host<T, device_vector> calls(wrong);
    const auto ranks = static_cast<std::size_t>(comm.size());
    const std::vector<T> x = values<T>(n * ranks, static_cast<unsigned>(comm.rank()) + 1, octaves);
    calls.compare("allreduce", x, x.size(), [&](auto&& in, auto&& out) {
        return ccoll::allreduce<Codec::SZp, B, P...>(in, out, comm);
    });
    calls.in_place("allreduce in place", x,
                   [&](auto&& both) { return ccoll::allreduce<Codec::SZp, B, P...>(both, comm); });
    calls.compare("reduce_scatter", x, n, [&](auto&& in, auto&& out) {
        return ccoll::reduce_scatter<Codec::SZp, B, P...>(in, out, comm);
    });
    calls.compare("reduce", x, x.size(), [&](auto&& in, auto&& out) {
        return ccoll::reduce<Codec::SZp, B, P...>(in, out, comm.size() - 1, comm);
    });
}

}  // namespace

TEMPLATE_TEST_CASE("Scales of blocks on the device are those of the host", "[cuda][block_scales]", float,
                   ccoll::bfloat16, ccoll::half)
{
    for (const shape& s : shapes)
        passes_are_those_of_the_host<TestType>(s, ccoll::exponent_bits_of<TestType> == 5 ? 40 : 250);
    larger_scales_are_those_of_the_host<TestType>();
}

TEST_CASE("Device buffers: sums with scales of blocks have the bits of host buffers", "[cuda][block_scales]")
{
    for (const int p : {1, 2, 3})
        for (const std::size_t n : {std::size_t{0}, std::size_t{37}, std::size_t{20011}}) {
            INFO(p << " ranks, parts of " << n);
            CHECK(on_ranks(p, [n](ccoll::threads_comm& comm, std::string& wrong) {
                      calls_are_those_of_the_host<float, FixedBits<8, Block<64>>>(comm, wrong, n, 250);
                      calls_are_those_of_the_host<float, FixedBits<4, Block<4096>>, Op::Average>(comm, wrong,
                                                                                                 n, 200);
                      calls_are_those_of_the_host<ccoll::bfloat16, FixedBits<6, Block<128>>, Op::Average>(
                          comm, wrong, n, 200);
                      calls_are_those_of_the_host<ccoll::half, FixedBits<5, Block<32>>>(comm, wrong, n, 30);
                  }) == "");
        }
}

TEST_CASE("Direct: messages of scales are on the device, too", "[cuda][block_scales][direct]")
{
    CHECK(on_ranks(3, [](ccoll::threads_comm& comm, std::string& wrong) {
              using B = FixedBits<8, Block<64>>;
              const std::vector<float> x = values<float>(30011, static_cast<unsigned>(comm.rank()) + 1);
              const device_vector<float> in(x);
              device_vector<float> out(x.size());
              std::vector<float> expected(x.size());
              ccoll::allreduce<Codec::SZp, B>(x, expected, comm);
              const ccoll::report r = ccoll::allreduce<Codec::SZp, B, Transport::Direct>(in, out, comm);
              if (!same_bits(out.values(), expected)) wrong += "other bits; ";
              if (!r.direct) wrong += "staged; ";
          }) == "");
}

}  // namespace block_scales_cases
