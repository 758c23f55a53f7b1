// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// damaged_frames.hpp - the rules that every reader of frames must check ("What a reader must check" in
// docs/wire_format.md), as one table: for each rule a frame that breaks it, and beside it one that comes
// close and is right. Every reader gets them, and all agree (codec/damaged.cpp, cuda/damaged.cpp,
// wire/reader.py). Nothing here asks a reader of the library what is right.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ccoll/codec.hpp>

#include "codec/frame_edit.hpp"
#include "support/szp_reference.hpp"

namespace damaged_frames {

namespace reference = szp_reference;
using namespace ccoll::policies;
using frame_edit::bytes;
using reference::u16, reference::u32, reference::u64, reference::u8;

/// A frame, and what a reader that expects n elements must say.
struct row {
    std::string name;
    std::size_t n = 0;
    bytes frame;
    bool good = false;  ///< it has to be decoded
};

/// As golden frames: the same everywhere.
template <class T>
std::vector<T> wave(std::size_t n)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(static_cast<float>(i * i % 37) / 16.0f);
    return x;
}

class table {
public:
    std::vector<row> rows;

    void add(bool good, std::string name, std::size_t n, bytes frame)
    {
        rows.push_back({std::move(name), n, std::move(frame), good});
    }
    /// `frame` with another field.
    template <class V>
    void with(bool good, std::string name, std::size_t n, bytes frame, std::size_t at, V v)
    {
        std::memcpy(frame.data() + at, &v, sizeof v);
        add(good, std::move(name), n, std::move(frame));
    }
};

/// Rules 1 to 6, which all frames have in common.
/// @param frame  of one chunk, not raw, with n elements
/// @param raw  the same, raw
inline void add_headers(table& t, const bytes& frame, const bytes& raw, std::size_t n)
{
    const auto set = [&](bool good, const char* name, std::size_t at, auto v) {
        t.with(good, std::string("header: ") + name, n, frame, at, v);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = HUGE_VAL;
    const double bound = ccoll::load<double>(frame, 16);
    t.add(true, "header: as it was", n, frame);
    for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{5}, std::size_t{47},
                                   std::size_t{48}, std::size_t{63}, frame.size() - 1})
        t.add(false,
              "header: a frame that is cut at " + std::to_string(size == frame.size() - 1 ? 999 : size), n,
              {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size)});
    for (std::size_t i = 0; i < 4; ++i) set(false, "magic", i, u8{0x20});
    set(false, "another version", 4, u8{8});
    set(false, "another codec", 5, static_cast<u8>(ccoll::load<u8>(frame, 5) ^ 0x80));
    set(false, "another dtype", 6, static_cast<u8>(ccoll::load<u8>(frame, 6) ^ 1));
    for (const u8 flags : {u8{2}, u8{4}, u8{7}, u8{0x80}}) set(false, "flags", 7, flags);
    set(false, "another count", 8, u64{n + 1});
    set(false, "a count of 2^64 - 1", 8, ~u64{0});
    for (const double b : {0.0, -0.0, -1.0, nan, infinity, -infinity, 1e300, 1e308})
        if (!(bound == 0 && b == 0)) set(false, "a bound that is none", 16, b);
    set(false, "chunk_elements of 0", 24, u32{0});
    set(false, "other chunk_elements", 24, u32{ccoll::load<u32>(frame, 24) - 32});
    set(false, "no chunk", 28, u32{0});
    set(false, "two chunks", 28, u32{2});
    for (const u8 quality : {u8{0}, u8{1}, u8{2}, u8{3}})
        if (quality != ccoll::load<u8>(frame, 32)) set(false, "another quality", 32, quality);
    set(false, "an inner codec", 33, static_cast<u8>(ccoll::load<u8>(frame, 33) ^ 7));
    set(false, "reserved", 34, u16{1});
    set(false, "reserved, the upper byte", 34, u16{0x100});
    const u32 units = ccoll::load<u32>(frame, 36);
    set(false, "a payload that is longer than the frame", 36, units + 1);
    set(false, "a payload that ends before its chunk", 36, units - 1);
    set(false, "a trailer", 40, u32{16});
    set(false, "reserved, the second", 44, u32{1});
    set(false, "a place behind the payload", 48, units);
    set(false, "a place far behind the payload", 48, u32{0x7fffffff});
    set(false, "a chunk that ends behind the payload", 48, u32{1});
    set(false, "a chunk that is longer than the payload", 52, 16 * units + 1);
    set(false, "a chunk of 2^32 - 1 bytes", 52, ~u32{0});
    set(false, "a chunk without bytes", 52, u32{0});
    set(false, "a raw chunk that is too short", 48, ccoll::raw_chunk);
    for (std::size_t i = 56; i < 64; ++i) set(false, "bytes behind the index", i, u8{1});

    bytes longer = frame;
    longer.insert(longer.end(), 19, std::byte{0x77});
    t.add(true, "header: bytes behind the payload", n, longer);
    // One unit of anything in front of the chunk.
    bytes moved = frame;
    moved.insert(moved.begin() + frame_edit::start_of_one, 16, std::byte{0x77});
    ccoll::put_payload(moved, moved.size() - frame_edit::start_of_one);
    ccoll::put_entry(moved, 0, 16, frame_edit::bytes_of(frame, 0), false);
    t.add(true, "a gap in the payload", n, moved);
    if (raw.empty()) return;
    t.add(true, "a raw chunk", n, raw);
    for (const int more : {-4, 4}) {
        bytes other = frame_edit::without_fill(raw);
        other.resize(other.size() + static_cast<std::size_t>(8 + more) - 8);
        frame_edit::end_at(other);
        t.add(false, "a raw chunk with another length", n, other);
    }
    for (const bytes* each : {&frame, &raw}) {
        const std::size_t end = frame_edit::begin_of(*each, 0) + frame_edit::bytes_of(*each, 0);
        for (const std::size_t at : {end, each->size() - 1})
            if (at < each->size() && at >= end)
                t.with(false, "bytes behind a chunk up to the next multiple of 16", n, *each, at, u8{1});
    }
}

