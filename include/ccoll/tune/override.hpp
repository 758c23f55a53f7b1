// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/override.hpp - floor 2. What a user says about single collectives in the environment variable
// CCOLL_ALGO:
//
//   allreduce:1M-:ring,szp;bcast:-64K:mpi;*:auto
//
// Rules are separated by ';', and the first one that fits a call decides. A rule has three parts,
// collective:from-to:choice
//   collective  the name of a call, such as allreduce, or * for all of them
//   from-to     of the bytes of the whole vector, `from` included and `to` excluded. Either may be left out,
//               and so may the whole part. K, M and G stand for 2^10, 2^20 and 2^30. Calls with counts have 0
//               bytes here, because ranks do not know all of them.
//   choice      names of an algorithm, a codec and a placement, as reports have them, in any order and
//               number; "mpi" is MPI's own collective. "auto" alone: nothing is overruled.
// Names are compared without regard to case. Spaces around a part do not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ccoll/algo/collectives.hpp>
#include <ccoll/policy/chooser.hpp>
#include <ccoll/tune/text.hpp>

namespace ccoll::inline CCOLL_ABI::tune {

/// The collectives that a rule may name.
using ccoll::detail::collective_names;

/// One rule of CCOLL_ALGO.
struct override_rule {
    static constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();

    std::string text;                 ///< as it was written, for sentences
    std::string collective;           ///< a member of collective_names, or "*"
    std::size_t from = 0;             ///< bytes, included
    std::size_t to = no_end;          ///< bytes, excluded; no_end: there is no upper limit
    std::vector<std::string> choice;  ///< at least one name; empty: "auto"
};

struct parsed_overrides {
    std::vector<override_rule> rules;
    std::string fault;  ///< one sentence; empty if the text is right. There are no rules if there is a fault
    std::uint64_t hash = 0;  ///< of the text, also of one with a fault
};

/// What the rules say about one call.
struct override_match {
    enum class kind {
        no_rule,    ///< no rule fits the call
        automatic,  ///< the first one that fits says "auto"
        chosen,     ///< it asks for the candidate `index`
        fault       ///< it asks for what no candidate is
    };
    kind what = kind::no_rule;
    std::size_t index = 0;
    std::string fault;  ///< one sentence, which lists the candidates
};

namespace detail {

constexpr bool same_name(std::string_view a, std::string_view b) noexcept
{
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}
constexpr std::string_view trimmed(std::string_view s) noexcept
{
    while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
    return s;
}
/// Takes what is before the first `end` off `rest`, and `end` with it; all of it if there is none.
constexpr std::string_view take_until(std::string_view& rest, char end) noexcept
{
    const std::size_t at = rest.find(end);
    const std::string_view part = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
    return trimmed(part);
}

/// A name as C++ and reports have it: mine::Bruck, BitMask<BitZip>. A single ':' is no part of a name.
constexpr bool is_name(std::string_view s) noexcept
{
    if (s.empty() || is_digit(s.front()) || s.front() == ':' || s.back() == ':') return false;
    for (std::size_t i = 0; i < s.size(); ++i) {
        const char c = lower(s[i]);
        if (c == ':' && (++i == s.size() || s[i] != ':')) return false;
        if (c != ':' && c != '_' && c != '<' && c != '>' && !is_digit(c) && (c < 'a' || c > 'z'))
            return false;
    }
    return true;
}

/// Reads rules one after another. `fault` is what was expected and what was found, without the place.
struct override_reader {
    std::string fault;

