// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, links nothing, aarch64
// codec/szp/: the kernels of every instruction set, against plain loops that follow docs/wire_format.md bit
// by bit. Kernels are called through their tables, so that codec/szp_avx512.cpp can be made of this file as
// well.
#if defined(CCOLL_TEST_EMULATED_AVX512)
#define EVERY_SET "Every instruction set of SZp, with AVX-512 emulated,"
#else
#define EVERY_SET "Every instruction set of SZp"
#endif

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <ccoll/codec/szp/kernels.hpp>

namespace szp_isa_cases {

namespace {

using namespace ccoll::detail::szp;
using chunk_bytes = std::vector<u8>;

/// The sets whose kernels this program can call.
std::vector<ccoll::isa> sets()
{
    std::vector<ccoll::isa> all;
    for (const ccoll::isa i : ccoll::every_isa)
#if defined(CCOLL_TEST_EMULATED_AVX512)
        if (i != ccoll::isa::neon) all.push_back(i);
#else
        if (ccoll::machine_has(i)) all.push_back(i);
#endif
    return all;
}

using random = std::mt19937_64;
std::size_t below(random& r, std::size_t n) { return static_cast<std::size_t>(r() % n); }
u64 low_bits(u64 v, unsigned bits) { return bits == 0 ? 0 : bits == 64 ? v : v & ((u64{1} << bits) - 1); }
/// A number of so many bits, in two's complement; the least and the largest one more often than others.
i64 random_number(random& r, unsigned bits)
{
    if (bits == 0) return 0;
    const u64 any = r(), top = u64{1} << (bits - 1), kind = below(r, 16);
    const u64 v = kind == 0 ? top : kind == 1 ? top - 1 : kind == 2 ? ~u64{0} : any;
    return static_cast<i64>((low_bits(v, bits) ^ top) - top);
}
constexpr std::size_t bit_of(std::size_t value) { return 8 * (value % 4) + 4 * (value / 4 % 2) + value / 8; }

/// A chunk of blocks with random planes and these widths, or with random lists; groups stand in any order.
struct any_chunk {
    chunk_bytes bytes;
    chunk_head head;
    std::size_t n, size = 0;

