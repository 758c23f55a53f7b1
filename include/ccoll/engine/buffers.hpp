// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/buffers.hpp - floor 3. From what a user passes to what the engine works on: sizes, in place, overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ccoll/engine/task.hpp>

namespace ccoll {

/// What a facade was given. Sizes are those of the buffers, or, when `counted`, the one count that MPI's own call takes.
template <element T>
struct user_buffers {
    const T* send = nullptr;
    std::size_t send_size = 0;
    T* recv = nullptr;
    std::size_t recv_size = 0;
    bool in_place = false;  ///< the one buffer that was given stands for both, as MPI_IN_PLACE does
    bool counted = false;
};

template <element T>
struct fitted_buffers {
    call_buffers<T> data;
    T* move_to = nullptr;  ///< reduce_scatter in place: the result block moves there at the end
    verdict trouble;
};

namespace detail {

inline bool share_memory(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes)
{
    const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

}  // namespace detail

/// Fits user buffers to a collective on rank `me` of p. What does not fit becomes trouble, which the caller must make
/// everybody's: this rank cannot just throw while others wait for it.
template <class Collective, element T>
fitted_buffers<T> fit(const user_buffers<T>& user, int me, int p, int root)
{
    user_buffers<T> u = user;
    constexpr bool send_whole = Collective::send == extent::whole, recv_whole = Collective::recv == extent::whole;
    constexpr bool same = send_whole && recv_whole;
    const auto ranks = static_cast<std::size_t>(p), mine = static_cast<std::size_t>(me);
    const bool gives = Collective::before(me, root, same ? 1 : p).count > 0, takes = Collective::after(me, root, same ? 1 : p).count > 0;
    if (u.counted) {
        const std::size_t n = u.send_size;
        u.send_size = gives ? (!same && send_whole ? n * ranks : n) : 0;
        u.recv_size = takes ? (!same && recv_whole ? n * ranks : n) : 0;
        if (u.in_place && !same) u.recv_size = u.send_size = n * ranks;
    }
    fitted_buffers<T> f;
    f.data = {u.send, u.recv, 0, Collective::send, Collective::recv};
    const auto mismatch = [&](std::size_t expected, std::size_t found) {
        f.trouble = {status::size_mismatch, me, me, -1, static_cast<double>(expected), static_cast<double>(found)};
    };
    if constexpr (same) {
        f.data.count = gives ? u.send_size : u.recv_size;
        if (gives && takes && u.send_size != u.recv_size) mismatch(u.send_size, u.recv_size);
    } else if (u.in_place) {
        // One buffer with all blocks, this rank's own among them.
        const std::size_t whole = send_whole ? u.send_size : u.recv_size, own = whole / ranks;
        f.data.count = whole;
        if (whole % ranks != 0) mismatch((own + 1) * ranks, whole);
        if constexpr (send_whole) {
            f.data.recv = u.recv + mine * own;
            if constexpr (Collective::reduces) f.move_to = u.recv;
        } else {
            f.data.send = u.recv + mine * own;
        }
    } else {
        const bool has_whole = send_whole ? gives : takes;
        const std::size_t own = send_whole ? u.recv_size : u.send_size, whole = send_whole ? u.send_size : u.recv_size;
        f.data.count = own * ranks;
        if (has_whole && whole != own * ranks) mismatch(own * ranks, whole);
    }
    const std::size_t sent = gives ? u.send_size * sizeof(T) : 0, taken = takes ? u.recv_size * sizeof(T) : 0;
    if (f.trouble.ok() && !u.in_place && static_cast<const void*>(u.send) != u.recv && detail::share_memory(u.send, sent, u.recv, taken))
        f.trouble = {status::overlap, me, me};
    if (f.trouble.ok() && !u.in_place && !same && sent > 0 && taken > 0 && static_cast<const void*>(u.send) == u.recv && p > 1)
        f.trouble = {status::overlap, me, me};
    if (f.trouble.ok() && ((u.send == nullptr && sent > 0) || (u.recv == nullptr && taken > 0))) f.trouble = {status::bad_argument, me, me};
    return f;
}

}  // namespace ccoll
