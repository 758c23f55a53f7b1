// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/workspace.hpp - floor 0. Working memory that outlives a call.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <ccoll/base/memory.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Where working memory comes from: the heap, unless a memory space needs another kind (pinned, of a device, ...).
struct memory_source {
    std::byte* (*allocate)(std::size_t bytes) = [](std::size_t bytes) { return new std::byte[bytes]; };  ///< throws where there is none
    void (*free)(std::byte*) noexcept = [](std::byte* at) noexcept { delete[] at; };
};

/// One piece of working memory, shared by whoever holds a reference (a block, a send in flight). Contents are kept as written.
struct buffer_memory {
    std::unique_ptr<std::byte[], void (*)(std::byte*) noexcept> bytes{nullptr, nullptr};
    std::size_t capacity = 0;
    std::size_t used = 0;  ///< length of the message in it
    int references = 0;

    byte_span room() noexcept { return {bytes.get(), capacity}; }
    const_byte_span message() const noexcept { return {bytes.get(), used}; }
};

/// The working memory of one communicator. Grows to what the largest call needs and is then only handed out again: fresh
/// pages cost more than a codec, and a call in the steady state allocates nothing. Not thread-safe, as a communicator is not.
class workspace {
public:
    workspace() = default;
    explicit workspace(const memory_source& source) : source_(source) {}

    /// A buffer of at least `size` bytes with one reference.
    buffer_memory* take(std::size_t size)
    {
        std::size_t best = idle_.size();
        for (std::size_t i = 0; i < idle_.size(); ++i)
            if (idle_[i]->capacity >= size && (best == idle_.size() || idle_[i]->capacity < idle_[best]->capacity)) best = i;
        if (best == idle_.size()) grow(size);
        buffer_memory* taken = idle_[best];
        idle_[best] = idle_.back();
        idle_.pop_back();
        taken->references = 1;
        taken->used = 0;
        return taken;
    }
    void drop(buffer_memory* b) noexcept
    {
        if (b != nullptr && --b->references == 0) idle_.push_back(b);  // within the reserved capacity: does not allocate
    }
    /// Sees to it that `n` buffers of at least `size` bytes are idle.
    void reserve(std::size_t n, std::size_t size)
    {
        std::size_t fitting = 0;
        for (const buffer_memory* b : idle_) fitting += b->capacity >= size;
        for (; fitting < n; ++fitting) grow(size);
    }
    std::size_t buffers() const noexcept { return all_.size(); }
    /// Gives back what nobody holds.
    void trim() noexcept
    {
        idle_.clear();
        std::erase_if(all_, [](const auto& b) { return b->references == 0; });
    }

    /// A number that is dear to compute and depends on the key alone, computed once. `ranks` is part of it: groups share this memory.
    template <class Compute>
    double remember(const void* key, int variant, int ranks, Compute compute)
    {
        for (const memo& m : memos_)
            if (m.key == key && m.variant == variant && m.ranks == ranks) return m.value;
        memos_.push_back({key, variant, ranks, compute()});
        return memos_.back().value;
    }

private:
    void grow(std::size_t size)
    {
        auto fresh = std::make_unique<buffer_memory>();
        fresh->bytes = {source_.allocate(size), source_.free};
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
    memory_source source_;
    std::vector<std::unique_ptr<buffer_memory>> all_;
    std::vector<buffer_memory*> idle_;
    std::vector<memo> memos_;
};

/// A short list in borrowed memory: most calls need none of it, and the steady state allocates nothing.
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
    /// Borrows room for n elements now, so that later pushes need not.
    void reserve(std::size_t n)
    {
        if (held_ != nullptr && held_->capacity >= n * sizeof(T)) return;
        buffer_memory* larger = memory_.take(n * sizeof(T));
        if (held_ != nullptr) copy(larger->room(), held_->room().first(size_ * sizeof(T)));
        memory_.drop(std::exchange(held_, larger));
    }
    void push(const T& value)
    {
        if (held_ == nullptr || held_->capacity < (size_ + 1) * sizeof(T)) reserve(std::max<std::size_t>(16, 2 * size_));
        store(held_->room(), size_++ * sizeof(T), value);
    }
    /// Removes element i; the order of the others stays.
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
