// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/tune/file.hpp>

#include "support/catch.hpp"

#if __has_include(<nlohmann/json.hpp>)
#define CCOLL_TEST_JSON
#include <nlohmann/json.hpp>
#endif

#include <cstdio>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace file_cases {

using namespace ccoll::tune;
namespace fs = std::filesystem;

namespace {

const std::string from_the_page = R"({"ccoll": "tuning", "version": 1, "classes": [
{"collective":"allreduce","element":"float","ranks":4,"from_bytes":1048576,"bound":"1e-3","shaped":false,"choice":"Ring,SZp,Homomorphic","seconds":0.0021,"plain_seconds":0.0093,"calls":120}
]})";

std::vector<tuned_class> two_classes()
{
    return {{"allreduce", "float", 4, 1048576, "1e-3", false, "Ring,SZp,Homomorphic", 0.0021, 0.0093, 120},
            {"bcast", "double", 33, 0, "", true, "MPI,None,none", 5e-324, 1e300,
             std::numeric_limits<std::uint64_t>::max()}};
}
/// Parses what should be right.
std::vector<tuned_class> read(const std::string& text)
{
    const tuning_table table = parse_tuning(text);
    INFO(text);
    CHECK(table.fault == "");
    return table.classes;
}
std::string fault_of(const std::string& text)
{
    const tuning_table table = parse_tuning(text);
    CHECK((table.classes.empty() || table.fault.empty()));
    return table.fault;
}
std::string with_class(const std::string& fields)
{
    return "{\"ccoll\":\"tuning\",\"version\":1,\"classes\":[\n{" + fields + "}\n]}";
}
const std::string must =
    R"("collective":"a","element":"b","ranks":1,"from_bytes":0,"bound":"","shaped":true,"choice":"c")";

/// Either a table (true), or a sentence that begins with a line of the text and can be printed (false).
/// Anything else throws.
bool is_right(const std::string& text)
{
    const tuning_table table = parse_tuning(text);
    if (table.fault.empty()) return true;
    const bool begins = table.classes.empty() && table.fault.compare(0, 5, "line ") == 0;
    const long line = begins ? std::strtol(table.fault.c_str() + 5, nullptr, 10) : 0;
    const bool printable =
        std::all_of(table.fault.begin(), table.fault.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (line < 1 || line > 1 + std::count(text.begin(), text.end(), '\n') || !printable)
        throw std::logic_error(table.fault);
    return false;
}

/// A folder that lives as long as the test.
struct folder {
    fs::path path = fs::temp_directory_path() / ("ccoll_tune_" + std::to_string(getpid()));
    folder() { fs::create_directories(path); }
    ~folder() { fs::remove_all(path); }
    std::string operator/(const char* name) const { return (path / name).string(); }
    auto files() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
};
std::string text_of(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a class is read with all its fields", "[tune][file]")
{
    const auto classes = read(from_the_page);
    REQUIRE(classes.size() == 1);
    CHECK(classes[0] == two_classes()[0]);
    CHECK(read("{\"ccoll\":\"tuning\",\"version\":1,\"classes\":[]}").empty());
    CHECK(read(" \t\r\n{ \"classes\" : [ ] , \"version\" : 1 , \"ccoll\" : \"tuning\" } \n").empty());
}

TEST_CASE("what is written is read back exactly, with a class in each line", "[tune][file]")
{
    auto classes = two_classes();
    CHECK(tuning_text(classes) ==
          "{\"ccoll\": \"tuning\", \"version\": 1, \"classes\": [\n"
          "{\"collective\": \"allreduce\", \"element\": \"float\", \"ranks\": 4, \"from_bytes\": 1048576, "
          "\"bound\": \"1e-3\", \"shaped\": false, \"choice\": \"Ring,SZp,Homomorphic\", \"seconds\": "
          "0.0021, \"plain_seconds\": 0.0093, \"calls\": 120},\n"
          "{\"collective\": \"bcast\", \"element\": \"double\", \"ranks\": 33, \"from_bytes\": 0, \"bound\": "
          "\"\", \"shaped\": true, \"choice\": \"MPI,None,none\", \"seconds\": 5e-324, \"plain_seconds\": "
          "1e+300, \"calls\": 18446744073709551615}\n]}\n");
    std::string all_bytes;
    for (int c = 0; c < 256; ++c) all_bytes += static_cast<char>(c);
    classes.push_back({all_bytes, "\"\\/\n", std::numeric_limits<int>::max(),
                       std::numeric_limits<std::uint64_t>::max(), all_bytes, true,
                       "mine::Bruck,BitMask<BitZip>", 0.1, 1.0 / 3, 0});
    CHECK(read(tuning_text(classes)) == classes);
    CHECK(read(tuning_text({})).empty());

    std::mt19937_64 random(3);
    for (int i = 0; i < 2000; ++i) {
        double seconds;
        const std::uint64_t bits = random() >> 1;
        static_assert(sizeof seconds == sizeof bits);
        std::memcpy(&seconds, &bits, sizeof bits);
        if (!(seconds <= std::numeric_limits<double>::max())) continue;
        classes[0].seconds = seconds;
        REQUIRE(parse_tuning(tuning_text(classes)).classes == classes);
    }
}

TEST_CASE("figures that say nothing are written as unknown", "[tune][file]")
{
    auto classes = two_classes();
    for (double bad :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), -1.0}) {
        classes[0].seconds = classes[1].plain_seconds = bad;
        const auto again = read(tuning_text(classes));
        CHECK(again.at(0).seconds == 0);
        CHECK(again.at(1).plain_seconds == 0);
    }
}

