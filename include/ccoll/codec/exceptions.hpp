// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions.hpp - floor 2. Sections of exceptional values in wire version 6: what a lossy codec takes out of a chunk and sends
// beside it. In movement they survive bit for bit; in addends they are wide integers
// (exceptions/addends.hpp). docs/wire_format.md has the law and the bytes.
#pragma once

#include <ccoll/codec/exceptions/kernels.hpp>

namespace ccoll::inline CCOLL_ABI::detail::exceptions {

template <element T>
inline constexpr by_isa bit_finders{CCOLL_EACH_ISA(has_bits<T>)};
template <element T>
inline constexpr by_isa splitters{CCOLL_EACH_ISA(split<T>)};
template <element T>
inline constexpr by_isa bridges{CCOLL_EACH_ISA(bridge<T>)};
template <element T>
inline constexpr by_isa writers{CCOLL_EACH_ISA(write<T>)};
template <element T>
inline constexpr by_isa readers{CCOLL_EACH_ISA(read<T>)};
template <element T>
inline constexpr by_isa wide_writers{CCOLL_EACH_ISA(write_wide<T>)};
template <element T>
inline constexpr by_isa entry_putters{CCOLL_EACH_ISA(put_entries<T>)};
inline constexpr by_isa openers{CCOLL_EACH_ISA(open)};

// What these do, exceptions/bridges.inl and loops.inl say.

template <element T>
bool has_bits(const T* x, std::size_t n, typename fields_of<T>::word bits) noexcept
{
    return bit_finders<T>.in_use()(x, n, bits);
}
template <element T>
void split(const T* x, std::size_t n, const rule<T>& is, places& found, T* to) noexcept
{
    splitters<T>.in_use()(x, n, is, found, to);
}
template <element T>
void bridge(T* x, std::size_t n, const places& at) noexcept
{
    bridges<T>.in_use()(x, n, at);
}
/// most_bytes(n, sizeof(T)) is always enough room.
template <element T>
u8* write(const T* x, std::size_t n, const places& at, u8* to, const u8* end, std::size_t most_changes = ~std::size_t{0}) noexcept
{
    return writers<T>.in_use()(x, n, at, most_changes, to, end);
}
template <element T>
bool read(const u8* from, std::size_t bytes, T* x, std::size_t n) noexcept
{
    return readers<T>.in_use()(from, bytes, x, n);
}

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions
