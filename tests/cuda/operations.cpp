// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Operations and surveys on the device: the bits of the host.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace operations_cases {

using namespace ccoll::policies;
using emulated::device_vector;
namespace device = ccoll::detail::device;

namespace mine {

std::atomic<long> on_host{0};

/// A function of the device as well.
struct MaxAbs : ccoll::op_tag<false> {
    static constexpr const char* name = "mine::MaxAbs";
    static constexpr auto growth = ccoll::error_growth::selects;
    static constexpr bool on_device = true;
    template <class T>
    static T apply(T a, T b) noexcept
    {
        return std::fmax(std::fabs(a), std::fabs(b));
    }
};
/// Of the host alone.
struct First : ccoll::op_tag<false> {
    static constexpr const char* name = "mine::First";
    static constexpr auto growth = ccoll::error_growth::selects;
    template <class T>
    static T apply(T a, T) noexcept
    {
        ++on_host;
        return a;
    }
};

}  // namespace mine

namespace {

template <class T>
std::vector<T> values(std::size_t n, unsigned seed)
{
    std::mt19937_64 random(seed);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto bits = random();
        if constexpr (std::is_integral_v<T>) {
            x[i] = static_cast<T>(bits >> (bits % 7 == 0 ? 40 : 0));
        } else if (bits % 11 == 0) {
            constexpr T rare[] = {
                std::numeric_limits<T>::quiet_NaN(),  std::numeric_limits<T>::infinity(), -T(0), T(0),
                std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max()};
            x[i] = rare[bits / 11 % 6];
        } else {
            x[i] = static_cast<T>(std::ldexp(static_cast<double>(bits % 100003) - 50000,
                                             static_cast<int>(bits / 200000 % 40) - 20));
        }
    }
    return x;
}

template <class Op, class T>
void same_as_host()
{
    constexpr std::size_t n = 1000;
    const std::vector<T> a = values<T>(n, 1), b = values<T>(n, 2);
    const device_vector<T> left(a), right(b);
    for (const bool swapped : {false, true})
        for (const bool some_missing : {false, true}) {
            if (some_missing && !ccoll::floating_element<T>) continue;
            ccoll::reduction<T> op = ccoll::reduction_of<Op, T>;
            if constexpr (ccoll::floating_element<T>)
                if (some_missing) op.missing = {ccoll::detail::fields_of<T>::of(a[4]), true};
            op.in_space = ccoll::detail::memory_space<ccoll::cuda_space, T>::template operation_of<Op>;
            REQUIRE(op.in_space != nullptr);
            op.theirs_on_the_left = swapped;
            std::vector<T> expected(n);
            op.apply(expected.data(), a.data(), b.data(), n);
            device_vector<T> into(a);
            REQUIRE(device::begin_combine(op, static_cast<const T*>(into.address()),
                                          static_cast<const T*>(right.address()), into.address(), n,
                                          nullptr) == cudaSuccess);
            REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
            INFO(Op::name << ", elements of " << sizeof(T) << " bytes");
            CHECK(same_bits(into.values(), expected));
        }
}
template <class T>
void arithmetic()
{
    same_as_host<Op::Sum, T>();
    same_as_host<Op::Min, T>();
    same_as_host<Op::Max, T>();
    same_as_host<Op::Prod, T>();
}
template <class T>
void bitwise()
{
    arithmetic<T>();
    same_as_host<Op::BitAnd, T>();
    same_as_host<Op::BitOr, T>();
    same_as_host<Op::BitXor, T>();
    same_as_host<Op::And, T>();
    same_as_host<Op::Or, T>();
    same_as_host<Op::Xor, T>();
}

template <class T>
ccoll::detail::value_survey seen_on_device(const std::vector<T>& x, ccoll::detail::value_survey found)
{
    const device_vector<T> at(x);
    device_vector<std::byte> room(512);
    const std::unique_ptr<device::seen_values<T>> seen = std::make_unique<device::seen_values<T>>();
    REQUIRE(device::begin_look(static_cast<const T*>(at.address()), x.size(), found.missing, seen.get(),
                               nullptr, [&](std::size_t, void*& to) {
                                   to = room.address();
                                   return cudaSuccess;
                               }) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    device::add_to(found, *seen);
    return found;
}
template <class T>
void same_survey(const std::vector<T>& x, const char* what, const ccoll::missing_value& missing = {})
{
    for (const bool range : {false, true})
        for (const bool magnitude : {false, true})
            for (const bool counts : {false, true}) {
                ccoll::detail::value_survey wanted;
                wanted.range = range;
                wanted.magnitude = magnitude;
                wanted.counts_non_finite = counts;
                wanted.missing = missing;
                ccoll::detail::value_survey expected = wanted;
                ccoll::detail::look_at(x.data(), x.size(), expected);
                const ccoll::detail::value_survey found = seen_on_device(x, wanted);
                INFO(what << " f" << 8 * sizeof(T) << ", range " << range << ", magnitude " << magnitude
                          << ", counts " << counts);
                CHECK(found.lowest == expected.lowest);
                CHECK(found.highest == expected.highest);
                CHECK(found.largest == expected.largest);
            }
}
template <class T>
void surveys()
{
    same_survey<T>(values<T>(3000, 3), "all kinds");
    same_survey<T>({T(1)}, "one value");
    same_survey<T>(std::vector<T>(100, std::numeric_limits<T>::quiet_NaN()), "NaN alone");
    same_survey<T>({T(-3), T(2), T(1e20), T(-1e20), T(9.96921e36)}, "fill values");
    same_survey<T>({T(-3), T(2), T(1e20), T(-1e20), T(1e20)}, "two fill values");
    same_survey<T>(std::vector<T>(10, T(1e20)), "fill values alone");
    same_survey<T>({T(1), std::numeric_limits<T>::infinity(), T(1.2345e18)}, "large values that are none");
    const ccoll::missing_value missing{ccoll::detail::fields_of<T>::of(T(-9999)), true};
    same_survey<T>({T(-3), T(-9999), T(2), T(-9998), T(-9999)}, "a missing value", missing);
    same_survey<T>({T(-9999), T(-9999)}, "missing values alone", missing);
    same_survey<T>({T(-3), std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()},
                   "a NaN is missing",
                   {ccoll::detail::fields_of<T>::of(std::numeric_limits<T>::quiet_NaN()), true});
    std::vector<T> nearly;
    for (int k = 13; k < 38; ++k)
        for (const double digit : {1.0, 2.0, 3.0, 9.0, 9.4999, 9.5, 9.5001, 5.5})
            for (const double factor :
                 {1 - 0x1p-24, 1 - 0x1p-25, 1.0, 1 + 0x1p-25, 1 + 0x1p-24, 1 + 0x1p-23}) {
                const double x = digit * std::pow(10.0, k) * factor;
                if (x < static_cast<double>(std::numeric_limits<T>::max()))
                    nearly.push_back(static_cast<T>(x));
            }
    for (const T x : nearly) {
        ccoll::detail::value_survey wanted, expected;
        wanted.range = expected.range = true;
        ccoll::detail::look_at(&x, 1, expected);
        const ccoll::detail::value_survey found = seen_on_device<T>({x}, wanted);
        if (found.lowest != expected.lowest) {
            INFO("value " << static_cast<double>(x));
            CHECK(found.lowest == expected.lowest);
        }
    }
}

}  // namespace

