// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: sanitized, optimised
// codec/exceptions.hpp: exceptional values of a chunk for movement come back bit for bit, at the price of
// their places.
#include "codec/exceptions.hpp"

namespace exceptions_cases {

namespace {

/// The values of a chunk with `different` values in its exceptional places, in a random order, or in runs of
/// the same length.
template <class T>
std::vector<T> chunk_with(std::size_t n, const exceptions::places& at, std::size_t different, std::size_t run)
{
    fields::generator random(7);
    auto x = ordinary<T>(n);
    std::size_t count = 0, k = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (has(at, i)) {
            if (count++ % run == 0)
                k = count <= different * run ? (count - 1) / run : random.below(different);
            fields::set_bits(x[i], many<T>(k));
        }
    return x;
}
template <class T>
bytes section_of(const std::vector<T>& x, const exceptions::places& at)
{
    const exactly room(exceptions::most_bytes(x.size(), sizeof(T)));
    const u8* const end =
        exceptions::write<T>(x.data(), x.size(), at, room.data.get(), room.end(), any_changes);
    REQUIRE(end != nullptr);
    return bytes(static_cast<const u8*>(room.data.get()), end);
}
/// What the page says a section of these values must cost, with masks only where they are needed.
template <class T>
std::size_t expected_bytes(const std::vector<T>& x, const exceptions::places& at)
{
    std::size_t masks = 0, value_runs = 0, length = 0;
    std::vector<fields::word<T>> entries;
    const fields::word<T>* last = nullptr;
    std::vector<fields::word<T>> bits(x.size());
    std::memcpy(bits.data(), x.data(), x.size() * sizeof(T));
    for (std::size_t k = 0; k < at.blocks; ++k) {
        const std::size_t m = std::min<std::size_t>(32, x.size() - 32 * k);
        std::size_t count = 0;
        for (std::size_t i = 0; i < m; ++i) count += has(at, 32 * k + i);
        masks += count > 0 && count < m;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!has(at, i)) continue;
        if (last == nullptr || *last != bits[i] || length == 256) {
            ++value_runs;
            length = 0;
        }
        last = &bits[i];
        ++length;
        if (std::find(entries.begin(), entries.end(), bits[i]) == entries.end()) entries.push_back(bits[i]);
    }
    const auto up = [](std::size_t to, std::size_t n) { return (n + to - 1) / to * to; };
    if (entries.size() == 1) value_runs = 0;
    const std::size_t places = 4 + 2 * up(32, at.blocks) / 8 + 4 * masks;
    return up(16, up(8, places + 2 * value_runs) + entries.size() * sizeof(T));
}

}  // namespace

TEMPLATE_TEST_CASE(
    "exceptional values come back bit for bit, and no other value is touched, with every instruction set",
    "[codec][exceptions]", float, double)
{
    using T = TestType;
    for (const std::size_t n : sizes)
        for (const exceptions::places& at : all_places(n))
            for (const auto& [different, run] :
                 {std::pair{1, 1}, {2, 1}, {2, 40}, {6, 300}, {255, 3}, {256, 1}, {256, 4}}) {
                INFO("n = " << n << ", " << at.values << " places, " << different << " values in runs of "
                            << run);
                const auto x =
                    chunk_with<T>(n, at, static_cast<std::size_t>(different), static_cast<std::size_t>(run));
                const bytes section = section_of(x, at);
                CHECK(section.size() == expected_bytes(x, at));
                with_each_isa([&] {
                    CHECK(section_of(x, at) == section);
                    auto y = ordinary<T>(n);
                    const exactly copy(section, section.size());
                    CHECK(exceptions::read<T>(copy.data.get(), copy.size, y.data(), n));
                    CHECK(std::memcmp(x.data(), y.data(), n * sizeof(T)) == 0);
                });
            }
}

TEMPLATE_TEST_CASE("the exceptional values of a chunk are found, with every instruction set",
                   "[codec][exceptions]", float, double)
{
    using T = TestType;
    using word = fields::word<T>;
    const auto bits = [](T v) { return std::bit_cast<word>(v); };
    for (const std::size_t n : sizes)
        for (const exceptions::places& at : all_places(n))
            for (const T missing : {std::numeric_limits<T>::quiet_NaN(), T(5), T(0)})
                for (const bool all_alike : {true, false}) {
                    auto x = ordinary<T>(n);
                    const T far[] = {missing, -std::numeric_limits<T>::infinity(), T(-1e20), missing,
                                     missing};
                    std::size_t k = 0;
                    for (std::size_t i = 0; i < n; ++i)
                        x[i] = !has(at, i) ? x[i] + T(20) : all_alike ? missing : far[k++ % 5];
                    exceptions::rule<T> rule{bits(T(1e20))};
                    if (missing < 6) rule.missing = bits(missing);
                    with_each_isa([&] {
                        exceptions::places found;
                        exceptions::find<T>(x.data(), n, rule, found);
                        CHECK(std::equal(at.masks, at.masks + at.blocks, found.masks));
                        CHECK((found.blocks == at.blocks && found.values == at.values));
                        // If it says so, it is so; a chunk without a missing value is always looked through.
                        if (found.alike) CHECK((at.values == 1 || all_alike));
                        if (all_alike && !(missing < 6)) CHECK((found.alike && found.bits == bits(missing)));
                    });
                }
}

