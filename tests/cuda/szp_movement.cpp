// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// The kernels of SZp for movement, under the emulator, beside a reader and writer that were made from the
// page.
// Values and quanta are compared, never bytes: how quanta are packed is free.
#include "szp_cases.hpp"

namespace szp_cases {

TEMPLATE_TEST_CASE("SZp on a device: values that have been moved are those of the law", "[cuda][szp]", float,
                   double)
{
    for (const auto& [name, x] : all_fields<TestType>(8192 + 300))
        for (const double eb : {1e-1, 1e-3, 1e-5, 1e-7}) {
            INFO(name << ", bound " << eb);
            check_movement(x, eb);
        }
}

TEMPLATE_TEST_CASE("SZp on a device: every length around blocks, groups and chunks, from any address",
                   "[cuda][szp]", float, double)
{
    for (const std::size_t n : std::initializer_list<std::size_t>{0, 1, 511, 512, 513, 1000, 1024, 1025, 8191,
                                                                  8192, 8193, 3 * 8192 + 777})
        for (const auto& x : {fields::smooth<TestType>(n + 1), fields::non_finite<TestType>(n + 1)})
            for (const std::size_t from : {0u, 1u}) {
                INFO("n " << n << ", from " << from);
                check_movement(x, 1e-3, {}, from);
            }
}

TEMPLATE_TEST_CASE(
    "SZp on a device: a declared missing value survives bit for bit, also where it would have a quantum",
    "[cuda][szp]", float, double)
{
    using T = TestType;
    std::vector<T> x = fields::smooth<T>(2 * 8192 + 500);
    for (std::size_t i = 0; i < 9000; ++i)
        if (i % 100 < 30) x[i] = T(-0.5);
    x[8192 + 2000] = T(-0.5);
    x[2 * 8192 + 499] = T(-0.5);
    check_movement<T>(x, 1e-3, reference::bits_of(T(-0.5)));
    check_movement<T>(x, 1e-6, reference::bits_of(T(-0.5)));
}

TEMPLATE_TEST_CASE(
    "SZp on a device: coasts, steps of a chunk's own and multiples of a power of two are not for the second "
    "kernel",
    "[cuda][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 2 * 8192 + 1700;
    for (int land = 0; land < 4; ++land)
        for (const bool multiples : {false, true})
            for (const double eb : {1e-1, 1e-3, 1e-5, 1e-6}) {
                std::vector<T> x = with_coast<T>(n, 1, land);
                for (T& v : x)
                    if (multiples && std::isfinite(v) && v < T(1e10)) v = std::nearbyint(v * 64) / 4;
                INFO("land " << land << (multiples ? ", multiples of 1/4" : "") << ", bound " << eb);
                check_movement(x, eb);
                const result r = encode(x.data(), n, eb);
                CHECK(r.listed == 0);
                // Nothing but their widths says how large quanta on a grid of a chunk's own are. Where they
                // might be too large for f32, the second kernel decodes the chunk.
                if (sizeof(T) == 8 || eb > 1e-6) CHECK(decode(r.frame, x).listed == 0);
            }
}

TEMPLATE_TEST_CASE(
    "SZp on a device: a chunk with 255 changes of exceptional values is moved, with 256 it is raw",
    "[cuda][szp]", float, double)
{
    using T = TestType;
    for (const std::size_t different : {255u, 256u, 257u}) {
        std::vector<T> x = fields::smooth<T>(8192);
        for (std::size_t i = 0; i < different; ++i)
            x[32 * (i % 256) + i / 256] = static_cast<T>(1e20 * (1 + static_cast<double>(i)));
        INFO(different);
        check_movement(x, 1e-3);
        CHECK(encode(x.data(), x.size(), 1e-3).told.raw_chunks == (different > 256));
    }
}

TEST_CASE("SZp on a device: quanta at the ends of the rows of the law", "[cuda][szp]")
{
    const double eb = 1e-3;
    const auto check = [&](auto zero) {
        using T = decltype(zero);
        const reference::law<T> z(eb);
        std::vector<T> x;
        fields::generator random(1);
        for (std::size_t i = 0; i < 8192; ++i) {
            const double at = std::ldexp(z.step, static_cast<int>(i / 1024 == 0   ? 13
                                                                  : i / 1024 == 1 ? 14
                                                                  : i / 1024 == 2 ? 22
                                                                                  : 29 + i / 1024 - 2));
            x.push_back(static_cast<T>(at * (i % 2 == 0 ? 1 : -1) +
                                       (static_cast<double>(random.below(9)) - 4) * z.step * 0.5));
        }
        for (std::size_t from = 0; from < 8192; from += 1024) {  // each range alone, and all together
            const std::vector<T> part(x.begin() + static_cast<std::ptrdiff_t>(from),
                                      x.begin() + static_cast<std::ptrdiff_t>(from + 1024));
            INFO("from " << from);
            check_terms(reference::read_addend<T>(encode_addend(part.data(), 1024, eb).frame),
                        terms_of(part, z));
            check_movement(part, eb);
        }
        check_terms(reference::read_addend<T>(encode_addend(x.data(), 8192, eb).frame), terms_of(x, z));
        check_movement(x, eb);
        for (const double q : {0x1p14 - 1, 0x1p14, 0x1p22 - 1, 0x1p22, 0x1p23, 0x1p30 - 1, 0x1p30, 0x1p31 - 1,
                               0x1p31, 0x1p32 - 1, 0x1p32 + 1, 0x1p33})
            for (const double sign : {1.0, -1.0}) {
                INFO("a constant of " << sign * q << " steps");
                const std::vector<T> constant(1024, static_cast<T>(sign * q * z.step));
                check_terms(reference::read_addend<T>(encode_addend(constant.data(), 1024, eb).frame),
                            terms_of(constant, z));
                check_movement(constant, eb);
            }
    };
    check(0.0f);
    check(0.0);
}

TEMPLATE_TEST_CASE("SZp on a device: bounds at the ends of what there is", "[cuda][szp]", float, double)
{
    for (const double eb : {1e-320, 1e-307, 1e-40, 1e-37, 1e-30, 1e30, 1e38, 9e299})
        for (const auto& x : {fields::wild<TestType>(1300), fields::smooth<TestType>(1300)}) {
            INFO("bound " << eb);
            check_movement(x, eb);
            const reference::law<TestType> z(eb);
            const result r = encode_addend(x.data(), x.size(), eb);
            if (r.told.code == 0) check_terms(reference::read_addend<TestType>(r.frame), terms_of(x, z));
            else CHECK(r.told.code == static_cast<unsigned>(ccoll::status::too_large));
        }
    bytes frame = encode(fields::smooth<TestType>(1300).data(), 1300, 1e-3).frame;
    const double none = 1e-320;  // below the least bound there are only raw chunks
    std::memcpy(frame.data() + 16, &none, 8);
    std::vector<TestType> out(1300);
    CHECK(decode(frame, out).told.code == static_cast<unsigned>(ccoll::status::corrupt));
    CHECK_THROWS(reference::decode_movement<TestType>(frame));
}

TEMPLATE_TEST_CASE("SZp on a device: reads every form of a chunk for movement", "[cuda][szp]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {300u, 1100u, 8192u})
        for (const auto& [name, how] : all_forms())
            for (const double scale : {4.0, 100.0, 3e6})
                for (int what = 0; what < 3; ++what) {
                    INFO(name << ", n " << n << ", scale " << scale << ", case " << what);
                    reference::chunk c = quanta_of_field<T>(n, 3, scale, what == 1, false);
                    c.scale = what == 2;
                    c.step = 0.75;
                    reference::frame f{n, 1e-3, 0, {{false, reference::write_chunk<T>(c, how)}}};
                    if (f.chunks[0].data.size() >= n * sizeof(T)) continue;  // it would be raw
                    const bytes frame = reference::write_frame<T>(f, how.mixed);
                    std::vector<T> out(n, T(-77));
                    CHECK(decode(frame, out).told.code == 0);
                    check_same(out, reference::decode_movement<T>(frame));
                }
    const auto check = [](const reference::chunk& c, const reference::forms& how) {
        const bytes frame =
            reference::write_frame<T>({1000, 1e-3, 0, {{false, reference::write_chunk<T>(c, how)}}});
        std::vector<T> out(1000);
        CHECK(decode(frame, out).told.code == 0);
        check_same(out, reference::decode_movement<T>(frame));
    };
    reference::chunk flat, far;
    flat.q.assign(1000, 77);
    for (std::int64_t i = 0; i < 1000; ++i)
        far.q.push_back(i % 3 == 0 ? 0x7fffffff - i : i - 0x7fffffff);  // differences run over
    flat.step = far.step = 0.5;
    for (const int scale : {0, 1}) {
        reference::forms how;
        how.flat = true;
        flat.scale = scale;
        check(flat, how);
        how.flat = false;
        far.scale = scale;
        check(far, how);
        how.row = 45;
        check(far, how);
        how.plane = 100;
        check(far, how);
    }
}

TEMPLATE_TEST_CASE(
    "SZp on a device: a frame for movement of which any byte is wrong is read as the page says, or refused",
    "[cuda][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 1100;
    for (const std::size_t form : {0u, 6u, 7u, 11u}) {
        reference::chunk c = quanta_of_field<T>(n, 3, 3, form > 0, false);
        const bytes frame = reference::write_frame<T>(
            {n, 1e-3, 0, {{false, reference::write_chunk<T>(c, all_forms()[form].how)}}});
        INFO(all_forms()[form].name);
        damage_each_byte<T>(
            frame, false,
            [&](const bytes& f) {
                reference::must(reference::read_frame<T>(f).n == n, "n");
                return reference::decode_movement<T>(f);
            },
            [&](const bytes& f, const std::vector<T>* expected) {
                std::vector<T> out(n);
                const unsigned code = decode(f, out).told.code;
                if (code == 0 && expected != nullptr) check_same(out, *expected, true);
                return code;
            });
    }
}

TEMPLATE_TEST_CASE("SZp on a device: exceptional values that end behind the chunk are refused, and not read",
                   "[cuda][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 8192, kinds = 4 + n / 32 / 4;  // a section begins with so many bytes
    for (const bool addend : {false, true}) {
        const bytes chunk =
            reference::write_chunk<T>(quanta_of_field<T>(n, 3, 3, true, addend), all_forms()[0].how);
        bytes frame = reference::write_frame<T>({n, 1e-3, addend ? 1u : 0u, {{false, chunk}}});
        for (std::size_t left = 16; left < kinds; left += 16) {
            INFO((addend ? "addend, " : "") << left << " bytes are left for them");
            const auto place = static_cast<std::uint16_t>((chunk.size() - left) / 16);
            std::memcpy(frame.data() + frame.size() - chunk.size() + 6, &place, 2);
            std::vector<T> out(n);
            CHECK(decode(frame, out).told.code == static_cast<unsigned>(ccoll::status::corrupt));
            CHECK_THROWS(addend ? static_cast<void>(reference::read_addend<T>(frame))
                                : static_cast<void>(reference::decode_movement<T>(frame)));
        }
    }
}

}  // namespace szp_cases
