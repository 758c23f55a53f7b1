// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chunks of SZp, read and written bit by bit: every form that the page has. @see szp_law.hpp
#pragma once

#include "szp_law.hpp"

namespace szp_reference {

// ---- chunks ----

/// Everything that a chunk says.
struct chunk {
    int scale = 0;  ///< 1: a step of its own
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

inline void read_sections(const reader& in, std::size_t at, std::size_t n, std::size_t value_bytes,
                          bool addend, chunk& c)
{
    const std::size_t blocks = (n + 31) / 32;
    bool seen[2] = {};
    for (bool more = true; more;) {
        const std::size_t entries = in.get<u8>(at) + 1u, runs = in.get<u16>(at + 2);
        const unsigned form = in.get<u8>(at + 1);
        const bool counts = (form & 1) != 0;
        more = (form & 2) != 0;
        must(form < 4 && !seen[counts] && !(counts && !addend), "form of a section");
        seen[counts] = true;
        const std::size_t set = 4 * ((blocks + 31) / 32);
        const auto is_in = [&](std::size_t begin, std::size_t b) {
            return (in.get<u8>(begin + b / 8) >> b % 8 & 1) != 0;
        };
        std::size_t masks = at + 4 + 2 * set;
        std::vector<std::size_t> places;
        for (std::size_t b = 0; b < blocks; ++b) {
            const std::size_t there = std::min<std::size_t>(32, n - 32 * b), before = places.size();
            const bool masked = is_in(at + 4, b), all = is_in(at + 4 + set, b);
            u32 mask = all ? ~0u : 0;
            if (masked) {
                must(!all, "a mask of a whole block");
                mask = in.get<u32>(masks);
                masks += 4;
                must((mask & ~0u >> (32 - there)) == mask, "a mask beyond the end");
            }
            for (std::size_t i = 0; i < there; ++i)
                if ((mask >> i & 1) != 0) places.push_back(32 * b + i);
            must(!masked || places.size() > before, "an empty block");
        }
        for (std::size_t b = blocks; b < 8 * set; ++b)
            must(!is_in(at + 4, b) && !is_in(at + 4 + set, b), "a block that does not exist");
        const std::size_t value_runs = masks;
        std::vector<std::size_t> number;
        for (std::size_t r = 0; r < runs; ++r) {
            must(in.get<u8>(value_runs + 2 * r) < entries, "the number of an entry");
            number.insert(number.end(), in.get<u8>(value_runs + 2 * r + 1) + 1u,
                          in.get<u8>(value_runs + 2 * r));
        }
        if (runs == 0) number.assign(places.size(), 0);
        must(number.size() == places.size() && !places.empty(), "the number of places");
        const std::size_t values = up_to(value_runs + 2 * runs - at, 8) + at,
                          end = up_to(values + value_bytes * entries - at, 16) + at;
        static_cast<void>(in.get<u8>(end - 1));
        const auto wide_at = [&](std::size_t from) {
            return wide{in.get<u64>(from), in.get<u64>(from + 8), in.get<u64>(from + 16)};
        };
        for (std::size_t e = 0; addend && e < entries; ++e)
            must(is_valid(wide_at(values + value_bytes * e)), "a wide integer");
        for (std::size_t k = 0; k < places.size(); ++k) {
            const std::size_t from = values + value_bytes * number[k];
            must(c.bits.count(places[k]) == 0 && c.addends.count(places[k]) == 0, "a place twice");
            if (addend) c.addends[places[k]] = {counts, wide_at(from)};
            else c.bits[places[k]] = value_bytes == 4 ? in.get<u32>(from) : in.get<u64>(from);
        }
        at = end;
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
    must(c.scale <= 1 && form < 8 && (row == 0 || row >= 16) && (plane == 0 || (plane >= 16 && row > 0)) &&
             row + plane < n,
         "a head");
    must(exceptions <= length && !(addend && c.scale != 0), "a head");
    if (c.scale == 1) {
        c.step = std::bit_cast<double>(in.get<u64>(8));
        must(c.step >= static_cast<double>(std::numeric_limits<T>::min()) &&
                 c.step <= static_cast<double>(std::numeric_limits<T>::max()) &&
                 static_cast<double>(static_cast<T>(c.step)) == c.step,
             "a step");
    }
    if (flat) {
        c.q.assign(n, in.get<i64>(16));
    } else {
        const std::size_t places = 16 + 16 * groups, bases = places + 8 * groups;
        must(length >= up_to(is_wide ? bases + 8 * groups : bases, 16), "the front of a chunk");
        std::vector<u64> r(up_to(n, 32));
        const u64 front =
            is_wide ? in.get<u64>(bases) : static_cast<u64>(i64{in.get<std::int32_t>(places + 4)});
        for (std::size_t g = 0; g < groups; ++g) {
            std::size_t at = 16u * in.get<u16>(places + 8 * g);
            const unsigned lowest = in.get<u8>(places + 8 * g + 2), most = is_wide ? 64 : 32;
            const unsigned group_form = in.get<u8>(places + 8 * g + 3);
            const bool lists = group_form == 1;
            must(group_form <= 1 && lowest <= most && !(lists && (addend || is_wide || lowest != 0)),
                 "a place");
            const auto code_of = [&](std::size_t b) {
                return in.get<u8>(16 + 16 * g + b % 32 / 2) >> 4 * (b % 2) & 15u;
            };
            std::size_t list = at;  // behind all planes
            for (std::size_t b = 32 * g; lists && b < std::min(32 * g + 32, r.size() / 32); ++b)
                list += code_of(b) > 7 ? 4 * (code_of(b) - 7) : 0;
            u64 sum = is_wide ? in.get<u64>(bases + 8 * g)
                              : static_cast<u64>(i64{in.get<std::int32_t>(places + 8 * g + 4)});
            if (g == 0 && row > 0) sum = 0;
            for (std::size_t b = 32 * g; b < std::min(32 * g + 32, r.size() / 32); ++b) {
                const unsigned code = code_of(b), w = !lists ? lowest + code : code > 7 ? code - 7 : 0;
                std::array<u64, 32> listed{};
                for (unsigned k = 0; lists && code <= 7 && k < code; ++k) {
                    const u8 entry = in.get<u8>(list++);
                    for (std::size_t i = 0; i < 32; ++i)
                        if (bit_of_value(i) == (entry & 31))
                            listed[i] |= static_cast<u64>(static_cast<i64>(u64{entry} << 56) >> 61);
                }
                must(w <= most, "a width");
                for (std::size_t i = 0; i < 32; ++i) {
                    u64 d = listed[i];
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
            c.q.push_back(is_wide ? static_cast<i64>(r[i])
                                  : static_cast<i64>(static_cast<std::int32_t>(static_cast<u32>(r[i]))));
    }
    if (exceptions > 0) read_sections(in, exceptions, n, addend ? 24 : sizeof(T), addend, c);
    return c;
}

/// How to write a chunk: all of it is free.
struct forms {
    bool left = true, is_wide = false, flat = false;
    std::size_t row = 0, plane = 0;
    unsigned more_planes = 0;  ///< than are needed
    bool lists = false;        ///< in groups where they fit
    bool mixed = false;        ///< groups in reverse order, gaps between them
    bool masks = false;        ///< also of blocks all of whose values are exceptional
    bool value_runs = false;   ///< also of one value alone
    u64 largest_above = 0;     ///< the bound of |q| is so much too high
};

template <class W>
void put(bytes& to, std::size_t at, W w)
{
    if (to.size() < at + sizeof w) to.resize(at + sizeof w);
    std::memcpy(to.data() + at, &w, sizeof w);
}

inline void write_section(bytes& out, std::size_t n, const std::map<std::size_t, bytes>& values,
                          unsigned form, const forms& how)
{
    const std::size_t at = out.size(), blocks = (n + 31) / 32;
    std::vector<bytes> entries;
    std::vector<std::pair<u8, u8>> runs;
    for (const auto& [place, v] : values) {
        auto e = std::find(entries.begin(), entries.end(), v);
        if (e == entries.end()) e = entries.insert(entries.end(), v);
        const auto number = static_cast<u8>(e - entries.begin());
        if (!runs.empty() && runs.back().first == number && runs.back().second < 255) ++runs.back().second;
        else runs.emplace_back(number, u8{0});
    }
    if (entries.size() == 1 && !how.value_runs) runs.clear();
    put(out, at, static_cast<u8>(entries.size() - 1));
    put(out, at + 1, static_cast<u8>(form));
    put(out, at + 2, static_cast<u16>(runs.size()));
    std::vector<u32> masks(blocks);
    for (const auto& each : values) masks[each.first / 32] |= 1u << each.first % 32;
    const std::size_t set = 4 * ((blocks + 31) / 32);
    bytes sets(2 * set), bits;
    for (std::size_t b = 0; b < blocks; ++b) {
        const u32 m = masks[b], whole = ~0u >> (32 - std::min<std::size_t>(32, n - 32 * b));
        const bool masked = m != 0 && (m != whole || how.masks);
        if (masked) put(bits, bits.size(), m);
        if (m != 0) sets[(masked ? 0 : set) + b / 8] |= static_cast<u8>(1u << b % 8);
    }
    for (const bytes* each : {&sets, &bits}) out.insert(out.end(), each->begin(), each->end());
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
    for (const i64 q : c.q)
        largest = std::max(largest, q < 0 ? u64{0} - static_cast<u64>(q) : static_cast<u64>(q));
    put(out, 0, static_cast<u8>(c.scale));
    put(out, 1, static_cast<u8>((how.left ? 1 : 0) | (how.is_wide ? 2 : 0) | (how.flat ? 4 : 0)));
    put(out, 2, static_cast<u16>(how.row));
    put(out, 4, static_cast<u16>(how.plane));
    put(out, 8, c.scale == 0 ? largest + how.largest_above : std::bit_cast<u64>(c.step));
    if (how.flat) {
        put(out, 16, c.q[0]);
    } else {
        const std::size_t places = 16 + 16 * groups, bases = places + 8 * groups;
        out.resize(up_to(how.is_wide ? bases + 8 * groups : bases, 16));
        std::vector<u64> q(c.q.begin(), c.q.end());
        q.resize(up_to(n, 32), q.back());
        std::vector<u64> r = q;
        for (std::size_t i = q.size(); i-- > 0;)
            r[i] -= how.row == 0 ? 0 : i >= how.row ? q[i - how.row] : q[0];
        std::vector<u64> d = r;
        for (std::size_t i = q.size(); i-- > 0;)
            d[i] -= how.plane == 0 || i < how.plane ? 0 : r[i - how.plane];
        r = d;
        for (std::size_t k = 0; k < groups; ++k) {
            const std::size_t g = how.mixed ? groups - 1 - k : k, first = 1024 * g,
                              end = std::min(first + 1024, r.size());
            // What the base stands for is free, but in front of the chunk.
            const u64 base = g == 0 ? q[0] : how.mixed ? r[first - 1] + 5 : r[first - 1];
            std::vector<unsigned> widths;
            for (std::size_t i = first; i < end; ++i) {
                const u64 before = i > first ? r[i - 1] : g == 0 && how.row > 0 ? 0 : base;
                d[i] = how.left ? r[i] - before : r[i];
                if (!how.is_wide)
                    d[i] = static_cast<u64>(i64{static_cast<std::int32_t>(static_cast<u32>(d[i]))});
                const auto s = static_cast<i64>(d[i]);
                const unsigned w =
                    s == 0 ? 0
                           : 65 - static_cast<unsigned>(std::countl_zero(static_cast<u64>(s < 0 ? ~s : s)));
                if (i % 32 == 0) widths.push_back(0);
                widths.back() = std::max(widths.back(), w);
            }
            const unsigned highest = *std::max_element(widths.begin(), widths.end()),
                           most = how.is_wide ? 64 : 32;
            unsigned lowest = *std::min_element(widths.begin(), widths.end());
            for (unsigned& w : widths)
                w = std::min(std::max(w + how.more_planes, highest > 15 ? highest - 15 : 0), most);
            lowest = *std::min_element(widths.begin(), widths.end());
            for (unsigned& w : widths) w = std::min(w, lowest + 15);
            if (how.mixed) out.resize(out.size() + 48);
            put(out, places + 8 * g, static_cast<u16>(out.size() / 16));
            out[places + 8 * g + 2] = static_cast<u8>(lowest);
            put(out, places + 8 * g + 4, static_cast<u32>(how.is_wide ? 0 : base));
            if (how.is_wide) put(out, bases + 8 * g, base);
            // Blocks of up to 7 differences in -4..3 as lists, if all others have 1 to 8 planes.
            std::vector<bytes> lists(widths.size());
            bool fit = how.lists;
            for (std::size_t b = 0; b < widths.size(); ++b) {
                for (std::size_t i = first + 32 * b; i < first + 32 * b + 32; ++i)
                    if (d[i] != 0)
                        lists[b].push_back(
                            static_cast<u8>(static_cast<u64>(bit_of_value(i % 32)) | (d[i] & 7) << 5));
                if (widths[b] > 3 || lists[b].size() > 7) lists[b].clear();
                fit = fit && widths[b] <= 8;
            }
            if (fit) {
                lowest = 0;
                put(out, places + 8 * g + 2, u16{256});
            }
            for (std::size_t b = 0; b < widths.size(); ++b) {
                if (fit && !lists[b].empty()) widths[b] = 0;
                const std::size_t code = !fit            ? widths[b] - lowest
                                         : widths[b] > 0 ? widths[b] + 7
                                                         : lists[b].size();
                out[16 + 16 * g + b / 2] = static_cast<u8>(out[16 + 16 * g + b / 2] | code << 4 * (b % 2));
                for (unsigned p = 0; p < widths[b]; ++p) {
                    u32 plane = 0;
                    for (std::size_t i = 0; i < 32; ++i)
                        plane |= static_cast<u32>(d[first + 32 * b + i] >> p & 1) << bit_of_value(i);
                    put(out, out.size(), plane);
                }
            }
            for (const bytes& each : lists)
                if (fit) out.insert(out.end(), each.begin(), each.end());
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
    if (!values[0].empty()) write_section(out, n, values[0], values[1].empty() ? 0 : 2, how);
    if (!values[1].empty()) write_section(out, n, values[1], 1, how);
    return out;
}

}  // namespace szp_reference
