// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/encode.inl - floor 2. The blocks of a whole chunk: one text, compiled once for each instruction set. Uses szp/loops.inl and
// szp/survey.inl, and
//   by_mask      the namespace of this set in codec/specials/kernels.hpp
//   takes_out    does it encode the values beside special ones in the same pass?

/// Are the quanta noise, if special values count as 0?
template <class T>
CCOLL_TARGET inline bool others_are_noise(const T* x, std::size_t n, const quantiser<T>& z, const specials::rule<T>& rule) noexcept
{
    T others[most_sampled<T> * block_elements];
    const std::size_t blocks = std::min(n / block_elements, most_sampled<T>);
    u32 any = 0;
    for (std::size_t i = 0; blocks > 0 && i < noise_samples; ++i) {
        const std::size_t k = noise_sample(blocks, i);
        any |= by_mask::part(x + block_elements * k, rule, false, others + block_elements * k);
    }
    return any != 0 && is_noise(others, block_elements * blocks, z);
}

/// Bridges for all runs of special values from block `from` on. Whole blocks of the copy that have special values are filled.
/// @param constant  gets the blocks that only repeat the value before them, where there are enough in a row to be worth a branch
template <class T>
CCOLL_TARGET inline void build_bridges(const T* x, std::size_t n, std::size_t from, taken_out<T>& apart,
                                       specials::block_bits& constant) noexcept
{
    constexpr u32 whole = 0xffffffffu;
    const u32* const masks = apart.gone.masks;
    const std::size_t blocks = apart.gone.blocks;
    specials::block_bits any, full;
    for (std::size_t k = 0; k < blocks; k += 8) {  // masks has room for whole groups
        any.put_8(k, ~by_mask::equal_of_8(masks + k, 0));
        full.put_8(k, by_mask::equal_of_8(masks + k, whole));
    }
    any.cut(blocks), full.cut(blocks);
    const auto bit = [](u32 mask) { return static_cast<unsigned>(std::countr_zero(mask)); };
    apart.gone.values = 0;
    u32 others = 0;
    apart.one = specials::bits_at(x, block_elements * from + bit(masks[from]));
    for (std::size_t k = any.next(from); k < blocks; k = any.next(k + 1)) {
        const u32 mask = masks[k];
        apart.gone.values += static_cast<std::size_t>(std::popcount(mask));
        const std::size_t at = block_elements * k, count = std::min(block_elements, n - at);
        if (count == block_elements) {
            others |= mask & ~by_mask::equal(x + at, apart.one);
            std::memcpy(apart.copy + at, x + at, block_elements * sizeof(T));
        } else {
            for (std::size_t i = 0; i < count; ++i) others |= (mask >> i & 1) & u32{specials::bits_at(x, at + i) != apart.one};
            std::memcpy(apart.copy + at, x + at, count * sizeof(T));
        }
    }
    apart.equal = others == 0;
    for (std::size_t k = from; k < blocks;) {
        u32 mask = masks[k], left = mask;
        while (left != 0) {
            const unsigned bit_of_first = bit(left);
            const std::size_t first_block = k;
            u32 behind = ~mask & whole << bit_of_first;
            if (behind == 0) {
                k = full.next_not(k + 1);
                mask = k < blocks ? masks[k] : 0;
                behind = ~mask;
            }
            left = mask & whole << bit(behind);
            const std::size_t end = block_elements * k + bit(behind), last_block = (end - 1) / block_elements;
            const bool rises_first = by_mask::bridge_run(x, apart.copy, n, block_elements * first_block + bit_of_first, end).to < end;
            if (const std::size_t repeats = first_block + (rises_first ? 2 : 1); repeats + 3 < last_block)
                constant.set(repeats, last_block);
        }
        k = any.next(k + 1);
    }
}

