// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/encode.inl - floor 2. The blocks of a whole chunk: one text, compiled once for each instruction set. Uses szp/loops.inl and
// szp/survey.inl, and
//   by_mask      the namespace of this set in codec/specials/kernels.hpp
//   takes_out    does it encode the values beside special ones in the same pass?

#include <ccoll/codec/szp/bridged.inl>

/// Are the quanta noise, if special values count as 0?
template <class T>
CCOLL_TARGET inline bool others_are_noise(const T* x, std::size_t n, const quantiser<T>& z, const specials::rule<T>& rule) noexcept
{
    T others[most_sampled<T> * block_elements];
    const std::size_t blocks = std::min(n / block_elements, most_sampled<T>);
    u32 any = 0;
    for (std::size_t i = 0; blocks > 0 && i < noise_samples; ++i) {
        const std::size_t k = noise_sample(blocks, i);
        any |= by_mask::part(x + block_elements * k, rule, rule.has_markers(), others + block_elements * k);
    }
    return any != 0 && is_noise(others, block_elements * blocks, z);
}

/// The first value of a chunk that is not special; 0 if all are.
template <class T>
CCOLL_TARGET inline T first_of_others(const T* x, std::size_t n, typename fields_of<T>::word limit) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        if (fields_of<T>::magnitude(x[i]) < limit) return x[i];
    return T(0);
}

/// Goes on where encode_while_room() has met a value that the common grid does not hold: takes the special values out, puts bridges in
/// their places, and encodes these and all others.
/// @param at  code unsupported: the chunk has a value that is neither special nor on the grid; or it looks like noise or (f32) a lattice
///            without its special values; or it is an addend that has NaN, infinities or several fill values. Code out_of_space: it may
///            need more room. The caller starts again in all cases
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline void encode_others(const T* x, std::size_t n, const quantiser<T>& z, const u8* last, u8* codes,
                                                         encoding<T>& at, taken_out<T>& apart) noexcept
{
    CCOLL_EXACT_BODY
    const bool addend = apart.least_fill != 0;
    specials::rule<T> rule{addend ? apart.least_fill : fine_limit(z)};
    const std::size_t blocks = blocks_of(n), from = at.k, all_whole = n / block_elements;
    T tail[block_elements] = {};
    std::memcpy(tail, x + block_elements * all_whole, n % block_elements * sizeof(T));
    const T* const first = from < all_whole ? x + block_elements * from : tail;
    u32 of_first = by_mask::beyond_limit(first, rule.limit);
    if (of_first == 0) {
        if (!is_f32<T> || addend) return;
        of_first = by_mask::beyond_limit(first, z.safe);
        // A single value is hardly a marker, by the rules.
        if (std::popcount(of_first) < 2 && of_first >> (block_elements - 1) == 0) return;
        rule.markers[0] = specials::bits_at(first, static_cast<std::size_t>(std::countr_zero(of_first)));
        if (by_mask::equal(first, rule.markers[0]) != of_first) return;
    }
    const bool guessed = rule.has_markers();
    apart.one = specials::bits_at(first, static_cast<std::size_t>(std::countr_zero(of_first)));
    const bool finite = (apart.one & ~fields_of<T>::sign) < fields_of<T>::exponent;
    if (addend ? at.all.escaped > 0 || !finite : others_are_noise(x, n, z, rule)) return;
    if constexpr (is_f32<T>)
        if (from == 0 && !addend) {
            T front[block_elements];
            const std::size_t count = std::min(n, block_elements);
            for (std::size_t i = 0; i < count; ++i) front[i] = (of_first >> i & 1) != 0 ? T(0) : x[i];
            if (find_lattice(front, count, z.step).step > 0) return;
        }
    const auto limit = guessed ? z.safe : rule.limit;
    T before = T(0);
    if (from > 0) {
        before = x[block_elements * from - 1];
    } else if ((of_first & 1) != 0) {
        before = first_of_others(x, n, limit);
        apart.base = narrow_base_of(before, z);
        start(at.r, apart.base);
        at.brief_before = is_brief(apart.base);
    }
    const std::size_t partial = encode_bridged(x, n, z, limit, before, last, codes, at, apart);
    if (at.all.code == status::unsupported) return;
    // A guess is only worth it if there are enough blocks with markers and other values to be certain in the end (szp/guess.hpp).
    if (((guessed || addend) && !apart.equal) || (guessed && 16 * partial <= blocks)) {
        at.all.code = status::unsupported;
        apart.gone.values = 0;
        return;
    }
    apart.guessed = guessed;
}

/// @param x      n values, 1..chunk_elements.    @param grid  the common one, or (fine, f32) with the step of this chunk
/// @param base   the quantum before the first one; none if quanta stand alone
/// @param last   the last address at which a block may begin: block_room behind it, the room of the chunk ends
/// @return       code out_of_space: the blocks do not fit that room
/// @param codes  gets a code per block
/// @param apart  null: no value is taken out. Else gets the special values, if there are any, and the base that is right without them;
///               its base and least_fill have been set
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
    at.all.largest = std::max(at.all.largest, grid.largest_quantum(top(at.most)));  // an upper bound will do
    at.all.end = beyond.in_use() ? beyond.end(at.p) : at.p;
    if (at.all.end == nullptr) at.all.code = status::out_of_space;
    return at.all;
}
