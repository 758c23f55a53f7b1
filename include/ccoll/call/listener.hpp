// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/listener.hpp - floor 3. What a call does for the history of its class (tune/history.hpp). It tells
// the other ranks what this one has measured when they compare their arguments, hears what they have
// measured, and is timed from then on.
#pragma once

#include <ccoll/tune/history.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

struct listener {
    tune::call_class* calls = nullptr;  ///< null: ranks only compare their settings
    figures mine;                       ///< what this rank will tell
    /// A hash of what else ranks must have in common: settings, and what they have heard.
    std::uint32_t common = 0;
    /// Why this rank cannot make the call; all ranks will be told that it cannot.
    const char* objection = nullptr;
    /// Becomes false if the comparison fails, so that the next call compares settings again.
    bool* has_compared = nullptr;
    double (*now_s)() = nullptr;  ///< a clock; calls that do not measure refer to none
    double scale = 1;  ///< from seconds of this call to seconds of a call of the usual size of its class

    /// Ranks have compared their arguments.
    void compared(const control_message& all)
    {
        if (calls != nullptr && all.trouble.ok()) calls->heard(all.facts.measured);
        else if (calls != nullptr) calls->forget();
        if (has_compared != nullptr && !all.trouble.ok()) *has_compared = false;
        mine = {};
        since_ = calls != nullptr && all.trouble.ok() ? now_s() : 0;
    }
    /// The call has ended on this rank.
    void ended(bool well)
    {
        if (calls == nullptr || since_ == 0) return;
        const double seconds = now_s() - std::exchange(since_, 0.0);
        mine.seconds = well ? static_cast<float>(std::max(seconds * scale, 1e-9)) : 0;
    }

private:
    double since_ = 0;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
