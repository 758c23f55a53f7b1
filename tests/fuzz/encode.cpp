// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzz target: any values at any bound. What comes back is within the bound, NaN and Inf are kept, and the
// bytes do not depend on the instruction set (SZp: the values that they decode to). An addend keeps the same
// promise, or says too_large where it may. The same for chunks alone.
#include "fuzz/chunks.hpp"

#include <algorithm>

#include "support/szp_law.hpp"

using namespace ccoll::policies;
using ccoll::status;

namespace {

/// eb, and the rounding of quantum times step: once to double, once to T.
template <class T>
bool adds_within(T decoded, T original, double eb)
{
    if (std::isnan(original)) return std::isnan(decoded);
    if (std::isinf(original)) return decoded == original;
    constexpr long double unit = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2,
                          most = std::numeric_limits<T>::max();
    const long double x = original, bound = eb;
    if (std::isinf(decoded))
        return std::fabs(x) + bound >= most;  // what rounds to Inf is beyond the largest number
    const long double y = decoded;
    // The last factor covers the rounding of this line.
    return std::fabs(y - x) <= (bound + std::fabs(y) * (unit + 0x1p-53L)) * (1 + 0x1p-60L);
}

/// A value within two ulps of a half step of SZp's grid, where rounding matters. Random bits never give one.
template <class T>
T near_half_step(T bits, double eb)
{
    std::uint32_t word;
    std::memcpy(&word, &bits, sizeof word);
    const double step = szp_reference::law<T>(eb).step;
    const std::int32_t whole = static_cast<std::int32_t>(word) >> (word % 8 * 4);  // of any length
    T x = static_cast<T>((whole + 0.5) * step);
    const T far = word % 16 < 8 ? std::numeric_limits<T>::max() : -std::numeric_limits<T>::max();
    for (unsigned ulps = word / 16 % 3; ulps > 0; --ulps) x = std::nextafter(x, far);
    return x;
}

/// How many different exceptional values the chunk with the most of them has, and the largest finite one in
/// steps.
template <class T>
std::pair<std::size_t, double> exceptional(const std::vector<T>& x, const szp_reference::law<T>& law)
{
    std::size_t most = 0;
    double largest = 0;
    for (std::size_t first = 0; first < x.size(); first += 8192) {
        std::vector<T> seen;
        bool nan = false;
        for (std::size_t i = first; i < std::min(x.size(), first + 8192); ++i) {
            if (std::isnan(x[i])) nan = true;
            else if (law.far_in_addend(x[i])) seen.push_back(x[i]);
            if (std::isfinite(x[i])) largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
        }
        std::sort(seen.begin(), seen.end());
        const auto different = static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
        most = std::max(most, different + nan);
    }
    return {most, largest};
}

template <class C, class T>
void encode_addend(const std::vector<T>& x, double eb, ccoll::isa isa)
{
    fuzz::bytes plain(ccoll::max_addend_bytes<C, T>(x.size())), frame = plain;
    ccoll::use_isa(ccoll::isa::portable);
    const auto expected = ccoll::encode_addend<C>(x, plain, eb);
    ccoll::use_isa(isa);
    const auto found = ccoll::encode_addend<C>(x, frame, eb);
    fuzz::require(expected.code == found.code && found.bytes <= frame.size(),
                  "an addend depends on the instruction set");
    plain.resize(expected.bytes);
    frame.resize(found.bytes);

    const szp_reference::law<T> law(eb);
    const auto [different, largest] = exceptional(x, law);
    const bool beyond = largest >= std::ldexp(law.step, 190);
    std::vector<T> y(x.size()), z(x.size());
    const status decoded = ccoll::decode<C>(frame, y);
    if (found.code == status::too_large) {
        fuzz::require(!law.usable || different > 256 || beyond, "an addend is refused although it fits");
        fuzz::require(decoded == status::too_large, "a frame that says too_large is decoded");
        return;
    }
    fuzz::require(found.code == status::ok && (law.usable || x.empty()),
                  "an addend fails, or does not say too_large");
    fuzz::require(!beyond, "an addend does not say too_large");
    fuzz::require(decoded == status::ok && ccoll::decode<C>(plain, z) == status::ok,
                  "an addend does not decode");
    fuzz::require(round_trip::same_bits(y, z),
                  "what an addend decodes to depends on the instruction set that wrote it");
    for (std::size_t i = 0; i < x.size(); ++i)
        fuzz::require(adds_within(y[i], x[i], eb), "a value of an addend is outside of the bound");
}

/// With rows, and mostly with planes as well.
template <class T>
ccoll::shaped_view<const T> as_field(const std::vector<T>& x)
{
    const std::size_t n = x.size(), row = 32 + n % 61;
    return {x, {row, n % 3 == 0 ? 0 : row * (2 + n % 7)}, n};
}

/// With a shape, values decode to the same bits.
template <class C, class T>
void encode_rows(const std::vector<T>& x, double eb, const fuzz::bytes& plain, ccoll::isa isa)
{
    const auto shaped = as_field(x);
    fuzz::bytes expected(ccoll::max_encoded_bytes<C, T>(x.size())), frame = expected;
    ccoll::use_isa(ccoll::isa::portable);
    const auto of_portable = ccoll::encode<C>(shaped, expected, eb);
    ccoll::use_isa(isa);
    const auto found = ccoll::encode<C>(shaped, frame, eb);
    fuzz::require(found.code == status::ok && of_portable.code == status::ok,
                  "a frame with rows is not encoded");
    expected.resize(of_portable.bytes);
    frame.resize(found.bytes);
    std::vector<T> y(x.size()), without(x.size());
    fuzz::require(ccoll::decode<C>(frame, y) == status::ok, "a frame with rows does not decode");
    fuzz::require(ccoll::decode<C>(plain, without) == status::ok && round_trip::same_bits(y, without),
                  "rows change values");
    fuzz::require(ccoll::decode<C>(expected, without) == status::ok && round_trip::same_bits(y, without),
                  "what rows decode to depends on the instruction set that wrote them");
}
/// The same of addends.
template <class C, class T>
void encode_addend_of_rows(const std::vector<T>& x, double eb)
{
    const auto shaped = as_field(x);
    std::vector<T> y(x.size()), without(x.size());
    fuzz::bytes addend(ccoll::max_addend_bytes<C, T>(x.size())), other = addend;
    const auto with_rows = ccoll::encode_addend<C>(shaped, addend, eb),
               of_none = ccoll::encode_addend<C>(x, other, eb);
    fuzz::require(with_rows.code == of_none.code, "rows decide whether values can be added");
    if (with_rows.code != status::ok) return;
    fuzz::require(ccoll::decode<C>(addend, y) == status::ok &&
                      ccoll::decode<C>(other, without) == status::ok && round_trip::same_bits(y, without),
                  "rows change values of an addend");
}

template <class C, class T>
void encode_everywhere(const std::vector<T>& x, double asked, ccoll::isa isa)
{
    const double eb = C::lossy ? asked : 0;
    if (C::lossy && !ccoll::is_bound(eb)) {
        fuzz::bytes dst(ccoll::max_encoded_bytes<C, T>(x.size()));
        fuzz::require(ccoll::encode<C>(x, dst, eb).code == status::bad_bound, "a bad bound is taken");
        return;
    }
    ccoll::use_isa(ccoll::isa::portable);
    const auto plain = round_trip::frame_of<C>(x, eb);
    ccoll::use_isa(isa);
    const auto frame = round_trip::frame_of<C>(x, eb);
    if constexpr (fuzz::packs_freely<C>)
        fuzz::require(round_trip::same_bits(round_trip::decoded<C, T>(frame, x.size()),
                                            round_trip::decoded<C, T>(plain, x.size())),
                      "what a frame decodes to depends on the instruction set that wrote it");
    else fuzz::require(frame == plain, "encoded bytes depend on the instruction set");
    const auto outcome = round_trip::check<C>(x, eb);
    fuzz::require(outcome.encoded.code == status::ok, "a frame is not encoded");
    fuzz::require(outcome.decoded == status::ok, "a frame does not decode");
    fuzz::require(outcome.kept_to_its_room, "something was written beside its room");
    fuzz::require(outcome.outside == 0, "a value is outside of the bound");
    if constexpr (ccoll::has_homomorphic_codec<C, T>) {
        encode_addend<C>(x, eb, isa);
        encode_addend_of_rows<C>(x, eb);
    }
    if constexpr (std::is_same_v<C, Codec::SZp> || std::is_same_v<C, Codec::SZe>)
        encode_rows<C>(x, eb, plain, isa);
}

/// Of an exact codec.
template <class C, class T>
void encode_exactly(const std::vector<T>& x, ccoll::isa isa)
{
    ccoll::use_isa(ccoll::isa::portable);
    const auto plain = round_trip::frame_of<C>(x, 0);
    ccoll::use_isa(isa);
    const auto frame = round_trip::frame_of<C>(x, 0);
    fuzz::require(frame == plain, "encoded bytes depend on the instruction set");
    fuzz::require(round_trip::same_bits(round_trip::decoded<C, T>(frame, x.size()), x),
                  "an exact codec changes bits");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size >= fuzz::chunk_input::front && fuzz::is_chunk(data[0])) {
        fuzz::with_codec(data[0], [&]<class C, class T>(C, T) {
            fuzz::write_chunk_of<C, T>(data[0], fuzz::chunk_input(data, size));
        });
        return 0;
    }
    constexpr std::size_t front = 1 + sizeof(double) + 2;
    if (size < front) return 0;
    double eb;
    std::memcpy(&eb, data + 1, sizeof eb);
    // Hardly any random bits are a useful bound. So exponents go from 2^-160 to 2^95, in sixteenths.
    if ((data[0] & 0x80) != 0) eb = std::ldexp(1 + (data[2] & 15) / 16.0, int{data[1]} - 160);
    const std::size_t wished = std::size_t{data[9]} | std::size_t{data[10]} << 8;
    fuzz::with_codec(data[0], [&]<class C, class T>(C, T) {
        const std::size_t given = (size - front) / sizeof(T), most = 2 * 8192 + 100;
        std::vector<T> x(given == 0 ? 0 : wished % most);
        for (std::size_t i = 0; i < x.size(); ++i)
            std::memcpy(x.data() + i, data + front + i % given * sizeof(T), sizeof(T));
        if constexpr (ccoll::native_float<T>) {
            if ((data[0] & 0x40) != 0 && ccoll::is_bound(eb))
                for (T& v : x) v = near_half_step(v, eb);
            encode_everywhere<C, T>(x, eb, fuzz::isa_for_codec(data[0]));
        }
        if constexpr (!C::lossy) encode_exactly<C, T>(x, fuzz::isa_for_codec(data[0]));
    });
    return 0;
}
