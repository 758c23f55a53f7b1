// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/workspace.hpp - floor 0. Working memory that is kept between calls.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/base/well.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Where working memory comes from: the heap, unless a memory space needs another kind (pinned, of a device,
/// ...).
struct memory_source {
    std::byte* (*allocate)(std::size_t bytes) = [](std::size_t bytes) {
        return new std::byte[bytes];
    };  ///< throws where there is none
    void (*free)(std::byte*) noexcept = [](std::byte* at) noexcept { delete[] at; };
    /// Of memory that the host cannot reach: each buffer has another one beside it, for what the host reads
    /// and writes of it.
    const memory_source* beside = nullptr;
};

/// One buffer of working memory. It is shared by all who hold a reference to it, such as a block and a send
/// that is under way.
struct buffer_memory {
    std::unique_ptr<std::byte[], void (*)(std::byte*) noexcept> bytes{nullptr, nullptr},
        beside{nullptr, nullptr};
    /// Where the host reads and writes: `bytes`, or `beside` if it cannot reach them.
    std::byte* host = nullptr;
    std::size_t capacity = 0;
    std::size_t used = 0;  ///< length of the message in it, in bytes
    int references = 0;

    byte_span room() noexcept { return {bytes.get(), capacity}; }
    const_byte_span message() const noexcept { return {bytes.get(), used}; }
    byte_span host_room() noexcept { return {host, capacity}; }
    const_byte_span host_message() const noexcept { return {host, used}; }
};

/// Which thread uses a communicator: an address that only that thread has; null: none.
struct thread_in_it : std::atomic<const void*> {
    thread_in_it() noexcept : std::atomic<const void*>(nullptr) {}
    thread_in_it(thread_in_it&&) noexcept : thread_in_it() {}  // none is in it while it is moved
    thread_in_it& operator=(thread_in_it&&) noexcept { return *this; }
};

/// Notes that this thread uses a communicator, as long as this object lives. Only one thread at a time may,
/// so another one is told. That is likely and not certain: what makes it certain costs ten times as much, and
/// calls take much longer than the moment that is missed.
/// Cost: a load and two stores.
class sole_use {
public:
    /// @param user  of the communicator; null: nothing is noted, and all is well
    explicit sole_use(thread_in_it* user) noexcept
        : user_(user), before_(user != nullptr ? user->load(std::memory_order_relaxed) : me())
    {
        if (before_ == nullptr) user_->store(me(), std::memory_order_relaxed);
    }
    sole_use(const sole_use&) = delete;
    sole_use& operator=(const sole_use&) = delete;
    ~sole_use()
    {
        if (before_ == nullptr) user_->store(nullptr, std::memory_order_relaxed);
    }
    /// No other thread is in it. This one may be in it already.
    bool granted() const noexcept { return before_ == nullptr || before_ == me(); }

    static constexpr const char* refused =
        "another thread is in a call on this communicator, or waits for one; only one thread at a time may "
        "use a communicator, so give each thread one of its own (MPI_Comm_dup)";

private:
    static const void* me() noexcept
    {
        static thread_local constinit char mine = 0;
        return &mine;
    }
    thread_in_it* user_;
    const void* before_;
};

/// The working memory of one communicator. It grows to what the largest call needs and is then reused,
/// because fresh pages cost more time than a codec does. A call allocates nothing once the memory has grown.
/// Not thread-safe, like the communicator itself.
template <class = void>  // so that a file for which the engine is compiled elsewhere compiles none of it
class basic_workspace {
public:
    basic_workspace() = default;
    explicit basic_workspace(const memory_source& source) : source_(source) {}

    /// Hands out a buffer of at least `size` bytes, with one reference. Takes the smallest idle buffer that
    /// is large enough, and allocates if there is none. Cost: O(number of idle buffers).
    buffer_memory* take(std::size_t size)
    {
        const std::size_t none = idle_.size();
        std::size_t best = none, least = ~std::size_t{0};
        // The newest first: a call asks again for the sizes of the call before.
        for (std::size_t i = none; i-- > 0 && least != size;)
            if (const std::size_t has = idle_[i]->capacity; has >= size && has < least) best = i, least = has;
        if (best == none) grow(size);
        buffer_memory* const taken = idle_[best];
        idle_[best] = idle_.back();
        idle_.pop_back();
        taken->references = 1;
        taken->used = 0;
        return taken;
    }
    /// The same, or null where there is no memory.
    buffer_memory* take_if_any(std::size_t size) noexcept
    {
        buffer_memory* taken = nullptr;
        detail::went_well([&] { taken = take(size); });
        return taken;
    }
    /// Gives up one reference; after the last one the buffer is idle. `b` may be null.
    void drop(buffer_memory* b) noexcept
    {
        if (b != nullptr && --b->references == 0)
            idle_.push_back(b);  // does not allocate: grow() has reserved the capacity
    }
    /// Makes sure that `n` buffers of at least `size` bytes each are idle.
    void reserve(std::size_t n, std::size_t size)
    {
        std::size_t fitting = 0;
        for (const buffer_memory* b : idle_) fitting += b->capacity >= size;
        for (; fitting < n; ++fitting) grow(size);
    }
    /// Who uses it, and its communicator.
    thread_in_it& user() noexcept { return user_; }
    /// How many buffers there are, idle or not.
    std::size_t buffers() const noexcept { return all_.size(); }
    /// Frees all idle buffers.
    void trim() noexcept
    {
        idle_.clear();
        std::erase_if(all_, [](const auto& b) { return b->references == 0; });
    }

