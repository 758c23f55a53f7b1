// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/launch.cuh - floor 4. The operations of SZp on a device: each begins two kernels on a stream.
#pragma once

#include <ccoll/cuda/launches.cuh>
#include <ccoll/cuda/szp/encode.cuh>
#include <ccoll/cuda/szp/list.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

inline u32 chunks_of(std::size_t n) { return static_cast<u32>((n + chunk_elements - 1) / chunk_elements); }

/// Bytes that a frame of n elements may have, for movement, and of an addend: 64 planes, and a dictionary of either kind.
template <class T>
std::size_t max_encoded_bytes(std::size_t n)
{
    return payload_begin(chunks_of(n)) + (n * sizeof(T) + unit_bytes * chunks_of(n)) / unit_bytes * unit_bytes;
}
inline std::size_t max_addend_bytes(std::size_t n)
{
    constexpr std::size_t of_section = 4 + 64 + 4 * chunk_blocks + 2 * chunk_elements + 24 * most_entries + 3 * unit_bytes;
    return payload_begin(chunks_of(n)) + chunks_of(n) * (host::most_bytes(chunk_elements, true) + 2 * of_section) / unit_bytes * unit_bytes;
}

/// What a call has beside its operands. Frames begin at multiples of 16 bytes; all memory is where the device can reach it.
template <class T>
struct call {
    work* w;        ///< all 0, with room for the chunks: work::bytes_of
    outcome* told;  ///< filled in when the call is done
    cudaStream_t stream;
    bool has_missing = false;
    word_of<T> missing = 0;   ///< the bits of the value that stands for a missing one
    u32 divisor = 1;          ///< the values of a decoded sum are divided by it
    u32 dtype = dtype_of<T>;  ///< of the frames
};

/// Begins the second kernel. Where its machine code can wait for the kernel in front of it, it may start before that has ended.
template <operation What, class T>
cudaError_t launch_list(const list_arguments<T>& a, cudaStream_t stream)
{
    constexpr std::size_t shared_bytes = sizeof(list_room<What>);
#if defined(__CUDACC__)
    const auto kernel = &work_off<T, What>;
    static const bool can_wait = [kernel] {
        cudaFuncAttributes facts{};
        return cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(kernel)) == cudaSuccess && facts.binaryVersion >= 90;
    }();
    CCOLL_CUDA_TRY(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared_bytes)));
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how{};
    how.gridDim = dim3(a.blocks);
    how.blockDim = dim3(team_threads);
    how.dynamicSmemBytes = shared_bytes;
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = can_wait ? 1 : 0;
    return cudaLaunchKernelEx(&how, kernel, a);
#else
    return launch(&work_off<T, What>, a.blocks, shared_bytes, stream, a);
#endif
}

template <operation What, class T>
cudaError_t begin_list(list_arguments<T> a, const call<T>& c)
{
    a.facts.chunks = chunks_of(a.facts.n);
    a.facts.dtype = c.dtype;
    a.blocks = std::min(std::max(a.facts.chunks, 1u), list_blocks);
    a.has_missing = c.has_missing;
    a.missing = c.missing;
    a.divisor = c.divisor;
    a.w = c.w;
    a.told = c.told;
    return launch_list<What>(a, c.stream);
}
template <class T>
bool is_aligned(const T* x)
{
    return reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
}

template <encoding What, operation Rest, class T>
cudaError_t begin_encoding(const T* x, std::size_t n, double eb, const frame_in& other, void* to, const call<T>& c)
{
    const law<T> z(eb);
    encode_arguments<T> a;
    a.x = x;
    a.n = n;
    a.is_aligned = is_aligned(x);
    a.z = z;
    if (z.usable) {
        int exponent = 0;
        std::frexp(z.common.step, &exponent);
        a.lattice = static_cast<T>(std::ldexp(1.0, -exponent));
        a.beyond = z.common.steps(187);
    }
    a.has_missing = c.has_missing;
    a.missing = c.missing;
    a.other = other;
    a.to = frame_to(to, chunks_of(n));
    a.w = c.w;
    constexpr std::size_t shared_bytes = team_warps * tile<T>::bytes + control_bytes + sizeof(beside);
    const bool can_begin = n > 0 && (What != encoding::sum || other.has_index());
    if (can_begin) CCOLL_CUDA_TRY(launch(&encode<T, What>, chunks_of(n), shared_bytes, c.stream, a));
    list_arguments<T> rest;
    rest.x = x;
    rest.facts.n = n;
    rest.z = z;
    rest.bound = eb;
    rest.a = other;
    rest.to = a.to;
    return begin_list<Rest>(rest, c);
}

/// For movement. @param to  max_encoded_bytes<T>(n)
template <class T>
cudaError_t begin_encode(const T* x, std::size_t n, double eb, void* to, const call<T>& c)
{
    return begin_encoding<encoding::movement, operation::move>(x, n, eb, {}, to, c);
}
/// @param to  max_addend_bytes(n)
template <class T>
cudaError_t begin_encode_addend(const T* x, std::size_t n, double eb, void* to, const call<T>& c)
{
    return begin_encoding<encoding::addend, operation::encode>(x, n, eb, {}, to, c);
}
/// The sum of the addend of x and of the one in `other`. @param to  max_addend_bytes(n), apart from `other`
template <class T>
cudaError_t begin_encode_add(const T* x, std::size_t n, double eb, const_byte_span other, void* to, const call<T>& c)
{
    return begin_encoding<encoding::sum, operation::add_values>(x, n, eb, {other.data(), other.size(), chunks_of(n)}, to, c);
}
template <class T>
cudaError_t begin_add(const_byte_span a, const_byte_span b, std::size_t n, void* to, const call<T>& c)
{
    add_arguments<T> f{{a.data(), a.size(), chunks_of(n)}, {b.data(), b.size(), chunks_of(n)}, n, frame_to(to, chunks_of(n)), c.w};
    constexpr std::size_t shared_bytes = team_warps * staged_bytes + control_bytes;
    if (n > 0 && f.a.has_index() && f.b.has_index()) CCOLL_CUDA_TRY(launch(&add<T>, chunks_of(n), shared_bytes, c.stream, f));
    list_arguments<T> rest;
    rest.facts.n = n;
    rest.a = f.a;
    rest.b = f.b;
    rest.to = f.to;
    return begin_list<operation::add>(rest, c);
}
/// A frame for movement, or an addend. Any bytes are safe.
template <class T>
cudaError_t begin_decode(const_byte_span from, T* x, std::size_t n, const call<T>& c)
{
    const decode_arguments<T> f{{from.data(), from.size(), chunks_of(n)}, x, n, c.w, is_aligned(x), c.has_missing, c.missing, c.divisor};
    const auto kernel = c.divisor == 1 ? &decode<T, false> : &decode<T, true>;
    if (n > 0 && f.from.has_index()) CCOLL_CUDA_TRY(launch(kernel, chunks_of(n), team_warps * tile<T>::bytes, c.stream, f));
    list_arguments<T> rest;
    rest.out = x;
    rest.facts.n = n;
    rest.a = f.from;
    return begin_list<operation::decode>(rest, c);
}

}  // namespace ccoll::detail::device::szp
