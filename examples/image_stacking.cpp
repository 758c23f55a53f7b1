// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// image_stacking.cpp - reverse-time migration with compressed image stacking. Every rank migrates its share
// of the shots (rtm.hpp). A compressed allreduce adds up the partial images, which have one panel per time
// lag; for comparison, a plain allreduce does so, too.
//
//   mpirun -n 4 image_stacking                        ranks are MPI processes
//   image_stacking --transport threads --ranks 4      ranks are threads of one process
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "ranks.hpp"
#include "rtm.hpp"

using namespace ccoll::policies;

namespace {

// ---- plans: what --algo and --codec choose from
// -------------------------------------------------------------------------------

template <class... Tags>
struct tags {
    static std::vector<std::string> names() { return {Tags::name...}; }
};
using algorithms = tags<Algo::Ring, Algo::RecursiveDoubling, Algo::Auto>;
using codecs = tags<Codec::SZp, Codec::PipeSZx, Codec::SZx, Codec::None>;

constexpr double default_bound = 1e-3;

template <class Algorithm, class Coder, class Comm>
ccoll::report stack(std::span<const float> partial, std::span<float> sum, const Comm& comm, double bound)
{
    if constexpr (!Coder::lossy)
        return ccoll::allreduce<Algorithm, Coder, Instrument::Breakdown>(partial, sum, comm);
    else if (bound == default_bound)
        return ccoll::allreduce<Algorithm, Coder, ErrorBound<default_bound>, Instrument::Breakdown>(
            partial, sum, comm);
    else
        return ccoll::allreduce<Algorithm, Coder, RuntimeBound, Instrument::Breakdown>(partial, sum, comm,
                                                                                       bound);
}

template <class Comm>
using stacker = ccoll::report (*)(std::span<const float>, std::span<float>, const Comm&, double);

/// The plan with these names, out of all combinations of algorithms and codecs that were compiled.
template <class Comm, class... As, class... Cs>
stacker<Comm> find_plan(tags<As...>, tags<Cs...>, std::string_view algorithm, std::string_view codec)
{
    stacker<Comm> found = nullptr;
    const auto try_algorithm = [&]<class A>(std::type_identity<A>) {
        if (algorithm == A::name) ((codec == Cs::name ? void(found = &stack<A, Cs, Comm>) : void()), ...);
    };
    (try_algorithm(std::type_identity<As>{}), ...);
    return found;
}

// ---- options
// -----------------------------------------------------------------------------------------------------------

struct options {
    int shots = 20;
    int nx = 400;
    int nz = 200;
    double dx = 10;
    double smooth_m = 100;
    rtm::settings wave;
    double bound = default_bound;
    std::string codec = "SZp";
    std::string algo = "Ring";
    std::string transport = "auto";
    int ranks = 4;
    int repeat = 5;
    std::string out = "out";
    bool check = false;
};

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

void describe(CLI::App& app, options& o)
{
    app.option_defaults()->always_capture_default()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.add_option("--shots", o.shots, "total number of shots, distributed over the ranks in turn")
        ->check(within(1, 10000));
    app.add_option("--nx", o.nx, "width of the model, cells")->check(within(40, 4000));
    app.add_option("--nz", o.nz, "depth of the model, cells")->check(within(40, 4000));
    app.add_option("--dx", o.dx, "cell size, m")->check(within(0.1, 1000));
    app.add_option("--frequency", o.wave.peak_hz, "peak frequency of the source, Hz")
        ->check(within(0.1, 1000));
    app.add_option("--dt", o.wave.dt_s, "time step, s; 0: 90 % of the stability limit")->check(within(0, 1));
    app.add_option("--record", o.wave.record_s, "length of the traces, s; 0: down to the last row and back")
        ->check(within(0, 100));
    app.add_option("--lags", o.wave.lags, "number of time lags of the image volume, odd; 1: only the image")
        ->check(within(1, 129));
    app.add_option("--smooth", o.smooth_m, "smoothing of the migration velocity, m")->check(within(0, 1000));
    app.add_option("--bound", o.bound, "absolute error per compression; partial images are scaled to -1..1")
        ->check(within(1e-9, 1));
    app.add_option("--codec", o.codec, "how the images are compressed")
        ->check(CLI::IsMember(codecs::names()));
    app.add_option("--algo", o.algo, "who sends to whom")->check(CLI::IsMember(algorithms::names()));
    app.add_option("--transport", o.transport, "auto: mpi under mpirun, threads otherwise")
        ->check(CLI::IsMember(std::vector<std::string>{"auto", "mpi", "threads"}));
    app.add_option("--ranks", o.ranks, "number of ranks if they are threads (with MPI, mpirun decides)")
        ->check(within(1, 64));
    app.add_option("--repeat", o.repeat, "timed repetitions of each way of stacking; the median is shown")
        ->check(within(1, 1000));
    app.add_option("--out", o.out, "folder for the results");
    app.add_flag("--check", o.check, "check the options, and run nothing");
    app.footer(
        "Partial images are stacked with ccoll::allreduce<Algo::X, Codec::Y, ErrorBound<E>>; "
        "examples/plot_stack.py draws them.");
}

// ---- measuring
// -----------------------------------------------------------------------------------------------------------

/// How far a stack is from the exact one. PSNR and NRMSE are relative to the value range of the exact stack.
struct quality {
    double max_error = 0;
    double rms_error = 0;
    double range = 0;

