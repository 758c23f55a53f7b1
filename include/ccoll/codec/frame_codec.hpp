// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/frame_codec.hpp - floor 2. A codec as the engine sees it: a few functions over whole frames, no types.
// Any chunk_codec becomes one; everything that all codecs share is here, once.
#pragma once

#include <algorithm>
#include <array>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll {

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
    status (*decode)(const_byte_span src, std::span<T> out, between_chunks) noexcept = nullptr;
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
};

/// Who runs the parts of a codec's work at once: run(parts, job) calls job(0) .. job(parts - 1) in any order, from any threads, and
/// returns when all have ended; width() is how many may gain. Exec::Threads (exec.hpp) is one, your thread pool another.
template <class E>
concept codec_executor = requires(const E& run, void (*job)(std::size_t)) {
    { run.width() } -> std::convertible_to<std::size_t>;
    run(std::size_t{}, job);
};

namespace detail {

/// Chunks dealt out in ranges of nearly equal length: at least 8 of them, or a thread costs more than it brings.
struct chunk_parts {
    static constexpr std::size_t most = 64;
    std::size_t count, chunks;

    chunk_parts(std::size_t width, std::size_t n) noexcept : count(std::max<std::size_t>(1, std::min({width, most, n / 8}))), chunks(n) {}
    std::size_t begin(std::size_t part) const noexcept { return chunks * part / count; }
};

/// Writes parts of a frame at once, each from start + first * most_bytes on, and then moves them together.
/// @param write  (first, last, at) -> encode_result, of which bytes is the offset behind
template <class Executor, class Write>
encode_result in_parts(const Executor& run, std::size_t chunks, std::size_t start, std::size_t most_bytes, byte_span dst, Write write)
{
    const chunk_parts parts(run.width(), chunks);
    std::array<encode_result, chunk_parts::most> done;
    run(parts.count, [&](std::size_t part) { done[part] = write(parts.begin(part), parts.begin(part + 1), start + parts.begin(part) * most_bytes); });
    encode_result all{start};
    for (std::size_t part = 0; part < parts.count; ++part) {
        if (done[part].code != status::ok) return done[part];
        const std::size_t at = start + parts.begin(part) * most_bytes, bytes = done[part].bytes - at;
        if (all.bytes != at) std::memmove(dst.data() + all.bytes, dst.data() + at, bytes);
        all.bytes += bytes;
        all.raw_blocks += done[part].raw_blocks;
    }
    return all;
}

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