    /// Returns compute() and remembers it, so that a number which takes long to compute is computed once for
    /// each (key, variant, ranks). `ranks` is part of the key because groups of ranks share the workspace of
    /// their communicator.
    template <class Compute>
    double remember(const void* key, int variant, int ranks, Compute compute)
    {
        for (const memo& m : memos_)
            if (m.key == key && m.variant == variant && m.ranks == ranks) return m.value;
        memos_.push_back({key, variant, ranks, compute()});
        return memos_.back().value;
    }

    /// No call follows: what an object here has to do in the end must not wait for the memory to be freed,
    /// which may come too late.
    void close() noexcept
    {
        for (const kept_object& each : kept_)
            if (each.close != nullptr) each.close(each.object.get());
    }

    /// The one object of this type that lives as long as this memory; null if it has not been made yet.
    template <class Object>
    Object* kept_so_far() noexcept
    {
        for (const kept_object& each : kept_)
            if (each.key == &key_of<Object>) return static_cast<Object*>(each.object.get());
        return nullptr;
    }
    /// The same, made when it is asked for first. @see close for one that has a member of this name, which
    /// must not throw
    template <class Object>
    Object& kept()
    {
        if (Object* const made = kept_so_far<Object>(); made != nullptr) return *made;
        kept_object fresh{&key_of<Object>, std::make_shared<Object>(), nullptr};
        if constexpr (requires(Object& object) { object.close(); })
            fresh.close = [](void* object) noexcept { static_cast<Object*>(object)->close(); };
        kept_.push_back(std::move(fresh));
        return *static_cast<Object*>(kept_.back().object.get());
    }

private:
    void grow(std::size_t size)
    {
        auto fresh = std::make_unique<buffer_memory>();
        fresh->bytes = {source_.allocate(size), source_.free};
        if (source_.beside != nullptr) fresh->beside = {source_.beside->allocate(size), source_.beside->free};
        fresh->host = fresh->beside != nullptr ? fresh->beside.get() : fresh->bytes.get();
        fresh->capacity = size;
        all_.push_back(std::move(fresh));
        idle_.reserve(all_.size());
        idle_.push_back(all_.back().get());
    }

    struct memo {
        const void* key;
        int variant, ranks;
        double value;
    };
    template <class>
    static constexpr char key_of = 0;
    struct kept_object {
        const char* key;
        std::shared_ptr<void> object;
        void (*close)(void*) noexcept;
    };
    memory_source source_;
    std::vector<std::unique_ptr<buffer_memory>> all_;
    std::vector<buffer_memory*> idle_;
    thread_in_it user_;
    std::vector<memo> memos_;
    std::vector<kept_object> kept_;  // last, so that they end before the buffers
};
using workspace = basic_workspace<>;

/// A short list in memory of a workspace. An empty list holds no memory (most calls need none), and a list
/// that fits a buffer of the workspace allocates nothing.
template <class T>
    requires std::is_trivially_copyable_v<T>
class borrowed_list {
public:
    explicit borrowed_list(workspace& memory) noexcept : memory_(memory) {}
    borrowed_list(const borrowed_list&) = delete;
    borrowed_list& operator=(const borrowed_list&) = delete;
    ~borrowed_list() { memory_.drop(held_); }

    std::size_t size() const noexcept { return size_; }
    T operator[](std::size_t i) const noexcept { return load<T>(held_->room(), i * sizeof(T)); }
    /// Takes memory for n elements now, so that pushes up to that size do not.
    void reserve(std::size_t n)
    {
        if (held_ != nullptr && held_->capacity >= n * sizeof(T)) return;
        buffer_memory* larger = memory_.take(n * sizeof(T));
        if (held_ != nullptr) copy(larger->room(), held_->room().first(size_ * sizeof(T)));
        memory_.drop(std::exchange(held_, larger));
    }
    void push(const T& value)
    {
        if (held_ == nullptr || held_->capacity < (size_ + 1) * sizeof(T))
            reserve(std::max<std::size_t>(16, 2 * size_));
        store(held_->room(), size_++ * sizeof(T), value);
    }
    /// Removes element i and returns it; the others keep their order. Precondition: i < size().
    T take(std::size_t i) noexcept
    {
        const T value = (*this)[i];
        for (--size_; i < size_; ++i) store(held_->room(), i * sizeof(T), (*this)[i + 1]);
        return value;
    }

private:
    workspace& memory_;
    buffer_memory* held_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace ccoll
