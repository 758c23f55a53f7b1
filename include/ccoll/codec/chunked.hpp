// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/chunked.hpp - floor 2. Frames from the chunks of any codec, and back.
// Header, index, raw chunks and the size limit are written here, once for all codecs.
#pragma once

#include <array>
#include <utility>

#include <ccoll/base/extremes.hpp>
#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/frame_codec.hpp>
#include <ccoll/codec/placed.hpp>
#include <ccoll/policy/error_bound.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <class Tag, element T, class Impl = codec_impl<Tag, T, host_space>>
    requires chunk_codec<Impl, T>
struct chunked {
    static constexpr std::size_t step = Impl::chunk_elements;
    static_assert(step >= 1 && step <= max_chunk_elements,
                  "ccoll: chunk_elements of a codec must be 1..8192");
    static constexpr bool pipelined = [] {
        if constexpr (requires { Impl::pipelined; }) return bool{Impl::pipelined};
        else return false;
    }();

    /// The engine polls messages after this many elements of codec work, every 10 to 50 us. Polling more
    /// often made a call take up to six times as long where a poll without effect sleeps; polling less often
    /// delays what other ranks wait for (64 MiB allreduce, 4 ranks on 1 Gb/s links). Codecs differ in speed
    /// by a factor of ten.
    static constexpr std::size_t elements_between_polls = [] {
        if constexpr (requires { Impl::elements_between_polls; })
            return std::size_t{Impl::elements_between_polls};
        else return std::size_t{16384};
    }();

    /// What the bound in a header means: a codec whose tag says `at_rate` keeps no bound.
    static constexpr quality kind = [] {
        if constexpr (requires { Tag::at_rate; }) return quality::rate;
        else return Tag::lossy ? quality::absolute : quality::exact;
    }();

    /// The codec that this one wraps; 0: none.
    static constexpr std::uint8_t inner = [] {
        if constexpr (requires { Tag::inner::wire_id; }) return std::uint8_t{Tag::inner::wire_id};
        else return std::uint8_t{0};
    }();

    static constexpr std::size_t chunks(std::size_t n) noexcept { return n / step + (n % step != 0); }
    static constexpr std::size_t start(std::size_t n) noexcept { return payload_offset(chunks(n)); }
    static constexpr std::size_t max_payload(std::size_t n) noexcept
    {
        return n / step * padded_to_unit(step * sizeof(T)) + padded_to_unit(n % step * sizeof(T));
    }
    static constexpr std::size_t max_bytes(std::size_t n) noexcept { return start(n) + max_payload(n); }

    static frame_header header(std::size_t n, double eb) noexcept
    {
        frame_header h;
        h.codec = Tag::wire_id;
        h.dtype = dtype_of<T>;
        h.elements = n;
        h.bound = eb;
        h.chunk_elements = static_cast<std::uint32_t>(step);
        h.chunks = static_cast<std::uint32_t>(chunks(n));
        h.kind = kind;
        h.inner_codec = inner;
        return h;
    }

    /// The header of a frame, and the zeros behind its index.
    static void put_header(byte_span frame, const frame_header& h) noexcept
    {
        store(frame, 0, h);
        const std::size_t end = sizeof h + entry_bytes * std::size_t{h.chunks};
        std::memset(frame.data() + end, 0, payload_offset(h.chunks) - end);
    }

