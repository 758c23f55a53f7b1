// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx2_fill.inl - floor 2. Equal values by registers of AVX2, for all sets of x86.

CCOLL_INLINE __m256i in_all(float v) noexcept { return _mm256_castps_si256(_mm256_set1_ps(v)); }
CCOLL_INLINE __m256i in_all(double v) noexcept { return _mm256_castpd_si256(_mm256_set1_pd(v)); }

/// n equal values.
/// @param how  streamed: past the caches, if an element can begin a register at all
template <class T>
CCOLL_TARGET inline void fill(T* x, std::size_t n, T value, stores how) noexcept
{
    constexpr std::size_t bytes = 32, count = bytes / sizeof(T);
    const std::size_t over = reinterpret_cast<std::uintptr_t>(x) % bytes;
    std::size_t i = 0;
    if (how == stores::streamed && over % sizeof(T) == 0) {
        for (; i < n && (over + i * sizeof(T)) % bytes != 0; ++i) x[i] = value;
        for (; n - i >= count; i += count) _mm256_stream_si256(reinterpret_cast<__m256i*>(x + i), in_all(value));
    }
    for (; n - i >= count; i += count) _mm256_storeu_si256(reinterpret_cast<__m256i*>(x + i), in_all(value));
    for (; i < n; ++i) x[i] = value;
}
