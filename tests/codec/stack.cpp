// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// How much stack calls of codecs need. A thread is given a stack of one colour, and the deepest byte that has
// another one afterwards is found. Threads of musl have 128 KiB, and docs/limitations.md says how much of it
// codecs take.
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <ccoll/codec.hpp>

#include "support/catch.hpp"

#if defined(__linux__) && defined(__OPTIMIZE__) && !defined(CCOLL_TEST_SANITIZED)
#include <pthread.h>
#include <sys/mman.h>

using namespace ccoll::policies;

namespace {

/// Bytes of stack that a thread needs to do this a second time: the first time functions of other libraries
/// are looked up, on its stack.
std::size_t painted_stack_of(const std::function<void()>& work)
{
    work();
    constexpr std::size_t size = std::size_t{1} << 20;
    constexpr unsigned char colour = 0x5a;
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    std::memset(memory, colour, size);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstack(&attributes, memory, size) == 0);
    const auto run = [](void* what) -> void* {
        (*static_cast<const std::function<void()>*>(what))();
        return nullptr;
    };
    pthread_t thread;
    REQUIRE(pthread_create(&thread, &attributes, run, const_cast<void*>(static_cast<const void*>(&work))) ==
            0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    std::size_t untouched = 0;
    while (untouched < size && static_cast<const unsigned char*>(memory)[untouched] == colour) ++untouched;
    munmap(memory, size);
    return size - untouched;
}

/// Without what a thread needs that does nothing.
std::size_t stack_of(const std::function<void()>& work)
{
    static const std::size_t least = painted_stack_of([] {});
    return painted_stack_of(work) - least;
}

constexpr std::size_t allowed = std::size_t{64} << 10;
// Chunks begin anywhere in a row, and the last one is short.
constexpr std::size_t row_length = 500, row_count = 60;

enum class kind { smooth, fill, noise, rows, huge };
constexpr kind kinds[] = {kind::smooth, kind::fill, kind::noise, kind::rows, kind::huge};

template <class T>
std::vector<T> field(kind k)
{
    std::vector<T> x(row_length * row_count);
    unsigned seed = 7;
    for (std::size_t i = 0; i < x.size(); ++i) {
        seed = seed * 1664525u + 1013904223u;
        const double noise = static_cast<double>(seed >> 8) / (1 << 24), at = static_cast<double>(i);
        double v = std::sin(1e-3 * at) + 1e-3 * noise;
        if (k == kind::fill && i % 97 == 0) v = 1e20;
        if (k == kind::noise) v = noise - 0.5;
        if (k == kind::rows)
            v = 50 * std::sin(0.7 * static_cast<double>(i % row_length)) +
                std::sin(0.05 * static_cast<double>(i / row_length));
        if (k == kind::huge) v = 1e9 * noise;
        x[i] = static_cast<T>(v);
    }
    return x;
}

template <class Codec, class T>
void check(const char* name, std::initializer_list<double> bounds)
{
    for (const double eb : bounds)
        for (const kind k : kinds)
            for (const bool shaped : {false, true}) {
                const std::vector<T> x = field<T>(k);
                std::vector<T> y(x.size());
                std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, T>(x.size()));
                std::size_t bytes = 0;
                INFO(name << " of " << sizeof(T) << " bytes, bound " << eb << ", kind " << static_cast<int>(k)
                          << ", shaped " << shaped);
                const std::size_t encoding = stack_of([&] {
                    bytes =
                        shaped
                            ? ccoll::encode<Codec>(ccoll::shaped(x, {row_count, row_length}), frame, eb).bytes
                            : ccoll::encode<Codec>(x, frame, eb).bytes;
                });
                CHECK(encoding <= allowed);
                const std::span<const std::byte> encoded(frame.data(), bytes);
                const std::size_t decoding =
                    stack_of([&] { REQUIRE(ccoll::decode<Codec>(encoded, y) == ccoll::status::ok); });
                CHECK(decoding <= allowed);
            }
}

