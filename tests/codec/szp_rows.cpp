// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized, optimised, links szp
// codec/szp.hpp, policy/strides.hpp: fields that say their shape have shorter frames and addends, and decode
// to the bits of those that do not.
#include <ccoll/exec.hpp>

#include "codec/szp_sums.hpp"

namespace szp_rows_cases {

using namespace szp_sums_cases;

namespace {

constexpr std::size_t chunk = 8192;

/// Smooth along both directions, with rows of `row` values.
template <class T>
std::vector<T> field_of_rows(std::size_t n, std::size_t row)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(i % row), b = static_cast<double>(i / row);
        x[i] = static_cast<T>(20 * std::sin(0.11 * a + 0.02 * b) * std::cos(0.037 * a - 0.05 * b) +
                              3 * std::sin(0.53 * a) + 280);
    }
    return x;
}

/// Smooth along three directions, and busy in each plane, which repeats with small changes.
template <class T>
std::vector<T> field_of_planes(std::size_t n, std::size_t row, std::size_t plane)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(i % plane % row), b = static_cast<double>(i % plane / row),
                     c = static_cast<double>(i / plane);
        x[i] = static_cast<T>(20 * std::sin(0.11 * a + 0.02 * b) * std::cos(0.037 * a - 0.05 * b + 0.01 * c) +
                              std::sin(1.9 * a + 2.3 * b) + 280 + 0.3 * c);
    }
    return x;
}

/// A continent in all rows, with a coast that is not straight, and islands.
bool is_land(std::size_t i, std::size_t row)
{
    const double a = static_cast<double>(i % row) / static_cast<double>(row),
                 b = static_cast<double>(i / row);
    return std::fabs(a - 0.3 - 0.05 * std::sin(0.4 * b)) < 0.1 + 0.02 * std::sin(1.9 * b) || i % 701 / 2 == 3;
}
template <class T>
std::vector<T> with_land(std::vector<T> x, std::size_t row, T marker)
{
    for (std::size_t i = 0; i < x.size(); ++i)
        if (is_land(i, row)) x[i] = marker;
    return x;
}

template <class T>
bytes frame_with_rows(const std::vector<T>& x, ccoll::field_strides strides, double eb)
{
    bytes frame(ccoll::max_encoded_bytes<C, T>(x.size()));
    const auto r = ccoll::encode<C>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, eb);
    REQUIRE(r.code == status::ok);
    frame.resize(r.bytes);
    return frame;
}

/// The values of a frame with a shape are those of one without, with every instruction set, and within the
/// bound.
/// @return its bytes
template <class T>
std::size_t bytes_with(const std::vector<T>& x, ccoll::field_strides strides, double eb, const bytes& plain)
{
    const std::size_t n = x.size();
    const auto y = round_trip::decoded<C, T>(plain, n);
    const bytes frame = frame_with_rows(x, strides, eb);
    CHECK(round_trip::count_outside(y, x, eb) == 0);
    const ccoll::isa usual = ccoll::isa_in_use();
    for (const ccoll::isa one : ccoll::every_isa) {
        if (ccoll::use_isa(one) != one) continue;
        INFO(ccoll::name_of(one));
        CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, n), y));
        CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame_with_rows(x, strides, eb), n), y));
        ccoll::frame_view view;
        std::vector<T> past(n);
        REQUIRE(ccoll::frame_codec_of<C, T>.open(frame, n, view) == status::ok);
        CHECK(ccoll::frame_codec_of<C, T>.decode(view, past, {ccoll::stores::streamed}, {}) == status::ok);
        CHECK(round_trip::same_bits(past, y));
    }
    ccoll::use_isa(usual);
    return frame.size();
}

/// Smooth along all directions, with rows of 187 values in planes of five rows.
template <class T>
std::vector<T> field(std::size_t n, double phase, double scale = 1)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(i % 187), b = static_cast<double>(i / 187),
                     busy = std::sin(1.9 * a + 0.3 * static_cast<double>(i / 187 % 5));
        x[i] = static_cast<T>(
            scale * (busy + 20 * std::sin(0.11 * a + 0.02 * b + phase) * std::cos(0.037 * a - 0.05 * b) +
                     3 * std::sin(0.53 * a + phase) + 28));
    }
    return x;
}

