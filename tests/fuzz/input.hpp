// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// input.hpp - how the fuzz targets read their bytes, and what they do when something is wrong.
//
// decode          u8 choice | frame
// reduce_encoded  u8 choice | u16 bytes of the first frame | first frame | second frame
// encode          u8 choice | f64 bound (or, choice bit 7, its exponent as the first byte) | u16 elements |
//                 values, again and again (or, choice bit 6, integers that stand for values near half steps)
//
// choice  bits 0-1 codec: None, SZx, PipeSZx, SZp    bit 2: f64    bits 3-4: instruction set    bits 5-7: see
//         the target decode and encode, bit 5: one of ten other codecs; bits 0, 1, 3 and 4 are its number.
//         It uses the machine's highest set with bit 6: a chunk of it. Bit 7: of Zfp at a rate, or encode
//         with rows
//
// messages        u8 choice | fragment (choice bits 0-1: 0), message of a pair (1), or of a collective (2,
//                 and 3: slices not asked for)
// texts           u8 choice | a tuning file, or (choice bit 0) CCOLL_ALGO
//
// chunk   u8 choice | u16 the highest bits of the f64 bound | u16 elements | decode: the chunk, encode:
//         values, again and again
//
// For long runs of the chunks of one codec: -DCCOLL_FUZZ_CODEC=<type> makes every choice mean them, and
// -DCCOLL_FUZZ_ELEMENTS=<n> says how many elements they have at most. Loops for several lanes, and kernels
// with them, begin at 512 elements (SZe and coded exponents of Lossless: 1024).
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include <ccoll/codec.hpp>

namespace fuzz {

using bytes = std::vector<std::byte>;

/// Frames may claim any count. No target makes room for more than this.
#if defined(CCOLL_FUZZ_ELEMENTS)
inline constexpr std::size_t most_elements = CCOLL_FUZZ_ELEMENTS;
#else
inline constexpr std::size_t most_elements = 3 * 8192;
#endif

/// The fuzzer keeps the input of a program that aborts.
inline void require(bool condition, const char* what)
{
    if (condition) return;
    std::fprintf(stderr, "ccoll: fuzz target: %s\n", what);
    std::abort();
}

/// The bit of a choice that names one of the other codecs, and how many of these there are. The next bits are
/// for chunks of these.
inline constexpr std::uint8_t other_codec = 0x20, chunk_alone = 0x40, rate_or_rows = 0x80;
inline constexpr std::size_t other_codecs = 10;
inline constexpr std::size_t lossless = 8, lossless_two_bytes = 9;
constexpr std::uint8_t choice_of_other(std::size_t codec, bool f64)
{
    return static_cast<std::uint8_t>(other_codec | (codec & 3) | (codec & 12) << 1 | std::size_t{f64} << 2);
}

inline bool is_chunk(std::uint8_t choice)
{
#if defined(CCOLL_FUZZ_CODEC)
    (void)choice;
    return true;
#else
    return (choice & other_codec) != 0 && (choice & chunk_alone) != 0;
#endif
}

/// An instruction set that the machine has.
inline ccoll::isa isa_of(std::uint8_t choice)
{
    const auto i = static_cast<ccoll::isa>(choice >> 3 & 3);
    return ccoll::machine_has(i) ? i : ccoll::highest_isa();
}

/// The same where a choice may name one of the other codecs.
inline ccoll::isa isa_for_codec(std::uint8_t choice)
{
    return (choice & other_codec) != 0 ? ccoll::highest_isa() : isa_of(choice);
}

/// Calls `what` with a codec and a zero of the element type.
template <class What>
void with_codec(std::uint8_t choice, What what)
{
    const auto with_element = [&]<class C>(C codec) {
        (choice & 4) != 0 ? what(codec, 0.0) : what(codec, 0.0f);
    };
#if defined(CCOLL_FUZZ_CODEC)
    return with_element(CCOLL_FUZZ_CODEC{});
#else
    if ((choice & other_codec) != 0) switch ((choice & 3) | (choice >> 1 & 12)) {
        case 0: return with_element(ccoll::policies::Codec::ByteZip{});
        case 1: return with_element(ccoll::policies::Codec::BitZip{});
        case 2: return with_element(ccoll::policies::Codec::BitWise{});
        case 3: return with_element(ccoll::policies::Codec::BitCut{});
        case 4: return with_element(ccoll::policies::Codec::Zfp{});
        case 5: return with_element(ccoll::policies::Codec::BitMask<ccoll::policies::Codec::BitCut>{});
        case 7: return with_element(ccoll::policies::Codec::SZe{});
        case lossless: return with_element(ccoll::policies::Codec::Lossless{});
        case lossless_two_bytes: return what(ccoll::policies::Codec::Lossless{}, ccoll::bfloat16(0.0f));
        default: return with_element(ccoll::policies::Codec::BitMask<ccoll::policies::Codec::BitZip>{});
        }
    switch (choice & 3) {
    case 0: return with_element(ccoll::policies::Codec::None{});
    case 1: return with_element(ccoll::policies::Codec::SZx{});
    case 2: return with_element(ccoll::policies::Codec::PipeSZx{});
    default: return with_element(ccoll::policies::Codec::SZp{});
    }
#endif
}

/// How SZp packs numbers is each instruction set's own affair, and SZe writes some of its chunks. What is
/// decoded is the same.
template <class C>
inline constexpr bool packs_freely =
    std::is_same_v<C, ccoll::policies::Codec::SZp> || std::is_same_v<C, ccoll::policies::Codec::SZe>;

/// The count that the header claims, or as much as there is room for.
inline std::size_t claimed_elements(ccoll::const_byte_span frame)
{
    if (frame.size() < sizeof(ccoll::frame_header)) return 0;
    const auto claimed = ccoll::load<ccoll::frame_header>(frame, 0).elements;
    return claimed < most_elements ? static_cast<std::size_t>(claimed) : most_elements;
}

inline bool is_status(ccoll::status s) { return std::strcmp(ccoll::describe(s), "unknown status") != 0; }

}  // namespace fuzz
