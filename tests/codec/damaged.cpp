// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of damaged frames (support/damaged_frames.hpp) and the readers of hosts, with each instruction
// set. The table is also a file, wire/damaged.hex, so that a reader that shares nothing with the library gets
// it: tests/wire/reader.py. Written anew by
//   CCOLL_WRITE_GOLDEN=1 <build tree>/tests/unit_codec '[damaged]'
#include "support/catch.hpp"

#include <bit>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codec/round_trip.hpp"
#include "support/damaged_frames.hpp"
#include "support/fields.hpp"
#include "support/isa.hpp"
#include "support/repository.hpp"

namespace damaged_cases {

using namespace damaged_frames;
using ccoll::status;

namespace {

/// Every frame that must be refused is, and the others decode to the same bits with each set.
/// @return hashes of these, 0 if refused
template <class C, class T>
std::vector<std::uint64_t> decoded(const table& t)
{
    std::vector<std::uint64_t> hashes;
    for (const row& r : t.rows) {
        INFO(r.name << (r.good ? ", to be decoded" : ", to be refused"));
        std::vector<T> of_first;
        with_each_isa([&] {
            std::vector<T> y(r.n);
            CHECK((ccoll::decode<C>(r.frame, y) == status::ok) == r.good);
            if (of_first.empty()) of_first = y;
            if (r.good) CHECK(round_trip::same_bits(y, of_first));
        });
        const auto raw = std::as_bytes(std::span<const T>(of_first));
        hashes.push_back(r.good ? round_trip::hash({raw.begin(), raw.end()}) : 0);
    }
    return hashes;
}

/// Between 0 and 4, the same everywhere.
std::vector<float> calm_values(std::size_t n)
{
    std::vector<float> x(n);
    std::int32_t level = 0, slope = 9;
    std::uint32_t noise = 12345;
    for (float& v : x) {
        noise = noise * 1664525u + 1013904223u;
        if ((level += slope) > 400 || level < 30) slope = -slope;
        v = static_cast<float>(level + static_cast<std::int32_t>(noise >> 28)) / 128;
    }
    return x;
}
/// Frames of which one or two bits of the chunk are wrong, mostly near its ends, where lengths and heads are.
/// No rule says of each whether it is one; all sets must agree, and other readers with them.
template <class C, class T>
table flipped(const char* name, const std::vector<T>& x, double eb, int count = 80)
{
    table t;
    const bytes frame = encoded<C>(x, eb);
    const std::size_t begin = frame_edit::begin_of(frame, 0), size = frame_edit::bytes_of(frame, 0),
                      near = std::min<std::size_t>(size, 40);
    fields::generator random(7);
    t.add(true, std::string(name) + ": as it was", x.size(), frame);
    for (int k = 0; k < count; ++k) {
        bytes other = frame;
        for (std::size_t times = 1 + random.below(2); times > 0; --times) {
            const std::size_t where = random.below(5), at = where == 0   ? random.below(size)
                                                            : where <= 2 ? random.below(near)
                                                                         : size - 1 - random.below(near);
            other[begin + at] ^= static_cast<std::byte>(1u << random.below(8));
        }
        std::vector<T> y(x.size());
        const bool good = ccoll::decode<C>(other, y) == status::ok;
        t.add(good, std::string(name) + ": flipped bits", x.size(), other);
    }
    return t;
}

/// Without libm. Only these bits of a float are kept.
template <class T>
std::vector<T> normal(std::size_t n, std::uint32_t kept = 0xffffffffu)
{
    fields::generator random(11);
    std::vector<T> x(n);
    for (T& v : x) {
        const double sum = random.unit() + random.unit() + random.unit() + random.unit();
        v = static_cast<T>(
            std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(sum)) & kept));
    }
    return x;
}

/// A chunk of Lossless with coded exponents: flipped bits, and each rule of its own.
template <class T>
table exponents(const char* name, const std::vector<T>& x)
{
    table t = flipped<Codec::Lossless>(name, x, 0, 30);
    const bytes frame = t.rows.front().frame, whole = frame_edit::without_fill(frame);
    const std::size_t n = x.size(), head = frame_edit::start_of_one, level = head + 1 + n;
    const auto bits = [&](std::size_t at) { return static_cast<std::size_t>(whole[at]); };
    const auto plane = [&](std::size_t values) { return (values + 7) / 8; };
    const auto change = [&](const char* what, std::size_t at, unsigned value) {
        bytes other = frame;
        other[at] = static_cast<std::byte>(value);
        t.add(false, std::string(name) + ": " + what, n, other);
    };
    REQUIRE((bits(head) == 126 || sizeof(T) == 2));
    REQUIRE((bits(level) >= 1 && bits(level) <= 4));
    change("the other head", head, static_cast<unsigned>(bits(head) ^ 1));
    change("a level of 5 bits", level, 5);
    change("a level of 255 bits", level, 255);
    change("no level, and many escapes", level, 0);
    const std::size_t first_planes = level + (std::size_t{1} << bits(level));
    change("bits behind the last code", first_planes + plane(n) - 1,
           static_cast<unsigned>(bits(first_planes + plane(n) - 1)) | 0x80);
    bytes longer = whole;
    longer.push_back(std::byte{1});
    frame_edit::end_at(longer);
    t.add(false, std::string(name) + ": an escape too many", n, longer);
    for (const std::size_t levels : {16u, 17u}) {  // the first one has all values, and the others none
        bytes many(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(level));
        for (std::size_t k = 0; k < levels; ++k) {
            many.insert(many.end(), {std::byte{1}, std::byte{77}});
            if (k == 0) many.resize(many.size() + plane(n));
        }
        many.push_back(std::byte{0});
        frame_edit::end_at(many);
        t.add(levels <= 16, std::string(name) + ": " + std::to_string(levels) + " levels", n, many);
    }
    return t;
}

