// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic/names.hpp - floor 3. Element types, operations, algorithms, codecs and placements as values, with
// stable numbers and with the names that reports show. The tags (policy/tags.hpp, policy/reduce_op.hpp) are
// the same things as types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <ccoll/algo/collectives.hpp>
#include <ccoll/policy/element.hpp>
#include <ccoll/policy/menu.hpp>
#include <ccoll/tune/text.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace dynamic {

/// The type of elements. The numbers are those of frames (dtype_of), and of complex numbers 64 more than of
/// their parts.
enum class element_id : std::uint8_t {
    f32 = 0,
    f64 = 1,
    f16 = 2,
    bf16 = 3,
    i8 = 16,
    i16 = 17,
    i32 = 18,
    i64 = 19,
    u8 = 24,
    u16 = 25,
    u32 = 26,
    u64 = 27,
    complex_f32 = 64,
    complex_f64 = 65
};

// The values below are named as the tags are. One of yours has a number from 128 on: that of its frames, if
// it is a codec, and otherwise what its tag says, as in `static constexpr std::uint8_t number = 128`.
#define CCOLL_EACH_OPERATION_ID(ID) \
    ID(Sum) ID(Average) ID(Min) ID(Max) ID(Prod) ID(BitAnd) ID(BitOr) ID(BitXor) ID(And) ID(Or) ID(Xor)
#define CCOLL_EACH_ALGO_ID(ID) \
    ID(Auto)                   \
    ID(Ring)                   \
    ID(RecursiveDoubling)      \
    ID(Rabenseifner) ID(Binomial) ID(ScatterAllgather) ID(Chain) ID(Linear) ID(Bruck) ID(Pairwise) ID(Spread)
#define CCOLL_EACH_CODEC_ID(ID) \
    ID(None)                    \
    ID(SZx)                     \
    ID(PipeSZx) ID(SZp) ID(Lossless) ID(BitZip) ID(BitWise) ID(ByteZip) ID(BitCut) ID(Zfp) ID(SZe) ID(Auto)
#define CCOLL_EACH_PLACEMENT_ID(ID) ID(Auto) ID(PerHop) ID(Once) ID(DecodeReduceEncode) ID(Homomorphic)

#define CCOLL_ID(tag) tag,
/// The operations of policies::Op that are computed on numbers.
enum class operation_id : std::uint8_t { CCOLL_EACH_OPERATION_ID(CCOLL_ID) };
/// Those of policies::Algo.
enum class algo_id : std::uint8_t { CCOLL_EACH_ALGO_ID(CCOLL_ID) };
/// Those of policies::Placement.
enum class placement_id : std::uint8_t { CCOLL_EACH_PLACEMENT_ID(CCOLL_ID) };
#undef CCOLL_ID
#define CCOLL_ID(tag) tag = policies::Codec::tag::wire_id,
/// Those of policies::Codec. The numbers are those of frames. BitMask is the one with any codec within it.
enum class codec_id : std::uint8_t { CCOLL_EACH_CODEC_ID(CCOLL_ID) BitMask = 10 };
#undef CCOLL_ID

/// Where buffers are: of the spaces of base/memory.hpp. One of yours has a number from 128 on, as in `static
/// constexpr std::uint8_t memory_number = 128`.
enum class memory_id : std::uint8_t { host, cuda };

/// What the number of a bound is: absolute, a part of the range, or bits per value (FixedBits, FixedRate).
enum class bound_id : std::uint8_t { ErrorBound, RelativeBound, FixedBits, FixedRate };

/// A value and its name.
template <class Id>
struct name_line {
    Id id;
    const char* name;
};

}  // namespace dynamic

