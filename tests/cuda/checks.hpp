// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the programs that run on a GPU share: memory of the device, checks of codecs, and a count of what went
// wrong. They need nvcc and nothing else.
#pragma once

#include <ccoll/cuda.cuh>

#include "in_order.hpp"
#include "same_bits.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
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

/// n values, made by all cores. @param value  of its number; called from several threads at once
template <class T, class Value>
std::vector<T> made_by_all_cores(std::size_t n, Value value)
{
    std::vector<T> x(n);
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency()), part = n / cores + 1;
    std::vector<std::thread> threads;
    for (std::size_t begin = 0; begin < n; begin += part)
        threads.emplace_back([&x, &value, begin, end = std::min(n, begin + part)] {
            for (std::size_t i = begin; i < end; ++i) x[i] = value(i);
        });
    for (std::thread& each : threads) each.join();
    return x;
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

/// A frame of `x` and what it decodes to, beside those of the host.
/// @param eb  the bound, or with ZFP bits per value
template <class Codec, class T>
void check_movement(const std::string& name, const std::vector<T>& x, double eb, ccoll::codec_stream& codecs)
{
    const std::string what = std::string(Codec::name) + ", " + name +
                             (sizeof(T) == 4 ? " f32, n " : " f64, n ") + std::to_string(x.size()) +
                             ", bound or rate " + std::to_string(eb);
    std::vector<std::byte> host(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    const device_vector<T> in(x), out(x.size());
    const device_vector<std::byte> frame(host.size());
    const ccoll::encode_result expected = ccoll::encode<Codec>(x, host, eb);
    host.resize(expected.bytes);
    codecs.encode<Codec>(in.span(), frame.span(), eb);
    const ccoll::encode_result r = codecs.result();
    const std::vector<std::byte> made = frame.values(r.bytes);
    check(r.code == ccoll::status::ok &&
              in_order(made, bytes_of_law<Codec>) == in_order(host, bytes_of_law<Codec>),
          "encode " + what);
    check(r.raw_blocks == expected.raw_blocks && r.special_values == expected.special_values,
          "counts of " + what);
    std::vector<T> decoded(x.size());
    static_cast<void>(ccoll::decode<Codec>(host, decoded));
    codecs.decode<Codec>(ccoll::device_span<const std::byte>(frame.span().device_data(), r.bytes),
                         out.span());
    check(codecs.result().code == ccoll::status::ok && same_bits(out.values(), decoded), "decode " + what);
    std::vector<T> by_host(x.size());
    check(ccoll::decode<Codec>(made, by_host) == ccoll::status::ok && same_bits(by_host, decoded),
          "decode on the host " + what);
}

/// Ends the program with what was counted. @return  the exit code
inline int report()
{
    std::printf("%d checks, %d failed\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
/// Calls work(n, codecs) for each length, or for one alone if a sanitizer runs the program.
template <class Work>
void for_lengths(bool brief, std::vector<std::size_t> lengths, Work work)
{
    ccoll::codec_stream codecs;
    if (brief) lengths = {10000};
    for (const std::size_t n : lengths) work(n, codecs);
}

}  // namespace gpu
