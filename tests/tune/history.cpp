// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The history of a class of calls, on ranks that are simulated: all of them decide alike, the fastest
// candidate is found, nothing is tried that the values speak against, and changes are noticed.
#include <ccoll/tune/history.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using ccoll::figures;
using ccoll::tune::call_class;
using ccoll::tune::candidate_work;

/// What calls take.
struct machine {
    std::vector<double> seconds{1e-2, 4e-3, 6e-3};  ///< of each candidate
    double bits = 5;                                ///< of a value in a frame
    double coder_s = 1e-9;                          ///< to encode or decode a value
    double values = 1 << 20;                        ///< of a call
    bool last_is_exact = false;                     ///< the last candidate does not compress
    double lucky = 0;                               ///< a call takes 0.4 times as long, with this probability
    double noise = 0;                               ///< largest relative one
    double comparison_s = 0;       ///< of arguments, in a call that would not compare otherwise
    double cold_s = 0;             ///< the same after a call that was MPI's alone
    double spike = 0, spikes = 0;  ///< a call takes so much longer, with this probability
    unsigned seed = 1;
};
machine noisy(unsigned seed, double noise, std::vector<double> seconds, double coder_s = 1e-9)
{
    machine m;
    m.seed = seed;
    m.noise = noise;
    m.seconds = std::move(seconds);
    m.coder_s = coder_s;
    return m;
}

/// The same class on several ranks, and the calls of a program.
class program {
public:
    explicit program(int ranks, const machine& m, bool searches = false, bool compares = true)
        : m_(m), random_(m.seed), compares_(compares)
    {
        std::vector<candidate_work> works{{1.5, 0, 0, 0, false}};
        while (works.size() < m.seconds.size()) works.push_back({1.5, 0.25, 0.75, 1, true});
        if (m.last_is_exact) works.back() = {1.5};
        for (int r = 0; r < ranks; ++r)
            ranks_.emplace_back(works, ccoll::tune::class_facts{m.values, 32, compares, searches});
        last_.resize(ranks_.size());
    }
    machine& now() { return m_; }

    /// @return the candidate of the call
    std::size_t call(bool fails = false)
    {
        const bool passes = ranks_[0].passes();
        const call_class::turn t = ranks_[0].next();
        REQUIRE(passes == (t.candidate == 0 && !t.listens));
        for (std::size_t r = 1; r < ranks_.size(); ++r) {
            const call_class::turn other = ranks_[r].next();
            REQUIRE(other.candidate == t.candidate);
            REQUIRE(other.listens == t.listens);
            REQUIRE(other.samples == t.samples);
            REQUIRE(other.glances == t.glances);
        }
        if (t.listens) {
            ++listening;
            figures all;
            for (figures& mine : last_) {
                if (t.samples) {
                    mine.bits = static_cast<float>(m_.bits * varied());
                    if (!t.glances) mine.encode_s = mine.decode_s = static_cast<float>(m_.coder_s * varied());
                }
                all.merge(mine);
                mine = {};
            }
            for (call_class& each : ranks_) fails ? each.forget() : each.heard(all);
            if (!fails)
                for (figures& mine : last_) mine.seconds = static_cast<float>(seconds_of(t.candidate));
        }
        last_spent = m_.seconds[t.candidate] * (1 + m_.noise / 2);
        if (t.listens && !(compares_ && t.candidate != 0)) last_spent += cold_ ? m_.cold_s : m_.comparison_s;
        cold_ = t.candidate == 0 && !t.listens;  // MPI's own call leaves the library's code out of the caches
        spent += last_spent;
        ++calls;
        return t.candidate;
    }
    std::vector<std::size_t> calls_of(int n)
    {
        std::vector<std::size_t> all;
        for (int i = 0; i < n; ++i) all.push_back(call());
        return all;
    }
    const call_class& rank(std::size_t r) const { return ranks_[r]; }
    bool settled() const { return ranks_[0].now() == call_class::stage::settled; }

