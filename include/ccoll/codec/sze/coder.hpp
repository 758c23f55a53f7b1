// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/coder.hpp - floor 2. Chunks of Codec::SZe.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/isa.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/specials.hpp>
#include <ccoll/codec/sze/avx2.hpp>
#include <ccoll/codec/sze/portable.hpp>
#include <ccoll/codec/szp/coder.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail::sze {

inline constexpr by_isa encoders{CCOLL_UP_TO_AVX2(encode_coded)};
template <element T>
inline constexpr by_isa decoders{CCOLL_UP_TO_AVX2(decode_coded<T>)};

/// Chunks of SZp for movement, written shorter: planes become differences, differences residuals, residuals tokens, tokens a stream. What
/// gains nothing stays a chunk of SZp.
template <native_float T>
struct chunk_coder {
    using inner = szp::chunk_coder<T>;
    static constexpr std::size_t chunk_elements = sze::chunk_elements;
    static constexpr bool pipelined = true;
    static constexpr std::size_t elements_between_polls = 8192;  // 30 us

    static encode_result encode_chunk(std::span<const T> in, byte_span dst, double eb) noexcept { return encode_with(in, dst, eb, {}); }
    /// @param strides  of the field. Rows are also looked for, because the field may repeat otherwise: a shape makes no chunk longer.
    static encode_result encode_chunk_of_field(std::span<const T> in, byte_span dst, double eb, const field_strides& strides) noexcept
    {
        const encode_result found = encode_with(in, dst, eb, {});
        const std::size_t row = strides.first_from(least_row);
        return row == 0 || row >= in.size() ? found : shorter_with(in, dst, eb, strides, found);
    }

    static status decode_chunk(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        if (src.empty() || (static_cast<u8>(src[0]) & coded) != coded) return inner::decode_chunk(src, out, eb);
        return decode_coded(src, out, eb);
    }

private:
    /// @param strides  if there is none, rows are looked for
    static encode_result encode_with(std::span<const T> in, byte_span dst, double eb, const field_strides& strides) noexcept
    {
        encode_result plain = inner::encode_chunk(in, dst, eb, sizeof(T) == 8, strides);  // fine chunks of f64 stay what they are
        if (sizeof(T) == 4 && plain.code == status::out_of_space) plain = inner::encode_chunk(in, dst, eb, true, strides);
        if (plain.code != status::ok) return plain;
        if (const std::size_t shorter = recode(dst.first(plain.bytes), in.size(), strides.first_from(least_row)); shorter != 0)
            plain.bytes = shorter;
        return plain;
    }
    /// @param found  the chunk in dst, without strides
    [[gnu::noinline]] static encode_result shorter_with(std::span<const T> in, byte_span dst, double eb, const field_strides& strides,
                                                        const encode_result& found) noexcept
    {
        alignas(16) std::byte room[sizeof(T) * chunk_elements];
        const encode_result told = encode_with(in, byte_span(room).first(std::min(dst.size(), sizeof room)), eb, strides);
        if (told.code != status::ok || (found.code == status::ok && told.bytes >= found.bytes)) return found;
        copy(dst, byte_span(room).first(told.bytes));
        return told;
    }

    [[gnu::noinline]] static status decode_coded(const_byte_span src, std::span<T> out, double eb) noexcept
    {
        const exact_environment environment;
        const szp::quantiser<T> z(eb);
        coded_view view;
        if (const status s = read_coded(src, view); s != status::ok) return s;
        if (!z.usable || out.size() < least_values || (view.is_fine && sizeof(T) == 8)) return status::corrupt;
        T step = z.step;
        if (view.is_fine) {
            std::memcpy(&step, view.step, 4);
            if (!(step >= std::numeric_limits<T>::min() && step <= std::numeric_limits<T>::max())) return status::corrupt;
        }
        if (const status s = decoders<T>.in_use()(view, step, out); s != status::ok) return s;
        const auto* const section = reinterpret_cast<const u8*>(view.specials.data());
        return specials::read(section, view.specials.size(), out.data(), out.size()) ? status::ok : status::corrupt;
    }

    static u8* address(byte_span bytes) noexcept { return reinterpret_cast<u8*>(bytes.data()); }

    /// Puts a coded chunk in the place of one of SZp. @param row  the length of the rows; 0: they are looked for
    /// @return its bytes; 0: it would not be shorter, or cannot be
    [[gnu::noinline]] static std::size_t recode(byte_span chunk, std::size_t n, std::size_t row) noexcept
    {
        szp::chunk_view view;
        if (n < least_values || szp::read_chunk(chunk, n, sizeof(T), false, view) != status::ok) return 0;
        if (view.what != szp::kind::narrow && (view.what != szp::kind::fine || sizeof(T) == 8) && !szp::rows::has_rows(view.what)) return 0;
        if (view.lists != nullptr) szp::lists::expand(view);
        const exact_environment environment;  // costs of distances are rounded
        u8 room[most_coded_bytes];
        const auto bytes = static_cast<std::size_t>(encoders.in_use()(view, n, row, room) - room);
        if (bytes + view.specials.size() >= chunk.size()) return 0;
        std::memmove(address(chunk) + bytes, view.specials.data(), view.specials.size());
        std::memcpy(address(chunk), room, bytes);
        return bytes + view.specials.size();
    }
};

}  // namespace detail::sze

}  // namespace ccoll::inline CCOLL_ABI
