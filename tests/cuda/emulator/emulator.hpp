// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA kernels on one CPU thread, for tests. Each CUDA thread is a fiber with its own stack, so the text of a kernel is compiled as it is:
// by nvcc for a GPU, by g++ or clang++ for this. Include it before any .cuh.
//
//   emulator::launch({seed}, grid, threads, shared_bytes, [&] { kernel(arguments...); });      // kernel<<<grid, threads, shared_bytes>>>
//
// It is stricter than a GPU where that finds faults:
//   order     One thread runs at a time, until it waits. Which one runs next follows from a seed. Blocks begin in order, a few are resident
//             at once, and they interleave, so waiting for an earlier block works. On demand warps run ahead of each other as far as they
//             can: what another warp has not yet written, or not yet read, then shows in the result.
//   shared    Before a block begins, shared memory is filled with random bytes.
//   barriers  Threads that end, or wait at another line, while others wait for them; another intrinsic under the same mask; a lane
//             that is not in its own mask: emulator::fault, with the source lines where threads stand.
//   spinning  Without end: emulator::fault.
//   vectors   A misaligned 16-byte access: emulator::fault.
// It can also run a kernel with a mistake (emulator::mistake): a barrier left out, or an index that is off by one in one thread. A test
// that does not notice does not test. With -fsanitize=thread each fiber is a thread to TSan. Only __syncthreads, __syncwarp and
// acquire/release accesses order memory; shuffles and ballots do not. A missing barrier is then reported in any order. With
// -fsanitize=address, accesses outside of arrays are.
//
// A divergent warp makes no independent progress here: a thread runs until it waits. There are no textures, clusters, or PTX.
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
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define CCOLL_CUDA_EMULATED

#if defined(__SANITIZE_THREAD__)
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

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))

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
    unsigned resident = 3;    ///< blocks that are under way at once
    bool runs_ahead = false;  ///< the warps have an order, which follows from the seed, and each waits only for those before it, or for a
                              ///< barrier
};

