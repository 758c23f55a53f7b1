// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/instrument/report.hpp>

#include "support/catch.hpp"

#include <string>

using namespace ccoll;

TEST_CASE("nested phases are counted once, to the innermost", "[instrument]")
{
    const auto busy = [](double seconds) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (std::chrono::steady_clock::now() < end) {}
    };
    phase_clock clock;
    const auto start = std::chrono::steady_clock::now();
    {
        phase_clock::scope outer(clock, phase::communicate);
        busy(0.002);
        {
            phase_clock::scope inner(clock, phase::encode);
            busy(0.004);
        }
        busy(0.002);
    }
    const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const breakdown b = clock.seconds();
    CHECK(b.encode >= 0.004);
    CHECK(b.communicate >= 0.004);
    CHECK(b.encode + b.communicate <= all);
    CHECK(b.decode + b.reduce + b.wait + b.copy == 0);
}

TEST_CASE("a clock that is off has no state and no code", "[instrument]")
{
    static_assert(std::is_empty_v<no_clock> && std::is_empty_v<no_clock::scope> &&
                  std::is_trivially_destructible_v<no_clock::scope>);
    struct holder {
        [[no_unique_address]] no_clock clock;
        int x;
    };
    static_assert(sizeof(holder) == sizeof(int));
    SUCCEED();
}

TEST_CASE("a report without messages has ratio one", "[instrument]")
{
    CHECK(report{}.ratio() == 1.0);
    report r;
    r.raw_bytes = 300;
    r.sent_bytes = 100;
    CHECK(r.ratio() == 3.0);
}

TEST_CASE("reports are added, beginning with nothing", "[instrument]")
{
    report one;
    one.ran_by = ran_by::engine;
    one.algorithm = "Ring";
    one.codec = "SZp";
    one.placement = "Homomorphic";
    one.raw_bytes = 300;
    one.sent_bytes = 100;
    one.fallback_blocks = 1;
    one.special_values = 5;
    one.error_bound = 1e-3;
    one.worst_case_error = 3e-3;
    one.probable_error = 2e-3;
    one.exact = false;
    one.agreed = one.direct = true;
    one.faults = {1, 2, 3};
    one.breakdown.encode = 0.5;
    report other = one;
    other.placement = "DecodeReduceEncode";
    other.worst_case_error = 5e-3;
    other.same_bits = false;
    other.direct = false;
    other.breakdown.encode = 0.25;

    report all;
    all += report{};
    all += one;
    // Nothing does not count as a call.
    CHECK((all.direct && all.agreed && !all.exact && all.codec == std::string("SZp")));
    all += other;
    all += report{};
    CHECK((all.ran_by == ran_by::engine && all.algorithm == std::string("Ring")));
    CHECK(all.placement == std::string("several"));
    CHECK((all.raw_bytes == 600 && all.sent_bytes == 200 && all.fallback_blocks == 2 &&
           all.special_values == 10));
    CHECK((all.error_bound == 1e-3 && all.worst_case_error == 5e-3 && all.probable_error == 2e-3));
    CHECK((!all.exact && !all.same_bits && !all.direct && all.agreed));
    CHECK((all.faults.detected == 2 && all.faults.corrected == 4 && all.faults.resent == 6 &&
           all.breakdown.encode == 0.75));
    CHECK(all.trouble.ok());
    report of_mpi;  // of a call that names no codec
    of_mpi.ran_by = ran_by::mpi;
    of_mpi.algorithm = "MPI";
    of_mpi.same_bits = false;
    report several;
    several += of_mpi;
    CHECK((several.ran_by == ran_by::mpi && several.algorithm == std::string("MPI") && !several.same_bits));
    several = one;
    several += of_mpi;
    CHECK((several.ran_by == ran_by::several && several.algorithm == std::string("several") &&
           several.codec == std::string("several") && !several.same_bits));
    report failed;
    failed.trouble = {status::overlap, 1};
    all += failed;
    CHECK(all.trouble.code == status::overlap);
}

TEST_CASE("who ran a call has a name", "[instrument]")
{
    CHECK(report{}.ran_by == ran_by::none);
    CHECK(name_of(ran_by::none) == std::string("nobody"));
    CHECK(name_of(ran_by::mpi) == std::string("MPI"));
    CHECK(name_of(ran_by::several) == std::string("several"));
    for (int i = 0; i <= static_cast<int>(ran_by::several); ++i)
        CHECK(name_of(static_cast<ran_by>(i)) != std::string("unknown"));
}

TEST_CASE("a report fits in a line", "[instrument]")
{
    report r;
    r.algorithm = "Ring";
    r.codec = "SZp";
    r.placement = "Homomorphic";
    r.raw_bytes = 380;
    r.sent_bytes = 100;
    r.exact = false;
    r.worst_case_error = 4e-3;
    CHECK(summary(r) ==
          "Ring, SZp, Homomorphic: sent 100 bytes for 380 (ratio 3.80), every element within 0.004");
    r.fallback_blocks = 2;
    r.special_values = 7;
    r.same_bits = false;
    r.breakdown.wait = 0.25;
    CHECK(summary(r) ==
          "Ring, SZp, Homomorphic: sent 100 bytes for 380 (ratio 3.80), every element within 0.004, ranks "
          "may hold other bits, 2 blocks not compressed, 7 values stored apart, seconds: encode 0 decode 0 "
          "reduce 0 communicate 0 wait 0.25 copy 0");
    report root;  // of a reduce
    root.algorithm = "Binomial";
    root.codec = "None";
    root.placement = "DecodeReduceEncode";
    CHECK(summary(root) == "Binomial, None, DecodeReduceEncode: sent nothing, exact");
    root.ran_by = ran_by::mpi;
    root.algorithm = "MPI";
    root.placement = "none";
    CHECK(summary(root) == "MPI, None, none: MPI did the work, exact");
    root.trouble = {status::overlap, 1};
    CHECK(summary(root) == "MPI, None, none: the send and receive buffers of a rank overlap");
}
