// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SZp of wire version 6 as docs/wire_format_6.md says it, value by value and bit by bit: the law, chunks and frames, read and written.
// Slow, and made from the page alone, so that it can judge codecs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace szp6_reference {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using bytes = std::vector<u8>;
using wide = std::array<u64, 3>;  ///< 192 bits, the lowest limb first

template <class T>
using word = std::conditional_t<sizeof(T) == 4, u32, u64>;
template <class T>
word<T> bits_of(T x)
{
    word<T> w;
    std::memcpy(&w, &x, sizeof w);
    return w;
}
template <class T>
T number_of(word<T> w)
{
    T x;
    std::memcpy(&x, &w, sizeof x);
    return x;
}

inline wide add(const wide& a, const wide& b)
{
    wide r{};
    unsigned __int128 sum = 0;
    for (int i = 0; i < 3; ++i) r[i] = static_cast<u64>(sum = (sum >> 64) + a[i] + b[i]);
    return r;
}
inline wide widened(i64 q) { return {static_cast<u64>(q), q < 0 ? ~u64{0} : 0, q < 0 ? ~u64{0} : 0}; }
inline wide negated(const wide& a) { return add({~a[0], ~a[1], ~a[2]}, {1, 0, 0}); }
inline wide state(u64 which) { return {which, 0, u64{1} << 63}; }  ///< 0 NaN, 1 +Inf, 2 -Inf, 3 missing
inline bool is_state(const wide& a) { return a[2] == u64{1} << 63; }

// ---- the law ----

template <class T>
struct law {
    static constexpr bool f32 = sizeof(T) == 4;
    double eb, step, power, far;
    bool usable;
    std::optional<word<T>> missing;

    explicit law(double bound, std::optional<word<T>> marker = {}) : missing(marker)
    {
        eb = std::min(bound, f32 ? 0x1p94 : 0x1p990);
        usable = !(eb < 4 * static_cast<double>(std::numeric_limits<T>::min()));
        int e = 0;
        const double m = std::frexp(2 * eb / (1 + 1.001 * (f32 ? 0x1p-8 : 0x1p-20)), &e), scale = f32 ? 0x1p10 : 0x1p22;
        step = std::ldexp(std::floor(m * scale) / scale, e);
        std::frexp(2 * eb, &e);
        power = std::ldexp(1.0, e - 1);
        far = std::ldexp(power, f32 ? 24 : 53);
        if (!(far <= static_cast<double>(std::numeric_limits<T>::max()))) far = std::numeric_limits<double>::infinity();
    }
    bool is_missing(T x) const { return missing && bits_of(x) == *missing; }
    bool far_in_movement(T x) const { return is_missing(x) || !std::isfinite(x) || std::fabs(static_cast<double>(x)) >= far; }
    bool far_in_addend(T x) const { return is_missing(x) || !std::isfinite(x) || std::fabs(static_cast<double>(x)) >= 0x1p45 * step; }
    static i64 row_2(T x, double s) { return static_cast<i64>(std::nearbyint(static_cast<double>(x) * (1 / s))); }
    static i64 row_3(T x, double s)
    {
        const double i = 1 / s, q = std::nearbyint(static_cast<double>(x) * i);
        return static_cast<i64>(q + std::nearbyint(std::fma(-q, s, static_cast<double>(x)) * i));
    }
    i64 quantum(T x) const
    {
        const double a = std::fabs(static_cast<double>(x));
        if (a < static_cast<double>(std::numeric_limits<T>::min())) return 0;
        if (a < step * (f32 ? 0x1p14 : 0x1p30)) return static_cast<i64>(std::nearbyint(x * static_cast<T>(1 / step)));
        return a < step * 0x1p30 ? row_2(x, step) : row_3(x, step);
    }
};

