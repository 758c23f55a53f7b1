// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp.cuh - floor 4. Codec::SZp on a device: launches of its kernels, two on a stream for each operation.
#pragma once

#include <ccoll/cuda/launches.cuh>
#include <ccoll/cuda/szp/encode.cuh>
#include <ccoll/cuda/szp/list.cuh>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device {

namespace szp {
inline u32 chunks_of(std::size_t n) { return static_cast<u32>((n + chunk_elements - 1) / chunk_elements); }
}  // namespace szp

/// As its members for frames: an addend, the sum of two, and the addend of x plus the one in a frame.
template <native_float T>
struct launches_of<policies::Codec::SZp, T> {
    static constexpr std::size_t chunk_elements = szp::chunk_elements;
    static constexpr std::size_t scratch_bytes(std::size_t n) { return szp::work::bytes_of(szp::chunks_of(n)); }

    static cudaError_t encode(const T* x, std::size_t n, const codec_context& c, void* to, scratch* s, outcome* told, cudaStream_t stream)
    {
        return begin<szp::encoding::movement, szp::operation::move>(x, n, c, {}, to, s, told, stream);
    }
    static cudaError_t encode_addend(const T* x, std::size_t n, const codec_context& c, void* to, scratch* s, outcome* told,
                                     cudaStream_t stream)
    {
        return begin<szp::encoding::addend, szp::operation::encode>(x, n, c, {}, to, s, told, stream);
    }
    static cudaError_t encode_add(const T* x, std::size_t n, const codec_context& c, const_byte_span other, void* to, scratch* s,
                                  outcome* told, cudaStream_t stream)
    {
        return begin<szp::encoding::sum, szp::operation::add_values>(x, n, c, frame_of(other, n), to, s, told, stream);
    }
    static cudaError_t add(const_byte_span a, const_byte_span b, std::size_t n, void* to, scratch* s, outcome* told, cudaStream_t stream)
    {
        const szp::add_arguments<T> f{frame_of(a, n), frame_of(b, n), n, frame_to(to, szp::chunks_of(n)), s};
        constexpr std::size_t shared_bytes = team_warps * szp::staged_bytes + szp::control_bytes;
        if (n > 0 && f.a.has_index() && f.b.has_index()) CCOLL_CUDA_TRY(launch(&szp::add<T>, szp::chunks_of(n), shared_bytes, stream, f));
        szp::list_arguments<T> rest = rest_of(n, {}, s, told);
        rest.a = f.a;
        rest.b = f.b;
        rest.to = f.to;
        return begin_list<szp::operation::add>(rest, stream);
    }
    static cudaError_t decode(const_byte_span from, T* x, std::size_t n, const codec_context& c, scratch* s, outcome* told,
                              cudaStream_t stream)
    {
        szp::list_arguments<T> rest = rest_of(n, c, s, told);
        rest.a = frame_of(from, n);
        rest.out = x;
        const szp::decode_arguments<T> f{rest.a, x, n, s, is_aligned(x), rest.has_missing, rest.missing, rest.divisor};
        if (n > 0 && f.from.has_index())
            CCOLL_CUDA_TRY(launch(&szp::decode<T>, szp::chunks_of(n), team_warps * szp::tile<T>::bytes, stream, f));
        return begin_list<szp::operation::decode>(rest, stream);
    }

private:
    static bool is_aligned(const T* x) { return reinterpret_cast<std::uintptr_t>(x) % 16 == 0; }
    static frame_in frame_of(const_byte_span s, std::size_t n) { return {s.data(), s.size(), szp::chunks_of(n)}; }

    template <szp::encoding What, szp::operation Rest>
    static cudaError_t begin(const T* x, std::size_t n, const codec_context& c, const frame_in& other, void* to, scratch* s, outcome* told,
                             cudaStream_t stream)
    {
        szp::list_arguments<T> rest = rest_of(n, c, s, told);
        rest.x = x;
        rest.z = szp::law<T>(c.eb);
        rest.bound = c.eb;
        rest.a = other;
        rest.to = frame_to(to, szp::chunks_of(n));
        szp::encode_arguments<T> a;
        a.x = x;
        a.n = n;
        a.is_aligned = is_aligned(x);
        a.z = rest.z;
        if (a.z.usable) {
            int exponent = 0;
            std::frexp(a.z.common.step, &exponent);
            a.lattice = static_cast<T>(std::ldexp(1.0, -exponent));
            a.beyond = a.z.common.steps(187);
        }
        a.has_missing = rest.has_missing;
        a.missing = rest.missing;
        a.other = other;
        a.to = rest.to;
        a.w = s;
        constexpr std::size_t shared_bytes = team_warps * szp::tile<T>::bytes + szp::control_bytes + sizeof(szp::beside);
        const bool can_begin = n > 0 && (What != szp::encoding::sum || other.has_index());
        if (can_begin) CCOLL_CUDA_TRY(launch(&szp::encode<T, What>, szp::chunks_of(n), shared_bytes, stream, a));
        return begin_list<Rest>(rest, stream);
    }
    static szp::list_arguments<T> rest_of(std::size_t n, const codec_context& c, scratch* s, outcome* told)
    {
        szp::list_arguments<T> a;
        a.facts = {n, szp::chunks_of(n), dtype_of<T>};
        a.blocks = std::min(blocks_for_chunks(a.facts.chunks), szp::list_blocks);
        a.has_missing = c.missing.declared;
        a.missing = static_cast<szp::word_of<T>>(c.missing.bits);
        a.divisor = static_cast<u32>(c.divisor);
        a.w = s;
        a.told = told;
        return a;
    }
    template <szp::operation What>
    static cudaError_t begin_list(const szp::list_arguments<T>& a, cudaStream_t stream)
    {
        return launch_behind<&szp::work_off<T, What>>(a.blocks, sizeof(szp::list_room<What>), stream, a);
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::device
