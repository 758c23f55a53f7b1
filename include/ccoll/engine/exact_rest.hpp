// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/exact_rest.hpp - floor 3. The parts of a vector whose encoded sums cannot be held. All ranks know the same ones: where all of them
// have the whole result they find them, because whether a sum can be held does not depend on the order; otherwise they tell each other.
// They reduce these parts exactly in a second pass, as one short vector.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include <ccoll/engine/element_work.hpp>
#include <ccoll/engine/task.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The part of rank k in a vector that consists of a part of each rank.
template <element T>
part part_of_rank(const call_buffers<T>& data, std::size_t k) noexcept
{
    return data.send_parts.empty() ? part{k * data.own, data.own} : data.send_parts[k];
}

/// A vector in up to 64 sections of whole chunks, a bit for each: in so few words ranks tell each other which parts they mean. If ranks
/// have parts of the result, the vector consists of these in the order of the ranks.
template <element T>
class vector_sections {
public:
    vector_sections(const task<T>& call, std::size_t chunk) noexcept : call_(call), length_((call.data.count / (most * chunk) + 1) * chunk)
    {}

    /// The sections that have elements of `pieces` of the result of rank `me`.
    std::uint64_t of(const std::vector<part>& pieces, int me) const noexcept
    {
        std::size_t before = 0;
        if (!call_.facts.one_vector)
            for (std::size_t k = 0; k < static_cast<std::size_t>(me); ++k) before += part_of_rank(call_.data, k).count;
        std::uint64_t bits = 0;
        for (const part& each : pieces)
            for (std::size_t at = (before + each.offset) / length_ * length_; at < before + each.offset + each.count; at += length_)
                bits |= std::uint64_t{1} << at / length_;
        return bits;
    }
    /// All sections that have a bit, in order.
    std::vector<part> parts(std::uint64_t bits) const
    {
        const std::size_t n = call_.data.count;
        std::vector<part> all;
        for (std::size_t at = 0; at < n; at += length_)
            if ((bits >> at / length_ & 1) != 0) all.push_back({at, std::min(length_, n - at)});
        return all;
    }

private:
    static constexpr std::size_t most = 64;

    const task<T>& call_;
    std::size_t length_;
};

template <element T>
class exact_rest {
public:
    /// Is the second pass of a part of the vector under way?
    bool any() const noexcept { return !parts_.empty(); }

    static std::size_t elements_of(const std::vector<part>& parts) noexcept
    {
        std::size_t n = 0;
        for (const part& each : parts) n += each.count;
        return n;
    }
    std::size_t chunks_of(std::size_t step) const noexcept
    {
        std::size_t chunks = 0;
        for (const part& each : parts_) chunks += each.count / step + (each.count % step != 0);
        return chunks;
    }

    /// Begins to copy the input of the parts to one place.
    /// @param parts        where they are in the vector (as in vector_sections), in any order
    /// @param call         its input has not been overwritten in these parts
    /// @param has_result   does this rank have a result?
    /// @return             the buffers of the second pass, which live as long as `elements` and this object
    call_buffers<T> begin(std::vector<part> parts, const task<T>& call, int me, int p, bool has_result, element_work<T>& elements)
    {
        parts_ = std::move(parts);
        all_ = call.data;
        sort_parts();
        const bool cut = !call.facts.one_vector;
        const std::size_t n = elements_of(parts_), before_result = (n + part_alignment - 1) / part_alignment * part_alignment;
        T* const input = elements.room_aside(before_result + n);
        result_ = input + before_result;
        results_.clear();
        cuts_.assign(static_cast<std::size_t>(cut ? p : 1), {});
        std::size_t first = 0, at = 0;  // of a rank's part in the vector, and in the input of the second pass
        for (std::size_t k = 0; k < cuts_.size(); ++k) {
            const part from = cut ? part_of_rank(all_, k) : part{0, all_.count};
            cuts_[k].offset = at;
            for (const part& each : parts_) {
                const std::size_t begin = std::max(each.offset, first), end = std::min(each.offset + each.count, first + from.count);
                if (begin >= end) continue;
                elements.copy(all_.send + from.offset + (begin - first), input + at, end - begin);
                if (has_result && (!cut || k == static_cast<std::size_t>(me))) results_.push_back({begin - first, end - begin});
                at += end - begin;
            }
            cuts_[k].count = at - cuts_[k].offset;
            first += from.count;
        }
        call_buffers<T> rest = all_;
        rest.send = input;
        rest.recv = has_result ? input + before_result : nullptr;
        rest.count = n;
        rest.own = cuts_[cut ? static_cast<std::size_t>(me) : 0].count;
        rest.varied = cut;
        if (cut) rest.send_parts = cuts_;
        return rest;
    }
    /// Begins to copy the results to their places. @return the buffers of the call
    call_buffers<T> end(element_work<T>& elements)
    {
        parts_.clear();
        std::size_t at = 0;
        for (const part& each : results_) elements.copy(result_ + std::exchange(at, at + each.count), all_.recv + each.offset, each.count);
        return all_;
    }

private:
    /// Not std::sort, because <algorithm> costs every call 0.06 s of compiling.
    void sort_parts() noexcept
    {
        std::qsort(parts_.data(), parts_.size(), sizeof(part), [](const void* a, const void* b) {
            const std::size_t x = static_cast<const part*>(a)->offset, y = static_cast<const part*>(b)->offset;
            return x < y ? -1 : int{x > y};
        });
    }

    std::vector<part> parts_;    ///< of the vector
    std::vector<part> results_;  ///< where the results of this rank go
    std::vector<part> cuts_;     ///< the part of each rank in the second pass, if ranks have parts; otherwise one part
    call_buffers<T> all_;
    const T* result_ = nullptr;  ///< of the second pass
};

}  // namespace ccoll