    any_chunk(random& r, std::size_t length, bool left, distances above, const std::vector<unsigned>& widths,
              bool lists = false)
        : n(length)
    {
        head.left = left;
        head.above = above;
        head.largest = 1;
        bytes.resize(most_bytes(n, false) + 16 * chunk_groups + slack);
        for (u8& b : bytes) b = static_cast<u8>(r());
        head.write(bytes.data());
        const std::size_t groups = groups_of(n), first = below(r, groups);
        size = front_bytes(groups, false);
        for (std::size_t k = 0; k < groups; ++k) {
            const std::size_t g = (first + k) % groups, blocks = blocks_of(length_of(n, g));
            const bool listed = lists && below(r, 2) == 0;
            unsigned lowest = listed ? 0 : 32;
            for (std::size_t b = 0; b < blocks; ++b) lowest = std::min(lowest, widths[group_blocks * g + b]);
            u8 *const codes = bytes.data() + head_bytes + 16 * g, *const place = bytes.data() +
                                                                                 places_at(groups) + 8 * g;
            std::memset(codes, 0, 16);
            put(place, static_cast<u16>(size / unit));
            place[2] = static_cast<u8>(lowest);
            place[3] = listed;
            put(place + 4, static_cast<i32>(random_number(r, 1 + static_cast<unsigned>(below(r, 32)))));
            for (std::size_t b = 0; b < blocks; ++b) {
                const unsigned code = std::min(widths[group_blocks * g + b] - lowest, 15u),
                               width = code + lowest;
                codes[b / 2] = static_cast<u8>(codes[b / 2] | code << (b % 2 * 4));
                size += !listed ? 4 * width : code <= 7 ? code : 4 * (code - 7);
            }
            size = in_units(size);
        }
    }
    chunk_view view() const
    {
        chunk_view v;
        REQUIRE(read_chunk(ccoll::const_byte_span(reinterpret_cast<const std::byte*>(bytes.data()), size), 0,
                           n, false, v) == ccoll::status::ok);
        return v;
    }
};

/// The quanta of a chunk, by the page.
std::vector<i64> quanta_of(const u8* chunk, std::size_t n)
{
    const bool left = (chunk[1] & 1) != 0, wide = (chunk[1] & 2) != 0;
    const std::size_t row = get<u16>(chunk + 2), plane = get<u16>(chunk + 4), groups = (n + 1023) / 1024;
    const auto number = [&](u64 bits) {
        return wide ? bits : static_cast<u64>(static_cast<i64>(static_cast<i32>(bits)));
    };
    const auto base = [&](std::size_t g) {
        return wide ? get<u64>(chunk + 16 + 24 * groups + 8 * g)
                    : number(get<u32>(chunk + 20 + 16 * groups + 8 * g));
    };
    std::vector<u64> q, r;
    for (std::size_t g = 0; g < groups; ++g) {
        const u8* const place = chunk + 16 + 16 * groups + 8 * g;
        const std::size_t count = std::min<std::size_t>(1024, n - 1024 * g);
        const auto code = [&](std::size_t block) {
            return chunk[16 + 16 * g + block / 2] >> (block % 2 * 4) & 15u;
        };
        const bool listed = place[3] == 1;
        const auto planes_in = [&](std::size_t block) {
            return listed ? code(block) - std::min(code(block), 7u) : code(block) + place[2];
        };
        const u8 *planes = chunk + 16 * std::size_t{get<u16>(place)}, *list = planes;
        for (std::size_t block = 0; 32 * block < count; ++block) list += 4 * planes_in(block);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t block = i / 32, bit = bit_of(i % 32), k = q.size();
            const bool is_list = listed && code(block) <= 7;
            unsigned width = planes_in(block);
            u64 d = 0;
            for (unsigned p = 0; p < width; ++p) d |= u64{get<u32>(planes + 4 * p) >> bit & 1u} << p;
            if (i % 32 == 31) planes += 4 * width;
            if (is_list) {
                for (unsigned e = 0; e < code(block); ++e) d |= (list[e] & 31) == bit ? list[e] >> 5 : 0;
                if (i % 32 == 31) list += code(block);
                width = 3;
            }
            if (width > 0 && width < 64 && (d >> (width - 1)) != 0) d |= ~u64{0} << width;
            const u64 before = i > 0 ? r[k - 1] : g > 0 ? base(g) : row == 0 ? base(0) : 0;
            r.push_back(number(d + (left ? before : 0)));
            const auto quantum = [&](std::size_t distance) {
                return k < distance ? base(0) : q[k - distance];
            };
            u64 sum = r[k];
            if (plane != 0) sum += quantum(plane);
            if (row != 0) sum += quantum(row) - (plane != 0 ? quantum(row + plane) : 0);
            q.push_back(number(sum));
        }
    }
    return {q.begin(), q.end()};
}

std::vector<unsigned> random_widths(random& r, unsigned most)
{
    std::vector<unsigned> widths(chunk_elements / 32);
    const unsigned lowest = static_cast<unsigned>(below(r, most + 1)),
                   span = static_cast<unsigned>(below(r, 16));
    for (unsigned& w : widths)
        w = std::min<unsigned>(most, lowest + static_cast<unsigned>(below(r, span + 1)));
    return widths;
}
const std::size_t lengths[] = {1, 31, 32, 33, 100, 1023, 1024, 1025, 1056, 2000, 3 * 1024, 5000, 8191, 8192};

distances random_distances(random& r, std::size_t n)
{
    distances d{16 + below(r, 200), below(r, 2) * (16 + below(r, 500))};
    if (below(r, 2) == 0) d.row = 16 + below(r, 32);
    return d.are_valid(n) ? d : distances{};
}

u64 largest(const std::vector<i64>& q)
{
    u64 most = 0;
    for (const i64 one : q)
        most = std::max(most, one < 0 ? u64{0} - static_cast<u64>(one) : static_cast<u64>(one));
    return most;
}
/// The same bits?
template <class T>
bool equal(const T* a, const std::vector<T>& b)
{
    return std::memcmp(a, b.data(), b.size() * sizeof(T)) == 0;
}

/// Decodes with all sets, to many alignments, with and without streamed stores.
template <class T>
std::string decoding_fault(random& r, const any_chunk& chunk, const std::vector<i64>& q)
{
    const T step = T(0.1);
    std::vector<T> expected;
    for (const i64 one : q) expected.push_back(static_cast<T>(static_cast<i32>(one)) * step);
    const chunk_view view = chunk.view();
    const std::size_t before = 64 + below(r, 17);
    for (const ccoll::isa i : sets())
        for (const ccoll::stores how : {ccoll::stores::cached, ccoll::stores::streamed}) {
            std::vector<T> x(before + chunk.n + 64, T(-7));
            if (decoders<T>[i](view, step, x.data() + before, how) != ccoll::status::ok)
                return std::string(name_of(i)) + ": a status";
            if (!equal(x.data() + before, expected)) return std::string(name_of(i)) + ": values";
            for (std::size_t k = 0; k < x.size(); ++k)
                if ((k < before || k >= before + chunk.n) && x[k] != T(-7))
                    return std::string(name_of(i)) + ": values beside the chunk";
        }
    return {};
}

}  // namespace

