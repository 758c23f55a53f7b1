// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frames of SZp, and the sums of addends. @see szp_law.hpp
#pragma once

#include "szp_chunks.hpp"

namespace szp_reference {

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
    put(out, 4, static_cast<u32>(9 | 3 << 8 | (sizeof(T) == 4 ? 0 : 1) << 16 | f.flags << 24));
    put(out, 8, f.n);
    put(out, 16, f.bound);
    put(out, 24, u32{8192});
    put(out, 28, static_cast<u32>(chunks));
    out[32] = 1;
    for (std::size_t k = 0; k < chunks; ++k) {
        const std::size_t i = mixed ? chunks - 1 - k : k;
        put(out, 48 + 8 * i,
            static_cast<u32>((out.size() - begin) / 16 | (f.chunks[i].raw ? 0x80000000u : 0)));
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
    must(in.get<u32>(0) == 0x4C4F4343u && in.get<u8>(4) == 9 && in.get<u8>(5) == 3 &&
             in.get<u8>(6) == (sizeof(T) == 4 ? 0 : 1),
         "a header");
    f.flags = in.get<u8>(7);
    f.n = in.get<u64>(8);
    f.bound = std::bit_cast<double>(in.get<u64>(16));
    const u64 chunks = in.get<u32>(28), begin = 48 + up_to(8 * chunks, 16),
              payload = 16 * u64{in.get<u32>(36)};
    must(in.get<u32>(24) == 8192 && chunks == (f.n + 8191) / 8192 && in.get<u32>(32) == 1 &&
             in.get<u64>(40) == 0,
         "a header");
    must(begin + payload <= from.size() && f.bound > 0 && f.bound < 1e300, "a header");
    must(f.flags == 0 || f.flags == 1 || (f.flags == 3 && payload == 0), "flags");
    must(f.flags != 1 || chunks == 0 || law<T>(f.bound).usable, "the bound");
    for (u64 i = 48 + 8 * chunks; i < begin; ++i) must(from[i] == 0, "the end of the index");
    for (u64 i = 0; i < chunks; ++i) {
        const u32 place = in.get<u32>(48 + 8 * i), length = in.get<u32>(48 + 8 * i + 4);
        const u64 at = 16 * u64{place & 0x7fffffffu};
        must(at <= payload && up_to(length, 16) <= payload - at, "an entry");
        const u8* const p = from.data() + begin + at;
        for (u64 k = length; k < up_to(length, 16); ++k) must(p[k] == 0, "the end of a chunk");
        const std::size_t n = std::min<u64>(8192, f.n - 8192 * i), g = (n + 1023) / 1024, b = (n + 31) / 32;
        const bool raw = place >> 31 != 0;
        if (f.flags == 0)
            must(raw ? length == n * sizeof(T) : length < n * sizeof(T), "the length of a chunk");
        else
            must(!raw && length <= 176 + 48 * g + 256 * b + 2 * up_to(12 + 8 * g + 4 * b, 16) +
                                       up_to(2 * n, 16) + 24 * std::min<std::size_t>(n, 512),
                 "the length of an addend");
        f.chunks.push_back({raw, bytes(p, p + length)});
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
        const chunk c = read_chunk<T>(data.data(), data.size(), n, false);
        must(z.usable || c.scale == 2, "the bound");
        for (std::size_t k = 0; k < n; ++k) {
            constexpr word<T> sign = word<T>{1} << (8 * sizeof(T) - 1);
            if (c.bits.count(k) != 0) {
                x.push_back(number_of<T>(static_cast<word<T>>(c.bits.at(k))));
            } else if (c.scale == 2) {
                auto w = static_cast<word<T>>(c.q[k]);
                if ((w & sign) != 0) w ^= sign - 1;
                x.push_back(number_of<T>(w));
            } else if (c.scale == 1) {
                x.push_back(static_cast<T>(c.q[k]) * static_cast<T>(c.step));
            } else {
                x.push_back(static_cast<T>(static_cast<double>(c.q[k]) * z.step));
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
        if (a.has_w != b.has_w || (a.has_w && a.w != b.w)) return false;
        if (a.has_w && is_state(a.w)) return true;  // quanta do not count
        return a.has_q == b.has_q && (!a.has_q || a.q == b.q);
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
    auto m = static_cast<u64>(std::ldexp(std::frexp(std::fabs(x), &ex), 53)),
         s = static_cast<u64>(std::ldexp(std::frexp(step, &es), 22));
    wide r{};
    u64 rest = 0;
    for (int k = 52 + (ex - 53) - (es - 22); k >= 0; --k) {  // the bits of x / 2^(es - 22)
        const int at = k - ((ex - 53) - (es - 22));
        rest = 2 * rest + (at >= 0 && at < 53 ? m >> at & 1 : 0);
        r = add(r, r);
        if (rest >= s) {
            rest -= s;
            r = add(r, {1, 0, 0});
        }
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
        if (t.w[0] == 3 && z.has_missing) return number_of<T>(z.missing_bits);
        if (t.w[0] == 0 || t.w[0] == 3) return std::numeric_limits<T>::quiet_NaN();
        return t.w[0] == 1 ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
    }
    wide s = t.has_q ? add(t.w, widened(t.q)) : t.w;
    const bool negative = s[2] >> 63 != 0;
    if (negative) s = negated(s);
    int es = 0;
    const auto m = static_cast<u64>(std::ldexp(std::frexp(z.step, &es), 22));
    std::array<unsigned, 256> product{};
    for (std::size_t i = 0; i < 192; ++i) {
        if ((s[i / 64] >> i % 64 & 1) == 0) continue;
        for (std::size_t k = 0; k < 22; ++k) product[i + k] += static_cast<unsigned>(m >> k & 1);
    }
    for (std::size_t i = 0; i < 255; ++i) {
        product[i + 1] += product[i] / 2;
        product[i] %= 2;
    }
    std::size_t top = 255;
    while (top > 0 && product[top] == 0) --top;
    constexpr std::size_t digits = std::numeric_limits<T>::digits;
    const std::size_t cut = top + 1 > digits ? top + 1 - digits : 0;
    double r = 0;
    for (std::size_t i = top + 1; i-- > cut;) r = 2 * r + product[i];
    bool more = false;
    for (std::size_t i = 0; i + 1 < cut; ++i) more = more || product[i] != 0;
    if (cut > 0 && product[cut - 1] != 0 && (more || product[cut] != 0)) r += 1;
    r = std::ldexp(r, static_cast<int>(cut) + es - 22);
    return static_cast<T>(negative ? -r : r);
}

}  // namespace szp_reference
