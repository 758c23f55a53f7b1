// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/: the kernels of every instruction set give the bytes of the plain code.
#include "support/catch.hpp"

#include <limits>
#include <string>
#include <utility>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/szp/coder.hpp>

namespace szp_isa_cases {

using namespace ccoll::policies;

namespace {

using bytes = std::vector<std::byte>;
using C = Codec::SZp;

/// The instruction set in use, restored at the end.
class with_isa {
public:
    explicit with_isa(ccoll::isa i) : before_(ccoll::isa_in_use()) { ccoll::use_isa(i); }
    ~with_isa() { ccoll::use_isa(before_); }
    with_isa(const with_isa&) = delete;
    with_isa& operator=(const with_isa&) = delete;

private:
    ccoll::isa before_;
};

/// All vectors are exactly as long as the library may touch, so that a sanitizer sees every step beyond.
template <class Produce>
bytes frame_in(std::size_t room, Produce produce)
{
    bytes frame(room, round_trip::guard);
    const ccoll::encode_result result = produce(ccoll::byte_span(frame));
    if (result.code != ccoll::status::ok && result.code != ccoll::status::too_large) return {};
    return {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(result.bytes)};
}
template <class T>
bytes moved(const std::vector<T>& x, double eb)
{
    return frame_in(ccoll::max_encoded_bytes<C, T>(x.size()), [&](ccoll::byte_span dst) { return ccoll::encode<C>(x, dst, eb); });
}
template <class T>
bytes addend(const std::vector<T>& x, double eb)
{
    return frame_in(ccoll::max_addend_bytes<C, T>(x.size()), [&](ccoll::byte_span dst) { return ccoll::encode_addend<C>(x, dst, eb); });
}
template <class T>
bytes sum(const bytes& a, const bytes& b, std::size_t n)
{
    return frame_in(ccoll::max_addend_bytes<C, T>(n),
                    [&](ccoll::byte_span dst) { return ccoll::reduce_encoded<C, Op::Sum, T>(a, b, dst); });
}
/// The bits of the values; nothing where the frame says too_large.
template <class T>
bytes decoded(const bytes& frame, std::size_t n)
{
    std::vector<T> y(n);
    const ccoll::status code = ccoll::decode<C>(frame, y);
    if (code != ccoll::status::ok) return bytes(1, static_cast<std::byte>(code));
    const auto bits = std::as_bytes(std::span(y));
    return {bits.begin(), bits.end()};
}

/// What one instruction set makes of x and y, from the plain code's frames where it reads some.
template <class T>
struct work {
    std::vector<T> x, y;
    double eb;
    bytes moved_x, addend_x, addend_y;  // of the plain code

