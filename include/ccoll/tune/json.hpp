// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/json.hpp - floor 2. As much of JSON (RFC 8259) as tuning files need.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <ccoll/tune/text.hpp>

namespace ccoll::inline CCOLL_ABI::tune::detail {

/// A strict reader. Whoever knows what a document should have derives from it and calls its functions in the
/// order of the text. At the first fault it notes line and reason, and functions return false. Any bytes are
/// safe. In strings, bytes from 0x80 on are kept as they are.
class json_reader {
public:
    explicit json_reader(std::string_view text) : text_(text) {}

    /// "line 3: expected ':', found '}'"; empty if there is none.
    const std::string& fault() const { return fault_; }

protected:
    bool fail(const std::string& why) { return fail_at(line(), why); }
    bool fail_at(int line, const std::string& why)
    {
        if (fault_.empty()) fault_ = "line " + std::to_string(line) + ": " + why;
        return false;
    }
    bool at_end()
    {
        blank();
        return at_ == text_.size();
    }
    /// Where the reader stands, from 1. Every line end is counted once, however often this is asked.
    int line()
    {
        for (; counted_ < at_; ++counted_) line_ += text_[counted_] == '\n' ? 1 : 0;
        return line_;
    }
    void blank()
    {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    }
    bool next_is(char c)
    {
        blank();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool expected(const char* what)
    {
        return fail(at_ == text_.size()
                        ? std::string("the file ends where ") + what + " is expected"
                        : std::string("expected ") + what + ", found " + in_quotes(text_.substr(at_, 1)));
    }
    bool need(char c, const char* what) { return next_is(c) || expected(what); }

    template <class Member>
    bool object(Member member)
    {
        if (!need('{', "'{'")) return false;
        if (next_is('}')) return true;
        do {
            std::string name;
            if (!string(name) || !need(':', "':'") || !member(name)) return false;
        } while (next_is(','));
        return need('}', "',' or '}'");
    }
    template <class Member>
    bool array(Member member)
    {
        if (!need('[', "'['")) return false;
        if (next_is(']')) return true;
        do {
            if (!member()) return false;
        } while (next_is(','));
        return need(']', "',' or ']'");
    }
    bool string(std::string& value)
    {
        if (!need('"', "a string")) return false;
        for (value.clear(); at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '"') {
                ++at_;
                return true;
            }
            if (static_cast<unsigned char>(c) < 0x20) return fail("a string contains a control character");
            if (c != '\\') value += c;
            else if (++at_; !escape(value)) return false;
        }
        return fail("the file ends within a string");
    }
    /// Behind a backslash. Leaves the reader at the last character.
    bool escape(std::string& value)
    {
        constexpr std::string_view names = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        if (const std::size_t which = names.find(c); which != std::string_view::npos) {
            value += meant[which];
            return true;
        }
        unsigned code = 0, low = 0;
        if (c != 'u' || !hex(code)) return fail("a string contains an unknown escape");
        if (code >= 0xd800 && code < 0xe000) {  // UTF-16, in which two of them are one character
            at_ = std::min(at_ + 2, text_.size());
            const bool pair = code < 0xdc00 && at_ < text_.size() && text_[at_ - 1] == '\\' &&
                              text_[at_] == 'u' && hex(low);
            if (!pair || low < 0xdc00 || low >= 0xe000) return fail("a string contains half a character");
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        const int more = code < 0x80      ? 0
                         : code < 0x800   ? 1
                         : code < 0x10000 ? 2
                                          : 3;  // bytes of UTF-8 behind the first
        const unsigned first[] = {0, 0xc0, 0xe0, 0xf0};
        value += static_cast<char>(first[more] | (code >> (6 * more)));
        for (int i = more - 1; i >= 0; --i) value += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
        return true;
    }
    /// Behind a 'u'. Leaves the reader at the last of four digits.
    bool hex(unsigned& code)
    {
        const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        at_ = std::min(at_ + 4, text_.size());
        return digits.size() == 4 && error == std::errc{} && end == digits.data() + 4;
    }
    bool number(std::string_view& digits)
    {
        blank();
        const std::size_t from = at_;
        const auto peek = [&] { return at_ < text_.size() ? text_[at_] : '\0'; };
        const auto some = [&] {
            const std::size_t first = at_;
            while (is_digit(peek())) ++at_;
            return at_ > first;
        };
        if (peek() == '-') ++at_;
        if (peek() == '0') ++at_;
        else if (!some()) return expected("a number");
        if (peek() == '.' && (++at_, !some())) return expected("a digit");
        if (peek() == 'e' || peek() == 'E') {
            ++at_;
            if (peek() == '+' || peek() == '-') ++at_;
            if (!some()) return expected("a digit");
        }
        digits = text_.substr(from, at_ - from);
        return true;
    }
    bool word(std::string_view w)
    {
        if (text_.substr(at_, w.size()) != w) return false;
        at_ += w.size();
        return true;
    }
    bool boolean(bool& value)
    {
        blank();
        value = word("true");
        return value || word("false") || expected("true or false");
    }
    /// Any value. Nesting is limited, because every level takes a frame of the stack.
    bool skip(int depth)
    {
        constexpr int most = 64;
        blank();
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        std::string unused;
        std::string_view digits;
        if ((c == '{' || c == '[') && depth == most) return fail("values are nested too deeply");
        if (c == '{') return object([&](const std::string&) { return skip(depth + 1); });
        if (c == '[') return array([&] { return skip(depth + 1); });
        if (c == '"') return string(unused);
        if (c == '-' || is_digit(c)) return number(digits);
        return word("true") || word("false") || word("null") || expected("a value");
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;  // at most text_.size()
    std::size_t counted_ = 0;
    int line_ = 1;
    std::string fault_;
};

inline void append_string(std::string& to, std::string_view text)
{
    to += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') (to += '\\') += c;
        else if (static_cast<unsigned char>(c) >= 0x20) to += c;
        else {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            to += code;
        }
    }
    to += '"';
}
template <class Number>
void append_number(std::string& to, Number value)
{
    if constexpr (std::is_floating_point_v<Number>)
        if (!(value >= 0 && value <= std::numeric_limits<Number>::max())) value = 0;  // unknown
    char digits[32];
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace ccoll::inline CCOLL_ABI::tune::detail
