// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised
// The kernels of SZp for addends, under the emulator, beside a reader and writer that were made from the
// page.
// Values and quanta are compared, never bytes: how quanta are packed is free.
#include "szp_cases.hpp"

namespace szp_cases {

TEMPLATE_TEST_CASE("SZp on a device: addends have the quanta of the law, and so have their sums",
                   "[cuda][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 8192 + 1100;
    std::vector<fields::named<T>> list = all_fields<T>(n);
    for (std::size_t k = 0; k < list.size(); ++k)
        for (const double eb : {k % 2 == 0 ? 1e-1 : 1e-3, k % 2 == 0 ? 1e-5 : 1e-7}) {
            const std::vector<T>&x = list[k].values, &y = list[(k + 2) % list.size()].values;
            INFO(list[k].name << " + " << list[(k + 2) % list.size()].name << ", bound " << eb);
            const reference::law<T> z(eb);
            const auto p = terms_of(x, z), q = terms_of(y, z);
            const result a = encode_addend(x.data(), n, eb), b = encode_addend(y.data(), n, eb);
            std::map<reference::wide, int> different;
            for (std::size_t i = 0; i < 8192; ++i)
                if (p[i].has_w) different[p[i].w];
            if (different.size() > 256) {  // a dictionary cannot hold them
                CHECK(a.told.code == static_cast<unsigned>(ccoll::status::too_large));
                CHECK(reference::read_frame<T>(a.frame).flags == 3);
                continue;
            }
            REQUIRE(a.told.code == 0);
            check_terms(reference::read_addend<T>(a.frame), p);
            check_decoded(a.frame, p, z);
            if (b.told.code != 0) {
                CHECK(add<T>(a.frame, b.frame, n).told.code ==
                      static_cast<unsigned>(ccoll::status::too_large));
                continue;
            }
            const auto expected = sums_of(p, q);
            const result both = add<T>(a.frame, b.frame, n), fused = encode_add(x.data(), n, eb, b.frame);
            REQUIRE(both.told.code == 0);
            REQUIRE(fused.told.code == 0);
            check_terms(reference::read_addend<T>(both.frame), expected);
            check_terms(reference::read_addend<T>(fused.frame), expected);
            check_decoded(both.frame, expected, z);
        }
}

TEMPLATE_TEST_CASE("SZp on a device: addends with coasts in the same places are not for the second kernel",
                   "[cuda][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 2 * 8192 + 1700;
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k)
            for (const double eb : {k % 2 == 0 ? 1e-1 : 1e-3, k % 2 == 0 ? 1e-5 : 1e-6}) {
                if ((i == 3) != (k == 3)) continue;
                INFO("land " << i << " + " << k << ", bound " << eb);
                const reference::law<T> z(eb);
                const std::vector<T> x = with_coast<T>(n, 1, i), y = with_coast<T>(n, 2, k);
                const result a = encode_addend(x.data(), n, eb), b = encode_addend(y.data(), n, eb);
                const result sum = add<T>(a.frame, b.frame, n), fused = encode_add(x.data(), n, eb, b.frame);
                const auto expected = sums_of(terms_of(x, z), terms_of(y, z));
                check_terms(reference::read_addend<T>(a.frame), terms_of(x, z));
                check_terms(reference::read_addend<T>(sum.frame), expected);
                check_terms(reference::read_addend<T>(fused.frame), expected);
                check_decoded(sum.frame, expected, z);
                CHECK(a.listed + b.listed + sum.listed == 0);
                if (i != 2 || k != 2) CHECK(fused.listed == 0);
                std::vector<T> out(n);
                CHECK(decode(sum.frame, out).listed == 0);
            }
}

TEMPLATE_TEST_CASE("SZp on a device: sums of exceptional values have no order", "[cuda][szp]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {1u, 255u, 8192u + 33u}) {
        const auto x = operands<T>(n);
        const marker<T> missing = reference::bits_of(T(-9999));
        const reference::law<T> z(1e-3, missing);
        std::vector<bytes> f;
        for (const auto& each : x) f.push_back(encode_addend(each.data(), n, 1e-3, missing).frame);
        const bytes ab = add<T>(f[0], f[1], n).frame, bc = add<T>(f[1], f[2], n).frame;
        const auto expected = sums_of(sums_of(terms_of(x[0], z), terms_of(x[1], z)), terms_of(x[2], z));
        const bytes one = add<T>(ab, f[2], n).frame, two = add<T>(f[0], bc, n).frame,
                    three = encode_add(x[2].data(), n, 1e-3, ab, missing).frame;
        for (const bytes* each : {&one, &two, &three}) {
            check_terms(reference::read_addend<T>(*each), expected);
            check_decoded(*each, expected, z);
        }
    }
}

