// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// The device kernels of ZFP at a fixed rate, under the emulator: the chunks and bits of the host codec, whose
// streams libzfp reads.
#include "emulated_codecs.hpp"

namespace zfp_cases {

using namespace emulated;

TEMPLATE_TEST_CASE(
    "Emulated ZFP writes the chunks of the host codec and reads its bits: all fields, rates from the least "
    "to raw",
    "[cuda][zfp]", float, double)
{
    std::uint64_t seed = 1;
    for (const auto& [name, values] : fields::all<TestType>(8192 + 100))
        for (const double rate : {8.0, 16.0, 2.9}) {
            INFO(name << ", rate " << rate << ", seed " << seed);
            compare_with_host<Zfp, TestType>(values, rate, {seed++});
        }
    const auto x = fields::smooth<TestType>(8192 + 33);
    for (const double rate : {1e-3, 2.25, 3.0,   4.0,  5.2,  7.3,  8.25, 11.9, 13.0, 24.0,   31.0, 31.9,
                              32.0, 35.0, 35.25, 36.0, 50.5, 63.0, 63.9, 64.0, 70.0, 5000.0, 1e299}) {
        INFO("rate " << rate << ", seed " << seed);
        compare_with_host<Zfp, TestType>(x, rate, {seed++});
    }
}

TEMPLATE_TEST_CASE(
    "Emulated ZFP writes the chunks of the host codec at every length around blocks and chunks, from any "
    "address",
    "[cuda][zfp]", float, double)
{
    std::uint64_t seed = 1;
    for (const std::size_t n :
         std::initializer_list<std::size_t>{0,  1,  2,  3,   4,   5,    6,    7,    8,    9,    31,   32,
                                            33, 63, 64, 255, 257, 1000, 8159, 8190, 8191, 8192, 8193, 16384})
        for (const std::size_t from : std::initializer_list<std::size_t>{0, 1})
            for (const double rate : {8.0, 3.3, 17.75}) {
                INFO("n " << n << ", from " << from << ", rate " << rate);
                const auto smooth = fields::smooth<TestType>(n + 1),
                           non_finite = fields::non_finite<TestType>(n + 1);
                compare_with_host<Zfp, TestType>(std::span(smooth).subspan(from, n), rate, {seed++});
                if (rate < 9)
                    compare_with_host<Zfp, TestType>(std::span(non_finite).subspan(from, n), rate, {seed++});
            }
}

TEMPLATE_TEST_CASE("Emulated ZFP keeps exceptions up to the host's number, and a chunk with one more raw",
                   "[cuda][zfp]", float, double)
{
    for (const std::size_t n : std::initializer_list<std::size_t>{8192, 1000, 7})
        for (const std::size_t exceptions : {n / 8, n / 8 + 1, n / 8 + 2}) {
            auto x = fields::smooth<TestType>(n);
            for (std::size_t k = 0; k < exceptions; ++k)
                x[n - 1 - 3 * k] = k % 2 == 0 ? std::numeric_limits<TestType>::infinity()
                                              : std::numeric_limits<TestType>::quiet_NaN();
            INFO("n " << n << ", exceptions " << exceptions);
            compare_with_host<Zfp, TestType>(x, 3.0, {exceptions});
        }
}

TEST_CASE(
    "Emulated ZFP reads and writes values of the lowest exponents, where not all planes of f64 are there",
    "[cuda][zfp]")
{
    for (const double size : {0x1p-1074, 0x1p-1070, 0x1p-1024, 0x1p-1020, 0x1p-1012, 0x1p-1000}) {
        auto x = fields::random<double>(200);
        for (double& v : x) v *= size;
        for (const double rate : {8.0, 32.0, 62.0}) {
            INFO("size " << size << ", rate " << rate);
            compare_with_host<Zfp, double>(x, rate, {3});
        }
    }
}

TEMPLATE_TEST_CASE("Emulated ZFP reads damaged frames as the host does", "[cuda][zfp][hostile]", float,
                   double)
{
    fields::generator random(5);
    damaged_frames all;
    const std::vector<std::vector<TestType>> list = {
        fields::smooth<TestType>(9000), fields::non_finite<TestType>(9000), fields::wild<TestType>(9001),
        fields::random<TestType>(37)};
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const auto& x = list[seed % list.size()];
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<Zfp, TestType>(x.size()));
        frame.resize(ccoll::encode<Zfp>(x, frame, seed % 3 == 0 ? 2.9 : seed % 3 == 1 ? 8 : 17.25).bytes);
        read_damaged<Zfp, TestType>(std::move(frame), x.size(), random, seed, all);
    }
    CHECK(all.accepted > 20);
    CHECK(all.refused > 20);
    CHECK(all.apart == 0);
}

TEMPLATE_TEST_CASE("Emulated ZFP refuses exceptions whose places do not ascend or are not in the chunk",
                   "[cuda][zfp][hostile]", float, double)
{
    auto x = fields::smooth<TestType>(600);
    for (const std::size_t i : std::initializer_list<std::size_t>{7, 300, 599})
        x[i] = std::numeric_limits<TestType>::infinity();
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<Zfp, TestType>(x.size()));
    frame.resize(ccoll::encode<Zfp>(x, frame, 8).bytes);
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    const ccoll::const_byte_span chunk = view.chunk(0).data;
    const std::size_t places =
        static_cast<std::size_t>(chunk.data() - frame.data()) + chunk.size() - 2 - 3 * (2 + sizeof(TestType));
    const auto refused = [&](std::size_t which, std::uint16_t place) {
        auto damaged = frame;
        ccoll::store(damaged, places + 2 * which, place);
        std::vector<TestType> y(x.size());
        const bool by_host = ccoll::decode<Zfp>(damaged, y) != ccoll::status::ok;
        const bool by_device = decode_with<Zfp, TestType>(damaged, y, {which + 1}) != ccoll::status::ok;
        CHECK(by_host == by_device);
        return by_device;
    };
    CHECK(!refused(1, 300));
    CHECK(!refused(1, 8));
    CHECK(refused(1, 7));    // again
    CHECK(refused(2, 299));  // before the one before
    CHECK(refused(2, 600));  // behind the last value
}

}  // namespace zfp_cases