// ---- SZp ----

/// Chunks of SZp, made by hand.
template <class T>
struct szp_table : table {
    using chunk = reference::bytes;
    using forms = reference::forms;

    static constexpr std::size_t n = 70;  ///< three blocks, the last one short
    static constexpr double bound = 1e-3;

    static bytes frame_of(std::vector<reference::frame::piece> chunks, unsigned flags, std::size_t count = n,
                          double eb = bound, bool mixed = false)
    {
        const reference::bytes f = reference::write_frame<T>({count, eb, flags, std::move(chunks)}, mixed);
        const auto* const from = reinterpret_cast<const std::byte*>(f.data());
        return {from, from + f.size()};
    }
    /// @param flags  0: for movement; 1: an addend
    void put(bool good, const std::string& name, const chunk& c, unsigned flags, std::size_t count = n,
             double eb = bound)
    {
        add(good, (flags == 0 ? "szp: " : "szp addend: ") + name, count,
            frame_of({{false, c}}, flags, count, eb));
    }
    /// `c` with another field.
    template <class V>
    void edit(bool good, const std::string& name, chunk c, unsigned flags, std::size_t at, V v,
              std::size_t count = n)
    {
        reference::must(at + sizeof v <= c.size(), "a field of the chunk");
        reference::put(c, at, v);
        put(good, name, c, flags, count);
    }
    static reference::chunk quanta(std::size_t count = n)
    {
        reference::chunk c;
        for (std::size_t i = 0; i < count; ++i)
            c.q.push_back((i < 32 ? 1 : i < 64 ? 3 : 9) * (static_cast<reference::i64>(i * 37 % 11) - 5));
        return c;
    }
    static chunk written(const forms& how, const reference::chunk& c = quanta())
    {
        return reference::write_chunk<T>(c, how);
    }
    static chunk longer(chunk c, std::size_t size, u8 by = 0x77)
    {
        c.resize(size, by);
        return c;
    }
    static chunk shorter(chunk c, std::size_t by = 1)
    {
        c.resize(c.size() - by);
        return c;
    }
    /// A chunk of n values without what fills it up behind the planes and lists of its group.
    static chunk exact(chunk c)
    {
        std::size_t end = 16u * static_cast<unsigned>(c[32] | c[33] << 8);
        for (std::size_t b = 0; b < 3; ++b) {
            const u8 code = c[16 + b / 2] >> 4 * (b % 2) & 15;
            end += c[35] == 0 ? 4u * (c[34] + code) : code > 7 ? 4u * (code - 7u) : code;
        }
        reference::must(end <= c.size() && end % 16 != 0, "a chunk with a fill");
        c.resize(end);
        return c;
    }
    static std::size_t section_of(const chunk& c) { return 16u * static_cast<unsigned>(c[6] | c[7] << 8); }

