// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/frame_codec.hpp - floor 2. A codec as the engine sees it: a few functions over whole frames, no types.
// Any chunk_codec becomes one; everything that all codecs share is here, once.
#pragma once

#include <algorithm>
#include <array>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/in_order.hpp>
#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Called between chunks with the elements done since the last call, so that messages move on while a codec works.
struct between_chunks {
    void (*call)(void* self, std::size_t elements) noexcept = nullptr;
    void* self = nullptr;

    void operator()(std::size_t elements) const noexcept
    {
        if (call != nullptr) call(self, elements);
    }
};

/// `own`, `in`, `out`: n elements, the count of the frame. A frame that does not fit it is status::count_differs.
template <element T>
struct frame_codec {
    std::size_t (*max_bytes)(std::size_t n) noexcept = nullptr;
    encode_result (*encode)(std::span<const T> in, byte_span dst, double eb, between_chunks) noexcept = nullptr;
    status (*decode)(const_byte_span src, std::span<T> out, stores, between_chunks) noexcept = nullptr;
    /// out = own op decoded, chunk by chunk in the innermost cache; `out` may be `own`.
    status (*decode_reduce)(const_byte_span src, std::span<const T> own, T* out, const reduction<T>&, between_chunks) noexcept = nullptr;
    /// dst = encoded(own op decoded), the same way: C-Coll's reduction step without storing the partial result.
    encode_result (*decode_reduce_encode)(const_byte_span src, std::span<const T> own, byte_span dst, double eb, const reduction<T>&,
                                          between_chunks) noexcept = nullptr;
    std::size_t chunk_elements = 1;
    std::size_t elements_between_polls = 0;
};

/// What a homomorphic codec can do beside: frames that add. Their bytes are within max_bytes(n) of this table, and the decode of
/// frame_codec reads them. A frame that says too_large is whole and valid: it travels, and so does every sum with it.
template <element T>
struct addend_codec {
    std::size_t (*max_bytes)(std::size_t n) noexcept = nullptr;
    bool (*can_add)(double largest, double eb, std::size_t addends) noexcept = nullptr;
    encode_result (*encode)(std::span<const T> in, byte_span dst, double eb, between_chunks) noexcept = nullptr;
    /// The frame that says too_large.
    encode_result (*refuse)(std::size_t n, byte_span dst, double eb) noexcept = nullptr;
    /// The frame of the sum, without decoding.
    encode_result (*add)(const_byte_span a, const_byte_span b, byte_span dst, between_chunks) noexcept = nullptr;
    bool adds_non_finite = false;
    std::size_t self_checked_addends = 0;
};

namespace detail {

template <class Tag, element T, class Impl = codec_impl<Tag, T, host_space>>
    requires chunk_codec<Impl, T>
struct chunked {
    static constexpr std::size_t step = Impl::chunk_elements;
    static_assert(step >= 1 && step <= max_chunk_elements, "ccoll: chunk_elements of a codec must be 1..8192");
    static constexpr bool pipelined = [] {
        if constexpr (requires { Impl::pipelined; }) return bool{Impl::pipelined};
        else return false;
    }();

    /// Messages are moved on after this many elements of codec work, 10 to 50 us: more often cost up to six times the call where a vain
    /// poll sleeps, and less often delays what others wait for (64 MiB allreduce, 4 ranks on 1 Gb/s links). Codecs differ by a factor of ten.
    static constexpr std::size_t elements_between_polls = [] {
        if constexpr (requires { Impl::elements_between_polls; }) return std::size_t{Impl::elements_between_polls};
        else return std::size_t{16384};
    }();

    static constexpr std::size_t chunks(std::size_t n) noexcept { return n / step + (n % step != 0); }
    static constexpr std::size_t start(std::size_t n) noexcept { return sizeof(frame_header) + 4 * chunks(n); }
    static constexpr std::size_t max_bytes(std::size_t n) noexcept { return start(n) + n * sizeof(T); }

    static frame_header header(std::size_t n, double eb) noexcept
    {
        frame_header h;
        h.codec = Tag::wire_id;
        h.dtype = dtype_of<T>;
        h.elements = n;
        h.bound = eb;
        h.chunk_elements = static_cast<std::uint32_t>(step);
        h.chunks = static_cast<std::uint32_t>(chunks(n));
        return h;
    }

