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
    head.flat = all.flat;
    head.wide = all.wide;
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

inline encode_result pack_quanta(const quanta_source& from, std::size_t n, bool wide, chunk_head head,
                                 u8* out, u8* limit) noexcept
{
    const packed all = packers(from, n, wide, out, limit);
    return all.full ? encode_result{0, status::out_of_space} : finish(head, all, out);
}

CCOLL_EXACT_BEGIN  // for its optimisation

inline const_byte_span exceptions_of(const chunk_view& v) noexcept
{
    const std::size_t at = v.head.exceptions;
    return {reinterpret_cast<const std::byte*>(v.bytes + at), at == 0 ? 0 : v.size - at};
}
/// The quanta of a chunk, group by group, so that a chunk of them need not be held. Each of these calls
/// each(group, quanta); `quanta` may be changed, and what becomes of them has no effect.
template <class Each>
[[gnu::noinline]] status read_groups(const chunk_view& v, const Each& each) noexcept
{
    chunk_planes all;
    alignas(64) i64 q[group_elements];
    if (!v.head.flat && !v.open(all)) return status::corrupt;
    for (std::size_t g = 0; g < v.groups; ++g) {
        const group_view& of = all.of[g];
        if (v.head.flat) {
            std::fill_n(q, group_elements, v.base);
        } else {
            group_readers(of, v.head.left, of.base, !v.head.wide, q);
        }
        each(g, q);
    }
    return status::ok;
}
/// Those of a narrow chunk that is predicted from above.
template <class Each>
[[gnu::noinline]] status read_rows(const chunk_view& v, const Each& each) noexcept
{
    chunk_quanta room;
    if (const status s = narrow_readers(v, room); s != status::ok) return s;
    alignas(64) i64 q[group_elements];
    for (std::size_t g = 0; g < v.groups; ++g) {
        const i32* const from = room.first() + group_elements * g;
        const std::size_t count = length_of(v.n, g);
        for (std::size_t i = 0; i < count; ++i) q[i] = from[i];
        each(g, q);
    }
    return status::ok;
}
/// And those of a wide one.
template <class Each>
[[gnu::noinline]] status read_wide_rows(const chunk_view& v, const Each& each) noexcept
{
    alignas(64) i64 room[chunk_elements];
    i64* const q = room;  // nvcc warns of an array that a lambda fills
    const distances above = v.head.above;
    chunk_planes all;
    if (!v.open(all)) return status::corrupt;
    const auto quantum = [&](std::size_t i, std::size_t distance) {
        return static_cast<u64>(i < distance ? v.base : q[i - distance]);
    };
    for (std::size_t g = 0; g < v.groups; ++g) {
        const std::size_t begin = group_elements * g, end = begin + length_of(v.n, g);
        alignas(64) i64 rest[group_elements];
        group_readers(all.of[g], v.head.left, g == 0 ? 0 : all.of[g].base, false, rest);
        for (std::size_t i = begin; i < end; ++i) {
            u64 sum = static_cast<u64>(rest[i - begin]) + quantum(i, above.row);
            if (above.plane != 0) sum += quantum(i, above.plane) - quantum(i, above.reach());
            q[i] = static_cast<i64>(sum);
        }
    }
    for (std::size_t g = 0; g < v.groups; ++g) each(g, q + group_elements * g);
    return status::ok;
}
template <class Each>
status read_quanta(const chunk_view& v, const Each& each) noexcept
{
    if (v.head.flat || v.head.above.none()) return read_groups(v, each);
    return v.head.wide ? read_wide_rows(v, each) : read_rows(v, each);
}

