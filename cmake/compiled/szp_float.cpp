// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::compiled: Codec::SZp and SZe of float.
#include <ccoll/codec/sze.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/compiled.hpp>

CCOLL_INSTANTIATE_CHUNKS(SZp, float);
CCOLL_INSTANTIATE_CHUNKS(SZe, float);