TEMPLATE_TEST_CASE("SZp on a device: adds and decodes every form of an addend", "[cuda][szp]", float, double)
{
    using T = TestType;
    const reference::law<T> z(1e-3);
    for (const std::size_t n : {40u, 1100u, 8192u})
        for (std::size_t k = 0; k < all_forms().size(); ++k)
            for (const bool exceptions : {false, true}) {
                auto [name, how] = all_forms()[k];
                auto other = all_forms()[(5 * k + 1) % all_forms().size()];
                how.lists = other.how.lists = false;
                if (n < 200) how.row = how.plane = other.how.row = other.how.plane = 0;
                INFO(name << " + " << other.name << ", n " << n
                          << (exceptions ? ", exceptional values" : ""));
                const reference::chunk c = quanta_of_field<T>(n, 3, k % 2 == 0 ? 100 : 1e6, exceptions, true),
                                       d = quanta_of_field<T>(n, 4, 1000, exceptions, true);
                const bytes a = reference::write_frame<T>(
                                {n, 1e-3, 1, {{false, reference::write_chunk<T>(c, how)}}}, how.mixed),
                            b = reference::write_frame<T>(
                                {n, 1e-3, 1, {{false, reference::write_chunk<T>(d, other.how)}}});
                const auto p = reference::read_addend<T>(a), q = reference::read_addend<T>(b);
                check_decoded(a, p, z);
                const result r = add<T>(a, b, n);
                REQUIRE(r.told.code == 0);
                check_terms(reference::read_addend<T>(r.frame), sums_of(p, q));
                const std::vector<T> x = fields::smooth<T>(n);
                const result fused = encode_add(x.data(), n, 1e-3, a);
                REQUIRE(fused.told.code == 0);
                check_terms(reference::read_addend<T>(fused.frame), sums_of(p, terms_of(x, z)));
            }
}

TEMPLATE_TEST_CASE(
    "SZp on a device: a sum of exceptional values that reaches 2^190 is refused, and one below is not",
    "[cuda][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 1100;
    for (const std::size_t others : {0u, 1u, 5u})  // one value for all places, or several
        for (const bool negative : {false, true})
            for (const bool reaches : {false, true}) {
                INFO(others << " others, " << (negative ? "negative" : "positive")
                            << (reaches ? ", 2^190" : ", less"));
                reference::wide half{0, 0, std::uint64_t{1} << 61};  // 2^189
                if (!reaches) half = reference::add(half, reference::negated({1, 0, 0}));
                if (negative) half = reference::negated(half);
                reference::chunk c = quanta_of_field<T>(n, 3, 100, false, true);
                c.addends[7] = {false, half};
                for (std::size_t k = 0; k < others; ++k) c.addends[100 + 30 * k] = {false, {k + 1, 0, 0}};
                const bytes a =
                    reference::write_frame<T>({n, 1e-3, 1, {{false, reference::write_chunk<T>(c, {})}}});
                const result sum = add<T>(a, a, n);
                CHECK(sum.told.code == (reaches ? static_cast<unsigned>(ccoll::status::too_large) : 0u));
                if (!reaches)
                    check_terms(reference::read_addend<T>(sum.frame),
                                sums_of(reference::read_addend<T>(a), reference::read_addend<T>(a)));
            }
}

TEMPLATE_TEST_CASE(
    "SZp on a device: an addend of which any byte is wrong is added as the page says, or refused",
    "[cuda][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 1100;
    const std::vector<T> x = fields::smooth<T>(n);
    for (const std::size_t form : {0u, 6u}) {
        const bytes frame = reference::write_frame<T>(
            {n,
             1e-3,
             1,
             {{false, reference::write_chunk<T>(quanta_of_field<T>(n, 3, 3, form > 0, true),
                                                all_forms()[form].how)}}});
        const auto read = [&](const bytes& f) {
            const auto terms = reference::read_addend<T>(f);
            reference::must(terms.size() == n && reference::read_frame<T>(f).bound == 1e-3,
                            "n, and the bound");
            return terms;
        };
        const auto terms = read(frame), of_x = terms_of(x, reference::law<T>(1e-3));
        damage_each_byte<T>(
            frame, true, read, [&](const bytes& f, const std::vector<reference::term>* expected) {
                const result r = add<T>(frame, f, n);
                if (r.told.code == 0 && expected != nullptr)
                    check_terms(reference::read_addend<T>(r.frame), sums_of(terms, *expected));
                return r.told.code;
            });
        damage_each_byte<T>(
            frame, true, read,
            [&](const bytes& f, const std::vector<reference::term>* expected) {
                const result r = encode_add(x.data(), n, 1e-3, f);
                if (r.told.code == 0 && expected != nullptr)
                    check_terms(reference::read_addend<T>(r.frame), sums_of(*expected, of_x));
                return r.told.code;
            },
            5);
    }
}

}  // namespace szp_cases
