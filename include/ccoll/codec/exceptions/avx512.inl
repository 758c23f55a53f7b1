// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/avx512.inl - floor 2. Sums of sections, 16 blocks at a time: branches on their kinds would be mispredicted.
// What stands here is taken in place of the templates of these names in loops.inl and addends.inl.

CCOLL_INLINE __m512i in_all(u32 v) noexcept { return _mm512_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __mmask16 lanes_of(u32 bits) noexcept { return static_cast<__mmask16>(bits); }
/// The masks of whole blocks from k on.
CCOLL_INLINE __m512i whole_blocks(std::size_t n, std::size_t k) noexcept
{
    const __m512i before = _mm512_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480);
    return ~_mm512_sllv_epi32(in_all(~0u), _mm512_sub_epi32(in_all(static_cast<u32>(n - block_elements * k)), before));
}
/// How many values have the masks of 16 blocks? Not those that have just been written: they would be taken apart by ports that are busy.
CCOLL_INLINE std::size_t count_of(const u32* masks) noexcept
{
    int count = 0;
    CCOLL_UNROLLED for (std::size_t i = 0; i < 16; i += 2) count += std::popcount(get<u64>(reinterpret_cast<const u8*>(masks + i)));
    return static_cast<std::size_t>(count);
}

/// Reads the masks of a section whose parts have been found.
struct mask_reader {
    const u8 *kinds, *runs, *masks;
    __m512i codes = {}, wrong = {}, order = {};  ///< order: negative if a run ends before it begins
    u32 empty = 0;

    CCOLL_INLINE mask_reader(const section& s, std::size_t n) noexcept
        : kinds(s.from + head_bytes), runs(kinds + kinds_bytes(n)), masks(runs + up_to(4, 2 * s.runs_of_places))
    {}
    /// Of the next 16 blocks.
    CCOLL_INLINE __m512i next(__m512i whole) noexcept
    {
        const u32 pairs = get<u32>(kinds), low = _pext_u32(pairs, 0x55555555), high = _pext_u32(pairs, 0xaaaaaaaa), in_runs = high & ~low,
                  in_masks = high & low, some = (1u << std::popcount(in_runs)) - 1;
        const __m512i run = _mm512_maskz_expand_epi32(lanes_of(in_runs),
                                                      _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes_of(some), runs))),
                      first = run & in_all(31), last = _mm512_srli_epi32(run, 5) & in_all(31),
                      from_first = _mm512_sllv_epi32(in_all(~0u), first);
        __m512i mask = _mm512_maskz_andnot_epi32(lanes_of(in_runs), _mm512_sllv_epi32(in_all(~1u), last), from_first);
        mask = _mm512_mask_andnot_epi32(mask, _mm512_test_epi32_mask(run, in_all(0x400)), mask, whole);
        mask = _mm512_mask_expandloadu_epi32(mask, lanes_of(in_masks), masks);
        mask = _mm512_mask_mov_epi32(mask, lanes_of(low & ~high), whole);
        codes |= run;
        wrong |= _mm512_andnot_si512(whole, mask);
        order |= _mm512_sub_epi32(last, first);
        empty |= _mm512_mask_testn_epi32_mask(lanes_of(low | high), mask, mask);
        kinds += 4;
        runs += 2 * std::popcount(in_runs);
        masks += 4 * std::popcount(in_masks);
        return mask;
    }
    CCOLL_INLINE bool are_valid() const noexcept
    {
        return (_mm512_test_epi32_mask(codes, in_all(0xf800)) | _mm512_test_epi32_mask(wrong, wrong) | _mm512_movepi32_mask(order) |
                empty) == 0;
    }
};
CCOLL_INLINE __m512i lowest_bits(__m512i v) noexcept { return v & _mm512_sub_epi32(in_all(0), v); }
CCOLL_INLINE u32 are_runs(__m512i v) noexcept { return _mm512_testn_epi32_mask(v, _mm512_add_epi32(v, lowest_bits(v))); }
/// The number of a single bit is the exponent of its value.
CCOLL_INLINE __m512i exponents(__m512i bits) noexcept { return _mm512_castps_si512(_mm512_cvtepu32_ps(bits)); }

