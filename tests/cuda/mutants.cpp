// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized, optimised
// Kernels with a mistake, under the emulator: do the tests notice? In each line of their text that has a
// barrier it is left out, and in each line that reads or writes memory through load_as or store_as one thread
// is off by one. A mistake is noticed by other bytes than those of the right kernel, or by a fault of the
// emulator. Without a barrier, warps run far ahead of each other, so that what they take from each other too
// early or write over too early is in the result. Compiled with -fsanitize=thread, as the program
// cuda_barriers is, this file leaves out barriers alone, and notices races as well.
#include "emulated.hpp"
#include "szp_fields.hpp"

#include "support/catch.hpp"
#include "support/repository.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace emulated;

#if defined(EMULATOR_TSAN)
namespace {
// Never touched by code that ThreadSanitizer watches: it is changed in the middle of a report.
unsigned races = 0;
EMULATOR_HIDDEN bool has_raced() { return races > 0; }
EMULATOR_HIDDEN void forget_races() { races = 0; }
}  // namespace
extern "C" {
EMULATOR_HIDDEN void __tsan_on_report(void*) { ++races; }
const char* __tsan_default_options()
{
    return "exitcode=0:symbolize=0:report_thread_leaks=0:suppress_equal_stacks=0:suppress_equal_addresses=0:"
           "history_size=0:log_path=/dev/null";
}
}
#else
namespace {
constexpr bool has_raced() { return false; }
}  // namespace
#endif

