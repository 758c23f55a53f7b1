// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/chunked_addends.hpp - floor 2. Frames of addends, which a homomorphic codec can add: written, read and added here for all such codecs.
#pragma once

#include <array>

#include <ccoll/codec/chunked.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Frames of addends: as those of `chunked`, with one flag more, without raw chunks, and longer where the values are.
template <class Tag, element T, class Impl = codec_impl<Tag, T, host_space>>
    requires homomorphic_chunk_codec<Impl, T>
struct chunked_addends {
    using frames = chunked<Tag, T, Impl>;
    static constexpr std::size_t step = frames::step;

    static constexpr std::size_t max_bytes(std::size_t n) noexcept
    {
        return frames::start(n) + n / step * Impl::max_addend_bytes(step) + (n % step != 0 ? Impl::max_addend_bytes(n % step) : 0);
    }

    /// Appends chunk i at offset `at` of `to`, and its entry in `frame`.
    /// @param produce  (i, count, room) -> encode_result
    template <class Produce>
    static encode_result append(std::size_t i, std::size_t n, byte_span frame, byte_span to, std::size_t at, Produce& produce) noexcept
    {
        const std::size_t count = std::min(step, n - i * step);
        const encode_result one = produce(i, count, to.subspan(at, Impl::max_addend_bytes(count)));
        if (one.code != status::ok) return {0, one.code};
        store(frame, sizeof(frame_header) + 4 * i, static_cast<std::uint32_t>(one.bytes));
        return {at + one.bytes};
    }
    static status begin(std::size_t n, byte_span dst, double eb) noexcept
    {
        if (dst.size() < max_bytes(n) || frames::chunks(n) > 0xffffffffu) return status::out_of_space;
        frame_header header = frames::header(n, eb);
        header.flags = addend_flag;
        store(dst, 0, header);
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
            all = append(i, n, dst, dst, all.bytes, produce);
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
        std::memset(dst.data() + sizeof header, 0, frames::start(n) - sizeof header);
        return {frames::start(n), status::too_large};
    }
    static auto encoder(std::span<const T> in, double eb) noexcept
    {
        return [=](std::size_t i, std::size_t count, byte_span to) { return Impl::encode_addend(in.subspan(i * step, count), to, eb); };
    }
    static encode_result encode(std::span<const T> in, byte_span dst, double eb, between_chunks tell) noexcept
    {
        if (const status s = begin(in.size(), dst, eb); s != status::ok) return {0, s};
        return write(in.size(), dst, eb, tell, encoder(in, eb));
    }
    template <codec_executor Executor>
    static encode_result encode(std::span<const T> in, byte_span dst, double eb, const Executor& run)
    {
        const std::size_t n = in.size();
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        const encode_result all = in_order<Impl::max_addend_bytes(step)>(run, frames::chunks(n), dst, frames::start(n), stores_for(n * sizeof(T)), [&] {
            return [&, produce = encoder(in, eb)](std::size_t i, byte_span to, std::size_t at) { return append(i, n, dst, to, at, produce); };
        });
        return end(all, n, dst, eb);
    }

    /// May two opened frames be added? too_large: one of them says so, hence the sum does.
    static status addable(const frame_view& a, const frame_view& b) noexcept
    {
        if (!a.is_addend() || !b.is_addend()) return status::not_an_addend;
        if (a.header.elements != b.header.elements) return status::count_differs;
        if (a.header.bound != b.header.bound) return status::bound_differs;
        return a.says_too_large() || b.says_too_large() ? status::too_large : status::ok;
    }
    /// Chunks of two frames, in rising order; some may be left out.
    class pairs {
    public:
        pairs(const frame_view& left, const frame_view& right) noexcept : left_(left), right_(right) {}

        struct pair {
            const_byte_span a, b;
        };
        pair at(std::size_t i) noexcept
        {
            for (; next_ < i; ++next_) left_at_ += left_.entry(next_), right_at_ += right_.entry(next_);
            ++next_;
            return {left_.chunk(next_ - 1, left_at_).data, right_.chunk(next_ - 1, right_at_).data};
        }

