// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations of SZp on a GPU, from and to memory of the host, with device memory that is exactly as long
// as it may be.
#pragma once

#include "checks.hpp"

#include "szp_launches.hpp"

#include "szp_fields.hpp"

namespace szp_on_gpu {

namespace device = ccoll::detail::device;
namespace szp = ccoll::detail::device::szp;
using szp_fields::bytes;
using szp_fields::marker;

inline constexpr int untouched = 0x5a;

/// Bytes that begin at a multiple of 16 and are filled with `untouched`.
class memory {
public:
    explicit memory(std::size_t n) : size_(n)
    {
        void* at = nullptr;
        gpu::cuda(cudaMallocAsync(&at, std::max<std::size_t>(n, 1), nullptr), "cudaMallocAsync");
        at_ = static_cast<std::uint8_t*>(at);
        gpu::cuda(cudaMemsetAsync(at, untouched, n, nullptr), "cudaMemsetAsync");
    }
    explicit memory(const bytes& from) : memory(from.size()) { put(from.data(), from.size()); }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory() { cudaFreeAsync(at_, nullptr); }

    void put(const void* from, std::size_t n, std::size_t at = 0)
    {
        if (n > 0) gpu::cuda(cudaMemcpy(at_ + at, from, n, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    bytes get() const
    {
        bytes b(size_);
        if (size_ > 0) gpu::cuda(cudaMemcpy(b.data(), at_, size_, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return b;
    }
    std::uint8_t* data() const { return at_; }
    ccoll::const_byte_span span() const { return {reinterpret_cast<const std::byte*>(at_), size_}; }

private:
    std::uint8_t* at_ = nullptr;
    std::size_t size_;
};

struct result {
    bytes frame;
    device::outcome told;
    bool clean = true;  ///< nothing was written where nothing may be
};
inline unsigned code_of(ccoll::status s) { return static_cast<unsigned>(s); }
inline bool is_untouched(const bytes& b, std::size_t from, std::size_t to)
{
    return std::all_of(b.begin() + static_cast<std::ptrdiff_t>(from),
                       b.begin() + static_cast<std::ptrdiff_t>(to),
                       [](std::uint8_t v) { return v == untouched; });
}

/// Where a call tells its outcome: memory of the host that the device writes.
inline device::outcome* shared_outcome()
{
    static device::outcome* const at = [] {
        void* p = nullptr;
        gpu::cuda(cudaHostAlloc(&p, sizeof(device::outcome), cudaHostAllocMapped), "cudaHostAlloc");
        return static_cast<device::outcome*>(p);
    }();
    return at;
}
/// @param begin  (call) begins it
template <class T, class Begin>
result run(std::size_t n, const memory* frame, const marker<T>& missing, Begin begin)
{
    const std::size_t chunks = szp::chunks_of(n), bytes_of_work = szp::work::bytes_of(chunks);
    const memory w(bytes_of_work);
    gpu::cuda(cudaMemsetAsync(w.data(), 0, bytes_of_work, nullptr), "cudaMemsetAsync");
    *shared_outcome() = {~std::uint64_t{0}, ~0u, ~0u, ~std::uint64_t{0}};
    const szp_launches::call c{
        reinterpret_cast<szp::work*>(w.data()), shared_outcome(), {missing.value_or(0), missing.has_value()}};
    gpu::cuda(begin(c), "a launch");
    gpu::cuda(cudaStreamSynchronize(nullptr), "a kernel");
    result r;
    r.told = *shared_outcome();
    bytes left = w.get();
    for (std::size_t i = 0; i < chunks; ++i) {  // what remains of the list means nothing
        const std::size_t at =
            offsetof(szp::work, list) + sizeof(szp::work::entry) * i + offsetof(szp::work::entry, chunk);
        std::fill_n(left.begin() + static_cast<std::ptrdiff_t>(at), 4, std::uint8_t{0});
    }
    r.clean = std::all_of(left.begin(), left.end(), [](std::uint8_t v) { return v == 0; });
    if (frame != nullptr) {
        r.frame = frame->get();
        r.clean = r.clean && r.told.bytes <= r.frame.size();
        if (r.told.code == 0) r.clean = r.clean && is_untouched(r.frame, r.told.bytes, r.frame.size());
        r.frame.resize(std::min<std::size_t>(r.told.bytes, r.frame.size()));
    }
    return r;
}

/// Values in device memory. @param shift  elements between them and a multiple of 16 bytes
template <class T>
struct values {
    memory m;
    std::size_t shift, n;

    values(std::size_t count, std::size_t from) : m(sizeof(T) * (count + from)), shift(from), n(count) {}
    values(const std::vector<T>& x, std::size_t from) : values(x.size(), from)
    {
        m.put(x.data(), sizeof(T) * n, sizeof(T) * from);
    }
    T* data() const { return reinterpret_cast<T*>(m.data()) + shift; }
};

template <class T>
result encode(const std::vector<T>& x, double eb, const marker<T>& missing = {}, std::size_t shift = 0)
{
    const values<T> in(x, shift);
    const memory to(szp_launches::max_encoded_bytes<T>(x.size()));
    return run<T>(x.size(), &to, missing,
                  [&](auto& c) { return szp_launches::begin_encode(in.data(), in.n, eb, to.data(), c); });
}
template <class T>
result encode_addend(const std::vector<T>& x, double eb, const marker<T>& missing = {}, std::size_t shift = 0)
{
    const values<T> in(x, shift);
    const memory to(szp_launches::max_addend_bytes(x.size()));
    return run<T>(x.size(), &to, missing, [&](auto& c) {
        return szp_launches::begin_encode_addend(in.data(), in.n, eb, to.data(), c);
    });
}
template <class T>
result encode_add(const std::vector<T>& x, double eb, const bytes& other, const marker<T>& missing = {},
                  std::size_t shift = 0)
{
    const values<T> in(x, shift);
    const memory to(szp_launches::max_addend_bytes(x.size())), from(other);
    return run<T>(x.size(), &to, missing, [&](auto& c) {
        return szp_launches::begin_encode_add(in.data(), in.n, eb, from.span(), to.data(), c);
    });
}
template <class T>
result add(const bytes& a, const bytes& b, std::size_t n)
{
    const memory to(szp_launches::max_addend_bytes(n)), x(a), y(b);
    return run<T>(n, &to, {},
                  [&](auto& c) { return szp_launches::begin_add<T>(x.span(), y.span(), n, to.data(), c); });
}
template <class T>
result decode(const bytes& frame, std::vector<T>& out, const marker<T>& missing = {}, std::size_t shift = 0)
{
    const memory from(frame);
    const values<T> to(out.size() + 3, shift);  // three more, which remain as they are
    result r = run<T>(out.size(), nullptr, missing, [&](auto& c) {
        return szp_launches::begin_decode(from.span(), to.data(), out.size(), c);
    });
    const bytes all = to.m.get();
    const std::size_t begin = sizeof(T) * shift, end = begin + sizeof(T) * out.size();
    r.clean = r.clean && is_untouched(all, 0, begin) && is_untouched(all, end, all.size());
    if (!out.empty()) std::memcpy(out.data(), all.data() + begin, end - begin);
    return r;
}

}  // namespace szp_on_gpu
