// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/survey.inl - floor 2. What encoders of SZp ask of values before they quantise them: plain loops,
// compiled once for each set.

/// Registers that compilers make for the set.
template <class T>
struct vector_of {
    typedef typename fields_of<T>::signed_word type
        __attribute__((vector_size(lanes), aligned(sizeof(T)), may_alias));
    typedef T values __attribute__((vector_size(lanes)));
};

/// Are all values the same bits, or all below `limit`? One pass of integer operations.
/// @param n  a multiple of 128
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline bool is_flat(const T* x, std::size_t n, T limit) noexcept
{
    using vector = typename vector_of<T>::type;
    using word = typename fields_of<T>::signed_word;
    constexpr std::size_t count = lanes / sizeof(T), step = 256 / sizeof(T);
    const word first = std::bit_cast<word>(x[0]), least = std::bit_cast<word>(limit),
               magnitude = std::numeric_limits<word>::max();
    vector differ = {}, large = {};
    const auto any = [](const vector& v) CCOLL_TARGET {
        word all = 0;
        for (std::size_t k = 0; k < count; ++k) all |= v[k];
        return all != 0;
    };
    for (std::size_t i = 0; i < n; i += step) {
        read_ahead(x + i, step * sizeof(T));
        for (std::size_t k = 0; k < step; k += count) {
            const vector v = *reinterpret_cast<const vector*>(x + i + k);
            differ |= v ^ first;
            large |= (v & magnitude) >= least;
        }
        if (i % (4 * step) == 0 && any(differ) && any(large)) return false;
    }
    return !any(differ) || !any(large);
}

/// Can all values of a group have one quantum? Four of the first 256 say so of most groups that are not flat.
template <class T>
CCOLL_INLINE bool may_be_flat(const T* x, T limit) noexcept
{
    const auto word = [](T v) CCOLL_TARGET { return fields_of<T>::of(v); };
    const auto larger = [](T a, T b) CCOLL_TARGET {
        return std::max(fields_of<T>::magnitude(a), fields_of<T>::magnitude(b));
    };
    return (word(x[31]) == word(x[0]) && word(x[63]) == word(x[0]) && word(x[255]) == word(x[0])) ||
           std::max(larger(x[0], x[31]), larger(x[63], x[255])) < fields_of<T>::of(limit);
}

/// The largest |q| of n quanta, a multiple of 32.
CCOLL_TARGET inline u32 largest_of(const i32* q, std::size_t n) noexcept
{
    i32 high = 0, low = 0;
    for (std::size_t i = 0; i < n; ++i) {
        high = std::max(high, q[i]);
        low = std::min(low, q[i]);
    }
    return std::max(static_cast<u32>(high), u32{0} - static_cast<u32>(low));
}

/// Bits of the largest |x| that is not exceptional; of an infinity or more if there are NaN or infinities,
/// and these are not exceptional.
template <class T, class Number = typename fields_of<T>::signed_word,
          class Word = typename fields_of<T>::word>
[[gnu::noinline]] CCOLL_TARGET inline Word largest_magnitude(const T* x, std::size_t n,
                                                             const exceptions::rule<T>& is) noexcept
{
    const auto most_of = [=](const auto& of) CCOLL_TARGET {
        Number most = 0;
        for (std::size_t i = 0; i < n; ++i)
            most = std::max(most, of(fields_of<T>::signed_magnitude(x[i]), fields_of<T>::of(x[i])));
        return static_cast<Word>(most);
    };
    if (is.limit > fields_of<T>::exponent) return most_of([](Number m, auto) CCOLL_TARGET { return m; });
    return most_of(
        [top = static_cast<Number>(is.limit - 1), missing = is.missing](Number m, auto bits) CCOLL_TARGET {
            return m & ~((top - m) >> (8 * sizeof(T) - 1)) & -static_cast<Number>(bits != missing);
        });
}

