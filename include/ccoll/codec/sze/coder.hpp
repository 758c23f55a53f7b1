// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/coder.hpp - floor 2. Chunks of Codec::SZe.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/isa.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/exceptions.hpp>
#include <ccoll/codec/sze/avx2.hpp>
#include <ccoll/codec/sze/portable.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/codec/szp/coder.hpp>
#include <ccoll/policy/field_facts.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::sze {

inline constexpr by_isa encoders{CCOLL_UP_TO_AVX2(encode_coded)};
template <element T>
inline constexpr by_isa decoders{CCOLL_UP_TO_AVX2(decode_coded<T>)};

/// Chunks of SZp for movement, written shorter: quanta become differences, differences residuals, residuals tokens, tokens a stream. What
/// gains nothing stays a chunk of SZp.
template <native_float T>
struct chunk_coder {
    using inner = codec_impl<policies::Codec::SZp, T, host_space>;

    /// Rows are also looked for, because the field may repeat otherwise than its strides say: these make no chunk longer.
    static encode_result encode_chunk(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
    {
        const encode_result plain = encode_plain(in, dst, field);
        if (plain.code != status::ok) return plain;
        const bool has_rows = szp::distances{get<u16>(address(dst) + 2)}.row != 0;
        const std::size_t row = field.strides.first_from(least_row);
        const encode_result r = recode(in, dst, plain, row < in.size() ? row : 0);
        return has_rows ? without_rows(in, dst, field, r) : r;
    }

    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        if (src.empty() || (static_cast<u8>(src[0]) & coded) != coded) return inner::decode_chunk(src, out, eb);
        return decode_coded(src, out, eb);
    }

private:
    static u8* address(byte_span bytes) noexcept { return reinterpret_cast<u8*>(bytes.data()); }

    static encode_result encode_plain(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
    {
        return inner::encode_chunk(in, dst, field);
    }
    /// @param found  a chunk in dst
    [[gnu::noinline]] static encode_result without_rows(std::span<const T> in, byte_span dst, field_facts field,
                                                        const encode_result& found) noexcept
    {
        alignas(16) std::byte room[sizeof(T) * chunk_elements];
        field.strides = {};
        const encode_result other = encode_plain(in, byte_span(room).first(std::min(dst.size(), sizeof room)), field);
        if (other.code != status::ok || other.bytes >= found.bytes) return found;
        copy(dst, byte_span(room).first(other.bytes));
        return other;
    }

    [[gnu::noinline]] static status decode_coded(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        const exact_environment environment;
        const szp::law<T> z(eb);
        coded_view view;
        if (const status s = read_coded(src, sizeof(T), view); s != status::ok) return s;
        if (!z.usable || out.size() < least_values) return status::corrupt;
        T step = static_cast<T>(z.common.step);
        if (view.is_own) {
            std::memcpy(&step, view.step, sizeof step);
            if (!(step >= std::numeric_limits<T>::min() && step <= std::numeric_limits<T>::max())) return status::corrupt;
        }
        if (const status s = decoders<T>.in_use()(view, step, out); s != status::ok || view.section.empty()) return s;
        const auto* const section = reinterpret_cast<const u8*>(view.section.data());
        return exceptions::read<T>(section, view.section.size(), out.data(), out.size()) ? status::ok : status::corrupt;
    }

    /// @param chunk  of SZp    @param q  gets the place of its quanta in `room`    @return has it quanta that could be coded?
    static bool read_quanta_of(const_byte_span chunk, std::size_t n, std::size_t readable, szp::chunk_head& head, szp::chunk_quanta& room,
                               const i32*& q) noexcept
    {
        szp::chunk_view view;
        if (szp::read_chunk(chunk, readable, n, false, view) != status::ok) return false;
        head = view.head;
        if (head.flat || head.wide) return false;
        i32* const first = room.first(head.above);
        q = first;
        return szp::narrow_readers(view, first) == status::ok;
    }

    /// Puts a coded chunk in the place of one of SZp if it is shorter.
    /// @param row  the length of the rows, if it is known; 0: they are only looked for
    [[gnu::noinline]] static encode_result recode(std::span<const T> in, byte_span dst, encode_result plain, std::size_t row) noexcept
    {
        if (in.size() < least_values) return plain;
        const byte_span chunk = dst.first(plain.bytes);
        szp::chunk_head head;
        szp::chunk_quanta room;
        const i32* q = nullptr;
        if (!read_quanta_of(chunk, in.size(), dst.size() - plain.bytes, head, room, q)) return plain;
        const exact_environment environment;  // costs of distances are rounded
        double own_step;
        std::memcpy(&own_step, &head.largest, sizeof own_step);
        const T step = static_cast<T>(own_step);
        const bool is_own = head.own;
        const byte_span section = head.exceptions > 0 ? chunk.subspan(head.exceptions) : byte_span{};
        const coded_source from{q, in.size(), reinterpret_cast<const u8*>(&step), is_own ? sizeof(T) : 0, head.above.row, section.size()};
        u8 found[most_coded_bytes];
        auto bytes = static_cast<std::size_t>(encoders.in_use()(from, 0, found) - found);
        if (row != 0) bytes = shorter_with_rows(from, row, found, bytes);
        if (bytes + section.size() >= plain.bytes) return plain;
        if (!section.empty()) std::memmove(address(dst) + bytes, section.data(), section.size());
        std::memcpy(address(dst), found, bytes);
        plain.bytes = bytes + section.size();
        return plain;
    }
    [[gnu::noinline]] static std::size_t shorter_with_rows(const coded_source& from, std::size_t row, u8* found, std::size_t bytes) noexcept
    {
        u8 told[most_coded_bytes];
        const auto other = static_cast<std::size_t>(encoders.in_use()(from, row, told) - told);
        if (other >= bytes) return bytes;
        std::memcpy(found, told, other);
        return other;
    }
};

}  // namespace detail::sze

}  // namespace ccoll::inline CCOLL_ABI