    private:
        const frame_view &left_, &right_;
        std::uint32_t next_ = 0;
        std::size_t left_at_ = 0, right_at_ = 0;
    };

    /// Into the memory of an operand, whose chunks move to the end of dst first. In front of each of them, then, is all the room that it and
    /// those before it may need: the sum, which begins at the begin of dst, never reaches a chunk that is still to be read. The one
    /// that is being read, it may: that one is read from a copy.
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
        pairs chunk(left, right);
        return write(n, dst, eb, tell, [&](std::size_t i, std::size_t count, byte_span to) {
            auto [x, y] = chunk.at(i);
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
        pairs chunk(a, b);
        return write(n, dst, eb, tell, [&](std::size_t i, std::size_t count, byte_span to) {
            const auto [x, y] = chunk.at(i);
            return add_chunk(x, y, count, to);
        });
    }
    static encode_result add(const frame_view& a, const frame_view& b, byte_span dst, between_chunks tell) noexcept
    {
        return join(a, b, dst, tell, [](const_byte_span x, const_byte_span y, std::size_t count, byte_span to) { return Impl::add_chunks(x, y, count, to); });
    }
    /// The frame that add() gives for the frame of `own` and `theirs`, chunk by chunk: the addend of own values is written to the innermost
    /// cache alone. `theirs` has been opened and is of as many elements.
    static encode_result encode_add(std::span<const T> own, const frame_view& theirs, byte_span dst, double eb, between_chunks tell) noexcept
    {
        const std::size_t n = own.size();
        if (!theirs.is_addend()) return {0, status::not_an_addend};
        if (theirs.header.elements != n) return {0, status::count_differs};
        if (theirs.header.bound != eb) return {0, status::bound_differs};
        if (theirs.says_too_large()) return refuse(n, dst, eb);
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        std::array<std::byte, Impl::max_addend_bytes(step)> mine;
        std::size_t offset = 0;
        return write(n, dst, eb, tell, [&](std::size_t i, std::size_t count, byte_span to) -> encode_result {
            const encode_result r = Impl::encode_addend(own.subspan(i * step, count), byte_span(mine).first(Impl::max_addend_bytes(count)), eb);
            if (r.code != status::ok) return r;
            return Impl::add_chunks(const_byte_span(mine).first(r.bytes), theirs.chunk(static_cast<std::uint32_t>(i), offset).data, count, to);
        });
    }
    /// In the memory of an operand, with one thread.
    template <codec_executor Executor>
    static encode_result add(const frame_view& a, const frame_view& b, byte_span dst, const Executor& run)
    {
        if (in_memory_of_operand(a, b, dst)) return add(a, b, dst, between_chunks{});
        const std::size_t n = a.header.elements;
        const double eb = a.header.bound;
        if (const status s = addable(a, b); s != status::ok) return s == status::too_large ? refuse(n, dst, eb) : encode_result{0, s};
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        const encode_result all = in_order<Impl::max_addend_bytes(step)>(run, frames::chunks(n), dst, frames::start(n), stores_for(n * sizeof(T)), [&] {
            return [&, chunk = pairs(a, b)](std::size_t i, byte_span to, std::size_t at) mutable {
                const auto sum = [&](std::size_t, std::size_t count, byte_span room) {
                    const auto [x, y] = chunk.at(i);
                    return Impl::add_chunks(x, y, count, room);
                };
                return append(i, n, dst, to, at, sum);
            };
        });
        return end(all, n, dst, eb);
    }
    static encode_result combine(std::int32_t factor_a, const frame_view& a, std::int32_t factor_b, const frame_view& b, byte_span dst) noexcept
        requires linear_chunk_codec<Impl, T>
    {
        return join(a, b, dst, {}, [=](const_byte_span x, const_byte_span y, std::size_t count, byte_span to) {
            return Impl::combine_chunks(factor_a, x, factor_b, y, count, to);
        });
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail
