// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements in the memory of the emulated device.
#pragma once

#include "emulator/runtime.hpp"

#include <ccoll/cuda.cuh>

#include "support/catch.hpp"

#include <cstring>
#include <vector>

namespace emulated {

/// n elements on the device. Work of streams that is under way is not waited for when they are read: a call
/// that has returned is done.
template <class T>
class device_vector {
public:
    explicit device_vector(const std::vector<T>& from) : n_(from.size())
    {
        void* at = nullptr;
        REQUIRE(cudaMalloc(&at, n_ * sizeof(T) + 1) == cudaSuccess);
        at_ = static_cast<T*>(at);
        put(from);
    }
    explicit device_vector(std::size_t n, T fill = T{}) : device_vector(std::vector<T>(n, fill)) {}
    device_vector(const device_vector&) = delete;
    device_vector& operator=(const device_vector&) = delete;
    ~device_vector() { cudaFree(at_); }

    void put(const std::vector<T>& from)
    {
        if (n_ > 0) std::memcpy(static_cast<void*>(at_), from.data(), n_ * sizeof(T));
    }
    ccoll::device_span<T> span() const { return {at_, n_}; }
    std::vector<T> values() const { return {at_, at_ + n_}; }
    T* address() const { return at_; }
    std::size_t elements() const { return n_; }

private:
    T* at_ = nullptr;
    std::size_t n_;
};

}  // namespace emulated

template <class T>
struct ccoll::buffer_traits<emulated::device_vector<T>> {
    using space = cuda_space;
    static T* data(emulated::device_vector<T>& v) { return v.address(); }
    static std::size_t size(emulated::device_vector<T>& v) { return v.elements(); }
};
template <class T>
struct ccoll::buffer_traits<const emulated::device_vector<T>> {
    using space = cuda_space;
    static const T* data(const emulated::device_vector<T>& v) { return v.address(); }
    static std::size_t size(const emulated::device_vector<T>& v) { return v.elements(); }
};
