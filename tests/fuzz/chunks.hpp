// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// chunks.hpp - chunks without a frame around them, so that no run ends at a header: kernels of every
// instruction set against portable code.
#pragma once

#include <algorithm>
#include <bit>
#include <span>

#include "codec/round_trip.hpp"
#include "fuzz/input.hpp"

namespace fuzz {

/// `u16 bound | u16 elements | bytes`, behind the choice.
struct chunk_input {
    static constexpr std::size_t front = 5;
    double bound;
    std::size_t elements;
    ccoll::const_byte_span bytes;

    chunk_input(const std::uint8_t* data, std::size_t size)
        : bound(std::bit_cast<double>(std::uint64_t{data[1]} << 48 | std::uint64_t{data[2]} << 56)),
          elements(1 + (std::size_t{data[3]} | std::size_t{data[4]} << 8) %
                           std::min(most_elements, ccoll::max_chunk_elements)),
          bytes(reinterpret_cast<const std::byte*>(data) + front, size - front)
    {}
};

/// Calls `what` with each instruction set of this machine but the portable one, which is in use beforehand.
template <class What>
void with_every_isa(What what)
{
    for (const ccoll::isa i : ccoll::every_isa)
        if (i != ccoll::isa::portable && ccoll::use_isa(i) == i) what();
    ccoll::use_isa(ccoll::isa::portable);
}

template <class Impl, class T>
void read_chunk(const chunk_input& input)
{
    const std::size_t n = input.elements;
    if (!ccoll::is_bound(input.bound) || input.bytes.size() >= n * sizeof(T))
        return;  // frame headers are checked, and no chunk is so long
    std::vector<T> plain(n), out(n);
    const ccoll::status expected = Impl::decode_chunk(input.bytes, plain, input.bound);
    require(is_status(expected), "decode_chunk gives no status");
    with_every_isa([&] {
        require(Impl::decode_chunk(input.bytes, out, input.bound) == expected,
                "decode_chunk depends on the instruction set");
        if (expected == ccoll::status::ok)
            require(round_trip::same_bits(plain, out), "values of a chunk depend on the instruction set");
    });
}

/// The strides of a chunk that has rows: every third has no planes.
constexpr ccoll::field_strides strides_of(std::size_t elements)
{
    const std::size_t row = 16 + elements % 61;
    return {row, elements % 3 == 0 ? 0 : row * (2 + elements % 7)};
}

/// @param strides  none: unknown
template <class Impl, class T>
ccoll::encode_result encode_chunk(std::span<const T> in, ccoll::byte_span dst, double bound,
                                  const ccoll::field_strides& strides)
{
    if constexpr (requires { Impl::encode_chunk(in, dst, ccoll::field_facts(bound, strides)); })
        return Impl::encode_chunk(in, dst, ccoll::field_facts(bound, strides));
    else return Impl::encode_chunk(in, dst, bound);
}

template <class C, class Impl, class T>
void write_chunk(const chunk_input& input, bool keeps_bound, bool has_rows)
{
    const std::size_t n = input.elements, given = input.bytes.size() / sizeof(T);
    const ccoll::field_strides strides = has_rows ? strides_of(n) : ccoll::field_strides{};
    if (!ccoll::is_bound(input.bound) || given == 0) return;
    std::vector<T> x(n), y(n);
    for (std::size_t i = 0; i < n; ++i)
        std::memcpy(&x[i], input.bytes.data() + i % given * sizeof(T), sizeof(T));
    std::vector<T> z(n);
    bytes plain(n * sizeof(T)), other(n * sizeof(T));
    const auto expected = encode_chunk<Impl, T>(x, plain, input.bound, strides);
    require(expected.code != ccoll::status::ok || expected.bytes <= plain.size(),
            "a chunk is longer than its room");
    with_every_isa([&] {
        const auto found = encode_chunk<Impl, T>(x, other, input.bound, strides);
        if constexpr (packs_freely<C>) {
            if (found.code != ccoll::status::ok || expected.code != ccoll::status::ok) return;
            const auto decode = [&](const bytes& from, std::size_t size, std::vector<T>& to) {
                require(Impl::decode_chunk(ccoll::const_byte_span(from).first(size), to, input.bound) ==
                            ccoll::status::ok,
                        "a chunk does not decode");
            };
            decode(plain, expected.bytes, y);
            decode(other, found.bytes, z);
            require(round_trip::same_bits(y, z),
                    "what a chunk decodes to depends on the instruction set that wrote it");
            return;
        }
        require(found.code == expected.code && found.bytes == expected.bytes &&
                    found.raw_blocks == expected.raw_blocks,
                "what encode_chunk returns depends on the instruction set");
        if (found.code == ccoll::status::ok)
            require(std::equal(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(found.bytes),
                               other.begin()),
                    "bytes of a chunk depend on the instruction set");
    });
    if (expected.code != ccoll::status::ok || expected.bytes >= plain.size()) return;  // it travels raw
    const ccoll::const_byte_span chunk = ccoll::const_byte_span(plain).first(expected.bytes);
    const auto check = [&] {
        require(Impl::decode_chunk(chunk, y, input.bound) == ccoll::status::ok, "a chunk does not decode");
        if constexpr (!C::lossy) require(round_trip::same_bits(y, x), "an exact codec changes bits");
        else if (keeps_bound)
            require(round_trip::count_outside(y, x, input.bound) == 0,
                    "a value of a chunk is outside of the bound");
    };
    check();
    with_every_isa(check);
}

/// Calls `what` with the implementation of a codec that a choice names.
template <class C, class T, class What>
void with_impl(std::uint8_t choice, What what)
{
    if constexpr (std::is_same_v<C, ccoll::policies::Codec::Zfp>)
        if ((choice & rate_or_rows) != 0)
            return what(ccoll::codec_impl<ccoll::policies::Codec::ZfpAtRate, T, ccoll::host_space>{}, false);
    what(ccoll::codec_impl<C, T, ccoll::host_space>{}, true);
}

template <class C, class T>
void read_chunk_of(std::uint8_t choice, const chunk_input& input)
{
    with_impl<C, T>(choice, [&]<class Impl>(Impl, bool) { read_chunk<Impl, T>(input); });
}
template <class C, class T>
void write_chunk_of(std::uint8_t choice, const chunk_input& input)
{
    with_impl<C, T>(choice, [&]<class Impl>(Impl, bool keeps_bound) {
        write_chunk<C, Impl, T>(input, keeps_bound && C::lossy, (choice & rate_or_rows) != 0);
    });
}

}  // namespace fuzz