namespace {

using bytes = std::vector<std::byte>;
using Sum = ccoll::policies::Op::Sum;

using source_line = std::pair<std::string, unsigned>;

/// Kernels run on some data.
struct workload {
    std::string name;
    std::function<bytes(const emulator::options& how)> run;  ///< @return  all that they have written
    std::set<source_line> lines;                             ///< that it comes to
};

/// Chunks may stand in any order.
bytes written(encoded r)
{
    r.bytes = in_order(r.bytes);
    r.bytes.push_back(static_cast<std::byte>(r.told.code));
    r.bytes.push_back(static_cast<std::byte>(r.told.special_values));
    r.bytes.push_back(static_cast<std::byte>(r.told.raw_chunks));
    r.bytes.push_back(static_cast<std::byte>(r.clean));
    return r.bytes;
}
/// @param from  elements between a multiple of 16 bytes and the values
template <class Codec, class T>
bytes decoded(const bytes& frame, std::size_t n, const emulator::options& how, std::size_t from = 0)
{
    std::vector<T> out(n + from);
    const ccoll::status code = decode_with<Codec, T>(frame, std::span(out).subspan(from), how);
    bytes all(std::as_bytes(std::span(out)).begin(), std::as_bytes(std::span(out)).end());
    all.push_back(static_cast<std::byte>(code));
    return all;
}
/// Encoding and decoding.
template <class Codec, class T>
void add_movement(std::vector<workload>& all, const std::string& name, const std::vector<T>& x, double eb,
                  std::size_t from = 0)
{
    const std::size_t n = x.size() - from;
    const std::string what = name + (sizeof(T) == 2 ? "" : sizeof(T) == 4 ? ", float" : ", double");
    const auto values = [=] { return std::span<const T>(x).subspan(from); };
    all.push_back(
        {"encode " + what,
         [=](const emulator::options& how) { return written(encode_with<Codec, T>(values(), eb, how)); },
         {}});
    const bytes frame = encode_with<Codec, T>(values(), eb).bytes;
    all.push_back({"decode " + what,
                   [=](const emulator::options& how) { return decoded<Codec, T>(frame, n, how, from); },
                   {}});
}

/// A frame that says that its payload is longer than it is.
template <class Codec, class T>
void add_short_frame(std::vector<workload>& all, const std::vector<T>& x, double eb)
{
    bytes frame = encode_with<Codec, T>(std::span<const T>(x), eb).bytes;
    std::uint32_t units = 0;
    std::memcpy(&units, frame.data() + offsetof(ccoll::frame_header, payload), sizeof units);
    ++units;
    std::memcpy(frame.data() + offsetof(ccoll::frame_header, payload), &units, sizeof units);
    all.push_back({"decode a short frame",
                   [=](const emulator::options& how) { return decoded<Codec, T>(frame, x.size(), how); },
                   {}});
}

/// Fields with fill values: in runs, and as a mask in every block.
template <class T>
std::vector<T> filled(std::vector<T> x, T with, std::size_t every)
{
    for (std::size_t i = 0; i < x.size(); ++i)
        if (i % every < 20 + i / every % 40 || i % 333 == 7) x[i] = with;
    return x;
}

template <class T>
std::vector<T> scattered(std::size_t n)
{
    std::vector<T> x = fields::smooth<T>(n);
    for (std::size_t i = 3; i < n; i += 11) x[i] = T(1e20);
    return x;
}

/// Addends, which the host makes.
template <class T>
void add_addends(std::vector<workload>& all, const std::string& name, const std::vector<T>& x,
                 const std::vector<T>& y, double eb)
{
    const std::string what = name + (sizeof(T) == 4 ? ", float" : ", double");
    const std::size_t n = x.size();
    const auto addend_of = [=](const std::vector<T>& values) {
        bytes a(ccoll::max_addend_bytes<SZp, T>(n));
        a.resize(ccoll::encode_addend<SZp>(std::span<const T>(values), a, eb).bytes);
        return a;
    };
    const bytes a = addend_of(x), b = addend_of(y);
    bytes sum(ccoll::max_addend_bytes<SZp, T>(n));
    sum.resize(ccoll::reduce_encoded<SZp, Sum, T>(a, b, sum).bytes);
    all.push_back({"addend of " + what,
                   [=](const emulator::options& how) { return written(add<T>(x, {}, {}, n, eb, how)); },
                   {}});
    all.push_back({"values and an addend, " + what,
                   [=](const emulator::options& how) { return written(add<T>(x, {}, b, n, eb, how)); },
                   {}});
    all.push_back({"two addends, " + what,
                   [=](const emulator::options& how) { return written(add<T>({}, a, b, n, eb, how)); },
                   {}});
    all.push_back({"decode a sum, " + what,
                   [=](const emulator::options& how) { return decoded<SZp, T>(sum, n, how); },
                   {}});
}

/// Chunks as kernels do not write them: from the writer that was made from the page.
template <class T>
void add_forms(std::vector<workload>& all)
{
    namespace reference = szp_reference;
    constexpr std::size_t n = 8192;
    const auto frame_of = [&](reference::forms how, bool addend, bool exceptions, std::size_t chunks = 1) {
        reference::chunk c = szp_fields::quanta_of_field<T>(n, 3, 100, exceptions, addend);
        if (how.flat) c.q.assign(n, 77);
        const reference::bytes f = reference::write_frame<T>(
            {n * chunks, 1e-3, addend ? 1u : 0u,
             std::vector<reference::frame::piece>(chunks, {false, reference::write_chunk<T>(c, how)})});
        const auto all_bytes = std::as_bytes(std::span(f));
        return bytes(all_bytes.begin(), all_bytes.end());
    };
    reference::forms flat, wide, lists, rows;
    flat.flat = true;
    wide.is_wide = true;
    wide.row = 20;
    wide.plane = 100;
    lists.lists = true;
    rows.row = 187;
    const std::string type = sizeof(T) == 4 ? ", float" : ", double";
    for (const auto& [name, how] :
         {std::pair{"a flat chunk", flat}, {"a wide chunk", wide}, {"lists", lists}, {"rows", rows}}) {
        const std::size_t chunks = how.is_wide ? 3 : 1;  // thread blocks have several chunks
        const bytes frame = frame_of(how, false, how.is_wide, chunks);
        all.push_back({"decode " + (name + type),
                       [=](const emulator::options& o) { return decoded<SZp, T>(frame, n * chunks, o); },
                       {}});
    }
    for (const reference::forms& other : {flat, rows}) {
        const bytes a = frame_of(wide, true, true), b = frame_of(other, true, false);
        all.push_back({"add forms" + type,
                       [=](const emulator::options& o) { return written(add<T>({}, a, b, n, 1e-3, o)); },
                       {}});
    }
}

template <class T>
void add_szp(std::vector<workload>& all)
{
    std::vector<T> constant(61, T(2.5));  // a short chunk of equal values, and something else behind it
    constant[60] = 0;
    all.push_back({"encode a short constant",
                   [=](const emulator::options& how) {
                       return written(encode_with<SZp, T>(std::span<const T>(constant).first(60), 1e-3, how));
                   },
                   {}});
    constexpr bool is_float = sizeof(T) == 4;
    const auto movement = [&](const std::string& name, const std::vector<T>& x, double eb,
                              std::size_t from = 0) { add_movement<SZp, T>(all, name, x, eb, from); };
    const auto smooth = [](unsigned seed) { return fields::smooth<T>(8192, seed); };
    movement("waves", fields::smooth<T>(2 * 8192 + 100), 1e-3);
    std::vector<T> hole = fields::smooth<T>(8193);
    hole[4000] = T(1e20);
    movement("a hole, from any address", hole, 1e-3, 1);
    // Whose section has 32 bytes.
    movement("a hole in a short chunk", {hole.begin() + 3700, hole.begin() + 4300}, 1e-3);
    movement("noise", fields::random<T>(8192), is_float ? 1e-9 : 1e-18);
    movement("raw", fields::bit_patterns<T>(8192 + 5), 1e-30);
    movement("offset", fields::offset<T>(8192), is_float ? 1e-2 : 1e-9);
    movement("land", filled(smooth(1), T(1e20), 150), 1e-3);
    movement("land, finely", filled(smooth(1), T(1e20), 150), is_float ? 1e-7 : 1e-10);
    movement("non-finite", fields::non_finite<T>(8292), 1e-3);
    movement("a constant", fields::constant<T>(8192), 1e-3);
    add_short_frame<SZp>(all, smooth(1), 1e-3);
    add_forms<T>(all);
    const auto addends = [&](const std::string& name, const std::vector<T>& x, const std::vector<T>& y,
                             double eb) { add_addends<T>(all, name, x, y, eb); };
    addends("waves", fields::smooth<T>(8292), fields::smooth<T>(8292, 2), 1e-3);
    addends("noise", fields::random<T>(8192), fields::random<T>(8192, 2), 1e-6);
    addends("non-finite", fields::non_finite<T>(8192), fields::non_finite<T>(8192, 2), 1e-3);
    addends("land", filled(smooth(1), T(1e20), 150), filled(smooth(2), T(1e20), 150), 1e-3);
    addends("two coasts", filled(smooth(1), T(1e20), 150), filled(smooth(2), T(1e20), 110), 1e-3);
    addends("far values", fields::offset<T>(8192), fields::offset<T>(8192, 2), 1e-12);
    std::vector<T> too_far(3 * 8192 + 100);
    too_far[9000] = T(1e30);
    all.push_back({"an addend that is too large",
                   [=](const emulator::options& how) {
                       return written(add<T>(too_far, {}, {}, too_far.size(), 1e-30, how));
                   },
                   {}});
}

template <class Codec, class T>
void add_szx(std::vector<workload>& all)
{
    const auto movement = [&](const std::string& name, const std::vector<T>& x, double eb,
                              std::size_t from = 0) { add_movement<Codec, T>(all, name, x, eb, from); };
    constexpr std::size_t chunk = launches<Codec, T>::chunk_elements;
    movement("waves", fields::smooth<T>(2 * chunk + 100), 1e-3);
    movement("a few values", fields::smooth<T>(77), 1e-3);
    movement("waves from any address", fields::smooth<T>(chunk + 1), 1e-3, 1);
    movement("raw", fields::random<T>(chunk + 5), sizeof(T) == 4 ? 1e-9 : 1e-18);
    movement("near the precision", fields::random<T>(chunk), sizeof(T) == 4 ? 4e-8 : 1e-16);
    movement("land", filled(fields::smooth<T>(chunk), T(1e20), 150), 1e-3);
    movement("scattered", scattered<T>(chunk), 1e-3);
    std::vector<T> coast = fields::smooth<T>(chunk);  // blocks all of whose values are exceptional
    std::fill_n(coast.begin(), 100, std::numeric_limits<T>::quiet_NaN());
    movement("a coast", coast, 1e-3);
    movement("non-finite", fields::non_finite<T>(chunk + 100), 1e-3);
    add_short_frame<Codec>(all, fields::smooth<T>(chunk), 1e-3);
    std::vector<T> calm = fields::random<T>(chunk);  // blocks that are constant beside blocks that are kept
    for (std::size_t i = 0; i < chunk / 2; ++i) calm[i] = T(0.25);
    movement("calm and noise", calm, sizeof(T) == 4 ? 8e-8 : 1e-16);
    if (sizeof(T) == 8)
        for (const double eb : {1e-1, 1e-5, 1e-7, 1e-9, 1e-12, 1e-14})
            movement("waves at " + std::to_string(eb), fields::smooth<T>(chunk), eb);
}

template <class T>
void add_zfp(std::vector<workload>& all)
{
    const auto movement = [&](const std::string& name, const std::vector<T>& x, double rate,
                              std::size_t from = 0) { add_movement<Zfp, T>(all, name, x, rate, from); };
    movement("waves", fields::smooth<T>(2 * 8192 + 100), 8);
    movement("a few values", fields::smooth<T>(77), 5.2);
    add_short_frame<Zfp>(all, fields::smooth<T>(77), 5.2);
    movement("waves from any address", fields::smooth<T>(8193), 17.75, 1);
    movement("raw", fields::smooth<T>(8192 + 5), 64);
    movement("non-finite", fields::non_finite<T>(8192 + 100), 3);
    std::vector<T> holes = fields::smooth<T>(8192);
    for (std::size_t i = 100; i < holes.size(); i += 100) holes[i] = std::numeric_limits<T>::quiet_NaN();
    movement("holes", holes, 9.3);
}

/// Elements of two bytes. @param eb  the bound, or with ZFP bits per value
template <class Codec>
void add_half(std::vector<workload>& all, double eb)
{
    std::vector<ccoll::half> x;
    for (const float v : fields::smooth<float>(8192 + 77)) x.push_back(ccoll::half(v));
    add_movement<Codec, ccoll::half>(all, "waves of half", x, eb);
}

bool differs(const workload& w, const emulator::mistake& made, const bytes& right,
             const emulator::options& how = {})
{
    emulator::made = made;
    bool other = true;
    try {
        other = w.run(how) != right;
    } catch (const emulator::fault&) {}
    emulator::made = {};
    return other || has_raced();
}

/// The workloads of a codec, what is right for each, and the lines to which they come.
struct bench {
    std::vector<workload> all;
    std::vector<bytes> right;
    std::set<source_line> lines;

