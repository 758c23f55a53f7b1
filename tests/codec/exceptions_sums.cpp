// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: sanitized, optimised
// codec/exceptions/addends.inl: sums of addends with exceptional values are exact, in every order, and are
// rounded once.
#include "codec/exact_numbers.hpp"
#include "codec/exceptions.hpp"

namespace exceptions_sums_cases {

using namespace exceptions_cases;
using namespace exceptions;
using ccoll::status;
using exact::number;

namespace {

template <class T>
constexpr fields::word<T> marker = std::bit_cast<fields::word<T>>(T(-9999));

/// What an encoder makes of a chunk: quanta, bridges among them, and sections.
struct encoded {
    std::vector<i64> quanta;
    bytes sections;
};
template <class T>
bool is_exceptional(T x, double step)
{
    return std::bit_cast<fields::word<T>>(x) == marker<T> ||
           !(std::fabs(static_cast<double>(x)) < 0x1p45 * step);
}
template <class T>
encoded encode(const std::vector<T>& x, double step)
{
    const std::size_t n = x.size();
    const auto at = places_where(n, [&](std::size_t i) { return is_exceptional(x[i], step); });
    encoded e;
    for (std::size_t i = 0; i < n; ++i)
        e.quanta.push_back(has(at, i) ? 1234567
                                      : static_cast<i64>(std::nearbyint(static_cast<double>(x[i]) / step)));
    if (at.values == 0) return e;
    const exactly room(most_addend_bytes(n));
    const u8* const end = write_addend<T>(x.data(), n, at, step, &marker<T>, room.data.get(), room.end());
    REQUIRE(end != nullptr);
    e.sections.assign(static_cast<const u8*>(room.data.get()), end);
    return e;
}
addend opened(const bytes& sections, std::size_t n)
{
    addend a;
    REQUIRE(read_addend(std::as_bytes(std::span(sections)), n, a));
    return a;
}
ccoll::const_byte_span span_of(const bytes& of)
{
    return {reinterpret_cast<const std::byte*>(of.data()), of.size()};
}
merged merge(const bytes& a, const bytes& b, std::size_t n, u8* to, const u8* end)
{
    addend x, y;
    return exceptions::merge(span_of(a), span_of(b), n, x, y, to, end);
}
encoded sum(encoded a, encoded b)
{
    const std::size_t n = a.quanta.size();
    const exactly room(most_addend_bytes(n)), more(most_addend_bytes(n));
    addend x, y;
    const merged m =
        exceptions::merge(span_of(a.sections), span_of(b.sections), n, x, y, room.data.get(), room.end());
    REQUIRE(m.code == status::ok);
    encoded s;
    s.sections.assign(room.data.get(), m.end);
    x = opened(a.sections, n);
    y = opened(b.sections, n);
    if (m.bridges_matter) {
        const auto clear = [n](const addend& of, const addend& other, i64* quanta) {
            u32 masks[most_blocks];
            bridges_only_in(of, other, n, masks);
            for (std::size_t k = 0; k < blocks_of(n); ++k)
                each_bit(masks[k], [&](std::size_t i) { quanta[block_elements * k + i] = 0; });
        };
        clear(x, y, a.quanta.data());
        clear(y, x, b.quanta.data());
    }
    for (std::size_t i = 0; i < n; ++i) s.quanta.push_back(a.quanta[i] + b.quanta[i]);
    const exactly same(most_addend_bytes(n));
    addend u, v;
    const merged portably =
        portable::merge(span_of(a.sections), span_of(b.sections), n, u, v, same.data.get(), same.end());
    REQUIRE(bytes(same.data.get(), portably.end) == s.sections);
    // Places that are all the same ones, or all states of one kind, have a faster way.
    const merged slow = portable::merge_places(x, y, n, more.data.get(), more.end());
    REQUIRE(slow.code == status::ok);
    const addend p = opened(s.sections, n), q = opened(bytes(more.data.get(), slow.end), n);
    for (std::size_t k = 0; k < exceptions::blocks_of(n); ++k)
        REQUIRE((p.alone.masks[k] | p.counted.masks[k]) == (q.alone.masks[k] | q.counted.masks[k]));
    return s;
}
template <class T>
std::vector<T> decode(const encoded& e, double step, i32 divisor = 1)
{
    const std::size_t n = e.quanta.size();
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(static_cast<double>(e.quanta[i]) * step);
    if (e.sections.empty()) return x;
    const addend a = opened(e.sections, n);
    apply_to<T>(a, step, divisor, marker<T>, e.quanta.data(), x.data(), n);
    return x;
}
/// Does `got` hold the sum over ranks, where one of them is exceptional at least? Exact, from the values
/// themselves.
template <class T>
bool is_sum(const std::vector<std::vector<T>>& ranks, std::size_t i, double step, T got)
{
    const auto bits = std::bit_cast<fields::word<T>>(got);
    number all;
    bool missing = false, nan = false, up = false, down = false;
    for (const auto& x : ranks) {
        const T v = x[i];
        if (std::bit_cast<fields::word<T>>(v) == marker<T>) missing = true;
        else if (std::isnan(v)) nan = true;
        else if (std::isinf(v)) (v > 0 ? up : down) = true;
        else if (is_exceptional(v, step)) {
            // exceptions_wide.cpp says that this is right
            const wide w = wide_of_bits<T>(std::bit_cast<fields::word<T>>(v), exact_step(step));
            const number word(std::int64_t{1} << 32);
            number n(static_cast<std::int64_t>(w.limb[2]));
            for (std::size_t l = 2; l-- > 0;)
                for (const u64 half : {w.limb[l] >> 32, w.limb[l] & 0xffffffffu})
                    n = n * word + number(static_cast<std::int64_t>(half));
            all = all + n;
        } else all = all + number(static_cast<i64>(std::nearbyint(static_cast<double>(v) / step)));
    }
    if (missing) return bits == marker<T>;
    if (nan || (up && down)) return std::isnan(got);
    if (up || down) return std::isinf(got) && (got > 0) == up;
    return exact::is_nearest<T>(all * number::of(step), 1, bits);
}
template <class T>
std::vector<std::vector<T>> random_ranks(std::size_t p, std::size_t n, unsigned seed)
{
    constexpr T far[] = {T(1e20),
                         T(-1e20),
                         T(3e25),
                         T(1e22),
                         std::numeric_limits<T>::quiet_NaN(),
                         std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity(),
                         T(-9999)};
    fields::generator random(seed);
    std::vector<std::vector<T>> ranks(p, ordinary<T>(n));
    for (std::size_t r = 0; r < p; ++r) {
        const std::size_t usual = 1 + random.below(3), begin = random.below(n), end = begin + random.below(n);
        for (std::size_t i = 0; i < n; ++i) {
            if (i >= begin && i < end) ranks[r][i] = far[usual];
            if (i % 700 > 500) ranks[r][i] = T(1e20);  // all ranks
            if (random.below(20) == 0) ranks[r][i] = far[random.below(random.below(2) == 0 ? 4 : 8)];
        }
    }
    return ranks;
}

}  // namespace

TEMPLATE_TEST_CASE("the section of an addend gives back its values, rounded to the grid",
                   "[codec][exceptions]", float, double)
{
    using T = TestType;
    const double step = 0.0107421875;  // 11 / 1024
    for (const std::size_t n : sizes)
        for (const exceptions::places& at : all_places(n)) {
            auto x = ordinary<T>(n);
            std::size_t k = 0;
            for (std::size_t i = 0; i < n; ++i)
                if (has(at, i))
                    fields::set_bits(x[i],
                                     ++k % 9 < 6 ? std::bit_cast<fields::word<T>>(T(1e20)) : many<T>(k % 3));
            bytes first;
            std::vector<T> values;
            with_each_isa([&] {
                const encoded e = encode(x, step);
                const auto y = decode<T>(e, step);
                if (!values.empty()) {
                    CHECK(e.sections == first);
                    CHECK(std::memcmp(y.data(), values.data(), n * sizeof(T)) == 0);
                    return;
                }
                first = e.sections;
                values = y;
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < n; ++i) wrong += has(at, i) && !is_sum<T>({x}, i, step, y[i]);
                CHECK(wrong == 0);
            });
        }
}

