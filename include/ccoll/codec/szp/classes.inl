// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/classes.inl - floor 2. Blocks of addends that have NaN or infinities: one text, compiled once for each instruction set. Uses
//   by_mask      the namespace of this set in codec/specials/kernels.hpp

/// Which values are not finite, and whether all others are narrow.
template <class T>
CCOLL_INLINE block_class class_of(const T* block, const quantiser<T>& z) noexcept
{
    using fields = fields_of<T>;
    const u32 special = by_mask::beyond_limit(block, fields::exponent);
    const u32 positive = by_mask::equal(block, fields::exponent), negative = by_mask::equal(block, fields::exponent | fields::sign);
    return {special & ~negative, special & ~positive, (by_mask::beyond_limit(block, z.narrow) & ~special) == 0};
}

/// Puts NaN and infinities where the class planes have them, when all blocks have been decoded. Blocks with classes are listed without a
/// branch first, because processors cannot predict where they are.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline void put_classes(const chunk_view& view, T* x, std::size_t n) noexcept
{
    using fields = fields_of<T>;
    constexpr auto not_a_number = fields::exponent | fields::exponent_one >> 1;
    u8 block_of[chunk_blocks];
    const u8 *planes_of[chunk_blocks], *p = view.blocks;
    std::size_t count = 0;
    for (std::size_t k = 0; k < view.count; ++k) {
        block_of[count] = static_cast<u8>(k);
        planes_of[count] = p;
        count += view.codes.of[k] / class_code;
        const unsigned width = width_behind_classes(p, view.codes.of[k]);
        p += 4 * width;
    }
    for (std::size_t j = 0; j < count; ++j) {
        const std::size_t k = block_of[j], from = block_elements * k;
        const u32 a = get<u32>(planes_of[j]), b = get<u32>(planes_of[j] + 4);
        if (n - from < block_elements) [[unlikely]] {
            T last[block_elements];
            std::memcpy(last, x + from, (n - from) * sizeof(T));
            apply_class(a, b, last);
            std::memcpy(x + from, last, (n - from) * sizeof(T));
            break;
        }
        by_mask::put(x + from, a & b, static_cast<typename fields::word>(not_a_number));
        if (a == b) [[likely]]
            continue;
        by_mask::put(x + from, a & ~b, fields::exponent);
        by_mask::put(x + from, b & ~a, fields::exponent | fields::sign);
    }
}