TEST_CASE(EVERY_SET " reads planes of every width, from every predictor", "[codec][szp]")
{
    random r(1);
    for (int round = 0; round < 12; ++round)
        for (const std::size_t n : lengths)
            for (const bool left : {true, false}) {
                const distances above = left && round % 2 != 0 ? random_distances(r, n) : distances{};
                const any_chunk chunk(r, n, left, above, random_widths(r, round % 3 == 0 ? 8 : 32),
                                      round % 4 >= 2);
                const std::vector<i64> q = quanta_of(chunk.bytes.data(), n);
                for (const ccoll::isa i : sets()) {
                    chunk_quanta room;
                    REQUIRE(narrow_readers[i](chunk.view(), room) == ccoll::status::ok);
                    INFO(name_of(i) << ", " << n << " values, left " << left << ", row " << above.row
                                    << ", plane " << above.plane);
                    REQUIRE(std::equal(q.begin(), q.end(), room.first()));
                }
                REQUIRE(decoding_fault<float>(r, chunk, q) == "");
                REQUIRE(decoding_fault<double>(r, chunk, q) == "");
            }
}

TEST_CASE(EVERY_SET " adds blocks of any two widths", "[codec][szp]")
{
    random r(2);
    // 33 x 33 pairs of blocks, of which each group may use 16 widths; b walks through all 33 beside every a.
    for (unsigned first = 0; first < 33; first += 8)
        for (unsigned second = 0; second < 33; second += 8) {
            std::vector<unsigned> wa(256), wb(256);
            for (unsigned k = 0; k < 256; ++k) {
                wa[k] = std::min(32u, first + k / 16);
                wb[k] = std::min(32u, second + k % 16);
            }
            for (const std::size_t n : {std::size_t{8192}, std::size_t{8181}, std::size_t{1024 + 40}}) {
                const any_chunk a(r, n, true, {}, wa), b(r, n, true, {}, wb);
                const std::vector<i64> x = quanta_of(a.bytes.data(), n), y = quanta_of(b.bytes.data(), n);
                std::vector<i64> sum;
                for (std::size_t k = 0; k < n; ++k)
                    sum.push_back(static_cast<i32>(static_cast<u32>(x[k]) + static_cast<u32>(y[k])));
                std::size_t shortest = 0;
                for (const ccoll::isa i : sets()) {
                    chunk_bytes c(most_bytes(n, false) + slack);
                    a.head.write(c.data());
                    const packed all = adders[i](a.view(), b.view(), {}, false, c.data());
                    REQUIRE(all.end != nullptr);
                    INFO(name_of(i) << ", widths from " << first << " and " << second);
                    REQUIRE(quanta_of(c.data(), n) == sum);
                    const auto size = static_cast<std::size_t>(all.end - c.data());
                    shortest = i == ccoll::isa::portable ? size : shortest;
                    REQUIRE(size == shortest);
                }
            }
        }
}

namespace {

struct stored_quanta : quanta_source {
    std::span<const i64> all;

    explicit stored_quanta(const std::vector<i64>& q) : quanta_source{&copy}, all(q) {}
    static void copy(const quanta_source& from, std::size_t g, i64* to) noexcept
    {
        const auto& all = static_cast<const stored_quanta&>(from).all;
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(group_elements * g), length_of(all.size(), g),
                    to);
    }
};

}  // namespace