/// Goes on where encode_while_room() has met a value that the common grid does not hold: takes the special values out, puts bridges in
/// their places (specials::bridge), and encodes these and all others. Blocks that only repeat the value before them have no differences,
/// so nothing is computed for them.
/// @param at  code unsupported: the chunk has a value that is neither special nor on the grid, or looks like noise or (f32) a lattice
///            without its special values. Code out_of_space: it may need more room. The caller starts again in both cases
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline void encode_others(const T* x, std::size_t n, const quantiser<T>& z, const u8* last, u8* codes,
                                                         encoding<T>& at, taken_out<T>& apart) noexcept
{
    CCOLL_EXACT_BODY
    const specials::rule<T> rule{fine_limit(z)};
    const std::size_t blocks = blocks_of(n), from = at.k;
    const auto mask_of = [&](std::size_t k) CCOLL_TARGET { return by_mask::beyond_limit(x + block_elements * k, rule.limit); };
    if (from < n / block_elements && mask_of(from) == 0) return;
    if (others_are_noise(x, n, z, rule)) return;
    u32* const masks = apart.gone.masks;
    std::memset(masks, 0, sizeof(u32) * from);
    for (std::size_t k = from; k < n / block_elements; ++k) {
        read_ahead(x + block_elements * k, block_elements * sizeof(T));
        masks[k] = mask_of(k);
    }
    if (n % block_elements != 0) {
        T tail[block_elements] = {};
        std::memcpy(tail, x + n / block_elements * block_elements, n % block_elements * sizeof(T));
        masks[blocks - 1] = by_mask::beyond_limit(tail, rule.limit);
    }
    if (masks[from] == 0) return;
    apart.gone.blocks = blocks;
    if constexpr (is_f32<T>)
        if (from == 0) {
            T front[block_elements];
            const std::size_t count = std::min(n, block_elements);
            for (std::size_t i = 0; i < count; ++i) front[i] = (masks[0] >> i & 1) != 0 ? T(0) : x[i];
            if (find_lattice(front, count, z.step).step > 0) return;
        }
    specials::block_bits constant;
    build_bridges(x, n, from, apart, constant);
    if ((masks[0] & 1) != 0) {
        apart.base = narrow_base_of(apart.copy[0], z);
        start(at.r, apart.base);
        at.brief_before = is_brief(apart.base);
    }
    at.all.code = status::ok;
    while (at.k < blocks) {
        const std::size_t end = constant.next(at.k);
        const std::size_t until = std::min(n, block_elements * end);
        encode_while_room<T, true>(x, until, z, beyond_safe::stop, false, last, codes, at, masks, apart.copy);
        if (at.all.code != status::ok) return;
        if (at.k < std::min(end, blocks)) break;
        const std::size_t behind = constant.next_not(at.k);
        std::memset(codes + at.k, 0, std::min(behind, blocks) - at.k);
        at.k = std::min(behind, blocks);
    }
    if (at.k < blocks) at.all.code = status::out_of_space;
}

/// @param x      n values, 1..chunk_elements.    @param grid  the common one, or (fine, f32) with the step of this chunk
/// @param base   the quantum before the first one; none if quanta stand alone
/// @param last   the last address at which a block may begin: block_room behind it, the room of the chunk ends
/// @return       code out_of_space: the blocks do not fit that room
/// @param codes  gets a code per block
/// @param apart  null: no value is taken out. Else gets the special values, if there are any, and the base that is right without them
template <class T>
CCOLL_TARGET inline encoded_blocks encode_blocks(const T* x, std::size_t n, const quantiser<T>& grid, beyond_safe rule, predictor base,
                                                 u8* out, const u8* last, u8* codes, [[maybe_unused]] taken_out<T>* apart) noexcept
{
    CCOLL_EXACT_BODY
    encoding<T> at;
    at.p = out;
    start(at.r, base.quantum);
    clear(at.most);
    at.brief_before = is_brief(base.quantum);
    // A loop that may go on elsewhere is 8 % slower (f32, AVX-512): so it is entered again.
    encode_while_room(x, n, grid, rule, base.none, last, codes, at);
    if constexpr (takes_out)
        if (apart != nullptr && at.all.code == status::unsupported) [[unlikely]]
            encode_others(x, n, grid, last, codes, at, *apart);
    overhang beyond;
    if (at.k < blocks_of(n) && at.all.code == status::ok) {
        const u8* const until = beyond.take_over(at.p, last);
        encode_while_room(x, n, grid, rule, base.none, until, codes, at);
        if (at.k < blocks_of(n) && at.all.code == status::ok) at.all.code = status::out_of_space;
    }
    if (at.all.code != status::ok) return at.all;
    // An upper bound will do. Denormals count as 0 on every machine.
    if (const auto w = top(at.most); w >= fields_of<T>::exponent_one)
        at.all.largest = std::max(at.all.largest, static_cast<u32>(static_cast<double>(std::bit_cast<T>(w)) * grid.inverse_f64) + 2);
    at.all.end = beyond.in_use() ? beyond.end(at.p) : at.p;
    if (at.all.end == nullptr) at.all.code = status::out_of_space;
    return at.all;
}
