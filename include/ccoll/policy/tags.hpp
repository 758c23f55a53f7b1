// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/tags.hpp - floor 1. Every policy that a user can name, as an empty struct. A tag knows its axis, its
// name, and what a Plan must know before any element type is known. The implementations are elsewhere and are
// looked up by the tag.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <initializer_list>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The independent decisions of a plan. A plan names at most one policy on each axis.
namespace axis {
struct algo;
struct codec;
struct placement;
struct op;
struct bound;
struct check;
struct instrument;
struct timeout;
struct exec;
struct transport;
struct fault;
struct spare_bound;
struct missing;
}  // namespace axis

/// Base of every policy, the library's and yours.
template <class Axis>
struct policy {
    using policy_axis = Axis;
};

using algo_tag = policy<axis::algo>;

/// Base of every codec tag. `WireId` names the codec in frames: 0..127 are the library's, 128..255 are yours.
/// A tag may also have `inner`, the codec that it wraps; `at_rate`, if its codec is given bits per value
/// instead of a bound; and `with_rate`, the tag of that kind that takes its place in plans with a FixedRate.
template <std::uint8_t WireId, bool Lossy>
struct codec_tag : policy<axis::codec> {
    static constexpr std::uint8_t wire_id = WireId;
    static constexpr bool lossy = Lossy;
};

namespace detail {
/// "outer<inner>", with the bracket in `outer`.
constexpr std::array<char, 64> wrapped(const char* outer, const char* inner)
{
    std::array<char, 64> all{};
    std::size_t at = 0;
    for (const char* part : {outer, inner, ">"})
        for (; *part != 0 && at + 1 < all.size(); ++part) all[at++] = *part;
    return all;
}
}  // namespace detail

namespace policies {

// clang-format off: one line per tag

/// Who talks to whom. Auto: chosen by a documented rule (docs/design/algorithms.md).
namespace Algo {
struct Auto : algo_tag { static constexpr const char* name = "Auto"; };
struct Ring : algo_tag { static constexpr const char* name = "Ring"; };
struct RecursiveDoubling : algo_tag { static constexpr const char* name = "RecursiveDoubling"; };
struct Rabenseifner : algo_tag { static constexpr const char* name = "Rabenseifner"; };
struct Binomial : algo_tag { static constexpr const char* name = "Binomial"; };
struct ScatterAllgather : algo_tag { static constexpr const char* name = "ScatterAllgather"; };
struct Chain : algo_tag { static constexpr const char* name = "Chain"; };
struct Linear : algo_tag { static constexpr const char* name = "Linear"; };
struct Bruck : algo_tag { static constexpr const char* name = "Bruck"; };
struct Pairwise : algo_tag { static constexpr const char* name = "Pairwise"; };
struct Spread : algo_tag { static constexpr const char* name = "Spread"; };
/// Two levels, for allreduce, reduce and bcast. `Inner` works within each node, without a codec; it needs
/// schedules for reduce and bcast, as Binomial, Linear and Chain have. `Outer` works between the first ranks
/// of the nodes, with the plan's codec. MPI knows which ranks share a node; without MPI, call
/// ccoll::set_nodes.
template <class Inner, class Outer>
struct Hierarchical : algo_tag { static constexpr const char* name = "Hierarchical"; };
}  // namespace Algo

/// How elements become bytes. None and Lossless are exact; the others need a bound. Auto, in collectives:
/// what measures fastest of MPI's own call and the codecs that the bound allows; <ccoll/auto.hpp> says what
/// it does.
namespace Codec {
struct Auto : codec_tag<127, false> { static constexpr const char* name = "Auto"; };  // in no frame
struct None : codec_tag<0, false> { static constexpr const char* name = "None"; };
struct SZx : codec_tag<1, true> { static constexpr const char* name = "SZx"; };
struct PipeSZx : codec_tag<2, true> { static constexpr const char* name = "PipeSZx"; };
struct SZp : codec_tag<3, true> { static constexpr const char* name = "SZp"; };
struct Lossless : codec_tag<4, false> { static constexpr const char* name = "Lossless"; };
struct BitZip : codec_tag<5, true> { static constexpr const char* name = "BitZip"; };
struct BitWise : codec_tag<6, true> { static constexpr const char* name = "BitWise"; };
struct ByteZip : codec_tag<7, true> { static constexpr const char* name = "ByteZip"; };
struct BitCut : codec_tag<8, true> { static constexpr const char* name = "BitCut"; };
/// What Zfp stands for in a plan with FixedRate. It is also for ccoll::encode and ccoll::decode, whose `eb`
/// is then the number of bits per value.
struct ZfpAtRate : codec_tag<9, true> {
    static constexpr const char* name = "Zfp";
    static constexpr bool at_rate = true;
};
struct Zfp : codec_tag<9, true> { static constexpr const char* name = "Zfp"; using with_rate = ZfpAtRate; };
/// Shorter codes for the upper bits that the values of Inner have in common. Inner is BitZip, BitWise or
/// BitCut.
template <class Inner>
struct BitMask : codec_tag<10, Inner::lossy> {
    using inner = Inner;
    static constexpr auto text = detail::wrapped("BitMask<", Inner::name);
    static constexpr const char* name = text.data();
};
/// The quanta of SZp with an entropy code: shorter and slower.
struct SZe : codec_tag<11, true> { static constexpr const char* name = "SZe"; };
}  // namespace Codec

/// Where compression happens. PerHop: at every hop (the baseline CPR-P2P). Once: at the source, for calls
/// that only move data. DecodeReduceEncode: like Once, and a reduction decodes, reduces and encodes again.
/// Homomorphic: encoded streams are added. Auto takes the best of these that the codec and the operation
/// allow. The table of events is in algo/placement.hpp.
namespace Placement {
struct Auto : policy<axis::placement> { static constexpr const char* name = "Auto"; };
struct PerHop : policy<axis::placement> { static constexpr const char* name = "PerHop"; };
struct Once : policy<axis::placement> { static constexpr const char* name = "Once"; };
struct DecodeReduceEncode : policy<axis::placement> {
    static constexpr const char* name = "DecodeReduceEncode";
};
struct Homomorphic : policy<axis::placement> { static constexpr const char* name = "Homomorphic"; };
}  // namespace Placement

/// When ranks compare their arguments. Local: never; errors are reported only through the messages of the
/// schedule. Auto: for long vectors, before the first element moves (log2(p) small messages); for short
/// vectors, through the messages of the schedule. Collective: before the first element moves and again at the
/// end, so that either all ranks throw the same verdict or none does.
namespace Check {
struct Auto : policy<axis::check> { static constexpr const char* name = "Auto"; };
struct Local : policy<axis::check> { static constexpr const char* name = "Local"; };
struct Collective : policy<axis::check> { static constexpr const char* name = "Collective"; };
}  // namespace Check

/// Off costs nothing. Breakdown adds the seconds per phase to the report.
namespace Instrument {
struct Off : policy<axis::instrument> { static constexpr const char* name = "Off"; };
struct Breakdown : policy<axis::instrument> { static constexpr const char* name = "Breakdown"; };
}  // namespace Instrument

/// Where the messages of device buffers are. Staged: in pinned memory of the host, with any transport.
/// Direct: in the memory of the device, for an MPI that takes device pointers; it is asked at run time. If a
/// codec or an operation of the plan has no kernel, frames are made on the host, and messages stay there. The
/// report says which it was.
namespace Transport {
struct Staged : policy<axis::transport> { static constexpr const char* name = "Staged"; };
struct Direct : policy<axis::transport> { static constexpr const char* name = "Direct"; };
}  // namespace Transport

/// Who does the work of host codecs in a collective. Serial: the thread that calls, and messages move while
/// it works. Others are in <ccoll/exec.hpp>: Threads<N>, and On<E> for a thread pool of yours.
namespace Exec {
struct Serial : policy<axis::exec> { static constexpr const char* name = "Serial"; };
}  // namespace Exec

// clang-format on

}  // namespace policies

namespace detail {
// The codecs of the library in the order of their wire ids: CODEC(tag, name, header in ccoll/codec/). What
// rules and errors say of a codec follows from this list, and a test compares the pages with it.
#define CCOLL_EACH_CODEC(CODEC)                                              \
    CODEC(None, "None", "none.hpp")                                          \
    CODEC(SZx, "SZx", "szx.hpp")                                             \
    CODEC(PipeSZx, "PipeSZx", "pipe_szx.hpp")                                \
    CODEC(SZp, "SZp", "szp.hpp")                                             \
    CODEC(Lossless, "Lossless", "lossless.hpp")                              \
    CODEC(BitZip, "BitZip", "bitzip.hpp")                                    \
    CODEC(BitWise, "BitWise", "bitzip.hpp")                                  \
    CODEC(ByteZip, "ByteZip", "bytezip.hpp")                                 \
    CODEC(BitCut, "BitCut", "bitcut.hpp")                                    \
    CODEC(Zfp, "Zfp", "zfp.hpp")                                             \
    CODEC(BitMask<policies::Codec::BitZip>, "BitMask<Inner>", "bitmask.hpp") \
    CODEC(SZe, "SZe", "sze.hpp")

/// A line of the list.
struct library_codec {
    unsigned wire_id;
    bool lossy;
    const char* name;
};
#define CCOLL_CODEC(tag, name, header) {policies::Codec::tag::wire_id, policies::Codec::tag::lossy, name},
inline constexpr library_codec library_codecs[] = {CCOLL_EACH_CODEC(CCOLL_CODEC)};
#undef CCOLL_CODEC
static_assert([] {
    unsigned next = 0;
    for (const library_codec& each : library_codecs)
        if (each.wire_id != next++) return false;
    return true;
}());

/// The tags that may have the wire ids of the library.
#define CCOLL_CODEC(tag, name, header) || std::is_same_v<Tag, policies::Codec::tag>
template <class Tag>
inline constexpr bool is_library_codec =
    std::is_same_v<Tag, policies::Codec::ZfpAtRate> CCOLL_EACH_CODEC(CCOLL_CODEC);
#undef CCOLL_CODEC
template <class Inner>
inline constexpr bool is_library_codec<policies::Codec::BitMask<Inner>> = is_library_codec<Inner>;

/// Whether frames of this codec can be told from those of the library.
template <class Tag>
inline constexpr bool has_wire_id_of_its_own = is_library_codec<Tag> || Tag::wire_id >= 128;

/// In a menu where another plan takes its bound from the call: this plan may be given a bound too, and does
/// not use it.
struct spare_bound : policy<axis::spare_bound> {};
}  // namespace detail
}  // namespace ccoll
