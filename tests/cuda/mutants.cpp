// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of SZp with a mistake, under the emulator: do the tests notice? In each line of their text that has a barrier it is left out,
// and in each line that reads or writes memory through load_as or store_as one thread is off by one. A mistake is noticed by other bytes
// than those of the right kernel, by a fault of the emulator, or, where this file is compiled with -fsanitize=thread, by a race. Some
// missing barriers show as a race alone.
#include "emulated.hpp"
#include "../catch.hpp"
#include "../fields.hpp"

#include <csignal>
#include <cstdlib>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace emulated;

#if defined(EMULATOR_TSAN)
#include <sys/syscall.h>
namespace {
unsigned races = 0;
bool ends_at_race = false;
}  // namespace
extern "C" {
void __tsan_on_report(void*)
{
    ++races;
    if (ends_at_race) syscall(SYS_exit_group, 1);  // one is enough, and each takes long
}
const char* __tsan_default_options() { return "exitcode=0:symbolize=0:report_thread_leaks=0"; }
}
#else
namespace {
constexpr unsigned races = 0;
}
#endif

namespace {

using bytes = std::vector<std::byte>;
using Sum = ccoll::policies::Op::Sum;

/// Kernels run on some data. @return  all that they have written
struct workload {
    std::string name;
    std::function<bytes(std::uint64_t seed)> run;
    std::set<std::pair<int, std::string>> lines;  // that it comes to
};

bytes written(encoded r)
{
    r.bytes.push_back(static_cast<std::byte>(r.told.code));
    r.bytes.push_back(static_cast<std::byte>(r.told.special_values));
    r.bytes.push_back(static_cast<std::byte>(r.told.raw_chunks));
    r.bytes.push_back(static_cast<std::byte>(r.clean));
    return r.bytes;
}
template <class T>
bytes decoded(const bytes& frame, std::size_t n, std::uint64_t seed)
{
    std::vector<T> out(n);
    const ccoll::status code = decode<T>(frame, std::span(out), {seed});
    bytes all(std::as_bytes(std::span(out)).begin(), std::as_bytes(std::span(out)).end());
    all.push_back(static_cast<std::byte>(code));
    return all;
}

template <class T>
void add_workloads(std::vector<workload>& all, const std::string& type)
{
    const auto fill = [](std::size_t n, unsigned seed, T with, std::size_t every) {
        std::vector<T> x = fields::smooth<T>(n, seed);
        for (std::size_t i = 0; i < n; ++i)
            if (i % every < 20 + i / every % 40 || i % 333 == 7) x[i] = with;
        return x;
    };
    const auto movement = [&](const std::string& name, const std::vector<T>& x, double eb) {
        const std::size_t n = x.size();
        all.push_back({"encode " + name + type, [=](std::uint64_t seed) { return written(encode<T>(x, eb, {seed})); }, {}});
        bytes frame(ccoll::max_encoded_bytes<SZp, T>(n));
        frame.resize(encode_on_host<T>(x, frame, eb).bytes);
        all.push_back({"decode " + name + type, [=](std::uint64_t seed) { return decoded<T>(frame, n, seed); }, {}});
    };
    movement("waves", fields::smooth<T>(2 * 8192 + 100), 1e-3);
    movement("few changes", fields::quiet<T>(8192), 1e-1);
    movement("raw", fields::random<T>(8192), sizeof(T) == 4 ? 1e-9 : 1e-18);
    movement("offset", fields::offset<T>(8192), sizeof(T) == 4 ? 1e-2 : 1e-9);
    movement("land", fill(8192, 1, T(1e20), 150), 1e-3);
    movement("markers", fill(8292, 1, T(-9999), 128), 1e-3);
    movement("non-finite", fields::non_finite<T>(8292), 1e-3);
    std::vector<T> scattered = fields::smooth<T>(8192);  // a mask for every block
    for (std::size_t i = 3; i < scattered.size(); i += 11) scattered[i] = T(1e20);
    movement("scattered", scattered, 1e-3);
    movement("a constant", fields::constant<T>(8192), 1e-3);
    const auto addends = [&](const std::string& name, const std::vector<T>& x, const std::vector<T>& y, double eb) {
        const std::size_t n = x.size();
        bytes a(ccoll::max_addend_bytes<SZp, T>(n)), b(a), sum(a);
        a.resize(ccoll::encode_addend<SZp>(x, a, eb).bytes);
        b.resize(ccoll::encode_addend<SZp>(y, b, eb).bytes);
        sum.resize(ccoll::reduce_encoded<SZp, Sum, T>(a, b, sum).bytes);
        all.push_back({"addend of " + name + type, [=](std::uint64_t seed) { return written(add<T>(x, {}, {}, n, eb, {seed})); }, {}});
        all.push_back({"values and an addend, " + name + type, [=](std::uint64_t s) { return written(add<T>(x, {}, b, n, eb, {s})); }, {}});
        all.push_back({"two addends, " + name + type, [=](std::uint64_t seed) { return written(add<T>({}, a, b, n, eb, {seed})); }, {}});
        all.push_back({"differences, " + name + type, [=](std::uint64_t s) { return written(combine<T>(1, a, -1, b, n, {s})); }, {}});
        all.push_back({"decode a sum, " + name + type, [=](std::uint64_t seed) { return decoded<T>(sum, n, seed); }, {}});
    };
    addends("waves", fields::smooth<T>(8292), fields::smooth<T>(8292, 2), 1e-3);
    addends("noise", fields::random<T>(8192), fields::random<T>(8192, 2), 1e-6);
    addends("non-finite", fields::non_finite<T>(8192), fields::non_finite<T>(8192, 2), 1e-3);
    addends("land", fill(8292, 1, T(1e20), 150), fill(8292, 2, T(1e20), 150), 1e-3);
    addends("two coasts", fill(8192, 1, T(1e20), 150), fill(8192, 2, T(1e20), 110), 1e-3);
    addends("far values", fields::offset<T>(8192), fields::offset<T>(8192, 2), 1e-12);
}

bool differs(const workload& w, const emulator::mistake& made, const bytes& right)
{
    emulator::made = made;
    bool other = true;
    try {
        other = w.run(1) != right;
    } catch (const emulator::fault&) {}
    emulator::made = {};
    return other || races > 0;
}

std::vector<workload> workloads(emulator::mistake::kind what)
{
    std::vector<workload> all;
    add_workloads<float>(all, ", float");
    if (what != emulator::mistake::no_barrier) add_workloads<double>(all, ", double");  // the barriers are the same
    return all;
}

/// Runs workload i with a mistake, in a process of its own, because some mistakes end in a crash, or never.
/// @return  whether it differs from the right one
bool is_noticed([[maybe_unused]] const workload& w, [[maybe_unused]] std::size_t i, const emulator::mistake& made,
                [[maybe_unused]] const bytes& right)
{
#if defined(EMULATOR_TSAN)  // whose state a fork would break: this program is run anew
    const std::string line = std::to_string(made.where.line) + " " + std::to_string(i) + " " + made.where.file;
    setenv("CCOLL_MISTAKE", line.c_str(), 1);
    const int status = std::system("timeout -s KILL 120 /proc/$PPID/exe '[.mistake]' > /dev/null 2>&1");
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
#else
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (const int crash : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTERM}) std::signal(crash, SIG_DFL);  // not the tests' own
        alarm(20);
        _exit(differs(w, made, right) ? 1 : 0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
#endif
}

/// Makes each mistake in each line. @return  the lines where nobody noticed
std::string unnoticed(emulator::mistake::kind what, unsigned& lines)
{
    std::vector<workload> all = workloads(what);
    std::string missed;
    std::vector<bytes> right;
    for (workload& w : all) {
        emulator::watching = true;
        emulator::lines_met_count = 0;
        right.push_back(w.run(1));
        emulator::watching = false;
        for (unsigned i = 0; i < emulator::lines_met_count; ++i)
            if (emulator::lines_met[i].what == what)
                w.lines.insert({static_cast<int>(emulator::lines_met[i].where.line), emulator::lines_met[i].where.file});
    }
    if (races != 0) return "races in kernels without a mistake";
    if (is_noticed(all[0], 0, {what, {"nowhere", 1}, 5}, right[0])) return "a kernel without a mistake";
    std::set<std::pair<int, std::string>> every;
    for (const workload& w : all) every.insert(w.lines.begin(), w.lines.end());
    lines = static_cast<unsigned>(every.size());
    for (const auto& line : every) {
        bool noticed = false;
        for (std::size_t i = 0; i < all.size() && !noticed; ++i)
            for (const unsigned thread : {5u, 0u, 255u}) {
                if (noticed || all[i].lines.count(line) == 0 || (thread != 5 && what == emulator::mistake::no_barrier)) break;
                noticed = is_noticed(all[i], i, {what, {line.second.c_str(), static_cast<unsigned>(line.first)}, thread}, right[i]);
            }
        if (!noticed) missed += line.second.substr(line.second.find_last_of('/') + 1) + ":" + std::to_string(line.first) + " ";
    }
    return missed;
}

}  // namespace

#if defined(EMULATOR_TSAN)
TEST_CASE("One workload with the mistake that the environment names", "[.mistake]")
{
    const char* const said = std::getenv("CCOLL_MISTAKE");
    REQUIRE(said != nullptr);
    std::istringstream words(said);
    unsigned line = 0;
    std::size_t i = 0;
    std::string file;
    words >> line >> i >> file;
    const workload w = workloads(emulator::mistake::no_barrier).at(i);
    const bytes right = w.run(1);
    REQUIRE(races == 0);
    ends_at_race = true;
    CHECK(!differs(w, {emulator::mistake::no_barrier, {file.c_str(), line}, 0}, right));
}
TEST_CASE("A barrier that is left out of a kernel of SZp is noticed", "[cuda][mutants]")
{
    unsigned lines = 0;
    CHECK(unnoticed(emulator::mistake::no_barrier, lines) == "");
    CHECK(lines >= 40);
}
#else
TEST_CASE("An index off by one in one thread of a kernel of SZp is noticed", "[cuda][mutants]")
{
    unsigned lines = 0;
    CHECK(unnoticed(emulator::mistake::off_by_one, lines) == "");
    CHECK(lines >= 30);
}
#endif