/// What a chunk for movement becomes.
template <class T>
std::vector<T> moved(const law<T>& z, const std::vector<T>& x)
{
    const std::size_t n = x.size();
    if (!z.usable || n < 256) return x;
    std::size_t changes = 0;
    std::optional<word<T>> before;
    double most = 0;
    bool denormal = false, any = false;
    int lowest = 5000;  // L = 2^lowest
    for (const T v : x) {
        if (z.far_in_movement(v)) {
            changes += before && *before != bits_of(v);
            before = bits_of(v);
            continue;
        }
        const double a = std::fabs(static_cast<double>(v));
        most = std::max(most, a);
        if (a == 0) continue;
        any = true;
        denormal = denormal || a < static_cast<double>(std::numeric_limits<T>::min());
        int e = 0;
        auto m = static_cast<u64>(std::ldexp(std::frexp(a, &e), 53));
        lowest = std::min(lowest, e - 53 + std::countr_zero(m));
    }
    if (changes > n / 8) return x;
    constexpr bool f32 = law<T>::f32;
    double step = 0;
    int rule = 3;
    if (any && !denormal) {
        const double lattice = std::ldexp(1.0, std::min(lowest, f32 ? 126 : 1022));
        if (lattice > z.step && most < std::ldexp(1.0, lowest) * (f32 ? 0x1p24 : 0x1p53)) step = lattice, rule = 1;
    }
    if (rule == 3 && most < z.step * (f32 ? 0x1p14 : 0x1p30)) rule = 2;
    if (rule == 3) {
        const double r = most + 2 * z.eb;
        if (!(r < static_cast<double>(std::numeric_limits<T>::max()) / 2)) return x;
        int k = 0;
        std::frexp(r, &k);
        const double ulp = std::ldexp(1.0, k - (f32 ? 24 : 53));
        step = std::max(z.power, std::floor(2 * z.eb * (1 - 0x1p-20) / ulp) * ulp);
    }
    std::vector<T> y = x;
    for (T& v : y) {
        if (z.far_in_movement(v)) continue;
        if (rule == 2) v = static_cast<T>(static_cast<double>(z.quantum(v)) * z.step);
        else if (std::fabs(v) < std::numeric_limits<T>::min()) v = 0;
        else v = static_cast<T>(static_cast<double>(f32 ? law<T>::row_2(v, step) : law<T>::row_3(v, step)) * step);
    }
    return y;
}

// ---- chunks ----

/// Everything that a chunk says.
struct chunk {
    int scale = 0;
    double step = 0;
    std::vector<i64> q;
    std::map<std::size_t, u64> bits;                       ///< exceptional values of movement
    std::map<std::size_t, std::pair<bool, wide>> addends;  ///< of addends: does the quantum count, W
};

class reader {
public:
    reader(const u8* p, std::size_t n) : p_(p), n_(n) {}
    template <class W>
    W get(std::size_t at) const
    {
        if (at > n_ || n_ - at < sizeof(W)) throw std::runtime_error("beyond the end");
        W w;
        std::memcpy(&w, p_ + at, sizeof w);
        return w;
    }

private:
    const u8* p_;
    std::size_t n_;
};
inline void must(bool yes, const char* what)
{
    if (!yes) throw std::runtime_error(what);
}
inline std::size_t up_to(std::size_t v, std::size_t of) { return (v + of - 1) / of * of; }
/// The bit of value i in a plane.
inline int bit_of_value(std::size_t i) { return static_cast<int>(8 * (i % 4) + 4 * (i / 4 % 2) + i / 8); }

