// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of codecs run by the emulator, with memory that is exactly as long as it may be, so that sanitizers
// see every byte beyond.
#pragma once

#include "emulator/runtime.hpp"
#include "in_order.hpp"

#include <ccoll/codec.hpp>
#include <ccoll/cuda/codec_stream.cuh>
#include <ccoll/cuda/szx.cuh>
#include <ccoll/cuda/zfp.cuh>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace emulated {

namespace device = ccoll::detail::device;
using ccoll::policies::Codec::PipeSZx;
using ccoll::policies::Codec::SZp;
using ccoll::policies::Codec::SZx;
using Zfp = ccoll::policies::Codec::ZfpAtRate;

template <class Codec, class T>
using launches = device::launches_of<Codec, T>;

/// Bytes at a multiple of 16, as an allocator of a device gives them, and not one more than these.
class exact_memory {
public:
    explicit exact_memory(std::size_t n) : bytes_(n), begin_(new std::byte[n])
    {
        static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ % 16 == 0);
        std::fill_n(begin_.get(), n, std::byte{0x5a});
    }
    explicit exact_memory(ccoll::const_byte_span from) : exact_memory(from.size())
    {
        std::copy(from.begin(), from.end(), begin_.get());
    }
    ccoll::byte_span span() { return {begin_.get(), bytes_}; }
    std::byte* data() { return begin_.get(); }

private:
    std::size_t bytes_;
    std::unique_ptr<std::byte[]> begin_;
};

struct encoded {
    std::vector<std::byte> bytes;
    device::outcome told;
    bool clean = false;  ///< the memory of the launch is as it was
};

/// Runs the kernels of a call. @param begin  (scratch*, outcome*, stream) begins them
template <class Begin>
encoded run(std::size_t scratch_bytes, const emulator::options& how, Begin begin)
{
    std::vector<std::uint64_t> memory(scratch_bytes / 8 + 1, 0);
    encoded r;
    cudaStream_t stream = nullptr;
    static_cast<void>(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const emulator::options* const before = std::exchange(emulator::chosen, &how);
    try {
        if (begin(reinterpret_cast<device::scratch*>(memory.data()), &r.told, stream) != cudaSuccess ||
            cudaStreamSynchronize(stream) != cudaSuccess)
            r.told.code = static_cast<std::uint32_t>(ccoll::status::device_failed);
    } catch (...) {
        emulator::chosen = before;
        stream->state->broken = cudaErrorLaunchFailure;  // nothing that follows on it is run
        throw;
    }
    emulator::chosen = before;
    static_cast<void>(cudaStreamDestroy(stream));
    r.clean = std::all_of(memory.begin(), memory.begin() + offsetof(device::scratch, list) / 8,
                          [](std::uint64_t w) { return w == 0; });
    return r;
}
/// The same, into a frame of at most so many bytes. @param begin  (frame, scratch*, outcome*, stream)
template <class Begin>
encoded write(std::size_t most, std::size_t scratch_bytes, const emulator::options& how, Begin begin)
{
    exact_memory frame(most);
    encoded r = run(scratch_bytes, how, [&](auto... rest) { return begin(frame.data(), rest...); });
    const auto all = frame.span().first(static_cast<std::size_t>(r.told.bytes));
    r.bytes.assign(all.begin(), all.end());
    return r;
}

/// @param x  need not be aligned to more than T
template <class Codec, class T>
encoded encode_with(std::span<const T> x, double eb, const emulator::options& how = {})
{
    using of = launches<Codec, T>;
    return write(
        ccoll::max_encoded_bytes<Codec, T>(x.size()), of::scratch_bytes(x.size()), how,
        [&](auto* frame, auto... rest) { return of::encode(x.data(), x.size(), {eb}, frame, rest...); });
}
/// @return a status    @param out  as many values as the frame should have
template <class Codec, class T>
ccoll::status decode_with(ccoll::const_byte_span bytes, std::span<T> out, const emulator::options& how = {})
{
    using of = launches<Codec, T>;
    exact_memory frame(bytes);
    const encoded r = run(of::scratch_bytes(out.size()), how, [&](auto... rest) {
        return of::decode(frame.span(), out.data(), out.size(), {}, rest...);
    });
    return r.clean ? static_cast<ccoll::status>(r.told.code) : ccoll::status::unsupported;
}
/// The addend of `values`, of the frame `a`, of their sum with the frame `b`: whatever is not empty.
/// @param eb  of values
template <class T>
encoded add(std::span<const T> values, ccoll::const_byte_span a, ccoll::const_byte_span b, std::size_t n,
            double eb, const emulator::options& how = {})
{
    using of = launches<SZp, T>;
    exact_memory x(a), y(b);
    return write(ccoll::max_addend_bytes<SZp, T>(n), of::scratch_bytes(n), how,
                 [&](auto* frame, auto... rest) {
                     if (!a.empty()) return of::add(x.span(), y.span(), n, frame, rest...);
                     if (!b.empty()) return of::encode_add(values.data(), n, {eb}, y.span(), frame, rest...);
                     return of::encode_addend(values.data(), n, {eb}, frame, rest...);
                 });
}

}  // namespace emulated
