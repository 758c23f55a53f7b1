// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp.cuh - floor 4. Codec::SZp on a device: launches of its kernels, two on a stream for each
// operation.
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
    static constexpr std::size_t scratch_bytes(std::size_t n)
    {
        return szp::work::bytes_of(szp::chunks_of(n));
    }

    static cudaError_t encode(const T* x, std::size_t n, const codec_context& c, void* to, scratch* s,
                              outcome* told, cudaStream_t stream)
    {
        return begin_encoding<szp::operation::move>(x, n, c, {}, to, s, told, stream);
    }
    static cudaError_t encode_addend(const T* x, std::size_t n, const codec_context& c, void* to, scratch* s,
                                     outcome* told, cudaStream_t stream)
    {
        return begin_encoding<szp::operation::encode>(x, n, c, {}, to, s, told, stream);
    }
    static cudaError_t encode_add(const T* x, std::size_t n, const codec_context& c, const_byte_span other,
                                  void* to, scratch* s, outcome* told, cudaStream_t stream)
    {
        return begin_encoding<szp::operation::add_values>(x, n, c, frame_of(other, n), to, s, told, stream);
    }
    static cudaError_t add(const_byte_span x, const_byte_span y, std::size_t n, void* to, scratch* s,
                           outcome* told, cudaStream_t stream)
    {
        arguments a = common(n, {}, s, told);
        a.a = frame_of(x, n);
        a.b = frame_of(y, n);
        a.to = frame_to(to, a.facts.chunks);
        return begin<szp::operation::add>(a, stream);
    }
    static cudaError_t decode(const_byte_span from, T* x, std::size_t n, const codec_context& c, scratch* s,
                              outcome* told, cudaStream_t stream)
    {
        arguments a = common(n, c, s, told);
        a.a = frame_of(from, n);
        a.out = x;
        a.is_aligned = is_aligned(x);
        return begin<szp::operation::decode>(a, stream);
    }

private:
    using arguments = szp::arguments<T>;

    static bool is_aligned(const T* x) { return reinterpret_cast<std::uintptr_t>(x) % 16 == 0; }
    static frame_in frame_of(const_byte_span s, std::size_t n)
    {
        return {s.data(), s.size(), szp::chunks_of(n)};
    }
    static arguments common(std::size_t n, const codec_context& c, scratch* s, outcome* told)
    {
        arguments a;
        a.facts = {n, szp::chunks_of(n), dtype_of<T>};
        a.blocks = std::min(blocks_for_chunks(a.facts.chunks), szp::list_blocks);
        a.has_missing = c.missing.declared;
        a.missing = static_cast<szp::word_of<T>>(c.missing.bits);
        a.divisor = static_cast<u32>(c.divisor);
        a.w = s;
        a.told = told;
        return a;
    }
    /// @param other  a frame to which values are added
    template <szp::operation What>
    static cudaError_t begin_encoding(const T* x, std::size_t n, const codec_context& c,
                                      const frame_in& other, void* to, scratch* s, outcome* told,
                                      cudaStream_t stream)
    {
        arguments a = common(n, c, s, told);
        a.x = x;
        a.is_aligned = is_aligned(x);
        a.z = szp::law<T>(c.eb);
        a.bound = c.eb;
        if (a.z.usable) {
            int exponent = 0;
            std::frexp(a.z.common.step, &exponent);
            a.lattice = static_cast<T>(std::ldexp(1.0, -exponent));
            a.beyond = a.z.common.steps(187);
        }
        a.a = other;
        a.to = frame_to(to, a.facts.chunks);
        return begin<What>(a, stream);
    }
    /// Where a frame has no index, the fast kernel could read nothing.
    template <szp::operation What>
    static cudaError_t begin(const arguments& a, cudaStream_t stream)
    {
        bool can_begin = a.facts.n > 0 && (!szp::has_frame<What> || a.a.has_index());
        if constexpr (What == szp::operation::decode) {
            if (can_begin)
                CCOLL_CUDA_TRY(
                    launch(&szp::decode<T>, a.facts.chunks, team_warps * szp::tile<T>::bytes, stream, a));
        } else {
            can_begin = can_begin && (What != szp::operation::add || a.b.has_index());
            if (can_begin)
                CCOLL_CUDA_TRY(
                    launch(&szp::make<T, What>, a.facts.chunks, szp::fast_room<T, What>::bytes, stream, a));
        }
        return launch_behind<&szp::work_off<T, What>>(a.blocks, sizeof(szp::list_room<What>), stream, a);
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::device