    /// A chunk that has been written somewhere.
    struct written {
        encode_result result;  ///< bytes: of the chunk, with the zeros behind it
        std::size_t bytes;     ///< of the chunk alone
        bool raw;
    };
    /// Writes chunk i. A chunk travels raw if and only if it would not be shorter encoded, or its codec
    /// cannot hold it; so a frame never expands.
    /// @param room     at least as long as the values, padded
    /// @param produce  (i, count, room) -> encode_result
    /// @param values   (i, count) -> span<const T>, the values themselves
    template <class Produce, class Values>
    static written write_chunk(std::size_t i, std::size_t n, byte_span room, Produce& produce,
                               Values& values) noexcept
    {
        const std::size_t count = std::min(step, n - i * step), raw = count * sizeof(T);
        const encode_result one = produce(i, count, room.first(std::min(room.size(), room_for(count))));
        const bool encoded = one.code == status::ok && one.bytes < raw;
        if (!encoded) copy(room, std::as_bytes(values(i, count)));
        const std::size_t bytes = encoded ? one.bytes : raw;
        const encode_result r{fill_up(room, bytes), status::ok, !encoded ? Tag::lossy : one.raw_blocks,
                              encoded ? one.special_values : 0};
        if constexpr (Tag::lossy) return {r, bytes, !encoded};
        return {{r.bytes}, bytes, !encoded};
    }
    /// Zeros behind a chunk. @return the length of both
    static std::size_t fill_up(byte_span room, std::size_t bytes) noexcept
    {
        const std::size_t all = padded_to_unit(bytes);
        std::memset(room.data() + bytes, 0, all - bytes);
        return all;
    }
    /// Bytes that an encoder of a chunk is given where there is room.
    static constexpr std::size_t room_for(std::size_t count) noexcept
    {
        if constexpr (requires { Impl::room_bytes(count); })
            return std::max(Impl::room_bytes(count), count * sizeof(T));
        else return count * sizeof(T);
    }
    static bool fits_a_frame(std::size_t n, std::size_t most) noexcept
    {
        return chunks(n) <= 0xffffffffu && most <= most_payload_bytes;
    }
    static status begin(std::size_t n, byte_span dst, double eb) noexcept
    {
        if (!fits_a_frame(n, max_payload(n))) return status::bad_argument;
        if (dst.size() < max_bytes(n)) return status::out_of_space;
        put_header(dst, header(n, eb));
        return status::ok;
    }
    template <class Produce, class Values>
    static encode_result write(std::size_t n, byte_span dst, double eb, between_chunks tell, Produce produce,
                               Values values) noexcept
    {
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        encode_result all{start(n)};
        for (std::size_t i = 0; i < chunks(n); ++i) {
            const written one = write_chunk(i, n, dst.subspan(all.bytes), produce, values);
            put_entry(dst, i, all.bytes - start(n), one.bytes, one.raw);
            all.bytes += one.result.bytes;
            all.raw_blocks += one.result.raw_blocks;
            all.special_values += one.result.special_values;
            if (pipelined) tell(std::min(step, n - i * step));
        }
        put_payload(dst, all.bytes - start(n));
        return all;
    }

    static encode_result encode_one(std::span<const T> in, byte_span to, const field_facts& field) noexcept
    {
        if constexpr (requires { Impl::encode_chunk(in, to, field); })
            return Impl::encode_chunk(in, to, field);
        else return Impl::encode_chunk(in, to, field.eb);
    }
    static auto encoder(std::span<const T> in, field_facts field) noexcept
    {
        return [=](std::size_t i, std::size_t count, byte_span to) {
            return encode_one(in.subspan(i * step, count), to, field);
        };
    }
    static auto source(std::span<const T> in) noexcept
    {
        return [=](std::size_t i, std::size_t count) { return in.subspan(i * step, count); };
    }
    static encode_result encode(std::span<const T> in, byte_span dst, field_facts field,
                                between_chunks tell) noexcept
    {
        return write(in.size(), dst, field.eb, tell, encoder(in, field), source(in));
    }
    template <codec_executor Executor>
    static encode_result encode(std::span<const T> in, byte_span dst, field_facts field, const Executor& run)
    {
        const std::size_t n = in.size();
        if (const status s = begin(n, dst, field.eb); s != status::ok) return {0, s};
        constexpr std::size_t longest = std::max(padded_to_unit(step * sizeof(T)), room_for(step));
        return placed<longest>(run, chunks(n), dst, start(n), stores_for(n * sizeof(T)),
                               [&](std::size_t i, byte_span room) {
                                   auto produce = encoder(in, field);
                                   auto values = source(in);
                                   return write_chunk(i, n, room, produce, values);
                               });
    }

    static constexpr bool adds = homomorphic_chunk_codec<Impl, T>;
    static constexpr std::size_t longest_addend(std::size_t count) noexcept
    {
        if constexpr (adds) return Impl::max_addend_bytes(count);
        else return 0;
    }

