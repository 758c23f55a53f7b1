// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the library promises to the author of an operation: a functor that is derived from op_tag and says how
// errors grow works in every reduction.
#include "support/catch.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

#include "support/acme_fixed16.hpp"
#include "support/fields.hpp"

// [doc:op]
namespace mine {

/// The largest magnitude. Errors do not add up: | max(|a|,|b|) - max(|a'|,|b'|) | <= max(|a - a'|, |b - b'|).
struct MaxAbs : ccoll::op_tag<false> {
    static constexpr const char* name = "mine::MaxAbs";
    static constexpr auto growth = ccoll::error_growth::selects;
    template <class T>
    static T apply(T a, T b) noexcept
    {
        return std::fmax(std::fabs(a), std::fabs(b));
    }
};

}  // namespace mine
// [/doc:op]

namespace mine {

/// It does not say how errors grow, so it needs an exact codec.
struct Hypot : ccoll::op_tag<false> {
    template <class T>
    static T apply(T a, T b) noexcept
    {
        return std::hypot(a, b);
    }
};

}  // namespace mine

using namespace ccoll::policies;

static_assert(ccoll::Plan<mine::MaxAbs, Codec::SZx, ErrorBound<1e-3>>::fault == ccoll::plan_fault::none);
static_assert(ccoll::Plan<mine::Hypot, Codec::SZx, ErrorBound<1e-3>>::fault ==
              ccoll::plan_fault::operation_without_bound);
static_assert(ccoll::Plan<mine::Hypot>::fault == ccoll::plan_fault::none);

TEMPLATE_TEST_CASE("an operation from outside keeps the bound that it promises", "[extension][op]",
                   Codec::PipeSZx, acme::Fixed16)
{
    for (const int p : {2, 3, 4, 7}) {  // on one rank an operation is not called, as in MPI
        INFO("p = " << p);
        const std::size_t n = 5003;
        std::vector<std::vector<float>> in, out(static_cast<std::size_t>(p), std::vector<float>(n));
        for (int r = 0; r < p; ++r) in.push_back(fields::smooth<float>(n, static_cast<unsigned>(r + 1)));
        ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
            const auto me = static_cast<std::size_t>(comm.rank());
            const auto report =
                ccoll::allreduce<mine::MaxAbs, TestType, ErrorBound<1e-3>>(in[me], out[me], comm);
            double worst = 0;
            for (std::size_t i = 0; i < n; ++i) {
                double exact = 0;
                for (const auto& x : in) exact = std::fmax(exact, std::fabs(x[i]));
                worst = std::fmax(worst, std::fabs(exact - out[me][i]));
            }
            if (!(worst <= report.worst_case_error))
                throw std::runtime_error("beyond the bound: " + std::to_string(worst));
            if (p > 1 && report.placement != std::string("DecodeReduceEncode"))
                throw std::runtime_error("streams were added");
        });
    }
}

TEST_CASE("an operation that says nothing of its errors runs with Codec::None", "[extension][op]")
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        std::vector<double> x(100, comm.rank() < 2 ? 3.0 : 4.0);
        const auto report = ccoll::allreduce<mine::Hypot>(x, comm);
        if (!report.exact || std::fabs(x[50] - std::sqrt(50.0)) > 1e-12)
            throw std::runtime_error("hypot is wrong");
    });
}