/// What stands in the places of exceptional values: the value before a run, and in the block behind its last
/// one equal steps.
template <class T>
std::vector<T> with_bridges(std::vector<T> x, const exceptions::places& at)
{
    const std::size_t n = x.size();
    const auto ordinary_from = [&](std::size_t i) {
        while (i < n && has(at, i)) ++i;
        return i;
    };
    for (std::size_t i = 0; i < n; ++i) {
        if (!has(at, i)) continue;
        const std::size_t end = ordinary_from(i), block = std::max(i, end / 32 * 32);
        const T until = end < n ? x[end] : T(0), start = i > 0 ? x[i - 1] : until;
        const T per_step = 1 / static_cast<T>(end - block + 1);
        for (std::size_t k = i; k < end; ++k) {
            const T share = static_cast<T>(k - block + 1) * per_step;
            const bool rises = k >= block && end < n;
            x[k] = rises ? std::clamp(start * (1 - share) + until * share, std::min(start, until),
                                      std::max(start, until))
                         : start;
        }
        i = end;
    }
    return x;
}

TEMPLATE_TEST_CASE(
    "bridges take the places of exceptional values, group by group, with every instruction set",
    "[codec][exceptions]", float, double)
{
    using T = TestType;
    for (const std::size_t n : sizes)
        for (const exceptions::places& at : all_places(n))
            for (const bool look_everywhere : {true, false}) {
                auto x = ordinary<T>(n);
                for (std::size_t i = 0; i < n; ++i)
                    x[i] = has(at, i) ? std::numeric_limits<T>::quiet_NaN() : x[i] + T(20);
                const auto expected = with_bridges(x, at);
                with_each_isa([&] {
                    exceptions::places found;
                    std::vector<T> room(1024), got(x);
                    for (std::size_t i = 0; i < n; i += 1024) {
                        const std::size_t count = std::min<std::size_t>(1024, n - i);
                        // Groups in which there are none need not be looked at.
                        if (!look_everywhere &&
                            std::none_of(x.begin() + std::ptrdiff_t(i), x.begin() + std::ptrdiff_t(i + count),
                                         [](T v) { return v != v; }))
                            continue;
                        const T* const from = exceptions::take_out<T>(
                            x.data(), n, i, {ccoll::detail::fields_of<T>::exponent}, found, room.data());
                        CHECK((from == room.data() || from == x.data() + i));
                        std::copy_n(from, count, got.begin() + std::ptrdiff_t(i));
                    }
                    CHECK(got == expected);
                    CHECK(found.values == at.values);
                    CHECK(std::equal(found.masks, found.masks + found.blocks, at.masks));
                    CHECK(std::all_of(at.masks + found.blocks, at.masks + at.blocks,
                                      [](exceptions::u32 mask) { return mask == 0; }));
                });
            }
}

TEMPLATE_TEST_CASE("a section needs exactly its room, and is refused with less", "[codec][exceptions]", float,
                   double)
{
    using T = TestType;
    const std::size_t n = 1000;
    for (const exceptions::places& at : all_places(n))
        for (const std::size_t different : {1u, 3u, 250u}) {
            const auto x = chunk_with<T>(n, at, different, 1);
            const std::size_t size = section_of(x, at).size();
            with_each_isa([&] {
                std::size_t written = 0;
                for (std::size_t room = 0; room < size; room += room + 40 < size ? 37 : 1) {
                    const exactly less(room);
                    written += exceptions::write<T>(x.data(), n, at, less.data.get(), less.end(),
                                                    any_changes) != nullptr;
                }
                CHECK(written == 0);
                const exactly enough(size);
                CHECK(exceptions::write<T>(x.data(), n, at, enough.data.get(), enough.end(), any_changes) ==
                      enough.end());
            });
        }
}

TEMPLATE_TEST_CASE("a chunk whose exceptional values change too often has no section", "[codec][exceptions]",
                   float, double)
{
    using T = TestType;
    const std::size_t n = 8192;
    const auto at = places_where(n, [](std::size_t i) { return i % 3 == 0; });
    for (const std::size_t run : {1u, 2u, 10u, 5000u}) {
        const auto x = chunk_with<T>(n, at, 256, run);
        std::size_t changes = 0, last = 0;
        for (std::size_t i = 3; i < n; i += 3, last += 3)
            changes += std::memcmp(&x[i], &x[last], sizeof(T)) != 0;
        with_each_isa([&] {
            std::vector<u8> room(exceptions::most_bytes(n, sizeof(T)));
            u8* const to = room.data();
            CHECK(exceptions::write<T>(x.data(), n, at, to, to + room.size(), changes) != nullptr);
            if (changes > 0)
                CHECK(exceptions::write<T>(x.data(), n, at, to, to + room.size(), changes - 1) == nullptr);
        });
    }
}

