// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/combine.hpp - floor 2. Sums of multiples of addends.
#pragma once

#include <cstdlib>

#include <ccoll/codec/szp/sizes.hpp>
#include <ccoll/codec/szp/sums.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp::sums {

/// The addend of factor x. With a factor of 0 all values are 0.
inline encode_result multiple(const chunk_view& x, i32 factor, u8* out) noexcept
{
    if (factor == 0) {
        packed all;
        all.flat = true;
        return finish({}, all, 0, out);
    }
    const auto times = static_cast<u64>(std::abs(static_cast<i64>(factor)));
    if (x.head.largest > ((u64{1} << 62) - 1) / times) return {0, status::too_large};
    alignas(64) i64 q[chunk_elements];
    if (read_quanta(x, q) != status::ok) return {0, status::corrupt};
    for (std::size_t i = 0; i < x.n; ++i) q[i] = static_cast<i64>(static_cast<u64>(q[i]) * static_cast<u64>(i64{factor}));
    const encode_result r = pack_quanta(q, x.n, {}, out);
    const std::size_t at = x.head.exceptions;
    if (at == 0 || r.code != status::ok) return r;
    u8* const section = behind(r, out);
    const exceptions::merged m =
        exceptions::scale(x.bytes + at, x.size - at, x.n, factor, section, section + exceptions::most_addend_bytes(x.n));
    if (m.code != status::ok) return {0, m.code};
    return with_exceptions(section, m.end, 0, out);
}

/// The addend of p x + q y.
[[gnu::noinline]] inline encode_result combine(i32 p, const chunk_view& x, i32 q, const chunk_view& y, u8* out) noexcept
{
    constexpr std::size_t room = most_addend_bytes(chunk_elements);
    alignas(64) u8 a[room], b[room];
    const encode_result of_x = multiple(x, p, a), of_y = multiple(y, q, b);
    for (const encode_result& r : {of_x, of_y})
        if (r.code != status::ok) return r;
    chunk_view px, qy;
    for (const status s : {read_chunk({reinterpret_cast<const std::byte*>(a), of_x.bytes}, x.n, px),
                           read_chunk({reinterpret_cast<const std::byte*>(b), of_y.bytes}, x.n, qy)})
        if (s != status::ok) return {0, s};
    return add(px, qy, out);
}

}  // namespace ccoll::detail::szp::sums