    bench(std::vector<workload> list, emulator::mistake::kind what) : all(std::move(list))
    {
        for (workload& w : all) {
            emulator::watching = true;
            emulator::lines_met_count = 0;
            right.push_back(w.run({}));
            emulator::watching = false;
            for (unsigned i = 0; i < emulator::lines_met_count; ++i)
                if (emulator::lines_met[i].what == what)
                    w.lines.insert({emulator::lines_met[i].where.file, emulator::lines_met[i].where.line});
            lines.insert(w.lines.begin(), w.lines.end());
        }
    }
};
std::string place_of(const source_line& line)
{
    return line.first.substr(line.first.find_last_of('/') + 1) + ":" + std::to_string(line.second) + " ";
}

/// A header, found in this repository: its name as compiled may be that of another clone.
std::ifstream open_header(const std::string& name)
{
    const std::size_t at = name.rfind("/include/ccoll/");
    std::ifstream in(repository::path_of(name.substr(at == std::string::npos ? 0 : at + 1)));
    if (!in) FAIL("there is no " << name << " in the repository");
    return in;
}

#if !defined(EMULATOR_TSAN)
std::string text_of(const source_line& line)
{
    std::ifstream in = open_header(line.first);
    std::string text;
    for (unsigned i = 0; i < line.second && std::getline(in, text); ++i) {}
    return text;
}
#endif

/// Lines of the sources met in `folder` that have one of these words, and that no workload comes to. They
/// would not be tested.
std::string not_met(const std::set<source_line>& met, const std::string& folder,
                    std::initializer_list<const char*> words)
{
    std::map<std::string, std::set<unsigned>> files;
    for (const auto& [file, line] : met)
        if (file.find(folder) != std::string::npos) files[file].insert(line);
    std::string missed;
    for (const auto& [file, lines] : files) {
        std::ifstream in = open_header(file);
        std::string text;
        for (unsigned line = 1; std::getline(in, text); ++line) {
            bool names = false;
            for (const char* const word : words) names = names || text.find(word) != std::string::npos;
            if (names && text.find("//") > text.find(*words.begin()) && lines.count(line) == 0)
                missed += place_of({file, line});
        }
    }
    return missed;
}

/// Every barrier of all codecs: float, because the barriers of double are the same, and half, which has one
/// more.
std::vector<workload> with_barriers()
{
    std::vector<workload> all;
    add_szp<float>(all);
    add_szx<SZx, float>(all);
    add_zfp<float>(all);
    add_half<SZx>(all, 1e-2);
    return all;
}

}  // namespace

