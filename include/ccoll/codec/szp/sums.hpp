// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/sums.hpp - floor 2. Chunks of SZp from quanta, and sums of chunks, whatever the element type.
#pragma once

#include <ccoll/codec/exceptions.hpp>
#include <ccoll/codec/szp/kernels.hpp>
#include <ccoll/codec/szp/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Writes the head.
inline encode_result finish(chunk_head head, const packed& all, u8* out) noexcept
{
    head.flat = all.flat, head.wide = all.wide;
    if (!head.own) head.largest = all.largest;
    head.write(out);
    if (!all.flat) return {static_cast<std::size_t>(all.end - out)};
    put(out + head_bytes, all.base);
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

inline encode_result pack_quanta(i64* q, std::size_t n, chunk_head head, u8* out) noexcept { return finish(head, packers(q, n, out), out); }

CCOLL_EXACT_BEGIN  // for its optimisation

inline const_byte_span exceptions_of(const chunk_view& v) noexcept
{
    const std::size_t at = v.head.exceptions;
    return {reinterpret_cast<const std::byte*>(v.bytes + at), at == 0 ? 0 : v.size - at};
}
inline status read_quanta(const chunk_view& v, i64* to) noexcept
{
    if (v.head.flat) {
        std::fill_n(to, v.n, v.base);
        return status::ok;
    }
    if (v.head.wide) return wide_readers(v, to);
    chunk_quanta room;
    const i32* const q = room.first(v.head.above);
    if (const status s = narrow_readers(v, room.first(v.head.above)); s != status::ok) return s;
    for (std::size_t i = 0; i < v.n; ++i) to[i] = q[i];
    return status::ok;
}

namespace sums {

/// Are differences what they are, and not modulo 2^32?
inline bool are_whole(const chunk_view& v) noexcept
{
    return v.head.flat || v.head.wide || (v.head.above.none() && v.head.largest < u64{1} << narrow_exponent);
}
inline encode_result pack_sum(i64* p, const i64* q, std::size_t n, u8* out) noexcept
{
    for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<i64>(static_cast<u64>(p[i]) + static_cast<u64>(q[i]));
    return pack_quanta(p, n, {}, out);
}

CCOLL_EXACT_END

/// The sum of a narrow chunk and one whose quanta are all `base`: most of it is a copy.
/// @return  unsupported: its planes stand in its front, which changes
inline encode_result shifted(const chunk_view& x, i64 base, u64 largest, u8* out) noexcept
{
    chunk_planes all;
    if (!x.open(all)) return {0, status::corrupt};
    for (std::size_t g = 0; g < x.groups; ++g)
        if (!all.of[g].flat && unit * get<u16>(x.bytes + places_at(x.groups) + 8 * g) < front_bytes(x.groups, false))
            return {0, status::unsupported};
    std::memcpy(out, x.bytes, x.size);
    put(out + 8, largest);
    for (std::size_t g = 0; g < (x.head.above.none() ? x.groups : 1); ++g) {  // bases of later groups of rows are differences
        u8* const at = out + places_at(x.groups) + 8 * g + 4;
        put(at, get<u32>(at) + static_cast<u32>(base));
    }
    return {x.size};
}
/// @param largest  not below the magnitude of any sum
inline encode_result sum_of_quanta(const chunk_view& x, const chunk_view& y, u64 largest, u8* out) noexcept
{
    chunk_head head;
    packed all{.base = static_cast<i64>(static_cast<u64>(x.base) + static_cast<u64>(y.base)), .largest = largest};
    all.flat = x.head.flat && y.head.flat;
    if (all.flat) return finish(head, all, out);
    // A flat chunk is predicted as the other one.
    const bool one_is_flat = x.head.flat || y.head.flat, alike = one_is_flat || x.head.above == y.head.above;
    const bool narrow = !x.head.wide && !y.head.wide && largest >> 31 == 0;
    if (alike && (x.head.left || x.head.flat) && (y.head.left || y.head.flat) && (narrow || (are_whole(x) && are_whole(y)))) {
        const chunk_view& other = x.head.flat ? y : x;
        if (one_is_flat && narrow && (x.head.exceptions | y.head.exceptions) == 0 && other.size <= most_bytes(x.n, false))
            if (const auto r = shifted(other, x.head.flat ? x.base : y.base, largest, out); r.code != status::unsupported) return r;
        head.above = other.head.above;
        all = adders(x, y, head.above, !narrow, out);
        all.largest = largest;
        return all.end != nullptr ? finish(head, all, out) : encode_result{0, status::corrupt};
    }
    alignas(64) i64 p[chunk_elements], q[chunk_elements];
    if (read_quanta(x, p) != status::ok || read_quanta(y, q) != status::ok) return {0, status::corrupt};
    return pack_sum(p, q, x.n, out);
}

/// Quanta matter only where a place is exceptional in one operand and not in the other.
[[gnu::noinline]] inline encode_result sum_of_exceptions(const chunk_view& x, const chunk_view& y, u64 largest, u8* out) noexcept
{
    u8 sections[exceptions::most_addend_bytes(chunk_elements)];
    exceptions::addend a, b;
    const exceptions::merged all = exceptions::merge(exceptions_of(x), exceptions_of(y), x.n, a, b, sections, sections + sizeof sections);
    encode_result r{0, all.code};
    if (all.code == status::ok && !all.bridges_matter) r = sum_of_quanta(x, y, largest, out);
    if (all.code == status::ok && all.bridges_matter) {
        alignas(64) i64 p[chunk_elements], q[chunk_elements];
        if (read_quanta(x, p) != status::ok || read_quanta(y, q) != status::ok) return {0, status::corrupt};
        exceptions::clear_bridges(a, b, x.n, p);
        exceptions::clear_bridges(b, a, x.n, q);
        r = pack_sum(p, q, x.n, out);
    }
    if (r.code != status::ok) return r;
    u8* const at = behind(r, out);
    const auto bytes = static_cast<std::size_t>(all.end - sections);
    std::memcpy(at, sections, bytes);
    return with_exceptions(at, at + bytes, 0, out);
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
