// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A guarded link alone, without a call above it. What it survives is in tests/integrity/soak.cpp.
#include "collectives/worlds.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <ccoll/transport/guarded.hpp>

namespace guarded_cases {

using ccoll::status, ccoll::threads_comm, worlds::findings;
using guarded_link = ccoll::guarded<threads_comm>;

TEST_CASE("A receive that is withdrawn while its message arrives leaves the whole message to the next one",
          "[transport][guarded]")
{
    // More fragments than may be under way, and the sender sends no further ones until the receive has been
    // withdrawn. So only a part of them can arrive before.
    constexpr std::size_t n = 8000000;
    std::atomic<bool> is_withdrawn{false};
    worlds::none_wrong(worlds::run<findings>(2, [&](threads_comm& comm, findings& mine) {
        guarded_link link(comm, ccoll::protection{});
        std::vector<std::byte> sent(n);
        for (std::size_t i = 0; i < n; ++i) sent[i] = static_cast<std::byte>(i * 2654435761u >> 24);
        const auto complete = [&](guarded_link::request& r) {
            while (!link.test(r)) link.poll();
        };
        if (comm.rank() == 0) {
            auto r = link.post_send(1, 5, sent);
            while (!is_withdrawn.load()) std::this_thread::yield();
            complete(r);
        } else {
            std::vector<std::byte> withdrawn(n, std::byte{1}), received(n);
            auto first = link.post_recv(0, 5, withdrawn);
            while (link.events() == 0) link.poll();
            mine.expect(!link.test(first), "a part has arrived");
            mine.expect(withdrawn[0] == sent[0] && withdrawn[n - 1] != sent[n - 1],
                        "it stands where it was wanted");
            link.cancel(first);
            is_withdrawn.store(true);
            std::ranges::fill(withdrawn, std::byte{2});
            auto second = link.post_recv(0, 5, received);
            complete(second);
            mine.expect(second.result == status::ok && second.bytes == n, "the second receive has it");
            mine.expect(received == sent, "with every byte");
            mine.expect(std::ranges::all_of(withdrawn, [](std::byte b) { return b == std::byte{2}; }),
                        "the first one gets no more");
        }
        while (!link.settle(0, false)) link.idle();
        link.stop_listening();
    }));
}

}  // namespace guarded_cases