template <class T>
struct operand {
    std::vector<T> values;
    ccoll::field_strides strides;
};
template <class T>
struct shaped_family {
    std::string name;
    std::vector<operand<T>> operands;
};

constexpr double eb = 0.01;

/// Four operands each, which disagree about rows.
template <class T>
std::vector<shaped_family<T>> shaped_families(std::size_t n)
{
    const double step = step_of<T>(eb);
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    const auto a = field<T>(n, 0), b = field<T>(n, 1), c = field<T>(n, 2), d = field<T>(n, 3);
    const auto with = [](std::vector<T> x, std::size_t first, std::size_t every, T value) {
        for (std::size_t i = first; i < x.size(); i += every) x[i] = value;
        return x;
    };
    auto opposite = a;
    for (T& v : opposite) v = -v;
    fields::generator random(3);
    std::vector<T> noise(n), large(n);
    for (T& v : noise) v = static_cast<T>(random.unit());
    for (std::size_t i = 0; i < n; ++i)
        large[i] = static_cast<T>((i % 2 == 0 ? 1 : -1) * (0x1p30 - 200 - static_cast<double>(i)) * step);
    const ccoll::field_strides planes(187, 935);
    const std::vector<T> zero(n), constant(n, T(7)), wide(n, static_cast<T>(0x1.8p40 * step));
    const std::vector<T> far_up = field<T>(n, 1, 0x1p12), up = field<T>(n, 3, 0x1p7);
    return {
        {"all with rows", {{a, 187}, {b, 187}, {c, 187}, {d, 187}}},
        {"half of them", {{a, 187}, {b, 0}, {c, 187}, {d, 0}}},
        {"rows of different lengths", {{a, 187}, {b, 374}, {c, 0}, {d, 187}}},
        {"short rows", {{a, 17}, {b, {17, 187}}, {c, 187}, {d, {17, 187}}}},
        {"all with planes", {{a, planes}, {b, planes}, {c, planes}, {d, planes}}},
        {"planes, rows and neither", {{a, planes}, {b, 0}, {c, 187}, {d, planes}}},
        {"planes beside longer rows", {{a, planes}, {b, 374}, {c, {374, 935}}, {d, {187, 1870}}}},
        {"what cancels", {{a, planes}, {opposite, planes}, {a, 0}, {opposite, 187}}},
        {"large quanta beside planes", {{up, planes}, {far_up, planes}, {c, 187}, {large, 0}}},
        {"constants", {{a, 187}, {zero, 187}, {constant, 0}, {zero, 0}}},
        {"noise", {{a, 187}, {noise, 187}, {noise, 0}, {d, 187}}},
        {"sums beyond narrow quanta", {{a, 187}, {large, 187}, {large, 0}, {large, 187}}},
        {"wide quanta", {{a, 187}, {wide, 187}, {c, 187}, {d, 0}}},
        {"NaN and Inf",
         {{a, 187},
          {with(b, 5, 70, nan), 187},
          {with(c, 40, 70, infinity), 0},
          {with(d, 40, 140, -infinity), 187}}},
        {"far values in the same places",
         {{with(a, 7, 50, T(1e20)), 187},
          {with(b, 7, 50, T(1e20)), 0},
          {with(c, 7, 50, T(1e20)), planes},
          {with(d, 7, 50, T(1e20)), 374}}},
        {"far values in different places",
         {{with(a, 7, 50, T(1e20)), 187},
          {with(b, 9, 75, T(1e20)), 0},
          {c, planes},
          {with(d, 7, 91, T(1e20)), 374}}},
    };
}

template <std::size_t Rank>
struct mapped {  // the part of std::mdspan's interface that counts
    const float* at;
    std::size_t extents[Rank], strides[Rank];

    const float* data_handle() const { return at; }
    std::size_t size() const
    {
        std::size_t all = 1;
        for (const std::size_t extent : extents) all *= extent;
        return all;
    }
    bool is_exhaustive() const { return true; }
    static constexpr std::size_t rank() { return Rank; }
    std::size_t extent(std::size_t d) const { return extents[d]; }
    std::size_t stride(std::size_t d) const { return strides[d]; }
};

}  // namespace

