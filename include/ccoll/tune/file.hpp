// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/file.hpp - floor 2. What tuning has found out, as a file that later runs begin with. JSON, with a
// class of calls in each line:
//
//   {"ccoll": "tuning", "version": 1, "classes": [
//     {"collective": "allreduce", "element": "float", "ranks": 4, "from_bytes": 1048576, "bound": "1e-3",
//      "shaped": false, "choice": "Ring,SZp,Homomorphic", "seconds": 0.0021, "plain_seconds": 0.0093,
//      "calls": 120}
//   ]}
//
// A class must have the first seven fields. The figures behind them may be missing, and fields with other
// names are skipped. Nothing here throws except std::bad_alloc: what is wrong with a file, or with the disk,
// is a sentence.
#pragma once

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <ccoll/tune/json.hpp>

namespace ccoll::inline CCOLL_ABI::tune {

inline constexpr std::uint64_t tuning_version = 1;
/// Longer files are refused. A class has about 200 bytes.
inline constexpr std::size_t most_tuning_bytes = std::size_t{16} << 20;

/// A class of calls, and how such calls are to be run. The first six members are its key.
struct tuned_class {
    std::string collective;        ///< "allreduce", ...
    std::string element;           ///< "float", ...
    int ranks = 1;                 ///< at least 1
    std::uint64_t from_bytes = 0;  ///< of the shortest vectors in the class
    std::string bound;             ///< as text, which is compared as such; empty: exact
    bool shaped = false;           ///< the calls say what shape the data have
    std::string choice;            ///< algorithm, codec and placement, with commas between them
    double seconds = 0;            ///< of a call with this choice; 0: unknown
    double plain_seconds = 0;      ///< of MPI's own collective; 0: unknown
    std::uint64_t calls = 0;       ///< on which the figures rest

    auto key() const { return std::tie(collective, element, ranks, from_bytes, bound, shaped); }
    friend bool operator==(const tuned_class&, const tuned_class&) = default;
};

/// What was read.
struct tuning_table {
    std::vector<tuned_class> classes;  ///< empty if there is a fault
    std::string fault;                 ///< one sentence; empty if there is none
    bool absent = false;               ///< there is no such file, which is no fault
    std::uint64_t hash = 0;            ///< of the text, for comparison between ranks
};

namespace detail {

/// Indices in the order of the keys, and of several with one key in the order of the classes.
inline std::vector<std::size_t> by_key(const std::vector<tuned_class>& classes)
{
    std::vector<std::size_t> order(classes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(classes[a].key(), a) < std::pair(classes[b].key(), b);
    });
    return order;
}

class tuning_reader : json_reader {
public:
    explicit tuning_reader(std::string_view text) : json_reader(text) {}

    bool document(std::vector<tuned_class>& classes)
    {
        std::vector<int> lines;
        bool has_head = false, has_version = false, has_classes = false;
        const bool ok = object([&](const std::string& name) {
            if (name == "ccoll") {
                std::string what;
                return once(name, has_head) && string(what) &&
                       (what == "tuning" || fail("\"ccoll\" is not \"tuning\""));
            }
            if (name == "version") {
                std::uint64_t version = 0;
                return once(name, has_version) && integer(version, 0, ~std::uint64_t{0}) &&
                       (version == tuning_version ||
                        fail("version " + std::to_string(version) + " is not known; version 1 is"));
            }
            if (name != "classes") return skip(0);
            return once(name, has_classes) && array([&] {
                       blank();
                       lines.push_back(line());
                       return tuned(classes.emplace_back());
                   });
        });
        if (!ok) return false;
        if (!at_end()) return fail("there is something behind the end");
        if (!has_head || !has_version || !has_classes)
            return fail(!has_head     ? "\"ccoll\": \"tuning\" is missing"
                        : has_version ? "\"classes\" are missing"
                                      : "\"version\" is missing");
        return all_different(classes, lines);
    }
    using json_reader::fault;

private:
    // ---- what a class consists of ----

