// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/rows.hpp - floor 2. How an encoder finds the rows of a field by itself: where it looks, and what
// it keeps.
//
// A field of rows of W values has differences that repeat at the distance W, because neighbouring rows are
// alike. q[i-1] + q[i-W] - q[i-W-1] predicts from three neighbours in the plane; 1 as a distance makes second
// differences. Where a row repeats with noise, a smooth distance subtracts less of the noise. All sums are of
// integers, so all instruction sets find the same.
#pragma once

#include <ccoll/codec/sze/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::sze {

/// Distances are looked for up to nearly half a chunk: beyond, less than half of the chunk would be
/// predicted.
constexpr std::size_t most_row(std::size_t n) noexcept { return n / 2 - 8; }

/// Two probes of 32 values find candidates, four samples of 128 judge them. All lie in the second half of a
/// chunk. Of each of its halves the probe is where differences are largest, because most others may be 0.
inline constexpr std::size_t probe_values = 32, samples = 4, sample_values = 128;
constexpr std::size_t sample_start(std::size_t n, std::size_t s) noexcept
{
    return n / 2 + s * (n / 8) + n / 16 - sample_values / 2;
}
static_assert(sample_start(least_values, 0) >= least_values / 2 &&
              sample_start(least_values, samples - 1) + sample_values <= least_values);

/// Of the residuals in the samples.
struct costs {
    u32 plain = 0, smooth = 0;
};

inline constexpr int byte_of_0 = 128;  ///< of differences as bytes

/// How much a field differs from itself at each distance.
struct sums_of_rows {
    alignas(16) u16 of[chunk_elements / 2];
};

/// The best few, best first.
struct candidates {
    static constexpr std::size_t most = 8;
    u16 of[most] = {};
    u32 sums[most] = {~u32{0}, ~u32{0}, ~u32{0}, ~u32{0}, ~u32{0}, ~u32{0}, ~u32{0}, ~u32{0}};

    /// Those whose sum is not below this are not added.
    u32 worst() const noexcept { return sums[most - 1]; }
    void add(std::size_t w, u32 sum) noexcept
    {
        std::size_t k = most - 1;
        for (; k > 0 && sums[k - 1] > sum; --k) {
            sums[k] = sums[k - 1];
            of[k] = of[k - 1];
        }
        sums[k] = sum;
        of[k] = static_cast<u16>(w);
    }
};

}  // namespace ccoll::detail::sze