    void add_heads(unsigned flags)
    {
        const chunk c = exact(written({}));
        put(true, "as it was", c, flags);
        edit(false, "a scale of 2", c, flags, 0, u8{2});
        edit(false, "a form of 8", c, flags, 1, u8{9});
        edit(false, "a form of 128", c, flags, 1, u8{0x81});
        struct {
            u16 row, plane;
            bool good;
        } const distances[] = {{8, 0, false},        {15, 0, false},  {16, 0, true},   {0, 16, false},
                               {16, 8, false},       {16, 15, false}, {16, 16, true},  {69, 0, true},
                               {70, 0, false},       {40, 29, true},  {40, 30, false}, {65535, 0, false},
                               {65535, 65535, false}};
        for (const auto& [row, plane, good] : distances) {
            chunk other = c;
            reference::put(other, 2, row);
            reference::put(other, 4, plane);
            put(good, "distances " + std::to_string(row) + " and " + std::to_string(plane), other, flags);
        }
        const std::size_t end = reference::up_to(c.size(), 16);
        edit(false, "a section that begins at the end", longer(c, end, 0), flags, 6,
             static_cast<u16>(end / 16));
        edit(false, "a section behind the end", c, flags, 6, u16{0xffff});
        for (const std::size_t size : {1u, 15u, 16u, 23u, 40u, 47u})
            put(false, "the first " + std::to_string(size) + " bytes", longer(c, size), flags);
        put(true, "a gap at the end", longer(c, c.size() + 20), flags);
        const std::size_t most = flags == 0 ? n * sizeof(T) - 1 : most_addend_bytes;
        put(true, "as long as a chunk may be", longer(c, most), flags);
        put(false, "a byte longer than a chunk may be", longer(c, most + 1), flags);
        put(false, "more than a unit longer than a chunk may be", longer(c, most + 17), flags);
        const double least = 4 * static_cast<double>(std::numeric_limits<T>::min());
        for (const chunk& each : {c, written({.flat = true})}) {
            put(true, "the smallest bound", each, flags, n, least);
            put(false, "a bound below the smallest", each, flags, n, std::nextafter(least, 0.0));
            put(false, "a bound that is no normal number", each, flags, n,
                static_cast<double>(std::numeric_limits<T>::denorm_min()));
            put(true, "the largest bound", each, flags, n, std::nextafter(1e300, 0.0));
        }
    }
    void add_groups(unsigned flags)
    {
        const chunk c = exact(written({})), wide = written({.is_wide = true});
        edit(false, "planes behind the end", c, flags, 32, u16{0xffff});
        edit(true, "planes in the head", c, flags, 32, u16{0});
        put(false, "planes that end a byte too late", shorter(c), flags);
        edit(false, "a group of the form 2", c, flags, 35, u8{2});
        edit(false, "a group of the form 128", c, flags, 35, u8{0x80});
        edit(false, "lists above a lowest width", c, flags, 35, u8{1});
        edit(true, "codes of blocks that do not exist", c, flags, 18, ~u64{0});
        edit(true, "the code of the first block that does not exist", c, flags, 17,
             static_cast<u8>(c[17] | 0xf0));
        edit(true, "a wide chunk", wide, flags, 8, u64{15});
        edit(true, "a wide chunk with other bases of 32 bits", wide, flags, 36, ~u32{0});
        edit(false, "a wide chunk with lists", wide, flags, 35, u8{1});
        edit(false, "a wide chunk with 65 planes", wide, flags, 34, u8{65});
        put(true, "quanta that are not predicted", written({.left = false}), flags);
        reference::chunk equal = quanta();
        for (auto& q : equal.q) q = 4;
        edit(true, "no planes, and a place that means nothing", written({}, equal), flags, 32, u16{0xffff});
        edit(flags == 0, "lists without entries", written({}, equal), flags, 35, u8{1});

        const chunk flat = written({.flat = true}, equal);
        put(true, "a flat chunk", flat, flags);
        put(false, "a flat chunk that is cut", shorter(flat), flags);
        for (const u8 form : {u8{4}, u8{5}, u8{6}, u8{7}})
            for (const u64 base : {(u64{1} << 35) + 5, u64{0} - (u64{1} << 35)}) {
                chunk other = flat;
                other[1] = form;
                reference::put(other, 8, u64{1} << 36);
                edit(true, "a flat chunk of the form " + std::to_string(form) + " with a base of 36 bits",
                     other, flags, 16, base);
            }
        edit(false, "a flat chunk with a distance of 8", flat, flags, 2, u16{8});
        edit(true, "a flat chunk with a distance of 16", flat, flags, 2, u16{16});

        const reference::chunk more = quanta(1100);
        for (const forms& how :
             {forms{.mixed = true}, forms{.row = 20, .plane = 200}, forms{.left = false, .row = 20}})
            put(true, "two groups", written(how, more), flags, 1100);
        edit(false, "planes of the second group behind the end", written({}, more), flags, 56, u16{0xffff},
             1100);
        edit(true, "a later base of quanta that are not predicted", written({.left = false}, more), flags, 60,
             u32{12345}, 1100);
        reference::chunk steep = more;
        steep.q[5] = 1 << 30;
        chunk most = written({}, steep);
        put(true, "32 planes", most, flags, 1100);
        most.resize(most.size() + 200);
        edit(false, "33 planes in one block", most, flags, 50, static_cast<u8>(most[50] + 1), 1100);
        edit(false, "255 planes", most, flags, 50, u8{255}, 1100);
    }
    void add_lists()
    {
        reference::chunk rare = quanta();
        for (std::size_t i = 0; i < n; ++i) rare.q[i] = i < 32 ? (i == 7 || i > 20) : i < 64 ? rare.q[i] : 3;
        const chunk c = exact(written({.lists = true}, rare));
        put(true, "lists", c, 0);
        put(false, "lists", c, 1);
        put(false, "a list that ends a byte too late", shorter(c), 0);
        edit(false, "lists and a lowest width", c, 0, 34, u8{1});
        edit(true, "a list that names a place twice", c, 0, c.size() - 1,
             static_cast<u8>(0x40 | (c[c.size() - 2] & 31)));
    }
    static chunk with_step(chunk c, double step)
    {
        c[0] = 1;
        reference::put(c, 8, step);
        return c;
    }
    void add_steps()
    {
        using limits = std::numeric_limits<T>;
        for (const forms& how : {forms{}, forms{.is_wide = true}, forms{.flat = true}}) {
            const auto step = [&](bool good, const char* name, double s) {
                put(good, std::string("a step of its own: ") + name, with_step(written(how), s), 0);
            };
            step(true, "1.5", 1.5);
            step(true, "the smallest one", static_cast<double>(limits::min()));
            step(true, "the largest one", static_cast<double>(limits::max()));
            step(false, "0", 0);
            step(false, "-1", -1);
            step(false, "not normal", static_cast<double>(limits::min() / 2));
            step(false, "infinite", HUGE_VAL);
            step(false, "NaN", std::nan(""));
            step(sizeof(T) == 8, "a number of f64", 1 + 0x1p-40);
            step(sizeof(T) == 8, "beyond f32", 1e39);
        }
        put(false, "a step of its own", with_step(written({}), 1.5), 1);
        for (const bool own : {true, false})
            for (const forms& how : {forms{}, forms{.is_wide = true}, forms{.flat = true},
                                     forms{.left = false}, forms{.row = 20}}) {
                reference::chunk large;
                for (std::size_t i = 0; i < n; ++i)
                    large.q.push_back((1 << 24) + 1 + (how.flat ? 0 : 6 * (static_cast<int>(i) - 20)));
                const chunk c = written(how, large);
                if (c.size() >= n * sizeof(T)) continue;
                put(true, own ? "quanta above 2^24 on a step of its own" : "quanta above 2^24",
                    own ? with_step(c, 1.5) : c, 0);
            }
    }
    /// What the sections of both kinds of frames have in common.
    /// @param whole  has masks of blocks 0 and 1, all of block 2, and runs
    /// @param masks  the same with a mask of block 2
    void add_section_rules(const chunk& whole, const chunk& masks, unsigned flags, std::size_t value_bytes)
    {
        const std::size_t s = section_of(whole), size = whole.size() - s, entries = whole[s] + 1u;
        const auto runs = static_cast<std::size_t>(whole[s + 2] | whole[s + 3] << 8),
                   values = reference::up_to(20 + 2 * runs, 8);
        const auto set = [&](bool good, const char* name, const chunk& c, std::size_t at, auto v) {
            edit(good, std::string("a section: ") + name, c, flags, s + at, v);
        };
        put(true, "a section", whole, flags);
        put(true, "a section with masks alone", masks, flags);
        set(false, "the form 4", whole, 1, u8{4});
        set(false, "the form 128", whole, 1, u8{0x80});
        set(false, "a mask of a block that does not exist", whole, 4, u32{11});
        set(false, "a whole block that does not exist", whole, 8, u32{12});
        set(false, "a whole block far behind the last one", whole, 8, u32{0x80000004});
        set(false, "a whole block that has a mask", whole, 8, u32{6});
        set(false, "no place", whole, 4, u64{0});
        set(false, "an empty mask", whole, 12, u32{0});
        set(false, "a place more than runs have", whole, 12, u32{0x18});
        set(false, "a mask that goes beyond its block", masks, 20, u32{0x7f});
        set(false, "a run of an entry that does not exist", whole, 20, static_cast<u8>(entries));
        set(false, "the last run, of an entry that does not exist", whole, 18 + 2 * runs, u8{255});
        set(false, "a run that is too long", whole, 21, static_cast<u8>(whole[s + 21] + 1));
        set(false, "the last run, too long", whole, 19 + 2 * runs, u8{255});
        set(false, "a run too few", whole, 2, static_cast<u16>(runs - 1));
        set(false, "runs behind the end", whole, 2, u16{0xffff});
        set(false, "entries behind the end", whole, 0, u8{255});
        for (const std::size_t by : {std::size_t{1}, std::size_t{9}, std::size_t{17}, size - 13, size - 3})
            put(false, "a section that is cut", shorter(whole, by), flags);
        put(true, "a section, and bytes behind it", longer(whole, whole.size() + 9), flags);
        if (values > 20 + 2 * runs) set(true, "bytes that fill up its runs", whole, values - 1, u8{1});
        if (values + value_bytes * entries < size)
            set(true, "bytes that fill up its values", whole, size - 1, u8{1});
    }
    void add_sections()
    {
        const auto bits = [](double x) { return u64{reference::bits_of(static_cast<T>(x))}; };
        reference::chunk c = quanta();
        c.bits = {{3, bits(1e30)}, {40, bits(HUGE_VAL)}, {41, bits(1e30)}};
        for (std::size_t i = 64; i < n; ++i) c.bits[i] = bits(2e30);
        const chunk whole = written({}, c);
        const std::size_t s = section_of(whole);
        add_section_rules(whole, written({.masks = true}, c), 0, sizeof(T));
        edit(false, "a section with counts", whole, 0, s + 1, u8{1});
        chunk two = whole;
        two.insert(two.end(), whole.begin() + static_cast<std::ptrdiff_t>(s), whole.end());
        for (const u8 second : {u8{0}, u8{1}}) {
            chunk other = two;
            other[s + 1] = 2;
            other[whole.size() + 1] = second;
            put(false, "two sections", other, 0);
        }
        edit(false, "a section that says that another one follows", whole, 0, s + 1, u8{2});
        reference::chunk flat = quanta();
        flat.bits = {{3, bits(1e30)}};
        put(true, "a flat chunk with a section", written({.flat = true}, flat), 0);
    }
    void add_addend_sections()
    {
        const reference::wide some{7, 0, 0}, most{~u64{0}, ~u64{0}, (u64{1} << 62) - 1};
        reference::chunk c = quanta();
        c.addends = {{3, {false, some}}, {40, {false, reference::state(0)}}, {41, {false, some}}};
        for (std::size_t i = 64; i < n; ++i) c.addends[i] = {false, most};
        add_section_rules(written({}, c), written({.masks = true}, c), 1, 24);
        // A wide integer that a place has, and one that no place has.
        const auto entry = [&](bool good, const std::string& name, const reference::wide& w) {
            reference::chunk one = quanta();
            one.addends = {{3, {false, w}}};
            chunk used = written({}, one), unused = used;
            put(good, "a wide integer: " + name, used, 1);
            const std::size_t s = section_of(unused);
            unused[s] = 1;
            unused.resize(s + 16);
            for (const u64 limb : {u64{1}, u64{0}, u64{0}, w[0], w[1], w[2]})
                reference::put(unused, unused.size(), limb);
            put(good, "a wide integer of no place: " + name, unused, 1);
            one.addends = {{3, {true, w}}};
            put(good, "a wide integer with counts: " + name, written({}, one), 1);
        };
        for (u64 state = 0; state < 4; ++state)
            entry(true, "state " + std::to_string(state), reference::state(state));
        entry(true, "0", {});
        entry(true, "2^190 - 1", most);
        entry(true, "1 - 2^190", reference::negated(most));
        entry(false, "2^190", {0, 0, u64{1} << 62});
        entry(false, "-2^190", reference::negated({0, 0, u64{1} << 62}));
        entry(false, "2^191 - 1", {~u64{0}, ~u64{0}, ~u64{0} >> 1});
        entry(false, "1 - 2^191", {1, 0, u64{1} << 63 | 1});
        entry(false, "state 4", reference::state(4));
        entry(false, "state 2^63", reference::state(u64{1} << 63));
        entry(false, "a state with a middle limb", {0, 1, u64{1} << 63});

        for (const bool counts_first : {false, true}) {
            reference::chunk both = quanta();
            both.addends = {{3, {false, some}}, {40, {true, some}}};
            chunk of_both = written({}, both);
            const std::size_t s = section_of(of_both), half = (of_both.size() - s) / 2, second = s + half;
            if (counts_first) {
                const auto at = of_both.begin() + static_cast<std::ptrdiff_t>(s);
                std::rotate(at, at + static_cast<std::ptrdiff_t>(half), of_both.end());
                of_both[s + 1] = 3;
                of_both[second + 1] = 0;
            }
            put(true,
                counts_first ? "counts, and a section without them" : "a section without counts, and counts",
                of_both, 1);
            edit(false, "two sections of one kind", of_both, 1, second + 1,
                 static_cast<u8>(of_both[s + 1] & 1));
            edit(false, "three sections", of_both, 1, second + 1, static_cast<u8>(of_both[second + 1] | 2));
            put(false, "a second section that is cut", shorter(of_both), 1);
            put(false, "a second section that is missing", longer(of_both, second), 1);
            for (std::size_t k = 4; k < 16; ++k) of_both[second + k] = of_both[s + k];
            put(false, "a place in both sections", of_both, 1);
        }
    }
    void add_frames()
    {
        const reference::frame::piece flat{false, written({.flat = true})}, few{false, written({})},
            nothing{false, {}};
        const std::size_t two = 8192 + n;
        for (const unsigned flags : {0u, 1u}) add(true, "szp: no element", 0, frame_of({}, flags, 0));
        add(false, "szp: says too_large", n, frame_of({nothing}, 3));
        add(false, "szp: says too_large, with a payload", n, frame_of({few}, 3));
        add(false, "szp: a raw chunk of an addend", n,
            frame_of({{true, reference::bytes(n * sizeof(T), 0x3c)}}, 1));
        add(true, "szp: a raw chunk, and a bound below the smallest", n,
            frame_of({{true, reference::bytes(n * sizeof(T), 0x3c)}}, 0, n,
                     static_cast<double>(std::numeric_limits<T>::denorm_min())));
        for (const unsigned flags : {0u, 1u}) {
            const bytes both = frame_of({flat, few}, flags, two);
            add(true, "szp: two chunks", two, both);
            add(true, "szp: two chunks, the last one first", two,
                frame_of({flat, few}, flags, two, bound, true));
            with(false, "szp: the second chunk behind the payload", two, both, 56, u32{100});
            with(false, "szp: bytes behind the first chunk", two, both, 64 + 24, u8{1});
            bytes shared = frame_of({flat, flat}, flags, 2 * 8192);
            ccoll::put_entry(shared, 1, 0, flat.data.size(), false);
            add(true, "szp: two chunks in one place", 2 * 8192, shared);
        }
    }
    /// As the page says.
    static constexpr std::size_t most_addend_bytes = 16 + 48 + 256 * 3 + 2 * 32 + 144 + 24 * n + 32 + 128;

