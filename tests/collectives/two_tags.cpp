// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sendrecv with a tag for what is sent and another for what is received.
#include "worlds.hpp"

#include <ccoll/p2p.hpp>

namespace two_tags_cases {

using namespace ccoll::policies;
using namespace worlds;
using floats = std::vector<float>;

TEST_CASE("sendrecv with two tags: each end meets its own", "[p2p]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{100003}})
            none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                using Link = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;
                const int me = comm.rank(), right = (me + 1) % p, left = (me + p - 1) % p;
                const floats edge(n, static_cast<float>(me));
                floats from_left(n), from_right(n);
                const auto came = [&](const floats& halo, int from) {
                    bool all = true;
                    for (const float v : halo) all = all && std::abs(v - static_cast<float>(from)) <= 1e-3f;
                    return all;
                };
                // [doc:two_tags]
                // Each side names what it sends and what it awaits, so halos of two fields may be under way
                // at once.
                const int eastward = 1, westward = 2;
                auto one = ccoll::isendrecv<Link>(edge, right, eastward, from_left, left, eastward, comm);
                ccoll::sendrecv<Link>(edge, left, westward, from_right, right, westward, comm);
                one.wait();
                // [/doc:two_tags]
                mine.expect(came(from_left, left) && came(from_right, right), "ranges");

                // With pointers, tags that differ at one end, and the other end with send and recv.
                if (p == 2) {
                    floats got(n, -1.0f);
                    if (me == 0) {
                        ccoll::sendrecv(edge.data(), n, 1, 7, got.data(), n, 1, 9, comm);
                    } else {
                        auto back = ccoll::isend(edge, 0, 9, comm);
                        ccoll::recv(got, 0, 7, comm);
                        back.wait();
                    }
                    mine.expect(got == floats(n, static_cast<float>(1 - me)), "pointers");
                }
                // The order in which messages with two tags are awaited is not the one in which they were
                // sent.
                floats first(n), second(n);
                const floats twice(n, static_cast<float>(me + 100));
                auto a = ccoll::isend(edge, right, 3, comm), b = ccoll::isend(twice, right, 4, comm);
                auto c = ccoll::irecv(second, left, 4, comm), d = ccoll::irecv(first, left, 3, comm);
                for (ccoll::request* each : {&c, &d, &a, &b}) each->wait();
                auto e = ccoll::isendrecv(edge, right, 5, second, left, 6, comm);
                ccoll::sendrecv(twice, right, 6, first, left, 5, comm);
                e.wait();
                mine.expect(first == floats(n, static_cast<float>(left)) &&
                                second == floats(n, static_cast<float>(left + 100)),
                            "crossed");
            }));
}

TEST_CASE("Both tags of sendrecv are looked at", "[p2p][errors]")
{
    none_wrong(run<findings>(1, [](threads_comm& comm, findings& mine) {
        floats x(10), y(10);
        for (const auto& [out, in] : {std::pair{ccoll::max_p2p_tag + 1, 0}, std::pair{0, -1}}) {
            std::error_code code;
            const auto facts = ccoll::sendrecv(x, 0, out, y, 0, in, comm, code);
            mine.expect(code == status::bad_tag && facts.trouble.found == (out == 0 ? in : out), "told");
        }
    }));
}

}  // namespace two_tags_cases