    /// Appends chunk i at offset `at` of `to`, and its entry in `frame`; what `produce` cannot or would not encode is stored raw, so a frame
    /// never expands.
    /// @param produce  (i, count, room) -> encode_result    @param values  (i, count) -> span<const T>, the values themselves
    /// @return         bytes: the offset behind it
    template <class Produce, class Values>
    static encode_result append(std::size_t i, std::size_t n, byte_span frame, byte_span to, std::size_t at, Produce& produce, Values& values) noexcept
    {
        const std::size_t count = std::min(step, n - i * step), raw = count * sizeof(T);
        const byte_span room = to.subspan(at, raw);
        const encode_result one = produce(i, count, room);
        const bool encoded = one.code == status::ok && one.bytes < raw;
        if (!encoded) copy(room, std::as_bytes(values(i, count)));
        const std::size_t bytes = encoded ? one.bytes : raw;
        store(frame, sizeof(frame_header) + 4 * i, static_cast<std::uint32_t>(bytes) | (encoded ? 0 : raw_chunk));
        return {at + bytes, status::ok, !Tag::lossy ? 0 : encoded ? one.raw_blocks : 1};
    }
    static status begin(std::size_t n, byte_span dst, double eb) noexcept
    {
        if (dst.size() < max_bytes(n) || chunks(n) > 0xffffffffu) return status::out_of_space;
        store(dst, 0, header(n, eb));
        return status::ok;
    }
    template <class Produce, class Values>
    static encode_result write(std::size_t n, byte_span dst, double eb, between_chunks tell, Produce produce, Values values) noexcept
    {
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        encode_result all{start(n)};
        for (std::size_t i = 0; i < chunks(n); ++i) {
            const encode_result one = append(i, n, dst, dst, all.bytes, produce, values);
            all.bytes = one.bytes;
            all.raw_blocks += one.raw_blocks;
            if (pipelined) tell(std::min(step, n - i * step));
        }
        return all;
    }

    static auto encoder(std::span<const T> in, double eb) noexcept
    {
        return [=](std::size_t i, std::size_t count, byte_span to) { return Impl::encode_chunk(in.subspan(i * step, count), to, eb); };
    }
    static auto source(std::span<const T> in) noexcept
    {
        return [=](std::size_t i, std::size_t count) { return in.subspan(i * step, count); };
    }
    static encode_result encode(std::span<const T> in, byte_span dst, double eb, between_chunks tell) noexcept
    {
        return write(in.size(), dst, eb, tell, encoder(in, eb), source(in));
    }
    template <codec_executor Executor>
    static encode_result encode(std::span<const T> in, byte_span dst, double eb, const Executor& run)
    {
        const std::size_t n = in.size();
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        return in_order<step * sizeof(T)>(run, chunks(n), dst, start(n), stores_for(n * sizeof(T)), [&] {
            return [&, produce = encoder(in, eb), values = source(in)](std::size_t i, byte_span to, std::size_t at) {
                return append(i, n, dst, to, at, produce, values);
            };
        });
    }

    static constexpr bool adds = homomorphic_chunk_codec<Impl, T>;
    static constexpr std::size_t longest_addend(std::size_t count) noexcept
    {
        if constexpr (adds) return Impl::max_addend_bytes(count);
        else return 0;
    }

    static status read_chunk(const frame_view& view, const frame_view::piece& piece, std::span<T> out, [[maybe_unused]] stores how = stores::cached) noexcept
    {
        const double eb = view.header.bound;
        if constexpr (adds)
            if ((view.header.flags & addend_flag) != 0) {
                if constexpr (requires { Impl::decode_addend(piece.data, out, eb, how); }) return Impl::decode_addend(piece.data, out, eb, how);
                else return Impl::decode_addend(piece.data, out, eb);
            }
        if (!piece.raw) {
            if constexpr (requires { Impl::decode_chunk(piece.data, out, eb, how); }) return Impl::decode_chunk(piece.data, out, eb, how);
            else return Impl::decode_chunk(piece.data, out, eb);
        }
        if (piece.data.size() != out.size_bytes()) return status::corrupt;
        copy(std::as_writable_bytes(out), piece.data);
        return status::ok;
    }

    static status open(const_byte_span src, frame_view& view) noexcept
    {
        if (const status s = read_frame(src, view); s != status::ok) return s;
        const frame_header& h = view.header;
        if (h.codec != Tag::wire_id || h.dtype != dtype_of<T> || h.chunk_elements != step) return status::foreign_frame;
        if (!(Tag::lossy ? is_bound(h.bound) : h.bound == 0)) return status::corrupt;
        const bool addend = (h.flags & addend_flag) != 0;
        if (addend && !adds) return status::corrupt;
        if ((h.flags & too_large_flag) != 0) return view.payload.empty() ? status::too_large : status::corrupt;
        for (std::uint32_t i = 0; i < h.chunks; ++i) {  // no encoder writes a chunk that is not shorter than its elements
            const std::size_t count = std::min<std::uint64_t>(step, h.elements - std::uint64_t{i} * step), raw = count * sizeof(T), entry = view.entry(i);
            if (addend ? entry > longest_addend(count) : (entry & raw_chunk) != 0 ? (entry & ~raw_chunk) != raw : entry >= raw) return status::corrupt;
        }
        return status::ok;
    }
    static status open(const_byte_span src, std::size_t n, frame_view& view) noexcept
    {
        const status s = open(src, view);
        return (s == status::ok || s == status::too_large) && view.header.elements != n ? status::count_differs : s;
    }

    static status decode(const_byte_span src, std::span<T> out, stores how, between_chunks tell) noexcept
    {
        frame_view view;
        status s = open(src, out.size(), view);
        how = stores_at(out.data(), how);
        std::size_t offset = 0;
        for (std::uint32_t i = 0; s == status::ok && i < view.header.chunks; ++i) {
            const auto to = out.subspan(i * step, std::min(step, out.size() - i * step));
            s = read_chunk(view, view.chunk(i, offset), to, how);
            if (pipelined && s == status::ok) tell(to.size());
        }
        settle(how);
        return s;
    }

    template <codec_executor Executor>
    static status decode(const_byte_span src, std::span<T> out, stores how, const Executor& run)
    {
        frame_view view;
        if (const status s = open(src, out.size(), view); s != status::ok) return s;
        const std::size_t all = view.header.chunks, parts = threads_for(run.width(), all);
        std::array<status, most_threads> read{};
        how = stores_at(out.data(), how);
        run(parts, [&](std::size_t part) {
            const std::size_t first = all * part / parts, last = all * (part + 1) / parts;
            std::size_t offset = 0;
            for (std::size_t i = 0; i < first; ++i) offset += view.entry(static_cast<std::uint32_t>(i)) & ~raw_chunk;
            for (std::size_t i = first; i < last && read[part] == status::ok; ++i)
                read[part] = read_chunk(view, view.chunk(static_cast<std::uint32_t>(i), offset), out.subspan(i * step, std::min(step, out.size() - i * step)), how);
            settle(how);
        });
        for (const status s : read)
            if (s != status::ok) return s;
        return status::ok;
    }

    static status decode_reduce(const_byte_span src, std::span<const T> own, T* out, const reduction<T>& op, between_chunks tell) noexcept
    {
        frame_view view;
        if (const status s = open(src, own.size(), view); s != status::ok) return s;
        std::array<T, step> theirs;
        std::size_t offset = 0;
        for (std::uint32_t i = 0; i < view.header.chunks; ++i) {
            const std::size_t at = i * step, count = std::min(step, own.size() - at);
            if (const status s = read_chunk(view, view.chunk(i, offset), std::span<T>(theirs.data(), count)); s != status::ok) return s;
            op.apply(out + at, own.data() + at, theirs.data(), count);
            if (pipelined) tell(count);
        }
        return status::ok;
    }

    static encode_result decode_reduce_encode(const_byte_span src, std::span<const T> own, byte_span dst, double eb, const reduction<T>& op,
                                              between_chunks tell) noexcept
    {
        frame_view view;
        if (const status s = open(src, own.size(), view); s != status::ok) return {0, s};
        std::array<T, step> sum;
        std::size_t offset = 0;
        status read = status::ok;
        encode_result result = write(
            own.size(), dst, eb, tell,
            [&](std::size_t i, std::size_t count, byte_span to) -> encode_result {
                const status s = read_chunk(view, view.chunk(static_cast<std::uint32_t>(i), offset), std::span<T>(sum.data(), count));
                if (read == status::ok) read = s;
                op.apply(sum.data(), own.data() + i * step, sum.data(), count);
                return Impl::encode_chunk(std::span<const T>(sum.data(), count), to, eb);
            },
            [&](std::size_t, std::size_t count) { return std::span<const T>(sum.data(), count); });
        if (read != status::ok) result.code = read;
        return result;
    }
};

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