TEMPLATE_TEST_CASE("sums with exceptional values are exact sums, whatever the order", "[codec][exceptions]",
                   float, double)
{
    using T = TestType;
    const double step = 0.00146484375;  // 3 / 2048
    unsigned seed = 1;
    for (const std::size_t n : {1u, 32u, 33u, 1000u, 8192u})
        for (const std::size_t p : {2u, 3u, 7u})
            for (std::size_t round = 0; round < (n <= 1000 ? 4u : p == 3 ? 1u : 0u); ++round) {
                const auto ranks = random_ranks<T>(p, n, seed++);
                std::vector<encoded> addends;
                for (const auto& x : ranks) addends.push_back(encode(x, step));
                fields::generator random(seed);
                std::vector<T> first;
                for (int order = 0; order < 4; ++order) {
                    auto left = addends;
                    while (left.size() > 1) {  // any two of them
                        std::swap(left[random.below(left.size())], left.back());
                        const encoded one = left.back();
                        left.pop_back();
                        const std::size_t other = random.below(left.size());
                        left[other] = random.below(2) == 0 ? sum(left[other], one) : sum(one, left[other]);
                    }
                    const auto y = decode<T>(left[0], step);
                    if (order > 0) {
                        CHECK(std::memcmp(first.data(), y.data(), n * sizeof(T)) == 0);
                        continue;
                    }
                    first = y;
                    std::size_t wrong = 0;
                    for (std::size_t i = 0; i < n; ++i) {
                        bool any = false;
                        for (const auto& x : ranks) any = any || is_exceptional(x[i], step);
                        wrong += any && !is_sum(ranks, i, step, y[i]);
                        i64 q = 0;
                        for (const auto& a : addends) q += a.quanta[i];
                        wrong += !any && left[0].quanta[i] != q;
                    }
                    CHECK(wrong == 0);
                }
            }
}