#if defined(EMULATOR_TSAN)
// A process of its own works on one line after another, because the state of ThreadSanitizer does not survive
// a fork, and because a kernel without a barrier can crash. The next process goes on behind the line at which
// one has crashed.

TEST_CASE("Barriers left out, from the one on that the environment names", "[.barriers]")
{
    const char* const said = std::getenv("CCOLL_BARRIERS");
    REQUIRE(said != nullptr);
    std::istringstream words(said);
    unsigned first = 0;
    std::string name;
    words >> first >> name;
    emulator::interrupted = &has_raced;
    // An access beyond memory ends the launch, and the process goes on.
    struct sigaction at_crash{};
    at_crash.sa_handler = [](int) { emulator::detail::give_up("an access beyond memory", {}); };
    at_crash.sa_flags = SA_NODEFER;
    for (const int crash : {SIGSEGV, SIGBUS}) sigaction(crash, &at_crash, nullptr);
    const bench b(with_barriers(), emulator::mistake::no_barrier);
    std::ofstream told(name, std::ios::app);
    if (has_raced()) {
        told << "races in kernels without a mistake\n";
        return;
    }
    if (first == 0) {
        told << "lines " << b.lines.size() << '\n';
        if (const std::string missed = not_met(b.lines, "ccoll/cuda/", {"__syncthreads()"}); !missed.empty())
            told << "never met: " << missed << '\n';
        if (differs(b.all[0], {emulator::mistake::no_barrier, {"nowhere", 1}, 0}, b.right[0]))
            told << "missed: a kernel without a mistake\n";
    }
    unsigned k = 0;
    for (const source_line& line : b.lines) {
        if (k++ < first) continue;
        told << "at " << k - 1 << std::endl;
        bool noticed = false;
        // The shadow of a byte remembers few accesses, so one order can hide a race.
        for (std::uint64_t seed = 0; seed <= 3 && !noticed; ++seed)
            for (std::size_t i = 0; i < b.all.size() && !noticed; ++i) {
                if (b.all[i].lines.count(line) == 0) continue;
                forget_races();
                noticed =
                    differs(b.all[i], {emulator::mistake::no_barrier, {line.first.c_str(), line.second}, 0},
                            b.right[i], {seed + 1, 3, seed > 0});
            }
        forget_races();
        if (!noticed) told << "missed: " << place_of(line) << std::endl;
    }
    told << "done" << std::endl;
}