    double spent = 0, last_spent = 0;
    int calls = 0, listening = 0;

private:
    double varied() { return 1 + m_.noise * std::uniform_real_distribution<double>(0, 1)(random_); }
    double seconds_of(std::size_t candidate)
    {
        const bool spike = m_.spikes > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < m_.spikes;
        const bool lucky = m_.lucky > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < m_.lucky;
        return m_.seconds[candidate] * (lucky ? 0.4 : varied() + (spike ? m_.spike : 0));
    }

    machine m_;
    std::mt19937_64 random_;
    bool compares_;
    bool cold_ = false;
    std::vector<call_class> ranks_;
    std::vector<figures> last_;
};

/// All but those calls that time its rival again.
void check_taken(const std::vector<std::size_t>& all, std::size_t candidate)
{
    CHECK(static_cast<std::size_t>(std::count(all.begin(), all.end(), candidate)) >= all.size() * 9 / 10);
    CHECK(std::count(all.end() - 10, all.end(), candidate) >= 8);
}

}  // namespace

TEST_CASE("A class of calls settles at the fastest candidate within ten calls", "[tune]")
{
    for (const std::size_t fastest : {0u, 1u, 2u}) {
        machine m;
        for (std::size_t c = 0; c < 3; ++c) m.seconds[c] = c == fastest ? 2e-3 : 1e-2;
        program p(4, m);
        p.calls_of(10);
        REQUIRE(p.settled());
        for (const std::size_t c : p.calls_of(200)) CHECK(c == fastest);
    }
}

TEST_CASE("The first candidate is left only for one that is clearly faster, and the first calls are its",
          "[tune]")
{
    machine m;
    m.seconds = {1e-2, 0.9e-2, 0.86e-2};
    program p(3, m);
    const std::vector<std::size_t> all = p.calls_of(100);
    CHECK(all[0] == 0);
    CHECK(all[1] == 0);
    CHECK(std::count(all.begin(), all.end(), 0u) >= 94);
    CHECK(all.back() == 0);
    m.seconds = {1e-2, 0.84e-2, 0.9e-2};
    program q(3, m);
    CHECK(q.calls_of(100).back() == 1);
}

TEST_CASE("What the values speak against is never tried", "[tune]")
{
    machine white;
    white.bits = 31;
    CHECK(program(4, white).calls_of(1000) == std::vector<std::size_t>(1000, 0));
    machine slow;  // the codec alone takes longer than the call
    slow.coder_s = 1e-8;
    CHECK(program(4, slow).calls_of(1000) == std::vector<std::size_t>(1000, 0));
    program searching(4, white, true);
    const std::vector<std::size_t> all = searching.calls_of(1000);
    CHECK(std::count(all.begin(), all.end(), 1u) >= 2);
}

TEST_CASE("Candidates that do not compress are tried although no model knows them", "[tune]")
{
    std::vector<candidate_work> works{{1.5}, {1.5}};
    call_class one(works, {1 << 20, 32});
    std::vector<std::size_t> all;
    float last = 0;
    for (int i = 0; i < 20; ++i) {
        const call_class::turn t = one.next();
        figures f;
        f.seconds = last;
        if (t.listens) {
            one.heard(f);
            last = t.candidate == 0 ? 2e-3f : 1e-3f;
        }
        all.push_back(t.candidate);
    }
    CHECK(all.back() == 1);
}

TEST_CASE("A change is noticed within thirty calls", "[tune]")
{
    SECTION("values become noise")
    {
        program p(4, {});
        p.calls_of(50);
        REQUIRE(p.call() == 1);
        p.now().seconds = {1e-2, 2e-2, 3e-2};
        p.now().bits = 32;
        p.calls_of(30);
        for (const std::size_t c : p.calls_of(100)) CHECK(c == 0);
    }
    SECTION("values become smooth")
    {
        machine m;
        m.bits = 32;
        m.coder_s = 1e-8;  // a glance must not go on to believe this
        m.seconds = {1e-2, 2e-2, 3e-2};
        program p(4, m);
        p.calls_of(50);
        REQUIRE(p.call() == 0);
        p.now() = {};
        p.calls_of(30);
        check_taken(p.calls_of(100), 1);
    }
    SECTION("the link becomes ten times slower")
    {
        machine m;
        m.seconds = {1e-3, 1.2e-3, 1.4e-3};
        m.coder_s = 0.5e-9;
        program p(4, m);
        p.calls_of(50);
        REQUIRE(p.call() == 0);
        p.now().seconds = {1e-2, 3e-3, 4e-3};
        p.calls_of(30);
        check_taken(p.calls_of(100), 1);
    }
    SECTION("the other algorithm becomes better")
    {
        program p(4, {});
        p.calls_of(50);
        REQUIRE(p.call() == 1);
        p.now().seconds = {1e-2, 9e-3, 2e-3};
        p.calls_of(30);
        for (const std::size_t c : p.calls_of(100)) CHECK(c == 2);
    }
}