TEMPLATE_TEST_CASE("SZp stores a field that says its shape in fewer bits, and it decodes to the same values",
                   "[codec][szp][rows]", float, double)
{
    using T = TestType;
    for (const std::size_t row : {16u, 17u, 31u, 33u, 100u, 187u, 1440u, 4000u})
        for (const std::size_t n : {chunk, 3 * chunk + 600, 3 * chunk - 77}) {
            INFO("rows of " << row << ", " << n << " values");
            const auto x = field_of_rows<T>(n, row);
            const auto plain = round_trip::frame_of<C>(x, 0.02);
            const std::size_t shaped = bytes_with(x, row, 0.02, plain);
            CHECK(shaped < plain.size());
            if (row < 1000 && n % chunk == 0) CHECK(10 * shaped < 8 * plain.size());
        }
}

TEMPLATE_TEST_CASE("SZp predicts from the plane before as well where a chunk holds several planes",
                   "[codec][szp][rows][planes]", float, double)
{
    using T = TestType;
    for (const auto& [row, plane] :
         {std::pair{32u, 256u}, {17u, 289u}, {33u, 1023u}, {40u, 1600u}, {64u, 2048u}})
        for (const std::size_t n : {chunk, 3 * chunk + 600}) {
            INFO("rows of " << row << ", planes of " << plane << ", " << n << " values");
            const auto x = field_of_planes<T>(n, row, plane);
            const auto plain = round_trip::frame_of<C>(x, 0.02);
            const std::size_t in_rows = bytes_with(x, row, 0.02, plain),
                              shaped = bytes_with(x, {row, plane}, 0.02, plain);
            CHECK(shaped < in_rows);
            CHECK(shaped < plain.size());
        }
}

TEMPLATE_TEST_CASE("SZp takes the two shortest strides that are long enough", "[codec][szp][rows][planes]",
                   float, double)
{
    using T = TestType;
    // Vectors of three components on a grid of 16 x 20 x 28 points: the components of neighbours stand in the
    // row before.
    const std::size_t n = 3 * 16 * 20 * 28;
    const auto grid = field_of_planes<T>(n / 3, 16, 320);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = (grid[i / 3] - T(250)) * static_cast<T>(i % 3 + 1);
    const auto shape = ccoll::shaped(x, {28, 20, 16, 3});
    CHECK(shape.strides.of[0] == 3);
    bytes frame(ccoll::max_encoded_bytes<C, T>(n));
    frame.resize(ccoll::encode<C>(shape, frame, 0.02).bytes);
    CHECK(frame == frame_with_rows(x, {48, 960}, 0.02));
    CHECK(10 * frame.size() < 8 * round_trip::frame_of<C>(x, 0.02).size());
    CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, n),
                                round_trip::decoded<C, T>(round_trip::frame_of<C>(x, 0.02), n)));
}

TEMPLATE_TEST_CASE("a shape changes no value of SZp: on lattices, at tight bounds, beside land and in noise",
                   "[codec][szp][rows]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const std::size_t n = 2 * chunk + 700;
    fields::generator random(5);
    std::vector<T> noise(n);
    for (T& v : noise) v = static_cast<T>(random.below(100000)) / T(1000);
    auto mixture = field_of_rows<T>(n, 187), lattice = mixture;
    mixture[5] = limits::quiet_NaN();
    mixture[chunk + 1] = T(1e9);
    for (std::size_t i = 0; i < chunk; i += 7) mixture[i] = T(-9999);
    for (T& v : lattice) v = std::nearbyint(v * 16) / 16;
    std::vector<fields::named<T>> list{{"noise", noise},
                                       {"a mixture", mixture},
                                       {"a lattice", lattice},
                                       {"constant", std::vector<T>(n, T(5))}};
    for (const T marker : {limits::quiet_NaN(), -limits::infinity(), T(1e20), T(-9999)})
        list.push_back({marker == T(-9999) ? "a marker that is an ordinary value" : "land",
                        with_land(field_of_rows<T>(n, 187), 187, marker)});
    for (const auto& [name, x] : list)
        for (const double bound : {3.0, 0.02, 1e-3, 1e-5, 1e-9, 1e-14})
            for (const ccoll::field_strides& strides :
                 {ccoll::field_strides(187), ccoll::field_strides(187, 1870), ccoll::field_strides(31),
                  ccoll::field_strides(8191), ccoll::field_strides(100000)}) {
                INFO(name << ", bound " << bound << ", rows of " << strides.of[0] << ", planes of "
                          << strides.of[1]);
                const auto plain = round_trip::frame_of<C>(x, bound);
                const std::size_t shaped = bytes_with(x, strides, bound, plain);
                const bool shows = std::string(name) == "land" || std::string(name) == "a lattice";
                if (shows && bound == 0.02 && strides == ccoll::field_strides(187))
                    CHECK(100 * shaped < 95 * plain.size());
            }
}

