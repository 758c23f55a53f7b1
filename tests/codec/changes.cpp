// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/changes: what is applied gives the new words bit by bit, whatever has changed; streams are as short
// as promised, and damaged ones are refused or give words.
#include "support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <ccoll/codec/changes/coder.hpp>
#include <ccoll/integrity/content_hash.hpp>

#include "support/fields.hpp"
#include "support/isa.hpp"
#include "support/repository.hpp"

namespace changes_cases {

using namespace ccoll;
using namespace ccoll::detail::changes;
using bytes = std::vector<std::byte>;

namespace {

constexpr std::size_t slack = 8;

template <class Word>
const std::byte* as_bytes_of(const std::vector<Word>& all)
{
    return reinterpret_cast<const std::byte*>(all.data());
}

/// One slice. What is written behind it, beyond the slack, is looked at.
template <class Word>
bytes encoded(const std::vector<Word>& now, const std::vector<Word>& before)
{
    const std::size_t most = max_slice_bytes<Word>(now.size());
    bytes out(most + slack + 64, std::byte{0xA5});
    const auto work = std::make_unique<block_changes<Word>>();
    const std::byte* const end =
        put_slice<Word>(out.data(), as_bytes_of(now), as_bytes_of(before), now.size(), *work);
    const auto n = static_cast<std::size_t>(end - out.data());
    CHECK(n <= most);
    CHECK(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(most + slack), out.end(),
                      [](std::byte b) { return b == std::byte{0xA5}; }));
    out.resize(n);
    return out;
}
template <class Word>
status applied(const bytes& stream, std::vector<Word>& words)
{
    const slice_view slice(stream);
    if (!slice.whole || slice.bytes != stream.size()) return status::corrupt;
    return apply_slice<Word>(slice.blocks, reinterpret_cast<std::byte*>(words.data()), words.size());
}

template <class Word>
std::vector<Word> noise(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    std::vector<Word> all(n);
    for (Word& w : all) w = static_cast<Word>(random.bits());
    return all;
}

/// Some words of `before` are changed: by a few units, by anything, or by the largest steps that there are.
enum class by { units, anything, extremes };
template <class Word>
std::vector<Word> changed(std::vector<Word> all, double share, by how, unsigned seed)
{
    fields::generator random(seed);
    for (Word& w : all) {
        if (random.unit() >= 2 * share - 1) continue;
        if (how == by::units) w = static_cast<Word>(w + random.below(9) - 4);
        else if (how == by::anything) w = static_cast<Word>(random.bits());
        else
            w = static_cast<Word>(w + (Word{1} << (bits_of<Word> - 1)) + static_cast<Word>(random.below(3)) -
                                  1);
    }
    return all;
}

// No word, one, the edges of groups of 64 words and of blocks, and a slice.
constexpr std::size_t sizes[] = {0, 1, 7, 63, 64, 65, 4095, 4096, 4097, 10007, slice_words};

template <class Word>
void round_trips()
{
    for (const std::size_t n : sizes)
        for (const double share : {0.0, 0.0005, 0.01, 0.03, 0.2, 0.5, 0.9, 1.0})
            for (const by how : {by::units, by::anything, by::extremes}) {
                if (n == slice_words && share != 0.01) continue;
                INFO(sizeof(Word) << "-byte words, " << n << ", share " << share);
                const auto before = noise<Word>(n, 3), now = changed(before, share, how, 17);
                bytes first;
                with_each_isa([&] {
                    const bytes stream = encoded(now, before);
                    if (first.empty()) first = stream;
                    CHECK(stream == first);
                });
                std::vector<Word> out = before;
                CHECK(applied(first, out) == status::ok);
                CHECK(out == now);
                if (now == before) CHECK(first.size() == slice_head);
            }
}

}  // namespace

TEST_CASE("Changes applied to the old words give the new ones, for all widths of words and shares",
          "[codec][changes]")
{
    round_trips<std::uint8_t>();
    round_trips<std::uint16_t>();
    round_trips<std::uint32_t>();
    round_trips<std::uint64_t>();
}

TEST_CASE("All differences of 16 bits come back", "[codec][changes]")
{
    constexpr std::size_t n = 65536;
    for (const unsigned start : {0u, 1u, 0x7FFFu, 0x8000u, 0xFFFFu}) {
        std::vector<std::uint16_t> before(n, static_cast<std::uint16_t>(start)), now(n);
        for (std::size_t i = 0; i < n; ++i) now[i] = static_cast<std::uint16_t>(start + i);
        std::vector<std::uint16_t> out = before;
        CHECK(applied(encoded(now, before), out) == status::ok);
        CHECK(out == now);
        for (std::size_t d = 1; d < n; ++d) {
            const auto difference = static_cast<std::uint16_t>(d);
            const std::uint16_t z = number_of(difference);
            if (z == 0 || difference_of(z) != difference) FAIL("difference " << d);
        }
    }
}

TEST_CASE("A few percent of changes take about so many percent of the bytes", "[codec][changes]")
{
    const auto before = noise<std::uint16_t>(slice_words, 3);
    const auto share_of_bytes = [&](double share, by how) {
        const auto now = changed(before, share, how, 5);
        return static_cast<double>(encoded(now, before).size()) / (2.0 * static_cast<double>(slice_words));
    };
    // A position is about log2(1 / share) + 1.5 bits, rounded up to a byte; a few units take 3 to 4 bits. One
    // ninth of the differences by units is 0.
    CHECK(share_of_bytes(0.01, by::units) < 0.01);
    CHECK(share_of_bytes(0.03, by::units) < 0.03);
    CHECK(share_of_bytes(0.01, by::anything) < 0.0175);
    CHECK(share_of_bytes(0.03, by::anything) < 0.048);
    CHECK(share_of_bytes(0.5, by::units) < 0.25);
}

TEST_CASE("A block of which most has changed is never longer than its words and its head", "[codec][changes]")
{
    for (const std::size_t n : {std::size_t{1}, std::size_t{100}, block_words}) {
        const auto before = noise<std::uint16_t>(n, 3), now = noise<std::uint16_t>(n, 4);
        CHECK(encoded(now, before).size() == slice_head + 1 + 2 * n);
    }
}

