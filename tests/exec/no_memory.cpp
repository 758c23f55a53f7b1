// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Threads that get no memory for chunks which must wait write the same bytes. Sanitizers have an operator new
// of their own, which this test does not replace.
#ifndef CCOLL_TEST_SANITIZED
#include "support/catch.hpp"

#include <atomic>
#include <new>

#include <ccoll/codec.hpp>
#include <ccoll/exec.hpp>

#include "support/fields.hpp"

using namespace ccoll::policies;

namespace {

std::atomic<bool> memory_is_short{false};
std::atomic<int> refused{0};

}  // namespace

void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept
{
    if (memory_is_short) {
        ++refused;
        return nullptr;
    }
    try {
        return operator new[](bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

TEST_CASE("threads that get no memory wait for each other, and write the bytes of one thread",
          "[codec][threads]")
{
    const std::size_t n = 100 * 8192 + 5;
    const auto x = fields::smooth<float>(n);
    const auto encode_with = [&](const auto&... run) {
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec::SZp, float>(n));
        const auto r = ccoll::encode<Codec::SZp>(x, frame, 1e-3, run...);
        REQUIRE(r.code == ccoll::status::ok);
        frame.resize(r.bytes);
        return frame;
    };
    const auto alone = encode_with();
    memory_is_short = true;
    CHECK(encode_with(Exec::Threads<2>{}) == alone);
    CHECK(refused == 2);
    CHECK(encode_with(Exec::Threads<4>{}) == alone);
    memory_is_short = false;
    CHECK(refused == 6);
}
#endif
