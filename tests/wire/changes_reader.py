#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second reader of streams of changes, and of the hash of content, written from docs/wire_format.md alone. It shares no code with the library.

    changes_reader.py <golden_changes.hex>

Each line has a name, the bytes of a word, the old words, the new words, the stream, and the hash of the old words, low and high. The stream must turn
the old words into the new ones. Every shorter stream of the same slices must be refused.
"""
import pathlib
import struct
import sys

BLOCK, SLICE, U64 = 4096, 64 * 4096, (1 << 64) - 1


class Corrupt(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Corrupt(what)


class Bits:
    def __init__(self, data, at):
        self.number, self.at, self.end = int.from_bytes(data[at:], "little"), 0, 8 * (len(data) - at)

    def take(self, count):
        require(self.at + count <= self.end, "values within the slice")
        value = self.number >> self.at & ((1 << count) - 1)
        self.at += count
        return value

    def finish(self):
        rest = -self.at % 8
        require(self.take(rest) == 0, "zeros behind the last value")
        return self.at // 8


def block(data, at, old, bits):
    """The new words of a block, and the place behind it."""
    require(at < len(data), "the head of a block")
    n, size, head = len(old), bits // 8, data[at]
    at += 1
    if head == 0:
        return old, at
    if head == 255:
        require(at + n * size <= len(data), "all words")
        return [int.from_bytes(data[at + size * i:at + size * i + size], "little") for i in range(n)], at + n * size
    require(head <= 128, "a head")
    width, places = (head, []) if head <= 64 else (head - 64, None)
    require(width <= bits, "a width")
    if places is not None:
        require(at + 2 <= len(data), "the number of gaps")
        count = struct.unpack_from("<H", data, at)[0]
        require(at + 2 + count <= len(data), "all gaps")
        next_word = 0
        for gap in data[at + 2:at + 2 + count]:
            next_word += gap
            if gap < 255:
                require(next_word < n, "a change within the block")
                places.append(next_word)
                next_word += 1
        at += 2 + count
    else:
        length = (n + 7) // 8
        require(at + length <= len(data), "the mask")
        mask = int.from_bytes(data[at:at + length], "little")
        require(mask >> n == 0, "bits of the mask")
        places = [i for i in range(n) if mask >> i & 1]
        at += length
    values, new = Bits(data, at), list(old)
    for i in places:
        value = values.take(width)
        z = values.take(bits) if value == (1 << width) - 1 else value + 1
        new[i] = (old[i] + (z // 2 if z % 2 == 0 else -(z + 1) // 2)) % (1 << bits)
    return new, at + values.finish()


def applied(stream, old, bits):
    new, at = [], 0
    for begin in range(0, len(old), SLICE):
        words = old[begin:begin + SLICE]
        require(at + 4 <= len(stream), "the length of a slice")
        length = struct.unpack_from("<I", stream, at)[0]
        at += 4
        require(at + length <= len(stream), "a slice")
        data, place = stream[at:at + length], 0
        at += length
        if length == 0:
            new += words
            continue
        for first in range(0, len(words), BLOCK):
            changed, place = block(data, place, words[first:first + BLOCK], bits)
            new += changed
        require(place == length, "nothing behind the last block")
    return new


def f(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & U64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & U64
    return x ^ x >> 31


R = [f((i + 1) * 0x9E3779B97F4A7C15 & U64) for i in range(28)]


def content_hash(data):
    count, s = len(data), R[12:28]
    data += bytes(-len(data) % 16384)
    for tile in range(0, len(data), 16384):
        for q in range(4):
            words = struct.unpack_from("<512Q", data, tile + 4096 * q)
            for place, w in enumerate(words):
                j, i = divmod(place, 4)
                t = w ^ (R[i] + j * (R[4 + i] | 1) & U64)
                s[4 * q + i] += (t & 0xFFFFFFFF) * (t >> 32)
                s[4 * q + (i ^ 1)] += w
        s = [x & U64 for x in s]
        s = [(x ^ x >> 47 ^ R[8 + k % 4]) * 0x9E3779B1 & U64 for k, x in enumerate(s)]
    low, high = f(count), f(~count & U64)
    for x in s:
        low = f(low ^ x) + 0x9E3779B97F4A7C15 & U64
        high = f(high + x & U64) ^ 0xD6E8FEB86659FD93
    return low, high


def main(path):
    read = 0
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        name, size, old_hex, new_hex, stream_hex, low, high = line.split(" ")
        size = int(size)

        def words_of(text):
            data = bytes.fromhex(text)
            return [int.from_bytes(data[i:i + size], "little") for i in range(0, len(data), size)]

        old, stream = words_of(old_hex), bytes.fromhex(stream_hex)
        assert applied(stream, old, 8 * size) == words_of(new_hex), f"{name}: other words"
        assert content_hash(bytes.fromhex(old_hex)) == (int(low, 16), int(high, 16)), f"{name}: another hash"
        for length in range(4, len(stream)):
            shorter = struct.pack("<I", length - 4) + stream[4:length]
            if length == 4:  # says that nothing has changed
                continue
            try:
                applied(shorter, old, 8 * size)
            except Corrupt:
                continue
            raise AssertionError(f"{name}: {length} bytes of {len(stream)} are taken")
        read += 1
    assert read >= 8, "golden streams"
    print(f"{read} streams read")


if __name__ == "__main__":
    main(*sys.argv[1:])
