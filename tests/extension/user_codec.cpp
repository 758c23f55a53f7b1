// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the library promises to the author of a codec: with one tag and one codec_impl (acme_fixed16.hpp), and no other change, it works
// with every collective, algorithm and placement.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

#include "support/acme_fixed16.hpp"
#include "extension/ranks.hpp"
#include "support/fields.hpp"

using namespace ccoll::policies;

static_assert(ccoll::has_codec<acme::Fixed16, float> && ccoll::has_codec<acme::Fixed16, double>);
static_assert(ccoll::has_homomorphic_codec<acme::Fixed16, float>);

namespace {

template <class T, class... Policies>
void check_allreduce(int p, std::size_t n, const char* placement)
{
    INFO("p = " << p << ", n = " << n << ", placement " << placement);
    std::vector<std::vector<T>> in, out(static_cast<std::size_t>(p), std::vector<T>(n));
    std::vector<ccoll::report> reports(static_cast<std::size_t>(p));
    for (int r = 0; r < p; ++r) in.push_back(fields::smooth<T>(n, static_cast<unsigned>(r + 1)));
    ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
        const auto me = static_cast<std::size_t>(comm.rank());
        reports[me] = ccoll::allreduce<acme::Fixed16, ErrorBound<1e-3>, Policies...>(in[me], out[me], comm);
    });
    CHECK(reports[0].codec == std::string("acme::Fixed16"));
    CHECK(reports[0].placement == std::string(placement));
    CHECK(ranks::largest_error(in, out[0]) <= reports[0].worst_case_error);
    if (reports[0].same_bits) CHECK(ranks::same_bits(out));
    if (p > 1 && n > 5000) CHECK(reports[0].ratio() > 1.5);
}

}  // namespace

TEMPLATE_TEST_CASE("a codec from outside runs with every algorithm and placement", "[extension][codec]", float, double)
{
    for (const int p : {1, 2, 3, 5, 8})
        for (const std::size_t n : std::vector<std::size_t>{0, 1, 1000, 7001}) {
            check_allreduce<TestType>(p, n, "Homomorphic");  // chosen by Placement::Auto, because the codec can add
            check_allreduce<TestType, Algo::Ring, Placement::DecodeReduceEncode>(p, n, "DecodeReduceEncode");
            check_allreduce<TestType, Algo::RecursiveDoubling, Placement::Homomorphic>(p, n, "Homomorphic");
            check_allreduce<TestType, Algo::RecursiveDoubling, Placement::PerHop>(p, n, "PerHop");
        }
}

TEST_CASE("what a codec from outside cannot hold travels raw, and the report says so", "[extension][codec]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        std::vector<float> field(5000, 1.0f);
        if (comm.rank() == 1) field[2500] = std::numeric_limits<float>::infinity();
        const ccoll::report report = ccoll::bcast<acme::Fixed16, ErrorBound<1e-3>>(field, 1, comm);
        if (!(std::isinf(field[2500]) && std::fabs(field[0] - 1.0f) <= 1e-3f)) throw std::runtime_error("a value was lost");
        if (comm.rank() == 1 && report.fallback_blocks != 1) throw std::runtime_error("the raw chunk is not in the report");
    });
}

namespace acme {

/// Writes what it then cannot read.
struct Broken : ccoll::codec_tag<210, true> {
    static constexpr const char* name = "acme::Broken";
};

}  // namespace acme

template <>
struct ccoll::codec_impl<acme::Broken, float, ccoll::host_space> {
    static constexpr std::size_t chunk_elements = 1024;
    static encode_result encode_chunk(std::span<const float>, byte_span, double) noexcept { return {8}; }
    static status decode_chunk(const_byte_span, std::span<float>, double) noexcept { return status::unsupported; }
};

TEST_CASE("a decoder that fails is named on every rank", "[extension][codec]")
{
    std::vector<std::string> told(3);
    ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) {
        std::vector<float> x(5000, 1.0f);
        try {
            ccoll::allreduce<Algo::Ring, acme::Broken, ErrorBound<1e-3>>(x, comm);
        } catch (const ccoll::error& e) {
            told[static_cast<std::size_t>(comm.rank())] = e.what();
        }
    });
    for (const std::string& each : told) {
        INFO(each);
        CHECK(each.find("the codec cannot hold these values") != std::string::npos);
        CHECK(each.find("the codec is acme::Broken") != std::string::npos);
    }
}

TEST_CASE("frames of a codec from outside are distinguished by its wire id", "[extension][codec]")
{
    const std::vector<float> field(100, 1.0f);
    std::vector<float> back(100);
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<acme::Fixed16, float>(100));
    REQUIRE(ccoll::encode<acme::Fixed16>(field, frame, 1e-3).code == ccoll::status::ok);
    CHECK(frame[5] == std::byte{200});
    CHECK(ccoll::decode<Codec::SZx>(frame, back) == ccoll::status::foreign_frame);
    CHECK(ccoll::decode<acme::Fixed16>(frame, back) == ccoll::status::ok);
}