TEST_CASE("A barrier that is left out of a kernel is noticed", "[cuda][barriers]")
{
    const std::string name = "barriers_" + std::to_string(getpid()) + ".txt";
    std::string missed;
    unsigned lines = 0, next = 0, crashes = 0;
    for (bool done = false; !done;) {
        std::remove(name.c_str());
        setenv("CCOLL_BARRIERS", (std::to_string(next) + " " + name).c_str(), 1);
        static_cast<void>(std::system("timeout -s KILL 900 /proc/$PPID/exe '[.barriers]' > /dev/null 2>&1"));
        std::ifstream told(name);
        std::string text;
        bool begun = false;
        while (std::getline(told, text)) {
            done = text == "done";
            if (text.rfind("lines ", 0) == 0) lines = static_cast<unsigned>(std::stoul(text.substr(6)));
            else if (text.rfind("at ", 0) == 0) {
                next = static_cast<unsigned>(std::stoul(text.substr(3))) + 1;
                begun = true;
            } else if (!done) missed += text + "; ";
        }
        if (!done) ++crashes;
        if (!begun) break;
    }
    std::remove(name.c_str());
    INFO(crashes << " of " << lines << " ended in a crash");
    CHECK(missed == "");
    CHECK(next == lines);
    CHECK(lines >= 25);
    CHECK(crashes < lines / 4);
}
#else

