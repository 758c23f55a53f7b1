// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx512_lists.inl - floor 2. Lists with AVX-512 and GFNI, without branches between them and planes, which no processor could
// predict. An encoder treats each block in both ways. A decoder makes 32 differences in bytes of both, so it decodes lists as they are.

/// [width] Blocks of fewer differences have a list.
struct list_widths {
    u8 below[16];
};
constexpr list_widths make_list_widths()
{
    list_widths w{};
    w.below[0] = 1;
    for (unsigned width = 1; width <= widest_listed; ++width)
        while (code_of(width, w.below[width]) <= most_listed) ++w.below[width];
    return w;
}
inline constexpr list_widths list_width = make_list_widths();

/// As in szp/lists.inl. Where the next list goes depends on counts alone, which depend on nothing that was written, so several blocks are
/// under way at once.
CCOLL_TARGET inline list_ends put_lists(const u8* widths, std::size_t blocks, const u8* in, u8* codes, u8* list, u8* planes) noexcept
{
    constexpr int both_or_third = 0xea;  // (a & b) | c
    const orders& o = constants();
    const __m256i places = all_places();
    for (std::size_t k = 0; k < blocks; ++k) {
        const unsigned width = widths[k];
        // There may be nothing behind the last block.
        const __m256i block = _mm256_maskz_loadu_epi32(static_cast<__mmask8>(_bzhi_u32(255, width)), in);
        const __m256i bytes = transposed_256(permuted_256(o.spread[width], block), o.transpose[width]);
        const u32 any = _mm256_test_epi8_mask(bytes, bytes);
        const __m256i entries = _mm256_ternarylogic_epi32(_mm256_slli_epi16(bytes, 5), _mm256_set1_epi8(-32), places, both_or_third);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(list), _mm256_maskz_compress_epi8(any, entries));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(planes), block);
        const unsigned count = ones_of(any), listed = 0u - unsigned{count < list_width.below[width]};
        codes[k] = static_cast<u8>((count & listed) | ((planes_code + width) & ~listed));
        list += count & listed;
        planes += 4 * width & ~listed;
        in += 4 * width;
    }
    return {list, planes};
}

/// From the code of a block to the planes and to the entries that it has.
struct list_codes {
    u8 planes[16], entries[16];
};
constexpr list_codes make_list_codes()
{
    list_codes c{};
    for (unsigned code = 0; code < 16; ++code) {
        c.planes[code] = static_cast<u8>(code > most_listed ? code - planes_code : 0);
        c.entries[code] = static_cast<u8>(code > most_listed ? 0 : code);
    }
    return c;
}
inline constexpr list_codes list_code = make_list_codes();

/// The differences of a list; 0 elsewhere.
/// @param from   may be read up to 8 bytes    @param wrong  gets bits if the places of the entries do not ascend
CCOLL_INLINE __m256i get_list_bytes(const u8* from, unsigned count, u32& wrong) noexcept
{
    const __m128i entries = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m256i place = _mm256_and_si256(_mm256_cvtepu8_epi32(entries), _mm256_set1_epi32(31));
    const __m256i bits = _mm256_maskz_sllv_epi32(static_cast<__mmask8>(_bzhi_u32(255, count)), _mm256_set1_epi32(1), place);
    __m128i any = _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    any = _mm_or_si128(any, _mm_unpackhi_epi64(any, any));
    any = _mm_or_si128(any, _mm_shuffle_epi32(any, 0x55));
    const auto mask = static_cast<u32>(_mm_cvtsi128_si32(any));
    const __m256i spread = _mm256_maskz_expand_epi8(mask, _mm256_castsi128_si256(entries));
    wrong |= _mm256_mask_cmpneq_epi8_mask(mask, _mm256_and_si256(spread, _mm256_set1_epi8(31)), all_places());
    wrong |= ones_of(mask) ^ count;
    constexpr i64 sign_extended = 0x2040808080808080;  // bits 5, 6, and 7 from there on
    return _mm256_gf2p8affine_epi64_epi8(spread, _mm256_set1_epi64x(sign_extended), 0);
}

/// @param view  narrow, or with a step of its own; its `largest` is exact in T
/// @return      false: the places of a list do not ascend, and what has been written means nothing
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline bool decode_lists(const chunk_view& view, T step, T* x, std::size_t n, stores how) noexcept
{
    CCOLL_EXACT_BODY
    alignas(64) u8 body[most_bytes];  // with room behind it for reading
    std::memcpy(body, view.blocks, view.blocks_bytes);
    std::memset(body + view.blocks_bytes, 0, slack);
    const orders& o = constants();
    const u8 *p = body, *list = body + (view.lists - view.blocks);
    u32 wrong = 0;
    running r;
    start(r, static_cast<i32>(view.base));
    const auto restore_block = [&](std::size_t k, auto& to) CCOLL_TARGET {
        const unsigned code = view.codes.of[k], width = list_code.planes[code], count = list_code.entries[code];
        const __m256i of_planes = get_8_groups(o, p, width, o.transpose);
        restore_bytes(_mm256_or_si256(of_planes, get_list_bytes(list, count, wrong)), r, step, to);
        p += 4 * width;
        list += count;
    };
    const std::size_t whole = n / block_elements;
    const bool past = how == stores::streamed;
    const std::size_t ahead = past ? 0 : fetch_distance;
    std::size_t k = 0;
    T* to = x;
    for (const std::size_t cached = past ? std::min<std::size_t>(whole, 1) : whole; k < cached; ++k) {
        fetch(to, ahead, sizeof(T) * block_elements);
        restore_block(k, to);
        to += block_elements;
    }
    if (k < whole) {
        lines_of<T> lines(to);
        for (; k < whole; ++k) restore_block(k, lines);
        lines.finish();
    }
    if (whole < view.count) {
        T last[block_elements], *there = last;
        restore_block(whole, there);
        std::memcpy(x + block_elements * whole, last, n % block_elements * sizeof(T));
    }
    return wrong == 0;
}
