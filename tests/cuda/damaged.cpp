// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels under the emulator read the table of damaged frames: what a reader must refuse, and what it must
// take.
#include "emulated.hpp"
#include "same_bits.hpp"

#include "support/catch.hpp"
#include "support/damaged_frames.hpp"

namespace {

using ccoll::status;
using damaged_frames::row;
namespace codecs = ccoll::policies::Codec;

template <class C, class T>
void check(const damaged_frames::table& t)
{
    for (const row& r : t.rows) {
        INFO(r.name << (r.good ? ", to be decoded" : ", to be refused"));
        std::vector<T> ours(r.n), theirs(r.n);
        const status found = emulated::decode_with<C, T>(r.frame, ours);
        CHECK((found == status::ok) == r.good);
        if (!r.good || ccoll::decode<C>(r.frame, theirs) != status::ok) continue;
        CHECK(same_bits(ours, theirs));
    }
}

}  // namespace

TEMPLATE_TEST_CASE("SZp on a device: every rule of the page is checked", "[cuda][szp][wire]", float, double)
{
    using T = TestType;
    const auto t = damaged_frames::szp_table<T>::all();
    check<codecs::SZp, T>(t);
    // Sums, with an addend of equal values, of others, and with itself.
    for (const row& r : t.rows) {
        if (r.n != damaged_frames::szp_table<T>::n || r.name.rfind("szp addend", 0) != 0) continue;
        std::vector<T> flat(r.n, T(0.25)), x = damaged_frames::wave<T>(r.n), ours(r.n), theirs(r.n);
        const double eb = ccoll::load<double>(r.frame, 16);
        INFO(r.name << (r.good ? ", to be added" : ", to be refused"));
        for (const std::vector<T>* each : {&flat, &x}) {
            std::vector<std::byte> other(ccoll::max_addend_bytes<codecs::SZp, T>(r.n));
            other.resize(ccoll::encode_addend<codecs::SZp>(*each, other, eb).bytes);
            for (const auto& [a, b] : {std::pair{r.frame, other}, {other, r.frame}, {r.frame, r.frame}}) {
                const emulated::encoded sum = emulated::add<T>({}, a, b, r.n, eb);
                if (!r.good) CHECK(sum.told.code != 0);
                std::vector<std::byte> of_host(ccoll::max_addend_bytes<codecs::SZp, T>(r.n));
                const auto expected =
                    ccoll::reduce_encoded<codecs::SZp, ccoll::policies::Op::Sum, T>(a, b, of_host);
                CHECK((sum.told.code == 0) == (expected.code == status::ok));
                if (sum.told.code != 0 || expected.code != status::ok) continue;
                of_host.resize(expected.bytes);
                REQUIRE(ccoll::decode<codecs::SZp>(of_host, theirs) == status::ok);
                CHECK(ccoll::decode<codecs::SZp>(sum.bytes, ours) == status::ok);
                CHECK(same_bits(ours, theirs));
            }
            const emulated::encoded fused = emulated::add<T>(*each, {}, r.frame, r.n, eb);
            if (!r.good) CHECK(fused.told.code != 0);
        }
    }
}

TEST_CASE("SZp on a device: the longest addend is that of the host", "[cuda][szp][wire]")
{
    for (std::uint32_t n = 1; n <= 8192; ++n)
        CHECK(emulated::device::szp::most_addend_bytes(n) == ccoll::detail::szp::most_addend_bytes(n));
}

TEST_CASE("SZx, PipeSZx and ZFP on a device: every rule of the page is checked", "[cuda][wire]")
{
    check<codecs::SZx, float>(damaged_frames::szx<codecs::SZx, float>());
    check<codecs::SZx, double>(damaged_frames::szx<codecs::SZx, double>());
    check<codecs::PipeSZx, float>(damaged_frames::szx<codecs::PipeSZx, float>());
    check<codecs::SZx, ccoll::half>(damaged_frames::two_bytes());
    check<codecs::ZfpAtRate, float>(damaged_frames::zfp_at_rate<float>());
    check<codecs::ZfpAtRate, double>(damaged_frames::zfp_at_rate<double>());
}
