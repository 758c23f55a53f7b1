// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A memory space that the host cannot read, with a worker that does codec work late and out of order. To the
// engine it is what a device is. Every page is mapped twice: users and the engine have addresses of a mapping
// without access rights, and only the worker knows the other mapping. A host access to far memory crashes.
// Messages are in host memory, or in far memory as well (Transport::Direct).
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <ccoll/codec/queued_codec.hpp>
#include <ccoll/space/space.hpp>
#include <ccoll/policy/buffer.hpp>

namespace far {

struct space {
    static constexpr std::uint8_t memory_number = 128;  ///< in calls described by values
};

/// All far memory of this process: blocks of powers of two, which are reused.
class memory {
public:
    static memory& one()
    {
        static memory all;
        return all;
    }
    std::byte* allocate(std::size_t bytes)
    {
        std::size_t size = 4096;
        while (size < bytes) size *= 2;
        const std::lock_guard lock(mutex_);
        std::vector<std::byte*>& free = free_[size];
        if (!free.empty()) {
            std::byte* const at = free.back();
            free.pop_back();
            return at;
        }
        if (used_ + size > bytes_of_all) std::abort();
        std::byte* const at = far_ + used_;
        used_ += size;
        size_of_[at] = size;
        return at;
    }
    void release(std::byte* at)
    {
        if (at == nullptr) return;
        const std::lock_guard lock(mutex_);
        free_[size_of_.at(at)].push_back(at);
    }
    /// The same byte at the worker's address.
    template <class T>
    T* near(T* at) const
    {
        if (at == nullptr) return nullptr;
        if (!is_far(at)) std::abort();
        return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(at) -
                                    reinterpret_cast<std::uintptr_t>(far_) +
                                    reinterpret_cast<std::uintptr_t>(near_));
    }

    bool is_far(const void* at) const
    {
        return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(far_) < bytes_of_all;
    }

private:
    // Of addresses; pages are allocated when they are written.
    static constexpr std::size_t bytes_of_all = std::size_t{1} << 33;

    memory()
    {
        const int file = memfd_create("far", 0);
        if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_of_all)) != 0) std::abort();
        void* const far = mmap(nullptr, bytes_of_all, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
        void* const near =
            mmap(nullptr, bytes_of_all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (far == MAP_FAILED || near == MAP_FAILED) std::abort();
        far_ = static_cast<std::byte*>(far);
        near_ = static_cast<std::byte*>(near);
        close(file);
    }

    std::mutex mutex_;
    std::byte *far_ = nullptr, *near_ = nullptr;
    std::size_t used_ = 0;
    std::map<std::size_t, std::vector<std::byte*>> free_;
    std::map<std::byte*, std::size_t> size_of_;
};

template <class T>
T* near(T* at)
{
    return memory::one().near(at);
}
template <class T>
std::span<T> near(std::span<T> all)
{
    return {near(all.data()), all.size()};
}

/// Bytes of a message, which may be in host memory.
inline ccoll::byte_span reachable(ccoll::byte_span s) { return memory::one().is_far(s.data()) ? near(s) : s; }
inline ccoll::const_byte_span reachable(ccoll::const_byte_span s)
{
    return memory::one().is_far(s.data()) ? near(s) : s;
}
/// A frame as the worker reads it. The host has read header and index, which are in host memory in any case.
inline ccoll::frame_view reachable(ccoll::frame_view view)
{
    view.whole = reachable(view.whole);
    view.payload = reachable(view.payload);
    return view;
}

/// n elements in far memory.
template <class T>
class vector {
public:
    explicit vector(std::size_t n = 0, T fill = T{})
        : n_(n), at_(reinterpret_cast<T*>(memory::one().allocate(n * sizeof(T))))
    {
        for (std::size_t i = 0; i < n; ++i) near(at_)[i] = fill;
    }
    explicit vector(const std::vector<T>& values) : vector(values.size())
    {
        if (n_ > 0) std::memcpy(near(at_), values.data(), n_ * sizeof(T));
    }
    vector(const vector&) = delete;
    vector& operator=(const vector&) = delete;
    ~vector() { memory::one().release(reinterpret_cast<std::byte*>(at_)); }

    /// A copy on the host, made through the worker's mapping.
    std::vector<T> values() const
    {
        return n_ == 0 ? std::vector<T>{} : std::vector<T>(near(at_), near(at_) + n_);
    }
    T* address() const { return at_; }
    std::size_t elements() const { return n_; }

private:
    std::size_t n_;
    T* at_;
};

/// One thread for all queues of the process. A seed decides which queue is next and how late its work is
/// done. Within a queue work is done in order.
class worker {
public:
    struct queue {
        std::deque<std::pair<std::uint64_t, ccoll::codec_job>> jobs;
        std::map<std::uint64_t, ccoll::encode_result> done;
        std::uint64_t begun = 0;
    };

