// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// measure/sample.hpp - floor 3. A sample of what a rank contributes: how many bits a codec needs for a value
// of it, and how long it takes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ccoll/base/clock.hpp>
#include <ccoll/base/extremes.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/codec/lookup.hpp>
#include <ccoll/call/promise.hpp>
#include <ccoll/space/space.hpp>
#include <ccoll/wire/message.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Elements on the host, as floats if they are narrow ones. @see user_buffers::narrow
template <element T>
struct sampled_buffer {
    const T* first = nullptr;
    std::size_t size = 0;
    const narrow_elements* narrow = nullptr;

    void copy_to(T* to, std::size_t from, std::size_t n) const
    {
        if (narrow == nullptr) {
            std::copy_n(first + from, n, to);
        } else if constexpr (std::is_same_v<T, float>) {
            codec_work done;  // at once
            narrow->widen({}, reinterpret_cast<const std::byte*>(first) + from * narrow->bytes, to, n, done);
        }
    }
};

/// Looks at a sample of the values.
/// @return bits per value, and the seconds of a value unless it is only a glance
template <element T>
using sampler = figures (*)(const sampled_buffer<T>& from, double eb, bool relative, std::uint64_t seed,
                            workspace& memory, bool glance);

/// Groups of neighbouring values.
struct sample_shape {
    std::size_t groups, of_each;
};
/// A sample of n values has 1/64 of them, and at least 16 groups of 1024. A glance has 1024 values of a whole
/// vector: the shortest calls that are measured take 5 us, and it takes less than a tenth of that.
constexpr sample_shape shape_of_sample(std::size_t n, bool glance)
{
    if (glance) return {4, 256};
    return {std::max<std::size_t>(16, n / 1024 / 64), 1024};
}
constexpr std::size_t room_of_sample(std::size_t n, bool glance = false)
{
    const sample_shape shape = shape_of_sample(n, glance);
    return std::min(n, shape.groups * shape.of_each);
}
/// The sample: one group somewhere in each of equal parts of the vector. Where, follows from a hash, because
/// a fixed stride could meet the same columns of a field again and again.
/// @return how many values were copied
template <element T>
std::size_t take_sample(const sampled_buffer<T>& from, std::uint64_t seed, T* to, bool glance = false)
{
    const std::size_t n = from.size;
    const auto [groups, of_each] = shape_of_sample(n, glance);
    if (n <= groups * of_each) {
        from.copy_to(to, 0, n);
        return n;
    }
    const std::size_t part = n / groups;
    for (std::size_t i = 0; i < groups; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const std::size_t offset = (seed >> 33) % (part - of_each + 1);
        from.copy_to(to + i * of_each, i * part + offset, of_each);
    }
    return groups * of_each;
}

/// @param eb  of one compression; if `relative`, a fraction of the range. The range of the sample is taken
///            for that, which is smaller, so that the true frames are shorter.
/// @tparam Adds  as for a sum of encoded streams: such frames have another law
template <class Codec, element T, bool Adds>
CCOLL_OPAQUE figures sampled(const sampled_buffer<T>& from, double eb, bool relative, std::uint64_t seed,
                             workspace& memory, bool glance)
{
    constexpr const auto& codec = frame_codec_of<Codec, T>;
    const std::size_t room = room_of_sample(from.size, glance);
    buffer_memory* const values = memory.take(room * sizeof(T));
    std::size_t room_of_frame = codec.max_bytes(room);
    if constexpr (Adds) room_of_frame = std::max(room_of_frame, addend_codec_of<Codec, T>.max_bytes(room));
    buffer_memory* const frame = memory.take(room_of_frame);
    T* const x = reinterpret_cast<T*>(values->bytes.get());
    const std::size_t taken = take_sample(from, seed, x, glance);
    if (relative) {
        double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
        if constexpr (floating_element<T>)
            for (std::size_t i = 0; i < taken; ++i)
                if (const auto v = static_cast<double>(static_cast<looked_at<T>>(x[i]));
                    std::abs(v) <= std::numeric_limits<double>::max()) {
                    lowest = std::min(lowest, v);
                    highest = std::max(highest, v);
                }
        eb = bound_from_range<T>(eb, lowest, highest);
    }
    figures found;
    const std::span<const T> sample(x, taken);
    const auto encode = [&] {
        const field_facts facts{Codec::lossy ? eb : 0};
        if constexpr (Adds) return addend_codec_of<Codec, T>.encode(sample, frame->room(), facts, {});
        else return codec.encode(sample, frame->room(), facts, {});
    };
    const auto per_value = [&](double all) { return static_cast<float>(all / static_cast<double>(taken)); };
    const encode_result first = taken > 0 ? encode() : encode_result{0, status::unsupported};
    if (first.code == status::ok) found.bits = per_value(8.0 * static_cast<double>(first.bytes));
    if (first.code == status::ok && !glance) {  // the second time it is not cold, as in a call
        const double begin = steady_seconds();
        const encode_result r = encode();
        const double middle = steady_seconds();
        frame_view view;
        const auto decode = [&] {
            if (codec.open(frame->room().first(r.bytes), taken, view) == status::ok)
                codec.decode(view, {x, taken}, {}, {});
        };
        decode();
        const double again = steady_seconds();
        decode();
        found.encode_s = per_value(middle - begin);
        found.decode_s = per_value(steady_seconds() - again);
    }
    memory.drop(frame);
    memory.drop(values);
    return found;
}

}  // namespace ccoll::inline CCOLL_ABI::detail
