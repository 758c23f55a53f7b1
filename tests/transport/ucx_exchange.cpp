// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How ranks find each other: a directory, a map in one process, and a store of the user's. No UCX.
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"

#include <ccoll/transport/exchange.hpp>

namespace ucx_exchange_cases {

namespace {

/// Stands for the store of a launcher.
struct launcher_store {
    ccoll::process_exchange values;
    void set(const std::string& key, const std::string& value)
    {
        values.put(key, std::as_bytes(std::span(value)));
    }
    bool wait(const std::string& key, std::string& value, double seconds)
    {
        std::vector<std::byte> bytes;
        if (!values.get(key, bytes, seconds)) return false;
        value.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return true;
    }
};

// [doc:exchange]
class store_exchange final : public ccoll::exchange {
public:
    explicit store_exchange(launcher_store& store) : store_(store) {}
    void put(const std::string& key, ccoll::const_byte_span value) override
    {
        store_.set(key, std::string(reinterpret_cast<const char*>(value.data()), value.size()));
    }
    bool get(const std::string& key, std::vector<std::byte>& value, double seconds) override
    {
        std::string text;
        if (!store_.wait(key, text, seconds)) return false;  // nobody has put it in time
        const auto bytes = std::as_bytes(std::span(text));
        value.assign(bytes.begin(), bytes.end());
        return true;
    }

private:
    launcher_store& store_;
};
// [/doc:exchange]

std::vector<std::byte> bytes_of(const std::string& text)
{
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// What every exchange has to do. `at_other` is the same one, as another rank has it.
void keeps_its_promise(ccoll::exchange& here, ccoll::exchange& at_other)
{
    std::vector<std::byte> found(3);
    CHECK_FALSE(here.get("absent", found, 0));
    const double before = ccoll::steady_seconds();
    CHECK_FALSE(here.get("absent", found, 0.05));
    CHECK(ccoll::steady_seconds() - before > 0.04);

    for (const std::string key :
         {"a", "group/x/1", "group/x", "group-x", "..", ".", "%2f", "A", "a b\n\\\"*"}) {
        std::string value = "value of " + key;
        value += '\0';
        here.put(key, bytes_of(value));
        CHECK(at_other.get(key, found, 5));
        CHECK(found == bytes_of(value));
    }
    here.put("nothing", {});
    CHECK(at_other.get("nothing", found, 5));
    CHECK(found.empty());
    const std::string large(3000000, 'x');
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        at_other.put("large", bytes_of(large));
    });
    CHECK(here.get("large", found, 10));
    later.join();
    CHECK(found == bytes_of(large));
}

template <class Call>
std::string what_throws(Call call)
{
    try {
        call();
    } catch (const ccoll::error& e) {
        return e.what();
    }
    return "";
}

struct folder {
    std::string name;
    folder()
    {
        char pattern[] = "/tmp/ccoll-exchange-XXXXXX";
        REQUIRE(mkdtemp(pattern) != nullptr);
        name = pattern;
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(name); }
};

}  // namespace

TEST_CASE("An exchange over a directory gives whole values to whoever waits for them", "[exchange]")
{
    const folder f;
    ccoll::directory_exchange here(f.name + "/job"), at_other(f.name + "/job");
    keeps_its_promise(here, at_other);
    for (const auto& each : std::filesystem::directory_iterator(f.name))
        CHECK(each.path().filename() == "job");  // no key leads out of the directory
    for (const auto& each : std::filesystem::directory_iterator(f.name + "/job"))
        CHECK(each.path().filename().string().rfind("key-", 0) == 0);  // no draft is left
}

TEST_CASE("A directory that cannot be used is an error with its name", "[exchange]")
{
    const folder f;
    CHECK(what_throws([&] { ccoll::directory_exchange(f.name + "/no/such"); }).find("/no/such") !=
          std::string::npos);
    ccoll::directory_exchange how(f.name + "/job");
    std::filesystem::remove_all(f.name + "/job");
    CHECK(what_throws([&] { how.put("a", {}); }).find("/job") != std::string::npos);
    ccoll::directory_exchange again(f.name + "/job");
    CHECK_THROWS_AS(again.put(std::string(300, 'a'), {}), ccoll::error);
}

TEST_CASE("An exchange within a process, and one over a store of the user's", "[exchange]")
{
    ccoll::process_exchange one;
    keeps_its_promise(one, one);
    launcher_store store;
    store_exchange first(store), second(store);
    keeps_its_promise(first, second);
}

}  // namespace ucx_exchange_cases
