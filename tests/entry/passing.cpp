// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is found without words, to pass calls on, is what the words of other calls are found for: the same
// buffers and counts.
#include <ccoll/call/buffers.hpp>

#include "support/catch.hpp"

#include <random>
#include <vector>

namespace {

using namespace ccoll;

template <class Collective>
void compare(std::mt19937& random)
{
    constexpr auto& facts = detail::facts_of<Collective>;
    std::vector<float> memory(200);
    int passed = 0;
    for (int i = 0; i < 20000; ++i) {
        const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        const int p = 1 + below(5), me = below(p), root = facts.rooted ? below(p + 2) - 1 : 0, n = below(4);
        const auto size = [&] {
            return static_cast<std::size_t>(below(8) == 0 ? below(20) : below(2) == 0 ? n : n * p);
        };
        const auto place = [&](std::size_t usual) -> float* {
            const int which = below(12);
            return which == 0   ? nullptr
                   : which == 1 ? reinterpret_cast<float*>(-1)
                                : memory.data() + (which == 2 ? 3 : usual);
        };
        detail::user_buffers<float> b{place(0), size(), place(100), size(), below(4) == 0, below(2) == 0};
        if (b.in_place) b.recv = const_cast<float*>(b.send);
        if (b.counted) b.recv_size = b.send_size;

        if (root < 0 || root >= p) continue;
        const detail::plain_fit<float> plain = detail::fit_plainly(b, facts, me, p, root);
        const detail::call_buffers<float>& data = plain.data;
        const bool fits = plain.is_as_given();
        const detail::fitted_buffers<float> f = fit(b, facts, me, p, root, {});
        const bool expected = f.trouble.ok() && !f.copy_send && f.move_to == nullptr;
        INFO(facts.name << ": rank " << me << " of " << p << ", root " << root << ", " << b.send_size
                        << " and " << b.recv_size);
        REQUIRE(fits == expected);
        if (!fits) continue;
        ++passed;
        CHECK(data.send == f.data.send);
        CHECK(data.recv == f.data.recv);
        CHECK(data.count == f.data.count);
        CHECK(data.own == f.data.own);
    }
    CHECK(passed > 1000);
}

}  // namespace

TEST_CASE("Calls are passed on exactly if nothing is wrong with their buffers, and nothing more is to do",
          "[engine]")
{
    std::mt19937 random(7);
    compare<collective::allreduce>(random);
    compare<collective::reduce>(random);
    compare<collective::bcast>(random);
    compare<collective::allgather>(random);
    compare<collective::reduce_scatter>(random);
    compare<collective::scatter>(random);
    compare<collective::gather>(random);
    compare<collective::alltoall>(random);
}
