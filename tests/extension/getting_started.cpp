// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/getting_started.md: its pieces of code, run on ranks that are threads.
#include "support/catch.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <system_error>
#include <vector>

// [doc:threads]
#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

void average_on_four_threads()
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        std::vector<float> field(100000, 1.0f + static_cast<float>(comm.rank()));
        // In place; every rank now holds 2.5.
        ccoll::allreduce<Op::Average, Codec::SZp, ErrorBound<1e-4>>(field, comm);
        if (std::fabs(field[0] - 2.5f) > 1e-4f) throw std::runtime_error("not the average");
    });
}
// [/doc:threads]

TEST_CASE("the first program of docs/getting_started.md runs", "[docs]")
{
    CHECK_NOTHROW(average_on_four_threads());
}

TEST_CASE("the calls of docs/getting_started.md do what it says", "[docs]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const auto want = [](bool holds, const char* what) {
            if (!holds) throw std::runtime_error(what);
        };
        const std::size_t n = 3000;
        std::vector<float> field(n), out(n), all(3 * n), mine(n);
        for (std::size_t i = 0; i < n; ++i) field[i] = std::sin(1e-2f * static_cast<float>(i));

        // [doc:plan]
        using Fast = ccoll::Plan<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>;
        ccoll::allreduce<Fast>(field, out, comm);
        ccoll::allreduce<Fast, Op::Max, Check::Collective>(field, out, comm);  // Fast, and two more decisions
        // [/doc:plan]
        want(std::fabs(out[7] - field[7]) <= 3e-3f, "plan");

        // [doc:calls]
        ccoll::allgather<Fast>(field, all, comm);                    // all: p * n elements
        ccoll::reduce_scatter<Fast>(all, mine, comm);                // mine: block `rank` of the sum
        ccoll::bcast<Codec::SZx, ErrorBound<1e-3>>(field, 0, comm);  // the root takes the decoded values, too
        ccoll::scatter<Codec::SZx, ErrorBound<1e-3>>(all, mine, 0, comm);  // only the root needs `all`
        ccoll::gather<Codec::SZx, ErrorBound<1e-3>>(mine, all, 0, comm);
        ccoll::reduce<Codec::SZx, ErrorBound<1e-3>>(field, out, 0, comm);
        ccoll::allreduce(field, out, comm);  // no codec: exact
        // [/doc:calls]
        want(std::fabs(out[7] - 3 * field[7]) < 1e-5f, "exact");

        // [doc:bounds]
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, out, comm);            // per compression
        ccoll::allreduce<Codec::SZp, EndToEnd<ErrorBound<1e-3>>>(field, out, comm);  // for the result
        ccoll::allreduce<Codec::SZp, RelativeBound<1e-3>>(field, out, comm);  // of the range of all inputs
        const double eb = 1e-3;
        ccoll::allreduce<Codec::SZp, RuntimeBound>(field, out, comm, eb);  // known only at run time
        // [/doc:bounds]

        // [doc:pointers]
        ccoll::allreduce<Fast>(field.data(), out.data(), n, comm);
        // [/doc:pointers]

        // [doc:report]
        const ccoll::report report = ccoll::allreduce<Fast, Instrument::Breakdown>(field, out, comm);
        std::printf(
            "%s, %s, %s: %.1f times fewer bytes, every element within %g (probably %g), %zu blocks exact, %g "
            "s encoding\n",
            report.algorithm, report.codec, report.placement, report.ratio(), report.worst_case_error,
            report.probable_error, report.fallback_blocks, report.breakdown.encode);
        // [/doc:report]
        want(report.worst_case_error == 3 * 1e-3 && report.same_bits && !report.exact, "report");

        // [doc:errors]
        std::error_code failed;
        std::span<float> part(out.data(), n - 1);  // one element too few
        const ccoll::report facts = ccoll::allreduce<Fast>(field, part, comm, failed);
        if (failed == ccoll::status::size_mismatch)  // on every rank
            std::printf("rank %d has buffers of %g and %g elements\n", facts.trouble.rank,
                        facts.trouble.expected, facts.trouble.found);
        // [/doc:errors]
        want(failed == ccoll::status::size_mismatch && facts.trouble.expected == 3000 &&
                 facts.trouble.found == 2999,
             "errors");
    });
}

TEST_CASE("the codecs of docs/getting_started.md work alone", "[docs]")
{
    // [doc:codec_alone]
    const std::vector<double> field(1000, 0.5);
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec::SZx, double>(field.size()));
    frame.resize(ccoll::encode<Codec::SZx>(field, frame, 1e-6).bytes);

    std::vector<double> back(field.size());
    const ccoll::status read = ccoll::decode<Codec::SZx>(frame, back);  // safe for any bytes
    // [/doc:codec_alone]
    CHECK(read == ccoll::status::ok);
    CHECK(std::fabs(back[999] - 0.5) <= 1e-6);
}
