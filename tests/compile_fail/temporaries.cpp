// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Temporaries that die before a call has ended, or before it begins, or with the result; as call.cpp. Good
// are views, counts that are read at once, and what blocking calls only read.
#include <array>
#include <span>
#include <vector>

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/transport/threads.hpp>

using floats = std::vector<float>;
using ints = std::vector<int>;

namespace mine {

/// Refers to elements that live elsewhere, and says so.
struct slice {
    float* first;
    std::size_t n;
};
/// Owns them, and has the same interface.
struct field {
    floats all;
};

}  // namespace mine

template <>
struct ccoll::buffer_traits<mine::slice> {
    using space = host_space;
    static constexpr bool is_view = true;
    static float* data(mine::slice& s) { return s.first; }
    static std::size_t size(mine::slice& s) { return s.n; }
};
template <>
struct ccoll::buffer_traits<mine::field> {
    using space = host_space;
    static float* data(mine::field& f) { return f.all.data(); }
    static std::size_t size(mine::field& f) { return f.all.size(); }
};

struct rows {  // what std::mdspan looks like
    float* data_handle() const { return first; }
    std::size_t size() const { return n; }
    bool is_exhaustive() const { return true; }
    float* first;
    std::size_t n;
};

struct rows_like_kokkos {  // what Kokkos::View looks like: it does not say that it is a view
    float* data() const { return first; }
    std::size_t size() const { return n; }
    float* first;
    std::size_t n;
};

void call(floats& x, floats& y, ints& counts, ccoll::threads_comm& comm);
void call(floats& x, floats& y, [[maybe_unused]] ints& counts, ccoll::threads_comm& comm)
{
    ccoll::request later;
    ccoll::persistent often;
    // ---- good ----
    const floats& fixed = x;
    later = ccoll::iallreduce(fixed, y, comm);
    later = ccoll::iallreduce(std::span<const float>(x), std::span(y), comm);
    later = ccoll::iallreduce(mine::slice{y.data(), y.size()}, comm);
    later = ccoll::ibcast(rows{y.data(), y.size()}, 0, comm);
    later = ccoll::iallgatherv(x, y, ints(4, 5), comm);
    later = ccoll::iallgatherv(x, y, ccoll::parts(ints(4, 5), ints{0, 5, 10, 15}), comm);
    later = ccoll::isend(std::span(x).first(1), 0, 0, comm);
    often = ccoll::allgatherv_init(x, y, counts, comm);
    often = ccoll::allgatherv_init(x, y, ccoll::parts(counts, counts), comm);
    often = ccoll::allgatherv_init(x, y, std::span(counts), comm);
    ccoll::allgather(std::array<float, 1>{1}, y, comm);
    ccoll::allgatherv(floats(5), y, ints(4, 5), comm);
    ccoll::send(floats(5), 0, 0, comm);
    ccoll::send(ccoll::strided(x.data(), 2, 1, 3), 0, 0, comm);
    ccoll::allreduce(x, ccoll::strided(y.data(), 2, 1, 3), comm);
    ccoll::allreduce(x, rows_like_kokkos{y.data(), y.size()}, comm);
    ccoll::gather(x, std::span<float>(), 0, comm);
    // ---- bad ----
    // expect: ccoll: the result goes to a temporary that owns its elements, and is destroyed with it
    ccoll::allreduce(x, floats(3), comm);
    // expect: ccoll: the result goes to a temporary that owns its elements, and is destroyed with it
    ccoll::allreduce(floats(3), comm);
    // expect: ccoll: the result goes to a temporary that owns its elements, and is destroyed with it
    ccoll::reduce(x, std::move(y), 0, comm);
    // expect: ccoll: the result goes to a temporary that owns its elements, and is destroyed with it
    ccoll::bcast(mine::field{}, 0, comm);
    // expect: ccoll: the result goes to a temporary that owns its elements, and is destroyed with it
    ccoll::allgatherv(x, floats(20), counts, comm);
    // expect: ccoll: the result goes to a temporary that owns its elements, and is destroyed with it
    ccoll::alltoallv(floats(20), counts, comm);
    // expect: ccoll: the result goes to a temporary that owns its elements, and is destroyed with it
    ccoll::recv(std::array<float, 3>{}, 0, 0, comm);
    // expect: ccoll: the result goes to a temporary that owns its elements, and is destroyed with it
    ccoll::sendrecv(x, 0, floats(3), 0, 0, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    later = ccoll::iallreduce(floats(300000, 1.f), y, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    later = ccoll::iallreduce<ccoll::policies::Op::Max>(x, std::move(y), comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    often = ccoll::allreduce_init(floats(3), comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    often = ccoll::allgatherv_init(x, y, ints(4, 5), comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    often = ccoll::allgatherv_init<ccoll::policies::Algo::Bruck>(x, y, ccoll::parts(counts, ints(4)), comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    often = ccoll::scatterv_init(x, ints(4, 5), y, 0, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    often = ccoll::gatherv_init(x, y, ints(4, 5), 0, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    often = ccoll::alltoallv_init(x, counts, y, ints(4, 5), comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    often = ccoll::reduce_scatterv_init(x, y, ints(4, 5), comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    later = ccoll::ibcast(mine::field{}, 0, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    later = ccoll::igather(std::array<float, 2>{}, y, 0, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    later = ccoll::isend(floats(3), 0, 0, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    later = ccoll::irecv(floats(3), 0, 0, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    later = ccoll::isendrecv(floats(3), 0, y, 0, 0, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    later = ccoll::iallgatherv<ccoll::policies::Algo::Bruck>(floats(5), y, counts, comm);
    // expect: one of them is a temporary that owns its elements; give it a name
    constexpr ccoll::menu<ccoll::Plan<>, ccoll::policies::Algo::Ring> plans;
    later = ccoll::iallreduce(plans.at(0), floats(5), y, comm);
    // expect: ccoll: a strided view is copied together within a call, so it goes with blocking calls alone
    later = ccoll::iallreduce(ccoll::strided(x.data(), 2, 1, 3), y, comm);
    // expect: ccoll: a strided view is copied together within a call, so it goes with blocking calls alone
    later = ccoll::irecv(ccoll::strided(x.data(), 2, 1, 3), 0, 0, comm);
    (void)x;
    (void)y;
    (void)comm;
}
