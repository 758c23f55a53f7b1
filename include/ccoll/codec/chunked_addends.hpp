// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/chunked_addends.hpp - floor 2. Frames of addends, which a homomorphic codec
// can add. They are written and added here, once for all such codecs.
#pragma once

#include <array>
#include <utility>

#include <ccoll/codec/chunked.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Frames of addends. They differ from those of `chunked` in a flag, in having no raw chunks, and in that they may be longer than their
/// values.
template <class Tag, element T, class Impl = codec_impl<Tag, T, host_space>>
    requires homomorphic_chunk_codec<Impl, T>
struct chunked_addends {
    using frames = chunked<Tag, T, Impl>;
    static constexpr std::size_t step = frames::step;

    static constexpr std::size_t max_bytes(std::size_t n) noexcept { return frames::start(n) + max_payload(n); }
    static constexpr std::size_t max_payload(std::size_t n) noexcept
    {
        return n / step * longest_chunk + (n % step != 0 ? padded_to_unit(Impl::max_addend_bytes(n % step)) : 0);
    }
    static constexpr std::size_t longest_chunk = padded_to_unit(Impl::max_addend_bytes(step));

    /// Appends chunk i at offset `at` of `to`, and its entry in `frame`. @see chunked::append
    /// @param produce  (i, count, room) -> encode_result
    template <class Produce>
    static encode_result append(std::size_t i, std::size_t n, byte_span frame, byte_span to, std::size_t begin, std::size_t at,
                                Produce& produce) noexcept
    {
        const std::size_t count = std::min(step, n - i * step);
        const encode_result one = produce(i, count, to.subspan(at, Impl::max_addend_bytes(count)));
        if (one.code != status::ok) return {0, one.code};
        return {frames::close(i, n, frame, to, begin, at, one.bytes, false), status::ok, 0, one.special_values};
    }
    static status begin(std::size_t n, byte_span dst, double eb) noexcept
    {
        if (!frames::fits_a_frame(n, max_payload(n))) return status::bad_argument;
        if (dst.size() < max_bytes(n)) return status::out_of_space;
        frame_header header = frames::header(n, eb);
        header.flags = addend_flag;
        frames::put_header(dst, header);
        return status::ok;
    }
    static encode_result end(const encode_result& r, std::size_t n, byte_span dst, double eb) noexcept
    {
        if (r.code == status::too_large) return refuse(n, dst, eb);
        return r.code == status::ok ? r : encode_result{0, r.code};
    }
    /// @param produce  (i, count, room) -> encode_result
    template <class Produce>
    static encode_result write(std::size_t n, byte_span dst, double eb, between_chunks tell, Produce produce) noexcept
    {
        encode_result all{frames::start(n)};
        for (std::size_t i = 0; i < frames::chunks(n) && all.code == status::ok; ++i) {
            const encode_result one = append(i, n, dst, dst, frames::start(n), all.bytes, produce);
            all = {one.bytes, one.code, 0, all.special_values + one.special_values};
            if (frames::pipelined) tell(std::min(step, n - i * step));
        }
        return end(all, n, dst, eb);
    }
    static encode_result refuse(std::size_t n, byte_span dst, double eb) noexcept
    {
        if (dst.size() < frames::start(n)) return {0, status::out_of_space};
        frame_header header = frames::header(n, eb);
        header.flags = addend_flag | too_large_flag;
        store(dst, 0, header);
        std::memset(dst.data() + sizeof header, 0, frames::start(n) - sizeof header);  // an index of nothing
        return {frames::start(n), status::too_large};
    }
    static encode_result encode_one(std::span<const T> in, byte_span to, field_facts field) noexcept
    {
        if constexpr (requires { Impl::encode_addend_of_field(in, to, field.eb, field.strides); })
            if (!field.strides.none()) return Impl::encode_addend_of_field(in, to, field.eb, field.strides);
        return Impl::encode_addend(in, to, field.eb);
    }
    static auto encoder(std::span<const T> in, field_facts field) noexcept
    {
        return [=](std::size_t i, std::size_t count, byte_span to) { return encode_one(in.subspan(i * step, count), to, field); };
    }
    /// @param produce  as in write, but called by several threads
    template <codec_executor Executor, class Produce>
    static encode_result in_parts(std::size_t n, byte_span dst, double eb, const Executor& run, const Produce& produce)
    {
        const auto make_writer = [&] {
            return
                [&](std::size_t i, byte_span to, std::size_t first, std::size_t at) { return append(i, n, dst, to, first, at, produce); };
        };
        const auto placed = [dst](std::size_t first, std::size_t last, std::size_t distance) {
            frames::move_ends(dst, first, last, distance);
        };
        return end(in_order<longest_chunk>(run, frames::chunks(n), dst, frames::start(n), stores_for(n * sizeof(T)), make_writer, placed),
                   n, dst, eb);
    }
    static encode_result encode(std::span<const T> in, byte_span dst, field_facts field, between_chunks tell) noexcept
    {
        if (const status s = begin(in.size(), dst, field.eb); s != status::ok) return {0, s};
        return write(in.size(), dst, field.eb, tell, encoder(in, field));
    }
    template <codec_executor Executor>
    static encode_result encode(std::span<const T> in, byte_span dst, field_facts field, const Executor& run)
    {
        const std::size_t n = in.size();
        if (const status s = begin(n, dst, field.eb); s != status::ok) return {0, s};
        return in_parts(n, dst, field.eb, run, encoder(in, field));
    }