/// The line of the caller: std::source_location, which clang++ 14 does not have.
struct location {
    const char* file = "";
    unsigned line = 0;
    static constexpr location current(const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) { return {f, l}; }
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

/// Lines at which a mistake can be made, that launches have come to since `watching` was set: a plain array, because of TSan.
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

inline bool same_line(const location& a, const location& b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

/// Is a mistake made here?
EMULATOR_HIDDEN inline bool is_mistaken(mistake::kind what, const location& where)
{
    if (watching) {
        unsigned i = 0;
        while (i < lines_met_count && !(lines_met[i].what == what && same_line(lines_met[i].where, where))) ++i;
        if (i == lines_met_count && i < sizeof lines_met / sizeof *lines_met) lines_met[lines_met_count++] = {what, where};
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

struct machine {
    options how;
    unsigned grid = 1, threads = 1;
    std::size_t shared_bytes = 0;
    std::function<void()> kernel;
    std::mt19937_64 random;
    std::vector<fiber*> ready;
    std::vector<std::unique_ptr<fiber>> fibers;
    std::vector<std::unique_ptr<block>> blocks;
    std::uint64_t spins_in_vain = 0;
    fiber self;  // the scheduler
};
inline machine* the_machine = nullptr;
inline std::vector<std::unique_ptr<fiber>> idle;  // kept from launch to launch: TSan takes half a millisecond to make one
inline fiber* now = nullptr;
inline char order_of_all = 0;
inline std::mutex one_at_a_time;

#if defined(__x86_64__)
/// Saves the registers that a callee keeps and the stack, and takes up those of another fiber.
__attribute__((naked, noinline)) inline void change_stack(void** /*save: rdi*/, void* /*to: rsi*/)
{
    __asm__(
        "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}
#endif

EMULATOR_HIDDEN inline void change(fiber& from, fiber& to, [[maybe_unused]] bool last = false)
{
#if defined(EMULATOR_TSAN)  // orders nothing except the begin of a thread
    __tsan_switch_to_fiber(to.tsan, to.fresh ? 0u : unsigned{__tsan_switch_to_fiber_no_sync});
    to.fresh = false;
#endif
#if defined(EMULATOR_ASAN)
    __sanitizer_start_switch_fiber(last ? nullptr : &from.fake, to.bottom, to.stack_bytes);
#endif
#if defined(__x86_64__)
    change_stack(&from.saved, to.saved);
#else
    swapcontext(&from.saved, &to.saved);
#endif
#if defined(EMULATOR_ASAN)
    __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
}

/// A thread stops until the scheduler lets it go on.
EMULATOR_HIDDEN inline void stop(waits_for what, location where)
{
    fiber& me = *now;
    me.wants = what;
    me.where = where;
#if defined(EMULATOR_TSAN)
    if (what == waits_for::end) __tsan_release(&me.of->order_of_end);
    __tsan_release(&order_of_all);
#endif
    change(me, the_machine->self, what == waits_for::end);
    now = &me;
}
EMULATOR_HIDDEN inline void give_up(const char* what, location where)
{
    now->broken = what;
    stop(waits_for::nothing, where);
    std::abort();
}

inline void body()
{
#if defined(EMULATOR_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &the_machine->self.bottom, &the_machine->self.stack_bytes);
#endif
    the_machine->kernel();
    stop(waits_for::end, location::current());
    std::abort();
}

inline void prepare(fiber& f)
{
#if defined(__x86_64__)
    auto top = reinterpret_cast<std::uintptr_t>(f.stack.get() + f.stack_bytes) & ~std::uintptr_t{15};
    void** p = reinterpret_cast<void**>(top);
    *--p = nullptr;
    *--p = reinterpret_cast<void*>(&body);
    for (int i = 0; i < 6; ++i) *--p = nullptr;
    f.saved = p;
#else
    getcontext(&f.saved);
    f.saved.uc_stack.ss_sp = f.stack.get();
    f.saved.uc_stack.ss_size = f.stack_bytes;
    makecontext(&f.saved, &body, 0);
#endif
}

inline std::string place(const location& l)
{
    const char* const file = std::strrchr(l.file, '/');
    return std::string(file != nullptr ? file + 1 : l.file) + ":" + std::to_string(l.line);
}
inline std::string who_stands_where(const machine& m)
{
    std::map<std::string, unsigned> at;
    for (const auto& f : m.fibers) {
        if (f->of == nullptr || f->wants == waits_for::end) continue;
        const char* const doing = f->wants == waits_for::barrier ? "__syncthreads" : f->wants == waits_for::warp ? f->met->what : "running";
        ++at["block " + std::to_string(f->of->index) + ": " + doing + " at " + place(f->where)];
    }
    std::string s;
    for (const auto& [text, n] : at) s += "\n  " + std::to_string(n) + " threads of " + text;
    return s;
}

inline void let_go(machine& m, fiber* f)
{
    f->spins = f->wants == waits_for::store;
    f->wants = waits_for::nothing;
    m.ready.push_back(f);
}

/// Bytes of which no two are alike for a reason: a kernel that relies on equal ones, as on zeros, is noticed.
inline void poison(std::byte* at, std::size_t bytes, std::uint64_t seed)
{
    for (std::size_t i = 0; i < bytes; ++i) {
        if (i % 7 == 0) seed = seed * 6364136223846793005u + 1442695040888963407u;
        at[i] = static_cast<std::byte>(seed >> 8 * (i % 7 + 1));
    }
}

inline void begin_block(machine& m, unsigned index)
{
#if defined(EMULATOR_TSAN) || defined(EMULATOR_ASAN)
    constexpr std::size_t stack_bytes = 256 << 10;
#else
    constexpr std::size_t stack_bytes = 64 << 10;
#endif
    auto b = std::make_unique<block>();
    b->index = index;
    b->live = m.threads;
    b->warps.reset(new warp[(m.threads + 31) / 32]);
    b->memory.reset(new std::byte[m.shared_bytes + 16]);
    b->shared = b->memory.get() + (16 - reinterpret_cast<std::uintptr_t>(b->memory.get()) % 16) % 16;
    poison(b->memory.get(), m.shared_bytes + 16, m.random());
    for (unsigned t = 0; t < m.threads; ++t) {
        std::unique_ptr<fiber> f;
        if (!idle.empty()) {
            std::swap(idle[m.random() % idle.size()], idle.back());
            f = std::move(idle.back());
            idle.pop_back();
        } else {
            f = std::make_unique<fiber>();
            f->stack_bytes = stack_bytes;
            f->stack.reset(new std::byte[stack_bytes]);
#if defined(EMULATOR_ASAN)
            f->bottom = f->stack.get();
#endif
        }
        f->of = b.get();
        f->in = &b->warps[t / 32];
        f->thread = t;
        f->wants = waits_for::nothing;
        f->spins = false;
        f->broken = nullptr;
#if defined(EMULATOR_TSAN)
        if (f->tsan == nullptr) f->tsan = __tsan_create_fiber(0);
        f->fresh = true;
#endif
        prepare(*f);
        m.ready.push_back(f.get());
        m.fibers.push_back(std::move(f));
    }
    m.blocks.push_back(std::move(b));
}
inline void end_block(machine& m, block* b)
{
#if defined(EMULATOR_TSAN)
    __tsan_acquire(&b->order_of_end);
#endif
    for (auto& f : m.fibers)
        if (f->of == b) {
            f->of = nullptr;
            idle.push_back(std::move(f));
        }
    std::erase_if(m.fibers, [](const auto& f) { return f == nullptr; });
    std::erase_if(m.blocks, [b](const auto& x) { return x.get() == b; });
}

inline void open_barrier_if_full(machine& m, block& b)
{
    if (b.arrived == 0 || b.arrived < b.live) return;
    b.arrived = 0;
    ++b.turn;
    ++total.barriers;
    for (fiber* f : b.waiting) let_go(m, f);
    b.waiting.clear();
    m.spins_in_vain = 0;
}

/// What a thread waits for, now that it has stopped.
inline void serve(machine& m, fiber& f)
{
    constexpr std::uint64_t for_ever = 2000000;
    if (f.broken != nullptr) throw fault(std::string(f.broken) + " at " + place(f.where));
    block& b = *f.of;
    switch (f.wants) {
    case waits_for::nothing: break;
    case waits_for::store:
        if (++m.spins_in_vain > for_ever) throw fault("threads spin for ever:" + who_stands_where(m));
        let_go(m, &f);
        break;
    case waits_for::barrier:
        if (b.arrived == 0) b.where = f.where;
        else if (b.where.line != f.where.line)
            throw fault("threads of one block wait at different __syncthreads: " + place(b.where) + " and " + place(f.where));
        b.waiting.push_back(&f);
        ++b.arrived;
        open_barrier_if_full(m, b);
        break;
    case waits_for::warp: {
        meeting& met = *f.met;
        met.waiting[f.thread % 32] = &f;
        if ((met.mask & f.in->ended) != 0)
            throw fault(std::string(met.what) + " at " + place(f.where) + " waits for lanes that have ended");
        if (met.arrived != met.mask) break;
        met.arrived = 0;
        ++met.turn;
        ++total.warp_operations;
        for (fiber*& waiting : met.waiting)
            if (fiber* const each = std::exchange(waiting, nullptr); each != nullptr) let_go(m, each);
        m.spins_in_vain = 0;
        break;
    }
    case waits_for::end:
        f.in->ended |= 1u << f.thread % 32;
        --b.live;
        m.spins_in_vain = 0;
        if (b.live == 0) end_block(m, &b);
        else open_barrier_if_full(m, b);
        break;
    }
}

/// Which of the threads that can run does: an index.
inline std::size_t choose(machine& m)
{
    const std::size_t any = m.random() % m.ready.size();
    if (!m.how.runs_ahead || m.random() % 64 == 0) return any;  // now and then any, so that those for which others spin go on
    const auto order = [&](const fiber& f) { return (f.thread / 32 + 1) * (2 * m.how.seed + 1) * 0x9e3779b97f4a7c15u; };
    std::size_t first = m.ready.size();
    for (std::size_t i = 0; i < m.ready.size(); ++i)
        if (!m.ready[i]->spins && (first == m.ready.size() || order(*m.ready[i]) < order(*m.ready[first]))) first = i;
    return first < m.ready.size() ? first : any;
}

inline void run(machine& m)
{
    unsigned next = 0;
    for (;;) {
        while (next < m.grid && m.blocks.size() < m.how.resident) begin_block(m, next++);
        if (m.ready.empty()) {
            if (m.blocks.empty()) return;
            throw fault("threads wait for ever:" + who_stands_where(m));
        }
        const std::size_t i = choose(m);
        fiber* const f = m.ready[i];
        m.ready[i] = m.ready.back();
        m.ready.pop_back();
        now = f;
        ++total.switches;
        change(m.self, *f);
        now = nullptr;
        if (interrupted != nullptr && interrupted()) throw fault("interrupted");
        serve(m, *f);
    }
}

/// All lanes of the mask hand in a value, and each gets all of them.
EMULATOR_HIDDEN inline const std::uint64_t* meet(unsigned mask, std::uint64_t value, const char* what, location where,
                                                 [[maybe_unused]] bool orders_memory = false)
{
    fiber& me = *now;
    const unsigned lane = me.thread % 32;
    if ((mask >> lane & 1) == 0) give_up("a lane is not in the mask that it gives", where);
    warp& w = *me.in;
    unsigned k = 0;
    while (k < w.used && w.of[k].mask != mask) ++k;
    if (k == warp::most_masks) give_up("too many masks", where);
    if (k == w.used) w.of[w.used++].mask = mask;
    meeting& met = w.of[k];
    const unsigned turn = met.turn & 1;
    if (met.arrived == 0) {
        met.what = what;
        met.where = where;
    } else if (met.what != what || met.where.line != where.line) {
        give_up("lanes of one mask are at different intrinsics", where);
    }
    met.values[turn][lane] = value;
    met.arrived |= 1u << lane;
    me.met = &met;
#if defined(EMULATOR_TSAN)
    if (orders_memory) __tsan_release(&met.order_of[turn]);
#endif
    stop(waits_for::warp, where);
#if defined(EMULATOR_TSAN)
    if (orders_memory) __tsan_acquire(&met.order_of[turn]);
#endif
    return met.values[turn];
}

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
    if (sizeof(T) > detail::the_machine->shared_bytes) detail::give_up("the launch gives too little shared memory", location::current());
    return *reinterpret_cast<T*>(detail::now->of->shared);
}

/// In a loop that waits for the store of another thread.
inline void stand_by(location where = location::current()) { detail::stop(detail::waits_for::store, where); }

/// A vector access that a GPU would refuse.
inline void check_alignment(const void* p, std::size_t alignment)
{
    if (reinterpret_cast<std::uintptr_t>(p) % alignment != 0) detail::give_up("a vector access is not aligned", location::current());
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
inline void launch(const options& how, unsigned grid, unsigned threads, std::size_t shared_bytes, std::function<void()> kernel)
{
    const std::lock_guard lock(detail::one_at_a_time);
    detail::machine m;
    m.how = how;
    m.grid = grid;
    m.threads = threads;
    m.shared_bytes = shared_bytes;
    m.kernel = std::move(kernel);
    m.random.seed(how.seed);
#if defined(EMULATOR_TSAN)
    m.self.tsan = __tsan_get_current_fiber();
#endif
    detail::the_machine = &m;
    struct restore {
        ~restore()
        {
#if defined(EMULATOR_TSAN)  // after a fault there are threads that never end
            __tsan_acquire(&detail::order_of_all);
            for (auto& f : detail::the_machine->fibers) __tsan_destroy_fiber(f->tsan);
#endif
            detail::the_machine = nullptr;
            detail::now = nullptr;
        }
    } at_end;
    detail::run(m);
}

}  // namespace emulator

#include "intrinsics.hpp"