inline void read_sections(const reader& in, std::size_t at, std::size_t n, std::size_t value_bytes, bool addend, chunk& c)
{
    const std::size_t blocks = (n + 31) / 32;
    bool seen[2] = {};
    for (bool more = true; more;) {
        const std::size_t entries = in.get<u8>(at) + 1u, runs = in.get<u16>(at + 2);
        const unsigned form = in.get<u8>(at + 1);
        const bool own = (form & 1) != 0, counts = (form & 2) != 0;
        more = (form & 4) != 0;
        must(form < 8 && !seen[counts] && !(own && (addend || entries != 1 || runs != 0)) && !(counts && !addend), "form of a section");
        seen[counts] = true;
        std::vector<int> kinds;
        for (std::size_t b = 0; b < blocks; ++b) kinds.push_back(in.get<u8>(at + 4 + b / 4) >> 2 * (b % 4) & 3);
        std::size_t place_runs = at + 4 + up_to((blocks + 3) / 4, 4);
        std::size_t masks = place_runs + up_to(2 * static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), 2)), 4);
        std::size_t value_runs = masks + 4 * static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), 3));
        std::vector<std::size_t> places;
        for (std::size_t b = 0; b < blocks; ++b) {
            const std::size_t there = std::min<std::size_t>(32, n - 32 * b), before = places.size();
            u32 mask = kinds[b] == 1 ? ~0u : 0;
            if (kinds[b] == 2) {
                const unsigned run = in.get<u16>(place_runs), first = run & 31, last = run >> 5 & 31;
                place_runs += 2;
                must(run < 2048 && first <= last, "a place run");
                for (unsigned i = first; i <= last; ++i) mask |= 1u << i;
                must((mask & ~0u >> (32 - there)) == mask, "a place run beyond the end");
                if ((run & 1024) != 0) mask = ~mask;
            } else if (kinds[b] == 3) {
                mask = in.get<u32>(masks);
                masks += 4;
                must((mask & ~0u >> (32 - there)) == mask, "a mask beyond the end");
            }
            for (std::size_t i = 0; i < there; ++i)
                if ((mask >> i & 1) != 0) places.push_back(32 * b + i);
            must(kinds[b] == 0 || places.size() > before, "an empty block");
        }
        std::vector<std::size_t> number;
        if (own) {
            for (std::size_t k = 0; k < places.size(); ++k) number.push_back(k);
        } else {
            for (std::size_t r = 0; r < runs; ++r) {
                must(in.get<u8>(value_runs + 2 * r) < entries, "the number of an entry");
                number.insert(number.end(), in.get<u8>(value_runs + 2 * r + 1) + 1u, in.get<u8>(value_runs + 2 * r));
            }
        }
        must(number.size() == places.size(), "the number of places");
        const std::size_t values = up_to(value_runs + 2 * runs - at, 8) + at, all = own ? places.size() : entries;
        if (all > 0) static_cast<void>(in.get<u8>(values + value_bytes * all - 1));
        for (std::size_t k = 0; k < places.size(); ++k) {
            const std::size_t from = values + value_bytes * number[k];
            must(c.bits.count(places[k]) == 0 && c.addends.count(places[k]) == 0, "a place twice");
            if (addend) c.addends[places[k]] = {counts, {in.get<u64>(from), in.get<u64>(from + 8), in.get<u64>(from + 16)}};
            else c.bits[places[k]] = value_bytes == 4 ? in.get<u32>(from) : in.get<u64>(from);
        }
        at = up_to(values + value_bytes * all - at, 16) + at;
    }
}

/// @throw std::runtime_error: no such chunk
template <class T>
chunk read_chunk(const u8* p, std::size_t length, std::size_t n, bool addend)
{
    const reader in(p, length);
    chunk c;
    const std::size_t groups = (n + 1023) / 1024;
    c.scale = in.get<u8>(0);
    const unsigned form = in.get<u8>(1);
    const bool left = (form & 1) != 0, is_wide = (form & 2) != 0, flat = (form & 4) != 0;
    const std::size_t row = in.get<u16>(2), plane = in.get<u16>(4), exceptions = 16u * in.get<u16>(6);
    must(c.scale <= 2 && form < 8 && (row == 0 || row >= 16) && (plane == 0 || (plane >= 16 && row > 0)) && row + plane < n, "a head");
    must(exceptions <= length && !(addend && c.scale != 0), "a head");
    if (c.scale == 2) must(in.get<u64>(8) == 0 && exceptions == 0, "a kept chunk");
    if (c.scale == 1) {
        c.step = std::bit_cast<double>(in.get<u64>(8));
        must(c.step >= static_cast<double>(std::numeric_limits<T>::min()) && c.step <= static_cast<double>(std::numeric_limits<T>::max()) &&
                 static_cast<double>(static_cast<T>(c.step)) == c.step,
             "a step");
    }
    if (flat) {
        c.q.assign(n, in.get<i64>(16));
    } else {
        const std::size_t places = 16 + 16 * groups, bases = places + 8 * groups;
        must(length >= up_to(is_wide ? bases + 8 * groups : bases, 16), "the front of a chunk");
        std::vector<u64> r(up_to(n, 32));
        const u64 front = is_wide ? in.get<u64>(bases) : static_cast<u64>(i64{in.get<std::int32_t>(places + 4)});
        for (std::size_t g = 0; g < groups; ++g) {
            std::size_t at = 16u * in.get<u16>(places + 8 * g);
            const unsigned lowest = in.get<u8>(places + 8 * g + 2), most = is_wide ? 64 : 32;
            must(in.get<u8>(places + 8 * g + 3) == 0 && lowest <= most, "a place");
            u64 sum = is_wide ? in.get<u64>(bases + 8 * g) : static_cast<u64>(i64{in.get<std::int32_t>(places + 8 * g + 4)});
            if (g == 0 && row > 0) sum = 0;
            for (std::size_t b = 32 * g; b < std::min(32 * g + 32, r.size() / 32); ++b) {
                const unsigned w = lowest + (in.get<u8>(16 + 16 * g + b % 32 / 2) >> 4 * (b % 2) & 15);
                must(w <= most, "a width");
                for (std::size_t i = 0; i < 32; ++i) {
                    u64 d = 0;
                    for (unsigned k = 0; k < w; ++k) {
                        const u64 bit = in.get<u32>(at + 4 * k) >> bit_of_value(i) & 1;
                        d |= (k + 1 == w ? u64{0} - bit : bit) << k;
                    }
                    sum = left ? sum + d : d;
                    r[32 * b + i] = sum;
                }
                at += 4 * w;
            }
        }
        for (std::size_t i = 0; plane > 0 && i < n; ++i) r[i] += i >= plane ? r[i - plane] : 0;
        for (std::size_t i = 0; row > 0 && i < n; ++i) r[i] += i >= row ? r[i - row] : front;
        for (std::size_t i = 0; i < n; ++i)
            c.q.push_back(is_wide ? static_cast<i64>(r[i]) : static_cast<i64>(static_cast<std::int32_t>(static_cast<u32>(r[i]))));
    }
    if (exceptions > 0) read_sections(in, exceptions, n, addend ? 24 : sizeof(T), addend, c);
    return c;
}

/// How to write a chunk: all of it is free.
struct forms {
    bool left = true, is_wide = false, flat = false, own = false;
    std::size_t row = 0, plane = 0;
    unsigned more_planes = 0;  ///< than are needed
    bool mixed = false;        ///< groups in reverse order, gaps between them
    bool runs = true;          ///< place runs, where they fit
    u64 largest_above = 0;     ///< the bound of |q| is so much too high
};

template <class W>
void put(bytes& to, std::size_t at, W w)
{
    if (to.size() < at + sizeof w) to.resize(at + sizeof w);
    std::memcpy(to.data() + at, &w, sizeof w);
}