    static table all()
    {
        szp_table t;
        add_headers(t, frame_of({{false, exact(written({}))}}, 0),
                    frame_of({{true, reference::bytes(n * sizeof(T), 0x3c)}}, 0), n);
        for (const unsigned flags : {0u, 1u}) {
            t.add_heads(flags);
            t.add_groups(flags);
        }
        t.add_lists();
        t.add_steps();
        t.add_sections();
        t.add_addend_sections();
        t.add_frames();
        return t;
    }
};

// ---- other codecs: chunks of the encoder, changed ----

template <class C, class T>
bytes encoded(const std::vector<T>& x, double eb)
{
    bytes frame(ccoll::max_encoded_bytes<C, T>(x.size()));
    frame.resize(ccoll::encode<C>(x, frame, eb).bytes);
    return frame;
}
/// A frame of one chunk, with another chunk.
inline bytes with_chunk(bytes frame, const bytes& chunk)
{
    frame.resize(frame_edit::start_of_one);
    frame.insert(frame.end(), chunk.begin(), chunk.end());
    frame_edit::end_at(frame);
    return frame;
}
template <class T>
bytes raw_of(const bytes& frame, std::size_t n)
{
    bytes raw = frame;
    ccoll::put_entry(raw, 0, 0, 0, true);
    return with_chunk(raw, bytes(n * sizeof(T), std::byte{0x3c}));
}
/// Header and index of a frame of any codec.
template <class C, class T>
table headers(std::size_t n, double eb)
{
    table t;
    const bytes frame = encoded<C>(wave<T>(n), eb);
    add_headers(t, frame, raw_of<T>(frame, n), n);
    return t;
}