TEST_CASE("figures may be missing, fields with other names are skipped, and strings may be escaped",
          "[tune][file]")
{
    CHECK(read(with_class(must)).at(0) == tuned_class{"a", "b", 1, 0, "", true, "c"});
    CHECK(read(with_class(must + R"(,"x":null,"y":[1,-2.5e+3,true,false,"]}",{"z":[[],{}]}],"x":0)"))
              .at(0)
              .collective == "a");
    CHECK(read("{\"ccoll\":\"tuning\",\"by\":{\"host\":[\"n1\"]},\"version\":1,\"classes\":[]}").empty());
    CHECK(read(with_class(must + R"(,"seconds":1E-2,"plain_seconds":-0.0,"calls":7)")).at(0).seconds == 0.01);
    const std::string unit =
        R"("collective":"\u0061\"\\\/\b\f\n\r\t\u00e4\u20AC\ud83D\ude00","element":"","ranks":1,"from_bytes":0,)";
    CHECK(read(with_class(unit + R"("bound":"","shaped":true,"choice":"")")).at(0).collective ==
          "a\"\\/\b\f\n\r\t\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST_CASE("a mistake gives its line, what was expected and what was found", "[tune][file]")
{
    CHECK(fault_of("") == "line 1: the file ends where '{' is expected");
    CHECK(fault_of("\n\n[1]") == "line 3: expected '{', found '['");
    CHECK(fault_of("{}") == "line 1: \"ccoll\": \"tuning\" is missing");
    CHECK(fault_of("{\"ccoll\":\"tuning\",\"classes\":[]}") == "line 1: \"version\" is missing");
    CHECK(fault_of("{\"ccoll\":\"tuning\",\"version\":1}") == "line 1: \"classes\" are missing");
    CHECK(fault_of("{\"ccoll\":\"table\",\n\"version\":1}") == "line 1: \"ccoll\" is not \"tuning\"");
    CHECK(fault_of("{\"ccoll\":\"tuning\",\n\"version\":2}") ==
          "line 2: version 2 is not known; version 1 is");
    CHECK(fault_of("{\"ccoll\":\"tuning\",\"version\":\"1\"}") == "line 1: expected a number, found '\"'");
    CHECK(fault_of("{\"ccoll\":\"tuning\",\"ccoll\":\"tuning\"}") == "line 1: there are two fields 'ccoll'");
    CHECK(fault_of(from_the_page + "x") == "line 3: there is something behind the end");
    CHECK(fault_of(with_class("")) == "line 2: a class has no \"collective\"");
    CHECK(fault_of(with_class(must + ",\"ranks\":1")) == "line 2: there are two fields 'ranks'");
    CHECK(fault_of(with_class("\"ranks\":0")) ==
          "line 2: expected an integer from 1 to 2147483647; found '0'");
    CHECK(fault_of(with_class("\"ranks\":2147483648")) ==
          "line 2: expected an integer from 1 to 2147483647; found '2147483648'");
    CHECK(fault_of(with_class("\"from_bytes\":1e3")) ==
          "line 2: expected an integer from 0 to 18446744073709551615; found '1e3'");
    CHECK(fault_of(with_class("\"calls\":18446744073709551616")).find("found '18446744073709551616'") !=
          std::string::npos);
    CHECK(fault_of(with_class("\"seconds\":-1")) ==
          "line 2: seconds must be a double that is not negative; found '-1'");
    CHECK(fault_of(with_class("\"seconds\":1e999")) ==
          "line 2: seconds must be a double that is not negative; found '1e999'");
    CHECK(fault_of(with_class("\"shaped\":0")) == "line 2: expected true or false, found '0'");
    CHECK(fault_of(with_class("\"bound\":1e-3")) == "line 2: expected a string, found '1'");
    CHECK(fault_of(with_class(must + ",")) == "line 2: expected a string, found '}'");
    CHECK(fault_of(with_class(must + "},\n{" + must)) == "line 3: this class is also in line 2");
    CHECK(fault_of(with_class(must + "},\n{" + must + ",\"calls\":3},{" + must)) ==
          "line 3: this class is also in line 2");
    for (const char* bad : {"01",
                            "+1",
                            "1.",
                            ".5",
                            "1e",
                            "1e+",
                            "-",
                            "nul",
                            "NaN",
                            "Infinity",
                            "'a'",
                            "[1,]",
                            "[1 2]",
                            "{\"a\":1,}",
                            "{a:1}",
                            "{\"a\" 1}",
                            "\"\\x\"",
                            "\"\\u12g4\"",
                            "\"\\u-123\"",
                            "\"\\ud800\"",
                            "\"\\ud800\\u0041\"",
                            "\"\\ud800\\ud800\"",
                            "\"\\udc00\"",
                            "\"\\ud800\\",
                            "\"\\",
                            "\"a\nb\"",
                            "\"",
                            "\"\\u12",
                            "tru",
                            "[",
                            "{",
                            ""}) {
        INFO(bad);
        CHECK(fault_of(with_class(must + ",\"x\":" + bad)).compare(0, 5, "line ") == 0);
    }
    CHECK(read(with_class(must + ",\"x\":" + std::string(64, '[') + std::string(64, ']'))).size() == 1);
    CHECK(fault_of(with_class(must + ",\"x\":" + std::string(100000, '['))) ==
          "line 2: values are nested too deeply");
}

TEST_CASE("a file that is cut or damaged anywhere gives a table or a sentence", "[tune][file]")
{
    auto classes = two_classes();
    classes[0].choice = "a\\\"\n\x80";
    std::string text = tuning_text(classes);
    text.insert(text.rfind('}', text.rfind(']')), R"(,"x":["\ud83d\ude00",{"y":-1.5e+2}])");
    REQUIRE(read(text) == classes);
    const std::size_t last = text.rfind('}');
    for (std::size_t end = 0; end <= last; ++end) REQUIRE(!is_right(text.substr(0, end)));
    std::string changed = text;
    int right = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (int c = 0; c < 256; ++c) {
            changed[at] = static_cast<char>(c);
            right += is_right(changed) ? 1 : 0;
        }
        changed[at] = text[at];
    }
    CHECK(right > 10000);  // letters of names, and digits
    std::mt19937 random(5);
    for (int i = 0; i < 10000; ++i) {
        std::string damaged = text;
        for (int changes = 1 + i % 4; changes > 0 && !damaged.empty(); --changes) {
            const std::size_t at = random() % damaged.size(), other = random() % damaged.size();
            switch (random() % 3) {
            case 0: damaged[at] = static_cast<char>(random()); break;
            case 1: damaged.insert(at, damaged.substr(other, random() % 40)); break;
            default: damaged.erase(at, random() % 40);
            }
        }
        static_cast<void>(is_right(damaged));
    }
}