TEMPLATE_TEST_CASE("addends of a field that says its shape are shorter, and decode to the same bits",
                   "[codec][szp][rows][homomorphic]", float, double)
{
    using T = TestType;
    const T nan = std::numeric_limits<T>::quiet_NaN();
    for (const bool land : {false, true})
        for (const std::size_t row : {16u, 25u, 32u, 63u, 187u, 1440u})
            for (const std::size_t n : {chunk, 3 * chunk + 1, 5 * chunk - 77}) {
                INFO("rows of " << row << ", " << n << " values" << (land ? ", some of which are land" : ""));
                std::vector<T> x(n);
                for (std::size_t i = 0; i < n; ++i) {
                    const double a = static_cast<double>(i % row), b = static_cast<double>(i / row);
                    x[i] = static_cast<T>(
                        20 * std::sin(0.31 * a + 0.02 * b) * std::cos(0.037 * a - 0.05 * b) + 28);
                }
                if (land) x = with_land(x, row, row % 2 == 0 ? nan : T(1e20));
                const bytes plain = addend(x, eb).frame, with_rows = addend(x, eb, row).frame;
                CHECK((land ? with_rows.size() < plain.size() + plain.size() / 100
                            : 10 * with_rows.size() < 9 * plain.size()));
                const auto y = round_trip::decoded<C, T>(plain, n);
                CHECK(round_trip::same_bits(round_trip::decoded<C, T>(with_rows, n), y));
                const result threads = in_room(ccoll::max_addend_bytes<C, T>(n), [&](ccoll::byte_span dst) {
                    return ccoll::encode_addend<C>(ccoll::shaped_view<const T>{x, row, n}, dst, eb,
                                                   Exec::Threads<3>{});
                });
                CHECK(threads.frame.size() == with_rows.size());
                CHECK(round_trip::same_bits(values_of<T>(threads, n), y));
            }
}

TEMPLATE_TEST_CASE(
    "a sum of addends with and without rows decodes to the bits of one without, in every order",
    "[codec][szp][rows][homomorphic]", float, double)
{
    using T = TestType;
    const ccoll::isa usual = ccoll::isa_in_use();
    for (const std::size_t n : {chunk, 700 + chunk, std::size_t{4000}})
        for (const auto& f : shaped_families<T>(n)) {
            INFO(f.name << ", " << n << " values");
            std::vector<bytes> frames, plain;
            for (const auto& x : f.operands) {
                frames.push_back(addend(x.values, eb, x.strides).frame);
                plain.push_back(addend(x.values, eb).frame);
            }
            result sum, expected;
            CHECK(order_dependent<T>(frames, n, sum) == 0);
            CHECK(order_dependent<T>(plain, n, expected) == 0);
            REQUIRE(sum.code == status::ok);
            REQUIRE(expected.code == status::ok);
            const auto y = values_of<T>(expected, n);
            CHECK(round_trip::same_bits(values_of<T>(sum, n), y));
            for (const ccoll::isa one : ccoll::every_isa) {
                if (ccoll::use_isa(one) != one) continue;
                INFO(ccoll::name_of(one));
                CHECK(round_trip::same_bits(round_trip::decoded<C, T>(total<T>(frames, n), n), y));
            }
            ccoll::use_isa(usual);
        }
}

