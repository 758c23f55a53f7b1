// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/settings.hpp - floor 2. What the environment says about calls that choose by measuring:
//
//   CCOLL_TUNE=off               nothing is measured: such calls take their first candidate
//   CCOLL_TUNE=file=tuned.json   classes that are in this file take its choice, without measuring, so that a
//                                run can be repeated bit for bit. Others are measured, and added to the file
//                                when their communicator ends
//   CCOLL_TUNE=search            all classes are measured, two candidates of each are tried whatever the
//                                model says, and what the file has of them is replaced
//   CCOLL_TUNE=report            what was found is written to the standard error output when a communicator
//                                ends
//   CCOLL_TUNE=search,report,file=tuned.json
//                                several of these, with commas between them
//   CCOLL_ALGO=allreduce:1M-:ring,szp
//                                takes a candidate by its names (tune/override.hpp)
//
// All ranks must have the same settings and the same file. They compare a hash of them in the first such call
// on each communicator.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include <unistd.h>

#include <ccoll/tune/file.hpp>
#include <ccoll/tune/override.hpp>

namespace ccoll::inline CCOLL_ABI::tune {

struct settings {
    bool measures = true;    ///< not CCOLL_TUNE=off
    bool searches = false;   ///< CCOLL_TUNE=search
    bool reports = false;    ///< CCOLL_TUNE=report
    std::string path;        ///< of the tuning file, from the root of all folders; empty: none
    std::string fault;       ///< one sentence about CCOLL_TUNE; empty if there is none
    std::string warning;     ///< about the file, to be told once
    tuning_table known;      ///< what the file had
    parsed_overrides rules;  ///< of CCOLL_ALGO
    std::uint64_t hash = 0;  ///< of all of it; 0 if the environment says nothing

    /// No rule, right or wrong, and no class of a file could apply to a call.
    bool says_nothing() const noexcept
    {
        return fault.empty() && rules.rules.empty() && rules.fault.empty() && known.classes.empty();
    }
};

/// The folder in which this process is; "" if the system does not say.
[[gnu::cold]] inline std::string present_folder()
{
    std::string folder(4096, '\0');
    if (getcwd(folder.data(), folder.size()) == nullptr) return {};
    folder.resize(folder.find('\0'));
    return folder;
}
/// Where relative paths of the environment begin: a program may be elsewhere when it needs them first, and
/// when a file is written. Taken when the program starts, or a library that has this code is loaded.
inline const std::string first_folder = present_folder();

/// @param path  as the environment has it
[[gnu::cold]] inline std::string from_first_folder(std::string_view path)
{
    return path.empty() || path.front() == '/' ? std::string(path) : first_folder + '/' + std::string(path);
}

/// @param tune, algo  as the variables have them; null if they are not set
[[gnu::cold]] inline settings read_settings(const char* tune, const char* algo)
{
    settings s;
    if (algo != nullptr) s.rules = parse_overrides(algo);
    std::string_view rest = tune != nullptr ? tune : "";
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        const std::string_view word = rest.substr(0, end);
        if (word == "off") s.measures = false;
        else if (word == "search") s.searches = true;
        else if (word == "report") s.reports = true;
        else if (word.starts_with("file=") && word.size() > 5) s.path = from_first_folder(word.substr(5));
        else if (!word.empty() && s.fault.empty())
            s.fault =
                "CCOLL_TUNE: " + detail::in_quotes(word) +
                " is not known; known are off, report, search and file=<path>, with commas between them";
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (!s.path.empty()) {
        s.known = read_tuning(s.path);
        if (!s.known.fault.empty()) s.warning = "ccoll: CCOLL_TUNE is ignored: " + s.known.fault;
    }
    if (tune != nullptr || algo != nullptr)
        s.hash = hash_of(std::string(tune != nullptr ? tune : "") + '\n' + (algo != nullptr ? algo : "")) ^
                 s.known.hash;
    return s;
}
/// Those of this process, read once. They are never destroyed, because MPI may be finalised after static
/// objects are.
inline const settings& settings_of_process()
{
    static const settings& once =
        *new settings(read_settings(std::getenv("CCOLL_TUNE"), std::getenv("CCOLL_ALGO")));
    return once;
}

}  // namespace ccoll::inline CCOLL_ABI::tune
