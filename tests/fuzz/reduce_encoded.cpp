// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzz target: any two byte strings in place of the addends of a sum or a linear combination. A status, and no byte beyond
// max_addend_bytes; where both are what an encoder could have written, the sum is right, and the same with operands exchanged and
// with every instruction set, and in the memory of either.
#include "fuzz/input.hpp"

#include "codec/szp_reader.hpp"

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

/// Pairs of factors, by the top bits of the choice.
constexpr std::int32_t factors[8][2] = {{1, 1}, {1, -1}, {2, 3}, {-1, 0}, {0, 5}, {1000003, -7}, {-2147483647 - 1, 2147483647}, {0, 0}};

template <class T>
sum combine(const std::int32_t (&factor)[2], ccoll::const_byte_span a, ccoll::const_byte_span b, std::size_t n)
{
    fuzz::bytes dst(ccoll::max_addend_bytes<Codec::SZp, T>(n));
    const auto r = ccoll::combine_encoded<Codec::SZp, T>(factor[0], a, factor[1], b, dst);
    fuzz::require(fuzz::is_status(r.code) && r.bytes <= dst.size(), "a combination is longer than max_addend_bytes");
    dst.resize(r.bytes);
    return {r.code, dst};
}

template <class T>
bool decodes(const fuzz::bytes& frame, std::size_t n)
{
    std::vector<T> out(n);
    return ccoll::decode<Codec::SZp>(frame, out) == status::ok;
}

unsigned scaled(unsigned value_class, std::int32_t factor)
{
    if (factor == 0) return szp_reader::finite;
    return factor > 0 ? value_class : (value_class & 1) << 1 | value_class >> 1;
}

/// What a linear combination of two addends that an encoder could have written must contain.
/// @param exactly  the chunks say the sum of what the operands say, and fit if that does
void check_contents(const szp_reader::contents& x, const szp_reader::contents& y, const std::int32_t (&factor)[2], const sum& total,
                    bool exactly)
{
    const std::int64_t p = factor[0], q = factor[1];
    const auto bound = [&](std::size_t i) {
        return static_cast<long double>(x.largest[i]) * static_cast<long double>(p < 0 ? -p : p) +
               static_cast<long double>(y.largest[i]) * static_cast<long double>(q < 0 ? -q : q);
    };
    bool fits = true, far = false;
    for (std::size_t i = 0; i < x.largest.size(); ++i) {
        fits = fits && bound(i) < 0x1p62L;
        far = far || bound(i) > 0x1p62L * 0.98L;
    }
    if (exactly) fuzz::require((total.code == status::ok) == fits, "a sum of honest addends is refused, or one that does not fit is not");
    else
        fuzz::require(total.code == status::ok ? fits : far, "a combination of honest addends is refused, or one that does not fit is not");
    if (total.code != status::ok) return;
    const auto z = szp_reader::read(total.frame);
    fuzz::require(z.honest && z.shortest, "a sum holds larger quanta than it says, or planes that it does not need");
    for (std::size_t i = 0; i < x.largest.size(); ++i) {
        const bool left_out = p == 0 || q == 0;  // an operand without a factor may still make a chunk wide
        const auto least_wide = std::uint64_t{1} << 30;
        fuzz::require(static_cast<long double>(z.largest[i]) == bound(i) || (left_out && z.largest[i] == least_wide),
                      "the largest quanta do not add up");
    }
    for (std::size_t i = 0; i < x.quanta.size(); ++i) {
        fuzz::require(z.quanta[i] == p * x.quanta[i] + q * y.quanta[i], "a quantum of a sum is not the sum of the quanta");
        fuzz::require(z.classes[i] == (scaled(x.classes[i], factor[0]) | scaled(y.classes[i], factor[1])),
                      "a class of a sum is not the union of the classes");
    }
}

template <class T>
void add_everywhere(const fuzz::bytes& a, const fuzz::bytes& b, std::uint8_t choice)
{
    const std::size_t n = fuzz::claimed_elements(a);
    ccoll::use_isa(ccoll::isa::portable);
    const sum expected = add<T>(a, b, n), exchanged = add<T>(b, a, n);
    ccoll::use_isa(fuzz::isa_of(choice));
    const sum found = add<T>(a, b, n);
    check_in_place<T>(a, b, n, found);
    const auto& factor = factors[choice >> 5];
    const sum combined = combine<T>(factor, a, b, n);
    fuzz::require(found.code == expected.code, "reduce_encoded depends on the instruction set");
    fuzz::require(is_frame(exchanged.code) == is_frame(expected.code), "reduce_encoded depends on the order of its operands");
    if (!is_frame(expected.code) || !decodes<T>(a, n) || !decodes<T>(b, n)) return;
    const auto x = szp_reader::read(a), y = szp_reader::read(b);
    if (!x.honest || !y.honest) return;  // what overflows may differ
    fuzz::require(found.code == status::too_large || decodes<T>(found.frame, n), "the sum of two addends that decode does not decode");
    fuzz::require(is_frame(combined.code), "a combination of two addends that decode is refused");
    if (!x.shortest || !y.shortest) return;  // no encoder writes these
    fuzz::require(found.frame == expected.frame, "a sum depends on the instruction set");
    fuzz::require(exchanged.frame == expected.frame, "a sum depends on the order of its operands");
    if (x.fills || y.fills) return;  // there quanta are not always added
    check_contents(x, y, factors[0], found, true);
    check_contents(x, y, factor, combined, false);
    if (&factor == &factors[0] && combined.code == status::ok)
        fuzz::require(combined.frame == found.frame, "the combination with factors 1 is not the sum");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size < 3) return 0;
    const auto* const begin = reinterpret_cast<const std::byte*>(data) + 3;
    const std::size_t rest = size - 3, wished = std::size_t{data[1]} | std::size_t{data[2]} << 8, first = wished < rest ? wished : rest;
    const fuzz::bytes a(begin, begin + first), b(begin + first, begin + rest);
    if ((data[0] & 4) != 0) add_everywhere<double>(a, b, data[0]);
    else add_everywhere<float>(a, b, data[0]);
    return 0;
}
