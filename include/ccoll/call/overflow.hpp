// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/overflow.hpp - floor 3. A sum of encoded streams consists of integers of the codec, and may be too
// large for these. Then it is not held, and frames say so in its place. What a call does about that:
//
//   in_results    All ranks get all sums, as in an allreduce, so all of them see which parts were not held.
//                 They reduce these parts again, exactly. What they contributed is still there, in place as
//                 well, because nothing is stored where there is no sum. No rank looks at its values first.
//   in_refusals   Each rank gets other sums, and ranks have not compared their arguments. Each looks at its
//                 own values before it encodes them. If they may be too large, it refuses: all of its frames
//                 say so, and every rank sees that in its result. Ranks then compare their values, and begin
//                 again.
//   by_asking     Ranks have compared their values, which may be too large, and not all ranks would see it.
//                 They ask each other after the schedule. If a sum was not held anywhere, all is reduced
//                 again, exactly.
//
// If ranks have compared their values and these fit, there is nothing to notice.
#pragma once

#include <cstdlib>
#include <utility>
#include <vector>

#include <ccoll/run/task.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

class overflow {
public:
    /// How a run of the schedule shows that a sum was not held.
    enum class notice : unsigned char { none, in_results, in_refusals, by_asking };

    overflow() = default;
    /// @param adds  the call adds encoded streams, and does not know yet that all sums will be held
    overflow(bool adds, const collective_facts& facts)
        : possible_(adds), all_see_all_(facts.one_vector && !facts.one_way), one_way_(facts.one_way)
    {}

    bool is_possible() const { return possible_; }
    /// Encoded streams are not added after all.
    void is_excluded() { possible_ = false; }

    /// With a root, and in prefixes, some ranks hear nothing of others. They must be told, so ranks compare
    /// their arguments in any case.
    bool needs_comparison() const { return possible_ && one_way_; }
    /// Must ranks know the largest magnitude of their values before they encode them?
    bool needs_magnitude() const { return possible_ && !all_see_all_; }

    /// Ranks have compared their arguments.
    /// @param fits  the largest magnitude of all ranks, as far as it was needed, can be added
    sums compared(bool fits)
    {
        if (all_see_all_) notice_ = notice::in_results;
        else if (!fits) notice_ = notice::by_asking;
        return notice_ == notice::none ? sums::held : sums::maybe_held;
    }
    /// They do not compare them.
    sums not_compared()
    {
        notice_ = all_see_all_ ? notice::in_results : notice::in_refusals;
        return all_see_all_ ? sums::maybe_held : sums::held;
    }

    /// How the run that is due or under way shows it.
    notice shown_by_run() const { return notice_; }
    /// The run is over. The next one shows nothing, unless that is said again.
    notice after_run() { return std::exchange(notice_, notice::none); }

private:
    bool possible_ = false, all_see_all_ = false, one_way_ = false;
    notice notice_ = notice::none;
};

/// The parts of a vector whose sums were not held, on ranks that all have the whole result. They have found
/// the same ones, and reduce them exactly, one after another.
template <element T>
class parts_not_held {
public:
    parts_not_held() = default;
    /// @param found  in any order    @param all  the buffers of the call
    parts_not_held(const std::vector<part>& found, const call_buffers<T>& all) : all_(all)
    {
        std::vector<part> parts = found;
        // Not std::sort, because <algorithm> costs every call 0.06 s of compiling.
        std::qsort(parts.data(), parts.size(), sizeof(part), [](const void* a, const void* b) {
            const std::size_t x = static_cast<const part*>(a)->offset,
                              y = static_cast<const part*>(b)->offset;
            return x < y ? -1 : int{x > y};
        });
        for (const part& each : parts) {
            elements_ += each.count;
            if (!parts_.empty() && parts_.back().offset + parts_.back().count == each.offset)
                parts_.back().count += each.count;
            else parts_.push_back(each);
        }
    }

    bool began() const noexcept { return next_ > 0; }
    bool more() const noexcept { return next_ < parts_.size(); }
    std::size_t elements() const noexcept { return elements_; }
    /// Gives `to` the buffers of the next part, or of the whole call if there is none.
    bool next(call_buffers<T>& to) noexcept
    {
        if (!began() && !more()) return false;
        to = all_;
        if (!more()) return false;
        const part& one = parts_[next_++];
        to.send += one.offset;
        to.recv += one.offset;
        to.count = one.count;
        return true;
    }

private:
    std::vector<part> parts_;
    std::size_t next_ = 0, elements_ = 0;
    call_buffers<T> all_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
