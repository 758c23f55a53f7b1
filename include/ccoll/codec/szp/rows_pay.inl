// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/rows_pay.inl - floor 2. Whether a chunk is shorter with rows, and with planes as well: loops that compilers vectorise. AVX-512
// uses those of AVX2, because it would gain nothing.

/// Sums of the magnitudes of differences in eight blocks, without, with rows, and with planes as well, for each place in a block. All terms
/// are integers in elements of T. If f32 has to round a sum, differences are so large that rows hardly matter.
template <class T>
struct row_costs {
    T plain[block_elements] = {}, rows[block_elements] = {}, planes[block_elements] = {};

    static double all(const T (&of)[block_elements]) noexcept
    {
        CCOLL_EXACT_BODY
        double sum = 0;
        for (const T one : of) sum += static_cast<double>(one);
        return sum;
    }
};

/// In blocks that have values above them, of which there must be some.
template <bool Planes, class T>
CCOLL_TARGET inline row_costs<T> find_row_costs(const T* x, std::size_t n, rows::distances above, const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t samples = 8;
    const std::size_t first = rows::first_judged(above), blocks = n / block_elements;
    const T inverse = z.inverse;
    row_costs<T> costs;
    for (std::size_t s = 0; s < samples; ++s) {
        const T* const from = x + block_elements * (first + (blocks - first) * (2 * s + 1) / (2 * samples)) - 1;
        const T *const row = from - above.row, *const plane = from - above.plane, *const row_of_plane = from - above.reach();
        const auto quantum = [=](T value) CCOLL_TARGET { return (value * inverse + portable::rounder<T>)-portable::rounder<T>; };
        T q[block_elements + 1], r[block_elements + 1], s3[block_elements + 1];
        for (std::size_t i = 0; i <= block_elements; ++i) {
            q[i] = quantum(from[i]);
            r[i] = q[i] - quantum(row[i]);
            if constexpr (Planes) s3[i] = r[i] - (quantum(plane[i]) - quantum(row_of_plane[i]));
        }
        for (std::size_t i = 0; i < block_elements; ++i) {
            costs.plain[i] += std::fabs(q[i + 1] - q[i]);
            costs.rows[i] += std::fabs(r[i + 1] - r[i]);
            if constexpr (Planes) costs.planes[i] += std::fabs(s3[i + 1] - s3[i]);
        }
    }
    return costs;
}

/// From where a chunk is predicted best.
/// @param known  where rows and planes of the field are
/// @return       `known`, or rows alone, or none
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline rows::distances choose_above(const T* x, std::size_t n, rows::distances known,
                                                                   const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    if (rows::first_judged(known) >= n / block_elements) known.plane = 0;
    if (known.none() || rows::first_judged(known) >= n / block_elements) return {};
    const row_costs<T> costs = known.plane == 0 ? find_row_costs<false>(x, n, known, z) : find_row_costs<true>(x, n, known, z);
    const double plain = row_costs<T>::all(costs.plain), in_rows = row_costs<T>::all(costs.rows);
    const auto are_less = [](double less, double than) CCOLL_TARGET { return 8 * less + 32 < 7 * than; };
    const bool rows_pay = are_less(in_rows, plain);
    if (known.plane != 0) {
        const double in_planes = row_costs<T>::all(costs.planes);
        // The first plane has rows alone. If these do not pay, the other planes must make up for it.
        const bool make_up = 2 * known.plane <= n && 64 * in_planes * in_rows < 49 * plain * plain;
        if (rows_pay ? are_less(in_planes, in_rows) : are_less(in_planes, plain) && make_up) return known;
    }
    return rows_pay ? rows::distances{known.row} : rows::distances{};
}
