// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the environment says about calls that measure: a tuning file repeats what was found, new classes are
// added to it, and CCOLL_ALGO comes first. A process reads its environment once, so this program sets it
// before anything else.
#include <ccoll/auto.hpp>

#include "worlds.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

namespace measuring_settings_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

constexpr std::size_t mib = (1 << 20) / sizeof(float);

const std::string path = "tuned." + std::to_string(getpid()) + ".json";
const bool environment_is_set = [] {
    ccoll::tune::tuned_class known;
    known.collective = "allreduce";
    known.element = "float";
    known.ranks = 3;
    known.from_bytes = 1 << 20;
    known.bound = "0.01";
    known.choice = "RecursiveDoubling,SZp,Homomorphic";
    return ccoll::tune::write_tuning(path, std::span(&known, 1)).empty() &&
           setenv("CCOLL_TUNE", ("file=" + path).c_str(), 1) == 0 &&
           setenv("CCOLL_ALGO", "bcast:-64K:szp;bcast:64K-:chain,szp;reduce:auto;gather:nothing", 1) == 0;
}();

}  // namespace

TEST_CASE(
    "A class of the tuning file takes its choice from the first call on; other classes are measured and "
    "added",
    "[collectives][auto]")
{
    REQUIRE(environment_is_set);
    none_wrong(worlds::run<findings>(3, [=](threads_comm& comm, findings& f) {
        std::vector<float> x(mib, 1.5f), y(mib);
        for (int k = 0; k < 12; ++k) {
            const ccoll::report r = ccoll::allreduce<Codec::Auto, ErrorBound<1e-2>>(x, y, comm);
            f.expect(r.algorithm == std::string("RecursiveDoubling"),
                     "r.algorithm == std::string(\"RecursiveDoubling\")");
            f.expect(r.codec == std::string("SZp"), "r.codec == std::string(\"SZp\")");
            f.expect(r.reason == std::string("the tuning file of CCOLL_TUNE"),
                     "r.reason == std::string(\"the tuning file of CCOLL_TUNE\")");
            f.expect(*ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, comm).reason != 0,
                     "a class that is not in the file");
        }
        ccoll::request begun = ccoll::iallreduce<Codec::Auto, ErrorBound<1e-2>>(x, y, comm);
        f.expect(begun.wait().codec == std::string("SZp"), "begun.wait().codec == std::string(\"SZp\")");
    }));
    const ccoll::tune::tuning_table now = ccoll::tune::read_tuning(path);
    CHECK(now.fault == "");
    REQUIRE(now.classes.size() == 2);
    CHECK(now.classes[0].bound == "0.001");
    CHECK(now.classes[0].calls == 12);
    CHECK(now.classes[0].plain_seconds > 0);
    CHECK(now.classes[1].choice == "RecursiveDoubling,SZp,Homomorphic");
    std::remove(path.c_str());
}

TEST_CASE(
    "CCOLL_ALGO chooses by collective and length, and a name that there is not is an error on all ranks",
    "[collectives][auto]")
{
    none_wrong(worlds::run<findings>(2, [=](threads_comm& comm, findings& f) {
        std::vector<float> shorter(1000, 1.5f), longer(mib / 8, 1.5f);
        for (int k = 0; k < 3; ++k) {
            const ccoll::report a = ccoll::bcast<Codec::Auto, ErrorBound<1e-3>>(shorter, 0, comm),
                                b = ccoll::bcast<Codec::Auto, ErrorBound<1e-3>>(longer, 0, comm);
            f.expect(a.codec == std::string("SZp"), "a.codec == std::string(\"SZp\")");
            f.expect(a.reason == std::string("CCOLL_ALGO"), "a.reason == std::string(\"CCOLL_ALGO\")");
            f.expect(b.algorithm == std::string("Chain"), "b.algorithm == std::string(\"Chain\")");
            std::vector<float> all(2 * shorter.size());
            try {
                ccoll::gather<Codec::Auto, ErrorBound<1e-3>>(shorter, all, 0, comm);
                f.expect(false, "there is no codec of this name");
            } catch (const ccoll::error& e) {
                f.expect(std::string(e.what()).find("nothing is called 'nothing'") != std::string::npos,
                         "std::string(e.what()).find(\"nothing is called 'nothing'\") != std::string::npos");
            }
            std::vector<float> sum(shorter.size());
            f.expect(ccoll::reduce<Codec::Auto, ErrorBound<1e-3>>(shorter, sum, 0, comm).codec ==
                         std::string("None"),
                     "auto");
        }
    }));
}

TEST_CASE("Settings are read as they are written", "[tune]")
{
    using ccoll::tune::read_settings;
    CHECK(read_settings(nullptr, nullptr).hash == 0);
    CHECK(read_settings(nullptr, nullptr).measures);
    CHECK_FALSE(read_settings("off", nullptr).measures);
    CHECK(read_settings("search,report,file=/nowhere/tuned.json", nullptr).searches);
    CHECK(read_settings("search,report,file=/nowhere/tuned.json", nullptr).reports);
    CHECK(read_settings("file=/nowhere/tuned.json,search", nullptr).path == "/nowhere/tuned.json");
    CHECK(read_settings("search", nullptr).path.empty());
    CHECK(read_settings("file=/nowhere/tuned.json", nullptr).warning.empty());
    CHECK(read_settings("file=/nowhere/tuned.json", nullptr).fault.empty());
    CHECK_FALSE(read_settings("file=/proc/self/status", nullptr).warning.empty());
    CHECK(read_settings("off", nullptr).hash != read_settings(nullptr, "off").hash);
    CHECK_FALSE(read_settings(nullptr, "allreduce").rules.fault.empty());
    for (const char* wrong : {"Off", "tuned.json", "search,tuned.json", "file=", "file", "report;off"}) {
        INFO(wrong);
        const ccoll::tune::settings s = read_settings(wrong, nullptr);
        CHECK(s.fault.find(
                  " is not known; known are off, report, search and file=<path>, with commas between them") !=
              std::string::npos);
        CHECK(s.path.empty());
        CHECK_FALSE(s.says_nothing());
    }
    CHECK(read_settings("search,Off", nullptr).fault.find("'Off'") != std::string::npos);
}

TEST_CASE("A relative path begins where the program began", "[tune]")
{
    const std::string here = ccoll::tune::present_folder();
    REQUIRE(here.front() == '/');
    CHECK(ccoll::tune::read_settings("file=tuned.json", nullptr).path == here + "/tuned.json");
    REQUIRE(chdir("/") == 0);
    CHECK(ccoll::tune::settings_of_process().path == here + "/" + path);
    REQUIRE(chdir(here.c_str()) == 0);
}

}  // namespace measuring_settings_cases
