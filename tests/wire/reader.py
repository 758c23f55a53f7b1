#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second reader of frames, written from docs/wire_format.md alone. It shares no code with the library.

    reader.py <folder of golden/*.hex> <damaged.hex>

Decodes every frame, and every section of exceptional values, of every file. The decoded values must equal those of the library bit for bit; the
files contain a hash of these. Those of frames must also be within the bound of the original values, which the files contain as well.
Damaged frames are refused, unless there is a hash of what they decode to: each breaks one rule of the page, or comes close to it.
"""
import fractions
import functools
import math
import pathlib
import struct
import sys

import szp_reader

NONE, SZX, PIPE_SZX, SZP, LOSSLESS, BIT_ZIP, BIT_WISE, BYTE_ZIP, BIT_CUT, ZFP, BIT_MASK, SZE = range(12)
# dtype: name, bytes of an element, format character of struct, bits of the mantissa field
FLOATS = {0: ("f32", 4, "<f", 23), 1: ("f64", 8, "<d", 52), 2: ("half", 2, "<e", 10), 3: ("bfloat16", 2, None, 7)}


Corrupt = szp_reader.Corrupt


def require(condition, what):
    if not condition:
        raise Corrupt(what)


def pad4(n):
    return (n + 3) // 4 * 4


def pad16(n):
    return (n + 15) // 16 * 16


def number(data, at, kind):
    return struct.unpack_from("<" + kind, data, at)[0]


def rounded(x, dtype):
    """A Python float, rounded to the nearest number of the element type. The result is a Python float, too."""
    if dtype == 1 or math.isnan(x) or math.isinf(x):
        return x
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bits_of(x, dtype):
    return struct.pack(FLOATS[dtype][2], x)


def two_bytes(f32_bits, dtype, within_range):
    """Rounds an f32, given as bytes, to the nearest half or bfloat16, ties to even.

    A number beyond the largest one becomes the largest one if `within_range`, and otherwise an infinity.
    """
    exponent_bits, mantissa_bits = (5, 10) if dtype == 2 else (8, 7)
    word = struct.unpack("<I", f32_bits)[0]
    sign, magnitude = word >> 31 << 15, word & 0x7FFFFFFF
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    if magnitude > 0x7F800000:  # a NaN keeps the high bits of its payload, or becomes a quiet one without any
        payload = (magnitude & 0x7FFFFF) >> (23 - mantissa_bits) or 1 << (mantissa_bits - 1)
        return struct.pack("<H", sign | infinity | payload)
    if magnitude == 0x7F800000:
        return struct.pack("<H", sign | infinity)
    x = fractions.Fraction(struct.unpack("<f", struct.pack("<I", magnitude))[0])
    least = 2 - (1 << (exponent_bits - 1))  # exponent of the smallest normal number
    exponent = max(math.frexp(float(x))[1] - 1, least) if x else least
    ulp = fractions.Fraction(2) ** (exponent - mantissa_bits)
    count = round(x / ulp)  # Python rounds ties to even
    encoded = count + ((exponent - least) << mantissa_bits)  # a mantissa that overflows raises the exponent
    return struct.pack("<H", sign | min(encoded, infinity - 1 if within_range else infinity))


def chunk_elements(codec, size):
    if codec in (NONE, LOSSLESS):
        return max(min(8192, 65536 // size), 1)
    return 5120 if codec == PIPE_SZX else 8192


def frame_parts(frame):
    """The fields of the header, and a pair (bytes, raw) for each chunk."""
    require(len(frame) >= 48 and frame[:4] == b"CCOL", "magic")
    require(frame[4] == 9, "version")
    h = {"codec": frame[5], "dtype": frame[6], "flags": frame[7], "quality": frame[32], "inner": frame[33]}
    h["n"], h["bound"], h["step"], h["chunks"] = struct.unpack_from("<QdII", frame, 8)
    require(h["flags"] in ((0, 1, 3) if h["codec"] == SZP else (0,)), "flags")
    require(h["codec"] <= SZE and h["step"] == chunk_elements(h["codec"], element_bytes(h["dtype"])), "codec or chunk_elements")
    require(h["bound"] == 0 if h["codec"] in (NONE, LOSSLESS) else 0 < h["bound"] < 1e300, "the bound")
    require(h["chunks"] == -(-h["n"] // h["step"]), "chunks")
    require(h["quality"] in ((0, 1, 2) if h["codec"] == ZFP else (0, 1)) and (h["quality"] == 0) == (h["bound"] == 0), "quality")
    require((h["inner"] in (BIT_ZIP, BIT_WISE, BIT_CUT) if h["codec"] == BIT_MASK else h["inner"] == 0) and frame[34:36] + frame[40:48] == bytes(10), "inner codec, trailer or reserved")
    start, payload = pad16(48 + 8 * h["chunks"]), 16 * number(frame, 36, "I")
    require(len(frame) >= start + payload and not any(frame[48 + 8 * h["chunks"]:start]), "index and payload")
    require(h["flags"] != 3 or payload == 0, "an addend that says too_large, and has no payload")
    require(h["flags"] != 3, "an addend that can be decoded")
    parts = []
    for i in range(h["chunks"]):
        place, length = struct.unpack_from("<II", frame, 48 + 8 * i)
        at = 16 * (place & 0x7FFFFFFF)
        require(at + length <= payload, "the place of a chunk")
        require(not any(frame[start + at + length:start + pad16(at + length)]), "zeros behind a chunk")
        require(not (place >> 31 and h["flags"]), "an addend without raw chunks")
        parts.append((frame[start + at:start + at + length], place >> 31 != 0))
    return h, parts


def szx(chunk, n, dtype, bound):
    _, s, kind, mantissa = FLOATS[dtype]
    largest = {0: (2 - 2.0 ** -23) * 2.0 ** 127, 1: sys.float_info.max}[dtype]
    limit = rounded(min(bound, largest), dtype)
    if limit > bound:  # rounding has raised it: take the number below
        bits = int.from_bytes(bits_of(limit, dtype), "little") - 1
        limit = struct.unpack(kind, bits.to_bytes(s, "little"))[0]
    step = rounded(min(limit, largest / 16) * 1.9375, dtype)
    one_step = int.from_bytes(bits_of(2.0 ** mantissa, dtype), "little")  # the number whose last bit counts steps
    require(limit > 0, "a bound that is not 0 in T")
    exceptional, whole, place = chunk[0] == 255, chunk, len(chunk)
    if exceptional:
        require(chunk[1] == 0, "a byte of SZx that is 0")
        place = 16 * number(chunk, 2, "H")
        require(4 <= place <= len(chunk), "the place of the section")
        chunk = chunk[4:place]
    blocks, at, out = -(-n // 128), -(-n // 128), []
    require(len(chunk) >= blocks, "all codes of SZx")
    for b in range(blocks):
        code, m = chunk[b], min(128, n - 128 * b)
        require(code <= s, "a code of SZx")
        if code == s:
            out += [chunk[at + s * i:at + s * i + s] for i in range(m)]
            at += m * s
            continue
        middle = chunk[at:at + s]
        at += s
        offset = min(1 << (8 * code - 1), 1 << (mantissa - 1)) if code else 0
        for i in range(m):
            if code == 0:
                out.append(middle)
                continue
            # Upper bits that belong to the exponent of 2^23 (2^52) already are no part of the count.
            moved = struct.unpack(kind, (int.from_bytes(chunk[at:at + code], "little") | one_step).to_bytes(s, "little"))[0]
            at += code
            product = rounded(rounded(moved - (2.0 ** mantissa + offset), dtype) * step, dtype)
            out.append(bits_of(rounded(product + struct.unpack(kind, middle)[0], dtype), dtype))
    require(pad16(4 + at) == place if exceptional else at == len(chunk), "blocks of SZx that fill the chunk")
    if exceptional:
        szp_reader.put_exceptions(whole, place, out, s)
    return out


signed = szp_reader.signed


class Bits:
    def __init__(self, data):
        self.value, self.length, self.at = int.from_bytes(data, "little"), 8 * len(data), 0

    def take(self, count):
        require(self.at + count <= self.length, "bits of SZe")
        field = self.value >> self.at & ((1 << count) - 1)
        self.at += count
        return field


def zigzag(v):
    return -(v + 1) // 2 if v & 1 else v // 2


def sze_table(bits):
    """For each number below 1024: its token, the share of the token, and where the range of the token begins."""
    count, levels = bits.take(8), []
    require(count <= 128, "tokens of a table")
    for t in range(count):
        if t == 0:
            levels.append(bits.take(5))
        else:
            ones = 0
            while bits.take(1):
                ones += 1
            levels.append(levels[-1] + zigzag(ones))
        require(0 <= levels[-1] <= 20, "a level")
    if not count:
        return [(0, 1, x) for x in range(1024)]
    weights = [lv if lv < 2 else 1 << lv // 2 if lv % 2 == 0 else 3 << (lv - 3) // 2 for lv in levels]
    require(sum(weights) > 0, "a table with a weight")
    shares = [max(1, 1024 * h // sum(weights)) if h else 0 for h in weights]
    if sum(shares) < 1024:
        shares[shares.index(max(shares))] += 1024 - sum(shares)
    while sum(shares) > 1024:
        shares[shares.index(max(shares))] -= 1
    slots = []
    for t, share in enumerate(shares):
        slots += [(t, share, len(slots))] * share
    return slots


def sze(chunk, n, dtype, bound):
    if chunk[0] & 15 != 15:
        return szp_reader.decode_chunk(chunk, n, dtype, bound)
    flags, limits, words, section, base = struct.unpack_from("<B3sHHi", chunk)
    own, alone, count, at = flags >> 4 & 1, flags >> 5 & 1, flags >> 6, 12
    require(count <= 2 and n >= 1024, "flags of SZe")
    step = szp_reader.szp_step(dtype, bound)
    if own:
        step, at = number(chunk, 12, FLOATS[dtype][2][1]), at + FLOATS[dtype][1]
    distances = struct.unpack_from("<%dH" % count, chunk, at)
    distances = [(word & 0x7fff, word >> 15) for word in distances]
    require(all(w > smooth for w, smooth in distances), "a distance")
    stream = struct.unpack_from("<%dH" % words, chunk, at + 2 * count)
    end = len(chunk) - 16 * section
    bits = Bits(chunk[at + 2 * count + 2 * words:end - 32])
    states, tables = list(struct.unpack_from("<8I", chunk, end - 32)), [sze_table(bits) for _ in range(4)]
    tokens, activity, next_word = [], 0, 0
    above = distances[0][0] if distances and distances[0][0] >= 16 else None

    def sum_from(i):
        return sum(min(t, 31) for t in tokens[i:i + 8])

    for g in range(-(-n // 8)):
        if g:
            before = sum_from(8 * g - 8)
            activity = (before + (sum_from(8 * g - above) if above and above <= 8 * g else before)) // 2
        table = tables[sum(activity >= limit for limit in limits)]
        for lane in range(8):
            x = states[lane]
            token, share, first = table[x % 1024]
            x = share * (x // 1024) + x % 1024 - first
            if x < 1 << 16:
                x, next_word = x << 16 | stream[next_word], next_word + 1
            states[lane] = x
            tokens.append(token)
    require(next_word == words and states == [1 << 16] * 8, "a stream of SZe that ends where it should")
    r = []
    for token in tokens:
        low = 0 if token < 16 else (token - 16) // 4 + 2
        u = token if token < 16 else (4 + (token - 16) % 4 << low) + bits.take(low)
        r.append(zigzag(u))
    require(-(-bits.at // 8) * 8 == bits.length, "bits of SZe that fill their bytes")
    for k, (w, smooth) in reversed(list(enumerate(distances))):
        for i in range(w + smooth + (distances[0][0] if k else 0), n):
            r[i] += signed(r[i - w - 1] + 2 * r[i - w] + r[i - w + 1] + 2 & 0xffffffff, 32) >> 2 if smooth else r[i - w]
    q, values = base, []
    for i in range(n):
        q = signed(r[i] if alone else q + r[i], 32)
        values.append(bits_of(rounded(rounded(float(q), dtype) * step, dtype), dtype))
    if section:
        szp_reader.put_exceptions(chunk, end, values, FLOATS[dtype][1])
    return values


def unpack_block(chunk, at, width, w, count):
    """Reads a block of Lossless. Returns its residuals, and the offset of its end."""
    if count < 64:
        size = -(-width // 8)
        return [int.from_bytes(chunk[at + size * i:at + size * i + size], "little") for i in range(count)], at + size * count
    residual, low = [0] * 64, 0
    for b in (64, 32, 16, 8, 4, 2, 1):
        if not width & b:
            continue
        m = 64 * b // w
        words = [int.from_bytes(chunk[at + w // 8 * j:at + w // 8 * (j + 1)], "little") for j in range(m)]
        for i in range(64):
            residual[i] |= (words[i % m] >> (i // m * b) & ((1 << b) - 1)) << low
        at, low = at + m * w // 8, low + b
    return residual, at


def exponents(chunk, n, s):
    """A chunk of Lossless whose exponents are coded, of f32 or bfloat16."""
    has_low = chunk[0] == 127
    require(n >= 1024 and (has_low or s == 4), "coded exponents are allowed")
    high, low, at = chunk[1:1 + n], chunk[1 + n:1 + (s - 1) * n] if has_low else bytes((s - 2) * n), 1 + n * (s - 1 if has_low else 1)
    symbols, values, levels = [None] * n, list(range(n)), 0
    while chunk[at]:
        k, m, levels = chunk[at], len(values), levels + 1
        require(k <= 4 and levels <= 16, "a level of coded exponents")
        listed, size = chunk[at + 1:at + 2 ** k], -(-m // 8)
        at += 2 ** k
        planes = [int.from_bytes(chunk[at + size * j:at + size * (j + 1)], "little") for j in range(k)]
        at += k * size
        require(at < len(chunk) and not any(p >> m for p in planes), "no bits behind the last code")
        left = []
        for i, value in enumerate(values):
            code = sum((p >> i & 1) << j for j, p in enumerate(planes))
            if code == 2 ** k - 1:
                left.append(value)
            else:
                symbols[value] = listed[code]
        values = left
    escapes = chunk[at + 1:]
    require(len(escapes) == len(values), "as many escapes as values that no level has")
    for value, symbol in zip(values, escapes):
        symbols[value] = symbol
    out = []
    for i in range(n):
        turned = symbols[i] << 8 | high[i]
        out.append(low[2 * i:2 * i + s - 2] + (turned >> 1 | (turned & 1) << 15).to_bytes(2, "little"))
    return out


def lossless(chunk, n, s, dtype):
    if chunk and chunk[0] in (126, 127) and dtype in (0, 3):
        return exponents(chunk, n, s)
    w, at, out, mask = 8 * s, 0, [], (1 << 8 * s) - 1  # a number of up to 8 bytes is one word, so there is one stream
    shift, is_alone = chunk[0] & 127, chunk[0] >> 7
    base, at = int.from_bytes(chunk[1:1 + s], "little"), 1 + s
    if shift == w:
        out = [base] * n
    before = base
    while len(out) < n:
        count, width = min(64, n - len(out)), chunk[at]
        require(width <= w - shift, "a width of Lossless")
        residual, at = unpack_block(chunk, at + 1, width, w, count)
        for r in residual:
            if is_alone:
                out.append(base ^ (r << shift))
                continue
            d = (r >> 1) ^ -(r & 1)  # undoes 2 d or -2 d - 1; the shift below brings back the dropped bits
            before = (before + (d << shift)) & mask
            out.append(before)
    require(at == len(chunk), "streams that fill the chunk")
    return [v.to_bytes(s, "little") for v in out]


def limit_of(dtype, bound):
    """The largest number of the element type that is not above the bound."""
    largest = {0: (2 - 2.0 ** -23) * 2.0 ** 127, 1: sys.float_info.max}[dtype]
    limit = rounded(min(bound, largest), dtype)
    if limit <= bound:
        return limit
    return as_float((int.from_bytes(bits_of(limit, dtype), "little") - 1).to_bytes(FLOATS[dtype][1], "little"), dtype)


def lanes_of(n):
    lanes = 1 if n < 512 else 8
    return [n // lanes + (lane < n % lanes) for lane in range(lanes)]


def predictions(a, dtype):
    """The predictions of orders 0 to 3 from the last four values, the newest first. Each operation is rounded."""
    f = functools.partial(rounded, dtype=dtype)
    d1, e1, f1 = f(a[0] - a[1]), f(a[1] - a[2]), f(a[2] - a[3])
    d2, e2 = f(d1 - e1), f(e1 - f1)
    p1 = f(a[0] + d1)
    p2 = f(p1 + d2)
    return [a[0], p1, p2, f(p2 + f(d2 - e2))]


def bytezip(chunk, n, dtype):
    s, at, out, i = FLOATS[dtype][1], n, [], 0
    for length in lanes_of(n):
        history = [0.0] * 4
        for place in range(length):
            symbol, i = chunk[i], i + 1
            if symbol == 4:
                out.append(chunk[at:at + s])
                at += s
                value = as_float(out[-1], dtype)
                value = value if math.isfinite(value) else history[0]
            else:
                require(symbol < min(place, 4), "a symbol of ByteZip")
                value = predictions(history, dtype)[symbol]
                out.append(bits_of(value, dtype))
            history = [value] + history[:3]
    require(at == len(chunk), "values of ByteZip that fill the chunk")
    return out


def with_exceptions(values, data, k, s):
    """Puts k exceptions in their places, which ascend."""
    places = [number(data, 2 * i, "H") for i in range(k)]
    require(sorted(set(places)) == places and (not places or places[-1] < len(values)), "places of exceptions")
    for i, place in enumerate(places):
        values[place] = data[2 * k + s * i:2 * k + s * (i + 1)]
    return values


def bitmask(chunk, n, dtype, bound, inner):
    s, head = FLOATS[dtype][1], chunk[-1]
    count, flags = 1 << (head & 7) - 1 if head else 0, head >> 4
    require(head == 0 or 1 <= head & 15 <= 4 and 1 <= flags <= 3, "the head of a chunk of BitMask")
    end = len(chunk) - 1 - s * count
    masks = [int.from_bytes(chunk[end + s * j:end + s * (j + 1)], "little") for j in range(count)]
    return bitzip(chunk[:end], n, dtype, bound, inner, masks, flags)


def field_at(bits, at, count):
    """A field of a string of bits, of which the highest comes first."""
    require(at + count <= len(bits), "the end of a stream")
    return int(bits[at:at + count] or "0", 2)


def cut_field(kept, mantissa):
    """The mantissa field of a cut number: the bits that are kept, a 1 if there is room, and zeros."""
    return int((kept + "1").ljust(mantissa, "0")[:mantissa], 2)


def cut_number(word, least, mantissa, exponent_bits):
    """What a number without a sign becomes if it is cut."""
    exponent, field = word >> mantissa, word & (1 << mantissa) - 1
    require(exponent + 1 < 1 << exponent_bits, "a number that is cut")
    b = min(max(exponent - least, 0), mantissa)
    return exponent << mantissa | cut_field(f"{field:0{mantissa}b}"[:b], mantissa) if exponent else 0


def bitzip(chunk, n, dtype, bound, codec, masks=(), flags=0):
    _, s, kind, mantissa = FLOATS[dtype]
    exponent_bits, lanes = 8 * s - 1 - mantissa, lanes_of(n)
    least = int.from_bytes(bits_of(limit_of(dtype, bound), dtype), "little") >> mantissa
    offset, k = as_float(chunk[-s:], dtype), number(chunk, len(chunk) - s - 2, "H")
    sizes = struct.unpack_from(f"<{len(lanes)}H", chunk, len(chunk) - s - 2 - 2 * len(lanes))
    end = len(chunk) - s - 2 - 2 * len(lanes) - k * (2 + s)
    require(end == sum(sizes) and min(sizes) > 0, "streams that fill the chunk")
    require(math.isfinite(offset) if codec != BIT_CUT else not any(chunk[-s:]), "an offset")
    require(limit_of(dtype, bound) > 0, "a bound that is not 0 in T")
    for mask in masks:
        require(mask == cut_number(mask, least, mantissa, exponent_bits), "a mask")
    out, begin = [], 0
    for length, size in zip(lanes, sizes):
        bits, at = "".join(f"{b:08b}" for b in chunk[begin:begin + size]), 0
        history = [0.0] * 4
        for place in range(length):
            if codec != BIT_CUT and field_at(bits, at, 1):
                order, at = field_at(bits, at + 1, 2), at + 3
                require(order < min(place, 4) if codec == BIT_WISE else place >= 3, "an order of BitZip")
                value = predictions(history, dtype)[order]
            else:
                sign, at = field_at(bits, at, 1), at + 1
                mask = shared = None
                if masks and bits[at:at + flags] == "1" * flags:
                    at += flags
                    index_bits = (len(masks) - 1).bit_length()
                    mask = masks[field_at(bits, at, index_bits)]
                    at += index_bits + 1
                    if field_at(bits, at - 1, 1):
                        shared, at = (0, 2, 4, 8)[field_at(bits, at, 2)], at + 2
                        require(shared < min(max((mask >> mantissa) - least, 0), mantissa), "the rest of a masked number")
                    exponent = mask >> mantissa
                else:
                    exponent, at = field_at(bits, at, exponent_bits), at + exponent_bits
                b = min(max(exponent - least, 0), mantissa) if exponent else 0
                like = f"{mask & (1 << mantissa) - 1:0{mantissa}b}"[:b if shared is None else shared] if mask is not None else ""
                kept, at = like + bits[at:at + b - len(like)], at + b - len(like)
                require(len(kept) == b and exponent + 1 < 1 << exponent_bits and exponent + 1 > sign, "a cut value")
                word = sign << exponent_bits + mantissa | exponent << mantissa | cut_field(kept, mantissa) if exponent else 0
                value = as_float(word.to_bytes(s, "little"), dtype)
            history = [value] + history[:3]
            out.append(bits_of(value if codec == BIT_CUT else rounded(value + offset, dtype), dtype))
        require(len(bits) - at in range(8) and "1" not in bits[at:], "a stream that ends with its last byte")
        begin += size
    return with_exceptions(out, chunk[end:], k, s)


def zfp_planes(bits, at, left, planes, lowest):
    """Reads four coefficients. Returns them, and where their bits end. `left` is the number of bits that the block still has."""
    coefficients, known = [0] * 4, 0
    for k in range(planes - 1, lowest - 1, -1):
        i = 0
        while i < known and left > 0:
            coefficients[i] |= bits[at] << k
            i, at, left = i + 1, at + 1, left - 1
        while known < 4 and left > 0:
            more, at, left = bits[at], at + 1, left - 1
            if not more:
                break
            while known < 3 and left > 0:
                found, at, left = bits[at], at + 1, left - 1
                if found:
                    break
                known += 1
            coefficients[known] |= 1 << k
            known += 1
    return coefficients, at


def zfp(chunk, n, dtype, number_with_it, at_rate):
    _, s, _, mantissa = FLOATS[dtype]
    w, exponent_bits = 8 * s, 8 * s - 1 - mantissa
    bias, mask, alternating = (1 << exponent_bits - 1) - 1, (1 << w) - 1, int("10" * (w // 2), 2)
    k = number(chunk, len(chunk) - 2, "H")
    end = len(chunk) - 2 - k * (2 + s)
    block_bits = max(int(4 * number_with_it + 0.5), 1 + exponent_bits) if at_rate else 0
    least = -1074 if at_rate else math.frexp(number_with_it)[1] - 1
    bits, at, out = [b >> i & 1 for b in chunk[:end] for i in range(8)], 0, []
    for _ in range(0, n, 4):
        begin, e = at, -bias
        at += 1
        coefficients = [0] * 4
        if bits[begin]:
            at += exponent_bits
            e = sum(b << i for i, b in enumerate(bits[begin + 1:at])) - bias
            lowest = w - min(max(e - least + 4, 0), w)
            coefficients, at = zfp_planes(bits, at, block_bits - (at - begin) if at_rate else math.inf, w, lowest)
        if at_rate:
            at = begin + block_bits
        a, b, c, d = [(v ^ alternating) - alternating & mask for v in coefficients]
        b = b + (signed(d, w) >> 1) & mask
        d = d - (signed(b, w) >> 1) & mask
        b = b + d & mask
        d = 2 * d - b & mask
        c = c + a & mask
        a = 2 * a - c & mask
        b = b + c & mask
        c = 2 * c - b & mask
        d = d + a & mask
        a = 2 * a - d & mask
        out += [bits_of(rounded(math.ldexp(rounded(float(signed(v, w)), dtype), e + 2 - w), dtype), dtype) for v in (a, b, c, d)]
    require(len(bits) - at in range(8) and not any(bits[at:]), "a stream of ZFP that ends with its last byte")
    out = out[:n]
    return with_exceptions(out, chunk[end:], k, s)


def element_bytes(dtype):
    return FLOATS[dtype][1] if dtype < 4 else 1 << (dtype & 7) if dtype < 128 else dtype - 128


def decode(frame):
    """Decodes a frame. Returns the fields of its header, and its elements, each as bytes."""
    h, parts = frame_parts(frame)
    dtype, addend, s, out = h["dtype"], h["flags"] & 1, element_bytes(h["dtype"]), []
    for i, (chunk, raw) in enumerate(parts):
        n, bound = min(h["step"], h["n"] - i * h["step"]), h["bound"]
        require(len(chunk) == n * s if raw else addend or len(chunk) < n * s, "a chunk that is raw, or shorter")
        if raw:
            out += [chunk[s * j:s * j + s] for j in range(n)]
        elif h["codec"] == LOSSLESS:
            out += lossless(chunk, n, s, dtype)
        else:
            if dtype > 1 and h["quality"] == 2:
                require(chunk[-1:] == b"\0", "no exponent at a rate")
                chunk = chunk[:-1]
            elif dtype > 1 and not addend:
                k = number(chunk, len(chunk) - 1, "b")
                bound, chunk = bound / 2 if k == 127 else (bound - 2.0 ** k) * (1 - 2.0 ** -50), chunk[:-1]
                require(0 < bound < 1e300, "the bound of a chunk of f32")
            as_type = dtype if dtype < 2 else 0
            if h["codec"] == ZFP:
                values = zfp(chunk, n, as_type, bound, h["quality"] == 2)
            elif h["codec"] == SZE:
                values = sze(chunk, n, as_type, bound)
            elif h["codec"] == BYTE_ZIP:
                values = bytezip(chunk, n, as_type)
            elif h["codec"] == BIT_MASK:
                values = bitmask(chunk, n, as_type, bound, h["inner"])
            elif h["codec"] in (BIT_ZIP, BIT_WISE, BIT_CUT):
                values = bitzip(chunk, n, as_type, bound, h["codec"])
            else:
                values = szp_reader.decode_chunk(chunk, n, as_type, bound, addend) if h["codec"] == SZP else szx(chunk, n, as_type, bound)
            out += values if dtype < 2 else [two_bytes(v, dtype, not addend) for v in values]
    return h, out


def fnv(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def as_float(data, dtype):
    if dtype == 3:
        return struct.unpack("<f", b"\0\0" + data)[0]
    return struct.unpack(FLOATS[dtype][2], data)[0]


def is_within(decoded, original, dtype, within, movement):
    if dtype > 3 or within == 0:
        return decoded == original
    x, y = as_float(original, dtype), as_float(decoded, dtype)
    if math.isfinite(x) and math.isfinite(y):
        return abs(fractions.Fraction(y) - fractions.Fraction(x)) <= fractions.Fraction(within)
    return decoded == original if movement else math.isnan(x) and math.isnan(y) or x == y


def check_frame(frame, facts, original):
    h, values = decode(frame)
    s, within = element_bytes(h["dtype"]), float.fromhex(facts["within"])
    require(h["n"] == int(facts["elements"]) == len(values) and len(frame) == int(facts["bytes"]), "the count")
    require(h["bound"] == float.fromhex(facts["bound"]), "the bound")
    outside = sum(not is_within(v, original[s * i:s * i + s], h["dtype"], within, not h["flags"]) for i, v in enumerate(values))
    require(outside == 0 and len(original) == s * h["n"], f"values within the bound: {outside} are not")
    require(fnv(b"".join(values)) == int(facts["decoded"], 16), "the bits that the library decodes")


def check_section(data, facts, _):
    """Other values than the exceptional ones are 0. The quantum of place i of an addend is 3 i - 1000."""
    n, dtype, step = int(facts["elements"]), int(facts["dtype"]), float.fromhex(facts["step"])
    values = [bytes(FLOATS[dtype][1])] * n
    if step:
        quanta = [3 * i - 1000 for i in range(n)]
        of_addend = szp_reader.exceptions_of_addend(data, 0, n)
        szp_reader.put_sums(of_addend, quanta, values, step, int(facts["divisor"]), dtype, int(facts["missing"], 16))
    else:
        szp_reader.put_exceptions(data, 0, values, FLOATS[dtype][1])
    require(fnv(b"".join(values)) == int(facts["decoded"], 16), "the bits that the library decodes")


def check_table(data, facts, _):
    """What the frames behind this line are."""


def check_damaged(data, facts, _):
    """A frame that must be refused, or decoded if there is a hash of the values."""
    try:
        h, values = decode(data)
        expected = [h[name] == int(facts[name]) for name in ("codec", "dtype", "quality", "inner")]
        require(all(expected) and h["n"] == int(facts["elements"]) == len(values), "what is expected")
    except (Corrupt, struct.error, IndexError) as e:
        require("decoded" not in facts, f"a frame that is refused, {e!r}")
        return
    require("decoded" in facts, "a frame that must be refused")
    require(fnv(b"".join(values)) == int(facts["decoded"], 16), "the bits that the library decodes")


CHECKS = {"frame": check_frame, "section": check_section, "table": check_table, "damaged": check_damaged}


def read_golden(path):
    found = []
    for line in path.read_text().split("\n"):
        words = line.split()
        if words and words[0] in CHECKS:
            facts = words[2:] if words[0] != "table" else words[1:]
            found.append((words[0], words[1], dict(zip(facts[::2], facts[1::2])), bytearray(), bytearray()))
        elif line.startswith("= "):
            found[-1][4].extend(bytes.fromhex(line[2:]))
        elif line and not line.startswith("#"):
            found[-1][3].extend(bytes.fromhex(line))
    return found


def complete(frames):
    """Damaged frames: what they share with others that stand in full, and what all of a table are."""
    whole, shared = [], {}
    for what, name, facts, data, _ in frames:
        if what == "table":
            shared = dict(facts)
        elif what == "damaged":
            facts.update(shared)
            if "like" in facts:
                front, back, like = int(facts["front"]), int(facts["back"]), whole[int(facts["like"])]
                data[:] = like[:front] + data + like[len(like) - back:]
            else:
                whole.append(bytes(data))
    return frames


def main(folder, *files):
    trouble = count = 0
    for path in sorted(pathlib.Path(folder).glob("*.hex")) + [pathlib.Path(f) for f in files]:
        for what, name, facts, data, original in complete(read_golden(path)):
            count += 1
            try:
                CHECKS[what](bytes(data), facts, bytes(original))
            except (Corrupt, struct.error, IndexError) as e:
                trouble += 1
                print(f"{path.name}, {what} {name}: wrong in {e!r}")
    print(f"{count} frames and sections, {trouble} wrong")
    return 1 if trouble or not count else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