    /// "64K"; the empty text gives `otherwise`
    std::size_t size(std::string_view text, std::size_t otherwise)
    {
        if (text.empty()) return otherwise;
        std::size_t i = 0, n = 0;
        bool too_large = false;
        for (; i < text.size() && is_digit(text[i]); ++i) {
            const auto digit = static_cast<std::size_t>(text[i] - '0');
            too_large = too_large || n > (override_rule::no_end - digit) / 10;
            n = 10 * n + digit;
        }
        const char unit = i + 1 == text.size() ? lower(text[i]) : ' ';
        const int shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 0;
        if (i == 0 || (i < text.size() && shift == 0)) {
            fault =
                "a size is a number of bytes, with K, M or G behind it if you like; found " + in_quotes(text);
            return 0;
        }
        if (too_large || n > override_rule::no_end >> shift)
            fault = "the size " + in_quotes(text) + " is too large";
        return n << shift;
    }
    void range(std::string_view text, override_rule& rule)
    {
        const std::size_t dash = text.find('-');
        if (dash == std::string_view::npos || text.find('-', dash + 1) != std::string_view::npos) {
            fault = "a range of sizes is 'from-to', as in 64K-1M, 1M- or -64K; found " + in_quotes(text);
            return;
        }
        rule.from = size(trimmed(text.substr(0, dash)), 0);
        if (fault.empty()) rule.to = size(trimmed(text.substr(dash + 1)), override_rule::no_end);
        if (fault.empty() && rule.from >= rule.to)
            fault = "no size is in the range " + in_quotes(text) + ", because its end is not part of it";
    }
    void choice(std::string_view text, override_rule& rule)
    {
        if (same_name(text, "auto")) return;
        for (bool more = true; more && fault.empty();) {
            more = text.find(',') != std::string_view::npos;
            const std::string_view name = take_until(text, ',');
            if (same_name(name, "auto")) fault = "'auto' stands alone, without other names";
            else if (!is_name(name))
                fault =
                    "a choice is 'auto', 'mpi' or names of an algorithm, a codec and a placement, with "
                    "commas between them, as in ring,szp; found " +
                    in_quotes(name);
            rule.choice.emplace_back(name);
        }
    }
    override_rule rule(std::string_view text)
    {
        override_rule r;
        r.text = text;
        const bool has_choice = text.find(':') != std::string_view::npos;
        const std::string_view name = take_until(text, ':');
        for (const std::string_view each : collective_names)
            if (same_name(name, each)) r.collective = each;
        if (name == "*") r.collective = name;
        if (r.collective.empty()) {
            fault = "there is no collective " + in_quotes(name) + "; there are ";
            for (const std::string_view each : collective_names) (fault += each) += ", ";
            fault += "and * for all of them";
            return r;
        }
        if (!has_choice) {
            fault =
                "a rule is 'collective:choice' or 'collective:from-to:choice', and this one has no choice";
            return r;
        }
        text = trimmed(text);
        if (!text.empty() && (is_digit(text.front()) || text.front() == '-')) {
            const bool ends = text.find(':') == std::string_view::npos;
            range(take_until(text, ':'), r);
            if (fault.empty() && ends) fault = "a choice is missing behind the sizes, as in 1M-:ring,szp";
        }
        if (fault.empty()) choice(trimmed(text), r);
        return r;
    }
};

/// Is `name` the candidate's algorithm, codec or placement?
inline bool is_part_of(std::string_view name, const candidate& c) noexcept
{
    return same_name(name, c.algorithm) || same_name(name, c.codec) || same_name(name, c.placement);
}
inline bool asks_for(const override_rule& rule, const candidate& c) noexcept
{
    for (const std::string& name : rule.choice)
        if (!is_part_of(name, c)) return false;
    return true;
}

[[gnu::cold]] inline std::string no_such_candidate(const override_rule& rule, std::string_view collective,
                                                   std::span<const candidate> all)
{
    std::string s = "CCOLL_ALGO: rule " + in_quotes(rule.text) + " asks for what this " +
                    std::string(collective) + " does not have";
    for (const std::string& name : rule.choice) {
        bool known = false;
        for (const candidate& c : all) known = known || is_part_of(name, c);
        if (known) continue;
        s += ": nothing is called " + in_quotes(name);
        break;
    }
    s += "; it has ";
    if (all.empty()) s += "nothing to choose from";
    for (const candidate& c : all) {
        if (&c != all.data()) s += "; ";
        for (const char* const part : {c.algorithm, ",", c.codec, ",", c.placement}) s += part;
    }
    return s;
}

}  // namespace detail

/// Reads the text of CCOLL_ALGO. Any bytes are safe, and an empty text has no rules.
/// A name of a choice is not looked up here, because your own algorithms and codecs count as well: match()
/// does that, for a call.
/// Cost: linear in the text; it allocates the rules.
[[gnu::cold]] inline parsed_overrides parse_overrides(std::string_view text)
{
    parsed_overrides all;
    all.hash = hash_of(text);
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view part = detail::take_until(text, ';');
        if (part.empty()) continue;
        detail::override_reader reader;
        override_rule rule = reader.rule(part);
        if (reader.fault.empty()) {
            all.rules.push_back(std::move(rule));
            continue;
        }
        all.rules.clear();
        all.fault = "CCOLL_ALGO: in rule " + std::to_string(number) + ", " + detail::in_quotes(part) + ": " +
                    reader.fault;
        return all;
    }
    return all;
}

/// What the first rule says that fits the call.
/// @param bytes       of the whole vector, as in choice_facts
/// @param candidates  MPI's own collective is one of them, with the algorithm "MPI", if the call may be
///                    handed to it
/// @return            of candidates that have all the names, the first one
/// Cost: rules times candidates, without an allocation unless there is a fault.
inline override_match match(std::span<const override_rule> rules, std::string_view collective,
                            std::size_t bytes, std::span<const candidate> candidates)
{
    using kind = override_match::kind;
    for (const override_rule& rule : rules) {
        if (rule.collective != "*" && rule.collective != collective) continue;
        if (bytes < rule.from || (bytes >= rule.to && rule.to != override_rule::no_end)) continue;
        if (rule.choice.empty()) return {kind::automatic, 0, {}};
        for (std::size_t i = 0; i < candidates.size(); ++i)
            if (detail::asks_for(rule, candidates[i])) return {kind::chosen, i, {}};
        return {kind::fault, 0, detail::no_such_candidate(rule, collective, candidates)};
    }
    return {};
}

}  // namespace ccoll::inline CCOLL_ABI::tune
