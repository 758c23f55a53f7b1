// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// szp_sums.hpp - addends of SZp and their sums, for tests: families of values of several ranks, and all
// orders.
#pragma once

#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "codec/szp.hpp"

namespace szp_sums_cases {

using namespace ccoll::policies;
using ccoll::status;
using szp_cases::numbers, szp_cases::step_of;

using C = Codec::SZp;
using bytes = std::vector<std::byte>;

struct result {
    status code = status::ok;
    bytes frame;
};

/// Between guards, in memory as long as was promised.
template <class Produce>
result in_room(std::size_t room, Produce produce)
{
    bytes memory(room + 64, round_trip::guard);
    const ccoll::encode_result r = produce(ccoll::byte_span(memory).first(room));
    bool inside = r.bytes <= room;
    for (std::size_t i = room; i < memory.size(); ++i) inside = inside && memory[i] == round_trip::guard;
    if (!inside) FAIL("an addend is longer than max_addend_bytes");
    memory.resize(r.bytes);
    memory.shrink_to_fit();
    return {r.code, memory};
}
template <class T>
result addend(const std::vector<T>& x, double eb, ccoll::field_strides strides = {})
{
    return in_room(ccoll::max_addend_bytes<C, T>(x.size()), [&](ccoll::byte_span dst) {
        return strides.none()
                   ? ccoll::encode_addend<C>(x, dst, eb)
                   : ccoll::encode_addend<C>(ccoll::shaped_view<const T>{x, strides, x.size()}, dst, eb);
    });
}
template <class T>
result add(const bytes& a, const bytes& b, std::size_t n)
{
    return in_room(ccoll::max_addend_bytes<C, T>(n),
                   [&](ccoll::byte_span dst) { return ccoll::reduce_encoded<C, Op::Sum, T>(a, b, dst); });
}
/// What a result decodes to; nothing where it is too large.
template <class T>
std::vector<T> values_of(const result& r, std::size_t n)
{
    return r.code == status::ok ? round_trip::decoded<C, T>(r.frame, n) : std::vector<T>{};
}

/// One addend for each of p ranks.
template <class T>
struct family {
    std::string name;
    double eb;
    std::vector<std::vector<T>> values;  ///< of each rank
};

template <class T>
std::vector<family<T>> families(std::size_t p, std::size_t n)
{
    const double eb = 1e-3, step = step_of<T>(eb);
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    std::vector<family<T>> all;
    const auto put = [&](const char* name, auto values_of) {
        family<T> f{name, eb, {}};
        for (std::size_t r = 0; r < p; ++r) f.values.push_back(values_of(static_cast<unsigned>(r + 1)));
        all.push_back(std::move(f));
    };
    const auto with = [](std::vector<T> x, std::size_t first, std::size_t every, T value) {
        for (std::size_t i = first; i < x.size(); i += every) x[i] = value;
        return x;
    };
    put("smooth", [&](unsigned r) { return fields::smooth<T>(n, r); });
    put("quiet", [&](unsigned r) { return fields::quiet<T>(n, r); });
    put("random", [&](unsigned r) { return fields::random<T>(n, r); });
    put("offset", [&](unsigned r) { return fields::offset<T>(n, r); });
    put("constant", [&](unsigned r) { return fields::constant<T>(n, r); });
    put("constant and smooth",
        [&](unsigned r) { return r % 2 == 0 ? fields::constant<T>(n, r) : fields::smooth<T>(n, r); });
    put("NaN and Inf anywhere", [&](unsigned r) { return fields::non_finite<T>(n, r); });
    put("NaN and Inf in constant fields", [&](unsigned r) {
        std::vector<T> x(n, static_cast<T>(r));
        for (std::size_t i = r; i < n; i += 40 + r)
            x[i] = i % 3 == 0 ? nan : i % 3 == 1 ? infinity : -infinity;
        return x;
    });
    put("NaN and Inf at the same places", [&](unsigned r) {
        auto x = fields::smooth<T>(n, r);
        for (std::size_t i = 5; i < n; i += 50)
            x[i] = (i / 50 + r) % 4 == 0     ? nan
                   : (i / 50) % (r + 1) == 0 ? infinity
                   : r % 2 == 0              ? -infinity
                                             : T(1);
        return x;
    });
    put("nothing but NaN and Inf", [&](unsigned r) {
        return numbers<T>(n, [&](std::size_t i) {
            return (i + r) % 3 == 0 ? nan : r % 2 == 0 ? infinity : -infinity;
        });
    });
    put("far values at the same places",
        [&](unsigned r) { return with(fields::smooth<T>(n, r), 7, 10, T(1e20)); });
    put("far values at different places",
        [&](unsigned r) { return with(fields::smooth<T>(n, r), r, 30, r % 3 == 0 ? T(-1e17) : T(1e20)); });
    put("far values that cancel",
        [&](unsigned r) { return with(fields::smooth<T>(n, r), 3, 11, r % 2 == 0 ? T(1e20) : T(-1e20)); });
    put("far values, NaN and Inf", [&](unsigned r) {
        return with(with(fields::smooth<T>(n, r), r, 20, T(1e20)), 3, 20,
                    r % 3 == 0   ? nan
                    : r % 3 == 1 ? infinity
                                 : T(1e20));
    });
    put("outgrows narrow quanta", [&](unsigned r) {
        fields::generator random(r);
        return numbers<T>(n, [&](std::size_t) { return random.unit() * 0x1p29 * step * (r % 3 + 1); });
    });
    put("outgrows narrow quanta and cancels", [&](unsigned r) {
        fields::generator random(1 + (r - 1) / 2);  // pairs of opposite values: nothing is left of them
        const double sign = r % 2 == 0 ? -1 : 1;
        return numbers<T>(n, [&](std::size_t) { return sign * random.unit() * 0x1.fp30 * step; });
    });
    put("constants that outgrow narrow quanta and cancel", [&](unsigned r) {
        return std::vector<T>(n, static_cast<T>((r % 2 == 0 ? -0x1.8p30 : 0x1.8p30) * step));
    });
    put("wide and narrow", [&](unsigned r) {
        return numbers<T>(n, [&](std::size_t i) {
            return r % 2 == 0 && i % 100 == 50 ? 0x1.234p40 * step : 0.1 * static_cast<double>(i % 17);
        });
    });
    put("wide and flat",
        [&](unsigned r) { return std::vector<T>(n, static_cast<T>(r % 2 == 0 ? 0x1.5p35 * step : 1.0)); });
    put("wide, with NaN and Inf", [&](unsigned r) {
        fields::generator random(r);
        return numbers<T>(n, [&](std::size_t i) -> T {
            const T x = static_cast<T>(random.unit() * 0x1p44 * step);
            return i % 70 != r ? x : r % 3 == 0 ? nan : r % 3 == 1 ? infinity : -infinity;
        });
    });
    put("around 2^45 steps", [&](unsigned r) {  // a few of these are exceptional
        fields::generator random(r);
        return numbers<T>(n, [&](std::size_t i) {
            return (i % 2 == 0 ? 1 : -1) *
                   (0x1p45 - (i % 64 == 3 ? 0.0 : 0x1p30) - static_cast<double>(random.below(1000))) * step;
        });
    });
    put("alternating, the longest narrow differences", [&](unsigned r) {
        return numbers<T>(n, [&](std::size_t i) {
            return ((i + r) % 2 == 0 ? 1 : -1) * (0x1p30 - static_cast<double>(i)) * step;
        });
    });
    put("denormal", [&](unsigned r) { return fields::denormal<T>(n, r); });
    if (p > 1)
        put("one chunk of few is wide", [&](unsigned r) {
            auto x = fields::smooth<T>(n, r);
            if (r == 2 && n > 0) x[n - 1] = static_cast<T>(0x1p33 * step);
            return x;
        });
    return all;
}

template <class T>
std::vector<bytes> frames_of(const family<T>& f)
{
    std::vector<bytes> frames;
    for (const auto& x : f.values) {
        const result r = addend(x, f.eb);
        REQUIRE(r.code == status::ok);
        frames.push_back(r.frame);
    }
    return frames;
}

/// In the order of the ranks.
template <class T>
bytes total(const std::vector<bytes>& frames, std::size_t n)
{
    bytes sum = frames[0];
    for (std::size_t r = 1; r < frames.size(); ++r) {
        const result next = add<T>(sum, frames[r], n);
        REQUIRE(next.code == status::ok);
        sum = next.frame;
    }
    return sum;
}

/// The sum of every subset by every split of it in two, in both orders: by induction these are all trees over
/// all permutations.
/// @return how many additions decode to something else, or have another status, than the first one of their
///     subset
template <class T>
std::size_t order_dependent(const std::vector<bytes>& frames, std::size_t n, result& sum_of_all)
{
    const std::size_t subsets = std::size_t{1} << frames.size();
    std::vector<result> sums(subsets);
    std::vector<std::vector<T>> values(subsets);
    std::size_t different = 0;
    for (std::size_t r = 0; r < frames.size(); ++r) sums[std::size_t{1} << r].frame = frames[r];
    for (std::size_t s = 1; s < subsets; ++s) {
        bool first = true;
        for (std::size_t part = (s - 1) & s; part > 0; part = (part - 1) & s) {
            const result r = add<T>(sums[part].frame, sums[s ^ part].frame, n);
            const auto y = values_of<T>(r, n);
            if (first) {
                sums[s] = r;
                values[s] = y;
            } else different += r.code != sums[s].code || !round_trip::same_bits(y, values[s]);
            first = false;
        }
    }
    sum_of_all = sums.back();
    return different;
}

}  // namespace szp_sums_cases
