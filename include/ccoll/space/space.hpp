// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// space/space.hpp - floor 3. A memory space as a value: all that the engine does to elements itself. The
// engine dereferences no element pointer. Only this header knows whether the host could. A device header
// specialises memory_space for its own space.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

#include <ccoll/base/error.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/base/half_kernels.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/codec/codec_queue.hpp>
#include <ccoll/policy/element.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/space/block_scale.hpp>
#include <ccoll/space/survey.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// What a user hands to the memory space of the buffers, behind the communicator: a stream of a device, for
/// example.
struct space_argument {
    const void* handle = nullptr;
    bool given = false;
};
/// The memory space that an argument behind the communicator is for; void: none. A device header says so of
/// its streams.
template <class Argument>
struct space_of_argument {
    using type = void;
};
/// One that is known as a value.
template <class Space>
struct argument_for : space_argument {};
template <class Space>
struct space_of_argument<argument_for<Space>> {
    using type = Space;
};
template <class Argument>
inline constexpr bool is_space_argument = !std::is_void_v<typename space_of_argument<Argument>::type>;

/// What the engine does to messages in memory that the host cannot read. Each buffer of such messages has
/// another one of the same length beside it in host memory. There the host writes stamps, and there it reads
/// stamps, headers and indexes, at the places that they have in the message. Payloads are never there.
struct far_messages {
    far_memory memory;  ///< for the transport
    /// Copies what the host reads to `host`: the first 96 bytes of the message, and then header and index of
    /// `frames` frames, which follow the first 48 bytes one after another. The message need not hold valid
    /// frames: nothing beyond its end is read.
    void (*fetch)(const codec_queue&, const_byte_span message, std::byte* host, int frames,
                  codec_work&) noexcept = nullptr;
    /// Copies bytes that do not overlap. Either end may be in host memory.
    void (*copy)(const codec_queue&, const_byte_span from, std::byte* to, codec_work&) noexcept = nullptr;
};

/// What the engine does to elements in one space. All work is begun on a queue and done in order, so later
/// work on a queue sees the results of earlier work.
template <element T>
struct space_operations {
    /// Working memory: in this space for elements, and for messages where both host and codec can read and
    /// write.
    /// @param of_link  the transport's own working memory, in host memory
    workspace& (*element_memory)(workspace& of_link) noexcept = nullptr;
    workspace& (*message_memory)(workspace& of_link) noexcept = nullptr;
    /// The queue of a lane.
    codec_queue (*queue)(std::size_t lane) noexcept = nullptr;
    /// Copies between buffers of this space, which may overlap.
    void (*copy)(const codec_queue&, const T* from, T* to, std::size_t n, codec_work&) noexcept = nullptr;
    /// @param by  an operation's division by the number of ranks
    void (*divide)(const codec_queue&, const reduction<T>& op, T* values, int ranks, std::size_t n,
                   codec_work&) noexcept = nullptr;
    /// @param found  must remain valid until the work is done
    void (*survey)(const codec_queue&, const T* values, std::size_t n, value_survey& found,
                   codec_work&) noexcept = nullptr;
    /// A call begins: whatever it begins on queues comes after the work that `after` stands for. May be null.
    /// @param send, recv  where the call reads and writes elements; null where it does not
    /// @return ok, or why it cannot be done there
    status (*enter)(const space_argument& after, const T* send, const T* recv) noexcept = nullptr;
    /// What the space itself says about the last failure on this thread. May be null.
    const char* (*explain)() noexcept = nullptr;
    std::size_t slice_elements = 0;  ///< of a block of a long vector in one message; 0: as for host codecs
    const far_messages* afar = nullptr;  ///< null: the host can read messages

    // Scales of blocks (FixedBits<b, Block<n>>); null where the space has none for these elements. They are
    // in its memory, in as many bytes as whole elements have. @see block_scale
    void (*find_scales)(const codec_queue&, const T* values, std::size_t n, std::size_t block,
                        std::uint8_t* scales, codec_work&) noexcept = nullptr;
    /// @param largest  gets the largest scale; it must remain valid until the work is done
    void (*divide_by_scales)(const codec_queue&, const T* from, T* to, std::size_t n, std::size_t block,
                             const std::uint8_t* scales, std::uint8_t& largest,
                             codec_work&) noexcept = nullptr;
    /// @param first  the place of from[0] in the vector
    void (*multiply_by_scales)(const codec_queue&, const T* from, T* to, std::size_t n, std::size_t first,
                               std::size_t block, const std::uint8_t* scales, block_ceiling ceiling,
                               codec_work&) noexcept = nullptr;
    reduction<T> larger_scales{};  ///< of two ranks