/// Writes wire/damaged.hex: of most frames only what differs from one that stands there in full.
class file_of_frames {
public:
    std::ostringstream text;

    /// The table of a codec.
    template <class C, class T>
    void put(const table& t)
    {
        const std::vector<std::uint64_t> hashes = decoded<C, T>(t);
        const auto field = [&](std::size_t at) { return static_cast<unsigned>(t.rows.front().frame[at]); };
        text << "table codec " << field(5) << " dtype " << field(6) << " quality " << field(32) << " inner "
             << field(33) << '\n';
        for (std::size_t k = 0; k < t.rows.size(); ++k) {
            const row& r = t.rows[k];
            std::string name = r.name;
            std::replace(name.begin(), name.end(), ' ', '_');
            text << "damaged " << name << " elements " << r.n;
            if (r.good) text << " decoded " << std::hex << hashes[k] << std::dec;
            put(r.frame);
        }
    }

private:
    void put(const bytes& frame)
    {
        std::size_t like = whole_.size(), front = 0, back = 0;
        for (std::size_t i = 0; i < whole_.size(); ++i) {
            const bytes& other = whole_[i];
            const auto same = static_cast<std::size_t>(
                std::mismatch(frame.begin(), frame.end(), other.begin(), other.end()).first - frame.begin());
            const std::size_t most = std::min(frame.size(), other.size()) - same;
            const auto behind =
                std::mismatch(frame.rbegin(), frame.rbegin() + static_cast<std::ptrdiff_t>(most),
                              other.rbegin())
                    .first -
                frame.rbegin();
            if (same + static_cast<std::size_t>(behind) > front + back) {
                like = i;
                front = same;
                back = static_cast<std::size_t>(behind);
            }
        }
        if (2 * (front + back) < frame.size()) front = back = 0;
        if (front + back == 0) {
            like = whole_.size();
            whole_.push_back(frame);
        }
        if (front + back > 0) text << " like " << like << " front " << front << " back " << back;
        text << '\n';
        for (std::size_t i = front; i < frame.size() - back; ++i) {
            const auto b = static_cast<unsigned>(frame[i]);
            text << "0123456789abcdef"[b >> 4] << "0123456789abcdef"[b & 15]
                 << (i % 64 == 63 || i + 1 == frame.size() - back ? "\n" : "");
        }
    }
    std::vector<bytes> whole_;
};

}  // namespace