TEST_CASE("Operations on the device compute the bits of the host", "[cuda][operations]")
{
    arithmetic<float>();
    arithmetic<double>();
    same_as_host<Op::Average, float>();
    same_as_host<mine::MaxAbs, float>();
    bitwise<std::int8_t>();
    bitwise<std::uint16_t>();
    bitwise<std::int32_t>();
    bitwise<std::uint64_t>();
}

TEST_CASE("Surveys on the device find what the host finds", "[cuda][operations]")
{
    surveys<float>();
    surveys<double>();
}

TEST_CASE("Division on the device is that of the host", "[cuda][operations]")
{
    for (const int ranks : {3, 7, 1000}) {
        std::vector<float> x = values<float>(1000, 5);
        device_vector<float> at(x);
        ccoll::reduction<float> op = ccoll::reduction_of<Op::Average, float>;
        if (ranks == 7) op.missing = {ccoll::detail::fields_of<float>::of(x[4]), true};
        op.divide(x.data(), ranks, x.size());
        REQUIRE(device::begin_divide(at.address(), ranks, x.size(), op.missing, nullptr) == cudaSuccess);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(same_bits(at.values(), x));
    }
}

TEMPLATE_TEST_CASE("Division of shares on the device is that of the host", "[cuda][operations]", float,
                   double)
{
    constexpr TestType largest = std::numeric_limits<TestType>::max(),
                       least = std::numeric_limits<TestType>::denorm_min();
    for (const int ranks : {2, 3, 4, 7, 1000}) {
        std::vector<TestType> x = values<TestType>(1000, 5);
        for (const int times : {1, 2, 3, 4, 8, 1024}) {
            const auto part = static_cast<TestType>(times);
            x.insert(x.end(), {largest / part, -largest / part, least * part, -least * part});
            x.push_back(std::nextafter(largest / part, largest));
        }
        device_vector<TestType> at(x);
        ccoll::missing_value missing;
        if (ranks == 7) missing = {ccoll::detail::fields_of<TestType>::of(x[4]), true};
        REQUIRE(device::begin_divide_shares(at.address(), ranks, x.size(), missing, nullptr) == cudaSuccess);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        ccoll::reduction<TestType> op;
        op.by_ranks = &ccoll::divide_shares_by_ranks<TestType>;
        op.missing = missing;
        op.divide(x.data(), ranks, x.size());
        CHECK(same_bits(at.values(), x));
    }
}

TEST_CASE("Device buffers are reduced on the device where the operation allows it, else on the host",
          "[cuda][operations]")
{
    const std::string differs = on_ranks(2, [](ccoll::threads_comm& comm, std::string& wrong) {
        const auto seed = static_cast<unsigned>(comm.rank()) + 1;
        const auto compare = [&]<class Op, class T>(const std::vector<T>& x, Op) {
            beside_host<T, device_vector> calls(wrong);
            calls.compare(Op::name, x, x.size(), [&](auto&& in, auto&& out) {
                return ccoll::allreduce<Algo::Ring, Op>(in, out, comm);
            });
        };
        compare(values<double>(700, seed), mine::MaxAbs());
        compare(values<double>(700, seed), mine::First());
        compare(values<std::uint32_t>(700, seed), Op::BitXor());
    });
    CHECK(differs == "");
    // Where an operation runs can be seen from the table alone.
    CHECK(ccoll::detail::memory_space<ccoll::cuda_space, double>::operation_of<mine::MaxAbs> != nullptr);
    CHECK(ccoll::detail::memory_space<ccoll::cuda_space, double>::operation_of<mine::First> == nullptr);
    CHECK(mine::on_host > 0);
}

}  // namespace operations_cases