/// Rule 7.
template <class C, class T>
table szx()
{
    const std::size_t n = 300;  // three blocks, the last one short
    table t;
    const auto put = [&](bool good, const char* name, const bytes& frame) {
        t.add(good, std::string("szx: ") + name, n, frame);
    };
    const auto edit = [&](bool good, const char* name, bytes frame, std::size_t at, auto v) {
        std::memcpy(frame.data() + frame_edit::start_of_one + at, &v, sizeof v);
        put(good, name, frame);
    };
    const auto resized = [](bytes frame, std::ptrdiff_t by) {
        bytes chunk = frame_edit::chunk_of(frame);
        chunk.resize(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(chunk.size()) + by));
        return with_chunk(frame, chunk);
    };
    auto x = wave<T>(n);
    const bytes frame = encoded<C>(x, 0.01);
    const auto code = ccoll::load<u8>(frame, frame_edit::start_of_one);
    add_headers(t, frame, raw_of<T>(frame, n), n);
    for (const std::size_t block : {0u, 2u}) {
        edit(false, "a code above the bytes of an element", frame, block, static_cast<u8>(sizeof(T) + 1));
        edit(false, "a code of 255", frame, block, u8{255});
        edit(false, "a longer block", frame, block, static_cast<u8>(code + 1));
        edit(false, "a shorter block", frame, block, static_cast<u8>(code - 1));
    }
    for (const std::ptrdiff_t by : {-1, 1, 16}) put(false, "a chunk with another length", resized(frame, by));
    put(false, "a chunk without all codes", with_chunk(frame, bytes(2)));
    t.with(false, "szx: a bound that is 0 in T", n, frame, 16, 0x1p-1074 * (sizeof(T) == 4 ? 1 : 0));
    // The highest bits of the longest counts, which no encoder writes.
    const bytes longest = encoded<C>(x, sizeof(T) == 4 ? 1e-6 : 3e-15);
    if (ccoll::load<u8>(longest, frame_edit::start_of_one) == sizeof(T) - 1)
        for (std::size_t i = 0; i < 5; ++i) {
            const std::size_t at = 3 + sizeof(T) + (sizeof(T) - 1) * (i + 1) - 1;
            edit(true, "bits above a count", longest, at,
                 static_cast<u8>(ccoll::load<u8>(longest, frame_edit::start_of_one + at) ^
                                 (sizeof(T) == 4 ? 0x80 : 0x10 << i % 4)));
        }
    for (std::size_t i = 0; i < n; ++i)
        if (i < 9 || i % 100 > 90 || i >= 288) x[i] = i < 9 ? HUGE_VALF : static_cast<T>(1e30f);
    const bytes apart = encoded<C>(x, 0.01);
    const std::size_t place = 16 * ccoll::load<u16>(apart, frame_edit::start_of_one + 2),
                      size = frame_edit::bytes_of(apart, 0);
    put(true, "exceptional values", apart);
    edit(false, "another byte 1", apart, 1, u8{1});
    for (const u16 units :
         {u16{0}, static_cast<u16>(place / 16 - 1), static_cast<u16>(place / 16 + 1), u16{0xffff}})
        edit(false, "another place", apart, 2, units);
    edit(false, "a code of 255 behind the head", apart, 4, u8{255});
    bytes chunk = frame_edit::chunk_of(apart);
    chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(place), 16, std::byte{0});
    bytes gap = with_chunk(apart, chunk);
    edit(false, "a unit in front of the section", gap, 2, static_cast<u16>(place / 16 + 1));
    edit(true, "bytes in front of the section", apart, place - 1, u8{1});
    put(true, "bytes behind the section", resized(apart, 5));
    for (const std::ptrdiff_t by : {std::ptrdiff_t{-1}, std::ptrdiff_t{-17},
                                    static_cast<std::ptrdiff_t>(place) - static_cast<std::ptrdiff_t>(size)})
        put(false, "a section that is cut", resized(apart, by));
    for (const u8 form : {u8{1}, u8{2}, u8{3}, u8{4}, u8{128}})
        edit(false, "the form of a section", apart, place + 1, form);
    edit(false, "no place", apart, place + 4, u64{0});
    edit(false, "a mask of a block that does not exist", apart, place + 4,
         static_cast<u32>(ccoll::load<u32>(apart, frame_edit::start_of_one + place + 4) | 0x80000000u));
    edit(false, "an empty mask", apart, place + 12, u32{0});
    edit(false, "another number of places", apart, place + 12,
         static_cast<u32>(ccoll::load<u32>(apart, frame_edit::start_of_one + place + 12) ^ 0x8000u));
    edit(false, "entries behind the end", apart, place, u8{255});
    return t;
}