    double psnr() const { return rms_error > 0 ? 20 * std::log10(range / rms_error) : HUGE_VAL; }
    double nrmse() const { return range > 0 ? rms_error / range : 0; }
};

quality compare(const std::vector<double>& exact, const std::vector<float>& stacked)
{
    const auto [least, most] = std::minmax_element(exact.begin(), exact.end());
    quality q{.range = *most - *least};
    double squares = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double error = std::abs(static_cast<double>(stacked[i]) - exact[i]);
        q.max_error = std::max(q.max_error, error);
        squares += error * error;
    }
    q.rms_error = std::sqrt(squares / static_cast<double>(exact.size()));
    return q;
}

template <class Ranks, std::size_t N>
std::array<double, N> largest_of_all(Ranks& ranks, const std::array<double, N>& mine)
{
    std::vector<double> values(mine.begin(), mine.end());
    ccoll::allreduce<Op::Max>(values, ranks.comm());
    std::array<double, N> result{};
    std::copy(values.begin(), values.end(), result.begin());
    return result;
}

/// Whether all ranks hold the same bits. Compares an FNV-1a hash of the words, which a double holds exactly.
template <class Ranks>
bool equal_everywhere(Ranks& ranks, const std::vector<float>& values)
{
    std::uint32_t hash = 2166136261U;
    for (const float v : values) hash = (hash ^ std::bit_cast<std::uint32_t>(v)) * 16777619U;
    const double mine = hash;
    const auto extremes = largest_of_all(ranks, std::array{mine, -mine});
    return extremes[0] == -extremes[1];
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

constexpr std::array<const char*, 6> phase_names{"encode", "decode", "reduce", "communicate", "wait", "copy"};

/// The measurements of one way of stacking.
struct outcome {
    std::string name;
    bool bytes_known = true;
    ccoll::report report;
    std::vector<double> times;  ///< seconds of the slowest rank in each repetition
    /// Seconds per phase, mean over the repetitions, of the rank with the largest value.
    std::array<double, 6> phases{};
    quality error;
    bool same_bits = true;
    std::vector<float> sum;

    double seconds() const { return median(times); }
};

struct job {
    double migrate_s = 0;
    double total_s = 0;
    double scale = 1;
    std::vector<double> exact;
    outcome plain;
    outcome packed;
};

/// Runs both ways alternately, so that anything else the machine does affects both. The first round is a
/// warm-up and is not counted.
template <class Ranks>
void stack_both_ways(Ranks& ranks, const options& o, const std::vector<float>& partial, job& result)
{
    const auto call =
        find_plan<std::remove_cvref_t<decltype(ranks.comm())>>(algorithms{}, codecs{}, o.algo, o.codec);
    const auto timed = [&](outcome& way, bool counts, auto&& body) {
        ranks.barrier();
        const auto start = std::chrono::steady_clock::now();
        body();
        const auto slowest = largest_of_all(ranks, std::array{seconds_since(start)});
        if (counts) way.times.push_back(slowest[0]);
    };

    result.plain.sum.resize(partial.size());
    result.packed.sum.resize(partial.size());
    std::array<double, 6> phases{};
    for (int round = 0; round <= o.repeat; ++round) {
        timed(result.plain, round > 0, [&] { ranks.plain_sum(partial, result.plain.sum); });
        timed(result.packed, round > 0,
              [&] { result.packed.report = call(partial, result.packed.sum, ranks.comm(), o.bound); });
        if (round == 0) continue;
        const ccoll::breakdown& b = result.packed.report.breakdown;
        const std::array<double, 6> once{b.encode, b.decode, b.reduce, b.communicate, b.wait, b.copy};
        for (std::size_t i = 0; i < phases.size(); ++i) phases[i] += once[i] / o.repeat;
    }
    result.packed.phases = largest_of_all(ranks, phases);
    result.plain.name = Ranks::plain_name;
    result.plain.bytes_known = false;
    result.packed.name = fmt::format("{} + {}", result.packed.report.algorithm, result.packed.report.codec);
}

// ---- reporting
// -----------------------------------------------------------------------------------------------------------

std::string bytes(double n)
{
    if (n < 1e3) return fmt::format("{:.0f} B", n);
    return n < 1e6 ? fmt::format("{:.2f} kB", n / 1e3) : fmt::format("{:.2f} MB", n / 1e6);
}

std::string milliseconds(double s) { return fmt::format("{:.2f} ms", 1e3 * s); }

void print_table(const job& result, const options& o, int size, bool one_machine)
{
    const outcome& a = result.plain;
    const outcome& b = result.packed;
    const auto line = [](std::string_view what, const std::string& left, const std::string& right) {
        fmt::print("  {:<30} {:>20} {:>28}\n", what, left, right);
    };
    const auto rule = [] { fmt::print("  {:-<80}\n", ""); };
    const auto psnr = [](const quality& q) {
        return std::isinf(q.psnr()) ? std::string("exact") : fmt::format("{:.1f} dB", q.psnr());
    };
    const auto scientific = [](double v) { return fmt::format("{:.2e}", v); };
    const auto yes = [](bool v) { return std::string(v ? "yes" : "no"); };

    fmt::print("\n");
    line("", a.name, b.name);
    rule();
    line(fmt::format("time, median of {}", o.repeat), milliseconds(a.seconds()), milliseconds(b.seconds()));
    const auto spread = [](const outcome& way) {
        const auto [fastest, slowest] = std::minmax_element(way.times.begin(), way.times.end());
        return fmt::format("{:.1f} .. {:.1f} ms", 1e3 * *fastest, 1e3 * *slowest);
    };
    line("  fastest .. slowest", spread(a), spread(b));
    // How much plain MPI sends is not known; no allreduce sends less than this.
    const double least = 2.0 * (size - 1) / size * static_cast<double>(result.exact.size() * sizeof(float));
    const bool counted = b.report.raw_bytes > 0;  // 0: MPI's own collective did the work
    const std::string at_least = fmt::format(">= {}", bytes(least));
    line("raw bytes per rank", at_least, counted ? bytes(static_cast<double>(b.report.raw_bytes)) : at_least);
    line("sent bytes per rank", at_least,
         counted ? bytes(static_cast<double>(b.report.sent_bytes)) : at_least);
    line("ratio", "1", counted ? fmt::format("{:.2f}", b.report.ratio()) : "1");
    line("max error promised", "rounding",
         b.report.exact ? "rounding" : scientific(b.report.worst_case_error));
    line("  95.44 % of the errors below", "", b.report.exact ? "" : scientific(b.report.probable_error));
    line("max error achieved", scientific(a.error.max_error), scientific(b.error.max_error));
    line("PSNR", psnr(a.error), psnr(b.error));
    line("NRMSE", scientific(a.error.nrmse()), scientific(b.error.nrmse()));
    line("same bits on all ranks", yes(a.same_bits), yes(b.same_bits));
    for (std::size_t i = 0; i < phase_names.size(); ++i)
        line(fmt::format("{:<9}{}", i == 0 ? "seconds:" : "", phase_names[i]), "", milliseconds(b.phases[i]));
    rule();
    fmt::print(
        "  placement {}; error bound {:g} per compression, {:.3g} of the stack's range; blocks stored raw: "
        "{}\n",
        b.report.placement, b.report.error_bound,
        a.error.range > 0 ? b.report.error_bound / a.error.range : 0, b.report.fallback_blocks);
    fmt::print("  migration {:.1f} s, everything {:.1f} s\n\n", result.migrate_s, result.total_s);

    if (b.report.exact || size == 1) return;
    const double codec_s = b.phases[0] + b.phases[1] + b.phases[2] + b.phases[5];
    const double saved = static_cast<double>(b.report.raw_bytes) - static_cast<double>(b.report.sent_bytes);
    if (b.seconds() <= a.seconds())
        fmt::print("  The compressed stack took {:.2f} of the time of the plain one.\n",
                   b.seconds() / a.seconds());
    else
        fmt::print("  The compressed stack took {:.2f} times as long here: {}.\n", b.seconds() / a.seconds(),
                   one_machine ? "between ranks of one machine, memory is faster than a codec"
                               : "this network is faster than the codec");
    if (codec_s > 0 && saved > 0)
        fmt::print(
            "  Its codec times suggest that it gains time if the link of a rank carries less than about "
            "{:.2g} Gbit/s.\n",
            8e-9 * saved / codec_s);
}

template <class T>
void write_panel(const std::filesystem::path& file, std::span<const T> values)
{
    const std::vector<float> as_float(values.begin(), values.end());
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(as_float.data()),
              static_cast<std::streamsize>(as_float.size() * sizeof(float)));
    if (!out.flush())
        throw std::runtime_error(
            fmt::format("cannot write {}; choose a folder with --out that you may write to", file.string()));
}