inline void write_section(bytes& out, std::size_t n, const std::map<std::size_t, bytes>& values, unsigned form, const forms& how)
{
    const std::size_t at = out.size(), blocks = (n + 31) / 32;
    std::vector<bytes> entries;
    std::vector<std::pair<u8, u8>> runs;
    for (const auto& [place, v] : values) {
        auto e = std::find(entries.begin(), entries.end(), v);
        if (how.own || e == entries.end()) e = entries.insert(entries.end(), v);
        const auto number = static_cast<u8>(e - entries.begin());
        if (!runs.empty() && runs.back().first == number && runs.back().second < 255) ++runs.back().second;
        else runs.emplace_back(number, u8{0});
    }
    if (how.own) runs.clear();
    put(out, at, static_cast<u8>(how.own ? 0 : entries.size() - 1));
    put(out, at + 1, static_cast<u8>(form | (how.own ? 1 : 0)));
    put(out, at + 2, static_cast<u16>(runs.size()));
    std::vector<u32> masks(blocks);
    for (const auto& each : values) masks[each.first / 32] |= 1u << each.first % 32;
    bytes kinds(up_to((blocks + 3) / 4, 4)), place_runs, bits;
    for (std::size_t b = 0; b < blocks; ++b) {
        const u32 m = masks[b], whole = ~0u >> (32 - std::min<std::size_t>(32, n - 32 * b));
        const auto is_run = [](u32 v) { return v != 0 && std::has_single_bit((v >> std::countr_zero(v)) + u64{1}); };
        int kind = m == 0 ? 0 : m == whole ? 1 : 3;
        if (kind == 3 && how.runs && (is_run(m) || is_run(whole & ~m))) {
            kind = 2;
            const u32 r = is_run(m) ? m : whole & ~m;
            put(place_runs, place_runs.size(),
                static_cast<u16>(std::countr_zero(r) | (31 - std::countl_zero(r)) << 5 | (is_run(m) ? 0 : 1024)));
        }
        if (kind == 3) put(bits, bits.size(), m);
        kinds[b / 4] = static_cast<u8>(kinds[b / 4] | kind << 2 * (b % 4));
    }
    place_runs.resize(up_to(place_runs.size(), 4));
    for (const bytes* each : {&kinds, &place_runs, &bits}) out.insert(out.end(), each->begin(), each->end());
    for (const auto& [number, length] : runs) out.insert(out.end(), {number, length});
    out.resize(at + up_to(out.size() - at, 8));
    for (const bytes& e : entries) out.insert(out.end(), e.begin(), e.end());
    out.resize(at + up_to(out.size() - at, 16));
}

template <class T>
bytes write_chunk(const chunk& c, const forms& how)
{
    const std::size_t n = c.q.size(), groups = (n + 1023) / 1024;
    bytes out;
    u64 largest = 0;
    for (const i64 q : c.q) largest = std::max(largest, q < 0 ? u64{0} - static_cast<u64>(q) : static_cast<u64>(q));
    put(out, 0, static_cast<u8>(c.scale));
    put(out, 1, static_cast<u8>((how.left ? 1 : 0) | (how.is_wide ? 2 : 0) | (how.flat ? 4 : 0)));
    put(out, 2, static_cast<u16>(how.row));
    put(out, 4, static_cast<u16>(how.plane));
    put(out, 8, c.scale == 0 ? largest + how.largest_above : c.scale == 1 ? std::bit_cast<u64>(c.step) : 0);
    if (how.flat) {
        put(out, 16, c.q[0]);
    } else {
        const std::size_t places = 16 + 16 * groups, bases = places + 8 * groups;
        out.resize(up_to(how.is_wide ? bases + 8 * groups : bases, 16));
        std::vector<u64> q(c.q.begin(), c.q.end());
        q.resize(up_to(n, 32), q.back());
        std::vector<u64> r = q;
        for (std::size_t i = q.size(); i-- > 0;) r[i] -= how.row == 0 ? 0 : i >= how.row ? q[i - how.row] : q[0];
        std::vector<u64> d = r;
        for (std::size_t i = q.size(); i-- > 0;) d[i] -= how.plane == 0 || i < how.plane ? 0 : r[i - how.plane];
        r = d;
        for (std::size_t k = 0; k < groups; ++k) {
            const std::size_t g = how.mixed ? groups - 1 - k : k, first = 1024 * g, end = std::min(first + 1024, r.size());
            // What the base stands for is free, but in front of the chunk.
            const u64 base = g == 0 ? q[0] : how.mixed ? r[first - 1] + 5 : r[first - 1];
            std::vector<unsigned> widths;
            for (std::size_t i = first; i < end; ++i) {
                const u64 before = i > first ? r[i - 1] : g == 0 && how.row > 0 ? 0 : base;
                d[i] = how.left ? r[i] - before : r[i];
                if (!how.is_wide) d[i] = static_cast<u64>(i64{static_cast<std::int32_t>(static_cast<u32>(d[i]))});
                const auto s = static_cast<i64>(d[i]);
                const unsigned w = s == 0 ? 0 : 65 - static_cast<unsigned>(std::countl_zero(static_cast<u64>(s < 0 ? ~s : s)));
                if (i % 32 == 0) widths.push_back(0);
                widths.back() = std::max(widths.back(), w);
            }
            const unsigned highest = *std::max_element(widths.begin(), widths.end()), most = how.is_wide ? 64 : 32;
            unsigned lowest = *std::min_element(widths.begin(), widths.end());
            for (unsigned& w : widths) w = std::min(std::max(w + how.more_planes, highest > 15 ? highest - 15 : 0), most);
            lowest = *std::min_element(widths.begin(), widths.end());
            for (unsigned& w : widths) w = std::min(w, lowest + 15);
            if (how.mixed) out.resize(out.size() + 48);
            put(out, places + 8 * g, static_cast<u16>(out.size() / 16));
            out[places + 8 * g + 2] = static_cast<u8>(lowest);
            put(out, places + 8 * g + 4, static_cast<u32>(how.is_wide ? 0 : base));
            if (how.is_wide) put(out, bases + 8 * g, base);
            for (std::size_t b = 0; b < widths.size(); ++b) {
                out[16 + 16 * g + b / 2] = static_cast<u8>(out[16 + 16 * g + b / 2] | (widths[b] - lowest) << 4 * (b % 2));
                for (unsigned p = 0; p < widths[b]; ++p) {
                    u32 plane = 0;
                    for (std::size_t i = 0; i < 32; ++i) plane |= static_cast<u32>(d[first + 32 * b + i] >> p & 1) << bit_of_value(i);
                    put(out, out.size(), plane);
                }
            }
            out.resize(up_to(out.size(), 16));
        }
    }
    if (c.bits.empty() && c.addends.empty()) return out;
    out.resize(up_to(out.size(), 16));
    put(out, 6, static_cast<u16>(out.size() / 16));
    std::map<std::size_t, bytes> values[2];
    for (const auto& [place, v] : c.bits) {
        const auto* const from = reinterpret_cast<const u8*>(&v);
        values[0][place] = bytes(from, from + sizeof(T));
    }
    for (const auto& [place, v] : c.addends) {
        const auto* const from = reinterpret_cast<const u8*>(v.second.data());
        values[v.first][place] = bytes(from, from + 24);
    }
    if (!values[0].empty()) write_section(out, n, values[0], values[1].empty() ? 0 : 4, how);
    if (!values[1].empty()) write_section(out, n, values[1], 2, how);
    return out;
}

