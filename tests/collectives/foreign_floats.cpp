// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Two-byte floats of other libraries: a class that has only its two bytes is registered with one line, and
// gives the bits of our own types.
#include <cstring>

#include "worlds.hpp"

// [doc:foreign_class]
namespace acme {
struct BFloat16 {
    std::uint16_t x;
};
struct Half {
    std::uint16_t x;
};
}  // namespace acme

template <>
inline constexpr int ccoll::exponent_bits_of<acme::BFloat16> = 8;
template <>
inline constexpr int ccoll::exponent_bits_of<acme::Half> = 5;
// [/doc:foreign_class]

namespace foreign_floats_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

template <class Foreign>
using ours = ccoll::float16<ccoll::exponent_bits_of<Foreign>>;

template <class To, class From>
std::vector<To> same_bytes(const std::vector<From>& from)
{
    std::vector<To> to(from.size());
    if (!from.empty()) std::memcpy(static_cast<void*>(to.data()), from.data(), from.size() * sizeof(To));
    return to;
}
template <class T>
std::vector<T> some(std::size_t n, unsigned seed)
{
    std::vector<T> v(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto word = static_cast<unsigned>(i) * 2654435761u + seed * 40503u;
        v[i] = i == 5 && seed == 1 ? T(std::numeric_limits<float>::quiet_NaN())
                                   : T(static_cast<float>(word >> 20) / 1024.0f - 1.5f);
    }
    return v;
}

/// What every rank gets, with the one type and with the other.
template <class T, class Call>
std::vector<std::vector<T>> results(int p, std::size_t n, Call call)
{
    return run<std::vector<T>>(p, [=](threads_comm& comm, std::vector<T>& mine) {
        const auto in = same_bytes<T>(
            some<std::conditional_t<std::is_same_v<T, acme::Half> || std::is_same_v<T, ccoll::half>,
                                    ccoll::half, ccoll::bfloat16>>(n,
                                                                   static_cast<unsigned>(comm.rank() + 1)));
        mine.resize(n);
        call(in, mine, comm);
    });
}
template <class Foreign, class Call>
void like_ours(Call call)
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{129}, std::size_t{7001}}) {
            const auto foreign = results<Foreign>(p, n, call);
            const auto wanted = results<ours<Foreign>>(p, n, call);
            INFO("p " << p << " n " << n);
            for (std::size_t r = 0; r < foreign.size(); ++r)
                CHECK(oracle::same_bits(same_bytes<std::uint16_t>(foreign[r]),
                                        same_bytes<std::uint16_t>(wanted[r])));
        }
}
template <class Foreign, class... P>
void allreduce_like_ours()
{
    like_ours<Foreign>(
        [](const auto& in, auto& out, threads_comm& comm) { ccoll::allreduce<P...>(in, out, comm); });
}

}  // namespace

TEMPLATE_TEST_CASE("Registered two-byte floats without arithmetic of their own give the bits of ours",
                   "[collectives][half]", acme::BFloat16, acme::Half)
{
    allreduce_like_ours<TestType, Codec::SZp, ErrorBound<1e-2>>();
    allreduce_like_ours<TestType, Codec::SZp, RelativeBound<1e-2>, Op::Average>();
    allreduce_like_ours<TestType, Codec::SZx, ErrorBound<1e-2>, Op::Max>();
    allreduce_like_ours<TestType, Algo::Ring>();
    allreduce_like_ours<TestType, Algo::Ring, Op::Average>();
    allreduce_like_ours<TestType, Algo::Ring, Op::Min>();
    allreduce_like_ours<TestType, Algo::Ring, Op::Prod>();
    like_ours<TestType>([](const auto& in, auto& out, threads_comm& comm) {
        out = in;
        ccoll::bcast<Codec::SZp, ErrorBound<1e-2>>(out, comm.size() - 1, comm);
    });
    CHECK(ccoll::dtype_of<TestType> == ccoll::dtype_of<ours<TestType>>);
}

}  // namespace foreign_floats_cases
