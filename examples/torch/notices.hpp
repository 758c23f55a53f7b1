// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// notices.hpp - says why a call is exact in a group whose options have bounds, once for each reason, so that
// nobody believes that bytes are saved where they are not.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace ccoll_torch {

class notices {
public:
    using teller = std::function<void(const std::string&)>;
    /// Gets the sentences of all groups. It lives as long as the process: groups may outlive the interpreter.
    static teller& to()
    {
        static auto* const one = new teller;
        return *one;
    }

    explicit notices(bool wanted) : wanted_(wanted) {}

    /// @param reason  one of few; the same one is not said again for the same call
    void say(const std::string& call, const std::string& reason, const std::string& more = {})
    {
        if (!wanted_ || !to()) return;
        {
            const std::lock_guard lock(mutex_);
            if (!said_.emplace(call, reason).second) return;
        }
        to()("ccoll: " + call + " is exact in a group with bounds: " + reason + more +
             " (said once; not at all with Options(warn=False))");
    }

private:
    const bool wanted_;
    std::mutex mutex_;
    std::set<std::pair<std::string, std::string>> said_;
};

}  // namespace ccoll_torch
