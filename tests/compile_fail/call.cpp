// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad calls of a collective. Each has its sentence above it, and must give this error and no other; good
// calls must give none (cmake/expect_errors.py).
#include <list>
#include <string>
#include <system_error>
#include <vector>

#include <ccoll/allgather.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/exec.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/scan.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

struct UnknownCodec : ccoll::codec_tag<250, true> {
    static constexpr const char* name = "UnknownCodec";
};
struct UnknownAlgo : ccoll::algo_tag {
    static constexpr const char* name = "UnknownAlgo";
};

struct MayThrow : ccoll::op_tag<false> {
    static constexpr const char* name = "MayThrow";
    template <class T>
    static T apply(T a, T)
    {
        return a;
    }
};

/// A stream of a memory space that is not the host's.
struct stream_of_far_away;
struct far_away {};
template <>
struct ccoll::detail::space_of_argument<stream_of_far_away*> {
    using type = far_away;
};

struct pair_of_numbers {
    float a;
    int b;
};

struct arguments {
    std::vector<float>& x;
    std::vector<float>& y;
    const std::vector<float>& fixed;
    std::vector<double>& d;
    std::vector<int>& i;
    std::vector<int*>& addresses;
    std::vector<pair_of_numbers>& pairs;
    std::list<float>& l;
    float (&field)[10][10];
    ccoll::threads_comm& comm;
};

