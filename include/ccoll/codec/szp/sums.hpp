// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/sums.hpp - floor 2. Chunks of SZp from quanta, and sums of chunks. Nothing here depends on the element type.
#pragma once

#include <ccoll/codec/exceptions/addends.hpp>
#include <ccoll/codec/szp/kernels.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Writes the head. @param base  of a flat chunk
inline encode_result finish(chunk_head head, const packed& all, i64 base, u8* out) noexcept
{
    head.flat = all.flat;
    head.write(out);
    if (!all.flat) return {static_cast<std::size_t>(all.end - out)};
    put(out + head_bytes, base);
    return {flat_bytes};
}
/// Where the exceptional values of a chunk go.
inline u8* behind(const encode_result& r, u8* out) noexcept
{
    std::memset(out + r.bytes, 0, unit);
    return out + in_units(r.bytes);
}
inline encode_result with_exceptions(u8* at, const u8* end, std::size_t values, u8* out) noexcept
{
    put(out + 6, static_cast<u16>(static_cast<std::size_t>(at - out) / unit));
    encode_result r{static_cast<std::size_t>(end - out)};
    r.special_values = values;
    return r;
}

inline encode_result pack_quanta(i64* q, std::size_t n, chunk_head head, u8* out) noexcept
{
    head.above = {};
    head.left = true;
    if (head.scale != scale::bits) head.wide = true;
    const packed all = packers.in_use()(q, n, head.wide, out);
    if (head.scale == scale::bound) head.largest = all.largest;
    return finish(head, all, q[0], out);
}

inline bool read_exceptions(const chunk_view& v, exceptions::addend& to) noexcept
{
    const std::size_t at = v.head.exceptions;
    return exceptions::read_addend(v.bytes + at, at == 0 ? 0 : v.size - at, v.n, to);
}
inline status read_quanta(const chunk_view& v, i64* to) noexcept
{
    if (v.head.flat) {
        std::fill_n(to, v.n, v.base);
        return status::ok;
    }
    return v.head.wide ? wide_readers.in_use()(v, to) : narrow_readers.in_use()(v, to);
}

namespace sums {

/// Are differences what they are, and not modulo 2^32?
inline bool are_whole(const chunk_view& v) noexcept
{
    return v.head.wide || (v.head.above.none() && v.head.largest < u64{1} << narrow_exponent);
}

inline encode_result pack_sum(i64* p, const i64* q, std::size_t n, u8* out) noexcept
{
    for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<i64>(static_cast<u64>(p[i]) + static_cast<u64>(q[i]));
    return pack_quanta(p, n, {}, out);
}

/// The sum of a chunk and a flat one.
/// @param head  largest is set
inline encode_result raised(const chunk_view& v, i64 by, chunk_head head, u8* out) noexcept
{
    const auto plus = [](i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) + static_cast<u64>(b)); };
    if (v.head.flat) {
        packed all;
        all.flat = true;
        return finish(head, all, plus(v.base, by), out);
    }
    if (!v.head.left || v.head.exceptions != 0 || v.size > most_bytes(v.n, v.head.wide) || (!v.head.wide && head.largest >> 31 != 0)) {
        alignas(64) i64 q[chunk_elements];
        if (read_quanta(v, q) != status::ok) return {0, status::corrupt};
        for (std::size_t i = 0; i < v.n; ++i) q[i] = plus(q[i], by);
        return pack_quanta(q, v.n, head, out);
    }
    for (std::size_t g = 0; g < v.groups; ++g)
        if (group_view one; !v.open(g, one)) return {0, status::corrupt};
    std::memcpy(out, v.bytes, v.size);
    head.wide = v.head.wide;
    head.above = v.head.above;
    head.write(out);
    // With distances, later bases are differences, which stay.
    for (std::size_t g = 0; g < (v.head.above.none() ? v.groups : 1); ++g) {
        u8* const at = out + (v.head.wide ? bases_at(v.groups) + 8 * g : places_at(v.groups) + 8 * g + 4);
        if (v.head.wide) put(at, plus(get<i64>(at), by));
        else put(at, static_cast<i32>(plus(get<i32>(at), by)));
    }
    return {v.size};
}