    static void put_fills(const frame_view& sum, std::span<T> out, int times) noexcept
    {
        if (sum.says_too_large()) return;
        for (std::size_t i = 0; i < sum.header.chunks; ++i)
            Impl::put_fills(sum.chunk(i).data, out.subspan(i * step, std::min(step, out.size() - i * step)), times);
    }

    /// May two opened frames be added? @return too_large if one of them says so, because then the sum says so as well
    static status addable(const frame_view& a, const frame_view& b) noexcept
    {
        if (!a.is_addend() || !b.is_addend()) return status::not_an_addend;
        if (a.header.elements != b.header.elements) return status::count_differs;
        if (a.header.bound != b.header.bound) return status::bound_differs;
        return a.says_too_large() || b.says_too_large() ? status::too_large : status::ok;
    }
    static constexpr auto sum_of_chunks = [](const_byte_span x, const_byte_span y, std::size_t count, byte_span to) noexcept {
        return Impl::add_chunks(x, y, count, to);
    };
    /// Adds chunks i of two frames.
    template <class AddChunk>
    static auto adder(const frame_view& a, const frame_view& b, AddChunk add_chunk) noexcept
    {
        return [&a, &b, add_chunk](std::size_t i, std::size_t count, byte_span to) -> encode_result {
            const frame_view::piece x = a.chunk(i), y = b.chunk(i);
            const encode_result sum = add_chunk(x.data, y.data, count, to);
            return are_filled_with_zeros(x, y) ? sum : encode_result{0, status::corrupt};
        };
    }
    static bool are_filled_with_zeros(const frame_view::piece& x, const frame_view::piece& y) noexcept
    {
        return is_filled_with_zeros(x) && is_filled_with_zeros(y);
    }

