// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// check_codec.hpp - floor 5. For the tests of a codec's author: does the codec keep what chunk_codec asks of
// it?
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <ccoll/codec.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// Values by their number, for arithmetic types.
template <class T>
struct codec_samples {
    using limits = std::numeric_limits<T>;
    struct field {
        const char* name;
        T (*value)(std::size_t i);
    };

    /// In [0, 1), the same on every machine. Source: splitmix64 (Steele et al., OOPSLA 2014).
    static double noise(std::size_t i)
    {
        std::uint64_t x = (i + std::uint64_t{1}) * 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
    }
    static T of(double x)
    {
        if constexpr (std::is_floating_point_v<T>) return static_cast<T>(x);
        else return static_cast<T>(static_cast<long long>(std::is_unsigned_v<T> ? std::fabs(x) : x));
    }
    static double wave(std::size_t i) { return 100 * std::sin(0.01 * static_cast<double>(i)); }

    static std::vector<field> all()
    {
        std::vector<field> list{
            {"zeros", [](std::size_t) { return of(0); }},
            {"equal values", [](std::size_t) { return of(3.7); }},
            {"a ramp", [](std::size_t i) { return of(0.01 * static_cast<double>(i)); }},
            {"a wave", [](std::size_t i) { return of(wave(i)); }},
            {"a wave with jumps",
             [](std::size_t i) { return of(i / 50 % 2 == 0 ? wave(i) / 2 : 100 - std::fabs(wave(i))); }},
            {"noise", [](std::size_t i) { return of(100 * (2 * noise(i) - 1)); }},
            {"the largest and the smallest numbers",
             [](std::size_t i) { return i % 2 == 0 ? limits::max() : limits::lowest(); }},
        };
        if constexpr (std::is_floating_point_v<T>) {
            list.push_back({"numbers of all magnitudes", [](std::size_t i) {
                                const double mantissa = (i % 2 == 0 ? 1 : -1) * (1 + noise(i)),
                                             exponent = 40 * (2 * noise(i + 9999) - 1);
                                return of(mantissa * std::exp2(std::floor(exponent)));
                            }});
            list.push_back({"denormal numbers", [](std::size_t i) {
                                return static_cast<T>(of(2 * noise(i) - 1) * limits::min());
                            }});
            list.push_back(
                {"zeros of both signs", [](std::size_t i) { return of(i % 3 == 0 ? -0.0 : 0.0); }});
            list.push_back({"a wave with NaN and Inf", [](std::size_t i) {
                                return i % 37 == 5   ? limits::quiet_NaN()
                                       : i % 41 == 7 ? (i % 2 == 0 ? limits::infinity() : -limits::infinity())
                                                     : of(wave(i));
                            }});
        }
        return list;
    }
};

template <class Codec, class T>
class codec_check {
    using impl = codec_impl<Codec, T, host_space>;
    using samples = codec_samples<T>;
    static constexpr std::size_t step = impl::chunk_elements;
    static constexpr bool at_rate = requires { Codec::at_rate; };

public:
    std::string run()
    {
        const std::vector<double> bounds = !Codec::lossy ? std::vector<double>{0}
                                           : at_rate
                                               ? std::vector<double>{4, 8, 16}
                                               : std::vector<double>{1e-3, 0.1, 1, 1e-6, 1000, 1e-30, 1e30};
        std::size_t turn = 0;
        for (const auto& field : samples::all())
            for (std::size_t b = 0; b < bounds.size(); ++b) {
                eb_ = bounds[b];
                // Bytes that are cut and damaged take most of the time.
                hostile_ = b == turn++ % bounds.size();
                for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7},
                                            std::size_t{8}, std::size_t{31}, std::size_t{32}, std::size_t{33},
                                            std::size_t{127}, std::size_t{129}, step / 2, step - 1, step}) {
                    if (n < 1 || n > step) continue;
                    take(field, n);
                    if (check_chunk(); wrong()) return said_;
                    if constexpr (homomorphic_chunk_codec<impl, T>)
                        if (check_addends(); wrong()) return said_;
                }
                for (const std::size_t n : {std::size_t{0}, std::size_t{1}, step + 1, 3 * step + 17}) {
                    take(field, n);
                    if (check_frame(); wrong()) return said_;
                }
            }
        return "";
    }

