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

/// Chunks of SZp for movement, written shorter: quanta become differences, differences residuals, residuals
/// tokens, tokens a stream. What gains nothing stays a chunk of SZp.
template <native_float T>
struct chunk_coder {
    using inner = codec_impl<policies::Codec::SZp, T, host_space>;

    /// Rows are also looked for, because the field may repeat otherwise than its strides say: these make no
    /// chunk longer.
    static encode_result encode_chunk(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
    {
        bool has_rows = false;
        const encode_result r = with_rows(in, dst, field, &has_rows);
        return has_rows ? without_rows(in, dst, field, r) : r;
    }

    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        if (src.empty() || (static_cast<u8>(src[0]) & coded) != coded)
            return inner::decode_chunk(src, out, eb);
        return decode_coded(src, out, eb);
    }

private:
    static u8* address(byte_span bytes) noexcept { return reinterpret_cast<u8*>(bytes.data()); }

    static encode_result encode_plain(std::span<const T> in, byte_span dst, const field_facts& field) noexcept
    {
        return inner::encode_chunk(in, dst, field);
    }
    /// @param has_rows  does SZp predict from some?
    static encode_result with_rows(std::span<const T> in, byte_span dst, const field_facts& field,
                                   bool* has_rows = nullptr) noexcept
    {
        const encode_result plain = encode_plain(in, dst, field);
        if (plain.code != status::ok) return plain;
        if (has_rows != nullptr) *has_rows = szp::distances{get<u16>(address(dst) + 2)}.row != 0;
        const std::size_t row = field.strides.first_from(least_row);
        return recode(in, dst, plain, row < in.size() ? row : 0);
    }
    /// In this much room an encoder of SZp can begin.
    static constexpr std::size_t least_room = szp::front_bytes(szp::chunk_groups, true) + szp::slack;
    /// @param found  a chunk in dst
    [[gnu::noinline]] static encode_result without_rows(std::span<const T> in, byte_span dst,
                                                        field_facts field,
                                                        const encode_result& found) noexcept
    {
        const field_strides strides = field.strides;
        field.strides = {};
        const std::size_t begin = szp::in_units(found.bytes);
        if (begin + std::max(found.bytes, least_room) <= dst.size()) {  // both stand in dst
            const encode_result other = encode_plain(in, dst.subspan(begin), field);
            if (other.code != status::ok || other.bytes >= found.bytes) return found;
            std::memmove(dst.data(), dst.data() + begin, other.bytes);
            return other;
        }
        const encode_result other = encode_plain(in, dst, field);
        if (other.code == status::ok && other.bytes < found.bytes) return other;
        field.strides = strides;
        return with_rows(in, dst, field);  // once more
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
            if (!(step >= std::numeric_limits<T>::min() && step <= std::numeric_limits<T>::max()))
                return status::corrupt;
        }
        if (const status s = decoders<T>.in_use()(view, step, out); s != status::ok || view.section.empty())
            return s;
        const auto* const section = reinterpret_cast<const u8*>(view.section.data());
        return exceptions::read<T>(section, view.section.size(), out.data(), out.size()) ? status::ok
                                                                                         : status::corrupt;
    }

    /// @param chunk  of SZp    @return has it quanta that could be coded?
    static bool read_quanta_of(const_byte_span chunk, std::size_t n, std::size_t readable,
                               szp::chunk_head& head, szp::chunk_quanta& room) noexcept
    {
        szp::chunk_view view;
        if (szp::read_chunk(chunk, readable, n, false, view) != status::ok) return false;
        head = view.head;
        if (head.flat || head.wide) return false;
        return szp::narrow_readers(view, room) == status::ok;
    }

    /// Puts a coded chunk in the place of one of SZp if it is shorter.
    /// @param row  the length of the rows, if it is known; 0: they are only looked for
    [[gnu::noinline]] static encode_result recode(std::span<const T> in, byte_span dst, encode_result plain,
                                                  std::size_t row) noexcept
    {
        if (in.size() < least_values) return plain;
        const byte_span chunk = dst.first(plain.bytes);
        szp::chunk_head head;
        szp::chunk_quanta room;
        const auto read = [&] {
            return read_quanta_of(chunk, in.size(), dst.size() - plain.bytes, head, room);
        };
        if (!read()) return plain;
        const exact_environment environment;  // costs of distances are rounded
        double own_step;
        std::memcpy(&own_step, &head.largest, sizeof own_step);
        const T step = static_cast<T>(own_step);
        const std::size_t step_bytes = head.own ? sizeof(T) : 0;
        const byte_span section = head.exceptions > 0 ? chunk.subspan(head.exceptions) : byte_span{};
        const coded_source from{room.first(), in.size(),      reinterpret_cast<const u8*>(&step),
                                step_bytes,   head.above.row, section.size()};
        const auto encode = [&](std::size_t known, u8* to, std::size_t most) {
            return encoders.in_use()(from, known, to, most);
        };
        // It goes in front of the section, which stands behind all else. Quanta become residuals, so they are
        // read again for each try.
        const std::size_t most = plain.bytes - section.size() - 1;
        std::size_t bytes = 0;
        if (row == 0) {
            bytes = encode(0, address(dst), most);
        } else {
            const std::size_t aside = std::min(most, dst.size() - plain.bytes),
                              looked_for = encode(0, address(dst) + plain.bytes, aside);
            (void)read();
            bytes = encode(row, address(dst), std::min(most, looked_for - 1));
            if (looked_for <= std::min(most, bytes)) {
                bytes = looked_for;
                if (bytes <= aside) std::memmove(address(dst), address(dst) + plain.bytes, bytes);
                else if (read()) (void)encode(0, address(dst), most);
            }
        }
        if (bytes > most) return plain;
        if (!section.empty()) std::memmove(address(dst) + bytes, section.data(), section.size());
        plain.bytes = bytes + section.size();
        return plain;
    }
};

}  // namespace detail::sze

}  // namespace ccoll::inline CCOLL_ABI
