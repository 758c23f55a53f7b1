// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzz target: any bytes in place of a message of a collective or of a point-to-point call, or of a fragment
// of a guarded link. What is read stays within the message, and a fragment that arrived whole, corrected or
// not, is whole when it is read again.
#include "fuzz/input.hpp"

#include <ccoll/run/message.hpp>
#include <ccoll/transport/fragment.hpp>

using ccoll::const_byte_span;
using ccoll::status;

namespace {

bool is_within(const_byte_span part, const_byte_span all)
{
    return part.empty() ||
           (part.data() >= all.data() && part.data() + part.size() <= all.data() + all.size());
}

void read_call_message(const fuzz::bytes& message, bool slices_unasked)
{
    ccoll::call_stamp ours;
    ours.call = 5;
    ours.arguments.count = 1000;
    const ccoll::detail::accepted a = ccoll::detail::accept(message, ours, slices_unasked, {1, 2, 3});
    fuzz::require(is_within(a.body, message), "the body of a message lies elsewhere");
    fuzz::require(a.why.code <= ccoll::last_status, "a verdict without a status");
    if (a.what == ccoll::detail::arrival::data) fuzz::require(a.why.ok(), "data with a verdict");
    if (a.what == ccoll::detail::arrival::trouble || a.what == ccoll::detail::arrival::other_way)
        fuzz::require(!a.why.ok(), "trouble without a verdict");
}
void read_pair_message(const fuzz::bytes& message)
{
    const ccoll::detail::pair_message m = ccoll::detail::read_pair_message(message);
    fuzz::require(is_within(m.body, message), "the body of a message lies elsewhere");
    fuzz::require(m.read == status::ok || m.read == status::corrupt || m.read == status::wire_version,
                  "a message without a status");
    if (m.read == status::ok) fuzz::require(m.stamp.number < m.stamp.total, "a message behind the last one");
}
void read_fragment(fuzz::bytes message)
{
    const std::size_t stride = ccoll::fragment_stride(message);
    fuzz::require(stride > 0 || message.empty(), "a packet whose next fragment is this one");
    const ccoll::opened_fragment f = ccoll::open_fragment(message);
    if (!f.whole) return;
    fuzz::require(f.has_header && is_within(f.body, message), "the body of a fragment lies elsewhere");
    const ccoll::opened_fragment again = ccoll::open_fragment(message);
    fuzz::require(again.whole && again.corrected == 0, "a corrected fragment is not whole");
    fuzz::require(again.body.data() == f.body.data() && again.body.size() == f.body.size(),
                  "a fragment with two bodies");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) return 0;
    const fuzz::bytes message(reinterpret_cast<const std::byte*>(data) + 1,
                              reinterpret_cast<const std::byte*>(data) + size);
    switch (data[0] & 3) {
    case 0: read_fragment(message); break;
    case 1: read_pair_message(message); break;
    default: read_call_message(message, (data[0] & 1) != 0);
    }
    return 0;
}
