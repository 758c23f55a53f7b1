// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA kernels on one CPU thread, for tests. Each CUDA thread is a fiber with its own stack, so the text of a
// kernel is compiled as it is: by nvcc for a GPU, by g++ or clang++ for this. Include it before any .cuh.
//
//   // kernel<<<grid, threads, shared_bytes>>>(arguments...)
//   emulator::launch({seed}, grid, threads, shared_bytes, [&] { kernel(arguments...); });
//
// It is stricter than a GPU where that finds faults:
//   order     One thread runs at a time, until it waits. Which one runs next follows from a seed. Blocks
//             begin in order, a few are resident at once, and they interleave, so waiting for an earlier
//             block works. On demand warps run ahead of each other as far as they can: what another warp has
//             not yet written, or not yet read, then shows in the result.
//   shared    Before a block begins, shared memory is filled with random bytes.
//   barriers  Threads that end, or wait at another line, while others wait for them; another intrinsic under
//             the same mask; a lane that is not in its own mask: emulator::fault, with the source lines where
//             threads stand.
//   spinning  Without end: emulator::fault.
//   vectors   A misaligned 16-byte access: emulator::fault.
// It can also run a kernel with a mistake (emulator::mistake): a barrier left out, or an index that is off by
// one in one thread. A test that does not notice does not test. With -fsanitize=thread each fiber is a thread
// to TSan. Only __syncthreads, __syncwarp and acquire/release accesses order memory; shuffles and ballots do
// not. A missing barrier is then reported in any order. With -fsanitize=address, accesses outside of arrays
// are.
//
// A divergent warp makes no independent progress here: a thread runs until it waits. There are no textures,
// clusters, or PTX.
#pragma once
#if defined(__CUDACC__)
#error "emulator.hpp takes the place of the CUDA runtime: do not include it from nvcc"
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define CCOLL_CUDA_EMULATED

// machine.cpp is compiled without sanitizers, and is told by these macros for which one.
#if defined(EMULATOR_TSAN) || defined(EMULATOR_ASAN)
#elif defined(__SANITIZE_THREAD__)
#define EMULATOR_TSAN
#elif defined(__SANITIZE_ADDRESS__)
#define EMULATOR_ASAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EMULATOR_TSAN
#elif __has_feature(address_sanitizer)
#define EMULATOR_ASAN
#endif
#endif
#if defined(EMULATOR_TSAN)
#include <sanitizer/tsan_interface.h>
#define EMULATOR_HIDDEN __attribute__((noinline, no_sanitize("thread")))
#else
#define EMULATOR_HIDDEN
#endif
#if defined(EMULATOR_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)  // kernels are optimised, the tests around them are not
#define __device__ __attribute__((optimize("O1")))
#else
#define __device__
#endif
#define __global__ __device__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O1")
#endif

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