/// @param largest  not below the magnitude of any sum
inline encode_result sum_of_quanta(const chunk_view& x, const chunk_view& y, u64 largest, u8* out) noexcept
{
    chunk_head head;
    head.largest = largest;
    const bool alike = !x.head.flat && !y.head.flat && x.head.left && y.head.left && x.head.above == y.head.above;
    const bool narrow = !x.head.wide && !y.head.wide && largest >> 31 == 0;
    if (alike && (narrow || (are_whole(x) && are_whole(y)))) {
        head.above = x.head.above;
        head.wide = !narrow;
        const packed all = adders.in_use()(x, y, head.wide, out);
        if (all.end == nullptr) return {0, status::corrupt};
        return finish(head, all, 0, out);
    }
    if (x.head.flat && x.head.exceptions == 0) return raised(y, x.base, head, out);
    if (y.head.flat && y.head.exceptions == 0) return raised(x, y.base, head, out);
    alignas(64) i64 p[chunk_elements], q[chunk_elements];
    if (read_quanta(x, p) != status::ok || read_quanta(y, q) != status::ok) return {0, status::corrupt};
    return pack_sum(p, q, x.n, out);
}

/// Quanta matter only where a place is exceptional in one operand and not in the other.
[[gnu::noinline]] inline encode_result sum_of_exceptions(const chunk_view& x, const chunk_view& y, u64 largest, u8* out) noexcept
{
    const std::size_t n = x.n, at_x = x.head.exceptions, at_y = y.head.exceptions;
    const u8 *const from_x = x.bytes + at_x, *const from_y = y.bytes + at_y;
    const auto append = [&](const encode_result& r, auto merge) -> encode_result {
        if (r.code != status::ok) return r;
        u8* const section = behind(r, out);
        const exceptions::merged m = merge(section, section + exceptions::most_addend_bytes(n));
        if (m.code != status::ok) return {0, m.code};
        return with_exceptions(section, m.end, 0, out);
    };
    if (at_x != 0 && at_y != 0 && exceptions::are_alike(from_x, x.size - at_x, from_y, y.size - at_y, n))
        return append(sum_of_quanta(x, y, largest, out),
                      [&](u8* to, const u8* end) { return exceptions::merge_alike(from_x, x.size - at_x, from_y, n, to, end); });
    exceptions::addend a, b;
    if (!read_exceptions(x, a) || !read_exceptions(y, b)) return {0, status::corrupt};
    if (exceptions::have_same_bridges(a, b, n))
        return append(sum_of_quanta(x, y, largest, out),
                      [&](u8* to, const u8* end) { return exceptions::merge(a, b, n, nullptr, nullptr, to, end); });
    alignas(64) i64 p[chunk_elements], q[chunk_elements];
    if (read_quanta(x, p) != status::ok || read_quanta(y, q) != status::ok) return {0, status::corrupt};
    // The sections first, because they set bridges to 0.
    alignas(64) u8 room[exceptions::most_addend_bytes(chunk_elements)];
    const exceptions::merged m = exceptions::merge(a, b, n, p, q, room, room + sizeof room);
    if (m.code != status::ok) return {0, m.code};
    return append(pack_sum(p, q, n, out), [&](u8* to, const u8*) {
        const auto bytes = static_cast<std::size_t>(m.end - room);
        std::memcpy(to, room, bytes);
        return exceptions::merged{to + bytes};
    });
}

inline encode_result add(const chunk_view& x, const chunk_view& y, u8* out) noexcept
{
    const u64 largest = x.head.largest + y.head.largest;
    if (largest < x.head.largest || largest >> 62 != 0) return {0, status::too_large};
    if (x.head.exceptions == 0 && y.head.exceptions == 0) return sum_of_quanta(x, y, largest, out);
    return sum_of_exceptions(x, y, largest, out);
}

}  // namespace sums

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