TEST_CASE("Noise costs little: comparisons are rare, and explorations become rarer", "[tune]")
{
    for (unsigned seed = 1; seed < 30; ++seed) {
        const machine m = noisy(seed, 0.6, {1e-2, 1.3e-2, 1.5e-2});
        program p(5, m);
        const int n = 4000;
        p.calls_of(n);
        INFO("seed " << seed << ", " << p.listening << " comparisons, " << p.spent << " s");
        CHECK(p.spent <= 1.02 * n * m.seconds[0] * (1 + m.noise / 2));
        CHECK(p.listening <= n / 4);
    }
}

TEST_CASE("A choice whose calls often take three times as long is not explored again and again", "[tune]")
{
    for (unsigned seed = 1; seed < 10; ++seed) {
        program p(1, noisy(seed, 2, {1e-1, 1e-2, 1.5e-2}));
        p.calls_of(100);
        const std::vector<std::size_t> later = p.calls_of(1000);
        INFO("seed " << seed);
        CHECK(std::count(later.begin(), later.end(), 0u) <= 15);
    }
}

TEST_CASE("Calls that would not compare otherwise seldom do, and changes are still noticed", "[tune]")
{
    machine smooth, white;
    smooth.seconds = {1e-3, 4e-4, 6e-4};
    smooth.coder_s = 1e-10;
    white.bits = 32;
    white.seconds = {1e-3, 2e-3, 3e-3};
    white.coder_s = 1e-10;
    for (const bool becomes_white : {true, false}) {
        const machine &before = becomes_white ? smooth : white, &after = becomes_white ? white : smooth;
        program p(4, before, false, false);
        p.calls_of(2000);
        CHECK(p.call() == (becomes_white ? 1 : 0));
        CHECK(p.listening * call_class::comparison_s <= 0.05 * p.spent);
        p.now() = after;
        // The time of the first candidate does not change, and samples are rarer.
        p.calls_of(becomes_white ? 220 : 820);
        check_taken(p.calls_of(100), becomes_white ? 0 : 1);
    }
}

TEST_CASE(
    "Of two candidates with the same bits the faster one is found soon, even if timings vary by a factor of "
    "five",
    "[tune]")
{
    const int runs = 200;
    for (const bool compares : {false, true}) {
        int early = 0, late = 0;
        for (unsigned seed = 1; seed <= runs; ++seed) {
            program p(3, noisy(seed, 4, {1e-1, 1.3e-3, 1e-3}, 1e-11), false, compares);
            early += p.calls_of(12).back() == 2;
            late += p.calls_of(500).back() == 2;
        }
        INFO((compares ? "long calls: " : "short calls: ")
             << early << " of " << runs << " after 12 calls, " << late << " after 500");
        CHECK(early < 180);
        CHECK(late >= 185);
    }
}

TEST_CASE("Timings that vary by a factor of three mislead at first, and less and less", "[tune]")
{
    const int runs = 200;
    int early = 0, late = 0;
    for (unsigned seed = 1; seed <= runs; ++seed) {
        program p(1, noisy(seed, 2, {6e-4, 3.3e-4, 2.5e-4}, 1e-11), false, false);
        p.calls_of(12);
        early += p.call() == 2;
        const int before = p.listening, n = 5000;
        p.calls_of(n);
        late += p.call() == 2;
        CHECK((p.listening - before) * call_class::comparison_s <= 0.05 * p.spent);
    }
    INFO("the fastest of three: " << early << " of " << runs << " after 12 calls, " << late << " after 5000");
    CHECK(early < runs * 9 / 10);
    CHECK(late >= runs * 19 / 20);
}

