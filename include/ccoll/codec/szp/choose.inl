// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/choose.inl - floor 2. From what values of a chunk are predicted: craft, not law. Eight blocks of
// it are looked at.
// Compiled once for each instruction set.

/// Sums of the magnitudes of quanta and of differences in a block, for each place in it. Large ones of f32
/// are rounded, which hardly matters.
template <class T>
struct prediction_costs {
    T alone[block_elements] = {}, left[block_elements] = {}, rows[block_elements] = {},
      planes[block_elements] = {};

    /// In an order that suits all registers, and is the same in all sets.
    CCOLL_TARGET static double sum(const T (&of)[block_elements]) noexcept
    {
        CCOLL_EXACT_BODY
        T v[8];
        for (std::size_t i = 0; i < 8; ++i) v[i] = (of[i] + of[i + 8]) + (of[i + 16] + of[i + 24]);
        return static_cast<double>(((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])));
    }
};

/// Adds costs of a register of values.
template <class T>
CCOLL_INLINE void add_to(T* sum, typename vector_of<T>::type cost) noexcept
{
    CCOLL_EXACT_BODY
    using words = typename vector_of<T>::type;
    using values = typename vector_of<T>::values;
    words& at = *reinterpret_cast<words*>(sum);
    at = reinterpret_cast<words>(reinterpret_cast<values>(at) + reinterpret_cast<values>(cost));
}

/// @param from  a block of a chunk, behind a value of it    @param above  0: not looked at
template <class T>
CCOLL_INLINE void add_costs(const T* from, distances above, T inverse, prediction_costs<T>& costs) noexcept
{
    CCOLL_EXACT_BODY
    using words = typename vector_of<T>::type;
    using values = typename vector_of<T>::values;
    using word = typename fields_of<T>::signed_word;
    constexpr std::size_t count = lanes / sizeof(T);
    // Quanta are computed again for each difference: a load across two stores would wait for both.
    const auto quantum = [=](const T* at) CCOLL_TARGET {
        values steps = reinterpret_cast<values>(*reinterpret_cast<const words*>(at)) * inverse;
        CCOLL_ROUNDED(steps);
        return (steps + rounder<T>)-rounder<T>;
    };
    const auto change = [=](const T* at) CCOLL_TARGET { return quantum(at) - quantum(at - 1); };
    const auto magnitude = [&](values v) CCOLL_TARGET {
        return reinterpret_cast<words>(v) & std::numeric_limits<word>::max();
    };
    for (std::size_t i = 0; above.none() && i < block_elements; i += count) {
        add_to(costs.alone + i, magnitude(quantum(from + i)));
        add_to(costs.left + i, magnitude(change(from + i)));
    }
    if (above.none()) return;
    // Where none of the values is exceptional.
    const auto few = [&](values v) CCOLL_TARGET {
        return magnitude(v) < std::bit_cast<word>(T(is_f32<T> ? 0x1p26 : 0x1p40));
    };
    const T *const row = from - above.row, *const plane = from - above.plane,
                   *const both = from - above.reach();
    for (std::size_t i = 0; i < block_elements; i += count) {
        const values v = change(from + i), r = v - change(row + i);
        const words known = few(v) & few(r);
        add_to(costs.left + i, magnitude(v) & known);
        add_to(costs.rows + i, magnitude(r) & known);
    }
    for (std::size_t i = 0; above.plane != 0 && i < block_elements; i += count) {
        const values v = (change(from + i) - change(row + i)) - (change(plane + i) - change(both + i));
        add_to(costs.planes + i, magnitude(v) & few(v));
    }
}

/// Of noise around 0, gradients of neural networks for one, differences are longer than the values by a
/// factor of sqrt(2): half a bit each. Is the value before worse than nothing as a prediction in eight blocks
/// of a chunk? Most data are not noise, which the first block says.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline bool is_noise(const T* x, std::size_t n, T inverse) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t samples = 8;
    constexpr double enough = 64;  // of smaller quanta neither is shorter
    const std::size_t blocks = n / block_elements;
    if (blocks < 2) return false;
    prediction_costs<T> costs;
    double both = 0;
    for (std::size_t s = 0; s < samples; ++s) {
        add_costs(x + block_elements * (1 + (blocks - 1) * s / samples), {}, inverse, costs);
        if (s > 0 && s + 1 < samples) continue;
        const double alone = costs.sum(costs.alone), left = costs.sum(costs.left);
        both = alone + left;
        if (!(both > 0 && both < 1e9)) return false;  // zeros, NaN, infinities and whatever is not noise
        if (both >= enough && 8 * left <= 9 * alone)
            return false;  // a sixth of a bit: less would not pay for a wrong guess
    }
    return both >= enough;
}

/// What a chunk of a field is predicted from.
/// @param known  where rows and planes of the field are
/// @return       `known`, or rows alone, or none
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline distances choose_above(const T* x, std::size_t n, distances known,
                                                             T inverse) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t samples = 8;
    const std::size_t blocks = n / block_elements;
    if (known.reach() / block_elements + 1 >= blocks) known.plane = 0;
    const std::size_t first = known.reach() / block_elements + 1;  // a block that has values above it
    if (known.none() || first >= blocks) return {};
    prediction_costs<T> costs;
    for (std::size_t s = 0; s < samples; ++s)
        add_costs(x + block_elements * (first + (blocks - first) * (2 * s + 1) / (2 * samples)), known,
                  inverse, costs);
    const double plain = costs.sum(costs.left), rows = costs.sum(costs.rows),
                 planes = costs.sum(costs.planes);
    const auto are_less = [](double less, double than) CCOLL_TARGET { return 8 * less + 32 < 7 * than; };
    const bool rows_pay = are_less(rows, plain);
    if (known.plane != 0) {
        // The first plane has rows alone. If these do not pay, the other planes must make up for it.
        const bool make_up = 2 * known.plane <= n && 64 * planes * rows < 49 * plain * plain;
        if (rows_pay ? are_less(planes, rows) : are_less(planes, plain) && make_up) return known;
    }
    return rows_pay ? distances{known.row} : distances{};
}
