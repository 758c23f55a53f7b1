// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/fragment.hpp - floor 2. What a guarded link sends: fragments of messages, and acknowledgements.
// Each is sealed with a CRC-32C, and can carry the check words of a Hamming code.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ccoll/integrity/crc32c.hpp>
#include <ccoll/integrity/hamming.hpp>

namespace ccoll::inline CCOLL_ABI {

/// How fragments are protected. Only the sender chooses; a receiver reads the kind of protection in every
/// fragment.
struct protection {
    bool corrects = false;  ///< Hamming check words in addition to the CRC
    hamming_code code{};

    /// The protection of an acknowledgement, which is short.
    constexpr protection of_short() const { return {corrects, {hamming_code::least_row_bits}}; }
    constexpr std::size_t check_bytes(std::size_t n) const { return corrects ? code.check_bytes(n) : 0; }
};

enum class fragment_kind : std::uint8_t { data = 1, acknowledgement = 2 };

/// The start of every fragment and acknowledgement. Fragments from one rank to another are numbered from 1
/// on, as long as their communicator lives.
struct fragment_header {
    std::uint32_t magic = 0;  ///< says how the fragment is protected; may be damaged
    std::uint8_t version = 1;
    fragment_kind kind = fragment_kind::data;
    std::uint16_t asks = 0;        ///< 1: the receiver must acknowledge this at once, whatever it is
    std::uint32_t header_crc = 0;  ///< of the header with 0 here
    std::uint32_t body_crc = 0;    ///< of what follows
    /// Of the fragment; of an acknowledgement: all fragments up to here have arrived.
    std::uint64_t number = 0;
    /// The last fragment of the message before this one on the same tag; 0 if that has arrived.
    std::uint64_t previous = 0;
    std::uint64_t first = 0;  ///< the first fragment of the message
    std::uint64_t message_bytes = 0;
    std::uint64_t settled = 0;  ///< the sender needs no acknowledgement of its fragments up to here any more
    std::int32_t tag = 0;
    std::int32_t sender = 0;
};
static_assert(sizeof(fragment_header) == 64, "ccoll: a fragment header has 64 bytes on the wire");

/// The body of an acknowledgement.
struct acknowledgement {
    static constexpr std::size_t words = 4, window = 64 * words, most_taken = 8;

    std::array<std::uint64_t, words> beyond{};  ///< bit i: fragment number + 1 + i has arrived
    /// Last fragments of messages that have been received, the latest ones.
    std::array<std::uint64_t, most_taken> taken{};
    std::uint64_t broken = 0;  ///< a fragment that arrived damaged; some_fragment: an unknown one; 0: none
    std::uint64_t reserved = 0;

    static constexpr std::uint64_t some_fragment = std::numeric_limits<std::uint64_t>::max();
};
static_assert(sizeof(acknowledgement) == 112, "ccoll: an acknowledgement has 112 bytes on the wire");

/// Header and body of the longest fragment. At a rate of 1e-5 wrong bits, 27 % of fragments of this length
/// arrive whole, but only one in 36000 of those that are eight times longer.
inline constexpr std::size_t fragment_bytes = 16128,
                             fragment_body_bytes = fragment_bytes - sizeof(fragment_header);
/// Fragments of a message leave together, as one message of the transport of at most so many bytes, because
/// an MPI takes as long for a short message as for a longer one: with MPICH over UCX on links of 1 Gb/s, 64
/// MiB took 2.1 s one by one, and 0.88 s three by three.
/// Open MPI's eager messages have at most 64 KiB over TCP. Shorter messages overtake those that are longer,
/// so longer packets seemed lost and were sent again (1.5 s instead of 0.89 s). Four fragments fit, with the
/// check words of the longest blocks as well.
inline constexpr std::size_t packet_room = 65024;
constexpr std::uint64_t packet_fragments(const protection& how)
{
    return packet_room / (fragment_bytes + how.check_bytes(fragment_bytes));
}
static_assert(packet_fragments({}) == 4 && packet_fragments({true, {hamming_code::most_row_bits}}) == 4);
static_assert(packet_fragments({true, {hamming_code::least_row_bits}}) >= 1);

constexpr std::uint64_t fragments_of(std::uint64_t message_bytes)
{
    return message_bytes == 0 ? 1 : (message_bytes + fragment_body_bytes - 1) / fragment_body_bytes;
}

namespace detail {

/// One word for each kind of protection. Any two words differ in 16 bits, so up to seven wrong bits do no
/// harm.
constexpr std::uint32_t fragment_magic(unsigned kind)
{
    std::uint32_t pattern = 0x4B4C4343u;  // "CCLK"
    for (unsigned bit = 0; bit < 32; ++bit)
        pattern ^= static_cast<std::uint32_t>(std::popcount(kind & bit) % 2) << bit;
    return pattern;
}
constexpr unsigned kind_of(const protection& how)
{
    return how.corrects ? 1u + static_cast<unsigned>(how.code.row_bits - hamming_code::least_row_bits) : 0u;
}
inline constexpr unsigned protections = 2 + hamming_code::most_row_bits - hamming_code::least_row_bits;

/// @return false if the word is none of these
constexpr bool protection_of(std::uint32_t magic, protection& how)
{
    for (unsigned kind = 0; kind < protections; ++kind)
        if (std::popcount(magic ^ fragment_magic(kind)) <= 7) {
            how.corrects = kind > 0;
            how.code.row_bits = hamming_code::least_row_bits + static_cast<int>(kind > 0 ? kind - 1 : 0);
            return true;
        }
    return false;
}

inline std::uint32_t crc_of_header(fragment_header header) noexcept
{
    header.header_crc = 0;
    return crc32c(std::as_bytes(std::span(&header, 1)));
}

}  // namespace detail

/// Seals a fragment whose body follows the place of its header.
/// @param room  header, body, and room for the check words    @return bytes in all
inline std::size_t seal_fragment(byte_span room, fragment_header header, std::size_t body_bytes,
                                 const protection& how) noexcept
{
    const std::size_t bytes = sizeof header + body_bytes;
    header.magic = detail::fragment_magic(detail::kind_of(how));
    header.body_crc = crc32c(room.subspan(sizeof header, body_bytes));
    header.header_crc = detail::crc_of_header(header);
    store(room, 0, header);
    if (how.corrects) hamming_encode(how.code, room.first(bytes), room.subspan(bytes));
    return bytes + how.check_bytes(bytes);
}

/// What arrived, as far as it can be believed.
struct opened_fragment {
    bool has_header = false, whole = false;
    fragment_header header;
    const_byte_span body;
    std::size_t corrected = 0;  ///< bits
};

/// The distance between the fragments of a packet: all but the last one have the full length. The first bytes
/// of the packet say how its fragments are protected; if they are unreadable, the packet counts as one
/// fragment.
inline std::size_t fragment_stride(const_byte_span packet) noexcept
{
    protection how;
    if (packet.size() < sizeof(fragment_header) ||
        !detail::protection_of(load<std::uint32_t>(packet, 0), how))
        return packet.size();
    return fragment_bytes + how.check_bytes(fragment_bytes);
}

/// Reads and corrects a fragment. Any bytes are safe.
inline opened_fragment open_fragment(byte_span message) noexcept
{
    opened_fragment f;
    protection how;
    if (message.size() < sizeof f.header || !detail::protection_of(load<std::uint32_t>(message, 0), how))
        return f;
    const std::size_t bytes = how.corrects ? how.code.data_bytes(message.size()) : message.size();
    if ((how.corrects && bytes == message.size()) || bytes < sizeof f.header) return f;
    const auto check = [&] {
        f.header = load<fragment_header>(message, 0);
        f.has_header = f.header.version == 1 && f.header.header_crc == detail::crc_of_header(f.header);
        f.body = message.subspan(sizeof f.header, bytes - sizeof f.header);
        f.whole = f.has_header && f.header.body_crc == crc32c(f.body);
    };
    check();
    if (!f.whole && how.corrects) {
        f.corrected = hamming_correct(how.code, message.first(bytes), message.subspan(bytes)).corrected;
        check();
    }
    return f;
}

}  // namespace ccoll
