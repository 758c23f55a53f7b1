#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second reader of fragments and acknowledgements, written from docs/wire_format.md alone. It shares no code with the library.

    fragment_reader.py <fragments.hex>

Checks the fields and checksums of each message. Then flips its bits, one at a time. Every flip must be noticed, and it must be corrected if
the message has a Hamming code.
"""
import pathlib
import struct
import sys

MAGIC = [0x4B4C4343, 0xE1E6E9E9, 0x87808F8F, 0x2D2A2525, 0xBBBCB3B3, 0x11161919, 0x77707F7F]
HEADER = struct.Struct("<IBBHIIQQQQQii")
FIELDS = "magic version kind asks header_crc body_crc number previous first message_bytes settled tag sender".split()


def crc_table():
    table = []
    for r in range(256):
        for _ in range(8):
            r = r >> 1 ^ (0x82F63B78 if r & 1 else 0)  # 1EDC6F41, bits reflected
        table.append(r)
    return table


TABLE = crc_table()


def crc32c(data):
    r = 0xFFFFFFFF
    for byte in data:
        r = TABLE[(r ^ byte) & 255] ^ r >> 8
    return r ^ 0xFFFFFFFF


def ones(x):
    return bin(x).count("1")


def check_words(data, k):
    """The check words of all groups, a list for each group."""
    data += bytes(-len(data) % 8)
    rows = struct.unpack(f"<{len(data) // 8}Q", data)
    groups = []
    for begin in range(0, len(rows), 1 << k):
        words = [0] * (k + 3)
        for number, row in enumerate(rows[begin:begin + (1 << k)]):
            for i in range(k):
                if number >> i & 1:
                    words[i] ^= row
            words[k] ^= row
            words[k + 1] ^= row
            if ones(number) % 2 == 0:
                words[k + 2] ^= row
        groups.append(words)
    return groups


def lengths(message, k):
    """How many bytes header and body have in a message with check words. None if no length fits."""
    for n in range(64, len(message)):
        if n + 8 * (k + 3) * -(-n // (8 << k)) == len(message):
            return n
    return None


def header_and_body(data):
    h = dict(zip(FIELDS, HEADER.unpack_from(data)))
    body = bytes(data[64:])
    right = h["version"] == 1 and crc32c(bytes(data[:8]) + bytes(4) + bytes(data[12:64])) == h["header_crc"] and crc32c(body) == h["body_crc"]
    return h, body, right


def read(message):
    """@return header, body and the number of corrected bits, or None if the message is damaged"""
    magic = struct.unpack_from("<I", message)[0]
    protection = next((i for i, m in enumerate(MAGIC) if ones(m ^ magic) <= 7), None)
    if protection is None:
        return None
    k = protection + 5
    n = lengths(message, k) if protection else len(message)
    if n is None:
        return None
    data = bytearray(message[:n])
    h, body, right = header_and_body(data)
    if right:
        return h, body, 0
    if not protection:
        return None
    corrected = 0
    for g, words in enumerate(check_words(bytes(data), k)):
        theirs = struct.unpack_from(f"<{k + 3}Q", message, n + 8 * (k + 3) * g)
        differ = [a ^ b for a, b in zip(words, theirs)]
        for j in range(64):
            found = sum((word >> j & 1) << i for i, word in enumerate(differ))
            if found == 0 or ones(found) == 1:
                continue
            row, top = found & (1 << k) - 1, found >> k
            if top != (7 if ones(row) % 2 == 0 else 3):
                return None
            at = (g << k) * 8 + row * 8 + j // 8
            if at >= n:
                return None
            data[at] ^= 1 << j % 8
            corrected += 1
    h, body, right = header_and_body(data)
    return (h, body, corrected) if right else None


def check(message):
    """@return what is wrong with the message, or None"""
    found = read(message)
    if found is None or found[2] != 0:
        return "it is damaged"
    h, body, _ = found
    if h["magic"] not in MAGIC or h["kind"] not in (1, 2) or h["asks"] > 1:
        return "a field of the header"
    if h["kind"] == 1:
        part = h["number"] - h["first"]
        if part < 0 or len(body) != min(16064, h["message_bytes"] - 16064 * part) or h["previous"] >= h["first"]:
            return "the place of the fragment"
    else:
        words = struct.unpack("<14Q", body)
        if words[13] != 0 or any(taken > h["number"] + 256 for taken in words[4:12]) or h["first"] or h["previous"] or h["tag"]:
            return "the acknowledgement"
    # Every bit of short messages; of long ones every bit of the header, and a sample that meets every column and row of the check words.
    bits = range(8 * len(message)) if len(message) <= 200 else [*range(512), *range(512, 8 * len(message), 11)]
    for bit in bits:
        other = bytearray(message)
        other[bit // 8] ^= 1 << bit % 8
        again = read(bytes(other))
        if h["magic"] == MAGIC[0]:
            if again is not None:
                return f"bit {bit} is changed, and it is not seen"
        elif again is None or again[1] != body or {**again[0], "magic": 0} != {**h, "magic": 0}:
            return f"bit {bit} is changed, and it is not corrected"
    return None


def main(path):
    if crc32c(b"123456789") != 0xE3069283:
        print("the CRC is wrong")
        return 1
    trouble = count = 0
    for text in pathlib.Path(path).read_text().split("\n\n"):
        message = bytes.fromhex(text)
        if not message:
            continue
        count += 1
        wrong = check(message)
        if wrong:
            trouble += 1
            print(f"fragment {count}: {wrong}")
    print(f"{count} fragments, {trouble} wrong")
    return 1 if trouble or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
