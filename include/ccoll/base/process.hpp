// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/process.hpp - floor 0. What means nothing in a process that was forked from the one that made it.
#pragma once

#include <memory>

#include <pthread.h>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// How many forks, since it was first asked, lie between then and this process. Cost: two loads, because
/// getpid is a call of the kernel.
inline unsigned forks_so_far() noexcept
{
    static unsigned forks = 0;  // written only while a new process has a single thread
    static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
    static_cast<void>(registered);
    return forks;
}

/// Remembers the process in which it was made.
class home {
public:
    bool is_here() const noexcept { return forks_ == forks_so_far(); }

private:
    unsigned forks_ = forks_so_far();
};

/// Destroys an object only in the process that made it. Behind a call there are messages of other ranks,
/// behind a team there are threads, and fork copies neither. A destructor that gave the call up, or waited
/// for the threads, would hang or disturb the other process.
template <class T>
struct delete_at_home {
    home made_in;
    void operator()(T* object) const noexcept
    {
        if (made_in.is_here()) delete object;
    }
};
template <class T>
using at_home = std::unique_ptr<T, delete_at_home<T>>;
/// Was the object made before a fork, in another process?
template <class T>
bool is_elsewhere(const at_home<T>& object) noexcept
{
    return object != nullptr && !object.get_deleter().made_in.is_here();
}

inline constexpr const char* forked =
    "this process was forked from the one that began it; only that one may go on, and wait";

}  // namespace ccoll::inline CCOLL_ABI::detail
