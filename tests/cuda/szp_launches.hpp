// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations of SZp on a device, begun on memory that is as long as it has to be. Includes the emulator,
// or nvcc compiles it.
#pragma once

#include <ccoll/cuda/szp.cuh>

namespace szp_launches {

namespace device = ccoll::detail::device;
namespace szp = ccoll::detail::device::szp;

template <class T>
using launches = device::launches_of<ccoll::policies::Codec::SZp, T>;

/// Bytes that a frame of n elements may have, for movement, and of an addend: 64 planes, and a dictionary of
/// either kind.
template <class T>
std::size_t max_encoded_bytes(std::size_t n)
{
    return device::payload_begin(szp::chunks_of(n)) + (n * sizeof(T) + 16 * szp::chunks_of(n)) / 16 * 16;
}
inline std::size_t max_addend_bytes(std::size_t n)
{
    constexpr std::size_t of_section = 4 + 64 + 4 * device::most_blocks + 2 * szp::chunk_elements +
                                       24 * device::most_entries + 48,
                          of_chunk = szp::host::most_bytes(szp::chunk_elements, true) + 2 * of_section;
    return device::payload_begin(szp::chunks_of(n)) + szp::chunks_of(n) * of_chunk / 16 * 16;
}

/// What a call has beside its operands.
struct call {
    szp::work* w;  ///< all 0
    device::outcome* told;
    ccoll::missing_value missing{};

    ccoll::codec_context context(double eb) const
    {
        ccoll::codec_context c;
        c.eb = eb;
        c.missing = missing;
        return c;
    }
};
template <class T>
cudaError_t begin_encode(const T* x, std::size_t n, double eb, void* to, const call& c)
{
    return launches<T>::encode(x, n, c.context(eb), to, c.w, c.told, nullptr);
}
template <class T>
cudaError_t begin_encode_addend(const T* x, std::size_t n, double eb, void* to, const call& c)
{
    return launches<T>::encode_addend(x, n, c.context(eb), to, c.w, c.told, nullptr);
}
template <class T>
cudaError_t begin_encode_add(const T* x, std::size_t n, double eb, ccoll::const_byte_span other, void* to,
                             const call& c)
{
    return launches<T>::encode_add(x, n, c.context(eb), other, to, c.w, c.told, nullptr);
}
template <class T>
cudaError_t begin_add(ccoll::const_byte_span a, ccoll::const_byte_span b, std::size_t n, void* to,
                      const call& c)
{
    return launches<T>::add(a, b, n, to, c.w, c.told, nullptr);
}
template <class T>
cudaError_t begin_decode(ccoll::const_byte_span from, T* x, std::size_t n, const call& c)
{
    return launches<T>::decode(from, x, n, c.context(0), c.w, c.told, nullptr);
}

}  // namespace szp_launches
