// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/rows_pay.inl - floor 2. Whether a chunk is shorter with rows: a loop that compilers vectorise. AVX-512 uses that of AVX2,
// because it would gain nothing.

/// Are differences shorter if those of the row before are subtracted? Judged by eight blocks behind the first row. All terms are integers
/// in elements of T, and so few that their sums are exact.
/// @param n  more than distance
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline bool rows_pay(const T* x, std::size_t n, std::size_t distance, const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t samples = 8;
    const std::size_t first = distance / block_elements + 1, blocks = n / block_elements;
    if (first >= blocks) return false;
    const T inverse = z.inverse;
    T plain[block_elements] = {}, less[block_elements] = {};
    for (std::size_t s = 0; s < samples; ++s) {
        const T* const from = x + block_elements * (first + (blocks - first) * (2 * s + 1) / (2 * samples)) - 1;
        T q[block_elements + 1], r[block_elements + 1];
        for (std::size_t i = 0; i <= block_elements; ++i) {
            q[i] = (from[i] * inverse + portable::rounder<T>)-portable::rounder<T>;
            r[i] = q[i] - ((from[static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(distance)] * inverse +
                            portable::rounder<T>)-portable::rounder<T>);
        }
        for (std::size_t i = 0; i < block_elements; ++i) {
            plain[i] += std::fabs(q[i + 1] - q[i]);
            less[i] += std::fabs(r[i + 1] - r[i]);
        }
    }
    double all_plain = 0, all_less = 0;
    for (std::size_t i = 0; i < block_elements; ++i) {
        all_plain += static_cast<double>(plain[i]);
        all_less += static_cast<double>(less[i]);
    }
    return 8 * all_less + 32 < 7 * all_plain;
}
