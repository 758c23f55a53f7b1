// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace preload {
namespace {

using json = nlohmann::json;
using std::string;

struct bad_plan : std::runtime_error {
    using runtime_error::runtime_error;
};

string quoted(const json& value) { return value.dump(); }

string list_of(std::span<const char* const> names)
{
    string all;
    for (const char* each : names) all += (all.empty() ? "" : ", ") + string(each);
    return all;
}

std::size_t index_of(const string& name, std::span<const char* const> names, const char* key)
{
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end())
        throw bad_plan("'" + string(key) + "' is '" + name + "'; it can be " + list_of(names));
    return static_cast<std::size_t>(at - names.begin());
}

const string& text_of(const json& value, const char* key)
{
    if (!value.is_string())
        throw bad_plan("'" + string(key) + "' is " + quoted(value) + "; it must be a text");
    return value.get_ref<const string&>();
}

/// A name or a list of names, as bits.
unsigned names_in(const json& value, std::span<const char* const> names, const char* key)
{
    const unsigned all = (1u << names.size()) - 1;
    if (!value.is_array())
        return text_of(value, key) == "*" ? all : 1u << index_of(text_of(value, key), names, key);
    unsigned bits = 0;
    for (const json& each : value) bits |= 1u << index_of(text_of(each, key), names, key);
    return bits;
}

/// "64K": a number with K, M or G, which are powers of 1024.
std::uint64_t number_in(std::string_view text, const char* key)
{
    std::uint64_t n = 0;
    std::size_t i = 0;
    bool fits = true;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
        fits = fits && n < (std::uint64_t{1} << 56);
        n = n * 10 + static_cast<std::uint64_t>(text[i] - '0');
    }
    const std::string_view unit = text.substr(i);
    const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
    if (i == 0 || shift < 0 || !fits || n > (~std::uint64_t{0} >> shift))
        throw bad_plan("'" + string(key) + "' has '" + string(text) +
                       "', which is no number; write for example 64K, 1M or 100");
    return n << shift;
}

/// "1M-": at least; "-1M": less than; "64K-1M": both; 4 or "4": exactly.
range range_in(const json& value, const char* key)
{
    if (value.is_number_unsigned()) return {value.get<std::uint64_t>(), value.get<std::uint64_t>() + 1};
    const string& text = text_of(value, key);
    const std::size_t dash = text.find('-');
    range r;
    if (dash == string::npos) {
        r.from = number_in(text, key);
        r.to = r.from + 1;
    } else {
        if (dash > 0) r.from = number_in(std::string_view(text).substr(0, dash), key);
        if (dash + 1 < text.size()) r.to = number_in(std::string_view(text).substr(dash + 1), key);
    }
    if (r.from >= r.to)
        throw bad_plan("'" + string(key) + "' is '" + text +
                       "', which is empty; the first number must be the smaller one");
    return r;
}

