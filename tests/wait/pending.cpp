// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a call has waited (base/clock.hpp, wait/pending.hpp), by a clock that the test sets.
#include "support/catch.hpp"

#include <ccoll/wait/pending.hpp>

namespace pending_cases {

using namespace ccoll;

namespace {

double time_now = 0;
constexpr auto nobody_in_particular = [] { return 3; };

/// The seconds until a call with this limit gives up, if a turn takes `turn_s`; 0: it does not within 10000
/// turns
double until_late(double limit, double turn_s)
{
    detail::stop_watch watch({limit, [] { return time_now; }});
    watch.after_turn(true, 0, nobody_in_particular);
    const double since = time_now;
    for (int turns = 0; turns < 10000; ++turns) {
        time_now += turn_s;
        if (!watch.after_turn(false, 0, nobody_in_particular).ok()) return time_now - since;
    }
    return 0;
}

}  // namespace

TEST_CASE("A call whose turns are short gives up when its time is over, and says for whom it has waited",
          "[engine][timeout]")
{
    CHECK(until_late(30, 0.01) == Approx(30).margin(0.02));
    CHECK(until_late(0.1, 0.01) == Approx(0.1).margin(0.02));
    CHECK(until_late(0, 10) == 0);  // no limit
    detail::stop_watch watch({1, [] { return time_now; }});
    verdict v;
    for (int turns = 0; turns < 20 && v.ok(); ++turns) {
        v = watch.after_turn(false, 1, nobody_in_particular);
        time_now += 0.1;
    }
    CHECK(v.code == status::timed_out);
    CHECK(v.rank == 1);
    CHECK(v.peer == 3);
    CHECK(v.expected == 1);
    CHECK(v.found == Approx(1.0).margin(0.11));
}

TEST_CASE("Time in which a call was not looked after is not time of waiting", "[engine][timeout]")
{
    for (const double limit : {0.1, 5.0, 600.0}) {
        INFO("limit " << limit);
        detail::stop_watch watch({limit, [] { return time_now; }});
        const auto is_late = [&](double after) {
            time_now += after;
            return !watch.after_turn(false, 0, nobody_in_particular).ok();
        };
        CHECK_FALSE(is_late(0));
        CHECK_FALSE(is_late(1000 * limit));  // the whole job was stopped: after that there is time to go on
        CHECK_FALSE(is_late(limit / 10));
        CHECK_FALSE(is_late(limit / 10));
        CHECK_FALSE(watch.after_turn(true, 0, nobody_in_particular).code == status::timed_out);
        for (int stops = 0; stops < 7; ++stops) CHECK_FALSE(is_late(1000 * limit));
        int more = 0;
        while (!is_late(limit)) ++more;
        CHECK(more <= static_cast<int>(limit) + 8);  // but it does not go on for ever
    }
}

TEST_CASE("What moves begins the wait again, also after a long time", "[engine][timeout]")
{
    detail::stop_watch watch({1, [] { return time_now; }});
    for (int i = 0; i < 100; ++i) {
        time_now += 0.9;
        CHECK(watch.after_turn(false, 0, nobody_in_particular).ok());
        time_now += 50;
        CHECK(watch.after_turn(true, 0, nobody_in_particular).ok());
    }
}

TEST_CASE("A clock of looks goes on with each look, by so much at most", "[base][clock]")
{
    waited_seconds w(0.5);
    CHECK(w.look(100) == 0);
    CHECK(w.look(100.25) == 0.25);
    CHECK(w.look(200) == 0.75);
    w.restart();
    CHECK(w.look(200.125) == 0.125);
}

}  // namespace pending_cases
