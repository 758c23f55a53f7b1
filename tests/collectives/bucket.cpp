// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buckets: many tensors in one call give what the calls for each would give, and what goes wrong is told.
#include <atomic>
#include <thread>

#include "worlds.hpp"

#include <ccoll/bucket.hpp>

namespace bucket_cases {

using namespace ccoll::policies;
using namespace worlds;
using floats = std::vector<float>;

namespace {

using E = ErrorBound<1e-3>;

/// Tensors of mixed lengths, the empty one among them, and a long one.
std::vector<floats> tensors_of(int rank, std::size_t longest)
{
    std::vector<floats> all;
    unsigned seed = 10 * static_cast<unsigned>(rank);
    for (const std::size_t n : {std::size_t{3}, std::size_t{0}, std::size_t{1}, std::size_t{129}, longest,
                                std::size_t{0}, std::size_t{64}})
        all.push_back(fields::random<float>(n, ++seed));
    return all;
}
floats joined(const std::vector<floats>& all)
{
    floats whole;
    for (const floats& each : all) whole.insert(whole.end(), each.begin(), each.end());
    return whole;
}

}  // namespace

TEST_CASE("A bucket gives the bits of one call on all tensors together, and one report",
          "[collectives][bucket]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t longest : {std::size_t{0}, std::size_t{5000}, std::size_t{300000}})
            none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                auto tensors = tensors_of(comm.rank(), longest);
                floats whole = joined(tensors);
                const report wanted = ccoll::allreduce<Codec::SZp, E>(whole, comm);

                ccoll::bucket<float> all;
                for (floats& each : tensors) all.add(each);
                mine.expect(all.tensors() == tensors.size() && all.size() == whole.size(), "sizes");
                const report facts = ccoll::allreduce<Codec::SZp, E>(all, comm);
                mine.expect(oracle::same_bits(joined(tensors), whole), "allreduce");
                mine.expect(facts.sent_bytes == wanted.sent_bytes &&
                                facts.worst_case_error == wanted.worst_case_error,
                            "the report");

                // Once more with other values in the same memory, begun; and others of the thread beside it.
                tensors = tensors_of(comm.rank() + 1, longest);
                whole = joined(tensors);
                all.clear();
                for (floats& each : tensors) all.add(each);
                ccoll::request call =
                    ccoll::iallreduce<Op::Average, Codec::SZp, RuntimeBound>(all, comm, 1e-2);
                ccoll::allreduce<Op::Average, Codec::SZp, RuntimeBound>(whole, comm, 1e-2);
                call.wait();
                mine.expect(oracle::same_bits(joined(tensors), whole), "iallreduce");

                const int root = comm.size() - 1;
                ccoll::bcast<Algo::Binomial>(whole, root, comm);
                ccoll::bcast<Algo::Binomial>(all, root, comm);
                mine.expect(oracle::same_bits(joined(tensors), whole), "bcast");
                ccoll::ibcast<Codec::Lossless>(all, 0, comm).wait();
            }));
}

TEST_CASE("An empty bucket takes part", "[collectives][bucket]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        ccoll::bucket<double> none;
        mine.expect(ccoll::allreduce<Algo::Ring>(none, comm).trouble.ok(), "nothing");
        std::vector<double> empty;
        none.add(empty);
        mine.expect(ccoll::iallreduce<Codec::SZp, E>(none, comm).wait().trouble.ok(), "an empty tensor");
    }));
}

TEST_CASE("Buckets of other tensors are told apart, also where they are as long together",
          "[collectives][bucket][errors]")
{
    for (const bool begun : {false, true})
        none_wrong(run<findings>(3, [=](threads_comm& comm, findings& mine) {
            floats a(comm.rank() == 1 ? 20 : 10, 1.0f), b(comm.rank() == 1 ? 10 : 20, 1.0f);
            ccoll::bucket<float> all;
            all.add(a);
            all.add(b);
            std::error_code code;
            if (begun) ccoll::iallreduce<Algo::Ring, Codec::SZp, E>(all, comm).wait(code);
            else ccoll::allreduce<Algo::Ring, Codec::SZp, E>(all, comm, code);
            mine.expect(code == status::plan_differs, "told: " + code.message());
            mine.expect(a[3] == 1.0f && b[3] == 1.0f, "the tensors are as they were");
            // The bucket and the communicator can be used again.
            all.clear();
            all.add(b);
            all.add(a);
            ccoll::allreduce<Codec::SZp, E>(all, comm, code);
            mine.expect(code == status::plan_differs, "the other way round");
            std::string said;
            try {
                ccoll::allreduce<Algo::Ring, Check::Collective>(all, comm);
            } catch (const ccoll::error& e) {
                said = e.what();
            }
            mine.expect(said.find("tensors in a bucket") != std::string::npos, said);
            floats c(7, 1.0f);
            all.clear();
            all.add(c);
            ccoll::allreduce(all, comm);
            mine.expect(c[6] == 3.0f, "alike");
        }));
}

TEST_CASE("A bucket that is under way takes no other call and no tensor", "[collectives][bucket][errors]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        floats a(100000, 1.0f);
        ccoll::bucket<float> all;
        all.add(a);
        auto call = ccoll::iallreduce<Algo::Ring>(all, comm);
        const auto refused = [](auto what) {
            try {
                what();
            } catch (const ccoll::error& e) {
                return e.what_happened().code == status::out_of_turn;
            }
            return false;
        };
        // The other rank cannot have ended it yet: both wait for each other here.
        mine.expect(call.valid(), "begun");
        const bool ended = call.test();
        if (!ended) {
            mine.expect(refused([&] { ccoll::allreduce<Algo::Ring>(all, comm); }), "another call");
            mine.expect(refused([&] { all.add(a); }), "add");
            mine.expect(refused([&] { all.clear(); }), "clear");
        }
        while (!call.test()) {}
        mine.expect(a[5] == 2.0f, "spread when test() is true");
        auto next = ccoll::iallreduce<Algo::Ring>(all, comm);
        call.wait();
        mine.expect(ended || refused([&] { all.clear(); }) || next.test(),
                    "an old request does not free the bucket");
        next.wait();
        mine.expect(a[5] == 4.0f, "again");
        all.clear();
    }));
}

TEST_CASE("A request of a bucket that is dropped is told to the others, and frees the bucket",
          "[collectives][bucket][errors]")
{
    const auto dropped = std::make_shared<std::atomic<bool>>(false);
    none_wrong(run<findings>(2, [dropped](threads_comm& comm, findings& mine) {
        floats a(1000, 1.0f);
        ccoll::bucket<float> all;
        all.add(a);
        std::error_code code;
        if (comm.rank() == 0) {
            static_cast<void>(ccoll::iallreduce<Algo::Ring>(all, comm));
            *dropped = true;
        } else {
            while (!*dropped) std::this_thread::yield();
            ccoll::allreduce<Algo::Ring>(all, comm, code);
            mine.expect(code == status::abandoned, "told");
        }
        mine.expect(a[0] == 1.0f, "as it was");
        ccoll::allreduce<Algo::Ring>(all, comm);
        mine.expect(a[0] == 2.0f, "free again");
    }));
}

}  // namespace bucket_cases
