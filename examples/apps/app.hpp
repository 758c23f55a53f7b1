// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// app.hpp - what the applications share: options, ranks that are MPI processes or threads, and a comparison
// of plans. A program solves its problem once per plan and bound, in turns with the plain call, and judges
// each result. report.cpp has options, tables and JSON.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>
#include <ccoll/value.hpp>

#include "report.hpp"

namespace app {

using namespace ccoll::policies;

/// What --plan chooses from. The first is the call without a codec: with MPI, MPI's own.
inline constexpr ccoll::menu<
    ccoll::Plan<>, ccoll::Plan<Codec::SZp, RuntimeBound>, ccoll::Plan<Codec::SZe, RuntimeBound>,
    ccoll::Plan<Codec::SZx, RuntimeBound>, ccoll::Plan<Codec::BitZip, RuntimeBound>,
    ccoll::Plan<Codec::BitWise, RuntimeBound>, ccoll::Plan<Codec::ByteZip, RuntimeBound>,
    ccoll::Plan<Codec::BitCut, RuntimeBound>, ccoll::Plan<Codec::Lossless>>
    plans{"none", "SZp", "SZe", "SZx", "BitZip", "BitWise", "ByteZip", "BitCut", "Lossless"};

inline double seconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The ranks of a program. `Comm` goes to every call of ccoll.
template <class Comm>
struct ranks {
    const Comm& comm;
    int rank, size;
    std::string transport;
};

/// Which of n items, dealt out in blocks, belong to a rank: from first to last - 1.
struct block {
    std::size_t first, last;
    block(std::size_t n, int rank, int size)
        : first(n * static_cast<std::size_t>(rank) / static_cast<std::size_t>(size)),
          last(n * static_cast<std::size_t>(rank + 1) / static_cast<std::size_t>(size))
    {}
    std::size_t size() const { return last - first; }
};

/// How one run of a program communicates, and what that has cost so far.
template <class Comm, class Choice>
struct way {
    const ranks<Comm>& here;
    const Comm& comm;
    std::string name;  ///< of the plan
    Choice plan;
    double bound;
    bool plain;  ///< without a codec
    ccoll::report total{};
    double call_s = 0;