#if defined(CCOLL_TEST_JSON)
TEST_CASE(
    "another reader of JSON reads the same from what is written, and refuses nothing that is accepted here",
    "[tune][file]")
{
    const auto classes = two_classes();
    const std::string text = tuning_text(classes);
    const auto all = nlohmann::json::parse(text);
    CHECK(all.at("ccoll") == "tuning");
    CHECK(all.at("version") == 1);
    REQUIRE(all.at("classes").size() == classes.size());
    for (std::size_t i = 0; i < classes.size(); ++i) {
        const auto& theirs = all.at("classes").at(i);
        CHECK(theirs.size() == 10);
        CHECK(tuned_class{theirs.at("collective"), theirs.at("element"), theirs.at("ranks"),
                          theirs.at("from_bytes"), theirs.at("bound"), theirs.at("shaped"),
                          theirs.at("choice"), theirs.at("seconds"), theirs.at("plain_seconds"),
                          theirs.at("calls")} == classes[i]);
    }
    // ASCII alone: bytes from 0x80 on are not checked here.
    const std::string more = with_class(must + R"(,"x":[1.5e-2,null,"\u0041\n"],"seconds":1e-3)");
    std::string changed = more;
    int accepted = 0;
    for (std::size_t at = 0; at < more.size(); ++at) {
        for (int c = 0; c < 128; ++c) {
            changed[at] = static_cast<char>(c);
            if (!parse_tuning(changed).fault.empty()) continue;
            ++accepted;
            if (!nlohmann::json::accept(changed)) FAIL_CHECK(changed);
        }
        changed[at] = more[at];
    }
    CHECK(accepted > 1000);
}
#endif

