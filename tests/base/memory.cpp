// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/memory.hpp, base/workspace.hpp
#include "support/catch.hpp"

#include <cstring>
#include <new>
#include <set>

#include <ccoll/base/workspace.hpp>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define WATCHED_BY_ASAN
#endif
#endif

TEST_CASE("values are stored to and loaded from any address", "[base][memory]")
{
    std::vector<std::byte> memory(32);
    for (std::size_t at = 0; at < 16; ++at) {
        ccoll::store(memory, at, 1.5 + static_cast<double>(at));
        CHECK(ccoll::load<double>(memory, at) == 1.5 + static_cast<double>(at));
    }
}

TEST_CASE("copying nothing is allowed, even from and to a null pointer", "[base][memory]")
{
    std::byte kept{7};
    ccoll::copy({}, {});
    ccoll::copy({&kept, 1}, {});
    CHECK(kept == std::byte{7});
}

TEST_CASE("a workspace hands out distinct buffers of at least the size asked for", "[base][memory]")
{
    ccoll::workspace work;
    std::set<std::byte*> addresses;
    for (const std::size_t size : {1u, 100u, 4096u, 100u, 0u}) {
        ccoll::buffer_memory* b = work.take(size);
        CHECK(b->room().size() >= size);
        CHECK(b->references == 1);
        CHECK(b->message().empty());
        if (size > 0) std::memset(b->room().data(), 1, size);
        addresses.insert(b->room().data());
    }
    CHECK(addresses.size() == 5);
    CHECK(work.buffers() == 5);
}

TEST_CASE("a workspace allocates nothing once it has grown", "[base][memory]")
{
    ccoll::workspace work;
    for (int call = 0; call < 50; ++call) {
        ccoll::buffer_memory* large = work.take(5000);
        ccoll::buffer_memory* small = work.take(10);
        ccoll::buffer_memory* middle = work.take(300);
        work.drop(call % 2 == 0 ? large : middle);
        work.drop(small);
        work.drop(call % 2 == 0 ? middle : large);
        CHECK(work.buffers() == 3);
    }
}

TEST_CASE("a workspace gives the smallest idle buffer that is large enough", "[base][memory]")
{
    ccoll::workspace work;
    ccoll::buffer_memory* large = work.take(5000);
    ccoll::buffer_memory* small = work.take(10);
    ccoll::buffer_memory* middle = work.take(300);
    for (ccoll::buffer_memory* b : {middle, large, small}) work.drop(b);
    CHECK(work.take(11) == middle);
    CHECK(work.take(11) == large);
    CHECK(work.take(10) == small);
    CHECK(work.buffers() == 3);
}

TEST_CASE("a buffer returns to its workspace with its last reference, and is empty when reused",
          "[base][memory]")
{
    ccoll::workspace work;
    ccoll::buffer_memory* shared = work.take(64);
    ++shared->references;
    shared->used = 20;
    CHECK(shared->message().size() == 20);
    work.drop(shared);
    ccoll::buffer_memory* other = work.take(64);
    CHECK(other != shared);
    work.drop(shared);
    ccoll::buffer_memory* again = work.take(64);
    CHECK(again == shared);
    CHECK(again->used == 0);
    CHECK(again->references == 1);
    work.drop(nullptr);
    CHECK(work.buffers() == 2);
}

TEST_CASE("trim frees the idle buffers of a workspace and keeps the others", "[base][memory]")
{
    ccoll::workspace work;
    ccoll::buffer_memory* const held = work.take(100);
    ccoll::buffer_memory* const dropped = work.take(200);
    std::memset(held->room().data(), 3, 100);
    work.drop(dropped);
    work.trim();
    CHECK(work.buffers() == 1);
    CHECK(held->room()[99] == std::byte{3});
    ccoll::buffer_memory* const fresh = work.take(50);
    CHECK(work.buffers() == 2);
    work.drop(fresh);
    work.drop(held);
    work.trim();
    CHECK(work.buffers() == 0);
}

#ifdef WATCHED_BY_ASAN
TEST_CASE("a large buffer that was freed is poisoned, and one that is handed out again is not",
          "[base][memory]")
{
    const std::size_t bytes = std::size_t{2} << 20;
    for (int i = 0; i < 30; ++i) {
        std::byte* freed = nullptr;
        {
            ccoll::workspace work;
            const ccoll::buffer_memory* const b = work.take(bytes);
            freed = b->bytes.get();
            CHECK(__asan_region_is_poisoned(freed, bytes) == nullptr);
            CHECK(__asan_address_is_poisoned(freed + bytes));
            CHECK(__asan_address_is_poisoned(freed - 1));
        }
        CHECK(__asan_address_is_poisoned(freed));
        CHECK(__asan_address_is_poisoned(freed + bytes / 2));
        CHECK(__asan_address_is_poisoned(freed + bytes - 1));
    }
}
#endif

TEST_CASE("memory that may be missing is null where there is none", "[base][memory]")
{
    ccoll::workspace some,
        none(ccoll::memory_source{[](std::size_t) -> std::byte* { throw std::bad_alloc(); }});
    ccoll::buffer_memory* const taken = some.take_if_any(100);
    REQUIRE(taken != nullptr);
    CHECK(taken->capacity == 100);
    some.drop(taken);
    CHECK(none.take_if_any(100) == nullptr);
    CHECK_THROWS_AS(none.take(100), std::bad_alloc);
}
