// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// The all-to-alls of the literature with which benchmarks compare: they give the values of ccoll::alltoall.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include "support/fields.hpp"
#include "benchmark/alltoall.hpp"

#include <string>

namespace alltoall_cases {

using namespace ccoll::policies;
using emulated::device_vector;

namespace {

/// @tparam Bound  the plan's, which says the same as `eb`
template <class Codec, class PlanCodec, class Bound>
void compare_with_ours(int p, double eb)
{
    constexpr std::size_t block = 3000;
    const std::string differs = on_ranks(p, [=](ccoll::threads_comm& comm, std::string& wrong) {
        const std::size_t n = block * static_cast<std::size_t>(p);
        const device_vector<float> in(fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1));
        device_vector<float> expected(n), first(n), second(n);
        ccoll::alltoall<Algo::Pairwise, PlanCodec, Bound>(in, expected, comm);
        rivals::workshop<Codec> work(p, block);
        work.compress_then_exchange(in.address(), first.address(), eb, comm);
        work.compress_by_destination(in.address(), second.address(), eb, comm, comm.rank());
        // A rank's own block never leaves it in ccoll::alltoall, and is exact.
        const auto others = [&](const std::vector<float>& all) {
            std::vector<float> rest;
            for (std::size_t i = 0; i < n; ++i)
                if (i / block != static_cast<std::size_t>(comm.rank())) rest.push_back(all[i]);
            return rest;
        };
        if (others(first.values()) != others(expected.values()))
            wrong += "compress, then exchange: other values; ";
        if (others(second.values()) != others(expected.values()))
            wrong += "compress by destination: other values; ";
        // With them it is encoded and decoded as all others are.
        const auto begin = static_cast<std::ptrdiff_t>(block) * comm.rank();
        const auto own = [&](const std::vector<float>& all) {
            return std::vector<float>(all.begin() + begin, all.begin() + begin + block);
        };
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, float>(block));
        frame.resize(ccoll::encode<Codec>(own(in.values()), frame, eb).bytes);
        std::vector<float> decoded(block);
        if (ccoll::decode<Codec>(frame, decoded) != ccoll::status::ok) wrong += "the host does not decode; ";
        if (own(first.values()) != decoded) wrong += "compress, then exchange: another own block; ";
        if (own(second.values()) != decoded) wrong += "compress by destination: another own block; ";
    });
    CHECK(differs == "");
}

}  // namespace

TEST_CASE("All-to-alls of the literature give the values of ccoll::alltoall", "[cuda][alltoall]")
{
    for (const int p : {1, 3}) {
        compare_with_ours<Codec::SZp, Codec::SZp, ErrorBound<1e-3>>(p, 1e-3);
        compare_with_ours<Codec::ZfpAtRate, Codec::Zfp, FixedRate<16>>(p, 16);
    }
}

}  // namespace alltoall_cases