TEST_CASE("merging replaces classes with the same key, and the key is all but choice and figures",
          "[tune][file]")
{
    const auto old = two_classes();
    auto fresh = old[1];
    fresh.choice = "Chain,SZp,Once";
    CHECK(merge(old, std::vector{fresh}) == std::vector{old[0], fresh});
    CHECK(merge({}, std::vector{old[1], old[0]}) == old);
    CHECK(merge(old, {}) == old);
    CHECK(merge(old, std::vector{old[1], fresh}) == std::vector{old[0], fresh});
    const auto grows = [&](auto change) {
        auto other = old[0];
        change(other);
        return merge(old, std::vector{other}).size() == 3;
    };
    CHECK(grows([](tuned_class& c) { c.collective = "reduce"; }));
    CHECK(grows([](tuned_class& c) { c.element = "double"; }));
    CHECK(grows([](tuned_class& c) { c.ranks = 5; }));
    CHECK(grows([](tuned_class& c) { c.from_bytes = 0; }));
    CHECK(grows([](tuned_class& c) { c.bound = "1e-4"; }));
    CHECK(grows([](tuned_class& c) { c.shaped = true; }));
    CHECK(!grows([](tuned_class& c) {
        c.choice = "";
        c.seconds = c.plain_seconds = 1;
        c.calls = 0;
    }));
    CHECK(read(tuning_text(merge(old, old))) == old);
}

TEST_CASE("a file is written whole or not at all, and leaves nothing beside it", "[tune][file]")
{
    const folder here;
    const auto classes = two_classes();
    const std::string path = here / "tuning.json";
    CHECK(read_tuning(path).absent);
    CHECK(read_tuning(path).fault == "");
    CHECK(write_tuning(path, classes) == "");
    CHECK(read_tuning(path).classes == classes);
    CHECK(read_tuning(path).hash == hash_of(tuning_text(classes)));
    CHECK(!read_tuning(path).absent);
    CHECK(write_tuning(path, {}) == "");
    CHECK(read_tuning(path).classes.empty());
    CHECK(text_of(path) == tuning_text({}));
    CHECK(here.files() == 1);

    // A name that another process has taken, and that must stay as it is.
    const std::string taken = path + "." + std::to_string(getpid()) + ".0.tmp";
    std::ofstream(taken) << "theirs";
    CHECK(write_tuning(path, classes) == "");
    CHECK(text_of(taken) == "theirs");
    CHECK(read_tuning(path).classes == classes);
    CHECK(here.files() == 2);
}

TEST_CASE("what is wrong with a file or a disk is a sentence that names the file", "[tune][file]")
{
    const folder here;
    const std::string path = here / "tuning.json";
    std::ofstream(path) << "{\"ccoll\":\n\"tuning\",\"version\":3}";
    CHECK(read_tuning(path).fault ==
          "'" + path + "' is no tuning file of this version: line 2: version 3 is not known; version 1 is");
    CHECK(read_tuning(here.path.string()).fault.find("cannot read '" + here.path.string() + "': ") == 0);
    CHECK(read_tuning(path + "/x").fault.find("cannot open '" + path + "/x': ") == 0);
    CHECK(write_tuning(here / "none/tuning.json", {}).find("cannot create '" + (here / "none/tuning.json")) ==
          0);
    fs::create_directories(here.path / "folder" / "full");
    CHECK(write_tuning(here / "folder", {}).find("cannot write '" + (here / "folder") + "': ") == 0);
    CHECK(here.files() == 2);
    std::ofstream(here / "long.json") << std::string(most_tuning_bytes, ' ') + tuning_text({});
    CHECK(read_tuning(here / "long.json").fault ==
          "'" + (here / "long.json") + "' has more than 16 MiB, so it is no tuning file");
    if (fs::exists("/dev/zero"))
        CHECK(read_tuning("/dev/zero").fault == "'/dev/zero' has more than 16 MiB, so it is no tuning file");
}

}  // namespace file_cases
