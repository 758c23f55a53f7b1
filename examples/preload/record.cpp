// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record.hpp"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "route.hpp"

#include <ccoll/tune/settings.hpp>

namespace preload {
namespace {

constexpr std::size_t reasons = std::size(reason_names);

struct counters {
    std::atomic<std::uint64_t> done{0}, bytes{0}, raw{0}, sent{0}, left[reasons]{}, left_bytes[reasons]{};
    std::atomic<double> worst{0};
};
counters all[whats];

void add(std::atomic<std::uint64_t>& to, std::uint64_t n) { to.fetch_add(n, std::memory_order_relaxed); }

/// The same of all ranks.
struct totals {
    std::uint64_t done = 0, bytes = 0, raw = 0, sent = 0, left[reasons] = {}, left_bytes[reasons] = {};
    double worst = 0;

    double ratio() const { return sent == 0 ? 1 : static_cast<double>(raw) / static_cast<double>(sent); }
    std::uint64_t left_calls() const
    {
        std::uint64_t sum = 0;
        for (const auto each : left) sum += each;
        return sum;
    }
};
constexpr std::size_t numbers = 4 + 2 * reasons;

std::string size_text(std::uint64_t bytes)
{
    char text[32];
    const double b = static_cast<double>(bytes);
    if (b < 1e4) std::snprintf(text, sizeof text, "%.0f", b);
    else if (b < 1e7) std::snprintf(text, sizeof text, "%.1f k", b / 1e3);
    else if (b < 1e10) std::snprintf(text, sizeof text, "%.1f M", b / 1e6);
    else std::snprintf(text, sizeof text, "%.1f G", b / 1e9);
    return text;
}

void print_table(const totals (&of)[whats])
{
    std::string text =
        "ccoll preload:       compressed      bytes       sent   ratio  worst error   left to MPI\n";
    char line[256];
    for (std::size_t i = 0; i < whats; ++i) {
        const totals& t = of[i];
        if (t.done + t.left_calls() == 0) continue;
        std::snprintf(line, sizeof line, "%-20s %10llu %10s %10s %7.2f %12.3g", what_names[i],
                      static_cast<unsigned long long>(t.done), size_text(t.bytes).c_str(),
                      size_text(t.sent).c_str(), t.ratio(), t.worst);
        text += line;
        const char* separator = "   ";
        for (std::size_t r = 0; r < reasons; ++r) {
            if (t.left[r] == 0) continue;
            std::snprintf(line, sizeof line, "%s%llu (%s bytes): %s", separator,
                          static_cast<unsigned long long>(t.left[r]), size_text(t.left_bytes[r]).c_str(),
                          reason_names[r]);
            text += line;
            separator = "; ";
        }
        text += "\n";
    }
    std::fputs(text.c_str(), stderr);
}

void write_json(const totals (&of)[whats], const std::string& path)
{
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
        std::fprintf(stderr, "ccoll preload: %s cannot be written: %s\n", path.c_str(), std::strerror(errno));
        return;
    }
    const auto number = [](std::uint64_t n) { return std::to_string(n); };
    std::string text = "{\"ccoll\": \"preload\", \"collectives\": [";
    const char* separator = "\n";
    for (std::size_t i = 0; i < whats; ++i) {
        const totals& t = of[i];
        if (t.done + t.left_calls() == 0) continue;
        char worst[32];
        std::snprintf(worst, sizeof worst, "%.17g", t.worst);
        text += std::string(separator) + "{\"collective\": \"" + what_names[i] +
                "\", \"compressed\": " + number(t.done) + ", \"bytes\": " + number(t.bytes) +
                ", \"raw_bytes\": " + number(t.raw) + ", \"sent_bytes\": " + number(t.sent) +
                ", \"worst_case_error\": " + worst + ", \"left\": [";
        const char* next = "";
        for (std::size_t r = 0; r < reasons; ++r) {
            if (t.left[r] == 0) continue;
            text += std::string(next) + "{\"why\": \"" + reason_names[r] +
                    "\", \"calls\": " + number(t.left[r]) + ", \"bytes\": " + number(t.left_bytes[r]) + "}";
            next = ", ";
        }
        text += "]}";
        separator = ",\n";
    }
    text += "\n]}\n";
    std::fputs(text.c_str(), file);
    std::fclose(file);
}

}  // namespace

void note_left(const arguments& a, reason why)
{
    int me = 0;
    if (a.comm == MPI_COMM_NULL || PMPI_Comm_rank(a.comm, &me) != MPI_SUCCESS || me != 0) return;
    counters& c = all[static_cast<std::size_t>(a.which)];
    add(c.left[static_cast<std::size_t>(why)], 1);
    add(c.left_bytes[static_cast<std::size_t>(why)], bytes_seen_by(a));
}

void note_done(what which, bool first_rank, std::uint64_t bytes, const ccoll::report& facts)
{
    counters& c = all[static_cast<std::size_t>(which)];
    if (first_rank) {
        add(c.done, 1);
        add(c.bytes, bytes);
    }
    add(c.raw, facts.raw_bytes);
    add(c.sent, facts.sent_bytes);
    double before = c.worst.load(std::memory_order_relaxed);
    while (before < facts.worst_case_error &&
           !c.worst.compare_exchange_weak(before, facts.worst_case_error)) {}
}

const report_wish& asked_report()
{
    static const report_wish once = [] {
        report_wish wish;
        const char* const text = std::getenv("CCOLL_PLAN_REPORT");
        if (text == nullptr || *text == 0) return wish;
        wish.given = true;
        const std::string_view word = text;
        if (word == "off") wish.off = true;
        else if (word.starts_with("file=") && word.size() > 5)
            wish.path = ccoll::tune::from_first_folder(word.substr(5));
        else if (word != "table") {
            wish.fault = "CCOLL_PLAN_REPORT: '" + std::string(word) +
                         "' is not known; known are off, table and file=<path>";
            wish.given = false;
        }
        return wish;
    }();
    return once;
}

void write_records(bool with_plan)
{
    const report_wish& asked = asked_report();
    // All ranks take part or none, whatever their environments are.
    int writes = asked.given ? !asked.off : with_plan;
    PMPI_Bcast(&writes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (writes == 0) return;
    std::uint64_t mine[whats][numbers];
    double worst[whats];
    for (std::size_t i = 0; i < whats; ++i) {
        std::uint64_t* next = mine[i];
        for (const auto* each : {&all[i].done, &all[i].bytes, &all[i].raw, &all[i].sent})
            *next++ = each->load();
        for (const auto& each : all[i].left) *next++ = each.load();
        for (const auto& each : all[i].left_bytes) *next++ = each.load();
        worst[i] = all[i].worst.load();
    }
    std::uint64_t sums[whats][numbers] = {};
    double largest[whats] = {};
    PMPI_Reduce(mine, sums, whats * numbers, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(worst, largest, whats, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    int me = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me != 0) return;
    totals of[whats];
    for (std::size_t i = 0; i < whats; ++i) {
        const std::uint64_t* next = sums[i];
        totals& t = of[i];
        for (auto* each : {&t.done, &t.bytes, &t.raw, &t.sent}) *each = *next++;
        for (auto& each : t.left) each = *next++;
        for (auto& each : t.left_bytes) each = *next++;
        t.worst = largest[i];
    }
    print_table(of);
    if (!asked.path.empty()) write_json(of, asked.path);
}

}  // namespace preload