    static status read_chunk(const frame_view& view, std::size_t i, std::span<T> out,
                             const decoded_facts& facts = {}) noexcept
    {
        const frame_view::piece piece = view.chunk(i);
        const status s = decode_piece(view, piece, out, facts);
        // Looked at last: going to the end of a chunk first would wait for memory.
        return s == status::ok && !is_filled_with_zeros(piece) ? status::corrupt : s;
    }
    static status decode_piece(const frame_view& view, const frame_view::piece& piece, std::span<T> out,
                               const decoded_facts& facts) noexcept
    {
        const double eb = view.header.bound;
        if constexpr (adds)
            if (view.is_addend()) return decode_addend(piece, out, eb, facts);
        if (piece.raw) {
            if (piece.data.size() != out.size_bytes()) return status::corrupt;
            copy(std::as_writable_bytes(out), piece.data);
            return status::ok;
        }
        return decode_chunk(piece, out, eb, facts);
    }
    static status decode_chunk(const frame_view::piece& piece, std::span<T> out, double eb,
                               [[maybe_unused]] const decoded_facts& facts) noexcept
    {
        if constexpr (requires { Impl::decode_chunk(piece, out, eb, facts); })
            return Impl::decode_chunk(piece, out, eb, facts);
        else if constexpr (requires { Impl::decode_chunk(piece.data, out, eb, facts.how); })
            return Impl::decode_chunk(piece.data, out, eb, facts.how);
        else return Impl::decode_chunk(piece.data, out, eb);
    }
    static status decode_addend(const frame_view::piece& piece, std::span<T> out, double eb,
                                const decoded_facts& facts) noexcept
        requires adds
    {
        if constexpr (std::is_same_v<T, float>)
            if (facts.two_bytes != nullptr && facts.two_bytes->stand_for(out.data())) [[unlikely]]
                return decode_to_two_bytes(piece, out, eb, facts);
        if constexpr (requires { Impl::decode_addend(piece, out, eb, facts); }) {
            return Impl::decode_addend(piece, out, eb, facts);
        } else {
            status s;
            if constexpr (requires { Impl::decode_addend(piece.data, out, eb, facts.how); })
                s = Impl::decode_addend(piece.data, out, eb, facts.how);
            else s = Impl::decode_addend(piece.data, out, eb);
            if (facts.divisor != 1) divide_by_ranks(out.data(), facts.divisor, out.size());
            return s;
        }
    }

    [[gnu::noinline]] static status decode_to_two_bytes(const frame_view::piece& piece, std::span<T> out,
                                                        double eb, decoded_facts facts) noexcept
        requires(adds && std::is_same_v<T, float>)
    {
        alignas(64) std::array<T, step> x;
        const two_byte_elements* const elements = std::exchange(facts.two_bytes, nullptr);
        facts.how = stores::cached;
        facts.behind = 0;
        const status s = decode_addend(piece, std::span<T>(x.data(), out.size()), eb, facts);
        if (s == status::ok) elements->write(x.data(), out.data(), out.size());
        return s;
    }

    /// The only place where header and index of a frame are checked. @see frame_codec::open
    static status open(const_byte_span src, frame_view& view) noexcept
    {
        if (const status s = read_frame(src, view); s != status::ok) return s;
        const frame_header& h = view.header;
        if (h.codec != Tag::wire_id || h.dtype != dtype_of<T> || h.chunk_elements != step)
            return status::foreign_frame;
        if (h.inner_codec != inner || (h.kind == quality::rate) != (kind == quality::rate))
            return status::foreign_frame;
        if (!(Tag::lossy ? is_bound(h.bound) : h.bound == 0)) return status::corrupt;
        const bool addend = view.is_addend(), too_large = view.says_too_large();
        if (addend && !adds) return status::corrupt;
        if (too_large && h.payload != 0) return status::corrupt;
        for (std::size_t i = 0; i < h.chunks; ++i) {
            const std::size_t count = std::min<std::uint64_t>(step, h.elements - std::uint64_t{i} * step),
                              raw = count * sizeof(T);
            const std::size_t begin = view.begin_of(i), bytes = view.bytes_of(i);
            if (begin > view.payload.size() || bytes > view.payload.size() - begin) return status::corrupt;
            // No encoder writes a chunk that is not shorter than its elements.
            const bool possible = addend           ? !view.is_raw(i) && bytes <= longest_addend(count)
                                  : view.is_raw(i) ? bytes == raw
                                                   : bytes < raw;
            if (!possible) return status::corrupt;
        }
        return too_large ? status::too_large : status::ok;
    }
    static status open(const_byte_span src, std::size_t n, frame_view& view) noexcept
    {
        const status s = open(src, view);
        return (s == status::ok || s == status::too_large) && view.header.elements != n
                   ? status::count_differs
                   : s;
    }
    /// The status of a view that does not belong to `n` elements, or cannot be decoded.
    static status decodable(const frame_view& view, std::size_t n) noexcept
    {
        if (view.header.elements != n) return status::count_differs;
        return view.says_too_large() ? status::too_large : status::ok;
    }