TEMPLATE_TEST_CASE("sums of one state alone, and beside numbers that cancel out, are exact sums",
                   "[codec][exceptions]", float, double)
{
    using T = TestType;
    const double step = 0.75;
    const std::size_t n = 1000;
    for (const T state : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), T(-9999)})
        for (const bool numbers : {false, true}) {
            fields::generator random(7);
            std::vector<std::vector<T>> ranks(3, ordinary<T>(n));
            for (std::size_t i = 0; i < n; ++i) {
                if (numbers && i % 97 == 5) {
                    ranks[0][i] = T(1e20);
                    ranks[1][i] = T(-1e20);
                }
                for (auto& x : ranks)
                    if (random.below(10) == 0 && i > 10) x[i] = state;
            }
            with_each_isa([&] {
                std::vector<encoded> e;
                for (const auto& x : ranks) e.push_back(encode(x, step));
                for (const encoded& all :
                     {sum(sum(e[0], e[1]), e[2]), sum(e[0], sum(e[1], e[2])), sum(e[1], sum(e[2], e[0]))}) {
                    const auto y = decode<T>(all, step);
                    std::size_t wrong = 0;
                    for (std::size_t i = 0; i < n; ++i) wrong += !is_sum(ranks, i, step, y[i]);
                    CHECK(wrong == 0);
                    CHECK(opened(all.sections, n).counts() == numbers);  // places of a state need no quantum
                }
            });
        }
}

TEMPLATE_TEST_CASE(
    "1e20 on k of 7 ranks is k times 1e20 and the rest, and averages of equal values are exact",
    "[codec][exceptions]", float, double)
{
    using T = TestType;
    const std::size_t n = 500;
    const double step = 0.75;
    for (int k = 1; k <= 7; ++k) {
        std::vector<std::vector<T>> ranks(7, ordinary<T>(n));
        for (int r = 0; r < k; ++r)
            for (std::size_t i = 100; i < 333; ++i) ranks[static_cast<std::size_t>(r)][i] = T(1e20);
        encoded all = encode(ranks[0], step);
        for (std::size_t r = 1; r < 7; ++r) all = sum(all, encode(ranks[r], step));
        CHECK(opened(all.sections, n).counts() == (k < 7));
        const auto y = decode<T>(all, step), average = decode<T>(all, step, 7);
        std::size_t wrong = 0;
        for (std::size_t i = 100; i < 333; ++i) {
            wrong += !is_sum(ranks, i, step, y[i]);
            wrong += y[i] < T(k) * T(1e20) * T(0.9999999) || y[i] > T(k) * T(1e20) * T(1.0000001);
            wrong += k == 7 && average[i] != T(1e20);
        }
        CHECK(wrong == 0);
    }
    // In the lowest bits of the sum of two fill values and a number, nothing is lost before the last
    // rounding.
    const encoded e = sum(sum(encode(std::vector<T>{T(1e20)}, step), encode(std::vector<T>{T(3.75)}, step)),
                          encode(std::vector<T>{T(-1e20)}, step));
    CHECK(decode<T>(e, step)[0] == T(3.75));
}

