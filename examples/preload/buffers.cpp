// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "buffers.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace preload {

side::side(void* users, MPI_Datatype type, std::vector<long long> blocks, std::vector<long long> at,
           bool copies)
    : users_(users), blocks_(std::move(blocks)), at_(std::move(at))
{
    long long items = 0;
    for (const long long each : blocks_) items += each;
    if (items == 0) {  // then the type may be anything
        std::fill(at_.begin(), at_.end(), 0);
        return;
    }
    const auto signature = ccoll::detail::signature_of(type);
    const auto each = static_cast<long long>(signature.each);
    if (signature.dense && !copies) {
        for (auto* list : {&blocks_, &at_})
            for (long long& n : *list) n *= each;
        return;
    }
    copied_ = true;
    type_ = ccoll::detail::packed_items(type);
    items_ = blocks_;
    items_at_ = std::exchange(at_, {});
    long long next = 0;
    for (long long& n : blocks_) {
        n *= each;
        at_.push_back(next);
        next += n;
    }
    copy_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(items) * type_.bytes()]);
}

void side::pack()
{
    std::byte* elements = copy_.get();
    for (std::size_t i = 0; elements != nullptr && i < items_.size(); ++i)
        elements = type_.pack(users_, items_at_[i], static_cast<std::size_t>(items_[i]), elements);
}
void side::unpack()
{
    std::byte* elements = copy_.get();
    for (std::size_t i = 0; elements != nullptr && i < items_.size(); ++i)
        elements = type_.unpack(elements, users_, items_at_[i], static_cast<std::size_t>(items_[i]));
}

namespace {

std::vector<long long> copy_of(const dynamic::counts& list, int p)
{
    std::vector<long long> all(static_cast<std::size_t>(p));
    for (int i = 0; i < p; ++i) all[static_cast<std::size_t>(i)] = list[i];
    return all;
}

/// As ccoll has it: reduce_scatter is the collective of both calls of MPI.
const char* collective_name_of(what which)
{
    return which == what::reduce_scatter_block ? "reduce_scatter"
                                               : what_names[static_cast<std::size_t>(which)];
}

/// All items in a row.
side one_block(void* users, MPI_Datatype type, long long items) { return side(users, type, {items}, {0}); }

}  // namespace