private:
    static constexpr std::byte guard{0xa5}, other_guard{0x3c};
    static constexpr std::size_t margin = 64;

    // ---- what is said ----

    bool wrong() const { return !said_.empty(); }
    template <class... Numbers>
    void say(const char* format, Numbers... numbers)
    {
        if (wrong()) return;
        char text[256];
        if constexpr (sizeof...(Numbers) == 0) std::snprintf(text, sizeof text, "%s", format);
        else std::snprintf(text, sizeof text, format, numbers...);
        said_ = std::string(Codec::name) + ", " + std::to_string(in_.size()) + " values (" + field_ + ")";
        char bound[48];
        std::snprintf(bound, sizeof bound, at_rate ? ", %.15g bits each: " : ", bound %.15g: ", eb_);
        said_ += (Codec::lossy ? bound : ": ") + std::string(text);
    }

    // ---- values ----

    void take(const typename samples::field& field, std::size_t n)
    {
        field_ = field.name;
        in_.resize(n);
        for (std::size_t i = 0; i < n; ++i) in_[i] = field.value(i);
    }
    static bool same(const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }
    /// |decoded - original| <= bound, with the rounding error of the difference.
    static bool within(T decoded, T original, double bound)
    {
        if constexpr (!Codec::lossy || !std::is_floating_point_v<T>) {
            return same(decoded, original);
        } else {
            if (!std::isfinite(original)) return same(decoded, original);
            if (at_rate) return true;
            if (!std::isfinite(decoded)) return false;
            const long double a = decoded, b = -static_cast<long double>(original), sum = a + b,
                              part = sum - a;
            const long double rest = (a - (sum - part)) + (b - part);
            const bool beyond = sum > 0 ? rest > 0 : rest < 0;
            return std::fabs(sum) < bound || (std::fabs(sum) == bound && !beyond);
        }
    }
    /// What rounding a sum of up to three values may add.
    static double rounding(double x)
    {
        using limits = std::numeric_limits<T>;
        return std::fabs(x) * 4 * static_cast<double>(limits::epsilon()) + static_cast<double>(limits::min());
    }
    void restore(const std::vector<T>& values) { in_ = values; }
    static double exactly(double) { return 0; }
    void compare(const std::vector<T>& back, const char* how, double (*more)(double) = &exactly)
    {
        for (std::size_t i = 0; i < in_.size(); ++i)
            if (!within(back[i], in_[i], eb_ + more(static_cast<double>(in_[i]))))
                return say("%s: value %zu is %.17g and comes back as %.17g", how, i,
                           static_cast<double>(in_[i]), static_cast<double>(back[i]));
    }

    // ---- one function of the codec, between guards ----

    /// Calls `write(dst)` twice, into memory that holds something else each time.
    template <class Write>
    encode_result written(const char* name, std::size_t room, std::vector<std::byte>& bytes, Write write)
    {
        encode_result result;
        for (const std::byte before : {guard, other_guard}) {
            std::vector<std::byte> memory(room + margin, before);
            const encode_result now = write(byte_span(memory).first(room));
            for (std::size_t i = room; i < memory.size(); ++i)
                if (memory[i] != before) {
                    say("%s writes beyond its room of %zu bytes", name, room);
                    return now;
                }
            if (now.code == status::ok && now.bytes > room) {
                say("%s says that it wrote %zu bytes, and has room for %zu", name, now.bytes, room);
                return now;
            }
            memory.resize(now.code == status::ok ? now.bytes : 0);
            if (before == guard) {
                result = now;
                bytes = std::move(memory);
            } else if (now.code != result.code || memory != bytes) {
                say("%s gives other bytes for the same values, or leaves some of them unwritten", name);
            }
        }
        return result;
    }
    /// The same for a decoder. `src` has exactly its size, so that a sanitizer sees what is read beyond it.
    template <class Read>
    status read(const char* name, const std::vector<std::byte>& src, std::vector<T>& values, Read decode)
    {
        status result = status::ok;
        for (const std::byte before : {guard, other_guard}) {
            std::vector<T> out(in_.size() + 2 * margin);
            std::memset(static_cast<void*>(out.data()), static_cast<int>(before), out.size() * sizeof(T));
            const T mark = out[0];
            const status now = decode(const_byte_span(src), std::span<T>(out).subspan(margin, in_.size()));
            for (std::size_t i = 0; i < margin; ++i)
                if (!same(out[i], mark) || !same(out[margin + in_.size() + i], mark)) {
                    say("%s writes beside its %zu values", name, in_.size());
                    return now;
                }
            const std::vector<T> all(out.begin() + margin, out.end() - margin);
            if (before == guard) {
                result = now;
                values = all;
            } else if (now != result ||
                       (now == status::ok && !all.empty() &&
                        std::memcmp(all.data(), values.data(), all.size() * sizeof(T)) != 0)) {
                say("%s gives other values for the same bytes, or leaves some of them unwritten", name);
            }
        }
        return result;
    }
    /// Bytes that are cut or damaged give a status. A cut chunk may be a chunk of other values, but not
    /// wherever it is cut.
    template <class Read>
    void check_hostile(const char* name, const std::vector<std::byte>& bytes, Read decode)
    {
        std::vector<T> values;
        const std::size_t n = bytes.size(), each = n / 64 + 1;
        std::size_t cuts = 0, taken = 0;
        for (std::size_t length = 0; length < n && !wrong();
             length += length < 16 || length + 16 >= n ? 1 : each, ++cuts)
            taken += read(name, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}, values,
                          decode) == status::ok;
        if (taken == cuts && cuts > 1) say("%s does not notice that bytes are missing", name);
        std::vector<std::byte> damaged = bytes;
        for (std::size_t i = 0; i < n && !wrong(); i += each)
            for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
                damaged[i] ^= static_cast<std::byte>(flip);
                read(name, damaged, values, decode);
                damaged[i] = bytes[i];
            }
    }

    // ---- chunks and frames ----

    void check_chunk()
    {
        std::vector<std::byte> bytes;
        const std::size_t raw = in_.size() * sizeof(T);
        const encode_result one = written("encode_chunk", raw, bytes,
                                          [&](byte_span dst) { return impl::encode_chunk(in_, dst, eb_); });
        if (wrong() || one.code == status::out_of_space || one.code == status::unsupported) return;
        if (one.code != status::ok)
            return say("encode_chunk returns '%s'; it may return ok, out_of_space and unsupported",
                       describe(one.code));
        if (one.bytes == raw) return;  // travels raw
        std::vector<T> back;
        const auto decode = [&](const_byte_span src, std::span<T> out) {
            return impl::decode_chunk(src, out, eb_);
        };
        if (const status s = read("decode_chunk", bytes, back, decode); s != status::ok)
            return say("decode_chunk returns '%s' for what encode_chunk wrote", describe(s));
        compare(back, "decode_chunk");
        if (hostile_) check_hostile("decode_chunk", bytes, decode);
    }

    void check_frame()
    {
        std::vector<std::byte> bytes;
        const encode_result all = written("ccoll::encode", max_encoded_bytes<Codec, T>(in_.size()), bytes,
                                          [&](byte_span dst) { return ccoll::encode<Codec>(in_, dst, eb_); });
        if (all.code != status::ok) return say("ccoll::encode returns '%s'", describe(all.code));
        std::vector<T> back;
        const auto decode = [](const_byte_span src, std::span<T> out) {
            return ccoll::decode<Codec>(src, out);
        };
        if (const status s = read("ccoll::decode", bytes, back, decode); s != status::ok)
            return say("ccoll::decode returns '%s' for what ccoll::encode wrote", describe(s));
        compare(back, "ccoll::decode");
        if (hostile_) check_hostile("ccoll::decode", bytes, decode);
    }

    // ---- addends ----

    std::vector<std::byte> add(const_byte_span a, const_byte_span b)
    {
        std::vector<std::byte> sum;
        const std::size_t n = in_.size(), room = impl::max_addend_bytes(n);
        const encode_result r =
            written("add_chunks", room, sum, [&](byte_span dst) { return impl::add_chunks(a, b, n, dst); });
        if (r.code != status::ok) say("add_chunks returns '%s' where can_add says yes", describe(r.code));
        return sum;
    }
    /// Three vectors, added in different orders.
    void check_addends()
        requires homomorphic_chunk_codec<impl, T>
    {
        const std::size_t n = in_.size();
        double largest = 0;
        for (const T x : in_) {
            if (!std::isfinite(static_cast<double>(x))) return;  // their sums are for the author's own tests
            largest = std::max(largest, std::fabs(static_cast<double>(x)));
        }
        if (!impl::can_add(largest, eb_, 3)) return;
        const std::vector<T> forwards = in_;
        std::vector<T> other(forwards.rbegin(), forwards.rend()), back;
        const auto decode = [&](const_byte_span src, std::span<T> out) {
            return impl::decode_addend(src, out, eb_);
        };
        std::vector<std::byte> parts[3];
        for (int i = 0; i < 3; ++i) {
            in_ = i == 1 ? other : forwards;
            const encode_result one =
                written("encode_addend", impl::max_addend_bytes(n), parts[i],
                        [&](byte_span dst) { return impl::encode_addend(in_, dst, eb_); });
            if (!wrong() && one.code == status::too_large)
                return restore(forwards);  // a value that it cannot hold within the bound
            if (!wrong() && one.code != status::ok)
                say("encode_addend returns '%s'; it may return ok and too_large", describe(one.code));
            if (!wrong() && read("decode_addend", parts[i], back, decode) != status::ok)
                say("decode_addend refuses what encode_addend wrote");
            if (wrong()) return;
            compare(back, "decode_addend", rounding);
        }
        const std::vector<std::byte> ab = add(parts[0], parts[1]), ba = add(parts[1], parts[0]);
        const std::vector<std::byte> left = add(ab, parts[2]), right = add(parts[0], add(parts[1], parts[2]));
        if (wrong()) return;
        const std::vector<std::byte>* const sums[] = {&ba, &ab, &right, &left};
        std::vector<T> values[4];
        for (int i = 0; i < 4; ++i)
            if (read("decode_addend", *sums[i], values[i], decode) != status::ok)
                return say("decode_addend refuses what add_chunks wrote");
        for (int i = 0; i < 4; i += 2)
            if (std::memcmp(values[i].data(), values[i + 1].data(), n * sizeof(T)) != 0)
                return say("add_chunks gives other values in another order");
        back = values[3];
        for (std::size_t i = 0; i < n; ++i) {
            const double sum = 2 * static_cast<double>(forwards[i]) + static_cast<double>(other[i]);
            if (std::fabs(sum) + 3 * eb_ > static_cast<double>(std::numeric_limits<T>::max()))
                continue;  // rounds to infinity
            if (!(std::fabs(static_cast<double>(back[i]) - sum) <= 3 * eb_ + rounding(sum)))
                return say("the sum of three values %zu is %.17g and comes back as %.17g", i, sum,
                           static_cast<double>(back[i]));
        }
        if (!hostile_) return;
        std::vector<std::byte> sum(impl::max_addend_bytes(n));
        std::size_t cuts = 0, taken = 0;
        for (std::size_t length = 0; length < parts[0].size(); length += parts[0].size() / 64 + 1, ++cuts) {
            const std::vector<std::byte> copy(parts[0].begin(),
                                              parts[0].begin() + static_cast<std::ptrdiff_t>(length));
            const const_byte_span cut = copy, whole = parts[1];
            taken += impl::add_chunks(cut, whole, n, sum).code == status::ok ||
                     impl::add_chunks(whole, cut, n, sum).code == status::ok;
        }
        if (taken == cuts && cuts > 1) say("add_chunks does not notice that bytes are missing");
    }

    std::string said_;
    const char* field_ = "";
    double eb_ = 0;
    bool hostile_ = false;
    std::vector<T> in_;
};

}  // namespace detail

