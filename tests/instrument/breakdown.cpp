// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/instrument/report.hpp>

#include "support/catch.hpp"

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
    static_assert(std::is_empty_v<no_clock> && std::is_empty_v<no_clock::scope> && std::is_trivially_destructible_v<no_clock::scope>);
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
    r.raw_bytes = 300, r.sent_bytes = 100;
    CHECK(r.ratio() == 3.0);
}