    /// Appends chunks first .. last - 1 from offset `at` on; what `produce` cannot or would not encode is stored raw, so a frame never expands.
    /// @param produce  (i, count, room) -> encode_result    @param values  (i, count) -> span<const T>, the values themselves
    /// @return         bytes: the offset behind the last of them
    template <class Produce, class Values>
    static encode_result write_chunks(std::size_t first, std::size_t last, std::size_t n, byte_span dst, std::size_t at, between_chunks tell,
                                      Produce produce, Values values) noexcept
    {
        encode_result all{at};
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t count = std::min(step, n - i * step), raw = count * sizeof(T);
            const encode_result one = produce(i, count, dst.subspan(all.bytes, raw));
            const bool encoded = one.code == status::ok && one.bytes < raw;
            if (!encoded) copy(dst.subspan(all.bytes, raw), std::as_bytes(values(i, count)));
            const std::size_t bytes = encoded ? one.bytes : raw;
            store(dst, sizeof(frame_header) + 4 * i, static_cast<std::uint32_t>(bytes) | (encoded ? 0 : raw_chunk));
            all.bytes += bytes;
            if (Tag::lossy) all.raw_blocks += encoded ? one.raw_blocks : 1;
            if (pipelined) tell(count);
        }
        return all;
    }
    template <class Produce, class Values>
    static encode_result write(std::size_t n, byte_span dst, double eb, between_chunks tell, Produce produce, Values values) noexcept
    {
        if (dst.size() < max_bytes(n) || chunks(n) > 0xffffffffu) return {0, status::out_of_space};
        store(dst, 0, header(n, eb));
        return write_chunks(0, chunks(n), n, dst, start(n), tell, produce, values);
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
    /// The same bytes. Each part of the chunks is written where it would begin if all before it were raw, then they are moved together.
    template <codec_executor Executor>
    static encode_result encode(std::span<const T> in, byte_span dst, double eb, const Executor& run)
    {
        const std::size_t n = in.size();
        if (dst.size() < max_bytes(n) || chunks(n) > 0xffffffffu) return {0, status::out_of_space};
        store(dst, 0, header(n, eb));
        return in_parts(run, chunks(n), start(n), step * sizeof(T), dst, [&](std::size_t first, std::size_t last, std::size_t at) {
            return write_chunks(first, last, n, dst, at, {}, encoder(in, eb), source(in));
        });
    }

    static constexpr bool adds = homomorphic_chunk_codec<Impl, T>;

    static status read_chunk(const frame_view& view, const frame_view::piece& piece, std::span<T> out) noexcept
    {
        if constexpr (adds)
            if ((view.header.flags & addend_flag) != 0) return Impl::decode_addend(piece.data, out, view.header.bound);
        if (!piece.raw) return Impl::decode_chunk(piece.data, out, view.header.bound);
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
            const std::size_t raw = std::min<std::uint64_t>(step, h.elements - std::uint64_t{i} * step) * sizeof(T), entry = view.entry(i);
            if (addend ? (entry & raw_chunk) != 0 : (entry & raw_chunk) != 0 ? (entry & ~raw_chunk) != raw : entry >= raw) return status::corrupt;
        }
        return status::ok;
    }
    static status open(const_byte_span src, std::size_t n, frame_view& view) noexcept
    {
        const status s = open(src, view);
        return (s == status::ok || s == status::too_large) && view.header.elements != n ? status::count_differs : s;
    }

    static status decode(const_byte_span src, std::span<T> out, between_chunks tell) noexcept
    {
        frame_view view;
        if (const status s = open(src, out.size(), view); s != status::ok) return s;
        std::size_t offset = 0;
        for (std::uint32_t i = 0; i < view.header.chunks; ++i) {
            const auto to = out.subspan(i * step, std::min(step, out.size() - i * step));
            if (const status s = read_chunk(view, view.chunk(i, offset), to); s != status::ok) return s;
            if (pipelined) tell(to.size());
        }
        return status::ok;
    }

    template <codec_executor Executor>
    static status decode(const_byte_span src, std::span<T> out, const Executor& run)
    {
        frame_view view;
        if (const status s = open(src, out.size(), view); s != status::ok) return s;
        const chunk_parts parts(run.width(), view.header.chunks);
        std::array<status, chunk_parts::most> read{};
        run(parts.count, [&](std::size_t part) {
            std::size_t offset = 0;
            for (std::uint32_t i = 0; i < parts.begin(part); ++i) offset += view.entry(i) & ~raw_chunk;
            for (std::size_t i = parts.begin(part); i < parts.begin(part + 1) && read[part] == status::ok; ++i)
                read[part] = read_chunk(view, view.chunk(static_cast<std::uint32_t>(i), offset), out.subspan(i * step, std::min(step, out.size() - i * step)));
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

    /// @param produce  (i, count, room) -> encode_result
    template <class Produce>
    static encode_result write_chunks(std::size_t first, std::size_t last, std::size_t n, byte_span dst, std::size_t at, between_chunks tell,
                                      Produce produce) noexcept
    {
        encode_result all{at};
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t count = std::min(step, n - i * step);
            const encode_result one = produce(i, count, dst.subspan(all.bytes, Impl::max_addend_bytes(count)));
            if (one.code != status::ok) return {0, one.code};
            store(dst, sizeof(frame_header) + 4 * i, static_cast<std::uint32_t>(one.bytes));
            all.bytes += one.bytes;
            if (frames::pipelined) tell(count);
        }
        return all;
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
        return r.code == status::too_large ? refuse(n, dst, eb) : r;
    }
    template <class Produce>
    static encode_result write(std::size_t n, byte_span dst, double eb, between_chunks tell, Produce produce) noexcept
    {
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        return end(write_chunks(0, frames::chunks(n), n, dst, frames::start(n), tell, produce), n, dst, eb);
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
    static encode_result encode(std::span<const T> in, byte_span dst, double eb, between_chunks tell) noexcept
    {
        return write(in.size(), dst, eb, tell, encoder(in, eb));
    }
    static auto encoder(std::span<const T> in, double eb) noexcept
    {
        return [=](std::size_t i, std::size_t count, byte_span to) { return Impl::encode_addend(in.subspan(i * step, count), to, eb); };
    }
    template <codec_executor Executor>
    static encode_result encode(std::span<const T> in, byte_span dst, double eb, const Executor& run)
    {
        const std::size_t n = in.size();
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        const encode_result all =
            in_parts(run, frames::chunks(n), frames::start(n), Impl::max_addend_bytes(step), dst,
                     [&](std::size_t first, std::size_t last, std::size_t at) { return write_chunks(first, last, n, dst, at, {}, encoder(in, eb)); });
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
    /// @param add_chunk  (a, b, count, room) -> encode_result
    template <class AddChunk>
    static encode_result join(const_byte_span a, const_byte_span b, byte_span dst, between_chunks tell, AddChunk add_chunk) noexcept
    {
        frame_view left, right;
        double eb = 0;
        if (const status s = open_both(a, b, left, right, eb); s != status::ok)
            return s == status::too_large ? refuse(left.header.elements, dst, eb) : encode_result{0, s};
        std::size_t left_at = 0, right_at = 0;
        return write(left.header.elements, dst, eb, tell, [&](std::size_t i, std::size_t count, byte_span to) {
            const auto chunk = static_cast<std::uint32_t>(i);
            return add_chunk(left.chunk(chunk, left_at).data, right.chunk(chunk, right_at).data, count, to);
        });
    }
    static encode_result add(const_byte_span a, const_byte_span b, byte_span dst, between_chunks tell) noexcept
    {
        return join(a, b, dst, tell, [](const_byte_span x, const_byte_span y, std::size_t count, byte_span to) { return Impl::add_chunks(x, y, count, to); });
    }
    template <codec_executor Executor>
    static encode_result add(const_byte_span a, const_byte_span b, byte_span dst, const Executor& run)
    {
        frame_view left, right;
        double eb = 0;
        if (const status s = open_both(a, b, left, right, eb); s != status::ok)
            return s == status::too_large ? refuse(left.header.elements, dst, eb) : encode_result{0, s};
        const std::size_t n = left.header.elements;
        if (const status s = begin(n, dst, eb); s != status::ok) return {0, s};
        const auto add_part = [&](std::size_t first, std::size_t last, std::size_t at) {
            std::size_t left_at = 0, right_at = 0;
            for (std::uint32_t i = 0; i < first; ++i) left_at += left.entry(i), right_at += right.entry(i);
            return write_chunks(first, last, n, dst, at, {}, [&](std::size_t i, std::size_t count, byte_span to) {
                const auto chunk = static_cast<std::uint32_t>(i);
                return Impl::add_chunks(left.chunk(chunk, left_at).data, right.chunk(chunk, right_at).data, count, to);
            });
        };
        return end(in_parts(run, frames::chunks(n), frames::start(n), Impl::max_addend_bytes(step), dst, add_part), n, dst, eb);
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
    return addend_codec<T>{&all::max_bytes, &codec_impl<Tag, T, host_space>::can_add, &all::encode, &all::refuse, &all::add, codec_impl<Tag, T, host_space>::adds_non_finite};
}();

}  // namespace ccoll