    /// Times a call of ccoll and keeps its report.
    template <class Call>
    void call(Call&& make)
    {
        const double start = seconds();
        total += make();
        call_s += seconds() - start;
    }
};

/// Which plans of a menu take a bound.
template <class... Plans>
std::vector<plan_name> names_of(const ccoll::menu<Plans...>& menu)
{
    const std::vector<bool> bounded{Plans::bound::given_at_run_time...};
    std::vector<plan_name> names;
    for (std::size_t i = 0; i < menu.size(); ++i) names.push_back({std::string(menu.name(i)), bounded[i]});
    return names;
}

/// Solves the problem with the plain call, and with each plan and bound of `o`, in turns, and prints and
/// writes what came out.
///
/// @param solve  (way&) -> result. It is timed.
/// @param judge  (way&, const result&) -> figures: the error of a result and what it may be. Of each figure
///               the largest of all ranks counts.
/// @return       whether every figure is within its limit, on all ranks the same
template <class Comm, class Menu, class Solve, class Judge>
bool compare(const ranks<Comm>& here, const options& o, const std::string& title, const Menu& menu,
             Solve solve, Judge judge)
{
    table results{o.program, title, here.transport, here.size, o.repeat, {}};
    for (const plan_name& each : names_of(menu)) {
        const bool wanted =
            each.name == "none" || std::find(o.plans.begin(), o.plans.end(), each.name) != o.plans.end();
        if (!wanted) continue;
        for (const double bound : each.bounded ? o.bounds : std::vector<double>{0})
            results.rows.push_back({each.name, bound, {}, {}, 1, {}});
    }
    const int warm_up = o.repeat > 1 ? 1 : 0;
    for (int round = -warm_up; round < o.repeat; ++round)
        for (row& each : results.rows) {
            way<Comm, decltype(menu.at(0))> one{here,       here.comm,          each.plan, menu.at(each.plan),
                                                each.bound, each.plan == "none"};
            ccoll::value::allreduce(0.0, here.comm);  // all begin together
            const double start = seconds();
            const auto result = solve(one);
            std::vector<double> took{seconds() - start, one.call_s};
            ccoll::allreduce<Op::Max>(took, here.comm);
            if (round < 0) continue;
            each.run_s.push_back(took[0]);
            each.call_s.push_back(took[1]);
            if (round + 1 < o.repeat) continue;
            // Not total() of ccoll, which works on a struct: its engine would be compiled in every program.
            std::vector<double> bytes{static_cast<double>(one.total.raw_bytes),
                                      static_cast<double>(one.total.sent_bytes)};
            ccoll::allreduce(bytes, here.comm);
            each.ratio = one.plain || bytes[1] == 0 ? 1 : bytes[0] / bytes[1];
            each.figures = judge(one, result);
            std::vector<double> values;
            for (const figure& f : each.figures) values.insert(values.end(), {f.value, f.limit});
            ccoll::allreduce<Op::Max>(values, here.comm);
            for (std::size_t i = 0; i < each.figures.size(); ++i) {
                each.figures[i].value = values[2 * i];
                each.figures[i].limit = values[2 * i + 1];
            }
        }
    if (here.rank == 0) {
        print(results);
        write(results, o.out);
    }
    return all_within(results);
}

namespace detail {

template <class Program>
int on_threads(Program& program, const options& o)
{
    bool good = true;
    try {
        ccoll::run_ranks(o.ranks, [&](ccoll::threads_comm& comm) {
            const ranks<ccoll::threads_comm> here{comm, comm.rank(), comm.size(), "threads"};
            const bool mine = program.run(here, o);
            if (comm.rank() == 0) good = mine;
        });
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: %s\n", o.program.c_str(), e.what());
        return 1;
    }
    return good ? 0 : 1;
}

#if !defined(CCOLL_NO_MPI)
inline std::string mpi_name()
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    std::string text(version);
    text.resize(std::min(text.size(), text.find_first_of(",\n")));
    const std::size_t label = text.find("Version:\t");  // as MPICH writes it
    return label == std::string::npos ? text : text.erase(label, std::string_view("Version:\t").size());
}

/// Only rank 0 says what is wrong with the options, and no rank leaves before MPI has ended.
template <class Program>
int on_mpi(int argc, char** argv, Program& program, const options& o, const parsed& p)
{
    MPI_Init(&argc, &argv);
    const MPI_Comm comm = MPI_COMM_WORLD;
    int rank = 0, size = 1, code = p.exit_code;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (p.finished) {
        if (rank == 0) say(p);
        MPI_Barrier(comm);
    } else {
        try {
            code = program.run(ranks<MPI_Comm>{comm, rank, size, mpi_name()}, o) ? 0 : 1;
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s: rank %d: %s\n", o.program.c_str(), rank, e.what());
            MPI_Abort(comm, 1);
        }
    }
    MPI_Finalize();
    return code;
}
#endif

}  // namespace detail

/// The main function of a program with these members: `settings()`, its own options; `defaults(options&)`;
/// `menu`, its plans; and `run(ranks, options)`, which says whether the results are as they must be. The exit
/// code is 0 if so, 1 if not, 2 for wrong options.
template <class Program>
int main(int argc, char** argv)
{
    Program program;
    options o;
    program.defaults(o);
    const parsed p = parse(argc, argv, o, program.settings(), names_of(Program::menu));
#if !defined(CCOLL_NO_MPI)
    if (o.transport == "mpi" || (o.transport == "auto" && started_by_mpirun()))
        return detail::on_mpi(argc, argv, program, o, p);
#else
    if (!p.finished && o.transport == "mpi") {
        std::fprintf(stderr, "%s: this program was built without MPI; use --transport threads\n",
                     o.program.c_str());
        return 2;
    }
#endif
    if (p.finished) return say(p);
    return detail::on_threads(program, o);
}

}  // namespace app