void only_keys(const json& object, std::initializer_list<const char*> known, const char* where)
{
    for (const auto& [key, value] : object.items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            throw bad_plan("'" + key + "' is not known " + where + "; known are " +
                           list_of({known.begin(), known.size()}));
}

/// Without auto.
std::span<const char* const> algorithms_of(what which)
{
    static constexpr const char* allreduce[] = {"ring", "recursive_doubling", "rabenseifner"};
    static constexpr const char* reduce[] = {"binomial", "rabenseifner", "chain"};
    static constexpr const char* reduce_scatter[] = {"ring", "rabenseifner"};
    static constexpr const char* bcast[] = {"binomial", "chain", "scatter_allgather"};
    static constexpr const char* allgather[] = {"ring", "recursive_doubling", "bruck"};
    static constexpr const char* alltoall[] = {"pairwise", "spread", "bruck"};
    static constexpr const char* gather[] = {"binomial", "linear"};
    switch (which) {
    case what::allreduce: return allreduce;
    case what::reduce: return reduce;
    case what::reduce_scatter:
    case what::reduce_scatter_block: return reduce_scatter;
    case what::bcast: return bcast;
    case what::allgather:
    case what::allgatherv: return allgather;
    case what::alltoall:
    case what::alltoallv: return alltoall;
    default: return gather;
    }
}

dynamic::algo_id algorithm_in(const string& name, what which)
{
    if (name == "auto") return dynamic::algo_id::Auto;
    const auto all = algorithms_of(which);
    const auto at = std::find(all.begin(), all.end(), name);
    if (at == all.end())
        throw bad_plan("'algo' is '" + name + "', which " + what_names[static_cast<std::size_t>(which)] +
                       " does not have; it has auto, " + list_of(all));
    return *dynamic::from_name<dynamic::algo_id>(name);
}

void read_choice(const json& wish, const string& algo, rule& r, what which)
{
    const string codec_name = wish.contains("codec") ? text_of(wish["codec"], "codec") : "none";
    const bool measures = codec_name == "auto";
    if (measures && algo != "auto")
        throw bad_plan("'algo' is '" + algo +
                       "'; with the codec auto, the call chooses the algorithm as well");
    if (measures && wish.contains("of"))
        throw bad_plan("'of' is for codecs with a name; with auto, a bound is for one compression");
    if (measures && (which == what::reduce_scatter || which == what::allgatherv || which == what::alltoallv ||
                     which == what::gatherv || which == what::scatterv))
        throw bad_plan("the codec auto is not for " + string(what_names[static_cast<std::size_t>(which)]) +
                       ", nor for any other collective with counts: such calls measure nothing");
    index_of(codec_name, codec_names, "codec");
    r.how = {.algo = algorithm_in(algo, which), .codec = *dynamic::from_name<dynamic::codec_id>(codec_name)};
    const bool exact = r.how.codec == dynamic::codec_id::None || r.how.codec == dynamic::codec_id::Lossless;
    const bool relative = wish.contains("relative");
    const char* const key = relative ? "relative" : "bound";
    r.text = algo + ", " + codec_name;
    if (exact) {
        for (const char* each : {"bound", "relative", "of"})
            if (wish.contains(each))
                throw bad_plan("'" + string(each) + "' is for lossy codecs, and '" + codec_name +
                               "' is exact");
        if (r.how.codec == dynamic::codec_id::None && algo == "auto")
            throw bad_plan(
                "the plan names neither a codec nor an algorithm; write \"mpi\" to leave calls to MPI");
    } else {
        if (wish.contains("bound") == relative)
            throw bad_plan("'" + codec_name + "' is lossy and needs either 'bound' or 'relative'");
        const json& bound = wish[key];
        r.how.bound = bound.is_number() ? bound.get<double>() : 0;
        if (!(r.how.bound > 0) || !(r.how.bound < (relative ? 1 : 1e300)))
            throw bad_plan("'" + string(key) + "' is " + quoted(bound) + "; it must be a positive number" +
                           (relative ? " below 1" : ""));
        static constexpr const char* of[] = {"compression", "result"};
        r.how.of_result = wish.contains("of") && index_of(text_of(wish["of"], "of"), of, "of") == 1;
        if (relative) r.how.kind = dynamic::bound_id::RelativeBound;
        r.text += string(relative ? " within the range times " : " within ") + quoted(bound) +
                  (r.how.of_result ? " of the result" : "");
    }
    r.compresses = true;
}

/// Adds the rules that one object stands for.
void read_rule(const json& object, std::vector<rule>& rules)
{
    if (!object.is_object()) throw bad_plan("it is " + quoted(object) + "; it must be an object in braces");
    only_keys(object, {"collective", "bytes", "type", "operation", "communicator", "plan", "comment"},
              "in a rule");
    for (const char* needed : {"collective", "plan"})
        if (!object.contains(needed)) throw bad_plan("it has no '" + string(needed) + "'");
    rule r;
    r.collectives = names_in(object["collective"], what_names, "collective");
    r.types = object.contains("type") ? names_in(object["type"], kind_names, "type") : ~0u;
    r.operations =
        object.contains("operation") ? names_in(object["operation"], operation_names, "operation") : ~0u;
    if (object.contains("bytes")) r.bytes = range_in(object["bytes"], "bytes");
    if (object.contains("communicator")) {
        const json& of = object["communicator"];
        if (!of.is_object())
            throw bad_plan("'communicator' is " + quoted(of) +
                           "; it must be an object with 'name' or 'size'");
        only_keys(of, {"name", "size"}, "in 'communicator'");
        if (of.contains("name")) r.communicator = text_of(of["name"], "name");
        if (of.contains("size")) r.ranks = range_in(of["size"], "size");
    }
    const json& wish = object["plan"];
    if (wish.is_string()) {
        if (text_of(wish, "plan") != "mpi")
            throw bad_plan("'plan' is " + quoted(wish) + "; it must be \"mpi\", or an object in braces");
        r.text = "mpi";
        rules.push_back(r);
        return;
    }
    if (!wish.is_object())
        throw bad_plan("'plan' is " + quoted(wish) + "; it must be \"mpi\", or an object in braces");
    only_keys(wish, {"algo", "codec", "bound", "relative", "of"}, "in 'plan'");
    const string algo = wish.contains("algo") ? text_of(wish["algo"], "algo") : "auto";
    const unsigned asked = r.collectives;
    for (std::size_t i = 0; i < whats; ++i) {
        if (!bit(asked, i)) continue;
        r.collectives = 1u << i;
        read_choice(wish, algo, r, static_cast<what>(i));
        if (r.how.bound > 0) {
            if (!object.contains("type"))
                throw bad_plan(
                    "a rule with a bound must say for which 'type' it is: \"float\", \"double\", or a list "
                    "of them");
            if (!object.contains("bytes")) r.bytes.from = 64 << 10;
        }
        rules.push_back(r);
    }
}

std::size_t line_at(std::string_view text, std::size_t at)
{
    return 1 +
           static_cast<std::size_t>(std::count(
               text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())), '\n'));
}