// ---- frames ----

struct frame {
    u64 n = 0;
    double bound = 0;
    unsigned flags = 0;
    struct piece {
        bool raw;
        bytes data;
    };
    std::vector<piece> chunks;
};
template <class T>
bytes write_frame(const frame& f, bool mixed = false)
{
    const std::size_t chunks = f.chunks.size(), begin = 48 + up_to(8 * chunks, 16);
    bytes out(begin);
    put(out, 0, 0x4C4F4343u);
    put(out, 4, static_cast<u32>(6 | 3 << 8 | (sizeof(T) == 4 ? 0 : 1) << 16 | f.flags << 24));
    put(out, 8, f.n);
    put(out, 16, f.bound);
    put(out, 24, u32{8192});
    put(out, 28, static_cast<u32>(chunks));
    out[32] = 1;
    for (std::size_t k = 0; k < chunks; ++k) {
        const std::size_t i = mixed ? chunks - 1 - k : k;
        put(out, 48 + 8 * i, static_cast<u32>((out.size() - begin) / 16 | (f.chunks[i].raw ? 0x80000000u : 0)));
        put(out, 48 + 8 * i + 4, static_cast<u32>(f.chunks[i].data.size()));
        out.insert(out.end(), f.chunks[i].data.begin(), f.chunks[i].data.end());
        out.resize(up_to(out.size(), 16) + (mixed ? 32 : 0));
    }
    put(out, 36, static_cast<u32>((out.size() - begin) / 16));
    return out;
}
/// @throw std::runtime_error: no such frame
template <class T>
frame read_frame(const bytes& from)
{
    const reader in(from.data(), from.size());
    frame f;
    must(in.get<u32>(0) == 0x4C4F4343u && in.get<u8>(4) == 6 && in.get<u8>(5) == 3 && in.get<u8>(6) == (sizeof(T) == 4 ? 0 : 1),
         "a header");
    f.flags = in.get<u8>(7);
    f.n = in.get<u64>(8);
    f.bound = std::bit_cast<double>(in.get<u64>(16));
    const u64 chunks = in.get<u32>(28), begin = 48 + up_to(8 * chunks, 16), payload = 16 * u64{in.get<u32>(36)};
    must(in.get<u32>(24) == 8192 && chunks == (f.n + 8191) / 8192 && in.get<u32>(32) == 1 && in.get<u64>(40) == 0, "a header");
    must(begin + payload <= from.size() && f.bound > 0 && f.bound < 1e300, "a header");
    must(f.flags == 0 || f.flags == 1 || f.flags == 3, "flags");
    for (u64 i = 48 + 8 * chunks; i < begin; ++i) must(from[i] == 0, "the end of the index");
    for (u64 i = 0; i < chunks; ++i) {
        const u32 place = in.get<u32>(48 + 8 * i), length = in.get<u32>(48 + 8 * i + 4);
        const u64 at = 16 * u64{place & 0x7fffffffu};
        must(at <= payload && up_to(length, 16) <= payload - at, "an entry");
        const u8* const p = from.data() + begin + at;
        f.chunks.push_back({place >> 31 != 0, bytes(p, p + length)});
    }
    return f;
}