/// Rule 11, at a rate.
template <class T>
table zfp_at_rate()
{
    using C = Codec::ZfpAtRate;
    const std::size_t n = 70;
    table t;
    auto x = wave<T>(n);
    const bytes plain = encoded<C>(x, 5.25);
    add_headers(t, plain, raw_of<T>(plain, n), n);
    x[20] = HUGE_VALF;
    x[41] = -HUGE_VALF;
    const bytes frame = encoded<C>(x, 5.25);
    const bytes chunk = frame_edit::chunk_of(frame);
    const std::size_t places = chunk.size() - 2 - 2 * (2 + sizeof(T)), count = chunk.size() - 2,
                      begin = frame_edit::start_of_one;
    const auto put = [&](bool good, const char* name, const bytes& c) {
        t.add(good, std::string("zfp: ") + name, n, with_chunk(frame, c));
    };
    const auto edit = [&](bool good, const char* name, std::size_t at, auto v) {
        t.with(good, std::string("zfp: ") + name, n, frame, begin + at, v);
    };
    put(true, "exceptions", chunk);
    for (const u16 k : {u16{0}, u16{1}, u16{3}, u16{0xffff}})
        edit(false, "another number of exceptions", count, k);
    edit(false, "places that do not ascend", places, u16{41});
    edit(false, "places in descending order", places, u16{60});
    edit(false, "a place behind the values", places + 2, u16{70});
    edit(true, "the last place", places + 2, u16{69});
    edit(false, "bits behind the stream", places - 1,
         static_cast<u8>(ccoll::load<u8>(frame, begin + places - 1) | 0x80));
    for (const std::ptrdiff_t by : {-1, 1}) {
        bytes other = chunk;
        if (by < 0) other.erase(other.begin());
        else other.insert(other.begin(), std::byte{0});
        put(false, "a stream with another length", other);
    }
    put(false, "two bytes", bytes(2));
    return t;
}