/// Are all values multiples of `step`, below `limit` as bits? Of those by 2^mantissa_bits or more it may say
/// no.
/// @param n  a multiple of 32    @param largest  bits of the largest |x| so far
template <class T, class Number = typename fields_of<T>::signed_word>
CCOLL_INLINE bool are_multiples(const T* x, std::size_t n, T step, Number limit, Number& largest) noexcept
{
    CCOLL_EXACT_BODY
    using words = typename vector_of<T>::type;
    using values = typename vector_of<T>::values;
    constexpr T whole = T(u64{1} << fields_of<T>::mantissa_bits);  // sums with it are rounded to integers
    const T inverse = T(1) / step;
    constexpr bool as_numbers = sizeof(T) == 8 && lanes < 64;  // SSE2 compares no 64 bits, and AVX2 slowly
    values top = {};  // as one expression, values{} + max(), it makes nvcc 13.0 crash
    top += std::numeric_limits<T>::max();
    words rest = {}, all = {};
    for (std::size_t i = 0; i < n; i += lanes / sizeof(T)) {
        const words bits = *reinterpret_cast<const words*>(x + i) & std::numeric_limits<Number>::max();
        const auto v = reinterpret_cast<values>(bits), so_far = reinterpret_cast<values>(all);
        const values nearest = ((v * inverse + whole) - whole) * step;
        rest |= bits ^ reinterpret_cast<words>(as_numbers ? (nearest < top ? nearest : top)
                                                          : nearest);  // NaN would be what it was
        if constexpr (as_numbers) all = reinterpret_cast<words>(v > so_far ? v : so_far);
        else all = bits > all ? bits : all;
    }
    Number any = 0, most = largest;
    for (std::size_t k = 0; k < lanes / sizeof(T); ++k) {
        any |= rest[k];
        most = std::max(most, all[k]);
    }
    const bool all_are = any == 0 && most < limit;
    if (all_are) largest = most;
    return all_are;
}
/// Of values that are not exceptional: bits of the largest |x|, and of the least power of two that is part of
/// one.
/// @param n  a multiple of 32
template <class T, class Number = typename fields_of<T>::signed_word>
CCOLL_INLINE void add_range(const T* x, std::size_t n, const exceptions::rule<T>& is, Number& largest,
                            Number& lowest) noexcept
{
    CCOLL_EXACT_BODY
    using words = typename vector_of<T>::type;
    using values = typename vector_of<T>::values;
    constexpr Number magnitude = std::numeric_limits<Number>::max(),
                     mantissa = static_cast<Number>(fields_of<T>::exponent_one - 1);
    const Number top = static_cast<Number>(is.limit - 1), missing = static_cast<Number>(is.missing);
    words most = {}, least = most + magnitude;
    for (std::size_t i = 0; i < n; i += lanes / sizeof(T)) {
        const words v = *reinterpret_cast<const words*>(x + i);
        const words m = v & magnitude & ~((top - (v & magnitude)) >> (8 * sizeof(T) - 1)) &
                        (v != missing);  // 0 if it is exceptional
        const auto others = reinterpret_cast<values>(m & (m - 1) & ((m & mantissa) != 0));
        const words power =
            reinterpret_cast<words>(reinterpret_cast<values>(m) - others) | ((m == 0) & magnitude);
        most = m > most ? m : most;
        least = power < least ? power : least;
    }
    for (std::size_t k = 0; k < lanes / sizeof(T); ++k) {
        largest = std::max(largest, most[k]);
        lowest = std::min(lowest, least[k]);
    }
}
/// The largest power of two above `least` of which all ordinary values are multiples, below 2^digits times
/// it. Most data have none.
/// @return  0 if there is none, whatever else values from `beyond` on are; -1 if that depends on them, or all
///          are 0
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline double find_lattice(const T* x, std::size_t n, double least,
                                                          const exceptions::rule<T>& is,
                                                          typename fields_of<T>::word beyond) noexcept
{
    using number = typename fields_of<T>::signed_word;
    constexpr auto normal = static_cast<number>(fields_of<T>::exponent_one),
                   most = static_cast<number>(fields_of<T>::exponent);
    number largest = 0, lowest = std::numeric_limits<number>::max(), limit = 0;
    T power = 0;
    for (std::size_t i = 0, count = block_elements; i < n;
         i += count, count = std::min(4 * count, group_elements)) {
        T last[block_elements] = {};
        const T* from = x + i;
        count = std::clamp((n - i) / block_elements * block_elements, block_elements, count);
        if (n - i < count) from = static_cast<const T*>(std::memcpy(last, from, (n - i) * sizeof(T)));
        if (power > T(0) && are_multiples(from, count, power, limit, largest)) continue;
        add_range(from, count, is, largest, lowest);
        if (largest < normal) continue;  // zeros, or denormals
        power = std::bit_cast<T>(std::min(lowest, most - 2 * normal));
        limit = std::min(static_cast<number>(is.limit),
                         std::bit_cast<number>(power * T(u64{1} << std::numeric_limits<T>::digits)));
        if (lowest < normal || largest >= limit || !(static_cast<double>(power) > least))
            return static_cast<typename fields_of<T>::word>(largest) >= beyond ? -1 : 0;
    }
    return power > T(0) ? static_cast<double>(power) : largest == 0 ? -1 : 0;
}
