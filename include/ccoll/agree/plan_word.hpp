// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// agree/plan_word.hpp - floor 3. What the plans of all ranks of a collective must have in common, in 32
// bits. That is small enough for every stamp, and still readable, so that an error can say how plans differ.
// Drawn in docs/wire_format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>

#include <ccoll/algo/collectives.hpp>
#include <ccoll/policy/element.hpp>
#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/wire/message.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// How many values the parts of a word have that are packed by multiplication: the lengths of the lists
/// below.
inline constexpr unsigned placement_count = 4, check_count = 3, bound_count = 7;
inline constexpr unsigned policies_of_word = placement_count * check_count * bound_count;
/// With these parts ten bits have room for 12 collectives. The 16 values that are left over are for those
/// with the numbers 12 to 27, whose other parts are mixed with the operation. The last one is for collectives
/// that are not the library's.
inline constexpr unsigned whole_collectives = (1u << 10) / policies_of_word;
inline constexpr unsigned first_mixed = whole_collectives * policies_of_word;
inline constexpr unsigned room_for_collectives = whole_collectives + (1u << 10) - first_mixed;
inline constexpr unsigned foreign_collective = room_for_collectives - 1;
static_assert(collective_count <= foreign_collective,
              "ccoll: the number of the last collective does not fit into a plan word; a larger word is "
              "another wire version (docs/wire_format.md)");

struct plan_word {
    unsigned codec = 0;  ///< bits 0..7: its wire id
    unsigned dtype = 0;  ///< bits 8..15: as in frames
    /// Bits 16..21: a hash of its name, and of the element size if the dtype does not imply it.
    unsigned op = 0;
    /// Bits 22..31: placement + 4 (check + 3 (bound + 7 collective)) for the first 12 collectives, or
    /// 1008 + collective - 12. These are indices of the lists below, and the number of the collective.
    unsigned placement = 0, check = 0, bound = 0, collective = 0;

    constexpr std::uint32_t packed() const
    {
        const unsigned policies = placement + placement_count * (check + check_count * bound);
        if (collective < whole_collectives)
            return codec | dtype << 8 | op << 16 | (policies + policies_of_word * collective) << 22;
        return codec | dtype << 8 | ((op + policies) & 63) << 16 |
               (first_mixed + collective - whole_collectives) << 22;
    }
    static constexpr plan_word unpacked(std::uint32_t word)
    {
        const unsigned rest = word >> 22;
        if (rest >= first_mixed)  // the operation is a mixture, and stays one if it is packed again
            return {word & 255,
                    word >> 8 & 255,
                    word >> 16 & 63,
                    0,
                    0,
                    0,
                    whole_collectives + rest - first_mixed};
        const unsigned checks = rest / placement_count, bounds = checks / check_count;
        return {word & 255,           word >> 8 & 255,      word >> 16 & 63,     rest % placement_count,
                checks % check_count, bounds % bound_count, bounds / bound_count};
    }
};

inline constexpr const char* placement_names[] = {"PerHop", "Once", "DecodeReduceEncode", "Homomorphic"};
inline constexpr const char* check_names[] = {"Auto", "Local", "Collective"};
inline constexpr const char* bound_names[] = {"no bound",
                                              "ErrorBound",
                                              "EndToEnd<ErrorBound>",
                                              "RuntimeBound",
                                              "EndToEnd<RuntimeBound>",
                                              "RelativeBound",
                                              "EndToEnd<RelativeBound>"};
inline constexpr const char* op_names[] = {"Sum",    "Average", "Min",    "Max", "Prod", "MinLoc", "MaxLoc",
                                           "BitAnd", "BitOr",   "BitXor", "And", "Or",   "Xor"};

constexpr bool alike(const char* a, const char* b)
{
    for (; *a != 0 && *a == *b; ++a, ++b) {}
    return *a == *b;
}
/// Declared alone, so that a name which is missing from its list does not compile.
unsigned not_in_the_list();
/// Its index in a list of names.
template <std::size_t Count>
constexpr unsigned index_of(const char* name, const char* const (&names)[Count])
{
    for (unsigned i = 0; i < Count; ++i)
        if (alike(name, names[i])) return i;
    return not_in_the_list();
}

/// Any odd factor will do that gives the library's operations different codes.
inline constexpr std::uint32_t op_factor = 0x9e3779b3u;