TEMPLATE_TEST_CASE("a section has at most 256 different values", "[codec][exceptions]", float, double)
{
    using T = TestType;
    const std::size_t n = 1000;
    const auto at = places_where(n, [](std::size_t i) { return i % 3 != 0; });
    with_each_isa([&] {
        std::vector<u8> room(exceptions::most_bytes(n, sizeof(T)));
        u8* const to = room.data();
        for (const std::size_t different : {256u, 257u}) {
            const auto x = chunk_with<T>(n, at, different, 1);
            CHECK((exceptions::write<T>(x.data(), n, at, to, to + room.size(), any_changes) != nullptr) ==
                  (different == 256));
        }
    });
}

TEMPLATE_TEST_CASE("a section with a changed byte is refused or read, and one that is cut is refused",
                   "[codec][exceptions]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {1u, 33u, 300u, 8191u})
        for (const exceptions::places& at : all_places(n)) {
            const auto x = chunk_with<T>(n, at, n > 100 ? 9 : 2, 5);
            const bytes section = section_of(x, at);
            if (section.size() > 800) continue;
            with_each_isa([&] {
                std::vector<T> y(n);
                std::size_t refused = 0, read = 0;
                for (std::size_t i = 0; i < section.size(); ++i)
                    for (const unsigned flip : {0x01u, 0x10u, 0x80u, 0xffu}) {
                        exactly other(section, section.size());
                        other.data[i] = static_cast<u8>(other.data[i] ^ flip);
                        ++(exceptions::read<T>(other.data.get(), other.size, y.data(), n) ? read : refused);
                    }
                CHECK(refused > 4);
                CHECK(read > 0);
                read = 0;
                for (std::size_t size = 0; size < section.size(); ++size) {
                    const exactly cut(section, size);
                    read += exceptions::read<T>(cut.data.get(), size, y.data(), n);
                }
                CHECK(read == 0);
                const exactly whole(section, section.size());
                CHECK(exceptions::read<T>(whole.data.get(), section.size(), y.data(), n));
            });
        }
}

TEST_CASE("a section may say things in other ways than the library does", "[codec][exceptions]")
{
    const std::size_t n = 70;  // three blocks: a mask that is all, and two others
    const auto value = [](float f) {
        bytes b(4);
        std::memcpy(b.data(), &f, 4);
        return b;
    };
    bytes section = {2, 0, 4, 0, 7, 0, 0, 0, 0, 0, 0, 0};  // 3 entries, 4 value runs; all blocks have masks
    const auto add = [&](const bytes& b) { section.insert(section.end(), b.begin(), b.end()); };
    add({0xff, 0xff, 0xff, 0xff});
    add({0x10, 0, 0, 0});
    add({0x21, 0, 0, 0});
    add({0, 15, 0, 16, 2, 0, 1, 0});  // 33 in two runs, one, one
    section.resize(32);
    add(value(1e20f));
    add(value(5.f));
    add(value(1e20f));  // two entries are the same
    section.resize(48);
    with_each_isa([&] {
        std::vector<float> y(n, 1.f);
        REQUIRE(exceptions::read<float>(section.data(), section.size(), y.data(), n));
        for (std::size_t i = 0; i < n; ++i)
            CHECK(y[i] == (i < 32 || i == 36 || i == 64 ? 1e20f : i == 69 ? 5.f : 1.f));
        const auto refuses = [&](std::size_t i, u8 b) {
            bytes other = section;
            other[i] = b;
            CHECK_FALSE(exceptions::read<float>(other.data(), other.size(), y.data(), n));
        };
        refuses(0, 1);  // an entry that there is not
        refuses(1, 1);  // counts
        refuses(1, 2);  // another section
        refuses(1, 4);
        refuses(2, 3);
        refuses(2, 5);  // places without a value, a value without places
        refuses(4, 3);
        refuses(8, 4);
        refuses(8, 8);  // too few masks, a whole block with one, a fourth block
        refuses(16, 0);
        refuses(20, 0x40);  // no place, and one beyond the end
        refuses(25, 17);
        refuses(25, 14);
        bytes alike = section;  // without runs, all places have the first value
        alike[2] = 0;
        std::memcpy(alike.data() + 24, value(3.f).data(), 4);
        REQUIRE(exceptions::read<float>(alike.data(), alike.size(), y.data(), n));
        for (std::size_t i = 0; i < n; ++i) CHECK((y[i] == 3) == (i < 32 || i == 36 || i == 64 || i == 69));
        alike[4] = 0;
        CHECK_FALSE(exceptions::read<float>(alike.data(), alike.size(), y.data(), n));  // no place
    });
}

}  // namespace exceptions_cases