    static status open(const_byte_span src, frame_view& view) noexcept
    {
        const status s = frames::open(src, view);
        return s == status::ok && (view.header.flags & addend_flag) == 0 ? status::not_an_addend : s;
    }
    static status open_both(const_byte_span a, const_byte_span b, frame_view& left, frame_view& right, double& eb) noexcept
    {
        const status x = open(a, left), y = open(b, right);
        for (const status s : {x, y})
            if (s != status::ok && s != status::too_large) return s;
        if (left.header.elements != right.header.elements) return status::count_differs;
        if (left.header.bound != right.header.bound) return status::bound_differs;
        eb = left.header.bound;
        return x != status::ok ? x : y;
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
    static encode_result sum_in_place(const_byte_span a, const_byte_span b, frame_view& left, frame_view& right, byte_span dst, between_chunks tell,
                                      AddChunk add_chunk) noexcept
    {
        const std::size_t n = left.header.elements;
        const double eb = left.header.bound;
        if (dst.size() < max_bytes(n)) return {0, status::out_of_space};
        const byte_span moved = dst.first(max_bytes(n)).last((a.data() == dst.data() ? left : right).payload.size());
        if (!moved.empty()) std::memmove(moved.data(), dst.data() + frames::start(n), moved.size());
        if (a.data() == dst.data()) left.payload = moved;
        if (b.data() == dst.data()) right.payload = moved;
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
    template <class AddChunk>
    static encode_result join(const_byte_span a, const_byte_span b, byte_span dst, between_chunks tell, AddChunk add_chunk) noexcept
    {
        frame_view left, right;
        double eb = 0;
        if (const status s = open_both(a, b, left, right, eb); s != status::ok)
            return s == status::too_large ? refuse(left.header.elements, dst, eb) : encode_result{0, s};
        if (a.data() == dst.data() || b.data() == dst.data()) return sum_in_place(a, b, left, right, dst, tell, add_chunk);
        const std::size_t n = left.header.elements;
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        pairs chunk(left, right);
        return write(n, dst, eb, tell, [&](std::size_t i, std::size_t count, byte_span to) {
            const auto [x, y] = chunk.at(i);
            return add_chunk(x, y, count, to);
        });
    }
    static encode_result add(const_byte_span a, const_byte_span b, byte_span dst, between_chunks tell) noexcept
    {
        return join(a, b, dst, tell, [](const_byte_span x, const_byte_span y, std::size_t count, byte_span to) { return Impl::add_chunks(x, y, count, to); });
    }
    /// In the memory of an operand, with one thread.
    template <codec_executor Executor>
    static encode_result add(const_byte_span a, const_byte_span b, byte_span dst, const Executor& run)
    {
        if (a.data() == dst.data() || b.data() == dst.data()) return add(a, b, dst, between_chunks{});
        frame_view left, right;
        double eb = 0;
        if (const status s = open_both(a, b, left, right, eb); s != status::ok)
            return s == status::too_large ? refuse(left.header.elements, dst, eb) : encode_result{0, s};
        const std::size_t n = left.header.elements;
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        const encode_result all = in_order<Impl::max_addend_bytes(step)>(run, frames::chunks(n), dst, frames::start(n), stores_for(n * sizeof(T)), [&] {
            return [&, chunk = pairs(left, right)](std::size_t i, byte_span to, std::size_t at) mutable {
                const auto sum = [&](std::size_t, std::size_t count, byte_span room) {
                    const auto [x, y] = chunk.at(i);
                    return Impl::add_chunks(x, y, count, room);
                };
                return append(i, n, dst, to, at, sum);
            };
        });
        return end(all, n, dst, eb);
    }
    static encode_result combine(std::int32_t factor_a, const_byte_span a, std::int32_t factor_b, const_byte_span b, byte_span dst) noexcept
        requires linear_chunk_codec<Impl, T>
    {
        return join(a, b, dst, {}, [=](const_byte_span x, const_byte_span y, std::size_t count, byte_span to) {
            return Impl::combine_chunks(factor_a, x, factor_b, y, count, to);
        });
    }
};

}  // namespace detail

template <class Tag, class T, class Space = host_space>
concept has_codec = element<T> && chunk_codec<codec_impl<Tag, T, Space>, T>;

template <class Tag, class T>
concept has_homomorphic_codec = has_codec<Tag, T> && homomorphic_chunk_codec<codec_impl<Tag, T, host_space>, T>;

/// The run-time face of codec `Tag` for elements T.
template <class Tag, element T>
inline constexpr frame_codec<T> frame_codec_of = [] {
    using all = detail::chunked<Tag, T>;
    return frame_codec<T>{&all::max_bytes, &all::encode, &all::decode, &all::decode_reduce, &all::decode_reduce_encode, all::step, all::elements_between_polls};
}();

template <class Tag, element T>
    requires has_homomorphic_codec<Tag, T>
inline constexpr addend_codec<T> addend_codec_of = [] {
    using all = detail::chunked_addends<Tag, T>;
    using impl = codec_impl<Tag, T, host_space>;
    constexpr std::size_t self_checked = [] {
        if constexpr (requires { impl::self_checked_addends; }) return std::size_t{impl::self_checked_addends};
        else return std::size_t{0};
    }();
    return addend_codec<T>{&all::max_bytes, &impl::can_add, &all::encode, &all::refuse, &all::add, impl::adds_non_finite, self_checked};
}();

}  // namespace ccoll