TEST_CASE("what an addend cannot hold is too large: 2^190 steps, and more than 256 different values",
          "[codec][exceptions]")
{
    const std::size_t n = 600;
    std::vector<u8> room(most_addend_bytes(n));
    u8* const to = room.data();
    const u8* const end = to + room.size();
    const auto write = [&](const std::vector<double>& x) {
        return write_addend<double>(x.data(), x.size(),
                                    places_where(x.size(), [](std::size_t) { return true; }), 1.0, nullptr,
                                    to, end) != nullptr;
    };
    CHECK(write({0x1.fffffffffffffp189, -0x1.fffffffffffffp189}));
    CHECK_FALSE(write({1e20, 0x1p190}));
    CHECK_FALSE(write({-0x1p190}));
    const auto different = [&](std::size_t count, double first) {
        std::vector<double> x(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = (first + static_cast<double>(i % count)) * 0x1p50;
        return x;
    };
    CHECK(write(different(256, 1)));
    CHECK_FALSE(write(different(257, 1)));
    // Sums: of 16 x 16 values, and of 16 x 17.
    auto a = different(16, 1), b = a, c = a;
    for (std::size_t i = 0; i < n; ++i) {
        b[i] = static_cast<double>(16 * (i / 16 % 16) + 1) * 0x1p50;
        c[i] = static_cast<double>(16 * (i / 16 % 17) + 1) * 0x1p50;
    }
    const encoded x = encode(a, 1.0), y = encode(b, 1.0), z = encode(c, 1.0);
    CHECK(merge(x.sections, y.sections, n, to, end).code == status::ok);
    CHECK(merge(x.sections, z.sections, n, to, end).code == status::too_large);
    const encoded top = encode(std::vector<double>{0x1p189}, 1.0);
    CHECK(merge(top.sections, top.sections, 1, to, end).code == status::too_large);
    const addend one = opened(top.sections, 1);
    CHECK(portable::merge_places(one, one, 1, to, end).code == status::too_large);
}

TEST_CASE("most_addend_bytes is enough for two sections of masks, whose values change at every place",
          "[codec][exceptions]")
{
    for (const std::size_t n : sizes) {
        auto x = ordinary<double>(n), y = x;
        for (std::size_t i = 0; i < n; ++i) {
            const auto k = static_cast<double>(1 + i % 256);
            if (i % 2 == 0) y[i] = k * 0x1p60;
            x[i] = k * 0x1p60;
        }
        encoded a = encode(x, 1.0), b = encode(y, 1.0);  // places of both are alone, others count
        CHECK(a.sections.size() <= most_addend_bytes(n));
        const encoded s = sum(a, b);
        CHECK(s.sections.size() <= most_addend_bytes(n));
        if (n >= 8191) CHECK(s.sections.size() + 6400 > most_addend_bytes(n));
        std::vector<u8> room(s.sections.size());
        CHECK(merge(a.sections, b.sections, n, room.data(), room.data() + room.size()).code == status::ok);
        CHECK(merge(a.sections, b.sections, n, room.data(), room.data() + room.size() - 1).code ==
              status::too_large);
    }
}

TEST_CASE("sections of an addend with a changed byte are refused or add up, and cut ones are refused",
          "[codec][exceptions]")
{
    const double step = 0.5;
    for (const std::size_t n : {1u, 33u, 200u}) {
        const auto ranks = random_ranks<double>(3, n, static_cast<unsigned>(n));
        const encoded e = sum(encode(ranks[0], step), encode(ranks[1], step)), other = encode(ranks[2], step);
        if (e.sections.empty()) continue;
        REQUIRE(e.sections.size() < 3000);
        std::size_t refused = 0, read = 0;
        std::vector<u8> room(2 * most_addend_bytes(n));
        u8* const to = room.data();
        for (std::size_t i = 0; i < e.sections.size(); ++i)
            for (const unsigned flip : {0x01u, 0x02u, 0x04u, 0x10u, 0x80u, 0xffu}) {
                exactly bad(e.sections, e.sections.size());
                bad.data[i] = static_cast<u8>(bad.data[i] ^ flip);
                for (const bytes& with : {e.sections, other.sections}) {
                    addend p, q;
                    exceptions::merge({reinterpret_cast<const std::byte*>(bad.data.get()), bad.size},
                                      span_of(with), n, p, q, to, to + room.size());
                }
                addend x;
                if (!read_addend(bad.span(), n, x)) {
                    ++refused;
                    continue;
                }
                ++read;
                std::vector<double> values(n);
                apply_to<double>(x, step, 3, marker<double>, e.quanta.data(), values.data(), n);
            }
        CHECK(refused > 20);
        CHECK(read > 20);
        read = 0;
        for (std::size_t size = 1; size < e.sections.size(); ++size) {
            const exactly cut(e.sections, size);
            addend x;
            read += read_addend(cut.span(), n, x);
        }
        CHECK(read == 0);
    }
    addend none;
    CHECK(read_addend({}, 100, none));
    CHECK_FALSE(none.counts());
}

TEST_CASE("a reader of addends takes sections in either order, and no place twice", "[codec][exceptions]")
{
    const std::size_t n = 32;
    const auto section = [](u8 form, std::vector<u8> places, std::size_t count, i64 value) {
        bytes b = {0, form, static_cast<u8>(count > 0), 0, 1, 0, 0, 0, 0, 0, 0, 0};  // one mask
        b.insert(b.end(), places.begin(), places.end());
        if (count > 0) b.insert(b.end(), {0, static_cast<u8>(count - 1)});
        b.resize((b.size() + 7) / 8 * 8);
        const wide w = wide::of(value);
        const std::size_t at = b.size();
        b.resize((at + 24 + 15) / 16 * 16);
        std::memcpy(b.data() + at, &w, 24);
        return b;
    };
    const auto both = [](bytes a, const bytes& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    const std::vector<u8> low = {0xff, 0, 0, 0}, high = {0, 0, 0, 0xff}, wider = {0xff, 0, 0, 1};
    addend a;
    const auto reads = [&](const bytes& b) {
        a.alone.from = a.counted.from = nullptr;
        return read_addend(std::as_bytes(std::span(b)), n, a);
    };
    const bytes two = both(section(3, low, 8, 5), section(0, high, 8, 6));  // the addend refers to it
    REQUIRE(reads(two));
    CHECK(a.counted.masks[0] == 0xff);
    CHECK(a.alone.masks[0] == 0xff000000);
    std::vector<double> x(n, 7.0);
    const std::vector<i64> q(n, 100);
    apply_to<double>(a, 2.0, 1, u64{0}, q.data(), x.data(), n);
    CHECK(x[0] == 210);
    CHECK(x[8] == 7);
    CHECK(x[31] == 12);
    CHECK(reads(both(section(2, low, 8, 5), section(1, high, 8, 6))));
    CHECK_FALSE(reads(both(section(2, low, 8, 5), section(1, wider, 9, 6))));  // a place of both
    CHECK_FALSE(reads(both(section(2, low, 8, 5), section(0, high, 8, 6))));   // two of a kind
    CHECK_FALSE(reads(both(section(3, low, 8, 5), section(1, high, 8, 6))));
    CHECK_FALSE(reads(section(2, low, 8, 5)));  // none follows
    CHECK_FALSE(reads(section(4, low, 8, 5)));  // no such form
    CHECK_FALSE(reads(section(0, low, 7, 5)));
}

}  // namespace exceptions_sums_cases
