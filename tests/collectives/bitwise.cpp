// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The codecs of the bit-level papers in collectives: data that move, and reductions of which each hop decodes and encodes.
#include "worlds.hpp"

using namespace ccoll::policies;
using namespace worlds;

TEMPLATE_PRODUCT_TEST_CASE("Collectives hold the bounds of ByteZip, BitZip, BitWise and BitCut", "[allreduce][reduce][allgather][bcast]",
                           std::pair,
                           ((Codec::ByteZip, float), (Codec::ByteZip, double), (Codec::BitZip, float), (Codec::BitZip, double),
                            (Codec::BitWise, float), (Codec::BitCut, double)))
{
    using C = typename TestType::first_type;
    using T = typename TestType::second_type;
    matrix<worlds::allgather, T, C, ErrorBound<1e-3>>(oracle::op::sum, {"Ring", C::name, "Once"});
    matrix<worlds::bcast, T, C, ErrorBound<1e-3>>(oracle::op::sum, {"Binomial", C::name, "Once"});
    matrix<worlds::reduce, T, C, ErrorBound<1e-3>, Placement::PerHop>(oracle::op::sum, {"Binomial", C::name, "PerHop"});
    matrix<worlds::all_reduce, T, C, ErrorBound<1e-3>>(oracle::op::sum, {"Ring", C::name, "DecodeReduceEncode"});
}
