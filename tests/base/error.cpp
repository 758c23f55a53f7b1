// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/error.hpp: what a call throws is a std::system_error, and its code says what a std::error_code would.
#include "support/catch.hpp"

#include <set>
#include <string>
#include <system_error>

#include <ccoll/base/error.hpp>

using ccoll::status;

TEST_CASE("every status has a sentence and a code of its own", "[base]")
{
    std::set<std::string> sentences;
    for (int i = 0; i <= static_cast<int>(ccoll::last_status); ++i) {
        const auto s = static_cast<status>(i);
        const std::string said = ccoll::describe(s);
        INFO(i << ": " << said);
        CHECK(said != "unknown status");
        CHECK(sentences.insert(said).second);
        const std::error_code code = s;
        CHECK(code.value() == i);
        CHECK(code.category() == ccoll::error_category());
        CHECK(code.message().find(said) == 0);
        CHECK(static_cast<bool>(code) == (s != status::ok));
    }
    const auto beyond = static_cast<status>(static_cast<int>(ccoll::last_status) + 1);
    CHECK(ccoll::describe(beyond) == std::string("unknown status"));
    CHECK(std::string(ccoll::error_category().name()) == "ccoll");
}

TEST_CASE("what a call throws is a std::system_error with the code, the sentence and the verdict", "[base]")
{
    const ccoll::verdict why{status::count_differs, 1, 2, 3, 10, 7};
    bool caught = false;
    try {
        ccoll::raise("allreduce", why);
    } catch (const std::system_error& e) {
        caught = true;
        CHECK(e.code() == status::count_differs);
        CHECK(e.code() == make_error_code(status::count_differs));
        CHECK(e.code() != status::timed_out);
        CHECK(std::string(e.what()) == ccoll::sentence("allreduce", why));
        const auto* const ours = dynamic_cast<const ccoll::error*>(&e);
        REQUIRE(ours != nullptr);
        CHECK(ours->what_happened().peer == 2);
        const ccoll::error copy = *ours;
        CHECK(copy.what() == std::string(e.what()));
        CHECK(copy.code() == e.code());
    }
    CHECK(caught);
    CHECK_THROWS_AS(ccoll::raise("bcast", {status::timed_out}), ccoll::error);
    CHECK_THROWS_AS(ccoll::raise("bcast", {status::timed_out}), std::runtime_error);
}