/// All values of a frame for movement.
template <class T>
std::vector<T> decode_movement(const bytes& from)
{
    const frame f = read_frame<T>(from);
    must(f.flags == 0, "flags");
    std::vector<T> x;
    for (std::size_t i = 0; i < f.chunks.size(); ++i) {
        const std::size_t n = std::min<std::size_t>(8192, f.n - 8192 * i);
        const bytes& data = f.chunks[i].data;
        if (f.chunks[i].raw) {
            must(data.size() == n * sizeof(T), "a raw chunk");
            x.resize(x.size() + n);
            std::memcpy(x.data() + x.size() - n, data.data(), data.size());
            continue;
        }
        const law<T> z(f.bound);
        must(z.usable, "the bound");
        const chunk c = read_chunk<T>(data.data(), data.size(), n, false);
        for (std::size_t k = 0; k < n; ++k) {
            constexpr word<T> sign = word<T>{1} << (8 * sizeof(T) - 1);
            if (c.bits.count(k) != 0) {
                x.push_back(number_of<T>(static_cast<word<T>>(c.bits.at(k))));
            } else if (c.scale == 2) {
                auto w = static_cast<word<T>>(c.q[k]);
                if ((w & sign) != 0) w ^= sign - 1;
                x.push_back(number_of<T>(w));
            } else {
                x.push_back(static_cast<T>(static_cast<double>(c.q[k]) * (c.scale == 1 ? c.step : z.step)));
            }
        }
    }
    return x;
}