    static worker& one()
    {
        static worker all;
        return all;
    }
    static void reseed(unsigned seed)
    {
        const std::lock_guard lock(one().mutex_);
        one().random_.seed(seed);
    }
    /// How many pieces of work were begun while an earlier one of another queue was waiting. This shows that
    /// they overtake each other.
    std::uint64_t overtaken()
    {
        const std::lock_guard lock(mutex_);
        return overtaken_;
    }

    void join(queue& q)
    {
        const std::lock_guard lock(mutex_);
        queues_.push_back(&q);
    }
    void leave(queue& q)
    {
        const std::lock_guard lock(mutex_);
        std::erase(queues_, &q);
    }
    void submit(queue& q, const ccoll::codec_job& job, ccoll::codec_work& work)
    {
        {
            const std::lock_guard lock(mutex_);
            work.ticket = ++q.begun;
            q.jobs.emplace_back(work.ticket, job);
            order_[{&q, work.ticket}] = ++count_;
        }
        wake_.notify_one();
    }
    bool test(queue& q, ccoll::codec_work& work)
    {
        const std::lock_guard lock(mutex_);
        const auto found = q.done.find(work.ticket);
        if (found == q.done.end() || random_() % 4 == 0)
            return false;  // sometimes it is done but not yet noticed
        work = {found->second, 0};
        q.done.erase(found);
        return true;
    }

private:
    worker() : thread_([this] { run(); }) {}
    ~worker()
    {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }

