// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/reference/requests.md: its pieces of code, run on ranks that are threads, and what its sentences
// claim.
#include "support/catch.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

namespace requests_cases {

using namespace ccoll::policies;

namespace {

void want(bool holds, const char* what)
{
    if (!holds) throw std::runtime_error(what);
}
void compute() {}

}  // namespace

TEST_CASE("docs/reference/requests.md: begin, test, wait", "[docs][request]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const std::vector<float> gradient(100000, 1.0f);
        std::vector<float> sum(gradient.size());

        // [doc:wait]
        ccoll::request call = ccoll::iallreduce<Codec::SZp, ErrorBound<1e-3>>(gradient, sum, comm);
        compute();                                // the buffers belong to the library meanwhile
        const ccoll::report facts = call.wait();  // what the blocking call returns
        // [/doc:wait]
        want(facts.worst_case_error == 3e-3 && sum[7] > 2.99f && !call.valid(), "wait");

        // [doc:test]
        call = ccoll::iallreduce(gradient, sum, comm);
        while (!call.test()) compute();  // moves on what can be moved; never sleeps
        std::error_code code;
        call.wait(code);  // at once; tells how it ended
        // [/doc:test]
        want(!code && sum[0] == 3, "test");

        ccoll::request none;
        want(!none.valid() && none.test() && none.wait().exact, "an empty request has ended");
    });
}

TEST_CASE("docs/reference/requests.md: several in flight", "[docs][request]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const int layers = 5;
        std::vector<std::vector<float>> gradients(layers, std::vector<float>(3000, 1.0f));

        // [doc:several]
        std::vector<ccoll::request> open;
        for (int layer = layers - 1; layer >= 0; --layer) {  // in the same order on all ranks
            compute();
            open.push_back(ccoll::iallreduce<Op::Average, Codec::SZp, ErrorBound<1e-3>>(
                gradients[static_cast<std::size_t>(layer)], comm));
        }
        ccoll::wait_all(open);  // or wait() on each, in any order
        // [/doc:several]
        for (const auto& g : gradients) want(g[2999] > 0.99f && g[2999] < 1.01f, "average");
    });
}

TEST_CASE("docs/reference/requests.md: persistent calls", "[docs][request]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        std::vector<double> field(2000, 1.0), sum(field.size());

        // [doc:persistent]
        ccoll::persistent call = ccoll::allreduce_init<Codec::SZp, ErrorBound<1e-6>>(field, sum, comm);
        for (int step = 0; step < 3; ++step) {
            field.assign(field.size(), step);  // the same memory each time
            call.start();
            compute();
            call.wait();
        }
        // [/doc:persistent]
        want(sum[5] > 5.99 && sum[5] < 6.01, "persistent");

        call.start();
        bool refused = false;
        try {
            call.start();
        } catch (const ccoll::error& e) {
            refused = e.what_happened().code == ccoll::status::out_of_turn;
        }
        want(refused, "a second start waits for the first");
        call.wait();
        want(call.test() && call.valid(), "ended");
    });
}

TEST_CASE("docs/reference/requests.md: a request that is dropped", "[docs][request]")
{
    std::atomic<bool> dropped{false};
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        std::vector<float> field(400000, 1.0f), out(field.size());
        while (comm.rank() == 1 && !dropped)
            std::this_thread::yield();  // or the call might end before it is dropped
        // [doc:dropped]
        std::error_code code;
        if (comm.rank() == 0) {
            auto call = ccoll::iallreduce<Algo::Ring>(field, out, comm);
            // leaves the block without wait(): gives the call up
        } else {
            // status::abandoned, and the rank that did it.
            ccoll::allreduce<Algo::Ring>(field, out, comm, code);
        }
        // [/doc:dropped]
        dropped = true;
        if (comm.rank() == 1) want(code == ccoll::status::abandoned, "abandoned");
    });
}

}  // namespace requests_cases
