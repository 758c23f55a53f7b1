// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_kernels.hpp - floor 2. The kernels of SZp for the instruction set in use; chosen per chunk, never per block.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp_portable.hpp>
#if defined(__x86_64__) && defined(__GNUC__)
#include <ccoll/codec/szp_x86.hpp>
#endif

namespace ccoll::detail::szp {

template <element T>
struct kernels {
    encoded_blocks (*encode)(const T*, std::size_t n, const quantiser<T>&, beyond_safe, i32 base, u8* out, const u8* last, u8* codes) noexcept;
    encoded_blocks (*encode_fine)(const T*, std::size_t n, const quantiser<T>&, beyond_safe, i32 base, u8* out, const u8* last, u8* codes) noexcept;
    void (*decode)(const chunk_view&, T step, T*, std::size_t n) noexcept;
    encoded_blocks (*add)(const chunk_view&, const chunk_view&, u8* out, u8* codes) noexcept;
};

#define CCOLL_SZP_KERNELS(where)                                                                                      \
    [] {                                                                                                              \
        kernels<T> k{&where::encode_blocks<false, T>, nullptr, &where::decode_blocks<T>, &where::add_chunk_blocks};         \
        if constexpr (is_f32<T>) k.encode_fine = &where::encode_blocks<true, T>; /* f64: szp_wide.hpp */              \
        return k;                                                                                                     \
    }()

template <element T>
inline constexpr kernels<T> kernels_of[] = {
    CCOLL_SZP_KERNELS(portable),
#if defined(__x86_64__) && defined(__GNUC__)
    CCOLL_SZP_KERNELS(avx2),
    CCOLL_SZP_KERNELS(avx512),
    CCOLL_SZP_KERNELS(avx512_gfni),
#endif
};
#undef CCOLL_SZP_KERNELS

template <element T>
const kernels<T>& kernels_in_use() noexcept
{
    return kernels_of<T>[static_cast<int>(isa_in_use())];
}

}  // namespace ccoll::detail::szp