    void run()
    {
        std::unique_lock lock(mutex_);
        while (true) {
            std::vector<queue*> ready;
            for (queue* each : queues_)
                if (!each->jobs.empty()) ready.push_back(each);
            if (ready.empty()) {
                if (ends_) return;
                wake_.wait(lock);
                continue;
            }
            queue& q = *ready[random_() % ready.size()];
            auto [ticket, job] = q.jobs.front();
            q.jobs.pop_front();
            const std::uint64_t place = order_.at({&q, ticket});
            for (const auto& [key, other] : order_) overtaken_ += other < place;
            order_.erase({&q, ticket});
            const unsigned long lateness = random_() % 8 == 0 ? random_() % 50 : 0;
            lock.unlock();
            for (unsigned long i = 0; i < lateness; ++i) std::this_thread::yield();
            const ccoll::encode_result result = job();
            lock.lock();
            q.done[ticket] = result;
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<queue*> queues_;
    std::map<std::pair<queue*, std::uint64_t>, std::uint64_t> order_;
    std::uint64_t count_ = 0, overtaken_ = 0;
    std::minstd_rand random_{1};
    bool ends_ = false;
    std::thread thread_;
};

/// The queues of the calling rank's thread, one for each lane.
inline ccoll::codec_queue queue_of_lane(std::size_t lane) noexcept
{
    struct own_queue {
        worker::queue q;
        own_queue() { worker::one().join(q); }
        ~own_queue() { worker::one().leave(q); }
    };
    static thread_local std::array<own_queue, 4> all;
    return {&all[lane].q,
            [](void* self, const ccoll::codec_job& job, ccoll::codec_work& work) noexcept {
                worker::one().submit(*static_cast<worker::queue*>(self), job, work);
            },
            [](void* self, ccoll::codec_work& work) noexcept {
                return worker::one().test(*static_cast<worker::queue*>(self), work);
            },
            // Not a yield: ranks that wait would take the cores from the one worker.
            [](void*) noexcept { std::this_thread::sleep_for(std::chrono::microseconds(10)); }};
}

inline ccoll::workspace& element_memory(ccoll::workspace&) noexcept
{
    static thread_local ccoll::workspace mine(
        ccoll::memory_source{[](std::size_t bytes) { return memory::one().allocate(bytes); },
                             [](std::byte* at) noexcept { memory::one().release(at); }});
    return mine;
}
inline ccoll::workspace& message_memory(ccoll::workspace& of_link) noexcept { return of_link; }

/// Far messages. What is beside them is full of junk, so a host that reads more than it has fetched finds
/// something wrong.
inline ccoll::workspace& far_message_memory(ccoll::workspace&) noexcept
{
    static constexpr ccoll::memory_source beside{[](std::size_t bytes) {
                                                     auto* const at = new std::byte[bytes];
                                                     std::memset(at, 0x7f, bytes);
                                                     return at;
                                                 },
                                                 [](std::byte* at) noexcept { delete[] at; }};
    static thread_local ccoll::workspace mine(
        ccoll::memory_source{[](std::size_t bytes) { return memory::one().allocate(bytes); },
                             [](std::byte* at) noexcept { memory::one().release(at); }, &beside});
    return mine;
}

/// Bytes that were fetched from far messages, by all ranks.
inline std::atomic<std::size_t> fetched_bytes{0};

/// What the host reads of a message, and nothing else.
inline void fetch(const ccoll::codec_queue& queue, ccoll::const_byte_span message, std::byte* host,
                  int frames, ccoll::codec_work& work) noexcept
{
    begin_work(queue, work, [=] {
        const ccoll::const_byte_span bytes = near(message);
        const auto give = [&](std::size_t from, std::size_t n) {
            if (from >= bytes.size()) return;
            n = std::min(n, bytes.size() - from);
            std::memcpy(host + from, bytes.data() + from, n);
            fetched_bytes += n;
        };
        give(0, 96);
        std::size_t at = 48;
        for (int i = 0; i < frames && at < bytes.size(); ++i) {
            give(at, 48);
            ccoll::frame_view view;
            if (read_frame(bytes.subspan(at), view) != ccoll::status::ok) break;
            give(at + 48, ccoll::payload_offset(view.header.chunks) - 48);
            at += view.bytes();
        }
        return ccoll::encode_result{};
    });
}
inline void copy_bytes(const ccoll::codec_queue& queue, ccoll::const_byte_span from, std::byte* to,
                       ccoll::codec_work& work) noexcept
{
    begin_work(queue, work, [=] {
        ccoll::copy(reachable(ccoll::byte_span(to, from.size())), reachable(from));
        return ccoll::encode_result{};
    });
}
inline bool copy_now(std::byte* to, ccoll::const_byte_span from) noexcept
{
    ccoll::copy(reachable(ccoll::byte_span(to, from.size())), reachable(from));
    return true;
}
inline constexpr ccoll::detail::far_messages messages{{&copy_now, false}, &fetch, &copy_bytes};

/// Elements in far memory whose messages are there, too, also in calls without Transport::Direct.
template <class T>
struct direct_vector : vector<T> {
    using vector<T>::vector;
};

}  // namespace far

template <class T>
struct ccoll::buffer_traits<far::vector<T>> {
    using space = far::space;
    static T* data(far::vector<T>& v) { return v.address(); }
    static std::size_t size(far::vector<T>& v) { return v.elements(); }
};
template <class T>
struct ccoll::buffer_traits<const far::vector<T>> {
    using space = far::space;
    static const T* data(const far::vector<T>& v) { return v.address(); }
    static std::size_t size(const far::vector<T>& v) { return v.elements(); }
};

template <ccoll::element T>
struct ccoll::detail::memory_space<far::space, T> {
    static void copy(const codec_queue& queue, const T* from, T* to, std::size_t n, codec_work& work) noexcept
    {
        begin_work(queue, work, [=] {
            if (n > 0) std::memmove(static_cast<void*>(far::near(to)), far::near(from), n * sizeof(T));
            return encode_result{};
        });
    }
    static void divide(const codec_queue& queue, const reduction<T>& op, T* values, int ranks, std::size_t n,
                       codec_work& work) noexcept
    {
        begin_work(queue, work, [=] {
            op.divide(far::near(values), ranks, n);
            return encode_result{};
        });
    }
    static void survey(const codec_queue& queue, const T* values, std::size_t n, value_survey& found,
                       codec_work& work) noexcept
    {
        begin_work(queue, work, [=, to = &found] {
            look_at(far::near(values), n, *to);
            return encode_result{};
        });
    }
    static void widen(const codec_queue& queue, const T* from, float* to, std::size_t n,
                      codec_work& work) noexcept
        requires small_float<T>
    {
        begin_work(queue, work, [=] {
            detail::two_byte::wideners<T>(far::near(from), far::near(to), n);
            return encode_result{};
        });
    }
    static void narrow(const codec_queue& queue, const float* from, T* to, std::size_t n,
                       codec_work& work) noexcept
        requires small_float<T>
    {
        begin_work(queue, work, [=] {
            detail::two_byte::rounders<T>(far::near(from), far::near(to), n);
            return encode_result{};
        });
    }
    static constexpr space_operations<T> operations{
        &far::element_memory, &far::message_memory, &far::queue_of_lane, &copy, &divide, &survey};
};

template <class T>
struct ccoll::buffer_traits<far::direct_vector<T>> : buffer_traits<far::vector<T>> {
    using space = detail::direct<far::space>;
};
template <class T>
struct ccoll::buffer_traits<const far::direct_vector<T>> : buffer_traits<const far::vector<T>> {
    using space = detail::direct<far::space>;
};
template <ccoll::element T>
struct ccoll::detail::memory_space<ccoll::detail::direct<far::space>, T> {
    static constexpr space_operations<T> operations = [] {
        auto all = memory_space<far::space, T>::operations;
        all.message_memory = &far::far_message_memory;
        all.afar = &far::messages;
        return all;
    }();
};

namespace far {

/// Host codecs, run by the worker on its mapping.
template <class Tag, ccoll::element T>
struct frames_of {
    static constexpr ccoll::frame_codec<T> host = ccoll::frame_codec_of<Tag, T>;

    static void encode(const ccoll::codec_queue& queue, std::span<const T> in, ccoll::byte_span dst,
                       const ccoll::codec_context& c, ccoll::codec_work& work) noexcept
    {
        begin_work(queue, work, [=] { return host.encode(near(in), reachable(dst), c.field(), {}); });
    }
    static void decode(const ccoll::codec_queue& queue, const ccoll::frame_view& src, std::span<T> out,
                       const ccoll::codec_context& c, ccoll::codec_work& work) noexcept
    {
        begin_work(queue, work, [=] {
            return ccoll::encode_result{0, host.decode(reachable(src), near(out), c.decoded(), {})};
        });
    }
    static void decode_reduce(const ccoll::codec_queue& queue, const ccoll::frame_view& src,
                              std::span<const T> own, T* out, const ccoll::reduction<T>& op,
                              const ccoll::codec_context&, ccoll::codec_work& work) noexcept
    {
        begin_work(queue, work, [=] {
            return ccoll::encode_result{0, host.decode_reduce(reachable(src), near(own), near(out), op, {})};
        });
    }
    static void decode_reduce_encode(const ccoll::codec_queue& queue, const ccoll::frame_view& src,
                                     std::span<const T> own, ccoll::byte_span dst,
                                     const ccoll::reduction<T>& op, const ccoll::codec_context& c,
                                     ccoll::codec_work& work) noexcept
    {
        begin_work(queue, work, [=] {
            return host.decode_reduce_encode(reachable(src), near(own), reachable(dst), c.field(), op, {});
        });
    }
    static constexpr ccoll::queued_codec<T> all{host.max_bytes,
                                                host.open,
                                                encode,
                                                decode,
                                                decode_reduce,
                                                decode_reduce_encode,
                                                host.chunk_elements,
                                                host.elements_between_polls};
};

template <class Tag, ccoll::element T>
struct sums_of {
    using chunks = ccoll::detail::chunked_addends<Tag, T>;
    static constexpr ccoll::addend_codec<T> host = ccoll::addend_codec_of<Tag, T>;

    static void encode(const ccoll::codec_queue& queue, std::span<const T> in, ccoll::byte_span dst,
                       const ccoll::codec_context& c, ccoll::codec_work& work) noexcept
    {
        begin_work(queue, work, [=] { return host.encode(near(in), reachable(dst), c.field(), {}); });
    }
    static void add(const ccoll::codec_queue& queue, const ccoll::frame_view& a, const ccoll::frame_view& b,
                    ccoll::byte_span dst, const ccoll::codec_context&, ccoll::codec_work& work) noexcept
    {
        begin_work(queue, work, [=] { return host.add(reachable(a), reachable(b), reachable(dst), {}); });
    }
    static void encode_add(const ccoll::codec_queue& queue, std::span<const T> own,
                           const ccoll::frame_view& theirs, ccoll::byte_span dst,
                           const ccoll::codec_context& c, ccoll::codec_work& work) noexcept
    {
        begin_work(queue, work, [=] {
            return chunks::encode_add(near(own), reachable(theirs), reachable(dst), c.field(), {});
        });
    }
    static constexpr ccoll::queued_addends<T> all{
        host.max_bytes, host.can_add, encode, host.refuse, add, encode_add, host.adds_non_finite, host.step};
};

}  // namespace far

namespace ccoll {  // nvcc forgets the namespace of a specialisation that is written as ccoll::queued_codecs

template <class Tag, element T, class Exec>
    requires has_codec<Tag, T>
struct queued_codecs<Tag, T, far::space, Exec> {
    static constexpr queued_codec<T> frames = far::frames_of<Tag, T>::all;
};
template <class Tag, element T, class Exec>
    requires has_homomorphic_codec<Tag, T>
struct queued_codecs<Tag, T, far::space, Exec> {
    static constexpr queued_codec<T> frames = far::frames_of<Tag, T>::all;
    static constexpr queued_addends<T> addends = far::sums_of<Tag, T>::all;
};
template <class Tag, element T, class Exec>
    requires has_codec<Tag, T>
struct queued_codecs<Tag, T, detail::direct<far::space>, Exec> : queued_codecs<Tag, T, far::space, Exec> {};

}  // namespace ccoll