void call(const arguments& a);
void call(const arguments& a)
{
    [[maybe_unused]] std::error_code code;
    // ---- good ----
    ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(a.x, a.y, a.comm);
    ccoll::allreduce<ErrorBound<1>, Codec::PipeSZx>(a.fixed, a.y, a.comm, code);
    ccoll::allreduce<Codec::PipeSZx, RuntimeBound>(a.x, a.y, a.comm, 1e-3, code);
    ccoll::reduce_scatter<Placement::DecodeReduceEncode, Codec::PipeSZx, ErrorBound<1e-3>>(a.x, a.y, a.comm);
    ccoll::allgather<Placement::Once, Codec::PipeSZx, ErrorBound<1e-3>>(a.x, a.y, a.comm);
    ccoll::bcast<Algo::Binomial>(a.d, 0, a.comm);
    ccoll::allreduce<Op::BitAnd>(a.i, a.comm);
    ccoll::bcast<Codec::Lossless>(a.pairs, 0, a.comm);
    ccoll::allreduce<Codec::SZp, FixedBits<8, Block<256>>, Op::Average>(a.x, a.y, a.comm);
    ccoll::iallreduce<Timeout<5>, Algo::Hierarchical<Algo::Binomial, Algo::Ring>>(a.x, a.y, a.comm)
        .wait(code);
    // ---- bad ----
    // expect: ccoll: a buffer must be a contiguous range
    ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(a.x, a.l, a.comm);
    // expect: ccoll: a buffer must be a contiguous range
    ccoll::bcast(a.l, 0, a.comm);
    // expect: ccoll: elements must be such that they may be copied byte by byte
    ccoll::bcast(a.addresses, 0, a.comm);
    // expect: ccoll: the result buffer holds const elements, so nothing can be written to it
    ccoll::allgather(a.x, a.fixed, a.comm);
    // expect: ccoll: the elements of this buffer are arrays themselves, as in float a[10][10]
    ccoll::allreduce(a.field, a.comm);
    // expect: ccoll: the elements of this buffer are arrays themselves, as in float a[10][10]
    ccoll::allreduce(a.field, a.field, 10, a.comm);
    // expect: ccoll: the elements of this buffer are arrays themselves, as in float a[10][10]
    ccoll::reduce(a.field, a.x, 0, a.comm);
    // expect: ccoll::shaped: the extents stand in braces, as in shaped(field, {nz, ny, nx})
    ccoll::allreduce(ccoll::shaped(a.x, 10, 10), a.comm);
    // expect: ccoll: send and receive buffers must hold the same element type
    ccoll::reduce_scatter(a.d, a.y, a.comm);
    // expect: ccoll: the communicator must be an MPI_Comm
    ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(a.x, a.y, std::string("world"));
    // expect: ccoll: this codec has no host implementation for this element type
    ccoll::allreduce<UnknownCodec, ErrorBound<1e-3>>(a.x, a.y, a.comm);
    // expect: ccoll: this algorithm has no schedule for this collective
    ccoll::bcast<Algo::Ring>(a.x, 0, a.comm);
    // expect: ccoll: this algorithm has no schedule for this collective
    ccoll::gather<UnknownAlgo>(a.x, a.y, 0, a.comm);
    // expect: ccoll: Placement::Once forwards bytes and cannot reduce them
    ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>, Placement::Once>(a.x, a.y, a.comm);
    // expect: ccoll: Placement::Homomorphic needs a codec that adds encoded streams
    ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>, Placement::Homomorphic>(a.x, a.y, a.comm);
    // expect: ccoll: behind the communicator a call takes a bound
    ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(a.x, a.y, a.comm, "tight");
    // expect: ccoll: the plan says RuntimeBound; pass the bound
    ccoll::allreduce<Codec::PipeSZx, RuntimeBound>(a.x, a.y, a.comm);
    // expect: ccoll: a bound is passed but the plan does not say RuntimeBound
    ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(a.x, a.y, a.comm, 1e-3);
    // expect: ccoll: a bound is passed but the plan does not say RuntimeBound
    ccoll::reduce<Codec::PipeSZx, RuntimeBound>(a.x, a.y, 0, a.comm, 1e-3, 1e-4);
    // expect: ccoll: a buffer must be a contiguous range
    ccoll::scatter(a.l, a.y, 0, a.comm);
    // expect: ccoll: behind the communicator a call takes a bound
    ccoll::allreduce(a.x, a.y, a.comm, std::error_code());
    // expect: ccoll: this collective only moves data: it takes no Op::
    ccoll::bcast<Op::Max>(a.x, 0, a.comm);
    // expect: ccoll: this collective only moves data: it takes no Op:: and no Placement::DecodeReduceEncode
    ccoll::allgather<Placement::DecodeReduceEncode, Codec::PipeSZx, ErrorBound<1e-3>>(a.x, a.y, a.comm);
    // expect: ccoll: a lossy codec takes floating-point elements
    ccoll::allreduce<Codec::SZp, ErrorBound<1>>(a.i, a.comm);
    // expect: ccoll: a lossy codec takes floating-point elements
    ccoll::bcast<Codec::PipeSZx, ErrorBound<1>>(a.pairs, 0, a.comm);
    // expect: ccoll: the operation cannot be computed on these elements
    ccoll::allreduce(a.pairs, a.comm);
    // expect: ccoll: the operation cannot be computed on these elements
    ccoll::allreduce<Op::Average>(a.i, a.comm);
    // expect: ccoll: the operation cannot be computed on these elements
    ccoll::allreduce<Op::BitAnd>(a.x, a.y, a.comm);
    // expect: ccoll: 'apply' of the operation must be noexcept, because nothing can be thrown out of the middle of a collective; say 'static T
    ccoll::allreduce<MayThrow>(a.x, a.y, a.comm);
    // expect: ccoll: a call that is only started takes its std::error_code in wait(code)
    static_cast<void>(ccoll::iallreduce(a.x, a.y, a.comm, code));
    // expect: ccoll: this algorithm has no schedule for this collective
    ccoll::allgather<Algo::Hierarchical<Algo::Binomial, Algo::Ring>>(a.x, a.y, a.comm);
    // expect: ccoll: this algorithm has no schedule for this collective
    ccoll::allreduce<Algo::Hierarchical<Algo::Ring, Algo::Ring>>(a.x, a.y, a.comm);
    // expect: ccoll: scan and exscan have no Op::Average
    ccoll::scan<Op::Average>(a.x, a.y, a.comm);
    // expect: ccoll: a stream stands behind the communicator, and these buffers are in host memory
    ccoll::allreduce(a.x, a.y, a.comm, static_cast<stream_of_far_away*>(nullptr));
    // expect: ccoll: Missing<value> is for floating-point elements
    ccoll::allreduce<Missing<-1.0>>(a.i, a.comm);
    // expect: ccoll: this codec does not keep the values that Missing<value> names; use Codec::SZp
    ccoll::bcast<Codec::Zfp, ErrorBound<1e-3>, Missing<1e20>>(a.x, 0, a.comm);
    // expect: ccoll::FixedBits: a value takes 2 to 50 bits
    static_cast<void>(FixedBits<51>::value);
    // expect: ccoll::FixedBits with blocks: a value takes 2 to 24 bits
    static_cast<void>(FixedBits<25, Block<64>>::value);
    // expect: ccoll::Block: a block has 32, 64, 128, ... or 65536 elements
    static_cast<void>(sizeof(Block<48>));
    // expect: ccoll: FixedBits with blocks is for allreduce, reduce and reduce_scatter, with any algorithm
    ccoll::allgather<Codec::SZp, FixedBits<8, Block<64>>>(a.x, a.y, a.comm);
    // expect: ccoll: FixedBits with blocks is for allreduce, reduce and reduce_scatter, with any algorithm
    ccoll::allreduce<Codec::SZp, FixedBits<8, Block<64>>, Algo::Hierarchical<Algo::Binomial, Algo::Ring>>(
        a.x, a.y, a.comm);
    // expect: ccoll: FixedBits with blocks is for float and two-byte elements
    ccoll::allreduce<Codec::SZp, FixedBits<8, Block<64>>>(a.d, a.comm);
    // expect: ccoll: FixedBits with blocks needs sums of encoded streams
    ccoll::allreduce<Codec::PipeSZx, FixedBits<8, Block<64>>>(a.x, a.y, a.comm);
    // expect: ccoll: FixedBits with blocks needs sums of encoded streams
    ccoll::allreduce<Codec::SZp, FixedBits<8, Block<64>>, Op::Max>(a.x, a.y, a.comm);
    // expect: ccoll: FixedBits with blocks takes no Missing<>
    ccoll::allreduce<Codec::SZp, FixedBits<8, Block<64>>, Missing<-1.0>>(a.x, a.y, a.comm);
    // expect: ccoll: Exec::Threads takes 1 to 64 threads
    static_cast<void>(Exec::Threads<65>::width());
    // expect: ccoll::shaped: the buffer must outlive the view
    ccoll::allreduce(ccoll::shaped(std::vector<float>(100), {10, 10}), a.y, a.comm);
}
