// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the programs that run on a GPU share: memory of the device, and a count of what went wrong. They need nvcc and nothing else.
#pragma once

#include <ccoll/cuda.cuh>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace gpu {

inline int failures = 0, checks = 0;

inline bool check(bool ok, const std::string& what)
{
    ++checks;
    if (ok) return true;
    if (++failures <= 40) std::printf("FAILED: %s\n", what.c_str());
    return false;
}
inline void cuda(cudaError_t e, const char* what)
{
    if (e == cudaSuccess) return;
    std::printf("%s: %s\n", what, cudaGetErrorString(e));
    std::exit(1);
}
/// Exits with 77, which ctest takes as skipped, where there is no GPU.
inline void need_gpu()
{
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return;
    std::printf("SKIPPED: no GPU\n");
    std::exit(77);
}

template <class T>
class device_vector {
public:
    explicit device_vector(std::size_t n) : n_(n)
    {
        void* at = nullptr;
        cuda(cudaMalloc(&at, n * sizeof(T) + 16), "cudaMalloc");
        at_ = static_cast<T*>(at);
    }
    explicit device_vector(const std::vector<T>& from) : device_vector(from.size()) { put(from); }
    device_vector(const device_vector&) = delete;
    device_vector& operator=(const device_vector&) = delete;
    ~device_vector() { cudaFree(at_); }

    void put(const std::vector<T>& from)
    {
        cuda(cudaMemcpy(at_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    std::vector<T> values(std::size_t n) const
    {
        std::vector<T> v(n);
        cuda(cudaMemcpy(v.data(), at_, n * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return v;
    }
    std::vector<T> values() const { return values(n_); }
    ccoll::device_span<T> span() const { return {at_, n_}; }

private:
    T* at_ = nullptr;
    std::size_t n_;
};

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace gpu
