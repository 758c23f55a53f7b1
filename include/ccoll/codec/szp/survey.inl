// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/survey.inl - floor 2. What encoders of SZp ask of values before they quantise them: plain loops, compiled once for each set.

/// Registers that compilers make for the set.
template <class T>
struct vector_of {
    typedef typename fields_of<T>::signed_word type __attribute__((vector_size(lanes), aligned(sizeof(T)), may_alias));
    typedef T values __attribute__((vector_size(lanes)));
};
using vector_of_i32 = vector_of<float>::type;

/// Are all values the same bits, or all below `limit`? One pass of integer operations.
/// @param n  a multiple of 128
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline bool is_flat(const T* x, std::size_t n, T limit) noexcept
{
    using vector = typename vector_of<T>::type;
    using word = typename fields_of<T>::signed_word;
    constexpr std::size_t count = lanes / sizeof(T), step = 256 / sizeof(T);
    const word first = std::bit_cast<word>(x[0]), least = std::bit_cast<word>(limit), magnitude = std::numeric_limits<word>::max();
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
    const auto larger = [](T a, T b) CCOLL_TARGET { return std::max(fields_of<T>::magnitude(a), fields_of<T>::magnitude(b)); };
    return (word(x[31]) == word(x[0]) && word(x[63]) == word(x[0]) && word(x[255]) == word(x[0])) ||
           std::max(larger(x[0], x[31]), larger(x[63], x[255])) < fields_of<T>::of(limit);
}

/// The largest |q| of n quanta, a multiple of 32.
CCOLL_TARGET inline u32 largest_of(const i32* q, std::size_t n) noexcept
{
    constexpr std::size_t count = lanes / sizeof(i32);
    vector_of_i32 high = {}, low = {};
    for (std::size_t i = 0; i < n; i += block_elements) CCOLL_UNROLLED for (std::size_t k = 0; k < block_elements; k += count)
        {
            const vector_of_i32 v = *reinterpret_cast<const vector_of_i32*>(q + i + k);
            high = v > high ? v : high;
            low = v < low ? v : low;
        }
    u32 most = 0;
    for (std::size_t k = 0; k < count; ++k) most = std::max({most, static_cast<u32>(high[k]), u32{0} - static_cast<u32>(low[k])});
    return most;
}

/// Bits of the largest |x| that is not exceptional.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline typename fields_of<T>::word largest_magnitude(const T* x, std::size_t n,
                                                                                    const exceptions::rule<T>& is) noexcept
{
    using number = typename fields_of<T>::signed_word;
    const auto most_ordinary = static_cast<number>(is.limit - 1), missing = static_cast<number>(is.missing);
    number most = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const number m = fields_of<T>::signed_magnitude(x[i]);
        const bool ordinary = (m <= most_ordinary) & (static_cast<number>(fields_of<T>::of(x[i])) != missing);
        most = std::max(most, ordinary ? m : number(0));
    }
    return static_cast<typename fields_of<T>::word>(most);
}

/// Are all values multiples of `step` or exceptional, or 0 if `step` is 0?
/// @param n  a multiple of 32    @param largest  bits of the largest |x| so far that is not exceptional
template <class T>
CCOLL_INLINE bool are_multiples(const T* x, std::size_t n, T step, const exceptions::rule<T>& is,
                                typename fields_of<T>::signed_word& largest) noexcept
{
    CCOLL_EXACT_BODY
    using words = typename vector_of<T>::type;
    using values = typename vector_of<T>::values;
    using number = typename fields_of<T>::signed_word;
    constexpr std::size_t count = lanes / sizeof(T);
    constexpr T whole = T(u64{1} << fields_of<T>::mantissa_bits);  // sums with it are rounded to integers, and values from it on are some
    constexpr number magnitude = std::numeric_limits<number>::max();
    const T inverse = step > T(0) ? T(1) / step : T(0);
    const number always = step > T(0) ? std::bit_cast<number>(step * whole) : magnitude;
    const number most_ordinary = static_cast<number>(is.limit - 1), missing = static_cast<number>(is.missing);
    words rest = {}, most = {};
    for (std::size_t i = 0; i < n; i += count) {
        const words v = *reinterpret_cast<const words*>(x + i);
        words bits = v & magnitude;
        bits &= (bits <= most_ordinary) & (v != missing);
        const values quotient = reinterpret_cast<values>(bits) * inverse;
        rest |= (bits ^ reinterpret_cast<words>(((quotient + whole) - whole) * step)) & (bits < always);
        most = bits > most ? bits : most;
    }
    number any = 0;
    for (std::size_t k = 0; k < count; ++k) any |= rest[k], largest = std::max(largest, most[k]);
    return any == 0;
}
/// The largest power of two above `least` of which all values are multiples that are not exceptional (grid.hpp). Most data say at once that
/// there is none.
/// @return  0 if there is none, -1 if all are 0
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline double find_lattice(const T* x, std::size_t n, double least, const exceptions::rule<T>& is) noexcept
{
    CCOLL_EXACT_BODY
    bit_range all;
    T power = 0;
    typename fields_of<T>::signed_word largest = 0;
    for (std::size_t i = 0, by = block_elements; i < n;) {
        std::size_t count = std::min(by, n - i);
        if (count >= block_elements) count -= count % block_elements;
        const bool multiples = count % block_elements == 0 && are_multiples(x + i, count, power, is, largest);
        if (!multiples && count > block_elements) {  // which block is it?
            by = block_elements;
            continue;
        }
        for (std::size_t k = i; !multiples && k < i + count; ++k)
            if (fields_of<T>::magnitude(x[k]) < is.limit && fields_of<T>::of(x[k]) != is.missing) all.add(x[k]);
        i += count;
        all.top = std::max(all.top, static_cast<int>(largest >> fields_of<T>::mantissa_bits));
        if (all.top == 0) continue;
        if (multiples && all.top - all.lowest < std::numeric_limits<T>::digits) continue;
        const double step = all.template lattice<T>(least);
        if (step == 0) return 0;
        power = static_cast<T>(step);
        by = group_elements;
    }
    return power > T(0) ? static_cast<double>(power) : all.lowest == std::numeric_limits<int>::max() ? -1 : 0;
}
