// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad codecs, and bad calls of codecs alone; as call.cpp.
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/check_codec.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

struct UnknownCodec : ccoll::codec_tag<250, true> {
    static constexpr const char* name = "UnknownCodec";
};

/// What a codec must have.
struct chunks {
    static constexpr std::size_t chunk_elements = 64;
    static ccoll::encode_result encode_chunk(std::span<const float>, ccoll::byte_span, double) noexcept
    {
        return {};
    }
    static ccoll::status decode_chunk(ccoll::const_byte_span, std::span<float>, double) noexcept
    {
        return ccoll::status::ok;
    }
};

struct TakesAnId : ccoll::codec_tag<3, true> {
    static constexpr const char* name = "TakesAnId";
};
struct Nameless : ccoll::codec_tag<201, true> {};
struct MayThrow : ccoll::codec_tag<202, true> {
    static constexpr const char* name = "MayThrow";
};
struct AddsALittle : ccoll::codec_tag<203, true> {
    static constexpr const char* name = "AddsALittle";
};
struct AddsAndThrows : ccoll::codec_tag<204, true> {
    static constexpr const char* name = "AddsAndThrows";
};
struct Whole : ccoll::codec_tag<205, true> {
    static constexpr const char* name = "Whole";
};
struct NamelessWay : ccoll::algo_tag {};

template <>
struct ccoll::codec_impl<TakesAnId, float, ccoll::host_space> : chunks {};
template <>
struct ccoll::codec_impl<Nameless, float, ccoll::host_space> : chunks {};
template <>
struct ccoll::codec_impl<MayThrow, float, ccoll::host_space> : chunks {
    static ccoll::status decode_chunk(ccoll::const_byte_span, std::span<float>, double)
    {
        return ccoll::status::ok;
    }
};
template <>
struct ccoll::codec_impl<AddsALittle, float, ccoll::host_space> : chunks {
    static ccoll::encode_result add_chunks(ccoll::const_byte_span, ccoll::const_byte_span, std::size_t,
                                           ccoll::byte_span) noexcept
    {
        return {};
    }
};
struct all_chunks : chunks {
    static constexpr bool adds_non_finite = false;
    static constexpr std::size_t max_addend_bytes(std::size_t n) { return 4 * n; }
    static bool can_add(double, double, std::size_t) noexcept { return true; }
    static ccoll::encode_result encode_addend(std::span<const float>, ccoll::byte_span, double) noexcept
    {
        return {};
    }
    static ccoll::status decode_addend(ccoll::const_byte_span, std::span<float>, double) noexcept
    {
        return ccoll::status::ok;
    }
    static ccoll::encode_result add_chunks(ccoll::const_byte_span, ccoll::const_byte_span, std::size_t,
                                           ccoll::byte_span) noexcept
    {
        return {};
    }
};
template <>
struct ccoll::codec_impl<AddsAndThrows, float, ccoll::host_space> : all_chunks {
    static ccoll::encode_result encode_addend(std::span<const float>, ccoll::byte_span, double) { return {}; }
};
template <>
struct ccoll::codec_impl<Whole, float, ccoll::host_space> : all_chunks {};

void call(std::vector<float>& x, std::vector<int>& i, std::vector<std::byte>& bytes,
          ccoll::threads_comm& comm);
void call(std::vector<float>& x, std::vector<int>& i, std::vector<std::byte>& bytes,
          ccoll::threads_comm& comm)
{
    (void)i;
    (void)bytes;
    (void)comm;
    // ---- good ----
    (void)ccoll::encode<Codec::PipeSZx>(x, bytes, 1e-3);
    (void)ccoll::decode<Codec::PipeSZx>(bytes, x);
    (void)ccoll::encode<Codec::None>(x, bytes);
    ccoll::allreduce<Whole, ErrorBound<1>>(x, comm);
    // ---- bad ----
    // expect: ccoll::encode: this codec has no host implementation for this element type; include its header
    (void)ccoll::encode<UnknownCodec>(x, bytes, 1e-3);
    // expect: ccoll::encode: this codec has no host implementation for this element type; include its header
    (void)ccoll::encode<Codec::PipeSZx>(i, bytes, 1e-3);
    // expect: ccoll::decode: the result goes to a temporary that owns its elements, and is destroyed with it
    (void)ccoll::decode<Codec::PipeSZx>(bytes, std::vector<float>(3));
    // expect: ccoll::reduce_encoded: needs a codec that adds encoded streams
    (void)ccoll::reduce_encoded<Codec::PipeSZx, Op::Sum, float>(bytes, bytes, bytes);
    // expect: ccoll::Plan: the wire ids 0 to 127 belong to the codecs of the library
    ccoll::allreduce<TakesAnId, ErrorBound<1>>(x, comm);
    // expect: ccoll::Plan: an algorithm, codec or operation has no name
    ccoll::allreduce<Nameless, ErrorBound<1>>(x, comm);
    // expect: ccoll: encode_chunk and decode_chunk of a codec must be noexcept
    ccoll::allreduce<MayThrow, ErrorBound<1>>(x, comm);
    // expect: ccoll: a codec that adds encoded streams needs all of adds_non_finite, max_addend_bytes
    ccoll::allreduce<AddsALittle, ErrorBound<1>>(x, comm);
    // expect: ccoll: a codec that adds encoded streams needs all of adds_non_finite, max_addend_bytes
    ccoll::allreduce<AddsAndThrows, ErrorBound<1>>(x, comm);
    // expect: ccoll::Plan: an algorithm, codec or operation has no name
    ccoll::allreduce<NamelessWay>(x, comm);
    // expect: ccoll::encode: the wire ids 0 to 127 belong to the codecs of the library
    (void)ccoll::encode<TakesAnId>(x, bytes, 1);
    // expect: ccoll::encode: encode_chunk and decode_chunk of a codec must be noexcept
    (void)ccoll::encode<MayThrow>(x, bytes, 1);
    // expect: ccoll: encode_chunk and decode_chunk of a codec must be noexcept
    ccoll::send<MayThrow, ErrorBound<1>>(x, 0, 0, comm);
    // expect: ccoll: a codec that adds encoded streams needs all of adds_non_finite, max_addend_bytes
    ccoll::send<AddsALittle, ErrorBound<1>>(x, 0, 0, comm);
    // expect: ccoll::decode: the buffer must hold non-const elements of a type that this codec has a host implementation for
    (void)ccoll::decode<Codec::PipeSZx>(bytes, std::as_const(x));
    // expect: ccoll::encode_addend: needs a codec that adds encoded streams
    (void)ccoll::encode_addend<Codec::PipeSZx>(x, bytes, 1e-3);
    // expect: ccoll::check_codec: this codec does not meet ccoll::chunk_codec for this element type
    (void)ccoll::check_codec<UnknownCodec, float>();
    // expect: ccoll::check_codec: takes float, double or an integer type
    (void)ccoll::check_codec<Codec::None, bool>();
}
