// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// space/space.hpp - floor 3. A memory space as a value: all that the engine does to elements itself. The
// engine dereferences no element pointer. Only this header knows whether the host could. A device header
// specialises memory_space for its own space.
#pragma once

#include <bit>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/numbers.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/codec/codec_queue.hpp>
#include <ccoll/policy/element.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A question about some values, and what was found in the values seen so far.
struct value_survey {
    bool range = false;              ///< asks for lowest and highest, in which fill values do not count
    bool magnitude = false;          ///< asks for largest
    bool counts_non_finite = false;  ///< Inf and NaN are larger than all others; otherwise they do not count
    double lowest = std::numeric_limits<double>::infinity();  ///< of the values that count; above `highest`
                                                              ///< when there are none
    double highest = -std::numeric_limits<double>::infinity();
    double largest = 0;          ///< |x|
    missing_value missing = {};  ///< does not count
};

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

/// The type in which values of T are examined.
template <floating_element T>
using looked_at = std::conditional_t<native_float<T>, T, float>;

CCOLL_EXACT_BEGIN

/// From here on a number may stand for missing data.
inline constexpr double least_fill_value = 1e15;

/// Does a finite number, by the conventions of data formats and their users, say that there is no value? Such
/// numbers are, with either sign, d x 10^k for one digit d and k >= 15 (1e20, 1e35, -9e33), 0x1.Ep+122
/// (NetCDF's 9.96921e36), and the largest float and double. A number may differ from these by its rounding to
/// float, or to its own type if that is shorter. No other number is left out of a range, so real data are
/// kept in it, whatever their unit. A number that is left out by mistake makes bounds tighter, never wider.
/// @param rounding  relative
inline bool is_fill_value(double x, double rounding) noexcept
{
    CCOLL_EXACT_BODY
    const double m = std::abs(x);
    const auto is = [=](double fill) { return std::abs(m - fill) <= rounding * fill; };
    if (!(m >= least_fill_value * (1 - rounding))) return false;
    if (is(0x1.Ep+122) || is(std::numeric_limits<float>::max()) || m == std::numeric_limits<double>::max())
        return true;
    double power = least_fill_value;
    while (m >= 9.5 * power)
        power *= 10;  // its error, up to 300 roundings to double, is far less than `rounding`
    return is(rounded(rounded_down(m / power + 0.5) * power));
}

/// How much a fill value may differ from the number that was written, relative to it.
template <floating_element T>
inline constexpr double fill_rounding =
    std::max(0x1.001p-24, static_cast<double>(std::numeric_limits<looked_at<T>>::epsilon()) *
                              (sizeof(T) < sizeof(looked_at<T>) ? 0x1.001p+15 : 0x1p-1));

/// Finds the lowest and highest of the values without NaN, infinities and fill values.
template <floating_element T>
void widen_range(const T* values, std::size_t n, value_survey& found)
{
    CCOLL_EXACT_BODY
    using real = looked_at<T>;
    constexpr real most = std::numeric_limits<real>::max();
    constexpr real limit = static_cast<real>(least_fill_value * 0.99);  // less the rounding of the type, half
                                                                        // and bfloat16 included
    real low = most, high = std::numeric_limits<real>::lowest();
    real top = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto x = static_cast<real>(to_number(values[i])), m = std::abs(x);
        low = m < limit && x < low ? x : low;
        high = m < limit && x > high ? x : high;
        top = m > top ? m : top;
    }
    if (top >= limit) {
        real last_fill = 0;  // seldom another one
        for (std::size_t i = 0; i < n; ++i) {
            const auto x = static_cast<real>(to_number(values[i])), m = std::abs(x);
            if (!(m >= limit && m <= most) || x == last_fill) continue;
            if (is_fill_value(static_cast<double>(x), fill_rounding<T>)) {
                last_fill = x;
                continue;
            }
            low = std::min(low, x);
            high = std::max(high, x);
        }
    }
    if (low <= high) {
        found.lowest = std::min(found.lowest, static_cast<double>(low));
        found.highest = std::max(found.highest, static_cast<double>(high));
    }
}

/// Largest |x|. Inf and NaN do not count, or are larger than all.
template <floating_element T>
double largest_magnitude(const T* values, std::size_t n, bool counts_non_finite)
{
    using fields = fields_of<looked_at<T>>;
    constexpr auto infinite = static_cast<typename fields::signed_word>(fields::exponent);
    const auto magnitude = [&](std::size_t i) {
        return fields::signed_magnitude(static_cast<looked_at<T>>(to_number(values[i])));
    };
    typename fields::signed_word largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = magnitude(i) > largest ? magnitude(i) : largest;
    if (largest >= infinite) {
        if (counts_non_finite) return std::numeric_limits<double>::infinity();
        largest = 0;
        for (std::size_t i = 0; i < n; ++i)
            if (magnitude(i) > largest && magnitude(i) < infinite) largest = magnitude(i);
    }
    return static_cast<double>(std::bit_cast<looked_at<T>>(static_cast<typename fields::word>(largest)));
}

CCOLL_EXACT_END

CCOLL_EXACT_BEGIN  // for its optimisation

template <small_float T>
void to_floats(const T* from, float* to, std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        to[i] = float16_format<exponent_bits_of<T>>::to_float(std::bit_cast<std::uint16_t>(from[i]));
}
template <small_float T>
void from_floats(const float* from, T* to, std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        to[i] = std::bit_cast<T>(float16_format<exponent_bits_of<T>>::from_float(from[i]));
}

CCOLL_EXACT_END

template <floating_element T>
void look_at_present(const T* values, std::size_t n, value_survey& found) noexcept
{
    if (found.range) widen_range(values, n, found);
    if (found.magnitude)
        found.largest = std::max(found.largest, largest_magnitude(values, n, found.counts_non_finite));
}

/// Adds `n` values to what has been found. On the host; a device has a reduction of its own. Elements that
/// are no floats are not looked at.
template <element T>
void look_at([[maybe_unused]] const T* values, [[maybe_unused]] std::size_t n,
             [[maybe_unused]] value_survey& found) noexcept
{
    if constexpr (floating_element<T>) {
        if (!found.missing.declared) return detail::look_at_present(values, n, found);
        constexpr std::size_t most = 512;
        T present[most];
        for (std::size_t from = 0; from < n;) {
            std::size_t some = 0;
            for (; from < n && some < most; ++from)
                if (!detail::is_missing(values[from], found.missing)) present[some++] = values[from];
            detail::look_at_present(present, some, found);
        }
    }
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
            detail::to_floats(from, to, n);
            return encode_result{};
        });
    }
    static void narrow(const codec_queue& queue, const float* from, T* to, std::size_t n,
                       codec_work& work) noexcept
        requires small_float<T>
    {
        begin_work(queue, work, [=] {
            detail::from_floats(from, to, n);
            return encode_result{};
        });
    }
    static constexpr space_operations<T> operations{&memory, &memory, &no_queue, &copy, &divide, &survey};
};

template <class Space, class T>
concept can_widen = small_float<T> && requires {
    &memory_space<Space, T>::widen;
    &memory_space<Space, T>::narrow;
};

template <class Space, small_float T>
    requires can_widen<Space, T>
inline constexpr narrow_elements narrow_elements_of{
    sizeof(T), dtype_of<T>,
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
    // A space elsewhere divides by functions of its own.
    exponent_bits_of<T> == 8 && std::is_same_v<Space, host_space>};

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