namespace detail {

template <class Id>
struct names_of;
template <>
struct names_of<dynamic::element_id> {
    static constexpr dynamic::name_line<dynamic::element_id> lines[] = {
        {dynamic::element_id::f32, "float"},
        {dynamic::element_id::f64, "double"},
        {dynamic::element_id::f16, "half"},
        {dynamic::element_id::bf16, "bfloat16"},
        {dynamic::element_id::i8, "int8"},
        {dynamic::element_id::i16, "int16"},
        {dynamic::element_id::i32, "int32"},
        {dynamic::element_id::i64, "int64"},
        {dynamic::element_id::u8, "uint8"},
        {dynamic::element_id::u16, "uint16"},
        {dynamic::element_id::u32, "uint32"},
        {dynamic::element_id::u64, "uint64"},
        {dynamic::element_id::complex_f32, "complex_float"},
        {dynamic::element_id::complex_f64, "complex_double"}};
};

template <>
struct names_of<dynamic::operation_id> {
    using id = dynamic::operation_id;
#define CCOLL_ID(tag) {id::tag, policies::Op::tag::name},
    static constexpr dynamic::name_line<id> lines[] = {CCOLL_EACH_OPERATION_ID(CCOLL_ID)};
#undef CCOLL_ID
};
template <>
struct names_of<dynamic::algo_id> {
    using id = dynamic::algo_id;
#define CCOLL_ID(tag) {id::tag, policies::Algo::tag::name},
    static constexpr dynamic::name_line<id> lines[] = {CCOLL_EACH_ALGO_ID(CCOLL_ID)};
#undef CCOLL_ID
};
template <>
struct names_of<dynamic::placement_id> {
    using id = dynamic::placement_id;
#define CCOLL_ID(tag) {id::tag, policies::Placement::tag::name},
    static constexpr dynamic::name_line<id> lines[] = {CCOLL_EACH_PLACEMENT_ID(CCOLL_ID)};
#undef CCOLL_ID
};
template <>
struct names_of<dynamic::codec_id> {
    using id = dynamic::codec_id;
#define CCOLL_ID(tag) {id::tag, policies::Codec::tag::name},
    static constexpr dynamic::name_line<id> lines[] = {CCOLL_EACH_CODEC_ID(CCOLL_ID){id::BitMask, "BitMask"}};
#undef CCOLL_ID
};
template <>
struct names_of<dynamic::memory_id> {
    static constexpr dynamic::name_line<dynamic::memory_id> lines[] = {{dynamic::memory_id::host, "host"},
                                                                       {dynamic::memory_id::cuda, "cuda"}};
};
template <>
struct names_of<dynamic::bound_id> {
    static constexpr dynamic::name_line<dynamic::bound_id> lines[] = {
        {dynamic::bound_id::ErrorBound, "ErrorBound"},
        {dynamic::bound_id::RelativeBound, "RelativeBound"},
        {dynamic::bound_id::FixedBits, "FixedBits"},
        {dynamic::bound_id::FixedRate, "FixedRate"},
    };
};

#undef CCOLL_EACH_OPERATION_ID
#undef CCOLL_EACH_ALGO_ID
#undef CCOLL_EACH_PLACEMENT_ID
#undef CCOLL_EACH_CODEC_ID

static_assert(std::size(names_of<dynamic::codec_id>::lines) == std::size(library_codecs) + 1,
              "ccoll: a codec of policy/tags.hpp has no dynamic::codec_id");

/// The letter of a name without its case; 0: it does not count.
constexpr char plain_letter(char c) noexcept
{
    return c == '_' || c == '-' || c == ' ' ? '\0' : tune::detail::lower(c);
}
/// Without regard to case and to '_', '-' and ' ', so that recursive_doubling is RecursiveDoubling.
constexpr bool is_same_name(std::string_view a, std::string_view b) noexcept
{
    std::size_t i = 0, j = 0;
    while (true) {
        while (i < a.size() && plain_letter(a[i]) == 0) ++i;
        while (j < b.size() && plain_letter(b[j]) == 0) ++j;
        if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
        if (plain_letter(a[i++]) != plain_letter(b[j++])) return false;
    }
}

/// The value of a tag.
template <class Id, class Tag>
consteval Id id_of_tag()
{
    if constexpr (std::is_same_v<Id, dynamic::codec_id>) return static_cast<Id>(Tag::wire_id);
    else if constexpr (requires { Tag::number; }) return static_cast<Id>(Tag::number);
    else {
        for (const auto& each : names_of<Id>::lines)
            if (std::string_view(each.name) == Tag::name) return each.id;
        return static_cast<Id>(255);
    }
}
/// The number of a memory space; -1 for a type that is none.
template <class Space>
inline constexpr int memory_number_of = -1;
template <>
inline constexpr int memory_number_of<host_space> = static_cast<int>(dynamic::memory_id::host);
template <>
inline constexpr int memory_number_of<cuda_space> = static_cast<int>(dynamic::memory_id::cuda);
template <class Space>
    requires requires { std::uint8_t{Space::memory_number}; }
inline constexpr int memory_number_of<Space> = Space::memory_number;

template <element T>
inline constexpr auto element_id_of = static_cast<dynamic::element_id>(dtype_of<T>);

}  // namespace detail

namespace dynamic {

/// The name as reports have it; "" for a number that is not the library's.
template <class Id>
    requires requires { detail::names_of<Id>::lines; }
constexpr const char* name_of(Id id)
{
    for (const auto& each : detail::names_of<Id>::lines)
        if (each.id == id) return each.name;
    return "";
}

/// `from_name<codec_id>("szp")`: without regard to case and to '_' and '-'.
/// @return nothing if there is no such name
template <class Id>
    requires requires { detail::names_of<Id>::lines; }
constexpr std::optional<Id> from_name(std::string_view name)
{
    for (const auto& each : detail::names_of<Id>::lines)
        if (detail::is_same_name(each.name, name)) return each.id;
    return std::nullopt;
}

/// All names with commas between them, for a sentence.
template <class Id>
    requires requires { detail::names_of<Id>::lines; }
std::string all_names()
{
    std::string all;
    for (const auto& each : detail::names_of<Id>::lines) (all += all.empty() ? "" : ", ") += each.name;
    return all;
}

/// Bytes of one element; 0 for a number that is no element.
constexpr std::size_t size_of(element_id type)
{
    switch (type) {
    case element_id::i8:
    case element_id::u8: return 1;
    case element_id::f16:
    case element_id::bf16:
    case element_id::i16:
    case element_id::u16: return 2;
    case element_id::f32:
    case element_id::i32:
    case element_id::u32: return 4;
    case element_id::f64:
    case element_id::i64:
    case element_id::u64:
    case element_id::complex_f32: return 8;
    case element_id::complex_f64: return 16;
    }
    return 0;
}

}  // namespace dynamic
}  // namespace ccoll::inline CCOLL_ABI
