// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/survey.inl - floor 2. What an encoder of SZp asks of a chunk before it chooses a grid and a predictor. AVX-512 uses that of
// AVX2, because it would gain nothing. Uses the primitives of szp/loops.inl, and
//   largest_of(block, m)    the largest |x|, whatever m was
//   sum_of_magnitudes(d)    of differences below 2^14

/// Bits of the largest |x| below `limit`, on which a fine grid depends; f32, and in the portable kernels f64.
template <class T>
CCOLL_TARGET inline typename fields_of<T>::word largest_below(const T* x, std::size_t n, typename fields_of<T>::word limit) noexcept
{
    using fields = fields_of<T>;
    magnitudes<T> most;
    clear(most);
    typename fields::word apart = 0;  // of blocks with values beyond the limit, and of the last block if it is short
    for (std::size_t k = 0; k < n; k += block_elements) {
        magnitudes<T> m;
        clear(m);
        const bool whole = n - k >= block_elements;
        if (whole) largest_of(x + k, m);
        if (whole && !over(m, limit)) [[likely]] {
            merge(most, m);
            continue;
        }
        for (std::size_t i = k; i < std::min(n, k + block_elements); ++i)
            if (const auto w = fields::magnitude(x[i]); w < limit && w > apart) apart = w;
    }
    return std::max(apart, top(most));
}

/// Bits of the largest |x|; those of Inf or more if there are NaN or infinities.
template <class T>
CCOLL_TARGET inline typename fields_of<T>::word largest_magnitude(const T* x, std::size_t n) noexcept
{
    using fields = fields_of<T>;
    magnitudes<T> most;
    clear(most);
    std::size_t i = 0;
    bool beyond = false;
    for (; n - i >= block_elements; i += block_elements) {
        read_ahead(x + i, block_elements * sizeof(T));
        magnitudes<T> m;
        largest_of(x + i, m);
        beyond = beyond || over(m, fields::exponent);  // merge() may forget a NaN
        merge(most, m);
    }
    typename fields::word all = beyond ? fields::exponent : top(most);
    for (; i < n; ++i) all = std::max(all, fields::magnitude(x[i]));
    return all;
}

/// What bit_range::add does, without branches: compilers vectorise it.
template <std::size_t count>
CCOLL_INLINE void add_bits(const float* x, bit_range& all) noexcept
{
    using fields = fields_of<float>;
    constexpr int one = fields::exponent_one, above_all = 512;
    int top = 0, lowest = above_all;
    for (std::size_t i = 0; i < count; ++i) {
        const int w = fields::signed_magnitude(x[i]), mantissa = (w & (one - 1)) | one;
        const int zeros = (std::bit_cast<int>(static_cast<float>(mantissa & -mantissa)) >> fields::mantissa_bits) - 127;
        const int exponent = w >> fields::mantissa_bits, is_zero = (w - 1) >> 31;
        const int low = (exponent - fields::mantissa_bits + zeros) | (is_zero & above_all);
        top = top > exponent ? top : exponent;
        lowest = lowest < low ? lowest : low;
    }
    all.top = std::max(all.top, top);
    all.lowest = std::min(all.lowest, lowest);
}
/// The largest power of two of which all values are multiples: data that were packed or rounded before, or whose ulp is above the bound. On
/// it nothing is lost, because values with fewer significant bits than T has become quanta and come back as they are. The inverse of the
/// step stays a normal number.
/// @param least  only a larger step is of use; on other data the search ends soon
template <class T>
CCOLL_TARGET inline fine_grid<T> find_lattice(const T* x, std::size_t n, T least) noexcept
{
    constexpr int span = is_f32<T> ? 29 : 60;  // quanta below far_limit
    using fields = fields_of<T>;
    using word = typename fields::word;
    constexpr int infinite = static_cast<int>(fields::exponent >> fields::mantissa_bits);
    const int too_low = static_cast<int>(fields::of(least) >> fields::mantissa_bits);
    bit_range all;
    const auto is_none = [&] { return all.lowest <= too_low || all.top - all.lowest > span || all.top >= infinite; };
    std::size_t i = 0;
    if constexpr (is_f32<T>) {
        constexpr std::size_t many = 8 * block_elements;
        for (; i + many <= n; i += many) {
            add_bits<many>(x + i, all);
            if (is_none()) return {};
        }
        for (; i + block_elements <= n; i += block_elements) add_bits<block_elements>(x + i, all);
    }
    for (; i < n; ++i) {
        all.add(x + i, 1);
        if (is_none()) return {};
    }
    if (is_none() || all.top == 0) return {};
    const int lowest = std::min(all.lowest, infinite - 2);
    return {std::bit_cast<T>(static_cast<word>(lowest) << fields::mantissa_bits), fields::exponent};
}

/// Is the value before worse than nothing as a prediction? Of noise around 0, gradients of neural networks for one, differences are longer
/// than the values by a factor of sqrt(2): half a bit each. Judged by one block if the prediction is no worse there, else by four, and
/// where these say little, by eight. Part of the bytes of a chunk (docs/wire_format.md); threads of a GPU can look at all eight blocks at
/// once.
template <class T>
CCOLL_TARGET inline bool is_noise(const T* x, std::size_t n, const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t usual = 4;
    constexpr u32 enough = 64;
    u32 of_quanta = 0, of_differences = 0;
    const std::size_t blocks = std::min(n / block_elements, most_sampled<T>);
    for (std::size_t i = 0; blocks > 0 && i < noise_samples; ++i) {
        const std::size_t k = noise_sample(blocks, i);
        look_ahead<T> one;
        quanta q;
        magnitudes<T> m;
        one.quantise(x, 0, 0, x + block_elements * k, z, q, m);
        if (over(m, z.brief)) return false;
        running r;
        start(r, 0);
        differences d;
        alone(q, d);
        of_quanta += sum_of_magnitudes(d);
        difference(q, r, d);
        of_differences += sum_of_magnitudes(d);
        const u32 seen = of_quanta + of_differences;
        if (i == 0 && seen >= enough && of_differences <= of_quanta) break;
        if (i + 1 == usual && (seen == 0 || seen >= enough)) break;
    }
    return 8 * u64{of_differences} > 9 * u64{of_quanta};  // a sixth of a bit: less would not pay for a wrong guess
}
