// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/shuffles.hpp - floor 2. Tables that put the low bytes of SZx's values together in a register, and
// take them apart, with any instruction set that moves bytes by a table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ccoll/codec/szx/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szx {

// A register is packed in two steps: byte by byte within each 16 bytes (a row), then row by row. A row has an
// even number of packed bytes, whatever the type. Tables are indexed by the number of bytes that are kept of
// a value.

template <element T>
inline constexpr std::size_t row_elements = 16 / sizeof(T);

/// Where each byte of a row comes from.
struct alignas(16) row_shuffle {
    std::uint8_t from[16];
};
inline constexpr std::uint8_t zero_byte = 0x80;  ///< from nowhere

/// The low bytes of all values, together.
template <element T>
inline constexpr auto squeeze_row = [] {
    std::array<row_shuffle, sizeof(T)> table{};
    for (std::size_t bytes = 1; bytes < sizeof(T); ++bytes)
        for (std::size_t i = 0; i < 16; ++i) {
            const std::size_t value = i / bytes, byte = i % bytes;
            table[bytes].from[i] =
                value < row_elements<T> ? static_cast<std::uint8_t>(value * sizeof(T) + byte) : zero_byte;
        }
    return table;
}();

/// And back.
template <element T>
inline constexpr auto spread_row = [] {
    std::array<row_shuffle, sizeof(T)> table{};
    for (std::size_t bytes = 1; bytes < sizeof(T); ++bytes)
        for (std::size_t i = 0; i < 16; ++i) {
            const std::size_t value = i / sizeof(T), byte = i % sizeof(T);
            table[bytes].from[i] = byte < bytes ? static_cast<std::uint8_t>(value * bytes + byte) : zero_byte;
        }
    return table;
}();

}  // namespace ccoll::detail::szx
