// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/blocks.inl - floor 2. Primitives on blocks of 32 values, by registers that compilers make
// for the set. The namespace that includes this file, and those that follow, has `lanes`, the bytes of a
// register, and where these are more than 16 signs(v), the sign bits of the words of one.

template <element T>
struct registers_of {
    typedef T values __attribute__((vector_size(lanes)));
    typedef typename fields_of<T>::signed_word words __attribute__((vector_size(lanes)));
    typedef words in_memory __attribute__((aligned(sizeof(T)), may_alias));
};
template <element T>
using words_of = typename registers_of<T>::words;
template <element T>
inline constexpr unsigned in_register = lanes / sizeof(T);

/// count: 0, 1, 2 and so on; bit: 1, 2, 4
template <element T>
inline constexpr auto numbers_of = [] {
    struct {
        T count[in_register<T>];
        typename fields_of<T>::signed_word bit[in_register<T>];
    } all{};
    for (unsigned k = 0; k < in_register<T>; ++k) {
        all.count[k] = static_cast<T>(k);
        all.bit[k] = static_cast<typename fields_of<T>::signed_word>(1u << k);
    }
    return all;
}();

template <element T>
CCOLL_INLINE words_of<T> words_at(const T* x) noexcept
{
    return *reinterpret_cast<const typename registers_of<T>::in_memory*>(x);
}
template <element T>
CCOLL_INLINE void put_words(T* x, const words_of<T>& v) noexcept
{
    *reinterpret_cast<typename registers_of<T>::in_memory*>(x) = v;
}
/// Puts other words in the places of the mask.
template <element T>
CCOLL_INLINE void put_some(T* x, u32 mask, const words_of<T>& v) noexcept
{
    const words_of<T> bit = *reinterpret_cast<const typename registers_of<T>::in_memory*>(numbers_of<T>.bit);
    put_words(x, (bit & static_cast<typename fields_of<T>::signed_word>(mask)) != 0 ? v : words_at(x));
}

/// The signs of 32 words, register by register.
template <element T>
struct sign_bits {
    words_of<T> bits;
    u32 mask = 0;

    // Not an initialiser: with --expt-relaxed-constexpr nvcc would make a function of the device of it, and
    // cannot.
    CCOLL_INLINE sign_bits() noexcept { bits = words_of<T>{}; }
    CCOLL_INLINE void add(const words_of<T>& v, unsigned i) noexcept
    {
        if constexpr (lanes == 16)
            bits |= (v >> (8 * sizeof(T) - 1) & words_at(reinterpret_cast<const T*>(numbers_of<T>.bit))) << i;
        else mask |= signs(v) << i;
    }
    CCOLL_INLINE u32 all() const noexcept
    {
        u32 of = mask;
        for (unsigned k = 0; lanes == 16 && k < in_register<T>; ++k) of |= static_cast<u32>(bits[k]);
        return of;
    }
};

/// Which values are exceptional? Copies all.
template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool any_missing, T* to) noexcept
{
    using number = typename fields_of<T>::signed_word;
    constexpr number magnitude = std::numeric_limits<number>::max();
    sign_bits<T> mask;
    CCOLL_UNROLLED for (unsigned i = 0; i < block_elements; i += in_register<T>)
    {
        const words_of<T> v = words_at(x + i);
        // Its sign: SSE2 compares no 64 bits.
        words_of<T> exceptional = static_cast<number>(is.limit - 1) - (v & magnitude);
        if (any_missing) exceptional |= v == static_cast<number>(is.missing);
        mask.add(exceptional, i);
        put_words(to + i, v);
    }
    return mask.all();
}
/// Adds bits in which values of the mask differ from others.
template <element T>
CCOLL_INLINE void add_differences(const T* x, u32 mask, const words_of<T>& from, words_of<T>& all) noexcept
{
    const words_of<T> bit = *reinterpret_cast<const typename registers_of<T>::in_memory*>(numbers_of<T>.bit);
    CCOLL_UNROLLED for (unsigned i = 0; i < block_elements; i += in_register<T>) all |=
        (words_at(x + i) ^ from) & ((bit & static_cast<typename fields_of<T>::signed_word>(mask >> i)) != 0);
}
/// Which values have these bits?
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    const auto number = static_cast<typename fields_of<T>::signed_word>(bits);
    sign_bits<T> mask;
    CCOLL_UNROLLED for (unsigned i = 0; i < block_elements; i += in_register<T>)
        mask.add(words_at(x + i) == number, i);
    return mask.all();
}
/// Puts a value in the places of the mask.
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    const words_of<T> all = words_of<T>{} + static_cast<typename fields_of<T>::signed_word>(bits);
    for (unsigned i = 0; i < block_elements; i += in_register<T>)
        if (mask == 0xffffffffu)
            put_words(x + i, all);  // reads nothing, which is worth 4 % of a decoder near coasts
        else put_some(x + i, mask >> i, all);
}
/// Value i of the mask, a run, becomes number i - before of `count` between a and b, of which neither is
/// counted.
template <element T>
CCOLL_INLINE void ramp(T* block, u32 mask, int before, std::size_t count, T a, T b) noexcept
{
    CCOLL_EXACT_BODY
    using values = typename registers_of<T>::values;
    const values none = {}, from = none + a, until = none + b, low = from < until ? from : until,
                 high = from < until ? until : from;
    const auto numbers = reinterpret_cast<values>(words_at(numbers_of<T>.count));
    const T per_step = 1 / static_cast<T>(count + 1);
    for (unsigned i = static_cast<unsigned>(std::countr_zero(mask)) / in_register<T> * in_register<T>;
         i < block_elements && mask >> i != 0; i += in_register<T>) {
        values share = (numbers + static_cast<T>(static_cast<int>(i) - before)) * per_step;
        CCOLL_ROUNDED(share);
        values of_from = from * (1 - share), of_until = until * share;
        CCOLL_ROUNDED(of_from);
        CCOLL_ROUNDED(of_until);
        values v = of_from + of_until;
        v = v < low ? low : v;
        put_some(block + i, mask >> i, reinterpret_cast<words_of<T>>(v > high ? high : v));
    }
}
