// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/window.hpp - floor 2. The quanta from which a decoder predicts a chunk with rows.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/codec/szp/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// The quanta of the last blocks of a chunk, as numbers of T: at least as far back as rows and planes reach. Those before the first value
/// of the chunk are equal to the first one.
///
/// The memory is used again and again, so that it stays in the innermost cache. With the quanta of a whole chunk, fields in memory would be
/// decoded a fifth more slowly (Zen 4).
template <class T>
class quanta_window {
public:
    quanta_window(const rows::distances& above, T first) noexcept
        : reach_(above.reach()), begin_(kept_ + rounded_up(reach_, 64 / sizeof(T))),
          end_(begin_ + (reach_ > most_reach ? chunk_elements : rounded_up(std::max(reach_, shortest), block_elements)))
    {
        std::fill(begin_ - reach_, begin_, first);
    }
    quanta_window(const quanta_window&) = delete;
    quanta_window& operator=(const quanta_window&) = delete;

    /// Where the first quantum goes, at the beginning of a cache line, and where the window is full.
    T* begin() const noexcept { return begin_; }
    T* end() const noexcept { return end_; }
    /// To be called when it is full. @return where the next quantum goes
    T* slide() noexcept
    {
        std::memcpy(begin_ - reach_, end_ - reach_, reach_ * sizeof(T));
        return begin_;
    }

private:
    static constexpr std::size_t shortest = 512, most_reach = 2048;
    static constexpr std::size_t rounded_up(std::size_t n, std::size_t to) noexcept { return (n + to - 1) / to * to; }

    alignas(64) T kept_[2 * chunk_elements];
    std::size_t reach_;
    T *begin_, *end_;
};

}  // namespace ccoll::detail::szp