TEST_CASE("Of short calls the candidate with the fewest rounds is tried, too", "[tune]")
{
    const std::vector<candidate_work> works{
        {1.5}, {1.5, 0.25, 0.75, 1, true, 6}, {1.5, 0.5, 1, 1, true, 4}, {2, 1, 1, 1, true, 2}, {1.5}};
    for (const bool compares : {false, true}) {
        call_class one(works, {1 << 14, 32, compares});
        std::vector<std::size_t> tried;
        for (int i = 0; i < 10; ++i) {
            const call_class::turn t = one.next();
            tried.push_back(t.candidate);
            figures all;
            all.seconds = 1e-3f;
            if (t.samples) {
                all.bits = 1;
                all.encode_s = all.decode_s = 1e-9f;
            }
            one.heard(all);
        }
        const std::size_t second = compares ? 2 : 3;
        CHECK(tried == std::vector<std::size_t>{0, 0, 0, 1, 1, 1, second, second, second, 0});
    }
}

TEST_CASE("Ranks decide alike whatever fails", "[tune]")
{
    std::mt19937 random(7);
    for (unsigned seed = 1; seed < 40; ++seed) {
        machine m;
        m.seed = seed;
        m.noise = 1;
        program p(3, m);
        for (int i = 0; i < 300; ++i) {
            if (random() % 40 == 0)
                p.now().seconds[random() % 3] = 1e-3 * static_cast<double>(1 + random() % 20);
            if (random() % 40 == 0) p.now().bits = static_cast<double>(1 + random() % 32);
            p.call(random() % 20 == 0);
        }
        CHECK(p.rank(0).number() == p.rank(2).number());
    }
}

TEST_CASE("A choice that is given is kept, and nothing is compared", "[tune]")
{
    call_class given(2);
    for (int i = 0; i < 100; ++i) {
        const call_class::turn t = given.next();
        CHECK(t.candidate == 2);
        CHECK_FALSE(t.listens);
        given.forget();
    }
    CHECK(given.choice() == 2);
}

