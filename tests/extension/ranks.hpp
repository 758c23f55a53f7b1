// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks.hpp - checks on the results of a collective, for the tests of extensions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace ranks {

/// The error of `sum` compared with the sum of `in`, less what rounding in T may add to it.
template <class T>
double largest_error(const std::vector<std::vector<T>>& in, const std::vector<T>& sum)
{
    double worst = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        long double exact = 0, magnitude = 0;
        for (const auto& x : in) {
            exact += x[i];
            magnitude += std::fabs(x[i]) + 1e-2L;
        }
        const long double rounding =
            magnitude * static_cast<long double>(in.size()) * std::numeric_limits<T>::epsilon();
        worst = std::max(worst,
                         static_cast<double>(std::fabs(static_cast<long double>(sum[i]) - exact) - rounding));
    }
    return worst;
}

/// Does every rank hold exactly these bits?
template <class T>
bool same_bits(const std::vector<std::vector<T>>& results)
{
    for (const auto& r : results)
        if (r.size() != results[0].size() ||
            (!r.empty() && std::memcmp(r.data(), results[0].data(), r.size() * sizeof(T)) != 0))
            return false;
    return true;
}

}  // namespace ranks
