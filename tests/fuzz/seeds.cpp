// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes inputs for the fuzz targets: valid frames of every codec and kind of chunk, so that the fuzzer
// begins behind the header.
//   seeds <folder>     <folder>/<target>/ is emptied first: what a fuzzer found before does not change its
//                      next run
#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <ccoll/run/message.hpp>
#include <ccoll/transport/fragment.hpp>
#include <ccoll/tune/file.hpp>

#include "support/fields.hpp"
#include "fuzz/chunks.hpp"

using namespace ccoll::policies;

namespace {

using fuzz::bytes;

class folder {
public:
    explicit folder(const std::filesystem::path& path) : path_(path)
    {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    void write(const bytes& input)
    {
        std::ofstream file(path_ / ("seed_" + std::to_string(count_++)), std::ios::binary);
        file.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
    }

private:
    std::filesystem::path path_;
    int count_ = 0;
};

template <class Value>
void append(bytes& to, const Value& value)
{
    const auto* const begin = reinterpret_cast<const std::byte*>(&value);
    to.insert(to.end(), begin, begin + sizeof value);
}
void append(bytes& to, const bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

std::uint8_t choice(std::size_t codec, bool f64, std::size_t isa)
{
    return static_cast<std::uint8_t>(codec | std::size_t{f64} << 2 | isa << 3);
}

/// Every kind of chunk and block that SZp has, and ordinary data for the others.
template <class T>
std::vector<fields::named<T>> values(std::size_t n)
{
    auto list = fields::all<T>(n);
    const auto add = [&](const char* name, auto value_at) {
        std::vector<T> x(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(value_at(static_cast<double>(i)));
        list.push_back({name, x});
    };
    add("lattice", [](double i) { return 1000 + static_cast<int>(7 * i) % 50 / 16.0; });
    add("fine", [](double i) { return 100 + 1e-3 * static_cast<int>(7 * i) / 50; });
    add("beyond half an ulp", [](double i) { return 40000 + 0.01 * (97 * static_cast<int>(i) % 251); });
    add("wide", [](double i) { return (static_cast<int>(i) % 2 == 0 ? 1e9 : -1e9) + i; });
    add("outlier", [](double i) { return static_cast<int>(i) % 50 == 7 ? 1e30 : 0.01 * i; });
    add("outliers that differ",
        [](double i) { return static_cast<int>(i) % 50 == 7 ? 1e30 * (i + 1) : 0.01 * i; });
    add("missing values", [](double i) {
        return static_cast<int>(i) % 90 < 40 || static_cast<int>(i) % 7 == 1 ? 1e20 : 0.01 * i;
    });
    add("two kinds", [](double i) {
        return static_cast<int>(i) % 90 < 40 ? 1e20 : static_cast<int>(i) % 90 < 44 ? -HUGE_VAL : 0.01 * i;
    });
    add("marker", [](double i) { return static_cast<int>(i) % 90 < 40 ? -9999 : 0.001 * i; });
    add("rare", [](double i) {
        return 100 + (static_cast<int>(i) % 11 == 3 ? 0.002 * (static_cast<int>(i) % 7 - 3) : 0);
    });
    add("alone", [](double i) { return 0.01 * (97 * static_cast<int>(i) % 251) - 1.253; });
    add("rare, alone",
        [](double i) { return static_cast<int>(i) % 11 == 3 ? 0.0021 * (static_cast<int>(i) % 7 - 3) : 0; });
    return list;
}

template <class C, class T>
bytes addend(const std::vector<T>& x, double eb)
{
    bytes frame(ccoll::max_addend_bytes<C, T>(x.size()));
    frame.resize(ccoll::encode_addend<C>(x, frame, eb).bytes);
    return frame;
}

/// Frames and addends of SZp with rows, some of them with planes.
template <class T>
void write_rows(folder& decode, folder& reduce_encoded)
{
    std::size_t turn = 0;
    for (const auto& [row, plane] : {std::pair{32u, 0u}, {45u, 0u}, {200u, 0u}, {32u, 64u}, {45u, 200u}})
        for (const double scale : {1.0, 1.0 / 3}) {  // on a lattice, and on none
            std::vector<T> x(700);
            for (std::size_t i = 0; i < x.size(); ++i)
                x[i] = static_cast<T>(
                    scale * static_cast<double>((i % row * 7 % 31 + i / 50 +
                                                 (plane > 0 ? i % plane / row * (i % row) % 13 : 0)) %
                                                100));
            const ccoll::field_strides strides(row, plane);
            bytes input, frame(ccoll::max_encoded_bytes<Codec::SZp, T>(x.size()));
            frame.resize(
                ccoll::encode<Codec::SZp>(ccoll::shaped_view<const T>{x, strides, x.size()}, frame, 1e-3)
                    .bytes);
            append(input, choice(3, sizeof(T) == 8, ++turn % 4));
            append(input, frame);
            decode.write(input);

            auto missing = x;  // special values, of two kinds
            for (std::size_t i = 0; i < x.size(); ++i)
                if (i / 2 % 150 == 30 || i / 64 == 5)
                    missing[i] = i % 150 == 60 ? std::numeric_limits<T>::quiet_NaN() : T(1e20);
            frame.resize(ccoll::max_encoded_bytes<Codec::SZp, T>(x.size()));
            frame.resize(ccoll::encode<Codec::SZp>(ccoll::shaped_view<const T>{missing, strides, x.size()},
                                                   frame, 1e-3)
                             .bytes);
            input.clear();
            append(input, choice(3, sizeof(T) == 8, turn % 4));
            append(input, frame);
            decode.write(input);

            bytes one(ccoll::max_addend_bytes<Codec::SZp, T>(x.size())), filled = one;
            one.resize(
                ccoll::encode_addend<Codec::SZp>(ccoll::shaped_view<const T>{x, strides, x.size()}, one, 1e-3)
                    .bytes);
            auto with_far = x;
            for (std::size_t i = 40; i < x.size(); i += 91) with_far[i] = T(1e20);
            filled.resize(ccoll::encode_addend<Codec::SZp>(
                              ccoll::shaped_view<const T>{with_far, strides, x.size()}, filled, 1e-3)
                              .bytes);
            input.clear();
            append(input, choice(3, sizeof(T) == 8, turn % 4));
            append(input, one);
            decode.write(input);
            const bytes others[] = {one, filled, addend<Codec::SZp>(x, 1e-3),
                                    addend<Codec::SZp>(fields::non_finite<T>(x.size(), 3), 1e-3)};
            for (const bytes& other : others) {  // the same rows, none, and classes
                ++turn;
                input.clear();
                append(input, choice(3, sizeof(T) == 8, turn % 4));
                append(input, static_cast<std::uint16_t>(one.size()));
                append(input, one);
                append(input, other);
                reduce_encoded.write(input);
            }
        }
}

/// A chunk of one of the other codecs, and values of one.
template <class T>
void write_chunk(folder& decode, folder& encode, std::uint8_t choice, const std::vector<T>& x, double eb)
{
    fuzz::with_codec(choice, [&]<class C, class E>(C, E) {
        fuzz::with_impl<C, T>(choice, [&]<class Impl>(Impl, bool keeps_bound) {
            const double bound = keeps_bound ? eb : eb * 0x1p7;  // a rate
            bytes front, chunk(x.size() * sizeof(T));
            append(front, choice);
            append(front, static_cast<std::uint16_t>(std::bit_cast<std::uint64_t>(bound) >> 48));
            append(front, static_cast<std::uint16_t>(x.size() - 1));
            bytes input = front;
            for (std::size_t i = 0; i < std::min<std::size_t>(x.size(), 97); ++i) append(input, x[i]);
            encode.write(input);
            const auto strides =
                (choice & fuzz::rate_or_rows) != 0 ? fuzz::strides_of(x.size()) : ccoll::field_strides{};
            const auto result = fuzz::encode_chunk<Impl, T>(x, chunk, bound, strides);
            chunk.resize(result.bytes);
            append(front, chunk);
            if (result.code == ccoll::status::ok && front.size() < 3000) decode.write(front);
        });
    });
}

/// ByteZip, BitZip and their like have eight lanes from 512 values on, and SZe codes 1024 and more.
template <class T>
void write_chunks(folder& decode, folder& encode)
{
    for (std::size_t codec = 0; codec < fuzz::other_codecs; ++codec) {
        if (codec == fuzz::lossless_two_bytes) continue;  // write_weights
        const auto choice =
            static_cast<std::uint8_t>(fuzz::choice_of_other(codec, sizeof(T) == 8) | fuzz::chunk_alone);
        const bool zfp = codec == 4, sze = codec == 7;
        for (std::size_t k = 0; k < values<T>(1).size(); ++k)
            for (const double eb : {0x1p-3, 0x1p-10}) {
                const auto x = values<T>((zfp ? 60 : sze ? 1030 : 519) + 7 * k)[k].values;
                write_chunk(decode, encode, choice, x, eb);
                if (zfp || sze)
                    write_chunk(decode, encode, static_cast<std::uint8_t>(choice | fuzz::rate_or_rows), x,
                                eb);
            }
    }
}

/// Coded exponents of Lossless: frames and chunks of 1024 values and more.
template <class T>
void write_weights(folder& decode, folder& encode, std::size_t codec)
{
    const auto frames = fuzz::choice_of_other(codec, false),
               chunks = static_cast<std::uint8_t>(frames | fuzz::chunk_alone);
    fields::generator random(12);
    for (const std::size_t n : {1024u, 1061u})
        for (const std::uint32_t kept : {0xffffffffu, 0xffff0000u})
            for (const unsigned kinds : {1u, 2u, 12u}) {
                std::vector<T> x(n);
                for (T& v : x) {
                    const auto bits = static_cast<std::uint32_t>(random.bits());
                    const auto exponent = static_cast<std::uint32_t>(random.below(1 + random.below(kinds)));
                    v = static_cast<T>(
                        std::bit_cast<float>((bits & 0x807fffffu & kept) | (120 - 9 * exponent) << 23));
                }
                bytes input;
                append(input, frames);
                append(input, round_trip::frame_of<Codec::Lossless>(x, 0));
                decode.write(input);

                input.clear();
                append(input, chunks);
                append(input, static_cast<std::uint16_t>(std::bit_cast<std::uint64_t>(0x1p-3) >> 48));
                append(input, static_cast<std::uint16_t>(n - 1));
                bytes values = input, chunk(n * sizeof(T));
                for (std::size_t i = 0; i < 300; ++i) append(values, x[i]);
                encode.write(values);
                using impl = ccoll::codec_impl<Codec::Lossless, T, ccoll::host_space>;
                const auto result = impl::encode_chunk(x, chunk, 0);
                if (result.code != ccoll::status::ok) continue;
                chunk.resize(result.bytes);
                append(input, chunk);
                decode.write(input);
            }
}

template <class T>
void write_all(folder& decode, folder& reduce_encoded, folder& encode)
{
    constexpr bool f64 = sizeof(T) == 8;
    std::size_t turn = 0;
    for (const std::size_t n : {1u, 70u, 520u})
        for (const auto& field : values<T>(n))
            for (const double eb : {1e-3, 1e-7}) {
                for (std::size_t codec = 0; codec < 4; ++codec)
                    fuzz::with_codec(choice(codec, f64, 0), [&]<class C, class E>(C, E) {
                        if constexpr (std::is_same_v<E, T>) {
                            bytes input;
                            append(input, choice(codec, f64, ++turn % 4));
                            append(input, round_trip::frame_of<C>(field.values, eb));
                            decode.write(input);

                            input.clear();
                            append(input, static_cast<std::uint8_t>(choice(codec, f64, turn % 4) |
                                                                    turn / 4 % 2 << 6));
                            append(input, eb);
                            append(input, static_cast<std::uint16_t>(n));
                            for (const T v : field.values) append(input, v);
                            encode.write(input);
                        }
                    });
                for (std::size_t codec = 0; codec < fuzz::other_codecs; ++codec)
                    fuzz::with_codec(fuzz::choice_of_other(codec, f64), [&]<class C, class E>(C, E) {
                        if constexpr (std::is_same_v<E, T>) {
                            bytes input;
                            append(input, fuzz::choice_of_other(codec, f64));
                            append(input, round_trip::frame_of<C>(field.values, eb));
                            decode.write(input);

                            input.clear();
                            append(input, fuzz::choice_of_other(codec, f64));
                            append(input, eb);
                            append(input, static_cast<std::uint16_t>(n));
                            for (const T v : field.values) append(input, v);
                            encode.write(input);
                        }
                    });
                const bytes one = addend<Codec::SZp>(field.values, eb),
                            other = addend<Codec::SZp>(fields::non_finite<T>(n, 3), eb);
                auto elsewhere = fields::smooth<T>(n);  // far values, also in other places
                for (std::size_t i = n / 3; i < n; i += 1 + n / 9) elsewhere[i] = T(1e20);
                auto several = elsewhere;
                for (std::size_t i = n / 4; i < n; i += 1 + n / 7) several[i] = T(-7e30);
                const bytes filled = addend<Codec::SZp>(elsewhere, eb),
                            with_two = addend<Codec::SZp>(several, eb);
                const std::pair<const bytes&, const bytes&> pairs[] = {
                    {one, one}, {one, other}, {one, filled}, {filled, with_two}};
                for (const auto& [first, second] : pairs) {
                    ++turn;
                    bytes input;
                    append(input, choice(3, f64, turn % 4));
                    append(input, static_cast<std::uint16_t>(first.size()));
                    append(input, first);
                    append(input, second);
                    reduce_encoded.write(input);
                }
                bytes input;
                append(input, choice(3, f64, ++turn % 4));
                append(input, one);
                decode.write(input);
            }
    // SZe codes chunks of 1024 values and more.
    for (const auto& field : values<T>(1100))
        for (const double eb : {1e-2, 1e-4}) {
            bytes input;
            append(input, fuzz::choice_of_other(7, f64));
            append(input, round_trip::frame_of<Codec::SZe>(field.values, eb));
            if (input.size() < 3000) decode.write(input);
        }
    for (const std::size_t row : {16u, 100u, 700u}) {
        fields::generator random(9);
        std::vector<T> x(1100);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = static_cast<T>(i % row * 7 % 31) + static_cast<T>(random.unit());
        bytes input, frame(ccoll::max_encoded_bytes<Codec::SZe, T>(x.size()));
        frame.resize(
            ccoll::encode<Codec::SZe>(ccoll::shaped_view<const T>{x, row, x.size()}, frame, 0.3).bytes);
        append(input, fuzz::choice_of_other(7, f64));
        append(input, frame);
        decode.write(input);
    }
    // ByteZip, BitZip and their like have eight lanes from 512 values on.
    for (std::size_t codec = 0; codec < fuzz::other_codecs; ++codec)
        fuzz::with_codec(fuzz::choice_of_other(codec, f64), [&]<class C, class E>(C, E) {
            if constexpr (std::is_same_v<E, T>) {
                bytes input;
                append(input, fuzz::choice_of_other(codec, f64));
                append(input, round_trip::frame_of<C>(fields::smooth<T>(600), 1e-2));
                decode.write(input);
            }
        });
    // Two chunks each, in few bytes.
    const auto long_one = fields::constant<T>(8193);
    bytes input;
    append(input, choice(3, f64, 0));
    append(input, round_trip::frame_of<Codec::SZp>(long_one, 1e-3));
    decode.write(input);
    const bytes one = addend<Codec::SZp>(long_one, 1e-3);
    input.clear();
    append(input, choice(3, f64, 0));
    append(input, static_cast<std::uint16_t>(one.size()));
    append(input, one);
    append(input, one);
    reduce_encoded.write(input);
}

/// Fragments with each kind of protection, some with a wrong bit, and messages of all kinds.
void write_messages(folder& messages)
{
    const auto write = [&](std::uint8_t choice, const bytes& message) {
        bytes input;
        append(input, choice);
        append(input, message);
        messages.write(input);
    };
    for (unsigned kind = 0; kind < ccoll::detail::protections; ++kind)
        for (const std::size_t body : {0u, 1u, 100u, 700u}) {
            ccoll::protection how;
            ccoll::detail::protection_of(ccoll::detail::fragment_magic(kind), how);
            const std::size_t bytes_in_front = sizeof(ccoll::fragment_header) + body;
            bytes fragment(bytes_in_front + how.check_bytes(bytes_in_front), std::byte{7});
            ccoll::fragment_header header;
            header.number = 3;
            header.first = 2;
            header.message_bytes = 5000;
            ccoll::seal_fragment(fragment, header, body, how);
            write(0, fragment);
            fragment[bytes_in_front / 2] ^= std::byte{4};
            write(0, fragment);
        }
    const bytes frame = round_trip::frame_of<Codec::SZp>(fields::smooth<float>(70), 1e-3);
    for (const auto kind : {ccoll::message_kind::data, ccoll::message_kind::poison}) {
        ccoll::call_stamp call;
        call.kind = kind;
        call.call = 5;
        call.arguments.count = 1000;
        ccoll::pair_stamp pair;
        pair.kind = kind;
        pair.number = 2;
        pair.total = 4;
        pair.check = ccoll::counted_check(pair);
        bytes of_call, of_pair;
        append(of_call, call);
        append(of_pair, pair);
        for (bytes* const m : {&of_call, &of_pair})
            if (kind == ccoll::message_kind::data) append(*m, frame);
            else append(*m, ccoll::verdict{ccoll::status::corrupt, 1, 2, 3});
        write(1, of_pair);
        write(2, of_call);
        write(3, of_call);
    }
}
void write_texts(folder& texts)
{
    const auto write = [&](char choice, const std::string& text) {
        const auto begin = std::as_bytes(std::span(text));
        bytes input{static_cast<std::byte>(choice)};
        input.insert(input.end(), begin.begin(), begin.end());
        texts.write(input);
    };
    std::vector<ccoll::tune::tuned_class> classes(2);
    classes[0] = {"allreduce", "float", 4,  1048576, "1e-3", false, "Ring,SZp,Homomorphic",
                  0.0021,      0.0093,  120};
    classes[1] = {"bcast", "a \"name\"\n", 5, 0, "", true, "Chain,SZp,EndToEnd", 0, 0, 0};
    write(0, ccoll::tune::tuning_text(classes));
    write(0, ccoll::tune::tuning_text({}));
    write(
        0,
        R"({"version": 1, "ccoll": "tuning", "more": [1, -2.5e3, true, null, {"a": "\u00e9"}], "classes": []})");
    for (const char* rule : {"allreduce:ring,szp", "allreduce:64K-1M:Ring,SZp,PerHop; *:mpi",
                             "bcast:auto;allreduce:-4096:none", "*:1G-:ring"})
        write(1, rule);
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s <folder>\n", argv[0]);
        return 2;
    }
    const std::filesystem::path root = argv[1];
    folder decode(root / "decode"), reduce_encoded(root / "reduce_encoded"), encode(root / "encode");
    folder messages(root / "messages"), texts(root / "texts");
    write_all<float>(decode, reduce_encoded, encode);
    write_all<double>(decode, reduce_encoded, encode);
    write_chunks<float>(decode, encode);
    write_chunks<double>(decode, encode);
    write_weights<float>(decode, encode, fuzz::lossless);
    write_weights<ccoll::bfloat16>(decode, encode, fuzz::lossless_two_bytes);
    write_rows<float>(decode, reduce_encoded);
    write_rows<double>(decode, reduce_encoded);
    write_messages(messages);
    write_texts(texts);
    return 0;
}
