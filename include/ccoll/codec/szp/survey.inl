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

/// Bits of the largest |x|; of an infinity or more if there are NaN or infinities. No further is looked once one is not below `enough`.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline typename fields_of<T>::word largest_magnitude(const T* x, std::size_t n,
                                                                                    typename fields_of<T>::word enough) noexcept
{
    typename fields_of<T>::signed_word most = 0;
    for (std::size_t from = 0; from < n && static_cast<typename fields_of<T>::word>(most) < enough; from += group_elements)
        for (std::size_t i = from; i < std::min(n, from + group_elements); ++i) most = std::max(most, fields_of<T>::signed_magnitude(x[i]));
    return static_cast<typename fields_of<T>::word>(most);
}

/// Are all values multiples of `step`, or 0 if that is 0? Multiples by 2^mantissa_bits or more may say no.
/// @param n  a multiple of 32    @param largest  bits of the largest |x| so far
template <class T>
CCOLL_INLINE bool are_multiples(const T* x, std::size_t n, T step, typename fields_of<T>::signed_word& largest) noexcept
{
    CCOLL_EXACT_BODY
    using words = typename vector_of<T>::type;
    using values = typename vector_of<T>::values;
    constexpr std::size_t count = lanes / sizeof(T);
    constexpr T whole = T(u64{1} << fields_of<T>::mantissa_bits);  // sums with it are rounded to integers
    constexpr auto magnitude = std::numeric_limits<typename fields_of<T>::signed_word>::max();
    const T inverse = step > T(0) ? T(1) / step : T(0);
    words rest = {}, most = {};
    for (std::size_t i = 0; i < n; i += count) {
        const words bits = *reinterpret_cast<const words*>(x + i) & magnitude;
        const values quotient = reinterpret_cast<values>(bits) * inverse;
        rest |= bits ^ reinterpret_cast<words>(((quotient + whole) - whole) * step);
        most = bits > most ? bits : most;
    }
    typename fields_of<T>::signed_word any = 0;
    for (std::size_t k = 0; k < count; ++k) any |= rest[k], largest = std::max(largest, most[k]);
    return any == 0;
}
/// The largest power of two above `least` of which all values are multiples (grid.hpp); 0 if there is none. Most data say so at once.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline double find_lattice(const T* x, std::size_t n, double least) noexcept
{
    CCOLL_EXACT_BODY
    bit_range all;
    T power = 0;
    typename fields_of<T>::signed_word largest = 0;
    for (std::size_t i = 0, count; i < n; i += count) {
        count = std::min(power > T(0) ? group_elements : block_elements, (n - i) / block_elements * block_elements);
        if (count > 0 && are_multiples(x + i, count, power, largest)) continue;
        count = std::min(block_elements, n - i);
        if (count == block_elements && power > T(0) && are_multiples(x + i, block_elements, power, largest)) continue;
        for (std::size_t k = 0; k < count; ++k) all.add(x[i + k]);
        if (all.top == 0) continue;
        const double step = all.template lattice<T>(least);
        if (step == 0) return 0;
        power = static_cast<T>(step);
    }
    if (all.top == 0) return 0;                                                             // zeros, or denormals
    all.top = std::max(all.top, static_cast<int>(largest >> fields_of<T>::mantissa_bits));  // of NaN and infinities too large
    return all.template lattice<T>(least);
}
