// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of SZp on a GPU, beside the host's coder and the reader that was made from the page: values,
// quanta and exceptional values are the same. How they are packed may differ. Arguments: 'brief', 'coasts' or
// 'race' for a sanitizer.
#include "szp_host.hpp"
#include "szp_on_gpu.hpp"

#include <chrono>
#include <utility>

namespace {

using namespace szp_on_gpu;
using szp_fields::all_forms;
namespace reference = szp_reference;
namespace host = szp_host;

constexpr unsigned is_ok = 0;

template <class T>
struct named_case {
    std::string name;
    double eb;
    marker<T> missing;

    std::string of(const char* what, std::size_t n, std::size_t shift = 0) const
    {
        return std::string(what) + " of " + name + (sizeof(T) == 4 ? ", f32" : ", f64") + ", n " +
               std::to_string(n) + ", bound " + std::to_string(eb) + (shift != 0 ? ", unaligned" : "") +
               (missing ? ", with a missing value" : "");
    }
};

/// What was decoded on the device is that, and nothing else was written.
template <class T>
void check_decoding(const std::string& what, const bytes& frame, const std::vector<T>& expected,
                    const marker<T>& missing, std::size_t shift = 0)
{
    std::vector<T> out(expected.size());
    const result r = decode(frame, out, missing, shift);
    gpu::check(r.told.code == is_ok && r.told.bytes == 0, what + ": code " + std::to_string(r.told.code));
    gpu::check(r.clean, what + ": writes nothing else");
    std::size_t i = 0;
    while (i < out.size() && reference::bits_of(out[i]) == reference::bits_of(expected[i])) ++i;
    if (i == out.size()) gpu::check(true, what);
    else
        gpu::check(false, what + ": value " + std::to_string(i) + " is " + std::to_string(out[i]) + ", not " +
                              std::to_string(expected[i]));
}

template <class T>
void movement(const named_case<T>& c, const std::vector<T>& x, std::size_t shift)
{
    const bytes by_host = host::encode(x, c.eb, c.missing).frame;
    const std::vector<T> moved = host::decode<T>(by_host).values;
    const result r = encode(x, c.eb, c.missing, shift);
    const auto what = [&](const char* w) { return c.of(w, x.size(), shift); };
    gpu::check(r.told.code == is_ok, what("encode") + ": code " + std::to_string(r.told.code));
    gpu::check(r.clean, what("encode, which writes nothing else,"));
    const auto read = host::decode<T>(r.frame);
    gpu::check(read.code == ccoll::status::ok && same_bits(read.values, moved), what("encode"));
    check_decoding(what("decode, from the device,"), r.frame, moved, c.missing, shift);
    check_decoding(what("decode, from the host,"), by_host, moved, c.missing);
}

/// Do two addends hold the same quanta and exceptional values? Of long ones, the values are compared.
template <class T>
bool same_terms(const bytes& a, const bytes& b, const marker<T>& missing, bool closely)
{
    if (closely) {
        try {
            return reference::read_addend<T>(a) == reference::read_addend<T>(b);
        } catch (const std::runtime_error& e) {
            std::printf("%s\n", e.what());
            return false;
        }
    }
    const auto x = host::decode<T>(a, missing), y = host::decode<T>(b, missing);
    return x.code == ccoll::status::ok && y.code == x.code && same_bits(x.values, y.values);
}
/// @param closely  quanta are compared, by the slow reader
template <class T>
void addends(const named_case<T>& c, const std::vector<T>& x, const std::vector<T>& y, std::size_t shift,
             bool closely)
{
    const std::size_t n = x.size();
    const auto check = [&](const char* name, const result& r, const host::frame_result& expected) {
        const std::string what = c.of(name, n, shift);
        gpu::check(r.told.code == code_of(expected.code), what + ": code " + std::to_string(r.told.code));
        gpu::check(r.clean, what + ": writes nothing else");
        if (expected.code == ccoll::status::ok && r.told.code == is_ok)
            return gpu::check(same_terms<T>(r.frame, expected.frame, c.missing, closely), what);
        return gpu::check(expected.code == ccoll::status::ok || reference::read_frame<T>(r.frame).flags == 3,
                          what + ": too large");
    };
    const host::frame_result a = host::encode_addend(x, c.eb, c.missing),
                             b = host::encode_addend(y, c.eb, c.missing);
    const result d = encode_addend(x, c.eb, c.missing, shift);
    if (!check("encode_addend", d, a) || a.code != ccoll::status::ok) return;
    check_decoding<T>(c.of("decode an addend", n), d.frame, host::decode<T>(a.frame, c.missing).values,
                      c.missing, shift);
    check_decoding<T>(c.of("decode an addend of the host", n), a.frame,
                      host::decode<T>(a.frame, c.missing).values, c.missing);
    if (b.code != ccoll::status::ok) return;
    const host::frame_result sum = host::add<T>(a.frame, b.frame);
    const result of_device = add<T>(d.frame, b.frame, n);
    check("add", of_device, sum);
    check("encode_add", encode_add(x, c.eb, b.frame, c.missing, shift), sum);
    if (sum.code != ccoll::status::ok || of_device.told.code != is_ok) return;
    check_decoding<T>(c.of("decode a sum", n), of_device.frame, host::decode<T>(sum.frame, c.missing).values,
                      c.missing);
    const host::frame_result more = host::add<T>(sum.frame, a.frame);
    check("add a sum", add<T>(of_device.frame, a.frame, n), more);
    check("encode_add to a sum", encode_add(x, c.eb, of_device.frame, c.missing, shift), more);
}

template <class T>
void all_operations(const std::vector<fields::named<T>>& list, const std::vector<double>& bounds,
                    std::size_t shift, bool closely)
{
    for (std::size_t k = 0; k < list.size(); ++k)
        for (const double eb : bounds) {
            const named_case<T> c{list[k].name, eb, {}};
            movement(c, list[k].values, shift);
            addends(c, list[k].values, list[(k + 2) % list.size()].values, shift, closely);
        }
}
template <class T>
void coasts(bool brief)
{
    for (const double eb : {1e-1, 1e-3, 1e-5, 1e-6})  // in the same places of both operands
        for (int land = 0; land < 4; ++land) {
            const named_case<T> c{"a coast", eb, {}};
            const std::vector<T> x = szp_fields::with_coast<T>(8192 + 1700, 1, land),
                                 y = szp_fields::with_coast<T>(x.size(), 2, land);
            movement(c, x, 0);
            addends(c, x, y, 0, !brief);
            if (!brief) addends(c, x, szp_fields::with_coast<T>(x.size(), 2, (land + 1) % 3), 1, true);
        }
}
template <class T>
void lengths(bool brief)
{
    if (brief) return all_operations<T>(szp_fields::all_fields<T>(9000), {1e-1, 1e-6}, 1, false);
    for (const std::size_t n :
         {0u, 1u, 7u, 33u, 511u, 512u, 513u, 1023u, 8191u, 8192u, 8193u, 3u * 8192 + 777})
        for (const std::size_t shift : {0u, 1u, 3u})
            all_operations<T>({{"smooth", fields::smooth<T>(n)}, {"land", szp_fields::operands<T>(n)[0]}},
                              {1e-1, 1e-3, 1e-6}, shift, n < 1100);
    all_operations<T>(szp_fields::all_fields<T>(8192 + 1100), {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7}, 1,
                      false);
    all_operations<T>(szp_fields::all_fields<T>(8192 + 1100), {1e-1, 1e-3, 1e-6}, 0, true);
    const std::size_t n = 2000003;  // more chunks than thread blocks run at once
    std::vector<T> x = fields::smooth<T>(n), land = x, uneven = x;
    fields::generator random(5);
    for (std::size_t i = 0; i < n; ++i) {
        if (i % 128 < 13) land[i] = i / 8192 % 3 == 0 ? std::numeric_limits<T>::quiet_NaN() : T(1e20);
        uneven[i] = static_cast<T>(uneven[i] * (i / 8192 % 5 == 0 ? 1e5 : 1) +
                                   (i / 8192 % 4 == 0 ? 0.1 * random.unit() : 0));
    }
    all_operations<T>({{"many chunks", x}, {"many chunks of land", land}, {"uneven chunks", uneven}},
                      {1e-2, 1e-4, 1e-6}, 0, false);
}

/// Values at the ends of the rows of the law, of bounds, and of what may differ.
template <class T>
void edges()
{
    const double eb = 1e-3;
    const reference::law<T> z(eb);
    fields::generator random(1);
    std::vector<T> x;
    for (std::size_t i = 0; i < 8192; ++i) {
        constexpr int exponents[] = {13, 14, 22, 29, 30, 31, 44, 45};
        x.push_back(static_cast<T>(std::ldexp(z.step, exponents[i / 1024]) * (i % 2 == 0 ? 1 : -1) +
                                   (static_cast<double>(random.below(9)) - 4) * z.step * 0.5));
    }
    std::vector<fields::named<T>> list{{"all edges", x}};
    for (std::size_t from = 0; from < 6144; from += 1024)
        list.push_back({"an edge",
                        {x.begin() + static_cast<std::ptrdiff_t>(from),
                         x.begin() + static_cast<std::ptrdiff_t>(from + 1024)}});
    for (const double q : {0x1p14 - 1, 0x1p14, 0x1p22 - 1, 0x1p22, 0x1p23, 0x1p30 - 1, 0x1p30, 0x1p31 - 1,
                           0x1p31, 0x1p32 + 1, 0x1p33})
        list.push_back({"a constant", std::vector<T>(1024, static_cast<T>(-q * z.step))});
    for (const auto& [name, values] : list) {
        movement<T>({name, eb, {}}, values, 0);
        addends<T>({name, eb, {}}, values, values, 0, true);
    }
    for (const double bound : {1e-320, 1e-307, 1e-40, 1e-37, 1e-30, 1e30, 1e38, 9e299})
        for (const auto& [name, values] : std::vector<fields::named<T>>{
                 {"wild", fields::wild<T>(1300)}, {"smooth", fields::smooth<T>(1300)}}) {
            movement<T>({name, bound, {}}, values, 0);
            addends<T>({name, bound, {}}, values, values, 0, false);
        }
    for (const double bound : {1e-320, 1e-42}) {  // below it, nothing but raw chunks
        if (bound >= 4 * static_cast<double>(std::numeric_limits<T>::min())) continue;
        bytes frame = host::encode(fields::smooth<T>(1300), eb).frame;
        std::memcpy(frame.data() + 16, &bound, 8);
        std::vector<T> out(1300);
        gpu::check(decode(frame, out).told.code == code_of(ccoll::status::corrupt),
                   "refuse quanta on a grid that there is not");
    }
    // 255 changes are moved, and 256 are raw.
    for (const std::size_t different : {254u, 255u, 256u, 257u, 258u}) {
        std::vector<T> far = fields::smooth<T>(8192);
        for (std::size_t i = 0; i < different; ++i)
            far[32 * i % 8192 + i / 256] = static_cast<T>(1e20 * (1 + static_cast<double>(i)));
        movement<T>({std::to_string(different) + " different ones", eb, {}}, far, 0);
        addends<T>({std::to_string(different) + " different ones", eb, {}}, far, far, 0, true);
    }
    std::vector<T> marked = fields::smooth<T>(2 * 8192 + 500);
    for (std::size_t i = 0; i < 9000; ++i)
        if (i % 100 < 30) marked[i] = T(-0.5);
    marked[8192 + 2000] = marked[2 * 8192 + 499] = T(-0.5);
    for (const double bound : {1e-3, 1e-6}) {
        movement<T>({"marked", bound, reference::bits_of(T(-0.5))}, marked, 1);
        addends<T>({"marked", bound, reference::bits_of(T(-0.5))}, marked, fields::smooth<T>(marked.size()),
                   0, true);
    }
    const auto x3 = szp_fields::operands<T>(8192 + 33);
    for (std::size_t k = 0; k < 3; ++k)
        addends<T>({"states", eb, reference::bits_of(T(-9999))}, x3[k], x3[(k + 1) % 3], k, true);
}

/// Frames that no encoder here makes: rows, planes, lists, and so on.
template <class T>
void forms()
{
    const reference::law<T> z(1e-3);
    for (const std::size_t n : {300u, 1100u, 8192u})
        for (std::size_t k = 0; k < all_forms().size(); ++k)
            for (int what = 0; what < 8; ++what) {
                const auto& [name, how] = all_forms()[k];
                reference::chunk c =
                    szp_fields::quanta_of_field<T>(n, 3, what % 2 == 0 ? 100 : 3e6, what == 1, false);
                c.scale = what == 2;
                c.step = 0.75;
                const std::string of =
                    std::string(name) + (sizeof(T) == 4 ? ", f32" : ", f64") + ", n " + std::to_string(n);
                if (what < 4) {
                    const bytes frame = reference::write_frame<T>(
                        {n, 1e-3, 0, {{false, reference::write_chunk<T>(c, how)}}}, how.mixed);
                    check_decoding("decode " + of, frame, reference::decode_movement<T>(frame), {});
                    continue;
                }
                auto one = how, two = all_forms()[(5 * k + 1) % all_forms().size()].how;
                one.lists = two.lists = false;
                const auto frame = [&](unsigned seed, double scale, const reference::forms& h) {
                    const reference::chunk q =
                        szp_fields::quanta_of_field<T>(n, seed, scale, what % 2 == 0, true);
                    return reference::write_frame<T>({n, 1e-3, 1, {{false, reference::write_chunk<T>(q, h)}}},
                                                     h.mixed);
                };
                const bytes a = frame(3, what < 6 ? 100 : 1e6, one), b = frame(4, 1000, two);
                const auto p = reference::read_addend<T>(a), q = reference::read_addend<T>(b);
                const result r = add<T>(a, b, n);
                gpu::check(
                    r.told.code == is_ok && reference::read_addend<T>(r.frame) == szp_fields::sums_of(p, q),
                    "add " + of);
                const std::vector<T> x = fields::smooth<T>(n);
                const result fused = encode_add(x, 1e-3, a);
                gpu::check(fused.told.code == is_ok && reference::read_addend<T>(fused.frame) ==
                                                           szp_fields::sums_of(p, szp_fields::terms_of(x, z)),
                           "encode_add " + of);
            }
}

/// Each byte of a frame once: either both sides say that it is no frame, or both read the same.
template <class T>
void damaged_bytes(std::size_t step)
{
    const std::size_t n = 1100;
    const std::vector<T> x = fields::smooth<T>(n);
    for (const std::size_t form : {0u, 6u, 7u, 11u})
        for (const bool addend : {false, true}) {
            auto how = all_forms()[form].how;
            if (addend && how.lists) continue;
            const reference::chunk c = szp_fields::quanta_of_field<T>(n, 3, 3, form > 0 || addend, addend);
            const bytes frame = reference::write_frame<T>(
                {n, 1e-3, addend ? 1u : 0u, {{false, reference::write_chunk<T>(c, how)}}});
            for (std::size_t i = 0; i < frame.size(); i += step) {
                bytes damaged = frame;
                damaged[i] ^= static_cast<std::uint8_t>(i % 3 == 0 ? 0xff : i % 3 == 1 ? 0x80 : 0x01);
                const std::string what = "a frame whose byte " + std::to_string(i) + " is wrong, form " +
                                         std::to_string(form) + (addend ? ", addend" : "") +
                                         (sizeof(T) == 4 ? ", f32" : ", f64");
                std::optional<std::vector<T>> values;
                std::optional<std::vector<reference::term>> terms;
                bool compare = false;
                try {
                    reference::must(reference::read_frame<T>(damaged).n == n, "n");
                    if (addend) {
                        terms = reference::read_addend<T>(damaged);
                        reference::must(reference::read_frame<T>(damaged).bound == 1e-3, "the bound");
                    } else {
                        values = reference::decode_movement<T>(damaged);
                    }
                    compare = szp_fields::bounds_are_true<T>(damaged, addend);
                } catch (const std::runtime_error&) {
                    values.reset();
                    terms.reset();
                }
                if (!addend) {
                    std::vector<T> out(n);
                    const result r = decode(damaged, out);
                    gpu::check((r.told.code == is_ok) == values.has_value() && r.clean, "decode " + what);
                    if (r.told.code != is_ok || !compare || !values) continue;
                    bool same = true;
                    for (std::size_t k = 0; k < n; ++k)
                        same = same && (reference::bits_of(out[k]) == reference::bits_of((*values)[k]) ||
                                        (out[k] == 0 && (*values)[k] == 0));
                    gpu::check(same, "values of " + what);
                    continue;
                }
                for (const result& r : {add<T>(frame, damaged, n), encode_add(x, 1e-3, damaged)})
                    gpu::check((r.told.code == code_of(ccoll::status::too_large) ||
                                (r.told.code == is_ok) == terms.has_value()) &&
                                   r.clean,
                               "add " + what);
            }
        }
}
/// Frames of many chunks with some wrong bytes: never more than a wrong status or wrong values.
template <class T>
void damaged_frames(int rounds)
{
    const std::size_t n = 40 * 8192 + 77;
    fields::generator random(9);
    const std::vector<T> x = szp_fields::operands<T>(n)[0];
    const bytes frames[] = {host::encode(x, 1e-3).frame, host::encode_addend(x, 1e-3).frame,
                            encode(x, 1e-5).frame};
    for (int k = 0; k < rounds; ++k) {
        bytes f = frames[k % 3];
        for (std::size_t i = 1 + random.below(60); i > 0; --i) {
            const std::size_t at = random.below(k % 2 == 0 ? f.size() : 48 + 41 * 8);
            f[at] = static_cast<std::uint8_t>(random.bits());
        }
        if (k % 5 == 0) f.resize(random.below(f.size()));
        const auto expected = host::decode<T>(f);
        std::vector<T> out(n);
        const result r = decode(f, out);
        const std::string what = "a damaged frame, round " + std::to_string(k);
        gpu::check(r.clean, "decode " + what);
        const bool both = r.told.code == is_ok && expected.code == ccoll::status::ok;
        gpu::check(
            (r.told.code == is_ok) == (expected.code == ccoll::status::ok && expected.values.size() == n),
            "refuse " + what);
        static_cast<void>(both);
        gpu::check(add<T>(f, frames[1], n).clean && add<T>(frames[1], f, n).clean, "add " + what);
        gpu::check(encode_add(x, 1e-3, f).clean, "encode_add " + what);
    }
}

template <class T>
void all(bool brief)
{
    auto part = [begin = std::chrono::steady_clock::now()](const char* name) mutable {
        const auto now = std::chrono::steady_clock::now();
        std::printf("%s %s: %.1f s, %d checks so far, %d failed\n", name, sizeof(T) == 4 ? "f32" : "f64",
                    std::chrono::duration<double>(now - std::exchange(begin, now)).count(), gpu::checks,
                    gpu::failures);
        std::fflush(stdout);
    };
    coasts<T>(brief);
    part("coasts");
    lengths<T>(brief);
    part("lengths and fields");
    if (!brief) edges<T>();
    part("edges");
    if (!brief) forms<T>();
    part("forms");
    damaged_bytes<T>(brief ? 97 : 1);
    part("damaged bytes");
    damaged_frames<T>(brief ? 3 : 150);
    part("damaged frames");
}

}  // namespace

int main(int argc, char** argv)
{
    gpu::need_gpu();
    const std::string how = argc > 1 ? argv[1] : "";
    if (how == "coasts") {
        coasts<float>(true);
        coasts<double>(true);
        return gpu::report();
    }
    if (how == "race") {  // each way once: racecheck is slow
        all_operations<float>({{"coast", szp_fields::with_coast<float>(8192 + 600, 1, 2)}}, {1e-3, 1e-6}, 0,
                              false);
        all_operations<double>({{"coast", szp_fields::with_coast<double>(8192 + 600, 1, 1)}}, {1e-3}, 0,
                               false);
        return gpu::report();
    }
    all<float>(argc > 1);
    all<double>(argc > 1);
    return gpu::report();
}