    work(std::vector<T> first, std::vector<T> second, double bound) : x(std::move(first)), y(std::move(second)), eb(bound)
    {
        const with_isa plain(ccoll::isa::portable);
        moved_x = moved(x, eb);
        addend_x = addend(x, eb);
        addend_y = addend(y, eb);
    }
    std::vector<bytes> done_with(ccoll::isa i) const
    {
        const with_isa those(i);
        const std::size_t n = x.size();
        const bytes both = sum<T>(addend_x, addend_y, n);
        return {moved(x, eb),
                addend(x, eb),
                addend(y, eb),
                both,
                sum<T>(addend_y, addend_x, n),
                sum<T>(addend_x, addend_x, n),
                decoded<T>(moved_x, n),
                decoded<T>(addend_x, n),
                decoded<T>(both, n)};
    }
};

/// The first step at which an instruction set leaves the plain code; none: empty.
template <class T>
std::string difference(const work<T>& w)
{
    const char* const steps[] = {"encode", "encode_addend", "encode_addend of y",  "x + y",          "y + x",
                                 "x + x",  "decode",        "decode of an addend", "decode of a sum"};
    const auto expected = w.done_with(ccoll::isa::portable);
    for (const ccoll::isa i : ccoll::every_isa) {
        if (!ccoll::machine_has(i)) continue;
        const auto found = w.done_with(i);
        for (std::size_t k = 0; k < expected.size(); ++k) {
            const bool is_frame = k < 6;  // none is empty, unless a codec gave up
            if (found[k] != expected[k] || (is_frame && found[k].empty())) return std::string(ccoll::name_of(i)) + ": " + steps[k];
        }
    }
    return {};
}

template <class T>
std::vector<T> negated(std::vector<T> x)
{
    for (T& v : x) v = -v;
    return x;
}

/// Numbers of steps whose differences need `width` bits, block by block as `widths` says. `limit` bounds the numbers.
std::vector<std::int64_t> planted(const std::vector<unsigned>& widths, std::int64_t limit, unsigned seed)
{
    fields::generator random(seed);
    std::vector<std::int64_t> q;
    std::int64_t last = 0;
    for (const unsigned width : widths) {
        const bool alone = random.below(4) == 0;  // one difference of this width and 31 of none
        const std::size_t chosen = random.below(32);
        for (std::size_t i = 0; i < 32; ++i) {
            const std::int64_t most = std::int64_t{1} << width >> 1;  // -most .. most - 1
            std::int64_t d =
                width == 0 || (alone && i != chosen) ? 0 : static_cast<std::int64_t>(random.below(std::size_t{1} << width)) - most;
            if (i == chosen && width > 0) d = random.bits() % 2 == 0 ? -most : most - 1;
            if (last + d > limit || last + d < -limit) d = ~d;  // as wide
            if (last + d > limit || last + d < -limit) d = last < 0 ? limit - last : -limit - last;
            q.push_back(last += d);
        }
    }
    return q;
}
template <class T>
std::vector<T> on_grid(const std::vector<std::int64_t>& q, double eb)
{
    const auto step = static_cast<double>(ccoll::detail::szp::quantiser<T>(eb).step);
    std::vector<T> x(q.size());
    for (std::size_t i = 0; i < q.size(); ++i) x[i] = static_cast<T>(static_cast<double>(q[i]) * step);
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("every instruction set gives SZp's plain bytes, at block and chunk edges, whatever the values and the bound",
                   "[codec][szp][isa]", float, double)
{
    using T = TestType;
    const std::size_t sizes[] = {0, 1, 31, 32, 33, 63, 64, 65, 1000, 4095, 4096, 4097, 8191, 8192, 8193, 20000};
    for (const std::size_t n : sizes) {
        const auto others = fields::all<T>(n, 9);
        std::size_t other = 0;
        for (const auto& field : fields::all<T>(n, 4)) {
            other = (other + 5) % others.size();  // pairs of different fields, too
            for (const double eb : {1e-1, 1e-3, 1e-5, 1e-7, 0.7, 1e-12, 1e3}) {
                INFO(field.name << " and " << others[other].name << ", n = " << n << ", eb = " << eb);
                CHECK(difference(work<T>(field.values, others[other].values, eb)) == "");
            }
        }
    }
}

TEMPLATE_TEST_CASE("every instruction set gives SZp's plain bytes for differences of every width beside every other", "[codec][szp][isa]",
                   float, double)
{
    using T = TestType;
    const double eb = 1e-3;
    // Up to 2^29 steps sums of two are narrow, up to 2^30 only addends are; up to 2^12 or 2^13 kernels take 16 bits for a value.
    for (const auto& [widest, limit] : {std::pair<unsigned, std::int64_t>{31, (1 << 29) - 200},
                                        {32, (1 << 30) - 200},
                                        {15, (1 << 14) - 3},
                                        {14, (1 << 13) - 2},
                                        {8, 300}}) {
        std::vector<unsigned> rows, columns;
        for (unsigned a = 0; a <= widest; ++a)
            for (unsigned b = 0; b <= widest; ++b) {
                rows.push_back(a);
                columns.push_back(b);
            }
        const auto x = on_grid<T>(planted(rows, limit, 1), eb), y = on_grid<T>(planted(columns, limit, 2), eb);
        INFO("widths up to " << widest << ", " << limit << " steps");
        CHECK(difference(work<T>(x, y, eb)) == "");
        CHECK(difference(work<T>(y, x, eb)) == "");
        CHECK(difference(work<T>(x, negated(x), eb)) == "");  // their sum is 0
        CHECK(difference(work<T>(y, y, eb)) == "");           // one bit wider
    }
}

TEMPLATE_TEST_CASE("every instruction set gives SZp's plain bytes where widths change from block to block", "[codec][szp][isa]", float,
                   double)
{
    using T = TestType;
    fields::generator random(3);
    for (unsigned round = 0; round < 60; ++round) {
        const unsigned widest = 1 + static_cast<unsigned>(random.below(32));
        std::vector<unsigned> a, b;
        for (std::size_t k = 0; k < 1 + random.below(400); ++k) {
            a.push_back(random.below(3) == 0 ? 0 : static_cast<unsigned>(random.below(widest + 1)));
            b.push_back(random.below(3) == 0 ? 0 : static_cast<unsigned>(random.below(widest + 1)));
        }
        b.resize(a.size());
        const std::int64_t limit = (std::int64_t{1} << random.below(30)) + 1;
        auto x = on_grid<T>(planted(a, limit, round), 0.25), y = on_grid<T>(planted(b, limit, round + 100), 0.25);
        if (round % 3 == 1)  // classes and raw blocks between them
            for (std::size_t i = random.below(300); i < x.size(); i += 1 + random.below(500))
                x[i] = i % 2 == 0 ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::quiet_NaN();
        x.resize(x.size() - random.below(32));
        y.resize(x.size());
        INFO("round " << round << ", widths up to " << widest << ", " << limit << " steps");
        CHECK(difference(work<T>(x, y, 0.25)) == "");
    }
}

TEMPLATE_TEST_CASE("every instruction set reads and writes SZp's frames at any address, and nothing beside them", "[codec][szp][isa]",
                   float, double)
{
    using T = TestType;
    for (const ccoll::isa i : ccoll::every_isa) {
        if (!ccoll::machine_has(i)) continue;
        const with_isa those(i);
        for (const std::size_t n : {1u, 32u, 100u, 8192u, 9001u})
            for (const auto& field : fields::all<T>(n))
                for (const std::size_t shift : {0u, 1u, 2u, 3u, 33u}) {
                    INFO(ccoll::name_of(i) << ", " << field.name << ", n = " << n << ", shift = " << shift);
                    CHECK(round_trip::check<C>(field.values, 1e-3, shift).good());
                }
    }
}

TEMPLATE_TEST_CASE("every instruction set finds the same largest value below a limit", "[codec][szp][isa]", float, double)
{
    using bits = ccoll::detail::fields_of<TestType>;
    for (const std::size_t n : {1u, 31u, 32u, 33u, 4099u, 8192u})
        for (const auto& x :
             {fields::smooth<TestType>(n), fields::wild<TestType>(n), fields::non_finite<TestType>(n), fields::bit_patterns<TestType>(n)})
            for (const auto limit : {bits::of(TestType(0.5)), bits::of(TestType(1e20)), bits::exponent, bits::magnitude(x[n / 2]) + 1}) {
                auto largest = decltype(limit){0};
                for (const TestType v : x)
                    if (bits::magnitude(v) < limit) largest = std::max<decltype(largest)>(largest, bits::magnitude(v));
                for (const ccoll::isa i : ccoll::every_isa) {
                    if (!ccoll::machine_has(i)) continue;
                    const with_isa use(i);
                    CHECK(ccoll::detail::szp::largest_below(x.data(), n, limit) == largest);
                }
            }
}

}  // namespace szp_isa_cases