nlohmann::json to_json(const outcome& way)
{
    return {{"name", way.name},
            {"seconds", way.times},
            {"median_seconds", way.seconds()},
            {"max_error", way.error.max_error},
            {"nrmse", way.error.nrmse()},
            {"psnr_db", way.error.psnr()},
            {"same_bits", way.same_bits}};
}

void write_results(const job& result, const options& o, const rtm::model& ground, const rtm::survey& s,
                   int size, const std::string& transport)
{
    const std::filesystem::path folder(o.out);
    const std::size_t first = s.cells() * static_cast<std::size_t>(s.lags / 2);
    write_panel(folder / "exact.f32", std::span(result.exact).subspan(first, s.cells()));
    write_panel(folder / "compressed.f32", std::span(result.packed.sum).subspan(first, s.cells()));
    write_panel(folder / "velocity.f32", std::span(ground.velocity));

    nlohmann::json packed = to_json(result.packed);
    const ccoll::report& r = result.packed.report;
    packed.update({{"algorithm", r.algorithm},
                   {"codec", r.codec},
                   {"placement", r.placement},
                   {"raw_bytes", r.raw_bytes},
                   {"sent_bytes", r.sent_bytes},
                   {"ratio", r.ratio()},
                   {"error_bound", r.error_bound},
                   {"promised_error", r.worst_case_error},
                   {"probable_error", r.probable_error},
                   {"exact", r.exact},
                   {"fallback_blocks", r.fallback_blocks}});
    for (std::size_t i = 0; i < phase_names.size(); ++i)
        packed["phases"][phase_names[i]] = result.packed.phases[i];
    const nlohmann::json all = {
        {"nx", s.nx},
        {"nz", s.nz},
        {"dx", s.dx},
        {"lags", s.lags},
        {"lag_step_s", s.image_every * s.dt},
        {"shots", o.shots},
        {"ranks", size},
        {"transport", transport},
        {"migrate_seconds", result.migrate_s},
        {"total_seconds", result.total_s},
        {"scale", result.scale},
        {"files", {{"exact", "exact.f32"}, {"compressed", "compressed.f32"}, {"velocity", "velocity.f32"}}},
        {"plain", to_json(result.plain)},
        {"packed", packed}};
    std::ofstream out(folder / "image_stacking.json");
    out << all.dump(2) << '\n';
    if (!out.flush())
        throw std::runtime_error(fmt::format("cannot write {}", (folder / "image_stacking.json").string()));
}