template <class T>
void check_sums(std::initializer_list<double> bounds)
{
    constexpr std::size_t n = row_length * row_count;
    const auto addend = [](kind k, double eb, std::vector<std::byte>& frame) {
        const std::vector<T> x = field<T>(k);
        frame.resize(ccoll::max_addend_bytes<Codec::SZp, T>(n));
        std::size_t bytes = 0;
        const std::size_t stack = stack_of([&] {
            if (k == kind::rows)
                bytes = ccoll::encode_addend<Codec::SZp>(ccoll::shaped(x, {row_count, row_length}), frame, eb)
                            .bytes;
            else bytes = ccoll::encode_addend<Codec::SZp>(x, frame, eb).bytes;
        });
        CHECK(stack <= allowed);
        frame.resize(bytes);
    };
    for (const double eb : bounds)
        for (const kind k : kinds)
            for (const kind other : kinds) {
                INFO("sums of " << sizeof(T) << " bytes, bound " << eb << ", kinds " << static_cast<int>(k)
                                << " and " << static_cast<int>(other));
                std::vector<std::byte> a, b, sum(ccoll::max_addend_bytes<Codec::SZp, T>(n));
                addend(k, eb, a);
                addend(other, eb, b);
                const std::span<const std::byte> x(a), y(b);
                std::size_t bytes = 0;
                const std::size_t adding =
                    stack_of([&] { bytes = ccoll::reduce_encoded<Codec::SZp, Op::Sum, T>(x, y, sum).bytes; });
                CHECK(adding <= allowed);
                ccoll::frame_view theirs;
                if (k != kind::rows &&
                    ccoll::frame_codec_of<Codec::SZp, T>.open(y, n, theirs) == ccoll::status::ok) {
                    // As in a collective, whose messages have room for a chunk more.
                    using addends = ccoll::detail::chunked_addends<Codec::SZp, T>;
                    const std::vector<T> own = field<T>(k);
                    std::vector<std::byte> same(addends::max_bytes(n) + addends::longest_chunk);
                    std::size_t of_same = 0;
                    const auto encode_add = [&] {
                        of_same = addends::encode_add(own, theirs, same, eb, {}).bytes;
                    };
                    CHECK(stack_of(encode_add) <= allowed);
                    same.resize(of_same);
                    CHECK(same == std::vector<std::byte>(sum.begin(),
                                                         sum.begin() + static_cast<std::ptrdiff_t>(bytes)));
                }
                std::vector<T> z(n);
                const std::span<const std::byte> of_sum(sum.data(), bytes);
                const std::size_t decoding = stack_of([&] { (void)ccoll::decode<Codec::SZp>(of_sum, z); });
                CHECK(decoding <= allowed);
            }
}

}  // namespace

TEMPLATE_TEST_CASE("codecs need no more than 64 KiB of stack", "[codec]", float, double)
{
    check<Codec::SZx, TestType>("SZx", {1e-3});
    check<Codec::SZp, TestType>("SZp", {1e-3, 1e-10});
    check<Codec::SZe, TestType>("SZe", {1e-3, 1e-10});
    check<Codec::Lossless, TestType>("Lossless", {0});
    check<Codec::ByteZip, TestType>("ByteZip", {1e-3});
    check<Codec::BitZip, TestType>("BitZip", {1e-3});
    check<Codec::BitWise, TestType>("BitWise", {1e-3});
    check<Codec::BitCut, TestType>("BitCut", {1e-3});
    check<Codec::BitMask<Codec::BitZip>, TestType>("BitMask<BitZip>", {1e-3, 1e-6, 1e-10});
    check<Codec::BitMask<Codec::BitWise>, TestType>("BitMask<BitWise>", {1e-3, 1e-6, 1e-10});
    check<Codec::BitMask<Codec::BitCut>, TestType>("BitMask<BitCut>", {1e-3, 1e-6, 1e-10});
    check<Codec::Zfp, TestType>("Zfp", {1e-3});
}

TEMPLATE_TEST_CASE("sums of encoded streams need no more than 64 KiB of stack", "[codec]", float, double)
{
    check_sums<TestType>({1e-3, 1e-7});
}

#endif
