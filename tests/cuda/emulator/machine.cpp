// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine of the emulator: fibers, their scheduler, and what they wait for. Compiled once and optimised,
// whatever the tests are.
#include "emulator.hpp"

#include <algorithm>

namespace emulator {

namespace detail {

namespace {

#if defined(__x86_64__)
/// Saves the registers that a callee keeps and the stack, and takes up those of another fiber.
__attribute__((naked, noinline)) void change_stack(void** /*save: rdi*/, void* /*to: rsi*/)
{
    __asm__(
        "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}
#endif

EMULATOR_HIDDEN void change(fiber& from, fiber& to, [[maybe_unused]] bool last = false)
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

}  // namespace

EMULATOR_HIDDEN void stop(waits_for what, location where)
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
EMULATOR_HIDDEN void give_up(const char* what, location where)
{
    now->broken = what;
    stop(waits_for::nothing, where);
    std::abort();
}

namespace {

void body()
{
#if defined(EMULATOR_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &the_machine->self.bottom, &the_machine->self.stack_bytes);
#endif
    the_machine->kernel();
    stop(waits_for::end, location::current());
    std::abort();
}

void prepare(fiber& f)
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

std::string place(const location& l)
{
    const char* const file = std::strrchr(l.file, '/');
    return std::string(file != nullptr ? file + 1 : l.file) + ":" + std::to_string(l.line);
}
std::string who_stands_where(const machine& m)
{
    std::map<std::string, unsigned> at;
    for (const auto& f : m.fibers) {
        if (f->of == nullptr || f->wants == waits_for::end) continue;
        const char* const doing = f->wants == waits_for::barrier ? "__syncthreads"
                                  : f->wants == waits_for::warp  ? f->met->what
                                                                 : "running";
        ++at["block " + std::to_string(f->of->index) + ": " + doing + " at " + place(f->where)];
    }
    std::string s;
    for (const auto& [text, n] : at) s += "\n  " + std::to_string(n) + " threads of " + text;
    return s;
}

void let_go(machine& m, fiber* f)
{
    f->spins = f->wants == waits_for::store;
    f->wants = waits_for::nothing;
    m.ready.push_back(f);
}

/// Random bytes: a kernel that relies on equal ones, as on zeros, is noticed.
void poison(std::byte* at, std::size_t bytes, generator random)
{
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::uint64_t eight = random();
        std::memcpy(at + i, &eight, std::min<std::size_t>(8, bytes - i));
    }
}

void begin_block(machine& m, unsigned index)
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
    poison(b->memory.get(), m.shared_bytes + 16, {m.random()});
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
void end_block(machine& m, block* b)
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

void open_barrier_if_full(machine& m, block& b)
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
void serve(machine& m, fiber& f)
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
            throw fault("threads of one block wait at different __syncthreads: " + place(b.where) + " and " +
                        place(f.where));
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
std::size_t choose(machine& m)
{
    const std::size_t any = m.random() % m.ready.size();
    if (!m.how.runs_ahead || m.random() % 64 == 0)
        return any;  // now and then any, so that those for which others spin go on
    const auto order = [&](const fiber& f) {
        return (f.thread / 32 + 1) * (2 * m.how.seed + 1) * 0x9e3779b97f4a7c15u;
    };
    std::size_t first = m.ready.size();
    for (std::size_t i = 0; i < m.ready.size(); ++i)
        if (!m.ready[i]->spins && (first == m.ready.size() || order(*m.ready[i]) < order(*m.ready[first])))
            first = i;
    return first < m.ready.size() ? first : any;
}

void run(machine& m)
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

}  // namespace

EMULATOR_HIDDEN const std::uint64_t* meet(unsigned mask, std::uint64_t value, const char* what,
                                          location where, [[maybe_unused]] bool orders_memory)
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

}  // namespace detail

void launch(const options& how, unsigned grid, unsigned threads, std::size_t shared_bytes,
            std::function<void()> kernel)
{
    const std::lock_guard lock(detail::one_at_a_time);
    detail::machine m;
    m.how = how;
    m.grid = grid;
    m.threads = threads;
    m.shared_bytes = shared_bytes;
    m.kernel = std::move(kernel);
    m.random.state = how.seed;
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
