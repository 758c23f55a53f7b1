// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/text.hpp - floor 2. What the readers of the tuner's texts share: a hash, and words of a text that are
// safe to print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::tune {

/// 64 bits of FNV-1a, by which ranks find out whether they have read the same text. No protection against
/// texts that are made to collide.
constexpr std::uint64_t hash_of(std::string_view text) noexcept
{
    std::uint64_t hash = 14695981039346656037u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

namespace detail {

/// `text` in quotes for an error sentence: at most 60 bytes, and what is not printable ASCII as '?'.
[[gnu::cold]] inline std::string in_quotes(std::string_view text)
{
    constexpr std::size_t most = 60;
    std::string s = "'";
    for (const char c : text.substr(0, most)) s += c >= ' ' && c <= '~' ? c : '?';
    return s += text.size() > most ? "...'" : "'";
}

constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace detail
}  // namespace ccoll::inline CCOLL_ABI::tune
