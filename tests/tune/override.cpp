// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/tune/override.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace override_cases {

using namespace ccoll;
using namespace ccoll::tune;
using kind = override_match::kind;

namespace {

constexpr candidate of_allreduce[] = {{"MPI", "None", "none"},
                                      {"Ring", "None", "DecodeReduceEncode"},
                                      {"RecursiveDoubling", "None", "DecodeReduceEncode"},
                                      {"Ring", "SZp", "Homomorphic", false, 1e-3},
                                      {"Ring", "SZp", "DecodeReduceEncode", false, 1e-3},
                                      {"mine::Bruck", "BitMask<BitZip>", "Once", false, 1e-3}};

std::vector<override_rule> rules_of(std::string_view text)
{
    const parsed_overrides all = parse_overrides(text);
    INFO(text);
    CHECK(all.fault == "");
    return all.rules;
}
override_match asked(std::string_view text, std::string_view collective, std::size_t bytes)
{
    return match(rules_of(text), collective, bytes, of_allreduce);
}
/// The index of the candidate; -1: no rule, -2: auto, -3: no such candidate.
int chosen(std::string_view text, std::string_view collective = "allreduce", std::size_t bytes = 1 << 20)
{
    const override_match m = asked(text, collective, bytes);
    CHECK((m.what == kind::fault) != m.fault.empty());
    return m.what == kind::chosen      ? static_cast<int>(m.index)
           : m.what == kind::no_rule   ? -1
           : m.what == kind::automatic ? -2
                                       : -3;
}
std::string fault_of(std::string_view text)
{
    const parsed_overrides all = parse_overrides(text);
    CHECK((all.rules.empty() || all.fault.empty()));
    return all.fault;
}
bool printable(const std::string& s)
{
    return std::all_of(s.begin(), s.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

TEST_CASE("rules have a collective, sizes and names, and most of it may be left out", "[tune][override]")
{
    const auto rules = rules_of("allreduce:1M-:ring,szp;bcast:-64K:mpi; * : auto ;");
    REQUIRE(rules.size() == 3);
    CHECK(rules[0].text == "allreduce:1M-:ring,szp");
    CHECK(rules[0].collective == "allreduce");
    CHECK(rules[0].from == 1048576);
    CHECK(rules[0].to == override_rule::no_end);
    CHECK(rules[0].choice == std::vector<std::string>{"ring", "szp"});
    CHECK(rules[1].collective == "bcast");
    CHECK(rules[1].from == 0);
    CHECK(rules[1].to == 65536);
    CHECK(rules[1].choice == std::vector<std::string>{"mpi"});
    CHECK(rules[2].collective == "*");
    CHECK(rules[2].choice.empty());
    CHECK(rules_of("").empty());
    CHECK(rules_of(" ;; ").empty());
}

TEST_CASE("sizes are bytes, with binary suffixes", "[tune][override]")
{
    const auto range = [](const std::string& text) {
        const auto rules = rules_of("gather:" + text + ":mpi");
        return std::pair(rules.at(0).from, rules.at(0).to);
    };
    constexpr std::size_t end = override_rule::no_end;
    CHECK(range("1-2") == std::pair(std::size_t{1}, std::size_t{2}));
    CHECK(range("0-1k") == std::pair(std::size_t{0}, std::size_t{1024}));
    CHECK(range(" 3m - 2G ") == std::pair(std::size_t{3} << 20, std::size_t{2} << 30));
    CHECK(range("-") == std::pair(std::size_t{0}, end));
    CHECK(range("18446744073709551614-18446744073709551615") == std::pair(end - 1, end));
    CHECK(range("17179869183G-") == std::pair(std::size_t{17179869183} << 30, end));
}

TEST_CASE("the first rule that fits the collective and the size decides", "[tune][override]")
{
    const std::string_view text = "allreduce:64K-1M:ring,none;allreduce:1M-:ring,szp;bcast:mpi;*:-8:auto";
    CHECK(chosen(text, "allreduce", (64 << 10) - 1) == -1);
    CHECK(chosen(text, "allreduce", 64 << 10) == 1);
    CHECK(chosen(text, "allreduce", (1 << 20) - 1) == 1);
    CHECK(chosen(text, "allreduce", 1 << 20) == 3);
    CHECK(chosen(text, "allreduce", override_rule::no_end) == 3);
    CHECK(chosen(text, "allreduce", 7) == -2);
    CHECK(chosen(text, "bcast", 7) == 0);
    CHECK(chosen(text, "scan", 7) == -2);
    CHECK(chosen(text, "scan", 8) == -1);
    CHECK(chosen("*:auto;*:mpi") == -2);
    CHECK(chosen("", "allreduce", 0) == -1);
    CHECK(match({}, "allreduce", 0, {}).what == kind::no_rule);
}

TEST_CASE("a choice takes the first candidate that has all its names, in any order and case",
          "[tune][override]")
{
    CHECK(chosen("allreduce:szp") == 3);
    CHECK(chosen("allreduce:SZP , Ring") == 3);
    CHECK(chosen("allreduce:decodereduceencode,szp") == 4);
    CHECK(chosen("allreduce:RECURSIVEDOUBLING") == 2);
    CHECK(chosen("ALLREDUCE:ring") == 1);
    CHECK(chosen("*:MPI") == 0);
    CHECK(chosen("*:none") == 0);
    CHECK(chosen("*:1K-:none,ring") == 1);
    CHECK(chosen("*:mine::bruck") == 5);
    CHECK(chosen("*:-:Mine::Bruck,BitMask<BitZip>,once") == 5);
}

TEST_CASE("what no candidate is gives a sentence that lists them", "[tune][override]")
{
    CHECK(asked("*:auto2;allreduce:szx", "allreduce", 8).fault ==
          "CCOLL_ALGO: rule '*:auto2' asks for what this allreduce does not have: nothing is called 'auto2'; "
          "it has MPI,None,none; Ring,None,DecodeReduceEncode; RecursiveDoubling,None,DecodeReduceEncode; "
          "Ring,SZp,Homomorphic; Ring,SZp,DecodeReduceEncode; mine::Bruck,BitMask<BitZip>,Once");
    const std::string together = asked("allreduce:recursivedoubling,szp", "allreduce", 8).fault;
    CHECK(together.find("does not have; it has MPI,None,none; Ring") != std::string::npos);
    CHECK(match(rules_of("scan:ring"), "scan", 1, {}).fault ==
          "CCOLL_ALGO: rule 'scan:ring' asks for what this scan does not have: nothing is called 'ring'; it "
          "has nothing to choose from");
}

TEST_CASE("a mistake gives one sentence: where it is, what was expected, and what was found",
          "[tune][override]")
{
    CHECK(fault_of("bcast:mpi;allreduc:ring") ==
          "CCOLL_ALGO: in rule 2, 'allreduc:ring': there is no collective 'allreduc'; there are allreduce, "
          "reduce, reduce_scatter, allgather, bcast, scatter, gather, alltoall, scan, exscan, "
          "neighbor_alltoall, neighbor_allgather, and * for all of them");
    CHECK(fault_of("bcast") ==
          "CCOLL_ALGO: in rule 1, 'bcast': a rule is 'collective:choice' or 'collective:from-to:choice', and "
          "this one has no choice");
    CHECK(fault_of("bcast:1M:mpi") ==
          "CCOLL_ALGO: in rule 1, 'bcast:1M:mpi': a range of sizes is 'from-to', as in 64K-1M, 1M- or -64K; "
          "found '1M'");
    CHECK(fault_of("bcast:1-2-3:mpi").find("is 'from-to', as in 64K-1M, 1M- or -64K; found '1-2-3'") !=
          std::string::npos);
    CHECK(fault_of("bcast:1T-:mpi")
              .find("a size is a number of bytes, with K, M or G behind it if you like; found '1T'") !=
          std::string::npos);
    CHECK(fault_of("bcast:1KK-:mpi").find("found '1KK'") != std::string::npos);
    CHECK(fault_of("bcast:1-K:mpi").find("found 'K'") != std::string::npos);
    CHECK(fault_of("bcast:-18446744073709551616:mpi").find("the size '18446744073709551616' is too large") !=
          std::string::npos);
    CHECK(fault_of("bcast:17179869184G-:mpi").find("the size '17179869184G' is too large") !=
          std::string::npos);
    CHECK(fault_of("bcast:2K-2048:mpi")
              .find("no size is in the range '2K-2048', because its end is not part of it") !=
          std::string::npos);
    CHECK(fault_of("bcast:1M-").find("a choice is missing behind the sizes, as in 1M-:ring,szp") !=
          std::string::npos);
    CHECK(fault_of("bcast:ring,auto").find("'auto' stands alone, without other names") != std::string::npos);
    for (const char* choice : {"", ",", "ring,", "ring,,szp", "ring szp", "1M", "ring:szp",
                               "ring::", "::ring", "mine:::Bruck", ":ring"}) {
        INFO(choice);
        CHECK(fault_of(std::string("bcast:-:") + choice).find("a choice is 'auto', 'mpi' or names of") !=
              std::string::npos);
    }
    CHECK(fault_of(std::string(1000, 'x') + "\n\x7f:ring").size() < 500);
    CHECK(fault_of("a\nb\x80:ring").find("'a?b?:ring'") != std::string::npos);
}

TEST_CASE(
    "any text gives rules or a fault that can be printed, and what it gives does not depend on spaces "
    "between parts",
    "[tune][override]")
{
    const std::string good = "allreduce:1M-2G:ring,szp;bcast:-64K:mpi;*:auto";
    std::mt19937 random(7);
    int right = 0, wrong = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text = good;
        for (int changes = 1 + i % 3; changes > 0 && !text.empty(); --changes) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
            case 0: text[at] = static_cast<char>(random()); break;
            case 1: text[at] = ";:,-*KMG0 1ring"[random() % 15]; break;
            case 2: text.erase(at, 1 + random() % 4); break;
            default: text.insert(at, 1, ";:,-*KMG0 1ring"[random() % 15]);
            }
        }
        const parsed_overrides all = parse_overrides(text);
        (all.fault.empty() ? right : wrong) += 1;
        REQUIRE(printable(all.fault));
        for (const override_rule& r : all.rules) REQUIRE(r.from < r.to);
        const override_match m = match(all.rules, "allreduce", random(), of_allreduce);
        REQUIRE(printable(m.fault));
        std::string spaced;
        for (const char c : text)
            spaced += c == ';' || c == ',' || c == '-' ? std::string(" ") + c + "\t" : std::string(1, c);
        const parsed_overrides again = parse_overrides(spaced);
        REQUIRE(again.fault.empty() == all.fault.empty());
        REQUIRE(again.rules.size() == all.rules.size());
        for (std::size_t r = 0; r < all.rules.size(); ++r) {
            REQUIRE(again.rules[r].from == all.rules[r].from);
            REQUIRE(again.rules[r].to == all.rules[r].to);
            REQUIRE(again.rules[r].choice == all.rules[r].choice);
        }
    }
    CHECK(right > 1000);
    CHECK(wrong > 1000);
}

TEST_CASE("ranks compare a hash of the text, which has one also if it is wrong", "[tune][override]")
{
    CHECK(parse_overrides("").hash == 0xcbf29ce484222325);  // the test vectors of FNV-1a
    CHECK(parse_overrides("a").hash == 0xaf63dc4c8601ec8c);
    CHECK(parse_overrides("foobar").hash == 0x85944171f73967e8);
    CHECK(parse_overrides("*:auto").hash != parse_overrides("*:mpi").hash);
    static_assert(hash_of("foobar") == 0x85944171f73967e8);
}

}  // namespace override_cases
