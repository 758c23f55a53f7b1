// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/chunked_addends.hpp - floor 2. Frames of addends, which a homomorphic codec can add. They are written
// and added here, once for all such codecs.
#pragma once

#include <array>
#include <utility>

#include <ccoll/codec/chunked.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Frames of addends. They differ from those of `chunked` in a flag, in having no raw chunks, and in that
/// they may be longer than their values.
template <class Tag, element T, class Impl = codec_impl<Tag, T, host_space>>
    requires homomorphic_chunk_codec<Impl, T>
struct chunked_addends {
    using frames = chunked<Tag, T, Impl>;
    static constexpr std::size_t step = frames::step;

    static constexpr std::size_t max_bytes(std::size_t n) noexcept
    {
        return frames::start(n) + max_payload(n);
    }
    static constexpr std::size_t max_payload(std::size_t n) noexcept
    {
        return n / step * longest_chunk +
               (n % step != 0 ? padded_to_unit(Impl::max_addend_bytes(n % step)) : 0);
    }
    static constexpr std::size_t longest_chunk = padded_to_unit(Impl::max_addend_bytes(step));

    /// Writes chunk i. @see chunked::write_chunk
    template <class Produce>
    static typename frames::written write_chunk(std::size_t i, std::size_t n, byte_span room,
                                                Produce& produce) noexcept
    {
        const std::size_t count = std::min(step, n - i * step);
        const encode_result one = produce(i, count, room.first(Impl::max_addend_bytes(count)));
        if (one.code != status::ok) return {{0, one.code}, 0, false};
        return {{frames::fill_up(room, one.bytes), status::ok, 0, one.special_values}, one.bytes, false};
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
    static encode_result write(std::size_t n, byte_span dst, double eb, between_chunks tell,
                               Produce produce) noexcept
    {
        encode_result all{frames::start(n)};
        for (std::size_t i = 0; i < frames::chunks(n) && all.code == status::ok; ++i) {
            const auto one = write_chunk(i, n, dst.subspan(all.bytes), produce);
            put_entry(dst, i, all.bytes - frames::start(n), one.bytes, false);
            all = {all.bytes + one.result.bytes, one.result.code, 0,
                   all.special_values + one.result.special_values};
            if (frames::pipelined) tell(std::min(step, n - i * step));
        }
        put_payload(dst, all.bytes - frames::start(n));
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
    static encode_result encode_one(std::span<const T> in, byte_span to, const field_facts& field) noexcept
    {
        if constexpr (std::is_same_v<T, float>)
            if (field.two_bytes != nullptr && field.two_bytes->stand_for(in.data())) [[unlikely]]
                return encode_two_bytes(in, to, field);
        if constexpr (requires { Impl::encode_addend(in, to, field); })
            return Impl::encode_addend(in, to, field);
        else return Impl::encode_addend(in, to, field.eb);
    }
    static encode_result add_pieces(const frame_view::piece& a, const frame_view::piece& b, std::size_t n,
                                    byte_span to) noexcept
    {
        if constexpr (requires { Impl::add_chunks(a, b, n, to); }) return Impl::add_chunks(a, b, n, to);
        else return Impl::add_chunks(a.data, b.data, n, to);
    }
    static auto encoder(std::span<const T> in, field_facts field) noexcept
    {
        return [=](std::size_t i, std::size_t count, byte_span to) {
            return encode_one(in.subspan(i * step, count), to, field);
        };
    }
    /// @param produce  as in write, but called by several threads
    template <codec_executor Executor, class Produce>
    static encode_result in_parts(std::size_t n, byte_span dst, double eb, const Executor& run,
                                  const Produce& produce)
    {
        const auto write_one = [&](std::size_t i, byte_span room) {
            return write_chunk(i, n, room, produce);
        };
        return end(placed<longest_chunk>(run, frames::chunks(n), dst, frames::start(n),
                                         stores_for(n * sizeof(T)), write_one),
                   n, dst, eb);
    }
    static encode_result encode(std::span<const T> in, byte_span dst, field_facts field,
                                between_chunks tell) noexcept
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

    /// May two opened frames be added?
    /// @return too_large if one of them says so, because then the sum says so as well
    static status addable(const frame_view& a, const frame_view& b) noexcept
    {
        if (!a.is_addend() || !b.is_addend()) return status::not_an_addend;
        if (a.header.elements != b.header.elements) return status::count_differs;
        if (a.header.bound != b.header.bound) return status::bound_differs;
        // No encoder writes chunks of addends for a bound without a step.
        if constexpr (requires { Impl::addend_step(1.0); })
            if (a.header.payload + b.header.payload > 0 && !(Impl::addend_step(a.header.bound) > 0))
                return status::corrupt;
        return a.says_too_large() || b.says_too_large() ? status::too_large : status::ok;
    }
    /// Adds chunks i of two frames.
    static auto adder(const frame_view& a, const frame_view& b) noexcept
    {
        return [&a, &b](std::size_t i, std::size_t count, byte_span to) -> encode_result {
            const frame_view::piece x = a.chunk(i), y = b.chunk(i);
            const encode_result sum = add_pieces(x, y, count, to);
            return are_filled_with_zeros(x, y) ? sum : encode_result{0, status::corrupt};
        };
    }
    static bool are_filled_with_zeros(const frame_view::piece& x, const frame_view::piece& y) noexcept
    {
        return is_filled_with_zeros(x) && is_filled_with_zeros(y);
    }

    /// A frame, or a copy of it if `dst` is its memory.
    struct operand {
        frame_view view;
        aside_memory memory;
        bool is_lost = false;  ///< there was no memory for the copy

        operand(const frame_view& frame, byte_span dst) noexcept
            : view(frame), memory(frame.whole.data() == dst.data() ? frame.whole.size() : 0)
        {
            if (frame.whole.data() != dst.data()) return;
            is_lost = memory.bytes.empty();
            if (is_lost) return;
            copy(memory.bytes, frame.whole);
            const const_byte_span whole = memory.bytes;
            view.whole = whole;
            view.index = whole.subspan(sizeof(frame_header), frame.index.size());
            view.payload = whole.last(frame.payload.size());
        }
    };
    /// @param run_all  (a, b, n, dst) -> encode_result, of operands that are not in the memory of dst
    template <class RunAll>
    static encode_result join(const frame_view& a, const frame_view& b, byte_span dst,
                              RunAll run_all) noexcept(noexcept(run_all(a, b)))
    {
        const std::size_t n = a.header.elements;
        const double eb = a.header.bound;
        if (const status s = addable(a, b); s != status::ok)
            return s == status::too_large ? refuse(n, dst, eb) : encode_result{0, s};
        const operand x(a, dst), y(b, dst);
        if (x.is_lost || y.is_lost) return {0, status::out_of_memory};
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        return run_all(x.view, y.view);
    }
    static encode_result add(const frame_view& a, const frame_view& b, byte_span dst,
                             between_chunks tell) noexcept
    {
        return join(a, b, dst, [&](const frame_view& x, const frame_view& y) noexcept {
            return write(x.header.elements, dst, x.header.bound, tell, adder(x, y));
        });
    }
    /// Gives the frame that add() gives for the frame of `own` and `theirs`. The addends of own values exist
    /// chunk by chunk, in the innermost caches alone: at the end of dst, or on the stack where dst has no
    /// room for a chunk more. `theirs` has been opened.
    static encode_result encode_add(std::span<const T> own, const frame_view& theirs, byte_span dst,
                                    field_facts field, between_chunks tell) noexcept
    {
        const std::size_t n = own.size();
        const double eb = field.eb;
        if (!theirs.is_addend()) return {0, status::not_an_addend};
        if (theirs.header.elements != n) return {0, status::count_differs};
        if (theirs.header.bound != eb) return {0, status::bound_differs};
        if (theirs.says_too_large()) return refuse(n, dst, eb);
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        return write(n, dst, eb, tell, [&](std::size_t i, std::size_t count, byte_span to) -> encode_result {
            const std::span<const T> x = own.subspan(i * step, count);
            const frame_view::piece other = theirs.chunk(i);
            const std::byte* const end = dst.data() + dst.size();
            const bool is_room = static_cast<std::size_t>(end - (to.data() + to.size())) >= longest_chunk;
            return is_room ? encode_add_one(x, other, to, field, dst.last(longest_chunk))
                           : encode_add_aside(x, other, to, field);
        });
    }
    template <codec_executor Executor>
    static encode_result add(const frame_view& a, const frame_view& b, byte_span dst, const Executor& run)
    {
        return join(a, b, dst, [&](const frame_view& x, const frame_view& y) {
            return in_parts(x.header.elements, dst, x.header.bound, run, adder(x, y));
        });
    }

private:
    [[gnu::noinline]] static encode_result encode_two_bytes(std::span<const T> in, byte_span to,
                                                            field_facts field) noexcept
        requires std::is_same_v<T, float>
    {
        alignas(64) std::array<T, step> x;
        std::exchange(field.two_bytes, nullptr)->read(in.data(), x.data(), in.size());
        return encode_one(std::span<const T>(x.data(), in.size()), to, field);
    }
    /// @param room  for an addend
    static encode_result encode_add_one(std::span<const T> own, const frame_view::piece& theirs, byte_span to,
                                        const field_facts& field, byte_span room) noexcept
    {
        const encode_result r = encode_one(own, room.first(Impl::max_addend_bytes(own.size())), field);
        if (r.code != status::ok) return r;
        const encode_result sum =
            add_pieces({room.first(r.bytes), room.size() - r.bytes, false}, theirs, own.size(), to);
        return is_filled_with_zeros(theirs) ? sum : encode_result{0, status::corrupt};
    }
    [[gnu::noinline]] static encode_result encode_add_aside(std::span<const T> own,
                                                            const frame_view::piece& theirs, byte_span to,
                                                            const field_facts& field) noexcept
    {
        std::array<std::byte, longest_chunk> mine;
        return encode_add_one(own, theirs, to, field, mine);
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail
