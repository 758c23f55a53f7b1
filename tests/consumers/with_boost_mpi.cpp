// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/containers.md: a communicator of Boost.MPI. Compiled where Boost.MPI is installed.
#include <vector>

#include <boost/mpi/communicator.hpp>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/transport/mpi.hpp>

using namespace ccoll::policies;

void once(const boost::mpi::communicator& world, std::vector<float>& field);
void always(const boost::mpi::communicator& world, std::vector<float>& field);

void once(const boost::mpi::communicator& world, std::vector<float>& field)
{
    // [doc:boost]
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, MPI_Comm(world));
    // [/doc:boost]
}

// [doc:boost_always]
template <>
struct ccoll::transport_for<boost::mpi::communicator> : ccoll::transport_for<MPI_Comm> {};
// [/doc:boost_always]

void always(const boost::mpi::communicator& world, std::vector<float>& field)
{
    // [doc:boost_call]
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, world);
    // [/doc:boost_call]
}
