// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/placement.hpp - floor 2. Where compression happens, as one small state machine per block.
//
// A block is `raw` (its elements are current) or `encoded` (its frame is current, and the elements may be out
// of date). Placements differ only in the answers to two questions:
//
//   event          forward_encoded = no      forward_encoded = yes     and reduce_encoded = yes
//   before a send  encode                    encode, unless encoded    the same
//   replace        decode, forget the frame  keep the frame            keep the frame
//   reduce         decode, combine           adopt, decode, combine    encode own and add, or add frames
//   at the end     -                         adopt                     adopt
//   placement      PerHop                    Once, DecodeReduceEncode  Homomorphic
//
// "Adopt" means that a rank decodes its own frame into its own elements. Because it does so wherever it has
// sent that frame to others, all ranks end with the same bits. Once and DecodeReduceEncode share a row: Once
// is what DecodeReduceEncode does if nothing is reduced.
#pragma once

#include <ccoll/algo/schedule.hpp>

namespace ccoll::inline CCOLL_ABI {

struct placement_rules {
    const char* name = "Once";
    bool forward_encoded = true;
    bool reduce_encoded = false;
};

inline constexpr placement_rules decode_reduce_encode{"DecodeReduceEncode", true, false};

enum class form : unsigned char { raw, encoded };

/// `Work` does what a transition asks for: on bytes in the executor, on error units in
/// plan/error_model.hpp, and on numbers of blocks in tune/cost_model.hpp. One machine serves all, so a
/// promised bound cannot differ from what the engine does.
template <class Work>
constexpr void before_send(form& now, Work& work)
{
    if (now == form::raw) work.encode();
    now = form::encoded;
}

constexpr void after_send(placement_rules rules, form& now)
{
    if (!rules.forward_encoded) now = form::raw;
}

template <class Work>
constexpr void received(placement_rules rules, form& now, on_receive action, Work& work)
{
    if (action == on_receive::replace) {
        if (rules.forward_encoded) work.keep();
        else work.decode();
        now = rules.forward_encoded ? form::encoded : form::raw;
    } else if (rules.reduce_encoded) {
        if (now == form::raw) work.encode_and_add();
        else work.add();
        now = form::encoded;
    } else {
        if (now == form::encoded) work.adopt();
        work.combine();
        now = form::raw;
    }
}

template <class Work>
constexpr void at_end(form& now, Work& work)
{
    if (now == form::encoded) work.adopt();
    now = form::raw;
}

}  // namespace ccoll
