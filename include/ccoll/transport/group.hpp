// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/group.hpp - floor 2. Some ranks of a transport as a transport of their own. To make one, no rank
// sends anything.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Rank i of the group is the rank `members[i]` of `base`. A group serves one call, with call numbers that
/// all ranks of `base` have reserved for it.
template <transport Base>
class group {
public:
    using request = typename Base::request;
    static constexpr bool spins = detail::spins<Base>, may_not_reach = detail::may_not_reach<Base>;

    /// @param members       ranks of `base`, in the same order on all of them; must outlive the group
    /// @param me            this rank's index in `members`
    /// @param first_number  the first of the reserved call numbers
    group(Base base, std::span<const int> members, int me, std::uint32_t first_number)
        : base_(std::move(base)), members_(members), me_(me), first_number_(first_number)
    {}

    int rank() const noexcept { return me_; }
    int size() const noexcept { return static_cast<int>(members_.size()); }
    status refusal() const noexcept { return base_.refusal(); }
    const char* explain() const noexcept { return base_.explain(); }
    std::uint32_t begin_call() noexcept { return base_.begin_call(); }
    std::uint32_t first_number() const noexcept { return first_number_; }
    workspace& memory() noexcept { return base_.memory(); }

    request post_send(int peer, int tag, const_byte_span data)
    {
        return base_.post_send(of(peer), tag, data);
    }
    request post_recv(int peer, int tag, byte_span target) { return base_.post_recv(of(peer), tag, target); }
    bool test(request& r) { return base_.test(r); }
    bool cancel(request& r) { return base_.cancel(r); }
    /// Ranks outside of the group do not send with the tags of its calls, so whoever is found is a member, or
    /// nobody.
    int probe(int tag)
    {
        const int found = base_.probe(tag);
        for (int i = 0; i < size(); ++i)
            if (of(i) == found) return i;
        return nobody;
    }
    void send_aside(int peer, int tag, const_byte_span data)
        requires requires(Base& base) { base.send_aside(peer, tag, data); }
    {
        base_.send_aside(of(peer), tag, data);
    }
    void leave_unread() noexcept { detail::leave_unread(base_); }
    status reach(const far_memory& memory) noexcept { return detail::reach(base_, memory); }
    void poll() { base_.poll(); }
    void idle() { base_.idle(); }
    void wake() noexcept
        requires requires(Base& base) { base.wake(); }
    {
        base_.wake();
    }
    const void* sleeper() noexcept { return detail::sleeper_of(base_); }

private:
    int of(int peer) const { return members_[static_cast<std::size_t>(peer)]; }

    Base base_;
    std::span<const int> members_;
    int me_;
    std::uint32_t first_number_;
};

}  // namespace ccoll