CCOLL_INLINE merged merge_states(const section& a, const section& b, std::size_t n, const wide& state, u8* to, const u8* end) noexcept
{
    mask_reader from_a(a, n), from_b(b, n);
    u32 kinds[most_blocks / 16], all_masks[most_blocks], masks[most_blocks + 16];
    u16 runs[most_blocks + 16];
    std::size_t run_count = 0, mask_count = 0, places = 0, k = 0;
    for (; k < blocks_of(n); k += 16) {
        const __m512i whole = whole_blocks(n, k), mask = from_a.next(whole) | from_b.next(whole), others = _mm512_andnot_si512(mask, whole);
        if (k > 0) places += count_of(all_masks + k - 16);
        _mm512_storeu_si512(all_masks + k, mask);
        const u32 some = _mm512_test_epi32_mask(mask, mask), partly = some & _mm512_test_epi32_mask(others, others),
                  together = are_runs(mask), in_runs = partly & (together | are_runs(others)), in_masks = partly & ~in_runs,
                  apart = in_runs & ~together;
        const __m512i run = _mm512_mask_mov_epi32(mask, lanes_of(apart), others), top = _mm512_andnot_si512(_mm512_srli_epi32(run, 1), run);
        __m512i code = _mm512_add_epi32(_mm512_srli_epi32(exponents(lowest_bits(run)), 23), _mm512_srli_epi32(exponents(top), 18));
        code = _mm512_sub_epi32(code, in_all(127 * 33));
        code = _mm512_mask_or_epi32(code, lanes_of(apart), code, in_all(0x400));
        code = _mm512_maskz_compress_epi32(lanes_of(in_runs), code);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(runs + run_count), _mm512_cvtepi32_epi16(code));
        _mm512_storeu_si512(masks + mask_count, _mm512_maskz_compress_epi32(lanes_of(in_masks), mask));
        run_count += static_cast<std::size_t>(std::popcount(in_runs));
        mask_count += static_cast<std::size_t>(std::popcount(in_masks));
        kinds[k / 16] = _pdep_u32((some & ~partly) | in_masks, 0x55555555) | _pdep_u32(partly, 0xaaaaaaaa);
    }
    if (!from_a.are_valid() || !from_b.are_valid()) return {nullptr, status::corrupt};
    const std::size_t runs_at = head_bytes + kinds_bytes(n), masks_at = runs_at + up_to(4, 2 * run_count),
                      front = masks_at + 4 * mask_count;
    if (front > static_cast<std::size_t>(end - to)) return {nullptr, status::too_large};
    std::memcpy(to + head_bytes, kinds, kinds_bytes(n));
    std::memcpy(to + runs_at, runs, up_to(4, 2 * run_count));
    std::memcpy(to + masks_at, masks, 4 * mask_count);
    value_writer<wide> values(to, to + front, end);
    to = values.add(values.entry_of(state), places + count_of(all_masks + k - 16)) ? values.finish(0) : nullptr;
    return {to, to != nullptr ? status::ok : status::too_large};
}

CCOLL_INLINE void put_in(float* block, std::size_t, u32 mask, u32 bits) noexcept
{
    for (std::size_t i = 0; i < block_elements; i += 16) _mm512_mask_storeu_epi32(block + i, lanes_of(mask >> i), in_all(bits));
}
CCOLL_INLINE void put_in(double* block, std::size_t, u32 mask, u64 bits) noexcept
{
    const __m512i all = _mm512_set1_epi64(static_cast<i64>(bits));
    for (std::size_t i = 0; i < block_elements; i += 8) _mm512_mask_storeu_epi64(block + i, static_cast<__mmask8>(mask >> i), all);
}