    /// For a call without data: messages that only say what went wrong are in host memory.
    void keep_messages_on_host() noexcept
    {
        afar = nullptr;
        message_memory = [](workspace& of_link) noexcept -> workspace& { return of_link; };
    }
};

/// Elements of two bytes that a call works with as floats, because their sums would not fit into two bytes
/// (Op::Average). What the space of the buffers does to them is begun as in space_operations.
struct narrow_elements {
    std::size_t bytes = 0;   ///< of each
    std::uint8_t dtype = 0;  ///< @see dtype_of
    double greatest = 0;     ///< finite number
    void (*widen)(const codec_queue&, const void* from, float* to, std::size_t n,
                  codec_work&) noexcept = nullptr;
    /// Rounds to nearest, ties to even; what is too large becomes an infinity.
    void (*narrow)(const codec_queue&, const float* from, void* to, std::size_t n,
                   codec_work&) noexcept = nullptr;
    /// As in space_operations. A number may be a fill value in two bytes and not as a float.
    void (*survey)(const codec_queue&, const void* values, std::size_t n, value_survey& found,
                   codec_work&) noexcept = nullptr;
    /// May sums of them be too large for float as well, so that exact averages are those of shares
    /// (parts_of_share)?
    bool in_shares = false;
    /// In memory of the host: what two_byte_elements says, chunk by chunk; else null.
    void (*widen_now)(const void* from, std::size_t at, float* to, std::size_t n) noexcept = nullptr;
    void (*round_now)(const float* from, void* to, std::size_t at, std::size_t n) noexcept = nullptr;
};

/// The words of a memory space for trouble that this rank had with it.
template <element T>
const char* words_of(const space_operations<T>& space, const verdict& v, int me) noexcept
{
    return v.code == status::device_failed && v.rank == me && space.explain != nullptr ? space.explain() : "";
}

/// The queue of one of `lanes` lanes. A single lane has no work that several threads could do at once.
/// @param threads  queues of host codecs on several threads; null if the plan asks for none
template <element T>
codec_queue queue_of_lane(const space_operations<T>& space, codec_queue (*threads)(std::size_t lane) noexcept,
                          std::size_t lane, std::size_t lanes) noexcept
{
    return threads != nullptr && lanes > 1 ? threads(lane) : space.queue(lane);
}

/// Specialise it for a space of yours: `static constexpr space_operations<T> operations`. For elements of two
/// bytes it may also have the functions widen and narrow of narrow_elements, with T in place of void.
/// Op::Average then works with floats, as it does on the host.
template <class Space, class T>
struct memory_space;

