// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of SZp on the emulator and on a GPU share: fields, forms of chunks.
#pragma once

#include "support/fields.hpp"
#include "support/szp_reference.hpp"

namespace szp_fields {

namespace reference = szp_reference;
using reference::bytes;

template <class T>
using marker = std::optional<reference::word<T>>;

/// Data with and without exceptional values, and chunks that the fast kernels do not take.
template <class T>
std::vector<fields::named<T>> all_fields(std::size_t n)
{
    std::vector<fields::named<T>> all{{"constant", fields::constant<T>(n)}, {"quiet", fields::quiet<T>(n)},
                                      {"smooth", fields::smooth<T>(n)},     {"random", fields::random<T>(n)},
                                      {"denormal", fields::denormal<T>(n)}, {"wild", fields::wild<T>(n)},
                                      {"integers", fields::ramp<T>(n)},     {"offset", fields::offset<T>(n)}};
    const auto change = [&](const char* name, auto f) {
        std::vector<T> x = fields::smooth<T>(n);
        for (std::size_t i = 0; i < n; ++i) f(i, x[i]);
        all.push_back({name, x});
    };
    const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    change("land of 1e20", [](std::size_t i, T& v) { v = i % 128 < 40 + i / 128 % 9 ? T(1e20) : v; });
    change("land of NaN", [&](std::size_t i, T& v) { v = i % 128 < 40 + i / 128 % 9 ? nan : v; });
    change("land of -9999", [](std::size_t i, T& v) { v = i % 128 < 40 + i / 128 % 9 ? T(-9999) : v; });
    change("few far ones", [&](std::size_t i, T& v) {
        v = i % 997 == 5 ? (i % 3 == 0 ? inf : i % 3 == 1 ? -inf : T(-3e33)) : v;
    });
    change("many far ones", [](std::size_t i, T& v) {
        v = i % 23 < 2 ? static_cast<T>(1e20 * (1 + static_cast<double>(i % 1000))) : v;
    });
    change("more than may be", [](std::size_t i, T& v) {
        v = i % 5 == 0 ? static_cast<T>(1e20 * (1 + static_cast<double>(i % 1000))) : v;
    });
    change("chunks of NaN", [&](std::size_t i, T& v) { v = i / 8192 % 2 == 0 ? nan : v; });
    change("large", [](std::size_t i, T& v) { v = i % 600 < 3 ? v * T(1e4) : v; });
    return all;
}

template <class T>
std::vector<reference::term> terms_of(const std::vector<T>& x, const reference::law<T>& z)
{
    std::vector<reference::term> all;
    for (const T v : x) all.push_back(reference::term_of(z, v));
    return all;
}
inline std::vector<reference::term> sums_of(const std::vector<reference::term>& a,
                                            const std::vector<reference::term>& b)
{
    std::vector<reference::term> all;
    for (std::size_t i = 0; i < a.size(); ++i) all.push_back(reference::sum(a[i], b[i]));
    return all;
}
/// Fields whose exceptional values are different ones in different places.
template <class T>
std::vector<std::vector<T>> operands(std::size_t n)
{
    std::vector<std::vector<T>> all;
    for (unsigned k = 0; k < 3; ++k) {
        std::vector<T> x = fields::smooth<T>(n, k + 1);
        for (std::size_t i = 0; i < n; ++i) {
            if ((i + 20 * k) % 256 < 30) x[i] = T(1e20);
            if ((i + 7 * k) % 1500 == 3) x[i] = std::numeric_limits<T>::quiet_NaN();
            if ((i + k) % 1700 == 4)
                x[i] = (i + k) % 2 == 0 ? std::numeric_limits<T>::infinity()
                                        : -std::numeric_limits<T>::infinity();
            if (i % 1900 == 5) x[i] = k == 0 ? T(-1e20) : T(1e20);
            if (i % 1000 == 900) x[i] = T(-9999);
        }
        all.push_back(x);
    }
    return all;
}

/// A smooth field with coasts in always the same places.
/// @param land  0 one value, 1 NaN, 2 several values, 3 none
template <class T>
std::vector<T> with_coast(std::size_t n, unsigned seed, int land)
{
    std::vector<T> x = fields::smooth<T>(n, seed);
    for (std::size_t i = 0; i < n && land < 3; ++i) {
        if ((i + i / 512 * 3) % 512 >= 51 && i / 2000 % 9 != 4 && i % 8192 > 40) continue;
        if (land == 0) x[i] = T(1e20);
        else if (land == 1 || i / 40 % 7 == 0) x[i] = std::numeric_limits<T>::quiet_NaN();
        else
            x[i] = i / 300 % 5 == 0 ? std::numeric_limits<T>::infinity()
                                    : static_cast<T>(1e20 * (1 + static_cast<double>(i / 1000 % 3)));
    }
    return x;
}

struct named_forms {
    const char* name;
    reference::forms how;
};
inline const std::vector<named_forms>& all_forms()
{
    static const std::vector<named_forms> all = [] {
        std::vector<named_forms> list(14);
        auto set = [k = 0u, &list](const char* name, auto change) mutable {
            list[k].name = name;
            change(list[k++].how);
        };
        using f = reference::forms;
        set("plain", [](f&) {});
        set("not left", [](f& h) { h.left = false; });
        set("wide", [](f& h) { h.is_wide = true; });
        set("wide, not left", [](f& h) {
            h.left = false;
            h.is_wide = true;
        });
        set("rows", [](f& h) { h.row = 45; });
        set("short rows", [](f& h) { h.row = 16; });
        set("planes", [](f& h) {
            h.row = 17;
            h.plane = 77;
        });
        set("planes, wide", [](f& h) {
            h.row = 20;
            h.plane = 100;
            h.is_wide = true;
        });
        set("rows, not left", [](f& h) {
            h.row = 100;
            h.left = false;
        });
        set("more planes", [](f& h) { h.more_planes = 12; });
        set("groups mixed", [](f& h) {
            h.mixed = true;
            h.masks = h.value_runs = true;
            h.largest_above = 12345;
        });
        set("lists", [](f& h) { h.lists = true; });
        set("lists, rows", [](f& h) {
            h.lists = true;
            h.row = 32;
        });
        set("rows, groups mixed", [](f& h) {
            h.mixed = true;
            h.row = 45;
        });
        return list;
    }();
    return all;
}
template <class T>
reference::chunk quanta_of_field(std::size_t n, unsigned seed, double scale, bool exceptions, bool addend)
{
    fields::generator random(seed);
    reference::chunk c;
    const std::vector<T> x = fields::smooth<T>(n, seed);
    for (std::size_t i = 0; i < n; ++i)
        c.q.push_back(static_cast<std::int64_t>(scale * (static_cast<double>(x[i]) + 0.02 * random.unit())));
    for (std::size_t i = 0; i < n && exceptions; ++i) {
        const bool here = (i / 32 % 9 == 2 && i % 32 >= 5 && i % 32 < 20) ||
                          (i / 32 % 9 == 4 && i % 32 != 7) || i / 32 % 9 == 6 || i % 111 == 0;
        if (!here) continue;
        if (addend)
            c.addends[i] = {i % 3 == 0, i % 5 == 0 ? reference::state(random.below(4))
                                                   : reference::quotient(
                                                         1e20 * (1.0 + static_cast<double>(i % 7)), 1e-3)};
        else
            c.bits[i] = i % 4 == 0 ? reference::bits_of(T(1e20))
                                   : reference::bits_of(static_cast<T>(random.below(3)));
    }
    return c;
}

/// Is the bound of |q| in the heads that have one true? What is decoded may depend on it.
template <class T>
bool bounds_are_true(const bytes& frame, bool addend)
{
    const reference::frame f = reference::read_frame<T>(frame);
    for (std::size_t i = 0; i < f.chunks.size(); ++i) {
        const bytes& data = f.chunks[i].data;
        if (f.chunks[i].raw || data[0] != 0) continue;
        const auto c = reference::read_chunk<T>(data.data(), data.size(),
                                                std::min<std::size_t>(8192, f.n - 8192 * i), addend);
        std::uint64_t largest = 0;
        std::memcpy(&largest, data.data() + 8, 8);
        for (const std::int64_t q : c.q)
            if ((q < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(q) : static_cast<std::uint64_t>(q)) >
                largest)
                return false;
    }
    return true;
}
}  // namespace szp_fields