    bool tuned(tuned_class& c)
    {
        constexpr auto most = std::numeric_limits<std::uint64_t>::max();
        static constexpr const char* names[] = {"collective", "element", "ranks",   "from_bytes",    "bound",
                                                "shaped",     "choice",  "seconds", "plain_seconds", "calls"};
        constexpr int must = 7;
        bool seen[std::size(names)] = {};
        std::uint64_t ranks = 0;
        const bool ok = object([&](const std::string& name) {
            const auto which = std::find(std::begin(names), std::end(names), name) - std::begin(names);
            if (which == std::ssize(names)) return skip(0);
            if (!once(name, seen[which])) return false;
            switch (which) {
            case 0: return string(c.collective);
            case 1: return string(c.element);
            case 2: return integer(ranks, 1, std::numeric_limits<int>::max());
            case 3: return integer(c.from_bytes, 0, most);
            case 4: return string(c.bound);
            case 5: return boolean(c.shaped);
            case 6: return string(c.choice);
            case 7: return seconds(c.seconds);
            case 8: return seconds(c.plain_seconds);
            default: return integer(c.calls, 0, most);
            }
        });
        if (!ok) return false;
        c.ranks = static_cast<int>(ranks);
        for (int i = 0; i < must; ++i)
            if (!seen[i]) return fail(std::string("a class has no \"") + names[i] + "\"");
        return true;
    }
    bool once(const std::string& name, bool& seen)
    {
        if (seen) return fail("there are two fields " + in_quotes(name));
        return seen = true;
    }
    bool all_different(const std::vector<tuned_class>& classes, const std::vector<int>& lines)
    {
        const std::vector<std::size_t> order = by_key(classes);
        for (std::size_t i = 1; i < order.size(); ++i)
            if (classes[order[i]].key() == classes[order[i - 1]].key())
                return fail_at(lines[order[i]],
                               "this class is also in line " + std::to_string(lines[order[i - 1]]));
        return true;
    }
    bool seconds(double& value)
    {
        std::string_view digits;
        if (!number(digits)) return false;
        if (to_double(digits, value) && value >= 0) return true;
        return fail("seconds must be a double that is not negative; found " + in_quotes(digits));
    }
    static bool to_double(std::string_view digits, double& value)
    {
#if defined(__cpp_lib_to_chars)
        const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return code == std::errc{} && end == digits.data() + digits.size();
#else  // libc++ 19 and older; strtod expects the decimal point of the program's locale
        std::string text(digits);
        std::replace(text.begin(), text.end(), '.', *std::localeconv()->decimal_point);
        char* end = nullptr;
        value = std::strtod(text.c_str(), &end);
        return end == text.c_str() + text.size() && value <= std::numeric_limits<double>::max();
#endif
    }
    bool integer(std::uint64_t& value, std::uint64_t least, std::uint64_t most)
    {
        std::string_view digits;
        if (!number(digits)) return false;
        const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (code == std::errc{} && end == digits.data() + digits.size() && value >= least && value <= most)
            return true;
        return fail("expected an integer from " + std::to_string(least) + " to " + std::to_string(most) +
                    "; found " + in_quotes(digits));
    }
};

inline std::string trouble_with(const char* what, const std::string& path, int code)
{
    return std::string("cannot ") + what + " '" + path + "': " + std::generic_category().message(code);
}

struct close_file {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using open_file = std::unique_ptr<std::FILE, close_file>;

}  // namespace detail

/// Reads the text of a tuning file. Any bytes are safe.
/// Cost: linear in the text, and a sort of the classes.
[[gnu::cold]] inline tuning_table parse_tuning(std::string_view text)
{
    tuning_table table;
    table.hash = hash_of(text);
    detail::tuning_reader reader(text);
    if (!reader.document(table.classes)) {
        table.classes.clear();
        table.fault = reader.fault();
    }
    return table;
}

/// Reads a tuning file. If there is a fault, its sentence names the file.
/// Cost: one pass over the file, which is held in memory.
[[gnu::cold]] inline tuning_table read_tuning(const std::string& path)
{
    tuning_table table;
    const detail::open_file file(std::fopen(path.c_str(), "rb"));
    if (file == nullptr) {
        table.absent = errno == ENOENT;
        if (!table.absent) table.fault = detail::trouble_with("open", path, errno);
        return table;
    }
    std::string text;
    for (std::size_t got = 1, piece = 65536; got > 0 && text.size() <= most_tuning_bytes;) {
        const std::size_t before = text.size();
        text.resize(before + piece);
        got = std::fread(text.data() + before, 1, piece, file.get());
        text.resize(before + got);
    }
    if (std::ferror(file.get()) != 0) {
        table.fault = detail::trouble_with("read", path, errno);
    } else if (text.size() > most_tuning_bytes) {
        table.fault = "'" + path + "' has more than 16 MiB, so it is no tuning file";
    } else {
        table = parse_tuning(text);
        if (!table.fault.empty())
            table.fault = "'" + path + "' is no tuning file of this version: " + table.fault;
    }
    return table;
}

/// The text of a tuning file, which parse_tuning() reads back exactly. Figures that are not finite or
/// negative become 0: unknown.
/// Precondition: no two classes have the same key, as after merge().
[[gnu::cold]] inline std::string tuning_text(std::span<const tuned_class> classes)
{
    std::string s = "{\"ccoll\": \"tuning\", \"version\": ";
    detail::append_number(s, tuning_version);
    s += ", \"classes\": [";
    for (const tuned_class& c : classes) {
        const char* between = &c == classes.data() ? "\n{" : ",\n{";
        const auto field = [&]<class V>(const char* name, const V& value) {
            ((s += between) += '"') += name;
            s += "\": ";
            between = ", ";
            if constexpr (std::is_same_v<V, std::string>) detail::append_string(s, value);
            else if constexpr (std::is_same_v<V, bool>) s += value ? "true" : "false";
            else detail::append_number(s, value);
        };
        field("collective", c.collective);
        field("element", c.element);
        field("ranks", c.ranks);
        field("from_bytes", c.from_bytes);
        field("bound", c.bound);
        field("shaped", c.shaped);
        field("choice", c.choice);
        field("seconds", c.seconds);
        field("plain_seconds", c.plain_seconds);
        field("calls", c.calls);
        s += '}';
    }
    return s += "\n]}\n";
}

/// The classes of both, in the order of their keys. Of several with one key, the last one of `fresh` is kept,
/// else the last of `old`.
/// Cost: a sort.
[[gnu::cold]] inline std::vector<tuned_class> merge(std::vector<tuned_class> old,
                                                    std::span<const tuned_class> fresh)
{
    old.insert(old.end(), fresh.begin(), fresh.end());
    std::vector<tuned_class> all;
    for (const std::size_t i : detail::by_key(old))
        if (!all.empty() && all.back().key() == old[i].key()) all.back() = std::move(old[i]);
        else all.push_back(std::move(old[i]));
    return all;
}

/// Writes a tuning file: to a new file in the same folder, which then takes the place of `path`. So a reader
/// sees the old file or the new one, and never a part. If `path` is a link, the link is replaced, and not the
/// file behind it. Of two programs that write at the same time, the last one wins.
/// @return a sentence about what went wrong; empty if nothing did. `path` is then what it was
[[gnu::cold]] inline std::string write_tuning(const std::string& path, std::span<const tuned_class> classes)
{
    const std::string text = tuning_text(classes);
    std::string aside;
    detail::open_file file;
    // Processes of several machines may have the same number, and share a folder.
    for (int attempt = 0; attempt < 16 && file == nullptr; ++attempt) {
        aside = path + "." + std::to_string(getpid()) + "." + std::to_string(attempt) + ".tmp";
        file.reset(std::fopen(aside.c_str(), "wbx"));
        if (file == nullptr && errno != EEXIST) break;
    }
    if (file == nullptr) return detail::trouble_with("create", aside, errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    const bool closed = std::fclose(file.release()) == 0;  // what a buffer still held fails here
    if (written && closed && std::rename(aside.c_str(), path.c_str()) == 0) return "";
    const int code = errno;
    std::remove(aside.c_str());
    return detail::trouble_with("write", path, code);
}

}  // namespace ccoll::inline CCOLL_ABI::tune
