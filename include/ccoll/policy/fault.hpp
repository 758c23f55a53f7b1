// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/fault.hpp - floor 1. What a call does about links that damage or lose messages.
#pragma once

#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Base of the policies of integrity. `protects`: messages are checked, acknowledged and sent again.
template <bool Protects, bool Corrects>
struct fault_tag : policy<axis::fault> {
    static constexpr bool protects = Protects, corrects = Corrects;
    static constexpr double bit_error_rate = 0;
};

namespace policies {

/// How far a call trusts its links. All ranks of a call must name the same policy.
///
/// None: the transport loses and changes nothing, as MPI promises. This policy costs nothing. With the
/// others, a call checks whatever arrives, and damaged or lost data are sent again. What cannot be repaired
/// is an error that names the link. Such a call is not passed on to MPI's own collectives. It waits 60
/// seconds for a silent rank unless the plan has a Timeout.
namespace Fault {
struct None : fault_tag<false, false> {
    static constexpr const char* name = "None";
};
/// Every fragment of 16128 bytes carries a CRC-32C.
struct Crc32c : fault_tag<true, false> {
    static constexpr const char* name = "Crc32c";
};
/// In addition, a Hamming code corrects one wrong bit in each block of data, and bursts of up to 64 bits. The
/// length of blocks follows from the expected rate of wrong bits.
template <literal BitErrorRate>
struct HammingFor : fault_tag<true, true> {
    static constexpr const char* name = "Hamming";
    static constexpr double bit_error_rate = BitErrorRate.value();
};
using Hamming = HammingFor<1e-5>;
}  // namespace Fault

}  // namespace policies
}  // namespace ccoll