/// The line in which the rule begins, in text that is known to be right JSON: rules are objects in the only
/// array at this depth.
std::size_t line_of_rule(std::string_view text, std::size_t index, int depth)
{
    int level = 0;
    std::size_t seen = 0;
    bool in_rules = depth == 1, in_text = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_text) {
            if (c == '\\') ++i;
            else if (c == '"') in_text = false;
            continue;
        }
        if (c == '"') {
            in_text = true;
            if (level == 1 && depth == 2) in_rules = in_rules || text.substr(i, 7) == "\"rules\"";
        }
        if ((c == '{' || c == '[') && level++ == depth && in_rules && c == '{' && seen++ == index)
            return line_at(text, i);
        if (c == '}' || c == ']') --level;
    }
    return 1;
}

}  // namespace

plan read_plan(std::string_view text)
{
    plan p;
    json all;
    try {
        all = json::parse(text);
    } catch (const json::parse_error& e) {
        const std::size_t at = e.byte > 0 ? e.byte - 1 : 0;
        p.fault = "line " + std::to_string(line_at(text, at)) + ": this is not JSON: " + e.what();
        return p;
    }
    const bool bare = all.is_array();
    std::optional<std::size_t> index;
    try {
        if (!bare) {
            if (!all.is_object() || !all.contains("rules") || !all["rules"].is_array())
                throw bad_plan("it must be a list of rules, or an object with the list 'rules'");
            only_keys(all, {"rules", "nonblocking", "comment"}, "beside 'rules'");
            if (all.contains("nonblocking")) {
                if (!all["nonblocking"].is_boolean()) throw bad_plan("'nonblocking' must be true or false");
                p.nonblocking = all["nonblocking"].get<bool>();
            }
        }
        index = 0;
        for (const json& each : bare ? all : all["rules"]) {
            read_rule(each, p.rules);
            ++*index;
        }
        index.reset();
        // What it measures are MPI's own calls, too, and these move no nonblocking calls on.
        if (p.nonblocking && std::any_of(p.rules.begin(), p.rules.end(),
                                         [](const rule& r) { return r.compresses && is_measured(r.how); }))
            throw bad_plan("a plan with 'nonblocking' cannot have the codec auto");
    } catch (const bad_plan& e) {
        p = {};
        if (index)
            p.fault = "rule " + std::to_string(*index + 1) + " (line " +
                      std::to_string(line_of_rule(text, *index, bare ? 1 : 2)) + "): " + e.what();
        else p.fault = e.what();
    }
    return p;
}

}  // namespace preload