buffers::buffers(const arguments& a, int me, int p)
{
    const bool replaced = in_place(a), at_root = me == a.root;
    // What ccoll does not look at is not given to it: programs may pass anything there.
    void* const send = const_cast<void*>(a.send);
    const auto list = [&](void* users, MPI_Datatype type, const dynamic::counts& n,
                          const dynamic::counts& at) {
        return side(users, type, copy_of(n, p), copy_of(at, p));
    };
    switch (a.which) {
    case what::allreduce:
    case what::reduce:
        if (!replaced) send_ = one_block(send, a.recv_type, a.recv_n);
        if (a.which == what::allreduce || at_root) recv_ = one_block(a.recv, a.recv_type, a.recv_n);
        break;
    case what::reduce_scatter:
    case what::reduce_scatter_block: {
        std::vector<long long> parts = a.recv_counts.given()
                                           ? copy_of(a.recv_counts, p)
                                           : std::vector<long long>(static_cast<std::size_t>(p), a.recv_n);
        long long whole = 0;
        for (const long long each : parts) whole += each;
        // In place ccoll works on the whole buffer, of which MPI changes no more than this rank's part.
        send_ =
            replaced ? side(a.recv, a.recv_type, {whole}, {0}, true) : one_block(send, a.recv_type, whole);
        recv_ = one_block(a.recv, a.recv_type, parts[static_cast<std::size_t>(me)]);
        const auto each = static_cast<long long>(ccoll::detail::signature_of(a.recv_type).each);
        for (long long& n : parts) n *= each;
        parts_ = std::move(parts);
        break;
    }
    case what::bcast: recv_ = one_block(a.recv, a.recv_type, a.recv_n); break;
    case what::allgather:
    case what::alltoall:
        if (!replaced) send_ = one_block(send, a.send_type, a.send_n * (a.which == what::alltoall ? p : 1));
        recv_ = one_block(a.recv, a.recv_type, a.recv_n * p);
        break;
    case what::allgatherv:
    case what::alltoallv:
        if (!replaced && a.which == what::allgatherv) send_ = one_block(send, a.send_type, a.send_n);
        else if (!replaced) send_ = list(send, a.send_type, a.send_counts, a.send_at);
        recv_ = list(a.recv, a.recv_type, a.recv_counts, a.recv_at);
        break;
    case what::gather:
    case what::gatherv:
        if (!replaced || !at_root) send_ = one_block(send, a.send_type, a.send_n);
        if (at_root && a.which == what::gather) recv_ = one_block(a.recv, a.recv_type, a.recv_n * p);
        else if (at_root) recv_ = list(a.recv, a.recv_type, a.recv_counts, a.recv_at);
        break;
    default:
        if (!replaced || !at_root) recv_ = one_block(a.recv, a.recv_type, a.recv_n);
        if (at_root && a.which == what::scatter) send_ = one_block(send, a.send_type, a.send_n * p);
        else if (at_root) send_ = list(send, a.send_type, a.send_counts, a.send_at);
        break;
    }
    // With copies the whole receive buffer is packed and unpacked where it is input as well.
    const bool as_replaced = replaced && !scatters(a.which) && a.which != what::reduce_scatter &&
                             a.which != what::reduce_scatter_block;
    packs_recv_ = a.which == what::bcast ? at_root : as_replaced;

    const auto first = [](const side& s) {
        return s.blocks().empty() ? 0 : static_cast<std::size_t>(s.blocks()[0]);
    };
    const auto lists = [](const std::vector<long long>& each) { return dynamic::counts(each.data()); };
    call_.which = *ccoll::collective_from_name(collective_name_of(a.which));
    call_.varied = a.which == what::reduce_scatter || a.which == what::allgatherv || must_ask(a.which);
    call_.root = a.root;
    call_.send = as_replaced ? MPI_IN_PLACE : send_.elements();
    call_.recv = scatters(a.which) && a.recv == MPI_IN_PLACE && at_root ? a.recv : recv_.elements();
    const auto parts = static_cast<std::size_t>(p);
    switch (a.which) {
    case what::reduce: call_.n = replaced ? first(recv_) : first(send_); break;
    case what::reduce_scatter:
    case what::reduce_scatter_block:
        call_.n = static_cast<std::size_t>(parts_[static_cast<std::size_t>(me)]);
        if (call_.varied) call_.recv_counts = lists(parts_);
        break;
    case what::allgather:
    case what::alltoall: call_.n = first(recv_) / parts; break;
    case what::gather: call_.n = at_root ? first(recv_) / parts : first(send_); break;
    case what::scatter: call_.n = at_root ? first(send_) / parts : first(recv_); break;
    case what::allgatherv:
    case what::gatherv:
        call_.n = !replaced || (gathers(a.which) && !at_root) ? first(send_)
                  : recv_.blocks().empty()
                      ? 0
                      : static_cast<std::size_t>(recv_.blocks()[static_cast<std::size_t>(me)]);
        break;
    case what::scatterv:
        call_.n = !replaced || !at_root
                      ? first(recv_)
                      : static_cast<std::size_t>(send_.blocks()[static_cast<std::size_t>(me)]);
        break;
    default: call_.n = first(recv_); break;
    }
    if (a.which == what::alltoallv || (a.which == what::scatterv && at_root)) {
        call_.send_counts = lists(send_.blocks());
        call_.send_displacements = lists(send_.at());
    }
    if (a.which == what::alltoallv || a.which == what::allgatherv || (a.which == what::gatherv && at_root)) {
        call_.recv_counts = lists(recv_.blocks());
        call_.recv_displacements = lists(recv_.at());
    }
}

void buffers::begin()
{
    send_.pack();
    if (packs_recv_) recv_.pack();
}

}  // namespace preload
