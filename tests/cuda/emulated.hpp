// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of SZp run by the emulator, with memory that is exactly as long as it may be, so that sanitizers see every byte beyond.
#pragma once

#include "emulator/emulator.hpp"

#include <ccoll/codec.hpp>
#include <ccoll/cuda/szp/add.cuh>
#include <ccoll/cuda/szp/decode.cuh>
#include <ccoll/cuda/szp/encode.cuh>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace emulated {

namespace device = ccoll::detail::device;
namespace szp = ccoll::detail::device::szp;
using SZp = ccoll::policies::Codec::SZp;

/// Bytes at a multiple of 16, as an allocator of a device gives them.
class frame_memory {
public:
    explicit frame_memory(std::size_t n, int fill = 0x5a) : bytes_(n), all_(new std::byte[n + 16])
    {
        std::memset(all_.get(), fill, n + 16);
        const auto at = reinterpret_cast<std::uintptr_t>(all_.get());
        begin_ = all_.get() + (16 - at % 16) % 16;
    }
    explicit frame_memory(ccoll::const_byte_span from) : frame_memory(from.size()) { ccoll::copy(span(), from); }

    ccoll::byte_span span() { return {begin_, bytes_}; }
    std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(begin_); }

private:
    std::size_t bytes_;
    std::unique_ptr<std::byte[]> all_;
    std::byte* begin_;
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

inline std::uint32_t chunks_of(std::size_t n) { return static_cast<std::uint32_t>((n + 8191) / 8192); }

/// What kernels compute with.
template <class T>
using number_of = device::number_of_element<T>;

template <class T>
ccoll::encode_result encode_on_host(std::span<const T> x, ccoll::byte_span dst, double eb)
{
    return ccoll::encode<SZp>(x, dst, eb);
}

struct encoded {
    std::vector<std::byte> bytes;
    device::outcome told;
    bool clean = false;
};

/// @param x  need not be aligned to more than T
template <class T>
encoded encode(std::span<const T> x, double eb, const emulator::options& how = {})
{
    const std::size_t n = x.size();
    frame_memory frame(ccoll::max_encoded_bytes<SZp, T>(n));
    scratch_memory scratch(chunks_of(n));
    encoded r;
    const auto z = device::for_chunks_of<T>(eb, szp::grid_of<number_of<T>>);
    emulator::launch(how, std::max(1u, chunks_of(n)), device::team_threads, sizeof(szp::movement_room<number_of<T>>),
                     [&] { szp::encode<T>(x.data(), n, z, frame.data(), chunks_of(n), scratch.get(), &r.told); });
    r.bytes.assign(frame.span().begin(), frame.span().begin() + static_cast<std::ptrdiff_t>(r.told.bytes));
    r.clean = scratch.is_clean();
    return r;
}

/// The addend of `values`, of the frame `a`, of their sum with the frame `b`: whatever is not empty. @param eb  of values
template <class T>
encoded add(std::span<const T> values, ccoll::const_byte_span a, ccoll::const_byte_span b, std::size_t n, double eb,
            const emulator::options& how = {})
{
    frame_memory frame(ccoll::max_addend_bytes<SZp, T>(n)), first(a), second(b);
    scratch_memory scratch(chunks_of(n));
    encoded r;
    szp::grid<number_of<T>> z;
    if (a.empty()) z = szp::grid_of<number_of<T>>(eb);
    else z.bound = -1;
    const szp::operand<T> x{values.data(), {a.empty() ? nullptr : first.data(), a.size()}};
    const szp::operand<T> y{nullptr, {b.empty() ? nullptr : second.data(), b.size()}};
    emulator::launch(how, std::max(1u, chunks_of(n)), device::team_threads, sizeof(szp::addend_room<number_of<T>>), [&] {
        if (a.empty()) szp::add<T, szp::addend_of::values>(x, y, n, z, frame.data(), chunks_of(n), scratch.get(), &r.told);
        else szp::add<T, szp::addend_of::frames>(x, y, n, z, frame.data(), chunks_of(n), scratch.get(), &r.told);
    });
    r.bytes.assign(frame.span().begin(), frame.span().begin() + static_cast<std::ptrdiff_t>(r.told.bytes));
    r.clean = scratch.is_clean();
    return r;
}

/// The addend of p a + q b.
template <class T>
encoded combine(std::int64_t p, ccoll::const_byte_span a, std::int64_t q, ccoll::const_byte_span b, std::size_t n,
                const emulator::options& how = {})
{
    frame_memory frame(ccoll::max_addend_bytes<SZp, T>(n)), first(a), second(b);
    scratch_memory scratch(chunks_of(n));
    encoded r;
    szp::grid<number_of<T>> z;
    z.bound = -1;
    const szp::operand<T> x{nullptr, {first.data(), a.size()}, p}, y{nullptr, {second.data(), b.size()}, q};
    emulator::launch(how, std::max(1u, chunks_of(n)), device::team_threads, sizeof(szp::addend_room<number_of<T>>),
                     [&] { szp::add<T, szp::addend_of::multiples>(x, y, n, z, frame.data(), chunks_of(n), scratch.get(), &r.told); });
    r.bytes.assign(frame.span().begin(), frame.span().begin() + static_cast<std::ptrdiff_t>(r.told.bytes));
    r.clean = scratch.is_clean();
    return r;
}

/// @return a status    @param out  as many values as the frame should have
template <class T>
ccoll::status decode(ccoll::const_byte_span bytes, std::span<T> out, const emulator::options& how = {})
{
    frame_memory frame(bytes);
    scratch_memory scratch(0);
    device::outcome told;
    emulator::launch(how, std::max(1u, chunks_of(out.size())), device::team_threads, sizeof(szp::decode_room<number_of<T>>), [&] {
        szp::decode<T>(frame.data(), bytes.size(), out.size(), out.data(), chunks_of(out.size()), scratch.get(), &told);
    });
    return scratch.is_clean() ? static_cast<ccoll::status>(told.code) : ccoll::status::unsupported;
}

}  // namespace emulated