/// What the places of an addend hold: a quantum or none, and a wide integer or none.
struct term {
    bool has_q = false, has_w = false;
    i64 q = 0;
    wide w{};
    friend bool operator==(const term& a, const term& b)
    {
        return a.has_q == b.has_q && a.has_w == b.has_w && (!a.has_q || a.q == b.q || is_state(a.w)) && (!a.has_w || a.w == b.w);
    }
};
inline term sum(const term& a, const term& b)
{
    term r{a.has_q || b.has_q, a.has_w || b.has_w, 0, {}};
    r.q = (a.has_q ? a.q : 0) + (b.has_q ? b.q : 0);
    const bool x = a.has_w && is_state(a.w), y = b.has_w && is_state(b.w);
    if (!x && !y) r.w = add(a.w, b.w);
    else if (x != y) r.w = x ? a.w : b.w;
    else if (a.w == b.w) r.w = a.w;
    else r.w = state(a.w[0] == 3 || b.w[0] == 3 ? 3 : 0);
    return r;
}
/// rint(x / step) by long division, bit by bit.
inline wide quotient(double x, double step)
{
    int ex = 0, es = 0;
    auto m = static_cast<u64>(std::ldexp(std::frexp(std::fabs(x), &ex), 53)), s = static_cast<u64>(std::ldexp(std::frexp(step, &es), 22));
    wide r{};
    u64 rest = 0;
    for (int k = 52 + (ex - 53) - (es - 22); k >= 0; --k) {  // the bits of x / 2^(es - 22)
        const int at = k - ((ex - 53) - (es - 22));
        rest = 2 * rest + (at >= 0 && at < 53 ? m >> at & 1 : 0);
        r = add(r, r);
        if (rest >= s) rest -= s, r = add(r, {1, 0, 0});
    }
    const bool lost = ((ex - 53) - (es - 22)) < 0 && (m & ((u64{1} << ((es - 22) - (ex - 53))) - 1)) != 0;
    if (2 * rest > s || (2 * rest == s && (lost || (r[0] & 1) != 0))) r = add(r, {1, 0, 0});
    return x < 0 ? negated(r) : r;
}
template <class T>
term term_of(const law<T>& z, T x)
{
    if (!z.far_in_addend(x)) return {true, false, z.quantum(x), {}};
    if (z.is_missing(x)) return {false, true, 0, state(3)};
    if (std::isnan(x)) return {false, true, 0, state(0)};
    if (std::isinf(x)) return {false, true, 0, state(x > 0 ? 1 : 2)};
    return {false, true, 0, quotient(static_cast<double>(x), z.step)};
}
template <class T>
std::vector<term> read_addend(const bytes& from)
{
    const frame f = read_frame<T>(from);
    must(f.flags == 1, "flags");
    std::vector<term> all;
    for (std::size_t i = 0; i < f.chunks.size(); ++i) {
        const std::size_t n = std::min<std::size_t>(8192, f.n - 8192 * i);
        must(!f.chunks[i].raw, "a raw addend");
        const chunk c = read_chunk<T>(f.chunks[i].data.data(), f.chunks[i].data.size(), n, true);
        for (std::size_t k = 0; k < n; ++k) {
            const auto e = c.addends.find(k);
            if (e == c.addends.end()) all.push_back({true, false, c.q[k], {}});
            else all.push_back({e->second.first, true, c.q[k], e->second.second});
        }
    }
    return all;
}
/// The value of a term: (q + W) step, rounded once, by the bits of the product.
template <class T>
T value_of(const law<T>& z, const term& t)
{
    if (!t.has_w) return static_cast<T>(static_cast<double>(t.q) * z.step);
    if (is_state(t.w)) {
        if (t.w[0] == 3 && z.missing) return number_of<T>(*z.missing);
        if (t.w[0] == 0 || t.w[0] == 3) return std::numeric_limits<T>::quiet_NaN();
        return t.w[0] == 1 ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
    }
    wide s = t.has_q ? add(t.w, widened(t.q)) : t.w;
    const bool negative = s[2] >> 63 != 0;
    if (negative) s = negated(s);
    int es = 0;
    const auto m = static_cast<u64>(std::ldexp(std::frexp(z.step, &es), 22));
    std::vector<int> product(256);
    for (int i = 0; i < 192; ++i)
        for (int k = 0; k < 22; ++k) product[i + k] += static_cast<int>((s[i / 64] >> i % 64 & 1) & (m >> k & 1));
    for (int i = 0; i < 255; ++i) product[i + 1] += product[i] / 2, product[i] %= 2;
    int top = 255;
    while (top > 0 && product[top] == 0) --top;
    constexpr int digits = std::numeric_limits<T>::digits;
    const int cut = std::max(0, top + 1 - digits);
    double r = 0;
    for (int i = top; i >= cut; --i) r = 2 * r + product[i];
    const bool half = cut > 0 && product[cut - 1] != 0,
               more = std::any_of(product.begin(), product.begin() + std::max(0, cut - 1), [](int b) { return b != 0; });
    if (half && (more || product[cut] != 0)) r += 1;
    r = std::ldexp(r, cut + es - 22);
    return static_cast<T>(negative ? -r : r);
}

}  // namespace szp6_reference