namespace {

/// Runs a workload with a mistake, in a process of its own, because some mistakes end in a crash, or never.
/// @return  whether it differs from the right one
bool is_noticed(const workload& w, const emulator::mistake& made, const bytes& right,
                const emulator::options& how = {})
{
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (const int crash : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTERM})
            std::signal(crash, SIG_DFL);  // not the tests' own
        alarm(20);
        _exit(differs(w, made, right, how) ? 1 : 0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/// Makes the mistake in each line. @return  the lines where nobody noticed
std::string unnoticed(const bench& b, const std::string& folder)
{
    constexpr auto what = emulator::mistake::off_by_one;
    std::string missed = not_met(b.lines, folder, {"load_as<", "store_as"});
    if (folder == "cuda/szp/") missed += not_met(b.lines, "cuda/sections.cuh", {"load_as<", "store_as"});
    if (!missed.empty()) missed = "never met: " + missed + "not noticed: ";
    if (is_noticed(b.all[0], {what, {"nowhere", 1}, 5}, b.right[0])) return "a kernel without a mistake";
    for (const source_line& line : b.lines) {
        bool noticed = false;
        for (std::size_t i = 0; i < b.all.size() && !noticed; ++i)
            for (const unsigned thread : {5u, 0u, 255u, 1u}) {
                if (noticed || b.all[i].lines.count(line) == 0) break;
                noticed = is_noticed(b.all[i], {what, {line.first.c_str(), line.second}, thread}, b.right[i]);
            }
        if (!noticed) missed += place_of(line);
    }
    return missed;
}

template <class... Add>
void check_off_by_one(const std::string& folder, std::size_t least_lines, Add... add)
{
    std::vector<workload> all;
    (add(all), ...);
    const bench b(std::move(all), emulator::mistake::off_by_one);
    CHECK(unnoticed(b, folder) == "");
    CHECK(b.lines.size() >= least_lines);
}

}  // namespace

TEST_CASE("A barrier that is left out of a kernel is noticed", "[cuda][barriers]")
{
    const auto ahead = [](std::uint64_t seed) { return emulator::options{seed, 3, true}; };
    const bench b(with_barriers(), emulator::mistake::no_barrier);
    CHECK(b.lines.size() >= 25);
    CHECK(not_met(b.lines, "ccoll/cuda/", {"__syncthreads()"}) == "");
    for (std::size_t i = 0; i < b.all.size(); ++i) {
        INFO(b.all[i].name << ", warps run ahead");
        CHECK_FALSE(
            is_noticed(b.all[i], {emulator::mistake::no_barrier, {"nowhere", 1}, 0}, b.right[i], ahead(i)));
    }
    std::string missed;
    for (const source_line& line : b.lines) {
        bool noticed = false;
        for (std::uint64_t seed = 1; seed <= 3 && !noticed; ++seed)
            for (std::size_t i = 0; i < b.all.size() && !noticed; ++i)
                if (b.all[i].lines.count(line) != 0)
                    noticed = is_noticed(
                        b.all[i], {emulator::mistake::no_barrier, {line.first.c_str(), line.second}, 0},
                        b.right[i], ahead(seed));
        // A race of equal bytes is seen by ThreadSanitizer alone.
        if (!noticed && text_of(line).find("the same bytes are there already") == std::string::npos)
            missed += place_of(line);
    }
    CHECK(missed == "");
}
TEST_CASE("An index off by one in one thread of a kernel of SZp is noticed", "[cuda][mutants]")
{
    check_off_by_one("cuda/szp/", 30, add_szp<float>, add_szp<double>);
}
TEST_CASE("An index off by one in one thread of a kernel of SZx is noticed", "[cuda][mutants]")
{
    check_off_by_one("cuda/szx/", 20, add_szx<SZx, float>, add_szx<SZx, double>, add_szx<PipeSZx, float>,
                     [](auto& all) { add_half<SZx>(all, 1e-2); });
}
TEST_CASE("An index off by one in one thread of a kernel of ZFP is noticed", "[cuda][mutants]")
{
    check_off_by_one("cuda/zfp/", 15, add_zfp<float>, add_zfp<double>,
                     [](auto& all) { add_half<Zfp>(all, 8); });
}
#endif
