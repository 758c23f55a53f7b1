// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One rank runs out of memory at any place of a call. It throws std::bad_alloc, and the others get an error
// instead of waiting for it.
#include "collectives/worlds.hpp"

#include <atomic>
#include <new>

namespace out_of_memory_cases {

using namespace ccoll;
using namespace ccoll::policies;
using namespace worlds;

namespace {

thread_local int allocations_left = -1;  // of this rank; at 0 the next one throws, once

std::byte* allocate(std::size_t bytes)
{
    if (allocations_left == 0) {
        allocations_left = -1;
        throw std::bad_alloc();
    }
    if (allocations_left > 0) --allocations_left;
    return new std::byte[bytes];
}

/// A rank whose working memory comes from allocate().
class poor_comm : public threads_comm {
public:
    explicit poor_comm(const threads_comm& comm)
        : threads_comm(comm), memory_(std::make_shared<workspace>(
                                  memory_source{&allocate, [](std::byte* at) noexcept { delete[] at; }}))
    {}
    workspace& memory() const noexcept { return *memory_; }

private:
    std::shared_ptr<workspace> memory_;
};

struct ending {
    bool no_memory = false, told = false, well = false;
    int by = nobody;
};

/// @return how many allocations a call makes on rank 1
template <class Call>
int fail_everywhere(int p, Call call)
{
    for (int at = 0;; ++at) {
        INFO("p " << p << ", allocation " << at);
        const auto ended = std::make_shared<std::atomic<int>>(0);
        const auto all = run<ending>(
            p,
            [=](threads_comm& inner, ending& mine) {
                if (inner.rank() == 1) allocations_left = at;
                try {
                    call(poor_comm(inner));
                    mine.well = true;
                } catch (const std::bad_alloc&) {
                    mine.no_memory = true;
                } catch (const ccoll::error& e) {
                    mine.told = e.what_happened().code == status::out_of_memory;
                    mine.by = e.what_happened().rank;
                }
                // No rank ends while others run. Otherwise they would be told that it is gone, which MPI does
                // not do.
                for (++*ended; *ended < p;) std::this_thread::yield();
            },
            20);
        if (all[1].well) return at;
        CHECK(all[1].no_memory);
        for (int r = 0; r < p; ++r) {
            const ending& each = all[static_cast<std::size_t>(r)];
            if (r != 1) CHECK((each.well || (each.told && each.by == 1)));
        }
    }
}

}  // namespace

TEST_CASE("A rank without memory ends the call on all ranks", "[engine][memory]")
{
    const auto sum = [](const poor_comm& comm) {
        std::vector<float> v(1000, 1);
        allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(v, comm);
    };
    CHECK(fail_everywhere(3, sum) > 3);
    const auto large = [](const poor_comm& comm) {
        std::vector<float> v(400000, 1);
        allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(v, comm);
    };
    CHECK(fail_everywhere(2, large) > 10);
    const auto closing = [](const poor_comm& comm) {
        std::vector<float> v(1000, 1);
        ccoll::bcast<Algo::Binomial, Check::Collective>(v, 0, comm);
    };
    CHECK(fail_everywhere(4, closing) > 3);
    const auto flying = [](const poor_comm& comm) {
        std::vector<float> v(1000, 1), w(3000);
        auto request = iallgather<Algo::Ring>(v, w, comm);
        request.wait();
    };
    CHECK(fail_everywhere(3, flying) > 3);
}

TEST_CASE("A rank without memory ends a guarded call on all ranks", "[engine][memory][integrity]")
{
    const auto sum = [](const poor_comm& comm) {
        std::vector<float> v(20000, 1);
        allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>, Fault::Crc32c, Timeout<10>>(v, comm);
    };
    CHECK(fail_everywhere(3, sum) > 10);
}

TEST_CASE("A sender without memory says so to its receiver, also before its first message",
          "[engine][memory][p2p]")
{
    const auto from_one = [](auto plan, std::size_t n) {
        return [n](const poor_comm& comm) {
            using P = typename decltype(plan)::type;
            std::vector<float> v(n, 1);
            if (comm.rank() == 1) send<P>(v, 0, 3, comm);
            else recv<P>(v, 1, 3, comm);
        };
    };
    using plain = Plan<Codec::SZp, ErrorBound<1e-3>>;
    CHECK(fail_everywhere(2, from_one(std::type_identity<plain>{}, 100)) >= 1);
    // More messages than are under way at once.
    CHECK(fail_everywhere(2, from_one(std::type_identity<plain>{}, 2000000)) >= 4);
    CHECK(fail_everywhere(2, from_one(std::type_identity<Plan<Codec::SZp, RelativeBound<1e-3>>>{}, 1000)) >=
          1);
    CHECK(
        fail_everywhere(
            2, from_one(std::type_identity<Plan<Codec::SZp, ErrorBound<1e-3>, Fault::Crc32c, Timeout<10>>>{},
                        1000)) >= 1);
    const auto exchange = [](const poor_comm& comm) {  // in place: input is put aside
        std::vector<float> v(50, 1);
        sendrecv<plain>(v, 1 - comm.rank(), v, 1 - comm.rank(), 3, comm);
    };
    CHECK(fail_everywhere(2, exchange) >= 2);
}

}  // namespace out_of_memory_cases