/// @param size  bytes of an element if its dtype does not imply them; otherwise 0
constexpr unsigned code_of_op(const char* name, std::size_t size = 0)
{
    return mixed(mixed(hash_seed, name), std::uint64_t{size}) * op_factor >> 26;
}
constexpr bool is_library_op(const char* name)
{
    for (const char* each : op_names)
        if (alike(each, name)) return true;
    return false;
}
constexpr bool op_codes_differ()
{
    for (std::size_t i = 0; i < std::size(op_names); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (code_of_op(op_names[i]) == code_of_op(op_names[j])) return false;
    return true;
}
static_assert(op_codes_differ());
static_assert(std::size(placement_names) == placement_count && std::size(check_names) == check_count &&
              std::size(bound_names) == bound_count);

template <class Collective>
inline constexpr unsigned number_of = [] {
    if constexpr (is_listed<Collective>) return static_cast<unsigned>(id_of<Collective>);
    else return foreign_collective;
}();

template <class Collective, class Plan, class T>
constexpr std::uint32_t plan_word_of(const char* placement)
{
    using bound = typename Plan::bound;
    // A rate promises no bound. That the codec is lossy all the same tells it from an exact one.
    const unsigned kind = bound::kind == bound_kind::none || bound::kind == bound_kind::rate ? 0
                          : bound::kind == bound_kind::relative                              ? 5
                          : bound::given_at_run_time                                         ? 3
                                                                                             : 1;
    return plan_word{Plan::codec::wire_id,
                     dtype_of<T>,
                     code_of_op(Plan::op::name, dtype_of<T> == 255 ? sizeof(T) : 0),
                     index_of(placement, placement_names),
                     index_of(Plan::check::name, check_names),
                     kind + (kind != 0 && bound::end_to_end ? 1u : 0u),
                     number_of<Collective>}
        .packed();
}

/// Six bits of a name, and a wire id that anyone may use, do not distinguish all tags of users. So their
/// names are added to the hash of the algorithm.
/// @param way  that hash
template <class Plan>
constexpr std::uint32_t with_names_of_users(std::uint32_t way)
{
    if (!is_library_codec<typename Plan::codec>) way = mixed(way, Plan::codec::name);
    if (!is_library_op(Plan::op::name)) way = mixed(way, Plan::op::name);
    return way;
}

/// A name as it stands in a sentence. Every program with a call compiles these functions, so they build it in
/// place, which is less code than sums of strings.
struct name_text {
    char text[64];
};
inline name_text text_of(const char* begin, const char* end)
{
    name_text name;
    std::snprintf(name.text, sizeof name.text, "%s%s", begin, end);
    return name;
}
inline name_text text_of(const char* begin, unsigned number, const char* end)
{
    name_text name;
    std::snprintf(name.text, sizeof name.text, "%s%u%s", begin, number, end);
    return name;
}
inline name_text name_of_op(unsigned code, const char* end)
{
    for (const char* name : op_names)
        if (code_of_op(name) == code) return text_of(text_of("Op::", name).text, end);
    return text_of("another operation", end);
}
inline name_text name_of_elements(unsigned dtype)
{
    constexpr const char* floats[] = {"float", "double", "half", "bfloat16"};
    if (dtype < 4) return text_of("", floats[dtype]);
    if (dtype >= 16 && dtype < 32) return text_of(dtype < 24 ? "int" : "uint", 8u << dtype % 8, "");
    return text_of("elements of ", dtype - 128, dtype == 255 ? " bytes or more" : " bytes");
}
inline name_text name_of_codec(unsigned id)
{
    return id < std::size(library_codecs) ? text_of("Codec::", library_codecs[id].name)
                                          : text_of("Codec::<wire id ", id, ">");
}
inline name_text name_in(std::span<const char* const> names, unsigned i, const char* begin = "")
{
    return text_of(begin, i < names.size() ? names[i] : "something else");
}
inline name_text name_of_collective(unsigned number)
{
    return text_of("", number < collective_count      ? all_collectives[number].name
                       : number == foreign_collective ? "a collective that is not the library's"
                                                      : "something else");
}

inline name_text name_of_bound(const plan_word& plan)
{
    const bool at_rate =
        plan.bound == 0 && plan.codec < std::size(library_codecs) && library_codecs[plan.codec].lossy;
    return at_rate ? text_of("", "FixedRate") : name_in(bound_names, plan.bound);
}

/// Appends "expected <mine>, found <theirs>", unless they are the same.
inline void append_difference(std::string& all, const name_text& mine, const name_text& theirs)
{
    if (alike(mine.text, theirs.text)) return;
    all += all.empty() ? "expected " : "; expected ";
    all += mine.text;
    all += ", found ";
    all += theirs.text;
}

/// The difference between two plans in words: "expected Codec::SZp, found Codec::SZx".
/// @param mine, theirs  the words of two ranks; equal words mean that the ranks run different algorithms
[[gnu::cold]] inline std::string what_differs(std::uint32_t mine, std::uint32_t theirs)
{
    const plan_word a = plan_word::unpacked(mine), b = plan_word::unpacked(theirs);
    std::string all;
    append_difference(all, name_of_collective(a.collective), name_of_collective(b.collective));
    if (!all.empty()) return all;  // then placements and operations differ anyway
    append_difference(all, name_of_codec(a.codec), name_of_codec(b.codec));
    append_difference(all, name_of_bound(a), name_of_bound(b));
    append_difference(all, name_of_elements(a.dtype), name_of_elements(b.dtype));
    append_difference(all, name_in(placement_names, a.placement, "Placement::"),
                      name_in(placement_names, b.placement, "Placement::"));
    if (a.op != b.op && a.collective >= whole_collectives) {
        all += all.empty() ? "" : "; ";
        return all + "their operations, placements, kinds of bound or checks differ";
    }
    if (a.op != b.op) {
        const name_text expected = name_of_op(a.op, "");
        const bool same = alike(expected.text, name_of_op(b.op, "").text);
        append_difference(all, expected, name_of_op(b.op, same ? " (one of them not the library's)" : ""));
    }
    append_difference(all, name_in(check_names, a.check, "Check::"),
                      name_in(check_names, b.check, "Check::"));
    if (!all.empty()) return all;
    return "their algorithms differ (Algo::, or for Algo::Hierarchical which ranks share a node), or the "
           "lengths of the tensors in a bucket";
}

}  // namespace ccoll::inline CCOLL_ABI::detail
