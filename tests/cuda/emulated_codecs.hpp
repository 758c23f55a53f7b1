// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of any codec run by the emulator, beside the host codec: the same bytes, and the same verdict on damaged frames.
#pragma once

#include "emulated.hpp"

#include "../catch.hpp"
#include "../fields.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace emulated {

/// Launches of a codec, for elements T. A codec's tests specialise it:
///   chunk_elements
///   encode(x, n, eb, frame, chunks, scratch, outcome, options), decode(frame, bytes, x, n, chunks, scratch, outcome, options)
template <class Codec, class T>
struct launches;

template <class Codec, class T>
std::uint32_t chunks_for(std::size_t n)
{
    constexpr std::size_t step = launches<Codec, T>::chunk_elements;
    return static_cast<std::uint32_t>((n + step - 1) / step);
}

/// Bytes at a multiple of 16, and not one more than these.
class exact_memory {
public:
    explicit exact_memory(std::size_t n) : bytes_(n), begin_(new std::byte[n])
    {
        static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ % 16 == 0);
        std::fill_n(begin_.get(), n, std::byte{0x5a});
    }
    explicit exact_memory(ccoll::const_byte_span from) : exact_memory(from.size()) { std::copy(from.begin(), from.end(), begin_.get()); }
    ccoll::byte_span span() { return {begin_.get(), bytes_}; }
    std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(begin_.get()); }

private:
    std::size_t bytes_;
    std::unique_ptr<std::byte[]> begin_;
};

template <class Codec, class T>
encoded encode_with(std::span<const T> x, double eb, const emulator::options& how = {})
{
    const std::size_t n = x.size();
    const std::uint32_t chunks = chunks_for<Codec, T>(n);
    exact_memory frame(ccoll::max_encoded_bytes<Codec, T>(n));
    scratch_memory scratch(chunks);
    encoded r;
    launches<Codec, T>::encode(x.data(), n, eb, frame.data(), chunks, scratch.get(), &r.told, how);
    r.bytes.assign(frame.span().begin(), frame.span().begin() + static_cast<std::ptrdiff_t>(r.told.bytes));
    r.clean = scratch.is_clean();
    return r;
}
template <class Codec, class T>
ccoll::status decode_with(ccoll::const_byte_span bytes, std::span<T> out, const emulator::options& how = {})
{
    exact_memory frame(bytes);
    scratch_memory scratch(0);
    device::outcome told;
    launches<Codec, T>::decode(frame.data(), bytes.size(), out.data(), out.size(), chunks_for<Codec, T>(out.size()), scratch.get(), &told,
                               how);
    return scratch.is_clean() ? static_cast<ccoll::status>(told.code) : ccoll::status::unsupported;
}

template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// The host's frame, after everything has been compared with it.
template <class Codec, class T>
std::vector<std::byte> compare_with_host(std::span<const T> x, double eb, const emulator::options& how)
{
    std::vector<std::byte> host(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    const ccoll::encode_result expected = ccoll::encode<Codec>(x, host, eb);
    REQUIRE(expected.code == ccoll::status::ok);
    host.resize(expected.bytes);
    const encoded found = encode_with<Codec>(x, eb, how);
    CHECK(found.told.code == 0);
    CHECK(found.clean);
    CHECK(found.told.bytes == expected.bytes);
    CHECK(found.told.raw_chunks == expected.raw_blocks);
    CHECK(found.told.special_values == expected.special_values);
    const auto differ = std::mismatch(found.bytes.begin(), found.bytes.end(), host.begin(), host.end());
    INFO("the first byte that differs is " << differ.first - found.bytes.begin());
    CHECK(found.bytes == host);
    std::vector<T> theirs(x.size()), ours(x.size(), T(-77));
    REQUIRE(ccoll::decode<Codec>(host, theirs) == ccoll::status::ok);
    CHECK(decode_with<Codec, T>(host, ours, how) == ccoll::status::ok);
    for (std::size_t i = 0; i < x.size(); ++i)
        if (!same_bits<T>(std::span(ours).subspan(i, 1), std::span(theirs).subspan(i, 1))) {
            INFO("the first value that differs is " << i << ": " << ours[i] << " instead of " << theirs[i] << ", was " << x[i]);
            CHECK(same_bits<T>(ours, theirs));
            break;
        }
    return host;
}

/// What became of damaged frames.
struct damaged_frames {
    unsigned accepted = 0, refused = 0, apart = 0;
};

/// Changes a few bits of a frame, mostly in front, where heads and codes are, and reads it with host and device.
template <class Codec, class T>
void read_damaged(std::vector<std::byte> frame, std::size_t n, fields::generator& random, std::uint64_t seed, damaged_frames& all)
{
    const std::size_t times = 1 + random.below(3);
    for (std::size_t i = 0; i < times; ++i) {
        const std::size_t reach = random.below(3) == 0 ? frame.size() : std::min<std::size_t>(frame.size(), 260);
        frame[random.below(3) == 0 ? frame.size() - 1 - random.below(reach) : random.below(reach)] ^=
            static_cast<std::byte>(1u << random.below(8));
    }
    if (random.below(10) == 0) frame.resize(random.below(frame.size()));
    std::vector<T> theirs(n), ours(n);
    const ccoll::status expected = ccoll::decode<Codec>(frame, theirs), found = decode_with<Codec, T>(frame, ours, {seed});
    if ((expected == ccoll::status::ok) != (found == ccoll::status::ok)) {
        ++all.apart;
        INFO("host: " << ccoll::describe(expected) << "; device: " << ccoll::describe(found) << "; seed " << seed);
        CHECK(expected == found);
    } else if (expected == ccoll::status::ok) {
        ++all.accepted;
        INFO("seed " << seed);
        CHECK(same_bits<T>(ours, theirs));
    } else {
        ++all.refused;
    }
}

}  // namespace emulated