namespace emulator {

/// What a GPU would answer with a hang, undefined behaviour, or a wrong result.
struct fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct options {
    std::uint64_t seed = 1;
    unsigned resident = 3;  ///< blocks that are under way at once
    /// The warps have an order, which follows from the seed, and each waits only for those before it, or for
    /// a barrier.
    bool runs_ahead = false;
};

/// The line of the caller: std::source_location, which clang++ 14 does not have.
struct location {
    const char* file = "";
    unsigned line = 0;
    static constexpr location current(const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
    {
        return {f, l};
    }
};

/// What the tests of costs count, over all launches.
struct counts {
    std::uint64_t switches = 0, barriers = 0, warp_operations = 0;
};
inline counts total;

/// A mistake in a kernel, by the line of its text.
struct mistake {
    enum kind : unsigned char { none, no_barrier, off_by_one } what = none;
    location where;
    unsigned thread = 0;  ///< off_by_one: the thread whose accesses at this line go to the element behind
};
inline mistake made;

/// Lines at which a mistake can be made, that launches have come to since `watching` was set: a plain array,
/// because of TSan.
struct line_met {
    mistake::kind what;
    location where;
};
inline line_met lines_met[512];
inline unsigned lines_met_count = 0;
inline bool watching = false;

/// Asked whenever a thread has stopped. A launch ends with a fault when it says true.
inline bool (*interrupted)() = nullptr;

namespace detail {

inline bool same_line(const location& a, const location& b)
{
    return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

/// Is a mistake made here?
EMULATOR_HIDDEN inline bool is_mistaken(mistake::kind what, const location& where)
{
    if (watching) {
        unsigned i = 0;
        while (i < lines_met_count && !(lines_met[i].what == what && same_line(lines_met[i].where, where)))
            ++i;
        if (i == lines_met_count && i < sizeof lines_met / sizeof *lines_met)
            lines_met[lines_met_count++] = {what, where};
    }
    return made.what == what && same_line(made.where, where);
}

enum class waits_for : unsigned char { nothing, barrier, warp, store, end };

struct fiber;

// What threads look at while others run is in plain arrays: TSan would see containers.

/// Lanes of a warp that come together for one intrinsic under one mask.
struct meeting {
    unsigned mask = 0, arrived = 0, turn = 0;
    const char* what = nullptr;
    location where;
    std::uint64_t values[2][32] = {};  // by turn: no lane is two meetings ahead of another
    char order_of[2] = {};             // what TSan knows of it
    fiber* waiting[32] = {};
};
struct warp {
    static constexpr unsigned most_masks = 8;
    meeting of[most_masks];
    unsigned used = 0;
    unsigned ended = 0;  // lanes
};
struct block {
    unsigned index = 0, live = 0, arrived = 0, turn = 0;
    location where;
    std::vector<fiber*> waiting;
    std::unique_ptr<warp[]> warps;
    std::unique_ptr<std::byte[]> memory;
    std::byte* shared = nullptr;
    char order_of[2] = {}, order_of_end = 0;
};
struct fiber {
    block* of = nullptr;
    warp* in = nullptr;
    unsigned thread = 0;
    waits_for wants = waits_for::nothing;
    bool spins = false;  // it is in a loop that waits for a store, or in an atomic operation
    location where;
    meeting* met = nullptr;
    const char* broken = nullptr;  // what it did wrong
    std::unique_ptr<std::byte[]> stack;
    std::size_t stack_bytes = 0;
#if defined(__x86_64__)
    void* saved = nullptr;
#else
    ucontext_t saved;
#endif
#if defined(EMULATOR_TSAN)
    void* tsan = nullptr;
    bool fresh = false;
#endif
#if defined(EMULATOR_ASAN)
    void* fake = nullptr;
    const void* bottom = nullptr;
#endif
};

/// splitmix64: next to a kernel's step, the generators of <random> take long.
struct generator {
    std::uint64_t state = 0;
    std::uint64_t operator()()
    {
        std::uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
};
struct machine {
    options how;
    unsigned grid = 1, threads = 1;
    std::size_t shared_bytes = 0;
    std::function<void()> kernel;
    generator random;
    std::vector<fiber*> ready;
    std::vector<std::unique_ptr<fiber>> fibers;
    std::vector<std::unique_ptr<block>> blocks;
    std::uint64_t spins_in_vain = 0;
    fiber self;  // the scheduler
};
inline machine* the_machine = nullptr;
// Kept from launch to launch: TSan takes half a millisecond to make one.
inline std::vector<std::unique_ptr<fiber>> idle;
inline fiber* now = nullptr;
inline char order_of_all = 0;
inline std::mutex one_at_a_time;

// ---- machine.cpp ----
/// A thread stops until the scheduler lets it go on.
EMULATOR_HIDDEN void stop(waits_for what, location where);
EMULATOR_HIDDEN void give_up(const char* what, location where);
/// All lanes of the mask hand in a value, and each gets all of them.
EMULATOR_HIDDEN const std::uint64_t* meet(unsigned mask, std::uint64_t value, const char* what,
                                          location where, bool orders_memory = false);

template <class T>
std::uint64_t to_bits(T v)
{
    static_assert(sizeof(T) <= 8);
    std::uint64_t w = 0;
    std::memcpy(&w, &v, sizeof v);
    return w;
}
template <class T>
EMULATOR_HIDDEN T from_bits(const std::uint64_t* all, unsigned lane)
{
    T v;
    std::memcpy(&v, all + lane, sizeof v);
    return v;
}

EMULATOR_HIDDEN inline dim3 thread_index() { return {now->thread, 0, 0}; }
EMULATOR_HIDDEN inline dim3 block_index() { return {now->of->index, 0, 0}; }
EMULATOR_HIDDEN inline unsigned lane() { return now->thread % 32; }

}  // namespace detail

/// The shared memory of the block. @return a T in it
template <class T>
EMULATOR_HIDDEN T& shared()
{
    if (sizeof(T) > detail::the_machine->shared_bytes)
        detail::give_up("the launch gives too little shared memory", location::current());
    return *reinterpret_cast<T*>(detail::now->of->shared);
}

/// In a loop that waits for the store of another thread.
inline void stand_by(location where = location::current()) { detail::stop(detail::waits_for::store, where); }

/// A vector access that a GPU would refuse.
inline void check_alignment(const void* p, std::size_t alignment)
{
    if (reinterpret_cast<std::uintptr_t>(p) % alignment != 0)
        detail::give_up("a vector access is not aligned", location::current());
}

/// The address of an access to `bytes` bytes, or of the element behind it where a mistake is made.
template <class Byte>
EMULATOR_HIDDEN Byte* address_of_access(Byte* p, std::size_t bytes, const location& where)
{
    if (!watching && made.what != mistake::off_by_one) return p;
    const bool wrong = detail::is_mistaken(mistake::off_by_one, where) && detail::now->thread == made.thread;
    return wrong ? p + bytes : p;
}

/// Runs a kernel to its end. @throw fault
void launch(const options& how, unsigned grid, unsigned threads, std::size_t shared_bytes,
            std::function<void()> kernel);

}  // namespace emulator

#include "intrinsics.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