namespace {

/// Calls of one length with values of several kinds: what candidates take for each, and what a comparison
/// takes.
struct place {
    const char* name;
    double values;
    double comparison_s;
    std::vector<machine> kinds;
    double cold_s = 3e-5;  ///< what a comparison takes at least, if the call before was MPI's alone
};
machine of_kind(double bits, std::vector<double> seconds, double coder_s)
{
    machine m;
    m.seconds = std::move(seconds);
    m.bits = bits;
    m.coder_s = coder_s;
    m.noise = 0.3;
    m.spike = 100;
    m.spikes = 0.002;
    m.lucky = 0.02;
    m.last_is_exact = true;
    return m;
}
/// Seconds as benchmarks show them: 2 ranks in memory, and 4 ranks with links of 1 Gb/s. Smooth values,
/// fields, noise.
std::vector<place> places()
{
    const auto kinds = [](double plain, double smooth, double fields, double noise, double coder) {
        return std::vector<machine>{of_kind(1, {plain, smooth, 1.1 * smooth, 1.3 * plain}, coder),
                                    of_kind(6, {plain, fields, 1.2 * fields, 1.3 * plain}, 1.3 * coder),
                                    of_kind(31, {plain, noise, 1.3 * noise, 1.3 * plain}, 2 * coder)};
    };
    return {
        {"16 KiB in memory", 1 << 12, 4e-6, kinds(6e-6, 4e-6, 6e-6, 15e-6, 1e-10)},
        {"64 KiB in memory", 1 << 14, 4e-6, kinds(18e-6, 11e-6, 18e-6, 40e-6, 1e-10)},
        {"1 MiB in memory", 1 << 18, 5e-6, kinds(230e-6, 180e-6, 240e-6, 560e-6, 1e-10)},
        {"4 MiB in memory", 1 << 20, 5e-6, kinds(1e-3, 0.7e-3, 0.95e-3, 2.2e-3, 1e-10)},
        {"4 MiB in memory, smooth values gain more", 1 << 20, 5e-6,
         kinds(1.2e-3, 0.5e-3, 0.9e-3, 1.9e-3, 1e-10)},
        {"64 KiB over links", 1 << 14, 9e-5, kinds(6e-4, 2e-4, 3e-4, 6.6e-4, 1e-9)},
        {"1 MiB over links", 1 << 18, 9e-5, kinds(9e-3, 0.8e-3, 2e-3, 9.5e-3, 1e-9)},
        {"16 KiB in memory, slow comparisons", 1 << 12, 4e-6, kinds(10e-6, 7e-6, 13e-6, 21e-6, 1e-10), 7e-5},
        {"64 KiB in memory, slow comparisons", 1 << 14, 4e-6, kinds(20e-6, 18e-6, 30e-6, 60e-6, 1e-10),
         7e-5}};
}

/// Which kind a call has, from its number.
struct order_of_kinds {
    const char* name;
    std::size_t (*kind)(unsigned call);
};
std::vector<order_of_kinds> orders()
{
    return {{"smooth", [](unsigned) -> std::size_t { return 0; }},
            {"noise", [](unsigned) -> std::size_t { return 2; }},
            {"smooth and noise in turn", [](unsigned k) -> std::size_t { return k % 2 * 2; }},
            {"three kinds in turn", [](unsigned k) -> std::size_t { return k % 3; }},
            {"one smooth call in four", [](unsigned k) -> std::size_t { return k % 4 == 0 ? 0 : 2; }},
            {"one call of noise in four", [](unsigned k) -> std::size_t { return k % 4 == 0 ? 2 : 0; }},
            {"a change every 5 calls", [](unsigned k) -> std::size_t { return k / 5 % 2 * 2; }},
            {"a change every 8 calls", [](unsigned k) -> std::size_t { return k / 8 % 2 * 2; }},
            {"a change every 50 calls", [](unsigned k) -> std::size_t { return k / 50 % 2 * 2; }},
            {"three kinds, a change every 50 calls", [](unsigned k) -> std::size_t { return k / 50 % 3; }},
            {"a change every 500 calls", [](unsigned k) -> std::size_t { return k / 500 % 2 * 2; }},
            {"at random",
             [](unsigned k) -> std::size_t { return ccoll::mixed(ccoll::hash_seed, std::uint64_t{k}) % 3; }},
            {"smooth, then noise for ever", [](unsigned k) -> std::size_t { return k < 300 ? 0 : 2; }},
            {"noise, then smooth for ever", [](unsigned k) -> std::size_t { return k < 300 ? 2 : 0; }}};
}

}  // namespace

TEST_CASE(
    "Whatever kinds of values follow each other, all calls together lose at most a twentieth against the "
    "first candidate",
    "[tune]")
{
    for (const place& where : places())
        for (const order_of_kinds& order : orders()) {
            double worst = 1e9;
            unsigned worst_calls = 0;
            for (unsigned seed = 1; seed <= 5; ++seed) {
                machine first = where.kinds[0];
                first.seed = seed;
                first.values = where.values;
                program p(2, first, false, where.values >= 1 << 18);
                std::array<int, 3> seen{};
                double plain = 0, mine = 0;
                for (unsigned k = 0; k < 3000; ++k) {
                    const std::size_t kind = order.kind(k);
                    p.now() = where.kinds[kind];
                    p.now().comparison_s = where.comparison_s;
                    p.now().cold_s = std::max(where.cold_s, where.comparison_s);
                    p.call();
                    if (++seen[kind] <= 12) continue;
                    plain += p.now().seconds[0] * (1 + p.now().noise / 2);
                    mine += p.last_spent;
                    if (k + 1 != 200 && k + 1 != 1000 && k + 1 != 3000) continue;
                    if (plain / mine < worst) {
                        worst = plain / mine;
                        worst_calls = k + 1;
                    }
                }
            }
            INFO(where.name << ", " << order.name);
            CAPTURE(worst_calls);
            CHECK(worst >= 0.95);
        }
}
