// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/row_addends.hpp - floor 2. Addends of SZp with rows, also of chunks with NaN or infinities.
#pragma once

#include <bit>
#include <cstring>
#include <span>

#include <ccoll/codec/specials.hpp>
#include <ccoll/codec/szp/repredict.hpp>
#include <ccoll/codec/szp/rows.hpp>
#include <ccoll/codec/szp/writing.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// The values of a chunk in which each that is not finite repeats the one before it (the first ones are 0), as quanta of addends do.
template <element T>
struct held_values {
    T values[chunk_elements];
    specials::places not_finite;

    [[gnu::noinline]] explicit held_values(std::span<const T> in) noexcept
    {
        specials::split(in.data(), in.size(), specials::rule<T>{fields_of<T>::exponent}, not_finite, values);
        for (std::size_t k = 0; k < not_finite.blocks; ++k)
            for (u32 left = not_finite.masks[k]; left != 0; left &= left - 1) {
                const std::size_t i = block_elements * k + static_cast<std::size_t>(std::countr_zero(left));
                if (i > 0) std::memcpy(values + i, values + i - 1, sizeof(T));
            }
    }
};

/// Puts class planes in front of blocks.
/// @param from   the blocks, without room behind them    @param codes  theirs; gets the new ones
/// @return       the end, and how many blocks have class planes
template <element T>
encoded_blocks with_classes(std::span<const T> in, const specials::places& not_finite, const u8* from, u8* codes, u8* to) noexcept
{
    using fields = fields_of<T>;
    const std::size_t n = in.size();
    u32 positive[specials::most_blocks], negative[specials::most_blocks];
    specials::match(in.data(), n, not_finite.masks, fields::exponent, positive);
    specials::match(in.data(), n, not_finite.masks, fields::exponent | fields::sign, negative);
    encoded_blocks all;
    for (std::size_t k = 0; k < not_finite.blocks; ++k) {
        const unsigned width = codes[k];
        if (u32 special = not_finite.masks[k]; special != 0) {
            const std::size_t last = specials::length_of(n, k) - 1;
            for (u32* const mask : {&special, positive + k, negative + k})  // the last block is filled up with its last value
                if ((*mask >> last & 1) != 0) *mask |= 0xffffffffu << last;
            put(to, special & ~negative[k]);
            put(to + 4, special & ~positive[k]);
            to += 8;
            codes[k] = static_cast<u8>(width | class_code);
            ++all.escaped;
        }
        std::memcpy(to, from, 4 * width);
        to += 4 * width;
        from += 4 * width;
    }
    all.end = to;
    return all;
}

/// @param above  where rows and planes of the field are    @param out  `room` bytes
/// @return      unsupported: rows do not pay, or their quanta are too large
template <element T>
[[gnu::noinline]] encode_result encode_addend_rows(std::span<const T> in, const quantiser<T>& z, rows::distances above, u8* out,
                                                   std::size_t room) noexcept
{
    const encode_result no{0, status::unsupported};
    const quantiser<T> of_rows = z.of_rows(true);
    u8* const blocks = blocks_at<T>(out, kind::rows, in.size());
    block_codes codes;
    rows::distances chosen;
    const auto encode = [&](const T* x, u8* to, const u8* last) {
        encoded_blocks r;
        r.code = status::unsupported;
        chosen = rows::judges<T>.in_use()(x, in.size(), above, of_rows);
        if (!chosen.none()) r = rows::encoders<T>.in_use()(x, in.size(), chosen, of_rows, to, last, codes.of);
        if (r.code == status::ok && r.end == to) r.code = status::unsupported;
        return r;
    };
    const auto finish_with = [&](T first, const encoded_blocks& r) {
        put(out + 4, narrow_base_of(first, z));
        put(out + 8, r.largest);
        put(out + 12, chosen.word());
        return finish_addend<T>(out, {kind::rows, r.escaped}, blocks, r.end, codes, in.size());
    };
    const encoded_blocks plain = encode(in.data(), blocks, last_begin(out, room));
    if (plain.code == status::ok) return finish_with(in[0], plain);
    if (largest_magnitudes<T>.in_use()(in.data(), in.size()) < fields_of<T>::exponent) return no;
    const held_values<T> held(in);
    u8 without_classes[longest_narrow_blocks];
    const encoded_blocks r = encode(held.values, without_classes, last_begin(without_classes, sizeof without_classes));
    if (r.code != status::ok) return no;
    encoded_blocks all = with_classes(in, held.not_finite, without_classes, codes.of, blocks);
    all.largest = r.largest;
    return finish_with(held.values[0], all);
}

}  // namespace ccoll::detail::szp