// ---- the job
// -----------------------------------------------------------------------------------------------------------

template <class Ranks>
void run(Ranks& ranks, const options& o, const rtm::model& ground, const rtm::survey& s, steady_time start)
{
    const rtm::model velocity = rtm::smoothed(ground, o.smooth_m);
    if (ranks.rank() == 0) {
        std::filesystem::create_directories(o.out);  // now, so that a failure comes before the work
        fmt::print("reverse-time migration: {} shots on {} ranks ({}), {} x {} cells of {:g} m\n", o.shots,
                   ranks.size(), ranks.transport(), s.nx, s.nz, s.dx);
        fmt::print(
            "  {} steps of {:.3g} ms; image volume {} x {} x {} lags of {:.3g} ms, {}; {} of snapshots per "
            "rank\n",
            s.steps, 1e3 * s.dt, s.nx, s.nz, s.lags, 1e3 * s.image_every * s.dt,
            bytes(static_cast<double>(s.image_elements() * sizeof(float))),
            bytes(static_cast<double>(s.snapshot_bytes())));
        std::fflush(stdout);
    }

    const bool one_machine = ranks.one_machine();

    std::vector<float> partial(s.image_elements(), 0.0F);
    for (int shot = ranks.rank(); shot < o.shots; shot += ranks.size()) {
        const int column = rtm::shot_position(s, shot, o.shots);
        const std::vector<float> image =
            rtm::migrate(ground, velocity, s, column, [&] { ranks.look_around(); });
        for (std::size_t i = 0; i < partial.size(); ++i) partial[i] += image[i];
        ranks.shot_done();
    }
    ranks.settle();
    job result;
    result.migrate_s = seconds_since(start);

    // Images are scaled to -1..1 by the largest value of any rank, so that an absolute bound means the same
    // for every survey.
    double largest = 0;
    for (const float v : partial) largest = std::max(largest, static_cast<double>(std::abs(v)));
    result.scale = largest_of_all(ranks, std::array{largest})[0];
    if (!(result.scale > 0)) result.scale = 1;
    for (float& v : partial) v = static_cast<float>(static_cast<double>(v) / result.scale);

    stack_both_ways(ranks, o, partial, result);

    const std::vector<double> precise(partial.begin(), partial.end());
    result.exact.resize(precise.size());
    ranks.plain_sum(precise, result.exact);
    for (outcome* way : {&result.plain, &result.packed}) {
        way->error = compare(result.exact, way->sum);
        way->error.max_error = largest_of_all(ranks, std::array{way->error.max_error})[0];
        way->same_bits = equal_everywhere(ranks, way->sum);
    }
    result.total_s = seconds_since(start);
    if (ranks.rank() != 0) return;
    print_table(result, o, ranks.size(), one_machine);
    write_results(result, o, ground, s, ranks.size(), ranks.transport());
    fmt::print("  Results are in {0}/; examples/plot_stack.py {0} draws {0}/image_stacking.png.\n", o.out);
    std::fflush(stdout);
}

/// What every process learns from its options, before any of them prints something.
struct preparation {
    int exit_code = 0;
    bool finished = false;  ///< there is nothing to run, and `text` is the help or an error message
    std::string text;
    rtm::model ground;
    rtm::survey survey;
};

#if !defined(CCOLL_NO_MPI)
bool started_by_mpirun()
{
    for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
        if (std::getenv(variable) != nullptr) return true;
    return false;
}
#endif

preparation prepare(int argc, char** argv, options& o)
{
    preparation p;
    CLI::App app("Reverse-time migration with compressed image stacking");
    describe(app, o);
    const auto refuse = [&](const std::string& why, const std::string& hint) {
        p.exit_code = 2;
        p.finished = true;
        p.text = fmt::format("image_stacking: {}\n{}\n", why, hint);
    };
    const std::string see_help = "See --help for all options and what they allow.";
    try {
        app.parse(argc, argv);
#if defined(CCOLL_NO_MPI)
        if (o.transport == "mpi") {
            refuse("--transport mpi: this program was built without MPI",
                   "Install one (Debian and Ubuntu: libopenmpi-dev openmpi-bin) and build again, or use "
                   "--transport threads.");
            return p;
        }
        o.transport = "threads";
#else
        if (o.transport == "auto") o.transport = started_by_mpirun() ? "mpi" : "threads";
#endif
        p.ground = rtm::demo_model(o.nx, o.nz, o.dx);
        p.survey = rtm::plan_survey(p.ground, o.wave);
        if (o.check) {
            p.finished = true;
            p.text = "image_stacking: these options are fine\n";
        }
    } catch (const CLI::CallForHelp&) {
        p.finished = true;
        p.text = app.help();
    } catch (const CLI::ParseError& e) {
        refuse(e.what(), see_help);
    } catch (const rtm::bad_setting& e) {
        refuse(e.what(), see_help);
    }
    return p;
}