TEST_CASE(EVERY_SET " packs quanta of any length", "[codec][szp]")
{
    random r(3);
    for (int round = 0; round < 20; ++round)
        for (const std::size_t n : lengths) {
            const unsigned most = 1 + static_cast<unsigned>(below(r, round % 2 == 0 ? 31 : 63));
            std::vector<i64> q(n);
            unsigned bits = 0;
            for (std::size_t k = 0; k < n; ++k) {
                if (k % 32 == 0 || below(r, 400) == 0) bits = static_cast<unsigned>(below(r, most + 1));
                q[k] = random_number(r, bits) + (round % 5 == 0 ? 1000 : 0);
            }
            std::size_t shortest = 0;
            for (const ccoll::isa i : sets()) {
                std::vector<i64> room(chunk_elements + 32);
                const stored_quanta stored(q);
                chunk_bytes c(most_bytes(n, true) + slack);
                chunk_head head;
                const packed all =
                    packers[i](stored, n, largest(q) >= u64{1} << narrow_exponent, c.data(), nullptr);
                head.wide = all.wide;
                INFO(name_of(i) << ", " << n << " values of up to " << most << " bits, wide " << head.wide);
                head.largest = all.largest;
                head.write(c.data());
                REQUIRE(quanta_of(c.data(), n) == q);
                REQUIRE(largest(q) <= all.largest);
                const auto size = static_cast<std::size_t>(all.end - c.data());
                shortest = i == ccoll::isa::portable ? size : shortest;
                REQUIRE(size == shortest);
                chunk_view v;
                REQUIRE(read_chunk(ccoll::const_byte_span(reinterpret_cast<const std::byte*>(c.data()), size),
                                   0, n, false, v) == ccoll::status::ok);
                if (head.wide) {
                    chunk_planes planes;
                    REQUIRE(v.open(planes));
                    for (std::size_t g = 0; g < v.groups; ++g)
                        group_readers[i](planes.of[g], true, planes.of[g].base, false,
                                         room.data() + group_elements * g);
                    REQUIRE(equal(room.data(), q));
                } else {
                    chunk_quanta narrow;
                    REQUIRE(narrow_readers[i](v, narrow) == ccoll::status::ok);
                    REQUIRE(std::equal(q.begin(), q.end(), narrow.first()));
                }
            }
        }
}