template <element T>
struct memory_space<host_space, T> {
    static workspace& memory(workspace& of_link) noexcept { return of_link; }
    static codec_queue no_queue(std::size_t) noexcept { return {}; }
    static void copy(const codec_queue& queue, const T* from, T* to, std::size_t n, codec_work& work) noexcept
    {
        begin_work(queue, work, [=] {
            if (n > 0) std::memmove(static_cast<void*>(to), from, n * sizeof(T));
            return encode_result{};
        });
    }
    static void divide(const codec_queue& queue, const reduction<T>& op, T* values, int ranks, std::size_t n,
                       codec_work& work) noexcept
    {
        begin_work(queue, work, [=] {
            op.divide(values, ranks, n);
            return encode_result{};
        });
    }
    static void survey(const codec_queue& queue, const T* values, std::size_t n, value_survey& found,
                       codec_work& work) noexcept
    {
        begin_work(queue, work, [=, to = &found] {
            look_at(values, n, *to);
            return encode_result{};
        });
    }
    static void widen(const codec_queue& queue, const T* from, float* to, std::size_t n,
                      codec_work& work) noexcept
        requires small_float<T>
    {
        begin_work(queue, work, [=] {
            two_byte::wideners<T>(from, to, n);
            return encode_result{};
        });
    }
    static void narrow(const codec_queue& queue, const float* from, T* to, std::size_t n,
                       codec_work& work) noexcept
        requires small_float<T>
    {
        begin_work(queue, work, [=] {
            two_byte::rounders<T>(from, to, n);
            return encode_result{};
        });
    }
    static void find_scales(const codec_queue& queue, const T* values, std::size_t n, std::size_t block,
                            std::uint8_t* scales, codec_work& work) noexcept
        requires scaled_element<T>
    {
        begin_work(queue, work, [=] {
            detail::find_block_scales(values, n, block, scales);
            return encode_result{};
        });
    }
    static void divide_by_scales(const codec_queue& queue, const T* from, T* to, std::size_t n,
                                 std::size_t block, const std::uint8_t* scales, std::uint8_t& largest,
                                 codec_work& work) noexcept
        requires scaled_element<T>
    {
        begin_work(queue, work, [=, most = &largest] {
            *most = detail::divide_blocks(from, to, n, block, scales);
            return encode_result{};
        });
    }
    static void multiply_by_scales(const codec_queue& queue, const T* from, T* to, std::size_t n,
                                   std::size_t first, std::size_t block, const std::uint8_t* scales,
                                   block_ceiling ceiling, codec_work& work) noexcept
        requires scaled_element<T>
    {
        begin_work(queue, work, [=] {
            detail::multiply_blocks(from, to, n, first, block, scales, ceiling);
            return encode_result{};
        });
    }
    static constexpr space_operations<T> operations = [] {
        space_operations<T> all{&memory, &memory, &no_queue, &copy, &divide, &survey};
        if constexpr (scaled_element<T>) {
            all.find_scales = &find_scales;
            all.divide_by_scales = &divide_by_scales;
            all.multiply_by_scales = &multiply_by_scales;
            all.larger_scales.combine = &detail::larger_scales<T>;
        }
        return all;
    }();
};

template <class Space, class T>
concept can_widen = small_float<T> && requires {
    &memory_space<Space, T>::widen;
    &memory_space<Space, T>::narrow;
};

template <small_float T>
void widen_elements(const void* from, std::size_t at, float* to, std::size_t n) noexcept
{
    two_byte::wideners<T>(static_cast<const T*>(from) + at, to, n);
}
template <small_float T>
void round_elements(const float* from, void* to, std::size_t at, std::size_t n) noexcept
{
    two_byte::rounders<T>(from, static_cast<T*>(to) + at, n);
}

template <class Space, small_float T>
    requires can_widen<Space, T>
inline constexpr narrow_elements narrow_elements_of{
    sizeof(T),
    dtype_of<T>,
    greatest_number<T>,
    [](const codec_queue& queue, const void* from, float* to, std::size_t n, codec_work& work) noexcept {
        memory_space<Space, T>::widen(queue, static_cast<const T*>(from), to, n, work);
    },
    [](const codec_queue& queue, const float* from, void* to, std::size_t n, codec_work& work) noexcept {
        memory_space<Space, T>::narrow(queue, from, static_cast<T*>(to), n, work);
    },
    [](const codec_queue& queue, const void* values, std::size_t n, value_survey& found,
       codec_work& work) noexcept {
        memory_space<Space, T>::operations.survey(queue, static_cast<const T*>(values), n, found, work);
    },
    exponent_bits_of<T> == 8,
    std::is_same_v<Space, host_space> ? &widen_elements<T> : nullptr,
    std::is_same_v<Space, host_space> ? &round_elements<T> : nullptr};

/// The space with the elements of `Space` whose messages are there, too (Transport::Direct). A device header
/// specialises memory_space and queued_codecs for it.
template <class Space>
struct direct {};

/// May buffers of this space be passed to a collective?
template <class Space, class T>
concept has_memory_space = requires { memory_space<Space, T>::operations; };

/// An operation of a reduction that the space itself can do, if it says which these are.
template <class Space, class T, class Op>
inline constexpr bool reduces_in_space = true;
template <class Space, class T, class Op>
    requires requires { memory_space<Space, T>::template operation_of<Op>; }
inline constexpr bool reduces_in_space<Space, T, Op> =
    memory_space<Space, T>::template operation_of<Op> != nullptr;

}  // namespace ccoll::inline CCOLL_ABI::detail
