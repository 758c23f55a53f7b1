// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/wire/message.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

using namespace ccoll;

TEST_CASE("a stamp is read back, and every damage to its first eight bytes is detected", "[wire][message]")
{
    call_stamp sent;
    sent.call = 7;
    sent.arguments.count = 12345;
    std::array<std::byte, sizeof(call_stamp)> bytes{};
    store(bytes, 0, sent);
    call_stamp got;
    REQUIRE(read_stamp(bytes, got) == status::ok);
    CHECK(got.call == 7);
    CHECK(got.arguments == sent.arguments);
    for (std::size_t length = 0; length < sizeof(call_stamp); ++length)
        CHECK(read_stamp(const_byte_span(bytes).first(length), got) == status::corrupt);
    for (std::size_t at = 0; at < 6; ++at)
        for (int bit = 0; bit < 8; ++bit) {
            auto damaged = bytes;
            damaged[at] ^= std::byte(1 << bit);
            const status s = read_stamp(damaged, got);
            if (at < 4) CHECK(s == status::corrupt);
            else if (at == 4) CHECK(s == status::wire_version);
            else CHECK((s == status::corrupt || got.kind != message_kind::data));
        }
}

TEST_CASE("two ranks' arguments are compared, the most basic ones first, and both values are given",
          "[wire][message]")
{
    call_arguments mine;
    mine.count = 100;
    mine.bound = 1e-3;
    mine.path = 1;
    mine.plan = 2;
    mine.root = 3;
    CHECK(compare(mine, mine).ok());
    call_arguments theirs = mine;
    theirs.bound = 1e-4;
    CHECK(compare(mine, theirs).code == status::bound_differs);
    CHECK(compare(mine, theirs).expected == 1e-3);
    CHECK(compare(mine, theirs).found == 1e-4);
    theirs.path = 9;
    CHECK(compare(mine, theirs).code == status::plan_differs);
    theirs.root = 0;
    CHECK(compare(mine, theirs).code == status::root_differs);
    theirs.count = 90;
    CHECK(compare(mine, theirs).code == status::count_differs);
    CHECK(compare(mine, theirs).found == 90);
    theirs.plan = 0;
    CHECK(compare(mine, theirs).code == status::plan_differs);
    theirs = mine;
    theirs.rank = 5;
    CHECK(compare(mine, theirs).ok());
}

TEST_CASE("the order of arguments is total: the least and the greatest of a set differ if any two do",
          "[wire][message]")
{
    const call_arguments base{100, 1e-3, 1, 2, 3, 0};
    for (int field = 0; field < 5; ++field) {
        call_arguments other = base;
        if (field == 0) other.count = 99;
        if (field == 1) other.bound = 2e-3;
        if (field == 2) other.path = 0;
        if (field == 3) other.plan = 7;
        if (field == 4) other.root = 1;
        CHECK((base < other) != (other < base));
        CHECK_FALSE(base == other);
    }
    CHECK_FALSE(base < base);
}

TEST_CASE("a verdict from foreign bytes is always one that this version knows", "[wire][message]")
{
    std::array<std::byte, sizeof(verdict)> bytes{};
    store(bytes, 0, verdict{status::peer_lost, 1, 2, 3, 4, 5});
    CHECK(read_verdict(bytes).code == status::peer_lost);
    for (std::uint32_t code : {0u, static_cast<std::uint32_t>(ccoll::last_status) + 1, 1000u, 0xffffffffu}) {
        store(bytes, 0, code);
        CHECK(read_verdict(bytes).code == status::corrupt);
    }
    CHECK(read_verdict(const_byte_span(bytes).first(31)).code == status::corrupt);
}

TEST_CASE("hashes of what ranks must share depend on names and on their order", "[wire][message]")
{
    CHECK(mixed(mixed(hash_seed, "ab"), "c") != mixed(mixed(hash_seed, "a"), "bc"));
    CHECK(mixed(mixed(hash_seed, "Ring"), "Sum") != mixed(mixed(hash_seed, "Sum"), "Ring"));
}

TEST_CASE("a sentence names what was expected, what was found, where and by whom", "[base][error]")
{
    const std::string s = sentence("allreduce", {status::count_differs, 1, 3, 0, 100, 90});
    CHECK(s == std::string("ccoll::allreduce: ranks disagree on the element count; expected 100, found 90 "
                           "from rank 3 in step 0 (seen on rank 1); ") +
                   remedy(status::count_differs));
    CHECK(sentence("bcast", {status::no_communicator}, "MPI is not initialised") ==
          "ccoll::bcast: the communicator cannot be used: MPI is not initialised");
    // What a rank says of its own arguments came in no message. Numbers have the digits that they were
    // written with.
    CHECK(sentence("allreduce", {status::bad_bound, 0, 0, -1, 0, -0.1}) ==
          "ccoll::allreduce: the error bound must be positive and below 1e300; found -0.1 (seen on rank 0)");
    CHECK(sentence("bcast", {status::bound_differs, 1, 0, 2, 0.1, 0.1 + 0x1p-56}) ==
          std::string("ccoll::bcast: ranks disagree on the error bound; expected 0.1, found "
                      "0.10000000000000002 from rank 0 in step 2 (seen on rank 1); ") +
              remedy(status::bound_differs));
    CHECK(sentence("recv", {status::timed_out, 1, 0, -1, 5, 5.0000005419997251}) ==
          std::string("ccoll::recv: nothing arrived for longer than Timeout allows; waited 5 s for rank 0 "
                      "(seen on rank 1); ") +
              remedy(status::timed_out));
    for (std::uint32_t code = 0; code <= static_cast<std::uint32_t>(ccoll::last_status); ++code)
        CHECK(std::strcmp(describe(static_cast<status>(code)), "unknown status") != 0);
    const std::error_code e = status::corrupt;
    CHECK(e.category().name() == std::string("ccoll"));
    CHECK(e.message() == describe(status::corrupt));
}
