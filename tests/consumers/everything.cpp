// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All headers for the host, with engine and codecs instantiated for float and double, and calls of every
// kind: what compilers and flags of users must be able to read (cmake/build_tests.cmake). Nothing of it runs.
#include <ccoll/bucket.hpp>
#include <ccoll/ccoll.hpp>
#include <ccoll/check_codec.hpp>
#include <ccoll/check_transport.hpp>
#include <ccoll/compile_dynamic.hpp>
#include <ccoll/error_feedback.hpp>
#include <ccoll/exec.hpp>
#include <ccoll/progress.hpp>
#include <ccoll/transport/faulty.hpp>
#include <ccoll/transport/threads.hpp>
#include <ccoll/value.hpp>

#include "../../cmake/compiled/codecs_double.cpp"
#include "../../cmake/compiled/codecs_float.cpp"
#include "../../cmake/compiled/szp_double.cpp"
#include "../../cmake/compiled/szp_float.cpp"
#include "../../cmake/compiled/threads.cpp"
#include "compiled.cpp"

void rest(floats& x, floats& y, std::vector<ccoll::half>& h, ccoll::threads_comm& comm);
void rest(floats& x, floats& y, std::vector<ccoll::half>& h, ccoll::threads_comm& comm)
{
    static_assert(
        ccoll::worst_case<ccoll::collective::allreduce, Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(4) > 0);
    ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, comm);
    ccoll::allreduce<Codec::SZp, RelativeBound<1e-3>, Instrument::Breakdown>(ccoll::shaped(x, {2, 3}), y,
                                                                             comm);
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Fault::Crc32c>(x, y, comm);
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Exec::Threads<2>>(x, y, comm);
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Op::Average>(h, comm);
    ccoll::value::bcast<Codec::SZx, ErrorBound<1e-3>>(ccoll::shaped(x, {2, 3}), 0, comm);
    std::error_code code;
    ccoll::alltoall<Codec::Lossless>(x, y, comm, code);
    ccoll::error_feedback<float> feedback(x.size());
    feedback.average(x, 1e-3, comm);
    ccoll::bucket<float> bucket;
    bucket.add(x);
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(bucket, comm);
}
