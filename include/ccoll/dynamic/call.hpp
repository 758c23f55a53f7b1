// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic/call.hpp - floor 3. A call and its plan as values (ccoll/dynamic.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ccoll/base/error.hpp>
#include <ccoll/call/buffers.hpp>
#include <ccoll/dynamic/names.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace dynamic {

/// How a call is done, as values. What is not said has the default of ccoll::Plan.
struct plan {
    algo_id algo = algo_id::Auto;
    codec_id codec = codec_id::None;
    placement_id placement = placement_id::Auto;
    bound_id kind = bound_id::ErrorBound;  ///< what `bound` is
    bool of_result = false;                ///< the bound holds for the result of the call (EndToEnd)
    double bound = 0;                      ///< 0: there is none, as with exact codecs
    std::size_t block = 0;                 ///< elements that share a scale (FixedBits); 0: all of them

    /// Reads names of an algorithm, a codec, a placement and a kind of bound, in any order, with commas
    /// between them: "Ring, SZp", or "szp, RelativeBound, EndToEnd". `number` is the bound, and without
    /// a kind an ErrorBound. "Auto" is the name of an algorithm and of a codec: write Algo::Auto or
    /// Codec::Auto.
    /// @throw ccoll::error  (bad_argument, on this rank alone) with a sentence that lists the names
    static plan from_names(std::string_view names, double number = 0);
};

/// "Ring, SZp, RelativeBound 0.001", as from_names reads it.
inline std::string text_of(const plan& how)
{
    const auto name = [](auto id) {
        const char* const known = name_of(id);
        return *known != 0 ? std::string(known) : std::to_string(static_cast<int>(id));
    };
    std::string text = how.algo == algo_id::Auto ? "Algo::Auto" : name(how.algo);
    text += how.codec == codec_id::Auto ? ", Codec::Auto" : ", " + name(how.codec);
    if (how.placement != placement_id::Auto) text += ", " + name(how.placement);
    if (how.bound == 0) return text;
    char number[32];
    std::snprintf(number, sizeof number, "%.*g", detail::digits(how.bound), how.bound);
    text += (how.of_result ? ", EndToEnd, " : ", ") + name(how.kind) + " " + number;
    return how.block == 0 ? text : text + " in blocks of " + std::to_string(how.block);
}

/// A list of counts or displacements, one for each rank (or neighbour), of any type of integers:
/// counts(pointer), or counts(pointer, size), whose size is then checked. A view.
using counts = detail::count_list;

/// A collective call. Buffers and counts mean what they mean in MPI's call of that name.
struct call {
    collective_id which = collective_id::allreduce;
    const void* send = nullptr;  ///< bcast does not use it
    void* recv = nullptr;
    /// Elements: of the vector, or of one part where ranks have a part each. With counts, of this rank's own
    /// part in calls where it is not in a list: allgatherv, gatherv, scatterv.
    std::size_t n = 0;
    element_id type = element_id::f32;
    operation_id op = operation_id::Sum;  ///< of reductions
    int root = 0;
    plan how{};
    /// One buffer serves as both: `recv`, in a scatter `send`. MPI_IN_PLACE may also be passed as an address,
    /// as in MPI.
    bool in_place = false;
    /// Where `send` and `recv` are. Lists of counts are always in memory of the host.
    memory_id memory = memory_id::host;
    /// With memory of a device: the stream (cudaStream_t) whose work comes before the call. Null: the default
    /// stream.
    const void* stream = nullptr;
    /// The variant with counts (allgatherv, ...). It must be said where a rank passes no list, as a rank does
    /// that is not the root of a gatherv.
    bool varied = false;
    /// Those of a reduce_scatterv are `recv_counts`. Displacements may be left out: parts then lie one after
    /// another.
    counts send_counts{}, send_displacements{}, recv_counts{}, recv_displacements{};

    constexpr bool has_counts() const { return varied || send_counts.given() || recv_counts.given(); }
};

inline plan plan::from_names(std::string_view names, double number)
{
    plan p;
    p.bound = number;
    bool has_algo = false, has_codec = false, has_placement = false, has_kind = false;
    const auto refuse = [](const std::string& why) {
        raise("dynamic::plan::from_names", {status::bad_argument}, why.c_str());
    };
    const auto take = [&](std::string_view name) {
        const auto quoted = "'" + std::string(name) + "'";
        const auto once = [&](bool& said, const char* what) {
            if (said) refuse(quoted + " is a second " + what);
            said = true;
        };
        const auto look_up = [&]<class Id>(std::string_view axis, Id& to, bool& said, const char* what) {
            const bool named = detail::is_same_name(name.substr(0, axis.size()), axis);
            const auto id = from_name<Id>(named ? name.substr(axis.size()) : name);
            if (!id || (!named && *id == Id::Auto)) return false;
            once(said, what);
            to = *id;
            return true;
        };
        if (look_up("Algo::", p.algo, has_algo, "algorithm")) return;
        if (look_up("Codec::", p.codec, has_codec, "codec")) return;
        if (look_up("Placement::", p.placement, has_placement, "placement")) return;
        if (detail::is_same_name(name, "EndToEnd")) {
            p.of_result = true;
        } else if (const auto of_bound = from_name<bound_id>(name)) {
            once(has_kind, "kind of bound");
            p.kind = *of_bound;
        } else if (detail::is_same_name(name, "Auto")) {
            refuse("'Auto' is the name of an algorithm and of a codec; write Algo::Auto or Codec::Auto");
        } else {
            refuse("no policy is called " + quoted + "; there are the algorithms " + all_names<algo_id>() +
                   ", the codecs " + all_names<codec_id>() + ", the placements " + all_names<placement_id>() +
                   ", and the bounds " + all_names<bound_id>() + " and EndToEnd");
        }
    };
    while (!names.empty()) {
        const std::size_t comma = names.find(',');
        std::string_view name = names.substr(0, comma);
        names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
        while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
        while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
        if (!name.empty()) take(name);
    }
    return p;
}

/// What is compiled in, in any order: types of elements, policies, and cuda_space (or a memory space of
/// yours) if buffers are also there. Each algorithm is there with each codec, bound, placement and operation,
/// as far as they go together. Of these, what is left out is Algo::Auto, Codec::None, no bound,
/// Placement::Auto and Op::Sum. Other policies, such as Check::Collective, join every plan. A bound in a call
/// is one of the menu if it is of the same kind and, if the menu names its number, the same number; so bounds
/// are RuntimeBound and the like as a rule.
template <class... Policies>
struct menu {};

}  // namespace dynamic
}  // namespace ccoll::inline CCOLL_ABI
