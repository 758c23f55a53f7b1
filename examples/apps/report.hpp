// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// report.hpp - options, tables and JSON lines of the applications: the part that does not know ccoll and is
// compiled once (report.cpp).
#pragma once

#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace app {

/// What all programs take.
struct options {
    std::string program;  ///< its name
    std::string about;    ///< what it does, in a sentence
    std::vector<std::string> plans{"SZp"};
    std::vector<double> bounds;
    std::string transport = "auto";
    int ranks = 4;
    int repeat = 3;
    std::string out = "out";
    bool quick = false;
};

/// A number that one program takes. --quick replaces the default by `quick`.
struct setting {
    const char* name;
    std::variant<int*, double*> value;
    double quick, least, most;
    const char* help;
};

struct plan_name {
    std::string name;
    bool bounded;  ///< it takes --bound
};

/// What a program does next: `text` is said if it is finished already.
struct parsed {
    bool finished = false;
    int exit_code = 0;
    std::string text;
};

parsed parse(int argc, char** argv, options& o, const std::vector<setting>& settings,
             const std::vector<plan_name>& plans);
bool started_by_mpirun();
int say(const parsed& p);  ///< gives the exit code

/// One number about a result. Above its limit, it is wrong.
struct figure {
    std::string name;
    double value;
    double limit = std::numeric_limits<double>::infinity();

    bool within() const { return value <= limit; }  // false for NaN
};

struct row {
    std::string plan;
    double bound;
    /// Of the slowest rank, for each repetition: the whole run, its calls of ccoll.
    std::vector<double> run_s, call_s;
    double ratio;
    std::vector<figure> figures;
};

struct table {
    std::string program, title, transport;
    int ranks, repeat;
    std::vector<row> rows;  ///< the first is the plain call
};

bool all_within(const table& t);
void print(const table& t);
/// Writes a line of JSON per row to <folder>/<program>.jsonl. Throws if it cannot.
void write(const table& t, const std::string& folder);

}  // namespace app
