// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpi_comm keeps what ccoll::check_transport looks at.
// ranks: 1 2 3
#include "check.hpp"

#include <ccoll/check_transport.hpp>
#include <ccoll/transport/mpi.hpp>

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    {
        ccoll::transport_check_options how;
        how.seconds = 60;
        // MPICH 4.0 aborts, whatever the error handler. Open MPI 4.1 writes beyond the receive within a node,
        // unless OMPI_MCA_btl_vader_single_copy_mechanism=none.
        how.truncates = false;
        const std::string said = ccoll::check_transport(ccoll::mpi_comm(MPI_COMM_WORLD), how);
        if (!said.empty()) std::fprintf(stderr, "%s\n", said.c_str());
        EXPECT(said.empty());
    }
    return check::finish();
}