int run_threads(const options& o, const preparation& p, steady_time start)
{
    if (p.finished) {
        fmt::print(p.exit_code == 0 ? stdout : stderr, "{}", p.text);
        return p.exit_code;
    }
    try {
        thread_ranks::board board(o.shots, start);
        ccoll::run_ranks(o.ranks, [&](ccoll::threads_comm& comm) {
            thread_ranks ranks(comm, board);
            run(ranks, o, p.ground, p.survey, start);
        });
    } catch (const std::exception& e) {
        fmt::print(stderr, "image_stacking: {}\n", e.what());
        return 1;
    }
    return 0;
}

#if !defined(CCOLL_NO_MPI)
/// Only rank 0 prints, and no rank leaves before MPI has ended.
int run_mpi(int argc, char** argv, const options& o, const preparation& p, steady_time start)
{
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (p.finished) {
        if (rank == 0) {
            fmt::print(p.exit_code == 0 ? stdout : stderr, "{}", p.text);
            std::fflush(nullptr);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return p.exit_code;
    }
    try {
        mpi_ranks ranks(MPI_COMM_WORLD, o.shots, start);
        run(ranks, o, p.ground, p.survey, start);
    } catch (const std::exception& e) {
        fmt::print(stderr, "image_stacking: rank {}: {}\n", rank, e.what());
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
#endif

}  // namespace

int main(int argc, char** argv)
{
    const auto start = std::chrono::steady_clock::now();
    options o;
    const preparation p = prepare(argc, argv, o);
#if !defined(CCOLL_NO_MPI)
    if (o.transport == "mpi" || (p.finished && started_by_mpirun())) return run_mpi(argc, argv, o, p, start);
#endif
    return run_threads(o, p, start);
}