    /// Adds into the memory of an operand. The operand's chunks move to the end of dst first. In front of each chunk there is then as much
    /// room as the sums of the chunks before it can take, so that the sum never overwrites a chunk that has not been read. It may overwrite
    /// the chunk that is being read, which is therefore read from a copy.
    /// @param add_chunk  (a, b, count, room) -> encode_result
    template <class AddChunk>
    static encode_result sum_in_place(frame_view left, frame_view right, byte_span dst, between_chunks tell, AddChunk add_chunk) noexcept
    {
        const std::size_t n = left.header.elements;
        const double eb = left.header.bound;
        if (dst.size() < max_bytes(n)) return {0, status::out_of_space};
        const bool into_left = left.whole.data() == dst.data(), into_right = right.whole.data() == dst.data();
        const byte_span at_end = dst.first(max_bytes(n)).last((into_left ? left : right).payload.size());
        if (!at_end.empty()) std::memmove(at_end.data(), dst.data() + frames::start(n), at_end.size());
        if (into_left) left.payload = at_end;
        if (into_right) right.payload = at_end;
        std::array<std::byte, Impl::max_addend_bytes(step)> aside;
        std::size_t left_end = 0, right_end = 0;  // remembered, because the index of the sum is written over that of the operand
        return write(n, dst, eb, tell, [&](std::size_t i, std::size_t count, byte_span to) -> encode_result {
            const auto a = left.chunk(i, std::exchange(left_end, left.end_of(i))),
                       b = right.chunk(i, std::exchange(right_end, right.end_of(i)));
            if (!are_filled_with_zeros(a, b)) return {0, status::corrupt};  // first, because the sum may be written over them
            const_byte_span x = a.data, y = b.data;
            for (const_byte_span* operand : {&x, &y})
                if (share_memory(operand->data(), operand->size(), to.data(), to.size())) {
                    copy(aside, *operand);
                    *operand = const_byte_span(aside).first(operand->size());
                }
            return add_chunk(x, y, count, to);
        });
    }
    static bool in_memory_of_operand(const frame_view& a, const frame_view& b, byte_span dst) noexcept
    {
        return a.whole.data() == dst.data() || b.whole.data() == dst.data();
    }
    template <class AddChunk>
    static encode_result join(const frame_view& a, const frame_view& b, byte_span dst, between_chunks tell, AddChunk add_chunk) noexcept
    {
        const std::size_t n = a.header.elements;
        const double eb = a.header.bound;
        if (const status s = addable(a, b); s != status::ok) return s == status::too_large ? refuse(n, dst, eb) : encode_result{0, s};
        if (in_memory_of_operand(a, b, dst)) return sum_in_place(a, b, dst, tell, add_chunk);
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        return write(n, dst, eb, tell, adder(a, b, add_chunk));
    }
    static encode_result add(const frame_view& a, const frame_view& b, byte_span dst, between_chunks tell) noexcept
    {
        return join(a, b, dst, tell, sum_of_chunks);
    }
    /// Gives the frame that add() gives for the frame of `own` and `theirs`. The addends of own values exist chunk by chunk, in the
    /// innermost cache alone. `theirs` has been opened.
    static encode_result encode_add(std::span<const T> own, const frame_view& theirs, byte_span dst, field_facts field,
                                    between_chunks tell) noexcept
    {
        const std::size_t n = own.size();
        const double eb = field.eb;
        if (!theirs.is_addend()) return {0, status::not_an_addend};
        if (theirs.header.elements != n) return {0, status::count_differs};
        if (theirs.header.bound != eb) return {0, status::bound_differs};
        if (theirs.says_too_large()) return refuse(n, dst, eb);
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        std::array<std::byte, Impl::max_addend_bytes(step)> mine;
        return write(n, dst, eb, tell, [&](std::size_t i, std::size_t count, byte_span to) -> encode_result {
            const byte_span room = byte_span(mine).first(Impl::max_addend_bytes(count));
            const encode_result r = encode_one(own.subspan(i * step, count), room, field);
            if (r.code != status::ok) return r;
            const frame_view::piece other = theirs.chunk(i);
            const encode_result sum = Impl::add_chunks(room.first(r.bytes), other.data, count, to);
            return is_filled_with_zeros(other) ? sum : encode_result{0, status::corrupt};
        });
    }
    /// In the memory of an operand one thread does all the work.
    template <codec_executor Executor>
    static encode_result add(const frame_view& a, const frame_view& b, byte_span dst, const Executor& run)
    {
        if (in_memory_of_operand(a, b, dst)) return add(a, b, dst, between_chunks{});
        const std::size_t n = a.header.elements;
        const double eb = a.header.bound;
        if (const status s = addable(a, b); s != status::ok) return s == status::too_large ? refuse(n, dst, eb) : encode_result{0, s};
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        return in_parts(n, dst, eb, run, adder(a, b, sum_of_chunks));
    }
    static encode_result combine(std::int32_t factor_a, const frame_view& a, std::int32_t factor_b, const frame_view& b,
                                 byte_span dst) noexcept
        requires linear_chunk_codec<Impl, T>
    {
        return join(a, b, dst, {}, [=](const_byte_span x, const_byte_span y, std::size_t count, byte_span to) {
            return Impl::combine_chunks(factor_a, x, factor_b, y, count, to);
        });
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail
