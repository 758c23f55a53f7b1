// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of codecs run by the emulator, with memory that is exactly as long as it may be, so that sanitizers see every byte beyond.
#pragma once

#include "emulator/emulator.hpp"

#include <ccoll/codec.hpp>
#include <ccoll/cuda/szp/add.cuh>
#include <ccoll/cuda/szp/decode.cuh>
#include <ccoll/cuda/szp/encode.cuh>
#include <ccoll/cuda/szx/decode.cuh>
#include <ccoll/cuda/szx/encode.cuh>
#include <ccoll/cuda/zfp/decode.cuh>
#include <ccoll/cuda/zfp/encode.cuh>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace emulated {

namespace device = ccoll::detail::device;
namespace szp = ccoll::detail::device::szp;
namespace szx = ccoll::detail::device::szx;
namespace zfp = ccoll::detail::device::zfp;
using ccoll::policies::Codec::PipeSZx;
using ccoll::policies::Codec::SZp;
using ccoll::policies::Codec::SZx;
using Zfp = ccoll::policies::Codec::ZfpAtRate;

/// Bytes at a multiple of 16, as an allocator of a device gives them, and not one more than these.
class exact_memory {
public:
    explicit exact_memory(std::size_t n) : bytes_(n), begin_(new std::byte[n])
    {
        static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ % 16 == 0);
        std::fill_n(begin_.get(), n, std::byte{0x5a});
    }
    explicit exact_memory(ccoll::const_byte_span from) : exact_memory(from.size()) { std::copy(from.begin(), from.end(), begin_.get()); }
    ccoll::byte_span span() { return {begin_.get(), bytes_}; }
    std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(begin_.get()); }

private:
    std::size_t bytes_;
    std::unique_ptr<std::byte[]> begin_;
};

/// What a launch works in, as the launches of the library have it: all 0, and all 0 again behind it.
class scratch_memory {
public:
    explicit scratch_memory(std::size_t chunks) : words_(device::scratch::bytes_of(chunks) / 8 + 1, 0) {}
    device::scratch* get() { return reinterpret_cast<device::scratch*>(words_.data()); }
    bool is_clean() const
    {
        for (const std::uint64_t w : words_)
            if (w != 0) return false;
        return true;
    }

private:
    std::vector<std::uint64_t> words_;
};

/// What kernels compute with: float for elements of two bytes.
template <class T>
using number_of = device::number_of_element<T>;

/// Launches of a codec, for elements T:
///   chunk_elements
///   encode(x, n, eb, frame, chunks, scratch, outcome, options), decode(frame, bytes, x, n, chunks, scratch, outcome, options)
template <class Codec, class T>
struct launches;

template <class Codec, class T>
std::uint32_t chunks_for(std::size_t n)
{
    constexpr std::size_t step = launches<Codec, T>::chunk_elements;
    return static_cast<std::uint32_t>((n + step - 1) / step);
}

struct encoded {
    std::vector<std::byte> bytes;
    device::outcome told;
    bool clean = false;
};

inline encoded written_to(exact_memory& frame, const device::outcome& told, const scratch_memory& scratch)
{
    const auto all = frame.span().first(static_cast<std::size_t>(told.bytes));
    return {{all.begin(), all.end()}, told, scratch.is_clean()};
}

/// @param x  need not be aligned to more than T
template <class Codec, class T>
encoded encode_with(std::span<const T> x, double eb, const emulator::options& how = {})
{
    const std::uint32_t chunks = chunks_for<Codec, T>(x.size());
    exact_memory frame(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    scratch_memory scratch(chunks);
    device::outcome told;
    launches<Codec, T>::encode(x.data(), x.size(), eb, frame.data(), chunks, scratch.get(), &told, how);
    return written_to(frame, told, scratch);
}
/// @return a status    @param out  as many values as the frame should have
template <class Codec, class T>
ccoll::status decode_with(ccoll::const_byte_span bytes, std::span<T> out, const emulator::options& how = {})
{
    exact_memory frame(bytes);
    scratch_memory scratch(0);
    device::outcome told;
    launches<Codec, T>::decode(frame.data(), bytes.size(), out.data(), out.size(), chunks_for<Codec, T>(out.size()), scratch.get(), &told,
                               how);
    return scratch.is_clean() ? static_cast<ccoll::status>(told.code) : ccoll::status::unsupported;
}

// ---- SZx, PipeSZx, and ZFP at a rate ----

template <class Format, class T>
struct launches_of_szx {
    static constexpr std::size_t chunk_elements = Format::chunk_elements;

    static void encode(const T* x, std::size_t n, double eb, std::uint8_t* frame, std::uint32_t chunks, device::scratch* s,
                       device::outcome* told, const emulator::options& how)
    {
        const auto z = device::for_chunks_of<T>(eb, szx::scale_of<number_of<T>>);
        emulator::launch(how, std::max(1u, chunks), device::team_threads, sizeof(szx::encode_room<Format, number_of<T>>),
                         [&] { szx::encode<Format, T>(x, n, z, frame, chunks, s, told); });
    }
    static void decode(const std::uint8_t* frame, std::size_t bytes, T* x, std::size_t n, std::uint32_t chunks, device::scratch* s,
                       device::outcome* told, const emulator::options& how)
    {
        emulator::launch(how, std::max(1u, chunks), device::team_threads, sizeof(szx::decode_room<Format, number_of<T>>),
                         [&] { szx::decode<Format, T>(frame, bytes, n, x, chunks, s, told); });
    }
};
template <class T>
struct launches<SZx, T> : launches_of_szx<szx::format, T> {};
template <class T>
struct launches<PipeSZx, T> : launches_of_szx<szx::pipe_format, T> {};

template <class T>
struct launches<Zfp, T> {
    static constexpr std::size_t chunk_elements = zfp::chunk_elements;

    static void encode(const T* x, std::size_t n, double rate, std::uint8_t* frame, std::uint32_t chunks, device::scratch* s,
                       device::outcome* told, const emulator::options& how)
    {
        const std::uint32_t bits = zfp::block_bits_at(rate, zfp::header_bits<number_of<T>>);
        emulator::launch(how, std::max(1u, chunks), device::team_threads,
                         sizeof(zfp::chunk_room<number_of<T>>) + zfp::image_bytes<number_of<T>>(bits),
                         [&] { zfp::encode<T>(x, n, rate, bits, frame, chunks, s, told); });
    }
    static void decode(const std::uint8_t* frame, std::size_t bytes, T* x, std::size_t n, std::uint32_t chunks, device::scratch* s,
                       device::outcome* told, const emulator::options& how)
    {
        emulator::launch(how, std::max(1u, chunks), device::team_threads, sizeof(zfp::chunk_room<number_of<T>>),
                         [&] { zfp::decode<T>(frame, bytes, n, x, chunks, s, told); });
    }
};

// ---- SZp ----

template <class T>
struct launches<SZp, T> {
    static constexpr std::size_t chunk_elements = szp::chunk_elements;

    static void encode(const T* x, std::size_t n, double eb, std::uint8_t* frame, std::uint32_t chunks, device::scratch* s,
                       device::outcome* told, const emulator::options& how)
    {
        const auto z = device::for_chunks_of<T>(eb, szp::grid_of<number_of<T>>);
        emulator::launch(how, std::max(1u, chunks), device::team_threads, sizeof(szp::movement_room<number_of<T>>),
                         [&] { szp::encode<T>(x, n, z, frame, chunks, s, told); });
    }
    static void decode(const std::uint8_t* frame, std::size_t bytes, T* x, std::size_t n, std::uint32_t chunks, device::scratch* s,
                       device::outcome* told, const emulator::options& how)
    {
        emulator::launch(how, std::max(1u, chunks), device::team_threads, sizeof(szp::decode_room<number_of<T>>),
                         [&] { szp::decode<T>(frame, bytes, n, x, chunks, s, told); });
    }
};

/// A launch of the kernel that makes addends. @param kernel  (frame, chunks, scratch, outcome) calls it
template <class T, class Kernel>
encoded make_addend(std::size_t n, const emulator::options& how, Kernel kernel)
{
    const std::uint32_t chunks = chunks_for<SZp, T>(n);
    exact_memory frame(ccoll::max_addend_bytes<SZp, T>(n));
    scratch_memory scratch(chunks);
    device::outcome told;
    emulator::launch(how, std::max(1u, chunks), device::team_threads, sizeof(szp::addend_room<number_of<T>>),
                     [&] { kernel(frame.data(), chunks, scratch.get(), &told); });
    return written_to(frame, told, scratch);
}

/// The addend of `values`, of the frame `a`, of their sum with the frame `b`: whatever is not empty. @param eb  of values
template <class T>
encoded add(std::span<const T> values, ccoll::const_byte_span a, ccoll::const_byte_span b, std::size_t n, double eb,
            const emulator::options& how = {})
{
    exact_memory first(a), second(b);
    szp::grid<number_of<T>> z;
    if (a.empty()) z = szp::grid_of<number_of<T>>(eb);
    else z.bound = -1;
    const szp::operand<T> x{values.data(), {a.empty() ? nullptr : first.data(), a.size()}};
    const szp::operand<T> y{nullptr, {b.empty() ? nullptr : second.data(), b.size()}};
    return make_addend<T>(n, how, [&](std::uint8_t* frame, std::uint32_t chunks, device::scratch* s, device::outcome* told) {
        if (a.empty()) szp::add<T, szp::addend_of::values>(x, y, n, z, frame, chunks, s, told);
        else szp::add<T, szp::addend_of::frames>(x, y, n, z, frame, chunks, s, told);
    });
}

/// The addend of p a + q b.
template <class T>
encoded combine(std::int64_t p, ccoll::const_byte_span a, std::int64_t q, ccoll::const_byte_span b, std::size_t n,
                const emulator::options& how = {})
{
    exact_memory first(a), second(b);
    szp::grid<number_of<T>> z;
    z.bound = -1;
    const szp::operand<T> x{nullptr, {first.data(), a.size()}, p}, y{nullptr, {second.data(), b.size()}, q};
    return make_addend<T>(n, how, [&](std::uint8_t* frame, std::uint32_t chunks, device::scratch* s, device::outcome* told) {
        szp::add<T, szp::addend_of::multiples>(x, y, n, z, frame, chunks, s, told);
    });
}

template <class T>
encoded encode(std::span<const T> x, double eb, const emulator::options& how = {})
{
    return encode_with<SZp, T>(x, eb, how);
}
template <class T>
ccoll::status decode(ccoll::const_byte_span bytes, std::span<T> out, const emulator::options& how = {})
{
    return decode_with<SZp, T>(bytes, out, how);
}

}  // namespace emulated
