// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/messages.hpp: lines of the library go to a function of the program, to stderr, or nowhere.
#include "support/catch.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <ccoll/base/messages.hpp>

namespace {

std::string heard;
void hear(const char* line) noexcept { heard += std::string("[") + line + "]"; }

struct restored {
    ccoll::message_handler before = ccoll::on_message(nullptr);
    ~restored() { ccoll::on_message(before); }
};

/// What `work` writes to stderr.
template <class Work>
std::string written(Work work)
{
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    std::fflush(stderr);
    const int kept = dup(2);
    dup2(fileno(file), 2);
    work();
    std::fflush(stderr);
    dup2(kept, 2);
    close(kept);
    std::rewind(file);
    char text[4096];
    const std::string all(text, std::fread(text, 1, sizeof text, file));
    std::fclose(file);
    return all;
}

}  // namespace

TEST_CASE("lines of the library are given to the handler of the program, without their end", "[base]")
{
    const restored again;
    heard.clear();
    CHECK(ccoll::on_message(&hear) == nullptr);
    const std::string printed = written([] {
        ccoll::detail::say("one");
        const std::string many(3000, 'x');
        ccoll::detail::say_formatted("two of %d: %s, %.3g", 3, many.c_str(), 0.5);
        ccoll::detail::say_formatted("100 %%");
    });
    CHECK(printed.empty());
    CHECK(heard == "[one][two of 3: " + std::string(3000, 'x') + ", 0.5][100 %]");
    CHECK(ccoll::on_message(nullptr) == &hear);
}

TEST_CASE("lines of the library can be switched off, and on again", "[base]")
{
    const restored again;
    CHECK(written([] { ccoll::detail::say("nobody hears this"); }).empty());
    ccoll::on_message(&ccoll::print_message);
    CHECK(written([] { ccoll::detail::say("ccoll: somebody does"); }) == "ccoll: somebody does\n");
}

TEST_CASE("CCOLL_MESSAGES=off switches lines off, and nothing else does", "[base]")
{
    const char* const was = std::getenv("CCOLL_MESSAGES");
    const std::string kept = was != nullptr ? was : "";
    unsetenv("CCOLL_MESSAGES");
    CHECK(ccoll::detail::message_handler_of_environment() == &ccoll::print_message);
    setenv("CCOLL_MESSAGES", "on", 1);
    CHECK(ccoll::detail::message_handler_of_environment() == &ccoll::print_message);
    setenv("CCOLL_MESSAGES", "off", 1);
    CHECK(ccoll::detail::message_handler_of_environment() == nullptr);
    if (was != nullptr) setenv("CCOLL_MESSAGES", kept.c_str(), 1);
    else unsetenv("CCOLL_MESSAGES");
}
