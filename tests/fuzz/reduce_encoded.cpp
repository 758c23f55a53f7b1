// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzz target: any two byte strings in place of the addends of a sum. A status, and no byte beyond
// max_addend_bytes; where both are what an encoder could have written, the sum decodes to what the law says,
// with operands exchanged, with every instruction set, and in the memory of either as well.
#include <initializer_list>

#include "codec/round_trip.hpp"
#include "fuzz/input.hpp"
#include "support/szp_reference.hpp"

using namespace ccoll::policies;
using ccoll::status;

namespace {

struct sum {
    status code;
    fuzz::bytes frame;
};

bool is_frame(status s) { return s == status::ok || s == status::too_large; }

template <class T>
sum add(ccoll::const_byte_span a, ccoll::const_byte_span b, std::size_t n)
{
    fuzz::bytes dst(ccoll::max_addend_bytes<Codec::SZp, T>(n));
    const auto r = ccoll::reduce_encoded<Codec::SZp, Op::Sum, T>(a, b, dst);
    fuzz::require(fuzz::is_status(r.code), "reduce_encoded gives no status");
    fuzz::require(r.bytes <= dst.size(), "a sum is longer than max_addend_bytes");
    dst.resize(r.bytes);
    return {r.code, dst};
}

/// In the memory of an operand the status and the frame must be the same.
template <class T>
void check_in_place(const fuzz::bytes& a, const fuzz::bytes& b, std::size_t n, const sum& expected)
{
    for (const bool left : {true, false}) {
        const fuzz::bytes& own = left ? a : b;
        fuzz::bytes dst(ccoll::max_addend_bytes<Codec::SZp, T>(n));
        if (own.size() > dst.size()) continue;
        std::copy(own.begin(), own.end(), dst.begin());
        const auto mine = ccoll::const_byte_span(dst).first(own.size());
        const auto r = left ? ccoll::reduce_encoded<Codec::SZp, Op::Sum, T>(mine, b, dst)
                            : ccoll::reduce_encoded<Codec::SZp, Op::Sum, T>(a, mine, dst);
        fuzz::require(r.code == expected.code, "a sum in place has another status");
        dst.resize(r.bytes);
        if (is_frame(r.code)) fuzz::require(dst == expected.frame, "a sum in place is another one");
    }
}

template <class T>
bool decodes(const fuzz::bytes& frame, std::size_t n)
{
    std::vector<T> out(n);
    return ccoll::decode<Codec::SZp>(frame, out) == status::ok;
}

template <class T>
std::vector<T> values_of(const fuzz::bytes& frame, std::size_t n)
{
    std::vector<T> out(n);
    fuzz::require(ccoll::decode<Codec::SZp>(frame, out) == status::ok, "a sum does not decode");
    return out;
}

/// What the places of an addend hold; nothing if no encoder could have written it.
template <class T>
std::vector<szp_reference::term> terms_of(const fuzz::bytes& frame)
{
    using namespace szp_reference;
    const auto* const begin = reinterpret_cast<const u8*>(frame.data());
    try {
        const std::vector<term> all = read_addend<T>({begin, begin + frame.size()});
        ccoll::frame_view view;
        must(ccoll::read_frame(frame, view) == status::ok, "a frame");
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto largest = ccoll::load<std::uint64_t>(view.chunk(i / 8192).data, 8);
            const std::uint64_t q = all[i].q < 0 ? 0 - static_cast<std::uint64_t>(all[i].q)
                                                 : static_cast<std::uint64_t>(all[i].q);
            must(q <= largest && largest >> 62 == 0, "a lie about the largest quantum");
        }
        return all;
    } catch (const std::runtime_error&) {
        return {};
    }
}

/// What the law says of x + y.
template <class T>
std::vector<T> expected_values(const std::vector<szp_reference::term>& x,
                               const std::vector<szp_reference::term>& y, double bound)
{
    const szp_reference::law<T> law(bound);
    std::vector<T> values(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        values[i] = szp_reference::value_of(law, szp_reference::sum(x[i], y[i]));
    return values;
}

/// Sums that do not say too_large decode to the sum of what their operands hold, which is no number that fits
/// where all of them say so.
template <class T>
void check_values(const std::vector<szp_reference::term>& x, const std::vector<szp_reference::term>& y,
                  std::initializer_list<const sum*> sums, double bound)
{
    std::vector<T> expected;
    for (const sum* each : sums) {
        fuzz::require(is_frame(each->code), "a sum of addends that an encoder could have written is refused");
        if (each->code != status::ok) continue;
        if (expected.empty()) expected = expected_values<T>(x, y, bound);
        fuzz::require(round_trip::same_bits(values_of<T>(each->frame, x.size()), expected),
                      "a sum decodes to other values than the law says");
    }
}

template <class T>
void add_everywhere(const fuzz::bytes& a, const fuzz::bytes& b, std::uint8_t choice)
{
    const std::size_t n = fuzz::claimed_elements(a);
    ccoll::use_isa(ccoll::isa::portable);
    const sum plain = add<T>(a, b, n);
    ccoll::use_isa(fuzz::isa_of(choice));
    const sum found = add<T>(a, b, n), exchanged = add<T>(b, a, n);
    check_in_place<T>(a, b, n, found);
    if (!is_frame(found.code) || !decodes<T>(a, n) || !decodes<T>(b, n)) return;
    const auto x = terms_of<T>(a), y = terms_of<T>(b);
    if (x.empty() || y.empty()) return;
    const double bound = ccoll::load<ccoll::frame_header>(a, 0).bound;
    check_values<T>(x, y, {&plain, &found, &exchanged}, bound);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size < 3) return 0;
    const auto* const begin = reinterpret_cast<const std::byte*>(data) + 3;
    const std::size_t rest = size - 3, wished = std::size_t{data[1]} | std::size_t{data[2]} << 8,
                      first = wished < rest ? wished : rest;
    const fuzz::bytes a(begin, begin + first), b(begin + first, begin + rest);
    if ((data[0] & 4) != 0) add_everywhere<double>(a, b, data[0]);
    else add_everywhere<float>(a, b, data[0]);
    return 0;
}
