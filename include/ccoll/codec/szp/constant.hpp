// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/constant.hpp - floor 2. Chunks whose values are all equal, which an encoder need not look at one by one.
#pragma once

#include <cstring>
#include <span>

#include <ccoll/base/config.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/codec/szp/layout.hpp>
#include <ccoll/codec/szp/quantiser.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Are all values the same bits? Not asked of short chunks, which are encoded at once in any case.
template <element T>
bool is_constant(std::span<const T> in) noexcept
{
    constexpr std::size_t enough = 1024;
    const T* const x = in.data();
    return in.size() >= enough && std::memcmp(x, x + 1, block_elements * sizeof(T)) == 0 &&
           std::memcmp(x, x + 1, (in.size() - 1) * sizeof(T)) == 0;
}

/// What the common grid makes of such a chunk: head_bytes() of a flat one.
/// @return  unsupported: it does not hold the value
template <element T>
encode_result encode_flat(T value, const quantiser<T>& z, u8* out) noexcept
{
    const auto w = fields_of<T>::magnitude(value);
    if (w >= z.safe) return {0, status::unsupported};
    put(out, chunk_head(kind::flat, 0).word());
    put(out + 4, narrow_base_of(value, z));
    put(out + 8, z.largest_quantum(w));
    return {head_bytes(kind::flat, sizeof(T))};
}

}  // namespace ccoll::detail::szp