TEST_CASE("every rule of the page is checked by every codec and set, and the file of damaged frames has them",
          "[codec][wire][damaged]")
{
    file_of_frames all;
    all.text << "# damaged frames of wire version " << int{ccoll::wire_version} << "; see damaged.cpp\n";
    all.put<Codec::SZp, float>(szp_table<float>::all());
    all.put<Codec::SZp, double>(szp_table<double>::all());
    all.put<Codec::SZx, float>(szx<Codec::SZx, float>());
    all.put<Codec::SZx, double>(szx<Codec::SZx, double>());
    all.put<Codec::PipeSZx, float>(headers<Codec::PipeSZx, float>(300, 0.01));
    all.put<Codec::SZx, ccoll::half>(two_bytes());
    all.put<Codec::ZfpAtRate, float>(zfp_at_rate<float>());
    all.put<Codec::ZfpAtRate, double>(zfp_at_rate<double>());
    all.put<Codec::Zfp, float>(headers<Codec::Zfp, float>(70, 0.01));
    all.put<Codec::BitZip, float>(headers<Codec::BitZip, float>(70, 0.01));
    all.put<Codec::BitWise, float>(headers<Codec::BitWise, float>(70, 0.01));
    all.put<Codec::ByteZip, float>(headers<Codec::ByteZip, float>(70, 0.01));
    all.put<Codec::BitCut, float>(headers<Codec::BitCut, float>(70, 0.01));
    all.put<Codec::BitMask<Codec::BitZip>, float>(headers<Codec::BitMask<Codec::BitZip>, float>(70, 0.01));
    all.put<Codec::Lossless, float>(headers<Codec::Lossless, float>(70, 0));
    all.put<Codec::SZe, float>(headers<Codec::SZe, float>(1100, 0.01));

    // The rules of codecs that have bits without a place of their own.
    auto few = calm_values(70), some = calm_values(600), many = calm_values(1100);
    few[7] = std::numeric_limits<float>::quiet_NaN();
    few[40] = 0x1p90f;
    many[77] = 0x1p90f;
    const std::vector<double> of_f64(some.begin(), some.begin() + 70);
    all.put<Codec::SZe, float>(flipped<Codec::SZe>("sze", many, 0.01));
    all.put<Codec::BitZip, float>(flipped<Codec::BitZip>("bitzip", few, 0.001));
    all.put<Codec::BitZip, float>(flipped<Codec::BitZip>("bitzip, eight lanes", some, 0.001));
    all.put<Codec::BitZip, double>(flipped<Codec::BitZip>("bitzip, f64", of_f64, 0.001));
    all.put<Codec::BitWise, float>(flipped<Codec::BitWise>("bitwise", few, 0.001));
    all.put<Codec::ByteZip, float>(flipped<Codec::ByteZip>("bytezip", few, 0.01));
    all.put<Codec::BitCut, float>(flipped<Codec::BitCut>("bitcut", few, 0.001));
    all.put<Codec::BitMask<Codec::BitZip>, float>(
        flipped<Codec::BitMask<Codec::BitZip>>("bitmask", some, 0.01));
    all.put<Codec::BitMask<Codec::BitCut>, float>(
        flipped<Codec::BitMask<Codec::BitCut>>("bitmask of bitcut", some, 0.01));
    all.put<Codec::Zfp, float>(flipped<Codec::Zfp>("zfp", few, 0.001));
    all.put<Codec::Zfp, double>(flipped<Codec::Zfp>("zfp, f64", of_f64, 0.001));
    all.put<Codec::Lossless, float>(flipped<Codec::Lossless>("lossless", wave<float>(70), 0));
    all.put<Codec::Lossless, float>(
        exponents("exponents of f32, low halves 0", normal<float>(1026, 0xffff0000u)));
    all.put<Codec::Lossless, ccoll::bfloat16>(
        exponents("exponents of bfloat16", normal<ccoll::bfloat16>(1029)));

    const auto path = repository::path_of("tests/wire/damaged.hex");
    if (std::getenv("CCOLL_WRITE_GOLDEN") != nullptr) std::ofstream(path) << all.text.str();
    std::ifstream in(path);
    std::ostringstream stored;
    stored << in.rdbuf();
    INFO(path << "; if other frames are meant, damaged.cpp says what to do");
    CHECK((stored.str() == all.text.str()));  // not written out
}

TEMPLATE_TEST_CASE("the reader of the tests, which judges all forms of SZp, checks every rule",
                   "[codec][szp][wire][damaged]", float, double)
{
    for (const row& r : szp_table<TestType>::all().rows) {
        INFO(r.name << (r.good ? ", to be decoded" : ", to be refused"));
        const auto* const from = reinterpret_cast<const u8*>(r.frame.data());
        const reference::bytes frame(from, from + r.frame.size());
        bool good = true;
        try {
            const bool is_addend = frame.size() > 7 && frame[7] != 0;
            const std::size_t n = is_addend ? reference::read_addend<TestType>(frame).size()
                                            : reference::decode_movement<TestType>(frame).size();
            good = n == r.n;
        } catch (const std::runtime_error&) {
            good = false;
        }
        CHECK(good == r.good);
    }
}

TEMPLATE_TEST_CASE("an addend that breaks a rule is not added to any other, nor to itself",
                   "[codec][szp][wire][damaged]", float, double)
{
    using T = TestType;
    using C = Codec::SZp;
    const std::size_t n = szp_table<T>::n;
    for (const row& r : szp_table<T>::all().rows) {
        if (r.n != n || r.name.rfind("szp addend", 0) != 0) continue;
        INFO(r.name << (r.good ? ", to be added" : ", to be refused"));
        const double eb = ccoll::load<double>(r.frame, 16);
        with_each_isa([&] {
            for (const std::vector<T>& x : {std::vector<T>(n, T(0.25)), wave<T>(n)}) {
                frame_edit::bytes other(ccoll::max_addend_bytes<C, T>(n)), sum = other;
                other.resize(ccoll::encode_addend<C>(x, other, eb).bytes);
                for (const auto& [a, b] : {std::pair{r.frame, other}, {other, r.frame}, {r.frame, r.frame}}) {
                    const auto result = ccoll::reduce_encoded<C, Op::Sum, T>(a, b, sum);
                    if (!r.good) CHECK(result.code != status::ok);
                    std::vector<T> y(n);
                    if (result.code == status::ok)
                        CHECK(ccoll::decode<C>(ccoll::const_byte_span(sum).first(result.bytes), y) ==
                              status::ok);
                }
            }
        });
    }
}

}  // namespace damaged_cases
