// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lines/lines.hpp - floor 2. What decoders write past the caches: line writers, one per instruction set
// that has one.
//
// Registers on their way past the caches, each to a whole line (or half of one) wherever the destination
// begins: what is stored is the end of one register and the beginning of the next. The constructor's `to` is
// where the first register belongs, a multiple of 4. The bytes before it, as many as a register has, are
// there already. put() takes the next register, and finish() stores the rest.
// write() takes a register of results to where its decoder was told: into a line writer, or to a pointer.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// 4-byte words from an address up to the next multiple of `unit` bytes.
inline unsigned words_ahead(const void* to, std::size_t unit) noexcept
{
    return static_cast<unsigned>((0 - reinterpret_cast<std::uintptr_t>(to)) % unit / 4);
}

}  // namespace ccoll::detail
