// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fft.hpp - transforms of many rows with FFTW, scaled so that they keep the sum of squares: an error is then
// as large after as before.
#pragma once

#include <fftw3.h>

#include <cmath>
#include <complex>
#include <mutex>
#include <vector>

namespace app {

using complexes = std::vector<std::complex<double>>;

/// In place, `rows` transforms of rank `dims.size()`, one behind the other. FFTW makes plans in one thread at
/// a time.
class transform {
public:
    transform(std::vector<int> dims, int rows, int sign) : rows_(rows)
    {
        std::size_t n = 1;
        for (const int d : dims) n *= static_cast<std::size_t>(d);
        scale_ = 1 / std::sqrt(static_cast<double>(n));
        complexes any(n * static_cast<std::size_t>(rows));
        auto* data = reinterpret_cast<fftw_complex*>(any.data());
        const std::lock_guard lock(planning());
        plan_ = fftw_plan_many_dft(static_cast<int>(dims.size()), dims.data(), rows, data, nullptr, 1,
                                   static_cast<int>(n), data, nullptr, 1, static_cast<int>(n), sign,
                                   FFTW_ESTIMATE | FFTW_UNALIGNED);
    }
    ~transform()
    {
        const std::lock_guard lock(planning());
        fftw_destroy_plan(plan_);
    }
    transform(const transform&) = delete;
    transform& operator=(const transform&) = delete;

    void operator()(complexes& values) const
    {
        auto* data = reinterpret_cast<fftw_complex*>(values.data());
        if (rows_ > 0) fftw_execute_dft(plan_, data, data);
        for (auto& v : values) v *= scale_;
    }

private:
    static std::mutex& planning()
    {
        static std::mutex one;
        return one;
    }
    int rows_;
    double scale_ = 1;
    fftw_plan plan_{};
};

/// Rows of a matrix of (p m) x (p m) elements, of which each rank has m, become rows of its transpose.
template <class Way>
complexes transposed(Way& way, const complexes& rows, std::size_t m)
{
    const std::size_t n = rows.size() / m;
    complexes send(rows.size()), recv(rows.size()), result(rows.size());
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) send[(j / m * m + j % m) * m + i] = rows[i * n + j];
    way.call([&] { return ccoll::alltoall(way.plan, send, recv, way.comm, way.bound); });
    for (std::size_t s = 0; s < n / m; ++s)
        for (std::size_t j = 0; j < m; ++j)
            for (std::size_t i = 0; i < m; ++i) result[j * n + s * m + i] = recv[(s * m + j) * m + i];
    return result;
}

}  // namespace app
