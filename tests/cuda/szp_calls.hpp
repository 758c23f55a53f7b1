// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations of SZp under the emulator, with memory that is exactly as long as it may be.
#pragma once

#include "emulator/runtime.hpp"

#include "szp_launches.hpp"

#include "support/catch.hpp"
#include "szp_fields.hpp"

#include <memory>
#include <string>

namespace szp_calls {

namespace device = ccoll::detail::device;
namespace szp = ccoll::detail::device::szp;
namespace reference = szp_reference;
using reference::bytes;
using szp_fields::marker;

/// Bytes at a multiple of 16, and not one more than these.
class exact_memory {
public:
    explicit exact_memory(std::size_t n) : size_(n), at_(new std::uint8_t[n])
    {
        std::fill_n(at_.get(), n, std::uint8_t{0x5a});
    }
    explicit exact_memory(const bytes& from) : exact_memory(from.size())
    {
        std::copy(from.begin(), from.end(), at_.get());
    }
    std::uint8_t* data() { return at_.get(); }
    ccoll::const_byte_span span() const { return {reinterpret_cast<const std::byte*>(at_.get()), size_}; }

private:
    std::size_t size_;
    std::unique_ptr<std::uint8_t[]> at_;
};

struct result {
    bytes frame;
    device::outcome told;
    std::size_t listed = 0;  ///< chunks that the fast kernel has left to the second one
};

/// Runs a call. @param begin  (call) begins it
template <class T, class Begin>
result run(std::size_t n, exact_memory* frame, const marker<T>& missing, Begin begin)
{
    const std::size_t chunks = szp::chunks_of(n);
    std::vector<std::uint64_t> memory(szp::work::bytes_of(chunks) / 8 + 1);
    auto* const w = reinterpret_cast<szp::work*>(memory.data());
    result r;
    for (std::size_t i = 0; i < chunks; ++i) w->list[i].chunk = ~0u;
    szp_launches::call c{w, &r.told, {missing.value_or(0), missing.has_value()}};
    REQUIRE(begin(c) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
    CHECK(w->units + w->listed + w->blocks_done + w->code + w->raw_chunks + w->special_values == 0);
    for (std::size_t i = 0; i < chunks; ++i) {
        CHECK(w->list[i].is_listed == 0);
        r.listed += w->list[i].chunk != ~0u;
    }
    if (frame != nullptr) r.frame.assign(frame->data(), frame->data() + r.told.bytes);
    return r;
}
template <class T>
result encode(const T* x, std::size_t n, double eb, const marker<T>& missing = {})
{
    exact_memory to(szp_launches::max_encoded_bytes<T>(n));
    return run<T>(n, &to, missing,
                  [&](auto& c) { return szp_launches::begin_encode(x, n, eb, to.data(), c); });
}
template <class T>
result encode_addend(const T* x, std::size_t n, double eb, const marker<T>& missing = {})
{
    exact_memory to(szp_launches::max_addend_bytes(n));
    return run<T>(n, &to, missing,
                  [&](auto& c) { return szp_launches::begin_encode_addend(x, n, eb, to.data(), c); });
}
template <class T>
result encode_add(const T* x, std::size_t n, double eb, const bytes& other, const marker<T>& missing = {})
{
    exact_memory to(szp_launches::max_addend_bytes(n)), from(other);
    return run<T>(n, &to, missing, [&](auto& c) {
        return szp_launches::begin_encode_add(x, n, eb, from.span(), to.data(), c);
    });
}
template <class T>
result add(const bytes& a, const bytes& b, std::size_t n)
{
    exact_memory to(szp_launches::max_addend_bytes(n)), x(a), y(b);
    return run<T>(n, &to, {},
                  [&](auto& c) { return szp_launches::begin_add<T>(x.span(), y.span(), n, to.data(), c); });
}
template <class T>
result decode(const bytes& frame, std::vector<T>& out, const marker<T>& missing = {})
{
    exact_memory from(frame);
    return run<T>(out.size(), nullptr, missing, [&](auto& c) {
        return szp_launches::begin_decode(from.span(), out.data(), out.size(), c);
    });
}

/// Are they the same, bit by bit? Zeros may have either sign.
template <class T>
bool same(T a, T b)
{
    return reference::bits_of(a) == reference::bits_of(b) || (a == 0 && b == 0);
}
template <class T>
void check_same(const std::vector<T>& found, const std::vector<T>& expected, bool any_nan = false)
{
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (same(found[i], expected[i]) || (any_nan && std::isnan(found[i]) && std::isnan(expected[i])))
            continue;
        INFO("value " << i << " is " << found[i] << " instead of " << expected[i]);
        CHECK(same(found[i], expected[i]));
        return;
    }
}

}  // namespace szp_calls
