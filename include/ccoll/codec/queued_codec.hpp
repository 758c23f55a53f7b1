// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/queued_codec.hpp - floor 2. A codec as the engine sees it: work on whole frames, begun on a queue.
// Host codecs, which are functions (frame_codec.hpp), become one here; a device header specialises
// queued_codecs for its own memory space.
#pragma once

#include <ccoll/codec/codec_queue.hpp>
#include <ccoll/codec/lookup.hpp>

namespace ccoll::inline CCOLL_ABI {

/// What every piece of codec work may have to know beside its operands.
struct codec_context {
    double eb = 0;                                         ///< of what is encoded
    field_strides strides{};                               ///< of the field that is encoded: @see field_facts
    missing_value missing{};                               ///< what stands for missing values
    stores how = stores::cached;                           ///< of what is decoded
    int divisor = 1;                                       ///< of a sum that is decoded: @see decoded_facts
    const detail::two_byte_elements* two_bytes = nullptr;  ///< of addends: what the elements may be
    between_chunks between{};  ///< only on a queue that works at once: whoever does the work calls it

    field_facts field() const
    {
        field_facts f(eb, strides, missing);
        f.two_bytes = two_bytes;
        return f;
    }
    decoded_facts decoded() const { return {how, divisor, missing, 0, two_bytes}; }
};

/// As frame_codec, begun. Elements are in the codec's memory space. Frames are in memory that host and codec
/// can read and write both: the host looks at their headers when the work is done. Views and operations are
/// copied; elements and frames must stay.
template <element T>
struct queued_codec {
    std::size_t (*max_bytes)(std::size_t n) noexcept = nullptr;
    status (*open)(const_byte_span src, std::size_t n, frame_view& view) noexcept = nullptr;
    void (*encode)(const codec_queue&, std::span<const T> in, byte_span dst, const codec_context&,
                   codec_work&) noexcept = nullptr;
    void (*decode)(const codec_queue&, const frame_view& src, std::span<T> out, const codec_context&,
                   codec_work&) noexcept = nullptr;
    void (*decode_reduce)(const codec_queue&, const frame_view& src, std::span<const T> own, T* out,
                          const reduction<T>&, const codec_context&, codec_work&) noexcept = nullptr;
    void (*decode_reduce_encode)(const codec_queue&, const frame_view& src, std::span<const T> own,
                                 byte_span dst, const reduction<T>&, const codec_context&,
                                 codec_work&) noexcept = nullptr;
    std::size_t chunk_elements = 1;
    std::size_t elements_between_polls = 0;
};

/// As addend_codec, begun.
template <element T>
struct queued_addends {
    std::size_t (*max_bytes)(std::size_t n) noexcept = nullptr;
    bool (*can_add)(double largest, double eb, std::size_t addends) noexcept = nullptr;
    void (*encode)(const codec_queue&, std::span<const T> in, byte_span dst, const codec_context&,
                   codec_work&) noexcept = nullptr;
    /// The frame that says too_large: a header, which the host writes.
    encode_result (*refuse)(std::size_t n, byte_span dst, double eb) noexcept = nullptr;
    void (*add)(const codec_queue&, const frame_view& a, const frame_view& b, byte_span dst,
                const codec_context&, codec_work&) noexcept = nullptr;
    /// The sum of the addend of `own` and of `theirs`, without writing the first.
    void (*encode_add)(const codec_queue&, std::span<const T> own, const frame_view& theirs, byte_span dst,
                       const codec_context&, codec_work&) noexcept = nullptr;
    bool adds_non_finite = false;
    double (*step)(double eb) noexcept = nullptr;  ///< of the grid of decoded sums; null: not known
};

namespace detail {

/// Begins work of a host codec. Under Exec::Serial no call has a queue, and nothing is compiled for one.
template <class Exec, class Function>
void begin_host_work([[maybe_unused]] const codec_queue& queue, codec_work& work, const Function& f) noexcept
{
    if constexpr (std::is_same_v<Exec, policies::Exec::Serial>) work = {f(), 0};
    else begin_work(queue, work, f);
}

/// A host codec on a queue. One class, so that it can be compiled once for a whole program (compiled.hpp).
/// Its functions are defined outside the class: g++ instantiates functions that are defined inside at every
/// use, also if they are compiled elsewhere.
template <class Tag, element T, class Exec>
struct queued_work {
    using chunks = chunked<Tag, T>;

