// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace app {

namespace {

CLI::Validator within(double least, double most)
{
    const std::string allowed = fmt::format("{:g} .. {:g}", least, most);
    return {[=](const std::string& text) {
                double value = 0;
                const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
                const bool number = error == std::errc{} && end == text.data() + text.size();
                if (!number) return fmt::format("'{}' is not a number in {}", text, allowed);
                return value >= least && value <= most ? std::string()
                                                       : fmt::format("{} is not in {}", text, allowed);
            },
            allowed};
}

double median(std::vector<double> values)
{
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

std::string ms(double s) { return fmt::format("{:.2f}", 1e3 * s); }

}  // namespace

parsed parse(int argc, char** argv, options& o, const std::vector<setting>& settings,
             const std::vector<plan_name>& plans)
{
    CLI::App cli(o.about);
    cli.option_defaults()->always_capture_default();
    // Before the others, which may overrule it.
    if (std::any_of(argv + 1, argv + argc, [](const char* a) { return std::strcmp(a, "--quick") == 0; })) {
        o.repeat = 1;
        if (o.bounds.size() > 2) o.bounds = {o.bounds.front(), o.bounds.back()};
        for (const setting& s : settings)
            std::visit(
                [&](auto* value) {
                    *value = static_cast<std::remove_reference_t<decltype(*value)>>(s.quick);
                },
                s.value);
    }
    for (const setting& s : settings)
        std::visit(
            [&](auto* value) { cli.add_option(s.name, *value, s.help)->check(within(s.least, s.most)); },
            s.value);
    std::vector<std::string> names;
    for (const plan_name& p : plans) names.push_back(p.name);
    cli.add_option("--plan", o.plans,
                   "codecs to compare with the plain call, which always runs; none: nothing else")
        ->check(CLI::IsMember(names))
        ->take_all();
    cli.add_option("--bound", o.bounds, "largest error of one compression; several may be given")
        ->check(within(1e-300, 1e299))
        ->take_all();
    cli.add_option("--transport", o.transport, "auto: mpi under mpirun, threads otherwise")
        ->check(CLI::IsMember(std::vector<std::string>{"auto", "mpi", "threads"}));
    cli.add_option("--ranks", o.ranks, "number of ranks if they are threads (with MPI, mpirun decides)")
        ->check(within(1, 64));
    cli.add_option("--repeat", o.repeat, "repetitions; the median time is shown")->check(within(1, 1000));
    cli.add_option("--out", o.out, "folder for the results");
    cli.add_flag("--quick", o.quick, "a small problem, once");
    bool check = false;
    cli.add_flag("--check", check, "check the options, and run nothing");
    try {
        cli.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return {true, 0, cli.help()};
    } catch (const CLI::ParseError& e) {
        return {true, 2, fmt::format("{}: {}; --help lists what there is\n", o.program, e.what())};
    }
    return {check, 0, ""};
}

bool started_by_mpirun()
{
    for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
        if (std::getenv(variable) != nullptr) return true;
    return false;
}

int say(const parsed& p)
{
    fmt::print(p.exit_code == 0 ? stdout : stderr, "{}", p.text);
    std::fflush(nullptr);
    return p.exit_code;
}

bool all_within(const table& t)
{
    for (const row& r : t.rows)
        for (const figure& f : r.figures)
            if (!f.within()) return false;
    return true;
}

void print(const table& t)
{
    const double plain = median(t.rows[0].call_s);
    fmt::print("{}: {}; {} ranks ({}){}\n", t.program, t.title, t.ranks, t.transport,
               t.repeat > 1 ? fmt::format(", median of {}", t.repeat) : "");
    fmt::print("  {:<12} {:>8} {:>7} {:>10} {:>10} {:>8}", "plan", "bound", "ratio", "run, ms", "calls, ms",
               "/ plain");
    // A column for each figure.
    const auto text = [](const figure& f) {
        const bool counts = f.value == std::floor(f.value) && std::fabs(f.value) < 1e6;
        const std::string value = counts ? fmt::format("{:.0f}", f.value) : fmt::format("{:.2e}", f.value);
        return std::isinf(f.limit) ? value
                                   : value + fmt::format(" {} {:.2e}", f.within() ? "<=" : "ABOVE", f.limit);
    };
    std::vector<std::size_t> width;
    for (const figure& f : t.rows[0].figures) width.push_back(f.name.size() + 2);
    for (const row& r : t.rows)
        for (std::size_t i = 0; i < r.figures.size(); ++i)
            width[i] = std::max(width[i], text(r.figures[i]).size() + 2);
    for (std::size_t i = 0; i < width.size(); ++i) fmt::print("{:>{}}", t.rows[0].figures[i].name, width[i]);
    fmt::print("\n");
    for (const row& r : t.rows) {
        const double calls = median(r.call_s);
        fmt::print("  {:<12} {:>8} {:>7.2f} {:>10} {:>10} {:>8}", r.plan == "none" ? "plain" : r.plan,
                   r.bound > 0 ? fmt::format("{:.0e}", r.bound) : "", r.ratio, ms(median(r.run_s)), ms(calls),
                   plain > 0 ? fmt::format("{:.2f}", calls / plain) : "");
        for (std::size_t i = 0; i < r.figures.size(); ++i) fmt::print("{:>{}}", text(r.figures[i]), width[i]);
        fmt::print("\n");
    }
    std::fflush(stdout);
    for (const row& r : t.rows)
        for (const figure& f : r.figures)
            if (!f.within())
                fmt::print(stderr, "{}: plan {}, bound {:g}: {} is {:g}, and may be {:g}\n", t.program,
                           r.plan, r.bound, f.name, f.value, f.limit);
}

void write(const table& t, const std::string& folder)
{
    const std::filesystem::path file = std::filesystem::path(folder) / (t.program + ".jsonl");
    std::error_code ignored;  // a file that cannot be written says so below
    std::filesystem::create_directories(folder, ignored);
    std::ofstream out(file);
    for (const row& r : t.rows) {
        nlohmann::json figures;
        for (const figure& f : r.figures) {
            nlohmann::json one{{"name", f.name}, {"value", f.value}};
            if (!std::isinf(f.limit)) one["limit"] = f.limit;
            figures.push_back(one);
        }
        out << nlohmann::json{{"app", t.program},
                              {"title", t.title},
                              {"transport", t.transport},
                              {"ranks", t.ranks},
                              {"plan", r.plan},
                              {"bound", r.bound},
                              {"ratio", r.ratio},
                              {"run_s", median(r.run_s)},
                              {"call_s", median(r.call_s)},
                              {"runs_s", r.run_s},
                              {"calls_s", r.call_s},
                              {"figures", figures},
                              {"plain_call_s", median(t.rows[0].call_s)}}
                   .dump()
            << '\n';
    }
    if (!out.flush())
        throw std::runtime_error("cannot write " + file.string() +
                                 "; choose a folder with --out that you may write to");
}

}  // namespace app
