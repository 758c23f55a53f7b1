// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic/typed_packed.hpp - floor 3. Calls with types of MPI whose elements do not lie one after another.
// Whether a rank's type has gaps is its own affair, so it must take part in the call of the others: with
// copies of its buffers, packed before and unpacked after it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/wait/request.hpp>
#include <ccoll/plan/rules.hpp>
#include <ccoll/run/task.hpp>
#include <ccoll/dynamic/packed_items.hpp>
#include <ccoll/dynamic/typed_operands.hpp>
#include <ccoll/transport/mpi_calls.hpp>

namespace ccoll::inline CCOLL_ABI::detail::typed {

/// One buffer of the user, and its elements in a row.
struct packed_copy {
    void* users = nullptr;
    /// Items of the type that are read from it before the call, and written to it after the call.
    std::size_t packed = 0, unpacked = 0;
    std::unique_ptr<std::byte[]> elements{};
};

/// The buffers of one call. Cost: memory for the elements that this rank gives and takes, and a copy of each.
/// The type may be freed at once, as in MPI.
class packed_buffers {
public:
    packed_buffers(const operands& a, const mpi_signature& signature, const collective_facts& facts,
                   marked_buffer marked)
        : in_elements_(a), items_(a.type.mpi())
    {
        int me = 0, p = 1;
        if (a.comm != MPI_COMM_NULL) {
            CCOLL_MPI(Comm_rank)(a.comm, &me);
            CCOLL_MPI(Comm_size)(a.comm, &p);
        }
        in_elements_.n = a.n * signature.each;
        // If there is no such root, the call ends before it looks at its buffers.
        const bool root_exists = a.root >= 0 && a.root < p;
        const int blocks = facts.one_vector ? 1 : p;
        const bool gives = root_exists && facts.before(me, a.root, blocks).count > 0;
        const bool takes = root_exists && facts.after(me, a.root, blocks).count > 0;
        const std::size_t whole = facts.one_vector ? a.n : a.n * static_cast<std::size_t>(p);
        const auto items = [&](extent of) { return of == extent::whole ? whole : a.n; };
        const bool one_buffer =
            marked == marked_buffer::none || (marked == marked_buffer::send && is_marker(a.send));
        if (gives && !one_buffer) copy(send_, in_elements_.send, items(facts.send), 0);
        // The call refuses such a buffer, which may be shorter than what would be packed.
        const bool refused = one_buffer && facts.rooted && !facts.one_vector && me != a.root;
        if (one_buffer && !refused)
            copy(recv_, in_elements_.recv, gives ? whole : 0, takes ? items(facts.recv) : 0);
        if (!one_buffer && takes) copy(recv_, in_elements_.recv, 0, items(facts.recv));
        if (marked == marked_buffer::none) in_elements_.send = in_elements_.recv;
    }
    packed_buffers(const packed_buffers&) = delete;
    packed_buffers& operator=(const packed_buffers&) = delete;

    /// The same call on the copies.
    const operands& in_elements() const { return in_elements_; }

    void pack()
    {
        for (const packed_copy* each : {&send_, &recv_})
            items_.pack(each->users, 0, each->packed, each->elements.get());
    }
    void unpack() { items_.unpack(recv_.elements.get(), recv_.users, 0, recv_.unpacked); }

private:
    /// @param address  the user's; afterwards that of the copy. It stays as it is where there is no buffer,
    ///                 which the call then reports. It is null without memory for the copy, and the call
    ///                 reports that, too, so that no rank waits for this one.
    template <class Address>
    void copy(packed_copy& to, Address& address, std::size_t packed, std::size_t unpacked)
    {
        MPI_Count lowest = 0, used = 0;
        CCOLL_MPI(Type_get_true_extent_x)(items_.type(), &lowest, &used);
        const bool absolute = address == MPI_BOTTOM && lowest != 0;  // such a type has addresses of its own
        if (is_no_memory(address) && !absolute) return;
        const std::size_t n = std::max(packed, unpacked);
        to = {const_cast<void*>(static_cast<const void*>(address)), packed, unpacked,
              std::unique_ptr<std::byte[]>(new (std::nothrow)
                                               std::byte[std::max<std::size_t>(1, n * items_.bytes())])};
        if (to.elements == nullptr) to = {};
        address = to.elements.get();
    }

    operands in_elements_;
    packed_items items_;
    packed_copy send_, recv_;
};

/// A call on copies that has begun. The result is unpacked when it has ended.
class packed_call final : public pending_call {
public:
    packed_call(packed_buffers& copies, pending_call& call) : copies_(copies), call_(call) { call_.leave(); }
    packed_call(std::unique_ptr<packed_buffers> copies, std::unique_ptr<pending_call> call)
        : own_copies_(std::move(copies)), own_call_(std::move(call)), copies_(*own_copies_), call_(*own_call_)
    {
        call_.leave();
    }

    bool advance() override
    {
        if (ended_) return true;
        if (!call_.progress()) return false;
        ended_ = true;
        if (call_.result().trouble.ok()) copies_.unpack();
        return true;
    }
    bool moved() const override { return call_.moved(); }
    void idle() override { call_.idle(); }
    resting_place rest() override { return call_.rest(); }
    void abandon() override { call_.abandon(); }
    void give_up(const verdict& why) override { call_.give_up(why); }
    const outcome& result() const override { return call_.result(); }
    const char* name() const override { return call_.name(); }
    bool may_change_thread() const override { return call_.may_change_thread(); }

private:
    std::unique_ptr<packed_buffers> own_copies_;
    std::unique_ptr<pending_call> own_call_;
    packed_buffers& copies_;
    pending_call& call_;
    bool ended_ = false;
};

class prepared_packed_call final : public prepared_call {
public:
    prepared_packed_call(std::unique_ptr<packed_buffers> copies, std::unique_ptr<prepared_call> call)
        : copies_(std::move(copies)), prepared_(std::move(call))
    {}
    pending_call& start() override
    {
        copies_->pack();
        return call_.emplace(*copies_, prepared_->start());
    }
    pending_call& current() override { return *call_; }

private:
    std::unique_ptr<packed_buffers> copies_;
    std::unique_ptr<prepared_call> prepared_;
    std::optional<packed_call> call_;
};

/// Runs `ours(operands)`, a call of ours in one of the three ways, on copies.
template <class How, class Collective, class Ours>
typename How::result on_copies(const operands& a, const mpi_signature& signature, Ours ours)
{
    auto copies =
        std::make_unique<packed_buffers>(a, signature, facts_of<Collective>, takes_marker<Collective>);
    if constexpr (How::begins_later) {
        persistent call = ours(copies->in_elements());
        return persistent(std::make_unique<prepared_packed_call>(std::move(copies), call.release()));
    } else {
        copies->pack();
        typename How::result result = ours(copies->in_elements());
        if constexpr (How::outlives_arguments) {
            auto call = std::make_unique<packed_call>(std::move(copies), result.release());
            if (!call->progress()) call->join();
            return request(std::move(call));
        } else {
            if (result.trouble.ok()) copies->unpack();
            return result;
        }
    }
}

}  // namespace ccoll::inline CCOLL_ABI::detail::typed
