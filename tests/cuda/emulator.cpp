// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// Does the emulator do what a GPU does, and does it find what a GPU would not tell?
#include "emulator/emulator.hpp"

#include <ccoll/cuda/team.cuh>

#include "support/catch.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace emulator_cases {

using namespace ccoll::detail::device;

namespace {

struct words {
    u32 of[256];
};

/// Turns a block round through shared memory; `Forgets` leaves the barrier out.
template <bool Forgets>
__global__ void reverse(const u32* in, u32* out)
{
    auto& s = shared_memory<words>();
    s.of[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    if (!Forgets) __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s.of[255 - threadIdx.x];
}
__global__ void scan(const u32* in, u32* out)
{
    auto& s = shared_memory<warp_words<u32>>();
    const scanned<u32> r = exclusive(in[threadIdx.x], s);
    out[threadIdx.x] = r.before;
    if (threadIdx.x == 0) out[256] = r.all;
}
/// Blocks get places one after another, in any order.
__global__ void places(u32* place, scratch* s)
{
    if (threadIdx.x == 0) place[blockIdx.x] = atomicAdd(&s->units, blockIdx.x % 7 + 1);
}
__global__ void lost_lane()
{
    if (threadIdx.x != 7) __ballot_sync(all_lanes, true);
}
__global__ void two_barriers()
{
    if (threadIdx.x < 32) __syncthreads();
    else __syncthreads();
}
__global__ void wrong_mask() { __ballot_sync(1u, true); }
__global__ void two_intrinsics()
{
    if (threadIdx.x % 2 == 0) __ballot_sync(all_lanes, true);
    else __shfl_sync(all_lanes, 1u, 0);
}
__global__ void waits_for_later(u64* state)
{
    if (blockIdx.x == 7) __atomic_store_n(state, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(state, __ATOMIC_RELAXED) == 0) emulator::stand_by();
}
__global__ void misaligned(u32* at) { store_as(at + 1, uint4{1, 2, 3, 4}); }

template <class Launch>
std::string fault_of(Launch launch)
{
    try {
        launch();
    } catch (const emulator::fault& f) {
        return f.what();
    }
    return "none";
}
bool says(const std::string& what, const char* part) { return what.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("The emulator runs barriers, scans and atomics in any order of threads", "[cuda][emulator]")
{
    std::vector<u32> in(1024), out(1025);
    std::iota(in.begin(), in.end(), 0u);
    unsigned in_order = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        emulator::launch({seed}, 4, 256, sizeof(words), [&] { reverse<false>(in.data(), out.data()); });
        for (u32 i = 0; i < 1024; ++i) REQUIRE(out[i] == i / 256 * 256 + 255 - i % 256);
        emulator::launch({seed}, 1, 256, sizeof(warp_words<u32>), [&] { scan(in.data(), out.data()); });
        for (u32 i = 0; i < 256; ++i) REQUIRE(out[i] == i * (i - 1) / 2);
        REQUIRE(out[256] == 255 * 128);
        std::vector<u32> place(100), taken(400);
        scratch state{};
        emulator::launch({seed, 5}, 100, 64, 0, [&] { places(place.data(), &state); });
        for (u32 i = 0; i < 100; ++i)
            for (u32 k = 0; k < i % 7 + 1; ++k) ++taken[place[i] + k];
        for (u32 i = 0; i < 400; ++i) REQUIRE(taken[i] == (i < state.units));
        in_order += std::is_sorted(place.begin(), place.end());
    }
    CHECK(in_order < 20);
}

TEST_CASE("A barrier that was left out shows by poison and random order", "[cuda][emulator]")
{
    std::vector<u32> in(256), out(256);
    std::iota(in.begin(), in.end(), 0u);
    emulator::launch({1}, 1, 256, sizeof(words), [&] { reverse<true>(in.data(), out.data()); });
    unsigned wrong = 0;
    for (u32 i = 0; i < 256; ++i) wrong += out[i] != 255 - i;
    CHECK(wrong > 50);
}

TEST_CASE("The emulator finds what would hang or be undefined on a GPU, and says where", "[cuda][emulator]")
{
    CHECK(
        says(fault_of([] { emulator::launch({}, 1, 32, 0, [] { lost_lane(); }); }), "lanes that have ended"));
    CHECK(says(fault_of([] { emulator::launch({}, 1, 64, 0, [] { two_barriers(); }); }),
               "different __syncthreads: emulator.cpp:"));
    CHECK(says(fault_of([] { emulator::launch({}, 1, 32, 0, [] { wrong_mask(); }); }), "not in the mask"));
    CHECK(says(fault_of([] { emulator::launch({}, 1, 32, 0, [] { two_intrinsics(); }); }),
               "different intrinsics"));
    CHECK(says(fault_of([] { emulator::launch({}, 1, 32, 0, [] { agreed(lane() < 31); }); }),
               "do not agree at emulator.cpp:"));
    u64 state = 0;
    CHECK(says(fault_of([&] { emulator::launch({}, 8, 1, 0, [&] { waits_for_later(&state); }); }),
               "spin for ever"));
    alignas(16) u32 at[8];
    CHECK(says(fault_of([&] { emulator::launch({}, 1, 1, 0, [&] { misaligned(at); }); }), "not aligned"));
    CHECK(says(fault_of([] { emulator::launch({}, 1, 1, 4, [] { shared_memory<words>().of[0] = 1; }); }),
               "too little shared memory"));
}

}  // namespace emulator_cases