TEST_CASE("Every shortened stream of changes is refused", "[codec][changes]")
{
    const auto before = noise<std::uint16_t>(9000, 3);
    for (const by how : {by::units, by::anything})
        for (const double share : {0.01, 0.4, 1.0}) {
            const bytes whole = encoded(changed(before, share, how, 5), before);
            for (std::size_t n = 0; n < whole.size(); n += n < 40 ? 1 : 7) {
                bytes shorter(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
                const auto claimed = static_cast<std::uint32_t>(n < slice_head ? 0 : n - slice_head);
                if (n >= slice_head) std::memcpy(shorter.data(), &claimed, slice_head);
                if (claimed == 0) continue;  // nothing has changed
                std::vector<std::uint16_t> out = before;
                if (applied(shorter, out) != status::corrupt) FAIL("with " << n << " bytes");
            }
        }
}

TEST_CASE("Bytes that break a rule of changes are refused", "[codec][changes]")
{
    std::vector<std::uint8_t> words(10);
    const auto refused = [&](std::initializer_list<int> blocks) {
        bytes stream(slice_head);
        for (const int b : blocks) stream.push_back(static_cast<std::byte>(b));
        const auto n = static_cast<std::uint32_t>(blocks.size());
        std::memcpy(stream.data(), &n, slice_head);
        std::vector<std::uint8_t> out = words;
        return applied(stream, out) == status::corrupt;
    };
    CHECK_FALSE(refused({0}));
    CHECK(refused({0, 0}));                 // a block that is not there
    CHECK_FALSE(refused({1, 1, 0, 3, 0}));  // word 3 becomes less by 1
    CHECK(refused({9, 1, 0, 3, 0, 0}));     // wider than a word
    CHECK(refused({1, 1, 0, 10, 0}));       // behind the last word
    CHECK_FALSE(refused({1, 1, 0, 9, 0}));
    CHECK(refused({1, 2, 0, 255, 0, 0}));  // so far behind
    CHECK(refused({1, 9, 0, 3, 0}));       // more gaps than there are bytes
    CHECK(refused({1, 1, 0, 3}));          // no value
    CHECK(refused({1, 1, 0, 3, 2}));       // the rest of a byte is not zero
    CHECK(refused({1, 1, 0, 3, 1}));       // a value that is announced, and not there
    CHECK_FALSE(refused({1, 1, 0, 3, 1, 1}));
    CHECK_FALSE(refused({65, 8, 0, 0}));  // the same as a mask
    CHECK(refused({65, 8, 4, 0}));        // a bit for a word that is not there
    CHECK(refused({73, 8, 0, 0, 0}));
    CHECK(refused({65, 8}));
    CHECK(refused({128, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(refused({129}));
    CHECK(refused({254}));
    CHECK(refused({255, 1, 2, 3, 4, 5, 6, 7, 8, 9}));  // one word too few
    CHECK_FALSE(refused({255, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    CHECK(refused({255, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_CASE("Any bytes in place of changes are refused or give words", "[codec][changes]")
{
    // Sanitizers see what is read; guards around the words see what is written.
    fields::generator random(23);
    std::size_t taken = 0;
    for (int k = 0; k < 20000; ++k) {
        const std::size_t n = 1 + random.below(k % 8 == 0 ? 9000 : 300);
        std::vector<std::uint16_t> words(n + 32, 0xBEEF);
        bytes stream;
        if (k % 2 == 0) {  // a stream with some wrong bytes
            const auto before = noise<std::uint16_t>(n, 3);
            stream = encoded(changed(before, random.below(2) == 0 ? 0.02 : 0.4, by::units, 7), before);
            for (std::size_t times = 1 + random.below(4); times > 0 && stream.size() > slice_head; --times)
                stream[slice_head + random.below(stream.size() - slice_head)] =
                    static_cast<std::byte>(random.bits());
        } else {
            stream.resize(1 + random.below(200));
            for (std::byte& b : stream) b = static_cast<std::byte>(random.bits());
            stream[0] = static_cast<std::byte>(random.below(140));
        }
        const bytes exact(stream.begin() + (k % 2 == 0 ? std::ptrdiff_t{slack / 2} : 0), stream.end());
        taken += apply_slice<std::uint16_t>(exact, reinterpret_cast<std::byte*>(words.data() + 16), n) ==
                 status::ok;
        if (!std::all_of(words.begin(), words.begin() + 16, [](auto w) { return w == 0xBEEF; }) ||
            !std::all_of(words.end() - 16, words.end(), [](auto w) { return w == 0xBEEF; }))
            FAIL("a word outside was written, case " << k);
    }
    CHECK(taken > 0);
}

TEST_CASE("Streams of changes have the bytes that are kept", "[codec][changes][golden]")
{
    // Written anew by CCOLL_WRITE_GOLDEN=1. tests/wire/changes_reader.py reads the same file.
    std::ostringstream all;
    all << "# a name, the bytes of a word, old words, new words, the stream, the hash of the old words\n";
    const auto line = [&]<class Word>(const char* name, const std::vector<Word>& before,
                                      const std::vector<Word>& now) {
        const auto hex = [&](const_byte_span raw) {
            for (const std::byte b : raw) all << std::setw(2) << static_cast<unsigned>(b);
        };
        all << std::dec << name << ' ' << sizeof(Word) << ' ' << std::hex << std::setfill('0');
        hex(std::as_bytes(std::span(before)));
        all << ' ';
        hex(std::as_bytes(std::span(now)));
        all << ' ';
        hex(encoded(now, before));
        ccoll::detail::content_hash hash;
        hash.add(std::as_bytes(std::span(before)));
        const auto digest = hash.finish();
        all << ' ' << digest.low << ' ' << digest.high << '\n';
    };
    const auto lines = [&]<class Word>(Word) {
        const auto before = noise<Word>(200, 3);
        line("few", before, changed(before, 0.01, by::units, 5));
        line("some", before, changed(before, 0.3, by::units, 6));
        line("anything", before, changed(before, 0.05, by::anything, 7));
    };
    lines(std::uint8_t{});
    lines(std::uint16_t{});
    lines(std::uint32_t{});
    lines(std::uint64_t{});
    const auto longer = noise<std::uint8_t>(4500, 9);
    line("two_blocks", longer, changed(longer, 0.004, by::extremes, 8));
    line("nothing", noise<std::uint16_t>(20, 1), noise<std::uint16_t>(20, 1));
    line("all", noise<std::uint16_t>(20, 1), noise<std::uint16_t>(20, 2));

    const auto path = repository::path_of("tests/codec/golden_changes.hex");
    if (std::getenv("CCOLL_WRITE_GOLDEN") != nullptr) std::ofstream(path) << all.str();
    std::ifstream file(path);
    std::ostringstream kept;
    kept << file.rdbuf();
    CHECK(all.str() == kept.str());
}

}  // namespace changes_cases
