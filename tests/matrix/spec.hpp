// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One entry of the matrix, as values and as a line of text: what a failure prints is what CCOLL_MATRIX_CASE
// takes.
//
//   CCOLL_MATRIX       all: every entry, in order; else a sample
//   CCOLL_MATRIX_SEED  of the sample; a new one every run if not given
//   CCOLL_MATRIX_CASE  these entries and no others, with ';' between them
//   CCOLL_MATRIX_SECONDS, CCOLL_MATRIX_CASES  of a sample, for each number of ranks
//   CCOLL_MATRIX_FAULTS=0    no rank differs
//   CCOLL_MATRIX_TRACE       every entry is printed before it runs
//   CCOLL_MATRIX_NEW_WORLDS  a new communicator after ranks had different plans
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "support/fields.hpp"

namespace matrix {

/// What a row of the table is called.
struct plan_name {
    std::string collective, algo, codec, placement, op, bound, check, api;

    std::string text() const
    {
        return collective + "/" + algo + "/" + codec + "/" + placement + "/" + op + "/" + bound + "/" +
               check + "/" + api;
    }
};

enum class way { blocking, nonblocking, persistent, overlapped };
inline constexpr const char* way_names[] = {"blocking", "nonblocking", "persistent", "overlapped"};

/// How the parts of a v variant lie in a buffer; `no` is the call without counts.
enum class cut { no, even, ragged, lone, gaps, shuffled };
inline constexpr const char* cut_names[] = {"no", "even", "ragged", "lone", "gaps", "shuffled"};

/// How one rank differs from the others.
enum class fault { no, count, root, no_such_root, bound, plan };
inline constexpr const char* fault_names[] = {"no", "count", "root", "no_such_root", "bound", "plan"};

struct spec {
    std::string element, plan;
    int p = 1, root = 0;
    std::size_t n = 0;  ///< of the vector, or of one part where there are parts
    cut parts = cut::no;
    bool in_place = false;
    way how = way::blocking;
    std::string field = "smooth";
    double eb = 1e-3;   ///< with RuntimeBound
    unsigned seed = 1;  ///< of the data
    /// Rank r contributes the data of rank r + shift, which does not change reproducible sums.
    int shift = 0;
    fault bad = fault::no;
    int odd = 0;        ///< the rank that differs
    std::string other;  ///< its plan

    std::string text() const
    {
        char number[32];
        std::snprintf(number, sizeof number, "%.17g", eb);
        std::string s = "element=" + element + " plan=" + plan + " p=" + std::to_string(p) +
                        " n=" + std::to_string(n) + " root=" + std::to_string(root) +
                        " parts=" + cut_names[static_cast<int>(parts)] +
                        " in_place=" + (in_place ? "1" : "0") + " how=" + way_names[static_cast<int>(how)] +
                        " field=" + field + " eb=" + number + " seed=" + std::to_string(seed) +
                        " shift=" + std::to_string(shift);
        if (bad != fault::no)
            s += std::string(" bad=") + fault_names[static_cast<int>(bad)] + " odd=" + std::to_string(odd);
        if (!other.empty()) s += " other=" + other;
        return s;
    }
};

template <class Enum, std::size_t Count>
void take_name(Enum& into, const char* const (&names)[Count], const std::string& text)
{
    for (std::size_t i = 0; i < Count; ++i)
        if (text == names[i]) into = static_cast<Enum>(i);
}

/// Reads what text() wrote. A value that is not named keeps its default.
inline spec parse(const std::string& line)
{
    spec s;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = line.find(' ', at) == std::string::npos ? line.size() : line.find(' ', at);
        const std::string word = line.substr(at, end - at);
        at = end + 1;
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) continue;
        const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
        const auto number = [&] { return std::atoi(value.c_str()); };
        if (key == "element") s.element = value;
        else if (key == "plan") s.plan = value;
        else if (key == "p") s.p = number();
        else if (key == "n") s.n = static_cast<std::size_t>(std::atoll(value.c_str()));
        else if (key == "root") s.root = number();
        else if (key == "parts") take_name(s.parts, cut_names, value);
        else if (key == "in_place") s.in_place = number() != 0;
        else if (key == "how") take_name(s.how, way_names, value);
        else if (key == "field") s.field = value;
        else if (key == "eb") s.eb = std::atof(value.c_str());
        else if (key == "seed") s.seed = static_cast<unsigned>(number());
        else if (key == "shift") s.shift = number();
        else if (key == "bad") take_name(s.bad, fault_names, value);
        else if (key == "odd") s.odd = number();
        else if (key == "other") s.other = value;
    }
    return s;
}

/// Which ranks share a node, for Algo::Hierarchical: nodes of different size, or one alone, whose ranks do
/// not follow each other.
inline std::vector<int> nodes_of_world(int p)
{
    std::vector<int> nodes;
    for (int rank = 0; rank < p; ++rank) nodes.push_back(rank * rank % ((p + 1) / 2));
    return nodes;
}
inline std::size_t node_count(int p)
{
    const std::vector<int> nodes = nodes_of_world(p);
    return std::set<int>(nodes.begin(), nodes.end()).size();
}

inline const char* environment(const char* name)
{
    const char* const value = std::getenv(name);
    return value != nullptr && *value != 0 ? value : nullptr;
}

inline std::vector<spec> asked_for()
{
    std::vector<spec> list;
    const char* const text = environment("CCOLL_MATRIX_CASE");
    if (text == nullptr) return list;
    std::string rest = text;
    for (std::size_t end = 0; end != std::string::npos;
         rest = end == std::string::npos ? "" : rest.substr(end + 1)) {
        end = rest.find(';');
        list.push_back(parse(rest.substr(0, end)));
    }
    return list;
}

inline bool everything()
{
    return environment("CCOLL_MATRIX") != nullptr && std::string(environment("CCOLL_MATRIX")) == "all";
}

/// Another one in every run, unless the environment names one.
inline unsigned sample_seed()
{
    if (const char* const given = environment("CCOLL_MATRIX_SEED"))
        return static_cast<unsigned>(std::strtoul(given, nullptr, 10));
    return static_cast<unsigned>(std::chrono::system_clock::now().time_since_epoch().count() / 1000 %
                                 1000000);
}

inline double number_from(const char* name, double otherwise)
{
    const char* const given = environment(name);
    return given != nullptr ? std::atof(given) : otherwise;
}

}  // namespace matrix