    static status open(const_byte_span src, std::size_t n, frame_view& view) noexcept;
    static void encode(const codec_queue&, std::span<const T> in, byte_span dst, const codec_context&,
                       codec_work&) noexcept;
    static void decode(const codec_queue&, const frame_view& src, std::span<T> out, const codec_context&,
                       codec_work&) noexcept;
    static void decode_reduce(const codec_queue&, const frame_view& src, std::span<const T> own, T* out,
                              const reduction<T>&, const codec_context&, codec_work&) noexcept;
    static void decode_reduce_encode(const codec_queue&, const frame_view& src, std::span<const T> own,
                                     byte_span dst, const reduction<T>&, const codec_context&,
                                     codec_work&) noexcept;

    // Of codecs without addends these do nothing: clang 14 instantiates members whose constraint does not
    // hold along with their class.
    static bool can_add(double largest, double eb, std::size_t addends) noexcept;
    static double step(double eb) noexcept;
    static encode_result refuse(std::size_t n, byte_span dst, double eb) noexcept;
    static void encode_addend(const codec_queue&, std::span<const T> in, byte_span dst, const codec_context&,
                              codec_work&) noexcept;
    static void add(const codec_queue&, const frame_view& a, const frame_view& b, byte_span dst,
                    const codec_context&, codec_work&) noexcept;
    static void encode_add(const codec_queue&, std::span<const T> own, const frame_view& theirs,
                           byte_span dst, const codec_context&, codec_work&) noexcept;
};

template <class Tag, element T, class Exec>
status queued_work<Tag, T, Exec>::open(const_byte_span src, std::size_t n, frame_view& view) noexcept
{
    return chunks::open(src, n, view);
}
template <class Tag, element T, class Exec>
void queued_work<Tag, T, Exec>::encode(const codec_queue& queue, std::span<const T> in, byte_span dst,
                                       const codec_context& c, codec_work& work) noexcept
{
    begin_host_work<Exec>(queue, work, [=] { return chunks::encode(in, dst, c.field(), c.between); });
}
template <class Tag, element T, class Exec>
void queued_work<Tag, T, Exec>::decode(const codec_queue& queue, const frame_view& src, std::span<T> out,
                                       const codec_context& c, codec_work& work) noexcept
{
    begin_host_work<Exec>(queue, work,
                          [=] { return encode_result{0, chunks::decode(src, out, c.decoded(), c.between)}; });
}
template <class Tag, element T, class Exec>
void queued_work<Tag, T, Exec>::decode_reduce(const codec_queue& queue, const frame_view& src,
                                              std::span<const T> own, T* out, const reduction<T>& op,
                                              const codec_context& c, codec_work& work) noexcept
{
    begin_host_work<Exec>(
        queue, work, [=] { return encode_result{0, chunks::decode_reduce(src, own, out, op, c.between)}; });
}
template <class Tag, element T, class Exec>
void queued_work<Tag, T, Exec>::decode_reduce_encode(const codec_queue& queue, const frame_view& src,
                                                     std::span<const T> own, byte_span dst,
                                                     const reduction<T>& op, const codec_context& c,
                                                     codec_work& work) noexcept
{
    begin_host_work<Exec>(
        queue, work, [=] { return chunks::decode_reduce_encode(src, own, dst, c.field(), op, c.between); });
}

template <class Tag, element T, class Exec>
bool queued_work<Tag, T, Exec>::can_add(double largest, double eb, std::size_t addends) noexcept
{
    if constexpr (has_homomorphic_codec<Tag, T>)
        return codec_impl<Tag, T, host_space>::can_add(largest, eb, addends);
    else return false;
}
template <class Tag, element T, class Exec>
double queued_work<Tag, T, Exec>::step(double eb) noexcept
{
    using impl = codec_impl<Tag, T, host_space>;
    if constexpr (has_homomorphic_codec<Tag, T> && has_addend_step<impl>) return impl::addend_step(eb);
    else return 0;
}
template <class Tag, element T, class Exec>
encode_result queued_work<Tag, T, Exec>::refuse(std::size_t n, byte_span dst, double eb) noexcept
{
    if constexpr (has_homomorphic_codec<Tag, T>) return chunked_addends<Tag, T>::refuse(n, dst, eb);
    else return {0, status::unsupported};
}
template <class Tag, element T, class Exec>
void queued_work<Tag, T, Exec>::encode_addend(const codec_queue& queue, std::span<const T> in, byte_span dst,
                                              const codec_context& c, codec_work& work) noexcept
{
    if constexpr (has_homomorphic_codec<Tag, T>)
        begin_host_work<Exec>(queue, work,
                              [=] { return chunked_addends<Tag, T>::encode(in, dst, c.field(), c.between); });
}
template <class Tag, element T, class Exec>
void queued_work<Tag, T, Exec>::add(const codec_queue& queue, const frame_view& a, const frame_view& b,
                                    byte_span dst, const codec_context& c, codec_work& work) noexcept
{
    if constexpr (has_homomorphic_codec<Tag, T>)
        begin_host_work<Exec>(queue, work,
                              [=] { return chunked_addends<Tag, T>::add(a, b, dst, c.between); });
}
template <class Tag, element T, class Exec>
void queued_work<Tag, T, Exec>::encode_add(const codec_queue& queue, std::span<const T> own,
                                           const frame_view& theirs, byte_span dst, const codec_context& c,
                                           codec_work& work) noexcept
{
    if constexpr (has_homomorphic_codec<Tag, T>)
        begin_host_work<Exec>(queue, work, [=] {
            return chunked_addends<Tag, T>::encode_add(own, theirs, dst, c.field(), c.between);
        });
}
// The functions of these tables are those of queued_work alone, so that a file for which they are compiled
// elsewhere compiles no codec.
template <class Tag, element T, class Exec>
struct host_frames {
    using work = queued_work<Tag, T, Exec>;
    using chunks = chunked<Tag, T>;
    static constexpr queued_codec<T> frames{chunks::max_bytes,   work::open,
                                            work::encode,        work::decode,
                                            work::decode_reduce, work::decode_reduce_encode,
                                            chunks::step,        chunks::elements_between_polls};
};
template <class Tag, element T, class Exec>
struct host_addends : host_frames<Tag, T, Exec> {
    static constexpr queued_addends<T> addends = [] {
        using work = queued_work<Tag, T, Exec>;
        using impl = codec_impl<Tag, T, host_space>;
        queued_addends<T> all{chunked_addends<Tag, T>::max_bytes,
                              work::can_add,
                              work::encode_addend,
                              work::refuse,
                              work::add,
                              work::encode_add,
                              impl::adds_non_finite};
        if constexpr (has_addend_step<impl>) all.step = work::step;
        return all;
    }();
};

}  // namespace detail

/// The codec `Tag` for elements T in memory of `Space`: `static constexpr queued_codec<T> frames`, and
/// `queued_addends<T> addends` where the codec is homomorphic. A device header specialises it.
/// @tparam Exec  who does the work of a host codec; a device does its own
template <class Tag, class T, class Space, class Exec = policies::Exec::Serial>
struct queued_codecs {};

template <class Tag, element T, class Exec>
    requires has_codec<Tag, T>
struct queued_codecs<Tag, T, host_space, Exec> : detail::host_frames<Tag, T, Exec> {};
template <class Tag, element T, class Exec>
    requires has_homomorphic_codec<Tag, T>
struct queued_codecs<Tag, T, host_space, Exec> : detail::host_addends<Tag, T, Exec> {};

template <class Tag, class T, class Space>
concept has_queued_codec = requires { queued_codecs<Tag, T, Space>::frames; };

/// Of a codec that adds encoded streams.
template <class Tag, class T, class Space>
concept has_queued_addends =
    has_queued_codec<Tag, T, Space> && requires { queued_codecs<Tag, T, Space>::addends; };

}  // namespace ccoll