/// Rule 13.
inline table two_bytes()
{
    using C = Codec::SZx;
    const std::size_t n = 300;
    table t;
    std::vector<ccoll::half> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = ccoll::half(wave<float>(n)[i]);
    const bytes frame = encoded<C>(x, 0x1p-7);
    const std::size_t at = frame_edit::begin_of(frame, 0) + frame_edit::bytes_of(frame, 0) - 1;
    add_headers(t, frame, raw_of<ccoll::half>(frame, n), n);
    for (const auto& [k, good] :
         {std::pair{-128, true}, {-8, true}, {-7, false}, {0, false}, {126, false}, {127, true}})
        t.with(good, "half: an exponent of " + std::to_string(k), n, frame, at, static_cast<std::int8_t>(k));
    t.add(false, "half: no exponent", n, with_chunk(frame, bytes()));
    // A NaN of f32 of whose payload nothing is left.
    x[5] = ccoll::half(std::numeric_limits<float>::quiet_NaN());
    const bytes apart = encoded<C>(x, 0x1p-7);
    const std::size_t section =
        frame_edit::start_of_one + 16u * ccoll::load<u16>(apart, frame_edit::start_of_one + 2);
    for (const u32 nan : {0x7fc00000u, 0x7f800001u, 0xff801fffu, 0xff802000u})
        t.with(true, "half: NaN", n, apart, section + 16, nan);
    return t;
}

}  // namespace damaged_frames
