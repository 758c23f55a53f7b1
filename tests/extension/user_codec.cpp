// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// What the library promises to the author of a codec: with one tag and one codec_impl (acme_fixed16.hpp), and
// no other change, it works with every collective, algorithm and placement.
#include "support/catch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/check_codec.hpp>
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

TEMPLATE_TEST_CASE("a codec from outside runs with every algorithm and placement", "[extension][codec]",
                   float, double)
{
    for (const int p : {1, 2, 3, 5, 8})
        for (const std::size_t n : std::vector<std::size_t>{0, 1, 1000, 7001}) {
            // Chosen by Placement::Auto, because the codec can add.
            check_allreduce<TestType>(p, n, "Homomorphic");
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
        if (!(std::isinf(field[2500]) && std::fabs(field[0] - 1.0f) <= 1e-3f))
            throw std::runtime_error("a value was lost");
        if (comm.rank() == 1 && report.fallback_blocks != 1)
            throw std::runtime_error("the raw chunk is not in the report");
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
    static status decode_chunk(const_byte_span, std::span<float>, double) noexcept
    {
        return status::unsupported;
    }
};

TEST_CASE("check_codec finds nothing wrong with codecs that are right", "[extension][codec]")
{
    // [doc:check]
    CHECK(ccoll::check_codec<acme::Fixed16, float>() == "");
    // [/doc:check]
    CHECK(ccoll::check_codec<Codec::SZp, float>() == "");
    CHECK(ccoll::check_codec<Codec::PipeSZx, double>() == "");
    CHECK(ccoll::check_codec<Codec::Lossless, std::int32_t>() == "");
}

namespace acme {

enum class slip {
    none,
    drops_a_value,     // keeps every other value
    claims_too_much,   // says that it wrote more than there is room for
    writes_beyond,     // its room
    leaves_a_hole,     // a byte that it does not write
    takes_any_length,  // of a chunk
    refuses_its_own,
    other_status,
    forgets_the_last,  // leaves a value unwritten
};

/// The upper half of each float, behind a byte. It has one of the slips.
template <slip Slip>
struct Careless : ccoll::codec_tag<211, true> {
    static constexpr const char* name = "acme::Careless";
};

}  // namespace acme

template <acme::slip Slip>
struct ccoll::codec_impl<acme::Careless<Slip>, float, ccoll::host_space> {
    using slip = acme::slip;
    static constexpr std::size_t chunk_elements = 256;

    static encode_result encode_chunk(std::span<const float> in, byte_span dst, double eb) noexcept
    {
        const std::size_t bytes = 1 + 2 * in.size();
        if (Slip == slip::other_status) return {0, status::corrupt};
        if (bytes > dst.size()) return {0, status::out_of_space};
        if (Slip == slip::claims_too_much) return {dst.size() + 100000};
        if (Slip == slip::writes_beyond) dst.data()[dst.size()] = std::byte{1};
        if (Slip != slip::leaves_a_hole) dst[0] = std::byte{7};
        for (std::size_t i = 0; i < in.size(); ++i) {
            const float x = in[Slip == slip::drops_a_value ? i / 2 * 2 : i];
            const auto half = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
            if (!(std::fabs(static_cast<double>(value(half)) - static_cast<double>(x)) <= eb))
                return {0, status::unsupported};
            store(dst, 1 + 2 * i, half);
        }
        return {bytes};
    }
    static status decode_chunk(const_byte_span src, std::span<float> out, double) noexcept
    {
        if (Slip == slip::refuses_its_own) return status::corrupt;
        const bool any_length = Slip == slip::takes_any_length || Slip == slip::leaves_a_hole;
        if (!any_length && (src.size() != 1 + 2 * out.size() || src[0] != std::byte{7}))
            return status::corrupt;
        for (std::size_t i = 0; i + (Slip == slip::forgets_the_last ? 1 : 0) < out.size(); ++i)
            out[i] = 3 + 2 * i <= src.size() ? value(load<std::uint16_t>(src, 1 + 2 * i)) : 0;
        return status::ok;
    }

private:
    static float value(std::uint16_t half) noexcept
    {
        return std::bit_cast<float>(std::uint32_t{half} << 16);
    }
};

/// Sums whose values depend on the order.
struct adds_in_order : ccoll::codec_tag<212, true> {
    static constexpr const char* name = "adds_in_order";
};
template <>
struct ccoll::codec_impl<adds_in_order, float, ccoll::host_space>
    : ccoll::codec_impl<acme::Fixed16, float, ccoll::host_space> {
    static encode_result add_chunks(const_byte_span a, const_byte_span b, std::size_t n,
                                    byte_span dst) noexcept
    {
        const encode_result r = codec_impl<acme::Fixed16, float, host_space>::add_chunks(a, b, n, dst);
        if (r.code == status::ok && a.front() > b.front()) dst.front() ^= std::byte{1};
        return r;
    }
};

TEST_CASE("check_codec says what is wrong with a codec, and with which values", "[extension][codec]")
{
    using acme::Careless;
    using acme::slip;
    CHECK(ccoll::check_codec<Careless<slip::none>, float>() == "");
    const auto says = [](const std::string& told, const std::string& part) {
        INFO(told);
        CHECK(told.find(part) != std::string::npos);
        CHECK(told.find(" values (") != std::string::npos);
    };
    says(ccoll::check_codec<Careless<slip::drops_a_value>, float>(), "decode_chunk: value 1 is ");
    says(ccoll::check_codec<Careless<slip::claims_too_much>, float>(), "encode_chunk says that it wrote 1");
    says(ccoll::check_codec<Careless<slip::writes_beyond>, float>(),
         "encode_chunk writes beyond its room of ");
    says(ccoll::check_codec<Careless<slip::leaves_a_hole>, float>(),
         "encode_chunk gives other bytes for the same values, or leaves");
    says(ccoll::check_codec<Careless<slip::takes_any_length>, float>(),
         "decode_chunk does not notice that bytes are missing");
    says(ccoll::check_codec<Careless<slip::refuses_its_own>, float>(), "for what encode_chunk wrote");
    says(ccoll::check_codec<Careless<slip::other_status>, float>(),
         "it may return ok, out_of_space and unsupported");
    says(ccoll::check_codec<Careless<slip::forgets_the_last>, float>(),
         "decode_chunk gives other values for the same bytes, or leaves");
    says(ccoll::check_codec<adds_in_order, float>(), "add_chunks gives other values in another order");
}

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
