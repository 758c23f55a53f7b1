// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/messages.hpp - floor 0. What the library says on stderr, where no call can return it. All such lines
// go through here, so that a program can have them elsewhere or switch them off.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Gets a line without its end. It may be called by any thread, by several at a time, and while MPI
/// finalises, so it must not call MPI.
using message_handler = void (*)(const char* line) noexcept;

/// Writes the line to stderr. This is the handler at first, unless the environment has CCOLL_MESSAGES=off.
inline void print_message(const char* line) noexcept { std::fprintf(stderr, "%s\n", line); }

namespace detail {

inline message_handler message_handler_of_environment() noexcept
{
    const char* const wish = std::getenv("CCOLL_MESSAGES");
    return wish != nullptr && std::strcmp(wish, "off") == 0 ? nullptr : &print_message;
}

inline std::atomic<message_handler>& chosen_message_handler() noexcept
{
    static std::atomic<message_handler> one{message_handler_of_environment()};
    return one;
}

/// Says a line.
[[gnu::cold]] inline void say(const char* line) noexcept
{
    const message_handler handler = chosen_message_handler().load(std::memory_order_acquire);
    if (handler != nullptr) handler(line);
}

/// Says a line that is written as std::printf writes it.
[[gnu::cold, gnu::format(printf, 1, 2)]] inline void say_formatted(const char* format, ...)
{
    std::va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    const int length = std::vsnprintf(nullptr, 0, format, values);
    va_end(values);
    std::string line(length > 0 ? static_cast<std::size_t>(length) : 0, ' ');
    std::vsnprintf(line.data(), line.size() + 1, format, again);
    va_end(again);
    say(line.c_str());
}

}  // namespace detail

/// From now on `handler` gets the lines that the library would write to stderr; with a null pointer nobody
/// does. It holds for the whole process and all threads, and goes before CCOLL_MESSAGES. Errors are not such
/// lines: calls throw or return them, whatever the handler is.
/// @return the handler until now, never null unless lines were switched off
inline message_handler on_message(message_handler handler) noexcept
{
    return detail::chosen_message_handler().exchange(handler, std::memory_order_acq_rel);
}

}  // namespace ccoll
