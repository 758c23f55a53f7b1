// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/codec_queue.hpp - floor 2. Codec work is begun, then done. In front of it is a queue: nothing at all,
// a thread, or the stream of a device. Behind it is the work: a result and a ticket, which the engine asks
// about as it asks about messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <ccoll/base/error.hpp>

namespace ccoll::inline CCOLL_ABI {

/// As many queues as a call has lanes, at most. Windows of 1, 4 and 16 messages each way were alike (64 MiB
/// allreduce, 4 ranks on 1 Gb/s links); four keep a codec busy meanwhile.
inline constexpr std::size_t most_lanes = 4;

/// Work that has been begun. Owns nothing, and must stay where it is until it is done. It may be handed to
/// the same queue again before: it is done when the last of its jobs is, and tells that one's result. Trouble
/// with a queue is the result of all that comes after it.
struct codec_work {
    /// Once it is done: what an encoder or adder wrote; of any other work the code alone.
    encode_result result{};
    std::uint64_t ticket = 0;  ///< 0: done

    bool done() const noexcept { return ticket == 0; }
};

/// A function object without arguments, copied into a queue that runs it later. It gives an encode_result.
class codec_job {
public:
    static constexpr std::size_t room = 384;  // two frame views, a destination, and the context of a call

    codec_job() = default;
    template <class Function>
        requires(sizeof(Function) <= room && std::is_trivially_copyable_v<Function>)
    explicit codec_job(const Function& f) noexcept
        : run_([](void* at) noexcept { return (*std::launder(static_cast<Function*>(at)))(); })
    {
        ::new (static_cast<void*>(bytes_)) Function(f);
    }
    encode_result operator()() noexcept { return run_(bytes_); }

private:
    encode_result (*run_)(void*) noexcept = nullptr;
    alignas(std::max_align_t) std::byte bytes_[room]{};
};

/// Runs work in the order in which it was begun. A cheap handle; one for each lane of a call. The default one
/// is no queue at all: whatever is begun is done at once, by the thread that begins it.
struct codec_queue {
    void* self = nullptr;
    /// Takes a job and gives `work` a ticket. Devices have no use for it: their codecs launch kernels on the
    /// stream that `self` stands for.
    void (*submit)(void* self, const codec_job&, codec_work& work) noexcept = nullptr;
    /// Is it done? Then `work` has its result and no ticket any more. Never sleeps. Null: whatever is begun
    /// is done.
    bool (*test)(void* self, codec_work& work) noexcept = nullptr;
    /// Lets others run, where nothing moved and work is under way. May be null.
    void (*yield)(void* self) noexcept = nullptr;

    bool at_once() const noexcept { return test == nullptr; }
    bool is_done(codec_work& work) const noexcept { return work.done() || test(self, work); }
    void let_others_run() const noexcept
    {
        if (yield != nullptr) yield(self);
    }
    /// Waits until the work is done.
    void wait(codec_work& work) const noexcept
    {
        while (!is_done(work)) let_others_run();
    }
};

/// Hands `f`, which gives an encode_result, to the queue; or calls it where there is none.
template <class Function>
void begin_work(const codec_queue& queue, codec_work& work, const Function& f) noexcept
{
    if (queue.at_once()) work = {f(), 0};
    else queue.submit(queue.self, codec_job(f), work);
}

}  // namespace ccoll
