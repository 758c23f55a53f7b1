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

/// What a call trusts its links with. All ranks of a call say the same.
///
/// None: the transport loses and changes nothing, as MPI promises. It costs nothing. The other policies check whatever arrives, and send
/// again what was damaged or lost. What cannot be repaired is an error that names the link. A call with them is not handed over to MPI's
/// own collectives. It waits 60 seconds for a silent rank unless a Timeout says something else.
namespace Fault {
struct None : fault_tag<false, false> {
    static constexpr const char* name = "None";
};
/// Every fragment of 16 KiB carries a CRC-32C.
struct Crc32c : fault_tag<true, false> {
    static constexpr const char* name = "Crc32c";
};
/// In addition a Hamming code corrects one wrong bit in each block of data, and bursts of up to 64 bits. The length of blocks follows from
/// the rate of wrong bits that is expected.
template <literal BitErrorRate>
struct HammingFor : fault_tag<true, true> {
    static constexpr const char* name = "Hamming";
    static constexpr double bit_error_rate = BitErrorRate.value();
};
using Hamming = HammingFor<1e-5>;
}  // namespace Fault

}  // namespace policies
}  // namespace ccoll