/// Examines a codec as its author's tests should: `CHECK(ccoll::check_codec<acme::Fixed16, float>() == "");`.
///
/// It encodes and decodes chunks and frames of many lengths, smooth and rough values, special values and
/// several bounds. It checks that every value comes back within the bound (bit by bit from an exact codec),
/// that equal values give equal bytes, that nothing is written outside of the room or left unwritten, that
/// cut and damaged chunks give a status, and, if the codec adds, that sums keep three times the bound in
/// every order. Run it under AddressSanitizer as well, which sees what is read outside.
/// @tparam T  float, double, or an integer for exact codecs
/// @return    "", or a sentence about the first fault: "acme::Fixed16, 33 values (a ramp), bound 0.001:
///            decode_chunk: value 1 is ..."
/// Cost: some seconds without optimisation.
template <class Codec, class T>
std::string check_codec()
{
    constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
    static_assert(is_number, "ccoll::check_codec: takes float, double or an integer type");
    static_assert(!is_number || has_codec<Codec, T>,
                  "ccoll::check_codec: this codec does not meet ccoll::chunk_codec for this element type");
    if constexpr (is_number && has_codec<Codec, T>) return detail::codec_check<Codec, T>().run();
    else return "";
}

}  // namespace ccoll::inline CCOLL_ABI