namespace {

/// Values of about so many steps.
template <class T>
std::vector<T> walk(random& r, std::size_t n, double step, double reach, int kind)
{
    std::vector<T> x(n);
    double v = 0;
    for (std::size_t k = 0; k < n; ++k) {
        const double u = std::uniform_real_distribution<>(-1, 1)(r);
        v = kind == 0   ? reach * u
            : kind == 1 ? reach * std::sin(0.01 * static_cast<double>(k))
            : kind == 2 ? v + 3 * u
            : kind == 3 ? 3 * u
                        : std::trunc(1.04 * u);
        if (kind == 3 && below(r, 100) == 0) v = reach * u;
        if (kind == 4 && k % 4096 < 2100) v = reach / 2;
        x[k] = static_cast<T>(v * step);
    }
    return x;
}

template <class T>
void check_encoders(rounding usual, rounding unusual, bool own)
{
    random r(4);
    const grid<T> z = own ? grid<T>(0x1p-7, true) : law<T>(0.01).common;
    const double step = z.step;
    for (const std::size_t n : lengths)
        for (int kind = 0; kind < 5; ++kind)
            for (int round = 0; round < 6; ++round) {
                const int exponent = round < 3                                ? 2 + 4 * round
                                     : is_f32<T> && unusual == rounding::fast ? 13
                                                                              : 29;
                std::vector<T> x = walk<T>(r, n, step, std::ldexp(0.99, exponent), kind);
                if (round == 1)
                    std::fill(x.begin(),
                              x.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(n, 2100)), T(0));
                // A value without a quantum.
                bool fits = true;
                const auto limit =
                    std::bit_cast<T>(is_f32<T> && unusual == rounding::fast ? z.usual : z.narrow);
                const T none[] = {std::numeric_limits<T>::quiet_NaN(),
                                  std::numeric_limits<T>::infinity(),
                                  -limit,
                                  limit,
                                  T(-std::numeric_limits<T>::max()),
                                  4 * limit};
                if (round == 5) {
                    x[below(r, n)] = none[below(r, 6)];
                    if (below(r, 4) == 0) std::fill(x.begin(), x.end(), none[below(r, 6)]);
                    fits = false;
                }
                std::vector<i64> q;
                if (fits)
                    for (const T one : x) q.push_back(z.quantum(one));
                const distances above = round % 2 == 0 ? random_distances(r, n) : distances{};
                const bool lists = unusual != rounding::mixed;
                for (const ccoll::isa i : sets())
                    for (const bool left : {true, false}) {
                        chunk_bytes c(most_bytes(n, false) + slack);
                        chunk_head head;
                        head.left = left;
                        head.above = left ? above : distances{};
                        const packing as{head.above, left, lists, usual, unusual};
                        const packed all = encoders<T>[i](x.data(), n, z, as, c.data(), nullptr);
                        INFO(name_of(i) << ", " << n << " values, kind " << kind << ", up to 2^" << exponent
                                        << ", left " << left);
                        REQUIRE(all.held == fits);
                        if (!fits) {  // if such values are exceptional, all others have their quanta
                            search<T> apart({ccoll::detail::fields_of<T>::of(limit)}, below(r, 2) == 0);
                            REQUIRE(encoders<T>[i](x.data(), n, z, as, c.data(), &apart).held);
                            head.write(c.data());
                            const auto all_quanta = quanta_of(c.data(), n);
                            std::size_t others = 0;
                            for (std::size_t k = 0; k < n; ++k)
                                if (std::fabs(x[k]) < limit) others += all_quanta[k] == z.quantum(x[k]);
                            REQUIRE(others + apart.found.values == n);
                            continue;
                        }
                        head.write(c.data());
                        REQUIRE(quanta_of(c.data(), n) == q);
                        REQUIRE(largest(q) <= all.largest);
                        REQUIRE(all.largest <= quantum_limit<T>(unusual));
                    }
            }
}

}  // namespace

TEST_CASE(EVERY_SET " makes the quanta of the law", "[codec][szp]")
{
    SECTION("f32 in movement") { check_encoders<float>(rounding::fast, rounding::fast, false); }
    SECTION("f64 in movement") { check_encoders<double>(rounding::fast, rounding::fast, false); }
    SECTION("f32 in addends") { check_encoders<float>(rounding::fast, rounding::mixed, false); }
    SECTION("f64 in addends") { check_encoders<double>(rounding::fast, rounding::mixed, false); }
    SECTION("f32 on a grid of its own")
    {
        check_encoders<float>(rounding::in_double, rounding::in_double, true);
    }
}

TEST_CASE(EVERY_SET " has the same wide quanta and values", "[codec][szp]")
{
    random r(5);
    const auto check = [&](auto type, bool own) {
        using T = decltype(type);
        const grid<T> z = own ? grid<T>(0x1p-7, true) : law<T>(0.01).common;
        const double step = z.step;
        for (const std::size_t n : lengths)
            for (const int exponent : {3, 20, 31, 40, 45}) {
                const std::vector<T> x = walk<T>(r, n, step, std::ldexp(0.99, exponent), exponent % 2 * 3);
                std::vector<i64> q;
                std::vector<T> values;
                for (const T one : x) {
                    q.push_back(z.quantum(one));
                    values.push_back(z.value(q.back()));
                }
                for (const ccoll::isa i : sets()) {
                    std::vector<i64> found(chunk_elements);
                    std::vector<T> restored(n);
                    INFO(name_of(i) << ", " << n << " values, up to 2^" << exponent);
                    wide_quantisers<T>[i](x.data(), n, z, found.data());
                    REQUIRE(equal(found.data(), q));
                    wide_dequantisers<T>[i](found.data(), n, step, restored.data());
                    REQUIRE(equal(restored.data(), values));
                }
            }
    };
    check(float{}, false);
    check(double{}, false);
    check(double{}, true);
}

}  // namespace szp_isa_cases