TEMPLATE_TEST_CASE("values are encoded and added in one pass as they are in two, with rows as without",
                   "[codec][szp][rows][homomorphic]", float, double)
{
    using T = TestType;
    const std::size_t n = 2 * chunk + 333;
    for (const auto& f : shaped_families<T>(n))
        for (const ccoll::field_strides& strides :
             {ccoll::field_strides(), ccoll::field_strides(187), ccoll::field_strides(187, 935)}) {
            INFO(f.name << ", rows of " << strides.of[0] << ", planes of " << strides.of[1]);
            const auto& own = f.operands[0].values;
            const bytes theirs = addend(f.operands[1].values, eb, f.operands[1].strides).frame;
            ccoll::frame_view view;
            REQUIRE(ccoll::frame_codec_of<C, T>.open(theirs, n, view) == status::ok);
            const result r = in_room(ccoll::max_addend_bytes<C, T>(n), [&](ccoll::byte_span dst) {
                return ccoll::detail::chunked_addends<C, T>::encode_add(own, view, dst, {eb, strides}, {});
            });
            const auto expected = values_of<T>(add<T>(addend(own, eb, strides).frame, theirs, n), n);
            REQUIRE(r.code == status::ok);
            CHECK(round_trip::same_bits(values_of<T>(r, n), expected));
        }
}

TEST_CASE("the strides of a buffer are those that shaped(), its traits or its extents say", "[codec][rows]")
{
    using strides = ccoll::field_strides;
    std::vector<float> x(6000);
    CHECK(ccoll::strides_of(x).none());
    CHECK(ccoll::strides_of(ccoll::shaped(x, {20, 300})) == strides(300));
    CHECK(ccoll::strides_of(ccoll::shaped(std::span<const float>(x), {2, 30, 100})) == strides(100, 3000));
    CHECK(ccoll::strides_of(ccoll::shaped(x, {6000})).none());
    for (const auto& line :
         {ccoll::shaped(x, {1, 6000}), ccoll::shaped(x, {6000, 1}), ccoll::shaped(x, {1, 6000, 1})})
        CHECK(ccoll::strides_of(line).none());
    CHECK(ccoll::strides_of(ccoll::shaped(x, {60, 1, 100, 1})) == strides(100));
    CHECK(ccoll::strides_of(ccoll::shaped(x, {2, 3, 4, 5, 50})) == [] {
        strides s(50, 250);
        s.add(1000);
        return s;
    }());                                                                                // not 3000
    CHECK(ccoll::strides_of(mapped<2>{x.data(), {20, 300}, {300, 1}}) == strides(300));  // layout_right
    CHECK(ccoll::strides_of(mapped<2>{x.data(), {20, 300}, {1, 20}}) == strides(20));    // layout_left
    CHECK(ccoll::strides_of(mapped<3>{x.data(), {3, 20, 100}, {2000, 100, 1}}) == strides(100, 2000));
    CHECK(ccoll::strides_of(mapped<3>{x.data(), {3, 20, 100}, {1, 3, 60}}) == strides(3, 60));
    CHECK(ccoll::strides_of(mapped<2>{x.data(), {6000, 1}, {1, 1}}).none());
    CHECK(strides(3, 60).first_from(4) == 60);
    CHECK(strides(3, 60).first_from(61) == 0);
    CHECK(strides(3, 60).in_elements(2) == strides(6, 120));

    bytes room(ccoll::max_encoded_bytes<C, float>(x.size()));
    CHECK(ccoll::encode<C>(ccoll::shaped(x, {20, 300}), room, 0.1).code == status::ok);
    CHECK(ccoll::encode<C>(ccoll::shaped(x, {20, 301}), room, 0.1).code == status::size_mismatch);
    CHECK(ccoll::encode<C>(ccoll::shaped(x, {20, 301}), room, 0.1, Exec::Threads<2>{}).code ==
          status::size_mismatch);
}

}  // namespace szp_rows_cases