namespace sums {

/// Are differences what they are, and not modulo 2^32?
inline bool are_whole(const chunk_view& v) noexcept
{
    return v.head.flat || v.head.wide || (v.head.above.none() && v.head.largest < u64{1} << narrow_exponent);
}
/// The sum of any two chunks by their quanta. These stand where the room for the sum ends, which grows
/// towards them and never reaches one that has not been read.
/// @param no_x, no_y  quanta that do not count: a mask for each block, or null
[[gnu::noinline]] inline encode_result sum_one_by_one(const chunk_view& x, const chunk_view& y,
                                                      const u32* no_x, const u32* no_y, u8* out) noexcept
{
    struct quanta_in_memory : quanta_source {
        const i64* q;
        std::size_t n;
    };
    u8* const end = out + most_bytes(x.n, true) + slack - sizeof(i64) * block_elements * blocks_of(x.n);
    i64* const p = reinterpret_cast<i64*>(end - reinterpret_cast<std::uintptr_t>(end) % alignof(i64));
    const auto without = [&](i64* q, std::size_t g, const u32* mask) {
        for (std::size_t k = 0; mask != nullptr && k < blocks_of(length_of(x.n, g)); ++k)
            exceptions::each_bit(mask[group_blocks * g + k],
                                 [&](std::size_t i) { q[block_elements * k + i] = 0; });
    };
    u64 most = 0;
    status s = read_quanta(x, [&](std::size_t g, i64* q) {
        without(q, g, no_x);
        std::memcpy(p + group_elements * g, q, sizeof(i64) * length_of(x.n, g));
    });
    if (s == status::ok)
        s = read_quanta(y, [&](std::size_t g, i64* q) {
            without(q, g, no_y);
            for (std::size_t i = 0, n = length_of(x.n, g); i < n; ++i) {
                i64& sum = p[group_elements * g + i];
                sum = static_cast<i64>(static_cast<u64>(sum) + static_cast<u64>(q[i]));
                most = std::max(most, sum < 0 ? u64{0} - static_cast<u64>(sum) : static_cast<u64>(sum));
            }
        });
    if (s != status::ok) return {0, status::corrupt};
    const quanta_in_memory sums{{[](const quanta_source& me, std::size_t g, i64* to) noexcept {
                                    const auto& of = static_cast<const quanta_in_memory&>(me);
                                    std::memcpy(to, of.q + group_elements * g,
                                                sizeof(i64) * length_of(of.n, g));
                                }},
                                p,
                                x.n};
    return pack_quanta(sums, x.n, most >= u64{1} << narrow_exponent, {}, out, nullptr);
}

CCOLL_EXACT_END

/// The sum of a narrow chunk and one whose quanta are all `base`: most of it is a copy.
/// @return  unsupported: its planes stand in its front, which changes
inline encode_result shifted(const chunk_view& x, i64 base, u64 largest, u8* out) noexcept
{
    chunk_planes all;
    if (!x.open(all)) return {0, status::corrupt};
    for (std::size_t g = 0; g < x.groups; ++g)
        if (!all.of[g].flat &&
            unit * get<u16>(x.bytes + places_at(x.groups) + 8 * g) < front_bytes(x.groups, false))
            return {0, status::unsupported};
    std::memcpy(out, x.bytes, x.size);
    put(out + 8, largest);
    // Bases of later groups of rows are differences.
    for (std::size_t g = 0; g < (x.head.above.none() ? x.groups : 1); ++g) {
        u8* const at = out + places_at(x.groups) + 8 * g + 4;
        put(at, get<u32>(at) + static_cast<u32>(base));
    }
    return {x.size};
}
/// @param largest  not below the magnitude of any sum
inline encode_result sum_of_quanta(const chunk_view& x, const chunk_view& y, u64 largest, u8* out) noexcept
{
    chunk_head head;
    packed all{.base = static_cast<i64>(static_cast<u64>(x.base) + static_cast<u64>(y.base)),
               .largest = largest};
    all.flat = x.head.flat && y.head.flat;
    if (all.flat) return finish(head, all, out);
    // A flat chunk is predicted as the other one.
    const bool one_is_flat = x.head.flat || y.head.flat, alike = one_is_flat || x.head.above == y.head.above;
    const bool narrow = !x.head.wide && !y.head.wide && largest >> 31 == 0;
    if (alike && (x.head.left || x.head.flat) && (y.head.left || y.head.flat) &&
        (narrow || (are_whole(x) && are_whole(y)))) {
        const chunk_view& other = x.head.flat ? y : x;
        if (one_is_flat && narrow && (x.head.exceptions | y.head.exceptions) == 0 &&
            other.size <= most_bytes(x.n, false))
            if (const auto r = shifted(other, x.head.flat ? x.base : y.base, largest, out);
                r.code != status::unsupported)
                return r;
        head.above = other.head.above;
        all = adders(x, y, head.above, !narrow, out);
        all.largest = largest;
        return all.end != nullptr ? finish(head, all, out) : encode_result{0, status::corrupt};
    }
    return sum_one_by_one(x, y, nullptr, nullptr, out);
}

/// Quanta matter only where a place is exceptional in one operand and not in the other.
[[gnu::noinline]] inline encode_result sum_of_exceptions(const chunk_view& x, const chunk_view& y,
                                                         u64 largest, u8* out) noexcept
{
    u8* const sections = out + most_bytes(x.n, true) + slack;  // no sum of quanta reaches that
    exceptions::addend a, b;
    const exceptions::merged all = exceptions::merge(exceptions_of(x), exceptions_of(y), x.n, a, b, sections,
                                                     sections + exceptions::most_addend_bytes(x.n));
    encode_result r{0, all.code};
    if (all.code == status::ok && !all.bridges_matter) r = sum_of_quanta(x, y, largest, out);
    if (all.code == status::ok && all.bridges_matter) {
        // Bridges that meet a quantum of the other one.
        u32 no_x[exceptions::most_blocks], no_y[exceptions::most_blocks];
        exceptions::bridges_only_in(a, b, x.n, no_x);
        exceptions::bridges_only_in(b, a, x.n, no_y);
        r = sum_one_by_one(x, y, no_x, no_y, out);
    }
    if (r.code != status::ok) return r;
    u8* const at = behind(r, out);
    const auto bytes = static_cast<std::size_t>(all.end - sections);
    std::memmove(at, sections, bytes);
    return with_exceptions(at, at + bytes, 0, out);
}

/// @param out  most_addend_bytes(n), not in the memory of an operand
inline encode_result add(const chunk_view& x, const chunk_view& y, u8* out) noexcept
{
    const u64 largest = x.head.largest + y.head.largest;
    if (largest < x.head.largest || largest >> 62 != 0) return {0, status::too_large};
    if (x.head.exceptions == 0 && y.head.exceptions == 0) return sum_of_quanta(x, y, largest, out);
    return sum_of_exceptions(x, y, largest, out);
}

}  // namespace sums

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