    static std::span<T> chunk_of(std::span<T> all, std::size_t i) noexcept
    {
        return all.subspan(i * step, std::min(step, all.size() - i * step));
    }
    static status decode(const frame_view& view, std::span<T> out, const decoded_facts& wanted,
                         between_chunks tell) noexcept
    {
        decoded_facts facts = wanted;
        status s = decodable(view, out.size());
        facts.how = stores_at(out.data(), facts.how);
        for (std::size_t i = 0; s == status::ok && i < view.header.chunks; ++i) {
            const auto to = chunk_of(out, i);
            facts.behind = out.size_bytes() - i * step * sizeof(T) - to.size_bytes();
            s = read_chunk(view, i, to, facts);
            if (pipelined && s == status::ok) tell(to.size());
        }
        settle(facts.how);
        return s;
    }

    template <codec_executor Executor>
    static status decode(const frame_view& view, std::span<T> out, decoded_facts facts, const Executor& run)
    {
        if (const status s = decodable(view, out.size()); s != status::ok) return s;
        const std::size_t all = view.header.chunks, parts = threads_for(run.width(), all);
        std::array<status, most_threads> read{};
        facts.how = stores_at(out.data(), facts.how);
        run(parts, [&](std::size_t part) {
            const exact_call environment;
            for (std::size_t i = all * part / parts; i < all * (part + 1) / parts && read[part] == status::ok;
                 ++i)
                read[part] = read_chunk(view, i, chunk_of(out, i), facts);
            settle(facts.how);
        });
        for (const status s : read)
            if (s != status::ok) return s;
        return status::ok;
    }

    static status decode_reduce(const frame_view& view, std::span<const T> own, T* out,
                                const reduction<T>& op, between_chunks tell) noexcept
    {
        if (const status s = decodable(view, own.size()); s != status::ok) return s;
        std::array<T, step> theirs;
        for (std::size_t i = 0; i < view.header.chunks; ++i) {
            const std::size_t at = i * step, count = std::min(step, own.size() - at);
            if (const status s = read_chunk(view, i, std::span<T>(theirs.data(), count)); s != status::ok)
                return s;
            op.apply(out + at, own.data() + at, theirs.data(), count);
            if (pipelined) tell(count);
        }
        return status::ok;
    }

    static encode_result decode_reduce_encode(const frame_view& view, std::span<const T> own, byte_span dst,
                                              field_facts field, const reduction<T>& op,
                                              between_chunks tell) noexcept
    {
        if (const status s = decodable(view, own.size()); s != status::ok) return {0, s};
        std::array<T, step> sum;
        status read = status::ok;
        encode_result result = write(
            own.size(), dst, field.eb, tell,
            [&](std::size_t i, std::size_t count, byte_span to) -> encode_result {
                const status s = read_chunk(view, i, std::span<T>(sum.data(), count));
                if (read == status::ok) read = s;
                op.apply(sum.data(), own.data() + i * step, sum.data(), count);
                return encode_one(std::span<const T>(sum.data(), count), to, field);
            },
            [&](std::size_t, std::size_t count) { return std::span<const T>(sum.data(), count); });
        if (read != status::ok) result.code = read;
        return result;
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail
